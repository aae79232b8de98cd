//! Functions.

use super::arith::out_of_range;
use super::compare::float;
use super::{Env, Expr, Input, cast};
use crate::error::unsupported;
use crate::types::{date_parts, encode_text};
use crate::{SqlError, state};
use bytes::BytesMut;
use hotrow_storage::{Decimal, Type, Value};
use rust_decimal::RoundingStrategy;
use std::borrow::Cow;

/// A function, once its name and arguments have been resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum Function {
    Abs,
    Sign,
    Ceil,
    Floor,
    Round,
    Trunc,
    Mod,
    Sqrt,
    Exp,
    Ln,
    Random,
    Greatest,
    Least,
    Length,
    OctetLength,
    Lower,
    Upper,
    Substring,
    Trim,
    TrimStart,
    TrimEnd,
    Position,
    Replace,
    Left,
    Right,
    Repeat,
    Reverse,
    PadLeft,
    Concat,
    Now,
    ClockTimestamp,
    CurrentDate,
    LocalTimestamp,
    Extract(Field),
    Version,
    CurrentUser,
    CurrentDatabase,
    CurrentSchema,
    BackendPid,
    RandomUuid,
    NextValue,
    CurrentValue,
    LastValue,
    SetValue,
    SerialSequence,
}

/// A part of a date or timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum Field {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Epoch,
    DayOfWeek,
    DayOfYear,
}

impl Field {
    /// The field of this name, in lower case.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "year" => Field::Year,
            "month" => Field::Month,
            "day" => Field::Day,
            "hour" => Field::Hour,
            "minute" => Field::Minute,
            "second" => Field::Second,
            "epoch" => Field::Epoch,
            "dow" => Field::DayOfWeek,
            "doy" => Field::DayOfYear,
            _ => return None,
        })
    }
}

/// What a function takes and returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The function.
    pub function: Function,
    /// The types that its arguments are cast to.
    pub arguments: Vec<Type>,
    /// The type of its result.
    pub result: Type,
}

