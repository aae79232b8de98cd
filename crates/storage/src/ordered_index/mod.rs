//! The ordered index: a B+-tree with optimistic lock coupling (Leis, Scheibner, Kemper, Neumann: "The ART of Practical
//! Synchronization", DaMoN 2016; the locks of the title are latches in our words).
//!
//! Every node has a version. Readers take no latch and write nothing: they note a node's version, read what they need,
//! and trust it if the version is still the same. On the way down, they check the parent again after noting the child's
//! version. A writer latches a node by a bit in the version, and increments the version when it is done. A reader or
//! writer that finds a version changed restarts at the root.
//!
//! **Thread safety.** All threads may call all methods at any time.
//!
//! **Definitions.** A node's *range* is the set of keys whose search leads to the node. The root's range is all keys;
//! the separators in an inner node divide its range among its children.
//!
//! **Invariants**
//!
//! 1. A node is changed only by the thread that has latched it, and has another version afterwards.
//! 2. A leaf holds the entries of the keys in its range and no others.
//! 3. The range of a node in the tree shrinks only by the node's own split, which changes its version. It grows when an
//!    empty neighbour is unlinked, without a change of its version.
//! 4. An unlinked node is marked before its latch is freed. The collector frees the node when no thread can look at it.
//! 5. Addresses read from a node (children, long keys) are followed only after the version was found unchanged; they
//!    were reachable at that moment, and the caller's epoch keeps them.
//! 6. Latches are taken from the root towards the leaves; a thread that waits for a latch holds none below it.
//!
//! **Why a search ends in the right leaf.** By induction from the root: suppose that the parent's range held the key
//! when its version was noted. Then it held the key at every later moment at which the version was the same (3). The
//! search chose the child, noted the child's version, and found the parent's version unchanged: at that moment the
//! child was in the tree, its range held the key, and it had the version noted. What is read of the leaf is true at the
//! moment its version is checked (1), and by 3 its range then still holds the key. So by 2, an entry that is not in the
//! leaf does not exist.
//!
//! **Keys** stand in nodes as machine words: see [`words`]. Integers take one word, byte strings of one length of up to
//! 16 bytes take one or two, and all other byte strings take four. The shape of the keys, which the index is told when
//! it is made, decides which of three trees it has.
//!
//! **Scans** copy one leaf at a time and find the next leaf by the bound of the range just read. So every leaf is an
//! atomic snapshot of its range, and the ranges follow each other without a gap.
//!
//! **Removal** unlinks a leaf when it becomes empty, and the inner nodes above that led to nothing else. Leaves that
//! are merely half empty are not merged, and the tree never loses height. If a table has shrunk for good, its index
//! must be rebuilt to become small.

mod node;
#[cfg(test)]
mod tests;
mod tree;
mod words;

use crate::epoch::{Collector, Guard};
use crate::{Key, KeyShape};
use hotrow_sync::Arc;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Bound;
use tree::{Seek, Tree};
use words::{WORD_BYTES, Words};

/// The number of entries of a node, for keys of one, two and four words. Nodes take 1 KiB if keys have one word, and
/// 2 KiB otherwise. A model has few entries, so that its nodes split early.
const ONE_ENTRIES: usize = if cfg!(any(loom, shuttle)) { 3 } else { 62 };
const TWO_ENTRIES: usize = if cfg!(any(loom, shuttle)) { 3 } else { 84 };
const BYTES_ENTRIES: usize = if cfg!(any(loom, shuttle)) { 3 } else { 50 };

/// A map in key order from keys to addresses, in which each key occurs once.
///
/// All keys of one index have one [shape](KeyShape). An address that was removed must be retired through the
/// same collector before it is freed: scans may still return it under guards that existed before.
pub struct OrderedIndex {
    tree: AnyTree,
}

/// The tree of an index, by the number of words of its keys.
enum AnyTree {
    One(Tree<{ words::ONE }, ONE_ENTRIES>),
    Two(Tree<{ words::TWO }, TWO_ENTRIES>),
    Bytes(Tree<{ words::BYTES }, BYTES_ENTRIES>),
}

/// Evaluates an expression in which `$tree` is the tree of an index, whatever its type.
macro_rules! with_tree {
    ($index:expr, $tree:ident => $result:expr) => {
        match &$index.tree {
            AnyTree::One($tree) => $result,
            AnyTree::Two($tree) => $result,
            AnyTree::Bytes($tree) => $result,
        }
    };
}

