//! Appending of values as text, for `concat` and similar functions.

use crate::SqlError;
use crate::expr::Env;
use crate::memory::check_size;
use crate::types::{encode_text, type_of};
use bytes::BytesMut;
use hotrow_storage::Value;

/// Appends a value as text, in the session's styles.
///
/// # Errors
/// 54000 or 53200 if the text becomes too long.
pub(super) fn append(value: &Value<'_>, out: &mut BytesMut, env: &Env<'_>) -> Result<(), SqlError> {
    let size = match value {
        Value::Text(text) | Value::Json(text) | Value::Jsonb(text) => text.len(),
        // A byte becomes two digits.
        Value::Bytea(bytes) => bytes.len().saturating_mul(2),
        // A byte of a byte string becomes `\\000` at the most.
        Value::Array(array) => array.bytes().len().saturating_mul(4),
        _ => 0,
    };
    check_size(out.len().saturating_add(size), env.memory)?;
    if let Some(ty) = type_of(value) {
        encode_text(value, ty, env.styles, out);
    }
    Ok(())
}
