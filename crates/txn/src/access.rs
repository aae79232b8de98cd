//! What a procedure will touch.

use hotrow_storage::{IndexRef, Key, TableId, mix};
use std::ops::Bound;

/// What a procedure will do to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Read it, present or absent.
    Read,
    /// Read it for update, update, insert or delete it.
    Write,
}

/// One key that a procedure will touch.
#[derive(Clone, Debug)]
pub struct Access {
    /// The table.
    pub table: TableId,
    /// The primary key.
    pub key: Key,
    /// [`Key::hash64`] of the key.
    pub hash: u64,
    /// Read or write.
    pub intent: Intent,
}

impl Access {
    /// A 64-bit name for the record, for lock tables: equal for equal table and key. Different records share a name
    /// with probability 2^-64, which a lock manager may treat as one record: coarser, never wrong.
    #[inline]
    pub fn lock_name(&self) -> u64 {
        Self::name(self.table, self.hash)
    }

    /// [`lock_name`](Self::lock_name) of the record in `table` whose key hashes to `hash`.
    #[inline]
    pub fn name(table: TableId, hash: u64) -> u64 {
        mix(hash ^ (u64::from(table.0) << 1 | 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }
}

/// A range of an index that a procedure will scan. Bounds are those of a [`Scan`](crate::Scan).
#[derive(Clone, Debug)]
pub struct RangeAccess {
    /// The table.
    pub table: TableId,
    /// The index.
    pub index: IndexRef,
    /// Where the range begins.
    pub lower: Bound<Key>,
    /// Where it ends.
    pub upper: Bound<Key>,
    /// What will be done to the rows that it finds.
    pub intent: Intent,
}

/// An entry that a procedure will link into an index or unlink from it: by an insert or a delete, or by an update of the
/// index's columns.
#[derive(Clone, Debug)]
pub struct EntryAccess {
    /// The table.
    pub table: TableId,
    /// The index.
    pub index: IndexRef,
    /// The index's columns; of the primary index, the primary key.
    pub columns: Key,
    /// The primary key of the row that the entry leads to.
    pub key: Key,
}

/// Entries of an index that a procedure will link or unlink, of which no more is known beforehand than how their keys begin: those
/// of rows whose numbers it draws while it runs.
#[derive(Clone, Debug)]
pub struct EntriesAccess {
    /// The table.
    pub table: TableId,
    /// The index.
    pub index: IndexRef,
    /// What their keys begin with.
    pub prefix: Key,
}

/// What a procedure will touch: its access set, in the order in which it will touch it.
///
/// Engines that need accesses lock them beforehand; those that
/// [lock access sets](crate::Capabilities::locks_accesses) so lock the rows; the others take the rows as a hint and look them up together. The
/// lists are reused from one procedure to the next, so that filling them allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    rows: Vec<Access>,
    ranges: Vec<RangeAccess>,
    entries: Vec<EntryAccess>,
    entries_below: Vec<EntriesAccess>,
    partial: bool,
}

impl Accesses {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties the set for the next procedure.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.ranges.clear();
        self.entries.clear();
        self.entries_below.clear();
        self.partial = false;
    }

    /// Adds a row, present or absent.
    #[inline]
    pub fn push(&mut self, table: TableId, key: Key, intent: Intent) {
        let hash = key.hash64();
        self.rows.push(Access { table, key, hash, intent });
    }

    /// Adds a range that will be scanned.
    pub fn push_range(&mut self, range: RangeAccess) {
        self.ranges.push(range);
    }

    /// Adds an index entry that will come or go, from the index's `columns` to the row with primary key `key`. Rows that
    /// are inserted need to be named as rows only, if no scan goes where they go.
    pub fn push_entry(&mut self, table: TableId, index: IndexRef, columns: Key, key: Key) {
        self.entries.push(EntryAccess { table, index, columns, key });
    }

    /// Adds the index entries whose keys begin with `prefix`: rows with any such key may be inserted and deleted. They are not named
    /// beside it. An engine may do without, and find out when they come.
    pub fn push_entries_below(&mut self, table: TableId, index: IndexRef, prefix: Key) {
        self.entries_below.push(EntriesAccess { table, index, prefix });
    }

    /// Adds all that is in `other`.
    pub fn extend(&mut self, other: &Accesses) {
        self.rows.extend_from_slice(&other.rows);
        self.ranges.extend_from_slice(&other.ranges);
        self.entries.extend_from_slice(&other.entries);
        self.entries_below.extend_from_slice(&other.entries_below);
    }

    /// Says that there is more to be touched, which is not known beforehand: an engine that needs the whole set finds the
    /// rest by reconnaissance.
    pub fn set_partial(&mut self) {
        self.partial = true;
    }

    /// Whether the set is known to be incomplete.
    pub fn is_partial(&self) -> bool {
        self.partial
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.ranges.is_empty() && self.entries.is_empty() && self.entries_below.is_empty()
    }

    /// The rows, in access order.
    #[inline]
    pub fn rows(&self) -> &[Access] {
        &self.rows
    }

    /// The ranges.
    pub fn ranges(&self) -> &[RangeAccess] {
        &self.ranges
    }

    /// The index entries.
    pub fn entries(&self) -> &[EntryAccess] {
        &self.entries
    }

    /// The index entries of which it is known how their keys begin.
    pub fn entries_below(&self) -> &[EntriesAccess] {
        &self.entries_below
    }
}
