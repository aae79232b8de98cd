//! Tests of the hierarchy, of escalation and of inheritance, and a stress test of all of them.

mod escalation;
mod inheritance;
mod stress;

use super::higher::Place;
use super::{Hierarchical, HierarchyConfig, Variant};
use crate::Instance;
use hotrow_storage::{Column, IndexRef, Key, Row, TableId, TableSchema, Type, Value};
use hotrow_sync::{Arc, Waiter, thread};
use hotrow_txn::{
    Abort, Begin, Engine, HierarchyStatistics, Inspection, Isolation, LockPart, LockTarget, Scan, Transaction,
    WorkerId, Write,
};
use std::ops::{ControlFlow, Range};
use std::time::Duration;

/// The keys of a table: 0 to 63.
const KEYS: i64 = 64;

/// A database with two ordered tables of a key and a number, which is zero.
struct World<V: Variant> {
    instance: Arc<Instance<Hierarchical<V>>>,
    tables: [TableId; 2],
}

/// A transaction object of a world.
type Txn<V> = super::HierarchicalTransaction<V>;

impl<V: Variant> World<V> {
    fn new(config: HierarchyConfig) -> Self {
        let instance = Instance::new(config);
        let tables = ["t", "u"].map(|name| {
            let columns = vec![Column::new("id", Type::Int8), Column::new("number", Type::Int8)];
            instance.create_table(TableSchema { ordered: true, ..TableSchema::new(name, columns, &[0]) })
        });
        let world = Self { instance, tables };
        for (table, key) in tables.iter().flat_map(|&table| (0..KEYS).map(move |key| (table, key))) {
            world.instance.load(table, world.row(key).as_ref()).expect("the keys differ");
        }
        world
    }

    fn row(&self, key: i64) -> Row {
        Row::from_values(&self.instance.layout(self.tables[0]), &[Value::Int8(key), Value::Int8(0)])
    }

    /// Makes a transaction object, and begins a transaction whose waits fail soon.
    fn begin(&self) -> Txn<V> {
        let mut txn = self.idle();
        txn.begin(&Begin::at(Isolation::Serializable)).expect("it begins");
        txn
    }

    /// Makes a transaction object whose waits fail soon.
    fn idle(&self) -> Txn<V> {
        let waiter = Waiter::thread(Duration::ZERO);
        waiter.set_lock_timeout(Some(Duration::from_millis(20)));
        self.instance.transaction(&mut self.instance.worker(WorkerId(0)), waiter)
    }

    /// Reads a row of the first table.
    fn read(&self, txn: &mut Txn<V>, key: i64) -> Result<Option<i64>, Abort> {
        Ok(txn.read(self.tables[0], &Key::Int(key))?.map(|row| row.int8(1)))
    }

    /// Adds one to a row of the first table.
    fn add(&self, txn: &mut Txn<V>, key: i64) -> Result<Write, Abort> {
        txn.update(self.tables[0], &Key::Int(key), &mut |row| {
            let number = row.as_ref().int8(1);
            row.set_int8(1, number + 1);
            Ok(())
        })
    }

    /// Reads rows of the first table. Nothing is in the way.
    fn read_all(&self, txn: &mut Txn<V>, keys: Range<i64>) {
        for key in keys {
            self.read(txn, key).expect("nothing is in the way");
        }
    }

    /// Adds one to rows of the first table. Nothing is in the way.
    fn add_all(&self, txn: &mut Txn<V>, keys: Range<i64>) {
        for key in keys {
            assert_eq!(self.add(txn, key), Ok(Write::Done));
        }
    }

    /// Returns the sum of all numbers of the first table, by a scan.
    fn sum(&self, txn: &mut Txn<V>) -> Result<i64, Abort> {
        let mut sum = 0;
        txn.scan(&Scan::all(self.tables[0], IndexRef::Primary), &mut |row| {
            sum += row.int8(1);
            ControlFlow::Continue(())
        })?;
        Ok(sum)
    }

    /// Returns the node of the first table.
    fn table(&self) -> Place {
        Place::table(self.tables[0])
    }

    /// Returns the number of locks that transactions hold.
    fn held(&self) -> usize {
        self.instance.protocol().manager.usage().0
    }

    /// Asserts that no transaction holds a lock or waits for one.
    fn assert_at_rest(&self) {
        assert_eq!(self.instance.audit(), Ok(()));
        assert_eq!(self.instance.protocol().manager.usage(), (0, 0));
    }
}

fn counts<V: Variant>(txn: &mut Txn<V>) -> HierarchyStatistics {
    txn.statistics().hierarchy
}

