//! A baton: a value that one thread uses at a time, almost free of charge for the thread that has settled on it.
//!
//! A thread may *settle* on a baton and then has it until it leaves. Each use costs the thread a comparison with its
//! own number and two plain stores, and no locked instruction. While no thread has settled, any thread may *take* the
//! baton for a moment, and then the baton is a latch. If another thread has settled, `take` returns an error, and the
//! caller has to ask that thread to do the work.
//!
//! **Definitions.** The *holder* is a word: the number of a thread, whether that thread has settled, and whether it is
//! using the value now; or zero, if no thread has the baton. Numbers of threads begin at one and are never given twice,
//! not even after a thread has ended.
//!
//! **Invariants**
//!
//! 1. From zero the holder changes by compare-and-swap only, and only to the number of the thread that swaps: settled,
//!    or using. From any other value it is changed only by the thread whose number it shows.
//! 2. A reference to the value exists only while the holder shows its thread as using, and at most one of them.
//!
//! **Why that is enough.** Two threads cannot both see the holder leave zero for their number (1), so the holder shows
//! one of them, and the other has no reference (2). The thread that is shown reads and writes the holder alone, so that
//! thread's own loads and stores of the holder need no order and no lock. What it did with the value comes before its
//! store of zero, which is a release; the next thread that has the baton loaded that zero with acquire, by its swap. A
//! thread that asks for a second reference while it uses the first would wait for itself, so it panics instead.

use crate::atomic::{AtomicU64, Ordering};
use crate::cell::UnsafeCell;
use crate::{Backoff, thread_number};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

const NOBODY: u64 = 0;
const USING: u64 = 1;
const SETTLED: u64 = 2;
const NUMBER_SHIFT: u32 = 2;

/// A biased latch around a value: one thread uses the value at a time. A thread that has [settled](Self::settle) on the
/// baton uses it without an atomic read-modify-write. Until the thread [leaves](Self::leave), no other thread gets the
/// value.
///
/// **Thread safety.** Any thread may [`settle`](Self::settle) and [`take`](Self::take). Unless it has settled, a thread
/// keeps the result of `take` for a bounded number of instructions only, as with a [`Latch`](crate::Latch).
#[derive(Default)]
pub struct Baton<T> {
    holder: AtomicU64,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time has a reference to the value, so sharing the baton sends the value between threads.
unsafe impl<T: Send> Sync for Baton<T> {}

/// The error of [`Baton::take`]: another thread has settled on the baton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled;

impl<T> Baton<T> {
    /// Makes a baton around `value` that no thread has.
    pub fn new(value: T) -> Self {
        Self { holder: AtomicU64::new(NOBODY), value: UnsafeCell::new(value) }
    }

    /// Reserves the value for the calling thread until it [leaves](Self::leave). The call spins while another thread
    /// uses the value for a moment. Returns whether the reservation is the calling thread's; it is not if another
    /// thread has settled before. A thread that has settled must leave before it ends, or no thread can use the value
    /// any more.
    ///
    /// # Panics
    /// If the calling thread uses the value already, without having settled.
    pub fn settle(&self) -> bool {
        let own = thread_number() << NUMBER_SHIFT | SETTLED;
        let mut backoff = Backoff::new();
        loop {
            match self.holder.compare_exchange(NOBODY, own, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return true,
                Err(holder) if holder & SETTLED != 0 => return holder & !USING == own,
                Err(holder) => {
                    assert!(
                        holder >> NUMBER_SHIFT != own >> NUMBER_SHIFT,
                        "settled on a baton that the thread has taken"
                    );
                    backoff.snooze();
                }
            }
        }
    }

    /// Undoes [`settle`](Self::settle). Returns false, and does nothing, if the calling thread had not settled.
    ///
    /// # Panics
    /// If the thread is using the value.
    pub fn leave(&self) -> bool {
        // Relaxed: the thread's own store, or a number that is not its own.
        let holder = self.holder.load(Ordering::Relaxed);
        if !is_own(holder) || holder & SETTLED == 0 {
            return false;
        }
        assert!(holder & USING == 0, "left a baton that the thread is using");
        self.holder.store(NOBODY, Ordering::Release);
        true
    }

    /// Whether the calling thread has settled on the baton.
    #[inline]
    pub fn is_mine(&self) -> bool {
        // Relaxed: the thread's own store, or a number that is not its own.
        let holder = self.holder.load(Ordering::Relaxed);
        holder & SETTLED != 0 && is_own(holder)
    }

    /// Returns the right to use the value, if the calling thread has settled on the baton or no thread has. If no
    /// thread has settled, the call spins while another thread uses the value for a moment.
    ///
    /// # Errors
    /// If another thread has settled.
    ///
    /// # Panics
    /// If the calling thread uses the value already: its earlier [`Held`] still exists.
    #[inline]
    pub fn take(&self) -> Result<Held<'_, T>, Settled> {
        // Relaxed: as in `is_mine`.
        let holder = self.holder.load(Ordering::Relaxed);
        if holder & SETTLED != 0 && is_own(holder) {
            assert!(holder & USING == 0, "took a baton that the thread is using");
            // Relaxed: no other thread changes a holder that shows this thread.
            self.holder.store(holder | USING, Ordering::Relaxed);
            return Ok(Held { baton: self, after: holder, thread: PhantomData });
        }
        self.take_for_a_moment()
    }

