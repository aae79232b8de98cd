//! Worker threads that run procedures for a measured time.

use crate::{Counts, OneShot, OneShotConfig, RunReport, Stop};
use hotrow_sync::atomic::{AtomicU8, Ordering};
use hotrow_sync::{Mutex, Waiter, thread};
use hotrow_txn::{Abort, Transaction, WorkerId};
use rustix::time::{ClockId, clock_gettime};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// How [`drive`] is to run.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// How many workers, each a thread.
    pub threads: usize,
    /// How long they run before anything is counted.
    pub warmup: Duration,
    /// How long they run after that.
    pub measured: Duration,
    /// Ends the measured period once every worker made so many steps in it; a bound for tests.
    pub steps_per_worker: Option<u64>,
    /// How long a waiting thread spins before it blocks.
    pub spin: Duration,
    /// How each worker runs its procedures. Workers get seeds of their own.
    pub one_shot: OneShotConfig,
    /// Ends the run early when raised. The run raises it itself at its end.
    pub stop: Stop,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            threads: 1,
            warmup: Duration::from_secs(1),
            measured: Duration::from_secs(5),
            steps_per_worker: None,
            spin: Duration::from_micros(20),
            one_shot: OneShotConfig::default(),
            stop: Stop::new(),
        }
    }
}

/// Why a run failed as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// A worker's code panicked with this message.
    Panicked {
        /// Which worker.
        worker: WorkerId,
        /// What the panic said.
        message: String,
    },
    /// A procedure ended in a way that a workload cannot go on from.
    Failed {
        /// Which worker.
        worker: WorkerId,
        /// How it ended.
        abort: Abort,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Panicked { worker, message } => write!(f, "worker {} panicked: {message}", worker.0),
            RunError::Failed { worker, abort } => write!(f, "worker {} cannot go on: {abort}", worker.0),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs `threads` workers through warm-up and the measured period, and adds up what they counted.
///
/// Each worker calls `make` on its own thread for a transaction object and a client, and then calls the client over and
/// over: a step, usually one [`Runner::run`](hotrow_txn::Runner::run). The transaction must wait through the waiter
/// that `make` is given. A step that returns [`Abort::User`] was rolled back on purpose, and the run goes on.
///
/// At the end of the period the steps under way are cancelled. They count neither as committed nor as aborted.
///
/// # Errors
/// The first worker's failure, if one panicked or ended with an abort that no retry cures; the others are stopped.
pub fn drive<T, C>(config: &RunConfig, make: impl Fn(WorkerId, &Waiter) -> (T, C) + Sync) -> Result<RunReport, RunError>
where
    T: Transaction,
    C: FnMut(&mut OneShot<T>) -> Result<(), Abort>,
{
    let run = Run {
        config,
        phase: AtomicU8::new(if config.warmup.is_zero() { MEASURED } else { WARMUP }),
        total: Mutex::new(Total::default()),
    };
    let waiters: Vec<_> = (0..config.threads).map(|_| Waiter::thread(config.spin)).collect();
    let (elapsed, stopped_early) = thread::scope(|scope| {
        for (number, waiter) in waiters.iter().enumerate() {
            let (run, make) = (&run, &make);
            scope.spawn(move || run.work(WorkerId(number as u32), waiter, make));
        }
        run.time(&waiters)
    });
    let total = run.total.into_inner().unwrap_or_else(|poison| poison.into_inner());
    match total.error {
        Some(error) => Err(error),
        None => Ok(RunReport { threads: config.threads, elapsed, stopped_early, counts: total.counts, cpu: total.cpu }),
    }
}

const WARMUP: u8 = 0;
const MEASURED: u8 = 1;

/// What the workers of one run share.
struct Run<'a> {
    config: &'a RunConfig,
    phase: AtomicU8,
    total: Mutex<Total>,
}

#[derive(Default)]
struct Total {
    counts: Counts,
    cpu: Duration,
    finished: usize,
    error: Option<RunError>,
}

