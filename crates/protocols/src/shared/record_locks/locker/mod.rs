//! The locks of a transaction.

mod retiring;

use super::followers::Role;
use super::foreseen::Foreseen;
use super::foresight::Foresight;
use super::held::{Held, HeldRecord};
use super::lock::{Ended, LockOwner, RecordLock};
use super::retired::{Part, RetiredRows};
use super::waiting::{
    Listing, Queueing, RecordOrName, RecordWait, RecordWaits, Seeking, Ticket, WaitsForName, WaitsForRecord,
};
use crate::shared::deadlocks::{Admission, Blocked, Request, needs_ticket};
use crate::shared::gaps::{Gaps, row_name, target};
use crate::shared::lock_table::{Acquired, Name, Requester};
use crate::shared::locks::Locks;
use crate::shared::mode::Mode;
use crate::shared::scan::ScanLocks;
use crate::shared::time_outs::{Limits, Patience, TimeOuts};
use hotrow_storage::{Database, Guard, Key, RecordRef, Table, TableId};
use hotrow_sync::{Arc, Latch, Waiter, Wake};
use hotrow_txn::{Abort, Begin, Deadlock, LockPart, LockTarget, Statistics, WaitsFor};
use std::marker::PhantomData;

/// The locks of one transaction: locks in the headers of records, and names in the lock table for gaps, unique columns
/// and absent keys.
pub(crate) struct Locker<L: RecordLock> {
    owner: L::Owner,
    held: Held<L>,
    names: Locks<Queueing<L>>,
    /// The record to release at the next call, which is locked to read.
    short: Option<HeldRecord<L>>,
    limits: Limits,
    /// Whether the transaction fails, and does not wait, if another one holds a lock that it wants.
    refuses_waits: bool,
    /// The transactions that wait, or `None` if deadlocks end by time-out, or cannot arise.
    waits: Option<Arc<RecordWaits<L>>>,
    /// The reads that are locked as writes.
    foreseen: Foreseen<L>,
    /// The retired rows, and the transaction's part in them, or `None` if no row is ever retired.
    retired: Option<(Arc<RetiredRows<L>>, Part<L>)>,
    /// The record that the transaction waits for, or waited for when its wait unwound.
    awaited: Option<HeldRecord<L>>,
    /// The deadlock that the transaction was the victim of, for the lock of a record.
    deadlock: Option<Deadlock>,
    /// Whether the transaction was the victim of a deadlock.
    is_victim: bool,
    ticket: Ticket,
    /// Whether read locks end with their call, as at read committed.
    reads_briefly: bool,
}

impl<L: RecordLock> Locker<L> {
    pub(crate) fn new(
        owner: L::Owner,
        requester: Requester,
        waits: Option<Arc<RecordWaits<L>>>,
        foresight: Option<Arc<Foresight>>,
        retired: Option<Arc<RetiredRows<L>>>,
    ) -> Self {
        let retired = retired.map(|rows| (rows, Part::new(requester.parked())));
        Self {
            owner,
            held: Held::default(),
            retired,
            awaited: None,
            names: Locks::new(Arc::new(Queueing(PhantomData)), requester),
            short: None,
            limits: Limits::default(),
            refuses_waits: false,
            waits,
            foreseen: Foreseen::new(foresight),
            deadlock: None,
            is_victim: false,
            ticket: Ticket::Needless,
            reads_briefly: false,
        }
    }

    /// Begins a transaction. `again` says whether it is a retry of the last one, and `is_declared` whether the rows of
    /// its access set are locked as it begins.
    #[inline]
    pub(crate) fn begin(&mut self, begin: &Begin<'_>, again: bool, is_declared: bool, time_outs: &TimeOuts) {
        self.owner.begin();
        self.limits = time_outs.limits(begin.one_shot);
        self.refuses_waits = false;
        self.deadlock = None;
        self.is_victim = false;
        self.reads_briefly = false;
        self.foreseen.begin(!begin.read_only);
        self.names.requester.begin(begin.label, self.limits);
        self.names.requester.stand(begin.one_shot, again);
        debug_assert_ne!(self.ticket, Ticket::Held, "it was returned with the locks");
        self.ticket = match needs_ticket(self.names.requester.standing(), begin.one_shot, is_declared) {
            true => Ticket::Missing,
            false => Ticket::Needless,
        };
    }

