//! The waits between sessions: which sessions wait, for which target, and which sessions block them.
//!
//! The [`Waiter`] of a session knows whether the session waits, under every engine. The target and the blocking
//! sessions are known only to the owner of the lock: the front end for table locks and advisory locks, and the engine
//! for rows. A session that waits in order to begin, while another one excludes all others from the database, waits
//! for that one. If the engine does not know the blocking session, it may be any session in a transaction. Then all of
//! these sessions are reported, marked as uncertain.

use crate::advisory::Key;
use crate::session_entry::SessionEntry;
use crate::shared::Shared;
use crate::table_lock::{AwaitedLock, Mode, TableLock};
use hotrow_sync::{Arc, Time, Waiter};
use hotrow_txn::{LockTarget, LockWait};
use std::cell::OnceCell;

/// The target of a session's wait: the lock that the session has requested.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Awaited {
    /// A table's lock, by its address.
    Table(usize),
    /// An advisory lock.
    Advisory(Key),
    /// A lock of the engine.
    Lock(LockTarget),
    /// A target that the engine does not report.
    Unknown,
}

/// A session that blocks another session, or may block it.
#[derive(Clone, Debug)]
pub(crate) struct Blocker {
    pub(crate) entry: Arc<SessionEntry>,
    /// The mode in which this session holds the target; `None` if it only waits for the target, too, or if the mode is
    /// unknown.
    pub(crate) holds: Option<&'static str>,
}

/// A session that waits, with the target of its wait and the sessions that block it.
#[derive(Debug)]
pub(crate) struct Blocked {
    pub(crate) entry: Arc<SessionEntry>,
    pub(crate) since: Time,
    pub(crate) awaited: Awaited,
    /// The mode in which the session has requested the target; `None` if the mode is unknown.
    pub(crate) mode: Option<&'static str>,
    pub(crate) blockers: Vec<Blocker>,
    /// Whether the blockers are certain. If not, each of them may or may not block the session.
    pub(crate) is_certain: bool,
}

/// Returns the waits of all sessions that wait, with their blockers.
pub(crate) fn blocked(shared: &Shared) -> Vec<Blocked> {
    let sessions = Sessions::new(shared);
    sessions.entries.iter().filter_map(|entry| sessions.wait_of(entry)).collect()
}

/// A snapshot of the sessions, from which their waits are read.
pub(crate) struct Sessions<'d> {
    shared: &'d Shared,
    pub(crate) entries: Vec<Arc<SessionEntry>>,
    /// The engine's waits, which are read at the first use since reading them takes a while.
    of_engine: OnceCell<Vec<LockWait>>,
}

impl<'d> Sessions<'d> {
    /// Takes a snapshot of the sessions that exist now.
    pub(crate) fn new(shared: &'d Shared) -> Self {
        Self { shared, entries: shared.activity.entries(), of_engine: OnceCell::new() }
    }

    /// Returns the wait of a session with its blockers, or `None` if the session does not wait.
    pub(crate) fn wait_of(&self, entry: &Arc<SessionEntry>) -> Option<Blocked> {
        let entry = entry.clone();
        if let Some(AwaitedLock { lock, mode, since }) = entry.tables.awaited() {
            let blockers = self.of_table(&entry, &lock, mode);
            let (awaited, mode) = (Awaited::Table(Arc::as_ptr(&lock).addr()), Some(mode.name()));
            return Some(Blocked { entry, since, awaited, mode, blockers, is_certain: true });
        }
        if let Some(wait) = self.shared.advisory.wait_of(&entry) {
            let holders = wait.holders.into_iter().map(|(entry, mode)| Blocker { entry, holds: Some(mode.name()) });
            let before = wait.before.into_iter().map(|entry| Blocker { entry, holds: None });
            let (awaited, mode) = (Awaited::Advisory(wait.key), Some(wait.mode.name()));
            let (since, blockers) = (wait.since, holders.chain(before).collect());
            return Some(Blocked { entry, since, awaited, mode, blockers, is_certain: true });
        }
        let since = entry.waiter.waits_since()?;
        let waits = self.of_engine.get_or_init(|| self.shared.engine().lock_waits());
        let wait = waits.iter().find(|wait| wait.waiter == entry.pid().unsigned_abs());
        Some(match wait {
            Some(wait) => {
                let find = |label: u32| self.entries.iter().find(|entry| entry.pid().unsigned_abs() == label).cloned();
                let holders = wait.holders.iter().map(|&(label, mode)| (label, Some(mode)));
                let all = holders.chain(wait.before.iter().map(|&label| (label, None)));
                let blockers: Vec<_> =
                    all.filter_map(|(label, holds)| Some(Blocker { entry: find(label)?, holds })).collect();
                let (awaited, mode) = (Awaited::Lock(wait.target.clone()), Some(wait.mode));
                Blocked { entry, since, awaited, mode, blockers, is_certain: true }
            }
            None if entry.waiter.is_recallable()
                && let Some(holder) = self.entries.iter().find(|other| other.excludes()) =>
            {
                let mode = Mode::Exclusive.name();
                let blockers = vec![Blocker { entry: holder.clone(), holds: Some(mode) }];
                let (awaited, mode) = (Awaited::Lock(LockTarget::Database), Some(mode));
                Blocked { entry, since, awaited, mode, blockers, is_certain: true }
            }
            None => {
                let others = self.entries.iter().filter(|other| other.has_begun() && !Arc::ptr_eq(other, &entry));
                let blockers = others.map(|other| Blocker { entry: other.clone(), holds: None }).collect();
                Blocked { entry, since, awaited: Awaited::Unknown, mode: None, blockers, is_certain: false }
            }
        })
    }

    /// Returns the session that waits through a waiter.
    fn by_waiter(&self, waiter: &Waiter) -> Option<&Arc<SessionEntry>> {
        self.entries.iter().find(|entry| entry.waiter.is(waiter))
    }

    /// Returns the sessions that block a request for a table's lock: those that hold it in a conflicting mode, and
    /// those whose conflicting requests come before this one in the queue.
    fn of_table(&self, me: &Arc<SessionEntry>, lock: &Arc<TableLock>, mode: Mode) -> Vec<Blocker> {
        let address = Arc::as_ptr(lock).addr();
        let others = self.entries.iter().filter(|entry| !Arc::ptr_eq(entry, me));
        let holders = others.filter_map(|entry| {
            let (_, held) = entry.tables.held().find(|&(held, other)| held == address && mode.conflicts(other))?;
            Some(Blocker { entry: entry.clone(), holds: Some(held.name()) })
        });
        let mut blockers: Vec<_> = holders.collect();
        let queue = lock.waiting();
        let before = queue.iter().take_while(|(waiter, _)| !waiter.is(&me.waiter));
        let before =
            before.filter(|&&(_, other)| mode.conflicts(other)).filter_map(|(waiter, _)| self.by_waiter(waiter));
        for entry in before {
            if !blockers.iter().any(|known| Arc::ptr_eq(&known.entry, entry)) {
                blockers.push(Blocker { entry: entry.clone(), holds: None });
            }
        }
        blockers
    }
}

/// Returns the process numbers of the sessions that block the session `pid`, sorted and without duplicates, for
/// `pg_blocking_pids`.
pub(crate) fn blockers_of(shared: &Shared, pid: i32) -> Vec<i32> {
    let waits = blocked(shared);
    let found = waits.iter().find(|blocked| blocked.entry.pid() == pid);
    let mut pids: Vec<_> =
        found.into_iter().flat_map(|blocked| &blocked.blockers).map(|blocker| blocker.entry.pid()).collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}
