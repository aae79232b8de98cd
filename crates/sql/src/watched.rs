//! A wrapper of a transaction that records where the transaction waits and where it meets conflicts.
//!
//! Under every engine, waits use the transaction's [`Waiter`], and conflicts are the results of calls. So a wrapper
//! between the executor and the engine can attribute each wait and conflict to a row or range. It costs a call and two
//! loads if no wait occurs.

use hotrow_storage::{IndexRef, Key, KeySpec, RowMut, RowRef, TableId};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{
    Abort, Begin, Diagnostics, Engine, Holding, Planned, Savepoint, Scan, Transaction, Write, Yielding, forward,
};
use std::ops::{Bound, ControlFlow};

/// The place of a wait or a conflict: a row, a range of an index, or a phase of the transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Spot {
    /// The row with this primary key, whether it exists or not.
    Row(TableId, Key),
    /// A range of an index, or a part of the range. The key is the range's lower bound; `None` if it has no lower
    /// bound.
    Range(TableId, IndexRef, Option<Key>),
    /// The begin of a transaction under an engine that takes all locks of a transaction at its begin.
    Begin,
    /// The commit, which waited for other transactions or was refused because of their changes.
    Commit,
}

impl Spot {
    /// Returns the table of the spot, if it has one.
    pub(crate) fn table(&self) -> Option<TableId> {
        match self {
            Spot::Row(table, _) | Spot::Range(table, ..) => Some(*table),
            Spot::Begin | Spot::Commit => None,
        }
    }
}

/// A call of the engine that waited, or that failed because of other transactions.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) spot: Spot,
    /// The time that the call waited, in nanoseconds; zero if it did not wait.
    pub(crate) waited_ns: u64,
    pub(crate) conflict: bool,
}

/// A session's transaction, with a record of its waits and conflicts.
pub(crate) struct Watched {
    inner: Box<dyn Transaction>,
    engine: Arc<dyn Engine>,
    waiter: Waiter,
    troubles: Vec<Trouble>,
}

impl Watched {
    pub(crate) fn new(engine: &Arc<dyn Engine>, waiter: &Waiter) -> Self {
        let inner = engine.transaction(waiter.clone());
        Self { inner, engine: engine.clone(), waiter: waiter.clone(), troubles: Vec::new() }
    }

    /// Removes and returns the waits and conflicts that were recorded since the last call, in order.
    pub(crate) fn troubles(&mut self) -> impl Iterator<Item = Trouble> {
        self.troubles.drain(..)
    }

    /// Returns the place of the last recorded conflict, or `None` if none is recorded.
    pub(crate) fn last_conflict(&self) -> Option<&Spot> {
        self.troubles.iter().rev().find(|trouble| trouble.conflict).map(|trouble| &trouble.spot)
    }

    /// Whether there are waits or conflicts since the last call of [`troubles`](Self::troubles).
    #[inline]
    pub(crate) fn has_troubles(&self) -> bool {
        !self.troubles.is_empty()
    }
}

/// The limit of recorded waits and conflicts. A statement that meets more has long been noticed.
const MANY: usize = 1000;

/// Records the wait or conflict of a call, if it met one. `before` is the waiter's time before the call.
#[inline]
fn note<T>(
    troubles: &mut Vec<Trouble>,
    waiter: &Waiter,
    before: u64,
    result: &Result<T, Abort>,
    spot: impl FnOnce() -> Spot,
) {
    let waited_ns = waiter.waited_ns() - before;
    if waited_ns > 0 || result.is_err() {
        note_trouble(troubles, waited_ns, result.as_ref().err().copied(), spot);
    }
}

