//! The errors of numbers.

use std::fmt;

/// Why there is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumericError {
    /// A text is no number.
    Syntax,
    /// A number has more than 131,072 digits before the point or 16,383 after it.
    Overflow,
    /// A number is divided by zero.
    DivisionByZero,
    /// The square root of a negative number.
    NegativeRoot,
    /// The logarithm of zero.
    LogarithmOfZero,
    /// The logarithm of a negative number.
    LogarithmOfNegative,
    /// Zero raised to a negative power.
    ZeroToNegative,
    /// A negative number raised to a power that is not whole.
    NegativeToFraction,
    /// The factorial of a negative number.
    NegativeFactorial,
}

impl fmt::Display for NumericError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NumericError::Syntax => "invalid input syntax for type numeric",
            NumericError::Overflow => "value overflows numeric format",
            NumericError::DivisionByZero => "division by zero",
            NumericError::NegativeRoot => "cannot take square root of a negative number",
            NumericError::LogarithmOfZero => "cannot take logarithm of zero",
            NumericError::LogarithmOfNegative => "cannot take logarithm of a negative number",
            NumericError::ZeroToNegative => "zero raised to a negative power is undefined",
            NumericError::NegativeToFraction => {
                "a negative number raised to a non-integer power yields a complex result"
            }
            NumericError::NegativeFactorial => "factorial of a negative number is undefined",
        })
    }
}

impl std::error::Error for NumericError {}
