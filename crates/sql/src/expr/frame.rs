//! The frames around a query: the rows of enclosing queries and joins that its expressions can see.
//!
//! A frame is put around a plan that runs once for each row of another: the inner side of a nested loop, a LATERAL
//! item, a correlated subquery. Each frame of a statement has its own number, so that an expression names its frame and
//! counts no levels; the innermost frame comes first. Frames also hold the rows of WITH and the means to run
//! subqueries.

use super::{Env, Expr, Input, Kept, Subquery};
use crate::{SqlError, state};
use hotrow_storage::Value;
use std::fmt;

/// A frame around a query that runs.
#[derive(Debug)]
pub struct Frame<'a> {
    /// The frame's number in the statement.
    pub id: usize,
    /// The content that the query can see.
    pub content: Content<'a>,
    /// The next frame outwards.
    pub next: Option<&'a Frame<'a>>,
}

/// The content of a frame.
#[derive(Debug)]
pub enum Content<'a> {
    /// Some columns of a row.
    Row(&'a [Value<'a>]),
    /// The rows of a query of WITH.
    Rows(&'a Kept),
    /// The means to run subqueries. It is there only while the transaction is not in use.
    Subqueries(&'a dyn Subqueries),
}

/// Runs subqueries.
pub trait Subqueries: fmt::Debug {
    /// Returns the value of a subquery in an expression that is evaluated over `row`.
    fn evaluate(&self, subquery: &Subquery, env: &Env<'_>, row: &Input<'_>) -> Result<Value<'static>, SqlError>;
}

impl<'a> Frame<'a> {
    /// Searches the frames from the innermost outwards, and returns the first value that `seen` returns.
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

/// Evaluates a subquery through the innermost frame that can run one.
pub(super) fn evaluate<'a>(subquery: &Subquery, env: &Env<'_>, row: &Input<'_>) -> Result<Value<'a>, SqlError> {
    let way = Frame::find(env.frames, |frame| match frame.content {
        Content::Subqueries(subqueries) => Some(subqueries),
        Content::Row(_) | Content::Rows(_) => None,
    });
    way.ok_or_else(|| lost("a subquery"))?.evaluate(subquery, env, row)
}

/// Returns the internal error of a plan whose expression looks for a frame that is not there.
#[cold]
pub(crate) fn lost(what: &str) -> SqlError {
    SqlError::new(state::INTERNAL_ERROR, format!("{what} is out of the plan's reach"))
}

impl Expr {
    /// Whether evaluating the expression takes the transaction: a part of it is a subquery, or a function that may wait
    /// as long as a subquery may.
    pub(crate) fn has_subquery(&self) -> bool {
        self.any(&mut |part| match part {
            Expr::Subquery(_) => true,
            Expr::Call(function, _) => function.waits(),
            _ => false,
        })
    }

    /// Returns the expression with the present values of the frames' columns in it, so that it can outlive the frames.
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
