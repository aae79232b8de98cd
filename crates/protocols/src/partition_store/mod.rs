//! A spin-lock for each partition of the data: `partitioned`.
//!
//! **Paper.** Ren, Faleiro, Abadi: Design Principles for Scaling Multi-core OLTP Under High Contention, §4.3, the
//! baseline *Partitioned-store*.
//!
//! **The idea.** The data is cut into partitions, and each partition has one lock. A transaction takes the locks of all
//! partitions that it will touch, in ascending order. Then it runs without any further concurrency control. If it
//! touches one partition, the lock costs one exchange on a word. If no other worker uses this partition, the word and
//! the partition's part of the index are in the worker's cache. If a transaction touches several partitions, it keeps
//! all other transactions out of them. So the engine is the fastest of all if nearly every transaction stays within one
//! partition. As soon as many transactions do not, it falls behind quickly.
//!
//! | paper | code |
//! | --- | --- |
//! | data partitioned across workers, each with a local hash-table index | [`TableSchema::partitioned`](hotrow_storage::TableSchema::partitioned), [`Protocol::parts`] |
//! | a partition-level spin-lock | [`PartitionLock`] |
//! | locks on every partition that the transaction needs to access | [`HeldPartitions::take_all`](held::HeldPartitions::take_all) |
//! | the partitions that it needs, known in advance | [`Accesses`](hotrow_txn::Accesses), made into a [`Plan`](crate::shared::planned::Plan) |
//!
//! **Invariants**
//!
//! 1. A transaction with a plan holds the partition of each row that it touches, until it ends. So transactions with a
//!    plan that share a partition run one after the other. Rows of a
//!    [constant](hotrow_storage::TableSchema::constant) table are in no partition: no transaction writes to them.
//! 2. *No deadlock.* A transaction with a plan waits for partitions only before it runs, and takes them in ascending
//!    order. So if it holds partition n and waits, it waits for a partition with a greater number. If a running
//!    transaction needs one more partition, it takes the partition only if it is free, and does not wait. If the
//!    partition is not free, the attempt ends.
//! 3. *Phantoms.* A range of an index that begins with the partition key lies, if it has one value of it, in the
//!    partition of that value. Any other range may lie in all partitions. A transaction with a plan holds all
//!    partitions in which a range that it scans may lie. An index entry comes and goes with its row, whose partition
//!    the writer holds. So no entry comes into the range, or leaves it, during the scan.
//! 4. *Unique columns.* Two rows with the same columns of a unique index may be in different partitions, unless the
//!    index begins with the partition key. If they may, the hash of the columns selects a partition for them:
//!    [`Place::Hashed`](crate::shared::planned::Place::Hashed). A transaction that brings or removes such columns also
//!    holds this partition. So two transactions never check the same columns at the same time.
//! 5. *Single rows.* A reconnaissance, and a read-only transaction at read committed, have no plan and are not alone.
//!    They copy one row at a time, and hold the partition of the row while they copy it. While such a transaction waits
//!    for a partition, it holds no other.
//! 6. Any other transaction without a plan is alone in the database: [`gate`](crate::shared::gate). It takes no locks.
//!    Until it writes, an interactive one lets in transactions that only read.
//!
//! # Departures
//!
//! **A transaction spins only for a moment.** In the paper, the lock of a partition is a spin-lock. Here several
//! transactions may share a thread, and a transaction may be suspended while it holds partitions. So a transaction that
//! has spun in vain joins the lock's queue, and waits through its [`Waiter`], up to a limit. The lock is handed over in
//! the order of the queue.
//!
//! **Partitions belong to no worker.** Any thread may run a transaction on any partition, as the threads of sessions
//! do. A partition's lock and its part of the index stay in a worker's cache if the workload keeps each worker to one
//! partition.
//!
//! **All locks are exclusive**, as in the paper: a partition has no shared lock for readers.
//!
//! **Transactions without a plan.** The paper has no transaction that cannot declare its accesses, such as an
//! interactive one.

