//! Subqueries of expressions.
//!
//! An operator whose expressions have subqueries keeps its input first, so that no walk over a table is under way while
//! they are evaluated. So a [`Runner`] has the transaction meanwhile, and hands it to one subquery at a time. An abort
//! passes through the expression as an error, and comes out again as the abort that it is.

use super::join::push_equal;
use super::{Exec, Fail, owned};
use crate::expr::{
    Comparison, Content, Env, Expr, Frame, Input, Invocation, Kept, Subqueries, Subquery, SubqueryTest, compare, lost,
};
use crate::opaque::Opaque;
use crate::plan::{Callee, Node};
use crate::{SqlError, depth, state};
use hotrow_storage::{ArrayBuilder, Key, KeyBuilder, Value};
use hotrow_txn::Abort;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::ControlFlow;

/// A frame number that no plan has.
pub(super) const NOBODY: usize = usize::MAX;

/// Runs the subqueries of one operator.
struct Runner<'x> {
    exec: RefCell<Exec<'x>>,
    /// The answers that are the same for all rows, by the subquery's frame. Also the present rows of the subqueries
    /// whose columns are evaluated one by one.
    answers: RefCell<HashMap<usize, Answer>>,
    /// The abort that the engine raised in a subquery, if it raised one.
    abort: Cell<Option<Abort>>,
}

impl fmt::Debug for Runner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Runner")
    }
}

