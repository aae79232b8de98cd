//! Parsing of dates and timestamps: ISO 8601, and the other notations that PostgreSQL accepts. In a date of numbers,
//! `DateStyle` determines their order.

use super::datetime::{check_timestamp, days_from_parts, now};
use super::number::trim;
use super::range::DAY;
use super::styles::{DateOrder, Styles};
use super::zone::{Zone, number};
use crate::{SqlError, state};
use hotrow_storage::Type;
use std::str::FromStr;

const SECOND: i64 = 1_000_000;

/// Parses a date and returns its days since 2000-01-01. A time behind the date is parsed and ignored, as in PostgreSQL.
pub(super) fn parse_date(text: &str, styles: Styles) -> Result<i32, SqlError> {
    match parse(text, Type::Date, styles)? {
        Moment::Infinite(sign) => Ok(if sign < 0 { i32::MIN } else { i32::MAX }),
        Moment::At { days, .. } => Ok(days),
    }
}

/// Parses a timestamp and returns its microseconds since 2000-01-01 00:00. For `timestamp`, a time zone is parsed and
/// ignored. For `timestamp with time zone`, the default zone is the session's, and the result is in UTC.
pub(super) fn parse_timestamp(ty: Type, text: &str, styles: Styles) -> Result<i64, SqlError> {
    let (days, time, zone) = match parse(text, ty, styles)? {
        Moment::Infinite(sign) => return Ok(if sign < 0 { i64::MIN } else { i64::MAX }),
        Moment::At { days, time, zone } => (days, time, zone),
    };
    let local = i64::from(days) * DAY + time;
    let micros = match zone {
        _ if !matches!(ty, Type::TimestampTz(_)) => local,
        Some(zone) => local - zone.offset_seconds(local).ok_or_else(|| out_of_range(text))? * SECOND,
        None => styles.zone.to_utc(local),
    };
    check_timestamp(micros).map_err(|error| SqlError::new(error.state, format!("timestamp out of range: \"{text}\"")))
}

/// Parses a time of day and returns its microseconds since midnight. A date before it and a zone behind it are parsed
/// and ignored.
pub(super) fn parse_time(text: &str, styles: Styles) -> Result<i64, SqlError> {
    let lower = trim(text).to_ascii_lowercase();
    let mut fields = Fields { order: styles.order, ..Fields::default() };
    let digits = lower.bytes().all(|byte| byte.is_ascii_digit());
    let clock = match lower.len() {
        4 if digits => format!("{}:{}", &lower[..2], &lower[2..]),
        6 if digits => format!("{}:{}:{}", &lower[..2], &lower[2..4], &lower[4..]),
        _ => lower,
    };
    match clock.as_str() {
        "now" => return Ok(styles.zone.to_local(moment_of(styles)).rem_euclid(DAY)),
        "allballs" => return Ok(0),
        _ => {}
    }
    for token in clock.split([' ', '\t', '\n', ',']).filter(|token| !token.is_empty()) {
        fields.take(token).ok_or_else(|| syntax(Type::TIME, text))?;
    }
    if fields.time.is_none() {
        return Err(syntax(Type::TIME, text));
    }
    fields.micros().ok_or_else(|| out_of_range(text))
}

enum Moment {
    Infinite(i32),
    At { days: i32, time: i64, zone: Option<Zone> },
}

fn syntax(ty: Type, text: &str) -> SqlError {
    let name = match ty {
        Type::Timestamp(_) => "timestamp".to_owned(),
        Type::Time(_) => "time".to_owned(),
        Type::TimestampTz(_) => Type::TIMESTAMP_TZ.to_string(),
        _ => ty.to_string(),
    };
    SqlError::new(state::INVALID_DATETIME_FORMAT, format!("invalid input syntax for type {name}: \"{text}\""))
}

fn out_of_range(text: &str) -> SqlError {
    let message = format!("date/time field value out of range: \"{text}\"");
    SqlError::new(state::DATETIME_FIELD_OVERFLOW, message)
}

fn parse(text: &str, ty: Type, styles: Styles) -> Result<Moment, SqlError> {
    let lower = trim(text).to_ascii_lowercase();
    if let Some(moment) = parse_word(&lower, styles) {
        return Ok(moment);
    }
    let mut fields = Fields { order: styles.order, ..Fields::default() };
    for token in lower.split([' ', '\t', '\n', ',']).filter(|token| !token.is_empty()) {
        fields.take(token).ok_or_else(|| syntax(ty, text))?;
    }
    let days = fields.days().ok_or_else(|| syntax(ty, text))?.ok_or_else(|| out_of_range(text))?;
    let time = fields.micros().ok_or_else(|| out_of_range(text))?;
    Ok(Moment::At { days, time, zone: fields.zone })
}

