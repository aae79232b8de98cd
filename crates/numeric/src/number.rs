//! The representation of a number, its conversions and its order.

use crate::NumericError;
use crate::mantissa::power_of_ten;
use num_bigint::{BigInt, Sign};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::cmp::Ordering;
use std::sync::Arc;

/// The greatest number of digits after the point.
pub const SCALE_MAX: u32 = 16_383;

/// The greatest number of digits before the point.
pub(crate) const WHOLE_DIGITS_MAX: u64 = 131_072;

/// The first number that the mantissa of a [`Decimal`] cannot have.
const DECIMAL_LIMIT: u128 = 1 << 96;

/// A number of PostgreSQL's type `numeric`.
///
/// Numbers are ordered as PostgreSQL orders them: `NaN` is equal to itself, and greater than everything else. There is
/// one zero for each scale, without a sign.
#[derive(Clone, Debug)]
pub struct Numeric(pub(crate) Repr);

/// A number: always the first of the variants that can hold it.
#[derive(Clone, Debug)]
pub(crate) enum Repr {
    /// A mantissa below 2^96, and at most 28 digits after the point. Zero has no sign.
    Small(Decimal),
    /// Any other finite number.
    Large(Arc<Large>),
    /// A number beyond all others, in the direction of a sign.
    Infinite { negative: bool },
    /// `NaN`
    NaN,
}

/// A finite number: `mantissa` / 10^`scale`.
#[derive(Clone, Debug)]
pub(crate) struct Large {
    pub(crate) mantissa: BigInt,
    pub(crate) scale: u32,
}

impl Numeric {
    /// Zero, without digits after the point.
    pub const ZERO: Self = Self(Repr::Small(Decimal::ZERO));
    /// One, without digits after the point.
    pub const ONE: Self = Self(Repr::Small(Decimal::ONE));
    /// Minus one, without digits after the point.
    pub const NEGATIVE_ONE: Self = Self(Repr::Small(Decimal::NEGATIVE_ONE));
    /// `NaN`
    pub const NAN: Self = Self(Repr::NaN);
    /// The infinity above all numbers.
    pub const INFINITY: Self = Self(Repr::Infinite { negative: false });
    /// The infinity below all numbers.
    pub const NEGATIVE_INFINITY: Self = Self(Repr::Infinite { negative: true });

    /// Makes the number `mantissa` / 10^`scale`.
    ///
    /// # Panics
    /// If the scale is greater than [`SCALE_MAX`].
    pub fn new(mantissa: impl Into<i128>, scale: u32) -> Self {
        let mantissa = mantissa.into();
        assert!(scale <= SCALE_MAX, "{scale} digits after the point are too many");
        if mantissa.unsigned_abs() < DECIMAL_LIMIT && scale <= Decimal::MAX_SCALE {
            return Self(Repr::Small(Decimal::from_i128_with_scale(mantissa, scale)));
        }
        Self(Repr::Large(Arc::new(Large { mantissa: mantissa.into(), scale })))
    }

    /// Makes the number `mantissa` / 10^`scale`, which may have any number of digits.
    pub(crate) fn unlimited(mantissa: BigInt, scale: u32) -> Self {
        if scale <= Decimal::MAX_SCALE
            && let Some(small) = mantissa.to_i128().filter(|small| small.unsigned_abs() < DECIMAL_LIMIT)
        {
            return Self::new(small, scale);
        }
        Self(Repr::Large(Arc::new(Large { mantissa, scale })))
    }

    /// Makes the number `mantissa` / 10^`scale`.
    ///
    /// # Errors
    /// [`NumericError::Overflow`] if the number has too many digits before the point or after it.
    pub(crate) fn from_big(mantissa: BigInt, scale: u32) -> Result<Self, NumericError> {
        Self::unlimited(mantissa, scale).within_limits()
    }

