//! VLL without ranges: a lock for each key of the range.

use super::queue::TxnQueue;
use super::{KeyRange, RangeLockManager, TxnNumber};

/// Locks every key in a range (§3.4.2). The counters of all keys are in two arrays (§2.2), which is the cheapest there is for keys
/// that follow each other.
pub struct Records {
    /// C_X of each key.
    exclusive: Box<[u32]>,
    /// C_S of each key.
    shared: Box<[u32]>,
    queue: TxnQueue,
    requests: Vec<(KeyRange, bool)>,
}

impl Records {
    /// The most bits that keys may have: their counters take 128 MiB then.
    pub const KEY_BITS_MAX: u32 = 24;

    /// For keys of so many bits.
    pub fn new(key_bits: u32) -> Self {
        let zeros = || vec![0; 1 << key_bits].into_boxed_slice();
        Self { exclusive: zeros(), shared: zeros(), queue: TxnQueue::default(), requests: Vec::new() }
    }
}

impl RangeLockManager for Records {
    fn request(&mut self, txn: TxnNumber, range: KeyRange, exclusive: bool) -> bool {
        if self.requests.len() <= txn as usize {
            self.requests.resize(txn as usize + 1, (range, exclusive));
        }
        self.requests[txn as usize] = (range, exclusive);
        let keys = range.first as usize..=range.last as usize;
        let (counted_exclusive, counted_shared) = (&mut self.exclusive[keys.clone()], &mut self.shared[keys]);
        let mut conflicts = 0;
        if exclusive {
            for (exclusive, shared) in counted_exclusive.iter_mut().zip(counted_shared) {
                conflicts |= *exclusive | *shared;
                *exclusive += 1;
            }
        } else {
            for (exclusive, shared) in counted_exclusive.iter_mut().zip(counted_shared) {
                conflicts |= *exclusive;
                *shared += 1;
            }
        }
        self.queue.enqueue(txn, conflicts == 0);
        conflicts == 0
    }

    fn release(&mut self, txn: TxnNumber, granted: &mut Vec<TxnNumber>) {
        let (KeyRange { first, last }, exclusive) = self.requests[txn as usize];
        let counters = if exclusive { &mut self.exclusive } else { &mut self.shared };
        counters[first as usize..=last as usize].iter_mut().for_each(|counter| *counter -= 1);
        granted.extend(self.queue.remove(txn));
    }

    fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.exclusive.iter().chain(&self.shared).all(|&counter| counter == 0)
    }
}