/// The answer of a subquery that has been run.
enum Answer {
    Value(Value<'static>),
    /// The only row, for its columns; without values if there is none.
    Row(Vec<Value<'static>>),
    Rows(Rows),
    Matching(Matching),
}

/// The rows of a subquery that operands are compared with.
struct Rows {
    /// All rows, if they are not hashed. Otherwise the distinct rows without NULLs; none if the subquery has a single
    /// column, because the keys suffice.
    all: Kept,
    /// The rows with NULLs, if rows are hashed. Of a subquery with a single column, one such row suffices.
    nulls: Kept,
    /// The keys of the rows without NULLs, if equality may be tested more than once.
    keys: Option<HashSet<Key>>,
}

/// The rows of a subquery by the values of their first columns. Rows with equal values are chained.
struct Matching {
    rows: Kept,
    first: HashMap<Key, usize>,
    next: Vec<Option<usize>>,
}

impl Exec<'_> {
    /// Runs `work` with an environment in which expressions may have subqueries.
    pub(crate) fn with_subqueries<R>(&mut self, work: impl FnOnce(&Env<'_>) -> Result<R, SqlError>) -> Result<R, Fail> {
        let (env, mut scratch) = (self.env, Vec::new());
        let (txn, locks, deferred) = (&mut *self.txn, &mut *self.locks, &mut *self.deferred);
        let exec = Exec { txn, env, engine: self.engine, locks, deferred, scratch: &mut scratch };
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
        if let SubqueryTest::Column { at, .. } = subquery.test {
            return self.column(subquery, at, env, row);
        }
        // If there is nothing to compare the operands with, they are not evaluated.
        let judged = |answer: &Answer| match answer.has_rows() {
            true => answer.judge(subquery, &values(&subquery.operands, env, row)?),
            false => answer.judge(subquery, &[]),
        };
        // The rows of a `Matches` test do not depend on the outer row, so that their answer serves all rows.
        if subquery.arguments.is_empty() || matches!(subquery.test, SubqueryTest::Matches(..)) {
            let judged = |answer: &Answer| match answer {
                Answer::Matching(matching) => matching.judge(subquery, env, row),
                other => judged(other),
            };
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

    fn invoke(&self, invocation: &Invocation, arguments: Vec<Value<'static>>) -> Result<Value<'static>, SqlError> {
        let callee = invocation.callee.get::<Callee>().ok_or_else(|| lost("a function"))?;
        let mut exec = self.exec.try_borrow_mut().map_err(|_| lost("the transaction"))?;
        let result = exec.invoke(callee, arguments);
        result.map_err(|fail| self.failed(fail))
    }

    fn invoke_rows(&self, callee: &Opaque, arguments: &[Value<'static>], width: usize) -> Result<Kept, SqlError> {
        let callee = callee.get::<Callee>().ok_or_else(|| lost("a function"))?;
        let mut exec = self.exec.try_borrow_mut().map_err(|_| lost("the transaction"))?;
        let rows = exec.invoke_rows(callee, arguments, width);
        rows.map_err(|fail| self.failed(fail))
    }
}

fn values<'a>(exprs: &'a [Expr], env: &Env<'a>, row: &Input<'a>) -> Result<Vec<Value<'a>>, SqlError> {
    exprs.iter().map(|expr| expr.eval(env, row)).collect()
}

impl Runner<'_> {
    /// Returns a column of the only row of a subquery. The first column runs the subquery for the outer row `row`, and
    /// keeps its row for the others. Without arguments, the subquery runs once for all outer rows.
    fn column(
        &self,
        subquery: &Subquery,
        at: usize,
        env: &Env<'_>,
        row: &Input<'_>,
    ) -> Result<Value<'static>, SqlError> {
        let is_kept = subquery.arguments.is_empty() && self.answers.borrow().contains_key(&subquery.frame);
        if at == 0 && !is_kept {
            let arguments = values(&subquery.arguments, env, row)?;
            let answer = self.run(subquery, env, &arguments)?;
            self.answers.borrow_mut().insert(subquery.frame, answer);
        }
        match self.answers.borrow().get(&subquery.frame) {
            Some(Answer::Row(found)) => Ok(found.get(at).cloned().unwrap_or(Value::Null)),
            _ => Err(lost("a row")),
        }
    }

    /// Runs a subquery in a frame that shows these arguments.
    fn run(&self, subquery: &Subquery, env: &Env<'_>, arguments: &[Value<'_>]) -> Result<Answer, SqlError> {
        let mut exec = self.exec.try_borrow_mut().map_err(|_| lost("the transaction"))?;
        let frame = Frame { id: subquery.frame, content: Content::Row(arguments), next: env.frames };
        let answer = exec.inside(&frame).answer(subquery);
        answer.map_err(|fail| self.failed(fail))
    }

    /// Turns the failure of a subquery or call into the error of the expression around it. Remembers an abort, so that
    /// the executor can report the abort in place of the error.
    fn failed(&self, fail: Fail) -> SqlError {
        if let Fail::Abort(abort) = fail {
            self.abort.set(Some(abort));
        }
        fail.into()
    }
}

impl Exec<'_> {
    fn answer(&mut self, subquery: &Subquery) -> Result<Answer, Fail> {
        match &subquery.test {
            SubqueryTest::Value => {
                let mut value = None;
                self.run(subquery.node(), &mut |row| {
                    if value.is_some() {
                        return Err(several_rows());
                    }
                    value = Some(row.value(0).into_owned());
                    Ok(ControlFlow::Continue(()))
                })?;
                Ok(Answer::Value(value.unwrap_or(Value::Null)))
            }
            SubqueryTest::Column { width, .. } => {
                let mut found = None;
                self.run(subquery.node(), &mut |row| {
                    if found.is_some() {
                        return Err(several_rows());
                    }
                    found = Some(owned(row, *width));
                    Ok(ControlFlow::Continue(()))
                })?;
                Ok(Answer::Row(found.unwrap_or_default()))
            }
            SubqueryTest::Array(element) => {
                let (memory, mut array) = (self.env.memory, ArrayBuilder::new(*element));
                self.run(subquery.node(), &mut |row| {
                    // The builder's buffer doubles.
                    memory.check_value(array.size().saturating_mul(2))?;
                    array.push(&row.value(0));
                    Ok(ControlFlow::Continue(()))
                })?;
                Ok(Answer::Value(Value::Array(array.finish())))
            }
            SubqueryTest::Exists => {
                let mut found = false;
                self.run(subquery.node(), &mut |_| {
                    found = true;
                    Ok(ControlFlow::Break(()))
                })?;
                Ok(Answer::Value(Value::Bool(found)))
            }
            SubqueryTest::Matches(blanks, condition) => {
                let width = match (subquery.node(), condition) {
                    (Node::Project(_, exprs), Some(_)) => exprs.len(),
                    _ => 0,
                };
                let columns: Vec<_> = (0..width).collect();
                let mut matching = Matching { rows: Kept::new(width), first: HashMap::new(), next: Vec::new() };
                let memory = self.env.memory;
                self.run(subquery.node(), &mut |row| {
                    memory.check_push(&matching.first)?;
                    memory.check_push(&matching.rows)?;
                    memory.check_push(&matching.next)?;
                    if let Some(key) = key((0..blanks.len()).map(|at| row.value(at)), blanks) {
                        let at = matching.rows.len();
                        let before = matching.first.insert(key, at);
                        // Without a condition, one row of each key is enough.
                        if condition.is_some() || before.is_none() {
                            matching.rows.push(row, &columns);
                            matching.next.push(before);
                        }
                    }
                    Ok(ControlFlow::Continue(()))
                })?;
                Ok(Answer::Matching(matching))
            }
            SubqueryTest::Compare(comparison, all, blanks) => {
                let columns: Vec<_> = (0..subquery.operands.len()).collect();
                // Rows are hashed if they may be compared again, with other operands.
                let hashed = subquery.arguments.is_empty() && *comparison == Comparison::Equal && !all;
                let (all, nulls) = (Kept::new(columns.len()), Kept::new(columns.len()));
                let mut rows = Rows { all, nulls, keys: hashed.then(HashSet::new) };
                let (memory, is_single) = (self.env.memory, columns.len() == 1);
                self.run(subquery.node(), &mut |row| {
                    memory.check_push(&rows.all)?;
                    memory.check_push(&rows.nulls)?;
                    match &mut rows.keys {
                        None => rows.all.push(row, &columns),
                        Some(keys) => match key(columns.iter().map(|&at| row.value(at)), blanks) {
                            Some(key) => {
                                memory.check_push(keys)?;
                                if keys.insert(key) && !is_single {
                                    rows.all.push(row, &columns);
                                }
                            }
                            None if is_single && rows.nulls.len() > 0 => {}
                            None => rows.nulls.push(row, &columns),
                        },
                    }
                    Ok(ControlFlow::Continue(()))
                })?;
                Ok(Answer::Rows(rows))
            }
        }
    }
}

