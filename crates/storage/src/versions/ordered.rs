//! The ordered index over versions: a tree of anchors.
//!
//! The tree leads from a *full key* (the columns, then the primary key unless it is among them) to an *anchor*, and
//! from the anchor to the versions that have the key, the one linked last first. The last version in that list leads
//! back to the anchor. So an update that does not change the key finds the anchor from the version that it replaces,
//! and never goes down the tree.
//!
//! **Thread safety.** All threads may call all methods at any time, in an epoch. Reading and linking take no latch
//! other than those of the tree's nodes.
//!
//! **Invariants**, beside those of [`links`]
//!
//! 1. An anchor that is not *closed* is in the tree under its key; the tree has at most one anchor for a key.
//! 2. An anchor is closed when it has no version, by the exchange that marks its word: so no version can be inserted
//!    afterwards. The thread that closed it removes it from the tree and then retires it.
//!
//! **Why a walk of the tree does not miss a version** that is linked from before the walk begins until it ends: the
//! version's anchor has a version throughout, so it is not closed (2), so it is in the tree (1), and the walk reaches
//! it. A thread that is linking and finds a closed anchor in the tree restarts, until the anchor is gone.

use super::format::VersionHeader;
use super::links::{self, Link, Lost, Place, Pointee};
use super::memory::VersionSlots;
use super::version::VersionRef;
use crate::epoch::{Collector, Garbage, Guard};
use crate::{Key, KeyShape, OrderedIndex};
use hotrow_sync::atomic::AtomicU64;
use hotrow_sync::{Arc, Backoff};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Bound;

/// An ordered index over the versions of a table. The versions are linked by their words at `position`.
pub(super) struct VersionTree<H> {
    position: usize,
    slots: Arc<VersionSlots>,
    tree: OrderedIndex,
    marker: PhantomData<fn() -> H>,
}

/// An anchor: a key of the tree, and the word that leads to the key's versions.
#[repr(align(8))]
struct Anchor {
    head: AtomicU64,
    key: Key,
}

impl<H: VersionHeader> VersionTree<H> {
    /// Makes an empty index for full keys of this shape.
    pub fn new(slots: &Arc<VersionSlots>, position: usize, collector: &Arc<Collector>, shape: KeyShape) -> Self {
        let tree = OrderedIndex::new(collector, shape);
        Self { position, slots: slots.clone(), tree, marker: PhantomData }
    }

    /// Returns the number of keys, now or a moment ago.
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// Links a version that has the same key as `near`, which was linked in the guard's epoch. Returns false, without
    /// linking, if `near` was unlinked since then and was the last version of its key.
    pub fn link_near(&self, guard: Guard<'_>, version: VersionRef<'_, H>, near: VersionRef<'_, H>) -> bool {
        self.try_link(self.anchor_of(guard, near), version)
    }

    /// Links a version under its key.
    pub fn link(&self, guard: Guard<'_>, version: VersionRef<'_, H>, key: &Key) {
        let mut backoff = Backoff::new();
        loop {
            let anchor = match self.tree.get(guard, key) {
                Some(address) => self.anchor(guard, address),
                None => match self.insert(guard, version, key) {
                    Ok(()) => return,
                    Err(address) => self.anchor(guard, address),
                },
            };
            if self.try_link(anchor, version) {
                return;
            }
            backoff.snooze();
        }
    }

    /// Puts a new anchor with a version into the tree. If the key has an anchor already, the error is its address.
    fn insert(&self, guard: Guard<'_>, version: VersionRef<'_, H>, key: &Key) -> Result<(), usize> {
        let anchor = Box::into_raw(Box::new(Anchor { head: AtomicU64::new(0), key: key.clone() }));
        // SAFETY: the anchor was made from the box just above; no other thread knows it yet.
        let head = unsafe { &(*anchor).head };
        let mut place = Place::new(head, Link::to_stop(anchor));
        place.put(version, self.position, 0).unwrap_or_else(|Lost| unreachable!("nobody else knows the anchor"));
        self.tree.insert(guard, key, anchor.expose_provenance()).inspect_err(|_| {
            // SAFETY: the anchor came from the box just above, and is not in the tree.
            drop(unsafe { Box::from_raw(anchor) });
        })
    }

