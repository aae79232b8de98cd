//! The locks of one transaction in the hierarchy.

use super::higher::{HigherLock, HigherLocks, Place};
use super::inheritance::Inheritance;
use super::lock::Lock;
use super::manager::{Own, Requester};
use super::mode::Mode;
use super::request::RequestPtr;
use crate::shared::batch;
use crate::shared::gaps::{Gaps, row_name, target};
use crate::shared::in_place::IndexLocks;
use crate::shared::lock_table::{Acquired, Name};
use crate::shared::locking::Sought;
use crate::shared::locks::Announced;
use crate::shared::mode::Mode as FlatMode;
use crate::shared::scan::ScanLocks;
use crate::shared::time_outs::Limits;
use hotrow_storage::{Database, Guard, Key, RecordRef, Table, TableId};
use hotrow_sync::{Time, Waiter};
use hotrow_txn::{Abort, Access, Accesses, Deadlock, Intent, LockPart, LockTarget, Statistics};
use std::mem;

/// The locks of one transaction on rows, gaps and unique keys, and on the nodes above them.
pub(super) struct Locker {
    requester: Requester,
    pub(super) statistics: Statistics,
    higher: HigherLocks,
    /// The locks on rows, gaps and unique keys, in the order in which they were granted.
    lower: Vec<LowerLock>,
    /// The locks that the transaction inherits and passes on, if the engine inherits locks.
    inheritance: Option<Inheritance>,
    /// The number of locks on rows of a page at which the page is locked as a whole; zero for never.
    escalation: usize,
    /// The binary logarithm of the length of a page in bytes.
    page_shift: u32,
    /// The tables that the caller keeps all other transactions off.
    owned: Vec<TableId>,
    /// The tables in which the transaction has announced that it will write rows.
    written: Vec<TableId>,
    /// The row lock to release at the next call.
    short: Option<Name>,
    /// The gaps that the entry being linked has announced itself to.
    announced: Gaps,
}

/// A lock on a row, a gap or a unique key.
struct LowerLock {
    request: RequestPtr,
    /// The number of locks on higher nodes that the transaction had when it was granted this one.
    higher: usize,
}

/// The key of a row, with its hash.
#[derive(Clone, Copy)]
struct KeyOf<'k> {
    table: TableId,
    key: &'k Key,
    hash: u64,
}

impl KeyOf<'_> {
    fn lock(&self) -> Lock {
        lower(row_name(self.table, self.hash))
    }

    fn target(&self) -> LockTarget {
        target(self.table, LockPart::Row, self.key)
    }
}

/// The number of locks in a table at which the table is locked as a whole, in limits of a page.
const TABLE_LIMIT: usize = 4;

/// The number of locks for which room is kept from one transaction to the next.
const KEPT_LOCKS: usize = 1 << 12;

/// Returns the lock of a row, gap or unique key.
fn lower(name: Name) -> Lock {
    Lock { name, is_higher: false }
}

impl Locker {
    pub(super) fn new(
        requester: Requester,
        inheritance: Option<Inheritance>,
        escalation: usize,
        page_shift: u32,
    ) -> Self {
        Self {
            requester,
            statistics: Statistics::default(),
            higher: HigherLocks::default(),
            lower: Vec::new(),
            inheritance,
            escalation,
            page_shift,
            owned: Vec::new(),
            written: Vec::new(),
            short: None,
            announced: Gaps::new(),
        }
    }

    /// Begins a transaction that reports call `label`, and whose waits have these limits.
    pub(super) fn begin(&mut self, label: u32, limits: Limits) {
        self.requester.begin(label, limits);
    }

    /// Returns the waiter of the transaction.
    pub(super) fn waiter(&self) -> &Waiter {
        self.requester.waiter()
    }

    /// Returns the deadlock that the transaction was the victim of, if there was one.
    pub(super) fn deadlock(&self) -> Option<&Deadlock> {
        self.requester.deadlock.as_ref()
    }

