//! What a transaction can do.

use crate::{Abort, Accesses, Concurrency, Deadlock, Isolation, Statistics};
use hotrow_storage::{IndexId, IndexRef, Key, RowMut, RowRef, TableId, TableSchema};
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
    /// transaction begins for those that [lock access sets](Transaction::locks_accesses); a hint to look the keys up
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

/// What a transaction keeps from others between two of its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exclusion {
    /// At the most what it has touched.
    #[default]
    None,
    /// The whole database, or all writes to it, and nobody waits for it.
    Database,
    /// The same, and others wait.
    WaitedFor,
}

/// Whether a transaction may still commit, between two of its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prospect {
    /// As far as others are concerned.
    #[default]
    Open,
    /// If others commit whose changes it has seen.
    Follows,
    /// It will not: one of those has failed.
    Doomed,
}

/// A place in a transaction to roll back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint(pub usize);

/// What a transaction can do: the one interface between all engines and all who use them.
///
/// The object is a *transaction in flight*: it is made once, for a worker or a session, and then runs one transaction
/// after the other, [`begin`](Self::begin) to [`commit`](Self::commit) or [`abort`](Self::abort), keeping its buffers.
/// It is also the participant in reclamation. Dropped while a transaction runs, it aborts that one.
///
/// After any method returned [`Abort`] the only sensible call is [`abort`](Self::abort) (or
/// [`rollback_to`](Self::rollback_to) after [`Abort::User`], or after [`Abort::Conflict`] where
/// [requests are retried](Self::retries_requests)).
///
/// Between two transactions every call but [`begin`](Self::begin) fails with [`Abort::User`] or does nothing.
///
/// Calls may wait, through the waiter the object was made with; nothing else blocks. Each wait for a lock asks the
/// waiter when it begins how long it may last ([`lock_timeout`](hotrow_sync::Waiter::lock_timeout)).
pub trait Transaction: Send {
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

    /// From now on, or no longer, what the transaction reads and looks for in vain, by key or in a range, stays as it is until its end, whatever
    /// its level: as at serializable, for reads that a constraint between rows depends on. A transaction begins without it, and what
    /// was read meanwhile is not let go by turning it off. Engines whose reads stay as they are at every level have nothing to do.
    fn hold_reads(&mut self, _hold: bool) {}

    /// Whether there is a row with this primary key. If so it stays there until the transaction's end, whatever its level: nobody else deletes it. If not, it stays
    /// away at serializable, as after a read.
    /// Its other columns may change, and where an engine can tell the two apart neither waits for the other.
    fn hold_row(&mut self, table: TableId, key: &Key) -> Result<bool, Abort> {
        self.hold_reads(true);
        let found = self.read(table, key).map(|row| row.is_some());
        self.hold_reads(false);
        found
    }

    /// Promises that the caller keeps everybody else off `table` until the transaction's end (it is new, or locked as a
    /// whole by DDL): the engine need not lock its rows.
    fn own_table(&mut self, table: TableId);

    /// Promises the same of a table that was made for this transaction, and that others get to know of when it has committed.
    /// Who reads as of an earlier moment must not take it for a table that was empty then: [`Abort::TableChanged`].
    fn own_new_table(&mut self, table: TableId) {
        self.own_table(table);
    }

    /// Whether what the transaction reads in a table that it owns is what is there, so that something made of it can be put in
    /// the table's place.
    ///
    /// # Errors
    /// [`Abort::TableChanged`]: the transaction reads as of a moment since when others have changed rows of the table.
    fn check_owned_table(&mut self, _table: TableId) -> Result<(), Abort> {
        Ok(())
    }

    /// Marks the present state.
    fn savepoint(&mut self) -> Savepoint;

    /// Undoes everything since `savepoint`, which stays usable. Locks may be kept.
    fn rollback_to(&mut self, savepoint: Savepoint);

