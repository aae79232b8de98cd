//! Intervals as text: PostgreSQL's verbose form, clocks among it, ISO 8601's durations; and what they are added up from.

use super::datetime::{DAY, write_time};
use super::number::trim;
use crate::{SqlError, state};
use bytes::{BufMut, BytesMut};
use hotrow_storage::Interval;
use std::io::Write;

const SECOND: i64 = 1_000_000;

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
}

impl Unit {
    /// The unit of a word in lower case, of which there are many for each.
    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" | "microsecond" | "microseconds" => {
                Unit::Microsecond
            }
            "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" | "millisecond" | "milliseconds" => {
                Unit::Millisecond
            }
            "s" | "sec" | "secs" | "second" | "seconds" => Unit::Second,
            "m" | "min" | "mins" | "minute" | "minutes" => Unit::Minute,
            "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Hour,
            "d" | "day" | "days" => Unit::Day,
            "w" | "week" | "weeks" => Unit::Week,
            "mon" | "mons" | "month" | "months" => Unit::Month,
            "qtr" | "quarter" => Unit::Quarter,
            "y" | "yr" | "yrs" | "year" | "years" => Unit::Year,
            "dec" | "decs" | "decade" | "decades" => Unit::Decade,
            "c" | "cent" | "century" | "centuries" => Unit::Century,
            "mil" | "mils" | "millennium" | "millennia" => Unit::Millennium,
            _ => return None,
        })
    }

    /// Months, days or microseconds of it.
    fn parts(self) -> (i64, i64, i64) {
        match self {
            Unit::Microsecond => (0, 0, 1),
            Unit::Millisecond => (0, 0, 1000),
            Unit::Second => (0, 0, SECOND),
            Unit::Minute => (0, 0, 60 * SECOND),
            Unit::Hour => (0, 0, 3600 * SECOND),
            Unit::Day => (0, 1, 0),
            Unit::Week => (0, 7, 0),
            Unit::Month => (1, 0, 0),
            Unit::Quarter => (3, 0, 0),
            Unit::Year => (12, 0, 0),
            Unit::Decade => (120, 0, 0),
            Unit::Century => (1200, 0, 0),
            Unit::Millennium => (12_000, 0, 0),
        }
    }
}

/// What `INTERVAL '…' fields` says of the literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The smallest unit: a number without one is so many of it, and what is smaller is cut off.
    pub finest: Unit,
    /// `MINUTE TO SECOND`: two numbers with a colon are these.
    pub minutes_first: bool,
}

/// Reads an interval.
///
/// # Errors
/// 22007 for what is none, 22015 for one that is too long, 22008 if that is its years.
pub fn parse(text: &str, fields: Option<Fields>) -> Result<Interval, SqlError> {
    let lower = trim(text).to_ascii_lowercase();
    let read = match lower.strip_prefix('p') {
        Some(duration) => read_duration(duration),
        None => read_verbose(&lower, fields),
    };
    let sum = read.map_err(|wrong| match wrong {
        Wrong::Months => SqlError::new(state::DATETIME_FIELD_OVERFLOW, "interval out of range"),
        Wrong::Syntax => {
            let message = format!("invalid input syntax for type interval: \"{text}\"");
            SqlError::new(state::INVALID_DATETIME_FORMAT, message)
        }
        Wrong::TooLong => {
            let message = format!("interval field value out of range: \"{text}\"");
            SqlError::new(state::INTERVAL_FIELD_OVERFLOW, message)
        }
    })?;
    Ok(match fields {
        Some(fields) => cut(sum, fields.finest),
        None => sum,
    })
}

/// Leaves out what is smaller than a unit.
pub fn cut(interval: Interval, finest: Unit) -> Interval {
    let Interval { months, micros, .. } = interval;
    match finest {
        Unit::Year => Interval { months: months / 12 * 12, days: 0, micros: 0 },
        Unit::Month => Interval { months, days: 0, micros: 0 },
        Unit::Day => Interval { micros: 0, ..interval },
        Unit::Hour => Interval { micros: micros / (3600 * SECOND) * (3600 * SECOND), ..interval },
        Unit::Minute => Interval { micros: micros / (60 * SECOND) * (60 * SECOND), ..interval },
        _ => interval,
    }
}

