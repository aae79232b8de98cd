//! The tree over nodes: descent, insertion with splits, removal with pruning, and scans.

use super::node::{Latched, Node, Restart, Version};
use super::words::Words;
use crate::epoch::{Collector, Garbage, Guard};
use crate::{Key, KeyShape};
use hotrow_sync::atomic::{AtomicIsize, AtomicPtr, Ordering};
use hotrow_sync::{Arc, Backoff, CachePadded};

/// The number of stripes over which the counts are spread, so that inserting threads rarely share one.
const STRIPES: usize = 16;

/// A B+-tree with keys of `W` words and nodes of `CAP` entries.
pub(super) struct Tree<const W: usize, const CAP: usize> {
    root: AtomicPtr<Node<W, CAP>>,
    shape: KeyShape,
    counts: Box<[CachePadded<Counts>; STRIPES]>,
    collector: Arc<Collector>,
}

/// One stripe of the tree's counts. For the keys that belong to the stripe, it holds what was added minus what was
/// removed.
#[derive(Default)]
struct Counts {
    entries: AtomicIsize,
    /// The bytes of the nodes and of the long keys.
    bytes: AtomicIsize,
}

/// The place that a search looks for.
#[derive(Clone, Copy)]
pub(super) enum Seek<const W: usize> {
    /// The first leaf of the tree.
    First,
    /// The last leaf of the tree.
    Last,
    /// The leaf to which this key belongs.
    At(Words<W>),
    /// The leaf to which a key just before this one would belong.
    Before(Words<W>),
}

/// The next step of a scan.
enum Next<const W: usize> {
    /// The entry with this address.
    Entry(usize),
    /// The first entry from this key on.
    From(Words<W>),
    /// The end of the index.
    End,
}

/// A node on the path of a search, with the version and the range that it had when the search reached it.
struct Place<'g, const W: usize, const CAP: usize> {
    node: &'g Node<W, CAP>,
    version: Version,
    parent: Option<(&'g Node<W, CAP>, Version, usize)>,
    /// The bounds of the node's range: all keys from `lower` on and below `upper`. `None` means that there is no bound.
    lower: Option<Words<W>>,
    upper: Option<Words<W>>,
}

impl<'g, const W: usize, const CAP: usize> Place<'g, W, CAP> {
    /// Moves on to the child that the search leads to.
    #[inline]
    fn descend(&mut self, seek: &Seek<W>) -> Result<(), Restart> {
        let (node, version) = (self.node, self.version);
        // Separators begin with the second entry, so at least the first child is always passed.
        let passed = match seek {
            Seek::First => 1,
            Seek::Last => node.count(),
            Seek::At(key) => node.rank(version, 1, key, true)?,
            Seek::Before(key) => node.rank(version, 1, key, false)?,
        };
        let position = passed - 1;
        let child = node.value(position);
        if position > 0 {
            self.lower = Some(node.key(position));
        }
        if passed < node.count() {
            self.upper = Some(node.key(passed));
        }
        node.validate(version)?;
        // SAFETY: the node had this child when it was validated, so the child was reachable then, and the epoch of the
        // search keeps it allocated.
        let child = unsafe { &*std::ptr::with_exposed_provenance::<Node<W, CAP>>(child) };
        Node::prefetch(child);
        let child_version = child.version()?;
        // The child may have been split or unlinked before its version was read. Only if the parent is unchanged, the
        // child's range is what was read.
        node.validate(version)?;
        self.parent = Some((node, version, position));
        (self.node, self.version) = (child, child_version);
        Ok(())
    }
}

impl<const W: usize, const CAP: usize> Place<'_, W, CAP> {
    /// Returns the address of the first entry of the leaf after this one, if both leaves have the same parent and that
    /// leaf is not empty. The entry had that address at some moment when this leaf had its version, provided that this
    /// leaf still has that version.
    ///
    /// The two ranges touch when the parent is validated; from then on the neighbour's lower bound is this leaf's upper
    /// bound, until this leaf is split or unlinked, which changes its version.
    #[inline]
    fn first_of_neighbour(&self) -> Option<usize> {
        let (parent, version, position) = self.parent?;
        if position + 1 >= parent.count() {
            return None;
        }
        let neighbour = parent.value(position + 1);
        parent.validate(version).ok()?;
        // SAFETY: the parent had this child when it was validated, so the child was reachable then, and the epoch of
        // the search keeps it allocated.
        let neighbour = unsafe { &*std::ptr::with_exposed_provenance::<Node<W, CAP>>(neighbour) };
        let neighbour_version = neighbour.version().ok()?;
        let first = (neighbour.count() > 0).then(|| neighbour.value(0));
        neighbour.validate(neighbour_version).ok()?;
        first
    }

    /// Prefetches the node that a scan reaches after this one, if both have the same parent. The node may be gone by
    /// then. `backward` says whether the scan goes from greater to smaller keys.
    #[inline]
    fn prefetch_neighbour(&self, backward: bool) {
        let Some((parent, _, position)) = self.parent else { return };
        let neighbour = if backward { position.wrapping_sub(1) } else { position + 1 };
        if neighbour < parent.count() {
            Node::<W, CAP>::prefetch(std::ptr::without_provenance(parent.value(neighbour)));
        }
    }
}

