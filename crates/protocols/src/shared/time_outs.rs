//! Deadlocks that end because somebody has waited for too long.
//!
//! A wait is taken for a deadlock when for some time nobody in its way has come or gone. So those who stand behind a
//! deadlock in a long queue do not give up with it.

use hotrow_txn::Begin;
use std::time::Duration;

/// How long transactions wait.
#[derive(Clone, Debug)]
pub struct TimeOuts {
    /// The longest wait for one lock.
    pub wait_limit: Duration,
    /// The longest wait of an interactive transaction in which nothing moves.
    pub patience: Duration,
    /// The same of a one-shot transaction. Such a one takes microseconds and is retried by itself, so a wait of a thousand
    /// times that is a deadlock in all likelihood.
    pub one_shot_patience: Duration,
}

impl Default for TimeOuts {
    /// A second, as PostgreSQL's `deadlock_timeout`; a millisecond for one-shot transactions.
    fn default() -> Self {
        Self {
            wait_limit: Duration::from_secs(10),
            patience: Duration::from_secs(1),
            one_shot_patience: Duration::from_millis(1),
        }
    }
}

impl TimeOuts {
    /// The longest wait of a transaction in which nothing moves. Who brings a limit of its own is held to that alone.
    #[inline]
    pub(crate) fn patience_of(&self, begin: &Begin<'_>) -> Option<Duration> {
        match begin.deadlock_timeout {
            _ if begin.one_shot && begin.wait_limit.is_none() => Some(self.one_shot_patience),
            Some(timeout) => Some(timeout),
            None => begin.wait_limit.is_none().then_some(self.patience),
        }
    }
}
