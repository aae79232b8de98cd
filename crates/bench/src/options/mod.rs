//! The options of a run: what is run, for how long, on which threads, and what is reported.
//!
//! | file | what it holds |
//! | --- | --- |
//! | this one | the options that every workload has |
//! | `names.rs` | the names that `--engine` and `--manager` take |
//! | `wire.rs` | the options of runs over the network |
//!
//! Options are checked one by one here. Whether they go together, and with the workload and its engines, is for the
//! command to say, before anything is run.

pub(crate) mod names;
mod wire;

pub(crate) use wire::UNDER_WAY_MAX;
pub use wire::{By, Url, WireOptions};

use clap::value_parser;
use hotrow_protocols::ENGINES;
use hotrow_runtime::{ConcurrencyMix, PoolConfig};
use hotrow_txn::{Concurrency, Isolation, Scheduler, Settings};
use hotrow_workloads::Workload;
use names::{engine_of, is_engine, names_offering};
use std::path::PathBuf;
use std::time::Duration;

/// The options of a run, and those of its workload.
#[derive(clap::Args, Clone, Debug)]
pub struct WorkloadOptions<O: clap::Args> {
    /// The options of the run
    #[command(flatten)]
    pub run: RunOptions,
    /// The options of the workload
    #[command(flatten, next_help_heading = "Workload options")]
    pub workload: O,
}

/// The options by which a workload is run and reported.
#[derive(clap::Args, Clone, Debug)]
pub struct RunOptions {
    /// Engines to run, one after the other; `hotrow engines` lists them. NAME@DURABILITY, with sync, async or off, is
    /// an engine with a log in the folder of --data. Over the wire, NAME:MODEL is a server with `--execution MODEL`
    /// [default: 2pl-waitdie]
    #[arg(long = "engine", value_name = "NAME,…", value_delimiter = ',')]
    #[arg(value_parser = names_offering(is_engine), hide_possible_values = true)]
    pub engines: Vec<String>,

    /// Worker threads; over the wire, threads of the clients [default: one per core]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,

    /// Folder for the data directories of engines with a log, NAME@DURABILITY. Each run has one of its own, which is
    /// removed after it
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// The placement of transactions on the threads
    #[command(flatten)]
    pub placement: PlacementOptions,

    /// The settings of the engines
    #[command(flatten)]
    pub engine_options: EngineOptions,

    /// Length of the measured period
    #[arg(long, value_name = "S", default_value = "5", allow_negative_numbers = true, value_parser = parse_seconds)]
    pub seconds: Duration,

    /// Time to run before anything is counted
    #[arg(long, value_name = "S", default_value = "1", allow_negative_numbers = true, value_parser = parse_warmup)]
    pub warmup: Duration,

    /// Isolation level; an engine that lacks it takes the next stronger one
    #[arg(long, value_name = "LEVEL", default_value = "serializable")]
    pub isolation: Isolation,

    /// Whether transactions are optimistic or pessimistic, for engines that have the choice; `mixed` alternates
    /// [default: the engine's own]
    #[arg(long, value_name = "NAME")]
    pub concurrency: Option<ConcurrencyName>,

    /// Look keys up one by one, although they are known beforehand; engines that need access sets ignore this
    #[arg(long)]
    pub no_batch: bool,

    /// Transactions of each worker after which the measured period ends early: a bound for tests
    #[arg(skip)]
    pub steps: Option<u64>,

    /// Seed of the transactions
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Runs of each engine. The engines take turns; the table shows medians
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(value_parser = value_parser!(u32).range(1..=1000))]
    pub repetitions: u32,

    /// The reports besides the table
    #[command(flatten)]
    pub report: ReportOptions,

    /// The options of a run over the network
    #[command(flatten)]
    pub wire: WireOptions,
}

/// How transactions are put onto the worker threads.
#[derive(clap::Args, Clone, Debug)]
pub struct PlacementOptions {
    /// Whether a worker thread runs one transaction at a time, or keeps several and continues with another when one
    /// waits [default: what `hotrow engines` lists for each engine]
    #[arg(long, value_name = "NAME")]
    pub scheduler: Option<SchedulerName>,

    /// The most transactions that each worker thread of a pool keeps; it keeps fewer while they abort each other
    /// [default: 8, and fewer while they wait for each other]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = value_parser!(u32).range(1..=PoolConfig::MAX_SLOTS as i64))]
    pub slots: Option<u32>,

