//! The options, and the next transaction of a client.

use super::procedures::Updates;
use super::schema::COUNTER_BYTES;
use crate::ClientIdentity;
use crate::distribution::different;
use crate::options::{parse_share, parse_within};
use fastrand::Rng;
use hotrow_storage::TableId;
use hotrow_txn::{Abort, Runner, number_of};
use std::fmt;

/// The greatest number of updates of a transaction.
const OPS_MAX: i64 = 1000;

/// The longest computation for a record, in microseconds: a second.
const WORK_US_MAX: f64 = 1e6;

/// The default computation of a long transaction for each record, in microseconds. The paper's text says milliseconds
/// where it must mean microseconds: ten such computations make its transactions three times as long.
const LONG_US: f64 = 10.0;

/// The command-line options of the microbenchmark.
#[derive(clap::Args, serde::Serialize, Clone, Debug)]
pub struct Options {
    /// Records, hot and cold, of all partitions
    #[arg(long, value_name = "N", default_value_t = 1_000_000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub records: u64,

    /// Bytes of a record without its key; the first 8 are its counter of updates
    #[arg(long, value_name = "BYTES", default_value_t = 64, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(i64::from(COUNTER_BYTES)..=1 << 20))]
    pub record_bytes: u32,

    /// Records that a transaction reads and updates, all different
    #[arg(long, value_name = "N", default_value_t = 10, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=OPS_MAX))]
    pub ops: u32,

    /// Hot records of each partition: the contention index is 1 over this
    #[arg(long, value_name = "N", default_value_t = 1000, allow_negative_numbers = true)]
    pub hot_records: u64,

    /// Updates of a transaction that go to hot records, in each partition that it touches; they come first
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub hot_ops: u32,

    /// Compute nothing for a record: the default
    #[arg(long, conflicts_with_all = ["long", "work_us"])]
    pub short: bool,

    /// Compute something for each record: the same as --work-us 10
    #[arg(long, conflicts_with = "work_us")]
    pub long: bool,

    /// Microseconds of computation for each record
    #[arg(long, value_name = "µs", allow_negative_numbers = true, value_parser = parse_work)]
    pub work_us: Option<f64>,

    /// Only lock the records, as for an update, to measure what locking alone costs
    #[arg(long, conflicts_with_all = ["short", "long", "work_us"])]
    pub lock_only: bool,

    /// Partitions: record k is in partition k modulo N, and the transactions of worker w begin in partition w modulo N
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub partitions: u32,

    /// The share of transactions that alternate between their worker's partition and another one; the others stay in
    /// their worker's partition
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, allow_negative_numbers = true, value_parser = parse_share)]
    pub multi_partition: f64,
}

fn parse_work(text: &str) -> Result<f64, String> {
    parse_within(text, WORK_US_MAX)
}

impl Options {
    /// Checks the options against each other.
    pub(super) fn validate(self) -> Result<Self, String> {
        let Options { records, ops, hot_records, hot_ops, partitions, multi_partition, .. } = self;
        if hot_ops > ops {
            return Err(format!("--hot-ops {hot_ops} is more than --ops {ops}"));
        }
        if multi_partition > 0.0 && u64::from(ops) < 2 * u64::from(hot_ops).max(1) {
            return Err(format!("--ops {ops} are too few for --hot-ops {hot_ops} in each of two partitions"));
        }
        if u64::from(hot_ops) > hot_records {
            return Err(format!("--hot-ops {hot_ops} is more than --hot-records {hot_records}"));
        }
        if multi_partition > 0.0 && partitions < 2 {
            return Err("--multi-partition needs --partitions 2 or more".to_owned());
        }
        let cold = (records / u64::from(partitions)).checked_sub(hot_records);
        match cold {
            Some(cold) if cold >= u64::from(ops - hot_ops) => Ok(self),
            _ => Err(format!(
                "--records {records} in {} are too few for --hot-records {hot_records} and {} cold ones in each: at \
                 least {} are needed",
                number_of(partitions, "partition"),
                ops - hot_ops,
                hot_records.saturating_add(u64::from(ops - hot_ops)).saturating_mul(u64::from(partitions)),
            )),
        }
    }

