//! The lock table: a hash table of lock heads with a latch per bucket.
//!
//! **Source.** ORTHRUS §4 describes the two-phase-locking baseline and its two optimisations: a latch per bucket and no
//! intention locks, and no memory allocator on the way.
//!
//! **Definitions.** A lock is known by its [`Name`], 64 bits of hash: two things of one name share a lock, which is
//! coarser and never wrong. A *head* is a name in use: the transactions that hold it, in which modes, and those that
//! wait for it, in order. A *request* is one transaction's part in a head. Granted requests stand in the head itself,
//! in the bucket's cache line; the requester's own pool, the list of [`Held`] names, has what it needs to release them.
//! A waiting request is the transaction's one [`Parked`] record, made once with the transaction object, because a
//! transaction waits for one lock at a time.
//!
//! **Invariants**, under a bucket's latch
//!
//! 1. The modes that two transactions hold of one name are compatible.
//! 2. A head without holders has no waiters and is free for another name.
//! 3. A waiting request conflicts with a holder or with a request before it: a transaction that leaves a head grants
//!    what can be granted, from the front, and stops at the first request that cannot.
//! 4. Upgrades stand before other requests: they wait for holders only, and nothing behind them could go first.
//! 5. A request is granted by moving it among the holders under the latch and setting its flag; one that gives up looks
//!    under the latch which of the two came first.
//!
//! **Cost.** Granting a lock that is free takes one latch, one cache line and no allocation. A bucket with more names
//! than one, or a name with more holders than three, keeps the rest in vectors. Small ones are not given back.

mod head;

use super::deadlocks::{Request, Standing};
use super::mode::Mode;
pub(crate) use super::owners::OwnerId;
use super::owners::Owners;
use super::parked::Parked;
use super::time_outs::Limits;
use head::{Blockers, Heads, Waiting};
use hotrow_sync::{Arc, Latch, Time, Waiter, Wake};
use hotrow_txn::{Abort, Deadlock, LockTarget, LockWait, Statistics};
use smallvec::SmallVec;
use std::fmt;

/// The name of a lock: a 64-bit hash of the thing that it protects. Things with the same hash share a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name(pub(crate) u64);

/// The deadlock policy: which transaction may wait for which.
///
/// A policy that prevents deadlocks refuses waits ([`may_wait`](Self::may_wait)). A policy that detects them keeps the
/// wait-for graph: the lock table tells it when a request is queued and when the blockers of a request change, both
/// under the bucket's latch, and it looks for a deadlock when the transaction asks it to, before it suspends and
/// whenever it is alarmed.
///
/// *Blockers* of a request are requests before it and holders that it conflicts with. A blocker is left out if another
/// one of them waits for it: a transaction that waits for an exclusive request waits for everything that the exclusive
/// request waits for.
pub trait WaitPolicy: Send + Sync {
    /// Whether the policy keeps the wait-for graph.
    const TRACKS: bool = false;

    /// Whether a transaction that holds no lock may always wait, without a call of [`may_wait`](Self::may_wait). If so,
    /// the blockers that are passed for a transaction that holds locks are all other holders of the lock, and all
    /// requests before its own, in whatever modes.
    const NEWCOMERS_WAIT: bool = false;

    /// Whether `waiter` may wait for all of `blockers`. Called under the bucket's latch.
    fn may_wait(&self, waiter: OwnerId, blockers: &[OwnerId]) -> bool;

