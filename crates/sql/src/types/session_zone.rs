//! The time zone of a session: the value of `TimeZone`, between moments, which are in UTC, and what the clocks of the
//! zone show.

use super::number::trim;
use super::range::TIMESTAMP_RANGE;
use super::zone::{SECOND, Zone, civil_offset_seconds, number, utc_offset_seconds, utc_timestamp};
use hotrow_sync::Mutex;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The time zone of a session.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum SessionZone {
    /// UTC, under any of its names.
    #[default]
    Utc,
    /// A zone whose offset never changes, in seconds east of UTC.
    Fixed(i32),
    /// A zone of the time zone database.
    Named(NamedZone),
}

/// A zone of the time zone database. There is one object for each name that a session has used.
#[derive(Clone, Copy)]
pub struct NamedZone(&'static Known);

struct Known {
    /// The zone's name in the database's own spelling.
    name: String,
    zone: TimeZone,
}

impl PartialEq for NamedZone {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for NamedZone {}

impl Hash for NamedZone {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

/// Writes a name of the zone, which [`SessionZone::parse`] reads as the same zone.
impl fmt::Display for SessionZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionZone::Utc => f.write_str("UTC"),
            zone @ SessionZone::Fixed(_) => f.write_str(&zone.posix_name()),
            SessionZone::Named(NamedZone(known)) => f.write_str(&known.name),
        }
    }
}

impl fmt::Debug for SessionZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The reason why a text is no time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoZone {
    /// There is no zone of this name.
    Unknown,
    /// The offset has more hours than a time zone can have.
    TooFar,
}

/// The names of UTC in lower case, for which the abbreviation is `UTC`.
const UTC: [&str; 8] = ["utc", "etc/utc", "uct", "etc/uct", "zulu", "etc/zulu", "universal", "etc/universal"];

/// The greatest number of hours between a zone and UTC, as in POSIX.
const MOST_HOURS: u64 = 167;

impl SessionZone {
    /// Parses a value of `TimeZone`. Returns the zone, and the value in the form that SHOW displays. A value is a name
    /// of the time zone database, a number of hours east of UTC, or a zone in POSIX's notation without summer time,
    /// such as `<+02>-02` or `GMT-02:00`, in which offsets are positive west of UTC.
    ///
    /// # Errors
    /// The text is no time zone.
    pub fn parse(text: &str) -> Result<(Self, String), NoZone> {
        let word = trim(text);
        let lower = word.to_ascii_lowercase();
        if let Some(hours) = lower.parse::<f64>().ok().filter(|hours| hours.is_finite()) {
            let zone = Self::east((hours * 3600.0) as i64).ok_or(NoZone::TooFar)?;
            return Ok((zone, zone.posix_name()));
        }
        if let Some(seconds) = posix_seconds(word) {
            let zone = Self::east(seconds).ok_or(NoZone::TooFar)?;
            return Ok((zone, word.to_ascii_uppercase()));
        }
        let named = NamedZone::get(word, &lower).ok_or(NoZone::Unknown)?;
        let zone = if UTC.contains(&lower.as_str()) { SessionZone::Utc } else { SessionZone::Named(named) };
        Ok((zone, named.0.name.clone()))
    }

    /// Parses the zone of AT TIME ZONE: an abbreviation, an offset in POSIX's notation, which is positive west of UTC,
    /// or a name of the time zone database. Returns `None` if there is no such zone.
    pub fn named(text: &str) -> Option<Self> {
        let (word, lower) = (trim(text), trim(text).to_ascii_lowercase());
        match Zone::parse(&lower)? {
            Zone::Offset(seconds) => Self::east(-seconds),
            Zone::Abbreviated(seconds) => Self::east(seconds),
            Zone::Named(_) => NamedZone::get(word, &lower).map(SessionZone::Named),
        }
    }

    /// Returns the zone that is always this many seconds east of UTC, or `None` if no zone may be so far from UTC.
    pub fn east(seconds: i64) -> Option<Self> {
        let fits = seconds.unsigned_abs() / 3600 <= MOST_HOURS;
        fits.then_some(if seconds == 0 { SessionZone::Utc } else { SessionZone::Fixed(seconds as i32) })
    }

    /// Returns the name of a zone in POSIX's notation, such as `<+02>-02`. The offset of the zone must never change.
    pub fn posix_name(self) -> String {
        let east = self.offset(0);
        let west = written_offset(-east);
        // Zero is west of itself in PostgreSQL.
        let west = if east == 0 { west.replace('+', "-") } else { west };
        format!("<{}>{west}", written_offset(east))
    }

