//! VLLR as a lock manager of its own: counters, and the queue of transactions.

use super::queue::TxnQueue;
use super::{KeyRange, Prefixing, RangeLockManager, TxnNumber};
use crate::shared::range_locks::subtrees::{Counts, SubtreeAnalysis, Subtrees};
use hotrow_txn::Statistics;

/// Locks prefixes of keys (§2.7).
pub struct Vllr {
    prefixing: Prefixing,
    counters: Subtrees,
    queue: TxnQueue,
    /// What each transaction has requested.
    requests: Vec<Counts>,
    /// Looks for blocked transactions that can be granted their ranges (§2.6), if that is wanted.
    analysis: Option<SubtreeAnalysis>,
}

impl Vllr {
    /// Nothing is locked.
    pub fn new(prefixing: Prefixing) -> Self {
        Self {
            prefixing,
            counters: Subtrees::default(),
            queue: TxnQueue::default(),
            requests: Vec::new(),
            analysis: None,
        }
    }

    /// The same with selective contention analysis.
    pub fn with_analysis(prefixing: Prefixing) -> Self {
        Self { analysis: Some(SubtreeAnalysis::default()), ..Self::new(prefixing) }
    }
}

impl RangeLockManager for Vllr {
    fn request(&mut self, txn: TxnNumber, range: KeyRange, exclusive: bool) -> bool {
        if self.requests.len() <= txn as usize {
            self.requests.resize_with(txn as usize + 1, Counts::default);
        }
        let Self { prefixing, counters, requests, .. } = self;
        let request = &mut requests[txn as usize];
        let mut granted = true;
        prefixing.each(range, |prefix| granted &= counters.request(prefix, exclusive, request));
        self.queue.enqueue(txn, granted);
        granted
    }

    fn release(&mut self, txn: TxnNumber, granted: &mut Vec<TxnNumber>) {
        self.counters.release(&mut self.requests[txn as usize]);
        granted.extend(self.queue.remove(txn));
    }

    fn find_work(&mut self, granted: &mut Vec<TxnNumber>) {
        let Self { queue, requests, analysis: Some(analysis), .. } = self else { return };
        let before = granted.len();
        let walk = queue.iter().map(|(txn, is_blocked)| (txn, is_blocked, &requests[txn as usize]));
        analysis.find(walk, granted);
        granted[before..].iter().for_each(|&txn| queue.unblock(txn));
    }

    fn count(&self, statistics: &mut Statistics) {
        let counts = self.analysis.as_ref().map(SubtreeAnalysis::counts).unwrap_or_default();
        statistics.analyses += counts.runs;
        statistics.analyses_found += counts.found;
        statistics.analyses_bits += counts.bits;
    }

    fn is_idle(&self) -> bool {
        self.counters.is_empty() && self.queue.is_empty()
    }
}
