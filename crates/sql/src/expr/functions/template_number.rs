//! The formatting of numbers by a template: `to_char`.
//!
//! The template is read first (`Template`), the number is written with as many digits as the template has places
//! (`Written`), and then the items of the template are written one by one (`Writer`).

use crate::expr::arith::out_of_range;
use crate::memory::check_size;
use crate::types::numeric_error;
use crate::{MemoryLimit, SqlError, state};
use hotrow_numeric::{SCALE_MAX, Significant};
use hotrow_storage::{Numeric, Type, Value};

/// The maximum number of digits after the point that `EEEE` computes of a float. Further digits are written as zeros.
const MOST_DIGITS: usize = 350;

/// An item of a template, such as the place of a digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Nine,
    Zero,
    Point,
    Comma,
    /// `L`. Writes a blank, because there is no currency symbol.
    Currency,
    /// `RN`
    Roman {
        lower: bool,
    },
    /// `TH`
    Ordinal {
        lower: bool,
    },
    Minus,
    Plus,
    /// `SG`
    EitherSign,
    /// `S`
    Sign,
    /// `PR`
    Brackets,
    FillMode,
    /// `V`
    Shift,
    /// `EEEE`
    Exponent,
    Blank,
    /// An item that writes nothing.
    Nothing,
    Literal(char),
}

/// The items by their names. A name precedes its own prefixes.
const ITEMS: [(&str, Item); 36] = [
    ("EEEE", Item::Exponent),
    ("eeee", Item::Exponent),
    ("FM", Item::FillMode),
    ("fm", Item::FillMode),
    ("MI", Item::Minus),
    ("mi", Item::Minus),
    ("PL", Item::Plus),
    ("pl", Item::Plus),
    ("PR", Item::Brackets),
    ("pr", Item::Brackets),
    ("RN", Item::Roman { lower: false }),
    ("rn", Item::Roman { lower: true }),
    ("SG", Item::EitherSign),
    ("sg", Item::EitherSign),
    ("SP", Item::Nothing),
    ("sp", Item::Nothing),
    ("TH", Item::Ordinal { lower: false }),
    ("th", Item::Ordinal { lower: true }),
    (",", Item::Comma),
    (".", Item::Point),
    ("0", Item::Zero),
    ("9", Item::Nine),
    ("B", Item::Blank),
    ("b", Item::Blank),
    ("C", Item::Nothing),
    ("c", Item::Nothing),
    ("D", Item::Point),
    ("d", Item::Point),
    ("G", Item::Comma),
    ("g", Item::Comma),
    ("L", Item::Currency),
    ("l", Item::Currency),
    ("S", Item::Sign),
    ("s", Item::Sign),
    ("V", Item::Shift),
    ("v", Item::Shift),
];

/// The side of the number on which `S` writes the sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignPlace {
    Before,
    After,
}

/// The layout of a number that the items of a template determine together.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    /// The number of digit places before the decimal point.
    pub(super) before: usize,
    /// The number of digit places after the decimal point.
    pub(super) after: usize,
    /// The number of digit places after `V`, if the template contains `V`.
    pub(super) shifted: Option<usize>,
    /// The number of digit places before the first `0`, if that stands before the decimal point.
    first_zero: Option<usize>,
    /// The number of digit places up to and including the last `0`.
    last_zero: usize,
    /// The side on which `S` writes the sign, and the number of digit places before the point that precede `S`.
    pub(super) sign: Option<(SignPlace, usize)>,
    pub(super) flags: Flags,
}

/// The kinds of items that a template contains.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags {
    pub(super) point: bool,
    blank: bool,
    pub(super) fill: bool,
    pub(super) brackets: bool,
    pub(super) minus: bool,
    pub(super) plus: bool,
    pub(super) roman: bool,
    pub(super) exponent: bool,
}

/// A template that has been parsed.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) items: Vec<Item>,
    pub(super) shape: Shape,
}

fn wrong(message: &str) -> SqlError {
    SqlError::new(state::SYNTAX_ERROR, message)
}

