//! A transaction under single-version locking.

use super::key_locks::KeyLocked;
use super::locker::{KeyWaits, Locker};
use super::queues::Queues;
use crate::shared::batch;
use crate::shared::deadlocks::Waits;
use crate::shared::early_release::ReleasesAtEnd;
use crate::shared::in_place::IndexLocks;
use crate::shared::lock_table::Acquired;
use crate::shared::locking::{LockDiagnostics, Locking, LockingTransaction, Sought};
use crate::shared::locks::{self, Announced};
use crate::shared::mode::Mode;
use crate::shared::read_level::ReadLevel;
use crate::shared::scan::Scanner;
use crate::shared::time_outs::TimeOuts;
use hotrow_storage::{Database, Guard, IndexNumber, Participant, RecordRef, RowRef, Table, TableId};
use hotrow_sync::atomic::{AtomicU32, Ordering};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{
    Abort, Begin, Capabilities, Deadlock, EngineInfo, Isolation, LockStatistics, Protocol, Scan, Scheduler, Setting,
    Settings, SettingsError, Statistics, WorkerId, standard,
};
use std::ops::ControlFlow;

/// The protocol `1v`: single-version two-phase locking, with a lock table inside each index.
pub struct OneVersion {
    time_outs: TimeOuts,
    queues: Arc<Queues>,
    /// The transactions that wait, or `None` if deadlocks end by time-out.
    waits: Option<Arc<KeyWaits>>,
    /// The number of transaction objects that were made so far.
    transactions: AtomicU32,
}

impl Protocol for OneVersion {
    const INFO: EngineInfo = EngineInfo {
        name: "1v",
        summary: "locking with a lock table inside each index; all wait, and the youngest of a deadlock aborts",
        source: "Hekaton §5 (1V)",
        capabilities: Capabilities::NONE,
        scheduler: Scheduler::Thread,
        isolates: true,
        isolation: &[Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable],
        concurrency: None,
        settings: &[Setting::DeadlockTimeOuts],
        pool_settings: &[],
    };
    type Config = TimeOuts;
    type Table = Table<KeyLocked>;
    type Worker = ();
    type Transaction = OneVersionTransaction;

    fn configure(settings: &Settings) -> Result<TimeOuts, SettingsError> {
        Ok(TimeOuts::of(settings))
    }

    fn new(time_outs: TimeOuts) -> Self {
        let waits = (!time_outs.end_deadlocks).then(Waits::new);
        Self { time_outs, queues: Queues::new(), waits, transactions: AtomicU32::new(0) }
    }

    /// Checks that no transaction waits in vain, and that each lock that says *awaited* has a transaction that waits
    /// for it.
    fn audit(&self, database: &Database<KeyLocked>) -> Result<(), String> {
        let mut participant = database.participant();
        participant.enter();
        database.tables(participant.guard()).try_for_each(|table| {
            indexes(table).try_for_each(|index| table.index_data(index).audit(table.id(), index, &self.queues))
        })
    }

    fn locks(&self, database: &Database<KeyLocked>) -> Option<LockStatistics> {
        let mut participant = database.participant();
        participant.enter();
        let tables = database.tables(participant.guard());
        let held = tables.flat_map(|table| indexes(table).map(|index| table.index_data(index).held()));
        Some(LockStatistics { held: held.sum::<usize>() as u64, waiting: self.queues.waiting() as u64 })
    }

    fn worker(&self, _id: WorkerId) {}

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Database<KeyLocked>>,
        _worker: &mut (),
        waiter: Waiter,
    ) -> OneVersionTransaction {
        // Relaxed: the numbers differ, and nothing is read because of them.
        let number = self.transactions.fetch_add(1, Ordering::Relaxed);
        let locks = Locker::new(number, self.queues.clone(), self.waits.clone(), waiter);
        let locking = KeyLocking { protocol: self.clone(), locks, level: ReadLevel::default() };
        LockingTransaction::new(database, locking)
    }
}

impl OneVersion {
    /// Returns the number of requests that wait for a lock now.
    pub fn waiting(&self) -> usize {
        self.queues.waiting()
    }
}

/// Returns the indexes of a table that have locks.
fn indexes(table: &Table<KeyLocked>) -> impl Iterator<Item = IndexNumber> {
    (0..table.secondary().len() as u16 + 2).map(IndexNumber)
}

