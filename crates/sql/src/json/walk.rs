//! Access to the parts of a JSON text, in normal form or not, without building a tree.
//!
//! An engine without isolation may return bytes that were never one value. So each scan ends on any bytes, even if they
//! are no JSON.

use super::lex;
use crate::{SqlError, state};
use std::borrow::Cow;

/// The kinds of values, in PostgreSQL's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Null,
    String,
    Number,
    Bool,
    Array,
    Object,
}

impl Kind {
    /// Returns the kind's name in `jsonb_typeof`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::String => "string",
            Kind::Number => "number",
            Kind::Bool => "boolean",
            Kind::Array => "array",
            Kind::Object => "object",
        }
    }

    /// Whether values of this kind have no elements or members.
    pub(crate) fn is_scalar(self) -> bool {
        self < Kind::Array
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Returns a text without the JSON white space around it.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r'])
}

/// Returns the kind of a value, which its first character determines.
pub(crate) fn kind(text: &str) -> Kind {
    match trim(text).as_bytes().first() {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::String,
        Some(b't' | b'f') => Kind::Bool,
        Some(b'-' | b'0'..=b'9') => Kind::Number,
        _ => Kind::Null,
    }
}

fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).copied().is_some_and(is_blank) {
        at += 1;
    }
    at
}

/// Returns the offset after the string that begins at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

/// Returns the size in bytes of the JSON string at the beginning of a text, including its quotes.
pub(super) fn string_length(text: &str) -> usize {
    string_end(text.as_bytes(), 0).min(text.len())
}

/// Returns the offset after the value that begins at `start`.
fn value_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            _ if depth > 0 => {
                at += 1;
                continue;
            }
            _ => {
                let ends = |&byte: &u8| is_blank(byte) || matches!(byte, b',' | b':' | b'}' | b']');
                return at + bytes[at..].iter().position(ends).unwrap_or(bytes.len() - at).max(1);
            }
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// An iterator over the elements of an array.
#[derive(Clone, Debug)]
pub(crate) struct Elements<'t> {
    text: &'t str,
    at: usize,
}

/// Returns an iterator over the elements of an array. Any other value has no elements.
pub(crate) fn elements(text: &str) -> Elements<'_> {
    let text = if kind(text) == Kind::Array { trim(text) } else { "" };
    Elements { text, at: 1 }
}

/// Returns the next value behind blanks and a comma, and moves `at` behind it. Returns `None` at the end of the
/// surrounding array or object.
fn next_value<'t>(text: &'t str, at: &mut usize) -> Option<&'t str> {
    let bytes = text.as_bytes();
    let mut start = skip_blanks(bytes, *at);
    if bytes.get(start) == Some(&b',') {
        start = skip_blanks(bytes, start + 1);
    }
    if matches!(bytes.get(start), None | Some(b']' | b'}')) {
        *at = bytes.len();
        return None;
    }
    let end = value_end(bytes, start);
    *at = end;
    text.get(start..end)
}

impl<'t> Iterator for Elements<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        next_value(self.text, &mut self.at)
    }
}

/// An iterator over the members of an object: the keys as they are written, with their quotes, and the values.
#[derive(Clone, Debug)]
pub(crate) struct Members<'t> {
    text: &'t str,
    at: usize,
}

/// Returns an iterator over the members of an object. Any other value has no members.
pub(crate) fn members(text: &str) -> Members<'_> {
    let text = if kind(text) == Kind::Object { trim(text) } else { "" };
    Members { text, at: 1 }
}

impl<'t> Iterator for Members<'t> {
    type Item = (&'t str, &'t str);

    fn next(&mut self) -> Option<(&'t str, &'t str)> {
        let key = next_value(self.text, &mut self.at)?;
        self.at = skip_blanks(self.text.as_bytes(), self.at) + 1;
        let value = next_value(self.text, &mut self.at)?;
        Some((key, value))
    }
}

/// Whether the string in quotes `written` has the value `text`.
fn means(written: &str, text: &str) -> bool {
    let inner = written.get(1..written.len().saturating_sub(1)).unwrap_or_default();
    match inner.contains('\\') {
        true => unescape(written).is_ok_and(|unescaped| unescaped == text),
        false => inner == text,
    }
}

