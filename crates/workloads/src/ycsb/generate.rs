//! The options, and the next transaction of a client.

use super::partitions::Partitions;
use super::procedures::{Operation, Operations};
use crate::ClientIdentity;
use crate::distribution::{Distribution, THETA_MAX, different};
use crate::options::{parse_share, parse_within};
use fastrand::Rng;
use hotrow_storage::TableId;
use hotrow_txn::{Abort, Intent, Runner, number_of};
use std::fmt;

/// The greatest number of operations of a transaction, and of columns of a row.
const OPS_MAX: u32 = 1000;
const FIELDS_MAX: i64 = 1000;

/// The command-line options of YCSB.
#[derive(clap::Args, serde::Serialize, Clone, Debug)]
pub struct Options {
    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = 1_000_000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub records: u64,

    /// Operations of a transaction, each on another row
    #[arg(long, value_name = "N", default_value_t = 10, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(OPS_MAX)))]
    pub ops: u32,

    /// The share of operations that read; the others read, modify and write
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, allow_negative_numbers = true, value_parser = parse_share)]
    pub read_ratio: f64,

    /// Bytes of each value; the first value includes the row's counter of updates, 8 bytes
    #[arg(long, value_name = "BYTES", default_value_t = 100, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(9..=1 << 20))]
    pub value_bytes: u32,

    /// Value columns of a row: a read reads all of them, a write replaces one
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=FIELDS_MAX))]
    pub fields: u16,

    /// Exponent of the Zipfian distribution of keys; 0 is uniform
    #[arg(long, value_name = "THETA", default_value_t = 0.0, allow_negative_numbers = true, value_parser = parse_theta)]
    pub theta: f64,

    /// Size of the hot set; 0 for none. Operations outside the hot set are uniform over the other rows
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, conflicts_with = "theta")]
    pub hot_records: u64,

    /// Operations of a transaction that go to the hot set, if there is one
    #[arg(long, value_name = "N", default_value_t = 2, allow_negative_numbers = true)]
    pub hot_ops: u32,

    /// Place of the hot operations in a transaction: first, last or random
    #[arg(long, value_name = "WHERE", value_enum, default_value_t = HotPosition::First, hide_possible_values = true)]
    pub hot_position: HotPosition,

    /// Partitions of the table: key k belongs to partition k mod N [default: one per core]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub partitions: Option<u32>,

    /// Partitions that a transaction touches, its worker's own among them: a number, or random for any
    #[arg(long, value_name = "N", default_value = "random", value_parser = parse_spread, allow_negative_numbers = true)]
    pub partitions_per_txn: Spread,

    /// The share of transactions that touch as many partitions as --partitions-per-txn says; the others stay in their
    /// worker's own
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, allow_negative_numbers = true, value_parser = parse_share)]
    pub multi_partition: f64,

    /// Reads only: the same as --read-ratio 1
    #[arg(long, conflicts_with_all = ["rmw", "read_ratio"])]
    pub read_only: bool,

    /// Read-modify-writes only: the same as --read-ratio 0
    #[arg(long, conflicts_with = "read_ratio")]
    pub rmw: bool,
}

/// The number of partitions that a transaction touches.
#[derive(serde::Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Spread {
    /// The number that the transaction's random keys happen to give
    Random,
    /// This number
    #[serde(untagged)]
    Exactly(u32),
}

fn parse_spread(text: &str) -> Result<Spread, String> {
    match (text, text.parse()) {
        ("random", _) => Ok(Spread::Random),
        (_, Ok(partitions)) if partitions >= 1 => Ok(Spread::Exactly(partitions)),
        _ => Err("expected a number of partitions from 1, or random".to_owned()),
    }
}

/// The place of the operations on hot rows in a transaction.
#[derive(clap::ValueEnum, serde::Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum HotPosition {
    /// Before all other operations, as in the ORTHRUS paper
    First,
    /// After all other operations
    Last,
    /// Anywhere
    Random,
}

fn parse_theta(text: &str) -> Result<f64, String> {
    parse_within(text, THETA_MAX)
}

