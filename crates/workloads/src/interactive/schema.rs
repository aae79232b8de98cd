//! The schema of the only table.

use hotrow_storage::{Column, TableSchema, Type};

/// The position of the primary key's column.
pub const KEY: usize = 0;
/// The position of the value's column. The value counts the row's updates.
pub const VALUE: usize = 1;

/// Defines the table `kv`: a key and a value of 64 bits each. No transaction scans ranges of keys, so the primary key
/// has no ordered index. The key is the partition key.
pub fn kv() -> TableSchema {
    let columns = vec![Column::new("key", Type::Int8), Column::new("value", Type::Int8)];
    let mut schema = TableSchema::new("kv", columns, &[KEY]);
    schema.ordered = false;
    schema.partitioned = true;
    schema
}
