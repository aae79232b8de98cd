//! Mantissas of any length: powers of ten, and quotients that are rounded.

use num_bigint::{BigInt, Sign};

/// Returns 10^`power`.
pub(crate) fn power_of_ten(power: u64) -> BigInt {
    BigInt::from(10_u32).pow(u32::try_from(power).expect("no number has so many digits"))
}

/// Returns `mantissa` * 10^`power`.
pub(crate) fn rescaled_up(mantissa: BigInt, power: u32) -> BigInt {
    if power == 0 || mantissa.sign() == Sign::NoSign {
        return mantissa;
    }
    mantissa * power_of_ten(u64::from(power))
}

/// Returns the quotient, rounded half away from zero.
pub(crate) fn rounded_quotient(dividend: &BigInt, divisor: &BigInt) -> BigInt {
    let negative = (dividend.sign() == Sign::Minus) != (divisor.sign() == Sign::Minus);
    let (dividend, divisor) = (dividend.magnitude(), divisor.magnitude());
    let quotient = (dividend * 2_u32 + divisor) / (divisor * 2_u32);
    BigInt::from_biguint(if negative { Sign::Minus } else { Sign::Plus }, quotient)
}
