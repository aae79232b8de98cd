//! Functions of intervals and times of day.

use super::argument::{Arguments, integer_of};
use super::function::{Field, Function, IntervalFunction, Overload};
use super::moment::{DAY, Moment, SECOND, local_micros, unknown_unit, unsupported_unit};
use crate::expr::compare::float;
use crate::expr::interval_arithmetic::out_of_range;
use crate::types::{SessionZone, check_timestamp, days_from_parts};
use crate::{SqlError, state};
use hotrow_storage::{Interval, Numeric, Type, Value};

/// Returns this module's overloads of the SQL function with this name, or an empty list if it has none.
pub fn named(name: &str) -> &'static [Overload] {
    use Type::{Float8, Int4};
    const TIMESTAMP_TZ: Type = Type::TIMESTAMP_TZ;
    const TIMESTAMP: Type = Type::TIMESTAMP;
    const INTERVAL: Type = Type::INTERVAL;
    const TIME: Type = Type::TIME;
    macro_rules! overloads {
        ($($function:ident($($argument:expr),*) -> $result:expr),* $(,)?) => {
            const {
                &[$(Overload {
                    function: Function::Interval(IntervalFunction::$function),
                    arguments: &[$($argument),*],
                    result: $result,
                }),*]
            }
        };
    }
    match name {
        "age" => overloads![
            Age(TIMESTAMP, TIMESTAMP) -> INTERVAL, Age(TIMESTAMP_TZ, TIMESTAMP_TZ) -> INTERVAL,
        ],
        "justify_days" => overloads![JustifyDays(INTERVAL) -> INTERVAL],
        "justify_hours" => overloads![JustifyHours(INTERVAL) -> INTERVAL],
        "justify_interval" => overloads![JustifyInterval(INTERVAL) -> INTERVAL],
        "date_bin" => overloads![
            DateBin(INTERVAL, TIMESTAMP, TIMESTAMP) -> TIMESTAMP,
            DateBin(INTERVAL, TIMESTAMP_TZ, TIMESTAMP_TZ) -> TIMESTAMP_TZ,
        ],
        "make_time" => overloads![MakeTime(Int4, Int4, Float8) -> TIME],
        _ => &[],
    }
}