    /// Notes that the running transaction reads at read committed, so that its read locks end with their calls.
    pub(crate) fn read_briefly(&mut self) {
        self.reads_briefly = true;
    }

    /// Returns the waiter of the transaction.
    pub(crate) fn waiter(&self) -> &Waiter {
        self.names.waiter()
    }

    /// Returns the deadlock that the transaction was the victim of, if there was one.
    pub(crate) fn deadlock(&self) -> Option<&Deadlock> {
        self.deadlock.as_ref().or(self.names.requester.deadlock())
    }

    pub(crate) fn statistics(&mut self) -> &mut Statistics {
        &mut self.names.statistics
    }

    pub(crate) fn own(&mut self, table: TableId) {
        self.names.own(table);
    }

    /// Locks the row of a key, present or absent, to the transaction's end: its record, which is returned, or the name
    /// of the key if it has no record.
    #[inline]
    pub(crate) fn row<'g>(
        &mut self,
        table: &'g Table<L>,
        guard: Guard<'g>,
        (key, hash): (&Key, u64),
        mode: Mode,
    ) -> Result<Option<RecordRef<'g, L>>, Abort> {
        self.row_by(table, guard, (key, hash), mode, |locker, record| locker.record(table.id(), record, mode))
    }

    /// Locks the row of a key, present or absent, to the transaction's end, in order to read it. The lock is exclusive
    /// if the transaction is expected to write the row later.
    #[inline]
    pub(crate) fn row_to_read<'g>(
        &mut self,
        table: &'g Table<L>,
        guard: Guard<'g>,
        (key, hash): (&Key, u64),
    ) -> Result<Option<RecordRef<'g, L>>, Abort> {
        self.row_by(table, guard, (key, hash), Mode::SHARED, |locker, record| match locker.foresees_writes() {
            true => locker.record_to_read(table.id(), record),
            false => locker.record(table.id(), record, Mode::SHARED),
        })
    }

    /// Locks the row of a key: the name of an absent row in the mode, or a record by calling `lock`, which returns
    /// `None` if the record is dead.
    #[inline]
    fn row_by<'g>(
        &mut self,
        table: &'g Table<L>,
        guard: Guard<'g>,
        (key, hash): (&Key, u64),
        mode: Mode,
        lock: impl Fn(&mut Self, RecordRef<'g, L>) -> Result<Option<Acquired>, Abort>,
    ) -> Result<Option<RecordRef<'g, L>>, Abort> {
        loop {
            if let Some(record) = table.find(guard, key, hash) {
                if lock(self, record)?.is_some() {
                    return Ok(Some(record));
                }
                continue;
            }
            let name = row_name(table.id(), hash);
            let locked = match self.names.owns(table.id()) {
                true => Acquired::Again,
                false => self.name(name, mode, || target(table.id(), LockPart::Row, key))?,
            };
            if table.find(guard, key, hash).is_none() {
                return Ok(None);
            }
            if locked == Acquired::New {
                self.names.release(name);
            }
        }
    }

    /// Locks the row of a key shared until the transaction's next call. If the key has no record, nothing is locked,
    /// and another transaction may insert the row.
    #[inline]
    pub(crate) fn row_for_now<'g>(
        &mut self,
        table: &'g Table<L>,
        guard: Guard<'g>,
        (key, hash): (&Key, u64),
    ) -> Result<Option<RecordRef<'g, L>>, Abort> {
        while let Some(record) = table.find(guard, key, hash) {
            let Some(locked) = self.record(table.id(), record, Mode::SHARED)? else { continue };
            if locked == Acquired::New && !self.follows() {
                self.short = self.held.pop();
            }
            return Ok(Some(record));
        }
        Ok(None)
    }

    /// Locks a thing that has no record, by its name.
    #[inline]
    fn name(&mut self, name: Name, mode: Mode, target: impl FnOnce() -> LockTarget) -> Result<Acquired, Abort> {
        if self.may_need_ticket(mode) {
            self.hot_name(name, mode, target)
        } else {
            self.name_at_once(name, mode, target)
        }
    }

    /// Locks a thing that has no record, by its name, and takes a ticket before if the lock is hot.
    #[cold]
    #[inline(never)]
    fn hot_name(&mut self, name: Name, mode: Mode, target: impl FnOnce() -> LockTarget) -> Result<Acquired, Abort> {
        if !self.is_hot(RecordOrName::Name(name)) {
            return self.name_at_once(name, mode, target);
        }
        let target = target();
        self.seek_ticket(RecordOrName::Name(name), mode, target.clone())?;
        self.name_at_once(name, mode, || target)
    }

    #[inline]
    fn name_at_once(&mut self, name: Name, mode: Mode, target: impl FnOnce() -> LockTarget) -> Result<Acquired, Abort> {
        let Self { held, names, waits, retired, .. } = self;
        let role = retired.as_ref().map(|(_, part)| part.role());
        let listing = Listing { waits: waits.as_deref(), held, role, listed: None };
        let acquired = names.acquire_by(name, mode, target, &WaitsForName(Latch::new(listing)));
        self.is_victim |= acquired == Err(Abort::Deadlock);
        acquired
    }

    /// Whether the transaction must check whether a lock is hot that it wants in this mode.
    #[inline]
    fn may_need_ticket(&self, mode: Mode) -> bool {
        self.ticket == Ticket::Missing
            && self.waits.as_ref().is_some_and(|waits| waits.is_any_hot())
            && !(self.reads_briefly && mode == Mode::SHARED)
    }

    #[cold]
    #[inline(never)]
    fn seek_ticket_of_row(&mut self, table: TableId, record: RecordRef<'_, L>, mode: Mode) -> Result<(), Abort> {
        let lock = RecordOrName::Record(record.ptr());
        if !self.is_hot(lock) {
            return Ok(());
        }
        self.seek_ticket(lock, mode, target(table, LockPart::Row, &record.key()))
    }

    /// Whether the transaction needs a ticket for this lock: the lock is hot, not held yet, and wanted even if that
    /// means to wait.
    fn is_hot(&mut self, lock: RecordOrName<L>) -> bool {
        let hash = RecordWait::hash(lock);
        let is_hot = self.waits.as_ref().is_some_and(|waits| waits.is_hot(hash, || self.waiter().now()));
        is_hot && !self.refuses_waits && !self.holds(lock)
    }

    fn holds(&mut self, lock: RecordOrName<L>) -> bool {
        match lock {
            RecordOrName::Record(record) => self.held.contains(record),
            RecordOrName::Name(name) => self.names.requester.holds(name) != Mode::NONE,
            RecordOrName::End(_) => false,
        }
    }

    /// Takes a ticket for a hot lock, or waits until the transaction has one.
    ///
    /// # Errors
    /// Returns the error of the wait.
    fn seek_ticket(&mut self, lock: RecordOrName<L>, mode: Mode, target: LockTarget) -> Result<(), Abort> {
        let Self { held, names, waits, limits, ticket, retired, .. } = self;
        let Some(waits) = waits.as_deref() else { return Ok(()) };
        let role = retired.as_ref().map(|(_, part)| part.role());
        let start = names.requester.waiter().now();
        names.requester.standing().waits(start);
        let standing = *names.requester.standing();
        let requester = &names.requester;
        let parked = requester.parked();
        let listing = Listing { waits: Some(waits), held, role, listed: None };
        let mut seeking = Seeking { listing, requester, ticket };
        let wait = seeking.listing.wait(requester, lock);
        let request = Request { parked, target, mode, standing };
        if let Admission::LetIn(wait) = waits.seek_ticket(request, RecordWait::hash(lock), wait, start) {
            seeking.let_in(wait);
            return Ok(());
        }
        let waiter = requester.waiter();
        let patience = Patience::new(start, limits.now(waiter));
        let mut look = start;
        let ended = loop {
            look = if waiter.now() >= look { waits.look_at_leases(waiter.now()) } else { look };
            let until = patience.until().into_iter().chain([look]).min();
            match waiter.wait_until(until, || parked.is_granted() || seeking.listing.is_doomed()) {
                Wake::TimedOut if patience.until().is_none_or(|until| waiter.now() < until) => {}
                ended => break ended,
            }
        };
        drop(seeking);
        let waited = names.waiter().now().since(start);
        names.statistics.waits += 1;
        names.statistics.wait_ns += waited.as_nanos() as u64;
        match (ended, *ticket) {
            (Wake::Cancelled, _) => Err(Abort::Cancelled),
            (_, Ticket::Held) => Ok(()),
            (Wake::Ready, _) => Err(Abort::Cascade),
            _ => Err(Abort::Timeout),
        }
    }

    /// Whether a row that the transaction reads may be one that is read to be written.
    #[inline]
    fn foresees_writes(&self) -> bool {
        self.foreseen.is_any() && !self.refuses_waits
    }

    /// Locks a record to read it, unless the record is dead. The lock is a write lock if the read is likely to become a
    /// write.
    #[cold]
    #[inline(never)]
    fn record_to_read(&mut self, table: TableId, record: RecordRef<'_, L>) -> Result<Option<Acquired>, Abort> {
        if !self.foreseen.becomes_write(record.ptr()) || self.held.contains(record.ptr()) {
            return self.record(table, record, Mode::SHARED);
        }
        let acquired = self.record(table, record, Mode::EXCLUSIVE)?;
        if acquired == Some(Acquired::New) {
            self.foreseen.locked(record.ptr());
        }
        Ok(acquired)
    }

    /// Locks a record, and returns `None` if it is dead.
    #[inline]
    fn record(&mut self, table: TableId, record: RecordRef<'_, L>, mode: Mode) -> Result<Option<Acquired>, Abort> {
        if self.names.owns(table) {
            return Ok(Some(Acquired::Again));
        }
        if self.may_need_ticket(mode) {
            self.seek_ticket_of_row(table, record, mode)?;
        }
        let exclusive = mode.covers(Mode::EXCLUSIVE);
        // Before the lock, so that the transaction does not wait for one that will fail; and with the lock, as
        // others may have come meanwhile.
        self.recall(record.ptr(), exclusive);
        let acquired = self.timed(|locker| {
            if record.header().take_free(&locker.owner, exclusive) {
                locker.names.statistics.locks += 1;
                locker.held.push(table, record.ptr());
                return Ok(Acquired::New);
            }
            locker.record_in_use(table, record, mode)
        })?;
        if acquired == Acquired::New && !record.is_present() {
            self.let_go(record);
            return Ok(None);
        }
        if exclusive {
            self.recall(record.ptr(), true);
        }
        if acquired == Acquired::New {
            match self.finds_dead(table, record, exclusive) {
                Ok(false) => {}
                Ok(true) => {
                    self.let_go(record);
                    return self.record(table, record, Mode::EXCLUSIVE);
                }
                Err(abort) => {
                    self.let_go(record);
                    return Err(abort);
                }
            }
        }
        Ok(Some(acquired))
    }

    /// Locks a record that is locked already, by other transactions or by this one.
    #[cold]
    fn record_in_use(&mut self, table: TableId, record: RecordRef<'_, L>, mode: Mode) -> Result<Acquired, Abort> {
        let (lock, exclusive) = (record.header(), mode.covers(Mode::EXCLUSIVE));
        if lock.is_owned_by(&self.owner) {
            if exclusive {
                self.foreseen.written(record.ptr());
            }
            return Ok(Acquired::Again);
        }
        let upgrades = self.held.contains(record.ptr());
        if upgrades && !exclusive {
            return Ok(Acquired::Again);
        }
        if !lock.take(&self.owner, upgrades, exclusive) {
            if self.refuses_waits {
                return Err(Abort::Timeout);
            }
            let start = self.waiter().now();
            self.awaited = Some(HeldRecord { table, record: record.ptr() });
            let ended = self.wait_for_record(table, record, upgrades, mode);
            self.awaited = None;
            if !ended.is_granted() {
                self.settle(record);
            }
            let waited = self.waiter().now().since(start);
            let statistics = self.statistics();
            statistics.waits += u64::from(ended != Ended::Refused);
            statistics.wait_ns += waited.as_nanos() as u64;
            if ended.is_granted() && !upgrades {
                // Whether or not the transaction goes on: `abort` releases it.
                self.held.push(table, record.ptr());
            }
            ended.result()?;
        } else if !upgrades {
            self.held.push(table, record.ptr());
        }
        self.names.statistics.locks += 1;
        Ok(if upgrades { Acquired::Again } else { Acquired::New })
    }

    /// Waits for a record's lock, and looks for a deadlock if it is not free.
    fn wait_for_record(&mut self, table: TableId, record: RecordRef<'_, L>, upgrades: bool, mode: Mode) -> Ended {
        let (lock, exclusive) = (record.header(), mode.covers(Mode::EXCLUSIVE));
        let Self { owner, held, names, waits, foreseen, deadlock, limits, retired, .. } = self;
        if let Some((rows, _)) = retired {
            rows.awaited(record.ptr());
        }
        let role = retired.as_ref().map(|(_, part)| part.role());
        let start = names.requester.waiter().now();
        names.requester.standing().waits(start);
        let standing = *names.requester.standing();
        let requester = &names.requester;
        let patience = Patience::new(start, limits.now(requester.waiter()));
        let target = || target(table, LockPart::Row, &record.key());
        let listing = Listing { waits: waits.as_deref(), held, role, listed: None };
        let mut watch = WaitsForRecord { listing, requester, record: record.ptr(), mode, standing, target, deadlock };
        let ended = lock.wait(owner, upgrades, exclusive, patience, &mut watch);
        drop(watch);
        if ended == Ended::Deadlock && role.is_some_and(Role::is_doomed) {
            *deadlock = None;
            return Ended::Doomed;
        }
        if ended == Ended::Deadlock && deadlock.is_none() {
            let (hash, now) = (RecordWait::hash(RecordOrName::Record(record.ptr())), requester.waiter().now());
            if foreseen.deadlocked(record.ptr()) {
                waits.iter().for_each(|waits| waits.heat(hash, now));
            }
            *deadlock = lock.upgrading(owner).map(|other| of_two_readers(requester.parked().label(), other, &target));
        }
        if ended == Ended::Deadlock {
            self.is_victim = true;
            names.requester.standing().lost();
        } else {
            *deadlock = None;
        }
        ended
    }

    /// Releases a record before the transaction's end.
    fn let_go(&mut self, record: RecordRef<'_, L>) {
        if self.held.remove(record.ptr()) {
            self.timed(|locker| {
                record.header().release(&locker.owner);
                locker.settle(record);
            });
        }
    }

    /// Releases the lock that [`row_for_now`](Self::row_for_now) took in the last call, if it took one.
    #[inline]
    pub(crate) fn release_short(&mut self, database: &Database<L>, guard: Guard<'_>) {
        if let Some(held) = self.short.take() {
            self.timed(|locker| {
                if let Some(record) = release(&locker.owner, database, guard, held) {
                    locker.settle(record);
                }
            });
        }
    }

    /// Releases all locks of the transaction, and returns its ticket for hot locks, if it has one.
    #[inline]
    pub(crate) fn release_all(&mut self, database: &Database<L>, guard: Guard<'_>) {
        self.foreseen.end(self.is_victim);
        self.release_short(database, guard);
        self.timed(|locker| {
            let Self { held, owner, retired, .. } = locker;
            held.drain(|held| {
                if let Some(record) = release(owner, database, guard, held)
                    && let Some((rows, part)) = retired
                {
                    rows.settle(part, owner, record);
                }
            });
        });
        self.settle_rest(database, guard);
        self.names.release_all();
        if self.ticket == Ticket::Held {
            self.return_ticket();
        }
    }

    /// Returns the transaction's ticket, when it holds no lock any more.
    #[cold]
    fn return_ticket(&mut self) {
        self.ticket = Ticket::Needless;
        let (now, lost) = (self.waiter().now(), self.is_victim);
        if let Some(waits) = &self.waits {
            waits.return_ticket(self.names.requester.standing(), now, lost);
        }
    }

    /// Makes a call of the lock manager, and reads the clock before and after if times are taken.
    #[inline]
    fn timed<R>(&mut self, call: impl FnOnce(&mut Self) -> R) -> R {
        if !self.names.statistics.timed {
            return call(self);
        }
        let start = self.waiter().now();
        let waited_before = self.names.statistics.wait_ns;
        let result = call(self);
        let all = self.waiter().now().since(start).as_nanos() as u64;
        let statistics = self.statistics();
        statistics.lock_manager_ns += all.saturating_sub(statistics.wait_ns - waited_before);
        statistics.timed_calls += 1;
        result
    }
}

