//! Exponential back-off for short spins and for retries.

use crate::{hint, thread};

/// Exponential back-off for a loop that waits for another thread to do something soon: each call of
/// [`snooze`](Self::snooze) spins twice as long as the last one. From the eighth call on, it yields the core instead.
#[derive(Debug, Default)]
pub struct Backoff {
    step: u32,
}

impl Backoff {
    /// The last step that spins. Step n waits for 2^n pause instructions; beyond 2^6 of them (about a microsecond) the
    /// thread that holds the latch has probably lost its core.
    const SPIN_STEPS: u32 = 6;

    /// Makes a back-off that has not waited yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits for a moment: in a pause loop at first, and by a yield of the thread's time slice later.
    pub fn snooze(&mut self) {
        if cfg!(any(loom, shuttle)) || self.step > Self::SPIN_STEPS {
            thread::yield_now();
            return;
        }
        for _ in 0..1_u32 << self.step {
            hint::spin_loop();
        }
        self.step += 1;
    }
}