mod admission;
mod held;
mod lock;
#[cfg(all(test, shuttle))]
mod model;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

pub use admission::StoreAdmission;

use crate::shared::gate::Gate;
use crate::shared::partitioning::{self, PARTITIONS_MAX};
use crate::shared::planned::PlannedTransaction;
use held::Locks;
use hotrow_storage::{Database, Table, TableSchema};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{
    Capabilities, EngineInfo, Isolation, Protocol, Scheduler, Setting, Settings, SettingsError, WorkerId, number_of,
};
use lock::PartitionLock;
use std::time::Duration;

/// The engine `partitioned`: the data is in partitions, and each partition has one lock.
pub struct PartitionStore {
    wait_limit: Duration,
    locks: Locks,
    gate: Arc<Gate>,
}

/// The configuration of [`PartitionStore`].
#[derive(Clone, Debug)]
pub struct PartitionStoreConfig {
    /// The number of partitions.
    pub partitions: usize,
    /// The longest time that a transaction waits for its partitions, or for the whole database, unless its waiter has
    /// another limit. The limit ends no deadlock, because none can arise. It ends waits for the transaction of a client
    /// that never comes back.
    pub wait_limit: Duration,
}

impl Default for PartitionStoreConfig {
    /// Returns a configuration with a partition for each core.
    fn default() -> Self {
        Self { partitions: hotrow_sync::cores().min(PARTITIONS_MAX), wait_limit: Duration::from_secs(10) }
    }
}

impl Protocol for PartitionStore {
    const INFO: EngineInfo = EngineInfo {
        name: "partitioned",
        summary: "a spin-lock for each partition; a transaction takes those of all that it touches, in order",
        source: "ORTHRUS §4.3 (partitioned-store)",
        capabilities: Capabilities::PLANNED,
        scheduler: Scheduler::Thread,
        isolates: true,
        isolation: &[Isolation::ReadCommitted, Isolation::Serializable],
        concurrency: None,
        settings: &[Setting::Partitions],
        pool_settings: &[],
    };
    type Config = PartitionStoreConfig;
    type Table = Table<()>;
    type Worker = ();
    type Transaction = PlannedTransaction<StoreAdmission>;

    fn configure(settings: &Settings) -> Result<PartitionStoreConfig, SettingsError> {
        let partitions = settings.partitions.unwrap_or(settings.workers.min(PARTITIONS_MAX));
        if partitions == 0 || partitions > PARTITIONS_MAX {
            let partitions = number_of(partitions, "partition");
            return Err(SettingsError(format!("{partitions}: expected 1 to {PARTITIONS_MAX}")));
        }
        Ok(PartitionStoreConfig { partitions, ..PartitionStoreConfig::default() })
    }

    fn new(config: PartitionStoreConfig) -> Self {
        let count = config.partitions.clamp(1, PARTITIONS_MAX);
        let locks = (0..count).map(|_| PartitionLock::default()).collect();
        Self { wait_limit: config.wait_limit, locks, gate: Gate::new() }
    }

    fn admits(&self, schema: &TableSchema) -> Result<(), String> {
        partitioning::check_schema(Self::INFO.name, schema)
    }

    fn audit(&self, _database: &Database<()>) -> Result<(), String> {
        let audit = |(number, lock): (usize, &PartitionLock)| {
            lock.audit().map_err(|error| format!("partition {number}: {error}"))
        };
        self.locks.iter().enumerate().try_for_each(audit)
    }

    fn parts(&self) -> usize {
        self.locks.len()
    }

    fn worker(&self, _id: WorkerId) {}

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Database<()>>,
        _worker: &mut (),
        waiter: Waiter,
    ) -> Self::Transaction {
        let admission = StoreAdmission::new(&self.locks, waiter.clone());
        PlannedTransaction::new(database, &self.gate, admission, waiter, self.wait_limit)
    }
}
