//! The frames around a query: they hold the rows of enclosing queries and joins to which the query's expressions refer.
//!
//! The executor puts a frame around a plan that runs once for each row of another plan: the inner side of a nested
//! loop, a LATERAL item, a correlated subquery. Each frame of a statement has a number, by which expressions refer to
//! it. The frames form a list, from the innermost outwards. Frames also hold the rows of WITH, and the means to run
//! subqueries.

use super::{Env, Expr, Input, Invocation, Kept, Subquery};
use crate::opaque::Opaque;
use crate::schema::SearchPath;
use crate::{SqlError, state};
use hotrow_storage::{Key, TableId, Value};
use hotrow_sync::Arc;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// A frame around a running query.
#[derive(Debug)]
pub struct Frame<'a> {
    /// The frame's number in the statement.
    pub id: usize,
    /// The content that the query's expressions can refer to.
    pub content: Content<'a>,
    /// The next frame outwards.
    pub next: Option<&'a Frame<'a>>,
}

/// The content of a frame.
#[derive(Debug)]
pub enum Content<'a> {
    /// Some columns of a row.
    Row(&'a [Value<'a>]),
    /// The stored rows of a WITH query.
    Rows(&'a Kept),
    /// The rows that the other parts of a statement do not see, because its WITH changes rows.
    Unseen(&'a Unseen),
    /// The means to run subqueries. This frame exists only while the transaction is not in use by a scan.
    Subqueries(&'a dyn Subqueries),
    /// The search path of the body that is running, if the body does not use the session's. This is the outermost frame
    /// of the body.
    Path(&'a Option<Arc<SearchPath>>),
}

/// The primary keys of the rows that a statement has changed so far, if its WITH changes rows. The parts of such a
/// statement do not see each other's changes, and do not change the same row twice.
#[derive(Debug, Default)]
pub struct Unseen {
    inserted: Keys,
    altered: Keys,
}

/// Primary keys of rows, by the number of the table.
type Keys = RefCell<HashMap<TableId, HashSet<Key>>>;

impl Unseen {
    /// Records that the statement has inserted a row.
    pub fn insert(&self, table: TableId, key: Key) {
        self.inserted.borrow_mut().entry(table).or_default().insert(key);
    }

    /// Records that the statement has updated or deleted a row.
    pub fn alter(&self, table: TableId, key: Key) {
        self.altered.borrow_mut().entry(table).or_default().insert(key);
    }

    /// Whether the statement has inserted any row into a table.
    pub fn has_inserted_any(&self, table: TableId) -> bool {
        self.inserted.borrow().contains_key(&table)
    }

    /// Whether the statement has inserted the row with this key.
    pub fn has_inserted(&self, table: TableId, key: &Key) -> bool {
        self.inserted.borrow().get(&table).is_some_and(|keys| keys.contains(key))
    }

    /// Whether the statement has inserted, updated or deleted the row with this key.
    pub fn has_changed(&self, table: TableId, key: &Key) -> bool {
        let altered = self.altered.borrow();
        self.has_inserted(table, key) || altered.get(&table).is_some_and(|keys| keys.contains(key))
    }
}

/// Returns the rows that the statement has changed so far. Returns `None` unless the statement's WITH changes rows.
#[inline]
pub(crate) fn unseen<'a>(env: &Env<'a>) -> Option<&'a Unseen> {
    Frame::find(env.frames, |frame| match frame.content {
        Content::Unseen(unseen) => Some(unseen),
        Content::Row(_) | Content::Rows(_) | Content::Subqueries(_) | Content::Path(_) => None,
    })
}

/// The means to run subqueries, which the executor implements.
pub trait Subqueries: fmt::Debug {
    /// Runs a subquery and returns its value. The expression that contains it is evaluated over `row`.
    fn evaluate(&self, subquery: &Subquery, env: &Env<'_>, row: &Input<'_>) -> Result<Value<'static>, SqlError>;

    /// Calls a user's function with the values of its arguments, and returns its result.
    fn invoke(&self, invocation: &Invocation, arguments: Vec<Value<'static>>) -> Result<Value<'static>, SqlError>;

    /// Calls a user's function that returns a row, or a set of rows, of `width` columns. Returns the rows.
    fn invoke_rows(&self, callee: &Opaque, arguments: &[Value<'static>], width: usize) -> Result<Kept, SqlError>;
}

impl<'a> Frame<'a> {
    /// Calls `seen` for each frame, from the innermost outwards, and returns the first value that it returns.
    #[inline]
    pub(crate) fn find<T>(
        mut frames: Option<&'a Frame<'a>>,
        mut seen: impl FnMut(&'a Frame<'a>) -> Option<T>,
    ) -> Option<T> {
        while let Some(frame) = frames {
            if let Some(found) = seen(frame) {
                return Some(found);
            }
            frames = frame.next;
        }
        None
    }
}

/// Returns the runner of subqueries and calls in the innermost frame that has one ([`Content::Subqueries`]).
fn way<'a>(env: &Env<'a>) -> Result<&'a dyn Subqueries, SqlError> {
    let way = Frame::find(env.frames, |frame| match frame.content {
        Content::Subqueries(subqueries) => Some(subqueries),
        Content::Row(_) | Content::Rows(_) | Content::Unseen(_) | Content::Path(_) => None,
    });
    way.ok_or_else(|| lost("a subquery"))
}

/// Runs a subquery and returns the value of its test.
pub(super) fn evaluate<'a>(subquery: &Subquery, env: &Env<'_>, row: &Input<'_>) -> Result<Value<'a>, SqlError> {
    way(env)?.evaluate(subquery, env, row)
}

/// Evaluates the arguments of a user's function, calls it, and returns its result. If the function is strict and an
/// argument is NULL, returns NULL without a call.
pub(super) fn invoke<'a>(invocation: &Invocation, env: &Env<'_>, row: &Input<'_>) -> Result<Value<'a>, SqlError> {
    let arguments = invocation.arguments.iter().map(|argument| Ok(argument.eval(env, row)?.into_owned()));
    let arguments = arguments.collect::<Result<Vec<_>, SqlError>>()?;
    if invocation.is_strict && arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    way(env)?.invoke(invocation, arguments)
}

/// Calls a user's function that returns a row, or a set of rows, of `width` columns. Returns the rows.
pub(crate) fn invoke_rows(
    callee: &Opaque,
    arguments: &[Value<'static>],
    width: usize,
    env: &Env<'_>,
) -> Result<Kept, SqlError> {
    way(env)?.invoke_rows(callee, arguments, width)
}

/// Returns the internal error of a plan whose expression refers to a frame that does not exist.
#[cold]
pub(crate) fn lost(what: &str) -> SqlError {
    SqlError::new(state::INTERNAL_ERROR, format!("{what} is out of the plan's reach"))
}

impl Expr {
    /// Whether the evaluation needs the transaction to itself: a part of the expression is a subquery, a call of a
    /// user's function, or a function that suspends the session, such as `pg_sleep`.
    pub(crate) fn has_subquery(&self) -> bool {
        self.any(&mut |part| match part {
            Expr::Subquery(_) | Expr::Invoke(_) => true,
            Expr::Call(function, _) => function.waits(),
            _ => false,
        })
    }

    /// Returns the expression with the columns of frames replaced by their present values, so that it can be evaluated
    /// after the frames are gone.
    pub(crate) fn settled(&self, env: &Env<'_>) -> Expr {
        let mut settled = self.clone();
        settle(&mut settled, env);
        settled
    }
}

fn settle(expr: &mut Expr, env: &Env<'_>) {
    match expr {
        Expr::Outer(frame, column) => {
            if let Ok(value) = env.outer(*frame, *column) {
                *expr = Expr::Const(value.into_owned());
            }
        }
        other => other.parts_mut().into_iter().for_each(|part| settle(part, env)),
    }
}
