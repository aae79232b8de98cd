//! A spin-lock for each partition of the data: `partitioned`.
//!
//! **Paper.** Ren, Faleiro, Abadi: Design Principles for Scaling Multi-core OLTP Under High Contention, §4.3, the
//! baseline *Partitioned-store*.
//!
//! **The idea.** The data is cut into partitions, and each partition has one lock. A transaction takes the locks of all
//! partitions that it will touch, and then runs without any further concurrency control. If it touches one partition,
//! that costs one exchange on a word that no other worker uses, and the part of the index is in the worker's cache. If
//! it touches several, it keeps everything in them from all others. So the engine is the fastest one where the data can
//! be cut so that nearly every transaction stays within one part, and falls behind quickly where it cannot.
//!
//! | paper | code |
//! | --- | --- |
//! | data partitioned across workers, each with a local hash-table index | [`TableSchema::partitioned`](hotrow_storage::TableSchema::partitioned), [`Protocol::parts`] |
//! | a partition-level spin-lock | [`PartitionLock`](lock::PartitionLock) |
//! | locks on every partition that the transaction needs to access | [`HeldPartitions::take_all`](held::HeldPartitions::take_all) |
//! | the partitions that it needs, known in advance | [`Accesses`](hotrow_txn::Accesses), made into a [`Plan`](crate::shared::planned::Plan) |
//!
//! **Invariants**
//!
//! 1. A transaction with a plan holds the partition of each row that it touches, to its end. So transactions that share
//!    a partition run one after the other.
//! 2. *No deadlock.* A transaction waits for partitions only before it runs, and takes them in ascending order: a
//!    transaction that holds partition n waits, if at all, for a greater one. If a running transaction needs one more
//!    partition, it takes it if it is free, which waits for nothing; otherwise the attempt ends.
//! 3. *Phantoms.* A range that names one value of the partition key is in that value's partition, and any other range
//!    is in all partitions, which the transaction then holds. An index entry comes and goes with its row, whose
//!    partition is held.
//! 4. *Unique columns.* Rows with the same columns of a unique index may be in different partitions. A transaction that
//!    brings or removes such columns also holds the partition on which all agree for them, by the columns' hash:
//!    [`Place::Hashed`](crate::shared::planned::Place::Hashed). So two of them never look for each other's row at once.
//! 5. No transaction copies a row without the lock of the row's partition. A reconnaissance, and a transaction that
//!    only reads at read committed, ask for no partition beforehand: they take the lock for the moment of each copy.
//! 6. A transaction without a plan is alone in the database: [`gate`](crate::shared::gate). It takes no locks.
//!
//! # Departures
//!
//! **The lock is a spin-lock only for a moment.** A transaction may be suspended while it holds its partitions, where
//! several share a thread. So a transaction that has spun in vain queues and waits through its
//! [`Waiter`](hotrow_sync::Waiter), up to a limit, and the lock is handed over in the order of the queue.
//!
//! **Partitions belong to no worker.** Any thread may run a transaction of any partition, as sessions do. A partition's
//! lock and index stay in a worker's cache if the workload keeps to its worker's partition.
//!
//! **All accesses take the lock exclusively**, as in the paper: there are no shared locks on partitions.
//!
//! A transaction that cannot declare what it will touch, such as an interactive one, is not in the paper.

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

/// Data in partitions, with one lock for each.
pub struct PartitionStore {
    wait_limit: Duration,
    locks: Locks,
    gate: Arc<Gate>,
}

/// Knobs of [`PartitionStore`].
#[derive(Clone, Debug)]
pub struct PartitionStoreConfig {
    /// The number of partitions.
    pub partitions: usize,
    /// The longest wait for a transaction's partitions, or for the whole database. There are no deadlocks to end, but
    /// there are clients that never come back.
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
