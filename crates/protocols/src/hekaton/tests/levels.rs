//! Two transactions side by side: the pairs that conflict, and the reads that each level validates.

use super::{Fixture, fixture};
use hotrow_storage::{IndexId, IndexRef, Key};
use hotrow_txn::{Abort, Begin, Inspection, Isolation, LockFor, Residual, Scan, Transaction, Write};
use std::ops::{Bound, ControlFlow};

/// A step of a transaction.
pub(super) type Step = fn(&Fixture, &mut dyn Transaction) -> Result<Write, Abort>;

pub(super) fn read(case: &Fixture, txn: &mut dyn Transaction, id: i64) -> Result<Write, Abort> {
    case.read(txn, id).map(|_| Write::Done)
}

pub(super) fn lock(case: &Fixture, txn: &mut dyn Transaction, id: i64) -> Result<Write, Abort> {
    txn.read_for_update(case.table, &Key::Int(id)).map(|_| Write::Done)
}

pub(super) fn delete(case: &Fixture, txn: &mut dyn Transaction, id: i64) -> Result<Write, Abort> {
    txn.delete(case.table, &Key::Int(id))
}

/// Returns a scan of the rows from `lower` to `upper`.
pub(super) fn range(case: &Fixture, lower: i64, upper: i64) -> Scan {
    let bound = |id| Bound::Included(Key::Int(id));
    Scan { lower: bound(lower), upper: bound(upper), ..Scan::all(case.table, IndexRef::Primary) }
}

pub(super) fn scan(case: &Fixture, txn: &mut dyn Transaction, lower: i64, upper: i64) -> Result<Write, Abort> {
    txn.scan(&range(case, lower, upper), &mut |_| ControlFlow::Continue(())).map(|()| Write::Done)
}

/// Returns a scan of the rows from 0 to 9 whose number is 5 or more.
fn great(case: &Fixture, lock: LockFor) -> Scan {
    Scan { residual: Some(Residual::new(|row| row.value(1).as_int() >= Some(5))), lock, ..range(case, 0, 9) }
}

fn scan_great(case: &Fixture, txn: &mut dyn Transaction) -> Result<Write, Abort> {
    txn.scan(&great(case, LockFor::Read), &mut |_| ControlFlow::Continue(())).map(|()| Write::Done)
}

#[test]
fn nobody_waits_and_the_first_writer_wins() {
    let conflict = Err(Abort::WriteConflict);
    let done = Ok(Write::Done);
    let cases: [(&str, Step, Step, Result<Write, Abort>); 13] = [
        ("a writer keeps no reader off", |c, t| c.write(t, 0, 9), |c, t| read(c, t, 0), done),
        ("a reader keeps no writer off", |c, t| read(c, t, 0), |c, t| c.write(t, 0, 9), done),
        ("a deleted row is there to read", |c, t| delete(c, t, 0), |c, t| read(c, t, 0), done),
        ("a scan keeps no inserter off", |c, t| scan(c, t, 0, 9), |c, t| c.insert(t, 9, None), done),
        ("two write", |c, t| c.write(t, 0, 9), |c, t| c.write(t, 0, 8), conflict),
        ("two delete", |c, t| delete(c, t, 0), |c, t| delete(c, t, 0), conflict),
        ("one locks", |c, t| lock(c, t, 0), |c, t| c.write(t, 0, 8), conflict),
        ("two lock", |c, t| lock(c, t, 0), |c, t| lock(c, t, 0), conflict),
        ("two insert a key", |c, t| c.insert(t, 9, None), |c, t| c.insert(t, 9, None), conflict),
        ("two insert a name", |c, t| c.insert(t, 8, Some(1)), |c, t| c.insert(t, 9, Some(1)), conflict),
        ("what is deleted is not free", |c, t| delete(c, t, 0), |c, t| c.insert(t, 0, None), conflict),
        ("two insert", |c, t| c.insert(t, 8, None), |c, t| c.insert(t, 9, None), done),
        ("a key is taken", |c, t| read(c, t, 0), |c, t| c.insert(t, 0, None), Ok(Write::Duplicate(IndexRef::Primary))),
    ];
    for level in Isolation::ALL {
        for (name, first, second, expected) in cases {
            let case = fixture(4);
            let (mut one, mut two) = (case.begin(level), case.begin(level));
            assert_eq!(first(&case, &mut *one), done, "{level}: {name}");
            assert_eq!(second(&case, &mut *two), expected, "{level}: {name}");
            two.abort();
            one.abort();
            case.engine.audit().unwrap_or_else(|broken| panic!("{level}: {name}: {broken}"));
            assert_eq!(case.versions(), 4, "{level}: {name}: what was rolled back leaves nothing");
        }
    }
}

