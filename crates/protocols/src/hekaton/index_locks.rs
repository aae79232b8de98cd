//! Locks on parts of an index, against versions that come to be there: bucket locks and their counterpart in ordered indexes (§4.1.2).
//!
//! What is locked is the hash of a key, where the paper locks the bucket in which it falls: buckets split while they are locked. In an
//! ordered index it is a range of keys, exactly. They are locks against phantoms only: nobody is refused, but who links
//! a version there ends after those that have such a lock.
//!
//! A primary key can be *kept*, too: its row stays, whatever else becomes of it, as a foreign key asks of the row that it refers to. A transaction that
//! deletes the row ends after those that keep the key; one that replaces the row by another version does not look for them.
//!
//! **Invariant.** A lock is there before its holder walks, and a version is linked before its maker looks for locks; between the two
//! each of them has a SeqCst fence. So the walk meets the version, or its maker meets the lock. The same holds of a key that is kept, and
//! of the write lock with which a deletion begins.

use super::transactions::TxnId;
use super::words::Words;
use crate::shared::walk::Range;
use hotrow_storage::{IndexData, RowRef, VersionIndex};
use hotrow_sync::atomic::{AtomicU32, Ordering};
use hotrow_sync::{Arc, Latch, OnceLock};
use smallvec::SmallVec;

/// Parts into which the locks of hashes are divided.
const STRIPES: usize = if cfg!(shuttle) { 2 } else { 1024 };

/// The locks in one index. There is nothing but a word before somebody takes the first.
#[derive(Default)]
pub struct IndexLocks {
    locks: OnceLock<Box<Locks>>,
    kept: OnceLock<Box<[Stripe<u64>]>>,
}

impl IndexData for IndexLocks {
    fn bytes(&self) -> usize {
        let stripes = |stripes: &[Stripe<u64>]| size_of_val(stripes);
        let locks = self.locks.get().map_or(0, |locks| size_of::<Locks>() + stripes(&locks.hashes));
        locks + self.kept.get().map_or(0, |kept| stripes(kept))
    }
}

struct Locks {
    hashes: Box<[Stripe<u64>]>,
    ranges: Stripe<Arc<Range>>,
}

/// What is locked, by whom.
struct Stripe<T> {
    /// How many there are, so that who looks for locks need not latch.
    count: AtomicU32,
    held: Latch<Vec<(T, TxnId)>>,
}

impl<T> Default for Stripe<T> {
    fn default() -> Self {
        Self { count: AtomicU32::new(0), held: Latch::new(Vec::new()) }
    }
}

impl<T> Stripe<T> {
    /// Whether that is new.
    fn add(&self, what: T, by: TxnId, is_same: impl Fn(&T) -> bool) -> bool {
        let mut held = self.held.lock();
        let is_new = !held.iter().any(|(other, id)| *id == by && is_same(other));
        if is_new {
            held.push((what, by));
            self.count.store(held.len() as u32, Ordering::Release);
        }
        is_new
    }

    fn remove(&self, by: TxnId, is_same: impl Fn(&T) -> bool) {
        let mut held = self.held.lock();
        if let Some(at) = held.iter().position(|(other, id)| *id == by && is_same(other)) {
            held.swap_remove(at);
            self.count.store(held.len() as u32, Ordering::Release);
        }
    }

    fn holders(&self, is_hit: impl Fn(&T) -> bool, holders: &mut SmallVec<[TxnId; 4]>) {
        if self.count.load(Ordering::Acquire) != 0 {
            holders.extend(self.held.lock().iter().filter(|(what, _)| is_hit(what)).map(|&(_, id)| id));
        }
    }
}

/// A part of an index.
#[derive(Clone)]
pub(super) enum Part {
    /// All keys with this hash.
    Hash(u64),
    /// The keys in a range; of a hash index all.
    Range(Arc<Range>),
    /// The key with this hash, whose row stays.
    Kept(u64),
}

impl IndexLocks {
    fn locks(&self) -> &Locks {
        self.locks.get_or_init(|| Box::new(Locks { hashes: stripes(), ranges: Stripe::default() }))
    }

    fn kept(&self, hash: u64) -> &Stripe<u64> {
        stripe(self.kept.get_or_init(stripes), hash)
    }

