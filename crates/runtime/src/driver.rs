//! Worker threads that run procedures for a measured time, one transaction at a time on each.

use crate::run::{Pace, Run, Stepped, Steps, outcome_of};
use crate::{OneShot, RunConfig, RunError, RunReport};
use hotrow_sync::{Waiter, thread};
use hotrow_txn::{Abort, Transaction, WorkerId};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Runs a benchmark: starts `threads` workers, runs them through the warm-up and the measured period, and returns the
/// sum of their counts. Blocks until all of them have ended.
///
/// Each worker calls `make` on its own thread for a transaction object and a client, and then calls the client again
/// and again. Each call is a *step*, usually one [`Runner::run`](hotrow_txn::Runner::run). The transaction object must
/// wait through the waiter that is passed to `make`. If a step returns [`Abort::User`], its transaction was rolled back
/// on purpose, and the run continues.
///
/// At the end of the measured period, steps that still run are cancelled. They count neither as committed nor as
/// aborted.
///
/// # Errors
/// The first failure, if a worker has panicked, or if one of its steps has returned another error than [`Abort::User`].
/// The other workers are stopped.
pub fn drive<T, C>(config: &RunConfig, make: impl Fn(WorkerId, &Waiter) -> (T, C) + Sync) -> Result<RunReport, RunError>
where
    T: Transaction,
    C: FnMut(&mut OneShot<T>) -> Result<(), Abort>,
{
    let run = Run::new(config);
    let timing = thread::scope(|scope| {
        for number in 0..config.threads {
            let (run, make) = (&run, &make);
            scope.spawn(move || work(run, WorkerId(number as u32), make));
        }
        run.time()
    });
    run.into_report(timing)
}

/// Runs a worker's thread, from its first step to its last.
fn work<T, C>(run: &Run<'_>, worker: WorkerId, make: impl Fn(WorkerId, &Waiter) -> (T, C))
where
    T: Transaction,
    C: FnMut(&mut OneShot<T>) -> Result<(), Abort>,
{
    let waiter = Waiter::thread(run.config.spin);
    run.enter(&waiter);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let (txn, mut client) = make(worker, &waiter);
        let mut runner = run.runner(txn, &waiter, worker.0 as usize);
        let steps = Steps::new(run.config);
        let pace = Alone { waiter: &waiter, waited_before_ns: Cell::default() };
        run.step_until_stopped(&pace, &steps, &mut runner, &mut client)?;
        steps.clock.add_idle(pace.waited());
        steps.clock.end_stretch(false);
        let mut counts = runner.counts().clone();
        let cpu = steps.clock.add_to(&mut counts);
        Ok((counts, cpu, !steps.are_left()))
    }));
    match outcome_of(worker, outcome) {
        Ok((counts, cpu, made_all)) => run.finish(&counts, cpu, made_all, false),
        Err(error) => run.fail(error),
    }
}

/// The pace of a worker that shares its thread with no other.
struct Alone<'w> {
    waiter: &'w Waiter,
    /// The nanoseconds for which the waiter had waited when the measured period began.
    waited_before_ns: Cell<u64>,
}

impl Alone<'_> {
    /// Returns the time for which the worker has waited in the measured period.
    fn waited(&self) -> Duration {
        Duration::from_nanos(self.waiter.waited_ns() - self.waited_before_ns.get())
    }
}

impl Pace for Alone<'_> {
    #[inline]
    fn has_to_yield(&self) -> bool {
        false
    }

    fn yield_now(&self) {}

    #[inline]
    fn has_stepped(&self, _stepped: Stepped) {}

    fn begin_measured(&self) {
        self.waited_before_ns.set(self.waiter.waited_ns());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ThreadTime;
    use crate::fake::{Fake, ReadOne};
    use hotrow_sync::Wake;
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
    fn a_thread_is_idle_while_its_transaction_waits() {
        const PAUSE: Duration = Duration::from_millis(1);
        let config = config(2, Some(3));
        let report = drive(&config, |_, waiter| {
            let waiter = waiter.clone();
            let client = move |runner: &mut OneShot<Fake>| {
                assert_eq!(waiter.pause(PAUSE), Wake::TimedOut);
                runner.run(&ReadOne(Ok(1))).map(drop)
            };
            (Fake::default(), client)
        });
        let counts = report.expect("nothing fails").counts;
        let ThreadTime { total_ns, idle_ns, .. } = counts.execution;
        assert!(u128::from(idle_ns) >= 2 * 3 * PAUSE.as_nanos() && idle_ns <= total_ns, "{:?}", counts.execution);
        assert_eq!(counts.service, ThreadTime::default());
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
        let (warmup, measured) = (Duration::from_millis(20), Duration::from_millis(200));
        let config = RunConfig { threads: 1, warmup, measured, ..RunConfig::default() };
        let report = drive_to(&config, || Ok(1)).expect("nothing fails");
        assert_eq!(report.counts.retries, 0, "the one retry was in the warm-up");
        assert!(report.counts.committed > 0 && report.elapsed >= measured);
    }
}
