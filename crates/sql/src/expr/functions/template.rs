//! Formatting of dates and timestamps by a template, such as `YYYY-MM-DD HH24:MI:SS`.

use super::moment::{JULIAN_EPOCH, Moment, people_year};
use crate::memory::check_size;
use crate::types::SessionZone;
use crate::{MemoryLimit, SqlError};
use std::fmt::Write;

/// The patterns of templates. A longer pattern comes before those that it begins with.
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

/// The patterns that are searched after `PATTERNS`.
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

pub(super) const MONTHS: [&str; 12] = [
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

/// The months in Roman numerals.
pub(super) const ROMAN: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// The names of the days, from Monday.
pub(super) const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// The year, with this number of its last digits.
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

impl Pattern {
    /// Whether the pattern is the name of a month or a day.
    fn is_name(self) -> bool {
        matches!(self, Pattern::MonthName | Pattern::MonthShort | Pattern::DayName | Pattern::DayShort)
    }
}

/// A part of a template: a pattern, or literal text.
pub(super) enum Piece<'t> {
    Pattern {
        pattern: Pattern,
        /// The pattern as it is written in the template: its case determines the case of the output.
        written: &'t str,
        /// Whether the modifier `FM` is given: the output is not padded.
        plain: bool,
        /// The suffix `TH` or `th`, if it follows the pattern.
        ordinal: Option<&'t str>,
    },
    Text(&'t str),
    /// `FX`: the input must have exactly the template's format.
    Fixed,
}

pub(super) fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(first) = rest.chars().next() {
        if let Some(inside) = rest.strip_prefix('"') {
            rest = quoted(inside, &mut pieces);
            continue;
        }
        if rest.starts_with("\\\"") {
            pieces.push(Piece::Text("\""));
            rest = &rest[2..];
            continue;
        }
        let upper =
            |text: &str, name: &str| text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        if upper(rest, "FX") {
            pieces.push(Piece::Fixed);
            rest = &rest[2..];
            continue;
        }
        // Names in the language of the locale are not padded; there is one language.
        let (plain, local) = (upper(rest, "FM"), upper(rest, "TM"));
        let after = if plain || local { &rest[2..] } else { rest };
        let mut known = PATTERNS.iter().chain(&MORE_PATTERNS);
        match known.find(|(name, _)| upper(after, name)) {
            Some((name, pattern)) => {
                let (written, behind) = after.split_at(name.len());
                let ordinal = behind.get(..2).filter(|suffix| suffix.eq_ignore_ascii_case("th"));
                let plain = plain || local && pattern.is_name();
                pieces.push(Piece::Pattern { pattern: *pattern, written, plain, ordinal });
                // `SP` would spell a number out; PostgreSQL does not, either.
                let suffix = ordinal.or_else(|| behind.get(..2).filter(|suffix| suffix.eq_ignore_ascii_case("sp")));
                rest = &behind[suffix.map_or(0, str::len)..];
            }
            None if plain || local => rest = after,
            None => {
                let (text, after) = rest.split_at(first.len_utf8());
                pieces.push(Piece::Text(text));
                rest = after;
            }
        }
    }
    pieces
}

/// Adds the text up to the next double quote to `pieces`, without the backslashes before characters. Returns the text
/// behind the quote.
fn quoted<'t>(mut text: &'t str, pieces: &mut Vec<Piece<'t>>) -> &'t str {
    while let Some(at) = text.find(['"', '\\']) {
        let (before, from) = text.split_at(at);
        pieces.push(Piece::Text(before));
        if let Some(behind) = from.strip_prefix('"') {
            return behind;
        }
        let escaped = from[1..].chars().next().map_or(0, char::len_utf8);
        pieces.push(Piece::Text(if escaped == 0 { from } else { &from[1..1 + escaped] }));
        text = &from[1 + escaped..];
    }
    pieces.push(Piece::Text(text));
    ""
}

/// The time zone of a moment that is formatted. A moment without a time zone has an empty name here.
#[derive(Debug, Default)]
pub(super) struct ShownZone {
    name: String,
    /// The offset in seconds east of UTC.
    offset: i64,
}

impl ShownZone {
    /// Returns the abbreviation and the offset of a session's time zone at a moment in UTC.
    pub(super) fn of(zone: SessionZone, micros: i64) -> Self {
        Self { name: zone.abbreviation(micros), offset: zone.offset(micros) }
    }
}

/// Formats a local time, in microseconds since 2000-01-01, by a template. An infinity becomes an empty text. `zone` is
/// the time zone of the local time.
pub(super) fn write(micros: i64, template: &str, zone: &ShownZone, memory: MemoryLimit) -> Result<String, SqlError> {
    check_size(template.len().saturating_mul(4), memory)?;
    let mut out = String::new();
    let Some(moment) = Moment::of(micros) else { return Ok(out) };
    for piece in pieces(template) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Fixed => {}
            Piece::Pattern { pattern, written, plain, ordinal } => {
                let start = out.len();
                write_pattern(&moment, pattern, written, plain, zone, &mut out);
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

fn write_pattern(moment: &Moment, pattern: Pattern, written: &str, plain: bool, zone: &ShownZone, out: &mut String) {
    const SECOND: i64 = 1_000_000;
    let hour = moment.time / (3600 * SECOND);
    let fraction = moment.time % SECOND;
    let year = moment.people_year().abs();
    // The number that is shown, and the number of its digits.
    let (number, width) = match pattern {
        Pattern::Year(digits) => (last_digits(year, digits), digits),
        Pattern::YearWithComma => {
            write!(out, "{},{:03}", year / 1000, year % 1000).expect("a string grows");
            return;
        }
        Pattern::IsoYear(digits) => (last_digits(people_year(moment.iso_week().0).abs(), digits), digits),
        Pattern::Century => match (year - 1) / 100 + 1 {
            century if moment.people_year() < 0 => (-century, 3),
            century => (century, 2),
        },
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
        Pattern::ZoneName if written == "tz" => return out.push_str(&zone.name.to_ascii_lowercase()),
        Pattern::ZoneName => return out.push_str(&zone.name),
        Pattern::ZoneOffset | Pattern::ZoneHour => {
            let minutes = zone.offset / 60;
            let sign = if minutes < 0 { '-' } else { '+' };
            write!(out, "{sign}{:02}", minutes.abs() / 60).expect("a string grows");
            if pattern == Pattern::ZoneOffset && minutes % 60 != 0 {
                write!(out, ":{:02}", minutes.abs() % 60).expect("a string grows");
            }
            return;
        }
        Pattern::ZoneMinute => (zone.offset.abs() / 60 % 60, 2),
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

/// Appends a name, in the case that its pattern is written in, and padded with blanks unless `plain` is set.
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