/// Returns the moment for which the word `now` stands, in microseconds since 2000-01-01 UTC.
fn moment_of(styles: Styles) -> i64 {
    styles.moment.unwrap_or_else(now)
}

/// Returns the moment for which a word stands.
fn parse_word(word: &str, styles: Styles) -> Option<Moment> {
    let now = || {
        let moment = moment_of(styles);
        let offset = styles.zone.offset(moment);
        (moment + offset * SECOND, Some(Zone::Offset(offset)))
    };
    let day = |shift: i64| (now().0.div_euclid(DAY) + shift) as i32;
    let midnight = |days| Some(Moment::At { days, time: 0, zone: None });
    match word {
        "infinity" | "+infinity" => Some(Moment::Infinite(1)),
        "-infinity" => Some(Moment::Infinite(-1)),
        "epoch" => Some(Moment::At { days: -10_957, time: 0, zone: Some(Zone::Offset(0)) }),
        "now" => {
            let (local, zone) = now();
            Some(Moment::At { days: local.div_euclid(DAY) as i32, time: local.rem_euclid(DAY), zone })
        }
        "today" => midnight(day(0)),
        "yesterday" => midnight(day(-1)),
        "tomorrow" => midnight(day(1)),
        _ => None,
    }
}

/// The fields of a date or time that have been read so far.
#[derive(Default)]
struct Fields {
    order: DateOrder,
    year: Option<i32>,
    /// Whether the year has one or two digits.
    is_short: bool,
    month: Option<i32>,
    is_month_named: bool,
    day: Option<i32>,
    day_of_year: Option<i32>,
    before_christ: bool,
    time: Option<Clock>,
    afternoon: Option<bool>,
    zone: Option<Zone>,
}

#[derive(Clone, Copy)]
struct Clock {
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
}

impl Fields {
    fn take(&mut self, token: &str) -> Option<()> {
        let first = token.as_bytes()[0];
        if token.split_once(':').is_some_and(|(hour, _)| number(hour).is_some()) {
            return self.take_time(token);
        }
        if first.is_ascii_digit() && !self.has_date() {
            return self.take_date(token);
        }
        match token {
            "bc" => self.before_christ = true,
            "ad" => {}
            "am" | "pm" if self.time.is_some() && self.afternoon.is_none() => self.afternoon = Some(token == "pm"),
            _ if self.take_word_date(token) => {}
            _ if (self.time.is_some() || self.has_date()) && self.zone.is_none() => {
                self.zone = Some(Zone::parse(token)?)
            }
            _ => return None,
        }
        Some(())
    }

    fn has_date(&self) -> bool {
        (self.year.is_some() && self.month.is_some() && self.day.is_some()) || self.day_of_year.is_some()
    }

    /// Takes the name of a month or weekday. Returns whether the token was one.
    fn take_word_date(&mut self, token: &str) -> bool {
        if !self.is_month_named
            && let Some(month) = month_number(token)
        {
            // The number that was taken for the month was the day.
            if let Some(day) = self.month.filter(|day| self.day.is_none() && (1..=31).contains(day)) {
                self.day = Some(day);
            }
            (self.month, self.is_month_named) = (Some(month), true);
            return true;
        }
        const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
        token.len() >= 3 && DAYS.iter().any(|day| day.starts_with(token))
    }

    /// Takes a date: `2026-01-02`, `1/8/1999`, `8-jan-1999`, `20260102`, or one number of a date that goes on. A time
    /// may follow behind `t`.
    fn take_date(&mut self, token: &str) -> Option<()> {
        let (date, time) = match token.find('t') {
            Some(at)
                if token.as_bytes()[at - 1].is_ascii_digit() && token[at..].contains(|c: char| c.is_ascii_digit()) =>
            {
                (&token[..at], Some(&token[at + 1..]))
            }
            _ => (token, None),
        };
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let is_empty = self.year.or(self.month).or(self.day).is_none();
        if matches!(date.len(), 6 | 8) && is_number(date) && is_empty {
            let (year, rest) = date.split_at(date.len() - 4);
            (self.year, self.is_short) = (year.parse().ok(), year.len() == 2);
            (self.month, self.day) = (rest[..2].parse().ok(), rest[2..].parse().ok());
        } else {
            // The name of a month decides what the numbers are, wherever it stands.
            let (numbers, words): (Vec<_>, Vec<_>) = date.split(['-', '/', '.']).partition(|part| is_number(part));
            if !words.into_iter().all(|word| self.take_word_date(word)) {
                return None;
            }
            numbers.into_iter().try_for_each(|number| self.take_number(number))?;
        }
        time.map_or(Some(()), |time| self.take_time(time))
    }

