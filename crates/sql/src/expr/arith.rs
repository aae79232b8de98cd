//! Arithmetic. Integer overflow is an error.

use super::compare::numeric;
use crate::types::{SessionZone, check_date, numeric_error};
use crate::{SqlError, state};
use hotrow_storage::{Numeric, Type, Value};

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `^`, numeric and double precision only
    Power,
    /// `&`, integers only
    BitAnd,
    /// `|`, integers only
    BitOr,
    /// `#`, integers only
    BitXor,
}

impl Arithmetic {
    /// Returns the operator as SQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::Modulo => "%",
            Arithmetic::Power => "^",
            Arithmetic::BitAnd => "&",
            Arithmetic::BitOr => "|",
            Arithmetic::BitXor => "#",
        }
    }

    /// Applies the operator to two values, neither of which may be NULL. Both have the same type, unless they are
    /// dates, times or intervals. The days and months of an interval are added to a `timestamptz` in `zone`.
    ///
    /// # Errors
    /// 22003 or 22008 if the result is out of range, 22012 for a division by zero.
    pub fn apply(self, left: &Value<'_>, right: &Value<'_>, zone: SessionZone) -> Result<Value<'static>, SqlError> {
        match (left, right) {
            (Value::Int2(left), Value::Int2(right)) => {
                let result = self.integers(i64::from(*left), i64::from(*right))?;
                result
                    .and_then(|value| i16::try_from(value).ok())
                    .map(Value::Int2)
                    .ok_or_else(|| out_of_range(Type::Int2))
            }
            (Value::Int4(left), Value::Int4(right)) => {
                let result = self.integers(i64::from(*left), i64::from(*right))?;
                result
                    .and_then(|value| i32::try_from(value).ok())
                    .map(Value::Int4)
                    .ok_or_else(|| out_of_range(Type::Int4))
            }
            (Value::Int8(left), Value::Int8(right)) => {
                self.integers(*left, *right)?.map(Value::Int8).ok_or_else(|| out_of_range(Type::Int8))
            }
            (Value::Numeric(left), Value::Numeric(right)) => self.numerics(left, right).map(Value::Numeric),
            (Value::Float4(left), Value::Float4(right)) => {
                let wide = self.floats(f64::from(*left), f64::from(*right))?;
                let result = wide as f32;
                let infinite = left.is_infinite() || right.is_infinite();
                match result {
                    result if result.is_infinite() && !infinite => Err(float_overflow()),
                    0.0 if wide != 0.0 => Err(float_underflow()),
                    result => Ok(Value::Float4(result)),
                }
            }
            (Value::Float8(left), Value::Float8(right)) => self.floats(*left, *right).map(Value::Float8),
            (Value::Date(left), Value::Date(right)) => {
                if [left, right].iter().any(|date| matches!(**date, i32::MIN | i32::MAX)) {
                    return Err(SqlError::new(state::DATETIME_FIELD_OVERFLOW, "cannot subtract infinite dates"));
                }
                Ok(Value::Int4(left.wrapping_sub(*right)))
            }
            (Value::Date(date), days) | (days, Value::Date(date)) if days.as_int().is_some() => {
                self.shift_date(*date, days)
            }
            _ => {
                let different = || SqlError::new(state::INTERNAL_ERROR, "operands of different types");
                super::interval_arithmetic::apply(self, left, right, zone).unwrap_or_else(|| Err(different()))
            }
        }
    }

    /// Applies the operator to two integers. Returns `None` if the result does not fit.
    fn integers(self, left: i64, right: i64) -> Result<Option<i64>, SqlError> {
        Ok(match self {
            Arithmetic::Add => left.checked_add(right),
            Arithmetic::Subtract => left.checked_sub(right),
            Arithmetic::Multiply => left.checked_mul(right),
            Arithmetic::Divide | Arithmetic::Modulo if right == 0 => return Err(division_by_zero()),
            Arithmetic::Divide => left.checked_div(right),
            Arithmetic::Modulo => Some(left.wrapping_rem(right)),
            Arithmetic::BitAnd => Some(left & right),
            Arithmetic::BitOr => Some(left | right),
            Arithmetic::BitXor => Some(left ^ right),
            Arithmetic::Power => None,
        })
    }

    /// Applies the operator to two numerics.
    ///
    /// # Errors
    /// 22012 for a division by zero, 22003 if the result has too many digits, 2201F for a power that does not exist.
    pub(super) fn numerics(self, left: &Numeric, right: &Numeric) -> Result<Numeric, SqlError> {
        let result = match self {
            Arithmetic::Add => left.add(right),
            Arithmetic::Subtract => left.subtract(right),
            Arithmetic::Multiply => left.multiply(right),
            Arithmetic::Divide => left.divide(right),
            Arithmetic::Power => left.power(right),
            _ => left.remainder(right),
        };
        result.map_err(numeric_error)
    }

    fn floats(self, left: f64, right: f64) -> Result<f64, SqlError> {
        let result = match self {
            Arithmetic::Add => left + right,
            Arithmetic::Subtract => left - right,
            Arithmetic::Multiply => left * right,
            Arithmetic::Power => return power(left, right),
            _ if right == 0.0 => return Err(division_by_zero()),
            _ => left / right,
        };
        if result.is_infinite() && !left.is_infinite() && !right.is_infinite() {
            return Err(float_overflow());
        }
        // A product is zero only if a factor is. A quotient is zero only if the dividend is or the divisor is infinite.
        let is_zero = match self {
            Arithmetic::Multiply => left == 0.0 || right == 0.0,
            Arithmetic::Divide => left == 0.0 || right.is_infinite(),
            _ => true,
        };
        if result == 0.0 && !is_zero {
            return Err(float_underflow());
        }
        Ok(result)
    }

    fn shift_date(self, date: i32, days: &Value<'_>) -> Result<Value<'static>, SqlError> {
        if matches!(date, i32::MIN | i32::MAX) {
            return Ok(Value::Date(date));
        }
        let days = days.as_int().unwrap_or_default();
        let days = if self == Arithmetic::Subtract { -days } else { days };
        let shifted = i32::try_from(i64::from(date) + days).map_err(|_| date_out_of_range())?;
        // The least and the greatest number of a date stand for the infinities, which no sum may reach.
        if matches!(check_date(shifted)?, i32::MIN | i32::MAX) {
            return Err(date_out_of_range());
        }
        Ok(Value::Date(shifted))
    }
}

