//! The lock of a record under loom, every interleaving of a few transactions and every order of memory that the code
//! leaves open; and under shuttle, random interleavings of more of them. A wake-up that is lost is a deadlock to both:
//! no time passes.
//!
//! | broken | fails |
//! | --- | --- |
//! | a transaction that leaves the lock free does not look again | `who_acquires_while_the_lock_is_released_gets_it` |
//! | a transaction that waits makes no second attempt, or makes it before the bit is set | the same |
//! | the fences (`synchronize`) | the same |
//! | the lock is free between the release and the hand-over | the same |
//! | the last reader to leave the lock does not look again | the same |
//! | a hand-over clears no bit, or clears the bit although another transaction of the worker waits | `each_of_two_that_wait_gets_it` |
//! | a second attempt clears the bit although another transaction of the worker waits | `a_second_attempt_leaves_the_bit_of_another_one_that_waits` |
//! | a lock that was handed to a cancelled transaction is forgotten | `what_a_cancelled_one_was_given_goes_on_to_the_next` |
//! | a hand-over that finds no waiting transaction keeps the dummy write lock, or does not look again | the same |
//! | readers are let in without the dummy read lock | the same |
//! | a writer that withdraws leaves the bit, or does not let readers pass | `a_writer_that_gives_up_lets_readers_pass` |
//! | the last other reader does not tell the reader that upgrades | `the_last_other_reader_makes_the_one_that_waits_the_writer` |
//! | a second reader that upgrades waits | `of_two_readers_that_want_to_write_one_does` |
//! | an upgrade that is withdrawn stays in the lock-state | the same |
//! | an upgrade is granted without a look at the lock-state | `an_upgrade_meant_for_a_withdrawn_one_makes_no_other_reader_the_writer` |

use super::lock::ILock;
use super::owner::Owner;
use super::wait_map::WaitMaps;
use crate::shared::parked::Parked;
use crate::shared::record_locks::{Ended, LockOwner, RecordLock, Watch};
use crate::shared::time_outs::Patience;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, PlainAtomicU64, Waiter, thread};
#[cfg(shuttle)]
use std::time::Duration;

/// The mode in which a transaction has, or wants, the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    Read,
    Write,
}

use Hold::{Read, Write};

/// The observer of a wait that does not look for deadlocks.
struct Unwatched;

impl Watch for Unwatched {
    fn begins(&mut self) -> bool {
        false
    }

    fn is_victim(&mut self) -> bool {
        false
    }

    fn ends(&mut self) {}
}

/// A lock, and what it protects.
#[derive(Default)]
struct Record {
    lock: ILock,
    /// The number of writes so far. A thread that holds the lock sees all of them, if the lock orders transactions.
    writes: AtomicU64,
    /// The transactions that hold the lock, as a number: a reader adds one, a writer a thousand.
    inside: PlainAtomicU64,
}

/// The state that the threads share.
struct Scene {
    records: Vec<Record>,
    maps: Arc<WaitMaps>,
}

impl Scene {
    fn new(records: usize) -> Arc<Self> {
        Arc::new(Self { records: (0..records).map(|_| Record::default()).collect(), maps: WaitMaps::new() })
    }

    /// Makes a transaction of this worker.
    fn owner(&self, worker: u32, waiter: &Waiter) -> Owner {
        let mut owner = Owner::new(&self.maps, worker, Arc::new(Parked::new(waiter.clone())));
        owner.begin();
        owner
    }

    /// Locks a record, on which the transaction holds `held`.
    fn lock(&self, record: usize, owner: &Owner, held: Option<Hold>, hold: Hold) -> Ended {
        let (upgrades, exclusive) = (held.is_some(), hold == Write);
        match RecordLock::take(&self.records[record].lock, owner, upgrades, exclusive) {
            true => self.locked(record, Ended::Granted, held, hold),
            false => self.lock_after_an_attempt(record, owner, held, hold),
        }
    }

    /// Locks the record after a first attempt that came too early.
    fn lock_after_an_attempt(&self, record: usize, owner: &Owner, held: Option<Hold>, hold: Hold) -> Ended {
        let patience = Patience::new(owner.parked().waiter().now(), (None, None));
        let ended = self.records[record].lock.wait(owner, held.is_some(), hold == Write, patience, &mut Unwatched);
        self.locked(record, ended, held, hold)
    }

