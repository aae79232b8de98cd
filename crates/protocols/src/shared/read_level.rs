//! The isolation level at which the reads of a transaction lock.

use hotrow_txn::Isolation;

/// The isolation level that a transaction was granted, and the level at which its reads lock now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadLevel {
    granted: Isolation,
    /// The level at which reads lock now: `granted`, or serializable while reads are held.
    now: Isolation,
}

impl Default for ReadLevel {
    fn default() -> Self {
        Self::of(Isolation::Serializable)
    }
}

impl ReadLevel {
    /// Makes the read level of a transaction that was granted this level.
    #[inline]
    pub(crate) fn of(granted: Isolation) -> Self {
        Self { granted, now: granted }
    }

    /// Returns the level that was granted.
    #[inline]
    pub(crate) fn granted(self) -> Isolation {
        self.granted
    }

    /// Returns the level at which reads lock now.
    #[inline]
    pub(crate) fn now(self) -> Isolation {
        self.now
    }

    /// Sets whether reads are locked to the transaction's end from now on, as at serializable, or as the granted level
    /// requires.
    pub(crate) fn hold_reads(&mut self, hold: bool) {
        self.now = if hold { Isolation::Serializable } else { self.granted };
    }
}
