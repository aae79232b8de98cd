//! Reads that lock no row, or one row at a time: those of a reconnaissance, and of a transaction that only reads at
//! read committed.

use super::PlannedTransaction;
use crate::shared::planned::admission::{Admission, Glance};
use crate::shared::planned::plan::Plan;
use crate::shared::planned::scene::Scene;
use crate::shared::walk::{self, Step};
use crate::shared::{record, table};
use hotrow_storage::{IndexRef, Key, RecordRef, Row, RowRef, Table, TableId};
use hotrow_txn::{Abort, Accesses, Intent, Scan, Statistics};
use std::ops::ControlFlow;
use std::time::Duration;

impl<A: Admission> PlannedTransaction<A> {
    /// Returns the row with this key as it was committed last, or `None` if it is absent.
    pub(super) fn glance_at(&mut self, id: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.pass_again()?;
        let (guard, limit) = (self.participant.guard(), self.waits.limit());
        let table = table(&self.database, guard, id)?;
        let Some(record) = table.find(guard, key, key.hash64()) else { return Ok(None) };
        let (database, copy) = (&self.database, &mut self.copies.glanced);
        let scene = Scene { database, guard };
        let glancer = &mut Glancer {
            scene,
            admission: &mut self.admission,
            plan: &mut self.plan,
            limit,
            statistics: &mut self.statistics,
        };
        glancer.copy(table, record, copy)
    }

    /// Scans a range, locking at most one row at a time.
    pub(super) fn glance_along(
        &mut self,
        scan: &Scan,
        visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        self.pass_again()?;
        let scene = Scene { database: &self.database, guard: self.participant.guard() };
        let table = table(&self.database, scene.guard, scan.table)?;
        let limit = self.waits.limit();
        let copy = &mut self.copies.glanced;
        let mut glancer = Glancer {
            scene,
            admission: &mut self.admission,
            plan: &mut self.plan,
            limit,
            statistics: &mut self.statistics,
        };
        let mut outcome = Ok(());
        walk::along(table, scene.guard, scan, &mut |step: &Step<'_, A::Header>| {
            let row = match glancer.copy(table, step.record, copy) {
                Ok(Some(row)) => row,
                Ok(None) => return ControlFlow::Continue(()),
                Err(abort) => {
                    outcome = Err(abort);
                    return ControlFlow::Break(());
                }
            };
            let current = match (step.entry, scan.index) {
                (Some(entry), IndexRef::Secondary(index)) => {
                    entry.has_columns(&table.secondary_index(index).key_of(row))
                }
                _ => true,
            };
            if current { visit(row) } else { ControlFlow::Continue(()) }
        })?;
        outcome
    }

    /// Passes the gate again, if the transaction has left it since it began. A transaction that reads keeps those out
    /// that want to be alone.
    #[inline]
    fn pass_again(&mut self) -> Result<(), Abort> {
        if self.pass.is_inside() {
            return Ok(());
        }
        self.participant.leave();
        let limit = self.waits.limit();
        let passed = self.pass.enter(true, Some(limit), &mut self.statistics);
        self.participant.enter();
        passed
    }
}

/// Copies rows as they were committed last, one at a time.
struct Glancer<'t, A: Admission> {
    scene: Scene<'t, A::Header>,
    admission: &'t mut A,
    /// The plan that locks rows. It is empty, but for the row that is being copied.
    plan: &'t mut Plan<A::Header>,
    limit: Duration,
    statistics: &'t mut Statistics,
}

impl<A: Admission> Glancer<'_, A> {
    /// Copies the row of a record that was found, and returns the copy if the row is there.
    fn copy<'c>(
        &mut self,
        table: &Table<A::Header>,
        record: RecordRef<'_, A::Header>,
        copy: &'c mut Option<(TableId, Row)>,
    ) -> Result<Option<RowRef<'c>>, Abort> {
        let (id, row) = copy.get_or_insert_with(|| (table.id(), Row::new(table.layout())));
        if *id != table.id() {
            (*id, *row) = (table.id(), Row::new(table.layout()));
        }
        if table.is_constant() {
            row.copy_from(record::row(record));
            return Ok(record.is_present().then(|| row.as_ref()));
        }
        let present = match self.admission.glance(self.scene, table, record, row) {
            Glance::Present => true,
            Glance::Absent => false,
            Glance::Busy => self.copy_locked(table, &record.key(), row)?,
        };
        Ok(present.then(|| row.as_ref()))
    }

    /// Locks the row with this key while it is copied. Returns whether the row is there.
    #[cold]
    fn copy_locked(&mut self, table: &Table<A::Header>, key: &Key, copy: &mut Row) -> Result<bool, Abort> {
        let mut accesses = Accesses::new();
        accesses.push(table.id(), key.clone(), Intent::Read);
        // One row is not too large.
        let _ = self.plan.resolve(self.scene, &accesses, self.admission.needs());
        let admitted = self.admission.admit(self.scene, &accesses, self.plan, self.limit, self.statistics);
        if admitted.is_ok() {
            let found = table.find(self.scene.guard, key, key.hash64()).filter(|record| record.is_present());
            if let Some(record) = found {
                copy.copy_from(record::row(record));
            }
            self.admission.release(self.scene, self.plan, self.statistics);
            self.plan.unlink_unused(self.scene);
            return Ok(found.is_some());
        }
        self.plan.unlink_unused(self.scene);
        admitted.map(|()| false)
    }
}
