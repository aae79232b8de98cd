//! Random interleavings of transactions that want the same few key locks, under `--cfg shuttle`: every word, latch and flag a
//! place to switch threads at. shuttle has no time: a wake-up that is lost it reports as a deadlock.

use super::key_locks::{KeyLocks, LockName, Queues};
use crate::shared::lock_table::Parked;
use crate::shared::mode::Mode;
use hotrow_storage::{IndexNumber, TableId};
use hotrow_sync::atomic::{AtomicUsize, Ordering};
use hotrow_sync::{Arc, Waiter, Wake, thread};
use shuttle::rand::{Rng, thread_rng};
use std::time::Duration;

const LOCKS: u16 = 2;
const MODES: [Mode; 3] = [Mode::SHARED, Mode::INSERT, Mode::EXCLUSIVE];

fn iterations() -> usize {
    std::env::var("HOTROW_MODEL_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// Who is inside a lock, counted by those who are: shared, insert, exclusive.
#[derive(Default)]
struct Inside([AtomicUsize; 3]);

impl Inside {
    fn enter(&self, mode: Mode) {
        self.counters(mode).for_each(|counter| {
            counter.fetch_add(1, Ordering::AcqRel);
        });
        let [shared, insert, exclusive] = self.0.each_ref().map(|counter| counter.load(Ordering::Acquire));
        let others_may = match (mode.covers(Mode::EXCLUSIVE), mode.conflicts_with_all()) {
            (true, _) => (shared, insert, exclusive) == (0, 0, 1),
            (false, true) => (shared, insert, exclusive) == (1, 1, 0),
            (false, false) => exclusive == 0 && (shared == 0 || insert == 0),
        };
        assert!(others_may, "{mode:?} beside {shared} shared, {insert} insert, {exclusive} exclusive");
    }

    fn leave(&self, mode: Mode) {
        self.counters(mode).for_each(|counter| {
            counter.fetch_sub(1, Ordering::AcqRel);
        });
    }

    fn counters(&self, mode: Mode) -> impl Iterator<Item = &AtomicUsize> {
        let exclusive = mode.covers(Mode::EXCLUSIVE);
        let is_counted = move |part: Mode| mode.covers(part) && (!exclusive || part == Mode::EXCLUSIVE);
        [Mode::SHARED, Mode::INSERT, Mode::EXCLUSIVE]
            .into_iter()
            .zip(&self.0)
            .filter_map(move |(part, counter)| is_counted(part).then_some(counter))
    }
}

/// What the threads share.
struct Scene {
    locks: KeyLocks,
    queues: Arc<Queues>,
    inside: [Inside; LOCKS as usize],
}

impl Scene {
    fn new() -> Arc<Self> {
        let scene = Self { locks: KeyLocks::default(), queues: Queues::new(), inside: Default::default() };
        Arc::new(scene)
    }

    /// Comes to hold a lock in `wanted` beside `held`. Whether it does: a cancelled wait may end without.
    fn take(&self, number: u16, held: Mode, wanted: Mode, parked: &Arc<Parked>) -> bool {
        let (lock, name) = (self.locks.lock(number), name(number));
        let free = held == Mode::NONE && lock.take_free(wanted);
        let taken = free || lock.take_beside(held, wanted) || self.queues.ask(lock, name, (held, wanted), parked) || {
            let ended = parked.waiter().wait_until(None, || parked.is_granted());
            let granted = !self.queues.withdraw(lock, name, parked);
            assert!(granted || ended == Wake::Cancelled, "nobody gives up who was not told to");
            parked.reset();
            granted
        };
        if taken {
            self.inside[usize::from(number)].leave(held);
            self.inside[usize::from(number)].enter(wanted);
        }
        taken
    }

    fn release(&self, number: u16, held: Mode) {
        self.inside[usize::from(number)].leave(held);
        self.queues.release(self.locks.lock(number), name(number), held);
    }

    /// Takes the locks in the order of their numbers, the first of them perhaps twice, and gives them back.
    fn transaction(&self, may_upgrade: bool, parked: &Arc<Parked>) {
        let mut random = thread_rng();
        let mut held = Vec::new();
        for number in 0..LOCKS {
            let mode = MODES[random.gen_range(0..MODES.len())];
            if random.gen_bool(0.8) && self.take(number, Mode::NONE, mode, parked) {
                held.push((number, mode));
            }
            let more = MODES[random.gen_range(0..MODES.len())];
            if let Some((number, mode)) = held.last_mut().filter(|(_, mode)| may_upgrade && !mode.covers(more))
                && self.take(*number, *mode, *mode | more, parked)
            {
                *mode = *mode | more;
            }
        }
        held.into_iter().for_each(|(number, mode)| self.release(number, mode));
    }
}

fn name(number: u16) -> LockName {
    LockName::new(TableId(0), IndexNumber::HASH, number)
}

/// So many transactions, of which one may upgrade, as two of one lock would wait for each other, and somebody who cancels that one.
fn check(count: usize) {
    let model = move || {
        let scene = Scene::new();
        let waiters: Vec<_> = (0..count).map(|_| Waiter::thread(Duration::ZERO)).collect();
        let cancelled = waiters[0].clone();
        let work = |(at, waiter): (usize, Waiter)| {
            let scene = scene.clone();
            thread::spawn(move || {
                let parked = Arc::new(Parked::new(waiter));
                (0..2).for_each(|_| scene.transaction(at == 0, &parked));
            })
        };
        let threads: Vec<_> = waiters.into_iter().enumerate().map(work).collect();
        let cancelling = thread::spawn(move || cancelled.cancel());
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
        cancelling.join().expect("the canceller ends");
        assert_eq!(scene.queues.waiting(), 0);
        assert!(
            (0..LOCKS).all(|number| scene.locks.lock(number).take_free(Mode::EXCLUSIVE)),
            "something is still held"
        );
    };
    shuttle::check_random(model, iterations());
}

#[test]
fn holders_are_compatible_and_no_wake_up_is_lost() {
    check(2);
    check(3);
    check(4);
}