impl<const W: usize, const CAP: usize> Tree<W, CAP> {
    const NODE_BYTES: isize = size_of::<Node<W, CAP>>() as isize;

    /// Makes an empty tree for keys of this shape, whose unlinked nodes `collector` frees.
    pub fn new(collector: &Arc<Collector>, shape: KeyShape) -> Self {
        let root = AtomicPtr::new(Box::into_raw(Node::new(0)));
        let counts = Box::new(std::array::from_fn(|_| CachePadded(Counts::default())));
        counts[0].bytes.store(Self::NODE_BYTES, Ordering::Release);
        Self { root, shape, counts, collector: collector.clone() }
    }

    /// Returns the shape of the tree's keys.
    #[inline]
    pub fn shape(&self) -> KeyShape {
        self.shape
    }

    /// Returns the address under `key`, or `None` if the tree does not have the key.
    #[inline]
    pub fn get(&self, guard: Guard<'_>, key: &Words<W>) -> Option<usize> {
        again(|| {
            let leaf = self.leaf(guard, &Seek::At(*key))?;
            let found = find(leaf.node, leaf.version, key)?.ok().map(|position| leaf.node.value(position));
            leaf.node.validate(leaf.version)?;
            Ok(found)
        })
    }

    /// Adds an entry. If the key is in the tree already, the error is the address under it.
    pub fn insert(&self, guard: Guard<'_>, key: &Words<W>, address: usize) -> Result<(), usize> {
        let inserted = again(|| self.try_insert(guard, key, address));
        if inserted.is_ok() {
            // Relaxed: a count on its own.
            self.counts(key).entries.fetch_add(1, Ordering::Relaxed);
            // SAFETY: the caller's key is alive; the tree's copy takes as many bytes.
            self.count_bytes(key, unsafe { key.heap_bytes() } as isize);
        }
        inserted
    }

    /// Removes the entry of `key`, and returns its address, or `None` if there was no such entry.
    pub fn remove(&self, guard: Guard<'_>, key: &Words<W>) -> Option<usize> {
        let (removed, address, emptied) = again(|| self.try_remove(guard, key))?;
        // Relaxed: a count on its own.
        self.counts(key).entries.fetch_sub(1, Ordering::Relaxed);
        self.retire_key(removed);
        if emptied {
            again(|| self.prune(guard, key));
        }
        Some(address)
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        // Relaxed: a sum over stripes is out of date anyway.
        let sum: isize = self.counts.iter().map(|counts| counts.entries.load(Ordering::Relaxed)).sum();
        // A removal may be counted before the insertion that it undoes.
        sum.max(0) as usize
    }

    /// Returns the bytes of the nodes and of the long keys.
    pub fn bytes(&self) -> usize {
        // Relaxed, and not below zero: as in `len`.
        self.counts.iter().map(|counts| counts.bytes.load(Ordering::Relaxed)).sum::<isize>().max(0) as usize
    }

    /// Returns the address of the first entry beyond the place of `seek`, or from that place on if `inclusive`.
    #[inline]
    pub fn next(&self, guard: Guard<'_>, seek: Seek<W>, inclusive: bool) -> Option<usize> {
        let (mut seek, mut inclusive) = (seek, inclusive);
        loop {
            match again(|| self.try_next(guard, &seek, inclusive)) {
                Next::Entry(address) => return Some(address),
                Next::End => return None,
                Next::From(bound) => (seek, inclusive) = (Seek::At(bound), true),
            }
        }
    }

