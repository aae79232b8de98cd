//! A client's session: the operations of the protocol, and the state between them.
//!
//! [`Session::simple_query`] reads a text of the simple protocol (`text`). A client of the extended protocol calls
//! [`Session::parse`], [`Session::bind`] and [`Session::execute`] (`prepared`, `portal`). Each statement then comes to
//! `Session::run` (`run`), which makes as many attempts as it takes (`retry`). An attempt locks the statement's tables
//! and replaces a plan that is out of date (`fresh`), finds the access set if the engine asks for it (`planned`),
//! begins the engine's transaction (`engine`) and executes the plan. The client gets the rows at once (`output`) or
//! after the attempt (`held`). If the statement is a transaction of its own, the session commits it (`transaction`).
//!
//! | file | what it holds |
//! | --- | --- |
//! | `text` | from a text to statements and their plans |
//! | `prepared`, `named` | prepared statements, portals and cursors by name; a map of values by name |
//! | `portal` | portals: bound statements, executed at once or in pieces |
//! | `cursor` | DECLARE, FETCH, MOVE and CLOSE |
//! | `run` | one statement: its attempts, and what each attempt executes |
//! | `fresh` | the locks on a statement's tables; a new plan if the statement's plan is out of date |
//! | `retry` | after an abort: rollback, wait, and the next attempt |
//! | `recall` | an attempt that waits to begin gives its tables to the session that has the database |
//! | `planned` | the access sets of transactions whose end is known when they begin |
//! | `batch` | the statements of a query string, or of a pipeline, as one planned transaction |
//! | `output`, `held` | where results go; results that are held back until the attempt has succeeded |
//! | `transaction` | from BEGIN to COMMIT, failures, savepoints |
//! | `engine` | the engine's part of a transaction: its begin, optimistic or pessimistic, its counts |
//! | `databases` | CREATE, ALTER and DROP DATABASE |
//! | `directory` | CHECKPOINT and BACKUP TO |
//! | `notifications` | NOTIFY and LISTEN: what a commit does for them, and what has come for the session |
//! | `stored` | a database with a log: storing definitions, refusing changes, waiting for records |
//! | `idle` | a session whose client sends nothing |
//! | `explain` | EXPLAIN ANALYZE |
//! | `copy` | COPY |
//! | `anonymous` | DO |
//! | `utility` | transaction control, settings, PREPARE and EXECUTE, LOCK, TRUNCATE and other statements without a plan |

mod anonymous;
mod batch;
mod copy;
mod cursor;
mod databases;
mod directory;
mod engine;
mod explain;
mod fresh;
mod held;
mod idle;
mod named;
mod notifications;
mod output;
mod planned;
mod portal;
mod prepared;
mod recall;
mod retry;
mod run;
mod stored;
mod text;
mod transaction;
mod utility;

pub use portal::Executed;
pub use transaction::TransactionStatus;

use crate::SqlError;
use crate::advisory::Scope;
use crate::catalog::View;
use crate::client::Client;
use crate::context::SessionContext;
use crate::database::Database;
use crate::exec::Scratch;
use crate::session_entry::{Backend, SessionEntry, State};
use crate::settings::CONCURRENCY;
use crate::types::Styles;
use engine::EngineTransaction;
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Transaction, Yielding};
use planned::OneShot;
use prepared::Kept;
use std::net::SocketAddr;
use text::Reader;
use transaction::{Phase, SqlTransaction};

/// A client's session. One thread at a time uses it.
///
/// Every error leaves the transaction as PostgreSQL does: aborted until ROLLBACK within a block, rolled back outside
/// one.
pub struct Session {
    database: Arc<Database>,
    id: i32,
    user: String,
    waiter: Waiter,
    /// The session's state that other sessions may read.
    entry: Arc<SessionEntry>,
    /// The change count of the settings that other sessions have been shown.
    shown: u64,
    /// The catalog as the session sees it, its settings, and what else its expressions look at.
    context: SessionContext,
    /// The engine's part of the present transaction. It stands before the front end's, with which the locks on tables
    /// are dropped: a transaction that a panic has left open is rolled back while they are held.
    engine: EngineTransaction,
    /// The front end's state of the present transaction.
    transaction: SqlTransaction,
    /// The access set that the engine is given for a transaction whose end is known before it begins.
    one_shot: OneShot,
    kept: Kept,
    reader: Reader,
    scratch: Scratch,
}

