//! Tests of messages, withdrawals, late locks and roles, with concurrency-control threads and without, and of the
//! settings that are refused.

use super::table::LockTable;
use super::testing::Thread;
use super::{CcThreads, OneTable, Orthrus, OrthrusConfig, Owning, Split, Variant};
use crate::Instance;
use hotrow_storage::{
    Column, IndexId, IndexKind, IndexRef, IndexSchema, Key, KeySpec, Row, RowMut, TableId, TableSchema, Type, Value,
};
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Doorbell, Waiter, thread};
use hotrow_txn::{
    Abort, Accesses, Begin, Duties, Engine, Inspection, Intent, Planned as _, Protocol, RangeAccess, Settings,
    Transaction, WorkerId, Write,
};
use std::ops::Bound;
use std::time::Duration;

const PARTS: usize = 3;

/// A large key, of the first part. Its lower 16 bits are those of a key of another part.
const LARGE: i64 = 1 << 16 | 2;

/// A database with a partitioned table of the keys 0 to 11 and [`LARGE`], whose lock table has three parts: key `k` is
/// in part `k mod 3`.
struct World<V: Variant> {
    instance: Arc<Instance<Orthrus<V>>>,
    table: TableId,
}

impl<V: Variant> World<V> {
    fn new() -> Self {
        // Worker 0 executes transactions, and workers 1 to 3 do concurrency control.
        let cc_threads = CcThreads::Fixed(PARTS);
        let wait_limit = Duration::from_secs(3600);
        let instance = Instance::new(OrthrusConfig { workers: PARTS + 1, cc_threads, wait_limit });
        let columns = vec![Column::new("id", Type::Int8), Column::new("amount", Type::Int8)];
        let table = instance.create_table(TableSchema { partitioned: true, ..TableSchema::new("t", columns, &[0]) });
        let world = Self { instance, table };
        (0..12)
            .chain([LARGE])
            .for_each(|id| world.instance.load(table, world.row(id).as_ref()).expect("the keys differ"));
        world
    }

    fn row(&self, id: i64) -> Row {
        Row::from_values(&self.instance.layout(self.table), &[Value::Int8(id), Value::Int8(0)])
    }

    fn accesses(&self, keys: &[i64]) -> Accesses {
        let mut accesses = Accesses::new();
        keys.iter().for_each(|&key| accesses.push(self.table, Key::Int(key), Intent::Write));
        accesses
    }

    /// Makes a transaction object of worker 0 that waits through `waiter`.
    fn transaction(&self, waiter: &Waiter) -> impl Transaction + use<V> {
        self.instance.transaction(&mut self.instance.worker(WorkerId(0)), waiter.clone())
    }

    fn begin(&self, txn: &mut impl Transaction, keys: &[i64]) -> Result<(), Abort> {
        txn.begin(&Begin { accesses: Some(&self.accesses(keys)), ..Begin::default() })
    }

    fn add_one(&self, txn: &mut impl Transaction, key: i64) {
        let updated = txn.update(self.table, &Key::Int(key), &mut |row: &mut RowMut<'_>| {
            let amount = row.as_ref().value(1).as_int().expect("an integer");
            row.set_int8(1, amount + 1);
            Ok(())
        });
        assert_eq!(updated, Ok(Write::Done), "key {key}");
    }

    /// Runs a transaction that adds one to each of these rows.
    fn run(&self, txn: &mut impl Transaction, keys: &[i64]) {
        self.begin(txn, keys).expect("it gets its locks");
        keys.iter().for_each(|&key| self.add_one(txn, key));
        txn.commit().expect("nothing is in its way");
    }

    /// Calls `work`, once without concurrency-control threads, and once with three of them.
    fn both_ways(work: impl Fn(&Self, bool)) {
        work(&Self::new(), false);
        let world = Self::new();
        world.attended(|world| work(world, true));
    }

    /// Calls `work` while three threads do concurrency control. They sleep when they have nothing to do.
    fn attended(&self, work: impl FnOnce(&Self)) {
        let stop = AtomicBool::new(false);
        let bells: Vec<_> = (0..PARTS).map(|_| Arc::new(Doorbell::new(Waiter::thread(Duration::ZERO)))).collect();
        thread::scope(|scope| {
            for (number, bell) in bells.iter().enumerate() {
                let (stop, instance) = (&stop, &self.instance);
                scope.spawn(move || {
                    let mut worker = instance.worker(WorkerId(number as u32 + 1));
                    worker.settle(&Waiter::new(bell.clone()));
                    while !stop.load(Ordering::Acquire) {
                        if !worker.receive() && worker.doze() {
                            bell.listen(None);
                        }
                        worker.rouse();
                    }
                    worker.leave();
                });
            }
            while !(0..PARTS).all(|part| self.is_settled(part)) {
                thread::yield_now();
            }
            work(self);
            stop.store(true, Ordering::Release);
            bells.iter().for_each(|bell| bell.call());
        });
    }

    fn is_settled(&self, part: usize) -> bool {
        let look = self.instance.protocol().parts.glance(super::id::PartId(part as u16), 0, || ());
        look.is_none()
    }

    /// Checks that the queues hold this number of requests after all messages have been acted upon. No thread has
    /// settled.
    fn has_requests(&self, expected: usize) {
        assert_eq!(self.instance.audit(), Ok(()));
        assert_eq!(self.instance.protocol().parts.usage().1, expected);
    }
}

