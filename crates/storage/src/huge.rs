//! Large zeroed blocks of memory, on huge pages where the system has them.
//!
//! A random access to a table of ten million records misses the translation cache as often as the data caches. Pages of
//! 2 MiB avoid the misses of the first kind. So blocks of at least that size are aligned to it, and the system is
//! advised to use huge pages.

#[cfg(all(unix, not(machine)))]
use hotrow_sync::meter;
use std::alloc::{self, Layout};
use std::fmt;
use std::ptr::NonNull;

/// The size of a huge page, and the alignment of blocks that can hold one.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;

/// The alignment of smaller blocks: a cache line.
const LINE_BYTES: usize = 64;

/// A block of zeroed memory that is freed when dropped.
///
/// A block owns raw memory and no values in it. The code that puts values there must drop them, and must keep threads
/// from racing on them.
pub struct HugeBlock {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the block only owns memory; it gives out no reference to it, so moving it to another thread shares nothing.
unsafe impl Send for HugeBlock {}
// SAFETY: `&HugeBlock` gives only the address; what the caller does with it needs `unsafe` of its own.
unsafe impl Sync for HugeBlock {}

impl HugeBlock {
    /// Allocates a zeroed block of `bytes` bytes. It is aligned to a cache line, or to [`HUGE_PAGE_BYTES`] if it is at
    /// least that large.
    ///
    /// Ends the process, as `Vec` does, when the system has no memory left.
    ///
    /// # Panics
    ///
    /// If `bytes` is zero or more than `isize::MAX`.
    pub fn alloc_zeroed(bytes: usize) -> Self {
        assert!(bytes > 0, "a block has at least one byte");
        let align = if bytes >= HUGE_PAGE_BYTES { HUGE_PAGE_BYTES } else { LINE_BYTES };
        let layout = Layout::from_size_align(bytes, align).expect("a block is at most isize::MAX bytes");
        let start = if align == HUGE_PAGE_BYTES { Self::huge(layout, true) } else { Self::small(layout) };
        Self { start, layout }
    }

    /// Allocates a zeroed block of `bytes` bytes, aligned to [`HUGE_PAGE_BYTES`], on small pages. Pages that are never
    /// touched take no memory.
    ///
    /// Ends the process when the system has no memory left.
    ///
    /// # Panics
    ///
    /// If `bytes` is zero or more than `isize::MAX`.
    pub fn alloc_sparse(bytes: usize) -> Self {
        assert!(bytes > 0, "a block has at least one byte");
        let layout = Layout::from_size_align(bytes, HUGE_PAGE_BYTES).expect("a block is at most isize::MAX bytes");
        Self { start: Self::huge(layout, false), layout }
    }

    /// Returns the address of the block's first byte.
    #[inline]
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Returns the size of the block in bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.layout.size()
    }

    fn small(layout: Layout) -> NonNull<u8> {
        // SAFETY: `alloc_zeroed` made the layout of a size that is not zero.
        let start = unsafe { alloc::alloc_zeroed(layout) };
        NonNull::new(start).unwrap_or_else(|| alloc::handle_alloc_error(layout))
    }

    /// Maps fresh pages, which the system zeroes when they are first touched. An allocator would zero a block of this
    /// alignment by itself, before the advice could make its pages huge. `is_advised` says whether the pages should be
    /// huge.
    #[cfg(all(unix, not(machine)))]
    fn huge(layout: Layout, is_advised: bool) -> NonNull<u8> {
        let size = Self::mapped_bytes(layout);
        let spare = size + HUGE_PAGE_BYTES;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping at an address of the system's choice touches no memory in use.
        let mapped = unsafe { libc::mmap(std::ptr::null_mut(), spare, protection, flags, -1, 0) };
        if mapped == libc::MAP_FAILED {
            alloc::handle_alloc_error(layout);
        }
        meter::grow(size);
        let head = mapped.align_offset(HUGE_PAGE_BYTES);
        let start = mapped.wrapping_byte_add(head);
        if head > 0 {
            // SAFETY: the bytes before `start` belong to the mapping that was just made, and no other code has seen
            // them.
            unsafe { libc::munmap(mapped, head) };
        }
        let tail = spare - head - size;
        if tail > 0 {
            // SAFETY: as above, for the whole pages after the block.
            unsafe { libc::munmap(start.wrapping_byte_add(size), tail) };
        }
        #[cfg(target_os = "linux")]
        // SAFETY: the range is the block's own mapping. The call is advice: without huge pages the memory works all the
        // same.
        unsafe {
            libc::madvise(start, size, if is_advised { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE })
        };
        #[cfg(not(target_os = "linux"))]
        let _ = is_advised;
        NonNull::new(start.cast()).unwrap_or_else(|| alloc::handle_alloc_error(layout))
    }

    #[cfg(any(not(unix), machine))]
    fn huge(layout: Layout, _is_advised: bool) -> NonNull<u8> {
        Self::small(layout)
    }

    #[cfg(all(unix, not(machine)))]
    fn mapped_bytes(layout: Layout) -> usize {
        layout.size().next_multiple_of(PAGE_BYTES)
    }
}

/// The unit in which blocks are mapped and unmapped: a multiple of every page size in use.
#[cfg(all(unix, not(machine)))]
const PAGE_BYTES: usize = 64 << 10;

impl Drop for HugeBlock {
    fn drop(&mut self) {
        #[cfg(all(unix, not(machine)))]
        if self.layout.align() == HUGE_PAGE_BYTES {
            // SAFETY: `huge` mapped this range, all of which belongs to the block, and nothing uses it after this.
            unsafe { libc::munmap(self.start.as_ptr().cast(), Self::mapped_bytes(self.layout)) };
            meter::shrink(Self::mapped_bytes(self.layout));
            return;
        }
        // SAFETY: the block was allocated by `small` with this layout.
        unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) };
    }
}

impl fmt::Debug for HugeBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HugeBlock").field("start", &self.start).field("bytes", &self.bytes()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_zeroed_and_writable() {
        for bytes in
            [1, 63, 4096, HUGE_PAGE_BYTES - 1, HUGE_PAGE_BYTES, HUGE_PAGE_BYTES + 1, 3 * HUGE_PAGE_BYTES + 4097]
        {
            let block = HugeBlock::alloc_zeroed(bytes);
            let align = if bytes >= HUGE_PAGE_BYTES { HUGE_PAGE_BYTES } else { LINE_BYTES };
            assert_eq!(block.as_ptr().align_offset(align), 0, "{bytes} bytes");
            assert_eq!(block.bytes(), bytes);
            // SAFETY: the block is zeroed memory of this size, and only this test uses it.
            let contents = unsafe { std::slice::from_raw_parts_mut(block.as_ptr(), bytes) };
            assert!(contents.iter().all(|&byte| byte == 0), "{bytes} bytes are zero");
            contents.fill(7);
        }
        let sparse = HugeBlock::alloc_sparse(100);
        assert_eq!((sparse.as_ptr().align_offset(HUGE_PAGE_BYTES), sparse.bytes()), (0, 100));
        // SAFETY: as above.
        let contents = unsafe { std::slice::from_raw_parts_mut(sparse.as_ptr(), 100) };
        assert!(contents.iter().all(|&byte| byte == 0));
        contents.fill(7);
    }
}
