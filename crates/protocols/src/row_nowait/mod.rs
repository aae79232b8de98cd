//! A lock word in each record, and no transaction waits: `row-nowait`.
//!
//! **Paper.** Zhu, Wang, Hu, Qian, Wang, Zhou: Interactive Transaction Processing for In-Memory Database System, §5,
//! the baseline *Row-Locking*.
//!
//! **The idea.** The first transaction to lock a record takes it with one exchange, as under [`ilock`](crate::ilock),
//! and releases it with one store: there are no waiters to look for. A transaction that comes to a locked record gives
//! up what its request has done so far and tries the request again after a pause, until it is granted or a time-out
//! ends the transaction. That costs nothing while there are no conflicts, and more than the work itself when there are
//! many.
//!
//! | paper | code |
//! | --- | --- |
//! | row locking | [`RowLock`], the record's header |
//! | the SQL request is aborted | [`Abort::Conflict`](hotrow_txn::Abort::Conflict), and a roll back to where the request began |
//! | and retried | by the caller that makes requests, as [`Capabilities::retries_requests`](hotrow_txn::Capabilities::retries_requests) says: a session tries its statement again |
//! | time-out | the session's: `lock_timeout`, or a second (`deadlock_timeout`) |
//!
//! Locks that a given-up request has taken are kept to the transaction's end, as the locks of a savepoint are: the next
//! attempt needs them in all likelihood. A procedure has one request, itself: it is rolled back and run again, as under
//! any engine that aborts.
//!
//! Absent keys, gaps and unique columns are locked in a lock table in which no transaction waits either, as
//! [`shared::record_locks`](crate::shared::record_locks) says. Isolation levels are those of `ilock`.

mod lock;

pub use lock::{Owner, RowLock};

use crate::shared::lock_table::LockTable;
use crate::shared::record_locks::{Number, Numbers, Parts, RecordLock, RecordLocking, RecordTransaction, statistics};
use crate::shared::time_outs::TimeOuts;
use hotrow_storage::{Database, Table};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Capabilities, EngineInfo, Isolation, LockStatistics, Protocol, Scheduler, Setting, WorkerId};

/// The protocol `row-nowait`: two-phase locking with a lock word in each record's header, in which no transaction waits
/// for a lock.
pub struct RowNoWait {
    numbers: Arc<Numbers>,
    names: Arc<LockTable>,
}

/// Knobs of [`RowNoWait`].
#[derive(Clone, Debug)]
pub struct RowNoWaitConfig {
    /// The number of buckets of the lock table for gaps, absent keys and unique columns, rounded up to a power of two.
    /// A bucket takes 64 bytes.
    pub buckets: usize,
}

impl Default for RowNoWaitConfig {
    fn default() -> Self {
        Self { buckets: 1 << 14 }
    }
}

impl Protocol for RowNoWait {
    const INFO: EngineInfo = EngineInfo {
        name: "row-nowait",
        summary: "a lock word in each record; nobody waits, and a statement that meets a conflict is tried again",
        source: "interactive transactions §5 (Row-Locking)",
        capabilities: Capabilities { retries_requests: !<RowLock as RecordLock>::WAITS, ..Capabilities::NONE },
        scheduler: Scheduler::Thread,
        isolates: true,
        isolation: &[Isolation::ReadCommitted, Isolation::Serializable],
        concurrency: None,
        // Time ends its attempts, and it locks as it goes, whatever is set.
        settings: &[Setting::DeadlockTimeOuts, Setting::LockAsItGoes],
        pool_settings: &[],
    };
    type Config = RowNoWaitConfig;
    type Table = Table<RowLock>;
    type Worker = ();
    type Transaction = RecordTransaction<RowLock>;

    fn new(config: RowNoWaitConfig) -> Self {
        Self { numbers: Arc::default(), names: LockTable::new(config.buckets) }
    }

    fn locks(&self, database: &Database<RowLock>) -> Option<LockStatistics> {
        Some(statistics(database, &self.names))
    }

    fn worker(&self, _id: WorkerId) {}

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Database<RowLock>>,
        _worker: &mut (),
        waiter: Waiter,
    ) -> RecordTransaction<RowLock> {
        let parts = Parts {
            info: &Self::INFO,
            capabilities: Self::INFO.capabilities,
            requester: self.names.requester(waiter),
            time_outs: &TimeOuts::default(),
            waits: None,
            foresight: None,
            retired: None,
            owner: Owner::new(Number::new(&self.numbers)),
        };
        RecordLocking::transaction(database, parts)
    }
}
