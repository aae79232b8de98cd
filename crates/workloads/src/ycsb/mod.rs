//! YCSB, in the transactional form of the ORTHRUS paper (appendix A): each transaction reads or read-modify-writes a
//! number of different rows of one table.
//!
//! The paper's rows are `--fields 10 --value-bytes 100`; its transactions `--read-only` and `--rmw`; its high
//! contention `--hot-records 64 --hot-ops 2`, the hot rows first. Its single-partition, dual-partition and random
//! transactions are `--partitions-per-txn 1`, `2` and `random`.

mod consistency;
mod generate;
mod load;
mod partitions;
mod procedures;
mod schema;

pub use generate::{Client, HotPosition, Options, Spread};
pub use procedures::{Operation, Operations, change_row, read_row};
pub use schema::{COUNTER, FIELDS, KEY, usertable};

use crate::{ClientIdentity, LoadError, Progress, Violation};
use hotrow_storage::{TableId, TableSchema};
use hotrow_txn::Engine;

/// The benchmark YCSB with transactions, each of several operations on different rows.
#[derive(Clone, Debug)]
pub struct Ycsb {
    options: Options,
}

impl crate::Workload for Ycsb {
    const NAME: &'static str = "ycsb";
    type Options = Options;
    type Tables = TableId;
    type Client = Client;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options: options.validate()? })
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn summary(&self) -> String {
        self.options.to_string()
    }

    fn partitions(&self) -> Option<usize> {
        match self.options.partitions_per_txn {
            Spread::Exactly(_) => self.options.partitions.map(|partitions| partitions as usize),
            Spread::Random => None,
        }
    }

    fn schemas(&self) -> Vec<TableSchema> {
        vec![usertable(self.options.fields, self.options.value_bytes)]
    }

    fn create(&self, engine: &dyn Engine) -> TableId {
        engine.create_table(usertable(self.options.fields, self.options.value_bytes))
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
        Client::new(&self.options, table, identity)
    }

    fn check(&self, engine: &dyn Engine, table: TableId, clients: &[Client]) -> Result<(), Violation> {
        consistency::check(&self.options, engine, table, clients)
    }
}
