//! Random interleavings of whole transactions with concurrency-control threads, under `--cfg shuttle`. Threads serve,
//! sleep, and leave while messages are under way. Transactions are cancelled at any time. A ring holds one message, so
//! that all threads also use mailboxes. shuttle has no time: it reports a lost message or wake-up as a deadlock.

use super::testing::Thread;
use super::{CcThreads, OneTable, Orthrus, OrthrusConfig, Owning, Variant};
use crate::Instance;
use crate::shared::planned::PlannedTransaction;
use hotrow_storage::{Column, Key, Row, TableId, TableSchema, Type, Value};
use hotrow_sync::atomic::{AtomicUsize, Ordering};
use hotrow_sync::{Arc, Scheduler, Waiter, thread};
use hotrow_txn::{Abort, Accesses, Begin, Duties, Engine, Inspection, Intent, Isolation, Transaction, WorkerId, Write};
use std::time::Duration;

fn iterations() -> usize {
    std::env::var("HOTROW_MODEL_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// The rows that a transaction updates. Row 0 is in the first part, rows 1 and 3 are in the second.
type Rows = &'static [i64];

/// A row that is not there at first, and that no transaction plans to insert.
const LATE: i64 = 5;

/// The number of workers that execute transactions; two more do concurrency control.
const EXECUTING: usize = 2;

/// The database of a model, with the number of transactions that have each row.
struct World<V: Variant> {
    instance: Arc<Instance<Orthrus<V>>>,
    table: TableId,
    holders: [AtomicUsize; 4],
    /// The number of executing threads that are over.
    over: AtomicUsize,
}

impl<V: Variant> World<V> {
    fn new() -> Arc<Self> {
        // No wait may end by time, also if the machine is busy with other things.
        let wait_limit = Duration::from_secs(3600);
        let config = OrthrusConfig { workers: EXECUTING + 2, cc_threads: CcThreads::Fixed(2), wait_limit };
        let instance = Instance::<Orthrus<V>>::new(config);
        let columns = vec![Column::new("key", Type::Int8), Column::new("number", Type::Int8)];
        let table = instance.create_table(TableSchema { partitioned: true, ..TableSchema::new("t", columns, &[0]) });
        let world = Self { instance, table, holders: Default::default(), over: AtomicUsize::new(0) };
        (0..4).for_each(|key| world.instance.load(table, world.new_row(key).as_ref()).expect("the key is new"));
        Arc::new(world)
    }

    fn new_row(&self, key: i64) -> Row {
        Row::from_values(&self.instance.layout(self.table), &[Value::Int8(key), Value::Int8(0)])
    }

    fn thread(&self, number: usize) -> (Arc<Thread<V::Table>>, Waiter) {
        Thread::new(self.instance.worker(WorkerId(number as u32)))
    }

    /// Runs transactions on a thread with a port, or on one without.
    fn execute(&self, thread: &Thread<V::Table>, waiter: &Waiter, has_port: bool, transactions: &[Rows]) {
        let mut txn = thread.with(|worker| self.instance.transaction(worker, waiter.clone()));
        if has_port {
            // The port keeps this waiter. The transactions' waiter refers to the worker, and the worker to the port: a
            // cycle.
            thread.with(|worker| worker.settle(&thread.parking()));
        }
        for rows in transactions {
            self.transact(&mut txn, rows);
            // The next attempt begins while messages of the last one may still be on their way.
            waiter.clear_cancel();
        }
        drop(txn);
        thread.with(Duties::leave);
        self.over.fetch_add(1, Ordering::AcqRel);
    }

    /// Runs a transaction from its beginning to its end. A transaction that is cancelled may fail to begin.
    fn transact(&self, txn: &mut PlannedTransaction<super::OrthrusAdmission<V::Table>>, rows: Rows) {
        let mut accesses = Accesses::new();
        rows.iter().for_each(|&row| accesses.push(self.table, Key::Int(row), Intent::Write));
        match txn.begin(&Begin { accesses: Some(&accesses), ..Begin::at(Isolation::Serializable) }) {
            Ok(()) => {}
            Err(Abort::Cancelled) => return txn.abort(),
            Err(other) => panic!("{other:?}"),
        }
        for &row in rows {
            assert_eq!(self.holders[row as usize].fetch_add(1, Ordering::AcqRel), 0, "another one has row {row}");
        }
        thread::yield_now();
        // A row of the second part that no plan has: its lock is asked for while the transaction runs.
        let is_late = rows == BOTH && {
            let inserted = txn.insert(self.table, self.new_row(LATE).as_ref());
            assert!(matches!(inserted, Ok(Write::Done) | Err(Abort::OutsidePlan | Abort::Conflict)), "{inserted:?}");
            true
        };
        for &row in rows.iter().filter(|_| !is_late) {
            assert_eq!(txn.update(self.table, &Key::Int(row), &mut |_| Ok(())), Ok(Write::Done));
        }
        for &row in rows {
            self.holders[row as usize].fetch_sub(1, Ordering::AcqRel);
        }
        // The insert is undone, so that the next transaction can insert the row.
        if is_late { txn.abort() } else { txn.commit().expect("it commits") }
    }

    /// Does concurrency control until all executing threads are over. If a number of `times` is given, the thread
    /// leaves after that many steps.
    fn serve(&self, thread: &Thread<V::Table>, times: Option<usize>) {
        thread.with(|worker| worker.settle(&thread.parking()));
        let mut left = times;
        while left != Some(0) && self.over.load(Ordering::Acquire) < EXECUTING {
            left = left.map(|left| left - 1);
            thread.suspend(None);
        }
        thread.with(Duties::leave);
    }

    /// Asserts that no request is left in any part, and that a session can run a transaction.
    fn assert_at_rest(&self) {
        self.instance.audit().expect("the invariants hold");
        assert_eq!(self.instance.protocol().parts.usage(), (0, 0));
        let (thread, waiter) = self.thread(0);
        let mut txn = thread.with(|worker| self.instance.transaction(worker, waiter));
        self.transact(&mut txn, &[0, 1]);
    }
}

/// The threads of a model: which of the executing threads have ports, and after how many steps each of the others
/// leaves, if it does not stay to the end.
#[derive(Clone, Copy)]
struct Cast {
    ports: [bool; EXECUTING],
    serve: [Option<usize>; 2],
    /// Whether the first executing thread may be cancelled at any time.
    cancels: bool,
}

/// Runs two threads with these transactions, and two that do concurrency control.
fn check<V: Variant>(cast: Cast, transactions: [&'static [Rows]; EXECUTING]) {
    let model = move || {
        let world = World::<V>::new();
        let serving: Vec<_> = (0..2)
            .map(|number| {
                let (thread, _) = world.thread(EXECUTING + number);
                let (world, own) = (world.clone(), thread.clone());
                (thread::spawn(move || world.serve(&own, cast.serve[number])), thread)
            })
            .collect();
        let executing: Vec<_> = (0..EXECUTING)
            .map(|number| {
                let (thread, waiter) = world.thread(number);
                let (world, own) = (world.clone(), waiter.clone());
                let run = move || world.execute(&thread, &own, cast.ports[number], transactions[number]);
                (thread::spawn(run), waiter)
            })
            .collect();
        if cast.cancels {
            executing[0].1.cancel();
        }
        executing.into_iter().for_each(|(thread, _)| thread.join().expect("no thread panics"));
        serving.iter().for_each(|(_, thread)| thread.resume());
        serving.into_iter().for_each(|(thread, _)| thread.join().expect("no thread panics"));
        world.assert_at_rest();
    };
    shuttle::check_random(model, iterations());
}

const BOTH: Rows = &[0, 1];
const FIRST: Rows = &[0];
const SECOND: Rows = &[1, 3];

const STAYS: [Option<usize>; 2] = [None; 2];
const WITH_PORTS: [bool; 2] = [true; 2];

fn forwarding<V: Variant>() {
    for ports in [WITH_PORTS, [true, false]] {
        let cast = Cast { ports, serve: STAYS, cancels: false };
        check::<V>(cast, [&[BOTH, FIRST], &[BOTH, SECOND]]);
    }
}

fn leaving<V: Variant>() {
    for serve in [[Some(2), None], [Some(1), Some(3)], [Some(0), Some(2)]] {
        let cast = Cast { ports: [true, false], serve, cancels: false };
        check::<V>(cast, [&[BOTH, SECOND], &[BOTH, BOTH]]);
    }
}

fn withdrawing<V: Variant>() {
    for (ports, serve) in [(WITH_PORTS, STAYS), ([false, true], [Some(2), None]), ([false; 2], [Some(0); 2])] {
        let cast = Cast { ports, serve, cancels: true };
        check::<V>(cast, [&[BOTH, BOTH], &[BOTH, FIRST]]);
    }
}

#[test]
fn a_request_is_forwarded_and_released_in_any_order() {
    forwarding::<Owning>();
    forwarding::<OneTable>();
}

#[test]
fn a_thread_that_leaves_forgets_no_message() {
    leaving::<Owning>();
    leaving::<OneTable>();
}

#[test]
fn a_transaction_that_withdraws_is_gone_everywhere() {
    withdrawing::<Owning>();
    withdrawing::<OneTable>();
}