    fn try_next(&self, guard: Guard<'_>, seek: &Seek<W>, inclusive: bool) -> Result<Next<W>, Restart> {
        let leaf = self.leaf(guard, seek)?;
        let position = match seek {
            Seek::At(key) => leaf.node.rank(leaf.version, 0, key, !inclusive)?,
            Seek::First | Seek::Last | Seek::Before(_) => 0,
        };
        let next = if position < leaf.node.count() {
            Next::Entry(leaf.node.value(position))
        } else {
            match (leaf.first_of_neighbour(), leaf.upper) {
                (Some(address), _) => Next::Entry(address),
                (None, Some(bound)) => Next::From(bound),
                (None, None) => Next::End,
            }
        };
        leaf.node.validate(leaf.version)?;
        Ok(next)
    }

    /// Appends up to `limit` entries, in order or in reverse, from the place of `seek` on. `inclusive` says whether an
    /// entry with exactly the key of `seek` is among them.
    pub fn collect(
        &self,
        guard: Guard<'_>,
        mut seek: Seek<W>,
        mut inclusive: bool,
        backward: bool,
        limit: usize,
        out: &mut Vec<(Key, usize)>,
    ) {
        let end = out.len().saturating_add(limit);
        let mut entries = [(Words::NONE, 0); CAP];
        while out.len() < end {
            let wanted = &mut entries[..CAP.min(end - out.len())];
            let (count, next) = again(|| {
                let leaf = self.leaf(guard, &seek)?;
                leaf.prefetch_neighbour(backward);
                let count = read_leaf(leaf.node, leaf.version, &seek, inclusive, backward, wanted)?;
                Ok((count, if backward { leaf.lower } else { leaf.upper }))
            });
            for &(key, address) in &wanted[..count] {
                // SAFETY: the leaf had this key when it was validated, and the epoch of the guard keeps its bytes.
                out.push((unsafe { key.key(self.shape) }, address));
            }
            let Some(bound) = next else { return };
            (seek, inclusive) = if backward { (Seek::Before(bound), false) } else { (Seek::At(bound), true) };
        }
    }

    /// Counts the leaves, for tests that are alone with the tree.
    #[cfg(test)]
    pub fn leaves(&self) -> usize {
        let mut level = vec![self.root.load(Ordering::Acquire).cast_const()];
        loop {
            // SAFETY: no other thread changes the tree, so its nodes stay.
            let nodes: Vec<_> = level.iter().map(|&node| unsafe { &*node }).collect();
            if nodes.iter().all(|node| node.is_leaf()) {
                return nodes.len();
            }
            let children = |node: &&Node<W, CAP>| (0..node.count()).map(|at| node.value(at)).collect::<Vec<_>>();
            level = nodes.iter().flat_map(children).map(std::ptr::with_exposed_provenance).collect();
        }
    }

    fn count_bytes(&self, key: &Words<W>, change: isize) {
        if change != 0 {
            // Relaxed: a count on its own.
            self.counts(key).bytes.fetch_add(change, Ordering::Relaxed);
        }
    }

    /// Returns the stripe of the counts to which a key belongs.
    fn counts(&self, key: &Words<W>) -> &Counts {
        // The last word of a byte string is left out: it may be an address.
        let words = key.0.iter().take(3).fold(0, |words: u64, &word| words.rotate_left(5) ^ word);
        &self.counts[crate::mix(words) as usize % STRIPES]
    }

    /// Returns the root, with a version that it had while it was the root.
    #[inline]
    fn root<'g>(&'g self, _guard: Guard<'g>) -> Result<Place<'g, W, CAP>, Restart> {
        let root = self.root.load(Ordering::Acquire);
        // SAFETY: the root was found in an epoch, as the guard proves; a node that is unlinked later is retired through
        // the epochs.
        let node = unsafe { &*root };
        let version = node.version()?;
        // A root that was split has a new version only after the new root is in its place.
        if self.root.load(Ordering::Acquire) != root {
            return Err(Restart);
        }
        Ok(Place { node, version, parent: None, lower: None, upper: None })
    }

    /// Returns the leaf that the search for `seek` leads to.
    #[inline]
    fn leaf<'g>(&'g self, guard: Guard<'g>, seek: &Seek<W>) -> Result<Place<'g, W, CAP>, Restart> {
        let mut place = self.root(guard)?;
        while !place.node.is_leaf() {
            place.descend(seek)?;
        }
        Ok(place)
    }

    fn try_insert(&self, guard: Guard<'_>, key: &Words<W>, address: usize) -> Result<Result<(), usize>, Restart> {
        let mut place = self.root(guard)?;
        while !place.node.is_leaf() {
            if place.node.is_full() {
                return self.split(&place, key);
            }
            place.descend(&Seek::At(*key))?;
        }
        let Place { node, version, .. } = place;
        let position = match find(node, version, key)? {
            Ok(existing) => {
                let existing = node.value(existing);
                node.validate(version)?;
                return Ok(Err(existing));
            }
            Err(position) => position,
        };
        if node.is_full() {
            return self.split(&place, key);
        }
        let latched = node.upgrade(version)?;
        // SAFETY: the caller's key is alive. From here on the tree owns the copy.
        latched.insert(position, unsafe { key.with_own_bytes() }, address);
        Ok(Ok(()))
    }

