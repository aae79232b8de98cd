//! The time limits and the early end of transactions in sessions whose client sends nothing.

use super::Session;
use super::transaction::Phase;
use crate::settings::EXCLUSIVE_IDLE_TIMEOUT;
use crate::{SqlError, SqlState, state};
use hotrow_txn::{Abort, Diagnostics, Exclusion, Prospect};
use std::time::Duration;

/// The idle time after which a block that has read uncommitted changes checks whether they were rolled back: about as
/// long as a client takes to roll back. The block checks again whenever its idle time has grown by an eighth, so that
/// many such blocks cost little.
const LOOK_AFTER_LEADERS: Duration = Duration::from_millis(5);

impl Session {
    /// Looks after a session whose client has sent nothing for the time `idle`. Returns the idle time at which the
    /// session is to be looked after again, or `None` if nothing remains to be done.
    ///
    /// A block that excludes all others from the database is given up when it has been idle for
    /// `hotrow.exclusive_idle_timeout` and others wait. Its client receives the error (40001) with its next message. A
    /// block that cannot commit any more, because it has seen changes that were rolled back, is given up in the same
    /// way.
    ///
    /// # Errors
    /// The session has been idle for too long and ends; the client is sent the reason.
    pub fn look_after_idle(&mut self, idle: Duration) -> Result<Option<Duration>, SqlError> {
        let end = self.idle_end();
        if let Some((limit, state, kind)) = end
            && idle >= limit
        {
            return Err(SqlError::new(state, format!("terminating connection due to {kind} timeout")));
        }
        let next = self.look_after_exclusion(idle).or_else(|| self.look_after_leaders(idle));
        Ok(end.map(|(limit, ..)| limit).into_iter().chain(next).min())
    }

    /// Returns the session's limit of idle time, if there is one, with the error code and the name of the time-out.
    fn idle_end(&self) -> Option<(Duration, SqlState, &'static str)> {
        let (setting, state, kind) = match self.transaction.phase {
            Phase::Block | Phase::Failed => {
                let state = state::IDLE_IN_TRANSACTION_SESSION_TIMEOUT;
                ("idle_in_transaction_session_timeout", state, "idle-in-transaction")
            }
            Phase::Idle => ("idle_session_timeout", state::IDLE_SESSION_TIMEOUT, "idle-session"),
            Phase::Implicit => return None,
        };
        let limit = self.context.settings.borrow().duration(setting)?;
        Some((limit, state, kind))
    }

    /// Gives the block up if it excludes others and its idle time is over. Returns the idle time at which to look
    /// again.
    fn look_after_exclusion(&mut self, idle: Duration) -> Option<Duration> {
        let exclusion = if self.transaction.phase == Phase::Block && self.engine.begun {
            self.engine.txn.exclusion()
        } else {
            Exclusion::None
        };
        if exclusion == Exclusion::None {
            return None;
        }
        let limit = self.context.settings.borrow().exclusive_idle_timeout()?;
        if idle < limit {
            return Some(limit);
        }
        if exclusion == Exclusion::Database {
            return Some(idle + limit);
        }
        self.give_up_unheard(Abort::Timeout);
        None
    }

    /// Gives the block up if it has read changes that were rolled back. Returns the idle time at which to look again,
    /// if the block has read changes that may still be rolled back.
    fn look_after_leaders(&mut self, idle: Duration) -> Option<Duration> {
        let is_in_block = matches!(self.transaction.phase, Phase::Block | Phase::Failed) && self.engine.begun;
        match if is_in_block { self.engine.txn.prospect() } else { Prospect::Open } {
            Prospect::Open => None,
            Prospect::Follows => Some(idle + LOOK_AFTER_LEADERS.max(idle / 8)),
            Prospect::Doomed => {
                self.give_up_unheard(Abort::Cascade);
                None
            }
        }
    }

    /// Gives the block up while its client sends nothing. If the block has failed already, the client knows of the
    /// failure and is sent no other error.
    fn give_up_unheard(&mut self, abort: Abort) {
        let unheard = (self.transaction.phase == Phase::Block).then_some(abort);
        self.engine_aborted(abort);
        self.note_failure(abort);
        self.fail_transaction();
        self.transaction.given_up_unheard = unheard;
        self.rest();
    }

    /// Returns error 40001 for a client whose block was given up while the client sent nothing.
    pub(super) fn gave_way(&self, abort: Abort) -> SqlError {
        if abort != Abort::Timeout {
            return SqlError::from(abort);
        }
        let engine = self.database.engine().info().name;
        let message = "could not serialize access: the transaction was idle while others waited, and was rolled back";
        SqlError::new(state::SERIALIZATION_FAILURE, message)
            .detail(format!("Under engine {engine} a transaction block keeps everybody else off the database."))
            .hint(format!("Retry the transaction. {EXCLUSIVE_IDLE_TIMEOUT} says how long it may be idle."))
    }
}
