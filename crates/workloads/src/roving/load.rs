//! The initial rows of the table: amounts of one, from no client.

use super::Options;
use super::schema::{AMOUNT, CLIENT, KEY, Tables};
use crate::load::load_rows;
use crate::{LoadError, Progress};
use hotrow_txn::Engine;

/// The amount of each row after the load.
pub(super) const LOADED_AMOUNT: i64 = 1;

pub(super) fn load(
    options: &Options,
    engine: &dyn Engine,
    tables: Tables,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<(), LoadError> {
    let mut template = engine.new_row(tables.history);
    template.change(|row| {
        row.set_int8(AMOUNT, LOADED_AMOUNT);
        row.set_int8(CLIENT, -1);
    });
    load_rows(engine, tables.history, options.rows, threads, progress, &template, |row, number| {
        row.change(|row| row.set_int8(KEY, number as i64));
    })
}
