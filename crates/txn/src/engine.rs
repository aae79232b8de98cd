//! A database under an engine that was chosen at run time.

use crate::{EngineInfo, Inspection, Transaction};
use hotrow_storage::{Duplicate, RedoSink, Row, RowLayout, RowRef, TableId, TableSchema};
use hotrow_sync::{Arc, Waiter};

/// A database under one engine, for callers that learn the engine's name at run time. Many threads may use it at once.
///
/// As with [`Transaction`], an object that is an engine around another one cannot forget a method: none has a default,
/// but for [`new_row`](Self::new_row), which follows from the others.
pub trait Engine: Inspection + Send + Sync {
    /// Returns the engine's name, paper, capabilities and levels.
    fn info(&self) -> &'static EngineInfo;

    /// Whether the engine can have such a table: one that keeps partitions apart needs to know each row's partition.
    ///
    /// # Errors
    /// Why not, and what it can have, for people.
    fn admits(&self, schema: &TableSchema) -> Result<(), String>;

    /// Hands everything that is committed from now on to `sink`, which knows of no table that is there already.
    ///
    /// # Panics
    /// If there is a sink.
    fn set_redo(&self, sink: Arc<dyn RedoSink>);

    /// Makes an empty table.
    ///
    /// # Panics
    /// If the engine does not [admit](Self::admits) it.
    fn create_table(&self, schema: TableSchema) -> TableId;

    /// Drops a table. Nobody uses it any more, or will; its memory is given back once no running transaction can still
    /// look at it. An unknown table is ignored.
    fn drop_table(&self, table: TableId);

    /// A table's definition.
    ///
    /// # Panics
    /// If there is no such table.
    fn schema(&self, table: TableId) -> Arc<TableSchema>;

    /// Where a table's columns lie.
    ///
    /// # Panics
    /// If there is no such table.
    fn layout(&self, table: TableId) -> Arc<RowLayout>;

    /// Inserts a row outside any transaction, visible at once: for loading a table that nobody uses yet. Many threads
    /// may load at once.
    fn load(&self, table: TableId, row: RowRef<'_>) -> Result<(), Duplicate>;

    /// A transaction in flight, waiting through `waiter`.
    fn transaction(&self, waiter: Waiter) -> Box<dyn Transaction>;

    /// An empty row of a table, to fill.
    fn new_row(&self, table: TableId) -> Row {
        Row::new(&self.layout(table))
    }
}
