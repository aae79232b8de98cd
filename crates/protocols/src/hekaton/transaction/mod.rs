//! A transaction over versions.

mod give_way;
mod life;

use super::clock::Timestamp;
use super::database::Database;
use super::garbage::Sweeper;
use super::look::Look;
use super::read::Scanning;
use super::reader::{Extent, Reader, Tracks};
use super::record_locks;
use super::shared::Shared;
use super::snapshots::Snapshot;
use super::transactions::{Dependencies, Transactions};
use super::txn_id::{SlotNumber, TxnId};
use super::wait_for::Blocked;
use super::words::Words;
use super::write::Linked;
use super::write_set::WriteSet;
use crate::shared::log_times::log_step;
use crate::shared::table;
use crate::shared::time_outs::LimitedWaiter;
use hotrow_storage::{
    End, Garbage, Guard, Key, Participant, Position, RowMut, RowRef, StoredTable, TableId, VersionTable,
};
use hotrow_sync::atomic::{Ordering, fence};
use hotrow_sync::wait::together;
use hotrow_sync::{Arc, Waiter, Wake};
use hotrow_txn::{
    Abort, Access, Begin, Capabilities, Concurrency, Deadlock, Diagnostics, EngineInfo, Holding, Isolation, LockFor,
    Ownership, Planned, Savepoint, Scan, Statistics, Transaction, Write, Yielding, standard,
};
use life::Life;
use std::ops::ControlFlow;
use std::time::Duration;

/// A transaction of `mvo` or `mvl`. The object runs one transaction after another, and has the same slot in the table
/// of transactions for as long as that is not used up.
pub struct HekatonTransaction {
    database: Arc<Database>,
    shared: Arc<Shared>,
    participant: Participant,
    waits: LimitedWaiter,
    /// The transaction's slot, or `None` if all slots were taken.
    slot: Option<SlotNumber>,
    reader: Reader,
    changes: WriteSet,
    sweeper: Sweeper,
    info: &'static EngineInfo,
    /// The tables that the transaction has created.
    made: Vec<TableId>,
    life: Life,
}

