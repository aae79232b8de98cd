//! Pessimistic transactions: the transactions that wait for them or close a cycle, and the requests that they refuse.

use super::levels::{Step, delete, lock, range, read, scan};
use super::{Fixture, fixture, fixture_with, levels_and_ways};
use crate::hekaton::HekatonConfig;
use hotrow_storage::{IndexId, IndexRef};
use hotrow_sync::{Waiter, thread};
use hotrow_txn::{Abort, Begin, Concurrency, Engine, Inspection, Isolation, LockFor, Scan, Transaction, Write};
use std::ops::ControlFlow;
use std::time::Duration;

/// A step of a transaction on the row with this id.
type StepOn = fn(&Fixture, &mut dyn Transaction, i64) -> Result<Write, Abort>;

/// Scans the rows with a name.
fn scan_name(case: &Fixture, txn: &mut dyn Transaction, name: i64) -> Result<Write, Abort> {
    let scan = Scan::prefix(case.table, IndexRef::Secondary(IndexId(0)), Fixture::name(name));
    txn.scan(&scan, &mut |_| ControlFlow::Continue(())).map(|()| Write::Done)
}

/// Locks row 0 for an update.
fn lock_first(case: &Fixture, txn: &mut dyn Transaction) -> Result<Write, Abort> {
    let scan = Scan { lock: LockFor::Update, ..range(case, 0, 0) };
    txn.scan(&scan, &mut |_| ControlFlow::Continue(())).map(|()| Write::Done)
}

/// Scans to the first row of all.
fn scan_first(case: &Fixture, txn: &mut dyn Transaction) -> Result<Write, Abort> {
    let mut outcome = Ok(Write::Absent);
    txn.scan(&range(case, 0, 9), &mut |_| {
        outcome = Ok(Write::Done);
        ControlFlow::Break(())
    })?;
    outcome
}

#[test]
fn who_changes_what_a_pessimist_has_read_ends_after_it() {
    // What a pessimist does, what another one does then, and whether that one has to wait: at repeatable read, at
    // serializable.
    let cases: [(&str, Step, Step, [bool; 2]); 15] = [
        ("nothing in common", |c, t| read(c, t, 0), |c, t| c.write(t, 1, 9), [false; 2]),
        ("a row", |c, t| read(c, t, 0), |c, t| c.write(t, 0, 9), [true; 2]),
        ("a row that goes", |c, t| read(c, t, 0), |c, t| delete(c, t, 0), [true; 2]),
        ("a row that is only locked", |c, t| read(c, t, 0), |c, t| lock(c, t, 0).and(c.write(t, 3, 9)), [true; 2]),
        ("a row of a range", |c, t| scan(c, t, 0, 1), |c, t| c.write(t, 1, 9), [true; 2]),
        ("an absent key", |c, t| read(c, t, 9), |c, t| c.insert(t, 9, None), [false, true]),
        (
            "an absent row to write",
            |c, t| c.write(t, 9, 1).map(|_| Write::Done),
            |c, t| c.insert(t, 9, None),
            [false, true],
        ),
        ("a range", |c, t| scan(c, t, 2, 9), |c, t| c.insert(t, 8, None), [false, true]),
        ("beside a range", |c, t| scan(c, t, 0, 5), |c, t| c.insert(t, 8, None), [false; 2]),
        ("what the walk came to", |c, t| scan_first(c, t), |c, t| c.insert(t, -1, None), [false; 2]),
        ("what it did not come to", |c, t| scan_first(c, t), |c, t| c.insert(t, 8, None), [false; 2]),
        ("a name", |c, t| scan_name(c, t, 55), |c, t| c.rename(t, 1, Some(55)), [false, true]),
        ("another name", |c, t| scan_name(c, t, 55), |c, t| c.rename(t, 1, Some(56)), [false; 2]),
        ("a refused name", |c, t| c.insert(t, 8, Some(100)).map(|_| Write::Done), |c, t| delete(c, t, 0), [true; 2]),
        ("a refused key", |c, t| c.insert(t, 0, None).map(|_| Write::Done), |c, t| c.write(t, 0, 9), [true; 2]),
    ];
    for (at, level) in [Isolation::RepeatableRead, Isolation::Serializable].into_iter().enumerate() {
        for (name, first, second, waits) in cases {
            for (other, way) in levels_and_ways() {
                let what = format!("{level}: {name}, {other}, {way}");
                let case = fixture(4);
                // The lock comes before the change, or finds what is changed.
                for comes_first in [true, false] {
                    let mut one = case.begin_as(level, Concurrency::Pessimistic);
                    let mut two = case.begin_as(other, way);
                    let steps =
                        if comes_first { [(first, true), (second, false)] } else { [(second, false), (first, true)] };
                    let done = steps.map(|(step, is_first)| step(&case, if is_first { &mut *one } else { &mut *two }));
                    if !comes_first && done[1] == Err(Abort::WriteConflict) {
                        continue;
                    }
                    assert_eq!(done, [Ok(Write::Done); 2], "{what}");
                    let expected = if waits[at] { Err(Abort::Cancelled) } else { Ok(()) };
                    assert_eq!(two.commit(), expected, "{what}");
                    assert_eq!(one.commit(), Ok(()), "{what}: it waits for nobody");
                    two.abort();
                    case.engine.audit().unwrap_or_else(|broken| panic!("{what}: {broken}"));
                    if expected == Ok(()) {
                        break;
                    }
                }
            }
        }
    }
}

