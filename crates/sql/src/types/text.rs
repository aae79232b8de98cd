//! The text format: PostgreSQL's output and input functions.

use super::{Styles, array, datetime, datetime_input, enumeration, interval_style, interval_text, length, number};
use crate::{SqlError, json, state};
use bytes::{BufMut, BytesMut};
use hotrow_storage::{Type, Value};
use std::borrow::Cow;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends a value in the text format, without a length. NULL appends nothing: the caller, which writes the length,
/// marks NULL.
pub fn encode_text(value: &Value<'_>, ty: Type, styles: Styles, out: &mut BytesMut) {
    match value {
        Value::Null => {}
        Value::Bool(value) => out.put_u8(if *value { b't' } else { b'f' }),
        Value::Int2(value) => put_integer(*value, out),
        Value::Int4(value) if matches!(ty, Type::Oid | Type::Reg(_)) => put_integer(value.cast_unsigned(), out),
        Value::Int4(value) => match ty {
            Type::Enum(id) => out.put_slice(enumeration::label(id, *value).as_bytes()),
            _ => put_integer(*value, out),
        },
        Value::Int8(value) => put_integer(*value, out),
        Value::Float4(value) => match styles.fewer_digits {
            None => number::write_float(value, f64::from(*value), 6, out),
            Some(fewer) => number::write_rounded(f64::from(*value), 6 - i32::from(fewer), out),
        },
        Value::Float8(value) => match styles.fewer_digits {
            None => number::write_float(value, *value, 15, out),
            Some(fewer) => number::write_rounded(*value, 15 - i32::from(fewer), out),
        },
        Value::Numeric(value) => number::write_numeric(value, out),
        Value::Text(value) => {
            out.put_slice(value.as_bytes());
            if let Type::Char(length) = ty {
                let missing = (length as usize).saturating_sub(value.len());
                if missing > 0 {
                    out.put_bytes(b' ', (length as usize).saturating_sub(value.chars().count()));
                }
            }
        }
        Value::Json(value) | Value::Jsonb(value) => out.put_slice(value.as_bytes()),
        Value::Bytea(value) if styles.escapes_bytes => escape(value, out),
        Value::Bytea(value) => {
            out.put_slice(b"\\x");
            out.extend(value.iter().flat_map(|byte| [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]));
        }
        Value::Date(value) => datetime::write_date(*value, styles, out),
        Value::Timestamp(value) => datetime::write_timestamp(*value, false, styles, out),
        Value::TimestampTz(value) => datetime::write_timestamp(*value, true, styles, out),
        Value::Time(value) => datetime::write_time(value.unsigned_abs(), out),
        Value::Interval(value) => interval_style::write(*value, styles.intervals, out),
        Value::Uuid(value) => {
            let mut text = [0; uuid::fmt::Hyphenated::LENGTH];
            let text = uuid::Uuid::from_bytes(*value).hyphenated().encode_lower(&mut text);
            out.put_slice(text.as_bytes());
        }
        Value::Array(value) => array::write_text(value, ty, styles, out),
    }
}

/// Appends a byte string in the format `escape`: bytes that are no printable ASCII characters become a backslash and
/// three octal digits, and a backslash is doubled.
pub(crate) fn escape(bytes: &[u8], out: &mut BytesMut) {
    for &byte in bytes {
        match byte {
            b'\\' => out.put_slice(b"\\\\"),
            b' '..=b'~' => out.put_u8(byte),
            byte => out.put_slice(&[b'\\', b'0' + (byte >> 6), b'0' + (byte >> 3 & 7), b'0' + (byte & 7)]),
        }
    }
}

fn put_integer(value: impl itoa::Integer, out: &mut BytesMut) {
    out.put_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Parses a value in the text format, as PostgreSQL's input function of the type does.
///
/// # Errors
/// The text is no value of the type, or the value is out of range.
pub fn decode_text(ty: Type, text: &str, styles: Styles) -> Result<Value<'static>, SqlError> {
    decode_text_borrowed(ty, text, styles).map(Value::into_owned)
}

/// Parses a value as [`decode_text`] does, but borrows a string that needs no change.
pub fn decode_text_borrowed(ty: Type, text: &str, styles: Styles) -> Result<Value<'_>, SqlError> {
    Ok(match ty {
        Type::Bool => Value::Bool(parse_bool(text)?),
        Type::Int2 => Value::Int2(number::parse_integer(ty, text)?),
        Type::Int4 => Value::Int4(number::parse_integer(ty, text)?),
        Type::Oid | Type::Reg(_) => Value::Int4(number::parse_oid(text)?),
        Type::Enum(id) => Value::Int4(enumeration::parse(id, text)?),
        Type::Int8 => Value::Int8(number::parse_integer(ty, text)?),
        Type::Float4 => Value::Float4(number::parse_float(ty, text)?),
        Type::Float8 => Value::Float8(number::parse_float(ty, text)?),
        Type::Numeric(precision) => Value::Numeric(number::parse_numeric(text, precision)?),
        Type::Char(_) | Type::Varchar(_) | Type::Text | Type::Name => {
            refuse_zero_byte(text.as_bytes())?;
            Value::Text(fit(ty, text)?)
        }
        Type::Json => {
            json::validate(text)?;
            Value::Json(text.into())
        }
        Type::Jsonb => Value::Jsonb(json::normalise(text)?.into()),
        Type::Bytea => Value::Bytea(parse_bytea(text)?.into()),
        Type::Date => Value::Date(datetime_input::parse_date(text, styles)?),
        Type::Timestamp(digits) => {
            Value::Timestamp(datetime::fit_timestamp(datetime_input::parse_timestamp(ty, text, styles)?, digits)?)
        }
        Type::TimestampTz(digits) => {
            Value::TimestampTz(datetime::fit_timestamp(datetime_input::parse_timestamp(ty, text, styles)?, digits)?)
        }
        Type::Time(digits) => Value::Time(datetime::fit_micros(datetime_input::parse_time(text, styles)?, digits)),
        Type::Interval(digits) => {
            Value::Interval(datetime::fit_interval(interval_text::parse(text, None, styles.intervals)?, digits))
        }
        Type::Uuid => Value::Uuid(parse_uuid(text)?),
        Type::Array(element) => Value::Array(array::parse(element, text, styles)?),
    })
}