#[test]
fn a_level_says_what_must_be_the_same_at_the_end() {
    // What one transaction reads, what another one commits then, and at which levels the first commits a write of its
    // own.
    let cases: [(&str, Step, Step, [bool; 4]); 12] = [
        ("nothing in common", |c, t| read(c, t, 0), |c, t| c.write(t, 1, 9), [true; 4]),
        ("a row", |c, t| read(c, t, 0), |c, t| c.write(t, 0, 9), [true, false, true, false]),
        ("a row that goes", |c, t| read(c, t, 0), |c, t| delete(c, t, 0), [true, false, true, false]),
        ("a row of a range", |c, t| scan(c, t, 0, 1), |c, t| c.write(t, 1, 9), [true, false, true, false]),
        ("an absent key", |c, t| read(c, t, 9), |c, t| c.insert(t, 9, None), [true, true, true, false]),
        ("a range", |c, t| scan(c, t, 2, 9), |c, t| c.insert(t, 8, None), [true, true, true, false]),
        ("what is not looked for", scan_great, |c, t| c.write(t, 0, 4), [true; 4]),
        ("another that is not looked for", scan_great, |c, t| c.insert(t, 8, None), [true; 4]),
        ("one less that is not looked for", scan_great, |c, t| delete(c, t, 0), [true; 4]),
        ("what was not looked for", scan_great, |c, t| c.write(t, 0, 9), [true, true, true, false]),
        ("beside a range", |c, t| scan(c, t, 0, 5), |c, t| c.insert(t, 8, None), [true; 4]),
        (
            "a refused name",
            |c, t| c.insert(t, 8, Some(100)).map(|_| Write::Done),
            |c, t| delete(c, t, 0),
            [true, false, true, false],
        ),
    ];
    for (at, level) in Isolation::ALL.into_iter().enumerate() {
        for (name, first, second, commits) in cases {
            let what = format!("{level}: {name}");
            let case = fixture(4);
            let (mut one, mut reader, mut two) = (case.begin(level), case.begin(level), case.begin(level));
            assert_eq!(first(&case, &mut *one), Ok(Write::Done), "{what}");
            assert_eq!(read(&case, &mut *reader, 0), Ok(Write::Done), "{what}");
            assert_eq!(second(&case, &mut *two), Ok(Write::Done), "{what}");
            two.commit().unwrap_or_else(|abort| panic!("{what}: {abort}"));
            assert_eq!(case.write(&mut *one, 3, 9), Ok(Write::Done), "{what}");
            let expected = if commits[at] { Ok(()) } else { Err(Abort::Validation) };
            assert_eq!(one.commit(), expected, "{what}");
            one.abort();
            assert_eq!(reader.commit(), Ok(()), "{what}: who writes nothing has run at its beginning");
            case.engine.audit().unwrap_or_else(|broken| panic!("{what}: {broken}"));
        }
    }
}

