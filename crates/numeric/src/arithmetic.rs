//! The four operations, remainders and rounding.
//!
//! An operation on numbers of up to 28 digits is tried with 128 bits first. Only a result that does not fit makes it go
//! the way of long numbers.

use crate::NumericError;
use crate::mantissa::{power_of_ten, rescaled_up, rounded_quotient};
use crate::number::{Numeric, Repr, SCALE_MAX, WHOLE_DIGITS_MAX};
use num_bigint::BigInt;
use rust_decimal::Decimal;

/// The greatest number of digits after the point that an operation chooses for its result.
pub(crate) const DISPLAY_SCALE_MAX: i64 = 1_000;

/// The least number of significant digits of a quotient, root, power or logarithm.
pub(crate) const SIGNIFICANT_MIN: i64 = 16;

/// The greatest number of places before the point to which a number is rounded: one more than a number has digits.
const PLACES_BEFORE_MAX: i64 = WHOLE_DIGITS_MAX as i64 + 1;

/// Returns 10^`power`, or `None` if it does not fit.
fn small_power(power: u32) -> Option<i128> {
    10_i128.checked_pow(power)
}

/// Returns `mantissa` * 10^`power`, or `None` if it does not fit.
fn scaled_up(mantissa: i128, power: u32) -> Option<i128> {
    if mantissa == 0 { Some(0) } else { mantissa.checked_mul(small_power(power)?) }
}

/// How a number is cut to fewer digits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    Nearest,
    ToZero,
}

impl Numeric {
    /// Returns the sum. Infinities of both signs make `NaN`.
    ///
    /// # Errors
    /// [`NumericError::Overflow`] if the sum has too many digits.
    pub fn add(&self, other: &Self) -> Result<Self, NumericError> {
        self.sum(other).within_limits()
    }

    /// Returns the sum, which may have any number of digits.
    pub(crate) fn sum(&self, other: &Self) -> Self {
        if let Some((left, right, scale)) = self.aligned_small(other)
            && let Some(sum) = left.checked_add(right)
        {
            return Self::new(sum, scale);
        }
        match (self.is_finite(), other.is_finite()) {
            (true, true) => {
                let (left, right, scale) = self.aligned(other);
                Self::unlimited(left + right, scale)
            }
            _ if self.is_nan() || other.is_nan() => Self::NAN,
            (false, false) if self.is_negative() != other.is_negative() => Self::NAN,
            (false, _) => self.clone(),
            (true, false) => other.clone(),
        }
    }

    /// Returns the difference. Infinities of one sign make `NaN`.
    ///
    /// # Errors
    /// [`NumericError::Overflow`] if the difference has too many digits.
    pub fn subtract(&self, other: &Self) -> Result<Self, NumericError> {
        self.add(&other.negate())
    }

    /// Returns the product, with all digits of the factors after the point. Zero times an infinity makes `NaN`.
    ///
    /// # Errors
    /// [`NumericError::Overflow`] if the product has too many digits.
    pub fn multiply(&self, other: &Self) -> Result<Self, NumericError> {
        let product = self.product(other);
        match product.scale() {
            Some(SCALE_MAX..) => product.round(i64::from(SCALE_MAX)),
            _ => product.within_limits(),
        }
    }

    /// Returns the product, which may have any number of digits. Zero times an infinity makes `NaN`.
    pub(crate) fn product(&self, other: &Self) -> Self {
        if let (Some((left, left_scale)), Some((right, right_scale))) = (self.small(), other.small())
            && let Some(product) = left.checked_mul(right)
        {
            return Self::new(product, left_scale + right_scale);
        }
        match (self.parts(), other.parts()) {
            (Some((left, left_scale)), Some((right, right_scale))) => {
                Self::unlimited(left * right, left_scale + right_scale)
            }
            _ if self.is_nan() || other.is_nan() => Self::NAN,
            _ => Self::infinite_if_not_zero(self.sign() * other.sign()),
        }
    }

    /// Returns the infinity of a sign, or `NaN` for the sign 0.
    fn infinite_if_not_zero(sign: i32) -> Self {
        match sign {
            0 => Self::NAN,
            sign => Self(Repr::Infinite { negative: sign < 0 }),
        }
    }

