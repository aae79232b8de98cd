//! The part of a transaction's interface by which it makes room for others.

use crate::{Abort, Savepoint};

/// The part of a transaction's interface by which it makes room for others. It can wait for the transaction that it
/// met, let others have the rows that it has written, and keep nothing from them while its caller is elsewhere.
pub trait Yielding {
    /// Undoes everything since a savepoint, or everything, in place of [`rollback_to`](crate::Transaction::rollback_to)
    /// or [`abort`](crate::Transaction::abort), and then waits until the transaction has ended that stood in the way of
    /// the last call. The caller tries again what was undone. Returns false, without a wait, if no such transaction is
    /// known.
    ///
    /// Engines that let the first writer win ([`Abort::WriteConflict`]) know the transaction that stood in the way.
    /// Transactions that give way to the same row go on one after the other, in the order in which they came; a
    /// transaction that was undone as a whole keeps its place until it [begins](crate::Transaction::begin) and ends
    /// again, or [is idle](Self::idle). A wait lasts as long as the [lock time-out](hotrow_sync::Waiter::lock_timeout)
    /// of the transaction's waiter, if there is one.
    ///
    /// # Errors
    /// [`Abort::Timeout`] after the limit, [`Abort::Deadlock`] if transactions would wait for each other in a circle,
    /// or [`Abort::Cancelled`]; then the transaction has still to be aborted.
    fn give_way(&mut self, to: Option<Savepoint>) -> Result<bool, Abort>;

    /// Promises that the transaction writes no row a second time, and will not roll back to a savepoint.
    ///
    /// The engine may let other transactions have the rows now (Guo et al., *Releasing Locks As Early As You Can*, §3).
    /// These commit after this transaction, or fail with [`Abort::Cascade`]. If this transaction touches such a row
    /// again all the same, the others fail.
    fn retire_writes(&mut self);

    /// Tells the engine that no call comes for a while, because a session waits for its client, or a worker goes on
    /// with another transaction. Reclamation can go on meanwhile, and a transaction that is over leaves nothing behind
    /// that others could wait for.
    fn idle(&mut self);
}
