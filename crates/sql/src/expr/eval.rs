//! The evaluation of expressions over rows.

use super::arith::negate;
use super::frame::{self, Content, Frame, lost};
use super::{BoundDomain, Expr, Like, cast, compare, pattern, same, value_bytes};
use crate::catalog::enumeration::shown;
use crate::context::SessionContext;
use crate::memory::check_size;
use crate::notifications::PendingMark;
use crate::schema::SearchPath;
use crate::types::Styles;
use crate::{MemoryLimit, SqlError, depth, state};
use hotrow_storage::{RowRef, Value};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::Abort;
use std::borrow::Cow;

/// The row over which an expression is evaluated.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A stored row.
    Row(RowRef<'a>),
    /// A computed row.
    Values(&'a [Value<'a>]),
    /// A stored row, followed by the columns of another stored row.
    Rows(RowRef<'a>, RowRef<'a>),
    /// A stored row, followed by computed columns.
    Beside(RowRef<'a>, &'a [Value<'a>]),
    /// Columns of one side of a join, followed by the row of the other side.
    After(&'a [Value<'a>], &'a Input<'a>),
    /// A row of NULLs, which an outer join returns for a side without a match.
    Nulls,
}

impl<'a> Input<'a> {
    /// The row without columns, for expressions that refer to no column.
    pub const NONE: Input<'static> = Input::Values(&[]);

    /// Returns the value of a column. Strings are borrowed.
    #[inline]
    pub fn value(&self, column: usize) -> Value<'a> {
        match self {
            Input::Row(row) => row.value(column),
            Input::Values(values) => values[column].borrowed(),
            Input::Rows(first, second) => match column.checked_sub(first.layout().columns()) {
                None => first.value(column),
                Some(column) => second.value(column),
            },
            Input::Beside(first, second) => match column.checked_sub(first.layout().columns()) {
                None => first.value(column),
                Some(column) => second[column].borrowed(),
            },
            Input::After(first, second) => match column.checked_sub(first.len()) {
                None => first[column].borrowed(),
                Some(column) => second.value(column),
            },
            Input::Nulls => Value::Null,
        }
    }
}

/// The environment in which expressions are evaluated: their inputs other than the row.
#[derive(Clone, Copy, Debug)]
pub struct Env<'a> {
    /// The values of the parameters, which have the inferred types.
    pub params: &'a [Value<'static>],
    /// The moment at which the transaction began, in microseconds since 2000-01-01 UTC.
    pub now: i64,
    /// The name of the session's user.
    pub user: &'a str,
    /// The session's process number.
    pub session_id: i32,
    /// The session's waiter, which also tells whether the statement was cancelled.
    pub waiter: &'a Waiter,
    /// The context of the session, for functions that read the catalog or settings. `None` if the engine evaluates a
    /// predicate after the statement has ended.
    pub context: Option<&'a SessionContext>,
    /// The styles in which the session formats and parses values as text.
    pub styles: Styles,
    /// The session's memory limit. An operator that stores rows checks it for each row.
    pub memory: MemoryLimit,
    /// Whether the engine records what the transaction reads until it ends, which takes memory.
    pub keeps_reads: bool,
    /// The innermost frame around the query, or `None` if there is none. Frames hold the rows of enclosing queries and
    /// joins, and the rows of WITH.
    pub frames: Option<&'a Frame<'a>>,
}

impl<'a> Env<'a> {
    /// Returns a column of the row in the frame with this number: a row of an enclosing query, or of the other side of
    /// a join.
    ///
    /// # Errors
    /// An internal error if there is no such frame.
    #[inline]
    pub(crate) fn outer(&self, frame: usize, column: usize) -> Result<Value<'a>, SqlError> {
        let found = Frame::find(self.frames, |around| match around.content {
            Content::Row(row) if around.id == frame => Some(row),
            _ => None,
        });
        found.map(|row| row[column].borrowed()).ok_or_else(|| lost("a row"))
    }

    /// Returns the search path of the body that is running. Returns `None` outside a body, and in a body that uses the
    /// session's search path.
    pub(crate) fn path_of_body(&self) -> Option<&'a Option<Arc<SearchPath>>> {
        Frame::find(self.frames, |around| if let Content::Path(path) = around.content { Some(path) } else { None })
    }

    /// Returns error 53200 if there is no memory for the engine's record of a row that is read. Operators that read
    /// rows call it for each row.
    #[inline]
    pub fn check_read(&self) -> Result<(), SqlError> {
        if self.keeps_reads { self.memory.check() } else { Ok(()) }
    }

    /// Returns a mark of the transaction's notifications so far, for a later
    /// [`undo_notifications`](Self::undo_notifications).
    pub(crate) fn mark_notifications(&self) -> PendingMark {
        self.context.map(SessionContext::mark_notifications).unwrap_or_default()
    }

    /// Forgets the transaction's notifications since `mark`.
    pub(crate) fn undo_notifications(&self, mark: PendingMark) {
        if let Some(context) = self.context {
            context.undo_notifications(mark);
        }
    }

    /// Fails if the statement is cancelled, and lets other work run if the statement has run for long. Loops over rows
    /// call it for each row. The caller must hold no latch.
    ///
    /// # Errors
    /// 57014 if the statement is cancelled.
    #[inline]
    pub fn check_cancelled(&self) -> Result<(), SqlError> {
        self.waiter.yield_now();
        if self.waiter.is_cancelled() { Err(Abort::Cancelled.into()) } else { Ok(()) }
    }
}