impl Options {
    /// Checks the options against each other, and converts the shorthands to `read_ratio`.
    pub(super) fn validate(mut self) -> Result<Self, String> {
        if u64::from(self.ops) > self.records {
            return Err(format!(
                "--ops {} on different rows need at least as many rows, but --records is {}",
                self.ops, self.records
            ));
        }
        if self.hot_records > 0 {
            let hot_ops = u64::from(self.hot_ops);
            if self.hot_ops > self.ops {
                return Err(format!("--hot-ops {hot_ops} is more than --ops {}", self.ops));
            }
            if hot_ops > self.hot_records {
                return Err(format!("--hot-ops {hot_ops} is more than --hot-records {}", self.hot_records));
            }
            let cold = self.records.saturating_sub(self.hot_records);
            if u64::from(self.ops) - hot_ops > cold {
                return Err(format!("--hot-records {} leaves {cold} of --records for the others", self.hot_records));
            }
        }
        self.validate_partitions()?;
        if self.read_only {
            self.read_ratio = 1.0;
        }
        if self.rmw {
            self.read_ratio = 0.0;
        }
        Ok(self)
    }

    fn validate_partitions(&mut self) -> Result<(), String> {
        let partitions = *self.partitions.get_or_insert_with(|| hotrow_sync::cores() as u32);
        let Spread::Exactly(touched) = self.partitions_per_txn else {
            return match self.multi_partition {
                1.0 => Ok(()),
                share => {
                    Err(format!("--multi-partition {share} needs --partitions-per-txn with a number, which is random"))
                }
            };
        };
        if touched > partitions {
            return Err(format!("--partitions-per-txn {touched} is more than --partitions {partitions}"));
        }
        if touched > self.ops {
            return Err(format!("--partitions-per-txn {touched} is more than --ops {}", self.ops));
        }
        self.validate_rows_of_partitions(u64::from(partitions))
    }

    /// Checks that every partition has rows for all operations of a transaction: hot ones, and others.
    fn validate_rows_of_partitions(&self, partitions: u64) -> Result<(), String> {
        let (records, ops, smallest) = (self.records, u64::from(self.ops), self.records / partitions);
        if smallest < ops {
            return Err(format!(
                "--partitions {partitions} of --records {records} have {}, fewer than --ops {ops}",
                number_of(smallest, "row")
            ));
        }
        if self.hot_records == 0 {
            return Ok(());
        }
        let (hot, hot_ops) = (self.hot_records / partitions, u64::from(self.hot_ops));
        if hot < hot_ops {
            return Err(format!(
                "--partitions {partitions} of --hot-records {} have {}, fewer than --hot-ops {hot_ops}",
                self.hot_records,
                number_of(hot, "hot row")
            ));
        }
        let cold = smallest.saturating_sub(self.hot_records.div_ceil(partitions));
        if cold < ops - hot_ops {
            return Err(format!(
                "--hot-records {} leaves {cold} rows of each of --partitions {partitions} for the others",
                self.hot_records
            ));
        }
        Ok(())
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { records, ops, fields, value_bytes, .. } = self;
        write!(
            f,
            "{} of {fields} x {}, {}, {:.0} % reads, ",
            number_of(*records, "row"),
            number_of(*value_bytes, "byte"),
            number_of(*ops, "operation"),
            self.read_ratio * 100.0
        )?;
        match (self.hot_records, self.theta) {
            (0, 0.0) => f.write_str("uniform"),
            (0, theta) => write!(f, "Zipf {theta}"),
            (hot, _) => write!(f, "{} of them on {}", self.hot_ops, number_of(hot, "hot row")),
        }?;
        match (self.partitions_per_txn, self.partitions) {
            (Spread::Exactly(touched), Some(partitions)) => {
                write!(f, ", in {touched} of {}", number_of(partitions, "partition"))?;
                match self.multi_partition {
                    1.0 => Ok(()),
                    share => write!(f, " for {:.0} %, in one for the others", share * 100.0),
                }
            }
            _ => Ok(()),
        }
    }
}

/// Generates and runs the transactions of one worker, and counts the effects of those that committed.
#[derive(Debug)]
pub struct Client {
    generator: Generator,
    next: Operations,
    increments: u64,
    checksum: u64,
}

impl Client {
    pub(super) fn new(options: &Options, table: TableId, identity: ClientIdentity) -> Self {
        Self {
            generator: Generator::new(options, identity.worker, identity.rng()),
            next: Operations::new(table, options.fields, options.value_bytes),
            increments: 0,
            checksum: 0,
        }
    }

