//! Concurrency control on threads of its own: `orthrus`, `orthrus-split`, `orthrus-shared`.
//!
//! **Paper.** Ren, Faleiro, Abadi: Design Principles for Scaling Multi-core OLTP Under High Contention, §3; §3.3 for
//! forwarding, §3.4 for the shared lock table, §4.2 for the threads of each role, §4.3 for split indexes.
//!
//! **The idea.** A thread has one of two roles. *Execution threads* run transactions' logic and never touch a lock.
//! *Concurrency-control threads* own the lock table, a part each, and run no logic. They exchange messages over rings
//! with one producer and one consumer. So no latch is fought for, and no cache line of the lock table moves. A
//! transaction declares what it will touch; its request visits the concurrency-control threads in their order, and
//! each forwards it to the next when it has the locks there.
//!
//! | paper | code |
//! | --- | --- |
//! | concurrency-control thread, with its part of the lock table | [`Part`](part::Part), behind a [`Baton`](hotrow_sync::Baton); a worker that has settled on it |
//! | execution thread | a worker of the pool with a port ([`Parts::open_port`](parts::Parts::open_port)) |
//! | input queues, one for each sender and receiver (Fig. 2) | [`message`] |
//! | lock requests to threads in a fixed order (§3.2) | [`Request::fill`](request::Request::fill) |
//! | forwarding, N_cc + 1 messages (§3.3, Fig. 3) | [`Part::pass_on`](part::Part) |
//! | an execution thread goes on with other transactions | the slots of a worker of the [pool](hotrow_txn::Duties) |
//! | asynchronous release | [`Message::Release`](message::Message::Release) |
//! | partial execution to learn the access set (OLLP) | [`Planned`](hotrow_txn::Planned), as for all planned engines |
//! | one lock table, shared by the concurrency-control threads (§3.4) | [`Shared`](table::Shared) |
//! | index split across execution threads (§4.3) | [`Split`] |
//! | allocation of threads to roles (§4.2) | [`roles`] |
//!
//! **Layers.** A file uses files of its own row and of the rows above it.
//!
//! | layer | files |
//! | --- | --- |
//! | names | `id` |
//! | a transaction as the other threads see it | `node`, `request`; they refer to each other, as a node keeps its granted request |
//! | one lock table, or one for each part | `table` |
//! | messages, and who acts on them | `message`, `presence` |
//! | one part | `part` |
//! | all parts and ports | `parts` |
//! | who does what | `roles`, `worker` |
//! | the engines | `variants`, `admission` |
//!
//! **Invariants**
//!
//! 1. *One at a time.* Only the thread that has a part's baton touches the part's queues. With
//!    [`Shared`](table::Shared) it also holds the latch of the table.
//! 2. *No deadlock.* A request visits parts in ascending order, and a part enters all of its locks in one step. A
//!    transaction that waits in part p waits for a transaction before it in a queue of p. That one runs and waits for
//!    nothing, or waits in a later part, or waits in p and was entered earlier. So along the edges of the wait-for
//!    graph the pair of part and age in the part grows, and no path comes back. With the shared table there is one step
//!    for all locks.
//! 3. *Two-phase.* All locks are held until the transaction is over. A *release* of a transaction is sent after its
//!    changes were made final or undone, so a transaction that is granted a lock by it finds them so: the message
//!    brings them along, and the grant carries them on.
//! 4. *N_cc + 1 messages.* A request that wants locks in n parts is carried by n + 1 messages: one to each part, and
//!    one back. [`Request::messages`](request::Request::messages) counts them, whichever thread acts on them.
//! 5. *A transaction that ends ends everywhere.* A transaction that is over tells each part in which it has locks. One
//!    that withdraws while it waits (by time-out, cancellation, a coroutine that is dropped, or a panic) tells each
//!    part that its request may visit ([`node`], invariant 2).
//! 6. *No message is forgotten*, also if its receiver sleeps, leaves, or changes its role: [`parts`], invariant 2. So
//!    sessions go on when workers leave.
//! 7. *Conflicting ranges meet.* Prefix locks of one plan are asked for in all of its parts. A range that names one
//!    value of the partition key is in the part of that value, and any other range in all parts; an index entry is
//!    where its row is. Columns of a unique index have, beside that, one part on which all transactions agree.
//! 8. A transaction without a plan is alone in the database: [`gate`](crate::shared::gate). Locks of transactions that
//!    are over may still be in the queues then; nobody waits for them but those that come after.
//!
//! # Departures
//!
//! **Both roles on one thread.** Where no thread has settled on a part, a thread that has a message for it acts on it
//! at once. So a server with few cores pays for no switch of threads, and an embedded database needs no threads. The
//! steps are the same, and are counted as messages.
//!
//! **Sessions have no ports.** A thread that is no worker of the pool, such as a session's, leaves messages in the
//! part's mailbox, and its transaction is woken directly.
//!
//! **Late locks.** A running transaction may ask a part for a lock beside its plan, as in all planned engines. It gets
//! it only if no transaction has asked for a conflicting one, and waits for the answer, which takes two messages, but
//! for no other transaction.
//!
//! **Roles chosen by load.** The paper divides the threads by hand.
//!
//! **The names of locks** are hashes of tables and keys. Rows of one partition key are in one part, so TPC-C's locks
//! are divided by warehouse, as in §4.4.

