//! Partitions with one thread each: `vll-st`, `vll-st-sca`, `hstore`, `2pl-st`.
//!
//! **Paper.** Ren, Thomson, Abadi: VLL: a lock manager redesign for main memory database systems, §2.3, §2.4, §3.1.1,
//! §3.3.1.
//!
//! **The idea.** The data is cut into partitions, and each partition belongs to one thread. State that one thread uses
//! needs no latch: a transaction of one partition asks for its locks, runs and gives them back with plain loads and
//! stores. Transactions of several partitions enter each of them, by messages, in one order. A transaction that has its
//! locks in one partition and lacks them in another *waits*, and the threads go on with other transactions.
//!
//! | paper | code |
//! | --- | --- |
//! | partition, with its data, TxnQueue and locks | [`Core`](core::Core), behind a [`Baton`](hotrow_sync::Baton) |
//! | the single thread of a partition | a worker of the pool, which settles: [`PartitionWorker`] |
//! | free, blocked, waiting | [`State`](queue::State) |
//! | BeginTransaction, FinishTransaction (Fig. 3) | [`Core::begin`](core::Core::begin) and [`enter`](core::Core::enter), [`finish`](core::Core::finish) and [`finish_other`](core::Core::finish_other) |
//! | the loop's choices (Fig. 3), and SCA | [`PartitionWorker`]'s [`Duties`](hotrow_txn::Duties), in the table of [`worker`] |
//! | "Send local reads to other participating nodes" | *granted*, one of three [`messages`] |
//! | HandleReadResult, ReadyToExecute | [`Node::grant`](node::Node::grant), [`Node::is_granted`](node::Node::is_granted) |
//! | one order of multi-partition transactions at all partitions (§2.4, the second way) | [`sequencer`] |
//! | C_X, C_S without critical sections | [`InRecords`](counted::InRecords) |
//! | H-Store: serial execution (§3.1.1) | [`Whole`](whole::Whole) |
//! | "a traditional lock manager inside each partition" (§3.1.1) | [`InQueues`](queued::InQueues) |
//!
//! **Definitions.** A thread *settles* on a partition and has its baton for good. An *outsider* is a thread that has
//! settled on no partition, such as a session's. A partition on which no thread has settled is worked on by any thread
//! that needs it, for a moment at a time. A transaction's *home* is the partition on which its thread has settled.
//!
//! **Layers.** A file uses files of its own row and of the rows above it.
//!
//! | layer | files |
//! | --- | --- |
//! | names | `id` |
//! | a transaction as partitions see it | `node`, `piece` |
//! | how a partition locks | `queue`, `locks`, `counted`, `queued`, `whole` |
//! | one partition | `messages`, `core` |
//! | all partitions | `sequencer`, `partitions` |
//! | the engines | `variants`, `admission`, `worker` |
//!
//! **Invariants**
//!
//! 1. *One at a time.* Only the thread that has a partition's baton touches the partition's core, the counters of its
//!    records and its prefixes. No thread has two batons at once.
//! 2. *A transaction that runs has its locks.* A transaction that is free or waiting in a partition conflicts with no
//!    other such transaction there: as in `vll`, because it asked for all of its locks in one step, and these are
//!    granted if no transaction in the queue conflicts, or at the front of the queue, or if an analysis finds that no
//!    transaction before it conflicts; or, with request queues, if no request before its own conflicts. A transaction
//!    runs when all of its partitions have granted.
//! 3. *One order.* If two transactions of several partitions meet in two queues, they stand in both in the order of
//!    their numbers. Numbers are drawn in one step and are dense, and a partition lets number n + 1 in after n.
//! 4. *No deadlock.* A transaction that waits in a queue waits for a transaction before it there. A transaction that
//!    has come too early waits for a message that is on its way, because a transaction that draws numbers sends all its
//!    *enter* at once and waits for nothing in between. Give each transaction of several partitions the moment of its
//!    draw, and each transaction of one partition the moment of the last transaction of several partitions before it in
//!    its queue, and after that its place. Along every wait this order decreases, so no path of waits comes back. A
//!    transaction that joins a queue while it runs waits for nothing there.
//! 5. *A transaction that ends ends everywhere.* A transaction that is over, or withdraws while it waits (by time-out,
//!    cancellation, a coroutine that is dropped or a panic), tells every partition that it asked. If it is in the queue
//!    it is taken out, whatever its state; if its *enter* is still to come, that does nothing ([`node`], invariant 2).
//!    Its numbers are used up either way.
//! 6. *No message is forgotten.* The thread that has settled acts upon a message, or the first thread that comes after
//!    that one has left ([`partitions`], invariant 2). So sessions go on when workers leave.
//! 7. *A record is not freed while a partition counts on it*, and a partition counts only on a record that is known to
//!    be alive: the transaction that found it is still in its epoch while *enter* is acted upon. From then on the count
//!    keeps it.
//! 8. *Conflicting ranges meet.* Prefix locks of one plan are asked for in all of its partitions. A range of an index
//!    that begins with the partition key is, if it names one value of it, in the partition of that value, and any other
//!    range in all partitions; an index entry is where its row lives. Columns of a unique index that does not begin
//!    with the partition key have, beside that, one partition on which all transactions agree. So transactions that
//!    conflict meet in one partition at least. Nothing of a [constant](hotrow_storage::TableSchema::constant) table is
//!    locked.
//! 9. *Alone is alone.* A transaction without a plan passes the gate when no other transaction is inside, and then
//!    waits until every *finished* has been acted upon: no partition touches a record any more that it may remove.
//!
//! # Departures
//!
//! **Messages carry rights, not rows.** Partitions of one process share memory. *Granted* lets the transaction's thread
//! touch what the partition has locked for it, where a cluster would send copies; then one thread runs the procedure,
//! and not each participant. To study what a cluster costs, messages can be [held
//! back](PartitionConfig::network_delay).
//!
//! **The order** of transactions of several partitions comes from one counter for each partition under one latch, where
//! Calvin has sequencers.
//!
//! **The second choice of Fig. 3**, the blocked front, is made by the transaction that leaves the front: it changes the
//! state and wakes the next transaction, which runs when its worker comes to it. The third choice, and SCA, are asked
//! for by the pool.
//!
//! **All transactions stand in the queue**, also the free ones: sessions run free transactions beside each other.
//!
//! **Late locks** are added, as in all planned engines, and one more partition is joined for one, if the thread may
//! come to its core.
//!
//! **Serial execution** is for a partition, from the moment that it grants until it is told that the transaction is
//! over. While a transaction waits for other partitions, others may enter behind it, up to the limit of blocked ones,
//! so that their messages are on their way already; none of them runs.

