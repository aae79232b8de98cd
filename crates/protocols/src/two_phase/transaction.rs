//! A transaction under two-phase locking.

use super::policy::Policy;
use crate::shared::early_release::ReleasesAtEnd;
use crate::shared::in_place::IndexLocks;
use crate::shared::lock_table::LockTable;
use crate::shared::locking::{LockDiagnostics, Locking, LockingTransaction, Sought};
use crate::shared::locks::{self, Announced, Locks};
use crate::shared::mode::Mode;
use crate::shared::read_level::ReadLevel;
use crate::shared::scan::Scanner;
use hotrow_storage::{Database, Guard, Participant, RecordRef, RowRef, Table, TableId};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{
    Abort, Begin, Capabilities, Deadlock, EngineInfo, Isolation, LockStatistics, LockWait, Protocol, Scan, Settings,
    SettingsError, Statistics, WorkerId, standard,
};
use std::ops::ControlFlow;

/// The protocol of the engines with strict two-phase locking over a lock table. `P` is the deadlock policy.
pub struct TwoPhase<P> {
    policy: Arc<P>,
    table: Arc<LockTable>,
}

/// Knobs of [`TwoPhase`], including the knobs `C` of its policy.
#[derive(Clone, Debug)]
pub struct TwoPhaseConfig<C> {
    /// The number of buckets of the lock table, rounded up to a power of two. A bucket takes 64 bytes. One-shot
    /// transactions hold some hundred locks at once and would do with far fewer; a statement that updates a million
    /// rows holds a million, and finds each among those of its bucket.
    pub buckets: usize,
    /// The policy's knobs.
    pub policy: C,
}

impl<C: Default> Default for TwoPhaseConfig<C> {
    fn default() -> Self {
        Self { buckets: 1 << 16, policy: C::default() }
    }
}

impl<P: Policy> Protocol for TwoPhase<P> {
    const INFO: EngineInfo = P::INFO;
    type Config = TwoPhaseConfig<P::Config>;
    type Table = Table<()>;
    type Worker = ();
    type Transaction = TwoPhaseTransaction<P>;

    fn configure(settings: &Settings) -> Result<Self::Config, SettingsError> {
        Ok(TwoPhaseConfig { policy: P::configure(settings), ..Self::Config::default() })
    }

    fn new(config: Self::Config) -> Self {
        Self { policy: Arc::new(P::new(&config.policy)), table: LockTable::new(config.buckets) }
    }

    fn locks(&self, _database: &Database<()>) -> Option<LockStatistics> {
        let (held, waiting) = self.table.usage();
        Some(LockStatistics { held: held as u64, waiting: waiting as u64 })
    }

    fn lock_waits(&self) -> Vec<LockWait> {
        self.table.waits()
    }

    fn worker(&self, _id: WorkerId) {}

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Database<()>>,
        _worker: &mut (),
        waiter: Waiter,
    ) -> TwoPhaseTransaction<P> {
        let locking = TwoPhaseLocking {
            locks: Locks::new(self.policy.clone(), self.table.requester(waiter)),
            level: ReadLevel::default(),
        };
        LockingTransaction::new(database, locking)
    }
}

impl<P> TwoPhase<P> {
    /// Returns the number of names that are locked now, and the number of requests that wait.
    pub fn locks(&self) -> (usize, usize) {
        self.table.usage()
    }
}

/// A transaction of an engine with two-phase locking and the deadlock policy `P`.
pub type TwoPhaseTransaction<P> = LockingTransaction<TwoPhaseLocking<P>>;

/// The part of a transaction that locks each row when the row is accessed, and releases the locks at the transaction's
/// end.
pub struct TwoPhaseLocking<P> {
    locks: Locks<P>,
    level: ReadLevel,
}

impl<P: Policy> Locking for TwoPhaseLocking<P> {
    type Header = ();

    #[inline]
    fn capabilities(&self) -> Capabilities {
        P::INFO.capabilities
    }

    #[inline]
    fn begin(
        &mut self,
        database: &Database<()>,
        participant: &mut Participant,
        begin: &Begin<'_>,
        again: bool,
    ) -> Result<(), Abort> {
        self.level = ReadLevel::of(P::INFO.granted(begin.isolation));
        participant.enter();
        let limits = self.locks.policy.limits(begin.one_shot);
        self.locks.requester.begin(begin.label, limits);
        if P::LISTS {
            self.locks.requester.stand(begin.one_shot, again);
        }
        let waiter = self.locks.waiter();
        self.locks.policy.begin(self.locks.requester.id(), begin, || waiter.now(), again);
        if let Some(accesses) = begin.accesses {
            self.locks.prefetch(database, participant.guard(), accesses);
        }
        Ok(())
    }

    #[inline]
    fn next_call(&mut self, _database: &Database<()>, _guard: Guard<'_>) {
        self.locks.release_short();
    }

    #[inline]
    fn read<'s>(&mut self, row: Sought<'_, 's, ()>) -> Result<Option<RecordRef<'s, ()>>, Abort> {
        match self.level.now() {
            Isolation::ReadCommitted => self.locks.row_for_now(row.table.id(), row.key, row.hash)?,
            _ => drop(self.locks.row(row.table.id(), row.key, row.hash, Mode::SHARED)?),
        }
        Ok(row.find())
    }

    #[inline]
    fn write<'s>(&mut self, row: Sought<'_, 's, ()>) -> Result<Option<RecordRef<'s, ()>>, Abort> {
        self.locks.row(row.table.id(), row.key, row.hash, Mode::EXCLUSIVE)?;
        Ok(row.find())
    }

    fn insert(&mut self, row: Sought<'_, '_, ()>) -> Result<(), Abort> {
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
        Scanner { table, guard, locks: &mut self.locks, scan, isolation: self.level.now() }.run(visit)
    }

    fn hold_reads(&mut self, hold: bool) {
        self.level.hold_reads(hold);
    }

    fn hold_row(&mut self, row: Sought<'_, '_, ()>) -> Result<bool, Abort> {
        locks::hold_row(&mut self.locks, row, self.level.granted())
    }

    fn own(&mut self, table: TableId) {
        self.locks.own(table);
    }

    #[inline]
    fn end(&mut self, _database: &Database<()>, _guard: Guard<'_>) {
        self.locks.release_all();
    }

    fn waiter(&self) -> &Waiter {
        self.locks.waiter()
    }
}

impl<P: Policy> ReleasesAtEnd for TwoPhaseLocking<P> {}

impl<P: Policy> LockDiagnostics for TwoPhaseLocking<P> {
    standard!(add_missing, exclusion);

    fn statistics(&mut self) -> &mut Statistics {
        &mut self.locks.statistics
    }

    fn deadlock(&self) -> Option<&Deadlock> {
        self.locks.requester.deadlock()
    }
}
