//! The artificial workload of the Hekaton paper (*High-performance concurrency control mechanisms for main-memory
//! databases*, §5.1 and §5.2): short transactions of R reads and W writes over N rows of 24 bytes, a share of which
//! only read, beside long readers of 10 % of the table.
//!
//! The paper's large table is `--rows 10000000`, its hot spot `--rows 1000`. A transaction reads R rows, then updates W
//! others: it moves amounts between them, so that their sum is the same at every instant. The rows that one transaction
//! writes lie in one tenth of the table, a *block*. The first of these rows, which is uniform over all rows, selects
//! the block. A long reader reads a block row by row, and knows what the sum should be. (The paper leaves open which
//! tenth a long reader reads.)

mod consistency;
mod generate;
mod load;
mod procedures;
mod schema;

pub use generate::{Client, Options};
pub use procedures::{LongRead, Operations};
pub use schema::{AMOUNT, COUNTER, KEY, hekaton};

use crate::{ClientIdentity, LoadError, Progress, Violation};
use hotrow_storage::{TableId, TableSchema};
use hotrow_txn::{Engine, Isolation, number_of};

/// The workload of the Hekaton paper: short transactions, and long readers of 10 % of the table.
#[derive(Clone, Debug)]
pub struct Hekaton {
    options: Options,
}

impl crate::Workload for Hekaton {
    const NAME: &'static str = "hekaton";
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

    fn kinds(&self) -> &'static [&'static str] {
        &generate::KINDS
    }

    fn refuse_threads(&self, threads: usize) -> Result<(), String> {
        let readers = self.options.long_readers;
        if readers as usize <= threads {
            return Ok(());
        }
        Err(format!(
            "--long-readers {readers} is more than the {}: --threads {readers} is needed",
            number_of(threads, "worker thread")
        ))
    }

    fn judged_isolation(&self) -> Option<Isolation> {
        Some(self.options.long_isolation())
    }

    fn schemas(&self) -> Vec<TableSchema> {
        vec![hekaton()]
    }

    fn create(&self, engine: &dyn Engine) -> TableId {
        engine.create_table(hekaton())
    }

    fn rows_of_tables(&self) -> Vec<u64> {
        vec![self.options.rows]
    }

    fn load(
        &self,
        engine: &dyn Engine,
        table: TableId,
        threads: usize,
        progress: &Progress<'_>,
    ) -> Result<(), LoadError> {
        load::load(self.options.rows, engine, table, threads, progress)
    }

    fn client(&self, table: TableId, identity: ClientIdentity) -> Client {
        Client::new(&self.options, table, identity)
    }

    fn check(&self, engine: &dyn Engine, table: TableId, clients: &[Client]) -> Result<(), Violation> {
        consistency::check(self.options.rows, engine, table, clients)
    }
}
