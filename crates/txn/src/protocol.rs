//! What a concurrency-control protocol is.

use crate::{
    AdmissionStatistics, EarlyReleaseStatistics, EngineInfo, LockStatistics, LockWait, Settings, SettingsError,
    Statistics, Transaction, VersionStatistics,
};
use hotrow_storage::{StoredTable, TableSchema, Tables};
use hotrow_sync::{Arc, Time, Waiter};

/// A worker's number, from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(pub u32);

/// What a worker does for its protocol beside running transactions. A scheduler that keeps several transactions on one
/// thread calls these, on that thread; under all others nobody does.
pub trait Duties: Send {
    /// Settles the worker on the calling thread, which waits through `waiter` when it has nothing to do: who has
    /// something for the worker wakes it. The thread calls [`leave`](Self::leave) before it ends.
    fn settle(&mut self, _waiter: &Waiter) {}

    /// Gives up what [`settle`](Self::settle) took. Nothing of the worker's is left waiting.
    fn leave(&mut self) {}

    /// Looks at what has come in from other workers, before anything else is chosen to run.
    fn receive(&mut self) {}

    /// When something comes in that is on its way, if anything is: the worker looks again then at the latest.
    fn expected(&self) -> Option<Time> {
        None
    }

    /// Whether transactions wait for what other workers do for them, and not for each other only.
    fn expects_messages(&self) -> bool {
        false
    }

    /// Whether a new transaction may begin; otherwise those that have begun go first.
    fn has_room(&self) -> bool {
        true
    }

    /// Looks for a transaction that waits and need not: nothing can run, and nothing new may begin. Whether one was
    /// found; it has been woken.
    fn find_work(&mut self) -> bool {
        false
    }

    /// What these duties counted since the worker was made.
    fn statistics(&self) -> Statistics {
        Statistics::default()
    }
}

impl Duties for () {}

/// A concurrency-control protocol: what tables it has, what it keeps per worker, and how a transaction runs.
pub trait Protocol: Sized + Send + Sync + 'static {
    /// The engine's name and what it needs and offers.
    const INFO: EngineInfo;

    /// Typed, documented knobs.
    type Config: Default + Clone + Send + Sync;

    /// How rows lie in memory and are found, and what of the protocol's stands beside them.
    type Table: StoredTable;

    /// What the transactions of one worker share.
    type Worker: Duties;

    /// A transaction in flight.
    type Transaction: Transaction + 'static;

    /// The knobs for these settings.
    ///
    /// # Errors
    /// A setting that this protocol cannot have; says what it can.
    fn configure(_settings: &Settings) -> Result<Self::Config, SettingsError> {
        Ok(Self::Config::default())
    }

    /// The protocol for one database.
    fn new(config: Self::Config) -> Self;

    /// Whether it can have tables like this one.
    ///
    /// # Errors
    /// Why not, and what it can have.
    fn admits(&self, _schema: &TableSchema) -> Result<(), String> {
        Ok(())
    }

    /// Checks its invariants: [`Inspection::audit`](crate::Inspection::audit).
    fn audit(&self, _database: &Tables<Self::Table>) -> Result<(), String> {
        Ok(())
    }

    /// The versions of all tables: [`Inspection::versions`](crate::Inspection::versions).
    fn versions(&self, _database: &Tables<Self::Table>) -> Option<VersionStatistics> {
        None
    }

    /// The locks of all transactions: [`Inspection::locks`](crate::Inspection::locks).
    fn locks(&self, _database: &Tables<Self::Table>) -> Option<LockStatistics> {
        None
    }

    /// How transactions are held back from locks on which too many would meet, if the engine does so.
    fn admission(&self) -> Option<AdmissionStatistics> {
        None
    }

    /// What became of rows that were let go before the commit, if transactions do so: [`Inspection::early_release`](crate::Inspection::early_release).
    fn early_release(&self) -> Option<EarlyReleaseStatistics> {
        None
    }

    /// Who waits for whom: [`Inspection::lock_waits`](crate::Inspection::lock_waits).
    fn lock_waits(&self) -> Vec<LockWait> {
        Vec::new()
    }

    /// Parts of the primary index of a [partitioned](hotrow_storage::TableSchema::partitioned) table.
    fn parts(&self) -> usize {
        1
    }

    /// What the transactions of worker `id` share.
    fn worker(&self, id: WorkerId) -> Self::Worker;

    /// A transaction in flight on `worker`, waiting through `waiter`.
    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Tables<Self::Table>>,
        worker: &mut Self::Worker,
        waiter: Waiter,
    ) -> Self::Transaction;
}
