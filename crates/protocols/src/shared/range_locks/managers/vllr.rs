//! VLLR as a lock manager of its own: counters, and the queue of transactions.

use super::manager::{KeyRange, Prefixing, RangeLockManager, TxnNumber};
use super::queue::TxnQueue;
use crate::shared::contention::Analysis;
use crate::shared::range_locks::subtrees::{Counts, SubtreeAnalysis, Subtrees};
use crate::shared::range_locks::{Counted, PrefixCounters, PrefixLocks};
use hotrow_txn::{AnalysisCounts, Statistics};

/// The VLLR manager: it locks prefixes of keys (§2.7), and `C` keeps their counters.
pub struct Vllr<C: PrefixState> {
    prefixing: Prefixing,
    counters: C,
    queue: TxnQueue,
    /// The request of each transaction.
    requests: Vec<C::Request>,
    /// The analysis that looks for blocked transactions whose ranges can be granted (§2.6), if it is wanted.
    analysis: Option<C::Analysis>,
}

/// The lock state of [`Vllr`]: it counts the requests for prefixes, and so finds conflicts between them.
pub trait PrefixState: Default {
    /// The request of one transaction. The next transaction uses the value again.
    type Request: Default;

    /// The state that a contention analysis keeps from one run to the next.
    type Analysis: Default;

    /// Counts the request of a range (RequestLock of Fig. 6). Returns whether it conflicts with none before it.
    fn request(&mut self, prefixing: Prefixing, range: KeyRange, exclusive: bool, request: &mut Self::Request) -> bool;

    /// Takes a request back (ReleaseLock of Fig. 6).
    fn release(&mut self, request: &mut Self::Request);

    /// Whether no request is counted.
    fn is_idle(&self) -> bool;

    /// Adds blocked transactions that conflict with none before them to `found`. `queue` yields each transaction,
    /// whether it is blocked, and its request.
    fn find<'r>(
        analysis: &mut Self::Analysis,
        queue: impl Iterator<Item = (TxnNumber, bool, &'r Self::Request)>,
        found: &mut Vec<TxnNumber>,
    ) where
        Self::Request: 'r;

    /// Returns the statistics of all runs of the analysis.
    fn counts(analysis: &Self::Analysis) -> AnalysisCounts;
}

/// The paper's lock state: four counters for each prefix, and an analysis with a bit map for each of the four that ends
/// when it has found one transaction. Counters are found by the hash of their prefix (see [`PrefixCounters`]).
#[derive(Default)]
pub struct FourCounters(PrefixCounters);

impl PrefixState for FourCounters {
    type Request = PrefixLocks;
    type Analysis = Analysis;

    fn request(&mut self, prefixing: Prefixing, range: KeyRange, exclusive: bool, request: &mut PrefixLocks) -> bool {
        prefixing.fill(request, range, exclusive);
        let granted = self.0.request_once(request.counted());
        granted.expect("a thread has fewer transactions than a counter can count")
    }

    fn release(&mut self, request: &mut PrefixLocks) {
        self.0.release(request.counted());
    }

    fn is_idle(&self) -> bool {
        self.0.is_empty()
    }

    fn find<'r>(
        analysis: &mut Analysis,
        queue: impl Iterator<Item = (TxnNumber, bool, &'r PrefixLocks)>,
        found: &mut Vec<TxnNumber>,
    ) {
        let marks = |request: &'r PrefixLocks| request.counted().iter().map(|counted: &Counted| counted.mark());
        found.extend(analysis.find(queue.map(|(txn, is_blocked, request)| (txn, is_blocked, marks(request)))));
    }

    fn counts(analysis: &Analysis) -> AnalysisCounts {
        analysis.counts()
    }
}

/// The lock state that counts six levels of prefixes at a step, with an exact analysis that finds all transactions that
/// can run: see [`Subtrees`].
#[derive(Default)]
pub struct Blocks(Subtrees);

impl PrefixState for Blocks {
    type Request = Counts;
    type Analysis = SubtreeAnalysis;

    fn request(&mut self, prefixing: Prefixing, range: KeyRange, exclusive: bool, request: &mut Counts) -> bool {
        let mut granted = true;
        prefixing.each(range, |prefix| granted &= self.0.request(prefix, exclusive, request));
        granted
    }

    fn release(&mut self, request: &mut Counts) {
        self.0.release(request);
    }

    fn is_idle(&self) -> bool {
        self.0.is_empty()
    }

    fn find<'r>(
        analysis: &mut SubtreeAnalysis,
        queue: impl Iterator<Item = (TxnNumber, bool, &'r Counts)>,
        found: &mut Vec<TxnNumber>,
    ) {
        analysis.find(queue, found);
    }

    fn counts(analysis: &SubtreeAnalysis) -> AnalysisCounts {
        analysis.counts()
    }
}

impl<C: PrefixState> Vllr<C> {
    /// Makes a manager without analysis, in which nothing is locked.
    pub fn new(prefixing: Prefixing) -> Self {
        Self { prefixing, counters: C::default(), queue: TxnQueue::default(), requests: Vec::new(), analysis: None }
    }

    /// Makes a manager with selective contention analysis, in which nothing is locked.
    pub fn with_analysis(prefixing: Prefixing) -> Self {
        Self { analysis: Some(C::Analysis::default()), ..Self::new(prefixing) }
    }
}

impl<C: PrefixState> RangeLockManager for Vllr<C> {
    fn request(&mut self, txn: TxnNumber, range: KeyRange, exclusive: bool) -> bool {
        if self.requests.len() <= txn as usize {
            self.requests.resize_with(txn as usize + 1, C::Request::default);
        }
        let granted = self.counters.request(self.prefixing, range, exclusive, &mut self.requests[txn as usize]);
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
        C::find(analysis, walk, granted);
        granted[before..].iter().for_each(|&txn| queue.unblock(txn));
    }

    fn count(&self, statistics: &mut Statistics) {
        statistics.analyses.add(&self.analysis.as_ref().map(C::counts).unwrap_or_default());
    }

    fn is_idle(&self) -> bool {
        self.counters.is_idle() && self.queue.is_empty()
    }
}
