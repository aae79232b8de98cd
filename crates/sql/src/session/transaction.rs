//! The transactions of a session: BEGIN, COMMIT, ROLLBACK, savepoints, and the effect of failures.

use super::Session;
use crate::admission::Standing;
use crate::advisory::Scope;
use crate::catalog::Changes;
use crate::exec::{Fail, lock_outcome};
use crate::locks::HeldLocks;
use crate::notifications::PendingMark;
use crate::parse::Parsed;
use crate::parse::utility::{Modes, Utility};
use crate::plan::Plan;
use crate::plan::deferred::{Deferred, DeferredMark};
use crate::settings::{CONCURRENCY, SavedSettings};
use crate::table_lock::Mode;
use crate::types::now;
use crate::{SqlError, state};
use hotrow_sync::Arc;
use hotrow_txn::{Abort, Savepoint, Transaction};

/// The transaction state of a session, as the protocol reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// The session is outside a transaction block.
    Idle,
    /// The session is within a transaction block.
    InTransaction,
    /// The session is within a block that failed: only the end of the block is accepted.
    Failed,
}

/// The transaction state of a session, implicit transactions included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// No transaction.
    #[default]
    Idle,
    /// A transaction that ends with the statement, the query string, or the batch.
    Implicit,
    /// A block.
    Block,
    /// A block that failed. With savepoints left, the engine's transaction may still run.
    Failed,
}

/// The front end's state of a session's present transaction.
#[derive(Debug, Default)]
pub(super) struct SqlTransaction {
    pub(super) phase: Phase,
    /// When the transaction began.
    pub(super) now: i64,
    /// Statements that have run in the implicit transaction.
    pub(super) executed: u64,
    /// The locks on tables that the transaction holds.
    pub(super) locks: HeldLocks,
    /// Whether the transaction may have changed rows or definitions. Always false if the database has no log.
    pub(super) has_changes: bool,
    /// Whether the session is running the body of a DO.
    pub(super) in_body: bool,
    /// The transaction's savepoints.
    pub(super) marks: Vec<Mark>,
    /// The checks that the transaction has deferred.
    pub(super) deferred: Deferred,
    /// The session's admission: whether its blocks need tickets.
    standing: Standing,
    /// The reason for which the engine aborted the block's transaction, if it did.
    given_up: Option<Abort>,
    /// The reason for which the block was given up while the client sent nothing; the client is yet to be sent the
    /// error.
    pub(super) given_up_unheard: Option<Abort>,
}

/// A savepoint.
#[derive(Debug)]
pub(super) struct Mark {
    name: String,
    /// The engine's savepoint; `None` if the engine's transaction had not begun.
    engine: Option<Savepoint>,
    /// The transaction's changes of the catalog when the savepoint was set.
    changes: Changes,
    settings: SavedSettings,
    deferred: DeferredMark,
    notifications: PendingMark,
    read_only: bool,
}

impl Session {
    /// Returns the transaction state of the session.
    pub fn status(&self) -> TransactionStatus {
        match self.transaction.phase {
            Phase::Idle | Phase::Implicit => TransactionStatus::Idle,
            Phase::Block => TransactionStatus::InTransaction,
            Phase::Failed => TransactionStatus::Failed,
        }
    }

    /// Checks that a statement may run: in a failed block only the statements that end it may.
    pub(super) fn check_not_failed(&self, parsed: &Parsed) -> Result<(), SqlError> {
        let ends = match parsed {
            Parsed::Utility(utility) => ends_failure(utility),
            Parsed::Empty => true,
            Parsed::Ast(_) => false,
        };
        if self.transaction.phase == Phase::Failed && !ends { Err(self.failed_block()) } else { Ok(()) }
    }

    /// Returns the error for a statement in a block that has failed.
    pub(super) fn failed_block(&self) -> SqlError {
        self.transaction.given_up_unheard.map_or_else(in_failed_transaction, |abort| self.gave_way(abort))
    }

    /// Starts a transaction for a statement outside a block.
    pub(super) fn start_implicit(&mut self) {
        if self.transaction.phase == Phase::Idle {
            self.transaction.phase = Phase::Implicit;
            self.start();
        }
    }

