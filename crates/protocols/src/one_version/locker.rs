//! The locks of one transaction.

use super::held::Held;
use super::key_lock::{KeyLock, RequestOutcome};
use super::key_locks::{KeyLocked, Numbered};
use super::queues::{LockName, Queues};
use crate::shared::deadlocks::{Blocked, Request, Standing, Waits};
use crate::shared::gaps::{Gaps, target};
use crate::shared::lock_table::{Acquired, Name};
use crate::shared::mode::Mode;
use crate::shared::parked::Parked;
use crate::shared::scan::ScanLocks;
use crate::shared::time_outs::{Limits, Patience, TimeOuts};
use hotrow_storage::{Database, Guard, IndexNumber, IndexRef, Key, RecordRef, Table, TableId, mix};
use hotrow_sync::{Arc, Waiter, Wake};
use hotrow_txn::{Abort, Begin, Deadlock, LockPart, LockTarget, Statistics};

/// The locks of a transaction, and the means by which it waits for them.
pub(super) struct Locker {
    queues: Arc<Queues>,
    parked: Arc<Parked>,
    held: Held,
    /// The lock to release at the next call. It is held shared, and in no other mode.
    short: Option<LockName>,
    /// The locks of the running scan on anything but rows, or `None` if they are kept to the transaction's end.
    passing: Option<Vec<LockName>>,
    /// The tables that the caller keeps all other transactions off.
    owned: Vec<TableId>,
    /// The indexes whose locks are being split, since this transaction holds many of them. At its end it splits those
    /// that are free.
    splitting: Vec<(TableId, IndexNumber)>,
    /// The gaps that the entry being linked has announced itself to.
    announced: Gaps,
    limits: Limits,
    /// The number of the transaction object, and the standing of its transaction when a deadlock's victim is chosen.
    number: u32,
    standing: Standing,
    /// Whether the transaction fails, and does not wait, if another one holds a lock that it wants.
    refuses_waits: bool,
    /// The transactions that wait for key locks, or `None` if deadlocks end by time-out.
    waits: Option<Arc<KeyWaits>>,
    /// The deadlock that the transaction was the victim of.
    pub(super) deadlock: Option<Deadlock>,
    pub(super) statistics: Statistics,
}

/// The number of locks after which a transaction checks again whether it is in the way of others.
const MANY_LOCKS: usize = 1024;

/// The transactions that wait for a key lock while they hold others. Deadlocks are searched among them.
pub(super) type KeyWaits = Waits<KeyWait>;

/// The key lock that a transaction waits for, and the locks that it holds meanwhile.
pub(super) struct KeyWait {
    name: LockName,
    held: Held,
}

impl Blocked for KeyWait {
    type Lock = LockName;

    fn awaited(&self) -> LockName {
        self.name
    }

    fn holds(&mut self, lock: LockName) -> bool {
        self.held.mode(lock) != Mode::NONE
    }

    fn hash(lock: LockName) -> u64 {
        mix(u64::from(lock.table.0) << u32::BITS | u64::from(lock.number))
    }
}

/// Settles a request if its wait unwinds (a suspended coroutine is dropped, or a scheduler panics): the transaction
/// keeps what it was granted.
struct Unwinding<'l> {
    held: &'l mut Held,
    queues: &'l Queues,
    parked: &'l Arc<Parked>,
    lock: &'l KeyLock,
    name: LockName,
    wanted: Mode,
    /// The list that has the transaction and its locks while it waits.
    waits: Option<&'l KeyWaits>,
}

impl Unwinding<'_> {
    /// Lists the transaction, if it holds any lock. Returns the deadlock that its wait closes, if it is the victim.
    fn begin(&mut self, mode: Mode, target: LockTarget, standing: Standing) -> Option<Deadlock> {
        self.waits = self.waits.filter(|_| self.held.len() > 0);
        let wait = KeyWait { name: self.name, held: std::mem::take(self.waits.map(|_| &mut *self.held)?) };
        self.waits?.begin(Request { parked: self.parked, target, mode, standing }, wait)
    }

    /// Takes the request back, or, if it was granted, notes that. Returns whether it was granted.
    fn settle(&mut self) -> bool {
        if let Some(wait) = self.waits.take().and_then(|waits| waits.end(self.parked)) {
            *self.held = wait.held;
        }
        let granted = !self.queues.withdraw(self.lock, self.name, self.parked);
        if granted {
            self.held.set(self.name, self.wanted);
        }
        self.parked.reset();
        granted
    }
}

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        self.settle();
    }
}