/// Returns the error 21000 for a subquery that must have one row at most.
fn several_rows() -> SqlError {
    let message = "more than one row returned by a subquery used as an expression";
    SqlError::new(state::CARDINALITY_VIOLATION, message)
}

impl Answer {
    /// Whether there is anything to compare operands with.
    fn has_rows(&self) -> bool {
        matches!(self, Answer::Rows(rows) if !rows.is_empty())
    }

    fn judge(&self, subquery: &Subquery, operands: &[Value<'_>]) -> Result<Value<'static>, SqlError> {
        match (self, &subquery.test) {
            (Answer::Value(value), _) => Ok(value.clone()),
            (Answer::Rows(rows), SubqueryTest::Compare(comparison, all, blanks)) => {
                Ok(rows.compare(*comparison, *all, blanks, operands))
            }
            (Answer::Row(_) | Answer::Rows(_) | Answer::Matching(_), _) => Err(lost("a row")),
        }
    }
}

impl Matching {
    fn judge(&self, subquery: &Subquery, env: &Env<'_>, row: &Input<'_>) -> Result<Value<'static>, SqlError> {
        let SubqueryTest::Matches(blanks, condition) = &subquery.test else { return Err(lost("a row")) };
        let operands = values(&subquery.operands, env, row)?;
        let found = key(operands.into_iter(), blanks).and_then(|key| self.first.get(&key));
        let (Some(condition), Some(&first)) = (condition, found) else { return Ok(Value::Bool(found.is_some())) };
        let arguments = values(&subquery.arguments, env, row)?;
        let frame = Frame { id: subquery.frame, content: Content::Row(&arguments), next: env.frames };
        let env = Env { frames: Some(&frame), ..*env };
        let mut next = Some(first);
        while let Some(at) = next {
            env.check_cancelled()?;
            if condition.is_true(&env, &Input::Values(self.rows.row(at)))? {
                return Ok(Value::Bool(true));
            }
            next = self.next[at];
        }
        Ok(Value::Bool(false))
    }
}

impl Rows {
    fn is_empty(&self) -> bool {
        self.all.len() == 0 && self.nulls.len() == 0 && self.keys.as_ref().is_none_or(HashSet::is_empty)
    }

    fn compare(&self, comparison: Comparison, all: bool, blanks: &[bool], operands: &[Value<'_>]) -> Value<'static> {
        let mut without_nulls = Some(&self.all);
        if let Some(keys) = &self.keys {
            match key(operands.iter().map(Value::borrowed), blanks) {
                Some(key) if keys.contains(&key) => return Value::Bool(true),
                Some(_) => without_nulls = None,
                None if operands.len() == 1 && !self.is_empty() => return Value::Null,
                None => {}
            }
        }
        let mut unknown = false;
        for row in without_nulls.into_iter().chain([&self.nulls]).flat_map(Kept::rows) {
            match holds(comparison, operands, row, blanks) {
                Some(holds) if holds != all => return Value::Bool(!all),
                Some(_) => {}
                None => unknown = true,
            }
        }
        if unknown { Value::Null } else { Value::Bool(all) }
    }
}

/// Whether a comparison holds between two rows, or `None` if that is unknown because of NULLs. Rows of several columns
/// are compared only for equality and its opposite.
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
