//! The state that all workers of a run share, however they assign transactions to threads: the run's phases, its end
//! and its sums.

use crate::{Counts, OneShot, OneShotConfig, RunReport, Stop, ThreadTime};
use hotrow_sync::atomic::{AtomicU8, Ordering};
use hotrow_sync::wait::LONGEST_SPIN;
use hotrow_sync::{Mutex, MutexGuard, Time, Waiter};
use hotrow_txn::{Abort, Transaction, WorkerId};
use rustix::time::{ClockId, clock_gettime};
use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::time::{Duration, Instant};

/// The configuration of [`drive`](crate::drive).
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// The number of workers, each of which is a thread.
    pub threads: usize,
    /// The time for which the workers run before anything is counted.
    pub warmup: Duration,
    /// The time for which the workers run after the warm-up: the measured period.
    pub measured: Duration,
    /// The number of steps after which a worker stops in the measured period, which ends once all workers have stopped.
    /// Workers that only serve others when the rest have stopped make no more steps. It is a bound for tests; `None`
    /// means no bound.
    pub steps_per_worker: Option<u64>,
    /// The longest time that a waiting thread spins before it blocks.
    pub spin: Duration,
    /// The configuration of each worker's procedures. Each client gets its own seed.
    pub one_shot: OneShotConfig,
    /// The flag that ends the run early if it is raised. The run itself raises it at its end.
    pub stop: Stop,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            threads: 1,
            warmup: Duration::from_secs(1),
            measured: Duration::from_secs(5),
            steps_per_worker: None,
            spin: LONGEST_SPIN,
            one_shot: OneShotConfig::default(),
            stop: Stop::new(),
        }
    }
}

/// The reason why a run failed as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// A worker's code panicked with this message.
    Panicked {
        /// The worker.
        worker: WorkerId,
        /// The message of the panic.
        message: String,
    },
    /// A procedure ended in a way after which the workload cannot continue.
    Failed {
        /// The worker.
        worker: WorkerId,
        /// The abort with which the procedure ended.
        abort: Abort,
    },
    /// The system has no memory for the stacks of a worker's slots. The text says why.
    NoStack(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Panicked { worker, message } => write!(f, "worker {} panicked: {message}", worker.0),
            RunError::Failed { worker, abort } => write!(f, "worker {} cannot go on: {abort}", worker.0),
            RunError::NoStack(why) => write!(f, "there is no memory for the stacks of the slots: {why}"),
        }
    }
}

impl std::error::Error for RunError {}

const WARMUP: u8 = 0;
const MEASURED: u8 = 1;

/// The state that the workers of one run share.
pub(crate) struct Run<'a> {
    pub config: &'a RunConfig,
    phase: AtomicU8,
    total: Mutex<Total>,
}

#[derive(Default)]
struct Total {
    counts: Counts,
    cpu: Duration,
    /// The number of workers that made all their steps, or ended while they only served others.
    finished: usize,
    /// The number of workers that only serve others at present.
    serving: usize,
    error: Option<RunError>,
    /// The waiters of the transactions under way.
    waiters: Vec<Waiter>,
    /// Whether the run has ended and the waiters were cancelled.
    over: bool,
}

impl<'a> Run<'a> {
    pub fn new(config: &'a RunConfig) -> Self {
        let phase = AtomicU8::new(if config.warmup.is_zero() { MEASURED } else { WARMUP });
        Self { config, phase, total: Mutex::new(Total::default()) }
    }

    /// Times the run's phases; it runs on a thread of its own. Returns the length of the measured period, and whether
    /// the run was stopped from outside.
    pub fn time(&self) -> (Duration, bool) {
        let stop = &self.config.stop;
        // The workers may have made all their steps by now.
        let mut stopped_early = stop.wait(self.config.warmup) && !self.is_finished();
        self.phase.store(MEASURED, Ordering::Release);
        let begin = Instant::now();
        if !stopped_early {
            stopped_early = stop.wait(self.config.measured) && !self.is_finished();
        }
        let elapsed = begin.elapsed();
        stop.raise();
        let mut total = self.total();
        total.over = true;
        total.waiters.iter().for_each(Waiter::cancel);
        (elapsed, stopped_early)
    }