/// The function that a call by `name` with arguments of these types means, if there is one. An argument whose type is not
/// known takes any.
pub fn signature(name: &str, types: &[Option<Type>]) -> Option<Signature> {
    use Type::{Date, Float8, Int4, Numeric, Text, Timestamp, TimestampTz, Uuid};
    let make = |function, arguments: &[Type], result| {
        let fits = types.len() == arguments.len()
            && types.iter().zip(arguments).all(|(given, wanted)| {
                given.is_none_or(|given| super::can_cast(given, *wanted, super::Strictness::Implicit))
            });
        fits.then(|| Signature { function, arguments: arguments.to_vec(), result })
    };
    // A numeric function of one argument: of the argument's own type, or double precision if it is not known.
    let number = types.first().copied().flatten().unwrap_or(Float8);
    let own = |function| make(function, &[number], number).filter(|_| is_number(number));
    // The same, but integers become double precision.
    let fraction = match number {
        Numeric(_) => Numeric(None),
        _ => Float8,
    };
    match name {
        "abs" => own(Function::Abs),
        "sign" => make(Function::Sign, &[fraction], fraction),
        "ceil" | "ceiling" => make(Function::Ceil, &[fraction], fraction),
        "floor" => make(Function::Floor, &[fraction], fraction),
        "round" if types.len() == 1 => make(Function::Round, &[fraction], fraction),
        "round" => make(Function::Round, &[Numeric(None), Int4], Numeric(None)),
        "trunc" if types.len() == 1 => make(Function::Trunc, &[fraction], fraction),
        "trunc" => make(Function::Trunc, &[Numeric(None), Int4], Numeric(None)),
        "mod" => {
            let ty = super::super::bind::common_number(types).filter(|ty| ty.is_integer()).unwrap_or(Numeric(None));
            make(Function::Mod, &[ty, ty], ty)
        }
        "sqrt" => make(Function::Sqrt, &[Float8], Float8),
        "exp" => make(Function::Exp, &[Float8], Float8),
        "ln" => make(Function::Ln, &[Float8], Float8),
        "random" => make(Function::Random, &[], Float8),
        "length" if types.first() == Some(&Some(Type::Bytea)) => make(Function::OctetLength, &[Type::Bytea], Int4),
        "length" | "char_length" | "character_length" => make(Function::Length, &[Text], Int4),
        "octet_length" => make(Function::OctetLength, &[types.first().copied().flatten().unwrap_or(Text)], Int4),
        "lower" => make(Function::Lower, &[Text], Text),
        "upper" => make(Function::Upper, &[Text], Text),
        "substr" | "substring" if types.len() == 2 => make(Function::Substring, &[Text, Int4], Text),
        "substr" | "substring" => make(Function::Substring, &[Text, Int4, Int4], Text),
        "btrim" if types.len() == 1 => make(Function::Trim, &[Text], Text),
        "btrim" => make(Function::Trim, &[Text, Text], Text),
        "ltrim" if types.len() == 1 => make(Function::TrimStart, &[Text], Text),
        "ltrim" => make(Function::TrimStart, &[Text, Text], Text),
        "rtrim" if types.len() == 1 => make(Function::TrimEnd, &[Text], Text),
        "rtrim" => make(Function::TrimEnd, &[Text, Text], Text),
        "strpos" | "position" => make(Function::Position, &[Text, Text], Int4),
        "replace" => make(Function::Replace, &[Text, Text, Text], Text),
        "left" => make(Function::Left, &[Text, Int4], Text),
        "right" => make(Function::Right, &[Text, Int4], Text),
        "repeat" => make(Function::Repeat, &[Text, Int4], Text),
        "reverse" => make(Function::Reverse, &[Text], Text),
        "lpad" if types.len() == 2 => make(Function::PadLeft, &[Text, Int4], Text),
        "lpad" => make(Function::PadLeft, &[Text, Int4, Text], Text),
        "concat" => Some(Signature {
            function: Function::Concat,
            arguments: types.iter().map(|ty| ty.unwrap_or(Text)).collect(),
            result: Text,
        }),
        "now" | "current_timestamp" | "transaction_timestamp" | "statement_timestamp" => {
            make(Function::Now, &[], TimestampTz)
        }
        "clock_timestamp" => make(Function::ClockTimestamp, &[], TimestampTz),
        "current_date" => make(Function::CurrentDate, &[], Date),
        "localtimestamp" => make(Function::LocalTimestamp, &[], Timestamp),
        "version" => make(Function::Version, &[], Text),
        "current_user" | "session_user" | "user" | "current_role" => make(Function::CurrentUser, &[], Text),
        "current_database" | "current_catalog" => make(Function::CurrentDatabase, &[], Text),
        "current_schema" => make(Function::CurrentSchema, &[], Text),
        "pg_backend_pid" => make(Function::BackendPid, &[], Int4),
        "nextval" => make(Function::NextValue, &[Text], Type::Int8),
        "currval" => make(Function::CurrentValue, &[Text], Type::Int8),
        "lastval" => make(Function::LastValue, &[], Type::Int8),
        "setval" if types.len() == 2 => make(Function::SetValue, &[Text, Type::Int8], Type::Int8),
        "setval" => make(Function::SetValue, &[Text, Type::Int8, Type::Bool], Type::Int8),
        "pg_get_serial_sequence" => make(Function::SerialSequence, &[Text, Text], Text),
        "gen_random_uuid" => make(Function::RandomUuid, &[], Uuid),
        _ => None,
    }
}

fn is_number(ty: Type) -> bool {
    ty.is_integer() || matches!(ty, Type::Numeric(_) | Type::Float4 | Type::Float8)
}

impl Function {
    /// Whether two calls with the same arguments may differ within one statement.
    pub fn is_volatile(self) -> bool {
        matches!(self, Function::Random | Function::ClockTimestamp | Function::RandomUuid) || self.is_of_catalog()
    }

    /// Whether it looks at sequences.
    fn is_of_catalog(self) -> bool {
        use Function::{CurrentValue, LastValue, NextValue, SerialSequence, SetValue};
        matches!(self, NextValue | CurrentValue | LastValue | SetValue | SerialSequence)
    }

