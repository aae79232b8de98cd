//! The options, and the next transaction.

use super::{Grants, Request};
use crate::Violation;
use crate::computation::compute;
use crate::options::{parse_share, parse_within};
use fastrand::Rng;
use hotrow_txn::{Abort, Runner};
use std::fmt;
use std::time::Duration;

/// The longest computation and the longest delay, in microseconds: a second.
const MICROSECONDS_MAX: f64 = 1e6;

/// The default computation of a long transaction, in microseconds.
const LONG_US: f64 = 10.0;

/// The command-line options of the range-lock benchmark.
#[derive(clap::Args, serde::Serialize, Clone, Debug)]
pub struct Options {
    /// Bits of a key
    #[arg(long, value_name = "N", default_value_t = 32, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=64))]
    pub key_bits: u32,

    /// Bits that the first and the last key of a range have in common
    #[arg(long, value_name = "N", default_value_t = 15, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=64))]
    pub prefix_bits: u32,

    /// Draw the ends of a range among all keys that agree in one bit less than --prefix-bits; on average, they agree in
    /// --prefix-bits
    #[arg(long)]
    pub random_ends: bool,

    /// The share of transactions that lock their range shared; the others lock it exclusively
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, allow_negative_numbers = true, value_parser = parse_share)]
    pub shared: f64,

    /// The share of transactions that wait with their locks, as if for another partition
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, allow_negative_numbers = true, value_parser = parse_share)]
    pub delayed: f64,

    /// Microseconds that a delayed transaction waits
    #[arg(long, value_name = "µs", default_value_t = 100.0, allow_negative_numbers = true, value_parser = parse_us)]
    pub delay_us: f64,

    /// Compute nothing for a range: the default
    #[arg(long, conflicts_with_all = ["long", "work_us"])]
    pub short: bool,

    /// Compute something for each range: the same as --work-us 10
    #[arg(long, conflicts_with = "work_us")]
    pub long: bool,

    /// Microseconds of computation for each range
    #[arg(long, value_name = "µs", allow_negative_numbers = true, value_parser = parse_us)]
    pub work_us: Option<f64>,

    /// Difference in bits between the lengths of prefixes that can be locked: a power of two. It is 1 in the paper
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = parse_level)]
    pub bits_per_level: u32,

    /// The most prefixes that are locked for a range: one is the longest prefix that all keys have in common; more of
    /// them cover exactly the range, if they can
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    pub prefixes: u32,
}

fn parse_us(text: &str) -> Result<f64, String> {
    parse_within(text, MICROSECONDS_MAX)
}

fn parse_level(text: &str) -> Result<u32, String> {
    let bits = text.parse().ok().filter(|bits: &u32| bits.is_power_of_two() && *bits <= 64);
    bits.ok_or_else(|| "expected 1, 2, 4, 8, 16, 32 or 64".to_owned())
}

impl Options {
    /// Checks the options against each other.
    pub(super) fn validate(self) -> Result<Self, String> {
        let Options { key_bits, prefix_bits, random_ends, .. } = self;
        if prefix_bits > key_bits {
            return Err(format!(
                "ranges have --prefix-bits {prefix_bits} in common: --key-bits {key_bits} are too few"
            ));
        }
        if random_ends && prefix_bits == 0 {
            return Err("--random-ends needs --prefix-bits 1 or more".to_owned());
        }
        Ok(self)
    }

    /// Returns the microseconds of computation for each range.
    pub(super) fn work_us(&self) -> f64 {
        self.work_us.unwrap_or(if self.long { LONG_US } else { 0.0 })
    }

    /// Returns the time that a delayed transaction waits.
    pub fn delay(&self) -> Duration {
        Duration::from_secs_f64(self.delay_us / 1e6)
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { key_bits, prefix_bits, shared, delayed, delay_us, .. } = self;
        let average = if self.random_ends { " on average" } else { "" };
        write!(f, "ranges of {key_bits}-bit keys with {prefix_bits} bits in common{average}")?;
        if *shared > 0.0 {
            write!(f, ", {:.0} % shared", shared * 100.0)?;
        }
        if *delayed > 0.0 {
            write!(f, ", {:.0} % wait for {delay_us} µs", delayed * 100.0)?;
        }
        match self.work_us() {
            0.0 => Ok(()),
            us => write!(f, ", {us} µs of computation each"),
        }
    }
}

/// Generates the requests of transactions, and records the ranges that are held.
#[derive(Debug)]
pub struct Client {
    rng: Rng,
    options: Options,
    rounds: u64,
    checksum: u64,
    /// The ranges that are held at present.
    pub grants: Grants,
}

impl Client {
    pub(super) fn new(options: &Options, rounds: u64, rng: Rng) -> Self {
        Self { rng, options: options.clone(), rounds, checksum: 0, grants: Grants::default() }
    }

