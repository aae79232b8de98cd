//! Tests which of a worker's slots runs when, by clients that log what they do.

use super::*;
use crate::fake::{Fake, ReadOne};
use hotrow_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use hotrow_sync::{Arc, Mutex, Time, Wake};
use hotrow_txn::{Runner, Statistics};
use std::time::Duration;

fn config(threads: usize, slots: usize, steps: Option<u64>) -> PoolConfig {
    let measured = Duration::from_secs(3600);
    let run = RunConfig { threads, warmup: Duration::ZERO, measured, steps_per_worker: steps, ..RunConfig::default() };
    PoolConfig { run, slots, ..PoolConfig::default() }
}

/// The log of what the clients of one worker did, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn push(&self, slot: Slot, what: &str) {
        self.0.lock().expect("not poisoned").push(format!("{} {what}", slot.number));
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().expect("not poisoned").clone()
    }
}

/// An event that transactions can wait for.
#[derive(Default)]
struct Event {
    happened: AtomicBool,
    waiters: Mutex<Vec<Waiter>>,
}

impl Event {
    fn wait(&self, waiter: &Waiter) -> Wake {
        self.waiters.lock().expect("not poisoned").push(waiter.clone());
        waiter.wait_until(None, || self.happened.load(Ordering::Acquire))
    }

    fn happen(&self) {
        self.happened.store(true, Ordering::Release);
        self.waiters.lock().expect("not poisoned").iter().for_each(Waiter::wake);
    }
}

/// Drives one worker without duties, whose clients all do `step`. The last argument of `step` is the number of the
/// slot's step.
fn drive_one(
    config: &PoolConfig,
    step: impl Fn(Slot, &Waiter, u64) -> Result<(), Abort> + Sync,
) -> Result<RunReport, RunError> {
    drive_with(config, |_| (), step)
}

fn drive_with<D: Duties>(
    config: &PoolConfig,
    make_worker: impl Fn(WorkerId) -> D + Sync,
    step: impl Fn(Slot, &Waiter, u64) -> Result<(), Abort> + Sync,
) -> Result<RunReport, RunError> {
    drive_pool(config, make_worker, |_, slot, waiter| {
        let (step, waiter, mut steps) = (&step, waiter.clone(), 0);
        let client = move |runner: &mut OneShot<Fake>| {
            steps += 1;
            step(slot, &waiter, steps)?;
            runner.run(&ReadOne(Ok(1))).map(drop)
        };
        (Fake::default(), client)
    })
}

#[test]
fn nobody_is_switched_while_nobody_waits() {
    let log = Log::default();
    let report = drive_one(&config(1, 5, Some(20)), |slot, _, _| {
        log.push(slot, "steps");
        Ok(())
    });
    assert_eq!(report.expect("nothing fails").counts.committed, 20);
    assert_eq!(log.lines(), vec!["0 steps"; 20]);
}

#[test]
fn who_is_woken_goes_before_who_begins() {
    let (log, event) = (Log::default(), Event::default());
    let report = drive_one(&config(1, 3, Some(6)), |slot, waiter, step| {
        log.push(slot, "begins");
        if slot.number < 2 && step == 1 {
            assert_eq!(event.wait(waiter), Wake::Ready);
            log.push(slot, "goes on");
        } else if slot.number == 2 && step == 2 {
            event.happen();
        }
        Ok(())
    });
    assert_eq!(report.expect("nothing fails").counts.committed, 6);
    let expected = ["0 begins", "1 begins", "2 begins", "2 begins", "0 goes on", "1 goes on", "1 begins", "1 begins"];
    assert_eq!(log.lines(), expected);
}

