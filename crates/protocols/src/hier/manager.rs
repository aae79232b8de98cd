//! The lock manager: two hash tables of lock heads, and what a transaction asks of them.

use super::agents::Agents;
use super::head::{Head, REMEMBERED, Waiting, Wakes};
use super::lock::Lock;
use super::mode::Mode;
use super::request::{self, RequestPtr};
use crate::shared::chain::{ChainedHead, HeadChain};
use crate::shared::lock_table::{Name, OwnerId};
use crate::shared::owners::Owners;
use crate::shared::parked::Parked;
use crate::shared::time_outs::Limits;
use crate::shared::wait_graph::WaitGraph;
use hotrow_sync::{Arc, Latch, LatchGuard, Time, Waiter, Wake};
use hotrow_txn::{Abort, Deadlock, LockTarget, LockWait, Statistics};
use std::num::NonZeroU8;

/// The lock manager of one database.
pub(crate) struct LockManager {
    /// The heads of locks on the database, tables and pages. There are few of them, so in practice each has a bucket,
    /// and with it a latch, for itself.
    higher: Box<[Bucket]>,
    /// The heads of all other locks.
    lower: Box<[Bucket]>,
    owners: Owners,
    graph: WaitGraph,
    /// The threads, with what their next transactions inherit.
    pub(super) agents: Agents,
    /// The number of the last requests for a lock that must have met latch contention for the lock to be hot.
    hot: u32,
}

#[repr(align(64))]
struct Bucket(Latch<HeadChain<Head>>);

#[cfg(not(any(loom, shuttle)))]
const _: () = assert!(size_of::<Bucket>() == 64);

/// The number of buckets for the locks on the database, tables and pages.
const HIGHER_BUCKETS: usize = 1 << 12;

/// The knowledge that a transaction which asks for a lock has of its own requests for the lock.
#[derive(Clone, Copy)]
pub(super) enum Own {
    /// The transaction may hold the lock.
    Unknown,
    /// The transaction does not hold the lock, or holds it by another name that happens to be the same.
    None,
    /// The transaction holds the lock by this request.
    Held(RequestPtr),
}

/// A lock that was granted.
pub(super) struct Grant {
    pub(super) request: RequestPtr,
    /// Bits: one that is always set, [`NEW`](Self::NEW) and [`HOT`](Self::HOT). A grant with two flags in bytes of
    /// their own is copied in overlapping pieces, which costs more than all else in granting a free lock.
    flags: NonZeroU8,
}

impl Grant {
    const NEW: u8 = 2;
    const HOT: u8 = 4;

    #[inline]
    fn of(request: RequestPtr, is_new: bool, is_hot: bool) -> Self {
        let flags = 1 | (u8::from(is_new) * Self::NEW) | (u8::from(is_hot) * Self::HOT);
        Self { request, flags: NonZeroU8::new(flags).expect("a bit is always set") }
    }

    /// Whether the transaction held no mode of the lock before.
    #[inline]
    pub(super) fn is_new(&self) -> bool {
        self.flags.get() & Self::NEW != 0
    }

    /// Whether the lock is hot.
    #[inline]
    pub(super) fn is_hot(&self) -> bool {
        self.flags.get() & Self::HOT != 0
    }
}

/// A transaction object as the lock manager knows it.
pub(super) struct Requester {
    pub(super) manager: Arc<LockManager>,
    pub(super) id: OwnerId,
    parked: Arc<Parked>,
    limits: Limits,
    /// Whether requests for locks that are not free are refused.
    pub(super) refuses_waits: bool,
    /// The deadlock that the transaction was the victim of.
    pub(super) deadlock: Option<Deadlock>,
    /// Requests that are not linked, for the next locks.
    spare: Vec<RequestPtr>,
}

/// The number of spare requests that a transaction object keeps.
const KEPT_REQUESTS: usize = 256;

/// A transaction that asks for a lock whose head it has latched.
struct Asking<'a> {
    manager: &'a LockManager,
    id: OwnerId,
    parked: &'a Arc<Parked>,
    spare: &'a mut Vec<RequestPtr>,
    refuses_waits: bool,
}

/// The answer to a transaction that asks for a lock.
enum Asked {
    /// The transaction holds the lock in that mode already.
    Held(RequestPtr),
    /// The request was granted.
    Granted { request: RequestPtr, is_new: bool },
    /// The request waits in the queue.
    Waits { request: RequestPtr, converts: bool },
    /// The lock is not free, and the transaction does not wait.
    Refused,
}

/// Withdraws a request if its wait unwinds: a suspended coroutine is dropped, or a scheduler panics.
struct Unwinding<'r> {
    requester: &'r Requester,
    lock: Lock,
    /// The request, unless the transaction held the lock before: then the request is in the transaction's list, and
    /// released with it.
    fresh: Option<RequestPtr>,
}

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        if !self.requester.withdraw(self.lock)
            && let Some(request) = self.fresh
        {
            self.requester.manager.unlink(self.lock, request);
        }
        self.requester.wait_ended();
    }
}

