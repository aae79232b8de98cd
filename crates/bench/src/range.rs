//! The range-lock benchmark's loop: one thread, a manager of range locks, and transactions that wait with their locks.
//!
//! The choices of Fig. 3 of the VLL paper, in its order: first a transaction goes on whose delay is over, then one that was
//! blocked and holds its range now, then a new one begins unless too many are blocked, and if there is nothing else to do
//! the manager is asked for work. Nobody is switched off a processor: what waits is an entry in a list.
//!
//! **What is checked.** Some of the grants while the clock runs, and all of a thousand transactions after it, are compared
//! with all ranges that are held. In the end every transaction has been granted its range and given it back, and the manager
//! knows of none.

use crate::bare::cpu_time;
use hotrow_protocols::range_locks::{
    Blocks, FourCounters, Hierarchical, KeyRange, Prefixing, RangeLockManager, Records, Standard, TxnNumber, Vllr,
};
use hotrow_runtime::{Counts, RunConfig, RunReport};
use hotrow_sync::Mutex;
use hotrow_txn::{Settings, Statistics, number_of};
use hotrow_workloads::range::{Client, Options, Request};
use std::collections::VecDeque;
use std::hint::spin_loop;
use std::time::{Duration, Instant};

/// The managers' names.
pub(crate) const MANAGERS: [&str; 7] =
    ["vllr", "vllr-sca", "vllr-blocks", "vllr-blocks-sca", "standard", "hierarchical", "records"];

/// Blocked transactions at which no new ones begin, unless `--blocked-limit` says otherwise.
const BLOCKED_LIMIT: usize = 100;

/// The clock is read at one step of so many: it takes a good part of what a transaction does.
const STEPS_PER_READING: u64 = 8;

/// One grant of so many is compared with all others while the clock runs.
const GRANTS_PER_COMPARISON: u64 = 4096;

/// Transactions after the measured period, all of whose grants are compared.
const COMPARED: u64 = 1000;

/// Why a manager cannot have these options; says what it can have.
pub(crate) fn refuse(manager: &str, options: &Options) -> Result<(), String> {
    if manager == "records" && options.key_bits > Records::KEY_BITS_MAX {
        let (most, bits) = (Records::KEY_BITS_MAX, options.key_bits);
        return Err(format!("records keeps counters for every key: --key-bits up to {most}, not {bits}"));
    }
    Ok(())
}

/// Runs the client's transactions under the manager of this name, through warm-up and the measured period.
///
/// # Errors
/// There is no such manager, or it cannot have the options.
pub(crate) fn drive(
    manager: &str,
    clients: &[Mutex<Client>],
    config: &RunConfig,
    settings: &Settings,
) -> Result<RunReport, String> {
    let [client] = clients else { return Err(format!("range has one client, not {}", clients.len())) };
    let mut client = client.lock().unwrap_or_else(|poison| poison.into_inner());
    refuse(manager, client.options())?;
    let Options { key_bits, bits_per_level, prefixes, .. } = *client.options();
    let prefixing = Prefixing::new(key_bits, bits_per_level, prefixes as usize);
    let prefixing =
        prefixing.ok_or_else(|| format!("a level of prefixes cannot have {}", number_of(bits_per_level, "bit")))?;
    let limit = settings.blocked_limit.unwrap_or(BLOCKED_LIMIT);
    let client = &mut *client;
    Ok(match manager {
        "vllr" => Loop::new(Vllr::<FourCounters>::new(prefixing), client, limit).run(config),
        "vllr-sca" => Loop::new(Vllr::<FourCounters>::with_analysis(prefixing), client, limit).run(config),
        "vllr-blocks" => Loop::new(Vllr::<Blocks>::new(prefixing), client, limit).run(config),
        "vllr-blocks-sca" => Loop::new(Vllr::<Blocks>::with_analysis(prefixing), client, limit).run(config),
        "standard" => Loop::new(Standard::new(), client, limit).run(config),
        "hierarchical" => Loop::new(Hierarchical::new(prefixing), client, limit).run(config),
        "records" => Loop::new(Records::new(key_bits), client, limit).run(config),
        _ => {
            return Err(format!(
                "unknown manager of range locks \"{manager}\": expected one of {}",
                MANAGERS.join(", ")
            ));
        }
    })
}

/// A transaction under way.
#[derive(Clone, Copy)]
struct InFlight {
    request: Request,
    /// When it began, if its latency is taken.
    began: Option<Instant>,
}

/// What there was to do.
#[derive(PartialEq)]
enum Step {
    /// A transaction went on, or began.
    Done,
    /// All wait for their delays to be over.
    Waiting,
    /// There is no transaction that waits for its delay, and none can begin.
    Stuck,
}

struct Loop<'a, M> {
    manager: M,
    client: &'a mut Client,
    delay: Duration,
    blocked_limit: usize,
    sample_every: u64,
    /// By number; numbers that are free.
    transactions: Vec<InFlight>,
    free: Vec<TxnNumber>,
    /// When transactions that wait go on, in this order: all wait equally long.
    delayed: VecDeque<(Instant, TxnNumber)>,
    /// Transactions that were blocked and are not any more.
    ready: Vec<TxnNumber>,
    blocked: usize,
    /// The time of the last reading.
    now: Instant,
    steps: u64,
    idle: Duration,
    counts: Counts,
    /// One grant of so many is compared with the others.
    grants_per_comparison: u64,
}

