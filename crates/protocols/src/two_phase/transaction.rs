//! A transaction under two-phase locking.

use super::policy::Policy;
use crate::shared::in_place::InPlace;
use crate::shared::lock_table::{LockTable, Name};
use crate::shared::locks::{Announced, Locks};
use crate::shared::mode::Mode;
use crate::shared::scan::Scanner;
use crate::shared::{batch, record, table};
use hotrow_storage::{Database, Key, Participant, RowMut, RowRef, Table, TableId};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{
    Abort, Begin, Deadlock, EngineInfo, Isolation, LockFor, Protocol, Savepoint, Scan, Statistics, Transaction,
    WorkerId, Write,
};
use std::ops::ControlFlow;

/// Strict two-phase locking with deadlock policy `P`.
pub struct TwoPhase<P> {
    policy: Arc<P>,
    table: Arc<LockTable>,
}

/// Knobs of [`TwoPhase`] with a policy's own.
#[derive(Clone, Debug)]
pub struct TwoPhaseConfig<C> {
    /// Buckets of the lock table, rounded up to a power of two. A bucket takes 64 bytes. One-shot transactions hold some
    /// hundred locks at once and would do with far fewer; a statement that updates a million rows holds a million, and
    /// finds each among those of its bucket.
    pub buckets: usize,
    /// The policy's knobs.
    pub policy: C,
}

impl<C: Default> Default for TwoPhaseConfig<C> {
    fn default() -> Self {
        Self { buckets: 1 << 16, policy: C::default() }
    }
}

impl<P: Policy> Protocol for TwoPhase<P> {
    const INFO: EngineInfo = P::INFO;
    type Config = TwoPhaseConfig<P::Config>;
    type Table = Table<()>;
    type Worker = ();
    type Transaction = TwoPhaseTransaction<P>;

    fn new(config: Self::Config) -> Self {
        Self { policy: Arc::new(P::new(&config.policy)), table: LockTable::new(config.buckets) }
    }

    fn worker(&self, _id: WorkerId) {}

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Database<()>>,
        _worker: &mut (),
        waiter: Waiter,
    ) -> TwoPhaseTransaction<P> {
        TwoPhaseTransaction::new(database, self.policy.clone(), self.table.clone(), waiter)
    }
}

impl<P> TwoPhase<P> {
    /// Names locked and requests waiting now.
    pub fn locks(&self) -> (usize, usize) {
        self.table.usage()
    }
}

/// A transaction in flight.
pub struct TwoPhaseTransaction<P: Policy> {
    database: Arc<Database<()>>,
    lock_table: Arc<LockTable>,
    participant: Participant,
    locks: Locks<P>,
    changes: InPlace<()>,
    isolation: Isolation,
    read_only: bool,
    running: bool,
    /// The last transaction was aborted by the engine: the next one is taken for its retry.
    retry: bool,
}

impl<P: Policy> TwoPhaseTransaction<P> {
    fn new(database: &Arc<Database<()>>, policy: Arc<P>, lock_table: Arc<LockTable>, waiter: Waiter) -> Self {
        Self {
            database: database.clone(),
            participant: database.participant(),
            locks: Locks::new(policy, lock_table.requester(waiter)),
            lock_table,
            changes: InPlace::default(),
            isolation: Isolation::Serializable,
            read_only: false,
            running: false,
            retry: false,
        }
    }

    /// What every call begins with. An error if no transaction is running.
    #[inline]
    fn enter(&mut self) -> Result<(), Abort> {
        if !self.running {
            return Err(Abort::User);
        }
        if !self.participant.is_entered() {
            self.participant.enter();
        }
        self.locks.release_short();
        Ok(())
    }

    #[inline]
    fn enter_to_write(&mut self) -> Result<(), Abort> {
        self.enter()?;
        if self.read_only { Err(Abort::User) } else { Ok(()) }
    }

    fn end(&mut self) {
        self.locks.release_all();
        self.changes.retire(&mut self.participant);
        self.participant.leave();
        self.running = false;
    }

    #[inline]
    fn noting<T>(&mut self, result: Result<T, Abort>) -> Result<T, Abort> {
        if let Err(abort) = &result {
            self.retry = abort.is_retryable();
        }
        result
    }

    #[inline]
    fn find_locked(&mut self, id: TableId, key: &Key, mode: Mode) -> Result<Option<RowRef<'_>>, Abort> {
        let hash = key.hash64();
        let locked = self.locks.row(id, key, hash, mode);
        self.noting(locked.map(drop))?;
        let guard = self.participant.guard();
        let table = table(&self.database, guard, id)?;
        let found = table.find(guard, key, hash).filter(|record| record.is_present());
        Ok(found.map(record::row))
    }
}

