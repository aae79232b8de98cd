//! Tables: records, a hash index on the primary key, an ordered one if wanted, and secondary indexes.
//!
//! A table finds records and links them; it never decides who may see them. Linking and unlinking keep the indexes
//! themselves whole under concurrency; that a record's *content* is stable is the protocol's affair.

use crate::epoch::{Collector, Garbage, Guard};
use crate::hash_index::HashIndex;
use crate::ordered_index::OrderedIndex;
use crate::record::{RecordMemory, RecordPtr, RecordRef};
use crate::segment::Segments;
use crate::{
    IndexId, IndexKind, IndexRef, IndexSchema, Key, KeyBuilder, KeySpec, RecordFormat, RecordHeader, RowLayout, RowRef,
    TableId, TableSchema,
};
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Mutex};
use std::fmt;
use std::ops::{Bound, ControlFlow};

/// A table of records with headers of type `H`. Shared by all threads.
pub struct Table<H: RecordHeader> {
    id: TableId,
    schema: Arc<TableSchema>,
    key: KeySpec,
    memory: Arc<RecordMemory>,
    primary: HashIndex,
    ordered: Option<OrderedIndex>,
    secondary: Vec<SecondaryIndex<H>>,
    /// Held while a row is loaded into a table with unique secondary indexes, whose check and link are two steps.
    unique_load: Mutex<()>,
}

/// A row with this key exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplicate(pub IndexRef);

impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IndexRef::Primary => f.write_str("a row with this primary key exists already"),
            IndexRef::Secondary(index) => write!(f, "a row with this key of unique index {} exists already", index.0),
        }
    }
}

impl std::error::Error for Duplicate {}

impl<H: RecordHeader> Table<H> {
    pub(crate) fn new(id: TableId, schema: TableSchema, collector: &Arc<Collector>) -> Self {
        let layout = Arc::new(RowLayout::new(&schema.columns));
        let key = KeySpec::new(&schema.columns, &schema.key);
        let format = RecordFormat::new::<H>(layout, &key);
        let segments = Segments::new(format.bytes());
        let ordered = schema.ordered.then(|| OrderedIndex::new(collector, key.is_int()));
        let secondary = schema.indexes.iter().map(|index| SecondaryIndex::new(index, &schema, collector)).collect();
        Self {
            id,
            key,
            memory: Arc::new(RecordMemory { format, segments }),
            primary: HashIndex::new(collector, 0),
            ordered,
            secondary,
            unique_load: Mutex::new(()),
            schema: Arc::new(schema),
        }
    }

    /// The table's number.
    #[inline]
    pub fn id(&self) -> TableId {
        self.id
    }

    /// The definition.
    pub fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    /// The rows' layout.
    #[inline]
    pub fn layout(&self) -> &Arc<RowLayout> {
        self.memory.format.layout()
    }

    /// The records' format.
    #[inline]
    pub fn format(&self) -> &RecordFormat {
        &self.memory.format
    }

    /// How primary keys are made.
    pub fn key_spec(&self) -> &KeySpec {
        &self.key
    }

    /// The primary key of a row.
    pub fn key_of(&self, row: RowRef<'_>) -> Key {
        match self.key.parts() {
            [part] if self.key.is_int() => Key::Int(row.value(part.column).as_int().unwrap_or_default()),
            parts => self.key.key(parts.iter().map(|part| row.value(part.column))),
        }
    }

    /// Records linked in the primary index, present or not.
    pub fn len(&self) -> usize {
        self.primary.len()
    }

    /// Whether no record is linked.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that records take from the system, indexes aside.
    pub fn record_bytes(&self) -> usize {
        self.memory.segments.allocated_bytes()
    }

