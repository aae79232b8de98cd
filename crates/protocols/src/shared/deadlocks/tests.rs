//! Tests of the list by itself, with transactions that hold and await locks which are numbers.

use super::*;
use hotrow_sync::{Time, Waiter};
use std::time::Duration;

/// The part of a transaction that holds the locks with these numbers, and awaits one.
struct Numbers(Vec<u32>, u32);

impl Blocked for Numbers {
    type Lock = u32;

    fn awaited(&self) -> u32 {
        self.1
    }

    fn holds(&mut self, lock: u32) -> bool {
        self.0.contains(&lock)
    }

    fn hash(lock: u32) -> u64 {
        u64::from(lock)
    }
}

fn parked(label: u32) -> Arc<Parked> {
    let parked = Arc::new(Parked::new(Waiter::thread(Duration::ZERO)));
    parked.set_label(label);
    parked
}

/// Returns the labels of the cycle that is closed by the transaction that begins to wait at `parked`, or `None`.
fn begin(waits: &Waits<Numbers>, parked: &Arc<Parked>, numbers: Numbers) -> Option<Vec<u32>> {
    begin_as(waits, parked, Standing::default(), numbers)
}

/// Begins a wait like [`begin`], of a transaction with this standing.
fn begin_as(waits: &Waits<Numbers>, parked: &Arc<Parked>, standing: Standing, numbers: Numbers) -> Option<Vec<u32>> {
    let request = Request { parked, target: LockTarget::Database, mode: Mode::EXCLUSIVE, standing };
    waits.begin(request, numbers).map(|deadlock| labels(&deadlock))
}

/// Returns the labels of a deadlock's transactions, the victim's first.
fn labels(deadlock: &Deadlock) -> Vec<u32> {
    let waits = &deadlock.waits;
    for (at, edge) in waits.iter().enumerate() {
        assert_eq!(edge.blocker, waits[(at + 1) % waits.len()].waiter, "{waits:?}");
        assert_eq!((edge.mode, &edge.target), ("exclusive", &LockTarget::Database));
    }
    waits.iter().map(|edge| edge.waiter).collect()
}

/// Returns the standing of a transaction of this age after so many defeats. The greater `age`, the younger the
/// transaction.
fn standing(age: u64, one_shot: bool, defeats: u32) -> Standing {
    standing_of(age * standing::AGE_NS, one_shot, defeats)
}

/// Returns the standing of a transaction that began at this time, in nanoseconds, after so many defeats.
fn standing_of(began: u64, one_shot: bool, defeats: u32) -> Standing {
    let mut standing = Standing::default();
    standing.begin(7, one_shot, false, || Time(began));
    for _ in 0..defeats {
        standing.waits(Time(began));
        standing.lost();
        standing.begin(7, one_shot, true, || unreachable!("a retry keeps its age"));
    }
    standing.waits(Time(began));
    standing
}

/// A test case: transactions, labelled 0, 1, 2 and so on, that come to wait one after the other, each with the locks
/// that it holds, and the lock that it waits for.
type Case = &'static [(&'static [u32], u32)];

#[test]
fn of_equals_the_transaction_that_closes_a_cycle_is_its_victim_and_the_only_one() {
    let cases: [(Case, Option<&[u32]>); 7] = [
        (&[(&[1], 2)], None),
        (&[(&[1], 2), (&[2], 3)], None),
        (&[(&[1], 2), (&[2], 1)], Some(&[1, 0])),
        // Two that share a lock, and both want it for themselves.
        (&[(&[1], 1), (&[1], 1)], Some(&[1, 0])),
        (&[(&[1], 2), (&[3], 1), (&[2], 3)], Some(&[2, 1, 0])),
        // The shortest of several.
        (&[(&[1], 2), (&[3], 1), (&[3], 2), (&[2], 3)], Some(&[3, 2])),
        // A transaction that waits for the same lock as the one that closes the cycle.
        (&[(&[], 2), (&[1], 2), (&[2], 1)], Some(&[2, 1])),
    ];
    for (transactions, expected) in cases {
        let waits = Waits::new();
        let (mut found, mut all) = (None, Vec::new());
        for (label, &(held, awaited)) in transactions.iter().enumerate() {
            assert_eq!(found, None, "{transactions:?}: found before the last transaction waits");
            all.push(parked(label as u32));
            found = begin(&waits, &all[label], Numbers(held.to_vec(), awaited));
        }
        assert_eq!(found.as_deref(), expected, "{transactions:?}");
        // The victim has no edges any more: a transaction that waits for it, and that it would wait for, is in no
        // cycle.
        let closing = transactions.last().filter(|(held, awaited)| expected.is_some() && !held.contains(awaited));
        if let Some(&(held, awaited)) = closing {
            let late = parked(99);
            assert_eq!(begin(&waits, &late, Numbers(vec![awaited], held[0])), None, "{transactions:?}");
            assert_eq!(waits.end(&late).map(|Numbers(held, _)| held), Some(vec![awaited]));
        }
        for parked in &all {
            assert!(waits.end(parked).is_some() && waits.end(parked).is_none(), "{transactions:?}");
        }
    }
}

