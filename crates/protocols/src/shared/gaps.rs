//! The names of rows, gaps and unique keys, and why locks on them keep phantoms out.
//!
//! **Absent keys.** A lock is a name, not a record: reading an absent key locks its name, and so keeps inserters out.
//!
//! **Ranges.** An ordered index is a sequence of keys with gaps between them; a gap is named by the key above it, the
//! last one by the index. A scan locks shared the gap below each entry that it passes, and the first gap beyond its
//! range. Linking an entry takes the *insert* mode of the gap that it falls into, unlinking one that of the entry's own
//! gap (the two gaps beside it become one). Insert and shared conflict; two inserters do not. An entry whose insert has
//! not committed may go again, and then its gap merges with the next: so wherever such an entry names a gap, scanners
//! and inserters alike take the gaps of all entries up to the first whose insert has committed.
//!
//! Invariants, and why they hold:
//!
//! 1. *The end of a scanner's gaps stays.* The last gap that a scan locks is that of a committed entry (or the index's
//!    end). Only a committed delete unlinks that entry, and it needs the insert mode of the gap, which the scan
//!    excludes.
//! 2. *A scanned gap stays empty while its scanner runs.* An inserter links its entry, then looks which gaps that falls
//!    into, takes the insert mode of those, and looks again until they have not changed. A scanner locks its gaps, all
//!    of them up to the committed entry, then looks at all of these entries once more, the highest first, until they
//!    have not changed: the same entries, not others with their keys. Each fences before its last look. If a link came
//!    before the scanner's last look at its place, that meets the entry: within the range the scanner waits for its
//!    row, above it the scanner begins again. Suppose that of the entries that were linked later some have been looked
//!    around for the last time while the scanner runs, and take the first of them. Its inserter's last look goes up,
//!    and comes after its link. At the latest it comes to the committed entry of 1, and so asks for a gap that the
//!    scanner holds, and waits; unless it ends earlier, at an entry that the scanner has not met. The scanner looked at
//!    that one's place before, as it looks downwards. So that entry was linked later, too, and its own last look is
//!    over: it was not the first. Between two batches of a forward scan nothing is open: the rows of the first one are
//!    locked, so their entries stay, and an inserter that comes up to one of them asks for its gap, or the scanner's
//!    own transaction has linked it (3). It does not do to look at each gap again when it is locked, before the next is
//!    waited for: an entry that has not committed may be rolled back meanwhile, and another one commit below it, which
//!    names the scanned gap from then on.
//! 3. *One's own insert does not open a scanned gap to others.* Until it ends, its entry is uncommitted: inserters
//!    below it go on to the gaps above, which its scan holds. A scan that breaks off at an entry of its own transaction
//!    locks on to the first committed one, as the entry may be rolled back to a savepoint.
//! 4. *One's own uncommitted entry bounds an insert, as a committed one does.* An inserter that comes to an uncommitted
//!    entry whose row it has locked exclusively has linked that entry itself. It locks the gap below it and looks no
//!    further, so that many keys inserted in any order cost a gap each. Take a scanner whose range the new key falls
//!    into. If its gaps end below that entry, they end at a committed one, which the inserter comes to first. If they
//!    go beyond, the scanner has met the entry and holds the gap below it; or it looked before the entry was linked,
//!    and then the transaction that linked it has waited for the scanner to end, by 2. The entry stays as long as the
//!    entries that were inserted below it: a roll back to a savepoint unlinks the later one first.
//!
//! A table without an ordered index has [`STRIPES`] pseudo-gaps, chosen by the key's hash: a scan of everything locks
//! all of them. A secondary hash index has one gap per key: the key's.
//!
//! **Presence.** A transaction that takes a row away takes the insert mode of its key's own gap, and a transaction that
//! changes it otherwise does not. So a row whose insert has committed stays as long as a transaction holds that gap
//! shared. A transaction that only wants the row to be there does not ask for the row
//! ([`hold_row`](super::locks::hold_row)).
//!
//! **Unique indexes.** A transaction that adds or takes away a row with certain columns of a unique index locks the
//! name of those columns exclusively; so whether another row has them is settled while the lock is held.

use super::lock_table::Name;
use super::walk;
use hotrow_storage::{Guard, IndexId, IndexKind, IndexRef, Key, RecordHeader, RecordRef, Table, TableId, mix};
use hotrow_sync::atomic::{Ordering, fence};
use hotrow_txn::{Access, LockPart, LockTarget};
use smallvec::SmallVec;
use std::ops::Bound;

/// The number of pseudo-gaps of a table without an ordered index.
pub(crate) const STRIPES: u64 = 16;

