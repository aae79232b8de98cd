//! Functions: roots, powers, exponentials, logarithms, and those of whole numbers.
//!
//! The scales of their results are those that PostgreSQL chooses, by the same estimates of the size of the result.

use crate::NumericError;
use crate::arithmetic::{DISPLAY_SCALE_MAX, SIGNIFICANT_MIN};
use crate::fixed;
use crate::mantissa::{power_of_ten, rescaled_up, rounded_quotient};
use crate::number::Numeric;
use num_bigint::{BigInt, BigUint, Sign};
use std::f64::consts::LOG10_E;

/// The digits beyond those of a result with which a function computes. A result that is almost half way between two
/// numbers, such as ln(1 + 1e-16), needs many of them.
const GUARD_DIGITS: i64 = 40;

/// The exponent of e from which a result has too many digits, or too many zeros after the point.
const EXPONENT_MAX: f64 = 6_000.0;

/// The greatest number whose factorial is a number.
const FACTORIAL_MAX: i64 = 32_177;

impl Numeric {
    /// Returns the square root, with at least 16 significant digits.
    ///
    /// # Errors
    /// [`NumericError::NegativeRoot`] if the number is negative.
    pub fn sqrt(&self) -> Result<Self, NumericError> {
        if self.is_negative() {
            return Err(NumericError::NegativeRoot);
        }
        let whole_digits = i64::from(self.leading().0) * 2 + 1;
        self.sqrt_to(self.chosen_scale(SIGNIFICANT_MIN - whole_digits))
    }

    /// Returns the square root of a number that is not negative, rounded to `to` digits after the point.
    pub(crate) fn sqrt_to(&self, to: u32) -> Result<Self, NumericError> {
        let Some((mantissa, scale)) = self.parts() else { return Ok(self.clone()) };
        // The root of the number in units of a hundredth of the last digit's square has one digit more than wanted.
        let up = 2 * (i64::from(to) + 1) - i64::from(scale);
        let square = match u32::try_from(up) {
            Ok(up) => rescaled_up(mantissa, up),
            Err(_) => mantissa / power_of_ten(up.unsigned_abs()),
        };
        Self::from_big((square.sqrt() + 5_u32) / 10_u32, to)
    }

    /// Returns e raised to the number, with at least 16 significant digits.
    ///
    /// # Errors
    /// [`NumericError::Overflow`] if the number is 6,000 or more.
    pub fn exp(&self) -> Result<Self, NumericError> {
        let Some((mantissa, scale)) = self.parts() else {
            return Ok(if self.is_negative() { Self::ZERO } else { self.clone() });
        };
        let estimate = self.to_f64();
        let weight = (estimate * LOG10_E) as i64;
        let to = self.chosen_scale(SIGNIFICANT_MIN.saturating_sub(weight));
        if estimate.abs() >= EXPONENT_MAX {
            return if estimate > 0.0 { Err(NumericError::Overflow) } else { Ok(Self::new(0, to)) };
        }
        // The digits before the point multiply the error of the exponent.
        let bits = fixed::bits_of(i64::from(to) + weight.max(0) + GUARD_DIGITS);
        let result = fixed::exp(&fixed::from_decimal(&mantissa, scale, bits), bits);
        Self::from_big(fixed::to_decimal(&result, bits, to), to)
    }

    /// Returns the natural logarithm, with at least 16 significant digits.
    ///
    /// # Errors
    /// [`NumericError::LogarithmOfZero`], [`NumericError::LogarithmOfNegative`].
    pub fn ln(&self) -> Result<Self, NumericError> {
        self.check_logarithm()?;
        let Some((mantissa, scale)) = self.parts() else { return Ok(self.clone()) };
        let to = self.chosen_scale(SIGNIFICANT_MIN - self.logarithm_weight());
        let bits = fixed::bits_of(i64::from(to) + GUARD_DIGITS);
        Self::from_big(fixed::to_decimal(&fixed::ln(&mantissa, scale, bits), bits, to), to)
    }

