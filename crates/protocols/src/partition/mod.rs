//! Partitions, one thread each.

mod admission;
mod core;
mod counted;
mod locks;
mod messages;
mod node;
mod partitions;
mod piece;
mod queue;
mod queued;
mod sequencer;
mod variants;
mod whole;
mod worker;

pub use admission::PartitionAdmission;
pub use variants::{Analysed, Counting, HStore, PartitionLocking, Queueing};
pub use worker::PartitionWorker;

use self::core::Calls;
use crate::shared::gate::Gate;
use crate::shared::planned::{PlannedTransaction, Scene};
use hotrow_storage::{Database, TableSchema, Type};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{EngineInfo, Protocol, Settings, SettingsError, Statistics, WorkerId};
use locks::LockState;
use partitions::{Partitions, Visitor};
use std::time::Duration;

/// A partition's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartitionId(u16);

impl PartitionId {
    #[inline]
    fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The most partitions that a database can have.
const PARTITIONS_MAX: usize = 1 << 12;

/// Data in partitions, each worked on by one thread at a time, with the locks of `E` inside each.
pub struct Partitioned<E: PartitionLocking> {
    config: PartitionConfig,
    partitions: Arc<Partitions<E::Locks>>,
    gate: Arc<Gate>,
}

/// Knobs of [`Partitioned`].
#[derive(Clone, Debug)]
pub struct PartitionConfig {
    /// How many partitions there are.
    pub partitions: usize,
    /// How many blocked transactions the queue of a partition may hold before its thread takes no new request. The
    /// longer the queue, the likelier a new transaction conflicts with somebody in it; but the thread needs others to go on with
    /// while some wait for other partitions.
    pub blocked_limit: usize,
    /// How long a message between the threads of two partitions is on its way, beside what it takes anyway.
    pub network_delay: Duration,
    /// The longest wait for locks, or for the whole database. There are no deadlocks to end, but there are clients that never come
    /// back.
    pub wait_limit: Duration,
}

impl Default for PartitionConfig {
    /// A partition for each core.
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
    type Record = <E::Locks as LockState>::Header;
    type Worker = PartitionWorker<E>;
    type Transaction = PlannedTransaction<PartitionAdmission<E>>;

    fn configure(settings: &Settings) -> Result<PartitionConfig, SettingsError> {
        let default = PartitionConfig::default();
        let partitions = settings.partitions.unwrap_or(settings.workers.min(PARTITIONS_MAX));
        let most = settings.workers.min(PARTITIONS_MAX);
        if partitions == 0 || partitions > most {
            let workers = settings.workers;
            return Err(SettingsError(format!(
                "{partitions} partitions for {workers} workers, each of which takes care of one: expected 1 to {most}"
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
        let first = schema.key.first().and_then(|&column| schema.columns.get(column));
        let is_integer = first.is_some_and(|column| matches!(column.ty, Type::Int2 | Type::Int4 | Type::Int8));
        if schema.partitioned && is_integer {
            return Ok(());
        }
        Err(format!(
            "{} keeps partitions apart and needs to know the partition of each row: declare a partition key, PARTITION BY HASH \
             (the first column of the primary key, an integer)",
            E::INFO.name
        ))
    }

    fn audit(&self, database: &Database<Self::Record>) -> Result<(), String> {
        let mut participant = database.participant();
        participant.enter();
        let waiter = Waiter::thread(Duration::ZERO);
        let visitor = &mut Visitor {
            scene: Scene { database, guard: participant.guard() },
            waiter: &waiter,
            statistics: &mut Statistics::default(),
            calls: &mut Calls::default(),
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
        database: &Arc<Database<Self::Record>>,
        worker: &mut PartitionWorker<E>,
        waiter: Waiter,
    ) -> Self::Transaction {
        worker.meet(database);
        let admission = PartitionAdmission::new(&self.partitions, worker.partition(), waiter.clone());
        PlannedTransaction::new(database, &self.gate, admission, waiter, self.config.wait_limit)
    }
}
