//! Wakes that are deferred until the caller holds nothing that the woken transactions want.
//!
//! A thread that is woken may at once take the core of the thread that wakes it. If the waking thread still holds
//! locks, or has not yet said that its transaction is over, the woken thread soon waits for it again, and so does each
//! thread that is woken after it. With more threads than cores, there is then a switch of threads for every few
//! transactions.
//!
//! **Invariants**
//!
//! 1. A deferred wake is made before the outermost [`together`] of its thread returns or unwinds, and before the
//!    thread's next wait. So no wake is lost, and no transaction waits while it delays the wakes of others.
//! 2. While a transaction waits, its thread counts as outside the transaction's calls of [`together`]. So a coroutine
//!    may wait there, and other coroutines of the thread make their wakes at once.
//! 3. The woken transaction's condition becomes true at once. Only the notification comes later.

use super::Waiter;

#[cfg(not(any(loom, shuttle)))]
mod list {
    use super::Waiter;
    use std::cell::{Cell, RefCell};
    use std::collections::VecDeque;

    crate::thread_local! {
        /// The number of calls of `together` that the thread is in.
        static DEPTH: Cell<usize> = const { Cell::new(0) };
        static LIST: RefCell<VecDeque<Waiter>> = const { RefCell::new(VecDeque::new()) };
    }

    /// A guard that counts a call of `together`. When the outermost call ends, also by a panic, it makes the deferred
    /// wakes.
    pub(super) struct Inside;

    impl Inside {
        pub(super) fn new() -> Self {
            DEPTH.with(|depth| depth.set(depth.get() + 1));
            Self
        }
    }

    impl Drop for Inside {
        fn drop(&mut self) {
            let depth = DEPTH.with(|depth| {
                depth.set(depth.get() - 1);
                depth.get()
            });
            if depth == 0 {
                wake_all();
            }
        }
    }

    /// A guard that takes the thread out of its calls of `together` for as long as the caller waits.
    pub(in crate::wait) struct Outside(usize);

    impl Outside {
        /// Makes the deferred wakes, and then takes the thread out of its calls.
        pub(in crate::wait) fn new() -> Self {
            wake_all();
            Self(DEPTH.take())
        }
    }

    impl Drop for Outside {
        fn drop(&mut self) {
            DEPTH.set(DEPTH.get() + self.0);
        }
    }

    /// Defers the wake if the thread is in a call of `together`. Returns whether it did.
    #[inline]
    pub(in crate::wait) fn put_off(waiter: &Waiter) -> bool {
        let is_inside = DEPTH.with(|depth| depth.get() > 0);
        if is_inside {
            LIST.with(|list| list.borrow_mut().push_back(waiter.clone()));
        }
        is_inside
    }

    /// Makes the deferred wakes, in the order in which they were deferred.
    #[inline]
    fn wake_all() {
        while let Some(waiter) = LIST.with(|list| list.borrow_mut().pop_front()) {
            waiter.resume();
        }
    }
}

/// The form of deferral in a model, where each wake is made at once.
#[cfg(any(loom, shuttle))]
mod list {
    use super::Waiter;

    pub(super) struct Inside;

    impl Inside {
        pub(super) fn new() -> Self {
            Self
        }
    }

    pub(in crate::wait) struct Outside;

    impl Outside {
        pub(in crate::wait) fn new() -> Self {
            Self
        }
    }

    pub(in crate::wait) fn put_off(_waiter: &Waiter) -> bool {
        false
    }
}

pub(super) use list::{Outside, put_off};

/// Calls `end`, which ends a transaction, and defers the calls of [`Waiter::wake`] in it until it has returned. So no
/// thread is woken while the transaction still holds locks. Returns the result of `end`.
#[inline]
pub fn together<R>(end: impl FnOnce() -> R) -> R {
    let _inside = list::Inside::new();
    end()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::Arc;
    use crate::atomic::{AtomicU64, Ordering};
    use crate::wait::{Scheduler, Time, Wake};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Counts the wakes that were made.
    #[derive(Default)]
    struct Counting(AtomicU64);

    impl Scheduler for Counting {
        fn now(&self) -> Time {
            Time(self.0.load(Ordering::Acquire))
        }

        fn suspend(&self, _deadline: Option<Time>) {}

        fn resume(&self) {
            self.0.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// During each wait, lets another coroutine of the thread wake a waiter.
    struct Suspending(Waiter);

    impl Scheduler for Suspending {
        fn now(&self) -> Time {
            Time(0)
        }

        fn suspend(&self, _deadline: Option<Time>) {
            self.0.wake();
        }

        fn resume(&self) {}
    }

    #[test]
    fn wakes_are_made_at_the_end_of_the_outermost_call_or_before_a_wait() {
        let counting = Arc::new(Counting::default());
        let made = || counting.0.load(Ordering::Acquire);
        let waiter = Waiter::new(counting.clone());
        together(|| {
            waiter.wake();
            together(|| waiter.wake());
            assert_eq!(made(), 0);
        });
        assert_eq!(made(), 2);
        waiter.wake();
        assert_eq!(made(), 3, "outside of a call a wake is made at once");
        together(|| {
            waiter.wake();
            let waits = Waiter::thread(std::time::Duration::ZERO);
            assert_eq!(waits.pause(std::time::Duration::ZERO), Wake::TimedOut);
            assert_eq!(made(), 4, "before a wait");
        });
        let other = Waiter::new(Arc::new(Suspending(waiter.clone())));
        together(|| {
            assert_eq!(other.pause(std::time::Duration::ZERO), Wake::TimedOut);
            other.wait_until(None, || made() == 5);
            waiter.wake();
            assert_eq!(made(), 5, "the wait is over, the call is not");
        });
        assert_eq!(made(), 6, "what others did while the transaction waited was done at once");
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            together(|| {
                waiter.wake();
                panic!("on purpose");
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(made(), 7, "a panic ends the call, too");
        together(|| waiter.cancel());
        assert_eq!(made(), 8);
    }
}
