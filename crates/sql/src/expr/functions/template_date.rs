//! The date that a template reads, from its parts.

use super::moment::JULIAN_EPOCH;
use crate::types::{date_parts, days_from_parts};
use crate::{SqlError, state};

/// The parts of a date that have been parsed so far. A part that has not been parsed is zero.
#[derive(Default)]
pub(super) struct DateParts {
    pub(super) year: i64,
    /// The number of digits of the year in its pattern.
    pub(super) year_digits: usize,
    pub(super) century: i64,
    pub(super) before_christ: bool,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) day_of_year: i64,
    pub(super) julian: i64,
    /// The week of the year, or of the ISO year.
    pub(super) week: i64,
    pub(super) week_of_month: i64,
    /// The day of the week. 1 is Sunday.
    pub(super) day_of_week: i64,
}

impl DateParts {
    /// Returns the year that the template has given, or the first year of its century. A template that gives neither
    /// means 1 BC, and so does the year 0.
    fn whole_year(&self) -> i64 {
        let century = if self.before_christ { -self.century } else { self.century };
        match self.year {
            0 if century > 0 => (century - 1) * 100 + 1,
            0 if century < 0 => century * 100 + 1,
            0 => 0,
            // The year has only its last digits, beside a century.
            year if century != 0 && self.year_digits <= 2 => match year.rem_euclid(100) {
                0 => century * 100 + i64::from(century < 0),
                last if century > 0 => (century - 1) * 100 + last,
                last => (century + 1) * 100 - last + 1,
            },
            // If the template says BC, a negative year is one after Christ.
            year => match if self.before_christ { -year } else { year } {
                year if year < 0 => year + 1,
                year => year,
            },
        }
    }

    /// Returns the date in days since 2000-01-01. If `is_iso` is set, the parts are those of the ISO week calendar.
    ///
    /// # Errors
    /// `None` if there is no such date, or an error that says which part is missing.
    pub(super) fn days(&self, is_iso: bool) -> Result<i64, Option<SqlError>> {
        let year = self.whole_year();
        let mut parts = (year, 1, 1);
        if self.julian > 0 {
            parts = parts_of(self.julian - JULIAN_EPOCH).ok_or(None)?;
        }
        let (mut day_of_year, mut day) = (self.day_of_year, self.day);
        if self.week > 0 && is_iso {
            let monday = iso_week(parts.0, self.week).ok_or(None)?;
            let after = match self.day_of_week {
                0 => 0,
                1 => 6,
                day => day - 2,
            };
            parts = parts_of(monday + after).ok_or(None)?;
        } else if self.week > 0 {
            day_of_year = (self.week - 1) * 7 + 1;
        }
        if self.week_of_month > 0 {
            day = (self.week_of_month - 1) * 7 + 1;
        }
        if day > 0 {
            parts.2 = day;
        }
        if self.month > 0 {
            parts.1 = self.month;
        }
        if day_of_year > 0 && (parts.1 <= 1 || parts.2 <= 1) {
            if parts.0 == 0 && !self.before_christ {
                let message = "cannot calculate day of year without year information";
                return Err(Some(SqlError::new(state::INVALID_DATETIME_FORMAT, message)));
            }
            let first = if is_iso { iso_week(parts.0, 1) } else { days_of((parts.0, 1, 1)) }.ok_or(None)?;
            let found = parts_of(first + day_of_year - 1).ok_or(None)?;
            if is_iso {
                parts = found;
            } else if found.0 != parts.0 {
                return Err(None);
            } else {
                parts.1 = if parts.1 <= 1 { found.1 } else { parts.1 };
                parts.2 = if parts.2 <= 1 { found.2 } else { parts.2 };
            }
        }
        days_of(parts).ok_or(None)
    }
}

/// Returns the year, month and day of a number of days since 2000, or `None` if that is beyond the calendar.
fn parts_of(days: i64) -> Option<(i64, i64, i64)> {
    let (year, month, day) = date_parts(i32::try_from(days).ok()?)?;
    Some((year.into(), month.into(), day.into()))
}

/// Returns the days since 2000 of a year, month and day, or `None` if there is no such day.
fn days_of((year, month, day): (i64, i64, i64)) -> Option<i64> {
    days_from_parts(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).map(i64::from)
}

/// Returns the Monday of a week of an ISO year, in days since 2000. The first week has January 4.
fn iso_week(year: i64, week: i64) -> Option<i64> {
    let fourth = days_of((year, 1, 4))?;
    // 2000-01-03 was a Monday.
    Some(fourth - (fourth - 2).rem_euclid(7) + (week - 1) * 7)
}
