//! Latch-free locks in the records' headers, with bit maps of the workers that wait: `ilock`.
//!
//! **Paper.** Zhu, Wang, Hu, Qian, Wang, Zhou: Interactive Transaction Processing for In-Memory Database System, §4,
//! the lock manager iLock.
//!
//! **The idea.** A client that sends its statements one by one keeps its locks for long, so conflicts are many, and to
//! wait is better than to abort. Three words before each record tell which transaction has it locked and which workers
//! have transactions that wait for it. A free lock costs one exchange. A transaction that must wait sets its worker's
//! bit and is suspended. A transaction that releases the lock looks at the bits and hands the lock over to a
//! transaction of one of the workers, so that none looks in vain. The transaction whose wait closes a cycle of waits
//! finds it, and the youngest of the cycle aborts.
//!
//! | paper | code |
//! | --- | --- |
//! | lock-state, write-waiter, read-waiter | [`ILock`], the record's header |
//! | acquire-write-lock, Fig. 6; acquire-read-lock, Fig. 7 | `ILock::take`, `ILock::ask` and [`RecordLock::wait`](crate::shared::record_locks::RecordLock::wait) |
//! | release-write-lock, Fig. 8; release-read-lock, Fig. 9 | `ILock::release`: `leave_write`, `leave_read`, `hand_over` |
//! | send-write-lock, Fig. 10; send-read-lock, Fig. 11 | `ILock::send_write_lock`, `ILock::send_read_lock` |
//! | dummy write lock, dummy read lock | `State::DUMMY`; the reader that `send_read_lock` begins with |
//! | thd | [`Worker`], numbered as they come |
//! | wait-map | `WaitMap`, one for each worker |
//! | tid | the number of [`Owner`]'s transaction |
//! | co-pointer | how the transaction [waits](hotrow_sync::Waiter): a thread that parks, a coroutine that yields |
//! | time-outs, §4.3 | [`TimeOuts`], if they are asked for: a wait is taken for a deadlock when the lock-state has not changed for so long |
//! | Fig. 13's schedules | `model`, every one of them |
//!
//! # What has no record
//!
//! The paper locks records only. Here absent keys, gaps and the columns of unique indexes are locked as well, by names
//! in a lock table, as [`shared::gaps`](crate::shared::gaps) says; how keys come to have records and lose them is in
//! [`shared::record_locks`](crate::shared::record_locks). They are no iLocks: a gap needs a third mode, and a
//! transaction that inserts a million rows locks a million of them.
//!
//! # Declared access sets
//!
//! A transaction whose access set is known locks the set's rows as it begins, in one order; a transaction without a set
//! locks as it goes, on the same lock words. The paper (§7) names an engine for both kinds of transactions as future
//! work. How rows are locked together, and why that causes no deadlocks, is in
//! [`shared::record_locks`](crate::shared::record_locks). [`InteractiveConfig::lock_as_it_goes`] is the paper's way.
//!
//! # Isolation levels
//!
//! At **read committed** the lock of a read outside the access set is released when the transaction goes on to its next
//! call, and neither gaps nor absent keys are locked to be read. At **serializable** all locks are kept to the end.
//! Writes are the same at both.
//!
//! # Workers
//!
//! Each [`Worker`], as it is made, takes the next of 64 bits; a session on a thread of its own is a worker. Workers
//! beyond the 64th share bits, and wait-maps: a bit then says that a transaction of one of several workers waits.
//! Nothing else changes, as a worker has many transactions anyway.
//!
//! # Departures
//!
//! 1. *There is no lock-queue.* The transaction that hands a lock over does what the receiving worker would do with the
//!    entry: it looks in that worker's wait-map, makes the transaction it finds the owner, clears the bit, and wakes
//!    it, under the map's latch. A library's threads have no loop that would receive entries, a worker that is busy
//!    would leave the lock idle meanwhile, and a time-out meets a hand-over at one latch. So one dummy read lock, the
//!    sender's, does for all workers, and there is a latch where a lock is waited for; none where it is free or shared.
//! 2. The bit, the second attempt and the entry in the wait-map are made under the own map's latch, which keeps bits
//!    exact.
//! 3. A hand-over that finds no waiting transaction, as all have timed out, goes on to other workers, and at last
//!    leaves the lock free and looks again. The worker whose transaction is next is drawn by lot, so that none waits
//!    for ever.
//! 4. A writer that gives up lets those readers pass that waited only because of it.
//! 5. *Upgrades.* A reader that wants to write says so in the lock-state, with its worker, and is given the lock by the
//!    last other reader to leave. A second such reader would wait for the first, and the first for it: it aborts at
//!    once.
//! 6. *Deadlocks are [found](crate::shared::deadlocks)* where the paper has time-outs. A transaction of a deadlock
//!    waits, so it can be asked what it holds: nothing is kept of locks but while their holders wait. In the middle of
//!    a hand-over to several readers one of them may be aborted for a deadlock that is none.
//! 7. *Transactions are held back from hot locks* where deadlocks are found, so that they do not stop each other:
//!    [`shared::deadlocks`](crate::shared::deadlocks) says how many are let in. The paper lets all in.
//! 8. *A row that is read to be written is locked to be written*, where deadlocks are found, after two upgrades have
//!    met: [`shared::record_locks`](crate::shared::record_locks) says when. The paper reads, then upgrades.
//! 9. *Hot rows may be handed over before their writer commits*, where deadlocks are found and transactions
//!    [say](hotrow_txn::Yielding::retire_writes) that they have written them for the last time:
//!    [`shared::record_locks`](crate::shared::record_locks) says how.
//! 10. New readers always wait while a writer waits, which the paper names as a refinement.

