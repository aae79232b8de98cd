//! Dates and timestamps as people write them: ISO 8601, and what else PostgreSQL reads with `DateStyle` ISO, MDY.

use super::datetime::{DAY, check_timestamp, days_from_parts};
use super::number::trim;
use crate::{SqlError, state};
use hotrow_storage::Type;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::str::FromStr;

const SECOND: i64 = 1_000_000;

/// Seconds from 1970-01-01 to 2000-01-01.
const UNIX_TO_EPOCH_SECONDS: i64 = 946_684_800;

/// Reads a date. A time behind it is read and dropped, as PostgreSQL does.
pub(super) fn parse_date(text: &str) -> Result<i32, SqlError> {
    match parse(text, Type::Date)? {
        Moment::Infinite(sign) => Ok(if sign < 0 { i32::MIN } else { i32::MAX }),
        Moment::At { days, .. } => Ok(days),
    }
}

/// Reads a timestamp. For `timestamp` a zone is read and dropped; for `timestamp with time zone` no zone means UTC.
pub(super) fn parse_timestamp(ty: Type, text: &str) -> Result<i64, SqlError> {
    let (days, time, zone) = match parse(text, ty)? {
        Moment::Infinite(sign) => return Ok(if sign < 0 { i64::MIN } else { i64::MAX }),
        Moment::At { days, time, zone } => (days, time, zone),
    };
    let mut micros = i64::from(days) * DAY + time;
    if let Some(zone) = zone
        && ty == Type::TimestampTz
    {
        micros -= zone.offset_seconds(micros).ok_or_else(|| out_of_range(text))? * SECOND;
    }
    check_timestamp(micros).map_err(|error| SqlError::new(error.state, format!("timestamp out of range: \"{text}\"")))
}

/// Reads a time of day. A date before it and a zone behind it are read and dropped.
pub(super) fn parse_time(text: &str) -> Result<i64, SqlError> {
    let lower = trim(text).to_ascii_lowercase();
    let mut fields = Fields::default();
    let digits = lower.bytes().all(|byte| byte.is_ascii_digit());
    let clock = match lower.len() {
        4 if digits => format!("{}:{}", &lower[..2], &lower[2..]),
        6 if digits => format!("{}:{}:{}", &lower[..2], &lower[2..4], &lower[4..]),
        _ => lower,
    };
    match clock.as_str() {
        "now" => return Ok((Timestamp::now().as_microsecond() - UNIX_TO_EPOCH_SECONDS * SECOND).rem_euclid(DAY)),
        "allballs" => return Ok(0),
        _ => {}
    }
    for token in clock.split([' ', '\t', '\n', ',']).filter(|token| !token.is_empty()) {
        fields.take(token).ok_or_else(|| syntax(Type::Time, text))?;
    }
    if fields.time.is_none() {
        return Err(syntax(Type::Time, text));
    }
    fields.micros().ok_or_else(|| out_of_range(text))
}

enum Moment {
    Infinite(i32),
    At { days: i32, time: i64, zone: Option<Zone> },
}

enum Zone {
    Offset(i64),
    Named(TimeZone),
}

impl Zone {
    /// Seconds east of UTC at a local time.
    fn offset_seconds(&self, micros: i64) -> Option<i64> {
        match self {
            Zone::Offset(seconds) => Some(*seconds),
            Zone::Named(zone) => {
                let unix = micros.checked_add(UNIX_TO_EPOCH_SECONDS * SECOND)?;
                let local = Timestamp::from_microsecond(unix).ok()?;
                let civil = TimeZone::UTC.to_datetime(local);
                Some(i64::from(zone.to_ambiguous_zoned(civil).compatible().ok()?.offset().seconds()))
            }
        }
    }
}

