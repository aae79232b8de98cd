//! The lock of a partition: a word that one exchange takes, and a queue behind it.
//!
//! **Definitions.** The word is *free*; or *held*, by one transaction; or *awaited*: held, while others stand in the
//! queue.
//!
//! **Invariants**
//!
//! 1. Any transaction turns the word from free to held, and holds the lock then. The holder turns it from held to free.
//!    Both are exchanges that fail if the word is anything else.
//! 2. Every other change of the word is made under the queue's latch. While the latch is free, the word is awaited
//!    exactly if the queue is not empty.
//! 3. The holder cannot free a word that is awaited: it takes the latch and hands the lock to the front of the queue,
//!    and the word stays held or awaited. So transactions that come while others queue do not overtake them.
//! 4. A place in the queue is taken out under the latch: by the holder, which marks it as granted, or by its own
//!    transaction, which gives up. A transaction that gives up and is not in the queue any more holds the lock.
//!
//! **No wake-up is lost.** A transaction that queues marks the word under the latch, in one step with the look at it:
//! either the word was free, and the transaction has the lock, or the holder meets the mark (2). The holder then finds
//! the place under the latch (3), and marks it as granted before it wakes its transaction.

use crate::shared::parked::Parked;
use hotrow_sync::atomic::{AtomicU32, Ordering};
use hotrow_sync::{Arc, CachePadded, Latch};
use std::collections::VecDeque;

const FREE: u32 = 0;
const HELD: u32 = 1;
const AWAITED: u32 = HELD | 2;

/// The lock of one partition, which one transaction holds at a time. It is not re-entrant.
///
/// The word has cache lines of its own, which stay with the worker that uses the partition alone.
///
/// **Thread safety.** Any thread may call all methods; [`release`](Self::release) is for the lock's holder.
#[derive(Default)]
pub(super) struct PartitionLock {
    word: CachePadded<AtomicU32>,
    queue: CachePadded<Latch<VecDeque<Arc<Parked>>>>,
}

impl PartitionLock {
    /// Takes the lock, if it is free. Returns whether it was taken.
    #[inline]
    pub(super) fn try_take(&self) -> bool {
        // Relaxed on failure: nothing is read then.
        self.word.0.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes the lock, if a look at it says that it is free. A transaction that spins calls this: as long as the lock
    /// is held, it leaves the word's line with the holder.
    pub(super) fn look_and_take(&self) -> bool {
        // Relaxed: only a hint that the exchange is worth its cache-line transfer.
        self.word.0.load(Ordering::Relaxed) == FREE && self.try_take()
    }

    /// Takes the lock, if it is free, or queues for it. Returns whether it was taken. If not, `parked` is granted when
    /// its turn comes, and is woken then.
    pub(super) fn take_or_queue(&self, parked: &Arc<Parked>) -> bool {
        let mut queue = self.queue.0.lock();
        if self.word.0.fetch_or(AWAITED, Ordering::AcqRel) == FREE {
            // The lock is this transaction's, and no other one is in the queue.
            self.word.0.store(HELD, Ordering::Release);
            return true;
        }
        queue.push_back(parked.clone());
        false
    }

    /// Takes a transaction out of the queue. Returns `false` if it is not there any more: it holds the lock.
    pub(super) fn withdraw(&self, parked: &Arc<Parked>) -> bool {
        let mut queue = self.queue.0.lock();
        let Some(position) = queue.iter().position(|other| Arc::ptr_eq(other, parked)) else { return false };
        queue.remove(position);
        if queue.is_empty() {
            self.word.0.store(HELD, Ordering::Release);
        }
        true
    }

    /// Gives the lock to the front of the queue, or frees it.
    #[inline]
    pub(super) fn release(&self) {
        // Relaxed on failure: the latch comes next.
        if self.word.0.compare_exchange(HELD, FREE, Ordering::Release, Ordering::Relaxed).is_err() {
            self.hand_over();
        }
    }

    #[cold]
    fn hand_over(&self) {
        let mut queue = self.queue.0.lock();
        let next = queue.pop_front();
        if queue.is_empty() {
            // Without a next one, all have given up since the holder looked.
            self.word.0.store(if next.is_some() { HELD } else { FREE }, Ordering::Release);
        }
        next.iter().for_each(|next| next.grant());
        drop(queue);
        next.iter().for_each(|next| next.wake());
    }

    /// Returns the number of transactions in the queue, and whether the lock is held.
    #[cfg(all(test, not(loom)))]
    pub(super) fn usage(&self) -> (usize, bool) {
        let queue = self.queue.0.lock();
        (queue.len(), self.word.0.load(Ordering::Acquire) != FREE)
    }

    /// Checks the invariants.
    pub(super) fn audit(&self) -> Result<(), String> {
        let queue = self.queue.0.lock();
        let word = self.word.0.load(Ordering::Acquire);
        if (word == AWAITED) == queue.is_empty() || ![FREE, HELD, AWAITED].contains(&word) {
            return Err(format!("the word is {word} with {} in the queue", queue.len()));
        }
        match queue.iter().filter(|parked| parked.is_granted()).count() {
            0 => Ok(()),
            granted => Err(format!("{granted} of the queue are granted")),
        }
    }
}
