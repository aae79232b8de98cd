//! The interface of workloads and of their clients.

use crate::{Hand, LoadError, Progress, Types};
use fastrand::Rng;
use hotrow_storage::{TableSchema, mix};
use hotrow_txn::{Abort, Engine, Isolation, Runner};
use std::fmt;

/// A benchmark: its tables, their initial rows, its transactions, and the conditions that must hold after a run.
///
/// One workload object serves any number of databases, one after the other or at the same time.
pub trait Workload: Sized + Send + Sync + 'static {
    /// The name by which users choose the workload.
    const NAME: &'static str;

    /// Whether [`check`](Self::check) should also run after the load, before any client has done anything.
    const CHECKS_LOAD: bool = false;

    /// Whether the workload's transactions run on an engine. If not, the benchmark driver knows the workload by name
    /// and runs it in its own way, and [`Client::step`] fails.
    const RUNS_ON_ENGINES: bool = true;

    /// The options of the workload. They are command-line options and, serialized, part of a report.
    type Options: clap::Args + serde::Serialize + Clone + Send + Sync;

    /// The numbers of the workload's tables in one database.
    type Tables: Copy + Send + Sync;

    /// The type of the clients, each of which generates and runs the transactions of one worker.
    type Client: Client;

    /// Makes the workload with these options. The error says which option is wrong, and what would be right.
    fn new(options: Self::Options) -> Result<Self, String>;

    /// Returns the options of the workload.
    fn options(&self) -> &Self::Options;

    /// Returns a description of the workload in one line, with the values of its main options.
    fn summary(&self) -> String;

    /// Returns the names of the kinds of transactions. A kind's position in the list is the number that clients
    /// [note](Runner::note). The list is empty if there is only one kind.
    fn kinds(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the types of transactions in the workload's mix, in groups that touch similar sets of tables. Types have
    /// the numbers of [`kinds`](Self::kinds). The result is `None` for a workload whose clients cannot [be
    /// dealt](Client::deal) types.
    fn types(&self) -> Option<Types> {
        None
    }

    /// Returns the number of partitions that the workload's clients respect, or `None` if they respect none. The
    /// transactions of worker `k` are in partition `k` modulo this number, or begin there. Engines with partitions do
    /// best with as many.
    fn partitions(&self) -> Option<usize> {
        None
    }

    /// Checks that this many worker threads can run the workload.
    ///
    /// # Errors
    /// If they cannot. The text says how many can.
    fn refuse_threads(&self, _threads: usize) -> Result<(), String> {
        Ok(())
    }

    /// Returns the isolation level of the transactions that [`check`](Self::check) examines for [torn
    /// reads](Violation::TornRead), or `None` if they have the isolation level of the run.
    fn judged_isolation(&self) -> Option<Isolation> {
        None
    }

    /// Returns the schemas of the workload's tables, in the order of [`create`](Self::create).
    fn schemas(&self) -> Vec<TableSchema>;

    /// Makes the workload's tables, which are empty.
    fn create(&self, engine: &dyn Engine) -> Self::Tables;

    /// Returns the number of rows that [`load`](Self::load) inserts into each table, in the order of
    /// [`schemas`](Self::schemas).
    fn rows_of_tables(&self) -> Vec<u64>;

    /// Returns the number of rows that [`load`](Self::load) inserts into all tables.
    fn rows(&self) -> u64 {
        self.rows_of_tables().iter().sum()
    }

    /// Fills the tables, which no transaction uses yet, from `threads` threads. The threads call `progress` as they
    /// insert rows.
    ///
    /// # Errors
    /// If `progress` stops the load, or a row exists already.
    fn load(
        &self,
        engine: &dyn Engine,
        tables: Self::Tables,
        threads: usize,
        progress: &Progress<'_>,
    ) -> Result<(), LoadError>;

    /// Makes a client of a run.
    fn client(&self, tables: Self::Tables, identity: ClientIdentity) -> Self::Client;

    /// Checks the conditions that must hold after the load and all transactions of `clients`. The caller ensures that
    /// no other transactions have run.
    fn check(&self, engine: &dyn Engine, tables: Self::Tables, clients: &[Self::Client]) -> Result<(), Violation>;
}

/// A condition that does not hold after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Transactions were not isolated from each other: an update was lost. An engine without isolation may do this.
    Anomaly(String),
    /// A transaction read rows in a state that never existed. It may do so at a level that need not [read one
    /// state](hotrow_txn::Isolation::reads_one_state).
    TornRead(String),
    /// No interleaving of the transactions explains the state: rows or whole transactions are missing, or exist twice.
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

/// A worker's stream of transactions. It counts the effects of its committed transactions, for [`Workload::check`].
pub trait Client: Send {
    /// Draws the next transaction and runs it until it commits or fails for good.
    fn step<R: Runner>(&mut self, runner: &mut R) -> Result<(), Abort>;

    /// Has the client draw the types of its transactions from `hand`, in place of the whole mix. It is for clients of
    /// workloads with [types](Workload::types).
    fn deal(&mut self, _hand: Hand) {}
}

/// The place of a client, which distinguishes the clients of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientIdentity {
    /// The number of the client's worker, from zero in each run.
    pub worker: u32,
    /// A number that no other client of the database has, counted from zero over all runs, so that the rows that two
    /// clients insert do not collide.
    pub number: u32,
    /// The seed of the run. With the same seed, each client has the same transactions, which differ from those of other
    /// clients.
    pub seed: u64,
}

impl ClientIdentity {
    /// Makes the identity of a client in the first run on a database.
    pub fn first_run(worker: u32, seed: u64) -> Self {
        Self { worker, number: worker, seed }
    }

    /// Returns the generator of the client's random numbers.
    pub(crate) fn rng(self) -> Rng {
        Rng::with_seed(mix(self.seed ^ mix(u64::from(self.number) + 1)))
    }
}