#[test]
fn transactions_that_run_wait_for_nobody() {
    let cycle = || {
        let (waits, transactions) = (Waits::new(), [parked(0), parked(1)]);
        assert_eq!(begin(&waits, &transactions[0], Numbers(vec![1], 2)), None);
        (waits, transactions)
    };
    let (waits, [granted, other]) = cycle();
    granted.grant();
    assert_eq!(begin(&waits, &other, Numbers(vec![2], 1)), None, "it has been granted what it waits for");
    let (waits, [gone, other]) = cycle();
    assert!(waits.end(&gone).is_some());
    assert_eq!(begin(&waits, &other, Numbers(vec![2], 1)), None, "it waits no more");
    let (waits, [_, other]) = cycle();
    other.grant();
    assert_eq!(begin(&waits, &other, Numbers(vec![2], 1)), None, "the lock was granted before the search");
    let (waits, [_, other]) = cycle();
    assert_eq!(begin(&waits, &other, Numbers(vec![2], 1)), Some(vec![1, 0]), "and with none of that there is a cycle");
}

#[test]
fn the_victim_is_the_youngest_and_a_one_shot_transaction_before_all_others_but_not_for_ever() {
    // The standings of three transactions, each of which waits for the next; the last one closes the cycle.
    let (old, young, middle) = (standing(10, false, 0), standing(30, false, 0), standing(20, false, 0));
    let (retried, one_shot, beaten) = (standing(5, false, 3), standing(1, true, 7), standing(1, true, 8));
    let (soon, later) = (standing_of(0, false, 0), standing_of(1, false, 7));
    let (stubborn, later_and_stubborn) = (standing_of(0, false, 8), standing_of(1, false, 8));
    let cases = [
        ([old, young, middle], 1),
        ([young, old, middle], 0),
        ([middle, old, young], 2),
        ([young, retried, old], 0),
        ([old, one_shot, young], 1),
        ([one_shot, old, standing(2, true, 0)], 2),
        ([old, beaten, young], 2),
        ([beaten, beaten, beaten], 2),
        // Of one age: the victim is the transaction that closes the cycle, unless it has been a victim often enough. If
        // all have been, it is the youngest.
        ([later, soon, soon], 2),
        ([soon, later, soon], 2),
        ([soon, later, stubborn], 0),
        ([stubborn, later_and_stubborn, stubborn], 1),
    ];
    for (number, (standings, victim)) in cases.into_iter().enumerate() {
        let (waits, parked) = (Waits::new(), [parked(0), parked(1), parked(2)]);
        let mut own = None;
        for (at, standing) in standings.into_iter().enumerate() {
            assert_eq!(own, None, "case {number}");
            let numbers = Numbers(vec![at as u32], (at as u32 + 1) % 3);
            own = begin_as(&waits, &parked[at], standing, numbers);
        }
        let cycle: Vec<_> = (0..3).map(|at| (victim as u32 + at) % 3).collect();
        assert_eq!(own, (victim == 2).then(|| cycle.clone()), "case {number}");
        for (at, parked) in parked.iter().enumerate() {
            let doomed = at == victim && victim != 2;
            assert_eq!(parked.is_doomed(), doomed, "case {number}");
            let verdict = waits.verdict(parked).map(|deadlock| labels(&deadlock));
            assert_eq!(verdict, doomed.then(|| cycle.clone()), "case {number}");
            assert!(waits.verdict(parked).is_none(), "a victim is told once");
            assert!(waits.end(parked).is_some());
        }
    }
}

#[test]
fn each_of_the_cycles_that_one_wait_closes_has_a_victim() {
    let waits = Waits::new();
    let all = [parked(0), parked(1), parked(2)];
    let (young, old) = (standing(20, false, 0), standing(10, false, 0));
    // Two readers of lock 1 that both want lock 2, and the oldest, which has that and wants lock 1.
    for parked in &all[..2] {
        assert_eq!(begin_as(&waits, parked, young, Numbers(vec![1], 2)), None);
    }
    assert_eq!(begin_as(&waits, &all[2], old, Numbers(vec![2], 1)), None);
    let verdicts = all.each_ref().map(|parked| waits.verdict(parked).map(|deadlock| labels(&deadlock)));
    assert_eq!(verdicts, [Some(vec![0, 2]), Some(vec![1, 2]), None]);
}

