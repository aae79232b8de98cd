//! Tests of the partitions that transactions take, of the order in which they take them, and of how waits end.

use super::held::{HeldPartitions, Locks};
use super::{PartitionStore, PartitionStoreConfig, StoreAdmission};
use crate::Instance;
use crate::shared::planned::PlannedTransaction;
use hotrow_storage::{Column, IndexId, IndexKind, IndexRef, IndexSchema, Key, Row, TableId, TableSchema, Type, Value};
use hotrow_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hotrow_sync::{Arc, Mutex, Scheduler, Time, Waiter, thread};
use hotrow_txn::{
    Abort, Accesses, Begin, Engine, Intent, Isolation, Planned, Protocol, Settings, Statistics, Transaction, Write,
    Yielding,
};
use std::panic::AssertUnwindSafe;
use std::time::Duration;

const PARTITIONS: i64 = 4;

type Txn = PlannedTransaction<StoreAdmission>;

/// A database of four partitions with the rows 0 to 7. The row with key `k` is in partition `k` modulo four, and has
/// the tag `k`, which no other row has.
struct World {
    instance: Arc<Instance<PartitionStore>>,
    table: TableId,
}

fn schema() -> TableSchema {
    let columns = vec![Column::new("id", Type::Int8), Column::new("tag", Type::Int8)];
    let tag = IndexSchema { name: "tag".into(), columns: vec![1], kind: IndexKind::Hash, unique: true };
    TableSchema { partitioned: true, indexes: vec![tag], ..TableSchema::new("t", columns, &[0]) }
}

/// A waiter that has been cancelled, so that its transaction waits for nothing.
fn refusing() -> Waiter {
    let waiter = Waiter::thread(Duration::ZERO);
    waiter.cancel();
    waiter
}

fn rows(table: TableId, keys: &[i64]) -> Accesses {
    let mut accesses = Accesses::new();
    keys.iter().for_each(|&key| accesses.push(table, Key::Int(key), Intent::Write));
    accesses
}

impl World {
    fn new() -> Self {
        let config = PartitionStoreConfig { partitions: PARTITIONS as usize, ..PartitionStoreConfig::default() };
        let instance = Instance::<PartitionStore>::new(config);
        let table = instance.create_table(schema());
        let world = Self { instance, table };
        (0..8).for_each(|key| world.instance.load(table, world.row(key, key).as_ref()).expect("the keys differ"));
        world
    }

    fn row(&self, key: i64, tag: i64) -> Row {
        Row::from_values(&self.instance.layout(self.table), &[Value::Int8(key), Value::Int8(tag)])
    }

    fn transaction(&self, waiter: Waiter) -> Txn {
        self.instance.transaction(&mut (), waiter)
    }

    /// Begins a transaction on these rows, in this order.
    fn begin(&self, waiter: Waiter, keys: &[i64]) -> Result<Txn, Abort> {
        self.begin_with(waiter, &rows(self.table, keys))
    }

    fn begin_with(&self, waiter: Waiter, accesses: &Accesses) -> Result<Txn, Abort> {
        let mut txn = self.transaction(waiter);
        txn.begin(&Begin { accesses: Some(accesses), ..Begin::at(Isolation::Serializable) }).map(|()| txn)
    }

    fn touch(&self, txn: &mut Txn, key: i64) -> Result<Write, Abort> {
        txn.update(self.table, &Key::Int(key), &mut |_| Ok(()))
    }

    /// Shows the locks in the order of the partitions: `.` is free, `H` is held, and `H2` is held with two in the
    /// queue.
    fn locks(&self) -> String {
        shown(&self.instance.protocol().locks)
    }
}

fn shown(locks: &Locks) -> String {
    let shown = |(waiting, held): (usize, bool)| match (held, waiting) {
        (false, _) => ".".to_owned(),
        (true, 0) => "H".to_owned(),
        (true, waiting) => format!("H{waiting}"),
    };
    locks.iter().for_each(|lock| assert_eq!(lock.audit(), Ok(())));
    locks.iter().map(|lock| shown(lock.usage())).collect::<Vec<_>>().join(" ")
}

