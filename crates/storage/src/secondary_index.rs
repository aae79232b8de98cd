//! Secondary indexes, whose entries lead from columns to records.

use crate::epoch::{Collector, Garbage, Guard};
use crate::hash_index::HashIndex;
use crate::ordered_index::OrderedIndex;
use crate::record::RecordPtr;
use crate::{IndexKind, IndexSchema, Key, KeyBuilder, KeySpec, RecordHeader, RowRef, TableSchema};
use hotrow_sync::Arc;
use hotrow_sync::atomic::{AtomicBool, Ordering};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, ControlFlow};

/// A secondary index of a table, whose entries lead from columns to records.
///
/// An entry may be stale (its record's row has other columns now, or is gone) or early (its transaction has not
/// committed). So a transaction that follows it locks the record and checks.
pub struct SecondaryIndex<H> {
    schema: IndexSchema,
    key: KeySpec,
    /// Whether the columns include all columns of the primary key: then no two rows have the same columns.
    has_primary_key: bool,
    links: Links,
    marker: PhantomData<fn() -> H>,
}

enum Links {
    Hash(Box<HashIndex>),
    /// The entries' keys are the columns, followed by the primary key if the columns do not include it, so that entries
    /// with equal columns differ.
    Ordered(OrderedIndex),
}

struct Entry<H> {
    /// The key under which the entry stands in its index: the columns, and then the primary key if an ordered index
    /// needs it.
    full: Key,
    record: RecordPtr<H>,
    /// The number of bytes at the beginning of `full` that hold the columns.
    columns_len: u32,
    committed: AtomicBool,
}

impl<H> Entry<H> {
    /// Whether the index's columns have the values of the key `columns`.
    #[inline]
    fn has_columns(&self, columns: &Key) -> bool {
        self.full.bytes().map(|full| &full[..self.columns_len as usize]) == columns.bytes()
    }
}

/// An entry of a secondary index that stays allocated for `'g`.
pub struct EntryRef<'g, H>(&'g Entry<H>);

impl<H> Clone for EntryRef<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for EntryRef<'_, H> {}

impl<'g, H: RecordHeader> EntryRef<'g, H> {
    /// Whether the index's columns have the values of the key `columns`, which does not include the primary key unless
    /// the columns do.
    #[inline]
    pub fn has_columns(&self, columns: &Key) -> bool {
        self.0.has_columns(columns)
    }

    /// Returns the entry's whole key in its index: see [`SecondaryIndex::full_key`].
    pub fn full_key(&self) -> &'g Key {
        &self.0.full
    }

    /// Returns the address of the record that the entry leads to.
    pub fn record(&self) -> RecordPtr<H> {
        self.0.record
    }

    /// Whether the transaction that linked the entry has committed.
    pub fn is_committed(&self) -> bool {
        self.0.committed.load(Ordering::Acquire)
    }

    /// Marks the transaction that linked the entry as committed.
    pub fn set_committed(&self) {
        self.0.committed.store(true, Ordering::Release);
    }

    /// Returns the entry's address.
    pub fn ptr(&self) -> EntryPtr {
        EntryPtr(std::ptr::from_ref(self.0) as usize)
    }
}

/// The address of an entry, for places that cannot hold a borrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryPtr(usize);

impl<H: RecordHeader> SecondaryIndex<H> {
    pub(crate) fn new(schema: &IndexSchema, table: &TableSchema, collector: &Arc<Collector>) -> Self {
        let key = KeySpec::bytes(&table.columns, &schema.columns);
        let primary = KeySpec::new(&table.columns, &table.key);
        let has_primary_key = key.includes(&primary);
        let shape = if has_primary_key { key.shape() } else { key.shape().followed_by(primary.shape()) };
        let links = match schema.kind {
            IndexKind::Hash => Links::Hash(Box::new(HashIndex::new(collector, 0))),
            IndexKind::Ordered => Links::Ordered(OrderedIndex::new(collector, shape)),
        };
        Self { schema: schema.clone(), key, has_primary_key, links, marker: PhantomData }
    }

    /// Returns the definition of the index.
    pub fn schema(&self) -> &IndexSchema {
        &self.schema
    }

    /// Returns the rule that makes keys of the index's columns. These keys are always byte strings.
    pub fn key_spec(&self) -> &KeySpec {
        &self.key
    }

    /// Returns the key that a row's values in the index's columns make. It does not include the primary key, unless the
    /// columns do.
    pub fn key_of(&self, row: RowRef<'_>) -> Key {
        self.key.key_of(row)
    }

