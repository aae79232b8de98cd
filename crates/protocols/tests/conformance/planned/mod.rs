//! Engines that need the access set first: the accesses that a set allows, accesses outside of it, and the transactions
//! that may run side by side.
//!
//! | file | what it asks |
//! | --- | --- |
//! | `rows` | absent rows, rows that come and go, unique columns, large sets |
//! | `ranges` | scans beside those who insert, delete and move rows |
//! | `partition_keys` | ranges and unique columns of indexes that begin with the partition key |
//! | `waits` | a queue of transactions, from any place of which one goes away |
//! | `threads` | many threads on few rows |

mod partition_keys;
mod ranges;
mod rows;
mod threads;
mod waits;

use crate::tables::{Shape, row, values_of};
use crate::{for_each_engine, refusing};
use hotrow_storage::{IndexId, IndexRef, Key, RowMut, RowRef, TableId, Value};
use hotrow_sync::Arc;
use hotrow_txn::{
    Abort, Accesses, Begin, Engine, Intent, Isolation, LockFor, RangeAccess, Scan, Scheduler, Transaction, Write,
};
use std::ops::{Bound, ControlFlow};

const BY_NUMBER: IndexRef = IndexRef::Secondary(IndexId(0));

/// A database with rows 0, 2, 4 and 6.
struct Case<'a> {
    engine: &'a Arc<dyn Engine>,
    table: TableId,
}

