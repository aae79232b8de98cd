//! The ranges of dates and timestamps.

use std::ops::RangeInclusive;

/// The number of microseconds in a day.
pub(super) const DAY: i64 = 86_400_000_000;

/// The range of dates, in days since 2000-01-01: from 4714-11-24 BC to 9999-12-31. The only dates outside it are
/// `infinity` ([`i32::MAX`]) and `-infinity` ([`i32::MIN`]).
pub const DATE_RANGE: RangeInclusive<i32> = -2_451_545..=2_921_939;

/// The range of timestamps, in microseconds since 2000-01-01 00:00: those of the days in [`DATE_RANGE`]. The only
/// timestamps outside it are `infinity` ([`i64::MAX`]) and `-infinity` ([`i64::MIN`]).
pub const TIMESTAMP_RANGE: RangeInclusive<i64> =
    *DATE_RANGE.start() as i64 * DAY..=(*DATE_RANGE.end() as i64 + 1) * DAY - 1;