    /// Notes that the caller keeps all other transactions off a table until all locks are released.
    pub(super) fn own(&mut self, table: TableId) {
        self.owned.push(table);
    }

    /// Prefetches the rows of an access set and the heads of their locks, which are about to be asked for. Notes the
    /// tables in which the transaction will write, so that it locks each of them and the database once, and not again
    /// in a stronger mode after its first reads.
    pub(super) fn announce(&mut self, database: &Database<()>, guard: Guard<'_>, accesses: &Accesses) {
        for access in accesses.rows().iter().filter(|access| access.intent == Intent::Write) {
            if !self.written.contains(&access.table) {
                self.written.push(access.table);
            }
        }
        let manager = &self.requester.manager;
        let prefetch_row = |_: &Table<()>, access: &Access| manager.prefetch(lower(Name(access.lock_name())));
        let prefetch_page = |table: &Table<()>, record: RecordRef<'_, ()>| {
            manager.prefetch(self.page_of(table.id(), record).lock());
        };
        batch::prefetch_records(database, guard, accesses.rows(), prefetch_row, prefetch_page);
        manager.prefetch(Place::DATABASE.lock());
        if let Some(access) = accesses.rows().first() {
            manager.prefetch(Place::table(access.table).lock());
        }
    }

    /// Locks a row, present or absent, and the nodes above it. Returns whether the row's own lock is new, and the
    /// record that the row has now, if it has one: the row may be deleted.
    #[inline]
    pub(super) fn row<'g>(
        &mut self,
        row: &Sought<'_, 'g, ()>,
        mode: Mode,
    ) -> Result<(Acquired, Option<RecordRef<'g, ()>>), Abort> {
        let find = || row.table.find(row.guard, row.key, row.hash);
        let mut record = find();
        if self.owns(row.table.id()) {
            return Ok((Acquired::Again, record));
        }
        let key = KeyOf { table: row.table.id(), key: row.key, hash: row.hash };
        let mut acquired = Acquired::Again;
        loop {
            let locked = match record {
                Some(found) => self.found(key, found, mode)?,
                None => self.absent(key, mode)?,
            };
            if locked == Acquired::New {
                acquired = Acquired::New;
            }
            // The row may have come, gone or moved to another page until it was locked.
            let now = record.filter(|found| found.is_present()).or_else(find);
            if now.map(|now| now.ptr()) == record.map(|record| record.ptr()) {
                return Ok((acquired, record));
            }
            record = now;
        }
    }

    /// Locks the row of a record that an index led to. Once its insert has committed, a lock on the page as a whole
    /// covers it.
    #[inline]
    fn found(&mut self, row: KeyOf<'_>, record: RecordRef<'_, ()>, mode: Mode) -> Result<Acquired, Abort> {
        let table = Place::table(row.table);
        let at_table = self.higher(table, mode.intention())?;
        if self.covers(at_table, mode) {
            return Ok(Acquired::Again);
        }
        let is_committed = record.is_committed();
        if !is_committed && self.requester.held(row.lock()).covers(mode) {
            // The transaction has inserted the row itself.
            return Ok(Acquired::Again);
        }
        let page = self.page_of(row.table, record);
        let at_page = match self.higher.find(page) {
            Some(position) => self.strengthen(position, mode.intention())?,
            None => {
                self.count_below(at_table)?;
                // The table may be locked as a whole by now.
                if self.covers(at_table, mode) {
                    return Ok(Acquired::Again);
                }
                self.first(page, mode.intention())?
            }
        };
        if is_committed && self.covers(at_page, mode) {
            return Ok(Acquired::Again);
        }
        self.lower(row.lock(), mode, if is_committed { at_page } else { at_table }, || row.target())
    }

    /// Returns the page of a record.
    #[inline]
    fn page_of(&self, table: TableId, record: RecordRef<'_, ()>) -> Place {
        Place::page(table, record.ptr().address() as u64 >> self.page_shift)
    }

    /// Locks the row of a key that has no record. A lock on the table as a whole covers it.
    fn absent(&mut self, row: KeyOf<'_>, mode: Mode) -> Result<Acquired, Abort> {
        let at_table = self.higher(Place::table(row.table), mode.intention())?;
        if self.covers(at_table, mode) {
            return Ok(Acquired::Again);
        }
        self.lower(row.lock(), mode, at_table, || row.target())
    }

    /// Whether the transaction's lock at `position` covers the children of the node in `mode`.
    #[inline]
    fn covers(&self, position: usize, mode: Mode) -> bool {
        self.higher.get(position).mode.grants_below(mode)
    }

    /// Locks a row shared until the transaction's next call. Returns its record, as [`row`](Self::row) does.
    #[inline]
    pub(super) fn row_for_now<'g>(&mut self, row: &Sought<'_, 'g, ()>) -> Result<Option<RecordRef<'g, ()>>, Abort> {
        let (acquired, record) = self.row(row, Mode::S)?;
        if acquired == Acquired::New {
            self.short = Some(row_name(row.table.id(), row.hash));
        }
        Ok(record)
    }

    /// Releases the lock that was taken for the last call only.
    #[inline]
    pub(super) fn release_short(&mut self) {
        if let Some(name) = self.short.take() {
            self.release(name);
        }
    }

    /// Releases the lock of a row, while the transaction goes on.
    fn release(&mut self, Name(name): Name) {
        let Some(position) = self.lower.iter().rposition(|lock| lock.request.name() == name) else { return };
        let request = self.lower.remove(position).request;
        let mut node = self.higher.named(request.parent());
        while let Some(position) = node {
            let lock = self.higher.get_mut(position);
            lock.below = lock.below.saturating_sub(1);
            node = lock.place.is_page().then_some(lock.parent);
        }
        self.timed(|locker| locker.requester.manager.unlink_early(lower(Name(name)), request));
        self.requester.spare(request);
    }

    /// Locks a row, gap or unique key in `mode`, below the node whose lock is at `parent`.
    #[inline]
    fn lower(
        &mut self,
        lock: Lock,
        mode: Mode,
        parent: usize,
        target: impl FnOnce() -> LockTarget,
    ) -> Result<Acquired, Abort> {
        let parent_name = self.higher.get(parent).request.name();
        let acquire = |locker: &mut Self| {
            let own = (mode, Own::Unknown);
            locker.requester.acquire(lock, own, parent_name, target, &mut locker.statistics)
        };
        let grant = self.timed(acquire)?;
        self.statistics.hierarchy.hot += u64::from(grant.is_hot());
        if !grant.is_new() {
            if grant.request.parent() != parent_name {
                // Another row has this name, too, or the row has come or gone: no lock on a page covers both.
                grant.request.set_parent(0);
            }
            return Ok(Acquired::Again);
        }
        self.lower.push(LowerLock { request: grant.request, higher: self.higher.len() });
        self.count_below(parent)?;
        Ok(Acquired::New)
    }

    /// Locks a node above the rows in `mode`, after the nodes above it. Returns the position of the lock.
    #[inline]
    fn higher(&mut self, place: Place, mode: Mode) -> Result<usize, Abort> {
        match self.higher.find(place) {
            Some(position) => self.strengthen(position, mode),
            None => self.first(place, mode),
        }
    }

    /// Strengthens the lock at `position` by `mode`, if the transaction does not have as much. Returns the position.
    #[inline]
    fn strengthen(&mut self, position: usize, mode: Mode) -> Result<usize, Abort> {
        if self.higher.get(position).mode.covers(mode) { Ok(position) } else { self.convert(position, mode) }
    }

    /// Strengthens the lock at `position` by `mode`.
    fn convert(&mut self, position: usize, mode: Mode) -> Result<usize, Abort> {
        let held = self.higher.get(position);
        let (place, goal, request) = (held.place, held.mode.join(mode), held.request);
        if let Some(parent) = place.parent() {
            self.higher(parent, goal.intention())?;
        }
        if !request.strengthen(goal) {
            let acquire = |locker: &mut Self| {
                let own = (goal, Own::Held(request));
                locker.requester.acquire(place.lock(), own, 0, || place.target(), &mut locker.statistics)
            };
            let grant = self.timed(acquire)?;
            self.count(place, grant.is_hot());
            self.higher.get_mut(position).is_hot |= grant.is_hot();
        }
        self.higher.get_mut(position).mode = goal;
        Ok(position)
    }

    /// Locks a node that the transaction holds no lock on.
    fn first(&mut self, place: Place, mode: Mode) -> Result<usize, Abort> {
        let will_write = mode == Mode::IS && place.is_one_of(&self.written);
        let mode = if will_write { Mode::IX } else { mode };
        let parent = place.parent().map(|parent| self.higher(parent, mode.intention())).transpose()?;
        if self.inheritance.is_some()
            && let Some(position) = self.reclaim(place, mode, parent)
        {
            return Ok(position);
        }
        let acquire = |locker: &mut Self| {
            let own = (mode, Own::None);
            locker.requester.acquire(place.lock(), own, 0, || place.target(), &mut locker.statistics)
        };
        let grant = self.timed(acquire)?;
        self.count(place, grant.is_hot());
        let position = self.higher.push(HigherLock {
            place,
            mode,
            request: grant.request,
            parent: parent.unwrap_or(0),
            is_hot: grant.is_hot(),
            is_heritable: false,
            is_inherited: false,
            unused: 0,
            below: 0,
            limit: self.limit(place),
        });
        Ok(position)
    }

    /// Makes an inherited lock one of the transaction's own. `parent` is the position of the lock on the node above.
    fn reclaim(&mut self, place: Place, mode: Mode, parent: Option<usize>) -> Option<usize> {
        let is_orphan = parent.is_some_and(|parent| !self.higher.get(parent).is_inherited);
        let start = self.statistics.timed.then(|| self.waiter().now());
        let inheritance = self.inheritance.as_mut()?;
        let reclaimed = inheritance.reclaim(&mut self.requester, place, mode, is_orphan, &mut self.statistics);
        self.count_inheritance(start);
        let (parent, limit) = (parent.unwrap_or(0), self.limit(place));
        let lock = HigherLock { parent, below: 0, limit, ..reclaimed? };
        self.statistics.locks += 1;
        self.count(place, lock.is_hot);
        Some(self.higher.push(lock))
    }

    /// Counts a lock that was granted on a node above the rows.
    #[inline]
    fn count(&mut self, place: Place, is_hot: bool) {
        let counts = &mut self.statistics.hierarchy;
        match () {
            () if place.is_page() => counts.pages += 1,
            () if place.is_database() => counts.databases += 1,
            () => counts.tables += 1,
        }
        counts.hot += u64::from(is_hot);
    }

    /// Counts a lock below the node at `position`, and if that is a page, below its table. If there are too many below
    /// a node, it is locked as a whole, unless another transaction is in the way.
    #[inline]
    fn count_below(&mut self, position: usize) -> Result<(), Abort> {
        if self.escalation == 0 {
            return Ok(());
        }
        let lock = self.higher.get_mut(position);
        let above = lock.place.is_page().then_some(lock.parent);
        lock.below += 1;
        if lock.below >= lock.limit {
            self.escalate(position)?;
        }
        above.map_or(Ok(()), |table| self.count_below(table))
    }

    /// Returns the number of locks below a node at which the node is locked as a whole.
    fn limit(&self, place: Place) -> usize {
        match () {
            () if place.is_page() => self.escalation,
            () if place.is_database() => usize::MAX,
            () => self.escalation * TABLE_LIMIT,
        }
    }

    /// Locks a node as a whole, if no other transaction is in the way, and releases the locks below it that this makes
    /// superfluous.
    #[cold]
    fn escalate(&mut self, position: usize) -> Result<(), Abort> {
        let HigherLock { place, mode, parent, .. } = *self.higher.get(position);
        let limit = self.limit(place);
        self.higher.get_mut(position).limit += limit;
        let refuses_waits = mem::replace(&mut self.requester.refuses_waits, true);
        let escalated = self.convert(position, mode.whole());
        self.requester.refuses_waits = refuses_waits;
        match escalated {
            Err(Abort::Timeout) => return Ok(()),
            escalated => drop(escalated?),
        }
        self.statistics.hierarchy.escalations += 1;
        let lock = self.higher.get_mut(position);
        (lock.below, lock.limit) = (0, limit);
        let mut covering = vec![lock.request.name()];
        if place.is_page() {
            let released = self.release_covered(&mut covering);
            let table = self.higher.get_mut(parent);
            table.below = table.below.saturating_sub(released);
            return Ok(());
        }
        let pages = self.higher.remove_pages(position);
        covering.extend(pages.iter().map(|page| page.request.name()));
        self.release_covered(&mut covering);
        for page in pages.into_iter().rev() {
            self.requester.manager.unlink_early(page.place.lock(), page.request);
            self.requester.spare(page.request);
        }
        Ok(())
    }

    /// Releases the locks below nodes that are locked as a whole, and returns their number. `covering` has the names of
    /// the nodes.
    fn release_covered(&mut self, covering: &mut [u64]) -> usize {
        let before = self.lower.len();
        covering.sort_unstable();
        let is_covered = |lock: &mut LowerLock| covering.binary_search(&lock.request.parent()).is_ok();
        for LowerLock { request, .. } in self.lower.extract_if(.., is_covered) {
            self.requester.manager.unlink_early(lower(Name(request.name())), request);
            self.requester.spare(request);
        }
        before - self.lower.len()
    }

    /// Releases all locks of the transaction, the youngest first. Those that are heritable are passed on to the
    /// transaction's agent instead, if the engine inherits locks.
    #[inline]
    pub(super) fn release_all(&mut self) {
        self.short = None;
        self.owned.clear();
        self.written.clear();
        self.timed(Self::release_locks);
        let Some(inheritance) = &mut self.inheritance else { return };
        let start = self.statistics.timed.then(|| self.requester.waiter().now());
        inheritance.end(&mut self.requester, &mut self.statistics);
        self.count_inheritance(start);
    }

    /// Counts the time of a call for inheritance that began at `start`; `None` if times are not measured.
    #[inline]
    fn count_inheritance(&mut self, start: Option<Time>) {
        if let Some(start) = start {
            let taken = self.waiter().now().since(start);
            self.statistics.hierarchy.inheritance_ns += taken.as_nanos() as u64;
            self.statistics.hierarchy.inheritance_calls += 1;
        }
    }

    fn release_locks(&mut self) {
        // Other cores may have taken the lines of these heads. They come back while the rows' locks are released.
        for place in self.higher.places().take_while(|place| !place.is_page()) {
            self.requester.manager.prefetch(place.lock());
        }
        self.higher.note_heritable(|lock| lock.mode.is_shared() && !lock.request.state().awaited);
        while let Some(LowerLock { request, higher }) = self.lower.pop() {
            while self.higher.len() > higher {
                self.release_youngest();
            }
            self.requester.release(lower(Name(request.name())), request, &mut self.statistics);
        }
        while self.higher.len() > 0 {
            self.release_youngest();
        }
        if self.lower.capacity() > KEPT_LOCKS {
            self.lower.shrink_to(KEPT_LOCKS);
        }
    }

    /// Releases the youngest lock above the rows, or passes it on.
    #[inline]
    fn release_youngest(&mut self) {
        let Some(lock) = self.higher.pop() else { return };
        let is_hot = lock.is_heritable && lock.is_hot;
        self.statistics.hierarchy.heritable += u64::from(lock.is_heritable);
        self.statistics.hierarchy.hot_heritable += u64::from(is_hot);
        let left = match &mut self.inheritance {
            Some(inheritance) if is_hot => inheritance.pass_on(lock),
            _ => Some(lock),
        };
        if let Some(lock) = left {
            self.requester.release(lock.place.lock(), lock.request, &mut self.statistics);
        }
    }

    /// Makes a call of the lock manager. If times are measured, the clock is read before and after.
    #[inline]
    fn timed<R>(&mut self, call: impl FnOnce(&mut Self) -> R) -> R {
        if self.statistics.timed { self.with_clock(call) } else { call(self) }
    }

    #[cold]
    fn with_clock<R>(&mut self, call: impl FnOnce(&mut Self) -> R) -> R {
        let start = self.waiter().now();
        let waited_before = self.statistics.wait_ns;
        let result = call(self);
        let waited = self.statistics.wait_ns - waited_before;
        let all = self.waiter().now().since(start).as_nanos() as u64;
        self.statistics.lock_manager_ns += all.saturating_sub(waited);
        self.statistics.timed_calls += 1;
        result
    }

    /// Returns a page that the transaction has locked, if there is one.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn page(&self) -> Option<Place> {
        (0..self.higher.len()).map(|position| self.higher.get(position).place).find(|place| place.is_page())
    }

    /// Returns the object that announces the entries of rows to gaps.
    pub(super) fn entries(&mut self) -> impl IndexLocks<()> {
        Announced(self)
    }
}

