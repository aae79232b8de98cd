//! The schema of the only table.

use hotrow_storage::{Column, TableSchema, Type};

/// The position of the primary key's column.
pub const KEY: usize = 0;
/// The position of the column that counts the row's updates.
pub const COUNTER: usize = 1;
/// The position of the column that pads a record to its size; records of 8 bytes have no such column.
pub const FILLER: usize = 2;

/// The number of bytes of a record that the counter takes.
pub(super) const COUNTER_BYTES: u32 = 8;

/// Defines the table `micro`: a key, and a record of `record_bytes` bytes that begins with a counter. No transaction
/// scans ranges of keys, so the primary key has no ordered index. The key is the partition key.
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
