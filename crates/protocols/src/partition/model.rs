//! Random interleavings of whole transactions on two partitions, under `--cfg shuttle`, with each engine of the family:
//! threads that settle, receive and leave while others are under way, and outsiders. A ring holds one message, so
//! mailboxes are used by all. shuttle has no time: it reports a lost message or wake-up as a deadlock.

use super::id::PartitionId;
use super::{Analysed, Counting, HStore, PartitionConfig, PartitionLocking, PartitionWorker, Partitioned};
use super::{LockState, Queueing};
use crate::Instance;
use crate::shared::planned::PlannedTransaction;
use hotrow_storage::{Column, Key, Row, TableId, TableSchema, Type, Value};
use hotrow_sync::atomic::{AtomicUsize, Ordering};
use hotrow_sync::wait::ThreadScheduler;
use hotrow_sync::{Arc, Mutex, Scheduler, Time, Waiter, thread};
use hotrow_txn::{Abort, Accesses, Begin, Duties, Engine, Inspection, Intent, Isolation, Transaction, WorkerId};
use std::time::Duration;

use Intent::{Read, Write};
use Step::{Leave, LeaveWithin, Run, Settle};

fn iterations() -> usize {
    std::env::var("HOTROW_MODEL_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// The locks that a transaction asks for: rows, by their positions in [`World::keys`], and intents.
type Locks = &'static [(usize, Intent)];

/// The positions of a row of each partition, and of an absent one.
const HERE: usize = 0;
const THERE: usize = 1;
const ABSENT: usize = 2;

const BOTH: Locks = &[(HERE, Write), (THERE, Write)];
const MOVE: Locks = &[(THERE, Write), (HERE, Read)];
const LOOK: Locks = &[(HERE, Read), (ABSENT, Read)];
const TRY: Locks = &[(ABSENT, Write), (HERE, Write)];

/// A step of a thread.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Settles on the partition of the thread's number, if no other thread has.
    Settle,
    Leave,
    Run(Locks),
    /// Leaves the partition in the middle of a transaction.
    LeaveWithin(Locks),
}

/// The rows, and the holders of each as a number: a reader adds one, a writer a thousand.
struct World<E: PartitionLocking> {
    instance: Arc<Instance<Partitioned<E>>>,
    table: TableId,
    keys: [i64; 3],
    holders: [AtomicUsize; 3],
    /// The number of transactions that run in each partition.
    running: [AtomicUsize; 2],
}

/// A thread, as the scheduler of its transactions: before it parks it does what a worker does when all its transactions
/// wait.
struct Thread<E: PartitionLocking> {
    parked: Arc<ThreadScheduler>,
    worker: Mutex<PartitionWorker<E>>,
}

impl<E: PartitionLocking> Scheduler for Thread<E> {
    fn now(&self) -> Time {
        self.parked.now()
    }

    fn suspend(&self, deadline: Option<Time>) {
        self.with(|worker| {
            worker.receive();
            while worker.find_work() {}
        });
        self.parked.suspend(deadline);
    }

    fn resume(&self) {
        self.parked.resume();
    }
}

impl<E: PartitionLocking> Thread<E> {
    fn with<R>(&self, work: impl FnOnce(&mut PartitionWorker<E>) -> R) -> R {
        work(&mut self.worker.lock().expect("no thread panics"))
    }
}

impl<E: PartitionLocking> World<E> {
    fn new() -> Arc<Self> {
        // Long enough for a machine that is busy with other things.
        let wait_limit = Duration::from_secs(3600);
        let instance = Instance::new(PartitionConfig { partitions: 2, wait_limit, ..PartitionConfig::default() });
        let columns = vec![Column::new("key", Type::Int8), Column::new("number", Type::Int8)];
        let table = instance.create_table(TableSchema { partitioned: true, ..TableSchema::new("t", columns, &[0]) });
        let mut world =
            Self { instance, table, keys: [0; 3], holders: Default::default(), running: Default::default() };
        let mut keys = 0..;
        world.keys = [0, 1, 1].map(|partition| {
            keys.find(|&key| world.partition_of(key) == partition).expect("keys are spread over the partitions")
        });
        for key in [HERE, THERE] {
            world.instance.load(table, world.row(key).as_ref()).expect("the key is new");
        }
        Arc::new(world)
    }

    fn partition_of(&self, key: i64) -> usize {
        let mut participant = self.instance.database().participant();
        participant.enter();
        let table = self.instance.database().table(participant.guard(), self.table).expect("it was made");
        let partition = table.partition_of(&Key::Int(key));
        participant.leave();
        partition
    }

    fn row(&self, at: usize) -> Row {
        Row::from_values(&self.instance.layout(self.table), &[Value::Int8(self.keys[at]), Value::Int8(0)])
    }

    /// Returns the worker of a thread and the waiter that wakes it.
    fn thread(&self, number: u32) -> (Arc<Thread<E>>, Waiter) {
        let parked = Arc::new(ThreadScheduler::new(Duration::ZERO));
        let worker = Mutex::new(self.instance.worker(WorkerId(number)));
        let thread = Arc::new(Thread { parked, worker });
        (thread.clone(), Waiter::new(thread))
    }

    /// Runs all steps of a thread.
    fn live(&self, thread: &Thread<E>, waiter: &Waiter, steps: &[Step]) {
        let mut txn = thread.with(|worker| self.instance.transaction(worker, waiter.clone()));
        for &step in steps {
            match step {
                // Not with the transactions' waiter: that one has the worker, and the partition keeps this one.
                Settle => thread.with(|worker| worker.settle(&Waiter::new(thread.parked.clone()))),
                Leave => thread.with(Duties::leave),
                Run(locks) => self.transact(&mut txn, locks, || {
                    thread.with(Duties::receive);
                }),
                LeaveWithin(locks) => self.transact(&mut txn, locks, || thread.with(Duties::leave)),
            }
            // It goes on with its next attempt, while what the last one sent may be on its way.
            waiter.clear_cancel();
        }
        thread.with(Duties::leave);
    }

    /// Runs a transaction from its beginning to its end. A transaction that is cancelled may fail to begin.
    fn transact(
        &self,
        txn: &mut PlannedTransaction<super::PartitionAdmission<E>>,
        locks: Locks,
        within: impl FnOnce(),
    ) {
        let mut accesses = Accesses::new();
        locks.iter().for_each(|&(at, intent)| accesses.push(self.table, Key::Int(self.keys[at]), intent));
        match txn.begin(&Begin { accesses: Some(&accesses), ..Begin::at(Isolation::Serializable) }) {
            Ok(()) => {}
            Err(Abort::Cancelled) => return txn.abort(),
            Err(other) => panic!("{other:?}"),
        }
        let weight = |intent| if intent == Write { 1000 } else { 1 };
        let partitions = [0, 1].map(|partition| locks.iter().any(|&(at, _)| usize::from(at != HERE) == partition));
        let used = || self.running.iter().zip(partitions).filter_map(|(running, used)| used.then_some(running));
        for &(at, intent) in locks {
            let before = self.holders[at].fetch_add(weight(intent), Ordering::AcqRel);
            assert!(before == 0 || (before < 1000 && intent == Read), "{before} beside {intent:?} of row {at}");
        }
        for running in used() {
            let others = running.fetch_add(1, Ordering::AcqRel);
            assert!(others == 0 || !E::Locks::IS_WHOLE, "{others} run beside this one");
        }
        within();
        thread::yield_now();
        locks.iter().for_each(|&(at, intent)| self.touch(txn, at, intent));
        used().for_each(|running| assert!(running.fetch_sub(1, Ordering::AcqRel) > 0));
        for &(at, intent) in locks {
            self.holders[at].fetch_sub(weight(intent), Ordering::AcqRel);
        }
        // What was inserted goes, with the record that was made for it.
        if locks.contains(&(ABSENT, Write)) { txn.abort() } else { txn.commit().expect("it commits") }
    }

    fn touch(&self, txn: &mut PlannedTransaction<super::PartitionAdmission<E>>, at: usize, intent: Intent) {
        let key = Key::Int(self.keys[at]);
        if intent == Read {
            let found = txn.read(self.table, &key).expect("it is in the plan").is_some();
            assert_eq!(found, at != ABSENT, "row {at}");
        } else if at == ABSENT {
            // Another one that wants to insert it may have its entry's prefix in its plan.
            let inserted = txn.insert(self.table, self.row(at).as_ref());
            assert!(matches!(inserted, Ok(hotrow_txn::Write::Done) | Err(Abort::OutsidePlan)), "{inserted:?}");
        } else {
            let updated = txn.update(self.table, &key, &mut |_| Ok(()));
            assert_eq!(updated, Ok(hotrow_txn::Write::Done));
        }
    }

    /// Asserts that nothing is left anywhere, and that sessions can go on: all numbers have been used up, and
    /// everything is finished.
    fn assert_at_rest(&self) {
        let partitions = &self.instance.protocol().partitions;
        for number in [0, 1].map(PartitionId) {
            let mut books = Vec::new();
            let looked = partitions.touch(number, |core| (core.has_mail(), core.blocked(), core.audit(&mut books)));
            assert_eq!(looked, Ok((false, 0, Ok(true))), "mail, blocked, and whether all have been let in");
            assert!(books.is_empty() && !partitions.has_mail(number));
        }
        self.instance.audit().expect("the invariants hold");
        assert_eq!(self.instance.row_count(self.table), 2, "no record is left that has no row");
        let (thread, waiter) = self.thread(2);
        let mut txn = thread.with(|worker| self.instance.transaction(worker, waiter));
        self.transact(&mut txn, BOTH, || ());
        txn.begin(&Begin::at(Isolation::Serializable)).expect("nobody is in the database");
        txn.commit().expect("it commits");
    }
}

/// Runs threads with these numbers, of which the first may be cancelled at any time.
fn check<E: PartitionLocking, const THREADS: usize>(cancels: bool, lives: [(u32, &'static [Step]); THREADS]) {
    let model = move || {
        let world = World::<E>::new();
        let threads = lives.map(|(number, steps)| {
            let (thread, waiter) = world.thread(number);
            let (world, own) = (world.clone(), waiter.clone());
            (thread::spawn(move || world.live(&thread, &own, steps)), waiter)
        });
        if cancels {
            threads[0].1.cancel();
        }
        threads.into_iter().for_each(|(thread, _)| thread.join().expect("no thread panics"));
        world.assert_at_rest();
    };
    shuttle::check_random(model, iterations());
}

/// The number of a thread that has no partition.
const OUTSIDER: u32 = 2;

fn workers<E: PartitionLocking>() {
    check::<E, 3>(
        false,
        [
            (0, &[Settle, Run(BOTH), Run(&[(HERE, Write)]), Leave, Run(MOVE)]),
            (1, &[Settle, Run(MOVE), Leave, Settle, Run(BOTH)]),
            (OUTSIDER, &[Run(BOTH), Run(&[(THERE, Read)])]),
        ],
    );
}

fn absent<E: PartitionLocking>() {
    check::<E, 3>(
        false,
        [
            (0, &[Settle, Run(LOOK), Run(TRY)]),
            (1, &[Settle, Run(&[(ABSENT, Write)]), Leave, Run(&[(ABSENT, Read)])]),
            (OUTSIDER, &[Run(TRY), Run(LOOK)]),
        ],
    );
}

fn successors<E: PartitionLocking>() {
    check::<E, 3>(
        false,
        [
            (0, &[Settle, LeaveWithin(&[(HERE, Write)]), Run(BOTH)]),
            (0, &[Settle, LeaveWithin(BOTH), Settle, Run(&[(HERE, Read)])]),
            (1, &[Settle, Run(MOVE), LeaveWithin(BOTH)]),
        ],
    );
}

fn withdrawn<E: PartitionLocking>() {
    let settled: &[Step] = &[Settle, Run(TRY), Run(BOTH), Run(TRY)];
    for cancelled in [(OUTSIDER, &settled[1..]), (0, settled)] {
        check::<E, 3>(true, [cancelled, (1, &[Settle, Run(BOTH), Run(MOVE)]), (OUTSIDER, &[Run(TRY), Run(LOOK)])]);
    }
}

fn each_engine(check: [fn(); 4]) {
    check.into_iter().for_each(|check| check());
}

#[test]
fn no_interleaving_breaks_exclusion_or_loses_a_message() {
    each_engine([workers::<HStore>, workers::<Counting>, workers::<Analysed>, workers::<Queueing>]);
}

#[test]
fn an_absent_row_is_locked_and_its_record_goes() {
    each_engine([absent::<HStore>, absent::<Counting>, absent::<Analysed>, absent::<Queueing>]);
}

#[test]
fn a_partition_goes_from_one_thread_to_the_next_under_a_transaction() {
    each_engine([successors::<HStore>, successors::<Counting>, successors::<Analysed>, successors::<Queueing>]);
}

#[test]
fn one_that_is_withdrawn_is_gone_everywhere() {
    each_engine([withdrawn::<HStore>, withdrawn::<Counting>, withdrawn::<Analysed>, withdrawn::<Queueing>]);
}
