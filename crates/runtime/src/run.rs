//! The state that all workers of a run share, however they assign transactions to threads: the run's phases, its end
//! and its sums.

use crate::{Counts, OneShot, OneShotConfig, RunReport, Stop, ThreadTime};
use hotrow_sync::atomic::{AtomicU8, Ordering};
use hotrow_sync::wait::LONGEST_SPIN;
use hotrow_sync::{Mutex, MutexGuard, Time, Waiter, thread_cpu_time};
use hotrow_txn::{Abort, Transaction, WorkerId};
use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::time::Duration;

/// The configuration of a run of [`drive`](crate::drive) or [`drive_pool`](crate::drive_pool).
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// The number of workers. Each is a thread.
    pub threads: usize,
    /// The time for which the workers run before anything is counted.
    pub warmup: Duration,
    /// The length of the measured period, which follows the warm-up.
    pub measured: Duration,
    /// The greatest number of steps, which are calls of a client, that each worker makes in the measured period, for
    /// tests. The run ends early when all workers have made their steps, apart from workers that only serve others'
    /// transactions. `None` means no bound.
    pub steps_per_worker: Option<u64>,
    /// The longest time that a waiting thread spins before it blocks.
    pub spin: Duration,
    /// The configuration with which each client's procedures run. The number of the client is added to its seed.
    pub one_shot: OneShotConfig,
    /// The flag by which the caller ends the run early. The run itself raises it at its end, so each run needs a new
    /// flag.
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

/// The reason why a run fails. The first failure of a worker ends the run and stops all other workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// A worker, or a client that it ran, has panicked.
    Panicked {
        /// The number of the worker.
        worker: WorkerId,
        /// The message of the panic.
        message: String,
    },
    /// A client's step has returned an abort that neither a retry cures nor the client intended.
    Failed {
        /// The number of the worker.
        worker: WorkerId,
        /// The abort that the step returned.
        abort: Abort,
    },
    /// The system has no memory for the stacks of a worker's slots. The text is the system's error.
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

/// The state that the workers of one run share: its phase, the sum of the counts of the workers that have ended, and
/// the waiters that are cancelled at its end.
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

    /// Times the phases of the run, and ends it. Blocks the calling thread, which is not a worker. Returns the length
    /// of the measured period, and whether the run was stopped early.
    pub fn time(&self) -> (Duration, bool) {
        let stop = &self.config.stop;
        // The workers may have made all their steps by now.
        let mut stopped_early = stop.wait(self.config.warmup) && !self.is_finished();
        self.phase.store(MEASURED, Ordering::Release);
        let begin = Time::now();
        if !stopped_early {
            stopped_early = stop.wait(self.config.measured) && !self.is_finished();
        }
        let elapsed = Time::now().since(begin);
        stop.raise();
        let mut total = self.total();
        total.over = true;
        total.waiters.iter().for_each(Waiter::cancel);
        (elapsed, stopped_early)
    }

    /// Registers the waiter of a transaction object, which is cancelled at the end of the run. If the run has ended,
    /// cancels it at once.
    pub fn enter(&self, waiter: &Waiter) {
        let mut total = self.total();
        total.waiters.push(waiter.clone());
        if total.over {
            waiter.cancel();
        }
    }

    /// Makes the runner of the client with this number, which determines the runner's seed.
    pub fn runner<T: Transaction>(&self, txn: T, waiter: &Waiter, client: usize) -> OneShot<T> {
        let seed = self.config.one_shot.seed.wrapping_add(client as u64);
        OneShot::new(txn, waiter.clone(), OneShotConfig { seed, ..self.config.one_shot }).until(&self.config.stop)
    }

    /// Calls a client again and again, through warm-up and measured period, until the run is stopped or the worker's
    /// `steps` are used up. Before each step it yields if `pace` says so. At the begin of the measured period it sets
    /// the runner's counts to zero.
    ///
    /// # Errors
    /// The abort of a step, unless it is [`Abort::User`], or [`Abort::Cancelled`] at the end of the run.
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

    /// Records the end of a worker, and adds its counts and CPU time to the sums. `made_all` says whether it has made
    /// all its steps, rather than being stopped. `serves` says whether it only served others' transactions at its end.
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

    /// Records that from now on a worker only serves others' transactions, or, if `serves` is false, runs transactions
    /// again.
    pub fn note_serving(&self, serves: bool) {
        let mut total = self.total();
        total.serving = if serves { total.serving + 1 } else { total.serving - 1 };
    }

    /// Ends the run because a worker has failed. The report returns the first failure.
    pub fn fail(&self, error: RunError) {
        self.total().error.get_or_insert(error);
        self.config.stop.raise();
    }

    /// Returns the report of the run, or the first failure. All workers must have ended. The argument is the result of
    /// [`time`](Self::time).
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

    /// Whether every worker has made all its steps, or only serves others' transactions, so that the run can end.
    pub fn is_finished(&self) -> bool {
        let total = self.total();
        total.finished + total.serving >= self.config.threads
    }

    fn total(&self) -> MutexGuard<'_, Total> {
        self.total.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

/// The hooks by which a kind of worker acts between the steps of a client, such as to run other clients on the same
/// thread.
pub(crate) trait Pace {
    /// Whether the client must yield the thread to other clients before its next step.
    fn has_to_yield(&self) -> bool;

    /// Yields the thread to other clients, and returns when this client may continue.
    fn yield_now(&self);

    /// Called after each step, with what happened in it.
    fn has_stepped(&self, stepped: Stepped);

    /// Called once for each worker when its measured period begins, before the first step in it.
    fn begin_measured(&self);
}

/// The effects of other transactions on one step of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stepped {
    /// The number of attempts in the step that failed and were retried.
    pub failed: u64,
    /// The reason of the client's last attempt that failed and was retried, in this step or an earlier one.
    pub last_failure: Abort,
    /// Whether the step had to wait for a lock.
    pub has_waited: bool,
}

/// The number of steps that a worker may still make in the measured period, over all its clients, and the CPU time of
/// its thread.
pub(crate) struct Steps {
    left: Cell<Option<u64>>,
    /// The time of the worker's thread in the measured period.
    pub clock: ThreadClock,
}

impl Steps {
    pub fn new(config: &RunConfig) -> Self {
        Self { left: Cell::new(config.steps_per_worker), clock: ThreadClock::default() }
    }

    /// Begins the measured period for this worker: its CPU time counts from now on. Only the first call, which returns
    /// `true`, has an effect.
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

/// Returns the message of a panic, or "no message" if the panic's value is not a text.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// Converts the outcome of a worker's code, which may be a panic or an abort, to the error that the run reports.
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
