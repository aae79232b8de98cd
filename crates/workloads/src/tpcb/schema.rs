//! The four tables, column for column as `pgbench -i` makes them.

use hotrow_storage::{Column, TableId, TableSchema, Type};

/// The number of tellers of one branch.
pub const TELLERS_PER_BRANCH: u64 = 10;
/// The largest number of accounts of one branch: that of pgbench.
pub(super) const ACCOUNTS_MOST: u32 = 100_000;

/// The tables' numbers in one database.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// The number of the table `pgbench_branches`.
    pub branches: TableId,
    /// The number of the table `pgbench_tellers`.
    pub tellers: TableId,
    /// The number of the table `pgbench_accounts`.
    pub accounts: TableId,
    /// The number of the table `pgbench_history`.
    pub history: TableId,
}

/// Positions of the columns of `pgbench_branches`.
pub(super) mod branch {
    pub const ID: usize = 0;
    pub const BALANCE: usize = 1;
    pub const FILLER: usize = 2;
}

/// Positions of the columns of `pgbench_tellers`.
pub(super) mod teller {
    pub const ID: usize = 0;
    pub const BRANCH: usize = 1;
    pub const BALANCE: usize = 2;
    pub const FILLER: usize = 3;
}

/// Positions of the columns of `pgbench_accounts`.
pub(super) mod account {
    pub const ID: usize = 0;
    pub const BRANCH: usize = 1;
    pub const BALANCE: usize = 2;
    pub const FILLER: usize = 3;
    pub const FILLER_BYTES: usize = 84;
}

/// Positions of the columns of `pgbench_history`.
pub(super) mod entry {
    pub const TELLER: usize = 0;
    pub const BRANCH: usize = 1;
    pub const ACCOUNT: usize = 2;
    pub const DELTA: usize = 3;
    pub const TIME: usize = 4;
    pub const FILLER: usize = 5;
    pub const ROW_ID: usize = 6;
}

/// Defines the table `pgbench_branches`.
pub fn branches() -> TableSchema {
    let columns = vec![
        Column::new("bid", Type::Int4),
        Column::nullable("bbalance", Type::Int4),
        Column::nullable("filler", Type::Char(88)),
    ];
    TableSchema::new("pgbench_branches", columns, &[branch::ID])
}

/// Defines the table `pgbench_tellers`.
pub fn tellers() -> TableSchema {
    let columns = vec![
        Column::new("tid", Type::Int4),
        Column::nullable("bid", Type::Int4),
        Column::nullable("tbalance", Type::Int4),
        Column::nullable("filler", Type::Char(84)),
    ];
    TableSchema::new("pgbench_tellers", columns, &[teller::ID])
}

/// Defines the table `pgbench_accounts`.
pub fn accounts() -> TableSchema {
    let columns = vec![
        Column::new("aid", Type::Int4),
        Column::nullable("bid", Type::Int4),
        Column::nullable("abalance", Type::Int4),
        Column::nullable("filler", Type::Char(account::FILLER_BYTES as u32)),
    ];
    TableSchema::new("pgbench_accounts", columns, &[account::ID])
}

/// The name of the hidden key column of a table without a primary key, as in SQL. It is not the name of any other
/// column, since no identifier is empty.
const HIDDEN: &str = "";

/// Defines the table `pgbench_history`. It has no primary key in SQL, so the hidden row number is its key.
pub fn history() -> TableSchema {
    let columns = vec![
        Column::nullable("tid", Type::Int4),
        Column::nullable("bid", Type::Int4),
        Column::nullable("aid", Type::Int4),
        Column::nullable("delta", Type::Int4),
        Column::nullable("mtime", Type::TIMESTAMP),
        Column::nullable("filler", Type::Char(22)),
        Column::new(HIDDEN, Type::Int8),
    ];
    let mut schema = TableSchema::new("pgbench_history", columns, &[entry::ROW_ID]);
    schema.ordered = false;
    schema
}
