//! Casts between types.

use super::arith::out_of_range;
use super::compare::{float, numeric};
use crate::json::{self, Kind};
use crate::types::{
    SessionZone, Styles, check_timestamp, decode_text, encode_text, fit_char, fit_interval, fit_micros, fit_name,
    fit_numeric, fit_timestamp, fit_varchar, map_elements,
};
use crate::{SqlError, state};
use bytes::BytesMut;
use hotrow_storage::{Interval, Numeric, Type, Value};

/// The contexts of casts, in which different casts are allowed, from the strictest to the most permissive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strictness {
    /// A cast without syntax for it, such as that of an operand. Only casts that lose nothing are allowed.
    Implicit,
    /// A cast of a value that is stored in a column. Casts to narrower numbers, and of any type to text, are allowed,
    /// too. A text that is too long for the column is an error.
    Assignment,
    /// A cast by `CAST` or `::`. All casts are allowed. A text that is too long for the type is truncated.
    Explicit,
}

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// Whether a value of type `from` can be cast to type `to` in this context. Lengths do not matter.
pub fn can_cast(from: Type, to: Type, strictness: Strictness) -> bool {
    use Strictness::{Assignment, Explicit};
    use Type::{
        Bool, Date, Float4, Float8, Int2, Int4, Int8, Interval, Json, Jsonb, Numeric, Oid, Reg, Time, Timestamp,
        TimestampTz,
    };
    if let (Type::Array(from), Type::Array(to)) = (from, to) {
        return can_cast(from.ty(), to.ty(), strictness);
    }
    let same = std::mem::discriminant(&from) == std::mem::discriminant(&to) && !matches!(from, Type::Enum(_));
    if same || from == to || (from.is_text() && to.is_text()) {
        return true;
    }
    match (from, to) {
        (Int2 | Int4 | Int8, Oid | Reg(_)) | (Oid | Reg(_), Int4 | Int8) | (Oid, Reg(_)) | (Reg(_), Oid) => true,
        (Int2, Int4 | Int8 | Numeric(_) | Float4 | Float8)
        | (Int4, Int8 | Numeric(_) | Float4 | Float8)
        | (Int8, Numeric(_) | Float4 | Float8)
        | (Numeric(_), Float4 | Float8)
        | (Float4, Float8)
        | (Date, Timestamp(_) | TimestampTz(_))
        | (Timestamp(_), TimestampTz(_))
        | (Time(_), Interval(_)) => true,
        (Int4 | Int8 | Numeric(_) | Float4 | Float8, Int2 | Int4 | Int8 | Numeric(_) | Float4)
        | (Timestamp(_) | TimestampTz(_), Date)
        | (TimestampTz(_), Timestamp(_))
        | (Timestamp(_) | TimestampTz(_) | Interval(_), Time(_))
        | (Json, Jsonb)
        | (Jsonb, Json) => strictness >= Assignment,
        (Jsonb, Bool | Int2 | Int4 | Int8 | Numeric(_) | Float4 | Float8) => strictness == Explicit,
        (Bool, Int4) | (Int4, Bool) => strictness == Explicit,
        (_, to) if to.is_text() => strictness >= Assignment,
        (from, _) if from.is_text() => strictness == Explicit,
        _ => false,
    }
}

