//! Constant tables: no engine writes to them, and transactions read them without locks.

use crate::tables::{Shape, row, values_of};
use crate::{first_writer_wins, for_each_engine, refusing};
use hotrow_check::RedoRecorder;
use hotrow_storage::{IndexId, IndexRef, Key, Position, RedoSink, TableId, TableSchema, Value};
use hotrow_sync::Arc;
use hotrow_txn::{Abort, Accesses, Begin, Engine, Intent, LockFor, RangeAccess, Scan, Transaction, Write};
use std::ops::{Bound, ControlFlow};

const SHAPE: Shape = Shape::Indexed;
const BY_NUMBER: IndexRef = IndexRef::Secondary(IndexId(0));
const ROWS: [u8; 3] = [0, 2, 4];

/// A database with a constant table, which has no partition key, and another table, both with rows 0, 2 and 4.
struct Case<'a> {
    engine: &'a Arc<dyn Engine>,
    constant: TableId,
    other: TableId,
}

impl<'a> Case<'a> {
    fn new(engine: &'a Arc<dyn Engine>) -> Self {
        let schema = TableSchema { constant: true, partitioned: false, ..SHAPE.schema() };
        assert_eq!(engine.admits(&schema), Ok(()), "{}", engine.info().name);
        let case = Self { engine, constant: engine.create_table(schema), other: engine.create_table(SHAPE.schema()) };
        for table in [case.constant, case.other] {
            for key in ROWS {
                let loaded = engine.load(table, row(&engine.layout(table), &SHAPE.values(key, key, key)).as_ref());
                loaded.expect("the keys differ");
            }
        }
        case
    }

    fn name(&self) -> &'static str {
        self.engine.info().name
    }

    /// Returns the access set of rows of both tables, and of a range and an entry of the constant one.
    fn accesses(&self) -> Accesses {
        let mut accesses = Accesses::new();
        accesses.push(self.constant, SHAPE.key(0), Intent::Read);
        accesses.push(self.other, SHAPE.key(0), Intent::Write);
        accesses.push(self.constant, SHAPE.key(2), Intent::Write);
        accesses.push(self.other, SHAPE.key(4), Intent::Read);
        accesses.push_range(RangeAccess {
            table: self.constant,
            index: BY_NUMBER,
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
            intent: Intent::Write,
        });
        accesses.push_entry(self.constant, IndexRef::Primary, SHAPE.key(6), SHAPE.key(6));
        accesses
    }

    /// Returns the access set of constant rows alone.
    fn constant_accesses(&self) -> Accesses {
        let mut accesses = Accesses::new();
        ROWS.iter().for_each(|&key| accesses.push(self.constant, SHAPE.key(key), Intent::Read));
        accesses
    }

    fn begin(&self, begin: &Begin<'_>) -> Result<Box<dyn Transaction>, Abort> {
        let mut txn = self.engine.transaction(refusing());
        txn.begin(begin).map(|()| txn)
    }

    /// Returns the numbers of the keys that a scan of an index of the constant table visits.
    fn scan(&self, txn: &mut dyn Transaction, index: IndexRef, lock: LockFor) -> Result<Vec<i64>, Abort> {
        let mut keys = Vec::new();
        txn.scan(&Scan { lock, ..Scan::all(self.constant, index) }, &mut |row| {
            keys.push(row.value(0).as_int().expect("an integer") + 2);
            ControlFlow::Continue(())
        })?;
        Ok(keys)
    }

    /// Checks that a transaction finds all rows of the constant table, and no others.
    fn check_reads(&self, txn: &mut dyn Transaction) {
        let name = self.name();
        for key in 0..6 {
            let expected = ROWS.contains(&key).then(|| SHAPE.values(key, key, key));
            let read = txn.read(self.constant, &SHAPE.key(key)).map(|row| row.map(values_of));
            assert_eq!(read, Ok(expected.clone()), "{name}: row {key}");
            assert_eq!(txn.hold_row(self.constant, &SHAPE.key(key)), Ok(expected.is_some()), "{name}: row {key}");
        }
        for index in [IndexRef::Primary, BY_NUMBER] {
            assert_eq!(self.scan(txn, index, LockFor::Read), Ok(vec![0, 2, 4]), "{name}: {index:?}");
        }
    }
}

fn every_write(case: &Case<'_>, txn: &mut dyn Transaction) -> [(&'static str, Result<Write, Abort>); 6] {
    let (table, layout) = (case.constant, case.engine.layout(case.constant));
    let mut update = |key: &Key| {
        txn.update(table, key, &mut |row| {
            row.set(2, &Value::Int4(99));
            Ok(())
        })
    };
    let (present, absent) = (SHAPE.key(2), SHAPE.key(6));
    let updates = [("update", update(&present)), ("update of no row", update(&absent))];
    let mut insert = |key| txn.insert(table, row(&layout, &SHAPE.values(key, key, key)).as_ref());
    let inserts = [("insert", insert(6)), ("insert of a row that is there", insert(2))];
    let deletes = [("delete", txn.delete(table, &present)), ("delete of no row", txn.delete(table, &absent))];
    let [(one, two), (three, four), (five, six)] = [updates, inserts, deletes].map(|[first, last]| (first, last));
    [one, two, three, four, five, six]
}

