//! INSERT, UPDATE, DELETE.

use super::foreign_key::{Events, Missing};
use super::trigger::Assignments;
use super::{Exec, Fail, Sink, recycle, scan};
use crate::catalog::{Table, foreign_key};
use crate::expr::{Env, Expr, Input, RowRules, ViewCheck, unseen};
use crate::parse::trigger::{TriggerEvent, TriggerTime};
use crate::plan::{Access, Delete, Graph, Insert, Node, OnConflict, Path, Source, Update};
use crate::{SqlError, state};
use hotrow_storage::{IndexRef, Key, Row, RowMut, RowRef, Value};
use hotrow_sync::Arc;
use hotrow_txn::{Abort, LockFor, Scan, Write};
use std::collections::HashSet;
use std::ops::ControlFlow;

impl Exec<'_> {
    /// Runs an INSERT. Returns the number of rows that it has inserted or, because of a conflict, updated.
    pub(crate) fn insert(&mut self, insert: &Insert, sink: Sink<'_>) -> Result<u64, Fail> {
        match &insert.source {
            Source::Rows(rows) => {
                let mut writer = Inserter::new(insert, self.env);
                writer.begin(self)?;
                let mut count = 0;
                for exprs in rows {
                    writer.start(self)?;
                    for (expr, &target) in exprs.iter().zip(&insert.targets) {
                        match expr {
                            Some(expr) => {
                                let value = expr.eval(&self.env, &Input::NONE)?;
                                writer.row.change(|row| row.set(target, &value));
                            }
                            None => writer.set_default(self, target)?,
                        }
                    }
                    count += u64::from(writer.write(self, sink)?);
                }
                writer.finish(self)?;
                Ok(count)
            }
            Source::Query(node) => self.fill(insert, node, sink),
        }
    }

    /// Runs a query to its end and inserts its rows. Returns the number of inserted rows.
    pub(crate) fn fill(&mut self, insert: &Insert, query: &Node, sink: Sink<'_>) -> Result<u64, Fail> {
        // Runs the query to its end first: it may read the table that the statement fills.
        let mut rows = Vec::new();
        let memory = self.env.memory;
        self.run(query, &mut |row| {
            memory.check_push(&rows)?;
            rows.push(super::owned(row, insert.targets.len()));
            Ok(ControlFlow::Continue(()))
        })?;
        let mut writer = Inserter::new(insert, self.env);
        writer.begin(self)?;
        let mut count = 0;
        for values in rows {
            self.env.check_cancelled()?;
            writer.start(self)?;
            for (value, &target) in values.iter().zip(&insert.targets) {
                writer.row.change(|row| row.set(target, value));
            }
            count += u64::from(writer.write(self, sink)?);
        }
        writer.finish(self)?;
        Ok(count)
    }

    /// Runs an UPDATE. Returns the number of updated rows.
    pub(crate) fn update(&mut self, update: &Update, sink: Sink<'_>) -> Result<u64, Fail> {
        let what = (TriggerEvent::Update, &update.assignments[..]);
        self.with_events(update.consequences.as_ref(), what, |exec, events| exec.update_rows(update, events, sink))
    }

    fn update_rows(
        &mut self,
        update: &Update,
        mut events: Option<&mut Events<'_>>,
        sink: Sink<'_>,
    ) -> Result<u64, Fail> {
        if let Some(source) = &update.source {
            return self.update_from(update, source, events, sink);
        }
        if let Path::Key(values) = &update.access.path {
            let Some(key) = scan::key(&update.access.table.key, values, &self.env)? else { return Ok(0) };
            return self.update_row(update, &key, update.access.filter.as_ref(), None, events, sink).map(u64::from);
        }
        let mut count = 0;
        for key in self.keys(&update.access)? {
            self.env.check_cancelled()?;
            count += u64::from(self.update_row(update, &key, None, None, events.as_deref_mut(), sink)?);
        }
        Ok(count)
    }

    /// Runs a DELETE. Returns the number of deleted rows.
    pub(crate) fn delete(&mut self, delete: &Delete, sink: Sink<'_>) -> Result<u64, Fail> {
        let what = (TriggerEvent::Delete, &[][..]);
        self.with_events(delete.consequences.as_ref(), what, |exec, events| exec.delete_rows(delete, events, sink))
    }

    fn delete_rows(
        &mut self,
        delete: &Delete,
        mut events: Option<&mut Events<'_>>,
        sink: Sink<'_>,
    ) -> Result<u64, Fail> {
        if let Some(source) = &delete.source {
            return self.delete_using(delete, source, events, sink);
        }
        let table = &delete.access.table;
        let keys = match &delete.access.path {
            Path::Key(values) if delete.access.filter.is_none() && delete.returning.is_none() => {
                let Some(key) = scan::key(&table.key, values, &self.env)? else { return Ok(0) };
                return self.delete_row(table, &key, events).map(u64::from);
            }
            _ => self.keys(&delete.access)?,
        };
        let mut count = 0;
        for key in keys {
            self.env.check_cancelled()?;
            count += u64::from(self.delete_found(delete, &key, None, events.as_deref_mut(), sink)?);
        }
        Ok(count)
    }

    /// Changes rows by calling `change`, and then checks foreign keys, runs their actions and fires the triggers that
    /// fire after changes of rows. Also fires the triggers of the whole statement, before and after that. `event` and
    /// `assignments` say which triggers of the whole statement are due. Without a `graph`, only calls `change`.
    fn with_events<'g>(
        &mut self,
        graph: Option<&'g Arc<Graph>>,
        (event, assignments): (TriggerEvent, &Assignments),
        change: impl FnOnce(&mut Self, Option<&mut Events<'g>>) -> Result<u64, Fail>,
    ) -> Result<u64, Fail> {
        let Some(graph) = graph else { return change(self, None) };
        let mut events = Events::new(graph);
        let triggers = events.triggers();
        if let Some(triggers) = triggers {
            self.at_statement(triggers, TriggerTime::Before, event, assignments)?;
        }
        let count = change(self, Some(&mut events))?;
        self.settle(events)?;
        if let Some(triggers) = triggers {
            self.at_statement(triggers, TriggerTime::After, event, assignments)?;
        }
        Ok(count)
    }

    /// Deletes the row with this key, if it is there, and evaluates RETURNING over it. `beside` has the other values
    /// that RETURNING may name.
    pub(super) fn delete_found(
        &mut self,
        delete: &Delete,
        key: &Key,
        beside: Option<Input<'_>>,
        events: Option<&mut Events<'_>>,
        sink: Sink<'_>,
    ) -> Result<bool, Fail> {
        let table = &delete.access.table;
        if let Some(returning) = &delete.returning
            && events.as_ref().is_some_and(|events| events.triggers().is_some())
        {
            // A trigger may prevent the deletion of the row.
            let Some(found) = self.txn.read_for_update(table.id, key)? else { return Ok(false) };
            let mut row = Row::new(&table.layout);
            row.copy_from(found);
            let deleted = self.delete_row(table, key, events)?;
            if deleted {
                answer(returning, &self.env, self.scratch, &input(row.as_ref(), beside), sink)?;
            }
            return Ok(deleted);
        }
        if let Some(returning) = &delete.returning
            && let Some(row) = self.txn.read_for_update(table.id, key)?
        {
            answer(returning, &self.env, self.scratch, &input(row, beside), sink)?;
        }
        self.delete_row(table, key, events)
    }

    /// Deletes the row with this key, if it is there.
    #[inline]
    pub(super) fn delete_row(
        &mut self,
        table: &Table,
        key: &Key,
        events: Option<&mut Events<'_>>,
    ) -> Result<bool, Fail> {
        if let Some(events) = events {
            self.env.memory.check()?;
            let Some(row) = self.txn.read_for_update(table.id, key)? else { return Ok(false) };
            let Some(triggers) = events.triggers() else {
                events.deleted(row);
                self.altered(table, key);
                return Ok(self.txn.delete(table.id, key)? == Write::Done);
            };
            let mut old = Row::new(&table.layout);
            old.copy_from(row);
            let change = (TriggerEvent::Delete, &[][..]);
            if !self.at_row(triggers, TriggerTime::Before, change, Some(old.as_ref()), None)? {
                return Ok(false);
            }
            self.check_same(table, key, &Input::Row(old.as_ref()), "deleted")?;
            self.txn.delete(table.id, key)?;
            self.altered(table, key);
            events.deleted(old.as_ref());
            events.fires(TriggerEvent::Delete, &[], Some(old.as_ref()), None);
            return Ok(true);
        }
        self.altered(table, key);
        Ok(self.txn.delete(table.id, key)? == Write::Done)
    }

    /// Returns the keys of the rows that an access finds, and locks the rows to be changed.
    pub(super) fn keys(&mut self, access: &Access) -> Result<Vec<Key>, Fail> {
        let mut keys = Vec::new();
        scan::run(access, self.txn, &self.env, &mut |row| {
            if let Input::Row(row) = row {
                keys.push(access.table.key_of(*row));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(keys)
    }

    /// Updates the row with this key, if it is there and satisfies the filter. `excluded` is the other row that the
    /// expressions may name, such as the row that INSERT … ON CONFLICT did not insert.
    pub(super) fn update_row(
        &mut self,
        update: &Update,
        key: &Key,
        filter: Option<&Expr>,
        excluded: Option<Input<'_>>,
        events: Option<&mut Events<'_>>,
        sink: Sink<'_>,
    ) -> Result<bool, Fail> {
        self.check_memory(update.access.table.id)?;
        if update.moves || events.is_some() || !update.rules.views.is_empty() {
            return self.replace_row(update, key, filter, excluded, events, sink);
        }
        let (env, table) = (self.env, &update.access.table);
        let scratch = &mut *self.scratch;
        let (mut matched, mut failed) = (false, None);
        let written = self.txn.update(table.id, key, &mut |row| {
            let changed = assign_row(update, filter, excluded, &env, scratch, row).and_then(|changed| {
                matched = changed;
                if !changed {
                    return Ok(());
                }
                complete_row(table, &update.rules, row, &env)?;
                match &update.returning {
                    Some(returning) => answer(returning, &env, scratch, &input(row.as_ref(), excluded), sink),
                    None => Ok(()),
                }
            });
            changed.map_err(|error| {
                failed = Some(error);
                Abort::User
            })
        });
        match (written, failed) {
            (_, Some(error)) => Err(error.into()),
            (Err(abort), None) => Err(abort.into()),
            (Ok(Write::Done), None) => {
                if matched {
                    self.altered(table, key);
                }
                Ok(matched)
            }
            (Ok(Write::Absent), None) => Ok(false),
            (Ok(Write::Duplicate(index)), None) => {
                let Some(old) = self.txn.read_for_update(table.id, key)? else {
                    return Err(duplicate_key(table, index, None).into());
                };
                let mut row = Row::new(&table.layout);
                row.copy_from(old);
                let scratch = &mut *self.scratch;
                row.change(|row| {
                    assign(update, excluded, &env, scratch, row)?;
                    complete_row(table, &update.rules, row, &env)
                })?;
                Err(duplicate_key(table, index, Some(row.as_ref())).into())
            }
        }
    }

    /// Updates a row for which the whole old and new rows are needed: the primary key changes, so that the old row is
    /// deleted and the new one inserted, foreign keys must see the row before and after, or the check option of a view
    /// must see the new row once it is stored.
    fn replace_row(
        &mut self,
        update: &Update,
        key: &Key,
        filter: Option<&Expr>,
        excluded: Option<Input<'_>>,
        events: Option<&mut Events<'_>>,
        sink: Sink<'_>,
    ) -> Result<bool, Fail> {
        let (env, table) = (self.env, &update.access.table);
        let Some(found) = self.txn.read_for_update(table.id, key)? else { return Ok(false) };
        let mut old = Row::new(&table.layout);
        old.copy_from(found);
        let mut row = old.clone();
        let scratch = &mut *self.scratch;
        if !row.change(|row| assign_row(update, filter, excluded, &env, scratch, row))? {
            return Ok(false);
        }
        let triggers = events.as_ref().and_then(|events| events.triggers()).filter(|known| known.change_updates());
        if let Some(triggers) = triggers {
            let change = (TriggerEvent::Update, &update.assignments[..]);
            if !self.at_row(triggers, TriggerTime::Before, change, Some(old.as_ref()), Some(&mut row))? {
                return Ok(false);
            }
            self.check_same(table, key, &Input::Row(old.as_ref()), "updated")?;
        }
        row.change(|row| complete_row(table, &update.rules, row, &env))?;
        let moves = update.moves || triggers.is_some() && table.key_of(row.as_ref()) != *key;
        let missing = match &events {
            Some(events) => self.missing(events, (!moves).then(|| old.as_ref()), row.as_ref())?,
            None => Missing::new(),
        };
        let written = if moves {
            self.txn.delete(table.id, key)?;
            self.txn.insert(table.id, row.as_ref())?
        } else {
            self.txn.update(table.id, key, &mut |target| {
                let mut set = |column: usize| target.set(column, &row.as_ref().value(column));
                match triggers {
                    Some(_) => (0..table.stored()).for_each(set),
                    None => update.changed().for_each(&mut set),
                }
                Ok(())
            })?
        };
        match written {
            Write::Duplicate(index) => return Err(duplicate_key(table, index, Some(row.as_ref())).into()),
            Write::Absent => return Ok(false),
            Write::Done => {}
        }
        self.altered(table, key);
        if moves {
            self.altered(table, &table.key_of(row.as_ref()));
        }
        self.check_views(table, &update.rules.views, row.as_ref())?;
        if let Some(events) = events {
            events.updated(old.as_ref(), row.as_ref());
            events.refers(missing, row.as_ref());
            let (old, new) = (Some(old.as_ref()), Some(row.as_ref()));
            events.fires(TriggerEvent::Update, &update.assignments, old, new);
        }
        if let Some(returning) = &update.returning {
            answer(returning, &env, self.scratch, &input(row.as_ref(), excluded), sink)?;
        }
        Ok(true)
    }
}

/// Makes and inserts rows of one table, one after the other in the same memory.
pub(crate) struct Inserter<'i> {
    insert: &'i Insert,
    env: Env<'i>,
    /// The row to fill.
    pub(crate) row: Row,
    /// The columns that the source does not fill.
    defaulted: Vec<usize>,
    /// The rows that ON CONFLICT DO UPDATE has inserted or changed.
    written: HashSet<Key>,
    /// The changes that foreign keys have to check or to act on, and those after which triggers fire. `None` if no
    /// foreign key and no trigger concerns the statement.
    events: Option<Events<'i>>,
}

impl<'i> Inserter<'i> {
    /// Returns an inserter for the rows of this statement.
    pub(crate) fn new(insert: &'i Insert, env: Env<'i>) -> Self {
        let row = Row::new(&insert.table.layout);
        let defaulted = (0..insert.table.visible()).filter(|column| !insert.targets.contains(column)).collect();
        let events = insert.consequences.as_ref().map(Events::new);
        Self { insert, env, row, defaulted, written: HashSet::new(), events }
    }

    /// Begins the statement: fires the triggers that fire once, before its first row.
    pub(crate) fn begin(&self, exec: &mut Exec<'_>) -> Result<(), Fail> {
        self.at_statement(TriggerTime::Before, exec)
    }

    fn at_statement(&self, time: TriggerTime, exec: &mut Exec<'_>) -> Result<(), Fail> {
        let Some(triggers) = self.events.as_ref().and_then(Events::triggers) else { return Ok(()) };
        exec.at_statement(triggers, time, TriggerEvent::Insert, &[])?;
        match &self.insert.on_conflict {
            OnConflict::Update(_, update) => {
                exec.at_statement(triggers, time, TriggerEvent::Update, &update.assignments)
            }
            OnConflict::Fail | OnConflict::Skip(_) => Ok(()),
        }
    }

    /// Ends the statement after its last row: checks foreign keys, runs their actions and fires triggers.
    pub(crate) fn finish(mut self, exec: &mut Exec<'_>) -> Result<(), Fail> {
        let Some(events) = self.events.take() else { return Ok(()) };
        self.events = Some(events.empty());
        exec.settle(events)?;
        self.at_statement(TriggerTime::After, exec)
    }

    /// Checks and fires as [`finish`](Self::finish) does, but keeps the inserter. If the effects are undone, the call
    /// can be repeated.
    pub(crate) fn check(&self, exec: &mut Exec<'_>) -> Result<(), Fail> {
        self.events.clone().map_or(Ok(()), |events| exec.settle(events))?;
        self.at_statement(TriggerTime::After, exec)
    }

    /// Begins a row: gives the columns that the source does not fill their defaults.
    pub(crate) fn start(&mut self, exec: &mut Exec<'_>) -> Result<(), Fail> {
        (0..self.defaulted.len()).try_for_each(|at| self.set_default(exec, self.defaulted[at]))
    }

    /// Exchanges the list of events with that of the caller, so that several inserters of one statement share a list.
    pub(super) fn swap_events(&mut self, events: &mut Option<Events<'i>>) {
        std::mem::swap(&mut self.events, events);
    }

    /// Sets a column of the row to its default, or to NULL if it has none.
    pub(super) fn set_default(&mut self, exec: &mut Exec<'_>, column: usize) -> Result<(), Fail> {
        let value = match self.insert.defaults.get(column) {
            Some(Some(default)) if default.has_subquery() => {
                exec.with_subqueries(|env| Ok(default.eval(env, &Input::NONE)?.into_owned()))?
            }
            Some(Some(default)) => default.eval(&self.env, &Input::NONE)?,
            _ => Value::Null,
        };
        self.row.change(|row| row.set(column, &value));
        Ok(())
    }

    /// Checks and inserts the row. If it conflicts with another row, does what ON CONFLICT says. Returns `false` if no
    /// row was inserted or updated.
    pub(crate) fn write(&mut self, exec: &mut Exec<'_>, sink: Sink<'_>) -> Result<bool, Fail> {
        let table = &self.insert.table;
        if let Some(triggers) = self.events.as_ref().and_then(Events::triggers).filter(|known| known.replace_inserts())
        {
            let mut row = self.row.clone();
            return exec.at_row(triggers, TriggerTime::InsteadOf, (TriggerEvent::Insert, &[]), None, Some(&mut row));
        }
        exec.check_memory(table.id)?;
        table.number_row(&mut self.row);
        if let Some(triggers) = self.events.as_ref().and_then(Events::triggers) {
            // If this attempt is undone, the next one begins with the row as it was given.
            let mut row = self.row.clone();
            let goes = exec.at_row(triggers, TriggerTime::Before, (TriggerEvent::Insert, &[]), None, Some(&mut row))?;
            let given = std::mem::replace(&mut self.row, row);
            let written = if goes { self.write_row(exec, sink) } else { Ok(false) };
            self.row = given;
            return written;
        }
        self.write_row(exec, sink)
    }

    fn write_row(&mut self, exec: &mut Exec<'_>, sink: Sink<'_>) -> Result<bool, Fail> {
        let table = &self.insert.table;
        let (rules, env) = (&self.insert.rules, &self.env);
        self.row.change(|row| complete_row(table, rules, row, env))?;
        let missing = match &self.events {
            Some(events) => exec.missing(events, None, self.row.as_ref())?,
            None => Missing::new(),
        };
        while let Write::Duplicate(index) = exec.txn.insert(table.id, self.row.as_ref())? {
            let wanted = match &self.insert.on_conflict {
                OnConflict::Skip(wanted) if wanted.is_none_or(|wanted| wanted == index) => return Ok(false),
                OnConflict::Skip(Some(wanted)) | OnConflict::Update(wanted, _) => *wanted,
                _ => return Err(duplicate_key(table, index, Some(self.row.as_ref())).into()),
            };
            // Only a conflict in the index that ON CONFLICT names counts, even if the engine has found one in another
            // index.
            match (exec.in_the_way(table, wanted, self.row.as_ref())?, &self.insert.on_conflict) {
                (Some(key), OnConflict::Update(_, update)) => return self.update_instead(exec, update, key, sink),
                (Some(_), _) => return Ok(false),
                (None, _) if wanted != index => {
                    return Err(duplicate_key(table, index, Some(self.row.as_ref())).into());
                }
                // The conflicting row is gone, so the row is inserted again.
                (None, _) => self.env.check_cancelled()?,
            }
        }
        if let Some(unseen) = unseen(&self.env) {
            unseen.insert(table.id, table.key_of(self.row.as_ref()));
        }
        if matches!(self.insert.on_conflict, OnConflict::Update(..)) {
            self.written.insert(table.key_of(self.row.as_ref()));
        }
        exec.check_views(table, &rules.views, self.row.as_ref())?;
        if let Some(events) = &mut self.events {
            events.refers(missing, self.row.as_ref());
            events.fires(TriggerEvent::Insert, &[], None, Some(self.row.as_ref()));
        }
        if let Some(returning) = &self.insert.returning {
            answer(returning, &self.env, exec.scratch, &Input::Row(self.row.as_ref()), sink)?;
        }
        Ok(true)
    }
}

impl Inserter<'_> {
    /// Updates the existing row with this key, as ON CONFLICT DO UPDATE says. Returns `false` if that row does not
    /// satisfy the WHERE clause. Fails if the statement has already written the row.
    fn update_instead(&mut self, exec: &mut Exec<'_>, update: &Update, key: Key, sink: Sink<'_>) -> Result<bool, Fail> {
        if self.written.contains(&key) || exec.has_changed(&update.access.table, &key) {
            let message = "ON CONFLICT DO UPDATE command cannot affect row a second time";
            let hint = "Ensure that no rows proposed for insertion within the same command have duplicate constrained \
                        values.";
            return Err(SqlError::new(state::CARDINALITY_VIOLATION, message).hint(hint).into());
        }
        let (filter, excluded) = (update.access.filter.as_ref(), Some(Input::Row(self.row.as_ref())));
        let updated = exec.update_row(update, &key, filter, excluded, self.events.as_mut(), sink)?;
        if updated {
            self.written.insert(key);
        }
        Ok(updated)
    }
}

