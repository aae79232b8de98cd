//! Numbers as text.

use crate::NumericError;
use crate::mantissa::rescaled_up;
use crate::number::{Numeric, Repr, SCALE_MAX, WHOLE_DIGITS_MAX};
use num_bigint::BigInt;
use rust_decimal::Decimal;
use std::fmt;
use std::str::FromStr;

impl FromStr for Numeric {
    type Err = NumericError;

    /// Reads digits with a point or an exponent, `NaN`, or an infinity. There may be no blanks around them.
    ///
    /// # Errors
    /// [`NumericError::Syntax`] if the text is no number, [`NumericError::Overflow`] if it has too many digits.
    fn from_str(text: &str) -> Result<Self, NumericError> {
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if text.eq_ignore_ascii_case("nan") {
            return Ok(Self::NAN);
        }
        if ["infinity", "inf"].iter().any(|name| unsigned.eq_ignore_ascii_case(name)) {
            return Ok(if negative { Self::NEGATIVE_INFINITY } else { Self::INFINITY });
        }
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            None => (unsigned, 0),
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.len() + fraction.len() == 0 || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
            return Err(NumericError::Syntax);
        }
        let whole = whole.trim_start_matches('0');
        // The number is `digits` * 10^`-scale`.
        let scale = fraction.len() as i64 - exponent;
        // The digits before the point when the exponent has moved it. Zeros before the first other digit are none.
        let zeros = if whole.is_empty() { fraction.len() - fraction.trim_start_matches('0').len() } else { 0 };
        let is_zero = whole.is_empty() && zeros == fraction.len();
        let before = whole.len() as i64 + exponent - zeros as i64;
        if scale > i64::from(SCALE_MAX) || !is_zero && before > WHOLE_DIGITS_MAX as i64 {
            return Err(NumericError::Overflow);
        }
        let digits = whole.len() + fraction.len();
        if digits + usize::try_from(-scale).unwrap_or(0) <= 28 && scale <= i64::from(Decimal::MAX_SCALE) {
            let mut mantissa = 0_i128;
            for digit in whole.bytes().chain(fraction.bytes()) {
                mantissa = mantissa * 10 + i128::from(digit - b'0');
            }
            let power = u32::try_from(-scale).unwrap_or(0);
            mantissa *= 10_i128.pow(power);
            return Ok(Self::new(if negative { -mantissa } else { mantissa }, scale.max(0) as u32));
        }
        let digits = [whole, fraction].concat();
        let mantissa = BigInt::parse_bytes(digits.as_bytes(), 10).unwrap_or_default();
        let mantissa = if negative { -mantissa } else { mantissa };
        match u32::try_from(scale) {
            Ok(scale) => Self::from_big(mantissa, scale),
            Err(_) if mantissa == BigInt::default() => Ok(Self::ZERO),
            Err(_) => Self::from_big(rescaled_up(mantissa, scale.unsigned_abs() as u32), 0),
        }
    }
}

/// Reads an exponent. The limits of numbers are far below those of the result.
fn read_exponent(text: &str) -> Result<i64, NumericError> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(NumericError::Syntax);
    }
    let size: i64 = digits.parse().unwrap_or(i64::MAX);
    // An exponent has as many bits as an integer of SQL.
    if size >= i64::from(i32::MAX) / 2 {
        return Err(NumericError::Overflow);
    }
    Ok(if text.starts_with('-') { -size } else { size })
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mantissa, scale) = match &self.0 {
            Repr::Small(small) => return write!(f, "{small}"),
            Repr::NaN => return f.write_str("NaN"),
            Repr::Infinite { negative: false } => return f.write_str("Infinity"),
            Repr::Infinite { negative: true } => return f.write_str("-Infinity"),
            Repr::Large(large) => (&large.mantissa, large.scale as usize),
        };
        if self.is_negative() {
            f.write_str("-")?;
        }
        let digits = mantissa.magnitude().to_string();
        match digits.len().checked_sub(scale) {
            Some(0) | None => write!(f, "0.{digits:0>scale$}"),
            Some(whole) if scale == 0 => f.write_str(&digits[..whole]),
            Some(whole) => write!(f, "{}.{}", &digits[..whole], &digits[whole..]),
        }
    }
}
