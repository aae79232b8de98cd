//! The queues of the transactions that wait for the key locks of a database.
//!
//! **Invariants**, beside those of the [words](super::key_lock)
//!
//! 1. A word is awaited if and only if there is a request for it in its queue, whenever the queue's latch is free.
//! 2. The first request for a lock cannot be granted as its holders are: a transaction that leaves grants what can be
//!    granted, from the front, and stops at the first request that cannot. A transaction that comes when others wait
//!    stands behind them, so that readers that come and go do not keep a writer waiting for ever.
//! 3. Upgrades stand before other requests: they wait for holders only, and nothing behind them could go first.
//! 4. A request is granted by changing the word under the latch and setting its flag; one that gives up looks under the
//!    latch which of the two came first.

use super::key_lock::{KeyLock, RequestOutcome};
use crate::shared::mode::Mode;
use crate::shared::parked::Parked;
use hotrow_storage::{IndexNumber, TableId};
use hotrow_sync::{Arc, Latch};
use smallvec::SmallVec;
use std::fmt;

/// The name of a key lock among all key locks of a database.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct LockName {
    pub(super) table: TableId,
    pub(super) index: IndexNumber,
    /// The lock's number among the locks of the index.
    pub(super) number: u32,
}

/// The queues of the transactions that wait for the key locks of a database.
pub(super) struct Queues {
    queues: Box<[Latch<Queue>]>,
}

/// The number of queues of a database. Locks that are awaited at the same time seldom share one.
const QUEUES: usize = 256;

/// The requests for all locks that share a queue, in order.
type Queue = Vec<Request>;

/// The request of a transaction for a lock.
struct Request {
    name: LockName,
    /// The modes in which the transaction holds the lock already.
    held: Mode,
    /// The modes in which the transaction will hold the lock.
    wanted: Mode,
    parked: Arc<Parked>,
    /// Whether a transaction that the request waits for has left since the requester asked last.
    moved: bool,
}

/// The transactions to wake, after the latch is released.
type Wakes = SmallVec<[Arc<Parked>; 4]>;

impl Queues {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { queues: (0..QUEUES).map(|_| Latch::default()).collect() })
    }

    fn queue(&self, name: LockName) -> &Latch<Queue> {
        &self.queues[name.number as usize % QUEUES]
    }

    /// Takes the lock in the modes `wanted`, or queues a request for it. The transaction holds it in the modes `held`
    /// before.
    pub(super) fn ask(
        &self,
        lock: &KeyLock,
        name: LockName,
        (held, wanted): (Mode, Mode),
        parked: &Arc<Parked>,
    ) -> RequestOutcome {
        let mut queue = self.queue(name).lock();
        let asked = lock.take_or_await(held, wanted);
        if asked == RequestOutcome::Queued {
            let is_upgrade = held != Mode::NONE;
            let behind = |request: &Request| request.name == name && request.held == Mode::NONE;
            let place = queue.iter().position(behind).filter(|_| is_upgrade).unwrap_or(queue.len());
            queue.insert(place, Request { name, held, wanted, parked: parked.clone(), moved: false });
        }
        asked
    }

    /// Releases a lock that the transaction holds in the modes `held`.
    #[inline]
    pub(super) fn release(&self, lock: &KeyLock, name: LockName, held: Mode) {
        if !lock.give_back(held) {
            self.release_awaited(lock, name, held);
        }
    }

    #[cold]
    fn release_awaited(&self, lock: &KeyLock, name: LockName, held: Mode) {
        let mut queue = self.queue(name).lock();
        // There may be no waiting transaction any more.
        if lock.give_back(held) {
            return;
        }
        lock.give_back_awaited(held);
        move_on(&mut queue, name);
        let wakes = grant(&mut queue, lock, name);
        drop(queue);
        wake(wakes);
    }

    /// Takes back a request. Returns `false` if the request was granted meanwhile.
    pub(super) fn withdraw(&self, lock: &KeyLock, name: LockName, parked: &Arc<Parked>) -> bool {
        let mut queue = self.queue(name).lock();
        let Some(place) = queue.iter().position(|request| Arc::ptr_eq(&request.parked, parked)) else {
            return false;
        };
        queue.remove(place);
        move_on(&mut queue[place..], name);
        let wakes = grant(&mut queue, lock, name);
        drop(queue);
        wake(wakes);
        true
    }

    /// Whether a transaction that a request waits for has left since the request was queued, or since the last call for
    /// it. If so, the request is not part of a deadlock, and its time-out begins anew. Returns `true` if the request is
    /// not queued any more.
    pub(super) fn has_moved(&self, name: LockName, parked: &Arc<Parked>) -> bool {
        let mut queue = self.queue(name).lock();
        let request = queue.iter_mut().find(|request| Arc::ptr_eq(&request.parked, parked));
        request.is_none_or(|request| std::mem::take(&mut request.moved))
    }

    /// Returns the modes in which the first request's transaction holds the lock, and those in which it wants it, or
    /// `None` if there is no request.
    pub(super) fn first(&self, name: LockName) -> Option<(Mode, Mode)> {
        let queue = self.queue(name).lock();
        queue.iter().find(|request| request.name == name).map(|request| (request.held, request.wanted))
    }

    /// Returns the number of requests that wait now, for reports and tests.
    pub(super) fn waiting(&self) -> usize {
        self.queues.iter().map(|queue| queue.lock().len()).sum()
    }
}

/// Notes at the requests for a lock that a transaction has left that they waited for.
fn move_on(requests: &mut [Request], name: LockName) {
    requests.iter_mut().filter(|request| request.name == name).for_each(|request| request.moved = true);
}

/// Grants the requests for an awaited lock that can be granted, after a transaction has left that they waited for.
fn grant(queue: &mut Queue, lock: &KeyLock, name: LockName) -> Wakes {
    let mut wakes = Wakes::new();
    let mut granting = lock.granting();
    while let Some(place) = queue.iter().position(|request| request.name == name) {
        if !granting.grant(queue[place].held, queue[place].wanted) {
            break;
        }
        wakes.push(queue.remove(place).parked);
    }
    granting.publish();
    // After the word: a transaction that is granted may change it at once.
    wakes.iter().for_each(|parked| parked.grant());
    wakes
}

fn wake(wakes: Wakes) {
    wakes.iter().for_each(|parked| parked.wake());
}

impl fmt::Debug for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lock {} of index {} of table {}", self.number, self.index.0, self.table.0)
    }
}

impl fmt::Debug for Queues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queues").field("waiting", &self.waiting()).finish()
    }
}
