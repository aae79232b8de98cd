//! A transaction under the hierarchical lock manager.

use super::inheritance::Inheritance;
use super::locker::Locker;
use super::manager::LockManager;
use super::mode::Mode;
use super::variants::Variant;
use crate::shared::early_release::ReleasesAtEnd;
use crate::shared::in_place::IndexLocks;
use crate::shared::locking::{LockDiagnostics, Locking, LockingTransaction, Sought};
use crate::shared::locks;
use crate::shared::read_level::ReadLevel;
use crate::shared::scan::Scanner;
use crate::shared::time_outs::Limits;
use hotrow_storage::{Database, Guard, Participant, RecordRef, RowRef, Table, TableId};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{
    Abort, Begin, Capabilities, Deadlock, EngineInfo, Isolation, LockStatistics, LockWait, Protocol, Scan, Settings,
    SettingsError, Statistics, WorkerId, standard,
};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::time::Duration;

/// Strict two-phase locking in a hierarchy of database, tables, pages and rows.
pub struct Hierarchical<V> {
    pub(super) manager: Arc<LockManager>,
    config: HierarchyConfig,
    variant: PhantomData<fn() -> V>,
}

/// The knobs of [`Hierarchical`].
#[derive(Clone, Debug)]
pub struct HierarchyConfig {
    /// The buckets for locks on rows, gaps and unique keys, rounded up to a power of two. A bucket takes 64 bytes. With
    /// escalation, a transaction holds some thousand locks at most.
    pub buckets: usize,
    /// The length of a page in bytes, a power of two. By default a page is a whole segment of a table's memory.
    pub page_bytes: usize,
    /// The number of locks on rows of a page at which the page is locked as a whole. A table is at four times as many
    /// locks in it. Zero for never.
    pub escalation: usize,
    /// The percentage of the last requests for a lock that must have met latch contention for the lock to be hot.
    pub hot_percent: u8,
    /// The number of successive transactions that may leave an inherited lock unused before the lock is released. With
    /// 0 the first such transaction releases it.
    pub momentum: u8,
    /// The longest wait. Deadlocks do not last, but there are clients that never come back.
    pub wait_limit: Duration,
}

impl Default for HierarchyConfig {
    fn default() -> Self {
        Self {
            buckets: 1 << 14,
            page_bytes: 2 << 20,
            escalation: 1000,
            hot_percent: 6,
            momentum: 16,
            wait_limit: Duration::from_secs(10),
        }
    }
}

impl<V: Variant> Protocol for Hierarchical<V> {
    const INFO: EngineInfo = V::INFO;
    type Config = HierarchyConfig;
    type Table = Table<()>;
    type Worker = ();
    type Transaction = HierarchicalTransaction<V>;

    fn configure(settings: &Settings) -> Result<Self::Config, SettingsError> {
        let defaults = Self::Config::default();
        let hot_percent = settings.hot_percent.unwrap_or(defaults.hot_percent);
        if hot_percent > 100 {
            let text = format!("{hot_percent} % of a lock's requests: expected a percentage from 0 to 100");
            return Err(SettingsError(text));
        }
        let escalation = settings.escalation.unwrap_or(defaults.escalation);
        let momentum = settings.momentum.unwrap_or(defaults.momentum);
        Ok(Self::Config { escalation, hot_percent, momentum, ..defaults })
    }

    fn new(config: Self::Config) -> Self {
        let manager = LockManager::new(config.buckets, config.hot_percent);
        Self { manager, config, variant: PhantomData }
    }

    fn audit(&self, _database: &Database<()>) -> Result<(), String> {
        self.manager.audit()
    }

    fn locks(&self, _database: &Database<()>) -> Option<LockStatistics> {
        let (held, waiting) = self.manager.usage();
        Some(LockStatistics { held: held as u64, waiting: waiting as u64 })
    }

    fn lock_waits(&self) -> Vec<LockWait> {
        self.manager.waits()
    }