impl Template {
    pub(super) fn read(text: &str) -> Result<Self, SqlError> {
        let mut template = Self { items: Vec::new(), shape: Shape::default() };
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some((name, item)) = ITEMS.iter().find(|(name, _)| rest.starts_with(name)) {
                template.shape.add(*item)?;
                template.items.push(*item);
                rest = &rest[name.len()..];
            } else if first == '"' {
                rest = template.quoted(&rest[1..]);
            } else {
                rest = rest.strip_prefix('\\').filter(|after| after.starts_with('"')).unwrap_or(rest);
                let literal = rest.chars().next().unwrap_or(first);
                template.items.push(Item::Literal(literal));
                rest = &rest[literal.len_utf8()..];
            }
        }
        Ok(template)
    }

    /// Adds the characters of a quoted text as literals. Returns the rest of the text after the closing quotation mark.
    fn quoted<'t>(&mut self, text: &'t str) -> &'t str {
        let mut chars = text.chars();
        while let Some(next) = chars.next() {
            match next {
                '"' => break,
                '\\' => self.items.push(Item::Literal(chars.next().unwrap_or('\\'))),
                other => self.items.push(Item::Literal(other)),
            }
        }
        chars.as_str()
    }
}

impl Shape {
    /// Adds an item to the layout.
    ///
    /// # Errors
    /// 42601 if the item must not follow the previous ones.
    fn add(&mut self, item: Item) -> Result<(), SqlError> {
        let Flags { point, blank, fill, brackets, minus, plus, roman, exponent } = self.flags;
        let signed = self.sign.is_some();
        if exponent && item != Item::Exponent {
            return Err(wrong("\"EEEE\" must be the last pattern used"));
        }
        match item {
            Item::Nine if brackets => return Err(wrong("\"9\" must be ahead of \"PR\"")),
            Item::Zero if brackets => return Err(wrong("\"0\" must be ahead of \"PR\"")),
            Item::Nine => match &mut self.shifted {
                Some(shifted) => *shifted += 1,
                None if point => self.after += 1,
                None => self.before += 1,
            },
            Item::Zero => {
                if self.first_zero.is_none() && !point {
                    self.first_zero = Some(self.before);
                }
                *(if point { &mut self.after } else { &mut self.before }) += 1;
                self.last_zero = self.before + self.after;
            }
            Item::Blank => {
                self.flags.blank |= self.before == 0 && self.after == 0 && self.first_zero.is_none();
            }
            Item::Point if point => return Err(wrong("multiple decimal points")),
            Item::Point if self.shifted.is_some() => {
                return Err(wrong("cannot use \"V\" and decimal point together"));
            }
            Item::Point => self.flags.point = true,
            Item::FillMode => self.flags.fill = true,
            Item::Sign if signed => return Err(wrong("cannot use \"S\" twice")),
            Item::Sign if plus || minus || brackets => {
                return Err(wrong("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together"));
            }
            Item::Sign => {
                let place = if point { SignPlace::After } else { SignPlace::Before };
                self.sign = Some((place, self.before));
            }
            Item::Minus if signed => return Err(wrong("cannot use \"S\" and \"MI\" together")),
            Item::Minus => self.flags.minus = true,
            Item::Plus if signed => return Err(wrong("cannot use \"S\" and \"PL\" together")),
            Item::Plus => self.flags.plus = true,
            Item::EitherSign if signed => return Err(wrong("cannot use \"S\" and \"SG\" together")),
            Item::EitherSign => (self.flags.minus, self.flags.plus) = (true, true),
            Item::Brackets if signed || plus || minus => {
                return Err(wrong("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together"));
            }
            Item::Brackets => self.flags.brackets = true,
            Item::Roman { .. } => self.flags.roman = true,
            Item::Shift if point => return Err(wrong("cannot use \"V\" and decimal point together")),
            Item::Shift => self.shifted = self.shifted.or(Some(0)),
            Item::Exponent if exponent => return Err(wrong("cannot use \"EEEE\" twice")),
            Item::Exponent => {
                if blank || fill || signed || brackets || minus || plus || roman || self.shifted.is_some() {
                    let error = wrong("\"EEEE\" is incompatible with other formats");
                    return Err(
                        error.detail("\"EEEE\" may only be used together with digit and decimal point patterns.")
                    );
                }
                self.flags.exponent = true;
            }
            Item::Comma | Item::Currency | Item::Ordinal { .. } | Item::Nothing | Item::Literal(_) => {}
        }
        Ok(())
    }
}

