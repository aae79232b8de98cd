//! Prefetches: requests to the processor for memory before it is needed.

/// Prefetches the cache line at `address`. Any address is allowed: a useless one costs time, and is never an error.
#[inline(always)]
pub fn prefetch(address: *const u8) {
    #[cfg(machine)]
    crate::machine::prefetch(address.addr(), false);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and faults on nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// The size of a cache line in bytes.
const LINE_BYTES: usize = 64;

/// The most lines that [`prefetch_bytes`] prefetches. A processor has room for some ten to sixteen missing lines at a
/// time, so more lines of one object would keep others from being fetched.
const LINES_MAX: usize = 4;

/// Prefetches the cache lines of the `bytes` bytes from `address` on, but at most the first four lines.
#[inline(always)]
pub fn prefetch_bytes(address: *const u8, bytes: usize) {
    let before = address.addr() % LINE_BYTES;
    let lines = (before + bytes).div_ceil(LINE_BYTES).min(LINES_MAX);
    for line in 0..lines {
        prefetch(address.wrapping_add(line * LINE_BYTES).wrapping_sub(before));
    }
}

/// Prefetches the cache line at `address` for a write: other cores give up their copies of the line.
#[inline(always)]
pub fn prefetch_to_write(address: *const u8) {
    #[cfg(machine)]
    crate::machine::prefetch(address.addr(), true);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and faults on nothing.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
