//! The styles of a session's texts: the notation in which dates, intervals, byte strings and floats are written, the
//! order in which the numbers of a date are parsed, and the time zone.
//!
//! They are the values of `DateStyle`, `TimeZone`, `IntervalStyle`, `bytea_output` and `extra_float_digits`, as a
//! session has set them.

use super::SessionZone;
use hotrow_storage::Type;

/// The session's choices of how values are formatted and parsed as text. The default is PostgreSQL's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Styles {
    /// The notation in which a date is written: the first part of `DateStyle`.
    pub dates: DateStyle,
    /// The order in which the numbers of a date are parsed: the second part of `DateStyle`.
    pub order: DateOrder,
    /// The session's time zone. A `timestamptz` is written in this zone, and is parsed in it if the text contains no
    /// zone. The zone also applies to conversions between `timestamptz` and types without a zone.
    pub zone: SessionZone,
    /// The notation in which an interval is written: the value of `IntervalStyle`.
    pub intervals: IntervalStyle,
    /// Whether byte strings are written with escapes and not in hexadecimal: whether `bytea_output` is `escape`.
    pub escapes_bytes: bool,
    /// The number of significant digits by which the output of a float is shorter than the type's full precision, for
    /// `extra_float_digits` of zero or less. `None` writes the shortest number that parses to the same float.
    pub fewer_digits: Option<u8>,
    /// The moment for which the words `now`, `today` and the like stand, in microseconds since 2000-01-01 UTC. If it is
    /// `None`, they stand for the moment at which they are parsed.
    pub moment: Option<i64>,
}

/// The notation in which a date is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are PostgreSQL's")]
pub enum DateStyle {
    #[default]
    Iso,
    Sql,
    Postgres,
    German,
}

/// The order of day, month and year in a date of numbers, unless a number can only be the year.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are PostgreSQL's")]
pub enum DateOrder {
    #[default]
    Mdy,
    Dmy,
    Ymd,
}

/// The notation in which an interval is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are PostgreSQL's")]
pub enum IntervalStyle {
    #[default]
    Postgres,
    PostgresVerbose,
    SqlStandard,
    Iso8601,
}

impl Styles {
    /// Makes the styles from the values of the settings `DateStyle`, `TimeZone`, `IntervalStyle`, `bytea_output` and
    /// `extra_float_digits`, each in its normal form.
    pub(crate) fn of([date_style, time_zone, interval_style, bytea_output, extra_float_digits]: [&str; 5]) -> Self {
        let (dates, order) = date_style.split_once(", ").unwrap_or((date_style, "MDY"));
        let digits: i8 = extra_float_digits.parse().unwrap_or(1);
        Self {
            dates: match dates {
                "SQL" => DateStyle::Sql,
                "Postgres" => DateStyle::Postgres,
                "German" => DateStyle::German,
                _ => DateStyle::Iso,
            },
            order: match order {
                "DMY" => DateOrder::Dmy,
                "YMD" => DateOrder::Ymd,
                _ => DateOrder::Mdy,
            },
            zone: SessionZone::parse(time_zone).map_or(SessionZone::Utc, |(zone, _)| zone),
            intervals: match interval_style {
                "postgres_verbose" => IntervalStyle::PostgresVerbose,
                "sql_standard" => IntervalStyle::SqlStandard,
                "iso_8601" => IntervalStyle::Iso8601,
                _ => IntervalStyle::Postgres,
            },
            escapes_bytes: bytea_output == "escape",
            fewer_digits: (digits <= 0).then(|| digits.unsigned_abs()),
            moment: None,
        }
    }

    /// Returns the styles with ISO 8601 dates, which JSON always uses.
    pub(crate) fn with_iso_dates(self) -> Self {
        Self { dates: DateStyle::Iso, ..self }
    }

    /// Whether the result of a cast from `from` to `to` depends on the styles.
    pub(crate) fn matter(from: Type, to: Type) -> bool {
        let single = |ty: Type| if let Type::Array(element) = ty { element.ty() } else { ty };
        let (one, other) = (single(from), single(to));
        let has_zone = |ty| matches!(ty, Type::TimestampTz(_));
        let changes_zone = has_zone(one) != has_zone(other);
        // The labels of an enumerated type can be changed.
        let has_labels = matches!(one, Type::Enum(_));
        (to.is_text() && (has_labels || Self::styles_type(one)))
            || (from.is_text() && Self::styles_type(other))
            || changes_zone
    }

    fn styles_type(ty: Type) -> bool {
        use Type::{Bytea, Date, Float4, Float8, Interval, Timestamp, TimestampTz};
        matches!(ty, Date | Timestamp(_) | TimestampTz(_) | Interval(_) | Bytea | Float4 | Float8)
    }
}
