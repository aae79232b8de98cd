//! Random interleavings of beginning, finishing, withdrawing and analysing, under `--cfg shuttle`: two records, a queue
//! of four positions, every latch and flag a place to switch threads at.

use super::admission::{Member, Refused};
use super::critical::Core;
use crate::shared::contention::{Claim, Mark};
use crate::shared::counts::{Colocated, Counts, Requests};
use hotrow_storage::mix;
use hotrow_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use hotrow_sync::{Arc, Waiter, thread};
use hotrow_txn::{Abort, Intent, Statistics};
use std::time::Duration;

use Intent::{Read, Write};

fn iterations() -> usize {
    std::env::var("HOTROW_MODEL_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// The records, and the transactions at each: a reader counts one, a writer a thousand.
struct World {
    core: Arc<Core>,
    records: [Colocated; 3],
    holders: [AtomicUsize; 3],
    /// The number of transactions that are burying the last record, which is absent.
    buried: AtomicUsize,
}

const ABSENT: usize = 2;

struct Asked<'w> {
    world: &'w World,
    requests: &'static [(usize, Intent)],
}

impl Requests for Asked<'_> {
    fn len(&self) -> usize {
        self.requests.len()
    }

    fn intent(&self, at: usize) -> Intent {
        self.requests[at].1
    }

    fn is_same(&self, one: usize, other: usize) -> bool {
        self.requests[one].0 == self.requests[other].0
    }

    fn counts(&self, at: usize) -> Counts {
        self.world.records[self.requests[at].0].counts()
    }

    fn set_counts(&self, at: usize, counts: Counts) {
        self.world.records[self.requests[at].0].set_counts(counts);
    }

    fn is_present(&self, at: usize) -> bool {
        self.requests[at].0 != ABSENT
    }
}

impl World {
    fn new(limit: usize, analyses: bool) -> Arc<Self> {
        let (records, holders) = Default::default();
        Arc::new(Self { core: Core::new(limit, analyses), records, holders, buried: AtomicUsize::new(0) })
    }

    fn member(&self, waiter: Waiter) -> Member {
        Member::new(&self.core, waiter, Arc::new(AtomicBool::new(false)))
    }

    /// Runs a transaction from its beginning to its end. Returns whether it ran.
    fn transact(&self, member: &mut Member, requests: &'static [(usize, Intent)]) -> bool {
        let statistics = &mut Statistics::default();
        let asked = Asked { world: self, requests };
        let claim = |intent| if intent == Read { Claim::Shared } else { Claim::Exclusive };
        let marks = || requests.iter().map(|&(record, intent)| Mark::new(mix(record as u64), claim(intent)));
        member.publish(false, marks());
        let bury = |at: usize| {
            assert_eq!(requests[at].0, ABSENT);
            assert_eq!(self.buried.fetch_add(1, Ordering::AcqRel), 0, "only one buries it");
            // It is unlinked, and the next one takes its place.
            self.buried.store(0, Ordering::Release);
            self.records[ABSENT].set_counts(Counts::NONE);
        };
        // Without a limit: shuttle has no time, and reports a lost wake-up as a deadlock.
        match member.enter(None, (&asked, &[]), marks, (&mut None, None), statistics, bury) {
            Ok(()) => {}
            Err(Refused::Over(Abort::Cancelled)) => return false,
            Err(other) => panic!("{other:?}"),
        }
        let weight = |intent| if intent == Write { 1000 } else { 1 };
        for &(record, intent) in requests {
            let before = self.holders[record].fetch_add(weight(intent), Ordering::AcqRel);
            assert!(before == 0 || (before < 1000 && intent == Read), "{before} beside {intent:?}");
        }
        thread::yield_now();
        for &(record, intent) in requests {
            self.holders[record].fetch_sub(weight(intent), Ordering::AcqRel);
        }
        member.leave(&asked, &[], statistics, bury);
        true
    }

    fn assert_at_rest(&self) {
        let critical = self.core.enter();
        assert_eq!((critical.queue.iter().count(), critical.queue.blocked()), (0, 0));
        critical.queue.audit(self.core.slots()).expect("the queue's invariants hold");
        assert!(self.records.iter().all(|record| record.counts() == Counts::NONE), "{:?}", self.records);
    }
}

/// Runs three threads, each with two transactions.
fn check(limit: usize, analyses: bool, work: [[&'static [(usize, Intent)]; 2]; 3]) {
    let model = move || {
        let world = World::new(limit, analyses);
        let threads = work.map(|transactions| {
            let world = world.clone();
            thread::spawn(move || {
                let mut member = world.member(Waiter::thread(Duration::ZERO));
                for requests in transactions {
                    assert!(world.transact(&mut member, requests));
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
        world.assert_at_rest();
    };
    shuttle::check_random(model, iterations());
}

#[test]
fn no_interleaving_breaks_exclusion_or_loses_a_wake_up() {
    let both: &[_] = &[(0, Write), (1, Write)];
    for analyses in [false, true] {
        check(8, analyses, [[both, &[(0, Read)]], [&[(1, Write), (0, Read)], both], [&[(0, Read), (1, Read)], both]]);
        check(8, analyses, [[&[(0, Write)], both], [both, &[(1, Write)]], [&[(1, Write)], &[(0, Write)]]]);
    }
}

#[test]
fn a_limit_keeps_nobody_out_for_ever() {
    let hot: &[_] = &[(0, Write)];
    for analyses in [false, true] {
        check(1, analyses, [[hot, hot], [hot, &[(0, Read)]], [&[(1, Write)], hot]]);
    }
}

#[test]
fn a_placeholder_is_buried_once_by_the_last_who_counts_on_it() {
    check(8, false, [[&[(ABSENT, Read)], &[(ABSENT, Write)]], [&[(ABSENT, Read)]; 2], [&[(ABSENT, Write)]; 2]]);
}

#[test]
fn one_that_is_cancelled_has_all_its_locks_or_is_gone() {
    for (limit, analyses) in [(8, false), (8, true), (1, false), (1, true)] {
        let model = move || {
            let world = World::new(limit, analyses);
            let waiter = Waiter::thread(Duration::ZERO);
            let work = |waiter: Waiter| {
                let world = world.clone();
                thread::spawn(move || {
                    let mut member = world.member(waiter);
                    world.transact(&mut member, &[(0, Write), (1, Read)]);
                })
            };
            let threads =
                [work(waiter.clone()), work(Waiter::thread(Duration::ZERO)), work(Waiter::thread(Duration::ZERO))];
            waiter.cancel();
            threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
            world.assert_at_rest();
        };
        shuttle::check_random(model, iterations());
    }
}
