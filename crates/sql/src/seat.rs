//! What others may know of a session: who it is, what it runs, since when, and what it waits for.
//!
//! **Cost.** A session writes to a seat of its own, which others read only when somebody asks. A statement's beginning
//! takes the seat's latch, which nobody else wants, copies the text into memory that is there already, and reads the
//! coarse clock, which is a load; so does the moment when the session waits for its client again. Neither allocates,
//! and neither makes others' lines travel: the plan, which others run too, is left alone.

use crate::counters::Counters;
use crate::table_lock::ShownLocks;
use crate::types::now;
use hotrow_sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};
use hotrow_sync::{Arc, Latch, Mutex, MutexGuard, OnceLock, Waiter};
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// Of a text so much is shown, in bytes.
const TEXT: usize = 1023;

/// Where a session stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// It runs a statement.
    Active,
    /// It waits for its client, outside any transaction.
    #[default]
    Idle,
    /// The same, within a transaction.
    InTransaction,
    /// The same, within one that failed.
    Failed,
}

impl State {
    /// As `pg_stat_activity` says it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            State::Active => "active",
            State::Idle => "idle",
            State::InTransaction => "idle in transaction",
            State::Failed => "idle in transaction (aborted)",
        }
    }
}

/// What a session does. Times are in microseconds since 2000-01-01 UTC, as coarse as the system's clock ticks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doing {
    pub(crate) state: State,
    /// The last statements that the client sent, as one text; nothing before the first.
    pub(crate) text: String,
    /// When they began.
    pub(crate) began: i64,
    /// When the state became what it is.
    pub(crate) changed: i64,
}

/// Whom a session talks to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peer {
    /// What it calls itself.
    pub(crate) application: String,
    /// Where it is; none if that is this machine, or this program.
    pub(crate) address: Option<SocketAddr>,
    /// How long it waits for an advisory lock, and the longest time between two looks for a deadlock.
    pub(crate) lock_timeout: Option<Duration>,
    pub(crate) deadlock_timeout: Option<Duration>,
}

/// What another session may do to the connection of a session.
pub trait Backend: Send + Sync {
    /// Cancels the statement that runs, if there is one.
    fn cancel(&self);

    /// Ends the session. Its transaction is rolled back, and its client is told why.
    fn terminate(&self);
}

/// What others may know of a session. The session writes, anybody may read.
pub(crate) struct Seat {
    pub(crate) counters: Counters,
    pub(crate) user: String,
    /// When the session began, in microseconds since 2000-01-01 UTC.
    pub(crate) began: i64,
    pub(crate) waiter: Waiter,
    /// Its locks on tables.
    pub(crate) tables: Arc<ShownLocks>,
    pid: AtomicI32,
    /// When its transaction began, or [`NONE`].
    transaction: AtomicI64,
    /// Whether the engine knows of the transaction.
    begun: AtomicBool,
    /// Whether it may hold advisory locks.
    advisory: AtomicBool,
    doing: Latch<Doing>,
    peer: Mutex<Peer>,
    backend: OnceLock<Arc<dyn Backend>>,
}

/// There is no transaction.
const NONE: i64 = i64::MIN;

impl Seat {
    /// That of a session that begins.
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
            doing: Latch::new(Doing { changed: began, ..Doing::default() }),
            peer: Mutex::default(),
            backend: OnceLock::new(),
        }
    }

    /// The number by which clients know the session.
    pub(crate) fn pid(&self) -> i32 {
        self.pid.load(Ordering::Acquire)
    }

    pub(crate) fn set_pid(&self, pid: i32) {
        self.pid.store(pid, Ordering::Release);
    }

    /// Its connection, if a server has given it one.
    pub(crate) fn backend(&self) -> Option<&Arc<dyn Backend>> {
        self.backend.get()
    }

    pub(crate) fn set_backend(&self, backend: Arc<dyn Backend>) {
        // A session has one connection.
        let _ = self.backend.set(backend);
    }

    /// Statements begin that were sent as this text.
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

    /// The session waits for its client.
    #[inline]
    pub(crate) fn rest(&self, state: State) {
        let mut doing = self.doing.lock();
        if doing.state != state {
            (doing.state, doing.changed) = (state, coarse_now());
        }
    }

    /// What the session does at this moment.
    pub(crate) fn doing(&self) -> Doing {
        self.doing.lock().clone()
    }

    /// A transaction begins.
    #[inline]
    pub(crate) fn begin(&self, now: i64) {
        self.transaction.store(now, Ordering::Release);
    }

    /// The engine comes to know of the transaction.
    #[inline]
    pub(crate) fn begin_engine(&self) {
        self.begun.store(true, Ordering::Release);
    }

    /// The transaction is over.
    #[inline]
    pub(crate) fn end(&self) {
        self.transaction.store(NONE, Ordering::Release);
        self.begun.store(false, Ordering::Release);
    }

    /// When its transaction began, if there is one.
    pub(crate) fn transaction(&self) -> Option<i64> {
        Some(self.transaction.load(Ordering::Acquire)).filter(|&began| began != NONE)
    }

    /// Whether the engine knows of its transaction, so that others may wait for it.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    /// The session comes to hold an advisory lock.
    pub(crate) fn takes_advisory(&self) {
        self.advisory.store(true, Ordering::Release);
    }

    /// Has the session's waits for locks last as long as this.
    pub(crate) fn set_time_outs(&self, lock: Option<Duration>, deadlock: Option<Duration>) {
        self.waiter.set_lock_timeout(lock);
        self.waiter.set_deadlock_timeout(deadlock);
    }

    /// The session holds none any more.
    pub(crate) fn has_no_advisory(&self) {
        self.advisory.store(false, Ordering::Release);
    }

    /// Whether it may hold advisory locks.
    #[inline]
    pub(crate) fn may_hold_advisory(&self) -> bool {
        self.advisory.load(Ordering::Acquire)
    }

    /// Whether another session can wait for this one: it may hold something.
    pub(crate) fn may_be_waited_for(&self) -> bool {
        self.has_begun() || self.may_hold_advisory() || self.tables.holds_any()
    }

    /// Whom it talks to.
    pub(crate) fn peer(&self) -> MutexGuard<'_, Peer> {
        self.peer.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("pid", &self.pid()).field("user", &self.user).finish_non_exhaustive()
    }
}

/// Microseconds since 2000-01-01 UTC when the system's clock ticked last, which is some milliseconds ago.
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
        let seat = Seat::new("ada", 7, Waiter::thread(Duration::ZERO), Arc::default());
        seat.run(&"é".repeat(TEXT));
        assert_eq!(seat.doing().text, "é".repeat(TEXT / 2));
        seat.run("SELECT 1");
        assert_eq!((seat.doing().text.as_str(), seat.doing().state), ("SELECT 1", State::Active));
        seat.rest(State::Failed);
        assert_eq!(seat.doing().state.name(), "idle in transaction (aborted)");
    }

    #[test]
    fn the_coarse_clock_is_the_other_one() {
        let (before, coarse) = (now(), coarse_now());
        assert!((before - coarse).abs() < 10_000_000, "{before} {coarse}");
    }
}
