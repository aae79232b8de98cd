//! The locks of one transaction: rows, gaps and unique keys, and why they keep phantoms out.
//!
//! **Absent keys.** A lock is a name, not a record: reading an absent key locks its name, and so keeps inserters out.
//!
//! **Ranges.** An ordered index is a sequence of keys with gaps between them; a gap is named by the key above it, the
//! last one by the index. A scan locks shared the gap below each entry that it passes, and the first gap beyond its
//! range. Linking an entry takes the *insert* mode of the gap that it falls into, unlinking one that of the entry's own
//! gap (the two gaps beside it become one). Insert and shared conflict; two inserters do not. An entry whose insert has
//! not committed may go again, and then its gap merges with the next: so wherever such an entry names a gap, scanners and
//! inserters alike take the gaps of all entries up to the first whose insert has committed.
//!
//! Invariants, and why they hold:
//!
//! 1. *The end of a scanner's gaps stays.* The last gap that a scan locks is that of a committed entry (or the index's
//!    end). Only a committed delete unlinks that entry, and it needs the insert mode of the gap, which the scan excludes.
//! 2. *A scanned gap stays empty while its scanner runs.* An inserter links its entry, then looks which gaps that falls into, takes the insert
//!    mode of those, and looks again until they have not changed. A scanner locks its gaps, all of them up to the committed entry, then looks at
//!    all of these entries once more, the highest first, until they have not changed: the same entries, not others with their keys. Each fences
//!    before its last look. If a link came before the scanner's last look at its place, that meets the entry: within the range the scanner waits
//!    for its row, above it the scanner begins again. Suppose that of those that were linked later some have been looked around for the last time
//!    while the scanner runs, and take the first. Its inserter's last look goes up, and comes after its link. At the latest it comes to the
//!    committed entry of 1, and so asks for a gap that the scanner holds, and waits; unless it ends earlier, at an entry that the scanner has not
//!    met. The scanner looked at that one's place before, as it looks downwards. So that entry was linked later, too, and its own last look is
//!    over: it was not the first. Between two batches of a forward scan nothing is open: the rows of the first one are locked, so their entries
//!    stay, and who comes up to one of them asks for its gap, or the scanner's own transaction has linked it (3). It does not do to look at each
//!    gap again when it is locked, before the next is waited for: an entry that has not committed may go meanwhile, and another one commit below
//!    it, which names the scanned gap from then on.
//! 3. *One's own insert does not open a scanned gap to others.* Until it ends, its entry is uncommitted: those who insert
//!    below it go on to the gaps above, which its scan holds. A scan that breaks off at an entry of its own transaction
//!    locks on to the first committed one, as the entry may be rolled back to a savepoint.
//! 4. *One's own uncommitted entry bounds an insert, as a committed one does.* An inserter that comes to an uncommitted entry whose row it
//!    has locked exclusively has linked that entry itself. It locks the gap below it and looks no further, so that many keys
//!    inserted in any order cost a gap each. Take a scanner whose range the new key falls into. If its gaps end below that entry, they end at
//!    a committed one, which the inserter comes to first. If they go beyond, the scanner has met the entry and holds the gap below it; or it
//!    looked before the entry was linked, and then whoever linked that has waited for the scanner to end, by 2. The entry stays as long as
//!    what was inserted below it does: a roll back to a savepoint unlinks the later one first.
//!
//! A table without an ordered index has [`STRIPES`] pseudo-gaps, chosen by the key's hash: a scan of everything locks
//! all of them. A secondary hash index has one gap per key: the key's.
//!
//! **Presence.** Whoever takes a row away takes the insert mode of its key's own gap, and whoever changes it otherwise does not. So
//! a row whose insert has committed stays as long as somebody holds that gap shared, and who only wants it to be there does
//! not ask for the row ([`hold_row`]).
//!
//! **Unique indexes.** Whoever adds or takes away a row with certain columns of a unique index locks the name of those
//! columns exclusively; so whether another row has them is settled while the lock is held.

use super::in_place::IndexLocks;
use super::lock_table::{Acquired, Name, Requester, WaitPolicy};
use super::locking::Sought;
use super::mode::Mode;
use super::scan::ScanLocks;
use super::walk;
use hotrow_storage::{Guard, IndexId, IndexKind, IndexRef, Key, RecordHeader, RecordRef, Table, TableId, mix};
use hotrow_sync::atomic::{Ordering, fence};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Abort, Access, Isolation, LockPart, LockTarget, Statistics};
use smallvec::SmallVec;
use std::ops::Bound;

