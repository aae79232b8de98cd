//! Functions of locks: who is in whose way.

use super::{Arguments, Overload, integer_of};
use crate::error::unsupported;
use crate::expr::Env;
use crate::{SqlError, blocking};
use hotrow_storage::{Array, Element, Type, Value};

/// A function of locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum Function {
    BlockingPids,
    /// Whether one of some sessions is in the way of a session.
    IsBlocked,
}

/// The functions of a name.
pub fn named(name: &str) -> &'static [Overload] {
    use Type::{Bool, Int4};
    const PIDS: Type = Type::Array(Element::Int4);
    macro_rules! overloads {
        ($($function:ident($($argument:expr),*) -> $result:expr),* $(,)?) => {
            const {
                &[$(Overload {
                    function: super::Function::Lock(Function::$function),
                    arguments: &[$($argument),*],
                    result: $result,
                }),*]
            }
        };
    }
    match name {
        "pg_blocking_pids" => overloads![BlockingPids(Int4) -> PIDS],
        "pg_isolation_test_session_is_blocked" => overloads![IsBlocked(Int4, PIDS) -> Bool],
        _ => &[],
    }
}

impl Function {
    /// The function's value.
    pub(super) fn call<'a>(self, [first, second, ..]: &Arguments<'a>, env: &Env<'a>) -> Result<Value<'a>, SqlError> {
        let Some(names) = env.names else { return Err(unsupported("a look at the locks in this place")) };
        let blockers = match i32::try_from(integer_of(first)) {
            Ok(pid) => blocking::blockers_of(names.database(), pid),
            Err(_) => Vec::new(),
        };
        Ok(match self {
            Function::BlockingPids => Value::Array(Array::new(Element::Int4, blockers.into_iter().map(Value::Int4))),
            Function::IsBlocked => {
                let Value::Array(pids) = second else { return Ok(Value::Bool(false)) };
                let is_in_the_way = |pid: &Value<'_>| {
                    pid.as_int().is_some_and(|pid| blockers.iter().any(|&blocker| i64::from(blocker) == pid))
                };
                Value::Bool(pids.iter().any(|pid| is_in_the_way(&pid)))
            }
        })
    }
}
