//! A transaction over versions.

use super::clock::Timestamp;
use super::garbage::Sweeper;
use super::look::Look;
use super::reader::{Reader, Tracks};
use super::sets::{Changes, Database, Linked};
use super::snapshots::Snapshot;
use super::transactions::{Dependencies, SlotNumber, Transactions};
use super::words::Words;
use super::{Hekaton, Shared};
use crate::shared::table;
use hotrow_storage::{End, Garbage, Guard, Key, Participant, Position, RowMut, RowRef, TableId, VersionTable};
use hotrow_sync::atomic::{Ordering, fence};
use hotrow_sync::{Arc, Waiter, Wake};
use hotrow_txn::{Abort, Access, Begin, Isolation, LockFor, Protocol, Savepoint, Scan, Statistics, Transaction, Write};
use std::ops::ControlFlow;
use std::time::Duration;

/// A transaction in flight.
pub struct HekatonTransaction {
    database: Arc<Database>,
    shared: Arc<Shared>,
    participant: Participant,
    waiter: Waiter,
    /// None if there was none left.
    slot: Option<SlotNumber>,
    reader: Reader,
    changes: Changes,
    sweeper: Sweeper,
    /// Tables that the caller keeps everybody else off.
    owned: Vec<TableId>,
    /// Those of them that it has made.
    made: Vec<TableId>,
    /// The longest wait for those that it depends on, if it does not say another one.
    default_limit: Duration,
    wait_limit: Duration,
    read_only: bool,
    running: bool,
    /// It was rolled back between two calls, and the caller does not know yet.
    failed: Option<Abort>,
}

impl HekatonTransaction {
    pub(super) fn new(database: &Arc<Database>, shared: &Arc<Shared>, default_limit: Duration, waiter: Waiter) -> Self {
        let (slot, last) = shared.transactions.take(&waiter).unzip();
        Self {
            database: database.clone(),
            shared: shared.clone(),
            participant: database.participant(),
            waiter,
            slot,
            reader: Reader::new(Look::new(shared, last.unwrap_or_default())),
            changes: Changes::default(),
            sweeper: Sweeper::default(),
            owned: Vec::new(),
            made: Vec::new(),
            default_limit,
            wait_limit: default_limit,
            read_only: false,
            running: false,
            failed: None,
        }
    }

