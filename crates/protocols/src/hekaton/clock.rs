//! Time: one counter (§2.4).

use hotrow_sync::CachePadded;
use hotrow_sync::atomic::{AtomicU64, Ordering};

/// A moment on the database's clock. A version with the Begin word b and the End word e is visible at each read time r
/// with b ≤ r < e.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Timestamp(pub u64);

impl Timestamp {
    /// A time later than all others. The versions of a transaction that aborted begin at it, so they are never visible.
    pub const INFINITY: Timestamp = Timestamp(1 << 60);

    /// The begin timestamp of the versions of loaded rows. Every end timestamp of a transaction is later. No read time
    /// is earlier, so loaded rows are visible to all transactions until they are changed.
    pub const LOADED: Timestamp = Timestamp(1);
}

/// The database's clock: the counter of end timestamps. A transaction that commits changes draws a new value. A read
/// time is the present value.
pub(super) struct Clock(CachePadded<AtomicU64>);

impl Clock {
    pub fn new() -> Self {
        Self(CachePadded(AtomicU64::new(Timestamp::LOADED.0)))
    }

    /// Returns the latest end timestamp that has been given.
    ///
    /// If the end timestamp of a transaction is not later than the result, the caller sees the transaction's status and
    /// links: they are stored before the exchange that draws that timestamp, and this load sees that exchange or a
    /// later one.
    #[inline]
    pub fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Acquire))
    }

    /// Draws a new end timestamp, later than all that were drawn before.
    #[inline]
    pub fn next(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1, Ordering::AcqRel) + 1)
    }
}