    /// Splits the full node at `place`, on the way to insert `key`, and makes the search restart. Its parent has room,
    /// as the search splits every full node that it meets.
    #[cold]
    fn split<T>(&self, place: &Place<'_, W, CAP>, key: &Words<W>) -> Result<T, Restart> {
        let parent = match place.parent {
            Some((parent, version, position)) => Some((parent.upgrade(version)?, position)),
            None => None,
        };
        let left = place.node.upgrade(place.version)?;
        // Relaxed: the root is replaced only under the latch of the old root, and this node is latched.
        let is_root = std::ptr::eq(self.root.load(Ordering::Relaxed), left.node());
        if parent.is_none() && !is_root {
            return Err(Restart);
        }
        let count = left.count();
        // Ascending keys fill the nodes that they leave behind: a split in the middle would leave them half empty.
        let position = left.rank(left.own_version(), usize::from(!left.is_leaf()), key, true)?;
        let ascends = left.follows_last_insert(position) || (place.upper.is_none() && position == count);
        let (separator, right) = halve(&left, if ascends { position.clamp(1, count - 1) } else { count / 2 });
        let right = Box::into_raw(right).expose_provenance();
        let nodes = if parent.is_none() { 2 } else { 1 };
        // SAFETY: the separator is in no node yet, so no other thread frees it. The separator of an inner node is an
        // old one, counted already.
        let bytes = if left.is_leaf() { unsafe { separator.heap_bytes() } } else { 0 };
        self.count_bytes(key, nodes * Self::NODE_BYTES + bytes as isize);
        match parent {
            Some((parent, position)) => parent.insert(position + 1, separator, right),
            None => {
                let mut root = Node::new(left.level() + 1);
                root.push(Words::NONE, std::ptr::from_ref(left.node()).expose_provenance());
                root.push(separator, right);
                self.root.store(Box::into_raw(root), Ordering::Release);
            }
        }
        Err(Restart)
    }

    /// Removes the entry of `key`. Returns the key's words, which the caller owns now, the address, and whether the
    /// leaf is empty now; `None` if there was no such entry.
    fn try_remove(&self, guard: Guard<'_>, key: &Words<W>) -> Result<Option<(Words<W>, usize, bool)>, Restart> {
        let Place { node, version, .. } = self.leaf(guard, &Seek::At(*key))?;
        let Ok(position) = find(node, version, key)? else {
            node.validate(version)?;
            return Ok(None);
        };
        let latched = node.upgrade(version)?;
        let (key, address) = latched.remove(position);
        Ok(Some((key, address, latched.count() == 0)))
    }

