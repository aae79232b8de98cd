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

    /// Checks that the engine can have a table with this schema: an engine with partitions must be able to tell each
    /// row's partition.
    ///
    /// # Errors
    /// If it cannot. The text says, for people, why not and what it can have.
    fn admits(&self, schema: &TableSchema) -> Result<(), String>;

    /// Hands everything that is committed from now on to `sink`. The sink is not told of tables that exist already.
    ///
    /// # Panics
    /// If there is a sink already.
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

    /// The positions of a table's columns in its rows.
    ///
    /// # Panics
    /// If there is no such table.
    fn layout(&self, table: TableId) -> Arc<RowLayout>;

    /// Inserts a row outside any transaction, visible at once. For loading a table that no transaction uses yet; many
    /// threads may load at once.
    fn load(&self, table: TableId, row: RowRef<'_>) -> Result<(), Duplicate>;

    /// Makes a transaction object that waits through `waiter`.
    fn transaction(&self, waiter: Waiter) -> Box<dyn Transaction>;

    /// An empty row of a table, to be filled.
    fn new_row(&self, table: TableId) -> Row {
        Row::new(&self.layout(table))
    }
}
