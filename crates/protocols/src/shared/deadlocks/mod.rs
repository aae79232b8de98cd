//! Deadlocks among transactions that wait. The transaction of a deadlock that comes to wait last finds it, and one of
//! the youngest aborts.
//!
//! **Definitions.** A transaction that waits and holds locks is *listed* (while any lock is [hot](admission), every
//! transaction that waits), with the lock that it waits for and the locks that it holds. An *edge* leads from a listed
//! transaction to each listed transaction that holds the lock it waits for. A cycle of edges is a deadlock.
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
//! request of the same lock waits for the same transactions as that one, which are the holders, in the end. So every
//! request that waits waits for every other holder of its lock, and a transaction that holds nothing is in no cycle.
//!
//! **Every deadlock is found, once.** Of the transactions of a cycle one is listed last. By invariant 1 all others wait
//! and already hold their locks; so the search of that one finds the cycle, and chooses its victim. The victim has no
//! edges from then on. If it is another transaction, the search goes on until there is no cycle left or the searching
//! transaction is a victim itself.
//!
//! **The victim** is the youngest transaction of the cycle, by the beginning of its first attempt: a retry keeps its
//! [`Standing`]. One-shot transactions come before interactive ones, as the server alone can try them again, until they
//! have been victims a few times. Transactions that began within a few milliseconds of each other are of one age: of
//! those the transaction that closes the cycle is the victim. It runs, so its locks are free at once; another victim
//! has to be woken first. So every transaction ends. Few transactions are older than a given one, or of its age, and no
//! new ones come. Of these, a transaction that has been a victim a few times is older than those that have not, and its
//! place among others like it is exact: the oldest of them is no victim any more.
//!
//! A transaction that waits for the end of one that it [follows](Blocked::is_to_be_victim) comes before all others,
//! whatever its age: with any other victim it would fall as well, in the end. The row at which it followed is not
//! handed over again for a while, so that this comes to an end, too.
//!
//! A victim that is granted its lock before it looks goes on: a transaction that it waited for has left, and the cycle
//! is open.
//!
//! **A cycle that is none** can be found where readers that wait for one lock are granted it one after the other, as
//! `ilock` does, worker by worker. A reader that has the lock, and finds so before it is woken, may go on and wait for
//! a lock of a reader that is granted the first one next. Until it is, that reader seems to wait for all holders of the
//! first lock, and the two seem to be a cycle. The mode does not tell: a reader does wait for readers where a writer
//! waits between them. The price is an abort that was not needed, of one transaction, which can be tried again; no
//! transaction waits for it, and no deadlock is missed. It is rare: the grants of one hand-over come within a few
//! instructions of each other, and the wakes after all of them, so only a reader that looks by itself, as it begins to
//! wait or while it spins, can come between. A lock table grants under one latch, which the search takes too, so there
//! it does not happen.
//!
//! **A holder that runs is in no cycle,** however long it runs: it is not listed.
//!
//! **Admission.** Where deadlocks are found, fewer transactions are let in: [`admission`] says how many, and which. A
//! transaction that is held back stands in the list with the locks that it holds; it waits for no lock, so it has no
//! edges.
//!
//! **Cost.** A wait of a transaction that holds locks takes the mutex twice, and looks at each listed transaction once
//! for each listed transaction that it waits for. A lock that is free costs nothing, and neither does the wait of a
//! transaction that holds none.

mod admission;
mod standing;

pub(crate) use admission::needs_ticket;
pub(crate) use standing::Standing;

use admission::{Heat, HotTickets};

use super::mode::Mode;
use super::parked::Parked;
use hotrow_sync::{Arc, Mutex, MutexGuard, Time};
use hotrow_txn::{AdmissionStatistics, Deadlock, LockTarget, Tickets, WaitsFor};
use smallvec::SmallVec;

/// The locks of a transaction that waits: the lock that it waits for, and the locks that it holds. They are in the list
/// that is searched for deadlocks.
pub(crate) trait Blocked: Send {
    /// The name of a lock.
    type Lock: Copy;

    /// Returns the lock that the transaction waits for.
    fn awaited(&self) -> Self::Lock;