    fn worker(&self, _id: WorkerId) {}

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Database<()>>,
        _worker: &mut (),
        waiter: Waiter,
    ) -> HierarchicalTransaction<V> {
        let inheritance = V::INHERITS.then(|| Inheritance::new(self.config.momentum));
        let page_shift = self.config.page_bytes.max(1).ilog2();
        let requester = self.manager.requester(waiter);
        let locking = HierarchicalLocking {
            locker: Locker::new(requester, inheritance, self.config.escalation, page_shift),
            level: ReadLevel::default(),
            limits: Limits::within(self.config.wait_limit),
            variant: PhantomData,
        };
        LockingTransaction::new(database, locking)
    }
}

/// A transaction in flight.
pub type HierarchicalTransaction<V> = LockingTransaction<HierarchicalLocking<V>>;

/// The locks of one transaction, taken as it comes to what they protect.
pub struct HierarchicalLocking<V> {
    pub(super) locker: Locker,
    level: ReadLevel,
    limits: Limits,
    variant: PhantomData<fn() -> V>,
}

impl<V: Variant> Locking for HierarchicalLocking<V> {
    type Header = ();

    #[inline]
    fn capabilities(&self) -> Capabilities {
        V::INFO.capabilities
    }

    fn begin(
        &mut self,
        database: &Database<()>,
        participant: &mut Participant,
        begin: &Begin<'_>,
        _again: bool,
    ) -> Result<(), Abort> {
        self.level = ReadLevel::of(V::INFO.granted(begin.isolation));
        participant.enter();
        self.locker.begin(begin.label, self.limits);
        if let Some(accesses) = begin.accesses {
            self.locker.announce(database, participant.guard(), accesses);
        }
        Ok(())
    }

    #[inline]
    fn next_call(&mut self, _database: &Database<()>, _guard: Guard<'_>) {
        self.locker.release_short();
    }

    #[inline]
    fn read<'s>(&mut self, row: Sought<'_, 's, ()>) -> Result<Option<RecordRef<'s, ()>>, Abort> {
        let record = match self.level.now() {
            Isolation::ReadCommitted => self.locker.row_for_now(&row)?,
            _ => self.locker.row(&row, Mode::S)?.1,
        };
        Ok(record.filter(|record| record.is_present()))
    }

    #[inline]
    fn read_for_update<'s>(&mut self, row: Sought<'_, 's, ()>) -> Result<Option<RecordRef<'s, ()>>, Abort> {
        let (_, record) = self.locker.row(&row, Mode::U)?;
        Ok(record.filter(|record| record.is_present()))
    }

    #[inline]
    fn write<'s>(&mut self, row: Sought<'_, 's, ()>) -> Result<Option<RecordRef<'s, ()>>, Abort> {
        let (_, record) = self.locker.row(&row, Mode::X)?;
        Ok(record.filter(|record| record.is_present()))
    }

    fn insert(&mut self, row: Sought<'_, '_, ()>) -> Result<(), Abort> {
        self.locker.row(&row, Mode::X).map(drop)
    }

    #[inline]
    fn entries(&mut self) -> impl IndexLocks<()> {
        self.locker.entries()
    }

    fn scan(
        &mut self,
        table: &Table<()>,
        guard: Guard<'_>,
        scan: &Scan,
        visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        Scanner { table, guard, locks: &mut self.locker, scan, isolation: self.level.now() }.run(visit)
    }

    fn hold_reads(&mut self, hold: bool) {
        self.level.hold_reads(hold);
    }

    fn hold_row(&mut self, row: Sought<'_, '_, ()>) -> Result<bool, Abort> {
        locks::hold_row(&mut self.locker, row, self.level.granted())
    }

    fn own(&mut self, table: TableId) {
        self.locker.own(table);
    }

    #[inline]
    fn end(&mut self, _database: &Database<()>, _guard: Guard<'_>) {
        self.locker.release_all();
    }

    fn waiter(&self) -> &Waiter {
        self.locker.waiter()
    }
}

impl<V: Variant> ReleasesAtEnd for HierarchicalLocking<V> {}

impl<V: Variant> LockDiagnostics for HierarchicalLocking<V> {
    standard!(add_missing, exclusion);

    fn statistics(&mut self) -> &mut Statistics {
        &mut self.locker.statistics
    }

    fn deadlock(&self) -> Option<&Deadlock> {
        self.locker.deadlock()
    }
}
