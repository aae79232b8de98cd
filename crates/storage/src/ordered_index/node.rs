//! A node of the tree: a version that readers check and writers latch, and sorted entries.

use super::words::Words;
use hotrow_sync::Backoff;
use hotrow_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::cmp;
use std::hint::select_unpredictable;
use std::ops::Deref;

/// The bit of a version that says that the node is latched: a thread is changing it.
const LATCHED: u64 = 1;

/// The bit of a version that says that the node is no longer part of the tree.
const UNLINKED: u64 = 2;

/// The number that is added to a version to free the latch: it clears `LATCHED` and counts one change.
const FREED: u64 = 3;

/// The error of a read: the node has changed, and the search must restart at the root.
#[derive(Debug)]
pub(super) struct Restart;

/// The version of a node, which stands for one state of it. As long as the node has this version, everything that was
/// read of the node is consistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version(u64);

/// A node. The entry of a leaf is a key and an address. The entry of an inner node is a child and the least key that
/// belongs to it, the child's *separator*. The first separator is not kept: every key below the second separator
/// belongs to the first child.
#[repr(C, align(64))]
pub(super) struct Node<const W: usize, const CAP: usize> {
    version: AtomicU64,
    count: AtomicUsize,
    /// The distance from the leaves: zero for a leaf, and for an inner node one more than the level of its children.
    level: usize,
    /// The position after the entry that was inserted last.
    after_insert: AtomicUsize,
    keys: [[AtomicU64; W]; CAP],
    values: [AtomicUsize; CAP],
}

impl<const W: usize, const CAP: usize> Node<W, CAP> {
    /// Makes an empty node of this level, which no other thread sees yet.
    pub fn new(level: usize) -> Box<Self> {
        const { assert!(CAP >= 3, "half of a full node must leave both halves with entries") };
        Box::new(Self {
            version: AtomicU64::new(0),
            count: AtomicUsize::new(0),
            level,
            after_insert: AtomicUsize::new(0),
            keys: std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0))),
            values: std::array::from_fn(|_| AtomicUsize::new(0)),
        })
    }

    /// Returns the distance of the node from the leaves, which is zero for a leaf.
    #[inline]
    pub fn level(&self) -> usize {
        self.level
    }

    /// Whether the node is a leaf, so that its entries are keys and addresses.
    #[inline]
    pub fn is_leaf(&self) -> bool {
        self.level == 0
    }

    /// Prefetches the cache lines that a search among integers or short keys may touch, all at once instead of one by
    /// one. Other byte strings take so many lines that most would be fetched in vain.
    #[inline]
    pub fn prefetch(node: *const Self) {
        if !Words::<W>::WHOLE {
            return;
        }
        for line in 0..std::mem::offset_of!(Self, values).div_ceil(64) {
            hotrow_sync::prefetch(node.cast::<u8>().wrapping_add(line * 64));
        }
    }

    /// Returns the number of entries.
    #[inline]
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Whether a new entry would need a split.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.count() == CAP
    }

    /// Returns the key of the entry at `position`. The caller must validate the version before it follows the address
    /// that a long key holds.
    #[inline]
    pub fn key(&self, position: usize) -> Words<W> {
        Words(std::array::from_fn(|word| self.keys[position][word].load(Ordering::Acquire)))
    }

    /// Returns the address or the child of the entry at `position`. The caller must validate the version before it
    /// trusts the value.
    #[inline]
    pub fn value(&self, position: usize) -> usize {
        self.values[position].load(Ordering::Acquire)
    }

    /// Counts the entries before a key: returns the position, from zero, of the first entry that is not less than
    /// `key`, or that is greater than `key` if `or_equal`. The entries before `first` count as less.
    #[inline]
    pub fn rank(&self, version: Version, first: usize, key: &Words<W>, or_equal: bool) -> Result<usize, Restart> {
        let passed = |position| {
            if Words::<W>::WHOLE {
                return Ok(self.key(position).precedes(key, or_equal));
            }
            let order = self.compare(version, position, key)?;
            Ok(order.is_lt() || (or_equal && order.is_eq()))
        };
        let mut base = first;
        let mut left = self.count().saturating_sub(first);
        // The entries before `base` have passed, and the entries from `base + left` on have not. The number of steps
        // depends on the count alone, and a step among integers or short keys needs no branch: there is little to
        // mispredict.
        while left > 1 {
            let half = left / 2;
            let middle = base + half;
            base = select_unpredictable(passed(middle)?, middle, base);
            left -= half;
        }
        Ok(base + usize::from(left == 1 && passed(base)?))
    }

    /// Compares the key of the entry at `position` with `key`.
    #[inline]
    pub fn compare(&self, version: Version, position: usize, key: &Words<W>) -> Result<cmp::Ordering, Restart> {
        let stored = self.key(position);
        if let Some(order) = stored.compare_words(key) {
            return Ok(order);
        }
        self.validate(version)?;
        // SAFETY: the node had this key when it was validated, so its bytes were reachable then, and the caller's epoch
        // keeps them. The other key belongs to the caller.
        Ok(unsafe { stored.compare_bytes(key) })
    }

    /// Returns the version against which everything that is read from now on must be validated. Spins while another
    /// thread has latched the node.
    ///
    /// # Errors
    /// [`Restart`] if the node is no longer part of the tree.
    #[inline]
    pub fn version(&self) -> Result<Version, Restart> {
        let mut backoff = Backoff::new();
        loop {
            // Pairs with the release in `Latched::drop`: the writes of a change are seen.
            let version = self.version.load(Ordering::Acquire);
            match version & (LATCHED | UNLINKED) {
                0 => return Ok(Version(version)),
                LATCHED => backoff.snooze(),
                _ => return Err(Restart),
            }
        }
    }

    /// Checks that everything that was read since [`version`](Self::version) returned `version` is consistent.
    ///
    /// A read that saw a word of a later change acquired what the writer did before it wrote the word, which includes
    /// latching the node. So this load sees the latched version or a later one.
    #[inline]
    pub fn validate(&self, version: Version) -> Result<(), Restart> {
        if self.version.load(Ordering::Acquire) == version.0 { Ok(()) } else { Err(Restart) }
    }

    /// Latches the node if it still has `version`. Then everything that was read before holds until the latch is freed.
    #[inline]
    pub fn upgrade(&self, version: Version) -> Result<Latched<'_, W, CAP>, Restart> {
        let Version(version) = version;
        // Relaxed on failure: nothing of the node is read then.
        let latched = self.version.compare_exchange(version, version | LATCHED, Ordering::Acquire, Ordering::Relaxed);
        latched.map(|_| Latched { node: self }).map_err(|_| Restart)
    }

    /// Latches the node, whatever its version, unless it is no longer part of the tree.
    pub fn latch(&self) -> Result<Latched<'_, W, CAP>, Restart> {
        loop {
            if let Ok(latched) = self.upgrade(self.version()?) {
                return Ok(latched);
            }
        }
    }

    /// Returns the node's present version, for searches by a caller that has latched the node or is alone with it.
    pub fn own_version(&self) -> Version {
        // Relaxed: the caller wrote it.
        Version(self.version.load(Ordering::Relaxed))
    }

    /// Writes the entry at `position`.
    ///
    /// The caller holds the latch, or the node is not in the tree yet. The stores are releases, so that a reader that
    /// sees one of them also sees the latched version before it: see [`validate`](Self::validate).
    fn set(&self, position: usize, key: Words<W>, value: usize) {
        for (word, &to) in self.keys[position].iter().zip(&key.0) {
            word.store(to, Ordering::Release);
        }
        self.values[position].store(value, Ordering::Release);
    }

    fn set_count(&self, count: usize) {
        self.count.store(count, Ordering::Release);
    }

    /// Empties the first separator of an inner node that is not in the tree yet. The caller owns that separator now.
    pub fn forget_first_separator(&mut self) {
        self.set(0, Words::NONE, self.value(0));
    }

    /// Adds an entry at the end of a node that is not in the tree yet.
    pub fn push(&mut self, key: Words<W>, value: usize) {
        let count = self.count();
        self.set(count, key, value);
        self.set_count(count + 1);
    }
}

