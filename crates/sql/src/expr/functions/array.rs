//! Functions and operators of arrays.
//!
//! The binder selects the function, because the types of its arguments and its result depend on the type of the
//! elements.

use super::argument::{text_of, value_bytes};
use super::function::ArrayFunction;
use crate::expr::{Comparison, Env, Expr, Input, compare, pattern, same};
use crate::memory::check_size;
use crate::types::encode_text;
use crate::{SqlError, state};
use bytes::BytesMut;
use hotrow_storage::{Array, ArrayBuilder, Element, Value};

/// The greatest number of arguments that an array function with a fixed number of arguments takes.
const MOST_ARGUMENTS: usize = 3;

impl ArrayFunction {
    /// Whether the result is NULL if an argument is NULL.
    pub fn is_strict(self) -> bool {
        use ArrayFunction as F;
        matches!(
            self,
            F::Subscript
                | F::Slice(..)
                | F::Trim(_)
                | F::Contains
                | F::Contained
                | F::Overlaps
                | F::Length
                | F::Lower
                | F::Upper
                | F::Cardinality
                | F::Dimensions
                | F::Bounds
        )
    }

    /// Evaluates the arguments, and returns the value of the function.
    pub(super) fn call<'a>(self, arguments: &'a [Expr], env: &Env<'a>, row: &Input<'a>) -> Result<Value<'a>, SqlError> {
        if let ArrayFunction::Make(element) = self {
            let mut builder = ArrayBuilder::new(element);
            for argument in arguments {
                let value = argument.eval(env, row)?;
                check_size(builder.size().saturating_add(value_bytes(&value)), env.memory)?;
                builder.push(&value);
            }
            return Ok(Value::Array(builder.finish()));
        }
        let mut values = [const { Value::Null }; MOST_ARGUMENTS];
        let mut bytes = 0_usize;
        for (slot, argument) in values.iter_mut().zip(arguments) {
            *slot = argument.eval(env, row)?;
            if slot.is_null() && self.is_strict() {
                return Ok(Value::Null);
            }
            bytes = bytes.saturating_add(value_bytes(slot));
        }
        if !matches!(self, ArrayFunction::Any(..) | ArrayFunction::Like { .. }) {
            // An element of few bytes has five more in an array.
            check_size(bytes.saturating_mul(if self == ArrayFunction::FromText { 6 } else { 1 }), env.memory)?;
        }
        match &values {
            [text, Value::Array(patterns), _] if let ArrayFunction::Like { ignore_case, negated, all } = self => {
                let test = |text: &str, pattern: &str| pattern::is_like(text, pattern, Some('\\'), ignore_case);
                like(text, patterns, all, |text, pattern| Ok(test(text, pattern)? != negated))
            }
            [Value::Array(left), Value::Array(right), _] => Ok(self.of_two(left, right)),
            [value, Value::Array(array), _] => Ok(self.of_last(value, array)),
            [Value::Array(array), ..] => self.of_first(array, &values[1..], arguments.len(), env),
            [Value::Text(text), separator, null] if self == ArrayFunction::FromText => {
                Ok(Value::Array(split(text, separator, null)))
            }
            [Value::Null, value, _] => Ok(match self {
                ArrayFunction::Append(element) => Value::Array(Array::new(element, [value.borrowed()])),
                _ => Value::Null,
            }),
            [value, Value::Null, _] => Ok(match self {
                ArrayFunction::Prepend(element) => Value::Array(Array::new(element, [value.borrowed()])),
                _ => Value::Null,
            }),
            _ => Ok(Value::Null),
        }
    }

    fn of_two(self, left: &Array<'_>, right: &Array<'_>) -> Value<'static> {
        match self {
            ArrayFunction::Concat(element) => Value::Array(Array::new(element, left.iter().chain(right))),
            ArrayFunction::Contains => Value::Bool(contains(left, right)),
            ArrayFunction::Contained => Value::Bool(contains(right, left)),
            ArrayFunction::Overlaps => Value::Bool(right.iter().any(|value| has(left, &value))),
            _ => Value::Null,
        }
    }

    /// Returns the value of a function of a value and an array.
    fn of_last(self, value: &Value<'_>, array: &Array<'_>) -> Value<'static> {
        match self {
            ArrayFunction::Any(comparison, all, blanks) => any(comparison, all, blanks, value, array),
            ArrayFunction::Prepend(element) => {
                Value::Array(Array::new(element, std::iter::once(value.borrowed()).chain(array)))
            }
            ArrayFunction::Concat(_) if value.is_null() => Value::Array(array.clone().into_owned()),
            _ => Value::Null,
        }
    }

    /// Returns the value of a function of an array and other values.
    fn of_first(
        self,
        array: &Array<'_>,
        others: &[Value<'_>],
        count: usize,
        env: &Env<'_>,
    ) -> Result<Value<'static>, SqlError> {
        let [first, second] = others else { return Ok(Value::Null) };
        let index = |value: &Value<'_>, default: usize| match value.as_int() {
            Some(index) => index.clamp(0, i64::from(u32::MAX)) as usize,
            None => default,
        };
        let start = i64::from(array.first_index());
        let of_dimension = |value: i32| match first.as_int() == Some(1) && !array.is_empty() {
            true => Value::Int4(value),
            false => Value::Null,
        };
        Ok(match self {
            ArrayFunction::Subscript => match first.as_int().and_then(|index| index.checked_sub(start)) {
                Some(at @ 0..) => array.iter().nth(at as usize).map_or(Value::Null, Value::into_owned),
                _ => Value::Null,
            },
            ArrayFunction::Slice(element, has_from, has_to) => {
                let from = if has_from { index(first, 1) } else { 1 }.max(1);
                let to = if has_to { index(second, 0) } else { array.len() };
                let part = array.iter().skip(from - 1).take(to.saturating_sub(from - 1));
                Value::Array(Array::new(element, part))
            }
            ArrayFunction::Append(element) => Value::Array(Array::new(element, array.iter().chain([first.borrowed()]))),
            ArrayFunction::Concat(_) => Value::Array(array.clone().into_owned()),
            ArrayFunction::Remove(element) => {
                Value::Array(Array::new(element, array.iter().filter(|value| !same(value, first, false))))
            }
            ArrayFunction::Replace(element) => {
                let by = |value| if same(&value, first, false) { second.borrowed() } else { value };
                let size = array.len().saturating_mul(value_bytes(second)).saturating_add(array.bytes().len());
                check_size(size, env.memory)?;
                Value::Array(Array::new(element, array.iter().map(by)))
            }
            ArrayFunction::Trim(element) => {
                let (count, length) = (first.as_int().unwrap_or(0), array.len());
                let Some(left) = usize::try_from(count).ok().and_then(|count| length.checked_sub(count)) else {
                    let message = format!("number of elements to trim must be between 0 and {length}");
                    return Err(SqlError::new(state::ARRAY_ELEMENT_ERROR, message));
                };
                Value::Array(Array::new(element, array.iter().take(left)))
            }
            ArrayFunction::Position => {
                if count > 2 && second.is_null() {
                    return Err(SqlError::new(state::NULL_VALUE_NOT_ALLOWED, "initial position must not be null"));
                }
                let start = index(second, 1).max(1);
                let found = array.iter().skip(start - 1).position(|value| same(&value, first, false));
                found.map_or(Value::Null, |at| Value::Int4((start + at) as i32))
            }
            ArrayFunction::Positions => {
                let places = (1..).zip(array).filter(|(_, value)| same(value, first, false));
                Value::Array(Array::new(Element::Int4, places.map(|(at, _)| Value::Int4(at))))
            }
            ArrayFunction::Length => of_dimension(array.len() as i32),
            ArrayFunction::Lower => of_dimension(array.first_index()),
            ArrayFunction::Upper => of_dimension(array.first_index() + array.len() as i32 - 1),
            ArrayFunction::Cardinality => Value::Int4(array.len() as i32),
            ArrayFunction::Dimensions | ArrayFunction::Bounds if array.is_empty() => Value::Null,
            ArrayFunction::Dimensions => Value::Int4(1),
            ArrayFunction::Bounds => Value::Text(format!("[1:{}]", array.len()).into()),
            ArrayFunction::ToText(element) => match first {
                Value::Text(separator) => join(array, element, separator, second, env)?,
                _ => Value::Null,
            },
            _ => Value::Null,
        })
    }
}