impl Exec<'_> {
    /// Checks that a new row satisfies the conditions of the views through which the statement has written it.
    ///
    /// # Errors
    /// 44000 if it does not.
    pub(super) fn check_views(&mut self, table: &Table, checks: &[ViewCheck], row: RowRef<'_>) -> Result<(), Fail> {
        for check in checks {
            let holds = match check.condition.has_subquery() {
                true => self.with_subqueries(|env| check.condition.is_true(env, &Input::Row(row)))?,
                false => check.condition.is_true(&self.env, &Input::Row(row))?,
            };
            if !holds {
                let message = format!("new row violates check option for view \"{}\"", check.view);
                let error = SqlError::new(state::WITH_CHECK_OPTION_VIOLATION, message);
                return Err(error.detail(format!("Failing row contains {}.", table.describe_row(row))).into());
            }
        }
        Ok(())
    }

    /// Returns the primary key of the row that has the same key as `row` in a unique index, and locks it to be changed.
    /// Returns `None` if there is no such row.
    fn in_the_way(&mut self, table: &Table, index: IndexRef, row: RowRef<'_>) -> Result<Option<Key>, Fail> {
        if index == IndexRef::Primary {
            let key = table.key_of(row);
            return Ok(self.txn.read_for_update(table.id, &key)?.is_some().then_some(key));
        }
        // NULLs are equal to nothing, so they never conflict.
        if table.index_columns(index).iter().any(|&column| row.is_null(column)) {
            return Ok(None);
        }
        let spec = table.index_key(index);
        let wanted = spec.key(spec.parts().iter().map(|part| row.value(part.column)));
        let mut found = None;
        let scan = Scan { lock: LockFor::Update, ..Scan::prefix(table.id, index, wanted) };
        self.txn.scan(&scan, &mut |row| {
            found = Some(table.key_of(row));
            ControlFlow::Break(())
        })?;
        Ok(found)
    }
}