impl HekatonTransaction {
    pub(super) fn new(
        database: &Arc<Database>,
        shared: &Arc<Shared>,
        (info, default_limit): (&'static EngineInfo, Duration),
        waiter: Waiter,
    ) -> Self {
        let (slot, last, sweeper) = match shared.transactions.take(&waiter) {
            Some((slot, last, sweeper)) => (Some(slot), last, sweeper),
            None => Default::default(),
        };
        Self {
            database: database.clone(),
            shared: shared.clone(),
            participant: database.participant(),
            waits: LimitedWaiter::new(waiter, default_limit),
            slot,
            reader: Reader::new(Look::new(shared, last)),
            changes: WriteSet::default(),
            sweeper,
            made: Vec::new(),
            info,
            life: Life::default(),
        }
    }

    /// Begins a call. Fails if no transaction is running.
    #[inline]
    fn enter(&mut self) -> Result<(), Abort> {
        self.life.check()?;
        if !self.participant.is_entered() {
            self.step_in();
        } else if !self.reader.look.has_dependencies() {
            // Nothing is borrowed from one call to the next, and what is remembered is kept without the epoch.
            self.participant.refresh();
        } else if self.dependencies() == Dependencies::Broken {
            return Err(Abort::Cascade);
        }
        Ok(())
    }

    #[inline]
    fn enter_to_write(&mut self) -> Result<(), Abort> {
        self.enter()?;
        self.life.has_locked = true;
        if self.life.read_only { Err(Abort::User) } else { Ok(()) }
    }

    #[inline]
    fn publish(&self, snapshot: Snapshot) {
        self.reader.look.publish(snapshot);
    }

    /// Returns the time as of which this call reads.
    #[inline]
    fn read_time(&self) -> Timestamp {
        self.reader.fixed.unwrap_or_else(|| {
            let now = self.shared.clock.now();
            self.publish(Snapshot::From(now));
            now
        })
    }

    #[inline]
    fn dependencies(&self) -> Dependencies {
        self.shared.transactions.dependencies(self.reader.look.me)
    }

    /// Undoes what was done since a savepoint. If the transaction would then have to wait for others, and cannot, it is
    /// rolled back as a whole.
    fn take_back(&mut self, to: usize) {
        let is_less = self.changes.len() > to;
        let mut garbage = Vec::new();
        let guard = self.participant.guard();
        let given_up = self.changes.places_since(&self.database, guard, to);
        let taken_back = self.changes.take_back(&mut self.reader, &self.database, guard, to, &mut garbage);
        self.participant.retire_all(garbage);
        self.reader.look.turns.iter_mut().for_each(|turn| turn.1 &= !is_less);
        if is_less {
            self.shared.transactions.recall(self.reader.look.me, &given_up);
        }
        if let Err(abort) = taken_back {
            self.roll_back();
            self.life.failed = Some(abort);
        }
    }

    /// Waits until `is_over` holds of the transaction, but no longer than the transaction's limit.
    fn wait_until(&mut self, is_over: impl Fn(&Transactions, TxnId) -> bool) -> Result<(), Abort> {
        self.wait_limited(Some(self.waits.limit()), is_over)
    }

    /// Waits until `is_over` holds of the transaction, but no longer than the limit, if there is one.
    fn wait_limited(
        &mut self,
        limit: Option<Duration>,
        is_over: impl Fn(&Transactions, TxnId) -> bool,
    ) -> Result<(), Abort> {
        let start = self.waits.waiter.now();
        let is_over = || is_over(&self.shared.transactions, self.reader.look.me);
        let wake = self.waits.waiter.wait_until(limit.map(|limit| start.after(limit)), is_over);
        let is_over = is_over();
        self.reader.look.statistics.waits += 1;
        self.reader.look.statistics.wait_ns += self.waits.waiter.now().since(start).as_nanos() as u64;
        match wake {
            _ if is_over => Ok(()),
            Wake::Cancelled => Err(Abort::Cancelled),
            Wake::Ready | Wake::TimedOut => Err(Abort::Timeout),
        }
    }

    /// Waits until all transactions that this one depends on have committed (§2.7).
    fn wait_for_dependencies(&mut self) -> Result<(), Abort> {
        if self.dependencies() == Dependencies::Open {
            self.wait_until(|transactions, me| transactions.dependencies(me) != Dependencies::Open)?;
        }
        if self.dependencies() == Dependencies::Broken { Err(Abort::Cascade) } else { Ok(()) }
    }

    /// Waits for the transactions that must end before this one (§4.2), and lets no more of them come.
    fn wait_for_readers(&mut self) -> Result<(), Abort> {
        let (shared, me) = (self.shared.clone(), self.reader.look.me);
        shared.transactions.shut(me);
        if shared.transactions.waits_for_nobody(me) {
            return Ok(());
        }
        // The transactions that it depends on are about to end. Until they have, it cannot leave its epoch.
        self.wait_for_dependencies()?;
        self.changes.close_to_readers(me, &self.database, self.participant.guard());
        let read_locks = self.reader.held.rows().to_vec();
        shared.show(Blocked { id: me, label: self.life.label, read_locks, at: None, victim: None });
        // However the wait ends, and if a panic ends it.
        let shown = BlockedGuard { shared: &shared, me };
        shared.sentence(me, &self.database, self.participant.guard());
        self.step_out();
        let waited =
            self.wait_until(|transactions, me| transactions.waits_for_nobody(me) || transactions.is_victim(me));
        self.life.deadlock = shared.transactions.verdict(me);
        drop(shown);
        self.step_in();
        if self.life.deadlock.is_some() { Err(Abort::Deadlock) } else { waited }
    }

    /// Enters an epoch, after it has published what the transaction may read from then on.
    fn step_in(&mut self) {
        if self.reader.fixed.is_none() {
            self.publish(Snapshot::From(self.shared.clock.now()));
        }
        self.participant.enter();
    }

    /// Leaves the epoch for a while. The caller ensures that the transaction depends on no other.
    fn step_out(&mut self) {
        if self.reader.fixed.is_none() {
            self.publish(Snapshot::Nothing);
        }
        self.participant.leave();
    }

    /// Takes the end timestamp, as soon as all transactions that must end before have theirs. Write locks that no
    /// change followed are made read locks before that.
    fn precommit(&mut self) -> Result<Timestamp, Abort> {
        let (shared, me) = (self.shared.clone(), self.reader.look.me);
        if self.reader.look.kept.is_empty()
            && let Some(time) = shared.transactions.precommit(me, &shared.clock)
        {
            return Ok(time);
        }
        self.wait_for_readers()?;
        let Reader { look, held, .. } = &mut self.reader;
        self.changes.end_kept(look, &self.database, self.participant.guard(), |table, version, words| {
            let has_others = record_locks::write_to_read(words, me, shared.read_locks);
            debug_assert_eq!(has_others, Some(false), "it has waited for all readers");
            held.row(table, version);
        });
        Ok(shared.transactions.precommit(me, &shared.clock).expect("nobody can make it wait any more"))
    }

    /// Gives up all read locks and index locks.
    fn release_locks(&mut self) {
        let guard = self.participant.guard();
        let Reader { held, look, .. } = &mut self.reader;
        record_locks::release_all(held, look.me, &self.shared.transactions, &self.database, guard);
    }

    /// Commits a transaction that has changed something: takes its end timestamp, validates what was read, waits for
    /// the transactions that it depends on, and makes the changes known. Returns the position of the log for which the
    /// commit waits, and the nanoseconds in which the changes were handed to the log, or zero if they are not measured.
    fn commit_changes(&mut self) -> Result<(Option<Position>, u64), Abort> {
        let shared = self.shared.clone();
        let me = self.reader.look.me;
        if let Some(read_time) = self.reader.fixed.filter(|_| self.reader.reads.has_walks()) {
            // Versions that begin and end from now on must be met again: no collector may take them for versions
            // that no transaction reads.
            self.publish(Snapshot::From(read_time));
        }
        let end_time = self.precommit()?;
        if let Some(read_time) = self.reader.fixed {
            let (guard, times) = (self.participant.guard(), (read_time, end_time));
            if !self.reader.reads.are_valid(&mut self.reader.look, &self.database, guard, times) {
                return Err(Abort::Validation);
            }
        }
        // Not before the end timestamp was drawn: a transaction that changes what was read ends later.
        self.release_locks();
        self.wait_for_dependencies()?;
        let guard = self.participant.guard();
        for table in self.made.iter().filter_map(|&made| self.database.table(guard, made)) {
            table.born().store(end_time.0, Ordering::Release);
        }
        let sink = self.database.redo().filter(|_| !self.changes.is_empty());
        let timed = self.reader.look.statistics.timed && sink.is_some();
        let (handed, append_ns) = log_step(timed, &self.waits.waiter, || {
            sink.map(|sink| {
                let changes = self.changes.redo(&self.database, guard);
                if changes.is_empty() {
                    return sink.appended();
                }
                sink.append(End::At(end_time.0), &mut changes.into_iter(), &self.waits.waiter)
            })
        });
        // From here to the last word without leaving the epoch: another transaction may replace a new version and
        // collect it meanwhile.
        shared.transactions.commit(me, end_time);
        self.changes.finish(&self.database, guard, end_time, &mut self.sweeper);
        self.end();
        Ok((handed, append_ns))
    }

    /// Commits a transaction that has changed nothing. Its reads were at one time, or each at a time of its own, or are
    /// locked now, so nothing needs to be validated. Returns what [`commit_changes`](Self::commit_changes) does.
    fn commit_reads(&mut self) -> Result<(Option<Position>, u64), Abort> {
        let (guard, me) = (self.participant.guard(), self.reader.look.me);
        let release = |_, _, words: &Words| {
            record_locks::release_write(words, me);
        };
        self.changes.end_kept(&mut self.reader.look, &self.database, guard, release);
        self.release_locks();
        if self.life.has_locked {
            self.shared.transactions.let_go(me);
        }
        self.wait_for_dependencies()?;
        let handed = self.database.redo().map(|sink| sink.appended());
        self.end();
        Ok((handed, 0))
    }

    /// Ends the transaction. Its id is in no version any more.
    fn end(&mut self) {
        self.shared.transactions.end(self.reader.look.me);
        self.leave_queues();
        self.publish(Snapshot::Nothing);
        self.reader.reads.clear();
        self.reader.owned.clear();
        self.made.clear();
        let mut garbage: Vec<Garbage> = Vec::new();
        if let Some(slot) = self.slot {
            self.shared.sweep(&mut self.sweeper, slot, &self.database, self.participant.guard(), &mut garbage);
            self.participant.retire_all(garbage);
        }
        self.participant.leave();
        self.life.running = false;
    }

    /// Undoes everything, and ends the transaction.
    fn roll_back(&mut self) {
        if !self.participant.is_entered() {
            self.participant.enter();
        }
        self.shared.transactions.abort(self.reader.look.me);
        self.release_locks();
        let mut garbage = Vec::new();
        let guard = self.participant.guard();
        self.changes.undo(&mut self.reader.look, &self.database, guard, &mut garbage);
        self.participant.retire_all(garbage);
        self.end();
    }

    /// Prefetches what the rows of a plan need: the buckets of all rows, then the first version in each bucket, then,
    /// where that is a version of another row, the next one.
    fn prefetch(&self, rows: &[Access]) {
        let guard = self.participant.guard();
        let index = |access: &Access| self.database.table(guard, access.table).map(VersionTable::primary);
        for access in rows {
            index(access).inspect(|index| index.prefetch_slot(access.hash));
        }
        for access in rows {
            index(access).inspect(|index| index.prefetch_target(guard, access.hash));
        }
        for access in rows {
            index(access).inspect(|index| index.prefetch_next(guard, access.hash));
        }
    }

    /// Begins a transaction in the slot that the object has. If it has none, or its slot is used up, another slot is
    /// taken. Fails with [`Abort::Resources`] if all slots are taken.
    fn take_slot(&mut self) -> Result<(), Abort> {
        let begin = |transactions: &Transactions, last| transactions.begin(last);
        let last = self.slot.map(|_| self.reader.look.me);
        let mut begun = last.and_then(|last| begin(&self.shared.transactions, last));
        if begun.is_none() {
            // There was none left when this object was made, or it is used up, which is not given back.
            self.leave_queues();
            self.slot = None;
            let (slot, last, sweeper) = self.shared.transactions.take(&self.waits.waiter).ok_or(Abort::Resources)?;
            (self.slot, self.sweeper) = (Some(slot), sweeper);
            begun = begin(&self.shared.transactions, last);
        }
        self.reader.look.slot = self.slot;
        self.reader.look.begin(begun.ok_or(Abort::Resources)?);
        Ok(())
    }
}

/// Says, when it is dropped, that a transaction does not wait any more.
struct BlockedGuard<'s> {
    shared: &'s Shared,
    me: TxnId,
}

