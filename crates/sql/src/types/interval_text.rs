//! Parsing of intervals: the verbose notation of PostgreSQL (`1 day 02:03:04`), and the durations of ISO 8601. The
//! module `interval_style` formats intervals.

use super::IntervalStyle;
use super::number::trim;
use super::range::DAY;
use crate::{SqlError, state};
use hotrow_storage::Interval;

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
    Year,
    Decade,
    Century,
    Millennium,
}

impl Unit {
    /// Returns the unit that a word in lower case names. Each unit has several names.
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
            "y" | "yr" | "yrs" | "year" | "years" => Unit::Year,
            "dec" | "decs" | "decade" | "decades" => Unit::Decade,
            "c" | "cent" | "century" | "centuries" => Unit::Century,
            "mil" | "mils" | "millennium" | "millennia" => Unit::Millennium,
            _ => return None,
        })
    }

    /// Returns the months, days and microseconds of which the unit consists.
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
            Unit::Year => (12, 0, 0),
            Unit::Decade => (120, 0, 0),
            Unit::Century => (1200, 0, 0),
            Unit::Millennium => (12_000, 0, 0),
        }
    }
}

/// The field qualifier of an interval literal, such as DAY TO SECOND in `INTERVAL '…' DAY TO SECOND`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The smallest unit. A number without a unit counts in this unit, and smaller parts are truncated.
    pub finest: Unit,
    /// Whether the qualifier is `MINUTE TO SECOND`: two numbers with a colon are then minutes and seconds.
    pub minutes_first: bool,
}

/// Parses an interval.
///
/// # Errors
/// 22007 if the text is no interval, 22015 if a field is out of range, 22008 if the years and months together are out
/// of range.
pub fn parse(text: &str, fields: Option<Fields>, style: IntervalStyle) -> Result<Interval, SqlError> {
    let lower = trim(text).to_ascii_lowercase();
    let read = match lower.strip_prefix('p') {
        Some(duration) => read_duration(duration),
        None => read_verbose(&lower, fields, style),
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

/// Truncates an interval to the unit `finest`. Seconds and smaller units truncate nothing.
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

enum Wrong {
    Syntax,
    /// A number is too large.
    TooLong,
    /// The years and months together are too many.
    Months,
}

/// A number as it is written: its sign, and digits before and after the point.
#[derive(Clone, Copy)]
struct Number {
    whole: i64,
    /// The digits after the point, as a fraction with the number's sign.
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
        let sign = if text.starts_with('-') { "-" } else { "" };
        let whole = if whole.is_empty() { 0 } else { format!("{sign}{whole}").parse().map_err(|_| Wrong::TooLong)? };
        let fraction = if fraction.is_empty() { 0.0 } else { format!("{sign}0.{fraction}").parse().unwrap_or(0.0) };
        Ok(Self { whole, fraction })
    }
}

impl Number {
    /// Parses a number with an exponent, which a duration may have.
    fn scientific(text: &str) -> Result<Self, Wrong> {
        let number: f64 = text.parse().map_err(|_| Wrong::Syntax)?;
        if !(-1e15..=1e15).contains(&number) {
            return Err(Wrong::TooLong);
        }
        Ok(Self { whole: number as i64, fraction: number.fract() })
    }
}

/// The sum of the parts that were read. Each field is as wide as PostgreSQL's, so that both overflow for the same
/// inputs.
#[derive(Default)]
struct Sum {
    years: i32,
    months: i32,
    days: i32,
    micros: i64,
    /// The units that were read. No unit may come twice.
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
        self.add_whole(number.whole, unit).ok_or(Wrong::TooLong)?;
        self.add_fraction(number.fraction, unit).ok_or(Wrong::TooLong)
    }

    fn add_whole(&mut self, whole: i64, unit: Unit) -> Option<()> {
        let narrow = |length: i64| i32::try_from(whole).ok()?.checked_mul(i32::try_from(length).ok()?);
        match unit.parts() {
            (0, 0, micros) => self.micros = whole.checked_mul(micros)?.checked_add(self.micros)?,
            (0, days, _) => self.days = narrow(days)?.checked_add(self.days)?,
            (months, ..) if months >= 12 => self.years = narrow(months / 12)?.checked_add(self.years)?,
            (months, ..) => self.months = narrow(months)?.checked_add(self.months)?,
        }
        Some(())
    }

    /// Adds the fraction of a number in its unit. A fraction of a year or a longer unit is rounded to months, a
    /// fraction of a month, a week or a day is days and a time, and a fraction of a shorter unit is a time.
    fn add_fraction(&mut self, fraction: f64, unit: Unit) -> Option<()> {
        match unit.parts() {
            (0, 0, micros) => self.part_of_micros(fraction, micros),
            (0, days, _) => self.part_of_days(fraction * days as f64),
            (1, ..) => self.part_of_days(fraction * 30.0),
            (months, ..) => {
                let more = (fraction * months as f64).round_ties_even();
                self.months = self.months.checked_add(more as i32)?;
                Some(())
            }
        }
    }

    fn part_of_days(&mut self, days: f64) -> Option<()> {
        self.days = self.days.checked_add(days.trunc() as i32)?;
        self.part_of_micros(days.fract(), DAY)
    }

    /// Adds a fraction of a unit, in microseconds. Half a microsecond is rounded down.
    fn part_of_micros(&mut self, fraction: f64, unit: i64) -> Option<()> {
        let micros = fraction * unit as f64;
        let more = if micros.fract().abs() > 0.5 { micros.trunc() + micros.signum() } else { micros.trunc() };
        self.micros = self.micros.checked_add(more as i64)?;
        Some(())
    }

    /// Adds `hours:minutes[:seconds]`. Two numbers are `minutes:seconds` if the second has a point, or if
    /// `minutes_first` is set.
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

    fn negate(&mut self) -> Option<()> {
        self.years = self.years.checked_neg()?;
        self.months = self.months.checked_neg()?;
        self.days = self.days.checked_neg()?;
        self.micros = self.micros.checked_neg()?;
        Some(())
    }

    fn finish(&self) -> Result<Interval, Wrong> {
        let months = self.years.checked_mul(12).and_then(|months| months.checked_add(self.months));
        Ok(Interval { months: months.ok_or(Wrong::Months)?, days: self.days, micros: self.micros })
    }
}