    /// Adds a transaction's waiter to those that are cancelled at the end of the run.
    pub fn enter(&self, waiter: &Waiter) {
        let mut total = self.total();
        total.waiters.push(waiter.clone());
        if total.over {
            waiter.cancel();
        }
    }

    /// Makes a runner for client number `client` of the run.
    pub fn runner<T: Transaction>(&self, txn: T, waiter: &Waiter, client: usize) -> OneShot<T> {
        let seed = self.config.one_shot.seed.wrapping_add(client as u64);
        OneShot::new(txn, waiter.clone(), OneShotConfig { seed, ..self.config.one_shot }).until(&self.config.stop)
    }

    /// Steps a client through both phases, for as long as `pace` lets it.
    pub fn step_until_stopped<T, C>(
        &self,
        pace: &impl Pace,
        steps: &Steps,
        runner: &mut OneShot<T>,
        client: &mut C,
    ) -> Result<(), Abort>
    where
        T: Transaction,
        C: FnMut(&mut OneShot<T>) -> Result<(), Abort>,
    {
        let mut measured = false;
        loop {
            if pace.has_to_yield() {
                runner.transaction().idle();
                pace.yield_now();
            }
            if self.config.stop.is_raised() {
                break;
            }
            if !measured && self.phase.load(Ordering::Acquire) == MEASURED {
                measured = true;
                runner.reset();
                if steps.begin_measured() {
                    pace.begin_measured();
                }
            }
            if measured && !steps.take() {
                break;
            }
            let (failed_before, waits_before) = (runner.retries(), runner.waits());
            let outcome = client(runner);
            let (failed, has_waited) = (runner.retries() - failed_before, runner.waits() != waits_before);
            pace.has_stepped(Stepped { failed, last_failure: runner.last_failure(), has_waited });
            match outcome {
                Ok(()) | Err(Abort::User) => {}
                Err(Abort::Cancelled) if self.config.stop.is_raised() => break,
                Err(abort) => return Err(abort),
            }
        }
        if !measured {
            runner.reset();
        }
        Ok(())
    }

    /// Adds the counts of a worker that has ended, and its CPU time. `made_all` says whether it made all its steps,
    /// rather than being stopped; `serves`, whether it is among those that only serve others.
    pub fn finish(&self, counts: &Counts, cpu: Duration, made_all: bool, serves: bool) {
        let mut total = self.total();
        total.counts.add(counts);
        total.cpu += cpu;
        total.serving -= usize::from(serves);
        total.finished += usize::from(made_all || serves);
        drop(total);
        if self.is_finished() {
            self.config.stop.raise();
        }
    }

    /// Whether the measured period has begun.
    #[inline]
    pub fn is_measured(&self) -> bool {
        self.phase.load(Ordering::Acquire) == MEASURED
    }

    /// Notes that a worker only serves others from now on, or no longer.
    pub fn note_serving(&self, serves: bool) {
        let mut total = self.total();
        total.serving = if serves { total.serving + 1 } else { total.serving - 1 };
    }

    /// Ends the run, because a worker failed.
    pub fn fail(&self, error: RunError) {
        self.total().error.get_or_insert(error);
        self.config.stop.raise();
    }

    /// Returns the report of the run, once all workers have ended.
    pub fn into_report(self, (elapsed, stopped_early): (Duration, bool)) -> Result<RunReport, RunError> {
        let total = self.total.into_inner().unwrap_or_else(|poison| poison.into_inner());
        match total.error {
            Some(error) => Err(error),
            None => {
                let (threads, counts, cpu) = (self.config.threads, total.counts, total.cpu);
                Ok(RunReport { threads, elapsed, stopped_early, counts, cpu })
            }
        }
    }

    /// Whether every worker has made all its steps, or only serves others.
    pub fn is_finished(&self) -> bool {
        let total = self.total();
        total.finished + total.serving >= self.config.threads
    }

    fn total(&self) -> MutexGuard<'_, Total> {
        self.total.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

/// The actions of a worker between the steps of its clients.
pub(crate) trait Pace {
    /// Whether other clients must get the thread before the next step.
    fn has_to_yield(&self) -> bool;

    /// Lets other clients have the thread.
    fn yield_now(&self);