    fn start(&mut self) {
        self.transaction.now = now();
        self.entry.begin(self.transaction.now);
        self.context.transaction.number.set(0);
        self.context.transaction.isolation.set(self.context.settings.borrow().default_isolation());
        self.context.transaction.read_only.set(self.context.settings.borrow().default_read_only());
        self.transaction.executed = 0;
    }

    /// Waits until a block may begin. A session that holds anything does not wait, so that no other session waits for
    /// it meanwhile.
    pub(super) fn seek_ticket(&mut self) -> Result<(), Fail> {
        let is_in_block = matches!(self.transaction.phase, Phase::Block | Phase::Failed);
        let may_wait = !is_in_block && !self.entry.may_be_waited_for();
        if let Some(admission) = self.database.admission.as_ref().filter(|_| may_wait) {
            self.transaction.standing.begin(admission, self.id.unsigned_abs(), &self.waiter)?;
        }
        Ok(())
    }

    /// BEGIN and START TRANSACTION. Returns `false` if the session is in a block already.
    pub(super) fn begin_block(&mut self, modes: Modes) -> Result<bool, SqlError> {
        let fresh = !matches!(self.transaction.phase, Phase::Block | Phase::Failed);
        if self.transaction.phase == Phase::Idle {
            self.start();
        }
        self.transaction.phase = Phase::Block;
        self.set_modes(modes)?;
        Ok(fresh)
    }

    /// SET TRANSACTION and BEGIN's modes.
    pub(super) fn set_modes(&mut self, modes: Modes) -> Result<(), SqlError> {
        if let Some(isolation) = modes.isolation
            && isolation != self.context.transaction.isolation.get()
        {
            let message = if self.engine.begun {
                "SET TRANSACTION ISOLATION LEVEL must be called before any query"
            } else {
                "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction"
            };
            if self.engine.begun || !self.transaction.marks.is_empty() {
                return Err(SqlError::new(state::ACTIVE_SQL_TRANSACTION, message));
            }
            self.context.transaction.isolation.set(isolation);
        }
        if let Some(read_only) = modes.read_only
            && read_only != self.context.transaction.read_only.get()
        {
            // A transaction may become read-only at any time.
            let message = if self.transaction.marks.is_empty() {
                "transaction read-write mode must be set before any query"
            } else {
                "cannot set transaction read-write mode inside a read-only transaction"
            };
            if !read_only && (self.engine.begun || !self.transaction.marks.is_empty()) {
                return Err(SqlError::new(state::ACTIVE_SQL_TRANSACTION, message));
            }
            self.context.transaction.read_only.set(read_only);
        }
        if let Some(concurrency) = modes.concurrency {
            self.check_concurrency(Some(concurrency.name()))?;
            self.context.settings.borrow_mut().set(CONCURRENCY, Some(concurrency.name()), true)?;
        }
        Ok(())
    }

    /// Commits; on an error everything is rolled back and the session is idle.
    pub(super) fn commit(&mut self) -> Result<(), Fail> {
        self.try_commit().map_err(|fail| {
            // The abort is explained before the rollback of the settings, since the explanation depends on the client's
            // settings.
            if let Fail::Abort(abort) = &fail {
                self.entry.counters.count_abort(*abort);
                self.note_failure(*abort);
            }
            let explained = match fail {
                Fail::Abort(abort) if self.is_lock_timeout(abort) => self.explain_abort(abort, false).into(),
                fail => fail,
            };
            self.rollback_all();
            explained
        })
    }