    /// Whether the transaction holds a lock, in whatever mode.
    fn holds(&mut self, lock: Self::Lock) -> bool;

    /// Returns the hash of a lock.
    fn hash(lock: Self::Lock) -> u64;

    /// Whether the transaction is the victim of any cycle that it is part of, whatever its age. So it is for a
    /// transaction that would have to abort with any other victim, since it depends on the commit of one of them.
    fn is_to_be_victim(&self) -> bool {
        false
    }
}

/// The list of the transactions of a database that wait, in which deadlocks are found. A thread may call any method,
/// for the transaction that it runs.
pub(crate) struct Waits<B> {
    heat: Heat,
    list: Mutex<List<B>>,
}

struct List<B> {
    listed: Vec<Listed<B>>,
    hot: HotTickets,
}

struct Listed<B> {
    /// Where the transaction waits.
    parked: Arc<Parked>,
    target: LockTarget,
    mode: Mode,
    standing: Standing,
    /// Whether the transaction waits for its admission, and not for a lock.
    is_held_back: bool,
    /// Whether the transaction was made the victim of a deadlock and is about to leave.
    is_victim: bool,
    /// The deadlock that the transaction is the victim of, until the transaction asks for it.
    verdict: Option<Deadlock>,
    blocked: B,
}

/// The request of a transaction that begins to wait.
pub struct Request<'r> {
    /// The place where the transaction waits. It identifies the transaction in the list.
    pub(crate) parked: &'r Arc<Parked>,
    pub(crate) target: LockTarget,
    pub(crate) mode: Mode,
    /// The age and the defeats of the transaction, by which a victim is chosen.
    pub(crate) standing: Standing,
}

/// A cycle as positions in the list: each transaction waits for the next, and the last for the first.
type Cycle = SmallVec<[usize; 4]>;

/// The answer to a transaction that needs a ticket for a hot lock.
pub(crate) enum Admission<B> {
    /// The transaction has a ticket, and is not listed.
    LetIn(B),
    /// The transaction has no ticket. It is in the list and must wait until another transaction grants it one.
    HeldBack,
}

type Wakes = SmallVec<[Arc<Parked>; 2]>;

impl<B: Blocked> Waits<B> {
    pub(crate) fn new() -> Arc<Self> {
        let (heat, hot) = admission::admission();
        Arc::new(Self { heat, list: Mutex::new(List { listed: Vec::new(), hot }) })
    }

    fn list(&self) -> MutexGuard<'_, List<B>> {
        self.list.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Lists a transaction that begins to wait, after its request was queued, and ends the deadlocks that this wait
    /// closes. Returns the deadlock of which the transaction is the victim itself, if there is one. Other victims are
    /// woken, and have a [verdict](Self::verdict).
    pub(crate) fn begin(&self, request: Request<'_>, blocked: B) -> Option<Deadlock> {
        let now = request.parked.waiter().now();
        let mut list = self.list();
        let mut wakes = Wakes::new();
        list.cool_if_quiet(&self.heat, now);
        let start = list.listed.len();
        list.push(request, blocked, false);
        list.let_in_holders(now, &mut wakes);
        let listed = &mut list.listed;
        let own = loop {
            let Some(mut cycle) = cycle(listed) else { break None };
            self.heat_awaited(listed, now);
            let victim = victim(listed, &cycle);
            cycle.rotate_left(victim);
            let deadlock = describe(listed, &cycle);
            let listed = &mut listed[cycle[0]];
            listed.is_victim = true;
            if cycle[0] == start {
                break Some(deadlock);
            }
            listed.verdict = Some(deadlock);
            listed.parked.doom();
            wakes.push(listed.parked.clone());
        };
        drop(list);
        wake(wakes);
        own
    }

    /// Whether any lock is hot. If so, transactions that come to wait are listed even if they hold no lock.
    #[inline]
    pub(crate) fn is_any_hot(&self) -> bool {
        self.heat.is_any()
    }

    /// Whether the lock with this hash is hot now. `now` is called only if any lock is hot.
    pub(crate) fn is_hot(&self, lock: u64, now: impl FnOnce() -> Time) -> bool {
        if !self.heat.is_hot(lock) {
            return false;
        }
        let now = now();
        if self.heat.is_quiet(now) {
            self.list().cool_if_quiet(&self.heat, now);
        }
        self.heat.is_hot(lock)
    }

