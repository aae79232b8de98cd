//! Tables of versions.

use super::draft::Draft;
use super::format::{VersionFormat, VersionHeader};
use super::index::VersionIndex;
use super::memory::{self, VersionMemory, VersionSlots};
use super::version::{VersionPtr, VersionRef};
use crate::epoch::{Collector, Garbage, Guard};
use crate::striped::Striped;
use crate::{
    Duplicate, IndexData, IndexId, IndexRef, Key, KeySpec, RowLayout, RowMut, RowRef, StoredTable, TableId,
    TableMemory, TableSchema,
};
use hotrow_sync::atomic::AtomicU64;
use hotrow_sync::{Arc, Mutex};
use std::fmt;
use std::ops::ControlFlow;

/// A table whose rows are versions with headers of type `H`. All threads share it.
///
/// It finds versions, links them and unlinks them; it never decides which transactions see them.
pub struct VersionTable<H: VersionHeader> {
    id: TableId,
    schema: Arc<TableSchema>,
    slots: Arc<VersionSlots>,
    collector: Arc<Collector>,
    indexes: Vec<VersionIndex<H>>,
    /// The position of the first secondary index, which depends on whether there is an ordered index on the primary
    /// key.
    secondary_at: usize,
    rows: Striped,
    born: AtomicU64,
    /// Held while a row is loaded into a table with unique secondary indexes, whose check and link are two steps.
    unique_load: Mutex<()>,
}

impl<H: VersionHeader> VersionTable<H> {
    /// Returns the table's number.
    #[inline]
    pub fn id(&self) -> TableId {
        self.id
    }

    /// Returns the format of the table's versions.
    #[inline]
    pub fn format(&self) -> &VersionFormat {
        &self.slots.format
    }

    /// Returns the rule that makes primary keys.
    pub fn key_spec(&self) -> &KeySpec {
        self.primary().key_spec()
    }

    /// Returns the primary key of a row.
    pub fn key_of(&self, row: RowRef<'_>) -> Key {
        self.primary().key_of(row)
    }

    /// Returns the bytes that versions take from the system, without indexes.
    pub fn version_bytes(&self) -> usize {
        self.slots.allocated_bytes()
    }

    /// Returns a word for the protocol's use, zero at first: the time of the protocol's clock at which the table was
    /// made.
    pub fn born(&self) -> &AtomicU64 {
        &self.born
    }

    /// Returns the hash index on the primary key.
    #[inline]
    pub fn primary(&self) -> &VersionIndex<H> {
        &self.indexes[0]
    }

    /// Returns the index that a scan of `scan` follows: for the primary key, the ordered index if there is one, and
    /// otherwise the hash index.
    ///
    /// # Panics
    /// If there is no such index.
    #[inline]
    pub fn index_of(&self, scan: IndexRef) -> &VersionIndex<H> {
        match scan {
            IndexRef::Primary => &self.indexes[self.secondary_at - 1],
            IndexRef::Secondary(index) => &self.indexes[self.secondary_at + usize::from(index.0)],
        }
    }

    /// Returns all indexes in the order of their positions: the hash index on the primary key, the ordered one if there
    /// is one, and the secondary ones.
    #[inline]
    pub fn indexes(&self) -> &[VersionIndex<H>] {
        &self.indexes
    }

    /// Makes a new version that holds a copy of `row`. No other thread can reach it until it is published and linked.
    #[inline]
    pub fn draft<'t>(&'t self, memory: &mut VersionMemory, header: H, row: RowRef<'_>) -> Draft<'t, H> {
        Draft::new(&self.slots, Some(memory), header, row)
    }

    /// Makes a new version of a row: a copy of `old` to which `change` is applied. Returns the version and the result
    /// of `change`.
    ///
    /// # Errors
    /// The error of `change`; the version is freed then.
    #[inline]
    pub fn draft_of<'t, R, E>(
        &'t self,
        memory: &mut VersionMemory,
        header: H,
        old: RowRef<'_>,
        change: impl FnOnce(&mut RowMut<'_>) -> Result<R, E>,
    ) -> Result<(Draft<'t, H>, R), E> {
        Draft::changed(&self.slots, memory, header, old, change)
    }

