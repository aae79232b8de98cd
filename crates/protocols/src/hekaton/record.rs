//! Access to versions that a transaction found earlier: the only `unsafe` code of this folder.
//!
//! A version that an index leads to is kept by the epoch. One that a transaction remembers from an earlier call is kept
//! by what makes it remember:
//!
//! - It made the version, or has its write lock. Then only the transaction itself makes it garbage: a version is
//!   collected after its end, which the holder of the lock decides.
//! - It read the version at a time that it has published, and still has: a version is not collected while such a time
//!   is within its life ([`snapshots`](super::snapshots)).
//! - The version's maker was preparing, and may abort and throw it away: then the transaction has a dependency on the
//!   maker. It does not leave its epoch while it has one that is open or broken, and the version is retired later than
//!   that epoch began.

use super::words::Words;
use hotrow_storage::{Garbage, Guard, VersionPtr, VersionRef, VersionTable};

/// Returns a version that the transaction found in an earlier call, and that one of the reasons in this module's doc
/// keeps in memory.
#[inline]
pub(super) fn deref<'g>(
    version: VersionPtr<Words>,
    guard: Guard<'g>,
    table: &'g VersionTable<Words>,
) -> VersionRef<'g, Words> {
    // SAFETY: one of the three reasons above keeps it.
    unsafe { version.deref(guard, table.format()) }
}

/// Returns the Begin and End words of a version that the transaction found in an earlier call, as [`deref()`] does.
#[inline]
pub(super) fn words<'g>(version: VersionPtr<Words>, guard: Guard<'g>) -> &'g Words {
    // SAFETY: as in `deref`.
    unsafe { version.header(guard) }
}

/// Returns versions as garbage that the caller retires. The caller, and no other transaction, has just unlinked them
/// from all indexes.
pub(super) fn garbage(table: &VersionTable<Words>, versions: Vec<VersionPtr<Words>>) -> Garbage {
    // SAFETY: a version is unlinked by the transaction that aborts having made it, or else by the one that takes it
    // out of a backlog after its end; both let go of it here.
    unsafe { table.garbage(versions) }
}