    /// Microseconds for which a worker thread without work looks for some before it sleeps, unless there are more
    /// threads than cores [default: 100]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = value_parser!(u32).range(0..=60_000_000))]
    pub spin_us: Option<u32>,

    /// Whether a worker thread runs all types of transactions, or those of one group of similar types as far as the mix
    /// allows; the mix of all threads together stays the same
    #[arg(long, value_name = "HOW", default_value = "random")]
    pub assign: AssignName,
}

/// The settings of engines. Engines that do not have a setting ignore it; a setting that no engine of the run has is
/// refused.
#[derive(clap::Args, Clone, Debug)]
pub struct EngineOptions {
    /// Blocked transactions at which a queue admits no new ones, for engines with such a queue
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..))]
    pub blocked_limit: Option<u32>,

    /// Partitions of the database, for engines that keep partitions apart [default: those of the workload, or one per
    /// worker thread]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..))]
    pub engine_partitions: Option<u32>,

    /// Of the worker threads, those that do concurrency control for the others, for engines with such threads; with 0
    /// each thread does both [default: chosen by load]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u32).range(0..1024))]
    pub cc_threads: Option<u32>,

    /// Worker threads that execute transactions, beside those of --cc-threads; --threads is the sum of both
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "cc_threads", conflicts_with = "threads")]
    #[arg(value_parser = value_parser!(u32).range(1..=1024))]
    pub exec_threads: Option<u32>,

    /// Locks on rows of a page at which the page is locked as a whole, for engines with such locks; a table is at four
    /// times as many locks in it; 0 for never
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u32))]
    pub escalate_after: Option<u32>,

    /// Per cent of the last requests for a lock that must have met latch contention for transactions to pass the lock
    /// on, for engines that do; with 0 they pass on all that they can
    #[arg(long, value_name = "P", allow_negative_numbers = true, value_parser = value_parser!(u8).range(0..=100))]
    pub hot_percent: Option<u8>,

    /// Transactions of a thread, one after the other, that may leave a lock unused that was passed on to them before it
    /// is released, for engines that pass locks on; with 0, as in the paper, the first one releases it [default: 16]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u8))]
    pub momentum: Option<u8>,

    /// End deadlocks by time-out, as in the papers, for engines that otherwise find them
    #[arg(long)]
    pub deadlock_time_outs: bool,

    /// Lock each row when its transaction accesses it, as in the papers, for engines that otherwise lock a known access
    /// set at once
    #[arg(long)]
    pub lock_as_it_goes: bool,

    /// Additional microseconds of a message between two partitions, to study the effect of a network
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(value_parser = value_parser!(u32).range(0..=10_000_000))]
    pub network_delay_us: u32,
}

/// The reports of a run besides the table, and the files that they are written to.
#[derive(clap::Args, Clone, Debug)]
pub struct ReportOptions {
    /// Also print the memory of rows, indexes and locks, table by table, before and after the run
    #[arg(long)]
    pub memory: bool,

    /// Also print where the time went: the time of sampled transactions, or over the wire all CPU time of the servers
    #[arg(long)]
    pub breakdown: bool,

    /// Write the runs to this file, as one JSON array with an object for each
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Draw throughput and latency into this file, as SVG
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
}

/// The way in which clients are assigned to worker threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SchedulerName {
    /// One client on each thread
    Thread,
    /// Several clients on each thread, in slots
    Pool,
}

impl SchedulerName {
    /// Returns the name in reports.
    pub fn name(self) -> &'static str {
        match self {
            SchedulerName::Thread => "thread",
            SchedulerName::Pool => "pool",
        }
    }
}

/// How the types of transactions are assigned to worker threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum AssignName {
    /// Each transaction of each thread is drawn from the whole mix
    Random,
    /// Each thread has transactions of one group of similar types, as far as the mix allows
    ByType,
}

impl AssignName {
    /// Returns the name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            AssignName::Random => "random",
            AssignName::ByType => "by-type",
        }
    }
}

/// Whether the transactions of a run are optimistic or pessimistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ConcurrencyName {
    /// All are optimistic
    Optimistic,
    /// All are pessimistic
    Pessimistic,
    /// Optimistic and pessimistic in turn
    Mixed,
}

