//! VLLR as a lock manager of its own: counters, and the queue of transactions.

use super::queue::TxnQueue;
use super::{KeyRange, Prefixing, RangeLockManager, TxnNumber};
use crate::shared::contention::Analysis;
use crate::shared::range_locks::{Counted, PrefixCounters, PrefixLocks};

/// Locks prefixes of keys (§2.7).
pub struct Vllr {
    prefixing: Prefixing,
    counters: PrefixCounters,
    queue: TxnQueue,
    /// What each transaction has requested.
    requests: Vec<PrefixLocks>,
    /// Looks for blocked transactions that can be granted their ranges (§2.6), if that is wanted.
    analysis: Option<Analysis>,
}

impl Vllr {
    /// Nothing is locked.
    pub fn new(prefixing: Prefixing) -> Self {
        Self {
            prefixing,
            counters: PrefixCounters::default(),
            queue: TxnQueue::default(),
            requests: Vec::new(),
            analysis: None,
        }
    }

    /// The same with selective contention analysis.
    pub fn with_analysis(prefixing: Prefixing) -> Self {
        Self { analysis: Some(Analysis::default()), ..Self::new(prefixing) }
    }
}

impl RangeLockManager for Vllr {
    fn request(&mut self, txn: TxnNumber, range: KeyRange, exclusive: bool) -> bool {
        if self.requests.len() <= txn as usize {
            self.requests.resize_with(txn as usize + 1, PrefixLocks::default);
        }
        let request = &mut self.requests[txn as usize];
        self.prefixing.fill(request, range, exclusive);
        let requested = self.counters.request(request.counted());
        let granted = requested.expect("there are fewer transaction numbers than a counter counts to");
        self.queue.enqueue(txn, granted);
        granted
    }

    fn release(&mut self, txn: TxnNumber, granted: &mut Vec<TxnNumber>) {
        self.counters.release(self.requests[txn as usize].counted());
        granted.extend(self.queue.remove(txn));
    }

    fn find_work(&mut self) -> Option<TxnNumber> {
        let Self { queue, requests, analysis, .. } = self;
        let marks = |txn: TxnNumber| requests[txn as usize].counted().iter().copied().map(Counted::mark);
        let walk = queue.iter().map(|(txn, is_blocked)| (txn, is_blocked, marks(txn)));
        let found = analysis.as_mut()?.find(walk)?;
        queue.unblock(found);
        Some(found)
    }

    fn is_idle(&self) -> bool {
        self.counters.is_empty() && self.queue.is_empty()
    }
}
