//! The schema of the only table.

use hotrow_storage::{Column, TableSchema, Type};

/// The position of the primary key's column.
pub const KEY: usize = 0;
/// The position of the column of amounts, which updates move from row to row.
pub const AMOUNT: usize = 1;
/// The position of the column that counts the row's updates.
pub const COUNTER: usize = 2;

/// Defines the table `hekaton`: rows of three columns, 24 bytes together. No transaction scans ranges of keys, so the
/// primary key has no ordered index.
pub fn hekaton() -> TableSchema {
    let columns =
        vec![Column::new("id", Type::Int8), Column::new("amount", Type::Int8), Column::new("updates", Type::Int8)];
    let mut schema = TableSchema::new("hekaton", columns, &[KEY]);
    schema.ordered = false;
    schema
}