#[test]
fn who_waits_goes_on_when_the_last_reader_has_ended_or_is_gone() {
    for (end, name) in [(0, "commits"), (1, "aborts"), (2, "vanishes")] {
        let case = fixture(4);
        let mut readers = [0, 1].map(|_| case.begin_as(Isolation::Serializable, Concurrency::Pessimistic));
        for reader in &mut readers {
            assert_eq!(read(&case, &mut **reader, 0), Ok(Write::Done));
            assert_eq!(scan(&case, &mut **reader, 5, 9), Ok(Write::Done));
        }
        let mut writer = Engine::transaction(&*case.engine, Waiter::thread(Duration::ZERO));
        writer.begin(&Begin::at(Isolation::ReadCommitted)).expect("beginning needs nothing");
        assert_eq!(case.write(&mut *writer, 0, 9), Ok(Write::Done));
        assert_eq!(case.insert(&mut *writer, 7, None), Ok(Write::Done));
        thread::scope(|scope| {
            let ended = scope.spawn(move || writer.commit());
            for mut reader in readers {
                assert_eq!(case.read(&mut *reader, 0), Ok(Some(0)), "{name}: what it has read stays so");
                match end {
                    0 => assert_eq!(reader.commit(), Ok(())),
                    1 => reader.abort(),
                    _ => drop(reader),
                }
            }
            assert_eq!(ended.join().expect("it does not panic"), Ok(()), "{name}");
        });
        case.engine.audit().unwrap_or_else(|broken| panic!("{name}: {broken}"));
    }
}

