//! Random interleavings of whole transactions, under `--cfg shuttle`, with each engine of the family: one that is alone in the database
//! among planned ones, and scanners among inserters.

use crate::Instance;
use crate::vll::{Analysed, InVectors, Plain, Variant, Vll, VllConfig};
use hotrow_storage::{Column, IndexRef, Key, Row, TableId, TableSchema, Type, Value};
use hotrow_sync::{Arc, Waiter, thread};
use hotrow_txn::{
    Abort, Accesses, Begin, Duties, Engine, Intent, Isolation, RangeAccess, Scan, Transaction, WorkerId, Write,
};
use std::ops::{Bound, ControlFlow};
use std::time::Duration;

fn iterations() -> usize {
    std::env::var("HOTROW_MODEL_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// A table of a key and a number, with rows 0 and 1.
struct World<V: Variant> {
    instance: Arc<Instance<Vll<V>>>,
    table: TableId,
}

impl<V: Variant> World<V> {
    fn new() -> Arc<Self> {
        // Long enough for a machine that is busy with other things.
        let wait_limit = Duration::from_secs(3600);
        let instance = Instance::<Vll<V>>::new(VllConfig { wait_limit, ..VllConfig::default() });
        let columns = vec![Column::new("key", Type::Int8), Column::new("number", Type::Int8)];
        let table = instance.create_table(TableSchema::new("numbers", columns, &[0]));
        let world = Self { instance, table };
        [0, 1].iter().for_each(|&key| world.instance.load(table, world.row(key).as_ref()).expect("the key is new"));
        Arc::new(world)
    }

    fn row(&self, key: i64) -> Row {
        Row::from_values(&self.instance.layout(self.table), &[Value::Int8(key), Value::Int8(0)])
    }

    fn transaction(&self) -> Box<dyn Transaction> {
        Engine::transaction(&*self.instance, Waiter::thread(Duration::ZERO))
    }

    /// One of a worker that has settled: it may keep its locks until the next one.
    fn settled_transaction(&self) -> Box<dyn Transaction> {
        let waiter = Waiter::thread(Duration::ZERO);
        let mut worker = self.instance.worker(WorkerId(0));
        worker.settle(&waiter);
        Box::new(self.instance.transaction(&mut worker, waiter))
    }

    fn run(&self, accesses: Option<Accesses>, work: impl Fn(&mut dyn Transaction) -> Result<(), Abort>) {
        self.run_on(&mut *self.transaction(), accesses, work);
    }

    /// A transaction from its beginning to its commit; again, with what was missing, if it leaves its accesses.
    fn run_on(
        &self,
        txn: &mut dyn Transaction,
        mut accesses: Option<Accesses>,
        work: impl Fn(&mut dyn Transaction) -> Result<(), Abort>,
    ) {
        loop {
            let begun = txn.begin(&Begin { accesses: accesses.as_ref(), ..Begin::at(Isolation::Serializable) });
            match begun.and_then(|()| work(txn)).and_then(|()| txn.commit()) {
                Ok(()) => return,
                Err(Abort::OutsidePlan) => accesses.iter_mut().for_each(|accesses| txn.add_missing(accesses)),
                Err(other) => panic!("{other:?}"),
            }
            txn.abort();
        }
    }

    fn number(&self, txn: &mut dyn Transaction, key: i64) -> Result<Option<i64>, Abort> {
        Ok(txn.read(self.table, &Key::Int(key))?.map(|row| row.int8(1)))
    }

    /// Adds one to rows 0 and 1, which are the same before and after; inserts a row, and deletes it.
    fn add(&self, txn: &mut dyn Transaction) -> Result<(), Abort> {
        assert_eq!(self.number(txn, 9)?, None, "what is inserted here is never committed");
        let before = self.number(txn, 0)?.expect("row 0 stays");
        thread::yield_now();
        assert_eq!(self.number(txn, 1)?, Some(before));
        for key in [0, 1] {
            let set = |row: &mut hotrow_storage::RowMut<'_>| {
                row.set_int8(1, before + 1);
                Ok(())
            };
            assert_eq!(txn.update(self.table, &Key::Int(key), &mut { set })?, Write::Done);
            thread::yield_now();
        }
        assert_eq!(txn.insert(self.table, self.row(9).as_ref())?, Write::Done);
        assert_eq!(txn.delete(self.table, &Key::Int(9))?, Write::Done);
        Ok(())
    }

    /// Rows 0 and 1 have this number, and there are so many rows.
    fn assert_at_rest(&self, number: i64, rows: u64) {
        self.instance.audit().expect("the invariants hold");
        assert_eq!(self.instance.row_count(self.table), rows, "no record is left that has no row");
        self.run(None, |txn| {
            [0, 1].iter().try_for_each(|&key| self.number(txn, key).map(|found| assert_eq!(found, Some(number))))
        });
    }
}

fn alone<V: Variant>() {
    let model = || {
        let world = World::<V>::new();
        let threads = [true, true, false].map(|is_planned| {
            let world = world.clone();
            thread::spawn(move || {
                let mut accesses = Accesses::new();
                [0, 1, 9].iter().for_each(|&key| accesses.push(world.table, Key::Int(key), Intent::Write));
                let accesses = is_planned.then_some(accesses);
                (0..2).for_each(|_| world.run(accesses.clone(), |txn| world.add(txn)));
            })
        });
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
        world.assert_at_rest(6, 2);
    };
    shuttle::check_random(model, iterations());
}

/// One that is alone among planned ones that keep their locks from one transaction to the next, as long as there is a next one.
fn kept<V: Variant>() {
    let model = || {
        let world = World::<V>::new();
        let planned = || {
            let world = world.clone();
            thread::spawn(move || {
                let mut accesses = Accesses::new();
                [0, 1, 9].iter().for_each(|&key| accesses.push(world.table, Key::Int(key), Intent::Write));
                let mut rows = Accesses::new();
                [0, 1].iter().for_each(|&key| rows.push(world.table, Key::Int(key), Intent::Write));
                let mut txn = world.settled_transaction();
                let read = |txn: &mut dyn Transaction| {
                    let before = world.number(txn, 0)?;
                    thread::yield_now();
                    world.number(txn, 1).map(|number| assert_eq!(number, before))
                };
                world.run_on(&mut *txn, Some(rows.clone()), read);
                world.run_on(&mut *txn, Some(accesses), |txn| world.add(txn));
                world.run_on(&mut *txn, Some(rows), read);
                txn.idle();
            })
        };
        let alone = {
            let world = world.clone();
            thread::spawn(move || world.run(None, |txn| world.add(txn)))
        };
        let threads = [planned(), planned(), alone];
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
        world.assert_at_rest(3, 2);
    };
    shuttle::check_random(model, iterations());
}

fn phantoms<V: Variant>() {
    let model = || {
        let world = World::<V>::new();
        let insert = |pair: [i64; 2]| {
            let world = world.clone();
            thread::spawn(move || {
                let mut accesses = Accesses::new();
                pair.iter().for_each(|&key| accesses.push(world.table, Key::Int(key), Intent::Write));
                world.run(Some(accesses), |txn| {
                    pair.iter().try_for_each(|&key| {
                        assert_eq!(txn.insert(world.table, world.row(key).as_ref())?, Write::Done);
                        thread::yield_now();
                        Ok(())
                    })
                });
            })
        };
        let scan = || {
            let world = world.clone();
            thread::spawn(move || {
                let (table, index) = (world.table, IndexRef::Primary);
                let (lower, upper) = (Bound::Included(Key::Int(2)), Bound::Excluded(Key::Int(20)));
                let mut accesses = Accesses::new();
                let (from, to) = (lower.clone(), upper.clone());
                accesses.push_range(RangeAccess { table, index, lower: from, upper: to, intent: Intent::Read });
                let range = Scan { lower, upper, ..Scan::all(table, index) };
                let keys = |txn: &mut dyn Transaction| {
                    let mut found = Vec::new();
                    txn.scan(&range, &mut |row| {
                        found.push(row.int8(0));
                        ControlFlow::Continue(())
                    })?;
                    Ok(found)
                };
                world.run(Some(accesses), |txn| {
                    let before = keys(txn)?;
                    assert!(
                        ["[]", "[4, 12]", "[5, 13]", "[4, 5, 12, 13]"].contains(&&*format!("{before:?}")),
                        "{before:?}"
                    );
                    thread::yield_now();
                    assert_eq!(keys(txn)?, before, "a phantom");
                    Ok(())
                });
            })
        };
        let threads = [scan(), insert([4, 12]), scan(), insert([13, 5])];
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
        world.assert_at_rest(0, 6);
    };
    shuttle::check_random(model, iterations());
}

fn each_engine(check: [fn(); 3]) {
    check.into_iter().for_each(|check| check());
}

#[test]
fn one_that_is_alone_is_alone_among_planned_ones() {
    each_engine([alone::<Plain>, alone::<Analysed>, alone::<InVectors>]);
}

#[test]
fn one_that_is_alone_is_alone_among_those_who_keep_their_locks() {
    each_engine([kept::<Plain>, kept::<Analysed>, kept::<InVectors>]);
}

#[test]
fn scanners_see_all_that_an_inserter_brings_or_nothing_and_no_phantoms() {
    each_engine([phantoms::<Plain>, phantoms::<Analysed>, phantoms::<InVectors>]);
}
