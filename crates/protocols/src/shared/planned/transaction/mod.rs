//! A planned transaction.

mod announced;
mod copied;
mod entries;
mod glance;
mod scan;

use super::admission::Admission;
use super::copies::Copies;
use super::plan::{Place, Plan, PlannedRow, TooLarge};
use super::scene::Scene;
use crate::shared::gate::{Gate, Pass};
use crate::shared::in_place::InPlace;
use crate::shared::log_times::log_step;
use crate::shared::outside_plan::{push_entries, push_insert, push_range};
use crate::shared::time_outs::LimitedWaiter;
use crate::shared::{begin_call, record, table, table_to_write};
use entries::{EntryLocks, Owned};
use hotrow_storage::{
    Database, IndexRef, Key, Participant, RecordPtr, RecordRef, RowMut, RowRef, Table, TableId, TableSchema,
};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{
    Abort, Access, Accesses, Begin, Capabilities, Diagnostics, Exclusion, Holding, Intent, Isolation, Ownership,
    Planned, Savepoint, Scan, Statistics, Transaction, Write, Yielding, standard,
};
use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::time::Duration;

/// A transaction in flight.
pub struct PlannedTransaction<A: Admission> {
    database: Arc<Database<A::Header>>,
    participant: Participant,
    waits: LimitedWaiter,
    pass: Pass,
    admission: A,
    plan: Plan<A::Header>,
    changes: InPlace<A::Header>,
    role: Role,
    read_only: bool,
    running: bool,
    /// Whether the last transaction's locks are kept, and its pass.
    keeps: bool,
    /// The tables that the caller keeps all other transactions off.
    owned: Vec<TableId>,
    /// The accesses outside the access set.
    missing: Accesses,
    /// The copies of rows that are not locked.
    copies: Copies,
    statistics: Statistics,
}

/// The kind of locks that a transaction has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The transaction has the locks of its plan.
    Planned,
    /// The transaction has the whole database.
    Alone,
    /// The transaction locks one row at a time, to read it.
    Glancing,
    /// No locks, since all rows were copied when the transaction began.
    Copied,
    /// No locks, since the transaction has not begun or could not begin.
    Nothing,
}

impl<A: Admission> PlannedTransaction<A> {
    pub(crate) fn new(
        database: &Arc<Database<A::Header>>,
        gate: &Arc<Gate>,
        admission: A,
        waiter: Waiter,
        wait_limit: Duration,
    ) -> Self {
        Self {
            database: database.clone(),
            participant: database.participant(),
            pass: gate.pass(waiter.clone()),
            waits: LimitedWaiter::new(waiter, wait_limit),
            admission,
            plan: Plan::default(),
            changes: InPlace::default(),
            role: Role::Nothing,
            read_only: false,
            running: false,
            keeps: false,
            owned: Vec::new(),
            missing: Accesses::new(),
            copies: Copies::default(),
            statistics: Statistics::default(),
        }
    }

    /// Begins a call. Fails if no transaction is running.
    #[inline]
    fn enter(&mut self) -> Result<(), Abort> {
        begin_call(self.running, &mut self.participant)
    }

    /// Begins a call that writes to a table. Fails if the transaction only reads, or the table is constant.
    #[inline]
    fn enter_to_write(&mut self, id: TableId) -> Result<(), Abort> {
        self.enter()?;
        if self.read_only {
            return Err(Abort::User);
        }
        table_to_write(&self.database, self.participant.guard(), id)?;
        if self.pass.lets_readers_in() { self.exclude_readers() } else { Ok(()) }
    }

    /// Keeps readers out of the database, before a transaction writes that has the whole database and has only read so
    /// far.
    #[cold]
    fn exclude_readers(&mut self) -> Result<(), Abort> {
        let (limit, waited_before) = (self.waits.limit(), self.statistics.wait_ns);
        self.pass.exclude_readers(Some(limit), &mut self.statistics)?;
        let limit = self.rest_of(limit, waited_before);
        self.admission.alone(limit, &mut self.statistics)
    }

    #[inline]
    fn end(&mut self, may_keep: bool) {
        if self.role == Role::Planned {
            self.locking(|txn| {
                let scene = Scene { database: &txn.database, guard: txn.participant.guard() };
                txn.keeps = may_keep && txn.admission.keep(scene, &mut txn.plan);
                if !txn.keeps {
                    txn.admission.release(scene, &mut txn.plan, &mut txn.statistics);
                }
            });
        }
        self.role = Role::Nothing;
        self.sweep();
        if !self.keeps {
            self.pass.leave();
        }
        self.changes.reclaim(&mut self.participant);
        self.participant.leave();
        self.owned.clear();
        self.running = false;
    }

