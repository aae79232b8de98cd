//! Time: one counter (§2.4).

use hotrow_sync::CachePadded;
use hotrow_sync::atomic::{AtomicU64, Ordering};

/// A moment on the database's clock. A version with Begin b and End e is visible at all r with b ≤ r < e.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Timestamp(pub u64);

impl Timestamp {
    /// A time later than all others. The versions of a transaction that aborted begin at it, so they are never visible.
    pub const INFINITY: Timestamp = Timestamp(1 << 60);

    /// The begin timestamp of the versions of loaded rows. Every end timestamp of a transaction is later. No read time
    /// is earlier, so loaded rows are visible to all transactions until they are changed.
    pub const LOADED: Timestamp = Timestamp(1);
}

/// The end timestamps that were given. A transaction that commits changes takes one; all others only look.
pub(super) struct Clock(CachePadded<AtomicU64>);

impl Clock {
    pub fn new() -> Self {
        Self(CachePadded(AtomicU64::new(Timestamp::LOADED.0)))
    }

    /// Returns the latest end timestamp that has been given.
    ///
    /// A transaction whose end timestamp is not later has stored its status and linked its versions before this: they
    /// come before its exchange, which this load sees, or one after it.
    #[inline]
    pub fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Acquire))
    }

    /// Returns a new moment, later than all before, for one transaction alone.
    #[inline]
    pub fn next(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1, Ordering::AcqRel) + 1)
    }
}
