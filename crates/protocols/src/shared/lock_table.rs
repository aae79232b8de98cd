//! The lock table: a hash table of lock heads with a latch per bucket.
//!
//! **Source.** ORTHRUS §4 describes the two-phase-locking baseline and its two optimisations: a latch per bucket and no
//! intention locks, and no memory allocator on the way.
//!
//! **Definitions.** A lock is known by its [`Name`], 64 bits of hash: two things of one name share a lock, which is
//! coarser and never wrong. A *head* is a name in use: who holds it in which modes, and who waits for it, in order. A
//! *request* is one transaction's part in a head. Granted requests stand in the head itself, in the bucket's cache line; what the
//! requester keeps is in its own pool, the list of [`Held`] names. A waiting request is the transaction's one [`Parked`]
//! record, made once with the transaction object, because a transaction waits for one lock at a time.
//!
//! **Invariants**, under a bucket's latch
//!
//! 1. The modes that two transactions hold of one name are compatible.
//! 2. A head without holders has no waiters and is free for another name.
//! 3. A waiting request conflicts with a holder or with a request before it: whoever leaves a head grants what can be
//!    granted, from the front, and stops at the first that cannot.
//! 4. Upgrades stand before other requests: they wait for holders only, and nothing behind them could go first.
//! 5. A request is granted by moving it among the holders under the latch and setting its flag; one that gives up looks
//!    under the latch which of the two came first.
//!
//! **Cost.** Granting a lock nobody else holds takes one latch, one cache line and no allocation. A bucket with more
//! names than one, or a name with more holders than three, keeps the rest in vectors. Small ones are not given back.

use super::mode::Mode;
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Latch, Mutex, Waiter, Wake};
use hotrow_txn::{Abort, LockTarget, Statistics};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// What a lock protects, hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) u64);

/// A transaction in flight as the lock table knows it: small numbers, used again once their owner is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnerId(pub(crate) u32);

/// Who may wait for whom: the deadlock policy.
pub trait WaitPolicy: Send + Sync {
    /// Whether `waiter` may wait for all of `blockers`. Called under the bucket's latch.
    fn may_wait(&self, waiter: OwnerId, blockers: &[OwnerId]) -> bool;
}

/// The lock table of one database.
pub(crate) struct LockTable {
    buckets: Box<[Bucket]>,
    owners: Mutex<Owners>,
}

#[derive(Default)]
struct Owners {
    next: u32,
    free: Vec<u32>,
}

/// Room for so many held names is kept from one transaction to the next.
const KEPT_HELD: usize = 1 << 14;

/// Room for so many further heads is kept by a bucket that needs it no more.
const KEPT_HEADS: usize = 8;

#[repr(align(64))]
struct Bucket(Latch<Heads>);

#[derive(Default)]
struct Heads {
    first: Head,
    /// Heads of further names.
    #[expect(clippy::box_collection, reason = "a bucket is one cache line, and rarely has more than one head")]
    more: Option<Box<Vec<Head>>>,
}

#[derive(Default)]
struct Head {
    name: u64,
    granted: SmallVec<[Granted; 3]>,
    #[expect(clippy::box_collection, reason = "a bucket is one cache line, and rarely has waiters")]
    waiting: Option<Box<VecDeque<Waiting>>>,
}

#[cfg(not(any(loom, shuttle)))]
const _: () = assert!(size_of::<Bucket>() == 64);

#[derive(Clone, Copy)]
struct Granted {
    owner: OwnerId,
    mode: Mode,
}

struct Waiting {
    owner: OwnerId,
    /// What the owner is to hold once granted, all in all.
    mode: Mode,
    upgrade: bool,
    parked: Arc<Parked>,
}

/// A transaction's one place to wait at.
struct Parked {
    granted: AtomicBool,
    waiter: Waiter,
}

/// A name in a transaction's own pool of requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held(Name);

