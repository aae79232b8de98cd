//! The time of day, in the form that rows have it.

use std::time::{SystemTime, UNIX_EPOCH};

/// The number of seconds from Unix's epoch to the epoch of timestamps, 2000-01-01.
const EPOCH_SECONDS: i64 = 946_684_800;

/// Returns the present time in UTC, in microseconds since 2000-01-01.
#[inline]
pub(crate) fn now_us() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since_epoch.as_micros() as i64 - EPOCH_SECONDS * 1_000_000
}
