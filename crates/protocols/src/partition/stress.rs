//! A test on real threads: two settle and act on messages while their own transactions wait, of which one leaves early,
//! and an outsider is cancelled now and then.

use super::core::Outbox;
use super::id::PartitionId;
use super::partitions::{Partitions, Visitor};
use super::{Analysed, HStore, PartitionConfig, PartitionLocking, Partitioned, Queueing};
use crate::Instance;
use crate::shared::planned::Scene;
use hotrow_storage::{Column, Key, Row, RowMut, TableId, TableSchema, Tables, Type, Value};
use hotrow_sync::atomic::{AtomicUsize, Ordering};
use hotrow_sync::{Arc, Scheduler, Time, Waiter, thread};
use hotrow_txn::{
    Abort, Accesses, Begin, Duties, Engine, Inspection, Intent, Protocol, Statistics, Transaction, WorkerId,
};
use std::time::Duration;

/// The scheduler of a partition's thread that waits for its own transaction: it acts on messages meanwhile, as the
/// pool's loop does.
struct Pumping<E: PartitionLocking> {
    partitions: Arc<Partitions<E::Locks>>,
    partition: PartitionId,
    database: Arc<Tables<<Partitioned<E> as Protocol>::Table>>,
}

impl<E: PartitionLocking> Scheduler for Pumping<E> {
    fn now(&self) -> Time {
        Time(1)
    }

    fn suspend(&self, _deadline: Option<Time>) {
        let mut participant = self.database.participant();
        participant.enter();
        let waiter = Waiter::thread(Duration::ZERO);
        let visitor = &mut Visitor::<E::Locks> {
            scene: Scene { database: &self.database, guard: participant.guard() },
            waiter: &waiter,
            statistics: &mut Statistics::default(),
            outbox: &mut Outbox::default(),
            own: None,
        };
        if self.partitions.is_mine(self.partition) {
            self.partitions.receive(self.partition, visitor);
        }
        thread::yield_now();
    }

    fn resume(&self) {}
}

struct Stress<E: PartitionLocking> {
    instance: Arc<Instance<Partitioned<E>>>,
    table: TableId,
    /// The number of transactions on both rows that have committed.
    committed: AtomicUsize,
    /// The number of threads whose transactions are over.
    over: AtomicUsize,
}

const THREADS: usize = 3;
const ROUNDS: usize = 300;

impl<E: PartitionLocking> Stress<E> {
    fn new() -> Arc<Self> {
        let instance = Instance::<Partitioned<E>>::new(PartitionConfig { partitions: 2, ..PartitionConfig::default() });
        let columns = vec![Column::new("id", Type::Int8), Column::new("amount", Type::Int8)];
        let table = instance.create_table(TableSchema { partitioned: true, ..TableSchema::new("t", columns, &[0]) });
        for id in [0, 1] {
            let row = Row::from_values(&instance.layout(table), &[Value::Int8(id), Value::Int8(0)]);
            instance.load(table, row.as_ref()).expect("the keys differ");
        }
        Arc::new(Self { instance, table, committed: AtomicUsize::new(0), over: AtomicUsize::new(0) })
    }

    /// Adds one to both rows, and reads a row that is absent.
    fn add(&self, txn: &mut dyn Transaction) -> Result<(), Abort> {
        let mut accesses = Accesses::new();
        let keys = [0, 1, 3].map(Key::Int);
        keys.iter().for_each(|key| accesses.push(self.table, key.clone(), Intent::Write));
        let added = txn.begin(&Begin { accesses: Some(&accesses), ..Begin::default() }).and_then(|()| {
            for key in &keys {
                txn.update(self.table, key, &mut |row: &mut RowMut<'_>| {
                    let amount = row.as_ref().value(1).as_int().expect("an integer");
                    thread::yield_now();
                    row.set_int8(1, amount + 1);
                    Ok(())
                })?;
            }
            txn.commit()
        });
        match added {
            Ok(()) => _ = self.committed.fetch_add(1, Ordering::AcqRel),
            Err(_) => txn.abort(),
        }
        added
    }

    /// Runs a thread that settles, runs transactions, acts on messages until all threads are over, and leaves.
    fn worker(&self, number: u16) {
        let mut worker = self.instance.worker(WorkerId(u32::from(number)));
        let (partitions, database) = (self.instance.protocol().partitions.clone(), self.instance.database().clone());
        let pumping = Pumping::<E> { partitions, partition: PartitionId(number), database };
        let mut txn = self.instance.transaction(&mut worker, Waiter::new(Arc::new(pumping)));
        worker.settle(&Waiter::thread(Duration::ZERO));
        for _ in 0..ROUNDS {
            assert_eq!(self.add(&mut txn), Ok(()));
            worker.receive();
        }
        self.over.fetch_add(1, Ordering::AcqRel);
        // The left thread leaves early: any thread that needs its partition then works on it.
        while number == 1 && self.over.load(Ordering::Acquire) < THREADS {
            worker.receive();
            worker.find_work();
            thread::yield_now();
        }
        worker.leave();
    }

    /// Runs an outsider whose transaction another thread cancels, early, late or too late.
    fn outsider(&self) {
        let waiter = Waiter::thread(Duration::ZERO);
        let mut txn = Engine::transaction(&*self.instance, waiter.clone());
        for round in 0..ROUNDS {
            let cancelling = {
                let waiter = waiter.clone();
                (round % 3 == 0).then(|| thread::spawn(move || waiter.cancel()))
            };
            let added = self.add(&mut *txn);
            assert!(matches!(added, Ok(()) | Err(Abort::Cancelled)), "{added:?}");
            cancelling.into_iter().for_each(|thread| thread.join().expect("no panic"));
            waiter.clear_cancel();
        }
        self.over.fetch_add(1, Ordering::AcqRel);
    }
}

fn check<E: PartitionLocking>() {
    let stress = Stress::<E>::new();
    thread::scope(|scope| {
        for number in [0, 1] {
            let stress = &stress;
            scope.spawn(move || stress.worker(number));
        }
        stress.outsider();
    });
    assert_eq!(stress.instance.audit(), Ok(()), "{}", E::INFO.name);
    let mut txn = Engine::transaction(&*stress.instance, Waiter::thread(Duration::ZERO));
    txn.begin(&Begin::default()).expect("nobody else is there");
    let committed = stress.committed.load(Ordering::Acquire) as i64;
    for key in [0, 1] {
        let row = txn.read(stress.table, &Key::Int(key)).expect("nobody is in the way").expect("it is there");
        assert_eq!(row.value(1).as_int(), Some(committed), "{}: row {key}", E::INFO.name);
    }
}

#[test]
fn two_partitions_and_an_outsider_lose_nothing() {
    check::<Analysed>();
    check::<HStore>();
    check::<Queueing>();
}
