//! The time that a commit takes for the log of the database.

use hotrow_sync::Waiter;

/// Calls `step`, which hands a commit over to the log or waits for it. If `timed`, reads the clock before and after.
/// Returns the result, and the nanoseconds that the step took, or zero if it was not timed.
#[inline]
pub(crate) fn log_step<R>(timed: bool, waiter: &Waiter, step: impl FnOnce() -> R) -> (R, u64) {
    if timed { measured(waiter, step) } else { (step(), 0) }
}

#[cold]
fn measured<R>(waiter: &Waiter, step: impl FnOnce() -> R) -> (R, u64) {
    let start = waiter.now();
    let result = step();
    (result, waiter.now().since(start).as_nanos() as u64)
}
