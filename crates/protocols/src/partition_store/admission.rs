//! The admission of a transaction, in which it takes its partitions.

use super::held::{HeldPartitions, Locks};
use crate::shared::planned::{Admission, Glance, LateLocks, Needs, Partitions, Place, Plan, PlannedRow, Scene};
use crate::shared::range_locks::Counted;
use crate::shared::record;
use hotrow_storage::{Key, RecordRef, Row, Table};
use hotrow_sync::Waiter;
use hotrow_txn::{Abort, Accesses, Statistics};
use smallvec::SmallVec;
use std::time::Duration;

/// The partitions of one transaction: those that its plan touches, and those that it holds.
pub struct StoreAdmission {
    partitions: HeldPartitions,
    /// The numbers of the partitions that the plan touches, in ascending order. The next transaction uses the list
    /// again.
    wanted: SmallVec<[u16; 4]>,
}

impl StoreAdmission {
    pub(super) fn new(locks: &Locks, waiter: Waiter) -> Self {
        Self { partitions: HeldPartitions::new(locks, waiter), wanted: SmallVec::new() }
    }

    /// Finds out which partitions a plan touches.
    #[inline]
    fn find_partitions(&mut self, plan: &Plan<()>) {
        self.wanted.clear();
        plan.visit_partitions(self.partitions.count(), |number| self.wanted.push(number));
        self.wanted.sort_unstable();
        self.wanted.dedup();
    }
}

impl LateLocks for StoreAdmission {
    type Header = ();

    fn add_row(&mut self, _scene: Scene<'_, ()>, plan: &mut Plan<()>, row: PlannedRow<()>) -> bool {
        let added = self.partitions.add(row.partition);
        if added {
            plan.rows.push(row);
        }
        added
    }

    fn add_prefixes(&mut self, _plan: &mut Plan<()>, _locks: &[Counted], place: Place) -> bool {
        let count = self.partitions.count();
        match place {
            // A plan has such a lock from the start, and nothing else has it: to add partitions one by one could fail
            // in the middle.
            Place::Everywhere => (0..count).all(|number| self.partitions.holds(number as u16)),
            place => self.partitions.add(place.number(count)),
        }
    }
}

impl Admission for StoreAdmission {
    #[inline]
    fn needs(&self) -> Needs {
        Needs { records: false, partitions: Partitions::Parts }
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
        self.find_partitions(plan);
        // The locks of partitions stand for those of prefixes. A transaction that links or unlinks an entry asks for
        // the entry's place.
        plan.prefixes.clear();
        self.partitions.take_all(&self.wanted, limit, statistics)
    }

    #[inline]
    fn release(&mut self, _scene: Scene<'_, ()>, plan: &mut Plan<()>, _statistics: &mut Statistics) {
        self.partitions.release_all();
        plan.rows.clear();
    }

    /// Looks at a row while no transaction holds its partition.
    fn glance(&mut self, _scene: Scene<'_, ()>, table: &Table<()>, found: RecordRef<'_, ()>, copy: &mut Row) -> Glance {
        let look = || {
            if !found.is_present() {
                return Glance::Absent;
            }
            copy.copy_from(record::row(found));
            Glance::Present
        };
        self.partitions.glance(table.partition_of(&found.key()) as u16, look).unwrap_or(Glance::Busy)
    }

    #[inline]
    fn reaches(&self, table: &Table<()>, key: &Key) -> bool {
        self.partitions.holds(table.partition_of(key) as u16)
    }
}