impl Drop for BlockedGuard<'_> {
    fn drop(&mut self) {
        self.shared.withdraw(self.me);
    }
}

/// Returns the guard of a call, and the table that the call uses. Fails if the table was rebuilt after the time of all
/// reads, since it has none of the rows of that time.
#[inline]
fn scene<'g>(
    participant: &'g Participant,
    database: &'g Database,
    id: TableId,
    fixed: Option<Timestamp>,
) -> Result<(Guard<'g>, &'g VersionTable<Words>), Abort> {
    let guard = participant.guard();
    let table = table(database, guard, id)?;
    let is_younger = |read_time: Timestamp| read_time.0 < table.born().load(Ordering::Acquire);
    if fixed.is_some_and(is_younger) { Err(Abort::TableChanged) } else { Ok((guard, table)) }
}

/// Returns the guard and the table of a call that writes, as [`scene`] does. Fails if the table is constant.
#[inline]
fn scene_to_write<'g>(
    participant: &'g Participant,
    database: &'g Database,
    id: TableId,
    fixed: Option<Timestamp>,
) -> Result<(Guard<'g>, &'g VersionTable<Words>), Abort> {
    let (guard, table) = scene(participant, database, id, fixed)?;
    if table.schema().constant { Err(Abort::User) } else { Ok((guard, table)) }
}

