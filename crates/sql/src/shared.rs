//! The state that the sessions of a database share below their plans: the engine, the catalog, the registry of
//! sessions, and the sessions' locks and queues.

use crate::activity::Activity;
use crate::admission::Admission;
use crate::advisory::AdvisoryLocks;
use crate::catalog::{Catalog, Table};
use crate::contention::{Contended, Contention};
use crate::counters::Totals;
use crate::turns::Turns;
use crate::types::now;
use crate::{MemoryLimit, Times, schema};
use hotrow_storage::TableId;
use hotrow_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use hotrow_sync::{Arc, Mutex, meter};
use hotrow_txn::{AdmissionStatistics, Engine, Isolation};
use std::time::Duration;

/// The configuration of the SQL front end.
#[derive(Clone, Debug)]
pub struct Config {
    /// The isolation level of transactions that do not say one.
    pub default_isolation: Isolation,
    /// How many plans of the simple protocol are kept, by their texts without literals.
    pub plan_cache_entries: usize,
    /// How many portals a session may have open.
    pub max_portals: usize,
    /// How many prepared statements a session may have.
    pub max_statements: usize,
    /// The limit of waits that cannot be told from a deadlock, if `lock_timeout` is not set: waits in a circle that may
    /// lead through an engine that does not report blockers. It also limits how long a statement is retried.
    pub uncertain_wait: Duration,
    /// How long a statement that meets a conflict is retried, under an engine without waits, if neither `lock_timeout`
    /// nor `deadlock_timeout` is set.
    pub conflict_wait: Duration,
    /// Whether sessions begin with `hotrow.early_release = hot`, under an engine that has it.
    pub early_release: bool,
    /// The engines under which transactions choose to be optimistic or pessimistic, for the error under any other
    /// engine.
    pub choosing_engines: Vec<&'static str>,
    /// How often a statement outside a transaction block is tried again after an abort that a retry can cure.
    pub max_retries: u32,
    /// The longest pause before such a retry; the first ones are shorter.
    pub max_retry_pause: Duration,
    /// Whether blocks of sessions that abort each other are held back, under engines that have no
    /// [admission](hotrow_txn::Inspection::admission) of their own.
    pub holds_back: bool,
    /// How much memory the process may have. What counts is what its allocator, a
    /// [`Metered`](hotrow_sync::meter::Metered) one, is asked for; with another allocator it is only what tables map by
    /// themselves.
    pub memory_limit: MemoryLimit,
    /// The counts of where the time of sessions goes, if they are wanted.
    pub times: Option<Arc<Times>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            default_isolation: Isolation::ReadCommitted,
            plan_cache_entries: 1024,
            max_portals: 1000,
            max_statements: 10_000,
            uncertain_wait: Duration::from_secs(10),
            conflict_wait: Duration::from_secs(1),
            early_release: false,
            choosing_engines: Vec::new(),
            max_retries: 10,
            max_retry_pause: Duration::from_millis(20),
            holds_back: true,
            memory_limit: MemoryLimit::NONE,
            times: None,
        }
    }
}

/// The state that all sessions of a database share.
pub struct Shared {
    engine: Arc<dyn Engine>,
    pub(crate) config: Config,
    pub(crate) catalog: Catalog,
    /// The number of clients that may be connected, if the server has set it.
    max_connections: AtomicU32,
    /// The time at which the database was opened, in microseconds since 2000-01-01 UTC.
    started: i64,
    /// The number of transaction numbers that have been given out.
    transactions: AtomicU64,
    pub(crate) activity: Activity,
    pub(crate) contention: Contention,
    pub(crate) advisory: AdvisoryLocks,
    /// The queues of statements that retry in place of a wait.
    pub(crate) turns: Arc<Turns>,
    /// Blocks of sessions that abort each other, if the engine does not hold them back itself.
    pub(crate) admission: Option<Arc<Admission>>,
    /// Whether transactions may let others have rows before they commit: a commit may then be refused for what others
    /// have done.
    pub(crate) releases_early: bool,
    /// Held by the session that looks for a circle of waits.
    pub(crate) looks: Mutex<()>,
}

impl Shared {
    /// Makes an empty catalog over an engine, without sessions.
    pub(crate) fn new(engine: Arc<dyn Engine>, config: Config) -> Self {
        meter::watch(config.memory_limit.bytes().unwrap_or(usize::MAX));
        let admission = (config.holds_back && engine.admission().is_none()).then(Arc::default);
        let releases_early = engine.early_release().is_some();
        Self {
            engine,
            config,
            catalog: Catalog::default(),
            max_connections: AtomicU32::new(100),
            started: now(),
            transactions: AtomicU64::new(0),
            activity: Activity::default(),
            contention: Contention::default(),
            advisory: AdvisoryLocks::default(),
            turns: Arc::default(),
            admission,
            releases_early,
            looks: Mutex::default(),
        }
    }

    /// Returns the counts of where the time of sessions goes, if they are wanted.
    pub fn times(&self) -> Option<&Times> {
        self.config.times.as_deref()
    }

    /// Returns the numbers of transactions that are held back because they abort each other, by the engine or else by
    /// sessions. All numbers are zero if none is held back.
    pub fn admission(&self) -> AdmissionStatistics {
        let own = self.admission.as_ref().map(|admission| admission.statistics());
        own.or_else(|| self.engine.admission()).unwrap_or_default()
    }

    /// Returns the sums of the counters of all sessions so far.
    pub fn totals(&self) -> Totals {
        self.activity.totals()
    }

    /// Returns the time at which the database was opened, in microseconds since 2000-01-01 UTC.
    pub(crate) fn started(&self) -> i64 {
        self.started
    }

    /// Returns a new number for a transaction.
    pub(crate) fn next_transaction(&self) -> u64 {
        // The first ones are PostgreSQL's own.
        self.transactions.fetch_add(1, Ordering::Relaxed) + 3
    }

    /// How many clients may be connected: what `SHOW max_connections` says.
    pub fn set_max_connections(&self, limit: u32) {
        self.max_connections.store(limit, Ordering::Release);
    }

    pub(crate) fn max_connections(&self) -> u32 {
        self.max_connections.load(Ordering::Acquire)
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// How much memory the process may have.
    pub fn memory_limit(&self) -> MemoryLimit {
        self.config.memory_limit
    }

    /// Whether the engine keeps versions of rows, as all engines with snapshots do: readers then do not wait for
    /// writers of a row, and a commit may be refused because of other transactions.
    pub(crate) fn keeps_versions(&self) -> bool {
        self.engine.info().isolation.contains(&Isolation::Snapshot)
    }

    /// The tables that there are.
    pub fn tables(&self) -> Vec<TableId> {
        self.catalog.tables().iter().map(|table| table.id).collect()
    }

    /// Returns the name of each table, its number of rows, which is approximate while transactions run, and its
    /// contention.
    pub fn tables_in_numbers(&self) -> Vec<(String, u64, Contended)> {
        let tables = self.catalog.tables();
        let contended = self.contention.tables(&tables.iter().map(|table| table.id).collect::<Vec<_>>());
        let rows = |table: &Table| self.engine.row_count(table.id);
        tables
            .iter()
            .zip(contended)
            .map(|(table, contended)| (schema::shown(table.name()), rows(table), contended))
            .collect()
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("engine", &self.engine.info().name).finish_non_exhaustive()
    }
}
