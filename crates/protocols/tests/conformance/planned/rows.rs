//! Absent rows, rows that come and go, unique columns, large sets.

use super::*;
use crate::observed::Observed;
use hotrow_storage::{Column, KeySpec, TableSchema, Type};
use hotrow_sync::{Time, Waiter, mpsc, thread};

#[test]
fn absent_keys_are_locked_and_leave_nothing_behind() {
    for_each_that_locks_rows(|case| {
        let read = case.rows(&[(1, Intent::Read)]);
        let write = case.rows(&[(1, Intent::Write)]);
        let mut readers = [(); 2].map(|()| case.begin(Some(&read)).expect("readers share"));
        for reader in &mut readers {
            assert_eq!(reader.read(case.table, &key(1)), Ok(None), "{}", case.name());
        }
        assert_eq!(case.begin(Some(&write)).err(), Some(Abort::Cancelled), "{}: it is being read", case.name());
        let [first, mut second] = readers;
        drop(first);
        assert_eq!(case.begin(Some(&write)).err(), Some(Abort::Cancelled), "{}: it is being read", case.name());
        second.commit().expect("it holds all that it needs");
        let mut writer = case.begin(Some(&write)).expect("nobody reads it");
        assert_eq!(writer.delete(case.table, &key(1)), Ok(Write::Absent));
        assert_eq!(case.update(&mut *writer, 1, 9), Ok(Write::Absent));
        assert_eq!(case.begin(Some(&read)).err(), Some(Abort::Cancelled), "{}: it is being written", case.name());
        writer.commit().expect("it holds all that it needs");
        assert_eq!((case.keys(), case.engine.row_count(case.table)), (vec![0, 2, 4, 6], 4), "{}", case.name());
    });
}

/// The entries of these numbers come and go.
fn entries_of_numbers(case: &Case<'_>, numbers: &[u8]) -> Accesses {
    let mut accesses = Accesses::new();
    let spec = KeySpec::bytes(&Shape::Indexed.schema().columns, &[2]);
    for number in numbers {
        let values = Shape::Indexed.values(0, *number, 0);
        accesses.push_entries_below(case.table, BY_NUMBER, spec.key([values[2].clone()]));
    }
    accesses
}

#[test]
fn an_announced_row_is_locked_unless_another_transaction_has_asked_for_it() {
    for_each_that_locks_rows(|case| {
        let mut other = case.begin(Some(&case.rows(&[(5, Intent::Write)]))).expect("nobody else is there");
        let begin = || {
            let mut txn = case.begin(Some(&entries_of_numbers(case, &[3]))).expect("they want different rows");
            txn.announce(&mut |accesses| {
                [3, 5].iter().for_each(|&row| accesses.push(case.table, key(row), Intent::Write));
            });
            txn
        };
        let refused = case.insert(&mut *begin(), 5);
        assert!(refused.is_err(), "{}: {refused:?}", case.name());
        let mut txn = begin();
        assert_eq!(case.insert(&mut *txn, 3), Ok(Write::Done), "{}", case.name());
        let of_row = case.rows(&[(3, Intent::Read)]);
        assert_eq!(case.begin(Some(&of_row)).err(), Some(Abort::Cancelled), "{}: it is being written", case.name());
        assert_eq!(case.update(&mut *other, 5, 9), Ok(Write::Absent), "{}", case.name());
        txn.commit().expect("it holds all that it needs");
        other.commit().expect("it holds all that it needs");
        assert_eq!(case.keys(), vec![0, 2, 3, 4, 6], "{}", case.name());
    });
}

#[test]
fn a_new_row_that_no_set_names_is_locked_while_its_inserter_runs() {
    for_each_that_locks_rows(|case| {
        for how in ["commit", "abort", "drop"] {
            let (mut txn, ()) = case.hold(entries_of_numbers(case, &[3, 5]), |txn| {
                let before = txn.savepoint();
                assert_eq!(case.insert(txn, 3)?, Write::Done, "{}", case.name());
                assert_eq!(case.insert(txn, 3), Ok(Write::Duplicate(IndexRef::Primary)));
                txn.rollback_to(before);
                assert_eq!(txn.read(case.table, &key(3)), Ok(None), "{}: it was taken back", case.name());
                assert_eq!(case.insert(txn, 3), Ok(Write::Done));
                case.insert(txn, 5).map(drop)
            });
            for intent in [Intent::Read, Intent::Write] {
                let of_row = case.rows(&[(3, intent)]);
                assert_eq!(case.begin(Some(&of_row)).err(), Some(Abort::Cancelled), "{}: {intent:?}", case.name());
            }
            assert_eq!(txn.delete(case.table, &key(5)), Ok(Write::Done));
            end(txn, how);
            let expected = if how == "commit" { vec![0, 2, 3, 4, 6] } else { vec![0, 2, 4, 6] };
            assert_eq!(
                (case.keys(), case.engine.row_count(case.table)),
                (expected.clone(), expected.len() as u64),
                "{how}"
            );
            case.run(case.rows(&[(3, Intent::Write)]), |txn| txn.delete(case.table, &key(3)));
            assert_eq!(case.engine.audit(), Ok(()), "{}: {how}", case.name());
        }
    });
}

