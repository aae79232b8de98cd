//! The loop of the range-lock benchmark: one thread, a manager of range locks, and transactions that wait with their
//! locks.
//!
//! The loop makes the choices of Fig. 3 of the VLL paper in the paper's order. First it continues a transaction whose
//! delay is over, then one that was blocked and holds its range now. Then it begins a new one unless too many are
//! blocked. If there is nothing else to do it asks the manager for work. No thread is switched off a processor: a
//! waiting transaction is an entry in a list.
//!
//! **Checks.** The range of a grant is compared with all ranges that are held: for some grants while the clock runs,
//! and for all grants after it. At the end every transaction has been granted its range and has released it, and the
//! manager knows of no range.

use super::bare_loop::BareLoop;
use crate::options::names::MANAGERS;
use hotrow_protocols::range_locks::{
    Blocks, FourCounters, Hierarchical, KeyRange, Prefixing, RangeLockManager, Records, Standard, TxnNumber, Vllr,
};
use hotrow_runtime::{Counts, RunConfig, RunReport};
use hotrow_sync::{Mutex, Time, thread_cpu_time};
use hotrow_txn::{Settings, Statistics, number_of};
use hotrow_workloads::range::{Client, Options, Range, Request};
use std::collections::VecDeque;
use std::hint::spin_loop;
use std::time::Duration;

/// The number of blocked transactions at which no new ones begin, unless `--blocked-limit` says otherwise.
const BLOCKED_LIMIT: usize = 100;

/// The number of steps for each reading of the clock, since a reading takes a good part of the time of a transaction.
const STEPS_PER_READING: u64 = 8;

/// The number of grants of which one is compared with all ranges that are held, while the clock runs.
const GRANTS_PER_COMPARISON: u64 = 4096;

/// The number of steps after the measured period in which transactions still begin. All grants from then on are
/// compared.
const COMPARED: u64 = 1000;

/// Returns the loop that runs the workload `range` under a manager of range locks. Its names are those of the managers.
pub(crate) fn range_lock_loop() -> BareLoop<Range> {
    BareLoop {
        names: &MANAGERS,
        refuse,
        drive: |name, _, (), clients, config, settings| drive(name, clients, config, settings),
    }
}

/// Refuses options that a manager cannot have; the message says what it can have.
fn refuse(manager: &str, options: &Options) -> Result<(), String> {
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
fn drive(
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
        "vllr" => RangeLockLoop::new(Vllr::<FourCounters>::new(prefixing), client, limit).run(config),
        "vllr-sca" => RangeLockLoop::new(Vllr::<FourCounters>::with_analysis(prefixing), client, limit).run(config),
        "vllr-blocks" => RangeLockLoop::new(Vllr::<Blocks>::new(prefixing), client, limit).run(config),
        "vllr-blocks-sca" => RangeLockLoop::new(Vllr::<Blocks>::with_analysis(prefixing), client, limit).run(config),
        "standard" => RangeLockLoop::new(Standard::new(), client, limit).run(config),
        "hierarchical" => RangeLockLoop::new(Hierarchical::new(prefixing), client, limit).run(config),
        "records" => RangeLockLoop::new(Records::new(key_bits), client, limit).run(config),
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
    /// The time at which the transaction began, if its latency is taken.
    began: Option<Time>,
}

/// The outcome of one step of the loop.
#[derive(PartialEq)]
enum Step {
    /// A transaction continued or began.
    Done,
    /// All transactions wait for their delays to be over.
    Waiting,
    /// No transaction waits for its delay, and none can begin.
    Stuck,
}

/// The loop over one manager, and its transactions under way.
struct RangeLockLoop<'a, M> {
    manager: M,
    client: &'a mut Client,
    delay: Duration,
    blocked_limit: usize,
    sample_every: u64,
    /// The transactions, at the positions that their numbers name.
    transactions: Vec<InFlight>,
    /// The numbers that no transaction has.
    free: Vec<TxnNumber>,
    /// The delayed transactions with the ends of their delays, the earliest first. A transaction is added at the end,
    /// since all delays are equal.
    delayed: VecDeque<(Time, TxnNumber)>,
    /// Transactions that were blocked and hold their ranges now.
    ready: Vec<TxnNumber>,
    blocked: usize,
    /// The last reading of the clock.
    now: Time,
    steps: u64,
    idle: Duration,
    counts: Counts,
    /// The number of grants of which one is compared with all ranges that are held.
    grants_per_comparison: u64,
}

impl<'a, M: RangeLockManager> RangeLockLoop<'a, M> {
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
            now: Time::now(),
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
        let (begin, cpu_before, before) = (Time::now(), thread_cpu_time(), self.statistics());
        let stopped = self.until(config.measured, config.steps_per_worker.unwrap_or(u64::MAX), config);
        let (elapsed, cpu) = (Time::now().since(begin), thread_cpu_time().saturating_sub(cpu_before));
        self.counts.statistics.add(&self.statistics().since(&before));
        let (counts, idle) = (std::mem::take(&mut self.counts), self.idle);
        self.finish();
        // A wait for a delay polls the clock: its CPU time is not the transactions' own.
        RunReport { threads: 1, elapsed, stopped_early: stopped, counts, cpu: cpu.saturating_sub(idle) }
    }

    /// Runs until the period is over, `transactions` transactions have committed, or the loop is stuck. Returns `true`
    /// if the stop flag ended it before.
    fn until(&mut self, period: Duration, transactions: u64, config: &RunConfig) -> bool {
        self.now = Time::now();
        let end = self.now.after(period);
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
            self.now = Time::now();
        }
        false
    }

    /// Runs some more steps in which transactions begin, compares all their grants, and then ends all transactions that
    /// are under way. The clock is not read: if all transactions wait, the next delay counts as over.
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

    /// Makes the choices of Fig. 3. A new transaction begins only if `begins` is set.
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

    /// Asks the manager for work, if there is nothing else to do.
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
        let began = self.steps.is_multiple_of(self.sample_every).then(Time::now);
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

    /// Executes a transaction that holds its range.
    #[inline]
    fn execute(&mut self, txn: TxnNumber) {
        self.counts.statistics.locks += 1;
        let request = self.transactions[txn as usize].request;
        self.client.grants.granted(txn, request, self.steps.is_multiple_of(self.grants_per_comparison));
        self.client.compute();
        if request.is_delayed {
            self.delayed.push_back((self.now.after(self.delay), txn));
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
            self.counts.latency_ns.saturating_record(Time::now().since(began).as_nanos() as u64);
        }
        self.free.push(txn);
    }

    /// Waits until the first delay is over, or `end` has come.
    fn wait(&mut self, end: Time) {
        let begin = Time::now();
        let until = self.delayed.front().map_or(end, |&(until, _)| until.min(end));
        self.now = begin;
        while self.now < until {
            spin_loop();
            self.now = Time::now();
        }
        self.idle += self.now.since(begin);
    }

    fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        self.manager.count(&mut statistics);
        statistics
    }
}