#[test]
fn who_closes_a_cycle_is_its_victim_and_nobody_else() {
    // Each reads what the next one writes: rows, or places where the next one inserts.
    let cases: [(&str, StepOn, StepOn); 2] = [
        ("rows", read, |c, t, id| c.write(t, id, 1)),
        ("ranges", |c, t, id| scan(c, t, 10 + id, 10 + id), |c, t, id| c.insert(t, 10 + id, None)),
    ];
    for (name, reads, writes) in cases {
        for members in 2..5 {
            let case = fixture(4);
            let mut all: Vec<_> = (1..=members)
                .map(|label| {
                    let mut txn = Engine::transaction(&*case.engine, Waiter::thread(Duration::ZERO));
                    let concurrency = Some(Concurrency::Pessimistic);
                    txn.begin(&Begin { concurrency, label, ..Begin::default() }).expect("beginning needs nothing");
                    txn
                })
                .collect();
            for (id, txn) in all.iter_mut().enumerate() {
                assert_eq!(reads(&case, &mut **txn, id as i64), Ok(Write::Done));
            }
            for (id, txn) in all.iter_mut().enumerate() {
                assert_eq!(writes(&case, &mut **txn, (id as i64 + 1) % i64::from(members)), Ok(Write::Done));
            }
            let ended: Vec<_> = thread::scope(|scope| {
                let commit = |mut txn: Box<dyn Transaction>| {
                    let ended = txn.commit();
                    let deadlock = txn.deadlock().cloned();
                    txn.abort();
                    (ended, deadlock)
                };
                let threads: Vec<_> = all.into_iter().map(|txn| scope.spawn(move || commit(txn))).collect();
                threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
            });
            let victims: Vec<_> = ended.iter().filter(|(ended, _)| *ended == Err(Abort::Deadlock)).collect();
            assert!(
                victims.len() == 1 && ended.iter().filter(|(ended, _)| ended.is_ok()).count() == members as usize - 1,
                "{members} {name}: {ended:?}"
            );
            let deadlock = victims[0].1.as_ref().expect("the victim is told");
            assert_eq!(deadlock.waits.len(), members as usize, "{members} {name}: {deadlock:?}");
            let before = deadlock.waits.iter().cycle().skip(members as usize - 1);
            assert!(before.zip(&deadlock.waits).all(|(before, next)| before.blocker == next.waiter), "{deadlock:?}");
            case.engine.audit().unwrap_or_else(|broken| panic!("{members} {name}: {broken}"));
        }
    }
}

#[test]
fn a_row_has_so_many_readers_and_none_that_come_late() {
    let case = fixture_with(2, HekatonConfig { read_locks: 2, ..HekatonConfig::default() });
    let begin = || case.begin_as(Isolation::RepeatableRead, Concurrency::Pessimistic);
    let (mut one, mut two, mut three) = (begin(), begin(), begin());
    for reader in [&mut one, &mut two] {
        assert_eq!(case.read(&mut **reader, 0), Ok(Some(0)));
        assert_eq!(case.read(&mut **reader, 0), Ok(Some(0)), "once is enough");
    }
    assert_eq!(case.read(&mut *three, 0), Err(Abort::Conflict));
    three.abort();
    assert_eq!(two.commit(), Ok(()));
    let mut writer = begin();
    assert_eq!(case.write(&mut *writer, 0, 1), Ok(Write::Done));
    let mut three = begin();
    assert_eq!(case.read(&mut *three, 0), Ok(Some(0)), "a writer that does not wait yet");
    three.abort();
    assert_eq!(writer.commit(), Err(Abort::Cancelled), "it has to wait, and may not");
    let (mut three, mut four) = (begin(), begin());
    assert_eq!(case.read(&mut *three, 0), Err(Abort::Conflict), "who waits is not kept waiting by others");
    three.abort();
    writer.abort();
    assert_eq!(case.read(&mut *four, 0), Ok(Some(0)));
    assert_eq!(case.write(&mut *one, 0, 2), Ok(Write::Done), "a reader of its own is not in the way");
    assert_eq!(one.commit(), Err(Abort::Cancelled), "but the other one is");
    four.abort();
    one.abort();
    case.engine.audit().expect("nobody is there");
}

#[test]
fn a_waiting_inserter_is_not_made_to_wait_for_more() {
    let case = fixture(2);
    let begin = || case.begin_as(Isolation::Serializable, Concurrency::Pessimistic);
    let (mut one, mut two, mut writer) = (begin(), begin(), begin());
    assert_eq!(read(&case, &mut *one, 9), Ok(Write::Done));
    assert_eq!(case.insert(&mut *writer, 9, None), Ok(Write::Done));
    assert_eq!(writer.commit(), Err(Abort::Cancelled), "it has to wait, and may not");
    assert_eq!(scan(&case, &mut *one, 5, 9), Ok(Write::Done), "for this one it waits");
    assert_eq!(read(&case, &mut *two, 9), Err(Abort::Conflict));
    for mut txn in [one, two, writer] {
        txn.abort();
    }
    case.engine.audit().expect("nobody is there");
}