    /// Calls the function. NULL in, NULL out, but for the few that say otherwise.
    pub(super) fn call<'a>(self, arguments: &'a [Expr], env: &Env<'a>, row: &Input<'a>) -> Result<Value<'a>, SqlError> {
        let mut values: [Value<'a>; 3] = [Value::Null, Value::Null, Value::Null];
        if matches!(self, Function::Greatest | Function::Least) {
            return self.extreme(arguments, env, row);
        }
        if self == Function::Concat {
            return concat_all(arguments, env, row);
        }
        for (slot, argument) in values.iter_mut().zip(arguments) {
            *slot = argument.eval(env, row)?;
            if slot.is_null() {
                return Ok(Value::Null);
            }
        }
        let [first, second, third] = values;
        match (self, first) {
            (Function::Extract(field), value) => extract(field, &value),
            (_, value) if self.is_of_catalog() => self.on_catalog(env, &value, &second, &third),
            (_, Value::Text(text)) => self.on_text(text, second, third),
            (Function::OctetLength | Function::Length, Value::Bytea(bytes)) => length(bytes.len()),
            (_, Value::Null) => self.on_session(env),
            (_, value) => self.on_number(value, &second),
        }
    }

    /// GREATEST and LEAST: NULLs are left out.
    fn extreme<'a>(self, arguments: &'a [Expr], env: &Env<'a>, row: &Input<'a>) -> Result<Value<'a>, SqlError> {
        let mut best = Value::Null;
        for argument in arguments {
            let value = argument.eval(env, row)?;
            if value.is_null() {
                continue;
            }
            let order = super::compare(&value, &best, false);
            if best.is_null()
                || (self == Function::Greatest && order.is_gt())
                || (self == Function::Least && order.is_lt())
            {
                best = value;
            }
        }
        Ok(best)
    }

    fn on_catalog<'a>(
        self,
        env: &Env<'a>,
        first: &Value<'_>,
        second: &Value<'_>,
        third: &Value<'_>,
    ) -> Result<Value<'a>, SqlError> {
        let Some(names) = env.names else { return Err(unsupported("a sequence in this place")) };
        Ok(match self {
            Function::NextValue => Value::Int8(names.next_value(first)?),
            Function::CurrentValue => Value::Int8(names.current_value(first)?),
            Function::LastValue => Value::Int8(names.last_value()?),
            Function::SetValue => {
                let value = second.as_int().unwrap_or_default();
                Value::Int8(names.set_value(first, value, *third != Value::Bool(false))?)
            }
            _ => match (first, second) {
                (Value::Text(table), Value::Text(column)) => {
                    names.serial_sequence(table, column)?.map_or(Value::Null, |name| Value::Text(name.into()))
                }
                _ => Value::Null,
            },
        })
    }

    fn on_session<'a>(self, env: &Env<'a>) -> Result<Value<'a>, SqlError> {
        Ok(match self {
            Function::Random => Value::Float8(random()),
            Function::Now => Value::TimestampTz(env.now),
            Function::LocalTimestamp => Value::Timestamp(env.now),
            Function::ClockTimestamp => Value::TimestampTz(now()),
            Function::CurrentDate => {
                return cast(Value::TimestampTz(env.now), Type::TimestampTz, Type::Date, super::Strictness::Explicit);
            }
            Function::Version => Value::text(crate::settings::VERSION),
            Function::CurrentUser => Value::text(env.user),
            Function::CurrentDatabase => Value::text("postgres"),
            Function::CurrentSchema => Value::text("public"),
            Function::BackendPid => Value::Int4(env.session_id),
            Function::RandomUuid => Value::Uuid(random_uuid()),
            _ => Value::Null,
        })
    }

    fn on_number<'a>(self, value: Value<'a>, second: &Value<'_>) -> Result<Value<'a>, SqlError> {
        let places = second.as_int();
        Ok(match (self, value) {
            (Function::Mod, value) => super::Arithmetic::Modulo.apply(&value, second)?,
            (Function::Abs, Value::Int2(value)) => {
                Value::Int2(value.checked_abs().ok_or_else(|| out_of_range(Type::Int2))?)
            }
            (Function::Abs, Value::Int4(value)) => {
                Value::Int4(value.checked_abs().ok_or_else(|| out_of_range(Type::Int4))?)
            }
            (Function::Abs, Value::Int8(value)) => {
                Value::Int8(value.checked_abs().ok_or_else(|| out_of_range(Type::Int8))?)
            }
            (Function::Abs, Value::Float4(value)) => Value::Float4(value.abs()),
            (_, Value::Numeric(number)) => Value::Numeric(self.on_decimal(number, places.unwrap_or(0))),
            (_, value) => Value::Float8(self.on_float(float(&value))?),
        })
    }

    fn on_decimal(self, number: Decimal, places: i64) -> Decimal {
        match self {
            Function::Abs => number.abs(),
            Function::Sign if number.is_zero() => Decimal::ZERO,
            Function::Sign if number.is_sign_negative() => Decimal::NEGATIVE_ONE,
            Function::Sign => Decimal::ONE,
            Function::Ceil => number.ceil(),
            Function::Floor => number.floor(),
            Function::Trunc => round(number, places, RoundingStrategy::ToZero),
            _ => round(number, places, RoundingStrategy::MidpointAwayFromZero),
        }
    }

    fn on_float(self, value: f64) -> Result<f64, SqlError> {
        Ok(match self {
            Function::Abs => value.abs(),
            Function::Sign if value == 0.0 || value.is_nan() => value,
            Function::Sign => value.signum(),
            Function::Ceil => value.ceil(),
            Function::Floor => value.floor(),
            Function::Trunc => value.trunc(),
            Function::Round => value.round_ties_even(),
            Function::Sqrt if value < 0.0 => {
                let message = "cannot take square root of a negative number";
                return Err(SqlError::new(state::INVALID_ARGUMENT_FOR_POWER_FUNCTION, message));
            }
            Function::Sqrt => value.sqrt(),
            Function::Ln if value <= 0.0 => {
                let what = if value == 0.0 { "zero" } else { "a negative number" };
                let message = format!("cannot take logarithm of {what}");
                return Err(SqlError::new(state::INVALID_ARGUMENT_FOR_LOGARITHM, message));
            }
            Function::Ln => value.ln(),
            _ => {
                let result = value.exp();
                if result.is_infinite() && value.is_finite() {
                    return Err(SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow"));
                }
                result
            }
        })
    }

    fn on_text<'a>(self, text: Cow<'a, str>, second: Value<'a>, third: Value<'a>) -> Result<Value<'a>, SqlError> {
        let count = second.as_int().unwrap_or(0);
        let other = match &second {
            Value::Text(text) => &**text,
            _ => " ",
        };
        let set: &dyn Fn(char) -> bool = &|character| other.contains(character);
        let owned = match self {
            Function::Length => return length(text.chars().count()),
            Function::OctetLength => return length(text.len()),
            Function::Position => {
                let found = text.find(other).map_or(0, |at| text[..at].chars().count() + 1);
                return length(found);
            }
            Function::Lower => text.to_lowercase(),
            Function::Upper => text.to_uppercase(),
            Function::Substring => return Ok(Value::Text(substring(text, count, third.as_int())?)),
            Function::Trim => text.trim_matches(set).to_owned(),
            Function::TrimStart => text.trim_start_matches(set).to_owned(),
            Function::TrimEnd => text.trim_end_matches(set).to_owned(),
            Function::Replace => match &third {
                Value::Text(new) if !other.is_empty() => {
                    let growth = new.len().saturating_sub(other.len());
                    if growth > 0 {
                        check_size(text.matches(other).count().saturating_mul(growth).saturating_add(text.len()))?;
                    }
                    text.replace(other, new)
                }
                _ => text.into_owned(),
            },
            Function::Left => text.chars().take(ends_at(&text, count)).collect(),
            Function::Right => {
                let total = text.chars().count();
                text.chars().skip(total - ends_at(&text, count)).collect()
            }
            Function::Repeat => {
                let times = usize::try_from(count).unwrap_or(0);
                check_size(text.len().saturating_mul(times))?;
                text.repeat(times)
            }
            Function::Reverse => text.chars().rev().collect(),
            Function::PadLeft => pad_left(&text, count, &third)?,
            _ => return Err(SqlError::new(state::INTERNAL_ERROR, "not a function of text")),
        };
        Ok(Value::Text(owned.into()))
    }
}