mod admission;
mod core;
mod counted;
mod id;
mod locks;
mod messages;
#[cfg(all(test, shuttle))]
mod model;
mod node;
mod partitions;
mod piece;
mod queue;
mod queued;
mod sequencer;
#[cfg(all(test, not(any(loom, shuttle))))]
mod stress;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod variants;
mod whole;
mod worker;

pub use admission::PartitionAdmission;
pub use variants::{Analysed, Counting, HStore, PartitionLocking, Queueing};
pub use worker::PartitionWorker;

use self::core::Outbox;
use crate::shared::gate::Gate;
use crate::shared::partitioning::{self, PARTITIONS_MAX};
use crate::shared::planned::{PlannedTransaction, Scene};
use hotrow_storage::{Table, TableSchema, Tables};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{EngineInfo, Protocol, Settings, SettingsError, Statistics, WorkerId, number_of};
use id::PartitionId;
use locks::LockState;
use partitions::{Partitions, Visitor};
use std::time::Duration;

/// The protocol of the engines whose data is partitioned, and where one thread at a time works on each partition. `E`
/// says how a partition locks.
pub struct Partitioned<E: PartitionLocking> {
    config: PartitionConfig,
    partitions: Arc<Partitions<E::Locks>>,
    gate: Arc<Gate>,
}