    /// Returns the microseconds of computation for each record.
    pub(super) fn work_us(&self) -> f64 {
        self.work_us.unwrap_or(if self.long { LONG_US } else { 0.0 })
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { records, record_bytes, ops, hot_records, hot_ops, partitions, .. } = self;
        write!(
            f,
            "{} of {}, {}, {hot_ops} of them on {}",
            number_of(*records, "record"),
            number_of(*record_bytes, "byte"),
            number_of(*ops, "update"),
            number_of(*hot_records, "hot record")
        )?;
        match self.work_us() {
            _ if self.lock_only => f.write_str(", only locked")?,
            0.0 => {}
            us => write!(f, ", {us} µs of computation each")?,
        }
        if *partitions > 1 {
            write!(f, ", {partitions} partitions, {:.0} % across two", self.multi_partition * 100.0)?;
        }
        Ok(())
    }
}

/// Generates and runs the transactions of one worker, and counts the effects of those that committed.
#[derive(Debug)]
pub struct Client {
    generator: Generator,
    next: Updates,
    increments: u64,
    checksum: u64,
}

impl Client {
    pub(super) fn new(options: &Options, table: TableId, rounds: u64, identity: ClientIdentity) -> Self {
        Self {
            generator: Generator::new(options, identity),
            next: Updates::new(table, options.lock_only, options.record_bytes > COUNTER_BYTES, rounds),
            increments: 0,
            checksum: 0,
        }
    }

    /// Draws the next transaction.
    #[inline]
    pub fn generate(&mut self) -> &Updates {
        self.generator.fill(&mut self.next);
        &self.next
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
        self.increments += self.next.increments();
        self.checksum = self.checksum.wrapping_add(checksum);
        Ok(())
    }
}

/// Draws the records that transactions update.
#[derive(Debug)]
struct Generator {
    rng: Rng,
    records: u64,
    ops: u32,
    hot_records: u64,
    hot_ops: u32,
    partitions: u64,
    /// The partition in which the worker's transactions begin.
    home: u64,
    multi_partition: f64,
}

impl Generator {
    fn new(options: &Options, identity: ClientIdentity) -> Self {
        Self {
            rng: identity.rng(),
            records: options.records,
            ops: options.ops,
            hot_records: options.hot_records,
            hot_ops: options.hot_ops,
            partitions: u64::from(options.partitions),
            home: u64::from(identity.worker % options.partitions),
            multi_partition: options.multi_partition,
        }
    }

    fn fill(&mut self, next: &mut Updates) {
        next.clear();
        let partitions = self.draw_partitions();
        let hot_ops = if partitions[0] == partitions[1] { self.hot_ops } else { 2 * self.hot_ops };
        for position in 0..self.ops {
            let partition = partitions[position as usize % partitions.len()];
            // The records of a partition, counted from zero: first the hot ones, then the cold ones.
            let records = (self.records - partition).div_ceil(self.partitions);
            let places = if position < hot_ops { 0..self.hot_records } else { self.hot_records..records };
            let key = |place: u64| partition + place * self.partitions;
            let place = different(|place| next.has(key(place)), places.clone(), || self.rng.u64(places.clone()));
            next.push(key(place));
        }
    }

