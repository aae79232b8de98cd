//! Tests of the list by itself: transactions that hold and await locks which are numbers.

use super::*;
use hotrow_sync::Waiter;
use std::time::Duration;

/// Holds the locks with these numbers, and awaits one.
struct Numbers(Vec<u32>, u32);

impl Blocked for Numbers {
    type Lock = u32;

    fn awaited(&self) -> u32 {
        self.1
    }

    fn holds(&mut self, lock: u32) -> bool {
        self.0.contains(&lock)
    }
}

fn parked(label: u32) -> Arc<Parked> {
    let parked = Arc::new(Parked::new(Waiter::thread(Duration::ZERO)));
    parked.set_label(label);
    parked
}

/// The labels of the cycle that the transaction closes which waits at `parked`.
fn begin(waits: &Waits<Numbers>, parked: &Arc<Parked>, numbers: Numbers) -> Option<Vec<u32>> {
    let deadlock = waits.begin(Request { parked, target: LockTarget::Database, mode: Mode::EXCLUSIVE }, numbers)?;
    let waits = &deadlock.waits;
    for (at, edge) in waits.iter().enumerate() {
        assert_eq!(edge.blocker, waits[(at + 1) % waits.len()].waiter, "{waits:?}");
        assert_eq!((edge.mode, &edge.target), ("exclusive", &LockTarget::Database));
    }
    Some(waits.iter().map(|edge| edge.waiter).collect())
}

/// Transactions, labelled 0, 1, 2 and so on, that come to wait one after the other: what each holds, and what it waits
/// for.
type Case = &'static [(&'static [u32], u32)];

#[test]
fn the_transaction_that_closes_a_cycle_is_its_victim_and_the_only_one() {
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
        // The victim has no edges any more: a transaction that waits for it, and that it would wait for, is in no cycle.
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
