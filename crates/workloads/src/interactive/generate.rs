//! The options, and the next transaction of a client.

use super::procedures::Operations;
use crate::ClientIdentity;
use crate::distribution::{Distribution, THETA_MAX, different};
use crate::options::parse_within;
use fastrand::Rng;
use hotrow_storage::TableId;
use hotrow_txn::{Abort, Runner, number_of};
use std::fmt;

/// The greatest number of reads of a transaction, and of its writes.
const OPS_MAX: i64 = 1000;

/// The command-line options of the interactive paper's micro benchmark.
#[derive(clap::Args, serde::Serialize, Clone, Debug)]
pub struct Options {
    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = 1_000_000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub records: u64,

    /// Rows that a transaction reads
    #[arg(long, value_name = "N", default_value_t = 5, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=OPS_MAX))]
    pub reads: u32,

    /// Further rows that a transaction writes after its reads
    #[arg(long, value_name = "M", default_value_t = 5, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=OPS_MAX))]
    pub writes: u32,

    /// Exponent of the Zipfian distribution of keys; 0 is uniform
    #[arg(long, value_name = "THETA", default_value_t = 0.6, allow_negative_numbers = true, value_parser = parse_theta)]
    pub theta: f64,
}

fn parse_theta(text: &str) -> Result<f64, String> {
    parse_within(text, THETA_MAX)
}

impl Options {
    /// Checks the options against each other.
    pub(super) fn validate(self) -> Result<Self, String> {
        let Options { records, reads, writes, .. } = self;
        if reads == 0 && writes == 0 {
            return Err("--reads 0 and --writes 0 leave nothing to do".to_owned());
        }
        if u64::from(reads + writes) > records {
            return Err(format!(
                "--reads {reads} and --writes {writes} of different rows need at least as many rows, but --records is \
                 {records}"
            ));
        }
        Ok(self)
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { records, reads, writes, theta } = self;
        let (rows, reads, writes) =
            (number_of(*records, "row"), number_of(*reads, "read"), number_of(*writes, "write"));
        write!(f, "{rows}, {reads} and {writes}, ")?;
        if *theta == 0.0 { f.write_str("uniform") } else { write!(f, "Zipf {theta}") }
    }
}

/// Generates and runs the transactions of one worker, and counts the effects of those that committed.
#[derive(Debug)]
pub struct Client {
    rng: Rng,
    records: u64,
    operations: u32,
    keys: Distribution,
    next: Operations,
    written: u64,
    checksum: u64,
}

impl Client {
    pub(super) fn new(options: &Options, table: TableId, identity: ClientIdentity) -> Self {
        Self {
            rng: identity.rng(),
            records: options.records,
            operations: options.reads + options.writes,
            keys: Distribution::new(options.records, options.theta),
            next: Operations::new(table, options.reads),
            written: 0,
            checksum: 0,
        }
    }

    /// Draws the next transaction.
    pub fn generate(&mut self) -> &Operations {
        self.next.clear();
        for _ in 0..self.operations {
            let key = different(|key| self.next.has(key), 0..self.records, || self.keys.draw(&mut self.rng));
            self.next.push(key);
        }
        &self.next
    }

    /// Returns the transaction that was drawn last.
    pub fn next(&self) -> &Operations {
        &self.next
    }

    /// Records that the transaction that was drawn last has committed. `checksum` is that of the values that it read.
    pub fn committed(&mut self, checksum: u64) {
        self.written += self.next.writes().len() as u64;
        self.checksum = self.checksum.wrapping_add(checksum);
    }

    /// Returns the number of writes of the committed transactions.
    pub fn written(&self) -> u64 {
        self.written
    }
}

impl crate::Client for Client {
    fn step<R: Runner>(&mut self, runner: &mut R) -> Result<(), Abort> {
        let checksum = runner.run(self.generate())?;
        self.committed(checksum);
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

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        for (line, expected) in [
            ("--reads 0 --writes 0", "leave nothing to do"),
            (
                "--records 9",
                "--reads 5 and --writes 5 of different rows need at least as many rows, but --records is 9",
            ),
            ("--records 0", "0 is not in 1.."),
            ("--writes 1001", "1001 is not in 0..=1000"),
            ("--theta -0.1", "not within 0 and 5"),
        ] {
            let error = options(line).expect_err(line);
            assert!(error.contains(expected), "{line}: {error}");
        }
        let summary = |line| options(line).expect("good options").to_string();
        assert_eq!(summary(""), "1000000 rows, 5 reads and 5 writes, Zipf 0.6");
        assert_eq!(summary("--reads 10 --writes 0 --theta 0"), "1000000 rows, 10 reads and 0 writes, uniform");
    }

    #[test]
    fn rows_are_different_and_popular_ones_come_more_often() {
        for (line, reads, writes) in [
            ("--records 100", 5, 5),
            ("--records 3 --reads 0 --writes 3", 0, 3),
            ("--records 50 --reads 50 --writes 0", 50, 0),
        ] {
            let options = options(line).expect("good options");
            let mut client = Client::new(&options, TableId(1), ClientIdentity::first_run(0, 42));
            let (mut first, mut last) = (0, 0);
            for _ in 0..2000 {
                let operations = client.generate();
                assert_eq!((operations.reads().len(), operations.writes().len()), (reads, writes), "{line}");
                let mut keys: Vec<_> = operations.reads().iter().chain(operations.writes()).copied().collect();
                first += usize::from(keys.contains(&0));
                last += usize::from(keys.contains(&(options.records as i64 - 1)));
                keys.sort_unstable();
                keys.dedup();
                assert_eq!(keys.len(), reads + writes, "{line}: {operations:?}");
                assert!(keys[0] >= 0 && keys[keys.len() - 1] < options.records as i64, "{line}: {operations:?}");
            }
            let all = reads + writes == options.records as usize;
            assert!(if all { first == last } else { first > 4 * last }, "{line}: {first} and {last}");
        }
    }
}
