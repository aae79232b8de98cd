//! The interactive paper's micro benchmark (*Interactive Transaction Processing for In-Memory Database System*, section
//! 5): a transaction reads N rows of a table of keys and values and writes M others, drawn from a Zipfian distribution.
//!
//! Each operation is a separate request, so nothing is known about a transaction before it begins: engines that need
//! its rows find them by reconnaissance, and no keys are looked up together. With `--over-wire` each is a statement
//! from a client over the network, as in the paper.
//!
//! A write adds one to the value. The paper does not say what a write does; with this choice the values show what was
//! committed.

mod consistency;
mod generate;
mod load;
mod procedures;
mod schema;

pub use generate::{Client, Options};
pub use procedures::Operations;
pub use schema::{KEY, VALUE, kv};

use crate::{ClientIdentity, LoadError, Progress, Violation};
use hotrow_storage::{TableId, TableSchema};
use hotrow_txn::Engine;

/// The micro benchmark of the interactive paper: reads and writes of keys and values, each a separate request.
#[derive(Clone, Debug)]
pub struct Interactive {
    options: Options,
}

impl crate::Workload for Interactive {
    const NAME: &'static str = "interactive";
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

    fn schemas(&self) -> Vec<TableSchema> {
        vec![kv()]
    }

    fn create(&self, engine: &dyn Engine) -> TableId {
        engine.create_table(kv())
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
