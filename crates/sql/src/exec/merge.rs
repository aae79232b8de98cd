//! MERGE.
//!
//! A query joins the source with the table, locks the rows of the table that match, and runs to its end before the
//! first row changes. Then each of its rows changes the table by the first clause that fits it.

use super::dml::Inserter;
use super::foreign_key::Events;
use super::{Exec, Fail};
use crate::expr::{Expr, Input};
use crate::parse::trigger::{TriggerEvent, TriggerTime};
use crate::plan::{Merge, MergeAction};
use crate::{SqlError, state};
use hotrow_storage::{Key, Value};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// The state of a clause from row to row.
enum Writer<'p> {
    Nothing,
    /// An INSERT, and the row that it fills.
    Insert(Box<Inserter<'p>>),
    /// The consequences of an UPDATE or DELETE, if it has any.
    Change(Option<Events<'p>>),
}

impl Exec<'_> {
    /// Runs a MERGE. Returns the number of rows that it has inserted, updated and deleted.
    pub(super) fn merge(&mut self, merge: &Merge) -> Result<u64, Fail> {
        self.fire_for_merge(
            merge,
            TriggerTime::Before,
            [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete],
        )?;
        let rows = self.collect_all(&merge.source)?;
        let env = self.env;
        let writer = |action| match action {
            &MergeAction::Nothing => Writer::Nothing,
            MergeAction::Insert(insert, _) => Writer::Insert(Box::new(Inserter::new(insert, env))),
            MergeAction::Update(update) => Writer::Change(update.consequences.as_ref().map(Events::new)),
            MergeAction::Delete(delete) => Writer::Change(delete.consequences.as_ref().map(Events::new)),
        };
        let mut writers: Vec<_> = merge.clauses.iter().map(|clause| writer(&clause.action)).collect();
        let (mut changed, mut count) = (HashSet::new(), 0);
        for row in rows.rows() {
            self.env.check_cancelled()?;
            self.env.memory.check_push(&changed)?;
            count += u64::from(self.merge_row(merge, row, &mut writers, &mut changed)?);
        }
        for writer in writers {
            let events = match writer {
                Writer::Nothing | Writer::Change(None) => None,
                Writer::Insert(inserter) => inserter.into_events(),
                Writer::Change(events) => events,
            };
            events.map_or(Ok(()), |events| self.settle(events))?;
        }
        self.fire_for_merge(
            merge,
            TriggerTime::After,
            [TriggerEvent::Delete, TriggerEvent::Update, TriggerEvent::Insert],
        )?;
        Ok(count)
    }

    /// Does what the first clause says that fits a row of the query. The row has the key of the row of the table, which
    /// is NULL if there is none, and then the columns of the table and of the source.
    fn merge_row(
        &mut self,
        merge: &Merge,
        row: &[Value<'static>],
        writers: &mut [Writer<'_>],
        changed: &mut HashSet<Key>,
    ) -> Result<bool, Fail> {
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
        match (&merge.clauses[at].action, &mut writers[at]) {
            (MergeAction::Insert(insert, values), Writer::Insert(inserter)) => {
                inserter.start()?;
                for (value, &target) in values.iter().zip(&insert.targets) {
                    match value {
                        Some(value) => {
                            let value = value.eval(&self.env, &Input::Values(both))?;
                            inserter.row.change(|row| row.set(target, &value));
                        }
                        None => inserter.set_default(target)?,
                    }
                }
                inserter.write(self, nobody)
            }
            (MergeAction::Update(update), Writer::Change(events)) => {
                let key = key();
                self.check_first(merge, &key, old, "updated", changed)?;
                self.update_row(update, &key, None, Some(Input::Values(of_source)), events.as_mut(), nobody)
            }
            (MergeAction::Delete(delete), Writer::Change(events)) => {
                let key = key();
                self.check_first(merge, &key, old, "deleted", changed)?;
                self.delete_found(delete, &key, None, events.as_mut(), nobody)
            }
            _ => Ok(false),
        }
    }

    /// Checks that a row of the table changes for the first time.
    fn check_first(
        &mut self,
        merge: &Merge,
        key: &Key,
        old: &[Value<'static>],
        verb: &str,
        changed: &mut HashSet<Key>,
    ) -> Result<(), Fail> {
        if !changed.insert(key.clone()) || self.has_changed(&merge.table, key) {
            let message = "MERGE command cannot affect row a second time";
            let hint = "Ensure that not more than one source row matches any one target row.";
            return Err(SqlError::new(state::CARDINALITY_VIOLATION, message).hint(hint).into());
        }
        if merge.rechecks { self.check_same(&merge.table, key, &Input::Values(old), verb) } else { Ok(()) }
    }

    /// Fires the triggers that fire once for the statement, for the kinds of changes that its clauses have.
    fn fire_for_merge(&mut self, merge: &Merge, time: TriggerTime, kinds: [TriggerEvent; 3]) -> Result<(), Fail> {
        for kind in kinds {
            let of_kind = merge.clauses.iter().filter_map(|clause| match (&clause.action, kind) {
                (MergeAction::Insert(insert, _), TriggerEvent::Insert) => Some((&insert.consequences, &[][..])),
                (MergeAction::Update(update), TriggerEvent::Update) => {
                    Some((&update.consequences, update.assignments.as_slice()))
                }
                (MergeAction::Delete(delete), TriggerEvent::Delete) => Some((&delete.consequences, &[][..])),
                _ => None,
            });
            let of_kind: Vec<_> = of_kind.filter_map(|(graph, sets)| Some((graph.as_ref()?, sets))).collect();
            let Some((graph, _)) = of_kind.first() else { continue };
            let Some(triggers) = Events::new(graph).triggers() else { continue };
            let sets: Vec<(usize, Expr)> = of_kind.iter().flat_map(|(_, sets)| sets.iter().cloned()).collect();
            self.at_statement(triggers, time, kind, &sets)?;
        }
        Ok(())
    }
}
