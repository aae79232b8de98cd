//! The runner of one-shot procedures on one transaction object.

use crate::{Breakdown, Counts, Planner, Retry, RetryConfig, Stop};
use hotrow_sync::wait::let_others_finish;
use hotrow_sync::{Time, Waiter, Wake};
use hotrow_txn::{Abort, Begin, Concurrency, Isolation, Procedure, Runner, Statistics, Transaction};

/// The configuration of [`OneShot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneShotConfig {
    /// The isolation level of procedures that do not ask for another one.
    pub isolation: Isolation,
    /// The choice between optimistic and pessimistic concurrency control, under an engine that offers both. Other
    /// engines ignore it.
    pub concurrency: ConcurrencyMix,
    /// Whether a procedure's access set is passed to the engine when the transaction begins, so that the engine can
    /// look up or lock all rows together. Otherwise it does so row by row. An engine that needs the access set gets it
    /// in any case.
    pub batch: bool,
    /// The sampling interval: one procedure in this many is sampled, beginning with the first; zero samples none. Most
    /// samples count toward the latency.
    pub sample_every: u32,
    /// The interval of breakdowns: one sample in this many counts toward the breakdown instead of the latency, because
    /// reading the clock at every access makes the transaction slower than others. It is at least one.
    pub breakdown_every: u32,
    /// The back-off after an abort that a retry can cure.
    pub retry: RetryConfig,
    /// The seed of the random lengths of back-off pauses.
    pub seed: u64,
}

impl Default for OneShotConfig {
    fn default() -> Self {
        let isolation = Isolation::Serializable;
        let (concurrency, retry) = (ConcurrencyMix::default(), RetryConfig::default());
        Self { isolation, concurrency, batch: true, sample_every: 16, breakdown_every: 8, retry, seed: 0 }
    }
}

/// The rule by which a runner chooses optimistic or pessimistic concurrency control for each procedure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConcurrencyMix {
    /// The engine uses its default.
    #[default]
    Default,
    /// All procedures use this concurrency control.
    All(Concurrency),
    /// The runner's procedures are optimistic and pessimistic in turn.
    Alternating,
}

impl ConcurrencyMix {
    /// Returns the concurrency control of a runner's procedure number `number`, or `None` if the engine decides.
    fn of(self, number: usize) -> Option<Concurrency> {
        match self {
            ConcurrencyMix::Default => None,
            ConcurrencyMix::All(concurrency) => Some(concurrency),
            ConcurrencyMix::Alternating => Some(Concurrency::ALL[number % Concurrency::ALL.len()]),
        }
    }
}

/// The figure that is sampled of a procedure.
#[derive(Clone, Copy)]
enum Sample {
    Nothing,
    Latency,
    Breakdown,
}

/// The counts before a procedure began whose time is broken down.
struct Before {
    statistics: Statistics,
    /// The nanoseconds for which the waiter had waited.
    suspended_ns: u64,
}

/// The [`Runner`] of a benchmark's client: it runs procedures, one after the other, on one transaction object, retries
/// them after aborts, and counts and samples what happens.
///
/// One thread at a time may use it. The runner itself allocates no memory to run a procedure.
#[derive(Debug)]
pub struct OneShot<T> {
    txn: T,
    waiter: Waiter,
    config: OneShotConfig,
    stop: Option<Stop>,
    planner: Planner,
    retry: Retry,
    /// The number of procedures that were run so far, however they ended.
    procedures: usize,
    until_sample: u32,
    samples: u32,
    last_failure: Abort,
    counts: Counts,
    counted: Statistics,
    /// The nanoseconds that it takes to read the clock; `None` until they were measured.
    clock_ns: Option<f64>,
}

impl<T: Transaction> OneShot<T> {
    /// Makes a runner on the transaction object `txn`, which must wait through `waiter`.
    pub fn new(txn: T, waiter: Waiter, config: OneShotConfig) -> Self {
        Self {
            txn,
            waiter,
            config,
            stop: None,
            planner: Planner::default(),
            retry: Retry::new(config.retry, config.seed),
            procedures: 0,
            until_sample: 0,
            samples: 0,
            last_failure: Abort::User,
            counts: Counts::default(),
            counted: Statistics::default(),
            clock_ns: None,
        }
    }

    /// Makes the runner obey `stop`: once the flag is raised, an attempt that fails is not retried, and
    /// [`run`](Runner::run) returns [`Abort::Cancelled`].
    pub fn until(mut self, stop: &Stop) -> Self {
        self.stop = Some(stop.clone());
        self
    }

