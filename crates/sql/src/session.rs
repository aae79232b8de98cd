//! A client's session: the protocol's operations, and the state between them.
//!
//! | file | what |
//! | --- | --- |
//! | `transaction` | BEGIN to COMMIT, failures, savepoints |
//! | `run` | one statement: locks, a fresh plan, execution, retries |
//! | `planned` | transactions that are planned before they begin |
//! | `batch` | several statements as one of them: those of a query string, those of a pipeline |
//! | `held` | results that the client is told later |
//! | `explain` | EXPLAIN ANALYZE |
//! | `utility` | settings, prepared statements, LOCK, TRUNCATE and the like |
//! | `cursor` | cursors |
//! | `portal` | bound statements, executed in pieces |
//! | this one | the public part |

mod batch;
mod copy;
mod cursor;
mod explain;
mod held;
mod idle;
mod named;
mod planned;
mod portal;
mod retry;
mod run;
mod transaction;
mod utility;

pub use portal::Executed;
pub use transaction::TransactionStatus;

use crate::admission::Standing;
use crate::advisory::Scope;
use crate::catalog::View;
use crate::client::{Client, Notice, OutputColumn};
use crate::context::Names;
use crate::database::{Database, plan};
use crate::exec::Scratch;
use crate::locks::HeldLocks;
use crate::parse::lex::{Token, long_names, tokenize, tokenize_within};
use crate::parse::normalise::Normalised;
use crate::parse::utility::Utility;
use crate::parse::{self, Parsed};
use crate::plan::{Plan, Statement};
use crate::search_path::effective;
use crate::seat::{Backend, Seat, State};
use crate::settings::CONCURRENCY;
use crate::types::Styles;
use crate::watched::Watched;
use crate::{SqlError, state};
use batch::Pipeline;
use cursor::Cursors;
use hotrow_storage::{Type, Value};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Abort, Concurrency, Statistics, Transaction, Yielding};
use named::Named;
use planned::{Planning, Wanted};
use portal::Portal;
use run::{Output, Source};
use std::net::SocketAddr;
use transaction::{Mark, Phase};

/// A client's session. One thread at a time uses it.
///
/// Every error leaves the transaction as PostgreSQL does: aborted until ROLLBACK within a block, rolled back outside one.
pub struct Session {
    database: Arc<Database>,
    id: i32,
    user: String,
    waiter: Waiter,
    txn: Watched,
    /// What it had counted when its last transaction was over.
    counted: Statistics,
    /// What others may know of it.
    seat: Arc<Seat>,
    /// What the engine wants to know beforehand of a transaction.
    wanted: Wanted,
    planning: Planning,
    /// Whether the next statement is a transaction of its own.
    whole: bool,
    /// The statement that runs is tried again by us if it meets another transaction's change.
    starts_over: bool,
    /// The statements that the client has sent together with the next one.
    pipeline: Pipeline,
    phase: Phase,
    /// Whether the engine's transaction runs.
    begun: bool,
    /// Whose turn it was last, where optimistic and pessimistic transactions take turns.
    turn: Concurrency,
    /// When the transaction began.
    now: i64,
    /// Statements that have run in the implicit transaction.
    executed: u64,
    locks: HeldLocks,
    /// The catalog as the session sees it.
    names: Names,
    /// The catalog's version, and the settings' count of paths, of which the names' path is.
    path_at: Option<(u64, u64)>,
    marks: Vec<Mark>,
    /// How its blocks are let in.
    standing: Standing,
    /// Why the engine gave the block's transaction up, if it did.
    given_up: Option<Abort>,
    /// Why it was given up while the client said nothing, which is to be told so.
    given_up_unheard: Option<Abort>,
    /// Which of the settings' changes others know of.
    shown: u64,
    statements: Named<Arc<Statement>>,
    portals: Named<Portal>,
    cursors: Cursors,
    scratch: Scratch,
    tokens: Vec<Token>,
    normalised: Normalised,
    cache_key: String,
}

/// What an idle session keeps to read the next query string with, in tokens.
const KEPT_TOKENS: usize = 1024;

