//! Dates and timestamps by a template: `YYYY-MM-DD HH24:MI:SS`.

use super::check_size;
use super::time::{DAY, JULIAN_EPOCH, Moment, people_year};
use crate::error::unsupported;
use crate::types::{check_timestamp, days_from_parts};
use crate::{MemoryLimit, SqlError, state};
use std::fmt::Write;

/// Patterns, a longer one before those that it begins with.
const PATTERNS: [(&str, Pattern); 44] = [
    ("YYYY", Pattern::Year(4)),
    ("YYY", Pattern::Year(3)),
    ("YY", Pattern::Year(2)),
    ("Y,YYY", Pattern::YearWithComma),
    ("Y", Pattern::Year(1)),
    ("IYYY", Pattern::IsoYear(4)),
    ("IYY", Pattern::IsoYear(3)),
    ("IY", Pattern::IsoYear(2)),
    ("IDDD", Pattern::IsoDayOfYear),
    ("ID", Pattern::IsoDayOfWeek),
    ("IW", Pattern::IsoWeek),
    ("I", Pattern::IsoYear(1)),
    ("MONTH", Pattern::MonthName),
    ("MON", Pattern::MonthShort),
    ("MM", Pattern::Month),
    ("MI", Pattern::Minute),
    ("MS", Pattern::Milliseconds),
    ("DDD", Pattern::DayOfYear),
    ("DD", Pattern::Day),
    ("DAY", Pattern::DayName),
    ("DY", Pattern::DayShort),
    ("D", Pattern::DayOfWeek),
    ("HH24", Pattern::Hour),
    ("HH12", Pattern::Hour12),
    ("HH", Pattern::Hour12),
    ("SSSSS", Pattern::SecondsOfDay),
    ("SSSS", Pattern::SecondsOfDay),
    ("SS", Pattern::Second),
    ("US", Pattern::Microseconds),
    ("FF1", Pattern::Fraction(1)),
    ("FF2", Pattern::Fraction(2)),
    ("FF3", Pattern::Fraction(3)),
    ("FF4", Pattern::Fraction(4)),
    ("FF5", Pattern::Fraction(5)),
    ("FF6", Pattern::Fraction(6)),
    ("AM", Pattern::Half { dots: false }),
    ("PM", Pattern::Half { dots: false }),
    ("A.M.", Pattern::Half { dots: true }),
    ("P.M.", Pattern::Half { dots: true }),
    ("WW", Pattern::WeekOfYear),
    ("W", Pattern::WeekOfMonth),
    ("CC", Pattern::Century),
    ("J", Pattern::Julian),
    ("Q", Pattern::Quarter),
];

/// The rest of them.
const MORE_PATTERNS: [(&str, Pattern); 9] = [
    ("TZH", Pattern::ZoneHour),
    ("TZM", Pattern::ZoneMinute),
    ("RM", Pattern::RomanMonth),
    ("BC", Pattern::Era { dots: false }),
    ("AD", Pattern::Era { dots: false }),
    ("B.C.", Pattern::Era { dots: true }),
    ("A.D.", Pattern::Era { dots: true }),
    ("TZ", Pattern::ZoneName),
    ("OF", Pattern::ZoneOffset),
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Months in Roman numerals.
const ROMAN: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// From Monday.
const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    /// With so many of its last digits.
    Year(usize),
    YearWithComma,
    IsoYear(usize),
    Century,
    Quarter,
    MonthName,
    MonthShort,
    Month,
    WeekOfYear,
    WeekOfMonth,
    IsoWeek,
    DayName,
    DayShort,
    Day,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    IsoDayOfYear,
    Julian,
    Hour,
    Hour12,
    Minute,
    Second,
    SecondsOfDay,
    Milliseconds,
    Microseconds,
    Fraction(u32),
    Half {
        dots: bool,
    },
    Era {
        dots: bool,
    },
    ZoneName,
    ZoneOffset,
    ZoneHour,
    ZoneMinute,
    RomanMonth,
}

