//! SQL types and values.

use crate::array::{Array, Element};
use crate::enumeration::EnumId;
use crate::interval::Interval;
use hotrow_numeric::Numeric;
use std::borrow::Cow;
use std::fmt;

/// A column's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `boolean`
    Bool,
    /// `smallint`, 2 bytes
    Int2,
    /// `integer`, 4 bytes
    Int4,
    /// `bigint`, 8 bytes
    Int8,
    /// `real`, 4 bytes
    Float4,
    /// `double precision`, 8 bytes
    Float8,
    /// `numeric(precision, scale)`; without a precision, a number with any digits
    Numeric(Option<Precision>),
    /// `char(n)`: blank-padded to n characters
    Char(u32),
    /// `varchar(n)`: at most n characters; without n, as `text`
    Varchar(Option<u32>),
    /// `text`
    Text,
    /// `name`: a text of at most 63 bytes, the type of objects' names in the catalogs
    Name,
    /// `oid`: the number of a catalog object, 4 bytes without a sign
    Oid,
    /// `regclass` and the like: the number of a catalog object, which is shown as the object's name. No column of a
    /// table has such a type.
    Reg(Registry),
    /// An enumerated type: the number of a label, 4 bytes
    Enum(EnumId),
    /// `json`: a text that is JSON, as it was written
    Json,
    /// `jsonb`: a text that is JSON in normal form
    Jsonb,
    /// `bytea`
    Bytea,
    /// `date`: days since 2000-01-01
    Date,
    /// `timestamp(p)`: microseconds since 2000-01-01 00:00
    Timestamp(Option<Digits>),
    /// `timestamp(p) with time zone`: microseconds since 2000-01-01 00:00 UTC
    TimestampTz(Option<Digits>),
    /// `time(p)`: microseconds since midnight
    Time(Option<Digits>),
    /// `interval(p)`: months, days and microseconds
    Interval(Option<Digits>),
    /// `uuid`: 16 bytes
    Uuid,
    /// A one-dimensional array
    Array(Element),
}

/// The kinds of catalog objects that have a `reg…` type: the type of their numbers, which are shown as names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Registry {
    /// `regclass`: tables, views, sequences and indexes
    Class,
    /// `regtype`: types
    Type,
    /// `regnamespace`: schemas
    Namespace,
}

/// The number of digits after the decimal point of the seconds, 0 to 6, that a time or interval type declares. A type
/// that declares none keeps six.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digits(u8);

impl Digits {
    /// The greatest number of digits: that of a microsecond.
    const MAX: u8 = 6;

    /// Makes a number of digits, or returns `None` if it is more than six.
    pub const fn new(count: u8) -> Option<Self> {
        if count <= Self::MAX { Some(Self(count)) } else { None }
    }

    /// Returns the number of digits.
    pub const fn count(self) -> u8 {
        self.0
    }

    /// Returns the value of the last digit's unit in microseconds: from 1,000,000 without digits to 1 with six.
    pub const fn unit_micros(self) -> i64 {
        10_i64.pow((Self::MAX - self.0) as u32)
    }
}

/// The numbers of digits of a `numeric`: in total, and after the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Precision {
    /// The total number of decimal digits, 1 to 1,000.
    pub precision: u16,
    /// The digits after the point, -1,000 to 1,000. Numbers of a negative scale are rounded before the point.
    pub scale: i16,
}

impl Precision {
    /// Whether every number with these digits has a form of 16 bytes: at most 28 digits, none of them farther than 28
    /// places behind the point.
    pub fn is_fixed(self) -> bool {
        const DIGITS: u16 = 28;
        self.precision <= DIGITS && (0..=DIGITS as i16).contains(&self.scale)
    }
}