    /// Called when a request is queued behind `blockers`, under the bucket's latch.
    fn queued(&self, _request: Queued<'_>, _blockers: &[OwnerId]) {}

    /// Called under the bucket's latch when the blockers of a waiting request are `blockers` now. Returns whether there
    /// are new ones among them, because of which the transaction must look for a deadlock again.
    fn blockers_changed(&self, _waiter: OwnerId, _blockers: &[OwnerId]) -> bool {
        false
    }

    /// Whether the policy has a list of the waiting transactions. If so, [`begins_to_wait`](Self::begins_to_wait) and
    /// [`verdict`](Self::verdict) are called, and [`find_deadlock`](Self::find_deadlock) is not.
    const LISTS: bool = false;

    /// Called under no latch when a request has been queued and its transaction is about to wait. If this wait closes a
    /// deadlock of which the transaction itself is to be the victim, returns the deadlock.
    fn begins_to_wait(&self, _requester: &Requester, _request: Request<'_>, _name: Name) -> Option<Deadlock> {
        None
    }

    /// Returns the deadlock of which a transaction that waits was made the victim by another one, if there is one.
    fn verdict(&self, _requester: &Requester) -> Option<Deadlock> {
        None
    }

    /// Whether the transaction that waits can never commit, because it has read or changed a row of an uncommitted
    /// transaction that was then rolled back. Its wait ends with [`Abort::Cascade`].
    fn is_doomed(&self) -> bool {
        false
    }

    /// Called when the request of a transaction that waits was granted, or is about to be withdrawn.
    fn ends_to_wait(&self, _requester: &Requester) {}

    /// Looks for a deadlock of which `waiter` is to be the victim, before it suspends and after each alarm. If there is
    /// one, its wait ends with [`Abort::Deadlock`].
    fn find_deadlock(&self, _waiter: OwnerId) -> Option<Deadlock> {
        None
    }

    /// Suspends `waiter` until it is granted or alarmed.
    fn suspend(&self, _waiter: OwnerId, parked: &Parked, deadline: Option<Time>) -> Wake {
        parked.wait(deadline)
    }

    /// Called when `waiter` does not wait any more: its request was granted, or is withdrawn.
    fn wait_ended(&self, _waiter: OwnerId) {}
}

/// A request that has to wait, as a policy sees it.
pub struct Queued<'r> {
    pub(crate) waiter: OwnerId,
    /// The name of the mode that the request asks for, in addition to what its transaction holds.
    pub(crate) mode: &'static str,
    pub(crate) target: LockTarget,
    pub(crate) parked: &'r Arc<Parked>,
}

/// The lock table of one database.
pub(crate) struct LockTable {
    buckets: Box<[Bucket]>,
    owners: Owners,
}

/// The number of held names for which room is kept from one transaction to the next.
const KEPT_HELD: usize = 1 << 14;

#[repr(align(64))]
struct Bucket(Latch<Heads>);

#[cfg(not(any(loom, shuttle)))]
const _: () = assert!(size_of::<Bucket>() == 64);

/// A name in a transaction's own pool of requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held(Name);

/// The handle of a transaction object on the lock table, through which it acquires and releases locks. A requester that
/// is dropped releases all its locks.
pub struct Requester {
    id: OwnerId,
    parked: Arc<Parked>,
    held: Vec<Held>,
    table: Arc<LockTable>,
    limits: Limits,
    /// The standing of the transaction when a deadlock's victim is chosen.
    standing: Standing,
    /// Whether requests for locks that are not free are refused.
    refuses_waits: bool,
    /// The deadlock that the transaction was the victim of.
    deadlock: Option<Deadlock>,
}

/// The transactions to wake, after the latch is released.
type Wakes = SmallVec<[Arc<Parked>; 4]>;

/// Withdraws a request if its wait unwinds: a suspended coroutine is dropped, or a scheduler panics.
struct Unwinding<'r, P: WaitPolicy> {
    requester: &'r Requester,
    name: Name,
    upgrade: bool,
    policy: &'r P,
}

impl<P: WaitPolicy> Drop for Unwinding<'_, P> {
    fn drop(&mut self) {
        self.policy.ends_to_wait(self.requester);
        // Locks held before an upgrade are in the requester's list, and released with it.
        if !self.requester.withdraw(self.name, self.policy) && !self.upgrade {
            self.requester.table.release(self.name, self.requester.id);
        }
        self.requester.wait_ended(self.policy);
    }
}

/// The reason why a wait ended without the lock.
#[derive(PartialEq)]
enum Refused {
    TimedOut,
    Cancelled,
    Doomed,
    Deadlock(Deadlock),
}

/// Whether a lock that was acquired is new to its requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acquired {
    /// The requester held no mode of the name before.
    New,
    /// The requester held the name before, in this mode or a weaker one.
    Again,
}

impl LockTable {
    /// Makes a lock table with this many buckets, rounded up to a power of two.
    pub(crate) fn new(buckets: usize) -> Arc<Self> {
        let buckets = (0..buckets.next_power_of_two()).map(|_| Bucket(Latch::new(Heads::default()))).collect();
        Arc::new(Self { buckets, owners: Owners::default() })
    }

