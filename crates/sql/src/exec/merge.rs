//! MERGE.
//!
//! A query joins the source with the table, locks the rows of the table that match, and runs to its end before the
//! first row changes. Then each of its rows changes the table by the first clause that fits it.

use super::dml::Inserter;
use super::foreign_key::Events;
use super::{Exec, Fail};
use crate::expr::{Env, Expr, Input};
use crate::parse::trigger::{TriggerEvent, TriggerTime};
use crate::plan::{Merge, MergeAction};
use crate::{SqlError, state};
use hotrow_storage::{Key, Value};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// The state of a MERGE between the rows of its query.
struct Progress<'p> {
    /// The inserter of each clause with INSERT, in the order of the clauses; `None` for any other clause.
    inserters: Vec<Option<Inserter<'p>>>,
    /// The row changes for foreign keys and triggers; `None` if the statement concerns neither.
    events: Option<Events<'p>>,
    /// The rows that have been updated or deleted.
    changed: HashSet<Key>,
}

/// Returns the inserter for an INSERT action, or `None` for any other action.
fn inserter<'p>(action: &'p MergeAction, env: Env<'p>) -> Option<Inserter<'p>> {
    match action {
        MergeAction::Insert(insert, _) => Some(Inserter::new(insert, env)),
        MergeAction::Update(_) | MergeAction::Delete(_) | MergeAction::Nothing => None,
    }
}

impl Exec<'_> {
    /// Runs a MERGE. Returns the number of rows that it has inserted, updated and deleted.
    pub(super) fn merge(&mut self, merge: &Merge) -> Result<u64, Fail> {
        // The query runs first, because it must not see the changes of triggers.
        let rows = self.collect_all(&merge.source)?;
        self.fire_for_merge(
            merge,
            TriggerTime::Before,
            [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete],
        )?;
        let env = self.env;
        let mut progress = Progress {
            inserters: merge.clauses.iter().map(|clause| inserter(&clause.action, env)).collect(),
            events: merge.consequences.as_ref().map(Events::new),
            changed: HashSet::new(),
        };
        let mut count = 0;
        for row in rows.rows() {
            self.env.check_cancelled()?;
            self.env.memory.check_push(&progress.changed)?;
            count += u64::from(self.merge_row(merge, row, &mut progress)?);
        }
        progress.events.map_or(Ok(()), |events| self.settle(events))?;
        self.fire_for_merge(
            merge,
            TriggerTime::After,
            [TriggerEvent::Delete, TriggerEvent::Update, TriggerEvent::Insert],
        )?;
        Ok(count)
    }

    /// Applies the first clause whose condition a row of the query satisfies. Returns whether it changed a row of the
    /// table. The query's row consists of the key of the table's row (NULL if no row matches), the table's columns and
    /// the source's columns.
    fn merge_row(&mut self, merge: &Merge, row: &[Value<'static>], progress: &mut Progress<'_>) -> Result<bool, Fail> {
        let table = &merge.table;
        let (key, both) = row.split_at(table.schema.key.len());
        let is_matched = !key[0].is_null();
        let (old, of_source) = both.split_at(table.schema.columns.len());
        let mut fitting = None;
        for (at, clause) in merge.clauses.iter().enumerate().filter(|(_, clause)| clause.matched == is_matched) {
            let condition = clause.condition.as_ref();
            if condition.map_or(Ok(true), |condition| condition.is_true(&self.env, &Input::Values(both)))? {
                fitting = Some(at);
                break;
            }
        }
        let Some(at) = fitting else { return Ok(false) };
        let nobody = &mut |_: &Input<'_>| Ok(ControlFlow::Continue(()));
        let key = || table.key.key(key.iter().map(Value::borrowed));
        let changes = match (&merge.clauses[at].action, &mut progress.inserters[at]) {
            (MergeAction::Insert(insert, values), Some(inserter)) => {
                inserter.start(self)?;
                for (value, &target) in values.iter().zip(&insert.targets) {
                    match value {
                        Some(value) => {
                            let value = value.eval(&self.env, &Input::Values(both))?;
                            inserter.row.change(|row| row.set(target, &value));
                        }
                        None => inserter.set_default(self, target)?,
                    }
                }
                inserter.swap_events(&mut progress.events);
                let inserted = inserter.write(self, nobody);
                inserter.swap_events(&mut progress.events);
                return inserted;
            }
            (MergeAction::Update(update), _) => {
                let key = key();
                self.check_first(merge, &key, old, "updated", &progress.changed)?;
                let (of_source, events) = (Some(Input::Values(of_source)), progress.events.as_mut());
                self.update_row(update, &key, None, of_source, events, nobody)?.then_some(key)
            }
            (MergeAction::Delete(delete), _) => {
                let key = key();
                self.check_first(merge, &key, old, "deleted", &progress.changed)?;
                self.delete_found(delete, &key, None, progress.events.as_mut(), nobody)?.then_some(key)
            }
            _ => None,
        };
        let is_changed = changes.is_some();
        progress.changed.extend(changes);
        Ok(is_changed)
    }

    /// Checks that the statement has not changed a row of the table before, and that no trigger or function has changed
    /// it since the query read it.
    ///
    /// # Errors
    /// 21000 if the statement has changed the row, 27000 if a trigger or function has.
    fn check_first(
        &mut self,
        merge: &Merge,
        key: &Key,
        old: &[Value<'static>],
        verb: &str,
        changed: &HashSet<Key>,
    ) -> Result<(), Fail> {
        if changed.contains(key) || self.has_changed(&merge.table, key) {
            let message = "MERGE command cannot affect row a second time";
            let hint = "Ensure that not more than one source row matches any one target row.";
            return Err(SqlError::new(state::CARDINALITY_VIOLATION, message).hint(hint).into());
        }
        if merge.rechecks { self.check_same(&merge.table, key, &Input::Values(old), verb) } else { Ok(()) }
    }

    /// Fires the triggers of the whole statement, for each of `kinds` that a clause contains.
    fn fire_for_merge(&mut self, merge: &Merge, time: TriggerTime, kinds: [TriggerEvent; 3]) -> Result<(), Fail> {
        let Some(triggers) = merge.consequences.as_ref().and_then(|graph| Events::new(graph).triggers()) else {
            return Ok(());
        };
        for kind in kinds {
            let of_kind = merge.clauses.iter().filter_map(|clause| match (&clause.action, kind) {
                (MergeAction::Insert(..), TriggerEvent::Insert) | (MergeAction::Delete(_), TriggerEvent::Delete) => {
                    Some(&[][..])
                }
                (MergeAction::Update(update), TriggerEvent::Update) => Some(update.assignments.as_slice()),
                _ => None,
            });
            let of_kind: Vec<_> = of_kind.collect();
            if !of_kind.is_empty() {
                let sets: Vec<(usize, Expr)> = of_kind.concat();
                self.at_statement(triggers, time, kind, &sets)?;
            }
        }
        Ok(())
    }
}