/// Assigns the new values of an UPDATE to a row if it satisfies the filter. Returns whether it does.
fn assign_row(
    update: &Update,
    filter: Option<&Expr>,
    excluded: Option<Input<'_>>,
    env: &Env<'_>,
    scratch: &mut super::Scratch,
    row: &mut RowMut<'_>,
) -> Result<bool, SqlError> {
    if let Some(filter) = filter
        && !filter.is_true(env, &input(row.as_ref(), excluded))?
    {
        return Ok(false);
    }
    assign(update, excluded, env, scratch, row)?;
    Ok(true)
}

/// Computes all new values over the old row, then sets them.
fn assign(
    update: &Update,
    excluded: Option<Input<'_>>,
    env: &Env<'_>,
    scratch: &mut super::Scratch,
    row: &mut RowMut<'_>,
) -> Result<(), SqlError> {
    scratch.clear();
    for (_, expr) in &update.assignments {
        scratch.push(expr.eval(env, &input(row.as_ref(), excluded))?.into_owned());
    }
    for ((column, _), value) in update.assignments.iter().zip(scratch.iter()) {
        row.set(*column, value);
    }
    scratch.clear();
    Ok(())
}

/// Returns the row that an UPDATE's expressions look at, with the other row that they may name beside it, if there is
/// one.
pub(super) fn input<'a>(row: RowRef<'a>, excluded: Option<Input<'a>>) -> Input<'a> {
    match excluded {
        Some(Input::Row(excluded)) => Input::Rows(row, excluded),
        Some(Input::Values(beside)) => Input::Beside(row, beside),
        _ => Input::Row(row),
    }
}

