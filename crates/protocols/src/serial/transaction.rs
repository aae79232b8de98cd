//! A transaction under one global lock.

use crate::shared::early_release::ReleasesAtEnd;
use crate::shared::in_place::{Alone, IndexLocks};
use crate::shared::lock_table::{LockTable, Name, OwnerId, Requester, WaitPolicy};
use crate::shared::locking::{LockDiagnostics, Locking, LockingTransaction, Sought};
use crate::shared::mode::Mode;
use crate::shared::time_outs::Limits;
use crate::shared::{batch, record, walk};
use hotrow_storage::{Database, Guard, Participant, RecordRef, RowRef, Table, TableId};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{
    Abort, Begin, Capabilities, EngineInfo, Exclusion, Isolation, LockTarget, LockWait, Protocol, Scan, Scheduler,
    Statistics, WorkerId, standard,
};
use std::ops::ControlFlow;
use std::time::Duration;

/// The name of the database as a whole, the only name in the lock table.
const EVERYTHING: Name = Name(0);

/// The protocol `serial`, which runs one transaction at a time.
pub struct Serial {
    table: Arc<LockTable>,
    wait_limit: Duration,
}

/// Knobs of [`Serial`].
#[derive(Clone, Debug)]
pub struct SerialConfig {
    /// The longest time that a transaction waits for the global lock before it is aborted. Deadlocks do not occur, but
    /// a client may begin a transaction and never end it.
    pub wait_limit: Duration,
}

impl Default for SerialConfig {
    fn default() -> Self {
        Self { wait_limit: Duration::from_secs(10) }
    }
}

/// The wait policy under which every transaction waits.
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
        capabilities: Capabilities::NONE,
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

    fn lock_waits(&self) -> Vec<LockWait> {
        self.table.waits()
    }

    fn worker(&self, _id: WorkerId) {}

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Database<()>>,
        _worker: &mut (),
        waiter: Waiter,
    ) -> SerialTransaction {
        let requester = self.table.requester(waiter);
        let locking = GlobalLock {
            table: self.table.clone(),
            requester,
            wait_limit: self.wait_limit,
            statistics: Statistics::default(),
        };
        LockingTransaction::new(database, locking)
    }
}

/// A transaction of `serial`.
pub type SerialTransaction = LockingTransaction<GlobalLock>;

/// The lock of the whole database, which a transaction holds from beginning to end.
pub struct GlobalLock {
    table: Arc<LockTable>,
    requester: Requester,
    wait_limit: Duration,
    statistics: Statistics,
}

impl Locking for GlobalLock {
    type Header = ();

    #[inline]
    fn capabilities(&self) -> Capabilities {
        Serial::INFO.capabilities
    }

    fn begin(
        &mut self,
        database: &Database<()>,
        participant: &mut Participant,
        begin: &Begin<'_>,
        _again: bool,
    ) -> Result<(), Abort> {
        participant.enter();
        if let Some(accesses) = begin.accesses {
            batch::prefetch(database, participant.guard(), accesses.rows(), |_, _| {});
        }
        self.requester.begin(begin.label, Limits::within(self.wait_limit));
        self.requester
            .acquire(EVERYTHING, Mode::EXCLUSIVE, || LockTarget::Database, &Patient, &mut self.statistics)
            .map(drop)
    }

    fn read<'s>(&mut self, row: Sought<'_, 's, ()>) -> Result<Option<RecordRef<'s, ()>>, Abort> {
        Ok(row.find())
    }

    fn write<'s>(&mut self, row: Sought<'_, 's, ()>) -> Result<Option<RecordRef<'s, ()>>, Abort> {
        Ok(row.find())
    }

    fn insert(&mut self, _row: Sought<'_, '_, ()>) -> Result<(), Abort> {
        Ok(())
    }

    fn entries(&mut self) -> impl IndexLocks<()> {
        Alone
    }

    fn scan(
        &mut self,
        table: &Table<()>,
        guard: Guard<'_>,
        scan: &Scan,
        visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        walk::along(table, guard, scan, &mut |step| {
            if step.is_current(table, scan.index) { visit(record::row(step.record)) } else { ControlFlow::Continue(()) }
        })
    }

    fn own(&mut self, _table: TableId) {}

    fn end(&mut self, _database: &Database<()>, _guard: Guard<'_>) {
        self.requester.release_all();
    }

    fn waiter(&self) -> &Waiter {
        self.requester.waiter()
    }
}

impl ReleasesAtEnd for GlobalLock {}

impl LockDiagnostics for GlobalLock {
    standard!(deadlock, add_missing);

    fn statistics(&mut self) -> &mut Statistics {
        &mut self.statistics
    }

    fn exclusion(&self) -> Exclusion {
        if self.table.waits().is_empty() { Exclusion::Database } else { Exclusion::WaitedFor }
    }
}
