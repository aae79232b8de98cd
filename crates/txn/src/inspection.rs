//! The inspection of a database from outside its transactions.

use crate::LockWait;
use hotrow_storage::{TableId, TableMemory};

/// The counts of a multiversion engine's versions, taken one after the other while transactions run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VersionStatistics {
    /// The number of versions that can be reached from an index.
    pub alive: u64,
    /// The number of versions, of those in `alive`, that were replaced or deleted and are not collected yet.
    pub garbage: u64,
    /// The number of replaced or deleted versions that some transaction could still read when they were last examined.
    pub held: u64,
    /// The number of transactions that are running.
    pub transactions: u64,
    /// The age of the oldest snapshot that a running transaction reads, as the number of changes of the database that
    /// were committed since. `None` if no running transaction reads a snapshot.
    pub oldest_reader: Option<u64>,
}

/// The counts of an engine's locks, taken one after the other while transactions run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockStatistics {
    /// The number of locks that are held, of rows and of everything else. A lock counts once, however many transactions
    /// hold it. Several rows may share one lock.
    pub held: u64,
    /// The number of requests for locks that wait.
    pub waiting: u64,
}

/// The state of admission control, which lets only some of the transactions that contend for the same data run at a
/// time. Some engines apply it at *hot* locks, for which many transactions contend. Under other engines, sessions apply
/// it to SQL transactions that have failed. A transaction that is let in gets a *ticket*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdmissionStatistics {
    /// The number of locks that are hot now. Locks that share a place in the engine's hash table count as one. Zero if
    /// sessions control admission.
    pub hot: u64,
    /// The number of tickets that may be out at the same time.
    pub limit: u64,
    /// The number of tickets that are out now. It may exceed the limit, because a transaction that is held back gets a
    /// ticket if it blocks another transaction.
    pub admitted: u64,
    /// The number of transactions that wait for a ticket now.
    pub held_back: u64,
    /// The number of transactions that have waited for a ticket since the database was made.
    pub held_back_ever: u64,
}

/// The counts of early lock release: a writer lets other transactions have a changed row before it commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlyReleaseStatistics {
    /// The number of rows for which transactions wait so often that a writer releases them early whenever it waits for
    /// its client. Rows that share a place in the engine's hash table count as one.
    pub hot: u64,
    /// The number of changes of rows that were released early and are neither committed nor undone yet.
    pub released: u64,
    /// The number of changes that were released early since the database was made.
    pub released_ever: u64,
    /// The number of times, since the database was made, that a transaction accessed rows that another one had released
    /// early. A transaction counts once for each transaction whose rows it accessed.
    pub followed_ever: u64,
}

/// The view of a database from outside its transactions, for people, reports and tests. Many threads may ask at once.
///
/// As with [`Transaction`](crate::Transaction), no method has a default.
pub trait Inspection {
    /// Returns how many rows a table has: an approximation while transactions run.
    fn row_count(&self, table: TableId) -> u64;

    /// Returns the memory of a table, by purpose. The call visits all heap memory of the table, so it takes a while.
    ///
    /// # Panics
    /// If there is no such table.
    fn memory(&self, table: TableId) -> TableMemory;

    /// Returns the bytes of memory that the table reserves for new rows, mostly from deleted rows. No other table can
    /// use them.
    fn spare_bytes(&self, table: TableId) -> usize;

    /// Returns the counts of all tables' versions, or `None` if the engine keeps no versions beside the rows.
    fn versions(&self) -> Option<VersionStatistics>;

    /// Returns the counts of all transactions' locks, or `None` if the engine does not count them. The call visits
    /// every lock, so it takes a while.
    fn locks(&self) -> Option<LockStatistics>;

    /// Returns the state of the engine's admission control at hot locks, or `None` if the engine has none. The call is
    /// cheap.
    fn admission(&self) -> Option<AdmissionStatistics>;

    /// Returns the counts of rows that transactions released to others [before they
    /// commit](crate::Yielding::retire_writes), or `None` if the engine is not configured to do so. The call is cheap.
    fn early_release(&self) -> Option<EarlyReleaseStatistics>;

    /// Returns the transactions that wait for locks, each with the transactions that block it; empty if the engine does
    /// not know them. The call visits every lock, so it takes a while; its results are from about the same time.
    fn lock_waits(&self) -> Vec<LockWait>;

    /// Checks the protocol's own invariants, for tests. The caller ensures that no transaction runs during the check,
    /// except for transactions that are suspended in a wait.
    ///
    /// # Errors
    /// A description of the invariant that does not hold.
    fn audit(&self) -> Result<(), String>;
}
