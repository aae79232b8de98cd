//! Advisory locks: locks on numbers, whose meaning the applications agree on.
//!
//! **Definitions.** A session can take the same lock several times, and *holds* it until it has released it as often.
//! Each time has a mode and a scope: the session, or its transaction. A session that waits for a lock has a request in
//! the lock's queue. The queue is served in order of arrival. A session that already holds the lock does not wait for
//! the requests in the queue.
//!
//! **Invariants**, under the mutex
//!
//! 1. The modes in which two sessions hold a lock are compatible.
//! 2. A request that waits conflicts with a holder or with a request before it. When a session releases the lock or
//!    leaves the queue, it grants as many requests as possible, from the front of the queue.
//! 3. A request is granted under the mutex, and withdrawn under the mutex. So a session that withdraws its request
//!    learns whether the request was granted before.

use crate::session_entry::SessionEntry;
use crate::table_lock::Mode;
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Mutex, MutexGuard, Time, Waiter};
use std::collections::{HashMap, VecDeque};

/// The key of an advisory lock: locks with different keys have nothing to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The OID of the database of the sessions that use the lock.
    pub(crate) database: u32,
    pub(crate) numbers: Numbers,
}

/// The numbers that identify an advisory lock within its database: one of 64 bits, or two of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Numbers {
    One(i64),
    Two(i32, i32),
}

/// The time until which a session holds an advisory lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Until the session releases the lock, or ends.
    Session,
    /// Until its transaction ends.
    Transaction,
}

/// The description of an advisory lock that a session requests: the key, the mode and the scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) key: Key,
    pub(crate) mode: Mode,
    pub(crate) scope: Scope,
}

/// A description of a session's wait for an advisory lock, with the sessions that it waits for.
#[derive(Debug)]
pub(crate) struct Wait {
    pub(crate) key: Key,
    pub(crate) mode: Mode,
    pub(crate) since: Time,
    /// Sessions that hold the lock in a conflicting mode, with their modes.
    pub(crate) holders: Vec<(Arc<SessionEntry>, Mode)>,
    /// The sessions whose conflicting requests come before this one in the queue.
    pub(crate) before: Vec<Arc<SessionEntry>>,
}

/// The advisory locks of all databases, with their queues of requests. Thread-safe.
#[derive(Debug, Default)]
pub(crate) struct AdvisoryLocks {
    locks: Mutex<HashMap<Key, Lock>>,
}

#[derive(Debug, Default)]
struct Lock {
    holders: Vec<Holder>,
    queue: VecDeque<Request>,
}

/// A session that holds a lock, and how often it holds it.
#[derive(Debug)]
struct Holder {
    entry: Arc<SessionEntry>,
    /// The number of times that the session holds the lock, by mode, and by scope within each mode.
    counts: [[u32; 2]; 2],
}

#[derive(Debug)]
struct Request {
    entry: Arc<SessionEntry>,
    wanted: Wanted,
    since: Time,
    granted: Arc<AtomicBool>,
}

impl Holder {
    /// Returns the strongest mode in which the session holds the lock, or `None` if it does not hold it any more.
    fn mode(&self) -> Option<Mode> {
        let holds = |mode: Mode| self.counts[mode as usize] != [0, 0];
        [Mode::Exclusive, Mode::Shared].into_iter().find(|&mode| holds(mode))
    }
}

impl Lock {
    fn is_held_by(&self, entry: &Arc<SessionEntry>) -> bool {
        self.holders.iter().any(|holder| Arc::ptr_eq(&holder.entry, entry))
    }

    /// Returns the other sessions that hold the lock in a mode that conflicts with `mode`, with their modes.
    fn in_the_way(&self, entry: &Arc<SessionEntry>, mode: Mode) -> impl Iterator<Item = (&Arc<SessionEntry>, Mode)> {
        let others = self.holders.iter().filter(move |holder| !Arc::ptr_eq(&holder.entry, entry));
        others.filter_map(|holder| Some((&holder.entry, holder.mode()?))).filter(move |&(_, held)| held.conflicts(mode))
    }

