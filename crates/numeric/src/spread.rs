//! The variance of numbers.

use crate::{Numeric, NumericError};

/// The sum of numbers and that of their squares, with all digits: only a result is limited in length.
#[derive(Clone, Debug, Default)]
pub struct Spread {
    count: i64,
    sum: Numeric,
    squares: Numeric,
}

impl Spread {
    /// Adds a number.
    pub fn add(&mut self, number: &Numeric) {
        self.count += 1;
        self.sum = self.sum.sum(number);
        self.squares = self.squares.sum(&number.product(number));
    }

    /// Returns the variance, or its root if `root` is set. The sum of the squares of the differences from the mean is
    /// divided by `of`: by how many numbers there are, or by one less.
    ///
    /// # Errors
    /// [`NumericError::Overflow`] if the result has too many digits.
    pub fn variance(&self, of: i64, root: bool) -> Result<Numeric, NumericError> {
        let count = Numeric::from(self.count);
        let difference = count.product(&self.squares).sum(&self.sum.product(&self.sum).negate());
        if difference <= Numeric::ZERO {
            return Ok(Numeric::ZERO);
        }
        let variance = difference.divide(&count.product(&of.into()))?;
        match variance.scale() {
            Some(scale) if root => variance.sqrt_to(scale),
            _ => Ok(variance),
        }
    }
}
