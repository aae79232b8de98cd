//! Tests of the loop of Fig. 3 step by step, on two threads that do one step at a time, and of the settings and tables
//! that are refused.

use super::counted::InRecords;
use super::id::PartitionId;
use super::queue::State;
use super::{Analysed, Counting, HStore, PartitionConfig, PartitionLocking, PartitionWorker, Partitioned, Queueing};
use crate::Instance;
use crate::shared::counts::Counts;
use hotrow_storage::{Column, Key, Row, RowMut, TableId, TableSchema, Type, Value};
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::coroutine::{Coroutine, Resumed, Stack, Suspender};
use hotrow_sync::{Arc, Mutex, Scheduler, Time, Waiter, mpsc, thread};
use hotrow_txn::{
    Abort, Accesses, Begin, Duties, Engine, Inspection, Intent, Protocol, Settings, Transaction, WorkerId, Write,
};
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

/// A scheduler that suspends a transaction's coroutine. The test resumes the coroutine when it wants to.
struct Suspending(Arc<Suspender>);

impl Scheduler for Suspending {
    fn now(&self) -> Time {
        Time(1)
    }

    fn suspend(&self, _deadline: Option<Time>) {
        self.0.suspend();
    }

    fn resume(&self) {}
}

fn schema() -> TableSchema {
    let columns = vec![Column::new("id", Type::Int8), Column::new("amount", Type::Int8)];
    TableSchema { partitioned: true, ..TableSchema::new("t", columns, &[0]) }
}

fn open<E: PartitionLocking>() -> (Arc<Instance<Partitioned<E>>>, TableId) {
    let instance = Instance::<Partitioned<E>>::new(PartitionConfig { partitions: 2, ..PartitionConfig::default() });
    let table = instance.create_table(schema());
    let layout = instance.layout(table);
    for id in 0..8 {
        let row = Row::from_values(&layout, &[Value::Int8(id), Value::Int8(0)]);
        instance.load(table, row.as_ref()).expect("the keys differ");
    }
    (instance, table)
}

/// The progress of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Waits,
    Runs,
    Committed,
    Gone(Abort),
}

struct Client {
    coroutine: Coroutine<()>,
    waiter: Waiter,
    progress: Rc<Cell<Progress>>,
}

/// A partition with its thread, and the transactions that run there. Even keys are on the left, odd ones on the right.
struct Side<E: PartitionLocking> {
    number: u16,
    instance: Arc<Instance<Partitioned<E>>>,
    table: TableId,
    worker: PartitionWorker<E>,
    clients: HashMap<char, Client>,
}

impl<E: PartitionLocking> Side<E> {
    /// Begins a new transaction, which updates these rows as far as it gets.
    fn begin(&mut self, name: char, keys: &[i64]) -> Progress {
        let stack = Stack::new(256 * 1024).expect("memory for a stack");
        let suspender = stack.suspender();
        let waiter = Waiter::new(Arc::new(Suspending(suspender.clone())));
        let mut txn = self.instance.transaction(&mut self.worker, waiter.clone());
        let progress = Rc::new(Cell::new(Progress::Waits));
        let (table, keys, at) = (self.table, keys.to_vec(), progress.clone());
        let coroutine = Coroutine::new(stack, move || {
            let mut accesses = Accesses::new();
            keys.iter().for_each(|&key| accesses.push(table, Key::Int(key), Intent::Write));
            if let Err(abort) = txn.begin(&Begin { accesses: Some(&accesses), ..Begin::default() }) {
                txn.abort();
                return at.set(Progress::Gone(abort));
            }
            at.set(Progress::Runs);
            suspender.suspend();
            for &key in &keys {
                let updated = txn.update(table, &Key::Int(key), &mut |row: &mut RowMut<'_>| {
                    let amount = row.as_ref().value(1).as_int().expect("an integer");
                    row.set_int8(1, amount + 1);
                    Ok(())
                });
                assert_eq!(updated, Ok(Write::Done));
            }
            txn.commit().expect("it holds all that it needs");
            at.set(Progress::Committed);
        });
        self.clients.insert(name, Client { coroutine, waiter, progress });
        self.go_on(name)
    }

    /// Lets a transaction go on: from waiting to running, if it can, or from running to its end.
    fn go_on(&mut self, name: char) -> Progress {
        let client = self.clients.get_mut(&name).expect("it has begun");
        assert!(!matches!(client.coroutine.resume(), Resumed::Panicked(_)), "transaction {name}");
        client.progress.get()
    }

    /// Returns the queue as text, from its front.
    fn queue(&self) -> String {
        let show = |state| match state {
            State::Free => "free",
            State::Blocked => "blocked",
            State::Waiting => "waiting",
        };
        let states = self
            .instance
            .protocol()
            .partitions
            .touch(PartitionId(self.number), |core| core.states().map(show).collect::<Vec<_>>().join(" "));
        states.expect("the thread has settled")
    }

    fn cancel(&mut self, name: char) -> Progress {
        self.clients[&name].waiter.cancel();
        self.go_on(name)
    }
}

