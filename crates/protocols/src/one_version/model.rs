//! Random interleavings of transactions that want the same few keys, under `--cfg shuttle`: every word, latch and flag
//! a place to switch threads at. shuttle has no time: a wake-up that is lost it reports as a deadlock. Meanwhile the
//! locks are split, so that keys that share one at first have their own in the end.

use super::key_lock::RequestOutcome;
use super::key_locks::{KeyLocks, Numbered};
use super::queues::{LockName, Queues};
use crate::shared::mode::Mode;
use crate::shared::parked::Parked;
use hotrow_storage::{IndexNumber, TableId};
use hotrow_sync::atomic::{AtomicUsize, Ordering};
use hotrow_sync::{Arc, Waiter, Wake, thread};
use shuttle::rand::{Rng, thread_rng};
use std::time::Duration;

/// Hashes of keys: the first two differ in a bit that the coarsest level looks at, the third shares the first one's
/// lock until that is split once, the fourth until it is split again.
const HASHES: [u64; 4] = [0b0000, 0b0001, 0b0010, 0b1000];
const MODES: [Mode; 3] = [Mode::SHARED, Mode::INSERT, Mode::EXCLUSIVE];

fn iterations() -> usize {
    std::env::var("HOTROW_MODEL_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// The number of holders of a key's lock in each mode (shared, insert, exclusive), counted by the holders themselves.
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

/// The state that the threads share.
struct Scene {
    locks: KeyLocks,
    queues: Arc<Queues>,
    inside: [Inside; HASHES.len()],
}

/// A lock that a transaction holds: the number of its key, its name and its modes.
type Holding = (usize, LockName, Mode);

impl Scene {
    fn new() -> Arc<Self> {
        let scene = Self { locks: KeyLocks::default(), queues: Queues::new(), inside: Default::default() };
        Arc::new(scene)
    }

    /// Takes a key's lock in `wanted`, beside the modes `held` that the transaction holds of it already. Returns which
    /// lock that is, or `None` if a cancelled wait ends without it.
    fn take(&self, key: usize, held: Mode, wanted: Mode, parked: &Arc<Parked>) -> Option<LockName> {
        loop {
            let Numbered { number, lock } = self.locks.of(HASHES[key]);
            let name = LockName { table: TableId(0), index: IndexNumber::HASH, number };
            let free = held == Mode::NONE && lock.take_free(wanted);
            let asked = match free || lock.take_beside(held, wanted) {
                true => RequestOutcome::Taken,
                false => self.queues.ask(lock, name, (held, wanted), parked),
            };
            let taken = match asked {
                RequestOutcome::Split => continue,
                RequestOutcome::Taken => true,
                RequestOutcome::Queued => {
                    let ended = parked.waiter().wait_until(None, || parked.is_granted());
                    let granted = !self.queues.withdraw(lock, name, parked);
                    assert!(granted || ended == Wake::Cancelled, "nobody gives up who was not told to");
                    parked.reset();
                    granted
                }
            };
            if taken {
                self.inside[key].leave(held);
                self.inside[key].enter(wanted);
            }
            return taken.then_some(name);
        }
    }

    fn release(&self, (key, name, held): Holding) {
        assert_eq!(self.locks.of(HASHES[key]).number, name.number, "what is held is found again");
        self.inside[key].leave(held);
        self.queues.release(self.locks.numbered(name.number), name, held);
    }

    /// Takes the locks of some keys, the first of them perhaps twice, and gives them back. A key whose lock is held for
    /// another one is left out, and they are taken in the order of the coarsest locks: so there are no deadlocks.
    fn transaction(&self, may_upgrade: bool, parked: &Arc<Parked>) {
        let mut random = thread_rng();
        let mut held: Vec<Holding> = Vec::new();
        for keys in [[0, 2, 3].as_slice(), &[1]] {
            let key = keys[random.gen_range(0..keys.len())];
            let mode = MODES[random.gen_range(0..MODES.len())];
            if random.gen_bool(0.8)
                && let Some(name) = self.take(key, Mode::NONE, mode, parked)
            {
                held.push((key, name, mode));
            }
            let more = MODES[random.gen_range(0..MODES.len())];
            if let Some((key, name, mode)) = held.last_mut().filter(|(.., mode)| may_upgrade && !mode.covers(more))
                && let Some(again) = self.take(*key, *mode, *mode | more, parked)
            {
                assert_eq!(again, *name, "what is held is not split");
                *mode = *mode | more;
            }
        }
        held.into_iter().for_each(|holding| self.release(holding));
    }

    /// Has the locks split, twice, and splits what is free.
    fn split(&self) {
        let mut random = thread_rng();
        for rows in [4, 16] {
            self.locks.split_for(rows, rows);
            if random.gen_bool(0.5) {
                self.locks.split_free();
            }
        }
    }
}

/// Runs `count` transactions and a thread that cancels the first. Only the first may upgrade, as two upgrades of one
/// lock would wait for each other.
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
        let splits = scene.clone();
        let splitting = thread::spawn(move || splits.split());
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
        cancelling.join().expect("the canceller ends");
        splitting.join().expect("the splitter ends");
        assert_eq!(scene.queues.waiting(), 0);
        (0..2).for_each(|_| scene.locks.split_free());
        let locks = HASHES.map(|hash| scene.locks.of(hash));
        assert!(
            locks.iter().all(|numbered| numbered.lock.take_free(Mode::EXCLUSIVE)),
            "something is still held, or shared"
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