#[test]
fn a_row_is_locked_after_the_nodes_above_it() {
    let world = World::<super::Released>::new(HierarchyConfig::default());
    let mut txn = world.begin();
    world.add(&mut txn, 3).expect("nothing is in the way");
    let counted = counts(&mut txn);
    assert_eq!((counted.databases, counted.tables, counted.pages, txn.statistics().locks), (1, 1, 1, 4));
    world.add(&mut txn, 3).expect("it has the row");
    assert_eq!((txn.statistics().locks, world.held()), (4, 4));
    // Another row needs one lock more, and writing a row that was read needs no other nodes.
    world.read(&mut txn, 4).expect("nothing is in the way");
    world.add(&mut txn, 4).expect("nothing is in the way");
    assert_eq!((txn.statistics().locks, world.held()), (6, 5));
    txn.commit().expect("it commits");
    world.assert_at_rest();
}

#[test]
fn reading_before_writing_converts_all_intention_locks() {
    let world = World::<super::Released>::new(HierarchyConfig::default());
    let mut txn = world.begin();
    world.read(&mut txn, 3).expect("nothing is in the way");
    world.add(&mut txn, 4).expect("nothing is in the way");
    let counted = counts(&mut txn);
    assert_eq!((counted.databases, counted.tables, counted.pages), (2, 2, 2));
    assert_eq!(world.held(), 5);
    txn.abort();
    world.assert_at_rest();
}

#[test]
fn rows_for_update_can_be_read_by_others_until_they_are_updated() {
    let world = World::<super::Released>::new(HierarchyConfig::default());
    let (mut txn, mut reader, mut other) = (world.begin(), world.begin(), world.begin());
    txn.read_for_update(world.tables[0], &Key::Int(3)).expect("nothing is in the way");
    assert_eq!(world.read(&mut reader, 3), Ok(Some(0)));
    assert_eq!(other.read_for_update(world.tables[0], &Key::Int(3)).err(), Some(Abort::Timeout));
    other.abort();
    assert_eq!(world.add(&mut txn, 3).err(), Some(Abort::Timeout), "it waits for the reader");
    reader.commit().expect("it commits");
    assert_eq!(world.add(&mut txn, 3), Ok(Write::Done));
    txn.commit().expect("it commits");
    world.assert_at_rest();
}

#[test]
fn the_first_to_read_for_update_is_the_first_to_update() {
    let world = World::<super::Released>::new(HierarchyConfig::default());
    let mut holder = world.begin();
    world.read(&mut holder, 5).expect("nothing is in the way");
    let mut txn = world.begin();
    let scan = Scan { lock: hotrow_txn::LockFor::Update, ..Scan::all(world.tables[0], IndexRef::Primary) };
    txn.scan(&scan, &mut |_| ControlFlow::Continue(())).expect("readers are not in the way");
    holder.commit().expect("it commits");
    assert_eq!(world.add(&mut txn, 5), Ok(Write::Done));
    txn.commit().expect("it commits");
    world.assert_at_rest();
}

#[test]
fn a_wait_for_a_page_is_reported_with_its_level_and_mode() {
    let config = HierarchyConfig { escalation: 4, ..HierarchyConfig::default() };
    let world = World::<super::Released>::new(config);
    let mut holder = world.begin();
    world.read_all(&mut holder, 0..4);
    let waits = thread::scope(|scope| {
        let (world, waiter) = (&world, Waiter::thread(Duration::ZERO));
        let writer = scope.spawn({
            let waiter = waiter.clone();
            move || {
                let mut txn = world.instance.transaction(&mut world.instance.worker(WorkerId(0)), waiter);
                txn.begin(&Begin { label: 7, ..Begin::at(Isolation::Serializable) }).expect("it begins");
                assert_eq!(world.add(&mut txn, 9).err(), Some(Abort::Cancelled));
                txn.abort();
            }
        });
        let waits = loop {
            let waits = world.instance.lock_waits();
            if !waits.is_empty() {
                break waits;
            }
            thread::yield_now();
        };
        waiter.cancel();
        writer.join().expect("the writer ends");
        waits
    });
    let [wait] = &waits[..] else { panic!("{waits:?}") };
    assert_eq!((wait.waiter, wait.mode), (7, "intention exclusive"));
    assert!(matches!(wait.target, LockTarget::Table { part: LockPart::Page(_), .. }), "{wait:?}");
    assert_eq!(wait.holders, [(0, "shared")]);
    holder.commit().expect("it commits");
    world.assert_at_rest();
}