    /// Tells the worker what happened in a step, after each step.
    fn has_stepped(&self, stepped: Stepped);

    /// Tells the worker that the measured period begins, before the first step in it.
    fn begin_measured(&self);
}

/// The effects of other transactions on a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stepped {
    /// The number of attempts that failed.
    pub failed: u64,
    /// The reason of the last attempt that failed, in this step or an earlier one.
    pub last_failure: Abort,
    /// Whether the step has waited for a lock.
    pub has_waited: bool,
}

/// The steps of one worker in the measured period, made by any of its clients.
pub(crate) struct Steps {
    left: Cell<Option<u64>>,
    /// The time of the worker's thread in the measured period.
    pub clock: ThreadClock,
}

impl Steps {
    pub fn new(config: &RunConfig) -> Self {
        Self { left: Cell::new(config.steps_per_worker), clock: ThreadClock::default() }
    }

    /// Begins the measured period for this worker. Returns whether this call was the first.
    pub fn begin_measured(&self) -> bool {
        self.clock.begin()
    }

    /// Takes a step, if one is left. Returns whether one was left.
    #[inline]
    fn take(&self) -> bool {
        match self.left.get() {
            None => true,
            Some(left) => {
                self.left.set(Some(left.saturating_sub(1)));
                left > 0
            }
        }
    }

    /// Whether the number of steps is limited.
    pub fn are_limited(&self) -> bool {
        self.left.get().is_some()
    }

    /// Whether a step is left.
    pub fn are_left(&self) -> bool {
        self.left.get() != Some(0)
    }
}

/// The clock of a worker's thread, which divides the measured period by the role of the thread. Only this thread uses
/// it.
#[derive(Default)]
pub(crate) struct ThreadClock {
    /// The time, and the thread's CPU time, since which the thread has its role; `None` before the measured period.
    since: Cell<Option<(Time, Duration)>>,
    /// The nanoseconds since then in which the thread had nothing to run.
    idle_ns: Cell<u64>,
    execution: Cell<ThreadTime>,
    service: Cell<ThreadTime>,
}

impl ThreadClock {
    /// Begins the measured period. Returns whether this call was the first.
    fn begin(&self) -> bool {
        let first = self.since.get().is_none();
        if first {
            self.since.set(Some((Time::now(), thread_cpu_time())));
        }
        first
    }

    /// Adds time in which the thread had nothing to run. Before the measured period it does not count.
    pub fn add_idle(&self, idle: Duration) {
        if self.since.get().is_some() {
            self.idle_ns.set(self.idle_ns.get() + idle.as_nanos() as u64);
        }
    }

    /// Ends a stretch of time in which the thread executed transactions, or only served others, and begins the next.
    pub fn end_stretch(&self, serves: bool) {
        let Some((time, cpu)) = self.since.get() else { return };
        let now @ (time_now, cpu_now) = (Time::now(), thread_cpu_time());
        let sum = if serves { &self.service } else { &self.execution };
        let mut times = sum.get();
        times.add(&ThreadTime {
            total_ns: time_now.since(time).as_nanos() as u64,
            idle_ns: self.idle_ns.take(),
            cpu_ns: cpu_now.saturating_sub(cpu).as_nanos() as u64,
        });
        sum.set(times);
        self.since.set(Some(now));
    }

    /// Adds the time of all stretches that have ended to a worker's counts. Returns the CPU time of them.
    pub fn add_to(&self, counts: &mut Counts) -> Duration {
        counts.execution.add(&self.execution.get());
        counts.service.add(&self.service.get());
        Duration::from_nanos(self.execution.get().cpu_ns + self.service.get().cpu_ns)
    }
}

/// Returns the user and system time of the calling thread.
fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Returns the message of a panic, or a substitute if it has none.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// Converts the outcome of a worker's thread to a result that the run reports.
pub(crate) fn outcome_of<R>(
    worker: WorkerId,
    outcome: Result<Result<R, Abort>, Box<dyn Any + Send>>,
) -> Result<R, RunError> {
    match outcome {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(abort)) => Err(RunError::Failed { worker, abort }),
        Err(panic) => Err(RunError::Panicked { worker, message: panic_message(panic.as_ref()) }),
    }
}