    /// Returns the quotient. It has at least 16 significant digits, and at least as many digits after the point as
    /// either operand.
    ///
    /// # Errors
    /// [`NumericError::DivisionByZero`] if the divisor is zero. [`NumericError::Overflow`] if the quotient has too many
    /// digits.
    pub fn divide(&self, divisor: &Self) -> Result<Self, NumericError> {
        if let Some(special) = self.divide_special(divisor) {
            return special;
        }
        self.divide_to(divisor, self.quotient_scale(divisor))
    }

    /// Returns the quotient, rounded to `scale` digits after the point.
    ///
    /// # Errors
    /// [`NumericError::DivisionByZero`] if the divisor is zero. [`NumericError::Overflow`] if the quotient has too many
    /// digits.
    pub fn quotient(&self, divisor: &Self, scale: u32) -> Result<Self, NumericError> {
        self.divide_special(divisor).unwrap_or_else(|| self.divide_to(divisor, scale))
    }

    /// Returns the quotient if it follows from what the operands are: one is not finite, or the divisor is zero.
    fn divide_special(&self, divisor: &Self) -> Option<Result<Self, NumericError>> {
        match (&self.0, &divisor.0) {
            (Repr::NaN, _) | (_, Repr::NaN) => Some(Ok(Self::NAN)),
            (Repr::Infinite { .. }, Repr::Infinite { .. }) => Some(Ok(Self::NAN)),
            _ if divisor.is_zero() => Some(Err(NumericError::DivisionByZero)),
            (Repr::Infinite { .. }, _) => Some(Ok(Self::infinite_if_not_zero(self.sign() * divisor.sign()))),
            (_, Repr::Infinite { .. }) => Some(Ok(Self::ZERO)),
            _ => None,
        }
    }

    /// Returns the scale that PostgreSQL chooses for the quotient of two finite numbers.
    pub(crate) fn quotient_scale(&self, divisor: &Self) -> u32 {
        let ((left_weight, left_digit), (right_weight, right_digit)) = (self.leading(), divisor.leading());
        let mut weight = left_weight - right_weight;
        if left_digit <= right_digit {
            weight -= 1;
        }
        let scale = SIGNIFICANT_MIN - i64::from(weight) * 4;
        self.chosen_scale(scale).max(divisor.scale().unwrap_or(0).min(DISPLAY_SCALE_MAX as u32))
    }

    /// Returns a scale that a function has computed for its result: not less than that of the number, and within the
    /// limits of such scales.
    pub(crate) fn chosen_scale(&self, scale: i64) -> u32 {
        scale.max(i64::from(self.scale().unwrap_or(0))).clamp(0, DISPLAY_SCALE_MAX) as u32
    }

    /// Returns the quotient of two finite numbers, rounded to `scale` digits after the point.
    ///
    /// # Errors
    /// [`NumericError::DivisionByZero`] if the divisor is zero. [`NumericError::Overflow`] if the quotient has too many
    /// digits.
    pub(crate) fn divide_to(&self, divisor: &Self, scale: u32) -> Result<Self, NumericError> {
        if divisor.is_zero() {
            return Err(NumericError::DivisionByZero);
        }
        if let (Some((left, left_scale)), Some((right, right_scale))) = (self.small(), divisor.small())
            && let Some(quotient) = small_quotient(left, left_scale, right, right_scale, scale)
        {
            return Ok(Self::new(quotient, scale));
        }
        let (Some((left, left_scale)), Some((right, right_scale))) = (self.parts(), divisor.parts()) else {
            return Ok(Self::NAN);
        };
        // The dividend and the divisor are brought to integers whose quotient has `scale` digits after the point.
        let up = i64::from(scale) + i64::from(right_scale) - i64::from(left_scale);
        let (left, right) = match u32::try_from(up) {
            Ok(up) => (rescaled_up(left, up), right),
            Err(_) => (left, rescaled_up(right, up.unsigned_abs() as u32)),
        };
        Self::from_big(rounded_quotient(&left, &right), scale)
    }