    /// Returns the zone's offset at a moment, in seconds east of UTC. `micros` is in microseconds since 2000-01-01 UTC.
    /// The offset of an infinity is zero, and so is an offset that would lead to a local time outside
    /// [`TIMESTAMP_RANGE`].
    #[inline]
    pub fn offset(self, micros: i64) -> i64 {
        let offset = match self {
            SessionZone::Utc => return 0,
            SessionZone::Fixed(seconds) => seconds.into(),
            SessionZone::Named(NamedZone(known)) => utc_offset_seconds(&known.zone, micros).unwrap_or(0),
        };
        let local = micros.saturating_add(offset * SECOND);
        if TIMESTAMP_RANGE.contains(&local) { offset } else { 0 }
    }

    /// Returns the zone's local time at a moment, in microseconds since 2000-01-01. An infinity stays one.
    #[inline]
    pub fn to_local(self, micros: i64) -> i64 {
        micros + self.offset(micros) * SECOND
    }

    /// Returns the moment of a local time of the zone. If a change of the zone's clocks skips the local time, the
    /// offset before the change is used; if it repeats the local time, the offset after the change. An infinity stays
    /// one. The result may be out of range.
    #[inline]
    pub fn to_utc(self, local: i64) -> i64 {
        if matches!(local, i64::MIN | i64::MAX) {
            return local;
        }
        let offset = match self {
            SessionZone::Utc => return local,
            SessionZone::Fixed(seconds) => seconds.into(),
            SessionZone::Named(NamedZone(known)) => civil_offset_seconds(&known.zone, local).unwrap_or(0),
        };
        local - offset * SECOND
    }

    /// Whether the zone has summer time at a moment.
    pub(crate) fn is_summer_time(self, micros: i64) -> bool {
        match (self, utc_timestamp(micros)) {
            (SessionZone::Named(NamedZone(known)), Some(moment)) => known.zone.to_offset_info(moment).dst().is_dst(),
            _ => false,
        }
    }

    /// Returns the abbreviation of the zone's time at a moment, such as `CEST`, or the offset such as `+02` if there is
    /// none.
    pub fn abbreviation(self, micros: i64) -> String {
        if let SessionZone::Named(NamedZone(known)) = self
            && let Some(moment) = utc_timestamp(micros)
        {
            return known.zone.to_offset_info(moment).abbreviation().to_owned();
        }
        match self {
            SessionZone::Utc => "UTC".to_owned(),
            zone => written_offset(zone.offset(micros)),
        }
    }
}

/// Returns the zones of the time zone database, with their names.
pub(crate) fn named_zones() -> impl Iterator<Item = (String, SessionZone)> {
    let names = jiff::tz::db().available().map(|name| name.to_string());
    names.filter_map(|name| SessionZone::parse(&name).ok().map(|(zone, _)| (name, zone)))
}

