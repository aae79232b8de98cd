//! Engines that are wrong on purpose, to see which check finds what.
//!
//! | file | engines |
//! | --- | --- |
//! | [`flawed`] | an engine of the registry with a flaw: it breaks a promise, each in one way |
//! | [`two_phase`] | a small engine of two-phase locking, with bugs to choose from |
//! | [`vll`] | a small engine of very lightweight locking, with bugs to choose from |
//! | [`versions`], `queues` | a small multiversion engine, with bugs to choose from, and its queues of writers |
//!
//! Each stands on another engine, which has everything that it does not have itself.

pub mod flawed;
mod queues;
pub mod two_phase;
pub mod versions;
pub mod vll;

use hotrow_storage::{Duplicate, Key, KeySpec, RedoSink, RowRef, TableId, TableSchema};
use hotrow_sync::{Arc, Waiter, Wake};
use hotrow_txn::{Abort, Engine, Inspection, Transaction, forward};
use std::time::Duration;

/// The part of a planted engine that differs from `inner`, the engine that it stands on. All else is done by `inner`.
pub trait Planted: Send + Sync + 'static {
    fn transaction(&self, inner: &Arc<dyn Engine>, waiter: Waiter) -> Box<dyn Transaction>;

    fn set_redo(&self, inner: &dyn Engine, sink: Arc<dyn RedoSink>) {
        inner.set_redo(sink);
    }

    fn create_table(&self, inner: &dyn Engine, schema: TableSchema) -> TableId {
        inner.create_table(schema)
    }

    fn load_rows(&self, inner: &dyn Engine, table: TableId, rows: &[RowRef<'_>]) -> Result<(), (usize, Duplicate)> {
        inner.load_rows(table, rows)
    }

    fn row_count(&self, inner: &dyn Engine, table: TableId) -> u64 {
        inner.row_count(table)
    }

    fn audit(&self, inner: &dyn Engine) -> Result<(), String> {
        inner.audit()
    }
}

/// A planted engine over the engine that it stands on.
pub struct PlantedEngine<P> {
    inner: Arc<dyn Engine>,
    planted: P,
}

impl<P: Planted> PlantedEngine<P> {
    pub fn over(inner: Arc<dyn Engine>, planted: P) -> Arc<dyn Engine> {
        Arc::new(Self { inner, planted })
    }
}

impl<P: Planted> Engine for PlantedEngine<P> {
    forward!(inner: info, admits, attendants, restore_table, skip_tables, tables, drop_table, schema, layout);

    fn set_redo(&self, sink: Arc<dyn RedoSink>) {
        self.planted.set_redo(&*self.inner, sink);
    }

    fn create_table(&self, schema: TableSchema) -> TableId {
        self.planted.create_table(&*self.inner, schema)
    }

    fn load_rows(&self, table: TableId, rows: &[RowRef<'_>]) -> Result<(), (usize, Duplicate)> {
        self.planted.load_rows(&*self.inner, table, rows)
    }

    fn transaction(&self, waiter: Waiter) -> Box<dyn Transaction> {
        self.planted.transaction(&self.inner, waiter)
    }
}

impl<P: Planted> Inspection for PlantedEngine<P> {
    forward!(inner: memory, spare_bytes, versions, locks, admission, early_release, lock_waits);

    fn row_count(&self, table: TableId) -> u64 {
        self.planted.row_count(&*self.inner, table)
    }

    fn audit(&self) -> Result<(), String> {
        self.planted.audit(&*self.inner)
    }
}

/// The primary key of a row.
fn key_of(engine: &dyn Engine, table: TableId, row: RowRef<'_>) -> Key {
    let schema = engine.schema(table);
    let spec = KeySpec::new(&schema.columns, &schema.key);
    spec.key(spec.parts().iter().map(|part| row.value(part.column)))
}

/// Waits until something is so, or for `limit`, if there is one.
///
/// # Errors
/// [`Abort::Timeout`] or [`Abort::Cancelled`] if it is not so by then.
fn wait(waiter: &Waiter, limit: Option<Duration>, is_over: impl FnMut() -> bool) -> Result<(), Abort> {
    let deadline = limit.map(|limit| waiter.now().after(limit));
    match waiter.wait_until(deadline, is_over) {
        Wake::Ready => Ok(()),
        Wake::TimedOut => Err(Abort::Timeout),
        Wake::Cancelled => Err(Abort::Cancelled),
    }
}
