//! Scans beside transactions that insert, delete and move rows.

use super::rows::end;
use super::*;
use crate::observed::Observed;
use hotrow_sync::{Time, Waiter, mpsc, thread};

/// A step of another transaction while a range is locked, and whether it has to wait.
struct Beside {
    name: &'static str,
    /// The rows that the transaction writes.
    rows: &'static [(u8, Intent)],
    does: fn(&Case<'_>, &mut dyn Transaction) -> Result<Write, Abort>,
    /// Whether the transaction waits for a scan of the primary index from key 3 to key 5, and for one of `BY_NUMBER`
    /// from 3 to 5.
    meets: [bool; 2],
}

/// A step of another transaction on a new key.
type Does = fn(&Case<'_>, &mut dyn Transaction, u8) -> Result<Write, Abort>;

/// Rows 0, 2, 4 and 6 are there, with these numbers.
const BESIDE: &[Beside] = &[
    Beside {
        name: "a row comes into both ranges",
        rows: &[(3, Intent::Write)],
        does: |case, txn| case.insert(txn, 3),
        meets: [true, true],
    },
    Beside {
        name: "a row comes into the range of numbers",
        rows: &[(1, Intent::Write)],
        does: |case, txn| case.insert_row(txn, 1, 3, 0),
        meets: [false, true],
    },
    Beside {
        name: "a row goes",
        rows: &[(4, Intent::Write)],
        does: |case, txn| txn.delete(case.table, &key(4)),
        meets: [true, true],
    },
    Beside {
        name: "a row moves out",
        rows: &[(4, Intent::Write)],
        does: |case, txn| case.update(txn, 4, -7),
        meets: [true, true],
    },
    Beside {
        name: "a row moves in",
        rows: &[(2, Intent::Write)],
        does: |case, txn| case.update(txn, 2, 3),
        meets: [false, true],
    },
    Beside {
        name: "a row in the range changes",
        rows: &[(4, Intent::Write)],
        does: |case, txn| case.update(txn, 4, 3),
        meets: [true, true],
    },
    Beside {
        name: "a row beside it changes, and not in what is indexed",
        rows: &[(2, Intent::Write)],
        does: |case, txn| {
            txn.update(case.table, &key(2), &mut |row: &mut RowMut<'_>| {
                row.set(4, &Value::text("noted"));
                Ok(())
            })
        },
        meets: [false, false],
    },
    Beside {
        name: "a row beside it is read",
        rows: &[(2, Intent::Read), (1, Intent::Read)],
        does: |case, txn| txn.read(case.table, &key(2)).map(|_| Write::Done),
        meets: [false, false],
    },
    Beside {
        name: "a row in it is read",
        rows: &[(4, Intent::Read)],
        does: |case, txn| txn.read(case.table, &key(4)).map(|_| Write::Done),
        meets: [false, false],
    },
];

/// The ranges of the table.
fn ranges(case: &Case<'_>) -> [Accesses; 2] {
    let mut by_number = Accesses::new();
    let (lower, upper) = (Bound::Included(number_key(3)), Bound::Included(number_key(5)));
    let (table, index, intent) = (case.table, BY_NUMBER, Intent::Read);
    by_number.push_range(RangeAccess { table, index, lower, upper, intent });
    [case.range(3, 5), by_number]
}

fn scan_range(txn: &mut dyn Transaction, accesses: &Accesses) -> Result<Vec<i64>, Abort> {
    let range = &accesses.ranges()[0];
    let (lower, upper) = (range.lower.clone(), range.upper.clone());
    let mut found = Vec::new();
    txn.scan(&Scan { lower, upper, ..Scan::all(range.table, range.index) }, &mut |row| {
        found.extend(row.value(0).as_int().map(|id| id + 2));
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

#[test]
fn what_changes_a_range_s_answer_waits_for_its_scanner() {
    for_each_planned(|case| {
        for beside in BESIDE {
            for (range, meets) in ranges(case).iter().zip(beside.meets) {
                let mut scanner = case.begin(Some(range)).expect("nobody else is there");
                let before = scan_range(&mut *scanner, range).expect("it is in the set");
                let mut set = case.rows(beside.rows);
                let mut met = false;
                let mut other = case.engine.transaction(refusing());
                let begun = other.begin(&Begin { accesses: Some(&set), ..Begin::default() });
                match begun.and_then(|()| (beside.does)(case, &mut *other)) {
                    Ok(write) => assert_eq!(write, Write::Done, "{}: {}", case.name(), beside.name),
                    Err(abort) => met = matches!(abort, Abort::Cancelled | Abort::OutsidePlan),
                }
                other.add_missing(&mut set);
                other.abort();
                let what = format!("{}: {}: {:?}", case.name(), beside.name, range.ranges()[0]);
                assert!(met || !meets, "{what}: it went on");
                // Prefixes, and whole partitions, may keep off what is beside the range.
                assert!(!met || meets || !case.locks_gaps(), "{what}: it waited");
                assert_eq!(scan_range(&mut *scanner, range).as_ref(), Ok(&before), "{what}");
                scanner.commit().expect("it holds all that it needs");
                // With the corrected set it does not get stuck.
                let mut other = case.begin(Some(&set)).expect("nobody else is there");
                let outcome = (beside.does)(case, &mut *other);
                assert!(matches!(outcome, Ok(Write::Done) | Err(Abort::OutsidePlan)), "{what}: {outcome:?}");
                other.abort();
                assert_eq!(case.engine.audit(), Ok(()), "{what}");
            }
        }
        assert_eq!((case.keys(), case.engine.row_count(case.table)), (vec![0, 2, 4, 6], 4), "{}", case.name());
    });
}

/// More than a range may be locked for it, and may be walked then: nothing comes there, either.
#[test]
fn a_scan_that_goes_farther_than_its_range_is_refused_or_sees_no_phantoms() {
    for_each_planned(|case| {
        let [_, set] = ranges(case);
        for (from, to, new) in [(1, 1, 1), (6, 7, 7), (0, 9, 7), (4, 9, 8), (200, 255, 210)] {
            let mut beside = Accesses::new();
            let [lower, upper] = [from, to].map(|number| Bound::Included(number_key(number)));
            let (table, index, intent) = (case.table, BY_NUMBER, Intent::Read);
            beside.push_range(RangeAccess { table, index, lower, upper, intent });
            let what = format!("{}: numbers {from} to {to}", case.name());
            let mut scanner = case.begin(Some(&set)).expect("nobody else is there");
            let scanned = scan_range(&mut *scanner, &beside);
            let Ok(before) = scanned else {
                assert_eq!(scanned, Err(Abort::OutsidePlan), "{what}");
                continue;
            };
            let others: [(&[_], Does); 2] = [
                (&[(5, Intent::Write)], |case, txn, new| case.insert_row(txn, 5, new, 0)),
                // Its number will be as one that was made of `new`.
                (&[(0, Intent::Write)], |case, txn, new| case.update(txn, 0, i32::from(new) - 1)),
            ];
            for (rows, does) in others {
                let mut other = case.engine.transaction(refusing());
                let rows = case.rows(rows);
                let begun = other.begin(&Begin { accesses: Some(&rows), ..Begin::default() });
                let outcome = begun.and_then(|()| does(case, &mut *other, new));
                assert!(matches!(outcome, Err(Abort::OutsidePlan | Abort::Cancelled)), "{what}: {outcome:?}");
                other.abort();
                assert_eq!(scan_range(&mut *scanner, &beside).as_ref(), Ok(&before), "{what}");
            }
            scanner.commit().expect("it holds all that it needs");
            assert_eq!(case.engine.audit(), Ok(()), "{what}");
        }
    });
}

/// The table has the row that a writer locked, its step, the end of the writer, and the keys that a waiting scan finds.
#[test]
fn a_scan_that_waited_finds_the_range_as_it_is_then() {
    type Does = fn(&Case<'_>, &mut dyn Transaction) -> Result<Write, Abort>;
    let insert: Does = |case, txn| case.insert(txn, 3);
    let delete: Does = |case, txn| txn.delete(case.table, &key(4));
    let move_in: Does = |case, txn| case.update(txn, 2, 4);
    let move_out: Does = |case, txn| case.update(txn, 4, -7);
    let cases: [(u8, Does, &str, [&[i64]; 2]); 8] = [
        (3, insert, "commit", [&[3, 4], &[3, 4]]),
        (3, insert, "abort", [&[4], &[4]]),
        (4, delete, "commit", [&[], &[]]),
        (4, delete, "drop", [&[4], &[4]]),
        (2, move_in, "commit", [&[4], &[4, 2]]),
        (2, move_in, "abort", [&[4], &[4]]),
        (4, move_out, "commit", [&[4], &[]]),
        (4, move_out, "drop", [&[4], &[4]]),
    ];
    for_each_planned(|case| {
        for (written, does, ends, expected) in &cases {
            for (range, expected) in ranges(case).iter().zip(expected) {
                let set = case.rows(&[(*written, Intent::Write)]);
                let (writer, done) = case.hold(set, |txn| does(case, txn));
                assert_eq!(done, Write::Done, "{}", case.name());
                let mut found = thread::scope(|scope| {
                    let (scheduler, waits) = Observed::new(Time(0));
                    let (sender, answers) = mpsc::channel();
                    let mut txn = case.engine.transaction(Waiter::new(scheduler));
                    let scanning = scope.spawn(move || {
                        let found = attempts(&mut *txn, &mut range.clone(), |txn| {
                            // Tells that nothing was in its way.
                            let _ = sender.send(());
                            scan_range(txn, range)
                        });
                        txn.commit().and(found)
                    });
                    // It waits, or it has begun beside the writer: then the writer has not touched its range.
                    while waits.try_recv().is_err() && answers.try_recv().is_err() {
                        thread::yield_now();
                    }
                    end(writer, ends);
                    scanning.join().expect("it does not panic").expect("it ends")
                });
                if range.ranges()[0].index == BY_NUMBER {
                    found.sort_unstable_by_key(|&key| std::cmp::Reverse(key));
                    let mut expected = expected.to_vec();
                    expected.sort_unstable_by_key(|&key| std::cmp::Reverse(key));
                    assert_eq!(found, expected, "{}: {written} {ends} by number", case.name());
                } else {
                    assert_eq!(found, *expected, "{}: {written} {ends}", case.name());
                }
                assert_eq!(case.engine.audit(), Ok(()), "{}", case.name());
                // As it was.
                let all = [0, 2, 3, 4].map(|row| (row, Intent::Write));
                case.run(case.rows(&all), |txn| {
                    txn.delete(case.table, &key(3))?;
                    case.insert(txn, 4)?;
                    // Their numbers are one less than what they were made of.
                    case.update(txn, 2, 1)?;
                    case.update(txn, 4, 3)
                });
            }
        }
    });
}

#[test]
fn rows_of_a_prefix_are_deleted_while_others_stay_and_come() {
    let shape = Shape::Composite;
    for_each_engine(|engine| {
        if !engine.info().capabilities.needs_accesses {
            return;
        }
        let case = Case { engine, table: engine.create_table(shape.schema()) };
        let (table, name) = (case.table, case.name());
        let layout = engine.layout(table);
        let made = |key| row(&layout, &shape.values(key, 1, 1));
        (0..9).filter(|key| key % 3 != 2).for_each(|key| {
            engine.load(table, made(key).as_ref()).expect("the keys differ");
        });
        // Keys 3, 4 and 5 begin alike.
        let prefix = shape.index_prefix(IndexRef::Primary, &shape.values(3, 0, 0));
        let mut accesses = Accesses::new();
        let (lower, upper) = (Bound::Included(prefix.clone()), Bound::Included(prefix.clone()));
        let (index, intent) = (IndexRef::Primary, Intent::Write);
        accesses.push_range(RangeAccess { table, index, lower, upper, intent });
        let scan = Scan { lock: LockFor::Update, ..Scan::prefix(table, IndexRef::Primary, prefix) };

        let mut txn = case.begin(Some(&accesses)).expect("nobody else is there");
        let mut found = Vec::new();
        let visit = &mut |row: RowRef<'_>| {
            found.push(shape.index_key(IndexRef::Primary, &values_of(row)));
            ControlFlow::Continue(())
        };
        assert_eq!(txn.scan(&scan, visit), Ok(()), "{name}");
        assert_eq!(found, [shape.key(3), shape.key(4)], "{name}");
        for key in &found {
            assert_eq!(txn.delete(table, key), Ok(Write::Done), "{name}");
        }
        let insert = |txn: &mut dyn Transaction, key| txn.insert(table, made(key).as_ref());
        for (key, may) in [(5, false), (3, false), (8, true)] {
            let mut set = Accesses::new();
            set.push(table, shape.key(key), Intent::Write);
            let mut other = engine.transaction(refusing());
            let begun = other.begin(&Begin { accesses: Some(&set), ..Begin::default() });
            let outcome = begun.and_then(|()| insert(&mut *other, key));
            match may {
                false => assert!(matches!(outcome, Err(Abort::OutsidePlan | Abort::Cancelled)), "{name}: {outcome:?}"),
                // Of a whole partition everything is locked.
                true => assert!(outcome == Ok(Write::Done) || outcome == Err(Abort::Cancelled), "{name}: {outcome:?}"),
            }
        }
        txn.commit().expect("it holds all that it needs");
        assert_eq!((engine.row_count(table), engine.audit()), (4, Ok(())), "{name}");
        assert_eq!(case.run(accesses, |txn| insert(txn, 5)), Write::Done, "{name}");
    });
}