    /// Draws the next transaction.
    #[inline]
    pub fn generate(&mut self) -> &Operations {
        self.generator.fill(&mut self.next);
        &self.next
    }

    /// Returns the transaction that was drawn last.
    pub fn next(&self) -> &Operations {
        &self.next
    }

    /// Records that the transaction that was drawn last has committed. `checksum` is that of the values that it read.
    #[inline]
    pub fn committed(&mut self, checksum: u64) {
        self.increments += self.next.writes();
        self.checksum = self.checksum.wrapping_add(checksum);
    }

    /// Returns how often the committed transactions have incremented counters.
    pub fn increments(&self) -> u64 {
        self.increments
    }
}

impl crate::Client for Client {
    #[inline]
    fn step<R: Runner>(&mut self, runner: &mut R) -> Result<(), Abort> {
        let checksum = runner.run(self.generate())?;
        self.committed(checksum);
        Ok(())
    }
}

/// Draws the operations of transactions.
#[derive(Debug)]
struct Generator {
    rng: Rng,
    ops: usize,
    read_ratio: f64,
    fields: u16,
    cold: Distribution,
    /// The first key of the cold set, and the key after its last.
    cold_keys: (u64, u64),
    hot: Option<HotSet>,
    partitions: Option<Partitions>,
}

#[derive(Debug)]
struct HotSet {
    records: u64,
    ops: usize,
    position: HotPosition,
}

impl Generator {
    fn new(options: &Options, worker: u32, rng: Rng) -> Self {
        let hot = (options.hot_records > 0).then_some(HotSet {
            records: options.hot_records,
            ops: options.hot_ops as usize,
            position: options.hot_position,
        });
        let partitions = match (options.partitions_per_txn, options.partitions) {
            (Spread::Exactly(touched), Some(all)) => {
                Some(Partitions::new(all, touched, options.multi_partition, worker))
            }
            _ => None,
        };
        // The cold set may be empty if all operations are hot.
        let cold_records = (options.records - options.hot_records.min(options.records)).max(1);
        Self {
            rng,
            ops: options.ops as usize,
            read_ratio: options.read_ratio,
            fields: options.fields,
            cold: Distribution::new(cold_records, options.theta),
            cold_keys: (options.hot_records, options.records),
            hot,
            partitions,
        }
    }

    fn fill(&mut self, next: &mut Operations) {
        next.clear();
        if let Some(partitions) = &mut self.partitions {
            partitions.draw(&mut self.rng);
        }
        let hot_ops = self.hot.as_ref().map_or(0, |hot| hot.ops);
        let (first_hot, shuffle) = match self.hot.as_ref().map(|hot| hot.position) {
            Some(HotPosition::Last) => (self.ops - hot_ops, false),
            Some(HotPosition::Random) => (0, true),
            Some(HotPosition::First) | None => (0, false),
        };
        for position in 0..self.ops {
            let is_hot = (first_hot..first_hot + hot_ops).contains(&position);
            let key = if is_hot { self.hot_key(next, position) } else { self.cold_key(next, position) };
            let intent = self.intent();
            let field = if self.fields == 1 { 0 } else { self.rng.u16(..self.fields) };
            next.push(Operation { key: key as i64, intent, field });
        }
        if shuffle {
            self.rng.shuffle(next.list_mut());
        }
        write_value(next.value_mut(), self.rng.u64(..));
    }

    fn intent(&mut self) -> Intent {
        let read = match self.read_ratio {
            1.0 => true,
            0.0 => false,
            ratio => self.rng.f64() < ratio,
        };
        if read { Intent::Read } else { Intent::Write }
    }

    fn hot_key(&mut self, taken: &Operations, position: usize) -> u64 {
        let records = self.hot.as_ref().map_or(1, |hot| hot.records);
        let rng = &mut self.rng;
        match &self.partitions {
            None => different(|key| taken.has(key), 0..records, || rng.u64(..records)),
            Some(partitions) => partitions.key(position, 0..records, taken, |rows| rng.u64(rows)),
        }
    }