    /// Returns the counts since the runner was made or last [`reset`](Self::reset).
    pub fn counts(&mut self) -> &Counts {
        self.counts.statistics = self.txn.statistics().since(&self.counted);
        self.counts.estimates = self.planner.estimates();
        &self.counts
    }

    /// Returns the number of attempts that failed and were retried since the runner was made or last
    /// [`reset`](Self::reset).
    #[inline]
    pub(crate) fn retries(&self) -> u64 {
        self.counts.retries
    }

    /// Returns the number of lock requests that had to wait since the transaction object was made.
    #[inline]
    pub(crate) fn waits(&mut self) -> u64 {
        self.txn.statistics().waits
    }

    /// Returns the reason of the last attempt that failed and was retried, or [`Abort::User`] if there was none.
    #[inline]
    pub(crate) fn last_failure(&self) -> Abort {
        self.last_failure
    }

    /// Sets the counts that [`counts`](Self::counts) returns to zero, at the begin of a measured period.
    pub fn reset(&mut self) {
        self.counted = *self.txn.statistics();
        self.planner.reset();
        self.counts = Counts::default();
    }

    /// Returns the transaction object. Between two procedures, the caller may run a transaction of its own on it.
    pub fn transaction(&mut self) -> &mut T {
        &mut self.txn
    }

    /// Begins, runs and commits a procedure once, after a reconnaissance if one is needed.
    #[inline]
    fn attempt<P: Procedure>(&mut self, procedure: &P) -> Result<P::Output, Abort> {
        if self.planner.is_unknown() {
            self.planner.reconnoitre(&mut self.txn, procedure)?;
        }
        let accesses = self.planner.accesses();
        let isolation = procedure.isolation().unwrap_or(self.config.isolation);
        let (read_only, concurrency) = (procedure.read_only(), self.config.concurrency.of(self.procedures));
        self.txn.begin(&Begin { isolation, concurrency, read_only, accesses, one_shot: true, ..Begin::default() })?;
        let output = procedure.run(&mut self.txn)?;
        self.txn.commit()?;
        Ok(output)
    }

    /// Undoes an attempt and pauses. Returns an error if there will be no other attempt.
    #[cold]
    fn prepare_retry<P: Procedure>(&mut self, procedure: &P, abort: Abort) -> Result<(), Abort> {
        if abort == Abort::OutsidePlan {
            self.planner.correct(&mut self.txn, procedure);
        }
        if self.is_stopped() {
            self.txn.abort();
            return Err(Abort::Cancelled);
        }
        self.counts.aborted.count(abort);
        if !abort.is_retryable() || !self.retry.again() {
            self.txn.abort();
            return Err(abort);
        }
        self.counts.retries += 1;
        self.last_failure = abort;
        let waited = self.txn.give_way(None)?;
        let is_cancelled = !waited && self.retry.pause(&self.waiter) == Wake::Cancelled;
        if is_cancelled || self.is_stopped() {
            // The transaction does not return to the place where it has its turn.
            self.txn.idle();
            return Err(Abort::Cancelled);
        }
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(Stop::is_raised)
    }

    /// Chooses the figure that is sampled of this procedure.
    #[inline]
    fn sample(&mut self) -> Sample {
        if self.until_sample > 0 {
            self.until_sample -= 1;
            return Sample::Nothing;
        }
        if self.config.sample_every == 0 {
            return Sample::Nothing;
        }
        self.until_sample = self.config.sample_every - 1;
        self.samples = self.samples.wrapping_add(1);
        if self.samples.is_multiple_of(self.config.breakdown_every) { Sample::Breakdown } else { Sample::Latency }
    }

    #[inline]
    fn run_until_done<P: Procedure>(&mut self, procedure: &P) -> Result<P::Output, Abort> {
        loop {
            match self.attempt(procedure) {
                Ok(output) => return Ok(output),
                Err(abort) => self.prepare_retry(procedure, abort)?,
            }
        }
    }

    /// Runs a procedure as [`run_until_done`](Self::run_until_done) does, and reads the clock before and after.
    #[cold]
    fn run_for_latency<P: Procedure>(&mut self, procedure: &P) -> Result<P::Output, Abort> {
        let first_begin = self.waiter.now();
        let outcome = self.run_until_done(procedure);
        if outcome.is_ok() {
            self.counts.latency_ns.saturating_record(nanoseconds(self.waiter.now(), first_begin));
        }
        outcome
    }