    /// The record with this primary key, present or not. `hash` is the key's [`Key::hash64`].
    #[inline]
    pub fn find<'g>(&'g self, guard: Guard<'g>, key: &Key, hash: u64) -> Option<RecordRef<'g, H>> {
        let mut found = None;
        self.primary.get(guard, hash, |address| {
            let record = self.record(guard, address);
            let equal = record.has_key(key);
            if equal {
                found = Some(record);
            }
            equal
        });
        found
    }

    /// Asks the processor to fetch the index slot of a key with this hash. Step one of a batched look-up.
    #[inline]
    pub fn prefetch_slot(&self, guard: Guard<'_>, hash: u64) {
        self.primary.prefetch_slot(guard, hash);
    }

    /// Asks the processor to fetch the record of a key with this hash. Step two of a batched look-up.
    #[inline]
    pub fn prefetch_record(&self, guard: Guard<'_>, hash: u64) {
        self.primary.prefetch_target(guard, hash);
    }

    /// Makes a record for a row, linked nowhere, not present.
    pub fn create<'g>(&'g self, _guard: Guard<'g>, key: &Key, row: RowRef<'_>) -> RecordRef<'g, H> {
        RecordRef::create(&self.memory.segments, &self.memory.format, key, row)
    }

    /// Links a record in the primary index, and in the ordered one on the same key. Fails with the record that has the
    /// key already.
    pub fn link<'g>(
        &'g self,
        guard: Guard<'g>,
        key: &Key,
        hash: u64,
        record: RecordRef<'g, H>,
    ) -> Result<(), RecordRef<'g, H>> {
        let matches = |address| self.record(guard, address).has_key(key);
        let hash_of = |address| self.record(guard, address).key().hash64();
        let linked = self.primary.insert_unique(guard, hash, record.ptr().address(), matches, hash_of);
        linked.map_err(|address| self.record(guard, address))?;
        if let Some(ordered) = &self.ordered {
            let inserted = ordered.insert(guard, key, record.ptr().address());
            debug_assert!(inserted.is_ok(), "the hash index admits each key once");
        }
        Ok(())
    }

    /// Unlinks a record from the primary index and the ordered one on the same key.
    pub fn unlink(&self, guard: Guard<'_>, record: RecordRef<'_, H>) {
        let key = record.key();
        // The ordered index first: while the hash index holds the key, nobody else can link it.
        if let Some(ordered) = &self.ordered {
            ordered.remove(guard, &key);
        }
        self.primary.remove(guard, key.hash64(), record.ptr().address());
    }

    /// A record, unlinked from every index, as garbage to retire.
    pub fn garbage(&self, record: RecordRef<'_, H>) -> Garbage {
        record.into_garbage(&self.memory)
    }

    /// Whether the primary key has an ordered index.
    pub fn is_ordered(&self) -> bool {
        self.ordered.is_some()
    }

    /// Appends up to `limit` entries of the ordered primary index, starting at `from`, to `out`.
    ///
    /// # Panics
    /// If the table is not ordered.
    pub fn collect(
        &self,
        guard: Guard<'_>,
        from: Bound<&Key>,
        backward: bool,
        limit: usize,
        out: &mut Vec<(Key, RecordPtr<H>)>,
    ) {
        let ordered = self.ordered.as_ref().expect("a range needs an ordered index");
        collect_into(ordered, guard, from, backward, limit, out, RecordPtr::from_address);
    }

    /// Visits the records of the primary hash index, present or not, in no order. Those linked throughout are visited
    /// at least once.
    pub fn records<'g>(&'g self, guard: Guard<'g>, mut visit: impl FnMut(RecordRef<'g, H>) -> ControlFlow<()>) {
        self.primary.entries(guard, |address| visit(self.record(guard, address)));
    }

    /// The secondary indexes.
    #[inline]
    pub fn secondary(&self) -> &[SecondaryIndex<H>] {
        &self.secondary
    }

    /// A secondary index.
    ///
    /// # Panics
    /// If there is no such index.
    pub fn index(&self, index: IndexId) -> &SecondaryIndex<H> {
        &self.secondary[usize::from(index.0)]
    }

    /// Inserts a row with nobody looking: record and entries, present and committed.
    pub fn load(&self, guard: Guard<'_>, row: RowRef<'_>) -> Result<(), Duplicate> {
        let unique = self.schema.indexes.iter().any(|index| index.unique);
        let _alone = unique.then(|| self.unique_load.lock().unwrap_or_else(|poison| poison.into_inner()));
        let key = self.key_of(row);
        let record = self.create(guard, &key, row);
        if self.link(guard, &key, key.hash64(), record).is_err() {
            drop(self.garbage(record));
            return Err(Duplicate(IndexRef::Primary));
        }
        for (position, index) in self.secondary.iter().enumerate() {
            let columns = index.key_of(row);
            if index.schema.unique && index.excludes(row) && index.has_entry(guard, &columns) {
                self.unload(guard, row, position, record);
                return Err(Duplicate(IndexRef::Secondary(IndexId(position as u16))));
            }
            let entry = index.link(guard, columns, &key, record.ptr());
            entry.set_committed();
        }
        record.set_present(true);
        record.set_committed();
        Ok(())
    }

    /// Takes back a half-loaded row.
    fn unload(&self, guard: Guard<'_>, row: RowRef<'_>, linked: usize, record: RecordRef<'_, H>) {
        for index in &self.secondary[..linked] {
            if let Some(entry) = index.find(guard, &index.key_of(row), record.ptr()) {
                drop(index.unlink(guard, entry));
            }
        }
        self.unlink(guard, record);
        drop(self.garbage(record));
    }

    #[inline]
    fn record<'g>(&'g self, guard: Guard<'g>, address: usize) -> RecordRef<'g, H> {
        // SAFETY: the address came from an index of this table under `guard`; records are retired after they are
        // unlinked from every index.
        unsafe { RecordPtr::from_address(address).deref(guard, &self.memory.format) }
    }
}

