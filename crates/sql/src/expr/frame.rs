//! What the expressions of a query see of what is around it.
//!
//! A frame is put around whatever runs once for each row of something else: the inner side of a nested loop, a LATERAL
//! item, a correlated subquery. Frames have numbers that differ within a statement, so that nobody counts levels; the
//! innermost comes first. The rows of WITH and the way to run subqueries are found in frames, too.

use super::{Env, Expr, Input, Kept, Subquery};
use crate::{SqlError, state};
use hotrow_storage::Value;
use std::fmt;

/// Something around a query that runs.
#[derive(Debug)]
pub struct Frame<'a> {
    /// Its number in the statement.
    pub id: usize,
    /// What there is to see.
    pub content: Content<'a>,
    /// What is around this one.
    pub next: Option<&'a Frame<'a>>,
}

/// What a frame shows.
#[derive(Debug)]
pub enum Content<'a> {
    /// Some columns of a row.
    Row(&'a [Value<'a>]),
    /// The rows of a query of WITH.
    Rows(&'a Kept),
    /// The way to run subqueries: the transaction is free.
    Subqueries(&'a dyn Subqueries),
}

/// Runs subqueries.
pub trait Subqueries: fmt::Debug {
    /// The value of a subquery in an expression that is evaluated over `row`.
    fn evaluate(&self, subquery: &Subquery, env: &Env<'_>, row: &Input<'_>) -> Result<Value<'static>, SqlError>;
}

impl<'a> Frame<'a> {
    /// What the innermost frame shows of which `seen` sees something.
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

/// A subquery's value, by way of whoever has the transaction.
pub(super) fn evaluate<'a>(subquery: &Subquery, env: &Env<'_>, row: &Input<'_>) -> Result<Value<'a>, SqlError> {
    let way = Frame::find(env.frames, |frame| match frame.content {
        Content::Subqueries(subqueries) => Some(subqueries),
        Content::Row(_) | Content::Rows(_) => None,
    });
    way.ok_or_else(|| lost("a subquery"))?.evaluate(subquery, env, row)
}

/// The plan is wrong.
#[cold]
pub(crate) fn lost(what: &str) -> SqlError {
    SqlError::new(state::INTERNAL_ERROR, format!("{what} is out of the plan's reach"))
}

impl Expr {
    /// Whether a subquery is part of the expression, so that evaluating it takes the transaction, or what waits as long
    /// as one may.
    pub(crate) fn has_subquery(&self) -> bool {
        self.any(&mut |part| match part {
            Expr::Subquery(_) => true,
            Expr::Call(function, _) => function.waits(),
            _ => false,
        })
    }

    /// The expression with the present values of what is around the query, for whoever keeps it longer.
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