/// Appends an interval: `1 year 2 mons -3 days +04:05:06.7`.
pub(super) fn write(interval: Interval, out: &mut BytesMut) {
    let Interval { months, days, micros } = interval;
    let (mut is_first, mut after_negative) = (true, false);
    for (count, unit) in [(months / 12, "year"), (months % 12, "mon"), (days, "day")] {
        if count == 0 {
            continue;
        }
        let space = if is_first { "" } else { " " };
        let plus = if after_negative && count > 0 { "+" } else { "" };
        let plural = if count == 1 { "" } else { "s" };
        // Writing into memory does not fail.
        let _ = write!(out.writer(), "{space}{plus}{count} {unit}{plural}");
        (is_first, after_negative) = (false, count < 0);
    }
    if micros != 0 || is_first {
        if !is_first {
            out.put_u8(b' ');
        }
        match micros {
            ..0 => out.put_u8(b'-'),
            _ if after_negative => out.put_u8(b'+'),
            _ => {}
        }
        // The least number has no opposite; its last microsecond does not show in hours.
        write_time(micros.checked_abs().unwrap_or(i64::MAX), out);
    }
}

enum Wrong {
    Syntax,
    /// A number is too large.
    TooLong,
    /// All years and months together are too many.
    Months,
}

/// A number as it is written: its sign, and digits before and after the point.
#[derive(Clone, Copy)]
struct Number {
    whole: i64,
    /// With the number's sign.
    fraction: f64,
}

impl Number {
    fn parse(text: &str) -> Result<Self, Wrong> {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !plain(whole) || !plain(fraction) {
            return Err(Wrong::Syntax);
        }
        let sign = if text.starts_with('-') { -1 } else { 1 };
        let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| Wrong::TooLong)? };
        let fraction: f64 = if fraction.is_empty() { 0.0 } else { format!("0.{fraction}").parse().unwrap_or(0.0) };
        Ok(Self { whole: sign * whole, fraction: sign as f64 * fraction })
    }
}

/// What has been added up.
#[derive(Default)]
struct Sum {
    months: i64,
    days: i64,
    micros: i64,
    /// The units that there were: none may come twice.
    seen: Vec<Unit>,
}

impl Sum {
    fn see(&mut self, unit: Unit) -> Result<(), Wrong> {
        if self.seen.contains(&unit) {
            return Err(Wrong::Syntax);
        }
        self.seen.push(unit);
        Ok(())
    }

    fn add(&mut self, number: Number, unit: Unit) -> Result<(), Wrong> {
        self.see(unit)?;
        let (months, days, micros) = unit.parts();
        let times = |sum: i64, unit: i64| number.whole.checked_mul(unit)?.checked_add(sum);
        (|| {
            self.months = times(self.months, months)?;
            self.days = times(self.days, days)?;
            self.micros = times(self.micros, micros)?;
            Some(())
        })()
        .ok_or(Wrong::TooLong)?;
        // What is left of a year is months, of a month days, of all else a time.
        match unit {
            Unit::Month => self.part_of_days(number.fraction * 30.0),
            Unit::Quarter | Unit::Year | Unit::Decade | Unit::Century | Unit::Millennium => {
                self.months += (number.fraction * months as f64).round_ties_even() as i64;
            }
            Unit::Day | Unit::Week => self.part_of_days(number.fraction * days as f64),
            _ => self.micros += (number.fraction * micros as f64).round_ties_even() as i64,
        }
        Ok(())
    }

    fn part_of_days(&mut self, days: f64) {
        let whole = days.trunc();
        self.days += whole as i64;
        self.micros += ((days - whole) * DAY as f64).round_ties_even() as i64;
    }

