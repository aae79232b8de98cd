//! Rebuilds tables: a definition that changes the rows needs a new table of the engine, into which the rows of the old
//! one are loaded.

use super::ddl::{Ddl, Draft};
use super::dml::{compute, describe_key};
use super::table::complete_key;
use super::{Fail, scan};
use crate::catalog::Table;
use crate::expr::{Env, Expr, Input, RowRules};
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
}

impl Ddl<'_> {
    /// Replaces `old` by a table with another definition and the same rows. The visible columns stay the same.
    pub(super) fn rebuild(&mut self, old: &Arc<Table>, draft: Draft) -> Result<(), Fail> {
        let columns = (0..old.visible()).map(NewColumn::Kept).collect();
        let new = self.rebuilt(old, draft, columns)?;
        self.publish(new);
        Ok(())
    }

    /// Returns a table with another definition, and with rows made of those of `old`. `columns` has the sources of the
    /// visible columns; those of computed columns count for nothing. The table is not published yet.
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
        let mut failed = None;
        let (engine, env) = (self.engine, Env { context: Some(&*self.context), ..self.env });
        self.txn.scan(&scan::everything(old), &mut |from| match env
            .check_cancelled()
            .and_then(|()| env.memory.check_write(|| false))
            .and_then(|()| copy_row(engine, &new, (&columns, &rules), &env, &mut row, from))
        {
            Ok(()) => ControlFlow::Continue(()),
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
    from: RowRef<'_>,
) -> Result<(), SqlError> {
    for (at, column) in columns.iter().enumerate() {
        let value = match column {
            _ if new.is_generated(at) => continue,
            NewColumn::Kept(old) => from.value(*old),
            NewColumn::Computed(expr) => expr.eval(env, &Input::Row(from))?,
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