    /// Returns the logarithm to a base, with at least 16 significant digits.
    ///
    /// # Errors
    /// [`NumericError::LogarithmOfZero`] and [`NumericError::LogarithmOfNegative`] for the number or the base,
    /// [`NumericError::DivisionByZero`] if the base is one.
    pub fn log(&self, base: &Self) -> Result<Self, NumericError> {
        if self.is_nan() || base.is_nan() {
            return Ok(Self::NAN);
        }
        // Of two finite numbers that have no logarithm, the base is named. Beside an infinity, a negative number is.
        let is_base_first = self.is_finite() && base.is_finite() || self.sign() >= base.sign();
        let (first, second) = if is_base_first { (base, self) } else { (self, base) };
        first.check_logarithm()?;
        second.check_logarithm()?;
        let (number, base_parts) = match (self.parts(), base.parts()) {
            (Some(number), Some(base)) => (number, base),
            (None, None) => return Ok(Self::NAN),
            (Some(_), None) => return Ok(Self::ZERO),
            (None, Some(_)) => return Ok(Self::INFINITY),
        };
        let (number_weight, base_weight) = (self.logarithm_weight(), base.logarithm_weight());
        let weight = number_weight - base_weight;
        let to = self.chosen_scale(SIGNIFICANT_MIN - weight).max(base.chosen_scale(0));
        // Both logarithms have as many significant digits as the quotient, and more.
        let bits_of = |own_weight: i64| fixed::bits_of((i64::from(to) + weight - own_weight).max(0) + GUARD_DIGITS);
        let (number_bits, base_bits) = (bits_of(number_weight), bits_of(base_weight));
        let dividend = fixed::ln(&number.0, number.1, number_bits) << base_bits;
        let divisor = fixed::ln(&base_parts.0, base_parts.1, base_bits) << number_bits;
        if divisor.sign() == Sign::NoSign {
            return Err(NumericError::DivisionByZero);
        }
        let quotient = rounded_quotient(&(dividend * power_of_ten(u64::from(to))), &divisor);
        Self::from_big(quotient, to)
    }

    fn check_logarithm(&self) -> Result<(), NumericError> {
        match self.sign() {
            0 if !self.is_nan() => Err(NumericError::LogarithmOfZero),
            ..0 => Err(NumericError::LogarithmOfNegative),
            _ => Ok(()),
        }
    }

    /// Estimates the decimal weight of the logarithm of a number that is finite and greater than zero.
    fn logarithm_weight(&self) -> i64 {
        let (low, high) = (Self::new(9, 1), Self::new(11, 1));
        if (&low..=&high).contains(&self) {
            // ln(1 + x) is about x.
            let beyond = self.subtract(&Self::ONE).unwrap_or(Self::ONE);
            let significant = beyond.significant().filter(|significant| !significant.digits.is_empty());
            return significant.map_or(0, |significant| i64::from(significant.exponent) - 1);
        }
        let Some(groups) = self.groups() else { return 0 };
        let mut digits = f64::from(groups.digits[0]);
        let mut weight = groups.weight * 4;
        if let Some(&second) = groups.digits.get(1) {
            digits = digits * 10_000.0 + f64::from(second);
            weight -= 4;
        }
        (digits.ln() + f64::from(weight) * std::f64::consts::LN_10).abs().log10() as i64
    }

    /// Returns the number raised to a power, with at least 16 digits after the point for a whole power, and otherwise
    /// 16 significant digits.
    ///
    /// # Errors
    /// [`NumericError::ZeroToNegative`], [`NumericError::NegativeToFraction`], or [`NumericError::Overflow`] if the
    /// result has too many digits.
    pub fn power(&self, exponent: &Self) -> Result<Self, NumericError> {
        if self.is_nan() || exponent.is_nan() {
            let is_one = *self == Self::ONE || exponent.is_zero();
            return Ok(if is_one { Self::ONE } else { Self::NAN });
        }
        if self.is_zero() && exponent.is_negative() {
            return Err(NumericError::ZeroToNegative);
        }
        if self.is_negative() && !exponent.is_whole() {
            return Err(NumericError::NegativeToFraction);
        }
        if !self.is_finite() || !exponent.is_finite() {
            return Ok(self.power_special(exponent));
        }
        if exponent.is_whole()
            && let Some(whole) = exponent.to_i64().and_then(|whole| i32::try_from(whole).ok())
        {
            return self.power_whole(whole);
        }
        if self.is_zero() {
            return Ok(Self::new(0, SIGNIFICANT_MIN as u32));
        }
        let power = self.abs().power_of_positive(exponent)?;
        Ok(if self.is_negative() && exponent.is_odd() { power.negate() } else { power })
    }

