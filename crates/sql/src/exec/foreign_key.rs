//! Checks foreign keys and runs their actions while rows change, and notes the changes after which triggers fire.
//!
//! **A transaction that writes a referring row** looks for the referenced row before it writes, and holds the row that
//! it finds: no other transaction deletes the row or changes its key until this one ends. Other transactions may hold
//! the row, too, and may change its other columns if the engine can tell these from the key. So a row that was found
//! need not be looked for again. If none was found, the transaction looks again when the statement is complete, because
//! the statement itself may bring the row about.
//!
//! **A transaction that deletes a row, or changes its key**, has locked the row first, and looks for rows that refer to
//! it when the statement is complete. No row can come to refer to it after that, since the range that was searched is
//! held, too. In this order two such transactions wait for each other's rows but never in a circle: the transaction
//! that reaches the referenced row first goes first.
//!
//! The events of a statement are handled in PostgreSQL's order: row by row, for each row key by key in the order in
//! which the keys were made, and then the events that actions have caused. So the changes of an action are no statement
//! of their own: there is one list of events, however deep the actions go.
//!
//! A rehearsal changes nothing, so it finds violations that a run would not have. It passes over them, and handles
//! equal events once.

use super::trigger::{Assignments, Changed};
use super::{Exec, Fail, scan};
use crate::catalog::foreign_key::{ForeignKey, ReferentialAction as Action, values_of};
use crate::context::SessionContext;
use crate::expr::{Env, Input};
use crate::parse::trigger::TriggerEvent;
use crate::plan::deferred::{Event, EventKind};
use crate::plan::{Access, Change, ChangePlan, Graph, Keys, Path, Referred, Triggers};
use hotrow_storage::{Key, RowRef, Value};
use hotrow_sync::Arc;
use std::collections::{HashSet, VecDeque};
use std::ops::ControlFlow;

/// The row changes of a statement that are still to be handled: those that foreign keys check or act on, and those
/// after which triggers fire.
#[derive(Clone)]
pub(crate) struct Events<'p> {
    graph: &'p Arc<Graph>,
    node: usize,
    list: Vec<Event>,
    changed: Vec<Changed>,
}

/// The foreign keys of a row whose referenced rows were not found: the number of each key, and the values that it has.
pub(super) type Missing = Vec<(usize, Vec<Value<'static>>)>;

impl<'p> Events<'p> {
    /// Returns the empty list of a statement that has just begun.
    pub(super) fn new(graph: &'p Arc<Graph>) -> Self {
        Self { graph, node: 0, list: Vec::new(), changed: Vec::new() }
    }

    /// Returns an empty list for the same statement.
    pub(super) fn empty(&self) -> Self {
        Self { node: self.node, ..Self::new(self.graph) }
    }

    /// Returns the triggers of the table whose rows the statement changes, or `None` if it has none.
    pub(super) fn triggers(&self) -> Option<&'p Triggers> {
        self.graph.nodes[self.node].triggers.as_deref()
    }

    /// Records a change of a row, if a trigger fires after it.
    pub(super) fn fires(
        &mut self,
        event: TriggerEvent,
        assignments: &Assignments,
        old: Option<RowRef<'_>>,
        new: Option<RowRef<'_>>,
    ) {
        if let Some(triggers) = self.triggers() {
            self.changed.extend(Changed::of(triggers, self.node, event, assignments, old, new));
        }
    }

    fn keys(&self) -> &'p Keys {
        &self.graph.nodes[self.node]
    }

    fn push(&mut self, key: usize, kind: EventKind) {
        self.list.push(Event { node: self.node, key, kind });
    }

    /// Notes that a row was written. `missing` are its foreign keys whose referenced rows were not found.
    pub(super) fn refers(&mut self, missing: Missing, row: RowRef<'_>) {
        for (key, values) in missing {
            let row = self.keys().table.key_of(row);
            self.push(key, EventKind::Refers(row, values));
        }
    }

    /// Notes that a row is to be deleted.
    pub(super) fn deleted(&mut self, row: RowRef<'_>) {
        for (at, referred) in self.keys().referrers.iter().enumerate() {
            let values = values_of(row, &referred.columns);
            if ForeignKey::refers(&values) {
                self.push(at, EventKind::Deleted(values));
            }
        }
    }

    /// Notes that a row was updated.
    pub(super) fn updated(&mut self, old: RowRef<'_>, new: RowRef<'_>) {
        for (at, referred) in self.keys().referrers.iter().enumerate() {
            let values = values_of(old, &referred.columns);
            if ForeignKey::refers(&values) && !has_same(&referred.columns, old, new) {
                self.push(at, EventKind::Updated(values, values_of(new, &referred.columns)));
            }
        }
    }
}

