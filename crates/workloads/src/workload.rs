//! What a workload is, and what its clients do.

use crate::{LoadError, Progress};
use hotrow_storage::TableSchema;
use hotrow_txn::{Abort, Engine, Runner};

/// A benchmark: tables, their first rows, transactions, and what must hold after a run.
///
/// One workload object serves any number of databases, one after the other or at once.
pub trait Workload: Sized + Send + Sync {
    /// The name by which users choose it.
    const NAME: &'static str;

    /// Its knobs. They are command-line options and, serialized, part of a report.
    type Options: clap::Args + serde::Serialize + Clone + Send + Sync;

    /// The numbers of its tables in one database.
    type Tables: Copy + Send + Sync;

    /// Who runs its transactions: one a worker.
    type Client: Client;

    /// The workload with these options; the error says which of them was wrong and what would be right.
    fn new(options: Self::Options) -> Result<Self, String>;

    /// The options.
    fn options(&self) -> &Self::Options;

    /// What it does, in one line with its figures.
    fn summary(&self) -> String;

    /// Its tables, in the order of [`create`](Self::create).
    fn schemas(&self) -> Vec<TableSchema>;

    /// Makes its tables, empty.
    fn create(&self, engine: &dyn Engine) -> Self::Tables;

    /// How many rows [`load`](Self::load) inserts.
    fn rows(&self) -> u64;

    /// Fills the tables, which nobody else uses yet, from `threads` threads. `progress` hears of the rows as they are
    /// inserted.
    fn load(
        &self,
        engine: &dyn Engine,
        tables: Self::Tables,
        threads: usize,
        progress: &Progress<'_>,
    ) -> Result<(), LoadError>;

    /// The client of worker number `worker`. The same seed gives every worker its own, always the same transactions.
    fn client(&self, tables: Self::Tables, worker: u32, seed: u64) -> Self::Client;

    /// Checks what must hold after all transactions that `clients` ran since the load, and nobody else ran. The error says what
    /// does not hold.
    fn check(&self, engine: &dyn Engine, tables: Self::Tables, clients: &[Self::Client]) -> Result<(), String>;
}

/// One worker's stream of transactions. It remembers what its committed transactions did, for [`Workload::check`].
pub trait Client: Send {
    /// Makes the next transaction up and runs it until it commits or cannot.
    fn step<R: Runner>(&mut self, runner: &mut R) -> Result<(), Abort>;
}
