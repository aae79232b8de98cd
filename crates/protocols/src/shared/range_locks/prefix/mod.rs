//! Ranges of keys as sets of bit-string prefixes.
//!
//! A key is the string of its bits: a byte string as it is, an integer as its eight big-endian bytes with the sign
//! flipped, so that the order of the strings is that of the keys. All keys that begin with the same bits are a subtree
//! of the index; its [`Prefix`] stands for it. The empty string stands for the whole index, and is locked like any
//! other.
//!
//! A prefix ends at a *level*: every [`bits_per_level`](Granularity::bits_per_level) bits, down to
//! [`depth_bits`](Granularity::depth_bits). A transaction that locks a single key that is longer locks a leaf below the
//! last level, which is the key's own; a range that would end below the last level is locked at the last level.
//!
//! **Assumption.** No key of an index is the beginning of another one of it. `hotrow_storage::Key`s have this from
//! their columns, each of which says in its bytes where it ends; the bounds of a scan may end anywhere.
//!
//! **From a range to prefixes.** Bounds become numbers of 128 bits, the leading ones of the bit strings that are barely
//! in: the lower one goes on with zeros, the upper one with ones. All keys in the range lie between the two. Either
//! generator returns prefixes so that each number between the two has one of them as its prefix:
//!
//! - [`Cover::CommonPrefix`], one prefix: what the two ends have in common.
//! - [`Cover::Exact`] (footnote 3 of the paper), the fewest prefixes that have nothing but the range below them, from
//!   left to right. If they would be too many, an end of the range is rounded to the level down to which they are not.

use crate::shared::contention::Claim;
use hotrow_storage::{IndexRef, Key, TableId, mix};
use smallvec::SmallVec;
use std::ops::Bound;

/// The number of leading bits of a key that prefixes can have.
const KEY_BITS: u32 = 128;

/// The depths at which prefixes end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Granularity {
    bits_per_level: u32,
    depth_bits: u32,
}

impl Granularity {
    /// The granularity of the paper: each bit is a level.
    pub(crate) const BITS: Granularity = Granularity { bits_per_level: 1, depth_bits: KEY_BITS };

    /// Makes a granularity with a level every `bits_per_level` bits, a power of two up to 64, down to `depth_bits`, a
    /// multiple of it up to 128. Returns `None` for other numbers. A transaction that locks a key counts once for each
    /// level. A transaction that locks a range conflicts with requests beside the range, on the last level that they
    /// share.
    pub(crate) fn new(bits_per_level: u32, depth_bits: u32) -> Option<Self> {
        let levels = bits_per_level.is_power_of_two() && bits_per_level <= 64;
        let depth = (bits_per_level..=KEY_BITS).contains(&depth_bits) && depth_bits.is_multiple_of(bits_per_level);
        (levels && depth).then_some(Self { bits_per_level, depth_bits })
    }
}

impl Default for Granularity {
    /// Returns the granularity of two bytes a level: an eight-byte key counts five times, and a composite key of
    /// integers has levels where its columns end.
    fn default() -> Self {
        Self { bits_per_level: 16, depth_bits: KEY_BITS }
    }
}

/// The way in which a range becomes prefixes (§2.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Cover {
    /// The range is covered by the longest prefix that all of it has: one lock, as a rule on more than the range.
    #[default]
    CommonPrefix,
    /// The range is covered exactly, unless that takes more prefixes than this.
    Exact {
        /// The most prefixes of one range.
        at_most: usize,
    },
}

/// A key space that is locked prefix by prefix: the keys of one index, or of anything else that is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeySpace {
    /// The name of the whole key space.
    root: u64,
    granularity: Granularity,
}

/// The leading bits of some keys. The [`name`](Self::name)s of all prefixes of this one, and its own, can be computed
/// from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    space: KeySpace,
    /// The bits, from the most significant one. All bits beyond `depth` are zero.
    bits: u128,
    /// The number of bits that count: a multiple of the space's bits per level.
    depth: u32,
    /// The name of the one key, if this is a leaf below the last level.
    leaf: Option<u64>,
}

