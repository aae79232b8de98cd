//! The one table.

use hotrow_storage::{Column, TableSchema, Type};

/// The primary key's column.
pub const KEY: usize = 0;
/// The column that counts the row's updates.
pub const COUNTER: usize = 1;
/// The first of the value's columns.
pub const FIELDS: usize = 2;

/// `usertable`: a key, a counter, and `fields` columns of `value_bytes` characters each. Nobody asks for ranges of keys.
pub fn usertable(fields: u16, value_bytes: u32) -> TableSchema {
    let mut columns = vec![Column::new("ycsb_key", Type::Int8), Column::new("counter", Type::Int8)];
    columns.extend((0..fields).map(|field| Column::new(&format!("field{field}"), Type::Char(value_bytes))));
    let mut schema = TableSchema::new("usertable", columns, &[KEY]);
    schema.ordered = false;
    schema
}
