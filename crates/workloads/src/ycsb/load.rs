//! The initial rows of the table: counters of zero, and values of printable characters.

use super::generate::write_value;
use super::schema::field_bytes;
use super::{FIELDS, KEY, Options};
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
    let mut value = vec![0; options.value_bytes as usize];
    template.change(|row| {
        for field in 0..options.fields {
            write_value(&mut value, u64::from(field));
            let bytes = field_bytes(field, options.value_bytes) as usize;
            row.set_bytes(FIELDS + usize::from(field), &value[..bytes]);
        }
    });
    load_rows(engine, table, options.records, threads, progress, &template, |row, number| {
        row.change(|row| row.set_int8(KEY, number as i64));
    })
}
