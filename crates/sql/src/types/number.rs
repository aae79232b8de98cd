//! Numbers in the text format, and numerics in the binary format, with PostgreSQL's digits of base 10,000.

use crate::{SqlError, state};
use bytes::{Buf, BufMut, BytesMut};
use hotrow_numeric::{Groups, Numeric, NumericError, SCALE_MAX};
use hotrow_storage::{Precision, Type};
use std::fmt::{self, Write};
use std::num::IntErrorKind;
use std::str::FromStr;

pub(super) fn syntax(ty: impl fmt::Display, text: &str) -> SqlError {
    SqlError::new(state::INVALID_TEXT_REPRESENTATION, format!("invalid input syntax for type {ty}: \"{text}\""))
}

/// Trims the characters that PostgreSQL accepts as white space around a value.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c'])
}

pub(super) fn parse_integer<T: FromStr<Err = std::num::ParseIntError>>(ty: Type, text: &str) -> Result<T, SqlError> {
    T::from_str(trim(text)).map_err(|error| match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => {
            SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, format!("value \"{text}\" is out of range for type {ty}"))
        }
        _ => syntax(ty, text),
    })
}

/// Parses an OID, and returns its 32 bits. A negative number is accepted if it is in the range of `integer`, and keeps
/// its bits.
pub(super) fn parse_oid(text: &str) -> Result<i32, SqlError> {
    match trim(text).parse::<i32>() {
        Ok(number) => Ok(number),
        Err(_) => parse_integer::<u32>(Type::Oid, text).map(u32::cast_signed),
    }
}

/// Parses a float.
///
/// # Errors
/// 22P02 if the text is no number. 22003 if the number is too large for the type, or if it is not zero but would become
/// zero.
pub(super) fn parse_float<T>(ty: Type, text: &str) -> Result<T, SqlError>
where
    T: FromStr + Copy + PartialEq + Default + Into<f64>,
{
    let trimmed = trim(text);
    let value: T = trimmed.parse().map_err(|_| syntax(ty, text))?;
    let wide: f64 = value.into();
    let has_digit = |digits: &str, range: std::ops::RangeInclusive<u8>| digits.bytes().any(|b| range.contains(&b));
    let mantissa = trimmed.split(['e', 'E']).next().unwrap_or_default();
    let overflow = wide.is_infinite() && has_digit(trimmed, b'0'..=b'9');
    let underflow = value == T::default() && has_digit(mantissa, b'1'..=b'9');
    if overflow || underflow {
        let message = format!("\"{text}\" is out of range for type {ty}");
        return Err(SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, message));
    }
    Ok(value)
}

/// Appends the shortest digits that parse to the same number, in PostgreSQL's layout: `%g` with an exponent of at least
/// two digits. `fixed_below` is the power of ten from which the number is written with an exponent: 15 for double
/// precision, 6 for real.
pub(super) fn write_float(shortest: impl fmt::LowerExp, wide: f64, fixed_below: i32, out: &mut BytesMut) {
    if !wide.is_finite() {
        let name: &[u8] = match wide {
            wide if wide.is_nan() => b"NaN",
            wide if wide > 0.0 => b"Infinity",
            _ => b"-Infinity",
        };
        return out.put_slice(name);
    }
    let mut digits = Digits::default();
    write!(digits, "{shortest:e}").expect("a float has at most 24 characters");
    let written = digits.as_str();
    let (mantissa, exponent) = written.split_once('e').expect("the format always has an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent is an integer");
    let unsigned = mantissa.strip_prefix('-').unwrap_or(mantissa);
    if unsigned.len() < mantissa.len() {
        out.put_u8(b'-');
    }
    let (first, rest) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    if !(-4..fixed_below).contains(&exponent) {
        out.put_slice(unsigned.as_bytes());
        let sign = if exponent < 0 { '-' } else { '+' };
        return write!(out, "e{sign}{:02}", exponent.abs()).expect("the buffer grows");
    }
    let Ok(whole) = usize::try_from(exponent) else {
        out.put_slice(b"0.");
        out.put_bytes(b'0', exponent.unsigned_abs() as usize - 1);
        out.put_slice(first.as_bytes());
        return out.put_slice(rest.as_bytes());
    };
    out.put_slice(first.as_bytes());
    out.put_slice(&rest.as_bytes()[..whole.min(rest.len())]);
    out.put_bytes(b'0', whole.saturating_sub(rest.len()));
    if rest.len() > whole {
        out.put_u8(b'.');
        out.put_slice(&rest.as_bytes()[whole..]);
    }
}

/// Appends a number that is rounded to `digits` significant digits, at least one, in the layout of C's `%g`.
pub(super) fn write_rounded(value: f64, digits: i32, out: &mut BytesMut) {
    let precision = digits.max(1);
    let rounded = format!("{value:.*e}", precision as usize - 1);
    let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    // Zeros at the end of a fraction are left out.
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    write_float(Written(&format!("{mantissa}e{exponent}")), value, precision, out);
}

/// Returns a number with six significant digits, in the layout of C's `%g`.
pub fn six_digits(value: f64) -> String {
    let mut out = BytesMut::new();
    write_rounded(value, 6, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A number that has been written already.
struct Written<'a>(&'a str);

impl fmt::LowerExp for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A short text on the stack.
#[derive(Default)]
struct Digits {
    bytes: [u8; 32],
    len: usize,
}

impl Digits {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).expect("digits are ASCII")
    }
}

