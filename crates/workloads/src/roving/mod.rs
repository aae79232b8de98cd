//! The roving hotspot of the SLI paper (*Improving OLTP Scalability using Speculative Lock Inheritance*, §4.4): a table
//! that grows at its end, as a history or a log does.
//!
//! All transactions append to one table, and read its newest rows. So there is always one page that all of them want;
//! when the page is full, another page takes its place, and no transaction comes back to the old one. Keys are drawn
//! from a sequence outside of transactions, as in SQL. The rows that transactions read are the newest ones that have
//! committed, so reads seldom wait for appends.

mod consistency;
mod generate;
mod load;
mod procedures;
mod schema;
mod sequence;

pub use generate::{Client, Options};
pub use procedures::Append;
pub use schema::{AMOUNT, KEY, Tables, roving};

use crate::{ClientIdentity, LoadError, Progress, Violation};
use hotrow_storage::TableSchema;
use hotrow_sync::{Arc, Mutex};
use hotrow_txn::Engine;
use sequence::Sequence;

/// The workload.
#[derive(Debug)]
pub struct Roving {
    options: Options,
    /// The sequences of all databases that the workload has been created in.
    sequences: Mutex<Vec<Arc<Sequence>>>,
}

impl Roving {
    /// Returns the sequence of a database's keys.
    fn sequence(&self, tables: Tables) -> Arc<Sequence> {
        let sequences = self.sequences.lock().unwrap_or_else(|poison| poison.into_inner());
        Arc::clone(&sequences[tables.sequence])
    }
}

impl crate::Workload for Roving {
    const NAME: &'static str = "roving";
    type Options = Options;
    type Tables = Tables;
    type Client = Client;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options: options.validate()?, sequences: Mutex::default() })
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn summary(&self) -> String {
        self.options.to_string()
    }

    fn kinds(&self) -> &'static [&'static str] {
        &generate::KINDS
    }

    fn schemas(&self) -> Vec<TableSchema> {
        vec![roving()]
    }

    fn create(&self, engine: &dyn Engine) -> Tables {
        let history = engine.create_table(roving());
        let mut sequences = self.sequences.lock().unwrap_or_else(|poison| poison.into_inner());
        sequences.push(Arc::new(Sequence::after(self.options.rows)));
        Tables { history, sequence: sequences.len() - 1 }
    }

    fn rows_of_tables(&self) -> Vec<u64> {
        vec![self.options.rows]
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
        Client::new(&self.options, tables, self.sequence(tables), identity)
    }

    fn check(&self, engine: &dyn Engine, tables: Tables, clients: &[Client]) -> Result<(), Violation> {
        consistency::check(&self.options, engine, tables, clients)
    }
}
