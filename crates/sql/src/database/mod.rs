//! The database to which sessions belong: the state that they share apart from plans ([`Shared`]), and the cached
//! plans. `open` builds the catalogs from the rows of an earlier process.

mod open;

pub use open::OpenError;

use crate::bind::{Binder, planned};
use crate::catalog::expected::Expected;
use crate::catalog::stored::{self, Entry, Stored};
use crate::catalog::{Catalog, Changes, Rules, Table, Used, View};
use crate::cluster::{Cluster, Config};
use crate::contents::Contents;
use crate::depth::{Syntax, with_room};
use crate::error::unsupported;
use crate::parse::lex::{Token, character_position};
use crate::parse::utility::Utility;
use crate::parse::{self, Parsed};
use crate::plan::{Plan, Statement, changes_in_with};
use crate::schema::duplicate_table;
use crate::session::Session;
use crate::settings::shown_name;
use crate::shared::Shared;
use crate::{OutputColumn, SqlError, state};
use hotrow_runtime::Attendants;
use hotrow_storage::{LogFailed, RedoSink, TableId, Type};
use hotrow_sync::atomic::{AtomicI32, AtomicI64, AtomicU64, Ordering};
use hotrow_sync::{Arc, Mutex, RwLock, Time, Waiter};
use hotrow_txn::{Abort, Begin, Engine};
use std::collections::{BTreeMap, HashMap};
use std::ops::{Deref, Range};
use std::time::Duration;

/// The maximum length of a key of the plan cache, in bytes. Longer statements consist mostly of data, and are rarely
/// repeated.
const LONGEST_CACHED: usize = 64 << 10;

/// A database, which its sessions share. It dereferences to [`Shared`], which holds all its state except the plan cache
/// and the numbers of sessions.
///
/// An engine has one database `postgres`, and others that CREATE DATABASE creates: see [`named`](Self::named).
pub struct Database {
    shared: Arc<Shared>,
    beside: Arc<Beside>,
}

/// The state that the databases of one engine share in addition to the [`Cluster`]: the plan cache, and the number of
/// the next session.
struct Beside {
    plans: RwLock<HashMap<String, Arc<Statement>>>,
    sessions: AtomicI32,
    /// The background threads of the engine, which end when the last database is dropped.
    _attendants: Attendants,
}

impl Database {
    /// Creates a database with an empty catalog over an engine. Its definitions are not stored, so they are lost when
    /// the process ends.
    pub fn new(engine: Arc<dyn Engine>, config: Config) -> Arc<Self> {
        let attendants = Attendants::start(&*engine);
        let main = open::main(Catalog::default(), None, config.memory_limit);
        Self::over(engine, attendants, vec![main], config)
    }

    /// Opens a database that has a log. `engine` either contains the tables and rows that an earlier process has left,
    /// under the same table numbers, or no tables at all. Builds the catalog from the definitions among the rows. From
    /// then on, `sink` receives the redo records of the engine and of the sequences. Tables without a definition are
    /// dropped, unless no definition has ever been stored.
    ///
    /// # Errors
    /// If a definition cannot be read, or does not fit the tables of the engine. The sink has received nothing then.
    ///
    /// # Panics
    /// If the engine has a sink already.
    pub fn open(engine: Arc<dyn Engine>, sink: Arc<dyn RedoSink>, config: Config) -> Result<Arc<Self>, OpenError> {
        let attendants = Attendants::start(&*engine);
        let databases = open::open(&*engine, sink, config.memory_limit)?;
        Ok(Self::over(engine, attendants, databases, config))
    }

    fn over(engine: Arc<dyn Engine>, attendants: Attendants, databases: Vec<Contents>, config: Config) -> Arc<Self> {
        let cluster = Arc::new(Cluster::new(engine, databases, config));
        let main = cluster.main.clone();
        let beside = Beside { plans: RwLock::default(), sessions: AtomicI32::new(1), _attendants: attendants };
        Arc::new(Self { shared: Arc::new(Shared::new(cluster, main)), beside: Arc::new(beside) })
    }