mod audit;
mod lock;
#[cfg(all(test, any(loom, shuttle)))]
mod model;
mod owner;
mod wait;
mod wait_map;

pub use lock::ILock;
pub use owner::Owner;

use crate::shared::deadlocks::Waits;
use crate::shared::lock_table::LockTable;
use crate::shared::record_locks::{
    Foresight, Parts, RecordLocking, RecordTransaction, RecordWaits, RetiredRows, statistics,
};
use crate::shared::time_outs::TimeOuts;
use hotrow_storage::{Database, Table};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{
    AdmissionStatistics, Capabilities, Duties, EarlyReleaseStatistics, EngineInfo, Isolation, LockStatistics, LockWait,
    Protocol, Scheduler, Setting, Settings, SettingsError, WorkerId,
};
use wait_map::WaitMaps;

/// The protocol `ilock`: two-phase locking with a latch-free lock in each record's header.
pub struct Interactive {
    config: InteractiveConfig,
    maps: Arc<WaitMaps>,
    names: Arc<LockTable>,
    /// The transactions that wait, or `None` if deadlocks end by time-out.
    waits: Option<Arc<RecordWaits<ILock>>>,
    /// The rows that are read to be written, or `None` if deadlocks end by time-out.
    foresight: Option<Arc<Foresight>>,
    /// The rows that go to the next writer before their own has committed, or `None` if deadlocks end by time-out.
    retired: Option<Arc<RetiredRows<ILock>>>,
}

/// Knobs of [`Interactive`].
#[derive(Clone, Debug)]
pub struct InteractiveConfig {
    /// The time-outs of waits and of deadlocks.
    pub time_outs: TimeOuts,
    /// The number of buckets of the lock table for gaps, absent keys and unique columns, rounded up to a power of two.
    /// A bucket takes 64 bytes.
    pub buckets: usize,
    /// Whether a transaction locks each row only when it accesses the row, as in the paper. Otherwise a transaction
    /// whose access set is known locks the set's rows as it begins.
    pub lock_as_it_goes: bool,
}