/// What a transaction in flight brings to the lock table.
pub(crate) struct Requester {
    id: OwnerId,
    parked: Arc<Parked>,
    held: Vec<Held>,
    table: Arc<LockTable>,
    /// The longest wait.
    wait_limit: Option<Duration>,
}

/// Those to wake, after the latch.
type Wakes = SmallVec<[Arc<Parked>; 4]>;

/// Withdraws a request whose wait unwinds: a suspended coroutine that is dropped, a scheduler that panics.
struct Unwinding<'r> {
    requester: &'r Requester,
    name: Name,
    upgrade: bool,
}

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        // What was held before an upgrade is in the requester's list, and released with that.
        if !self.requester.withdraw(self.name) && !self.upgrade {
            self.requester.table.release(self.name, self.requester.id);
        }
    }
}

/// Whether a lock is new to its requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acquired {
    /// It held no mode of the name before.
    New,
    /// It held the name before, in this mode or a weaker one.
    Again,
}

impl LockTable {
    /// A lock table with this many buckets, rounded up to a power of two.
    pub(crate) fn new(buckets: usize) -> Arc<Self> {
        let buckets = (0..buckets.next_power_of_two()).map(|_| Bucket(Latch::new(Heads::default()))).collect();
        Arc::new(Self { buckets, owners: Mutex::new(Owners::default()) })
    }

    /// A requester that waits through `waiter`.
    pub(crate) fn requester(self: &Arc<Self>, waiter: Waiter) -> Requester {
        let mut owners = self.owners.lock().expect("no panic under the mutex");
        let id = owners.free.pop().unwrap_or_else(|| {
            owners.next += 1;
            owners.next - 1
        });
        drop(owners);
        let parked = Arc::new(Parked { granted: AtomicBool::new(false), waiter });
        Requester { id: OwnerId(id), parked, held: Vec::with_capacity(64), table: self.clone(), wait_limit: None }
    }

    /// Asks the processor to fetch a name's bucket.
    #[inline]
    pub(crate) fn prefetch(&self, name: Name) {
        hotrow_storage::prefetch(std::ptr::from_ref(self.bucket(name)).cast());
    }

    #[inline]
    fn bucket(&self, name: Name) -> &Bucket {
        &self.buckets[name.0 as usize & (self.buckets.len() - 1)]
    }
}

impl Requester {
    /// The number by which the policy knows it.
    pub(crate) fn id(&self) -> OwnerId {
        self.id
    }

    /// Waits no longer than `limit` from now on, or for ever.
    #[inline]
    pub(crate) fn set_wait_limit(&mut self, limit: Option<Duration>) {
        self.wait_limit = limit;
    }

    /// How it waits.
    pub(crate) fn waiter(&self) -> &Waiter {
        &self.parked.waiter
    }