/// Runs `check` with every engine that needs accesses.
fn for_each_planned(check: impl Fn(&Case<'_>)) {
    for_each_engine(|engine| {
        if engine.info().capabilities.needs_accesses {
            let table = engine.create_table(Shape::Indexed.schema());
            for key in [0, 2, 4, 6] {
                let values = Shape::Indexed.values(key, key, 0);
                engine.load(table, row(&engine.layout(table), &values).as_ref()).expect("the keys differ");
            }
            check(&Case { engine, table });
            assert_eq!(engine.audit(), Ok(()), "{}", engine.info().name);
        }
    });
}

/// Runs `check` with every engine that needs accesses and locks row by row, and no more than it must.
fn for_each_that_locks_rows(check: impl Fn(&Case<'_>)) {
    for_each_planned(|case| {
        if case.locks_rows() {
            check(case);
        }
    });
}

fn key(key: u8) -> Key {
    Shape::Indexed.key(key)
}

impl Case<'_> {
    fn name(&self) -> &'static str {
        self.engine.info().name
    }

    /// Whether a scan beyond the set takes what is free, as new rows do, and ranges are locked no farther than to the
    /// next row, and a lock to read becomes one to write. With other engines such a scan or write ends the attempt, and
    /// a range may be locked together with what is beside it.
    fn locks_gaps(&self) -> bool {
        self.engine.info().scheduler == Scheduler::Thread && !self.engine.info().keeps_partitions()
    }

    /// The access set of these rows.
    fn rows(&self, rows: &[(u8, Intent)]) -> Accesses {
        let mut accesses = Accesses::new();
        rows.iter().for_each(|&(row, intent)| accesses.push(self.table, key(row), intent));
        accesses
    }

    fn range(&self, lower: u8, upper: u8) -> Accesses {
        let mut accesses = Accesses::new();
        let (lower, upper) = (Bound::Included(key(lower)), Bound::Included(key(upper)));
        let (index, intent) = (IndexRef::Primary, Intent::Read);
        accesses.push_range(RangeAccess { table: self.table, index, lower, upper, intent });
        accesses
    }

    /// Begins with an access set, or without, on a transaction that refuses to wait.
    fn begin(&self, accesses: Option<&Accesses>) -> Result<Box<dyn Transaction>, Abort> {
        let mut txn = self.engine.transaction(refusing());
        txn.begin(&Begin { accesses, ..Begin::default() })?;
        Ok(txn)
    }

    fn insert(&self, txn: &mut dyn Transaction, key: u8) -> Result<Write, Abort> {
        self.insert_row(txn, key, key, 0)
    }

    fn insert_row(&self, txn: &mut dyn Transaction, key: u8, number: u8, text: u8) -> Result<Write, Abort> {
        txn.insert(self.table, row(&self.engine.layout(self.table), &Shape::Indexed.values(key, number, text)).as_ref())
    }

    /// Does `work` with an access set that begins as `accesses`, and commits. No other transaction is in conflict.
    fn run<R>(&self, accesses: Accesses, work: impl Fn(&mut dyn Transaction) -> Result<R, Abort>) -> R {
        let (mut txn, result) = self.hold(accesses, work);
        txn.commit().expect("it holds all that it needs");
        result
    }

    /// Does `work` with an access set that begins as `accesses`, and returns the transaction, which holds its locks.
    fn hold<R>(
        &self,
        mut accesses: Accesses,
        work: impl Fn(&mut dyn Transaction) -> Result<R, Abort>,
    ) -> (Box<dyn Transaction>, R) {
        let mut txn = self.engine.transaction(refusing());
        let done = attempts(&mut *txn, &mut accesses, work);
        (txn, done.unwrap_or_else(|abort| panic!("{}: {abort:?} with {accesses:?}", self.name())))
    }

    /// Whether entries of new rows are added to the set if they are free. Where partitions are kept apart, they are
    /// locked in each of them, and so beforehand.
    fn adds_entries(&self) -> bool {
        !self.engine.info().keeps_partitions()
    }

    /// Whether rows are locked one by one: two transactions may read one at once. Others lock a whole partition.
    fn locks_rows(&self) -> bool {
        let reads = self.rows(&[(0, Intent::Read)]);
        let _first = self.begin(Some(&reads)).expect("nobody else is there");
        let shares = self.begin(Some(&reads)).is_ok();
        assert!(shares || self.engine.info().keeps_partitions(), "{}", self.name());
        shares
    }

    /// The keys that are there.
    fn keys(&self) -> Vec<i64> {
        self.run(Accesses::new(), |txn| {
            let mut keys = Vec::new();
            txn.scan(&Scan::all(self.table, IndexRef::Primary), &mut |row| {
                keys.extend(row.value(0).as_int().map(|id| id + 2));
                ControlFlow::Continue(())
            })?;
            Ok(keys)
        })
    }

    fn update(&self, txn: &mut dyn Transaction, key: u8, number: i32) -> Result<Write, Abort> {
        txn.update(self.table, &self::key(key), &mut |row: &mut RowMut<'_>| {
            row.set(2, &Value::Int4(number));
            Ok(())
        })
    }

    fn scan(&self, txn: &mut dyn Transaction, lower: u8, upper: u8) -> Result<usize, Abort> {
        let (lower, upper) = (Bound::Included(key(lower)), Bound::Included(key(upper)));
        let scan = Scan { lower, upper, ..Scan::all(self.table, IndexRef::Primary) };
        let mut rows = 0;
        txn.scan(&scan, &mut |row| {
            values_of(row);
            rows += 1;
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }
}

/// Does `work` until its access set suffices, which is added to whenever it does not. The transaction goes on if all
/// went well.
fn attempts<R>(
    txn: &mut dyn Transaction,
    accesses: &mut Accesses,
    work: impl Fn(&mut dyn Transaction) -> Result<R, Abort>,
) -> Result<R, Abort> {
    let mut done = Err(Abort::OutsidePlan);
    for _ in 0..16 {
        done = txn.begin(&Begin { accesses: Some(accesses), ..Begin::default() }).and_then(|()| work(txn));
        if done.is_ok() {
            break;
        }
        txn.add_missing(accesses);
        txn.abort();
        if !matches!(done, Err(Abort::OutsidePlan)) {
            break;
        }
    }
    done
}

#[test]
fn a_row_that_a_partial_set_lacks_is_touched_if_nobody_asks_for_it() {
    for_each_that_locks_rows(|case| {
        let partial = || {
            let mut accesses = case.rows(&[(0, Intent::Read)]);
            accesses.set_partial();
            accesses
        };
        let mut txn = case.begin(Some(&partial())).expect("nobody else is there");
        assert_eq!(case.update(&mut *txn, 2, 9), Ok(Write::Done), "{}", case.name());
        assert_eq!(txn.read(case.table, &key(3)), Ok(None), "{}: an absent one", case.name());
        let upgraded = if case.locks_gaps() { Ok(Write::Done) } else { Err(Abort::OutsidePlan) };
        assert_eq!(case.update(&mut *txn, 0, 9), upgraded, "{}: one that it reads", case.name());
        txn.abort();
        txn.begin(&Begin { accesses: Some(&partial()), ..Begin::default() }).expect("nobody else is there");
        assert_eq!(txn.read(case.table, &key(2)).map(|row| row.is_some()), Ok(true));
        let write = case.rows(&[(2, Intent::Write)]);
        assert_eq!(case.begin(Some(&write)).err(), Some(Abort::Cancelled), "{}: it is locked", case.name());
        let mut reader = case.begin(Some(&partial())).expect("readers share");
        assert_eq!(reader.delete(case.table, &key(2)), Err(Abort::OutsidePlan), "{}: it is read", case.name());
        let mut missing = Accesses::new();
        reader.add_missing(&mut missing);
        assert_eq!(missing.rows().len(), 1, "{}: the next set has it", case.name());
        drop(reader);
        txn.commit().expect("it holds all that it needs");
        assert_eq!((case.keys(), case.engine.row_count(case.table)), (vec![0, 2, 4, 6], 4), "{}", case.name());
    });
}

type Attempt = fn(&Case<'_>, &mut dyn Transaction) -> Result<(), Abort>;

#[test]
fn what_is_outside_the_set_ends_the_attempt_and_is_in_the_next_one() {
    let outside: [(&str, Attempt); 5] = [
        ("read", |case, txn| txn.read(case.table, &key(2)).map(drop)),
        ("read of an absent key", |case, txn| txn.read(case.table, &key(3)).map(drop)),
        ("read for update of a row to read", |case, txn| txn.read_for_update(case.table, &key(0)).map(drop)),
        ("update", |case, txn| case.update(txn, 2, 9).map(drop)),
        ("delete", |case, txn| txn.delete(case.table, &key(2)).map(drop)),
    ];
    for_each_that_locks_rows(|case| {
        for (what, attempt) in outside {
            let mut accesses = case.rows(&[(0, Intent::Read)]);
            let mut txn = case.begin(Some(&accesses)).expect("nobody else is there");
            assert!(txn.read(case.table, &key(0)).expect("it is in the set").is_some());
            assert_eq!(attempt(case, &mut *txn), Err(Abort::OutsidePlan), "{}: {what}", case.name());
            txn.add_missing(&mut accesses);
            txn.abort();
            txn.begin(&Begin { accesses: Some(&accesses), ..Begin::default() }).expect("nobody else is there");
            assert_eq!(attempt(case, &mut *txn), Ok(()), "{}: {what}, corrected", case.name());
        }
    });
}

#[test]
fn an_empty_set_is_a_set() {
    for_each_planned(|case| {
        let nothing = Accesses::new();
        let mut first = case.begin(Some(&nothing)).expect("nobody else is there");
        let mut second = case.begin(Some(&nothing)).expect("nothing conflicts with nothing");
        assert_eq!(first.read(case.table, &key(0)), Err(Abort::OutsidePlan), "{}", case.name());
        second.commit().expect("it has done nothing");
    });
}

#[test]
fn a_row_named_twice_is_locked_for_the_stronger_intent() {
    for_each_planned(|case| {
        for intents in [[Intent::Read, Intent::Write], [Intent::Write, Intent::Read]] {
            let accesses = case.rows(&intents.map(|intent| (0, intent)));
            let mut txn = case.begin(Some(&accesses)).expect("nobody else is there");
            assert!(txn.read(case.table, &key(0)).expect("it is in the set").is_some());
            assert_eq!(case.update(&mut *txn, 0, 9), Ok(Write::Done), "{}", case.name());
            assert_eq!(case.begin(Some(&accesses)).err(), Some(Abort::Cancelled), "{}: it is locked once", case.name());
        }
    });
}

#[test]
fn new_rows_take_what_is_free_and_wait_for_nobody() {
    for_each_that_locks_rows(|case| {
        let (mut txn, _) = case.hold(case.range(1, 5), |txn| {
            assert_eq!(case.insert(txn, 3)?, Write::Done, "{}", case.name());
            assert!(txn.read(case.table, &key(3)).expect("its own row").is_some());
            case.update(txn, 3, 9)
        });
        assert_eq!(case.scan(&mut *txn, 1, 5), Ok(3));
        assert!(txn.read(case.table, &key(4)).expect("scanned rows are locked").is_some());

        // Another inserter of the same range meets its lock, and is not kept waiting.
        let mut second_set = Accesses::new();
        let mut second = case.begin(Some(&second_set)).expect("nothing is in the way of nothing");
        assert_eq!(case.insert(&mut *second, 5), Err(Abort::OutsidePlan), "{}", case.name());
        second.add_missing(&mut second_set);
        assert!(second_set.rows().iter().all(|row| row.key == key(5)), "{second_set:?}");
        second.abort();
        let again = attempts(&mut *second, &mut second_set, |txn| case.insert(txn, 5));
        assert_eq!(again, Err(Abort::Cancelled), "{}: now it is waited for, beforehand", case.name());
        assert!(!second_set.entries().is_empty(), "{second_set:?}");
        txn.commit().expect("it holds all that it needs");
        assert_eq!(case.run(second_set, |txn| case.insert(txn, 5)), Write::Done, "{}", case.name());
    });
}

#[test]
fn a_scan_beyond_the_set_is_answered_or_in_the_next_one() {
    for_each_planned(|case| {
        let mut accesses = Accesses::new();
        let mut txn = case.begin(Some(&accesses)).expect("nobody else is there");
        let scanned = case.scan(&mut *txn, 1, 5);
        if case.locks_gaps() {
            assert_eq!(scanned, Ok(2), "{}", case.name());
            let outside = case.rows(&[(3, Intent::Write)]);
            let mut inserter = case.begin(Some(&outside)).expect("the row is free");
            assert_eq!(case.insert(&mut *inserter, 3), Err(Abort::OutsidePlan), "{}", case.name());
            return;
        }
        assert_eq!(scanned, Err(Abort::OutsidePlan), "{}", case.name());
        txn.add_missing(&mut accesses);
        txn.abort();
        txn.begin(&Begin { accesses: Some(&accesses), ..Begin::default() }).expect("nobody else is there");
        assert_eq!(case.scan(&mut *txn, 1, 5), Ok(2), "{}", case.name());
        assert_eq!(case.scan(&mut *txn, 2, 4), Ok(2), "{}: a part of it", case.name());
        assert!(txn.read(case.table, &key(4)).expect("scanned rows are locked").is_some());
    });
}

#[test]
fn a_planned_range_keeps_inserters_out_before_it_is_scanned() {
    for_each_that_locks_rows(|case| {
        let range = case.range(3, 5);
        let mut reader = case.begin(Some(&range)).expect("nobody else is there");
        let nothing = Accesses::new();
        for inserted in [1, 3, 5, 7] {
            let mut txn = case.begin(Some(&nothing)).expect("nothing is in the way of nothing");
            let outcome = case.insert(&mut *txn, inserted);
            match inserted {
                3 | 5 => assert_eq!(outcome, Err(Abort::OutsidePlan), "{}: {inserted}", case.name()),
                // Its key begins with another bit.
                1 if case.adds_entries() => assert_eq!(outcome, Ok(Write::Done), "{}: {inserted}", case.name()),
                _ => assert!(outcome == Ok(Write::Done) || !case.locks_gaps(), "{}: {outcome:?}", case.name()),
            }
        }
        assert_eq!(case.scan(&mut *reader, 3, 5), Ok(1));
        let beside = case.rows(&[(0, Intent::Write), (2, Intent::Write), (6, Intent::Write)]);
        case.begin(Some(&beside)).expect("rows outside the range are free").abort();
        let inside = case.rows(&[(4, Intent::Write)]);
        assert_eq!(case.begin(Some(&inside)).err(), Some(Abort::Cancelled), "{}", case.name());
    });
}

#[test]
fn a_scan_beyond_the_set_that_meets_a_writer_is_outside() {
    for_each_planned(|case| {
        let writer_set = case.rows(&[(4, Intent::Write)]);
        let mut writer = case.begin(Some(&writer_set)).expect("nobody else is there");
        let mut accesses = Accesses::new();
        let mut reader = case.begin(Some(&accesses)).expect("nothing is in the way of nothing");
        assert_eq!(case.scan(&mut *reader, 0, 6), Err(Abort::OutsidePlan), "{}", case.name());
        reader.add_missing(&mut accesses);
        assert_eq!(accesses.ranges().len(), 1);
        reader.abort();
        if case.locks_gaps() {
            // It breaks off before the row that is locked.
            reader
                .begin(&Begin { accesses: Some(&Accesses::new()), ..Begin::default() })
                .expect("nothing is in the way");
            let mut first = None;
            let scanned = reader.scan(&Scan::all(case.table, IndexRef::Primary), &mut |row| {
                first = row.value(0).as_int();
                ControlFlow::Break(())
            });
            assert_eq!((scanned, first), (Ok(()), Some(-2)), "{}", case.name());
            reader.abort();
        }
        assert_eq!(
            case.begin(Some(&accesses)).err(),
            Some(Abort::Cancelled),
            "{}: the writer is waited for",
            case.name()
        );
        writer.commit().expect("it holds all that it needs");
        reader.begin(&Begin { accesses: Some(&accesses), ..Begin::default() }).expect("the writer is gone");
        assert_eq!(case.scan(&mut *reader, 0, 6), Ok(4));
    });
}

#[test]
fn an_update_of_indexed_columns_that_meets_a_scan_names_its_entries() {
    for_each_that_locks_rows(|case| {
        let mut by_number = Accesses::new();
        let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
        let range = RangeAccess { table: case.table, index: BY_NUMBER, lower, upper, intent: Intent::Read };
        by_number.push_range(range);
        let mut accesses = case.rows(&[(2, Intent::Write)]);
        let mut writer = case.begin(Some(&accesses)).expect("nobody else is there");
        assert_eq!(case.begin(Some(&by_number)).err(), Some(Abort::Cancelled), "{}: the row is locked", case.name());
        writer.abort();

        // A scan of nothing but a gap: no row of it is locked.
        let (lower, upper) = (Bound::Excluded(number_key(9)), Bound::Unbounded);
        let mut gap = Accesses::new();
        gap.push_range(RangeAccess { table: case.table, index: BY_NUMBER, lower, upper, intent: Intent::Read });
        let mut reader = case.begin(Some(&gap)).expect("nobody else is there");
        writer.begin(&Begin { accesses: Some(&accesses), ..Begin::default() }).expect("the row is free");
        assert_eq!(case.update(&mut *writer, 2, 50), Err(Abort::OutsidePlan), "{}", case.name());
        writer.add_missing(&mut accesses);
        writer.abort();
        reader.commit().expect("it holds all that it needs");
        writer.begin(&Begin { accesses: Some(&accesses), ..Begin::default() }).expect("the reader is gone");
        assert_eq!(case.begin(Some(&gap)).err(), Some(Abort::Cancelled), "{}: the gap is locked", case.name());
        assert_eq!(case.update(&mut *writer, 2, 50), Ok(Write::Done));
        writer.commit().expect("it holds all that it needs");
    });
}

/// The beginning of `BY_NUMBER`'s keys with this number.
fn number_key(number: u8) -> Key {
    let values = Shape::Indexed.values(0, number, 0);
    Shape::Indexed.index_key(BY_NUMBER, &values)
}

#[test]
fn a_transaction_without_a_set_is_alone() {
    for_each_planned(|case| {
        let accesses = case.rows(&[(0, Intent::Read)]);
        let mut planned = case.begin(Some(&accesses)).expect("nobody else is there");
        assert_eq!(case.begin(None).err(), Some(Abort::Cancelled), "{}", case.name());
        planned.commit().expect("it holds all that it needs");
        let mut alone = case.begin(None).expect("nobody else is there");
        assert_eq!(case.update(&mut *alone, 6, 9), Ok(Write::Done));
        assert_eq!(case.begin(Some(&accesses)).err(), Some(Abort::Cancelled), "{}", case.name());
        assert_eq!(case.begin(None).err(), Some(Abort::Cancelled), "{}", case.name());
        drop(alone);
        case.begin(Some(&accesses)).expect("the other is gone").abort();
    });
}

#[test]
fn a_reconnaissance_reads_what_is_committed_keeps_nothing_and_writes_nothing() {
    for_each_that_locks_rows(|case| {
        let (mut writer, _) = case.hold(case.rows(&[(0, Intent::Write)]), |txn| case.update(txn, 0, 9));
        let mut scout = case.engine.transaction(refusing());
        let begin = Begin { reconnaissance: true, ..Begin::at(Isolation::ReadCommitted) };
        scout.begin(&begin).expect("beginning needs nothing");
        assert!(scout.capabilities().needs_accesses);
        assert_eq!(scout.schema_of(case.table).map(|schema| schema.key.clone()), Some(vec![0]));
        assert!(scout.schema_of(TableId(99)).is_none());
        assert!(scout.read(case.table, &key(2)).expect("nobody is in the way").is_some());
        assert_eq!(scout.read(case.table, &key(0)), Err(Abort::Cancelled), "{}: it is being written", case.name());
        scout.abort();
        writer.commit().expect("it holds all that it needs");

        scout.begin(&begin).expect("beginning needs nothing");
        assert!(scout.read(case.table, &key(0)).expect("nobody is in the way").is_some());
        assert_eq!(case.scan(&mut *scout, 0, 6), Ok(4));
        // What it has read does not stand in anybody's way, the last row of a scan included.
        let everything = case.rows(&[0, 2, 4, 6].map(|row| (row, Intent::Write)));
        case.begin(Some(&everything)).expect("a reconnaissance keeps nothing").abort();
        let attempts: [Attempt; 4] = [
            |case, txn| case.insert(txn, 1).map(drop),
            |case, txn| case.update(txn, 0, 1).map(drop),
            |case, txn| txn.delete(case.table, &key(0)).map(drop),
            |case, txn| {
                let scan = Scan { lock: LockFor::Update, ..Scan::all(case.table, IndexRef::Primary) };
                txn.scan(&scan, &mut |_| ControlFlow::Continue(()))
            },
        ];
        for attempt in attempts {
            assert_eq!(attempt(case, &mut *scout), Err(Abort::User), "{}", case.name());
        }
    });
}
