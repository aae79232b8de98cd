//! Functions of dates and timestamps.

use super::argument::{Arguments, integer_of, invalid, text_of};
use super::function::{Field, Function, Overload, TimeFunction};
use super::moment::{DAY, JULIAN_EPOCH, Moment, SECOND, local_micros, people_year, unknown_unit, unsupported_unit};
use super::template::{self, ShownZone};
use super::{interval, template_read};
use crate::expr::compare::float;
use crate::types::{SessionZone, check_timestamp, days_from_parts, numeric_error};
use crate::{MemoryLimit, SqlError, state};
use hotrow_storage::{Numeric, Type, Value};

impl Field {
    /// Returns the field with this name, which must be in lower case.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "millennium" | "millennia" | "mil" | "mils" => Field::Millennium,
            "century" | "centuries" | "cent" | "c" => Field::Century,
            "decade" | "decades" | "dec" | "decs" => Field::Decade,
            "year" | "years" | "yr" | "yrs" | "y" => Field::Year,
            "isoyear" => Field::IsoYear,
            "quarter" | "qtr" => Field::Quarter,
            "month" | "months" | "mon" | "mons" => Field::Month,
            "week" | "weeks" | "w" => Field::Week,
            "day" | "days" | "d" => Field::Day,
            "dow" => Field::DayOfWeek,
            "isodow" => Field::IsoDayOfWeek,
            "doy" => Field::DayOfYear,
            "julian" | "jd" | "j" => Field::Julian,
            "hour" | "hours" | "hr" | "hrs" | "h" => Field::Hour,
            "minute" | "minutes" | "min" | "mins" | "m" => Field::Minute,
            "second" | "seconds" | "sec" | "secs" | "s" => Field::Second,
            "milliseconds" | "millisecond" | "ms" | "msec" | "msecs" => Field::Milliseconds,
            "microseconds" | "microsecond" | "us" | "usec" | "usecs" => Field::Microseconds,
            "epoch" => Field::Epoch,
            "timezone" => Field::Timezone,
            "timezone_hour" | "timezone_h" => Field::TimezoneHour,
            "timezone_minute" | "timezone_m" => Field::TimezoneMinute,
            _ => return None,
        })
    }

    /// Returns the name of the field as PostgreSQL writes it in EXTRACT and in error messages.
    pub(in crate::expr) fn written(self) -> String {
        match self {
            Field::DayOfWeek => "dow".to_owned(),
            Field::IsoDayOfWeek => "isodow".to_owned(),
            Field::DayOfYear => "doy".to_owned(),
            Field::TimezoneHour => "timezone_hour".to_owned(),
            Field::TimezoneMinute => "timezone_minute".to_owned(),
            other => format!("{other:?}").to_lowercase(),
        }
    }

    /// Whether the field is a part of the time of day, which a date does not have.
    pub fn is_of_clock(self) -> bool {
        use Field::{Hour, Microseconds, Milliseconds, Minute, Second};
        self.is_of_zone() || matches!(self, Hour | Minute | Second | Milliseconds | Microseconds)
    }

    /// Whether the field is a part of the offset from UTC, which only a `timestamptz` has.
    fn is_of_zone(self) -> bool {
        matches!(self, Field::Timezone | Field::TimezoneHour | Field::TimezoneMinute)
    }

    /// Whether the values of the field repeat, so that it has no value at infinity.
    fn is_cyclic(self) -> bool {
        use Field::{Century, Decade, Epoch, IsoYear, Julian, Millennium, Year};
        !matches!(self, Millennium | Century | Decade | Year | IsoYear | Julian | Epoch)
    }
}