/// Keys of a [`KeySpace`] from one number to another, both inclusive, as the leading bits of bit strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BitRange {
    /// The least number.
    pub(crate) first: u128,
    /// The greatest number. It is not below `first`.
    pub(crate) last: u128,
}

/// The prefixes that cover one range.
pub(crate) type Prefixes = SmallVec<[Prefix; 1]>;

impl KeySpace {
    /// Returns the key space of an index.
    pub(crate) fn of_index(table: TableId, index: IndexRef, granularity: Granularity) -> Self {
        let index = match index {
            IndexRef::Primary => 0,
            IndexRef::Secondary(index) => u64::from(index.0) + 1,
        };
        Self { root: mix((u64::from(table.0) << 32 | index) ^ 0x5851_F42D_4C95_7F2D), granularity }
    }

    /// Returns the key space of bit strings that are not the keys of a particular index.
    pub(crate) fn of_bits(granularity: Granularity) -> Self {
        Self { root: mix(0x1405_7B7E_F767_814F), granularity }
    }

    /// Returns the prefix of one key, which no other key begins with.
    pub(crate) fn point(self, key: &Key) -> Prefix {
        let (bits, length) = leading_bits(key);
        let Granularity { bits_per_level, depth_bits } = self.granularity;
        let depth = length.next_multiple_of(bits_per_level);
        if depth <= depth_bits {
            return Prefix { space: self, bits, depth, leaf: None };
        }
        let leaf = mix(self.root ^ key.hash64().rotate_left(32));
        Prefix { leaf: Some(leaf), ..self.at(bits, depth_bits) }
    }

    /// Returns the prefixes that cover the keys between two bounds of a scan. As in a scan, a bound that is the
    /// beginning of some keys stands for all of them. Returns no prefixes if no key can be between the bounds.
    pub(crate) fn range(self, lower: &Bound<Key>, upper: &Bound<Key>, cover: Cover) -> Prefixes {
        BitRange::between(lower.as_ref(), upper.as_ref()).map_or_else(Prefixes::new, |range| self.cover(range, cover))
    }

    /// Returns the prefixes that cover a range of bit strings.
    pub(crate) fn cover(self, range: BitRange, cover: Cover) -> Prefixes {
        debug_assert!(range.first <= range.last, "{range:?}");
        match cover {
            Cover::CommonPrefix => Prefixes::from_elem(self.common_prefix(range), 1),
            Cover::Exact { at_most } => self.exact(range, at_most as u128),
        }
    }

    /// Returns the longest prefix that all of the range has.
    #[inline]
    pub(crate) fn common_prefix(self, range: BitRange) -> Prefix {
        self.at(range.first, self.level_above((range.first ^ range.last).leading_zeros()))
    }

    /// Returns neighbouring prefixes of one level that cover a range, from left to right: at the deepest level at which
    /// they are no more than `at_most`.
    ///
    /// The level of a range is never above that of a range that contains it.
    pub(crate) fn neighbours(self, range: BitRange, at_most: u128) -> impl Iterator<Item = Prefix> {
        debug_assert!(range.first <= range.last && at_most > 0, "{range:?}");
        let Granularity { bits_per_level, depth_bits } = self.granularity;
        let at = |bits: u128, depth: u32| bits.checked_shr(KEY_BITS - depth).unwrap_or(0);
        let is_covered = |&depth: &u32| at(range.last, depth) - at(range.first, depth) < at_most;
        let levels = (0..=depth_bits).step_by(bits_per_level as usize);
        let depth = levels.take_while(is_covered).last().unwrap_or(0);
        let numbers = at(range.first, depth)..=at(range.last, depth);
        numbers.map(move |number| self.at(number.checked_shl(KEY_BITS - depth).unwrap_or(0), depth))
    }