/// How many characters LEFT and RIGHT keep: all but `-count` if that is negative.
fn ends_at(text: &str, count: i64) -> usize {
    let total = text.chars().count();
    let kept = if count < 0 { (total as i64).saturating_add(count) } else { count };
    usize::try_from(kept.max(0)).unwrap_or(total).min(total)
}

/// An error if a string of so many bytes is larger than a value may be.
pub(super) fn check_size(bytes: usize) -> Result<(), SqlError> {
    if bytes > 1 << 28 {
        return Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "requested length too large"));
    }
    Ok(())
}

fn pad_left(text: &str, count: i64, fill: &Value<'_>) -> Result<String, SqlError> {
    let wanted = usize::try_from(count).unwrap_or(0);
    check_size(wanted.saturating_mul(4))?;
    let total = text.chars().count();
    if total >= wanted {
        return Ok(text.chars().take(wanted).collect());
    }
    let fill = match fill {
        Value::Text(fill) => &**fill,
        _ => " ",
    };
    let padding = fill.chars().cycle().take(wanted - total);
    Ok(padding.chain(text.chars()).collect())
}

fn length(count: usize) -> Result<Value<'static>, SqlError> {
    i32::try_from(count).map(Value::Int4).map_err(|_| out_of_range(Type::Int4))
}

