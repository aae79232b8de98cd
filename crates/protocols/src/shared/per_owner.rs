//! A value for each transaction object.

use super::lock_table::OwnerId;
use hotrow_sync::OnceLock;

/// A value for each transaction object of a lock table, found by the object's number. Values never move in memory.
#[derive(Debug)]
pub(crate) struct PerOwner<T> {
    chunks: Box<[OnceLock<Box<[T]>>]>,
}

const CHUNK: usize = 256;

impl<T: Default> PerOwner<T> {
    /// Makes an empty collection for up to a million owners. Memory is allocated 256 values at a time, when one of them
    /// is first used.
    pub(crate) fn new() -> Self {
        Self { chunks: (0..4096).map(|_| OnceLock::new()).collect() }
    }

    /// Returns the value of an owner, which is the default before its first use.
    #[inline]
    pub(crate) fn get(&self, owner: OwnerId) -> &T {
        let number = owner.0 as usize;
        let make = || (0..CHUNK).map(|_| T::default()).collect();
        &self.chunks[number / CHUNK].get_or_init(make)[number % CHUNK]
    }
}
