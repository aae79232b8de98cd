//! Order and equality of values.

use hotrow_storage::{Array, Numeric, Value};
use std::cmp::Ordering;

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// Whether the operator is true for two values that compare as `ordering`.
    pub fn holds(self, ordering: Ordering) -> bool {
        match self {
            Comparison::Equal => ordering.is_eq(),
            Comparison::NotEqual => ordering.is_ne(),
            Comparison::Less => ordering.is_lt(),
            Comparison::LessOrEqual => ordering.is_le(),
            Comparison::Greater => ordering.is_gt(),
            Comparison::GreaterOrEqual => ordering.is_ge(),
        }
    }

    /// Returns the operator with the same result for exchanged operands: `>` for `<`.
    pub fn flipped(self) -> Self {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            other => other,
        }
    }

    /// Returns the negation of the operator: `>=` for `<`.
    pub fn opposite(self) -> Self {
        match self {
            Comparison::Equal => Comparison::NotEqual,
            Comparison::NotEqual => Comparison::Equal,
            Comparison::Less => Comparison::GreaterOrEqual,
            Comparison::GreaterOrEqual => Comparison::Less,
            Comparison::Greater => Comparison::LessOrEqual,
            Comparison::LessOrEqual => Comparison::Greater,
        }
    }

    /// Returns the operator as SQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            Comparison::Equal => "=",
            Comparison::NotEqual => "<>",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}

/// Compares two values, neither of which may be NULL. Their types must be comparable. Text is ordered by its bytes; if
/// `blanks` is set, trailing blanks are ignored, as for `char`. NaN is equal to itself and greater than every other
/// number.
pub fn compare(left: &Value<'_>, right: &Value<'_>, blanks: bool) -> Ordering {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) if blanks => {
            left.trim_end_matches(' ').cmp(right.trim_end_matches(' '))
        }
        (Value::Text(left), Value::Text(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Value::Jsonb(left), Value::Jsonb(right)) => crate::json::compare(left, right),
        (Value::Json(left), Value::Json(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Bytea(left), Value::Bytea(right)) => left.cmp(right),
        (Value::Date(left), Value::Date(right)) => left.cmp(right),
        (Value::Timestamp(left) | Value::TimestampTz(left), Value::Timestamp(right) | Value::TimestampTz(right)) => {
            left.cmp(right)
        }
        (Value::Time(left), Value::Time(right)) => left.cmp(right),
        (Value::Interval(left), Value::Interval(right)) => left.length().cmp(&right.length()),
        (Value::Uuid(left), Value::Uuid(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => compare_arrays(left, right, blanks),
        _ => compare_numbers(left, right),
    }
}

/// Whether two values are not distinct: they are equal, or both are NULL. If `blanks` is set, trailing blanks are
/// ignored.
pub fn same(left: &Value<'_>, right: &Value<'_>, blanks: bool) -> bool {
    match (left.is_null(), right.is_null()) {
        (false, false) => compare(left, right, blanks).is_eq(),
        (left, right) => left == right,
    }
}

/// Compares two arrays element by element, where NULL comes after all other values. If one array begins with the other,
/// the shorter one is less.
fn compare_arrays(left: &Array<'_>, right: &Array<'_>, blanks: bool) -> Ordering {
    let (mut lefts, mut rights) = (left.iter(), right.iter());
    loop {
        let order = match (lefts.next(), rights.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(left), Some(right)) => match (left.is_null(), right.is_null()) {
                (false, false) => compare(&left, &right, blanks),
                (left, right) => left.cmp(&right),
            },
        };
        if order.is_ne() {
            return order;
        }
    }
}

fn compare_numbers(left: &Value<'_>, right: &Value<'_>) -> Ordering {
    if let (Some(left), Some(right)) = (left.as_int(), right.as_int()) {
        return left.cmp(&right);
    }
    match (left, right) {
        (Value::Float4(_) | Value::Float8(_), _) | (_, Value::Float4(_) | Value::Float8(_)) => {
            compare_floats(float(left), float(right))
        }
        (Value::Numeric(left), Value::Numeric(right)) => left.cmp(right),
        _ => numeric(left).cmp(&numeric(right)),
    }
}

fn compare_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// Converts a number to `double precision`. Any other value becomes zero.
pub(super) fn float(value: &Value<'_>) -> f64 {
    match value {
        Value::Float4(value) => f64::from(*value),
        Value::Float8(value) => *value,
        Value::Numeric(value) => value.to_f64(),
        other => other.as_int().unwrap_or_default() as f64,
    }
}

/// Converts an integer or numeric to `numeric`. Any other value becomes zero.
pub(super) fn numeric(value: &Value<'_>) -> Numeric {
    match value {
        Value::Numeric(value) => value.clone(),
        other => Numeric::from(other.as_int().unwrap_or_default()),
    }
}
