//! A transaction in flight as the locks of records know it.

use super::wait_map::WaitMaps;
use crate::shared::parked::Parked;
use crate::shared::record_locks::{LockOwner, Number};
use hotrow_sync::Arc;

/// A transaction as the owner of record locks: its number, its worker, and the place where it waits.
pub struct Owner {
    number: Number,
    worker: u32,
    maps: Arc<WaitMaps>,
    parked: Arc<Parked>,
}

impl Owner {
    pub(super) fn new(maps: &Arc<WaitMaps>, worker: u32, parked: Arc<Parked>) -> Self {
        Self { number: maps.number(), worker, maps: maps.clone(), parked }
    }

    /// Returns the number of the owner's transaction.
    #[inline]
    pub(super) fn tid(&self) -> u64 {
        self.number.get()
    }

    #[inline]
    pub(super) fn worker(&self) -> u32 {
        self.worker
    }

    #[inline]
    pub(super) fn maps(&self) -> &WaitMaps {
        &self.maps
    }

    pub(super) fn parked(&self) -> &Arc<Parked> {
        &self.parked
    }
}

impl LockOwner for Owner {
    #[inline]
    fn begin(&mut self) {
        self.number.renew();
    }
}
