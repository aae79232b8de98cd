//! The transactions that wait for records, by worker.

use crate::shared::parked::Parked;
use crate::shared::record_locks::{Number, Numbers};
use hotrow_storage::mix;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, CachePadded, Latch};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

/// The number of workers that waiter bits can tell apart. Two are enough for loom.
pub(super) const WORKERS: u32 = if cfg!(loom) { 2 } else { u64::BITS };

/// The wait-maps of a database's workers, and the counters that number its workers and transactions.
pub(super) struct WaitMaps {
    maps: Box<[CachePadded<Latch<WaitMap>>]>,
    workers: AtomicU64,
    numbers: Arc<Numbers>,
}

/// The suspended transactions of one worker: for each lock that is awaited, the transactions that wait for it, in
/// order.
#[derive(Default)]
pub(super) struct WaitMap {
    waiting: HashMap<LockAt, SmallVec<[Waiting; 2]>, BuildHasherDefault<AddressHasher>>,
}

/// A lock, known by its address. It is not freed while a transaction waits for it: that transaction is in its epoch.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct LockAt(usize);

/// The request of a suspended transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockRequest {
    /// A request for the read lock.
    Read,
    /// A request for the write lock.
    Write,
    /// A request for the write lock in place of the read lock that the transaction holds.
    Upgrade,
}

/// A suspended transaction, as an entry of its worker's wait-map.
pub(super) struct Waiting {
    pub(super) tid: u64,
    pub(super) wanted: LockRequest,
    pub(super) parked: Arc<Parked>,
}

/// The transactions that were given a lock, to be woken after the latch is released.
pub(super) type Granted = SmallVec<[Arc<Parked>; 4]>;

/// A hasher for addresses, which mixes their bits.
#[derive(Default)]
pub(super) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = mix(self.0 ^ u64::from(byte)));
    }

    fn write_usize(&mut self, address: usize) {
        self.0 = mix(address as u64);
    }
}

impl WaitMaps {
    pub(super) fn new() -> Arc<Self> {
        let maps = (0..WORKERS).map(|_| CachePadded(Latch::default())).collect();
        Arc::new(Self { maps, workers: AtomicU64::new(0), numbers: Arc::default() })
    }

    /// Returns the number of a new worker, below [`WORKERS`]. Further workers share numbers.
    pub(super) fn add_worker(&self) -> u32 {
        (self.workers.fetch_add(1, Ordering::AcqRel) % u64::from(WORKERS)) as u32
    }

    /// Returns a source of transaction numbers for a new transaction object.
    pub(super) fn number(&self) -> Number {
        Number::new(&self.numbers)
    }

    /// Returns the wait-map of a worker.
    #[inline]
    pub(super) fn of(&self, worker: u32) -> &Latch<WaitMap> {
        &self.maps[worker as usize].0
    }

    /// Returns the number of transactions that wait for a record now, for reports and tests.
    pub(super) fn waiting(&self) -> usize {
        self.maps.iter().map(|map| map.0.lock().waiting.values().map(SmallVec::len).sum::<usize>()).sum()
    }

    /// Calls `visit` for each worker and each lock that transactions of the worker wait for, with the worker's number,
    /// the lock's address, and the requests. The worker's wait-map is latched meanwhile.
    pub(super) fn awaited(&self, mut visit: impl FnMut(u32, usize, &[LockRequest])) {
        for (worker, map) in (0..).zip(&self.maps) {
            for (lock, waiting) in &map.0.lock().waiting {
                let wanted: SmallVec<[LockRequest; 8]> = waiting.iter().map(|waiting| waiting.wanted).collect();
                visit(worker, lock.0, &wanted);
            }
        }
    }
}

impl WaitMap {
    /// Whether any transaction of this worker waits for the lock with this request.
    pub(super) fn awaits(&self, lock: LockAt, wanted: LockRequest) -> bool {
        self.of(lock).iter().any(|waiting| waiting.wanted == wanted)
    }

    /// Returns the first transaction of this worker that waits for the lock with this request.
    pub(super) fn first(&self, lock: LockAt, wanted: LockRequest) -> Option<&Waiting> {
        self.of(lock).iter().find(|waiting| waiting.wanted == wanted)
    }

    fn of(&self, lock: LockAt) -> &[Waiting] {
        self.waiting.get(&lock).map_or(&[], SmallVec::as_slice)
    }

    /// Adds a transaction that waits for the lock, behind the transactions that are there already.
    pub(super) fn put(&mut self, lock: LockAt, waiting: Waiting) {
        self.waiting.entry(lock).or_default().push(waiting);
    }

    /// Removes and returns the first transaction of this worker that waits for the lock with this request.
    pub(super) fn take_first(&mut self, lock: LockAt, wanted: LockRequest) -> Option<Waiting> {
        self.take(lock, |waiting| waiting.wanted == wanted)
    }

    /// Removes and returns the transaction that waits for the lock at `parked`, or returns `None` if it has no entry.
    pub(super) fn take_out(&mut self, lock: LockAt, parked: &Arc<Parked>) -> Option<Waiting> {
        self.take(lock, |waiting| Arc::ptr_eq(&waiting.parked, parked))
    }

    fn take(&mut self, lock: LockAt, is_it: impl Fn(&Waiting) -> bool) -> Option<Waiting> {
        let waiting = self.waiting.get_mut(&lock)?;
        let place = waiting.iter().position(is_it)?;
        let taken = waiting.remove(place);
        if waiting.is_empty() {
            self.waiting.remove(&lock);
        }
        Some(taken)
    }
}

impl LockAt {
    /// Returns the address of a record's lock.
    pub(super) fn of<L>(lock: &L) -> Self {
        LockAt(std::ptr::from_ref(lock).addr())
    }
}

impl fmt::Debug for WaitMaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitMaps").field("waiting", &self.waiting()).finish()
    }
}