/// Seconds east of UTC of a zone at a moment, which is in local time if `local` is set; `None` if there is no such zone. As PostgreSQL's zones by
/// number are POSIX's, `+2` is west of UTC.
pub fn zone_offset_seconds(name: &str, micros: i64, local: bool) -> Option<i64> {
    let word = trim(name).to_ascii_lowercase();
    match parse_zone(&word)? {
        Zone::Offset(seconds) => Some(-seconds),
        zone if local => zone.offset_seconds(micros),
        Zone::Named(zone) => {
            let unix = micros.checked_add(UNIX_TO_EPOCH_SECONDS * SECOND)?;
            Some(i64::from(zone.to_offset(Timestamp::from_microsecond(unix).ok()?).seconds()))
        }
    }
}

fn syntax(ty: Type, text: &str) -> SqlError {
    let name = match ty {
        Type::Timestamp => "timestamp".to_owned(),
        Type::Time => "time".to_owned(),
        _ => ty.to_string(),
    };
    SqlError::new(state::INVALID_DATETIME_FORMAT, format!("invalid input syntax for type {name}: \"{text}\""))
}

fn out_of_range(text: &str) -> SqlError {
    let message = format!("date/time field value out of range: \"{text}\"");
    SqlError::new(state::DATETIME_FIELD_OVERFLOW, message)
}

fn parse(text: &str, ty: Type) -> Result<Moment, SqlError> {
    let lower = trim(text).to_ascii_lowercase();
    if let Some(moment) = parse_word(&lower) {
        return Ok(moment);
    }
    let mut fields = Fields::default();
    for token in lower.split([' ', '\t', '\n', ',']).filter(|token| !token.is_empty()) {
        fields.take(token).ok_or_else(|| syntax(ty, text))?;
    }
    let (year, month, day) = fields.calendar().ok_or_else(|| syntax(ty, text))?;
    let days = days_from_parts(year, month, day).ok_or_else(|| out_of_range(text))?;
    let time = fields.micros().ok_or_else(|| out_of_range(text))?;
    Ok(Moment::At { days, time, zone: fields.zone })
}

/// The words that stand for a moment.
fn parse_word(word: &str) -> Option<Moment> {
    let now = || Timestamp::now().as_microsecond() - UNIX_TO_EPOCH_SECONDS * SECOND;
    let day = |shift: i64| (now().div_euclid(DAY) + shift) as i32;
    let midnight = |days| Some(Moment::At { days, time: 0, zone: None });
    match word {
        "infinity" | "+infinity" => Some(Moment::Infinite(1)),
        "-infinity" => Some(Moment::Infinite(-1)),
        "epoch" => midnight(-10_957),
        "now" => Some(Moment::At { days: day(0), time: now().rem_euclid(DAY), zone: None }),
        "today" => midnight(day(0)),
        "yesterday" => midnight(day(-1)),
        "tomorrow" => midnight(day(1)),
        _ => None,
    }
}

