//! Runs plans over a transaction.
//!
//! | file | what it runs or holds |
//! | --- | --- |
//! | `scan` | a table's rows, by key, range or all of them |
//! | `accesses` | the rows that a statement will touch, found before it runs |
//! | `aggregate`, `grouping_sets` | groups and aggregates |
//! | `ordered_set` | aggregates of sorted values, with WITHIN GROUP |
//! | `spread` | variances and standard deviations |
//! | `sort` | order, DISTINCT |
//! | `window`, `window_frame` | window functions, and the rows that they look at |
//! | `join` | joins |
//! | `table_function`, `json_rows` | functions in FROM |
//! | `kept` | rows that are kept while the transaction does something else |
//! | `sets` | UNION, INTERSECT, EXCEPT, WITH |
//! | `subquery` | subqueries of expressions |
//! | `dml`, `merge` | INSERT, UPDATE, DELETE; MERGE |
//! | `instead` | changes of views by INSTEAD OF triggers |
//! | `dml_from` | UPDATE … FROM, DELETE … USING |
//! | `foreign_key` | the checks and the actions of foreign keys |
//! | `trigger` | the firing of triggers |
//! | `ddl` | the context of DDL statements, and their dispatch |
//! | `temporary` | temporary relations: their schema, ON COMMIT, DISCARD TEMP |
//! | `table`, `alter`, `rebuild` | definitions of tables: a changed table is a new table |
//! | `index` | CREATE INDEX, DROP INDEX |
//! | `generated` | generated columns in definitions |
//! | `constraint` | foreign keys in definitions |
//! | `sequence` | sequences |
//! | `partition` | partition keys |
//! | `storage` | clauses of definitions about storage, which are checked and then ignored |
//! | `schema`, `comment` | schemas and owners; COMMENT ON |
//! | `enumeration`, `relabel` | CREATE, ALTER and DROP TYPE; renamed labels |
//! | `domain` | CREATE, ALTER and DROP DOMAIN |
//! | `named_types` | the names of types, and the definitions that depend on them |
//! | `like` | LIKE in CREATE TABLE |
//! | `define`, `triggers` | definitions of procedures and functions, and of triggers |
//! | `view`, `view_options` | definitions of views; their options and defaults |
//! | `materialized` | materialized views |
//! | `measured` | operators that count their rows and time, for EXPLAIN ANALYZE |
//! | `procedure` | CALL, and calls of functions |
//! | `body` | the statements in the bodies of procedures, functions and DO |
//! | `dynamic` | EXECUTE in bodies |
//! | `copy` | COPY |
//! | this file | the tree of operators |
//!
//! Rows are pushed from the leaves to a [`Sink`] while the engine walks its index: nothing is kept that need not be. A
//! sink must not use the transaction, which is busy: an operator that needs the transaction at each row keeps the rows
//! first (see [`crate::plan`]).

pub(crate) mod accesses;
mod aggregate;
mod alter;
pub(crate) mod body;
mod comment;
mod constraint;
pub(crate) mod copy;
pub(crate) mod ddl;
mod define;
pub(crate) mod dml;
mod dml_from;
mod domain;
pub(crate) mod dynamic;
mod enumeration;
mod foreign_key;
mod generated;
mod grouping_sets;
mod index;
mod instead;
mod join;
mod json_rows;
mod kept;
mod like;
mod materialized;
mod measured;
mod merge;
mod named_types;
mod ordered_set;
mod partition;
mod procedure;
mod rebuild;
mod relabel;
pub(crate) mod scan;
mod schema;
mod sequence;
mod sets;
mod sort;
mod spread;
mod storage;
mod subquery;
mod table;
mod table_function;
mod temporary;
mod trigger;
mod triggers;
mod view;
mod view_options;
mod window;
mod window_frame;

use crate::expr::{Env, Expr, Input, lost};
use crate::locks::{HeldLocks, lock_timeout};
use crate::plan::deferred::Deferred;
use crate::plan::{Node, Plan};
use crate::system::SystemRelation;
use crate::{SqlError, SqlState, state};
use hotrow_storage::{TableId, Value};
use hotrow_sync::Wake;
use hotrow_txn::{Abort, Engine, Transaction};
use std::ops::ControlFlow;

/// Turns the end of a wait for a table's lock into a result: an abort if the transaction was cancelled, an error if the
/// time ran out.
pub(crate) fn lock_outcome(wake: Wake) -> Result<(), Fail> {
    match wake {
        Wake::Ready => Ok(()),
        Wake::Cancelled => Err(Abort::Cancelled.into()),
        Wake::TimedOut => Err(lock_timeout().into()),
    }
}

/// The reason why a statement failed: its own error, or an abort of the engine.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fail {
    /// The statement's own error.
    Sql(SqlError),
    /// The engine gave the transaction up.
    Abort(Abort),
}