    /// Locks `name` in `mode`, in addition to what is held of it. `target` says what the name is the name of; it is
    /// called when the request has to wait.
    #[inline]
    pub(crate) fn acquire(
        &mut self,
        name: Name,
        mode: Mode,
        _target: impl FnOnce() -> LockTarget,
        policy: &impl WaitPolicy,
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
            let waiting = Waiting { owner: self.id, mode: wanted, upgrade, parked: self.parked.clone() };
            let allowed = head.enqueue(waiting, policy);
            drop(heads);
            return if allowed { self.wait(name, upgrade, statistics) } else { Err(Abort::Conflict) };
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
    fn wait(&mut self, name: Name, upgrade: bool, statistics: &mut Statistics) -> Result<Acquired, Abort> {
        let unwinding = Unwinding { requester: self, name, upgrade };
        let parked = &self.parked;
        let start = parked.waiter.now();
        let deadline = self.wait_limit.map(|limit| start.after(limit));
        let wake = parked.waiter.wait_until(deadline, || parked.granted.load(Ordering::Acquire));
        std::mem::forget(unwinding);
        statistics.waits += 1;
        statistics.wait_ns += parked.waiter.now().since(start).as_nanos() as u64;
        let granted = wake == Wake::Ready || !self.withdraw(name);
        self.parked.granted.store(false, Ordering::Release);
        if granted {
            statistics.locks += 1;
            // Granted and cancelled at once: the lock is kept for `abort` to release.
            let acquired = self.acquired(name, upgrade);
            return if wake == Wake::Cancelled { Err(Abort::Cancelled) } else { Ok(acquired) };
        }
        Err(if wake == Wake::Cancelled { Abort::Cancelled } else { Abort::Timeout })
    }

    /// Takes the waiting request back. `false` if it was granted meanwhile.
    fn withdraw(&self, name: Name) -> bool {
        let mut wakes = Wakes::new();
        let mut heads = self.table.bucket(name).0.lock();
        let withdrawn = heads.withdraw(name, self.id, &mut wakes);
        drop(heads);
        wake(wakes);
        withdrawn
    }

    /// Releases one name, whatever its modes.
    pub(crate) fn release(&mut self, name: Name) {
        let Some(position) = self.held.iter().rposition(|held| held.0 == name) else { return };
        self.held.remove(position);
        self.table.release(name, self.id);
    }

    /// Releases everything.
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
        self.table.owners.lock().expect("no panic under the mutex").free.push(self.id.0);
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

    /// Names held or waited for, and requests waiting: for people, and for tests that expect none.
    pub(crate) fn usage(&self) -> (usize, usize) {
        let mut usage = (0, 0);
        for bucket in &self.buckets {
            let heads = bucket.0.lock();
            for head in std::iter::once(&heads.first).chain(heads.more.iter().flat_map(|more| more.iter())) {
                usage.0 += usize::from(!head.is_free());
                usage.1 += head.waiting.as_ref().map_or(0, |waiting| waiting.len());
            }
        }
        usage
    }
}

#[inline]
fn wake(wakes: Wakes) {
    for parked in wakes {
        parked.waiter.wake();
    }
}

impl Heads {
    #[inline]
    fn find(&mut self, name: Name) -> Option<&mut Head> {
        if self.first.is_of(name) {
            return Some(&mut self.first);
        }
        self.more.as_mut()?.iter_mut().find(|head| head.is_of(name))
    }

    #[inline]
    fn find_or_make(&mut self, name: Name) -> &mut Head {
        let elsewhere = self.more.as_ref().and_then(|more| more.iter().position(|head| head.is_of(name)));
        if let Some(position) = elsewhere {
            return &mut self.more.get_or_insert_default()[position];
        }
        if self.first.is_of(name) || self.first.is_free() {
            self.first.name = name.0;
            return &mut self.first;
        }
        let more = self.more.get_or_insert_default();
        more.push(Head { name: name.0, ..Head::default() });
        more.last_mut().expect("just pushed")
    }

    #[inline]
    fn release(&mut self, name: Name, owner: OwnerId, wakes: &mut Wakes) {
        let Some(head) = self.find(name) else { return };
        head.granted.retain(|granted| granted.owner != owner);
        head.grant_waiting(wakes);
        self.tidy(name);
    }

    fn withdraw(&mut self, name: Name, owner: OwnerId, wakes: &mut Wakes) -> bool {
        let Some(head) = self.find(name) else { return false };
        let Some(waiting) = &mut head.waiting else { return false };
        let Some(position) = waiting.iter().position(|waiting| waiting.owner == owner) else { return false };
        waiting.remove(position);
        head.grant_waiting(wakes);
        self.tidy(name);
        true
    }

    /// Forgets a free head that is not the bucket's first.
    #[inline]
    fn tidy(&mut self, name: Name) {
        let Some(more) = &mut self.more else { return };
        if let Some(position) = more.iter().position(|head| head.name == name.0 && head.is_free()) {
            more.swap_remove(position);
            if more.is_empty() && more.capacity() > KEPT_HEADS {
                self.more = None;
            }
        }
    }
}

impl Head {
    #[inline]
    fn is_free(&self) -> bool {
        self.granted.is_empty()
    }