type Step<E> = Box<dyn FnOnce(&mut Side<E>) + Send>;

/// A thread that has settled, and does the steps that it is sent.
struct Remote<E: PartitionLocking>(mpsc::Sender<Step<E>>);

impl<E: PartitionLocking> Remote<E> {
    fn spawn<'s>(
        scope: &'s thread::Scope<'s, '_>,
        number: u16,
        instance: &Arc<Instance<Partitioned<E>>>,
        table: TableId,
    ) -> Self {
        let (sender, steps) = mpsc::channel::<Step<E>>();
        let instance = instance.clone();
        scope.spawn(move || {
            let mut worker = instance.worker(WorkerId(u32::from(number)));
            drop(instance.transaction(&mut worker, Waiter::thread(Duration::ZERO)));
            worker.settle(&Waiter::thread(Duration::ZERO));
            let mut side = Side { number, instance, table, worker, clients: HashMap::new() };
            steps.into_iter().for_each(|step| step(&mut side));
            side.worker.leave();
        });
        let remote = Self(sender);
        remote.step(|side| assert!(side.instance.protocol().partitions.is_mine(PartitionId(side.number))));
        remote
    }

    /// Does one step on the thread, and waits until it is done.
    fn step<R: Send + 'static>(&self, step: impl FnOnce(&mut Side<E>) -> R + Send + 'static) -> R {
        let (sender, result) = mpsc::channel();
        self.0
            .send(Box::new(move |side| sender.send(step(side)).expect("the test waits")))
            .expect("the thread is there");
        result.recv().expect("the step did not panic")
    }

    fn begin(&self, name: char, keys: &'static [i64]) -> Progress {
        self.step(move |side| side.begin(name, keys))
    }

    fn go_on(&self, name: char) -> Progress {
        self.step(move |side| side.go_on(name))
    }

    fn receive(&self) {
        self.step(|side| side.worker.receive());
    }

    fn queue(&self) -> String {
        self.step(|side| side.queue())
    }
}

/// Does `steps` on a left and a right thread, and checks that nothing is left, and what has been committed.
fn trace<E: PartitionLocking>(amounts: [i64; 4], steps: impl FnOnce(&Remote<E>, &Remote<E>)) {
    let (instance, table) = open::<E>();
    thread::scope(|scope| {
        let left = Remote::spawn(scope, 0, &instance, table);
        let right = Remote::spawn(scope, 1, &instance, table);
        steps(&left, &right);
    });
    assert_eq!(instance.audit(), Ok(()), "{}", E::INFO.name);
    let mut txn = Engine::transaction(&*instance, Waiter::thread(Duration::ZERO));
    txn.begin(&Begin::default()).expect("nobody else is there");
    let amount = |key| {
        let row = txn.read(table, &Key::Int(key)).expect("nobody is in the way").expect("it is there");
        row.value(1).as_int().expect("an integer")
    };
    assert_eq!([0, 1, 2, 3].map(amount), amounts, "{}", E::INFO.name);
}