fn has_same(columns: &[usize], old: RowRef<'_>, new: RowRef<'_>) -> bool {
    columns.iter().all(|&column| old.value(column) == new.value(column))
}

/// Whether an event asks for nothing but a check, which may be deferred.
fn is_check(key: &ForeignKey, event: &Event) -> bool {
    match event.kind {
        EventKind::Refers(..) => true,
        EventKind::Deleted(_) => key.on_delete == Action::NoAction,
        EventKind::Updated(..) => key.on_update == Action::NoAction,
    }
}

impl Exec<'_> {
    /// Returns the foreign keys by which a row that is to be written refers to rows that are not there now. If the row
    /// is to be updated in its place, `old` is the row as it is, and only keys that change are looked up.
    pub(super) fn missing(
        &mut self,
        events: &Events<'_>,
        old: Option<RowRef<'_>>,
        row: RowRef<'_>,
    ) -> Result<Missing, Fail> {
        let mut missing = Missing::new();
        for (at, reference) in events.keys().references.iter().enumerate() {
            let key = &reference.key;
            if old.is_some_and(|old| has_same(&key.columns, old, row)) {
                continue;
            }
            let values = values_of(row, &key.columns);
            if key.is_exempt(&values) || ForeignKey::refers(&values) && self.finds(&reference.lookup, &values)? {
                continue;
            }
            self.env.memory.check_push(&missing)?;
            missing.push((at, values));
        }
        Ok(missing)
    }

    /// Whether a lookup finds a row with these values. The row stays there until the transaction ends.
    fn finds(&mut self, lookup: &Access, values: &[Value<'static>]) -> Result<bool, Fail> {
        let env = Env { params: values, frames: None, keeps_reads: true, ..self.env };
        if let (Path::Key(key), None) = (&lookup.path, &lookup.filter) {
            let Some(key) = scan::key(&lookup.table.key, key, &env)? else { return Ok(false) };
            return Ok(self.txn.hold_row(lookup.table.id, &key)?);
        }
        let mut found = false;
        self.txn.hold_reads(true);
        let looked = scan::run(lookup, self.txn, &env, &mut |_| {
            found = true;
            Ok(ControlFlow::Break(()))
        });
        self.txn.hold_reads(false);
        looked.map(|()| found)
    }

    /// Handles the events of a statement that is otherwise complete: makes the checks or defers them, runs the actions
    /// of foreign keys, and fires the triggers that fire after changes of rows.
    pub(super) fn settle(&mut self, mut events: Events<'_>) -> Result<(), Fail> {
        self.settle_keys(&mut events)?;
        self.after_rows(events.graph, &events.changed)
    }

    fn settle_keys(&mut self, events: &mut Events<'_>) -> Result<(), Fail> {
        let Events { graph, list, changed, .. } = events;
        let is_rehearsal = self.is_rehearsal();
        let mut seen = HashSet::new();
        let mut events = VecDeque::from(std::mem::take(list));
        while let Some(event) = events.pop_front() {
            self.env.check_cancelled()?;
            if is_rehearsal && !seen.insert(format!("{event:?}")) {
                continue;
            }
            let key = event.foreign_key(graph);
            if is_check(key, &event) && self.deferred.defers(graph, &event) {
                self.env.memory.check()?;
                self.deferred.push(graph, event);
                continue;
            }
            events.extend(self.handle(graph, event, changed)?);
        }
        Ok(())
    }

    /// Makes the deferred checks that are due. If `ends` is set, the transaction is about to end, and all of them are
    /// due.
    pub(crate) fn check_deferred(&mut self, ends: bool) -> Result<(), Fail> {
        let mut from = 0;
        loop {
            let Some((at, pending)) = self.deferred.due(from, ends) else { return Ok(()) };
            self.env.check_cancelled()?;
            // Only checks are deferred, which change no rows.
            self.handle(&pending.graph, pending.event, &mut Vec::new())?;
            self.deferred.done(at);
            from = at + 1;
        }
    }

    /// Makes the check or runs the action for an event. Returns the events that the action causes, and adds the row
    /// changes after which triggers fire to `changed`.
    fn handle(&mut self, graph: &Arc<Graph>, event: Event, changed: &mut Vec<Changed>) -> Result<Vec<Event>, Fail> {
        let Event { node, key, kind } = event;
        let keys = &graph.nodes[node];
        let referred = |key: usize| &keys.referrers[key];
        let (action, change, old, new) = match kind {
            EventKind::Refers(row, values) => {
                self.check_reference(keys, key, &row, &values)?;
                return Ok(Vec::new());
            }
            EventKind::Deleted(old) => (referred(key).key.on_delete, &referred(key).on_delete, old, Vec::new()),
            EventKind::Updated(old, new) => (referred(key).key.on_update, &referred(key).on_update, old, new),
        };
        let referred = referred(key);
        let Some(change) = change else {
            self.check_not_referred(referred, &old, action == Action::NoAction)?;
            return Ok(Vec::new());
        };
        let params: Vec<_> = old.iter().chain(&new).cloned().collect();
        let Events { list: follows, changed: fires, .. } = self.act(graph, change, &params)?;
        changed.extend(fires);
        if action == Action::SetDefault {
            // The defaults may be the same values.
            self.check_not_referred(referred, &old, true)?;
        }
        Ok(follows)
    }

    /// Checks that no row refers to the old values of a row that has been deleted or changed. If `may` is set,
    /// references are also valid if another row has the values now. In a rehearsal the old row still has them.
    fn check_not_referred(&mut self, referred: &Referred, old: &[Value<'static>], may: bool) -> Result<(), Fail> {
        let replaced = may && self.finds(&referred.lookup, old)?;
        if (!replaced || self.is_rehearsal()) && self.finds(&referred.children, old)? {
            self.violated(referred.key.still_referenced(&referred.child, old))?;
        }
        Ok(())
    }

    /// Checks that a row, if it still has these values in its foreign key, refers to a row that is there.
    fn check_reference(&mut self, keys: &Keys, at: usize, row: &Key, values: &[Value<'static>]) -> Result<(), Fail> {
        let reference = &keys.references[at];
        if ForeignKey::refers(values) && self.finds(&reference.lookup, values)? {
            return Ok(());
        }
        let columns = &reference.key.columns;
        let now = self.txn.read(keys.table.id, row)?;
        if now.is_some_and(|row| columns.iter().zip(values).all(|(&column, value)| row.value(column) == *value)) {
            self.violated(reference.key.not_present(&keys.table, values))?;
        }
        Ok(())
    }

    fn violated(&self, error: crate::SqlError) -> Result<(), Fail> {
        if self.is_rehearsal() { Ok(()) } else { Err(error.into()) }
    }

    fn is_rehearsal(&self) -> bool {
        self.env.context.is_some_and(SessionContext::is_rehearsing)
    }

    /// Runs an action on the rows that refer to a row. Returns the events of these rows. No other row can come to refer
    /// to the row meanwhile.
    fn act<'g>(
        &mut self,
        graph: &'g Arc<Graph>,
        change: &Change,
        params: &[Value<'static>],
    ) -> Result<Events<'g>, Fail> {
        let env = Env { params, frames: None, keeps_reads: true, ..self.env };
        let mut exec = self.with_env(env);
        let access = match &change.plan {
            ChangePlan::Delete(delete) => &delete.access,
            ChangePlan::Update(update) => &update.access,
        };
        exec.txn.hold_reads(true);
        let rows = exec.keys(access);
        exec.txn.hold_reads(false);
        let mut events = Events { node: change.node, ..Events::new(graph) };
        for row in rows? {
            exec.env.check_cancelled()?;
            exec.env.memory.check_push(&events.list)?;
            match &change.plan {
                ChangePlan::Delete(_) => exec.delete_row(&access.table, &row, Some(&mut events))?,
                ChangePlan::Update(update) => {
                    let sink = &mut |_: &Input<'_>| Ok(ControlFlow::Continue(()));
                    exec.update_row(update, &row, None, None, Some(&mut events), sink)?
                }
            };
        }
        Ok(events)
    }
}
