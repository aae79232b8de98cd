//! Random interleavings of transactions that deadlock, under `--cfg shuttle`: every latch, word and flag a place to
//! switch threads at. shuttle has no time, and reports a deadlock that no policy finds as its own.

use super::{Dreadlocks, Policy, WaitFor};
use crate::shared::lock_table::{LockTable, Name, Requester};
use crate::shared::mode::Mode;
use crate::shared::time_outs::Limits;
use hotrow_sync::{Arc, Time, Waiter, thread};
use hotrow_txn::{Abort, Begin, LockTarget, Statistics};
use shuttle::rand::{Rng, thread_rng};
use std::time::Duration;

const NAMES: u64 = 3;

fn iterations() -> usize {
    std::env::var("HOTROW_MODEL_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// The locks that a transaction takes, one after the other. The first is released early, if the script says so.
struct Script {
    locks: Vec<(Name, Mode)>,
    releases_early: bool,
}

impl Script {
    fn random(modes: &[Mode]) -> Self {
        let mut random = thread_rng();
        let lock = |_| (Name(random.gen_range(0..NAMES)), modes[random.gen_range(0..modes.len())]);
        let locks = (0..3).map(lock).collect();
        Self { locks, releases_early: thread_rng().gen_bool(0.3) }
    }

    fn run<P: Policy>(&self, requester: &mut Requester, policy: &P) -> Result<(), Abort> {
        policy.begin(requester.id(), &Begin::default(), || Time(0), false);
        requester.begin(1, Limits::default());
        for (at, &(name, mode)) in self.locks.iter().enumerate() {
            requester.acquire(name, mode, || LockTarget::Database, policy, &mut Statistics::default())?;
            if at == 0 && self.releases_early {
                requester.release(name, policy);
            }
        }
        Ok(())
    }
}

/// Runs `count` transactions and a thread that cancels the first: all end, and leave nothing behind. `arrange` gives
/// the locks of a transaction, by its number, an order. `deadlocks` says whether deadlocks are possible then.
fn check<P: Policy>(count: usize, modes: &'static [Mode], arrange: fn(usize, &mut Script), deadlocks: bool) {
    let model = move || {
        let (table, policy) = (LockTable::new(2), Arc::new(P::new(&P::Config::default())));
        let waiters: Vec<_> = (0..count).map(|_| Waiter::thread(Duration::ZERO)).collect();
        let work = |(number, waiter): (usize, &Waiter)| {
            let mut script = Script::random(modes);
            arrange(number, &mut script);
            let (mut requester, policy) = (table.requester(waiter.clone()), policy.clone());
            thread::spawn(move || {
                for _ in 0..2 {
                    let outcome = script.run(&mut requester, &*policy);
                    requester.release_all();
                    let may = matches!(outcome, Ok(()) | Err(Abort::Cancelled));
                    assert!(may || deadlocks && outcome == Err(Abort::Deadlock), "{outcome:?}");
                }
            })
        };
        let threads: Vec<_> = waiters.iter().enumerate().map(work).collect();
        let cancelled = waiters[0].clone();
        let cancelling = thread::spawn(move || cancelled.cancel());
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
        cancelling.join().expect("the canceller ends");
        assert_eq!(table.usage(), (0, 0));
    };
    shuttle::check_random(model, iterations());
}

/// Arranges a script in the order of names. Locks of one name are taken together, the stronger mode first: an upgrade
/// has no place in an order.
fn in_order(_: usize, script: &mut Script) {
    script.locks.sort_unstable_by_key(|&(name, mode)| (name.0, mode != Mode::EXCLUSIVE));
    script.releases_early = false;
}

/// Arranges a script that takes and releases one lock, and then takes the others in the order of names. Only the first
/// transaction may upgrade.
fn in_order_after_one(number: usize, script: &mut Script) {
    script.locks[1..].sort_unstable_by_key(|&(name, mode)| (name.0, (mode == Mode::EXCLUSIVE) == (number == 0)));
    script.releases_early = true;
}

const ROWS: &[Mode] = &[Mode::SHARED, Mode::EXCLUSIVE];
const ALL: &[Mode] = &[Mode::SHARED, Mode::EXCLUSIVE, Mode::INSERT];

#[test]
fn no_interleaving_hides_a_deadlock_from_the_wait_for_graph() {
    check::<WaitFor>(3, ROWS, |_, _| {}, true);
    check::<WaitFor>(3, ALL, |_, _| {}, true);
}

#[test]
fn no_interleaving_hides_a_deadlock_from_dreadlocks() {
    check::<Dreadlocks>(3, ROWS, |_, _| {}, true);
    check::<Dreadlocks>(3, ALL, |_, _| {}, true);
}

#[test]
fn no_interleaving_makes_a_victim_without_a_deadlock() {
    check::<WaitFor>(3, ROWS, in_order, false);
    check::<Dreadlocks>(3, ROWS, in_order, false);
    check::<WaitFor>(4, ROWS, in_order_after_one, false);
    check::<Dreadlocks>(4, ROWS, in_order_after_one, false);
}
