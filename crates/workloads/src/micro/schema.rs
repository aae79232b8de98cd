//! The table.

use hotrow_storage::{Column, TableSchema, Type};

/// The primary key's column.
pub const KEY: usize = 0;
/// The column that counts the row's updates.
pub const COUNTER: usize = 1;
/// The column that fills up the record, if the counter does not.
pub const FILLER: usize = 2;

/// The bytes of a record that the counter takes.
pub(super) const COUNTER_BYTES: u32 = 8;

/// `micro`: a key, and a record of `record_bytes` bytes that begins with a counter. No transaction asks for ranges of
/// keys. The key is the partition key.
pub fn micro(record_bytes: u32) -> TableSchema {
    let mut columns = vec![Column::new("id", Type::Int8), Column::new("counter", Type::Int8)];
    if record_bytes > COUNTER_BYTES {
        columns.push(Column::new("filler", Type::Char(record_bytes - COUNTER_BYTES)));
    }
    let mut schema = TableSchema::new("micro", columns, &[KEY]);
    schema.ordered = false;
    schema.partitioned = true;
    schema
}