impl<P: Policy> Transaction for TwoPhaseTransaction<P> {
    #[inline]
    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort> {
        debug_assert!(!self.running, "a transaction is running");
        self.isolation = P::INFO.granted(begin.isolation);
        self.read_only = begin.read_only;
        self.running = true;
        self.participant.enter();
        let limit = begin.wait_limit.unwrap_or_else(|| self.locks.policy.wait_limit(begin.one_shot));
        self.locks.requester.begin(Some(limit));
        self.locks.requester.set_patience(self.locks.policy.patience(begin));
        let waiter = self.locks.waiter();
        self.locks.policy.begin(self.locks.requester.id(), begin, || waiter.now(), self.retry);
        self.retry = false;
        if let Some(accesses) = begin.accesses {
            let guard = self.participant.guard();
            let lock_table = &self.lock_table;
            batch::prefetch(&self.database, guard, accesses.rows(), |_, access| {
                lock_table.prefetch(Name(access.lock_name()));
            });
        }
        Ok(())
    }

    #[inline]
    fn read(&mut self, id: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.enter()?;
        if self.isolation == Isolation::ReadCommitted {
            let hash = key.hash64();
            let locked = self.locks.row_for_now(id, key, hash);
            self.noting(locked)?;
            let guard = self.participant.guard();
            let found = table(&self.database, guard, id)?.find(guard, key, hash);
            return Ok(found.filter(|record| record.is_present()).map(record::row));
        }
        self.find_locked(id, key, Mode::SHARED)
    }

    fn read_for_update(&mut self, id: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.enter()?;
        self.find_locked(id, key, Mode::EXCLUSIVE)
    }

    #[inline]
    fn update(
        &mut self,
        id: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let hash = key.hash64();
        let locked = self.locks.row(id, key, hash, Mode::EXCLUSIVE);
        self.noting(locked.map(drop))?;
        let guard = self.participant.guard();
        let table = table(&self.database, guard, id)?;
        let Some(record) = table.find(guard, key, hash).filter(|record| record.is_present()) else {
            return Ok(Write::Absent);
        };
        let result = self.changes.update(&self.database, guard, table, record, &mut Announced(&mut self.locks), change);
        self.noting(result)
    }

    fn insert(&mut self, id: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let guard = self.participant.guard();
        let table = table(&self.database, guard, id)?;
        let key = table.key_of(row);
        let hash = key.hash64();
        let inserted = self.locks.row(id, &key, hash, Mode::EXCLUSIVE).and_then(|_| {
            self.changes.insert(&self.database, guard, table, (&key, hash), row, &mut Announced(&mut self.locks))
        });
        self.noting(inserted)
    }

    fn delete(&mut self, id: TableId, key: &Key) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let hash = key.hash64();
        let locked = self.locks.row(id, key, hash, Mode::EXCLUSIVE);
        self.noting(locked.map(drop))?;
        let guard = self.participant.guard();
        let table = table(&self.database, guard, id)?;
        let Some(record) = table.find(guard, key, hash).filter(|record| record.is_present()) else {
            return Ok(Write::Absent);
        };
        let deleted = self.changes.delete(guard, table, record, &mut Announced(&mut self.locks));
        self.noting(deleted.map(|()| Write::Done))
    }

    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        self.enter()?;
        if self.read_only && scan.lock == LockFor::Update {
            return Err(Abort::User);
        }
        let guard = self.participant.guard();
        let table = table(&self.database, guard, scan.table)?;
        let mut scanner = Scanner { table, guard, locks: &mut self.locks, scan, isolation: self.isolation };
        let scanned = scanner.run(visit);
        self.noting(scanned)
    }

    fn own_table(&mut self, table: TableId) {
        self.locks.own(table);
    }

    fn savepoint(&mut self) -> Savepoint {
        self.changes.savepoint()
    }

    fn rollback_to(&mut self, savepoint: Savepoint) {
        if self.enter().is_ok() {
            self.changes.rollback_to(&self.database, self.participant.guard(), savepoint);
        }
    }

    #[inline]
    fn commit(&mut self) -> Result<(), Abort> {
        self.enter()?;
        let handed = self.changes.hand_over(&self.database, self.participant.guard(), self.locks.waiter());
        if !self.changes.is_empty() {
            self.changes.commit(&self.database, &mut self.participant, |_, _| false);
        }
        self.end();
        self.database.wait_durable(handed, self.locks.waiter());
        Ok(())
    }

    fn abort(&mut self) {
        if self.enter().is_ok() {
            self.changes.abort(&self.database, &mut self.participant);
            self.end();
        }
    }

    fn deadlock(&self) -> Option<&Deadlock> {
        self.locks.requester.deadlock()
    }

    fn idle(&mut self) {
        self.locks.release_short();
        if self.participant.is_entered() {
            self.participant.leave();
        }
    }

    fn statistics(&mut self) -> &mut Statistics {
        &mut self.locks.statistics
    }
}

impl<P: Policy> Drop for TwoPhaseTransaction<P> {
    fn drop(&mut self) {
        self.abort();
    }
}
