//! Functions of numbers.

use super::argument::{Arguments, integer_of, invalid, text_of};
use super::function::{Function, NumberFunction, Overload};
use super::{template_input, template_number};
use crate::expr::arith::out_of_range;
use crate::expr::compare::{compare, float, numeric};
use crate::expr::{Arithmetic, Strictness, cast};
use crate::types::{SessionZone, Styles, numeric_error};
use crate::{MemoryLimit, SqlError, SqlState, state};
use hotrow_storage::{Numeric, Type, Value};

/// π / 180.
const RADIANS_PER_DEGREE: f64 = 0.017_453_292_519_943_295;

const NUMERIC: Type = Type::Numeric(None);

const fn of(function: NumberFunction, arguments: &'static [Type], result: Type) -> Overload {
    Overload { function: Function::Number(function), arguments, result }
}

/// Returns this module's overloads of the SQL function with this name, or an empty list if it has none.
pub fn named(name: &str) -> &'static [Overload] {
    use NumberFunction as F;
    use Type::{Float4, Float8, Int2, Int4, Int8, Text};
    macro_rules! overloads {
        ($($function:ident($($argument:expr),*) -> $result:expr),* $(,)?) => {
            const { &[$(of(F::$function, &[$($argument),*], $result)),*] }
        };
    }
    match name {
        "abs" => overloads![
            Abs(Int2) -> Int2, Abs(Int4) -> Int4, Abs(Int8) -> Int8,
            Abs(Float4) -> Float4, Abs(Float8) -> Float8, Abs(NUMERIC) -> NUMERIC,
        ],
        "sign" => overloads![Sign(Float8) -> Float8, Sign(NUMERIC) -> NUMERIC],
        "ceil" | "ceiling" => overloads![Ceil(Float8) -> Float8, Ceil(NUMERIC) -> NUMERIC],
        "floor" => overloads![Floor(Float8) -> Float8, Floor(NUMERIC) -> NUMERIC],
        "round" => overloads![Round(Float8) -> Float8, Round(NUMERIC) -> NUMERIC, Round(NUMERIC, Int4) -> NUMERIC],
        "trunc" => overloads![Trunc(Float8) -> Float8, Trunc(NUMERIC) -> NUMERIC, Trunc(NUMERIC, Int4) -> NUMERIC],
        "mod" => overloads![
            Mod(Int2, Int2) -> Int2, Mod(Int4, Int4) -> Int4, Mod(Int8, Int8) -> Int8, Mod(NUMERIC, NUMERIC) -> NUMERIC,
        ],
        "div" => overloads![Div(NUMERIC, NUMERIC) -> NUMERIC],
        "gcd" => overloads![Gcd(Int4, Int4) -> Int4, Gcd(Int8, Int8) -> Int8, Gcd(NUMERIC, NUMERIC) -> NUMERIC],
        "lcm" => overloads![Lcm(Int4, Int4) -> Int4, Lcm(Int8, Int8) -> Int8, Lcm(NUMERIC, NUMERIC) -> NUMERIC],
        "factorial" => overloads![Factorial(Int8) -> NUMERIC],
        "scale" => overloads![Scale(NUMERIC) -> Int4],
        "min_scale" => overloads![MinScale(NUMERIC) -> Int4],
        "trim_scale" => overloads![TrimScale(NUMERIC) -> NUMERIC],
        "sqrt" => overloads![Sqrt(Float8) -> Float8, Sqrt(NUMERIC) -> NUMERIC],
        "cbrt" => overloads![Cbrt(Float8) -> Float8],
        "exp" => overloads![Exp(Float8) -> Float8, Exp(NUMERIC) -> NUMERIC],
        "ln" => overloads![Ln(Float8) -> Float8, Ln(NUMERIC) -> NUMERIC],
        "log" => overloads![Log(Float8) -> Float8, Log(NUMERIC) -> NUMERIC, Log(NUMERIC, NUMERIC) -> NUMERIC],
        "log10" => overloads![Log(Float8) -> Float8, Log(NUMERIC) -> NUMERIC],
        "power" | "pow" => overloads![Power(Float8, Float8) -> Float8, Power(NUMERIC, NUMERIC) -> NUMERIC],
        "pi" => overloads![Pi() -> Float8],
        "degrees" => overloads![Degrees(Float8) -> Float8],
        "radians" => overloads![Radians(Float8) -> Float8],
        "sin" => overloads![Sin(Float8) -> Float8],
        "cos" => overloads![Cos(Float8) -> Float8],
        "tan" => overloads![Tan(Float8) -> Float8],
        "cot" => overloads![Cot(Float8) -> Float8],
        "asin" => overloads![Asin(Float8) -> Float8],
        "acos" => overloads![Acos(Float8) -> Float8],
        "atan" => overloads![Atan(Float8) -> Float8],
        "atan2" => overloads![Atan2(Float8, Float8) -> Float8],
        "sinh" => overloads![Sinh(Float8) -> Float8],
        "cosh" => overloads![Cosh(Float8) -> Float8],
        "tanh" => overloads![Tanh(Float8) -> Float8],
        "width_bucket" => overloads![
            WidthBucket(Float8, Float8, Float8, Int4) -> Int4, WidthBucket(NUMERIC, NUMERIC, NUMERIC, Int4) -> Int4,
        ],
        "to_char" => overloads![
            ToCharacters(Int4, Text) -> Text, ToCharacters(Int8, Text) -> Text, ToCharacters(NUMERIC, Text) -> Text,
            ToCharacters(Float4, Text) -> Text, ToCharacters(Float8, Text) -> Text,
        ],
        "to_number" => overloads![ToNumber(Text, Text) -> NUMERIC],
        "to_hex" => overloads![ToHex(Int4) -> Text, ToHex(Int8) -> Text],
        // Operators, by names that nobody can call.
        "~ number" => overloads![BitNot(Int2) -> Int2, BitNot(Int4) -> Int4, BitNot(Int8) -> Int8],
        "<<" => overloads![
            ShiftLeft(Int2, Int4) -> Int2, ShiftLeft(Int4, Int4) -> Int4, ShiftLeft(Int8, Int4) -> Int8,
        ],
        ">>" => overloads![
            ShiftRight(Int2, Int4) -> Int2, ShiftRight(Int4, Int4) -> Int4, ShiftRight(Int8, Int4) -> Int8,
        ],
        _ => &[],
    }
}

