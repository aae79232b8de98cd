//! Padding, which keeps two hot words off one cache line.

use std::ops::{Deref, DerefMut};

/// A value that shares its cache lines with no other value.
///
/// It is 128 bytes, because the adjacent-line prefetcher of x86-64 fetches lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CachePadded<T>(pub T);

impl<T> Deref for CachePadded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for CachePadded<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

const _: () = assert!(size_of::<CachePadded<u8>>() == 128);