#[test]
fn a_pause_ends_though_others_go_on_and_on() {
    let paused = AtomicBool::new(false);
    let config = config(1, 2, None);
    let report = drive_one(&config, |slot, waiter, step| {
        match (slot.number, step) {
            (0, 1) => {
                assert_eq!(waiter.pause(Duration::from_millis(1)), Wake::TimedOut);
                paused.store(true, Ordering::Release);
            }
            // Not before the first transaction has committed: if the system delayed the worker, all steps of the other
            // client might come too late.
            (0, 2) => config.run.stop.raise(),
            _ => {}
        }
        Ok(())
    });
    let report = report.expect("nothing fails");
    assert!(paused.load(Ordering::Acquire) && report.stopped_early && report.counts.committed > 0);
}

#[test]
fn where_attempts_fail_fewer_transactions_are_under_way_until_they_succeed_again() {
    const SLOTS: usize = 4;
    let (under_way, failing) = (AtomicUsize::new(0), AtomicUsize::new(SLOTS));
    let after = Mutex::new(Vec::new());
    let report = drive_pool(
        &config(1, SLOTS, Some(400)),
        |_| (),
        |(), _, waiter| {
            let (waiter, under_way, failing, after) = (waiter.clone(), &under_way, &failing, &after);
            let mut steps = 0;
            let client = move |runner: &mut OneShot<Fake>| {
                let now = under_way.fetch_add(1, Ordering::AcqRel) + 1;
                if failing.load(Ordering::Acquire) == 0 {
                    after.lock().expect("not poisoned").push(now);
                }
                assert_eq!(waiter.pause(Duration::from_micros(50)), Wake::TimedOut);
                let outcome = runner.run(&ReadOne(Ok(1))).map(drop);
                failing.fetch_sub(usize::from(steps == 0), Ordering::AcqRel);
                steps += 1;
                under_way.fetch_sub(1, Ordering::AcqRel);
                outcome
            };
            (Fake::aborting(&[Abort::Deadlock; 30]), client)
        },
    );
    assert_eq!(report.expect("nothing fails").counts.committed, 400);
    let after = after.into_inner().expect("not poisoned");
    assert_eq!(after[..20], [1; 20]);
    assert_eq!(after.iter().max(), Some(&SLOTS));
}

/// The number of transactions of a worker that are under way as each of its steps begins, if the transactions whose
/// numbers are in `waits` wait for others.
fn under_way(config: &PoolConfig, waits: impl Fn(usize) -> bool + Sync) -> Vec<usize> {
    let (under_way, begun) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let report = drive_pool(
        config,
        |_| (),
        |(), _, waiter| {
            let (waiter, under_way, begun, waits) = (waiter.clone(), &under_way, &begun, &waits);
            let client = move |runner: &mut OneShot<Fake>| {
                let number = {
                    let mut begun = begun.lock().expect("not poisoned");
                    begun.push(under_way.fetch_add(1, Ordering::AcqRel) + 1);
                    begun.len() - 1
                };
                if waits(number) {
                    assert_eq!(waiter.pause(Duration::from_micros(100)), Wake::TimedOut);
                    runner.transaction().statistics().waits += 1;
                }
                let outcome = runner.run(&ReadOne(Ok(1))).map(drop);
                under_way.fetch_sub(1, Ordering::AcqRel);
                outcome
            };
            (Fake::default(), client)
        },
    );
    report.expect("nothing fails");
    begun.into_inner().expect("not poisoned")
}

#[test]
fn where_steps_wait_fewer_transactions_are_under_way_if_waits_are_to_count() {
    const SLOTS: usize = 4;
    for (follows_waits, expected) in [(true, 1), (false, SLOTS)] {
        let begun = under_way(&PoolConfig { follows_waits, ..config(1, SLOTS, Some(400)) }, |_| true);
        assert_eq!((begun.len(), begun[300..].iter().max()), (400, Some(&expected)));
    }
}

#[test]
fn where_few_steps_wait_more_are_under_way_again() {
    let begun = under_way(&config(1, 4, Some(1500)), |step| step < 100 || step.is_multiple_of(20));
    assert_eq!(begun[90..100].iter().max(), Some(&1));
    assert!(begun[1000..].iter().max() > Some(&1), "others run while one waits");
}

