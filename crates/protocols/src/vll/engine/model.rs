//! Random interleavings of whole transactions, under `--cfg shuttle`, with each engine of the family: a transaction
//! that is alone in the database among planned ones, scanners among inserters, inserters that learn their keys as they
//! run, and transactions that keep their locks among transactions that delete.

use crate::Instance;
use crate::vll::{Analysed, InVectors, Plain, Variant, Vll, VllConfig};
use hotrow_storage::{Column, IndexRef, Key, Row, RowMut, TableId, TableSchema, Type, Value};
use hotrow_sync::{Arc, Waiter, thread};
use hotrow_txn::{
    Abort, Accesses, Begin, Duties, Engine, Inspection, Intent, Isolation, RangeAccess, Scan, Transaction, WorkerId,
    Write,
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

    /// Returns a transaction object of a worker that has settled: it may keep its locks until the next transaction.
    fn settled_transaction(&self) -> Box<dyn Transaction> {
        let waiter = Waiter::thread(Duration::ZERO);
        let mut worker = self.instance.worker(WorkerId(0));
        worker.settle(&waiter);
        Box::new(self.instance.transaction(&mut worker, waiter))
    }

    fn run(&self, accesses: Option<Accesses>, work: impl Fn(&mut dyn Transaction) -> Result<(), Abort>) {
        self.run_on(&mut *self.transaction(), accesses, work);
    }

    /// Runs a transaction from its beginning to its commit. If it leaves its accesses, it is run again with those that
    /// were missing.
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
            self.set(txn, key, before + 1)?;
        }
        assert_eq!(txn.insert(self.table, self.row(9).as_ref())?, Write::Done);
        assert_eq!(txn.delete(self.table, &Key::Int(9))?, Write::Done);
        Ok(())
    }

    fn accesses(&self, keys: [i64; 2], intent: Intent) -> Accesses {
        let mut accesses = Accesses::new();
        keys.iter().for_each(|&key| accesses.push(self.table, Key::Int(key), intent));
        accesses
    }

    fn set(&self, txn: &mut dyn Transaction, key: i64, number: i64) -> Result<(), Abort> {
        let set = &mut |row: &mut RowMut<'_>| {
            row.set_int8(1, number);
            Ok(())
        };
        assert_eq!(txn.update(self.table, &Key::Int(key), set)?, Write::Done);
        thread::yield_now();
        Ok(())
    }

    /// Adds one to rows 0 and 1, and inserts two rows whose keys follow from what was there. They get the number 1
    /// afterwards.
    fn draw(&self, txn: &mut dyn Transaction) -> Result<(), Abort> {
        let before = self.number(txn, 0)?.expect("row 0 stays");
        [0, 1].iter().try_for_each(|&key| self.set(txn, key, before + 1))?;
        let keys = [10, 11].map(|key| key + 2 * before);
        for key in keys {
            assert_eq!(txn.insert(self.table, self.row(key).as_ref())?, Write::Done);
            thread::yield_now();
        }
        keys.iter().try_for_each(|&key| self.set(txn, key, 1))
    }

    /// Inserts a row, if that can be done without a wait, and rolls back.
    fn take_back(&self, key: i64) {
        let mut txn = self.transaction();
        let accesses = Accesses::new();
        txn.begin(&Begin { accesses: Some(&accesses), ..Begin::at(Isolation::Serializable) })
            .expect("it asks for nothing");
        let inserted = txn.insert(self.table, self.row(key).as_ref());
        assert!(
            matches!(inserted, Ok(Write::Done | Write::Duplicate(IndexRef::Primary)) | Err(Abort::OutsidePlan)),
            "{inserted:?}"
        );
        thread::yield_now();
        txn.abort();
    }

    /// Asserts that two rows, which come together and have the number 1, stay as they are: `look` returns their
    /// numbers.
    fn assert_stable_pair(&self, mut look: impl FnMut() -> Result<[Option<i64>; 2], Abort>) -> Result<(), Abort> {
        let before = look()?;
        assert!([[None; 2], [Some(1); 2]].contains(&before), "{before:?}");
        thread::yield_now();
        assert_eq!(look()?, before, "they have changed");
        Ok(())
    }

    /// Asserts that rows 0 and 1 have this number, and that there are so many rows.
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

