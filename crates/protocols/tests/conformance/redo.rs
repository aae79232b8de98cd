//! Tests of the calls that a redo sink receives, and of their order.

use crate::tables::{Shape, row};
use crate::{first_writer_wins, for_each_engine, refusing};
use hotrow_check::RedoRecorder;
use hotrow_storage::{Change, End, Key, LogFailed, Position, RedoSink, Refusal, RowRef, TableId, TableSchema, Value};
use hotrow_sync::{Arc, Mutex, OnceLock, Waiter};
use hotrow_txn::{Abort, Accesses, Begin, Engine, Intent, Transaction, Write};

/// A column to change: `number`.
const NUMBER: usize = 2;

/// A call of the sink, and the number of the watched row that another transaction reads meanwhile. The number is an
/// error if that transaction may not read the row.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Event {
    /// A record was appended.
    Appended(Result<i32, Abort>),
    /// A transaction waits until the redo log is durable up to this position.
    Waited(u64, Result<i32, Abort>),
}

/// Reads a row of the engine at each call of the sink.
struct Watcher {
    recorder: Arc<RedoRecorder>,
    engine: Arc<dyn Engine>,
    row: OnceLock<(TableId, Key)>,
    events: Mutex<Vec<Event>>,
}

impl Watcher {
    fn new(engine: &Arc<dyn Engine>) -> Arc<Self> {
        let (row, events) = (OnceLock::new(), Mutex::default());
        let watcher = Arc::new(Self { recorder: RedoRecorder::new(), engine: engine.clone(), row, events });
        engine.set_redo(watcher.clone());
        watcher
    }

    fn look(&self) -> Result<i32, Abort> {
        let (table, key) = self.row.get().expect("transactions begin when it is known");
        let mut txn = self.engine.transaction(refusing());
        let mut accesses = Accesses::new();
        accesses.push(*table, key.clone(), Intent::Read);
        txn.begin(&Begin { accesses: Some(&accesses), ..Begin::default() })?;
        Ok(txn.read(*table, key)?.expect("nobody deletes it").int4(NUMBER))
    }

    fn enter(&self, event: Event) {
        self.events.lock().expect("no panic under the latch").push(event);
    }

    fn events(&self) -> Vec<Event> {
        std::mem::take(&mut self.events.lock().expect("no panic under the latch"))
    }
}

impl RedoSink for Watcher {
    fn created(&self, table: TableId, schema: &TableSchema) {
        self.recorder.created(table, schema);
    }

    fn loaded(&self, table: TableId, row: RowRef<'_>) {
        self.recorder.loaded(table, row);
    }

    fn dropped(&self, table: TableId) {
        self.recorder.dropped(table);
    }

    fn append(&self, end: End, changes: &mut dyn Iterator<Item = Change<'_>>, waiter: &Waiter) -> Position {
        self.enter(Event::Appended(self.look()));
        self.recorder.append(end, changes, waiter)
    }

    fn appended(&self) -> Position {
        self.recorder.appended()
    }

    fn wait_durable(&self, position: Position, waiter: &Waiter) -> Result<(), LogFailed> {
        self.enter(Event::Waited(position.0, self.look()));
        self.recorder.wait_durable(position, waiter)
    }

    fn admits(&self) -> Result<(), Refusal> {
        self.recorder.admits()
    }
}

/// Begins as a transaction that says what it writes, or says nothing.
fn begin(txn: &mut dyn Transaction, told: bool, table: TableId, keys: &[Key]) {
    let mut accesses = Accesses::new();
    keys.iter().for_each(|key| accesses.push(table, key.clone(), Intent::Write));
    let begin = Begin { accesses: told.then_some(&accesses), ..Begin::default() };
    txn.begin(&begin).expect("nobody else is there");
}

fn set_number(txn: &mut dyn Transaction, table: TableId, key: &Key, number: i32) -> Result<Write, Abort> {
    txn.update(table, key, &mut |row| {
        row.set(NUMBER, &Value::Int4(number));
        Ok(())
    })
}