    /// Unlinks the leaf where `key` belongs if it is empty, and the inner nodes that have only this leaf below them.
    ///
    /// Latches from the root down, and keeps the latches from the last node with several children on. Any other thread
    /// that takes a second latch either goes down, too, or gives up instead of waiting. So threads never wait in a
    /// circle.
    #[cold]
    fn prune(&self, guard: Guard<'_>, key: &Words<W>) -> Result<(), Restart> {
        let root = self.root(guard)?;
        let mut chain: Vec<(Latched<'_, W, CAP>, usize)> = Vec::new();
        let mut node = root.node.upgrade(root.version)?;
        while !node.is_leaf() {
            let position = node.rank(node.own_version(), 1, key, true)? - 1;
            // SAFETY: the children of a latched node are part of the tree.
            let child = unsafe { &*std::ptr::with_exposed_provenance::<Node<W, CAP>>(node.value(position)) };
            if node.count() > 1 {
                chain.clear();
            }
            chain.push((node, position));
            node = child.latch()?;
        }
        match chain.first() {
            Some((top, position)) if node.count() == 0 && top.count() > 1 => {
                let separator = top.remove_child(*position);
                let mut unlinked: Vec<_> = chain.drain(1..).map(|(inner, _)| inner).collect();
                unlinked.push(node);
                unlinked.iter().for_each(Latched::unlink);
                let nodes: Vec<_> = unlinked.iter().map(Latched::node).collect();
                drop((unlinked, chain));
                self.count_bytes(key, -(nodes.len() as isize * Self::NODE_BYTES));
                self.retire_key(separator);
                nodes.into_iter().for_each(|node| self.retire_node(node));
            }
            _ => {}
        }
        Ok(())
    }

    fn retire_node(&self, node: &Node<W, CAP>) {
        let node = std::ptr::from_ref(node).cast_mut();
        // SAFETY: the node was made by `Box::into_raw`, and only the caller could unlink it, which it did. The node
        // owns no keys: it is an empty leaf, or an inner node with one child and no separator.
        self.collector.defer(Garbage::boxed(unsafe { Box::from_raw(node) }));
    }

    fn retire_key(&self, key: Words<W>) {
        // SAFETY: the key belongs to the tree, and is not freed yet.
        self.count_bytes(&key, -(unsafe { key.heap_bytes() } as isize));
        // SAFETY: the key belonged to the tree, and the caller has removed it.
        if let Some(bytes) = unsafe { key.into_heap() } {
            self.collector.defer(Garbage::boxed(bytes));
        }
    }
}

/// Repeats `attempt` until everything that it has read is valid, and returns its result.
#[inline]
fn again<T>(mut attempt: impl FnMut() -> Result<T, Restart>) -> T {
    let mut backoff = Backoff::new();
    loop {
        match attempt() {
            Ok(result) => return result,
            Err(Restart) => backoff.snooze(),
        }
    }
}

/// Searches for `key` in a leaf. Returns its position, or, as the inner error, the position at which it would be
/// inserted.
#[inline]
fn find<const W: usize, const CAP: usize>(
    leaf: &Node<W, CAP>,
    version: Version,
    key: &Words<W>,
) -> Result<Result<usize, usize>, Restart> {
    let position = leaf.rank(version, 0, key, false)?;
    // The key at the position is not less than `key`: either both are equal, or it is greater.
    let found = position < leaf.count() && leaf.compare(version, position, key)?.is_eq();
    Ok(if found { Ok(position) } else { Err(position) })
}

/// Moves the entries of a node from `position` on to a new node on its right. Returns the separator of the new node,
/// and that node.
fn halve<const W: usize, const CAP: usize>(
    left: &Latched<'_, W, CAP>,
    position: usize,
) -> (Words<W>, Box<Node<W, CAP>>) {
    let mut right = left.split_off(position);
    let first = right.key(0);
    if left.is_leaf() {
        // SAFETY: both keys belong to the tree, in nodes that no other thread changes now.
        return (unsafe { first.separator(&left.key(position - 1)) }, right);
    }
    right.forget_first_separator();
    (first, right)
}

/// Copies the entries of a leaf that a scan should see to the beginning of `entries`, in the scan's order and as many
/// as fit. Returns how many.
fn read_leaf<const W: usize, const CAP: usize>(
    leaf: &Node<W, CAP>,
    version: Version,
    seek: &Seek<W>,
    inclusive: bool,
    backward: bool,
    entries: &mut [(Words<W>, usize)],
) -> Result<usize, Restart> {
    let (begin, end) = match seek {
        Seek::First | Seek::Last => (0, leaf.count()),
        Seek::At(key) | Seek::Before(key) if backward => (0, leaf.rank(version, 0, key, inclusive)?),
        Seek::At(key) | Seek::Before(key) => (leaf.rank(version, 0, key, !inclusive)?, leaf.count()),
    };
    let count = end.saturating_sub(begin).min(entries.len());
    for (offset, entry) in entries[..count].iter_mut().enumerate() {
        let position = if backward { end - 1 - offset } else { begin + offset };
        *entry = (leaf.key(position), leaf.value(position));
    }
    leaf.validate(version)?;
    Ok(count)
}

impl<const W: usize, const CAP: usize> Drop for Tree<W, CAP> {
    fn drop(&mut self) {
        free(self.root.load(Ordering::Acquire));
    }
}

/// Frees a node, and all nodes below it, of a tree that no thread uses any more.
fn free<const W: usize, const CAP: usize>(node: *mut Node<W, CAP>) {
    // SAFETY: the node was made by `Box::into_raw` and linked once, and the tree is being dropped.
    let node = unsafe { Box::from_raw(node) };
    let first_key = usize::from(!node.is_leaf());
    for position in first_key..node.count() {
        // SAFETY: the tree owns its keys, and each is freed once.
        drop(unsafe { node.key(position).into_heap() });
    }
    if !node.is_leaf() {
        (0..node.count())
            .for_each(|child| free(std::ptr::with_exposed_provenance_mut::<Node<W, CAP>>(node.value(child))));
    }
}
