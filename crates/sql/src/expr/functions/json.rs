//! Functions and operators of JSON.

use super::argument::{Arguments, text_of};
use super::function::{Function, JsonFunction, Overload};
use crate::expr::jsonpath;
use crate::json::{self, Kind, Place};
use crate::{MemoryLimit, SqlError, state};
use hotrow_storage::{Element, Type, Value};

const TEXTS: Type = Type::Array(Element::Text);

/// Returns this module's overloads of the SQL function with this name, or an empty list if it has none.
pub fn named(name: &str) -> &'static [Overload] {
    use JsonFunction as F;
    use Type::{Bool, Int4, Json, Jsonb, Text};
    macro_rules! overloads {
        ($($function:expr, ($($argument:expr),*) -> $result:expr);* $(;)?) => {
            const {
                &[$(Overload {
                    function: Function::Json($function), arguments: &[$($argument),*], result: $result,
                }),*]
            }
        };
    }
    match name {
        "->" => overloads![
            F::Part(false), (Json, Text) -> Json;
            F::Part(false), (Json, Int4) -> Json;
            F::Part(false), (Jsonb, Text) -> Jsonb;
            F::Part(false), (Jsonb, Int4) -> Jsonb;
        ],
        "->>" => overloads![
            F::Part(true), (Json, Text) -> Text;
            F::Part(true), (Json, Int4) -> Text;
            F::Part(true), (Jsonb, Text) -> Text;
            F::Part(true), (Jsonb, Int4) -> Text;
        ],
        "#>" => overloads![F::Path(false), (Json, TEXTS) -> Json; F::Path(false), (Jsonb, TEXTS) -> Jsonb],
        "#>>" => overloads![F::Path(true), (Json, TEXTS) -> Text; F::Path(true), (Jsonb, TEXTS) -> Text],
        "jsonb subscript" => overloads![F::Subscript, (Jsonb, Text) -> Jsonb; F::Subscript, (Jsonb, Int4) -> Jsonb],
        "?" | "jsonb_exists" => overloads![F::HasKey, (Jsonb, Text) -> Bool],
        "?|" | "jsonb_exists_any" => overloads![F::HasKeys(false), (Jsonb, TEXTS) -> Bool],
        "?&" | "jsonb_exists_all" => overloads![F::HasKeys(true), (Jsonb, TEXTS) -> Bool],
        "@>" => overloads![F::Contains, (Jsonb, Jsonb) -> Bool],
        "<@" => overloads![F::Contained, (Jsonb, Jsonb) -> Bool],
        "||" => overloads![F::Concat, (Jsonb, Jsonb) -> Jsonb],
        "-" => overloads![
            F::Delete, (Jsonb, Text) -> Jsonb;
            F::Delete, (Jsonb, Int4) -> Jsonb;
            F::Delete, (Jsonb, TEXTS) -> Jsonb;
        ],
        "#-" | "jsonb_delete_path" => overloads![F::DeletePath, (Jsonb, TEXTS) -> Jsonb],
        "json_typeof" => overloads![F::TypeOf(false), (Json) -> Text],
        "jsonb_typeof" => overloads![F::TypeOf(true), (Jsonb) -> Text],
        "json_array_length" => overloads![F::ArrayLength(false), (Json) -> Int4],
        "jsonb_array_length" => overloads![F::ArrayLength(true), (Jsonb) -> Int4],
        "jsonb_set" => overloads![
            F::Set, (Jsonb, TEXTS, Jsonb) -> Jsonb;
            F::Set, (Jsonb, TEXTS, Jsonb, Bool) -> Jsonb;
        ],
        "jsonb_insert" => overloads![
            F::Insert, (Jsonb, TEXTS, Jsonb) -> Jsonb;
            F::Insert, (Jsonb, TEXTS, Jsonb, Bool) -> Jsonb;
        ],
        "jsonb_strip_nulls" => overloads![F::StripNulls, (Jsonb) -> Jsonb],
        "jsonb_pretty" => overloads![F::Pretty, (Jsonb) -> Text],
        _ => &[],
    }
}

/// Returns the text of a JSON value. Any other value is taken for `null`.
pub(super) fn json_of<'v>(value: &'v Value<'_>) -> &'v str {
    match value {
        Value::Json(text) | Value::Jsonb(text) => text,
        _ => "null",
    }
}

/// Returns the elements of an array of texts in their order.
fn texts<'v>(value: &'v Value<'_>) -> Vec<Value<'v>> {
    match value {
        Value::Array(array) => array.iter().collect(),
        _ => Vec::new(),
    }
}

