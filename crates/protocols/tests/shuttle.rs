//! Many random interleavings of whole transactions, under the engines that lock as they go:
//! `RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR=target/shuttle cargo test -p hotrow-protocols --test shuttle --release`.
//!
//! `HOTROW_MODEL_ITERATIONS` says how many interleavings of each model to try. A failure prints the schedule, which
//! `shuttle::replay` repeats. shuttle has no time, and reports a deadlock that nobody finds as one of its own.
//!
//! | broken | fails |
//! | --- | --- |
//! | a scan that has waited does not look again at the gaps above its range | `a_range_that_was_scanned_stays_as_it_was` |
//! | who releases a record does not undo what is dead there | `what_is_released_early_is_kept_or_undone_as_a_whole` |
#![cfg(shuttle)]

use hotrow_protocols::open;
use hotrow_storage::{Column, IndexRef, Key, Row, TableId, TableSchema, Type, Value};
use hotrow_sync::atomic::{AtomicI64, Ordering};
use hotrow_sync::{Arc, Waiter, thread};
use hotrow_txn::{Abort, Begin, Direction, Engine, Isolation, Scan, Transaction, Write};
use std::ops::{Bound, ControlFlow};
use std::time::Duration;

/// Tries a model with schedules of two kinds: equal chances at every step, and few switches at random places.
fn model(body: impl Fn() + Send + Sync + 'static) {
    let iterations = std::env::var("HOTROW_MODEL_ITERATIONS").ok();
    let iterations = iterations.map_or(300, |text| text.parse().expect("HOTROW_MODEL_ITERATIONS is a number"));
    let body = Arc::new(body);
    let same = body.clone();
    shuttle::check_random(move || same(), iterations);
    shuttle::check_pct(move || body(), iterations, 3);
}

/// A table of a key and a number, which is 0 at first.
struct World {
    engine: Arc<dyn Engine>,
    table: TableId,
}

impl World {
    fn new(engine: &str, keys: impl IntoIterator<Item = i64>) -> Arc<Self> {
        let engine = open(engine).expect("the engine is in the registry");
        let columns = vec![Column::new("key", Type::Int8), Column::new("number", Type::Int8)];
        let table = engine.create_table(TableSchema::new("numbers", columns, &[0]));
        let world = Self { engine, table };
        keys.into_iter().for_each(|key| world.engine.load(table, world.row(key).as_ref()).expect("the key is new"));
        Arc::new(world)
    }

    fn row(&self, key: i64) -> Row {
        Row::from_values(&self.engine.layout(self.table), &[Value::Int8(key), Value::Int8(0)])
    }

    /// Tries once. Whether it committed; else it was given up for what others do.
    fn attempt(&self, waiter: Waiter, work: impl Fn(&mut dyn Transaction) -> Result<(), Abort>) -> bool {
        let mut txn = self.engine.transaction(waiter);
        let begun = txn.begin(&Begin::at(Isolation::Serializable));
        match begun.and_then(|()| work(&mut *txn)).and_then(|()| txn.commit()) {
            Ok(()) => return true,
            Err(Abort::Deadlock | Abort::Cascade | Abort::Cancelled | Abort::User) => {}
            Err(other) => panic!("{other:?}"),
        }
        txn.abort();
        false
    }

    /// Tries until it has committed.
    fn run(&self, work: impl Fn(&mut dyn Transaction) -> Result<(), Abort>) {
        while !self.attempt(Waiter::thread(Duration::ZERO), &work) {}
    }

    fn insert(&self, txn: &mut dyn Transaction, key: i64) -> Result<(), Abort> {
        assert_eq!(txn.insert(self.table, self.row(key).as_ref())?, Write::Done);
        Ok(())
    }

    fn add(&self, txn: &mut dyn Transaction, key: i64, more: i64) -> Result<(), Abort> {
        let written = txn.update(self.table, &Key::Int(key), &mut |row| {
            let number = row.as_ref().int8(1) + more;
            row.set_int8(1, number);
            Ok(())
        });
        assert_eq!(written?, Write::Done);
        thread::yield_now();
        Ok(())
    }

    /// The keys from 1 to 3, as a walk in this direction finds them, sorted.
    fn keys(&self, txn: &mut dyn Transaction, direction: Direction) -> Result<Vec<i64>, Abort> {
        let [lower, upper] = [1, 3].map(|key| Bound::Included(Key::Int(key)));
        let mut found = Vec::new();
        txn.scan(&Scan { lower, upper, direction, ..Scan::all(self.table, IndexRef::Primary) }, &mut |row| {
            found.push(row.int8(0));
            ControlFlow::Continue(())
        })?;
        found.sort_unstable();
        Ok(found)
    }

