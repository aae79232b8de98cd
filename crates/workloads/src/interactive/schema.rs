//! The table.

use hotrow_storage::{Column, TableSchema, Type};

/// The primary key's column.
pub const KEY: usize = 0;
/// The column of the value, which counts the row's updates.
pub const VALUE: usize = 1;

/// `kv`: a key and a value of 64 bits each. No transaction asks for ranges of keys. The key is the partition key.
pub fn kv() -> TableSchema {
    let columns = vec![Column::new("key", Type::Int8), Column::new("value", Type::Int8)];
    let mut schema = TableSchema::new("kv", columns, &[KEY]);
    schema.ordered = false;
    schema.partitioned = true;
    schema
}
