//! The prefixes that a plan locks: those of scanned ranges, and those of index entries that come or go.

use crate::shared::range_locks::{Cover, Granularity, KeySpace, PrefixLocks};
use hotrow_storage::{IndexRef, Key, TableId};
use hotrow_txn::{Intent, RangeAccess};
use std::ops::Bound;

fn space(table: TableId, index: IndexRef) -> KeySpace {
    KeySpace::of_index(table, index, Granularity::default())
}

/// Adds the locks for an entry with this key, or all entries with these columns, that will come or go.
pub(super) fn push_entry(locks: &mut PrefixLocks, table: TableId, index: IndexRef, key: &Key) {
    locks.push(space(table, index).point(key), true);
}

/// Adds the locks for a range that will be scanned. If rows are to be written, the locks are exclusive, so that no
/// other transaction scans the range.
pub(super) fn push_range(locks: &mut PrefixLocks, range: &RangeAccess) {
    let prefixes = space(range.table, range.index).range(&range.lower, &range.upper, Cover::default());
    for prefix in prefixes {
        locks.push(prefix, range.intent == Intent::Write);
    }
}

/// Returns the range that is locked for a range, if it is known to be larger.
pub(super) fn locked_range(range: &RangeAccess) -> Option<RangeAccess> {
    let prefixes = space(range.table, range.index).range(&range.lower, &range.upper, Cover::CommonPrefix);
    let is_string = |bound: &Bound<Key>| match bound {
        Bound::Included(key) | Bound::Excluded(key) => key.bytes().is_some(),
        Bound::Unbounded => false,
    };
    let [prefix] = prefixes[..] else { return None };
    if !is_string(&range.lower) && !is_string(&range.upper) {
        return None;
    }
    let first = prefix.first().to_be_bytes();
    let common = &first[..prefix.depth() as usize / 8];
    // Where the range has no end, there is nothing beyond it.
    let widened = |bound: &Bound<Key>| match bound {
        Bound::Unbounded => Bound::Unbounded,
        _ if common.is_empty() => Bound::Unbounded,
        _ => Bound::Included(Key::from_bytes(common)),
    };
    let (lower, upper) = (widened(&range.lower), widened(&range.upper));
    Some(RangeAccess { lower, upper, ..range.clone() })
}

/// Whether an entry with this key may come or go under the held locks: its key, or a prefix of it, is locked
/// exclusively.
pub(super) fn holds_entry(held: &mut PrefixLocks, table: TableId, index: IndexRef, key: &Key) -> bool {
    if held.is_empty() {
        return false;
    }
    let point = space(table, index).point(key);
    held.holds(point.name()) || point.names_above().any(|name| held.holds(name))
}
