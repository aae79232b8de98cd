//! What a transaction can do.

use crate::{
    Abort, Accesses, Capabilities, Concurrency, Diagnostics, Holding, Isolation, Planned, Statistics, Yielding,
};
use hotrow_storage::{IndexId, IndexRef, Key, RowMut, RowRef, TableId};
use hotrow_sync::Arc;
use std::fmt;
use std::ops::{Bound, ControlFlow};

/// How a transaction is to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Begin<'a> {
    /// The isolation level; an engine that lacks it gives a stronger one.
    pub isolation: Isolation,
    /// Optimistic or pessimistic, in place of what the engine does by itself. Engines without a choice
    /// ([`EngineInfo::concurrency`](crate::EngineInfo::concurrency)) ignore it.
    pub concurrency: Option<Concurrency>,
    /// The transaction promises not to write. An engine may do less for it; a write gives [`Abort::User`].
    pub read_only: bool,
    /// What it will touch, if that is known: the whole plan for engines that need one; the rows that are locked as the
    /// transaction begins for those that [lock access sets](Capabilities::locks_accesses); a hint to look the keys up
    /// together for all others. An engine that needs a plan and gets none keeps everybody else off the database until
    /// the transaction ends, but for one that is read-only and gets read committed: that one reads row by row.
    pub accesses: Option<&'a Accesses>,
    /// A reconnaissance: the transaction reads to find out what another one will touch. It takes no part in isolation
    /// (each read by itself sees committed data), brings no accesses, and does not write.
    pub reconnaissance: bool,
    /// The number under which reports name the transaction; a server gives its session's process number.
    pub label: u32,
    /// Nobody is talked to between begin and commit, and a retry costs little: an engine may wait less patiently.
    pub one_shot: bool,
}

impl Begin<'_> {
    /// A read-write transaction at this level.
    pub fn at(isolation: Isolation) -> Self {
        Self { isolation, ..Self::default() }
    }
}

/// The outcome of a write that did not abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// Done.
    Done,
    /// There is no such row (update, delete).
    Absent,
    /// Another row has this key already (insert; update of a unique index's column). Nothing was changed; the
    /// transaction may go on.
    Duplicate(IndexRef),
}

impl Write {
    /// The unique secondary index that refused the write.
    pub fn duplicate_index(self) -> Option<IndexId> {
        match self {
            Write::Duplicate(IndexRef::Secondary(index)) => Some(index),
            _ => None,
        }
    }
}

/// The way a scan walks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    #[default]
    Forward,
    /// Descending keys.
    Backward,
}

/// What a scan locks its rows for. The greater is what counts of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockFor {
    /// To read them.
    #[default]
    Read,
    /// To update or delete them soon: locks them as a write does.
    Update,
    /// The same, passing over rows that another transaction has locked. What the scan passes over and what lies between its rows it leaves
    /// to others at every level, and it keeps no lock on rows that [the residual predicate](Scan::residual) refuses.
    UpdateFree,
    /// As [`Update`](Self::Update), but at a row that another transaction has locked the scan fails with [`Abort::Timeout`] at once. The
    /// transaction may go on after that; what it had locked until then it keeps.
    UpdateNoWait,
}

impl LockFor {
    /// Whether rows are locked as a write does.
    #[inline]
    pub fn is_update(self) -> bool {
        self != LockFor::Read
    }

    /// Whether others that have a row locked are waited for, by engines that wait. Where transactions wait for their turn before
    /// they touch anything, they do so all the same, and meet nobody.
    #[inline]
    pub fn waits(self) -> bool {
        matches!(self, LockFor::Read | LockFor::Update)
    }
}

/// A walk over an index.
///
/// A bound that is a prefix of a byte-string key stands for all keys that begin with it: `Included` takes them all,
/// `Excluded` none.
///
/// On a hash index `lower` and `upper` are both `Included` with the same key, and the order is none. The primary index of
/// a table that is not ordered takes no bounds: the whole table, in no order.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The table.
    pub table: TableId,
    /// The index to follow.
    pub index: IndexRef,
    /// Where to begin, in key order.
    pub lower: Bound<Key>,
    /// Where to end, in key order.
    pub upper: Bound<Key>,
    /// The order of the visits.
    pub direction: Direction,
    /// Read or update.
    pub lock: LockFor,
    /// What else is asked of the rows, told to engines that [make use](Transaction::takes_residual) of it.
    pub residual: Option<Residual>,
}

/// What a scan asks of rows beside their place in the index: the *residual predicate* (Larson et al., *High-Performance Concurrency
/// Control Mechanisms for Main-Memory Databases*, §3.1).
///
/// The engine may pass over rows for which it does not hold, and over their changes by others, as long as it does not hold afterwards
/// either. It looks at rows until the transaction has ended, from whatever thread that runs on. Of a row that it cannot judge the
/// predicate says that it holds.
#[derive(Clone)]
pub struct Residual(Arc<dyn Fn(RowRef<'_>) -> bool + Send + Sync>);

impl Residual {
    /// That `holds` is true of the row.
    pub fn new(holds: impl Fn(RowRef<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(holds))
    }
}

impl fmt::Debug for Residual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Residual")
    }
}

