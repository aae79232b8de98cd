//! Subqueries of expressions.
//!
//! An expression is evaluated while nobody walks a table: its operator has kept its input. So a [`Runner`] has the transaction
//! meanwhile, and hands it to one subquery at a time. An abort passes through the expression as an error, and comes out again
//! as the abort that it is.

use super::join::push_equal;
use super::kept::Kept;
use super::{Exec, Fail};
use crate::expr::{Comparison, Content, Env, Expr, Frame, Input, Subqueries, compare, lost};
use crate::plan::{Subquery, SubqueryTest};
use crate::{SqlError, depth, state};
use hotrow_storage::{ArrayBuilder, Key, KeyBuilder, Value};
use hotrow_txn::Abort;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::ControlFlow;

/// No plan has a frame of this number.
const NOBODY: usize = usize::MAX;

/// The way to the subqueries of one operator.
struct Runner<'x> {
    exec: RefCell<Exec<'x>>,
    /// Answers that are the same for all rows, by the subquery's frame.
    answers: RefCell<HashMap<usize, Answer>>,
    /// What the engine said.
    abort: Cell<Option<Abort>>,
}

impl fmt::Debug for Runner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Runner")
    }
}

/// What has become of a subquery.
enum Answer {
    Value(Value<'static>),
    Rows(Rows),
}

/// Rows to compare with.
struct Rows {
    all: Kept,
    /// The keys of those without NULLs, if it is equality that is asked for.
    keys: HashSet<Key>,
}

impl Exec<'_> {
    /// Does something in which expressions are evaluated that may have subqueries.
    pub(super) fn with_subqueries<R>(&mut self, work: impl FnOnce(&Env<'_>) -> Result<R, SqlError>) -> Result<R, Fail> {
        let (env, mut scratch) = (self.env, Vec::new());
        let exec = Exec { txn: &mut *self.txn, env, engine: self.engine, scratch: &mut scratch };
        let runner = Runner { exec: RefCell::new(exec), answers: RefCell::default(), abort: Cell::new(None) };
        let frame = Frame { id: NOBODY, content: Content::Subqueries(&runner), next: env.frames };
        let done = work(&Env { frames: Some(&frame), ..env });
        match runner.abort.get() {
            Some(abort) => Err(abort.into()),
            None => Ok(done?),
        }
    }
}

impl Subqueries for Runner<'_> {
    fn evaluate(&self, subquery: &Subquery, env: &Env<'_>, row: &Input<'_>) -> Result<Value<'static>, SqlError> {
        depth::check()?;
        // What there is nothing to compare with is not computed.
        let judged = |answer: &Answer| match answer.has_rows() {
            true => answer.judge(subquery, &values(&subquery.operands, env, row)?),
            false => answer.judge(subquery, &[]),
        };
        if subquery.arguments.is_empty() {
            let known = self.answers.borrow();
            if let Some(answer) = known.get(&subquery.frame) {
                return judged(answer);
            }
            drop(known);
            let answer = self.run(subquery, env, &[])?;
            let value = judged(&answer);
            self.answers.borrow_mut().insert(subquery.frame, answer);
            return value;
        }
        let arguments = values(&subquery.arguments, env, row)?;
        judged(&self.run(subquery, env, &arguments)?)
    }
}

fn values<'a>(exprs: &'a [Expr], env: &Env<'a>, row: &Input<'a>) -> Result<Vec<Value<'a>>, SqlError> {
    exprs.iter().map(|expr| expr.eval(env, row)).collect()
}

impl Runner<'_> {
    /// Runs a subquery once.
    fn run(&self, subquery: &Subquery, env: &Env<'_>, arguments: &[Value<'_>]) -> Result<Answer, SqlError> {
        let mut exec = self.exec.try_borrow_mut().map_err(|_| lost("the transaction"))?;
        let frame = Frame { id: subquery.frame, content: Content::Row(arguments), next: env.frames };
        let answer = exec.inside(&frame).answer(subquery);
        answer.map_err(|fail| {
            if let Fail::Abort(abort) = fail {
                self.abort.set(Some(abort));
            }
            fail.into()
        })
    }
}