    /// `hours:minutes[:seconds]`; `minutes:seconds` if there is a point, or that is wanted.
    fn add_clock(&mut self, clock: &str, minutes_first: bool) -> Result<(), Wrong> {
        [Unit::Hour, Unit::Minute, Unit::Second].into_iter().try_for_each(|unit| self.see(unit))?;
        let negative = clock.starts_with('-');
        let clock = clock.strip_prefix(['+', '-']).unwrap_or(clock);
        let parts: Vec<_> = clock.split(':').collect();
        let (hours, minutes, seconds) = match parts[..] {
            [minutes, seconds] if minutes_first || seconds.contains('.') => ("0", minutes, seconds),
            [hours, minutes] => (hours, minutes, "0"),
            [hours, minutes, seconds] => (hours, minutes, seconds),
            _ => return Err(Wrong::Syntax),
        };
        let unsigned = |text: &str| match text.starts_with(['+', '-']) {
            true => Err(Wrong::Syntax),
            false => Number::parse(text),
        };
        let (hours, minutes, seconds) = (unsigned(hours)?, unsigned(minutes)?, unsigned(seconds)?);
        if hours.fraction != 0.0 || minutes.fraction != 0.0 {
            return Err(Wrong::Syntax);
        }
        if minutes.whole > 59 || seconds.whole > 60 {
            return Err(Wrong::TooLong);
        }
        let whole = (minutes.whole * 60 + seconds.whole) * SECOND;
        let rest = whole + (seconds.fraction * SECOND as f64).round_ties_even() as i64;
        let micros = hours.whole.checked_mul(3600 * SECOND).and_then(|micros| micros.checked_add(rest));
        let micros = micros.ok_or(Wrong::TooLong)?;
        let sum = self.micros.checked_add(if negative { -micros } else { micros });
        self.micros = sum.ok_or(Wrong::TooLong)?;
        Ok(())
    }

    fn finish(&self, negated: bool) -> Result<Interval, Wrong> {
        let sign = if negated { -1 } else { 1 };
        let narrow = |value: i64| value.checked_mul(sign).and_then(|value| i32::try_from(value).ok());
        let micros = self.micros.checked_mul(sign).ok_or(Wrong::TooLong)?;
        let (months, days) = (narrow(self.months).ok_or(Wrong::Months)?, narrow(self.days).ok_or(Wrong::TooLong)?);
        Ok(Interval { months, days, micros })
    }
}

/// A word or a number of the verbose form, and what is left of the text.
fn token(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\r', ',', '@']);
    let first = text.chars().next()?;
    let is_part: fn(char) -> bool = match first {
        'a'..='z' => |c| c.is_ascii_lowercase(),
        _ => |c| c.is_ascii_digit() || matches!(c, '.' | ':' | '-' | '+'),
    };
    let end = text[first.len_utf8()..].find(|c| !is_part(c)).map_or(text.len(), |at| at + first.len_utf8());
    Some(text.split_at(end))
}

fn read_verbose(text: &str, fields: Option<Fields>) -> Result<Interval, Wrong> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some((token, behind)) = token(rest) {
        tokens.push(token);
        rest = behind;
    }
    let negated = tokens.last() == Some(&"ago");
    if negated {
        tokens.pop();
    }
    if tokens.is_empty() {
        return Err(Wrong::Syntax);
    }
    let mut sum = Sum::default();
    // A number without a unit takes its own from what follows: days before hours.
    let mut at = 0;
    while let Some(&number) = tokens.get(at) {
        let next = tokens.get(at + 1).copied();
        if number.contains(':') {
            sum.add_clock(number, fields.is_some_and(|fields| fields.minutes_first))?;
        } else if let Some((years, months)) = years_and_months(number) {
            sum.add(years, Unit::Year)?;
            sum.add(months, Unit::Month)?;
        } else if let Some(unit) = next.and_then(Unit::named) {
            sum.add(Number::parse(number)?, unit)?;
            at += 1;
        } else {
            let last = || fields.map_or(Unit::Second, |fields| fields.finest);
            let unit = match (next, tokens.get(at + 2)) {
                (Some(clock), _) if clock.contains(':') => Unit::Day,
                (Some(_), Some(unit)) if Unit::named(unit) == Some(Unit::Hour) => Unit::Day,
                (Some(_), None) if last() == Unit::Hour => Unit::Day,
                (Some(_), _) => return Err(Wrong::Syntax),
                (None, _) => last(),
            };
            sum.add(Number::parse(number)?, unit)?;
        }
        at += 1;
    }
    sum.finish(negated)
}