/// Describes the deadlock of two readers of a record that both want to write it: this transaction and another.
fn of_two_readers(own: u32, other: u32, target: &impl Fn() -> LockTarget) -> Deadlock {
    let wait = |waiter, blocker| WaitsFor { waiter, target: target(), mode: Mode::EXCLUSIVE.name(), blocker };
    Deadlock { waits: vec![wait(own, other), wait(other, own)] }
}

/// Releases a record, and returns it, or `None` if its table is gone: its records are gone with it.
#[inline]
fn release<'g, L: RecordLock>(
    owner: &L::Owner,
    database: &'g Database<L>,
    guard: Guard<'g>,
    HeldRecord { table, record }: HeldRecord<L>,
) -> Option<RecordRef<'g, L>> {
    let record = crate::shared::record::deref(record, guard, database.table(guard, table)?);
    record.header().release(owner);
    Some(record)
}

impl<L: RecordLock> ScanLocks<L> for Locker<L> {
    #[inline]
    fn owns(&self, table: TableId) -> bool {
        self.names.owns(table)
    }

    #[inline]
    fn waits(&self) -> u64 {
        self.names.statistics.waits
    }

    fn refuse_waits(&mut self, refuse: bool) {
        self.refuses_waits = refuse;
        self.names.requester.refuse_waits(refuse);
    }

