//! BEGIN to COMMIT, what failures do, and savepoints.

use super::Session;
use crate::advisory::Scope;
use crate::catalog::Changes;
use crate::deferred::DeferredMark;
use crate::exec::{Fail, lock_outcome};
use crate::parse::Parsed;
use crate::parse::utility::{Modes, Utility};
use crate::settings::{CONCURRENCY, SavedSettings};
use crate::table_lock::Mode;
use crate::types::now;
use crate::{SqlError, state};
use hotrow_sync::Arc;
use hotrow_txn::{Abort, Begin, Concurrency, Savepoint, Transaction, Yielding};

/// Where a session stands, as the protocol reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// Outside a transaction block.
    Idle,
    /// Within one.
    InTransaction,
    /// Within one that failed: only its end is accepted.
    Failed,
}

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No transaction.
    Idle,
    /// A transaction that ends with the statement, the query string, or the batch.
    Implicit,
    /// A block.
    Block,
    /// A block that failed. With savepoints left, the engine's transaction may still run.
    Failed,
}

/// A savepoint.
#[derive(Debug)]
pub(super) struct Mark {
    name: String,
    /// The engine's; none if its transaction had not begun.
    engine: Option<Savepoint>,
    /// The catalog's changes at that time.
    changes: Changes,
    settings: SavedSettings,
    deferred: DeferredMark,
    read_only: bool,
}

impl Session {
    /// Where the session stands.
    pub fn status(&self) -> TransactionStatus {
        match self.phase {
            Phase::Idle | Phase::Implicit => TransactionStatus::Idle,
            Phase::Block => TransactionStatus::InTransaction,
            Phase::Failed => TransactionStatus::Failed,
        }
    }

    /// In a failed block, only what ends it may run.
    pub(super) fn check_not_failed(&self, parsed: &Parsed) -> Result<(), SqlError> {
        let ends = match parsed {
            Parsed::Utility(utility) => ends_failure(utility),
            Parsed::Empty => true,
            Parsed::Ast(_) => false,
        };
        if self.phase == Phase::Failed && !ends { Err(self.failed_block()) } else { Ok(()) }
    }

    /// Why a statement is refused in a block that has failed.
    pub(super) fn failed_block(&self) -> SqlError {
        self.given_up_unheard.map_or_else(in_failed_transaction, |abort| self.gave_way(abort))
    }

    /// Starts a transaction for a statement outside a block.
    pub(super) fn start_implicit(&mut self) {
        if self.phase == Phase::Idle {
            self.phase = Phase::Implicit;
            self.start();
        }
    }

    fn start(&mut self) {
        self.now = now();
        self.seat.begin(self.now);
        self.names.transaction.set(0);
        self.names.isolation.set(self.names.settings.borrow().default_isolation());
        self.names.read_only.set(self.names.settings.borrow().default_read_only());
        self.executed = 0;
    }

    /// Begins the engine's transaction, if it has not begun.
    pub(super) fn begin_engine(&mut self) -> Result<(), Fail> {
        if !self.begun {
            let concurrency = self.next_concurrency();
            let accesses = self.planning.accesses();
            let begin = Begin {
                isolation: self.names.isolation.get(),
                concurrency,
                accesses,
                one_shot: self.planning.is_one_shot() || self.starts_over,
                read_only: self.names.read_only.get() || self.planning.only_reads(),
                label: self.id.unsigned_abs(),
                ..Begin::default()
            };
            self.begun = true;
            self.seat.begin_engine();
            self.txn.begin(&begin)?;
        }
        Ok(())
    }

    /// A block is about to begin: waits until it may. A session that holds anything does not wait, so that nobody waits for it meanwhile.
    pub(super) fn seek_ticket(&mut self) -> Result<(), Fail> {
        let is_in_block = matches!(self.phase, Phase::Block | Phase::Failed);
        let may_wait = !is_in_block && !self.seat.may_be_waited_for();
        if let Some(admission) = self.database.admission.as_ref().filter(|_| may_wait) {
            self.standing.begin(admission, self.id.unsigned_abs(), &self.waiter)?;
        }
        Ok(())
    }

    /// BEGIN, START TRANSACTION. `false` if there is a block already.
    pub(super) fn begin_block(&mut self, modes: Modes) -> Result<bool, SqlError> {
        let fresh = !matches!(self.phase, Phase::Block | Phase::Failed);
        if self.phase == Phase::Idle {
            self.start();
        }
        self.phase = Phase::Block;
        self.set_modes(modes)?;
        Ok(fresh)
    }