    /// Returns a power if the base or the exponent is an infinity, by the rules of POSIX.
    fn power_special(&self, exponent: &Self) -> Self {
        let size = self.abs();
        if *self == Self::ONE || exponent.is_zero() || exponent.is_infinite() && size == Self::ONE {
            return Self::ONE;
        }
        let grows = (size > Self::ONE) != exponent.is_negative();
        if !grows {
            return Self::ZERO;
        }
        if self.is_negative() && exponent.is_odd() { Self::NEGATIVE_INFINITY } else { Self::INFINITY }
    }

    /// Whether the number, which is whole, is odd.
    fn is_odd(&self) -> bool {
        self.trunc(0).parts().is_some_and(|(mantissa, _)| mantissa.bit(0))
    }

    /// Returns a whole power of a finite number.
    fn power_whole(&self, exponent: i32) -> Result<Self, NumericError> {
        let to = self.chosen_scale(SIGNIFICANT_MIN);
        match exponent {
            0 => return Self::ONE.round(i64::from(to)),
            1 => return self.round(i64::from(to)),
            -1 => return Self::ONE.divide_to(self, to),
            2 => return self.multiply(self)?.round(i64::from(to)),
            _ => {}
        }
        let Some(significant) = self.significant().filter(|significant| !significant.digits.is_empty()) else {
            return if exponent < 0 { Err(NumericError::DivisionByZero) } else { Ok(Self::new(0, to)) };
        };
        // The decimal weight of the result.
        let first: f64 =
            format!("0.{}", &significant.digits[..significant.digits.len().min(17)]).parse().unwrap_or(1.0);
        let weight = f64::from(exponent) * (first.log10() + f64::from(significant.exponent));
        if weight > 393_204.0 {
            return Err(NumericError::Overflow);
        }
        if weight + 1.0 < -f64::from(to) {
            return Ok(Self::new(0, to));
        }
        let count = (i64::from(to) + weight as i64 + 1).max(1) + 30;
        let mut power = Shortened::one(count);
        let mut square = Shortened { mantissa: self.parts().unwrap_or_default().0, ..Shortened::one(count) };
        square.exponent = -i64::from(self.scale().unwrap_or(0));
        let mut bits = exponent.unsigned_abs();
        while bits > 0 {
            if bits & 1 == 1 {
                power = power.times(&square);
            }
            bits >>= 1;
            if bits > 0 {
                square = square.times(&square.clone());
            }
        }
        if exponent < 0 { power.inverse(to) } else { power.rounded(to) }
    }

    /// Returns a power of a number that is greater than zero, through logarithms.
    fn power_of_positive(&self, exponent: &Self) -> Result<Self, NumericError> {
        let ((mantissa, scale), (factor, factor_scale)) =
            (self.parts().unwrap_or_default(), exponent.parts().unwrap_or_default());
        // The logarithm of the result, from about eight digits of that of the base.
        let rough_scale = (8 - self.logarithm_weight()).clamp(0, DISPLAY_SCALE_MAX) as u32;
        let rough_bits = fixed::bits_of(i64::from(rough_scale) + GUARD_DIGITS);
        let rough_ln = fixed::to_decimal(&fixed::ln(&mantissa, scale, rough_bits), rough_bits, rough_scale);
        let rough = Self::unlimited(rough_ln, rough_scale).product(exponent).round(i64::from(rough_scale))?.to_f64();
        if rough.abs() > EXPONENT_MAX * 1.003_333 {
            return if rough > 0.0 { Err(NumericError::Overflow) } else { Ok(Self::new(0, DISPLAY_SCALE_MAX as u32)) };
        }
        let weight = (rough * LOG10_E) as i64;
        let to = self.chosen_scale(SIGNIFICANT_MIN - weight).max(exponent.chosen_scale(0));
        // The exponent's digits before the point multiply the error of the logarithm, and those of the result that of
        // the exponential.
        let digits = i64::from(to) + weight.abs() + i64::from(exponent.leading().0.max(0)) * 4 + GUARD_DIGITS;
        let bits = fixed::bits_of(digits);
        let unit = power_of_ten(u64::from(factor_scale));
        let product = fixed::ln(&mantissa, scale, bits) * factor / unit;
        Self::from_big(fixed::to_decimal(&fixed::exp(&product, bits), bits, to), to)
    }