    /// Makes a lock hot, after a transaction that wanted it was the victim of a deadlock that was found without the
    /// list.
    pub(crate) fn heat(&self, lock: u64, now: Time) {
        let _list = self.list();
        self.heat.heat(lock, now);
    }

    /// Makes all locks hot that are waited for, after a deadlock was found.
    #[cold]
    fn heat_awaited(&self, listed: &[Listed<B>], now: Time) {
        let waiting = listed.iter().filter(|listed| !listed.is_held_back && !listed.blocked.is_to_be_victim());
        waiting.for_each(|listed| self.heat.heat(B::hash(listed.blocked.awaited()), now));
    }

    /// Gives a ticket to a transaction that comes to a hot lock, or lists it as held back until it has one.
    pub(crate) fn seek_ticket(&self, request: Request<'_>, lock: u64, blocked: B, now: Time) -> Admission<B> {
        let mut list = self.list();
        let is_free = list.hot.tickets.is_free();
        let number = request.standing.number();
        list.push(request, blocked, true);
        if is_free || list.keeps_somebody_waiting() {
            list.hot.tickets.give(number, now);
            let last = list.listed.pop().expect("it was pushed");
            return Admission::LetIn(last.blocked);
        }
        list.hot.held_back += 1;
        self.heat.heat(lock, now);
        Admission::HeldBack
    }

    /// Discounts the tickets whose leases are over, and lets in transactions that are held back for the tickets that
    /// become free. A transaction that is held back calls this from time to time. Returns the time of the next call.
    pub(crate) fn look_at_leases(&self, now: Time) -> Time {
        let mut wakes = Wakes::new();
        let mut list = self.list();
        list.hot.tickets.lapse(now);
        list.let_in(now, &mut wakes);
        // All that are held back look, so each looks the less often the more they are.
        let held_back = list.listed.iter().filter(|listed| listed.is_held_back).count();
        let next = list.hot.tickets.next_look(now, held_back);
        drop(list);
        wake(wakes);
        next
    }

    /// Takes back the ticket of a transaction that has released its locks. `lost` says that it was the victim of a
    /// deadlock.
    pub(crate) fn return_ticket(&self, standing: &Standing, now: Time, lost: bool) {
        let mut wakes = Wakes::new();
        let mut list = self.list();
        let is_short = list.listed.iter().any(|listed| listed.is_held_back);
        list.hot.take_back(standing.number(), now, lost, is_short, &self.heat);
        list.let_in(now, &mut wakes);
        drop(list);
        wake(wakes);
    }

    /// Returns statistics of admission: the numbers of hot locks, of tickets, and of transactions that wait for
    /// tickets.
    pub(crate) fn admission(&self) -> AdmissionStatistics {
        let list = self.list();
        AdmissionStatistics {
            hot: self.heat.count() as u64,
            limit: list.hot.tickets.limit() as u64,
            admitted: list.hot.tickets.held() as u64,
            held_back: list.listed.iter().filter(|listed| listed.is_held_back).count() as u64,
            held_back_ever: list.hot.held_back,
        }
    }

    /// Returns the deadlock of which the transaction that waits at `parked` was made the victim by another one, if
    /// there is one. A deadlock is returned once.
    pub(crate) fn verdict(&self, parked: &Arc<Parked>) -> Option<Deadlock> {
        if !parked.is_doomed() {
            return None;
        }
        let mut list = self.list();
        list.listed.iter_mut().find(|listed| Arc::ptr_eq(&listed.parked, parked))?.verdict.take()
    }

    /// Takes the transaction that waits at `parked` off the list, and returns its locks, if it was listed.
    pub(crate) fn end(&self, parked: &Arc<Parked>) -> Option<B> {
        let mut list = self.list();
        let at = list.listed.iter().position(|listed| Arc::ptr_eq(&listed.parked, parked))?;
        Some(list.listed.swap_remove(at).blocked)
    }
}