fn every_variant(work: impl Fn(&dyn Case)) {
    work(&CaseOf::<Owning>::default());
    work(&CaseOf::<Split>::default());
    work(&CaseOf::<OneTable>::default());
}

/// The cases that each engine of the family passes.
trait Case {
    fn messages(&self);
    fn messages_over_rings(&self);
    fn withdrawals(&self);
    fn late_locks(&self);
    fn announced_rows(&self);
}

struct CaseOf<V>(std::marker::PhantomData<V>);

impl<V> Default for CaseOf<V> {
    fn default() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<V: Variant> CaseOf<V> {
    /// Returns the number of parts that a request visits, if its locks belong to this number of parts.
    fn visited(parts: u64) -> u64 {
        if <V::Table as LockTable>::IS_SHARED { parts.min(1) } else { parts }
    }

    /// Returns the number of messages that carry such a request: one to each part that it visits, and one back.
    fn expected(parts: u64) -> u64 {
        if parts == 0 { 0 } else { Self::visited(parts) + 1 }
    }
}

impl<V: Variant> Case for CaseOf<V> {
    /// A request that visits n parts takes n + 1 messages.
    fn messages(&self) {
        World::<V>::both_ways(|world, _| {
            let waiter = Waiter::thread(Duration::ZERO);
            let mut txn = world.transaction(&waiter);
            world.run(&mut txn, &[0, 1, 2]);
            assert_eq!(txn.statistics().waits, 0, "a wait for messages alone does not count");
            for (keys, parts) in [(&[0][..], 1), (&[3, LARGE, 0], 1), (&[2, 1], 2), (&[5, 0, 1, 2], 3), (&[], 0)] {
                let before = txn.statistics().messages;
                world.run(&mut txn, keys);
                assert_eq!(txn.statistics().messages - before, Self::expected(parts), "keys {keys:?}");
            }
        });
    }

    /// If the thread of a transaction has a port, all messages go over rings, and there are no others.
    fn messages_over_rings(&self) {
        let world = World::<V>::new();
        let mut expected = 0;
        world.attended(|world| {
            let (thread, waiter) = Thread::new(world.instance.worker(WorkerId(0)));
            let mut txn = thread.with(|worker| world.instance.transaction(worker, waiter));
            thread.with(|worker| worker.settle(&thread.parking()));
            for (keys, parts) in [(&[0][..], 1), (&[3, LARGE, 0], 1), (&[2, 1], 2), (&[5, 0, 1, 2], 3), (&[], 0)] {
                let before = txn.statistics().messages;
                world.run(&mut txn, keys);
                assert_eq!(txn.statistics().messages - before, Self::expected(parts), "keys {keys:?}");
                // It gives its locks back with one message to each part.
                expected += Self::expected(parts) + Self::visited(parts);
            }
            thread.with(Duties::leave);
        });
        assert_eq!(world.instance.protocol().parts.sent_over_rings() as u64, expected);
    }

    /// A transaction that gives up while it waits in the second of three parts leaves nothing behind.
    fn withdrawals(&self) {
        let world = World::<V>::new();
        let act = |world: &World<V>| {
            let waiter = Waiter::thread(Duration::ZERO);
            let mut holder = world.transaction(&waiter);
            world.begin(&mut holder, &[1]).expect("nobody else is there");
            let patient = Waiter::thread(Duration::ZERO);
            let mut waiting = world.transaction(&patient);
            let limit = Some(Duration::from_millis(5));
            let accesses = world.accesses(&[0, 1, 2]);
            for _ in 0..2 {
                patient.set_lock_timeout(limit);
                let begun = waiting.begin(&Begin { accesses: Some(&accesses), ..Begin::default() });
                assert_eq!(begun, Err(Abort::Timeout));
                waiting.abort();
            }
            // Neither its locks nor its requests keep others waiting.
            assert_eq!(waiting.statistics().waits, 2);
            let mut other = world.transaction(&Waiter::thread(Duration::ZERO));
            world.run(&mut other, &[0, 2]);
            holder.commit().expect("nothing is in its way");
            patient.set_lock_timeout(None);
            world.run(&mut waiting, &[0, 1, 2]);
        };
        act(&world);
        world.has_requests(0);
        world.attended(act);
        world.has_requests(0);
    }