/// A transaction that is alone runs among planned ones that keep their locks from one transaction to the next, as long
/// as there is a next one.
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
                    Ok::<_, Abort>(found)
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

/// A transaction draws the keys of two rows from row 0, and inserts them. Another one inserts the first of them too,
/// and rolls back. A transaction that reads both by their keys, or in their range, finds both as they were committed,
/// or neither.
fn made<V: Variant>() {
    let model = || {
        let world = World::<V>::new();
        let spawn = |work: fn(&World<V>)| {
            let world = world.clone();
            thread::spawn(move || work(&world))
        };
        let threads = [
            spawn(|world| world.run(Some(world.accesses([0, 1], Intent::Write)), |txn| world.draw(txn))),
            spawn(|world| world.take_back(10)),
            spawn(|world| {
                world.run(Some(world.accesses([10, 11], Intent::Read)), |txn| {
                    world.assert_stable_pair(|| Ok([world.number(txn, 10)?, world.number(txn, 11)?]))
                });
            }),
            spawn(|world| {
                let (table, index) = (world.table, IndexRef::Primary);
                let [lower, upper] = [10, 11].map(|key| Bound::Included(Key::Int(key)));
                let range = Scan { lower: lower.clone(), upper: upper.clone(), ..Scan::all(table, index) };
                let mut accesses = Accesses::new();
                accesses.push_range(RangeAccess { table, index, lower, upper, intent: Intent::Read });
                world.run(Some(accesses), |txn| {
                    world.assert_stable_pair(|| {
                        let mut found = [None; 2];
                        txn.scan(&range, &mut |row| {
                            found[row.int8(0) as usize - 10] = Some(row.int8(1));
                            ControlFlow::Continue(())
                        })?;
                        Ok(found)
                    })
                });
            }),
        ];
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
        world.assert_at_rest(1, 4);
    };
    shuttle::check_random(model, iterations());
    shuttle::check_pct(model, iterations(), 3);
}

/// A worker goes from one transaction to the next, and other transactions delete the rows that it has used, and insert
/// them again.
fn deleted<V: Variant>() {
    let model = || {
        let world = World::<V>::new();
        let worker = {
            let world = world.clone();
            thread::spawn(move || {
                let mut txn = world.settled_transaction();
                for keys in [[0, 7], [1, 1], [0, 1]] {
                    let accesses = world.accesses(keys, Intent::Write);
                    world.run_on(&mut *txn, Some(accesses), |txn| world.number(txn, keys[0]).map(drop));
                }
                txn.idle();
            })
        };
        let replacer = |key: i64| {
            let world = world.clone();
            thread::spawn(move || {
                let accesses = world.accesses([key, key], Intent::Write);
                world.run(Some(accesses.clone()), |txn| txn.delete(world.table, &Key::Int(key)).map(drop));
                let insert = |txn: &mut dyn Transaction| {
                    assert_eq!(txn.insert(world.table, world.row(key).as_ref())?, Write::Done);
                    Ok(())
                };
                world.run(Some(accesses), insert);
            })
        };
        let threads = [worker, replacer(0), replacer(1)];
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
        world.assert_at_rest(0, 2);
    };
    shuttle::check_random(model, iterations());
    shuttle::check_pct(model, iterations(), 3);
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
fn rows_that_were_not_planned_are_inserted_alone_or_not_at_all() {
    each_engine([made::<Plain>, made::<Analysed>, made::<InVectors>]);
}

#[test]
fn what_is_kept_of_a_row_that_others_delete_is_given_back() {
    each_engine([deleted::<Plain>, deleted::<Analysed>, deleted::<InVectors>]);
}

#[test]
fn scanners_see_all_that_an_inserter_brings_or_nothing_and_no_phantoms() {
    each_engine([phantoms::<Plain>, phantoms::<Analysed>, phantoms::<InVectors>]);
}
