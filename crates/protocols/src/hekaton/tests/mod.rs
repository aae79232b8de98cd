//! Tests of versions that come and go, and of transactions that meet others while these end.

mod garbage;
mod keys;
mod levels;
mod locks;
mod queues;
mod ranges;
mod walks;

use super::{Hekaton, HekatonConfig, Optimistic};
use crate::Instance;
use hotrow_storage::{
    Change, Column, End, IndexKind, IndexRef, IndexSchema, Key, KeyBuilder, LogFailed, Position, RedoSink, Refusal,
    Row, RowRef, TableId, TableSchema, Type, Value,
};
use hotrow_sync::{Arc, Mutex, Waiter};
use hotrow_txn::{Abort, Begin, Concurrency, Engine, Inspection, Isolation, Savepoint, Scan, Transaction, Write};
use std::ops::ControlFlow;
use std::time::Duration;

struct Fixture {
    engine: Arc<Instance<Hekaton<Optimistic>>>,
    table: TableId,
}

/// Makes a table with so many rows, all zero, whose names begin at 100. Names are unique.
fn fixture(rows: i64) -> Fixture {
    fixture_with(rows, HekatonConfig::default())
}

fn fixture_with(rows: i64, config: HekatonConfig) -> Fixture {
    let engine = Instance::<Hekaton<Optimistic>>::new(config);
    let columns =
        vec![Column::new("id", Type::Int8), Column::new("number", Type::Int8), Column::nullable("name", Type::Int8)];
    let mut schema = TableSchema::new("numbers", columns, &[0]);
    schema.ordered = true;
    schema.indexes = vec![IndexSchema { name: "name".into(), columns: vec![2], kind: IndexKind::Hash, unique: true }];
    let table = engine.create_table(schema);
    for id in 0..rows {
        engine.load(table, row(&engine, table, id, 0, Some(100 + id)).as_ref()).expect("the keys differ");
    }
    Fixture { engine, table }
}

fn row(engine: &Instance<Hekaton<Optimistic>>, table: TableId, id: i64, number: i64, name: Option<i64>) -> Row {
    let name = name.map_or(Value::Null, Value::Int8);
    Row::from_values(&engine.layout(table), &[Value::Int8(id), Value::Int8(number), name])
}

impl Fixture {
    fn transaction(&self) -> Box<dyn Transaction> {
        let waiter = Waiter::thread(Duration::ZERO);
        waiter.cancel();
        Engine::transaction(&*self.engine, waiter)
    }

    fn begin(&self, level: Isolation) -> Box<dyn Transaction> {
        let mut txn = self.transaction();
        txn.begin(&Begin::at(level)).expect("beginning needs nothing");
        txn
    }

    fn begin_as(&self, level: Isolation, concurrency: Concurrency) -> Box<dyn Transaction> {
        let mut txn = self.transaction();
        txn.begin(&Begin { concurrency: Some(concurrency), ..Begin::at(level) }).expect("beginning needs nothing");
        txn
    }

    fn read(&self, txn: &mut dyn Transaction, id: i64) -> Result<Option<i64>, Abort> {
        txn.read(self.table, &Key::Int(id)).map(|row| row.and_then(|row| row.value(1).as_int()))
    }

    fn write(&self, txn: &mut dyn Transaction, id: i64, number: i64) -> Result<Write, Abort> {
        txn.update(self.table, &Key::Int(id), &mut |row| {
            row.set(1, &Value::Int8(number));
            Ok(())
        })
    }

    fn rename(&self, txn: &mut dyn Transaction, id: i64, name: Option<i64>) -> Result<Write, Abort> {
        txn.update(self.table, &Key::Int(id), &mut |row| {
            row.set(2, &name.map_or(Value::Null, Value::Int8));
            Ok(())
        })
    }

    fn insert(&self, txn: &mut dyn Transaction, id: i64, name: Option<i64>) -> Result<Write, Abort> {
        txn.insert(self.table, row(&self.engine, self.table, id, 0, name).as_ref())
    }

    /// Returns the key of a name in its index.
    fn name(name: i64) -> Key {
        let mut builder = KeyBuilder::default();
        builder.push(Type::Int8, true, &Value::Int8(name));
        builder.finish()
    }

