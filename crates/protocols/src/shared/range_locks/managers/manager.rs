//! The interface of the range lock managers, and how they make prefixes of ranges.

use super::super::subtrees::BitPrefix;
use super::super::{BitRange, Cover, Granularity, KeySpace, PrefixLocks};
use hotrow_txn::Statistics;

/// Keys from one number to another, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The least key.
    pub first: u64,
    /// The greatest key. It is not below `first`.
    pub last: u64,
}

impl KeyRange {
    /// Whether any key is in both ranges.
    #[inline]
    pub fn overlaps(self, other: KeyRange) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// The rule by which a range of keys is covered with prefixes, which are locked in its place.
#[derive(Clone, Copy, Debug)]
pub struct Prefixing {
    space: KeySpace,
    key_bits: u32,
    cover: Cover,
}

impl Prefixing {
    /// Returns the paper's prefixing: a range is locked by the longest prefix that its keys have in common, and each
    /// bit is a level. Keys have `key_bits` bits, 1 to 64.
    pub fn common(key_bits: u32) -> Self {
        Self { space: KeySpace::of_bits(Granularity::BITS), key_bits, cover: Cover::CommonPrefix }
    }

    /// Returns a prefixing in which prefixes end every `bits_per_level` bits, and a range is covered with at most
    /// `prefixes` of them: exactly, if so many are enough. Keys have `key_bits` bits, 1 to 64. Returns `None` if
    /// `bits_per_level` is not a power of two up to 64.
    pub fn new(key_bits: u32, bits_per_level: u32, prefixes: usize) -> Option<Self> {
        let granularity = Granularity::new(bits_per_level, u128::BITS)?;
        let cover = if prefixes > 1 { Cover::Exact { at_most: prefixes } } else { Cover::CommonPrefix };
        Some(Self { space: KeySpace::of_bits(granularity), key_bits, cover })
    }

    /// Calls `visit` with the prefixes of a range, one after the other.
    #[inline]
    pub(super) fn each(&self, range: KeyRange, mut visit: impl FnMut(BitPrefix)) {
        if self.cover == Cover::CommonPrefix {
            let unused = u64::BITS - self.key_bits;
            let bits = range.first << unused;
            let common = (bits ^ (range.last << unused | !(u64::MAX << unused))).leading_zeros();
            let depth = self.space.level_above(common);
            return visit(BitPrefix { bits, depth });
        }
        for prefix in self.space.cover(self.bits(range), self.cover) {
            visit(BitPrefix { bits: (prefix.first() >> 64) as u64, depth: prefix.depth() });
        }
    }

    /// Returns the keys of a range as bit strings.
    fn bits(&self, range: KeyRange) -> BitRange {
        let unused = u128::BITS - self.key_bits;
        let first = u128::from(range.first) << unused;
        BitRange { first, last: u128::from(range.last) << unused | ((1 << unused) - 1) }
    }

    /// Replaces the prefixes in `locks` by those of a range.
    #[inline]
    pub(super) fn fill(&self, locks: &mut PrefixLocks, range: KeyRange, exclusive: bool) {
        locks.clear();
        let bits = self.bits(range);
        if self.cover == Cover::CommonPrefix {
            return locks.push(self.space.common_prefix(bits), exclusive);
        }
        for prefix in self.space.cover(bits, self.cover) {
            locks.push(prefix, exclusive);
        }
    }
}

/// The number of a transaction, by which managers index their arrays. No two transactions have the same number at the
/// same time. Numbers of transactions that have ended should be reused, because the memory of a manager grows with the
/// greatest number.
pub type TxnNumber = u32;

/// A manager of locks on ranges of keys, one range for each transaction.
pub trait RangeLockManager {
    /// Requests a range for a transaction that has none, and returns whether it is granted. If not,
    /// [`release`](Self::release) or [`find_work`](Self::find_work) grants it later.
    fn request(&mut self, txn: TxnNumber, range: KeyRange, exclusive: bool) -> bool;

    /// Gives back the range of a transaction, which must have been granted. Adds to `granted` the transactions whose
    /// ranges are granted because of that.
    fn release(&mut self, txn: TxnNumber, granted: &mut Vec<TxnNumber>);

    /// Looks for ranges that can be granted, for a caller that has nothing else to do. Grants at least one transaction
    /// its range, if the manager can find one. These transactions are added to `granted`.
    fn find_work(&mut self, _granted: &mut Vec<TxnNumber>) {}

    /// Adds the work of [`find_work`](Self::find_work) to the statistics.
    fn count(&self, _statistics: &mut Statistics) {}

    /// Whether nothing is left of any request, after all ranges were given back.
    fn is_idle(&self) -> bool;
}
