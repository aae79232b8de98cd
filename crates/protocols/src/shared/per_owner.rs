//! A value for each transaction in flight.

use super::lock_table::OwnerId;
use hotrow_sync::OnceLock;

/// A value for each owner, in chunks that never move.
#[derive(Debug)]
pub(crate) struct PerOwner<T> {
    chunks: Box<[OnceLock<Box<[T]>>]>,
}

const CHUNK: usize = 256;

impl<T: Default> PerOwner<T> {
    /// Makes room for a million owners. Chunks are allocated as owners come.
    pub(crate) fn new() -> Self {
        Self { chunks: (0..4096).map(|_| OnceLock::new()).collect() }
    }

    /// Returns the value of an owner.
    #[inline]
    pub(crate) fn get(&self, owner: OwnerId) -> &T {
        let number = owner.0 as usize;
        let make = || (0..CHUNK).map(|_| T::default()).collect();
        &self.chunks[number / CHUNK].get_or_init(make)[number % CHUNK]
    }
}