/// Characters from `start` (1-based, may lie before the text), `count` of them.
fn substring(text: Cow<'_, str>, start: i64, count: Option<i64>) -> Result<Cow<'_, str>, SqlError> {
    let end = match count {
        Some(count) if count < 0 => {
            return Err(SqlError::new(state::SUBSTRING_ERROR, "negative substring length not allowed"));
        }
        Some(count) => start.saturating_add(count),
        None => i64::MAX,
    };
    let offset = |position: i64| {
        let characters = usize::try_from((position - 1).max(0)).unwrap_or(usize::MAX);
        text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at)
    };
    let from = offset(start);
    let range = from..offset(end).max(from);
    Ok(match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[range]),
        Cow::Owned(text) => Cow::Owned(text[range].to_owned()),
    })
}

fn concat_all<'a>(arguments: &'a [Expr], env: &Env<'a>, row: &Input<'a>) -> Result<Value<'a>, SqlError> {
    let mut out = BytesMut::new();
    for argument in arguments {
        let value = argument.eval(env, row)?;
        if let (false, Some(ty)) = (value.is_null(), super::type_of(&value)) {
            let size = match &value {
                Value::Text(text) => text.len(),
                // Two digits a byte.
                Value::Bytea(bytes) => bytes.len().saturating_mul(2),
                _ => 0,
            };
            check_size(out.len().saturating_add(size))?;
            encode_text(&value, ty, &mut out);
        }
    }
    Ok(Value::Text(String::from_utf8_lossy(&out).into_owned().into()))
}

fn round(number: Decimal, places: i64, strategy: RoundingStrategy) -> Decimal {
    if let Ok(places) = u32::try_from(places) {
        let mut rounded = number.round_dp_with_strategy(places.min(28), strategy);
        rounded.rescale(places.min(28));
        return rounded;
    }
    let Some(unit) = u32::try_from(-places).ok().filter(|&power| power < 28).map(|power| 10_i128.pow(power)) else {
        return Decimal::ZERO;
    };
    let unit = Decimal::from_i128_with_scale(unit, 0);
    (number / unit).round_dp_with_strategy(0, strategy).checked_mul(unit).unwrap_or(number)
}

fn extract(field: Field, value: &Value<'_>) -> Result<Value<'static>, SqlError> {
    const DAY: i64 = 86_400_000_000;
    /// Seconds from 1970 to 2000.
    const EPOCH: i64 = 946_684_800;
    let micros = match value {
        Value::Date(days) => i64::from(*days) * DAY,
        Value::Timestamp(micros) | Value::TimestampTz(micros) => *micros,
        _ => return Ok(Value::Null),
    };
    let (days, time) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    let Some((year, month, day)) = i32::try_from(days).ok().and_then(date_parts) else { return Ok(Value::Null) };
    let new_year = crate::types::days_from_parts(i32::from(year), 1, 1).unwrap_or_default();
    let whole = |number: i64| Decimal::from(number);
    let number = match field {
        Field::Year => whole(i64::from(year)),
        Field::Month => whole(i64::from(month)),
        Field::Day => whole(i64::from(day)),
        Field::Hour => whole(time / 3_600_000_000),
        Field::Minute => whole(time / 60_000_000 % 60),
        Field::Second => Decimal::new(time % 60_000_000, 6),
        Field::Epoch => Decimal::from_i128_with_scale(i128::from(micros) + i128::from(EPOCH) * 1_000_000, 6),
        // 2000-01-01 was a Saturday.
        Field::DayOfWeek => whole((days + 6).rem_euclid(7)),
        Field::DayOfYear => whole(days - i64::from(new_year) + 1),
    };
    Ok(Value::Numeric(number))
}

/// Microseconds since 2000-01-01 UTC.
pub fn now() -> i64 {
    jiff::Timestamp::now().as_microsecond() - 946_684_800_000_000
}

fn random() -> f64 {
    (random_bits() >> 11) as f64 / (1_u64 << 53) as f64
}

fn random_uuid() -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&random_bits().to_be_bytes());
    bytes[8..].copy_from_slice(&random_bits().to_be_bytes());
    *uuid::Builder::from_random_bytes(bytes).as_uuid().as_bytes()
}

/// Fresh random bits: the standard library's hasher keys come from the operating system.
fn random_bits() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    let state = RandomState::new();
    hotrow_storage::mix(state.hash_one(now()))
}
