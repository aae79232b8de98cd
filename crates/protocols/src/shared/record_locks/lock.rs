//! The lock in the header of a record, as the engine that uses it supplies it.

use crate::shared::time_outs::Patience;
use hotrow_storage::RecordHeader;
use hotrow_sync::Wake;
use hotrow_txn::Abort;

/// The part of a transaction in flight that asks for the locks of records.
pub trait LockOwner: Send {
    /// A transaction begins.
    fn begin(&mut self);
}

/// A lock in the header of its record. The default is free.
pub trait RecordLock: RecordHeader {
    /// The part of a transaction that asks for the lock.
    type Owner: LockOwner;

    /// Whether a transaction that finds the lock taken waits, for it and for names alike; otherwise it is refused, and
    /// may try again.
    const WAITS: bool = true;

    /// Takes the lock, to read or exclusively, if it is free.
    fn take_free(&self, owner: &Self::Owner, exclusive: bool) -> bool;

    /// Takes the lock, to read or exclusively, if that can be done without waiting. A transaction that `upgrades` holds
    /// it to read, and wants it exclusively.
    fn take(&self, owner: &Self::Owner, upgrades: bool, exclusive: bool) -> bool;

    /// Whether no transaction holds it.
    fn is_free(&self) -> bool;

    /// Whether the transaction holds it exclusively.
    fn is_owned_by(&self, owner: &Self::Owner) -> bool;

    /// Takes the lock of a record that no other transaction has seen, exclusively.
    fn take_made(&self, owner: &Self::Owner);

    /// Waits until it has the lock, or patience ends, or `watch` finds a deadlock. Of a wait that unwinds nothing is
    /// left but an upgrade that was granted.
    fn wait(
        &self,
        owner: &Self::Owner,
        upgrades: bool,
        exclusive: bool,
        patience: Patience,
        watch: &mut dyn Watch,
    ) -> Ended;

    /// The label of the transaction that waits for all other readers to leave, this one among them, if there is one.
    fn upgrading(&self, _owner: &Self::Owner) -> Option<u32> {
        None
    }

    /// Releases the lock, in whatever mode it is held.
    fn release(&self, owner: &Self::Owner);
}

/// Follows the wait for a record's lock.
pub trait Watch {
    /// The request is queued. Whether its wait is a deadlock, of which the transaction is to be the victim.
    fn begins(&mut self) -> bool;

    /// Whether another transaction has made this one, which waits, the victim of a deadlock.
    fn is_victim(&mut self) -> bool;

    /// The request was granted, or is about to be withdrawn.
    fn ends(&mut self);
}

/// The end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With the lock.
    Granted,
    /// With the lock, but the transaction is to end.
    GrantedCancelled,
    /// Without it.
    TimedOut,
    /// Without it: the transaction is to end.
    Cancelled,
    /// Without it: it would never have been granted.
    Deadlock,
    /// Without it: the transaction will never commit, as one that it follows does not.
    Doomed,
    /// Without it: transactions do not wait for this lock.
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
