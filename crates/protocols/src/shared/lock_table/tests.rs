//! Tests of the lock table on real threads.

use super::*;
use crate::shared::time_outs::TimeOuts;
use hotrow_sync::{Mutex, Scheduler, thread};
use std::time::Duration;

struct Patient;

/// The lock target of every name in these tests. No report is read, so one value serves for all.
fn nothing() -> LockTarget {
    LockTarget::Database
}

impl WaitPolicy for Patient {
    fn may_wait(&self, _: OwnerId, _: &[OwnerId]) -> bool {
        true
    }
}

/// A policy under which no transaction waits: a refused request shows that the lock is not free.
struct Impatient;

impl WaitPolicy for Impatient {
    fn may_wait(&self, _: OwnerId, _: &[OwnerId]) -> bool {
        false
    }
}

fn requester(table: &Arc<LockTable>) -> Requester {
    table.requester(Waiter::thread(Duration::ZERO))
}

fn take(requester: &mut Requester, name: u64, mode: Mode) -> Result<Acquired, Abort> {
    requester.acquire(Name(name), mode, nothing, &Impatient, &mut Statistics::default())
}

#[test]
fn locks_are_granted_again_upgraded_and_refused() {
    // One bucket: every name shares it.
    let table = LockTable::new(1);
    let (mut a, mut b) = (requester(&table), requester(&table));
    assert_eq!(take(&mut a, 1, Mode::SHARED), Ok(Acquired::New));
    assert_eq!(take(&mut a, 1, Mode::SHARED), Ok(Acquired::Again));
    assert_eq!(take(&mut b, 1, Mode::SHARED), Ok(Acquired::New));
    assert_eq!(take(&mut a, 1, Mode::EXCLUSIVE), Err(Abort::Conflict), "an upgrade does not forget other readers");
    assert_eq!(take(&mut b, 2, Mode::EXCLUSIVE), Ok(Acquired::New), "another name of the same bucket");
    b.release(Name(1), &Impatient);
    assert_eq!(take(&mut a, 1, Mode::EXCLUSIVE), Ok(Acquired::Again));
    assert_eq!(take(&mut b, 1, Mode::SHARED), Err(Abort::Conflict));
    a.release_all();
    assert_eq!(take(&mut b, 1, Mode::SHARED), Ok(Acquired::New));
    drop((a, b));
    assert_eq!(table.usage(), (0, 0));
}

#[test]
fn gaps_take_many_inserters_or_many_readers() {
    let table = LockTable::new(8);
    let (mut a, mut b) = (requester(&table), requester(&table));
    assert_eq!(take(&mut a, 1, Mode::INSERT), Ok(Acquired::New));
    assert_eq!(take(&mut b, 1, Mode::INSERT), Ok(Acquired::New));
    assert_eq!(take(&mut b, 1, Mode::SHARED), Err(Abort::Conflict));
    a.release_all();
    assert_eq!(take(&mut b, 1, Mode::SHARED), Ok(Acquired::Again));
    assert_eq!(take(&mut a, 1, Mode::SHARED), Err(Abort::Conflict), "both modes are held");
    assert_eq!(take(&mut a, 1, Mode::INSERT), Err(Abort::Conflict));
}

#[test]
fn many_names_in_one_bucket_come_and_go() {
    let table = LockTable::new(1);
    let (mut a, mut b) = (requester(&table), requester(&table));
    for name in 0..100 {
        assert_eq!(take(&mut a, name, Mode::EXCLUSIVE), Ok(Acquired::New));
    }
    for name in 0..100 {
        assert_eq!(take(&mut b, name, Mode::SHARED), Err(Abort::Conflict), "name {name}");
    }
    a.release(Name(50), &Impatient);
    assert_eq!(take(&mut b, 50, Mode::SHARED), Ok(Acquired::New));
    drop(a);
    assert_eq!(table.usage(), (1, 0));
}

#[test]
fn a_waiter_that_gives_up_lets_those_behind_it_go_on() {
    let table = LockTable::new(1);
    let (mut reader, mut writer, mut late) = (requester(&table), requester(&table), requester(&table));
    take(&mut reader, 1, Mode::SHARED).expect("the lock is free");
    let writing = thread::spawn(move || {
        let result = writer.acquire(Name(1), Mode::EXCLUSIVE, nothing, &Patient, &mut Statistics::default());
        (result, writer)
    });
    while table.usage().1 < 1 {
        thread::yield_now();
    }
    let waiter = {
        let heads = table.buckets[0].0.lock();
        heads.waiting().next().map(|parked| parked.waiter().clone()).expect("the writer waits")
    };
    let reading = thread::spawn(move || {
        late.acquire(Name(1), Mode::SHARED, nothing, &Patient, &mut Statistics::default()).map(|_| late)
    });
    while table.usage().1 < 2 {
        thread::yield_now();
    }
    waiter.cancel();
    let (result, writer) = writing.join().expect("the writer's thread ends");
    assert_eq!(result, Err(Abort::Cancelled));
    let late = reading.join().expect("the reader's thread ends").expect("nobody is in its way any more");
    drop((reader, writer, late));
    assert_eq!(table.usage(), (0, 0));
}

