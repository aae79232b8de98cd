//! The memory of versions, one allocation for each.
//!
//! If rows have no variable part, a version is a slot of its table's [`Segments`]. If they have one, a version is a
//! block of the allocator, as long as its row needs, with the variable part at its end.

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

/// The number of slots that a transaction takes from a table's memory at once.
const SLOTS_AT_ONCE: usize = 32;

/// The memory of one table's versions. It lives until the last of its garbage is freed.
///
/// The value has its own cache lines, because all threads that look at versions read the format. A thread that changes
/// the reference count must not take the format's line from them.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct VersionSlots {
    pub format: VersionFormat,
    /// The slots of all versions if rows have no variable part; otherwise empty.
    segments: Segments,
    /// The sum of the sizes of all blocks, which hold the versions with variable parts.
    block_bytes: Striped,
}

impl VersionSlots {
    pub fn new(format: VersionFormat) -> Self {
        let segments = Segments::new(format.bytes());
        Self { format, segments, block_bytes: Striped::new() }
    }

    /// Returns the bytes that versions take from the system.
    pub fn allocated_bytes(&self) -> usize {
        self.segments.allocated_bytes() + self.block_bytes.sum() as usize
    }

    /// Returns the bytes of the free slots that versions used before.
    pub fn spare_bytes(&self) -> usize {
        self.segments.spare_bytes()
    }

    /// Returns the bytes of the variable parts of all versions, whose number is `versions`.
    pub fn variable_bytes(&self, versions: u64) -> u64 {
        self.block_bytes.sum().saturating_sub(versions * self.format.bytes() as u64)
    }

    /// Allocates memory for a version whose row has a variable part of `variable` bytes. The memory is not zeroed.
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

    /// Frees the memory of versions.
    ///
    /// # Safety
    /// The versions came from `allocate` of this memory, their lengths are written, they are not freed yet, and no
    /// thread can reach them.
    pub unsafe fn free(&self, versions: impl Iterator<Item = NonNull<u8>>) {
        let Some(length_at) = self.format.length_at() else {
            // SAFETY: by the caller; without variable parts all versions are slots.
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

/// Versions that are unlinked from every index, to be freed together.
struct Unlinked<H: VersionHeader> {
    slots: Arc<VersionSlots>,
    versions: Vec<VersionPtr<H>>,
}

impl<H: VersionHeader> Drop for Unlinked<H> {
    fn drop(&mut self) {
        // SAFETY: by the contract of `garbage`; garbage is dropped once no thread can reach it.
        unsafe { self.slots.free(self.versions.iter().map(|version| version.start())) };
    }
}

/// Turns unlinked versions into one piece of garbage.
///
/// # Safety
/// The versions belong to this memory, are unlinked from every index, and are handed over to be freed once.
pub(super) unsafe fn garbage<H: VersionHeader>(slots: &Arc<VersionSlots>, versions: Vec<VersionPtr<H>>) -> Garbage {
    Garbage::boxed(Box::new(Unlinked { slots: slots.clone(), versions }))
}

/// A transaction object's own memory for making versions: free slots of the tables that it writes to, and a buffer for
/// a row under change. It takes slots from a table in batches, so that making a version rarely contends with other
/// threads.
///
/// A `VersionMemory` does not keep the memory of a dropped table alive.
#[derive(Default)]
pub struct VersionMemory {
    caches: Vec<Cache>,
    pub(super) scratch: Vec<u8>,
}

/// The free slots that a transaction object keeps of one table's memory. They are valid only as long as that memory is.
struct Cache {
    slots: Weak<VersionSlots>,
    free: Vec<NonNull<u8>>,
}

// SAFETY: the pointers lead to memory that belongs to this value alone, and nothing in it belongs to a thread.
unsafe impl Send for VersionMemory {}

impl VersionMemory {
    /// Allocates memory for a version, as [`VersionSlots::allocate`] does.
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
        // A weak reference keeps its address from being reused, so an equal address is that of this table.
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
                // SAFETY: the slots came from this table's memory, and no other thread knows them.
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