#[cold]
fn note_trouble(troubles: &mut Vec<Trouble>, waited_ns: u64, abort: Option<Abort>, spot: impl FnOnce() -> Spot) {
    use Abort as A;
    let conflict = match abort {
        Some(A::Conflict | A::Deadlock | A::Timeout | A::Validation | A::WriteConflict | A::Cascade) => true,
        Some(A::TableChanged | A::OutsidePlan | A::Cancelled | A::Resources | A::LogFailed | A::User) | None => false,
    };
    if (waited_ns > 0 || conflict) && troubles.len() < MANY {
        troubles.push(Trouble { spot: spot(), waited_ns, conflict });
    }
}

/// Returns the range that a scan covers, by its lower bound.
fn range(scan: &Scan) -> Spot {
    let first = match &scan.lower {
        Bound::Included(key) | Bound::Excluded(key) => Some(key.clone()),
        Bound::Unbounded => None,
    };
    Spot::Range(scan.table, scan.index, first)
}

impl Transaction for Watched {
    forward!(inner: savepoint, rollback_to, abort, takes_residual, capabilities, statistics);

    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort> {
        let before = self.waiter.waited_ns();
        let result = self.inner.begin(begin);
        note(&mut self.troubles, &self.waiter, before, &result, || Spot::Begin);
        result
    }

    #[inline]
    fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        let before = self.waiter.waited_ns();
        let result = self.inner.read(table, key);
        note(&mut self.troubles, &self.waiter, before, &result, || Spot::Row(table, key.clone()));
        result
    }

    #[inline]
    fn read_for_update(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        let before = self.waiter.waited_ns();
        let result = self.inner.read_for_update(table, key);
        note(&mut self.troubles, &self.waiter, before, &result, || Spot::Row(table, key.clone()));
        result
    }

    #[inline]
    fn update(
        &mut self,
        table: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        let before = self.waiter.waited_ns();
        let result = self.inner.update(table, key, change);
        note(&mut self.troubles, &self.waiter, before, &result, || Spot::Row(table, key.clone()));
        result
    }

    fn insert(&mut self, table: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        let before = self.waiter.waited_ns();
        let result = self.inner.insert(table, row);
        note(&mut self.troubles, &self.waiter, before, &result, || {
            let schema = self.engine.schema(table);
            Spot::Row(table, KeySpec::new(&schema.columns, &schema.key).key_of(row))
        });
        result
    }

    fn delete(&mut self, table: TableId, key: &Key) -> Result<Write, Abort> {
        let before = self.waiter.waited_ns();
        let result = self.inner.delete(table, key);
        note(&mut self.troubles, &self.waiter, before, &result, || Spot::Row(table, key.clone()));
        result
    }

    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        let before = self.waiter.waited_ns();
        let result = self.inner.scan(scan, visit);
        note(&mut self.troubles, &self.waiter, before, &result, || range(scan));
        result
    }

    fn commit(&mut self) -> Result<(), Abort> {
        let before = self.waiter.waited_ns();
        let result = self.inner.commit();
        note(&mut self.troubles, &self.waiter, before, &result, || Spot::Commit);
        result
    }
}

impl Holding for Watched {
    forward!(inner: hold_reads, own_table, check_owned_table);

    fn hold_row(&mut self, table: TableId, key: &Key) -> Result<bool, Abort> {
        let before = self.waiter.waited_ns();
        let result = self.inner.hold_row(table, key);
        note(&mut self.troubles, &self.waiter, before, &result, || Spot::Row(table, key.clone()));
        result
    }
}

impl Yielding for Watched {
    forward!(inner: retire_writes, idle);

    fn give_way(&mut self, to: Option<Savepoint>) -> Result<bool, Abort> {
        // The failed call was recorded as a conflict; the wait is for the same row.
        let before = self.waiter.waited_ns();
        let result = self.inner.give_way(to);
        if let Some(trouble) = self.troubles.last_mut() {
            trouble.waited_ns += self.waiter.waited_ns() - before;
        }
        result
    }
}

impl Planned for Watched {
    forward!(inner: schema_of, add_missing, announce);
}

impl Diagnostics for Watched {
    forward!(inner: deadlock, exclusion, prospect);
}