/// Pseudo-gaps of a table without an ordered index.
pub(crate) const STRIPES: u64 = 16;

/// In the list of owned tables: all of them. No table has this number.
const EVERY_TABLE: TableId = TableId(u32::MAX);

/// The locks of one transaction.
pub(crate) struct Locks<P> {
    pub(crate) policy: Arc<P>,
    pub(crate) requester: Requester,
    pub(crate) statistics: Statistics,
    /// Tables that the caller keeps everybody else off.
    owned: Vec<TableId>,
    /// A lock to release at the next call.
    short: Option<Name>,
    /// The gaps that the entry being linked has announced itself to.
    announced: Gaps,
}

/// The name of a part of a table: of the one with this key, for parts that there are many of.
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
    };
    Name(mix(Access::name(table, hash) ^ (index << 3 | kind).wrapping_mul(0xD6E8_FEB8_6659_FD93)))
}

/// The name of a row, present or absent.
#[inline]
pub(crate) fn row_name(table: TableId, hash: u64) -> Name {
    Name(Access::name(table, hash))
}

impl<P: WaitPolicy> Locks<P> {
    pub(crate) fn new(policy: Arc<P>, requester: Requester) -> Self {
        Self {
            policy,
            requester,
            statistics: Statistics::default(),
            owned: Vec::new(),
            short: None,
            announced: Gaps::new(),
        }
    }

    pub(crate) fn waiter(&self) -> &Waiter {
        self.requester.waiter()
    }

    pub(crate) fn own(&mut self, table: TableId) {
        if !self.owns(table) {
            self.owned.push(table);
        }
    }

    /// The caller keeps everybody else off the whole database until everything is released.
    pub(crate) fn own_everything(&mut self) {
        self.owned.push(EVERY_TABLE);
    }

    #[inline]
    pub(crate) fn owns(&self, table: TableId) -> bool {
        !self.owned.is_empty() && (self.owned[0] == EVERY_TABLE || self.owned.contains(&table))
    }

    /// Locks a row. `hash` is its key's.
    #[inline]
    pub(crate) fn row(&mut self, table: TableId, key: &Key, hash: u64, mode: Mode) -> Result<Acquired, Abort> {
        if self.owns(table) {
            return Ok(Acquired::Again);
        }
        self.acquire(row_name(table, hash), mode, || target(table, LockPart::Row, key))
    }

    /// Locks a row shared until the transaction's next call.
    #[inline]
    pub(crate) fn row_for_now(&mut self, table: TableId, key: &Key, hash: u64) -> Result<(), Abort> {
        if self.row(table, key, hash, Mode::SHARED)? == Acquired::New {
            self.short = Some(row_name(table, hash));
        }
        Ok(())
    }

    /// Releases what was locked for the last call only.
    #[inline]
    pub(crate) fn release_short(&mut self) {
        if let Some(name) = self.short.take() {
            self.release(name);
        }
    }

    /// Releases one name before the transaction's end.
    pub(crate) fn release(&mut self, name: Name) {
        let release = |locks: &mut Self| locks.requester.release(name, &*locks.policy);
        if self.statistics.timed { self.timed(release) } else { release(self) }
    }

    /// Releases everything.
    #[inline]
    pub(crate) fn release_all(&mut self) {
        self.short = None;
        self.owned.clear();
        let release = |locks: &mut Self| locks.requester.release_all();
        if self.statistics.timed { self.timed(release) } else { release(self) }
    }

    #[inline]
    pub(crate) fn acquire(
        &mut self,
        name: Name,
        mode: Mode,
        target: impl FnOnce() -> LockTarget,
    ) -> Result<Acquired, Abort> {
        let acquire =
            |locks: &mut Self| locks.requester.acquire(name, mode, target, &*locks.policy, &mut locks.statistics);
        if self.statistics.timed { self.timed(acquire) } else { acquire(self) }
    }

    /// [`acquire`](Self::acquire) under another policy, which knows what the transaction holds beside names.
    #[inline]
    pub(crate) fn acquire_by(
        &mut self,
        name: Name,
        mode: Mode,
        target: impl FnOnce() -> LockTarget,
        policy: &impl WaitPolicy,
    ) -> Result<Acquired, Abort> {
        let acquire = |locks: &mut Self| locks.requester.acquire(name, mode, target, policy, &mut locks.statistics);
        if self.statistics.timed { self.timed(acquire) } else { acquire(self) }
    }

