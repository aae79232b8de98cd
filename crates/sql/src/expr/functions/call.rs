//! Calls of functions, and the properties of functions that the planner uses.

use super::argument::{Arguments, MOST_ARGUMENTS, value_bytes};
use super::function::{Field, Function, SessionFunction, TimeFunction};
use crate::expr::{Env, Expr, Input};
use crate::{MemoryLimit, SqlError};
use hotrow_storage::Value;

impl Function {
    /// Returns the function that implements EXTRACT of a field from a date or timestamp.
    pub fn extract(field: Field) -> Self {
        Function::Time(TimeFunction::Extract(field))
    }

    /// Returns the SQL text of a call without arguments, such as `now()` or `CURRENT_DATE`, if the function is one of
    /// the session. Returns `None` for any other function.
    pub(crate) fn written(self) -> Option<&'static str> {
        match self {
            Function::Session(function) => function.written(),
            _ => None,
        }
    }

    /// Whether two calls with the same arguments may have different results within one statement.
    pub fn is_volatile(self) -> bool {
        match self {
            Function::Session(function) => function.is_volatile(),
            Function::Sequence(_) | Function::Catalog(_) | Function::Lock(_) => true,
            Function::Setting(_) | Function::Notification(_) => true,
            _ => false,
        }
    }

    /// Whether a call has side effects that no rollback undoes, and that other sessions could notice or later
    /// statements depend on. A number that is taken from a sequence does not count: a gap harms no session.
    pub(crate) fn acts(self) -> bool {
        match self {
            Function::Session(function) => function.acts(),
            Function::Catalog(_) | Function::Lock(_) | Function::Setting(_) => true,
            _ => false,
        }
    }

    /// Whether the result is NULL if an argument is NULL.
    #[inline]
    pub(crate) fn is_strict(self) -> bool {
        match self {
            Function::Setting(function) => function.is_strict(),
            Function::Notification(_) => false,
            _ => true,
        }
    }

    /// Evaluates a function of JSON over constants at plan time. Returns `None` for any other function, or if the call
    /// fails.
    pub(crate) fn of_constants(self, constants: &[&Value<'static>]) -> Option<Value<'static>> {
        let Function::Json(function) = self else { return None };
        let mut values: Arguments<'static> = [const { Value::Null }; MOST_ARGUMENTS];
        for (slot, constant) in values.iter_mut().zip(constants) {
            *slot = (*constant).clone();
        }
        function.call(&values, MemoryLimit::NONE).ok()
    }

    /// Whether a call suspends the session for long. Its caller must hold no latch, and must not have a scan open.
    pub(crate) fn waits(self) -> bool {
        matches!(self, Function::Session(SessionFunction::Sleep))
    }

    /// Evaluates the arguments, and calls the function.
    pub(in crate::expr) fn call<'a>(
        self,
        arguments: &'a [Expr],
        env: &Env<'a>,
        row: &Input<'a>,
    ) -> Result<Value<'a>, SqlError> {
        if let Function::Variadic(function) = self {
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
        // A result is about as long as the arguments. A function that makes more of them checks the memory itself.
        env.memory.check_value(bytes)?;
        match self {
            Function::Number(function) => function.call(&values, env.memory),
            Function::Text(function) => function.call(values, env.memory),
            Function::Json(function) => function.call(&values, env.memory),
            Function::JsonPath(function) => function.call(&values, env),
            Function::Pattern(function) => function.call(values, env.memory),
            Function::Time(function) => function.call(&values, env.styles.zone, env.memory),
            Function::Interval(function) => function.call(&values, env.styles.zone),
            Function::Sequence(function) => function.call(&values, env),
            Function::Catalog(function) => function.call(&values, env),
            Function::Session(function) => function.call(&values, env),
            Function::Lock(function) => function.call(&values, env),
            Function::Setting(function) => function.call(&values, env),
            Function::Notification(function) => function.call(&values, env),
            Function::Column(function) => Ok(function.call(&values)),
            Function::Variadic(_) | Function::Array(_) => Ok(Value::Null),
        }
    }
}
