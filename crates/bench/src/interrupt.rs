//! The interrupt that ends a benchmark early.

use hotrow_runtime::Stop;
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Mutex};

/// A flag that, once raised, ends the run under way and all later ones. Clones share their state, and a raised
/// interrupt stays raised.
///
/// **Thread safety**: any thread may raise it, such as the one that handles signals, while another one runs.
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
    /// Returns an interrupt that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the run under way and all later ones.
    pub fn raise(&self) {
        self.shared.raised.store(true, Ordering::Release);
        self.run().raise();
    }

    /// Whether the interrupt was raised.
    pub fn is_raised(&self) -> bool {
        self.shared.raised.load(Ordering::Acquire)
    }

    /// Begins a run. Returns the run's stop flag, which a raised interrupt sets.
    pub(crate) fn begin_run(&self) -> Stop {
        let stop = Stop::new();
        *self.run() = stop.clone();
        // An interrupt that was raised meanwhile found the flag of an earlier run.
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