    /// The gaps that the entry being linked has announced itself to.
    pub(crate) fn announced(&mut self) -> &mut Gaps {
        &mut self.announced
    }

    /// A call of the lock manager with the clock read before and after.
    #[cold]
    fn timed<R>(&mut self, call: impl FnOnce(&mut Self) -> R) -> R {
        let start = self.waiter().now();
        let waited_before = self.statistics.wait_ns;
        let result = call(self);
        let waited = self.statistics.wait_ns - waited_before;
        let all = self.waiter().now().since(start).as_nanos() as u64;
        self.statistics.lock_manager_ns += all.saturating_sub(waited);
        self.statistics.timed_calls += 1;
        result
    }
}

/// A gap that is about to be locked.
#[derive(Clone)]
pub(crate) struct Gap {
    pub(crate) name: Name,
    pub(crate) target: LockTarget,
}

/// The gaps of one insert: one, unless others are inserting beside it.
pub(crate) type Gaps = SmallVec<[Gap; 1]>;

impl PartialEq for Gap {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Gap {
    /// What it is to its table.
    pub(crate) fn part(&self) -> LockPart {
        match self.target {
            LockTarget::Table { part, .. } => part,
            _ => unreachable!("gaps are made below, as parts of a table"),
        }
    }

    /// The gap below an ordered index's entry.
    pub(crate) fn below(table: TableId, index: IndexRef, key: &Key) -> Self {
        let part = LockPart::Gap(index);
        Self { name: name_of(table, part, key.hash64()), target: target(table, part, key) }
    }

    /// The gap above an ordered index's last entry.
    pub(crate) fn end(table: TableId, index: IndexRef) -> Self {
        let part = LockPart::End(index);
        Self { name: name_of(table, part, 0), target: LockTarget::Table { table, part, key: None } }
    }

    /// A pseudo-gap of a table without an ordered index.
    pub(crate) fn stripe(table: TableId, stripe: u64) -> Self {
        let part = LockPart::Stripe;
        Self { name: name_of(table, part, stripe), target: LockTarget::Table { table, part, key: None } }
    }

    /// The pseudo-gap of a hash index that a key belongs to.
    pub(crate) fn unordered(table: TableId, index: IndexRef, key: &Key) -> Self {
        match index {
            IndexRef::Primary => Self::stripe(table, key.hash64() % STRIPES),
            IndexRef::Secondary(_) => Self::below(table, index, key),
        }
    }
}

/// The gaps that a key falls into, or fell into, now: the one below the next entry, and if that entry's insert has
/// not committed, those up to the first entry whose has, or that `is_own` says was linked by the same transaction.
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

/// The fence of invariant 2: between linking an entry or locking gaps, and looking at the index.
pub(crate) fn fence_before_look() {
    // SeqCst: of an inserter and a scanner, the one whose fence is the later one sees what the other did before its own.
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

impl<P: WaitPolicy> ScanLocks<()> for Locks<P> {
    #[inline]
    fn owns(&self, table: TableId) -> bool {
        self.owns(table)
    }

    #[inline]
    fn waits(&self) -> u64 {
        self.statistics.waits
    }

    fn refuse_waits(&mut self, refuse: bool) {
        self.requester.refuse_waits(refuse);
    }

    fn lock_key<'g>(
        &mut self,
        table: &'g Table<()>,
        guard: Guard<'g>,
        (key, hash): (&Key, u64),
        mode: Mode,
    ) -> Result<Option<RecordRef<'g, ()>>, Abort> {
        self.row(table.id(), key, hash, mode)?;
        Ok(table.find(guard, key, hash))
    }

    #[inline]
    fn lock_record(&mut self, table: &Table<()>, record: RecordRef<'_, ()>, mode: Mode) -> Result<Acquired, Abort> {
        let key = record.key();
        self.row(table.id(), &key, key.hash64(), mode)
    }

    fn unlock_record(&mut self, table: &Table<()>, record: RecordRef<'_, ()>) {
        self.release(row_name(table.id(), record.key().hash64()));
    }

