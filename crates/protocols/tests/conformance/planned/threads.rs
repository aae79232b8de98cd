//! Many threads on few rows: an amount that moves between rows is neither lost nor made, and no reader sees it lost or
//! made.

use super::rows::large_table;
use super::*;
use hotrow_sync::{Waiter, thread};
use std::time::Duration;

const THREADS: u64 = 4;
const ROUNDS: u64 = 400;

/// The number of keys, each of which may have a row.
const ROWS: u64 = 8;

/// The sum of the amounts of all rows.
const TOTAL: i64 = 1_000;

/// After so many attempts whose access sets were wrong, the transaction runs without a set.
const CORRECTIONS: u32 = 8;

fn amount(row: hotrow_storage::RowRef<'_>) -> i64 {
    row.value(1).as_int().expect("an amount is there")
}

/// Takes everything from a row that is there, and deletes it.
fn take(txn: &mut dyn Transaction, table: TableId, id: i64) -> Result<Option<i64>, Abort> {
    let found = txn.read_for_update(table, &Key::Int(id))?.map(amount);
    if found.is_some() {
        assert_eq!(txn.delete(table, &Key::Int(id))?, Write::Done);
    }
    Ok(found)
}

/// Adds to a row, which may have to come first.
fn put(txn: &mut dyn Transaction, engine: &dyn Engine, table: TableId, id: i64, more: i64) -> Result<(), Abort> {
    let change = &mut |row: &mut RowMut<'_>| {
        let sum = amount(row.as_ref()) + more;
        row.set(1, &Value::Int8(sum));
        Ok(())
    };
    if txn.update(table, &Key::Int(id), change)? == Write::Absent {
        let values = [Value::Int8(id), Value::Int8(more)];
        let row = hotrow_storage::Row::from_values(&engine.layout(table), &values);
        assert_eq!(txn.insert(table, row.as_ref())?, Write::Done);
    }
    Ok(())
}

fn sum(txn: &mut dyn Transaction, table: TableId) -> Result<i64, Abort> {
    let mut sum = 0;
    txn.scan(&Scan::all(table, IndexRef::Primary), &mut |row| {
        sum += amount(row);
        ControlFlow::Continue(())
    })?;
    Ok(sum)
}

/// Runs one transaction until it commits. What its set lacks is added, and if that goes on for too long it runs alone.
fn run(
    txn: &mut dyn Transaction,
    mut accesses: Accesses,
    mut work: impl FnMut(&mut dyn Transaction) -> Result<(), Abort>,
) {
    for correction in 0.. {
        let set = Some(&accesses).filter(|_| correction < CORRECTIONS);
        let done = txn
            .begin(&Begin { accesses: set, ..Begin::default() })
            .and_then(|()| work(txn))
            .and_then(|()| txn.commit());
        match done {
            Ok(()) => return,
            Err(abort) => assert_eq!(abort, Abort::OutsidePlan),
        }
        txn.add_missing(&mut accesses);
        txn.abort();
    }
}

fn worker(engine: &Arc<dyn Engine>, table: TableId, number: u64) {
    let mut txn = engine.transaction(Waiter::thread(Duration::ZERO));
    for round in 0..ROUNDS {
        let random = |what: u64, below: u64| (hotrow_storage::mix(number << 48 | round << 8 | what) % below) as i64;
        let (from, to) = (random(0, ROWS), random(1, ROWS));
        let mut accesses = Accesses::new();
        match random(2, 8) {
            // The whole range is in the set.
            0 => {
                let (lower, upper, intent) = (Bound::Unbounded, Bound::Unbounded, Intent::Read);
                accesses.push_range(RangeAccess { table, index: IndexRef::Primary, lower, upper, intent });
                run(&mut *txn, accesses, |txn| sum(txn, table).map(|sum| assert_eq!(sum, TOTAL)));
            }
            // Nothing is in the set at first.
            1 => run(&mut *txn, accesses, |txn| sum(txn, table).map(|sum| assert_eq!(sum, TOTAL))),
            // A row goes, and what it had with it.
            2 | 3 => {
                accesses.push(table, Key::Int(from), Intent::Write);
                accesses.push(table, Key::Int(to), Intent::Write);
                run(&mut *txn, accesses, |txn| match take(txn, table, from)? {
                    Some(all) => put(txn, &**engine, table, to, all),
                    None => Ok(()),
                });
            }
            // A part moves, and nothing comes or goes.
            4 | 5 => {
                accesses.push(table, Key::Int(to), Intent::Write);
                accesses.push(table, Key::Int(from), Intent::Write);
                run(&mut *txn, accesses, |txn| {
                    let there =
                        txn.read(table, &Key::Int(from))?.is_some() && txn.read(table, &Key::Int(to))?.is_some();
                    if !there {
                        return Ok(());
                    }
                    put(txn, &**engine, table, from, -1)?;
                    put(txn, &**engine, table, to, 1)
                });
            }
            // Half of the set is missing.
            6 => {
                accesses.push(table, Key::Int(from), Intent::Read);
                run(&mut *txn, accesses, |txn| {
                    if txn.read(table, &Key::Int(from))?.is_some() {
                        put(txn, &**engine, table, from, -3)?;
                        put(txn, &**engine, table, to, 3)?;
                    }
                    Ok(())
                });
            }
            // Everything is done, and undone.
            _ => {
                accesses.push(table, Key::Int(from), Intent::Write);
                let begun = txn.begin(&Begin { accesses: Some(&accesses), ..Begin::default() });
                let taken = begun.and_then(|()| take(&mut *txn, table, from));
                assert!(matches!(taken, Ok(_) | Err(Abort::OutsidePlan)), "{taken:?}");
                txn.abort();
            }
        }
    }
}

