//! What a workload is, and what its clients do.

use crate::{LoadError, Progress};
use fastrand::Rng;
use hotrow_storage::{TableSchema, mix};
use hotrow_txn::{Abort, Engine, Isolation, Runner};
use std::fmt;

/// A benchmark: tables, their first rows, transactions, and what must hold after a run.
///
/// One workload object serves any number of databases, one after the other or at once.
pub trait Workload: Sized + Send + Sync + 'static {
    /// The name by which users choose it.
    const NAME: &'static str;

    /// Whether [`check`](Self::check) is worth a run after the load too, when no client has done anything.
    const CHECKS_LOAD: bool = false;

    /// Whether an engine runs its transactions. If not, something else does, which whoever drives it knows by name, and a step
    /// of a client is a rollback.
    const RUNS_ON_ENGINES: bool = true;

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

    /// The kinds of its transactions, by the numbers that clients [note](Runner::note); none if there is but one.
    fn kinds(&self) -> &'static [&'static str] {
        &[]
    }

    /// How many partitions its clients keep to, if they keep to any: worker `k`'s transactions are in partition `k` modulo
    /// this, or begin there. Engines that keep partitions apart do best with as many.
    fn partitions(&self) -> Option<usize> {
        None
    }

    /// Whether so many workers can run it; the error says how many can.
    fn refuse_threads(&self, _threads: usize) -> Result<(), String> {
        Ok(())
    }

    /// The level of the transactions that [`check`](Self::check) asks whether they read [one
    /// state](Isolation::reads_one_state), if it is not that of the run.
    fn judged_isolation(&self) -> Option<Isolation> {
        None
    }

    /// Its tables, in the order of [`create`](Self::create).
    fn schemas(&self) -> Vec<TableSchema>;

    /// Makes its tables, empty.
    fn create(&self, engine: &dyn Engine) -> Self::Tables;

    /// How many rows [`load`](Self::load) inserts into each table, in the order of [`schemas`](Self::schemas).
    fn rows_of_tables(&self) -> Vec<u64>;

    /// How many rows [`load`](Self::load) inserts.
    fn rows(&self) -> u64 {
        self.rows_of_tables().iter().sum()
    }

    /// Fills the tables, which nobody else uses yet, from `threads` threads. `progress` hears of the rows as they are
    /// inserted.
    fn load(
        &self,
        engine: &dyn Engine,
        tables: Self::Tables,
        threads: usize,
        progress: &Progress<'_>,
    ) -> Result<(), LoadError>;

    /// A client of a run.
    fn client(&self, tables: Self::Tables, seat: Seat) -> Self::Client;

    /// Checks what must hold after all transactions that `clients` ran since the load, and nobody else ran.
    fn check(&self, engine: &dyn Engine, tables: Self::Tables, clients: &[Self::Client]) -> Result<(), Violation>;
}

/// What does not hold after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Transactions were not isolated from each other: an update was lost. An engine without isolation may do this.
    Anomaly(String),
    /// A transaction read rows as they never were together. A level at which it need not
    /// [read one state](hotrow_txn::Isolation::reads_one_state) may do this, too.
    TornRead(String),
    /// No interleaving of the transactions explains it: rows or whole transactions are missing, or there twice.
    Corruption(String),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Anomaly(what) | Violation::TornRead(what) | Violation::Corruption(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Violation {}

/// One worker's stream of transactions. It remembers what its committed transactions did, for [`Workload::check`].
pub trait Client: Send {
    /// Makes the next transaction up and runs it until it commits or cannot.
    fn step<R: Runner>(&mut self, runner: &mut R) -> Result<(), Abort>;
}

/// Where a client sits: it tells the clients of a database apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The number of its worker, from zero in each run.
    pub worker: u32,
    /// A number that no other client of the database has, from zero over all runs: what two clients insert does not
    /// collide.
    pub number: u32,
    /// The seed of the run. The same one gives each client its own, always the same transactions.
    pub seed: u64,
}

impl Seat {
    /// A seat in the first run.
    pub fn first_run(worker: u32, seed: u64) -> Self {
        Self { worker, number: worker, seed }
    }

    /// The client's random numbers.
    pub(crate) fn rng(self) -> Rng {
        Rng::with_seed(mix(self.seed ^ mix(u64::from(self.number) + 1)))
    }
}