impl IntervalFunction {
    /// Evaluates the function. `zone` is the session's time zone. The arguments must have the types of one of the
    /// function's overloads.
    pub(super) fn call(self, arguments: &Arguments<'_>, zone: SessionZone) -> Result<Value<'static>, SqlError> {
        let [first, second, third, ..] = arguments;
        Ok(match (self, first, second) {
            (IntervalFunction::Age, later, earlier) => {
                match local_micros(later, zone).zip(local_micros(earlier, zone)) {
                    Some((later, earlier)) => Value::Interval(age(later, earlier)?),
                    None => Value::Null,
                }
            }
            (IntervalFunction::JustifyDays, Value::Interval(interval), _) => Value::Interval(justify_days(*interval)?),
            (IntervalFunction::JustifyHours, Value::Interval(interval), _) => {
                Value::Interval(justify_hours(*interval)?)
            }
            (IntervalFunction::JustifyInterval, Value::Interval(interval), _) => Value::Interval(justify(*interval)?),
            (
                IntervalFunction::DateBin,
                Value::Interval(stride),
                Value::Timestamp(moment) | Value::TimestampTz(moment),
            ) => {
                let (Value::Timestamp(origin) | Value::TimestampTz(origin)) = third else { return Ok(Value::Null) };
                let start = bin(*stride, *moment, *origin)?;
                if matches!(second, Value::Timestamp(_)) { Value::Timestamp(start) } else { Value::TimestampTz(start) }
            }
            (IntervalFunction::MakeTime, hour, minute) => {
                Value::Time(make_time(integer_of(hour), integer_of(minute), float(third))?)
            }
            _ => Value::Null,
        })
    }
}

/// Implements `make_interval`: returns the interval of the given years, months, weeks, days, hours, minutes and
/// seconds. A NULL counts as zero.
pub fn make_interval(parts: &[Value<'_>; 7]) -> Result<Interval, SqlError> {
    let [years, months, weeks, days, hours, minutes, seconds] = parts;
    let total = |large: &Value<'_>, factor: i64, small: &Value<'_>| integer_of(large) * factor + integer_of(small);
    let seconds = float(seconds) * SECOND as f64;
    if !seconds.is_finite() || seconds.abs() >= i64::MAX as f64 {
        return Err(out_of_range());
    }
    let made = || {
        let clock = total(hours, 60, minutes).checked_mul(60 * SECOND)?;
        Some(Interval {
            months: i32::try_from(total(years, 12, months)).ok()?,
            days: i32::try_from(total(weeks, 7, days)).ok()?,
            micros: clock.checked_add(seconds.round_ties_even() as i64)?,
        })
    };
    made().ok_or_else(out_of_range)
}

/// Implements `age`: returns the years, months, days and time between two moments, given in microseconds since
/// 2000-01-01, by the calendar.
///
/// # Errors
/// 22008 if a moment is infinite or out of range.
pub fn age(later: i64, earlier: i64) -> Result<Interval, SqlError> {
    if [later, earlier].iter().any(|moment| matches!(*moment, i64::MIN | i64::MAX)) {
        return Err(SqlError::new(state::DATETIME_FIELD_OVERFLOW, "timestamp out of range"));
    }
    let (first, second) = (later.max(earlier), later.min(earlier));
    let (Some(to), Some(from)) = (Moment::of(first), Moment::of(second)) else { return Err(out_of_range()) };
    let (mut months, mut days, mut time) =
        ((to.year - from.year) * 12 + to.month - from.month, to.day - from.day, to.time - from.time);
    if time < 0 {
        (time, days) = (time + DAY, days - 1);
    }
    if days < 0 {
        // Borrows a month as long as that of the lesser moment, or of the greater one if that was given as `earlier`.
        let month = if later >= earlier { &from } else { &to };
        (days, months) = (days + month_length(month), months - 1);
    }
    let sign = if later < earlier { -1 } else { 1 };
    let narrow = |value: i64| i32::try_from(value * sign).map_err(|_| out_of_range());
    Ok(Interval { months: narrow(months)?, days: narrow(days)?, micros: time * sign })
}

fn month_length(moment: &Moment) -> i64 {
    let exists = |day: &i64| {
        let year = i32::try_from(moment.year).ok();
        year.and_then(|year| days_from_parts(year, moment.month as i32, *day as i32)).is_some()
    };
    (28..=31).rev().find(exists).unwrap_or(31)
}

/// Gives two numbers the same sign, where `unit` of the small units are one large unit. Their total stays the same.
fn level(large: i64, small: i64, unit: i64) -> (i64, i64) {
    let (large, small) = (large + small / unit, small % unit);
    match (large.signum(), small.signum()) {
        (1, -1) => (large - 1, small + unit),
        (-1, 1) => (large + 1, small - unit),
        _ => (large, small),
    }
}

fn narrow(value: i64) -> Result<i32, SqlError> {
    i32::try_from(value).map_err(|_| out_of_range())
}

fn justify_days(interval: Interval) -> Result<Interval, SqlError> {
    let (months, days) = level(interval.months.into(), interval.days.into(), 30);
    Ok(Interval { months: narrow(months)?, days: narrow(days)?, ..interval })
}

fn justify_hours(interval: Interval) -> Result<Interval, SqlError> {
    let (days, micros) = level(interval.days.into(), interval.micros, DAY);
    Ok(Interval { days: narrow(days)?, micros, ..interval })
}

/// Carries whole days and months over from time and days, and gives all parts the same sign.
fn justify(interval: Interval) -> Result<Interval, SqlError> {
    let days = i64::from(interval.days) + interval.micros / DAY;
    let (months, days) = level(interval.months.into(), days, 30);
    let (mut months, mut days, mut micros) = (months, days, interval.micros % DAY);
    // A time of the other sign borrows a day, and borrows that from a month if there are no days.
    if (months > 0 || (months == 0 && days > 0)) && micros < 0 {
        (micros, days) = (micros + DAY, days - 1);
        if days < 0 {
            (days, months) = (days + 30, months - 1);
        }
    } else if (months < 0 || (months == 0 && days < 0)) && micros > 0 {
        (micros, days) = (micros - DAY, days + 1);
        if days > 0 {
            (days, months) = (days - 30, months + 1);
        }
    }
    Ok(Interval { months: narrow(months)?, days: narrow(days)?, micros })
}

fn bin(stride: Interval, moment: i64, origin: i64) -> Result<i64, SqlError> {
    if matches!(moment, i64::MIN | i64::MAX) {
        return Ok(moment);
    }
    let refuse = |state, message: &str| Err(SqlError::new(state, message));
    if matches!(origin, i64::MIN | i64::MAX) {
        return refuse(state::DATETIME_FIELD_OVERFLOW, "origin out of range");
    }
    if stride.months != 0 {
        let message = "timestamps cannot be binned into intervals containing months or years";
        return refuse(state::FEATURE_NOT_SUPPORTED, message);
    }
    let micros = i64::from(stride.days).checked_mul(DAY).and_then(|days| days.checked_add(stride.micros));
    let micros = micros.ok_or_else(out_of_range)?;
    if micros <= 0 {
        return refuse(state::DATETIME_FIELD_OVERFLOW, "stride must be greater than zero");
    }
    check_timestamp(origin + (moment - origin).div_euclid(micros) * micros)
}

fn make_time(hour: i64, minute: i64, second: f64) -> Result<i64, SqlError> {
    let time = (hour * 60 + minute) * 60 * SECOND + (second * SECOND as f64).round_ties_even() as i64;
    let fits = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60.0).contains(&second) && time <= DAY;
    if !fits {
        let message = format!("time field value out of range: {hour}:{minute:02}:{second:02}");
        return Err(SqlError::new(state::DATETIME_FIELD_OVERFLOW, message));
    }
    Ok(time)
}

/// Implements EXTRACT of a field from a time of day, given in microseconds since midnight.
pub(super) fn extract_of_time(field: Field, time: i64) -> Result<Numeric, SqlError> {
    match field {
        Field::Epoch => Ok(Numeric::new(time, 6)),
        Field::Timezone | Field::TimezoneHour | Field::TimezoneMinute => {
            Err(unsupported_unit(&field.written(), "time without time zone"))
        }
        field => match clock(field, time) {
            Some(number) => Ok(number),
            None => Err(unsupported_unit(&field.written(), "time without time zone")),
        },
    }
}

/// Extracts a part of the clock from microseconds of any sign. Returns `None` if the field is not of the clock.
fn clock(field: Field, micros: i64) -> Option<Numeric> {
    let of_minute = micros % (60 * SECOND);
    Some(match field {
        Field::Hour => Numeric::from(micros / (3600 * SECOND)),
        Field::Minute => Numeric::from(micros / (60 * SECOND) % 60),
        Field::Second => Numeric::new(of_minute, 6),
        Field::Milliseconds => Numeric::new(of_minute, 3),
        Field::Microseconds => Numeric::from(of_minute),
        _ => return None,
    })
}

/// Implements EXTRACT of a field from an interval.
pub(super) fn extract(field: Field, interval: Interval) -> Result<Numeric, SqlError> {
    let (years, months) = (interval.months / 12, interval.months % 12);
    let whole = match field {
        Field::Millennium => years / 1000,
        Field::Century => years / 100,
        Field::Decade => years / 10,
        Field::Year => years,
        Field::Quarter => months / 3 + 1,
        Field::Month => months,
        Field::Day => interval.days,
        Field::Epoch => {
            // A year has 365.25 days here.
            let days = i128::from(years) * 1461 * 6 + (i128::from(months) * 30 + i128::from(interval.days)) * 24;
            let micros = days * 3600 * i128::from(SECOND) + i128::from(interval.micros);
            return Ok(Numeric::new(micros, 6));
        }
        field => return clock(field, interval.micros).ok_or_else(|| unsupported_unit(&field.written(), "interval")),
    };
    Ok(Numeric::from(whole))
}

/// Returns an interval in seconds, with PostgreSQL's conventions: a year has 365.25 days, and a month 30.
pub(super) fn seconds(interval: Interval) -> f64 {
    let day = (DAY / SECOND) as f64;
    let (years, months) = (f64::from(interval.months / 12), f64::from(interval.months % 12));
    let clock = interval.micros as f64 / SECOND as f64;
    clock + 365.25 * day * years + 30.0 * day * months + day * f64::from(interval.days)
}

/// Implements `date_trunc` for an interval. `name` is the name of the field, for errors.
pub(super) fn truncate(field: Field, interval: Interval, name: &str) -> Result<Interval, SqlError> {
    use crate::types::interval_text::{Unit, cut};
    let years =
        |length: i32| Interval { months: interval.months / (12 * length) * (12 * length), ..Interval::default() };
    let clock = |unit: i64| Interval { micros: interval.micros / unit * unit, ..interval };
    Ok(match field {
        Field::Millennium => years(1000),
        Field::Century => years(100),
        Field::Decade => years(10),
        Field::Year => years(1),
        Field::Quarter => Interval { months: interval.months / 3 * 3, ..Interval::default() },
        Field::Month => cut(interval, Unit::Month),
        Field::Day => cut(interval, Unit::Day),
        Field::Hour => cut(interval, Unit::Hour),
        Field::Minute => cut(interval, Unit::Minute),
        Field::Second => clock(SECOND),
        Field::Milliseconds => clock(1000),
        Field::Microseconds => interval,
        Field::Week => {
            let detail = "Months usually have fractional weeks.";
            return Err(unsupported_unit(&name.to_lowercase(), "interval").detail(detail));
        }
        _ => return Err(unknown_unit(name, "interval")),
    })
}
