//! The simulated machine itself: what it finds in small programs, and that a run can be made again.

#![cfg(machine)]

use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::machine::{Changes, Failure, FailureKind, Report, Strategy, outside, run};
use hotrow_sync::{Condvar, Mutex, OnceLock, Time, Waiter, Wake, thread};
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::time::Duration;

const RANDOM: Strategy = Strategy::Random { switch_per_1024: 256 };

fn run_it(strategy: &Strategy, seed: u64, main: impl FnOnce()) -> Result<Report, Failure> {
    run(strategy, seed, 100_000, main)
}

/// Two threads count without an atomic addition.
fn count_badly() {
    let counter = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let before = counter.load(Ordering::Acquire);
                counter.store(before + 1, Ordering::Release);
            });
        }
    });
    assert_eq!(counter.load(Ordering::Acquire), 2, "an addition is lost");
}

#[test]
fn a_lost_update_is_found_and_shrinks_to_few_switches() {
    let at = |at| Strategy::Priorities { changes: 1, steps: 20, at };
    for strategy in [RANDOM, at(Changes::Everywhere), at(Changes::BeforeWrites)] {
        let failed = (0..100).find_map(|seed| run_it(&strategy, seed, count_badly).err()).expect("it is found");
        assert!(matches!(&failed.kind, FailureKind::Panicked(_, what) if what.contains("an addition is lost")));
        let again = |schedule: &_| {
            let replay = Strategy::Replay(Clone::clone(schedule));
            run_it(&replay, 0, count_badly).err().map(|failure| failure.report.schedule)
        };
        assert!(again(&failed.report.schedule).is_some(), "{failed}");
        let shrunk = failed.report.schedule.shrink(again);
        assert!((1..=2).contains(&shrunk.chosen()), "{shrunk}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_one_another() {
    let ran = |seed| {
        let work = || {
            let sum = Mutex::new(Vec::new());
            thread::scope(|scope| {
                for number in 0..3 {
                    let sum = &sum;
                    scope.spawn(move || (0..10).for_each(|_| sum.lock().unwrap().push(number)));
                }
            });
        };
        run_it(&RANDOM, seed, work).unwrap()
    };
    assert_eq!(ran(1), ran(1));
    assert_ne!(ran(1).schedule, ran(2).schedule);
}

#[test]
fn threads_that_wait_for_each_other_are_found() {
    let cross = || {
        let (one, two) = (Mutex::new(()), Mutex::new(()));
        thread::scope(|scope| {
            scope.spawn(|| (one.lock().is_ok(), two.lock().is_ok()));
            scope.spawn(|| (two.lock().is_ok(), one.lock().is_ok()));
        });
    };
    let failed = (0..100).find_map(|seed| run_it(&RANDOM, seed, cross).err()).expect("it is found");
    assert_eq!(failed.kind, FailureKind::Stalled(["main", "thread 1", "thread 2"].map(str::to_owned).into()));
}

#[test]
fn a_wake_that_is_lost_is_found_although_the_deadline_ends_the_wait() {
    let work = |wakes: bool| {
        move || {
            let (waiter, is_ready) = (Waiter::thread(Duration::ZERO), AtomicU64::new(0));
            thread::scope(|scope| {
                scope.spawn(|| {
                    is_ready.store(1, Ordering::Release);
                    if wakes {
                        waiter.wake();
                    }
                });
                let deadline = Some(Time::now().after(Duration::from_secs(10)));
                assert_eq!(waiter.wait_until(deadline, || is_ready.load(Ordering::Acquire) == 1), Wake::Ready);
            });
        }
    };
    let found = |wakes| (0..50).filter(|seed| run_it(&RANDOM, *seed, work(wakes)).is_err()).count();
    assert_eq!(found(true), 0);
    assert!(found(false) > 0);
}

#[test]
fn the_clock_jumps_when_all_wait_and_a_deadline_may_pass_early() {
    let early = Cell::new(0);
    for seed in 0..100 {
        let report = run_it(&RANDOM, seed, || {
            let steps = AtomicU64::new(0);
            let seen = thread::scope(|scope| {
                scope.spawn(|| {
                    for _ in 0..50 {
                        steps.fetch_add(1, Ordering::AcqRel);
                    }
                });
                Waiter::thread(Duration::ZERO).pause(Duration::from_micros(100));
                steps.load(Ordering::Acquire)
            });
            early.set(early.get() + u64::from(seen < 50));
            // 100 microseconds are long past, if the thread was not stopped for as long.
            Waiter::thread(Duration::ZERO).pause(Duration::from_secs(3600));
        });
        assert!(report.unwrap().time > Duration::from_secs(3600));
    }
    assert!((1..100).contains(&early.get()), "{} of 100", early.get());
}

#[test]
fn a_program_without_an_end_is_ended() {
    let failed = run_it(&RANDOM, 0, || {
        let never = AtomicU64::new(0);
        while never.load(Ordering::Acquire) == 0 {
            hotrow_sync::hint::spin_loop();
        }
    });
    assert_eq!(failed.unwrap_err().kind, FailureKind::Endless);
}

#[test]
#[should_panic(expected = "blocks of memory that outlive the run")]
fn memory_that_outlives_its_run_is_found() {
    // The block is never given back: by then another test may use the memory.
    let kept = ManuallyDrop::new(Cell::new(None));
    let _ = run_it(&RANDOM, 0, || kept.set(Some(Box::new(1))));
}

#[test]
fn results_are_made_outside() {
    let kept = Cell::new(None);
    run_it(&RANDOM, 0, || {
        let result = String::from("a result");
        outside(|| kept.set(Some(result.clone())));
    })
    .unwrap();
    assert_eq!(kept.take().as_deref(), Some("a result"));
}

#[test]
fn threads_have_values_of_their_own_which_are_dropped_at_their_ends() {
    hotrow_sync::thread_local! {
        static OWN: Cell<u64> = const { Cell::new(7) };
    }
    run_it(&RANDOM, 3, || {
        OWN.set(1);
        thread::scope(|scope| {
            for number in 0..3 {
                scope.spawn(move || {
                    assert_eq!(OWN.get(), 7);
                    OWN.set(number);
                    thread::yield_now();
                    assert_eq!(OWN.take(), number);
                });
            }
        });
        assert_eq!(OWN.get(), 1);
    })
    .unwrap();
    assert_eq!(OWN.get(), 7, "outside of the run");
}

#[test]
fn the_locks_of_the_facade_do_what_those_of_std_do() {
    for seed in 0..50 {
        run_it(&RANDOM, seed, || {
            static SHARED: OnceLock<u64> = OnceLock::new();
            let (queue, bell) = (Mutex::new(Vec::new()), Condvar::new());
            thread::scope(|scope| {
                let consumer = scope.spawn(|| {
                    let mut queue = queue.lock().unwrap();
                    while queue.len() < 3 {
                        queue = bell.wait(queue).unwrap();
                    }
                    queue.iter().sum::<u64>()
                });
                for number in 1..=3 {
                    let (queue, bell) = (&queue, &bell);
                    scope.spawn(move || {
                        queue.lock().unwrap().push(number * SHARED.get_or_init(|| 10));
                        bell.notify_one();
                    });
                }
                assert_eq!(consumer.join().unwrap(), 60);
                let (_guard, result) =
                    Condvar::new().wait_timeout(queue.lock().unwrap(), Duration::from_millis(1)).unwrap();
                assert!(result.timed_out() && queue.try_lock().is_err());
            });
            let parked = thread::spawn(thread::park);
            parked.thread().unpark();
            parked.join().unwrap();
        })
        .unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
    }
}
