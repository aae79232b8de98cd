//! Random interleavings of the lock table, under `--cfg shuttle`: one bucket, few names, every latch and flag a place
//! to switch threads at.

use super::*;
use hotrow_sync::atomic::{AtomicUsize, Ordering};
use hotrow_sync::thread;
use std::time::Duration;

/// Lets every transaction wait, without a limit: shuttle has no time, and reports a lost wake-up as a deadlock.
struct Patient;

/// The lock target of every name in these tests. No report is read, so one value serves for all.
fn nothing() -> LockTarget {
    LockTarget::Database
}

impl WaitPolicy for Patient {
    fn may_wait(&self, _: OwnerId, _: &[OwnerId]) -> bool {
        true
    }
}

fn iterations() -> usize {
    std::env::var("HOTROW_MODEL_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// The holders of each name, as a number: a reader adds one, a writer a thousand.
#[derive(Default)]
struct Holders([AtomicUsize; 2]);

impl Holders {
    fn enter(&self, name: u64, mode: Mode) {
        let weight = if mode == Mode::EXCLUSIVE { 1000 } else { 1 };
        let before = self.0[name as usize].fetch_add(weight, Ordering::AcqRel);
        assert!(before == 0 || (before < 1000 && weight == 1), "{before} beside {weight}");
    }

    fn leave(&self, name: u64, mode: Mode) {
        let weight = if mode == Mode::EXCLUSIVE { 1000 } else { 1 };
        self.0[name as usize].fetch_sub(weight, Ordering::AcqRel);
    }
}

#[test]
fn no_interleaving_breaks_exclusion_or_loses_a_wake_up() {
    let model = || {
        let table = LockTable::new(1);
        let holders = Arc::new(Holders::default());
        let work = |rounds: [(u64, Mode); 2]| {
            let (table, holders) = (table.clone(), holders.clone());
            thread::spawn(move || {
                let mut requester = table.requester(Waiter::thread(Duration::ZERO));
                for (name, mode) in rounds {
                    requester
                        .acquire(Name(name), mode, nothing, &Patient, &mut Statistics::default())
                        .expect("a wait ends with the lock");
                    holders.enter(name, mode);
                    thread::yield_now();
                    holders.leave(name, mode);
                    requester.release_all();
                }
            })
        };
        let threads = [
            work([(0, Mode::EXCLUSIVE), (1, Mode::SHARED)]),
            work([(0, Mode::SHARED), (1, Mode::EXCLUSIVE)]),
            work([(0, Mode::SHARED), (0, Mode::EXCLUSIVE)]),
        ];
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
        assert_eq!(table.usage(), (0, 0));
    };
    shuttle::check_random(model, iterations());
}

#[test]
fn a_cancelled_request_is_either_granted_or_gone() {
    let model = || {
        let table = LockTable::new(1);
        let mut holder = table.requester(Waiter::thread(Duration::ZERO));
        holder
            .acquire(Name(0), Mode::EXCLUSIVE, nothing, &Patient, &mut Statistics::default())
            .expect("the lock is free");
        let waiter = Waiter::thread(Duration::ZERO);
        let mut requester = table.requester(waiter.clone());
        let waiting = thread::spawn(move || {
            let result = requester.acquire(Name(0), Mode::EXCLUSIVE, nothing, &Patient, &mut Statistics::default());
            assert!(matches!(result, Ok(Acquired::New) | Err(Abort::Cancelled)), "{result:?}");
        });
        let cancelling = thread::spawn(move || waiter.cancel());
        holder.release_all();
        waiting.join().expect("the waiter's thread ends");
        cancelling.join().expect("the canceller's thread ends");
        assert_eq!(table.usage(), (0, 0), "whether granted or gone, nothing is left");
    };
    shuttle::check_random(model, iterations());
}
