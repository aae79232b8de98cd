//! UPDATE … FROM, DELETE … USING, and both with subqueries. A query finds the rows to change, and the values that the
//! changes need.
//!
//! The query locks the rows to be changed, and reads their values under the lock. It runs to its end before the first
//! row changes, because it may read the table that changes. If it finds a row several times, the row changes once, by
//! the first of these results.

use super::foreign_key::Events;
use super::{Exec, Fail, Sink};
use crate::catalog::Table;
use crate::expr::{Input, unseen};
use crate::plan::{Delete, Node, Update};
use hotrow_storage::{Key, Value};
use std::collections::HashSet;

impl Exec<'_> {
    pub(super) fn update_from(
        &mut self,
        update: &Update,
        source: &Node,
        mut events: Option<&mut Events<'_>>,
        sink: Sink<'_>,
    ) -> Result<u64, Fail> {
        let rows = self.collect_all(source)?;
        let (mut changed, mut count) = (HashSet::new(), 0);
        for row in rows.rows() {
            self.env.check_cancelled()?;
            self.env.memory.check_push(&changed)?;
            let (key, beside) = split(&update.access.table, row);
            if changed.insert(key.clone()) && !self.has_changed(&update.access.table, &key) {
                if update.rechecks {
                    let table = &update.access.table;
                    self.check_same(table, &key, &seen(table, beside), "updated")?;
                }
                let (beside, events) = (Some(Input::Values(beside)), events.as_deref_mut());
                count += u64::from(self.update_row(update, &key, None, beside, events, sink)?);
            }
        }
        Ok(count)
    }

    pub(super) fn delete_using(
        &mut self,
        delete: &Delete,
        source: &Node,
        mut events: Option<&mut Events<'_>>,
        sink: Sink<'_>,
    ) -> Result<u64, Fail> {
        let rows = self.collect_all(source)?;
        let (mut deleted, mut count) = (HashSet::new(), 0);
        for row in rows.rows() {
            self.env.check_cancelled()?;
            let (key, beside) = split(&delete.access.table, row);
            if deleted.insert(key.clone()) && !self.has_changed(&delete.access.table, &key) {
                if delete.rechecks {
                    let table = &delete.access.table;
                    self.check_same(table, &key, &seen(table, beside), "deleted")?;
                }
                let (beside, events) = (Some(Input::Values(beside)), events.as_deref_mut());
                count += u64::from(self.delete_found(delete, &key, beside, events, sink)?);
            }
        }
        Ok(count)
    }
}

impl Exec<'_> {
    /// Whether a part of the statement has already inserted, updated or deleted a row. Always false unless the
    /// statement's WITH changes rows.
    pub(super) fn has_changed(&self, table: &Table, key: &Key) -> bool {
        unseen(&self.env).is_some_and(|unseen| unseen.has_changed(table.id, key))
    }

    /// Records that the statement has updated or deleted a row, for its other parts.
    pub(super) fn altered(&self, table: &Table, key: &Key) {
        if let Some(unseen) = unseen(&self.env) {
            unseen.alter(table.id, key.clone());
        }
    }
}

/// Returns the row to change as the query read it. Its columns are the last values of the query's row.
fn seen<'r>(table: &Table, beside: &'r [Value<'static>]) -> Input<'r> {
    Input::Values(&beside[beside.len() - table.schema.columns.len()..])
}

/// Splits a row of the query into the key of the row to change, which comes first, and the other values.
fn split<'r>(table: &Table, row: &'r [Value<'static>]) -> (Key, &'r [Value<'static>]) {
    let (key, beside) = row.split_at(table.schema.key.len());
    (table.key.key(key.iter().map(Value::borrowed)), beside)
}
