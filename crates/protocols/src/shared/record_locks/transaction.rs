//! A transaction that locks its records in their headers.

use super::declared::Declared;
use super::foresight::Foresight;
use super::lock::RecordLock;
use super::locker::Locker;
use super::retired::RetiredRows;
use super::waiting::RecordWaits;
use crate::shared::batch;
use crate::shared::early_release::EarlyRelease;
use crate::shared::in_place::{InPlace, IndexLocks};
use crate::shared::lock_table::Requester;
use crate::shared::locking::{LockDiagnostics, Locking, LockingTransaction, Sought};
use crate::shared::locks::{self, Announced};
use crate::shared::mode::Mode;
use crate::shared::read_level::ReadLevel;
use crate::shared::scan::Scanner;
use crate::shared::time_outs::TimeOuts;
use hotrow_storage::{Database, Guard, Participant, RecordRef, RowRef, Table, TableId};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Abort, Begin, Capabilities, Deadlock, EngineInfo, Isolation, Scan, Statistics, standard};
use std::ops::ControlFlow;

/// A transaction that locks records in their headers.
pub type RecordTransaction<L> = LockingTransaction<RecordLocking<L>>;

/// The parts from which a transaction object is made.
pub(crate) struct Parts<'p, L: RecordLock> {
    pub(crate) info: &'static EngineInfo,
    /// The engine's capabilities, without those that a setting takes away.
    pub(crate) capabilities: Capabilities,
    /// The handle on the lock table, for gaps, unique columns and absent keys.
    pub(crate) requester: Requester,
    pub(crate) time_outs: &'p TimeOuts,
    /// The list in which deadlocks are looked for, or `None` if they end by time-out or cannot arise.
    pub(crate) waits: Option<Arc<RecordWaits<L>>>,
    /// The rows whose reads are locked exclusively, since most readers write them later, or `None` if all reads are
    /// locked shared.
    pub(crate) foresight: Option<Arc<Foresight>>,
    /// The rows whose next writer may go on before the last one has committed, or `None` if no row is released early.
    pub(crate) retired: Option<Arc<RetiredRows<L>>>,
    pub(crate) owner: L::Owner,
}

/// The part of a transaction that takes its locks, as its isolation level requires, and releases them.
pub struct RecordLocking<L: RecordLock> {
    info: &'static EngineInfo,
    capabilities: Capabilities,
    time_outs: TimeOuts,
    locks: Locker<L>,
    /// The access set's rows in the order of their locks, if they are locked as the transaction begins.
    declared: Option<Declared<L>>,
    level: ReadLevel,
}

impl<L: RecordLock> RecordLocking<L> {
    /// Makes a transaction object of these parts.
    pub(crate) fn transaction(database: &Arc<Database<L>>, parts: Parts<'_, L>) -> RecordTransaction<L> {
        let Parts { info, capabilities, requester, time_outs, waits, foresight, retired, owner } = parts;
        let locking = Self {
            info,
            capabilities,
            time_outs: time_outs.clone(),
            locks: Locker::new(owner, requester, waits, foresight, retired),
            declared: capabilities.locks_accesses.then(Declared::default),
            level: ReadLevel::default(),
        };
        LockingTransaction::new(database, locking)
    }

    /// Locks a row, present or absent, to the transaction's end, and returns its record if it is present.
    #[inline]
    fn find<'s>(&mut self, row: Sought<'_, 's, L>, mode: Mode) -> Result<Option<RecordRef<'s, L>>, Abort> {
        if let Some(found) = self.find_declared(&row, mode) {
            return Ok(Some(found));
        }
        let found = self.locks.row(row.table, row.guard, (row.key, row.hash), mode)?;
        Ok(found.filter(RecordRef::is_present))
    }

    /// Returns the level at which reads lock now. A transaction that follows others keeps its read locks.
    #[inline]
    fn reads_as(&self) -> Isolation {
        if self.locks.follows() { Isolation::Serializable } else { self.level.now() }
    }

    /// Returns a row of the access set that was found and locked in the mode as the transaction began.
    #[inline]
    fn find_declared<'s>(&mut self, row: &Sought<'_, 's, L>, mode: Mode) -> Option<RecordRef<'s, L>> {
        self.declared.as_mut()?.find(row, mode)
    }
}

impl<L: RecordLock> Locking for RecordLocking<L> {
    type Header = L;