/// A piece of a template.
enum Piece<'t> {
    Pattern {
        pattern: Pattern,
        /// As it is written: its case counts.
        written: &'t str,
        /// `FM`: without padding.
        plain: bool,
        /// `TH` or `th` behind it.
        ordinal: Option<&'t str>,
    },
    Text(&'t str),
}

fn pieces(template: &str) -> Result<Vec<Piece<'_>>, SqlError> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(first) = rest.chars().next() {
        if let Some(inside) = rest.strip_prefix('"') {
            let end = inside.find('"').unwrap_or(inside.len());
            pieces.push(Piece::Text(&inside[..end]));
            rest = inside.get(end + 1..).unwrap_or_default();
            continue;
        }
        let upper =
            |text: &str, name: &str| text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        if upper(rest, "TM") || upper(rest, "FX") {
            return Err(unsupported(&format!("\"{}\" in a template", &rest[..2])));
        }
        let (plain, after) = if upper(rest, "FM") { (true, &rest[2..]) } else { (false, rest) };
        let mut known = PATTERNS.iter().chain(&MORE_PATTERNS);
        match known.find(|(name, _)| upper(after, name)) {
            Some((name, pattern)) => {
                let (written, behind) = after.split_at(name.len());
                let ordinal = behind.get(..2).filter(|suffix| suffix.eq_ignore_ascii_case("th"));
                pieces.push(Piece::Pattern { pattern: *pattern, written, plain, ordinal });
                rest = &behind[ordinal.map_or(0, str::len)..];
            }
            None if plain => rest = after,
            None => {
                let (text, after) = rest.split_at(first.len_utf8());
                pieces.push(Piece::Text(text));
                rest = after;
            }
        }
    }
    Ok(pieces)
}

/// A moment by a template.
pub(super) fn write(micros: i64, template: &str, zoned: bool, memory: MemoryLimit) -> Result<String, SqlError> {
    check_size(template.len().saturating_mul(4), memory)?;
    let mut out = String::new();
    let Some(moment) = Moment::of(micros) else { return Ok(out) };
    for piece in pieces(template)? {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Pattern { pattern, written, plain, ordinal } => {
                let start = out.len();
                write_pattern(&moment, pattern, written, plain, zoned, &mut out);
                if let Some(suffix) = ordinal {
                    let suffix = ordinal_suffix(&out[start..], suffix == "TH");
                    out.push_str(suffix);
                }
            }
        }
    }
    Ok(out)
}

fn ordinal_suffix(number: &str, upper: bool) -> &'static str {
    let tens = number.len() >= 2 && number.as_bytes()[number.len() - 2] == b'1';
    let lower = match number.as_bytes().last() {
        Some(b'1') if !tens => "st",
        Some(b'2') if !tens => "nd",
        Some(b'3') if !tens => "rd",
        _ => "th",
    };
    match (lower, upper) {
        ("st", true) => "ST",
        ("nd", true) => "ND",
        ("rd", true) => "RD",
        (_, true) => "TH",
        (lower, false) => lower,
    }
}