    /// Nothing is left of any transaction.
    fn assert_at_rest(&self) {
        self.engine.audit().expect("the invariants hold");
        assert_eq!(self.engine.locks().map_or(0, |locks| locks.held + locks.waiting), 0, "locks are left");
    }
}

fn spawn(world: &Arc<World>, work: impl FnOnce(&World) + Send + 'static) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || work(&world))
}

/// Above the range one inserts a row and takes it back, and another one inserts a row below that, and then one in the
/// range.
#[test]
fn a_range_that_was_scanned_stays_as_it_was() {
    let directions = [Direction::Backward, Direction::Forward];
    for (engine, direction) in
        ["ilock", "1v", "2pl-waitfor", "sli"].into_iter().flat_map(|name| directions.map(|to| (name, to)))
    {
        model(move || {
            let world = World::new(engine, [2, 8]);
            let threads = [
                spawn(&world, move |world| {
                    world.run(|txn| {
                        let before = world.keys(txn, direction)?;
                        for _ in 0..20 {
                            thread::yield_now();
                        }
                        assert_eq!(world.keys(txn, direction)?, before, "a phantom");
                        Ok(())
                    });
                }),
                spawn(&world, |world| {
                    world.attempt(Waiter::thread(Duration::ZERO), |txn| {
                        world.insert(txn, 6)?;
                        thread::yield_now();
                        Err(Abort::User)
                    });
                }),
                spawn(&world, |world| [5, 3].iter().for_each(|&key| world.run(|txn| world.insert(txn, key)))),
            ];
            threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
            world.assert_at_rest();
            assert_eq!(world.engine.row_count(world.table), 4, "{engine}");
        });
    }
}

/// A world with two rows, of which the first is hot: one transaction has waited for it.
fn hot() -> Arc<World> {
    let world = World::new("ilock", [0, 1]);
    let waiter = Waiter::thread(Duration::ZERO);
    let mut holder = world.engine.transaction(Waiter::thread(Duration::ZERO));
    holder.begin(&Begin::at(Isolation::Serializable)).expect("it locks nothing to begin");
    world.add(&mut *holder, 0, 0).expect("nobody has the row");
    let waiting = {
        let (world, waiter) = (world.clone(), waiter.clone());
        thread::spawn(move || world.attempt(waiter, |txn| world.add(txn, 0, 0)))
    };
    while waiter.waits_since().is_none() {
        thread::yield_now();
    }
    holder.commit().expect("it follows nobody");
    assert!(waiting.join().expect("no panic"), "it commits");
    world
}

/// Each adds to a hot row, lets it go, and adds the same to another row. One takes it back at its end, one is cancelled
/// at any moment, and one is the victim of whatever comes.
#[test]
fn what_is_released_early_is_kept_or_undone_as_a_whole() {
    model(|| {
        let world = hot();
        let committed = Arc::new(AtomicI64::new(0));
        let waiters = [(); 3].map(|()| Waiter::thread(Duration::ZERO));
        let cancelled = waiters[1].clone();
        let mut threads: Vec<_> = (0..3)
            .zip(waiters)
            .map(|(number, waiter)| {
                let (committed, takes_back) = (committed.clone(), number == 0);
                let more = 10_i64.pow(number);
                spawn(&world, move |world| {
                    let work = |txn: &mut dyn Transaction| {
                        world.add(txn, 0, more)?;
                        txn.retire_writes();
                        txn.idle();
                        thread::yield_now();
                        world.add(txn, 1, more)?;
                        if takes_back { Err(Abort::User) } else { Ok(()) }
                    };
                    if world.attempt(waiter, work) {
                        committed.fetch_add(more, Ordering::AcqRel);
                    }
                })
            })
            .collect();
        threads.push(thread::spawn(move || cancelled.cancel()));
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
        world.assert_at_rest();
        let early = world.engine.early_release().expect("the engine has it");
        assert_eq!(early.released, 0, "all that was let go is committed or undone");
        let mut txn = world.engine.transaction(Waiter::thread(Duration::ZERO));
        txn.begin(&Begin::at(Isolation::Serializable)).expect("it locks nothing to begin");
        for key in [0, 1] {
            let row = txn.read(world.table, &Key::Int(key)).expect("nobody is there").expect("the row stays");
            assert_eq!(row.int8(1), committed.load(Ordering::Acquire), "row {key}");
        }
    });
}