#[test]
fn what_was_undone_was_read_all_the_same() {
    let undone: fn(&Fixture, &mut dyn Transaction, Step) = |case, txn, step| {
        let savepoint = txn.savepoint();
        assert_eq!(step(case, txn), Ok(Write::Done));
        txn.rollback_to(savepoint);
    };
    let refused: fn(&Fixture, &mut dyn Transaction, Step) = |case, txn, step| {
        assert_eq!(step(case, txn), Ok(Write::Duplicate(IndexRef::Secondary(IndexId(0)))));
    };
    // What a transaction does for nothing, what another one commits then, and at which levels the first commits a write
    // of its own.
    let (row, key) = ([true, false, true, false], [true, true, true, false]);
    type Case = (&'static str, fn(&Fixture, &mut dyn Transaction, Step), Step, Step, [bool; 4]);
    let cases: [Case; 6] = [
        ("an update", undone, |c, t| c.write(t, 0, 8), |c, t| c.write(t, 0, 9), row),
        ("a delete", undone, |c, t| delete(c, t, 0), |c, t| delete(c, t, 0), row),
        ("a name", refused, |c, t| c.rename(t, 0, Some(101)), |c, t| c.write(t, 0, 9), row),
        ("an insert", undone, |c, t| c.insert(t, 9, None), |c, t| c.insert(t, 9, None), key),
        ("an insert's name", undone, |c, t| c.insert(t, 8, Some(1)), |c, t| c.insert(t, 9, Some(1)), key),
        ("a new name", undone, |c, t| c.rename(t, 3, Some(1)), |c, t| c.insert(t, 9, Some(1)), key),
    ];
    for (at, level) in Isolation::ALL.into_iter().enumerate() {
        for (name, undo, first, second, commits) in cases {
            let what = format!("{level}: {name}");
            let case = fixture(4);
            let (mut one, mut two) = (case.begin(level), case.begin(level));
            undo(&case, &mut *one, first);
            assert_eq!(second(&case, &mut *two), Ok(Write::Done), "{what}: nobody is in the way");
            two.commit().unwrap_or_else(|abort| panic!("{what}: {abort}"));
            assert_eq!(case.write(&mut *one, 3, 9), Ok(Write::Done), "{what}");
            let expected = if commits[at] { Ok(()) } else { Err(Abort::Validation) };
            assert_eq!(one.commit(), expected, "{what}");
        }
    }
}

#[test]
fn a_read_time_is_that_of_the_call_or_of_the_beginning() {
    for level in Isolation::ALL {
        let case = fixture(2);
        let (mut reader, mut writer) = (case.begin(level), case.transaction());
        assert_eq!(case.read(&mut *reader, 0), Ok(Some(0)));
        for round in 1..100 {
            reader.idle();
            writer.begin(&Begin::at(level)).expect("beginning needs nothing");
            assert_eq!(case.write(&mut *writer, 0, round), Ok(Write::Done));
            assert_eq!(case.read(&mut *writer, 0), Ok(Some(round)), "what it wrote itself");
            writer.commit().expect("nobody is in the way");
            let seen = if level == Isolation::ReadCommitted { round } else { 0 };
            assert_eq!(case.read(&mut *reader, 0), Ok(Some(seen)), "{level}");
        }
        let expected = if level == Isolation::ReadCommitted { Ok(Write::Done) } else { Err(Abort::WriteConflict) };
        assert_eq!(case.write(&mut *reader, 0, -1), expected, "{level}: a row that others have changed");
    }
}

#[test]
fn a_lock_that_no_change_followed_is_there_to_the_end_and_then_gone() {
    for level in Isolation::ALL {
        let case = fixture(4);
        let mut one = case.begin(level);
        let all = Scan { lock: LockFor::Update, ..range(&case, 0, 2) };
        one.scan(&all, &mut |_| ControlFlow::Continue(())).expect("nobody is in the way");
        let savepoint = one.savepoint();
        assert_eq!(case.write(&mut *one, 1, 5), Ok(Write::Done));
        assert_eq!(delete(&case, &mut *one, 2), Ok(Write::Done));
        one.rollback_to(savepoint);
        for id in 0..3 {
            assert_eq!(case.read(&mut *one, id), Ok(Some(0)), "{level}: locked, and as it was");
            let mut two = case.begin(level);
            assert_eq!(case.write(&mut *two, id, 7), Err(Abort::WriteConflict), "{level}: a lock outlives a savepoint");
            two.abort();
        }
        assert_eq!(case.write(&mut *one, 0, 6), Ok(Write::Done));
        one.commit().expect("nobody is in the way");
        let mut two = case.begin(level);
        for id in 0..4 {
            assert_eq!(case.write(&mut *two, id, 7), Ok(Write::Done), "{level}: the lock is gone");
        }
        two.commit().expect("nobody is in the way");
    }
}

#[test]
fn what_is_not_looked_for_is_neither_visited_nor_locked() {
    for level in Isolation::ALL {
        let case = fixture(4);
        let mut first = case.begin(level);
        assert_eq!(case.write(&mut *first, 2, 7), Ok(Write::Done));
        first.commit().expect("nobody is in the way");
        let (mut one, mut two) = (case.begin(level), case.begin(level));
        assert!(one.takes_residual(LockFor::Update));
        let mut visited = Vec::new();
        one.scan(&great(&case, LockFor::Update), &mut |row| {
            visited.push(row.value(0).as_int().expect("it is an integer"));
            ControlFlow::Continue(())
        })
        .expect("nobody is in the way");
        assert_eq!(visited, [2], "{level}");
        for id in [0, 1, 3] {
            assert_eq!(case.write(&mut *two, id, 1), Ok(Write::Done), "{level}");
        }
        assert_eq!(case.write(&mut *two, 2, 1), Err(Abort::WriteConflict), "{level}");
        two.abort();
        assert_eq!(case.write(&mut *one, 2, 3), Ok(Write::Done), "{level}");
        assert_eq!(one.commit(), Ok(()), "{level}");
    }
}

#[test]
fn all_indexes_lead_to_the_version_that_is_seen() {
    let case = fixture(4);
    let mut reader = case.begin(Isolation::Snapshot);
    let mut writer = case.begin(Isolation::Serializable);
    assert_eq!(case.rename(&mut *writer, 0, Some(50)), Ok(Write::Done));
    assert_eq!(case.rename(&mut *writer, 1, Some(100)), Ok(Write::Done), "a name that the transaction gave up");
    let duplicate = Ok(Write::Duplicate(IndexRef::Secondary(IndexId(0))));
    assert_eq!(case.rename(&mut *writer, 2, Some(100)), duplicate);
    assert_eq!(writer.commit(), Ok(()));
    let found = |txn: &mut dyn Transaction, name: i64| {
        let mut ids = Vec::new();
        txn.scan(&Scan::prefix(case.table, IndexRef::Secondary(IndexId(0)), Fixture::name(name)), &mut |row| {
            ids.push(row.value(0).as_int().expect("it is an integer"));
            ControlFlow::Continue(())
        })
        .expect("a reader waits for nobody");
        ids
    };
    assert_eq!([50, 100, 101].map(|name| found(&mut *reader, name)), [vec![], vec![0], vec![1]]);
    let mut after = case.begin(Isolation::Serializable);
    assert_eq!([50, 100, 101].map(|name| found(&mut *after, name)), [vec![0], vec![1], vec![]]);
}
