//! Functions of locks and sessions: advisory locks, blocking sessions, cancellation and termination of sessions.

use super::argument::{Arguments, integer_of};
use super::function::{Function, LockFunction, Overload};
use crate::advisory::{Key, Numbers, Scope, Wanted};
use crate::client::Notice;
use crate::context::SessionContext;
use crate::error::unsupported;
use crate::expr::Env;
use crate::locks::blocking;
use crate::session_entry::SessionEntry;
use crate::table_lock::Mode;
use crate::{SqlError, state};
use hotrow_storage::{Array, Element, Type, Value};
use hotrow_sync::Arc;
use hotrow_txn::Abort;
use std::time::Duration;

/// Returns this module's overloads of the SQL function with this name, or an empty list if it has none.
pub fn named(name: &str) -> &'static [Overload] {
    use Mode::{Exclusive, Shared};
    use Type::{Bool, Int4, Int8, Text};
    const PIDS: Type = Type::Array(Element::Int4);
    macro_rules! overloads {
        ($($function:expr, ($($argument:expr),*) -> $result:expr);* $(;)?) => {
            const {
                &[$(Overload {
                    function: Function::Lock($function),
                    arguments: &[$($argument),*],
                    result: $result,
                }),*]
            }
        };
    }
    // The result `void` of PostgreSQL is an empty text here.
    macro_rules! of_numbers {
        ($function:expr, $result:expr) => {
            overloads![$function, (Int8) -> $result; $function, (Int4, Int4) -> $result]
        };
    }
    match name {
        "pg_advisory_lock" => of_numbers!(LockFunction::Lock(Exclusive, Scope::Session), Text),
        "pg_advisory_lock_shared" => of_numbers!(LockFunction::Lock(Shared, Scope::Session), Text),
        "pg_advisory_xact_lock" => of_numbers!(LockFunction::Lock(Exclusive, Scope::Transaction), Text),
        "pg_advisory_xact_lock_shared" => of_numbers!(LockFunction::Lock(Shared, Scope::Transaction), Text),
        "pg_try_advisory_lock" => of_numbers!(LockFunction::TryLock(Exclusive, Scope::Session), Bool),
        "pg_try_advisory_lock_shared" => of_numbers!(LockFunction::TryLock(Shared, Scope::Session), Bool),
        "pg_try_advisory_xact_lock" => of_numbers!(LockFunction::TryLock(Exclusive, Scope::Transaction), Bool),
        "pg_try_advisory_xact_lock_shared" => of_numbers!(LockFunction::TryLock(Shared, Scope::Transaction), Bool),
        "pg_advisory_unlock" => of_numbers!(LockFunction::Unlock(Exclusive), Bool),
        "pg_advisory_unlock_shared" => of_numbers!(LockFunction::Unlock(Shared), Bool),
        "pg_advisory_unlock_all" => overloads![LockFunction::UnlockAll, () -> Text],
        "pg_blocking_pids" => overloads![LockFunction::BlockingPids, (Int4) -> PIDS],
        "pg_cancel_backend" => overloads![LockFunction::Cancel, (Int4) -> Bool],
        "pg_terminate_backend" => {
            overloads![LockFunction::Terminate, (Int4) -> Bool; LockFunction::Terminate, (Int4, Int8) -> Bool]
        }
        "pg_isolation_test_session_is_blocked" => overloads![LockFunction::IsBlocked, (Int4, PIDS) -> Bool],
        _ => &[],
    }
}