/// Formats a number by a template.
///
/// # Errors
/// 42601 if the template is wrong, 22003 if the number is too large for `V` or `RN`, 22P02 if `TH` follows a number
/// without digits.
pub(super) fn write(value: &Value<'_>, template: &str, memory: MemoryLimit) -> Result<String, SqlError> {
    // No item writes more than eight times its own length.
    check_size(template.len().saturating_mul(8), memory)?;
    if template.is_empty() {
        return Ok(String::new());
    }
    let Template { items, mut shape } = Template::read(template)?;
    let written = if shape.flags.roman {
        shape = Shape { flags: Flags { roman: true, fill: shape.flags.fill, ..Flags::default() }, ..Shape::default() };
        Written { digits: roman(value)?, negative: false, blanks: 0 }
    } else if shape.flags.exponent {
        return scientific(value, &shape);
    } else {
        Written::of(value, &mut shape)?
    };
    Writer::new(shape, &written).write(&items)
}

/// The digits of a number, with a decimal point if the template has digits after it.
struct Written {
    digits: String,
    negative: bool,
    /// The number of the template's digit places before the first digit.
    blanks: usize,
}

impl Written {
    /// Returns the digits of a number for the layout of a template, or `#` in all places if the number is too large.
    /// Corrects the layout: the digits after `V` now count before the point, and a float gets no more digits than its
    /// type has.
    fn of(value: &Value<'_>, shape: &mut Shape) -> Result<Self, SqlError> {
        let shifted = shape.shifted.unwrap_or(0);
        let text = match value {
            Value::Numeric(number) => rounded(number, shifted, shape.after)?,
            Value::Float4(real) => {
                let shifted = if shifted > 0 { real * 10_f64.powf(shifted as f64) as f32 } else { *real };
                float(f64::from(shifted), 6, &mut shape.after)
            }
            Value::Float8(double) => {
                let shifted = if shifted > 0 { double * 10_f64.powf(shifted as f64) } else { *double };
                float(shifted, 15, &mut shape.after)
            }
            integer => {
                let (int, ty) = (integer.as_int().unwrap_or(0), whole_type(integer));
                let factor = u32::try_from(shifted).ok().and_then(|shifted| 10_i64.checked_pow(shifted));
                let product = if int == 0 { Some(0) } else { factor.and_then(|factor| int.checked_mul(factor)) };
                let fits = |product: &i64| ty == Type::Int8 || i32::try_from(*product).is_ok();
                let mut text = product.filter(fits).ok_or_else(|| out_of_range(ty))?.to_string();
                if shape.after > 0 {
                    text.push('.');
                    text.extend(std::iter::repeat_n('0', shape.after));
                }
                text
            }
        };
        shape.before += shifted;
        let (digits, negative) = match text.strip_prefix('-') {
            Some(digits) => (digits.to_owned(), true),
            None => (text, false),
        };
        let length = digits.find('.').unwrap_or(digits.len());
        if length > shape.before {
            let digits = format!("{}.{}", "#".repeat(shape.before), "#".repeat(shape.after));
            return Ok(Self { digits, negative, blanks: 0 });
        }
        Ok(Self { digits, negative, blanks: shape.before - length })
    }
}

fn whole_type(value: &Value<'_>) -> Type {
    if matches!(value, Value::Int8(_)) { Type::Int8 } else { Type::Int4 }
}