    /// Returns the number of versions that are linked.
    fn versions(&self) -> usize {
        let database = self.engine.database();
        let mut participant = database.participant();
        participant.enter();
        let mut versions = 0;
        let table = database.table(participant.guard(), self.table).expect("it was made");
        table.primary().all(participant.guard(), |_| {
            versions += 1;
            ControlFlow::Continue(())
        });
        participant.leave();
        versions
    }

    fn update_all(&self, txn: &mut dyn Transaction, rows: i64, number: i64) {
        for id in 0..rows {
            txn.begin(&Begin::at(Isolation::ReadCommitted)).expect("beginning needs nothing");
            assert_eq!(self.write(txn, id, number), Ok(Write::Done));
            txn.commit().expect("nobody is in the way");
        }
    }

    fn sum(&self, txn: &mut dyn Transaction) -> i64 {
        let mut sum = 0;
        txn.scan(&Scan::all(self.table, IndexRef::Primary), &mut |row| {
            sum += row.value(1).as_int().expect("it is an integer");
            ControlFlow::Continue(())
        })
        .expect("a reader waits for nobody");
        sum
    }
}

#[test]
fn versions_are_bounded_by_what_somebody_can_see() {
    const ROWS: i64 = 50;
    let case = fixture(ROWS);
    let mut writer = case.transaction();
    for round in 1..100 {
        case.update_all(&mut *writer, ROWS, round);
    }
    assert!(case.versions() < 2 * ROWS as usize, "{} versions of {ROWS} rows", case.versions());

    let mut reader = case.begin(Isolation::Snapshot);
    assert_eq!(case.sum(&mut *reader), 99 * ROWS);
    for round in 100..200 {
        case.update_all(&mut *writer, ROWS, round);
        reader.idle();
    }
    assert_eq!(case.sum(&mut *reader), 99 * ROWS, "what it saw is what it sees");
    let visible = 2 * ROWS as usize;
    assert!((visible..visible + ROWS as usize).contains(&case.versions()), "{} versions", case.versions());
    reader.commit().expect("it has read only");
    for round in 200..210 {
        case.update_all(&mut *writer, ROWS, round);
    }
    assert!(case.versions() < 2 * ROWS as usize, "{} versions of {ROWS} rows", case.versions());
}

#[test]
fn what_was_deleted_undone_or_left_behind_is_collected() {
    const ROWS: i64 = 40;
    let case = fixture(ROWS);
    let mut other = case.transaction();
    for round in 0..5 {
        let mut txn = case.begin(Isolation::Serializable);
        for id in 0..ROWS / 2 {
            assert_eq!(txn.delete(case.table, &Key::Int(id)), Ok(Write::Done));
        }
        let savepoint: Savepoint = txn.savepoint();
        for id in 0..ROWS / 2 {
            let inserted = row(&case.engine, case.table, id, round, None);
            assert_eq!(txn.insert(case.table, inserted.as_ref()), Ok(Write::Done));
            assert_eq!(case.write(&mut *txn, id, round), Ok(Write::Done));
        }
        if round % 2 == 0 {
            txn.rollback_to(savepoint);
            assert_eq!(txn.commit(), Ok(()));
            other.begin(&Begin::default()).expect("beginning needs nothing");
            for id in 0..ROWS / 2 {
                let inserted = row(&case.engine, case.table, id, round, None);
                assert_eq!(other.insert(case.table, inserted.as_ref()), Ok(Write::Done));
            }
            assert_eq!(other.commit(), Ok(()));
        } else {
            txn.abort();
        }
        // A transaction object that goes leaves the versions that it has not collected to others.
        drop(txn);
    }
    for round in 0..50 {
        case.update_all(&mut *other, 1, round);
    }
    assert_eq!(case.engine.row_count(case.table), ROWS as u64);
    assert!(case.versions() < 2 * ROWS as usize, "{} versions of {ROWS} rows", case.versions());
    case.engine.audit().expect("nobody is there");
}

/// Work that runs while a transaction has its end timestamp and has not committed.
type Meanwhile = Box<dyn FnOnce() + Send>;

/// A sink that runs other work during its first record.
struct Interrupted(Mutex<Option<Meanwhile>>);

impl RedoSink for Interrupted {
    fn created(&self, _: TableId, _: &TableSchema) {}

