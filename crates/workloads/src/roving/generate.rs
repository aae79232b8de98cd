//! The options, and the next transaction of a client.

use super::procedures::Append;
use super::schema::Tables;
use super::sequence::Sequence;
use crate::ClientIdentity;
use crate::options::parse_share;
use fastrand::Rng;
use hotrow_sync::Arc;
use hotrow_txn::{Abort, Runner, number_of};
use std::fmt;

/// The greatest amount of an appended row.
const AMOUNT_MAX: i64 = 100;

/// The knobs of the roving hotspot.
#[derive(clap::Args, serde::Serialize, Clone, Debug)]
pub struct Options {
    /// Rows that the table begins with
    #[arg(long, value_name = "N", default_value_t = 100_000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub rows: u64,

    /// Rows that a transaction appends
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub appends: u32,

    /// Rows among the newest ones that a transaction reads
    #[arg(long, value_name = "N", default_value_t = 2, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub reads: u32,

    /// Newest rows from which those that are read are drawn
    #[arg(long, value_name = "N", default_value_t = 100, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub recent: u64,

    /// The share of transactions that only read
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, allow_negative_numbers = true, value_parser = parse_share)]
    pub read_only_share: f64,
}

/// The names of the kinds of transactions.
pub(super) const KINDS: [&str; 2] = ["append", "read-only"];

const APPEND: usize = 0;
const READ_ONLY: usize = 1;

impl Options {
    /// Checks the options against each other.
    pub(super) fn validate(self) -> Result<Self, String> {
        let Options { rows, reads, recent, read_only_share, .. } = self;
        if recent > rows {
            return Err(format!("--recent {recent} is more than the table begins with: --rows is {rows}"));
        }
        if reads == 0 && read_only_share > 0.0 {
            return Err(format!("--read-only-share {read_only_share} and --reads 0 leave nothing to do"));
        }
        Ok(self)
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { rows, appends, reads, recent, read_only_share } = self;
        let (rows, reads, appends) =
            (number_of(*rows, "row"), number_of(*reads, "read"), number_of(*appends, "append"));
        write!(f, "{rows} and more, {reads} of the newest {recent} and {appends}, ")?;
        write!(f, "{:.0} % read-only", read_only_share * 100.0)
    }
}

/// A stream of transactions for one worker, and the counts of those that committed.
#[derive(Debug)]
pub struct Client {
    rng: Rng,
    options: Options,
    sequence: Arc<Sequence>,
    next: Append,
    appended: u64,
    /// The sum of the amounts of the rows that the committed transactions appended.
    amount: i64,
    checksum: i64,
}

impl Client {
    pub(super) fn new(options: &Options, tables: Tables, sequence: Arc<Sequence>, identity: ClientIdentity) -> Self {
        Self {
            rng: identity.rng(),
            options: options.clone(),
            sequence,
            next: Append::new(tables, identity.number, options.appends as usize),
            appended: 0,
            amount: 0,
            checksum: 0,
        }
    }

    /// Draws the next transaction. Returns the amount of each row that it appends, or `None` if it only reads.
    pub fn generate(&mut self) -> Option<i64> {
        let Options { appends, reads, recent, read_only_share, .. } = self.options;
        self.next.clear();
        let newest = self.sequence.committed();
        for _ in 0..reads {
            self.next.push_read(newest - 1 - self.rng.u64(..recent));
        }
        if read_only_share > 0.0 && self.rng.f64() < read_only_share {
            return None;
        }
        let amount = self.rng.i64(1..=AMOUNT_MAX);
        self.next.append(self.sequence.take(u64::from(appends)), amount);
        Some(amount)
    }

    /// Returns the transaction that was drawn last.
    pub fn next(&self) -> &Append {
        &self.next
    }

    /// Returns the number of rows that the committed transactions appended.
    pub fn appended(&self) -> u64 {
        self.appended
    }

    /// Returns the sum of the amounts of the rows that the committed transactions appended.
    pub fn amount(&self) -> i64 {
        self.amount
    }

    /// Records that the transaction that was drawn last has committed, with this amount of each appended row.
    fn note_committed(&mut self, amount: i64) {
        let appended = self.next.appends().count();
        self.appended += appended as u64;
        self.amount += appended as i64 * amount;
        if let Some(last) = self.next.appends().last() {
            self.sequence.note_committed(last as u64);
        }
    }
}

impl crate::Client for Client {
    fn step<R: Runner>(&mut self, runner: &mut R) -> Result<(), Abort> {
        let amount = self.generate();
        let (sum, found) = runner.run(&self.next)?;
        self.checksum = self.checksum.wrapping_add(sum);
        if let Some(amount) = amount {
            self.note_committed(amount);
        }
        runner.note(if amount.is_some() { APPEND } else { READ_ONLY }, found == self.next.reads().len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::tests::parse;
    use hotrow_storage::TableId;

    fn options(line: &str) -> Result<Options, String> {
        parse::<Options>(line)?.validate()
    }

    fn client(line: &str) -> Client {
        let options = options(line).expect("good options");
        let tables = Tables { history: TableId(1), sequence: 0 };
        let sequence = Arc::new(Sequence::after(options.rows));
        Client::new(&options, tables, sequence, ClientIdentity::first_run(0, 42))
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        for (line, expected) in [
            ("--rows 10 --recent 11", "--recent 11 is more than the table begins with: --rows is 10"),
            ("--reads 0 --read-only-share 0.5", "leave nothing to do"),
            ("--appends 0", "0 is not in 1..=1000"),
            ("--recent 0", "0 is not in 1.."),
            ("--read-only-share 2", "2 is not within 0 and 1"),
        ] {
            let error = options(line).expect_err(line);
            assert!(error.contains(expected), "{line}: {error}");
        }
    }

    #[test]
    fn appends_go_to_the_end_and_reads_follow_them() {
        let mut client = client("--rows 50 --appends 3 --reads 4 --recent 20");
        for number in 0..100 {
            let end = 50 + 3 * number;
            let amount = client.generate().expect("it appends");
            assert!((1..=AMOUNT_MAX).contains(&amount));
            assert_eq!(client.next().appends().collect::<Vec<_>>(), [end, end + 1, end + 2]);
            assert_eq!(client.next().reads().len(), 4);
            assert!(client.next().reads().iter().all(|key| (end - 20..end).contains(key)), "{:?}", client.next());
            client.note_committed(amount);
        }
        assert_eq!(client.appended(), 300);
    }

    #[test]
    fn the_share_of_read_only_transactions_is_as_asked() {
        for (share, least, most) in [(0.0, 0, 0), (0.3, 2_700, 3_300), (1.0, 10_000, 10_000)] {
            let mut client = client(&format!("--read-only-share {share}"));
            let read_only = (0..10_000).filter(|_| client.generate().is_none()).count();
            assert!((least..=most).contains(&read_only), "{share}: {read_only}");
        }
    }
}
