//! Random interleavings of tickets, under `--cfg shuttle`: transactions that are held back, let in, cancelled and
//! waited for.

use super::*;
use hotrow_sync::atomic::{AtomicUsize, Ordering};
use hotrow_sync::{Time, Waiter, Wake, thread};
use std::time::Duration;

/// The part of a transaction that holds the lock with its own number, and awaits another one.
struct Holding(u32, u32);

impl Blocked for Holding {
    type Lock = u32;

    fn awaited(&self) -> u32 {
        self.1
    }

    fn holds(&mut self, lock: u32) -> bool {
        self.0 == lock
    }

    fn hash(lock: u32) -> u64 {
        u64::from(lock)
    }
}

const HOT_LOCK: u32 = 99;

fn iterations() -> usize {
    std::env::var("HOTROW_MODEL_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

fn standing(number: u32) -> Standing {
    let mut standing = Standing::default();
    standing.begin(number, false, false, || Time(u64::from(number)));
    standing
}

/// Gets a ticket. Returns `false` if the wait was cancelled first. In the model no time passes, so no lease ends.
fn ticket(waits: &Waits<Holding>, waiter: &Waiter, number: u32) -> bool {
    let parked = Arc::new(Parked::new(waiter.clone()));
    let (target, mode, standing) = (LockTarget::Database, Mode::EXCLUSIVE, standing(number));
    let request = Request { parked: &parked, target, mode, standing };
    let sought = waits.seek_ticket(request, HOT_LOCK.into(), Holding(number, HOT_LOCK), Time(0));
    if matches!(sought, Admission::LetIn(_)) {
        return true;
    }
    let ended = waiter.wait_until(None, || parked.is_granted());
    waits.end(&parked).expect("it was listed");
    assert!(parked.is_granted() || ended == Wake::Cancelled);
    parked.is_granted()
}

/// Makes a list with one ticket.
fn one_ticket() -> Arc<Waits<Holding>> {
    let waits = Waits::new();
    waits.heat(HOT_LOCK.into(), Time(0));
    for _ in 0..16 {
        waits.return_ticket(&standing(1_000), Time(0), true);
    }
    assert_eq!(waits.admission().limit, 1);
    waits
}

#[test]
fn a_ticket_has_one_holder_and_none_is_lost_when_a_wait_is_cancelled() {
    let model = || {
        let (waits, inside) = (one_ticket(), Arc::new(AtomicUsize::new(0)));
        let cancelled = Waiter::thread(Duration::ZERO);
        let waiters = [Waiter::thread(Duration::ZERO), cancelled.clone(), Waiter::thread(Duration::ZERO)];
        let threads: Vec<_> = (1..)
            .zip(waiters)
            .map(|(number, waiter)| {
                let (waits, inside) = (waits.clone(), inside.clone());
                thread::spawn(move || {
                    for _ in 0..2 {
                        if ticket(&waits, &waiter, number) {
                            assert_eq!(inside.fetch_add(1, Ordering::AcqRel), 0, "there is one ticket");
                            thread::yield_now();
                            inside.fetch_sub(1, Ordering::AcqRel);
                            waits.return_ticket(&standing(number), Time(0), true);
                        }
                    }
                })
            })
            .collect();
        cancelled.cancel();
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
        let admission = waits.admission();
        assert_eq!((admission.admitted, admission.held_back), (0, 0), "nothing is left");
    };
    shuttle::check_random(model, iterations());
}

#[test]
fn a_holder_of_a_ticket_waits_for_nobody_that_is_held_back() {
    let model = || {
        let waits = one_ticket();
        let first = Waiter::thread(Duration::ZERO);
        assert!(ticket(&waits, &first, 1));
        let held_back = {
            let waits = waits.clone();
            thread::spawn(move || assert!(ticket(&waits, &Waiter::thread(Duration::ZERO), 2), "it is let in"))
        };
        // It comes to wait for what the other one holds, before or after that is held back, and goes on when it has
        // ended.
        let parked = Arc::new(Parked::new(first));
        let request =
            |parked| Request { parked, target: LockTarget::Database, mode: Mode::EXCLUSIVE, standing: standing(1) };
        assert!(waits.begin(request(&parked), Holding(1, 2)).is_none());
        held_back.join().expect("no thread panics");
        assert!(waits.end(&parked).is_some());
        [1, 2].into_iter().for_each(|number| waits.return_ticket(&standing(number), Time(0), false));
        let admission = waits.admission();
        assert_eq!((admission.admitted, admission.held_back), (0, 0), "nothing is left");
    };
    shuttle::check_random(model, iterations());
}