#[test]
fn what_was_undone_stays_read_locked() {
    // What a pessimist takes back, and what another one does then, which has to wait.
    let cases: [(&str, Step, Step, [bool; 2]); 5] = [
        ("an update", |c, t| c.write(t, 0, 8), |c, t| c.write(t, 0, 9), [true; 2]),
        ("two updates", |c, t| c.write(t, 0, 8).and(c.write(t, 0, 7)), |c, t| delete(c, t, 0), [true; 2]),
        ("a lock", lock_first, |c, t| c.write(t, 0, 9), [true; 2]),
        ("an insert", |c, t| c.insert(t, 9, None), |c, t| c.insert(t, 9, None), [false, true]),
        ("an insert's name", |c, t| c.insert(t, 8, Some(1)), |c, t| c.insert(t, 9, Some(1)), [false, true]),
    ];
    for (at, level) in [Isolation::RepeatableRead, Isolation::Serializable].into_iter().enumerate() {
        for (name, undone, second, waits) in cases {
            let what = format!("{level}: {name}");
            let case = fixture(4);
            let mut one = case.begin_as(level, Concurrency::Pessimistic);
            let mut two = case.begin_as(level, Concurrency::Optimistic);
            let savepoint = one.savepoint();
            assert_eq!(undone(&case, &mut *one), Ok(Write::Done), "{what}");
            one.rollback_to(savepoint);
            assert_eq!(second(&case, &mut *two), Ok(Write::Done), "{what}: nobody is in the way");
            assert_eq!(two.commit(), if waits[at] { Err(Abort::Cancelled) } else { Ok(()) }, "{what}");
            assert_eq!(case.write(&mut *one, 3, 9), Ok(Write::Done), "{what}");
            assert_eq!(one.commit(), Ok(()), "{what}");
            two.abort();
            case.engine.audit().unwrap_or_else(|broken| panic!("{what}: {broken}"));
        }
    }
}

#[test]
fn who_takes_an_update_back_waits_for_its_readers_no_more() {
    for level in Isolation::ALL {
        let case = fixture(4);
        let mut reader = case.begin_as(Isolation::Serializable, Concurrency::Pessimistic);
        assert_eq!(read(&case, &mut *reader, 0), Ok(Write::Done));
        let mut writer = case.begin_as(level, Concurrency::Pessimistic);
        let savepoint = writer.savepoint();
        assert_eq!(case.write(&mut *writer, 0, 1), Ok(Write::Done));
        writer.rollback_to(savepoint);
        assert_eq!(case.write(&mut *writer, 1, 1), Ok(Write::Done));
        assert_eq!(writer.commit(), Ok(()), "{level}");
        assert_eq!(reader.commit(), Ok(()), "{level}");
        case.engine.audit().expect("nobody is there");
    }
}

#[test]
fn who_reads_much_remembers_each_row_once() {
    const ROWS: i64 = 100;
    let case = fixture(ROWS);
    let mut reader = case.begin_as(Isolation::RepeatableRead, Concurrency::Pessimistic);
    for _ in 0..3 {
        assert_eq!(case.sum(&mut *reader), 0);
    }
    let locks = reader.statistics().locks;
    assert_eq!(locks, ROWS as u64, "each row is locked once");
    for id in (0..ROWS).step_by(3) {
        assert_eq!(case.write(&mut *reader, id, 1), Ok(Write::Done));
    }
    assert_eq!(reader.commit(), Ok(()), "it waits for no lock of its own");
    case.engine.audit().expect("nobody is there");
}
