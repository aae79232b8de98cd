//! The options, and the next transaction of a client.

use super::procedures::{Operation, Operations};
use super::schema::{TABLES_MAX, Tables};
use crate::assignment::draw_weighted;
use crate::distribution::different;
use crate::options::parse_share;
use crate::{ClientIdentity, Hand};
use fastrand::Rng;
use hotrow_txn::{Abort, Intent, Runner, number_of};
use std::fmt;

/// The names of the groups of transactions.
pub(super) const KINDS: [&str; 8] =
    ["group-1", "group-2", "group-3", "group-4", "group-5", "group-6", "group-7", "group-8"];

/// The most tables of one group.
const TABLES_OF_GROUP_MAX: usize = TABLES_MAX / KINDS.len();

/// The knobs of the bimodal workload.
#[derive(clap::Args, serde::Serialize, Clone, Debug)]
pub struct Options {
    /// Groups of transactions, each with tables of its own
    #[arg(long, value_name = "N", default_value_t = 2, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=KINDS.len() as i64))]
    pub groups: u32,

    /// The share of the first group in the transactions; the other groups have equal shares of the others
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, allow_negative_numbers = true, value_parser = parse_share)]
    pub share: f64,

    /// Tables of each group
    #[arg(long, value_name = "N", default_value_t = 2, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=TABLES_OF_GROUP_MAX as i64))]
    pub tables: u32,

    /// Rows of each table
    #[arg(long, value_name = "N", default_value_t = 100_000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub rows: u64,

    /// Rows that a transaction touches in each table of its group
    #[arg(long, value_name = "N", default_value_t = 2, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub ops: u32,

    /// The share of these rows that are only read; the counters of the others are incremented
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, allow_negative_numbers = true, value_parser = parse_share)]
    pub read_ratio: f64,
}

impl Options {
    /// Checks the options against each other.
    pub(super) fn validate(self) -> Result<Self, String> {
        let Options { rows, ops, .. } = self;
        if rows < u64::from(ops) {
            return Err(format!("--ops {ops} are of different rows of a table, and --rows is {rows}"));
        }
        Ok(self)
    }

    /// Returns the number of groups.
    pub(super) fn groups(&self) -> usize {
        self.groups as usize
    }

    /// Returns the number of tables of each group.
    pub(super) fn tables(&self) -> usize {
        self.tables as usize
    }

    /// Returns the weight of each group, relative to the others: to six digits.
    pub(super) fn weights(&self) -> Vec<u32> {
        const WHOLE: u32 = 1_000_000;
        let first = (self.share * f64::from(WHOLE)).round() as u32;
        let mut weights = vec![WHOLE - first; self.groups()];
        weights[0] = first * (self.groups - 1);
        weights
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { groups, share, tables, rows, ops, read_ratio } = self;
        let (tables, rows, ops) = (number_of(*tables, "table"), number_of(*rows, "row"), number_of(*ops, "op"));
        write!(f, "{groups} groups of {tables} with {rows}, the first has {:.0} %, ", share * 100.0)?;
        write!(f, "{ops} in each table, {:.0} % reads", read_ratio * 100.0)
    }
}

/// A stream of transactions for one worker, and the counts of those that committed.
#[derive(Debug)]
pub struct Client {
    tables: Tables,
    rng: Rng,
    options: Options,
    weights: Vec<u32>,
    /// The source of the transactions' groups, or `None` if they are drawn by `weights`.
    hand: Option<Hand>,
    next: Operations,
    /// The increments of the committed transactions, by the position of the table.
    increments: Vec<u64>,
    checksum: u64,
}

impl Client {
    pub(super) fn new(options: &Options, tables: Tables, identity: ClientIdentity) -> Self {
        Self {
            tables,
            rng: identity.rng(),
            options: options.clone(),
            weights: options.weights(),
            hand: None,
            next: Operations::default(),
            increments: vec![0; tables.all().len()],
            checksum: 0,
        }
    }

    /// Draws the next transaction. Returns its group.
    pub fn generate(&mut self) -> usize {
        let group = match &mut self.hand {
            None => draw_weighted(&mut self.rng, &self.weights),
            Some(hand) => hand.draw(&mut self.rng),
        };
        let Options { rows, ops, read_ratio, .. } = self.options;
        self.next.clear();
        for &table in self.tables.of(group) {
            for _ in 0..ops {
                let key = different(|key| self.next.has(table, key), 0..rows, || self.rng.u64(..rows));
                let intent = if self.rng.f64() < read_ratio { Intent::Read } else { Intent::Write };
                self.next.push(Operation { table, key: key as i64, intent });
            }
        }
        group
    }

