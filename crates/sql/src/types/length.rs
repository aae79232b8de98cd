//! The lengths of `varchar(n)`, `char(n)` and `name`.

use crate::schema::LONGEST_NAME;
use crate::{SqlError, state};
use std::borrow::Cow;

/// Returns a text as a `varchar(length)` stores it. Excess characters are cut off if they are spaces or if `explicit`
/// is set, for an explicit cast.
///
/// # Errors
/// 22001 if the text is too long otherwise.
pub fn fit_varchar(text: Cow<'_, str>, length: u32, explicit: bool) -> Result<Cow<'_, str>, SqlError> {
    fit(text, length, explicit, "character varying")
}

/// Returns a text as a `char(length)` stores it: padded with spaces to `length` characters. Excess characters are
/// treated as by [`fit_varchar`].
pub fn fit_char(text: Cow<'_, str>, length: u32, explicit: bool) -> Result<Cow<'_, str>, SqlError> {
    let text = fit(text, length, explicit, "character")?;
    let missing = (length as usize).saturating_sub(text.chars().count());
    if missing == 0 {
        return Ok(text);
    }
    let mut padded = text.into_owned();
    padded.extend(std::iter::repeat_n(' ', missing));
    Ok(Cow::Owned(padded))
}

/// Returns a text as the type `name` stores it: its first whole characters, at most 63 bytes.
pub fn fit_name(text: Cow<'_, str>) -> Cow<'_, str> {
    let end = text.floor_char_boundary(LONGEST_NAME.min(text.len()));
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
        Cow::Owned(mut text) => {
            text.truncate(end);
            Cow::Owned(text)
        }
    }
}

fn fit<'a>(text: Cow<'a, str>, length: u32, explicit: bool, name: &str) -> Result<Cow<'a, str>, SqlError> {
    // A text has at most as many characters as bytes, so in the common case they need not be counted.
    if text.len() <= length as usize {
        return Ok(text);
    }
    let Some((end, _)) = text.char_indices().nth(length as usize) else { return Ok(text) };
    if !explicit && text[end..].bytes().any(|byte| byte != b' ') {
        let message = format!("value too long for type {name}({length})");
        return Err(SqlError::new(state::STRING_DATA_RIGHT_TRUNCATION, message));
    }
    Ok(match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
        Cow::Owned(mut text) => {
            text.truncate(end);
            Cow::Owned(text)
        }
    })
}