impl Expr {
    /// Evaluates the expression over a row.
    ///
    /// # Errors
    /// Any error of a cast, a function or a subquery.
    #[inline]
    pub fn eval<'a>(&'a self, env: &Env<'a>, row: &Input<'a>) -> Result<Value<'a>, SqlError> {
        Ok(match self {
            Expr::Const(value) => value.borrowed(),
            Expr::Param(index) => env.params[*index].borrowed(),
            Expr::Column(column) | Expr::Aggregate(column) | Expr::Window(column) | Expr::Set(column) => {
                row.value(*column)
            }
            Expr::Outer(frame, column) => return env.outer(*frame, *column),
            _ => return self.compute(env, row),
        })
    }

    /// Returns the value of an expression that has parts.
    fn compute<'a>(&'a self, env: &Env<'a>, row: &Input<'a>) -> Result<Value<'a>, SqlError> {
        depth::check()?;
        Ok(match self {
            Expr::Const(_) | Expr::Param(_) | Expr::Column(_) | Expr::Outer(..) => return self.eval(env, row),
            Expr::Aggregate(_) | Expr::Window(_) | Expr::Set(_) => return self.eval(env, row),
            Expr::Subquery(subquery) => return frame::evaluate(subquery, env, row),
            Expr::Invoke(invocation) => return frame::invoke(invocation, env, row),
            Expr::Compare(comparison, pair, blanks) => {
                let (left, right) = (pair.0.eval(env, row)?, pair.1.eval(env, row)?);
                if left.is_null() || right.is_null() {
                    return Ok(Value::Null);
                }
                Value::Bool(comparison.holds(compare(&left, &right, *blanks)))
            }
            Expr::And(list) => return connect(list, false, env, row),
            Expr::Or(list) => return connect(list, true, env, row),
            Expr::Not(expr) => match expr.eval(env, row)? {
                Value::Bool(value) => Value::Bool(!value),
                _ => Value::Null,
            },
            Expr::IsNull(expr) => Value::Bool(expr.eval(env, row)?.is_null()),
            Expr::IsBool(expr, wanted) => Value::Bool(expr.eval(env, row)? == Value::Bool(*wanted)),
            Expr::Same(pair, blanks) => Value::Bool(same(&pair.0.eval(env, row)?, &pair.1.eval(env, row)?, *blanks)),
            Expr::Arithmetic(operator, pair) => {
                let (left, right) = (pair.0.eval(env, row)?, pair.1.eval(env, row)?);
                if left.is_null() || right.is_null() {
                    return Ok(Value::Null);
                }
                operator.apply(&left, &right, env.styles.zone)?
            }
            Expr::Negate(expr) => match expr.eval(env, row)? {
                Value::Null => Value::Null,
                value => negate(&value)?,
            },
            Expr::Concat(pair) => concat(pair.0.eval(env, row)?, pair.1.eval(env, row)?, env.memory)?,
            Expr::In(expr, list, blanks) => return is_in(expr, list, *blanks, env, row),
            Expr::Like(like) => return is_like(like, env, row),
            Expr::Case(arms, otherwise) => {
                for (when, then) in arms {
                    if when.eval(env, row)? == Value::Bool(true) {
                        return then.eval(env, row);
                    }
                }
                return otherwise.eval(env, row);
            }
            Expr::Coalesce(list) => {
                for expr in list {
                    let value = expr.eval(env, row)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Value::Null
            }
            Expr::NullIf(pair, blanks) => {
                let (left, right) = (pair.0.eval(env, row)?, pair.1.eval(env, row)?);
                let equal = !left.is_null() && !right.is_null() && compare(&left, &right, *blanks).is_eq();
                if equal { Value::Null } else { left }
            }
            Expr::Call(function, arguments) => return function.call(arguments, env, row),
            Expr::Domain(expr, domain) => {
                let value = expr.eval(env, row)?;
                domain.check(&value, env)?;
                value
            }
            Expr::Cast(expr, from, to, strictness) => {
                let value = expr.eval(env, row)?;
                // A byte becomes three digits at the most.
                env.memory.check_value(value_bytes(&value).saturating_mul(3))?;
                return cast(value, *from, *to, *strictness, env.styles);
            }
        })
    }

    /// Evaluates the expression as a condition: whether it is true, neither false nor NULL.
    #[inline]
    pub fn is_true(&self, env: &Env<'_>, row: &Input<'_>) -> Result<bool, SqlError> {
        // After the first condition that is not true, the others are not evaluated: one of them might fail.
        if let Expr::And(list) = self {
            for expr in list {
                if !expr.is_true(env, row)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        Ok(self.eval(env, row)? == Value::Bool(true))
    }
}

impl BoundDomain {
    /// Whether a value satisfies the constraints.
    ///
    /// # Errors
    /// Those of evaluating the conditions.
    pub fn is_satisfied(&self, value: &Value<'_>, env: &Env<'_>) -> Result<bool, SqlError> {
        Ok(self.violated(value, env)?.is_none())
    }

    /// Checks that a value satisfies the constraints.
    ///
    /// # Errors
    /// 23502 if NULL is refused, 23514 if a CHECK constraint is violated.
    pub fn check(&self, value: &Value<'_>, env: &Env<'_>) -> Result<(), SqlError> {
        match self.violated(value, env)? {
            None => Ok(()),
            Some(None) => {
                let message = format!("domain {} does not allow null values", shown(&self.name));
                Err(SqlError::new(state::NOT_NULL_VIOLATION, message).about_domain(&self.name, None))
            }
            Some(Some(name)) => {
                let message = format!("value for domain {} violates check constraint \"{name}\"", shown(&self.name));
                Err(SqlError::new(state::CHECK_VIOLATION, message).about_domain(&self.name, Some(name)))
            }
        }
    }

    /// Returns the first constraint that a value violates: the name of a CHECK constraint, or `Some(None)` for NOT
    /// NULL.
    fn violated(&self, value: &Value<'_>, env: &Env<'_>) -> Result<Option<Option<&str>>, SqlError> {
        if self.not_null && value.is_null() {
            return Ok(Some(None));
        }
        let row = [value.borrowed()];
        for (name, condition) in &self.checks {
            // NULL is no violation.
            if condition.eval(env, &Input::Values(&row))? == Value::Bool(false) {
                return Ok(Some(Some(name)));
            }
        }
        Ok(None)
    }
}

/// Evaluates AND or OR. A condition that equals `decisive` decides the result. Without one, the result is NULL if any
/// condition is NULL.
fn connect<'a>(list: &'a [Expr], decisive: bool, env: &Env<'a>, row: &Input<'a>) -> Result<Value<'a>, SqlError> {
    let mut unknown = false;
    for expr in list {
        match expr.eval(env, row)? {
            Value::Bool(value) if value == decisive => return Ok(Value::Bool(decisive)),
            Value::Bool(_) => {}
            _ => unknown = true,
        }
    }
    Ok(if unknown { Value::Null } else { Value::Bool(!decisive) })
}

