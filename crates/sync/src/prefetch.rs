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