impl Scan {
    /// Everything in the index, ascending, to read.
    pub fn all(table: TableId, index: IndexRef) -> Self {
        Self {
            table,
            index,
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
            direction: Direction::Forward,
            lock: LockFor::Read,
            residual: None,
        }
    }

    /// Whether the residual predicate holds of a row, or there is none.
    #[inline]
    pub fn admits(&self, row: RowRef<'_>) -> bool {
        self.residual.as_ref().is_none_or(|residual| residual.0(row))
    }

    /// Every entry whose key begins with `prefix`, ascending, to read.
    pub fn prefix(table: TableId, index: IndexRef, prefix: Key) -> Self {
        Self { upper: Bound::Included(prefix.clone()), lower: Bound::Included(prefix), ..Self::all(table, index) }
    }
}

/// A place in a transaction to roll back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint(pub usize);

/// What a transaction can do: the one interface between all engines and their callers.
///
/// The object is a *transaction in flight*: it is made once, for a worker or a session, and then runs one transaction
/// after the other, [`begin`](Self::begin) to [`commit`](Self::commit) or [`abort`](Self::abort), keeping its buffers.
/// It is also the participant in reclamation. Dropped while a transaction runs, it aborts that one.
///
/// # Contract
/// After any method returned [`Abort`] the only sensible call is [`abort`](Self::abort) (or
/// [`rollback_to`](Self::rollback_to) after [`Abort::User`], or after [`Abort::Conflict`] where
/// [requests are retried](Capabilities::retries_requests)).
///
/// Between two transactions every call but [`begin`](Self::begin) fails with [`Abort::User`] or does nothing.
///
/// Calls may wait, through the waiter the object was made with; nothing else blocks. Each wait for a lock asks the
/// waiter when it begins how long it may last ([`lock_timeout`](hotrow_sync::Waiter::lock_timeout)).
///
/// # Parts
/// This trait is the core, which every engine writes. The rest are four small traits that each transaction has too, so
/// that a caller of `dyn Transaction` or `T: Transaction` has all calls at hand, and each is one virtual call or none:
///
/// | part | what it is for |
/// | --- | --- |
/// | [`Holding`] | constraints and DDL: reads and tables that stay as they are |
/// | [`Yielding`] | transactions that make room for others |
/// | [`Planned`] | callers that make access sets |
/// | [`Diagnostics`] | what the transaction knows of its relation to others |
///
/// What all transactions of a database can do is one value, [`capabilities`](Self::capabilities).
///
/// # Implementing
/// No method has a default, so an object that forgets one does not compile. Two macros fill in what an object does not
/// do by itself: an engine names in [`standard!`](crate::standard!) what it lacks; an object around another one names
/// in [`forward!`](crate::forward!) what goes to the object within.
pub trait Transaction: Holding + Yielding + Planned + Diagnostics + Send {
    /// Begins a transaction. None is running.
    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort>;

    /// The row with this primary key. The row may be looked at until the next call.
    fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort>;

    /// The same, locked as for a write.
    fn read_for_update(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort>;

    /// Changes the row with this primary key by calling `change` on it, once. If `change` returns an error, the row is
    /// as before and the error is passed on. `change` must not change columns of the primary key.
    fn update(
        &mut self,
        table: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort>;

    /// Inserts a row; its key is made of its own columns.
    fn insert(&mut self, table: TableId, row: RowRef<'_>) -> Result<Write, Abort>;

    /// Deletes the row with this primary key.
    fn delete(&mut self, table: TableId, key: &Key) -> Result<Write, Abort>;

    /// Visits the rows of an index's range until `visit` breaks.
    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort>;

    /// Marks the present state.
    fn savepoint(&mut self) -> Savepoint;

    /// Undoes everything since `savepoint`, which stays usable. Locks may be kept.
    fn rollback_to(&mut self, savepoint: Savepoint);

    /// Commits. On an error the transaction still has to be aborted.
    fn commit(&mut self) -> Result<(), Abort>;

    /// Undoes everything and ends the transaction. Without a transaction it does nothing.
    fn abort(&mut self);

    /// Returns whether the running transaction makes use of the [residual predicate](Scan::residual) of a scan with
    /// this lock.
    fn takes_residual(&self, lock: LockFor) -> bool;

    /// Returns what all transactions of the database can do.
    fn capabilities(&self) -> Capabilities;

    /// Returns the counters and times since the object was made.
    fn statistics(&mut self) -> &mut Statistics;
}
