//! The memory that the process has in use, and its resident size: figures that cost one load.
//!
//! The program's allocator is [`Metered`]; code that maps memory without it reports that by [`grow`] and [`shrink`].
//! Each thread adds to one of several counters, and moves a counter to the sum once it has reached a limit. So the sum
//! is out of date by at most [`SLACK_BYTES`], and threads do not contend for it.
//!
//! The figure counts bytes that were requested and not given back. An allocator keeps more, for alignment and for later
//! requests; that is part of the [resident size](resident_bytes) only.

mod resident;

pub use resident::{is_large, measure, resident_bytes, trim, watch};

use crate::CachePadded;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

const COUNTERS: usize = 64;

/// The number of bytes that a counter may hold before they are moved to the sum.
const COUNTED_BYTES: i64 = 16 << 10;

/// The greatest difference, in bytes, between the sum and the memory that is in use.
pub const SLACK_BYTES: usize = COUNTERS * COUNTED_BYTES as usize;

/// The counters: signed numbers, as two's complement. They are not atomics of the models: all that depends on them is
/// whether memory is short.
static COUNTED: [CachePadded<AtomicU64>; COUNTERS] = [const { CachePadded(AtomicU64::new(0)) }; COUNTERS];
static SUM: CachePadded<AtomicU64> = CachePadded(AtomicU64::new(0));
static THREADS: AtomicU64 = AtomicU64::new(0);

std::thread_local! {
    /// The number of the thread's counter plus one; zero if it has none yet. An allocator reads it, so it must exist
    /// without being initialised, and it needs no drop.
    static COUNTER: Cell<usize> = const { Cell::new(0) };
}

/// Returns the bytes of memory that the process has requested and not given back. The result is exact to
/// [`SLACK_BYTES`].
#[inline]
pub fn used_bytes() -> usize {
    // Relaxed: a figure, which orders nothing.
    usize::try_from(SUM.0.load(Ordering::Relaxed).cast_signed()).unwrap_or(0)
}

/// Counts `bytes` more bytes as in use. Code that maps memory without the allocator calls this.
#[inline]
pub fn grow(bytes: usize) {
    add(bytes as i64);
}

/// Counts `bytes` bytes as given back. Code that unmaps memory without the allocator calls this.
#[inline]
pub fn shrink(bytes: usize) {
    add(-(bytes as i64));
}

#[inline]
fn add(bytes: i64) {
    let counter = &COUNTED[counter()].0;
    // Relaxed: as in `used_bytes`.
    let counted = counter.fetch_add(bytes.cast_unsigned(), Ordering::Relaxed).cast_signed() + bytes;
    if counted.abs() >= COUNTED_BYTES {
        // Relaxed: as in `used_bytes`. The swap moves whatever the counter holds by now to the sum once.
        SUM.0.fetch_add(counter.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        resident::measure_by_and_by();
    }
}

#[inline]
fn counter() -> usize {
    COUNTER.with(|counter| match counter.get() {
        0 => {
            // Relaxed: it only draws a number, which orders nothing.
            counter.set(THREADS.fetch_add(1, Ordering::Relaxed) as usize % COUNTERS + 1);
            counter.get() - 1
        }
        number => number - 1,
    })
}

/// A global allocator that counts the bytes which it gets from the allocator `A` and gives back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Metered<A>(pub A);

// SAFETY: every call goes to the allocator with the same arguments; counting allocates nothing.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Metered<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`.
        let pointer = unsafe { self.0.alloc(layout) };
        if !pointer.is_null() {
            grow(layout.size());
        }
        pointer
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        shrink(layout.size());
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { self.0.dealloc(pointer, layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        let pointer = unsafe { self.0.alloc_zeroed(layout) };
        if !pointer.is_null() {
            grow(layout.size());
        }
        pointer
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `realloc`.
        let moved = unsafe { self.0.realloc(pointer, layout, size) };
        if !moved.is_null() {
            add(size as i64 - layout.size() as i64);
        }
        moved
    }
}