    /// Checks the number of digits.
    ///
    /// # Errors
    /// [`NumericError::Overflow`] if the number has too many digits before the point or after it.
    pub(crate) fn within_limits(self) -> Result<Self, NumericError> {
        let Repr::Large(large) = &self.0 else { return Ok(self) };
        let Large { mantissa, scale } = &**large;
        let scale = *scale;
        // A digit has at least 3.32 bits, so most numbers need no count of their digits.
        let bits_max = (WHOLE_DIGITS_MAX + u64::from(scale)) * 3_321 / 1_000;
        let limit = || power_of_ten(WHOLE_DIGITS_MAX + u64::from(scale));
        let is_too_long = || mantissa.magnitude() >= limit().magnitude();
        if scale > SCALE_MAX || mantissa.bits() > bits_max && is_too_long() {
            return Err(NumericError::Overflow);
        }
        Ok(self)
    }

    /// Returns the mantissa and the scale of a finite number.
    pub(crate) fn parts(&self) -> Option<(BigInt, u32)> {
        match &self.0 {
            Repr::Small(small) => Some((small.mantissa().into(), small.scale())),
            Repr::Large(large) => Some((large.mantissa.clone(), large.scale)),
            Repr::Infinite { .. } | Repr::NaN => None,
        }
    }

    /// Returns the mantissa and the scale of a number of up to 28 digits, or `None` for any other number.
    #[inline]
    pub(crate) fn small(&self) -> Option<(i128, u32)> {
        match &self.0 {
            Repr::Small(small) => Some((small.mantissa(), small.scale())),
            _ => None,
        }
    }

    /// Returns the number as a [`Decimal`], or `None` if it has more than 28 digits, or is not finite.
    pub fn to_decimal(&self) -> Option<Decimal> {
        match self.0 {
            Repr::Small(small) => Some(small),
            _ => None,
        }
    }

    /// Returns the number of digits after the point; `None` if the number is not finite.
    pub fn scale(&self) -> Option<u32> {
        match &self.0 {
            Repr::Small(small) => Some(small.scale()),
            Repr::Large(large) => Some(large.scale),
            Repr::Infinite { .. } | Repr::NaN => None,
        }
    }

    /// Whether the number is `NaN`.
    pub fn is_nan(&self) -> bool {
        matches!(self.0, Repr::NaN)
    }

    /// Whether the number is one of the two infinities.
    pub fn is_infinite(&self) -> bool {
        matches!(self.0, Repr::Infinite { .. })
    }

    /// Whether the number is neither `NaN` nor an infinity.
    pub fn is_finite(&self) -> bool {
        matches!(self.0, Repr::Small(_) | Repr::Large(_))
    }

    /// Whether the number is zero.
    pub fn is_zero(&self) -> bool {
        self.sign() == 0 && !self.is_nan()
    }

    /// Whether the number is less than zero.
    pub fn is_negative(&self) -> bool {
        self.sign() < 0
    }

    /// Returns -1, 0 or 1: the sign of the number. `NaN` has the sign 0.
    pub fn sign(&self) -> i32 {
        match &self.0 {
            Repr::Small(small) if small.is_zero() => 0,
            Repr::Small(small) => 1 - 2 * i32::from(small.is_sign_negative()),
            Repr::Large(large) => match large.mantissa.sign() {
                Sign::Minus => -1,
                Sign::NoSign => 0,
                Sign::Plus => 1,
            },
            Repr::Infinite { negative } => 1 - 2 * i32::from(*negative),
            Repr::NaN => 0,
        }
    }

    /// Returns the double that is nearest to the number.
    pub fn to_f64(&self) -> f64 {
        // Whole numbers and powers of ten below 2^53 are exact, so that their quotient is rounded once.
        const EXACT: u128 = 1 << 53;
        match &self.0 {
            Repr::Small(small) if small.mantissa().unsigned_abs() < EXACT && small.scale() <= 22 => {
                small.mantissa() as f64 / 10_f64.powi(small.scale() as i32)
            }
            Repr::NaN => f64::NAN,
            Repr::Infinite { negative: false } => f64::INFINITY,
            Repr::Infinite { negative: true } => f64::NEG_INFINITY,
            _ => self.to_string().parse().expect("the text of a finite number is that of a double"),
        }
    }