impl From<SqlError> for Fail {
    fn from(error: SqlError) -> Self {
        Fail::Sql(error)
    }
}

impl From<Abort> for Fail {
    fn from(abort: Abort) -> Self {
        Fail::Abort(abort)
    }
}

impl From<Fail> for SqlError {
    fn from(fail: Fail) -> Self {
        match fail {
            Fail::Sql(error) => error,
            Fail::Abort(abort) => abort.into(),
        }
    }
}

/// The answer of a visitor of rows: whether the walk goes on, or an error that ends it.
pub(crate) type Flow = Result<ControlFlow<()>, SqlError>;

/// The function that takes the rows of a node.
pub(crate) type Sink<'s> = &'s mut dyn FnMut(&Input<'_>) -> Flow;

/// A row of values, kept from one row and one statement to the next so that it is allocated once.
pub(crate) type Scratch = Vec<Value<'static>>;

/// The context of a running plan: the transaction, the environment of its expressions, and room for a row.
pub(crate) struct Exec<'x> {
    pub(crate) txn: &'x mut dyn Transaction,
    pub(crate) env: Env<'x>,
    pub(crate) engine: &'x dyn Engine,
    /// The transaction's locks on tables.
    pub(crate) locks: &'x mut HeldLocks,
    /// The checks that the transaction has yet to make.
    pub(crate) deferred: &'x mut Deferred,
    pub(crate) scratch: &'x mut Scratch,
}