    /// Runs a procedure as [`run_until_done`](Self::run_until_done) does. The clock is read around every attempt, and
    /// by the engine around every call of its lock manager.
    #[cold]
    fn run_for_breakdown<P: Procedure>(&mut self, procedure: &P) -> Result<P::Output, Abort> {
        self.txn.statistics().timed = true;
        let before = Before { statistics: *self.txn.statistics(), suspended_ns: self.waiter.waited_ns() };
        let first_begin = self.waiter.now();
        let mut last_begin = first_begin;
        let outcome = loop {
            match self.attempt(procedure) {
                Ok(output) => break Ok(output),
                Err(abort) => {
                    if let Err(abort) = self.prepare_retry(procedure, abort) {
                        break Err(abort);
                    }
                    last_begin = self.waiter.now();
                }
            }
        };
        if outcome.is_ok() {
            self.record_times(&before, first_begin, last_begin);
        }
        self.txn.statistics().timed = false;
        outcome
    }

    /// Records a committed procedure's times. The time that its failed attempts spent outside waits and the lock
    /// manager does not count as its work, and neither does the time of reading the clock.
    fn record_times(&mut self, before: &Before, first_begin: Time, last_begin: Time) {
        let latency_ns = nanoseconds(self.waiter.now(), first_begin);
        let retries_ns = nanoseconds(last_begin, first_begin);
        let statistics = self.txn.statistics().since(&before.statistics);
        let suspended_ns = self.waiter.waited_ns() - before.suspended_ns;
        let clock_ns = *self.clock_ns.get_or_insert_with(|| clock_ns(&self.waiter));
        self.counts.breakdown.add(&Breakdown::of_one(latency_ns, retries_ns, suspended_ns, &statistics, clock_ns));
    }
}

/// Measures the time that it takes to read the waiter's clock, in nanoseconds. Returns the least of a few measurements,
/// so that the result is too small rather than too large.
#[cold]
fn clock_ns(waiter: &Waiter) -> f64 {
    const MEASUREMENTS: usize = 16;
    const READINGS: u32 = 64;
    let measure = || {
        let begin = waiter.now();
        let end = (0..READINGS).fold(begin, |_, _| waiter.now());
        nanoseconds(end, begin) as f64 / f64::from(READINGS)
    };
    (0..MEASUREMENTS).map(|_| measure()).fold(f64::INFINITY, f64::min)
}

impl<T: Transaction> Runner for OneShot<T> {
    #[inline]
    fn run<P: Procedure>(&mut self, procedure: &P) -> Result<P::Output, Abort> {
        let capabilities = self.txn.capabilities();
        if self.config.batch || capabilities.needs_accesses {
            self.planner.begin(capabilities, procedure);
        } else {
            self.planner.begin_without();
        }
        self.retry.reset();
        let outcome = match self.sample() {
            Sample::Nothing => self.run_until_done(procedure),
            Sample::Latency => self.run_for_latency(procedure),
            Sample::Breakdown => self.run_for_breakdown(procedure),
        };
        self.counts.committed += u64::from(outcome.is_ok());
        self.procedures = self.procedures.wrapping_add(1);
        let_others_finish();
        outcome
    }

    #[inline]
    fn note(&mut self, kind: usize, succeeded: bool) {
        self.counts.kinds.count(kind, succeeded);
    }
}