impl Locker {
    /// Returns the locker of the transaction object with this number. It holds no locks yet.
    pub(super) fn new(number: u32, queues: Arc<Queues>, waits: Option<Arc<KeyWaits>>, waiter: Waiter) -> Self {
        Self {
            queues,
            parked: Arc::new(Parked::new(waiter)),
            held: Held::default(),
            short: None,
            passing: None,
            owned: Vec::new(),
            splitting: Vec::new(),
            announced: Gaps::new(),
            limits: Limits::default(),
            number,
            standing: Standing::default(),
            refuses_waits: false,
            waits,
            deadlock: None,
            statistics: Statistics::default(),
        }
    }

    /// Begins a transaction. `again` says whether the transaction is a retry of the last one.
    #[inline]
    pub(super) fn begin(&mut self, begin: &Begin<'_>, again: bool, time_outs: &TimeOuts) {
        self.parked.set_label(begin.label);
        self.standing.begin(self.number, begin.one_shot, again, || self.parked.waiter().now());
        self.limits = time_outs.limits(begin.one_shot);
        self.refuses_waits = false;
        self.passing = None;
        self.deadlock = None;
    }

    /// Returns the waiter through which the transaction waits.
    pub(super) fn waiter(&self) -> &Waiter {
        self.parked.waiter()
    }

    pub(super) fn own(&mut self, table: TableId) {
        if !self.owns(table) {
            self.owned.push(table);
        }
    }

    #[inline]
    fn owns(&self, table: TableId) -> bool {
        !self.owned.is_empty() && self.owned.contains(&table)
    }

    /// Locks a row, present or absent, to the transaction's end. `hash` is the hash of its key. `key` is called only if
    /// the transaction waits for the row.
    #[inline]
    pub(super) fn row(
        &mut self,
        table: &Table<KeyLocked>,
        hash: u64,
        mode: Mode,
        key: impl FnOnce() -> Key,
    ) -> Result<Acquired, Abort> {
        self.acquire(table, IndexNumber::HASH, hash, mode, || target(table.id(), LockPart::Row, &key()))
    }

    /// Locks a row shared until the transaction's next call. A lock that the transaction has held before stays held.
    #[inline]
    pub(super) fn row_for_now(&mut self, table: &Table<KeyLocked>, key: &Key, hash: u64) -> Result<(), Abort> {
        if self.row(table, hash, Mode::SHARED, || key.clone())? == Acquired::New {
            self.short = self.held.pop();
        }
        Ok(())
    }

    /// Releases a row before the transaction's end. `hash` is the hash of its key.
    pub(super) fn unlock_row(&mut self, table: &Table<KeyLocked>, hash: u64) {
        let index = IndexNumber::HASH;
        let Numbered { number, lock } = table.index_data(index).of(hash);
        let name = LockName { table: table.id(), index, number };
        if let Some(held) = self.held.remove(name) {
            self.timed(|locker| locker.queues.release(lock, name, held));
        }
    }

    /// Sets whether the locks that the next scan takes on gaps are kept to the transaction's end. Otherwise they are
    /// [released](Self::release_passing) at the scan's end.
    #[inline]
    pub(super) fn keep_parts(&mut self, keep: bool) {
        self.passing = (!keep).then(Vec::new);
    }

    /// Releases the locks on gaps that the last scan took only until its own end.
    #[inline]
    pub(super) fn release_passing(&mut self, table: &Table<KeyLocked>) {
        for name in self.passing.take().into_iter().flatten() {
            if let Some(held) = self.held.remove(name) {
                let lock = table.index_data(name.index).numbered(name.number);
                self.timed(|locker| locker.queues.release(lock, name, held));
            }
        }
    }

    /// Releases the lock that [`row_for_now`](Self::row_for_now) took in the last call, if it took one.
    #[inline]
    pub(super) fn release_short(&mut self, database: &Database<KeyLocked>, guard: Guard<'_>) {
        if let Some(name) = self.short.take() {
            self.timed(|locker| give_back(&locker.queues, database, guard, name, Mode::SHARED));
        }
    }

    /// Releases all locks of the transaction. If it has begun to split the locks of indexes, also splits the locks
    /// there that are free.
    #[inline]
    pub(super) fn release_all(&mut self, database: &Database<KeyLocked>, guard: Guard<'_>) {
        self.release_short(database, guard);
        self.owned.clear();
        self.timed(|locker| {
            let queues = &locker.queues;
            locker.held.release_all(|name, mode| give_back(queues, database, guard, name, mode));
            if !locker.splitting.is_empty() {
                locker.split_free(database, guard);
            }
        });
    }