    /// Returns the product of the whole numbers from 1 to `number`.
    ///
    /// # Errors
    /// [`NumericError::NegativeFactorial`], or [`NumericError::Overflow`] for a number above 32,177.
    pub fn factorial(number: i64) -> Result<Self, NumericError> {
        match number {
            ..0 => Err(NumericError::NegativeFactorial),
            number if number > FACTORIAL_MAX => Err(NumericError::Overflow),
            _ => Self::from_big((2..=number).fold(BigInt::from(1), |product, factor| product * factor), 0),
        }
    }

    /// Returns the greatest number of which both are multiples; `NaN` if one of them is not finite.
    pub fn gcd(&self, other: &Self) -> Self {
        if !self.is_finite() || !other.is_finite() {
            return Self::NAN;
        }
        let (left, right, scale) = self.aligned(other);
        let divisor = gcd(left.into_parts().1, right.into_parts().1);
        Self::from_big(divisor.into(), scale).unwrap_or(Self::NAN)
    }

    /// Returns the least number that is a multiple of both; `NaN` if one of them is not finite.
    ///
    /// # Errors
    /// [`NumericError::Overflow`] if it has too many digits.
    pub fn lcm(&self, other: &Self) -> Result<Self, NumericError> {
        if !self.is_finite() || !other.is_finite() {
            return Ok(Self::NAN);
        }
        let (left, right, scale) = self.aligned(other);
        let (left, right) = (left.into_parts().1, right.into_parts().1);
        if left == BigUint::ZERO || right == BigUint::ZERO {
            return Self::from_big(BigInt::default(), scale);
        }
        let divisor = gcd(left.clone(), right.clone());
        Self::from_big((left / divisor * right).into(), scale)
    }

    /// Returns the number of digits after the point without the zeros at the end; `None` if the number is not finite.
    pub fn min_scale(&self) -> Option<u32> {
        self.without_last_zeros().scale()
    }
}

fn gcd(mut left: BigUint, mut right: BigUint) -> BigUint {
    while right != BigUint::ZERO {
        (left, right) = (right.clone(), left % right);
    }
    left
}

/// A number of which no more than the first digits are kept: `mantissa` * 10^`exponent`.
#[derive(Clone)]
struct Shortened {
    mantissa: BigInt,
    exponent: i64,
    /// The number of digits that are kept.
    count: i64,
}

impl Shortened {
    fn one(count: i64) -> Self {
        Self { mantissa: 1.into(), exponent: 0, count }
    }

    fn times(&self, other: &Self) -> Self {
        let mut product = &self.mantissa * &other.mantissa;
        let mut exponent = self.exponent + other.exponent;
        // log10(2) is 0.30103. A digit more than counted does no harm.
        let digits = (product.bits() as i64) * 30_103 / 100_000;
        let beyond = digits - self.count;
        if beyond > 0 {
            product /= power_of_ten(beyond.unsigned_abs());
            exponent += beyond;
        }
        Self { mantissa: product, exponent, count: self.count }
    }

    /// Returns the number with `scale` digits after the point.
    fn rounded(self, scale: u32) -> Result<Numeric, NumericError> {
        let up = self.exponent + i64::from(scale);
        if up > 600_000 {
            return Err(NumericError::Overflow);
        }
        let mantissa = match u32::try_from(up) {
            Ok(up) => rescaled_up(self.mantissa, up),
            Err(_) => rounded_quotient(&self.mantissa, &power_of_ten(up.unsigned_abs())),
        };
        Numeric::from_big(mantissa, scale)
    }

    /// Returns one divided by the number, with `scale` digits after the point.
    fn inverse(self, scale: u32) -> Result<Numeric, NumericError> {
        let up = i64::from(scale) - self.exponent;
        let mantissa = match u32::try_from(up) {
            Ok(up) => rounded_quotient(&rescaled_up(1.into(), up), &self.mantissa),
            // The divisor is far above one.
            Err(_) => BigInt::default(),
        };
        Numeric::from_big(mantissa, scale)
    }
}