/// Returns this module's overloads of the SQL function with this name, or an empty list if it has none.
pub fn named(name: &str) -> &'static [Overload] {
    use Type::{Bool, Date, Float8, Int4, Text};
    const TIMESTAMP_TZ: Type = Type::TIMESTAMP_TZ;
    const TIMESTAMP: Type = Type::TIMESTAMP;
    const INTERVAL: Type = Type::INTERVAL;
    const TIME: Type = Type::TIME;
    macro_rules! overloads {
        ($($function:ident($($argument:expr),*) -> $result:expr),* $(,)?) => {
            const {
                &[$(Overload {
                    function: Function::Time(TimeFunction::$function),
                    arguments: &[$($argument),*],
                    result: $result,
                }),*]
            }
        };
    }
    match name {
        "date_part" => overloads![
            DatePart(Text, Date) -> Float8, DatePart(Text, TIMESTAMP) -> Float8, DatePart(Text, TIMESTAMP_TZ) -> Float8,
            DatePart(Text, INTERVAL) -> Float8, DatePart(Text, TIME) -> Float8,
        ],
        "date_trunc" => overloads![
            DateTrunc(Text, TIMESTAMP) -> TIMESTAMP, DateTrunc(Text, TIMESTAMP_TZ) -> TIMESTAMP_TZ,
            DateTrunc(Text, INTERVAL) -> INTERVAL, DateTrunc(Text, TIMESTAMP_TZ, Text) -> TIMESTAMP_TZ,
        ],
        "to_char" => overloads![ToCharacters(TIMESTAMP, Text) -> Text, ToCharacters(TIMESTAMP_TZ, Text) -> Text],
        "to_date" => overloads![ToDate(Text, Text) -> Date],
        "to_timestamp" => overloads![ToTimestamp(Float8) -> TIMESTAMP_TZ, ToTimestamp(Text, Text) -> TIMESTAMP_TZ],
        "make_date" => overloads![MakeDate(Int4, Int4, Int4) -> Date],
        "make_timestamp" => overloads![MakeTimestamp(Int4, Int4, Int4, Int4, Int4, Float8) -> TIMESTAMP],
        "make_timestamptz" => overloads![
            MakeTimestampTz(Int4, Int4, Int4, Int4, Int4, Float8) -> TIMESTAMP_TZ,
        ],
        "isfinite" => overloads![
            IsFinite(Date) -> Bool, IsFinite(TIMESTAMP) -> Bool, IsFinite(TIMESTAMP_TZ) -> Bool,
            IsFinite(INTERVAL) -> Bool,
        ],
        "timezone" => overloads![
            AtTimeZone(Text, TIMESTAMP) -> TIMESTAMP_TZ, AtTimeZone(Text, TIMESTAMP_TZ) -> TIMESTAMP,
        ],
        _ => &[],
    }
}

/// The number of seconds from 1970 to 2000.
const UNIX_TO_EPOCH_SECONDS: i64 = 946_684_800;

impl TimeFunction {
    /// Evaluates the function. `zone` is the session's time zone. The arguments must have the types of one of the
    /// function's overloads.
    pub(super) fn call<'a>(
        self,
        arguments: &Arguments<'a>,
        zone: SessionZone,
        memory: MemoryLimit,
    ) -> Result<Value<'a>, SqlError> {
        let [first, second, third, ..] = arguments;
        match self {
            TimeFunction::Extract(field) => extract(field, first, zone),
            TimeFunction::DatePart => {
                let name = text_of(first);
                let field = field_named(name, second)?;
                if let Some(infinity) = infinity(second)
                    && !field.is_cyclic()
                {
                    return Ok(Value::Float8(infinity));
                }
                if let (Field::Epoch, Value::Interval(interval)) = (field, second) {
                    return Ok(Value::Float8(interval::seconds(*interval)));
                }
                Ok(match extract(field, second, zone)? {
                    Value::Null => Value::Null,
                    number => Value::Float8(float(&number)),
                })
            }
            TimeFunction::DateTrunc => {
                let field = field_named(text_of(first), second)?;
                let zone = if third.is_null() { zone } else { zone_named(text_of(third))? };
                truncate(field, second, text_of(first), zone)
            }
            TimeFunction::ToCharacters => match local_micros(first, zone) {
                Some(i64::MIN | i64::MAX) | None => Ok(Value::Null),
                Some(local) => {
                    let shown = match first {
                        Value::TimestampTz(micros) => ShownZone::of(zone, *micros),
                        _ => ShownZone::default(),
                    };
                    Ok(Value::Text(template::write(local, text_of(second), &shown, memory)?.into()))
                }
            },
            TimeFunction::ToDate => {
                let micros = template_read::read(text_of(first), text_of(second), SessionZone::Utc)?;
                Ok(Value::Date(micros.div_euclid(DAY) as i32))
            }
            TimeFunction::ToTimestamp => match first {
                Value::Text(text) => template_read::read(text, text_of(second), zone).map(Value::TimestampTz),
                seconds => from_unix(float(seconds)),
            },
            TimeFunction::MakeDate => {
                make_date(integer_of(first), integer_of(second), integer_of(third)).map(Value::Date)
            }
            TimeFunction::MakeTimestamp => make_timestamp(arguments).map(Value::Timestamp),
            TimeFunction::MakeTimestampTz => {
                check_timestamp(zone.to_utc(make_timestamp(arguments)?)).map(Value::TimestampTz)
            }
            TimeFunction::IsFinite => Ok(Value::Bool(infinity(first).is_none())),
            TimeFunction::AtTimeZone => at_time_zone(text_of(first), second),
        }
    }
}

/// Returns the infinity that a moment is, or `None` if it is finite.
fn infinity(value: &Value<'_>) -> Option<f64> {
    match local_micros(value, SessionZone::Utc) {
        Some(i64::MIN) => Some(f64::NEG_INFINITY),
        Some(i64::MAX) => Some(f64::INFINITY),
        _ => None,
    }
}

