//! Transfers between accounts, a few of which are very popular: the benchmark of the template *keynote-2* that comes
//! with SpacetimeDB (clockworklabs/SpacetimeDB, `templates/keynote-2`).
//!
//! A transfer reads the balances of two different accounts, and moves an amount from the first to the second if the
//! first balance suffices. The template's defaults are the defaults here: 100,000 accounts of 10,000,000, transfers of
//! 1, and accounts that are drawn by Zipf's law with exponent 1.5. With it 38 % of all draws are one account, and 63 %
//! of all transfers touch it.
//!
//! Beside its balance, an account counts its transfers, which the template's accounts do not. A lost update shows in
//! the counts even if it left the sum of the balances as it was.

mod consistency;
mod generate;
mod load;
mod procedures;
mod schema;

pub use generate::{Client, Options};
pub use procedures::Transfer;
pub use schema::{BALANCE, COUNTER, KEY, accounts};

use crate::{ClientIdentity, LoadError, Progress, Violation};
use hotrow_storage::{TableId, TableSchema};
use hotrow_txn::Engine;

/// The transfers of SpacetimeDB's template *keynote-2*: an amount moves between two accounts, some of them popular.
#[derive(Clone, Debug)]
pub struct Transfers {
    options: Options,
}

impl Transfers {
    /// Returns the sum of all balances, before and after any number of transfers.
    pub fn total(&self) -> i64 {
        self.options.total()
    }
}

impl crate::Workload for Transfers {
    const NAME: &'static str = "transfers";
    type Options = Options;
    type Tables = TableId;
    type Client = Client;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn summary(&self) -> String {
        self.options.to_string()
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["transfer"]
    }

    fn schemas(&self) -> Vec<TableSchema> {
        vec![accounts()]
    }

    fn create(&self, engine: &dyn Engine) -> TableId {
        engine.create_table(accounts())
    }

    fn rows_of_tables(&self) -> Vec<u64> {
        vec![u64::from(self.options.accounts)]
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
