//! The state that the sessions of all databases of a server share: the engine, the registry of sessions, the sessions'
//! locks and queues, and the databases by their names.

use crate::activity::Activity;
use crate::admission::Admission;
use crate::advisory::AdvisoryLocks;
use crate::contention::Contention;
use crate::contents::Contents;
use crate::counters::Totals;
use crate::schema::DATABASE;
use crate::turns::Turns;
use crate::types::now;
use crate::{MemoryLimit, Times};
use hotrow_log::directory::LiveDirectory;
use hotrow_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use hotrow_sync::{Arc, Mutex, MutexGuard, meter};
use hotrow_txn::{AdmissionStatistics, Engine, Isolation};
use std::collections::BTreeMap;
use std::time::Duration;

/// The configuration of the databases of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// The isolation level of transactions that do not set one.
    pub default_isolation: Isolation,
    /// The maximum number of cached plans. Statements that differ only in their literals share a plan.
    pub plan_cache_entries: usize,
    /// The maximum number of portals that a session may have open.
    pub max_portals: usize,
    /// The maximum number of prepared statements that a session may have.
    pub max_statements: usize,
    /// The limit on waits that may or may not be part of a deadlock, because the engine does not report which
    /// transactions block a wait. A session whose wait may be part of a cycle is aborted after this time, if all waits
    /// of the cycle have lasted as long. If `lock_timeout` is not set, it also limits how long a statement is retried.
    pub uncertain_wait: Duration,
    /// The maximum time for which a statement that meets conflicts is retried under an engine without waits, if neither
    /// `lock_timeout` nor `deadlock_timeout` is set.
    pub conflict_wait: Duration,
    /// Whether sessions begin with `hotrow.early_release = hot`, if the engine can release locks early.
    pub early_release: bool,
    /// The names of the engines under which a transaction can choose to be optimistic or pessimistic. Under any other
    /// engine, the error for such a choice lists these names.
    pub choosing_engines: Vec<&'static str>,
    /// The maximum number of retries of a statement outside a transaction block, after aborts that a retry can cure.
    pub max_retries: u32,
    /// The longest pause before a retry of a statement outside a transaction block. The pauses before the first retries
    /// are shorter.
    pub max_retry_pause: Duration,
    /// Whether the sessions use admission control: they limit how many of the transaction blocks that abort each other
    /// run at once. Has no effect if the engine has an [admission](hotrow_txn::Inspection::admission) of its own.
    pub holds_back: bool,
    /// The limit on the memory of the process. If the process uses the allocator
    /// [`Metered`](hotrow_sync::meter::Metered), all allocated memory counts. With any other allocator, only the memory
    /// that tables map by themselves counts.
    pub memory_limit: MemoryLimit,
    /// The counters of where sessions spend their time, or `None` if the time is not measured.
    pub times: Option<Arc<Times>>,
    /// The data directory of the database; `None` if it is in memory only.
    pub directory: Option<Arc<LiveDirectory>>,
    /// The only user who may make backups, which are files on the server's machine. If it is `None`, every user may.
    pub administrator: Option<String>,
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
            directory: None,
            administrator: None,
        }
    }
}

/// The state that the sessions of all databases of a server share, except for the plans.
pub struct Cluster {
    engine: Arc<dyn Engine>,
    pub(crate) config: Config,
    /// The contents of the database `postgres`, which is always there. Its definitions say which others there are.
    pub(crate) main: Arc<Contents>,
    /// All databases, by their names.
    databases: Mutex<BTreeMap<Arc<str>, Arc<Contents>>>,
    /// The maximum number of clients, which is 100 unless the server sets another.
    max_connections: AtomicU32,
    /// The time at which the databases were opened, in microseconds since 2000-01-01 UTC.
    started: i64,
    /// The number of transaction numbers that have been assigned so far.
    transactions: AtomicU64,
    pub(crate) activity: Activity,
    pub(crate) contention: Contention,
    pub(crate) advisory: AdvisoryLocks,
    /// The queues of statements that retry because their engine does not wait.
    pub(crate) turns: Arc<Turns>,
    /// The admission control of transaction blocks that abort each other, or `None` if [`Config::holds_back`] is off or
    /// the engine has its own.
    pub(crate) admission: Option<Arc<Admission>>,
    /// Whether the engine can release rows to other transactions before their writer has committed. If so, a commit may
    /// be refused because of what another transaction has done.
    pub(crate) releases_early: bool,
    /// The mutex that a session holds while it searches for a cycle of waits, so that only one session searches at a
    /// time.
    pub(crate) looks: Mutex<()>,
}

