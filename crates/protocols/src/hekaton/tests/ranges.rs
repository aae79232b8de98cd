//! Tests of locks on ranges: which transactions look at them, and that no row comes where one is.

use super::levels::range;
use super::{Fixture, fixture, row};
use hotrow_storage::{IndexRef, Key};
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Waiter, thread};
use hotrow_txn::{Abort, Begin, Concurrency, Engine, Inspection, Isolation, Transaction, Write};
use std::ops::ControlFlow;
use std::time::Duration;

/// Returns the number of latches that the insert of a key takes in the primary key's ordered index, and that of the
/// ranges that it looks at.
fn looks(case: &Fixture, id: i64) -> (usize, usize) {
    let database = case.engine.database();
    let mut participant = database.participant();
    participant.enter();
    let table = database.table(participant.guard(), case.table).expect("it was made");
    let looks = table.index_of(IndexRef::Primary).data().looks(&Key::Int(id));
    participant.leave();
    looks
}

/// Returns the ids of the rows in a range, or only that of the first row.
fn count(
    case: &Fixture,
    txn: &mut dyn Transaction,
    (lower, upper): (i64, i64),
    only_first: bool,
) -> Result<Vec<i64>, Abort> {
    let mut rows = Vec::new();
    txn.scan(&range(case, lower, upper), &mut |row| {
        rows.extend(row.value(0).as_int());
        if only_first { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(rows)
}

#[test]
fn an_insert_looks_at_no_range_that_is_elsewhere() {
    let case = fixture(4);
    let mut readers: Vec<_> = (0..500)
        .map(|number: i64| {
            let mut txn = case.begin_as(Isolation::Serializable, Concurrency::Pessimistic);
            let lower = 1000 + number * 1000;
            assert_eq!(count(&case, &mut *txn, (lower, lower + 9), false), Ok(Vec::new()));
            txn
        })
        .collect();
    let latches: usize = (0..500).map(|number| 1000 + number * 1000 + 500).map(|id| looks(&case, id).0).sum();
    assert!(latches < 25, "500 inserts that meet no lock take {latches} latches");
    for id in [10, 1500, 100_500, 2_000_000] {
        assert_eq!(looks(&case, id).1, 0, "{id}: it is in none of 500 ranges, and near none");
        let mut txn = case.begin(Isolation::ReadCommitted);
        assert_eq!(case.insert(&mut *txn, id, None), Ok(Write::Done));
        assert_eq!(txn.commit(), Ok(()), "{id}: nobody is in its way");
    }
    assert_eq!(looks(&case, 77_005).1, 1);
    let mut txn = case.begin(Isolation::ReadCommitted);
    assert_eq!(case.insert(&mut *txn, 77_005, None), Ok(Write::Done));
    assert_eq!(txn.commit(), Err(Abort::Cancelled), "it would wait for the one reader");
    txn.abort();
    readers.drain(..).for_each(|mut reader| assert_eq!(reader.commit(), Ok(())));
    case.engine.audit().expect("nobody is there");
}

/// A reader of the first row keeps locked only what it has come to.
#[test]
fn a_scan_that_ends_early_locks_what_it_has_come_to() {
    let case = fixture(4);
    let mut reader = case.begin_as(Isolation::Serializable, Concurrency::Pessimistic);
    let everything = (0, i64::MAX);
    assert_eq!(count(&case, &mut *reader, everything, true), Ok(vec![0]));
    for (id, ranges) in [(0, 1), (5, 0), (i64::MAX, 0)] {
        assert_eq!(looks(&case, id).1, ranges, "{id}");
    }
    assert_eq!(count(&case, &mut *reader, everything, false), Ok(vec![0, 1, 2, 3]));
    for (id, ranges) in [(0, 2), (5, 1), (i64::MAX, 1)] {
        assert_eq!(looks(&case, id).1, ranges, "{id}");
    }
    assert_eq!(reader.commit(), Ok(()));
    case.engine.audit().expect("nobody is there");
}

/// Rows come and go while readers look twice, at ranges of all widths and at the first row.
#[test]
fn nothing_comes_where_somebody_has_looked() {
    const KEYS: i64 = 64;
    let case = Arc::new(fixture(0));
    let is_over = Arc::new(AtomicBool::new(false));
    let mut writers: Vec<_> = (0..2i64)
        .map(|number| {
            let (case, is_over) = (case.clone(), is_over.clone());
            thread::spawn(move || {
                let mut txn = Engine::transaction(&*case.engine, Waiter::thread(Duration::ZERO));
                let (mut id, mut committed) = (number, 0);
                while !is_over.load(Ordering::Acquire) {
                    id = (id * 37 + 11 + number) % KEYS;
                    txn.begin(&Begin::at(Isolation::ReadCommitted)).expect("beginning needs nothing");
                    let done = match txn.delete(case.table, &Key::Int(id)) {
                        Ok(Write::Absent) => {
                            txn.insert(case.table, row(&case.engine, case.table, id, 0, None).as_ref())
                        }
                        other => other,
                    };
                    match done.and_then(|_| txn.commit()) {
                        Ok(()) => committed += 1,
                        Err(_) => txn.abort(),
                    }
                }
                committed
            })
        })
        .collect();
    let mut reader = Engine::transaction(&*case.engine, Waiter::thread(Duration::ZERO));
    let mut committed = 0;
    for turn in 0..3000 {
        let lower = turn * 7 % KEYS;
        let upper = if turn % 3 == 0 { i64::MAX } else { lower + turn % 20 };
        let pessimist = Some(Concurrency::Pessimistic);
        reader.begin(&Begin { concurrency: pessimist, ..Begin::at(Isolation::Serializable) }).expect("there are slots");
        let only_first = turn % 2 == 0;
        let looked = count(&case, &mut *reader, (lower, upper), only_first).and_then(|first| {
            thread::yield_now();
            Ok((first, count(&case, &mut *reader, (lower, upper), only_first)?))
        });
        match looked.and_then(|both| reader.commit().map(|()| both)) {
            Ok((first, second)) => {
                committed += 1;
                assert_eq!(first, second, "turn {turn}: {lower} to {upper}, the first only: {only_first}");
            }
            Err(_) => reader.abort(),
        }
    }
    is_over.store(true, Ordering::Release);
    let written: i32 = writers.drain(..).map(|writer| writer.join().expect("it does not panic")).sum();
    assert!(committed > 0 && written > 0, "{committed} readers, {written} writers");
    drop(reader);
    case.engine.audit().expect("nobody is there");
}
