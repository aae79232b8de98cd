//! Deadlocks among transactions that wait, each found by the transaction that comes to wait last.
//!
//! **Definitions.** A transaction that waits and holds locks is *listed*, with the lock that it waits for and what it
//! holds. An *edge* leads from a listed transaction to each listed one that holds the lock it waits for. A cycle of
//! edges is a deadlock.
//!
//! **Invariants**
//!
//! 1. A transaction is listed from the moment after its request is queued until the moment before the request is
//!    withdrawn, or until after it was granted. It holds the same locks all the time. So a lock that a listed
//!    transaction holds stays held.
//! 2. The list changes, and is searched, under one mutex.
//!
//! **Edges to holders are enough.** The modes of a lock's holders are compatible, so they are all the same or there is
//! one holder: a request that conflicts with one of them conflicts with all. A request that waits for an earlier
//! request of the same lock waits for what that one waits for, which is the holders, in the end. So every request that
//! waits waits for every other holder of its lock, and a transaction that holds nothing is in no cycle.
//!
//! **Every deadlock is found, once.** Of the transactions of a cycle one is listed last. By invariant 1 all others wait
//! and hold already what they will; so the search of that one finds the cycle. It is the victim, and has no edges from
//! then on.
//!
//! **A holder that runs is in no cycle,** however long it runs: it is not listed.
//!
//! **Cost.** A wait of a transaction that holds locks takes the mutex twice, and looks at each listed transaction once
//! for each one that is in its way. A lock that is free costs nothing, and neither does the wait of a transaction that
//! holds none.

use super::lock_table::{LockTable, Name, OwnerId, Parked};
use super::mode::Mode;
use hotrow_sync::{Arc, Mutex, MutexGuard};
use hotrow_txn::{Deadlock, LockTarget, WaitsFor};
use smallvec::SmallVec;

/// What a listed transaction waits for, and what it holds.
pub(crate) trait Blocked: Send {
    /// What a lock is known by.
    type Lock: Copy;

    /// The lock that it waits for.
    fn awaited(&self) -> Self::Lock;

    /// Whether it holds a lock, in whatever mode.
    fn holds(&mut self, lock: Self::Lock) -> bool;
}

/// The listed transactions of a database. Any thread may call anything, about the transaction that it runs.
pub(crate) struct Waits<B>(Mutex<Vec<Listed<B>>>);

struct Listed<B> {
    /// Where the transaction waits.
    parked: Arc<Parked>,
    target: LockTarget,
    mode: Mode,
    /// It was made the victim of a deadlock and is about to leave.
    is_victim: bool,
    blocked: B,
}

/// What a transaction asks for that begins to wait.
pub struct Request<'r> {
    /// Where it waits, which is how it is told from others.
    pub(crate) parked: &'r Arc<Parked>,
    pub(crate) target: LockTarget,
    pub(crate) mode: Mode,
}

/// Positions in the list: each transaction waits for the next, and the last for the first.
type Cycle = SmallVec<[usize; 4]>;

impl<B: Blocked> Waits<B> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Vec::new())))
    }

    fn list(&self) -> MutexGuard<'_, Vec<Listed<B>>> {
        self.0.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Lists a transaction whose request is queued. The deadlock that this closes, if it does: the transaction is its
    /// victim.
    pub(crate) fn begin(&self, request: Request<'_>, blocked: B) -> Option<Deadlock> {
        let Request { parked, target, mode } = request;
        let mut list = self.list();
        list.push(Listed { parked: parked.clone(), target, mode, is_victim: false, blocked });
        let cycle = cycle(&mut list)?;
        let waits = cycle.iter().enumerate().map(|(position, &at)| {
            let next = cycle[(position + 1) % cycle.len()];
            WaitsFor {
                waiter: list[at].parked.label(),
                target: list[at].target.clone(),
                mode: list[at].mode.name(),
                blocker: list[next].parked.label(),
            }
        });
        let deadlock = Deadlock { waits: waits.collect() };
        list.last_mut().expect("it was just listed").is_victim = true;
        Some(deadlock)
    }

    /// Takes a transaction off the list that waits at `parked`, if it is there.
    pub(crate) fn end(&self, parked: &Arc<Parked>) -> Option<B> {
        let mut list = self.list();
        let at = list.iter().position(|listed| Arc::ptr_eq(&listed.parked, parked))?;
        Some(list.swap_remove(at).blocked)
    }
}

/// A shortest cycle through the transaction that was listed last, which comes first in it.
fn cycle<B: Blocked>(list: &mut [Listed<B>]) -> Option<Cycle> {
    let start = list.len() - 1;
    // With the place in this list of the one through which each was reached.
    let mut reached: SmallVec<[(usize, usize); 8]> = SmallVec::from_elem((start, 0), 1);
    let mut next = 0;
    while let Some(&(from, _)) = reached.get(next) {
        let Listed { parked, is_victim, blocked, .. } = &list[from];
        if !is_victim && !parked.is_granted() {
            let lock = blocked.awaited();
            for at in (0..list.len()).filter(|&at| at != from) {
                let is_new = at == start || !reached.iter().any(|&(known, _)| known == at);
                if is_new && list[at].blocked.holds(lock) {
                    if at == start {
                        return Some(path(&reached, next));
                    }
                    reached.push((at, next));
                }
            }
        }
        next += 1;
    }
    None
}

/// The way from the first of `reached` to the one at `place`.
fn path(reached: &[(usize, usize)], mut place: usize) -> Cycle {
    let mut path = Cycle::new();
    loop {
        let (at, before) = reached[place];
        path.push(at);
        if place == 0 {
            path.reverse();
            return path;
        }
        place = before;
    }
}

/// A transaction all of whose locks are names in a lock table.
pub(crate) struct NameWait {
    pub(crate) table: Arc<LockTable>,
    pub(crate) owner: OwnerId,
    pub(crate) name: Name,
}

impl Blocked for NameWait {
    type Lock = Name;

    fn awaited(&self) -> Name {
        self.name
    }

    fn holds(&mut self, name: Name) -> bool {
        self.table.is_held(name, self.owner)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