    /// Gives back the locks that the last transaction has kept.
    #[cold]
    fn release_kept(&mut self) {
        self.keeps = false;
        self.participant.enter();
        let scene = Scene { database: &self.database, guard: self.participant.guard() };
        self.admission.release_kept(scene, &mut self.statistics);
        self.participant.leave();
        self.pass.leave();
    }

    /// Unlinks records that no transaction counts on any more, and hands them to the participant, which reclaims them.
    #[inline]
    fn sweep(&mut self) {
        if self.plan.unused.is_empty() && self.plan.garbage.is_empty() {
            return;
        }
        let scene = Scene { database: &self.database, guard: self.participant.guard() };
        self.plan.unlink_unused(scene);
        for garbage in self.plan.garbage.drain(..) {
            self.participant.retire(garbage);
        }
    }

    /// Makes a step of locking, and reads the clock before and after if times are taken.
    #[inline]
    fn locking<R>(&mut self, step: impl FnOnce(&mut Self) -> R) -> R {
        if self.statistics.timed { self.timed(step) } else { step(self) }
    }

    #[cold]
    fn timed<R>(&mut self, step: impl FnOnce(&mut Self) -> R) -> R {
        let start = self.waits.waiter.now();
        let waited_before = self.statistics.wait_ns;
        let result = step(self);
        let waited = self.statistics.wait_ns - waited_before;
        let all = self.waits.waiter.now().since(start).as_nanos() as u64;
        self.statistics.lock_manager_ns += all.saturating_sub(waited);
        self.statistics.timed_calls += 1;
        result
    }

    /// Keeps all other transactions off the database. As long as an `interactive` transaction has not written, those
    /// that only read are let in.
    #[cold]
    fn begin_alone(&mut self, limit: Duration, interactive: bool) -> Result<(), Abort> {
        let waited_before = self.statistics.wait_ns;
        self.pass.close(Some(limit), &mut self.statistics)?;
        self.role = Role::Alone;
        self.participant.enter();
        let limit = self.rest_of(limit, waited_before);
        self.admission.alone(limit, &mut self.statistics)?;
        if interactive {
            self.pass.let_readers_in();
        }
        Ok(())
    }

    /// Returns the part of a limit that is left after the waits since `waited_before`.
    #[inline]
    fn rest_of(&self, limit: Duration, waited_before: u64) -> Duration {
        limit.saturating_sub(Duration::from_nanos(self.statistics.wait_ns - waited_before))
    }

    /// Takes the locks that the accesses need, all of them at once.
    #[inline]
    fn begin_planned(&mut self, accesses: &Accesses, limit: Duration) -> Result<(), Abort> {
        if self.keeps && (self.read_only || self.pass.is_in_the_way()) {
            self.release_kept();
        }
        let waited_before = self.statistics.wait_ns;
        if !self.keeps {
            self.pass.enter(self.read_only, Some(limit), &mut self.statistics)?;
        }
        let limit = self.rest_of(limit, waited_before);
        self.participant.enter();
        let scene = Scene { database: &self.database, guard: self.participant.guard() };
        if let Err(TooLarge) = self.plan.resolve(scene, accesses, self.admission.needs()) {
            self.participant.leave();
            if self.keeps {
                self.release_kept();
            }
            self.pass.leave();
            return self.begin_alone(limit, false);
        }
        if self.read_only && self.copies.prepare(scene, accesses, &self.plan) && self.locking(Self::copy_everything) {
            self.role = Role::Copied;
            self.sweep();
            return Ok(());
        }
        let admitted = self.locking(|txn| {
            let scene = Scene { database: &txn.database, guard: txn.participant.guard() };
            txn.keeps = false;
            txn.admission.admit(scene, accesses, &mut txn.plan, limit, &mut txn.statistics)
        });
        match admitted {
            Ok(()) => self.role = Role::Planned,
            Err(_) => self.sweep(),
        }
        admitted
    }

    fn owns(&self, id: TableId) -> bool {
        self.role == Role::Alone || self.owned.contains(&id)
    }

    /// Returns the record of a row that the caller may touch as `intent` says, whether or not the row is present.
    /// Returns `None` if there is no record.
    #[inline]
    fn reach(&mut self, id: TableId, key: &Key, intent: Intent) -> Result<Option<RecordPtr<A::Header>>, Abort> {
        let scene = Scene { database: &self.database, guard: self.participant.guard() };
        let table = table(&self.database, scene.guard, id)?;
        let expected = self.plan.next_if(|row| {
            row.table == id
                && (row.intent == Intent::Write || intent == Intent::Read)
                && row.record.is_some_and(|record| scene.deref(table, record).has_key(key))
        });
        match expected {
            Some(position) => Ok(self.plan.rows[position].record),
            None => self.reach_by_name(id, key, intent),
        }
    }