fn write_pattern(moment: &Moment, pattern: Pattern, written: &str, plain: bool, zoned: bool, out: &mut String) {
    const SECOND: i64 = 1_000_000;
    let hour = moment.time / (3600 * SECOND);
    let fraction = moment.time % SECOND;
    let year = moment.people_year().abs();
    // A number with so many digits, and in how many it is shown.
    let (number, width) = match pattern {
        Pattern::Year(digits) => (last_digits(year, digits), digits),
        Pattern::YearWithComma => {
            write!(out, "{},{:03}", year / 1000, year % 1000).expect("a string grows");
            return;
        }
        Pattern::IsoYear(digits) => (last_digits(people_year(moment.iso_week().0).abs(), digits), digits),
        Pattern::Century => ((year - 1) / 100 + 1, 2),
        Pattern::Quarter => ((moment.month - 1) / 3 + 1, 1),
        Pattern::Month => (moment.month, 2),
        Pattern::WeekOfYear => ((moment.day_of_year() - 1) / 7 + 1, 2),
        Pattern::WeekOfMonth => ((moment.day - 1) / 7 + 1, 1),
        Pattern::IsoWeek => (moment.iso_week().1, 2),
        Pattern::Day => (moment.day, 2),
        Pattern::DayOfWeek => (moment.iso_day_of_week() % 7 + 1, 1),
        Pattern::IsoDayOfWeek => (moment.iso_day_of_week(), 1),
        Pattern::DayOfYear => (moment.day_of_year(), 3),
        Pattern::IsoDayOfYear => ((moment.iso_week().1 - 1) * 7 + moment.iso_day_of_week(), 3),
        Pattern::Julian => (moment.days + JULIAN_EPOCH, 1),
        Pattern::Hour => (hour, 2),
        Pattern::Hour12 => ((hour + 11) % 12 + 1, 2),
        Pattern::Minute => (moment.time / (60 * SECOND) % 60, 2),
        Pattern::Second => (moment.time / SECOND % 60, 2),
        Pattern::SecondsOfDay => (moment.time / SECOND, 1),
        Pattern::Milliseconds => (fraction / 1000, 3),
        Pattern::Microseconds => (fraction, 6),
        Pattern::Fraction(digits) => (fraction / 10_i64.pow(6 - digits), digits as usize),
        Pattern::MonthName => return put_word(MONTHS[moment.month as usize - 1], 9, written, plain, out),
        Pattern::MonthShort => return put_word(&MONTHS[moment.month as usize - 1][..3], 3, written, plain, out),
        Pattern::DayName => return put_word(DAYS[moment.iso_day_of_week() as usize - 1], 9, written, plain, out),
        Pattern::DayShort => {
            return put_word(&DAYS[moment.iso_day_of_week() as usize - 1][..3], 3, written, plain, out);
        }
        Pattern::Half { dots } => return put_half(if hour < 12 { "A" } else { "P" }, "M", dots, written, out),
        Pattern::Era { dots } if moment.year > 0 => return put_half("A", "D", dots, written, out),
        Pattern::Era { dots } => return put_half("B", "C", dots, written, out),
        Pattern::ZoneName if zoned => return out.push_str(if written == "tz" { "utc" } else { "UTC" }),
        Pattern::ZoneName => return,
        Pattern::ZoneOffset | Pattern::ZoneHour => return out.push_str("+00"),
        Pattern::ZoneMinute => return out.push_str("00"),
        Pattern::RomanMonth => return put_word(ROMAN[moment.month as usize - 1], 4, written, plain, out),
    };
    let width = if plain { 1 } else { width };
    write!(out, "{number:0width$}").expect("a string grows");
}

fn last_digits(number: i64, digits: usize) -> i64 {
    if digits >= 4 { number } else { number % 10_i64.pow(digits as u32) }
}

fn put_half(first: &str, second: &str, dots: bool, written: &str, out: &mut String) {
    let dot = if dots { "." } else { "" };
    let text = [first, dot, second, dot].concat();
    out.push_str(&if written.starts_with(char::is_lowercase) { text.to_lowercase() } else { text });
}

/// A name in the case that its pattern is written in, padded with blanks.
fn put_word(name: &str, width: usize, written: &str, plain: bool, out: &mut String) {
    let mut letters = written.chars();
    let cased = match (letters.next().is_some_and(char::is_uppercase), letters.next().is_some_and(char::is_uppercase)) {
        (true, true) => name.to_uppercase(),
        (true, false) => name.to_owned(),
        (false, _) => name.to_lowercase(),
    };
    let width = if plain { 0 } else { width };
    write!(out, "{cased:<width$}").expect("a string grows");
}

/// What has been read. Zero is what has not been.
#[derive(Default)]
struct Read {
    year: i64,
    before_christ: bool,
    month: i64,
    day: i64,
    day_of_year: i64,
    hour: i64,
    afternoon: Option<bool>,
    minute: i64,
    second: i64,
    micros: i64,
    /// How many digits of a second count.
    precision: Option<u32>,
    seconds_of_day: i64,
    zone_sign: i64,
    zone_hour: i64,
    zone_minute: i64,
}