/// Returns a number, multiplied by ten to the power of `shifted`, as a text with `after` digits after the point. Halves
/// are rounded away from zero.
///
/// # Errors
/// 22003 if the product has too many digits.
fn rounded(number: &Numeric, shifted: usize, after: usize) -> Result<String, SqlError> {
    let power = || Numeric::from(10).power(&Numeric::from(shifted as i64)).and_then(|power| power.round(0));
    let product = match shifted {
        0 => number.clone(),
        _ => power().and_then(|power| number.multiply(&power)).map_err(numeric_error)?,
    };
    let mut text = product.round(after as i64).map_err(numeric_error)?.to_string();
    let more = after.saturating_sub(SCALE_MAX as usize);
    if product.is_finite() {
        text.extend(std::iter::repeat_n('0', more));
    }
    Ok(text)
}

/// Returns a float as a text with `after` digits after the point. Reduces `after` if the text would have more than
/// `digits` digits.
fn float(value: f64, digits: usize, after: &mut usize) -> String {
    if !value.is_finite() {
        let name = if value.is_nan() { "NaN" } else { "Infinity" };
        if name.len() >= digits {
            *after = 0;
        } else if name.len() + *after > digits {
            *after = digits - name.len();
        }
        return if value < 0.0 { format!("-{name}") } else { name.to_owned() };
    }
    let whole = format!("{:.0}", value.abs()).len();
    *after = (*after).min(digits.saturating_sub(whole));
    format!("{value:.*}", *after)
}

/// Returns a number in Roman numerals, or 15 times `#` if it is not between 1 and 3999.
///
/// # Errors
/// 22003 if an exact number is out of the range of `integer`.
fn roman(value: &Value<'_>) -> Result<String, SqlError> {
    const ONES: [&str; 10] = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"];
    const TENS: [&str; 10] = ["", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC"];
    const HUNDREDS: [&str; 10] = ["", "C", "CC", "CCC", "CD", "D", "DC", "DCC", "DCCC", "CM"];
    let whole = match value {
        Value::Numeric(number) => {
            number.to_i64().and_then(|whole| i32::try_from(whole).ok()).ok_or_else(|| out_of_range(Type::Int4))?
        }
        Value::Float4(real) => real.round_ties_even() as i32,
        Value::Float8(double) => double.round_ties_even() as i32,
        integer => i32::try_from(integer.as_int().unwrap_or(0)).map_err(|_| out_of_range(Type::Int4))?,
    };
    let Some(number) = usize::try_from(whole).ok().filter(|number| (1..4000).contains(number)) else {
        return Ok("#".repeat(15));
    };
    let place = |power: usize| number / power % 10;
    Ok(format!("{}{}{}{}", "M".repeat(number / 1000), HUNDREDS[place(100)], TENS[place(10)], ONES[place(1)]))
}

/// Formats a number in scientific notation, for `EEEE`.
fn scientific(value: &Value<'_>, shape: &Shape) -> Result<String, SqlError> {
    let text = match value {
        Value::Numeric(number) if number.is_finite() => scientific_numeric(number, shape.after)?,
        Value::Int8(int) => scientific_numeric(&Numeric::from(*int), shape.after)?,
        Value::Float4(real) if real.is_finite() => scientific_float(f64::from(*real), shape.after),
        Value::Float8(double) if double.is_finite() => scientific_float(*double, shape.after),
        Value::Float4(_) | Value::Float8(_) | Value::Numeric(_) => {
            // The sign, the digits, and the places of the exponent.
            let mut text = format!(" {}", "#".repeat(shape.before + shape.after + 5));
            text.replace_range(shape.before + 1..shape.before + 2, ".");
            return Ok(text);
        }
        integer => scientific_float(integer.as_int().unwrap_or(0) as f64, shape.after),
    };
    Ok(if text.starts_with('-') { text } else { format!(" {text}") })
}

fn scientific_float(value: f64, after: usize) -> String {
    let written = format!("{value:.*e}", after.min(MOST_DIGITS));
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{digits}{}e{exponent:+03}", "0".repeat(after.saturating_sub(MOST_DIGITS)))
}

fn scientific_numeric(number: &Numeric, after: usize) -> Result<String, SqlError> {
    let exponent = number.significant().filter(|_| !number.is_zero()).map_or(0, |digits| digits.exponent - 1);
    // The digits with a point after the first of them. Rounding may make it two.
    let unit =
        Numeric::from_significant(&Significant { negative: false, digits: "1".to_owned(), exponent: exponent + 1 });
    let computed = after.min(SCALE_MAX as usize);
    let first = unit.and_then(|unit| number.quotient(&unit, computed as u32)).map_err(numeric_error)?;
    Ok(format!("{first}{}e{exponent:+03}", "0".repeat(after - computed)))
}

/// The state of writing a number by the items of a template.
struct Writer<'n> {
    shape: Shape,
    digits: &'n [u8],
    negative: bool,
    blanks: usize,
    out: String,
    /// The position in `digits` of the next digit or point.
    next: usize,
    /// The number of digit places that have been written.
    place: usize,
    /// The position in `digits` of the last digit that fill mode keeps, or of the point if it keeps no digit after it.
    last_kept: Option<usize>,
    /// The number of digit places in all, one less if there are blanks before the digits or the sign has been written
    /// already.
    places: usize,
    is_sign_written: bool,
    /// Whether the last place was a digit. Only then a comma of the template is written.
    is_in_number: bool,
}