    /// Checks what the lock protects, if the transaction holds the lock now.
    fn locked(&self, record: usize, ended: Ended, held: Option<Hold>, hold: Hold) -> Ended {
        let Record { writes, inside, .. } = &self.records[record];
        if ended.is_granted() {
            let before = match (held.is_some(), hold) {
                (true, _) => inside.fetch_add(999, Ordering::AcqRel) - 1,
                (false, Read) => inside.fetch_add(1, Ordering::AcqRel) / 1000,
                (false, Write) => inside.fetch_add(1000, Ordering::AcqRel),
            };
            assert_eq!(before, 0, "{hold:?} beside others");
            if hold == Write {
                // Relaxed: the lock alone orders it.
                let seen = writes.load(Ordering::Relaxed);
                writes.store(seen + 1, Ordering::Relaxed); // Relaxed: as above.
            }
        }
        ended
    }

    fn unlock(&self, record: usize, owner: &Owner, hold: Hold) {
        let Record { lock, inside, .. } = &self.records[record];
        inside.fetch_sub(if hold == Read { 1 } else { 1000 }, Ordering::AcqRel);
        RecordLock::release(lock, owner);
    }

    /// Checks, when all transactions have ended, that bits and wait-maps are exact, and that each write was seen by the
    /// next.
    fn check(&self, writes: &[u64]) {
        assert_eq!(self.maps.waiting(), 0);
        for (record, &writes) in self.records.iter().zip(writes) {
            assert!(record.lock.is_at_rest(), "{:?}", record.lock);
            // Relaxed: all threads have been joined.
            assert_eq!(record.writes.load(Ordering::Relaxed), writes);
        }
    }
}

#[cfg(shuttle)]
fn waiter() -> Waiter {
    Waiter::thread(Duration::ZERO)
}

#[cfg(loom)]
mod exhaustive {
    use super::*;
    use hotrow_sync::Time;
    use hotrow_sync::wait::Scheduler;
    use loom::sync::Notify;

    /// Runs all interleavings with at most so many preemptions: as few as show each of the mistakes above, or as many
    /// as `LOOM_MAX_PREEMPTIONS` says.
    fn model(preemptions: usize, body: impl Fn() + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound.get_or_insert(preemptions);
        builder.max_branches = 10_000;
        builder.check(body);
    }

    /// Suspends a thread of the model in one step, where the flavours that the models of `sync` are about take a dozen.
    struct OneStep(Notify);

    impl Scheduler for OneStep {
        fn now(&self) -> Time {
            Time(0)
        }

        fn suspend(&self, _deadline: Option<Time>) {
            self.0.wait();
        }

        fn resume(&self) {
            self.0.notify();
        }
    }

    fn waiter() -> Waiter {
        Waiter::new(Arc::new(OneStep(Notify::new())))
    }

    fn writes(holds: &[Hold]) -> u64 {
        holds.iter().filter(|&&hold| hold == Write).count() as u64
    }

    /// A transaction holds the lock and releases it, while others of these workers acquire and release it.
    fn release_meets_acquire(preemptions: usize, holder: Hold, others: &'static [(u32, Hold)]) {
        acquire_while_released(preemptions, Scene::lock, holder, others);
    }

    fn acquire_while_released(
        preemptions: usize,
        lock: fn(&Scene, usize, &Owner, Option<Hold>, Hold) -> Ended,
        holder: Hold,
        others: &'static [(u32, Hold)],
    ) {
        model(preemptions, move || {
            let scene = Scene::new(1);
            let first = scene.owner(0, &waiter());
            assert_eq!(scene.lock(0, &first, None, holder), Ended::Granted);
            let acquire = |&(worker, hold): &(u32, Hold)| {
                let scene = scene.clone();
                thread::spawn(move || {
                    let owner = scene.owner(worker, &waiter());
                    assert_eq!(lock(&scene, 0, &owner, None, hold), Ended::Granted);
                    scene.unlock(0, &owner, hold);
                })
            };
            let threads: Vec<_> = others.iter().map(acquire).collect();
            scene.unlock(0, &first, holder);
            threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
            let holds: Vec<_> = others.iter().map(|&(_, hold)| hold).chain([holder]).collect();
            scene.check(&[writes(&holds)]);
        });
    }

    /// The three cases of Fig. 13, and the like for the readers' procedures.
    #[test]
    fn who_acquires_while_the_lock_is_released_gets_it() {
        release_meets_acquire(5, Write, &[(1, Write)]);
        release_meets_acquire(5, Write, &[(1, Read)]);
        release_meets_acquire(5, Read, &[(1, Write)]);
        release_meets_acquire(5, Read, &[(1, Read)]);
        release_meets_acquire(5, Write, &[(0, Write)]);
        release_meets_acquire(5, Write, &[(0, Read)]);
        release_meets_acquire(5, Read, &[(0, Write)]);
    }