/// Returns the next word or number of the verbose form, and the rest of the text.
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

fn read_verbose(text: &str, fields: Option<Fields>, style: IntervalStyle) -> Result<Interval, Wrong> {
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
    // In SQL's style the sign of `-1 2:03:04` applies to all its parts, unless another part has a sign of its own.
    let is_signed = |token: &&str| token.starts_with(['-', '+']);
    let spreads =
        style == IntervalStyle::SqlStandard && tokens[0].starts_with('-') && !tokens[1..].iter().any(is_signed);
    if spreads {
        tokens[0] = &tokens[0][1..];
    }
    let mut sum = Sum::default();
    // A number without a unit gets its unit from what follows it: it counts days before a clock or a number of hours,
    // and the smallest unit if it is the last.
    let mut at = 0;
    while let Some(&number) = tokens.get(at) {
        let next = tokens.get(at + 1).copied();
        if number.contains(':') {
            sum.add_clock(number, fields.is_some_and(|fields| fields.minutes_first))?;
        } else if let Some(months) = years_and_months(number)? {
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
    if spreads != negated {
        sum.negate().ok_or(Wrong::TooLong)?;
    }
    sum.finish()
}

/// Reads `years-months` and returns the number of months. The sign of the years applies to the months. Returns `None`
/// for a text without a hyphen between numbers.
fn years_and_months(text: &str) -> Result<Option<Number>, Wrong> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let Some((years, months)) = unsigned.split_once('-') else { return Ok(None) };
    let sign = &text[..text.len() - unsigned.len()];
    let (years, months) = (Number::parse(&format!("{sign}{years}"))?, Number::parse(&format!("{sign}{months}"))?);
    if months.whole.abs() >= 12 {
        return Err(Wrong::TooLong);
    }
    let whole = years.whole.checked_mul(12).and_then(|whole| whole.checked_add(months.whole));
    Ok(Some(Number { whole: whole.ok_or(Wrong::TooLong)?, fraction: 0.0 }))
}

/// Reads a duration of ISO 8601 behind its `p`: numbers, each with a letter. The numbers of the time follow a `t`.
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
        let end = rest.find(|c: char| c.is_ascii_lowercase() && c != 'e').ok_or(Wrong::Syntax)?;
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
        let number = &rest[..end];
        sum.add(if number.contains('e') { Number::scientific(number)? } else { Number::parse(number)? }, unit)?;
        rest = &rest[end + 1..];
    }
    sum.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, fields: Option<Fields>) -> String {
        match parse(text, fields, IntervalStyle::Postgres) {
            Ok(interval) => {
                let mut out = bytes::BytesMut::new();
                crate::types::interval_style::write(interval, IntervalStyle::Postgres, &mut out);
                String::from_utf8_lossy(&out).into_owned()
            }
            Err(error) => error.state.as_str().to_owned(),
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