/// Knobs of [`Partitioned`].
#[derive(Clone, Debug)]
pub struct PartitionConfig {
    /// The number of partitions: at least 1, and at most `PARTITIONS_MAX`. Other values are clamped.
    pub partitions: usize,
    /// The number of blocked transactions in a partition's queue at which the partition's thread stops beginning new
    /// transactions. In a long queue a new transaction is likely to be blocked. With a short one the thread may have no
    /// transaction to run while some wait for other partitions.
    pub blocked_limit: usize,
    /// The time by which each message between the threads of two partitions is delayed, in order to simulate a network.
    pub network_delay: Duration,
    /// The longest time that a transaction waits for its locks, or for the whole database, before it is aborted.
    /// Deadlocks do not occur, but a client may hold locks and never end its transaction.
    pub wait_limit: Duration,
}

impl Default for PartitionConfig {
    /// Returns a configuration with a partition for each core.
    fn default() -> Self {
        Self {
            partitions: hotrow_sync::cores().min(PARTITIONS_MAX),
            blocked_limit: 16,
            network_delay: Duration::ZERO,
            wait_limit: Duration::from_secs(10),
        }
    }
}

impl<E: PartitionLocking> Protocol for Partitioned<E> {
    const INFO: EngineInfo = E::INFO;
    type Config = PartitionConfig;
    type Table = Table<<E::Locks as LockState>::Header>;
    type Worker = PartitionWorker<E>;
    type Transaction = PlannedTransaction<PartitionAdmission<E>>;

    fn configure(settings: &Settings) -> Result<PartitionConfig, SettingsError> {
        let default = PartitionConfig::default();
        let partitions = settings.partitions.unwrap_or(settings.workers.min(PARTITIONS_MAX));
        let most = settings.workers.min(PARTITIONS_MAX);
        if partitions == 0 || partitions > most {
            let (partitions, workers) = (number_of(partitions, "partition"), number_of(settings.workers, "worker"));
            return Err(SettingsError(format!(
                "{partitions} for {workers}, each of which takes care of one: expected 1 to {most}"
            )));
        }
        if settings.blocked_limit == Some(0) {
            return Err(SettingsError("a limit of 0 blocked transactions lets nobody in: expected 1 or more".into()));
        }
        let blocked_limit = settings.blocked_limit.unwrap_or(default.blocked_limit);
        Ok(PartitionConfig { partitions, blocked_limit, network_delay: settings.network_delay, ..default })
    }

    fn new(config: PartitionConfig) -> Self {
        let count = config.partitions.clamp(1, PARTITIONS_MAX);
        Self { partitions: Partitions::new(count, config.network_delay, E::ANALYSES), config, gate: Gate::new() }
    }

    fn admits(&self, schema: &TableSchema) -> Result<(), String> {
        partitioning::check_schema(E::INFO.name, schema)
    }

    fn audit(&self, database: &Tables<Self::Table>) -> Result<(), String> {
        let mut participant = database.participant();
        participant.enter();
        let waiter = Waiter::thread(Duration::ZERO);
        let visitor = &mut Visitor {
            scene: Scene { database, guard: participant.guard() },
            waiter: &waiter,
            statistics: &mut Statistics::default(),
            outbox: &mut Outbox::default(),
            own: None,
        };
        self.partitions.audit(visitor, !self.gate.is_closed())
    }

    fn parts(&self) -> usize {
        self.partitions.len()
    }

    fn worker(&self, WorkerId(number): WorkerId) -> PartitionWorker<E> {
        let partition = ((number as usize) < self.partitions.len()).then_some(PartitionId(number as u16));
        PartitionWorker::new(&self.partitions, partition, self.config.blocked_limit)
    }

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Tables<Self::Table>>,
        worker: &mut PartitionWorker<E>,
        waiter: Waiter,
    ) -> Self::Transaction {
        worker.meet(database);
        let admission = PartitionAdmission::new(&self.partitions, worker.partition(), waiter.clone());
        PlannedTransaction::new(database, &self.gate, admission, waiter, self.config.wait_limit)
    }
}