fn nanoseconds(later: Time, earlier: Time) -> u64 {
    later.0.saturating_sub(earlier.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KindCount;
    use crate::fake::{Fake, NeedsLevel, ReadOne, Tells};
    use crate::planner::HINT_ROWS_MAX;
    use std::time::Duration;

    fn runner(aborts: &[Abort], change: impl FnOnce(&mut OneShotConfig)) -> OneShot<Fake> {
        let mut config = OneShotConfig::default();
        change(&mut config);
        OneShot::new(Fake::aborting(aborts), Waiter::thread(Duration::ZERO), config)
    }

    #[test]
    fn what_a_retry_can_cure_is_retried() {
        let mut runner = runner(&[Abort::Conflict, Abort::Timeout, Abort::Conflict], |_| ());
        assert_eq!(runner.run(&ReadOne(Ok(7))), Ok(7));
        let counts = runner.counts();
        assert_eq!((counts.committed, counts.retries, counts.statistics.locks), (1, 3, 4));
        let aborted: Vec<_> = counts.aborted.nonzero().collect();
        assert_eq!(aborted, [(Abort::Conflict, 2), (Abort::Timeout, 1)]);
        let once = ["begin", "read", "commit"];
        let calls = &runner.transaction().calls;
        assert_eq!(calls[..4], ["begin", "read", "commit", "abort"]);
        assert_eq!(calls[calls.len() - 3..], once);
    }

    #[test]
    fn what_clients_note_is_counted_by_kind() {
        let mut runner = runner(&[], |_| ());
        for succeeded in [true, false, true] {
            assert_eq!(runner.run(&ReadOne(Ok(7))), Ok(7));
            runner.note(2, succeeded);
        }
        let kinds = runner.counts().kinds;
        assert_eq!((kinds.of(2), kinds.of(0)), (KindCount { committed: 3, succeeded: 2 }, KindCount::default()));
    }

    #[test]
    fn what_no_retry_cures_is_returned() {
        for abort in [Abort::User, Abort::Resources, Abort::Cancelled] {
            let mut runner = runner(&[], |_| ());
            assert_eq!(runner.run(&ReadOne(Err(abort))), Err(abort));
            assert_eq!(runner.transaction().calls, ["begin", "read", "abort"]);
            assert_eq!((runner.counts().committed, runner.counts().aborted.of(abort)), (0, 1));
        }
    }

    #[test]
    fn attempts_are_bounded_and_end_with_the_stop_flag() {
        let mut bounded = runner(&[Abort::Conflict; 9], |config| config.retry.attempts = 2);
        assert_eq!(bounded.run(&ReadOne(Ok(0))), Err(Abort::Conflict));
        assert_eq!(bounded.counts().aborted.total(), 3);

        let stop = Stop::new();
        let mut stopped = runner(&[Abort::Conflict; 9], |_| ()).until(&stop);
        stop.raise();
        assert_eq!(stopped.run(&ReadOne(Ok(0))), Err(Abort::Cancelled));
        assert_eq!(stopped.counts().aborted.total(), 0, "an attempt that was stopped is no abort");
    }

    #[test]
    fn accesses_are_told_unless_batching_is_off() {
        for (batch, announced) in [(true, vec![1, 1]), (false, vec![0, 0])] {
            let mut runner = runner(&[Abort::Conflict], |config| config.batch = batch);
            assert_eq!(runner.run(&ReadOne(Ok(1))), Ok(1));
            assert_eq!(runner.transaction().announced, announced);
        }
    }

    #[test]
    fn a_procedure_keeps_its_way_when_it_is_run_again() {
        use Concurrency::{Optimistic, Pessimistic};
        for (concurrency, expected) in [
            (ConcurrencyMix::Default, [None; 4]),
            (ConcurrencyMix::All(Pessimistic), [Some(Pessimistic); 4]),
            (ConcurrencyMix::Alternating, [Some(Optimistic), Some(Optimistic), Some(Pessimistic), Some(Optimistic)]),
        ] {
            let mut runner = runner(&[Abort::Conflict], |config| config.concurrency = concurrency);
            for _ in 0..3 {
                assert_eq!(runner.run(&ReadOne(Ok(7))), Ok(7));
            }
            assert_eq!(runner.transaction().ways, expected);
        }
    }

    #[test]
    fn a_hint_is_no_longer_than_it_is_of_use() {
        // A set whose rows are locked is passed in full.
        for (locks_accesses, announced) in [(false, [HINT_ROWS_MAX, 0]), (true, [HINT_ROWS_MAX, HINT_ROWS_MAX + 1])] {
            let mut runner = runner(&[], |_| ());
            runner.transaction().capabilities.locks_accesses = locks_accesses;
            let longest = HINT_ROWS_MAX as i64;
            for rows in [longest, longest + 1] {
                assert_eq!(runner.run(&Tells(rows)), Ok(()));
            }
            assert_eq!(runner.transaction().announced, announced);
        }
    }

    #[test]
    fn a_procedure_runs_at_the_level_that_it_needs() {
        let mut runner = runner(&[], |config| config.isolation = Isolation::ReadCommitted);
        assert_eq!((runner.run(&ReadOne(Ok(1))), runner.run(&NeedsLevel(Isolation::Snapshot))), (Ok(1), Ok(())));
        assert_eq!(runner.transaction().levels, [Isolation::ReadCommitted, Isolation::Snapshot]);
    }

    #[test]
    fn one_procedure_of_so_many_is_timed() {
        // Every eighth sample counts toward the breakdown.
        for (sample_every, samples) in [(0, 0), (1, 11), (4, 3), (100, 1)] {
            let mut runner = runner(&[], |config| config.sample_every = sample_every);
            for _ in 0..12 {
                assert_eq!(runner.run(&ReadOne(Ok(1))), Ok(1));
            }
            let counts = runner.counts();
            assert_eq!((counts.committed, counts.latency_ns.len()), (12, samples), "every {sample_every}");
            runner.reset();
            assert_eq!((runner.counts().committed, runner.counts().statistics.locks), (0, 0));
        }
    }
}
