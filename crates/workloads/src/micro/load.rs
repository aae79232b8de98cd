//! The initial rows of the table: counters of zero, and fillers of one letter.

use super::schema::COUNTER_BYTES;
use super::{FILLER, KEY, Options};
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
    if options.record_bytes > COUNTER_BYTES {
        let filler = vec![b'x'; (options.record_bytes - COUNTER_BYTES) as usize];
        template.change(|row| row.set_bytes(FILLER, &filler));
    }
    load_rows(engine, table, options.records, threads, progress, &template, |row, number| {
        row.change(|row| row.set_int8(KEY, number as i64));
    })
}