    /// SET TRANSACTION and BEGIN's modes.
    pub(super) fn set_modes(&mut self, modes: Modes) -> Result<(), SqlError> {
        if let Some(isolation) = modes.isolation
            && isolation != self.names.isolation.get()
        {
            let message = if self.begun {
                "SET TRANSACTION ISOLATION LEVEL must be called before any query"
            } else {
                "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction"
            };
            if self.begun || !self.marks.is_empty() {
                return Err(SqlError::new(state::ACTIVE_SQL_TRANSACTION, message));
            }
            self.names.isolation.set(isolation);
        }
        if let Some(read_only) = modes.read_only
            && read_only != self.names.read_only.get()
        {
            // A transaction may bind itself not to write at any time.
            let message = if self.marks.is_empty() {
                "transaction read-write mode must be set before any query"
            } else {
                "cannot set transaction read-write mode inside a read-only transaction"
            };
            if !read_only && (self.begun || !self.marks.is_empty()) {
                return Err(SqlError::new(state::ACTIVE_SQL_TRANSACTION, message));
            }
            self.names.read_only.set(read_only);
        }
        if let Some(concurrency) = modes.concurrency {
            self.check_concurrency(Some(concurrency.name()))?;
            self.names.settings.borrow_mut().set(CONCURRENCY, Some(concurrency.name()), true)?;
        }
        Ok(())
    }

    /// What the transaction that begins is to be.
    fn next_concurrency(&mut self) -> Option<Concurrency> {
        if !self.names.settings.borrow().mixes_concurrency() {
            return self.names.settings.borrow().concurrency();
        }
        self.turn = match self.turn {
            Concurrency::Optimistic => Concurrency::Pessimistic,
            Concurrency::Pessimistic => Concurrency::Optimistic,
        };
        Some(self.turn)
    }

    /// Whether transactions may be made optimistic or pessimistic; `None` is what the session began with.
    ///
    /// # Errors
    /// The engine has no choice, the present transaction has begun with another one, or there is nothing of this name.
    pub(super) fn check_concurrency(&self, value: Option<&str>) -> Result<(), SqlError> {
        let wanted = self.names.settings.borrow().foreseen(CONCURRENCY, value)?;
        let info = self.database.engine().info();
        if wanted != "default" && info.concurrency.is_none() {
            let message = format!("engine {} does not let transactions choose to be {wanted}", info.name);
            let error = SqlError::new(state::FEATURE_NOT_SUPPORTED, message);
            return Err(match &self.database.config.choosing_engines[..] {
                [] => error,
                engines => error.hint(format!("Engines that do: {}.", engines.join(", "))),
            });
        }
        if self.begun && wanted != self.names.settings.borrow().show(CONCURRENCY)?.1 {
            let message = format!("{CONCURRENCY} must be set before any query of a transaction");
            return Err(SqlError::new(state::ACTIVE_SQL_TRANSACTION, message));
        }
        Ok(())
    }

    /// A block waits for its client: if the session says so, hot rows that it has changed go to others. What a savepoint would bring back stays.
    pub(super) fn release_early(&mut self) {
        let may = self.phase == Phase::Block && self.begun && self.marks.is_empty();
        if may && self.names.settings.borrow().releases_early() {
            self.txn.retire_writes();
        }
    }