    /// Whether two rows have the same bytes in the index's columns, and so the same key.
    pub fn has_same_columns(&self, row: RowRef<'_>, other: RowRef<'_>) -> bool {
        self.key.parts().iter().all(|part| row.has_same(part.column, &other))
    }

    /// Whether this index must refuse a second row with this row's values in the index's columns, although the primary
    /// key admits it: the index is unique, none of the values is NULL, and the columns do not include the primary key.
    pub fn excludes(&self, row: RowRef<'_>) -> bool {
        self.is_exclusive() && !self.key.parts().iter().any(|part| row.is_null(part.column))
    }

    /// Whether this index may have to refuse rows that the primary key admits: it is unique, and its columns do not
    /// include the primary key.
    pub fn is_exclusive(&self) -> bool {
        self.schema.unique && !self.has_primary_key
    }

    /// Returns the whole key of the entry that leads from `columns` to a record with the primary key `key`. In an
    /// ordered index it is the columns followed by the primary key. In a hash index, or if the columns include the
    /// primary key, it is the columns alone.
    pub fn full_key(&self, columns: &Key, key: &Key) -> Key {
        match self.links {
            Links::Hash(_) => columns.clone(),
            Links::Ordered(_) if self.has_primary_key => columns.clone(),
            Links::Ordered(_) => {
                let mut builder = KeyBuilder::default();
                builder.push_key(columns);
                builder.push_key(key);
                builder.finish()
            }
        }
    }

    /// Links an uncommitted entry from `columns` to a record with this primary key, and returns it. If an ordered index
    /// has an entry with the same columns and primary key already, the call returns that entry and links none.
    pub fn link<'g>(&'g self, guard: Guard<'g>, columns: Key, key: &Key, record: RecordPtr<H>) -> EntryRef<'g, H> {
        let full = self.full_key(&columns, key);
        let columns_len = columns.bytes().map_or(0, <[u8]>::len) as u32;
        let entry = Box::new(Entry { full, record, columns_len, committed: AtomicBool::new(false) });
        let entry = Box::into_raw(entry);
        // SAFETY: just made; it is freed only as `unlink`'s garbage, which outlives every present guard.
        let entry_ref = EntryRef(unsafe { &*entry });
        match &self.links {
            Links::Hash(hash) => {
                // In a hash index the columns are the whole key.
                let hash_of = |address| self.entry(guard, address).0.full.hash64();
                hash.insert(guard, columns.hash64(), entry as usize, hash_of);
            }
            Links::Ordered(ordered) => {
                if let Err(existing) = ordered.insert(guard, &entry_ref.0.full, entry as usize) {
                    // SAFETY: no other thread has seen the new entry, which is dropped here, once.
                    drop(unsafe { Box::from_raw(entry) });
                    return self.entry(guard, existing);
                }
            }
        }
        entry_ref
    }

    /// Unlinks an entry, and returns it as garbage, which the caller must retire.
    pub fn unlink(&self, guard: Guard<'_>, entry: EntryRef<'_, H>) -> Garbage {
        let address = entry.ptr().0;
        match &self.links {
            Links::Hash(hash) => {
                hash.remove(guard, entry.0.full.hash64(), address);
            }
            Links::Ordered(ordered) => {
                ordered.remove(guard, &entry.0.full);
            }
        }
        // SAFETY: the address came from `Box::into_raw` in `link`, and unlinking it made this the only owner.
        Garbage::boxed(unsafe { Box::from_raw(address as *mut Entry<H>) })
    }

