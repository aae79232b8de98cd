//! Parsing of dates and timestamps by a template: `to_date`, `to_timestamp`.

use super::moment::{DAY, SECOND};
use super::template::{DAYS, MONTHS, Pattern, Piece, ROMAN, pieces};
use super::template_date::DateParts;
use crate::error::unsupported;
use crate::types::{SessionZone, check_timestamp};
use crate::{SqlError, state};

/// The parts of a moment that have been read so far. Parts that have not been read are zero.
#[derive(Default)]
struct Read {
    date: DateParts,
    time: TimeParts,
    zone: Zone,
    convention: Option<Convention>,
}

/// The parts of the time of day.
#[derive(Default)]
struct TimeParts {
    hour: i64,
    afternoon: Option<bool>,
    minute: i64,
    second: i64,
    micros: i64,
    /// The number of digits of a second that count.
    precision: Option<u32>,
    seconds_of_day: i64,
}

/// The offset from UTC in a text. The sign is zero if the text contains none.
#[derive(Default)]
struct Zone {
    sign: i64,
    hour: i64,
    minute: i64,
}

/// A way of counting dates. All patterns of a template belong to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Convention {
    Gregorian,
    IsoWeeks,
}

impl Convention {
    /// Returns the convention that a pattern belongs to, or `None` if the pattern belongs to both.
    fn of(pattern: Pattern) -> Option<Self> {
        match pattern {
            Pattern::IsoYear(_) | Pattern::IsoWeek | Pattern::IsoDayOfWeek | Pattern::IsoDayOfYear => {
                Some(Convention::IsoWeeks)
            }
            Pattern::Year(_)
            | Pattern::YearWithComma
            | Pattern::MonthName
            | Pattern::MonthShort
            | Pattern::Month
            | Pattern::RomanMonth
            | Pattern::WeekOfYear
            | Pattern::WeekOfMonth
            | Pattern::Day
            | Pattern::DayOfWeek
            | Pattern::DayOfYear => Some(Convention::Gregorian),
            _ => None,
        }
    }
}

/// Parses a moment by a template and returns its microseconds since 2000-01-01 UTC. A text without an offset is a local
/// time of `zone`.
///
/// # Errors
/// The text does not match the template, a part is out of range, or the template has `FX`, which is not supported.
pub(super) fn read(text: &str, template: &str, zone: SessionZone) -> Result<i64, SqlError> {
    let mut read = Read::default();
    let mut rest = text.trim_start();
    let pieces = pieces(template);
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Fixed => return Err(unsupported("reading by a template with \"FX\"")),
            Piece::Text(expected) => {
                for expected in expected.chars() {
                    let mut after = rest.chars();
                    match after.next() {
                        // A separator stands for any separator, or for none.
                        Some(found) if expected.is_alphanumeric() || !found.is_alphanumeric() => rest = after.as_str(),
                        _ => {}
                    }
                }
            }
            Piece::Pattern { pattern, written, plain, ordinal } => {
                rest = rest.trim_start();
                if rest.is_empty() {
                    break;
                }
                let is_whole = *plain || ordinal.is_some() || ends_number(pieces.get(at + 1));
                rest = read.take(*pattern, written, is_whole, rest, text)?;
                if ordinal.is_some() {
                    rest = rest.get(2..).unwrap_or_default();
                }
            }
        }
    }
    read.micros(text, zone)
}

/// Whether a number before this piece is read to its last digit, however many digits its pattern has.
fn ends_number(next: Option<&Piece<'_>>) -> bool {
    use Pattern::{DayName, DayShort, Era, Half, MonthName, MonthShort, RomanMonth, ZoneName, ZoneOffset};
    match next {
        Some(Piece::Pattern { pattern, .. }) => matches!(
            pattern,
            MonthName | MonthShort | DayName | DayShort | Half { .. } | Era { .. } | RomanMonth | ZoneName | ZoneOffset
        ),
        Some(Piece::Fixed) => false,
        Some(Piece::Text(text)) => !text.starts_with(|first: char| first.is_ascii_digit()),
        None => true,
    }
}

