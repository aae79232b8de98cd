//! The state of a transaction in its life from beginning to end.

use hotrow_txn::{Abort, Begin, Deadlock};

/// The state of the running transaction, or of the last one.
#[derive(Debug, Default)]
pub(super) struct Life {
    pub(super) label: u32,
    pub(super) read_only: bool,
    pub(super) running: bool,
    /// Whether the transaction may have held write locks, so that other transactions may wait for it.
    pub(super) has_locked: bool,
    /// The error of a transaction that was rolled back between two calls, until the caller learns of it.
    pub(super) failed: Option<Abort>,
    /// The deadlock of which the transaction was the victim, if there was one.
    pub(super) deadlock: Option<Deadlock>,
}

impl Life {
    /// Returns the state of a transaction that has just begun.
    pub(super) fn begun(begin: &Begin<'_>) -> Self {
        Self { label: begin.label, read_only: begin.read_only, running: true, ..Self::default() }
    }

    /// Fails if no transaction is running: with the error of an abort between two calls, or else with [`Abort::User`].
    #[inline]
    pub(super) fn check(&self) -> Result<(), Abort> {
        if self.running { Ok(()) } else { Err(self.failed.unwrap_or(Abort::User)) }
    }
}
