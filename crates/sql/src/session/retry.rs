//! Attempts at a statement: if the engine aborts one, the session undoes it, waits, and tries again.

use super::Session;
use super::planned::is_plannable;
use super::transaction::Phase;
use crate::locks::deadlock;
use crate::notifications::PendingMark;
use crate::plan::Statement;
use crate::turns::Turn;
use crate::watched::Spot;
use crate::{SqlError, state};
use hotrow_sync::Time;
use hotrow_txn::{Abort, Diagnostics, Savepoint, Transaction, Yielding};
use std::time::Duration;

/// The attempts at a statement so far.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    failed: u32,
    /// The attempts that were undone without the rest of the transaction.
    requests: u32,
    /// The attempts that were followed by a wait for the blocking transaction.
    waits: u32,
    /// The time of the first conflict that the statement answers with retries in place of a wait.
    since: Option<Time>,
    /// The statement's place among the statements that retry at the same row or range.
    turn: Option<Turn>,
    /// The time that the session had waited before the first attempt, in nanoseconds.
    waited_before: u64,
    /// The start of the last attempt and the lock manager's time at that moment, if times are counted.
    pub(super) timed: Option<(Time, u64)>,
}

impl Attempts {
    /// Makes the state before the first attempt, in a session that has waited for `waited_before` nanoseconds so far.
    pub(super) fn after(waited_before: u64) -> Self {
        Self { waited_before, ..Self::default() }
    }
}

/// The state at the beginning of a statement, to which the statement alone can be rolled back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Start {
    /// The savepoint in the engine's transaction, or `None` if the engine's transaction begins with the statement.
    savepoint: Option<Savepoint>,
    /// The number of deferred checks before the statement.
    deferred: usize,
    /// The mark of the notifications before the statement.
    notifications: PendingMark,
}

/// The longest pause between two attempts of a statement that meets a conflict: about as long as an interactive
/// transaction keeps a row.
const LONGEST_REQUEST_PAUSE: Duration = Duration::from_millis(1);

/// Returns the pause before an attempt, which doubles with every attempt.
fn pause(retries: u32, longest: Duration) -> Duration {
    Duration::from_micros(100 << retries.min(16)).min(longest)
}

impl Session {
    /// Undoes an attempt that the engine aborted. If there is to be another attempt, waits a moment; otherwise returns
    /// the error. `unseen` says that the client would not notice a retry.
    pub(super) fn after_abort(&mut self, abort: Abort, unseen: bool, attempts: &mut Attempts) -> Result<(), SqlError> {
        let corrected = self.correct_accesses(abort);
        let unseen =
            unseen && self.transaction.phase == Phase::Implicit && (self.transaction.executed == 0 || corrected);
        let retryable = abort.is_retryable() && !self.is_lock_timeout(abort);
        if unseen && retryable && !corrected && self.engine.begun {
            match self.give_way(Start::default(), attempts) {
                Ok(true) => {
                    self.engine_aborted(abort);
                    return Ok(());
                }
                Ok(false) => {}
                Err(ended) => {
                    self.engine_aborted(ended);
                    return Err(self.explain_abort(ended, unseen));
                }
            }
        }
        self.engine_aborted(abort);
        self.note_failure(abort);
        if !unseen || !retryable || (!corrected && !self.may_try_again(abort, attempts)) {
            return Err(self.explain_abort(abort, unseen));
        }
        if !corrected {
            attempts.failed += 1;
            self.pause_before_retry(attempts.failed, self.database.config.max_retry_pause);
        }
        Ok(())
    }

    /// Returns the start of a statement that is to be retried in place of a wait, under an engine that leaves this to
    /// the session.
    pub(super) fn start_request(&mut self, statement: &Statement) -> Option<Start> {
        let is_request =
            self.engine.txn.capabilities().retries_requests || self.waits_for_writers() && !statement.only_reads();
        (is_request && is_plannable(&statement.plan)).then(|| Start {
            savepoint: self.engine.begun.then(|| self.engine.txn.savepoint()),
            deferred: if self.engine.begun { self.transaction.deferred.len() } else { 0 },
            notifications: self.context.mark_notifications(),
        })
    }

    /// Whether a statement that meets another transaction's change of a row waits for that transaction to end and then
    /// begins again, while its own transaction goes on: at read committed, under an engine that lets the first writer
    /// win.
    pub(super) fn waits_for_writers(&self) -> bool {
        self.database.keeps_versions() && !self.keeps_reads()
    }

    /// Whether a statement is a whole transaction that is retried whenever it meets another transaction's change of a
    /// row. Such a statement holds nothing, so it can let earlier requesters of the row go first.
    pub(super) fn lines_up(&self, statement: &Statement) -> bool {
        let is_first =
            self.transaction.phase == Phase::Implicit && self.transaction.executed == 0 && !self.engine.begun;
        is_first && self.database.keeps_versions() && is_plannable(&statement.plan) && !statement.only_reads()
    }

