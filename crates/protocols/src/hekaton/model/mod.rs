//! Random interleavings of transactions over versions, under `--cfg shuttle`: every word, latch and flag is a place to
//! switch threads at. shuttle has no time, and reports a wake-up that is lost as a deadlock; its memory is sequentially
//! consistent, so a fence or an ordering that is too weak is not found here.
//!
//! Most models say what to break to see them fail.

mod bucket_locks;
mod counters;
mod garbage;
mod histories;
mod keys;
mod precommit;
mod queues;
mod range_locks;
mod read_locks;
mod speculation;

use super::{Hekaton, HekatonConfig, Optimistic};
use crate::Instance;
use hotrow_storage::{Column, IndexKind, IndexRef, IndexSchema, Key, Row, TableId, TableSchema, Type, Value};
use hotrow_sync::{Arc, Waiter, thread};
use hotrow_txn::{Abort, Begin, Engine, Isolation, Scan, Transaction, Write};
use std::ops::ControlFlow;
use std::time::Duration;

/// Tries a model with schedules of two kinds: equal chances at every step, and few switches at random places.
fn check(model: impl Fn() + Send + Sync + 'static) {
    check_times(1, model);
}

/// Tries a model as [`check`] does, with `times` as many schedules, since the model is that much smaller.
fn check_times(times: usize, model: impl Fn() + Send + Sync + 'static) {
    let iterations = std::env::var("HOTROW_MODEL_ITERATIONS").ok();
    let iterations = iterations.map_or(300, |text| text.parse().expect("HOTROW_MODEL_ITERATIONS is a number"));
    let (model, iterations) = (Arc::new(model), times * iterations);
    let same = model.clone();
    shuttle::check_random(move || same(), iterations);
    shuttle::check_pct(move || model(), iterations, 3);
}

/// Runs all of `work` at the same time.
fn together(work: Vec<Box<dyn FnOnce() + Send>>) {
    let threads: Vec<_> = work.into_iter().map(thread::spawn).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
}

/// A database with one table: a key, a number that is zero at first, and a name that is unique if it is not NULL.
struct Scene {
    engine: Arc<Instance<Hekaton<Optimistic>>>,
    table: TableId,
}

impl Scene {
    /// Makes a database with so many rows, whose names begin at 100. `names` is the kind of the index on the names.
    fn new(rows: i64, names: IndexKind) -> Arc<Self> {
        let engine = Instance::<Hekaton<Optimistic>>::new(HekatonConfig::default());
        let columns = vec![
            Column::new("id", Type::Int8),
            Column::new("number", Type::Int8),
            Column::nullable("name", Type::Int8),
        ];
        let index = IndexSchema { name: "name".into(), columns: vec![2], kind: names, unique: true };
        let schema = TableSchema { ordered: true, indexes: vec![index], ..TableSchema::new("numbers", columns, &[0]) };
        let table = engine.create_table(schema);
        let scene = Self { engine, table };
        for id in 0..rows {
            scene.engine.load(table, scene.row(id, 0, Some(100 + id)).as_ref()).expect("the keys differ");
        }
        Arc::new(scene)
    }

    fn row(&self, id: i64, number: i64, name: Option<i64>) -> Row {
        let name = name.map_or(Value::Null, Value::Int8);
        Row::from_values(&self.engine.layout(self.table), &[Value::Int8(id), Value::Int8(number), name])
    }

    fn transaction(&self, waiter: &Waiter) -> Box<dyn Transaction> {
        Engine::transaction(&*self.engine, waiter.clone())
    }

    fn begin(&self, level: Isolation) -> Box<dyn Transaction> {
        let mut txn = self.transaction(&waiter());
        txn.begin(&Begin::at(level)).expect("beginning needs nothing");
        txn
    }

    fn read(&self, txn: &mut dyn Transaction, id: i64) -> Result<Option<i64>, Abort> {
        txn.read(self.table, &Key::Int(id)).map(|row| row.map(|row| row.int8(1)))
    }

    /// Adds to a row's number.
    fn add(&self, txn: &mut dyn Transaction, id: i64, number: i64) -> Result<Write, Abort> {
        txn.update(self.table, &Key::Int(id), &mut |row| {
            let sum = row.as_ref().int8(1) + number;
            row.set(1, &Value::Int8(sum));
            Ok(())
        })
    }

    fn insert(&self, txn: &mut dyn Transaction, id: i64, number: i64, name: Option<i64>) -> Result<Write, Abort> {
        txn.insert(self.table, self.row(id, number, name).as_ref())
    }

    /// Returns the names that rows have, when no other transaction runs.
    fn names(&self) -> Vec<i64> {
        let mut txn = self.begin(Isolation::Serializable);
        let mut names = Vec::new();
        txn.scan(&Scan::all(self.table, IndexRef::Primary), &mut |row| {
            names.extend((!row.is_null(2)).then(|| row.int8(2)));
            ControlFlow::Continue(())
        })
        .expect("nobody is in the way");
        names
    }

    /// Returns the number of a row, when no other transaction runs.
    fn number(&self, id: i64) -> Option<i64> {
        let mut txn = self.begin(Isolation::Serializable);
        let number = self.read(&mut *txn, id).expect("nobody is in the way");
        txn.commit().expect("nobody is in the way");
        number
    }
}

fn waiter() -> Waiter {
    Waiter::thread(Duration::ZERO)
}