    /// Draws the two partitions between which the transaction alternates. Usually both are the same.
    #[inline]
    fn draw_partitions(&mut self) -> [u64; 2] {
        if self.multi_partition == 0.0 || self.rng.f64() >= self.multi_partition {
            return [self.home; 2];
        }
        let distance = self.rng.u64(1..self.partitions);
        [self.home, (self.home + distance) % self.partitions]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::tests::parse;

    fn options(line: &str) -> Result<Options, String> {
        parse::<Options>(line)?.validate()
    }

    fn generate(line: &str, transactions: usize) -> Vec<Vec<i64>> {
        generate_at(0, line, transactions)
    }

    fn generate_at(worker: u32, line: &str, transactions: usize) -> Vec<Vec<i64>> {
        let options = options(line).expect("good options");
        let mut client = Client::new(&options, TableId(1), 0, ClientIdentity::first_run(worker, 42));
        (0..transactions).map(|_| client.generate().keys().to_vec()).collect()
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        for (line, expected) in [
            ("--short --long", "cannot be used with"),
            ("--lock-only --long", "cannot be used with"),
            ("--short --work-us 5", "cannot be used with"),
            ("--work-us 1e7", "not within 0 and 1000000"),
            ("--work-us NaN", "not within 0 and 1000000"),
            ("--hot-ops 11", "--hot-ops 11 is more than --ops 10"),
            ("--hot-records 1 --hot-ops 2", "--hot-ops 2 is more than --hot-records 1"),
            ("--partitions 2 --multi-partition 0.1 --hot-ops 6", "--ops 10 are too few for --hot-ops 6 in each of two"),
            ("--partitions 2 --multi-partition 0.1 --hot-ops 0 --ops 1", "--ops 1 are too few"),
            ("--multi-partition 0.1", "--multi-partition needs --partitions 2 or more"),
            ("--multi-partition 1.1 --partitions 2", "not within 0 and 1"),
            ("--records 1000", "at least 1009 are needed"),
            ("--records 4000 --partitions 4", "at least 4036 are needed"),
            ("--record-bytes 7", "7 is not in 8.."),
            ("--partitions 0", "0 is not in 1.."),
        ] {
            let error = options(line).expect_err(line);
            assert!(error.contains(expected), "{line}: {error}");
        }
        for (line, expected) in [("", 0.0), ("--short", 0.0), ("--long", LONG_US), ("--work-us 2.5", 2.5)] {
            assert_eq!(options(line).expect("good options").work_us(), expected, "{line}");
        }
    }

    #[test]
    fn the_hot_records_come_first_and_all_are_different() {
        for (line, hot_ops, hot_records) in [
            ("--hot-records 1", 1, 1),
            ("--records 100 --hot-records 3 --hot-ops 3", 3, 3),
            ("--records 12 --hot-records 3 --hot-ops 1", 1, 3),
            ("--hot-records 0 --hot-ops 0", 0, 0),
        ] {
            for keys in generate(line, 200) {
                let hot = keys.iter().map(|&key| key < hot_records).collect::<Vec<_>>();
                assert_eq!(hot, (0..10).map(|position| position < hot_ops).collect::<Vec<_>>(), "{line}: {keys:?}");
                let mut sorted = keys.clone();
                sorted.sort_unstable();
                sorted.dedup();
                assert_eq!(sorted.len(), 10, "{line}: {keys:?}");
            }
        }
    }

    #[test]
    fn two_transactions_meet_as_often_as_the_contention_index_says() {
        const TRANSACTIONS: usize = 40_000;
        for hot_records in [1, 10, 100] {
            let transactions = generate(&format!("--hot-records {hot_records}"), TRANSACTIONS);
            let met = transactions.chunks(2).filter(|pair| pair[0][0] == pair[1][0]).count() as f64;
            let expected = TRANSACTIONS as f64 / 2.0 / f64::from(hot_records);
            assert!((met - expected).abs() <= 5.0 * expected.sqrt(), "{hot_records} hot: {met}, {expected} expected");
        }
    }

    #[test]
    fn transactions_stay_in_their_workers_partition_or_take_turns_with_another() {
        const TRANSACTIONS: usize = 10_000;
        for (worker, share, partitions) in [(0, 0.0, 3), (1, 0.2, 3), (5, 0.2, 3), (1, 1.0, 2)] {
            let line = format!("--records 90001 --partitions {partitions} --multi-partition {share}");
            let mut visits = vec![0_usize; partitions as usize];
            for keys in generate_at(worker, &line, TRANSACTIONS) {
                let of: Vec<_> = keys.iter().map(|key| key % partitions).collect();
                assert!(of.iter().enumerate().all(|(position, &partition)| partition == of[position % 2]), "{of:?}");
                assert_eq!(of[0], i64::from(worker) % partitions, "{line}, worker {worker}");
                let hot = if of[0] == of[1] { 1 } else { 2 };
                let is_hot = |key: &i64| key / partitions < 1000;
                assert!(keys[..hot].iter().all(is_hot) && !keys[hot..].iter().any(is_hot), "{keys:?}");
                assert!(keys.iter().all(|&key| key < 90_001), "{keys:?}");
                visits[of[1] as usize] += 1;
            }
            let home = visits[worker as usize % visits.len()];
            let expected = |share: f64, count: usize| {
                let wanted = share * TRANSACTIONS as f64;
                assert!((count as f64 - wanted).abs() <= 5.0 * wanted.sqrt() * (1.0 - share), "{line}: {visits:?}");
            };
            expected(share, TRANSACTIONS - home);
            let others = visits.len() - 1;
            let visited =
                visits.iter().enumerate().filter(|&(partition, _)| partition != worker as usize % visits.len());
            visited.for_each(|(_, &count)| expected(share / others as f64, count));
        }
    }
}
