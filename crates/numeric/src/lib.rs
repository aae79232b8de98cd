//! PostgreSQL's `numeric`: exact decimal numbers of any length, with `NaN` and two infinities.
//!
//! A [`Numeric`] is a mantissa and a *scale*, the number of digits after the point. Zeros at the end of the fraction
//! are part of a number: 1.50 and 1.5 are equal, and are written differently. A number of up to 28 digits takes 16
//! bytes and no memory of its own (a [`Decimal`]); a longer one is on the heap. Operations choose the scale of their
//! results as PostgreSQL does, and round half away from zero.
//!
//! ```
//! use hotrow_numeric::Numeric;
//!
//! let third = Numeric::from(1).divide(&Numeric::from(3))?;
//! assert_eq!(third.to_string(), "0.33333333333333333333");
//! let large: Numeric = "1e40".parse()?;
//! assert_eq!(large.multiply(&third)?.to_string(), "3333333333333333333300000000000000000000.00000000000000000000");
//! assert!(Numeric::NAN > large);
//! # Ok::<(), hotrow_numeric::NumericError>(())
//! ```
//!
//! | module | what it holds |
//! | --- | --- |
//! | `mantissa` | powers of ten and quotients of integers of any length |
//! | `number` | the representation, conversions, comparisons |
//! | `digits` | a number as digits of base ten, and of base 10,000 |
//! | `text` | reading and writing |
//! | `bytes` | the form in rows |
//! | `arithmetic` | the four operations, remainders, rounding |
//! | `functions` | roots, powers, exponentials, logarithms, and functions of whole numbers |
//! | `spread` | variances, whose sums may be longer than any number |
//! | `fixed` | exponentials and logarithms of numbers with a fixed number of binary digits after the point |
//! | `error` | what can be wrong |

mod arithmetic;
mod bytes;
mod digits;
mod error;
mod fixed;
mod functions;
mod mantissa;
mod number;
mod spread;
mod text;

pub use bytes::FIXED_BYTES;
pub use digits::{Groups, Significant};
pub use error::NumericError;
pub use number::{Numeric, SCALE_MAX};
pub use rust_decimal::Decimal;
pub use spread::Spread;
