//! Waiting is suspension: how a transaction waits, whatever it runs on.
//!
//! A protocol that must wait calls [`Waiter::wait_until`] with a deadline and a condition; the thread that makes the
//! condition true calls [`Waiter::wake`]. What happens in between is up to the [`Scheduler`]: the thread parks
//! ([`ThreadScheduler`]), the coroutine yields to its worker, or the simulator picks the transaction that runs next.
//! Protocols never see the difference.
//!
//! **Invariants**
//!
//! 1. Only the waiter evaluates the condition, with no latch of `sync` held.
//! 2. `wake` after the condition became true is never lost: the waiter either sees the condition or the notification.
//!    (The notification is a flag that stays set until the waiter consumes it.)
//! 3. A wake without a true condition is harmless: the waiter looks again and goes on waiting.
//! 4. `cancel` is sticky until `clear_cancel`: a cancelled waiter never starts to wait again. A waiter whose limit has
//!    passed is cancelled, too.
//! 5. A wait that ends with [`Wake::TimedOut`] or [`Wake::Cancelled`] says nothing about the condition: the caller must
//!    withdraw from whatever queue it stands in, and find out there, under that queue's latch, whether its request was
//!    granted meanwhile.
//! 6. A recall ends waits as `cancel` does, but only those of one call of [`Waiter::recallable`]: recalls that come
//!    before the call or after it have no effect.

mod thread;
mod together;

pub use thread::{LONGEST_SPIN, ThreadScheduler, give_core_away, let_others_finish};
pub use together::together;

use crate::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use crate::{Arc, OnceLock, PlainAtomicU64};
use std::fmt;
use std::time::{Duration, Instant};