impl Default for InteractiveConfig {
    fn default() -> Self {
        Self { time_outs: TimeOuts::default(), buckets: 1 << 14, lock_as_it_goes: false }
    }
}

/// A worker, with the number of its bit in the waiter words of records. A record's bit is set while a transaction of
/// the worker waits for the record's lock. Workers beyond the 64th share numbers.
pub struct Worker {
    number: u32,
}

impl Duties for Worker {}

impl Protocol for Interactive {
    const INFO: EngineInfo = EngineInfo {
        name: "ilock",
        summary: "latch-free locks in the records, handed over to transactions that wait; the youngest of a deadlock aborts",
        source: "interactive transactions §4 (iLock)",
        capabilities: Capabilities { locks_accesses: true, ..Capabilities::NONE },
        scheduler: Scheduler::Thread,
        isolates: true,
        isolation: &[Isolation::ReadCommitted, Isolation::Serializable],
        concurrency: None,
        settings: &[Setting::DeadlockTimeOuts, Setting::LockAsItGoes, Setting::EarlyRelease],
        pool_settings: &[],
    };
    type Config = InteractiveConfig;
    type Table = Table<ILock>;
    type Worker = Worker;
    type Transaction = RecordTransaction<ILock>;

    fn configure(settings: &Settings) -> Result<InteractiveConfig, SettingsError> {
        let (time_outs, lock_as_it_goes) = (TimeOuts::of(settings), settings.lock_as_it_goes);
        Ok(InteractiveConfig { time_outs, lock_as_it_goes, ..InteractiveConfig::default() })
    }

    fn new(config: InteractiveConfig) -> Self {
        let finds_deadlocks = !config.time_outs.end_deadlocks;
        let waits = finds_deadlocks.then(Waits::new);
        let (foresight, retired) = (finds_deadlocks.then(Arc::default), finds_deadlocks.then(Arc::default));
        Self { maps: WaitMaps::new(), names: LockTable::new(config.buckets), config, waits, foresight, retired }
    }

    fn audit(&self, database: &Database<ILock>) -> Result<(), String> {
        audit::audit(database, &self.maps)
    }

    fn locks(&self, database: &Database<ILock>) -> Option<LockStatistics> {
        let locks = statistics(database, &self.names);
        Some(LockStatistics { waiting: locks.waiting + self.maps.waiting() as u64, ..locks })
    }

    fn admission(&self) -> Option<AdmissionStatistics> {
        self.waits.as_ref().map(|waits| waits.admission())
    }

    fn early_release(&self) -> Option<EarlyReleaseStatistics> {
        self.retired.as_ref().map(|retired| retired.statistics())
    }

    /// Returns the waits for gaps, absent keys and unique columns. Waits for records are left out, since a record's
    /// lock has only the number of its owner.
    fn lock_waits(&self) -> Vec<LockWait> {
        self.names.waits()
    }

    fn worker(&self, _id: WorkerId) -> Worker {
        Worker { number: self.maps.add_worker() }
    }

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Database<ILock>>,
        worker: &mut Worker,
        waiter: Waiter,
    ) -> RecordTransaction<ILock> {
        let requester = self.names.requester(waiter);
        let owner = Owner::new(&self.maps, worker.number, requester.parked().clone());
        let (time_outs, waits) = (&self.config.time_outs, self.waits.clone());
        let (foresight, retired) = (self.foresight.clone(), self.retired.clone());
        let locks_accesses = !self.config.lock_as_it_goes;
        let capabilities = Capabilities { locks_accesses, ..Self::INFO.capabilities };
        let parts = Parts { info: &Self::INFO, capabilities, requester, time_outs, waits, foresight, retired, owner };
        RecordLocking::transaction(database, parts)
    }
}

impl Interactive {
    /// Returns the number of transactions that wait for records, and the number of those that wait for gaps, absent
    /// keys or unique columns.
    pub fn waiting(&self) -> (usize, usize) {
        (self.maps.waiting(), self.names.usage().1)
    }
}