    /// Commits the transaction. After an error, the caller has to roll it back. If the error is that the log has
    /// failed, the transaction is already committed in memory, with its changes of the catalog, and the rollback does
    /// nothing.
    fn try_commit(&mut self) -> Result<(), Fail> {
        let mut is_unsure = false;
        if self.engine.begun {
            self.check_deferred(true)?;
            if self.view().temporary.schema().is_some() {
                self.untold_ddl(|ddl| ddl.run_on_commit(), &mut Vec::new())?;
            }
        }
        let reserved = self.reserve_notifications()?;
        self.store_definitions()?;
        if self.engine.begun {
            match self.engine.txn.commit() {
                Err(Abort::LogFailed) => is_unsure = self.is_unsure(),
                committed => committed?,
            }
            self.entry.counters.count_commit();
            self.context.show_numbers();
        } else if self.context.has_unseen_numbers() {
            is_unsure = self.await_numbers().is_err();
        }
        self.engine.begun = false;
        let gone = self.places_that_go();
        if !self.context.transaction.changes.is_empty() {
            self.publish_changes();
        }
        self.end_databases(true);
        if let Some(log) = self.database.places() {
            log.remove(&gone);
        }
        self.deliver_notifications(reserved);
        self.kept.cursors.end_transaction(true);
        self.ended();
        if is_unsure { Err(Abort::LogFailed.into()) } else { Ok(()) }
    }

    /// Publishes the transaction's changes to the list of databases if it `commits`, and undoes them otherwise.
    fn end_databases(&mut self, commits: bool) {
        for change in std::mem::take(&mut self.context.transaction.databases) {
            change.end(&self.database, commits);
        }
    }

    /// Publishes the catalog changes of a transaction that has committed, and drops the engine's tables that are no
    /// longer used.
    fn publish_changes(&mut self) {
        let changes = &self.context.transaction.changes;
        let kept: Vec<_> = changes.tables.values().flatten().map(|table| table.id).collect();
        let mut replaced = self.context.publish_temporary();
        let changes = std::mem::take(&mut self.context.transaction.changes);
        if !changes.has_no_definitions() {
            replaced.extend(self.database.catalog().apply(&changes));
        }
        let replaced = replaced.iter().map(|table| table.id);
        for id in changes.created.iter().copied().chain(replaced).filter(|id| !kept.contains(id)) {
            self.database.engine().drop_table(id);
        }
    }

    /// Makes the checks that are due, all of them if the transaction `ends`.
    pub(super) fn check_deferred(&mut self, ends: bool) -> Result<(), Fail> {
        if self.transaction.deferred.is_empty() {
            return Ok(());
        }
        let mut exec = self.exec(&[]);
        exec.check_deferred(ends)
    }

    /// Rolls the whole transaction back; the session is idle.
    pub(super) fn rollback_all(&mut self) {
        self.abort_engine();
        self.ended();
    }

    /// Rolls back the engine's transaction and the catalog's changes, and releases the locks.
    fn abort_engine(&mut self) {
        if self.engine.begun {
            self.entry.counters.count_rollback();
        }
        self.withdraw_begin();
        self.database.turns.released();
        for id in std::mem::take(&mut self.context.transaction.changes).created {
            self.database.engine().drop_table(id);
        }
        self.end_databases(false);
        self.transaction.marks.clear();
        self.transaction.deferred.clear();
        self.context.forget_notifications();
        self.transaction.locks.release_all();
        self.give_advisory_back(Scope::Transaction);
    }

    fn ended(&mut self) {
        self.database.turns.released();
        self.count_locking();
        self.transaction.locks.release_all();
        self.give_advisory_back(Scope::Transaction);
        if matches!(self.transaction.phase, Phase::Block | Phase::Failed) {
            self.transaction.standing.end();
        }
        self.transaction.marks.clear();
        self.transaction.deferred.clear();
        self.context.forget_notifications();
        self.transaction.given_up = None;
        self.transaction.given_up_unheard = None;
        self.transaction.has_changes = false;
        self.entry.end();
        self.one_shot.pipeline.clear();
        self.transaction.phase = Phase::Idle;
        self.transaction.executed = 0;
        self.close_portals();
        self.kept.cursors.end_transaction(false);
    }

    /// Releases the session's advisory locks of this scope, if it may hold any.
    #[inline]
    pub(super) fn give_advisory_back(&mut self, scope: Scope) {
        if self.entry.may_hold_advisory() {
            self.give_held_advisory_back(scope);
        }
    }

    #[cold]
    fn give_held_advisory_back(&mut self, scope: Scope) {
        let advisory = &self.database.advisory;
        advisory.give_all_back(&self.entry, scope);
        if advisory.held(&self.entry).is_empty() {
            self.entry.has_no_advisory();
        }
    }

