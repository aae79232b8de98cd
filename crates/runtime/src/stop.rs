//! The flag that ends a run.

use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Condvar, Mutex, Time};
use std::time::Duration;

/// A flag that ends a run early: after Ctrl-C, after a failure, or at the request of the code that started the run. Any
/// thread may raise it, and it stays raised. A clone is a handle of the same flag.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    raised: AtomicBool,
    latch: Mutex<()>,
    wakeup: Condvar,
}

impl Stop {
    /// Makes a flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises the flag, and wakes all threads that block in [`wait`](Self::wait).
    pub fn raise(&self) {
        self.shared.raised.store(true, Ordering::Release);
        // The latch is taken after the flag is set, so that a waiter has either seen the flag or is in `wait` by now.
        drop(self.shared.latch.lock().unwrap_or_else(|poison| poison.into_inner()));
        self.shared.wakeup.notify_all();
    }

    /// Whether the flag was raised.
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.shared.raised.load(Ordering::Acquire)
    }

    /// Blocks the calling thread until the flag is raised or `duration` has passed. Returns whether it is raised.
    pub fn wait(&self, duration: Duration) -> bool {
        let deadline = Time::now().after(duration);
        let mut guard = self.shared.latch.lock().unwrap_or_else(|poison| poison.into_inner());
        while !self.is_raised() {
            let left = deadline.since(Time::now());
            if left.is_zero() {
                return false;
            }
            guard = self.shared.wakeup.wait_timeout(guard, left).unwrap_or_else(|poison| poison.into_inner()).0;
        }
        true
    }
}
