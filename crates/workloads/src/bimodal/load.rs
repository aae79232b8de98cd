//! The initial rows of the tables: counters of zero.

use super::Options;
use super::schema::{KEY, Tables};
use crate::load::load_rows;
use crate::{LoadError, Progress};
use hotrow_txn::Engine;

pub(super) fn load(
    options: &Options,
    engine: &dyn Engine,
    tables: Tables,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<(), LoadError> {
    for &table in tables.all() {
        let template = engine.new_row(table);
        load_rows(engine, table, options.rows, threads, progress, &template, |row, number| {
            row.change(|row| row.set_int8(KEY, number as i64));
        })?;
    }
    Ok(())
}
