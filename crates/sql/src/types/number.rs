//! Numbers in the text format, and numerics in the binary format, with PostgreSQL's digits of base 10,000.

use crate::{SqlError, state};
use bytes::{Buf, BufMut, BytesMut};
use hotrow_storage::{Precision, Type};
use rust_decimal::{Decimal, RoundingStrategy};
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

/// Parses an object number, and returns its bits. A negative number is one of 32 bits with a sign.
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

pub(super) fn write_numeric(value: Decimal, out: &mut BytesMut) {
    write!(out, "{value}").expect("the buffer grows");
}

/// Parses a numeric: digits with a point or an exponent. If `precision` is given, the number is rounded to its scale.
/// Otherwise the number must fit with all of its digits.
pub(super) fn parse_numeric(text: &str, precision: Option<Precision>) -> Result<Decimal, SqlError> {
    let ty = "numeric";
    let trimmed = trim(text);
    if ["nan", "infinity", "-infinity", "+infinity", "inf", "-inf", "+inf"]
        .iter()
        .any(|name| trimmed.eq_ignore_ascii_case(name))
    {
        let message = format!("numeric holds no \"{trimmed}\"");
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message).hint("Use double precision."));
    }
    let (mantissa, exponent) = match trimmed.split_once(['e', 'E']) {
        None => (trimmed, 0),
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().map_err(|_| syntax(ty, text))?),
    };
    let unsigned = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
    let digits = unsigned.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 || digits + usize::from(unsigned.contains('.')) != unsigned.len() {
        return Err(syntax(ty, text));
    }
    let Some(precision) = precision else { return exact(mantissa, exponent) };
    let mut value = Decimal::from_str(mantissa).map_err(|_| overflow())?;
    if exponent != 0 {
        value = shift(value, exponent)?;
    }
    fit_numeric(value, precision)
}

/// Returns `mantissa * 10^exponent`. 22003 if not all of its digits fit.
fn exact(mantissa: &str, exponent: i32) -> Result<Decimal, SqlError> {
    let mut value = Decimal::from_str_exact(mantissa).map_err(|_| overflow())?;
    if exponent == 0 || value.is_zero() {
        return Ok(value);
    }
    let too_deep = |value: &Decimal| i64::from(value.scale()) - i64::from(exponent) > i64::from(Decimal::MAX_SCALE);
    if too_deep(&value) {
        value.normalize_assign();
        if too_deep(&value) {
            return Err(overflow());
        }
    }
    shift(value, exponent)
}

/// Returns `value * 10^exponent`. 22003 if it is too large; digits that do not fit behind the point are dropped.
fn shift(value: Decimal, exponent: i32) -> Result<Decimal, SqlError> {
    if value.is_zero() {
        return Ok(Decimal::ZERO);
    }
    let scale = i64::from(value.scale()) - i64::from(exponent);
    if scale <= 0 {
        let factor = u32::try_from(-scale).ok().and_then(|power| 10_i128.checked_pow(power)).ok_or_else(overflow)?;
        let mantissa = value.mantissa().checked_mul(factor).ok_or_else(overflow)?;
        return Decimal::try_from_i128_with_scale(mantissa, 0).map_err(|_| overflow());
    }
    let scale = u32::try_from(scale).unwrap_or(u32::MAX);
    if scale <= Decimal::MAX_SCALE {
        return Decimal::try_from_i128_with_scale(value.mantissa(), scale).map_err(|_| overflow());
    }
    let divisor = 10_i128.checked_pow(scale - Decimal::MAX_SCALE).unwrap_or(i128::MAX);
    Decimal::try_from_i128_with_scale(value.mantissa() / divisor, Decimal::MAX_SCALE).map_err(|_| overflow())
}

