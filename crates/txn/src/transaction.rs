//! The interface of a transaction: how it begins, reads, writes, scans and ends.

use crate::{
    Abort, Accesses, Capabilities, Concurrency, Diagnostics, Holding, Isolation, Planned, Savepoint, Statistics,
    Yielding,
};
use hotrow_storage::{IndexId, IndexRef, Key, RowMut, RowRef, TableId};
use hotrow_sync::Arc;
use std::fmt;
use std::ops::{Bound, ControlFlow};

/// The way in which a transaction is to run, for [`Transaction::begin`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Begin<'a> {
    /// The isolation level that the transaction asks for. An engine that lacks it gives a stronger one.
    pub isolation: Isolation,
    /// Optimistic or pessimistic concurrency control, in place of the engine's default. Engines without a choice
    /// ([`EngineInfo::concurrency`](crate::EngineInfo::concurrency)) ignore it.
    pub concurrency: Option<Concurrency>,
    /// Whether the transaction promises not to write. An engine may do less work for it; a write gives [`Abort::User`].
    pub read_only: bool,
    /// The access set of the transaction, if it is known. Engines that [need access sets](Capabilities::needs_accesses)
    /// lock all of it before the transaction begins. Engines that [lock access sets](Capabilities::locks_accesses) lock
    /// its rows when the transaction begins. All other engines take it as a hint to look the keys up together. If an
    /// engine needs a set and gets none, the transaction excludes all others from the database until it ends. A
    /// read-only transaction that gets read committed is exempt: it reads row by row.
    pub accesses: Option<&'a Accesses>,
    /// Whether the transaction is a reconnaissance: it reads to find out the rows that another transaction will access.
    /// It is not isolated (each read by itself sees committed data), has no access set, and does not write.
    pub reconnaissance: bool,
    /// The number under which reports name the transaction; a server gives its session's process number.
    pub label: u32,
    /// Whether the transaction runs without a round trip to a client between begin and commit, so that a retry costs
    /// little: an engine may give it a shorter limit for waits, or prefer it as the victim of a deadlock.
    pub one_shot: bool,
}

impl Begin<'_> {
    /// Asks for a read-write transaction at this isolation level, with defaults for everything else.
    pub fn at(isolation: Isolation) -> Self {
        Self { isolation, ..Self::default() }
    }
}

/// The outcome of a write that did not abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// The row was written.
    Done,
    /// No row has this key, so an update or delete has written nothing.
    Absent,
    /// Another row has this key in a unique index already, so an insert, or an update of the index's columns, has
    /// changed nothing. The transaction may go on.
    Duplicate(IndexRef),
}

impl Write {
    /// Returns the unique secondary index that refused the write; `None` if the write was done, or failed for another
    /// reason.
    pub fn duplicate_index(self) -> Option<IndexId> {
        match self {
            Write::Duplicate(IndexRef::Secondary(index)) => Some(index),
            _ => None,
        }
    }
}

/// The direction in which a scan walks through an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// The scan visits keys in ascending order.
    #[default]
    Forward,
    /// The scan visits keys in descending order.
    Backward,
}

/// The purpose for which a scan locks its rows. If two purposes apply to a row, the later one in this list is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockFor {
    /// The transaction reads the rows.
    #[default]
    Read,
    /// The transaction will update or delete the rows soon: the scan locks them as a write does.
    Update,
    /// The scan locks rows as [`Update`](Self::Update) does, and skips rows that another transaction has locked. At
    /// every isolation level it leaves the skipped rows and the gaps between its rows to other transactions, and it
    /// keeps no lock on rows that [the residual predicate](Scan::residual) refuses.
    UpdateFree,
    /// The scan locks rows as [`Update`](Self::Update) does, but fails with [`Abort::Timeout`] at once when it reaches
    /// a row that another transaction has locked. The transaction may go on after that, and keeps the locks that it has
    /// taken until then.
    UpdateNoWait,
}

impl LockFor {
    /// Whether the scan locks rows as a write does.
    #[inline]
    pub fn is_update(self) -> bool {
        self != LockFor::Read
    }

    /// Whether the scan waits for a transaction that has a row locked, if the engine waits at all. If an engine's
    /// transactions wait for their turn before they access any row, the scan waits for its turn with every purpose, and
    /// meets no lock afterwards.
    #[inline]
    pub fn waits(self) -> bool {
        matches!(self, LockFor::Read | LockFor::Update)
    }
}

/// A walk over a range of an index.
///
/// A bound that is a prefix of a byte-string key stands for all keys that begin with it: `Included` takes them all,
/// `Excluded` none.
///
/// On a hash index `lower` and `upper` are both `Included` with the same key, and the rows come in no order. On the
/// primary index of a table that is not ordered, a scan has no bounds: it visits the whole table, in no order.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The table whose rows the scan visits.
    pub table: TableId,
    /// The index to follow.
    pub index: IndexRef,
    /// The bound at the small end of the range, in key order.
    pub lower: Bound<Key>,
    /// The bound at the great end of the range, in key order.
    pub upper: Bound<Key>,
    /// The direction of the walk.
    pub direction: Direction,
    /// The purpose for which the scan locks its rows.
    pub lock: LockFor,
    /// The condition on the rows, apart from their place in the index. The caller gives it to engines that
    /// [use](Transaction::takes_residual) it.
    pub residual: Option<Residual>,
}

