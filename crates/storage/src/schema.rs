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
    /// The name, folded as SQL folds it.
    pub name: String,
    /// The type.
    pub ty: Type,
    /// Whether NULL may be stored. The code that makes a row checks that; storage stores what it is given.
    pub nullable: bool,
}

impl Column {
    /// A NOT NULL column.
    pub fn new(name: &str, ty: Type) -> Self {
        Self { name: name.to_owned(), ty, nullable: false }
    }

    /// A column that may hold NULL.
    pub fn nullable(name: &str, ty: Type) -> Self {
        Self { name: name.to_owned(), ty, nullable: true }
    }
}

/// The way in which an index finds its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// For equality only; fastest.
    Hash,
    /// For equality and ranges, in both directions.
    Ordered,
}

/// A secondary index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSchema {
    /// The name, unique in the database; storage does not use it.
    pub name: String,
    /// The positions of the columns, in key order.
    pub columns: Vec<usize>,
    /// Whether it is a hash index or an ordered one.
    pub kind: IndexKind,
    /// Whether two rows must not have the same key. NULLs are all different, as in SQL.
    pub unique: bool,
}

/// A table's definition. Storage builds a table from it and never changes it: with other columns or indexes, it is
/// another table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// The name; storage does not use it.
    pub name: String,
    /// The columns, in their declared order.
    pub columns: Vec<Column>,
    /// The positions of the primary key's columns, in key order. There is at least one, and all of them are NOT NULL.
    pub key: Vec<usize>,
    /// Whether the primary key has an ordered index beside its hash index.
    pub ordered: bool,
    /// Whether the first column of the primary key, an integer, is the table's partition key. Engines with partitions
    /// put the rows whose partition key is `v` into part `v mod parts`. Other engines ignore it.
    pub partitioned: bool,
    /// The secondary indexes.
    pub indexes: Vec<IndexSchema>,
}

impl TableSchema {
    /// A table with the given columns, keyed by the columns at `key`, with an ordered index on the key, not
    /// partitioned, and without secondary indexes.
    pub fn new(name: &str, columns: Vec<Column>, key: &[usize]) -> Self {
        Self {
            name: name.to_owned(),
            columns,
            key: key.to_vec(),
            ordered: true,
            partitioned: false,
            indexes: Vec::new(),
        }
    }

    /// The position of the column with the name `name`.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// An index of a table, for a scan to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IndexRef {
    /// The primary key.
    Primary,
    /// A secondary index.
    Secondary(IndexId),
}
