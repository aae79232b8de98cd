//! The definition of a table: columns, keys, indexes.

use crate::Type;

/// A table's number within its database. It is never reused once the table is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u32);

/// A secondary index's position in its table's [`TableSchema::indexes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexId(pub u16);

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The column's name, folded as SQL folds it.
    pub name: String,
    /// The column's type.
    pub ty: Type,
    /// Whether the column may hold NULL. The code that makes a row checks that; storage does not.
    pub nullable: bool,
}

impl Column {
    /// Makes the definition of a NOT NULL column.
    pub fn new(name: &str, ty: Type) -> Self {
        Self { name: name.to_owned(), ty, nullable: false }
    }

    /// Makes the definition of a column that may hold NULL.
    pub fn nullable(name: &str, ty: Type) -> Self {
        Self { name: name.to_owned(), ty, nullable: true }
    }
}

/// The way in which an index finds its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// A hash index, which serves equality only, and is the fastest.
    Hash,
    /// An ordered index, which serves equality and ranges, in both directions.
    Ordered,
}

/// The definition of a secondary index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSchema {
    /// The index's name, which is unique in the database. Storage does not use it.
    pub name: String,
    /// The positions of the index's columns in the table, in key order.
    pub columns: Vec<usize>,
    /// Whether it is a hash index or an ordered one.
    pub kind: IndexKind,
    /// Whether the index refuses a second row with the same key. NULL is different from every NULL, as in SQL.
    pub unique: bool,
}

/// The definition of a table. It never changes: a change of columns or indexes needs a new table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// The table's name. Storage does not use it.
    pub name: String,
    /// The columns, in the order in which they were declared.
    pub columns: Vec<Column>,
    /// The positions of the primary key's columns, in key order. There is at least one, and all of them are NOT NULL.
    pub key: Vec<usize>,
    /// Whether the primary key has an ordered index beside its hash index.
    pub ordered: bool,
    /// Whether the first column of the primary key, an integer, is the table's partition key. Engines with partitions
    /// put the rows whose partition key is `v` into part `v mod parts`. Other engines ignore it.
    pub partitioned: bool,
    /// Whether the table is constant: its rows come from [loading](crate::StoredTable::load) alone and never change.
    /// Engines refuse to write to it, and need no partition key of it. Engines whose rows change in place read it
    /// without locks.
    pub constant: bool,
    /// Whether the table is unlogged: the redo log has no records of it, so the table is gone after a restart.
    pub unlogged: bool,
    /// The secondary indexes.
    pub indexes: Vec<IndexSchema>,
}

impl TableSchema {
    /// Makes the definition of a table with the given columns and the primary key made of the columns at `key`. The key
    /// has an ordered index; the table is neither partitioned nor constant, is logged, and has no secondary indexes.
    pub fn new(name: &str, columns: Vec<Column>, key: &[usize]) -> Self {
        Self {
            name: name.to_owned(),
            columns,
            key: key.to_vec(),
            ordered: true,
            partitioned: false,
            constant: false,
            unlogged: false,
            indexes: Vec::new(),
        }
    }

    /// Returns the position of the column with the name `name`, or `None` if there is no such column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// One of the indexes of a table, as a scan names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IndexRef {
    /// The index on the primary key. Whether a scan uses the hash index or the ordered one depends on the table.
    Primary,
    /// The secondary index with this number.
    Secondary(IndexId),
}