#[test]
fn exclusive_locks_exclude_under_stress() {
    let table = LockTable::new(4);
    let counters: Arc<Vec<hotrow_sync::Mutex<u64>>> = Arc::new((0..8).map(|_| Default::default()).collect());
    let work = |seed: u64| {
        let (table, counters) = (table.clone(), counters.clone());
        thread::spawn(move || {
            let mut requester = requester(&table);
            let mut statistics = Statistics::default();
            for round in 0..2_000_u64 {
                let name = hotrow_storage::mix(seed * 7919 + round) % 8;
                let mode = if round % 3 == 0 { Mode::SHARED } else { Mode::EXCLUSIVE };
                requester
                    .acquire(Name(name), mode, nothing, &Patient, &mut statistics)
                    .expect("nobody holds two locks");
                match counters[name as usize].try_lock() {
                    Ok(mut counter) => *counter += 1,
                    Err(_) => assert_eq!(mode, Mode::SHARED, "an exclusive lock had company"),
                }
                requester.release_all();
            }
        })
    };
    let threads: Vec<_> = (0..4).map(work).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    assert_eq!(table.usage(), (0, 0));
}

/// A scheduler under which a wait unwinds, as the wait of a suspended coroutine does when the coroutine is dropped.
struct Unwinds;

impl hotrow_sync::Scheduler for Unwinds {
    fn now(&self) -> hotrow_sync::Time {
        hotrow_sync::Time(0)
    }

    fn suspend(&self, _: Option<hotrow_sync::Time>) {
        std::panic::resume_unwind(Box::new("dropped while it waited"));
    }

    fn resume(&self) {}
}

#[test]
fn a_wait_that_unwinds_leaves_no_request_behind() {
    let table = LockTable::new(1);
    let mut holder = requester(&table);
    for mode in [Mode::SHARED, Mode::EXCLUSIVE] {
        take(&mut holder, 1, mode).expect("the lock is free");
        let mut dropped = table.requester(Waiter::new(Arc::new(Unwinds)));
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            dropped.acquire(Name(1), Mode::EXCLUSIVE, nothing, &Patient, &mut Statistics::default())
        }));
        assert!(unwound.is_err());
        assert_eq!(table.usage(), (1, 0));
    }
    holder.release_all();
    assert_eq!(table.usage(), (0, 0));
}

/// Refuses every wait, and remembers the blockers that it was asked about.
#[derive(Default)]
struct Newcomers(Mutex<Vec<OwnerId>>);

impl WaitPolicy for Newcomers {
    const NEWCOMERS_WAIT: bool = true;

    fn may_wait(&self, _: OwnerId, blockers: &[OwnerId]) -> bool {
        *self.0.lock().expect("no panic under the mutex") = blockers.to_vec();
        false
    }
}

#[test]
fn who_holds_nothing_waits_unasked_and_others_are_compared_with_everybody() {
    let table = LockTable::new(1);
    let policy = Arc::new(Newcomers::default());
    let (mut reader, mut newcomer, mut other) = (requester(&table), requester(&table), requester(&table));
    let (reader_id, newcomer_id) = (reader.id(), newcomer.id());
    take(&mut reader, 1, Mode::SHARED).expect("the lock is free");
    take(&mut other, 2, Mode::SHARED).expect("the lock is free");
    let waiting = {
        let policy = policy.clone();
        thread::spawn(move || {
            newcomer.acquire(Name(1), Mode::EXCLUSIVE, nothing, &*policy, &mut Statistics::default()).map(|_| newcomer)
        })
    };
    while table.usage().1 < 1 {
        thread::yield_now();
    }
    assert!(policy.0.lock().expect("not poisoned").is_empty(), "nobody was asked about the newcomer");
    let refused = other.acquire(Name(1), Mode::SHARED, nothing, &*policy, &mut Statistics::default());
    assert_eq!(refused, Err(Abort::Conflict));
    let asked = policy.0.lock().expect("not poisoned").clone();
    assert_eq!(asked, [newcomer_id, reader_id], "the reader too, with whom a reader does not conflict");
    reader.release_all();
    drop((waiting.join().expect("the newcomer's thread ends").expect("it is its turn"), other));
    assert_eq!(table.usage(), (0, 0));
}

/// A scheduler whose time passes when a thread waits, and then runs the next of its closures.
#[derive(Default)]
struct Scripted {
    now: Mutex<Time>,
    happens: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
}

impl Scheduler for Scripted {
    fn now(&self) -> Time {
        *self.now.lock().expect("not poisoned")
    }

    fn suspend(&self, deadline: Option<Time>) {
        *self.now.lock().expect("not poisoned") = deadline.expect("the wait is limited");
        let next = self.happens.lock().expect("not poisoned").pop();
        next.into_iter().for_each(|happens| happens());
    }

    fn resume(&self) {}
}

#[test]
fn patience_begins_anew_when_somebody_in_the_way_comes_or_goes() {
    let ms = Duration::from_millis;
    for (limit, leave, waited) in
        [(ms(100), 0, ms(10)), (ms(100), 1, ms(20)), (ms(100), 3, ms(40)), (ms(25), 3, ms(25))]
    {
        let table = LockTable::new(1);
        let mut readers: Vec<_> = (0..4).map(|_| requester(&table)).collect();
        for reader in &mut readers {
            take(reader, 1, Mode::SHARED).expect("readers share it");
        }
        let stay = readers.split_off(leave);
        let scheduler = Arc::new(Scripted::default());
        for reader in readers {
            scheduler.happens.lock().expect("not poisoned").push(Box::new(move || drop(reader)));
        }
        let mut writer = table.requester(Waiter::new(scheduler.clone()));
        writer.waiter().set_lock_timeout(Some(limit));
        writer.waiter().set_deadlock_timeout(Some(ms(10)));
        writer.begin(1, TimeOuts { end_deadlocks: true, ..TimeOuts::default() }.limits(false));
        let refused = writer.acquire(Name(1), Mode::EXCLUSIVE, nothing, &Patient, &mut Statistics::default());
        assert_eq!((refused, scheduler.now()), (Err(Abort::Timeout), Time(0).after(waited)), "{leave} leave");
        drop((writer, stay));
        assert_eq!(table.usage(), (0, 0));
    }
}