#[test]
fn who_scans_waits_for_entries_that_are_known_by_how_they_begin() {
    for_each_that_locks_rows(|case| {
        let spec = KeySpec::bytes(&Shape::Indexed.schema().columns, &[2]);
        let number = Bound::Included(spec.key([Shape::Indexed.values(0, 5, 0)[2].clone()]));
        let mut of_number = Accesses::new();
        let (lower, upper, intent) = (number.clone(), number, Intent::Read);
        of_number.push_range(RangeAccess { table: case.table, index: BY_NUMBER, lower, upper, intent });
        let (inserter, ()) = case.hold(entries_of_numbers(case, &[5]), |txn| case.insert(txn, 5).map(drop));
        assert_eq!(case.begin(Some(&of_number)).err(), Some(Abort::Cancelled), "{}: it comes", case.name());
        end(inserter, "commit");
        let reader = case.begin(Some(&of_number)).expect("nobody is in the way");
        let mut second = case.engine.transaction(refusing());
        let mut accesses = entries_of_numbers(case, &[5]);
        let inserted = attempts(&mut *second, &mut accesses, |txn| case.insert_row(txn, 3, 5, 1));
        assert!(inserted.is_err(), "{}: a scan's answer changed", case.name());
        drop((reader, second));
        let inserted = case.run(entries_of_numbers(case, &[5]), |txn| case.insert_row(txn, 3, 5, 1));
        assert_eq!((inserted, case.keys()), (Write::Done, vec![0, 2, 3, 4, 5, 6]), "{}", case.name());
    });
}

#[test]
fn an_absent_row_is_inserted_and_deleted_again() {
    for_each_planned(|case| {
        for ends in [["commit", "commit"], ["abort", "commit"], ["drop", "drop"], ["commit", "abort"]] {
            let [inserted, deleted] = ends;
            let mut expected = vec![0, 2, 4, 6];
            let accesses = case.rows(&[(3, Intent::Write)]);
            let (txn, ()) = case.hold(accesses.clone(), |txn| {
                let before = txn.savepoint();
                assert_eq!(case.insert(txn, 3)?, Write::Done, "{}", case.name());
                assert_eq!(case.insert(txn, 3), Ok(Write::Duplicate(IndexRef::Primary)));
                assert_eq!(txn.delete(case.table, &key(3)), Ok(Write::Done));
                assert_eq!(txn.read(case.table, &key(3)), Ok(None));
                txn.rollback_to(before);
                assert_eq!(case.insert(txn, 3), Ok(Write::Done));
                Ok(())
            });
            end(txn, inserted);
            if inserted == "commit" {
                expected.insert(2, 3);
            }
            assert_eq!(case.keys(), expected, "{}: insert, {inserted}", case.name());
            let there = expected.contains(&3);
            let (txn, outcome) = case.hold(accesses.clone(), |txn| txn.delete(case.table, &key(3)));
            assert_eq!(outcome, if there { Write::Done } else { Write::Absent }, "{}", case.name());
            end(txn, deleted);
            if deleted == "commit" {
                expected.retain(|&key| key != 3);
            }
            assert_eq!(case.keys(), expected, "{}: delete, {deleted}", case.name());
            assert_eq!(case.engine.row_count(case.table), expected.len() as u64, "{}", case.name());
            case.run(accesses, |txn| txn.delete(case.table, &key(3)));
        }
    });
}

/// Ends a transaction in one of three ways.
pub(super) fn end(mut txn: Box<dyn Transaction>, how: &str) {
    match how {
        "commit" => txn.commit().expect("it holds all that it needs"),
        "abort" => txn.abort(),
        _ => {}
    }
}