#[test]
fn nothing_is_lost_or_made_between_many_threads() {
    for_each_planned(|case| {
        let table = large_table(&**case.engine, std::iter::empty());
        let layout = case.engine.layout(table);
        let first = hotrow_storage::Row::from_values(&layout, &[Value::Int8(0), Value::Int8(TOTAL)]);
        case.engine.load(table, first.as_ref()).expect("an empty table");
        thread::scope(|scope| {
            for number in 0..THREADS {
                scope.spawn(move || worker(case.engine, table, number));
            }
        });
        assert_eq!(case.engine.audit(), Ok(()), "{}", case.name());
        let mut txn = case.engine.transaction(refusing());
        let mut rows = 0;
        run(&mut *txn, Accesses::new(), |txn| {
            rows = 0;
            assert_eq!(sum(txn, table)?, TOTAL, "{}", case.name());
            txn.scan(&Scan::all(table, IndexRef::Primary), &mut |_| {
                rows += 1;
                ControlFlow::Continue(())
            })
        });
        assert_eq!(case.engine.row_count(table), rows, "{}", case.name());
    });
}

/// Rows that come, go and change in all their columns, and what each index says of them, in one transaction.
fn indexed_worker(case: &Case<'_>, number: u64) {
    let (engine, table, shape) = (case.engine, case.table, Shape::Indexed);
    let layout = engine.layout(table);
    let mut txn = engine.transaction(Waiter::thread(Duration::ZERO));
    for round in 0..ROUNDS {
        let random =
            |what: u64, below: u64| (hotrow_storage::mix(number << 48 | round << 8 | what | 1 << 40) % below) as u8;
        let (id, values) = (random(0, ROWS), (random(1, 4), random(2, 4)));
        let made = shape.values(id, values.0, values.1);
        let mut accesses = Accesses::new();
        match random(3, 8) {
            0 | 1 => run(&mut *txn, accesses, |txn| compare_indexes(case, txn)),
            2 | 3 => {
                accesses.push(table, key(id), Intent::Write);
                run(&mut *txn, accesses, |txn| txn.delete(table, &key(id)).map(drop));
            }
            4 | 5 => {
                accesses.push(table, key(id), Intent::Write);
                run(&mut *txn, accesses, |txn| txn.insert(table, row(&layout, &made).as_ref()).map(drop));
            }
            _ => run(&mut *txn, accesses, |txn| {
                let change = &mut |row: &mut RowMut<'_>| {
                    made.iter().enumerate().skip(1).for_each(|(column, value)| row.set(column, value));
                    Ok(())
                };
                txn.update(table, &key(id), change).map(drop)
            }),
        }
    }
}

/// All indexes lead to the same rows, and no name is there twice.
fn compare_indexes(case: &Case<'_>, txn: &mut dyn Transaction) -> Result<(), Abort> {
    let mut found = [Vec::new(), Vec::new(), Vec::new()];
    let ordered = [IndexRef::Primary, BY_NUMBER, IndexRef::Secondary(IndexId(2))];
    for (rows, index) in found.iter_mut().zip(ordered) {
        txn.scan(&Scan::all(case.table, index), &mut |row| {
            rows.push(format!("{:?}", values_of(row)));
            ControlFlow::Continue(())
        })?;
        rows.sort_unstable();
    }
    let mut names = Vec::new();
    txn.scan(&Scan::all(case.table, IndexRef::Primary), &mut |row| {
        names.extend((!row.is_null(3)).then(|| format!("{:?}", row.value(3))));
        ControlFlow::Continue(())
    })?;
    let [primary, by_number, by_both] = found;
    assert_eq!((&primary, &primary), (&by_number, &by_both), "{}", case.name());
    names.sort_unstable();
    assert!(names.is_sorted_by(|one, next| one < next), "{}: a name twice in {names:?}", case.name());
    Ok(())
}

#[test]
fn indexes_agree_whoever_changes_rows_meanwhile() {
    for_each_planned(|case| {
        thread::scope(|scope| {
            for number in 0..THREADS {
                scope.spawn(move || indexed_worker(case, number));
            }
        });
        assert_eq!(case.engine.audit(), Ok(()), "{}", case.name());
        case.run(Accesses::new(), |txn| compare_indexes(case, txn));
        assert_eq!(case.engine.row_count(case.table), case.keys().len() as u64, "{}", case.name());
    });
}
