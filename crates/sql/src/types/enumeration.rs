//! Enumerated types: from labels to the numbers that stand for them, and back.

use crate::{SqlError, state};
use hotrow_storage::{EnumId, Type};

/// Returns the OIDs of an enumerated type and its array type; zeros if the type does not exist any more.
pub(super) fn oids(id: EnumId) -> [u32; 2] {
    id.definition().map_or([0, 0], |definition| definition.oids)
}

/// Returns the label that a number stands for. A number without a label becomes its digits; only an engine without
/// isolation can show one.
pub(super) fn label(id: EnumId, number: i32) -> String {
    let definition = id.definition();
    let label = definition.as_ref().and_then(|definition| definition.label(number));
    label.map_or_else(|| number.to_string(), str::to_owned)
}

/// Returns the number that stands for a label.
///
/// # Errors
/// 22P02 if the type has no such label.
pub(super) fn parse(id: EnumId, label: &str) -> Result<i32, SqlError> {
    let number = id.definition().and_then(|definition| definition.number(label));
    number.ok_or_else(|| {
        let message = format!("invalid input value for enum {}: \"{label}\"", Type::Enum(id));
        SqlError::new(state::INVALID_TEXT_REPRESENTATION, message)
    })
}

/// Returns the id of an enumerated type, or of the element type of an array. Returns `None` for any other type.
pub(crate) fn enumeration(ty: Type) -> Option<EnumId> {
    match ty {
        Type::Enum(id) => Some(id),
        Type::Array(element) => enumeration(element.ty()),
        _ => None,
    }
}
