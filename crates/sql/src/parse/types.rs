//! Resolves the names of types to types.

use super::parse_type;
use crate::depth::with_room;
use crate::error::unsupported;
use crate::parse::names::name_parts;
use crate::{SqlError, state};
use hotrow_storage::{Digits, Element, Precision, Type};
use sqlparser::ast::{ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, TimezoneInfo};

/// The names in `pg_type` of built-in types whose plain names the parser knows.
const IN_CATALOGS: [&str; 18] = [
    "bool",
    "bytea",
    "date",
    "float4",
    "float8",
    "int2",
    "int4",
    "int8",
    "interval",
    "json",
    "jsonb",
    "numeric",
    "text",
    "time",
    "timestamp",
    "uuid",
    "varchar",
    "timestamptz",
];

/// Returns the type that a type's name means, if the type is built in.
pub fn data_type(ty: &DataType) -> Result<Type, SqlError> {
    data_type_among(ty, &|_| None)
}

/// Returns the type that a type's name means. `made` finds the types that users have made, by the parts of their names.
///
/// # Errors
/// 42704 if there is no such type, 0A000 if Hotrow does not have it, 22023 if a length, precision or scale is out of
/// range.
pub fn data_type_among(ty: &DataType, made: &dyn Fn(&[String]) -> Option<Type>) -> Result<Type, SqlError> {
    Ok(match ty {
        DataType::Bool | DataType::Boolean => Type::Bool,
        DataType::SmallInt(None) | DataType::Int2(None) => Type::Int2,
        DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None) => Type::Int4,
        DataType::BigInt(None) | DataType::Int8(None) => Type::Int8,
        DataType::Real | DataType::Float4 => Type::Float4,
        DataType::Float8 | DataType::DoublePrecision | DataType::Float(ExactNumberInfo::None) => Type::Float8,
        DataType::Float(ExactNumberInfo::Precision(1..=24)) => Type::Float4,
        DataType::Float(ExactNumberInfo::Precision(25..=53)) => Type::Float8,
        DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => Type::Numeric(precision(info)?),
        DataType::Char(length) | DataType::Character(length) => {
            Type::Char(self::length(length.as_ref(), "char")?.unwrap_or(1))
        }
        DataType::Varchar(length) | DataType::CharacterVarying(length) | DataType::CharVarying(length) => {
            Type::Varchar(self::length(length.as_ref(), "varchar")?)
        }
        DataType::Text => Type::Text,
        DataType::JSON => Type::Json,
        DataType::JSONB => Type::Jsonb,
        DataType::Bytea => Type::Bytea,
        DataType::Date => Type::Date,
        DataType::Timestamp(count, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            Type::Timestamp(digits(*count))
        }
        DataType::Timestamp(count, _) => Type::TimestampTz(digits(*count)),
        DataType::Time(count, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => Type::Time(digits(*count)),
        DataType::Interval { fields: None, precision } => Type::Interval(digits(*precision)),
        DataType::Uuid => Type::Uuid,
        DataType::Custom(name, modifiers) if modifiers.is_empty() => {
            let name = name_parts(name)?;
            if let [schema, plain] = name.as_slice()
                && schema == "pg_catalog"
            {
                return data_type_among(&parse_type(plain)?, &|_| None);
            }
            match name.last().map(String::as_str) {
                Some("timestamptz") => Type::TIMESTAMP_TZ,
                Some("bpchar" | "char") => Type::Text,
                Some("name") => Type::Name,
                Some("oid") => Type::Oid,
                Some("xid" | "cid") => Type::Int4,
                _ => match made(&name) {
                    Some(ty) => ty,
                    // A built-in type in double quotes, which hide it from the parser.
                    None if let [plain] = name.as_slice()
                        && IN_CATALOGS.contains(&plain.as_str()) =>
                    {
                        return data_type_among(&parse_type(plain)?, &|_| None);
                    }
                    None => return Err(undefined_type(&name.join("."))),
                },
            }
        }
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::Qualified(element, _)) => {
            let element = with_room(|| data_type_among(element, made))?;
            let several = || unsupported("an array of more than one dimension");
            Type::Array(Element::of(element).ok_or_else(several)?)
        }
        DataType::Interval { .. } | DataType::Time(..) | DataType::Array(_) => {
            return Err(unsupported(&format!("type {}", shown(ty)?)));
        }
        other => return Err(undefined_type(&shown(other)?)),
    })
}

/// Returns the name of a type as a client writes it. There must be room for the recursion, since array types nest.
fn shown(ty: &DataType) -> Result<String, SqlError> {
    with_room(|| Ok(ty.to_string().to_lowercase()))
}

fn undefined_type(name: &str) -> SqlError {
    SqlError::new(state::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
}

/// The greatest precision that a `numeric` may declare, and the greatest scale on either side of the point.
const NUMERIC_DIGITS_MAX: u16 = 1_000;

fn precision(info: &ExactNumberInfo) -> Result<Option<Precision>, SqlError> {
    let (precision, scale) = match *info {
        ExactNumberInfo::None => return Ok(None),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    let wrong = |message: String| Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    let Some(digits) = u16::try_from(precision).ok().filter(|digits| (1..=NUMERIC_DIGITS_MAX).contains(digits)) else {
        return wrong(format!("NUMERIC precision {precision} must be between 1 and {NUMERIC_DIGITS_MAX}"));
    };
    let limit = NUMERIC_DIGITS_MAX as i16;
    match i16::try_from(scale).ok().filter(|scale| (-limit..=limit).contains(scale)) {
        Some(scale) => Ok(Some(Precision { precision: digits, scale })),
        None => wrong(format!("NUMERIC scale {scale} must be between -{limit} and {limit}")),
    }
}

/// Returns the number of fractional digits of the seconds that a type declares. More than six count as six, as in
/// PostgreSQL.
fn digits(count: Option<u64>) -> Option<Digits> {
    Digits::new(count?.min(6) as u8)
}

fn length(length: Option<&CharacterLength>, name: &str) -> Result<Option<u32>, SqlError> {
    let wrong = |message: String| Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    match length {
        None => Ok(None),
        Some(CharacterLength::IntegerLength { length: 0, .. }) => {
            wrong(format!("length for type {name} must be at least 1"))
        }
        Some(CharacterLength::IntegerLength { length, .. }) if *length <= 10_485_760 => Ok(Some(*length as u32)),
        Some(_) => wrong(format!("length for type {name} cannot exceed 10485760")),
    }
}