impl<'n> Writer<'n> {
    fn new(mut shape: Shape, written: &'n Written) -> Self {
        let &Written { ref digits, negative, blanks } = written;
        let Flags { plus, minus, fill, point, roman, .. } = shape.flags;
        let is_sign_written = if plus || minus {
            minus
        } else {
            shape.flags.brackets &= negative || !fill;
            if let Some((place, before)) = &mut shape.sign
                && *place == SignPlace::Before
                && *before == shape.before
            {
                *place = SignPlace::After;
            }
            !negative && fill && shape.sign.is_none()
        };
        let digits = digits.as_bytes();
        let mut last_kept = None;
        if fill && point && !roman {
            last_kept = digits.iter().position(|digit| *digit == b'.').map(|point| {
                let last = digits.iter().rposition(|digit| *digit != b'0').unwrap_or(point).max(point);
                match shape.last_zero > blanks {
                    true => last.max((digits.len() - 1).min(shape.last_zero - blanks)),
                    false => last,
                }
            });
        }
        let places = (shape.before + shape.after).wrapping_sub(usize::from(is_sign_written || blanks > 0));
        let (out, next, place, is_in_number) = (String::new(), 0, 0, false);
        Self { shape, digits, negative, blanks, out, next, place, last_kept, places, is_sign_written, is_in_number }
    }

    fn write(mut self, items: &[Item]) -> Result<String, SqlError> {
        let Flags { fill, roman, point, .. } = self.shape.flags;
        let blank = if fill { None } else { Some(' ') };
        for item in items {
            match *item {
                Item::Nine | Item::Zero | Item::Point if roman => {}
                Item::Nine | Item::Zero | Item::Point => self.write_place(*item == Item::Zero),
                Item::Comma if self.is_in_number => self.out.push(','),
                Item::Comma => self.out.extend(blank),
                Item::Currency => self.out.push(' '),
                Item::Roman { lower } => {
                    let numerals = String::from_utf8_lossy(self.digits);
                    let numerals = if lower { numerals.to_lowercase() } else { numerals.into_owned() };
                    let padding = if fill { 0 } else { 15_usize.saturating_sub(numerals.len()) };
                    self.out.extend(std::iter::repeat_n(' ', padding));
                    self.out.push_str(&numerals);
                }
                Item::Ordinal { .. } if roman || self.digits.first() == Some(&b'#') || self.negative || point => {}
                Item::Ordinal { lower } => {
                    let ordinal = ordinal(self.digits)?;
                    self.out.push_str(&if lower { ordinal.to_lowercase() } else { ordinal.to_owned() });
                }
                Item::Minus if self.negative => self.out.push('-'),
                Item::Plus if !self.negative && !roman => self.out.push('+'),
                Item::Minus | Item::Plus => self.out.extend(blank),
                // A Roman number has no sign, and ends there.
                Item::EitherSign if roman => self.out.push('\0'),
                Item::EitherSign => self.out.push(if self.negative { '-' } else { '+' }),
                Item::Literal(literal) => self.out.push(literal),
                Item::Sign | Item::Brackets | Item::FillMode | Item::Shift | Item::Exponent => {}
                Item::Blank | Item::Nothing => {}
            }
        }
        // A place beyond the digits that a float has ends the text.
        if let Some(end) = self.out.find('\0') {
            self.out.truncate(end);
        }
        Ok(self.out)
    }

