//! Tests of the lock manager: how waits end.

use super::LockManager;
use super::manager::Ticket;
use crate::shared::request_queues::Modes;
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Mutex, Scheduler, Time, Waiter, thread};
use hotrow_txn::{Abort, Statistics};
use std::panic::AssertUnwindSafe;
use std::time::Duration;

const X: Modes = Modes::EXCLUSIVE;
const S: Modes = Modes::SHARED;
const LIMIT: Duration = Duration::from_millis(10);

fn take(ticket: &mut Ticket, locks: &[(u64, Modes)]) -> Result<(), Abort> {
    ticket.acquire(locks.iter().copied(), LIMIT, &mut Statistics::default())
}

fn is_idle(manager: &LockManager) {
    assert_eq!((manager.audit(), manager.usage(), manager.blocked()), (Ok(()), (0, 0), 0));
}

/// A scheduler under which time passes when a thread waits, and then something happens.
#[derive(Default)]
struct Scripted {
    now: Mutex<Time>,
    happens: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Scheduler for Scripted {
    fn now(&self) -> Time {
        *self.now.lock().expect("not poisoned")
    }

    fn suspend(&self, deadline: Option<Time>) {
        *self.now.lock().expect("not poisoned") = deadline.expect("the wait is limited");
        let happens = self.happens.lock().expect("not poisoned").take();
        happens.into_iter().for_each(|happens| happens());
    }

    fn resume(&self) {}
}

/// Makes a waiter during whose wait `happens` is called, when the wait's limit comes.
fn scripted(happens: impl FnOnce() + Send + 'static) -> Waiter {
    let scheduler = Arc::new(Scripted::default());
    *scheduler.happens.lock().expect("not poisoned") = Some(Box::new(happens));
    Waiter::new(scheduler)
}

#[test]
fn a_wait_ends_with_all_locks_or_with_none() {
    for (released, expected) in [(true, Ok(())), (false, Err(Abort::Timeout))] {
        let manager = Arc::new(LockManager::default());
        let holder = Arc::new(Mutex::new(manager.ticket(Waiter::thread(Duration::ZERO))));
        take(&mut holder.lock().expect("not poisoned"), &[(1, X), (2, S)]).expect("nobody else is there");
        let (held, audited) = (holder.clone(), manager.clone());
        let waiter = scripted(move || {
            assert_eq!((audited.audit(), audited.blocked()), (Ok(()), 1));
            if released {
                held.lock().expect("not poisoned").release();
            }
        });
        let mut ticket = manager.ticket(waiter);
        assert_eq!(take(&mut ticket, &[(3, X), (2, X), (1, S)]), expected);
        let usage = if released { (3, 3) } else { (2, 2) };
        assert_eq!((manager.audit(), manager.usage(), manager.blocked()), (Ok(()), usage, 0));
        assert!(ticket.add([(3, S)].into_iter()), "it is its own, or free");
        ticket.release();
        holder.lock().expect("not poisoned").release();
        is_idle(&manager);
    }
}

#[test]
fn who_is_cancelled_or_unwinds_leaves_from_any_place_of_a_queue() {
    // Three wait for one name, and one of them gives up; the others are granted one after the other.
    for given_up in 0..3 {
        for unwinds in [false, true] {
            let manager = Arc::new(LockManager::default());
            let mut holder = manager.ticket(Waiter::thread(Duration::ZERO));
            take(&mut holder, &[(1, X)]).expect("nobody else is there");
            let unwinding = Arc::new(Unwinds::default());
            let mut waiters = Vec::new();
            let mut threads = Vec::new();
            for place in 0..3 {
                let waiter = match place == given_up && unwinds {
                    true => Waiter::new(unwinding.clone()),
                    false => Waiter::thread(Duration::ZERO),
                };
                waiters.push(waiter.clone());
                let manager_of = manager.clone();
                threads.push(thread::spawn(move || {
                    let mut ticket = manager_of.ticket(waiter);
                    let limit = Duration::from_secs(3600);
                    let taken =
                        AssertUnwindSafe(|| ticket.acquire([(1, X)].into_iter(), limit, &mut Statistics::default()));
                    std::panic::catch_unwind(taken).unwrap_or(Err(Abort::User))
                }));
                while manager.usage().1 < place + 2 {
                    thread::yield_now();
                }
            }
            // A cancellation that comes before the thread is suspended ends the wait without unwinding it.
            while unwinds && !unwinding.suspended.load(Ordering::Acquire) {
                thread::yield_now();
            }
            waiters[given_up].cancel();
            while manager.usage().1 > 3 {
                thread::yield_now();
            }
            assert_eq!((manager.audit(), manager.blocked()), (Ok(()), 2));
            holder.release();
            for (place, thread) in threads.into_iter().enumerate() {
                let expected = match (place == given_up, unwinds) {
                    (false, _) => Ok(()),
                    (true, false) => Err(Abort::Cancelled),
                    (true, true) => Err(Abort::User),
                };
                assert_eq!(thread.join().expect("it catches what unwinds"), expected, "{place} of {given_up}");
            }
            drop(holder);
            is_idle(&manager);
        }
    }
}

/// A scheduler under which a wait unwinds once it is resumed, as the wait of a suspended coroutine does when the
/// coroutine is dropped.
#[derive(Default)]
struct Unwinds {
    suspended: AtomicBool,
    resumed: AtomicBool,
}

impl Scheduler for Unwinds {
    fn now(&self) -> Time {
        Time(0)
    }

