//! Arithmetic of intervals, and of dates and timestamps with intervals.

use super::Arithmetic;
use super::compare::float;
use crate::types::{SessionZone, TIMESTAMP_RANGE, check_timestamp, date_parts, days_from_parts};
use crate::{SqlError, state};
use hotrow_storage::{Interval, Value};

/// The number of microseconds in a day.
const DAY: i64 = 86_400_000_000;

fn overflow(what: &str) -> SqlError {
    SqlError::new(state::DATETIME_FIELD_OVERFLOW, format!("{what} out of range"))
}

/// Returns error 22008, which says that an interval is out of range.
pub(super) fn out_of_range() -> SqlError {
    overflow("interval")
}

/// Applies an operator to dates, timestamps, times of day and intervals. Returns `None` if the operator does not exist
/// for these operands. The days and months of an interval are added to a `timestamptz` in `zone`.
pub(super) fn apply(
    op: Arithmetic,
    left: &Value<'_>,
    right: &Value<'_>,
    zone: SessionZone,
) -> Option<Result<Value<'static>, SqlError>> {
    use Arithmetic::{Add, Divide, Multiply, Subtract};
    use Value::{Date, Float8, Time, Timestamp, TimestampTz};
    let signed = |interval: &Interval| if op == Subtract { negate(*interval) } else { Ok(*interval) };
    let moved = |micros: &i64, interval: &Interval| signed(interval).and_then(|interval| shift(*micros, interval));
    Some(match (left, op, right) {
        (Timestamp(moment), Add | Subtract, Value::Interval(interval))
        | (Value::Interval(interval), Add, Timestamp(moment)) => moved(moment, interval).map(Timestamp),
        (TimestampTz(moment), Add | Subtract, Value::Interval(interval))
        | (Value::Interval(interval), Add, TimestampTz(moment)) => {
            signed(interval).and_then(|interval| shift_in(*moment, interval, zone)).map(TimestampTz)
        }
        (Timestamp(left), Subtract, Timestamp(right)) | (TimestampTz(left), Subtract, TimestampTz(right)) => {
            between(*left, *right).map(Value::Interval)
        }
        (Value::Interval(left), Add | Subtract, Value::Interval(right)) => {
            signed(right).and_then(|right| sum(*left, right)).map(Value::Interval)
        }
        (Value::Interval(interval), Multiply, factor @ Float8(_))
        | (factor @ Float8(_), Multiply, Value::Interval(interval)) => {
            scale(*interval, float(factor)).map(Value::Interval)
        }
        (Value::Interval(_), Divide, Float8(0.0)) => Err(super::arith::division_by_zero()),
        (Value::Interval(interval), Divide, Float8(divisor)) => divide(*interval, *divisor).map(Value::Interval),
        (Time(time), Add | Subtract, Value::Interval(interval)) | (Value::Interval(interval), Add, Time(time)) => {
            signed(interval).map(|interval| Time(time.wrapping_add(interval.micros).rem_euclid(DAY)))
        }
        (Time(left), Subtract, Time(right)) => Ok(Value::Interval(Interval::of_micros(left - right))),
        (Date(days), Add, Time(time)) | (Time(time), Add, Date(days)) => match days {
            &i32::MIN => Ok(Timestamp(i64::MIN)),
            &i32::MAX => Ok(Timestamp(i64::MAX)),
            days => check_timestamp(i64::from(*days) * DAY + time).map(Timestamp),
        },
        _ => return None,
    })
}

/// Returns `-interval`.
///
/// # Errors
/// 22008 if a part of the result is out of range.
pub(super) fn negate(interval: Interval) -> Result<Interval, SqlError> {
    let negated = || {
        Some(Interval {
            months: interval.months.checked_neg()?,
            days: interval.days.checked_neg()?,
            micros: interval.micros.checked_neg()?,
        })
    };
    negated().ok_or_else(out_of_range)
}

/// Returns `left + right`.
///
/// # Errors
/// 22008 if a part of the result is out of range.
pub fn sum(left: Interval, right: Interval) -> Result<Interval, SqlError> {
    let sum = || {
        Some(Interval {
            months: left.months.checked_add(right.months)?,
            days: left.days.checked_add(right.days)?,
            micros: left.micros.checked_add(right.micros)?,
        })
    };
    sum().ok_or_else(out_of_range)
}

/// Adds an interval to a moment, in microseconds since 2000-01-01: first the months, then the days, then the time. If
/// the resulting month has no such day, its last day is taken. An infinite moment is returned unchanged.
///
/// # Errors
/// 22008 if the result is out of range.
pub fn shift(moment: i64, interval: Interval) -> Result<i64, SqlError> {
    if matches!(moment, i64::MIN | i64::MAX) {
        return Ok(moment);
    }
    let shifted = || {
        let (mut days, time) = (moment.div_euclid(DAY), moment.rem_euclid(DAY));
        if interval.months != 0 {
            days = i64::from(later_month(i32::try_from(days).ok()?, interval.months)?);
        }
        let moment = (days + i64::from(interval.days)).checked_mul(DAY)?.checked_add(time)?;
        moment.checked_add(interval.micros).filter(|moment| TIMESTAMP_RANGE.contains(moment))
    };
    shifted().ok_or_else(|| overflow("timestamp"))
}