/// A point in time, in nanoseconds since the clock's start. All threads of a process share one clock; a simulation has
/// a clock of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// Returns the present time on the process's clock, or on the machine's, within a simulated machine.
    pub fn now() -> Self {
        #[cfg(machine)]
        if let Some(now) = crate::machine::now() {
            return Time::default().after(now);
        }
        Time(u64::try_from(clock_start().elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Returns the time that comes `duration` after this one, or the greatest time if there is none.
    pub fn after(self, duration: Duration) -> Self {
        Time(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// Returns the time that passed from `earlier` to `self`, or zero if `earlier` comes after `self`.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// The way in which a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The condition is true.
    Ready,
    /// The deadline passed before the condition was seen to be true.
    TimedOut,
    /// The waiter is cancelled: [`Waiter::cancel`] was called, or the waiter's [limit](Waiter::set_limit) has passed.
    /// Or the wait was [recalled](Waiter::recall).
    Cancelled,
}

/// The way in which a [`Waiter`] suspends and resumes one transaction in flight: it blocks a thread, suspends a
/// coroutine, or lets a simulation go on.
///
/// The transaction itself calls `suspend`; any thread may call `resume`, any number of times. A `resume` that comes
/// before the `suspend` that it was meant for must make that `suspend` return at once. `suspend` may also return early
/// without a reason.
pub trait Scheduler: Send + Sync {
    /// Returns the present time on the clock by which this scheduler's deadlines are given.
    fn now(&self) -> Time;

    /// Suspends the calling transaction until `resume` is called or the deadline passes.
    fn suspend(&self, deadline: Option<Time>);

    /// Lets the suspended transaction continue.
    fn resume(&self);

    /// Lets other transactions run if the calling one has run for long. By default the call does nothing: if each
    /// transaction has a thread of its own, the operating system shares the cores.
    fn yield_now(&self) {}

    /// Spins: checks the condition again and again for a short time, at most until the deadline. Returns whether it
    /// became true. By default the call returns false without a check, since spinning does not pay under every
    /// scheduler.
    fn spin(&self, _deadline: Option<Time>, _condition: &mut dyn FnMut() -> bool) -> bool {
        false
    }

    /// Whether the transaction has a thread that would do nothing else while the transaction is suspended. By default
    /// it has none.
    fn has_thread(&self) -> bool {
        false
    }
}

/// The means by which one transaction in flight waits. A clone is cheap, and all clones are the same waiter.
///
/// The transaction's own code calls [`wait_until`](Self::wait_until); other threads call [`wake`](Self::wake) and
/// [`cancel`](Self::cancel).
#[derive(Clone)]
pub struct Waiter {
    shared: Arc<Shared>,
}

struct Shared {
    /// The [`Time`] at which all waiting ends; [`CANCELLED`] ends it at once.
    end: AtomicU64,
    /// The nanoseconds that the waiter has waited, counting at least one for each wait. Only the waiter itself writes.
    waited_ns: AtomicU64,
    /// The [`Time`] since which the waiter waits, or [`NEVER`]. Only the waiter itself writes.
    waits_since: AtomicU64,
    /// The longest single wait for a lock, in nanoseconds, or [`NEVER`]. Only the owner writes.
    lock_timeout_ns: AtomicU64,
    /// The time for which a wait for a lock lasts before the waiter checks for a deadlock, in nanoseconds, or
    /// [`NEVER`]. Only the owner writes.
    deadlock_timeout_ns: AtomicU64,
    /// Whether waits may be recalled: [`STAYS`], [`RECALLABLE`] or [`RECALLED`].
    recall: AtomicU8,
    /// Whether commits wait for the log. Only the owner writes.
    waits_for_log: AtomicBool,
    /// The number of calls of [`yield_now`](Waiter::yield_now). Only the waiter itself writes.
    calls: PlainAtomicU64,
    scheduler: Arc<dyn Scheduler>,
}

/// The number of calls of [`Waiter::yield_now`] after which the waiter looks at the clock.
const CALLS_EACH_LOOK: u64 = 16;

/// The value of a cancelled waiter's `end`, and the value of a time that never comes.
const CANCELLED: u64 = 0;
const NEVER: u64 = u64::MAX;

/// The states of a waiter's recall: its waits cannot be recalled; they can be; they were recalled.
const STAYS: u8 = 0;
const RECALLABLE: u8 = 1;
const RECALLED: u8 = 2;

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiter").field("cancelled", &self.is_cancelled()).finish_non_exhaustive()
    }
}

impl Waiter {
    /// Makes a waiter that waits through `scheduler`.
    pub fn new(scheduler: Arc<dyn Scheduler>) -> Self {
        let shared = Shared {
            end: AtomicU64::new(NEVER),
            waited_ns: AtomicU64::new(0),
            waits_since: AtomicU64::new(NEVER),
            lock_timeout_ns: AtomicU64::new(NEVER),
            deadlock_timeout_ns: AtomicU64::new(NEVER),
            recall: AtomicU8::new(STAYS),
            waits_for_log: AtomicBool::new(true),
            calls: PlainAtomicU64::new(0),
            scheduler,
        };
        Self { shared: Arc::new(shared) }
    }

    /// Makes a waiter that parks the calling thread. Before it parks, it checks the condition in a loop for at most
    /// `longest_spin`; it adapts that time to how long its waits last.
    pub fn thread(longest_spin: Duration) -> Self {
        Self::new(Arc::new(ThreadScheduler::new(longest_spin)))
    }

    /// Whether `other` is a clone of this waiter.
    pub fn is(&self, other: &Waiter) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Returns the present time on the clock of this waiter's scheduler.
    #[inline]
    pub fn now(&self) -> Time {
        self.shared.scheduler.now()
    }

    /// Waits until `condition` is true, the deadline has passed, or the waiter is cancelled.
    pub fn wait_until(&self, deadline: Option<Time>, mut condition: impl FnMut() -> bool) -> Wake {
        if condition() {
            return Wake::Ready;
        }
        self.counted(|| self.suspend_until(deadline, condition))
    }

    /// Counts the time of a call as a wait.
    fn counted<R>(&self, wait: impl FnOnce() -> R) -> R {
        let began = self.now();
        self.shared.waits_since.store(began.0, Ordering::Release);
        let result = wait();
        self.shared.waits_since.store(NEVER, Ordering::Release);
        let waited_ns = (self.now().since(began).as_nanos() as u64).max(1);
        self.shared.waited_ns.store(self.waited_ns() + waited_ns, Ordering::Release);
        result
    }

    /// Whether the transaction has a thread that would do nothing else while the transaction waits. If so, the thread
    /// may itself do the work for which the transaction waits: see [`wait_by`](Self::wait_by).
    pub fn has_thread(&self) -> bool {
        self.shared.scheduler.has_thread()
    }

    /// Calls `work`, which does the work for which the transaction would otherwise wait. The time of the call counts as
    /// a wait. The call does not end when the waiter is cancelled.
    pub fn wait_by<R>(&self, work: impl FnOnce() -> R) -> R {
        let _outside = together::Outside::new();
        self.counted(work)
    }

    fn suspend_until(&self, deadline: Option<Time>, mut condition: impl FnMut() -> bool) -> Wake {
        let _outside = together::Outside::new();
        loop {
            let end = self.shared.end.load(Ordering::Acquire);
            if self.has_passed(end) || self.shared.recall.load(Ordering::Acquire) == RECALLED {
                return Wake::Cancelled;
            }
            if deadline.is_some_and(|deadline| self.now() >= deadline) {
                return Wake::TimedOut;
            }
            let limit = (end != NEVER).then_some(Time(end));
            self.shared.scheduler.suspend(deadline.into_iter().chain(limit).min());
            let is_ready = condition();
            #[cfg(machine)]
            assert!(!crate::machine::was_woken_by_nobody() || !is_ready, "a wake was lost: the condition came true");
            if is_ready {
                return Wake::Ready;
            }
        }
    }

    /// Waits until `condition` is true, even if the waiter is cancelled. Use it only where the condition becomes true
    /// soon, whatever other transactions do.
    pub fn wait_for(&self, mut condition: impl FnMut() -> bool) {
        let _outside = together::Outside::new();
        while !condition() {
            self.shared.scheduler.suspend(None);
        }
    }

    /// Returns the nanoseconds that this waiter has waited so far, counting at least one for each wait. A caller that
    /// compares the figure before and after a call learns whether the call waited, and how long.
    #[inline]
    pub fn waited_ns(&self) -> u64 {
        self.shared.waited_ns.load(Ordering::Acquire)
    }

    /// Returns the time since which the transaction waits, or `None` if it does not wait at this moment. Any thread may
    /// call this.
    pub fn waits_since(&self) -> Option<Time> {
        Some(self.shared.waits_since.load(Ordering::Acquire)).filter(|&since| since != NEVER).map(Time)
    }

    /// Returns the longest time for which one wait for a lock may last, as the session or worker has set it; `None`
    /// leaves the limit to the engine. An engine reads this when a wait begins.
    #[inline]
    pub fn lock_timeout(&self) -> Option<Duration> {
        to_duration(self.shared.lock_timeout_ns.load(Ordering::Acquire))
    }

    /// Sets the longest time for which one wait for a lock may last, for waits that begin from now on; `None` leaves
    /// the limit to the engine.
    pub fn set_lock_timeout(&self, limit: Option<Duration>) {
        self.shared.lock_timeout_ns.store(to_ns(limit), Ordering::Release);
    }

    /// Returns the time for which a wait for a lock lasts before an engine that detects deadlocks by time-out assumes
    /// one; `None` leaves it to the engine.
    #[inline]
    pub fn deadlock_timeout(&self) -> Option<Duration> {
        to_duration(self.shared.deadlock_timeout_ns.load(Ordering::Acquire))
    }

    /// Sets the [deadlock time-out](Self::deadlock_timeout) for waits that begin from now on; `None` leaves it to the
    /// engine.
    pub fn set_deadlock_timeout(&self, timeout: Option<Duration>) {
        self.shared.deadlock_timeout_ns.store(to_ns(timeout), Ordering::Release);
    }

    /// Whether the waiter's transactions wait at their commit until the log is durable, as far as the log makes
    /// transactions wait at all. True at first.
    #[inline]
    pub fn waits_for_log(&self) -> bool {
        self.shared.waits_for_log.load(Ordering::Acquire)
    }

    /// Sets whether the waiter's transactions wait for the [log](Self::waits_for_log), for commits from now on.
    pub fn set_waits_for_log(&self, waits: bool) {
        self.shared.waits_for_log.store(waits, Ordering::Release);
    }

    /// Spins on a condition that no thread announces by a [`wake`](Self::wake), for as long as the waiter's scheduler
    /// allows. Returns whether the condition became true. If it did not, the caller must arrange to be woken and then
    /// call [`wait_until`](Self::wait_until).
    pub fn spin(&self, deadline: Option<Time>, mut condition: impl FnMut() -> bool) -> bool {
        !self.is_cancelled() && self.shared.scheduler.spin(deadline, &mut condition)
    }

    /// Suspends the transaction for `duration`, or until it is cancelled. Back-off between retries uses this.
    pub fn pause(&self, duration: Duration) -> Wake {
        self.wait_until(Some(self.now().after(duration)), || false)
    }

    /// Suspends the transaction as [`pause`](Self::pause) does, but is not counted as a wait: neither
    /// [`waits_since`](Self::waits_since) nor [`waited_ns`](Self::waited_ns) shows it.
    pub fn rest(&self, duration: Duration) -> Wake {
        self.rest_until(Some(self.now().after(duration)), || false)
    }

    /// Waits as [`wait_until`](Self::wait_until) does, but is not counted as a wait, like [`rest`](Self::rest).
    pub fn rest_until(&self, deadline: Option<Time>, mut condition: impl FnMut() -> bool) -> Wake {
        if condition() { Wake::Ready } else { self.suspend_until(deadline, condition) }
    }

    /// Lets other transactions run if the scheduler finds that this one has run for long. Code that visits many rows
    /// calls this between two of them, while it holds no latch. Most calls cost an increment.
    #[inline]
    pub fn yield_now(&self) {
        // Relaxed: only the waiter itself uses the counter.
        let calls = self.shared.calls.load(Ordering::Relaxed).wrapping_add(1);
        self.shared.calls.store(calls, Ordering::Relaxed);
        if calls.is_multiple_of(CALLS_EACH_LOOK) {
            self.shared.scheduler.yield_now();
        }
    }

    /// Makes the waiting transaction check its condition again. The caller has made the condition true before. Within
    /// [`together()`], the wake is deferred until the end of the outermost call.
    pub fn wake(&self) {
        if !together::put_off(self) {
            self.resume();
        }
    }

    fn resume(&self) {
        self.shared.scheduler.resume();
    }

    /// Ends the present wait, and refuses further ones until [`clear_cancel`](Self::clear_cancel).
    pub fn cancel(&self) {
        self.shared.end.store(CANCELLED, Ordering::Release);
        self.shared.scheduler.resume();
    }

    /// Whether [`cancel`](Self::cancel) was called, or the [limit](Self::set_limit) has passed.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.has_passed(self.shared.end.load(Ordering::Acquire))
    }

    #[inline]
    fn has_passed(&self, end: u64) -> bool {
        end != NEVER && (end == CANCELLED || self.now() >= Time(end))
    }

    /// Makes a call whose waits another thread may [recall](Self::recall). Returns the call's result, and whether it
    /// was recalled. Only the transaction's own code calls this, and not within another such call.
    pub fn recallable<R>(&self, call: impl FnOnce() -> R) -> (R, bool) {
        struct Recallable<'w>(&'w Waiter);
        impl Drop for Recallable<'_> {
            fn drop(&mut self) {
                // No exchange: a recall between the look and this has no wait to end any more.
                self.0.shared.recall.store(STAYS, Ordering::Release);
            }
        }
        self.shared.recall.store(RECALLABLE, Ordering::Release);
        let within = Recallable(self);
        let result = call();
        let was_recalled = self.shared.recall.load(Ordering::Acquire) == RECALLED;
        drop(within);
        (result, was_recalled)
    }

    /// Whether the transaction is within a call of [`recallable`](Self::recallable) that was not recalled. Any thread
    /// may call this.
    pub fn is_recallable(&self) -> bool {
        self.shared.recall.load(Ordering::Acquire) == RECALLABLE
    }

    /// Ends the present wait, and all further ones of the present call of [`recallable`](Self::recallable), as
    /// [`cancel`](Self::cancel) would. Returns false if there is no such call. Any thread may call this.
    pub fn recall(&self) -> bool {
        let recalled =
            self.shared.recall.compare_exchange(RECALLABLE, RECALLED, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if recalled {
            self.shared.scheduler.resume();
        }
        recalled
    }

    /// Withdraws a cancellation, and removes the [limit](Self::set_limit). A session calls this between two statements.
    pub fn clear_cancel(&self) {
        self.shared.end.store(NEVER, Ordering::Release);
    }

    /// Sets the time at which the waiter becomes cancelled; `None` removes the limit. Only the transaction's own code
    /// calls this, while it does not wait: the call does not resume a wait. If [`cancel`](Self::cancel) was called, the
    /// waiter stays cancelled. If it is cancelled because the limit has passed, the new limit replaces the old one, and
    /// the waiter can wait again.
    pub fn set_limit(&self, limit: Option<Time>) {
        let end = limit.map_or(NEVER, |Time(limit)| limit.clamp(CANCELLED + 1, NEVER - 1));
        let keep = |old| (old != CANCELLED).then_some(end);
        // The update fails if the waiter is cancelled.
        let _ = self.shared.end.fetch_update(Ordering::AcqRel, Ordering::Acquire, keep);
    }

    /// Whether the [limit](Self::set_limit) has passed without a call of [`cancel`](Self::cancel).
    pub fn is_late(&self) -> bool {
        let end = self.shared.end.load(Ordering::Acquire);
        end != CANCELLED && self.has_passed(end)
    }
}

fn to_ns(duration: Option<Duration>) -> u64 {
    duration.map_or(NEVER, |duration| u64::try_from(duration.as_nanos()).unwrap_or(NEVER).min(NEVER - 1))
}

fn to_duration(ns: u64) -> Option<Duration> {
    (ns != NEVER).then_some(Duration::from_nanos(ns))
}

/// Returns the instant at which the process's clock started: its first use.
fn clock_start() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_waiter_asks_its_flavour_to_yield_now_and_then() {
        struct Counting(AtomicU64);

        impl Scheduler for Counting {
            fn now(&self) -> Time {
                Time(0)
            }

            fn suspend(&self, _deadline: Option<Time>) {}

            fn resume(&self) {}

            fn yield_now(&self) {
                self.0.fetch_add(1, Ordering::AcqRel);
            }
        }

        let counting = Arc::new(Counting(AtomicU64::new(0)));
        let waiter = Waiter::new(counting.clone());
        (0..10 * CALLS_EACH_LOOK).for_each(|_| waiter.yield_now());
        assert_eq!(counting.0.load(Ordering::Acquire), 10);
    }
}
