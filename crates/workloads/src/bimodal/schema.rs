//! The schemas of the groups' tables, and their numbers.

use hotrow_storage::{Column, TableId, TableSchema, Type};

/// The position of the primary key's column.
pub const KEY: usize = 0;
/// The position of the column that counts the row's updates.
pub const COUNTER: usize = 1;

/// The most tables of all groups together.
pub(super) const TABLES_MAX: usize = 32;

/// The tables' numbers in one database.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// The numbers, group after group. Those beyond the last table are zero.
    numbers: [TableId; TABLES_MAX],
    /// The number of tables of all groups together.
    len: usize,
    /// The number of tables of one group.
    of_group: usize,
}

impl Tables {
    /// Keeps the numbers of the groups' tables, of which each group has `of_group`.
    pub(super) fn new(of_group: usize, made: impl Iterator<Item = TableId>) -> Self {
        let mut tables = Self { numbers: [TableId(0); TABLES_MAX], len: 0, of_group };
        for number in made {
            tables.numbers[tables.len] = number;
            tables.len += 1;
        }
        tables
    }

    /// Returns the tables of all groups, group after group.
    pub fn all(&self) -> &[TableId] {
        &self.numbers[..self.len]
    }

    /// Returns the position of a group's first table in [`all`](Self::all).
    pub(super) fn first_of(&self, group: usize) -> usize {
        group * self.of_group
    }

    /// Returns the tables of a group.
    pub fn of(&self, group: usize) -> &[TableId] {
        let first = self.first_of(group);
        &self.numbers[first..first + self.of_group]
    }
}

/// Defines the table numbered `table` of a group, both numbers from zero: a key and a counter. No transaction asks for
/// ranges of keys. The key is the partition key.
pub fn bimodal(group: usize, table: usize) -> TableSchema {
    let columns = vec![Column::new("id", Type::Int8), Column::new("counter", Type::Int8)];
    let mut schema = TableSchema::new(&format!("bimodal_{}_{}", group + 1, table + 1), columns, &[KEY]);
    schema.ordered = false;
    schema.partitioned = true;
    schema
}