impl NumberFunction {
    /// Returns the result of the function. The arguments must have the types of one of its overloads.
    pub(super) fn call<'a>(self, arguments: &Arguments<'a>, memory: MemoryLimit) -> Result<Value<'a>, SqlError> {
        let [first, second, ..] = arguments;
        Ok(match (self, first) {
            (NumberFunction::Pi, _) => Value::Float8(std::f64::consts::PI),
            (NumberFunction::ToCharacters, _) => {
                Value::Text(template_number::write(first, text_of(second), memory)?.into())
            }
            (NumberFunction::ToNumber, _) => template_input::read(text_of(first), text_of(second), memory)?,
            (NumberFunction::Mod, _) => Arithmetic::Modulo.apply(first, second, SessionZone::Utc)?,
            (NumberFunction::Scale, Value::Numeric(number)) => places(number.scale()),
            (NumberFunction::MinScale, Value::Numeric(number)) => places(number.min_scale()),
            (NumberFunction::Factorial, _) => {
                Value::Numeric(Numeric::factorial(integer_of(first)).map_err(numeric_error)?)
            }
            (NumberFunction::WidthBucket, _) => width_bucket(arguments)?,
            (NumberFunction::Abs, Value::Float4(number)) => Value::Float4(number.abs()),
            (_, Value::Int2(_) | Value::Int4(_) | Value::Int8(_)) => self.on_integers(first, second)?,
            (_, Value::Numeric(number)) => Value::Numeric(self.on_numeric(number, second)?),
            _ => Value::Float8(self.on_float(float(first), float(second))?),
        })
    }

    fn on_integers(self, first: &Value<'_>, second: &Value<'_>) -> Result<Value<'static>, SqlError> {
        let (left, right) = (integer_of(first), integer_of(second));
        // Only the low bits of the number of places are used, as by the processor's instruction.
        let places = |bits: u32| (right as u32) & (bits - 1);
        let result = match (self, first) {
            (NumberFunction::BitNot, _) => Some(!left),
            (NumberFunction::ToHex, Value::Int8(_)) => return Ok(Value::Text(format!("{left:x}").into())),
            (NumberFunction::ToHex, _) => return Ok(Value::Text(format!("{:x}", left as i32).into())),
            (NumberFunction::ShiftLeft, Value::Int2(number)) => {
                Some(i64::from((i32::from(*number) << places(32)) as i16))
            }
            (NumberFunction::ShiftLeft, Value::Int4(number)) => Some(i64::from(number << places(32))),
            (NumberFunction::ShiftLeft, _) => Some(left << places(64)),
            (NumberFunction::ShiftRight, Value::Int2(number)) => Some(i64::from(i32::from(*number) >> places(32))),
            (NumberFunction::ShiftRight, Value::Int4(number)) => Some(i64::from(number >> places(32))),
            (NumberFunction::ShiftRight, _) => Some(left >> places(64)),
            (NumberFunction::Gcd, _) => i64::try_from(gcd(left, right)).ok(),
            (NumberFunction::Lcm, _) if left == 0 || right == 0 => Some(0),
            (NumberFunction::Lcm, _) => {
                let product = (left.unsigned_abs() / gcd(left, right)).checked_mul(right.unsigned_abs());
                product.and_then(|product| i64::try_from(product).ok())
            }
            _ => left.checked_abs(),
        };
        let ty = crate::types::type_of(first).unwrap_or(Type::Int8);
        let wide = result.ok_or_else(|| out_of_range(ty))?;
        cast(Value::Int8(wide), Type::Int8, ty, Strictness::Assignment, Styles::default())
    }

    fn on_numeric(self, number: &Numeric, second: &Value<'_>) -> Result<Numeric, SqlError> {
        // The second argument, of functions that have one.
        let other = || numeric(second);
        let result = match self {
            NumberFunction::Abs => Ok(number.abs()),
            NumberFunction::Sign if number.is_nan() => Ok(Numeric::NAN),
            NumberFunction::Sign => Ok(number.sign().into()),
            NumberFunction::Ceil => number.ceil(),
            NumberFunction::Floor => number.floor(),
            NumberFunction::TrimScale => Ok(number.without_last_zeros()),
            NumberFunction::Div => number.divide_whole(&other()),
            NumberFunction::Gcd => Ok(number.gcd(&other())),
            NumberFunction::Lcm => number.lcm(&other()),
            NumberFunction::Sqrt => number.sqrt(),
            NumberFunction::Exp => number.exp(),
            NumberFunction::Ln => number.ln(),
            // The logarithm of one argument is that to the base ten; of two, the first is the base.
            NumberFunction::Log if second.is_null() => number.log(&Numeric::from(10)),
            NumberFunction::Log => other().log(number),
            NumberFunction::Power => number.power(&other()),
            NumberFunction::Trunc => Ok(number.trunc(integer_of(second))),
            _ => number.round(integer_of(second)),
        };
        result.map_err(numeric_error)
    }

    fn on_float(self, value: f64, second: f64) -> Result<f64, SqlError> {
        let result = match self {
            NumberFunction::Abs => value.abs(),
            NumberFunction::Sign if value == 0.0 || value.is_nan() => value,
            NumberFunction::Sign => value.signum(),
            NumberFunction::Ceil => value.ceil(),
            NumberFunction::Floor => value.floor(),
            NumberFunction::Trunc => value.trunc(),
            NumberFunction::Round => value.round_ties_even(),
            NumberFunction::Cbrt => value.cbrt(),
            NumberFunction::Sqrt if value < 0.0 => {
                let message = "cannot take square root of a negative number";
                return Err(SqlError::new(state::INVALID_ARGUMENT_FOR_POWER_FUNCTION, message));
            }
            NumberFunction::Sqrt => value.sqrt(),
            NumberFunction::Ln | NumberFunction::Log if value <= 0.0 => {
                let what = if value == 0.0 { "zero" } else { "a negative number" };
                let message = format!("cannot take logarithm of {what}");
                return Err(SqlError::new(state::INVALID_ARGUMENT_FOR_LOGARITHM, message));
            }
            NumberFunction::Ln => value.ln(),
            NumberFunction::Log => value.log10(),
            NumberFunction::Exp => return checked(value.exp(), value),
            NumberFunction::Power => {
                return Arithmetic::Power
                    .apply(&Value::Float8(value), &Value::Float8(second), SessionZone::Utc)
                    .map(|power| float(&power));
            }
            NumberFunction::Degrees => return checked(value / RADIANS_PER_DEGREE, value),
            NumberFunction::Radians => value * RADIANS_PER_DEGREE,
            NumberFunction::Asin | NumberFunction::Acos if value.abs() > 1.0 => return Err(no_angle()),
            NumberFunction::Sin | NumberFunction::Cos | NumberFunction::Tan | NumberFunction::Cot
                if value.is_infinite() =>
            {
                return Err(no_angle());
            }
            NumberFunction::Sin => value.sin(),
            NumberFunction::Cos => value.cos(),
            NumberFunction::Tan => value.tan(),
            NumberFunction::Cot => 1.0 / value.tan(),
            NumberFunction::Asin => value.asin(),
            NumberFunction::Acos => value.acos(),
            NumberFunction::Atan => value.atan(),
            NumberFunction::Atan2 => value.atan2(second),
            // The results of `sinh` and `cosh` are infinite where they leave the range.
            NumberFunction::Sinh => value.sinh(),
            NumberFunction::Cosh => value.cosh(),
            _ => value.tanh(),
        };
        Ok(result)
    }
}

