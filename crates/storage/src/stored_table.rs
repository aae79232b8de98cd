//! A kind of table, as a database keeps it.

use crate::epoch::Collector;
use crate::{Guard, IndexRef, RowLayout, RowRef, TableId, TableMemory, TableSchema};
use hotrow_sync::Arc;
use std::fmt;

/// A kind of table: how rows lie in memory, and how they are found.
pub trait StoredTable: Sized + Send + Sync + 'static {
    /// Makes an empty table. If it is [partitioned](TableSchema::partitioned), everything in it that is separate for
    /// each partition has `parts` parts.
    fn new(id: TableId, schema: TableSchema, collector: &Arc<Collector>, parts: usize) -> Self;

    /// Returns the table's definition.
    fn schema(&self) -> &Arc<TableSchema>;

    /// Returns the layout of the table's rows.
    fn layout(&self) -> &Arc<RowLayout>;

    /// Returns the number of rows; it is approximate while transactions run.
    fn row_count(&self) -> u64;

    /// Returns the bytes of the table by purpose. The call visits all heap memory of the table, so it takes a while.
    fn memory(&self, guard: Guard<'_>) -> TableMemory;

    /// Returns the bytes of memory that the table reserves for new records or versions. No other table can use them.
    fn spare_bytes(&self) -> usize;

    /// Inserts rows into a table that no transaction uses yet; they are committed at once. Many threads may load at
    /// once. A call with several rows may be faster than a call for each, since a table can fetch the memory for
    /// several rows together.
    ///
    /// # Errors
    /// If a unique index has the key of a row already: returns the position of that row in `rows`, and the index. The
    /// rows before it were inserted then, and no others.
    fn load_rows(&self, guard: Guard<'_>, rows: &[RowRef<'_>]) -> Result<(), (usize, Duplicate)>;

    /// Inserts one row, as [`load_rows`](Self::load_rows) does.
    ///
    /// # Errors
    /// If a unique index has the row's key already; nothing was changed then.
    fn load(&self, guard: Guard<'_>, row: RowRef<'_>) -> Result<(), Duplicate> {
        self.load_rows(guard, &[row]).map_err(|(_, duplicate)| duplicate)
    }
}

/// The error of an insertion: a row with this key exists already in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplicate(pub IndexRef);

impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IndexRef::Primary => f.write_str("a row with this primary key exists already"),
            IndexRef::Secondary(index) => write!(f, "a row with this key of unique index {} exists already", index.0),
        }
    }
}

impl std::error::Error for Duplicate {}