    /// Splits those locks that are free in the indexes of which this transaction has held many.
    #[cold]
    fn split_free(&mut self, database: &Database<KeyLocked>, guard: Guard<'_>) {
        for (table, index) in self.splitting.drain(..) {
            if let Some(table) = database.table(guard, table) {
                table.index_data(index).split_free();
            }
        }
    }

    #[inline]
    fn acquire(
        &mut self,
        table: &Table<KeyLocked>,
        index: IndexNumber,
        hash: u64,
        mode: Mode,
        target: impl FnOnce() -> LockTarget,
    ) -> Result<Acquired, Abort> {
        if self.owns(table.id()) {
            return Ok(Acquired::Again);
        }
        let Numbered { number, lock } = table.index_data(index).of(hash);
        self.timed(|locker| {
            if !lock.take_free(mode) {
                return locker.acquire_used(table, index, hash, mode, target);
            }
            locker.statistics.locks += 1;
            locker.held.push(LockName { table: table.id(), index, number }, mode);
            if locker.held.len().is_multiple_of(MANY_LOCKS) {
                locker.split_locks(table, index);
            }
            Ok(Acquired::New)
        })
    }

    /// Begins to split an index's locks, if this transaction holds so many that others wait for it.
    #[cold]
    fn split_locks(&mut self, table: &Table<KeyLocked>, index: IndexNumber) {
        let is_splitting = table.index_data(index).split_for(self.held.len(), table.len());
        if is_splitting && !self.splitting.contains(&(table.id(), index)) {
            self.splitting.push((table.id(), index));
        }
    }

    /// Takes a lock that is in use, by others or by this transaction.
    #[cold]
    fn acquire_used(
        &mut self,
        table: &Table<KeyLocked>,
        index: IndexNumber,
        hash: u64,
        mode: Mode,
        target: impl FnOnce() -> LockTarget,
    ) -> Result<Acquired, Abort> {
        loop {
            let Numbered { number, lock } = table.index_data(index).of(hash);
            let name = LockName { table: table.id(), index, number };
            let held = self.held.mode(name);
            if held.covers(mode) {
                return Ok(Acquired::Again);
            }
            let wanted = held | mode;
            let asked = match lock.take_beside(held, wanted) {
                true => RequestOutcome::Taken,
                false if self.refuses_waits && !lock.is_split() => return Err(Abort::Timeout),
                false => self.queues.ask(lock, name, (held, wanted), &self.parked),
            };
            match asked {
                RequestOutcome::Taken => self.held.set(name, wanted),
                RequestOutcome::Queued => self.wait(lock, name, (mode, wanted), target())?,
                RequestOutcome::Split => continue,
            }
            self.statistics.locks += 1;
            return Ok(if held == Mode::NONE { Acquired::New } else { Acquired::Again });
        }
    }

    /// Waits until the request that is queued is granted, or there is a reason not to wait any longer.
    fn wait(
        &mut self,
        lock: &KeyLock,
        name: LockName,
        (mode, wanted): (Mode, Mode),
        target: LockTarget,
    ) -> Result<(), Abort> {
        let (queues, parked, waits) = (&*self.queues, &self.parked, self.waits.as_deref());
        let waiter = parked.waiter();
        let start = waiter.now();
        self.standing.waits(start);
        let mut unwinding = Unwinding { held: &mut self.held, queues, parked, lock, name, wanted, waits };
        self.deadlock = unwinding.begin(mode, target, self.standing);
        let mut patience = Patience::new(start, self.limits.now(waiter));
        let ended = loop {
            if self.deadlock.is_some() {
                break Wake::TimedOut;
            }
            match waiter.wait_until(patience.until(), || parked.is_called()) {
                Wake::Ready if !parked.is_granted() => {
                    self.deadlock = waits.and_then(|waits| waits.verdict(parked));
                }
                Wake::TimedOut if patience.is_left() && queues.has_moved(name, parked) => {
                    patience.renew(waiter.now());
                }
                ended => break ended,
            }
        };
        let granted = unwinding.settle();
        std::mem::forget(unwinding);
        self.statistics.waits += 1;
        self.statistics.wait_ns += waiter.now().since(start).as_nanos() as u64;
        match ended {
            // Granted and cancelled at once: the lock is kept for `abort` to release.
            Wake::Cancelled => Err(Abort::Cancelled),
            Wake::Ready | Wake::TimedOut if granted => Ok(()),
            Wake::Ready | Wake::TimedOut if self.deadlock.is_some() => {
                self.standing.lost();
                Err(Abort::Deadlock)
            }
            Wake::Ready | Wake::TimedOut => Err(Abort::Timeout),
        }
    }

