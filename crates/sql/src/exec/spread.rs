//! Variances and standard deviations, as PostgreSQL computes them: of floats without sums of squares, which would lose
//! digits; of other numbers exactly.

use crate::SqlError;
use crate::types::numeric_error;
use hotrow_storage::Value;

/// The state of a variance or standard deviation over the numbers so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Spread {
    count: i64,
    exact: hotrow_numeric::Spread,
    float: Float,
    is_float: bool,
}

/// The state over floats: the sum, and the sum of the squares of the differences from the mean (Youngs and Cramer).
#[derive(Clone, Debug, Default)]
struct Float {
    sum: f64,
    squares: f64,
}

impl Spread {
    /// Adds a number to the state.
    pub(super) fn add(&mut self, value: &Value<'_>) -> Result<(), SqlError> {
        self.count += 1;
        match value {
            Value::Float8(value) => {
                self.is_float = true;
                self.float.add(*value, self.count as f64);
            }
            Value::Numeric(value) => self.exact.add(value),
            _ => {}
        }
        Ok(())
    }

    /// Returns the variance, or its root if `root` is set. Returns NULL if there are too few numbers.
    pub(super) fn result(&self, population: bool, root: bool) -> Result<Value<'static>, SqlError> {
        let least = if population { 1 } else { 2 };
        if self.count < least {
            return Ok(Value::Null);
        }
        let of = if population { self.count } else { self.count - 1 };
        if self.is_float {
            let variance = self.float.squares / of as f64;
            return Ok(Value::Float8(if root { variance.sqrt() } else { variance }));
        }
        self.exact.variance(of, root).map(Value::Numeric).map_err(numeric_error)
    }
}

impl Float {
    fn add(&mut self, value: f64, count: f64) {
        self.sum += value;
        if count > 1.0 {
            let difference = value * count - self.sum;
            self.squares += difference * difference / (count * (count - 1.0));
        } else if !value.is_finite() {
            self.squares = f64::NAN;
        }
    }
}
