//! A transaction as partitions see it: the object that they tell of their grants.
//!
//! **Definitions.** A transaction object runs one *attempt* after the other. In each it asks some partitions, and waits
//! until all of them have granted what it asked for. An attempt that is *withdrawn* asks for nothing any more.
//!
//! **Invariants**
//!
//! 1. A grant counts for the attempt only that it was meant for: the word has both, the attempt and how many partitions
//!    it still waits for, and is changed by one exchange.
//! 2. A partition takes notice of what an attempt asks for only while the attempt is not withdrawn: it looks, and acts,
//!    under the latch, and to withdraw takes the latch too. So records that the attempt found stay allocated until the
//!    partition has counted on them, though they are another thread's; and a request that arrives after it was
//!    withdrawn does nothing, whatever else has overtaken it.

use super::id::{PartitionId, Ticket};
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, Latch, Waiter};
use std::fmt;

/// The part of a transaction object to which partitions report grants and refusals. Any thread may call
/// [`grant`](Self::grant), [`refuse`](Self::refuse) and [`while_asking`](Self::while_asking). Only the thread of the
/// transaction begins attempts, waits for their grants, and withdraws them.
pub(super) struct Node {
    /// The attempt, shifted, and the number of partitions that have not granted it yet.
    word: AtomicU64,
    /// The transaction's place in each partition's queue, as the partition said with its grant.
    tickets: Box<[AtomicU64]>,
    /// The attempt that asks, if it is not withdrawn.
    asking: Latch<Option<Attempt>>,
    /// The last attempt that a partition has refused, by its number; zero at first.
    refused: AtomicU64,
    waiter: Waiter,
}

/// The number of an attempt, in which a transaction asks partitions for its locks. A transaction object counts its
/// attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attempt(u64);

/// The number of bits that hold the number of partitions.
const COUNT_BITS: u32 = 16;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

impl Node {
    /// Makes the node of a transaction that waits through `waiter`, and has made no attempt yet.
    pub(super) fn new(partitions: usize, waiter: Waiter) -> Arc<Self> {
        let tickets = (0..partitions).map(|_| AtomicU64::new(0)).collect();
        Arc::new(Self {
            word: AtomicU64::new(0),
            tickets,
            asking: Latch::new(None),
            refused: AtomicU64::new(0),
            waiter,
        })
    }

    /// Returns the waiter of the transaction.
    pub(super) fn waiter(&self) -> &Waiter {
        &self.waiter
    }

    /// Begins the next attempt, which waits for the grants of `partitions` partitions. Only the thread of the
    /// transaction calls this.
    pub(super) fn begin(&self, partitions: usize) -> Attempt {
        debug_assert!(partitions as u64 <= COUNT);
        // Relaxed: only the owner changes the attempt; grants of the last one may still come, and change nothing of it.
        let attempt = Attempt((self.word.load(Ordering::Relaxed) >> COUNT_BITS) + 1);
        self.word.store(attempt.0 << COUNT_BITS | partitions as u64, Ordering::Release);
        *self.asking.lock() = Some(attempt);
        attempt
    }

    /// Withdraws the present attempt: requests that partitions have not acted on yet have no effect. Waits while a
    /// partition acts on a request. Only the thread of the transaction calls this.
    pub(super) fn withdraw(&self) {
        *self.asking.lock() = None;
    }

    /// Whether all partitions have granted what the attempt asked for.
    #[inline]
    pub(super) fn is_granted(&self, attempt: Attempt) -> bool {
        self.word.load(Ordering::Acquire) == attempt.0 << COUNT_BITS
    }

    /// Returns the transaction's place in a partition's queue. It is meaningful only if the partition has granted.
    pub(super) fn ticket(&self, partition: PartitionId) -> Ticket {
        // Relaxed: if the grant was seen, by acquire, this is seen too; if not, it is a guess, which the partition
        // checks.
        Ticket(self.tickets[partition.index()].load(Ordering::Relaxed))
    }

    /// Notes that a partition has granted what the attempt asked of it. Returns whether all partitions have granted
    /// now.
    pub(super) fn grant(&self, attempt: Attempt, partition: PartitionId, ticket: Ticket) -> bool {
        // Relaxed: published by the exchange below.
        self.tickets[partition.index()].store(ticket.0, Ordering::Relaxed);
        let count = |word: u64| (word >> COUNT_BITS == attempt.0 && word & COUNT > 0).then(|| word - 1);
        let before = self.word.fetch_update(Ordering::AcqRel, Ordering::Acquire, count);
        before.is_ok_and(|word| word & COUNT == 1)
    }

    /// Notes that a partition can never grant what the attempt asked of it. The attempt asks for nothing there any
    /// more.
    #[cold]
    pub(super) fn refuse(&self, attempt: Attempt) {
        // The greatest: a refusal of an attempt that is over may come late.
        self.refused.fetch_max(attempt.0, Ordering::AcqRel);
    }

    /// Whether some partition has refused the attempt. Such an attempt is never granted.
    pub(super) fn is_refused(&self, attempt: Attempt) -> bool {
        self.refused.load(Ordering::Acquire) == attempt.0
    }

    /// Calls `act`, which acts on a request of an attempt, under a latch that keeps the attempt from being withdrawn
    /// meanwhile. If the attempt is already withdrawn, returns `None` and does not call `act`.
    pub(super) fn while_asking<R>(&self, attempt: Attempt, act: impl FnOnce() -> R) -> Option<R> {
        let asking = self.asking.lock();
        (*asking == Some(attempt)).then(act)
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word.load(Ordering::Acquire);
        f.debug_struct("Node").field("attempt", &(word >> COUNT_BITS)).field("awaited", &(word & COUNT)).finish()
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use std::time::Duration;

    fn node() -> Arc<Node> {
        Node::new(3, Waiter::thread(Duration::ZERO))
    }

    #[test]
    fn the_last_grant_of_an_attempt_is_told_apart() {
        let node = node();
        let attempt = node.begin(2);
        assert!(!node.is_granted(attempt));
        assert!(!node.grant(attempt, PartitionId(0), Ticket(7)));
        assert!(node.grant(attempt, PartitionId(2), Ticket(9)));
        assert!(node.is_granted(attempt));
        assert_eq!([0, 2].map(|partition| node.ticket(PartitionId(partition))), [Ticket(7), Ticket(9)]);
        assert!(!node.grant(attempt, PartitionId(1), Ticket(1)), "nobody asked for it");
        assert!(node.is_granted(attempt));
    }

    #[test]
    fn what_was_meant_for_an_attempt_is_nothing_to_the_next() {
        let node = node();
        let first = node.begin(1);
        assert_eq!(node.while_asking(first, || 1), Some(1));
        node.withdraw();
        assert_eq!(node.while_asking(first, || 1), None);
        let second = node.begin(1);
        assert_eq!((node.while_asking(first, || 1), node.while_asking(second, || 2)), (None, Some(2)));
        assert!(!node.grant(first, PartitionId(0), Ticket(0)) && !node.is_granted(second));
        assert!(node.grant(second, PartitionId(0), Ticket(0)) && node.is_granted(second));
    }

    #[test]
    fn a_refusal_is_of_one_attempt() {
        let node = node();
        let first = node.begin(2);
        assert!(!node.is_refused(first));
        let second = node.begin(2);
        node.refuse(second);
        node.refuse(first);
        assert!(node.is_refused(second) && !node.is_granted(second), "whatever comes late");
        let third = node.begin(2);
        assert!(!node.is_refused(third));
    }
}