    /// Undoes everything since a savepoint, or everything, in place of [`rollback_to`](Self::rollback_to) or [`abort`](Self::abort), and then
    /// waits until the transaction has ended that stood in the way of the last call. The caller tries again what was undone. Returns false,
    /// without a wait, if no such transaction is known.
    ///
    /// Engines that let the first writer win ([`Abort::WriteConflict`]) know it. Transactions that give way to the same row go on one after
    /// the other, in the order in which they came; a transaction that was undone as a whole keeps its place until it
    /// [begins](Self::begin) and ends again, or [is idle](Self::idle). A wait lasts as long as its
    /// waiter's [lock time-out](hotrow_sync::Waiter::lock_timeout), if there is one.
    ///
    /// # Errors
    /// [`Abort::Timeout`] after the limit, [`Abort::Deadlock`] if transactions would wait for each other in a circle, or
    /// [`Abort::Cancelled`]; then the transaction has still to be aborted.
    fn give_way(&mut self, to: Option<Savepoint>) -> Result<bool, Abort> {
        match to {
            Some(savepoint) => self.rollback_to(savepoint),
            None => self.abort(),
        }
        Ok(false)
    }

    /// Says that what has been written is not written again, and that there is no savepoint to which the transaction may yet roll back. An engine
    /// may let others have such rows now (Guo et al., *Releasing Locks As Early As You Can*, §3): these commit after this transaction, or
    /// fail with [`Abort::Cascade`]. A row that is touched again all the same costs those their transactions.
    fn retire_writes(&mut self) {}

    /// Commits. On an error the transaction still has to be aborted.
    fn commit(&mut self) -> Result<(), Abort>;

    /// Undoes everything and ends the transaction. Without a transaction it does nothing.
    fn abort(&mut self);

    /// Whether the running transaction makes use of the residual predicate of a scan with this lock.
    fn takes_residual(&self, _lock: LockFor) -> bool {
        false
    }

    /// Whether the engine wants the access set before the transaction begins
    /// ([`EngineInfo::needs_accesses`](crate::EngineInfo::needs_accesses)).
    fn needs_accesses(&self) -> bool {
        false
    }

    /// Whether the engine locks the rows of an access set as the transaction begins, in one order that all transactions
    /// share, and locks what is outside the set when the transaction comes to it. Such an engine does without a set as well:
    /// no reconnaissance is worth its while.
    fn locks_accesses(&self) -> bool {
        false
    }

    /// Whether nobody waits under the engine but its callers: after [`Abort::Conflict`] a transaction may go on from a savepoint, and try again
    /// what was in conflict.
    fn retries_requests(&self) -> bool {
        false
    }

    /// A table's definition, while a transaction runs; none if there is no such table. Engines that need accesses answer
    /// this, so that those who plan know how keys are made.
    fn schema(&mut self, _table: TableId) -> Option<Arc<TableSchema>> {
        None
    }

    /// After [`Abort::OutsidePlan`], until [`abort`](Self::abort): adds what was touched outside the access set, so that the next attempt has it.
    fn add_missing(&mut self, _accesses: &mut Accesses) {}

    /// After [`Abort::Deadlock`], until the next [`begin`](Self::begin): the deadlock that the transaction was the victim
    /// of, if the engine knows.
    fn deadlock(&self) -> Option<&Deadlock> {
        None
    }

    /// Whether the running transaction keeps everybody else off the database.
    fn exclusion(&self) -> Exclusion {
        Exclusion::None
    }

    /// Whether the running transaction may still commit, whatever its next calls are. One that cannot is better rolled back at once than at its next
    /// call: it has locks.
    fn prospect(&self) -> Prospect {
        Prospect::Open
    }

    /// Says that nothing will be called for a while (a session waits for its client, a worker goes on with another transaction):
    /// lets reclamation go on, and of a transaction that is over nothing is left that anybody could wait for.
    fn idle(&mut self) {}

    /// Counters and times since the object was made.
    fn statistics(&mut self) -> &mut Statistics;
}