/// Evaluates RETURNING over one row, and pushes the result into `sink`.
pub(super) fn answer(
    exprs: &[Expr],
    env: &Env<'_>,
    scratch: &mut super::Scratch,
    input: &Input<'_>,
    sink: Sink<'_>,
) -> Result<(), SqlError> {
    let mut values = recycle(std::mem::take(scratch));
    for expr in exprs {
        values.push(expr.eval(env, input)?);
    }
    let _ = sink(&Input::Values(&values))?;
    *scratch = recycle(values);
    Ok(())
}

/// Computes the generated columns of a new row, checks NOT NULL and the CHECK constraints, and then computes the hidden
/// columns.
fn complete_row(table: &Table, rules: &RowRules, row: &mut RowMut<'_>, env: &Env<'_>) -> Result<(), SqlError> {
    compute(&rules.generated, row, env)?;
    check_row(table, rules, row.as_ref(), env)?;
    compute(&rules.hidden, row, env)
}

/// Computes columns of a row in this order, each over the values of the columns so far.
pub(super) fn compute(columns: &[(usize, Expr)], row: &mut RowMut<'_>, env: &Env<'_>) -> Result<(), SqlError> {
    for (column, expr) in columns {
        let value = expr.eval(env, &Input::Row(row.as_ref()))?.into_owned();
        row.set(*column, &value);
    }
    Ok(())
}