/// Reads a moment by a template, in microseconds since 2000.
pub(super) fn read(text: &str, template: &str) -> Result<i64, SqlError> {
    let mut read = Read::default();
    let mut rest = text.trim_start();
    let pieces = pieces(template)?;
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
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
    read.micros(text)
}

/// Whether a number goes on no further than its digits where this follows.
fn ends_number(next: Option<&Piece<'_>>) -> bool {
    use Pattern::{DayName, DayShort, Era, Half, MonthName, MonthShort, RomanMonth, ZoneName, ZoneOffset};
    match next {
        Some(Piece::Pattern { pattern, .. }) => matches!(
            pattern,
            MonthName | MonthShort | DayName | DayShort | Half { .. } | Era { .. } | RomanMonth | ZoneName | ZoneOffset
        ),
        Some(Piece::Text(text)) => !text.starts_with(|first: char| first.is_ascii_digit()),
        None => true,
    }
}

/// Keeps what a pattern says, unless another one has said something else.
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
    /// Reads one pattern. A number that ends at what is no digit is read whole, one before another pattern has its digits only.
    fn take<'t>(
        &mut self,
        pattern: Pattern,
        written: &str,
        whole: bool,
        text: &'t str,
        all: &str,
    ) -> Result<&'t str, SqlError> {
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
            Pattern::Year(digits) => digits,
            Pattern::DayOfYear | Pattern::Milliseconds => 3,
            Pattern::Microseconds => 6,
            Pattern::Fraction(digits) => digits as usize,
            Pattern::SecondsOfDay => 5,
            Pattern::MonthName | Pattern::MonthShort => {
                let (month, rest) = name(&MONTHS, (pattern == Pattern::MonthShort).then_some(3))?;
                keep(&mut self.month, month + 1, written)?;
                return Ok(rest);
            }
            Pattern::RomanMonth => {
                // A longer numeral goes before those that it begins with.
                let numerals: Vec<_> = ROMAN.iter().rev().copied().collect();
                let (at, rest) = name(&numerals, None)?;
                keep(&mut self.month, 12 - at, written)?;
                return Ok(rest);
            }
            Pattern::ZoneHour | Pattern::ZoneMinute => 2,
            // Read and not looked at.
            Pattern::DayName => return name(&DAYS, None).map(|(_, rest)| rest),
            Pattern::DayShort => return name(&DAYS, Some(3)).map(|(_, rest)| rest),
            Pattern::Half { dots } => {
                let halves = if dots { ["A.M.", "P.M."] } else { ["AM", "PM"] };
                let (half, rest) = name(&halves, None)?;
                self.afternoon = Some(half == 1);
                return Ok(rest);
            }
            Pattern::Era { dots } => {
                let eras = if dots { ["A.D.", "B.C."] } else { ["AD", "BC"] };
                let (era, rest) = name(&eras, None)?;
                self.before_christ = era == 1;
                return Ok(rest);
            }
            Pattern::Month | Pattern::Day | Pattern::Hour | Pattern::Hour12 | Pattern::Minute | Pattern::Second => 2,
            _ => return Err(unsupported(&format!("reading \"{written}\" of a template"))),
        };
        let (sign, unsigned) = match (pattern, text.as_bytes().first()) {
            (Pattern::ZoneHour | Pattern::Year(_), Some(b'-')) => (-1, &text[1..]),
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
        if pattern == Pattern::ZoneHour {
            self.zone_sign = sign;
        }
        self.keep_number(pattern, (value, sign, digits), written, all)?;
        Ok(rest)
    }

    /// Keeps a number of so many digits.
    fn keep_number(
        &mut self,
        pattern: Pattern,
        (value, sign, digits): (i64, i64, usize),
        written: &str,
        all: &str,
    ) -> Result<(), SqlError> {
        match pattern {
            Pattern::Year(digits) => {
                let year = if digits < 4 { near_2020(value) } else { value };
                keep(&mut self.year, sign * year, written)?;
            }
            Pattern::Month => keep(&mut self.month, value, written)?,
            Pattern::Day => keep(&mut self.day, value, written)?,
            Pattern::DayOfYear => keep(&mut self.day_of_year, value, written)?,
            Pattern::Hour => keep(&mut self.hour, value, written)?,
            Pattern::Hour12 => {
                if !(1..=12).contains(&value) {
                    return Err(malformed(format!("hour \"{value}\" is invalid for the 12-hour clock"))
                        .hint("Use the 24-hour clock, or give an hour between 1 and 12."));
                }
                keep(&mut self.hour, value % 12, written)?;
            }
            Pattern::Minute => keep(&mut self.minute, value, written)?,
            Pattern::Second => keep(&mut self.second, value, written)?,
            Pattern::SecondsOfDay => keep(&mut self.seconds_of_day, value, written)?,
            Pattern::ZoneHour => keep(&mut self.zone_hour, value, written)?,
            Pattern::ZoneMinute => keep(&mut self.zone_minute, value, written)?,
            Pattern::Milliseconds | Pattern::Microseconds | Pattern::Fraction(_) if digits > 6 => {
                return Err(out_of_range(all));
            }
            Pattern::Milliseconds | Pattern::Microseconds | Pattern::Fraction(_) => {
                keep(&mut self.micros, value * 10_i64.pow(6 - digits as u32), written)?;
                if let Pattern::Fraction(digits) = pattern {
                    self.precision = Some(digits);
                }
            }
            _ => return Err(out_of_range(all)),
        }
        Ok(())
    }

    fn micros(&self, text: &str) -> Result<i64, SqlError> {
        const SECOND: i64 = 1_000_000;
        let mut hour = self.hour;
        if self.afternoon == Some(true) {
            hour += 12;
        }
        if hour > 23 || self.minute > 59 || self.second > 59 {
            return Err(out_of_range(text));
        }
        let zone = self.zone_hour * 60 + self.zone_minute;
        if self.seconds_of_day >= DAY / SECOND || self.zone_hour > 15 || self.zone_minute > 59 {
            return Err(out_of_range(text));
        }
        // Before Christ a negative year is one after. Nobody said which year: that is 1 BC.
        let year = if self.before_christ { -self.year } else { self.year };
        let year = if year < 0 { year + 1 } else { year };
        let date = |year: i64, month: i64, day: i64| {
            days_from_parts(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?)
        };
        let (month, day) = (self.month.max(1), self.day.max(1));
        let days = if self.day_of_year > 0 && (month == 1 || day == 1) {
            if self.year == 0 {
                let message = "cannot calculate day of year without year information";
                return Err(malformed(message.to_owned()));
            }
            let first = date(year, 1, 1).zip(date(year, 12, 31));
            first.and_then(|(first, last)| {
                let found = i32::try_from(self.day_of_year).ok()?.checked_add(first - 1)?;
                (found <= last).then_some(found)
            })
        } else {
            date(year, month, day)
        };
        let days = i64::from(days.ok_or_else(|| out_of_range(text))?);
        let seconds = match self.seconds_of_day {
            0 => (hour * 60 + self.minute) * 60 + self.second,
            seconds => seconds,
        };
        let unit = self.precision.map_or(1, |digits| 10_i64.pow(6 - digits));
        let micros = (self.micros + unit / 2) / unit * unit;
        let sign = if self.zone_sign < 0 { -1 } else { 1 };
        check_timestamp(days * DAY + (seconds - sign * zone * 60) * SECOND + micros)
    }
}

/// Fewer characters, or digits, than a pattern has before another number.
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

/// The year with these last digits that is nearest to 2020.
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
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let micros = 762_525_296_789_000;
        for template in ["YYYY-MM-DD HH24:MI:SS.US", "DD Mon YYYY, HH12:MI:SS.MS AM", "YYYYDDD HH24MISSMS"] {
            let text = write(micros, template, false, MemoryLimit::NONE).expect("a template");
            assert_eq!(read(&text, template), Ok(micros), "{template}: {text}");
        }
    }
}
