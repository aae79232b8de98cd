//! Functions of the session's settings, and of its transaction's number.

use super::argument::{Arguments, text_of};
use super::function::{Function, Overload, SettingFunction};
use crate::error::unsupported;
use crate::expr::Env;
use crate::{SqlError, state};
use hotrow_storage::{Type, Value};

/// Returns this module's overloads of the SQL function with this name, or an empty list if it has none.
pub fn named(name: &str) -> &'static [Overload] {
    use Type::{Bool, Int8, Text};
    const TIMESTAMP_TZ: Type = Type::TIMESTAMP_TZ;
    macro_rules! overloads {
        ($($function:ident($($argument:expr),*) -> $result:expr),* $(,)?) => {
            const {
                &[$(Overload {
                    function: Function::Setting(SettingFunction::$function),
                    arguments: &[$($argument),*],
                    result: $result,
                }),*]
            }
        };
    }
    match name {
        "current_setting" => overloads![Current(Text) -> Text, Current(Text, Bool) -> Text],
        "set_config" => overloads![Set(Text, Text, Bool) -> Text],
        "txid_current" | "pg_current_xact_id" => overloads![TransactionNumber() -> Int8],
        "pg_postmaster_start_time" | "pg_conf_load_time" => overloads![Started() -> TIMESTAMP_TZ],
        _ => &[],
    }
}

impl SettingFunction {
    /// Whether the result is NULL if an argument is NULL.
    pub(super) fn is_strict(self) -> bool {
        self != SettingFunction::Set
    }

    /// Returns the result of the function for these arguments.
    pub(super) fn call<'a>(self, arguments: &Arguments<'a>, env: &Env<'a>) -> Result<Value<'a>, SqlError> {
        let Some(context) = env.context else { return Err(unsupported("a look at the session in this place")) };
        let [name, second, third, ..] = arguments;
        match self {
            SettingFunction::Current => match context.setting(text_of(name)) {
                Ok(value) => Ok(Value::Text(value.into())),
                Err(error) if error.state == state::UNDEFINED_OBJECT && *second == Value::Bool(true) => Ok(Value::Null),
                Err(error) => Err(error),
            },
            SettingFunction::Set => {
                if name.is_null() {
                    return Err(SqlError::new(state::NULL_VALUE_NOT_ALLOWED, "SET requires parameter name"));
                }
                let value = if let Value::Text(value) = second { Some(&**value) } else { None };
                context.set_config(text_of(name), value, *third == Value::Bool(true))?;
                context.setting(text_of(name)).map_or(Ok(Value::Null), |value| Ok(Value::Text(value.into())))
            }
            SettingFunction::TransactionNumber => Ok(Value::Int8(context.transaction_number() as i64)),
            SettingFunction::Started => Ok(Value::TimestampTz(context.shared().started())),
        }
    }
}
