//! The ordered index: a B+-tree with optimistic lock coupling (Leis, Scheibner, Kemper, Neumann: "The ART of Practical
//! Synchronization", DaMoN 2016; the locks of the title are latches in our words).
//!
//! Every node has a version. Readers take no latch and write nothing: they note a node's version, read what they need, and
//! believe it if the version is still the same. Going down, they check the parent again after noting the child's version.
//! Whoever changes a node latches it by a bit in the version, and counts the version up when done; whoever finds a
//! version changed begins again at the root.
//!
//! **Thread safety.** All threads may call everything at any time.
//!
//! **Definitions.** A node's *range* is the keys that a search for them leads to it. The root's is everything; the
//! separators in an inner node divide its range among its children.
//!
//! **Invariants**
//!
//! 1. A node is changed by the thread that has latched it only, and has another version afterwards.
//! 2. A leaf holds the entries of the keys in its range and no others.
//! 3. The range of a node in the tree shrinks only by the node's own split, which changes its version. It grows when an empty
//!    neighbour is unlinked, without a change of its version.
//! 4. An unlinked node is marked before its latch is freed, and freed by the collector when nobody can look at it.
//! 5. Addresses read from a node (children, long keys) are followed only after the version was found unchanged; they were
//!    reachable at that moment, and the caller's epoch keeps them.
//! 6. Latches are taken from the root towards the leaves; who waits for one holds none below it.
//!
//! **Why a search ends in the right leaf.** By induction from the root: say the parent's range held the key when its
//! version was noted. Then it held the key at every later moment at which the version was the same (3). The search
//! chose the child, noted the child's version, and found the parent's version unchanged: at that moment the child was in the
//! tree, its range held the key, and it had the version noted. What is read of the leaf is true at the moment its version
//! is checked (1), and by 3 its range then still holds the key, so by 2 an entry that is not there does not exist.
//!
//! **Scans** copy one leaf at a time and find the next by the bound of the range just read, so that every leaf is an atomic
//! snapshot of its range and the ranges follow each other without a gap.
//!
//! **Removal** unlinks a leaf when it becomes empty, and the inner nodes above that led to nothing else. Leaves that are
//! merely half empty are not merged, and the tree never loses height: a table that shrank for good is made small by
//! building its index anew.

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

/// Entries to a node: nodes of 1 KiB for integers and 2 KiB for byte strings. A model splits early.
const INT_ENTRIES: usize = if cfg!(any(loom, shuttle)) { 3 } else { 62 };
const BYTES_ENTRIES: usize = if cfg!(any(loom, shuttle)) { 3 } else { 50 };

/// A map in key order from keys to addresses, in which a key occurs once.
///
/// All keys of one index are integers, or all are byte strings. An address that was removed must be retired through the
/// same collector before it is freed: scans may still hand it out to guards that were there before.
pub struct OrderedIndex {
    tree: Shape,
}

enum Shape {
    Int(Tree<{ words::INT }, INT_ENTRIES>),
    Bytes(Tree<{ words::BYTES }, BYTES_ENTRIES>),
}

impl OrderedIndex {
    /// An empty index, of integers or of byte strings.
    pub fn new(collector: &Arc<Collector>, int_keys: bool) -> Self {
        let tree = if int_keys { Shape::Int(Tree::new(collector)) } else { Shape::Bytes(Tree::new(collector)) };
        Self { tree }
    }

    /// The address of `key`.
    ///
    /// # Panics
    ///
    /// This and the other methods: if the key is not of the index's kind.
    #[inline]
    pub fn get(&self, guard: Guard<'_>, key: &Key) -> Option<usize> {
        match &self.tree {
            Shape::Int(tree) => tree.get(guard, &Words::of(key)),
            Shape::Bytes(tree) => tree.get(guard, &Words::of(key)),
        }
    }

    /// Adds an entry.
    ///
    /// # Errors
    ///
    /// The address that the key has already.
    pub fn insert(&self, guard: Guard<'_>, key: &Key, address: usize) -> Result<(), usize> {
        match &self.tree {
            Shape::Int(tree) => tree.insert(guard, &Words::of(key), address),
            Shape::Bytes(tree) => tree.insert(guard, &Words::of(key), address),
        }
    }

    /// Takes the entry of `key` out and returns its address.
    pub fn remove(&self, guard: Guard<'_>, key: &Key) -> Option<usize> {
        match &self.tree {
            Shape::Int(tree) => tree.remove(guard, &Words::of(key)),
            Shape::Bytes(tree) => tree.remove(guard, &Words::of(key)),
        }
    }

    /// Appends up to `limit` entries to `out`: the first ones from `from` on in ascending order, or, `backward`, the last
    /// ones up to `from` in descending order.
    ///
    /// Every key that is there from begin to end of the call, and within its reach, is returned; of those that come or
    /// go meanwhile, some may be. The entries of one leaf (up to some fifty neighbours) are a snapshot.
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

    /// The address of the first entry from `from` on, in ascending order; none if there is none.
    #[inline]
    pub fn next(&self, guard: Guard<'_>, from: Bound<&Key>) -> Option<usize> {
        match &self.tree {
            Shape::Int(tree) => next(tree, guard, from),
            Shape::Bytes(tree) => next(tree, guard, from),
        }
    }

    /// How many entries there are, or were a moment ago.
    pub fn len(&self) -> usize {
        match &self.tree {
            Shape::Int(tree) => tree.len(),
            Shape::Bytes(tree) => tree.len(),
        }
    }

    /// Bytes of the nodes, and of the keys that are not in them.
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
