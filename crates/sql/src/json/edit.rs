//! Operations on JSON in normal form whose results are JSON in normal form.

use super::lex::Token;
use super::normal::{normalise, without_nulls, write_string};
use super::parse::{Visitor, visit};
use super::walk::{Kind, elements, has, integer, kind, members, trim};
use crate::memory::check_size;
use crate::{MemoryLimit, SqlError, depth, state};

fn invalid(message: &str) -> SqlError {
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

/// Returns the text between the brackets of an array or object.
fn inner(text: &str) -> &str {
    let text = trim(text);
    text.get(1..text.len().saturating_sub(1)).unwrap_or_default()
}

fn joined(open: char, parts: &[&str], close: char) -> String {
    let mut out = String::from(open);
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if out.len() > 1 {
            out.push_str(", ");
        }
        out.push_str(part);
    }
    out.push(close);
    out
}

/// Implements `left || right`. Two objects are merged; if both have a key, the value of `right` wins. Any other two
/// values make an array of the elements of both, where a value that is no array is one element.
pub(crate) fn concat(left: &str, right: &str) -> Result<String, SqlError> {
    if (kind(left), kind(right)) == (Kind::Object, Kind::Object) {
        return normalise(&joined('{', &[inner(left), inner(right)], '}'));
    }
    let part = |text| if kind(text) == Kind::Array { inner(text) } else { text };
    Ok(joined('[', &[part(left), part(right)], ']'))
}

/// Implements `value - keys`: returns an object without these keys, or an array without the elements that are these
/// strings.
///
/// # Errors
/// 22023 for a scalar.
pub(crate) fn delete_keys(text: &str, keys: &[&str]) -> Result<String, SqlError> {
    let goes = |written: &str| kind(written) == Kind::String && keys.iter().any(|key| has(written, key));
    match kind(text) {
        Kind::Object => {
            let kept = members(text).filter(|(key, _)| !goes(key)).map(|(key, value)| format!("{key}: {value}"));
            Ok(format!("{{{}}}", kept.collect::<Vec<_>>().join(", ")))
        }
        Kind::Array => {
            let kept: Vec<_> = elements(text).filter(|element| !goes(element)).collect();
            Ok(joined('[', &kept, ']'))
        }
        _ => Err(invalid("cannot delete from scalar")),
    }
}

/// Implements `value - index`: returns an array without the element at `index`, which counts from the end if it is
/// negative. An index outside the array removes nothing.
///
/// # Errors
/// 22023 for anything but an array.
pub(crate) fn delete_element(text: &str, index: i64) -> Result<String, SqlError> {
    match kind(text) {
        Kind::Array => {}
        Kind::Object => return Err(invalid("cannot delete from object using integer index")),
        _ => return Err(invalid("cannot delete from scalar")),
    }
    let at = if index < 0 { elements(text).count() as i64 + index } else { index };
    let kept: Vec<_> = (0..).zip(elements(text)).filter(|(number, _)| *number != at).map(|(_, part)| part).collect();
    Ok(joined('[', &kept, ']'))
}

/// The change that [`set`] makes to the value at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Replaces the present value. If there is none, the value is added if the flag is set.
    Set(bool),
    /// Inserts the value before the present element, or adds it if there is none.
    Before,
    /// Inserts the value after the present element, or adds it if there is none.
    After,
    /// Removes the present value.
    Delete,
}

impl Place {
    fn adds(self) -> bool {
        matches!(self, Place::Set(true) | Place::Before | Place::After)
    }
}

/// Implements `jsonb_set` and `jsonb_insert`: returns `text` with a change at the end of a path. Returns it unchanged
/// if the path is empty.
///
/// # Errors
/// 22023 for a scalar, and if the key to insert is in the object already; 22004 if a step is NULL; 22P02 if a step into
/// an array is no number.
pub(crate) fn set(text: &str, path: &[Option<&str>], value: &str, place: Place) -> Result<String, SqlError> {
    if kind(text).is_scalar() {
        return Err(invalid("cannot set path in scalar"));
    }
    if path.is_empty() {
        return Ok(text.to_owned());
    }
    normalise(&Change { path, value, place }.within(text, 0)?)
}

/// Implements `value #- path`: returns the value without the part at the end of the path.
///
/// # Errors
/// As [`set`].
pub(crate) fn delete_path(text: &str, path: &[Option<&str>]) -> Result<String, SqlError> {
    if kind(text).is_scalar() {
        return Err(invalid("cannot delete path in scalar"));
    }
    if path.is_empty() {
        return Ok(text.to_owned());
    }
    Change { path, value: "", place: Place::Delete }.within(text, 0)
}

struct Change<'c> {
    path: &'c [Option<&'c str>],
    value: &'c str,
    place: Place,
}