/// Formats an offset as `+02`, `-05:30` or `+00:53:28`.
pub fn written_offset(seconds: i64) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let (hours, rest) = (seconds.abs() / 3600, seconds.abs() % 3600);
    match (rest / 60, rest % 60) {
        (0, 0) => format!("{sign}{hours:02}"),
        (minutes, 0) => format!("{sign}{hours:02}:{minutes:02}"),
        (minutes, seconds) => format!("{sign}{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// Parses a zone in POSIX's notation without summer time. Returns its seconds east of UTC. The notation consists of an
/// optional name, which is letters or any text in angle brackets, and an offset, which is positive west of UTC.
fn posix_seconds(word: &str) -> Option<i64> {
    let rest = match word.strip_prefix('<') {
        Some(quoted) => quoted.split_once('>')?.1,
        None => word.trim_start_matches(|c: char| c.is_ascii_alphabetic()),
    };
    let named = !matches!(word.len() - rest.len(), 1 | 2);
    let (sign, digits) = match rest.as_bytes().first()? {
        b'-' => (1, &rest[1..]),
        b'+' => (-1, &rest[1..]),
        _ => (-1, rest),
    };
    let mut parts = digits.split(':').map(number);
    let hours = parts.next()??;
    let minutes = parts.next().unwrap_or(Some(0))?;
    let seconds = parts.next().unwrap_or(Some(0))?;
    let fits = named && minutes < 60 && seconds < 60 && parts.next().is_none();
    fits.then_some(sign * ((hours * 60 + minutes) * 60 + seconds))
}

impl NamedZone {
    /// Returns the zone with this name in the time zone database, or `None` if there is none. `lower` is the name in
    /// lower case.
    fn get(name: &str, lower: &str) -> Option<Self> {
        static ALL: Mutex<BTreeMap<String, NamedZone>> = Mutex::new(BTreeMap::new());
        let mut all = ALL.lock().unwrap_or_else(|poison| poison.into_inner());
        if let Some(known) = all.get(lower) {
            return Some(*known);
        }
        let zone = TimeZone::get(name).ok()?;
        let name = zone.iana_name()?.to_owned();
        // The names of the database are few, so the objects never have to go.
        let known = NamedZone(Box::leak(Box::new(Known { name, zone })));
        all.insert(lower.to_owned(), known);
        Some(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3600 * SECOND;

    fn zone(text: &str) -> SessionZone {
        SessionZone::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}")).0
    }

    #[test]
    fn values_are_shown_as_postgresql_shows_them() {
        let berlin = zone("Europe/Berlin");
        for (text, shown, found) in [
            ("europe/berlin", "Europe/Berlin", berlin),
            ("utc", "UTC", SessionZone::Utc),
            ("etc/utc", "Etc/UTC", SessionZone::Utc),
            ("2", "<+02>-02", SessionZone::Fixed(7200)),
            ("+02", "<+02>-02", SessionZone::Fixed(7200)),
            ("-8", "<-08>+08", SessionZone::Fixed(-28_800)),
            ("5.5", "<+05:30>-05:30", SessionZone::Fixed(19_800)),
            ("0", "<+00>-00", SessionZone::Utc),
            ("+02:00", "+02:00", SessionZone::Fixed(-7200)),
            ("GMT-02:00", "GMT-02:00", SessionZone::Fixed(7200)),
            ("utc+3", "UTC+3", SessionZone::Fixed(-10_800)),
            ("<+02>-02", "<+02>-02", SessionZone::Fixed(7200)),
        ] {
            assert_eq!(SessionZone::parse(text), Ok((found, shown.to_owned())), "{text}");
            assert_eq!(zone(&found.to_string()), found, "{text}");
        }
        for text in ["", "nowhere/x", "foo", "cest", "z", "a1", "utc+", "gmt-1:70", "gmt-1:00:00:00", "<+02", "nan"] {
            assert_eq!(SessionZone::parse(text), Err(NoZone::Unknown), "{text}");
        }
        for text in ["200", "-200", "1e300", "-1e300"] {
            assert_eq!(SessionZone::parse(text), Err(NoZone::TooFar), "{text}");
        }
    }

    #[test]
    fn clocks_change_twice_a_year() {
        let (berlin, day) = (zone("Europe/Berlin"), 24 * HOUR);
        // 2024-03-31 01:00 UTC, at which two o'clock becomes three.
        let change = 8856 * day + HOUR;
        assert_eq!((berlin.offset(change - 1), berlin.offset(change)), (3600, 7200));
        assert_eq!(berlin.to_utc(change + HOUR + HOUR / 2), change + HOUR / 2, "a skipped time");
        assert_eq!((berlin.abbreviation(change - 1), berlin.abbreviation(change)), ("CET".into(), "CEST".into()));
        // 2024-10-27 01:00 UTC, at which three o'clock becomes two.
        let change = 9066 * day + HOUR;
        assert_eq!(berlin.to_utc(change + HOUR + HOUR / 2), change + HOUR / 2, "a time that occurs twice");
        assert_eq!(berlin.to_local(berlin.to_utc(0)), 0);
    }

    #[test]
    fn times_at_the_ends_have_no_offset() {
        let east = zone("14");
        for micros in [i64::MIN, i64::MAX, *TIMESTAMP_RANGE.end()] {
            assert_eq!(east.to_local(micros), micros);
        }
        assert_eq!((east.to_utc(i64::MIN), east.to_utc(i64::MAX)), (i64::MIN, i64::MAX));
    }

    #[test]
    fn offsets_have_as_many_parts_as_they_need() {
        for (seconds, written) in [(0, "+00"), (7200, "+02"), (-19_800, "-05:30"), (3208, "+00:53:28")] {
            assert_eq!(written_offset(seconds), written);
        }
    }
}