    #[inline]
    fn is_of(&self, name: Name) -> bool {
        self.name == name.0 && !self.is_free()
    }

    /// What `owner` holds, and what all others hold together.
    #[inline]
    fn holders(&self, owner: OwnerId) -> (Mode, Mode) {
        let mut modes = (Mode::NONE, Mode::NONE);
        for granted in &self.granted {
            if granted.owner == owner {
                modes.0 = granted.mode;
            } else {
                modes.1 = modes.1 | granted.mode;
            }
        }
        modes
    }

    #[inline]
    fn waiters_conflict(&self, mode: Mode) -> bool {
        let Some(waiting) = &self.waiting else { return false };
        waiting.iter().any(|waiting| waiting.mode.conflicts(mode))
    }

    #[inline]
    fn grant(&mut self, owner: OwnerId, mode: Mode, upgrade: bool) {
        if !upgrade {
            self.granted.push(Granted { owner, mode });
            return;
        }
        let own = self.granted.iter_mut().find(|granted| granted.owner == owner);
        own.expect("an upgrade has a granted request").mode = mode;
    }

    /// Puts a request in the queue, if the policy lets it wait for those before it.
    #[cold]
    fn enqueue(&mut self, request: Waiting, policy: &impl WaitPolicy) -> bool {
        let holders = self.granted.iter().map(|granted| (granted.owner, granted.mode));
        let queue = self.waiting.get_or_insert_default();
        let place =
            if request.upgrade { queue.iter().take_while(|waiting| waiting.upgrade).count() } else { queue.len() };
        let before = queue.iter().take(place).map(|waiting| (waiting.owner, waiting.mode));
        let blocks = |&(owner, mode): &(OwnerId, Mode)| owner != request.owner && mode.conflicts(request.mode);
        let blockers: SmallVec<[OwnerId; 8]> = holders.chain(before).filter(blocks).map(|(owner, _)| owner).collect();
        if !policy.may_wait(request.owner, &blockers) {
            return false;
        }
        queue.insert(place, request);
        true
    }

    /// Grants from the front what can be granted.
    #[inline]
    fn grant_waiting(&mut self, wakes: &mut Wakes) {
        if self.waiting.is_some() {
            self.grant_front(wakes);
        }
    }

    #[cold]
    fn grant_front(&mut self, wakes: &mut Wakes) {
        loop {
            let Some(front) = self.waiting.as_ref().and_then(|waiting| waiting.front()) else { return };
            let (owner, mode, upgrade) = (front.owner, front.mode, front.upgrade);
            if mode.conflicts(self.holders(owner).1) {
                return;
            }
            self.grant(owner, mode, upgrade);
            let granted = self.waiting.as_mut().and_then(|waiting| waiting.pop_front());
            let parked = granted.expect("the front was just looked at").parked;
            parked.granted.store(true, Ordering::Release);
            wakes.push(parked);
        }
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

/// One number per owner, in chunks that never move.
#[derive(Debug)]
pub(crate) struct PerOwner<T> {
    chunks: Box<[hotrow_sync::OnceLock<Box<[T]>>]>,
}

const OWNER_CHUNK: usize = 256;

impl<T: Default> PerOwner<T> {
    /// Room for a million owners, made as they come.
    pub(crate) fn new() -> Self {
        Self { chunks: (0..4096).map(|_| hotrow_sync::OnceLock::new()).collect() }
    }

    /// The owner's value.
    #[inline]
    pub(crate) fn get(&self, owner: OwnerId) -> &T {
        let number = owner.0 as usize;
        let make = || (0..OWNER_CHUNK).map(|_| T::default()).collect();
        &self.chunks[number / OWNER_CHUNK].get_or_init(make)[number % OWNER_CHUNK]
    }
}

#[cfg(all(test, shuttle))]
mod model;
#[cfg(all(test, not(shuttle)))]
mod tests;
