//! Dates and timestamps as numbers and as text, in ISO 8601's style or another one. The calendar is jiff's.

use super::range::{DATE_RANGE, DAY, TIMESTAMP_RANGE};
use super::session_zone::written_offset;
use super::styles::{DateOrder, DateStyle, Styles};
use crate::{SqlError, state};
use bytes::{BufMut, BytesMut};
use hotrow_storage::{Digits, Interval};
use jiff::Span;
use jiff::civil::Date;

/// The date whose number is zero.
const EPOCH: Date = Date::constant(2000, 1, 1);

const SECOND: i64 = 1_000_000;

/// Returns `days` if it is a date or an infinity, and an error (22008) otherwise. Checks results of arithmetic and
/// values that clients send.
pub fn check_date(days: i32) -> Result<i32, SqlError> {
    match days {
        i32::MIN | i32::MAX => Ok(days),
        days if DATE_RANGE.contains(&days) => Ok(days),
        _ => Err(SqlError::new(state::DATETIME_FIELD_OVERFLOW, "date out of range")),
    }
}

/// Returns `micros` if it is a timestamp or an infinity, and an error (22008) otherwise. Checks results of arithmetic
/// and values that clients send.
pub fn check_timestamp(micros: i64) -> Result<i64, SqlError> {
    match micros {
        i64::MIN | i64::MAX => Ok(micros),
        micros if TIMESTAMP_RANGE.contains(&micros) => Ok(micros),
        _ => Err(SqlError::new(state::DATETIME_FIELD_OVERFLOW, "timestamp out of range")),
    }
}

/// Returns a timestamp with its seconds rounded to the digits of a type. Halves are rounded away from 2000-01-01. An
/// infinity stays one.
///
/// # Errors
/// 22008 if the rounded timestamp is out of range.
pub fn fit_timestamp(micros: i64, digits: Option<Digits>) -> Result<i64, SqlError> {
    match micros {
        i64::MIN | i64::MAX => Ok(micros),
        _ => check_timestamp(fit_micros(micros, digits)),
    }
}

/// Returns a duration or a time of day with its seconds rounded to the digits of a type. Halves are rounded away from
/// zero. Without `digits`, the value stays as it is.
pub fn fit_micros(micros: i64, digits: Option<Digits>) -> i64 {
    let Some(digits) = digits else { return micros };
    let unit = digits.unit_micros();
    micros.saturating_add(micros.signum() * (unit / 2)) / unit * unit
}

/// Returns an interval with its seconds rounded to the digits of a type.
pub fn fit_interval(interval: Interval, digits: Option<Digits>) -> Interval {
    Interval { micros: fit_micros(interval.micros, digits), ..interval }
}

/// Returns `micros` if it is a time of day, and an error (22008) otherwise. Checks values that clients send.
pub fn check_time(micros: i64) -> Result<i64, SqlError> {
    match micros {
        0..=DAY => Ok(micros),
        _ => Err(SqlError::new(state::DATETIME_FIELD_OVERFLOW, "time out of range")),
    }
}

/// Returns the year (0 is 1 BC), the month and the day of a date, or `None` if the date is infinite or out of range.
pub fn date_parts(days: i32) -> Option<(i16, i8, i8)> {
    let span = Span::new().try_days(days).ok()?;
    let date = EPOCH.checked_add(span).ok()?;
    Some((date.year(), date.month(), date.day()))
}

/// Returns the date with these parts, or `None` if the calendar has no such date. The year 0 is 1 BC.
pub fn days_from_parts(year: i32, month: i32, day: i32) -> Option<i32> {
    let date = Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()?;
    EPOCH.until(date).ok().map(|span| span.get_days()).filter(|days| DATE_RANGE.contains(days))
}

/// Writes a date: `2026-01-02`, `infinity`, `0044-03-15 BC`, or the same in another style.
pub(super) fn write_date(days: i32, styles: Styles, out: &mut BytesMut) {
    let Some(calendar) = Calendar::of(days, out) else { return };
    calendar.write(styles, out);
    calendar.write_era(out);
}

/// Writes a timestamp: `2026-01-02 03:04:05.6`, or the same in another style. A `zoned` timestamp is in UTC; it is
/// written as a local time of the session's time zone, followed by the offset such as `+02`, or in a style other than
/// ISO by the zone's abbreviation.
pub(super) fn write_timestamp(moment: i64, zoned: bool, styles: Styles, out: &mut BytesMut) {
    let offset = if zoned { styles.zone.offset(moment) } else { 0 };
    let micros = moment + offset * SECOND;
    let days = match micros {
        i64::MAX => i32::MAX,
        i64::MIN => i32::MIN,
        micros => micros.div_euclid(DAY) as i32,
    };
    let Some(calendar) = Calendar::of(days, out) else { return };
    let time = micros.rem_euclid(DAY) as u64;
    if styles.dates == DateStyle::Postgres {
        calendar.write_words(styles.order, out);
        write_time(time, out);
        out.put_u8(b' ');
        put_padded(calendar.year, 4, out);
    } else {
        calendar.write(styles, out);
        out.put_u8(b' ');
        write_time(time, out);
    }
    if zoned {
        match styles.dates {
            DateStyle::Iso => out.put_slice(written_offset(offset).as_bytes()),
            _ => {
                out.put_u8(b' ');
                out.put_slice(styles.zone.abbreviation(moment).as_bytes());
            }
        }
    }
    calendar.write_era(out);
}