/// A statement of a query string, before it runs.
enum Ready {
    /// A cached plan and the literals for it.
    Cached(Arc<Statement>, Vec<Value<'static>>),
    /// Parsed; its literals taken out, if its plan is to be cached.
    Parsed(Parsed, Option<Normalised>),
}

impl Session {
    pub(crate) fn new(database: Arc<Database>, user: &str, id: i32, waiter: Waiter) -> Self {
        let mut txn = Watched::new(database.engine(), &waiter);
        let wanted = Wanted::of(txn.capabilities());
        txn.statistics().timed = database.config.times.is_some();
        let locks = HeldLocks::default();
        let seat = Arc::new(Seat::new(user, id, waiter.clone(), locks.shown().clone()));
        database.activity.enter(&seat);
        Self {
            txn,
            counted: Statistics::default(),
            names: Names::new(database.shared().clone(), seat.clone()),
            seat,
            shown: 0,
            path_at: None,
            database,
            id,
            user: user.to_owned(),
            waiter,
            wanted,
            planning: Planning::default(),
            whole: false,
            starts_over: false,
            pipeline: Pipeline::default(),
            phase: Phase::Idle,
            begun: false,
            turn: Concurrency::Pessimistic,
            now: 0,
            executed: 0,
            locks,
            marks: Vec::new(),
            standing: Standing::default(),
            given_up: None,
            given_up_unheard: None,
            statements: Named::default(),
            portals: Named::default(),
            cursors: Cursors::default(),
            scratch: Scratch::new(),
            tokens: Vec::new(),
            normalised: Normalised::default(),
            cache_key: String::new(),
        }
    }

    /// Whether others may wait for what it does next: it is in a transaction, or holds an advisory lock.
    pub fn may_be_waited_for(&self) -> bool {
        self.seat.may_be_waited_for()
    }

    /// How the session waits; cancelling it ends the present statement.
    pub fn waiter(&self) -> &Waiter {
        &self.waiter
    }

    /// The session's number, which `pg_backend_pid()` shows.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// How the session's texts are written and read.
    pub fn styles(&self) -> Styles {
        self.names.styles()
    }

    /// Gives the session the number by which clients cancel it.
    pub fn set_id(&mut self, id: i32) {
        self.id = id;
        self.seat.set_pid(id);
    }

    /// Says how other sessions cancel this one's statements, and end it.
    pub fn set_backend(&mut self, backend: Arc<dyn Backend>) {
        self.seat.set_backend(backend);
    }

    /// Says where the client is, if it is connected by a network.
    pub fn set_address(&mut self, address: Option<SocketAddr>) {
        self.seat.peer().address = address;
    }

    /// The settings that clients follow, for the start of a connection.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        self.names.settings.borrow().reported()
    }

