//! Releasing the locks of changed rows before the commit, as a part of a transaction's locking.

use super::in_place::InPlace;
use hotrow_storage::{Database, Guard, Participant, RecordHeader};
use hotrow_txn::Abort;

/// The part of a transaction's [locking](super::locking::Locking) that releases locks of changed rows before the
/// commit. A transaction that gets such a row *follows* the transaction that has changed it: it commits only after that
/// one.
pub trait EarlyRelease<H: RecordHeader> {
    /// Releases the locks of rows that the transaction has changed, before it has committed. Transactions that then
    /// read or change these rows commit after this one or not at all. Called when the transaction waits for its client,
    /// or is about to.
    fn retire(&mut self, database: &Database<H>, guard: Guard<'_>, changes: &mut InPlace<H>);

    /// Whether the transaction has read or changed uncommitted rows of others, or others have read or changed its own.
    fn takes_part(&self) -> bool;

    /// Fails if the transaction cannot commit any more, since a transaction that it follows has not committed.
    fn check(&self) -> Result<(), Abort>;

    /// Whether the transaction follows others, so that it commits only if they do.
    fn follows(&self) -> bool;

    /// Waits until the transactions have committed whose changes this one has read or changed.
    fn wait_for_leaders(&mut self) -> Result<(), Abort>;

    /// Notes that a transaction that [takes part](Self::takes_part) has committed, or that its changes were undone. The
    /// transaction is about to end.
    fn decided(&mut self, is_committed: bool);

    /// Hands the memory that was replaced in rows since their locks were released to `participant`, which reclaims it
    /// later.
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
