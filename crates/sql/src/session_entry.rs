//! The public state of a session that other sessions may read: its user, its statement and its locks, with their times.
//!
//! **Cost.** Each session writes to an entry of its own, which other sessions read only for a view of the sessions. The
//! start of a statement takes the entry's latch, which is free unless such a view is being read. Under the latch it
//! copies the text into memory that is allocated already, and loads the coarse clock. The end of the session's work for
//! its client takes the latch and loads the clock, too. Neither allocates, and neither moves shared cache lines: the
//! plan, which other sessions run too, is not touched.

use crate::counters::Counters;
use crate::table_lock::ShownLocks;
use crate::types::now;
use hotrow_sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};
use hotrow_sync::{Arc, Latch, Mutex, MutexGuard, OnceLock, Waiter};
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// The greatest number of bytes of a statement's text that an entry shows.
const TEXT: usize = 1023;

/// The state of a session, as `pg_stat_activity` names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// The session runs a statement.
    Active,
    /// The session waits for its client, outside any transaction.
    #[default]
    Idle,
    /// The session waits for its client, within a transaction.
    InTransaction,
    /// The session waits for its client, within a transaction that failed.
    Failed,
}

impl State {
    /// Returns the name of the state in `pg_stat_activity`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            State::Active => "active",
            State::Idle => "idle",
            State::InTransaction => "idle in transaction",
            State::Failed => "idle in transaction (aborted)",
        }
    }
}

/// The activity of a session. Times are in microseconds since 2000-01-01 UTC, as coarse as the system's clock ticks.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionActivity {
    pub(crate) state: State,
    /// The last statements that the client sent, as one text; nothing before the first.
    pub(crate) text: String,
    /// The time at which the last statements began.
    pub(crate) began: i64,
    /// The time at which the session entered its state.
    pub(crate) changed: i64,
}

/// The client of a session, and the time-outs of its waits.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientInfo {
    /// The name that the client gives itself (`application_name`).
    pub(crate) application: String,
    /// The client's network address; `None` if the client is on this machine or in this process.
    pub(crate) address: Option<SocketAddr>,
    /// The longest wait for an advisory lock, and the longest time between two looks for a deadlock.
    pub(crate) lock_timeout: Option<Duration>,
    pub(crate) deadlock_timeout: Option<Duration>,
}

/// The connection of a session, as other sessions may act on it.
pub trait Backend: Send + Sync {
    /// Cancels the statement that runs, if there is one.
    fn cancel(&self);

    /// Ends the session. Its transaction is rolled back, and its client is told why.
    fn terminate(&self);
}

/// The public state of a session. The session writes it, any thread may read it.
pub(crate) struct SessionEntry {
    pub(crate) counters: Counters,
    pub(crate) user: String,
    /// When the session began, in microseconds since 2000-01-01 UTC.
    pub(crate) began: i64,
    pub(crate) waiter: Waiter,
    /// The session's locks on tables.
    pub(crate) tables: Arc<ShownLocks>,
    pid: AtomicI32,
    /// The time at which the session's transaction began, or [`NONE`].
    transaction: AtomicI64,
    /// Whether the engine knows of the transaction.
    begun: AtomicBool,
    /// Whether the session may hold advisory locks.
    advisory: AtomicBool,
    doing: Latch<SessionActivity>,
    client_info: Mutex<ClientInfo>,
    backend: OnceLock<Arc<dyn Backend>>,
}

/// The time that stands for "no transaction".
const NONE: i64 = i64::MIN;

impl SessionEntry {
    /// Makes the entry of a session that begins now.
    pub(crate) fn new(user: &str, pid: i32, waiter: Waiter, tables: Arc<ShownLocks>) -> Self {
        let began = now();
        Self {
            counters: Counters::default(),
            user: user.to_owned(),
            began,
            waiter,
            tables,
            pid: AtomicI32::new(pid),
            transaction: AtomicI64::new(NONE),
            begun: AtomicBool::new(false),
            advisory: AtomicBool::new(false),
            doing: Latch::new(SessionActivity { changed: began, ..SessionActivity::default() }),
            client_info: Mutex::default(),
            backend: OnceLock::new(),
        }
    }

    /// Returns the number by which clients know the session.
    pub(crate) fn pid(&self) -> i32 {
        self.pid.load(Ordering::Acquire)
    }

    pub(crate) fn set_pid(&self, pid: i32) {
        self.pid.store(pid, Ordering::Release);
    }

