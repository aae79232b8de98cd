//! A transaction under ordered locking.

use super::plan::Plan;
use super::wait_phase::WaitPhase;
use crate::shared::early_release::ReleasesAtEnd;
use crate::shared::gaps::row_name;
use crate::shared::gate::{Gate, Pass};
use crate::shared::in_place::IndexLocks;
use crate::shared::lock_table::{LockTable, Name};
use crate::shared::locking::{LockDiagnostics, Locking, LockingTransaction, Reach, Sought};
use crate::shared::locks::{Announced, Locks};
use crate::shared::mode::Mode;
use crate::shared::outside_plan::{push_entries, push_insert, push_range};
use crate::shared::scan::Scanner;
use crate::shared::time_outs::Limits;
use hotrow_storage::{Database, Guard, Key, Participant, RecordRef, RowRef, Table, TableId};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Abort, Accesses, Begin, Capabilities, Exclusion, Intent, Isolation, Scan, Statistics, standard};
use std::ops::ControlFlow;
use std::time::Duration;

/// The number of times that a plan is made anew because entries moved while its locks were waited for. After that the
/// transaction keeps the whole database.
const PLANS: u32 = 8;

/// A transaction of `2pl-ordered` or `2pl-ordered-split`.
pub type OrderedTransaction = LockingTransaction<PlannedLocking>;

/// The part of a transaction that takes the locks of its plan before it runs, and releases them at its end.
pub struct PlannedLocking {
    pass: Pass,
    locks: Locks<WaitPhase>,
    plan: Plan,
    wait_limit: Duration,
    role: Role,
    /// The accesses that the transaction tried outside its access set.
    missing: Accesses,
}

/// The kind of locks that a transaction has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The transaction has the locks of its plan.
    Planned,
    /// The transaction has the whole database.
    Alone,
    /// The transaction locks one row at a time, to read it.
    Reconnaissance,
}

impl PlannedLocking {
    pub(super) fn new(gate: &Arc<Gate>, lock_table: &Arc<LockTable>, waiter: Waiter, wait_limit: Duration) -> Self {
        Self {
            pass: gate.pass(waiter.clone()),
            locks: Locks::new(Arc::default(), lock_table.requester(waiter)),
            plan: Plan::default(),
            wait_limit,
            role: Role::Alone,
            missing: Accesses::new(),
        }
    }

    /// Keeps all other transactions off the database. As long as an `interactive` transaction has not written, those
    /// that only read are let in.
    #[cold]
    fn begin_alone(
        &mut self,
        participant: &mut Participant,
        wait_limit: Duration,
        interactive: bool,
    ) -> Result<(), Abort> {
        self.role = Role::Alone;
        self.pass.close(Some(wait_limit), &mut self.locks.statistics)?;
        if interactive {
            self.pass.let_readers_in();
        }
        self.locks.own_everything();
        participant.enter();
        Ok(())
    }

    /// Takes the locks that the accesses need, in the order of their names.
    #[inline]
    fn begin_planned(
        &mut self,
        database: &Database<()>,
        participant: &mut Participant,
        accesses: &Accesses,
        (reads, wait_limit): (bool, Duration),
    ) -> Result<(), Abort> {
        self.role = Role::Planned;
        self.pass.enter(reads, Some(wait_limit), &mut self.locks.statistics)?;
        participant.enter();
        let guard = participant.guard();
        self.locks.prefetch(database, guard, accesses);
        for _ in 0..PLANS {
            self.plan.resolve(database, guard, accesses);
            for (name, mode, target) in self.plan.locks(accesses) {
                self.locks.acquire(name, mode, target)?;
            }
            if self.plan.holds(database, guard, accesses) {
                self.locks.policy.may_wait_no_more();
                return Ok(());
            }
            self.locks.release_all();
        }
        participant.leave();
        self.pass.leave();
        self.begin_alone(participant, wait_limit, false)
    }

    /// Waits until no transaction reads beside this one, which has the whole database and is about to write.
    #[inline]
    fn exclude_readers(&mut self) -> Result<(), Abort> {
        if !self.pass.lets_readers_in() {
            return Ok(());
        }
        let limit = self.limit();
        self.pass.exclude_readers(Some(limit), &mut self.locks.statistics)
    }

    /// Returns the longest time for which a wait that begins now may last.
    #[inline]
    fn limit(&self) -> Duration {
        self.locks.waiter().lock_timeout().unwrap_or(self.wait_limit)
    }

