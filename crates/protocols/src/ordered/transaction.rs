//! A transaction under ordered locking.

use super::Turn;
use super::plan::Plan;
use crate::shared::gate::{Gate, Pass};
use crate::shared::in_place::InPlace;
use crate::shared::lock_table::{LockTable, Name};
use crate::shared::locks::{Announced, Locks, row_name};
use crate::shared::mode::Mode;
use crate::shared::scan::Scanner;
use crate::shared::{batch, record, table};
use hotrow_storage::TableSchema;
use hotrow_storage::{Database, IndexId, IndexRef, Key, Participant, RecordRef, RowMut, RowRef, Table, TableId};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{
    Abort, Accesses, Begin, Intent, Isolation, LockFor, RangeAccess, Savepoint, Scan, Statistics, Transaction, Write,
};
use std::ops::ControlFlow;
use std::time::Duration;

/// How often a plan is made anew because entries moved while its locks were waited for, before the transaction keeps the
/// whole database.
const PLANS: u32 = 8;

/// A transaction in flight.
pub struct OrderedTransaction {
    database: Arc<Database<()>>,
    lock_table: Arc<LockTable>,
    participant: Participant,
    pass: Pass,
    locks: Locks<Turn>,
    plan: Plan,
    changes: InPlace<()>,
    wait_limit: Duration,
    role: Role,
    read_only: bool,
    running: bool,
    /// What was touched outside the access set.
    missing: Accesses,
}

/// What a transaction's locks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Those of its plan.
    Planned,
    /// The whole database.
    Alone,
    /// One row at a time, to read it.
    Reconnaissance,
}

impl OrderedTransaction {
    pub(super) fn new(
        database: &Arc<Database<()>>,
        gate: &Arc<Gate>,
        lock_table: &Arc<LockTable>,
        waiter: Waiter,
        wait_limit: Duration,
    ) -> Self {
        Self {
            database: database.clone(),
            lock_table: lock_table.clone(),
            participant: database.participant(),
            pass: gate.pass(waiter.clone()),
            locks: Locks::new(Arc::default(), lock_table.requester(waiter)),
            plan: Plan::default(),
            changes: InPlace::default(),
            wait_limit,
            role: Role::Alone,
            read_only: false,
            running: false,
            missing: Accesses::new(),
        }
    }

    /// What every call begins with. An error if no transaction is running.
    #[inline]
    fn enter(&mut self) -> Result<(), Abort> {
        if !self.running {
            return Err(Abort::User);
        }
        if !self.participant.is_entered() {
            self.participant.enter();
        }
        self.locks.release_short();
        Ok(())
    }

    #[inline]
    fn enter_to_write(&mut self) -> Result<(), Abort> {
        self.enter()?;
        if self.read_only { Err(Abort::User) } else { Ok(()) }
    }

    fn end(&mut self) {
        self.locks.release_all();
        self.pass.leave();
        self.changes.retire(&mut self.participant);
        self.participant.leave();
        self.running = false;
    }

    /// Keeps everybody else off the database.
    #[cold]
    fn begin_alone(&mut self, wait_limit: Duration) -> Result<(), Abort> {
        self.role = Role::Alone;
        self.pass.close(Some(wait_limit), &mut self.locks.statistics)?;
        self.locks.own_everything();
        self.participant.enter();
        Ok(())
    }

    /// Takes the locks that the accesses need, all of them in the order of their names.
    #[inline]
    fn begin_planned(&mut self, accesses: &Accesses, wait_limit: Duration) -> Result<(), Abort> {
        self.role = Role::Planned;
        self.pass.enter(Some(wait_limit), &mut self.locks.statistics)?;
        self.participant.enter();
        let guard = self.participant.guard();
        let lock_table = &self.lock_table;
        batch::prefetch(&self.database, guard, accesses.rows(), |_, access| {
            lock_table.prefetch(Name(access.lock_name()));
        });
        for _ in 0..PLANS {
            self.plan.resolve(&self.database, guard, accesses);
            for (name, mode, target) in self.plan.locks(accesses) {
                self.locks.acquire(name, mode, target)?;
            }
            if self.plan.holds(&self.database, guard, accesses) {
                self.locks.policy.may_wait_no_more();
                return Ok(());
            }
            self.locks.release_all();
        }
        self.participant.leave();
        self.pass.leave();
        self.begin_alone(wait_limit)
    }

