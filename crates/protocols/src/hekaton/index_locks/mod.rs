//! Locks on parts of an index, against versions that come to be there: bucket locks and their counterpart in ordered
//! indexes (§4.1.2).
//!
//! The hash of a key is locked, where the paper locks the bucket in which it falls: buckets split while they are
//! locked. In an ordered index a range of keys is locked, exactly. They are locks against phantoms only: no transaction
//! is refused, but one that links a version there ends after the holders of the lock.
//!
//! A primary key can be *kept*, too: its row stays, whatever else becomes of it, as a foreign key asks of the row that
//! it refers to. A transaction that deletes the row ends after the transactions that keep the key; a transaction that
//! replaces the row by another version does not look for them.
//!
//! **Where a range is looked for.** The keys of an ordered index are divided into *blocks*, by their first bits, and
//! each block into sixteen smaller ones: see [`prefix`](crate::shared::range_locks). A range stands in the one or two
//! neighbouring blocks of one level that cover it, at the deepest level at which so few do. A transaction that links a
//! version looks in the blocks that contain its key, one of each level at which a range was ever locked. So
//!
//! - it reads a few words that only transactions write that lock a range in one of these blocks, or in the few blocks
//!   that share the word;
//! - it looks at locks only in blocks that contain its key. As a range is longer than a sixteenth of its block, at most
//!   18 disjoint ones are in one block, however many there are elsewhere.
//!
//! *Where this is not so.* Blocks are divided down to the first 128 bits of a key. Ranges of keys that have those in
//! common are in one block.
//!
//! **Invariants**
//!
//! 1. A lock is there before its holder walks, and a version is linked before its maker looks for locks; between the
//!    two each of them has a SeqCst fence. So the walk meets the version, or its maker meets the lock. The same holds
//!    of a key that is kept, and of the write lock with which a deletion begins.
//! 2. The level of a range is in `levels` before the range is in a block, and stays there. So a maker that meets the
//!    lock by the fences looks at its level.
//! 3. A scan that ended early replaces its lock by that of a part of the range: the new one is there before the old one
//!    goes. The part's level is at or below that of the whole, and makers look at the blocks of a key from the greatest
//!    to the smallest. So a maker that comes too late for the old lock finds the new one; in one block they are seen
//!    under one latch.

mod stripes;

use super::txn_id::TxnId;
use crate::shared::range_locks::{BitRange, Granularity, KeySpace};
use crate::shared::walk::Range;
use hotrow_storage::{IndexData, Key, RowRef, VersionHeader, VersionIndex};
use hotrow_sync::Arc;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use smallvec::SmallVec;
use std::ops::Bound;
use stripes::{Stripe, Stripes};

/// The number of bits by which the name of a block is longer than that of the next greater block.
const BITS_PER_LEVEL: u32 = 4;
const DEPTH_BITS: u32 = 128;

/// The most blocks in which one range stands.
const BLOCKS: u128 = 2;

/// The locks on parts of one index, which keep phantoms away: locked hashes, locked ranges of keys, and kept primary
/// keys.
#[derive(Default)]
pub struct IndexLocks {
    hashes: Stripes<()>,
    kept: Stripes<()>,
    ranges: Ranges,
}

impl IndexData for IndexLocks {
    fn bytes(&self) -> usize {
        self.hashes.bytes() + self.kept.bytes() + self.ranges.blocks.bytes()
    }
}

/// The locked ranges of an index, by the blocks in which they stand.
#[derive(Default)]
struct Ranges {
    /// The levels at which a range was ever locked: the lowest bit is that of the whole index.
    levels: AtomicU64,
    blocks: Stripes<Arc<Range>>,
}

/// A block: its level, and its name.
type Block = (u32, u64);

/// Returns the space of the blocks of an index. All indexes use the same one, since each index has a table of its own.
fn space() -> KeySpace {
    let granularity = Granularity::new(BITS_PER_LEVEL, DEPTH_BITS).expect("a power of two, and a multiple of it");
    KeySpace::of_bits(granularity)
}

/// Returns the blocks in which a range stands: no blocks if no key can be in the range.
fn blocks(range: &Range) -> impl Iterator<Item = Block> + use<> {
    // A key that has no next one bounds the range from below as if it were in it.
    let lower = match range.start(false) {
        Bound::Excluded(key) => Bound::Included(key),
        lower => lower,
    };
    let covered = BitRange::between(lower, range.start(true));
    let prefixes = covered.into_iter().flat_map(|range| space().neighbours(range, BLOCKS));
    prefixes.map(|prefix| (prefix.depth() / BITS_PER_LEVEL, prefix.name()))
}