    /// A running transaction gets a lock beside its plan if the lock is free. It gets no lock that another transaction
    /// has.
    fn late_locks(&self) {
        let world = World::<V>::new();
        let act = |world: &World<V>, new: i64| {
            let [mut one, mut other] = [(); 2].map(|()| world.transaction(&Waiter::thread(Duration::ZERO)));
            world.begin(&mut one, &[0]).expect("nobody else is there");
            world.begin(&mut other, &[new + 1]).expect("nobody else is there");
            assert_eq!(one.insert(world.table, world.row(new).as_ref()), Ok(Write::Done));
            let refused = one.insert(world.table, world.row(new + 1).as_ref());
            assert!(matches!(refused, Err(Abort::OutsidePlan | Abort::Conflict)), "{refused:?}");
            one.abort();
            assert_eq!(other.insert(world.table, world.row(new + 1).as_ref()), Ok(Write::Done));
            other.commit().expect("nothing is in its way");
        };
        act(&world, 100);
        world.has_requests(0);
        world.attended(|world| act(world, 200));
        world.has_requests(0);
    }

    /// A transaction asks each part once for the locks of all rows that it announces. Otherwise it asks once for each
    /// row.
    fn announced_rows(&self) {
        let rows = 100..110;
        let sent = |announces: bool| {
            let world = World::<V>::new();
            world.attended(|world| {
                let (thread, waiter) = Thread::new(world.instance.worker(WorkerId(0)));
                let mut txn = thread.with(|worker| world.instance.transaction(worker, waiter));
                thread.with(|worker| worker.settle(&thread.parking()));
                world.begin(&mut txn, &[0, 1, 2]).expect("nobody else is there");
                if announces {
                    txn.announce(&mut |accesses| {
                        rows.clone().for_each(|row| accesses.push(world.table, Key::Int(row), Intent::Write));
                    });
                }
                for row in rows.clone() {
                    assert_eq!(txn.insert(world.table, world.row(row).as_ref()), Ok(Write::Done));
                }
                txn.commit().expect("nothing is in its way");
                thread.with(Duties::leave);
            });
            world.has_requests(0);
            world.instance.protocol().parts.sent_over_rings()
        };
        let (one_by_one, announced) = (sent(false), sent(true));
        let fewest = rows.clone().count() - PARTS;
        assert!(announced + fewest <= one_by_one, "{announced} messages instead of {one_by_one}");
    }
}

#[test]
fn a_request_takes_a_message_to_each_part_and_one_back() {
    every_variant(|case| {
        case.messages();
        case.messages_over_rings();
    });
}

#[test]
fn a_transaction_that_gives_up_leaves_nothing_behind() {
    every_variant(|case| case.withdrawals());
}

#[test]
fn a_late_lock_is_granted_at_once_or_not() {
    every_variant(|case| case.late_locks());
}

#[test]
fn a_wait_for_another_transaction_counts() {
    let world = World::<Owning>::new();
    let mut holder = world.transaction(&Waiter::thread(Duration::ZERO));
    world.begin(&mut holder, &[1]).expect("nobody else is there");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut txn = world.transaction(&Waiter::thread(Duration::ZERO));
            world.run(&mut txn, &[1]);
            txn.statistics().waits
        });
        while world.instance.protocol().parts.usage().1 < 2 {
            thread::yield_now();
        }
        holder.commit().expect("nothing is in its way");
        assert_eq!(waiting.join().expect("no panic"), 1);
    });
}

#[test]
fn waits_are_ignored_if_threads_share_cores() {
    let cores = hotrow_sync::cores();
    for (workers, ignored) in [(cores, false), (cores + 1, true)] {
        let config = OrthrusConfig { workers, ..OrthrusConfig::default() };
        let instance = Instance::<Orthrus<Owning>>::new(config);
        assert_eq!(instance.worker(WorkerId(0)).ignores_waits(), ignored, "{workers} workers on {cores} cores");
    }
}