    /// Returns the deepest level that is not below a depth, as a number of bits.
    #[inline]
    pub(crate) fn level_above(self, depth: u32) -> u32 {
        let Granularity { bits_per_level, depth_bits } = self.granularity;
        // Bits per level are a power of two.
        depth.min(depth_bits) & !(bits_per_level - 1)
    }

    /// Returns the fewest prefixes that have nothing but the range below them. Goes down from the common prefix along
    /// both ends of the range, level by level. At each level, what lies beside the path inwards is in the range as a
    /// whole.
    fn exact(self, range: BitRange, at_most: u128) -> Prefixes {
        let BitRange { first, last } = range;
        let Granularity { bits_per_level, depth_bits } = self.granularity;
        let top = self.common_prefix(range);
        if top.depth == depth_bits || (first == top.first() && last == top.last()) {
            return Prefixes::from_elem(top, 1);
        }
        let below = top.depth + bits_per_level;
        let mut count = self.digit(last, below) - self.digit(first, below) + 1;
        if count > at_most {
            return Prefixes::from_elem(top, 1);
        }
        let greatest = (1 << bits_per_level) - 1;
        let (mut left, mut right) = (self.at(first, below), self.at(last, below));
        let (mut left_ends, mut right_ends) = (false, false);
        while !(left_ends && right_ends) {
            left_ends = left_ends || left.depth == depth_bits || left.first() == first;
            if !left_ends {
                let down = self.at(first, left.depth + bits_per_level);
                let more = greatest - self.digit(first, down.depth);
                left_ends = count + more > at_most;
                (left, count) = if left_ends { (left, count) } else { (down, count + more) };
            }
            right_ends = right_ends || right.depth == depth_bits || right.last() == last;
            if !right_ends {
                let down = self.at(last, right.depth + bits_per_level);
                let more = self.digit(last, down.depth);
                right_ends = count + more > at_most;
                (right, count) = if right_ends { (right, count) } else { (down, count + more) };
            }
        }
        let mut found = Prefixes::from_elem(left, 1);
        let level = bits_per_level as usize;
        for depth in (below + bits_per_level..=left.depth).rev().step_by(level) {
            self.push_siblings(first, depth, self.digit(first, depth) + 1..greatest + 1, &mut found);
        }
        self.push_siblings(first, below, self.digit(first, below) + 1..self.digit(last, below), &mut found);
        for depth in (below + bits_per_level..=right.depth).step_by(level) {
            self.push_siblings(last, depth, 0..self.digit(last, depth), &mut found);
        }
        found.push(right);
        debug_assert_eq!(found.len() as u128, count);
        found
    }

    fn push_siblings(self, of: u128, depth: u32, digits: std::ops::Range<u128>, found: &mut Prefixes) {
        let parent = self.at(of, depth - self.granularity.bits_per_level).bits;
        found.extend(digits.map(|digit| self.at(parent | digit << (KEY_BITS - depth), depth)));
    }

    /// Returns the bits of the level that ends at `depth`.
    fn digit(self, bits: u128, depth: u32) -> u128 {
        bits >> (KEY_BITS - depth) & ((1 << self.granularity.bits_per_level) - 1)
    }

    /// Returns the prefix of a number that ends at a level.
    #[inline]
    pub(crate) fn at(self, bits: u128, depth: u32) -> Prefix {
        Prefix { space: self, bits: bits & leading_ones(depth), depth, leaf: None }
    }

    /// Returns the name of the first `depth` of `bits`. Different prefixes share a name with probability 2^-64. They
    /// are then locked as if they were one.
    #[inline]
    fn name(self, bits: u128, depth: u32) -> u64 {
        let bits = bits & leading_ones(depth);
        let seed = self.root ^ u64::from(depth).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let upper = mix(seed ^ (bits >> 64) as u64);
        if depth <= 64 { upper } else { mix(upper ^ bits as u64) }
    }
}