/// The reason why a wait ended without the lock.
enum Refused {
    TimedOut,
    Cancelled,
    Deadlock(Deadlock),
}

impl LockManager {
    /// Makes a lock manager with this many buckets for locks on rows, gaps and unique keys, rounded up to a power of
    /// two.
    pub(super) fn new(buckets: usize, hot_percent: u8) -> Arc<Self> {
        let make = |count: usize| (0..count.next_power_of_two()).map(|_| Bucket(Latch::default())).collect();
        Arc::new(Self {
            higher: make(HIGHER_BUCKETS.min(buckets)),
            lower: make(buckets),
            owners: Owners::default(),
            graph: WaitGraph::new(),
            agents: Agents::new(),
            hot: (u32::from(hot_percent) * REMEMBERED).div_ceil(100),
        })
    }

    /// Makes a requester that waits through `waiter`.
    pub(super) fn requester(self: &Arc<Self>, waiter: Waiter) -> Requester {
        let parked = Arc::new(Parked::new(waiter));
        Requester {
            id: self.owners.add(&parked),
            manager: self.clone(),
            parked,
            limits: Limits::default(),
            refuses_waits: false,
            deadlock: None,
            spare: Vec::new(),
        }
    }

    #[inline]
    fn bucket(&self, Lock { name: Name(name), is_higher }: Lock) -> &Latch<HeadChain<Head>> {
        let buckets = if is_higher { &self.higher } else { &self.lower };
        &buckets[name as usize & (buckets.len() - 1)].0
    }

    /// Prefetches the bucket of a lock, which is about to be asked for.
    #[inline]
    pub(super) fn prefetch(&self, lock: Lock) {
        hotrow_sync::prefetch_to_write(std::ptr::from_ref(self.bucket(lock)).cast());
    }

    /// Releases a granted request: unlinks it, and grants what can be granted then.
    #[inline]
    pub(super) fn unlink(&self, lock: Lock, request: RequestPtr) {
        Self::unlink_from(self.bucket(lock).lock(), lock, request);
    }

    #[inline]
    fn unlink_from(mut heads: LatchGuard<'_, HeadChain<Head>>, lock: Lock, request: RequestPtr) {
        let Some(head) = heads.find(lock.name) else { return };
        let mut wakes = Wakes::new();
        head.unlink(request, &mut wakes);
        heads.tidy();
        drop(heads);
        if !wakes.is_empty() {
            wake(wakes);
        }
    }

    /// Releases a granted request of a transaction that goes on, and may come to wait for the requests that are still
    /// waiting for the lock.
    pub(super) fn unlink_early(&self, lock: Lock, request: RequestPtr) {
        let mut wakes = Wakes::new();
        let mut heads = self.bucket(lock).lock();
        if let Some(head) = heads.find(lock.name) {
            head.unlink(request, &mut wakes);
            head.tell_blockers(0, &self.graph, &mut wakes);
        }
        heads.tidy();
        drop(heads);
        wake(wakes);
    }

    /// Returns all waits: which transaction waits for which lock, and for which transactions.
    pub(super) fn waits(&self) -> Vec<LockWait> {
        let labels = self.owners.labels();
        let mut waits = Vec::new();
        for bucket in self.buckets() {
            bucket.0.lock().heads().for_each(|head| head.waits(&labels, &mut waits));
        }
        waits
    }

    /// Returns the number of locks that transactions hold, inherited ones left out, and the number of requests that
    /// wait.
    pub(super) fn usage(&self) -> (usize, usize) {
        self.buckets().fold((0, 0), |(held, waiting), bucket| {
            let heads = bucket.0.lock();
            let count = |(held, waiting), head: &Head| (held + usize::from(head.is_held()), waiting + head.waiting());
            heads.heads().fold((held, waiting), count)
        })
    }

    /// Checks that the modes of all granted requests are compatible, and that no request waits that could be granted.
    pub(super) fn audit(&self) -> Result<(), String> {
        self.buckets().try_for_each(|bucket| bucket.0.lock().heads().try_for_each(Head::audit))
    }

    /// Makes the last requests for a lock look as if they had met latch contention.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn heat(&self, lock: Lock) {
        let mut heads = self.bucket(lock).lock();
        let head = heads.find_or_make(lock.name);
        for _ in 0..REMEMBERED {
            head.note(true, 0);
        }
    }

    fn buckets(&self) -> impl Iterator<Item = &Bucket> {
        self.higher.iter().chain(&self.lower)
    }
}