/// A scheduler under which time passes when a thread waits, and then something happens.
#[derive(Default)]
struct Scripted {
    now: Mutex<Time>,
    happens: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// Whether it happens while the thread spins.
    spins: bool,
}

impl Scripted {
    fn happen(&self) {
        let happens = self.happens.lock().expect("not poisoned").take();
        happens.into_iter().for_each(|happens| happens());
    }
}

impl Scheduler for Scripted {
    fn now(&self) -> Time {
        *self.now.lock().expect("not poisoned")
    }

    fn suspend(&self, deadline: Option<Time>) {
        *self.now.lock().expect("not poisoned") = deadline.expect("the wait is limited");
        self.happen();
    }

    fn resume(&self) {}

    fn spin(&self, _deadline: Option<Time>, condition: &mut dyn FnMut() -> bool) -> bool {
        if !self.spins {
            return false;
        }
        assert!(!condition(), "nothing has happened yet");
        self.happen();
        condition()
    }
}

/// Makes a waiter during whose wait `happens` is called: while it spins, or when the wait's limit comes.
fn scripted(spins: bool, happens: impl FnOnce() + Send + 'static) -> Waiter {
    let scheduler = Scripted { spins, happens: Mutex::new(Some(Box::new(happens))), ..Scripted::default() };
    Waiter::new(Arc::new(scheduler))
}

#[test]
fn a_transaction_takes_the_partitions_of_its_plan_and_no_other() {
    for (keys, locks) in [
        (&[][..], ". . . ."),
        (&[1], ". H . ."),
        (&[4, 0, 4], "H . . ."),
        (&[3, 1], ". H . H"),
        (&[2, 3, 7, 101], ". H H H"),
    ] {
        let world = World::new();
        let mut txn = world.begin(refusing(), keys).expect("all are free");
        assert_eq!(world.locks(), locks, "{keys:?}");
        assert_eq!(txn.statistics().locks, locks.matches('H').count() as u64, "{keys:?}");
        txn.commit().expect("it holds all that it needs");
        assert_eq!(world.locks(), ". . . .");
    }
}

#[test]
fn transactions_of_different_partitions_run_side_by_side_and_of_one_do_not() {
    let world = World::new();
    let mut first = world.begin(refusing(), &[0]).expect("all are free");
    let mut second = world.begin(refusing(), &[1]).expect("its partition is free");
    assert_eq!(world.locks(), "H H . .");
    assert_eq!([world.touch(&mut first, 0), world.touch(&mut second, 1)], [Ok(Write::Done); 2]);
    // Rows that are not in the plan, in the partition that is held and in others, free or not.
    assert_eq!(world.touch(&mut first, 4), Ok(Write::Done));
    assert_eq!(first.read(world.table, &Key::Int(8)), Ok(None));
    for key in [1, 2] {
        assert_eq!(world.touch(&mut first, key), Err(Abort::OutsidePlan));
    }
    // What one has, no other gets, and nothing is left of the attempt.
    for keys in [&[4][..], &[5], &[2, 1], &[3, 2, 0]] {
        assert_eq!(world.begin(refusing(), keys).err(), Some(Abort::Cancelled), "{keys:?}");
        assert_eq!(world.locks(), "H H . .", "{keys:?}");
    }
    drop(first);
    second.abort();
    assert_eq!(world.locks(), ". . . .");
}

#[test]
fn transactions_that_share_one_of_several_partitions_exclude_each_other() {
    let world = World::new();
    let both = world.begin(refusing(), &[1, 2]).expect("all are free");
    for keys in [&[1][..], &[2], &[1, 2], &[2, 3], &[0, 1]] {
        assert_eq!(world.begin(refusing(), keys).err(), Some(Abort::Cancelled), "{keys:?}");
    }
    let beside = world.begin(refusing(), &[0, 3]).expect("the others are free");
    assert_eq!(world.locks(), "H H H H");
    drop((both, beside));
    assert_eq!(world.locks(), ". . . .");
}

