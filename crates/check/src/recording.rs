//! A history in the making, into which recorders write.

use crate::history::{History, Item, Record, Stamp, Version};
use hotrow_storage::{IndexRef, Key, KeySpec, Row, RowLayout, RowRef, TableId};
use hotrow_sync::atomic::{AtomicI64, AtomicU64, Ordering};
use hotrow_sync::{Arc, Mutex, MutexGuard, Waiter};
use hotrow_txn::{Abort, Begin, Engine, Isolation, Scan};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

/// A history that recorders are still writing. All recorders of a history share one recording, and may run on any
/// threads.
#[derive(Default)]
pub struct Recording {
    clock: AtomicU64,
    stamps: AtomicI64,
    shapes: Mutex<BTreeMap<TableId, Arc<Shape>>>,
    history: Mutex<History>,
}

/// The properties of a table that a recorder needs: how to make the keys of its rows, and where a row holds its stamp.
pub(crate) struct Shape {
    pub table: TableId,
    pub layout: Arc<RowLayout>,
    /// The `bigint` column that belongs to the recorder.
    pub stamp_column: usize,
    /// Whether a scan by the primary key visits the rows in the order of their keys.
    pub ordered: bool,
    key: KeySpec,
    indexes: Vec<KeySpec>,
}

impl Shape {
    pub fn item(&self, row: RowRef<'_>) -> Item {
        Item { table: self.table, key: key_of(&self.key, row) }
    }

    pub fn stamp(&self, row: RowRef<'_>) -> Stamp {
        Stamp(row.int8(self.stamp_column))
    }

    /// Returns the key of a row in an index.
    pub fn index_key(&self, index: IndexRef, row: RowRef<'_>) -> Key {
        match index {
            IndexRef::Primary => key_of(&self.key, row),
            IndexRef::Secondary(index) => key_of(&self.indexes[usize::from(index.0)], row),
        }
    }

    pub fn version(&self, row: RowRef<'_>) -> Version {
        let index_keys = self.indexes.iter().map(|spec| key_of(spec, row)).collect();
        Version { stamp: self.stamp(row), index_keys }
    }

    /// Returns a copy of `row` with this stamp in the stamp column.
    pub fn stamped(&self, row: RowRef<'_>, stamp: Stamp) -> Row {
        let mut copy = Row::new(&self.layout);
        copy.copy_from(row);
        copy.change(|change| change.set_int8(self.stamp_column, stamp.0));
        copy
    }
}

fn key_of(spec: &KeySpec, row: RowRef<'_>) -> Key {
    spec.key(spec.parts().iter().map(|part| row.value(part.column)))
}

impl Recording {
    /// Makes a recording without tables and transactions.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Adds a table to the recording, before any transaction uses it. `stamp_column` is the position of a `bigint`
    /// column that the caller does not use. It must hold zero in all present rows, which become initial rows of the
    /// history.
    ///
    /// # Errors
    /// The abort, if the engine aborts the transaction that reads the rows.
    pub fn table(&self, engine: &dyn Engine, table: TableId, stamp_column: usize) -> Result<(), Abort> {
        let schema = engine.schema(table);
        let index = |index: &hotrow_storage::IndexSchema| KeySpec::bytes(&schema.columns, &index.columns);
        let shape = Arc::new(Shape {
            table,
            layout: engine.layout(table),
            stamp_column,
            ordered: schema.ordered,
            key: KeySpec::new(&schema.columns, &schema.key),
            indexes: schema.indexes.iter().map(index).collect(),
        });
        let rows = versions_now(engine, &shape)?;
        self.history().initial.extend(rows);
        self.shapes().insert(table, shape);
        Ok(())
    }

    /// Reads the rows that a table contains now, and returns the stamp of each, to be compared with
    /// [`final_versions`](crate::final_versions). No transaction may change the table meanwhile.
    ///
    /// # Errors
    /// The abort, if the engine aborts the transaction that reads the rows.
    pub fn present(&self, engine: &dyn Engine, table: TableId) -> Result<BTreeMap<Item, Stamp>, Abort> {
        let rows = versions_now(engine, &self.shape(table))?;
        Ok(rows.into_iter().map(|(item, version)| (item, version.stamp)).collect())
    }

    /// Returns the history of all transactions that have ended. Recorders block while the caller holds the guard.
    pub fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    pub(crate) fn end(&self, record: Record) {
        self.history().transactions.push(record);
    }

    /// Returns a time that is later than all before: the next position in the order of events.
    pub(crate) fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::AcqRel)
    }

    pub(crate) fn next_stamp(&self) -> Stamp {
        Stamp(self.stamps.fetch_add(1, Ordering::AcqRel) + 1)
    }

    pub(crate) fn shape(&self, table: TableId) -> Arc<Shape> {
        self.shapes().get(&table).expect("the recording was told of every table").clone()
    }

    fn shapes(&self) -> MutexGuard<'_, BTreeMap<TableId, Arc<Shape>>> {
        self.shapes.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

fn versions_now(engine: &dyn Engine, shape: &Shape) -> Result<Vec<(Item, Version)>, Abort> {
    let mut txn = engine.transaction(Waiter::thread(Duration::ZERO));
    txn.begin(&Begin::at(Isolation::Serializable))?;
    let mut rows = Vec::new();
    txn.scan(&Scan::all(shape.table, IndexRef::Primary), &mut |row| {
        rows.push((shape.item(row), shape.version(row)));
        ControlFlow::Continue(())
    })?;
    txn.commit()?;
    Ok(rows)
}