    fn suspend(&self, _: Option<Time>) {
        self.suspended.store(true, Ordering::Release);
        while !self.resumed.load(Ordering::Acquire) {
            thread::yield_now();
        }
        std::panic::resume_unwind(Box::new("dropped while it waited"));
    }

    fn resume(&self) {
        self.resumed.store(true, Ordering::Release);
    }
}

#[test]
fn glances_see_what_nobody_writes() {
    let manager = Arc::new(LockManager::default());
    let ticket = |waiter| manager.ticket(waiter);
    let (mut reader, mut writer) = (ticket(Waiter::thread(Duration::ZERO)), ticket(Waiter::thread(Duration::ZERO)));
    let glancer = ticket(Waiter::thread(Duration::ZERO));
    assert_eq!(glancer.glance(1, || 7), Some(7));
    take(&mut reader, &[(1, S)]).expect("nobody else is there");
    assert_eq!(glancer.glance(1, || 7), Some(7), "a reader is not in the way");
    reader.release();
    take(&mut writer, &[(1, X)]).expect("nobody else is there");
    assert_eq!(glancer.glance(1, || 7), None);
    assert_eq!(glancer.glance(2, || 7), Some(7));
    drop((reader, writer, glancer));
    is_idle(&manager);
}

#[test]
fn exclusive_locks_exclude_under_stress_in_any_order_of_names() {
    let manager = Arc::new(LockManager::default());
    let counters: Arc<Vec<Mutex<u64>>> = Arc::new((0..8).map(|_| Default::default()).collect());
    let work = |seed: u64| {
        let (manager, counters) = (manager.clone(), counters.clone());
        thread::spawn(move || {
            let mut ticket = manager.ticket(Waiter::thread(Duration::ZERO));
            let mut statistics = Statistics::default();
            for round in 0..2_000_u64 {
                let random = |choice| hotrow_storage::mix(seed * 7919 + round * 31 + choice);
                let locks: Vec<_> =
                    (0..3).map(|at| (random(at) % 8, if random(at + 8) % 3 == 0 { S } else { X })).collect();
                let taken = ticket.acquire(locks.iter().copied(), Duration::from_secs(3600), &mut statistics);
                taken.expect("there is no deadlock");
                for &(name, modes) in &locks {
                    match counters[name as usize].try_lock() {
                        Ok(mut counter) => *counter += 1,
                        Err(_) => assert_eq!(modes, S, "an exclusive lock had company"),
                    }
                }
                ticket.release();
            }
        })
    };
    let threads: Vec<_> = (0..4).map(work).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    is_idle(&manager);
}