    /// Links a version into the index at `index`. `near` is a version with the same key that was linked there in the
    /// guard's epoch. An ordered index finds the key through `near`, without a search, unless `near` was unlinked
    /// meanwhile.
    #[inline]
    pub fn link(&self, guard: Guard<'_>, index: usize, version: VersionRef<'_, H>, near: Option<VersionRef<'_, H>>) {
        self.check(version);
        self.indexes[index].link(guard, version, near);
    }

    /// Unlinks a version from the first `linked` indexes for good. Searches that begin afterwards do not find it, so
    /// the caller may retire it. Other memory that becomes garbage is appended to `garbage`, for the caller to retire.
    pub fn unlink(&self, guard: Guard<'_>, version: VersionRef<'_, H>, linked: usize, garbage: &mut Vec<Garbage>) {
        self.check(version);
        garbage.extend(self.indexes[..linked].iter().rev().filter_map(|index| index.unlink(guard, version)));
    }

    /// Unlinks versions from all indexes, as [`unlink`](Self::unlink) does. It prefetches the memory of all these
    /// versions and of their neighbours together, because versions that a transaction could read for a long time have
    /// left the caches.
    pub fn unlink_all(&self, guard: Guard<'_>, versions: &[VersionRef<'_, H>], garbage: &mut Vec<Garbage>) {
        versions.iter().for_each(|version| self.slots.format.prefetch(version.ptr().start().addr().get()));
        let mut hashes = Vec::with_capacity(versions.len());
        for index in self.indexes.iter().filter(|index| !index.is_ordered()) {
            hashes.clear();
            hashes.extend(versions.iter().map(|version| index.columns_of(version.row()).hash64()));
            hashes.iter().for_each(|&hash| index.prefetch_slot(hash));
            hashes.iter().for_each(|&hash| index.prefetch_target(guard, hash));
            hashes.iter().for_each(|&hash| index.prefetch_next(guard, hash));
        }
        versions.iter().for_each(|&version| self.unlink(guard, version, self.indexes.len(), garbage));
    }

    /// Turns versions into one piece of garbage, which the caller must retire.
    ///
    /// # Safety
    /// The versions belong to this table, are unlinked from every index into which they were linked, and are handed
    /// over once.
    pub unsafe fn garbage(&self, versions: Vec<VersionPtr<H>>) -> Garbage {
        // SAFETY: the caller keeps the contract.
        unsafe { memory::garbage(&self.slots, versions) }
    }

    /// Adds `delta` to the table's number of rows. The protocol calls this at a commit that inserts or deletes rows.
    #[inline]
    pub fn count_rows(&self, delta: i64) {
        self.rows.add(delta);
    }

    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn weak_slots(&self) -> std::sync::Weak<VersionSlots> {
        Arc::downgrade(&self.slots)
    }

    fn check(&self, version: VersionRef<'_, H>) {
        debug_assert!(std::ptr::eq(version.format(), &self.slots.format), "a version of another table");
    }

    /// Links a row's version into all indexes, until one refuses it. The error holds the number of indexes into which
    /// the version is linked, and the refusal.
    fn try_load(&self, guard: Guard<'_>, version: VersionRef<'_, H>) -> Result<(), (usize, Duplicate)> {
        for (position, index) in self.indexes.iter().enumerate() {
            let columns = index.columns_of(version.row());
            let hash = columns.hash64();
            // If two threads load the same primary key, the later one finds the other's version behind its own.
            if position > 0 && index.excludes(version.row()) && index.equal(guard, &columns, hash).next().is_some() {
                return Err((position, Duplicate(index.reference())));
            }
            self.link(guard, position, version, None);
            if position == 0 && index.behind(guard, version, &columns, hash).next().is_some() {
                return Err((1, Duplicate(IndexRef::Primary)));
            }
        }
        Ok(())
    }
}