impl<H: RecordHeader> Drop for Table<H> {
    /// The records' memory goes with the segments; what hangs on the records is freed here.
    fn drop(&mut self) {
        let collector = Collector::new();
        let mut participant = collector.participant();
        participant.enter();
        if self.memory.has_contents() {
            self.primary.entries(participant.guard(), |address| {
                let record = RecordPtr::<H>::from_address(address);
                // SAFETY: the table is being dropped: nobody else can reach its records.
                unsafe { self.memory.free_contents(record.pointer()) };
                ControlFlow::Continue(())
            });
        }
        for index in &self.secondary {
            index.free_entries(participant.guard());
        }
    }
}

impl<H: RecordHeader> fmt::Debug for Table<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("id", &self.id).field("name", &self.schema.name).finish_non_exhaustive()
    }
}

/// A secondary index of a table: entries that lead from columns to records.
///
/// An entry may be stale (its record's row has other columns now, or is gone) or early (its transaction has not
/// committed): whoever follows it locks the record and looks.
pub struct SecondaryIndex<H> {
    schema: IndexSchema,
    key: KeySpec,
    links: Links,
    marker: std::marker::PhantomData<fn() -> H>,
}

enum Links {
    Hash(HashIndex),
    /// Keyed by the columns, then the primary key: so entries with equal columns are apart.
    Ordered(OrderedIndex),
}

struct Entry<H> {
    /// The columns' key, without the primary key.
    columns: Key,
    /// The key under which the entry stands in its index.
    full: Key,
    record: RecordPtr<H>,
    committed: AtomicBool,
}

/// An entry that stays allocated for `'g`.
pub struct EntryRef<'g, H>(&'g Entry<H>);

impl<H> Clone for EntryRef<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for EntryRef<'_, H> {}