    /// Makes a requester for a transaction object that waits through `waiter`.
    pub(crate) fn requester(self: &Arc<Self>, waiter: Waiter) -> Requester {
        let (parked, held) = (Arc::new(Parked::new(waiter)), Vec::with_capacity(64));
        let id = self.owners.add(&parked);
        Requester {
            id,
            parked,
            held,
            table: self.clone(),
            limits: Limits::default(),
            standing: Standing::default(),
            refuses_waits: false,
            deadlock: None,
        }
    }

    /// Prefetches the bucket of a name.
    #[inline]
    pub(crate) fn prefetch(&self, name: Name) {
        hotrow_sync::prefetch(std::ptr::from_ref(self.bucket(name)).cast());
    }

    #[inline]
    fn bucket(&self, name: Name) -> &Bucket {
        &self.buckets[name.0 as usize & (self.buckets.len() - 1)]
    }
}

impl Requester {
    /// Returns the number by which the policy knows the requester.
    pub(crate) fn id(&self) -> OwnerId {
        self.id
    }

    /// Begins a transaction, whose waits have these limits. `label` is the number under which reports name it.
    #[inline]
    pub(crate) fn begin(&mut self, label: u32, limits: Limits) {
        self.parked.set_label(label);
        self.limits = limits;
        self.refuses_waits = false;
        self.deadlock = None;
    }

    /// Sets the transaction's age and clears its defeats, by which a deadlock's victim is chosen. If the transaction is
    /// a retry of the last one (`again`), both stay as they are.
    #[inline]
    pub(crate) fn stand(&mut self, one_shot: bool, again: bool) {
        let Self { standing, parked, .. } = self;
        standing.begin(self.id.0, one_shot, again, || parked.waiter().now());
    }

    /// Returns the age and the defeats of the transaction, by which a deadlock's victim is chosen.
    pub(crate) fn standing(&mut self) -> &mut Standing {
        &mut self.standing
    }

    /// Sets whether a request for a lock that is not free fails with [`Abort::Timeout`] from now on, and is not queued.
    pub(crate) fn refuse_waits(&mut self, refuse: bool) {
        self.refuses_waits = refuse;
    }

    /// Returns the deadlock that the transaction was the victim of, if there was one.
    pub(crate) fn deadlock(&self) -> Option<&Deadlock> {
        self.deadlock.as_ref()
    }

    /// Returns the waiter of the transaction.
    pub(crate) fn waiter(&self) -> &Waiter {
        self.parked.waiter()
    }

    /// Returns the place where the requester waits.
    pub(crate) fn parked(&self) -> &Arc<Parked> {
        &self.parked
    }

    /// Returns the lock table.
    pub(crate) fn table(&self) -> &Arc<LockTable> {
        &self.table
    }