    /// Returns the database with this name over the same engine, or `None` if there is none. DROP DATABASE fails as
    /// long as the caller keeps the database or one of its sessions.
    pub fn named(&self, name: &str) -> Option<Arc<Self>> {
        let shared = Shared::new(self.cluster().clone(), self.cluster().database(name)?);
        Some(Arc::new(Self { shared: Arc::new(shared), beside: self.beside.clone() }))
    }

    /// Returns the names of all databases over the same engine.
    pub fn names(&self) -> Vec<String> {
        self.databases().iter().map(|contents| contents.name.to_string()).collect()
    }

    /// Closes all databases of the engine. Their sessions must have ended. Appends the present numbers of the sequences
    /// to the log, so that the next process skips none, and waits until all records are durable. Does nothing without a
    /// log.
    ///
    /// # Errors
    /// If the log has failed.
    pub fn close(&self) -> Result<(), LogFailed> {
        let Some(log) = self.places() else { return Ok(()) };
        self.databases().iter().for_each(|contents| contents.store_places());
        log.sink().wait_durable(log.sink().appended(), &Waiter::thread(Duration::ZERO))
    }

    /// Returns the state of this database without its plans.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Opens a session for `user`. The session waits through `waiter`.
    pub fn session(self: &Arc<Self>, user: &str, waiter: Waiter) -> Session {
        let id = self.beside.sessions.fetch_add(1, Ordering::AcqRel) & i32::MAX;
        Session::new(self.clone(), user, id.max(1), waiter)
    }

    /// Adds to the catalog a table that was created and loaded through the engine without SQL. The table's name in the
    /// catalog is the one in its engine schema.
    ///
    /// From then on, rows of the table must be changed through SQL only: otherwise other sessions might see a part of a
    /// change. INSERT, UPDATE, DELETE, COPY FROM and TRUNCATE of a [constant](hotrow_storage::TableSchema::constant)
    /// table fail with 42809, and so does a foreign key whose actions would change its rows.
    ///
    /// If the database has a log, the table must have been created after the database was opened, because the log
    /// contains no other tables.
    ///
    /// # Errors
    ///
    /// 42P07 if the catalog has a table of this name; the error of the engine if the definition cannot be stored.
    pub fn adopt(&self, table: TableId) -> Result<(), SqlError> {
        let schema = self.engine().schema(table);
        if self.catalog().table(&schema.name).is_some() {
            return Err(duplicate_table(&schema.name));
        }
        let rules = Rules {
            defaults: vec![None; schema.columns.len()],
            primary_key: Some(format!("{}_pkey", schema.name)),
            ..Rules::default()
        };
        let lock = self.catalog().lock(&schema.name);
        let definition = Table::new(&**self.engine(), table, rules, Arc::new(AtomicI64::new(1)), lock);
        let tables = BTreeMap::from([(schema.name.clone(), Some(definition))]);
        let changes = Changes { tables, ..Changes::default() };
        if let Some(stored) = self.stored() {
            self.store(stored, &stored::entries(&changes, self.catalog())?)?;
        }
        self.catalog().apply(&changes);
        Ok(())
    }

    /// Stores definitions in a transaction of their own, which is retried after aborts.
    fn store(&self, stored: &Stored, entries: &[Entry]) -> Result<(), SqlError> {
        stored.places().check()?;
        let mut txn = self.engine().transaction(Waiter::thread(Duration::ZERO));
        for _ in 0..self.config.max_retries {
            let written = txn
                .begin(&Begin::at(self.config.default_isolation))
                .and_then(|()| stored.write(entries, &mut *txn))
                .and_then(|()| txn.commit());
            match written {
                Ok(()) => return Ok(()),
                Err(abort) => {
                    txn.abort();
                    if !abort.is_retryable() {
                        return Err(abort.into());
                    }
                }
            }
        }
        Err(Abort::Conflict.into())
    }