impl Run<'_> {
    /// The timing thread: the length of the measured period, and whether somebody else ended it.
    fn time(&self, waiters: &[Waiter]) -> (Duration, bool) {
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
        for waiter in waiters {
            waiter.cancel();
        }
        (elapsed, stopped_early)
    }

    fn is_finished(&self) -> bool {
        self.total().finished == self.config.threads
    }

    fn total(&self) -> hotrow_sync::MutexGuard<'_, Total> {
        self.total.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// A worker's thread, from its first step to its last.
    fn work<T, C>(&self, worker: WorkerId, waiter: &Waiter, make: impl Fn(WorkerId, &Waiter) -> (T, C))
    where
        T: Transaction,
        C: FnMut(&mut OneShot<T>) -> Result<(), Abort>,
    {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let (txn, mut client) = make(worker, waiter);
            let seed = self.config.one_shot.seed.wrapping_add(u64::from(worker.0));
            let one_shot = OneShotConfig { seed, ..self.config.one_shot };
            let mut runner = OneShot::new(txn, waiter.clone(), one_shot).until(&self.config.stop);
            let cpu = self.step_until_stopped(&mut runner, &mut client)?;
            Ok((runner.counts().clone(), cpu))
        }));
        let error = match outcome {
            Ok(Ok((counts, cpu))) => return self.finish(&counts, cpu),
            Ok(Err(abort)) => RunError::Failed { worker, abort },
            Err(panic) => RunError::Panicked { worker, message: panic_message(panic.as_ref()) },
        };
        self.total().error.get_or_insert(error);
        self.config.stop.raise();
    }

    /// Steps through both phases: the CPU time of the measured one.
    fn step_until_stopped<T, C>(&self, runner: &mut OneShot<T>, client: &mut C) -> Result<Duration, Abort>
    where
        T: Transaction,
        C: FnMut(&mut OneShot<T>) -> Result<(), Abort>,
    {
        let (mut measured, mut steps, mut cpu_before) = (false, 0, Duration::ZERO);
        while !self.config.stop.is_raised() {
            if !measured && self.phase.load(Ordering::Acquire) == MEASURED {
                measured = true;
                runner.reset();
                cpu_before = thread_cpu_time();
            }
            match client(runner) {
                Ok(()) | Err(Abort::User) => steps += u64::from(measured),
                Err(Abort::Cancelled) if self.config.stop.is_raised() => break,
                Err(abort) => return Err(abort),
            }
            if self.config.steps_per_worker == Some(steps) {
                break;
            }
        }
        if !measured {
            runner.reset();
            return Ok(Duration::ZERO);
        }
        Ok(thread_cpu_time().saturating_sub(cpu_before))
    }

    fn finish(&self, counts: &Counts, cpu: Duration) {
        let mut total = self.total();
        total.counts.add(counts);
        total.cpu += cpu;
        total.finished += 1;
        drop(total);
        if self.is_finished() {
            self.config.stop.raise();
        }
    }
}

/// User and system time of the calling thread.
fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// What a panic said, as far as it said anything.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{Fake, ReadOne};
    use hotrow_txn::Runner;

    fn config(threads: usize, steps: Option<u64>) -> RunConfig {
        let measured = Duration::from_secs(3600);
        RunConfig { threads, warmup: Duration::ZERO, measured, steps_per_worker: steps, ..RunConfig::default() }
    }

    /// Runs one procedure after the other; worker 1 ends with `outcome` at its tenth.
    fn drive_to(config: &RunConfig, outcome: impl Fn() -> Result<i64, Abort> + Sync) -> Result<RunReport, RunError> {
        drive(config, |worker, _| {
            let (outcome, mut steps) = (&outcome, 0);
            let client = move |runner: &mut OneShot<Fake>| {
                steps += 1;
                let result = if worker.0 == 1 && steps == 10 { outcome() } else { Ok(1) };
                runner.run(&ReadOne(result)).map(drop)
            };
            (Fake::aborting(&[Abort::Conflict]), client)
        })
    }

    #[test]
    fn workers_are_counted_together() {
        let report = drive_to(&config(3, Some(50)), || Ok(1)).expect("nothing fails");
        assert_eq!((report.counts.committed, report.counts.retries, report.counts.statistics.locks), (150, 3, 153));
        assert!(!report.stopped_early && report.throughput() > 0.0 && report.cpu > Duration::ZERO);
        assert_eq!(report.counts.latency_ns.len(), 3 * 50_u64.div_ceil(16));
    }

    #[test]
    fn a_rollback_is_no_failure() {
        let report = drive_to(&config(2, Some(50)), || Err(Abort::User)).expect("a rollback is on purpose");
        assert_eq!((report.counts.committed, report.counts.aborted.of(Abort::User)), (99, 1));
    }

    #[test]
    fn a_failing_worker_ends_the_run() {
        let failed = drive_to(&config(2, None), || Err(Abort::Resources)).expect_err("worker 1 fails");
        assert_eq!(failed, RunError::Failed { worker: WorkerId(1), abort: Abort::Resources });
        let panicked = drive_to(&config(2, None), || panic!("at step {}", 10)).expect_err("worker 1 panics");
        assert_eq!(panicked, RunError::Panicked { worker: WorkerId(1), message: "at step 10".to_owned() });
    }

    #[test]
    fn the_stop_flag_ends_a_run_early() {
        let config = config(2, None);
        let stop = config.stop.clone();
        let report = drive_to(&config, || {
            stop.raise();
            Ok(1)
        });
        assert!(report.expect("stopping is no failure").stopped_early);
    }

    #[test]
    fn only_the_measured_period_counts() {
        let (warmup, measured) = (Duration::from_millis(20), Duration::from_millis(20));
        let config = RunConfig { threads: 1, warmup, measured, ..RunConfig::default() };
        let report = drive_to(&config, || Ok(1)).expect("nothing fails");
        assert_eq!(report.counts.retries, 0, "the one retry was in the warm-up");
        assert!(report.counts.committed > 0 && report.elapsed >= measured);
    }
}
