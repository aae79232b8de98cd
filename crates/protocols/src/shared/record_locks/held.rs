//! The records whose locks a transaction holds.

use hotrow_storage::{RecordPtr, TableId, mix};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// A record whose lock is held, and its table.
pub(super) struct HeldRecord<H> {
    pub(super) table: TableId,
    pub(super) record: RecordPtr<H>,
}

/// The records whose locks a transaction holds, in whatever modes, in the order in which they were taken.
///
/// Adding a record takes no search, and neither does releasing all. A transaction that holds few locks searches them
/// one by one. For many locks, the places are noted when one is first searched for.
pub(super) struct Held<H> {
    records: Vec<HeldRecord<H>>,
    /// The first of the records, as many as have been noted.
    noted: HashSet<RecordPtr<H>, BuildHasherDefault<PointerHasher>>,
}

/// The number of records up to which a search goes through them one by one.
const LOOKED_THROUGH: usize = 32;

/// The number of records for which room is kept from one transaction to the next.
const KEPT: usize = 1 << 14;

/// A hasher for addresses.
#[derive(Default)]
pub(super) struct PointerHasher(u64);

impl Hasher for PointerHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mix(self.0 ^ word);
    }

    fn write_usize(&mut self, address: usize) {
        self.write_u64(address as u64);
    }
}

impl<H> Clone for HeldRecord<H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for HeldRecord<H> {}

impl<H> Default for Held<H> {
    fn default() -> Self {
        Self { records: Vec::with_capacity(64), noted: HashSet::default() }
    }
}

impl<H> Held<H> {
    /// Adds a record whose lock was not held.
    #[inline]
    pub(super) fn push(&mut self, table: TableId, record: RecordPtr<H>) {
        self.records.push(HeldRecord { table, record });
    }

    /// Removes and returns the record that was added last.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<HeldRecord<H>> {
        let held = self.records.pop()?;
        if self.noted.len() > self.records.len() {
            self.noted.remove(&held.record);
        }
        Some(held)
    }

    /// Whether no lock is held.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Removes all records, and returns them as a list of their own.
    pub(super) fn take(&mut self) -> Self {
        Self { records: std::mem::take(&mut self.records), noted: std::mem::take(&mut self.noted) }
    }

    /// Whether the lock of this record is held.
    #[inline]
    pub(super) fn contains(&mut self, record: RecordPtr<H>) -> bool {
        if self.records.len() <= LOOKED_THROUGH {
            return self.records.iter().rev().any(|held| held.record == record);
        }
        self.contains_noted(record)
    }

    #[cold]
    fn contains_noted(&mut self, record: RecordPtr<H>) -> bool {
        let noted = self.noted.len();
        self.noted.extend(self.records.iter().skip(noted).map(|held| held.record));
        self.noted.contains(&record)
    }

    /// Removes a record, which in all likelihood is one of the last. Returns whether it was there.
    pub(super) fn remove(&mut self, record: RecordPtr<H>) -> bool {
        let Some(place) = self.records.iter().rposition(|held| held.record == record) else { return false };
        self.records.remove(place);
        if place < self.noted.len() {
            self.noted.remove(&record);
        }
        true
    }

    /// Removes all records, the last one first, and calls `release` for each.
    #[inline]
    pub(super) fn drain(&mut self, mut release: impl FnMut(HeldRecord<H>)) {
        while let Some(held) = self.records.pop() {
            release(held);
        }
        if !self.noted.is_empty() {
            self.noted.clear();
        }
        if self.records.capacity() > KEPT {
            self.records.shrink_to(KEPT);
            self.noted.shrink_to(KEPT);
        }
    }
}