impl Exec<'_> {
    fn answer(&mut self, subquery: &Subquery) -> Result<Answer, Fail> {
        match &subquery.test {
            SubqueryTest::Value => {
                let mut value = None;
                self.run(&subquery.plan, &mut |row| {
                    if value.is_some() {
                        let message = "more than one row returned by a subquery used as an expression";
                        return Err(SqlError::new(state::CARDINALITY_VIOLATION, message));
                    }
                    value = Some(row.value(0).into_owned());
                    Ok(ControlFlow::Continue(()))
                })?;
                Ok(Answer::Value(value.unwrap_or(Value::Null)))
            }
            SubqueryTest::Array(element) => {
                let (memory, mut array) = (self.env.memory, ArrayBuilder::new(*element));
                self.run(&subquery.plan, &mut |row| {
                    // The builder's buffer doubles.
                    memory.check_value(array.size().saturating_mul(2))?;
                    array.push(&row.value(0));
                    Ok(ControlFlow::Continue(()))
                })?;
                Ok(Answer::Value(Value::Array(array.finish())))
            }
            SubqueryTest::Exists => {
                let mut found = false;
                self.run(&subquery.plan, &mut |_| {
                    found = true;
                    Ok(ControlFlow::Break(()))
                })?;
                Ok(Answer::Value(Value::Bool(found)))
            }
            SubqueryTest::Compare(comparison, _, blanks) => {
                let columns: Vec<_> = (0..subquery.operands.len()).collect();
                // Whether it will be asked again, with other operands.
                let again = subquery.arguments.is_empty();
                let mut rows = Rows { all: Kept::new(columns.len()), keys: HashSet::new() };
                let memory = self.env.memory;
                self.run(&subquery.plan, &mut |row| {
                    memory.check_push(&rows.keys)?;
                    memory.check_push(&rows.all)?;
                    if again
                        && *comparison == Comparison::Equal
                        && let Some(key) = key(columns.iter().map(|&at| row.value(at)), blanks)
                    {
                        // NULLs and the number of rows are all that the rest is kept for.
                        if !rows.keys.insert(key) {
                            return Ok(ControlFlow::Continue(()));
                        }
                    }
                    rows.all.push(row, &columns);
                    Ok(ControlFlow::Continue(()))
                })?;
                Ok(Answer::Rows(rows))
            }
        }
    }
}

impl Answer {
    /// Whether there is anything to compare operands with.
    fn has_rows(&self) -> bool {
        matches!(self, Answer::Rows(rows) if rows.all.len() > 0)
    }

    fn judge(&self, subquery: &Subquery, operands: &[Value<'_>]) -> Result<Value<'static>, SqlError> {
        match (self, &subquery.test) {
            (Answer::Value(value), _) => Ok(value.clone()),
            (Answer::Rows(rows), SubqueryTest::Compare(comparison, all, blanks)) => {
                Ok(rows.compare(*comparison, *all, blanks, operands))
            }
            (Answer::Rows(_), _) => Err(lost("a row")),
        }
    }
}

impl Rows {
    fn compare(&self, comparison: Comparison, all: bool, blanks: &[bool], operands: &[Value<'_>]) -> Value<'static> {
        if comparison == Comparison::Equal && !all && !self.keys.is_empty() {
            let key = key(operands.iter().map(Value::borrowed), blanks);
            if let Some(key) = &key
                && self.keys.contains(key)
            {
                return Value::Bool(true);
            }
            if key.is_some() && self.keys.len() == self.all.len() {
                return Value::Bool(false);
            }
        }
        let mut unknown = false;
        for row in self.all.rows() {
            match holds(comparison, operands, row, blanks) {
                Some(holds) if holds != all => return Value::Bool(!all),
                Some(_) => {}
                None => unknown = true,
            }
        }
        if unknown { Value::Null } else { Value::Bool(all) }
    }
}

/// Whether a comparison holds between two rows; of several columns there is equality and its opposite only.
fn holds(comparison: Comparison, left: &[Value<'_>], right: &[Value<'_>], blanks: &[bool]) -> Option<bool> {
    let mut unknown = false;
    let columns = left.iter().zip(right).zip(blanks);
    let single = left.len() == 1;
    for ((left, right), blanks) in columns {
        if left.is_null() || right.is_null() {
            unknown = true;
            continue;
        }
        let order = compare(left, right, *blanks);
        if single {
            return Some(comparison.holds(order));
        }
        if order.is_ne() {
            return Some(comparison == Comparison::NotEqual);
        }
    }
    (!unknown).then_some(comparison == Comparison::Equal)
}

fn key<'v>(values: impl Iterator<Item = Value<'v>>, blanks: &[bool]) -> Option<Key> {
    let mut builder = KeyBuilder::default();
    for (value, blanks) in values.zip(blanks) {
        if value.is_null() {
            return None;
        }
        push_equal(&mut builder, &value, *blanks);
    }
    Some(builder.finish())
}
