//! Transactions that lock rows and change them in place: the frame that all of them share, whatever their locks are.
//!
//! All of them go through one life. Each call locks what it touches, finds it, and reads it or changes it by
//! [`InPlace`]. A commit hands its redo record over, makes the changes final and only then gives up the locks. How a
//! transaction keeps others away is its protocol's, written out as its [`Locking`]. There is nothing to choose here. A
//! [constant](TableSchema::constant) table is read without the protocol's locks.
//!
//! **Invariants**
//!
//! 1. A row's bytes are touched after [`Locking`] has said that they may be, and before it [ends](Locking::end).
//! 2. Changes are undone or made final before the locks go; the wait for the redo record's durability comes after that.
//! 3. No call leaves an epoch open that [`idle`](Yielding::idle) does not close.

use super::early_release::EarlyRelease;
use super::in_place::{InPlace, IndexLocks};
use super::log_times::log_step;
use super::{begin_call, record, table, table_to_write, walk};
use hotrow_storage::{
    Database, Guard, Key, Participant, RecordHeader, RecordRef, RowMut, RowRef, Table, TableId, TableSchema,
};
use hotrow_sync::wait::together;
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{
    Abort, Accesses, Begin, Capabilities, Deadlock, Diagnostics, Exclusion, Holding, LockFor, Ownership, Planned,
    Prospect, Savepoint, Scan, Statistics, Transaction, Write, Yielding, standard,
};
use std::ops::ControlFlow;

/// The locking of one transaction, which keeps others away from what it touches. A method with a default body is for
/// protocols for which that body is right.
pub trait Locking: EarlyRelease<<Self as Locking>::Header> + LockDiagnostics + Send {
    /// The header of each record.
    type Header: RecordHeader;

    /// Returns what all transactions of the database can do.
    fn capabilities(&self) -> Capabilities;

    /// Begins a transaction. `again` says that the one before was aborted by the engine, and that this one is taken for
    /// its retry. The transaction enters its epoch when it need not wait longer for its turn.
    fn begin(
        &mut self,
        database: &Database<Self::Header>,
        participant: &mut Participant,
        begin: &Begin<'_>,
        again: bool,
    ) -> Result<(), Abort>;

    /// Releases the locks that were taken for the last call only. Called when a call begins, or when none is expected
    /// for a while.
    fn next_call(&mut self, _database: &Database<Self::Header>, _guard: Guard<'_>) {}

    /// Returns the record of a row, locked at least until the next call, as the isolation level asks. Returns `None` if
    /// the row is not there.
    fn read<'s>(&mut self, row: Sought<'_, 's, Self::Header>) -> Result<Option<RecordRef<'s, Self::Header>>, Abort>;

    /// Returns the record of a row in order to write it, locked to the transaction's end. Returns `None` if the row is
    /// not there.
    fn write<'s>(&mut self, row: Sought<'_, 's, Self::Header>) -> Result<Option<RecordRef<'s, Self::Header>>, Abort>;

    /// Returns the record of a row that the transaction may write later, locked to the transaction's end against
    /// writers and others that may write it. Returns `None` if the row is not there. By default it is locked as to be
    /// written.
    fn read_for_update<'s>(
        &mut self,
        row: Sought<'_, 's, Self::Header>,
    ) -> Result<Option<RecordRef<'s, Self::Header>>, Abort> {
        self.write(row)
    }

    /// Locks a row that is to be inserted, whether or not it is there.
    fn insert(&mut self, row: Sought<'_, '_, Self::Header>) -> Result<(), Abort>;

    /// Returns the object that takes the locks on index entries when a locked row is changed.
    fn entries(&mut self) -> impl IndexLocks<Self::Header>;

    /// Visits the rows of a range, and locks rows and gaps as the isolation level and the scan require.
    fn scan(
        &mut self,
        table: &Table<Self::Header>,
        guard: Guard<'_>,
        scan: &Scan,
        visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<(), Abort>;

    /// Sets whether rows that are read from now on stay locked to the transaction's end (`hold`), or as long as the
    /// isolation level asks. The default is for protocols that keep all locks to the end.
    fn hold_reads(&mut self, _hold: bool) {}

    /// Returns whether a row is there. If it is, its presence is locked to the transaction's end.
    fn hold_row(&mut self, row: Sought<'_, '_, Self::Header>) -> Result<bool, Abort> {
        self.hold_reads(true);
        let found = self.read(row).map(|row| row.is_some());
        self.hold_reads(false);
        found
    }

    /// Notes that the caller keeps all other transactions off a table until this transaction ends, so that its rows
    /// need no locks.
    fn own(&mut self, table: TableId);

    /// Called when a call fails with `abort`, so that the protocol can note what the call tried to access. Returns the
    /// error that the caller gets.
    fn fail(&mut self, abort: Abort, _in_reach_of: Reach<'_, Self::Header>) -> Abort {
        abort
    }

    /// Ends the transaction, and releases all of its locks.
    fn end(&mut self, database: &Database<Self::Header>, guard: Guard<'_>);

    /// Returns the waiter of the transaction.
    fn waiter(&self) -> &Waiter;
}

/// The part of a transaction's [`Locking`] that reports what has happened.
pub trait LockDiagnostics {
    /// Returns the transaction's counters and times.
    fn statistics(&mut self) -> &mut Statistics;

    /// Returns the deadlock that the transaction was the victim of, if it is known.
    fn deadlock(&self) -> Option<&Deadlock>;

    /// Adds the accesses that the transaction made or tried outside its access set.
    fn add_missing(&mut self, accesses: &mut Accesses);

    /// Returns whether the running transaction keeps all others off the database between two calls, and whether any of
    /// them waits for it.
    fn exclusion(&self) -> Exclusion;
}

/// A row that a call names by its key, whether or not it exists.
pub struct Sought<'k, 's, H: RecordHeader> {
    pub(crate) table: &'s Table<H>,
    pub(crate) guard: Guard<'s>,
    pub(crate) key: &'k Key,
    /// The hash of the key.
    pub(crate) hash: u64,
}

impl<'s, H: RecordHeader> Sought<'_, 's, H> {
    /// Returns the row's record, if the row is there.
    #[inline]
    pub(crate) fn find(&self) -> Option<RecordRef<'s, H>> {
        self.table.find(self.guard, self.key, self.hash).filter(|record| record.is_present())
    }
}

