//! The options, and the next transaction of a client.

use super::procedures::Transfer;
use crate::ClientIdentity;
use crate::distribution::{Distribution, THETA_MAX, different};
use crate::options::parse_within;
use fastrand::Rng;
use hotrow_storage::TableId;
use hotrow_txn::{Abort, Runner, number_of};
use std::fmt;

/// The largest number of accounts, balance and amount: that of an `integer`, so that a sum of all balances fits into 64
/// bits.
const MOST: i64 = i32::MAX as i64;

/// The command-line options of the transfers.
#[derive(clap::Args, serde::Serialize, Clone, Debug)]
pub struct Options {
    /// Accounts
    #[arg(long, value_name = "N", default_value_t = 100_000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=MOST))]
    pub accounts: u32,

    /// The balance with which each account begins
    #[arg(long, value_name = "AMOUNT", default_value_t = 10_000_000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=MOST))]
    pub balance: u32,

    /// The amount of each transfer; a transfer from an account with less changes nothing
    #[arg(long, value_name = "AMOUNT", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST))]
    pub amount: u32,

    /// Exponent of the Zipfian distribution of accounts; 0 is uniform
    #[arg(long, value_name = "THETA", default_value_t = 1.5, allow_negative_numbers = true, value_parser = parse_theta)]
    pub theta: f64,
}

fn parse_theta(text: &str) -> Result<f64, String> {
    parse_within(text, THETA_MAX)
}

impl Options {
    /// Returns the sum of all balances after the load.
    pub(super) fn total(&self) -> i64 {
        i64::from(self.accounts) * i64::from(self.balance)
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { accounts, balance, amount, theta } = self;
        write!(f, "{} of {balance}, transfers of {amount}, ", number_of(*accounts, "account"))?;
        if *theta == 0.0 { f.write_str("uniform") } else { write!(f, "Zipf {theta}") }
    }
}

/// Generates and runs the transactions of one worker, and counts the effects of those that committed.
#[derive(Debug)]
pub struct Client {
    rng: Rng,
    accounts: u64,
    popularity: Distribution,
    next: Transfer,
    /// The number of committed transfers that moved their amount.
    moved: u64,
}

impl Client {
    pub(super) fn new(options: &Options, table: TableId, identity: ClientIdentity) -> Self {
        Self {
            rng: identity.rng(),
            accounts: u64::from(options.accounts),
            popularity: Distribution::new(u64::from(options.accounts), options.theta),
            next: Transfer::new(table, i64::from(options.amount)),
            moved: 0,
        }
    }

    /// Draws the next transaction: two different accounts, each by its popularity.
    #[inline]
    pub fn generate(&mut self) -> &Transfer {
        let source = self.popularity.draw(&mut self.rng);
        let target = different(|account| account == source, 0..self.accounts, || self.popularity.draw(&mut self.rng));
        self.next.set(source as i32, target as i32);
        &self.next
    }

    /// Returns the transaction that was drawn last.
    pub fn next(&self) -> &Transfer {
        &self.next
    }

    /// Records that the transaction that was drawn last has committed, and whether it has moved its amount.
    pub fn committed(&mut self, moved: bool) {
        self.moved += u64::from(moved);
    }

    /// Returns how often the committed transactions have changed an account: each that moved its amount changed two.
    pub fn changes(&self) -> u64 {
        2 * self.moved
    }
}

impl crate::Client for Client {
    #[inline]
    fn step<R: Runner>(&mut self, runner: &mut R) -> Result<(), Abort> {
        let moved = runner.run(self.generate())?;
        self.committed(moved);
        runner.note(0, moved);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::tests::parse;

    fn options(line: &str) -> Result<Options, String> {
        parse(line)
    }

    #[test]
    fn options_out_of_range_are_refused() {
        for (line, expected) in [
            ("--accounts 1", "1 is not in 2..=2147483647"),
            ("--accounts 2147483648", "2147483648 is not in 2..=2147483647"),
            ("--balance -1", "-1 is not in 0..=2147483647"),
            ("--amount 0", "0 is not in 1..=2147483647"),
            ("--amount 1.5", "invalid digit"),
            ("--theta 5.1", "not within 0 and 5"),
            ("--theta NaN", "not within 0 and 5"),
        ] {
            let error = options(line).expect_err(line);
            assert!(error.contains(expected), "{line}: {error}");
        }
        let summary = |line| options(line).expect("good options").to_string();
        assert_eq!(summary(""), "100000 accounts of 10000000, transfers of 1, Zipf 1.5");
        assert_eq!(summary("--accounts 2 --balance 0 --theta 0"), "2 accounts of 0, transfers of 1, uniform");
        let most = options("--accounts 2147483647 --balance 2147483647").expect("good options");
        assert_eq!(most.total(), MOST * MOST);
    }

    #[test]
    fn accounts_differ_and_are_as_popular_as_the_exponent_says() {
        const TRANSFERS: usize = 100_000;
        // The share of transfers with account 0 is p + Σ q·p/(1 - q) over the other accounts' shares q: one draw is the
        // account, or the first is another one and the second, without that one, is the account.
        for (accounts, theta) in [(2_u32, 1.5_f64), (10, 1.5), (100_000, 1.5), (100, 0.0), (1000, 0.9)] {
            let options = options(&format!("--accounts {accounts} --theta {theta}")).expect("good options");
            let mut client = Client::new(&options, TableId(1), ClientIdentity::first_run(3, 42));
            let mut hot = 0;
            for _ in 0..TRANSFERS {
                let transfer = client.generate();
                let both = [transfer.source(), transfer.target()];
                assert_ne!(both[0], both[1]);
                assert!(both.iter().all(|account| (0..accounts as i32).contains(account)), "{both:?} of {accounts}");
                hot += usize::from(both.contains(&0));
            }
            let weights: Vec<f64> = (1..=accounts).map(|rank| f64::from(rank).powf(-theta)).collect();
            let total: f64 = weights.iter().sum();
            let first = weights[0] / total;
            let share: f64 =
                first + weights[1..].iter().map(|weight| weight / total).map(|q| q * first / (1.0 - q)).sum::<f64>();
            let expected = TRANSFERS as f64 * share;
            let deviation = (expected * (1.0 - share)).max(0.0).sqrt().max(1.0);
            let off = (hot as f64 - expected).abs() / deviation;
            assert!(off < 6.0, "{accounts} accounts, theta {theta}: {hot} with account 0, {expected:.0} expected");
        }
    }
}
