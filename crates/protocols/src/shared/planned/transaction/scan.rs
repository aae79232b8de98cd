//! Scans of ranges that are locked.

use super::{PlannedTransaction, add_row};
use crate::shared::gaps::is_ordered;
use crate::shared::planned::admission::Admission;
use crate::shared::planned::plan::{Plan, Reach};
use crate::shared::planned::scene::Scene;
use crate::shared::walk::{self, Step};
use crate::shared::{record, table};
use hotrow_storage::{Key, RecordRef, RowRef, Table};
use hotrow_txn::{Abort, Access, Direction, Intent, Scan};
use std::ops::ControlFlow;

impl<A: Admission> PlannedTransaction<A> {
    /// Scans a range that is locked, or in a table that is constant or in which the transaction is alone. Fails with
    /// [`Abort::Conflict`] if the scan leaves what is locked. `left_at` is then the first key beyond that, if the scan
    /// was to break off there.
    pub(super) fn scan_locked(
        &mut self,
        scan: &Scan,
        intent: Intent,
        left_at: &mut Option<Key>,
        visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        let scene = Scene { database: &self.database, guard: self.participant.guard() };
        let table = table(&self.database, scene.guard, scan.table)?;
        let owned = table.is_constant() || self.owns(scan.table);
        let (plan, admission) = (&mut self.plan, &mut self.admission);
        let planned = if owned { Some(Reach::Whole) } else { plan.reach_of(scan, is_ordered(table, scan.index)) };
        let planned = planned.ok_or(Abort::Conflict)?;
        let backward = scan.direction == Direction::Backward;
        // The outcome of a walk to the end of a range that is locked in part.
        let mut outcome = if matches!(planned, Reach::Whole) { Ok(()) } else { Err(Abort::Conflict) };
        walk::along(table, scene.guard, scan, &mut |step: &Step<'_, A::Header>| {
            if planned.is_past(step, backward) {
                // A scan that goes on a second time is taken to go on to the end.
                *left_at = matches!(planned, Reach::Part(_, 1)).then(|| step.key());
                outcome = Err(Abort::Conflict);
                return ControlFlow::Break(());
            }
            if !step.record.is_present() {
                return ControlFlow::Continue(());
            }
            if !owned && !hold(admission, scene, plan, table, step.record, intent) {
                outcome = Err(Abort::Conflict);
                return ControlFlow::Break(());
            }
            if !step.is_current(table, scan.index) {
                return ControlFlow::Continue(());
            }
            let flow = visit(record::row(step.record));
            if flow.is_break() {
                outcome = Ok(());
            }
            flow
        })?;
        outcome
    }
}

/// Whether the plan has the row that a scan came to, or the row could be added to it.
fn hold<A: Admission>(
    admission: &mut A,
    scene: Scene<'_, A::Header>,
    plan: &mut Plan<A::Header>,
    table: &Table<A::Header>,
    record: RecordRef<'_, A::Header>,
    intent: Intent,
) -> bool {
    if plan.is_next_in_range(record.ptr(), intent) {
        return true;
    }
    let key = record.key();
    let name = Access::name(table.id(), key.hash64());
    if plan.find(scene, table, (&key, name), intent).is_some() || admission.reaches(table, &key) {
        return true;
    }
    let read = plan.find(scene, table, (&key, name), Intent::Read).is_some();
    !read && add_row(admission, scene, plan, table, &key, intent)
}
