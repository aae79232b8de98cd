//! The schema of the only table.

use hotrow_storage::{Column, TableSchema, Type};

/// The position of the primary key's column.
pub const KEY: usize = 0;
/// The position of the column with the balance.
pub const BALANCE: usize = 1;
/// The position of the column that counts the transfers from and to the account.
pub const COUNTER: usize = 2;

/// Defines the table `accounts`: a number, a balance, and the count of transfers that changed the balance. No
/// transaction scans ranges of keys, so the primary key has no ordered index. The key is the partition key.
pub fn accounts() -> TableSchema {
    let columns =
        vec![Column::new("id", Type::Int4), Column::new("balance", Type::Int8), Column::new("transfers", Type::Int8)];
    let mut schema = TableSchema::new("accounts", columns, &[KEY]);
    schema.ordered = false;
    schema.partitioned = true;
    schema
}
