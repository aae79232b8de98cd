//! Construction of JSON from values of other types.

use super::append::append;
use super::argument::invalid;
use crate::expr::{Env, Expr, Input};
use crate::json::normalise;
use crate::memory::check_size;
use crate::{MemoryLimit, SqlError};
use bytes::{BufMut, BytesMut};
use hotrow_storage::Value;

/// Makes a JSON value of a complete text: a `jsonb` if `binary` is set, and a `json` otherwise.
///
/// # Errors
/// The errors of the normalisation of `jsonb`, or 53200 if there is no memory.
pub(crate) fn finish(out: BytesMut, binary: bool, memory: MemoryLimit) -> Result<Value<'static>, SqlError> {
    let text = String::from_utf8_lossy(&out).into_owned();
    if !binary {
        return Ok(Value::Json(text.into()));
    }
    // A second text is made of the first.
    check_size(text.len(), memory)?;
    Ok(Value::Jsonb(normalise(&text)?.into()))
}

/// Evaluates `json_build_object(key, value, …)`.
pub(super) fn object(list: &[Expr], binary: bool, env: &Env<'_>, row: &Input<'_>) -> Result<Value<'static>, SqlError> {
    if !list.len().is_multiple_of(2) {
        let name = if binary { "jsonb_build_object" } else { "json_build_object" };
        return Err(invalid("argument list must have even number of elements")
            .hint(format!("The arguments of {name}() must consist of alternating keys and values.")));
    }
    let mut out = BytesMut::from("{");
    for (at, pair) in list.chunks_exact(2).enumerate() {
        let key = pair[0].eval(env, row)?;
        if key.is_null() {
            let number = at * 2 + 1;
            return Err(match binary {
                true => invalid(format!("argument {number}: key must not be null")),
                false => invalid(format!("argument {number} cannot be null")).hint("Object keys should be text."),
            });
        }
        if at > 0 {
            out.put_slice(b", ");
        }
        write_key(&key, &mut out, env)?;
        out.put_slice(b" : ");
        write(&pair[1].eval(env, row)?, &mut out, env)?;
    }
    out.put_u8(b'}');
    finish(out, binary, env.memory)
}

/// Evaluates a row, a list of alternating names and values, to a JSON object. If the row is that of an item in FROM
/// (`of_relation`) and all values are NULL, the result is NULL.
pub(super) fn row(
    list: &[Expr],
    of_relation: bool,
    env: &Env<'_>,
    row: &Input<'_>,
) -> Result<Value<'static>, SqlError> {
    let mut out = BytesMut::from("{");
    let mut is_null = of_relation;
    for (at, pair) in list.chunks_exact(2).enumerate() {
        let value = pair[1].eval(env, row)?;
        is_null &= value.is_null();
        if at > 0 {
            out.put_u8(b',');
        }
        write_key(&pair[0].eval(env, row)?, &mut out, env)?;
        out.put_u8(b':');
        write(&value, &mut out, env)?;
    }
    if is_null {
        return Ok(Value::Null);
    }
    out.put_u8(b'}');
    finish(out, false, env.memory)
}

/// Evaluates `json_build_array(value, …)`.
pub(super) fn array(list: &[Expr], binary: bool, env: &Env<'_>, row: &Input<'_>) -> Result<Value<'static>, SqlError> {
    let mut out = BytesMut::from("[");
    for (at, expr) in list.iter().enumerate() {
        if at > 0 {
            out.put_slice(b", ");
        }
        write(&expr.eval(env, row)?, &mut out, env)?;
    }
    out.put_u8(b']');
    finish(out, binary, env.memory)
}

/// Evaluates `to_json(value)`.
pub(super) fn value(list: &[Expr], binary: bool, env: &Env<'_>, row: &Input<'_>) -> Result<Value<'static>, SqlError> {
    let [argument] = list else { return Ok(Value::Null) };
    let value = argument.eval(env, row)?;
    if value.is_null() {
        return Ok(Value::Null);
    }
    let mut out = BytesMut::new();
    write(&value, &mut out, env)?;
    finish(out, binary, env.memory)
}

/// Appends a value as the key of an object.
///
/// # Errors
/// 22023 if the value cannot be a key: NULL, an array or JSON.
pub(crate) fn write_key(key: &Value<'_>, out: &mut BytesMut, env: &Env<'_>) -> Result<(), SqlError> {
    match key {
        Value::Null => Err(invalid("field name must not be null")),
        Value::Array(_) | Value::Json(_) | Value::Jsonb(_) => {
            Err(invalid("key value must be scalar, not array, composite, or json"))
        }
        key => string(key, out, env),
    }
}

/// Appends a value as JSON. Numbers, Booleans, arrays and JSON are written as such, and all other values as strings.
pub(crate) fn write(value: &Value<'_>, out: &mut BytesMut, env: &Env<'_>) -> Result<(), SqlError> {
    match value {
        Value::Null => out.put_slice(b"null"),
        Value::Bool(value) => out.put_slice(if *value { b"true" } else { b"false" }),
        Value::Numeric(number) if !number.is_finite() => return string(value, out, env),
        Value::Float4(number) if !number.is_finite() => return string(value, out, env),
        Value::Float8(number) if !number.is_finite() => return string(value, out, env),
        Value::Int2(_) | Value::Int4(_) | Value::Int8(_) | Value::Numeric(_) | Value::Float4(_) | Value::Float8(_) => {
            return append(value, out, env);
        }
        Value::Json(_) | Value::Jsonb(_) => return append(value, out, env),
        Value::Array(array) => {
            out.put_u8(b'[');
            for (at, element) in array.iter().enumerate() {
                if at > 0 {
                    out.put_u8(b',');
                }
                write(&element, out, env)?;
            }
            out.put_u8(b']');
        }
        other => return string(other, out, env),
    }
    Ok(())
}

/// Appends the text of a value in quotes. Dates and times are written as in ISO 8601.
fn string(value: &Value<'_>, out: &mut BytesMut, env: &Env<'_>) -> Result<(), SqlError> {
    let mut plain = BytesMut::new();
    let env = Env { styles: env.styles.with_iso_dates(), ..*env };
    match value {
        Value::Bool(value) => plain.put_slice(if *value { b"true" } else { b"false" }),
        other => append(other, &mut plain, &env)?,
    }
    // A character becomes six bytes at the most, such as `\u0001`.
    check_size(plain.len().saturating_mul(6).saturating_add(out.len()), env.memory)?;
    let mut shown = String::from_utf8_lossy(&plain).into_owned();
    if matches!(value, Value::Timestamp(_) | Value::TimestampTz(_)) {
        shown = shown.replacen(' ', "T", 1);
    }
    // A time zone has minutes in JSON.
    let zone = shown.len().checked_sub(3).and_then(|at| shown.as_bytes().get(at));
    if matches!(value, Value::TimestampTz(_)) && matches!(zone, Some(b'+' | b'-')) {
        shown.push_str(":00");
    }
    let mut quoted = String::with_capacity(shown.len() + 2);
    crate::json::write_string(&shown, &mut quoted);
    out.put_slice(quoted.as_bytes());
    Ok(())
}