/// Stores the value that a pattern gives a field. Fails if another pattern has given the field another value.
fn keep(field: &mut i64, value: i64, written: &str) -> Result<(), SqlError> {
    if *field != 0 && *field != value {
        let message = format!("conflicting values for \"{written}\" field in formatting string");
        return Err(malformed(message).detail("This value contradicts a previous setting for the same field type."));
    }
    *field = value;
    Ok(())
}

fn out_of_range(text: &str) -> SqlError {
    let message = format!("date/time field value out of range: \"{text}\"");
    SqlError::new(state::DATETIME_FIELD_OVERFLOW, message)
}

fn malformed(message: String) -> SqlError {
    SqlError::new(state::INVALID_DATETIME_FORMAT, message)
}

impl Read {
    /// Reads one pattern, and returns the rest of the text. If `whole` is set, a number is read to its last digit;
    /// otherwise it has no more digits than its pattern.
    fn take<'t>(
        &mut self,
        pattern: Pattern,
        written: &str,
        whole: bool,
        text: &'t str,
        all: &str,
    ) -> Result<&'t str, SqlError> {
        if let Some(convention) = Convention::of(pattern)
            && *self.convention.get_or_insert(convention) != convention
        {
            return Err(malformed("invalid combination of date conventions".to_owned())
                .hint("Do not mix Gregorian and ISO week date conventions in a formatting template."));
        }
        let name = |names: &[&str], length: Option<usize>| {
            let found = names.iter().position(|name| {
                let name = &name[..length.unwrap_or(name.len())];
                text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
            });
            let at = found.ok_or_else(|| {
                let word = text.split_whitespace().next().unwrap_or_default();
                malformed(format!("invalid value \"{word}\" for \"{written}\""))
                    .detail("The given value did not match any of the allowed values for this field.")
            })?;
            Ok::<_, SqlError>((at as i64, &text[length.unwrap_or(names[at].len())..]))
        };
        let width = match pattern {
            Pattern::Year(digits) | Pattern::IsoYear(digits) => digits,
            Pattern::YearWithComma => return self.take_year_with_comma(text, written),
            Pattern::DayOfYear | Pattern::IsoDayOfYear | Pattern::Milliseconds => 3,
            Pattern::WeekOfMonth | Pattern::DayOfWeek | Pattern::IsoDayOfWeek | Pattern::Quarter | Pattern::Julian => 1,
            Pattern::WeekOfYear | Pattern::IsoWeek | Pattern::Century => 2,
            Pattern::Microseconds => 6,
            Pattern::Fraction(digits) => digits as usize,
            Pattern::SecondsOfDay => 5,
            Pattern::MonthName | Pattern::MonthShort => {
                let (month, rest) = name(&MONTHS, (pattern == Pattern::MonthShort).then_some(3))?;
                keep(&mut self.date.month, month + 1, written)?;
                return Ok(rest);
            }
            Pattern::RomanMonth => {
                // A longer numeral goes before those that it begins with.
                let numerals: Vec<_> = ROMAN.iter().rev().copied().collect();
                let (at, rest) = name(&numerals, None)?;
                keep(&mut self.date.month, 12 - at, written)?;
                return Ok(rest);
            }
            Pattern::ZoneHour | Pattern::ZoneMinute => 2,
            Pattern::DayName | Pattern::DayShort => {
                let (day, rest) = name(&DAYS, (pattern == Pattern::DayShort).then_some(3))?;
                keep(&mut self.date.day_of_week, (day + 1) % 7 + 1, written)?;
                return Ok(rest);
            }
            Pattern::Half { dots } => {
                let halves = if dots { ["A.M.", "P.M."] } else { ["AM", "PM"] };
                let (half, rest) = name(&halves, None)?;
                self.time.afternoon = Some(half == 1);
                return Ok(rest);
            }
            Pattern::Era { dots } => {
                let eras = if dots { ["A.D.", "B.C."] } else { ["AD", "BC"] };
                let (era, rest) = name(&eras, None)?;
                self.date.before_christ = era == 1;
                return Ok(rest);
            }
            Pattern::Month | Pattern::Day | Pattern::Hour | Pattern::Hour12 | Pattern::Minute | Pattern::Second => 2,
            _ => return Err(unsupported(&format!("reading \"{written}\" of a template"))),
        };
        let (sign, unsigned) = match (pattern, text.as_bytes().first()) {
            (Pattern::ZoneHour | Pattern::Year(_) | Pattern::IsoYear(_), Some(b'-')) => (-1, &text[1..]),
            (Pattern::ZoneHour, Some(b'+')) => (1, &text[1..]),
            _ => (1, text),
        };
        let found = unsigned.bytes().take_while(u8::is_ascii_digit).count();
        // Before another number a pattern has just its digits.
        let digits = if whole { found.min(9) } else { found.min(width) };
        let (number, rest) = unsigned.split_at(digits);
        if digits < width && !whole && digits > 0 {
            return Err(too_short(unsigned, written, digits, width));
        }
        let Ok(value) = number.parse::<i64>() else {
            let found: String = text.chars().take(width).collect();
            return Err(
                malformed(format!("invalid value \"{found}\" for \"{written}\"")).detail("Value must be an integer.")
            );
        };
        // Minutes without hours are east of UTC.
        if pattern == Pattern::ZoneHour || (pattern == Pattern::ZoneMinute && self.zone.sign == 0) {
            self.zone.sign = sign;
        }
        self.keep_number(pattern, (value, sign, digits), written, all)?;
        Ok(rest)
    }

    /// Reads thousands, a comma, and the rest of a year.
    fn take_year_with_comma<'t>(&mut self, text: &'t str, written: &str) -> Result<&'t str, SqlError> {
        let digits = |text: &str, most: usize| text.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let (thousands, rest) = text.split_at(digits(text, 6));
        let (rest, after) = rest.strip_prefix(',').map(|rest| rest.split_at(digits(rest, 3))).unwrap_or_default();
        let (Ok(thousands), Ok(rest)) = (thousands.parse::<i64>(), rest.parse::<i64>()) else {
            return Err(malformed(format!("invalid input string for \"{written}\"")));
        };
        keep(&mut self.date.year, thousands * 1000 + rest, written)?;
        self.date.year_digits = 4;
        Ok(after)
    }

    /// Stores a number of so many digits in the field of its pattern.
    fn keep_number(
        &mut self,
        pattern: Pattern,
        (value, sign, digits): (i64, i64, usize),
        written: &str,
        all: &str,
    ) -> Result<(), SqlError> {
        match pattern {
            Pattern::Year(digits) | Pattern::IsoYear(digits) => {
                let year = if digits < 4 { near_2020(value) } else { value };
                keep(&mut self.date.year, sign * year, written)?;
                self.date.year_digits = digits;
            }
            Pattern::Century => keep(&mut self.date.century, value, written)?,
            Pattern::Julian => keep(&mut self.date.julian, value, written)?,
            Pattern::WeekOfYear | Pattern::IsoWeek => keep(&mut self.date.week, value, written)?,
            Pattern::WeekOfMonth => keep(&mut self.date.week_of_month, value, written)?,
            Pattern::DayOfWeek => keep(&mut self.date.day_of_week, value, written)?,
            Pattern::IsoDayOfWeek => keep(&mut self.date.day_of_week, if value >= 7 { 1 } else { value + 1 }, written)?,
            // A quarter does not say which of its days is meant.
            Pattern::Quarter => {}
            Pattern::IsoDayOfYear => keep(&mut self.date.day_of_year, value, written)?,
            Pattern::Month => keep(&mut self.date.month, value, written)?,
            Pattern::Day => keep(&mut self.date.day, value, written)?,
            Pattern::DayOfYear => keep(&mut self.date.day_of_year, value, written)?,
            Pattern::Hour => keep(&mut self.time.hour, value, written)?,
            Pattern::Hour12 => {
                if !(1..=12).contains(&value) {
                    return Err(malformed(format!("hour \"{value}\" is invalid for the 12-hour clock"))
                        .hint("Use the 24-hour clock, or give an hour between 1 and 12."));
                }
                keep(&mut self.time.hour, value % 12, written)?;
            }
            Pattern::Minute => keep(&mut self.time.minute, value, written)?,
            Pattern::Second => keep(&mut self.time.second, value, written)?,
            Pattern::SecondsOfDay => keep(&mut self.time.seconds_of_day, value, written)?,
            Pattern::ZoneHour => keep(&mut self.zone.hour, value, written)?,
            Pattern::ZoneMinute => keep(&mut self.zone.minute, value, written)?,
            Pattern::Milliseconds | Pattern::Microseconds | Pattern::Fraction(_) if digits > 6 => {
                return Err(out_of_range(all));
            }
            Pattern::Milliseconds | Pattern::Microseconds | Pattern::Fraction(_) => {
                keep(&mut self.time.micros, value * 10_i64.pow(6 - digits as u32), written)?;
                if let Pattern::Fraction(digits) = pattern {
                    self.time.precision = Some(digits);
                }
            }
            _ => return Err(out_of_range(all)),
        }
        Ok(())
    }

    /// Returns the moment, in microseconds since 2000-01-01 UTC. Without an offset, the parts are a local time of
    /// `session`.
    fn micros(&self, text: &str, session: SessionZone) -> Result<i64, SqlError> {
        let Self { date, time, zone, convention } = self;
        let in_day = time.micros().filter(|_| zone.is_valid()).ok_or_else(|| out_of_range(text))?;
        let is_iso = *convention == Some(Convention::IsoWeeks);
        let days = date.days(is_iso).map_err(|error| error.unwrap_or_else(|| out_of_range(text)))?;
        let local = days * DAY + in_day;
        check_timestamp(zone.seconds().map_or_else(|| session.to_utc(local), |seconds| local - seconds * SECOND))
    }
}