    /// Returns the entry that leads from `columns` to `record`, whose primary key is `key`; `None` if there is no such
    /// entry. The search takes one look-up in an ordered index, and a walk over the entries with equal columns in a
    /// hash index.
    pub fn find<'g>(
        &'g self,
        guard: Guard<'g>,
        columns: &Key,
        key: &Key,
        record: RecordPtr<H>,
    ) -> Option<EntryRef<'g, H>> {
        if let Links::Ordered(ordered) = &self.links {
            let entry = ordered.get(guard, &self.full_key(columns, key)).map(|address| self.entry(guard, address));
            return entry.filter(|entry| entry.0.record == record);
        }
        let mut found = None;
        self.equal(guard, columns, |entry| {
            if entry.0.record != record {
                return ControlFlow::Continue(());
            }
            found = Some(entry);
            ControlFlow::Break(())
        });
        found
    }

    /// Visits the entries whose columns have the values of the key `columns`, until `visit` breaks.
    pub fn equal<'g>(
        &'g self,
        guard: Guard<'g>,
        columns: &Key,
        mut visit: impl FnMut(EntryRef<'g, H>) -> ControlFlow<()>,
    ) {
        match &self.links {
            Links::Hash(hash) => hash.for_each(guard, columns.hash64(), |address| {
                let entry = self.entry(guard, address);
                if entry.has_columns(columns) { visit(entry) } else { ControlFlow::Continue(()) }
            }),
            Links::Ordered(_) => {
                let mut entries = Vec::new();
                let mut from = Bound::Included(columns.clone());
                loop {
                    entries.clear();
                    self.collect(guard, from.as_ref(), false, 16, &mut entries);
                    for &entry in &entries {
                        if !entry.has_columns(columns) || visit(entry).is_break() {
                            return;
                        }
                    }
                    let Some(last) = entries.last() else { return };
                    from = Bound::Excluded(last.0.full.clone());
                }
            }
        }
    }

    /// Appends up to `limit` entries to `out`, beginning at `from`: in ascending order of [`EntryRef::full_key`], or in
    /// descending order if `backward`. A bound may be any prefix of a key.
    ///
    /// # Panics
    /// If the index is a hash index.
    pub fn collect<'g>(
        &'g self,
        guard: Guard<'g>,
        from: Bound<&Key>,
        backward: bool,
        limit: usize,
        out: &mut Vec<EntryRef<'g, H>>,
    ) {
        let Links::Ordered(ordered) = &self.links else { panic!("a range needs an ordered index") };
        let mut found = Vec::new();
        ordered.collect(guard, from, backward, limit, &mut found);
        out.extend(found.into_iter().map(|(_, address)| self.entry(guard, address)));
    }

    /// Returns the first entry at or above the bound `from`, in the order of [`EntryRef::full_key`]; `None` if there is
    /// no such entry.
    ///
    /// # Panics
    /// If the index is a hash index.
    pub fn next<'g>(&'g self, guard: Guard<'g>, from: Bound<&Key>) -> Option<EntryRef<'g, H>> {
        let Links::Ordered(ordered) = &self.links else { panic!("a range needs an ordered index") };
        ordered.next(guard, from).map(|address| self.entry(guard, address))
    }

    /// Returns the entry at an address.
    ///
    /// # Safety
    /// The entry was linked in this index, and was not freed, after the guard's participant entered its epoch.
    pub unsafe fn deref<'g>(&'g self, guard: Guard<'g>, entry: EntryPtr) -> EntryRef<'g, H> {
        self.entry(guard, entry.0)
    }

    pub(crate) fn has_entry(&self, guard: Guard<'_>, columns: &Key) -> bool {
        let mut found = false;
        self.equal(guard, columns, |_| {
            found = true;
            ControlFlow::Break(())
        });
        found
    }

    /// Returns the bytes of the entries, and of the index that leads to them.
    pub(crate) fn bytes(&self, guard: Guard<'_>) -> usize {
        let mut entries = 0;
        self.all(guard, |address| {
            let entry = self.entry(guard, address).0;
            entries += size_of::<Entry<H>>() + entry.full.heap_bytes();
        });
        entries
            + match &self.links {
                Links::Hash(hash) => hash.bytes(),
                Links::Ordered(ordered) => ordered.bytes(),
            }
    }

    /// Calls `visit` with the addresses of all entries.
    fn all(&self, guard: Guard<'_>, mut visit: impl FnMut(usize)) {
        match &self.links {
            Links::Hash(hash) => hash.entries(guard, |address| {
                visit(address);
                ControlFlow::Continue(())
            }),
            Links::Ordered(ordered) => {
                let mut entries = Vec::new();
                ordered.collect(guard, Bound::Unbounded, false, usize::MAX, &mut entries);
                entries.into_iter().for_each(|(_, address)| visit(address));
            }
        }
    }

    fn entry<'g>(&'g self, _guard: Guard<'g>, address: usize) -> EntryRef<'g, H> {
        // SAFETY: the address came from this index under the guard; entries are retired after they are unlinked.
        EntryRef(unsafe { &*(address as *const Entry<H>) })
    }

    /// Frees the entries of an index that no other thread can reach.
    pub(crate) fn free_entries(&self, guard: Guard<'_>) {
        self.all(guard, |address| {
            // SAFETY: the address came from `Box::into_raw` in `link`; the index is being dropped.
            drop(unsafe { Box::from_raw(address as *mut Entry<H>) });
        });
    }
}

impl<H> fmt::Debug for SecondaryIndex<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecondaryIndex").field("schema", &self.schema).finish_non_exhaustive()
    }
}
