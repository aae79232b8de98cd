//! The time of day, as rows have it.

use std::time::{SystemTime, UNIX_EPOCH};

/// From the epoch of Unix to that of timestamps, 2000-01-01.
const EPOCH_SECONDS: i64 = 946_684_800;

/// Now, in UTC: microseconds since 2000-01-01.
#[inline]
pub(crate) fn now_us() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since_epoch.as_micros() as i64 - EPOCH_SECONDS * 1_000_000
}