    /// Commits; on an error everything is rolled back and the session is idle.
    pub(super) fn commit(&mut self) -> Result<(), Fail> {
        self.try_commit().map_err(|fail| {
            // Explained before the settings are rolled back that say what the client asked for.
            if let Fail::Abort(abort) = &fail {
                self.seat.counters.count_abort(*abort);
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

    /// Commits; after an error the transaction has still to be rolled back.
    fn try_commit(&mut self) -> Result<(), Fail> {
        if self.begun {
            self.check_deferred(true)?;
            self.txn.commit()?;
            self.seat.counters.count_commit();
        }
        self.begun = false;
        let changes = std::mem::take(&mut self.names.changes);
        if !changes.is_empty() {
            let replaced = self.database.catalog.apply(&changes);
            let kept = |id| changes.tables.values().flatten().any(|table| table.id == id);
            let unused = changes.created.iter().copied().filter(|&id| !kept(id));
            let gone = replaced.iter().map(|table| table.id).filter(|&id| !kept(id));
            for id in unused.chain(gone) {
                self.database.engine().drop_table(id);
            }
        }
        self.cursors.end_transaction(true);
        self.ended();
        Ok(())
    }

    /// Makes the checks that are due, all of them if the transaction `ends`.
    pub(super) fn check_deferred(&mut self, ends: bool) -> Result<(), Fail> {
        if self.names.deferred.borrow().is_empty() {
            return Ok(());
        }
        let (_, mut exec) = self.exec(&[]);
        exec.check_deferred(ends)
    }

    /// Rolls the whole transaction back; the session is idle.
    pub(super) fn rollback_all(&mut self) {
        self.abort_engine();
        self.ended();
    }

    /// Nothing is left of the engine's transaction, and its next statement begins it again.
    pub(super) fn withdraw_begin(&mut self) {
        if self.begun {
            self.txn.abort();
            self.begun = false;
        }
    }

    /// The engine's part of a rollback, and the catalog's; locks are released.
    fn abort_engine(&mut self) {
        if self.begun {
            self.seat.counters.count_rollback();
        }
        self.withdraw_begin();
        self.database.turns.released();
        for id in std::mem::take(&mut self.names.changes).created {
            self.database.engine().drop_table(id);
        }
        self.marks.clear();
        self.names.deferred.borrow_mut().clear();
        self.locks.release_all();
        self.give_advisory_back(Scope::Transaction);
    }

    fn ended(&mut self) {
        self.database.turns.released();
        self.count_locking();
        self.locks.release_all();
        self.give_advisory_back(Scope::Transaction);
        if matches!(self.phase, Phase::Block | Phase::Failed) {
            self.standing.end();
        }
        self.marks.clear();
        self.names.deferred.borrow_mut().clear();
        self.given_up = None;
        self.given_up_unheard = None;
        self.seat.end();
        self.pipeline.clear();
        self.phase = Phase::Idle;
        self.executed = 0;
        self.close_portals();
        self.cursors.end_transaction(false);
    }

    /// Gives the advisory locks back that were taken for this, if there may be any.
    #[inline]
    pub(super) fn give_advisory_back(&mut self, scope: Scope) {
        if self.seat.may_hold_advisory() {
            self.give_held_advisory_back(scope);
        }
    }

    #[cold]
    fn give_held_advisory_back(&mut self, scope: Scope) {
        let advisory = &self.database.advisory;
        advisory.give_all_back(&self.seat, scope);
        if advisory.held(&self.seat).is_empty() {
            self.seat.has_no_advisory();
        }
    }

    /// Counts the transaction's locks and waits, and the lock manager's time, if anybody wants to know where it goes.
    fn count_locking(&mut self) {
        let now = *self.txn.statistics();
        let counted = now.since(&self.counted);
        self.counted = now;
        self.seat.counters.count_locking(&counted);
        if let Some(times) = &self.database.config.times {
            times.count_transaction(&counted);
        }
    }

    /// What an error does: a block is failed until it ends, anything else is rolled back. Everything is undone at once, but
    /// for what a savepoint may still save.
    pub(super) fn fail_transaction(&mut self) {
        match self.phase {
            Phase::Idle => {}
            Phase::Failed => self.given_up_unheard = None,
            Phase::Implicit => {
                self.names.settings.borrow_mut().end_transaction(false);
                self.rollback_all();
            }
            Phase::Block => {
                self.phase = Phase::Failed;
                if self.marks.is_empty() {
                    self.abort_engine();
                }
            }
        }
    }

    /// The engine gave the transaction up: its savepoints are gone with it.
    pub(super) fn engine_aborted(&mut self, abort: Abort) {
        self.seat.counters.count_abort(abort);
        if matches!(self.phase, Phase::Block | Phase::Failed) {
            self.given_up.get_or_insert(abort);
        }
        self.abort_engine();
    }

    /// The block is given up. That a lock took longer than the client wants to wait says nothing of the load.
    pub(super) fn note_failure(&mut self, abort: Abort) {
        if matches!(self.phase, Phase::Block | Phase::Failed) && !self.is_lock_timeout(abort) {
            self.standing.fail(abort, self.waiter.now());
        }
    }

    /// Commits an implicit transaction, if there is one.
    pub(super) fn finish_implicit(&mut self) -> Result<(), SqlError> {
        if self.phase != Phase::Implicit {
            return Ok(());
        }
        let committed = self.commit();
        self.names.settings.borrow_mut().end_transaction(committed.is_ok());
        committed.map_err(SqlError::from)
    }

    /// Commits an implicit transaction as the last step of an attempt, which may be made again after an error.
    pub(super) fn commit_attempt(&mut self) -> Result<(), Fail> {
        if self.phase == Phase::Implicit {
            self.try_commit()?;
            self.names.settings.borrow_mut().end_transaction(true);
        }
        Ok(())
    }

    /// SAVEPOINT
    pub(super) fn savepoint(&mut self, name: &str) -> Result<(), SqlError> {
        self.require_block("SAVEPOINT")?;
        let engine = self.begun.then(|| self.txn.savepoint());
        let (changes, settings) = (self.names.changes.clone(), self.names.settings.borrow().save());
        let deferred = self.names.deferred.borrow().mark();
        let read_only = self.names.read_only.get();
        self.marks.push(Mark { name: name.to_owned(), engine, changes, settings, deferred, read_only });
        Ok(())
    }

    /// RELEASE
    pub(super) fn release(&mut self, name: &str) -> Result<(), SqlError> {
        self.require_block("RELEASE SAVEPOINT")?;
        let at = self.mark(name)?;
        // What a savepoint's part of the transaction may do says nothing of the rest.
        self.names.read_only.set(self.marks[at].read_only);
        self.marks.truncate(at);
        self.cursors.release(at);
        Ok(())
    }

    /// ROLLBACK TO. Returns the reported settings that are different now.
    pub(super) fn rollback_to(&mut self, name: &str) -> Result<Vec<(&'static str, String)>, SqlError> {
        self.require_block("ROLLBACK TO SAVEPOINT")?;
        if let Some(abort) = self.given_up {
            return Err(savepoints_gone(abort));
        }
        let at = self.mark(name)?;
        let mark = &self.marks[at];
        self.names.read_only.set(mark.read_only);
        let reported = self.names.settings.borrow_mut().restore(&mark.settings);
        let changes = mark.changes.clone();
        self.names.deferred.borrow_mut().rollback_to(&mark.deferred);
        match mark.engine {
            Some(engine) => self.txn.rollback_to(engine),
            // The engine's transaction began later.
            None => self.withdraw_begin(),
        }
        // Tables made since then are dropped when the transaction ends.
        let created = std::mem::take(&mut self.names.changes.created);
        self.names.changes = Changes { created, ..changes };
        self.marks.truncate(at + 1);
        self.cursors.roll_back_to(at + 1);
        self.phase = Phase::Block;
        Ok(reported)
    }

    fn mark(&self, name: &str) -> Result<usize, SqlError> {
        self.marks.iter().rposition(|mark| mark.name == name).ok_or_else(|| {
            let message = format!("savepoint \"{name}\" does not exist");
            SqlError::new(state::INVALID_SAVEPOINT_SPECIFICATION, message)
        })
    }

    pub(super) fn require_block(&self, what: &str) -> Result<(), SqlError> {
        match self.phase {
            Phase::Block | Phase::Failed => Ok(()),
            Phase::Idle | Phase::Implicit => {
                let message = format!("{what} can only be used in transaction blocks");
                Err(SqlError::new(state::NO_ACTIVE_SQL_TRANSACTION, message))
            }
        }
    }

    /// Locks a table's name.
    pub(super) fn lock_table(&mut self, lock: &Arc<crate::table_lock::TableLock>, mode: Mode) -> Result<(), Fail> {
        let limit = self.names.settings.borrow().duration("lock_timeout");
        lock_outcome(self.locks.acquire(lock, mode, (self.database.shared(), &self.seat), limit)?)
    }
}

/// 25P02
fn in_failed_transaction() -> SqlError {
    let message = "current transaction is aborted, commands ignored until end of transaction block";
    SqlError::new(state::IN_FAILED_SQL_TRANSACTION, message)
}

fn ends_failure(utility: &Utility) -> bool {
    matches!(utility, Utility::Commit { .. } | Utility::Rollback { .. } | Utility::RollbackTo(_))
}

/// Nothing is left to roll back to. Who tries transactions again does so after this too.
fn savepoints_gone(abort: Abort) -> SqlError {
    let hint = "The engine rolled the whole transaction back, its savepoints with it: only ROLLBACK helps.";
    let mut error = in_failed_transaction().hint(hint);
    if abort.is_retryable() {
        error.state = SqlError::from(abort).state;
    }
    error
}

/// Whether a plan may run in a failed block.
pub(super) fn runs_when_failed(plan: &crate::plan::Plan) -> bool {
    match plan {
        crate::plan::Plan::Utility(utility) => ends_failure(utility),
        crate::plan::Plan::Empty => true,
        _ => false,
    }
}
