//! The locks of one transaction, all of them names in a lock table.
//!
//! [`gaps`](super::gaps) says what is named, and why that keeps phantoms out.

use super::batch;
use super::gaps::{Gap, Gaps, fence_before_look, gaps_around, is_ordered, name_of, row_name, target};
use super::in_place::IndexLocks;
use super::lock_table::{Acquired, Name, Requester, WaitPolicy};
use super::locking::Sought;
use super::mode::Mode;
use super::scan::ScanLocks;
use hotrow_storage::{Database, Guard, IndexId, IndexRef, Key, RecordHeader, RecordRef, Table, TableId};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Abort, Accesses, Isolation, LockPart, LockTarget, Statistics};

/// The entry of the list of owned tables that stands for all tables. No table has this number.
const EVERY_TABLE: TableId = TableId(u32::MAX);

/// The locks of one transaction, which are all names in the lock table, and its wait policy.
pub(crate) struct Locks<P> {
    pub(crate) policy: Arc<P>,
    pub(crate) requester: Requester,
    pub(crate) statistics: Statistics,
    /// The tables that the caller keeps all other transactions off.
    owned: Vec<TableId>,
    /// The lock to release at the next call.
    short: Option<Name>,
    /// The gaps that the entry being linked has announced itself to.
    announced: Gaps,
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

    /// Prefetches the rows of an access set and the heads of their locks, which are about to be asked for.
    #[inline]
    pub(crate) fn prefetch(&self, database: &Database<()>, guard: Guard<'_>, accesses: &Accesses) {
        let lock_table = self.requester.table();
        batch::prefetch(database, guard, accesses.rows(), |_, access| {
            lock_table.prefetch(Name(access.lock_name()));
        });
    }

    pub(crate) fn own(&mut self, table: TableId) {
        if !self.owns(table) {
            self.owned.push(table);
        }
    }

    /// Notes that the caller keeps all other transactions off the whole database until all locks are released.
    pub(crate) fn own_everything(&mut self) {
        self.owned.push(EVERY_TABLE);
    }

    #[inline]
    pub(crate) fn owns(&self, table: TableId) -> bool {
        !self.owned.is_empty() && (self.owned[0] == EVERY_TABLE || self.owned.contains(&table))
    }

    /// Locks a row, present or absent, unless its table is owned. `hash` is the hash of its key.
    #[inline]
    pub(crate) fn row(&mut self, table: TableId, key: &Key, hash: u64, mode: Mode) -> Result<Acquired, Abort> {
        if self.owns(table) {
            return Ok(Acquired::Again);
        }
        self.acquire(row_name(table, hash), mode, || target(table, LockPart::Row, key))
    }

    /// Locks a row shared until the transaction's next call. A lock that the transaction has held before stays held.
    #[inline]
    pub(crate) fn row_for_now(&mut self, table: TableId, key: &Key, hash: u64) -> Result<(), Abort> {
        if self.row(table, key, hash, Mode::SHARED)? == Acquired::New {
            self.short = Some(row_name(table, hash));
        }
        Ok(())
    }

    /// Releases the lock that [`row_for_now`](Self::row_for_now) took in the last call, if it took one.
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

    /// Releases all locks of the transaction.
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

    /// Locks a name as [`acquire`](Self::acquire) does, under another policy: one that also knows the locks that the
    /// transaction holds outside the lock table.
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

    /// Returns the gaps that were locked in the insert mode for the index entry that is being linked.
    pub(crate) fn announced(&mut self) -> &mut Gaps {
        &mut self.announced
    }

    /// Makes a call of the lock manager, and reads the clock before and after.
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

/// Returns whether a row is present. If it is, no other transaction deletes it before this transaction ends. At
/// serializable an absent row stays absent, too.
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

/// The index locks of a transaction whose locks are `L`. The gaps in which entries are linked or unlinked are locked in
/// the insert mode, and unique columns exclusively.
pub(crate) struct Announced<'l, L>(pub(crate) &'l mut L);

impl<L> Announced<'_, L> {
    /// Returns the gaps that a key falls into now, as far as its inserter has to look.
    fn gaps<H: RecordHeader>(&mut self, table: &Table<H>, guard: Guard<'_>, index: IndexRef, key: &Key) -> Gaps
    where
        L: ScanLocks<H>,
    {
        gaps_around(table, guard, index, key, |record| self.0.has_written(table, record))
    }

    /// Locks gaps in the insert mode.
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