    fn reach_by_name(&mut self, id: TableId, key: &Key, intent: Intent) -> Result<Option<RecordPtr<A::Header>>, Abort> {
        let hash = key.hash64();
        let scene = Scene { database: &self.database, guard: self.participant.guard() };
        let table = table(&self.database, scene.guard, id)?;
        let name = Access::name(id, hash);
        let reachable = table.is_constant()
            || self.owns(id)
            || self
                .plan
                .next_if(|row| row.name == name && row.record.is_none() && covers(row.intent, intent))
                .is_some()
            || self.plan.find(scene, table, (key, name), intent).is_some()
            || self.admission.reaches(table, key);
        if !(reachable || self.plan.is_partial && self.add_late(id, key, intent)) {
            self.missing.push(id, key.clone(), intent);
            return Err(Abort::OutsidePlan);
        }
        let guard = self.participant.guard();
        let found = self::table(&self.database, guard, id)?.find(guard, key, hash);
        Ok(found.map(|record| record.ptr()))
    }

    /// Adds a row to a plan whose maker knew that it might lack some. Returns whether the row's lock could be had.
    #[cold]
    fn add_late(&mut self, id: TableId, key: &Key, intent: Intent) -> bool {
        let scene = Scene { database: &self.database, guard: self.participant.guard() };
        let Some(table) = scene.table(id) else { return false };
        let name = Access::name(id, key.hash64());
        let is_read = self.plan.find(scene, table, (key, name), Intent::Read).is_some();
        let is_added = !is_read && add_row(&mut self.admission, scene, &mut self.plan, table, key, intent);
        if !is_added {
            self.sweep();
        }
        is_added
    }

    /// Returns the row with this key as it is for this transaction, or `None` if it is absent.
    #[inline]
    fn find(&mut self, id: TableId, key: &Key, intent: Intent) -> Result<Option<RowRef<'_>>, Abort> {
        if self.role == Role::Glancing {
            return self.glance_at(id, key);
        }
        if self.role == Role::Copied {
            return self.find_copy(id, key, intent);
        }
        let Some(pointer) = self.reach(id, key, intent)? else { return Ok(None) };
        let scene = Scene { database: &self.database, guard: self.participant.guard() };
        let table = table(&self.database, scene.guard, id)?;
        let record = scene.deref(table, pointer);
        Ok(record.is_present().then(|| record::row(record)))
    }

    /// Adds the row of an insert to the plan, if the plan does not have it.
    fn reach_to_insert(&mut self, id: TableId, key: &Key) -> Result<(), Abort> {
        let found = self.reach(id, key, Intent::Write);
        match found {
            Err(Abort::OutsidePlan) => {}
            other => return other.map(drop),
        }
        if self.add_late(id, key, Intent::Write) { Ok(()) } else { Err(Abort::OutsidePlan) }
    }

    /// Returns the parts of the transaction that a write works with.
    #[inline]
    fn writer(&mut self) -> Writer<'_, A> {
        let owned = Owned { alone: self.role == Role::Alone, tables: &self.owned };
        let scene = Scene { database: &self.database, guard: self.participant.guard() };
        Writer {
            scene,
            locks: EntryLocks {
                scene,
                admission: &mut self.admission,
                plan: &mut self.plan,
                owned,
                row: Place::Everywhere,
                made: None,
            },
            changes: &mut self.changes,
            missing: &mut self.missing,
        }
    }
}

fn covers(held: Intent, wanted: Intent) -> bool {
    held == Intent::Write || wanted == Intent::Read
}

/// Adds a row's lock to an admitted plan. Returns `false` if the lock cannot be had now.
fn add_row<A: Admission>(
    admission: &mut A,
    scene: Scene<'_, A::Header>,
    plan: &mut Plan<A::Header>,
    table: &Table<A::Header>,
    key: &Key,
    intent: Intent,
) -> bool {
    let hash = key.hash64();
    let name = Access::name(table.id(), hash);
    let needs = admission.needs();
    let mut row = PlannedRow::unfound(table, key, name, intent, needs);
    if !admission.comes_to(row.partition) {
        return false;
    }
    if needs.records {
        let found = table.find(scene.guard, key, hash);
        row.record =
            Some(found.map_or_else(|| super::plan::placeholder(table, scene, key, hash).ptr(), |record| record.ptr()));
    }
    admission.add_row(scene, plan, row)
}

