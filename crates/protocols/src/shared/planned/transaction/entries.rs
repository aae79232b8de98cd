//! The locks of index entries that come or go, and of records that are made for new rows.

use crate::shared::in_place::IndexLocks;
use crate::shared::planned::admission::Admission;
use crate::shared::planned::plan::{Place, Plan, PlannedRow};
use crate::shared::planned::prefixes;
use crate::shared::planned::scene::Scene;
use crate::shared::range_locks::PrefixLocks;
use hotrow_storage::{Guard, IndexId, IndexRef, Key, RecordRef, Table, TableId};
use hotrow_txn::Abort;

/// The tables that the caller keeps all other transactions off.
#[derive(Clone, Copy)]
pub(super) struct Owned<'t> {
    pub(super) alone: bool,
    pub(super) tables: &'t [TableId],
}

impl Owned<'_> {
    pub(super) fn owns(self, id: TableId) -> bool {
        self.alone || self.tables.contains(&id)
    }
}

/// The index locks of a write. Entries that come or go need prefix locks, which are in the plan, or are added late. If
/// a lock cannot be had, the call fails with [`Abort::Conflict`].
pub(super) struct EntryLocks<'t, A: Admission> {
    pub(super) scene: Scene<'t, A::Header>,
    pub(super) admission: &'t mut A,
    pub(super) plan: &'t mut Plan<A::Header>,
    pub(super) owned: Owned<'t>,
    /// The place of the row whose entries these are.
    pub(super) row: Place,
    /// The row that is inserted, if its record is to be locked when it is made.
    pub(super) made: Option<PlannedRow<A::Header>>,
}

impl<A: Admission> EntryLocks<'_, A> {
    pub(super) fn set_row(&mut self, table: &Table<A::Header>, key: &Key) {
        let needs = self.admission.needs();
        if needs.has_partitions() {
            self.row = Place::Partition(needs.partition_of(table, key));
        }
    }

    pub(super) fn lock(
        &mut self,
        table: &Table<A::Header>,
        index: IndexRef,
        key: &Key,
        place: Place,
    ) -> Result<(), Abort> {
        if self.owned.owns(table.id()) {
            return Ok(());
        }
        let id = table.id();
        if self.plan.holds_entry(id, index, key) || prefixes::holds_entry(&mut self.plan.prefixes, id, index, key) {
            return Ok(());
        }
        let mut locks = PrefixLocks::default();
        prefixes::push_entry(&mut locks, table.id(), index, key);
        match self.admission.add_prefixes(self.plan, locks.counted(), place) {
            true => Ok(()),
            false => Err(Abort::Conflict),
        }
    }
}

impl<A: Admission> IndexLocks<A::Header> for EntryLocks<'_, A> {
    #[inline]
    fn makes(&self) -> bool {
        self.made.is_some()
    }

    #[inline]
    fn linking(&mut self, _: &Table<A::Header>, record: RecordRef<'_, A::Header>) -> bool {
        let Some(row) = &mut self.made else { return false };
        row.record = Some(record.ptr());
        self.admission.lock_made(self.scene, record, row);
        true
    }

    #[inline]
    fn linked(&mut self, _: RecordRef<'_, A::Header>) {
        if let Some(row) = self.made.take() {
            self.admission.add_made(self.plan, row);
        }
    }

    /// Returns the error of an insert that another transaction has outrun: it has asked for the absent row meanwhile.
    /// If the row is in the plan, it is a mistake of this code.
    fn outrun(&mut self) -> Abort {
        assert!(self.made.is_some(), "the key is locked, so nobody else links it");
        Abort::Conflict
    }

    fn entering(&mut self, table: &Table<A::Header>, _: Guard<'_>, index: IndexRef, key: &Key) -> Result<(), Abort> {
        self.lock(table, index, key, self.row)
    }

    fn entered(&mut self, _: &Table<A::Header>, _: Guard<'_>, _: IndexRef, _: &Key) -> Result<(), Abort> {
        Ok(())
    }

    fn leaving(&mut self, table: &Table<A::Header>, index: IndexRef, key: &Key) -> Result<(), Abort> {
        self.lock(table, index, key, self.row)
    }

    fn unique(&mut self, table: &Table<A::Header>, index: IndexId, columns: &Key) -> Result<(), Abort> {
        let index = IndexRef::Secondary(index);
        let is_spread = self.admission.needs().has_partitions() && !table.begins_with_partition_key(index);
        let place = if is_spread { Place::Hashed(columns.hash64()) } else { self.row };
        self.lock(table, index, columns, place)
    }
}