/// Returns the value of a key of an object; of several equal keys, the last. Returns `None` if there is no such key, or
/// if the value is no object.
pub(crate) fn field<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    members(text).filter(|(written, _)| means(written, key)).last().map(|(_, value)| value)
}

/// Returns the element of an array at `index`, which counts from zero, or from the end if it is negative. Returns
/// `None` if there is no such element.
pub(crate) fn element(text: &str, index: i64) -> Option<&str> {
    let mut elements = elements(text);
    let from_start = match usize::try_from(index) {
        Ok(index) => index,
        Err(_) => elements.clone().count().checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?,
    };
    elements.nth(from_start)
}

/// Returns the part that one step of a path selects: the value of an object's key, or an array's element by its index.
/// Returns `None` if there is none.
pub(crate) fn step<'t>(text: &'t str, by: &str) -> Option<&'t str> {
    match kind(text) {
        Kind::Object => field(text, by),
        Kind::Array => element(text, integer(by)?),
        _ => None,
    }
}

/// Parses a step of a path as an array index. Returns `None` if it is no 32-bit number. As in C, blanks and a sign may
/// precede it.
pub(super) fn integer(text: &str) -> Option<i64> {
    let number = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0B', '\x0C']);
    number.parse::<i32>().ok().map(i64::from)
}

/// Implements the operator `?`: returns whether an object has the key `wanted`, or an array has it as a string element,
/// or the value is this string.
pub(crate) fn has(text: &str, wanted: &str) -> bool {
    match kind(text) {
        Kind::Object => members(text).any(|(key, _)| means(key, wanted)),
        Kind::Array => elements(text).any(|element| kind(element) == Kind::String && means(element, wanted)),
        Kind::String => means(trim(text), wanted),
        _ => false,
    }
}

/// Returns a value as a text, as the operator `->>` does: a string without quotes and escapes, and any other value as
/// it is written. Returns `None` for null.
///
/// # Errors
/// As [`unescape`].
pub(crate) fn as_text(text: &str) -> Result<Option<Cow<'_, str>>, SqlError> {
    match kind(text) {
        Kind::Null => Ok(None),
        Kind::String => unescape(trim(text)).map(Some),
        _ => Ok(Some(text.into())),
    }
}

/// Returns the text of a JSON string, without quotes and escapes.
///
/// # Errors
/// 22P05 or 22P02 for an escape that stands for no character.
pub(crate) fn unescape(written: &str) -> Result<Cow<'_, str>, SqlError> {
    let mut rest = written.get(1..written.len().saturating_sub(1)).unwrap_or_default();
    if !rest.contains('\\') {
        return Ok(rest.into());
    }
    let mut text = String::with_capacity(rest.len());
    while let Some((plain, after)) = rest.split_once('\\') {
        text.push_str(plain);
        let mut characters = after.chars();
        let escaped = characters.next();
        rest = characters.as_str();
        text.push(match escaped {
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('b') => '\x08',
            Some('f') => '\x0C',
            Some('u') => {
                let first = code(&mut rest)?;
                match first {
                    0 => return Err(lex::zero()),
                    0xD800..0xDC00 => {
                        rest = rest.strip_prefix("\\u").ok_or_else(surrogate)?;
                        let second = code(&mut rest)?.checked_sub(0xDC00).filter(|low| *low < 0x400);
                        let second = second.ok_or_else(surrogate)?;
                        char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + second).ok_or_else(surrogate)?
                    }
                    other => char::from_u32(other).ok_or_else(surrogate)?,
                }
            }
            Some(other) => other,
            None => break,
        });
    }
    text.push_str(rest);
    Ok(text.into())
}

/// Takes four hexadecimal digits and returns their value.
fn code(rest: &mut &str) -> Result<u32, SqlError> {
    let (digits, after) = rest.split_at_checked(4).ok_or_else(surrogate)?;
    *rest = after;
    u32::from_str_radix(digits, 16).map_err(|_| surrogate())
}

fn surrogate() -> SqlError {
    SqlError::new(state::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json")
        .detail("Unicode low surrogate must follow a high surrogate.")
}
