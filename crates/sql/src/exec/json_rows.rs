//! Functions whose result rows are the parts of a JSON value.

use super::table_function::Next;
use crate::expr::{Env, jsonpath};
use crate::json::{self, Kind};
use crate::plan::table_function::{JsonRecords, JsonRows, Parts};
use crate::types::{Styles, decode_text};
use crate::{SqlError, depth, state};
use hotrow_storage::{Array, Type, Value};

/// Returns the rows of a function. Each row is an element, a key, or a key with its value.
///
/// # Errors
/// 22023 if the value has no such parts.
pub(super) fn rows<'n>(function: JsonRows, arguments: &'n [Value<'static>]) -> Result<Next<'n>, SqlError> {
    let text: &str = match arguments {
        [Value::Json(text) | Value::Jsonb(text)] => text,
        _ => return Ok(Box::new(|_| Ok(false))),
    };
    check(function, json::kind(text))?;
    let JsonRows { binary, as_text, .. } = function;
    if function.parts == Parts::Elements {
        let mut elements = json::elements(text);
        return Ok(Box::new(move |row| {
            let Some(element) = elements.next() else { return Ok(false) };
            row.push(part(element, binary, as_text)?);
            Ok(true)
        }));
    }
    let mut members = json::members(text);
    Ok(Box::new(move |row| {
        let Some((key, value)) = members.next() else { return Ok(false) };
        row.push(Value::Text(json::unescape(key)?.into_owned().into()));
        if function.parts == Parts::Members {
            row.push(part(value, binary, as_text)?);
        }
        Ok(true)
    }))
}

/// Returns the rows of `jsonb_path_query`: one for each item that the path finds.
pub(super) fn path<'n>(arguments: &'n [Value<'static>], env: &Env<'_>) -> Result<Next<'n>, SqlError> {
    let (value, path, variables, silent) = match arguments {
        [Value::Jsonb(value), Value::Text(path), rest @ ..] => match rest {
            [] => (value, path, Some("{}"), false),
            [Value::Jsonb(variables)] => (value, path, Some(&**variables), false),
            [Value::Jsonb(variables), Value::Bool(silent)] => (value, path, Some(&**variables), *silent),
            _ => return Ok(Box::new(|_| Ok(false))),
        },
        _ => return Ok(Box::new(|_| Ok(false))),
    };
    let mut items = jsonpath::query(value, path, jsonpath::Options { variables, silent, env })?.into_iter();
    Ok(Box::new(move |row| {
        let Some(item) = items.next() else { return Ok(false) };
        row.push(Value::Jsonb(item.into()));
        Ok(true)
    }))
}

fn part(text: &str, binary: bool, as_text: bool) -> Result<Value<'static>, SqlError> {
    if as_text {
        return Ok(json::as_text(text)?.map_or(Value::Null, |text| Value::Text(text.into_owned().into())));
    }
    let text = text.to_owned().into();
    Ok(if binary { Value::Jsonb(text) } else { Value::Json(text) })
}

/// Fails if a value is not of the kind that a function takes apart. PostgreSQL's message for this differs from function
/// to function.
fn check(function: JsonRows, kind: Kind) -> Result<(), SqlError> {
    let JsonRows { parts, binary, .. } = function;
    let name = function.name();
    let wanted = if parts == Parts::Elements { Kind::Array } else { Kind::Object };
    if kind == wanted {
        return Ok(());
    }
    let message = match (parts, kind) {
        (Parts::Elements, Kind::Object) if binary => "cannot extract elements from an object".to_owned(),
        (Parts::Elements, Kind::Object) => format!("cannot call {name} on a non-array"),
        (Parts::Elements, _) if binary => "cannot extract elements from a scalar".to_owned(),
        (Parts::Elements, _) => format!("cannot call {name} on a scalar"),
        (Parts::Keys, Kind::Array) => format!("cannot call {name} on an array"),
        (Parts::Keys, _) => format!("cannot call {name} on a scalar"),
        (Parts::Members, _) if binary => format!("cannot call {name} on a non-object"),
        (Parts::Members, Kind::Array) => "cannot deconstruct an array as an object".to_owned(),
        (Parts::Members, _) => "cannot deconstruct a scalar".to_owned(),
    };
    Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message))
}

/// Returns the rows that a function such as `json_populate_recordset` builds from JSON objects. A missing field gets
/// its value from the base row.
///
/// # Errors
/// 22023 if the value is not an object, or, for a function that returns several rows, not an array of objects.
pub(super) fn records<'n>(
    function: &'n JsonRecords,
    arguments: &'n [Value<'static>],
    styles: Styles,
) -> Result<Next<'n>, SqlError> {
    let (value, bases) = arguments.split_first().unwrap_or((&Value::Null, &[]));
    let text: Option<&str> = if let Value::Json(text) | Value::Jsonb(text) = value { Some(text) } else { None };
    let name = function.name();
    let wrong = |message: String| SqlError::new(state::INVALID_PARAMETER_VALUE, message);
    if !function.is_set {
        match text.map(json::kind) {
            None | Some(Kind::Object) => {}
            Some(Kind::Array) => return Err(wrong("cannot call populate_composite on an array".to_owned())),
            Some(_) => return Err(wrong("cannot call populate_composite on a scalar".to_owned())),
        }
        let mut row = Some(text);
        return Ok(Box::new(move |out| {
            let Some(object) = row.take() else { return Ok(false) };
            fill(function, object, bases, styles, out)?;
            Ok(true)
        }));
    }
    let Some(text) = text else { return Ok(Box::new(|_| Ok(false))) };
    match json::kind(text) {
        Kind::Array => {}
        Kind::Object => return Err(wrong(format!("cannot call {name} on an object"))),
        _ => return Err(wrong(format!("cannot call {name} on a scalar"))),
    }
    let mut elements = json::elements(text);
    Ok(Box::new(move |out| {
        let Some(element) = elements.next() else { return Ok(false) };
        if json::kind(element) != Kind::Object {
            return Err(wrong(format!("argument of {name} must be an array of objects")));
        }
        fill(function, Some(element), bases, styles, out)?;
        Ok(true)
    }))
}

/// Appends the columns that a function builds from one object.
fn fill(
    function: &JsonRecords,
    object: Option<&str>,
    bases: &[Value<'static>],
    styles: Styles,
    out: &mut Vec<Value<'static>>,
) -> Result<(), SqlError> {
    for ((key, ty), base) in function.columns.iter().zip(bases) {
        out.push(match object.and_then(|object| json::field(object, key)) {
            Some(value) => typed(value, *ty, styles)?,
            None => base.clone(),
        });
    }
    Ok(())
}

/// Converts a JSON value to a value of a type. A JSON array can become an array; any other value is parsed from its
/// text.
fn typed(text: &str, ty: Type, styles: Styles) -> Result<Value<'static>, SqlError> {
    depth::check()?;
    match (json::kind(text), ty) {
        (Kind::Null, _) => Ok(Value::Null),
        (_, Type::Json | Type::Jsonb) => decode_text(ty, json::trim(text), styles),
        (Kind::Array, Type::Array(element)) => {
            let values = json::elements(text).map(|value| typed(value, element.ty(), styles));
            Ok(Value::Array(Array::new(element, values.collect::<Result<Vec<_>, _>>()?)))
        }
        (Kind::Object, Type::Array(_)) => Err(SqlError::new(state::INVALID_TEXT_REPRESENTATION, "expected JSON array")),
        _ => match json::as_text(text)? {
            Some(text) => decode_text(ty, &text, styles),
            None => Ok(Value::Null),
        },
    }
}
