//! TPC-B, in pgbench's form: a deposit or withdrawal changes an account, its teller and its branch, and is recorded.
//!
//! Tables, columns, keys and rows are those of `pgbench -i`, so that each may run on what the other has loaded. Unlike
//! the paper form of TPC-B, pgbench draws the branch independently of the teller; so do we.

mod consistency;
mod generate;
mod load;
mod procedures;
mod schema;

pub use generate::{Client, Options};
pub use procedures::Deposit;
pub use schema::{TELLERS_PER_BRANCH, Tables, accounts, branches, history, tellers};

use crate::{ClientIdentity, LoadError, Progress, Violation};
use hotrow_storage::TableSchema;
use hotrow_txn::Engine;

/// The benchmark TPC-B in pgbench's form: deposits and withdrawals.
#[derive(Clone, Debug)]
pub struct Tpcb {
    options: Options,
}

impl crate::Workload for Tpcb {
    const NAME: &'static str = "tpcb";
    type Options = Options;
    type Tables = Tables;
    type Client = Client;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn summary(&self) -> String {
        let Options { scale, accounts } = self.options;
        format!("scale {scale}: {scale} branches, {} tellers, {} accounts", scale * 10, scale * accounts)
    }

    fn schemas(&self) -> Vec<TableSchema> {
        vec![branches(), tellers(), accounts(), history()]
    }

    fn create(&self, engine: &dyn Engine) -> Tables {
        Tables {
            branches: engine.create_table(branches()),
            tellers: engine.create_table(tellers()),
            accounts: engine.create_table(accounts()),
            history: engine.create_table(history()),
        }
    }

    fn rows_of_tables(&self) -> Vec<u64> {
        let (scale, accounts) = (u64::from(self.options.scale), u64::from(self.options.accounts));
        vec![scale, scale * TELLERS_PER_BRANCH, scale * accounts, 0]
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
        consistency::check(engine, tables, clients)
    }
}
