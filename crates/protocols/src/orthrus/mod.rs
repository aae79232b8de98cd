//! Concurrency control on threads of its own: `orthrus`, `orthrus-split`, `orthrus-shared`.
//!
//! **Paper.** Ren, Faleiro, Abadi: Design Principles for Scaling Multi-core OLTP Under High Contention, §3; §3.3 for
//! forwarding, §3.4 for the shared lock table, §4.2 for the threads of each role, §4.3 for split indexes.
//!
//! **The idea.** Each thread has one of two roles. *Execution threads* run the logic of transactions and never touch a
//! lock. *Concurrency-control threads* run no such logic: each of them owns a part of the lock table. Threads exchange
//! messages over rings, and each ring has one producer and one consumer. So threads do not compete for latches, and the
//! cache lines of the lock table stay where they are. A transaction declares its accesses before it runs. A request for
//! all of its locks visits the concurrency-control threads in a fixed order. Each of them forwards the request to the
//! next as soon as the transaction has its locks there. The last one sends the request back to the execution thread.
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
//! | messages, and the threads that act on them | `message`, `presence` |
//! | one part | `part` |
//! | all parts and ports | `parts` |
//! | the roles of workers | `roles`, `worker` |
//! | the engines | `variants`, `admission` |
//!
//! **Invariants**
//!
//! 1. *One thread at a time.* Only the thread that has a part's baton touches the part's queues. If the table is
//!    [`Shared`](table::Shared), the thread also holds the latch of the table.
//! 2. *No deadlock.* A request visits the parts in ascending order, and a part enters all of the request's locks there
//!    in one step. If a transaction waits in part p, it waits for a transaction before it in a queue of p. The latter
//!    waits for no transaction, or waits in a later part, or waits in p and was entered earlier. So a step from a
//!    transaction to the one that it waits for leads to a later part, or to an earlier entry in the same part. A chain
//!    of such steps never returns to a transaction. If the table is shared, all locks of a request are entered in one
//!    step, and each transaction waits only for transactions that were entered earlier.
//! 3. *Two-phase.* A transaction holds all of its locks until it is over. It sends *release* after its changes were
//!    made final or undone. A thread that acts on a message sees all that the sender wrote before it sent the message.
//!    So the changes are seen where the *release* arrives, and then where the next transaction's grant arrives.
//! 4. *N_cc + 1 messages.* If a request wants locks in n parts, n + 1 messages carry it: one to each part, and one
//!    back. If it wants no lock, there is no message. [`Request::messages`](request::Request::messages) counts them,
//!    whichever thread acts on them.
//! 5. *A transaction leaves nothing behind.* A transaction that is over tells each part in which it has locks. A wait
//!    may end without the locks: by a time-out, by a cancellation, because its coroutine is dropped, or by a panic. The
//!    transaction then withdraws, and tells each part that its request may visit ([`node`], invariant 2).
//! 6. *No message is forgotten.* This holds also if the receiver of a message sleeps, leaves, or changes its role:
//!    [`parts`], invariant 2. So sessions go on when workers leave.
//! 7. *Conflicting ranges meet.* A request asks for all prefix locks of its plan in each part that it visits. If a
//!    range of an index that begins with the partition key has one value of it, the request visits the part of that
//!    value: an entry in the range is of a row with this value. For any other range it visits all parts. For an index
//!    entry it visits the part of the entry's row. For an entry of a unique index that does not begin with the
//!    partition key it also visits the part that the hash of the indexed columns selects. All transactions that bring
//!    or remove these columns meet there. If the table is shared, every part reaches all locks, and a request visits
//!    one part only.
//! 8. *Transactions without a plan.* A reconnaissance, and a read-only transaction at read committed, have no plan and
//!    are not alone: they copy one row at a time. Any other transaction without a plan is alone in the database:
//!    [`gate`](crate::shared::gate). Until it writes, an interactive one lets in transactions that only read. A
//!    transaction that is alone takes no locks. The queues may still contain locks of transactions that are over,
//!    because a *release* is on its way. Such locks make later requests wait, but not the transaction that is alone.
//!
//! # Departures
//!
//! **Both roles on one thread.** If no thread has settled on a part, the thread that has a message for the part acts on
//! the message at once. So a server with few cores pays for no switch between threads, and an embedded database needs
//! no threads of its own. The steps are the same as with two threads, and they are counted as messages.
//!
//! **Sessions have no ports.** A session's thread is no worker of the pool. If a thread has settled on a part, the
//! session's thread leaves its messages in the part's mailbox. The session's transaction is told of its grant directly,
//! and is woken.
//!
//! **Late locks.** A running transaction may ask a part for a lock that its plan lacks, as in all planned engines. The
//! part grants the lock only if no other transaction has asked for a conflicting one. If a thread has settled on the
//! part, the question and the answer are two messages, and the transaction waits for the answer. It waits for no other
//! transaction. A transaction that knows which rows it is about to insert [announces](hotrow_txn::Planned::announce)
//! them, and asks each part once for all of them. TPC-C's New-Order does so when it knows the order's number.
//! Otherwise it would ask for 7 to 17 rows one by one, while others wait for its district and its warehouse.
//!
//! **Transactions in flight.** The paper does not say how many a thread keeps. Here a thread keeps fewer while they
//! wait for each other, because a transaction that waits has locks in earlier parts already. A wait for messages alone
//! does not count. If threads share cores, waits have no effect: a message then takes a switch of threads, which the
//! transactions under way share.
//!
//! **Roles chosen by load.** The paper divides the threads by hand. Here the engine can choose the division by load.
//!
//! **The names of locks.** A lock's name is a hash of the table and the key. If a table has a partition key, the locks
//! of all rows with one value of it are in one part. So the locks of a TPC-C warehouse's rows are in one part, as in
//! §4.4. Items have no warehouse, and never change. As in the paper, none of them is locked: their table is
//! [constant](hotrow_storage::TableSchema::constant).

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

/// A planned engine with threads that only do concurrency control. `V` says which engine of the family it is: whether
/// these threads share one lock table, and whether indexes are split.
pub struct Orthrus<V: Variant> {
    config: OrthrusConfig,
    parts: Arc<Parts<V::Table>>,
    roles: Arc<Roles>,
    gate: Arc<Gate>,
}

/// The greatest number of parts of the lock table, if the number of concurrency-control threads is chosen by load or is
/// zero. The paper's measurements have half as many concurrency-control threads.
const CHOSEN_MAX: usize = 32;

/// The configuration of [`Orthrus`].
#[derive(Clone, Debug)]
pub struct OrthrusConfig {
    /// The number of workers in both roles together.
    pub workers: usize,
    /// The number of workers that do concurrency control, or the choice of this number by load.
    pub cc_threads: CcThreads,
    /// The longest time that a transaction waits for its locks, or for the whole database, unless its waiter has
    /// another limit. The limit ends no deadlock, because none can arise. It ends waits for the transaction of a client
    /// that never comes back.
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
    /// Returns the number of parts of the lock table. If the number of concurrency-control threads is fixed, each of
    /// them has one part. If their number is chosen by load, or each thread has both roles, there is a part for every
    /// two workers: at least one part, and at most [`CHOSEN_MAX`].
    fn lock_parts(&self) -> usize {
        match self.cc_threads {
            CcThreads::Fixed(count) if count > 0 => count,
            CcThreads::Fixed(_) | CcThreads::ByLoad => (self.workers / 2).clamp(1, CHOSEN_MAX),
        }
    }

    /// Returns the number of workers that may execute transactions: all of them, if roles are chosen by load or each
    /// thread has both roles.
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
