//! Functions: which there are, which one a call means, and what they do.
//!
//! | file | functions |
//! | --- | --- |
//! | `choose` | which of several functions of one name a call means |
//! | `number` | of numbers |
//! | `text` | of strings |
//! | `several` | of any number of arguments: `concat`, `format`, `greatest` |
//! | `json` | of JSON |
//! | `json_build` | of any number of arguments, as JSON |
//! | `pattern` | of regular expressions |
//! | `time` | of dates and timestamps |
//! | `template` | dates by a template: `to_char` |
//! | `template_read` | the same way back: `to_date`, `to_timestamp` |
//! | `sequence` | of sequences |
//! | `catalog` | of the catalogs |
//! | `lock` | of locks |
//! | `session` | of the session and of nothing |
//! | `setting` | of settings |
//! | `array` | of arrays |
//!
//! Each file has a list of its functions by name, with the types that they take and return, and a `call` that does what they do. A function is not
//! called if one of its arguments is NULL; then it is NULL. Only those in `several` and `array` say otherwise.

mod array;
mod catalog;
mod choose;
mod interval;
mod json;
mod json_build;
mod lock;
mod number;
mod pattern;
mod sequence;
mod session;
mod setting;
mod several;
mod template;
mod template_read;
mod text;
mod time;

pub use array::Function as ArrayFunction;
pub use choose::{Choice, choose};
pub(crate) use json_build::{finish as finish_json, write as write_json, write_key as write_json_key};
pub use sequence::Function as SequenceFunction;
pub use several::Several;
pub use time::{Field, unknown_unit};

use super::{Env, Expr, Input};
use crate::{MemoryLimit, SqlError, state};
use hotrow_storage::{Type, Value};

/// A function, once its name and arguments have been resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// Of numbers.
    Number(number::Function),
    /// Of strings.
    Text(text::Function),
    /// Of regular expressions.
    Pattern(pattern::Function),
    /// Of dates and timestamps.
    Time(time::Function),
    /// Of intervals and times of day.
    Interval(interval::Function),
    /// Of sequences.
    Sequence(sequence::Function),
    /// Of the catalogs.
    Catalog(catalog::Function),
    /// Of the session.
    Session(session::Function),
    /// Of locks.
    Lock(lock::Function),
    /// Of the session's settings.
    Setting(setting::Function),
    /// Of JSON.
    Json(json::Function),
    /// Of any number of arguments.
    Several(Several),
    /// Of arrays.
    Array(ArrayFunction),
}

/// A function with what it takes and returns. Of lengths and scales nothing is said.
#[derive(Clone, Copy, Debug)]
pub struct Overload {
    function: Function,
    arguments: &'static [Type],
    result: Type,
}

/// The most arguments of a function that takes so many and no others.
const MOST_ARGUMENTS: usize = 6;

/// Arguments as a function gets them. Those that are not given are NULL, the others are not.
type Arguments<'a> = [Value<'a>; MOST_ARGUMENTS];

/// The functions of a name.
fn overloads(name: &str) -> Vec<Overload> {
    let of_values = [
        number::named(name),
        text::named(name),
        json::named(name),
        pattern::named(name),
        time::named(name),
        interval::named(name),
    ];
    let of_names =
        [sequence::named(name), catalog::named(name), session::named(name), lock::named(name), setting::named(name)];
    let lists = of_values.into_iter().chain(of_names);
    lists.flatten().copied().collect()
}

impl Function {
    /// Extracts a part of a date or timestamp.
    pub fn extract(field: Field) -> Self {
        Function::Time(time::Function::Extract(field))
    }

    /// How a call without arguments is written; none if it takes some.
    pub(crate) fn written(self) -> Option<&'static str> {
        match self {
            Function::Session(function) => function.written(),
            _ => None,
        }
    }

    /// Whether two calls with the same arguments may differ within one statement.
    pub fn is_volatile(self) -> bool {
        match self {
            Function::Session(function) => function.is_volatile(),
            Function::Sequence(_) | Function::Catalog(_) | Function::Lock(_) | Function::Setting(_) => true,
            _ => false,
        }
    }

    /// Whether a call does what no rollback undoes and others could notice, or what statements after it depend on. Numbers that a
    /// sequence has given are not taken back either, but nobody minds.
    pub(crate) fn acts(self) -> bool {
        match self {
            Function::Session(function) => function.acts(),
            Function::Catalog(_) | Function::Lock(_) | Function::Setting(_) => true,
            _ => false,
        }
    }

    /// Whether the function is NULL if an argument is.
    #[inline]
    pub(crate) fn is_strict(self) -> bool {
        match self {
            Function::Setting(function) => function.is_strict(),
            _ => true,
        }
    }

    /// What a function of JSON makes of constants; none if it is another one, or fails.
    pub(crate) fn of_constants(self, constants: &[&Value<'static>]) -> Option<Value<'static>> {
        let Function::Json(function) = self else { return None };
        let mut values: Arguments<'static> = [const { Value::Null }; MOST_ARGUMENTS];
        for (slot, constant) in values.iter_mut().zip(constants) {
            *slot = (*constant).clone();
        }
        function.call(&values, MemoryLimit::NONE).ok()
    }

    /// Whether a call takes the session away from whatever else it does, so that nothing may be held meanwhile.
    pub(crate) fn waits(self) -> bool {
        matches!(self, Function::Session(session::Function::Sleep))
    }

    /// Calls the function.
    pub(super) fn call<'a>(self, arguments: &'a [Expr], env: &Env<'a>, row: &Input<'a>) -> Result<Value<'a>, SqlError> {
        if let Function::Several(function) = self {
            return function.call(arguments, env, row);
        }
        if let Function::Array(function) = self {
            return function.call(arguments, env, row);
        }
        let mut values: Arguments<'a> = [const { Value::Null }; MOST_ARGUMENTS];
        let mut bytes = 0;
        for (slot, argument) in values.iter_mut().zip(arguments) {
            *slot = argument.eval(env, row)?;
            if slot.is_null() && self.is_strict() {
                return Ok(Value::Null);
            }
            bytes += value_bytes(slot);
        }
        // What is made of long arguments is as long; who makes more of them asks for more.
        env.memory.check_value(bytes)?;
        match self {
            Function::Number(function) => function.call(&values),
            Function::Text(function) => function.call(values, env.memory),
            Function::Json(function) => function.call(&values, env.memory),
            Function::Pattern(function) => function.call(values, env.memory),
            Function::Time(function) => function.call(&values, env.memory),
            Function::Interval(function) => function.call(&values),
            Function::Sequence(function) => function.call(&values, env),
            Function::Catalog(function) => function.call(&values, env),
            Function::Session(function) => function.call(&values, env),
            Function::Lock(function) => function.call(&values, env),
            Function::Setting(function) => function.call(&values, env),
            Function::Several(_) | Function::Array(_) => Ok(Value::Null),
        }
    }
}

/// The text of an argument; none if it is another value.
fn text_of<'v>(value: &'v Value<'_>) -> &'v str {
    match value {
        Value::Text(text) => text,
        _ => "",
    }
}

/// The integer of an argument; zero if it is another value.
fn integer_of(value: &Value<'_>) -> i64 {
    value.as_int().unwrap_or(0)
}

fn invalid(message: impl Into<String>) -> SqlError {
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

/// What a value takes beside itself.
pub(crate) fn value_bytes(value: &Value<'_>) -> usize {
    match value {
        Value::Text(text) | Value::Json(text) | Value::Jsonb(text) => text.len(),
        Value::Bytea(bytes) => bytes.len(),
        Value::Array(array) => array.bytes().len(),
        _ => 0,
    }
}
