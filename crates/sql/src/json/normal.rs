//! The normal form of JSON.

use super::lex::Token;
use super::parse::{Visitor, visit};
use super::walk::unescape;
use super::{MAX_BYTES, number};
use crate::{SqlError, state};
use std::fmt::Write;

/// Returns the normal form of a JSON text, as `jsonb` stores it.
///
/// # Errors
/// As [`validate`](super::validate); 22P05 for a zero byte in a string, 22003 for a number with too large an exponent,
/// 54000 for a value that is too long.
pub(crate) fn normalise(text: &str) -> Result<String, SqlError> {
    write(text, false)
}

/// Normalises a text as [`normalise`] does, without the members of objects whose values are null.
pub(super) fn without_nulls(text: &str) -> Result<String, SqlError> {
    write(text, true)
}

fn write(text: &str, drops_nulls: bool) -> Result<String, SqlError> {
    let mut writer = Writer { out: String::with_capacity(text.len()), open: Vec::new(), drops_nulls };
    visit(text, true, &mut writer)?;
    Ok(writer.out)
}

/// Appends a text as a JSON string, with quotes and escapes.
pub(crate) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0C => "\\f",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        plain = at + 1;
        match escape {
            "" => write!(out, "\\u{byte:04x}").unwrap_or_default(),
            escape => out.push_str(escape),
        }
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

struct Writer {
    out: String,
    open: Vec<Level>,
    drops_nulls: bool,
}

/// An array or object that is being written.
struct Level {
    /// The offset at which the array or object begins in the output.
    start: usize,
    is_object: bool,
    /// The number of an array's elements so far.
    elements: usize,
    /// The keys of an object, without escapes, and the offset at which each member begins.
    members: Vec<(String, usize)>,
}

impl Writer {
    /// Writes the comma before an element, unless it is the first, and counts the element.
    fn separate(&mut self) {
        if let Some(level) = self.open.last_mut()
            && !level.is_object
        {
            if level.elements > 0 {
                self.out.push_str(", ");
            }
            level.elements += 1;
        }
    }

    fn check(&self) -> Result<(), SqlError> {
        if self.out.len() <= MAX_BYTES {
            return Ok(());
        }
        let message = format!("total size of jsonb elements exceeds the maximum of {MAX_BYTES} bytes");
        Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message))
    }
}

impl Visitor for Writer {
    fn open(&mut self, is_object: bool) -> Result<(), SqlError> {
        self.separate();
        let start = self.out.len();
        self.out.push(if is_object { '{' } else { '[' });
        self.open.push(Level { start, is_object, elements: 0, members: Vec::new() });
        Ok(())
    }

    fn key(&mut self, key: &str) -> Result<(), SqlError> {
        let key = unescape(key)?;
        let Some(level) = self.open.last_mut() else { return Ok(()) };
        if !level.members.is_empty() {
            self.out.push_str(", ");
        }
        let start = self.out.len();
        write_string(&key, &mut self.out);
        self.out.push_str(": ");
        level.members.push((key.into_owned(), start));
        Ok(())
    }

    fn scalar(&mut self, token: Token<'_>) -> Result<(), SqlError> {
        self.separate();
        match token {
            Token::Word("null") if self.drops_nulls => match self.open.last_mut() {
                Some(level) if level.is_object => {
                    if let Some((_, start)) = level.members.pop() {
                        let separator = if level.members.is_empty() { 0 } else { 2 };
                        self.out.truncate(start - separator);
                    }
                }
                _ => self.out.push_str("null"),
            },
            Token::String(text) if !text.contains('\\') => self.out.push_str(text),
            Token::String(text) => write_string(&unescape(text)?, &mut self.out),
            Token::Number(text) => self.out.push_str(&number::normal(text)?),
            Token::Word(word) => self.out.push_str(word),
            _ => {}
        }
        self.check()
    }

    fn close(&mut self) -> Result<(), SqlError> {
        let Some(level) = self.open.pop() else { return Ok(()) };
        if !level.is_object {
            self.out.push(']');
            return self.check();
        }
        let order = |left: &str, right: &str| left.len().cmp(&right.len()).then_with(|| left.cmp(right));
        if !level.members.is_sorted_by(|left, right| order(&left.0, &right.0).is_lt()) {
            let ends = level.members.iter().skip(1).map(|(_, start)| start - 2).chain([self.out.len()]);
            let mut parts: Vec<_> =
                level.members.iter().zip(ends).map(|((key, start), end)| (key, *start..end)).collect();
            // The sort is stable, so the last of several members of one key is still the last, and stays.
            parts.sort_by(|left, right| order(left.0, right.0));
            let written = self.out.split_off(level.start);
            self.out.push('{');
            for (at, (key, range)) in parts.iter().enumerate() {
                if parts.get(at + 1).is_some_and(|(next, _)| next == key) {
                    continue;
                }
                if self.out.len() > level.start + 1 {
                    self.out.push_str(", ");
                }
                self.out.push_str(&written[range.start - level.start..range.end - level.start]);
            }
        }
        self.out.push('}');
        self.check()
    }
}