/// The parts of the transaction that a write works with, side by side.
struct Writer<'t, A: Admission> {
    scene: Scene<'t, A::Header>,
    locks: EntryLocks<'t, A>,
    changes: &'t mut InPlace<A::Header>,
    missing: &'t mut Accesses,
}

/// Turns the conflict of a lock that cannot be had late into the error that the plan lacks it, after `note` was called.
#[inline]
fn outside<T>(result: Result<T, Abort>, note: impl FnOnce()) -> Result<T, Abort> {
    match result {
        Err(Abort::Conflict) => {
            note();
            Err(Abort::OutsidePlan)
        }
        result => result,
    }
}

impl<A: Admission> Transaction for PlannedTransaction<A> {
    standard!(takes_residual);

    #[inline]
    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort> {
        debug_assert!(!self.running, "a transaction is running");
        self.read_only = begin.read_only || begin.reconnaissance;
        self.running = true;
        self.missing.clear();
        self.plan.clear();
        self.admission.begin(begin.label);
        let limit = self.waits.limit();
        let glances = begin.read_only && begin.isolation == Isolation::ReadCommitted;
        if self.keeps && (glances || begin.accesses.is_none()) {
            self.release_kept();
        }
        match begin.accesses {
            Some(accesses) if !glances => self.begin_planned(accesses, limit),
            _ if glances || begin.reconnaissance => {
                self.pass.enter(true, Some(limit), &mut self.statistics)?;
                self.role = Role::Glancing;
                self.participant.enter();
                Ok(())
            }
            _ => self.begin_alone(limit, !begin.one_shot),
        }
    }

    #[inline]
    fn read(&mut self, id: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.enter()?;
        self.find(id, key, Intent::Read)
    }

    fn read_for_update(&mut self, id: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.enter()?;
        self.find(id, key, Intent::Write)
    }

    #[inline]
    fn update(
        &mut self,
        id: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        self.enter_to_write(id)?;
        let Some(pointer) = self.reach(id, key, Intent::Write)? else { return Ok(Write::Absent) };
        let Writer { scene, mut locks, changes, missing } = self.writer();
        let table = table(scene.database, scene.guard, id)?;
        let record = scene.deref(table, pointer);
        if !record.is_present() {
            return Ok(Write::Absent);
        }
        locks.set_row(table, key);
        let start = changes.savepoint();
        let updated = changes.update(scene.database, scene.guard, table, record, &mut locks, change);
        outside(updated, || {
            push_entries(missing, table, key, record::row(record));
            changes.rollback_to(scene.database, scene.guard, start);
            push_entries(missing, table, key, record::row(record));
        })
    }

    fn insert(&mut self, id: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        self.enter_to_write(id)?;
        let guard = self.participant.guard();
        let table_of = table(&self.database, guard, id)?;
        let key = table_of.key_of(row);
        let hash = key.hash64();
        let owns = self.owns(id);
        // A row of the plan has a record, present or not.
        let is_new = !owns && A::LOCKS_MADE && table_of.find(guard, &key, hash).is_none();
        let reached = if owns || is_new { Ok(()) } else { self.reach_to_insert(id, &key) };
        let Writer { scene, mut locks, changes, missing } = self.writer();
        let table = table(scene.database, scene.guard, id)?;
        if let Err(abort) = reached {
            push_entries(missing, table, &key, row);
            return Err(abort);
        }
        locks.set_row(table, &key);
        if is_new {
            let name = Access::name(id, hash);
            locks.made = Some(PlannedRow::unfound(table, &key, name, Intent::Write, locks.admission.needs()));
        }
        let present = !is_new && table.find(scene.guard, &key, hash).is_some_and(|record| record.is_present());
        let inserted = match present {
            true => Ok(Write::Duplicate(IndexRef::Primary)),
            false => locks
                .lock(table, IndexRef::Primary, &key, locks.row)
                .and_then(|()| changes.insert(scene.database, scene.guard, table, (&key, hash), row, &mut locks)),
        };
        outside(inserted, || {
            push_insert(missing, table, &key, row);
        })
    }