#[test]
fn partitions_are_taken_in_ascending_order_whatever_the_order_of_the_plan() {
    for keys in [[3, 1, 0], [0, 3, 1], [1, 0, 3], [0, 1, 3]] {
        let world = Arc::new(World::new());
        let holder = world.begin(refusing(), &[1]).expect("all are free");
        let (seen, holder) = (world.clone(), Mutex::new(Some(holder)));
        let waiter = scripted(false, move || {
            assert_eq!(seen.locks(), "H H1 . .", "{keys:?}: nothing beyond the one that it waits for");
            drop(holder.lock().expect("not poisoned").take());
        });
        let mut txn = world.begin(waiter, &keys).expect("the holder has left");
        assert_eq!((world.locks(), txn.statistics().waits), ("H H . H".to_owned(), 1), "{keys:?}");
    }
}

#[test]
fn a_transaction_that_spins_takes_a_lock_without_queueing() {
    let world = Arc::new(World::new());
    let holder = world.begin(refusing(), &[1]).expect("all are free");
    let (seen, holder) = (world.clone(), Mutex::new(Some(holder)));
    let waiter = scripted(true, move || {
        assert_eq!(seen.locks(), ". H . .", "nothing is in the queue");
        drop(holder.lock().expect("not poisoned").take());
    });
    let mut txn = world.begin(waiter, &[1]).expect("the holder has left");
    assert_eq!((world.locks(), txn.statistics().waits), (". H . .".to_owned(), 1));
}

#[test]
fn a_partial_plan_takes_another_partition_if_it_is_free_and_waits_for_none() {
    let world = World::new();
    let holder = world.begin(refusing(), &[3]).expect("all are free");
    let mut partial = rows(world.table, &[2]);
    partial.set_partial();
    let mut txn = world.begin_with(refusing(), &partial).expect("its partition is free");
    assert_eq!(world.touch(&mut txn, 1), Ok(Write::Done), "a partition below its own");
    assert_eq!(world.touch(&mut txn, 5), Ok(Write::Done), "another row there");
    assert_eq!(world.locks(), ". H H H");
    assert_eq!(world.touch(&mut txn, 7), Err(Abort::OutsidePlan));
    let mut missing = Accesses::new();
    txn.add_missing(&mut missing);
    assert_eq!(missing.rows().len(), 1, "the next plan has it");
    drop((txn, holder));
    assert_eq!(world.locks(), ". . . .");
}

#[test]
fn rows_of_different_partitions_do_not_get_one_value_of_a_unique_column() {
    // Whatever the partition is on which all agree for a tag: that of a row, or a third one.
    for tag in 10..30 {
        let world = World::new();
        let mut first = world.begin(refusing(), &[10]).expect("all are free");
        assert_eq!(first.insert(world.table, world.row(10, tag).as_ref()), Ok(Write::Done));
        let mut plan = rows(world.table, &[11]);
        match world.begin_with(refusing(), &plan) {
            Ok(mut second) => {
                let inserted = second.insert(world.table, world.row(11, tag).as_ref());
                assert_eq!(inserted, Err(Abort::OutsidePlan), "{tag}");
                second.add_missing(&mut plan);
            }
            // The first has taken the partition of the second's row.
            Err(abort) => assert_eq!(abort, Abort::Cancelled, "{tag}"),
        }
        assert_eq!(world.begin_with(refusing(), &plan).err(), Some(Abort::Cancelled), "{tag}: it is waited for now");
        first.commit().expect("it holds all that it needs");
        let mut second = world.begin_with(refusing(), &plan).expect("the first has left");
        let duplicate = Ok(Write::Duplicate(IndexRef::Secondary(IndexId(0))));
        assert_eq!(second.insert(world.table, world.row(11, tag).as_ref()), duplicate, "{tag}");
    }
}

