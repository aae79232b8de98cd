//! A transaction's one place to wait at.

use hotrow_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use hotrow_sync::{Time, Waiter, Wake};

/// The place where a transaction in flight waits, for one lock at a time.
///
/// The transaction itself waits and resets. The holder of the latch of the bucket in which its request stands grants.
/// Any thread may alarm the transaction, and a transaction that finds a deadlock may doom it while it is listed as one
/// that waits.
#[derive(Debug)]
pub struct Parked {
    granted: AtomicBool,
    alarmed: AtomicBool,
    doomed: AtomicBool,
    /// The label of the transaction, for reports.
    label: AtomicU32,
    waiter: Waiter,
}

impl Parked {
    pub(crate) fn new(waiter: Waiter) -> Self {
        let [granted, alarmed, doomed] = [const { false }; 3].map(AtomicBool::new);
        Self { granted, alarmed, doomed, label: AtomicU32::new(0), waiter }
    }

    /// Sets the label of a transaction that begins. The transactions of a session have one label. It is written only if
    /// it changes, so that the cache line stays as it is, wherever it is.
    #[inline]
    pub(crate) fn set_label(&self, label: u32) {
        if self.label() != label {
            self.label.store(label, Ordering::Release);
        }
    }

    /// Returns the label of the transaction, for reports.
    #[inline]
    pub(crate) fn label(&self) -> u32 {
        self.label.load(Ordering::Acquire)
    }

    /// Returns the waiter of the transaction.
    pub(crate) fn waiter(&self) -> &Waiter {
        &self.waiter
    }

    /// Whether the request that the transaction waits for has been granted.
    pub(crate) fn is_granted(&self) -> bool {
        self.granted.load(Ordering::Acquire)
    }

    /// Whether the transaction has a reason to look: it is granted, alarmed, or doomed.
    pub(crate) fn is_called(&self) -> bool {
        self.is_granted() || self.alarmed.load(Ordering::Acquire) || self.is_doomed()
    }

    /// Whether another transaction has made this one the victim of a deadlock.
    pub(crate) fn is_doomed(&self) -> bool {
        self.doomed.load(Ordering::Acquire)
    }

    /// Makes the transaction the victim of a deadlock. The caller wakes it afterwards.
    pub(crate) fn doom(&self) {
        self.doomed.store(true, Ordering::Release);
    }

    pub(crate) fn grant(&self) {
        self.granted.store(true, Ordering::Release);
    }

    /// Makes the transaction look for a deadlock once more. The caller wakes it afterwards.
    pub(crate) fn alarm(&self) {
        // An exchange: a transaction that follows the last of several alarms sees what each was for.
        self.alarmed.swap(true, Ordering::AcqRel);
    }

    pub(crate) fn wake(&self) {
        self.waiter.wake();
    }

    /// Clears an alarm that the transaction is about to follow.
    pub(crate) fn follow_alarm(&self) {
        self.alarmed.swap(false, Ordering::AcqRel);
    }

    /// Waits until there is a reason to look, or until the deadline.
    pub(crate) fn wait(&self, deadline: Option<Time>) -> Wake {
        self.waiter.wait_until(deadline, || self.is_called())
    }

    /// Prepares the place for the next wait.
    pub(crate) fn reset(&self) {
        self.granted.store(false, Ordering::Release);
        self.alarmed.store(false, Ordering::Release);
        self.doomed.store(false, Ordering::Release);
    }
}