    fn delete(&mut self, id: TableId, key: &Key) -> Result<Write, Abort> {
        self.enter_to_write(id)?;
        let Some(pointer) = self.reach(id, key, Intent::Write)? else { return Ok(Write::Absent) };
        let Writer { scene, mut locks, changes, missing } = self.writer();
        let table = table(scene.database, scene.guard, id)?;
        let record: RecordRef<'_, A::Header> = scene.deref(table, pointer);
        if !record.is_present() {
            return Ok(Write::Absent);
        }
        locks.set_row(table, key);
        let deleted = changes.delete(scene.guard, table, record, &mut locks);
        outside(deleted.map(|()| Write::Done), || push_entries(missing, table, key, record::row(record)))
    }

    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        self.enter()?;
        if self.read_only && scan.lock.is_update() {
            return Err(Abort::User);
        }
        if self.role == Role::Glancing {
            return self.glance_along(scan, visit);
        }
        let intent = if scan.lock.is_update() { Intent::Write } else { Intent::Read };
        let mut left_at = None;
        let scanned = self.scan_locked(scan, intent, &mut left_at, visit);
        let missing = &mut self.missing;
        // A walk that was to break off goes on a little, as a rule.
        outside(scanned, || push_range(missing, scan, left_at))
    }

    fn savepoint(&mut self) -> Savepoint {
        self.changes.savepoint()
    }

    fn rollback_to(&mut self, savepoint: Savepoint) {
        if self.enter().is_ok() {
            self.changes.rollback_to(&self.database, self.participant.guard(), savepoint);
        }
    }

    #[inline]
    fn commit(&mut self) -> Result<(), Abort> {
        self.enter()?;
        let timed = self.statistics.timed && self.database.redo().is_some();
        let hand_over = || self.changes.hand_over(&self.database, self.participant.guard(), &self.waits.waiter);
        let (handed, append_ns) = log_step(timed, &self.waits.waiter, hand_over);
        if !self.changes.is_empty() {
            let owned = Owned { alone: self.role == Role::Alone, tables: &self.owned };
            // A row of an owned table is counted on only if it is in the plan, too.
            let (plan, records) = (&self.plan, OnceCell::new());
            let carry_locks = self.admission.needs().records;
            let counted = |table, record| carry_locks && (!owned.owns(table) || plan.has_record(record, &records));
            self.changes.commit(&self.database, &mut self.participant, counted);
        }
        // A transaction that waits for a log keeps no other waiting.
        self.end(handed.is_none());
        let waiter = &self.waits.waiter;
        let (durable, wait_ns) = log_step(timed, waiter, || self.database.wait_durable(handed, waiter));
        self.statistics.log.add_commit(append_ns, wait_ns);
        durable?;
        Ok(())
    }

    fn abort(&mut self) {
        if self.enter().is_ok() {
            self.changes.abort(&self.database, &mut self.participant);
            self.end(false);
        }
    }

    #[inline]
    fn capabilities(&self) -> Capabilities {
        Capabilities::PLANNED
    }

    fn statistics(&mut self) -> &mut Statistics {
        &mut self.statistics
    }
}

impl<A: Admission> Holding for PlannedTransaction<A> {
    standard!(hold_reads, hold_row, check_owned_table);

    fn own_table(&mut self, table: TableId, _ownership: Ownership) {
        self.owned.push(table);
    }
}

impl<A: Admission> Yielding for PlannedTransaction<A> {
    standard!(give_way, retire_writes);

    fn idle(&mut self) {
        if self.keeps && !self.running {
            self.release_kept();
        }
        // A transaction that reads one row at a time holds nothing between two reads: those that want to be alone
        // need not wait for it.
        if self.role == Role::Glancing {
            self.pass.leave();
        }
        // Rows of a plan stay where they are: their locks are counted.
        if self.participant.is_entered() {
            self.participant.leave();
        }
    }
}

impl<A: Admission> Planned for PlannedTransaction<A> {
    fn schema_of(&mut self, id: TableId) -> Option<Arc<TableSchema>> {
        self.enter().ok()?;
        self.database.table(self.participant.guard(), id).map(|table| table.schema().clone())
    }

    fn add_missing(&mut self, accesses: &mut Accesses) {
        accesses.extend(&self.missing);
    }

    fn announce(&mut self, add: &mut dyn FnMut(&mut Accesses)) {
        if !A::ADDS_TOGETHER || self.read_only || self.role != Role::Planned || self.enter().is_err() {
            return;
        }
        let mut announced = Accesses::new();
        add(&mut announced);
        self.add_announced(&announced);
    }
}

impl<A: Admission> Diagnostics for PlannedTransaction<A> {
    standard!(deadlock, prospect);

    fn exclusion(&self) -> Exclusion {
        self.pass.exclusion()
    }
}

impl<A: Admission> Drop for PlannedTransaction<A> {
    fn drop(&mut self) {
        self.abort();
        self.idle();
    }
}