impl Transaction for HekatonTransaction {
    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort> {
        debug_assert!(!self.life.running, "a transaction is running");
        (self.life.failed, self.life.deadlock) = (None, None);
        self.take_slot()?;
        self.life = Life::begun(begin);
        self.shared.transactions.name(self.reader.look.me, begin.label);
        let level = match begin.reconnaissance {
            true => Isolation::ReadCommitted,
            false => self.info.granted(begin.isolation),
        };
        let extent = match level {
            Isolation::Serializable if !begin.read_only => Some(Extent::Absence),
            Isolation::RepeatableRead if !begin.read_only => Some(Extent::Rows),
            _ => None,
        };
        let tracks = match begin.concurrency.or(self.info.concurrency) {
            Some(Concurrency::Pessimistic) => Tracks::Locks,
            Some(Concurrency::Optimistic) | None => Tracks::Remembers,
        };
        self.reader.begin(extent.map_or(Tracks::Nothing, tracks));
        self.reader.look.lines_up = begin.one_shot || level == Isolation::ReadCommitted;
        self.publish(Snapshot::From(self.shared.clock.now()));
        self.participant.enter();
        let reads_latest = level == Isolation::ReadCommitted || matches!(self.reader.tracks, Tracks::Locks(_));
        if !reads_latest || begin.read_only && begin.one_shot {
            let now = self.shared.clock.now();
            self.reader.fixed = Some(now);
            self.publish(if begin.read_only { Snapshot::ReadOnly(now) } else { Snapshot::Exact(now) });
        }
        if let Some(accesses) = begin.accesses {
            self.prefetch(accesses.rows());
        }
        Ok(())
    }