impl Type {
    /// `timestamp`, without a number of digits
    pub const TIMESTAMP: Self = Type::Timestamp(None);
    /// `timestamp with time zone`, without a number of digits
    pub const TIMESTAMP_TZ: Self = Type::TimestampTz(None);
    /// `time`, without a number of digits
    pub const TIME: Self = Type::Time(None);
    /// `interval`, without a number of digits
    pub const INTERVAL: Self = Type::Interval(None);

    /// Returns the size of a value in the row's fixed part, and its alignment, both in bytes; `None` for strings,
    /// arrays and numbers of any length, whose size varies.
    pub fn fixed_size(self) -> Option<(usize, usize)> {
        match self {
            Type::Bool => Some((1, 1)),
            Type::Int2 => Some((2, 2)),
            Type::Int4 | Type::Oid | Type::Reg(_) | Type::Enum(_) | Type::Float4 | Type::Date => Some((4, 4)),
            Type::Int8 | Type::Float8 | Type::Timestamp(_) | Type::TimestampTz(_) | Type::Time(_) => Some((8, 8)),
            Type::Numeric(Some(precision)) if precision.is_fixed() => Some((16, 8)),
            Type::Uuid | Type::Interval(_) => Some((16, 8)),
            Type::Numeric(_) => None,
            Type::Char(_) | Type::Varchar(_) | Type::Text | Type::Bytea | Type::Array(_) => None,
            Type::Name | Type::Json | Type::Jsonb => None,
        }
    }

    /// Whether values of the type are character strings.
    pub fn is_text(self) -> bool {
        matches!(self, Type::Char(_) | Type::Varchar(_) | Type::Text | Type::Name)
    }

    /// Whether the type is `smallint`, `integer` or `bigint`.
    pub fn is_integer(self) -> bool {
        matches!(self, Type::Int2 | Type::Int4 | Type::Int8)
    }
}

impl fmt::Display for Type {
    /// Writes PostgreSQL's name of the type, as `format_type` prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Bool => f.write_str("boolean"),
            Type::Int2 => f.write_str("smallint"),
            Type::Int4 => f.write_str("integer"),
            Type::Int8 => f.write_str("bigint"),
            Type::Float4 => f.write_str("real"),
            Type::Float8 => f.write_str("double precision"),
            Type::Numeric(None) => f.write_str("numeric"),
            Type::Numeric(Some(Precision { precision, scale })) => write!(f, "numeric({precision},{scale})"),
            Type::Char(n) => write!(f, "character({n})"),
            Type::Varchar(None) => f.write_str("character varying"),
            Type::Varchar(Some(n)) => write!(f, "character varying({n})"),
            Type::Text => f.write_str("text"),
            Type::Name => f.write_str("name"),
            Type::Oid => f.write_str("oid"),
            Type::Reg(Registry::Class) => f.write_str("regclass"),
            Type::Reg(Registry::Type) => f.write_str("regtype"),
            Type::Reg(Registry::Namespace) => f.write_str("regnamespace"),
            Type::Enum(id) => match id.definition() {
                Some(definition) => f.write_str(&definition.name),
                None => f.write_str("enum"),
            },
            Type::Json => f.write_str("json"),
            Type::Jsonb => f.write_str("jsonb"),
            Type::Bytea => f.write_str("bytea"),
            Type::Date => f.write_str("date"),
            Type::Timestamp(digits) => write!(f, "timestamp{} without time zone", Bracketed(*digits)),
            Type::TimestampTz(digits) => write!(f, "timestamp{} with time zone", Bracketed(*digits)),
            Type::Time(digits) => write!(f, "time{} without time zone", Bracketed(*digits)),
            Type::Interval(digits) => write!(f, "interval{}", Bracketed(*digits)),
            Type::Uuid => f.write_str("uuid"),
            Type::Array(Element::Int2Vector) => f.write_str("int2vector"),
            Type::Array(Element::OidVector) => f.write_str("oidvector"),
            Type::Array(element) => write!(f, "{}[]", element.ty()),
        }
    }
}