    fn can_take(&self, entry: &Arc<SessionEntry>, mode: Mode, place: usize) -> bool {
        let is_free = self.in_the_way(entry, mode).next().is_none();
        is_free
            && (self.is_held_by(entry)
                || !self.queue.iter().take(place).any(|before| before.wanted.mode.conflicts(mode)))
    }

    fn take(&mut self, entry: &Arc<SessionEntry>, wanted: Wanted) {
        let known = self.holders.iter().position(|holder| Arc::ptr_eq(&holder.entry, entry));
        let place = known.unwrap_or_else(|| {
            self.holders.push(Holder { entry: entry.clone(), counts: [[0; 2]; 2] });
            self.holders.len() - 1
        });
        self.holders[place].counts[wanted.mode as usize][wanted.scope as usize] += 1;
        entry.takes_advisory();
    }

    /// Grants all requests that can be granted, in the queue's order.
    fn grant(&mut self) {
        let mut place = 0;
        while let Some(request) = self.queue.get(place) {
            let (entry, wanted) = (request.entry.clone(), request.wanted);
            if !self.can_take(&entry, wanted.mode, place) {
                place += 1;
                continue;
            }
            self.take(&entry, wanted);
            if let Some(request) = self.queue.remove(place) {
                request.granted.store(true, Ordering::Release);
                request.entry.waiter.wake();
            }
        }
    }

    /// Takes back what a session holds: `change` changes the session's counts and returns whether it took anything
    /// back. Returns the result of `change`, or false if the session does not hold the lock.
    fn give_back(&mut self, entry: &Arc<SessionEntry>, change: impl FnOnce(&mut [[u32; 2]; 2]) -> bool) -> bool {
        let Some(place) = self.holders.iter().position(|holder| Arc::ptr_eq(&holder.entry, entry)) else {
            return false;
        };
        let changed = change(&mut self.holders[place].counts);
        if self.holders[place].mode().is_none() {
            self.holders.remove(place);
        }
        self.grant();
        changed
    }
}

impl AdvisoryLocks {
    fn locks(&self) -> MutexGuard<'_, HashMap<Key, Lock>> {
        self.locks.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Takes a lock if it is free, without waiting. Returns whether the session has got the lock.
    pub(crate) fn try_take(&self, entry: &Arc<SessionEntry>, wanted: Wanted) -> bool {
        let mut locks = self.locks();
        let lock = locks.entry(wanted.key).or_default();
        let free = lock.can_take(entry, wanted.mode, usize::MAX);
        if free {
            lock.take(entry, wanted);
        }
        free
    }

    /// Requests a lock. Returns `None` if the lock was granted at once. Otherwise returns the request, which is in the
    /// lock's queue until it is granted or dropped; this call does not wait for it.
    pub(crate) fn ask<'w>(&'w self, entry: &'w Arc<SessionEntry>, wanted: Wanted) -> Option<Asked<'w>> {
        let mut locks = self.locks();
        let lock = locks.entry(wanted.key).or_default();
        if lock.can_take(entry, wanted.mode, usize::MAX) {
            lock.take(entry, wanted);
            return None;
        }
        let (since, granted) = (entry.waiter.now(), Arc::new(AtomicBool::new(false)));
        lock.queue.push_back(Request { entry: entry.clone(), wanted, since, granted: granted.clone() });
        drop(locks);
        Some(Asked { locks: self, entry, key: wanted.key, since, granted })
    }

    fn withdraw(&self, entry: &Arc<SessionEntry>, key: Key) {
        let mut locks = self.locks();
        if let Some(lock) = locks.get_mut(&key) {
            lock.queue.retain(|request| !Arc::ptr_eq(&request.entry, entry));
            lock.grant();
        }
        tidy(&mut locks, key);
    }

    /// Releases a lock once that the session has taken in session scope. Returns whether the session held the lock in
    /// this mode and scope.
    pub(crate) fn give_back(&self, entry: &Arc<SessionEntry>, key: Key, mode: Mode) -> bool {
        let mut locks = self.locks();
        let given = locks.get_mut(&key).is_some_and(|lock| {
            lock.give_back(entry, |counts| {
                let count = &mut counts[mode as usize][Scope::Session as usize];
                let held = *count > 0;
                *count -= u32::from(held);
                held
            })
        });
        tidy(&mut locks, key);
        given
    }