fn any(comparison: Comparison, all: bool, blanks: bool, value: &Value<'_>, array: &Array<'_>) -> Value<'static> {
    let mut unknown = false;
    for element in array {
        if value.is_null() || element.is_null() {
            unknown = true;
        } else if comparison.holds(compare(value, &element, blanks)) != all {
            return Value::Bool(!all);
        }
    }
    if unknown { Value::Null } else { Value::Bool(all) }
}

/// Evaluates LIKE ALL over an array of patterns if `all` is set, and LIKE ANY otherwise. `test` matches the text with
/// one pattern. The result is NULL if a NULL decides it.
fn like(
    text: &Value<'_>,
    patterns: &Array<'_>,
    all: bool,
    test: impl Fn(&str, &str) -> Result<bool, SqlError>,
) -> Result<Value<'static>, SqlError> {
    let mut unknown = false;
    for pattern in patterns {
        match (text, &pattern) {
            (Value::Text(text), Value::Text(pattern)) if test(text, pattern)? != all => return Ok(Value::Bool(!all)),
            (Value::Text(_), Value::Text(_)) => {}
            _ => unknown = true,
        }
    }
    Ok(if unknown { Value::Null } else { Value::Bool(all) })
}

/// Whether an array contains a value. No array contains NULL.
fn has(array: &Array<'_>, value: &Value<'_>) -> bool {
    !value.is_null() && array.iter().any(|element| !element.is_null() && compare(&element, value, false).is_eq())
}

