//! Formatting of intervals, in each of the styles of `IntervalStyle`.

use super::IntervalStyle;
use super::datetime::write_time;
use bytes::{BufMut, BytesMut};
use hotrow_storage::Interval;
use std::io::Write;

/// Appends an interval as text in this style.
pub(super) fn write(interval: Interval, style: IntervalStyle, out: &mut BytesMut) {
    match style {
        IntervalStyle::Postgres => write_postgres(interval, out),
        IntervalStyle::PostgresVerbose => write_verbose(&Parts::of(interval), out),
        IntervalStyle::SqlStandard => write_sql(Parts::of(interval), out),
        IntervalStyle::Iso8601 => write_iso(&Parts::of(interval), out),
    }
}

/// The parts of an interval. The years and months have one sign, and so have the parts of the time.
struct Parts {
    years: i64,
    months: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    seconds: i64,
    micros: i64,
}

impl Parts {
    fn of(interval: Interval) -> Self {
        const SECOND: i64 = 1_000_000;
        let Interval { months, days, micros } = interval;
        Self {
            years: i64::from(months / 12),
            months: i64::from(months % 12),
            days: days.into(),
            hours: micros / (3600 * SECOND),
            minutes: micros / (60 * SECOND) % 60,
            seconds: micros / SECOND % 60,
            micros: micros % SECOND,
        }
    }

    fn all(&self) -> [i64; 7] {
        [self.years, self.months, self.days, self.hours, self.minutes, self.seconds, self.micros]
    }
}

/// Writes seconds with at least `width` digits before the point and only the digits that are needed behind it. The sign
/// of the parts does not count.
fn write_seconds(parts: &Parts, width: usize, out: &mut BytesMut) {
    let (seconds, micros) = (parts.seconds.abs(), parts.micros.abs());
    // Writing into memory does not fail.
    let _ = write!(out.writer(), "{seconds:0width$}");
    if micros > 0 {
        let fraction = format!("{micros:06}");
        let _ = write!(out.writer(), ".{}", fraction.trim_end_matches('0'));
    }
}

/// Writes the style `sql_standard`: `-1-2`, `3 4:05:06.7`, or `+1-2 -3 +4:05:06.7` if the standard has no form for the
/// interval.
fn write_sql(mut parts: Parts, out: &mut BytesMut) {
    let all = parts.all();
    let (has_negative, has_positive) = (all.iter().any(|part| *part < 0), all.iter().any(|part| *part > 0));
    let (has_months, has_days) = (parts.years != 0 || parts.months != 0, parts.days != 0);
    let has_time = all[3..].iter().any(|part| *part != 0);
    let sign = |negative: bool| if negative { '-' } else { '+' };
    if !has_negative && !has_positive {
        return out.put_u8(b'0');
    }
    if (has_negative && has_positive) || (has_months && (has_days || has_time)) {
        let of_months = sign(parts.years < 0 || parts.months < 0);
        let of_time = sign(all[3..].iter().any(|part| *part < 0));
        let (years, months, days) = (parts.years.abs(), parts.months.abs(), parts.days.abs());
        let (hours, minutes) = (parts.hours.abs(), parts.minutes.abs());
        let of_days = sign(parts.days < 0);
        let _ = write!(out.writer(), "{of_months}{years}-{months} {of_days}{days} {of_time}{hours}:{minutes:02}:");
        return write_seconds(&parts, 2, out);
    }
    if has_negative {
        out.put_u8(b'-');
        let part = |part: i64| part.abs();
        (parts.years, parts.months, parts.days) = (part(parts.years), part(parts.months), part(parts.days));
        (parts.hours, parts.minutes) = (part(parts.hours), part(parts.minutes));
    }
    if has_months {
        let _ = write!(out.writer(), "{}-{}", parts.years, parts.months);
        return;
    }
    if has_days {
        let _ = write!(out.writer(), "{} ", parts.days);
    }
    let _ = write!(out.writer(), "{}:{:02}:", parts.hours, parts.minutes);
    write_seconds(&parts, 2, out);
}

/// Writes the style `iso_8601`: `P1Y2M-3DT4H5M6.7S`.
fn write_iso(parts: &Parts, out: &mut BytesMut) {
    let all = parts.all();
    if all.iter().all(|part| *part == 0) {
        return out.put_slice(b"PT0S");
    }
    out.put_u8(b'P');
    for (at, (part, unit)) in all.iter().zip(["Y", "M", "D", "H", "M"]).enumerate() {
        if at == 3 && all[3..].iter().any(|part| *part != 0) {
            out.put_u8(b'T');
        }
        if *part != 0 {
            let _ = write!(out.writer(), "{part}{unit}");
        }
    }
    if parts.seconds != 0 || parts.micros != 0 {
        if parts.seconds < 0 || parts.micros < 0 {
            out.put_u8(b'-');
        }
        write_seconds(parts, 1, out);
        out.put_u8(b'S');
    }
}

/// Writes the style `postgres_verbose`: `@ 1 year 2 mons -3 days 4 hours 5 mins 6.7 secs`, with `ago` behind it if the
/// first part is negative.
fn write_verbose(parts: &Parts, out: &mut BytesMut) {
    out.put_u8(b'@');
    let all = parts.all();
    let first = all.iter().find(|part| **part != 0).copied().unwrap_or(0);
    if first == 0 {
        return out.put_slice(b" 0");
    }
    let turned = if first < 0 { -1 } else { 1 };
    for (part, unit) in all.iter().zip(["year", "mon", "day", "hour", "min"]) {
        let part = part * turned;
        if part != 0 {
            let plural = if part == 1 { "" } else { "s" };
            let _ = write!(out.writer(), " {part} {unit}{plural}");
        }
    }
    if parts.seconds != 0 || parts.micros != 0 {
        let is_negative = (parts.seconds + parts.micros) * turned < 0;
        out.put_slice(if is_negative { b" -" } else { b" " });
        write_seconds(parts, 1, out);
        out.put_slice(if parts.seconds.abs() == 1 && parts.micros == 0 { b" sec" } else { b" secs" });
    }
    if first < 0 {
        out.put_slice(b" ago");
    }
}

/// Writes the style `postgres`: `1 year 2 mons -3 days +04:05:06.7`.
fn write_postgres(interval: Interval, out: &mut BytesMut) {
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
        write_time(micros.unsigned_abs(), out);
    }
}
