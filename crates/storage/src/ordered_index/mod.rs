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

use crate::Key;
use crate::epoch::{Collector, Guard};
use hotrow_sync::Arc;
use std::fmt;
use std::ops::Bound;
use tree::{Seek, Tree};
use words::Words;

/// The number of entries of a node with integer keys. Nodes take 1 KiB for integers and 2 KiB for byte strings. A model
/// has few entries, so that its nodes split early.
const INT_ENTRIES: usize = if cfg!(any(loom, shuttle)) { 3 } else { 62 };
const BYTES_ENTRIES: usize = if cfg!(any(loom, shuttle)) { 3 } else { 50 };

/// A map in key order from keys to addresses, in which each key occurs once.
///
/// All keys of one index are integers, or all are byte strings. An address that was removed must be retired through the
/// same collector before it is freed: scans may still return it under guards that existed before.
pub struct OrderedIndex {
    tree: Shape,
}

enum Shape {
    Int(Tree<{ words::INT }, INT_ENTRIES>),
    Bytes(Tree<{ words::BYTES }, BYTES_ENTRIES>),
}

impl OrderedIndex {
    /// Makes an empty index whose keys are integers if `int_keys` is true, and byte strings otherwise.
    pub fn new(collector: &Arc<Collector>, int_keys: bool) -> Self {
        let tree = if int_keys { Shape::Int(Tree::new(collector)) } else { Shape::Bytes(Tree::new(collector)) };
        Self { tree }
    }

    /// Returns the address under `key`, or `None` if the index does not have the key.
    ///
    /// # Panics
    ///
    /// This method and the others panic if the key is not of the index's kind.
    #[inline]
    pub fn get(&self, guard: Guard<'_>, key: &Key) -> Option<usize> {
        match &self.tree {
            Shape::Int(tree) => tree.get(guard, &Words::of(key)),
            Shape::Bytes(tree) => tree.get(guard, &Words::of(key)),
        }
    }

    /// Adds an entry that leads from `key` to `address`.
    ///
    /// # Errors
    ///
    /// The address that the key already has.
    pub fn insert(&self, guard: Guard<'_>, key: &Key, address: usize) -> Result<(), usize> {
        match &self.tree {
            Shape::Int(tree) => tree.insert(guard, &Words::of(key), address),
            Shape::Bytes(tree) => tree.insert(guard, &Words::of(key), address),
        }
    }

    /// Removes the entry of `key`, and returns its address, or `None` if there was no such entry.
    pub fn remove(&self, guard: Guard<'_>, key: &Key) -> Option<usize> {
        match &self.tree {
            Shape::Int(tree) => tree.remove(guard, &Words::of(key)),
            Shape::Bytes(tree) => tree.remove(guard, &Words::of(key)),
        }
    }

    /// Appends up to `limit` entries to `out`: in ascending order beginning at `from`, or in descending order if
    /// `backward`.
    ///
    /// A key that is in the index during the whole call is not skipped. A key that is inserted or removed during the
    /// call may be returned or not. The entries of one leaf (up to some fifty neighbours) are a snapshot.
    pub fn collect(
        &self,
        guard: Guard<'_>,
        from: Bound<&Key>,
        backward: bool,
        limit: usize,
        out: &mut Vec<(Key, usize)>,
    ) {
        match &self.tree {
            Shape::Int(tree) => collect(tree, guard, from, backward, limit, out),
            Shape::Bytes(tree) => collect(tree, guard, from, backward, limit, out),
        }
    }

    /// Returns the address of the first entry at or above the bound `from`; `None` if there is no such entry.
    #[inline]
    pub fn next(&self, guard: Guard<'_>, from: Bound<&Key>) -> Option<usize> {
        match &self.tree {
            Shape::Int(tree) => next(tree, guard, from),
            Shape::Bytes(tree) => next(tree, guard, from),
        }
    }

    /// Returns the number of entries, now or a moment ago.
    pub fn len(&self) -> usize {
        match &self.tree {
            Shape::Int(tree) => tree.len(),
            Shape::Bytes(tree) => tree.len(),
        }
    }

    /// Returns the bytes of the nodes, and of the keys outside them.
    pub fn bytes(&self) -> usize {
        match &self.tree {
            Shape::Int(tree) => tree.bytes(),
            Shape::Bytes(tree) => tree.bytes(),
        }
    }

    /// Whether [`len`](Self::len) is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[inline]
fn next<const W: usize, const CAP: usize>(tree: &Tree<W, CAP>, guard: Guard<'_>, from: Bound<&Key>) -> Option<usize> {
    match from {
        Bound::Included(key) => tree.next(guard, Seek::At(Words::of(key)), true),
        Bound::Excluded(key) => tree.next(guard, Seek::At(Words::of(key)), false),
        Bound::Unbounded => tree.next(guard, Seek::First, true),
    }
}

fn collect<const W: usize, const CAP: usize>(
    tree: &Tree<W, CAP>,
    guard: Guard<'_>,
    from: Bound<&Key>,
    backward: bool,
    limit: usize,
    out: &mut Vec<(Key, usize)>,
) {
    let seek = match from {
        Bound::Included(key) => Seek::At(Words::of(key)),
        Bound::Excluded(key) if backward => Seek::Before(Words::of(key)),
        Bound::Excluded(key) => Seek::At(Words::of(key)),
        Bound::Unbounded if backward => Seek::Last,
        Bound::Unbounded => Seek::First,
    };
    tree.collect(guard, seek, matches!(from, Bound::Included(_)), backward, limit, out);
}

impl fmt::Debug for OrderedIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrderedIndex").field("len", &self.len()).finish_non_exhaustive()
    }
}