impl BitRange {
    /// Returns the range of the keys between two bounds of a scan, or `None` if no key can be between them.
    pub(crate) fn between(lower: Bound<&Key>, upper: Bound<&Key>) -> Option<Self> {
        let (first, last) = (first_of(lower)?, last_of(upper)?);
        (first <= last).then_some(Self { first, last })
    }

    /// Returns the number of a key: its first bits, and zeros behind them. The number lies in the range of whatever
    /// bounds the key lies between.
    pub(crate) fn number(key: &Key) -> u128 {
        leading_bits(key).0
    }
}

impl Prefix {
    /// Returns the number of the prefix's bits. A leaf has as many as a prefix of the last level.
    pub(crate) fn depth(self) -> u32 {
        self.depth
    }

    /// Returns the name of the prefix in lock tables.
    #[inline]
    pub(crate) fn name(self) -> u64 {
        self.leaf.unwrap_or_else(|| self.space.name(self.bits, self.depth))
    }

    /// Returns the names of the strict prefixes of this one, the whole space first.
    #[inline]
    pub(crate) fn names_above(self) -> impl Iterator<Item = u64> {
        let end = self.depth + u32::from(self.leaf.is_some());
        (0..end)
            .step_by(self.space.granularity.bits_per_level as usize)
            .map(move |depth| self.space.name(self.bits, depth))
    }

    /// Returns the counts of a lock on this prefix: an intention on each strict prefix, and the lock.
    #[inline]
    pub(crate) fn counted(self, exclusive: bool) -> impl Iterator<Item = (u64, Claim)> {
        let (intention, lock) = match exclusive {
            true => (Claim::IntendExclusive, Claim::Exclusive),
            false => (Claim::IntendShared, Claim::Shared),
        };
        self.names_above().map(move |name| (name, intention)).chain(std::iter::once_with(move || (self.name(), lock)))
    }

    /// Returns the least number that has this prefix.
    pub(crate) fn first(self) -> u128 {
        self.bits
    }

    /// Returns the greatest number that has this prefix.
    pub(crate) fn last(self) -> u128 {
        self.bits | !leading_ones(self.depth)
    }
}

#[inline]
fn leading_ones(count: u32) -> u128 {
    // A shift by all bits is no shift.
    u128::MAX.checked_shl(KEY_BITS - count).unwrap_or(0)
}

/// Returns the first bits of a key, and how many bits it has, at most as many as prefixes can have.
fn leading_bits(key: &Key) -> (u128, u32) {
    match key {
        Key::Int(int) => (u128::from(*int as u64 ^ 1 << 63) << 64, 64),
        key => {
            let bytes = key.bytes().unwrap_or_default();
            let mut leading = [0; KEY_BITS as usize / 8];
            let length = bytes.len().min(leading.len());
            leading[..length].copy_from_slice(&bytes[..length]);
            (u128::from_be_bytes(leading), u32::try_from(bytes.len() * 8).unwrap_or(u32::MAX))
        }
    }
}

/// Returns the least number in a range with this lower bound, or `None` if there is none.
fn first_of(lower: Bound<&Key>) -> Option<u128> {
    match lower {
        Bound::Unbounded => Some(0),
        Bound::Included(key) => Some(leading_bits(key).0),
        Bound::Excluded(key) => match leading_bits(key) {
            (bits, length) if length <= KEY_BITS => (bits | !leading_ones(length)).checked_add(1),
            (bits, _) => Some(bits),
        },
    }
}

/// Returns the greatest number in a range with this upper bound, or `None` if there is none.
fn last_of(upper: Bound<&Key>) -> Option<u128> {
    match upper {
        Bound::Unbounded => Some(u128::MAX),
        Bound::Included(key) => {
            let (bits, length) = leading_bits(key);
            Some(bits | !leading_ones(length.min(KEY_BITS)))
        }
        Bound::Excluded(key) => match leading_bits(key) {
            (bits, length) if length <= KEY_BITS => bits.checked_sub(1),
            (bits, _) => Some(bits),
        },
    }
}

#[cfg(test)]
mod tests;