    fn loaded(&self, _: TableId, _: RowRef<'_>) {}

    fn dropped(&self, _: TableId) {}

    fn append(&self, _: End, _: &mut dyn Iterator<Item = Change<'_>>, _: &Waiter) -> Position {
        let meanwhile = self.0.lock().expect("nobody panics under it").take();
        if let Some(meanwhile) = meanwhile {
            meanwhile();
        }
        Position(0)
    }

    fn appended(&self) -> Position {
        Position(0)
    }

    fn wait_durable(&self, _: Position, _: &Waiter) -> Result<(), LogFailed> {
        Ok(())
    }

    fn admits(&self) -> Result<(), Refusal> {
        Ok(())
    }
}

/// Commits a transaction that has set row 0 to 1, and calls `meanwhile` when it has its end timestamp.
fn while_one_prepares(meanwhile: impl FnOnce(&Fixture) + Send + 'static) -> Arc<Fixture> {
    let case = Arc::new(fixture(4));
    let inner = case.clone();
    let meanwhile: Meanwhile = Box::new(move || meanwhile(&inner));
    case.engine.set_redo(Arc::new(Interrupted(Mutex::new(Some(meanwhile)))));
    let mut writer = case.begin(Isolation::Serializable);
    assert_eq!(case.write(&mut *writer, 0, 1), Ok(Write::Done));
    assert_eq!(writer.commit(), Ok(()));
    case.engine.audit().expect("nobody is there");
    case
}

/// Returns each level, for each kind of transaction.
fn levels_and_ways() -> impl Iterator<Item = (Isolation, Concurrency)> {
    Isolation::ALL.into_iter().flat_map(|level| Concurrency::ALL.map(|way| (level, way)))
}

#[test]
fn what_is_about_to_commit_is_read_and_does_not_commit_after_its_reader() {
    for (level, way) in levels_and_ways() {
        let dependent: Arc<Mutex<Option<Box<dyn Transaction>>>> = Arc::default();
        let out = dependent.clone();
        let case = while_one_prepares(move |case| {
            let mut early = case.begin_as(level, way);
            assert_eq!(case.read(&mut *early, 0), Ok(Some(1)), "{level}, {way}: it reads what is not committed");
            assert_eq!(early.commit(), Err(Abort::Cancelled), "{level}, {way}: and may not wait for that");
            early.abort();
            let mut later = case.begin_as(level, way);
            assert_eq!(case.read(&mut *later, 0), Ok(Some(1)));
            assert_eq!(case.write(&mut *later, 0, 2), Ok(Write::Done), "{level}, {way}: and replaces it");
            *out.lock().expect("nobody panics under it") = Some(later);
        });
        let mut later = dependent.lock().expect("nobody panics under it").take().expect("it began");
        assert_eq!(later.commit(), Ok(()), "{level}, {way}: what it has read is committed");
        let mut reader = case.begin_as(level, way);
        assert_eq!(case.read(&mut *reader, 0), Ok(Some(2)));
    }
}

#[test]
fn who_has_read_what_is_rolled_back_is_rolled_back() {
    for (level, way) in levels_and_ways() {
        let case = while_one_prepares(move |case| {
            // Depends on the one that is about to commit, and so prepares, and can go no further.
            let mut middle = case.begin_as(level, way);
            assert_eq!(case.read(&mut *middle, 0), Ok(Some(1)));
            assert_eq!(case.write(&mut *middle, 1, 7), Ok(Write::Done));
            assert_eq!(middle.commit(), Err(Abort::Cancelled));

            let (mut reader, mut writer, mut idler) =
                (case.begin_as(level, way), case.begin_as(level, way), case.begin_as(level, way));
            assert_eq!(case.read(&mut *reader, 1), Ok(Some(7)));
            assert_eq!(case.write(&mut *writer, 1, 8), Ok(Write::Done));
            assert_eq!(case.sum(&mut *idler), 8);
            idler.idle();
            middle.abort();
            assert_eq!(case.read(&mut *reader, 2), Err(Abort::Cascade));
            assert_eq!(writer.commit(), Err(Abort::Cascade));
            idler.idle();
            assert_eq!(case.read(&mut *idler, 2), Err(Abort::Cascade));
            for mut txn in [reader, writer, idler] {
                txn.abort();
            }
            let mut after = case.begin_as(level, way);
            assert_eq!(case.read(&mut *after, 1), Ok(Some(0)), "{level}, {way}: as if it had never been");
            assert_eq!(case.write(&mut *after, 1, 9), Ok(Write::Done), "{level}, {way}: and nobody is in the way");
        });
        assert_eq!(case.versions(), 4 + 1, "{level}, {way}: the row that was replaced is waiting to be collected");
    }
}