impl ScanLocks<()> for Locker {
    #[inline]
    fn owns(&self, table: TableId) -> bool {
        !self.owned.is_empty() && self.owned.contains(&table)
    }

    #[inline]
    fn waits(&self) -> u64 {
        self.statistics.waits
    }

    fn refuse_waits(&mut self, refuse: bool) {
        self.requester.refuses_waits = refuse;
    }

    fn lock_key<'g>(
        &mut self,
        table: &'g Table<()>,
        guard: Guard<'g>,
        (key, hash): (&Key, u64),
        mode: FlatMode,
    ) -> Result<Option<RecordRef<'g, ()>>, Abort> {
        let (_, record) = self.row(&Sought { table, guard, key, hash }, for_scan(mode))?;
        Ok(record)
    }

    #[inline]
    fn lock_record(&mut self, table: &Table<()>, record: RecordRef<'_, ()>, mode: FlatMode) -> Result<Acquired, Abort> {
        if self.owns(table.id()) {
            return Ok(Acquired::Again);
        }
        let key = record.key();
        self.found(KeyOf { table: table.id(), key: &key, hash: key.hash64() }, record, for_scan(mode))
    }

    fn unlock_record(&mut self, table: &Table<()>, record: RecordRef<'_, ()>) {
        self.release(row_name(table.id(), record.key().hash64()));
    }

    fn has_written(&mut self, table: &Table<()>, record: RecordRef<'_, ()>) -> bool {
        let is_exclusive = |position| self.higher.get(position).mode == Mode::X;
        if self.higher.find(Place::table(table.id())).is_some_and(is_exclusive) {
            return true;
        }
        let lock = lower(row_name(table.id(), record.key().hash64()));
        self.timed(|locker| locker.requester.held(lock)) == Mode::X
    }

    fn lock_part(
        &mut self,
        table: &Table<()>,
        _part: LockPart,
        name: Name,
        mode: FlatMode,
        target: impl FnOnce() -> LockTarget,
    ) -> Result<(), Abort> {
        let mode = Mode::of_flat(mode);
        let at_table = self.higher(Place::table(table.id()), mode.intention())?;
        if self.covers(at_table, mode) {
            return Ok(());
        }
        self.lower(lower(name), mode, at_table, target).map(drop)
    }

    fn announced(&mut self) -> &mut Gaps {
        &mut self.announced
    }
}

/// Returns the mode in which a scan locks a row: rows that it may update later are locked in the update mode.
fn for_scan(mode: FlatMode) -> Mode {
    if mode == FlatMode::EXCLUSIVE { Mode::U } else { Mode::of_flat(mode) }
}
