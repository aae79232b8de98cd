//! The lock manager: request queues behind one latch, and how transactions wait for what they asked for.
//!
//! **Invariants**
//!
//! 1. The queues change under the latch only: all requests of a transaction are placed while it is held once, and taken
//!    back while it is held once.
//! 2. A place is marked as granted under the latch, by the transaction that takes back the last request that its owner
//!    waits for, once for each wait; its owner is woken after.
//! 3. A wait that ends otherwise (time-out, cancellation, unwinding) takes all requests back, granted or not, under the
//!    latch; so no request is granted whose owner is not there to take it.
//! 4. `blocked` is the number of owners whose requests are placed and not all granted.

use crate::shared::request_queues::{Modes, OwnerId, RequestQueues};
use hotrow_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use hotrow_sync::{Arc, CachePadded, Latch, Waiter, Wake};
use hotrow_txn::{Abort, Statistics};
use smallvec::SmallVec;
use std::fmt;
use std::time::Duration;

/// The lock manager of one database: queues of lock requests behind one latch. All threads share it.
#[derive(Default)]
pub(crate) struct LockManager {
    queues: CachePadded<Latch<RequestQueues<Arc<Place>>>>,
    blocked: CachePadded<AtomicUsize>,
}

/// Where a transaction waits for all of its requests at once.
struct Place {
    granted: AtomicBool,
    waiter: Waiter,
}

/// The registration of a transaction with the lock manager, through which the transaction asks for locks and releases
/// them. One thread uses a ticket at a time. A ticket that is dropped takes all its requests back.
pub(super) struct Ticket {
    manager: Arc<LockManager>,
    owner: OwnerId,
    place: Arc<Place>,
    /// Whether the transaction has asked for any lock since it last took everything back.
    asks: bool,
}

/// The transactions to wake, after the latch is released.
type Wakes = SmallVec<[Arc<Place>; 4]>;

impl LockManager {
    /// Returns a ticket for a transaction that waits through `waiter`.
    pub(super) fn ticket(self: &Arc<Self>, waiter: Waiter) -> Ticket {
        let place = Arc::new(Place { granted: AtomicBool::new(false), waiter });
        let owner = self.queues.0.lock().join(place.clone());
        Ticket { manager: self.clone(), owner, place, asks: false }
    }

    /// Returns the number of transactions that wait for their locks. Read without the latch, it may be a little old.
    pub(super) fn blocked(&self) -> usize {
        // Relaxed: a hint for schedulers.
        self.blocked.0.load(Ordering::Relaxed)
    }

    /// Checks the invariants of the queues, and that the count of blocked transactions is right.
    pub(super) fn audit(&self) -> Result<(), String> {
        let queues = self.queues.0.lock();
        queues.audit()?;
        let (counted, waiting) = (self.blocked(), queues.waiting());
        if counted == waiting {
            Ok(())
        } else {
            Err(format!("{counted} transactions are counted as blocked of {waiting}"))
        }
    }

    /// Returns the number of names that have a queue, and the number of requests in all queues. Both are zero while no
    /// transaction runs.
    pub(super) fn usage(&self) -> (usize, usize) {
        self.queues.0.lock().usage()
    }

    /// Takes back all locks that `owner` has and all that it waits for. The caller holds the latch, and wakes the
    /// transactions in `wakes`, which can run now.
    fn withdraw(&self, queues: &mut RequestQueues<Arc<Place>>, owner: OwnerId, wakes: &mut Wakes) {
        let unblocked = || {
            // Relaxed: it changes under the latch.
            self.blocked.0.fetch_sub(1, Ordering::Relaxed);
        };
        if !queues.is_granted(owner) {
            unblocked();
        }
        queues.release_all(owner, &mut |place| {
            unblocked();
            place.granted.store(true, Ordering::Release);
            wakes.push(place.clone());
        });
    }
}

