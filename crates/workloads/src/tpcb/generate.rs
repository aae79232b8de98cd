//! The options, and the next transaction of a client.

use super::procedures::Deposit;
use super::schema::{ACCOUNTS_MOST, TELLERS_PER_BRANCH, Tables};
use crate::ClientIdentity;
use fastrand::Rng;
use hotrow_txn::{Abort, Runner};

/// The largest scale at which pgbench's account numbers fit into an `integer`.
const SCALE_MAX: i64 = 19_999;

/// The command-line options of TPC-B.
#[derive(clap::Args, serde::Serialize, Clone, Debug)]
pub struct Options {
    /// Branches; each has 10 tellers
    #[arg(long, value_name = "N", default_value_t = 10, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=SCALE_MAX))]
    pub scale: u32,

    /// Accounts of each branch
    #[arg(long, value_name = "N", default_value_t = ACCOUNTS_MOST, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(ACCOUNTS_MOST)))]
    pub accounts: u32,
}

/// Generates and runs the transactions of one worker, and counts the effects of those that committed.
#[derive(Debug)]
pub struct Client {
    rng: Rng,
    scale: u64,
    /// The number of accounts of each branch.
    accounts: u64,
    next: Deposit,
    committed: u64,
    deposited: i64,
}

impl Client {
    pub(super) fn new(options: &Options, tables: Tables, identity: ClientIdentity) -> Self {
        Self {
            rng: identity.rng(),
            scale: u64::from(options.scale),
            accounts: u64::from(options.accounts),
            next: Deposit::new(tables, identity.number),
            committed: 0,
            deposited: 0,
        }
    }

    /// Draws the next transaction.
    pub fn generate(&mut self) -> &Deposit {
        let mut draw = |most: u64| self.rng.u64(1..=most) as i32;
        let account = draw(self.scale * self.accounts);
        let branch = draw(self.scale);
        let teller = draw(self.scale * TELLERS_PER_BRANCH);
        let delta = self.rng.i32(-5000..=5000);
        self.next.set(account, teller, branch, delta);
        &self.next
    }

    /// Returns the transaction that was drawn last.
    pub fn next(&self) -> &Deposit {
        &self.next
    }

    /// Records that the transaction that was drawn last has committed.
    pub fn note_committed(&mut self) {
        self.committed += 1;
        self.deposited += i64::from(self.next.delta());
    }

    /// Returns the number of committed transactions.
    pub fn committed(&self) -> u64 {
        self.committed
    }

    /// Returns the sum of the amounts that the committed transactions deposited. A withdrawal is a negative amount.
    pub fn deposited(&self) -> i64 {
        self.deposited
    }
}

impl crate::Client for Client {
    fn step<R: Runner>(&mut self, runner: &mut R) -> Result<(), Abort> {
        runner.run(self.generate())?;
        self.note_committed();
        Ok(())
    }
}
