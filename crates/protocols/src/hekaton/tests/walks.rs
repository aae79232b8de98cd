//! Pessimistic scans while rows change on their way: between two visits others change what the walk has yet to come to.

use super::Fixture;
use crate::Instance;
use crate::hekaton::{Hekaton, HekatonConfig, Optimistic};
use hotrow_storage::{
    Column, IndexId, IndexKind, IndexRef, IndexSchema, Key, KeyBuilder, Row, TableSchema, Type, Value,
};
use hotrow_txn::{Abort, Concurrency, Direction, Engine, Isolation, LockFor, Scan, Transaction, Write};
use std::ops::{Bound, ControlFlow};

/// The indexes of the number, and one of the name, which no scan here follows.
const HASH: IndexRef = IndexRef::Secondary(IndexId(0));
const ORDERED: IndexRef = IndexRef::Secondary(IndexId(1));

/// Makes a table with rows 0, 1, 2 and so on, which have these numbers.
fn fixture(numbers: &[i64]) -> Fixture {
    let engine = Instance::<Hekaton<Optimistic>>::new(HekatonConfig::default());
    let columns =
        vec![Column::new("id", Type::Int8), Column::new("number", Type::Int8), Column::nullable("name", Type::Int8)];
    let index = |name: &str, kind| IndexSchema { name: name.into(), columns: vec![1], kind, unique: false };
    let indexes = vec![index("hash", IndexKind::Hash), index("ordered", IndexKind::Ordered)];
    let table =
        engine.create_table(TableSchema { ordered: true, indexes, ..TableSchema::new("walked", columns, &[0]) });
    for (id, number) in (0..).zip(numbers) {
        let row = Row::from_values(&engine.layout(table), &[Value::Int8(id), Value::Int8(*number), Value::Null]);
        engine.load(table, row.as_ref()).expect("the keys differ");
    }
    Fixture { engine, table }
}

fn number(number: i64) -> Key {
    let mut builder = KeyBuilder::default();
    builder.push(Type::Int8, false, &Value::Int8(number));
    builder.finish()
}

/// Returns the pairs of a row and its name that a pessimist at `level` scans. `meanwhile` runs after the first visit.
fn scanned(case: &Fixture, level: Isolation, scan: &Scan, meanwhile: &dyn Fn(i64)) -> Result<Vec<(i64, i64)>, Abort> {
    let mut txn = case.begin_as(level, Concurrency::Pessimistic);
    let mut seen = Vec::new();
    txn.scan(scan, &mut |row| {
        let value = |column| row.value(column).as_int().unwrap_or_default();
        seen.push((value(0), value(2)));
        if seen.len() == 1 {
            meanwhile(value(0));
        }
        ControlFlow::Continue(())
    })?;
    txn.commit()?;
    Ok(seen)
}

/// Changes a row at once. Returns `false` if the change would have to wait.
fn change(case: &Fixture, change: impl Fn(&Fixture, &mut dyn Transaction) -> Result<Write, Abort>) -> bool {
    let mut txn = case.begin(Isolation::ReadCommitted);
    assert_eq!(change(case, &mut *txn), Ok(Write::Done));
    let done = txn.commit();
    txn.abort();
    match done {
        Ok(()) => true,
        Err(Abort::Cancelled) => false,
        Err(other) => panic!("{other}"),
    }
}

/// The second row's change moves the time of the walk; the third row's version has ended by then, and its successor is
/// behind the walk.
#[test]
fn rows_that_change_before_the_walk_comes_to_them_are_seen_once() {
    let scans: [fn(&Fixture) -> Scan; 3] = [
        |case| Scan::prefix(case.table, HASH, number(7)),
        |case| Scan::all(case.table, ORDERED),
        |case| Scan::all(case.table, IndexRef::Primary),
    ];
    for level in [Isolation::RepeatableRead, Isolation::Serializable] {
        for lock in [LockFor::Read, LockFor::Update] {
            for scan in scans {
                let case = fixture(&[7; 4]);
                let scan = Scan { lock, ..scan(&case) };
                let meanwhile = |first: i64| {
                    // Twice, so that a version comes and goes meanwhile.
                    for id in (0..4).filter(|&id| id != first).flat_map(|id| [id, id]) {
                        assert!(change(&case, |case, txn| case.rename(txn, id, Some(1))));
                    }
                };
                let mut seen = scanned(&case, level, &scan, &meanwhile).expect("nobody is in the way");
                let first = seen[0];
                seen.sort_unstable();
                let expected: Vec<_> = (0..4).map(|id| (id, i64::from(id != first.0))).collect();
                assert_eq!(seen, expected, "{level}, {lock:?}, {:?}", scan.index);
            }
        }
    }
}

/// At repeatable read nothing keeps a row from moving within the range. If a row moves behind the walk, the scan fails,
/// since it would miss the row, or see it out of its order.
#[test]
fn a_row_that_moves_behind_the_walk_is_not_missed() {
    let moves = |from: i64, to: i64, direction| {
        move |level| {
            let case = fixture(&[1, 2, 3]);
            let scan = Scan { direction, ..Scan::all(case.table, ORDERED) };
            let meanwhile = |_: i64| {
                let moved = change(&case, |case, txn| case.write(txn, from, to));
                assert_eq!(moved, level == Isolation::RepeatableRead, "others wait where the range is locked");
            };
            scanned(&case, level, &scan, &meanwhile).map(|seen| seen.len())
        }
    };
    for (from, to, direction) in [(2, 0, Direction::Forward), (0, 9, Direction::Backward)] {
        assert_eq!(moves(from, to, direction)(Isolation::RepeatableRead), Err(Abort::Conflict));
        assert_eq!(moves(from, to, direction)(Isolation::Serializable), Ok(3));
    }
    // Out of the range it is not there any more.
    let case = fixture(&[1, 2, 3]);
    let upper = Bound::Included(number(3));
    let scan = Scan { upper, ..Scan::all(case.table, ORDERED) };
    let meanwhile = |_: i64| assert!(change(&case, |case, txn| case.write(txn, 2, 9)));
    assert_eq!(scanned(&case, Isolation::RepeatableRead, &scan, &meanwhile), Ok(vec![(0, 0), (1, 0)]));
}