    #[inline]
    fn read(&mut self, id: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.enter()?;
        let read_time = self.read_time();
        let scene = scene(&self.participant, &self.database, id, self.reader.fixed)?;
        Ok(self.reader.read(scene, key, read_time)?.map(|version| version.row()))
    }

    fn read_for_update(&mut self, id: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.enter_to_write()?;
        let read_time = self.read_time();
        let scene = scene(&self.participant, &self.database, id, self.reader.fixed)?;
        let Some((version, lock)) = self.reader.read_to_write(scene, key, read_time)? else { return Ok(None) };
        // The lock is there to the end timestamp, so there is nothing to remember.
        self.changes.keep(&mut self.reader.look, id, version, lock);
        Ok(Some(version.row()))
    }

    #[inline]
    fn update(
        &mut self,
        id: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let read_time = self.read_time();
        let scene = scene_to_write(&self.participant, &self.database, id, self.reader.fixed)?;
        let Some((version, lock)) = self.reader.read_to_write(scene, key, read_time)? else {
            return Ok(Write::Absent);
        };
        let before = self.changes.len();
        self.changes.end(&mut self.reader.look, id, version, lock);
        let outcome = match self.changes.replace(&mut self.reader, scene, version, change) {
            Ok(Linked::Done) => return Ok(Write::Done),
            Ok(Linked::Duplicate(index)) => Ok(Write::Duplicate(index)),
            Err(abort) => Err(abort),
        };
        self.take_back(before);
        outcome
    }

    fn insert(&mut self, id: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let scene = scene_to_write(&self.participant, &self.database, id, self.reader.fixed)?;
        let before = self.changes.len();
        self.reader.look.statistics.locks += 1;
        let outcome = match self.changes.insert(&mut self.reader, scene, row) {
            Ok(Linked::Done) => return Ok(Write::Done),
            Ok(Linked::Duplicate(index)) => Ok(Write::Duplicate(index)),
            Err(abort) => Err(abort),
        };
        self.take_back(before);
        outcome
    }

