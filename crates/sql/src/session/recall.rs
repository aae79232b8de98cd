//! Attempts that are recalled while they wait to begin, because they hold tables that another session needs.
//!
//! Under an engine that keeps all others off the database during a transaction, a statement takes the locks of its
//! tables and then waits to begin. If the session that has the database asks for one of the tables, neither goes on.
//! The statement has done nothing yet, so the search for deadlocks [recalls](hotrow_sync::Waiter::recall) it: it
//! releases the tables, and starts again with a request for them.

use super::Session;
use crate::exec::Fail;
use hotrow_sync::Waiter;
use hotrow_txn::Abort;

/// The state of a session's attempt with regard to recalls.
#[derive(Debug, Default)]
pub(super) struct Recall {
    /// Whether the attempt may be recalled while it waits to begin.
    is_possible: bool,
    /// Whether the attempt has failed because it was recalled.
    has_ended_attempt: bool,
}

impl Recall {
    /// Makes a call in which the attempt may wait to begin. If the attempt may be recalled, a recall ends the call with
    /// an error.
    pub(super) fn allow(&mut self, waiter: &Waiter, call: impl FnOnce() -> Result<(), Fail>) -> Result<(), Fail> {
        if !self.is_possible {
            return call();
        }
        let (result, was_recalled) = waiter.recallable(call);
        let has_failed = matches!(result, Err(Fail::Abort(Abort::Cancelled)));
        self.has_ended_attempt = has_failed && was_recalled && !waiter.is_cancelled();
        result
    }
}

impl Session {
    /// Decides whether the attempt that begins may be recalled. It may if the transaction has done nothing so far and
    /// holds no locks on tables.
    pub(super) fn allow_recall(&mut self) {
        let is_possible = !self.engine.begun && self.transaction.locks.is_empty();
        self.engine.recall = Recall { is_possible, has_ended_attempt: false };
    }

    /// Undoes an attempt that failed because it was recalled. Returns `false` if the attempt failed for another reason.
    pub(super) fn was_recalled(&mut self) -> bool {
        let was_recalled = std::mem::take(&mut self.engine.recall.has_ended_attempt);
        if was_recalled {
            self.withdraw_begin();
            self.transaction.locks.release_all();
            self.entry.counters.count_retry();
        }
        was_recalled
    }
}