impl<'a, M: RangeLockManager> Loop<'a, M> {
    fn new(manager: M, client: &'a mut Client, blocked_limit: usize) -> Self {
        let delay = client.options().delay();
        Self {
            manager,
            client,
            delay,
            blocked_limit,
            sample_every: 1,
            transactions: Vec::new(),
            free: Vec::new(),
            delayed: VecDeque::new(),
            ready: Vec::new(),
            blocked: 0,
            now: Instant::now(),
            steps: 0,
            idle: Duration::ZERO,
            counts: Counts::default(),
            grants_per_comparison: GRANTS_PER_COMPARISON,
        }
    }

    fn run(mut self, config: &RunConfig) -> RunReport {
        self.sample_every = u64::from(config.one_shot.sample_every.max(1));
        self.until(config.warmup, u64::MAX, config);
        (self.counts, self.idle) = (Counts::default(), Duration::ZERO);
        let (begin, cpu_before, before) = (Instant::now(), cpu_time(), self.statistics());
        let stopped = self.until(config.measured, config.steps_per_worker.unwrap_or(u64::MAX), config);
        let (elapsed, cpu) = (begin.elapsed(), cpu_time().saturating_sub(cpu_before));
        self.counts.statistics.add(&self.statistics().since(&before));
        let (counts, idle) = (std::mem::take(&mut self.counts), self.idle);
        self.finish();
        // Waiting for a delay is polling: whatever is done meanwhile is not the transactions' time.
        RunReport { threads: 1, elapsed, stopped_early: stopped, counts, cpu: cpu.saturating_sub(idle) }
    }

    /// Runs until the time is over, or so many transactions are. Whether the stop flag was raised before.
    fn until(&mut self, period: Duration, transactions: u64, config: &RunConfig) -> bool {
        self.now = Instant::now();
        let end = self.now + period;
        while self.now < end && self.counts.committed < transactions {
            if config.stop.is_raised() {
                return true;
            }
            for _ in 0..STEPS_PER_READING {
                match self.step(true) {
                    Step::Done => {}
                    Step::Waiting => self.wait(end),
                    Step::Stuck => return false,
                }
                if self.counts.committed >= transactions {
                    break;
                }
            }
            self.now = Instant::now();
        }
        false
    }

    /// Some more transactions, whose grants are all compared, and then all that are under way. Nobody looks at the clock: when
    /// all wait, the next delay is over.
    fn finish(mut self) {
        self.grants_per_comparison = 1;
        let mut step = |begins: bool| {
            let step = self.step(begins);
            if let (Step::Waiting, Some(&(until, _))) = (&step, self.delayed.front()) {
                self.now = until;
            }
            step != Step::Stuck
        };
        let goes_on = (0..COMPARED).all(|_| step(true));
        while goes_on && step(false) {}
        let Self { manager, client, blocked, .. } = self;
        if blocked > 0 {
            client.grants.violated(format!("{} never got a range granted", number_of(blocked, "transaction")));
        } else if !manager.is_idle() {
            client.grants.violated("the manager knows of ranges that nobody holds".to_owned());
        }
    }

    /// The choices of Fig. 3. Nothing new begins unless `begins` says so.
    fn step(&mut self, begins: bool) -> Step {
        self.steps += 1;
        if let Some(&(until, txn)) = self.delayed.front()
            && until <= self.now
        {
            self.delayed.pop_front();
            self.release(txn);
        } else if let Some(txn) = self.ready.pop() {
            self.execute(txn);
        } else if begins && self.blocked < self.blocked_limit {
            self.begin();
        } else {
            return self.find_work();
        }
        Step::Done
    }

    /// There is nothing else to do.
    fn find_work(&mut self) -> Step {
        self.manager.find_work(&mut self.ready);
        self.blocked -= self.ready.len();
        match (self.ready.is_empty(), self.delayed.is_empty()) {
            (false, _) => Step::Done,
            (true, false) => Step::Waiting,
            (true, true) => Step::Stuck,
        }
    }

    #[inline]
    fn begin(&mut self) {
        let request = self.client.generate();
        let began = self.steps.is_multiple_of(self.sample_every).then(Instant::now);
        let in_flight = InFlight { request, began };
        let txn = match self.free.pop() {
            Some(txn) => {
                self.transactions[txn as usize] = in_flight;
                txn
            }
            None => {
                self.transactions.push(in_flight);
                (self.transactions.len() - 1) as TxnNumber
            }
        };
        let Request { first, last, exclusive, .. } = request;
        if self.manager.request(txn, KeyRange { first, last }, exclusive) {
            self.execute(txn);
        } else {
            self.blocked += 1;
            self.counts.statistics.waits += 1;
        }
    }

    /// The transaction holds its range.
    #[inline]
    fn execute(&mut self, txn: TxnNumber) {
        self.counts.statistics.locks += 1;
        let request = self.transactions[txn as usize].request;
        self.client.grants.granted(txn, request, self.steps.is_multiple_of(self.grants_per_comparison));
        self.client.compute();
        if request.is_delayed {
            self.delayed.push_back((self.now + self.delay, txn));
        } else {
            self.release(txn);
        }
    }

    #[inline]
    fn release(&mut self, txn: TxnNumber) {
        self.client.grants.released(txn);
        let ready = self.ready.len();
        self.manager.release(txn, &mut self.ready);
        self.blocked -= self.ready.len() - ready;
        self.counts.committed += 1;
        if let Some(began) = self.transactions[txn as usize].began {
            self.counts.latency_ns.saturating_record(began.elapsed().as_nanos() as u64);
        }
        self.free.push(txn);
    }

    /// Until the first delay is over, or the time is.
    fn wait(&mut self, end: Instant) {
        let begin = Instant::now();
        let until = self.delayed.front().map_or(end, |&(until, _)| until.min(end));
        self.now = begin;
        while self.now < until {
            spin_loop();
            self.now = Instant::now();
        }
        self.idle += self.now - begin;
    }

    fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        self.manager.count(&mut statistics);
        statistics
    }
}