impl Ranges {
    fn add(&self, range: &Arc<Range>, by: TxnId) -> bool {
        let mut is_new = false;
        for (level, name) in blocks(range) {
            // Invariant 2. It is written once for each level, so that it is in the caches of all cores that read it.
            if self.levels.load(Ordering::Acquire) >> level & 1 == 0 {
                self.levels.fetch_or(1 << level, Ordering::AcqRel);
            }
            is_new |= self.blocks.add(name, range.clone(), by, |other| Arc::ptr_eq(other, range));
        }
        is_new
    }

    fn remove(&self, range: &Arc<Range>, by: TxnId) {
        for (_, name) in blocks(range) {
            self.blocks.remove(name, by, |other| Arc::ptr_eq(other, range));
        }
    }

    /// Returns the stripes that may have ranges containing the key with this number, and the name under which they have
    /// them: from the greatest block to the smallest.
    fn met(&self, number: u128) -> impl Iterator<Item = (&Stripe<Arc<Range>>, u64)> {
        let mut from = 0;
        let levels = std::iter::from_fn(move || {
            // After each block again: a lock that has left the block may be at a level that was never used before
            // (invariant 3).
            let rest = self.levels.load(Ordering::Acquire) >> from;
            let level = from + rest.trailing_zeros();
            from = level + 1;
            (rest != 0).then_some(level)
        });
        levels.filter_map(move |level| {
            let name = space().at(number, level * BITS_PER_LEVEL).name();
            self.blocks.met(name).map(|stripe| (stripe, name))
        })
    }

    /// Returns the transactions that have a lock in a block of the key with this number, on a range for which `is_hit`
    /// holds.
    fn holders(&self, number: u128, mut is_hit: impl FnMut(&Range) -> bool) -> SmallVec<[TxnId; 4]> {
        let mut holders = SmallVec::new();
        for (stripe, name) in self.met(number) {
            stripe.holders(name, |range| is_hit(range), &mut holders);
        }
        holders
    }
}

/// A part of an index that can be locked.
#[derive(Clone)]
pub(super) enum Part {
    /// All keys with this hash.
    Hash(u64),
    /// All keys in a range. In a hash index such a part covers all keys of the index.
    Range(Arc<Range>),
    /// The primary key with this hash. While it is locked, its row may be replaced, but is not deleted.
    Kept(u64),
}

impl IndexLocks {
    /// Locks a part for a transaction, and returns whether the transaction had not locked it before. The caller issues
    /// a SeqCst fence before it reads the part.
    pub(super) fn lock(&self, part: &Part, by: TxnId) -> bool {
        match part {
            Part::Hash(hash) => self.hashes.add(*hash, (), by, |()| true),
            Part::Kept(hash) => self.kept.add(*hash, (), by, |()| true),
            Part::Range(range) => self.ranges.add(range, by),
        }
    }

    /// Gives up the lock of a part.
    pub(super) fn unlock(&self, part: &Part, by: TxnId) {
        match part {
            Part::Hash(hash) => self.hashes.remove(*hash, by, |()| true),
            Part::Kept(hash) => self.kept.remove(*hash, by, |()| true),
            Part::Range(range) => self.ranges.remove(range, by),
        }
    }

    /// Returns the transactions that have locked a range that contains this key. The index is ordered.
    pub(super) fn holders_of(&self, key: &Key) -> SmallVec<[TxnId; 4]> {
        self.ranges.holders(BitRange::number(key), |range| range.contains(key))
    }

    /// Returns how many latches a transaction takes that looks for locks on this key, and how many ranges it looks at.
    #[cfg(test)]
    pub(super) fn looks(&self, key: &Key) -> (usize, usize) {
        let (number, mut ranges) = (BitRange::number(key), 0);
        self.ranges.holders(number, |_| {
            ranges += 1;
            false
        });
        (self.ranges.met(number).count(), ranges)
    }

    /// Whether no transaction has a lock in this index.
    pub(super) fn are_free(&self) -> bool {
        self.hashes.are_free() && self.kept.are_free() && self.ranges.blocks.are_free()
    }
}

/// Returns the transactions that have locked the primary key with this hash as [kept](Part::Kept), so that its row is
/// not deleted before they end. The caller has the write lock of the row, and has issued a SeqCst fence after it took
/// the lock.
#[inline]
pub(super) fn keepers<H>(index: &VersionIndex<H>, hash: impl FnOnce() -> u64) -> SmallVec<[TxnId; 4]>
where
    H: VersionHeader<Index = IndexLocks>,
{
    of_hash(&index.data().kept, hash)
}

/// Returns the transactions that have a lock on a hash.
#[inline]
fn of_hash(locks: &Stripes<()>, hash: impl FnOnce() -> u64) -> SmallVec<[TxnId; 4]> {
    let mut holders = SmallVec::new();
    if locks.exist() {
        let hash = hash();
        locks.met(hash).inspect(|stripe| stripe.holders(hash, |()| true, &mut holders));
    }
    holders
}