/// What the tokens have said so far.
#[derive(Default)]
struct Fields {
    /// Numbers of the date in their order, each with its count of digits.
    numbers: Vec<(i32, usize)>,
    /// The month if it was named, and how many numbers stood before it.
    month: Option<(i32, usize)>,
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
                self.zone = Some(parse_zone(token)?)
            }
            _ => return None,
        }
        Some(())
    }

    fn has_date(&self) -> bool {
        self.numbers.len() + usize::from(self.month.is_some()) >= 3
    }

    /// A month's or weekday's name.
    fn take_word_date(&mut self, token: &str) -> bool {
        if self.month.is_none()
            && let Some(month) = month_number(token)
        {
            self.month = Some((month, self.numbers.len()));
            return true;
        }
        const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
        token.len() >= 3 && DAYS.iter().any(|day| day.starts_with(token))
    }

    /// `2026-01-02`, `1/8/1999`, `8-jan-1999`, `20260102`, or one number of a date that goes on; and a time behind `t`.
    fn take_date(&mut self, token: &str) -> Option<()> {
        let (date, time) = match token.find('t') {
            Some(at)
                if token.as_bytes()[at - 1].is_ascii_digit() && token[at..].contains(|c: char| c.is_ascii_digit()) =>
            {
                (&token[..at], Some(&token[at + 1..]))
            }
            _ => (token, None),
        };
        if matches!(date.len(), 6 | 8) && date.bytes().all(|byte| byte.is_ascii_digit()) && self.numbers.is_empty() {
            let year_len = date.len() - 4;
            for part in [&date[..year_len], &date[year_len..year_len + 2], &date[year_len + 2..]] {
                self.numbers.push((part.parse().ok()?, part.len().max(if year_len == 4 { 4 } else { 2 })));
            }
            if year_len == 2 {
                self.numbers[0].0 = full_year(self.numbers[0].0, 2);
                self.numbers[0].1 = 4;
            }
        } else {
            for part in date.split(['-', '/', '.']) {
                if part.bytes().all(|byte| byte.is_ascii_digit()) {
                    self.numbers.push((part.parse().ok()?, part.len()));
                } else if !self.take_word_date(part) {
                    return None;
                }
            }
        }
        if self.numbers.len() + usize::from(self.month.is_some()) > 3 {
            return None;
        }
        time.map_or(Some(()), |time| self.take_time(time))
    }

    /// `03:04`, `03:04:05.6`, with a zone behind it.
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
            zone => self.zone = Some(parse_zone(zone)?),
        }
        Some(())
    }

    /// Year (0 is 1 BC), month and day, from the order in which they came.
    fn calendar(&self) -> Option<(i32, i32, i32)> {
        let &[first, second, ..] = &self.numbers[..] else { return None };
        let ((year, year_len), month, day) = match (self.month, self.numbers.get(2)) {
            (Some((month, _)), None) if first.1 >= 3 => (first, month, second.0),
            (Some((month, _)), None) => (second, month, first.0),
            (None, Some(third)) if first.1 >= 3 => (first, second.0, third.0),
            (None, Some(&third)) => (third, first.0, second.0),
            _ => return None,
        };
        let year = full_year(year, year_len);
        match (self.before_christ, year) {
            (false, 0) => None,
            (false, year) => Some((year, month, day)),
            (true, year) => Some((1 - year, month, day)),
        }
    }

    /// Microseconds since midnight; 24:00:00 and a leap second are taken.
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

fn full_year(year: i32, digits: usize) -> i32 {
    match year {
        0..70 if digits <= 2 => year + 2000,
        70..100 if digits <= 2 => year + 1900,
        _ => year,
    }
}

/// A number of a few digits, no sign.
fn number(digits: &str) -> Option<i64> {
    let plain = (1..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { i64::from_str(digits).ok() } else { None }
}

/// Digits behind the point of a second, rounded to microseconds.
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

/// `z`, `utc`, `+02`, `-05:30`, `+0530`, `europe/berlin`
fn parse_zone(word: &str) -> Option<Zone> {
    if matches!(word, "z" | "utc" | "gmt" | "zulu" | "ut") {
        return Some(Zone::Offset(0));
    }
    let sign = match word.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return TimeZone::get(word).ok().map(Zone::Named),
    };
    let digits = &word[1..];
    let mut parts = [0; 3];
    if digits.contains(':') {
        for (at, part) in digits.split(':').enumerate() {
            *parts.get_mut(at)? = number(part)?;
        }
    } else {
        let value = number(digits)?;
        parts = match digits.len() {
            1 | 2 => [value, 0, 0],
            3 | 4 => [value / 100, value % 100, 0],
            6 => [value / 10_000, value / 100 % 100, value % 100],
            _ => return None,
        };
    }
    let [hours, minutes, seconds] = parts;
    (hours < 16 && minutes < 60 && seconds < 60).then(|| Zone::Offset(sign * ((hours * 60 + minutes) * 60 + seconds)))
}