impl Change<'_> {
    /// Returns `text`, the part of the value after `at` steps of the path, with its change.
    fn within(&self, text: &str, at: usize) -> Result<String, SqlError> {
        depth::check()?;
        let step = self.path[at].ok_or_else(|| {
            let message = format!("path element at position {} is null", at + 1);
            SqlError::new(state::NULL_VALUE_NOT_ALLOWED, message)
        })?;
        match kind(text) {
            Kind::Object => self.within_object(text, step, at),
            Kind::Array => self.within_array(text, step, at),
            _ => Ok(text.to_owned()),
        }
    }

    fn within_object(&self, text: &str, key: &str, at: usize) -> Result<String, SqlError> {
        let is_last = at + 1 == self.path.len();
        let (mut parts, mut found) = (Vec::new(), false);
        for (written, value) in members(text) {
            if !has(written, key) {
                parts.push(format!("{written}: {value}"));
                continue;
            }
            found = true;
            match (is_last, self.place) {
                (true, Place::Delete) => {}
                (true, Place::Set(_)) => parts.push(format!("{written}: {}", self.value)),
                (true, Place::Before | Place::After) => {
                    let hint = "Try using the function jsonb_set to replace key value.";
                    return Err(invalid("cannot replace existing key").hint(hint));
                }
                (false, _) => parts.push(format!("{written}: {}", self.within(value, at + 1)?)),
            }
        }
        if !found && is_last && self.place.adds() {
            let mut part = String::new();
            write_string(key, &mut part);
            parts.push(part + ": " + self.value);
        }
        Ok(format!("{{{}}}", parts.join(", ")))
    }

    fn within_array(&self, text: &str, step: &str, at: usize) -> Result<String, SqlError> {
        let is_last = at + 1 == self.path.len();
        let index = integer(step).ok_or_else(|| {
            let message = format!("path element at position {} is not an integer: \"{step}\"", at + 1);
            SqlError::new(state::INVALID_TEXT_REPRESENTATION, message)
        })?;
        let count = elements(text).count() as i64;
        let index = if index < 0 { (index + count).max(-1) } else { index.min(count) };
        let mut parts: Vec<String> = Vec::new();
        let adds = is_last && self.place.adds();
        let mut done = adds && (index < 0 || count == 0);
        if done {
            parts.push(self.value.to_owned());
        }
        for (number, element) in (0..).zip(elements(text)) {
            if number != index {
                parts.push(element.to_owned());
                continue;
            }
            done = true;
            if !is_last {
                parts.push(self.within(element, at + 1)?);
                continue;
            }
            match self.place {
                Place::Set(_) => parts.push(self.value.to_owned()),
                Place::Before => parts.extend([self.value.to_owned(), element.to_owned()]),
                Place::After => parts.extend([element.to_owned(), self.value.to_owned()]),
                Place::Delete => {}
            }
        }
        if adds && !done {
            parts.push(self.value.to_owned());
        }
        Ok(format!("[{}]", parts.join(", ")))
    }
}

/// Implements `jsonb_strip_nulls`: returns the value without the members of objects that are null.
pub(crate) fn strip_nulls(text: &str) -> Result<String, SqlError> {
    without_nulls(text)
}

/// Implements `jsonb_pretty`: formats a value with a line for each element and member, indented by four blanks for each
/// level.
///
/// # Errors
/// 53200 or 54000 if the result becomes too long.
pub(crate) fn pretty(text: &str, memory: MemoryLimit) -> Result<String, SqlError> {
    let mut lines = Lines { out: String::new(), open: Vec::new(), memory };
    visit(text, true, &mut lines)?;
    Ok(lines.out)
}

struct Lines {
    out: String,
    /// For each open array or object: whether it is an object, and whether it has had a member or an element.
    open: Vec<(bool, bool)>,
    memory: MemoryLimit,
}

impl Lines {
    fn line(&mut self) -> Result<(), SqlError> {
        self.out.push('\n');
        let blanks = self.open.len() * 4;
        check_size(self.out.len() + blanks, self.memory)?;
        self.out.extend(std::iter::repeat_n(' ', blanks));
        Ok(())
    }

    /// Writes the comma and the line break that come before a member or an element.
    fn separate(&mut self, for_key: bool) -> Result<(), SqlError> {
        match self.open.last_mut() {
            Some((is_object, any)) if *is_object == for_key => {
                if std::mem::replace(any, true) {
                    self.out.push(',');
                }
                self.line()
            }
            _ => Ok(()),
        }
    }
}

impl Visitor for Lines {
    fn open(&mut self, is_object: bool) -> Result<(), SqlError> {
        self.separate(false)?;
        self.out.push(if is_object { '{' } else { '[' });
        self.open.push((is_object, false));
        Ok(())
    }

    fn key(&mut self, key: &str) -> Result<(), SqlError> {
        self.separate(true)?;
        self.out.push_str(key);
        self.out.push_str(": ");
        Ok(())
    }

    fn scalar(&mut self, token: Token<'_>) -> Result<(), SqlError> {
        self.separate(false)?;
        if let Token::String(text) | Token::Number(text) | Token::Word(text) = token {
            self.out.push_str(text);
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), SqlError> {
        let Some((is_object, _)) = self.open.pop() else { return Ok(()) };
        self.line()?;
        self.out.push(if is_object { '}' } else { ']' });
        Ok(())
    }
}
