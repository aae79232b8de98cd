//! A transaction under single-version locking.

use super::KeyLocked;
use super::locker::Locker;
use super::queues::Queues;
use crate::shared::in_place::InPlace;
use crate::shared::lock_table::Acquired;
use crate::shared::locks::Announced;
use crate::shared::mode::Mode;
use crate::shared::scan::{ScanLocks, Scanner};
use crate::shared::time_outs::TimeOuts;
use crate::shared::{batch, record, table};
use hotrow_storage::{Database, IndexNumber, Key, Participant, RowMut, RowRef, Table, TableId};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{
    Abort, Begin, EngineInfo, Isolation, LockFor, Protocol, Savepoint, Scan, Scheduler, Statistics, Transaction,
    WorkerId, Write,
};
use std::ops::ControlFlow;

/// Single-version locking with the lock table inside the indexes.
pub struct OneVersion {
    time_outs: TimeOuts,
    queues: Arc<Queues>,
}

impl Protocol for OneVersion {
    const INFO: EngineInfo = EngineInfo {
        name: "1v",
        summary: "locking with a lock table inside each index; everybody waits, and a wait that takes too long aborts",
        source: "Hekaton §5 (1V)",
        needs_accesses: false,
        scheduler: Scheduler::Thread,
        isolates: true,
        isolation: &[Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable],
        concurrency: None,
        settings: &[],
        pool_settings: &[],
    };
    type Config = TimeOuts;
    type Table = Table<KeyLocked>;
    type Worker = ();
    type Transaction = OneVersionTransaction;

    fn new(time_outs: TimeOuts) -> Self {
        Self { time_outs, queues: Queues::new() }
    }

    /// Nobody waits in vain, and no lock is awaited by nobody.
    fn audit(&self, database: &Database<KeyLocked>) -> Result<(), String> {
        let mut participant = database.participant();
        participant.enter();
        for table in database.tables(participant.guard()) {
            for number in 0..table.secondary().len() as u16 + 2 {
                let index = IndexNumber(number);
                table.index_data(index).audit(table.id(), index, &self.queues)?;
            }
        }
        Ok(())
    }

    fn worker(&self, _id: WorkerId) {}

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Database<KeyLocked>>,
        _worker: &mut (),
        waiter: Waiter,
    ) -> OneVersionTransaction {
        OneVersionTransaction {
            protocol: self.clone(),
            database: database.clone(),
            participant: database.participant(),
            locks: Locker::new(self.queues.clone(), waiter),
            changes: InPlace::default(),
            isolation: Isolation::Serializable,
            read_only: false,
            running: false,
        }
    }
}

impl OneVersion {
    /// Requests that wait for a lock now.
    pub fn waiting(&self) -> usize {
        self.queues.waiting()
    }
}

/// A transaction in flight.
pub struct OneVersionTransaction {
    protocol: Arc<OneVersion>,
    database: Arc<Database<KeyLocked>>,
    participant: Participant,
    locks: Locker,
    changes: InPlace<KeyLocked>,
    isolation: Isolation,
    read_only: bool,
    running: bool,
}

impl OneVersionTransaction {
    /// What every call begins with. An error if no transaction is running.
    #[inline]
    fn enter(&mut self) -> Result<(), Abort> {
        if !self.running {
            return Err(Abort::User);
        }
        if !self.participant.is_entered() {
            self.participant.enter();
        }
        self.locks.release_short(&self.database, self.participant.guard());
        Ok(())
    }

    #[inline]
    fn enter_to_write(&mut self) -> Result<(), Abort> {
        self.enter()?;
        if self.read_only { Err(Abort::User) } else { Ok(()) }
    }

    fn end(&mut self) {
        self.locks.release_all(&self.database, self.participant.guard());
        self.changes.retire(&mut self.participant);
        self.participant.leave();
        self.running = false;
    }

    /// Locks a row to the transaction's end. What is not there need not stay so at repeatable read.
    #[inline]
    fn find_locked(&mut self, id: TableId, key: &Key, mode: Mode) -> Result<Option<RowRef<'_>>, Abort> {
        let hash = key.hash64();
        let guard = self.participant.guard();
        let table = table(&self.database, guard, id)?;
        let acquired = self.locks.row(table, hash, mode)?;
        let found = table.find(guard, key, hash).filter(|record| record.is_present());
        if found.is_none() && self.isolation == Isolation::RepeatableRead && acquired == Acquired::New {
            self.locks.unlock_row(table, hash);
        }
        Ok(found.map(record::row))
    }
}

impl Transaction for OneVersionTransaction {
    #[inline]
    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort> {
        debug_assert!(!self.running, "a transaction is running");
        self.isolation = OneVersion::INFO.granted(begin.isolation);
        self.read_only = begin.read_only;
        self.running = true;
        self.participant.enter();
        self.locks.begin(begin, &self.protocol.time_outs);
        if let Some(accesses) = begin.accesses {
            batch::prefetch(&self.database, self.participant.guard(), accesses.rows(), |table, access| {
                table.index_data(IndexNumber::HASH).prefetch(access.hash);
            });
        }
        Ok(())
    }

    #[inline]
    fn read(&mut self, id: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.enter()?;
        if self.isolation == Isolation::ReadCommitted {
            let hash = key.hash64();
            let guard = self.participant.guard();
            let table = table(&self.database, guard, id)?;
            self.locks.row_for_now(table, hash)?;
            let found = table.find(guard, key, hash);
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
        let guard = self.participant.guard();
        let table = table(&self.database, guard, id)?;
        self.locks.row(table, hash, Mode::EXCLUSIVE)?;
        let Some(record) = table.find(guard, key, hash).filter(|record| record.is_present()) else {
            return Ok(Write::Absent);
        };
        self.changes.update(&self.database, guard, table, record, &mut Announced(&mut self.locks), change)
    }

    fn insert(&mut self, id: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let guard = self.participant.guard();
        let table = table(&self.database, guard, id)?;
        let key = table.key_of(row);
        let hash = key.hash64();
        self.locks.row(table, hash, Mode::EXCLUSIVE)?;
        self.changes.insert(&self.database, guard, table, (&key, hash), row, &mut Announced(&mut self.locks))
    }

    fn delete(&mut self, id: TableId, key: &Key) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let hash = key.hash64();
        let guard = self.participant.guard();
        let table = table(&self.database, guard, id)?;
        self.locks.row(table, hash, Mode::EXCLUSIVE)?;
        let Some(record) = table.find(guard, key, hash).filter(|record| record.is_present()) else {
            return Ok(Write::Absent);
        };
        self.changes.delete(guard, table, record, &mut Announced(&mut self.locks))?;
        Ok(Write::Done)
    }

    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        self.enter()?;
        if self.read_only && scan.lock == LockFor::Update {
            return Err(Abort::User);
        }
        let guard = self.participant.guard();
        let table = table(&self.database, guard, scan.table)?;
        Scanner { table, guard, locks: &mut self.locks, scan, isolation: self.isolation }.run(visit)
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

    fn idle(&mut self) {
        if self.participant.is_entered() {
            self.locks.release_short(&self.database, self.participant.guard());
            self.participant.leave();
        }
    }

    fn statistics(&mut self) -> &mut Statistics {
        &mut self.locks.statistics
    }
}

impl Drop for OneVersionTransaction {
    fn drop(&mut self) {
        self.abort();
    }
}
