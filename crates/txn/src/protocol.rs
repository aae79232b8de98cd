//! The interface of a concurrency-control protocol.

use crate::{
    AdmissionStatistics, EarlyReleaseStatistics, EngineInfo, LockStatistics, LockWait, Settings, SettingsError,
    Statistics, Transaction, VersionStatistics,
};
use hotrow_storage::{StoredTable, TableSchema, Tables};
use hotrow_sync::{Arc, Time, Waiter};

/// A worker's number, from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(pub u32);

/// The duties of a worker towards its protocol, beside running transactions. A scheduler that keeps several
/// transactions on one thread calls these methods, on that thread. Other schedulers never call them.
pub trait Duties: Send {
    /// Binds the worker to the calling thread, which waits through `waiter` when it has nothing to do. Another worker
    /// that sends a message to this one wakes `waiter`. The thread calls [`leave`](Self::leave) before it ends.
    fn settle(&mut self, _waiter: &Waiter) {}

    /// Unbinds the worker from its thread. The caller ensures that no transaction and no message of the worker is still
    /// waiting.
    fn leave(&mut self) {}

    /// Handles the messages that have come in from other workers, before the next transaction is chosen to run. Returns
    /// whether there were any.
    fn receive(&mut self) -> bool {
        false
    }

    /// Returns the time at which the next message that was already sent arrives (messages can have a simulated delay),
    /// or `None` if no message is on its way. The worker calls [`receive`](Self::receive) again at that time at the
    /// latest.
    fn expected(&self) -> Option<Time> {
        None
    }

    /// Whether a pool lets the worker keep as many transactions under way even if they often wait. By default it does
    /// not: see [`LoadLimit`](crate::LoadLimit). An engine returns true if its transactions wait for messages from
    /// other workers, or if messages take switches of threads, which many transactions can share.
    fn ignores_waits(&self) -> bool {
        false
    }

    /// Whether the worker may begin a new transaction. If not, it first runs the transactions that have begun.
    fn has_room(&self) -> bool {
        true
    }

    /// Whether the worker runs transactions at present. If not, it only serves the transactions of other workers, and
    /// begins none.
    fn runs_transactions(&self) -> bool {
        true
    }

    /// Counts a transaction that ended on this worker, after however many attempts. Engines that choose how many
    /// workers run transactions use the count.
    fn count_step(&mut self) {}

    /// Announces that the worker is about to sleep: from now to [`rouse`](Self::rouse), a worker that sends it a
    /// message wakes it. Returns false if a message has arrived meanwhile, so that the worker must not sleep.
    fn doze(&mut self) -> bool {
        true
    }

    /// Withdraws the announcement of [`doze`](Self::doze), after the worker has slept or has decided not to.
    fn rouse(&mut self) {}

    /// Searches for transactions that wait although nothing blocks them any more, and wakes them. The worker calls this
    /// if no transaction can run and no new one may begin. Returns whether a transaction was woken.
    fn find_work(&mut self) -> bool {
        false
    }

    /// Returns the counts of the work that this trait's methods have done since the worker was made.
    fn statistics(&self) -> Statistics {
        Statistics::default()
    }
}

impl Duties for () {}

/// A concurrency-control protocol: the kind of its tables, the state that it keeps for each worker, and the way in
/// which a transaction runs.
pub trait Protocol: Sized + Send + Sync + 'static {
    /// The properties of the protocol's engine.
    const INFO: EngineInfo;

    /// The protocol's configuration, whose fields and defaults are documented.
    type Config: Default + Clone + Send + Sync;

    /// The kind of the protocol's tables: how rows lie in memory and are found, with the protocol's data beside them.
    type Table: StoredTable;

    /// The state that the transactions of one worker share.
    type Worker: Duties;

    /// A transaction in flight.
    type Transaction: Transaction + 'static;

    /// Converts an engine's settings to the protocol's configuration.
    ///
    /// # Errors
    /// If the protocol does not have one of the settings. The error says which settings it has.
    fn configure(_settings: &Settings) -> Result<Self::Config, SettingsError> {
        Ok(Self::Config::default())
    }

    /// Makes the protocol's state for one database.
    fn new(config: Self::Config) -> Self;

    /// Checks that the protocol can store a table with this schema.
    ///
    /// # Errors
    /// If the protocol cannot store such a table. The text says why not, and which tables it can store.
    fn admits(&self, _schema: &TableSchema) -> Result<(), String> {
        Ok(())
    }

    /// Checks the protocol's invariants: [`Inspection::audit`](crate::Inspection::audit).
    fn audit(&self, _database: &Tables<Self::Table>) -> Result<(), String> {
        Ok(())
    }

    /// Counts the versions of all tables: [`Inspection::versions`](crate::Inspection::versions).
    fn versions(&self, _database: &Tables<Self::Table>) -> Option<VersionStatistics> {
        None
    }

    /// Counts the locks of all transactions: [`Inspection::locks`](crate::Inspection::locks).
    fn locks(&self, _database: &Tables<Self::Table>) -> Option<LockStatistics> {
        None
    }

    /// Returns the state of admission control at hot locks: [`Inspection::admission`](crate::Inspection::admission).
    fn admission(&self) -> Option<AdmissionStatistics> {
        None
    }

    /// Returns the counts of rows that were released before the commit:
    /// [`Inspection::early_release`](crate::Inspection::early_release).
    fn early_release(&self) -> Option<EarlyReleaseStatistics> {
        None
    }

    /// Returns the transactions that wait for locks: [`Inspection::lock_waits`](crate::Inspection::lock_waits).
    fn lock_waits(&self) -> Vec<LockWait> {
        Vec::new()
    }

    /// Returns the number of parts into which the primary index of a
    /// [partitioned](hotrow_storage::TableSchema::partitioned) table is divided.
    fn parts(&self) -> usize {
        1
    }

    /// Returns the engine's service workers, which run no transactions:
    /// [`Engine::attendants`](crate::Engine::attendants).
    fn attendants(&self) -> Vec<Box<dyn Duties>> {
        Vec::new()
    }

    /// Makes the state that the transactions of the worker numbered `id` share.
    fn worker(&self, id: WorkerId) -> Self::Worker;

    /// Makes a transaction object on `worker` that waits through `waiter`.
    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Tables<Self::Table>>,
        worker: &mut Self::Worker,
        waiter: Waiter,
    ) -> Self::Transaction;
}