    /// Makes a call of the lock manager, and, if times are taken, adds the time that it lasts, without its waits, to
    /// the statistics.
    #[inline]
    fn timed<R>(&mut self, call: impl FnOnce(&mut Self) -> R) -> R {
        if !self.statistics.timed {
            return call(self);
        }
        let start = self.parked.waiter().now();
        let waited_before = self.statistics.wait_ns;
        let result = call(self);
        let waited = self.statistics.wait_ns - waited_before;
        let all = self.parked.waiter().now().since(start).as_nanos() as u64;
        self.statistics.lock_manager_ns += all.saturating_sub(waited);
        self.statistics.timed_calls += 1;
        result
    }
}

impl ScanLocks<KeyLocked> for Locker {
    #[inline]
    fn owns(&self, table: TableId) -> bool {
        self.owns(table)
    }

    #[inline]
    fn waits(&self) -> u64 {
        self.statistics.waits
    }

    fn refuse_waits(&mut self, refuse: bool) {
        self.refuses_waits = refuse;
    }

    fn lock_key<'g>(
        &mut self,
        table: &'g Table<KeyLocked>,
        guard: Guard<'g>,
        (key, hash): (&Key, u64),
        mode: Mode,
    ) -> Result<Option<RecordRef<'g, KeyLocked>>, Abort> {
        self.row(table, hash, mode, || key.clone())?;
        Ok(table.find(guard, key, hash))
    }

    #[inline]
    fn lock_record(
        &mut self,
        table: &Table<KeyLocked>,
        record: RecordRef<'_, KeyLocked>,
        mode: Mode,
    ) -> Result<Acquired, Abort> {
        let key = record.key();
        self.row(table, key.hash64(), mode, || key)
    }

    fn unlock_record(&mut self, table: &Table<KeyLocked>, record: RecordRef<'_, KeyLocked>) {
        self.unlock_row(table, record.key().hash64());
    }

    fn has_written(&mut self, table: &Table<KeyLocked>, record: RecordRef<'_, KeyLocked>) -> bool {
        let index = IndexNumber::HASH;
        let Numbered { number, .. } = table.index_data(index).of(record.key().hash64());
        let name = LockName { table: table.id(), index, number };
        self.timed(|locker| locker.held.mode(name).covers(Mode::EXCLUSIVE))
    }

    #[inline]
    fn lock_part(
        &mut self,
        table: &Table<KeyLocked>,
        part: LockPart,
        name: Name,
        mode: Mode,
        target: impl FnOnce() -> LockTarget,
    ) -> Result<(), Abort> {
        let index = index_of(part);
        let acquired = self.acquire(table, index, name.0, mode, target)?;
        if let Some(passing) = self.passing.as_mut().filter(|_| acquired == Acquired::New) {
            // While it is held it is not split.
            let Numbered { number, .. } = table.index_data(index).of(name.0);
            passing.push(LockName { table: table.id(), index, number });
        }
        Ok(())
    }

    fn announced(&mut self) -> &mut Gaps {
        &mut self.announced
    }
}

/// Gives back a lock of which `held` is held. The locks of a table that is gone are gone with it.
#[inline]
fn give_back(queues: &Queues, database: &Database<KeyLocked>, guard: Guard<'_>, name: LockName, held: Mode) {
    if let Some(table) = database.table(guard, name.table) {
        queues.release(table.index_data(name.index).numbered(name.number), name, held);
    }
}

/// Returns the index that has the locks on a part of its table.
fn index_of(part: LockPart) -> IndexNumber {
    match part {
        LockPart::Whole | LockPart::Page(_) => unreachable!("only nodes of a hierarchy are locked as a whole"),
        LockPart::Row => IndexNumber::HASH,
        LockPart::Gap(index) | LockPart::End(index) => IndexNumber::of_ranges(index),
        LockPart::Stripe => IndexNumber::of_ranges(IndexRef::Primary),
        LockPart::Unique(index) => IndexNumber::of_ranges(IndexRef::Secondary(index)),
    }
}