    fn cold_key(&mut self, taken: &Operations, position: usize) -> u64 {
        let (first, end) = self.cold_keys;
        let (cold, rng) = (&self.cold, &mut self.rng);
        match &self.partitions {
            None => different(|key| taken.has(key), first..end, || first + cold.draw(rng)),
            Some(partitions) => partitions.key(position, first..end, taken, |rows| {
                (rows.start + cold.draw(rng) / partitions.all()).min(rows.end - 1)
            }),
        }
    }
}

/// Fills `value` with printable characters that depend on `seed`. Only the first sixteen depend on it, so that it costs
/// little.
pub(super) fn write_value(value: &mut [u8], seed: u64) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    if value.first() == Some(&0) {
        value.fill(b'x');
    }
    for (position, byte) in value.iter_mut().take(16).enumerate() {
        *byte = DIGITS[(seed >> (4 * position) & 15) as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::tests::parse;

    fn options(line: &str) -> Result<Options, String> {
        parse::<Options>(line)?.validate()
    }

    fn generate(line: &str, transactions: usize) -> Vec<Vec<Operation>> {
        let mut client =
            Client::new(&options(line).expect("good options"), TableId(1), ClientIdentity::first_run(0, 42));
        (0..transactions).map(|_| client.generate().list().to_vec()).collect()
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        for (line, expected) in [
            ("--records 5 --ops 10", "at least as many rows"),
            ("--records 0", "0 is not in 1.."),
            ("--theta 7", "not within 0 and 5"),
            ("--theta -0.1", "not within 0 and 5"),
            ("--theta NaN", "not within 0 and 5"),
            ("--theta much", "expected a number from 0 to 5"),
            ("--read-ratio 1.5", "not within 0 and 1"),
            ("--hot-records 64 --theta 0.9", "cannot be used with"),
            ("--hot-records 64 --hot-ops 11", "more than --ops"),
            ("--hot-records 1 --hot-ops 2", "more than --hot-records"),
            ("--records 70 --hot-records 65", "leaves 5 of --records"),
            ("--read-only --rmw", "cannot be used with"),
            ("--fields 0", "0 is not in 1.."),
            ("--partitions 0", "0 is not in 1.."),
            ("--partitions-per-txn 0", "expected a number of partitions from 1, or random"),
            ("--partitions 2 --partitions-per-txn 3", "more than --partitions 2"),
            ("--partitions 20 --partitions-per-txn 11", "more than --ops 10"),
            ("--records 39 --partitions 4 --partitions-per-txn 1", "have 9 rows, fewer than --ops 10"),
            ("--partitions 4 --partitions-per-txn 1 --hot-records 7", "have 1 hot row, fewer than --hot-ops 2"),
            (
                "--records 40 --partitions 4 --partitions-per-txn 1 --hot-records 9",
                "leaves 7 rows of each of --partitions 4",
            ),
            ("--multi-partition 0.5", "needs --partitions-per-txn with a number"),
            ("--multi-partition 1.5", "not within 0 and 1"),
        ] {
            let error = options(line).expect_err(line);
            assert!(error.contains(expected), "{line}: {error}");
        }
    }

    #[test]
    fn the_keys_of_a_transaction_are_different_and_in_range() {
        for line in [
            "--records 10",
            "--records 11 --theta 5",
            "--records 1000 --theta 0.99",
            "--records 72 --hot-records 64",
            "--records 10 --hot-records 10 --hot-ops 10",
            "--records 100 --hot-records 3 --hot-ops 3 --hot-position random",
            "--records 43 --partitions 4 --partitions-per-txn 1",
            "--records 43 --partitions 4 --partitions-per-txn 3 --theta 5",
            "--records 49 --partitions 4 --partitions-per-txn 1 --hot-records 9",
            "--records 49 --partitions 4 --partitions-per-txn 3 --hot-records 9 --hot-position random",
        ] {
            let records = options(line).expect(line).records as i64;
            for operations in generate(line, 200) {
                let mut keys: Vec<_> = operations.iter().map(|operation| operation.key).collect();
                keys.sort_unstable();
                keys.dedup();
                assert_eq!(keys.len(), 10, "{line}: {operations:?}");
                assert!(keys[0] >= 0 && keys[9] < records, "{line}: {operations:?}");
            }
        }
    }

    #[test]
    fn hot_operations_stand_where_they_are_asked_for() {
        for (position, expected) in [("first", Some([0, 1])), ("last", Some([8, 9])), ("random", None)] {
            let line = format!("--records 100000 --hot-records 64 --hot-position {position}");
            let mut places = Vec::new();
            for operations in generate(&line, 100) {
                let hot: Vec<_> = (0..10).filter(|&at| operations[at].key < 64).collect();
                assert_eq!(hot.len(), 2, "{position}: {operations:?}");
                assert!(expected.is_none_or(|expected| hot == expected), "{position}: {hot:?}");
                places.push(hot);
            }
            places.sort();
            places.dedup();
            assert_eq!(places.len() == 1, expected.is_some(), "{position}");
        }
    }

    #[test]
    fn a_transaction_touches_as_many_partitions_as_asked() {
        for touched in 1..=4 {
            for operations in generate(&format!("--records 1000 --partitions 4 --partitions-per-txn {touched}"), 200) {
                let mut partitions: Vec<_> = operations.iter().map(|operation| operation.key % 4).collect();
                assert_eq!(partitions[0], 0, "worker 0 begins in its own");
                partitions.sort_unstable();
                partitions.dedup();
                assert_eq!(partitions.len(), touched, "{operations:?}");
            }
        }
        let keys = generate("--records 1003 --partitions 4 --partitions-per-txn 1", 2000).concat();
        let greatest = keys.iter().map(|operation| operation.key).max();
        assert_eq!(greatest, Some(1000), "every row of the partition is drawn");
    }

    #[test]
    fn hot_operations_are_in_the_partitions_that_a_transaction_touches() {
        for touched in 1..=2 {
            let line = format!("--records 1001 --partitions 4 --partitions-per-txn {touched} --hot-records 64");
            let mut hot_keys = Vec::new();
            for operations in generate(&line, 1000) {
                let mut partitions: Vec<_> = operations.iter().map(|operation| operation.key % 4).collect();
                assert_eq!(partitions[0], 0, "worker 0 begins in its own");
                assert_eq!(partitions[0] == partitions[1], touched == 1, "{operations:?}");
                partitions.sort_unstable();
                partitions.dedup();
                assert_eq!(partitions.len(), touched, "{operations:?}");
                let hot: Vec<_> = operations.iter().map(|operation| operation.key < 64).collect();
                assert!(hot[..2] == [true; 2] && hot[2..] == [false; 8], "{operations:?}");
                hot_keys.extend(operations[..2].iter().map(|operation| operation.key));
            }
            hot_keys.sort_unstable();
            hot_keys.dedup();
            assert_eq!(hot_keys.len(), if touched == 1 { 16 } else { 64 }, "every hot row is drawn");
        }
    }

    #[test]
    fn the_share_of_transactions_on_several_partitions_is_as_asked() {
        for (share, least, most) in [(0.0, 0, 0), (0.2, 170, 230), (1.0, 1000, 1000)] {
            let line = format!("--records 1000 --partitions 4 --partitions-per-txn 2 --multi-partition {share}");
            let mut several = 0;
            for operations in generate(&line, 1000) {
                let own = operations.iter().filter(|operation| operation.key % 4 == 0).count();
                assert!([5, 10].contains(&own), "half of the operations stay, or all: {operations:?}");
                several += usize::from(own == 5);
            }
            assert!((least..=most).contains(&several), "{share}: {several}");
        }
    }

    #[test]
    fn the_share_of_reads_is_as_asked() {
        for (line, least, most) in [("--read-only", 1.0, 1.0), ("--rmw", 0.0, 0.0), ("--read-ratio 0.8", 0.77, 0.83)] {
            let operations = generate(line, 1000).concat();
            let reads = operations.iter().filter(|operation| operation.intent == Intent::Read).count();
            let share = reads as f64 / operations.len() as f64;
            assert!((least..=most).contains(&share), "{line}: {share}");
        }
    }

    #[test]
    fn a_seed_makes_the_same_transactions_and_each_worker_its_own() {
        let options = options("--theta 0.9").expect("good options");
        let first = |worker, seed| {
            Client::new(&options, TableId(1), ClientIdentity::first_run(worker, seed)).generate().list().to_vec()
        };
        assert_eq!(first(0, 1), first(0, 1));
        assert_ne!(first(0, 1), first(1, 1));
        assert_ne!(first(0, 1), first(0, 2));
    }
}