impl<'g, H: RecordHeader> EntryRef<'g, H> {
    /// The columns' key.
    pub fn columns(&self) -> &'g Key {
        &self.0.columns
    }

    /// The key under which the entry stands in its index.
    pub fn full_key(&self) -> &'g Key {
        &self.0.full
    }

    /// Where it leads.
    pub fn record(&self) -> RecordPtr<H> {
        self.0.record
    }

    /// Whether the transaction that linked it has committed.
    pub fn is_committed(&self) -> bool {
        self.0.committed.load(Ordering::Acquire)
    }

    /// Says that the transaction that linked it has committed.
    pub fn set_committed(&self) {
        self.0.committed.store(true, Ordering::Release);
    }

    /// The entry's address.
    pub fn ptr(&self) -> EntryPtr {
        EntryPtr(std::ptr::from_ref(self.0) as usize)
    }
}

/// The address of an entry, to be kept where a borrow cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryPtr(usize);

impl<H: RecordHeader> SecondaryIndex<H> {
    fn new(schema: &IndexSchema, table: &TableSchema, collector: &Arc<Collector>) -> Self {
        let links = match schema.kind {
            IndexKind::Hash => Links::Hash(HashIndex::new(collector, 0)),
            IndexKind::Ordered => Links::Ordered(OrderedIndex::new(collector, false)),
        };
        let key = KeySpec::bytes(&table.columns, &schema.columns);
        Self { schema: schema.clone(), key, links, marker: std::marker::PhantomData }
    }

    /// The definition.
    pub fn schema(&self) -> &IndexSchema {
        &self.schema
    }

    /// How the columns' keys are made: byte strings always.
    pub fn key_spec(&self) -> &KeySpec {
        &self.key
    }

    /// The columns' key of a row.
    pub fn key_of(&self, row: RowRef<'_>) -> Key {
        self.key.key(self.key.parts().iter().map(|part| row.value(part.column)))
    }

    /// Whether another row with the same columns would be a duplicate: the index is unique and no column is NULL.
    pub fn excludes(&self, row: RowRef<'_>) -> bool {
        self.schema.unique && !self.key.parts().iter().any(|part| row.is_null(part.column))
    }

    /// The key under which the entry from `columns` to a record with this primary key stands: both in an ordered index,
    /// the columns in a hash index.
    pub fn full_key(&self, columns: &Key, key: &Key) -> Key {
        match self.links {
            Links::Hash(_) => columns.clone(),
            Links::Ordered(_) => {
                let mut builder = KeyBuilder::default();
                builder.push_key(columns);
                builder.push_key(key);
                builder.finish()
            }
        }
    }

    /// Links an entry, not committed, from `columns` to a record with this primary key. If an ordered index holds such an
    /// entry already, that one is the result.
    pub fn link<'g>(&'g self, guard: Guard<'g>, columns: Key, key: &Key, record: RecordPtr<H>) -> EntryRef<'g, H> {
        let full = self.full_key(&columns, key);
        let entry = Box::new(Entry { columns, full, record, committed: AtomicBool::new(false) });
        let entry = Box::into_raw(entry);
        // SAFETY: just made; freed only by `unlink`'s garbage, which outlives every guard of now.
        let entry_ref = EntryRef(unsafe { &*entry });
        match &self.links {
            Links::Hash(hash) => {
                let hash_of = |address| self.entry(guard, address).0.columns.hash64();
                hash.insert(guard, entry_ref.0.columns.hash64(), entry as usize, hash_of);
            }
            Links::Ordered(ordered) => {
                if let Err(existing) = ordered.insert(guard, &entry_ref.0.full, entry as usize) {
                    // SAFETY: nobody has seen the new entry, which is dropped here for the last time.
                    drop(unsafe { Box::from_raw(entry) });
                    return self.entry(guard, existing);
                }
            }
        }
        entry_ref
    }