    #[inline]
    fn lock_key<'g>(
        &mut self,
        table: &'g Table<L>,
        guard: Guard<'g>,
        (key, hash): (&Key, u64),
        mode: Mode,
    ) -> Result<Option<RecordRef<'g, L>>, Abort> {
        self.row(table, guard, (key, hash), mode)
    }

    /// Locks a record. A dead record is as good as locked, since no transaction gives it a row again.
    #[inline]
    fn lock_record(&mut self, table: &Table<L>, record: RecordRef<'_, L>, mode: Mode) -> Result<Acquired, Abort> {
        let locked = self.record(table.id(), record, mode)?;
        Ok(locked.unwrap_or(Acquired::Again))
    }

    /// Releases a record early, unless the transaction follows others: then it keeps what it has read.
    fn unlock_record(&mut self, _table: &Table<L>, record: RecordRef<'_, L>) {
        if !self.follows() {
            self.let_go(record);
        }
    }

    fn has_written(&mut self, _table: &Table<L>, record: RecordRef<'_, L>) -> bool {
        record.header().is_owned_by(&self.owner)
    }

    #[inline]
    fn lock_part(
        &mut self,
        _table: &Table<L>,
        _part: LockPart,
        name: Name,
        mode: Mode,
        target: impl FnOnce() -> LockTarget,
    ) -> Result<(), Abort> {
        self.name(name, mode, target).map(drop)
    }

    /// Locks a record that is about to be linked. It can be found from then on, so its lock must be held by then.
    fn linking(&mut self, table: &Table<L>, record: RecordRef<'_, L>) {
        if !self.names.owns(table.id()) {
            record.header().take_made(&self.owner);
            self.held.push(table.id(), record.ptr());
        }
    }

    fn announced(&mut self) -> &mut Gaps {
        self.names.announced()
    }
}