    /// Locks a part, and says whether it had not before. The caller has a SeqCst fence before it walks.
    pub(super) fn lock(&self, part: &Part, by: TxnId) -> bool {
        match part {
            Part::Hash(hash) => stripe(&self.locks().hashes, *hash).add(*hash, by, |other| other == hash),
            Part::Kept(hash) => self.kept(*hash).add(*hash, by, |other| other == hash),
            Part::Range(range) => self.locks().ranges.add(range.clone(), by, |other| Arc::ptr_eq(other, range)),
        }
    }

    /// Gives up the lock of a part.
    pub(super) fn unlock(&self, part: &Part, by: TxnId) {
        match part {
            Part::Hash(hash) => stripe(&self.locks().hashes, *hash).remove(by, |other| other == hash),
            Part::Kept(hash) => self.kept(*hash).remove(by, |other| other == hash),
            Part::Range(range) => self.locks().ranges.remove(by, |other| Arc::ptr_eq(other, range)),
        }
    }

    /// Whether nobody has a lock.
    pub(super) fn are_free(&self) -> bool {
        let is_zero = |count: &AtomicU32| count.load(Ordering::Acquire) == 0;
        let are_free = |stripes: &[Stripe<u64>]| stripes.iter().all(|stripe| is_zero(&stripe.count));
        self.locks.get().is_none_or(|locks| is_zero(&locks.ranges.count) && are_free(&locks.hashes))
            && self.kept.get().is_none_or(|kept| are_free(kept))
    }
}

fn stripes() -> Box<[Stripe<u64>]> {
    (0..STRIPES).map(|_| Stripe::default()).collect()
}

fn stripe(stripes: &[Stripe<u64>], hash: u64) -> &Stripe<u64> {
    // The lowest bits choose buckets, the highest are a link's tag.
    &stripes[(hash >> 20) as usize % STRIPES]
}

/// The transactions that keep the key with this hash. The caller has the write lock of the row, and has a SeqCst fence behind it.
#[inline]
pub(super) fn keepers(index: &VersionIndex<Words>, hash: impl FnOnce() -> u64) -> SmallVec<[TxnId; 4]> {
    let mut keepers = SmallVec::new();
    if let Some(kept) = index.data().kept.get() {
        let hash = hash();
        stripe(kept, hash).holders(|&other| other == hash, &mut keepers);
    }
    keepers
}

/// Who has a lock where a row stands in an index. The caller has linked it there, and has a SeqCst fence behind it.
#[inline]
pub(super) fn holders(index: &VersionIndex<Words>, row: RowRef<'_>) -> SmallVec<[TxnId; 4]> {
    match index.data().locks.get() {
        None => SmallVec::new(),
        Some(locks) => holders_among(locks, index, row),
    }
}

#[cold]
fn holders_among(locks: &Locks, index: &VersionIndex<Words>, row: RowRef<'_>) -> SmallVec<[TxnId; 4]> {
    let mut holders = SmallVec::new();
    if index.is_ordered() {
        let key = std::cell::OnceCell::new();
        let has = |range: &Arc<Range>| range.contains(key.get_or_init(|| index.key_of(row)));
        locks.ranges.holders(has, &mut holders);
    } else {
        let hash = index.columns_of(row).hash64();
        stripe(&locks.hashes, hash).holders(|&other| other == hash, &mut holders);
        locks.ranges.holders(|_| true, &mut holders);
    }
    holders
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotrow_storage::Key;
    use std::ops::Bound;

    #[test]
    fn a_lock_is_found_while_it_is_held() {
        let (one, two) = (TxnId(1 << 16), TxnId(2 << 16));
        let locks = IndexLocks::default();
        assert!(locks.are_free());
        let bounds = [Bound::Included(Key::Int(3)), Bound::Excluded(Key::Int(7))];
        let range = Part::Range(Arc::new(Range::new(&bounds[0], &bounds[1])));
        for part in [Part::Hash(7), range, Part::Kept(7)] {
            assert!(locks.lock(&part, one) && locks.lock(&part, two) && !locks.lock(&part, one));
            locks.unlock(&part, one);
            assert!(!locks.are_free() && !locks.lock(&part, two));
            locks.unlock(&part, two);
            assert!(locks.are_free());
        }
    }
}
