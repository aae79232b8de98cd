//! What a concurrency-control protocol is.

use crate::{EngineInfo, Transaction};
use hotrow_storage::{Database, RecordHeader};
use hotrow_sync::{Arc, Waiter};

/// A worker's number, from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(pub u32);

/// A concurrency-control protocol: what it keeps beside a record, what it keeps per worker, and how a transaction runs.
pub trait Protocol: Sized + Send + Sync + 'static {
    /// The engine's name and what it needs and offers.
    const INFO: EngineInfo;

    /// Typed, documented knobs.
    type Config: Default + Clone + Send + Sync;

    /// What stands before each record.
    type Record: RecordHeader;

    /// What the transactions of one worker share.
    type Worker: Send;

    /// A transaction in flight.
    type Transaction: Transaction + 'static;

    /// The protocol for one database.
    fn new(config: Self::Config) -> Self;

    /// Parts of the primary index of a [partitioned](hotrow_storage::TableSchema::partitioned) table.
    fn parts(&self) -> usize {
        1
    }

    /// What the transactions of worker `id` share.
    fn worker(&self, id: WorkerId) -> Self::Worker;

    /// A transaction in flight on `worker`, waiting through `waiter`.
    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Database<Self::Record>>,
        worker: &mut Self::Worker,
        waiter: Waiter,
    ) -> Self::Transaction;
}