/// A node that this thread has latched; dropping it frees the latch and counts a change.
pub(super) struct Latched<'g, const W: usize, const CAP: usize> {
    node: &'g Node<W, CAP>,
}

impl<'g, const W: usize, const CAP: usize> Latched<'g, W, CAP> {
    /// Returns the node that is latched.
    pub fn node(&self) -> &'g Node<W, CAP> {
        self.node
    }

    /// Inserts an entry before the one at `position`. The node must not be full.
    pub fn insert(&self, position: usize, key: Words<W>, value: usize) {
        let count = self.count();
        debug_assert!(count < CAP && position <= count, "position {position} of {count}");
        for from in (position..count).rev() {
            self.set(from + 1, self.key(from), self.value(from));
        }
        self.set(position, key, value);
        self.set_count(count + 1);
        // Relaxed: it is read under the latch only.
        self.node.after_insert.store(position + 1, Ordering::Relaxed);
    }

    /// Whether an entry at `position` would come just after the entry that was inserted last.
    pub fn follows_last_insert(&self, position: usize) -> bool {
        // Relaxed: it is written under the latch only, which this thread holds.
        self.node.after_insert.load(Ordering::Relaxed) == position
    }

    /// Removes the entry at `position`, and returns its key and value.
    pub fn remove(&self, position: usize) -> (Words<W>, usize) {
        let removed = (self.key(position), self.value(position));
        let count = self.count();
        for to in position..count - 1 {
            self.set(to, self.key(to + 1), self.value(to + 1));
        }
        self.set_count(count - 1);
        removed
    }

    /// Moves the entries from `position` on to a new node, not yet linked.
    pub fn split_off(&self, position: usize) -> Box<Node<W, CAP>> {
        let mut right = Node::new(self.level);
        for from in position..self.count() {
            right.push(self.key(from), self.value(from));
        }
        self.set_count(position);
        right
    }

    /// Removes the child at `position` from an inner node that has other children; a neighbour inherits its range.
    /// Returns the separator that is no longer needed.
    pub fn remove_child(&self, position: usize) -> Words<W> {
        debug_assert!(self.count() > 1);
        if position > 0 {
            return self.remove(position).0;
        }
        self.remove(0);
        let separator = self.key(0);
        self.set(0, Words::NONE, self.value(0));
        separator
    }

    /// Marks the node as no longer part of the tree. Readers that find it restart.
    pub fn unlink(&self) {
        let version = self.own_version();
        self.node.version.store(version.0 | UNLINKED, Ordering::Release);
    }
}

impl<const W: usize, const CAP: usize> Deref for Latched<'_, W, CAP> {
    type Target = Node<W, CAP>;

    fn deref(&self) -> &Node<W, CAP> {
        self.node
    }
}

impl<const W: usize, const CAP: usize> Drop for Latched<'_, W, CAP> {
    fn drop(&mut self) {
        // Pairs with the acquire in `Node::version`.
        self.node.version.store(self.own_version().0 + FREED, Ordering::Release);
    }
}