#[test]
fn announced_rows_are_asked_for_together() {
    every_variant(|case| case.announced_rows());
}

/// Three threads add to rows of all parts, and some of their transactions give up early. Meanwhile concurrency-control
/// threads come and go. No addition is lost, and no request is left behind.
fn add_from_all_sides<V: Variant>() {
    const ROUNDS: i64 = 300;
    let world = World::<V>::new();
    let done = AtomicBool::new(false);
    let added: Vec<i64> = thread::scope(|scope| {
        let adding: Vec<_> = (0..3_i64)
            .map(|number| {
                let world = &world;
                scope.spawn(move || {
                    let waiter = Waiter::thread(Duration::ZERO);
                    let mut txn = world.transaction(&waiter);
                    let mut added = 0;
                    for round in 0..ROUNDS {
                        let keys = [round % 3, 1 - round % 2 + 3, (round * 7 + number) % 12];
                        let mut keys = keys.to_vec();
                        keys.sort_unstable();
                        keys.dedup();
                        let gives_up = (round + number) % 4 == 0;
                        waiter.set_lock_timeout(gives_up.then_some(Duration::from_micros(1)));
                        match world.begin(&mut txn, &keys) {
                            Ok(()) => {
                                keys.iter().for_each(|&key| world.add_one(&mut txn, key));
                                txn.commit().expect("nothing is in its way");
                                added += keys.len() as i64;
                            }
                            Err(abort) => {
                                assert!(gives_up && abort == Abort::Timeout, "{abort:?}");
                                txn.abort();
                            }
                        }
                    }
                    added
                })
            })
            .collect();
        let (world, done) = (&world, &done);
        scope.spawn(move || {
            while !done.load(Ordering::Acquire) {
                world.attended(|_| (0..20).for_each(|_| thread::yield_now()));
            }
        });
        let added = adding.into_iter().map(|thread| thread.join().expect("no panic")).collect();
        done.store(true, Ordering::Release);
        added
    });
    let mut txn = world.transaction(&Waiter::thread(Duration::ZERO));
    txn.begin(&Begin::default()).expect("nobody else is there");
    let amount = |id| txn_amount(&mut txn, world.table, id);
    assert_eq!((0..12).map(amount).sum::<i64>(), added.into_iter().sum());
    txn.commit().expect("it has read only");
    world.has_requests(0);
}

fn txn_amount(txn: &mut impl Transaction, table: TableId, id: i64) -> i64 {
    let row = txn.read(table, &Key::Int(id)).expect("it is alone").expect("it was loaded");
    row.value(1).as_int().expect("an integer")
}

#[test]
fn threads_come_and_go_and_no_message_is_lost() {
    add_from_all_sides::<Owning>();
    add_from_all_sides::<OneTable>();
}

#[test]
fn settings_without_execution_threads_are_refused() {
    let configure = |workers, cc_threads| {
        Orthrus::<Owning>::configure(&Settings { workers, cc_threads, ..Settings::default() })
            .map(|config| config.cc_threads)
            .map_err(|error| error.to_string())
    };
    assert_eq!(configure(4, None), Ok(CcThreads::ByLoad));
    assert_eq!(configure(4, Some(3)), Ok(CcThreads::Fixed(3)));
    assert_eq!(configure(1, Some(0)), Ok(CcThreads::Fixed(0)));
    let refused = configure(2, Some(2)).expect_err("nobody is left");
    assert_eq!(
        refused,
        "2 concurrency-control threads of 2 threads leave none to execute transactions: expected 0 to 1"
    );
    let refused = configure(2000, None).expect_err("there are no more ports");
    assert_eq!(refused, "2000 threads are too many: expected 1 to 1024");
}

/// A database under ORTHRUS with a table as an order entry has them: partitioned by its first column, with a unique
/// index that begins with it and one that does not, beside a constant table without a partition key.
struct Orders {
    instance: Arc<Instance<Orthrus<Owning>>>,
    orders: TableId,
    items: TableId,
}

