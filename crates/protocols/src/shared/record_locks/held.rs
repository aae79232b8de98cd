//! The records whose locks a transaction holds.

use hotrow_storage::{RecordPtr, TableId, mix};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// A record and its table.
pub(super) struct HeldRecord<H> {
    pub(super) table: TableId,
    pub(super) record: RecordPtr<H>,
}

/// The records whose locks are held, in whatever modes, in the order in which they were taken.
///
/// Adding one and releasing all take no search. A transaction that holds few looks through them; the places of many are
/// noted when one is first asked for.
pub(super) struct Held<H> {
    records: Vec<HeldRecord<H>>,
    /// The first of them, as many as are noted here.
    noted: HashSet<RecordPtr<H>, BuildHasherDefault<PointerHasher>>,
}

/// So many are looked through one by one.
const LOOKED_THROUGH: usize = 32;

/// Room for so many is kept from one transaction to the next.
const KEPT: usize = 1 << 14;

/// A hash of an address.
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
    /// Adds one whose lock was not held.
    #[inline]
    pub(super) fn push(&mut self, table: TableId, record: RecordPtr<H>) {
        self.records.push(HeldRecord { table, record });
    }

    /// Takes away the one that was added last.
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

    /// Takes the held records out and returns them.
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

    /// Takes one away, which is one of the last in all likelihood. Whether it was there.
    pub(super) fn remove(&mut self, record: RecordPtr<H>) -> bool {
        let Some(place) = self.records.iter().rposition(|held| held.record == record) else { return false };
        self.records.remove(place);
        if place < self.noted.len() {
            self.noted.remove(&record);
        }
        true
    }

    /// Takes all of them away, the last one first.
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