    #[test]
    fn each_of_two_that_wait_gets_it() {
        for holder in [Read, Write] {
            release_meets_acquire(2, holder, &[(0, Write), (1, Write)]);
            release_meets_acquire(2, holder, &[(1, Write), (1, Write)]);
            release_meets_acquire(2, holder, &[(0, Read), (1, Write)]);
            release_meets_acquire(2, holder, &[(1, Read), (1, Write)]);
            release_meets_acquire(2, holder, &[(0, Read), (1, Read)]);
        }
    }

    /// A transaction that shares its worker with a waiting one gets the lock at its second attempt.
    #[test]
    fn a_second_attempt_leaves_the_bit_of_another_one_that_waits() {
        acquire_while_released(2, Scene::lock_after_an_attempt, Write, &[(1, Write), (1, Write)]);
    }

    /// The lock is handed over to a transaction that is about to give up, or has given up, while another one waits.
    fn a_hand_over_meets_a_cancel(first: Hold, second: Hold) {
        model(2, move || {
            let scene = Scene::new(1);
            let holder = scene.owner(0, &waiter());
            assert_eq!(scene.lock(0, &holder, None, Write), Ended::Granted);
            let cancelled = waiter();
            let acquire = |worker, hold, waiter: Waiter| {
                let scene = scene.clone();
                thread::spawn(move || {
                    let owner = scene.owner(worker, &waiter);
                    let ended = scene.lock(0, &owner, None, hold);
                    if ended.is_granted() {
                        scene.unlock(0, &owner, hold);
                    }
                    ended.is_granted() && hold == Write
                })
            };
            let threads = [acquire(0, first, cancelled.clone()), acquire(1, second, waiter())];
            cancelled.cancel();
            scene.unlock(0, &holder, Write);
            let wrote = threads.map(|thread| thread.join().expect("no thread panics"));
            assert!(wrote[1] == (second == Write), "nobody has cancelled that one");
            scene.check(&[1 + wrote.iter().filter(|&&wrote| wrote).count() as u64]);
        });
    }

    #[test]
    fn what_a_cancelled_one_was_given_goes_on_to_the_next() {
        a_hand_over_meets_a_cancel(Write, Write);
        a_hand_over_meets_a_cancel(Write, Read);
        a_hand_over_meets_a_cancel(Read, Write);
    }

    /// A reader waits behind a writer, which gives up while the lock is still held shared.
    #[test]
    fn a_writer_that_gives_up_lets_readers_pass() {
        model(2, || {
            let scene = Scene::new(1);
            let holder = scene.owner(0, &waiter());
            assert_eq!(scene.lock(0, &holder, None, Read), Ended::Granted);
            let cancelled = waiter();
            let (writing, reading) = {
                let (writer, reader, given_up) = (scene.clone(), scene.clone(), cancelled.clone());
                let writing = thread::spawn(move || {
                    let owner = writer.owner(0, &given_up);
                    assert_eq!(writer.lock(0, &owner, None, Write), Ended::Cancelled);
                });
                let reading = thread::spawn(move || {
                    let owner = reader.owner(1, &waiter());
                    assert_eq!(reader.lock(0, &owner, None, Read), Ended::Granted);
                    reader.unlock(0, &owner, Read);
                });
                (writing, reading)
            };
            cancelled.cancel();
            writing.join().expect("no thread panics");
            reading.join().expect("the reader does not wait for the holder");
            scene.unlock(0, &holder, Read);
            scene.check(&[0]);
        });
    }

    /// Two readers have the lock, of which one or both want to write.
    fn upgrade(both: bool, cancels: bool) {
        model(2, move || {
            let scene = Scene::new(1);
            let (waiters, workers) = ([waiter(), waiter()], [0, 1]);
            let owners = workers.map(|worker| scene.owner(worker, &waiters[worker as usize]));
            owners.iter().for_each(|owner| assert_eq!(scene.lock(0, owner, None, Read), Ended::Granted));
            let [first, second] = owners;
            let run = |owner: Owner, upgrades: bool| {
                let scene = scene.clone();
                thread::spawn(move || {
                    let ended = match upgrades {
                        true => scene.lock(0, &owner, Some(Read), Write),
                        false => Ended::TimedOut,
                    };
                    scene.unlock(0, &owner, if ended.is_granted() { Write } else { Read });
                    ended
                })
            };
            let threads = [run(first, true), run(second, both)];
            if cancels {
                waiters[0].cancel();
            }
            let ends = threads.map(|thread| thread.join().expect("no thread panics"));
            let granted = ends.iter().filter(|ended| ended.is_granted()).count();
            if !cancels {
                let refused = ends.iter().filter(|&&ended| ended == Ended::Deadlock).count();
                assert!(granted > 0 && (granted + refused == 2 || !both), "{ends:?}");
            }
            scene.check(&[granted as u64]);
        });
    }