fn check_row(table: &Table, rules: &RowRules, row: RowRef<'_>, env: &Env<'_>) -> Result<(), SqlError> {
    for (at, column) in table.schema.columns.iter().enumerate() {
        if !column.nullable && row.is_null(at) {
            let message = format!(
                "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                column.name,
                table.name()
            );
            return Err(SqlError::new(state::NOT_NULL_VIOLATION, message)
                .about_column(table.name(), &column.name)
                .detail(format!("Failing row contains {}.", table.describe_row(row))));
        }
    }
    for check in &rules.checks {
        // NULL is no violation.
        if check.condition.eval(env, &Input::Row(row))? == Value::Bool(false) {
            let message =
                format!("new row for relation \"{}\" violates check constraint \"{}\"", table.name(), check.name);
            return Err(SqlError::new(state::CHECK_VIOLATION, message)
                .about_constraint(table.name(), &check.name)
                .detail(format!("Failing row contains {}.", table.describe_row(row))));
        }
    }
    Ok(())
}

/// Returns the error 23505 of a unique index. If the row is given, the error's detail has its key.
pub(crate) fn duplicate_key(table: &Table, index: IndexRef, row: Option<RowRef<'_>>) -> SqlError {
    let constraint = table.index_name(index);
    let message = format!("duplicate key value violates unique constraint \"{constraint}\"");
    let error = SqlError::new(state::UNIQUE_VIOLATION, message).about_constraint(table.name(), constraint);
    match row {
        Some(row) => error.detail(format!("{} already exists.", describe_key(table, index, row))),
        None => error,
    }
}

/// Formats the key of a row in an index: `Key (a, b)=(1, 2)`.
pub(crate) fn describe_key(table: &Table, index: IndexRef, row: RowRef<'_>) -> String {
    let columns = table.key_columns(index);
    let values: Vec<_> = columns.iter().map(|&at| row.value(at)).collect();
    foreign_key::describe_key(columns.iter().map(|&at| (table.column_label(at), at)), table, &values)
}
