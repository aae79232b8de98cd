//! The initial rows of the table: all values are zero.

use super::{KEY, Options};
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
    let template = engine.new_row(table);
    load_rows(engine, table, options.records, threads, progress, &template, |row, number| {
        row.change(|row| row.set_int8(KEY, number as i64));
    })
}