    /// Returns the cached plan with this key. Returns `None` if there is no such plan, if the catalog has changed since
    /// the plan was made, or if the plan's estimates of row counts no longer hold.
    pub(crate) fn cached(&self, key: &str) -> Option<Arc<Statement>> {
        let plans = self.beside.plans.read().unwrap_or_else(|poison| poison.into_inner());
        let is_true = |statement: &&Arc<Statement>| {
            statement.version.load(Ordering::Acquire) == self.catalog().version()
                && statement.expected.iter().all(Expected::holds)
        };
        plans.get(key).filter(is_true).cloned()
    }

    /// Caches a plan, unless its key is too long. If the cache is full, empties it first, because the plans in use are
    /// soon cached again.
    pub(crate) fn cache(&self, key: String, statement: &Arc<Statement>) {
        if key.len() > LONGEST_CACHED {
            return;
        }
        let mut plans = self.beside.plans.write().unwrap_or_else(|poison| poison.into_inner());
        if plans.len() >= self.config.plan_cache_entries {
            plans.clear();
        }
        plans.insert(key, statement.clone());
    }
}

impl Deref for Database {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("engine", &self.engine().info().name).finish_non_exhaustive()
    }
}

/// Binds and plans one parsed statement. `tokens` are the tokens of the whole text `sql`, and `range` selects those of
/// the statement. `types` are the types of the parameters that the client has declared.
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
                let is_measured = matches!(
                    statement.plan,
                    Plan::Query(_) | Plan::Insert(_) | Plan::Update(_) | Plan::Delete(_) | Plan::Instead(_)
                );
                if !is_measured {
                    return Err(unsupported(
                        "EXPLAIN ANALYZE of anything but SELECT, VALUES, INSERT, UPDATE and DELETE",
                    ));
                }
                return Ok(Statement::analyze(statement, options, Time::now().since(start).as_nanos() as u64));
            }
            let mut explanation = planned(&statement.plan);
            if options.summary {
                explanation.close_time("Planning Time", Time::now().since(start).as_nanos() as u64);
            }
            return Ok(statement.explain(explanation.rows(options.json), options.column()));
        }
        Parsed::Utility(Utility::DeclareCursor(cursor)) => {
            let statement = parse_one(&cursor.query)?;
            let binder = Binder::new(&cursor.query, 0, view, types);
            let query = with_room(|| binder.statement(sql.clone(), range.clone(), statement))?;
            if matches!(query.plan, Plan::CreateAs(_)) {
                return Err(SqlError::new(state::SYNTAX_ERROR, "SELECT ... INTO is not allowed here"));
            }
            if changes_in_with(&query.plan) {
                let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
                return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
            }
            return Ok(Statement::declare(cursor, query, range));
        }
        Parsed::Utility(utility) => {
            let columns = match &utility {
                Utility::Show(name) if name == "all" => {
                    Some(["name", "setting", "description"].map(|name| OutputColumn::new(name, Type::Text)).to_vec())
                }
                // The name is checked when it runs.
                Utility::Show(name) => text_column(shown_name(name)),
                _ => None,
            };
            (Plan::Utility(Box::new(utility)), columns)
        }
    };
    Ok(Statement {
        sql: sql.clone(),
        declared: Vec::new(),
        params: Vec::new(),
        domains: Vec::new(),
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

/// Parses a text that contains one statement with a syntax tree of sqlparser.
///
/// # Errors
/// 42601 for any other kind of statement, or the errors of the parser.
pub(crate) fn parse_one(text: &str) -> Result<Syntax<sqlparser::ast::Statement>, SqlError> {
    let mut tokens = Vec::new();
    parse::lex::tokenize(text, &mut tokens)?;
    match parse::parse(text, &tokens)? {
        Parsed::Ast(statement) => Ok(statement),
        _ => Err(SqlError::new(state::SYNTAX_ERROR, "syntax error: a query was expected")),
    }
}