impl Orders {
    fn new() -> Self {
        let (cc_threads, wait_limit) = (CcThreads::Fixed(PARTS), Duration::from_secs(3600));
        let instance = Instance::new(OrthrusConfig { workers: PARTS + 1, cc_threads, wait_limit });
        let columns = ["shop", "number", "client", "code"].map(|name| Column::new(name, Type::Int4)).to_vec();
        let index = |columns: &[usize]| IndexSchema {
            name: "i".to_owned(),
            columns: columns.to_vec(),
            kind: IndexKind::Ordered,
            unique: true,
        };
        let indexes = vec![index(&[0, 2, 1]), index(&[3])];
        let schema = TableSchema { partitioned: true, indexes, ..TableSchema::new("orders", columns, &[0, 1]) };
        let orders = instance.create_table(schema);
        let columns = vec![Column::new("id", Type::Int4), Column::new("price", Type::Int4)];
        let items = instance.create_table(TableSchema { constant: true, ..TableSchema::new("items", columns, &[0]) });
        for item in 0..30 {
            let row = Row::from_values(&instance.layout(items), &[Value::Int4(item), Value::Int4(7 * item)]);
            instance.load(items, row.as_ref()).expect("the keys differ");
        }
        Self { instance, orders, items }
    }

    /// Returns the number of messages that carry the request for these accesses.
    fn messages(&self, accesses: &Accesses, run: impl FnOnce(&mut dyn Transaction)) -> u64 {
        let mut txn = self.instance.transaction(&mut self.instance.worker(WorkerId(0)), Waiter::thread(Duration::ZERO));
        txn.begin(&Begin { accesses: Some(accesses), ..Begin::default() }).expect("nobody else is there");
        run(&mut txn);
        txn.commit().expect("nobody else is there");
        txn.statistics().messages
    }
}

#[test]
fn a_transaction_of_one_partition_key_visits_one_part_whatever_constant_rows_it_reads() {
    let world = Orders::new();
    let layout = world.instance.layout(world.orders);
    for shop in 0..PARTS as i32 {
        let mut accesses = Accesses::new();
        (0..30).for_each(|item| accesses.push(world.items, Key::Int(item), Intent::Read));
        accesses.push_entries_below(world.orders, IndexRef::Primary, Key::int4s([shop, 1]));
        accesses.push_entries_below(world.orders, IndexRef::Secondary(IndexId(0)), Key::int4s([shop, 5]));
        let messages = world.messages(&accesses, |txn| {
            for item in 0..30 {
                let price = txn.read(world.items, &Key::Int(item)).expect("no lock is needed").map(|row| row.int4(1));
                assert_eq!(price, Some(7 * item as i32));
            }
        });
        assert_eq!(messages, 2, "shop {shop}: one to the part, and one back");

        // The columns of the other unique index may be in any part.
        let (columns, key) = (Key::int4s([shop, 5, 2]), Key::int4s([shop, 2]));
        let values = [shop, 2, 5, 100 + shop].map(Value::Int4);
        let row = Row::from_values(&layout, &values);
        let code = KeySpec::bytes(&world.instance.schema(world.orders).columns, &[3]).key_of(row.as_ref());
        let mut accesses = Accesses::new();
        accesses.push_entry(world.orders, IndexRef::Primary, key.clone(), key.clone());
        accesses.push_entry(world.orders, IndexRef::Secondary(IndexId(0)), columns, key.clone());
        assert_eq!(world.messages(&accesses, |_| ()), 2, "shop {shop}");
        accesses.push_entry(world.orders, IndexRef::Secondary(IndexId(1)), code.clone(), key);
        let elsewhere = code.hash64() % PARTS as u64 != shop as u64;
        let messages = world.messages(&accesses, |txn| {
            assert_eq!(txn.insert(world.orders, row.as_ref()), Ok(Write::Done));
        });
        assert_eq!(messages, if elsewhere { 3 } else { 2 }, "shop {shop}");
    }
    assert_eq!(world.instance.audit(), Ok(()));
}

#[test]
fn ranges_of_an_index_that_begins_with_the_partition_key_are_in_one_part() {
    let world = Orders::new();
    for (index, lower, upper, parts) in [
        (0, Key::int4s([2, 5]), Key::int4s([2, 5]), 1),
        (0, Key::int4s([1, 0]), Key::int4s([1, 9]), 1),
        (0, Key::int4s([0, 5]), Key::int4s([1, 5]), PARTS as u64),
        (1, Key::int4s([2, 5]), Key::int4s([2, 5]), PARTS as u64),
    ] {
        let mut accesses = Accesses::new();
        let (lower, upper) = (Bound::Included(lower), Bound::Included(upper));
        let index = IndexRef::Secondary(IndexId(index));
        accesses.push_range(RangeAccess { table: world.orders, index, lower, upper, intent: Intent::Read });
        assert_eq!(world.messages(&accesses, |_| ()), parts + 1, "{accesses:?}");
    }
}