impl Write for Digits {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

pub(super) fn write_numeric(value: &Numeric, out: &mut BytesMut) {
    write!(out, "{value}").expect("the buffer grows");
}

/// Returns the error of an operation on numerics.
pub fn numeric_error(error: NumericError) -> SqlError {
    let state = match error {
        NumericError::Syntax => state::INVALID_TEXT_REPRESENTATION,
        NumericError::Overflow | NumericError::NegativeFactorial => state::NUMERIC_VALUE_OUT_OF_RANGE,
        NumericError::DivisionByZero => state::DIVISION_BY_ZERO,
        NumericError::LogarithmOfZero | NumericError::LogarithmOfNegative => state::INVALID_ARGUMENT_FOR_LOGARITHM,
        NumericError::NegativeRoot | NumericError::ZeroToNegative | NumericError::NegativeToFraction => {
            state::INVALID_ARGUMENT_FOR_POWER_FUNCTION
        }
    };
    SqlError::new(state, error.to_string())
}

/// Parses a numeric: digits with a point or an exponent, `NaN`, or an infinity. If `precision` is given, the number is
/// rounded to its scale.
pub(super) fn parse_numeric(text: &str, precision: Option<Precision>) -> Result<Numeric, SqlError> {
    let value = trim(text).parse::<Numeric>().map_err(|error| match error {
        NumericError::Syntax => syntax("numeric", text),
        error => numeric_error(error),
    })?;
    match precision {
        Some(precision) => fit_numeric(value, precision),
        None => Ok(value),
    }
}

/// Returns a numeric as a `numeric(precision, scale)` stores it: rounded to the scale, half away from zero.
///
/// # Errors
/// 22003 if the rounded number has more digits than the precision allows, or is an infinity.
pub fn fit_numeric(value: Numeric, precision: Precision) -> Result<Numeric, SqlError> {
    let Precision { precision, scale } = precision;
    let overflow = |detail: String| {
        let error = SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow");
        Err(error.detail(format!("A field with precision {precision}, scale {scale} {detail}")))
    };
    if value.is_infinite() {
        return overflow("cannot hold an infinite value.".to_owned());
    }
    let rounded = value.round(i64::from(scale)).map_err(numeric_error)?;
    // The power of ten that the number may not reach.
    let digits = i32::from(precision) - i32::from(scale);
    let fits = match rounded.to_decimal() {
        Some(small) if scale >= 0 => {
            10_u128.checked_pow(u32::from(precision)).is_none_or(|limit| small.mantissa().unsigned_abs() < limit)
        }
        _ => rounded.significant().is_none_or(|significant| significant.exponent <= digits || rounded.is_zero()),
    };
    if fits {
        return Ok(rounded);
    }
    let limit = if digits == 0 { "1".to_owned() } else { format!("10^{digits}") };
    overflow(format!("must round to an absolute value less than {limit}."))
}

// The signs of the binary format.
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xC000;
const INFINITY: u16 = 0xD000;
const NEGATIVE_INFINITY: u16 = 0xF000;

/// The number of digits after the point that PostgreSQL sends for an infinity.
const SCALE_OF_INFINITY: u16 = 32;

const BASE: u16 = 10_000;

/// Appends a numeric in the binary format: the number of digits, the weight of the first digit, the sign, the number of
/// decimal digits after the point, and then digits of base 10,000.
pub(super) fn write_numeric_binary(value: &Numeric, out: &mut BytesMut) {
    let Some(Groups { negative, weight, digits, scale }) = value.groups() else {
        let (sign, scale) = match value.sign() {
            0 => (NAN, 0),
            ..0 => (NEGATIVE_INFINITY, SCALE_OF_INFINITY),
            _ => (INFINITY, SCALE_OF_INFINITY),
        };
        out.put_u32(0);
        out.put_u16(sign);
        return out.put_u16(scale);
    };
    out.put_u16(digits.len() as u16);
    out.put_i16(weight as i16);
    out.put_u16(if negative { NEGATIVE } else { 0 });
    out.put_u16(scale as u16);
    digits.into_iter().for_each(|digit| out.put_u16(digit));
}

pub(super) fn read_numeric_binary(mut bytes: &[u8], precision: Option<Precision>) -> Result<Numeric, SqlError> {
    let invalid = |what: &str| {
        SqlError::new(state::INVALID_BINARY_REPRESENTATION, format!("invalid {what} in external \"numeric\" value"))
    };
    if bytes.len() < 8 {
        return Err(invalid("length"));
    }
    let (count, weight, sign, scale) = (bytes.get_u16(), bytes.get_i16(), bytes.get_u16(), bytes.get_u16());
    if bytes.len() != usize::from(count) * 2 {
        return Err(invalid("length"));
    }
    let signs = [0, NEGATIVE, NAN, INFINITY, NEGATIVE_INFINITY];
    let digits: Vec<u16> = (0..count).map(|_| bytes.get_u16()).collect();
    let wrong = match () {
        () if !signs.contains(&sign) => Some("sign"),
        () if u32::from(scale) > SCALE_MAX => Some("scale"),
        () if digits.iter().any(|&digit| digit >= BASE) => Some("digit"),
        () => None,
    };
    if let Some(wrong) = wrong {
        return Err(invalid(wrong));
    }
    let value = match sign {
        NAN => Numeric::NAN,
        INFINITY => Numeric::INFINITY,
        NEGATIVE_INFINITY => Numeric::NEGATIVE_INFINITY,
        _ => {
            let groups =
                Groups { negative: sign == NEGATIVE, weight: i32::from(weight), digits, scale: u32::from(scale) };
            Numeric::from_groups(&groups).map_err(numeric_error)?
        }
    };
    match precision {
        Some(precision) => fit_numeric(value, precision),
        None => Ok(value),
    }
}
