//! The lock in the header of a record, as the engine that uses it supplies it.

use crate::shared::time_outs::Patience;
use hotrow_storage::RecordHeader;
use hotrow_sync::Wake;
use hotrow_txn::Abort;

/// The part of a transaction object that owns locks of records.
pub trait LockOwner: Send {
    /// Begins a transaction, which must be told apart from all earlier owners of locks.
    fn begin(&mut self);
}

/// A lock in the header of its record. The default is a free lock.
pub trait RecordLock: RecordHeader {
    /// The part of a transaction object that owns the lock.
    type Owner: LockOwner;

    /// Whether a transaction waits for a lock that is not free, in a record or in the lock table. Otherwise the request
    /// is refused, and the caller may retry it.
    const WAITS: bool = true;

    /// Takes the lock, to read or exclusively, if it is free. Returns whether it was taken.
    fn take_free(&self, owner: &Self::Owner, exclusive: bool) -> bool;

    /// Takes the lock, to read or exclusively, if that can be done without waiting. A transaction that `upgrades` holds
    /// the lock to read, and wants it exclusively. Returns whether it was taken.
    fn take(&self, owner: &Self::Owner, upgrades: bool, exclusive: bool) -> bool;

    /// Whether no transaction holds the lock.
    fn is_free(&self) -> bool;

    /// Whether the transaction holds the lock exclusively.
    fn is_owned_by(&self, owner: &Self::Owner) -> bool;

    /// Takes the lock of a record that no other transaction has seen, exclusively.
    fn take_made(&self, owner: &Self::Owner);

    /// Waits until the transaction has the lock, or the time-outs of `patience` pass, or `watch` finds a deadlock. If
    /// the wait unwinds, the request is withdrawn and a granted lock released, except for a granted upgrade.
    fn wait(
        &self,
        owner: &Self::Owner,
        upgrades: bool,
        exclusive: bool,
        patience: Patience,
        watch: &mut dyn Watch,
    ) -> Ended;

    /// Returns the label of the reader that waits until it is the only one and can become the writer, or `None` if
    /// there is no such reader. The transaction of `owner` is one of the other readers.
    fn upgrading(&self, _owner: &Self::Owner) -> Option<u32> {
        None
    }

    /// Releases the lock, in whatever mode it is held.
    fn release(&self, owner: &Self::Owner);
}

/// An observer of a wait for a record's lock.
pub trait Watch {
    /// Called when the request is queued. Returns whether its wait closes a deadlock of which the transaction is to be
    /// the victim.
    fn begins(&mut self) -> bool;

    /// Whether another transaction has made this one, which waits, the victim of a deadlock.
    fn is_victim(&mut self) -> bool;

    /// Called when the request was granted, or is about to be withdrawn.
    fn ends(&mut self);
}

/// The way in which a wait for a lock ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The transaction has the lock.
    Granted,
    /// The transaction has the lock, but was cancelled, so it is to end.
    GrantedCancelled,
    /// The transaction does not have the lock: the wait has timed out.
    TimedOut,
    /// The transaction does not have the lock: it was cancelled, so it is to end.
    Cancelled,
    /// The transaction does not have the lock: it is the victim of a deadlock.
    Deadlock,
    /// The transaction does not have the lock, and can never commit, since a transaction that it follows was rolled
    /// back.
    Doomed,
    /// The transaction does not have the lock: transactions do not wait for this lock.
    Refused,
}

impl Ended {
    /// Returns the end of a wait whose waiter reports `ended`, and whose lock may be granted by then.
    pub(crate) fn of(ended: Wake, granted: bool) -> Self {
        match (ended, granted) {
            (Wake::Cancelled, true) => Ended::GrantedCancelled,
            (Wake::Cancelled, false) => Ended::Cancelled,
            (_, true) => Ended::Granted,
            (_, false) => Ended::TimedOut,
        }
    }

    pub(crate) fn is_granted(self) -> bool {
        matches!(self, Ended::Granted | Ended::GrantedCancelled)
    }

    pub(crate) fn result(self) -> Result<(), Abort> {
        match self {
            Ended::Granted => Ok(()),
            Ended::TimedOut => Err(Abort::Timeout),
            Ended::GrantedCancelled | Ended::Cancelled => Err(Abort::Cancelled),
            Ended::Deadlock => Err(Abort::Deadlock),
            Ended::Doomed => Err(Abort::Cascade),
            Ended::Refused => Err(Abort::Conflict),
        }
    }
}
