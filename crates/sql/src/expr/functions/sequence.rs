//! Functions of sequences.

use super::{Arguments, Overload, integer_of, text_of};
use crate::SqlError;
use crate::error::unsupported;
use crate::expr::Env;
use hotrow_storage::{Type, Value};

/// A function that looks into the catalog for a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum Function {
    NextValue,
    CurrentValue,
    LastValue,
    SetValue,
    SerialSequence,
}

/// The functions of a name.
pub fn named(name: &str) -> &'static [Overload] {
    use Type::{Bool, Int8, Text};
    macro_rules! overloads {
        ($($function:ident($($argument:expr),*) -> $result:expr),* $(,)?) => {
            const {
                &[$(Overload {
                    function: super::Function::Sequence(Function::$function),
                    arguments: &[$($argument),*],
                    result: $result,
                }),*]
            }
        };
    }
    match name {
        "nextval" => overloads![NextValue(Text) -> Int8],
        "currval" => overloads![CurrentValue(Text) -> Int8],
        "lastval" => overloads![LastValue() -> Int8],
        "setval" => overloads![SetValue(Text, Int8) -> Int8, SetValue(Text, Int8, Bool) -> Int8],
        "pg_get_serial_sequence" => overloads![SerialSequence(Text, Text) -> Text],
        _ => &[],
    }
}

impl Function {
    /// The function's value.
    pub(super) fn call<'a>(
        self,
        [first, second, third, ..]: &Arguments<'a>,
        env: &Env<'a>,
    ) -> Result<Value<'a>, SqlError> {
        let Some(names) = env.names else { return Err(unsupported("a sequence in this place")) };
        Ok(match self {
            Function::NextValue => Value::Int8(names.next_value(first)?),
            Function::CurrentValue => Value::Int8(names.current_value(first)?),
            Function::LastValue => Value::Int8(names.last_value()?),
            Function::SetValue => {
                Value::Int8(names.set_value(first, integer_of(second), *third != Value::Bool(false))?)
            }
            Function::SerialSequence => {
                let name = names.serial_sequence(text_of(first), text_of(second))?;
                name.map_or(Value::Null, |name| Value::Text(name.into()))
            }
        })
    }
}
