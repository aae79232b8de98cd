//! Releasing the locks of changed rows before the commit, as a part of a transaction's locking.

use super::in_place::InPlace;
use hotrow_storage::{Database, Guard, Participant, RecordHeader};
use hotrow_txn::Abort;

/// The part of a transaction's [locking](super::locking::Locking) by which it lets others have rows that it has changed
/// and not committed, and follows transactions that do so.
pub trait EarlyRelease<H: RecordHeader> {
    /// Called when the transaction waits for its client, or is about to. Other transactions may get the rows that it
    /// has changed, and then commit after it or not at all.
    fn retire(&mut self, database: &Database<H>, guard: Guard<'_>, changes: &mut InPlace<H>);

    /// Whether the transaction has read or changed uncommitted rows of others, or others have read or changed its own.
    fn takes_part(&self) -> bool;

    /// Fails if the transaction will never commit, since another one has not.
    fn check(&self) -> Result<(), Abort>;

    /// Whether the transaction commits only if others do.
    fn follows(&self) -> bool;

    /// Waits until the transactions have committed whose changes this one has read or changed.
    fn wait_for_leaders(&mut self) -> Result<(), Abort>;

    /// Called when a transaction that takes part has committed, or its changes were undone. It is about to end.
    fn decided(&mut self, is_committed: bool);

    /// Hands what was replaced meanwhile to the participant, which reclaims it later.
    fn reclaim(&mut self, participant: &mut Participant);
}

/// The locking of a transaction that keeps the locks of all rows that it has changed to its end.
pub trait ReleasesAtEnd {}

impl<H: RecordHeader, L: ReleasesAtEnd> EarlyRelease<H> for L {
    #[inline]
    fn retire(&mut self, _database: &Database<H>, _guard: Guard<'_>, _changes: &mut InPlace<H>) {}

    #[inline]
    fn takes_part(&self) -> bool {
        false
    }

    #[inline]
    fn check(&self) -> Result<(), Abort> {
        Ok(())
    }

    #[inline]
    fn follows(&self) -> bool {
        false
    }

    #[inline]
    fn wait_for_leaders(&mut self) -> Result<(), Abort> {
        Ok(())
    }

    #[inline]
    fn decided(&mut self, _is_committed: bool) {}

    #[inline]
    fn reclaim(&mut self, _participant: &mut Participant) {}
}