fn power(base: f64, exponent: f64) -> Result<f64, SqlError> {
    if base == 0.0 && exponent < 0.0 {
        let message = "zero raised to a negative power is undefined";
        return Err(SqlError::new(state::INVALID_ARGUMENT_FOR_POWER_FUNCTION, message));
    }
    if base < 0.0 && exponent.is_finite() && exponent.fract() != 0.0 {
        let message = "a negative number raised to a non-integer power yields a complex result";
        return Err(SqlError::new(state::INVALID_ARGUMENT_FOR_POWER_FUNCTION, message));
    }
    let result = base.powf(exponent);
    if base.is_infinite() || exponent.is_infinite() {
        return Ok(result);
    }
    match result {
        result if result.is_infinite() => Err(float_overflow()),
        0.0 if base != 0.0 => Err(float_underflow()),
        result => Ok(result),
    }
}

/// Returns `-value`, or an error if the result is out of range.
pub(super) fn negate(value: &Value<'_>) -> Result<Value<'static>, SqlError> {
    Ok(match value {
        Value::Int2(value) => Value::Int2(value.checked_neg().ok_or_else(|| out_of_range(Type::Int2))?),
        Value::Int4(value) => Value::Int4(value.checked_neg().ok_or_else(|| out_of_range(Type::Int4))?),
        Value::Int8(value) => Value::Int8(value.checked_neg().ok_or_else(|| out_of_range(Type::Int8))?),
        Value::Float4(value) => Value::Float4(-value),
        Value::Float8(value) => Value::Float8(-value),
        Value::Interval(value) => Value::Interval(super::interval_arithmetic::negate(*value)?),
        other => Value::Numeric(numeric(other).negate()),
    })
}

/// Returns error 22012, which says that a division by zero was attempted.
pub(super) fn division_by_zero() -> SqlError {
    SqlError::new(state::DIVISION_BY_ZERO, "division by zero")
}

/// Returns error 22003, which says that a value is out of the range of this type.
pub(super) fn out_of_range(ty: Type) -> SqlError {
    SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, format!("{ty} out of range"))
}

fn float_overflow() -> SqlError {
    SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

fn float_underflow() -> SqlError {
    SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow")
}

fn date_out_of_range() -> SqlError {
    SqlError::new(state::DATETIME_FIELD_OVERFLOW, "date out of range")
}
