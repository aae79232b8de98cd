//! Time zones as they are written behind a time: a number, an abbreviation or a name.

use jiff::Timestamp;
use jiff::tz::{AmbiguousOffset, TimeZone};
use std::str::FromStr;

pub(super) const SECOND: i64 = 1_000_000;

/// The number of seconds from 1970-01-01 to 2000-01-01.
const UNIX_TO_EPOCH_SECONDS: i64 = 946_684_800;

/// A time zone, as it was written.
pub(super) enum Zone {
    /// A zone written as a number: the seconds east of UTC.
    Offset(i64),
    /// A zone written as an abbreviation: the seconds east of UTC.
    Abbreviated(i64),
    Named(TimeZone),
}

/// The abbreviations that PostgreSQL knows without a configuration, with the minutes east of UTC, ordered by name. They
/// are looked up before the names of zones: `cet` is an hour east of UTC in summer, too.
#[rustfmt::skip]
const ABBREVIATIONS: &[(&str, i64)] = &[
    ("acdt", 630), ("acsst", 630), ("acst", 570), ("act", -300), ("acwst", 525), ("adt", -180), ("aedt", 660),
    ("aesst", 660), ("aest", 600), ("aft", 270), ("akdt", -480), ("akst", -540), ("almst", 420), ("almt", 360),
    ("amt", -240), ("ast", -240), ("awsst", 540), ("awst", 480), ("azost", 0), ("azot", -60), ("bdst", 120),
    ("bdt", 360), ("bnt", 480), ("bort", 480), ("bot", -240), ("bra", -180), ("brst", -120), ("brt", -180),
    ("bst", 60), ("btt", 360), ("cadt", 630), ("cast", 570), ("cct", 480), ("cdt", -300), ("cest", 120), ("cet", 60),
    ("cetdst", 120), ("chadt", 825), ("chast", 765), ("chut", 600), ("clst", -180), ("cot", -300), ("cst", -360),
    ("cxt", 420), ("ddut", 600), ("eat", 180), ("edt", -240), ("eest", 180), ("eet", 120), ("eetdst", 180),
    ("egst", 0), ("egt", -60), ("est", -300), ("fet", 180), ("fjst", 780), ("fjt", 720), ("fnst", -60),
    ("fnt", -120), ("galt", -360), ("gamt", -540), ("gft", -180), ("gilt", 720), ("gmt", 0), ("hkt", 480),
    ("hst", -600), ("ict", 420), ("idt", 180), ("irt", 210), ("ist", 120), ("jayt", 540), ("jst", 540), ("kdt", 600),
    ("kgst", 360), ("kst", 540), ("lhst", 630), ("ligt", 600), ("mart", -570), ("mdt", -360), ("mest", 120),
    ("mesz", 120), ("met", 60), ("metdst", 120), ("mez", 60), ("mht", 720), ("mmt", 390), ("mpt", 600), ("msd", 240),
    ("mst", -420), ("must", 300), ("mut", 240), ("mvt", 300), ("myt", 480), ("ndt", -150), ("nft", -210),
    ("npt", 345), ("nst", -210), ("nzdt", 780), ("nzst", 720), ("nzt", 720), ("pdt", -420), ("pet", -300),
    ("pgt", 600), ("pht", 480), ("pkst", 360), ("pkt", 300), ("pmdt", -120), ("pmst", -180), ("pont", 660),
    ("pst", -480), ("pwt", 540), ("pyst", -180), ("ret", 240), ("sadt", 630), ("sast", 120), ("sct", 240),
    ("taht", -600), ("tft", 300), ("tjt", 300), ("tot", 780), ("trut", 600), ("tvt", 720), ("uct", 0),
    ("ulast", 540), ("ut", 0), ("utc", 0), ("uyst", -120), ("uyt", -180), ("uzst", 360), ("uzt", 300), ("vut", 660),
    ("wadt", 480), ("wakt", 720), ("wast", 420), ("wat", 60), ("wdt", 540), ("wet", 0), ("wetdst", 60), ("wft", 720),
    ("wgst", -120), ("wgt", -180), ("xjt", 360), ("yapt", 600), ("yekst", 360), ("z", 0), ("zulu", 0),
];

impl Zone {
    /// Parses a zone in lower case: `z`, `utc`, `+02`, `-05:30`, `+0530`, `est`, `europe/berlin`.
    pub(super) fn parse(word: &str) -> Option<Self> {
        if let Ok(at) = ABBREVIATIONS.binary_search_by_key(&word, |(name, _)| name) {
            return Some(Zone::Abbreviated(ABBREVIATIONS[at].1 * 60));
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
        let fits = hours < 16 && minutes < 60 && seconds < 60;
        fits.then(|| Zone::Offset(sign * ((hours * 60 + minutes) * 60 + seconds)))
    }

    /// Returns the zone's offset at a local time, in seconds east of UTC. As in PostgreSQL, a local time that the
    /// clocks skipped has the offset before the change, and a local time that occurs twice has the offset after it.
    pub(super) fn offset_seconds(&self, micros: i64) -> Option<i64> {
        match self {
            Zone::Offset(seconds) | Zone::Abbreviated(seconds) => Some(*seconds),
            Zone::Named(zone) => civil_offset_seconds(zone, micros),
        }
    }
}

/// Returns the moment this many microseconds after 2000-01-01 UTC, or `None` if it is out of range.
pub(super) fn utc_timestamp(micros: i64) -> Option<Timestamp> {
    Timestamp::from_microsecond(micros.checked_add(UNIX_TO_EPOCH_SECONDS * SECOND)?).ok()
}

/// Returns the offset of a zone at a moment in UTC, in seconds east of UTC, or `None` if the moment is out of range.
pub(super) fn utc_offset_seconds(zone: &TimeZone, micros: i64) -> Option<i64> {
    Some(i64::from(zone.to_offset(utc_timestamp(micros)?).seconds()))
}

/// Returns the offset of a zone at a local time, in seconds east of UTC, as [`Zone::offset_seconds`] does.
pub(super) fn civil_offset_seconds(zone: &TimeZone, micros: i64) -> Option<i64> {
    let civil = TimeZone::UTC.to_datetime(utc_timestamp(micros)?);
    let offset = match zone.to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        AmbiguousOffset::Gap { before, .. } => before,
        AmbiguousOffset::Fold { after, .. } => after,
    };
    Some(i64::from(offset.seconds()))
}

/// Parses an unsigned number of one to six digits.
pub(super) fn number(digits: &str) -> Option<i64> {
    let plain = (1..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { i64::from_str(digits).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abbreviations_are_found() {
        assert!(ABBREVIATIONS.is_sorted_by_key(|(name, _)| name), "they are searched by halves");
        for (zone, minutes) in [("est", -300), ("cet", 60), ("z", 0), ("zulu", 0)] {
            assert!(matches!(Zone::parse(zone), Some(Zone::Abbreviated(seconds)) if seconds == minutes * 60), "{zone}");
        }
        assert!(Zone::parse("nope").is_none());
    }
}
