//! The functions by which `information_schema` describes the type of a column: by the OID of the type, and by the
//! modifier that has its length, precision and scale.

use super::argument::{Arguments, integer_of};
use super::function::{ColumnFunction, Function, Overload};
use hotrow_storage::{Type, Value};

/// Returns this module's overloads of the SQL function with this name, or an empty list if it has none.
pub fn named(name: &str) -> &'static [Overload] {
    macro_rules! overload {
        ($function:ident) => {
            const {
                &[Overload {
                    function: Function::Column(ColumnFunction::$function),
                    arguments: &[Type::Oid, Type::Int4],
                    result: Type::Int4,
                }]
            }
        };
    }
    match name {
        "_pg_char_max_length" => overload!(MaxLength),
        "_pg_char_octet_length" => overload!(MaxBytes),
        "_pg_numeric_precision" => overload!(Precision),
        "_pg_numeric_precision_radix" => overload!(Radix),
        "_pg_numeric_scale" => overload!(Scale),
        "_pg_datetime_precision" => overload!(TimeDigits),
        _ => &[],
    }
}

/// The OIDs of types, which are PostgreSQL's.
mod of {
    pub const INT8: i64 = 20;
    pub const INT2: i64 = 21;
    pub const INT4: i64 = 23;
    pub const TEXT: i64 = 25;
    pub const FLOAT4: i64 = 700;
    pub const FLOAT8: i64 = 701;
    pub const BPCHAR: i64 = 1042;
    pub const VARCHAR: i64 = 1043;
    pub const DATE: i64 = 1082;
    pub const TIME: i64 = 1083;
    pub const TIMESTAMP: i64 = 1114;
    pub const TIMESTAMPTZ: i64 = 1184;
    pub const INTERVAL: i64 = 1186;
    pub const TIMETZ: i64 = 1266;
    pub const NUMERIC: i64 = 1700;
}

impl ColumnFunction {
    /// Returns the result of the function for the OID and the modifier of a type, or NULL if the type has no such
    /// property.
    pub(super) fn call<'a>(self, arguments: &Arguments<'a>) -> Value<'a> {
        let (ty, modifier) = (integer_of(&arguments[0]), integer_of(&arguments[1]));
        self.value(ty, modifier).and_then(|value| i32::try_from(value).ok()).map_or(Value::Null, Value::Int4)
    }

    fn value(self, ty: i64, modifier: i64) -> Option<i64> {
        // The modifiers of texts and numbers are 4 more than what they say.
        let has_modifier = modifier != -1;
        match self {
            ColumnFunction::MaxLength => {
                (has_modifier && matches!(ty, of::BPCHAR | of::VARCHAR)).then_some(modifier - 4)
            }
            ColumnFunction::MaxBytes => match ColumnFunction::MaxLength.value(ty, modifier) {
                // A character takes up to four bytes.
                Some(length) => Some(4 * length),
                None => matches!(ty, of::TEXT | of::BPCHAR | of::VARCHAR).then_some(1 << 30),
            },
            ColumnFunction::Precision => match ty {
                of::INT2 => Some(16),
                of::INT4 => Some(32),
                of::INT8 => Some(64),
                of::FLOAT4 => Some(24),
                of::FLOAT8 => Some(53),
                of::NUMERIC if has_modifier => Some((modifier - 4) >> 16 & 0xFFFF),
                _ => None,
            },
            ColumnFunction::Radix => match ty {
                of::INT2 | of::INT4 | of::INT8 | of::FLOAT4 | of::FLOAT8 => Some(2),
                of::NUMERIC => Some(10),
                _ => None,
            },
            ColumnFunction::Scale => match ty {
                of::INT2 | of::INT4 | of::INT8 => Some(0),
                of::NUMERIC if has_modifier => Some((modifier - 4) & 0x7FF),
                _ => None,
            },
            ColumnFunction::TimeDigits => match ty {
                of::DATE => Some(0),
                of::TIME | of::TIMESTAMP | of::TIMESTAMPTZ | of::TIMETZ if modifier < 0 => Some(6),
                of::TIME | of::TIMESTAMP | of::TIMESTAMPTZ | of::TIMETZ => Some(modifier),
                of::INTERVAL if modifier < 0 || modifier & 0xFFFF == 0xFFFF => Some(6),
                of::INTERVAL => Some(modifier & 0xFFFF),
                _ => None,
            },
        }
    }
}