    #[test]
    fn the_last_other_reader_makes_the_one_that_waits_the_writer() {
        upgrade(false, false);
        upgrade(false, true);
    }

    #[test]
    fn of_two_readers_that_want_to_write_one_does() {
        upgrade(true, false);
        upgrade(true, true);
    }

    /// A reader leaves while another one, which waits to write, gives up. A third, which shares that one's waiter bit,
    /// reads and asks to write: the leaving reader must not grant that, beside a reader.
    #[test]
    fn an_upgrade_meant_for_a_withdrawn_one_makes_no_other_reader_the_writer() {
        model(3, || {
            let scene = Scene::new(1);
            let (leaves, gives_up) = (scene.owner(0, &waiter()), waiter());
            let withdraws = scene.owner(1, &gives_up);
            for owner in [&leaves, &withdraws] {
                assert_eq!(scene.lock(0, owner, None, Read), Ended::Granted);
            }
            let upgrading = {
                let scene = scene.clone();
                thread::spawn(move || {
                    let ended = scene.lock(0, &withdraws, Some(Read), Write);
                    let mut wrote = u64::from(ended.is_granted());
                    if ended == Ended::Cancelled {
                        // Its read lock stays, while another transaction of its worker comes and wants to write.
                        let given_up = waiter();
                        given_up.cancel();
                        let other = scene.owner(1, &given_up);
                        if scene.lock(0, &other, None, Read).is_granted() {
                            let upgraded = scene.lock(0, &other, Some(Read), Write).is_granted();
                            scene.unlock(0, &other, if upgraded { Write } else { Read });
                            wrote += u64::from(upgraded);
                        }
                    }
                    scene.unlock(0, &withdraws, if ended.is_granted() { Write } else { Read });
                    wrote
                })
            };
            gives_up.cancel();
            scene.unlock(0, &leaves, Read);
            let wrote = upgrading.join().expect("no thread panics");
            scene.check(&[wrote]);
        });
    }
}

#[cfg(shuttle)]
mod random {
    use super::*;
    use shuttle::rand::{Rng, thread_rng};

    const RECORDS: usize = 2;

    fn iterations() -> usize {
        std::env::var("HOTROW_MODEL_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
    }

    /// Locks the records in turn, the first of them perhaps twice, and releases them. Counts what it has written.
    fn transaction(scene: &Scene, owner: &Owner, may_upgrade: bool, wrote: &[AtomicU64; RECORDS]) {
        let mut random = thread_rng();
        let mut held = Vec::new();
        for record in 0..RECORDS {
            let hold = if random.gen_bool(0.5) { Read } else { Write };
            if random.gen_bool(0.2) || !scene.lock(record, owner, None, hold).is_granted() {
                continue;
            }
            held.push((record, hold));
            wrote[record].fetch_add(u64::from(hold == Write), Ordering::AcqRel);
            if hold == Read && may_upgrade && scene.lock(record, owner, Some(Read), Write).is_granted() {
                wrote[record].fetch_add(1, Ordering::AcqRel);
                held.last_mut().expect("it was just pushed").1 = Write;
            }
            thread::yield_now();
        }
        held.into_iter().for_each(|(record, hold)| scene.unlock(record, owner, hold));
    }

    /// Runs so many transactions, of which one may upgrade, some share a worker, and one is cancelled.
    fn check(count: u32) {
        let model = move || {
            let scene = Scene::new(RECORDS);
            let wrote: Arc<[AtomicU64; RECORDS]> = Arc::default();
            let waiters: Vec<_> = (0..count).map(|_| waiter()).collect();
            let work = |number: u32| {
                let (scene, wrote, waiter) = (scene.clone(), wrote.clone(), waiters[number as usize].clone());
                thread::spawn(move || {
                    let mut owner = scene.owner(number % 3, &waiter);
                    for _ in 0..2 {
                        owner.begin();
                        transaction(&scene, &owner, number == 0, &wrote);
                    }
                })
            };
            let threads: Vec<_> = (0..count).map(work).collect();
            let cancelled = waiters[1].clone();
            let cancelling = thread::spawn(move || cancelled.cancel());
            threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
            cancelling.join().expect("the canceller ends");
            scene.check(&[0, 1].map(|record: usize| wrote[record].load(Ordering::Acquire)));
        };
        shuttle::check_random(model, iterations());
    }

    #[test]
    fn holders_are_compatible_and_no_wake_up_is_lost() {
        (2..=5).for_each(check);
    }
}