/// Adds an interval to a moment in UTC. The months and then the days are added to the local time of `zone`, and the
/// time part to the resulting moment. So a day is 23 or 25 hours long where the clocks of the zone change.
///
/// # Errors
/// 22008 if the result is out of range.
fn shift_in(moment: i64, interval: Interval, zone: SessionZone) -> Result<i64, SqlError> {
    let Interval { months, days, micros } = interval;
    if zone == SessionZone::Utc || (months == 0 && days == 0) {
        return shift(moment, interval);
    }
    let shift_local = |moment, step| shift(zone.to_local(moment), step).map(|local| zone.to_utc(local));
    let moment = if months == 0 { moment } else { shift_local(moment, Interval { months, days: 0, micros: 0 })? };
    let moment = if days == 0 { moment } else { shift_local(moment, Interval { months: 0, days, micros: 0 })? };
    shift(moment, Interval::of_micros(micros))
}

/// Adds months to a day. If the resulting month has no such day, the result is the month's last day.
fn later_month(days: i32, months: i32) -> Option<i32> {
    let (year, month, day) = date_parts(days)?;
    let month = i64::from(year) * 12 + i64::from(month) - 1 + i64::from(months);
    let (year, month) = (i32::try_from(month.div_euclid(12)).ok()?, month.rem_euclid(12) as i32 + 1);
    (28..=i32::from(day).max(28)).rev().find_map(|last| days_from_parts(year, month, last.min(day.into())))
}

/// Subtracts two moments. Returns whole days, and the rest as a time.
fn between(left: i64, right: i64) -> Result<Interval, SqlError> {
    if [left, right].iter().any(|moment| matches!(*moment, i64::MIN | i64::MAX)) {
        let message = "cannot subtract infinite timestamps";
        return Err(SqlError::new(state::DATETIME_FIELD_OVERFLOW, message));
    }
    let micros = left - right;
    Ok(Interval { months: 0, days: (micros / DAY) as i32, micros: micros % DAY })
}

/// Makes an interval of the parts of a product or quotient. The fraction of a month becomes days, of which a month has
/// thirty, and the fraction of a day becomes a time.
fn of_parts(months: f64, days: f64, micros: f64) -> Result<Interval, SqlError> {
    let rounded = |seconds: f64| (seconds * 1e6).round_ties_even() / 1e6;
    let whole = |value: f64| {
        let fits = value > f64::from(i32::MIN) - 1.0 && value < f64::from(i32::MAX) + 1.0;
        if fits { Ok(value as i32) } else { Err(out_of_range()) }
    };
    let (whole_months, mut whole_days) = (whole(months)?, whole(days)?);
    let month_days = rounded((months - f64::from(whole_months)) * 30.0);
    let mut seconds = rounded((days - f64::from(whole_days) + month_days - month_days.trunc()) * 86_400.0);
    if seconds.abs() >= 86_400.0 {
        let more = whole(seconds / 86_400.0)?;
        whole_days = whole_days.checked_add(more).ok_or_else(out_of_range)?;
        seconds -= f64::from(more) * 86_400.0;
    }
    whole_days = whole_days.checked_add(month_days as i32).ok_or_else(out_of_range)?;
    let micros = (micros + seconds * 1e6).round_ties_even();
    if micros.is_nan() || micros.abs() >= i64::MAX as f64 {
        return Err(out_of_range());
    }
    Ok(Interval { months: whole_months, days: whole_days, micros: micros as i64 })
}

fn scale(interval: Interval, factor: f64) -> Result<Interval, SqlError> {
    let Interval { months, days, micros } = interval;
    of_parts(f64::from(months) * factor, f64::from(days) * factor, micros as f64 * factor)
}

/// Returns `interval / divisor`. The divisor must not be zero.
///
/// # Errors
/// 22008 if a part of the result is out of range.
pub fn divide(interval: Interval, divisor: f64) -> Result<Interval, SqlError> {
    let Interval { months, days, micros } = interval;
    of_parts(f64::from(months) / divisor, f64::from(days) / divisor, micros as f64 / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::interval_text::parse;

    fn interval(text: &str) -> Interval {
        parse(text, None, crate::types::IntervalStyle::Postgres).unwrap_or_else(|error| panic!("{text}: {error:?}"))
    }

    #[test]
    fn months_end_where_they_end() {
        let day = |year, month, day| i64::from(days_from_parts(year, month, day).expect("a day")) * DAY;
        for (from, by, to) in [
            (day(2024, 1, 31), "1 month", day(2024, 2, 29)),
            (day(2023, 1, 31), "1 month", day(2023, 2, 28)),
            (day(2024, 3, 31), "-1 month", day(2024, 2, 29)),
            (day(2024, 2, 29), "1 year", day(2025, 2, 28)),
            (day(2024, 5, 31), "1 month -1 day", day(2024, 6, 29)),
            (day(2024, 1, 1), "24 hours", day(2024, 1, 2)),
        ] {
            assert_eq!(shift(from, interval(by)), Ok(to), "{by}");
        }
        assert!(shift(0, interval("9000 years")).is_err());
        assert!(shift(0, interval("100000000 days")).is_err());
        assert_eq!(shift(i64::MAX, interval("-1 day")), Ok(i64::MAX));
    }

    #[test]
    fn products_go_down_to_smaller_units() {
        assert_eq!(scale(interval("1 month"), 1.5), Ok(interval("1 month 15 days")));
        assert_eq!(scale(interval("1 day"), 0.5), Ok(interval("12 hours")));
        assert_eq!(divide(interval("1 year 1 day"), 2.0), Ok(interval("6 months 12 hours")));
        assert!(scale(interval("100000000 years"), 10.0).is_err());
        assert!(scale(interval("1 day"), f64::NAN).is_err());
    }
}
