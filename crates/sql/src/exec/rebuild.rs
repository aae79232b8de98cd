//! Rebuilds tables: a definition that changes the rows needs a new table of the engine, into which the rows of the old
//! one are loaded.

use super::ddl::{Ddl, Draft};
use super::dml::{compute, describe_key};
use super::table::complete_key;
use super::{Exec, Fail, lock_outcome, scan};
use crate::bind::{Binder, constrained};
use crate::catalog::{DefaultValue, Table};
use crate::expr::{Env, Expr, Input, RowRules};
use crate::table_lock::Mode;
use crate::types::DomainId;
use crate::{SqlError, state};
use hotrow_storage::{Row, RowRef, Value};
use hotrow_sync::Arc;
use std::ops::ControlFlow;

/// The source of a column of a rebuilt table.
#[derive(Debug)]
pub(super) enum NewColumn {
    /// The column of the old table with this number.
    Kept(usize),
    /// An expression that is evaluated over the old row.
    Computed(Expr),
    /// A value for each row, in the order in which a scan of the old table meets the rows.
    Each(Vec<Value<'static>>),
}

impl Ddl<'_> {
    /// Replaces `old` by a table with another definition and the same rows. The visible columns stay the same.
    pub(super) fn rebuild(&mut self, old: &Arc<Table>, draft: Draft) -> Result<(), Fail> {
        let columns = (0..old.visible()).map(NewColumn::Kept).collect();
        let new = self.rebuilt(old, draft, columns)?;
        self.publish(new);
        Ok(())
    }

