//! Functions of sequences.

use super::argument::{Arguments, integer_of, text_of};
use super::function::{Function, Overload, SequenceFunction};
use crate::SqlError;
use crate::error::unsupported;
use crate::expr::Env;
use hotrow_storage::{Type, Value};

/// Returns this module's overloads of the SQL function with this name, or an empty list if it has none.
pub fn named(name: &str) -> &'static [Overload] {
    use Type::{Bool, Int8, Text};
    macro_rules! overloads {
        ($($function:ident($($argument:expr),*) -> $result:expr),* $(,)?) => {
            const {
                &[$(Overload {
                    function: Function::Sequence(SequenceFunction::$function),
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
        "pg_sequence_last_value" => overloads![LastTaken(Text) -> Int8],
        "pg_get_serial_sequence" => overloads![SerialSequence(Text, Text) -> Text],
        _ => &[],
    }
}

impl SequenceFunction {
    /// Returns the result of the function for these arguments.
    pub(super) fn call<'a>(
        self,
        [first, second, third, ..]: &Arguments<'a>,
        env: &Env<'a>,
    ) -> Result<Value<'a>, SqlError> {
        let Some(context) = env.context else { return Err(unsupported("a sequence in this place")) };
        Ok(match self {
            SequenceFunction::NextValue => Value::Int8(context.next_value(first)?),
            SequenceFunction::CurrentValue => Value::Int8(context.current_value(first)?),
            SequenceFunction::LastValue => Value::Int8(context.last_value()?),
            SequenceFunction::SetValue => {
                Value::Int8(context.set_value(first, integer_of(second), *third != Value::Bool(false))?)
            }
            SequenceFunction::Stand => Value::Int8(context.stand(first)?.last),
            SequenceFunction::IsCalled => Value::Bool(context.stand(first)?.is_taken),
            SequenceFunction::LastTaken => {
                let stand = context.stand(first)?;
                if stand.is_taken { Value::Int8(stand.last) } else { Value::Null }
            }
            SequenceFunction::SerialSequence => {
                let name = context.serial_sequence(text_of(first), text_of(second))?;
                name.map_or(Value::Null, |name| Value::Text(name.into()))
            }
        })
    }
}