    /// Puts a version in front of the anchor's other versions. Returns false, without linking it, if the anchor is
    /// closed.
    fn try_link(&self, anchor: &Anchor, version: VersionRef<'_, H>) -> bool {
        loop {
            let Some(mut place) = Place::at(&anchor.head) else { return false };
            if place.put(version, self.position, 0).is_ok() {
                return true;
            }
        }
    }

    /// Unlinks a version for good. Searches that begin afterwards do not find it. If it was the last version of its
    /// key, returns the key's anchor as garbage, which the caller must retire.
    pub fn unlink(&self, guard: Guard<'_>, version: VersionRef<'_, H>) -> Option<Garbage> {
        links::mark(version, self.position);
        let anchor = self.anchor_of(guard, version);
        let closed = loop {
            if let Ok(closed) = self.sweep(guard, anchor) {
                break closed;
            }
        };
        closed.then(|| {
            let address = self.tree.remove(guard, &anchor.key);
            debug_assert_eq!(address, Some(std::ptr::from_ref(anchor).addr()));
            // SAFETY: the anchor came from a box in `insert`; only the thread that closed it removes it from the tree
            // and gets here.
            Garbage::boxed(unsafe { Box::from_raw(std::ptr::from_ref(anchor).cast_mut()) })
        })
    }

    /// Removes all marked versions of an anchor, and closes the anchor if no version is left. Returns whether it closed
    /// the anchor.
    fn sweep(&self, _guard: Guard<'_>, anchor: &Anchor) -> Result<bool, Lost> {
        let Some(mut place) = Place::at(&anchor.head) else { return Ok(false) };
        loop {
            // SAFETY: the place is in the list of this index's anchor, and was read in the guard's epoch.
            let (pointee, behind) = unsafe { place.next::<H>(&self.slots.format, self.position)? };
            match (pointee, behind) {
                (Pointee::Version(_), Some(behind)) => place = behind,
                _ if std::ptr::eq(place.word, &anchor.head) => return place.close().map(|()| true),
                _ => return Ok(false),
            }
        }
    }

