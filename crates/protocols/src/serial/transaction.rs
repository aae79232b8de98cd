//! A transaction under one global lock.

use crate::shared::in_place::{Alone, InPlace};
use crate::shared::lock_table::{LockTable, Name, OwnerId, Requester, WaitPolicy};
use crate::shared::mode::Mode;
use crate::shared::{batch, record, table, walk};
use hotrow_storage::{Database, Key, Participant, RowMut, RowRef, Table, TableId};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{
    Abort, Begin, EngineInfo, Isolation, LockFor, LockTarget, Protocol, Savepoint, Scan, Scheduler, Statistics,
    Transaction, WorkerId, Write,
};
use std::ops::ControlFlow;
use std::time::Duration;

/// The one name that there is to lock.
const EVERYTHING: Name = Name(0);

/// One transaction at a time.
pub struct Serial {
    table: Arc<LockTable>,
    wait_limit: Duration,
}

/// Knobs of [`Serial`].
#[derive(Clone, Debug)]
pub struct SerialConfig {
    /// The longest wait for the lock. There are no deadlocks to end, but there are clients that never come back.
    pub wait_limit: Duration,
}

impl Default for SerialConfig {
    fn default() -> Self {
        Self { wait_limit: Duration::from_secs(10) }
    }
}

/// Everybody waits.
struct Patient;

impl WaitPolicy for Patient {
    fn may_wait(&self, _waiter: OwnerId, _blockers: &[OwnerId]) -> bool {
        true
    }
}

impl Protocol for Serial {
    const INFO: EngineInfo = EngineInfo {
        name: "serial",
        summary: "one transaction at a time, under one global lock: the oracle of the tests",
        source: "none",
        needs_accesses: false,
        scheduler: Scheduler::Thread,
        isolates: true,
        isolation: &[Isolation::Serializable],
        concurrency: None,
        settings: &[],
        pool_settings: &[],
    };
    type Config = SerialConfig;
    type Table = Table<()>;
    type Worker = ();
    type Transaction = SerialTransaction;

    fn new(config: SerialConfig) -> Self {
        Self { table: LockTable::new(1), wait_limit: config.wait_limit }
    }

    fn worker(&self, _id: WorkerId) {}

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Database<()>>,
        _worker: &mut (),
        waiter: Waiter,
    ) -> SerialTransaction {
        SerialTransaction {
            database: database.clone(),
            participant: database.participant(),
            requester: self.table.requester(waiter),
            wait_limit: self.wait_limit,
            changes: InPlace::default(),
            statistics: Statistics::default(),
            read_only: false,
            running: false,
        }
    }
}

/// A transaction in flight.
pub struct SerialTransaction {
    database: Arc<Database<()>>,
    participant: Participant,
    requester: Requester,
    wait_limit: Duration,
    changes: InPlace<()>,
    statistics: Statistics,
    read_only: bool,
    running: bool,
}

impl SerialTransaction {
    /// What every call begins with. An error if no transaction is running.
    #[inline]
    fn enter(&mut self) -> Result<(), Abort> {
        if !self.running {
            return Err(Abort::User);
        }
        if !self.participant.is_entered() {
            self.participant.enter();
        }
        Ok(())
    }

    #[inline]
    fn enter_to_write(&mut self) -> Result<(), Abort> {
        self.enter()?;
        if self.read_only { Err(Abort::User) } else { Ok(()) }
    }

    fn end(&mut self) {
        self.requester.release_all();
        self.changes.retire(&mut self.participant);
        self.participant.leave();
        self.running = false;
    }
}

impl Transaction for SerialTransaction {
    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort> {
        debug_assert!(!self.running, "a transaction is running");
        self.read_only = begin.read_only;
        self.running = true;
        self.participant.enter();
        if let Some(accesses) = begin.accesses {
            batch::prefetch(&self.database, self.participant.guard(), accesses.rows(), |_, _| {});
        }
        self.requester.begin(Some(begin.wait_limit.unwrap_or(self.wait_limit)));
        self.requester
            .acquire(EVERYTHING, Mode::EXCLUSIVE, || LockTarget::Database, &Patient, &mut self.statistics)
            .map(drop)
    }

    fn read(&mut self, id: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.enter()?;
        let guard = self.participant.guard();
        let found = table(&self.database, guard, id)?.find(guard, key, key.hash64());
        Ok(found.filter(|record| record.is_present()).map(record::row))
    }

    fn read_for_update(&mut self, id: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.read(id, key)
    }

    fn update(
        &mut self,
        id: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let guard = self.participant.guard();
        let table = table(&self.database, guard, id)?;
        let Some(record) = table.find(guard, key, key.hash64()).filter(|record| record.is_present()) else {
            return Ok(Write::Absent);
        };
        self.changes.update(&self.database, guard, table, record, &mut Alone, change)
    }

    fn insert(&mut self, id: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let guard = self.participant.guard();
        let table = table(&self.database, guard, id)?;
        let key = table.key_of(row);
        self.changes.insert(&self.database, guard, table, (&key, key.hash64()), row, &mut Alone)
    }

    fn delete(&mut self, id: TableId, key: &Key) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let guard = self.participant.guard();
        let table = table(&self.database, guard, id)?;
        let Some(record) = table.find(guard, key, key.hash64()).filter(|record| record.is_present()) else {
            return Ok(Write::Absent);
        };
        self.changes.delete(guard, table, record, &mut Alone)?;
        Ok(Write::Done)
    }

    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        self.enter()?;
        if self.read_only && scan.lock == LockFor::Update {
            return Err(Abort::User);
        }
        let guard = self.participant.guard();
        let table = table(&self.database, guard, scan.table)?;
        walk::along(table, guard, scan, &mut |step| {
            if step.is_current(table, scan.index) { visit(record::row(step.record)) } else { ControlFlow::Continue(()) }
        })
    }

    fn own_table(&mut self, _table: TableId) {}

    fn savepoint(&mut self) -> Savepoint {
        self.changes.savepoint()
    }

    fn rollback_to(&mut self, savepoint: Savepoint) {
        if self.enter().is_ok() {
            self.changes.rollback_to(&self.database, self.participant.guard(), savepoint);
        }
    }

    fn commit(&mut self) -> Result<(), Abort> {
        self.enter()?;
        let handed = self.changes.hand_over(&self.database, self.participant.guard(), self.requester.waiter());
        self.changes.commit(&self.database, &mut self.participant, |_, _| false);
        self.end();
        self.database.wait_durable(handed, self.requester.waiter());
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
            self.participant.leave();
        }
    }

    fn statistics(&mut self) -> &mut Statistics {
        &mut self.statistics
    }
}

impl Drop for SerialTransaction {
    fn drop(&mut self) {
        self.abort();
    }
}
