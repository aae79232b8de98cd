//! The options, and the next transaction of a client.

use super::load::{BLOCKS, block, block_of, loaded_sum};
use super::procedures::{LongRead, Operations};
use crate::ClientIdentity;
use crate::distribution::different;
use crate::options::parse_share;
use fastrand::Rng;
use hotrow_storage::TableId;
use hotrow_txn::{Abort, Isolation, Runner, number_of};
use serde::Serializer;
use std::fmt;

/// The greatest number of reads of a short transaction, and of its writes.
const OPS_MAX: i64 = 1000;

/// The greatest amount that one write moves.
const MOVED_MAX: i64 = 100;

/// The command-line options of the Hekaton paper's workload.
#[derive(clap::Args, serde::Serialize, Clone, Debug)]
pub struct Options {
    /// Rows of the table, of 24 bytes each
    #[arg(long, value_name = "N", default_value_t = 1_000_000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(BLOCKS..=1 << 40))]
    pub rows: u64,

    /// Rows that a short transaction reads
    #[arg(long, value_name = "R", default_value_t = 10, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=OPS_MAX))]
    pub reads: u32,

    /// Further rows that an update transaction writes, different from the rows that it reads
    #[arg(long, value_name = "W", default_value_t = 2, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=OPS_MAX))]
    pub writes: u32,

    /// The share of short transactions that only read
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, allow_negative_numbers = true, value_parser = parse_share)]
    pub read_only_share: f64,

    /// Workers that only run long transactions, each of which reads 10 % of the table
    #[arg(long, value_name = "X", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=4096))]
    pub long_readers: u32,

    /// Isolation level of the long transactions, whatever that of the short ones [default: serializable]
    #[arg(long, value_name = "LEVEL")]
    #[serde(serialize_with = "serialize_long_isolation")]
    pub long_isolation: Option<Isolation>,
}

/// The default level of long transactions, which is the paper's.
const LONG_ISOLATION: Isolation = Isolation::Serializable;

fn serialize_long_isolation<S: Serializer>(level: &Option<Isolation>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(level.unwrap_or(LONG_ISOLATION).name())
}

/// The names of the kinds of transactions.
pub(super) const KINDS: [&str; 3] = ["update", "read-only", "long-read"];

const UPDATE: usize = 0;
const READ_ONLY: usize = 1;
const LONG_READ: usize = 2;

impl Options {
    /// Returns the isolation level of long transactions.
    pub(super) fn long_isolation(&self) -> Isolation {
        self.long_isolation.unwrap_or(LONG_ISOLATION)
    }

    /// Checks the options against each other.
    pub(super) fn validate(self) -> Result<Self, String> {
        let Options { rows, reads, writes, long_readers, long_isolation, .. } = self;
        if reads == 0 && writes == 0 {
            return Err("--reads 0 and --writes 0 leave nothing to do".to_owned());
        }
        if let (0, Some(level)) = (long_readers, long_isolation) {
            return Err(format!("--long-isolation {level} means nothing without --long-readers"));
        }
        if long_readers > 0 && writes == 1 {
            return Err("--long-readers need --writes 2 or more (or 0): one row's amount cannot be moved to another, \
                        and there would be nothing for a long reader to get wrong"
                .to_owned());
        }
        // The writes of a transaction lie in one block, and its reads may lie there, too.
        let needed = u64::from(reads + writes) * BLOCKS;
        if rows < needed {
            return Err(format!(
                "--rows {rows} are too few for {} and {} of different rows within a tenth of the table: at least \
                 {needed} are needed",
                number_of(reads, "read"),
                number_of(writes, "write")
            ));
        }
        Ok(self)
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { rows, reads, writes, read_only_share, long_readers, .. } = self;
        let (rows, reads, writes) = (number_of(*rows, "row"), number_of(*reads, "read"), number_of(*writes, "write"));
        write!(f, "{rows}, {reads} and {writes}, {:.0} % read-only", read_only_share * 100.0)?;
        match long_readers {
            0 => Ok(()),
            &readers => write!(f, ", {} at {}", number_of(readers, "long reader"), self.long_isolation()),
        }
    }
}

/// Generates and runs the transactions of one worker, and counts the effects of those that committed.
#[derive(Debug)]
pub struct Client {
    table: TableId,
    rng: Rng,
    rows: u64,
    reads: u32,
    writes: u32,
    read_only_share: f64,
    is_long_reader: bool,
    long_isolation: Isolation,
    next: Operations,
    written: u64,
    long_reads: u64,
    torn_reads: u64,
    checksum: u64,
}

impl Client {
    pub(super) fn new(options: &Options, table: TableId, identity: ClientIdentity) -> Self {
        Self {
            table,
            rng: identity.rng(),
            rows: options.rows,
            reads: options.reads,
            writes: options.writes,
            read_only_share: options.read_only_share,
            is_long_reader: identity.worker < options.long_readers,
            long_isolation: options.long_isolation(),
            next: Operations::new(table),
            written: 0,
            long_reads: 0,
            torn_reads: 0,
            checksum: 0,
        }
    }

    /// Draws the next short transaction.
    pub fn generate(&mut self) -> &Operations {
        let is_read_only = self.read_only_share > 0.0 && self.rng.f64() < self.read_only_share;
        self.next.clear();
        if !is_read_only {
            self.draw_writes();
        }
        for _ in 0..self.reads {
            let key = different(|key| self.next.has(key), 0..self.rows, || self.rng.u64(..self.rows));
            self.next.push_read(key);
        }
        &self.next
    }