    fn take_for_a_moment(&self) -> Result<Held<'_, T>, Settled> {
        let own = thread_number() << NUMBER_SHIFT | USING;
        let mut backoff = Backoff::new();
        loop {
            match self.holder.compare_exchange(NOBODY, own, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Ok(Held { baton: self, after: NOBODY, thread: PhantomData }),
                Err(holder) if holder & SETTLED != 0 => return Err(Settled),
                Err(holder) => {
                    assert!(holder != own, "took a baton that the thread is using");
                    backoff.snooze();
                }
            }
        }
    }

    /// Returns the value. The exclusive borrow shows that no other thread can have it.
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: `&mut self` shows that there is no `Held`.
        unsafe { &mut *self.value.with_mut(|value| value) }
    }
}

impl<T> fmt::Debug for Baton<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holder = self.holder.load(Ordering::Acquire);
        f.debug_struct("Baton")
            .field("thread", &(holder >> NUMBER_SHIFT))
            .field("settled", &(holder & SETTLED != 0))
            .finish_non_exhaustive()
    }
}

/// The right to use a [`Baton`]'s value, for the thread that took it; dropping it ends the use.
#[derive(Debug)]
pub struct Held<'a, T> {
    baton: &'a Baton<T>,
    /// The word that the baton's holder becomes after the use.
    after: u64,
    /// A marker that makes the right stay with its thread: it cannot be sent to another one.
    thread: PhantomData<*const ()>,
}

impl<T> Held<'_, T> {
    /// Whether the thread that took the value has settled on the baton. If it has not, it must drop this guard after a
    /// bounded number of instructions.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.after != NOBODY
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the holder shows this thread as using since `take`, and `take` gives no second `Held` until this one
        // is dropped (invariant 2).
        unsafe { &*self.baton.value.with(|value| value) }
    }
}

impl<T> DerefMut for Held<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and `&mut self` makes the borrow of this `Held` unique too.
        unsafe { &mut *self.baton.value.with_mut(|value| value) }
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // The release is needed only if the thread has not settled. On the machines we know it is a plain store in
        // either case.
        self.baton.holder.store(self.after, Ordering::Release);
    }
}

#[inline]
fn is_own(holder: u64) -> bool {
    holder >> NUMBER_SHIFT == thread_number()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::thread;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn one_thread_settles_and_others_are_told_so() {
        let baton = Baton::new(1);
        *baton.take().expect("nobody has settled") += 1;
        assert!(!baton.is_mine() && !baton.leave());
        assert!(baton.settle() && baton.settle() && baton.is_mine());
        *baton.take().expect("settled") += 1;
        thread::scope(|scope| {
            scope.spawn(|| {
                assert!(!baton.is_mine() && !baton.settle() && !baton.leave());
                assert_eq!(baton.take().err(), Some(Settled));
            });
        });
        assert!(baton.leave() && !baton.is_mine());
        thread::scope(|scope| {
            scope.spawn(|| {
                *baton.take().expect("nobody has settled any more") += 1;
                assert!(baton.settle() && baton.leave());
            });
        });
        assert_eq!(*baton.take().expect("nobody has settled any more"), 4);
    }

    #[test]
    fn a_thread_does_not_wait_for_itself() {
        let baton = Baton::new(());
        let panics = |call: &dyn Fn()| catch_unwind(AssertUnwindSafe(call)).is_err();
        for settled in [false, true] {
            assert!(!settled || baton.settle());
            let held = baton.take().expect("free, or the thread's own");
            assert!(panics(&|| drop(baton.take())));
            let change = || if settled { baton.leave() } else { baton.settle() };
            assert!(panics(&|| assert!(change())));
            drop(held);
            drop(baton.take().expect("given back"));
        }
    }

    /// Some threads settle for a while and others take for a moment: none of their additions is lost.
    #[test]
    fn one_at_a_time() {
        const ROUNDS: u64 = 2_000;
        let mut baton = Baton::new((0_u64, 0_u64));
        let add = |baton: &Baton<(u64, u64)>| {
            let Ok(mut held) = baton.take() else { return false };
            let seen = *held;
            assert_eq!(seen.0, seen.1);
            held.0 = seen.0 + 1;
            held.1 = seen.1 + 1;
            true
        };
        let added: u64 = thread::scope(|scope| {
            let settling = (0..2).map(|_| {
                scope.spawn(|| {
                    let mut added = 0;
                    for _ in 0..ROUNDS {
                        if baton.settle() {
                            added += (0..10).filter(|_| add(&baton)).count() as u64;
                            assert!(baton.leave());
                        }
                    }
                    added
                })
            });
            let threads: Vec<_> = settling.collect();
            let taking: Vec<_> =
                (0..2).map(|_| scope.spawn(|| (0..10 * ROUNDS).filter(|_| add(&baton)).count() as u64)).collect();
            threads.into_iter().chain(taking).map(|thread| thread.join().expect("no panic")).sum()
        });
        assert!(added > 0);
        assert_eq!(*baton.get_mut(), (added, added));
    }
}