/// Returns the texts among values, without NULLs.
fn known<'v>(values: &'v [Value<'_>]) -> impl Iterator<Item = &'v str> {
    values.iter().filter(|value| !value.is_null()).map(text_of)
}

/// Returns the steps of a path. A NULL becomes `None`.
fn steps<'v>(values: &'v [Value<'_>]) -> Vec<Option<&'v str>> {
    values.iter().map(|value| if let Value::Text(text) = value { Some(&**text) } else { None }).collect()
}

/// Returns a part of a JSON value as a value of the same type, `json` or `jsonb`.
fn like(value: &Value<'_>, part: &str) -> Value<'static> {
    match value {
        Value::Json(_) => Value::Json(part.to_owned().into()),
        _ => Value::Jsonb(part.to_owned().into()),
    }
}

impl JsonFunction {
    /// Returns the result of the function for these arguments.
    pub(super) fn call<'a>(self, arguments: &Arguments<'a>, memory: MemoryLimit) -> Result<Value<'a>, SqlError> {
        let [first, second, third, fourth, ..] = arguments;
        let text = json_of(first);
        let jsonb = |text: String| Value::Jsonb(text.into());
        let flag = |value: &Value<'_>, default: bool| if let Value::Bool(flag) = value { *flag } else { default };
        Ok(match self {
            // A scalar is its own only element.
            JsonFunction::Part(as_text) if is_own_element(first, second) => return shown(first, Some(text), as_text),
            JsonFunction::Part(as_text) => return shown(first, part(text, second), as_text),
            JsonFunction::Subscript => return shown(first, subscript(text, second), false),
            JsonFunction::Path(as_text) => {
                let path = texts(second);
                return shown(first, at_path(text, &path), as_text);
            }
            JsonFunction::HasKey => Value::Bool(json::has(text, text_of(second))),
            JsonFunction::HasKeys(all) => {
                let keys = texts(second);
                let mut keys = known(&keys);
                Value::Bool(if all {
                    keys.all(|key| json::has(text, key))
                } else {
                    keys.any(|key| json::has(text, key))
                })
            }
            JsonFunction::Contains => Value::Bool(json::contains(text, json_of(second))?),
            JsonFunction::Contained => Value::Bool(json::contains(json_of(second), text)?),
            JsonFunction::Concat => jsonb(json::concat(text, json_of(second))?),
            JsonFunction::Delete => jsonb(match second {
                Value::Array(_) => {
                    let keys = texts(second);
                    json::delete_keys(text, &known(&keys).collect::<Vec<_>>())?
                }
                Value::Text(key) => json::delete_keys(text, &[key])?,
                index => json::delete_element(text, index.as_int().unwrap_or(0))?,
            }),
            JsonFunction::DeletePath => jsonb(json::delete_path(text, &steps(&texts(second)))?),
            JsonFunction::PathText => Value::Text(jsonpath::canonical(text_of(first))?.into()),
            JsonFunction::TypeOf(_) => Value::text(json::kind(text).name()),
            JsonFunction::ArrayLength(_) => Value::Int4(array_length(text)?),
            JsonFunction::Set => {
                let place = Place::Set(flag(fourth, true));
                jsonb(json::set(text, &steps(&texts(second)), json_of(third), place)?)
            }
            JsonFunction::Insert => {
                let place = if flag(fourth, false) { Place::After } else { Place::Before };
                jsonb(json::set(text, &steps(&texts(second)), json_of(third), place)?)
            }
            JsonFunction::StripNulls => jsonb(json::strip_nulls(text)?),
            JsonFunction::Pretty => Value::Text(json::pretty(text, memory)?.into()),
        })
    }
}

/// Returns a part of a JSON value as JSON, or as a text if `as_text` is set. A missing part becomes NULL.
fn shown(whole: &Value<'_>, part: Option<&str>, as_text: bool) -> Result<Value<'static>, SqlError> {
    let Some(part) = part else { return Ok(Value::Null) };
    if !as_text {
        return Ok(like(whole, part));
    }
    Ok(json::as_text(part)?.map_or(Value::Null, |text| Value::Text(text.into_owned().into())))
}

/// Returns the value in an object by its key, or the element of an array by its number.
fn part<'t>(text: &'t str, by: &Value<'_>) -> Option<&'t str> {
    match by {
        Value::Text(key) => json::field(text, key),
        index => json::element(text, index.as_int()?),
    }
}

fn is_own_element(whole: &Value<'_>, index: &Value<'_>) -> bool {
    match (whole, index.as_int()) {
        (Value::Jsonb(text), Some(0 | -1)) => json::kind(text).is_scalar(),
        _ => false,
    }
}

fn subscript<'t>(text: &'t str, by: &Value<'_>) -> Option<&'t str> {
    match by {
        Value::Text(key) => json::step(text, key),
        index => json::step(text, &index.as_int()?.to_string()),
    }
}

fn at_path<'t>(text: &'t str, path: &[Value<'_>]) -> Option<&'t str> {
    path.iter().try_fold(text, |text, step| match step {
        Value::Text(step) => json::step(text, step),
        _ => None,
    })
}

fn array_length(text: &str) -> Result<i32, SqlError> {
    let wrong = |what: &str| {
        let message = format!("cannot get array length of {what}");
        Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message))
    };
    match json::kind(text) {
        Kind::Array => Ok(json::elements(text).count() as i32),
        Kind::Object => wrong("a non-array"),
        _ => wrong("a scalar"),
    }
}