    /// Draws rows of one block, and amounts that add up to zero.
    fn draw_writes(&mut self) {
        let mut moved = 0;
        let mut keys = 0..self.rows;
        for left in (0..self.writes).rev() {
            let key = different(|key| self.next.has(key), keys.clone(), || self.rng.u64(keys.clone()));
            keys = block(self.rows, block_of(self.rows, key));
            let amount = if left == 0 { -moved } else { self.rng.i64(1..=MOVED_MAX) };
            moved += amount;
            self.next.push_write(key, amount);
        }
    }

    /// Returns the number of writes of the committed transactions.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns the number of committed long reads.
    pub fn long_reads(&self) -> u64 {
        self.long_reads
    }

    /// Returns the number of committed long reads that saw a sum that never existed.
    pub fn torn_reads(&self) -> u64 {
        self.torn_reads
    }

    fn long_read<R: Runner>(&mut self, runner: &mut R) -> Result<(), Abort> {
        let number = self.rng.u64(..BLOCKS);
        let sum = runner.run(&LongRead::new(self.table, &block(self.rows, number), self.long_isolation))?;
        let is_whole = sum == loaded_sum(self.rows, number);
        self.long_reads += 1;
        self.torn_reads += u64::from(!is_whole);
        runner.note(LONG_READ, is_whole);
        Ok(())
    }
}

impl crate::Client for Client {
    fn step<R: Runner>(&mut self, runner: &mut R) -> Result<(), Abort> {
        if self.is_long_reader {
            return self.long_read(runner);
        }
        let checksum = runner.run(self.generate())?;
        self.checksum = self.checksum.wrapping_add(checksum);
        let writes = self.next.writes().len() as u64;
        self.written += writes;
        runner.note(if writes > 0 { UPDATE } else { READ_ONLY }, true);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::tests::parse;

    fn options(line: &str) -> Result<Options, String> {
        parse::<Options>(line)?.validate()
    }

    fn generate(line: &str, transactions: usize) -> Vec<Operations> {
        let options = options(line).expect("good options");
        let mut client = Client::new(&options, TableId(1), ClientIdentity::first_run(0, 42));
        (0..transactions).map(|_| client.generate().clone()).collect()
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        for (line, expected) in [
            ("--reads 0 --writes 0", "leave nothing to do"),
            ("--long-isolation snapshot", "--long-isolation snapshot means nothing without --long-readers"),
            ("--long-readers 1 --long-isolation si", "expected one of read committed, repeatable read"),
            ("--long-readers 1 --writes 1", "--long-readers need --writes 2 or more"),
            ("--rows 119", "at least 120 are needed"),
            ("--rows 9 --reads 0", "9 is not in 10.."),
            ("--read-only-share 1.5", "not within 0 and 1"),
            ("--long-readers -1", "-1 is not in 0.."),
            ("--writes 1001", "1001 is not in 0..=1000"),
        ] {
            let error = options(line).expect_err(line);
            assert!(error.contains(expected), "{line}: {error}");
        }
    }

    #[test]
    fn rows_are_different_and_writes_lie_in_a_block_and_move_what_they_add() {
        for (line, rows, reads, writes) in [
            ("", 1_000_000, 10, 2),
            ("--rows 120", 120, 10, 2),
            ("--rows 1007 --reads 3 --writes 5", 1007, 3, 5),
            ("--reads 0 --writes 1", 1_000_000, 0, 1),
        ] {
            for operations in generate(line, 500) {
                assert_eq!((operations.reads().len(), operations.writes().len()), (reads, writes), "{line}");
                let written = operations.writes().iter().map(|write| write.0);
                let mut keys: Vec<_> = operations.reads().iter().copied().chain(written.clone()).collect();
                keys.sort_unstable();
                keys.dedup();
                assert_eq!(keys.len(), reads + writes, "{line}: {operations:?}");
                assert!(keys[0] >= 0 && keys[keys.len() - 1] < rows, "{line}: {operations:?}");
                let mut blocks: Vec<_> = written.map(|key| block_of(rows as u64, key as u64)).collect();
                blocks.dedup();
                assert_eq!(blocks.len(), 1, "{line}: {operations:?}");
                assert_eq!(operations.writes().iter().map(|write| write.1).sum::<i64>(), 0, "{line}");
                assert!(writes == 1 || operations.writes().iter().all(|write| write.1 != 0), "{operations:?}");
            }
        }
    }

    #[test]
    fn every_row_is_as_likely_to_be_written_as_any_other() {
        const TRANSACTIONS: usize = 60_000;
        let mut counts = [0_u32; 125];
        for operations in generate("--rows 125 --reads 1", TRANSACTIONS) {
            operations.writes().iter().for_each(|&(key, _)| counts[key as usize] += 1);
        }
        let expected = 2.0 * TRANSACTIONS as f64 / 125.0;
        for (key, &count) in counts.iter().enumerate() {
            assert!(
                (f64::from(count) - expected).abs() < 6.0 * expected.sqrt(),
                "row {key}: {count}, {expected} expected"
            );
        }
    }

    #[test]
    fn the_share_of_read_only_transactions_is_as_asked() {
        for (share, least, most) in [(0.0, 0, 0), (0.5, 4_700, 5_300), (1.0, 10_000, 10_000)] {
            let operations = generate(&format!("--read-only-share {share}"), 10_000);
            let read_only = operations.iter().filter(|operations| operations.writes().is_empty()).count();
            assert!((least..=most).contains(&read_only), "{share}: {read_only}");
        }
    }
}
