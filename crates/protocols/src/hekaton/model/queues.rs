//! Queues of writers: each waiter is woken, in the order of arrival, however the waits of others end. Waits that unwind
//! are in `tests::queues`: shuttle's tasks share a thread, and would take the unwinding of one for that of all.
//!
//! | broken | fails |
//! | --- | --- |
//! | `leave`, or `release`, calls no waiter | both |
//! | a transaction whose wait was cut short stays in the queue | the first |
//! | a transaction that comes goes before the waiting ones | the first |
//! | a transaction that finds a row free does not look whether others came before | the first |
//! | `call_after` does not look whether the holder has ended | the second |
//! | `call_after` does not look whether the holder has given up locks since | the second |
//! | `lock_to_write` does not look again after it has noted which transaction it met | the second, in its long form |

use super::{Scene, check, waiter};
use hotrow_storage::IndexKind;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::wait::ThreadScheduler;
use hotrow_sync::{Arc, Mutex, Scheduler, Time, Waiter, thread};
use hotrow_txn::{Abort, Begin, Inspection, Isolation, Transaction, Write};
use std::time::Duration;

/// The end of a wait that no other transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    TimesOut,
    IsCancelled,
}

/// A scheduler whose time another thread moves on. A thread that waits there does not wait for time to pass.
struct Clock {
    thread: ThreadScheduler,
    now: AtomicU64,
}

impl Clock {
    fn new() -> Arc<Self> {
        let thread = ThreadScheduler::new(Duration::ZERO);
        Arc::new(Self { thread, now: AtomicU64::new(1) })
    }

    fn cut(&self, waiter: &Waiter, cut: Cut) {
        match cut {
            Cut::TimesOut => self.now.store(Duration::from_secs(3600).as_nanos() as u64, Ordering::Release),
            Cut::IsCancelled => return waiter.cancel(),
        }
        self.thread.resume();
    }
}

impl Scheduler for Clock {
    fn now(&self) -> Time {
        Time(self.now.load(Ordering::Acquire))
    }

    fn suspend(&self, _deadline: Option<Time>) {
        self.thread.suspend(None);
    }

    fn resume(&self) {
        self.thread.resume();
    }
}

/// The way in which the first writer gives the row up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    Commits,
    Aborts,
    /// The writer rolls back to a savepoint and commits when all others have ended.
    Withdraws,
}

const ENDS: [Ends; 3] = [Ends::Commits, Ends::Aborts, Ends::Withdraws];

/// The writers of row 0, and the order in which they wrote it.
struct Line {
    scene: Arc<Scene>,
    order: Mutex<Vec<u64>>,
    ended: AtomicU64,
}

/// Whether a transaction that gives way is undone as a whole, or keeps what it did before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Undoes {
    Everything,
    TheStatement,
}

impl Line {
    fn new() -> Arc<Self> {
        Arc::new(Self { scene: Scene::new(4, IndexKind::Hash), order: Mutex::default(), ended: AtomicU64::new(0) })
    }

    /// A transaction that has row 0.
    fn first_writer(&self) -> Box<dyn Transaction> {
        let mut txn = self.scene.begin(Isolation::ReadCommitted);
        assert_eq!(self.scene.add(&mut *txn, 0, 100), Ok(Write::Done));
        txn
    }

    /// Ends the transaction that has row 0. `others` is the number of other transactions.
    fn end(&self, mut txn: Box<dyn Transaction>, ends: Ends, others: u64) {
        match ends {
            Ends::Commits => return txn.commit().expect("nobody is in the way"),
            Ends::Aborts => return txn.abort(),
            Ends::Withdraws => txn.rollback_to(hotrow_txn::Savepoint(0)),
        }
        while self.ended.load(Ordering::Acquire) < others {
            thread::yield_now();
        }
        txn.commit().expect("nobody is in the way");
    }

    /// Adds one to row 0, and gives way for as long as other transactions are there.
    fn add(&self, number: u64, waiter: &Waiter, undoes: Undoes) -> Result<(), Abort> {
        let mut txn = self.scene.transaction(waiter);
        let mut savepoint = None;
        loop {
            if savepoint.is_none() {
                txn.begin(&Begin { one_shot: true, ..Begin::at(Isolation::ReadCommitted) })?;
            }
            if undoes == Undoes::TheStatement && savepoint.is_none() {
                assert_eq!(self.scene.add(&mut *txn, number as i64, 1), Ok(Write::Done));
                savepoint = Some(txn.savepoint());
            }
            match self.scene.add(&mut *txn, 0, 1) {
                Ok(write) => assert_eq!(write, Write::Done),
                Err(abort) => {
                    assert_eq!(abort, Abort::WriteConflict);
                    assert!(txn.give_way(savepoint)?, "it knows whom it met");
                    continue;
                }
            }
            self.order.lock().expect("nobody panics").push(number);
            return txn.commit();
        }
    }

