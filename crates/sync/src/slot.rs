//! The coroutine flavour of waiting: a transaction that waits suspends its coroutine, and its worker goes on with
//! others.

use crate::Arc;
use crate::atomic::{AtomicU64, Ordering};
use crate::coroutine::Suspender;
use crate::doorbell::Doorbell;
use crate::wait::{Scheduler, Time};

/// The [`Scheduler`] of one of the coroutines that a worker runs. The coroutine is known to the worker's doorbell by
/// its *slot*, a number below [`Doorbell::MAX_SLOTS`].
///
/// `suspend` returns control to the worker that resumed the coroutine. The worker resumes the coroutine again when the
/// [doorbell](Doorbell) marks the slot as woken, or when the wait's [deadline](Self::deadline) has passed.
pub struct SlotScheduler {
    doorbell: Arc<Doorbell>,
    slot: usize,
    suspender: Arc<Suspender>,
    /// The deadline of the present wait as a [`Time`], or [`NEVER`]. Only the worker's thread uses it.
    deadline: AtomicU64,
}

const NEVER: u64 = u64::MAX;

impl SlotScheduler {
    /// Makes the scheduler of the coroutine that `suspender` suspends, in slot `slot` of the doorbell's worker.
    pub fn new(doorbell: Arc<Doorbell>, slot: usize, suspender: Arc<Suspender>) -> Self {
        assert!(slot < Doorbell::MAX_SLOTS, "slot {slot}: a worker has at most {} of them", Doorbell::MAX_SLOTS);
        Self { doorbell, slot, suspender, deadline: AtomicU64::new(NEVER) }
    }

    /// Returns the deadline of the coroutine's present wait, or `None` if the wait has none. The worker asks while the
    /// coroutine is suspended.
    pub fn deadline(&self) -> Option<Time> {
        // Relaxed: the worker reads what its own thread has stored.
        let deadline = self.deadline.load(Ordering::Relaxed);
        (deadline != NEVER).then_some(Time(deadline))
    }
}

impl Scheduler for SlotScheduler {
    fn now(&self) -> Time {
        self.doorbell.now()
    }

    fn suspend(&self, deadline: Option<Time>) {
        if self.doorbell.answer(1 << self.slot) == 0 {
            // Relaxed: only the worker's own thread reads it.
            self.deadline.store(deadline.map_or(NEVER, |deadline| deadline.0), Ordering::Relaxed);
            self.suspender.suspend();
        }
    }

    fn resume(&self) {
        self.doorbell.ring(self.slot);
    }
}
