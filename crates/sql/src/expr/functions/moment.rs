//! Moments (dates and timestamps), split into the parts of the calendar, and errors about unknown parts.

use super::argument::invalid;
use crate::types::{SessionZone, date_parts, days_from_parts};
use crate::{SqlError, state};
use hotrow_storage::Value;

/// The number of microseconds in a day.
pub(super) const DAY: i64 = 86_400_000_000;

pub(super) const SECOND: i64 = 1_000_000;

/// The Julian day of 2000-01-01.
pub(super) const JULIAN_EPOCH: i64 = 2_451_545;

/// Returns a date or timestamp in microseconds since 2000-01-01, or `None` for any other value. A `timestamptz` counts
/// by the local time of `zone`. The infinities are [`i64::MIN`] and [`i64::MAX`].
pub(super) fn local_micros(value: &Value<'_>, zone: SessionZone) -> Option<i64> {
    match value {
        Value::Date(i32::MIN) => Some(i64::MIN),
        Value::Date(i32::MAX) => Some(i64::MAX),
        Value::Date(days) => Some(i64::from(*days) * DAY),
        Value::Timestamp(micros) => Some(*micros),
        Value::TimestampTz(micros) => Some(zone.to_local(*micros)),
        _ => None,
    }
}

/// Returns error 22023, which says that a unit of time is unknown. `type_name` is the type from which it was requested.
pub fn unknown_unit(name: &str, type_name: &str) -> SqlError {
    invalid(format!("unit \"{}\" not recognized for type {type_name}", name.to_lowercase()))
}

pub(super) fn unsupported_unit(name: &str, type_name: &str) -> SqlError {
    SqlError::new(state::FEATURE_NOT_SUPPORTED, format!("unit \"{name}\" not supported for type {type_name}"))
}

/// A moment, split into the parts of the calendar. The months and days count from 1.
pub(super) struct Moment {
    /// Days since 2000-01-01.
    pub days: i64,
    /// The year, where 0 is 1 BC.
    pub year: i64,
    pub month: i64,
    pub day: i64,
    /// Microseconds since midnight.
    pub time: i64,
}

impl Moment {
    /// Splits a moment, in microseconds since 2000-01-01, into its parts. Returns `None` if it is infinite.
    pub fn of(micros: i64) -> Option<Self> {
        let (days, time) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
        let (year, month, day) = date_parts(i32::try_from(days).ok()?)?;
        Some(Self { days, year: year.into(), month: month.into(), day: day.into(), time })
    }

    /// Returns the days since 2000-01-01 of a date. If the calendar has no such date, returns the first date of the
    /// range.
    pub fn days_of(year: i64, month: i32, day: i32) -> i64 {
        let days = i32::try_from(year).ok().and_then(|year| days_from_parts(year, month, day));
        i64::from(days.unwrap_or(*crate::types::DATE_RANGE.start()))
    }

    /// Returns the day of the week. 1 is Monday, 7 is Sunday.
    pub fn iso_day_of_week(&self) -> i64 {
        // 2000-01-01 was a Saturday.
        (self.days + 5).rem_euclid(7) + 1
    }

    /// Returns the day of the year, from 1.
    pub fn day_of_year(&self) -> i64 {
        self.days - Self::days_of(self.year, 1, 1) + 1
    }

    /// Returns the ISO year and the ISO week of the moment.
    pub fn iso_week(&self) -> (i64, i64) {
        let thursday = self.days - self.iso_day_of_week() + 4;
        let year = i32::try_from(thursday).ok().and_then(date_parts).map_or(self.year, |(year, ..)| year.into());
        (year, (thursday - Self::days_of(year, 1, 1)) / 7 + 1)
    }

    /// Returns the year in the usual numbering, which has no year 0: -1 is 1 BC.
    pub fn people_year(&self) -> i64 {
        people_year(self.year)
    }
}

pub(super) fn people_year(year: i64) -> i64 {
    if year > 0 { year } else { year - 1 }
}