impl LockFunction {
    /// Returns the result of the function for these arguments.
    pub(super) fn call<'a>(self, [first, second, ..]: &Arguments<'a>, env: &Env<'a>) -> Result<Value<'a>, SqlError> {
        let Some(context) = env.context else { return Err(unsupported("a look at the locks in this place")) };
        let blockers = || match i32::try_from(integer_of(first)) {
            Ok(pid) => blocking::blockers_of(context.shared(), pid),
            Err(_) => Vec::new(),
        };
        let (advisory, entry) = (&context.shared().advisory, &context.entry);
        let numbers = match second {
            Value::Null => Numbers::One(integer_of(first)),
            second => Numbers::Two(integer_of(first) as i32, integer_of(second) as i32),
        };
        let key = Key { database: context.shared().number(), numbers };
        Ok(match self {
            LockFunction::Cancel | LockFunction::Terminate if context.is_rehearsing() => Value::Bool(true),
            LockFunction::Cancel => Value::Bool(cancel(integer_of(first), context)?),
            LockFunction::Terminate => {
                let patience = if second.is_null() { 0 } else { integer_of(second) };
                Value::Bool(terminate(integer_of(first), patience, context)?)
            }
            LockFunction::BlockingPids => {
                Value::Array(Array::new(Element::Int4, blockers().into_iter().map(Value::Int4)))
            }
            LockFunction::IsBlocked => {
                let Value::Array(pids) = second else { return Ok(Value::Bool(false)) };
                let blockers = blockers();
                let is_in_the_way = |pid: Value<'_>| {
                    pid.as_int().is_some_and(|pid| blockers.iter().any(|&blocker| i64::from(blocker) == pid))
                };
                Value::Bool(pids.iter().any(is_in_the_way))
            }
            // A rehearsal takes and releases no locks.
            LockFunction::Lock(..) | LockFunction::Unlock(_) | LockFunction::UnlockAll if context.is_rehearsing() => {
                Value::Null
            }
            LockFunction::Lock(mode, scope) => {
                let wanted = Wanted { key, mode, scope };
                if context.may_wait.get() {
                    crate::locks::take_advisory(context.shared(), entry, wanted)?;
                } else if !advisory.try_take(entry, wanted) {
                    return Err(unsupported("a wait for an advisory lock in a statement that looks at tables")
                        .hint("Take the lock by a SELECT without FROM."));
                }
                Value::text("")
            }
            LockFunction::TryLock(mode, scope) => {
                let wanted = Wanted { key, mode, scope };
                Value::Bool(!context.is_rehearsing() && advisory.try_take(entry, wanted))
            }
            LockFunction::Unlock(mode) => Value::Bool(advisory.give_back(entry, key, mode)),
            LockFunction::UnlockAll => {
                advisory.give_all_back(entry, Scope::Session);
                Value::text("")
            }
        })
    }
}

/// The time between two looks at whether another session has ended.
const LOOK: Duration = Duration::from_millis(10);

/// Returns the session with this number if it has a connection. Otherwise warns the client.
fn other(pid: i64, context: &SessionContext) -> Option<Arc<SessionEntry>> {
    let entries = context.shared().activity.entries();
    let found = entries.into_iter().find(|entry| i64::from(entry.pid()) == pid && entry.backend().is_some());
    if found.is_none() {
        warn(context, format!("PID {pid} is not a PostgreSQL backend process"));
    }
    found
}

fn warn(context: &SessionContext, message: String) {
    context.notices.borrow_mut().push(Notice { severity: "WARNING", error: SqlError::new(state::WARNING, message) });
}

/// Evaluates `pg_cancel_backend`. A session of any user may cancel any other: all users have the rights of a superuser.
fn cancel(pid: i64, context: &SessionContext) -> Result<bool, SqlError> {
    let Some(entry) = other(pid, context) else { return Ok(false) };
    entry.backend().into_iter().for_each(|backend| backend.cancel());
    check_here(context)?;
    Ok(true)
}

/// Evaluates `pg_terminate_backend`. Waits up to `patience_ms` milliseconds until the session has ended; zero does not
/// wait. Returns `false` if there is no such session, or if it has not ended in time.
fn terminate(pid: i64, patience_ms: i64, context: &SessionContext) -> Result<bool, SqlError> {
    let Ok(patience_ms) = u64::try_from(patience_ms) else {
        return Err(SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "\"timeout\" must not be negative"));
    };
    let Some(entry) = other(pid, context) else { return Ok(false) };
    entry.backend().into_iter().for_each(|backend| backend.terminate());
    check_here(context)?;
    let waiter = &context.entry.waiter;
    let end = waiter.now().after(Duration::from_millis(patience_ms));
    let has_ended = || !context.shared().activity.entries().iter().any(|other| Arc::ptr_eq(other, &entry));
    while patience_ms > 0 && !has_ended() {
        if waiter.now() >= end {
            warn(context, format!("backend with PID {pid} did not terminate within {patience_ms} milliseconds"));
            return Ok(false);
        }
        waiter.rest(LOOK);
        check_here(context)?;
    }
    Ok(true)
}

/// Fails if the session itself was cancelled.
fn check_here(context: &SessionContext) -> Result<(), SqlError> {
    if context.entry.waiter.is_cancelled() { Err(Abort::Cancelled.into()) } else { Ok(()) }
}
