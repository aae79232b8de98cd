//! The admission of transactions under `2pl-atomic`, in which they get their locks.

use super::LockManager;
use super::manager::Ticket;
use crate::shared::planned::{Admission, Glance, LateLocks, Needs, Partitions, Place, Plan, PlannedRow, Scene};
use crate::shared::range_locks::Counted;
use crate::shared::record;
use crate::shared::request_queues::Modes;
use hotrow_storage::{RecordRef, Row, Table};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Abort, Access, Accesses, Statistics};
use std::time::Duration;

/// The admission of one transaction of `2pl-atomic`: it asks the lock manager for all locks of the transaction's plan
/// in one step, and gives them back together.
pub struct AtomicAdmission {
    ticket: Ticket,
}

impl AtomicAdmission {
    pub(super) fn new(manager: &Arc<LockManager>, waiter: Waiter) -> Self {
        Self { ticket: manager.ticket(waiter) }
    }
}

impl LateLocks for AtomicAdmission {
    type Header = ();

    fn add_row(&mut self, _scene: Scene<'_, ()>, plan: &mut Plan<()>, row: PlannedRow<()>) -> bool {
        let free = self.ticket.add(std::iter::once((row.name, row.intent.into())));
        if free {
            plan.rows.push(row);
        }
        free
    }

    fn add_prefixes(&mut self, plan: &mut Plan<()>, locks: &[Counted], _place: Place) -> bool {
        let free = self.ticket.add(locks.iter().map(Modes::of_prefix));
        if free {
            plan.prefixes.append(locks);
        }
        free
    }
}

impl Admission for AtomicAdmission {
    #[inline]
    fn needs(&self) -> Needs {
        Needs { records: false, partitions: Partitions::Unknown }
    }

    #[inline]
    fn admit(
        &mut self,
        _scene: Scene<'_, ()>,
        _accesses: &Accesses,
        plan: &mut Plan<()>,
        limit: Duration,
        statistics: &mut Statistics,
    ) -> Result<(), Abort> {
        let rows = plan.rows.iter().map(|row| (row.name, row.intent.into()));
        let prefixes = plan.prefixes.counted();
        self.ticket.acquire(rows.chain(prefixes.iter().map(Modes::of_prefix)), limit, statistics)?;
        statistics.locks += (plan.rows.len() + prefixes.len()) as u64;
        Ok(())
    }

    #[inline]
    fn release(&mut self, _scene: Scene<'_, ()>, plan: &mut Plan<()>, _statistics: &mut Statistics) {
        self.ticket.release();
        plan.rows.clear();
        plan.prefixes.clear();
    }

    /// Looks at a row without a lock on it: while the latch of the queues is held and no transaction has locked the row
    /// exclusively, the row is as it was committed.
    fn glance(&mut self, _scene: Scene<'_, ()>, table: &Table<()>, found: RecordRef<'_, ()>, copy: &mut Row) -> Glance {
        let name = Access::name(table.id(), found.key().hash64());
        let look = || {
            if !found.is_present() {
                return Glance::Absent;
            }
            copy.copy_from(record::row(found));
            Glance::Present
        };
        self.ticket.glance(name, look).unwrap_or(Glance::Busy)
    }
}
