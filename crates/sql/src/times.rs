//! The sums of the times that sessions spend in the lock manager and in failed attempts, for `SHOW hotrow.times`.

use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_txn::Statistics;
use std::fmt;
use std::time::Duration;

/// The sums of times over all sessions since the database was opened. They are measured only if
/// [`Config::times`](crate::Config::times) is set, because each session then reads the clock around its calls of the
/// lock manager.
///
/// **Thread safety.** Any thread may add and read. The sums are read one after the other, so they are no exact
/// snapshot.
#[derive(Debug, Default)]
pub struct Times {
    lock_manager_ns: AtomicU64,
    timed_calls: AtomicU64,
    retried_ns: AtomicU64,
    resumes: AtomicU64,
}

impl Times {
    /// Counts one resumption of a coroutine. The server calls it when the coroutine has yielded again.
    pub fn count_resume(&self) {
        self.resumes.fetch_add(1, Ordering::AcqRel);
    }

    /// Adds the lock manager's time and calls that the engine has measured for a transaction that has ended.
    pub(crate) fn count_transaction(&self, counted: &Statistics) {
        self.lock_manager_ns.fetch_add(counted.lock_manager_ns, Ordering::AcqRel);
        self.timed_calls.fetch_add(counted.timed_calls, Ordering::AcqRel);
    }

    /// Adds the duration of an attempt at a statement that failed because of a conflict. Excludes the time in the lock
    /// manager.
    pub(crate) fn count_retried(&self, time: Duration) {
        self.retried_ns.fetch_add(time.as_nanos() as u64, Ordering::AcqRel);
    }
}

impl fmt::Display for Times {
    /// Formats the sums as `lock_manager_ns 0, timed_calls 0, retried_ns 0, resumes 0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [lock_manager_ns, timed_calls, retried_ns, resumes] =
            [&self.lock_manager_ns, &self.timed_calls, &self.retried_ns, &self.resumes]
                .map(|sum| sum.load(Ordering::Acquire));
        write!(
            f,
            "lock_manager_ns {lock_manager_ns}, timed_calls {timed_calls}, retried_ns {retried_ns}, resumes {resumes}"
        )
    }
}
