//! The schema of the only table.

use hotrow_storage::{Column, TableId, TableSchema, Type};

/// The position of the primary key's column.
pub const KEY: usize = 0;
/// The position of the amount's column.
pub const AMOUNT: usize = 1;
/// The position of the column with the number of the client that appended the row.
pub(super) const CLIENT: usize = 2;

/// The table's number in one database, and the place of the sequence of its keys.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// `roving`
    pub history: TableId,
    /// The position of the database's sequence among those of the workload.
    pub(super) sequence: usize,
}

/// Defines the table `roving`: rows of three columns, 24 bytes together. No transaction asks for ranges of keys.
pub fn roving() -> TableSchema {
    let columns =
        vec![Column::new("id", Type::Int8), Column::new("amount", Type::Int8), Column::new("client", Type::Int8)];
    let mut schema = TableSchema::new("roving", columns, &[KEY]);
    schema.ordered = false;
    schema
}
