//! A latch of one byte: protects memory for a moment, never data for a transaction.

use crate::atomic::{AtomicBool, Ordering};
use crate::cell::UnsafeCell;
use crate::{hint, thread};
use std::ops::{Deref, DerefMut};

/// A test-and-test-and-set spin latch around a value.
///
/// Any thread may latch it. It is held for a bounded number of instructions: never across a wait, an allocation of
/// unbounded size or a call into user code. It is not fair and not re-entrant.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Latch<T> {
    /// Whether the latch is taken. This field comes first, beside the first field of the value: a thread that takes the
    /// latch brings that field into its cache.
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the latch hands out the value to one thread at a time, so sharing the latch sends the value between threads.
unsafe impl<T: Send> Sync for Latch<T> {}

impl<T> Latch<T> {
    /// The number of looks at the latch for which a thread spins. After so many (some microseconds) the thread that
    /// holds the latch has probably lost its core.
    const LOOKS: u32 = 200;

    /// Makes a free latch around `value`.
    pub fn new(value: T) -> Self {
        Self { taken: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Takes the latch, spinning until it is free.
    #[inline]
    #[cfg_attr(machine, track_caller)]
    pub fn lock(&self) -> LatchGuard<'_, T> {
        if let Some(guard) = self.try_lock() {
            return guard;
        }
        self.lock_contended()
    }

    /// Takes the latch if it is free. Returns `None`, without spinning, if it is taken.
    #[inline]
    #[cfg_attr(machine, track_caller)]
    pub fn try_lock(&self) -> Option<LatchGuard<'_, T>> {
        // Relaxed on failure: nothing is read then.
        let free = self.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
        // Built only on success: a guard made in vain would free the holder's latch when dropped.
        free.then(|| LatchGuard { latch: self })
    }

    #[cold]
    #[cfg_attr(machine, track_caller)]
    fn lock_contended(&self) -> LatchGuard<'_, T> {
        let mut looks = 0;
        loop {
            // Relaxed: only a hint that the exchange is worth its cache-line transfer.
            if !self.taken.load(Ordering::Relaxed)
                && let Some(guard) = self.try_lock()
            {
                return guard;
            }
            // A latch is held for less time than a longer pause would take, unless the holder has lost its core.
            if cfg!(any(loom, shuttle)) || looks == Self::LOOKS {
                thread::yield_now();
            } else {
                looks += 1;
                hint::spin_loop();
            }
        }
    }

    /// Returns the value. The exclusive borrow shows that no other thread can hold the latch.
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: `&mut self` shows that no guard exists.
        unsafe { &mut *self.value.with_mut(|value| value) }
    }
}

/// The right to use the value of a [`Latch`]; dropping it frees the latch.
#[derive(Debug)]
pub struct LatchGuard<'a, T> {
    latch: &'a Latch<T>,
}

impl<T> Deref for LatchGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this guard exists, so `taken` was swapped from false by this holder and no other guard exists.
        unsafe { &*self.latch.value.with(|value| value) }
    }
}

impl<T> DerefMut for LatchGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and `&mut self` makes the borrow of the guard unique too.
        unsafe { &mut *self.latch.value.with_mut(|value| value) }
    }
}

impl<T> Drop for LatchGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.latch.taken.store(false, Ordering::Release);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    #[test]
    fn one_at_a_time() {
        let mut latch = Latch::new(0);
        let guard = latch.lock();
        assert!(latch.try_lock().is_none());
        assert!(latch.try_lock().is_none(), "a vain attempt must not free the latch");
        drop(guard);
        assert!(latch.try_lock().is_some());

        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50_000 {
                        let mut count = latch.lock();
                        let seen = *count;
                        *count = seen + 1;
                    }
                });
            }
        });
        assert_eq!(*latch.get_mut(), 200_000);
    }
}