impl Session {
    pub(crate) fn new(database: Arc<Database>, user: &str, id: i32, waiter: Waiter) -> Self {
        let engine = EngineTransaction::new(&database, &waiter);
        let transaction = SqlTransaction::default();
        let within = (database.contents().name.clone(), database.number());
        let entry = Arc::new(SessionEntry::new(user, within, id, waiter.clone(), transaction.locks.shown().clone()));
        database.activity.enter(&entry);
        Self {
            context: SessionContext::new(database.shared().clone(), entry.clone()),
            one_shot: OneShot::new(engine.txn.capabilities()),
            entry,
            shown: 0,
            database,
            id,
            user: user.to_owned(),
            waiter,
            transaction,
            engine,
            kept: Kept::default(),
            reader: Reader::default(),
            scratch: Scratch::new(),
        }
    }

    /// Whether other sessions may wait for this session's next statement: it is in a transaction, or holds an advisory
    /// lock.
    pub fn may_be_waited_for(&self) -> bool {
        self.entry.may_be_waited_for()
    }

    /// Returns the waiter through which the session waits. Cancelling it ends the present statement.
    pub fn waiter(&self) -> &Waiter {
        &self.waiter
    }

    /// Returns the session's number, which `pg_backend_pid()` shows.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Returns the styles in which the session writes and reads texts.
    pub fn styles(&self) -> Styles {
        self.context.styles()
    }

    /// Gives the session the number by which clients cancel it.
    pub fn set_id(&mut self, id: i32) {
        self.id = id;
        self.entry.set_pid(id);
    }

    /// Sets the connection through which other sessions cancel this session's statements, and end it.
    pub fn set_backend(&mut self, backend: Arc<dyn Backend>) {
        self.entry.set_backend(backend);
    }

    /// Sets the client's address, if the client is connected by a network.
    pub fn set_address(&mut self, address: Option<SocketAddr>) {
        self.entry.client_info().address = address;
    }

    /// Returns the names and values of the settings that clients follow, for the start of a connection.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        self.context.settings.borrow().reported()
    }

    /// Changes a setting that the client asks for when it connects. RESET restores this value.
    pub fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        if name.eq_ignore_ascii_case(CONCURRENCY) {
            self.check_concurrency(Some(value))?;
        }
        self.context.check_early_release(name, Some(value))?;
        self.context.settings.borrow_mut().set_initial(name, value)?;
        self.show_settings();
        Ok(())
    }

    /// Runs all statements of a query string; several make one transaction unless they say otherwise. Stops at the
    /// first error. The unnamed prepared statement is forgotten.
    pub fn simple_query(&mut self, sql: &str, client: &mut dyn Client) -> Result<(), SqlError> {
        self.kept.statements.remove("");
        self.entry.run(sql);
        let result = self.run_text(sql, client);
        self.one_shot.whole = false;
        if result.is_err() {
            self.fail();
        }
        self.idle();
        self.rest();
        result
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

    /// Fails the transaction as a failed statement would. Called for an error that happened outside the session.
    pub fn fail(&mut self) {
        self.fail_transaction();
    }

    /// Aborts the transaction and releases everything that the session holds, since the client is gone.
    pub fn end(&mut self) {
        self.rollback_all();
        self.give_advisory_back(Scope::Session);
        self.kept.clear();
        self.context.forget_temporary();
        self.database.listeners().leave(&self.entry);
        self.idle();
    }

    /// Returns the catalog with this transaction's own changes.
    fn view(&self) -> View<'_> {
        self.context.view()
    }

    /// Publishes the settings that other sessions need, if a setting has changed.
    #[inline]
    fn show_settings(&mut self) {
        if self.shown != self.context.settings.borrow().changes() {
            self.show_changed_settings();
        }
    }

    #[cold]
    fn show_changed_settings(&mut self) {
        let settings = self.context.settings.borrow();
        self.shown = settings.changes();
        let mut client_info = self.entry.client_info();
        let name = settings.show("application_name").map_or("", |(_, name)| name);
        if client_info.application != name {
            name.clone_into(&mut client_info.application);
        }
        client_info.lock_timeout = self.context.settings.borrow().duration("lock_timeout");
        client_info.deadlock_timeout = self.context.settings.borrow().duration("deadlock_timeout");
    }

    /// Publishes that the session waits for its client.
    #[inline]
    fn rest(&mut self) {
        self.show_settings();
        self.entry.rest(match self.transaction.phase {
            Phase::Idle | Phase::Implicit => State::Idle,
            Phase::Block => State::InTransaction,
            Phase::Failed => State::Failed,
        });
    }

    fn idle(&mut self) {
        self.release_early();
        self.engine.txn.idle();
        // These are the waits and conflicts of the commit at a batch's end.
        self.report_troubles(None);
        self.reader.shrink();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
        self.database.activity.leave(&self.entry);
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.id).field("user", &self.user).finish_non_exhaustive()
    }
}
