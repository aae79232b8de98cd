//! Numbers as digits: of base ten, and of base 10,000, with which PostgreSQL stores numbers and chooses scales.

use crate::NumericError;
use crate::mantissa::{power_of_ten, rescaled_up};
use crate::number::{Numeric, Repr};
use num_bigint::BigInt;

/// The number of decimal digits of a digit of base 10,000.
const GROUP_DIGITS: i64 = 4;

/// The significant digits of a finite number: the number is 0.`digits` * 10^`exponent`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Significant {
    /// Whether the number is less than zero.
    pub negative: bool,
    /// The decimal digits. The first and the last are not zero. A zero has none.
    pub digits: String,
    /// The power of ten before whose first digit the point is.
    pub exponent: i32,
}

/// A finite number in base 10,000: the sum of `digits[i]` * 10,000^(`weight` - i).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// Whether the number is less than zero.
    pub negative: bool,
    /// The power of 10,000 of the first digit; 0 for zero.
    pub weight: i32,
    /// The digits, each below 10,000. The first and the last are not zero. A zero has none.
    pub digits: Vec<u16>,
    /// The number of decimal digits after the point.
    pub scale: u32,
}

impl Numeric {
    /// Returns the significant digits, or `None` if the number is not finite.
    pub fn significant(&self) -> Option<Significant> {
        let (digits, scale) = match &self.0 {
            Repr::Small(small) => (small.mantissa().unsigned_abs().to_string(), small.scale()),
            Repr::Large(large) => (large.mantissa.magnitude().to_string(), large.scale),
            Repr::Infinite { .. } | Repr::NaN => return None,
        };
        if self.is_zero() {
            return Some(Significant { negative: false, digits: String::new(), exponent: 0 });
        }
        let exponent = digits.len() as i32 - scale as i32;
        let digits = digits.trim_end_matches('0').to_owned();
        Some(Significant { negative: self.is_negative(), digits, exponent })
    }

    /// Returns the number with these significant digits, which are ASCII, and without zeros at the end of its fraction.
    ///
    /// # Errors
    /// [`NumericError::Overflow`] if it has too many digits, [`NumericError::Syntax`] if a digit is none.
    pub fn from_significant(significant: &Significant) -> Result<Self, NumericError> {
        let Significant { negative, digits, exponent } = significant;
        if digits.is_empty() {
            return Ok(Self::ZERO);
        }
        let sign = if *negative { "-" } else { "" };
        format!("{sign}{digits}e{}", i64::from(*exponent) - digits.len() as i64).parse()
    }

    /// Returns the digits of base 10,000, or `None` if the number is not finite.
    pub fn groups(&self) -> Option<Groups> {
        let scale = self.scale()?;
        let Significant { negative, digits, exponent } = self.significant()?;
        if digits.is_empty() {
            return Some(Groups { negative, weight: 0, digits: Vec::new(), scale });
        }
        let weight = (i64::from(exponent) - 1).div_euclid(GROUP_DIGITS);
        // Zeros before the first digit fill its group, and zeros after the last one.
        let before = (weight + 1) * GROUP_DIGITS - i64::from(exponent);
        let after = (-(before + digits.len() as i64)).rem_euclid(GROUP_DIGITS);
        let padded = format!("{}{digits}{}", "0".repeat(before as usize), "0".repeat(after as usize));
        let group = |group: &[u8]| group.iter().fold(0_u16, |sum, digit| sum * 10 + u16::from(digit - b'0'));
        let groups = padded.as_bytes().chunks(GROUP_DIGITS as usize).map(group).collect();
        Some(Groups { negative, weight: weight as i32, digits: groups, scale })
    }

    /// Returns the number with these digits of base 10,000. Digits beyond the scale are cut off.
    ///
    /// # Errors
    /// [`NumericError::Overflow`] if the number has too many digits.
    pub fn from_groups(groups: &Groups) -> Result<Self, NumericError> {
        let Groups { negative, weight, digits, scale } = groups;
        let text: String = digits.iter().map(|digit| format!("{digit:04}")).collect();
        let mantissa = BigInt::parse_bytes(text.as_bytes(), 10).unwrap_or_default();
        let mantissa = if *negative { -mantissa } else { mantissa };
        let exponent = GROUP_DIGITS * (i64::from(*weight) + 1 - digits.len() as i64);
        // The mantissa counts units of 10^`exponent`, and is converted to units of 10^-`scale`.
        let shift = exponent + i64::from(*scale);
        let mantissa = match u32::try_from(shift) {
            _ if mantissa == BigInt::default() => mantissa,
            Ok(up) if up > 600_000 => return Err(NumericError::Overflow),
            Ok(up) => rescaled_up(mantissa, up),
            Err(_) => mantissa / power_of_ten(shift.unsigned_abs()),
        };
        Self::from_big(mantissa, *scale)
    }

    /// Returns the power of 10,000 at which the first digit of base 10,000 stands, and that digit; zeros for a number
    /// that is zero or not finite.
    pub(crate) fn leading(&self) -> (i32, u32) {
        if let Some((mantissa, scale)) = self.small() {
            return leading_of(mantissa.unsigned_abs(), scale as i32);
        }
        let groups = self.groups();
        groups.map_or((0, 0), |Groups { weight, digits, .. }| (weight, digits.first().map_or(0, |&first| first.into())))
    }
}

/// Returns the power of 10,000 of the first digit of base 10,000 of `mantissa` / 10^`scale`, and that digit.
fn leading_of(mantissa: u128, scale: i32) -> (i32, u32) {
    if mantissa == 0 {
        return (0, 0);
    }
    let exponent = mantissa.ilog10() as i32 - scale;
    let weight = exponent.div_euclid(4);
    // The number of decimal digits of the first digit of base 10,000.
    let count = exponent.rem_euclid(4) as u32 + 1;
    let all = mantissa.ilog10() + 1;
    let digit = match all.checked_sub(count) {
        Some(rest) => mantissa / 10_u128.pow(rest),
        None => mantissa * 10_u128.pow(count - all),
    };
    (weight, digit as u32)
}