impl OrderedIndex {
    /// Makes an empty index for keys of this shape.
    pub fn new(collector: &Arc<Collector>, shape: KeyShape) -> Self {
        const ONE_BYTES: usize = words::ONE * WORD_BYTES;
        const TWO_BYTES: usize = words::TWO * WORD_BYTES;
        let tree = match shape {
            KeyShape::Int | KeyShape::Fixed(1..=ONE_BYTES) => AnyTree::One(Tree::new(collector, shape)),
            KeyShape::Fixed(1..=TWO_BYTES) => AnyTree::Two(Tree::new(collector, shape)),
            KeyShape::Fixed(_) | KeyShape::Bytes => AnyTree::Bytes(Tree::new(collector, KeyShape::Bytes)),
        };
        Self { tree }
    }

    /// Returns the address under `key`, or `None` if the index does not have the key.
    ///
    /// # Panics
    ///
    /// This method and the others panic if `key` is an integer and the index is for byte strings, or the other way
    /// round. A byte string may have any length, except in [`insert`](Self::insert).
    #[inline]
    pub fn get(&self, guard: Guard<'_>, key: &Key) -> Option<usize> {
        with_tree!(self, tree => tree.get(guard, &Words::of(key, tree.shape())?))
    }

    /// Adds an entry that leads from `key` to `address`.
    ///
    /// # Errors
    ///
    /// The address that the key already has.
    ///
    /// # Panics
    ///
    /// If the key is not of the index's shape: if it is of another kind, or if the shape is [`KeyShape::Fixed`] and the
    /// byte string has another length. An index whose keys have more than 16 bytes does not check the length.
    pub fn insert(&self, guard: Guard<'_>, key: &Key, address: usize) -> Result<(), usize> {
        with_tree!(self, tree => {
            let words = Words::of(key, tree.shape());
            let words = words.unwrap_or_else(|| panic!("the key {key:?} in an index for {:?}", tree.shape()));
            tree.insert(guard, &words, address)
        })
    }

    /// Removes the entry of `key`, and returns its address, or `None` if there was no such entry.
    pub fn remove(&self, guard: Guard<'_>, key: &Key) -> Option<usize> {
        with_tree!(self, tree => tree.remove(guard, &Words::of(key, tree.shape())?))
    }

    /// Appends up to `limit` entries to `out`: in ascending order beginning at `from`, or in descending order if
    /// `backward`. The bound may be a prefix of keys, or any other byte string.
    ///
    /// A key that is in the index during the whole call is not skipped. A key that is inserted or removed during the
    /// call may be returned or not. The entries of one leaf (up to 84 neighbours) are a snapshot.
    pub fn collect(
        &self,
        guard: Guard<'_>,
        from: Bound<&Key>,
        backward: bool,
        limit: usize,
        out: &mut Vec<(Key, usize)>,
    ) {
        with_tree!(self, tree => {
            let (seek, inclusive) = start(tree.shape(), from, backward);
            tree.collect(guard, seek, inclusive, backward, limit, out);
        });
    }

    /// Returns the address of the first entry at or above the bound `from`, which may be a prefix of keys, or any other
    /// byte string; `None` if there is no such entry.
    #[inline]
    pub fn next(&self, guard: Guard<'_>, from: Bound<&Key>) -> Option<usize> {
        with_tree!(self, tree => {
            let (seek, inclusive) = start(tree.shape(), from, false);
            tree.next(guard, seek, inclusive)
        })
    }

    /// Returns the number of entries, now or a moment ago.
    pub fn len(&self) -> usize {
        with_tree!(self, tree => tree.len())
    }

    /// Returns the bytes of the nodes, and of the keys outside them.
    pub fn bytes(&self) -> usize {
        with_tree!(self, tree => tree.bytes())
    }

    /// Whether [`len`](Self::len) is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Returns the place at which a scan from the bound `from` begins, and whether an entry with exactly the key of that
/// place belongs to the scan.
///
/// In a tree whose keys have one length, the place is at the key nearest to a bound of another length. That key lies on
/// one side of such a bound, which decides whether the scan includes the key: see *Seeks among short keys* in
/// [`words`].
#[inline]
fn start<const W: usize>(shape: KeyShape, from: Bound<&Key>, backward: bool) -> (Seek<W>, bool) {
    let (key, included) = match from {
        Bound::Included(key) => (key, true),
        Bound::Excluded(key) => (key, false),
        Bound::Unbounded => return (if backward { Seek::Last } else { Seek::First }, true),
    };
    let (nearest, order) = Words::nearest(key, shape);
    let inclusive = match order {
        Ordering::Less => !backward,
        Ordering::Equal => included,
        Ordering::Greater => backward,
    };
    (if backward && !inclusive { Seek::Before(nearest) } else { Seek::At(nearest) }, inclusive)
}

impl fmt::Debug for OrderedIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrderedIndex").field("len", &self.len()).finish_non_exhaustive()
    }
}