    /// Returns the transaction that was drawn last.
    pub fn next(&self) -> &Operations {
        &self.next
    }

    /// Returns the number of increments of the committed transactions in each table, group after group.
    pub fn increments(&self) -> &[u64] {
        &self.increments
    }

    fn note_committed(&mut self, group: usize) {
        let ops = self.options.ops as usize;
        for (position, operations) in (self.tables.first_of(group)..).zip(self.next.list().chunks(ops)) {
            let writes = operations.iter().filter(|operation| operation.intent == Intent::Write).count();
            self.increments[position] += writes as u64;
        }
    }
}

impl crate::Client for Client {
    fn step<R: Runner>(&mut self, runner: &mut R) -> Result<(), Abort> {
        let group = self.generate();
        let checksum = runner.run(&self.next)?;
        self.checksum = self.checksum.wrapping_add(checksum);
        self.note_committed(group);
        runner.note(group, true);
        Ok(())
    }

    fn deal(&mut self, hand: Hand) {
        self.hand = Some(hand);
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
        let tables = Tables::new(options.tables(), (0..options.groups * options.tables).map(TableId));
        Client::new(&options, tables, ClientIdentity::first_run(0, 42))
    }

    #[test]
    fn wrong_options_are_refused_with_what_would_be_right() {
        for (line, expected) in [
            ("--groups 1", "1 is not in 2..=8"),
            ("--groups 9", "9 is not in 2..=8"),
            ("--tables 5", "5 is not in 1..=4"),
            ("--share 1.1", "1.1 is not within 0 and 1"),
            ("--read-ratio -0.1", "not within 0 and 1"),
            ("--rows 0", "0 is not in 1.."),
            ("--rows 3 --ops 4", "--ops 4 are of different rows of a table, and --rows is 3"),
        ] {
            let error = options(line).expect_err(line);
            assert!(error.contains(expected), "{line}: {error}");
        }
    }

    #[test]
    fn groups_have_their_shares() {
        const TRANSACTIONS: u32 = 20_000;
        for (line, expected) in [
            ("", &[0.5, 0.5][..]),
            ("--share 0.9", &[0.9, 0.1]),
            ("--groups 3 --share 0.2", &[0.2, 0.4, 0.4]),
            ("--share 0", &[0.0, 1.0]),
            ("--groups 4 --share 1", &[1.0, 0.0, 0.0, 0.0]),
        ] {
            let mut client = client(line);
            let mut counts = vec![0_u32; expected.len()];
            (0..TRANSACTIONS).for_each(|_| counts[client.generate()] += 1);
            for (count, expected) in counts.iter().zip(expected) {
                let share = f64::from(*count) / f64::from(TRANSACTIONS);
                assert!((share - expected).abs() < 0.02, "{line}: {counts:?}");
            }
        }
    }

    #[test]
    fn a_transaction_touches_different_rows_of_its_groups_tables_only() {
        for (line, tables, ops) in [("", 2, 2), ("--tables 4 --ops 3 --groups 8", 4, 3), ("--rows 2 --tables 1", 1, 2)]
        {
            let mut client = client(line);
            for _ in 0..500 {
                let group = client.generate();
                let of: Vec<_> = client.next().list().iter().map(|operation| operation.table).collect();
                let expected = client.tables.of(group).iter().flat_map(|&table| vec![table; ops]);
                assert_eq!(of, expected.collect::<Vec<_>>(), "{line}");
                assert_eq!(of.len(), tables * ops, "{line}");
                let mut rows: Vec<_> = client.next().list().iter().map(|row| (row.table, row.key)).collect();
                rows.sort_unstable_by_key(|&(table, key)| (table.0, key));
                rows.dedup();
                assert_eq!(rows.len(), tables * ops, "{line}");
            }
        }
    }

    #[test]
    fn the_share_of_reads_is_as_asked() {
        for (ratio, least, most) in [(0.0, 0, 0), (0.5, 9_500, 10_500), (1.0, 20_000, 20_000)] {
            let mut client = client(&format!("--read-ratio {ratio}"));
            let mut reads = 0;
            for _ in 0..5000 {
                client.generate();
                reads += client.next().list().iter().filter(|operation| operation.intent == Intent::Read).count();
            }
            assert!((least..=most).contains(&reads), "{ratio}: {reads}");
        }
    }
}
