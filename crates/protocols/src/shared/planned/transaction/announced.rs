//! Rows that the transaction is about to insert, whose locks are asked for together.

use super::PlannedTransaction;
use crate::shared::planned::admission::Admission;
use crate::shared::planned::plan::PlannedRow;
use crate::shared::planned::scene::Scene;
use hotrow_txn::{Access, Accesses, Intent};
use smallvec::SmallVec;

impl<A: Admission> PlannedTransaction<A> {
    /// Adds the rows of a set to the plan, with their locks, as far as the locks can be had. Rows that are in the plan
    /// already, and rows of tables that need no locks, are left out.
    pub(super) fn add_announced(&mut self, announced: &Accesses) {
        let needs = self.admission.needs();
        let scene = Scene { database: &self.database, guard: self.participant.guard() };
        let mut rows: SmallVec<[PlannedRow<A::Header>; 16]> = SmallVec::new();
        for Access { table, key, hash, .. } in announced.rows() {
            let Some(table) = scene.table(*table).filter(|table| !table.is_constant()) else { continue };
            let name = Access::name(table.id(), *hash);
            let is_known = self.owned.contains(&table.id())
                || rows.iter().any(|row| row.name == name)
                || self.plan.find(scene, table, (key, name), Intent::Read).is_some();
            if !is_known {
                rows.push(PlannedRow::unfound(table, key, name, Intent::Write, needs));
            }
        }
        self.admission.add_rows(&mut self.plan, &rows);
    }
}
