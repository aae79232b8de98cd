//! The interface of the managers, and how they make prefixes of ranges.

use super::super::subtrees::BitPrefix;
use super::super::{BitRange, Cover, Granularity, KeySpace, PrefixLocks};
use hotrow_txn::Statistics;

/// Keys from one number to another, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The least.
    pub first: u64,
    /// The greatest; not below `first`.
    pub last: u64,
}

impl KeyRange {
    /// Whether a key is in both.
    #[inline]
    pub fn overlaps(self, other: KeyRange) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// How ranges become the prefixes that are locked.
#[derive(Clone, Copy, Debug)]
pub struct Prefixing {
    space: KeySpace,
    key_bits: u32,
    cover: Cover,
}

impl Prefixing {
    /// The paper's: a range of keys of so many bits, 1 to 64, is locked by its longest common prefix, bit by bit.
    pub fn common(key_bits: u32) -> Self {
        Self { space: KeySpace::of_bits(Granularity::BITS), key_bits, cover: Cover::CommonPrefix }
    }

    /// Prefixes end every so many bits, and a range may have as many of them: more than one cover exactly the range if
    /// they can. `None` if the bits of a level are no power of two up to 64.
    pub fn new(key_bits: u32, bits_per_level: u32, prefixes: usize) -> Option<Self> {
        let granularity = Granularity::new(bits_per_level, u128::BITS)?;
        let cover = if prefixes > 1 { Cover::Exact { at_most: prefixes } } else { Cover::CommonPrefix };
        Some(Self { space: KeySpace::of_bits(granularity), key_bits, cover })
    }

    /// The prefixes of a range, one after the other.
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

    /// The keys of a range as bit strings.
    fn bits(&self, range: KeyRange) -> BitRange {
        let unused = u128::BITS - self.key_bits;
        let first = u128::from(range.first) << unused;
        BitRange { first, last: u128::from(range.last) << unused | ((1 << unused) - 1) }
    }

    /// Asks for the prefixes of a range, and nothing else.
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

/// A transaction, by a number that no other one has at the same time. Managers have room for every number below the
/// greatest: small ones are used again.
pub type TxnNumber = u32;

/// Grants locks on ranges of keys, one range to a transaction.
pub trait RangeLockManager {
    /// Requests a range for a transaction that has none: whether it is granted. If not, it will be, by
    /// [`release`](Self::release) or [`find_work`](Self::find_work).
    fn request(&mut self, txn: TxnNumber, range: KeyRange, exclusive: bool) -> bool;

    /// Gives the range of a transaction back to which it was granted. Transactions that are granted theirs because of
    /// it are added to `granted`.
    fn release(&mut self, txn: TxnNumber, granted: &mut Vec<TxnNumber>);

    /// For a caller that has nothing else to do: grants at least one transaction its range, if the manager can find one
    /// that can be granted. Those that were are added to `granted`.
    fn find_work(&mut self, _granted: &mut Vec<TxnNumber>) {}

    /// Adds what was done to find work.
    fn count(&self, _statistics: &mut Statistics) {}

    /// Whether nothing is left of any request, once all were given back.
    fn is_idle(&self) -> bool;
}
