//! Each promise of [`Transaction`], one case after the other.

use crate::tables::{Shape, Values, row, values_of};
use crate::{for_each_engine, refusing};
use hotrow_protocols::{ENGINES, open};
use hotrow_storage::{IndexId, IndexRef, TableId, Value};
use hotrow_sync::Arc;
use hotrow_txn::{Abort, Accesses, Begin, Engine, Intent, Isolation, LockFor, Ownership, Scan, Transaction, Write};
use std::ops::ControlFlow;

/// A table of every engine, and a transaction object that refuses to wait.
fn for_each_table(shape: Shape, mut check: impl FnMut(&mut Case<'_>)) {
    for_each_engine(|engine| {
        if engine.admits(&shape.schema()).is_err() {
            return;
        }
        let table = engine.create_table(shape.schema());
        check(&mut Case { engine, shape, table, txn: engine.transaction(refusing()) });
    });
}

struct Case<'a> {
    engine: &'a Arc<dyn Engine>,
    shape: Shape,
    table: TableId,
    txn: Box<dyn Transaction>,
}

impl Case<'_> {
    fn name(&self) -> &'static str {
        self.engine.info().name
    }

    fn begin(&mut self) {
        self.txn.begin(&Begin::default()).expect("nobody else is there");
    }

    fn insert(&mut self, values: &Values) -> Result<Write, Abort> {
        self.txn.insert(self.table, row(&self.engine.layout(self.table), values).as_ref())
    }

    /// Inserts rows and commits them.
    fn fill(&mut self, rows: &[(u8, u8, u8)]) {
        self.begin();
        for &(key, number, text) in rows {
            assert_eq!(self.insert(&self.shape.values(key, number, text)), Ok(Write::Done));
        }
        self.txn.commit().expect("nobody else is there");
    }

    fn scan(&mut self, scan: &Scan) -> Result<Vec<Values>, Abort> {
        let mut rows = Vec::new();
        self.txn.scan(scan, &mut |row| {
            rows.push(values_of(row));
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }

    /// All rows, in a transaction of its own object.
    fn committed(&self) -> Vec<Values> {
        let txn = self.engine.transaction(refusing());
        let mut case = Case { engine: self.engine, shape: self.shape, table: self.table, txn };
        case.begin();
        let rows = case.scan(&Scan::all(self.table, IndexRef::Primary)).expect("nobody else is there");
        case.txn.commit().expect("nobody else is there");
        rows
    }
}

#[test]
fn an_unknown_engine_is_told_of_the_known_ones() {
    let Err(error) = open("1pl") else { panic!("there is no such engine") };
    for info in ENGINES {
        assert!(error.to_string().contains(info.name), "{error}");
    }
}

#[test]
fn engines_say_what_they_are() {
    for info in ENGINES {
        assert_eq!(info.isolates, info.isolation.contains(&Isolation::Serializable), "{}", info.name);
        assert!(!info.summary.is_empty(), "{}", info.name);
        let is_before = |pair: &[Isolation]| !pair[0].covers(pair[1]);
        assert!(info.isolation.windows(2).all(is_before), "{}: weakest first", info.name);
        let named = ENGINES.iter().filter(|other| other.name == info.name).count();
        assert_eq!(named, 1, "{} is there once", info.name);
    }
}

#[test]
fn loaded_rows_are_there_and_duplicates_are_refused() {
    for_each_table(Shape::Indexed, |case| {
        let layout = case.engine.layout(case.table);
        let first = case.shape.values(1, 1, 1);
        case.engine.load(case.table, row(&layout, &first).as_ref()).expect("an empty table");
        let same_key = case.shape.values(1, 2, 2);
        let refused = case.engine.load(case.table, row(&layout, &same_key).as_ref()).expect_err("the key is there");
        assert_eq!(refused.0, IndexRef::Primary);
        let same_name = case.shape.values(2, 2, 1);
        let refused = case.engine.load(case.table, row(&layout, &same_name).as_ref()).expect_err("the name is there");
        assert_eq!(refused.0, IndexRef::Secondary(IndexId(1)));
        assert_eq!((case.engine.row_count(case.table), case.committed()), (1, vec![first]));
    });
}

#[test]
fn a_commit_makes_changes_visible_and_an_abort_undoes_them() {
    for shape in Shape::ALL {
        for_each_table(shape, |case| {
            case.fill(&[(0, 0, 1), (1, 1, 2), (2, 2, 0)]);
            let before = case.committed();
            for dropped in [false, true] {
                case.begin();
                assert_eq!(case.insert(&shape.values(3, 3, 3)), Ok(Write::Done));
                assert_eq!(case.txn.delete(case.table, &shape.key(0)), Ok(Write::Done));
                let (key, values) = (shape.key(1), shape.values(1, 3, 4));
                let change = &mut |row: &mut hotrow_storage::RowMut<'_>| {
                    values.iter().enumerate().for_each(|(column, value)| row.set(column, value));
                    Ok(())
                };
                assert_eq!(case.txn.update(case.table, &key, change), Ok(Write::Done));
                // The deleted row's key is inserted again, with another row.
                assert_eq!(case.insert(&shape.values(0, 2, 1)), Ok(Write::Done));
                if dropped {
                    case.txn = case.engine.transaction(refusing());
                } else {
                    case.txn.abort();
                }
                assert_eq!(case.committed(), before, "{} with {shape:?}, dropped {dropped}", case.name());
            }
        });
    }
}

