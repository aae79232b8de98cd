//! The memory of versions: one allocation each.
//!
//! Where rows have no variable part, a version is a slot of its table's [`Segments`]. Where they have one, it is a block of the
//! allocator, as long as its row needs, with the variable part at its end.

use super::format::{LINE_BYTES, VersionFormat, VersionHeader};
use super::version::{VersionPtr, length};
use crate::epoch::Garbage;
use crate::segment::Segments;
use crate::striped::Striped;
use hotrow_sync::Arc;
use std::alloc::{self, Layout};
use std::fmt;
use std::ptr::NonNull;
use std::sync::Weak;

/// How many slots a transaction takes from a table at once.
const SLOTS_AT_ONCE: usize = 32;

/// The memory of one table's versions: alive until the last of its garbage is freed.
///
/// Aligned, because all who look at versions read the format: who counts a reference is not to take the line from them.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct VersionSlots {
    pub format: VersionFormat,
    /// Holds all versions if rows have no variable part, otherwise none.
    segments: Segments,
    /// Bytes of the blocks of versions with variable parts.
    block_bytes: Striped,
}

impl VersionSlots {
    pub fn new(format: VersionFormat) -> Self {
        let segments = Segments::new(format.bytes());
        Self { format, segments, block_bytes: Striped::new() }
    }

    /// Bytes that versions take from the system.
    pub fn allocated_bytes(&self) -> usize {
        self.segments.allocated_bytes() + self.block_bytes.sum() as usize
    }

    /// Bytes for versions that are there already, and free.
    pub fn spare_bytes(&self) -> usize {
        self.segments.spare_bytes()
    }

    /// Bytes of the variable parts of `versions` versions, all there are.
    pub fn variable_bytes(&self, versions: u64) -> u64 {
        self.block_bytes.sum().saturating_sub(versions * self.format.bytes() as u64)
    }

    /// Room for a version whose row has a variable part of `variable` bytes. It is not zeroed.
    pub fn allocate(&self, variable: usize) -> NonNull<u8> {
        if self.format.length_at().is_none() {
            debug_assert_eq!(variable, 0, "rows of this layout have no variable part");
            return self.segments.allocate();
        }
        let layout = self.block(variable);
        self.block_bytes.add(layout.size() as i64);
        // SAFETY: the size is not zero: a version has a row, and a row has a column.
        let block = unsafe { alloc::alloc(layout) };
        NonNull::new(block).unwrap_or_else(|| alloc::handle_alloc_error(layout))
    }

    fn block(&self, variable: usize) -> Layout {
        Layout::from_size_align(self.format.bytes() + variable, LINE_BYTES).expect("a row has less than 2^62 bytes")
    }

    /// Frees versions.
    ///
    /// # Safety
    /// They came from `allocate` of this memory, their lengths are written, they were not freed, and nobody can reach them.
    pub unsafe fn free(&self, versions: impl Iterator<Item = NonNull<u8>>) {
        let Some(length_at) = self.format.length_at() else {
            // SAFETY: by the caller: without variable parts all versions are slots.
            return unsafe { self.segments.free_many(versions) };
        };
        for version in versions {
            // SAFETY: by the caller.
            let layout = self.block(unsafe { length(version, length_at) });
            self.block_bytes.add(-(layout.size() as i64));
            // SAFETY: `allocate` made the block with a layout of the same length.
            unsafe { alloc::dealloc(version.as_ptr(), layout) };
        }
    }
}

/// Versions that are unlinked everywhere, to be freed together.
struct Unlinked<H: VersionHeader> {
    slots: Arc<VersionSlots>,
    versions: Vec<VersionPtr<H>>,
}

impl<H: VersionHeader> Drop for Unlinked<H> {
    fn drop(&mut self) {
        // SAFETY: by the contract of `garbage`; garbage is dropped once nobody can reach it.
        unsafe { self.slots.free(self.versions.iter().map(|version| version.start())) };
    }
}

/// Versions as garbage.
///
/// # Safety
/// They are of this memory, unlinked from every index, and handed over to be freed once.
pub(super) unsafe fn garbage<H: VersionHeader>(slots: &Arc<VersionSlots>, versions: Vec<VersionPtr<H>>) -> Garbage {
    Garbage::boxed(Box::new(Unlinked { slots: slots.clone(), versions }))
}

/// What a transaction object keeps to make versions: free slots of the tables that it wrote to, so that it goes to a table's
/// memory once for many versions, and a row to change.
///
/// It does not keep a dropped table's memory.
#[derive(Default)]
pub struct VersionMemory {
    caches: Vec<Cache>,
    pub(super) scratch: Vec<u8>,
}

/// Free slots of one table's memory. They are gone when that is.
struct Cache {
    slots: Weak<VersionSlots>,
    free: Vec<NonNull<u8>>,
}

// SAFETY: the pointers lead to memory that belongs to nobody else, and nothing in it belongs to a thread.
unsafe impl Send for VersionMemory {}

impl VersionMemory {
    /// As [`VersionSlots::allocate`].
    pub(super) fn allocate(&mut self, slots: &Arc<VersionSlots>, variable: usize) -> NonNull<u8> {
        if slots.format.length_at().is_some() {
            return slots.allocate(variable);
        }
        let cache = self.cache(slots);
        if cache.free.is_empty() {
            slots.segments.allocate_many(SLOTS_AT_ONCE, &mut cache.free);
        }
        cache.free.pop().expect("so many slots were just added")
    }

    fn cache(&mut self, slots: &Arc<VersionSlots>) -> &mut Cache {
        // A weak reference keeps its address from being used again, so an equal one is this table's.
        let known = self.caches.iter().position(|cache| cache.slots.as_ptr() == Arc::as_ptr(slots));
        let at = known.unwrap_or_else(|| {
            self.caches.retain(|cache| cache.slots.strong_count() > 0);
            self.caches.push(Cache { slots: Arc::downgrade(slots), free: Vec::with_capacity(SLOTS_AT_ONCE) });
            self.caches.len() - 1
        });
        &mut self.caches[at]
    }
}

impl Drop for VersionMemory {
    fn drop(&mut self) {
        for cache in self.caches.drain(..) {
            if let Some(slots) = cache.slots.upgrade() {
                // SAFETY: the slots came from this table's memory, and nobody else knows them.
                unsafe { slots.segments.free_many(cache.free.into_iter()) };
            }
        }
    }
}

impl fmt::Debug for VersionMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VersionMemory").field("tables", &self.caches.len()).finish_non_exhaustive()
    }
}