/// Returns a number of digits after the point, or NULL if the number is not finite.
fn places(scale: Option<u32>) -> Value<'static> {
    scale.map_or(Value::Null, |scale| Value::Int4(scale as i32))
}

fn checked(result: f64, value: f64) -> Result<f64, SqlError> {
    let error = |what: &str| SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, format!("value out of range: {what}"));
    match result {
        result if result.is_infinite() && value.is_finite() => Err(error("overflow")),
        0.0 if value.is_finite() && value != 0.0 => Err(error("underflow")),
        result => Ok(result),
    }
}

fn no_angle() -> SqlError {
    SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range")
}

fn gcd(left: i64, right: i64) -> u64 {
    let (mut left, mut right) = (left.unsigned_abs(), right.unsigned_abs());
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

/// Evaluates `width_bucket`: the number, from 1, of the equal part between two bounds that a number is in. The result
/// is 0 before the first bound, and one more than there are parts from the second bound on.
fn width_bucket([operand, low, high, count, ..]: &Arguments<'_>) -> Result<Value<'static>, SqlError> {
    const STATE: SqlState = state::INVALID_ARGUMENT_FOR_WIDTH_BUCKET;
    let count = integer_of(count);
    let wrong = |message: &str| Err(SqlError::new(STATE, message));
    if count <= 0 {
        return wrong("count must be greater than zero");
    }
    let bounds = [operand, low, high];
    if bounds.iter().any(|value| is_nan(value)) {
        return wrong("operand, lower bound, and upper bound cannot be NaN");
    }
    if bounds[1..].iter().any(|value| !is_finite(value)) {
        return wrong("lower and upper bounds must be finite");
    }
    let direction = compare(low, high, false);
    if direction.is_eq() {
        return wrong("lower bound cannot equal upper bound");
    }
    let bucket = if compare(operand, low, false) == direction {
        0
    } else if compare(operand, high, false) != direction {
        count + 1
    } else {
        bucket_between(operand, low, high, count)?
    };
    i32::try_from(bucket).map(Value::Int4).map_err(|_| invalid("integer out of range"))
}

fn is_nan(value: &Value<'_>) -> bool {
    if let Value::Numeric(number) = value { number.is_nan() } else { float(value).is_nan() }
}

fn is_finite(value: &Value<'_>) -> bool {
    if let Value::Numeric(number) = value { number.is_finite() } else { float(value).is_finite() }
}

/// Returns the number, from 1 to `count`, of the part between two bounds that a number between them is in.
fn bucket_between(operand: &Value<'_>, low: &Value<'_>, high: &Value<'_>, count: i64) -> Result<i64, SqlError> {
    if let (Value::Numeric(operand), Value::Numeric(low), Value::Numeric(high)) = (operand, low, high) {
        let part = || operand.subtract(low)?.multiply(&count.into())?.divide_whole(&high.subtract(low)?);
        return Ok(part().map_err(numeric_error)?.to_i64().unwrap_or(count) + 1);
    }
    let (operand, low, high) = (float(operand), float(low), float(high));
    let part = (operand - low) / (high - low);
    Ok(((part * count as f64) as i64 + 1).min(count))
}