/// Casts a value of type `from` to type `to`. `styles` are those in which texts are parsed and formatted.
///
/// # Errors
/// The value is out of range, too long, or a text that is no value of the type.
pub fn cast<'v>(
    value: Value<'v>,
    from: Type,
    to: Type,
    strictness: Strictness,
    styles: Styles,
) -> Result<Value<'v>, SqlError> {
    let value = match (value, to) {
        (Value::Null, _) => return Ok(Value::Null),
        (Value::Array(array), Type::Array(element)) => {
            let before = if let Type::Array(before) = from { before.ty() } else { array.element().ty() };
            let mut change =
                |value: Value<'_>| cast(value, before, element.ty(), strictness, styles).map(Value::into_owned);
            return Ok(Value::Array(map_elements(&array, element, &mut change)?));
        }
        (Value::Text(text), to) if to.is_text() => match (from, to) {
            // A blank-padded string loses its padding on the way to any other string type.
            (Type::Char(_), Type::Text | Type::Varchar(_) | Type::Name) => Value::Text(trim_blanks(text)),
            _ => Value::Text(text),
        },
        (Value::Text(text), to) => return decode_text(to, &text, styles),
        (Value::Json(text), Type::Jsonb) => return decode_text(to, &text, styles),
        (Value::Jsonb(text), Type::Json) => return Ok(Value::Json(text)),
        (Value::Jsonb(text), to) if !to.is_text() && to != Type::Jsonb => return from_jsonb(&text, to),
        (value, to) if to.is_text() => Value::Text(to_text(&value, from, styles).into()),
        (value, Type::Bool) => match value {
            Value::Int4(value) => Value::Bool(value != 0),
            other => other,
        },
        (Value::Bool(value), Type::Int4) => Value::Int4(i32::from(value)),
        (value, Type::Oid | Type::Reg(_)) => Value::Int4(to_oid(&value)?),
        (Value::Int4(value), Type::Int8) if matches!(from, Type::Oid | Type::Reg(_)) => {
            Value::Int8(i64::from(value.cast_unsigned()))
        }
        (value, Type::Int2 | Type::Int4 | Type::Int8) => to_integer(&value, to)?,
        (value, Type::Numeric(_)) => Value::Numeric(to_numeric(&value)),
        // As a text: rounded once, and with the text in the error of a number that is too large or too small.
        (Value::Numeric(number), Type::Float4 | Type::Float8)
            if number.is_finite() && (to == Type::Float4 || !is_double(&number)) =>
        {
            return decode_text(to, &number.to_string(), Styles::default());
        }
        (value, Type::Float4) => {
            let wide = float(&value);
            let narrow = wide as f32;
            if narrow.is_infinite() && wide.is_finite() {
                return Err(SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow"));
            }
            if narrow == 0.0 && wide != 0.0 {
                return Err(SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow"));
            }
            Value::Float4(narrow)
        }
        (value, Type::Float8) => Value::Float8(float(&value)),
        (value, Type::Date | Type::Timestamp(_) | Type::TimestampTz(_)) => to_datetime(value, to, styles.zone)?,
        (Value::Time(time), Type::Interval(_)) => Value::Interval(Interval::of_micros(time)),
        // An infinity has no time.
        (Value::Timestamp(i64::MIN | i64::MAX) | Value::TimestampTz(i64::MIN | i64::MAX), Type::Time(_)) => Value::Null,
        (Value::Timestamp(micros), Type::Time(_)) => Value::Time(micros.rem_euclid(MICROS_PER_DAY)),
        (Value::TimestampTz(micros), Type::Time(_)) => {
            Value::Time(styles.zone.to_local(micros).rem_euclid(MICROS_PER_DAY))
        }
        (Value::Interval(interval), Type::Time(_)) => Value::Time(interval.micros.rem_euclid(MICROS_PER_DAY)),
        (value, _) => value,
    };
    fit(value, to, strictness)
}

/// Adjusts a value to the length, precision or scale of a type: truncates, pads or rounds it.
///
/// # Errors
/// 22001 or 22003 if the value is too long or too large, and must not be truncated in this context.
pub fn fit<'v>(value: Value<'v>, ty: Type, strictness: Strictness) -> Result<Value<'v>, SqlError> {
    let explicit = strictness == Strictness::Explicit;
    Ok(match (value, ty) {
        (Value::Text(text), Type::Varchar(Some(length))) => Value::Text(fit_varchar(text, length, explicit)?),
        (Value::Text(text), Type::Name) => Value::Text(fit_name(text)),
        (Value::Text(text), Type::Char(length)) => Value::Text(fit_char(text, length, explicit)?),
        (Value::Numeric(number), Type::Numeric(Some(precision))) => Value::Numeric(fit_numeric(number, precision)?),
        (Value::Timestamp(micros), Type::Timestamp(digits)) => Value::Timestamp(fit_timestamp(micros, digits)?),
        (Value::TimestampTz(micros), Type::TimestampTz(digits)) => Value::TimestampTz(fit_timestamp(micros, digits)?),
        (Value::Time(micros), Type::Time(digits)) => Value::Time(fit_micros(micros, digits)),
        (Value::Interval(interval), Type::Interval(digits)) => Value::Interval(fit_interval(interval, digits)),
        (Value::Array(array), Type::Array(element)) => {
            let mut change = |value: Value<'_>| fit(value, element.ty(), strictness).map(Value::into_owned);
            Value::Array(map_elements(&array, element, &mut change)?)
        }
        (value, _) => value,
    })
}

/// Converts a number or Boolean of JSON to another type.
///
/// # Errors
/// 22023 for any other value of JSON, or the error of a number that does not fit the type.
fn from_jsonb(text: &str, to: Type) -> Result<Value<'static>, SqlError> {
    let (wanted, name) = match to {
        Type::Bool => (Kind::Bool, "boolean".to_owned()),
        Type::Numeric(_) => (Kind::Number, "numeric".to_owned()),
        to => (Kind::Number, to.to_string()),
    };
    let kind = json::kind(text);
    if kind != wanted {
        let what = if kind == Kind::Number { "numeric" } else { kind.name() };
        let message = format!("cannot cast jsonb {what} to type {name}");
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    }
    match to {
        Type::Bool | Type::Float4 | Type::Float8 => decode_text(to, text, Styles::default()),
        _ => {
            let number = decode_text(Type::Numeric(None), text, Styles::default())?;
            cast(number, Type::Numeric(None), to, Strictness::Explicit, Styles::default())
        }
    }
}

