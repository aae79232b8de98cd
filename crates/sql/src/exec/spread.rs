//! Variances and standard deviations, as PostgreSQL computes them: of floats without sums of squares, which would lose
//! digits; of other numbers exactly.

use crate::expr::{Arithmetic, divide};
use crate::types::SessionZone;
use crate::{SqlError, state};
use hotrow_storage::{Decimal, Value};
use rust_decimal::MathematicalOps;
use rust_decimal::prelude::Zero;

/// The state of a variance or standard deviation over the numbers so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Spread {
    count: i64,
    exact: Exact,
    float: Float,
    is_float: bool,
}

#[derive(Clone, Debug, Default)]
struct Exact {
    sum: Decimal,
    squares: Decimal,
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
            Value::Numeric(value) => {
                self.exact.sum = add(self.exact.sum, *value)?;
                self.exact.squares = add(self.exact.squares, multiply(*value, *value)?)?;
            }
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
        let count = Decimal::from(self.count);
        let difference = subtract(multiply(count, self.exact.squares)?, multiply(self.exact.sum, self.exact.sum)?)?;
        if difference <= Decimal::zero() {
            return Ok(Value::Numeric(Decimal::zero()));
        }
        let variance = divide(difference, multiply(count, Decimal::from(of))?)?;
        if !root {
            return Ok(Value::Numeric(variance));
        }
        let root = variance.sqrt().ok_or_else(overflow)?;
        let mut rounded = root.round_dp(variance.scale());
        rounded.rescale(variance.scale());
        Ok(Value::Numeric(rounded))
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

fn number(value: Value<'_>) -> Result<Decimal, SqlError> {
    if let Value::Numeric(number) = value { Ok(number) } else { Err(overflow()) }
}

fn add(left: Decimal, right: Decimal) -> Result<Decimal, SqlError> {
    number(Arithmetic::Add.apply(&Value::Numeric(left), &Value::Numeric(right), SessionZone::Utc)?)
}

fn subtract(left: Decimal, right: Decimal) -> Result<Decimal, SqlError> {
    number(Arithmetic::Subtract.apply(&Value::Numeric(left), &Value::Numeric(right), SessionZone::Utc)?)
}

fn multiply(left: Decimal, right: Decimal) -> Result<Decimal, SqlError> {
    number(Arithmetic::Multiply.apply(&Value::Numeric(left), &Value::Numeric(right), SessionZone::Utc)?)
}

fn overflow() -> SqlError {
    SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
}