fn contains(whole: &Array<'_>, part: &Array<'_>) -> bool {
    part.iter().all(|value| has(whole, &value))
}

fn join(
    array: &Array<'_>,
    element: Element,
    separator: &str,
    null: &Value<'_>,
    env: &Env<'_>,
) -> Result<Value<'static>, SqlError> {
    let mut out = BytesMut::new();
    let mut is_first = true;
    for value in array {
        let shown = if value.is_null() { null.borrowed() } else { value };
        if shown.is_null() {
            continue;
        }
        let size = separator.len().saturating_add(value_bytes(&shown).saturating_mul(4));
        check_size(out.len().saturating_add(size), env.memory)?;
        if !is_first {
            out.extend_from_slice(separator.as_bytes());
        }
        match &shown {
            Value::Text(text) if !element.ty().is_text() => out.extend_from_slice(text.as_bytes()),
            shown => encode_text(shown, element.ty(), env.styles, &mut out),
        }
        is_first = false;
    }
    Ok(Value::Text(String::from_utf8_lossy(&out).into_owned().into()))
}

/// Splits a text at a separator, or into its characters if the separator is NULL. A part that is equal to `null`
/// becomes NULL.
fn split(text: &str, separator: &Value<'_>, null: &Value<'_>) -> Array<'static> {
    let mut builder = ArrayBuilder::new(Element::Text);
    let mut push = |part: &str| {
        let is_null = !null.is_null() && part == text_of(null);
        builder.push(&if is_null { Value::Null } else { Value::text(part) });
    };
    match separator {
        _ if text.is_empty() => {}
        Value::Text(separator) if separator.is_empty() => push(text),
        Value::Text(separator) => text.split(&**separator).for_each(push),
        _ => text.char_indices().for_each(|(at, character)| push(&text[at..at + character.len_utf8()])),
    }
    builder.finish()
}
