//! The part of a transaction's interface by which it makes room for others.

use crate::{Abort, Savepoint};

/// The part of a transaction's interface by which it makes room for others: it waits for the transaction that it
/// conflicted with, releases the rows that it has written early, and holds up no other transaction while its caller
/// does something else.
pub trait Yielding {
    /// Rolls back after a conflict, and waits for the transaction that caused it. The call undoes everything since the
    /// savepoint `to`, or the whole transaction if `to` is `None`. Then it waits until the other transaction has ended,
    /// so that the caller can retry. Returns false, without a wait, if the engine does not know which transaction that
    /// is.
    ///
    /// Engines that let the first writer win ([`Abort::WriteConflict`]) know it. Transactions that wait here for the
    /// same row continue one after the other, in the order of their calls; a transaction that was undone as a whole
    /// keeps its place until it [begins](crate::Transaction::begin) and ends again, or [is idle](Self::idle). A wait
    /// lasts as long as the [lock time-out](hotrow_sync::Waiter::lock_timeout) of the transaction's waiter, if there is
    /// one.
    ///
    /// # Errors
    /// [`Abort::Timeout`] after the limit, [`Abort::Deadlock`] if transactions would wait for each other in a circle,
    /// or [`Abort::Cancelled`]; then the transaction has still to be aborted.
    fn give_way(&mut self, to: Option<Savepoint>) -> Result<bool, Abort>;

    /// Promises that the transaction writes no row a second time, and will not roll back to a savepoint.
    ///
    /// The engine may then let other transactions access the written rows before the commit (Guo et al., *Releasing
    /// Locks As Early As You Can*, §3). These transactions commit after this one, or fail with [`Abort::Cascade`]. If
    /// this transaction breaks its promise for a row, they fail.
    fn retire_writes(&mut self);

    /// Announces that the caller makes no call for a while: a session waits for its client, or a worker runs another
    /// transaction. Meanwhile the object does not delay memory reclamation, and an ended transaction leaves nothing
    /// behind for which others could wait.
    fn idle(&mut self);
}
