//! The flavour of waiting for a transaction that has a thread of its own.
//!
//! **How long a thread spins** before it blocks, it learns from its own waits. To block and to be woken costs some tens
//! of microseconds, more if the core has gone idle meanwhile. If a wait ends within that time, spinning through it is
//! cheaper. If a wait lasts longer, the spin is wasted. How long waits last depends on the transactions that hold the
//! locks. So the allowance doubles with each short wait, up to the cost of blocking, and halves with each long one.
//!
//! **More threads than cores.** A thread that loses its core in the middle of a transaction keeps its locks. A thread
//! that wants one of these locks gives its core away while it holds locks of its own. If the running threads begin one
//! new transaction after another, they meet the locks of all threads that were stopped in the middle. Soon each of
//! them, too, runs only a few transactions before it waits: a convoy that never dissolves. So a thread that has ended a
//! transaction [lets others finish](let_others_finish): those that wait in the middle of theirs and are about to go on.
//! Then no stopped thread holds a lock, and all the cores' time goes to transactions that run from begin to end. A
//! worker whose coroutines all wait is counted among those others, too, the first few times that it
//! [gives its core away](give_core_away).

use super::{Scheduler, Time};
use crate::atomic::{AtomicBool, Ordering};
use crate::{Condvar, Mutex, MutexGuard, OnceLock, PlainAtomicU64};
use std::time::Duration;

/// The [`Scheduler`] of a transaction that has a thread of its own: it spins for a moment, then blocks on a condition
/// variable.
///
/// A thread spins only if there are at least as many cores as threads with such a scheduler. Otherwise the thread that
/// it waits for may have no core, and the spin could keep it from getting one. So the waiting thread gives its core
/// away a few times before it blocks. To wake a thread that has not blocked costs no system call, and that thread goes
/// on as soon as it has a core again. That matters where a lock passes through a queue of threads: while its next owner
/// is being woken, every other thread that arrives has to queue, too.
pub struct ThreadScheduler {
    notified: AtomicBool,
    state: Mutex<State>,
    wakeup: Condvar,
    /// The longest time for which the thread spins. If it is zero, the thread never spins.
    longest: Duration,
    /// The time for which the thread may spin at present, in nanoseconds. Only the scheduler's own thread writes.
    allowance_ns: PlainAtomicU64,
}

/// The longest spin that pays, which is about the cost of blocking and being woken.
pub const LONGEST_SPIN: Duration = Duration::from_micros(100);

/// The divisor of the longest spin that gives the least allowance.
const LEAST_ALLOWANCE: u64 = 16;

/// The state of a scheduler's thread, for the threads that wake it.
enum State {
    /// The thread runs, or is about to look at the notification.
    Running,
    Blocked,
    /// The thread was woken from its block, and does not run yet.
    Woken {
        _counted: Option<AboutToGoOn>,
    },
}

/// The number of times that a thread gives its core away before it blocks. On two cores, eight threads of skewed
/// transactions achieve more with 20 than with 10, and little changes beyond that.
const CORE_GIVEN_AWAY: u32 = 20;

/// The greatest number of times that a thread that has ended a transaction gives its core to others. A thread that
/// waits has blocked before that.
const CORE_GIVEN_TO_OTHERS: u32 = 2 * CORE_GIVEN_AWAY;

// The next two are not atomics of the models: only the length of a wait depends on them.

/// The number of schedulers of the thread flavour that may spin.
static SPINNING: PlainAtomicU64 = PlainAtomicU64::new(0);

/// The number of these schedulers whose threads wait and are about to go on: they have not blocked yet, or have been
/// woken.
static ABOUT_TO_GO_ON: PlainAtomicU64 = PlainAtomicU64::new(0);

/// Whether more threads may spin than there are cores.
fn is_crowded() -> bool {
    static CORES: OnceLock<u64> = OnceLock::new();
    // Relaxed: a figure, which orders nothing.
    SPINNING.load(Ordering::Relaxed) > *CORES.get_or_init(|| crate::cores() as u64)
}

/// Yields the core a few times if threads that wait in the middle of transactions are about to go on. A thread calls
/// this after it has ended a transaction, while it holds no locks. It does nothing unless there are more threads than
/// cores.
#[inline]
pub fn let_others_finish() {
    // Relaxed: as in `is_crowded`.
    if ABOUT_TO_GO_ON.load(Ordering::Relaxed) != 0 {
        give_core_to_others();
    }
}

/// Yields the core once. Meanwhile threads that have ended a transaction [let the calling thread go
/// on](let_others_finish), which is in the middle of one or several.
pub fn give_core_away() {
    about_to_go_on(crate::thread::yield_now);
}

/// Calls `wait`, and counts its thread as about to go on meanwhile.
fn about_to_go_on<R>(wait: impl FnOnce() -> R) -> R {
    let _counted = AboutToGoOn::new();
    wait()
}