    /// What every call begins with. An error if no transaction is running.
    #[inline]
    fn enter(&mut self) -> Result<(), Abort> {
        if !self.running {
            return Err(self.failed.unwrap_or(Abort::User));
        }
        if !self.participant.is_entered() {
            if self.reader.fixed.is_none() {
                self.publish(Snapshot::From(self.shared.clock.now()));
            }
            self.participant.enter();
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
        if self.read_only { Err(Abort::User) } else { Ok(()) }
    }

    #[inline]
    fn publish(&self, snapshot: Snapshot) {
        if let Some(slot) = self.slot {
            snapshot.publish(&self.shared.transactions.slot(slot).snapshot);
        }
    }

    /// The time of this call's reads.
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

    fn undo(&mut self, to: usize) {
        let mut garbage = Vec::new();
        let guard = self.participant.guard();
        self.changes.undo(&mut self.reader.look, &self.database, guard, to, &mut garbage);
        self.participant.retire_all(garbage);
    }

    /// Undoes a part, of a transaction that goes on.
    fn undo_part(&mut self, from: usize) {
        let guard = self.participant.guard();
        self.changes.tell_reads(&mut self.reader, &self.database, guard, from);
        self.undo(from);
    }

    /// Waits until all that the transaction depends on have committed (§2.7).
    fn wait_for_dependencies(&mut self) -> Result<(), Abort> {
        if self.dependencies() == Dependencies::Open {
            let start = self.waiter.now();
            let wake = self
                .waiter
                .wait_until(Some(start.after(self.wait_limit)), || self.dependencies() != Dependencies::Open);
            self.reader.look.statistics.waits += 1;
            self.reader.look.statistics.wait_ns += self.waiter.now().since(start).as_nanos() as u64;
            if self.dependencies() == Dependencies::Open {
                return Err(if wake == Wake::Cancelled { Abort::Cancelled } else { Abort::Timeout });
            }
        }
        if self.dependencies() == Dependencies::Broken { Err(Abort::Cascade) } else { Ok(()) }
    }

    /// Commits a transaction that has changed something: takes its end timestamp, looks again at what was read, waits for those that it
    /// depends on, and makes the changes known.
    fn commit_changes(&mut self) -> Result<Option<Position>, Abort> {
        let shared = self.shared.clone();
        let me = self.reader.look.me;
        if let Some(read_time) = self.reader.fixed.filter(|_| self.reader.reads.has_walks()) {
            // What begins and ends from now on must be met again: no collector may take it for something that nobody reads.
            self.publish(Snapshot::From(read_time));
        }
        let end_time = shared.transactions.precommit(me, &shared.clock);
        if let Some(read_time) = self.reader.fixed {
            let (guard, times) = (self.participant.guard(), (read_time, end_time));
            if !self.reader.reads.are_valid(&self.reader.look, &self.database, guard, times) {
                return Err(Abort::Validation);
            }
        }
        self.wait_for_dependencies()?;
        let guard = self.participant.guard();
        for table in self.made.iter().filter_map(|&made| self.database.table(guard, made)) {
            table.born().store(end_time.0, Ordering::Release);
        }
        let handed = self.database.redo().filter(|_| !self.changes.is_empty()).map(|sink| {
            let changes = self.changes.redo(&self.database, guard);
            sink.append(End::At(end_time.0), &mut changes.into_iter(), &self.waiter)
        });
        // From here to the last word without leaving the epoch: somebody may replace a new version and collect it meanwhile.
        shared.transactions.commit(me, end_time);
        self.changes.finish(&self.database, guard, end_time, &mut self.sweeper);
        self.end();
        Ok(handed)
    }

    /// The transaction is over: its id is in no version.
    fn end(&mut self) {
        self.shared.transactions.end(self.reader.look.me);
        self.publish(Snapshot::Nothing);
        self.reader.reads.clear();
        self.owned.clear();
        self.made.clear();
        let mut garbage: Vec<Garbage> = Vec::new();
        if let Some(slot) = self.slot {
            self.sweeper.work(&self.shared, slot, &self.database, self.participant.guard(), &mut garbage);
            self.participant.retire_all(garbage);
        }
        self.participant.leave();
        self.running = false;
    }

    /// Undoes everything, and ends the transaction.
    fn roll_back(&mut self) {
        if !self.participant.is_entered() {
            self.participant.enter();
        }
        self.shared.transactions.abort(self.reader.look.me);
        self.undo(0);
        self.end();
    }

    /// Asks for what the rows of a plan need: the buckets of all, then the first versions, then where those are others' the next.
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

    /// A slot to run in, and the first transaction there.
    fn take_slot(&mut self) -> Result<(), Abort> {
        let begin = |transactions: &Transactions, last| transactions.begin(last);
        let last = self.slot.map(|_| self.reader.look.me);
        let mut begun = last.and_then(|last| begin(&self.shared.transactions, last));
        if begun.is_none() {
            // There was none left when this object was made, or it is used up.
            let (slot, last) = self.shared.transactions.take(&self.waiter).unzip();
            self.slot = slot;
            begun = last.and_then(|last| begin(&self.shared.transactions, last));
        }
        self.reader.look.begin(begun.ok_or(Abort::Resources)?);
        Ok(())
    }
}

/// The guard of a call, and a table to look at: one that was rebuilt after the time of all reads has none of the rows of then.
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

impl Transaction for HekatonTransaction {
    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort> {
        debug_assert!(!self.running, "a transaction is running");
        self.failed = None;
        self.take_slot()?;
        self.running = true;
        self.read_only = begin.read_only;
        self.wait_limit = begin.wait_limit.unwrap_or(self.default_limit);
        let level = match begin.reconnaissance {
            true => Isolation::ReadCommitted,
            false => Hekaton::INFO.granted(begin.isolation),
        };
        self.reader.tracks = match level {
            Isolation::Serializable if !begin.read_only => Tracks::Absence,
            Isolation::RepeatableRead if !begin.read_only => Tracks::Rows,
            _ => Tracks::Nothing,
        };
        self.reader.fixed = None;
        self.publish(Snapshot::From(self.shared.clock.now()));
        self.participant.enter();
        if level != Isolation::ReadCommitted || begin.read_only && begin.one_shot {
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
        Ok(self.reader.read(scene, key, read_time).map(|version| version.row()))
    }

    fn read_for_update(&mut self, id: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.enter_to_write()?;
        let read_time = self.read_time();
        let scene = scene(&self.participant, &self.database, id, self.reader.fixed)?;
        let Some((version, lock)) = self.reader.read_to_write(scene, key, read_time)? else { return Ok(None) };
        // The lock is given up just before the end.
        self.reader.track(scene.1, version);
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
        let scene = scene(&self.participant, &self.database, id, self.reader.fixed)?;
        let Some((version, lock)) = self.reader.read_to_write(scene, key, read_time)? else {
            return Ok(Write::Absent);
        };
        let before = self.changes.len();
        self.changes.end(&mut self.reader.look, id, version, lock);
        let linked = self.changes.replace(&mut self.reader.look, scene, version, change, self.reader.fixed);
        let outcome = match linked {
            Ok(Linked::Done) => return Ok(Write::Done),
            Ok(Linked::Duplicate(index, other)) => {
                self.reader.track(scene.1, other);
                Ok(Write::Duplicate(index))
            }
            Err(abort) => Err(abort),
        };
        self.undo_part(before);
        outcome
    }

    fn insert(&mut self, id: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let scene = scene(&self.participant, &self.database, id, self.reader.fixed)?;
        let before = self.changes.len();
        self.reader.look.statistics.locks += 1;
        let outcome = match self.changes.insert(&mut self.reader.look, scene, row, self.reader.fixed) {
            Ok(Linked::Done) => return Ok(Write::Done),
            Ok(Linked::Duplicate(index, other)) => {
                self.reader.track(scene.1, other);
                Ok(Write::Duplicate(index))
            }
            Err(abort) => Err(abort),
        };
        self.undo_part(before);
        outcome
    }

    fn delete(&mut self, id: TableId, key: &Key) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let read_time = self.read_time();
        let scene = scene(&self.participant, &self.database, id, self.reader.fixed)?;
        let Some((version, lock)) = self.reader.read_to_write(scene, key, read_time)? else {
            return Ok(Write::Absent);
        };
        self.changes.end(&mut self.reader.look, id, version, lock);
        Ok(Write::Done)
    }

    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        self.enter()?;
        if self.read_only && scan.lock == LockFor::Update {
            return Err(Abort::User);
        }
        let read_time = self.read_time();
        let scene = scene(&self.participant, &self.database, scan.table, self.reader.fixed)?;
        if self.reader.fixed.is_some() || scan.lock == LockFor::Update {
            return self.reader.scan(scene, scan, read_time, &mut self.changes, visit);
        }
        // It may take long, and reads at this time only.
        self.publish(Snapshot::ReadOnly(read_time));
        let scanned = self.reader.scan(scene, scan, read_time, &mut self.changes, visit);
        self.publish(Snapshot::From(self.shared.clock.now()));
        // SeqCst: as on entering, between what the slot says and the next read time: invariant 4 of `snapshots`.
        fence(Ordering::SeqCst);
        scanned
    }