    /// Adds one to row 0 as [`add`](Self::add) does, on a thread of its own.
    fn spawn(self: &Arc<Self>, number: u64, waiter: Waiter, undoes: Undoes) -> thread::JoinHandle<Result<(), Abort>> {
        let line = self.clone();
        thread::spawn(move || {
            let outcome = line.add(number, &waiter, undoes);
            line.ended.fetch_add(1, Ordering::AcqRel);
            outcome
        })
    }

    /// Checks the audit, the queues and the value of row 0 when all transactions have ended; `done` is the number of
    /// writers that have committed.
    fn check(&self, ends: Ends, done: usize) {
        self.scene.engine.audit().expect("nobody is there");
        assert!(!self.scene.engine.protocol().shared.transactions.queues.exist(), "nobody waits");
        let before = if ends == Ends::Commits { 100 } else { 0 };
        assert_eq!(self.scene.number(0), Some(before + done as i64));
    }
}

fn until_it_waits(waiter: &Waiter) {
    while waiter.waits_since().is_none() {
        thread::yield_now();
    }
}

/// Two transactions wait, one after the other. Then the first writer ends, while the wait of one of the two is cut, and
/// a third transaction comes.
#[test]
fn those_that_stay_go_on_in_the_order_in_which_they_came() {
    let cases = [None, Some(Cut::TimesOut), Some(Cut::IsCancelled)]
        .into_iter()
        .flat_map(|cut| [1, 2].map(|leaver| (cut, leaver)))
        .flat_map(|case| [Undoes::Everything, Undoes::TheStatement].map(|undoes| (case, undoes)));
    for (((cut, leaver), undoes), ends) in cases.flat_map(|case| ENDS.map(|ends| (case, ends))) {
        check(move || {
            let line = Line::new();
            let first = line.first_writer();
            let clocks = [1, 2].map(|_| Clock::new());
            let waiters = clocks.clone().map(|clock| Waiter::new(clock));
            let mut threads = Vec::new();
            for (number, waiter) in (1..).zip(&waiters) {
                waiter.set_lock_timeout(Some(Duration::from_secs(1)));
                threads.push(line.spawn(number, waiter.clone(), undoes));
                until_it_waits(waiter);
            }
            threads.push(line.spawn(3, waiter(), undoes));
            let cutting = cut.map(|cut| {
                let (clock, waiter) = (clocks[leaver - 1].clone(), waiters[leaver - 1].clone());
                thread::spawn(move || clock.cut(&waiter, cut))
            });
            line.end(first, ends, 3);
            cutting.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
            let outcomes = threads.into_iter().map(|thread| thread.join().expect("no thread panics"));
            let done: Vec<u64> = (1..).zip(outcomes).filter(|(_, outcome)| *outcome == Ok(())).map(|it| it.0).collect();
            let mut order = line.order.lock().expect("nobody panics").clone();
            // A wait for a commit that it depends on may have been cut.
            order.retain(|number| done.contains(number));
            assert_eq!(order, done, "in the order in which they came");
            let stay: Vec<u64> = (1..=3).filter(|&number| cut.is_none() || number != leaver as u64).collect();
            assert!(stay.iter().all(|number| done.contains(number)), "{done:?} have done it");
            line.check(ends, done.len());
        });
    }
}

/// The first writer gives the row up at any time while other transactions meet it, and queue.
#[test]
fn nobody_waits_for_one_that_has_let_the_row_go() {
    for (ends, undoes) in
        ENDS.into_iter().flat_map(|ends| [Undoes::Everything, Undoes::TheStatement].map(|to| (ends, to)))
    {
        check(move || {
            let line = Line::new();
            let first = line.first_writer();
            let threads = [1, 2].map(|number| line.spawn(number, waiter(), undoes));
            line.end(first, ends, 2);
            let outcomes = threads.map(|thread| thread.join().expect("no thread panics"));
            assert_eq!(outcomes, [Ok(()); 2]);
            line.check(ends, 2);
        });
    }
}