    /// Returns the number with 15 significant digits that is nearest to a double, as PostgreSQL casts doubles.
    pub fn from_f64(value: f64) -> Self {
        Self::from_float(value, || format!("{value:.14e}"))
    }

    /// Returns the number with six significant digits that is nearest to a `real`, as PostgreSQL casts these.
    pub fn from_f32(value: f32) -> Self {
        Self::from_float(f64::from(value), || format!("{value:.5e}"))
    }

    fn from_float(value: f64, text: impl FnOnce() -> String) -> Self {
        match value {
            value if value.is_nan() => Self::NAN,
            f64::INFINITY => Self::INFINITY,
            f64::NEG_INFINITY => Self::NEGATIVE_INFINITY,
            _ => {
                // The fraction has no zeros at its end: `%g` leaves them out.
                let number: Self = text().parse().expect("a double's digits are a number");
                number.without_last_zeros()
            }
        }
    }

    /// Returns the whole number that is nearest to this one, half away from zero; `None` if the number is not finite or
    /// beyond 64 bits.
    pub fn to_i64(&self) -> Option<i64> {
        match self.round(0).ok()?.0 {
            Repr::Small(small) => i64::try_from(small.mantissa()).ok(),
            _ => None,
        }
    }

    /// Compares two finite numbers.
    fn cmp_finite(&self, other: &Self) -> Ordering {
        if let (Repr::Small(left), Repr::Small(right)) = (&self.0, &other.0) {
            return left.cmp(right);
        }
        let (sign, other_sign) = (self.sign(), other.sign());
        if sign != other_sign || sign == 0 {
            return sign.cmp(&other_sign);
        }
        if let (Repr::Large(left), Repr::Large(right)) = (&self.0, &other.0)
            && left.scale == right.scale
        {
            return left.mantissa.cmp(&right.mantissa);
        }
        let (first, other_first) = (self.first_place(), other.first_place());
        if first.abs_diff(other_first) > 1 {
            let order = first.cmp(&other_first);
            return if sign < 0 { order.reverse() } else { order };
        }
        let (left, right, _) = self.aligned(other);
        left.cmp(&right)
    }

    /// Returns the power of ten of the first digit of a finite number, as far as the number of bits tells it: the
    /// result may be one too great.
    fn first_place(&self) -> i64 {
        let (bits, scale) = match &self.0 {
            Repr::Small(small) => (u128::BITS - small.mantissa().unsigned_abs().leading_zeros(), small.scale()),
            Repr::Large(large) => (large.mantissa.bits() as u32, large.scale),
            Repr::Infinite { .. } | Repr::NaN => (0, 0),
        };
        // log10(2) is 0.30103.
        i64::from(bits) * 30_103 / 100_000 - i64::from(scale)
    }

    /// Returns the number of bytes that the number has on the heap.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Repr::Large(large) => size_of::<Large>() + large.mantissa.bits().div_ceil(8) as usize,
            _ => 0,
        }
    }
}

impl Default for Numeric {
    fn default() -> Self {
        Self::ZERO
    }
}

impl From<Decimal> for Numeric {
    fn from(mut decimal: Decimal) -> Self {
        if decimal.is_zero() {
            decimal.set_sign_positive(true);
        }
        Self(Repr::Small(decimal))
    }
}

macro_rules! from_integers {
    ($($integer:ty),*) => {
        $(impl From<$integer> for Numeric {
            fn from(integer: $integer) -> Self {
                Self::new(integer, 0)
            }
        })*
    };
}

from_integers!(i32, i64, u32, u64, i128);

impl PartialEq for Numeric {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Numeric {}

impl PartialOrd for Numeric {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Numeric {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |number: &Self| match number.0 {
            Repr::Infinite { negative: true } => 0,
            Repr::Small(_) | Repr::Large(_) => 1,
            Repr::Infinite { negative: false } => 2,
            Repr::NaN => 3,
        };
        match (rank(self), rank(other)) {
            (1, 1) => self.cmp_finite(other),
            (left, right) => left.cmp(&right),
        }
    }
}

const _: () = assert!(size_of::<Numeric>() <= 24);