#[test]
fn a_commit_appends_under_its_locks_and_waits_without_them() {
    for_each_engine(|engine| {
        let watcher = Watcher::new(engine);
        let shape = Shape::Hashed;
        let table = engine.create_table(shape.schema());
        let layout = engine.layout(table);
        let (key, other) = (shape.key(1), shape.key(2));
        for number in [1, 2] {
            engine.load(table, row(&layout, &shape.values(number, 0, 0)).as_ref()).expect("the keys differ");
        }
        watcher.row.set((table, key.clone())).expect("it is set once");
        let mut txn = engine.transaction(refusing());
        txn.statistics().timed = true;
        for (count, told) in [(1, false), (2, true)] {
            begin(&mut *txn, told, table, &[key.clone(), other.clone()]);
            let number = 10 * count as i32;
            assert_eq!(set_number(&mut *txn, table, &key, number), Ok(Write::Done));
            assert_eq!(txn.commit(), Ok(()));
            let events = watcher.events();
            // Where there are versions, a change is there to read on the word that its maker is about to commit.
            let isolated = match events[0] {
                Event::Appended(Err(_)) => true,
                Event::Appended(Ok(seen)) => seen == number && (first_writer_wins(engine) || !engine.info().isolates),
                _ => false,
            };
            assert!(isolated, "{}, told {told}: {events:?}", engine.info().name);
            assert_eq!(events[1..], [Event::Waited(count, Ok(number))], "{}, told {told}", engine.info().name);

            // What was read may not be durable, what was written and taken back was never there.
            begin(&mut *txn, told, table, &[key.clone(), other.clone()]);
            let savepoint = txn.savepoint();
            assert_eq!(set_number(&mut *txn, table, &other, 5), Ok(Write::Done));
            txn.rollback_to(savepoint);
            assert_eq!(txn.commit(), Ok(()));
            assert_eq!(watcher.events(), [Event::Waited(count, Ok(number))], "{}, told {told}", engine.info().name);
        }
        assert_eq!(txn.statistics().log.commits, 4, "{}: each commit is counted once", engine.info().name);
        begin(&mut *txn, false, table, &[]);
        assert_eq!(txn.delete(table, &other), Ok(Write::Done));
        txn.abort();
        assert_eq!(watcher.events(), [], "{}", engine.info().name);
        assert_eq!(watcher.recorder.compare(&**engine), Ok(()), "{}", engine.info().name);
        engine.drop_table(table);
    });
}

/// A sink that keeps what the last transaction left, as text.
#[derive(Default)]
struct Reader {
    left: Mutex<Vec<String>>,
}

impl RedoSink for Reader {
    fn created(&self, table: TableId, schema: &TableSchema) {
        self.left.lock().expect("no panic under the latch").push(format!("{} is {}", table.0, schema.name));
    }

    fn loaded(&self, table: TableId, row: RowRef<'_>) {
        self.left.lock().expect("no panic under the latch").push(format!("{} has {}", table.0, row.int8(0)));
    }

    fn dropped(&self, table: TableId) {
        self.left.lock().expect("no panic under the latch").push(format!("{} is gone", table.0));
    }

