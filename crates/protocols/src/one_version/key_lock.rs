//! A lock: a word that has the number of its holders in each mode.
//!
//! ```text
//! | exclusive (1) | awaited (1) | holders in insert mode (15) | holders in shared mode (15) |
//! ```
//!
//! **Invariants**
//!
//! 1. The modes in which two transactions hold a lock are compatible.
//! 2. While a word says *awaited*, it changes under the latch of its queue only. So a transaction that changes a word
//!    in a single step expects one that is not awaited.
//! 3. A lock is split when no transaction holds it or waits for it, and stays so for ever.

use crate::shared::mode::Mode;
use hotrow_sync::atomic::{AtomicU32, Ordering};

/// The lock of the keys of an index whose hashes lead to it: one word of 32 bits.
#[derive(Default)]
pub(super) struct KeyLock(AtomicU32);

const EXCLUSIVE: u32 = 1 << 31;
const AWAITED: u32 = 1 << 30;
const INSERT: u32 = 1 << 15;
const SHARED: u32 = 1;
const INSERTS: u32 = AWAITED - INSERT;
const SHARES: u32 = INSERT - SHARED;

/// The word of a lock that is split: its keys have other locks. It says *awaited*, too, so that no transaction takes
/// the lock in a single step.
const SPLIT: u32 = u32::MAX;

/// The outcome of a request for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestOutcome {
    /// The transaction holds the lock.
    Taken,
    /// The transaction has to wait.
    Queued,
    /// The lock has been split, so the key has another lock by now.
    Split,
}

/// A lock some of whose requests are being granted. It collects the new word, and stores it in the lock at the end.
pub(super) struct Granting<'l> {
    lock: &'l KeyLock,
    word: u32,
}

/// The number that a holder in these modes adds to the lock's word.
fn share_of(mode: Mode) -> u32 {
    if mode.covers(Mode::EXCLUSIVE) {
        return EXCLUSIVE;
    }
    let shared = if mode.covers(Mode::SHARED) { SHARED } else { 0 };
    if mode.covers(Mode::INSERT) { shared + INSERT } else { shared }
}

/// Whether a transaction may hold these modes beside what others hold. A count that is full counts as a conflict.
fn admits(others: u32, wanted: Mode) -> bool {
    if wanted.conflicts_with_all() {
        return others == 0;
    }
    match wanted.covers(Mode::SHARED) {
        true => others & (EXCLUSIVE | INSERTS) == 0 && others & SHARES != SHARES,
        false => others & (EXCLUSIVE | SHARES) == 0 && others & INSERTS != INSERTS,
    }
}

impl KeyLock {
    #[inline]
    fn word(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// Returns the address of the word, so that it can be prefetched.
    #[inline]
    pub(super) fn address(&self) -> *const u8 {
        std::ptr::from_ref(self).cast()
    }

    /// Takes the lock if it is free. Returns whether it was taken.
    #[inline]
    pub(super) fn take_free(&self, wanted: Mode) -> bool {
        self.replace(0, share_of(wanted))
    }

    /// Takes the lock in the modes `wanted`, if no transaction waits for it and no other holder conflicts. The
    /// transaction has held the lock in the modes `held` before. Returns whether it was taken.
    pub(super) fn take_beside(&self, held: Mode, wanted: Mode) -> bool {
        let mut word = self.word();
        while word & AWAITED == 0 {
            let others = word - share_of(held);
            if !admits(others, wanted) {
                return false;
            }
            if self.replace(word, others + share_of(wanted)) {
                return true;
            }
            word = self.word();
        }
        false
    }

    /// Gives back the modes `held`, if no transaction waits. Returns whether they were given back.
    #[inline]
    pub(super) fn give_back(&self, held: Mode) -> bool {
        if self.replace(share_of(held), 0) {
            return true;
        }
        let mut word = self.word();
        while word & AWAITED == 0 {
            if self.replace(word, word - share_of(held)) {
                return true;
            }
            word = self.word();
        }
        false
    }

    /// Whether the lock has been split.
    #[inline]
    pub(super) fn is_split(&self) -> bool {
        self.word() == SPLIT
    }

    /// Splits the lock if it is free. Returns whether this call has split it.
    #[inline]
    pub(super) fn split(&self) -> bool {
        self.replace(0, SPLIT)
    }

    /// Whether a transaction holds the lock, or waits for it.
    pub(super) fn is_used(&self) -> bool {
        !matches!(self.word(), 0 | SPLIT)
    }

    /// Whether a transaction holds the lock.
    pub(super) fn is_held(&self) -> bool {
        self.is_used() && self.word() & !AWAITED != 0
    }

    /// Takes the lock in the modes `wanted`, or notes that it is awaited. The transaction has held the lock in the
    /// modes `held` before. The caller has the latch of the lock's queue, and queues the request there if the lock is
    /// not taken. An upgrade waits for holders only, and any other request also for the requests in the queue.
    pub(super) fn take_or_await(&self, held: Mode, wanted: Mode) -> RequestOutcome {
        loop {
            let word = self.word();
            if word == SPLIT {
                return RequestOutcome::Split;
            }
            let (awaited, others) = (word & AWAITED, (word & !AWAITED) - share_of(held));
            // An upgrade waits for holders only.
            let may = admits(others, wanted) && (held != Mode::NONE || awaited == 0);
            let next = if may { awaited | (others + share_of(wanted)) } else { word | AWAITED };
            if next == word || self.replace(word, next) {
                return if may { RequestOutcome::Taken } else { RequestOutcome::Queued };
            }
        }
    }

    /// Gives back the modes `held` of a lock that is awaited. The caller has the latch of its queue.
    pub(super) fn give_back_awaited(&self, held: Mode) {
        self.0.store(self.word() - share_of(held), Ordering::Release);
    }

    /// Begins to grant requests of a lock that is awaited. The caller has the latch of its queue.
    pub(super) fn granting(&self) -> Granting<'_> {
        Granting { lock: self, word: self.word() & !AWAITED }
    }

    /// Checks that the word says *awaited* if and only if there is a request, and that the first request cannot be
    /// granted.
    ///
    /// # Errors
    /// The text says which of the two is not so.
    pub(super) fn audit(&self, first: Option<(Mode, Mode)>) -> Result<(), String> {
        let word = self.word();
        if (word & AWAITED != 0 && word != SPLIT) != first.is_some() {
            return Err(format!("is {word:#x} and its first request {first:?}"));
        }
        if first.is_some_and(|(held, wanted)| admits((word & !AWAITED) - share_of(held), wanted)) {
            return Err(format!("is {word:#x} and its first request waits in vain: {first:?}"));
        }
        Ok(())
    }

    /// Exchanges the word, if it is still `word`. Acquire and release: a transaction that takes a lock sees what all
    /// earlier holders did, and they come before it. The same holds across a split: a transaction that finds a lock
    /// split has seen all that its last holders did.
    #[inline]
    fn replace(&self, word: u32, with: u32) -> bool {
        // Relaxed on failure: nothing is read because of it.
        self.0.compare_exchange(word, with, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

impl Granting<'_> {
    /// Grants the next request if that is possible, and returns whether it was granted. If not, the caller tries no
    /// later ones: the lock stays awaited.
    pub(super) fn grant(&mut self, held: Mode, wanted: Mode) -> bool {
        let others = self.word - share_of(held);
        let granted = admits(others, wanted);
        self.word = if granted { others + share_of(wanted) } else { self.word | AWAITED };
        granted
    }

    /// Stores the new word in the lock, so that all threads see the grants.
    pub(super) fn publish(self) {
        self.lock.0.store(self.word, Ordering::Release);
    }
}