/// Returns a numeric as a `numeric(precision, scale)` stores it: rounded to the scale, half away from zero.
///
/// # Errors
/// 22003 if the rounded number has more digits than the precision allows.
pub fn fit_numeric(value: Decimal, precision: Precision) -> Result<Decimal, SqlError> {
    let Precision { precision, scale } = precision;
    let mut rounded = value.round_dp_with_strategy(u32::from(scale), RoundingStrategy::MidpointAwayFromZero);
    rounded.rescale(u32::from(scale));
    let limit = 10_u128.checked_pow(u32::from(precision)).unwrap_or(u128::MAX);
    if rounded.scale() == u32::from(scale) && rounded.mantissa().unsigned_abs() < limit {
        return Ok(rounded);
    }
    Err(SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow").detail(format!(
        "A field with precision {precision}, scale {scale} must round to an absolute value less than {}{}.",
        if precision == scale { "1" } else { "10^" },
        if precision == scale { String::new() } else { (i32::from(precision) - i32::from(scale)).to_string() },
    )))
}

fn overflow() -> SqlError {
    SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
        .detail("A numeric holds up to 28 digits.")
}

const NEGATIVE: u16 = 0x4000;
const BASE: u128 = 10_000;

/// Appends a numeric in the binary format: the number of digits, the weight of the first digit, the sign, the number of
/// decimal digits after the point, and then digits of base 10,000.
pub(super) fn write_numeric_binary(value: Decimal, out: &mut BytesMut) {
    let scale = value.scale();
    let power = 10_u128.pow(scale);
    let mantissa = value.mantissa().unsigned_abs();
    let fraction_groups = scale.div_ceil(4);
    let mut fraction = mantissa % power * 10_u128.pow(fraction_groups * 4 - scale);
    let mut whole = mantissa / power;
    // 29 decimal digits and a point anywhere: at most 8 groups before it and 7 behind.
    let mut groups = [0_u16; 16];
    let mut at = groups.len();
    for _ in 0..fraction_groups {
        at -= 1;
        groups[at] = (fraction % BASE) as u16;
        fraction /= BASE;
    }
    let point = at;
    while whole > 0 {
        at -= 1;
        groups[at] = (whole % BASE) as u16;
        whole /= BASE;
    }
    let first = (at..groups.len()).find(|&group| groups[group] != 0).unwrap_or(groups.len());
    let last = (first..groups.len()).rfind(|&group| groups[group] != 0).map_or(first, |group| group + 1);
    let weight = if first == last { 0 } else { point as i16 - first as i16 - 1 };
    out.put_u16((last - first) as u16);
    out.put_i16(weight);
    out.put_u16(if value.is_sign_negative() && first != last { NEGATIVE } else { 0 });
    out.put_u16(scale as u16);
    for &group in &groups[first..last] {
        out.put_u16(group);
    }
}

pub(super) fn read_numeric_binary(mut bytes: &[u8], precision: Option<Precision>) -> Result<Decimal, SqlError> {
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
    match sign {
        0 | NEGATIVE => {}
        0xC000 | 0xD000 | 0xF000 => {
            let message = "numeric holds no NaN and no infinity";
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message).hint("Use double precision."));
        }
        _ => return Err(invalid("sign")),
    }
    let mut mantissa = 0_u128;
    for _ in 0..count {
        let digit = bytes.get_u16();
        if u128::from(digit) >= BASE {
            return Err(invalid("digit"));
        }
        mantissa = mantissa.checked_mul(BASE).and_then(|m| m.checked_add(u128::from(digit))).ok_or_else(overflow)?;
    }
    let scale = u32::from(scale).min(Decimal::MAX_SCALE);
    // The mantissa counts units of 10^unit, and is converted to units of 10^-scale.
    let unit = 4 * (i32::from(weight) + 1 - i32::from(count));
    let up = unit + scale as i32;
    let power = 10_u128.checked_pow(up.unsigned_abs());
    mantissa = match (mantissa, up, power) {
        (0, ..) => 0,
        (mantissa, 0.., power) => power.and_then(|power| mantissa.checked_mul(power)).ok_or_else(overflow)?,
        (mantissa, _, power) => power.map_or(0, |power| mantissa / power),
    };
    let signed = i128::try_from(mantissa).map_err(|_| overflow())?;
    let signed = if sign == NEGATIVE { -signed } else { signed };
    let value = Decimal::try_from_i128_with_scale(signed, scale).map_err(|_| overflow())?;
    precision.map_or(Ok(value), |precision| fit_numeric(value, precision))
}