impl Exec<'_> {
    /// Returns an executor for a part of the plan whose expressions have another environment.
    fn with_env<'s>(&'s mut self, env: Env<'s>) -> Exec<'s> {
        let (txn, locks, deferred) = (&mut *self.txn, &mut *self.locks, &mut *self.deferred);
        Exec { txn, env, engine: self.engine, locks, deferred, scratch: &mut *self.scratch }
    }

    /// Checks that there is memory for a row of a table. Each write of a row calls this.
    #[inline]
    pub(crate) fn check_memory(&self, table: TableId) -> Result<(), SqlError> {
        self.env.memory.check_write(|| self.engine.spare_bytes(table) > 0)
    }

    /// Runs a plan that reads or writes rows. Returns the number of rows.
    pub(crate) fn rows(&mut self, plan: &Plan, read_only: bool, sink: Sink<'_>) -> Result<u64, Fail> {
        self.in_parts(plan, |exec| exec.rows_of_plan(plan, read_only, sink))
    }

    fn rows_of_plan(&mut self, plan: &Plan, read_only: bool, sink: Sink<'_>) -> Result<u64, Fail> {
        match plan {
            Plan::Query(node) => self.query(node, sink),
            // Runs the query alone: a rehearsal learns what it reads.
            Plan::CreateAs(create) => self.query(&create.query, sink),
            Plan::Insert(insert) => self.insert(insert, sink),
            Plan::Update(update) => self.update(update, sink),
            Plan::Delete(delete) => self.delete(delete, sink),
            Plan::Merge(merge) => self.merge(merge),
            Plan::Instead(instead) => self.instead(instead, sink),
            Plan::Call(call) => {
                let row = self.call(call, read_only)?;
                if !row.is_empty() {
                    let _ = sink(&Input::Values(&row))?;
                }
                Ok(0)
            }
            // There are no rows in it.
            Plan::Analyze(analysis) => self.rows(&analysis.statement.plan, read_only, sink),
            Plan::Empty | Plan::Ddl(_) | Plan::Utility(_) | Plan::Explain(_) | Plan::Declare(_) => Ok(0),
        }
    }

    fn query(&mut self, node: &Node, sink: Sink<'_>) -> Result<u64, Fail> {
        let mut rows = 0;
        self.run(node, &mut |row| {
            rows += 1;
            sink(row)
        })?;
        Ok(rows)
    }

    /// Pushes a query's rows into `sink` until it breaks.
    pub(crate) fn run(&mut self, node: &Node, sink: Sink<'_>) -> Result<(), Fail> {
        match node {
            Node::One => {
                let _ = sink(&Input::NONE)?;
                Ok(())
            }
            Node::Values(rows) => self.values(rows, sink),
            Node::Table(access) => scan::run(access, self.txn, &self.env, sink),
            Node::System(relation) => self.system(relation, sink),
            Node::Function(rows) => self.rows_of(rows, sink),
            Node::Filter(input, condition) => {
                self.each(
                    input,
                    |env, row| {
                        if condition.is_true(env, row)? { sink(row) } else { Ok(ControlFlow::Continue(())) }
                    },
                )
            }
            Node::Aggregate(input, groups, calls) => self.aggregate(input, groups, calls, sink),
            Node::GroupingSets(groups) => self.grouping_sets(groups, sink),
            Node::Window(window) => self.window(window, sink),
            Node::Project(input, exprs) => self.project(input, exprs, sink),
            Node::ProjectSet(input, functions) => self.project_set(input, functions, sink),
            Node::Sort(input, keys, width, leading) => self.sort(input, keys, *width, *leading, sink),
            Node::Distinct(input) => self.distinct(input, sink),
            Node::Limit(input, limit, offset) => self.limit(input, limit.as_ref(), offset.as_ref(), sink),
            Node::Materialise(input, columns) => {
                let rows = self.collect(input, columns)?;
                Ok(kept::push(&rows, &self.env, sink)?)
            }
            Node::NestedLoop(join) => self.nested_loop(join, sink),
            Node::HashJoin(join) => self.hash_join(join, sink),
            Node::Append(inputs) => self.append(inputs, sink),
            Node::Match(sets) => self.match_sets(sets, sink),
            Node::With(queries, body) => self.with(queries, body, sink),
            Node::Change(plan) => {
                let plan = plan.get().ok_or_else(|| lost("a change"))?;
                self.rows(plan, false, sink).map(|_| ())
            }
            Node::Reference(id) => self.reference(*id, sink),
            Node::Recursive(query) => self.recursive(query, sink),
            Node::Measured(measured) => self.measured(measured, sink),
        }
    }

    fn system(&mut self, relation: &SystemRelation, sink: Sink<'_>) -> Result<(), Fail> {
        // The context is missing where the engine evaluates a filter after the statement. No system relation is read
        // there.
        for row in self.env.context.map(|context| relation.rows(context)).unwrap_or_default() {
            self.env.check_cancelled()?;
            if sink(&Input::Values(&row))?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn values(&mut self, rows: &[Vec<Expr>], sink: Sink<'_>) -> Result<(), Fail> {
        for row in rows {
            let values = row.iter().map(|expr| expr.eval(&self.env, &Input::NONE)).collect::<Result<Vec<_>, _>>()?;
            if sink(&Input::Values(&values))?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn project(&mut self, input: &Node, exprs: &[Expr], sink: Sink<'_>) -> Result<(), Fail> {
        let mut kept = std::mem::take(self.scratch);
        let result = self.each(input, |env, row| {
            let flow;
            kept = {
                let mut values = recycle(std::mem::take(&mut kept));
                for expr in exprs {
                    values.push(expr.eval(env, row)?);
                }
                flow = sink(&Input::Values(&values))?;
                recycle(values)
            };
            Ok(flow)
        });
        *self.scratch = kept;
        result
    }

    fn limit(&mut self, input: &Node, limit: Option<&Expr>, offset: Option<&Expr>, sink: Sink<'_>) -> Result<(), Fail> {
        let limit = self.count(limit, ("LIMIT", state::INVALID_ROW_COUNT_IN_LIMIT))?;
        let mut skip = self.count(offset, ("OFFSET", state::INVALID_ROW_COUNT_IN_OFFSET))?.unwrap_or(0);
        let mut left = limit.unwrap_or(u64::MAX);
        if left == 0 {
            return Ok(());
        }
        self.run(input, &mut |row| {
            if skip > 0 {
                skip -= 1;
                return Ok(ControlFlow::Continue(()));
            }
            left -= 1;
            let flow = sink(row)?;
            Ok(if left == 0 { ControlFlow::Break(()) } else { flow })
        })
    }

    /// Evaluates the expression of LIMIT or OFFSET. Returns `None` if the clause is missing or NULL.
    fn count(&mut self, expr: Option<&Expr>, (clause, code): (&str, SqlState)) -> Result<Option<u64>, Fail> {
        let Some(expr) = expr else { return Ok(None) };
        let count = self.with_subqueries(|env| Ok(expr.eval(env, &Input::NONE)?.as_int()))?;
        let negative = |_| SqlError::new(code, format!("{clause} must not be negative"));
        Ok(count.map(u64::try_from).transpose().map_err(negative)?)
    }
}

/// Returns an empty vector of another lifetime that has the same memory.
pub(crate) fn recycle<'to>(mut values: Vec<Value<'_>>) -> Vec<Value<'to>> {
    values.clear();
    values.into_iter().map(|_| Value::Null).collect()
}

/// Returns the first `width` values of a row, owned.
pub(crate) fn owned(row: &Input<'_>, width: usize) -> Vec<Value<'static>> {
    (0..width).map(|column| row.value(column).into_owned()).collect()
}

/// Returns the number of a computed row's columns, or 0 for a row that is not computed.
pub(crate) fn width(row: &Input<'_>) -> usize {
    match row {
        Input::Values(values) => values.len(),
        Input::Row(_) | Input::Rows(..) | Input::Beside(..) | Input::After(..) | Input::Nulls => 0,
    }
}
