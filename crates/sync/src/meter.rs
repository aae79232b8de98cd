//! The memory that the process has in use, and what of it is resident: figures that cost a load.
//!
//! The program's allocator is [`Metered`], and who maps memory past it says so by [`grow`] and [`shrink`]. Each thread adds to one of
//! several counters, and moves what has come together there to the sum when it is much. So the sum is out of date by at most
//! [`SLACK_BYTES`], and threads do not meet at it.
//!
//! Counted is what was asked for and not given back. What an allocator keeps besides, for alignment and for later, is part of the
//! [resident size](resident_bytes) only.

mod resident;

pub use resident::{is_large, measure, resident_bytes, trim, watch};

use crate::{CachePadded, PlainAtomicU64};
use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::Ordering;

const COUNTERS: usize = 64;

/// What a counter may hold before it goes to the sum.
const COUNTED_BYTES: i64 = 16 << 10;

/// How far the sum may be from the truth.
pub const SLACK_BYTES: usize = COUNTERS * COUNTED_BYTES as usize;

/// Signed numbers, as two's complement. Not a model's atomics: nothing is decided by them but whether memory is short.
static COUNTED: [CachePadded<PlainAtomicU64>; COUNTERS] = [const { CachePadded(PlainAtomicU64::new(0)) }; COUNTERS];
static SUM: CachePadded<PlainAtomicU64> = CachePadded(PlainAtomicU64::new(0));
static THREADS: PlainAtomicU64 = PlainAtomicU64::new(0);

std::thread_local! {
    /// The number of the thread's counter, and one. An allocator reads it: it has to be there without being made, and needs no drop.
    static COUNTER: Cell<usize> = const { Cell::new(0) };
}

/// Bytes in use.
#[inline]
pub fn used_bytes() -> usize {
    // Relaxed: a figure, which orders nothing.
    usize::try_from(SUM.0.load(Ordering::Relaxed).cast_signed()).unwrap_or(0)
}

/// So many bytes more are in use.
#[inline]
pub fn grow(bytes: usize) {
    add(bytes as i64);
}

/// So many bytes were given back.
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
        // Relaxed: as in `used_bytes`. Whatever it is by now goes to the sum once.
        SUM.0.fetch_add(counter.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        resident::measure_by_and_by();
    }
}

#[inline]
fn counter() -> usize {
    COUNTER.with(|counter| match counter.get() {
        0 => {
            // Relaxed: a number of its own, which orders nothing.
            counter.set(THREADS.fetch_add(1, Ordering::Relaxed) as usize % COUNTERS + 1);
            counter.get() - 1
        }
        number => number - 1,
    })
}

/// An allocator whose memory is counted.
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

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: Metered<std::alloc::System> = Metered(std::alloc::System);

    #[test]
    fn what_is_in_use_is_counted_whoever_gives_it_back() {
        const BLOCK: usize = 1 << 20;
        let is_about = |bytes: usize, before: usize| used_bytes().abs_diff(before + bytes) <= SLACK_BYTES;
        let before = used_bytes();
        let mut blocks: Vec<_> = (0..64).map(|_| vec![1_u8; BLOCK]).collect();
        assert!(is_about(64 * BLOCK, before), "{} more than {before}", used_bytes());
        blocks[0].reserve_exact(63 * BLOCK);
        assert!(is_about(127 * BLOCK, before));
        std::thread::spawn(move || drop(blocks)).join().expect("no panic");
        assert!(is_about(0, before), "{} more than {before}", used_bytes());
        grow(40 * BLOCK);
        assert!(is_about(40 * BLOCK, before));
        shrink(40 * BLOCK);
        assert!(is_about(0, before));
        for _ in 0..200 {
            std::thread::spawn(|| drop(vec![0_u8; 100_000])).join().expect("no panic");
        }
        assert!(is_about(0, before), "threads that come and go leave nothing");
    }
}
