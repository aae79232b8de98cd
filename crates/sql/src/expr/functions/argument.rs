//! The arguments of functions.

use crate::{SqlError, state};
use hotrow_storage::Value;

/// The maximum number of arguments of a function that is not variadic.
pub(super) const MOST_ARGUMENTS: usize = 6;

/// The values of a call's arguments. Arguments that the call does not have are NULL; the others are not NULL, unless
/// the function accepts NULLs.
pub(super) type Arguments<'a> = [Value<'a>; MOST_ARGUMENTS];

/// Returns the text of an argument, or an empty text if the argument is no text.
pub(super) fn text_of<'v>(value: &'v Value<'_>) -> &'v str {
    match value {
        Value::Text(text) => text,
        _ => "",
    }
}

/// Returns the integer of an argument, or zero if the argument is no integer.
pub(super) fn integer_of(value: &Value<'_>) -> i64 {
    value.as_int().unwrap_or(0)
}

pub(super) fn invalid(message: impl Into<String>) -> SqlError {
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

/// Returns the number of bytes of memory that a value uses in addition to the [`Value`] itself.
pub(crate) fn value_bytes(value: &Value<'_>) -> usize {
    match value {
        Value::Text(text) | Value::Json(text) | Value::Jsonb(text) => text.len(),
        Value::Bytea(bytes) => bytes.len(),
        Value::Numeric(number) => number.heap_bytes(),
        Value::Array(array) => array.bytes().len(),
        _ => 0,
    }
}
