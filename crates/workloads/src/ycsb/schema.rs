//! The schema of the only table.

use hotrow_storage::{Column, TableSchema, Type};

/// The position of the primary key's column.
pub const KEY: usize = 0;
/// The position of the column that counts the row's updates.
pub const COUNTER: usize = 1;
/// The position of the first value column.
pub const FIELDS: usize = 2;

/// The number of bytes of the first value that the counter takes.
const COUNTER_BYTES: u32 = 8;

/// Defines the table `usertable`: a key, and `fields` values of `value_bytes` bytes each. The first value consists of
/// the counter and a column that is shorter by the counter's bytes. No transaction asks for ranges of keys. The key is
/// the partition key.
pub fn usertable(fields: u16, value_bytes: u32) -> TableSchema {
    let mut columns = vec![Column::new("ycsb_key", Type::Int8), Column::new("counter", Type::Int8)];
    let field = |field| Column::new(&format!("field{field}"), Type::Char(field_bytes(field, value_bytes)));
    columns.extend((0..fields).map(field));
    let mut schema = TableSchema::new("usertable", columns, &[KEY]);
    schema.ordered = false;
    schema.partitioned = true;
    schema
}

/// Returns the number of characters of the value column `field`.
pub(super) fn field_bytes(field: u16, value_bytes: u32) -> u32 {
    if field == 0 { value_bytes - COUNTER_BYTES } else { value_bytes }
}