    /// Unlinks an entry; it is garbage to retire.
    pub fn unlink(&self, guard: Guard<'_>, entry: EntryRef<'_, H>) -> Garbage {
        let address = entry.ptr().0;
        match &self.links {
            Links::Hash(hash) => {
                hash.remove(guard, entry.0.columns.hash64(), address);
            }
            Links::Ordered(ordered) => {
                ordered.remove(guard, &entry.0.full);
            }
        }
        // SAFETY: the address came from `Box::into_raw` in `link`, and unlinking it made this the only owner.
        Garbage::boxed(unsafe { Box::from_raw(address as *mut Entry<H>) })
    }

    /// The entry that leads from `columns` to `record`.
    pub fn find<'g>(&'g self, guard: Guard<'g>, columns: &Key, record: RecordPtr<H>) -> Option<EntryRef<'g, H>> {
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

    /// Visits the entries whose columns' key is `columns`.
    pub fn equal<'g>(
        &'g self,
        guard: Guard<'g>,
        columns: &Key,
        mut visit: impl FnMut(EntryRef<'g, H>) -> ControlFlow<()>,
    ) {
        match &self.links {
            Links::Hash(hash) => hash.for_each(guard, columns.hash64(), |address| {
                let entry = self.entry(guard, address);
                if entry.0.columns == *columns { visit(entry) } else { ControlFlow::Continue(()) }
            }),
            Links::Ordered(_) => {
                let mut entries = Vec::new();
                let mut from = Bound::Included(columns.clone());
                loop {
                    entries.clear();
                    self.collect(guard, from.as_ref(), false, 16, &mut entries);
                    for &entry in &entries {
                        if entry.0.columns != *columns || visit(entry).is_break() {
                            return;
                        }
                    }
                    let Some(last) = entries.last() else { return };
                    from = Bound::Excluded(last.0.full.clone());
                }
            }
        }
    }

    /// Appends up to `limit` entries, starting at `from`, to `out`. The order is that of [`EntryRef::full_key`], of which
    /// any prefix is a bound.
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

    /// The entry at an address.
    ///
    /// # Safety
    /// The entry was linked in this index, and was not freed, after the guard's participant entered its epoch.
    pub unsafe fn deref<'g>(&'g self, guard: Guard<'g>, entry: EntryPtr) -> EntryRef<'g, H> {
        self.entry(guard, entry.0)
    }

    fn has_entry(&self, guard: Guard<'_>, columns: &Key) -> bool {
        let mut found = false;
        self.equal(guard, columns, |_| {
            found = true;
            ControlFlow::Break(())
        });
        found
    }

    fn entry<'g>(&'g self, _guard: Guard<'g>, address: usize) -> EntryRef<'g, H> {
        // SAFETY: the address came from this index under the guard; entries are retired after they are unlinked.
        EntryRef(unsafe { &*(address as *const Entry<H>) })
    }

    /// Frees the entries of an index that nobody else can reach.
    fn free_entries(&self, guard: Guard<'_>) {
        let free = |address: usize| {
            // SAFETY: the address came from `Box::into_raw` in `link`; the index is being dropped.
            drop(unsafe { Box::from_raw(address as *mut Entry<H>) });
        };
        match &self.links {
            Links::Hash(hash) => hash.entries(guard, |address| {
                free(address);
                ControlFlow::Continue(())
            }),
            Links::Ordered(ordered) => {
                let mut entries = Vec::new();
                ordered.collect(guard, Bound::Unbounded, false, usize::MAX, &mut entries);
                entries.into_iter().for_each(|(_, address)| free(address));
            }
        }
    }
}

impl<H> fmt::Debug for SecondaryIndex<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecondaryIndex").field("schema", &self.schema).finish_non_exhaustive()
    }
}

fn collect_into<T>(
    ordered: &OrderedIndex,
    guard: Guard<'_>,
    from: Bound<&Key>,
    backward: bool,
    limit: usize,
    out: &mut Vec<(Key, T)>,
    target: impl Fn(usize) -> T,
) {
    let mut found = Vec::with_capacity(limit.min(64));
    ordered.collect(guard, from, backward, limit, &mut found);
    out.extend(found.into_iter().map(|(key, address)| (key, target(address))));
}