#[test]
fn every_write_of_a_constant_table_is_refused_and_changes_nothing() {
    for_each_engine(|engine| {
        let redo = RedoRecorder::new();
        engine.set_redo(redo.clone());
        let case = Case::new(engine);
        let accesses = case.accesses();
        for accesses in [None, Some(&accesses)] {
            let mut txn = case.begin(&Begin { accesses, ..Begin::default() }).expect("nobody else is there");
            for (what, outcome) in every_write(&case, &mut *txn) {
                assert_eq!(outcome, Err(Abort::User), "{}: {what}, with {accesses:?}", case.name());
            }
            // The transaction can go on, and commit what else it does.
            case.check_reads(&mut *txn);
            txn.commit().expect("nobody else is there");
            let mut txn = case.begin(&Begin { accesses, ..Begin::default() }).expect("nobody else is there");
            case.check_reads(&mut *txn);
            txn.abort();
        }
        assert_eq!((engine.row_count(case.constant), engine.audit()), (3, Ok(())), "{}", case.name());
        assert_eq!((redo.appended(), redo.compare(&**engine)), (Position(0), Ok(())), "{}", case.name());
    });
}

#[test]
fn constant_rows_are_read_beside_others() {
    for_each_engine(|engine| {
        let case = Case::new(engine);
        let accesses = case.accesses();
        for (accesses, read_only) in [(None, false), (None, true), (Some(&accesses), false), (Some(&accesses), true)] {
            let begin = Begin { accesses, read_only, ..Begin::default() };
            let mut txn = case.begin(&begin).expect("nobody else is there");
            let read = |txn: &mut dyn Transaction, table, key| {
                let found = txn.read(table, &SHAPE.key(key)).map(|row| row.map(|row| row.value(2).as_int()));
                found.unwrap_or_else(|abort| panic!("{}: {abort:?}, {accesses:?}", case.name()))
            };
            assert!(read(&mut *txn, case.constant, 0).is_some());
            if !read_only {
                let updated = txn.update(case.other, &SHAPE.key(0), &mut |row| {
                    row.set(2, &Value::Int4(50));
                    Ok(())
                });
                assert_eq!(updated, Ok(Write::Done), "{}", case.name());
            }
            assert!(read(&mut *txn, case.constant, 2).is_some());
            assert!(read(&mut *txn, case.other, 4).is_some());
            case.check_reads(&mut *txn);
            txn.commit().expect("nobody else is there");
        }
        assert_eq!(engine.audit(), Ok(()), "{}", case.name());
    });
}

#[test]
fn rows_that_are_not_in_the_access_set_are_read_if_they_are_constant() {
    for_each_engine(|engine| {
        let case = Case::new(engine);
        let mut of_other = Accesses::new();
        of_other.push(case.other, SHAPE.key(0), Intent::Read);
        for accesses in [Accesses::new(), of_other] {
            for read_only in [false, true] {
                let begin = Begin { accesses: Some(&accesses), read_only, ..Begin::default() };
                let mut txn = case.begin(&begin).expect("nobody else is there");
                case.check_reads(&mut *txn);
                txn.commit().expect("nobody else is there");
            }
        }
    });
}

#[test]
fn readers_of_constant_rows_take_no_locks_and_never_meet() {
    let mut met = 0;
    for_each_engine(|engine| {
        // Engines with versions give each row that is read for update to one transaction.
        if first_writer_wins(engine) {
            return;
        }
        let case = Case::new(engine);
        let accesses = case.constant_accesses();
        let begin = Begin { accesses: Some(&accesses), ..Begin::default() };
        let mut one = case.begin(&begin).expect("nobody else is there");
        // One transaction at a time is in the database under some engines.
        let Ok(mut two) = case.begin(&begin) else { return };
        met += 1;
        for txn in [&mut one, &mut two] {
            case.check_reads(&mut **txn);
            assert_eq!(case.scan(&mut **txn, BY_NUMBER, LockFor::Update), Ok(vec![0, 2, 4]), "{}", case.name());
            let found = txn.read_for_update(case.constant, &SHAPE.key(2)).map(|row| row.is_some());
            assert_eq!(found, Ok(true), "{}", case.name());
        }
        for txn in [&mut one, &mut two] {
            txn.commit().expect("nothing is in its way");
            assert_eq!((txn.statistics().locks, txn.statistics().messages), (0, 0), "{}", case.name());
        }
        assert_eq!(engine.audit(), Ok(()), "{}", case.name());
    });
    assert!(met >= 20, "{met} engines let two transactions in");
}