    /// Fails the transaction after an error. A block has failed until it ends; any other transaction is rolled back.
    /// Everything is undone at once, unless a savepoint may still keep it.
    pub(super) fn fail_transaction(&mut self) {
        match self.transaction.phase {
            Phase::Idle => {}
            Phase::Failed => self.transaction.given_up_unheard = None,
            Phase::Implicit => {
                self.context.settings.borrow_mut().end_transaction(false);
                self.rollback_all();
            }
            Phase::Block => {
                self.transaction.phase = Phase::Failed;
                if self.transaction.marks.is_empty() {
                    self.abort_engine();
                }
            }
        }
    }

    /// Records that the engine aborted the transaction. Its savepoints are lost with it.
    pub(super) fn engine_aborted(&mut self, abort: Abort) {
        self.entry.counters.count_abort(abort);
        if matches!(self.transaction.phase, Phase::Block | Phase::Failed) {
            self.transaction.given_up.get_or_insert(abort);
        }
        self.abort_engine();
    }

    /// Records that the block was given up. A lock time-out that the client asked for says nothing about the load and
    /// is not counted.
    pub(super) fn note_failure(&mut self, abort: Abort) {
        if matches!(self.transaction.phase, Phase::Block | Phase::Failed) && !self.is_lock_timeout(abort) {
            self.transaction.standing.fail(abort, self.waiter.now());
        }
    }

    /// Commits an implicit transaction, if there is one.
    pub(super) fn finish_implicit(&mut self) -> Result<(), SqlError> {
        if self.transaction.phase != Phase::Implicit {
            return Ok(());
        }
        let committed = self.commit();
        self.context.settings.borrow_mut().end_transaction(committed.is_ok());
        committed.map_err(SqlError::from)
    }

    /// Commits an implicit transaction as the last step of an attempt, which may be made again after an error.
    pub(super) fn commit_attempt(&mut self) -> Result<(), Fail> {
        if self.transaction.phase == Phase::Implicit {
            self.try_commit()?;
            self.context.settings.borrow_mut().end_transaction(true);
        }
        Ok(())
    }

    /// SAVEPOINT: sets a savepoint.
    pub(super) fn savepoint(&mut self, name: &str) -> Result<(), SqlError> {
        self.require_block("SAVEPOINT")?;
        self.push_mark(name.to_owned());
        Ok(())
    }

    /// Sets a savepoint that no client can name, and returns its position.
    pub(super) fn set_mark(&mut self) -> usize {
        self.push_mark(String::new());
        self.transaction.marks.len() - 1
    }

    fn push_mark(&mut self, name: String) {
        let engine = self.engine.begun.then(|| self.engine.txn.savepoint());
        let (changes, settings) = (self.context.transaction.changes.clone(), self.context.settings.borrow().save());
        let deferred = self.transaction.deferred.mark();
        let read_only = self.context.transaction.read_only.get();
        let notifications = self.context.mark_notifications();
        self.transaction.marks.push(Mark { name, engine, changes, settings, deferred, notifications, read_only });
    }

    /// RELEASE: removes a savepoint and all later ones.
    pub(super) fn release(&mut self, name: &str) -> Result<(), SqlError> {
        self.require_block("RELEASE SAVEPOINT")?;
        let at = self.mark(name)?;
        self.release_mark(at);
        Ok(())
    }

    /// Releases the savepoint at a position, and all later ones. What the transaction has done since then stays.
    pub(super) fn release_mark(&mut self, at: usize) {
        let Some(mark) = self.transaction.marks.get(at) else { return };
        // The read-only mode of the part after the savepoint does not apply to the rest of the transaction.
        self.context.transaction.read_only.set(mark.read_only);
        self.transaction.marks.truncate(at);
        self.kept.cursors.release(at);
    }

    /// ROLLBACK TO. Returns the names and values of those reported settings that are different now.
    pub(super) fn rollback_to(&mut self, name: &str) -> Result<Vec<(&'static str, String)>, SqlError> {
        self.require_block("ROLLBACK TO SAVEPOINT")?;
        if let Some(abort) = self.transaction.given_up {
            return Err(savepoints_gone(abort));
        }
        let at = self.mark(name)?;
        let reported = self.rollback_to_mark(at);
        self.transaction.phase = Phase::Block;
        Ok(reported)
    }