/// `years-months`, the months of the years' sign.
fn years_and_months(text: &str) -> Option<(Number, Number)> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (years, months) = unsigned.split_once('-')?;
    let sign = &text[..text.len() - unsigned.len()];
    let months = Number::parse(&format!("{sign}{months}")).ok().filter(|months| months.whole.abs() < 12)?;
    Some((Number::parse(&format!("{sign}{years}")).ok()?, months))
}

/// ISO 8601 behind the `p`: numbers, each with a letter, those of the time behind a `t`.
fn read_duration(text: &str) -> Result<Interval, Wrong> {
    let (mut sum, mut in_time, mut rest) = (Sum::default(), false, text);
    if text.is_empty() {
        return Err(Wrong::Syntax);
    }
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix('t').filter(|_| !in_time) {
            (in_time, rest) = (true, behind);
            continue;
        }
        let end = rest.find(|c: char| c.is_ascii_lowercase()).ok_or(Wrong::Syntax)?;
        let unit = match (in_time, rest.as_bytes()[end]) {
            (false, b'y') => Unit::Year,
            (false, b'm') => Unit::Month,
            (false, b'w') => Unit::Week,
            (false, b'd') => Unit::Day,
            (true, b'h') => Unit::Hour,
            (true, b'm') => Unit::Minute,
            (true, b's') => Unit::Second,
            _ => return Err(Wrong::Syntax),
        };
        sum.add(Number::parse(&rest[..end])?, unit)?;
        rest = &rest[end + 1..];
    }
    sum.finish(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, fields: Option<Fields>) -> String {
        match parse(text, fields) {
            Ok(interval) => {
                let mut out = BytesMut::new();
                write(interval, &mut out);
                String::from_utf8_lossy(&out).into_owned()
            }
            Err(error) => error.state.0.to_owned(),
        }
    }

    #[test]
    fn intervals_are_read_and_written_as_postgresql_does() {
        for (text, expected) in [
            ("1 year 2 months 3 days 4 hours 5 minutes 6.789 seconds", "1 year 2 mons 3 days 04:05:06.789"),
            ("-1 year -2 mons +3 days -04:05:06", "-1 years -2 mons +3 days -04:05:06"),
            ("1 day 2:03:04 ago", "-1 days -02:03:04"),
            ("@ 1 minute", "00:01:00"),
            ("5", "00:00:05"),
            ("1 12:59:10", "1 day 12:59:10"),
            ("1-2", "1 year 2 mons"),
            ("-1-2", "-1 years -2 mons"),
            ("1.5 days", "1 day 12:00:00"),
            ("1.5 months", "1 mon 15 days"),
            ("1.5 years", "1 year 6 mons"),
            ("1.5 weeks", "10 days 12:00:00"),
            ("2 decades", "20 years"),
            ("3h20m", "03:20:00"),
            ("90 minutes", "01:30:00"),
            ("100 hours", "100:00:00"),
            ("0", "00:00:00"),
            ("1:30.5", "00:01:30.5"),
            ("P1Y2M3DT4H5M6.5S", "1 year 2 mons 3 days 04:05:06.5"),
            ("P-1W", "-7 days"),
            ("PT36H", "36:00:00"),
            ("1 month -1 day", "1 mon -1 days"),
            ("-1 day 02:03", "-1 days +02:03:00"),
            ("500 ms", "00:00:00.5"),
            ("", "22007"),
            ("P", "22007"),
            ("1 day 2 days", "22007"),
            ("1 fortnight", "22007"),
            ("day", "22007"),
            ("1:99", "22015"),
            ("200000000 years", "22008"),
            ("2147483648 days", "22015"),
            ("5 4 hours", "5 days 04:00:00"),
            ("9999999999999999999 days", "22015"),
        ] {
            assert_eq!(shown(text, None), expected, "{text}");
        }
        let fields = |finest, minutes_first| Some(Fields { finest, minutes_first });
        assert_eq!(shown("7", fields(Unit::Hour, false)), "07:00:00");
        assert_eq!(shown("1 day 2:03:04", fields(Unit::Hour, false)), "1 day 02:00:00");
        assert_eq!(shown("1:30", fields(Unit::Second, true)), "00:01:30");
        assert_eq!(shown("18 months", fields(Unit::Year, false)), "1 year");
    }
}
