//! Access sets: what a procedure will read and write.

use hotrow_storage::{IndexRef, Key, TableId, mix};
use std::ops::Bound;

/// The way in which a procedure will access a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// The procedure will read the row, which may be absent.
    Read,
    /// The procedure will read the row for update, update it, insert it or delete it.
    Write,
}

/// A row that a procedure will access, by its key.
#[derive(Clone, Debug)]
pub struct Access {
    /// The table of the row.
    pub table: TableId,
    /// The primary key of the row.
    pub key: Key,
    /// The hash of the key, as [`Key::hash64`] computes it.
    pub hash: u64,
    /// The way in which the procedure will access the row.
    pub intent: Intent,
}

impl Access {
    /// Returns a 64-bit name for the record, for lock tables. Equal tables and keys give equal names. Two different
    /// records share a name with probability 2^-64. A lock manager may treat them as one record: locking gets coarser,
    /// never wrong.
    #[inline]
    pub fn lock_name(&self) -> u64 {
        Self::name(self.table, self.hash)
    }

    /// Returns the [`lock_name`](Self::lock_name) of the record in `table` whose key has the hash `hash`.
    #[inline]
    pub fn name(table: TableId, hash: u64) -> u64 {
        mix(hash ^ (u64::from(table.0) << 1 | 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }
}

/// A range of an index that a procedure will scan. The bounds mean the same as those of a [`Scan`](crate::Scan).
#[derive(Clone, Debug)]
pub struct RangeAccess {
    /// The table of the index.
    pub table: TableId,
    /// The index that the procedure will scan.
    pub index: IndexRef,
    /// The lower bound of the range.
    pub lower: Bound<Key>,
    /// The upper bound of the range.
    pub upper: Bound<Key>,
    /// The way in which the procedure will access the rows that the scan finds.
    pub intent: Intent,
}

/// An entry that a procedure will link into an index or unlink from it, by an insert, a delete, or an update of the
/// index's columns.
#[derive(Clone, Debug)]
pub struct EntryAccess {
    /// The table of the index.
    pub table: TableId,
    /// The index whose entry will be linked or unlinked.
    pub index: IndexRef,
    /// The values of the index's columns as a key; for the primary index, the primary key.
    pub columns: Key,
    /// The primary key of the row that the entry leads to.
    pub key: Key,
}

/// A prefix of an index's keys: the procedure will link or unlink some of the entries whose keys begin with it. Only
/// the prefix is known beforehand, because the procedure draws the rest of the keys while it runs.
#[derive(Clone, Debug)]
pub struct EntriesAccess {
    /// The table of the index.
    pub table: TableId,
    /// The index that has the entries.
    pub index: IndexRef,
    /// The common prefix of the entries' keys.
    pub prefix: Key,
}

/// The access set of a procedure: the rows, ranges and index entries that it will access, in the order of the accesses.
///
/// Engines that need accesses lock all of them beforehand. Engines that [lock access
/// sets](crate::Capabilities::locks_accesses) lock the rows beforehand. All other engines take the rows as a hint and
/// look them up together. The lists are reused from one procedure to the next, so that filling them allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    rows: Vec<Access>,
    ranges: Vec<RangeAccess>,
    entries: Vec<EntryAccess>,
    entries_below: Vec<EntriesAccess>,
    partial: bool,
}

impl Accesses {
    /// Makes an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties the set for the next procedure, and keeps its memory.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.ranges.clear();
        self.entries.clear();
        self.entries_below.clear();
        self.partial = false;
    }

    /// Adds a row to the set. The row may be absent.
    #[inline]
    pub fn push(&mut self, table: TableId, key: Key, intent: Intent) {
        let hash = key.hash64();
        self.rows.push(Access { table, key, hash, intent });
    }

    /// Adds a range that will be scanned.
    pub fn push_range(&mut self, range: RangeAccess) {
        self.ranges.push(range);
    }

    /// Adds an index entry that will be linked or unlinked, from the index's `columns` to the row with primary key
    /// `key`. The entries of an inserted row need not be added if no scan may visit them: the row itself is enough.
    pub fn push_entry(&mut self, table: TableId, index: IndexRef, columns: Key, key: Key) {
        self.entries.push(EntryAccess { table, index, columns, key });
    }

    /// Adds the index entries whose keys begin with `prefix`: the procedure may insert and delete rows with any such
    /// key. An engine may ignore the prefix and lock each entry when it is linked or unlinked.
    pub fn push_entries_below(&mut self, table: TableId, index: IndexRef, prefix: Key) {
        self.entries_below.push(EntriesAccess { table, index, prefix });
    }

    /// Adds all accesses in `other` to the set.
    pub fn extend(&mut self, other: &Accesses) {
        self.rows.extend_from_slice(&other.rows);
        self.ranges.extend_from_slice(&other.ranges);
        self.entries.extend_from_slice(&other.entries);
        self.entries_below.extend_from_slice(&other.entries_below);
    }

    /// Marks the set as incomplete: the procedure will also access data that is not known beforehand. An engine that
    /// needs the whole set finds the rest by reconnaissance, a read-only run of the procedure.
    pub fn set_partial(&mut self) {
        self.partial = true;
    }

    /// Whether the set is known to be incomplete.
    pub fn is_partial(&self) -> bool {
        self.partial
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.ranges.is_empty() && self.entries.is_empty() && self.entries_below.is_empty()
    }

    /// Returns the rows of the set, in the order in which they will be accessed.
    #[inline]
    pub fn rows(&self) -> &[Access] {
        &self.rows
    }

    /// Returns the ranges of the set, in the order in which they will be scanned.
    pub fn ranges(&self) -> &[RangeAccess] {
        &self.ranges
    }

    /// Returns the index entries of the set that are known one by one.
    pub fn entries(&self) -> &[EntryAccess] {
        &self.entries
    }

    /// Returns the index entries of the set of which only the prefix is known.
    pub fn entries_below(&self) -> &[EntriesAccess] {
        &self.entries_below
    }
}