#[test]
fn an_abort_without_a_transaction_does_nothing() {
    for_each_table(Shape::Indexed, |case| {
        case.txn.abort();
        case.fill(&[(1, 1, 1)]);
        case.txn.abort();
        assert_eq!(case.committed().len(), 1);
    });
}

#[test]
fn a_read_only_transaction_cannot_write() {
    for_each_table(Shape::Indexed, |case| {
        type Attempt = fn(&mut Case<'_>) -> Result<Write, Abort>;
        case.fill(&[(1, 1, 1)]);
        let key = case.shape.key(1);
        let writes: [Attempt; 3] = [
            |case| case.insert(&case.shape.values(2, 2, 2)),
            |case| case.txn.delete(case.table, &case.shape.key(1)),
            |case| case.txn.update(case.table, &case.shape.key(1), &mut |_| Ok(())),
        ];
        for write in writes {
            case.txn.begin(&Begin { read_only: true, ..Begin::default() }).expect("nobody else is there");
            assert!(case.txn.read(case.table, &key).expect("it may read").is_some());
            assert_eq!(write(case), Err(Abort::User), "{}", case.name());
            case.txn.abort();
        }
        assert_eq!(case.committed().len(), 1);
    });
}

#[test]
fn known_accesses_change_nothing() {
    for_each_table(Shape::LongKeys, |case| {
        case.fill(&[(1, 1, 1), (2, 2, 2)]);
        let mut accesses = Accesses::new();
        for key in 0..4 {
            accesses.push(case.table, case.shape.key(key), Intent::Write);
        }
        case.txn.begin(&Begin { accesses: Some(&accesses), ..Begin::default() }).expect("nobody else is there");
        assert!(case.txn.read(case.table, &case.shape.key(1)).expect("nobody else is there").is_some());
        assert_eq!(case.insert(&case.shape.values(1, 0, 0)), Ok(Write::Duplicate(IndexRef::Primary)));
        assert_eq!(case.insert(&case.shape.values(3, 3, 3)), Ok(Write::Done));
        assert_eq!(case.txn.delete(case.table, &case.shape.key(0)), Ok(Write::Absent));
        case.txn.commit().expect("nobody else is there");
        assert_eq!(case.committed().len(), 3);
    });
}

#[test]
fn a_table_of_ones_own_is_used_like_any_other() {
    for_each_table(Shape::Indexed, |case| {
        case.begin();
        case.txn.own_table(case.table, Ownership::Locked);
        for key in 0..6 {
            assert_eq!(case.insert(&case.shape.values(key, key, 0)), Ok(Write::Done));
        }
        assert_eq!(case.txn.delete(case.table, &case.shape.key(2)), Ok(Write::Done));
        let scan = Scan { lock: LockFor::Update, ..Scan::all(case.table, IndexRef::Secondary(IndexId(0))) };
        assert_eq!(case.scan(&scan).map(|rows| rows.len()), Ok(5));
        case.txn.commit().expect("nobody else is there");
        assert_eq!(case.committed().len(), 5);
    });
}

#[test]
fn a_refused_write_changes_nothing() {
    for_each_table(Shape::Indexed, |case| {
        case.fill(&[(0, 0, 1), (1, 1, 2)]);
        let before = case.committed();
        case.begin();
        let by_name = Write::Duplicate(IndexRef::Secondary(IndexId(1)));
        assert_eq!(case.insert(&case.shape.values(2, 2, 2)), Ok(by_name));
        assert_eq!(by_name.duplicate_index(), Some(IndexId(1)));
        let name = case.shape.values(0, 0, 1)[3].clone();
        let change = &mut |row: &mut hotrow_storage::RowMut<'_>| {
            row.set(2, &Value::Int4(77));
            row.set(3, &name);
            Ok(())
        };
        assert_eq!(case.txn.update(case.table, &case.shape.key(1), change), Ok(by_name));
        let by_number = Scan::all(case.table, IndexRef::Secondary(IndexId(0)));
        assert_eq!(case.scan(&by_number), Ok(before.clone()), "{}", case.name());
        // The name is free once its row is gone.
        assert_eq!(case.txn.delete(case.table, &case.shape.key(0)), Ok(Write::Done));
        assert_eq!(case.txn.update(case.table, &case.shape.key(1), change), Ok(Write::Done));
        case.txn.commit().expect("nobody else is there");
        assert_eq!(case.committed().len(), 1);
    });
}