    /// Returns the anchor at the end of a version's list.
    fn anchor_of<'g>(&'g self, guard: Guard<'g>, version: VersionRef<'g, H>) -> &'g Anchor {
        let mut version = version;
        loop {
            match self.pointee(guard, Link::of(version.link(self.position))) {
                Pointee::Version(next) => version = next,
                Pointee::Stop(address) => return self.anchor(guard, address),
            }
        }
    }

    /// Returns the anchor under a key, or `None` if the tree does not have the key.
    pub fn get<'g>(&'g self, guard: Guard<'g>, key: &Key) -> Option<AnchorRef<'g, H>> {
        self.tree.get(guard, key).map(|address| self.anchor_ref(guard, address))
    }

    /// Iterates over the versions behind a linked version.
    pub fn after<'g>(&'g self, guard: Guard<'g>, version: VersionRef<'g, H>) -> Chain<'g, H> {
        Chain { index: self, guard, at: version.link(self.position) }
    }

    /// Appends anchors to `out`, as [`OrderedIndex::collect`] appends entries.
    pub fn collect<'g>(
        &'g self,
        guard: Guard<'g>,
        from: Bound<&Key>,
        backward: bool,
        limit: usize,
        out: &mut Vec<AnchorRef<'g, H>>,
    ) {
        let mut found = Vec::with_capacity(limit.min(64));
        self.tree.collect(guard, from, backward, limit, &mut found);
        out.extend(found.into_iter().map(|(_, address)| self.anchor_ref(guard, address)));
    }

    /// Returns the first anchor from `from` on, as [`OrderedIndex::next`] finds it.
    pub fn next<'g>(&'g self, guard: Guard<'g>, from: Bound<&Key>) -> Option<AnchorRef<'g, H>> {
        self.tree.next(guard, from).map(|address| self.anchor_ref(guard, address))
    }

    #[inline]
    fn pointee<'g>(&'g self, _guard: Guard<'g>, link: Link) -> Pointee<'g, H> {
        // SAFETY: all words that this type reads belong to its lists, and were read in the guard's epoch, which lasts
        // for 'g.
        unsafe { link.pointee(&self.slots.format) }
    }

    fn anchor_ref<'g>(&'g self, guard: Guard<'g>, address: usize) -> AnchorRef<'g, H> {
        AnchorRef { index: self, guard, anchor: self.anchor(guard, address) }
    }

    fn anchor<'g>(&'g self, _guard: Guard<'g>, address: usize) -> &'g Anchor {
        // SAFETY: the address came from the tree or from a list of this index under the guard; anchors are retired
        // after they are removed from the tree, when no version leads to them any more.
        unsafe { &*std::ptr::with_exposed_provenance::<Anchor>(address) }
    }

    /// Returns the bytes of the tree and of the anchors.
    pub fn bytes(&self, guard: Guard<'_>) -> usize {
        let anchors = self.anchors(guard);
        let heap: usize = anchors.iter().map(|&address| self.anchor(guard, address).key.heap_bytes()).sum();
        self.tree.bytes() + anchors.len() * size_of::<Anchor>() + heap
    }

    /// Frees the anchors of an index that no other thread can reach.
    pub fn free_anchors(&self, guard: Guard<'_>) {
        for address in self.anchors(guard) {
            // SAFETY: the address came from `Box::into_raw` in `insert`; the index is being dropped.
            drop(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<Anchor>(address)) });
        }
    }

    /// Returns the addresses of all anchors.
    fn anchors(&self, guard: Guard<'_>) -> Vec<usize> {
        let mut anchors = Vec::new();
        self.tree.collect(guard, Bound::Unbounded, false, usize::MAX, &mut anchors);
        anchors.into_iter().map(|(_, address)| address).collect()
    }
}

/// A key of an ordered index, with the versions that have the key. The key stays allocated for `'g`.
pub struct AnchorRef<'g, H> {
    index: &'g VersionTree<H>,
    guard: Guard<'g>,
    anchor: &'g Anchor,
}

impl<H> Clone for AnchorRef<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for AnchorRef<'_, H> {}

impl<'g, H: VersionHeader> AnchorRef<'g, H> {
    /// Returns the whole key: the index's columns, followed by the primary key unless the columns include it.
    pub fn key(&self) -> &'g Key {
        &self.anchor.key
    }

    /// Iterates over the versions of the key, the one linked last first. There may be none, if all were unlinked since.
    pub fn versions(&self) -> Chain<'g, H> {
        Chain { index: self.index, guard: self.guard, at: &self.anchor.head }
    }

    /// Returns the version of the key that was linked last, or `None` if all were unlinked since.
    pub fn first(&self) -> Option<VersionRef<'g, H>> {
        self.versions().next()
    }
}

impl<H: VersionHeader> fmt::Debug for AnchorRef<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnchorRef").field("key", self.key()).finish_non_exhaustive()
    }
}

/// An iterator over the versions of one key, the one linked last first.
pub struct Chain<'g, H> {
    index: &'g VersionTree<H>,
    guard: Guard<'g>,
    /// The word that leads to the next version.
    at: &'g AtomicU64,
}

impl<'g, H: VersionHeader> Iterator for Chain<'g, H> {
    type Item = VersionRef<'g, H>;

    fn next(&mut self) -> Option<VersionRef<'g, H>> {
        let Pointee::Version(version) = self.index.pointee(self.guard, Link::of(self.at)) else { return None };
        self.at = version.link(self.index.position);
        Some(version)
    }
}

impl<H> fmt::Debug for Chain<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").finish_non_exhaustive()
    }
}