/// Handles a call that fails: notes whether only a retry can succeed, and returns the error that the call answers.
fn fail<L: Locking>(locks: &mut L, failed: &mut bool, abort: Abort, in_reach_of: Reach<'_, L::Header>) -> Abort {
    *failed = abort.is_retryable();
    locks.fail(abort, in_reach_of)
}

/// The row, the index entries or the range that a failed call tried to access.
pub enum Reach<'a, H: RecordHeader> {
    /// The row that the call named.
    Row,
    /// The index entries of the row that the call named, whose columns are, were, or would be these.
    Entries(&'a Table<H>, &'a Key, RowRef<'a>),
    /// A row that was to be inserted, and its entries.
    Insert(&'a Table<H>, &'a Key, RowRef<'a>),
    /// The range that a scan named.
    Range(&'a Scan),
}

/// A transaction that locks rows through `L` and changes them in place.
pub struct LockingTransaction<L: Locking> {
    database: Arc<Database<L::Header>>,
    participant: Participant,
    locks: L,
    changes: InPlace<L::Header>,
    read_only: bool,
    running: bool,
    /// Whether the running transaction, or the last one, cannot succeed but by a retry.
    failed: bool,
}

impl<L: Locking> LockingTransaction<L> {
    pub(crate) fn new(database: &Arc<Database<L::Header>>, locks: L) -> Self {
        Self {
            database: database.clone(),
            participant: database.participant(),
            locks,
            changes: InPlace::default(),
            read_only: false,
            running: false,
            failed: false,
        }
    }

    /// Returns the locks of the transaction.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) fn locks(&self) -> &L {
        &self.locks
    }

    /// Begins a call. Fails if no transaction is running, or the transaction will never commit.
    #[inline]
    fn enter(&mut self) -> Result<(), Abort> {
        self.resume()?;
        self.locks.check().inspect_err(|_| self.failed = true)
    }

    /// Begins a call, also of a transaction that will never commit. Fails if no transaction is running.
    #[inline]
    fn resume(&mut self) -> Result<(), Abort> {
        begin_call(self.running, &mut self.participant)?;
        self.locks.next_call(&self.database, self.participant.guard());
        Ok(())
    }

    #[inline]
    fn enter_to_write(&mut self) -> Result<(), Abort> {
        self.enter()?;
        if self.read_only { Err(Abort::User) } else { Ok(()) }
    }

    fn end(&mut self) {
        together(|| {
            self.locks.end(&self.database, self.participant.guard());
            self.changes.reclaim(&mut self.participant);
            self.locks.reclaim(&mut self.participant);
            self.participant.leave();
            self.running = false;
        });
    }
}

impl<L: Locking> Transaction for LockingTransaction<L> {
    #[inline]
    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort> {
        debug_assert!(!self.running, "a transaction is running");
        self.read_only = begin.read_only || begin.reconnaissance;
        self.running = true;
        let again = std::mem::take(&mut self.failed);
        let begun = self.locks.begin(&self.database, &mut self.participant, begin, again);
        begun.inspect_err(|abort| self.failed = abort.is_retryable())
    }

    #[inline]
    fn read(&mut self, id: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.enter()?;
        let guard = self.participant.guard();
        let table = table(&self.database, guard, id)?;
        let row = Sought { table, guard, key, hash: key.hash64() };
        if table.is_constant() {
            return Ok(row.find().map(record::row));
        }
        match self.locks.read(row) {
            Ok(found) => Ok(found.map(record::row)),
            Err(abort) => Err(fail(&mut self.locks, &mut self.failed, abort, Reach::Row)),
        }
    }

    fn read_for_update(&mut self, id: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.enter()?;
        let guard = self.participant.guard();
        let table = table(&self.database, guard, id)?;
        let row = Sought { table, guard, key, hash: key.hash64() };
        if table.is_constant() {
            return Ok(row.find().map(record::row));
        }
        match self.locks.read_for_update(row) {
            Ok(found) => Ok(found.map(record::row)),
            Err(abort) => Err(fail(&mut self.locks, &mut self.failed, abort, Reach::Row)),
        }
    }

    #[inline]
    fn update(
        &mut self,
        id: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let (database, guard) = (&*self.database, self.participant.guard());
        let table = table_to_write(database, guard, id)?;
        let record = match self.locks.write(Sought { table, guard, key, hash: key.hash64() }) {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(Write::Absent),
            Err(abort) => return Err(fail(&mut self.locks, &mut self.failed, abort, Reach::Row)),
        };
        let start = self.changes.savepoint();
        let updated = self.changes.update(database, guard, table, record, &mut self.locks.entries(), change);
        updated.map_err(|abort| {
            // The entries of the row as it would be, and as it was.
            fail(&mut self.locks, &mut self.failed, abort, Reach::Entries(table, key, record::row(record)));
            self.changes.rollback_to(database, guard, start);
            fail(&mut self.locks, &mut self.failed, abort, Reach::Entries(table, key, record::row(record)))
        })
    }

    fn insert(&mut self, id: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let (database, guard) = (&*self.database, self.participant.guard());
        let table = table_to_write(database, guard, id)?;
        let key = table.key_of(row);
        let hash = key.hash64();
        let locked = self.locks.insert(Sought { table, guard, key: &key, hash });
        let inserted = locked
            .and_then(|()| self.changes.insert(database, guard, table, (&key, hash), row, &mut self.locks.entries()));
        inserted.map_err(|abort| fail(&mut self.locks, &mut self.failed, abort, Reach::Insert(table, &key, row)))
    }

    fn delete(&mut self, id: TableId, key: &Key) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let guard = self.participant.guard();
        let table = table_to_write(&self.database, guard, id)?;
        let record = match self.locks.write(Sought { table, guard, key, hash: key.hash64() }) {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(Write::Absent),
            Err(abort) => return Err(fail(&mut self.locks, &mut self.failed, abort, Reach::Row)),
        };
        let deleted = self.changes.delete(guard, table, record, &mut self.locks.entries());
        deleted.map(|()| Write::Done).map_err(|abort| {
            fail(&mut self.locks, &mut self.failed, abort, Reach::Entries(table, key, record::row(record)))
        })
    }

    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        self.enter()?;
        if self.read_only && scan.lock.is_update() {
            return Err(Abort::User);
        }
        let guard = self.participant.guard();
        let table = table(&self.database, guard, scan.table)?;
        if table.is_constant() {
            return walk::rows_of_constant(table, guard, scan, visit);
        }
        let scanned = self.locks.scan(table, guard, scan, visit);
        scanned.map_err(|abort| fail(&mut self.locks, &mut self.failed, abort, Reach::Range(scan)))
    }

    fn savepoint(&mut self) -> Savepoint {
        self.changes.savepoint()
    }

    fn rollback_to(&mut self, savepoint: Savepoint) {
        if self.resume().is_ok() {
            self.changes.rollback_to(&self.database, self.participant.guard(), savepoint);
        }
    }

    #[inline]
    fn commit(&mut self) -> Result<(), Abort> {
        self.enter()?;
        let takes_part = self.locks.takes_part();
        if takes_part {
            // Others may take long.
            self.participant.leave();
            self.locks.wait_for_leaders().inspect_err(|abort| self.failed = abort.is_retryable())?;
            self.participant.enter();
        }
        let timed = self.locks.statistics().timed && self.database.redo().is_some();
        let hand_over = || self.changes.hand_over(&self.database, self.participant.guard(), self.locks.waiter());
        let (handed, append_ns) = log_step(timed, self.locks.waiter(), hand_over);
        if !self.changes.is_empty() {
            self.changes.commit(&self.database, &mut self.participant, |_, _| false);
        }
        self.failed = false;
        if takes_part {
            self.locks.decided(true);
        }
        self.end();
        let waiter = self.locks.waiter();
        let (durable, wait_ns) = log_step(timed, waiter, || self.database.wait_durable(handed, waiter));
        self.locks.statistics().log.add_commit(append_ns, wait_ns);
        durable?;
        Ok(())
    }

    fn abort(&mut self) {
        if self.resume().is_ok() {
            self.changes.abort(&self.database, &mut self.participant);
            if self.locks.takes_part() {
                self.locks.decided(false);
            }
            self.end();
        }
    }

    /// Whether scans can take a residual predicate: it lets the rows go that were locked in vain.
    fn takes_residual(&self, lock: LockFor) -> bool {
        lock == LockFor::UpdateFree
    }

    #[inline]
    fn capabilities(&self) -> Capabilities {
        self.locks.capabilities()
    }

    fn statistics(&mut self) -> &mut Statistics {
        self.locks.statistics()
    }
}