/// Returns the name of the lock on a part of a table. For parts that belong to a key, such as rows and gaps, `hash` is
/// the hash of the key.
pub(crate) fn name_of(table: TableId, part: LockPart, hash: u64) -> Name {
    let number = |index| match index {
        IndexRef::Primary => 0,
        IndexRef::Secondary(IndexId(index)) => u64::from(index) + 1,
    };
    let (index, kind) = match part {
        LockPart::Row => return row_name(table, hash),
        LockPart::Gap(index) => (number(index), 1),
        LockPart::End(index) => (number(index), 2),
        LockPart::Stripe => (0, 3),
        LockPart::Unique(index) => (number(IndexRef::Secondary(index)), 4),
        LockPart::Whole => (0, 5),
        LockPart::Page(_) => (0, 6),
    };
    Name(mix(Access::name(table, hash) ^ (index << 3 | kind).wrapping_mul(0xD6E8_FEB8_6659_FD93)))
}

/// Returns the name of the lock on a row, present or absent. `hash` is the hash of its key.
#[inline]
pub(crate) fn row_name(table: TableId, hash: u64) -> Name {
    Name(Access::name(table, hash))
}

/// A gap between the entries of an index: the name of its lock, and the target under which reports show it.
#[derive(Clone)]
pub(crate) struct Gap {
    pub(crate) name: Name,
    pub(crate) target: LockTarget,
}

/// The gaps of one insert. There is one, unless other transactions are inserting beside it.
pub(crate) type Gaps = SmallVec<[Gap; 1]>;

impl PartialEq for Gap {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Gap {
    /// Returns the kind of part of the table that the gap is: a gap below a key, the end of an index, or a stripe.
    pub(crate) fn part(&self) -> LockPart {
        match self.target {
            LockTarget::Table { part, .. } => part,
            _ => unreachable!("gaps are made below, as parts of a table"),
        }
    }

    /// Returns the gap below the entry with this key in an ordered index.
    pub(crate) fn below(table: TableId, index: IndexRef, key: &Key) -> Self {
        let part = LockPart::Gap(index);
        Self { name: name_of(table, part, key.hash64()), target: target(table, part, key) }
    }

    /// Returns the gap above the last entry of an ordered index.
    pub(crate) fn end(table: TableId, index: IndexRef) -> Self {
        let part = LockPart::End(index);
        Self { name: name_of(table, part, 0), target: LockTarget::Table { table, part, key: None } }
    }

    /// Returns the pseudo-gap with the number `stripe`, below [`STRIPES`], of a table without an ordered index.
    pub(crate) fn stripe(table: TableId, stripe: u64) -> Self {
        let part = LockPart::Stripe;
        Self { name: name_of(table, part, stripe), target: LockTarget::Table { table, part, key: None } }
    }

    /// Returns the pseudo-gap into which a key of a hash index falls.
    pub(crate) fn unordered(table: TableId, index: IndexRef, key: &Key) -> Self {
        match index {
            IndexRef::Primary => Self::stripe(table, key.hash64() % STRIPES),
            IndexRef::Secondary(_) => Self::below(table, index, key),
        }
    }
}

/// Returns the gaps that a key falls into, or fell into, now: the gap below the next entry. If that entry's insert has
/// not committed, the gaps go on up to the first entry whose insert has, or which the same transaction has linked, as
/// `is_own` says.
pub(crate) fn gaps_around<H: RecordHeader>(
    table: &Table<H>,
    guard: Guard<'_>,
    index: IndexRef,
    key: &Key,
    mut is_own: impl FnMut(RecordRef<'_, H>) -> bool,
) -> Gaps {
    if !is_ordered(table, index) {
        return Gaps::from_elem(Gap::unordered(table.id(), index, key), 1);
    }
    let mut gaps = Gaps::new();
    let mut from = Bound::Excluded(key.clone());
    loop {
        let Some(step) = walk::next(table, guard, index, from.as_ref()) else {
            gaps.push(Gap::end(table.id(), index));
            return gaps;
        };
        gaps.push(Gap::below(table.id(), index, &step.key()));
        if step.is_committed() || is_own(step.record) {
            return gaps;
        }
        from = Bound::Excluded(step.key());
    }
}

/// Orders the linking of an entry, or the locking of gaps, before the look at the index that follows: the fence of
/// invariant 2.
pub(crate) fn fence_before_look() {
    // SeqCst: of an inserter and a scanner, the one whose fence is the later one sees what the other did before its
    // own.
    fence(Ordering::SeqCst);
}

pub(crate) fn target(table: TableId, part: LockPart, key: &Key) -> LockTarget {
    LockTarget::Table { table, part, key: Some(key.clone()) }
}

pub(crate) fn is_ordered<H: RecordHeader>(table: &Table<H>, index: IndexRef) -> bool {
    match index {
        IndexRef::Primary => table.is_ordered(),
        IndexRef::Secondary(id) => table.secondary_index(id).schema().kind == IndexKind::Ordered,
    }
}