#[test]
fn a_long_scan_visits_every_row_once_in_both_directions() {
    for_each_table(Shape::Composite, |case| {
        let rows: Vec<_> = (0..=255).map(|key| (key, key % 7, key % 5)).collect();
        case.fill(&rows);
        for isolation in Isolation::ALL {
            case.txn.begin(&Begin::at(isolation)).expect("nobody else is there");
            let forward = case.scan(&Scan::all(case.table, IndexRef::Primary)).expect("nobody else is there");
            let backward =
                Scan { direction: hotrow_txn::Direction::Backward, ..Scan::all(case.table, IndexRef::Primary) };
            let mut backward = case.scan(&backward).expect("nobody else is there");
            backward.reverse();
            let expected: Vec<_> =
                rows.iter().map(|&(key, number, text)| case.shape.values(key, number, text)).collect();
            assert!(forward == expected && backward == expected, "{} at {isolation}", case.name());
            case.txn.commit().expect("nobody else is there");
        }
    });
}

#[test]
fn a_dropped_table_is_gone_and_the_others_stay() {
    for_each_table(Shape::Indexed, |case| {
        case.fill(&[(1, 1, 1)]);
        let other = case.engine.create_table(Shape::Composite.schema());
        assert_ne!(other, case.table);
        case.engine.drop_table(other);
        case.engine.drop_table(other);
        assert_eq!(case.committed().len(), 1);
        assert_ne!(case.engine.create_table(Shape::Composite.schema()), other, "a number is not used again");
    });
}

#[test]
fn locks_are_counted() {
    for_each_table(Shape::Hashed, |case| {
        case.fill(&[(1, 1, 1)]);
        let statistics = *case.txn.statistics();
        assert_eq!((statistics.waits, statistics.wait_ns), (0, 0), "{}", case.name());
        assert_eq!(statistics.locks > 0, case.engine.info().isolates, "{}", case.name());
    });
}

#[test]
fn a_change_that_panics_is_undone() {
    for_each_table(Shape::Indexed, |case| {
        case.fill(&[(1, 1, 1), (2, 2, 2)]);
        let before = case.committed();
        case.begin();
        let longer = case.shape.values(1, 7, 200);
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            case.txn.update(case.table, &case.shape.key(1), &mut |row| {
                for (column, value) in longer.iter().enumerate() {
                    row.set(column, value);
                }
                std::panic::resume_unwind(Box::new("at the end of a change"));
            })
        }));
        assert!(unwound.is_err(), "{}", case.name());
        case.txn.abort();
        assert_eq!(case.committed(), before, "{}", case.name());
    });
}

#[test]
fn without_a_transaction_nothing_is_done() {
    for_each_table(Shape::Indexed, |case| {
        case.fill(&[(1, 1, 1)]);
        let (name, table, key) = (case.name(), case.table, case.shape.key(1));
        assert_eq!(case.txn.read(table, &key), Err(Abort::User), "{}", name);
        assert_eq!(case.txn.read_for_update(table, &key), Err(Abort::User), "{}", name);
        assert_eq!(case.txn.update(table, &key, &mut |_| Ok(())), Err(Abort::User), "{}", name);
        assert_eq!(case.insert(&case.shape.values(2, 2, 2)), Err(Abort::User), "{}", name);
        assert_eq!(case.txn.delete(table, &key), Err(Abort::User), "{}", name);
        assert_eq!(case.scan(&Scan::all(table, IndexRef::Primary)), Err(Abort::User), "{}", name);
        assert_eq!(case.txn.commit(), Err(Abort::User), "{}", name);
        case.txn.abort();
        assert_eq!(case.committed().len(), 1, "{}: and nothing is locked", name);
    });
}

#[test]
fn rows_inserted_in_any_order_take_a_few_locks_each() {
    const ROWS: usize = 128;
    // 97 has no factor in common with the number of rows: each key once, far from the one before.
    let orders: [fn(usize) -> usize; 3] = [|place| place, |place| ROWS - 1 - place, |place| place * 97 % ROWS];
    for_each_table(Shape::Indexed, |case| {
        let name = case.name();
        case.txn.statistics().timed = true;
        for order in orders {
            let before = *case.txn.statistics();
            case.begin();
            for key in (0..ROWS).map(order) {
                assert_eq!(case.insert(&case.shape.values(key as u8, key as u8 % 50, 0)), Ok(Write::Done), "{name}");
            }
            case.txn.abort();
            let counted = case.txn.statistics().since(&before);
            let calls = counted.timed_calls.max(counted.locks);
            assert!(calls <= 16 * ROWS as u64, "{name}: {calls} calls of the lock manager for {ROWS} rows");
        }
    });
}
