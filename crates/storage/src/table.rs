//! Tables: records, a hash index on the primary key (whole or in parts), an ordered index on it if wanted, and
//! secondary indexes.
//!
//! A table finds records and links them; it never decides which transactions may see them. Linking and unlinking keep
//! the indexes consistent under concurrency. The protocol must keep a record's *content* stable.

use crate::epoch::{Collector, Garbage, Guard};
use crate::ordered_index::OrderedIndex;
use crate::primary_index::PrimaryIndex;
use crate::record::{RecordMemory, RecordPtr, RecordRef};
use crate::secondary_index::SecondaryIndex;
use crate::segment::Segments;
use crate::{
    Duplicate, IndexData, IndexId, IndexRef, Key, KeySpec, RecordFormat, RecordHeader, RowLayout, RowRef, StoredTable,
    TableId, TableMemory, TableSchema,
};
use hotrow_sync::{Arc, Backoff, Mutex, prefetch_bytes};
use std::fmt;
use std::ops::{Bound, ControlFlow};

/// The number of loaded rows for which the places in the hash index are prefetched together.
const LINKED_TOGETHER: usize = 16;

/// A table of records with headers of type `H`. All threads share it.
pub struct Table<H: RecordHeader> {
    id: TableId,
    /// A copy of [`TableSchema::constant`], which each read looks at.
    constant: bool,
    schema: Arc<TableSchema>,
    key: KeySpec,
    memory: Arc<RecordMemory>,
    primary: PrimaryIndex,
    ordered: Option<OrderedIndex>,
    secondary: Vec<SecondaryIndex<H>>,
    /// The data that the protocol keeps in each index, at the position that [`IndexNumber`] gives.
    index_data: Box<[H::Index]>,
    /// Held while a row is loaded into a table with unique secondary indexes, whose check and link are two steps.
    unique_load: Mutex<()>,
}

/// The number of one of a table's indexes. Unlike in [`IndexRef`], the two indexes on the primary key have different
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexNumber(pub u16);

impl IndexNumber {
    /// The number of the hash index on the primary key.
    pub const HASH: IndexNumber = IndexNumber(0);
    /// The number of the ordered index on the primary key, if the table has one.
    pub const ORDERED: IndexNumber = IndexNumber(1);

    /// Returns the number of the index that a range scan of `index` follows: for the primary key, the ordered index.
    pub fn of_ranges(index: IndexRef) -> Self {
        match index {
            IndexRef::Primary => Self::ORDERED,
            IndexRef::Secondary(IndexId(number)) => Self(number + 2),
        }
    }
}

impl<H: RecordHeader> Table<H> {
    /// Returns the table's number.
    #[inline]
    pub fn id(&self) -> TableId {
        self.id
    }

    /// Whether the table is [constant](TableSchema::constant).
    #[inline]
    pub fn is_constant(&self) -> bool {
        self.constant
    }

    /// Returns the table's definition.
    pub fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    /// Returns the layout of the table's rows.
    #[inline]
    pub fn layout(&self) -> &Arc<RowLayout> {
        self.memory.format.layout()
    }

    /// Returns the format of the table's records.
    #[inline]
    pub fn format(&self) -> &RecordFormat {
        &self.memory.format
    }

    /// Returns the rule that makes primary keys.
    pub fn key_spec(&self) -> &KeySpec {
        &self.key
    }

    /// Returns the primary key of a row.
    pub fn key_of(&self, row: RowRef<'_>) -> Key {
        self.key.key_of(row)
    }

    /// Returns the number of records linked in the primary index, whether their rows are present or not.
    pub fn len(&self) -> usize {
        self.primary.len()
    }

    /// Whether no record is linked in the primary index.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of records linked in each part of the primary index, which has one part unless the table is
    /// partitioned.
    pub fn part_lens(&self) -> Vec<usize> {
        self.primary.part_lens()
    }

    /// Returns the bytes that records take from the system, without indexes.
    pub fn record_bytes(&self) -> usize {
        self.memory.segments.allocated_bytes()
    }

    /// Returns the number of the partition to which a primary key of a partitioned table belongs; each partition has a
    /// part of the primary index.
    #[inline]
    pub fn partition_of(&self, key: &Key) -> usize {
        self.primary.number_of(key)
    }

