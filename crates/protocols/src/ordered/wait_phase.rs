//! The phase in which a transaction may wait: until all locks of its plan are granted.

use crate::shared::lock_table::{OwnerId, WaitPolicy};
use hotrow_sync::atomic::{AtomicBool, Ordering};

/// The wait policy of one transaction, under which it may wait for locks only until all locks of its plan are granted.
/// Only the transaction's own thread reads it.
#[derive(Default)]
pub(crate) struct WaitPhase {
    runs: AtomicBool,
}

impl WaitPhase {
    #[inline]
    pub(super) fn may_wait_from_now(&self) {
        // Relaxed: for one thread.
        self.runs.store(false, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn may_wait_no_more(&self) {
        // Relaxed: for one thread.
        self.runs.store(true, Ordering::Relaxed);
    }
}

impl WaitPolicy for WaitPhase {
    fn may_wait(&self, _waiter: OwnerId, _blockers: &[OwnerId]) -> bool {
        // Relaxed: for one thread.
        !self.runs.load(Ordering::Relaxed)
    }
}
