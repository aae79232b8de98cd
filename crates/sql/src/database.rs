//! A database as SQL sees it: an engine, a catalog, and plans to share.

use crate::activity::{Activity, Totals};
use crate::admission::Admission;
use crate::advisory::AdvisoryLocks;
use crate::bind::{Binder, planned};
use crate::catalog::{Catalog, Changes, Rules, Table, Used, View};
use crate::contention::{Contended, Contention};
use crate::depth::{Syntax, with_room};
use crate::error::unsupported;
use crate::expected::Expected;
use crate::expr::now;
use crate::parse::lex::{Token, character_position};
use crate::parse::utility::Utility;
use crate::parse::{self, Parsed};
use crate::plan::{Plan, Statement};
use crate::schema;
use crate::session::Session;
use crate::turns::Turns;
use crate::{MemoryLimit, OutputColumn, SqlError, Times, state};
use hotrow_storage::{TableId, Type};
use hotrow_sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};
use hotrow_sync::{Arc, Mutex, RwLock, Time, Waiter, meter};
use hotrow_txn::{AdmissionStatistics, Engine, Isolation};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::time::Duration;

/// What can be chosen about the SQL front end.
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
    /// How long waits last, if `lock_timeout` says nothing, that nobody can tell from a deadlock: those of a circle that may lead through waits of
    /// an engine that does not say who waits for whom; and how long a statement is tried again.
    pub uncertain_wait: Duration,
    /// How long a statement that meets a conflict is tried again, under an engine in which nobody waits, if neither `lock_timeout` nor
    /// `deadlock_timeout` says.
    pub conflict_wait: Duration,
    /// Whether sessions begin with `hotrow.early_release = hot`, under an engine that has it.
    pub early_release: bool,
    /// The engines under which transactions choose to be optimistic or pessimistic, for who asks another one.
    pub choosing_engines: Vec<&'static str>,
    /// How often a statement outside a transaction block is tried again after an abort that a retry can cure.
    pub max_retries: u32,
    /// The longest pause before such a retry; the first ones are shorter.
    pub max_retry_pause: Duration,
    /// Whether blocks of sessions that abort each other are held back, under engines that have no [admission](Engine::admission) of their own.
    pub holds_back: bool,
    /// How much memory the process may have. What counts is what its allocator, a [`Metered`](hotrow_sync::meter::Metered) one, is asked
    /// for; with another allocator it is only what tables map by themselves.
    pub memory_limit: MemoryLimit,
    /// Where sessions add up where their time goes, if anybody wants to know.
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

/// Longer texts' plans are not kept: who sends them sends data.
const LONGEST_CACHED: usize = 64 << 10;

/// A database: catalog, plan cache and table locks over an engine. Shared by all sessions.
pub struct Database {
    engine: Arc<dyn Engine>,
    pub(crate) config: Config,
    pub(crate) catalog: Catalog,
    plans: RwLock<HashMap<String, Arc<Statement>>>,
    sessions: AtomicI32,
    /// How many clients may be connected, as far as anybody has said so.
    max_connections: AtomicU32,
    /// When it was made, in microseconds since 2000-01-01 UTC.
    started: i64,
    /// How many transactions' numbers have been asked for.
    transactions: AtomicU64,
    pub(crate) activity: Activity,
    pub(crate) contention: Contention,
    pub(crate) advisory: AdvisoryLocks,
    /// Statements that are tried again in place of waiting.
    pub(crate) turns: Arc<Turns>,
    /// Blocks of sessions that abort each other, if the engine does not hold them back itself.
    pub(crate) admission: Option<Arc<Admission>>,
    /// Whether transactions may let others have rows before they commit: a commit may then be refused for what others have done.
    pub(crate) releases_early: bool,
    /// Held by the session that looks for a [circle of waits](crate::circle).
    pub(crate) looks: Mutex<()>,
}

impl Database {
    /// An empty database over an engine.
    pub fn new(engine: Arc<dyn Engine>, config: Config) -> Arc<Self> {
        meter::watch(config.memory_limit.bytes().unwrap_or(usize::MAX));
        let admission = (config.holds_back && engine.admission().is_none()).then(Arc::default);
        let releases_early = engine.early_release().is_some();
        Arc::new(Self {
            engine,
            config,
            catalog: Catalog::default(),
            plans: RwLock::default(),
            sessions: AtomicI32::new(1),
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
        })
    }

    /// Where sessions add up where their time goes, if anybody wants to know.
    pub fn times(&self) -> Option<&Times> {
        self.config.times.as_deref()
    }

    /// How transactions are held back that abort each other: by the engine, or else by sessions. All zero if nobody is.
    pub fn admission(&self) -> AdmissionStatistics {
        let own = self.admission.as_ref().map(|admission| admission.statistics());
        own.or_else(|| self.engine.admission()).unwrap_or_default()
    }

    /// What sessions have done so far.
    pub fn totals(&self) -> Totals {
        self.activity.totals()
    }

    /// When it was made, in microseconds since 2000-01-01 UTC.
    pub(crate) fn started(&self) -> i64 {
        self.started
    }

    /// A number for a transaction.
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

    /// Whether the engine keeps versions of rows, which those do that offer snapshots: nobody waits there for who changes a row, and a
    /// commit may be refused for what others have done.
    pub(crate) fn keeps_versions(&self) -> bool {
        self.engine.info().isolation.contains(&Isolation::Snapshot)
    }

    /// A session for `user`, waiting through `waiter`.
    pub fn session(self: &Arc<Self>, user: &str, waiter: Waiter) -> Session {
        let id = self.sessions.fetch_add(1, Ordering::AcqRel) & i32::MAX;
        Session::new(self.clone(), user, id.max(1), waiter)
    }