#[test]
fn workers_wake_each_other_and_are_counted_together() {
    const STEPS: u64 = 300;
    let turns = AtomicU64::new(0);
    let waiters = Mutex::new(Vec::new());
    let report = drive_one(&config(2, 3, Some(STEPS)), |slot, waiter, step| {
        if step == 1 {
            waiters.lock().expect("not poisoned").push(waiter.clone());
        }
        // Each worker waits until the other has made as many steps, or all its steps.
        let own = 1 << (32 * slot.worker.0);
        let turn = turns.fetch_add(own, Ordering::AcqRel) + own;
        waiters.lock().expect("not poisoned").iter().for_each(Waiter::wake);
        let of = |turns: u64, worker: u32| turns >> (32 * worker) & u64::from(u32::MAX);
        let goal = of(turn, slot.worker.0).min(STEPS / 2);
        let wake = waiter.wait_until(None, || of(turns.load(Ordering::Acquire), 1 - slot.worker.0) >= goal);
        assert_eq!(wake, Wake::Ready);
        Ok(())
    });
    let report = report.expect("nothing fails");
    assert_eq!((report.counts.committed, report.counts.statistics.locks), (2 * STEPS, 2 * STEPS));
    assert!(!report.stopped_early && report.threads == 2 && report.cpu > Duration::ZERO);
}

#[test]
fn seats_are_numbered_over_all_workers() {
    let seats = Mutex::new(Vec::new());
    let steps = config(3, 4, Some(1));
    let report = drive_pool(
        &steps,
        |_| (),
        |(), slot, _| {
            seats.lock().expect("not poisoned").push((slot.worker.0, slot.number));
            (Fake::default(), |runner: &mut OneShot<Fake>| runner.run(&ReadOne(Ok(1))).map(drop))
        },
    );
    assert_eq!(report.expect("nothing fails").counts.committed, 3);
    let mut seats = seats.into_inner().expect("not poisoned");
    seats.sort_unstable();
    assert_eq!(seats, (0..12).map(|number| (number as u32 / 4, number)).collect::<Vec<_>>());
}

#[test]
fn a_failing_client_ends_the_run_and_leaves_nobody_waiting() {
    type End = fn() -> Result<(), Abort>;
    let ends: [(End, RunError); 2] = [
        (|| Err(Abort::Resources), RunError::Failed { worker: WorkerId(0), abort: Abort::Resources }),
        (|| panic!("in a slot"), RunError::Panicked { worker: WorkerId(0), message: "in a slot".to_owned() }),
    ];
    for (end, expected) in ends {
        let (event, cancelled) = (Event::default(), AtomicUsize::new(0));
        let failed = drive_one(&config(1, 3, None), |slot, waiter, step| {
            if slot.number < 2 {
                assert_eq!(event.wait(waiter), Wake::Cancelled);
                cancelled.fetch_add(1, Ordering::AcqRel);
                return Err(Abort::Cancelled);
            }
            if step == 10 { end() } else { Ok(()) }
        });
        assert_eq!(failed.expect_err("a client fails"), expected);
        assert_eq!(cancelled.load(Ordering::Acquire), 2);
    }
}

#[test]
fn a_rollback_is_no_failure() {
    let report = drive_pool(
        &config(1, 2, Some(50)),
        |_| (),
        |(), _, _| {
            let mut steps = 0;
            let client = move |runner: &mut OneShot<Fake>| {
                steps += 1;
                runner.run(&ReadOne(if steps == 10 { Err(Abort::User) } else { Ok(1) })).map(drop)
            };
            (Fake::default(), client)
        },
    );
    let report = report.expect("a rollback is on purpose");
    assert_eq!((report.counts.committed, report.counts.aborted.of(Abort::User)), (49, 1));
}

