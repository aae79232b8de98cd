//! The bimodal workload of the SLI paper (*Improving OLTP Scalability using Speculative Lock Inheritance*, §4.4):
//! groups of transactions that touch different tables, and so lock different things.
//!
//! Each group has tables of its own. A transaction of a group reads some rows of each of its group's tables, and
//! increments the counters of others. If a thread draws the group of each transaction at random, a transaction has no
//! use for the locks that the previous one on the thread may have left to it. If the groups are assigned to threads
//! (`hotrow bench bimodal --assign by-type`), it has. The paper has two groups and does not say more about them; their
//! number and size are options here.

mod consistency;
mod generate;
mod load;
mod procedures;
mod schema;

pub use generate::{Client, Options};
pub use procedures::{Operation, Operations};
pub use schema::{COUNTER, KEY, Tables, bimodal};

use crate::{ClientIdentity, LoadError, Progress, Types, Violation};
use hotrow_storage::TableSchema;
use hotrow_txn::Engine;

/// The workload.
#[derive(Clone, Debug)]
pub struct Bimodal {
    options: Options,
}

impl crate::Workload for Bimodal {
    const NAME: &'static str = "bimodal";
    type Options = Options;
    type Tables = Tables;
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

    fn kinds(&self) -> &'static [&'static str] {
        &generate::KINDS[..self.options.groups()]
    }

    fn types(&self) -> Option<Types> {
        let group_of: Vec<usize> = (0..self.options.groups()).collect();
        Some(Types::new(&self.options.weights(), &group_of))
    }

    fn schemas(&self) -> Vec<TableSchema> {
        let tables = self.options.tables();
        (0..self.options.groups() * tables).map(|place| bimodal(place / tables, place % tables)).collect()
    }

    fn create(&self, engine: &dyn Engine) -> Tables {
        Tables::new(self.options.tables(), self.schemas().into_iter().map(|schema| engine.create_table(schema)))
    }

    fn rows_of_tables(&self) -> Vec<u64> {
        vec![self.options.rows; self.options.groups() * self.options.tables()]
    }

    fn load(
        &self,
        engine: &dyn Engine,
        tables: Tables,
        threads: usize,
        progress: &Progress<'_>,
    ) -> Result<(), LoadError> {
        load::load(&self.options, engine, tables, threads, progress)
    }

    fn client(&self, tables: Tables, identity: ClientIdentity) -> Client {
        Client::new(&self.options, tables, identity)
    }

    fn check(&self, engine: &dyn Engine, tables: Tables, clients: &[Client]) -> Result<(), Violation> {
        consistency::check(&self.options, engine, tables, clients)
    }
}
