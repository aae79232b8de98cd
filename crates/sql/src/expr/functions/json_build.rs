//! Texts in JSON's form, made of values.

use super::several::append;
use super::{check_size, invalid};
use crate::expr::{Env, Expr, Input};
use crate::{MemoryLimit, SqlError};
use bytes::{BufMut, BytesMut};
use hotrow_storage::Value;

/// `json_build_object(key, value, …)`
pub(super) fn object(list: &[Expr], env: &Env<'_>, row: &Input<'_>) -> Result<Value<'static>, SqlError> {
    if !list.len().is_multiple_of(2) {
        return Err(invalid("argument list must have even number of elements")
            .hint("The arguments of json_build_object() must consist of alternating keys and values."));
    }
    let mut out = BytesMut::from("{");
    for (at, pair) in list.chunks_exact(2).enumerate() {
        let key = pair[0].eval(env, row)?;
        if key.is_null() {
            let message = format!("argument {} cannot be null", at * 2 + 1);
            return Err(invalid(message).hint("Object keys should be text."));
        }
        if matches!(key, Value::Array(_)) {
            return Err(invalid("key value must be scalar, not array, composite, or json"));
        }
        if at > 0 {
            out.put_slice(b", ");
        }
        string(&key, &mut out, env.memory)?;
        out.put_slice(b" : ");
        write(&pair[1].eval(env, row)?, &mut out, env.memory)?;
    }
    out.put_u8(b'}');
    Ok(Value::Text(String::from_utf8_lossy(&out).into_owned().into()))
}

/// `json_build_array(value, …)`
pub(super) fn array(list: &[Expr], env: &Env<'_>, row: &Input<'_>) -> Result<Value<'static>, SqlError> {
    let mut out = BytesMut::from("[");
    for (at, expr) in list.iter().enumerate() {
        if at > 0 {
            out.put_slice(b", ");
        }
        write(&expr.eval(env, row)?, &mut out, env.memory)?;
    }
    out.put_u8(b']');
    Ok(Value::Text(String::from_utf8_lossy(&out).into_owned().into()))
}

/// A value: a number, a word, an array, or what else it is as a string.
fn write(value: &Value<'_>, out: &mut BytesMut, memory: MemoryLimit) -> Result<(), SqlError> {
    match value {
        Value::Null => out.put_slice(b"null"),
        Value::Bool(value) => out.put_slice(if *value { b"true" } else { b"false" }),
        Value::Float4(number) if !number.is_finite() => return string(value, out, memory),
        Value::Float8(number) if !number.is_finite() => return string(value, out, memory),
        Value::Int2(_) | Value::Int4(_) | Value::Int8(_) | Value::Numeric(_) | Value::Float4(_) | Value::Float8(_) => {
            return append(value, out, memory);
        }
        Value::Array(array) => {
            out.put_u8(b'[');
            for (at, element) in array.iter().enumerate() {
                if at > 0 {
                    out.put_u8(b',');
                }
                write(&element, out, memory)?;
            }
            out.put_u8(b']');
        }
        other => return string(other, out, memory),
    }
    Ok(())
}

/// A value's text in quotes; dates and times as ISO 8601 has them.
fn string(value: &Value<'_>, out: &mut BytesMut, memory: MemoryLimit) -> Result<(), SqlError> {
    let mut plain = BytesMut::new();
    match value {
        Value::Bool(value) => plain.put_slice(if *value { b"true" } else { b"false" }),
        other => append(other, &mut plain, memory)?,
    }
    // As `\u0001` at the most.
    check_size(plain.len().saturating_mul(6).saturating_add(out.len()), memory)?;
    let is_time = matches!(value, Value::Timestamp(_) | Value::TimestampTz(_));
    out.put_u8(b'"');
    let mut is_first_blank = true;
    for &byte in &plain {
        match byte {
            b'"' | b'\\' => out.put_slice(&[b'\\', byte]),
            b'\n' => out.put_slice(b"\\n"),
            b'\r' => out.put_slice(b"\\r"),
            b'\t' => out.put_slice(b"\\t"),
            0x08 => out.put_slice(b"\\b"),
            0x0C => out.put_slice(b"\\f"),
            0..0x20 => out.put_slice(format!("\\u{byte:04x}").as_bytes()),
            b' ' if is_time && is_first_blank => {
                out.put_u8(b'T');
                is_first_blank = false;
            }
            other => out.put_u8(other),
        }
    }
    // A zone has minutes.
    let zone = plain.len().checked_sub(3).and_then(|at| plain.get(at));
    if matches!(value, Value::TimestampTz(_)) && matches!(zone, Some(b'+' | b'-')) {
        out.put_slice(b":00");
    }
    out.put_u8(b'"');
    Ok(())
}