    /// Returns the whole part of the quotient.
    ///
    /// # Errors
    /// [`NumericError::DivisionByZero`] if the divisor is zero. [`NumericError::Overflow`] if the quotient has too many
    /// digits.
    pub fn divide_whole(&self, divisor: &Self) -> Result<Self, NumericError> {
        if let Some(special) = self.divide_special(divisor) {
            return special;
        }
        let (left, right, _) = self.aligned(divisor);
        Self::from_big(left / right, 0)
    }

    /// Returns what a division leaves. The remainder has the sign of the dividend, and as many digits after the point
    /// as the operand that has more.
    ///
    /// # Errors
    /// [`NumericError::DivisionByZero`] if the divisor is zero.
    pub fn remainder(&self, divisor: &Self) -> Result<Self, NumericError> {
        match (&self.0, &divisor.0) {
            (Repr::NaN, _) | (_, Repr::NaN) => return Ok(Self::NAN),
            _ if divisor.is_zero() => return Err(NumericError::DivisionByZero),
            (Repr::Infinite { .. }, _) => return Ok(Self::NAN),
            (_, Repr::Infinite { .. }) => return Ok(self.clone()),
            _ => {}
        }
        if let Some((left, right, scale)) = self.aligned_small(divisor) {
            return Ok(Self::new(left % right, scale));
        }
        let (left, right, scale) = self.aligned(divisor);
        Self::from_big(left % right, scale)
    }

    /// Returns the mantissas of two numbers at one scale, and that scale; `None` if one of the numbers has more than 28
    /// digits, or if a mantissa does not fit.
    fn aligned_small(&self, other: &Self) -> Option<(i128, i128, u32)> {
        let ((left, left_scale), (right, right_scale)) = (self.small()?, other.small()?);
        let scale = left_scale.max(right_scale);
        Some((scaled_up(left, scale - left_scale)?, scaled_up(right, scale - right_scale)?, scale))
    }

    /// Returns the mantissas of two finite numbers at one scale, and that scale.
    pub(crate) fn aligned(&self, other: &Self) -> (BigInt, BigInt, u32) {
        let ((left, left_scale), (right, right_scale)) =
            (self.parts().unwrap_or_default(), other.parts().unwrap_or_default());
        let scale = left_scale.max(right_scale);
        (rescaled_up(left, scale - left_scale), rescaled_up(right, scale - right_scale), scale)
    }

    /// Returns the number with the other sign.
    pub fn negate(&self) -> Self {
        match &self.0 {
            Repr::Small(small) => Self::from(-*small),
            Repr::Large(large) => {
                let negated = crate::number::Large { mantissa: -&large.mantissa, scale: large.scale };
                Self(Repr::Large(negated.into()))
            }
            Repr::Infinite { negative } => Self(Repr::Infinite { negative: !negative }),
            Repr::NaN => Self::NAN,
        }
    }

    /// Returns the absolute value.
    pub fn abs(&self) -> Self {
        if self.is_negative() { self.negate() } else { self.clone() }
    }

    /// Returns the number rounded to `places` digits after the point, half away from zero. A negative number of places
    /// rounds before the point.
    ///
    /// # Errors
    /// [`NumericError::Overflow`] if the number gets a digit more than a number can have.
    pub fn round(&self, places: i64) -> Result<Self, NumericError> {
        self.cut(places, Cut::Nearest)
    }

    /// Returns the number cut to `places` digits after the point. A negative number of places cuts before the point.
    pub fn trunc(&self, places: i64) -> Self {
        // No digit is added before the point, and those after it are limited.
        self.cut(places, Cut::ToZero).unwrap_or_else(|_| self.clone())
    }

    /// Returns the least whole number that is not less.
    ///
    /// # Errors
    /// [`NumericError::Overflow`] if it has a digit more than a number can have.
    pub fn ceil(&self) -> Result<Self, NumericError> {
        self.negate().floor().map(|floor| floor.negate())
    }

