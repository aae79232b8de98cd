//! The microbenchmark of the VLL paper (*VLL: a lock manager redesign for main memory database systems*, §3.1.2 and
//! §3.3.1): each transaction reads and updates 10 records, of which some are *hot*.
//!
//! The *contention index* is the probability that two transactions want the same hot record: with one hot record each,
//! one over the size of the hot set, `--hot-records`. With `--hot-ops 2` or more, deadlocks are possible. *Short*
//! transactions do nothing else; *long* ones compute for each record while they hold its lock.
//!
//! A partition is the key modulo the number of partitions; each has its own hot set. As in §3.3.1, transactions are
//! submitted where their data is: the transactions of a worker stay in the partition of its number, or alternate
//! between that partition and another one. The paper's two levels of contention there have 1,000,000 records in each
//! partition: 10,000 of them hot at low, 100 at high contention.

mod consistency;
mod generate;
mod load;
mod procedures;
mod schema;

pub use generate::{Client, Options};
pub use procedures::Updates;
pub use schema::{COUNTER, FILLER, KEY, micro};

use crate::computation::rounds_of;
use crate::{ClientIdentity, LoadError, Progress, Violation};
use hotrow_storage::{TableId, TableSchema};
use hotrow_txn::Engine;

/// The microbenchmark of the VLL paper: each transaction reads and updates a few records, some of them hot.
#[derive(Clone, Debug)]
pub struct Micro {
    options: Options,
    /// The rounds of computation for each record, which take the time that the options ask for.
    rounds: u64,
}

impl crate::Workload for Micro {
    const NAME: &'static str = "micro";
    type Options = Options;
    type Tables = TableId;
    type Client = Client;

    fn new(options: Options) -> Result<Self, String> {
        let options = options.validate()?;
        let rounds = rounds_of(options.work_us());
        Ok(Self { options, rounds })
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn summary(&self) -> String {
        self.options.to_string()
    }

    fn partitions(&self) -> Option<usize> {
        (self.options.partitions > 1).then_some(self.options.partitions as usize)
    }

    fn schemas(&self) -> Vec<TableSchema> {
        vec![micro(self.options.record_bytes)]
    }

    fn create(&self, engine: &dyn Engine) -> TableId {
        engine.create_table(micro(self.options.record_bytes))
    }

    fn rows_of_tables(&self) -> Vec<u64> {
        vec![self.options.records]
    }

    fn load(
        &self,
        engine: &dyn Engine,
        table: TableId,
        threads: usize,
        progress: &Progress<'_>,
    ) -> Result<(), LoadError> {
        load::load(&self.options, engine, table, threads, progress)
    }

    fn client(&self, table: TableId, identity: ClientIdentity) -> Client {
        Client::new(&self.options, table, self.rounds, identity)
    }

    fn check(&self, engine: &dyn Engine, table: TableId, clients: &[Client]) -> Result<(), Violation> {
        consistency::check(&self.options, engine, table, clients)
    }
}
