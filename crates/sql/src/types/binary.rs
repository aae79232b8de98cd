//! The binary format: PostgreSQL's send and receive functions.

use super::{Styles, array as arrays, datetime, number, text};
use crate::{SqlError, state};
use bytes::{BufMut, BytesMut};
use hotrow_storage::{Digits, Interval, Type, Value};
use hotrow_txn::number_of;

/// The byte before the text of a `jsonb`.
const JSONB_VERSION: u8 = 1;

/// Appends a value in the binary format, without a length. NULL appends nothing: the caller, which writes the length,
/// marks NULL.
pub fn encode_binary(value: &Value<'_>, ty: Type, out: &mut BytesMut) {
    match value {
        Value::Null => {}
        Value::Bool(value) => out.put_u8(u8::from(*value)),
        Value::Int2(value) => out.put_i16(*value),
        Value::Int4(_) if matches!(ty, Type::Enum(_)) => text::encode_text(value, ty, Styles::default(), out),
        Value::Int4(value) | Value::Date(value) => out.put_i32(*value),
        Value::Int8(value) | Value::Timestamp(value) | Value::TimestampTz(value) | Value::Time(value) => {
            out.put_i64(*value);
        }
        Value::Interval(value) => {
            out.put_i64(value.micros);
            out.put_i32(value.days);
            out.put_i32(value.months);
        }
        Value::Float4(value) => out.put_f32(*value),
        Value::Float8(value) => out.put_f64(*value),
        Value::Numeric(value) => number::write_numeric_binary(value, out),
        Value::Text(_) => text::encode_text(value, ty, Styles::default(), out),
        Value::Json(value) => out.put_slice(value.as_bytes()),
        Value::Jsonb(value) => {
            out.put_u8(JSONB_VERSION);
            out.put_slice(value.as_bytes());
        }
        Value::Bytea(value) => out.put_slice(value),
        Value::Uuid(value) => out.put_slice(value),
        Value::Array(value) => arrays::write_binary(value, ty, out),
    }
}

/// Parses a value in the binary format.
///
/// # Errors
/// 22P03 if the bytes are no value of the type, or an error of the value's text or range.
pub fn decode_binary(ty: Type, bytes: &[u8]) -> Result<Value<'static>, SqlError> {
    Ok(match ty {
        Type::Bool => match array(ty, bytes)? {
            [0] => Value::Bool(false),
            [1] => Value::Bool(true),
            _ => return Err(invalid("a boolean is a byte of 0 or 1")),
        },
        Type::Int2 => Value::Int2(i16::from_be_bytes(array(ty, bytes)?)),
        Type::Int4 | Type::Oid | Type::Reg(_) => Value::Int4(i32::from_be_bytes(array(ty, bytes)?)),
        Type::Int8 => Value::Int8(i64::from_be_bytes(array(ty, bytes)?)),
        Type::Float4 => Value::Float4(f32::from_be_bytes(array(ty, bytes)?)),
        Type::Float8 => Value::Float8(f64::from_be_bytes(array(ty, bytes)?)),
        Type::Numeric(precision) => Value::Numeric(number::read_numeric_binary(bytes, precision)?),
        Type::Char(_) | Type::Varchar(_) | Type::Text | Type::Name => {
            text::refuse_zero_byte(bytes)?;
            Value::Text(text::fit(ty, utf8(bytes)?)?).into_owned()
        }
        Type::Json | Type::Enum(_) => text::decode_text(ty, utf8(bytes)?, Styles::default())?,
        Type::Jsonb => match bytes.split_first() {
            Some((&JSONB_VERSION, text)) => text::decode_text(ty, utf8(text)?, Styles::default())?,
            version => {
                let version = version.map_or(0, |(version, _)| *version);
                return Err(SqlError::new(
                    state::INTERNAL_ERROR,
                    format!("unsupported jsonb version number {version}"),
                ));
            }
        },
        Type::Bytea => Value::Bytea(bytes.to_vec().into()),
        Type::Date => Value::Date(datetime::check_date(i32::from_be_bytes(array(ty, bytes)?))?),
        Type::Timestamp(digits) => Value::Timestamp(read_timestamp(ty, bytes, digits)?),
        Type::TimestampTz(digits) => Value::TimestampTz(read_timestamp(ty, bytes, digits)?),
        Type::Time(digits) => {
            let micros = datetime::check_time(i64::from_be_bytes(array(ty, bytes)?))?;
            Value::Time(datetime::fit_micros(micros, digits))
        }
        Type::Interval(digits) => {
            let [m0, m1, m2, m3, m4, m5, m6, m7, d0, d1, d2, d3, rest @ ..] = array::<16>(ty, bytes)?;
            let micros = i64::from_be_bytes([m0, m1, m2, m3, m4, m5, m6, m7]);
            let days = i32::from_be_bytes([d0, d1, d2, d3]);
            let interval = Interval { months: i32::from_be_bytes(rest), days, micros };
            Value::Interval(datetime::fit_interval(interval, digits))
        }
        Type::Uuid => Value::Uuid(array(ty, bytes)?),
        Type::Array(element) => Value::Array(arrays::read_binary(element, bytes)?),
    })
}

/// Returns bytes as text.
///
/// # Errors
/// 22021 if the bytes are not UTF-8; the message lists the first wrong bytes.
pub fn utf8(bytes: &[u8]) -> Result<&str, SqlError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let rest = &bytes[error.valid_up_to()..];
        let wrong: Vec<_> =
            rest[..error.error_len().unwrap_or(rest.len())].iter().map(|byte| format!("0x{byte:02x}")).collect();
        let message = format!("invalid byte sequence for encoding \"UTF8\": {}", wrong.join(" "));
        SqlError::new(state::CHARACTER_NOT_IN_REPERTOIRE, message)
    })
}

fn read_timestamp(ty: Type, bytes: &[u8], digits: Option<Digits>) -> Result<i64, SqlError> {
    let micros = datetime::check_timestamp(i64::from_be_bytes(array(ty, bytes)?))?;
    datetime::fit_timestamp(micros, digits)
}

fn array<const N: usize>(ty: Type, bytes: &[u8]) -> Result<[u8; N], SqlError> {
    bytes.try_into().map_err(|_| invalid(&format!("type {ty} has {}, got {}", number_of(N, "byte"), bytes.len())))
}

pub(super) fn invalid(what: &str) -> SqlError {
    SqlError::new(state::INVALID_BINARY_REPRESENTATION, format!("incorrect binary data format: {what}"))
}