    /// Undoes an attempt that met a conflict. If there is to be another attempt, waits for the blocking transaction, or
    /// for a moment if that transaction is not known; otherwise returns the abort that the attempts come to.
    pub(super) fn request_again(
        &mut self,
        abort: Abort,
        start: Option<Start>,
        attempts: &mut Attempts,
    ) -> Result<(), Abort> {
        let is_conflict = matches!(abort, Abort::Conflict | Abort::WriteConflict);
        let Some(start) = start.filter(|_| is_conflict) else { return Err(abort) };
        if !self.engine.txn.capabilities().retries_requests && self.give_way(start, attempts)? {
            return Ok(());
        }
        let now = self.waiter.now();
        let since = *attempts.since.get_or_insert(now);
        let settings = self.context.settings.borrow();
        let limit = settings.duration("lock_timeout").or_else(|| settings.duration("deadlock_timeout"));
        drop(settings);
        let limit = limit.unwrap_or(self.database.config.conflict_wait);
        if now.since(since) >= limit {
            return Err(Abort::Timeout);
        }
        match start.savepoint {
            Some(savepoint) => self.engine.txn.rollback_to(savepoint),
            None => self.withdraw_begin(),
        }
        self.forget_since(start);
        self.count_retried(attempts.timed);
        attempts.requests += 1;
        self.entry.counters.count_retry();
        let turn = attempts.turn.get_or_insert_with(|| Turn::new(&self.database.turns, &self.waiter));
        let spot = self.engine.txn.last_conflict().cloned().unwrap_or(Spot::Begin);
        turn.wait(&spot, pause(attempts.requests, LONGEST_REQUEST_PAUSE), since.after(limit));
        Ok(())
    }

    /// Undoes an attempt and waits until the blocking transaction has ended. Returns false if no such transaction is
    /// known.
    fn give_way(&mut self, start: Start, attempts: &mut Attempts) -> Result<bool, Abort> {
        self.forget_since(start);
        let waited = self.engine.txn.give_way(start.savepoint)?;
        if waited {
            // The engine's transaction is over if all of it was undone.
            self.engine.begun &= start.savepoint.is_some();
            self.count_retried(attempts.timed);
            self.count_wait(attempts);
        }
        Ok(waited)
    }

    /// Removes the deferred checks and the notifications that the statement has added to the transaction.
    fn forget_since(&mut self, start: Start) {
        self.transaction.deferred.truncate(start.deferred);
        self.context.undo_notifications(start.notifications);
    }

    /// Counts an attempt after a wait. The attempt after the first wait is no retry. A later one is, since another
    /// transaction came between the wait and the attempt.
    fn count_wait(&mut self, attempts: &mut Attempts) {
        attempts.waits += 1;
        attempts.since = None;
        if attempts.waits > 1 {
            self.entry.counters.count_retry();
        }
    }

    /// Returns the time and the lock manager's time so far, if times are counted.
    pub(super) fn timed_attempt(&mut self) -> Option<(Time, u64)> {
        self.database.config.times.as_ref()?;
        Some((self.waiter.now(), self.engine.txn.statistics().lock_manager_ns))
    }

    /// Counts an attempt that failed.
    fn count_retried(&mut self, begun: Option<(Time, u64)>) {
        if let (Some(times), Some((begin, locked_before))) = (&self.database.config.times, begun) {
            let locked = Duration::from_nanos(self.engine.txn.statistics().lock_manager_ns - locked_before);
            times.count_retried(self.waiter.now().since(begin).saturating_sub(locked));
        }
    }

    /// Whether there is to be another attempt. After a write conflict, attempts end after a time, since another
    /// transaction may keep the row for long. After any other abort, their number is limited. A statement that has
    /// waited as long as one wait may last is not retried after a time-out.
    fn may_try_again(&self, abort: Abort, attempts: &mut Attempts) -> bool {
        if abort == Abort::Timeout && self.has_waited_enough(attempts) {
            return false;
        }
        if abort != Abort::WriteConflict {
            return attempts.failed < self.database.config.max_retries;
        }
        let now = self.waiter.now();
        let since = *attempts.since.get_or_insert(now);
        let limit =
            self.context.settings.borrow().duration("lock_timeout").unwrap_or(self.database.config.uncertain_wait);
        now.since(since) < limit
    }

    /// Whether a statement's attempts have waited about as long as one wait may last. Another attempt would wait for
    /// the same session once more.
    fn has_waited_enough(&self, attempts: &Attempts) -> bool {
        let limit = self.database.config.uncertain_wait;
        let waited = Duration::from_nanos(self.waiter.waited_ns() - attempts.waited_before);
        waited >= limit - limit / 8
    }

    /// Whether a wait has lasted for the client's `lock_timeout`.
    pub(super) fn is_lock_timeout(&self, abort: Abort) -> bool {
        abort == Abort::Timeout && self.context.settings.borrow().duration("lock_timeout").is_some()
    }

    /// Whether retries in place of a wait have lasted for the client's `lock_timeout`.
    fn was_kept_off(&self, abort: Abort, unseen: bool) -> bool {
        unseen && abort == Abort::WriteConflict && self.context.settings.borrow().duration("lock_timeout").is_some()
    }

    /// Returns the error for an abort in the client's terms: a time-out that the client has set is reported as a lock
    /// time-out, and a deadlock with its cycle.
    pub(super) fn explain_abort(&self, abort: Abort, unseen: bool) -> SqlError {
        if self.is_lock_timeout(abort) || self.was_kept_off(abort, unseen) {
            return SqlError::new(state::LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout");
        }
        let error = SqlError::from(abort);
        match self.engine.txn.deadlock() {
            Some(deadlock) if abort == Abort::Deadlock => error.detail(deadlock::detail(deadlock, self.view())),
            _ => error,
        }
    }

    /// Waits for a time that doubles with every retry and differs between sessions.
    fn pause_before_retry(&mut self, retries: u32, longest: Duration) {
        self.entry.counters.count_retry();
        let pause = pause(retries, longest);
        let share = self.id.unsigned_abs() % 8;
        self.waiter.pause(pause / 2 + pause / 16 * share);
    }
}