impl<H: VersionHeader> StoredTable for VersionTable<H> {
    fn new(id: TableId, schema: TableSchema, collector: &Arc<Collector>, _parts: usize) -> Self {
        let layout = Arc::new(RowLayout::new(&schema.columns));
        let secondary_at = if schema.ordered { 2 } else { 1 };
        let format = VersionFormat::new::<H>(layout, secondary_at + schema.indexes.len());
        let slots = Arc::new(VersionSlots::new(format));
        let mut indexes = vec![VersionIndex::primary(&schema, &slots, 0)];
        if schema.ordered {
            indexes.push(VersionIndex::ordered_primary(&schema, &slots, 1, collector));
        }
        for number in 0..schema.indexes.len() {
            let (index, position) = (IndexId(number as u16), secondary_at + number);
            indexes.push(VersionIndex::secondary(&schema, index, &slots, position, collector));
        }
        Self {
            id,
            schema: Arc::new(schema),
            slots,
            collector: collector.clone(),
            indexes,
            secondary_at,
            rows: Striped::new(),
            born: AtomicU64::new(0),
            unique_load: Mutex::new(()),
        }
    }

    fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    fn layout(&self) -> &Arc<RowLayout> {
        self.slots.format.layout()
    }

    fn row_count(&self) -> u64 {
        self.rows.sum()
    }

    fn spare_bytes(&self) -> usize {
        self.slots.spare_bytes()
    }

    /// Returns the bytes of the table by purpose. The variable parts of rows are assumed to be as large on average as
    /// those of all versions.
    fn memory(&self, guard: Guard<'_>) -> TableMemory {
        let (rows, versions) = (self.row_count(), self.primary().len());
        let variable = u128::from(self.slots.variable_bytes(versions)) * u128::from(rows) / u128::from(versions.max(1));
        TableMemory {
            rows,
            payload: rows * self.layout().fixed_size() as u64 + variable as u64,
            records: self.version_bytes() as u64,
            indexes: self.indexes.iter().map(|index| index.bytes(guard)).sum::<usize>() as u64,
            locks: self.indexes.iter().map(|index| index.data().bytes()).sum::<usize>() as u64,
        }
    }

    fn load_rows(&self, guard: Guard<'_>, rows: &[RowRef<'_>]) -> Result<(), (usize, Duplicate)> {
        let unique = self.indexes[self.secondary_at..].iter().any(VersionIndex::is_exclusive);
        let _alone = unique.then(|| self.unique_load.lock().unwrap_or_else(|poison| poison.into_inner()));
        let load =
            |(number, row): (usize, &RowRef<'_>)| self.load_row(guard, *row).map_err(|duplicate| (number, duplicate));
        let loaded = rows.iter().enumerate().try_for_each(load);
        let count = loaded.map_or_else(|(count, _)| count, |()| rows.len());
        self.count_rows(count as i64);
        loaded
    }
}

impl<H: VersionHeader> VersionTable<H> {
    /// Inserts one loaded row. If a unique index has the row's key already, removes the row again and returns the
    /// index.
    fn load_row(&self, guard: Guard<'_>, row: RowRef<'_>) -> Result<(), Duplicate> {
        let version = Draft::new(&self.slots, None, H::loaded(), row).publish(guard);
        if let Err((linked, duplicate)) = self.try_load(guard, version) {
            let mut garbage = Vec::new();
            self.unlink(guard, version, linked, &mut garbage);
            // SAFETY: the version belongs to this table, and was just unlinked from every index into which it was
            // linked.
            garbage.push(unsafe { self.garbage(vec![version.ptr()]) });
            garbage.into_iter().for_each(|garbage| self.collector.defer(garbage));
            return Err(duplicate);
        }
        Ok(())
    }
}

impl<H: VersionHeader> Drop for VersionTable<H> {
    /// Versions that are slots are freed with the table's memory; the others, and what the indexes have on the heap,
    /// are freed here.
    fn drop(&mut self) {
        let collector = Collector::new();
        let mut participant = collector.participant();
        participant.enter();
        let guard = participant.guard();
        if self.slots.format.length_at().is_some() {
            let mut versions = Vec::new();
            self.primary().all(guard, |version| {
                versions.push(version.ptr().start());
                ControlFlow::Continue(())
            });
            // SAFETY: the table is being dropped: no other thread can reach its versions, and linked versions are not
            // freed yet.
            unsafe { self.slots.free(versions.into_iter()) };
        }
        self.indexes.iter().for_each(|index| index.free(guard));
    }
}

impl<H: VersionHeader> fmt::Debug for VersionTable<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VersionTable").field("id", &self.id).field("name", &self.schema.name).finish_non_exhaustive()
    }
}