fn trim_blanks(text: std::borrow::Cow<'_, str>) -> std::borrow::Cow<'_, str> {
    match text {
        std::borrow::Cow::Borrowed(text) => text.trim_end_matches(' ').into(),
        std::borrow::Cow::Owned(mut text) => {
            text.truncate(text.trim_end_matches(' ').len());
            text.into()
        }
    }
}

/// Returns the text format of a value.
fn to_text(value: &Value<'_>, ty: Type, styles: Styles) -> String {
    // A cast writes words where output writes letters.
    if let Value::Bool(value) = value {
        return value.to_string();
    }
    let mut out = BytesMut::new();
    encode_text(value, ty, styles, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Whether a finite number is in the range of doubles: it does not become an infinity, nor zero if it is not.
fn is_double(number: &Numeric) -> bool {
    let double = number.to_f64();
    double.is_finite() && (double != 0.0 || number.is_zero())
}

fn to_integer(value: &Value<'_>, to: Type) -> Result<Value<'static>, SqlError> {
    let wide = match value {
        Value::Float4(_) | Value::Float8(_) => {
            let rounded = float(value).round_ties_even();
            // The bounds are exact as floats: -2^63 is in, 2^63 is not.
            let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded);
            fits.then_some(rounded as i64)
        }
        Value::Numeric(number) if !number.is_finite() => {
            let what = if number.is_nan() { "NaN" } else { "infinity" };
            let message = format!("cannot convert {what} to {to}");
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        Value::Numeric(number) => number.to_i64(),
        other => other.as_int(),
    };
    let narrow = wide.and_then(|wide| match to {
        Type::Int2 => i16::try_from(wide).ok().map(Value::Int2),
        Type::Int4 => i32::try_from(wide).ok().map(Value::Int4),
        _ => Some(Value::Int8(wide)),
    });
    narrow.ok_or_else(|| out_of_range(to))
}

/// Converts an integer to the 32 bits of an OID. A negative `integer` keeps its bits, as in PostgreSQL.
///
/// # Errors
/// 22003 if the number is out of the range of OIDs.
fn to_oid(value: &Value<'_>) -> Result<i32, SqlError> {
    match value {
        Value::Int4(value) => Ok(*value),
        other => match u32::try_from(other.as_int().unwrap_or_default()) {
            Ok(number) => Ok(number.cast_signed()),
            Err(_) => Err(SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "OID out of range")),
        },
    }
}

/// Converts a number to `numeric`. Of a `real`, six significant digits count, and of a double 15.
fn to_numeric(value: &Value<'_>) -> Numeric {
    match value {
        Value::Float4(value) => Numeric::from_f32(*value),
        Value::Float8(value) => Numeric::from_f64(*value),
        other => numeric(other),
    }
}

/// Converts between dates and timestamps. `zone` is the time zone of dates and of timestamps without one.
///
/// # Errors
/// 22008 if the result is out of range.
fn to_datetime(value: Value<'_>, to: Type, zone: SessionZone) -> Result<Value<'static>, SqlError> {
    // The infinities of a date are the ends of its numbers, as those of a timestamp.
    Ok(match (value, to) {
        (Value::TimestampTz(micros), Type::Date | Type::Timestamp(_)) => {
            return to_datetime(Value::Timestamp(zone.to_local(micros)), to, zone);
        }
        (Value::Date(days), Type::Timestamp(_) | Type::TimestampTz(_)) => {
            let micros = match days {
                i32::MIN => i64::MIN,
                i32::MAX => i64::MAX,
                days => i64::from(days) * MICROS_PER_DAY,
            };
            return to_datetime(Value::Timestamp(micros), to, zone);
        }
        (Value::Timestamp(micros), Type::Date) => Value::Date(match micros {
            i64::MIN => i32::MIN,
            i64::MAX => i32::MAX,
            micros => i32::try_from(micros.div_euclid(MICROS_PER_DAY)).unwrap_or(i32::MAX),
        }),
        (Value::Timestamp(micros), Type::TimestampTz(_)) => Value::TimestampTz(check_timestamp(zone.to_utc(micros))?),
        (other, _) => other.into_owned(),
    })
}