    /// Undoes what the transaction has done since the savepoint at a position, which stays. Returns the names and
    /// values of the reported settings that have changed by this.
    pub(super) fn rollback_to_mark(&mut self, at: usize) -> Vec<(&'static str, String)> {
        let Some(mark) = self.transaction.marks.get(at) else { return Vec::new() };
        self.context.transaction.read_only.set(mark.read_only);
        let reported = self.context.settings.borrow_mut().restore(&mark.settings);
        let changes = mark.changes.clone();
        self.transaction.deferred.rollback_to(&mark.deferred);
        self.context.undo_notifications(mark.notifications);
        match mark.engine {
            Some(engine) => self.engine.txn.rollback_to(engine),
            // The engine's transaction began after the savepoint.
            None => self.withdraw_begin(),
        }
        // Tables that were created after the savepoint are dropped when the transaction ends.
        let created = std::mem::take(&mut self.context.transaction.changes.created);
        self.context.transaction.changes = Changes { created, ..changes };
        self.transaction.marks.truncate(at + 1);
        self.kept.cursors.roll_back_to(at + 1);
        reported
    }

    fn mark(&self, name: &str) -> Result<usize, SqlError> {
        self.transaction.marks.iter().rposition(|mark| mark.name == name).ok_or_else(|| {
            let message = format!("savepoint \"{name}\" does not exist");
            SqlError::new(state::INVALID_SAVEPOINT_SPECIFICATION, message)
        })
    }

    pub(super) fn require_block(&self, what: &str) -> Result<(), SqlError> {
        match self.transaction.phase {
            Phase::Block | Phase::Failed => Ok(()),
            // A body is a transaction of several statements.
            Phase::Implicit if self.transaction.in_body => Ok(()),
            Phase::Idle | Phase::Implicit => {
                let message = format!("{what} can only be used in transaction blocks");
                Err(SqlError::new(state::NO_ACTIVE_SQL_TRANSACTION, message))
            }
        }
    }

    /// Locks a table's name.
    pub(super) fn lock_table(&mut self, lock: &Arc<crate::table_lock::TableLock>, mode: Mode) -> Result<(), Fail> {
        let limit = self.context.settings.borrow().duration("lock_timeout");
        lock_outcome(self.transaction.locks.acquire(lock, mode, (self.database.shared(), &self.entry), limit)?)
    }
}

/// Returns error 25P02 for a statement in a failed block.
fn in_failed_transaction() -> SqlError {
    let message = "current transaction is aborted, commands ignored until end of transaction block";
    SqlError::new(state::IN_FAILED_SQL_TRANSACTION, message)
}

fn ends_failure(utility: &Utility) -> bool {
    matches!(utility, Utility::Commit { .. } | Utility::Rollback { .. } | Utility::RollbackTo(_))
}

/// Returns the error for ROLLBACK TO after the engine has rolled back the whole transaction, savepoints included. It
/// has the code of the abort if a retry can help, so that clients that retry transactions do so after this error, too.
fn savepoints_gone(abort: Abort) -> SqlError {
    let hint = "The engine rolled the whole transaction back, its savepoints with it: only ROLLBACK helps.";
    let mut error = in_failed_transaction().hint(hint);
    if abort.is_retryable() {
        error.state = SqlError::from(abort).state;
    }
    error
}

/// Whether a plan begins or ends transactions, so that no implicit transaction is begun for it.
pub(super) fn is_transaction_control(plan: &Plan) -> bool {
    let Plan::Utility(utility) = plan else { return false };
    matches!(
        **utility,
        Utility::Begin { .. }
            | Utility::Commit { .. }
            | Utility::Rollback { .. }
            | Utility::RollbackTo(_)
            | Utility::Savepoint(_)
            | Utility::Release(_)
    )
}

/// Whether a plan may run in a failed block.
pub(super) fn runs_when_failed(plan: &Plan) -> bool {
    match plan {
        Plan::Utility(utility) => ends_failure(utility),
        Plan::Empty => true,
        _ => false,
    }
}