    /// Returns the options of the benchmark.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Draws the request of the next transaction.
    #[inline]
    pub fn generate(&mut self) -> Request {
        let Options { key_bits, prefix_bits, random_ends, shared, delayed, .. } = self.options;
        let common = if random_ends { prefix_bits - 1 } else { prefix_bits };
        let free = key_bits - common;
        let low = |of: u64, count: u32| of & u64::MAX.checked_shr(u64::BITS - count).unwrap_or(0);
        let top = low(self.rng.u64(..), common).checked_shl(free).unwrap_or(0);
        let (mut first, mut last) = (top | low(self.rng.u64(..), free), top | low(self.rng.u64(..), free));
        if !random_ends && free > 0 {
            // The bit below the common ones.
            let differs = 1 << (free - 1);
            (first, last) = (first & !differs, last | differs);
        }
        (first, last) = (first.min(last), first.max(last));
        let exclusive = !self.one_of(shared);
        let is_delayed = self.one_of(delayed);
        Request { first, last, exclusive, is_delayed }
    }

    /// Does the computation of one transaction, for the time that the options ask for.
    #[inline]
    pub fn compute(&mut self) {
        if self.rounds > 0 {
            self.checksum = compute(self.rounds, self.checksum);
        }
    }

    fn one_of(&mut self, share: f64) -> bool {
        share > 0.0 && self.rng.f64() < share
    }

    pub(super) fn check(&self) -> Result<(), Violation> {
        self.grants.check()
    }
}

impl crate::Client for Client {
    /// Fails, since an engine has nothing to do: see [`RUNS_ON_ENGINES`](crate::Workload::RUNS_ON_ENGINES).
    fn step<R: Runner>(&mut self, _runner: &mut R) -> Result<(), Abort> {
        Err(Abort::User)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::tests::parse;

    fn options(line: &str) -> Result<Options, String> {
        parse::<Options>(line)?.validate()
    }

    fn client(line: &str) -> Client {
        Client::new(&options(line).expect("good options"), 0, Rng::with_seed(7))
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        for (line, expected) in [
            ("--key-bits 0", "0 is not in 1..=64"),
            ("--key-bits 65", "65 is not in 1..=64"),
            ("--prefix-bits 33", "ranges have --prefix-bits 33 in common: --key-bits 32 are too few"),
            ("--prefix-bits 0 --random-ends", "--random-ends needs --prefix-bits 1 or more"),
            ("--short --long", "cannot be used with"),
            ("--delay-us -1", "not within 0 and 1000000"),
            ("--delayed 2", "not within 0 and 1"),
            ("--bits-per-level 3", "expected 1, 2, 4, 8, 16, 32 or 64"),
            ("--bits-per-level 128", "expected 1, 2, 4, 8, 16, 32 or 64"),
            ("--prefixes 0", "0 is not in 1.."),
        ] {
            let error = options(line).expect_err(line);
            assert!(error.contains(expected), "{line}: {error}");
        }
        assert_eq!(options("--delay-us 500").expect("good options").delay(), Duration::from_micros(500));
        assert_eq!(options("--long").expect("good options").work_us(), LONG_US);
    }

    #[test]
    fn the_ends_of_a_range_have_as_many_bits_in_common_as_asked_for() {
        for (line, key_bits, expected) in [
            ("", 32, 15),
            ("--key-bits 16 --prefix-bits 16", 16, 16),
            ("--key-bits 16 --prefix-bits 7", 16, 7),
            ("--key-bits 64 --prefix-bits 0", 64, 0),
            ("--key-bits 64 --prefix-bits 64", 64, 64),
            ("--key-bits 64 --prefix-bits 63", 64, 63),
            ("--key-bits 1 --prefix-bits 0", 1, 0),
        ] {
            let mut client = client(line);
            for _ in 0..1000 {
                let Request { first, last, exclusive, is_delayed } = client.generate();
                assert!(first <= last && exclusive && !is_delayed, "{line}: {first} to {last}");
                assert!(key_bits == 64 || last < 1 << key_bits, "{line}: {last}");
                let common = (first ^ last).leading_zeros() - (64 - key_bits);
                assert_eq!(common, expected, "{line}: {first:b} and {last:b}");
            }
        }
    }

    #[test]
    fn random_ends_have_as_many_bits_in_common_on_average() {
        const RANGES: u32 = 20_000;
        for (line, least) in [("--prefix-bits 15", 14), ("--prefix-bits 1", 0)] {
            let mut client = client(&format!("--random-ends {line}"));
            let mut common = || {
                let Request { first, last, .. } = client.generate();
                assert!(first <= last, "{line}: {first} to {last}");
                (first ^ last).leading_zeros() - 32
            };
            let found: Vec<_> = (0..RANGES).map(|_| common()).collect();
            assert_eq!(found.iter().min(), Some(&least), "{line}");
            let average = f64::from(found.iter().sum::<u32>()) / f64::from(RANGES);
            assert!((average - f64::from(least + 1)).abs() < 0.1, "{line}: {average}");
        }
    }

    #[test]
    fn shares_are_those_that_were_asked_for() {
        const TRANSACTIONS: usize = 20_000;
        let mut client = client("--shared 0.25 --delayed 0.5");
        let requests: Vec<_> = (0..TRANSACTIONS).map(|_| client.generate()).collect();
        let count = |is: fn(&Request) -> bool| requests.iter().filter(|request| is(request)).count() as f64;
        for (found, expected) in
            [(count(|request| !request.exclusive), 0.25), (count(|request| request.is_delayed), 0.5)]
        {
            let expected = expected * TRANSACTIONS as f64;
            assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{found}, {expected} expected");
        }
    }
}