    /// Sees to it that the caller may touch a row.
    #[inline]
    fn reach(&mut self, id: TableId, key: &Key, hash: u64, mode: Mode) -> Result<(), Abort> {
        let name = row_name(id, hash);
        match self.role {
            Role::Planned if self.plan.covers(name, mode) => Ok(()),
            Role::Planned => self.reach_outside(id, key, name, mode),
            Role::Alone => Ok(()),
            Role::Reconnaissance => self.locks.row_for_now(id, key, hash),
        }
    }

    /// A row outside the plan may be touched if the transaction has come to lock it meanwhile; or if the plan is known to lack
    /// rows, and it is free now.
    #[cold]
    fn reach_outside(&mut self, id: TableId, key: &Key, name: Name, mode: Mode) -> Result<(), Abort> {
        if self.locks.owns(id) || self.locks.requester.holds(name).covers(mode) {
            return Ok(());
        }
        if self.plan.is_partial && self.locks.row(id, key, key.hash64(), mode).is_ok() {
            return Ok(());
        }
        self.missing.push(id, key.clone(), if mode == Mode::SHARED { Intent::Read } else { Intent::Write });
        Err(Abort::OutsidePlan)
    }

    #[inline]
    fn find(&mut self, id: TableId, key: &Key, mode: Mode) -> Result<Option<RowRef<'_>>, Abort> {
        let hash = key.hash64();
        self.reach(id, key, hash, mode)?;
        let guard = self.participant.guard();
        let found = table(&self.database, guard, id)?.find(guard, key, hash);
        Ok(found.filter(|record| record.is_present()).map(record::row))
    }
}

/// Adds the entries that lead to a row to what was missing.
fn push_entries(missing: &mut Accesses, table: &Table<()>, key: &Key, row: RowRef<'_>) {
    missing.push_entry(table.id(), IndexRef::Primary, key.clone(), key.clone());
    for (position, index) in table.secondary().iter().enumerate() {
        let id = IndexRef::Secondary(IndexId(position as u16));
        missing.push_entry(table.id(), id, index.key_of(row), key.clone());
    }
}

/// A lock that is not free at once is one that the plan should have had.
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

impl Transaction for OrderedTransaction {
    #[inline]
    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort> {
        debug_assert!(!self.running, "a transaction is running");
        self.read_only = begin.read_only || begin.reconnaissance;
        self.running = true;
        self.missing.clear();
        let limit = begin.wait_limit.unwrap_or(self.wait_limit);
        self.locks.requester.begin(Some(limit));
        self.locks.policy.may_wait_from_now();
        match begin.accesses {
            Some(accesses) => self.begin_planned(accesses, limit),
            None if begin.reconnaissance => {
                self.role = Role::Reconnaissance;
                self.pass.enter(Some(limit), &mut self.locks.statistics)?;
                self.participant.enter();
                Ok(())
            }
            None => self.begin_alone(limit),
        }
    }

    #[inline]
    fn read(&mut self, id: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.enter()?;
        self.find(id, key, Mode::SHARED)
    }

    fn read_for_update(&mut self, id: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.enter()?;
        self.find(id, key, Mode::EXCLUSIVE)
    }