    fn keeps_only_point(&self) -> bool {
        self.last_kept.is_some_and(|last| self.digits.get(last) == Some(&b'.'))
    }

    /// Whether the next digit is the zero of a number such as `0.5`, and the template does not require this zero.
    fn is_at_idle_zero(&self) -> bool {
        self.shape.first_zero.is_none() && self.next == 0 && self.digits.first() == Some(&b'0') && self.shape.after != 0
    }

    /// Writes the next digit, the decimal point, or a blank in its place. `zero` says that the item is `0`.
    fn write_place(&mut self, zero: bool) {
        let fill = self.shape.flags.fill;
        self.is_in_number = false;
        if !self.is_sign_written
            && (self.place >= self.blanks || self.shape.first_zero == Some(self.place))
            && (!self.is_at_idle_zero() || self.keeps_only_point())
        {
            self.write_leading_sign();
        }
        if self.place < self.blanks {
            match self.shape.first_zero {
                Some(first) if first <= self.place => {
                    self.out.push('0');
                    self.is_in_number = true;
                }
                _ if fill => {}
                _ => self.out.push(' '),
            }
        } else {
            self.write_digit(zero);
        }
        let end = match self.last_kept == Some(self.next) {
            true => self.place,
            false => {
                self.places.wrapping_add(usize::from(self.blanks > 0)).wrapping_add(usize::from(self.shape.flags.point))
            }
        };
        if self.place + 1 == end {
            if self.is_sign_written && self.shape.flags.brackets {
                self.out.push(if self.negative { '>' } else { ' ' });
            } else if matches!(self.shape.sign, Some((SignPlace::After, _))) {
                self.out.push(if self.negative { '-' } else { '+' });
            }
        }
        self.place += 1;
    }

    fn write_leading_sign(&mut self) {
        match self.shape.sign {
            Some((SignPlace::After, _)) => return,
            Some((SignPlace::Before, _)) => self.out.push(if self.negative { '-' } else { '+' }),
            None if self.shape.flags.brackets => self.out.push(if self.negative { '<' } else { ' ' }),
            None if self.negative => self.out.push('-'),
            None if !self.shape.flags.fill => self.out.push(' '),
            None => {}
        }
        self.is_sign_written = true;
    }

    fn write_digit(&mut self, zero: bool) {
        let fill = self.shape.flags.fill;
        match self.digits.get(self.next) {
            Some(b'.') => {
                if !self.keeps_only_point() || fill {
                    self.out.push('.');
                }
            }
            _ if !zero && self.last_kept.is_some_and(|last| self.next > last) => {}
            _ if self.is_at_idle_zero() => {
                if !fill {
                    self.out.push(' ');
                } else if self.keeps_only_point() {
                    self.out.push('0');
                }
            }
            digit => {
                self.out.push(digit.copied().map_or('\0', char::from));
                self.is_in_number = true;
            }
        }
        if self.next < self.digits.len() {
            self.next += 1;
        }
    }
}

/// Returns the ending of an ordinal number in capital letters, such as `ST`.
fn ordinal(digits: &[u8]) -> Result<&'static str, SqlError> {
    let is_teen = digits.len() > 1 && digits[digits.len() - 2] == b'1';
    match digits.last() {
        Some(last) if !last.is_ascii_digit() => Err(invalid_number(&String::from_utf8_lossy(digits))),
        _ if is_teen => Ok("TH"),
        Some(b'1') => Ok("ST"),
        Some(b'2') => Ok("ND"),
        Some(b'3') => Ok("RD"),
        _ => Ok("TH"),
    }
}

fn invalid_number(text: &str) -> SqlError {
    SqlError::new(state::INVALID_TEXT_REPRESENTATION, format!("\"{text}\" is not a number"))
}