impl Cluster {
    /// Makes the state of these databases over an engine. One of the databases must be `postgres`. There are no
    /// sessions yet.
    pub(crate) fn new(engine: Arc<dyn Engine>, databases: Vec<Contents>, config: Config) -> Self {
        meter::watch(config.memory_limit.bytes().unwrap_or(usize::MAX));
        let admission = (config.holds_back && engine.admission().is_none()).then(Arc::default);
        let releases_early = engine.early_release().is_some();
        let databases: BTreeMap<_, _> =
            databases.into_iter().map(|contents| (contents.name.clone(), Arc::new(contents))).collect();
        Self {
            engine,
            config,
            main: databases[DATABASE].clone(),
            databases: Mutex::new(databases),
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

    /// Returns the contents of all databases, ordered by their names.
    pub(crate) fn databases(&self) -> Vec<Arc<Contents>> {
        self.by_name().values().cloned().collect()
    }

    /// Returns the contents of the database with this name, or `None` if there is none. The database cannot be dropped
    /// as long as the caller keeps the contents.
    pub(crate) fn database(&self, name: &str) -> Option<Arc<Contents>> {
        self.by_name().get(name).cloned()
    }

    /// Adds a database to the list.
    pub(crate) fn add(&self, contents: Arc<Contents>) {
        self.by_name().insert(contents.name.clone(), contents);
    }

    /// Removes a database from the list, so that no session can connect to it any more. Returns `None` if there is no
    /// such database, or if a session or another handle of it exists.
    pub(crate) fn take(&self, name: &str) -> Option<Arc<Contents>> {
        let mut databases = self.by_name();
        // Handles are made of this one, under the mutex: none can be made meanwhile.
        let is_alone = databases.get(name).is_some_and(|contents| Arc::strong_count(contents) == 1);
        if is_alone { databases.remove(name) } else { None }
    }

    fn by_name(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Arc<Contents>>> {
        self.databases.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Returns the counters of where sessions spend their time, or `None` if the time is not measured.
    pub fn times(&self) -> Option<&Times> {
        self.config.times.as_deref()
    }

    /// Returns the data directory of the database, or `None` if it is in memory only.
    pub fn directory(&self) -> Option<&Arc<LiveDirectory>> {
        self.config.directory.as_ref()
    }

    /// Returns the statistics of admission control: the engine's, or else the sessions' own. All numbers are zero if
    /// neither limits how many transactions run.
    pub fn admission(&self) -> AdmissionStatistics {
        let own = self.admission.as_ref().map(|admission| admission.statistics());
        own.or_else(|| self.engine.admission()).unwrap_or_default()
    }

    /// Returns the sums of the counters of all sessions since the database was opened.
    pub fn totals(&self) -> Totals {
        self.activity.totals()
    }

    /// Returns the time at which the database was opened, in microseconds since 2000-01-01 UTC.
    pub(crate) fn started(&self) -> i64 {
        self.started
    }

    /// Returns a new transaction number, which no other transaction of the server has.
    pub(crate) fn next_transaction(&self) -> u64 {
        // The first ones are PostgreSQL's own.
        self.transactions.fetch_add(1, Ordering::Relaxed) + 3
    }

    /// Sets the maximum number of clients, which `SHOW max_connections` shows.
    pub fn set_max_connections(&self, limit: u32) {
        self.max_connections.store(limit, Ordering::Release);
    }

    pub(crate) fn max_connections(&self) -> u32 {
        self.max_connections.load(Ordering::Acquire)
    }

    /// Returns the engine that stores the tables and runs the transactions.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// Returns the limit on the memory of the process.
    pub fn memory_limit(&self) -> MemoryLimit {
        self.config.memory_limit
    }

    /// Whether the engine has versions of rows, as all engines with snapshots do. If so, readers of a row do not wait
    /// for its writers, and a commit may be refused because of other transactions.
    pub(crate) fn keeps_versions(&self) -> bool {
        self.engine.info().isolation.contains(&Isolation::Snapshot)
    }
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("engine", &self.engine.info().name).finish_non_exhaustive()
    }
}
