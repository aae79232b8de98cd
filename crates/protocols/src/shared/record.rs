//! Access to the row of a record: the only `unsafe` code of the locking protocols.
//!
//! Storage asks its callers to keep others off a row while they touch it. The protocols that lock answer for that with
//! their locks; each function here names the lock that its callers must hold.

use hotrow_storage::{EntryPtr, EntryRef, Guard, RecordHeader, RecordPtr, RecordRef, RowMut, RowRef, SecondaryIndex};
use hotrow_storage::{Table, Variable};
use hotrow_sync::PlainAtomicU32;

/// Returns the row of a record that the caller's transaction has locked, at least shared, or whose table it owns, or
/// whose table is constant.
#[inline]
pub(crate) fn row<'g, H: RecordHeader>(record: RecordRef<'g, H>) -> RowRef<'g> {
    // SAFETY: writers lock exclusively, so the caller's lock keeps them away until it is released, which takes `&mut`
    // of the transaction that the row's borrow comes from. A constant table has no writers.
    unsafe { record.row() }
}

/// Changes the row of a record that the caller's transaction has locked exclusively. Returns the result of `change`,
/// and the former variable part of the row if that was replaced.
#[inline]
pub(crate) fn change<H: RecordHeader, R>(
    record: RecordRef<'_, H>,
    change: impl FnOnce(&mut RowMut<'_>) -> R,
) -> (R, Option<Variable>) {
    // SAFETY: readers and writers lock, so the caller's exclusive lock keeps all others away.
    unsafe { record.change(change) }
}

/// Restores an earlier image of a row that the caller's transaction has locked exclusively.
pub(crate) fn restore<H: RecordHeader>(
    record: RecordRef<'_, H>,
    fixed: &[u8],
    variable: Option<Variable>,
) -> Option<Variable> {
    // SAFETY: as in `change`.
    unsafe { record.restore(fixed, variable) }
}

/// Replaces the row of a record that the caller's transaction has locked exclusively, and returns the variable part
/// that it had.
pub(crate) fn replace<H: RecordHeader>(record: RecordRef<'_, H>, row: RowRef<'_>) -> Variable {
    // SAFETY: as in `change`.
    unsafe { record.replace(row) }
}

/// Returns the record that the caller's transaction has locked, or that an index has just led to.
#[inline]
pub(crate) fn deref<'g, H: RecordHeader>(
    pointer: RecordPtr<H>,
    guard: Guard<'g>,
    table: &'g Table<H>,
) -> RecordRef<'g, H> {
    // SAFETY: only the holder of the exclusive lock unlinks a record, and it is retired after that: a record that
    // the caller has locked is linked, and one that an index led to under this guard was linked then.
    unsafe { pointer.deref(guard, table.format()) }
}

/// Returns the header of a record that the transaction has locked, or that an index has just led to.
#[inline]
pub(crate) fn header<'g, H: RecordHeader>(pointer: RecordPtr<H>, guard: Guard<'g>) -> &'g H {
    // SAFETY: as in `deref`.
    unsafe { pointer.header(guard) }
}

/// Returns the element that belongs to a record in one of the vectors which are stored beside the table's records. The
/// transaction has locked the record, or an index has just led to it.
#[inline]
pub(crate) fn beside<'g, H: RecordHeader>(
    pointer: RecordPtr<H>,
    guard: Guard<'g>,
    vector: usize,
) -> &'g PlainAtomicU32 {
    // SAFETY: as in `deref`.
    unsafe { pointer.beside(guard, vector) }
}

/// Whether a record that the transaction has locked, or that an index has just led to, has a row.
#[inline]
pub(crate) fn is_present<H: RecordHeader>(pointer: RecordPtr<H>, guard: Guard<'_>) -> bool {
    // SAFETY: as in `deref`.
    unsafe { pointer.is_present(guard) }
}

/// Returns an entry of a record that the caller's transaction has locked exclusively.
pub(crate) fn entry<'g, H: RecordHeader>(
    pointer: EntryPtr,
    guard: Guard<'g>,
    index: &'g SecondaryIndex<H>,
) -> EntryRef<'g, H> {
    // SAFETY: only the holder of the exclusive lock on its record unlinks an entry.
    unsafe { index.deref(guard, pointer) }
}
