//! Changes of views that INSTEAD OF triggers make.
//!
//! The query for the rows that change runs to its end before the first trigger fires, because the triggers may change
//! the tables that the view shows.

use super::dml::{answer, input};
use super::{Exec, Fail, Sink};
use crate::expr::Input;
use crate::parse::trigger::{TriggerEvent, TriggerTime};
use crate::plan::Instead;
use hotrow_storage::{Row, Value};

impl Exec<'_> {
    /// Runs a change of a view. Returns the number of rows that the triggers have changed.
    pub(super) fn instead(&mut self, instead: &Instead, sink: Sink<'_>) -> Result<u64, Fail> {
        let (triggers, event) = (&*instead.triggers, instead.event);
        self.at_statement(triggers, TriggerTime::Before, event, &instead.assignments)?;
        let rows = self.collect_all(&instead.source)?;
        let mut count = 0;
        for row in rows.rows() {
            self.env.check_cancelled()?;
            count += u64::from(self.row_instead(instead, row, sink)?);
        }
        self.at_statement(triggers, TriggerTime::After, event, &instead.assignments)?;
        Ok(count)
    }

    /// Fires the triggers for a row of the plan's query. Returns `false` if one of them has left the row unchanged.
    fn row_instead(&mut self, instead: &Instead, row: &[Value<'static>], sink: Sink<'_>) -> Result<bool, Fail> {
        let (triggers, env) = (&*instead.triggers, self.env);
        let (own, beside) = row.split_at(triggers.table.visible());
        let mut read = Row::new(&triggers.table.layout);
        read.change(|row| own.iter().enumerate().for_each(|(column, value)| row.set(column, value)));
        let (old, mut new) = match instead.event {
            TriggerEvent::Insert => (None, Some(read)),
            TriggerEvent::Delete => (Some(read), None),
            TriggerEvent::Update => (Some(read.clone()), Some(read)),
        };
        if let (Some(old), Some(new)) = (&old, &mut new) {
            let given = Input::Beside(old.as_ref(), beside);
            for (column, value) in &instead.assignments {
                let value = value.eval(&env, &given)?;
                new.change(|row| row.set(*column, &value));
            }
        }
        let (before, assignments) = (old.as_ref().map(Row::as_ref), &instead.assignments[..]);
        let change = (instead.event, assignments);
        if !self.at_row(triggers, TriggerTime::InsteadOf, change, before, new.as_mut())? {
            return Ok(false);
        }
        if let Some(new) = &new {
            self.check_views(&triggers.table, &instead.checks, new.as_ref())?;
        }
        if let (Some(returning), Some(row)) = (&instead.returning, new.as_ref().or(old.as_ref())) {
            let row = input(row.as_ref(), Some(Input::Values(beside)));
            answer(returning, &env, self.scratch, &row, sink)?;
        }
        Ok(true)
    }
}
