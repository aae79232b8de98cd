//! The partitions that one transaction holds.
//!
//! **Invariants**
//!
//! 1. A transaction waits for a partition only while it holds none of a greater number.
//! 2. A wait that ends without the lock, by time-out, cancellation or unwinding, leaves the queue and gives back all
//!    partitions that the transaction holds.

use super::lock::PartitionLock;
use crate::shared::parked::Parked;
use hotrow_sync::{Arc, Time, Waiter, Wake};
use hotrow_txn::{Abort, Statistics};
use smallvec::SmallVec;
use std::time::Duration;

/// The locks of all partitions of a database, by the partitions' numbers.
pub(super) type Locks = Arc<[PartitionLock]>;

/// The partitions that a transaction in flight holds. One thread uses it at a time. When it is dropped, it gives them
/// back.
pub(super) struct HeldPartitions {
    locks: Locks,
    parked: Arc<Parked>,
    held: SmallVec<[u16; 4]>,
}

impl HeldPartitions {
    /// Makes the partitions of a transaction that holds none, and waits through `waiter`.
    pub(super) fn new(locks: &Locks, waiter: Waiter) -> Self {
        Self { locks: locks.clone(), parked: Arc::new(Parked::new(waiter)), held: SmallVec::new() }
    }

    /// Takes the partitions with these numbers, which ascend, one after the other. The transaction holds no other.
    ///
    /// # Errors
    /// Fails if the waits have lasted for `limit`, or if the waiter was cancelled. The transaction holds no partition
    /// then.
    #[inline]
    pub(super) fn take_all(
        &mut self,
        numbers: &[u16],
        limit: Duration,
        statistics: &mut Statistics,
    ) -> Result<(), Abort> {
        debug_assert!(self.held.is_empty() && numbers.is_sorted_by(|a, b| a < b), "{:?}, then {numbers:?}", self.held);
        let mut deadline = None;
        for &number in numbers {
            if !self.lock(number).try_take() {
                self.wait_for(number, &mut deadline, limit, statistics)?;
            }
            self.held.push(number);
        }
        statistics.locks += numbers.len() as u64;
        Ok(())
    }

    /// Waits for a partition: spins for a moment, then queues. The first wait sets the deadline of all.
    #[cold]
    fn wait_for(
        &mut self,
        number: u16,
        deadline: &mut Option<Time>,
        limit: Duration,
        statistics: &mut Statistics,
    ) -> Result<(), Abort> {
        let parked = self.parked.clone();
        let start = parked.waiter().now();
        let deadline = *deadline.get_or_insert_with(|| start.after(limit));
        let lock = self.lock(number);
        let wake = if parked.waiter().spin(Some(deadline), || lock.look_and_take()) || lock.take_or_queue(&parked) {
            Wake::Ready
        } else {
            let queued = Queued { partitions: self, number };
            let wake = parked.wait(Some(deadline));
            // A grant that came with the deadline is taken.
            let wake = if wake == Wake::TimedOut && parked.is_granted() { Wake::Ready } else { wake };
            if wake == Wake::Ready {
                std::mem::forget(queued);
                parked.reset();
            }
            wake
        };
        statistics.waits += 1;
        statistics.wait_ns += parked.waiter().now().since(start).as_nanos() as u64;
        match wake {
            Wake::Ready => Ok(()),
            Wake::TimedOut => Err(Abort::Timeout),
            Wake::Cancelled => Err(Abort::Cancelled),
        }
    }

    /// Takes one more partition without waiting. Returns whether the transaction holds it.
    pub(super) fn add(&mut self, number: u16) -> bool {
        if self.holds(number) {
            return true;
        }
        let added = self.lock(number).try_take();
        if added {
            self.held.push(number);
        }
        added
    }

    /// Whether the transaction holds this partition.
    #[inline]
    pub(super) fn holds(&self, number: u16) -> bool {
        self.held.len() == self.locks.len() || self.held.contains(&number)
    }

    /// Returns the number of partitions that there are.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.locks.len()
    }

    /// Calls `look` while no transaction holds the partition. Returns `None` without calling it if one does, or if one
    /// waits for it.
    pub(super) fn glance<R>(&self, number: u16, look: impl FnOnce() -> R) -> Option<R> {
        let lock = self.lock(number);
        lock.try_take().then(|| {
            let seen = look();
            lock.release();
            seen
        })
    }

    /// Gives back all partitions.
    #[inline]
    pub(super) fn release_all(&mut self) {
        for number in self.held.drain(..) {
            self.locks[usize::from(number)].release();
        }
    }

    #[inline]
    fn lock(&self, number: u16) -> &PartitionLock {
        &self.locks[usize::from(number)]
    }
}

impl Drop for HeldPartitions {
    fn drop(&mut self) {
        self.release_all();
    }
}

/// A place in the queue of a partition. If the wait ends without the lock, or unwinds, the transaction leaves the queue
/// and gives back what it holds.
struct Queued<'p> {
    partitions: &'p mut HeldPartitions,
    number: u16,
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        let lock = self.partitions.lock(self.number);
        if !lock.withdraw(&self.partitions.parked) {
            lock.release();
        }
        self.partitions.parked.reset();
        self.partitions.release_all();
    }
}
