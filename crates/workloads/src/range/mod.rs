//! The range-lock benchmark of the VLL paper (*VLL: a lock manager redesign for main memory database systems*, §3.4):
//! each transaction locks one range of keys, and a share of them waits with its lock, as if for a remote partition.
//!
//! There are no rows and no engine: one thread drives a manager of range locks. The common prefix of a range decides
//! how much is locked, and how often transactions conflict. The first and the last key of a range agree in
//! `--prefix-bits` bits, and differ in the next one; with `--random-ends`, they agree in as many bits on average.
//! *Short* transactions do nothing with their range; *long* ones compute while they hold it.

mod consistency;
mod generate;
mod request;

pub use consistency::Grants;
pub use generate::{Client, Options};
pub use request::Request;

use crate::computation::rounds_of;
use crate::{ClientIdentity, LoadError, Progress, Violation};
use hotrow_storage::TableSchema;
use hotrow_txn::Engine;

/// The range-lock benchmark of the VLL paper: each transaction locks one range of keys.
#[derive(Clone, Debug)]
pub struct Range {
    options: Options,
    /// The number of rounds of computation of a transaction.
    rounds: u64,
}

impl crate::Workload for Range {
    const NAME: &'static str = "range";
    const RUNS_ON_ENGINES: bool = false;
    type Options = Options;
    type Tables = ();
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

    fn refuse_threads(&self, threads: usize) -> Result<(), String> {
        if threads == 1 { Ok(()) } else { Err(format!("range is driven by one thread: --threads 1, not {threads}")) }
    }

    fn schemas(&self) -> Vec<TableSchema> {
        Vec::new()
    }

    fn create(&self, _engine: &dyn Engine) {}

    fn rows_of_tables(&self) -> Vec<u64> {
        Vec::new()
    }

    fn load(&self, _: &dyn Engine, _: (), _threads: usize, _: &Progress<'_>) -> Result<(), LoadError> {
        Ok(())
    }

    fn client(&self, _tables: (), identity: ClientIdentity) -> Client {
        Client::new(&self.options, self.rounds, identity.rng())
    }

    fn check(&self, _engine: &dyn Engine, _tables: (), clients: &[Client]) -> Result<(), Violation> {
        clients.iter().try_for_each(Client::check)
    }
}