impl ConcurrencyName {
    /// Returns the name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            ConcurrencyName::Optimistic => Concurrency::Optimistic.name(),
            ConcurrencyName::Pessimistic => Concurrency::Pessimistic.name(),
            ConcurrencyName::Mixed => "mixed",
        }
    }

    /// Returns the setting of the runners.
    pub(crate) fn mix(self) -> ConcurrencyMix {
        match self {
            ConcurrencyName::Optimistic => ConcurrencyMix::All(Concurrency::Optimistic),
            ConcurrencyName::Pessimistic => ConcurrencyMix::All(Concurrency::Pessimistic),
            ConcurrencyName::Mixed => ConcurrencyMix::Alternating,
        }
    }
}

impl RunOptions {
    /// Returns how clients are assigned to worker threads under the engine called `name`.
    pub fn scheduler_of(&self, name: &str) -> SchedulerName {
        let info = ENGINES.iter().find(|info| info.name == engine_of(name));
        // The bare loop has no transactions that could wait.
        let Some(info) = info else { return SchedulerName::Thread };
        self.placement.scheduler.unwrap_or(match info.scheduler {
            Scheduler::Thread => SchedulerName::Thread,
            Scheduler::Planned | Scheduler::Partition | Scheduler::Roles => SchedulerName::Pool,
        })
    }

    /// Returns the number of clients of each worker under the engine called `name`.
    pub fn slots_of(&self, name: &str) -> usize {
        match self.scheduler_of(name) {
            SchedulerName::Thread => 1,
            SchedulerName::Pool => self.placement.slots.map_or(PoolConfig::DEFAULT_SLOTS, |slots| slots as usize),
        }
    }

    /// Returns the settings with which the engines are opened for this workload.
    pub fn settings(&self, workload: &impl Workload) -> Settings {
        let engine = &self.engine_options;
        let partitions = engine.engine_partitions.map(|partitions| partitions as usize);
        Settings {
            workers: self.threads(),
            partitions: partitions.or(workload.partitions()),
            blocked_limit: engine.blocked_limit.map(|limit| limit as usize),
            cc_threads: engine.cc_threads.map(|threads| threads as usize),
            deadlock_time_outs: engine.deadlock_time_outs,
            lock_as_it_goes: engine.lock_as_it_goes,
            escalation: engine.escalate_after.map(|locks| locks as usize),
            hot_percent: engine.hot_percent,
            momentum: engine.momentum,
            network_delay: Duration::from_micros(u64::from(engine.network_delay_us)),
        }
    }

    /// Returns the number of worker threads: the sum of both roles if the command line gives them, otherwise the number
    /// that it gives, or one per core.
    pub fn threads(&self) -> usize {
        let cores = || hotrow_sync::thread::available_parallelism().map_or(1, usize::from);
        let EngineOptions { cc_threads, exec_threads, .. } = self.engine_options;
        let by_role = cc_threads.zip(exec_threads).map(|(control, execution)| control + execution);
        by_role.or(self.threads).map_or_else(cores, |threads| threads as usize)
    }
}

/// The longest period: more than a day is a mistake.
const SECONDS_MAX: f64 = 86_400.0;

fn parse_seconds(text: &str) -> Result<Duration, String> {
    match parse_warmup(text)? {
        Duration::ZERO => Err("a run takes more than 0 seconds".to_owned()),
        seconds => Ok(seconds),
    }
}

fn parse_warmup(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    if (0.0..=SECONDS_MAX).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(format!("{seconds} is not within 0 and {SECONDS_MAX} seconds"))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        run: RunOptions,
    }

    fn parse(line: &str) -> Result<RunOptions, String> {
        let words = std::iter::once("bench").chain(line.split_whitespace());
        Command::try_parse_from(words).map(|command| command.run).map_err(|error| error.to_string())
    }

    /// The options of a command line that has none.
    pub(crate) fn defaults() -> RunOptions {
        parse("").expect("the defaults are good")
    }

    #[test]
    fn options_are_read_in_their_units() {
        let options = parse("--seconds 0.5 --warmup 0 --threads 3 --isolation read-committed").expect("good options");
        assert_eq!((options.seconds, options.warmup), (Duration::from_millis(500), Duration::ZERO));
        assert_eq!((options.threads(), options.isolation), (3, Isolation::ReadCommitted));
        assert!(defaults().threads() >= 1);
    }

    #[test]
    fn periods_are_positive_and_no_longer_than_a_day() {
        for (text, seconds, warmup) in [
            ("0", false, true),
            ("0.001", true, true),
            ("86400", true, true),
            ("86401", false, false),
            ("-1", false, false),
        ] {
            assert_eq!(parse_seconds(text).is_ok(), seconds, "--seconds {text}");
            assert_eq!(parse_warmup(text).is_ok(), warmup, "--warmup {text}");
        }
    }
}
