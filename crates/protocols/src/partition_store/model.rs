//! Random interleavings of transactions that take partitions, under `--cfg shuttle`: few partitions, every word, latch
//! and flag a place to switch threads at.

use super::held::{HeldPartitions, Locks};
use super::lock::PartitionLock;
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Waiter, thread};
use hotrow_txn::{Abort, Statistics};
use std::time::Duration;

/// Shuttle has no time, and reports a lost wake-up as a deadlock.
const LIMIT: Duration = Duration::from_secs(1);

fn iterations() -> usize {
    std::env::var("HOTROW_MODEL_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// The partitions, and whether a transaction is in each.
#[derive(Clone)]
struct World {
    locks: Locks,
    taken: Arc<[AtomicBool]>,
}

impl World {
    fn new() -> Self {
        Self {
            locks: (0..3).map(|_| PartitionLock::default()).collect(),
            taken: (0..3).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// Is in some partitions for a moment.
    fn be_in(&self, numbers: &[u16]) {
        let taken = |number: &u16| &self.taken[usize::from(*number)];
        numbers.iter().for_each(|number| assert!(!taken(number).swap(true, Ordering::AcqRel), "two in {number}"));
        thread::yield_now();
        numbers.iter().for_each(|number| assert!(taken(number).swap(false, Ordering::AcqRel), "none in {number}"));
    }

    /// Takes each set of partitions, one set after the other.
    fn pass(&self, waiter: Waiter, sets: &[&[u16]]) -> Result<(), Abort> {
        let mut held = HeldPartitions::new(&self.locks, waiter);
        for numbers in sets {
            held.take_all(numbers, LIMIT, &mut Statistics::default())?;
            self.be_in(numbers);
            held.release_all();
        }
        Ok(())
    }

    fn spawn(&self, waiter: &Waiter, sets: &'static [&'static [u16]]) -> thread::JoinHandle<Result<(), Abort>> {
        let (world, waiter) = (self.clone(), waiter.clone());
        thread::spawn(move || world.pass(waiter, sets))
    }

    fn assert_at_rest(&self) {
        for lock in self.locks.iter() {
            assert_eq!((lock.audit(), lock.usage()), (Ok(()), (0, false)));
        }
    }
}

fn parking() -> Waiter {
    Waiter::thread(Duration::ZERO)
}

#[test]
fn no_interleaving_breaks_exclusion_or_loses_a_wake_up() {
    let model = || {
        let world = World::new();
        let threads = [
            world.spawn(&parking(), &[&[0, 1], &[0, 2]]),
            world.spawn(&parking(), &[&[0, 1, 2]]),
            world.spawn(&parking(), &[&[1, 2], &[0]]),
        ];
        for thread in threads {
            assert_eq!(thread.join().expect("no thread panics"), Ok(()));
        }
        world.assert_at_rest();
    };
    shuttle::check_random(model, iterations());
}

#[test]
fn a_cancelled_wait_leaves_nothing_and_the_next_one_goes_on() {
    let model = || {
        let world = World::new();
        let cancelled = parking();
        let first = world.spawn(&parking(), &[&[1]]);
        let middle = world.spawn(&cancelled, &[&[0, 1, 2], &[1]]);
        let last = world.spawn(&parking(), &[&[1, 2], &[0, 1]]);
        cancelled.cancel();
        let outcome = middle.join().expect("its thread ends");
        assert!(matches!(outcome, Ok(()) | Err(Abort::Cancelled)), "{outcome:?}");
        assert_eq!(first.join().expect("its thread ends"), Ok(()));
        assert_eq!(last.join().expect("its thread ends"), Ok(()));
        world.assert_at_rest();
    };
    shuttle::check_random(model, iterations());
}

#[test]
fn partitions_added_late_and_glances_meet_nobody() {
    let model = || {
        let world = World::new();
        let others = [world.spawn(&parking(), &[&[0, 1], &[1]]), world.spawn(&parking(), &[&[0, 1]])];
        let own = world.clone();
        let late = thread::spawn(move || {
            let mut held = HeldPartitions::new(&own.locks, parking());
            for _ in 0..2 {
                held.take_all(&[1], LIMIT, &mut Statistics::default()).expect("its turn comes");
                let numbers: &[u16] = if held.add(0) { &[1, 0] } else { &[1] };
                own.be_in(numbers);
                held.release_all();
                held.glance(0, || own.be_in(&[0]));
            }
        });
        for other in others {
            assert_eq!(other.join().expect("its thread ends"), Ok(()));
        }
        late.join().expect("its thread ends");
        world.assert_at_rest();
    };
    shuttle::check_random(model, iterations());
}