    /// Ensures that the caller may touch a row in this mode, or fails.
    #[inline]
    fn reach(&mut self, row: &Sought<'_, '_, ()>, mode: Mode) -> Result<(), Abort> {
        let id = row.table.id();
        let name = row_name(id, row.hash);
        match self.role {
            Role::Planned if self.plan.covers(name, mode) => Ok(()),
            Role::Planned => self.reach_outside(id, row.key, name, mode),
            Role::Alone => Ok(()),
            Role::Reconnaissance => self.locks.row_for_now(id, row.key, row.hash),
        }
    }

    /// Ensures that a row outside the plan may be touched. It may if the transaction has come to lock it meanwhile, or
    /// if the plan is known to lack rows and the row is free now.
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
}

impl Locking for PlannedLocking {
    type Header = ();

    #[inline]
    fn capabilities(&self) -> Capabilities {
        Capabilities::PLANNED
    }

    #[inline]
    fn begin(
        &mut self,
        database: &Database<()>,
        participant: &mut Participant,
        begin: &Begin<'_>,
        _again: bool,
    ) -> Result<(), Abort> {
        self.missing.clear();
        let limit = self.limit();
        self.locks.requester.begin(begin.label, Limits::within(self.wait_limit));
        self.locks.policy.may_wait_from_now();
        match begin.accesses {
            Some(accesses) => self.begin_planned(database, participant, accesses, (begin.read_only, limit)),
            None if begin.reconnaissance => {
                self.role = Role::Reconnaissance;
                self.pass.enter(true, Some(limit), &mut self.locks.statistics)?;
                participant.enter();
                Ok(())
            }
            None => self.begin_alone(participant, limit, !begin.one_shot),
        }
    }

    #[inline]
    fn next_call(&mut self, _database: &Database<()>, _guard: Guard<'_>) {
        self.locks.release_short();
    }

    #[inline]
    fn read<'s>(&mut self, row: Sought<'_, 's, ()>) -> Result<Option<RecordRef<'s, ()>>, Abort> {
        self.reach(&row, Mode::SHARED)?;
        Ok(row.find())
    }

    #[inline]
    fn write<'s>(&mut self, row: Sought<'_, 's, ()>) -> Result<Option<RecordRef<'s, ()>>, Abort> {
        self.exclude_readers()?;
        self.reach(&row, Mode::EXCLUSIVE)?;
        Ok(row.find())
    }

    fn insert(&mut self, row: Sought<'_, '_, ()>) -> Result<(), Abort> {
        self.exclude_readers()?;
        self.locks.row(row.table.id(), row.key, row.hash, Mode::EXCLUSIVE).map(drop)
    }

    #[inline]
    fn entries(&mut self) -> impl IndexLocks<()> {
        Announced(&mut self.locks)
    }

    fn scan(
        &mut self,
        table: &Table<()>,
        guard: Guard<'_>,
        scan: &Scan,
        visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        let isolation = match self.role {
            Role::Reconnaissance => Isolation::ReadCommitted,
            Role::Planned | Role::Alone => Isolation::Serializable,
        };
        Scanner { table, guard, locks: &mut self.locks, scan, isolation }.run(visit)
    }

    fn own(&mut self, table: TableId) {
        self.locks.own(table);
    }

    /// Turns the conflict of a call, whose lock was not free at once, into [`Abort::OutsidePlan`]: the plan should have
    /// had the lock. Notes what the call wanted to reach.
    fn fail(&mut self, abort: Abort, in_reach_of: Reach<'_, ()>) -> Abort {
        if abort != Abort::Conflict {
            return abort;
        }
        let missing = &mut self.missing;
        match in_reach_of {
            Reach::Row => {}
            Reach::Entries(table, key, row) => push_entries(missing, table, key, row),
            Reach::Insert(table, key, row) => push_insert(missing, table, key, row),
            Reach::Range(scan) => push_range(missing, scan, None),
        }
        Abort::OutsidePlan
    }

    #[inline]
    fn end(&mut self, _database: &Database<()>, _guard: Guard<'_>) {
        self.locks.release_all();
        self.pass.leave();
    }

    fn waiter(&self) -> &Waiter {
        self.locks.waiter()
    }
}

impl ReleasesAtEnd for PlannedLocking {}

impl LockDiagnostics for PlannedLocking {
    standard!(deadlock);

    fn statistics(&mut self) -> &mut Statistics {
        &mut self.locks.statistics
    }

    fn add_missing(&mut self, accesses: &mut Accesses) {
        accesses.extend(&self.missing);
    }

    fn exclusion(&self) -> Exclusion {
        self.pass.exclusion()
    }
}