    /// Releases all locks that a session has taken in the given scope, such as those of its transaction when that ends.
    pub(crate) fn give_all_back(&self, entry: &Arc<SessionEntry>, scope: Scope) {
        let mut locks = self.locks();
        locks.retain(|_, lock| {
            lock.give_back(entry, |counts| {
                counts.iter_mut().for_each(|counts| counts[scope as usize] = 0);
                true
            });
            !lock.holders.is_empty() || !lock.queue.is_empty()
        });
    }

    /// Returns the keys of the locks that a session holds, with the strongest mode of each.
    pub(crate) fn held(&self, entry: &Arc<SessionEntry>) -> Vec<(Key, Mode)> {
        let locks = self.locks();
        let held = |(key, lock): (&Key, &Lock)| {
            let holder = lock.holders.iter().find(|holder| Arc::ptr_eq(&holder.entry, entry))?;
            Some((*key, holder.mode()?))
        };
        locks.iter().filter_map(held).collect()
    }

    /// Returns the requests that wait for a lock, in the queue's order.
    pub(crate) fn waiting(&self, key: Key) -> Vec<(Waiter, Mode)> {
        let locks = self.locks();
        let queue = locks.get(&key).into_iter().flat_map(|lock| &lock.queue);
        queue.map(|request| (request.entry.waiter.clone(), request.wanted.mode)).collect()
    }

    /// Reorders the requests that wait for a lock: first the requests of the waiters in `order`, in that order, and
    /// then all other requests. Grants the requests that can then be granted.
    pub(crate) fn reorder(&self, key: Key, order: &[Waiter]) {
        let mut locks = self.locks();
        if let Some(lock) = locks.get_mut(&key) {
            let place = |request: &Request| order.iter().position(|waiter| waiter.is(&request.entry.waiter));
            lock.queue.make_contiguous().sort_by_key(|request| place(request).unwrap_or(usize::MAX));
            lock.grant();
        }
    }

    /// Returns the wait of a session for an advisory lock, or `None` if the session waits for none.
    pub(crate) fn wait_of(&self, entry: &Arc<SessionEntry>) -> Option<Wait> {
        let locks = self.locks();
        let (key, lock, place) = locks.iter().find_map(|(key, lock)| {
            Some((key, lock, lock.queue.iter().position(|request| Arc::ptr_eq(&request.entry, entry))?))
        })?;
        let mode = lock.queue[place].wanted.mode;
        let passed = if lock.is_held_by(entry) { 0 } else { place };
        let before = lock.queue.iter().take(passed).filter(|before| before.wanted.mode.conflicts(mode));
        Some(Wait {
            key: *key,
            mode,
            since: lock.queue[place].since,
            holders: lock.in_the_way(entry, mode).map(|(entry, mode)| (entry.clone(), mode)).collect(),
            before: before.map(|before| before.entry.clone()).collect(),
        })
    }
}

/// A request that was put into a lock's queue. Dropping it removes the request from the queue, whether or not it was
/// granted.
pub(crate) struct Asked<'w> {
    locks: &'w AdvisoryLocks,
    entry: &'w Arc<SessionEntry>,
    key: Key,
    pub(crate) since: Time,
    /// Whether the request was granted.
    pub(crate) granted: Arc<AtomicBool>,
}

impl Asked<'_> {
    /// Removes the request from the queue. Returns whether it was still waiting: false means that the lock was granted.
    pub(crate) fn withdraw(&self) -> bool {
        self.locks.withdraw(self.entry, self.key);
        !self.granted.load(Ordering::Acquire)
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.locks.withdraw(self.entry, self.key);
    }
}

/// Removes a lock from the map if it has no holders and no requests.
fn tidy(locks: &mut HashMap<Key, Lock>, key: Key) {
    if locks.get(&key).is_some_and(|lock| lock.holders.is_empty() && lock.queue.is_empty()) {
        locks.remove(&key);
    }
}