impl Ticket {
    /// Asks for all of `locks` in one critical section, and waits at most `limit` until they are granted. A lock is the
    /// name of a row or of a key prefix, with its modes. A name may occur more than once.
    ///
    /// # Errors
    /// [`Abort::Timeout`] if the limit has passed, and [`Abort::Cancelled`] if the waiter was cancelled. In both cases,
    /// and if the wait unwinds, all requests of the transaction are taken back.
    #[inline]
    pub(super) fn acquire(
        &mut self,
        locks: impl Iterator<Item = (u64, Modes)>,
        limit: Duration,
        statistics: &mut Statistics,
    ) -> Result<(), Abort> {
        self.asks = true;
        let mut queues = self.manager.queues.0.lock();
        locks.for_each(|(name, modes)| queues.request(self.owner, name, modes));
        if queues.is_granted(self.owner) {
            return Ok(());
        }
        // Relaxed: it changes under the latch.
        self.manager.blocked.0.fetch_add(1, Ordering::Relaxed);
        drop(queues);
        self.wait(limit, statistics)
    }

    #[cold]
    fn wait(&mut self, limit: Duration, statistics: &mut Statistics) -> Result<(), Abort> {
        let waiter = self.place.waiter.clone();
        let start = waiter.now();
        let unwinding = Unwinding(&mut *self);
        let place = &unwinding.0.place;
        let wake = waiter.wait_until(Some(start.after(limit)), || place.granted.load(Ordering::Acquire));
        std::mem::forget(unwinding);
        statistics.waits += 1;
        statistics.wait_ns += waiter.now().since(start).as_nanos() as u64;
        let outcome = match wake {
            Wake::Ready => Ok(()),
            Wake::TimedOut if self.is_granted() => Ok(()),
            Wake::TimedOut => Err(Abort::Timeout),
            Wake::Cancelled => Err(Abort::Cancelled),
        };
        if outcome.is_err() {
            self.release();
        }
        self.place.granted.store(false, Ordering::Release);
        outcome
    }

    /// Whether everything that was asked for has been granted. A caller that finds it so need not be woken.
    fn is_granted(&self) -> bool {
        self.manager.queues.0.lock().is_granted(self.owner)
    }

    /// Acquires more locks without waiting: all of `locks` if no other transaction has asked for a conflicting lock,
    /// and none of them otherwise. Returns whether they were acquired.
    pub(super) fn add(&mut self, locks: impl Iterator<Item = (u64, Modes)> + Clone) -> bool {
        self.asks = true;
        let mut queues = self.manager.queues.0.lock();
        let free = locks.clone().all(|(name, modes)| queues.is_free(self.owner, name, modes));
        if free {
            locks.for_each(|(name, modes)| queues.add(self.owner, name, modes));
        }
        free
    }

    /// Calls `look` under the latch, so that no transaction can lock `name` exclusively meanwhile. If a transaction has
    /// already locked `name` exclusively, returns `None` and does not call `look`.
    #[inline]
    pub(super) fn glance<R>(&self, name: u64, look: impl FnOnce() -> R) -> Option<R> {
        let queues = self.manager.queues.0.lock();
        (!queues.is_exclusive(name)).then(look)
    }

    /// Takes back all requests of the transaction, granted or not.
    #[inline]
    pub(super) fn release(&mut self) {
        if !std::mem::take(&mut self.asks) {
            return;
        }
        let mut wakes = Wakes::new();
        let mut queues = self.manager.queues.0.lock();
        self.manager.withdraw(&mut queues, self.owner, &mut wakes);
        drop(queues);
        for place in wakes {
            place.waiter.wake();
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.release();
        self.manager.queues.0.lock().part(self.owner);
    }
}

/// Takes all of a transaction's requests back if its wait unwinds: a suspended coroutine is dropped, or a scheduler
/// panics.
struct Unwinding<'t>(&'t mut Ticket);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        self.0.release();
        self.0.place.granted.store(false, Ordering::Release);
    }
}

impl fmt::Debug for LockManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (names, requests) = self.usage();
        f.debug_struct("LockManager").field("names", &names).field("requests", &requests).finish()
    }
}