impl<L: Locking> Holding for LockingTransaction<L> {
    standard!(check_owned_table);

    fn hold_reads(&mut self, hold: bool) {
        self.locks.hold_reads(hold);
    }

    fn hold_row(&mut self, id: TableId, key: &Key) -> Result<bool, Abort> {
        self.enter()?;
        let guard = self.participant.guard();
        let table = table(&self.database, guard, id)?;
        let row = Sought { table, guard, key, hash: key.hash64() };
        if table.is_constant() {
            return Ok(row.find().is_some());
        }
        let held = self.locks.hold_row(row);
        held.map_err(|abort| fail(&mut self.locks, &mut self.failed, abort, Reach::Row))
    }

    fn own_table(&mut self, table: TableId, _ownership: Ownership) {
        self.locks.own(table);
    }
}

impl<L: Locking> Yielding for LockingTransaction<L> {
    standard!(give_way);

    fn retire_writes(&mut self) {
        if !self.failed && !self.changes.is_empty() && self.resume().is_ok() {
            self.locks.retire(&self.database, self.participant.guard(), &mut self.changes);
        }
    }

    fn idle(&mut self) {
        if self.participant.is_entered() {
            self.locks.next_call(&self.database, self.participant.guard());
            self.participant.leave();
        }
    }
}

impl<L: Locking> Planned for LockingTransaction<L> {
    fn schema_of(&mut self, id: TableId) -> Option<Arc<TableSchema>> {
        self.enter().ok()?;
        self.database.table(self.participant.guard(), id).map(|table| table.schema().clone())
    }

    fn add_missing(&mut self, accesses: &mut Accesses) {
        self.locks.add_missing(accesses);
    }

    standard!(announce);
}

impl<L: Locking> Diagnostics for LockingTransaction<L> {
    fn deadlock(&self) -> Option<&Deadlock> {
        self.locks.deadlock()
    }

    fn exclusion(&self) -> Exclusion {
        if self.running { self.locks.exclusion() } else { Exclusion::None }
    }

    fn prospect(&self) -> Prospect {
        match self.locks.check() {
            _ if !self.running => Prospect::Open,
            Err(_) => Prospect::Doomed,
            Ok(()) if self.locks.follows() => Prospect::Follows,
            Ok(()) => Prospect::Open,
        }
    }
}

impl<L: Locking> Drop for LockingTransaction<L> {
    fn drop(&mut self) {
        self.abort();
    }
}
