//! Random interleavings of the lock manager, under `--cfg shuttle`: few names, every latch and flag a place to switch
//! threads at.

use super::LockManager;
use crate::shared::request_queues::Modes;
use hotrow_sync::atomic::{AtomicUsize, Ordering};
use hotrow_sync::{Arc, Waiter, thread};
use hotrow_txn::{Abort, Statistics};
use std::time::Duration;

const X: Modes = Modes::EXCLUSIVE;
const S: Modes = Modes::SHARED;

/// Shuttle has no time, and reports a lost wake-up as a deadlock.
const LIMIT: Duration = Duration::from_secs(1);

fn iterations() -> usize {
    std::env::var("HOTROW_MODEL_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// The holders of each name, as a number: a reader adds one, a writer a thousand.
#[derive(Default)]
struct Holders([AtomicUsize; 3]);

fn weight(modes: Modes) -> usize {
    if modes.conflicts_with_all() { 1000 } else { 1 }
}

impl Holders {
    fn enter(&self, name: u64, modes: Modes) {
        let before = self.0[name as usize].fetch_add(weight(modes), Ordering::AcqRel);
        assert!(before == 0 || (before < 1000 && weight(modes) == 1), "{before} beside {modes:?}");
    }

    fn leave(&self, name: u64, modes: Modes) {
        self.0[name as usize].fetch_sub(weight(modes), Ordering::AcqRel);
    }
}

type Lock = (u64, Modes);

/// Acquires each set of locks at once, holds it for a moment and releases it.
fn pass(manager: &Arc<LockManager>, holders: &Holders, waiter: Waiter, sets: &[&[Lock]]) -> Result<(), Abort> {
    let mut ticket = manager.ticket(waiter);
    for locks in sets {
        ticket.acquire(locks.iter().copied(), LIMIT, &mut Statistics::default())?;
        locks.iter().for_each(|&(name, modes)| holders.enter(name, modes));
        thread::yield_now();
        locks.iter().for_each(|&(name, modes)| holders.leave(name, modes));
        ticket.release();
    }
    Ok(())
}

fn is_idle(manager: &LockManager) {
    assert_eq!((manager.audit(), manager.usage(), manager.blocked()), (Ok(()), (0, 0), 0));
}

#[test]
fn no_interleaving_breaks_exclusion_or_loses_a_wake_up() {
    let model = || {
        let (manager, holders) = (Arc::new(LockManager::default()), Arc::new(Holders::default()));
        let work = |sets: &'static [&'static [Lock]]| {
            let (manager, holders) = (manager.clone(), holders.clone());
            let waiter = Waiter::thread(Duration::ZERO);
            thread::spawn(move || pass(&manager, &holders, waiter, sets).expect("a wait ends with the locks"))
        };
        // In any order of names: nobody waits in a circle.
        let threads = [
            work(&[&[(0, X), (1, X)], &[(2, S), (0, S)]]),
            work(&[&[(1, X), (2, X), (0, X)]]),
            work(&[&[(2, S), (1, S)], &[(0, X)]]),
        ];
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
        is_idle(&manager);
    };
    shuttle::check_random(model, iterations());
}

#[test]
fn who_is_cancelled_is_granted_or_gone_and_those_behind_it_go_on() {
    let model = || {
        let (manager, holders) = (Arc::new(LockManager::default()), Arc::new(Holders::default()));
        let cancelled = Waiter::thread(Duration::ZERO);
        let work = |waiter: &Waiter, sets: &'static [&'static [Lock]]| {
            let (manager, holders, waiter) = (manager.clone(), holders.clone(), waiter.clone());
            thread::spawn(move || pass(&manager, &holders, waiter, sets))
        };
        let first = work(&Waiter::thread(Duration::ZERO), &[&[(0, X)]]);
        let middle = work(&cancelled, &[&[(0, X), (1, X)]]);
        let last = work(&Waiter::thread(Duration::ZERO), &[&[(1, S), (0, S)]]);
        cancelled.cancel();
        let outcome = middle.join().expect("its thread ends");
        assert!(matches!(outcome, Ok(()) | Err(Abort::Cancelled)), "{outcome:?}");
        assert_eq!(first.join().expect("its thread ends"), Ok(()));
        assert_eq!(last.join().expect("its thread ends"), Ok(()));
        is_idle(&manager);
    };
    shuttle::check_random(model, iterations());
}

#[test]
fn late_locks_and_glances_never_meet_a_writer() {
    let model = || {
        let (manager, holders) = (Arc::new(LockManager::default()), Arc::new(Holders::default()));
        let writer = {
            let (manager, holders) = (manager.clone(), holders.clone());
            let waiter = Waiter::thread(Duration::ZERO);
            thread::spawn(move || pass(&manager, &holders, waiter, &[&[(0, X), (1, S)], &[(1, X)]]))
        };
        let late = {
            let (manager, holders) = (manager.clone(), holders.clone());
            thread::spawn(move || {
                let mut ticket = manager.ticket(Waiter::thread(Duration::ZERO));
                for locks in [[(0, S), (1, S)], [(1, X), (0, X)]] {
                    if ticket.add(locks.into_iter()) {
                        locks.iter().for_each(|&(name, modes)| holders.enter(name, modes));
                        thread::yield_now();
                        locks.iter().for_each(|&(name, modes)| holders.leave(name, modes));
                    }
                    ticket.release();
                    ticket.glance(0, || {
                        holders.enter(0, S);
                        holders.leave(0, S);
                    });
                }
            })
        };
        assert_eq!(writer.join().expect("its thread ends"), Ok(()));
        late.join().expect("its thread ends");
        is_idle(&manager);
    };
    shuttle::check_random(model, iterations());
}
