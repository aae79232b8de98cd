//! The initial rows of the table: accounts with equal balances, and no transfers.

use super::{BALANCE, KEY, Options};
use crate::load::load_rows;
use crate::{LoadError, Progress};
use hotrow_storage::TableId;
use hotrow_txn::Engine;

pub(super) fn load(
    options: &Options,
    engine: &dyn Engine,
    table: TableId,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<(), LoadError> {
    let mut template = engine.new_row(table);
    template.change(|row| row.set_int8(BALANCE, i64::from(options.balance)));
    load_rows(engine, table, u64::from(options.accounts), threads, progress, &template, |row, number| {
        row.change(|row| row.set_int4(KEY, number as i32));
    })
}