fn type_name(value: &Value<'_>) -> &'static str {
    match value {
        Value::Date(_) => "date",
        Value::TimestampTz(_) => "timestamp with time zone",
        Value::Interval(_) => "interval",
        Value::Time(_) => "time without time zone",
        _ => "timestamp without time zone",
    }
}

fn field_named(name: &str, value: &Value<'_>) -> Result<Field, SqlError> {
    let found = Field::named(&name.to_lowercase());
    found.ok_or_else(|| unknown_unit(name, type_name(value)))
}

/// Returns the number of the period of `length` years, such as a century, that a year is in.
fn period(year: i64, length: i64) -> i64 {
    if year > 0 { (year + length - 1) / length } else { -((length - year) / length) }
}

fn extract(field: Field, value: &Value<'_>, zone: SessionZone) -> Result<Value<'static>, SqlError> {
    match value {
        Value::Interval(interval) => return interval::extract(field, *interval).map(Value::Numeric),
        Value::Time(time) => return interval::extract_of_time(field, *time).map(Value::Numeric),
        _ => {}
    }
    let Some(micros) = local_micros(value, zone) else { return Ok(Value::Null) };
    let is_date = matches!(value, Value::Date(_));
    let offset = if let Value::TimestampTz(micros) = value { Some(zone.offset(*micros)) } else { None };
    if field.is_of_clock() && (is_date || (field.is_of_zone() && offset.is_none())) {
        return Err(unsupported_unit(&field.written(), type_name(value)));
    }
    if matches!(micros, i64::MIN | i64::MAX) {
        if field.is_cyclic() {
            return Ok(Value::Null);
        }
        return Ok(Value::Numeric(if micros < 0 { Numeric::NEGATIVE_INFINITY } else { Numeric::INFINITY }));
    }
    let Some(moment) = Moment::of(micros) else { return Ok(Value::Null) };
    let time = moment.time;
    let whole = match field {
        Field::Millennium => period(moment.year, 1000),
        Field::Century => period(moment.year, 100),
        Field::Decade => moment.year.div_euclid(10),
        Field::Year => moment.people_year(),
        Field::IsoYear => people_year(moment.iso_week().0),
        Field::Quarter => (moment.month - 1) / 3 + 1,
        Field::Month => moment.month,
        Field::Week => moment.iso_week().1,
        Field::Day => moment.day,
        Field::DayOfWeek => moment.iso_day_of_week() % 7,
        Field::IsoDayOfWeek => moment.iso_day_of_week(),
        Field::DayOfYear => moment.day_of_year(),
        Field::Hour => time / (3600 * SECOND),
        Field::Minute => time / (60 * SECOND) % 60,
        Field::Timezone => offset.unwrap_or(0),
        Field::TimezoneHour => offset.unwrap_or(0) / 3600,
        Field::TimezoneMinute => offset.unwrap_or(0) / 60 % 60,
        Field::Microseconds => time % (60 * SECOND),
        Field::Milliseconds => return Ok(Value::Numeric(Numeric::new(time % (60 * SECOND), 3))),
        Field::Second => return Ok(Value::Numeric(Numeric::new(time % (60 * SECOND), 6))),
        Field::Julian if is_date => moment.days + JULIAN_EPOCH,
        Field::Julian => {
            let day = Numeric::from(moment.days + JULIAN_EPOCH);
            let part = Numeric::from(time).divide(&Numeric::from(DAY)).map_err(numeric_error)?;
            return Ok(Value::Numeric(day.add(&part).map_err(numeric_error)?));
        }
        Field::Epoch if is_date => moment.days * (DAY / SECOND) + UNIX_TO_EPOCH_SECONDS,
        Field::Epoch => {
            // The same in every zone.
            let micros = i128::from(micros) + i128::from((UNIX_TO_EPOCH_SECONDS - offset.unwrap_or(0)) * SECOND);
            return Ok(Value::Numeric(Numeric::new(micros, 6)));
        }
    };
    Ok(Value::Numeric(Numeric::from(whole)))
}

fn truncate(field: Field, value: &Value<'_>, name: &str, zone: SessionZone) -> Result<Value<'static>, SqlError> {
    if let Value::Interval(interval) = value {
        return interval::truncate(field, *interval, name).map(Value::Interval);
    }
    let Some(micros) = local_micros(value, zone) else { return Ok(Value::Null) };
    let moment = match Moment::of(micros) {
        Some(moment) if !matches!(micros, i64::MIN | i64::MAX) => moment,
        _ => return Ok(value.clone().into_owned()),
    };
    let first_of = |year: i64, month: i64| Ok(Moment::days_of(year, month as i32, 1) * DAY);
    // The first year of a period in which years are counted from 1.
    let start = |length: i64| (moment.year - 1).div_euclid(length) * length + 1;
    let clock = |unit: i64| Ok(micros - micros.rem_euclid(unit));
    let truncated = match field {
        Field::Millennium => first_of(start(1000), 1),
        Field::Century => first_of(start(100), 1),
        Field::Decade => first_of(moment.year.div_euclid(10) * 10, 1),
        Field::Year => first_of(moment.year, 1),
        Field::Quarter => first_of(moment.year, (moment.month - 1) / 3 * 3 + 1),
        Field::Month => first_of(moment.year, moment.month),
        Field::Week => Ok((moment.days - moment.iso_day_of_week() + 1) * DAY),
        Field::Day => clock(DAY),
        Field::Hour => clock(3600 * SECOND),
        Field::Minute => clock(60 * SECOND),
        Field::Second => clock(SECOND),
        Field::Milliseconds => clock(1000),
        Field::Microseconds => Ok(micros),
        _ => Err(unsupported_unit(&name.to_lowercase(), type_name(value))),
    }?;
    match value {
        // The offset is still the same at the beginning of an hour.
        Value::TimestampTz(moment) if field.is_of_clock() => {
            check_timestamp(truncated - zone.offset(*moment) * SECOND).map(Value::TimestampTz)
        }
        Value::TimestampTz(_) => check_timestamp(zone.to_utc(truncated)).map(Value::TimestampTz),
        _ => check_timestamp(truncated).map(Value::Timestamp),
    }
}

fn from_unix(seconds: f64) -> Result<Value<'static>, SqlError> {
    let out_of_range =
        || SqlError::new(state::DATETIME_FIELD_OVERFLOW, format!("timestamp out of range: \"{seconds}\""));
    match seconds {
        seconds if seconds.is_nan() => Err(SqlError::new(state::DATETIME_FIELD_OVERFLOW, "timestamp cannot be NaN")),
        f64::INFINITY => Ok(Value::TimestampTz(i64::MAX)),
        f64::NEG_INFINITY => Ok(Value::TimestampTz(i64::MIN)),
        seconds => {
            let micros = ((seconds - UNIX_TO_EPOCH_SECONDS as f64) * SECOND as f64).round_ties_even();
            let fits = micros.abs() < i64::MAX as f64;
            let micros = fits.then(|| check_timestamp(micros as i64).ok()).flatten();
            micros.map(Value::TimestampTz).ok_or_else(out_of_range)
        }
    }
}

fn make_date(year: i64, month: i64, day: i64) -> Result<i32, SqlError> {
    days(year, month, day).ok_or_else(|| {
        let what = if year > 9999 { "date" } else { "date field value" };
        let message = format!("{what} out of range: {year}-{month:02}-{day:02}");
        SqlError::new(state::DATETIME_FIELD_OVERFLOW, message)
    })
}

/// Returns the days since 2000 of a day of the calendar, or `None` if there is no such day. A negative year is before
/// Christ, and there is no year 0.
fn days(year: i64, month: i64, day: i64) -> Option<i32> {
    let year = match year {
        0 => return None,
        year if year < 0 => year + 1,
        year => year,
    };
    days_from_parts(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?)
}

/// Returns the microseconds since 2000-01-01 of the date and time of day in the first six arguments.
///
/// # Errors
/// 22008 if a part or the result is out of range.
fn make_timestamp(arguments: &Arguments<'_>) -> Result<i64, SqlError> {
    let [year, month, day, hour, minute, second] = arguments;
    let (hour, minute, second) = (integer_of(hour), integer_of(minute), float(second));
    let days = make_date(integer_of(year), integer_of(month), integer_of(day))?;
    let on_the_hour = minute == 0 && second == 0.0;
    let fits = (0..24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60.0).contains(&second);
    if !(fits || hour == 24 && on_the_hour) {
        let message = format!("time field value out of range: {hour}:{minute:02}:{second:02}");
        return Err(SqlError::new(state::DATETIME_FIELD_OVERFLOW, message));
    }
    let time = (hour * 60 + minute) * 60 * SECOND + (second * SECOND as f64).round_ties_even() as i64;
    check_timestamp(i64::from(days) * DAY + time)
}

fn at_time_zone(zone: &str, value: &Value<'_>) -> Result<Value<'static>, SqlError> {
    let zone = zone_named(zone)?;
    Ok(match value {
        Value::TimestampTz(moment) => Value::Timestamp(zone.to_local(*moment)),
        Value::Timestamp(local) => Value::TimestampTz(check_timestamp(zone.to_utc(*local))?),
        _ => Value::Null,
    })
}

fn zone_named(zone: &str) -> Result<SessionZone, SqlError> {
    SessionZone::named(zone).ok_or_else(|| invalid(format!("time zone \"{zone}\" not recognized")))
}
