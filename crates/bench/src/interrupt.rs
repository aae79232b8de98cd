//! Ending a benchmark early.

use hotrow_runtime::Stop;
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Mutex};

/// Ends the run under way and all that were to follow. All clones are one; it stays raised.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    raised: AtomicBool,
    run: Mutex<Stop>,
}

impl Interrupt {
    /// An interrupt that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends everything. From any thread.
    pub fn raise(&self) {
        self.shared.raised.store(true, Ordering::Release);
        self.run().raise();
    }

    /// Whether it was raised.
    pub fn is_raised(&self) -> bool {
        self.shared.raised.load(Ordering::Acquire)
    }

    /// The flag of the run that begins now: raised when this is.
    pub(crate) fn begin_run(&self) -> Stop {
        let stop = Stop::new();
        *self.run() = stop.clone();
        // An interrupt that came before found the flag of an earlier run.
        if self.is_raised() {
            stop.raise();
        }
        stop
    }

    fn run(&self) -> hotrow_sync::MutexGuard<'_, Stop> {
        self.shared.run.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_the_run_under_way_and_those_to_come() {
        let interrupt = Interrupt::new();
        let (first, second) = (interrupt.begin_run(), interrupt.begin_run());
        assert!(!second.is_raised());
        interrupt.clone().raise();
        assert!(!first.is_raised(), "the first run was over");
        assert!(second.is_raised() && interrupt.begin_run().is_raised() && interrupt.is_raised());
    }
}