/// Makes a list with a hot lock, and with so many tickets given out.
fn hot(tickets: usize) -> Arc<Waits<Numbers>> {
    let waits = Waits::new();
    waits.heat(HOT_LOCK.into(), Time(0));
    let now = Time(0);
    for label in 0..tickets as u32 {
        let let_in = seek(&waits, &parked(label), numbered(label, 0), Numbers(vec![], HOT_LOCK), now);
        assert!(let_in, "a ticket is free");
    }
    waits
}

const HOT_LOCK: u32 = 7;

/// Returns the standing of the transaction object with this number.
fn numbered(number: u32, began: u64) -> Standing {
    let mut standing = Standing::default();
    standing.begin(number, false, false, || Time(began));
    standing
}

/// Returns whether a transaction that comes to the hot lock is let in at once.
fn seek(waits: &Waits<Numbers>, parked: &Arc<Parked>, standing: Standing, numbers: Numbers, now: Time) -> bool {
    let request = Request { parked, target: LockTarget::Database, mode: Mode::EXCLUSIVE, standing };
    matches!(waits.seek_ticket(request, HOT_LOCK.into(), numbers, now), Admission::LetIn(_))
}

#[test]
fn the_oldest_of_those_that_are_held_back_gets_the_ticket_that_is_returned() {
    let waits = hot(4);
    let [young, old, middle] = [(11, 30), (12, 10), (13, 20)].map(|(number, began)| {
        let parked = parked(number);
        assert!(!seek(&waits, &parked, numbered(number, began), Numbers(vec![], HOT_LOCK), Time(0)));
        parked
    });
    let let_in = || [&young, &old, &middle].map(|parked| parked.is_granted());
    assert_eq!(let_in(), [false; 3]);
    let admission = waits.admission();
    assert_eq!((admission.admitted, admission.held_back, admission.held_back_ever), (4, 3, 3));
    waits.return_ticket(&numbered(0, 0), Time(1), false);
    assert_eq!(let_in(), [false, true, false]);
    assert!(waits.end(&middle).is_some(), "it gives up");
    waits.return_ticket(&numbered(1, 0), Time(1), false);
    assert_eq!(let_in(), [true, true, false]);
    assert_eq!((waits.admission().admitted, waits.admission().held_back), (4, 0));
}

#[test]
fn nobody_waits_for_a_transaction_that_is_held_back() {
    // One that waits for it comes later, or has come before.
    let waits = hot(4);
    let [held_back, other, third] = [11, 12, 13].map(parked);
    assert!(!seek(&waits, &held_back, numbered(11, 1), Numbers(vec![1], HOT_LOCK), Time(0)));
    assert_eq!(begin(&waits, &other, Numbers(vec![2], 3)), None);
    assert!(!held_back.is_granted(), "that is another lock");
    assert_eq!(begin(&waits, &third, Numbers(vec![3], 1)), None);
    assert!(held_back.is_granted());
    assert_eq!(waits.admission().admitted, 5, "its ticket counts");
    assert!(waits.end(&held_back).is_some());

    assert!(seek(&waits, &held_back, numbered(11, 1), Numbers(vec![1], HOT_LOCK), Time(0)));
    let fourth = parked(14);
    assert!(!seek(&waits, &fourth, numbered(14, 1), Numbers(vec![4], HOT_LOCK), Time(0)));
}

#[test]
fn a_transaction_that_is_held_back_is_in_no_deadlock() {
    let waits = hot(4);
    let (held_back, other) = (parked(11), parked(12));
    assert!(!seek(&waits, &held_back, numbered(11, 1), Numbers(vec![1], HOT_LOCK), Time(0)));
    assert_eq!(begin(&waits, &other, Numbers(vec![HOT_LOCK], 1)), None, "it waits for no lock");
    assert!(!held_back.is_doomed() && held_back.is_granted());
}

#[test]
fn tickets_of_transactions_that_stand_still_lapse() {
    let waits = hot(4);
    let held_back = parked(11);
    assert!(!seek(&waits, &held_back, numbered(11, 1), Numbers(vec![], HOT_LOCK), Time(0)));
    let next = waits.look_at_leases(Time(1));
    assert!(next > Time(1) && !held_back.is_granted());
    waits.look_at_leases(next);
    assert!(held_back.is_granted());
    assert_eq!(waits.admission().admitted, 1);
}

#[test]
fn a_deadlock_makes_the_locks_hot_that_are_waited_for() {
    let waits = Waits::new();
    let all = [parked(0), parked(1), parked(2)];
    assert_eq!(begin(&waits, &all[0], Numbers(vec![1], 2)), None);
    assert_eq!(begin(&waits, &all[1], Numbers(vec![3], 1)), None);
    assert!(!waits.is_any_hot());
    assert_eq!(begin(&waits, &all[2], Numbers(vec![2], 1)), Some(vec![2, 0]));
    assert!(waits.is_any_hot());
    assert_eq!([1, 2, 3].map(|lock| waits.is_hot(lock, || Time(0))), [true, true, false]);
}