/// Writes the number of digits behind a type's name, in parentheses; nothing if the type declares none.
struct Bracketed(Option<Digits>);

impl fmt::Display for Bracketed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => Ok(()),
            Some(digits) => write!(f, "({})", digits.0),
        }
    }
}

/// A value of SQL, borrowed from a row or owned.
///
/// The variant says how the value is represented, and not which type its column has: a `varchar` and a `text` are both
/// [`Value::Text`].
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// SQL's NULL.
    Null,
    /// `boolean`
    Bool(bool),
    /// `smallint`
    Int2(i16),
    /// `integer`, the number of an object, or the number of a label
    Int4(i32),
    /// `bigint`
    Int8(i64),
    /// `real`
    Float4(f32),
    /// `double precision`
    Float8(f64),
    /// `numeric`
    Numeric(Numeric),
    /// `char`, `varchar`, `text`
    Text(Cow<'a, str>),
    /// `json`
    Json(Cow<'a, str>),
    /// `jsonb`
    Jsonb(Cow<'a, str>),
    /// `bytea`
    Bytea(Cow<'a, [u8]>),
    /// Days since 2000-01-01.
    Date(i32),
    /// Microseconds since 2000-01-01 00:00.
    Timestamp(i64),
    /// Microseconds since 2000-01-01 00:00 UTC.
    TimestampTz(i64),
    /// Microseconds since midnight, up to the 86,400,000,000 of a whole day.
    Time(i64),
    /// `interval`
    Interval(Interval),
    /// 16 bytes in network order.
    Uuid([u8; 16]),
    /// An array of any element type.
    Array(Array<'a>),
}

const _: () = assert!(size_of::<Value<'static>>() <= 32);

impl<'a> Value<'a> {
    /// Makes a text that borrows `text`.
    pub fn text(text: &'a str) -> Self {
        Value::Text(Cow::Borrowed(text))
    }

    /// Whether the value is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Returns the integer, or `None` if the value is of none of the three integer types.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int2(value) => Some(i64::from(*value)),
            Value::Int4(value) => Some(i64::from(*value)),
            Value::Int8(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns this value as one that borrows nothing. Copies strings and arrays that are borrowed.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Value::Null => Value::Null,
            Value::Bool(value) => Value::Bool(value),
            Value::Int2(value) => Value::Int2(value),
            Value::Int4(value) => Value::Int4(value),
            Value::Int8(value) => Value::Int8(value),
            Value::Float4(value) => Value::Float4(value),
            Value::Float8(value) => Value::Float8(value),
            Value::Numeric(value) => Value::Numeric(value),
            Value::Text(value) => Value::Text(Cow::Owned(value.into_owned())),
            Value::Json(value) => Value::Json(Cow::Owned(value.into_owned())),
            Value::Jsonb(value) => Value::Jsonb(Cow::Owned(value.into_owned())),
            Value::Bytea(value) => Value::Bytea(Cow::Owned(value.into_owned())),
            Value::Date(value) => Value::Date(value),
            Value::Timestamp(value) => Value::Timestamp(value),
            Value::TimestampTz(value) => Value::TimestampTz(value),
            Value::Time(value) => Value::Time(value),
            Value::Interval(value) => Value::Interval(value),
            Value::Uuid(value) => Value::Uuid(value),
            Value::Array(value) => Value::Array(value.into_owned()),
        }
    }

    /// Returns a value that borrows the strings and arrays of `self`.
    pub fn borrowed(&self) -> Value<'_> {
        match self {
            Value::Text(value) => Value::Text(Cow::Borrowed(value)),
            Value::Json(value) => Value::Json(Cow::Borrowed(value)),
            Value::Jsonb(value) => Value::Jsonb(Cow::Borrowed(value)),
            Value::Bytea(value) => Value::Bytea(Cow::Borrowed(value)),
            Value::Array(value) => Value::Array(value.borrowed()),
            other => other.clone(),
        }
    }
}
