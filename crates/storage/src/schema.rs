//! What a table is made of: columns, keys, indexes.

use crate::Type;

/// A table's number within its database. Never used again once the table is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u32);

/// A secondary index's position in its table's [`TableSchema::indexes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexId(pub u16);

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name, folded as SQL folds it.
    pub name: String,
    /// Type.
    pub ty: Type,
    /// Whether NULL may be stored. Checked by whoever makes the row; storage stores what it is given.
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

/// How an index finds its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// Equality only; fastest.
    Hash,
    /// Equality and ranges, in both directions.
    Ordered,
}

/// A secondary index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSchema {
    /// Name, unique in the database; storage does not look at it.
    pub name: String,
    /// Column positions, in key order.
    pub columns: Vec<usize>,
    /// Hash or ordered.
    pub kind: IndexKind,
    /// Whether two rows may not have the same key. NULLs are all different, as in SQL.
    pub unique: bool,
}

/// A table's definition. Storage builds a table from it and never changes it: other columns or indexes are another table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// Name; storage does not look at it.
    pub name: String,
    /// Columns in their declared order.
    pub columns: Vec<Column>,
    /// Column positions of the primary key, in key order; never empty, and all of them NOT NULL.
    pub key: Vec<usize>,
    /// Whether the primary key has an ordered index beside its hash index.
    pub ordered: bool,
    /// Whether the first column of the primary key, an integer, is the table's partition key: engines that keep partitions
    /// apart put the rows whose partition key is `v` into part `v mod parts`. The others do not mind.
    pub partitioned: bool,
    /// Secondary indexes.
    pub indexes: Vec<IndexSchema>,
}

impl TableSchema {
    /// A table with the given columns, keyed by the columns at `key`, with ranges over the key, not partitioned, and with no
    /// secondary index.
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

    /// The position of the column called `name`.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// Which of a table's indexes a scan follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IndexRef {
    /// The primary key.
    Primary,
    /// A secondary index.
    Secondary(IndexId),
}