    /// Returns the session's connection, if a server has set one.
    pub(crate) fn backend(&self) -> Option<&Arc<dyn Backend>> {
        self.backend.get()
    }

    pub(crate) fn set_backend(&self, backend: Arc<dyn Backend>) {
        // A session has one connection.
        let _ = self.backend.set(backend);
    }

    /// Records that the session begins the statements that were sent as `text`.
    #[inline]
    pub(crate) fn run(&self, text: &str) {
        let mut doing = self.doing.lock();
        doing.text.clear();
        doing.text.push_str(&text[..text.floor_char_boundary(TEXT)]);
        doing.began = coarse_now();
        if doing.state != State::Active {
            (doing.state, doing.changed) = (State::Active, doing.began);
        }
    }

    /// Records that the session waits for its client.
    #[inline]
    pub(crate) fn rest(&self, state: State) {
        let mut doing = self.doing.lock();
        if doing.state != state {
            (doing.state, doing.changed) = (state, coarse_now());
        }
    }

    /// Returns a copy of the session's present activity.
    pub(crate) fn doing(&self) -> SessionActivity {
        self.doing.lock().clone()
    }

    /// Records that a transaction begins.
    #[inline]
    pub(crate) fn begin(&self, now: i64) {
        self.transaction.store(now, Ordering::Release);
    }

    /// Records that the engine's transaction begins.
    #[inline]
    pub(crate) fn begin_engine(&self) {
        self.begun.store(true, Ordering::Release);
    }

    /// Records that the transaction is over.
    #[inline]
    pub(crate) fn end(&self) {
        self.transaction.store(NONE, Ordering::Release);
        self.begun.store(false, Ordering::Release);
    }

    /// Returns the time at which the session's transaction began, or `None` if there is no transaction.
    pub(crate) fn transaction(&self) -> Option<i64> {
        Some(self.transaction.load(Ordering::Acquire)).filter(|&began| began != NONE)
    }

    /// Whether the engine knows of the session's transaction, so that other sessions may wait for it.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    /// Records that the session holds an advisory lock.
    pub(crate) fn takes_advisory(&self) {
        self.advisory.store(true, Ordering::Release);
    }

    /// Sets the time-outs of the session's waits for locks.
    pub(crate) fn set_time_outs(&self, lock: Option<Duration>, deadlock: Option<Duration>) {
        self.waiter.set_lock_timeout(lock);
        self.waiter.set_deadlock_timeout(deadlock);
    }

    /// Records that the session holds no advisory lock any more.
    pub(crate) fn has_no_advisory(&self) {
        self.advisory.store(false, Ordering::Release);
    }

    /// Whether the session may hold advisory locks.
    #[inline]
    pub(crate) fn may_hold_advisory(&self) -> bool {
        self.advisory.load(Ordering::Acquire)
    }

    /// Whether other sessions may wait for this one, since it may hold a lock.
    pub(crate) fn may_be_waited_for(&self) -> bool {
        self.has_begun() || self.may_hold_advisory() || self.tables.holds_any()
    }

    /// Locks and returns the description of the session's client.
    pub(crate) fn client_info(&self) -> MutexGuard<'_, ClientInfo> {
        self.client_info.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

impl fmt::Debug for SessionEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionEntry").field("pid", &self.pid()).field("user", &self.user).finish_non_exhaustive()
    }
}

/// Returns the time of the system clock's last tick, some milliseconds ago, in microseconds since 2000-01-01 UTC.
#[cfg(target_os = "linux")]
fn coarse_now() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    (time.tv_sec - 946_684_800) * 1_000_000 + time.tv_nsec / 1000
}

#[cfg(not(target_os = "linux"))]
fn coarse_now() -> i64 {
    now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let entry = SessionEntry::new("ada", 7, Waiter::thread(Duration::ZERO), Arc::default());
        entry.run(&"é".repeat(TEXT));
        assert_eq!(entry.doing().text, "é".repeat(TEXT / 2));
        entry.run("SELECT 1");
        assert_eq!((entry.doing().text.as_str(), entry.doing().state), ("SELECT 1", State::Active));
        entry.rest(State::Failed);
        assert_eq!(entry.doing().state.name(), "idle in transaction (aborted)");
    }

    #[test]
    fn the_coarse_clock_is_the_other_one() {
        let (before, coarse) = (now(), coarse_now());
        assert!((before - coarse).abs() < 10_000_000, "{before} {coarse}");
    }
}
