//! Fires triggers: runs their functions before and after changes.
//!
//! A trigger that fires after a change of a row runs when the statement is complete otherwise, after the checks and
//! actions of foreign keys.

use super::procedure::Ended;
use super::{Exec, Fail};
use crate::catalog::Table;
use crate::expr::{Env, Expr, Input, lost};
use crate::parse::trigger::{TriggerEvent, TriggerTime};
use crate::plan::triggers::{FOUND, NEW};
use crate::plan::{Graph, Triggers};
use crate::{SqlError, state};
use hotrow_storage::{ArrayBuilder, Element, Key, Row, RowRef, Value};

/// The columns that an UPDATE sets, with their values.
pub(super) type Assignments = [(usize, Expr)];

/// A change of a row after which triggers fire.
#[derive(Clone)]
pub(super) struct Changed {
    /// The position of the row's table in the statement's graph of tables.
    pub(super) node: usize,
    event: TriggerEvent,
    /// The row before the change; `None` for an INSERT.
    old: Option<Row>,
    new: Option<Row>,
    /// The positions of the triggers that fire, in the table's list of triggers.
    due: Vec<usize>,
}

/// An event that a trigger sees: of a row, with its old and new version, or of a whole statement.
struct Change<'c> {
    time: TriggerTime,
    event: TriggerEvent,
    for_rows: bool,
    old: Option<RowRef<'c>>,
    new: Option<RowRef<'c>>,
}

impl Exec<'_> {
    /// Fires the triggers that fire before a change of a row, or instead of a change of a view's row. They may change
    /// the new row. Returns `false` if one of them asks for the row to be skipped, or has left a view's row unchanged.
    pub(super) fn at_row(
        &mut self,
        triggers: &Triggers,
        time: TriggerTime,
        (event, assignments): (TriggerEvent, &Assignments),
        old: Option<RowRef<'_>>,
        mut new: Option<&mut Row>,
    ) -> Result<bool, Fail> {
        let sets = |column| assignments.iter().any(|(assigned, _)| *assigned == column);
        for at in triggers.due(time, event, true, &sets) {
            let row = new.as_deref().map(Row::as_ref);
            let change = Change { time, event, for_rows: true, old, new: row };
            let Some((returned, values)) = self.fire(triggers, at, &change)? else { continue };
            let Value::Int4(first) = returned else { return Ok(false) };
            // A row that this event does not have counts as NULL.
            let place = first as usize;
            if place == NEW && new.is_none() || place == triggers.old() && old.is_none() {
                return Ok(false);
            }
            if let Some(new) = new.as_deref_mut() {
                let fields = &values[place..][..triggers.table.visible()];
                // Values that were assigned to the fields of NEW are values of the domains already.
                for (column, domain) in triggers.domains.iter().filter(|_| place != NEW) {
                    domain.check(&fields[*column], &self.env)?;
                }
                new.change(|row| fields.iter().enumerate().for_each(|(column, value)| row.set(column, value)));
            }
        }
        Ok(true)
    }

    /// Checks that a row still has the values in `old`, which the statement read before it fired triggers and called
    /// functions.
    ///
    /// # Errors
    /// 27000 if one of these has changed or deleted the row.
    pub(super) fn check_same(&mut self, table: &Table, key: &Key, old: &Input<'_>, verb: &str) -> Result<(), Fail> {
        let now = self.txn.read_for_update(table.id, key)?;
        if now.is_some_and(|now| (0..table.stored()).all(|column| now.value(column) == old.value(column))) {
            return Ok(());
        }
        let message =
            format!("tuple to be {verb} was already modified by an operation triggered by the current command");
        let hint = "Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.";
        Err(SqlError::new(state::TRIGGERED_DATA_CHANGE_VIOLATION, message).hint(hint).into())
    }

    /// Fires the triggers of a whole statement (FOR EACH STATEMENT) that are due before or after it.
    pub(super) fn at_statement(
        &mut self,
        triggers: &Triggers,
        time: TriggerTime,
        event: TriggerEvent,
        assignments: &Assignments,
    ) -> Result<(), Fail> {
        let sets = |column| assignments.iter().any(|(assigned, _)| *assigned == column);
        for at in triggers.due(time, event, false, &sets) {
            self.fire(triggers, at, &Change { time, event, for_rows: false, old: None, new: None })?;
        }
        Ok(())
    }

    /// Fires the triggers that fire after these changes of rows, in the order of the changes.
    pub(super) fn after_rows(&mut self, graph: &Graph, changes: &[Changed]) -> Result<(), Fail> {
        for changed in changes {
            let Some(triggers) = graph.nodes[changed.node].triggers.as_deref() else { continue };
            let [old, new] = [&changed.old, &changed.new].map(|row| row.as_ref().map(Row::as_ref));
            let change = Change { time: TriggerTime::After, event: changed.event, for_rows: true, old, new };
            for &at in &changed.due {
                self.env.check_cancelled()?;
                self.fire(triggers, at, &change)?;
            }
        }
        Ok(())
    }

    /// Runs the function of a trigger, or returns `None` if the trigger's condition does not hold. Returns the slot of
    /// the first field of the row that the function returns, or NULL, together with the values of the function's frame.
    #[allow(clippy::type_complexity, reason = "a result with the frame in which it is found")]
    fn fire(
        &mut self,
        triggers: &Triggers,
        at: usize,
        change: &Change<'_>,
    ) -> Result<Option<(Value<'static>, Vec<Value<'static>>)>, Fail> {
        let firing = &triggers.list[at];
        let body = firing.running().ok_or_else(|| lost("a body"))?;
        let mut values = vec![Value::Null; body.slots];
        values[FOUND] = Value::Bool(false);
        fill(&mut values[NEW..triggers.old()], change.new);
        fill(&mut values[triggers.old()..triggers.variables()], change.old);
        variables(triggers, at, change, &mut values[triggers.variables()..]);
        if let Some(when) = &firing.when {
            let env = Env { params: &values, frames: None, ..self.env };
            let holds = self.with_env(env).with_subqueries(|env| when.is_true(env, &Input::NONE))?;
            if !holds {
                return Ok(None);
            }
        }
        let depth = self.env.context.map(|context| &context.transaction.trigger_depth);
        depth.inspect(|depth| depth.update(|triggers| triggers + 1));
        let ended = self.run_frame(&firing.procedure, &body, values);
        depth.inspect(|depth| depth.update(|triggers| triggers - 1));
        let Ended { returned, values, .. } = ended?;
        let Some(returned) = returned.and_then(|mut row| row.pop()) else {
            let message = "control reached end of trigger procedure without RETURN";
            let error = SqlError::new(state::FUNCTION_EXECUTED_NO_RETURN_STATEMENT, message);
            return Err(error.context(format!("PL/pgSQL function {}", firing.procedure.identity())).into());
        };
        Ok(Some((returned, values)))
    }
}