/// A transaction of `1v`.
pub type OneVersionTransaction = LockingTransaction<KeyLocking>;

/// The part of a transaction that takes its locks, as its isolation level requires, and releases them.
pub struct KeyLocking {
    protocol: Arc<OneVersion>,
    locks: Locker,
    level: ReadLevel,
}

impl KeyLocking {
    /// Locks a row to the transaction's end, and returns its record if it is present. At repeatable read an absent row
    /// need not stay absent.
    #[inline]
    fn find<'s>(
        &mut self,
        row: Sought<'_, 's, KeyLocked>,
        mode: Mode,
    ) -> Result<Option<RecordRef<'s, KeyLocked>>, Abort> {
        let acquired = self.locks.row(row.table, row.hash, mode, || row.key.clone())?;
        let found = row.find();
        if found.is_none() && self.level.now() == Isolation::RepeatableRead && acquired == Acquired::New {
            self.locks.unlock_row(row.table, row.hash);
        }
        Ok(found)
    }
}

impl Locking for KeyLocking {
    type Header = KeyLocked;

    #[inline]
    fn capabilities(&self) -> Capabilities {
        OneVersion::INFO.capabilities
    }

    #[inline]
    fn begin(
        &mut self,
        database: &Database<KeyLocked>,
        participant: &mut Participant,
        begin: &Begin<'_>,
        again: bool,
    ) -> Result<(), Abort> {
        self.level = ReadLevel::of(OneVersion::INFO.granted(begin.isolation));
        participant.enter();
        self.locks.begin(begin, again, &self.protocol.time_outs);
        if let Some(accesses) = begin.accesses {
            batch::prefetch(database, participant.guard(), accesses.rows(), |table, access| {
                table.index_data(IndexNumber::HASH).prefetch(access.hash);
            });
        }
        Ok(())
    }

    #[inline]
    fn next_call(&mut self, database: &Database<KeyLocked>, guard: Guard<'_>) {
        self.locks.release_short(database, guard);
    }

    #[inline]
    fn read<'s>(&mut self, row: Sought<'_, 's, KeyLocked>) -> Result<Option<RecordRef<'s, KeyLocked>>, Abort> {
        if self.level.now() != Isolation::ReadCommitted {
            return self.find(row, Mode::SHARED);
        }
        self.locks.row_for_now(row.table, row.key, row.hash)?;
        Ok(row.find())
    }

    #[inline]
    fn write<'s>(&mut self, row: Sought<'_, 's, KeyLocked>) -> Result<Option<RecordRef<'s, KeyLocked>>, Abort> {
        self.find(row, Mode::EXCLUSIVE)
    }

    fn insert(&mut self, row: Sought<'_, '_, KeyLocked>) -> Result<(), Abort> {
        self.locks.row(row.table, row.hash, Mode::EXCLUSIVE, || row.key.clone()).map(drop)
    }

    #[inline]
    fn entries(&mut self) -> impl IndexLocks<KeyLocked> {
        Announced(&mut self.locks)
    }

    fn scan(
        &mut self,
        table: &Table<KeyLocked>,
        guard: Guard<'_>,
        scan: &Scan,
        visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        self.locks.keep_parts(self.level.now() == Isolation::Serializable);
        let scanned = Scanner { table, guard, locks: &mut self.locks, scan, isolation: self.level.now() }.run(visit);
        self.locks.release_passing(table);
        scanned
    }

    fn hold_reads(&mut self, hold: bool) {
        self.level.hold_reads(hold);
    }

    fn hold_row(&mut self, row: Sought<'_, '_, KeyLocked>) -> Result<bool, Abort> {
        locks::hold_row(&mut self.locks, row, self.level.granted())
    }

    fn own(&mut self, table: TableId) {
        self.locks.own(table);
    }

    #[inline]
    fn end(&mut self, database: &Database<KeyLocked>, guard: Guard<'_>) {
        self.locks.release_all(database, guard);
    }

    fn waiter(&self) -> &Waiter {
        self.locks.waiter()
    }
}

impl ReleasesAtEnd for KeyLocking {}

impl LockDiagnostics for KeyLocking {
    standard!(add_missing, exclusion);

    fn statistics(&mut self) -> &mut Statistics {
        &mut self.locks.statistics
    }

    fn deadlock(&self) -> Option<&Deadlock> {
        self.locks.deadlock.as_ref()
    }
}