#[test]
fn a_run_is_stopped_while_everybody_waits() {
    let config = config(2, 4, None);
    let waiting = AtomicUsize::new(0);
    let report = drive_one(&config, |_, waiter, _| {
        if waiting.fetch_add(1, Ordering::AcqRel) + 1 == 8 {
            config.run.stop.raise();
        }
        assert_eq!(waiter.wait_until(None, || false), Wake::Cancelled);
        Err(Abort::Cancelled)
    });
    let report = report.expect("stopping is no failure");
    assert_eq!((report.counts.committed, report.stopped_early), (0, true));
}

/// The rest of two workers, one of which only serves the other.
#[derive(Default)]
struct Rest {
    /// Whether the worker that runs transactions, and the one that serves it, have been about to sleep.
    dozed: [AtomicBool; 2],
    /// Both have been about to sleep.
    both: Event,
}

/// Duties of a worker that runs transactions or only serves others.
struct Serves {
    serves: bool,
    rest: Arc<Rest>,
}

impl Duties for Serves {
    fn has_room(&self) -> bool {
        !self.serves
    }

    fn runs_transactions(&self) -> bool {
        !self.serves
    }

    fn doze(&mut self) -> bool {
        self.rest.dozed[usize::from(self.serves)].store(true, Ordering::Release);
        if self.rest.dozed.iter().all(|dozed| dozed.load(Ordering::Acquire)) {
            self.rest.both.happen();
        }
        true
    }
}

#[test]
fn a_thread_is_idle_while_all_its_transactions_wait() {
    let (mut config, rest) = (config(2, 2, Some(4)), Arc::<Rest>::default());
    config.run.spin = Duration::from_micros(50);
    (config.run.one_shot.sample_every, config.run.one_shot.breakdown_every) = (1, 1);
    // Worker 1 only serves worker 0, whose first two transactions wait until both workers rest.
    let serves = |worker: WorkerId| Serves { serves: worker.0 == 1, rest: rest.clone() };
    let report = drive_with(&config, serves, |_, waiter, _| {
        assert_eq!(rest.both.wait(waiter), Wake::Ready);
        Ok(())
    });
    let counts = report.expect("nothing fails").counts;
    // A worker that is about to sleep has spun for this long.
    let spin_ns = config.run.spin.as_nanos() as u64;
    for time in [counts.execution, counts.service] {
        assert!(time.idle_ns >= spin_ns && time.idle_ns <= time.total_ns, "{time:?}");
    }
    let shares = counts.execution_shares().expect("all transactions were sampled");
    let sum: f64 = shares.iter().map(|(_, share)| share).sum();
    assert!((sum - 1.0).abs() < 1e-9 && shares.iter().all(|(_, share)| (0.0..=1.0).contains(share)), "{shares:?}");
}

#[test]
fn only_the_measured_period_counts() {
    let (warmup, measured) = (Duration::from_millis(20), Duration::from_millis(200));
    let run = RunConfig { threads: 2, warmup, measured, ..RunConfig::default() };
    let report = drive_pool(
        &PoolConfig { run, slots: 2, ..PoolConfig::default() },
        |_| Counting(0),
        |_, _, _| {
            (Fake::aborting(&[Abort::Conflict]), |runner: &mut OneShot<Fake>| runner.run(&ReadOne(Ok(1))).map(drop))
        },
    );
    let report = report.expect("nothing fails");
    assert!(report.counts.committed > 0 && report.elapsed >= measured);
    // Duties receive before each step; the first steps were in the warm-up.
    let messages = report.counts.statistics.messages;
    assert!(messages >= report.counts.committed && messages < u64::MAX / 4, "{messages}");
}

/// Duties that count the calls of `receive`.
struct Counting(u64);

impl Duties for Counting {
    fn receive(&mut self) -> bool {
        self.0 += 1;
        false
    }

    fn statistics(&self) -> Statistics {
        Statistics { messages: self.0, ..Statistics::default() }
    }
}

/// An engine whose transactions wait until an analysis wakes them, with room for two that wait.
#[derive(Clone)]
struct Analyst {
    log: Log,
    blocked: Arc<Mutex<Vec<Blocked>>>,
    settled: Arc<AtomicBool>,
}

