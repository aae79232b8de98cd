//! Requests for the locks that are managed outside the engine: table locks and advisory locks.
//!
//! `blocking` finds which session waits for which other session, `circle` detects deadlocks, and `deadlock` formats the
//! error for a victim.
//!
//! **Deadlocks.** A session that waits searches for [cycles of waits](circle), which may include locks of any kind. A
//! cycle that exists only because of a queue's order is broken by another order of that queue.

pub(crate) mod blocking;
mod circle;
pub(crate) mod deadlock;

use crate::advisory::Wanted;
use crate::session_entry::SessionEntry;
use crate::shared::Shared;
use crate::table_lock::{AwaitedLock, Mode, ShownLocks, TableLock};
use crate::{SqlError, state};
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Wake};
use hotrow_txn::Abort;
use std::time::Duration;

/// Takes an advisory lock, and waits for it at most for the session's `lock_timeout`.
///
/// # Errors
/// 55P03 if the wait took too long, 57014 if it was cancelled, 40P01 or 40001 if it is or may be part of a deadlock.
pub(crate) fn take_advisory(shared: &Shared, entry: &Arc<SessionEntry>, wanted: Wanted) -> Result<(), SqlError> {
    let Some(asked) = shared.advisory.ask(entry, wanted) else { return Ok(()) };
    let limit = entry.client_info().lock_timeout.map(|limit| asked.since.after(limit));
    let withdraw = || {
        asked.withdraw();
    };
    let wake = circle::wait(shared, entry, limit, &asked.granted, withdraw);
    match wake {
        _ if !asked.withdraw() => Ok(()),
        Err(deadlock) => Err(deadlock),
        Ok(Wake::Cancelled) => Err(Abort::Cancelled.into()),
        Ok(Wake::Ready | Wake::TimedOut) => Err(lock_timeout()),
    }
}

/// Returns error 55P03, which says that a wait for a lock has lasted for `lock_timeout`.
pub(crate) fn lock_timeout() -> SqlError {
    SqlError::new(state::LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout")
}

/// The table locks that a session's transaction holds. Dropping it releases them.
#[derive(Debug, Default)]
pub struct HeldLocks {
    held: Vec<(Arc<TableLock>, Mode)>,
    shown: Arc<ShownLocks>,
}

impl HeldLocks {
    /// Returns the part of the list of locks that other sessions may read.
    pub(crate) fn shown(&self) -> &Arc<ShownLocks> {
        &self.shown
    }

    /// Takes a table lock, unless the transaction already holds it at least as strongly. Waits for it at most for
    /// `limit`, if that is given. `shared` and `entry` are those of the session. The result says how the wait ended:
    /// the lock was granted only if it is `Wake::Ready`.
    ///
    /// # Errors
    /// 40P01 if the wait is part of a deadlock, 40001 if it may be.
    pub(crate) fn acquire(
        &mut self,
        lock: &Arc<TableLock>,
        mode: Mode,
        (shared, entry): (&Shared, &Arc<SessionEntry>),
        limit: Option<Duration>,
    ) -> Result<Wake, SqlError> {
        let known = self.held.iter().position(|(held, _)| Arc::ptr_eq(held, lock));
        if let Some(place) = known
            && self.held[place].1 >= mode
        {
            return Ok(Wake::Ready);
        }
        // The clock is read only if the session has to wait.
        if self.try_share(lock, mode) {
            return Ok(Wake::Ready);
        }
        let since = entry.waiter.now();
        let granted = lock.ask(mode, known.is_some(), &entry.waiter);
        let waiting = Waiting { locks: self, lock, mode, known, granted: &granted };
        waiting.locks.shown.await_lock(Some(AwaitedLock { lock: lock.clone(), mode, since }));
        let ended =
            circle::wait(shared, entry, limit.map(|limit| since.after(limit)), &granted, || lock.withdraw(&granted));
        drop(waiting);
        if granted.load(Ordering::Acquire) { Ok(Wake::Ready) } else { ended }
    }

    /// Takes a shared lock if it is free. The transaction must not hold it yet. Returns false if the lock is not free,
    /// or if `mode` is exclusive.
    pub(crate) fn try_share(&mut self, lock: &Arc<TableLock>, mode: Mode) -> bool {
        let free = mode == Mode::Shared && lock.try_share();
        if free {
            self.push(lock, mode);
        }
        free
    }

    #[inline]
    fn push(&mut self, lock: &Arc<TableLock>, mode: Mode) {
        self.shown.show(self.held.len(), ShownLocks::word(lock, mode));
        self.held.push((lock.clone(), mode));
    }

    /// Whether the transaction holds this lock exclusively.
    pub fn is_exclusive(&self, lock: &Arc<TableLock>) -> bool {
        self.held.iter().any(|(held, mode)| Arc::ptr_eq(held, lock) && *mode == Mode::Exclusive)
    }

    /// Whether the transaction holds no lock.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Releases all locks.
    pub fn release_all(&mut self) {
        for (place, (lock, mode)) in self.held.drain(..).enumerate() {
            self.shown.show(place, 0);
            lock.release(mode);
        }
    }
}

/// A request that waits. Dropping it takes the request out of the queue, and records the lock as held if it was
/// granted. That happens also if the wait unwinds.
struct Waiting<'w> {
    locks: &'w mut HeldLocks,
    lock: &'w Arc<TableLock>,
    mode: Mode,
    /// The position of the lock in the list of held locks, if the requester holds it shared already.
    known: Option<usize>,
    granted: &'w Arc<AtomicBool>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Waiting { lock, mode, .. } = *self;
        lock.withdraw(self.granted);
        self.locks.shown.await_lock(None);
        if self.granted.load(Ordering::Acquire) {
            match self.known {
                Some(place) => {
                    self.locks.held[place].1 = mode;
                    self.locks.shown.show(place, ShownLocks::word(lock, mode));
                }
                None => self.locks.push(lock, mode),
            }
        }
    }
}

impl Drop for HeldLocks {
    fn drop(&mut self) {
        self.release_all();
    }
}
