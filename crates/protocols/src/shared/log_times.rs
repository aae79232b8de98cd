//! The time that a commit takes for the log of the database.

use hotrow_sync::Waiter;

/// Makes a step of the log. Reads the clock before and after if the transaction is `timed`. Returns the nanoseconds of
/// the step, or zero if it was not timed.
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
