//! A lock manager that knows ranges exactly: a sorted map of them, each with its queue of requests.

use super::manager::{KeyRange, RangeLockManager, TxnNumber};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The standard range lock manager: it splits ranges where they overlap in part (§3.4.1), so that all keys of a range
/// in the map are requested by the same transactions. A range of which nothing has been requested is not in the map.
#[derive(Default)]
pub struct Standard {
    /// The ranges by their first keys. They do not overlap.
    ranges: BTreeMap<u64, Fragment>,
    transactions: Vec<Requested>,
}

/// A range of the map, without its first key.
#[derive(Clone, Debug)]
struct Fragment {
    last: u64,
    queue: Queue,
}

/// The requests of one range, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
struct Queue(SmallVec<[Request; 2]>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Request {
    txn: TxnNumber,
    exclusive: bool,
    is_granted: bool,
}

/// The request of a transaction.
#[derive(Clone, Copy, Debug)]
struct Requested {
    range: KeyRange,
    /// The number of fragments in which the request has not been granted.
    missing: u32,
}

impl Standard {
    /// Makes a manager without ranges.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns all ranges in the map, and the transactions that have requested them.
    #[cfg(test)]
    pub(super) fn ranges(&self) -> impl Iterator<Item = (u64, u64, Vec<TxnNumber>)> {
        let queue = |queue: &Queue| queue.0.iter().map(|request| request.txn).collect();
        self.ranges.iter().map(move |(&first, fragment)| (first, fragment.last, queue(&fragment.queue)))
    }

    /// Splits the fragment that begins before `key` and goes on from there, if there is one.
    fn split(&mut self, key: u64) {
        let Some((_, before)) = self.ranges.range_mut(..key).next_back() else { return };
        if before.last < key {
            return;
        }
        let behind = before.clone();
        before.last = key - 1;
        for waiting in behind.queue.0.iter().filter(|request| !request.is_granted) {
            self.transactions[waiting.txn as usize].missing += 1;
        }
        self.ranges.insert(key, behind);
    }
}

impl RangeLockManager for Standard {
    fn request(&mut self, txn: TxnNumber, range: KeyRange, exclusive: bool) -> bool {
        let KeyRange { first, last } = range;
        let requested = Requested { range, missing: 0 };
        if self.transactions.len() <= txn as usize {
            self.transactions.resize(txn as usize + 1, requested);
        }
        self.transactions[txn as usize] = requested;
        let alone = || Queue([Request { txn, exclusive, is_granted: true }].into_iter().collect());
        if self.ranges.range(..=last).next_back().is_none_or(|(_, nearest)| nearest.last < first) {
            self.ranges.insert(first, Fragment { last, queue: alone() });
            return true;
        }
        self.split(first);
        if let Some(beyond) = last.checked_add(1) {
            self.split(beyond);
        }
        let mut missing = 0;
        let mut gaps: SmallVec<[KeyRange; 4]> = SmallVec::new();
        let mut next = Some(first);
        for (&begin, fragment) in self.ranges.range_mut(first..=last) {
            if let Some(gap) = next.filter(|&next| next < begin) {
                gaps.push(KeyRange { first: gap, last: begin - 1 });
            }
            missing += u32::from(!fragment.queue.push(txn, exclusive));
            next = fragment.last.checked_add(1);
        }
        if let Some(gap) = next.filter(|&next| next <= last) {
            gaps.push(KeyRange { first: gap, last });
        }
        for gap in gaps {
            self.ranges.insert(gap.first, Fragment { last: gap.last, queue: alone() });
        }
        self.transactions[txn as usize].missing = missing;
        missing == 0
    }

    fn release(&mut self, txn: TxnNumber, granted: &mut Vec<TxnNumber>) {
        let Requested { range: KeyRange { first, last }, .. } = self.transactions[txn as usize];
        if let Entry::Occupied(only) = self.ranges.entry(first)
            && only.get().last == last
            && only.get().queue.0.len() == 1
        {
            only.remove();
            return;
        }
        let transactions = &mut self.transactions;
        let mut empty: SmallVec<[u64; 4]> = SmallVec::new();
        for (&begin, fragment) in self.ranges.range_mut(first..=last) {
            fragment.queue.remove(txn, |next| {
                let next_missing = &mut transactions[next as usize].missing;
                *next_missing -= 1;
                if *next_missing == 0 {
                    granted.push(next);
                }
            });
            if fragment.queue.0.is_empty() {
                empty.push(begin);
            }
        }
        for begin in empty {
            self.ranges.remove(&begin);
        }
    }

    fn is_idle(&self) -> bool {
        self.ranges.is_empty()
    }
}

impl Queue {
    /// Adds a request, and returns whether it conflicts with none before it.
    fn push(&mut self, txn: TxnNumber, exclusive: bool) -> bool {
        let is_granted = !self.0.iter().any(|before| exclusive || before.exclusive);
        self.0.push(Request { txn, exclusive, is_granted });
        is_granted
    }

    /// Removes a request, and calls `granted` for the requests that conflict with none before them now.
    fn remove(&mut self, txn: TxnNumber, mut granted: impl FnMut(TxnNumber)) {
        self.0.retain(|request| request.txn != txn);
        let mut before_exclusive = false;
        for (position, request) in self.0.iter_mut().enumerate() {
            let conflicts = before_exclusive || request.exclusive && position > 0;
            if !request.is_granted && !conflicts {
                request.is_granted = true;
                granted(request.txn);
            }
            before_exclusive |= request.exclusive;
        }
    }
}