/// Returns a string as a column of the type stores it: padded, or without excess spaces.
pub(super) fn fit(ty: Type, text: &str) -> Result<Cow<'_, str>, SqlError> {
    match ty {
        Type::Char(length) => length::fit_char(text.into(), length, false),
        Type::Varchar(Some(length)) => length::fit_varchar(text.into(), length, false),
        Type::Name => Ok(length::fit_name(text.into())),
        _ => Ok(text.into()),
    }
}

/// Returns error 22021 if the bytes contain a zero byte, which no string may hold.
pub(super) fn refuse_zero_byte(bytes: &[u8]) -> Result<(), SqlError> {
    if memchr::memchr(0, bytes).is_some() {
        let message = "invalid byte sequence for encoding \"UTF8\": 0x00";
        return Err(SqlError::new(state::CHARACTER_NOT_IN_REPERTOIRE, message));
    }
    Ok(())
}

fn parse_bool(text: &str) -> Result<bool, SqlError> {
    let word = number::trim(text);
    let starts = |full: &str, least: usize| {
        word.len() >= least
            && word.len() <= full.len()
            && full.as_bytes()[..word.len()].eq_ignore_ascii_case(word.as_bytes())
    };
    if starts("true", 1) || starts("yes", 1) || starts("on", 2) || word == "1" {
        Ok(true)
    } else if starts("false", 1) || starts("no", 1) || starts("off", 2) || word == "0" {
        Ok(false)
    } else {
        Err(number::syntax(Type::Bool, text))
    }
}

/// Parses a byte string: `\x` and hexadecimal digits, or bytes with `\\` and `\ooo` among them.
fn parse_bytea(text: &str) -> Result<Vec<u8>, SqlError> {
    match text.strip_prefix("\\x") {
        Some(digits) => parse_hex(digits),
        None => parse_escapes(text.as_bytes())
            .ok_or_else(|| SqlError::new(state::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea")),
    }
}

fn parse_hex(digits: &str) -> Result<Vec<u8>, SqlError> {
    let invalid = |message: String| SqlError::new(state::INVALID_PARAMETER_VALUE, message);
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    let mut high = None;
    for character in digits.chars() {
        if high.is_none() && matches!(character, ' ' | '\t' | '\n' | '\r') {
            continue;
        }
        let digit = character.to_digit(16);
        let digit = digit.ok_or_else(|| invalid(format!("invalid hexadecimal digit: \"{character}\"")))? as u8;
        match high.take() {
            None => high = Some(digit),
            Some(high) => bytes.push(high << 4 | digit),
        }
    }
    match high {
        None => Ok(bytes),
        Some(_) => Err(invalid("invalid hexadecimal data: odd number of digits".into())),
    }
}

fn parse_escapes(mut text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    loop {
        text = match text {
            [] => return Some(bytes),
            [b'\\', b'\\', rest @ ..] => {
                bytes.push(b'\\');
                rest
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', rest @ ..] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest
            }
            [b'\\', ..] => return None,
            [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
        }
    }
}

/// Parses a UUID: hexadecimal digits with hyphens between groups of four, in braces or not.
fn parse_uuid(text: &str) -> Result<[u8; 16], SqlError> {
    let invalid = || number::syntax(Type::Uuid, text);
    if let Ok(uuid) = uuid::Uuid::try_parse_ascii(text.as_bytes())
        && !text.starts_with("urn")
    {
        return Ok(*uuid.as_bytes());
    }
    let inner = match text.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}').ok_or_else(invalid)?,
        None => text,
    };
    let mut digits = [0; 32];
    let mut count = 0;
    let mut after_hyphen = true;
    for byte in inner.bytes() {
        if byte == b'-' && count % 4 == 0 && !after_hyphen && count < 32 {
            after_hyphen = true;
            continue;
        }
        *digits.get_mut(count).ok_or_else(invalid)? = byte;
        after_hyphen = false;
        count += 1;
    }
    if count != 32 {
        return Err(invalid());
    }
    uuid::Uuid::try_parse_ascii(&digits).map(uuid::Uuid::into_bytes).map_err(|_| invalid())
}