    fn delete(&mut self, id: TableId, key: &Key) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let read_time = self.read_time();
        let scene = scene_to_write(&self.participant, &self.database, id, self.reader.fixed)?;
        let Some((version, lock)) = self.reader.read_to_write(scene, key, read_time)? else {
            return Ok(Write::Absent);
        };
        self.changes.end(&mut self.reader.look, id, version, lock);
        self.reader.end_after_keepers(scene, version)?;
        Ok(Write::Done)
    }

    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        self.enter()?;
        if self.life.read_only && scan.lock.is_update() {
            return Err(Abort::User);
        }
        self.life.has_locked |= scan.lock.is_update();
        let read_time = self.read_time();
        let mut scanning = Scanning::new(scan, read_time);
        let mut scanned = Ok(());
        while scanned.is_ok() && !scanning.course.is_over() {
            scanned = scene(&self.participant, &self.database, scan.table, self.reader.fixed)
                .and_then(|scene| self.reader.scan(scene, &mut scanning, &mut self.changes, visit));
            // Versions that others have retired meanwhile need not wait for the end of a long scan.
            if !self.reader.look.has_dependencies() {
                self.participant.refresh();
            }
        }
        if self.reader.fixed.is_none() {
            self.publish(Snapshot::From(self.shared.clock.now()));
            // SeqCst: as on entering, between what the slot says and the next read time: invariant 4 of `snapshots`.
            fence(Ordering::SeqCst);
        }
        scanned
    }

    fn savepoint(&mut self) -> Savepoint {
        Savepoint(self.changes.len())
    }

    fn rollback_to(&mut self, savepoint: Savepoint) {
        // One that is bound to abort can still undo a part.
        if self.life.running && matches!(self.enter(), Ok(()) | Err(Abort::Cascade)) {
            self.take_back(savepoint.0);
        }
    }

    fn commit(&mut self) -> Result<(), Abort> {
        self.enter()?;
        // A table that is put in another one's place is a change, though no row of it is in the log.
        let has_changes = !self.changes.is_empty() || !self.reader.owned.is_empty();
        let committed = together(|| if has_changes { self.commit_changes() } else { self.commit_reads() });
        let (handed, append_ns) = committed?;
        let (timed, waiter) = (self.reader.look.statistics.timed && handed.is_some(), &self.waits.waiter);
        let (durable, wait_ns) = log_step(timed, waiter, || self.database.wait_durable(handed, waiter));
        self.reader.look.statistics.log.add_commit(append_ns, wait_ns);
        durable?;
        Ok(())
    }

    fn abort(&mut self) {
        self.life.failed = None;
        if self.life.running {
            together(|| self.roll_back());
        }
    }

    /// Whether scans can take a residual predicate. For reads that it locks the transaction takes none, since a writer
    /// looks for read locks only on the version that it replaces.
    fn takes_residual(&self, lock: LockFor) -> bool {
        match self.reader.tracks {
            Tracks::Nothing => lock.is_update(),
            Tracks::Remembers(_) => true,
            Tracks::Locks(_) => lock == LockFor::UpdateFree,
        }
    }

    #[inline]
    fn capabilities(&self) -> Capabilities {
        self.info.capabilities
    }

    fn statistics(&mut self) -> &mut Statistics {
        &mut self.reader.look.statistics
    }
}

impl Holding for HekatonTransaction {
    fn hold_reads(&mut self, hold: bool) {
        if self.life.running {
            self.reader.hold(hold);
        }
    }

    fn hold_row(&mut self, id: TableId, key: &Key) -> Result<bool, Abort> {
        self.enter()?;
        let read_time = self.read_time();
        let scene = scene(&self.participant, &self.database, id, self.reader.fixed)?;
        self.reader.keep_key(scene, key, read_time)
    }

    fn own_table(&mut self, table: TableId, ownership: Ownership) {
        if !self.life.running {
            return;
        }
        if !self.reader.owned.contains(&table) {
            self.reader.owned.push(table);
        }
        if ownership == Ownership::New && !self.made.contains(&table) {
            self.made.push(table);
        }
    }

    fn check_owned_table(&mut self, id: TableId) -> Result<(), Abort> {
        self.enter()?;
        let Some(read_time) = self.reader.fixed else { return Ok(()) };
        let now = self.shared.clock.now();
        let (guard, table) = scene(&self.participant, &self.database, id, Some(read_time))?;
        if self.reader.look.has_changed(guard, table, (read_time, now)) { Err(Abort::TableChanged) } else { Ok(()) }
    }
}

impl Yielding for HekatonTransaction {
    standard!(retire_writes);

    fn give_way(&mut self, to: Option<Savepoint>) -> Result<bool, Abort> {
        self.undo_and_wait(to)
    }

    fn idle(&mut self) {
        if self.life.running {
            self.settle_turns()
        } else {
            self.leave_queues()
        }
        if !self.life.running || !self.participant.is_entered() {
            return;
        }
        // The transactions that it depends on are about to end. Until they have, it cannot leave.
        if self.wait_for_dependencies() == Err(Abort::Cascade) {
            self.roll_back();
            self.life.failed = Some(Abort::Cascade);
        } else if self.dependencies() == Dependencies::Resolved {
            self.step_out();
        }
    }
}

impl Planned for HekatonTransaction {
    standard!(schema_of, add_missing, announce);
}

impl Diagnostics for HekatonTransaction {
    standard!(exclusion, prospect);

    fn deadlock(&self) -> Option<&Deadlock> {
        self.life.deadlock.as_ref()
    }
}

impl Drop for HekatonTransaction {
    fn drop(&mut self) {
        self.abort();
        self.leave_queues();
        if let Some(slot) = self.slot {
            self.shared.transactions.give_back(slot, std::mem::take(&mut self.sweeper));
        }
    }
}
