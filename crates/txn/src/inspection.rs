//! The inspection of a database from outside its transactions.

use crate::LockWait;
use hotrow_storage::{TableId, TableMemory};

/// The counts of a multiversion engine's versions, taken one after the other while transactions run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VersionStatistics {
    /// The versions that can be reached from an index.
    pub alive: u64,
    /// Of these versions, the number that have ended and wait to be collected.
    pub garbage: u64,
    /// The ended versions that some transaction could still read when they were last examined.
    pub held: u64,
    /// The transactions that are running.
    pub transactions: u64,
    /// The number of changes of the database that were committed since the time as of which the oldest running
    /// transaction reads.
    pub oldest_reader: Option<u64>,
}

/// The counts of an engine's locks, taken one after the other while transactions run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockStatistics {
    /// The locks that are held, of rows and of everything else. A lock counts once, however many transactions hold it.
    /// Several rows may share one lock.
    pub held: u64,
    /// The requests for locks that wait.
    pub waiting: u64,
}

/// The state of admission control, which holds back transactions that would stop each other. Some engines do it at
/// *hot* locks, which many transactions want at once. Under the other engines, which know of no hot locks, sessions do
/// it over SQL. All counts are as of now, except for the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdmissionStatistics {
    /// The locks that are hot now. Locks that share a place in the engine's table count as one.
    pub hot: u64,
    /// The number of transactions that may work on hot locks, or hold a ticket, at the same time.
    pub limit: u64,
    /// The transactions that work on hot locks, or hold a ticket, now. They may exceed the limit: a transaction that is
    /// held back is let in if it blocks another one.
    pub admitted: u64,
    /// The transactions that are held back now.
    pub held_back: u64,
    /// The transactions that were held back since the database was made.
    pub held_back_ever: u64,
}

/// The counts of rows that their writers release to other transactions before they commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlyReleaseStatistics {
    /// The rows that transactions wait for so often that their writers release them when they wait for their clients.
    /// Rows that share a place in the engine's table count as one.
    pub hot: u64,
    /// The changes of rows that were released early and are neither committed nor undone yet.
    pub released: u64,
    /// The changes that were released early since the database was made.
    pub released_ever: u64,
    /// The number of times, since the database was made, that a transaction got a row that another one had released
    /// early: a transaction counts once for each transaction that it followed.
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

    /// Returns the bytes that a table has for new rows and that no other table can use: mostly those of deleted rows.
    fn spare_bytes(&self, table: TableId) -> usize;

    /// Returns the counts of all tables' versions, if the engine keeps any beside the rows.
    fn versions(&self) -> Option<VersionStatistics>;

    /// Returns the counts of all transactions' locks, if the engine counts them. The call looks at every lock, so it
    /// takes a while.
    fn locks(&self) -> Option<LockStatistics>;

    /// Returns the state of admission control at hot locks, if the engine has it. The call is cheap.
    fn admission(&self) -> Option<AdmissionStatistics>;

    /// Returns the counts of rows that transactions released to others [before they
    /// commit](crate::Yielding::retire_writes), if the engine is configured to do so. The call is cheap.
    fn early_release(&self) -> Option<EarlyReleaseStatistics>;

    /// Returns the transactions that wait for locks, each with the transactions that block it; empty if the engine does
    /// not know them. The call looks at every lock, so it takes a while; its results are of about one time.
    fn lock_waits(&self) -> Vec<LockWait>;

    /// Checks the protocol's own invariants, for tests. During the check, no transaction makes a call, except for calls
    /// that wait.
    ///
    /// # Errors
    /// A description of the invariant that does not hold.
    fn audit(&self) -> Result<(), String>;
}
