//! A worker's doorbell: which of the worker's suspended transactions were woken, and whether the worker's thread
//! sleeps.
//!
//! A worker that keeps several suspended transactions gives each a *slot*, a bit of one word. A thread that wakes a
//! transaction sets its bit, and wakes the worker's thread only if the word says that it sleeps. So a wake is one
//! exchange on one cache line, and the worker learns with one load whether any transaction was woken.
//!
//! **Invariants**
//!
//! 1. A bit that was set stays set until the worker [answers](Doorbell::answer) it.
//! 2. The worker sleeps only while its word says `LISTENING` and nothing else: a thread that changes the word in that
//!    time learns so from the exchange, and wakes the worker. So no ring and no call is lost, and no thread pays for
//!    waking a worker that is awake.
//! 3. What happened before a ring or a call is visible to the worker once it has seen the bit.

use crate::Waiter;
use crate::atomic::{AtomicU64, Ordering};
use crate::wait::{Scheduler, Time};
use std::fmt;

/// The means by which other threads wake the suspended transactions of one worker. Each transaction has a *slot*, one
/// bit in a word: a thread that wakes the transaction sets the bit, and wakes the worker's thread only if it sleeps.
///
/// **Thread safety.** Any thread may [`ring`](Self::ring) and [`call`](Self::call); all other methods are for the
/// worker only.
///
/// A doorbell is also a [`Scheduler`]: the worker's own way to wait when none of its slots can run. There, `resume` is
/// a [`call`](Self::call).
pub struct Doorbell {
    word: AtomicU64,
    sleeper: Waiter,
}

/// The bit that says that a thread has called: the worker is to look around.
const CALLED: u64 = 1 << 63;
/// The bit that says that the worker sleeps, or is about to.
const LISTENING: u64 = 1 << 62;

impl fmt::Debug for Doorbell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Doorbell").field("rung", &self.rung()).finish_non_exhaustive()
    }
}

impl Doorbell {
    /// The greatest number of slots that a worker can have.
    pub const MAX_SLOTS: usize = 62;

    /// Makes the doorbell of a worker whose thread sleeps through `sleeper`.
    pub fn new(sleeper: Waiter) -> Self {
        Self { word: AtomicU64::new(0), sleeper }
    }

    /// Marks the transaction in `slot` as woken, and wakes the worker's thread if it sleeps. The worker then resumes
    /// the transaction.
    #[inline]
    pub fn ring(&self, slot: usize) {
        debug_assert!(slot < Self::MAX_SLOTS, "slot {slot} of {}", Self::MAX_SLOTS);
        self.set(1 << slot);
    }

    /// Wakes the worker's thread without waking a slot, so that it looks for other work. If the thread is awake, its
    /// next [`listen`](Self::listen) returns at once.
    #[inline]
    pub fn call(&self) {
        self.set(CALLED);
    }

    /// Returns the slots that were woken and not answered yet, as bits.
    #[inline]
    pub fn rung(&self) -> u64 {
        self.word.load(Ordering::Acquire) & !(CALLED | LISTENING)
    }

    /// Clears the marks of the slots whose bits are set in `slots`. Returns the bits of those that were marked as
    /// woken. The worker answers a slot before it resumes the slot's transaction.
    #[inline]
    pub fn answer(&self, slots: u64) -> u64 {
        debug_assert_eq!(slots & (CALLED | LISTENING), 0, "bits of no slot");
        self.word.fetch_and(!slots, Ordering::AcqRel) & slots
    }

    /// Puts the worker's thread to sleep until a slot is woken, a thread [calls](Self::call), or the deadline passes.
    /// Returns at once if a thread has called since the last `listen`, or if a woken slot has not been
    /// [answered](Self::answer).
    pub fn listen(&self, deadline: Option<Time>) {
        if self.word.compare_exchange(0, LISTENING, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            self.sleeper.wait_until(deadline, || self.word.load(Ordering::Acquire) != LISTENING);
        }
        self.word.fetch_and(!(CALLED | LISTENING), Ordering::AcqRel);
    }

    fn set(&self, bit: u64) {
        if self.word.fetch_or(bit, Ordering::AcqRel) & LISTENING != 0 {
            self.sleeper.wake();
        }
    }
}

impl Scheduler for Doorbell {
    fn now(&self) -> Time {
        self.sleeper.now()
    }

    fn suspend(&self, deadline: Option<Time>) {
        self.listen(deadline);
    }

    fn resume(&self) {
        self.call();
    }
}