    /// Makes a table of the engine, loaded by other means, visible under its schema's name.
    ///
    /// Its rows must not change but through SQL from then on, if other sessions are to see it whole.
    pub fn adopt(&self, table: TableId) -> Result<(), SqlError> {
        let schema = self.engine.schema(table);
        if self.catalog.table(&schema.name).is_some() {
            return Err(duplicate_table(&schema.name));
        }
        let rules = Rules {
            defaults: vec![None; schema.columns.len()],
            primary_key: Some(format!("{}_pkey", schema.name)),
            ..Rules::default()
        };
        let lock = self.catalog.lock(&schema.name);
        let definition = Table::new(&*self.engine, table, rules, Arc::new(AtomicI64::new(1)), lock);
        let tables = BTreeMap::from([(schema.name.clone(), Some(definition))]);
        self.catalog.apply(&Changes { tables, ..Changes::default() });
        Ok(())
    }

    /// The tables that there are.
    pub fn tables(&self) -> Vec<TableId> {
        self.catalog.tables().iter().map(|table| table.id).collect()
    }

    /// The names of the tables, how many rows each has, approximately while transactions run, and what contention there has been.
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

    /// The cached plan of this key, if it is of the catalog's present version.
    pub(crate) fn cached(&self, key: &str) -> Option<Arc<Statement>> {
        let plans = self.plans.read().unwrap_or_else(|poison| poison.into_inner());
        let is_true = |statement: &&Arc<Statement>| {
            statement.version.load(Ordering::Acquire) == self.catalog.version()
                && statement.expected.iter().all(Expected::holds)
        };
        plans.get(key).filter(is_true).cloned()
    }

    /// Keeps a plan. When there are too many, all go: those in use come back at once.
    pub(crate) fn cache(&self, key: String, statement: &Arc<Statement>) {
        if key.len() > LONGEST_CACHED {
            return;
        }
        let mut plans = self.plans.write().unwrap_or_else(|poison| poison.into_inner());
        if plans.len() >= self.config.plan_cache_entries {
            plans.clear();
        }
        plans.insert(key, statement.clone());
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("engine", &self.engine.info().name).finish_non_exhaustive()
    }
}

/// 42P07
pub(crate) fn duplicate_table(name: &str) -> SqlError {
    SqlError::new(state::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"))
}

/// Binds and plans one parsed statement, which is a `range` of the tokens of `sql`.
pub(crate) fn plan(
    parsed: Parsed,
    sql: &Arc<str>,
    tokens: &[Token],
    range: Range<usize>,
    view: View<'_>,
    types: Vec<Option<Type>>,
) -> Result<Statement, SqlError> {
    let text_column = |name: &str| Some(vec![OutputColumn::new(name, Type::Text)]);
    let tokens = &tokens[range.clone()];
    let (start, end) = (tokens.first().map_or(0, |token| token.start), tokens.last().map_or(0, |token| token.end));
    let (plan, columns) = match parsed {
        Parsed::Ast(statement) => {
            let offset = character_position(sql, start) - 1;
            let binder = Binder::new(&sql[start..end], offset, view, types);
            return with_room(|| binder.statement(sql.clone(), range, statement));
        }
        Parsed::Empty => (Plan::Empty, None),
        Parsed::Utility(Utility::Explain(options, inner)) => {
            let start = Time::now();
            let statement = parse_one(&inner)?;
            let binder = Binder::new(&inner, 0, view, types);
            let statement = with_room(|| binder.statement(sql.clone(), range, statement))?;
            if options.analyze {
                let is_measured =
                    matches!(statement.plan, Plan::Query(_) | Plan::Insert(_) | Plan::Update(_) | Plan::Delete(_));
                if !is_measured {
                    return Err(unsupported(
                        "EXPLAIN ANALYZE of anything but SELECT, VALUES, INSERT, UPDATE and DELETE",
                    ));
                }
                return Ok(Statement::analyze(statement, options, Time::now().since(start).as_nanos() as u64));
            }
            let mut told = planned(&statement.plan);
            if options.summary {
                told.close_time("Planning Time", Time::now().since(start).as_nanos() as u64);
            }
            return Ok(statement.explain(options.rows(&told), options.column()));
        }
        Parsed::Utility(Utility::DeclareCursor(cursor)) => {
            let statement = parse_one(&cursor.query)?;
            let binder = Binder::new(&cursor.query, 0, view, types);
            let query = with_room(|| binder.statement(sql.clone(), range.clone(), statement))?;
            return Ok(Statement::declare(cursor, query, range));
        }
        Parsed::Utility(utility) => {
            let columns = match &utility {
                Utility::Show(name) if name == "all" => {
                    Some(["name", "setting", "description"].map(|name| OutputColumn::new(name, Type::Text)).to_vec())
                }
                // The name is checked when it runs.
                Utility::Show(name) => text_column(name),
                _ => None,
            };
            (Plan::Utility(Box::new(utility)), columns)
        }
    };
    Ok(Statement {
        sql: sql.clone(),
        declared: Vec::new(),
        params: Vec::new(),
        columns,
        plan,
        used: Used::default(),
        expected: Vec::new(),
        successor: Mutex::default(),
        tokens: range,
        version: AtomicU64::new(view.catalog.version()),
        path: view.path.cloned(),
        private: false,
    })
}

/// The one statement that a text must be, read by sqlparser.
pub(crate) fn parse_one(text: &str) -> Result<Syntax<sqlparser::ast::Statement>, SqlError> {
    let mut tokens = Vec::new();
    parse::lex::tokenize(text, &mut tokens)?;
    match parse::parse(text, &tokens)? {
        Parsed::Ast(statement) => Ok(statement),
        _ => Err(SqlError::new(state::SYNTAX_ERROR, "syntax error: a query was expected")),
    }
}