#[test]
fn a_transaction_without_a_plan_has_the_database_by_the_gate() {
    let world = World::new();
    let planned = world.begin(refusing(), &[0]).expect("all are free");
    let mut block = world.transaction(refusing());
    assert_eq!(block.begin(&Begin::default()), Err(Abort::Cancelled), "a transaction is inside");
    block.abort();
    drop(planned);
    block.begin(&Begin::default()).expect("the database is free");
    assert_eq!(world.touch(&mut block, 0), Ok(Write::Done));
    block.idle();
    assert_eq!(world.locks(), ". . . .", "it needs no lock of a partition");
    assert_eq!(world.begin(refusing(), &[1]).err(), Some(Abort::Cancelled), "it is alone, idle or not");
    assert_eq!(world.touch(&mut block, 1), Ok(Write::Done));
    block.commit().expect("it is alone");
    drop(world.begin(refusing(), &[1]).expect("the block has ended"));
}

#[test]
fn a_read_without_a_plan_copies_what_no_transaction_writes_and_holds_nothing() {
    let world = World::new();
    let mut writer = world.begin(refusing(), &[0]).expect("all are free");
    let mut reader = world.transaction(refusing());
    let reads = Begin { read_only: true, ..Begin::at(Isolation::ReadCommitted) };
    reader.begin(&reads).expect("beginning needs nothing");
    let mut tag = |key| reader.read(world.table, &Key::Int(key)).map(|row| row.map(|row| row.int8(1)));
    assert_eq!([tag(1), tag(9)], [Ok(Some(1)), Ok(None)]);
    assert_eq!(tag(4), Err(Abort::Cancelled), "its partition is held");
    assert_eq!(world.locks(), "H . . .");
    assert_eq!(world.touch(&mut writer, 0), Ok(Write::Done));
    drop(writer);
    reader.abort();
    reader.begin(&reads).expect("beginning needs nothing");
    assert_eq!(reader.read(world.table, &Key::Int(4)).map(|row| row.is_some()), Ok(true));
    assert_eq!(world.locks(), ". . . .");
}

/// The way in which a wait ends without the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    TimesOut,
    IsCancelled,
    /// As the wait of a suspended coroutine does, when the coroutine is dropped.
    Unwinds,
}

/// A scheduler under which a wait ends in this way, once it is resumed.
struct GivesUp {
    end: End,
    now: AtomicU64,
    suspended: AtomicBool,
    resumed: AtomicBool,
}

impl GivesUp {
    fn new(end: End) -> Arc<Self> {
        let [suspended, resumed] = [false; 2].map(AtomicBool::new);
        Arc::new(Self { end, now: AtomicU64::new(0), suspended, resumed })
    }
}

impl Scheduler for GivesUp {
    fn now(&self) -> Time {
        Time(self.now.load(Ordering::Acquire))
    }

    fn suspend(&self, deadline: Option<Time>) {
        self.suspended.store(true, Ordering::Release);
        while !self.resumed.load(Ordering::Acquire) {
            thread::yield_now();
        }
        match self.end {
            End::TimesOut => self.now.store(deadline.expect("the wait is limited").0, Ordering::Release),
            End::IsCancelled => {}
            End::Unwinds => std::panic::resume_unwind(Box::new("dropped while it waited")),
        }
    }

    fn resume(&self) {
        self.resumed.store(true, Ordering::Release);
    }
}

fn locks() -> Locks {
    World::new().instance.protocol().locks.clone()
}

fn take(held: &mut HeldPartitions, numbers: &[u16]) -> Result<(), Abort> {
    held.take_all(numbers, Duration::from_secs(3600), &mut Statistics::default())
}