    #[inline]
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    #[inline]
    fn begin(
        &mut self,
        database: &Database<L>,
        participant: &mut Participant,
        begin: &Begin<'_>,
        again: bool,
    ) -> Result<(), Abort> {
        self.level = ReadLevel::of(self.info.granted(begin.isolation));
        participant.enter();
        let is_declared = self.declared.is_some() && begin.accesses.is_some();
        self.locks.begin(begin, again, is_declared, &self.time_outs);
        if self.level.granted() == Isolation::ReadCommitted {
            self.locks.read_briefly();
        }
        if let Some(declared) = &mut self.declared {
            declared.clear();
        }
        match (begin.accesses, &mut self.declared) {
            (None, _) => Ok(()),
            (Some(accesses), None) => {
                batch::prefetch(database, participant.guard(), accesses.rows(), |_, _| {});
                Ok(())
            }
            (Some(accesses), Some(declared)) => {
                declared.lock(&mut self.locks, database, participant.guard(), accesses.rows())
            }
        }
    }

    #[inline]
    fn next_call(&mut self, database: &Database<L>, guard: Guard<'_>) {
        self.locks.release_short(database, guard);
    }

    #[inline]
    fn read<'s>(&mut self, row: Sought<'_, 's, L>) -> Result<Option<RecordRef<'s, L>>, Abort> {
        if let Some(found) = self.find_declared(&row, Mode::SHARED) {
            return Ok(Some(found));
        }
        let Sought { table, guard, key, hash, .. } = row;
        let found = match self.reads_as() {
            Isolation::ReadCommitted => self.locks.row_for_now(table, guard, (key, hash))?,
            _ => self.locks.row_to_read(table, guard, (key, hash))?,
        };
        Ok(found.filter(RecordRef::is_present))
    }

    #[inline]
    fn write<'s>(&mut self, row: Sought<'_, 's, L>) -> Result<Option<RecordRef<'s, L>>, Abort> {
        self.find(row, Mode::EXCLUSIVE)
    }

    fn insert(&mut self, row: Sought<'_, '_, L>) -> Result<(), Abort> {
        self.find(row, Mode::EXCLUSIVE).map(drop)
    }

    #[inline]
    fn entries(&mut self) -> impl IndexLocks<L> {
        Announced(&mut self.locks)
    }

    fn scan(
        &mut self,
        table: &Table<L>,
        guard: Guard<'_>,
        scan: &Scan,
        visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        let isolation = self.reads_as();
        Scanner { table, guard, locks: &mut self.locks, scan, isolation }.run(visit)
    }

    fn hold_reads(&mut self, hold: bool) {
        self.level.hold_reads(hold);
    }

    fn hold_row(&mut self, row: Sought<'_, '_, L>) -> Result<bool, Abort> {
        locks::hold_row(&mut self.locks, row, self.level.granted())
    }

    fn own(&mut self, table: TableId) {
        self.locks.own(table);
    }

    #[inline]
    fn end(&mut self, database: &Database<L>, guard: Guard<'_>) {
        self.locks.release_all(database, guard);
    }

    fn waiter(&self) -> &Waiter {
        self.locks.waiter()
    }
}

impl<L: RecordLock> EarlyRelease<L> for RecordLocking<L> {
    fn retire(&mut self, database: &Database<L>, guard: Guard<'_>, changes: &mut InPlace<L>) {
        let released = self.locks.retire(database, guard, changes);
        if let Some(declared) = &mut self.declared {
            released.into_iter().for_each(|record| declared.forget(record));
        }
    }

    #[inline]
    fn takes_part(&self) -> bool {
        self.locks.takes_part()
    }

    #[inline]
    fn check(&self) -> Result<(), Abort> {
        if self.locks.is_doomed() { Err(Abort::Cascade) } else { Ok(()) }
    }

    fn follows(&self) -> bool {
        self.locks.follows()
    }

    fn wait_for_leaders(&mut self) -> Result<(), Abort> {
        self.locks.wait_for_leaders()
    }

    fn decided(&mut self, is_committed: bool) {
        self.locks.decided(is_committed);
    }

    #[inline]
    fn reclaim(&mut self, participant: &mut Participant) {
        self.locks.reclaim(participant);
    }
}

impl<L: RecordLock> LockDiagnostics for RecordLocking<L> {
    standard!(add_missing, exclusion);

    fn statistics(&mut self) -> &mut Statistics {
        self.locks.statistics()
    }

    fn deadlock(&self) -> Option<&Deadlock> {
        self.locks.deadlock()
    }
}
