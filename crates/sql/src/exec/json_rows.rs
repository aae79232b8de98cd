//! Functions whose result rows are the parts of a JSON value.

use super::table_function::Next;
use crate::json::{self, Kind};
use crate::plan::table_function::{JsonRows, Parts};
use crate::{SqlError, state};
use hotrow_storage::Value;

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
