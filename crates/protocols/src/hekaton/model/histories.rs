//! Random transactions at all levels, optimistic and pessimistic, recorded and judged by the checker: what no other
//! model thought of.
//!
//! | broken | fails |
//! | --- | --- |
//! | rows, or ranges, are not looked at again at the end | it |

use super::{check, together, waiter};
use crate::Instance;
use crate::hekaton::{Hekaton, HekatonConfig, Optimistic};
use hotrow_check::{Recorder, Recording, check as judge, final_versions};
use hotrow_storage::{Column, IndexKind, IndexRef, IndexSchema, Key, Row, TableId, TableSchema, Type, Value};
use hotrow_sync::Arc;
use hotrow_txn::{Abort, Begin, Concurrency, Engine, Inspection, Isolation, Scan, Transaction, Yielding};
use shuttle::rand::{Rng, thread_rng};
use std::ops::{Bound, ControlFlow};

/// The number below which primary keys, and codes, are.
const KEYS: i64 = 3;

struct Scene {
    engine: Arc<Instance<Hekaton<Optimistic>>>,
    table: TableId,
    recording: Arc<Recording>,
}

impl Scene {
    fn new() -> Self {
        let engine = Instance::<Hekaton<Optimistic>>::new(HekatonConfig::default());
        let columns =
            vec![Column::new("id", Type::Int8), Column::new("stamp", Type::Int8), Column::nullable("code", Type::Int8)];
        let kind = *pick(&[IndexKind::Hash, IndexKind::Ordered]);
        let index = IndexSchema { name: "code".into(), columns: vec![2], kind, unique: true };
        let schema = TableSchema { ordered: true, indexes: vec![index], ..TableSchema::new("small", columns, &[0]) };
        let table = engine.create_table(schema);
        let recording = Recording::new();
        let scene = Self { engine, table, recording };
        for id in 0..2 {
            scene.engine.load(table, scene.row(id, Some(id)).as_ref()).expect("the keys differ");
        }
        scene.recording.table(&*scene.engine, table, 1).expect("nobody else is there");
        scene
    }

    fn row(&self, id: i64, code: Option<i64>) -> Row {
        let code = code.map_or(Value::Null, Value::Int8);
        Row::from_values(&self.engine.layout(self.table), &[Value::Int8(id), Value::Int8(0), code])
    }

    fn step(&self, txn: &mut dyn Transaction) -> Result<(), Abort> {
        let key = thread_rng().gen_range(0..KEYS);
        let code = thread_rng().gen_bool(0.5).then(|| thread_rng().gen_range(0..KEYS));
        match thread_rng().gen_range(0..8) {
            0..2 => txn.read(self.table, &Key::Int(key)).map(|_| ()),
            2..4 => {
                let renames = thread_rng().gen_bool(0.3);
                let changed = txn.update(self.table, &Key::Int(key), &mut |row| {
                    if renames {
                        row.set(2, &code.map_or(Value::Null, Value::Int8));
                    }
                    Ok(())
                });
                changed.map(|_| ())
            }
            4 => txn.insert(self.table, self.row(key, code).as_ref()).map(|_| ()),
            5 => txn.delete(self.table, &Key::Int(key)).map(|_| ()),
            6 => {
                let lower = Bound::Included(Key::Int(key));
                txn.scan(
                    &Scan { lower, ..Scan::all(self.table, IndexRef::Primary) },
                    &mut |_| ControlFlow::Continue(()),
                )
            }
            _ => {
                let savepoint = txn.savepoint();
                let changed = txn.update(self.table, &Key::Int(key), &mut |_| Ok(()));
                if thread_rng().gen_bool(0.5) {
                    txn.insert(self.table, self.row(key, code).as_ref())?;
                }
                txn.rollback_to(savepoint);
                changed.map(|_| ())
            }
        }
    }

    /// Runs a few transactions of one client, with or without pauses between their calls.
    fn run(&self, levels: &[Isolation]) {
        let connect = || Recorder::new(Engine::transaction(&*self.engine, waiter()), &self.recording, "thread");
        let mut txn = connect();
        for _ in 0..2 {
            let level = *pick(levels);
            let concurrency = Some(*pick(&Concurrency::ALL));
            let done = txn.begin(&Begin { concurrency, ..Begin::at(level) }).and_then(|()| {
                for _ in 0..thread_rng().gen_range(1..4) {
                    self.step(&mut txn)?;
                    if thread_rng().gen_bool(0.3) {
                        txn.idle();
                    }
                }
                txn.commit()
            });
            if done.is_err() && thread_rng().gen_bool(0.2) {
                txn = connect();
            }
            txn.abort();
        }
    }
}

fn pick<T>(of: &[T]) -> &T {
    &of[thread_rng().gen_range(0..of.len())]
}

fn histories_are_isolated(levels: &'static [Isolation]) {
    check(move || {
        let scene = Arc::new(Scene::new());
        let client = |_| -> Box<dyn FnOnce() + Send> {
            let scene = scene.clone();
            Box::new(move || scene.run(levels))
        };
        together((0..3).map(client).collect());
        let history = scene.recording.history().clone();
        judge(&history).unwrap_or_else(|objection| panic!("{objection}"));
        let expected = final_versions(&history).expect("it was judged");
        assert_eq!(scene.recording.present(&*scene.engine, scene.table).expect("nobody is there"), expected);
        scene.engine.audit().expect("nobody is there");
    });
}

#[test]
fn serializable_histories_are() {
    histories_are_isolated(&[Isolation::Serializable]);
}

#[test]
fn each_transaction_has_what_its_level_promises() {
    histories_are_isolated(&Isolation::ALL);
}
