//! Whether a log can be written.

use hotrow_storage::Refusal;
use hotrow_sync::OnceLock;
use hotrow_sync::atomic::{AtomicU8, Ordering};

const GOOD: u8 = 0;
const FULL: u8 = 1;
/// Records that are complete cannot be written for want of room.
const STUCK: u8 = 2;
const FAILED: u8 = 3;

/// The condition of a log. A log that has failed stays so.
#[derive(Debug, Default)]
pub(super) struct Condition {
    state: AtomicU8,
    reason: OnceLock<String>,
}

impl Condition {
    fn state(&self) -> u8 {
        self.state.load(Ordering::Acquire)
    }

    pub(super) fn has_failed(&self) -> bool {
        self.state() == FAILED
    }

    pub(super) fn is_full(&self) -> bool {
        matches!(self.state(), FULL | STUCK)
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.state() == STUCK
    }

    pub(super) fn admits(&self) -> Result<(), Refusal> {
        match self.state() {
            GOOD => Ok(()),
            FAILED => Err(Refusal::Failed),
            _ => Err(Refusal::Full),
        }
    }

    /// Returns why the log has failed, for people, or `None` if it has not.
    pub(super) fn reason(&self) -> Option<String> {
        self.reason.get().filter(|_| self.has_failed()).cloned()
    }

    /// Notes that the log has failed. Only the first reason is kept.
    pub(super) fn fail(&self, reason: &str) {
        // A later reason follows from the first one.
        let _ = self.reason.set(reason.to_owned());
        self.state.store(FAILED, Ordering::Release);
    }

    /// Notes whether the disk lacks room for a segment. If it does, a log that was stuck stays so.
    pub(super) fn set_full(&self, is_full: bool) {
        self.set(if is_full { FULL } else { GOOD }, |state| state == STUCK && is_full);
    }

    /// Notes that complete records cannot be written for want of room.
    pub(super) fn set_stuck(&self) {
        self.set(STUCK, |_| false);
    }

    /// Sets the state, unless the log has failed or `keeps` returns true for the present state.
    fn set(&self, new: u8, keeps: impl Fn(u8) -> bool) {
        let next = |state| (state != FAILED && !keeps(state)).then_some(new);
        // The update fails if the state is kept.
        let _ = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
    }
}