fn is_in<'a>(
    expr: &'a Expr,
    list: &'a [Expr],
    blanks: bool,
    env: &Env<'a>,
    row: &Input<'a>,
) -> Result<Value<'a>, SqlError> {
    let value = expr.eval(env, row)?;
    if value.is_null() {
        return Ok(Value::Null);
    }
    let mut unknown = false;
    for candidate in list {
        let candidate = candidate.eval(env, row)?;
        if candidate.is_null() {
            unknown = true;
        } else if compare(&value, &candidate, blanks).is_eq() {
            return Ok(Value::Bool(true));
        }
    }
    Ok(if unknown { Value::Null } else { Value::Bool(false) })
}

fn is_like<'a>(like: &'a Like, env: &Env<'a>, row: &Input<'a>) -> Result<Value<'a>, SqlError> {
    let (Value::Text(text), Value::Text(pattern)) = (like.text.eval(env, row)?, like.pattern.eval(env, row)?) else {
        return Ok(Value::Null);
    };
    let matched = pattern::is_like(&text, &pattern, like.escape, like.ignore_case)?;
    Ok(Value::Bool(matched != like.negated))
}

fn concat<'a>(left: Value<'a>, right: Value<'a>, memory: MemoryLimit) -> Result<Value<'a>, SqlError> {
    Ok(match (left, right) {
        (Value::Text(left), Value::Text(right)) => {
            check_size(left.len().saturating_add(right.len()), memory)?;
            let mut text = left.into_owned();
            text.push_str(&right);
            Value::Text(Cow::Owned(text))
        }
        (Value::Bytea(left), Value::Bytea(right)) => {
            check_size(left.len().saturating_add(right.len()), memory)?;
            let mut bytes = left.into_owned();
            bytes.extend_from_slice(&right);
            Value::Bytea(Cow::Owned(bytes))
        }
        _ => Value::Null,
    })
}