    /// Returns a new table with another definition, which contains the rows of `old`. `columns` gives the source of
    /// each visible column; the source of a generated column is ignored. The table is not published yet.
    pub(super) fn rebuilt(
        &mut self,
        old: &Arc<Table>,
        mut draft: Draft,
        columns: Vec<NewColumn>,
    ) -> Result<Arc<Table>, Fail> {
        self.check_memory()?;
        complete_key(&mut draft)?;
        self.txn.check_owned_table(old.id)?;
        let new = self.define(draft, old.row_ids.clone(), old.lock.clone())?;
        let mut row = Row::new(&new.layout);
        let rules = RowRules { checks: Vec::new(), ..new.rules_of_new_row() };
        let (mut failed, mut number) = (None, 0);
        let (engine, env) = (self.engine, Env { context: Some(&*self.context), ..self.env });
        self.txn.scan(&scan::everything(old), &mut |from| match env
            .check_cancelled()
            .and_then(|()| env.memory.check_write(|| false))
            .and_then(|()| copy_row(engine, &new, (&columns, &rules), &env, &mut row, (from, number)))
        {
            Ok(()) => {
                number += 1;
                ControlFlow::Continue(())
            }
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        Ok(new)
    }

    /// Returns the source of a column that is added to a table with this default and this domain. If the default calls
    /// functions of users, evaluates it once for each row, before the rows are copied.
    pub(super) fn added_column(
        &mut self,
        table: &Table,
        default: Option<DefaultValue>,
        domain: Option<DomainId>,
    ) -> Result<NewColumn, Fail> {
        let of_domain = || self.view().domain_of(domain?)?.default.clone();
        let Some(default) = default.or_else(of_domain) else {
            return Ok(NewColumn::Computed(constrained(Expr::NULL, domain, self.view())?));
        };
        if default.calling().is_none() {
            return Ok(NewColumn::Computed(constrained(default.value(), domain, self.view())?));
        }
        let value = loop {
            let mut binder = Binder::new("", 0, self.view(), Vec::new());
            let value = binder.value_without(Some(&default), domain)?;
            let used = binder.used();
            for lock in used.locks() {
                let entry = (self.context.shared(), &self.context.entry);
                lock_outcome(self.locks.acquire(lock, Mode::Shared, entry, self.limit)?)?;
            }
            // The definitions may have changed while we waited.
            if used.is_current(self.view()) {
                break value;
            }
        };
        let rows = self.count(table)?;
        let values = self.values_of(&value, rows);
        // Notices are the statement's, whether it fails or not.
        let notices = self.context.notices.take();
        self.notices.extend(notices);
        let values = values?;
        if self.count(table)? != rows {
            let message = format!(
                "cannot ALTER TABLE \"{}\" because it is being used by active queries in this session",
                table.plain_name()
            );
            return Err(SqlError::new(state::OBJECT_IN_USE, message).into());
        }
        Ok(NewColumn::Each(values))
    }

    fn count(&mut self, table: &Table) -> Result<usize, Fail> {
        let mut rows = 0;
        self.txn.scan(&scan::everything(table), &mut |_| {
            rows += 1;
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }

    /// Evaluates an expression once for each of `rows` rows, and returns the values.
    fn values_of(&mut self, value: &Expr, rows: usize) -> Result<Vec<Value<'static>>, Fail> {
        let (mut values, mut scratch) = (Vec::new(), Vec::new());
        let env = Env { context: Some(&*self.context), ..self.env };
        let (txn, engine, locks, deferred) = (&mut *self.txn, self.engine, &mut *self.locks, &mut *self.deferred);
        let mut exec = Exec { txn, env, engine, locks, deferred, scratch: &mut scratch };
        for _ in 0..rows {
            env.check_cancelled()?;
            env.memory.check_push(&values)?;
            values.push(exec.with_subqueries(|env| Ok(value.eval(env, &Input::NONE)?.into_owned()))?);
        }
        Ok(values)
    }

    /// Checks that the existing rows of a table satisfy the newest CHECK constraints.
    pub(super) fn check_rows(&mut self, table: &Arc<Table>) -> Result<(), Fail> {
        self.txn.check_owned_table(table.id)?;
        let mut failed = None;
        let (env, checks) = (self.env, table.checks());
        self.txn.scan(&scan::everything(table), &mut |row| {
            for check in &checks {
                match check.condition.eval(&env, &Input::Row(row)) {
                    Ok(Value::Bool(false)) => failed = Some(check_violated(table, &check.name)),
                    Ok(_) => continue,
                    Err(error) => failed = Some(error),
                }
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        failed.map_or(Ok(()), |error| Err(error.into()))
    }
}

fn copy_row(
    engine: &dyn hotrow_txn::Engine,
    new: &Arc<Table>,
    (columns, rules): (&[NewColumn], &RowRules),
    env: &Env<'_>,
    row: &mut Row,
    (from, number): (RowRef<'_>, usize),
) -> Result<(), SqlError> {
    for (at, column) in columns.iter().enumerate() {
        let value = match column {
            _ if new.is_generated(at) => continue,
            NewColumn::Kept(old) => from.value(*old),
            NewColumn::Computed(expr) => expr.eval(env, &Input::Row(from))?,
            NewColumn::Each(values) => values.get(number).map_or(Value::Null, Value::borrowed),
        };
        row.change(|row| row.set(at, &value));
    }
    row.change(|row| compute(&rules.generated, row, env))?;
    for (at, column) in new.schema.columns[..new.visible()].iter().enumerate() {
        if !column.nullable && row.as_ref().is_null(at) {
            let message = format!("column \"{}\" of relation \"{}\" contains null values", column.name, new.name());
            return Err(SqlError::new(state::NOT_NULL_VIOLATION, message).about_column(new.name(), &column.name));
        }
    }
    row.change(|row| compute(&rules.hidden, row, env))?;
    new.number_row(row);
    engine.load(new.id, row.as_ref()).map_err(|duplicate| {
        let index = new.index_name(duplicate.0);
        let message = format!("could not create unique index \"{index}\"");
        let key = describe_key(new, duplicate.0, row.as_ref());
        SqlError::new(state::UNIQUE_VIOLATION, message)
            .about_constraint(new.name(), index)
            .detail(format!("{key} is duplicated."))
    })
}

fn check_violated(table: &Table, check: &str) -> SqlError {
    let message = format!("check constraint \"{check}\" of relation \"{}\" is violated by some row", table.name());
    SqlError::new(state::CHECK_VIOLATION, message).about_constraint(table.name(), check)
}