/// Writes microseconds since midnight as `03:04:05.6`. The number of hours has no limit.
pub(super) fn write_time(time: u64, out: &mut BytesMut) {
    let (seconds, mut fraction) = ((time / 1_000_000) as i64, (time % 1_000_000) as i64);
    put_padded(seconds / 3600, 2, out);
    out.put_u8(b':');
    put_padded(seconds / 60 % 60, 2, out);
    out.put_u8(b':');
    put_padded(seconds % 60, 2, out);
    if fraction > 0 {
        let mut width = 6;
        while fraction % 10 == 0 {
            fraction /= 10;
            width -= 1;
        }
        out.put_u8(b'.');
        put_padded(fraction, width, out);
    }
}

/// The parts of a date as they are shown.
struct Calendar {
    /// The year, counted from 1, before Christ or after.
    year: i64,
    before_christ: bool,
    month: i64,
    day: i64,
    /// The day of the week, from Sunday, which is zero.
    day_of_week: usize,
}

impl Calendar {
    /// Returns the parts of a date. If the date is infinite, writes `infinity` or `-infinity` and returns `None`.
    fn of(days: i32, out: &mut BytesMut) -> Option<Self> {
        let Some((year, month, day)) = date_parts(days) else {
            out.put_slice(if days < 0 { b"-infinity" } else { b"infinity" });
            return None;
        };
        let year = i64::from(year);
        Some(Self {
            year: if year <= 0 { 1 - year } else { year },
            before_christ: year <= 0,
            month: month.into(),
            day: day.into(),
            // 2000-01-01 was a Saturday.
            day_of_week: (days + 6).rem_euclid(7) as usize,
        })
    }

    /// Writes the year, the month and the day in the style's order.
    fn write(&self, styles: Styles, out: &mut BytesMut) {
        let (year, month, day) = ((self.year, 4), (self.month, 2), (self.day, 2));
        let parts = match (styles.dates, styles.order) {
            (DateStyle::Iso, _) => [year, month, day],
            (DateStyle::German, _) | (_, DateOrder::Dmy) => [day, month, year],
            _ => [month, day, year],
        };
        let separator = match styles.dates {
            DateStyle::Iso | DateStyle::Postgres => b'-',
            DateStyle::Sql => b'/',
            DateStyle::German => b'.',
        };
        for (at, (number, width)) in parts.into_iter().enumerate() {
            if at > 0 {
                out.put_u8(separator);
            }
            put_padded(number, width, out);
        }
    }

    /// Writes the day of the week, the day and the month: `Fri Jan 02 ` or `Fri 02 Jan `.
    fn write_words(&self, order: DateOrder, out: &mut BytesMut) {
        const DAYS: [&[u8]; 7] = [b"Sun ", b"Mon ", b"Tue ", b"Wed ", b"Thu ", b"Fri ", b"Sat "];
        const MONTHS: [&[u8]; 12] = [
            b"Jan ", b"Feb ", b"Mar ", b"Apr ", b"May ", b"Jun ", b"Jul ", b"Aug ", b"Sep ", b"Oct ", b"Nov ", b"Dec ",
        ];
        out.put_slice(DAYS[self.day_of_week]);
        let month = MONTHS[self.month as usize - 1];
        if order != DateOrder::Dmy {
            out.put_slice(month);
        }
        put_padded(self.day, 2, out);
        out.put_u8(b' ');
        if order == DateOrder::Dmy {
            out.put_slice(month);
        }
    }

    fn write_era(&self, out: &mut BytesMut) {
        if self.before_christ {
            out.put_slice(b" BC");
        }
    }
}

/// Writes a number that is not negative, with zeros before it up to `width` digits.
fn put_padded(value: i64, width: usize, out: &mut BytesMut) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(value);
    out.put_bytes(b'0', width.saturating_sub(digits.len()));
    out.put_slice(digits.as_bytes());
}

/// Returns the present time, in microseconds since 2000-01-01 UTC.
pub fn now() -> i64 {
    jiff::Timestamp::now().as_microsecond() - 946_684_800_000_000
}
