//! Exponentials and logarithms with a fixed number of binary digits after the point.
//!
//! A *fixed* number is an integer that counts units of 2^-`bits`. The functions compute with more digits than they
//! return, so that only the last few units of a result can be wrong.

use crate::mantissa::{power_of_ten, rounded_quotient};
use num_bigint::{BigInt, Sign};

/// The binary digits beyond those of a result with which a function computes.
const GUARD_BITS: u64 = 48;

/// The number of binary digits from which on a logarithm is computed from roots.
const MANY_BITS: u64 = 8_192;

/// Returns how many binary digits a number needs for this many decimal digits.
pub(crate) fn bits_of(digits: i64) -> u64 {
    // log2(10) is 3.3219.
    digits.max(1).unsigned_abs() * 3_322 / 1_000 + 8
}

/// Returns `mantissa` / 10^`scale` as a fixed number.
pub(crate) fn from_decimal(mantissa: &BigInt, scale: u32, bits: u64) -> BigInt {
    (mantissa << bits) / power_of_ten(u64::from(scale))
}

/// Returns the mantissa at `scale` of a fixed number, rounded half away from zero.
pub(crate) fn to_decimal(fixed: &BigInt, bits: u64, scale: u32) -> BigInt {
    rounded_quotient(&(fixed * power_of_ten(u64::from(scale))), &(BigInt::from(1) << bits))
}

/// Returns e^`x`.
pub(crate) fn exp(x: &BigInt, bits: u64) -> BigInt {
    // x is halved so often that few terms of the series count; the result is squared as often. Each squaring may double
    // the error.
    let halvings = (x.bits() + 8 + bits.isqrt() / 16).saturating_sub(bits);
    let whole_bits = u64::try_from(x.magnitude() >> bits).unwrap_or(u64::MAX).saturating_mul(2).min(1 << 20);
    let work = bits + halvings + whole_bits + GUARD_BITS;
    let x = (x << (work - bits)) >> halvings;
    let one = BigInt::from(1) << work;
    let (mut sum, mut term) = (one.clone(), one);
    for n in 1_u32.. {
        term = ((term * &x) >> work) / n;
        if term.bits() <= 1 {
            break;
        }
        sum += &term;
    }
    for _ in 0..halvings {
        sum = (&sum * &sum) >> work;
    }
    sum >> (work - bits)
}

/// Returns the natural logarithm of `mantissa` / 10^`scale`, which must be greater than zero.
pub(crate) fn ln(mantissa: &BigInt, scale: u32, bits: u64) -> BigInt {
    let unit = power_of_ten(u64::from(scale));
    // The number is y * 2^exponent, with y between 0.7 and 1.5.
    let mut exponent = mantissa.bits() as i64 - unit.bits() as i64;
    // With many digits, roots cost less than the terms of the series that they save. Each may double the error.
    let roots = if bits > MANY_BITS { bits.isqrt() / 16 } else { 0 };
    let work = bits + roots + GUARD_BITS;
    let shift = work as i64 - exponent;
    let mut y = match u64::try_from(shift) {
        Ok(up) => (mantissa << up) / &unit,
        Err(_) => mantissa / (&unit << shift.unsigned_abs()),
    };
    let one = BigInt::from(1) << work;
    let (low, high) = (&one * 7_u32 / 10_u32, &one * 3_u32 / 2_u32);
    if y < low {
        y <<= 1;
        exponent -= 1;
    } else if y > high {
        y >>= 1;
        exponent += 1;
    }
    // Near one, the series has few terms anyway.
    let roots = if (&y - &one).bits() + roots > work { roots } else { 0 };
    for _ in 0..roots {
        y = (y << work).sqrt();
    }
    let quotient = ((&y - &one) << work) / (&y + &one);
    let mut result = artanh_doubled(&quotient, work) << roots;
    if exponent != 0 {
        result += ln_2(work) * exponent;
    }
    result >> (work - bits)
}

/// Returns ln(2), which is 2 artanh(1/3).
fn ln_2(bits: u64) -> BigInt {
    let mut power = (BigInt::from(1) << bits) / 3_u32;
    let mut sum = power.clone();
    for n in (3_u32..).step_by(2) {
        power /= 9_u32;
        if power.sign() == Sign::NoSign {
            break;
        }
        sum += &power / n;
    }
    sum << 1
}

/// Returns 2 artanh(`z`), which is ln((1 + z) / (1 - z)), for a small `z`.
fn artanh_doubled(z: &BigInt, bits: u64) -> BigInt {
    let square = (z * z) >> bits;
    let (mut sum, mut power) = (z.clone(), z.clone());
    for n in (3_u32..).step_by(2) {
        power = (power * &square) >> bits;
        let term = &power / n;
        // The shift of a negative number ends at -1.
        if term.sign() == Sign::NoSign {
            break;
        }
        sum += term;
    }
    sum << 1
}
