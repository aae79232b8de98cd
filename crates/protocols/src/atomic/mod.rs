//! Two-phase locking with all locks asked for in one step, by a traditional lock manager: `2pl-atomic`.
//!
//! **Paper.** Ren, Thomson, Abadi: *VLL: a lock manager redesign for main memory database systems*, §3.2, the
//! deadlock-free variant of two-phase locking; §1 for the lock manager, §2.4 for how access sets are known.
//!
//! **The idea.** A transaction declares what it will touch, and places all its lock requests in one critical section.
//! So there is one order of transactions, every queue has them in that order, and no transaction ever waits for a
//! younger one. This engine shares the order with very lightweight locking, but not the lock manager: a hash table of
//! request queues costs more per lock and knows, once a lock is released, which transaction inherits it.
//!
//! | paper | code |
//! | --- | --- |
//! | read and write sets, known in advance | [`Accesses`](hotrow_txn::Accesses), made into a [`Plan`](crate::shared::planned::Plan) |
//! | hash table of lock heads, each with a linked list of requests | [`RequestQueues`](crate::shared::request_queues::RequestQueues) |
//! | all requests in a single atomic step | [`Ticket::acquire`](manager::Ticket::acquire) |
//! | a released lock goes to the next request in its list | [`RequestQueues::release_all`](crate::shared::request_queues::RequestQueues::release_all) |
//! | a threshold of blocked transactions | [`AtomicWorker`] |
//!
//! **Invariants**
//!
//! 1. *No deadlock.* A transaction waits only for transactions that placed their requests before it:
//!    [`request_queues`](crate::shared::request_queues). Transactions that run wait for none.
//! 2. *Two-phase.* All locks are held to the transaction's end, and given back in one critical section.
//! 3. A transaction runs once all its requests are granted: it need not be the oldest.
//! 4. The arguments of [`planned`](crate::shared::planned) about late locks and phantoms hold because the queues can
//!    tell whether any transaction, granted or waiting, has asked for a conflicting lock.
//!
//! # Departures
//!
//! The paper has one latch per lock head, besides the critical section. Here the critical section is the latch, for
//! asking and for releasing.
//!
//! Ranges are locked in the same queues, by prefixes with intentions on shorter ones: what §3.4 calls the hierarchical
//! lock manager. Counters like VLLR's would not do: they tell that there is a conflict but not with which transaction,
//! and here is no queue of transactions whose front needs not to know.
//!
//! A row is known by a 64-bit name, and two rows of one name are locked as one: coarser, never wrong.

mod admission;
mod manager;
#[cfg(all(test, shuttle))]
mod model;
#[cfg(all(test, not(shuttle)))]
mod tests;

pub use admission::AtomicAdmission;
pub(crate) use manager::LockManager;

use crate::shared::gate::Gate;
use crate::shared::planned::PlannedTransaction;
use hotrow_storage::{Database, Table};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{
    Capabilities, Duties, EngineInfo, Isolation, Protocol, Scheduler, Setting, Settings, SettingsError, WorkerId,
};
use std::time::Duration;

/// The protocol `2pl-atomic`: two-phase locking in which a transaction asks for all its locks in one step.
pub struct Atomic {
    config: AtomicConfig,
    manager: Arc<LockManager>,
    gate: Arc<Gate>,
}

/// Knobs of [`Atomic`].
#[derive(Clone, Debug)]
pub struct AtomicConfig {
    /// The longest time that a transaction waits for its locks, or for the whole database, before it is aborted.
    /// Deadlocks do not occur, but a client may hold locks and never end its transaction.
    pub wait_limit: Duration,
    /// The number of blocked transactions at which the workers of a pool stop beginning new ones, or `None` for no
    /// limit.
    pub blocked_limit: Option<usize>,
}

impl Default for AtomicConfig {
    fn default() -> Self {
        Self { wait_limit: Duration::from_secs(10), blocked_limit: None }
    }
}

impl Protocol for Atomic {
    const INFO: EngineInfo = EngineInfo {
        name: "2pl-atomic",
        summary: "two-phase locking; the access set comes first, its locks are asked for in one step",
        source: "VLL §3.2",
        capabilities: Capabilities::PLANNED,
        scheduler: Scheduler::Planned,
        isolates: true,
        isolation: &[Isolation::ReadCommitted, Isolation::Serializable],
        concurrency: None,
        settings: &[],
        pool_settings: &[Setting::BlockedLimit],
    };
    type Config = AtomicConfig;
    type Table = Table<()>;
    type Worker = AtomicWorker;
    type Transaction = PlannedTransaction<AtomicAdmission>;

    fn configure(settings: &Settings) -> Result<Self::Config, SettingsError> {
        if settings.blocked_limit == Some(0) {
            return Err(SettingsError("a limit of 0 blocked transactions lets nobody in: expected 1 or more".into()));
        }
        Ok(AtomicConfig { blocked_limit: settings.blocked_limit, ..AtomicConfig::default() })
    }

    fn new(config: Self::Config) -> Self {
        Self { config, manager: Arc::default(), gate: Gate::new() }
    }

    fn audit(&self, _database: &Database<()>) -> Result<(), String> {
        self.manager.audit()
    }

    fn worker(&self, _id: WorkerId) -> Self::Worker {
        AtomicWorker { manager: self.manager.clone(), blocked_limit: self.config.blocked_limit }
    }

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Database<()>>,
        _worker: &mut Self::Worker,
        waiter: Waiter,
    ) -> Self::Transaction {
        let admission = AtomicAdmission::new(&self.manager, waiter.clone());
        PlannedTransaction::new(database, &self.gate, admission, waiter, self.config.wait_limit)
    }
}

/// The part of a pool's worker that belongs to the protocol. It lets the worker begin a transaction only while fewer
/// transactions than [`AtomicConfig::blocked_limit`] are blocked.
pub struct AtomicWorker {
    manager: Arc<LockManager>,
    blocked_limit: Option<usize>,
}

impl Duties for AtomicWorker {
    fn has_room(&self) -> bool {
        self.blocked_limit.is_none_or(|limit| self.manager.blocked() < limit)
    }
}