    /// A setting that the client asks for when it connects. RESET comes back to it.
    pub fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        if name.eq_ignore_ascii_case(CONCURRENCY) {
            self.check_concurrency(Some(value))?;
        }
        self.names.check_early_release(name, Some(value))?;
        self.names.settings.borrow_mut().set_initial(name, value)?;
        self.show_settings();
        Ok(())
    }

    /// Runs all statements of a query string; several make one transaction unless they say otherwise. Stops at the first error.
    /// The unnamed prepared statement is forgotten.
    pub fn simple_query(&mut self, sql: &str, client: &mut dyn Client) -> Result<(), SqlError> {
        self.statements.remove("");
        self.seat.run(sql);
        let mut tokens = std::mem::take(&mut self.tokens);
        tokens.clear();
        let result = self.query_string(sql, &mut tokens, client);
        self.tokens = tokens;
        self.whole = false;
        if result.is_err() {
            self.fail();
        }
        self.idle();
        self.rest();
        result
    }

    fn tell_long_names(&self, sql: &str, tokens: &[Token], tell: &mut dyn FnMut(Notice)) {
        const SEVERITY: &str = "NOTICE";
        for (name, cut) in long_names(sql, tokens) {
            if self.names.settings.borrow().tells(SEVERITY) {
                let message = format!("identifier \"{name}\" will be truncated to \"{cut}\"");
                tell(Notice { severity: SEVERITY, error: SqlError::new(state::NAME_TOO_LONG, message) });
            }
        }
    }

    fn query_string(&mut self, sql: &str, tokens: &mut Vec<Token>, client: &mut dyn Client) -> Result<(), SqlError> {
        let room = tokenize_within(sql, tokens, self.database.memory_limit())?;
        let ranges = parse::split(sql, tokens);
        if ranges.is_empty() {
            return client.empty();
        }
        self.tell_long_names(sql, tokens, &mut |notice| client.notice(notice));
        let text: Arc<str> = sql.into();
        // Everything is parsed before anything runs, so that a mistake in the last statement stops the first.
        let mut ready = Vec::with_capacity(ranges.len());
        for range in &ranges {
            ready.push(self.ready(sql, &tokens[range.clone()])?);
        }
        drop(room);
        let count = ranges.len();
        if let Some(members) = self.batch(&mut ready, &text, tokens, &ranges) {
            return self.within_limit(|session| session.run_batch(&members, client));
        }
        for (at, (range, ready)) in ranges.into_iter().zip(ready).enumerate() {
            let mut output = Output::simple(client, at + 1 == count);
            self.whole = count == 1;
            let source = Source { text: &text, tokens, range };
            self.run_ready(&source, ready, count == 1, &mut output)?;
        }
        self.finish_implicit()
    }

    /// A statement's cached plan, or its parse.
    fn ready(&mut self, sql: &str, tokens: &[Token]) -> Result<Ready, SqlError> {
        self.follow_path();
        let mut normalised = std::mem::take(&mut self.normalised);
        let cacheable = self.names.changes.is_empty() && normalised.fill(sql, tokens);
        let cached = if cacheable { self.cached(&normalised) } else { None };
        let ready = match cached {
            Some((statement, values)) => Ready::Cached(statement, values),
            None => {
                let kept = cacheable.then(|| normalised.clone());
                Ready::Parsed(parse::parse(sql, tokens)?, kept)
            }
        };
        self.normalised = normalised;
        Ok(ready)
    }

    fn cached(&mut self, normalised: &Normalised) -> Option<(Arc<Statement>, Vec<Value<'static>>)> {
        self.cache_key.clear();
        push_styles(&mut self.cache_key, self.names.styles());
        push_path(&mut self.cache_key, self.names.path.as_deref());
        self.cache_key.push_str(&normalised.kinds);
        self.cache_key.push(' ');
        self.cache_key.push_str(&normalised.text);
        let statement = self.database.cached(&self.cache_key)?;
        let values = literals(&statement, &normalised.values, self.names.styles())?;
        Some((statement, values))
    }

    fn run_ready(
        &mut self,
        source: &Source<'_>,
        ready: Ready,
        alone: bool,
        output: &mut Output<'_>,
    ) -> Result<(), SqlError> {
        let (statement, values) = self.resolve(source, ready)?;
        self.run(&statement, &values, Some(source), alone, output)
    }

    /// A statement's plan, and its parameters' values.
    fn resolve(
        &mut self,
        source: &Source<'_>,
        ready: Ready,
    ) -> Result<(Arc<Statement>, Vec<Value<'static>>), SqlError> {
        match ready {
            Ready::Cached(statement, values) => Ok((statement, values)),
            Ready::Parsed(parsed, normalised) => {
                self.check_not_failed(&parsed)?;
                self.follow_path();
                self.start_implicit();
                let _room =
                    self.database.memory_limit().set_aside(source.text, &source.tokens[source.range.clone()])?;
                if let Some(planned) = normalised.and_then(|normalised| self.plan_normalised(&normalised)) {
                    return Ok(planned);
                }
                Ok((source.plan(parsed, self.view())?, Vec::new()))
            }
        }
    }

    /// A plan for the text without its literals, kept for the next one; none if that does not work, for whatever reason: then
    /// the statement is planned with its literals, and its errors tell where they are.
    fn plan_normalised(&mut self, normalised: &Normalised) -> Option<(Arc<Statement>, Vec<Value<'static>>)> {
        let mut tokens = Vec::new();
        tokenize(&normalised.text, &mut tokens).ok()?;
        let parsed = parse::parse(&normalised.text, &tokens).ok()?;
        let text: Arc<str> = normalised.text.as_str().into();
        let statement = plan(parsed, &text, &tokens, 0..tokens.len(), self.view(), normalised.types()).ok()?;
        let values = literals(&statement, &normalised.values, self.names.styles())?;
        let statement = Arc::new(statement);
        if !statement.private {
            let mut key = String::new();
            push_styles(&mut key, self.names.styles());
            push_path(&mut key, self.names.path.as_deref());
            key.push_str(&normalised.kinds);
            key.push(' ');
            key.push_str(&normalised.text);
            self.database.cache(key, &statement);
        }
        Some((statement, values))
    }

    /// Prepares a statement; the empty name is the unnamed one. `types` are those that the client gives for the first parameters.
    pub fn parse(&mut self, name: &str, sql: &str, types: &[Option<Type>]) -> Result<Arc<Statement>, SqlError> {
        self.parse_noticed(name, sql, types, &mut |_| ())
    }

    /// The same; `tell` is given what the client may want to know beside the outcome.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse).
    pub fn parse_noticed(
        &mut self,
        name: &str,
        sql: &str,
        types: &[Option<Type>],
        tell: &mut dyn FnMut(Notice),
    ) -> Result<Arc<Statement>, SqlError> {
        let prepared = self.prepare(name, sql, types, tell);
        if prepared.is_err() {
            self.fail();
        }
        prepared
    }

    fn prepare(
        &mut self,
        name: &str,
        sql: &str,
        types: &[Option<Type>],
        tell: &mut dyn FnMut(Notice),
    ) -> Result<Arc<Statement>, SqlError> {
        if name.is_empty() {
            // Forgotten also if there is no new one: nobody must run the old one in its place.
            self.statements.remove(name);
        } else if self.statements.get(name).is_some() {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new(state::DUPLICATE_PREPARED_STATEMENT, message));
        }
        if self.statements.len() >= self.database.config.max_statements {
            return Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "too many prepared statements"));
        }
        self.database.memory_limit().check()?;
        self.follow_path();
        let statement = self.plan_text(sql, types, tell)?;
        self.statements.insert(name, statement.clone());
        Ok(statement)
    }

    /// Parses and plans a text of at most one statement.
    fn plan_text(
        &self,
        sql: &str,
        types: &[Option<Type>],
        tell: &mut dyn FnMut(Notice),
    ) -> Result<Arc<Statement>, SqlError> {
        let mut tokens = Vec::new();
        let _room = tokenize_within(sql, &mut tokens, self.database.memory_limit())?;
        self.tell_long_names(sql, &tokens, tell);
        let ranges = parse::split(sql, &tokens);
        let range = match &ranges[..] {
            [] => 0..0,
            [range] => range.clone(),
            _ => {
                let message = "cannot insert multiple commands into a prepared statement";
                return Err(SqlError::new(state::SYNTAX_ERROR, message));
            }
        };
        let parsed = parse::parse(sql, &tokens[range.clone()])?;
        self.check_not_failed(&parsed)?;
        let mut statement = plan(parsed, &sql.into(), &tokens, range, self.view(), types.to_vec())?;
        self.describe_fetch(&mut statement);
        Ok(Arc::new(statement))
    }

    /// FETCH has the columns of its cursor.
    fn describe_fetch(&self, statement: &mut Statement) {
        if let Plan::Utility(utility) = &statement.plan
            && let Utility::Fetch(fetch) = &**utility
            && !fetch.silent
        {
            statement.columns = self.cursors.columns(&fetch.name).map(<[_]>::to_vec);
        }
    }

    /// The statement of this name.
    pub fn statement(&self, name: &str) -> Result<Arc<Statement>, SqlError> {
        self.statements.get(name).cloned().ok_or_else(|| {
            let message = if name.is_empty() {
                "unnamed prepared statement does not exist".to_owned()
            } else {
                format!("prepared statement \"{name}\" does not exist")
            };
            SqlError::new(state::INVALID_SQL_STATEMENT_NAME, message)
        })
    }

    /// Forgets a statement; one that does not exist is none.
    pub fn close_statement(&mut self, name: &str) {
        self.statements.remove(name);
    }

    /// The columns of a portal's result, if it has one; a cursor is a portal.
    pub fn portal_columns(&self, portal: &str) -> Result<Option<&[OutputColumn]>, SqlError> {
        if let Some(columns) = self.cursors.columns(portal) {
            return Ok(Some(columns));
        }
        self.portal(portal)?.statement().map_or(Ok(None), |statement| Ok(statement.columns()))
    }

    /// Ends a batch of the extended protocol: commits the implicit transaction.
    pub fn sync(&mut self) -> Result<(), SqlError> {
        let result = self.finish_implicit();
        if result.is_err() {
            self.fail();
        }
        self.idle();
        self.rest();
        result
    }

    /// An error happened outside the session: the transaction is failed, as after a failed statement.
    pub fn fail(&mut self) {
        self.fail_transaction();
    }

    /// The client is gone: aborts and releases everything.
    pub fn end(&mut self) {
        self.rollback_all();
        self.give_advisory_back(Scope::Session);
        self.portals.clear();
        self.cursors.clear();
        self.statements.clear();
        self.idle();
    }

    /// Looks for relations where `search_path` says, of the schemas that there are now.
    fn follow_path(&mut self) {
        let at = (self.database.catalog.version(), self.names.settings.borrow().paths());
        let own = !self.names.changes.schemas.is_empty();
        if self.path_at != Some(at) || own {
            let settings = self.names.settings.borrow();
            let path = effective(settings.search_path(), &self.user, self.names.view());
            drop(settings);
            self.names.path = path;
            self.path_at = (!own).then_some(at);
        }
    }

    /// The catalog with this transaction's own changes.
    fn view(&self) -> View<'_> {
        self.names.view()
    }

    /// Lets others know of the settings that concern them, if any has changed.
    #[inline]
    fn show_settings(&mut self) {
        if self.shown != self.names.settings.borrow().changes() {
            self.show_changed_settings();
        }
    }

    #[cold]
    fn show_changed_settings(&mut self) {
        let settings = self.names.settings.borrow();
        self.shown = settings.changes();
        let mut peer = self.seat.peer();
        let name = settings.show("application_name").map_or("", |(_, name)| name);
        if peer.application != name {
            name.clone_into(&mut peer.application);
        }
        peer.lock_timeout = self.names.settings.borrow().duration("lock_timeout");
        peer.deadlock_timeout = self.names.settings.borrow().duration("deadlock_timeout");
    }

    /// Lets others know that the session waits for its client.
    #[inline]
    fn rest(&mut self) {
        self.show_settings();
        self.seat.rest(match self.phase {
            Phase::Idle | Phase::Implicit => State::Idle,
            Phase::Block => State::InTransaction,
            Phase::Failed => State::Failed,
        });
    }

    fn idle(&mut self) {
        self.release_early();
        self.txn.idle();
        // Of the commit at a batch's end.
        self.report_troubles(None);
        // What a long query string has needed is not kept.
        if self.tokens.capacity() > KEPT_TOKENS {
            self.tokens = Vec::new();
            self.normalised = Normalised::default();
            self.cache_key = String::new();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
        self.database.activity.leave(&self.seat);
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.id).field("user", &self.user).finish_non_exhaustive()
    }
}

/// Begins the key of a plan whose literals may have been read in an unusual style.
fn push_styles(key: &mut String, styles: Styles) {
    if styles != Styles::default() {
        key.push_str(&format!("{styles:?}\0"));
    }
}

/// Begins the key of a plan that is not for everybody.
fn push_path(key: &mut String, path: Option<&[String]>) {
    for schema in path.unwrap_or_default() {
        key.push_str(schema);
        key.push('\0');
    }
    if path.is_some() {
        key.push('\0');
    }
}

/// The literals as values of the parameters' types; none if one is not a value of its type.
fn literals(statement: &Statement, values: &[Value<'static>], styles: Styles) -> Option<Vec<Value<'static>>> {
    let literal = |(value, ty): (&Value<'static>, &Type)| match value {
        Value::Text(text) => crate::types::decode_text(*ty, text, styles).ok(),
        other => Some(other.clone()),
    };
    if values.len() != statement.params.len() {
        return None;
    }
    values.iter().zip(&statement.params).map(literal).collect()
}