mod admission;
mod id;
mod message;
#[cfg(all(test, shuttle))]
mod model;
mod node;
mod part;
mod parts;
mod presence;
mod request;
mod roles;
mod table;
#[cfg(test)]
mod testing;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod variants;
mod worker;

pub use admission::OrthrusAdmission;
pub use roles::CcThreads;
pub use variants::{OneTable, Owning, Split, Variant};
pub use worker::OrthrusWorker;

use crate::shared::gate::Gate;
use crate::shared::planned::PlannedTransaction;
use hotrow_storage::{Database, Table};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Duties, EngineInfo, Protocol, Settings, SettingsError, WorkerId, number_of};
use id::THREADS_MAX;
use parts::Parts;
use roles::Roles;
use std::time::Duration;

/// Locks on threads of their own, in the way of `V`.
pub struct Orthrus<V: Variant> {
    config: OrthrusConfig,
    parts: Arc<Parts<V::Table>>,
    roles: Arc<Roles>,
    gate: Arc<Gate>,
}

/// The most parts of the lock table if the concurrency-control threads are chosen by load, or each thread has both
/// roles: twice as many as the paper's measurements have.
const CHOSEN_MAX: usize = 32;

/// Knobs of [`Orthrus`].
#[derive(Clone, Debug)]
pub struct OrthrusConfig {
    /// The number of workers, of both roles.
    pub workers: usize,
    /// The number of workers that do concurrency control.
    pub cc_threads: CcThreads,
    /// The longest wait for locks, or for the whole database. There are no deadlocks to end, but there are clients that
    /// never come back.
    pub wait_limit: Duration,
}

impl Default for OrthrusConfig {
    /// Returns a configuration with a worker for each core, and roles chosen by load.
    fn default() -> Self {
        Self {
            workers: hotrow_sync::cores().min(THREADS_MAX),
            cc_threads: CcThreads::ByLoad,
            wait_limit: Duration::from_secs(10),
        }
    }
}

impl OrthrusConfig {
    /// Returns the number of parts of the lock table: one for each concurrency-control thread that there may be. If
    /// each thread has both roles, there is one for two threads.
    fn lock_parts(&self) -> usize {
        match self.cc_threads {
            CcThreads::Fixed(count) if count > 0 => count,
            CcThreads::Fixed(_) | CcThreads::ByLoad => (self.workers / 2).clamp(1, CHOSEN_MAX),
        }
    }

    /// Returns the number of workers that may execute transactions.
    fn exec_threads(&self) -> usize {
        match self.cc_threads {
            CcThreads::Fixed(count) => self.workers.saturating_sub(count).max(1),
            CcThreads::ByLoad => self.workers.max(1),
        }
    }
}

impl<V: Variant> Protocol for Orthrus<V> {
    const INFO: EngineInfo = V::INFO;
    type Config = OrthrusConfig;
    type Table = Table<()>;
    type Worker = OrthrusWorker<V::Table>;
    type Transaction = PlannedTransaction<OrthrusAdmission<V::Table>>;

    fn configure(settings: &Settings) -> Result<OrthrusConfig, SettingsError> {
        let workers = settings.workers.max(1);
        if workers > THREADS_MAX {
            return Err(SettingsError(format!("{workers} threads are too many: expected 1 to {THREADS_MAX}")));
        }
        if let Some(count) = settings.cc_threads.filter(|&count| count >= workers) {
            let (count, threads) = (number_of(count, "concurrency-control thread"), number_of(workers, "thread"));
            return Err(SettingsError(format!(
                "{count} of {threads} leave none to execute transactions: expected 0 to {}",
                workers - 1
            )));
        }
        let cc_threads = settings.cc_threads.map_or(CcThreads::ByLoad, CcThreads::Fixed);
        Ok(OrthrusConfig { workers, cc_threads, ..OrthrusConfig::default() })
    }

    fn new(config: OrthrusConfig) -> Self {
        let (workers, parts) = (config.workers.clamp(1, THREADS_MAX), config.lock_parts().min(THREADS_MAX));
        Self {
            parts: Parts::new(parts, workers),
            roles: Arc::new(Roles::new(config.cc_threads, workers, parts)),
            gate: Gate::new(),
            config,
        }
    }

    fn audit(&self, _database: &Database<()>) -> Result<(), String> {
        self.parts.audit()
    }

    fn parts(&self) -> usize {
        if V::SPLITS_INDEX { self.config.exec_threads() } else { 1 }
    }

    fn worker(&self, WorkerId(number): WorkerId) -> Self::Worker {
        OrthrusWorker::new(&self.parts, &self.roles, number as usize)
    }

    fn attendants(&self) -> Vec<Box<dyn Duties>> {
        let CcThreads::Fixed(_) = self.config.cc_threads else { return Vec::new() };
        let workers = self.config.exec_threads()..self.config.workers;
        workers.map(|number| Box::new(self.worker(WorkerId(number as u32))) as Box<dyn Duties>).collect()
    }

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Database<()>>,
        worker: &mut Self::Worker,
        waiter: Waiter,
    ) -> Self::Transaction {
        let admission = OrthrusAdmission::new(&self.parts, worker.port(), waiter.clone());
        PlannedTransaction::new(database, &self.gate, admission, waiter, self.config.wait_limit)
    }
}