    /// Returns the partition key with which a primary key begins; `None` if the table is not partitioned.
    #[inline]
    pub fn partition_key_of(&self, key: &Key) -> Option<i64> {
        self.schema.partitioned.then(|| self.primary.partition_key_of(key))
    }

    /// Whether the keys of an index begin with the partition key of their rows. Rows with equal keys in such an index
    /// are in one partition.
    pub fn begins_with_partition_key(&self, index: IndexRef) -> bool {
        let first = match index {
            IndexRef::Primary => self.schema.key.first(),
            IndexRef::Secondary(IndexId(index)) => self.schema.indexes[usize::from(index)].columns.first(),
        };
        self.schema.partitioned && first == self.schema.key.first()
    }

    /// Returns a key that has the partition key of all rows in a range of an index. Returns `None` if the index does
    /// not [begin with the partition key](Self::begins_with_partition_key), or the range may have several values of it.
    pub fn key_of_partition_range<'k>(
        &self,
        index: IndexRef,
        lower: &'k Bound<Key>,
        upper: &'k Bound<Key>,
    ) -> Option<&'k Key> {
        match (lower, upper) {
            (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper))
                if self.begins_with_partition_key(index) && self.primary.has_same_partition_key(lower, upper) =>
            {
                Some(lower)
            }
            _ => None,
        }
    }

    /// Returns the record with this primary key, whether its row is present or not; `None` if there is no such record.
    /// `hash` is the key's [`Key::hash64`].
    #[inline]
    pub fn find<'g>(&'g self, guard: Guard<'g>, key: &Key, hash: u64) -> Option<RecordRef<'g, H>> {
        let mut found = None;
        self.primary.of(key).get(guard, hash, |address| {
            let record = self.record(guard, address);
            let equal = record.has_key(key);
            if equal {
                found = Some(record);
            }
            equal
        });
        found
    }

    /// Prefetches the slot of the hash index that a look-up of a key reads first. A batch of look-ups calls this for
    /// all keys, and then [`prefetch_record`](Self::prefetch_record).
    #[inline]
    pub fn prefetch_slot(&self, guard: Guard<'_>, key: &Key, hash: u64) {
        self.primary.of(key).prefetch_slot(guard, hash);
    }

    /// Prefetches the record of a key, and returns it; `None` if there is no such record. The record very probably has
    /// the key; the caller must check that later, when the record is in the cache.
    #[inline]
    pub fn prefetch_record<'g>(&'g self, guard: Guard<'g>, key: &Key, hash: u64) -> Option<RecordRef<'g, H>> {
        let address = self.primary.of(key).target(guard, hash)?;
        prefetch_bytes(std::ptr::without_provenance(address), self.memory.format.bytes());
        Some(self.record(guard, address))
    }

    /// Makes a record for a row. The record is linked into no index, and its row is not present.
    pub fn create<'g>(&'g self, _guard: Guard<'g>, key: &Key, row: RowRef<'_>) -> RecordRef<'g, H> {
        RecordRef::create(&self.memory.segments, &self.memory.format, key, row)
    }

    /// Links a record in the ordered index, if the primary key has one, and then in the hash index.
    ///
    /// [Unlinking](Self::unlink) goes in the opposite order. So a record that a look-up [finds](Self::find) is in both
    /// indexes. While another thread links or unlinks a record with this key, the call retries with back-off.
    ///
    /// # Errors
    /// The record that already has the key.
    pub fn link<'g>(
        &'g self,
        guard: Guard<'g>,
        key: &Key,
        hash: u64,
        record: RecordRef<'g, H>,
    ) -> Result<(), RecordRef<'g, H>> {
        if let Some(ordered) = &self.ordered {
            let mut backoff = Backoff::new();
            while ordered.insert(guard, key, record.ptr().address()).is_err() {
                if let Some(other) = self.find(guard, key, hash) {
                    return Err(other);
                }
                backoff.snooze();
            }
        }
        let matches = |address| self.record(guard, address).has_key(key);
        let hash_of = |address| self.record(guard, address).key().hash64();
        let linked = self.primary.of(key).insert_unique(guard, hash, record.ptr().address(), matches, hash_of);
        debug_assert!(linked.is_ok() || self.ordered.is_none(), "the ordered index admits each key once");
        linked.map_err(|address| self.record(guard, address))
    }

    /// Unlinks a record, which was found in the hash index, from the hash index and from the ordered index on the
    /// primary key. It stays in the secondary indexes.
    pub fn unlink(&self, guard: Guard<'_>, record: RecordRef<'_, H>) {
        let key = record.key();
        self.primary.of(&key).remove(guard, key.hash64(), record.ptr().address());
        // Last: while the ordered index holds the key, no other thread can link it.
        if let Some(ordered) = &self.ordered {
            ordered.remove(guard, &key);
        }
    }

    /// Turns a record, which is unlinked from every index, into garbage, which the caller must retire.
    pub fn garbage(&self, record: RecordRef<'_, H>) -> Garbage {
        record.into_garbage(&self.memory)
    }

    /// Whether the primary key has an ordered index.
    pub fn is_ordered(&self) -> bool {
        self.ordered.is_some()
    }

    /// Appends up to `limit` entries of the ordered index on the primary key to `out`, beginning at `from`: in
    /// ascending order, or in descending order if `backward`.
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
        let mut found = Vec::with_capacity(limit.min(64));
        ordered.collect(guard, from, backward, limit, &mut found);
        out.extend(found.into_iter().map(|(key, address)| (key, RecordPtr::from_address(address))));
    }

    /// Returns the first record at or above the bound `from` in the ordered index on the primary key; `None` if there
    /// is no such record.
    ///
    /// # Panics
    /// If the table is not ordered.
    #[inline]
    pub fn next<'g>(&'g self, guard: Guard<'g>, from: Bound<&Key>) -> Option<RecordRef<'g, H>> {
        let ordered = self.ordered.as_ref().expect("a range needs an ordered index");
        ordered.next(guard, from).map(|address| self.record(guard, address))
    }

    /// Visits the records of the primary hash index, in no order and whether their rows are present or not, until
    /// `visit` breaks. Records that are linked during the whole call are visited at least once.
    pub fn records<'g>(&'g self, guard: Guard<'g>, mut visit: impl FnMut(RecordRef<'g, H>) -> ControlFlow<()>) {
        self.primary.entries(guard, |address| visit(self.record(guard, address)));
    }

    /// Returns the secondary indexes, in the order of the table's definition.
    #[inline]
    pub fn secondary(&self) -> &[SecondaryIndex<H>] {
        &self.secondary
    }

    /// Returns the secondary index with this number.
    ///
    /// # Panics
    /// If there is no such index.
    pub fn secondary_index(&self, index: IndexId) -> &SecondaryIndex<H> {
        &self.secondary[usize::from(index.0)]
    }

    /// Returns the data that the protocol keeps in an index.
    ///
    /// # Panics
    /// If there is no such index.
    #[inline]
    pub fn index_data(&self, index: IndexNumber) -> &H::Index {
        &self.index_data[usize::from(index.0)]
    }

    /// Undoes the loading of a row whose entries are linked into the first `linked` secondary indexes.
    fn unload(&self, guard: Guard<'_>, row: RowRef<'_>, linked: usize, record: RecordRef<'_, H>) {
        for index in &self.secondary[..linked] {
            if let Some(entry) = index.find(guard, &index.key_of(row), &record.key(), record.ptr()) {
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

impl<H: RecordHeader> StoredTable for Table<H> {
    /// Makes an empty table. If it is partitioned, its primary hash index has `parts` parts, otherwise one.
    fn new(id: TableId, schema: TableSchema, collector: &Arc<Collector>, parts: usize) -> Self {
        let layout = Arc::new(RowLayout::new(&schema.columns));
        let key = KeySpec::new(&schema.columns, &schema.key);
        let format = RecordFormat::new::<H>(layout, &key);
        let segments = Segments::with_beside(format.bytes(), H::BESIDE);
        let ordered = schema.ordered.then(|| OrderedIndex::new(collector, key.shape()));
        let secondary = schema.indexes.iter().map(|index| SecondaryIndex::new(index, &schema, collector)).collect();
        let primary = PrimaryIndex::new(collector, &key, if schema.partitioned { parts } else { 1 });
        let index_data = (0..schema.indexes.len() + 2).map(|_| H::Index::default()).collect();
        Self {
            id,
            constant: schema.constant,
            key,
            memory: Arc::new(RecordMemory { format, segments }),
            primary,
            ordered,
            secondary,
            index_data,
            unique_load: Mutex::new(()),
            schema: Arc::new(schema),
        }
    }

    fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    fn layout(&self) -> &Arc<RowLayout> {
        self.memory.format.layout()
    }

    /// Returns the number of records linked in the primary index, which includes records whose rows are not present.
    fn row_count(&self) -> u64 {
        self.len() as u64
    }

    fn spare_bytes(&self) -> usize {
        self.memory.segments.spare_bytes()
    }

    fn memory(&self, guard: Guard<'_>) -> TableMemory {
        let (mut variable, mut heap) = (0, 0);
        if self.memory.has_contents() {
            self.records(guard, |record| {
                let (of_row, of_record) = record.heap_bytes();
                variable += of_row;
                heap += of_record;
                ControlFlow::Continue(())
            });
        }
        let rows = self.len();
        let ordered = self.ordered.as_ref().map_or(0, OrderedIndex::bytes);
        let secondary: usize = self.secondary.iter().map(|index| index.bytes(guard)).sum();
        TableMemory {
            rows: rows as u64,
            payload: (rows * self.layout().fixed_size() + variable) as u64,
            records: (self.record_bytes() + heap) as u64,
            indexes: (self.primary.bytes() + ordered + secondary) as u64,
            locks: self.index_data.iter().map(IndexData::bytes).sum::<usize>() as u64,
        }
    }

    /// Inserts rows as [`StoredTable::load_rows`] says. Their records and index entries are marked as committed, and
    /// the rows as present.
    fn load_rows(&self, guard: Guard<'_>, rows: &[RowRef<'_>]) -> Result<(), (usize, Duplicate)> {
        let unique = self.secondary.iter().any(SecondaryIndex::is_exclusive);
        let _alone = unique.then(|| self.unique_load.lock().unwrap_or_else(|poison| poison.into_inner()));
        let mut made = Vec::with_capacity(rows.len().min(LINKED_TOGETHER));
        for (group, rows) in rows.chunks(LINKED_TOGETHER).enumerate() {
            for row in rows {
                let key = self.key_of(*row);
                let hash = key.hash64();
                self.prefetch_slot(guard, &key, hash);
                let record = self.create(guard, &key, *row);
                made.push((key, hash, record));
            }
            let mut records = made.drain(..);
            for (number, row) in rows.iter().enumerate() {
                let Some((key, hash, record)) = records.next() else { break };
                if let Err(duplicate) = self.link_loaded(guard, *row, &key, hash, record) {
                    records.for_each(|(_, _, record)| drop(self.garbage(record)));
                    return Err((group * LINKED_TOGETHER + number, duplicate));
                }
            }
        }
        Ok(())
    }
}

impl<H: RecordHeader> Table<H> {
    /// Links the record of a loaded row into all indexes. If a unique index has the row's key already, removes the row
    /// again and returns the index.
    fn link_loaded(
        &self,
        guard: Guard<'_>,
        row: RowRef<'_>,
        key: &Key,
        hash: u64,
        record: RecordRef<'_, H>,
    ) -> Result<(), Duplicate> {
        if self.link(guard, key, hash, record).is_err() {
            drop(self.garbage(record));
            return Err(Duplicate(IndexRef::Primary));
        }
        for (position, index) in self.secondary.iter().enumerate() {
            let columns = index.key_of(row);
            if index.excludes(row) && index.has_entry(guard, &columns) {
                self.unload(guard, row, position, record);
                return Err(Duplicate(IndexRef::Secondary(IndexId(position as u16))));
            }
            let entry = index.link(guard, columns, key, record.ptr());
            entry.set_committed();
        }
        record.set_present(true);
        record.set_committed();
        Ok(())
    }
}

impl<H: RecordHeader> Drop for Table<H> {
    /// The records' memory is freed with the segments; the heap memory of the records is freed here.
    fn drop(&mut self) {
        let collector = Collector::new();
        let mut participant = collector.participant();
        participant.enter();
        if self.memory.has_contents() {
            self.primary.entries(participant.guard(), |address| {
                let record = RecordPtr::<H>::from_address(address);
                // SAFETY: the table is being dropped, so no other thread can reach its records.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, IndexKind, IndexSchema, Row, Type, Value};

    fn table(collector: &Arc<Collector>) -> Table<()> {
        let columns = vec![
            Column::new("name", Type::Text),
            Column::new("number", Type::Int4),
            Column::nullable("email", Type::Varchar(Some(40))),
        ];
        let index =
            |name: &str, column, kind, unique| IndexSchema { name: name.into(), columns: vec![column], kind, unique };
        let mut schema = TableSchema::new("people", columns, &[0]);
        schema.indexes = vec![index("email", 2, IndexKind::Ordered, true), index("number", 1, IndexKind::Hash, false)];
        Table::new(TableId(0), schema, collector, 1)
    }

    fn row(table: &Table<()>, name: &str, number: i32, email: Option<&str>) -> Row {
        let email = email.map_or(Value::Null, Value::text);
        Row::from_values(table.layout(), &[Value::text(name), Value::Int4(number), email])
    }

    #[test]
    fn loading_refuses_duplicates_and_leaves_nothing_of_them() {
        let collector = Collector::new();
        let table = table(&collector);
        let mut participant = collector.participant();
        participant.enter();
        let guard = participant.guard();
        let long = "a name that is too long to stand inside of a key".repeat(3);
        let cases = [
            ("ann", 1, Some("a@x"), Ok(())),
            ("bob", 1, None, Ok(())),
            ("cat", 2, None, Ok(())),
            ("ann", 3, Some("b@x"), Err(Duplicate(IndexRef::Primary))),
            ("dan", 3, Some("a@x"), Err(Duplicate(IndexRef::Secondary(IndexId(0))))),
            ("dan", 3, Some("d@x"), Ok(())),
            (&long, 4, Some("l@x"), Ok(())),
        ];
        for (name, number, email, expected) in cases {
            assert_eq!(table.load(guard, row(&table, name, number, email).as_ref()), expected, "{name}");
        }
        let more: Vec<_> = (0..40).map(|number| row(&table, &format!("more {}", number % 35), 10, None)).collect();
        let more: Vec<_> = more.iter().map(Row::as_ref).collect();
        assert_eq!(table.load_rows(guard, &more), Err((35, Duplicate(IndexRef::Primary))), "those before it are there");
        assert_eq!(table.load_rows(guard, &more[36..]), Err((0, Duplicate(IndexRef::Primary))));
        assert_eq!(table.load_rows(guard, &[]), Ok(()));
        assert_eq!(table.len(), 5 + 35);
        let key = table.key_of(row(&table, &long, 0, None).as_ref());
        assert!(
            table.find(guard, &key, key.hash64()).is_some_and(|record| record.has_key(&key) && record.is_committed())
        );

        let mut numbers = Vec::new();
        for number in 0..6 {
            let columns = table.secondary_index(IndexId(1)).key_of(row(&table, "", number, None).as_ref());
            let mut count = 0;
            table.secondary_index(IndexId(1)).equal(guard, &columns, |_| {
                count += 1;
                ControlFlow::Continue(())
            });
            numbers.push(count);
        }
        assert_eq!(numbers, [0, 2, 1, 1, 1, 0]);
    }

    #[test]
    fn a_range_is_in_key_order_both_ways() {
        let collector = Collector::new();
        let table = table(&collector);
        let mut participant = collector.participant();
        participant.enter();
        let guard = participant.guard();
        for name in ["d", "a", "c", "b"] {
            table.load(guard, row(&table, name, 0, None).as_ref()).expect("no two names are equal");
        }
        for (backward, expected) in [(false, ["a", "b", "c", "d"]), (true, ["d", "c", "b", "a"])] {
            let mut found = Vec::new();
            table.collect(guard, Bound::Unbounded, backward, 10, &mut found);
            let keys: Vec<_> = found.into_iter().map(|(key, _)| key).collect();
            assert_eq!(keys, expected.map(|name| table.key_of(row(&table, name, 0, None).as_ref())));
        }
    }
}