/// A step of a transaction and how the transaction ends; and the outcome of the insert of a second transaction, which
/// waits for the first, inserts the row and then reads it.
struct Behind {
    does: fn(&Case<'_>, &mut dyn Transaction) -> Result<Write, Abort>,
    row: u8,
    ends: &'static str,
    inserts: Write,
}

const BEHIND: &[Behind] = &[
    Behind { does: delete, row: 2, ends: "commit", inserts: Write::Done },
    Behind { does: delete, row: 2, ends: "abort", inserts: Write::Duplicate(IndexRef::Primary) },
    Behind { does: delete, row: 2, ends: "drop", inserts: Write::Duplicate(IndexRef::Primary) },
    Behind { does: insert, row: 3, ends: "commit", inserts: Write::Duplicate(IndexRef::Primary) },
    Behind { does: insert, row: 3, ends: "abort", inserts: Write::Done },
    Behind { does: insert, row: 3, ends: "drop", inserts: Write::Done },
    Behind { does: replace, row: 2, ends: "commit", inserts: Write::Duplicate(IndexRef::Primary) },
    Behind { does: nothing, row: 3, ends: "commit", inserts: Write::Done },
];

fn delete(case: &Case<'_>, txn: &mut dyn Transaction) -> Result<Write, Abort> {
    txn.delete(case.table, &key(2))
}

fn insert(case: &Case<'_>, txn: &mut dyn Transaction) -> Result<Write, Abort> {
    case.insert(txn, 3)
}

fn replace(case: &Case<'_>, txn: &mut dyn Transaction) -> Result<Write, Abort> {
    txn.delete(case.table, &key(2))?;
    case.insert(txn, 2)
}

fn nothing(case: &Case<'_>, txn: &mut dyn Transaction) -> Result<Write, Abort> {
    txn.read(case.table, &key(3)).map(|_| Write::Done)
}

#[test]
fn who_waited_for_a_row_to_come_or_go_finds_it_as_it_is_then() {
    for_each_planned(|case| {
        for behind in BEHIND {
            let accesses = case.rows(&[(behind.row, Intent::Write)]);
            let (holder, done) = case.hold(accesses.clone(), |txn| (behind.does)(case, txn));
            assert_eq!(done, Write::Done, "{}", case.name());
            thread::scope(|scope| {
                let (scheduler, waits) = Observed::new(Time(0));
                let mut txn = case.engine.transaction(Waiter::new(scheduler));
                let (sender, outcome) = mpsc::channel();
                let mut accesses = accesses.clone();
                scope.spawn(move || {
                    let inserted = attempts(&mut *txn, &mut accesses, |txn| case.insert(txn, behind.row));
                    let found = txn.read(case.table, &key(behind.row)).map(|row| row.is_some());
                    txn.commit().expect("it holds all that it needs");
                    sender.send((inserted, found)).expect("somebody listens");
                });
                waits.recv().expect("it waits");
                end(holder, behind.ends);
                let what = format!("{}: row {} after {}", case.name(), behind.row, behind.ends);
                assert_eq!(outcome.recv(), Ok((Ok(behind.inserts), Ok(true))), "{what}");
            });
            assert_eq!(case.engine.audit(), Ok(()), "{}", case.name());
            // As it was.
            case.run(case.rows(&[(3, Intent::Write)]), |txn| txn.delete(case.table, &key(3)));
            case.run(case.rows(&[(2, Intent::Write)]), |txn| case.insert(txn, 2));
            assert_eq!((case.keys(), case.engine.row_count(case.table)), (vec![0, 2, 4, 6], 4), "{}", case.name());
        }
    });
}

#[test]
fn a_row_is_read_written_scanned_and_named_as_often_as_one_likes() {
    for_each_planned(|case| {
        let mut accesses = case.range(0, 6);
        accesses.extend(&case.rows(&[2, 2, 2, 3, 3].map(|row| (row, Intent::Read))));
        accesses.extend(&case.rows(&[2, 3, 2, 3].map(|row| (row, Intent::Write))));
        accesses.extend(&case.range(1, 3));
        for row in [2, 3, 3] {
            accesses.push_entry(case.table, IndexRef::Primary, key(row), key(row));
        }
        let (mut txn, _) = case.hold(accesses, |txn| {
            assert_eq!(case.update(txn, 2, 7)?, Write::Done, "{}", case.name());
            case.insert(txn, 3)
        });
        assert_eq!(case.scan(&mut *txn, 0, 6), Ok(5), "{}", case.name());
        assert_eq!(case.begin(Some(&case.rows(&[(2, Intent::Read)]))).err(), Some(Abort::Cancelled), "{}", case.name());
        txn.commit().expect("it holds all that it needs");
        assert_eq!(case.keys(), [0, 2, 3, 4, 6], "{}", case.name());
    });
}

#[test]
fn a_unique_name_is_taken_while_its_inserter_runs_and_after_it_committed() {
    for_each_planned(|case| {
        for (ends, expected) in [("abort", Write::Done), ("commit", Write::Duplicate(IndexRef::Secondary(IndexId(1))))]
        {
            let set = case.rows(&[(1, Intent::Write)]);
            let (first, inserted) = case.hold(set, |txn| case.insert_row(txn, 1, 1, 3));
            assert_eq!(inserted, Write::Done, "{}", case.name());
            let mut second_set = case.rows(&[(5, Intent::Write)]);
            let mut second = case.engine.transaction(refusing());
            let refused = attempts(&mut *second, &mut second_set, |txn| case.insert_row(txn, 5, 5, 3));
            assert_eq!(refused, Err(Abort::Cancelled), "{}: the name is taken", case.name());
            end(first, ends);
            let inserted = case.run(second_set, |txn| case.insert_row(txn, 5, 5, 3));
            assert_eq!(inserted, expected, "{}: {ends}", case.name());
            for row in [1, 5] {
                case.run(case.rows(&[(row, Intent::Write)]), |txn| txn.delete(case.table, &key(row)));
            }
        }
    });
}

/// A table of an integer key and an integer, for many rows.
pub(super) fn large_table(engine: &dyn Engine, rows: impl Iterator<Item = i64>) -> TableId {
    let columns = vec![Column::new("id", Type::Int8), Column::new("amount", Type::Int8)];
    let table = engine.create_table(TableSchema { partitioned: true, ..TableSchema::new("large", columns, &[0]) });
    let layout = engine.layout(table);
    for id in rows {
        let values = [Value::Int8(id), Value::Int8(0)];
        engine.load(table, hotrow_storage::Row::from_values(&layout, &values).as_ref()).expect("the keys differ");
    }
    table
}

#[test]
fn ten_thousand_rows_are_one_set() {
    const ROWS: i64 = 10_000;
    for_each_planned(|case| {
        let table = large_table(&**case.engine, (0..ROWS).step_by(2));
        let mut accesses = Accesses::new();
        for id in (0..ROWS).rev() {
            let intent = if id % 3 == 0 { Intent::Write } else { Intent::Read };
            accesses.push(table, Key::Int(id), intent);
        }
        let mut txn = case.begin(Some(&accesses)).expect("nobody else is there");
        for id in 0..ROWS {
            let found = txn.read(table, &Key::Int(id)).map(|row| row.is_some());
            assert_eq!(found, Ok(id % 2 == 0), "{}: {id}", case.name());
        }
        let layout = case.engine.layout(table);
        for id in (0..ROWS).step_by(3) {
            let change = &mut |row: &mut RowMut<'_>| {
                row.set(1, &Value::Int8(id));
                Ok(())
            };
            let expected = if id % 2 == 0 { Write::Done } else { Write::Absent };
            assert_eq!(txn.update(table, &Key::Int(id), change), Ok(expected), "{}: {id}", case.name());
            if id % 9 == 3 {
                let row = hotrow_storage::Row::from_values(&layout, &[Value::Int8(id), Value::Int8(id)]);
                let expected = if id % 2 == 0 { Write::Duplicate(IndexRef::Primary) } else { Write::Done };
                assert_eq!(txn.insert(table, row.as_ref()), Ok(expected), "{}: {id}", case.name());
            }
        }
        for id in [0, 1, 4_998, 9_999] {
            let mut other = Accesses::new();
            other.push(table, Key::Int(id), Intent::Write);
            assert_eq!(case.begin(Some(&other)).err(), Some(Abort::Cancelled), "{}: {id}", case.name());
        }
        txn.commit().expect("it holds all that it needs");
        let inserted = (0..ROWS).filter(|id| id % 2 == 1 && id % 9 == 3).count() as i64;
        assert_eq!(case.engine.row_count(table), (ROWS / 2 + inserted) as u64, "{}", case.name());
    });
}

#[test]
fn reads_of_absent_keys_leave_no_records_behind() {
    for_each_planned(|case| {
        let table = large_table(&**case.engine, 0..10);
        let mut txn = case.engine.transaction(refusing());
        let mut accesses = Accesses::new();
        for round in 0..5_000 {
            accesses.clear();
            (0..20).for_each(|id| accesses.push(table, Key::Int(round * 20 + id), Intent::Read));
            txn.begin(&Begin { accesses: Some(&accesses), ..Begin::default() }).expect("nobody else is there");
            for id in round * 20..round * 20 + 20 {
                assert_eq!(txn.read(table, &Key::Int(id)).map(|row| row.is_some()), Ok(id < 10), "{}", case.name());
            }
            txn.commit().expect("it holds all that it needs");
            assert_eq!(case.engine.row_count(table), 10, "{}: {round}", case.name());
        }
    });
}