/// The condition that a scan places on rows, apart from their place in the index: the *residual predicate* (Larson et
/// al., *High-Performance Concurrency Control Mechanisms for Main-Memory Databases*, §3.1).
///
/// The engine may skip rows that do not satisfy the predicate. It may also ignore another transaction's change of such
/// a row, as long as the row does not satisfy the predicate after the change either. The engine evaluates the predicate
/// until the transaction has ended, on whichever thread runs the transaction. If the predicate cannot be evaluated on a
/// row, it returns true.
#[derive(Clone)]
pub struct Residual(Arc<dyn Fn(RowRef<'_>) -> bool + Send + Sync>);

impl Residual {
    /// Makes the predicate that a row satisfies if `holds` returns true for it.
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
    /// Makes a scan that visits everything in the index, in ascending order, to read.
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

    /// Makes a scan that visits every entry whose key begins with `prefix`, in ascending order, to read.
    pub fn prefix(table: TableId, index: IndexRef, prefix: Key) -> Self {
        Self { upper: Bound::Included(prefix.clone()), lower: Bound::Included(prefix), ..Self::all(table, index) }
    }
}

/// A transaction in flight: the one interface between all engines and their callers.
///
/// The object is made once, for a worker or a session. It then runs one transaction after the other, each from
/// [`begin`](Self::begin) to [`commit`](Self::commit) or [`abort`](Self::abort), and reuses its buffers. If the object
/// is dropped while a transaction runs, it aborts that transaction.
///
/// # Contract
/// After any method returned [`Abort`] the only sensible call is [`abort`](Self::abort) (or
/// [`rollback_to`](Self::rollback_to) after [`Abort::User`], or after [`Abort::Conflict`] where
/// [requests are retried](Capabilities::retries_requests)).
///
/// Between two transactions every call but [`begin`](Self::begin) fails with [`Abort::User`] or does nothing.
///
/// A write to a [constant](hotrow_storage::TableSchema::constant) table fails with [`Abort::User`] and changes nothing.
/// Its rows are read without locks, whatever the call asks for, except under engines that keep versions.
///
/// Calls may wait, through the waiter with which the object was made. They do not block in any other way. Each wait for
/// a lock asks the waiter when it begins how long it may last ([`lock_timeout`](hotrow_sync::Waiter::lock_timeout)).
///
/// # Parts
/// This trait is the core, which every engine writes. The rest are four small traits that each transaction has too, so
/// that a caller of `dyn Transaction` or `T: Transaction` has all calls at hand, and each is one virtual call or none:
///
/// | part | what it is for |
/// | --- | --- |
/// | [`Holding`] | constraints and DDL: reads and tables that stay as they are |
/// | [`Yielding`] | transactions that make room for others |
/// | [`Planned`] | callers that make access sets, or add to them |
/// | [`Diagnostics`] | what the transaction knows of its relation to others |
///
/// The capabilities that all transactions of a database share are one value, [`capabilities`](Self::capabilities).
///
/// # Implementing
/// No method has a default, so an object that omits one does not compile. Two macros write the methods that an object
/// does not implement by itself: an engine names in [`standard!`](crate::standard!) the methods that it lacks; an
/// object around another one names in [`forward!`](crate::forward!) the methods that go to the object within.
pub trait Transaction: Holding + Yielding + Planned + Diagnostics + Send {
    /// Begins a transaction on an object on which none is running.
    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort>;

    /// Returns the row with this primary key, or `None` if there is no such row. The borrowed row ends with the next
    /// call.
    fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort>;

    /// Returns the row with this primary key as [`read`](Self::read) does, and locks it as for a write.
    fn read_for_update(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort>;

    /// Changes the row with this primary key by calling `change` on it, once. If `change` returns an error, the row is
    /// as before and the error is passed on. `change` must not change columns of the primary key.
    fn update(
        &mut self,
        table: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort>;

    /// Inserts a row. Its primary key is made of its own columns.
    fn insert(&mut self, table: TableId, row: RowRef<'_>) -> Result<Write, Abort>;

    /// Deletes the row with this primary key.
    fn delete(&mut self, table: TableId, key: &Key) -> Result<Write, Abort>;

    /// Visits the rows of an index's range until `visit` breaks.
    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort>;

    /// Marks the present state of the transaction, for [`rollback_to`](Self::rollback_to).
    fn savepoint(&mut self) -> Savepoint;

    /// Undoes everything since `savepoint`, which can be used again. The engine may keep the locks taken since then.
    fn rollback_to(&mut self, savepoint: Savepoint);

    /// Commits the transaction. After an error it still has to be aborted.
    fn commit(&mut self) -> Result<(), Abort>;

    /// Undoes everything and ends the transaction. Without a transaction it does nothing.
    fn abort(&mut self);

    /// Returns whether the running transaction makes use of the [residual predicate](Scan::residual) of a scan with
    /// this lock.
    fn takes_residual(&self, lock: LockFor) -> bool;

    /// Returns the capabilities that all transactions of the database share.
    fn capabilities(&self) -> Capabilities;

    /// Returns the counters and times of all transactions since the object was made.
    fn statistics(&mut self) -> &mut Statistics;
}