    #[inline]
    fn update(
        &mut self,
        id: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let hash = key.hash64();
        self.reach(id, key, hash, Mode::EXCLUSIVE)?;
        let guard = self.participant.guard();
        let table = table(&self.database, guard, id)?;
        let Some(record) = table.find(guard, key, hash).filter(|record| record.is_present()) else {
            return Ok(Write::Absent);
        };
        let start = self.changes.savepoint();
        let updated =
            self.changes.update(&self.database, guard, table, record, &mut Announced(&mut self.locks), change);
        let (missing, changes, database) = (&mut self.missing, &mut self.changes, &self.database);
        outside(updated, || {
            push_entries(missing, table, key, record::row(record));
            changes.rollback_to(database, guard, start);
            push_entries(missing, table, key, record::row(record));
        })
    }

    fn insert(&mut self, id: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let guard = self.participant.guard();
        let table = table(&self.database, guard, id)?;
        let key = table.key_of(row);
        let hash = key.hash64();
        let inserted = self.locks.row(id, &key, hash, Mode::EXCLUSIVE).and_then(|_| {
            self.changes.insert(&self.database, guard, table, (&key, hash), row, &mut Announced(&mut self.locks))
        });
        let missing = &mut self.missing;
        outside(inserted, || {
            missing.push(id, key.clone(), Intent::Write);
            push_entries(missing, table, &key, row);
        })
    }

    fn delete(&mut self, id: TableId, key: &Key) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let hash = key.hash64();
        self.reach(id, key, hash, Mode::EXCLUSIVE)?;
        let guard = self.participant.guard();
        let table = table(&self.database, guard, id)?;
        let Some(record) = table.find(guard, key, hash).filter(|record: &RecordRef<'_, ()>| record.is_present()) else {
            return Ok(Write::Absent);
        };
        let deleted = self.changes.delete(guard, table, record, &mut Announced(&mut self.locks));
        let missing = &mut self.missing;
        outside(deleted.map(|()| Write::Done), || push_entries(missing, table, key, record::row(record)))
    }

    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        self.enter()?;
        if self.read_only && scan.lock == LockFor::Update {
            return Err(Abort::User);
        }
        let guard = self.participant.guard();
        let table = table(&self.database, guard, scan.table)?;
        let isolation = match self.role {
            Role::Reconnaissance => Isolation::ReadCommitted,
            Role::Planned | Role::Alone => Isolation::Serializable,
        };
        let scanned = Scanner { table, guard, locks: &mut self.locks, scan, isolation }.run(visit);
        let missing = &mut self.missing;
        outside(scanned, || {
            let intent = if scan.lock == LockFor::Update { Intent::Write } else { Intent::Read };
            let (lower, upper) = (scan.lower.clone(), scan.upper.clone());
            missing.push_range(RangeAccess { table: scan.table, index: scan.index, lower, upper, intent });
        })
    }

    fn own_table(&mut self, table: TableId) {
        self.locks.own(table);
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
        let handed = self.changes.hand_over(&self.database, self.participant.guard(), self.locks.waiter());
        if !self.changes.is_empty() {
            self.changes.commit(&self.database, &mut self.participant, |_, _| false);
        }
        self.end();
        self.database.wait_durable(handed, self.locks.waiter());
        Ok(())
    }

    fn abort(&mut self) {
        if self.enter().is_ok() {
            self.changes.abort(&self.database, &mut self.participant);
            self.end();
        }
    }

    #[inline]
    fn needs_accesses(&self) -> bool {
        true
    }

    fn schema(&mut self, id: TableId) -> Option<Arc<TableSchema>> {
        self.enter().ok()?;
        let guard = self.participant.guard();
        self.database.table(guard, id).map(|table| table.schema().clone())
    }

    fn add_missing(&mut self, accesses: &mut Accesses) {
        accesses.extend(&self.missing);
    }

    fn idle(&mut self) {
        self.locks.release_short();
        if self.participant.is_entered() {
            self.participant.leave();
        }
    }

    fn statistics(&mut self) -> &mut Statistics {
        &mut self.locks.statistics
    }
}

impl Drop for OrderedTransaction {
    fn drop(&mut self) {
        self.abort();
    }
}