impl Requester {
    /// Begins a transaction that reports call `label`, and whose waits have these limits.
    pub(super) fn begin(&mut self, label: u32, limits: Limits) {
        self.parked.set_label(label);
        (self.limits, self.refuses_waits, self.deadlock) = (limits, false, None);
        self.manager.graph.begin(self.id, label);
    }

    /// Returns the waiter of the transaction.
    pub(super) fn waiter(&self) -> &Waiter {
        self.parked.waiter()
    }

    /// Returns the modes in which the transaction holds a lock.
    pub(super) fn held(&self, lock: Lock) -> Mode {
        let mut heads = self.manager.bucket(lock).lock();
        let request = heads.find(lock.name).and_then(|head| head.request_of(self.id));
        request.map_or(Mode::None, |request| request.state().held)
    }

    /// Locks `lock` in `mode`, in addition to the mode in which the transaction holds it. `own` says what the caller
    /// knows of that. `parent` is the name of the node of whose children a new request is one. `target` returns the
    /// thing that is locked; it is called only if the request has to wait.
    #[inline(always)]
    pub(super) fn acquire(
        &mut self,
        lock: Lock,
        (mode, own): (Mode, Own),
        parent: u64,
        target: impl FnOnce() -> LockTarget,
        statistics: &mut Statistics,
    ) -> Result<Grant, Abort> {
        let manager = &*self.manager;
        let latch = manager.bucket(lock);
        let (mut heads, met_contention) = self.latch(latch, statistics);
        if self.spare.is_empty() {
            request::make(&mut self.spare);
        }
        let head = heads.find_or_make(lock.name);
        let is_hot = head.note(met_contention, manager.hot);
        if head.is_free() {
            let request = self.spare.pop().expect("some were made");
            request.prepare(lock.name.0, parent);
            head.grant(self.id, mode, false, request);
            drop(heads);
            statistics.locks += 1;
            return Ok(Grant::of(request, true, is_hot));
        }
        let asking = Asking {
            manager,
            id: self.id,
            parked: &self.parked,
            spare: &mut self.spare,
            refuses_waits: self.refuses_waits,
        };
        let asked = asking.ask(heads, lock, (mode, own), parent, target);
        let (request, is_new) = match asked {
            Asked::Held(request) => return Ok(Grant::of(request, false, is_hot)),
            Asked::Refused => return Err(Abort::Timeout),
            Asked::Granted { request, is_new } => {
                statistics.locks += 1;
                (request, is_new)
            }
            Asked::Waits { request, converts } => {
                self.wait(lock, request, converts, statistics)?;
                (request, !converts)
            }
        };
        Ok(Grant::of(request, is_new, is_hot))
    }

    /// Releases a granted request of the transaction, as [`LockManager::unlink`] does, and keeps the request object for
    /// another lock.
    #[inline]
    pub(super) fn release(&mut self, lock: Lock, request: RequestPtr, statistics: &mut Statistics) {
        let (heads, _) = self.latch(self.manager.bucket(lock), statistics);
        LockManager::unlink_from(heads, lock, request);
        self.spare(request);
    }

    /// Takes a latch. Also returns whether the thread met contention: another thread had the latch.
    #[inline]
    fn latch<'m, T>(&self, latch: &'m Latch<T>, statistics: &mut Statistics) -> (LatchGuard<'m, T>, bool) {
        match latch.try_lock() {
            Some(guard) => (guard, false),
            None => (contend(latch, self.parked.waiter(), statistics), true),
        }
    }

    #[cold]
    fn wait(
        &mut self,
        lock: Lock,
        request: RequestPtr,
        converts: bool,
        statistics: &mut Statistics,
    ) -> Result<(), Abort> {
        let start = self.parked.waiter().now();
        let unwinding = Unwinding { requester: self, lock, fresh: (!converts).then_some(request) };
        let ended = self.wait_until_granted(start);
        std::mem::forget(unwinding);
        statistics.waits += 1;
        statistics.wait_ns += self.parked.waiter().now().since(start).as_nanos() as u64;
        let is_granted = ended.is_ok() || !self.withdraw(lock);
        self.wait_ended();
        let abort = match ended {
            Ok(()) => {
                statistics.locks += 1;
                return Ok(());
            }
            // Granted and timed out at once: the transaction has the lock.
            Err(Refused::TimedOut) if is_granted => {
                statistics.locks += 1;
                return Ok(());
            }
            Err(Refused::TimedOut) => Abort::Timeout,
            Err(Refused::Cancelled) => Abort::Cancelled,
            Err(Refused::Deadlock(deadlock)) => {
                self.deadlock = Some(deadlock);
                Abort::Deadlock
            }
        };
        if !converts {
            if is_granted {
                self.manager.unlink(lock, request);
            }
            self.spare(request);
        }
        Err(abort)
    }

    /// Waits until the request is granted, or there is a reason not to wait any longer.
    fn wait_until_granted(&self, start: Time) -> Result<(), Refused> {
        let graph = &self.manager.graph;
        let deadline = self.limits.now(self.parked.waiter()).0.map(|limit| start.after(limit));
        while !self.parked.is_granted() {
            self.parked.follow_alarm();
            graph.announce(self.id);
            if graph.is_waited_for(self.id)
                && let Some(deadlock) = graph.take_blame(self.id)
            {
                return Err(Refused::Deadlock(deadlock));
            }
            match self.parked.wait(deadline) {
                Wake::Ready => {}
                Wake::TimedOut => return Err(Refused::TimedOut),
                Wake::Cancelled => return Err(Refused::Cancelled),
            }
        }
        Ok(())
    }

    /// Takes the waiting request back. Returns `false` if it was granted meanwhile.
    fn withdraw(&self, lock: Lock) -> bool {
        let mut wakes = Wakes::new();
        let mut heads = self.manager.bucket(lock).lock();
        let withdrawn =
            heads.find(lock.name).is_some_and(|head| head.withdraw(self.id, &self.manager.graph, &mut wakes));
        heads.tidy();
        drop(heads);
        wake(wakes);
        withdrawn
    }

    fn wait_ended(&self) {
        self.manager.graph.clear(self.id);
        self.parked.reset();
    }

    /// Keeps a request that is not linked any more for another lock.
    #[inline]
    pub(super) fn spare(&mut self, request: RequestPtr) {
        self.spare.push(request);
        if self.spare.len() > KEPT_REQUESTS {
            request::give_back(&mut self.spare, KEPT_REQUESTS / 2);
        }
    }
}