    fn append(&self, _: End, changes: &mut dyn Iterator<Item = Change<'_>>, _: &Waiter) -> Position {
        let told = changes.map(|change| match change {
            Change::Put { table, row } => format!("{} puts {}, {}", table.0, row.int8(0), row.int4(NUMBER)),
            Change::Delete { table, key } => format!("{} deletes {key:?}", table.0),
        });
        let mut told: Vec<_> = told.collect();
        told.sort();
        self.left.lock().expect("no panic under the latch").extend(told);
        Position(1)
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

#[test]
fn a_record_is_what_a_transaction_leaves() {
    for_each_engine(|engine| {
        let reader = Arc::new(Reader::default());
        engine.set_redo(reader.clone());
        let shape = Shape::Indexed;
        let tables = [(); 2].map(|()| engine.create_table(shape.schema()));
        let [table, _] = tables;
        let layout = engine.layout(table);
        let values = |key: u8, number| shape.values(key, number, 0);
        for key in [2, 3, 4, 5] {
            engine.load(table, row(&layout, &values(key, 0)).as_ref()).expect("the keys differ");
        }
        let key = |number: u8| shape.key(number);
        let insert =
            |txn: &mut dyn Transaction, key, number| txn.insert(table, row(&layout, &values(key, number)).as_ref());
        let mut txn = engine.transaction(refusing());
        begin(&mut *txn, false, table, &[]);
        // Changed twice; deleted and made again; deleted; made, changed and deleted again; made twice.
        assert_eq!(set_number(&mut *txn, table, &key(2), 7), Ok(Write::Done));
        assert_eq!(set_number(&mut *txn, table, &key(2), 8), Ok(Write::Done));
        assert_eq!(txn.delete(table, &key(3)), Ok(Write::Done));
        assert_eq!(insert(&mut *txn, 3, 3), Ok(Write::Done));
        assert_eq!(txn.delete(table, &key(4)), Ok(Write::Done));
        assert_eq!(insert(&mut *txn, 6, 1), Ok(Write::Done));
        assert_eq!(set_number(&mut *txn, table, &key(6), 5), Ok(Write::Done));
        assert_eq!(txn.delete(table, &key(6)), Ok(Write::Done));
        let savepoint = txn.savepoint();
        assert_eq!(set_number(&mut *txn, table, &key(5), 9), Ok(Write::Done));
        assert_eq!(insert(&mut *txn, 8, 1), Ok(Write::Done));
        txn.rollback_to(savepoint);
        // Refused, and so nothing.
        assert!(matches!(insert(&mut *txn, 2, 1), Ok(Write::Duplicate(_))));
        assert_eq!(insert(&mut *txn, 9, 2), Ok(Write::Done));
        assert_eq!(txn.commit(), Ok(()));
        engine.drop_table(table);
        let expected = [
            "0 is t",
            "1 is t",
            "0 has 0",
            "0 has 1",
            "0 has 2",
            "0 has 3",
            "0 deletes Int(2)",
            "0 deletes Int(4)",
            "0 puts 0, 8",
            "0 puts 1, 2",
            "0 puts 7, 1",
            "0 is gone",
        ];
        assert_eq!(*reader.left.lock().expect("no panic under the latch"), expected, "{}", engine.info().name);
        // A dropped table's number is not used again.
        assert_eq!(engine.create_table(shape.schema()), TableId(2));
    });
}

#[test]
fn a_table_is_restored_under_its_number_without_a_record() {
    for_each_engine(|engine| {
        let reader = Arc::new(Reader::default());
        engine.set_redo(reader.clone());
        let shape = Shape::Indexed;
        let name = engine.info().name;
        engine.skip_tables(TableId(3));
        engine.restore_table(TableId(7), shape.schema());
        engine.restore_table(TableId(1), shape.schema());
        assert!(reader.left.lock().expect("no panic under the latch").is_empty(), "{name}");
        assert_eq!(engine.create_table(shape.schema()), TableId(8), "{name}");
        engine.skip_tables(TableId(5));
        assert_eq!(engine.create_table(shape.schema()), TableId(9), "{name}");
        engine.skip_tables(TableId(2000));
        assert_eq!(engine.create_table(shape.schema()), TableId(2000), "{name}");
        let row = row(&engine.layout(TableId(1)), &shape.values(2, 0, 0));
        assert_eq!(engine.load(TableId(1), row.as_ref()), Ok(()), "{name}");
        assert_eq!((engine.row_count(TableId(1)), engine.row_count(TableId(7))), (1, 0), "{name}");
        engine.drop_table(TableId(8));
        assert_eq!(engine.tables(), [1, 7, 9, 2000].map(TableId), "{name}");
    });
}

/// A sink whose log has failed.
struct Broken;

impl RedoSink for Broken {
    fn created(&self, _: TableId, _: &TableSchema) {}

    fn loaded(&self, _: TableId, _: RowRef<'_>) {}

    fn dropped(&self, _: TableId) {}

    fn append(&self, _: End, changes: &mut dyn Iterator<Item = Change<'_>>, _: &Waiter) -> Position {
        Position(changes.count() as u64)
    }

    fn appended(&self) -> Position {
        Position(1)
    }

    fn wait_durable(&self, _: Position, _: &Waiter) -> Result<(), LogFailed> {
        Err(LogFailed)
    }

    fn admits(&self) -> Result<(), Refusal> {
        Err(Refusal::Failed)
    }
}

#[test]
fn a_commit_says_that_the_log_has_failed_and_stays_in_memory() {
    for_each_engine(|engine| {
        let name = engine.info().name;
        engine.set_redo(Arc::new(Broken));
        let shape = Shape::Indexed;
        let table = engine.create_table(shape.schema());
        let row = row(&engine.layout(table), &shape.values(2, 0, 0));
        engine.load(table, row.as_ref()).expect("the table is empty");
        let key = shape.key(2);
        let mut txn = engine.transaction(refusing());
        begin(&mut *txn, false, table, &[]);
        assert_eq!(set_number(&mut *txn, table, &key, 7), Ok(Write::Done), "{name}");
        assert_eq!(txn.commit(), Err(Abort::LogFailed), "{name}");
        // The changes are not undone, and no lock is left.
        txn.abort();
        let mut other = engine.transaction(refusing());
        begin(&mut *other, false, table, &[]);
        assert_eq!(other.read(table, &key).map(|row| row.map(|row| row.int4(NUMBER))), Ok(Some(7)), "{name}");
        assert_eq!(set_number(&mut *other, table, &key, 8), Ok(Write::Done), "{name}");
        assert_eq!(other.commit(), Err(Abort::LogFailed), "{name}");
        engine.audit().unwrap_or_else(|fault| panic!("{name}: {fault}"));
    });
}