impl<B: Blocked> List<B> {
    /// Makes all locks cold if there was no deadlock for a while, and no transaction was held back.
    fn cool_if_quiet(&mut self, heat: &Heat, now: Time) {
        if heat.is_any() && heat.is_quiet(now) {
            self.hot.cool_all(heat);
        }
    }

    fn push(&mut self, request: Request<'_>, blocked: B, is_held_back: bool) {
        let Request { parked, target, mode, standing } = request;
        let parked = parked.clone();
        self.listed.push(Listed {
            parked,
            target,
            mode,
            standing,
            is_held_back,
            is_victim: false,
            verdict: None,
            blocked,
        });
    }

    /// Lets in the transactions that hold the lock for which the last listed transaction waits.
    fn let_in_holders(&mut self, now: Time, wakes: &mut Wakes) {
        let Self { listed, hot: HotTickets { tickets, .. } } = self;
        let Some((last, others)) = listed.split_last_mut() else { return };
        let lock = last.blocked.awaited();
        for other in others.iter_mut().filter(|other| other.is_held_back) {
            if other.blocked.holds(lock) {
                other.let_in(tickets, now, wakes);
            }
        }
    }

    /// Whether a transaction waits for a lock that the last listed transaction holds.
    fn keeps_somebody_waiting(&mut self) -> bool {
        let Some((last, others)) = self.listed.split_last_mut() else { return false };
        let mut waiting = others.iter().filter(|other| !other.is_held_back && !other.parked.is_granted());
        waiting.any(|other| last.blocked.holds(other.blocked.awaited()))
    }

    /// Lets in as many held-back transactions as there are tickets for, the oldest first.
    fn let_in(&mut self, now: Time, wakes: &mut Wakes) {
        let Self { listed, hot: HotTickets { tickets, .. } } = self;
        while tickets.is_free() {
            let held_back = listed.iter_mut().filter(|listed| listed.is_held_back);
            let Some(next) = held_back.min_by_key(|listed| listed.standing.turn()) else { return };
            next.let_in(tickets, now, wakes);
        }
    }
}

impl<B> Listed<B> {
    /// Lets the transaction in, which ends the time for which it is held back.
    fn let_in(&mut self, tickets: &mut Tickets, now: Time, wakes: &mut Wakes) {
        self.is_held_back = false;
        tickets.give(self.standing.number(), now);
        self.parked.grant();
        wakes.push(self.parked.clone());
    }
}

fn wake(wakes: Wakes) {
    wakes.iter().for_each(|parked| parked.wake());
}

/// Returns the place in a cycle of the transaction that is to be its victim. Of equals, the first is the victim.
fn victim<B: Blocked>(list: &[Listed<B>], cycle: &Cycle) -> usize {
    let is_rather = |one: usize, other: usize| {
        let [one, other] = [one, other].map(|place| &list[cycle[place]]);
        let by_kind = one.blocked.is_to_be_victim().cmp(&other.blocked.is_to_be_victim());
        by_kind.then_with(|| one.standing.cmp(&other.standing)).is_gt()
    };
    (1..cycle.len()).fold(0, |victim, place| if is_rather(place, victim) { place } else { victim })
}

/// Describes the deadlock of a cycle for people.
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

/// Returns a shortest cycle through the last listed transaction, which comes first in it, or `None` if there is no
/// cycle.
fn cycle<B: Blocked>(list: &mut [Listed<B>]) -> Option<Cycle> {
    let start = list.len() - 1;
    // With the place in this list of the one through which each was reached.
    let mut reached: SmallVec<[(usize, usize); 8]> = SmallVec::from_elem((start, 0), 1);
    let mut next = 0;
    while let Some(&(from, _)) = reached.get(next) {
        let Listed { parked, is_victim, is_held_back, blocked, .. } = &list[from];
        if !is_victim && !is_held_back && !parked.is_granted() {
            let lock = blocked.awaited();
            // A transaction that is held back has no edges, so it is in no cycle.
            for at in (0..list.len()).filter(|&at| at != from) {
                let is_new = at == start || !reached.iter().any(|&(known, _)| known == at);
                if is_new && !list[at].is_held_back && list[at].blocked.holds(lock) {
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

/// Returns the path from the first of `reached` to the one at `place`.
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

#[cfg(all(test, shuttle))]
mod model;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