    /// Returns the greatest whole number that is not greater.
    ///
    /// # Errors
    /// [`NumericError::Overflow`] if it has a digit more than a number can have.
    pub fn floor(&self) -> Result<Self, NumericError> {
        let whole = self.trunc(0);
        if whole > *self { whole.subtract(&Self::ONE) } else { Ok(whole) }
    }

    fn cut(&self, places: i64, how: Cut) -> Result<Self, NumericError> {
        let places = places.clamp(-PLACES_BEFORE_MAX, i64::from(SCALE_MAX));
        if let Some((mantissa, scale)) = self.small()
            && let Some(cut) = small_cut(mantissa, i64::from(scale) - places, how)
            && let Some(cut) = scaled_up(cut, u32::try_from(-places).unwrap_or(0))
        {
            return Ok(Self::new(cut, places.max(0) as u32));
        }
        let Some((mantissa, scale)) = self.parts() else { return Ok(self.clone()) };
        let drop = i64::from(scale) - places;
        let cut = match u32::try_from(-drop) {
            Ok(up) => rescaled_up(mantissa, up),
            Err(_) => {
                let unit = power_of_ten(drop.unsigned_abs());
                if how == Cut::Nearest { rounded_quotient(&mantissa, &unit) } else { mantissa / unit }
            }
        };
        let cut = if places < 0 { rescaled_up(cut, places.unsigned_abs() as u32) } else { cut };
        Self::from_big(cut, places.max(0) as u32)
    }

    /// Returns the number without zeros at the end of its fraction.
    pub fn without_last_zeros(&self) -> Self {
        match &self.0 {
            Repr::Small(small) => Self::from(small.normalize()),
            Repr::Large(_) if self.is_zero() => Self::ZERO,
            Repr::Large(large) => {
                let digits = large.mantissa.magnitude().to_string();
                let zeros = (digits.len() - digits.trim_end_matches('0').len()).min(large.scale as usize) as u32;
                let mantissa = &large.mantissa / power_of_ten(u64::from(zeros));
                Self::from_big(mantissa, large.scale - zeros).unwrap_or_else(|_| self.clone())
            }
            _ => self.clone(),
        }
    }

    /// Whether the number is whole. Infinities are, `NaN` is not.
    pub fn is_whole(&self) -> bool {
        match &self.0 {
            Repr::Small(small) => small.is_integer(),
            Repr::Large(_) => self.trunc(0) == *self,
            Repr::Infinite { .. } => true,
            Repr::NaN => false,
        }
    }
}

/// Returns `left` / 10^`left_scale` divided by `right` / 10^`right_scale` in units of 10^-`scale`, rounded half away
/// from zero; `None` if a step does not fit.
fn small_quotient(left: i128, left_scale: u32, right: i128, right_scale: u32, scale: u32) -> Option<i128> {
    let up = i64::from(scale) + i64::from(right_scale) - i64::from(left_scale);
    let power = small_power(u32::try_from(up.unsigned_abs()).ok()?)?;
    let (left, right) = if up >= 0 { (left.checked_mul(power)?, right) } else { (left, right.checked_mul(power)?) };
    let (quotient, rest) = (left / right, left % right);
    let half = rest.unsigned_abs() >= right.unsigned_abs() - rest.unsigned_abs();
    let away = if half && rest != 0 { if (left < 0) == (right < 0) { 1 } else { -1 } } else { 0 };
    Some(quotient + away)
}

/// Returns `mantissa` / 10^`drop`, cut to a whole number; `None` if it does not fit.
fn small_cut(mantissa: i128, drop: i64, how: Cut) -> Option<i128> {
    if drop <= 0 {
        let up = u32::try_from(-drop).ok().filter(|&up| up <= Decimal::MAX_SCALE)?;
        return mantissa.checked_mul(small_power(up)?);
    }
    let Some(unit) = u32::try_from(drop).ok().and_then(small_power) else { return Some(0) };
    let (whole, rest) = (mantissa / unit, mantissa % unit);
    let away = i128::from(how == Cut::Nearest && rest.unsigned_abs() >= unit.unsigned_abs() - rest.unsigned_abs());
    Some(whole + if mantissa < 0 { -away } else { away })
}
