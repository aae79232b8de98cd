//! Functions of values that do not depend on a format: the type of a value, and the value of a number literal.

use super::{Styles, decode_text};
use crate::SqlError;
use hotrow_storage::{Element, Type, Value};

/// Returns the value of a number literal, as the first of integer, bigint and numeric that can represent it.
///
/// # Errors
/// 22P02 if the text is no number. 22003 if it has more digits than a numeric can have.
pub fn number_literal(text: &str) -> Result<Value<'static>, SqlError> {
    if let Ok(value) = text.parse::<i32>() {
        return Ok(Value::Int4(value));
    }
    if let Ok(value) = text.parse::<i64>() {
        return Ok(Value::Int8(value));
    }
    decode_text(Type::Numeric(None), text, Styles::default()).map(Value::into_owned)
}

/// Returns the type of a value, without modifiers, or `None` for NULL.
pub fn type_of(value: &Value<'_>) -> Option<Type> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(_) => Type::Bool,
        Value::Int2(_) => Type::Int2,
        Value::Int4(_) => Type::Int4,
        Value::Int8(_) => Type::Int8,
        Value::Float4(_) => Type::Float4,
        Value::Float8(_) => Type::Float8,
        Value::Numeric(_) => Type::Numeric(None),
        Value::Text(_) => Type::Text,
        Value::Json(_) => Type::Json,
        Value::Jsonb(_) => Type::Jsonb,
        Value::Bytea(_) => Type::Bytea,
        Value::Date(_) => Type::Date,
        Value::Timestamp(_) => Type::TIMESTAMP,
        Value::TimestampTz(_) => Type::TIMESTAMP_TZ,
        Value::Time(_) => Type::TIME,
        Value::Interval(_) => Type::INTERVAL,
        Value::Uuid(_) => Type::Uuid,
        Value::Array(array) => Type::Array(array.element()),
    })
}

/// Returns a type's name without its modifiers, as in PostgreSQL's messages about operators. `None` stands for a
/// literal whose type has not been inferred.
pub fn type_name(ty: Option<Type>) -> String {
    match ty {
        None => "unknown".to_owned(),
        Some(Type::Numeric(_)) => "numeric".to_owned(),
        Some(Type::Char(_)) => "character".to_owned(),
        Some(Type::Varchar(_)) => "character varying".to_owned(),
        Some(Type::Timestamp(_)) => Type::TIMESTAMP.to_string(),
        Some(Type::TimestampTz(_)) => Type::TIMESTAMP_TZ.to_string(),
        Some(Type::Time(_)) => Type::TIME.to_string(),
        Some(Type::Interval(_)) => Type::INTERVAL.to_string(),
        Some(ty @ Type::Array(Element::Int2Vector | Element::OidVector)) => ty.to_string(),
        Some(Type::Array(element)) => format!("{}[]", type_name(Some(element.ty()))),
        Some(ty) => ty.to_string(),
    }
}

/// Returns a type without its length, precision, scale and digits of seconds. `char(n)` and `varchar(n)` become `text`.
/// An array's element type is changed in the same way.
pub(crate) fn without_modifier(ty: Type) -> Type {
    match ty {
        Type::Numeric(_) => Type::Numeric(None),
        Type::Char(_) | Type::Varchar(_) => Type::Text,
        Type::Timestamp(_) => Type::TIMESTAMP,
        Type::TimestampTz(_) => Type::TIMESTAMP_TZ,
        Type::Time(_) => Type::TIME,
        Type::Interval(_) => Type::INTERVAL,
        Type::Array(element) if element.is_vector() => ty,
        Type::Array(element) => Element::of(without_modifier(element.ty())).map_or(ty, Type::Array),
        other => other,
    }
}

/// Returns the rank of a numeric type, or `None` for any other type. An operation on two numbers has the type with the
/// greater rank.
pub(crate) fn rank(ty: Type) -> Option<u8> {
    Some(match ty {
        Type::Int2 => 0,
        Type::Int4 => 1,
        Type::Int8 => 2,
        Type::Numeric(_) => 3,
        Type::Float4 => 4,
        Type::Float8 => 5,
        _ => return None,
    })
}

/// Whether a type is numeric.
pub(crate) fn is_number(ty: Type) -> bool {
    rank(ty).is_some()
}
