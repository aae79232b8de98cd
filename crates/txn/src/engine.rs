//! A database under an engine that was chosen at run time.

use crate::{Duties, EngineInfo, Inspection, Transaction};
use hotrow_storage::{Duplicate, RedoSink, Row, RowLayout, RowRef, TableId, TableSchema};
use hotrow_sync::{Arc, Waiter};

/// A database under one engine, for callers that learn the engine's name at run time. Many threads may use it at once.
///
/// As with [`Transaction`], methods have no defaults, so an engine that wraps another one cannot omit a method. The
/// exception is [`new_row`](Self::new_row), which follows from the others.
pub trait Engine: Inspection + Send + Sync {
    /// Returns the engine's name, paper, capabilities and levels.
    fn info(&self) -> &'static EngineInfo;

    /// Checks that the engine can store a table with this schema. For example, a partitioned engine needs a column that
    /// says to which partition a row belongs.
    ///
    /// # Errors
    /// If the engine cannot store such a table. The text says, for people, why not, and which tables the engine can
    /// store.
    fn admits(&self, schema: &TableSchema) -> Result<(), String>;

    /// Makes the engine pass a redo record of each later commit, load, and creation or drop of a table to `sink`. The
    /// sink gets no record of the tables that exist already, nor of those that are [unlogged](TableSchema::unlogged).
    ///
    /// # Panics
    /// If there is a sink already.
    fn set_redo(&self, sink: Arc<dyn RedoSink>);

    /// Makes an empty table, and returns its number.
    ///
    /// # Panics
    /// If the engine does not [admit](Self::admits) the schema.
    fn create_table(&self, schema: TableSchema) -> TableId;

    /// Makes an empty table that an earlier process had, under the number that it had there. The redo sink gets no
    /// record. Tables that are made later have greater numbers.
    ///
    /// # Panics
    /// If the engine does not [admit](Self::admits) the schema, if there is a table with this number, or if the number
    /// is about four billion or more.
    fn restore_table(&self, table: TableId, schema: TableSchema);

    /// Makes sure that tables that are made later have numbers of at least `first`: lower ones were given to tables
    /// that an earlier process dropped.
    fn skip_tables(&self, first: TableId);

    /// Returns the numbers of all tables, in ascending order.
    fn tables(&self) -> Vec<TableId>;

    /// Drops a table. No transaction may use the table during the call or later. Its memory is freed once no running
    /// transaction can still hold a pointer into it. If no table has this number, the call does nothing.
    fn drop_table(&self, table: TableId);

    /// Returns a table's definition.
    ///
    /// # Panics
    /// If there is no such table.
    fn schema(&self, table: TableId) -> Arc<TableSchema>;

    /// Returns the layout of a table's rows.
    ///
    /// # Panics
    /// If there is no such table.
    fn layout(&self, table: TableId) -> Arc<RowLayout>;

    /// Inserts rows outside any transaction, visible at once, into a table that no transaction uses yet. Many threads
    /// may load at once. A few dozen rows at a time may load faster than one at a time.
    ///
    /// # Errors
    /// If a unique index has the key of a row already: returns the position of that row in `rows`, and the index. The
    /// rows before it were inserted then, and no others.
    fn load_rows(&self, table: TableId, rows: &[RowRef<'_>]) -> Result<(), (usize, Duplicate)>;

    /// Inserts one row, as [`load_rows`](Self::load_rows) does.
    ///
    /// # Errors
    /// If a unique index has the row's key already. Nothing was changed then.
    fn load(&self, table: TableId, row: RowRef<'_>) -> Result<(), Duplicate> {
        self.load_rows(table, &[row]).map_err(|(_, duplicate)| duplicate)
    }

    /// Returns the engine's service workers: they run no transactions, but do work for the transactions made by
    /// [`transaction`](Self::transaction), such as granting locks. A server with sessions gives each a thread. Work of
    /// a worker that has no thread is done by the threads of the transactions.
    fn attendants(&self) -> Vec<Box<dyn Duties>>;

    /// Makes a transaction object that waits through `waiter`.
    fn transaction(&self, waiter: Waiter) -> Box<dyn Transaction>;

    /// Makes an empty row of a table, for the caller to fill.
    fn new_row(&self, table: TableId) -> Row {
        Row::new(&self.layout(table))
    }
}