/// A transaction of both sides, and others beside it: each of the loop's choices (Fig. 3).
#[test]
fn a_distributed_transaction_waits_while_others_run() {
    use Progress::{Committed, Runs, Waits};
    trace::<Counting>([2, 2, 1, 1], |left, right| {
        // Third choice, a new request: A has its locks here, and asks the other side.
        assert_eq!((left.begin('A', &[0, 1]), left.queue()), (Waits, "waiting".into()));
        // There it is still on its way: C runs, and is gone before it.
        assert_eq!((right.begin('C', &[3]), right.queue()), (Runs, "free".into()));
        assert_eq!((right.go_on('C'), right.queue()), (Committed, String::new()));
        // B conflicts with A; D does not, and is the third state's point: the thread goes on.
        assert_eq!((left.begin('B', &[0]), left.queue()), (Waits, "waiting blocked".into()));
        assert_eq!((left.begin('D', &[2]), left.queue()), (Runs, "waiting blocked free".into()));
        assert_eq!((left.go_on('D'), left.queue()), (Committed, "waiting blocked".into()));
        // First choice there: a message was received, and answered.
        right.receive();
        assert_eq!((left.go_on('A'), right.queue()), (Waits, "waiting".into()));
        assert_eq!((right.begin('E', &[1]), right.queue()), (Waits, "waiting blocked".into()));
        // First choice here: A is ready to execute. Its end unblocks B, the second choice.
        left.receive();
        assert_eq!((left.go_on('A'), left.queue()), (Runs, "waiting blocked".into()));
        assert_eq!((left.go_on('A'), left.queue()), (Committed, "free".into()));
        assert_eq!((left.go_on('B'), left.go_on('B'), left.queue()), (Runs, Committed, String::new()));
        assert_eq!((right.go_on('E'), right.queue()), (Waits, "waiting blocked".into()));
        right.receive();
        assert_eq!((right.go_on('E'), right.go_on('E'), right.queue()), (Runs, Committed, String::new()));
    });
}

/// The front waits for a message, and no other transaction is known to be able to run: SCA knows better (§3.3.1).
#[test]
fn an_analysis_finds_work_behind_a_front_that_waits() {
    use Progress::{Committed, Runs, Waits};
    trace::<Analysed>([1, 1, 2, 0], |left, right| {
        assert_eq!(left.begin('D', &[2]), Runs);
        assert_eq!((left.begin('A', &[0, 1]), left.begin('B', &[2])), (Waits, Waits));
        // Behind D, which asked for nothing that others could know, nothing can be found.
        assert!(!left.step(|side| side.worker.find_work()));
        assert_eq!((left.go_on('D'), left.queue()), (Committed, "waiting blocked".into()));
        assert_eq!(left.go_on('B'), Waits);
        assert!(left.step(|side| side.worker.find_work()));
        assert!(!left.step(|side| side.worker.find_work()));
        assert_eq!((left.queue(), left.go_on('B'), left.go_on('B')), ("waiting free".into(), Runs, Committed));
        right.receive();
        left.receive();
        assert_eq!((left.go_on('A'), left.go_on('A')), (Runs, Committed));
        let counted = left.step(|side| side.worker.statistics());
        assert_eq!((counted.analyses.found, counted.messages), (1, 0));
    });
}

/// Under serial execution nothing runs beside one that waits.
#[test]
fn a_partition_of_hstore_is_for_one_transaction() {
    use Progress::{Committed, Runs, Waits};
    trace::<HStore>([1, 1, 1, 1], |left, right| {
        assert_eq!((left.begin('A', &[0, 1]), left.begin('D', &[2])), (Waits, Waits));
        assert_eq!(left.queue(), "waiting blocked");
        assert_eq!((right.begin('C', &[3]), right.queue()), (Runs, "free".into()));
        right.receive();
        assert_eq!(right.queue(), "free blocked");
        assert_eq!((right.go_on('C'), right.queue()), (Committed, "waiting".into()));
        left.receive();
        assert_eq!((left.go_on('A'), left.go_on('A'), left.queue()), (Runs, Committed, "free".into()));
        assert_eq!((left.go_on('D'), left.go_on('D')), (Runs, Committed));
        right.receive();
        assert_eq!(right.queue(), "");
    });
}

/// Both sides send at once; each holds the other's back until its own, which comes before it in the order, or after it,
/// has come.
#[test]
fn transactions_of_both_sides_enter_both_in_one_order() {
    use Progress::{Committed, Runs, Waits};
    fn check<E: PartitionLocking>() {
        trace::<E>([2, 2, 0, 0], |left, right| {
            assert_eq!((left.begin('A', &[0, 1]), left.queue()), (Waits, "waiting".into()));
            // B comes second in the order of both, and so not before A, of whom nothing is known yet, on its own side.
            assert_eq!((right.begin('B', &[0, 1]), right.queue()), (Waits, String::new()));
            left.receive();
            assert_eq!(left.queue(), "waiting blocked");
            right.receive();
            assert_eq!(right.queue(), "waiting blocked");
            left.receive();
            assert_eq!((left.go_on('A'), left.go_on('A'), left.queue()), (Runs, Committed, "waiting".into()));
            right.receive();
            assert_eq!((right.go_on('B'), right.go_on('B'), right.queue()), (Runs, Committed, String::new()));
            left.receive();
            assert_eq!(left.queue(), "");
        });
    }
    check::<Counting>();
    check::<HStore>();
    check::<Queueing>();
}