    /// Whether the requester holds any name.
    #[inline]
    pub(crate) fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }

    /// Locks `name` in `mode`, in addition to the modes in which it is held. If the lock is not free, waits for it as
    /// `policy` allows. `target` returns the thing that the name stands for, and is called only if the request has to
    /// wait.
    ///
    /// # Errors
    /// [`Abort::Conflict`] if the policy refuses the wait, [`Abort::Timeout`] if a limit has passed or waits are
    /// refused, [`Abort::Deadlock`] if the transaction is the victim of a deadlock, [`Abort::Cascade`] if it can never
    /// commit, and [`Abort::Cancelled`] if its waiter was cancelled. In the last case the lock may be held.
    #[inline]
    pub(crate) fn acquire<P: WaitPolicy>(
        &mut self,
        name: Name,
        mode: Mode,
        target: impl FnOnce() -> LockTarget,
        policy: &P,
        statistics: &mut Statistics,
    ) -> Result<Acquired, Abort> {
        let mut heads = self.table.bucket(name).0.lock();
        let head = heads.find_or_make(name);
        let (own, others) = head.holders(self.id);
        if own.covers(mode) {
            return Ok(Acquired::Again);
        }
        let wanted = own | mode;
        let upgrade = own != Mode::NONE;
        let free = !wanted.conflicts(others) && (upgrade || !head.waiters_conflict(mode));
        if !free {
            if self.refuses_waits {
                return Err(Abort::Timeout);
            }
            let place = head.place(upgrade);
            let blockers = head.blockers(self.id, wanted, place);
            let may_wait = match P::NEWCOMERS_WAIT {
                true => self.held.is_empty() || policy.may_wait(self.id, &head.everybody(self.id, place)),
                false => policy.may_wait(self.id, &blockers),
            };
            if !may_wait {
                return Err(Abort::Conflict);
            }
            let target = target();
            if P::TRACKS {
                let request =
                    Queued { waiter: self.id, mode: mode.name(), target: target.clone(), parked: &self.parked };
                policy.queued(request, &blockers);
            }
            let listed = P::LISTS.then(|| (mode, target.clone()));
            let parked = self.parked.clone();
            let mut wakes = Wakes::new();
            head.enqueue(place, Waiting { owner: self.id, mode: wanted, upgrade, target, parked });
            if P::TRACKS {
                head.tell_blockers(place + 1, policy, &mut wakes);
            }
            drop(heads);
            wake(wakes);
            return self.wait(name, upgrade, listed, policy, statistics);
        }
        head.grant(self.id, wanted, upgrade);
        drop(heads);
        statistics.locks += 1;
        Ok(self.acquired(name, upgrade))
    }

    #[inline]
    fn acquired(&mut self, name: Name, upgrade: bool) -> Acquired {
        if upgrade {
            return Acquired::Again;
        }
        self.held.push(Held(name));
        Acquired::New
    }

    #[cold]
    fn wait<P: WaitPolicy>(
        &mut self,
        name: Name,
        upgrade: bool,
        listed: Option<(Mode, LockTarget)>,
        policy: &P,
        statistics: &mut Statistics,
    ) -> Result<Acquired, Abort> {
        let start = self.parked.waiter().now();
        self.standing.waits(start);
        let unwinding = Unwinding { requester: self, name, upgrade, policy };
        let waiter = self.parked.waiter();
        let closed = listed.and_then(|(mode, target)| {
            let standing = self.standing;
            policy.begins_to_wait(self, Request { parked: &self.parked, target, mode, standing }, name)
        });
        let ended = match closed {
            Some(deadlock) => Err(Refused::Deadlock(deadlock)),
            None => self.wait_or_die(name, start, policy),
        };
        std::mem::forget(unwinding);
        policy.ends_to_wait(self);
        statistics.waits += 1;
        statistics.wait_ns += waiter.now().since(start).as_nanos() as u64;
        let granted = ended.is_ok() || !self.withdraw(name, policy);
        self.wait_ended(policy);
        if granted {
            statistics.locks += 1;
            // Granted and cancelled at once: the lock is kept for `abort` to release.
            let acquired = self.acquired(name, upgrade);
            return if ended == Err(Refused::Cancelled) { Err(Abort::Cancelled) } else { Ok(acquired) };
        }
        Err(match ended {
            Err(Refused::Deadlock(deadlock)) => {
                self.standing.lost();
                self.deadlock = Some(deadlock);
                Abort::Deadlock
            }
            Err(Refused::Cancelled) => Abort::Cancelled,
            Err(Refused::Doomed) => Abort::Cascade,
            Ok(()) | Err(Refused::TimedOut) => Abort::Timeout,
        })
    }

    /// Waits until the request is granted, or there is a reason not to wait any longer.
    fn wait_or_die<P: WaitPolicy>(&self, name: Name, start: Time, policy: &P) -> Result<(), Refused> {
        let (limit, patience) = self.limits.now(self.parked.waiter());
        let deadline = limit.map(|limit| start.after(limit));
        // When patience ends, unless others than these are in the way by then: a queue that moves is no deadlock.
        let mut patience = patience.map(|limit| (limit, start.after(limit), self.in_the_way(name)));
        while !self.parked.is_granted() {
            self.parked.follow_alarm();
            let found = if P::LISTS { policy.verdict(self) } else { policy.find_deadlock(self.id) };
            if let Some(deadlock) = found {
                return Err(Refused::Deadlock(deadlock));
            }
            if policy.is_doomed() {
                return Err(Refused::Doomed);
            }
            let until = [deadline, patience.as_ref().map(|&(_, until, _)| until)].into_iter().flatten().min();
            match policy.suspend(self.id, &self.parked, until) {
                Wake::Ready => {}
                Wake::TimedOut => match &mut patience {
                    Some((limit, until, known)) if deadline.is_none_or(|deadline| *until < deadline) => {
                        let now = self.in_the_way(name);
                        if *known == now {
                            return Err(Refused::TimedOut);
                        }
                        (*until, *known) = (self.parked.waiter().now().after(*limit), now);
                    }
                    _ => return Err(Refused::TimedOut),
                },
                Wake::Cancelled => return Err(Refused::Cancelled),
            }
        }
        Ok(())
    }

    /// Returns the blockers of the requester's request: holders of the lock, and requests before it.
    fn in_the_way(&self, name: Name) -> Blockers {
        self.table.bucket(name).0.lock().in_the_way(name, self.id)
    }

    /// Takes the waiting request back. Returns `false` if it was granted meanwhile.
    fn withdraw(&self, name: Name, policy: &impl WaitPolicy) -> bool {
        let mut wakes = Wakes::new();
        let mut heads = self.table.bucket(name).0.lock();
        let withdrawn = heads.withdraw(name, self.id, policy, &mut wakes);
        drop(heads);
        wake(wakes);
        withdrawn
    }

    /// Tells the policy that the wait is over, before the flag that ended the wait is taken down.
    fn wait_ended(&self, policy: &impl WaitPolicy) {
        policy.wait_ended(self.id);
        self.parked.reset();
    }

    /// Returns the modes in which the requester holds a name.
    pub(crate) fn holds(&self, name: Name) -> Mode {
        self.table.bucket(name).0.lock().held(name, self.id)
    }

    /// Releases one name in all modes, while the transaction goes on. Has no effect if the name is not held.
    pub(crate) fn release(&mut self, name: Name, policy: &impl WaitPolicy) {
        let Some(position) = self.held.iter().rposition(|held| held.0 == name) else { return };
        self.held.remove(position);
        let mut wakes = Wakes::new();
        let mut heads = self.table.bucket(name).0.lock();
        heads.release_early(name, self.id, policy, &mut wakes);
        drop(heads);
        wake(wakes);
    }

    /// Releases all names of the requester.
    #[inline]
    pub(crate) fn release_all(&mut self) {
        while let Some(Held(name)) = self.held.pop() {
            self.table.release(name, self.id);
        }
        if self.held.capacity() > KEPT_HELD {
            self.held.shrink_to(KEPT_HELD);
        }
    }
}

