//! Deadlocks among transactions that wait, each found by the transaction that comes to wait last, and ended by the abort of one of the
//! youngest.
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
//! and hold already what they will; so the search of that one finds the cycle, and chooses its victim. The victim has no edges from
//! then on. If it is another transaction, the search goes on until there is no cycle left or the searching transaction is a victim
//! itself.
//!
//! **The victim** is the youngest transaction of the cycle, by the beginning of its first attempt: a [`Standing`] is kept by
//! those that are tried again. One-shot transactions come before interactive ones, as nobody but the server has to try them again, until they
//! have been victims a few times. Transactions that began within a few milliseconds of each other are of one age: of those the one that
//! closes the cycle is the victim. It runs, so its locks are free at once; another victim has to be woken first. So everybody ends.
//! Few transactions are older than a given one, or of its age, and no new ones come. Of these, one that has been a victim a few times
//! is older than those that have not, and its place among others like it is exact: the oldest of them is no victim any more.
//!
//! A victim that is granted its lock before it looks goes on: somebody in its way has left, and the cycle is open.
//!
//! **A cycle that is none** can be found where readers that wait for one lock are granted it one after the other, as `ilock`
//! does, worker by worker. A reader that has the lock, and finds so before it is woken, may go on and wait for a lock of a
//! reader that is granted the first one next. Until it is, that one seems to wait for all who hold the first lock, and the
//! two seem to be a cycle. The mode does not tell: a reader does wait for readers where a writer waits between them. The
//! price is an abort that was not needed, of one transaction, which can be tried again; nothing waits for it, and no
//! deadlock is missed. It is rare: the grants of one hand-over come within a few instructions of each other, and the wakes
//! after all of them, so only a reader that looks by itself, as it begins to wait or while it spins, can come between. A
//! lock table grants under one latch, which the search takes too, so there it does not happen.
//!
//! **A holder that runs is in no cycle,** however long it runs: it is not listed.
//!
//! **Cost.** A wait of a transaction that holds locks takes the mutex twice, and looks at each listed transaction once
//! for each one that is in its way. A lock that is free costs nothing, and neither does the wait of a transaction that
//! holds none.

mod standing;

pub(crate) use standing::Standing;

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
    standing: Standing,
    /// It was made the victim of a deadlock and is about to leave.
    is_victim: bool,
    /// That deadlock, until the victim asks for it.
    verdict: Option<Deadlock>,
    blocked: B,
}

/// What a transaction asks for that begins to wait.
pub struct Request<'r> {
    /// Where it waits, which is how it is told from others.
    pub(crate) parked: &'r Arc<Parked>,
    pub(crate) target: LockTarget,
    pub(crate) mode: Mode,
    /// The transaction's.
    pub(crate) standing: Standing,
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

    /// Lists a transaction whose request is queued, and ends the deadlocks that this closes: the one of which the transaction is
    /// the victim itself. Other victims are woken, and have a [verdict](Self::verdict).
    pub(crate) fn begin(&self, request: Request<'_>, blocked: B) -> Option<Deadlock> {
        let Request { parked, target, mode, standing } = request;
        let mut list = self.list();
        let start = list.len();
        let parked = parked.clone();
        list.push(Listed { parked, target, mode, standing, is_victim: false, verdict: None, blocked });
        let mut victims: SmallVec<[Arc<Parked>; 2]> = SmallVec::new();
        let own = loop {
            let Some(mut cycle) = cycle(&mut list) else { break None };
            let victim = victim(&list, &cycle);
            cycle.rotate_left(victim);
            let deadlock = describe(&list, &cycle);
            let listed = &mut list[cycle[0]];
            listed.is_victim = true;
            if cycle[0] == start {
                break Some(deadlock);
            }
            listed.verdict = Some(deadlock);
            listed.parked.doom();
            victims.push(listed.parked.clone());
        };
        drop(list);
        victims.iter().for_each(|parked| parked.wake());
        own
    }

    /// The deadlock of which the transaction that waits at `parked` was made the victim by another one.
    pub(crate) fn verdict(&self, parked: &Arc<Parked>) -> Option<Deadlock> {
        if !parked.is_doomed() {
            return None;
        }
        let mut list = self.list();
        list.iter_mut().find(|listed| Arc::ptr_eq(&listed.parked, parked))?.verdict.take()
    }

    /// Takes a transaction off the list that waits at `parked`, if it is there.
    pub(crate) fn end(&self, parked: &Arc<Parked>) -> Option<B> {
        let mut list = self.list();
        let at = list.iter().position(|listed| Arc::ptr_eq(&listed.parked, parked))?;
        Some(list.swap_remove(at).blocked)
    }
}

/// The place in a cycle of the transaction that is to be its victim; of equals, of the first.
fn victim<B>(list: &[Listed<B>], cycle: &Cycle) -> usize {
    let standing = |place: usize| &list[cycle[place]].standing;
    (1..cycle.len()).fold(0, |victim, place| if standing(place).cmp(standing(victim)).is_gt() { place } else { victim })
}

/// The deadlock of a cycle, for people.
fn describe<B>(list: &[Listed<B>], cycle: &Cycle) -> Deadlock {
    let waits = cycle.iter().enumerate().map(|(position, &at)| {
        let next = cycle[(position + 1) % cycle.len()];
        WaitsFor {
            waiter: list[at].parked.label(),
            target: list[at].target.clone(),
            mode: list[at].mode.name(),
            blocker: list[next].parked.label(),
        }
    });
    Deadlock { waits: waits.collect() }
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