/// A transaction gives up before the other side has heard of it, after that one has let it in, and after it has
/// granted.
#[test]
fn who_withdraws_leaves_both_sides_whatever_is_on_its_way() {
    use Progress::{Committed, Gone, Runs, Waits};
    fn check<E: PartitionLocking>() {
        trace::<E>([0, 2, 0, 0], |left, right| {
            assert_eq!((left.begin('A', &[0, 1]), left.step(|side| side.cancel('A'))), (Waits, Gone(Abort::Cancelled)));
            assert_eq!(left.queue(), "");
            right.receive();
            assert_eq!(right.queue(), "", "it was never let in");

            assert_eq!((right.begin('B', &[1]), left.begin('C', &[0, 1])), (Runs, Waits));
            right.receive();
            assert_eq!(right.queue(), "free blocked");
            assert_eq!(left.step(|side| side.cancel('C')), Gone(Abort::Cancelled));
            right.receive();
            assert_eq!((right.queue(), right.go_on('B'), right.queue()), ("free".into(), Committed, String::new()));

            assert_eq!(left.begin('D', &[0, 1]), Waits);
            right.receive();
            assert_eq!((right.queue(), right.begin('E', &[1])), ("waiting".into(), Waits));
            assert_eq!(left.step(|side| side.cancel('D')), Gone(Abort::Cancelled));
            left.receive();
            right.receive();
            assert_eq!((right.go_on('E'), right.go_on('E'), right.queue()), (Runs, Committed, String::new()));
            assert_eq!(left.queue(), "");
        });
    }
    check::<Counting>();
    check::<Analysed>();
    check::<HStore>();
    check::<Queueing>();
}

/// Absent keys have records while a transaction asks for them, also if that transaction gives up.
#[test]
fn absent_rows_of_those_who_withdraw_leave_nothing() {
    use Progress::{Gone, Waits};
    trace::<Counting>([0, 0, 0, 0], |left, right| {
        assert_eq!(left.begin('A', &[100, 101]), Waits);
        assert_eq!(left.step(|side| side.cancel('A')), Gone(Abort::Cancelled));
        assert_eq!(left.begin('B', &[200, 201]), Waits);
        right.receive();
        assert_eq!(left.step(|side| side.cancel('B')), Gone(Abort::Cancelled));
        right.receive();
    });
}

/// A counter that would overflow ends a transaction of several partitions, or of another thread's, as it ends one at
/// home; nothing is left of it.
#[test]
fn an_exhausted_counter_is_refused_by_other_partitions_too() {
    use Progress::{Committed, Gone, Runs, Waits};
    fn check<E: PartitionLocking<Locks = InRecords>>() {
        trace::<E>([1, 1, 0, 0], |left, right| {
            let count = |counts: Counts| {
                right.step(move |side| {
                    let mut participant = side.instance.database().participant();
                    participant.enter();
                    let table = side.instance.database().table(participant.guard(), side.table).expect("it is there");
                    let (key, hash) = (Key::Int(1), Key::Int(1).hash64());
                    let record = table.find(participant.guard(), &key, hash).expect("it was loaded");
                    record.header().set_counts(counts);
                    participant.leave();
                });
            };
            count(Counts::new(u32::MAX - 1, 0));
            assert_eq!(right.begin('A', &[1]), Gone(Abort::Resources));
            // With and without the thread's own partition, and a record that was made for it.
            for (name, keys) in [('B', &[0, 1][..]), ('C', &[1, 101])] {
                assert_eq!((left.begin(name, keys), right.queue()), (Waits, String::new()));
                right.receive();
                assert_eq!(
                    (left.go_on(name), left.queue(), right.queue()),
                    (Gone(Abort::Resources), "".into(), "".into())
                );
                right.receive();
            }
            count(Counts::NONE);
            assert_eq!(left.begin('D', &[0, 1]), Waits);
            right.receive();
            left.receive();
            assert_eq!((left.go_on('D'), left.go_on('D')), (Runs, Committed));
            right.receive();
        });
    }
    check::<Counting>();
    check::<Analysed>();
}