/// Returns the transactions that have locked a hash or a range of an index that contains a row's key. The caller has
/// linked the row into the index, and has issued a SeqCst fence after that.
#[inline]
pub(super) fn holders<H>(index: &VersionIndex<H>, row: RowRef<'_>) -> SmallVec<[TxnId; 4]>
where
    H: VersionHeader<Index = IndexLocks>,
{
    let mut holders = of_hash(&index.data().hashes, || index.columns_of(row).hash64());
    if index.data().ranges.blocks.exist() {
        holders.extend(holders_of_ranges(index, row));
    }
    holders
}

#[cold]
fn holders_of_ranges<H>(index: &VersionIndex<H>, row: RowRef<'_>) -> SmallVec<[TxnId; 4]>
where
    H: VersionHeader<Index = IndexLocks>,
{
    if !index.is_ordered() {
        // There the whole index is locked, and the numbers of all keys are in that.
        return index.data().ranges.holders(0, |_| true);
    }
    index.data().holders_of(&index.key_of(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: TxnId = TxnId(1 << 16);

    fn part(first: i64, last: i64) -> Part {
        let bounds = [first, last].map(|key| Bound::Included(Key::Int(key)));
        Part::Range(Arc::new(Range::new(&bounds[0], &bounds[1])))
    }

    #[test]
    fn a_lock_is_found_while_it_is_held() {
        let (one, two) = (ME, TxnId(2 << 16));
        let locks = IndexLocks::default();
        assert!(locks.are_free());
        for part in [Part::Hash(7), part(3, 6), Part::Kept(7)] {
            assert!(locks.lock(&part, one) && locks.lock(&part, two) && !locks.lock(&part, one));
            locks.unlock(&part, one);
            assert!(!locks.are_free() && !locks.lock(&part, two));
            locks.unlock(&part, two);
            assert!(locks.are_free());
        }
    }

    #[test]
    fn a_range_is_found_by_its_keys_and_by_no_others() {
        let bounds = [Bound::Unbounded, Bound::Unbounded];
        let all = Part::Range(Arc::new(Range::new(&bounds[0], &bounds[1])));
        let far = i64::MAX;
        let cases = [
            (part(5, 5), vec![5], vec![4, 6]),
            (part(15, 16), vec![15, 16], vec![14, 17, far]),
            (part(-1, 0), vec![-1, 0], vec![-2, 1]),
            (part(-1000, 70_000), vec![-1000, 0, 70_000], vec![-1001, 70_001, -far]),
            (part(i64::MIN, far), vec![i64::MIN, 0, far], vec![]),
            (all, vec![i64::MIN, 0, far], vec![]),
            (part(6, 5), vec![], vec![5, 6]),
        ];
        let locks = IndexLocks::default();
        for (at, (part, within, beside)) in cases.into_iter().enumerate() {
            locks.lock(&part, ME);
            for (keys, expected) in [(within, 1), (beside, 0)] {
                for key in keys {
                    assert_eq!(locks.holders_of(&Key::Int(key)).len(), expected, "case {at}: {key}");
                }
            }
            locks.unlock(&part, ME);
            assert!(locks.are_free());
        }
    }

    /// However many ranges are locked, a key looks at those near it.
    #[test]
    fn a_key_looks_at_no_range_that_is_elsewhere() {
        let locks = IndexLocks::default();
        // Ranges of one, of ten and of a hundred keys, each thousand keys.
        let widths = [1, 10, 100];
        for first in (0..10_000).map(|number: i64| number * 1000) {
            locks.lock(&part(first, first + widths[(first / 1000) as usize % 3] - 1), ME);
        }
        for key in (0..10_000).map(|number| number * 1000 + 700) {
            assert_eq!(locks.looks(&Key::Int(key)).1, 0, "{key}");
            assert_eq!(locks.holders_of(&Key::Int(key - 700)).len(), 1, "{key}");
        }
    }

    /// With few locks, hardly any key takes a latch.
    #[test]
    fn a_key_without_locks_takes_no_latch() {
        let locks = IndexLocks::default();
        for first in (0..100).map(|number| number * 1000) {
            locks.lock(&part(first, first + 9), ME);
        }
        let latches: usize = (0..10_000).map(|number| locks.looks(&Key::Int(number * 1000 + 700)).0).sum();
        assert!(latches < 100, "10000 keys that meet no lock take {latches} latches");
    }

    /// Disjoint ranges that are as near to each other as can be.
    #[test]
    fn disjoint_ranges_in_one_block_are_few() {
        for width in [1, 7, 16, 17, 100, 255, 256, 257] {
            let locks = IndexLocks::default();
            for first in (0..1000).map(|number| number * width) {
                locks.lock(&part(first, first + width - 1), ME);
            }
            let most = (0..1000 * width).map(|key| locks.looks(&Key::Int(key)).1).max();
            assert!(most.is_some_and(|most| (1..=18).contains(&most)), "{width}: {most:?}");
        }
    }
}