impl TimeParts {
    /// Returns the microseconds since midnight, or `None` if there is no such time of day.
    fn micros(&self) -> Option<i64> {
        let hour = if self.afternoon == Some(true) { self.hour + 12 } else { self.hour };
        if hour > 23 || self.minute > 59 || self.second > 59 || self.seconds_of_day >= DAY / SECOND {
            return None;
        }
        let seconds = match self.seconds_of_day {
            0 => (hour * 60 + self.minute) * 60 + self.second,
            seconds => seconds,
        };
        let unit = self.precision.map_or(1, |digits| 10_i64.pow(6 - digits));
        Some(seconds * SECOND + (self.micros + unit / 2) / unit * unit)
    }
}

impl Zone {
    fn is_valid(&self) -> bool {
        self.hour <= 15 && self.minute <= 59
    }

    /// Returns the offset in seconds east of UTC, or `None` if the text contained none.
    fn seconds(&self) -> Option<i64> {
        (self.sign != 0).then_some(self.sign * (self.hour * 60 + self.minute) * 60)
    }
}

/// Returns the error for a text that has fewer characters, or digits, than a pattern needs before another number.
fn too_short(text: &str, written: &str, digits: usize, width: usize) -> SqlError {
    let remain = text.chars().count();
    let hint = "If your source string is not fixed-width, try using the \"FM\" modifier.";
    if remain < width {
        let message = format!("source string too short for \"{written}\" formatting field");
        let detail = format!("Field requires {width} characters, but only {remain} remain.");
        return malformed(message).detail(detail).hint(hint);
    }
    let found: String = text.chars().take(width).collect();
    let detail = format!("Field requires {width} characters, but only {digits} could be parsed.");
    malformed(format!("invalid value \"{found}\" for \"{written}\"")).detail(detail).hint(hint)
}

/// Completes a year of at most three digits, as PostgreSQL does: below 100 to one from 1970 to 2069, else to one from
/// 1520 to 2519.
fn near_2020(year: i64) -> i64 {
    match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        year => year,
    }
}

#[cfg(test)]
mod tests {
    use super::super::template::{ShownZone, write};
    use super::*;
    use crate::MemoryLimit;

    #[test]
    fn what_is_written_is_read_again() {
        let micros = 762_525_296_789_000;
        for template in ["YYYY-MM-DD HH24:MI:SS.US", "DD Mon YYYY, HH12:MI:SS.MS AM", "YYYYDDD HH24MISSMS"] {
            let text = write(micros, template, &ShownZone::default(), MemoryLimit::NONE).expect("a template");
            assert_eq!(read(&text, template, SessionZone::Utc), Ok(micros), "{template}: {text}");
        }
    }
}