/// A clock that the test moves, and the deadlines of all waits.
struct Clock {
    suspender: Arc<Suspender>,
    now: AtomicU64,
    deadlines: Mutex<Vec<Option<Time>>>,
}

impl Scheduler for Clock {
    fn now(&self) -> Time {
        Time(self.now.load(Ordering::Acquire))
    }

    fn suspend(&self, deadline: Option<Time>) {
        self.deadlines.lock().expect("nobody panics with it").push(deadline);
        self.suspender.suspend();
    }

    fn resume(&self) {}
}

/// A transaction that needs a partition for itself waits for the transactions inside, and then for the last messages of
/// those that are over. Both waits together last no longer than one alone may.
#[test]
fn both_waits_of_who_wants_to_be_alone_have_one_deadline() {
    use Progress::{Committed, Runs, Waits};
    trace::<Counting>([1, 1, 0, 0], |left, right| {
        assert_eq!(left.begin('A', &[0, 1]), Waits);
        right.receive();
        left.receive();
        assert_eq!(left.go_on('A'), Runs);
        let instance = left.step(|side| side.instance.clone());

        let stack = Stack::new(256 * 1024).expect("memory for a stack");
        let (suspender, now, deadlines) = (stack.suspender(), AtomicU64::new(1_000), Mutex::default());
        let clock = Arc::new(Clock { suspender, now, deadlines });
        let waiter = Waiter::new(clock.clone());
        waiter.set_lock_timeout(Some(Duration::from_nanos(500)));
        let mut txn = Engine::transaction(&*instance, waiter);
        let mut alone = Coroutine::new(stack, move || {
            let begun = txn.begin(&Begin::default());
            txn.abort();
            begun
        });
        assert!(matches!(alone.resume(), Resumed::Suspended), "A is inside");
        clock.now.store(1_300, Ordering::Release);
        assert_eq!(left.go_on('A'), Committed);
        assert!(matches!(alone.resume(), Resumed::Suspended), "the right side has not heard of it");
        right.receive();
        assert!(matches!(alone.resume(), Resumed::Returned(Ok(()))));
        assert_eq!(*clock.deadlines.lock().expect("nobody panics with it"), [Some(Time(1_500)); 2]);
    });
}

#[test]
fn settings_are_refused_that_no_thread_could_serve() {
    let configure = |workers, partitions, blocked_limit| {
        let settings = Settings { workers, partitions, blocked_limit, ..Settings::default() };
        Partitioned::<Counting>::configure(&settings).map(|config| config.partitions).map_err(|error| error.0)
    };
    let too_many = |partitions| {
        Err(format!("{partitions} partitions for 2 workers, each of which takes care of one: expected 1 to 2"))
    };
    assert_eq!(configure(2, None, None), Ok(2));
    assert_eq!(configure(4, Some(3), Some(1)), Ok(3));
    assert_eq!(configure(2, Some(0), None), too_many(0));
    assert_eq!(configure(2, Some(3), None), too_many(3));
    let one_worker = "2 partitions for 1 worker, each of which takes care of one: expected 1 to 1";
    assert_eq!(configure(1, Some(2), None), Err(one_worker.to_owned()));
    assert_eq!(
        configure(2, None, Some(0)),
        Err("a limit of 0 blocked transactions lets nobody in: expected 1 or more".to_owned())
    );
}

#[test]
fn tables_are_refused_whose_rows_have_no_partition() {
    let (instance, _) = open::<Queueing>();
    let of = |column| TableSchema { partitioned: true, ..TableSchema::new("t", vec![column], &[0]) };
    let text = of(Column::new("name", Type::Text));
    let cases = [
        (schema(), true),
        (TableSchema { partitioned: false, ..schema() }, false),
        (TableSchema { partitioned: false, constant: true, ..schema() }, true),
        (of(Column::new("id", Type::Int8)), true),
        (of(Column::nullable("id", Type::Int8)), false),
        (TableSchema { constant: true, ..text.clone() }, false),
        (text, false),
    ];
    for (schema, expected) in cases {
        let admitted = instance.admits(&schema);
        assert_eq!(admitted.is_ok(), expected, "{schema:?}");
        assert!(admitted.is_ok() || admitted.is_err_and(|what| what.contains("PARTITION BY HASH")));
    }
}
