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
    /// The rows that the statement has changed so far.
    Unseen(&'a Unseen),
    /// The means to run subqueries. This frame exists only while the transaction is not in use by a scan.
    Subqueries(&'a dyn Subqueries),
    /// The search path of the body that runs, if it is not the session's. It is the outermost frame of the body.
    Path(&'a Option<Arc<SearchPath>>),
}

/// The primary keys of the rows that a statement whose WITH changes rows has changed. Its parts do not see what others
/// have done, and do not change a row once more.
#[derive(Debug, Default)]
pub struct Unseen {
    inserted: Keys,
    altered: Keys,
}

/// Primary keys of rows, by the table.
type Keys = RefCell<HashMap<TableId, HashSet<Key>>>;

impl Unseen {
    /// Adds a row that was inserted.
    pub fn insert(&self, table: TableId, key: Key) {
        self.inserted.borrow_mut().entry(table).or_default().insert(key);
    }

    /// Adds a row that was updated or deleted.
    pub fn alter(&self, table: TableId, key: Key) {
        self.altered.borrow_mut().entry(table).or_default().insert(key);
    }

    /// Whether any row of a table was inserted.
    pub fn has_inserted_any(&self, table: TableId) -> bool {
        self.inserted.borrow().contains_key(&table)
    }

    /// Whether a row was inserted.
    pub fn has_inserted(&self, table: TableId, key: &Key) -> bool {
        self.inserted.borrow().get(&table).is_some_and(|keys| keys.contains(key))
    }

    /// Whether a row was inserted, updated or deleted.
    pub fn has_changed(&self, table: TableId, key: &Key) -> bool {
        let altered = self.altered.borrow();
        self.has_inserted(table, key) || altered.get(&table).is_some_and(|keys| keys.contains(key))
    }
}

/// Returns the rows that the statement has changed so far, if its WITH changes rows.
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

    /// Runs a user's function over the values of its arguments, and returns its result.
    fn invoke(&self, invocation: &Invocation, arguments: Vec<Value<'static>>) -> Result<Value<'static>, SqlError>;

    /// Runs a user's function whose result is rows of `width` columns, and returns them.
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

/// Returns the means to run subqueries that the innermost frame of the kind [`Content::Subqueries`] has.
fn way<'a>(env: &Env<'a>) -> Result<&'a dyn Subqueries, SqlError> {
    let way = Frame::find(env.frames, |frame| match frame.content {
        Content::Subqueries(subqueries) => Some(subqueries),
        Content::Row(_) | Content::Rows(_) | Content::Unseen(_) | Content::Path(_) => None,
    });
    way.ok_or_else(|| lost("a subquery"))
}

/// Runs a subquery and returns its value.
pub(super) fn evaluate<'a>(subquery: &Subquery, env: &Env<'_>, row: &Input<'_>) -> Result<Value<'a>, SqlError> {
    way(env)?.evaluate(subquery, env, row)
}

/// Calls a user's function, and returns its result.
pub(super) fn invoke<'a>(invocation: &Invocation, env: &Env<'_>, row: &Input<'_>) -> Result<Value<'a>, SqlError> {
    let arguments = invocation.arguments.iter().map(|argument| Ok(argument.eval(env, row)?.into_owned()));
    let arguments = arguments.collect::<Result<Vec<_>, SqlError>>()?;
    if invocation.is_strict && arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    way(env)?.invoke(invocation, arguments)
}

/// Calls a user's function whose result is rows of `width` columns, and returns them.
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
    /// Whether the evaluation needs the transaction: a part of the expression is a subquery, a user's function, or a
    /// function that waits like one, such as `pg_sleep`.
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
