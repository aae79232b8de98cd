//! Reads of a transaction whose rows were [copied](super::super::copies) all at once.

use super::PlannedTransaction;
use crate::shared::planned::admission::Admission;
use crate::shared::planned::scene::Scene;
use crate::shared::{record, table};
use hotrow_storage::{Key, RowRef, TableId};
use hotrow_txn::{Abort, Access, Intent};

impl<A: Admission> PlannedTransaction<A> {
    /// Copies all rows of the plan at one moment, if no transaction may be writing them. Returns whether they were
    /// copied.
    pub(super) fn copy_everything(&mut self) -> bool {
        let scene = Scene { database: &self.database, guard: self.participant.guard() };
        self.admission.copy_rows(scene, &mut self.plan, &mut self.copies)
    }

    /// Returns the copy of a row, or `None` if the row was absent. A row of a constant table needs no copy.
    pub(super) fn find_copy(&mut self, id: TableId, key: &Key, intent: Intent) -> Result<Option<RowRef<'_>>, Abort> {
        let name = Access::name(id, key.hash64());
        let next = self.plan.next_if(|row| row.table == id && row.name == name);
        let is_it = |&position: &usize| self.copies.is_of(position, id, key);
        match next.filter(is_it).or_else(|| (0..self.plan.rows.len()).find(is_it)) {
            Some(position) if intent == Intent::Read => Ok(self.copies.row(position)),
            _ => {
                let table = table(&self.database, self.participant.guard(), id)?;
                if table.is_constant() {
                    let found = table.find(self.participant.guard(), key, key.hash64());
                    return Ok(found.filter(|record| record.is_present()).map(record::row));
                }
                self.missing.push(id, key.clone(), intent);
                Err(Abort::OutsidePlan)
            }
        }
    }
}
