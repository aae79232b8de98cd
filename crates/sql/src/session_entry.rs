//! The public state of a session, which other sessions may read: its user, its statement and its locks, with their
//! times.
//!
//! **Cost.** Each session writes to its own entry, and other sessions read the entry only for a view of all sessions.
//! At the start of a statement the session takes the entry's latch, copies the text of the statement into memory that
//! is allocated already, and reads the coarse clock. When it begins to wait for its client, it takes the latch and
//! reads the clock again. Neither allocates memory. The latch is free unless such a view is being read, and no cache
//! line is shared with other sessions.

use crate::counters::Counters;
use crate::notifications::Mailbox;
use crate::table_lock::ShownLocks;
use crate::types::now;
use hotrow_sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU8, Ordering};
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

/// The activity of a session. Times are in microseconds since 2000-01-01 UTC. They come from the system's coarse clock,
/// which is exact to some milliseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionActivity {
    pub(crate) state: State,
    /// The beginning of the text that the client sent last: one or several statements. Empty before the first
    /// statement.
    pub(crate) text: String,
    /// The time at which the session began to run `text`.
    pub(crate) began: i64,
    /// The time at which the session entered its state.
    pub(crate) changed: i64,
}

/// The client of a session, with the limits on the session's waits for locks.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientInfo {
    /// The name that the client gives itself (`application_name`).
    pub(crate) application: String,
    /// The client's network address, or `None` if the client is on this machine or in this process.
    pub(crate) address: Option<SocketAddr>,
    /// The value of `lock_timeout`: the longest wait for an advisory lock; and the value of `deadlock_timeout`: the
    /// longest pause between two checks for a deadlock. `None` if the setting is zero or has its default.
    pub(crate) lock_timeout: Option<Duration>,
    pub(crate) deadlock_timeout: Option<Duration>,
}

/// The connection of a session. Through it, other sessions can cancel the session's statement, end the session, or
/// announce notifications.
pub trait Backend: Send + Sync {
    /// Cancels the statement that runs, if there is one.
    fn cancel(&self);

    /// Ends the session. Its transaction is rolled back, and its client receives an error that gives the reason.
    fn terminate(&self);

    /// Announces that there are notifications for the session, so that the connection takes them. The session may be
    /// running a statement, or waiting for its client.
    fn notify(&self);
}

/// The public state of a session. Only the session writes it, any thread may read it.
pub(crate) struct SessionEntry {
    pub(crate) counters: Counters,
    pub(crate) user: String,
    /// The name of the session's database.
    pub(crate) database: Arc<str>,
    pub(crate) database_number: u32,
    /// When the session began, in microseconds since 2000-01-01 UTC.
    pub(crate) began: i64,
    pub(crate) waiter: Waiter,
    /// The session's locks on tables.
    pub(crate) tables: Arc<ShownLocks>,
    /// The channels on which the session listens, and the notifications that its client has not been sent.
    pub(crate) mailbox: Mailbox,
    pid: AtomicI32,
    /// The time at which the session's transaction began, or [`NONE`].
    transaction: AtomicI64,
    /// The state of the session's transaction in the engine: [`OUTSIDE`], [`BEGUN`] or [`EXCLUDES`].
    engine: AtomicU8,
    /// Whether the session may hold advisory locks.
    advisory: AtomicBool,
    doing: Latch<SessionActivity>,
    client_info: Mutex<ClientInfo>,
    backend: OnceLock<Arc<dyn Backend>>,
}

/// The time that stands for "no transaction".
const NONE: i64 = i64::MIN;

/// The state of a transaction that has not begun in the engine.
const OUTSIDE: u8 = 0;

/// The state of a transaction that has begun in the engine.
const BEGUN: u8 = 1;

/// The state of a transaction that has begun in the engine and excludes all others from the database.
const EXCLUDES: u8 = 2;

impl SessionEntry {
    /// Makes the entry of a session that begins now.
    pub(crate) fn new(
        user: &str,
        (database, database_number): (Arc<str>, u32),
        pid: i32,
        waiter: Waiter,
        tables: Arc<ShownLocks>,
    ) -> Self {
        let began = now();
        Self {
            database,
            database_number,
            counters: Counters::default(),
            user: user.to_owned(),
            began,
            waiter,
            tables,
            mailbox: Mailbox::default(),
            pid: AtomicI32::new(pid),
            transaction: AtomicI64::new(NONE),
            engine: AtomicU8::new(OUTSIDE),
            advisory: AtomicBool::new(false),
            doing: Latch::new(SessionActivity { changed: began, ..SessionActivity::default() }),
            client_info: Mutex::default(),
            backend: OnceLock::new(),
        }
    }

    /// Returns the session's process number, as `pg_backend_pid()` returns it.
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

    /// Records that the session begins to run `text`: one or several statements. Only the beginning of the text is
    /// stored.
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

    /// Records that the session waits for its client, in this state.
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

    /// Records that a transaction begins at `now`, in microseconds since 2000-01-01 UTC.
    #[inline]
    pub(crate) fn begin(&self, now: i64) {
        self.transaction.store(now, Ordering::Release);
    }

    /// Records that the session's transaction begins in the engine.
    #[inline]
    pub(crate) fn begin_engine(&self) {
        self.engine.store(BEGUN, Ordering::Release);
    }

    /// Records that the session's transaction has begun in the engine, and excludes all others from the database.
    #[cold]
    pub(crate) fn exclude(&self) {
        self.engine.store(EXCLUDES, Ordering::Release);
    }

    /// Records that the transaction is over in the engine.
    #[inline]
    pub(crate) fn end_engine(&self) {
        self.engine.store(OUTSIDE, Ordering::Release);
    }

    /// Records that the transaction is over.
    #[inline]
    pub(crate) fn end(&self) {
        self.transaction.store(NONE, Ordering::Release);
        self.end_engine();
    }

    /// Returns the time at which the session's transaction began, in microseconds since 2000-01-01 UTC, or `None` if
    /// there is no transaction.
    pub(crate) fn transaction(&self) -> Option<i64> {
        Some(self.transaction.load(Ordering::Acquire)).filter(|&began| began != NONE)
    }

    /// Whether the session's transaction has begun in the engine. Only then may other transactions wait for it.
    pub(crate) fn has_begun(&self) -> bool {
        self.engine.load(Ordering::Acquire) != OUTSIDE
    }

    /// Whether the session's transaction excludes all others from the database.
    pub(crate) fn excludes(&self) -> bool {
        self.engine.load(Ordering::Acquire) == EXCLUDES
    }

    /// Records that the session holds an advisory lock.
    pub(crate) fn takes_advisory(&self) {
        self.advisory.store(true, Ordering::Release);
    }

    /// Sets the limits on the session's waits for locks: `lock_timeout` and `deadlock_timeout`.
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

    /// Whether other sessions may be waiting for this session: it may hold locks in the engine, on tables, or advisory
    /// locks.
    pub(crate) fn may_be_waited_for(&self) -> bool {
        self.has_begun() || self.may_hold_advisory() || self.tables.holds_any()
    }

    /// Locks the mutex of the client's description and returns the guard.
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
        let entry = SessionEntry::new("ada", ("db".into(), 1), 7, Waiter::thread(Duration::ZERO), Arc::default());
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