impl Drop for Requester {
    fn drop(&mut self) {
        self.release_all();
        self.table.owners.remove(self.id);
    }
}

impl LockTable {
    #[inline]
    fn release(&self, name: Name, owner: OwnerId) {
        let mut wakes = Wakes::new();
        let mut heads = self.bucket(name).0.lock();
        heads.release(name, owner, &mut wakes);
        drop(heads);
        wake(wakes);
    }

    /// Returns all waits, for reports: for each of them the waiting transaction, the lock, and the transactions that
    /// hold the lock or asked for it before.
    pub(crate) fn waits(&self) -> Vec<LockWait> {
        let labels = self.owners.labels();
        let mut waits = Vec::new();
        self.buckets.iter().for_each(|bucket| bucket.0.lock().waits(&labels, &mut waits));
        waits
    }

    /// Whether a transaction holds a name, in whatever mode.
    pub(crate) fn is_held(&self, name: Name, owner: OwnerId) -> bool {
        self.bucket(name).0.lock().held(name, owner) != Mode::NONE
    }

    /// Returns the number of names that are held, and the number of requests that wait, for reports and tests.
    pub(crate) fn usage(&self) -> (usize, usize) {
        self.buckets.iter().fold((0, 0), |(names, waiting), bucket| {
            let (more, queued) = bucket.0.lock().usage();
            (names + more, waiting + queued)
        })
    }
}

#[inline]
fn wake(wakes: Wakes) {
    for parked in wakes {
        parked.wake();
    }
}

impl fmt::Debug for LockTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (names, waiting) = self.usage();
        f.debug_struct("LockTable").field("names", &names).field("waiting", &waiting).finish()
    }
}

impl fmt::Debug for Requester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requester").field("id", &self.id).field("held", &self.held.len()).finish()
    }
}

#[cfg(all(test, shuttle))]
mod model;
#[cfg(all(test, not(shuttle)))]
mod tests;