    fn has_written(&mut self, table: &Table<()>, record: RecordRef<'_, ()>) -> bool {
        let name = row_name(table.id(), record.key().hash64());
        let holds = |locks: &mut Self| locks.requester.holds(name).covers(Mode::EXCLUSIVE);
        if self.statistics.timed { self.timed(holds) } else { holds(self) }
    }

    #[inline]
    fn lock_part(
        &mut self,
        _table: &Table<()>,
        _part: LockPart,
        name: Name,
        mode: Mode,
        target: impl FnOnce() -> LockTarget,
    ) -> Result<(), Abort> {
        self.acquire(name, mode, target).map(drop)
    }

    fn announced(&mut self) -> &mut Gaps {
        &mut self.announced
    }
}

/// Whether a row is there; if so it stays until the transaction's end. At `serializable` it stays away, too, if it is not.
pub(crate) fn hold_row<H: RecordHeader>(
    locks: &mut impl ScanLocks<H>,
    Sought { table, guard, key, hash }: Sought<'_, '_, H>,
    isolation: Isolation,
) -> Result<bool, Abort> {
    if table.is_ordered() && !locks.owns(table.id()) {
        locks.read_gap(table, IndexRef::Primary, key)?;
        match table.find(guard, key, hash) {
            None if isolation != Isolation::Serializable => return Ok(false),
            // An absent key has no gap of its own.
            None => {}
            Some(record) if record.is_committed() => return Ok(record.is_present()),
            // Its insert may be undone.
            Some(_) => {}
        }
    }
    let found = locks.lock_key(table, guard, (key, hash), Mode::SHARED)?;
    Ok(found.is_some_and(|record| record.is_present()))
}

/// Index entries that come and go by the locks `L` of their transaction.
pub(crate) struct Announced<'l, L>(pub(crate) &'l mut L);

impl<L> Announced<'_, L> {
    /// The gaps that a key falls into now, as far as its inserter has to look.
    fn gaps<H: RecordHeader>(&mut self, table: &Table<H>, guard: Guard<'_>, index: IndexRef, key: &Key) -> Gaps
    where
        L: ScanLocks<H>,
    {
        gaps_around(table, guard, index, key, |record| self.0.has_written(table, record))
    }

    /// Takes the insert mode of gaps.
    fn announce<H: RecordHeader>(&mut self, table: &Table<H>, gaps: Gaps) -> Result<(), Abort>
    where
        L: ScanLocks<H>,
    {
        gaps.iter().try_for_each(|gap| self.0.lock_gap(table, gap, Mode::INSERT))?;
        *self.0.announced() = gaps;
        Ok(())
    }
}

impl<H: RecordHeader, L: ScanLocks<H>> IndexLocks<H> for Announced<'_, L> {
    fn linking(&mut self, table: &Table<H>, record: RecordRef<'_, H>) -> bool {
        self.0.linking(table, record);
        false
    }

    fn entering(&mut self, table: &Table<H>, guard: Guard<'_>, index: IndexRef, key: &Key) -> Result<(), Abort> {
        if self.0.owns(table.id()) {
            return Ok(());
        }
        let gaps = self.gaps(table, guard, index, key);
        self.announce(table, gaps)
    }

    fn entered(&mut self, table: &Table<H>, guard: Guard<'_>, index: IndexRef, key: &Key) -> Result<(), Abort> {
        if self.0.owns(table.id()) || !is_ordered(table, index) {
            return Ok(());
        }
        loop {
            fence_before_look();
            let gaps = self.gaps(table, guard, index, key);
            if gaps == *self.0.announced() {
                return Ok(());
            }
            self.announce(table, gaps)?;
        }
    }

    fn leaving(&mut self, table: &Table<H>, index: IndexRef, key: &Key) -> Result<(), Abort> {
        if self.0.owns(table.id()) {
            return Ok(());
        }
        let gap = match is_ordered(table, index) {
            true => Gap::below(table.id(), index, key),
            false => Gap::unordered(table.id(), index, key),
        };
        self.0.lock_gap(table, &gap, Mode::INSERT)
    }

    fn unique(&mut self, table: &Table<H>, index: IndexId, columns: &Key) -> Result<(), Abort> {
        if self.0.owns(table.id()) {
            return Ok(());
        }
        let part = LockPart::Unique(index);
        let name = name_of(table.id(), part, columns.hash64());
        self.0.lock_part(table, part, name, Mode::EXCLUSIVE, || target(table.id(), part, columns))
    }
}