    /// Takes a time: `03:04`, `03:04:05.6`, with am, pm or a zone behind it.
    fn take_time(&mut self, token: &str) -> Option<()> {
        if self.time.is_some() {
            return None;
        }
        let end = token.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(token.len());
        let (clock, suffix) = token.split_at(end);
        let mut parts = clock.split(':');
        let hour = number(parts.next()?)?;
        let minute = number(parts.next()?)?;
        let (second, micros) = match parts.next() {
            None => (0, 0),
            Some(seconds) => {
                let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
                (number(whole)?, fraction_micros(fraction)?)
            }
        };
        if parts.next().is_some() {
            return None;
        }
        self.time = Some(Clock { hour, minute, second, micros });
        match suffix {
            "" => {}
            "am" | "pm" => self.afternoon = Some(suffix == "pm"),
            zone => self.zone = Some(Zone::parse(zone)?),
        }
        Some(())
    }

    /// Takes a number of the date. A number of three digits or more is a year, or the day of the year if it has three
    /// digits and follows a year. The meaning of a shorter number depends on the style's order and on the fields that
    /// were read before.
    fn take_number(&mut self, digits: &str) -> Option<()> {
        let value: i32 = digits.parse().ok()?;
        let is_long = digits.len() >= 3;
        let starts_with_year = is_long || self.order == DateOrder::Ymd;
        if digits.len() == 3
            && self.month.is_none()
            && self.day.is_none()
            && self.year.is_some()
            && (1..=366).contains(&value)
        {
            self.day_of_year = Some(value);
            return Some(());
        }
        match (self.year.is_some(), self.month.is_some(), self.day.is_some()) {
            (false, false, false) if starts_with_year => self.take_year(value, digits),
            (false, false, false) if self.order == DateOrder::Dmy => self.day = Some(value),
            (false, false, false) | (true, false, false) | (false, false, true) => self.month = Some(value),
            (false, true, false) if self.is_month_named && starts_with_year => self.take_year(value, digits),
            (true, true, false) if self.is_month_named && is_long && self.is_short => {
                // The first number was the day.
                self.day = self.year;
                self.take_year(value, digits);
            }
            (false, true, false) | (true, true, false) => self.day = Some(value),
            (false, true, true) => self.take_year(value, digits),
            (true, false, true) | (true, true, true) => return None,
        }
        Some(())
    }

    fn take_year(&mut self, year: i32, digits: &str) {
        (self.year, self.is_short) = (Some(year), digits.len() <= 2);
    }

    /// Returns the date. The outer `None` says that a part is missing, and the inner one that the calendar has no such
    /// date.
    fn days(&self) -> Option<Option<i32>> {
        let year = self.year?;
        let year = match (self.before_christ, year) {
            (true, 1..) => 1 - year,
            (false, _) if self.is_short => full_year(year),
            (false, 1..) => year,
            _ => return Some(None),
        };
        if let Some(day) = self.day_of_year {
            return Some(days_from_parts(year, 1, 1).map(|first| first + day - 1));
        }
        Some(days_from_parts(year, self.month?, self.day?))
    }

    /// Returns the microseconds since midnight, zero without a time. 24:00:00 and leap seconds are accepted. Returns
    /// `None` if there is no such time.
    fn micros(&self) -> Option<i64> {
        let Some(Clock { mut hour, minute, second, micros }) = self.time else { return Some(0) };
        if let Some(afternoon) = self.afternoon {
            if !(1..=12).contains(&hour) {
                return None;
            }
            hour = hour % 12 + if afternoon { 12 } else { 0 };
        }
        let total = ((hour * 60 + minute) * 60 + second) * SECOND + micros;
        (minute < 60 && second <= 60 && total <= DAY).then_some(total)
    }
}

fn month_number(word: &str) -> Option<i32> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let position = MONTHS.iter().position(|month| word.len() >= 3 && month.starts_with(word))?;
    Some(position as i32 + 1)
}

/// Returns the year for which a number of two digits stands.
fn full_year(year: i32) -> i32 {
    if year < 70 { year + 2000 } else { year + 1900 }
}

/// Converts the digits behind the point of a second to microseconds, rounded.
fn fraction_micros(digits: &str) -> Option<i64> {
    if digits.is_empty() {
        return Some(0);
    }
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let kept = &digits[..digits.len().min(6)];
    let micros = i64::from_str(kept).ok()? * 10_i64.pow(6 - kept.len() as u32);
    let round_up = digits.as_bytes().get(6).is_some_and(|&digit| digit >= b'5');
    Some(micros + i64::from(round_up))
}
