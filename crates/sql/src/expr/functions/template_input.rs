//! Reading numbers by a template: `to_number`.
//!
//! The items of the template are matched one by one with the characters of the text, as PostgreSQL matches them: a text
//! that does not fit the template is no error as long as it has digits.

use super::template_number::{Item, Shape, SignPlace, Template};
use crate::memory::check_size;
use crate::types::{Styles, decode_text, fit_numeric, numeric_error};
use crate::{MemoryLimit, SqlError, state};
use hotrow_storage::{Numeric, Precision, Type, Value};

/// Returns the number that a text means by a template, or NULL for an empty template.
///
/// # Errors
/// 42601 if the template is wrong, 0A000 for `RN` and `EEEE`, 22P02 if the text has no digits for the template, 22003
/// if it has more digits than the template.
pub(super) fn read(text: &str, template: &str, memory: MemoryLimit) -> Result<Value<'static>, SqlError> {
    if template.is_empty() {
        return Ok(Value::Null);
    }
    check_size(template.len(), memory)?;
    let Template { items, shape } = Template::read(template)?;
    for (used, name) in [(shape.flags.roman, "RN"), (shape.flags.exponent, "EEEE")] {
        if used {
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, format!("\"{name}\" not supported for input")));
        }
    }
    let mut reader = Reader { rest: text, sign: None, digits: String::new(), before: 0, after: 0, point: false };
    for item in items {
        if reader.rest.is_empty() {
            break;
        }
        reader.item(item, &shape);
    }
    reader.result(&shape)
}

/// The state of reading a text.
struct Reader<'t> {
    /// The characters that were not matched yet.
    rest: &'t str,
    sign: Option<char>,
    /// The digits, with the point.
    digits: String,
    /// The number of digits before the point, and of those after it.
    before: usize,
    after: usize,
    /// Whether the point was read.
    point: bool,
}

impl Reader<'_> {
    /// Matches an item with the next characters.
    fn item(&mut self, item: Item, shape: &Shape) {
        match item {
            Item::Nine | Item::Zero | Item::Point => self.digit(item != Item::Point, shape),
            Item::Comma if shape.flags.fill || self.next() != Some(',') => {}
            Item::Comma => self.skip(),
            Item::Currency => self.skip_others(1),
            Item::Ordinal { .. } => self.skip_others(2),
            Item::Minus => self.signed(&['-']),
            Item::Plus => self.signed(&['+']),
            Item::EitherSign => self.signed(&['-', '+']),
            // One character of the text for each of the template, whatever it is.
            Item::Literal(_) => self.skip(),
            // `S` and `PR` are read with the first or the last digit.
            Item::Sign
            | Item::Brackets
            | Item::Roman { .. }
            | Item::FillMode
            | Item::Shift
            | Item::Exponent
            | Item::Blank
            | Item::Nothing => {}
        }
    }

    /// Matches the place of a digit, or of the point, with a digit or the point. A sign before the first digit and
    /// after the last one is read, too.
    fn digit(&mut self, is_digit: bool, shape: &Shape) {
        if self.next() == Some(' ') {
            self.skip();
        }
        if self.sign.is_none() && is_digit && self.before + self.after == 0 {
            let is_anchored = matches!(shape.sign, Some((SignPlace::Before, _)));
            match self.next() {
                Some('<') if shape.flags.brackets && !is_anchored => self.take_sign('-'),
                Some(sign @ ('-' | '+')) => self.take_sign(sign),
                _ => {}
            }
        }
        let found = match self.next() {
            Some(digit @ '0'..='9') => {
                if self.point && self.after == shape.after {
                    return self.skip();
                }
                self.digits.push(digit);
                *(if self.point { &mut self.after } else { &mut self.before }) += 1;
                true
            }
            Some('.') if shape.flags.point && !self.point => {
                self.digits.push('.');
                self.point = true;
                true
            }
            _ => false,
        };
        if self.sign.is_none() && self.before + self.after > 0 {
            self.last_sign(found, shape);
        }
        self.skip();
    }

    /// Reads the sign after the last digit. `found` says whether the current character is a digit or the point.
    fn last_sign(&mut self, found: bool, shape: &Shape) {
        let mut ahead = self.rest.chars();
        let current = ahead.next();
        let signs = shape.flags.minus || shape.flags.plus;
        match (shape.sign.is_some(), found) {
            (true, true) => {
                if let Some(sign @ ('-' | '+')) = ahead.next() {
                    self.sign = Some(sign);
                    self.skip();
                }
            }
            (false, false) if signs => self.sign = current.filter(|sign| matches!(sign, '-' | '+')),
            _ => {}
        }
    }

    /// Reads one of the signs of `MI`, `PL` and `SG`, or skips another character that is no part of a number.
    fn signed(&mut self, signs: &[char]) {
        match self.next().filter(|next| signs.contains(next)) {
            Some(sign) => self.take_sign(sign),
            None => self.skip_others(1),
        }
    }

    fn next(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn skip(&mut self) {
        let mut chars = self.rest.chars();
        chars.next();
        self.rest = chars.as_str();
    }

    fn take_sign(&mut self, sign: char) {
        self.sign = Some(sign);
        self.skip();
    }

    /// Skips up to `count` characters that are no part of a number.
    fn skip_others(&mut self, count: usize) {
        for _ in 0..count {
            if self.next().is_some_and(|next| !matches!(next, '0'..='9' | '.' | ',' | '+' | '-')) {
                self.skip();
            }
        }
    }

    /// Returns the number of the digits that were read, which must fit the template. `V` divides it by a power of ten.
    fn result(self, shape: &Shape) -> Result<Value<'static>, SqlError> {
        let shifted = shape.shifted.unwrap_or(0);
        let digits = self.digits.strip_suffix('.').unwrap_or(&self.digits);
        let text = format!("{}{digits}", self.sign.unwrap_or(' '));
        let Value::Numeric(number) = decode_text(Type::Numeric(None), &text, Styles::default())? else {
            return Ok(Value::Null);
        };
        let precision = u16::try_from(shape.before + shifted + self.after).unwrap_or(u16::MAX);
        let scale = i16::try_from(self.after).unwrap_or(i16::MAX);
        let number = fit_numeric(number, Precision { precision, scale })?;
        if shape.shifted.is_none() {
            return Ok(Value::Numeric(number));
        }
        let unit = Numeric::from(10).power(&Numeric::from(-(shifted as i64))).map_err(numeric_error)?;
        number.multiply(&unit).map(Value::Numeric).map_err(numeric_error)
    }
}