impl Drop for LockManager {
    /// Gives back the requests that agents have inherited. The heads are not used any more.
    fn drop(&mut self) {
        request::give_back(&mut self.agents.drain().map(|lock| lock.request).collect(), 0);
    }
}

impl Drop for Requester {
    fn drop(&mut self) {
        request::give_back(&mut self.spare, 0);
        self.manager.owners.remove(self.id);
    }
}

impl Asking<'_> {
    /// Asks for a lock whose head is not free.
    fn ask(
        self,
        mut heads: LatchGuard<'_, HeadChain<Head>>,
        lock: Lock,
        (mode, own): (Mode, Own),
        parent: u64,
        target: impl FnOnce() -> LockTarget,
    ) -> Asked {
        let Self { manager, id, parked, spare, refuses_waits } = self;
        let head = heads.find_or_make(lock.name);
        let own = match own {
            Own::Unknown => head.request_of(id),
            Own::None => None,
            Own::Held(request) => Some(request),
        };
        let held = own.map_or(Mode::None, |request| request.state().held);
        let goal = held.join(mode);
        if let Some(request) = own
            && goal == held
        {
            return Asked::Held(request);
        }
        let (converts, is_awaited) = (own.is_some(), head.is_awaited());
        let may_pass = converts || !is_awaited || !head.waiters_conflict(goal);
        let is_free = may_pass && head.admits(id, goal, false);
        if !is_free && refuses_waits {
            heads.tidy();
            return Asked::Refused;
        }
        let request = own.unwrap_or_else(|| {
            let request = spare.pop().expect("some were made");
            request.prepare(lock.name.0, parent);
            request
        });
        let mut wakes = Wakes::new();
        // Once the lock counts as awaited, no holder passes it on: those that were about to are seen to have done so.
        if is_free || head.admits(id, goal, true) && may_pass {
            head.grant(id, goal, converts, request);
            if converts && is_awaited {
                // Requests that wait for other transactions may wait for this one, too, from now on.
                head.tell_blockers(0, &manager.graph, &mut wakes);
                drop(heads);
                wake(wakes);
            }
            return Asked::Granted { request, is_new: !converts };
        }
        let place = head.place(converts);
        let waiting = Waiting { owner: id, mode, goal, converts, request, target: target(), parked: parked.clone() };
        head.publish(place, &waiting, &manager.graph);
        head.enqueue(place, waiting);
        head.tell_blockers(place + 1, &manager.graph, &mut wakes);
        drop(heads);
        wake(wakes);
        Asked::Waits { request, converts }
    }
}

/// Takes a latch that is taken. The time that this costs is counted if times are.
#[cold]
fn contend<'m, T>(latch: &'m Latch<T>, waiter: &Waiter, statistics: &mut Statistics) -> LatchGuard<'m, T> {
    let start = statistics.timed.then(|| waiter.now());
    let guard = latch.lock();
    if let Some(start) = start {
        statistics.hierarchy.contention_ns += waiter.now().since(start).as_nanos() as u64;
    }
    guard
}

fn wake(wakes: Wakes) {
    for parked in wakes {
        parked.wake();
    }
}