/// Gives the core away until no thread is about to go on, and returns how often it did.
#[cold]
fn give_core_to_others() -> u32 {
    let nobody_is_left = |_: &u32| {
        crate::thread::yield_now();
        // Relaxed: as in `is_crowded`.
        ABOUT_TO_GO_ON.load(Ordering::Relaxed) == 0
    };
    (1..=CORE_GIVEN_TO_OTHERS).find(nobody_is_left).unwrap_or(CORE_GIVEN_TO_OTHERS)
}

/// A guard that counts its thread as about to go on, as long as it lives.
struct AboutToGoOn;

impl AboutToGoOn {
    fn new() -> Self {
        // Relaxed: as in `is_crowded`.
        ABOUT_TO_GO_ON.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for AboutToGoOn {
    fn drop(&mut self) {
        // Relaxed: as in `is_crowded`.
        ABOUT_TO_GO_ON.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ThreadScheduler {
    /// Makes a scheduler that spins for at most `longest` before it blocks the thread.
    pub fn new(longest: Duration) -> Self {
        if !longest.is_zero() {
            // Relaxed: as in `is_crowded`.
            SPINNING.fetch_add(1, Ordering::Relaxed);
        }
        let (notified, state) = (AtomicBool::new(false), Mutex::new(State::Running));
        let allowance_ns = PlainAtomicU64::new(nanoseconds(longest));
        Self { notified, state, wakeup: Condvar::new(), longest, allowance_ns }
    }

    /// Returns the time for which the thread may spin at present.
    fn allowance(&self) -> Duration {
        // Relaxed: a figure, which orders nothing.
        Duration::from_nanos(self.allowance_ns.load(Ordering::Relaxed))
    }

    /// Adapts the allowance to a wait that ended with a notification. `was_short` says whether spinning would have been
    /// cheaper than blocking.
    fn learn(&self, was_short: bool) {
        let (longest, allowance) = (nanoseconds(self.longest), nanoseconds(self.allowance()));
        let learned = match was_short {
            true => allowance.saturating_mul(2).min(longest),
            false => (allowance / 2).max(longest / LEAST_ALLOWANCE).max(1),
        };
        // Relaxed: as in `allowance`.
        self.allowance_ns.store(learned, Ordering::Relaxed);
    }

    fn take_notification(&self) -> bool {
        self.notified.swap(false, Ordering::AcqRel)
    }

    /// Checks the condition again and again for the time of the allowance, at most until the deadline: a short pause
    /// must not become a long one. Returns whether the condition became true.
    fn spin_until(&self, deadline: Option<Time>, mut condition: impl FnMut() -> bool) -> bool {
        if cfg!(any(loom, shuttle)) || self.longest.is_zero() {
            return condition();
        }
        if is_crowded() {
            return self.give_core_away_until(deadline, condition);
        }
        let allowance = self.allowance();
        let spin = deadline.map_or(allowance, |deadline| allowance.min(deadline.since(self.now())));
        let start = Time::now();
        loop {
            for _ in 0..16 {
                if condition() {
                    return true;
                }
                crate::hint::spin_loop();
            }
            if Time::now().since(start) >= spin {
                return false;
            }
        }
    }

    /// Gives the core away a few times, and checks the condition in between. Returns whether the condition became true.
    fn give_core_away_until(&self, deadline: Option<Time>, mut condition: impl FnMut() -> bool) -> bool {
        let _counted = AboutToGoOn::new();
        for _ in 0..CORE_GIVEN_AWAY {
            if condition() {
                return true;
            }
            if deadline.is_some_and(|deadline| self.now() >= deadline) {
                return false;
            }
            crate::thread::yield_now();
        }
        condition()
    }
}

impl Drop for ThreadScheduler {
    fn drop(&mut self) {
        if !self.longest.is_zero() {
            // Relaxed: as in `is_crowded`.
            SPINNING.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Scheduler for ThreadScheduler {
    fn now(&self) -> Time {
        Time::now()
    }

    fn suspend(&self, deadline: Option<Time>) {
        // A notification that was meant for an earlier wait teaches nothing about this one.
        if self.take_notification() {
            return;
        }
        let began = self.now();
        if self.spin_until(deadline, || self.notified.load(Ordering::Acquire)) && self.take_notification() {
            self.learn(true);
            return;
        }
        let has_passed = deadline.is_some_and(|deadline| self.now() >= deadline);
        if !has_passed && self.block_until(deadline) {
            // Coming back from the block took a part of that time.
            self.learn(self.now().since(began) <= 2 * self.longest);
        }
    }

    fn resume(&self) {
        // An exchange, as in `take_notification`: loom does not see that a store comes after an exchange that missed
        // it.
        self.notified.swap(true, Ordering::AcqRel);
        let mut state = self.state.lock().unwrap_or_else(|poison| poison.into_inner());
        if matches!(*state, State::Blocked) {
            *state = State::Woken { _counted: (!self.longest.is_zero() && is_crowded()).then(AboutToGoOn::new) };
            self.wakeup.notify_one();
        }
    }

    fn spin(&self, deadline: Option<Time>, condition: &mut dyn FnMut() -> bool) -> bool {
        self.spin_until(deadline, condition)
    }

    fn has_thread(&self) -> bool {
        true
    }
}

impl ThreadScheduler {
    /// Blocks until there is a notification, until the deadline, or without a reason. Returns whether there was a
    /// notification.
    fn block_until(&self, deadline: Option<Time>) -> bool {
        let mut state = self.state.lock().unwrap_or_else(|poison| poison.into_inner());
        // `resume` sets the flag before it takes the mutex, so either we see the flag here or it sees the state.
        let is_notified = self.take_notification() || {
            *state = State::Blocked;
            state = self.block(state, deadline);
            self.take_notification()
        };
        *state = State::Running;
        is_notified
    }

    #[cfg(not(loom))]
    fn block<'a>(&self, guard: MutexGuard<'a, State>, deadline: Option<Time>) -> MutexGuard<'a, State> {
        match deadline {
            None => self.wakeup.wait(guard).unwrap_or_else(|poison| poison.into_inner()),
            Some(deadline) => {
                let timeout = deadline.since(self.now());
                self.wakeup.wait_timeout(guard, timeout).unwrap_or_else(|poison| poison.into_inner()).0
            }
        }
    }

    /// Blocks until there is a notification. A model under loom has no time, so a deadline never passes there.
    #[cfg(loom)]
    fn block<'a>(&self, guard: MutexGuard<'a, State>, _deadline: Option<Time>) -> MutexGuard<'a, State> {
        self.wakeup.wait(guard).unwrap_or_else(|poison| poison.into_inner())
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_spins_less_after_long_waits_and_more_after_short_ones() {
        let longest = Duration::from_micros(64);
        let scheduler = ThreadScheduler::new(longest);
        let allowances = |was_short, times| -> Vec<_> {
            let allowance = |_| {
                scheduler.learn(was_short);
                scheduler.allowance().as_micros()
            };
            (0..times).map(allowance).collect()
        };
        assert_eq!(allowances(true, 1), [64]);
        assert_eq!(allowances(false, 6), [32, 16, 8, 4, 4, 4]);
        assert_eq!(allowances(true, 3), [8, 16, 32]);
        // A wait that no thread ended teaches nothing about locks, and neither does a notification that came before the
        // wait.
        scheduler.suspend(Some(scheduler.now().after(longest * 2)));
        scheduler.resume();
        scheduler.suspend(None);
        assert_eq!(scheduler.allowance().as_micros(), 32);
        assert_eq!(allowances(true, 2), [64, 64]);
    }

    #[test]
    fn a_thread_that_may_have_no_core_gives_it_away_instead_of_spinning() {
        let spin = Duration::from_secs(3600);
        let all: Vec<_> = (0..=crate::cores()).map(|_| ThreadScheduler::new(spin)).collect();
        let looks = |deadline, last| {
            let mut looks = 0;
            let found = all[0].spin(deadline, &mut || {
                looks += 1;
                looks == last
            });
            (found, looks)
        };
        assert_eq!(looks(None, u32::MAX), (false, CORE_GIVEN_AWAY + 1));
        assert_eq!(looks(None, CORE_GIVEN_AWAY + 1), (true, CORE_GIVEN_AWAY + 1));
        assert_eq!(looks(None, 3), (true, 3));
        assert_eq!(looks(Some(Time::now()), u32::MAX), (false, 1), "the deadline has passed");
        // A notification that came before is still found, and a deadline that has passed ends the wait.
        all[0].resume();
        all[0].suspend(None);
        all[0].suspend(Some(Time::now()));
    }

    #[test]
    fn a_thread_gives_its_core_to_those_that_are_about_to_go_on_and_no_longer_than_they_wait() {
        let counted = || ABOUT_TO_GO_ON.load(Ordering::Acquire);
        let crowd: Vec<_> = (0..=crate::cores()).map(|_| ThreadScheduler::new(Duration::from_nanos(1))).collect();
        let waits = AboutToGoOn::new();
        assert_eq!(give_core_to_others(), CORE_GIVEN_TO_OTHERS);
        drop(waits);
        about_to_go_on(|| assert_eq!(give_core_to_others(), CORE_GIVEN_TO_OTHERS));
        // As the thread of that scheduler would do, if it blocked and came back.
        let state = || crowd[0].state.lock().expect("not poisoned");
        *state() = State::Blocked;
        crowd[0].resume();
        assert!(matches!(*state(), State::Woken { _counted: Some(_) }) && counted() > 0);
        *state() = State::Running;
        // Another test may have its threads counted for a moment.
        while counted() != 0 {
            crate::thread::yield_now();
        }
        let_others_finish();
    }
}