/// Three transactions wait for one partition, and one of them gives up; the others get it one after the other.
#[test]
fn a_wait_that_ends_leaves_nothing_behind_and_the_next_one_gets_the_lock() {
    for (given_up, end) in
        (0..3).flat_map(|place| [End::TimesOut, End::IsCancelled, End::Unwinds].map(|end| (place, end)))
    {
        let locks = locks();
        let mut holder = HeldPartitions::new(&locks, refusing());
        take(&mut holder, &[1]).expect("all are free");
        let gives_up = GivesUp::new(end);
        let mut threads = Vec::new();
        for place in 0..3 {
            let gives_up = (place == given_up).then(|| gives_up.clone());
            let waiter = gives_up.map_or_else(|| Waiter::thread(Duration::ZERO), |gives_up| Waiter::new(gives_up));
            let (all, own) = (locks.clone(), waiter.clone());
            let thread = thread::spawn(move || {
                let mut held = HeldPartitions::new(&all, own);
                // The one that gives up holds another partition already.
                let wanted: &[u16] = if place == given_up { &[0, 1, 3] } else { &[1] };
                let taken = std::panic::catch_unwind(AssertUnwindSafe(|| take(&mut held, wanted)));
                taken.unwrap_or(Err(Abort::User))
            });
            threads.push((thread, waiter));
            while locks[1].usage().0 <= place {
                thread::yield_now();
            }
        }
        assert_eq!(shown(&locks), "H H3 . .");
        while !gives_up.suspended.load(Ordering::Acquire) {
            thread::yield_now();
        }
        match end {
            End::IsCancelled => threads[given_up].1.cancel(),
            End::TimesOut | End::Unwinds => gives_up.resume(),
        }
        while shown(&locks) != ". H2 . ." {
            thread::yield_now();
        }
        holder.release_all();
        for (place, (thread, _)) in threads.into_iter().enumerate() {
            let expected = match (place == given_up, end) {
                (false, _) => Ok(()),
                (true, End::TimesOut) => Err(Abort::Timeout),
                (true, End::IsCancelled) => Err(Abort::Cancelled),
                (true, End::Unwinds) => Err(Abort::User),
            };
            assert_eq!(thread.join().expect("it catches what unwinds"), expected, "{place} of {given_up}, {end:?}");
        }
        assert_eq!(shown(&locks), ". . . .");
    }
}

#[test]
fn partitions_exclude_under_stress() {
    let locks = locks();
    let counters: Arc<Vec<Mutex<u64>>> = Arc::new((0..PARTITIONS).map(|_| Default::default()).collect());
    let work = |seed: u64| {
        let (locks, counters) = (locks.clone(), counters.clone());
        thread::spawn(move || {
            let mut held = HeldPartitions::new(&locks, Waiter::thread(Duration::from_micros(20)));
            let mut counted = 0;
            for round in 0..2_000_u64 {
                let random = hotrow_storage::mix(seed * 7919 + round);
                let numbers: Vec<u16> = (0..PARTITIONS as u16).filter(|number| random >> number & 1 == 1).collect();
                take(&mut held, &numbers).expect("there is no deadlock");
                for &number in &numbers {
                    *counters[usize::from(number)].try_lock().expect("the partition is held by one") += 1;
                }
                counted += numbers.len() as u64;
                held.release_all();
            }
            counted
        })
    };
    let threads: Vec<_> = (0..4).map(work).collect();
    let counted: u64 = threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum();
    let seen: u64 = counters.iter().map(|counter| *counter.lock().expect("not poisoned")).sum();
    assert_eq!((seen, shown(&locks)), (counted, ". . . .".to_owned()));
}

#[test]
fn there_is_a_partition_for_each_worker_unless_the_settings_say_otherwise() {
    let configure = |workers, partitions| {
        let settings = Settings { workers, partitions, ..Settings::default() };
        PartitionStore::configure(&settings).map(|config| config.partitions).map_err(|error| error.0)
    };
    assert_eq!(configure(2, None), Ok(2));
    assert_eq!(configure(2, Some(3)), Ok(3));
    assert_eq!(configure(5000, None), Ok(4096));
    assert_eq!(configure(2, Some(0)), Err("0 partitions: expected 1 to 4096".to_owned()));
    assert_eq!(configure(2, Some(4097)), Err("4097 partitions: expected 1 to 4096".to_owned()));
}

#[test]
fn a_table_without_a_partition_key_is_refused() {
    let world = World::new();
    assert_eq!(world.instance.admits(&schema()), Ok(()));
    let refused = world.instance.admits(&TableSchema { partitioned: false, ..schema() });
    assert!(refused.is_err_and(|what| what.contains("PARTITION BY HASH")));
    // A constant table needs none.
    assert_eq!(world.instance.admits(&TableSchema { partitioned: false, constant: true, ..schema() }), Ok(()));
}
