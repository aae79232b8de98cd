//! Prefetching of the rows of an access set, all together.
//!
//! A short transaction's price is its cache misses. When its keys are known, the slots of all of them are fetched
//! first, then the records they lead to: the misses overlap instead of adding up.

use hotrow_storage::{Database, Guard, RecordHeader, RecordRef, Table};
use hotrow_txn::Access;

/// Prefetches the index slots of all `accesses`, and then their records. `also` is called for each access and may
/// prefetch more, such as a lock.
#[inline]
pub(crate) fn prefetch<'a, H: RecordHeader>(
    database: &Database<H>,
    guard: Guard<'_>,
    accesses: impl IntoIterator<Item = &'a Access> + Clone,
    also: impl Fn(&Table<H>, &Access),
) {
    prefetch_records(database, guard, accesses, also, |_, _| {});
}

/// Prefetches the index slots and records of `accesses`, whatever `also` prefetches per access, and whatever `reached`
/// prefetches for each record. A record that was reached may turn out to have another key.
#[inline]
pub(crate) fn prefetch_records<'a, H: RecordHeader>(
    database: &Database<H>,
    guard: Guard<'_>,
    accesses: impl IntoIterator<Item = &'a Access> + Clone,
    also: impl Fn(&Table<H>, &Access),
    reached: impl Fn(&Table<H>, RecordRef<'_, H>),
) {
    for access in accesses.clone() {
        if let Some(table) = database.table(guard, access.table) {
            table.prefetch_slot(guard, &access.key, access.hash);
            also(table, access);
        }
    }
    for access in accesses {
        if let Some(table) = database.table(guard, access.table)
            && let Some(record) = table.prefetch_record(guard, &access.key, access.hash)
        {
            reached(table, record);
        }
    }
}
