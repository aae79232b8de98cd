//! A transaction's one place to wait at.

use hotrow_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use hotrow_sync::{Time, Waiter, Wake};

/// The place where a transaction in flight waits, for one lock at a time.
///
/// Only the transaction itself calls [`wait`](Self::wait), [`follow_alarm`](Self::follow_alarm) and
/// [`reset`](Self::reset). A thread calls [`grant`](Self::grant) under the latch of the queue that has the
/// transaction's request. Any thread may call [`alarm`](Self::alarm), so that the transaction looks for a deadlock. A
/// transaction that finds a deadlock may [`doom`](Self::doom) another one while that is listed as waiting.
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

    /// Sets the label of a transaction that begins. The transactions of a session have the same label, so it is written
    /// only if it changes: then other cores keep their copies of the cache line.
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

    /// Whether the transaction has a reason to end its suspension: its request was granted, or it was alarmed or
    /// doomed.
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

    /// Clears an alarm, just before the transaction looks for a deadlock because of it.
    pub(crate) fn follow_alarm(&self) {
        self.alarmed.swap(false, Ordering::AcqRel);
    }

    /// Waits until the transaction [is called](Self::is_called), or until the deadline.
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
