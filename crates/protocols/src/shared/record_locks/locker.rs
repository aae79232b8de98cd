//! What a transaction has locked.

use super::held::{Held, HeldRecord};
use super::{Ended, LockOwner, Patience, RecordLock};
use crate::shared::lock_table::{Acquired, Name, OwnerId, Requester, WaitPolicy};
use crate::shared::locks::{Gaps, Locks, row_name, target};
use crate::shared::mode::Mode;
use crate::shared::scan::ScanLocks;
use crate::shared::time_outs::TimeOuts;
use hotrow_storage::{Database, Guard, Key, RecordRef, Table, TableId};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Abort, Begin, LockPart, LockTarget, Statistics};
use std::marker::PhantomData;
use std::time::Duration;

/// The locks of one transaction: records', and names of what has no record.
pub(crate) struct Locker<L: RecordLock> {
    owner: L::Owner,
    held: Held<L>,
    names: Locks<Queueing<L>>,
    /// A record to release at the next call, which is locked to read.
    short: Option<HeldRecord<L>>,
    wait_limit: Duration,
    patience: Option<Duration>,
    /// What others have locked is refused.
    refuses_waits: bool,
}

/// Who waits for a record waits for a name.
struct Queueing<L>(PhantomData<L>);

impl<L: RecordLock> WaitPolicy for Queueing<L> {
    fn may_wait(&self, _waiter: OwnerId, _blockers: &[OwnerId]) -> bool {
        L::WAITS
    }
}

impl<L: RecordLock> Locker<L> {
    pub(crate) fn new(owner: L::Owner, requester: Requester) -> Self {
        Self {
            owner,
            held: Held::default(),
            names: Locks::new(Arc::new(Queueing(PhantomData)), requester),
            short: None,
            wait_limit: Duration::ZERO,
            patience: None,
            refuses_waits: false,
        }
    }

    /// A transaction begins.
    #[inline]
    pub(crate) fn begin(&mut self, begin: &Begin<'_>, time_outs: &TimeOuts) {
        self.owner.begin();
        self.wait_limit = begin.wait_limit.unwrap_or(time_outs.wait_limit);
        self.patience = time_outs.patience_of(begin);
        self.refuses_waits = false;
        self.names.requester.begin(begin.label, Some(self.wait_limit));
        self.names.requester.set_patience(self.patience);
    }

    /// How it waits.
    pub(crate) fn waiter(&self) -> &Waiter {
        self.names.waiter()
    }

    pub(crate) fn statistics(&mut self) -> &mut Statistics {
        &mut self.names.statistics
    }

    pub(crate) fn own(&mut self, table: TableId) {
        self.names.own(table);
    }

    /// Locks the row of a key, present or absent, to the transaction's end: its record, or the name of a key that has none.
    #[inline]
    pub(crate) fn row<'g>(
        &mut self,
        table: &'g Table<L>,
        guard: Guard<'g>,
        (key, hash): (&Key, u64),
        mode: Mode,
    ) -> Result<Option<RecordRef<'g, L>>, Abort> {
        loop {
            if let Some(record) = table.find(guard, key, hash) {
                if self.record(table.id(), record, mode)?.is_some() {
                    return Ok(Some(record));
                }
                continue;
            }
            let name = row_name(table.id(), hash);
            let locked = match self.names.owns(table.id()) {
                true => Acquired::Again,
                false => self.names.acquire(name, mode, || target(table.id(), LockPart::Row, key))?,
            };
            if table.find(guard, key, hash).is_none() {
                return Ok(None);
            }
            if locked == Acquired::New {
                self.names.release(name);
            }
        }
    }

    /// Locks the row of a key to read it until the transaction's next call. Nobody need be kept from making a record for a key that has none.
    #[inline]
    pub(crate) fn row_for_now<'g>(
        &mut self,
        table: &'g Table<L>,
        guard: Guard<'g>,
        (key, hash): (&Key, u64),
    ) -> Result<Option<RecordRef<'g, L>>, Abort> {
        while let Some(record) = table.find(guard, key, hash) {
            let Some(locked) = self.record(table.id(), record, Mode::SHARED)? else { continue };
            if locked == Acquired::New {
                self.short = self.held.pop();
            }
            return Ok(Some(record));
        }
        Ok(None)
    }

    /// Locks a record, unless it is dead.
    #[inline]
    fn record(&mut self, table: TableId, record: RecordRef<'_, L>, mode: Mode) -> Result<Option<Acquired>, Abort> {
        if self.names.owns(table) {
            return Ok(Some(Acquired::Again));
        }
        let exclusive = mode.covers(Mode::EXCLUSIVE);
        let acquired = self.timed(|locker| {
            if record.header().take_free(&locker.owner, exclusive) {
                locker.names.statistics.locks += 1;
                locker.held.push(table, record.ptr());
                return Ok(Acquired::New);
            }
            locker.record_in_use(table, record, exclusive)
        })?;
        if acquired == Acquired::New && !record.is_present() {
            self.let_go(record);
            return Ok(None);
        }
        Ok(Some(acquired))
    }

    /// Locks a record that others have locked, or this transaction.
    #[cold]
    fn record_in_use(&mut self, table: TableId, record: RecordRef<'_, L>, exclusive: bool) -> Result<Acquired, Abort> {
        let lock = record.header();
        if lock.is_owned_by(&self.owner) {
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
            let patience = Patience::new(start, self.wait_limit, self.patience);
            let ended = lock.wait(&self.owner, upgrades, exclusive, patience);
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

    /// Releases a record before the transaction's end.
    fn let_go(&mut self, record: RecordRef<'_, L>) {
        if self.held.remove(record.ptr()) {
            self.timed(|locker| record.header().release(&locker.owner));
        }
    }

    /// Releases what was locked for the last call only.
    #[inline]
    pub(crate) fn release_short(&mut self, database: &Database<L>, guard: Guard<'_>) {
        if let Some(held) = self.short.take() {
            self.timed(|locker| release(&locker.owner, database, guard, held));
        }
    }

    /// Releases everything.
    #[inline]
    pub(crate) fn release_all(&mut self, database: &Database<L>, guard: Guard<'_>) {
        self.release_short(database, guard);
        self.timed(|locker| locker.held.drain(|held| release(&locker.owner, database, guard, held)));
        self.names.release_all();
    }

    /// A call of the lock manager, with the clock read before and after if times are taken.
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

/// Releases a record. Those of a table that is gone are gone with it.
#[inline]
fn release<L: RecordLock>(
    owner: &L::Owner,
    database: &Database<L>,
    guard: Guard<'_>,
    HeldRecord { table, record }: HeldRecord<L>,
) {
    if database.table(guard, table).is_some() {
        crate::shared::record::header(record, guard).release(owner);
    }
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

    /// A dead record is as good as locked: nobody gives it a row again.
    #[inline]
    fn lock_record(&mut self, table: &Table<L>, record: RecordRef<'_, L>, mode: Mode) -> Result<Acquired, Abort> {
        let locked = self.record(table.id(), record, mode)?;
        Ok(locked.unwrap_or(Acquired::Again))
    }

    fn unlock_record(&mut self, _table: &Table<L>, record: RecordRef<'_, L>) {
        self.let_go(record);
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
        self.names.acquire(name, mode, target).map(drop)
    }

    /// The record is found from now on, so its lock has to be held by then.
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