impl Changed {
    /// Makes a record of a change of a row of the table at `node`. Returns `None` if no trigger fires after the change.
    pub(super) fn of(
        triggers: &Triggers,
        node: usize,
        event: TriggerEvent,
        assignments: &Assignments,
        old: Option<RowRef<'_>>,
        new: Option<RowRef<'_>>,
    ) -> Option<Self> {
        let sets = |column| assignments.iter().any(|(assigned, _)| *assigned == column);
        let due: Vec<_> = triggers.due(TriggerTime::After, event, true, &sets).collect();
        let copy = |row: RowRef<'_>| {
            let mut copy = Row::new(&triggers.table.layout);
            copy.copy_from(row);
            copy
        };
        (!due.is_empty()).then(|| Self { node, event, old: old.map(copy), new: new.map(copy), due })
    }
}

/// Copies the columns of a row into the fields of `new` or `old`. Without a row, the fields stay as they are.
fn fill(fields: &mut [Value<'static>], row: Option<RowRef<'_>>) {
    if let Some(row) = row {
        fields.iter_mut().enumerate().for_each(|(column, field)| *field = row.value(column).into_owned());
    }
}

/// Sets the variables of a trigger's function, such as `tg_op`.
fn variables(triggers: &Triggers, at: usize, change: &Change<'_>, places: &mut [Value<'static>]) {
    let (trigger, table) = (&triggers.list[at].trigger, &triggers.table);
    let level = if change.for_rows { "ROW" } else { "STATEMENT" };
    let arguments = &trigger.definition.arguments;
    let mut list = ArrayBuilder::new(Element::Text);
    arguments.iter().for_each(|argument| list.push(&Value::text(argument)));
    let text = |text: &str| Value::text(text).into_owned();
    let values = [
        text(&trigger.name),
        text(change.time.name()),
        text(level),
        text(change.event.name()),
        text(table.plain_name()),
        text(table.plain_name()),
        text(table.schema_name()),
        Value::Int4(arguments.len() as i32),
        Value::Array(list.finish()),
    ];
    places.iter_mut().zip(values).for_each(|(place, value)| *place = value);
}