    fn own_table(&mut self, table: TableId) {
        if self.running && !self.owned.contains(&table) {
            self.owned.push(table);
        }
    }

    fn own_new_table(&mut self, table: TableId) {
        self.own_table(table);
        if self.running && !self.made.contains(&table) {
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

    fn savepoint(&mut self) -> Savepoint {
        Savepoint(self.changes.len())
    }

    fn rollback_to(&mut self, savepoint: Savepoint) {
        // One that is bound to abort can still undo a part.
        if self.running && matches!(self.enter(), Ok(()) | Err(Abort::Cascade)) {
            self.undo_part(savepoint.0);
        }
    }

    fn commit(&mut self) -> Result<(), Abort> {
        self.enter()?;
        let guard = self.participant.guard();
        self.changes.release_kept(&mut self.reader.look, &self.database, guard);
        // A table that is put in another one's place is a change, though no row of it is in the log.
        let handed = if self.changes.is_empty() && self.owned.is_empty() {
            // All reads were at one time, or at times of their own: there is nothing to look at again.
            self.wait_for_dependencies()?;
            let handed = self.database.redo().map(|sink| sink.appended());
            self.end();
            handed
        } else {
            self.commit_changes()?
        };
        self.database.wait_durable(handed, &self.waiter);
        Ok(())
    }

    fn abort(&mut self) {
        self.failed = None;
        if self.running {
            self.roll_back();
        }
    }

    fn idle(&mut self) {
        if !self.running || !self.participant.is_entered() {
            return;
        }
        // Those that it depends on are about to end; until they have, it cannot leave.
        if self.wait_for_dependencies() == Err(Abort::Cascade) {
            self.roll_back();
            self.failed = Some(Abort::Cascade);
        } else if self.dependencies() == Dependencies::Resolved {
            if self.reader.fixed.is_none() {
                self.publish(Snapshot::Nothing);
            }
            self.participant.leave();
        }
    }

    fn statistics(&mut self) -> &mut Statistics {
        &mut self.reader.look.statistics
    }
}

impl Drop for HekatonTransaction {
    fn drop(&mut self) {
        self.abort();
        if let Some(slot) = self.slot {
            self.shared.transactions.give_back(slot);
        }
    }
}
