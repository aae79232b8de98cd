//! Accesses outside a transaction's access set, which are added to the set before the next attempt.

use hotrow_storage::{IndexId, IndexRef, Key, RecordHeader, RowRef, Table};
use hotrow_txn::{Accesses, Direction, Intent, RangeAccess, Scan};
use std::ops::Bound;

/// Adds the entries that lead to a row, in all indexes of its table, to `missing`.
pub(crate) fn push_entries<H: RecordHeader>(missing: &mut Accesses, table: &Table<H>, key: &Key, row: RowRef<'_>) {
    missing.push_entry(table.id(), IndexRef::Primary, key.clone(), key.clone());
    for (position, index) in table.secondary().iter().enumerate() {
        let id = IndexRef::Secondary(IndexId(position as u16));
        missing.push_entry(table.id(), id, index.key_of(row), key.clone());
    }
}

/// Adds a row that is to be inserted, and the entries that will lead to it, to `missing`.
pub(crate) fn push_insert<H: RecordHeader>(missing: &mut Accesses, table: &Table<H>, key: &Key, row: RowRef<'_>) {
    missing.push(table.id(), key.clone(), Intent::Write);
    push_entries(missing, table, key, row);
}

/// Adds the range of a scan to `missing`. If the scan stopped early, at the key `left_at`, only the part up to that key
/// is added.
pub(crate) fn push_range(missing: &mut Accesses, scan: &Scan, left_at: Option<Key>) {
    let intent = if scan.lock.is_update() { Intent::Write } else { Intent::Read };
    let (mut lower, mut upper) = (scan.lower.clone(), scan.upper.clone());
    if let Some(key) = left_at {
        let end = if scan.direction == Direction::Forward { &mut upper } else { &mut lower };
        *end = Bound::Included(key);
    }
    missing.push_range(RangeAccess { table: scan.table, index: scan.index, lower, upper, intent });
}