struct Blocked {
    slot: Slot,
    event: Arc<Event>,
}

impl Duties for Analyst {
    fn settle(&mut self, _: &Waiter) {
        assert!(!self.settled.swap(true, Ordering::AcqRel));
    }

    fn leave(&mut self) {
        assert!(self.settled.swap(false, Ordering::AcqRel));
    }

    fn has_room(&self) -> bool {
        self.blocked.lock().expect("not poisoned").len() < 2
    }

    fn find_work(&mut self) -> bool {
        let found = self.blocked.lock().expect("not poisoned").pop();
        if let Some(found) = &found {
            self.log.push(found.slot, "is found");
            found.event.happen();
        }
        found.is_some()
    }
}

#[test]
fn an_analysis_is_made_when_nothing_else_can_run() {
    let log = Log::default();
    let engine = Analyst { log: log.clone(), blocked: Arc::default(), settled: Arc::default() };
    let report = drive_with(
        &config(1, 5, Some(4)),
        |_| engine.clone(),
        |slot, waiter, step| {
            log.push(slot, "begins");
            if slot.number < 3 && step == 1 {
                let event = Arc::new(Event::default());
                engine.blocked.lock().expect("not poisoned").push(Blocked { slot, event: event.clone() });
                assert_eq!(event.wait(waiter), Wake::Ready);
                log.push(slot, "goes on");
            }
            Ok(())
        },
    );
    assert_eq!(report.expect("nothing fails").counts.committed, 4);
    let expected =
        ["0 begins", "1 begins", "1 is found", "1 goes on", "1 begins", "1 begins", "0 is found", "0 goes on"];
    assert_eq!(log.lines(), expected);
    assert!(!engine.settled.load(Ordering::Acquire), "the worker has left");
}

/// A message: the time when it arrives, and the event that it triggers then.
type Letter = (Time, Arc<Event>);

/// Duties with a message that is on its way, and wakes a transaction when it arrives.
struct Post {
    due: Arc<Mutex<Option<Letter>>>,
    clock: Waiter,
}

impl Duties for Post {
    fn receive(&mut self) -> bool {
        let mut due = self.due.lock().expect("not poisoned");
        let arrived = due.take_if(|(time, _)| *time <= self.clock.now());
        arrived.inspect(|(_, event)| event.happen()).is_some()
    }

    fn expected(&self) -> Option<Time> {
        self.due.lock().expect("not poisoned").as_ref().map(|(time, _)| *time)
    }
}

#[test]
fn what_is_on_its_way_is_received_though_nobody_calls() {
    let due = Arc::new(Mutex::new(None));
    let delays = [1, 50, 300, 3000].map(Duration::from_micros);
    let report = drive_with(
        &config(1, 1, Some(4)),
        |_| Post { due: due.clone(), clock: Waiter::thread(Duration::ZERO) },
        |_, waiter, step| {
            let (event, at) = (Arc::new(Event::default()), waiter.now().after(delays[step as usize - 1]));
            *due.lock().expect("not poisoned") = Some((at, event.clone()));
            assert_eq!(event.wait(waiter), Wake::Ready);
            assert!(waiter.now() >= at);
            Ok(())
        },
    );
    assert_eq!(report.expect("nothing fails").counts.committed, 4);
}

#[test]
fn a_panic_in_the_duties_ends_the_run() {
    struct Broken;

    impl Duties for Broken {
        fn find_work(&mut self) -> bool {
            panic!("no work");
        }
    }

    let failed = drive_with(
        &config(1, 1, None),
        |_| Broken,
        |_, waiter, _| {
            waiter.wait_until(None, || false);
            Err(Abort::Cancelled)
        },
    );
    let expected = RunError::Panicked { worker: WorkerId(0), message: "no work".to_owned() };
    assert_eq!(failed.expect_err("the duties panic"), expected);
}
