//! Transactions that give way to a writer: how long they wait, in which order they go on, and what becomes of circles.

use super::{Fixture, fixture};
use hotrow_storage::Key;
use hotrow_sync::atomic::{AtomicUsize, Ordering};
use hotrow_sync::{Arc, Mutex, Scheduler, Time, Waiter, thread};
use hotrow_txn::{Abort, Begin, Engine, Inspection, Isolation, LockPart, LockTarget, Savepoint, Transaction, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

/// A transaction that can wait, and its waiter.
struct Patient {
    txn: Box<dyn Transaction>,
    waiter: Waiter,
}

fn begun(case: &Fixture, level: Isolation, label: u32) -> Patient {
    let waiter = Waiter::thread(Duration::ZERO);
    let mut txn = Engine::transaction(&*case.engine, waiter.clone());
    txn.begin(&Begin { label, ..Begin::at(level) }).expect("beginning needs nothing");
    Patient { txn, waiter }
}

/// Waits until a transaction waits.
fn until_it_waits(waiter: &Waiter) {
    while waiter.waits_since().is_none() {
        thread::yield_now();
    }
}

/// Adds one to a row's number.
fn increment(case: &Fixture, txn: &mut dyn Transaction, id: i64) -> Result<Write, Abort> {
    txn.update(case.table, &Key::Int(id), &mut |row| {
        let number = row.as_ref().int8(1);
        row.set(1, &hotrow_storage::Value::Int8(number + 1));
        Ok(())
    })
}

/// The step of the first writer, which locks row 0.
type First = fn(&Fixture, &mut dyn Transaction);
type Last = fn(&mut dyn Transaction);
type Call = fn(&Fixture, &mut dyn Transaction) -> Result<Write, Abort>;

#[test]
fn a_statement_starts_again_when_the_first_writer_has_ended() {
    let update: First = |case, txn| assert_eq!(case.write(txn, 0, 10), Ok(Write::Done));
    let delete: First = |case, txn| assert_eq!(txn.delete(case.table, &Key::Int(0)), Ok(Write::Done));
    let lock: First = |case, txn| assert!(txn.read_for_update(case.table, &Key::Int(0)).is_ok_and(|row| row.is_some()));
    let commit: Last = |txn| txn.commit().expect("nobody is in the way");
    let roll_back: Last = |txn| txn.rollback_to(Savepoint(0));
    let cases = [
        (update, commit, (Write::Done, Some(11))),
        (update, |txn| txn.abort(), (Write::Done, Some(1))),
        (update, roll_back, (Write::Done, Some(1))),
        (delete, commit, (Write::Absent, None)),
        (delete, |txn| txn.abort(), (Write::Done, Some(1))),
        (lock, commit, (Write::Done, Some(1))),
        (lock, roll_back, (Write::Done, Some(1))),
    ];
    for (number, (first, last, (outcome, seen))) in cases.into_iter().enumerate() {
        let case = fixture(2);
        let mut holder = case.begin(Isolation::Serializable);
        first(&case, &mut *holder);
        let Patient { mut txn, waiter } = begun(&case, Isolation::ReadCommitted, 0);
        assert_eq!(case.write(&mut *txn, 1, 5), Ok(Write::Done));
        let savepoint = txn.savepoint();
        assert_eq!(increment(&case, &mut *txn, 0), Err(Abort::WriteConflict), "case {number}");
        let waits = thread::spawn(move || {
            let waited = txn.give_way(Some(savepoint));
            (txn, waited)
        });
        until_it_waits(&waiter);
        case.engine.audit().expect("a transaction waits, and will be woken");
        last(&mut *holder);
        let (mut txn, waited) = waits.join().expect("it does not panic");
        assert_eq!(waited, Ok(true), "case {number}");
        assert_eq!(increment(&case, &mut *txn, 0), Ok(outcome), "case {number}");
        txn.commit().expect("nobody is in the way");
        drop(holder);
        let mut reader = case.begin(Isolation::Serializable);
        let after = (case.read(&mut *reader, 0), case.read(&mut *reader, 1));
        assert_eq!(after, (Ok(seen), Ok(Some(5))), "case {number}: what it did before stays");
        drop((reader, txn));
        case.engine.audit().expect("nobody is there");
    }
}

#[test]
fn an_insert_waits_for_the_transaction_that_has_its_key() {
    for (commits, outcome) in [(true, Write::Duplicate(hotrow_storage::IndexRef::Primary)), (false, Write::Done)] {
        let case = fixture(1);
        let mut holder = case.begin(Isolation::Serializable);
        assert_eq!(case.insert(&mut *holder, 7, None), Ok(Write::Done));
        let Patient { mut txn, waiter } = begun(&case, Isolation::ReadCommitted, 0);
        let savepoint = txn.savepoint();
        assert_eq!(case.insert(&mut *txn, 7, None), Err(Abort::WriteConflict));
        let waits = thread::spawn(move || {
            let waited = txn.give_way(Some(savepoint));
            (txn, waited)
        });
        until_it_waits(&waiter);
        if commits {
            holder.commit().expect("nobody is in the way");
        } else {
            holder.abort();
        }
        let (mut txn, waited) = waits.join().expect("it does not panic");
        assert_eq!(waited, Ok(true));
        assert_eq!(case.insert(&mut *txn, 7, None), Ok(outcome));
        txn.commit().expect("nobody is in the way");
    }
}

#[test]
fn transactions_go_on_in_the_order_in_which_they_came() {
    const WAITERS: usize = 6;
    for level in [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable] {
        let case = Arc::new(fixture(1));
        let mut holder = case.begin(level);
        assert_eq!(case.write(&mut *holder, 0, 10), Ok(Write::Done));
        let (order, attempts): (Arc<Mutex<Vec<usize>>>, Arc<AtomicUsize>) = Default::default();
        let mut threads = Vec::new();
        for number in 0..WAITERS {
            let waiter = Waiter::thread(Duration::ZERO);
            let (case, order, attempts, its_own) = (case.clone(), order.clone(), attempts.clone(), waiter.clone());
            threads.push(thread::spawn(move || {
                let mut txn = Engine::transaction(&*case.engine, its_own);
                loop {
                    attempts.fetch_add(1, Ordering::AcqRel);
                    txn.begin(&Begin { one_shot: true, ..Begin::at(level) }).expect("beginning needs nothing");
                    match increment(&case, &mut *txn, 0) {
                        Ok(_) => break,
                        Err(abort) => {
                            assert_eq!(abort, Abort::WriteConflict);
                            assert_eq!(txn.give_way(None), Ok(true));
                        }
                    }
                }
                order.lock().expect("nobody panics").push(number);
                txn.commit().expect("nobody is in the way");
            }));
            until_it_waits(&waiter);
        }
        holder.commit().expect("nobody is in the way");
        threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
        assert_eq!(*order.lock().expect("nobody panics"), (0..WAITERS).collect::<Vec<_>>(), "{level}");
        assert_eq!(
            attempts.load(Ordering::Acquire),
            2 * WAITERS,
            "{level}: one attempt before the wait, and one after it"
        );
        let mut reader = case.begin(Isolation::Serializable);
        assert_eq!(case.read(&mut *reader, 0), Ok(Some(10 + WAITERS as i64)), "{level}");
        drop(reader);
        case.engine.audit().expect("nobody is there");
    }
}

#[test]
fn a_row_is_left_to_those_that_came_before() {
    let case = fixture(1);
    let mut holder = case.begin(Isolation::ReadCommitted);
    assert_eq!(case.write(&mut *holder, 0, 1), Ok(Write::Done));
    let mut first = begun(&case, Isolation::ReadCommitted, 0);
    assert_eq!(increment(&case, &mut *first.txn, 0), Err(Abort::WriteConflict));
    holder.commit().expect("nobody is in the way");
    assert_eq!(first.txn.give_way(None), Ok(true), "the row is free, and it has its turn");
    let mut late = begun(&case, Isolation::ReadCommitted, 0);
    assert_eq!(increment(&case, &mut *late.txn, 0), Err(Abort::WriteConflict), "another one has its turn");
    let mut strict = begun(&case, Isolation::Snapshot, 0);
    assert_eq!(increment(&case, &mut *strict.txn, 0), Ok(Write::Done), "one that cannot wait takes what is free");
    strict.txn.abort();
    first.txn.begin(&Begin::at(Isolation::ReadCommitted)).expect("beginning needs nothing");
    assert_eq!(increment(&case, &mut *first.txn, 0), Ok(Write::Done));
    let waits = thread::spawn(move || (late.txn.give_way(None), late.txn));
    until_it_waits(&late.waiter);
    // It stays in the block, and those behind it wait for its end now.
    first.txn.idle();
    assert!(late.waiter.waits_since().is_some());
    case.engine.audit().expect("a transaction waits, and will be woken");
    first.txn.commit().expect("nobody is in the way");
    assert_eq!(waits.join().expect("it does not panic").0, Ok(true));
    case.engine.audit().expect("nobody is there");
}

#[test]
fn a_wait_ends_at_its_limit_and_when_it_is_cancelled() {
    let case = fixture(1);
    let mut holder = case.begin(Isolation::ReadCommitted);
    assert_eq!(case.write(&mut *holder, 0, 1), Ok(Write::Done));
    for savepoint in [None, Some(Savepoint(0))] {
        let Patient { mut txn, waiter } = begun(&case, Isolation::ReadCommitted, 0);
        assert_eq!(increment(&case, &mut *txn, 0), Err(Abort::WriteConflict));
        waiter.set_lock_timeout(Some(Duration::from_millis(1)));
        assert_eq!(txn.give_way(savepoint), Err(Abort::Timeout));
        waiter.set_lock_timeout(None);
        txn.abort();
        txn.begin(&Begin::at(Isolation::ReadCommitted)).expect("beginning needs nothing");
        assert_eq!(increment(&case, &mut *txn, 0), Err(Abort::WriteConflict));
        let waits = thread::spawn(move || {
            let waited = txn.give_way(savepoint);
            txn.abort();
            waited
        });
        until_it_waits(&waiter);
        waiter.cancel();
        assert_eq!(waits.join().expect("it does not panic"), Err(Abort::Cancelled));
        case.engine.audit().expect("nobody is left in the queue");
    }
    let mut idler = case.begin(Isolation::ReadCommitted);
    assert_eq!(idler.give_way(None), Ok(false), "nobody stood in its way");
}

/// The first writer withdraws its changes between the call that met it and the wait for it.
#[test]
fn a_key_that_was_given_up_before_the_wait_is_not_waited_for() {
    let updates: [First; 2] = [
        |case, txn| assert_eq!(case.write(txn, 0, 10), Ok(Write::Done)),
        |case, txn| assert_eq!(case.insert(txn, 7, None), Ok(Write::Done)),
    ];
    let tries: [Call; 2] = [|case, txn| increment(case, txn, 0), |case, txn| case.insert(txn, 7, None)];
    for ((number, update), again) in updates.into_iter().enumerate().zip(tries) {
        for keeps_row in [false, true] {
            for savepoint in [None, Some(Savepoint(0))] {
                let what = format!("case {number}, it keeps the row {keeps_row}, back to {savepoint:?}");
                let case = fixture(3);
                let mut holder = case.begin(Isolation::ReadCommitted);
                update(&case, &mut *holder);
                assert_eq!(case.write(&mut *holder, 2, 10), Ok(Write::Done));
                let Patient { mut txn, waiter } = begun(&case, Isolation::ReadCommitted, 0);
                assert_eq!(again(&case, &mut *txn), Err(Abort::WriteConflict));
                holder.rollback_to(Savepoint(usize::from(keeps_row)));
                waiter.set_lock_timeout(Some(Duration::from_millis(1)));
                assert_eq!(txn.give_way(savepoint), Ok(true), "{what}");
                if savepoint.is_none() {
                    txn.begin(&Begin::at(Isolation::ReadCommitted)).expect("beginning needs nothing");
                }
                if keeps_row {
                    assert_eq!(again(&case, &mut *txn), Err(Abort::WriteConflict), "{what}");
                    assert_eq!(txn.give_way(savepoint), Err(Abort::Timeout), "{what}");
                    txn.abort();
                } else {
                    assert_eq!(again(&case, &mut *txn), Ok(Write::Done), "{what}");
                    txn.commit().expect("nobody is in the way");
                }
                holder.commit().expect("nobody is in the way");
                case.engine.audit().expect("nobody is there");
            }
        }
    }
}

/// A scheduler under which each wait unwinds, after a closure has run.
struct Unwinds(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Scheduler for Unwinds {
    fn now(&self) -> Time {
        Time(0)
    }

    fn suspend(&self, _: Option<Time>) {
        let before = self.0.lock().expect("nobody panics with it").take();
        before.into_iter().for_each(|before| before());
        resume_unwind(Box::new("dropped while it waited"));
    }

    fn resume(&self) {}
}

#[test]
fn a_wait_that_unwinds_is_in_nobodys_way() {
    for has_turn in [false, true] {
        for savepoint in [None, Some(Savepoint(0))] {
            let what = format!("it has its turn {has_turn}, back to {savepoint:?}");
            let case = Arc::new(fixture(1));
            let holder = Arc::new(Mutex::new(case.begin(Isolation::ReadCommitted)));
            assert_eq!(case.write(&mut **holder.lock().expect("nobody panics with it"), 0, 1), Ok(Write::Done));
            let waiting: Arc<Mutex<Option<Waiting>>> = Arc::default();
            // While the first one waits another one comes, and the holder may end.
            let (others, holds, then) = (case.clone(), holder.clone(), waiting.clone());
            let before = move || {
                let mut next = begun(&others, Isolation::ReadCommitted, 0);
                assert_eq!(increment(&others, &mut *next.txn, 0), Err(Abort::WriteConflict));
                *then.lock().expect("nobody panics with it") = Some(give_way(next, None));
                if has_turn {
                    holds.lock().expect("nobody panics with it").commit().expect("nobody is in the way");
                }
            };
            let unwinds = Waiter::new(Arc::new(Unwinds(Mutex::new(Some(Box::new(before))))));
            let mut txn = Engine::transaction(&*case.engine, unwinds);
            txn.begin(&Begin::at(Isolation::ReadCommitted)).expect("beginning needs nothing");
            assert_eq!(increment(&case, &mut *txn, 0), Err(Abort::WriteConflict));
            let unwound = catch_unwind(AssertUnwindSafe(|| txn.give_way(savepoint)));
            assert!(unwound.is_err(), "{what}");
            drop(txn);
            holder.lock().expect("nobody panics with it").abort();
            let next = waiting.lock().expect("nobody panics with it").take().expect("it has come");
            assert_eq!(next.join().expect("it does not panic").0, Ok(true), "{what}");
            case.engine.audit().expect("nobody is there");
        }
    }
}

/// A thread on which a transaction waits.
type Waiting = thread::JoinHandle<(Result<bool, Abort>, Box<dyn Transaction>)>;

fn give_way(patient: Patient, to: Option<Savepoint>) -> Waiting {
    let Patient { mut txn, waiter } = patient;
    let waiting = thread::spawn(move || (txn.give_way(to), txn));
    until_it_waits(&waiter);
    waiting
}

#[test]
fn of_two_that_wait_for_each_other_the_second_is_the_victim() {
    let case = fixture(2);
    let (mut one, mut two) = (begun(&case, Isolation::ReadCommitted, 1), begun(&case, Isolation::ReadCommitted, 2));
    assert_eq!(case.write(&mut *one.txn, 0, 1), Ok(Write::Done));
    assert_eq!(case.write(&mut *two.txn, 1, 1), Ok(Write::Done));
    assert_eq!(case.write(&mut *one.txn, 1, 2), Err(Abort::WriteConflict));
    let waiting = give_way(one, Some(Savepoint(1)));
    assert_eq!(case.write(&mut *two.txn, 0, 2), Err(Abort::WriteConflict));
    assert_eq!(two.txn.give_way(Some(Savepoint(1))), Err(Abort::Deadlock));
    two.txn.abort();
    let deadlock = two.txn.deadlock().expect("it is known");
    let edges: Vec<_> = deadlock.waits.iter().map(|edge| (edge.waiter, edge.blocker, edge.target.clone())).collect();
    let row = |id| LockTarget::Table { table: case.table, part: LockPart::Row, key: Some(Key::Int(id)) };
    assert_eq!(edges, [(2, 1, row(0)), (1, 2, row(1))]);
    let (waited, mut one) = waiting.join().expect("it does not panic");
    assert_eq!(waited, Ok(true));
    assert_eq!(case.write(&mut *one, 1, 2), Ok(Write::Done));
    one.commit().expect("nobody is in the way");
    drop(one);
    case.engine.audit().expect("nobody is there");
}

#[test]
fn a_circle_that_closes_when_a_queue_gets_another_holder_is_found() {
    let case = fixture(2);
    let mut holder = case.begin(Isolation::ReadCommitted);
    assert_eq!(case.write(&mut *holder, 0, 1), Ok(Write::Done));
    // The first in the queue of row 0 holds nothing; the second holds row 1.
    let mut first = begun(&case, Isolation::ReadCommitted, 1);
    assert_eq!(increment(&case, &mut *first.txn, 0), Err(Abort::WriteConflict));
    let mut second = begun(&case, Isolation::ReadCommitted, 2);
    assert_eq!(increment(&case, &mut *second.txn, 1), Ok(Write::Done));
    assert_eq!(increment(&case, &mut *second.txn, 0), Err(Abort::WriteConflict));
    let first_waiting = give_way(first, None);
    let second_waiting = give_way(second, Some(Savepoint(1)));
    holder.commit().expect("nobody is in the way");
    let (waited, mut first) = first_waiting.join().expect("it does not panic");
    assert_eq!(waited, Ok(true));
    // A transaction that does not line up takes row 0 before it, and waits for row 1.
    let mut third = begun(&case, Isolation::Snapshot, 3);
    assert_eq!(increment(&case, &mut *third.txn, 0), Ok(Write::Done));
    assert_eq!(increment(&case, &mut *third.txn, 1), Err(Abort::WriteConflict));
    let third_waiting = give_way(third, Some(Savepoint(1)));
    first.begin(&Begin::at(Isolation::ReadCommitted)).expect("beginning needs nothing");
    assert_eq!(increment(&case, &mut *first, 0), Err(Abort::WriteConflict));
    let first_waiting = thread::spawn(move || (first.give_way(None), first));
    let (waited, mut second) = second_waiting.join().expect("it does not panic");
    assert_eq!(waited, Err(Abort::Deadlock));
    second.abort();
    let deadlock = second.deadlock().expect("it is known");
    assert_eq!(deadlock.waits.iter().map(|edge| (edge.waiter, edge.blocker)).collect::<Vec<_>>(), [(2, 3), (3, 2)]);
    let (waited, mut third) = third_waiting.join().expect("it does not panic");
    assert_eq!(waited, Ok(true));
    third.commit().expect("nobody is in the way");
    assert_eq!(first_waiting.join().expect("it does not panic").0, Ok(true));
}

#[test]
fn a_writer_that_waits_and_one_that_must_end_after_it_are_a_circle() {
    let case = fixture(2);
    // The pessimist has read row 0, and waits for row 1; its holder has changed row 0, and must end after the
    // pessimist.
    let mut pessimist = begun(&case, Isolation::ReadCommitted, 1);
    pessimist.txn.hold_reads(true);
    assert_eq!(case.read(&mut *pessimist.txn, 0), Ok(Some(0)));
    pessimist.txn.hold_reads(false);
    let mut writer = begun(&case, Isolation::ReadCommitted, 2);
    assert_eq!(case.write(&mut *writer.txn, 0, 1), Ok(Write::Done));
    assert_eq!(case.write(&mut *writer.txn, 1, 1), Ok(Write::Done));
    assert_eq!(case.write(&mut *pessimist.txn, 1, 2), Err(Abort::WriteConflict));
    let waiting = give_way(pessimist, Some(Savepoint(0)));
    assert_eq!(writer.txn.commit(), Err(Abort::Deadlock));
    writer.txn.abort();
    assert_eq!(waiting.join().expect("it does not panic").0, Ok(true));
}

#[test]
fn many_increments_are_all_there_and_leave_no_garbage() {
    const THREADS: usize = 6;
    const EACH: usize = 300;
    for level in [Isolation::ReadCommitted, Isolation::Serializable] {
        let case = Arc::new(fixture(2));
        let add = |number: usize| {
            let case = case.clone();
            move || {
                let mut txn = Engine::transaction(&*case.engine, Waiter::thread(Duration::ZERO));
                for turn in 0..EACH {
                    let in_block = level == Isolation::ReadCommitted && (number + turn).is_multiple_of(2);
                    let mut has_begun = false;
                    loop {
                        if !has_begun {
                            txn.begin(&Begin { one_shot: true, ..Begin::at(level) }).expect("beginning needs nothing");
                        }
                        let savepoint = Some(txn.savepoint()).filter(|_| in_block);
                        match increment(&case, &mut *txn, 0) {
                            Ok(_) => break,
                            Err(Abort::WriteConflict) => drop(txn.give_way(savepoint).expect("nobody is in a circle")),
                            Err(abort) => panic!("{level}: {abort}"),
                        }
                        has_begun = in_block;
                    }
                    txn.commit().expect("nobody is in the way");
                }
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|number| thread::spawn(add(number))).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
        let mut reader = case.begin(Isolation::Serializable);
        assert_eq!(case.read(&mut *reader, 0), Ok(Some((THREADS * EACH) as i64)), "{level}");
        drop(reader);
        let mut other = case.transaction();
        for round in 0..20 {
            case.update_all(&mut *other, 2, round);
        }
        assert!(case.versions() < 10 * THREADS, "{level}: {} versions of two rows", case.versions());
        drop(other);
        case.engine.audit().expect("nobody is there");
    }
}
