//! The form of numbers in rows: 16 bytes for most, more for long ones.

use crate::number::{Large, Numeric, Repr};
use num_bigint::{BigInt, Sign};
use rust_decimal::Decimal;
use std::sync::Arc;

/// The number of bytes of a number of up to 28 digits, `NaN` or an infinity.
pub const FIXED_BYTES: usize = 16;

// The first byte of a form. That of a number of up to 28 digits is a part of its flags, which is not used.
const DECIMAL: u8 = 0;
const NAN: u8 = 1;
const INFINITY: u8 = 2;
const NEGATIVE_INFINITY: u8 = 3;
const LONG: u8 = 4;
const NEGATIVE_LONG: u8 = 5;

/// The bytes of a long number before its mantissa: what it is, and its scale.
const LONG_HEAD: usize = 3;

impl Numeric {
    /// Returns the form of 16 bytes, or `None` if the number needs more.
    #[inline]
    pub fn to_fixed(&self) -> Option<[u8; FIXED_BYTES]> {
        let mut special = [0; FIXED_BYTES];
        special[0] = match &self.0 {
            Repr::Small(small) => return Some(small.serialize()),
            Repr::NaN => NAN,
            Repr::Infinite { negative: false } => INFINITY,
            Repr::Infinite { negative: true } => NEGATIVE_INFINITY,
            Repr::Large(_) => return None,
        };
        Some(special)
    }

    /// Returns the number whose [form of 16 bytes](Self::to_fixed) this is.
    #[inline]
    pub fn from_fixed(bytes: [u8; FIXED_BYTES]) -> Self {
        Self(match bytes[0] {
            DECIMAL => Repr::Small(Decimal::deserialize(bytes)),
            INFINITY => Repr::Infinite { negative: false },
            NEGATIVE_INFINITY => Repr::Infinite { negative: true },
            _ => Repr::NaN,
        })
    }

    /// Appends the form of any number: 16 bytes, or a long one, which begins with another byte.
    pub fn write_bytes(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Repr::Large(large) => {
                out.push(if self.is_negative() { NEGATIVE_LONG } else { LONG });
                out.extend_from_slice(&(large.scale as u16).to_le_bytes());
                out.extend_from_slice(&large.mantissa.magnitude().to_bytes_le());
            }
            _ => out.extend_from_slice(&self.to_fixed().unwrap_or_default()),
        }
    }

    /// Returns the number whose [form](Self::write_bytes) this is. Bytes that are no form make some number.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        match (bytes.first(), bytes.get(1..LONG_HEAD)) {
            (Some(&first @ (LONG | NEGATIVE_LONG)), Some(&[low, high])) => {
                let sign = if first == LONG { Sign::Plus } else { Sign::Minus };
                let mantissa = BigInt::from_bytes_le(sign, &bytes[LONG_HEAD..]);
                Self(Repr::Large(Arc::new(Large { mantissa, scale: u32::from(u16::from_le_bytes([low, high])) })))
            }
            _ => bytes.try_into().map_or(Self::ZERO, Self::from_fixed),
        }
    }
}
