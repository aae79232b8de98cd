//! Locks that stand before the records, and names for what has no record: the locks of one transaction.
//!
//! **Definitions.** A [`RecordLock`] is in the header of its record. What has no record has a
//! [`Name`](crate::shared::lock_table::Name) in a lock table: gaps, the columns of unique indexes, absent keys.
//!
//! **Invariants**
//!
//! 1. A record whose lock is free, or which a transaction comes to hold that did not before, has a row or is *dead*: unlinked for good. For only
//!    who holds the lock takes the row away, and unlinks the record before the lock is released, or puts the row back.
//! 2. A record is linked with its lock held by who made it. So who finds it waits for that transaction to end.
//! 3. *A key has one lock at any time.* Its record's while it has one. Else its name's: who makes a record for the key holds the name exclusively, from
//!    before the last look that found no record, to the transaction's end; who has found the key absent holds the name, and looked after that.
//! 4. A record stays allocated while a transaction holds its lock, for only the holder of the exclusive one unlinks it, and while one
//!    waits for its lock, for that one is in its epoch.
//!
//! A transaction may declare the rows that it will touch. Then it locks them in one order as it begins: `declared` says why such
//! transactions do not deadlock among themselves. A row that others have read and then could not write, as they met, is locked to be written
//! when it is read: `foresight` says when. A row for which others wait again and again may go to the next writer before its own
//! commits: `retired` says what that takes.
//!
//! **Cost.** A record's lock is in the cache line that its row begins in. Absent keys and gaps cost what they do in the lock table.

mod declared;
mod foresight;
mod held;
mod locker;
mod number;
mod retired;
mod transaction;
mod waiting;

pub(crate) use foresight::Foresight;
pub use number::{Number, Numbers};
pub(crate) use retired::RetiredRows;
pub(crate) use transaction::{Parts, RecordLocking, RecordTransaction};
pub(crate) use waiting::RecordWaits;

use super::lock_table::LockTable;
use super::time_outs::Patience;
use hotrow_storage::{Database, RecordHeader};
use hotrow_sync::Wake;
use hotrow_txn::{Abort, LockStatistics};
use std::ops::ControlFlow;

/// Who asks for the locks of records: part of a transaction in flight.
pub trait LockOwner: Send {
    /// A transaction begins.
    fn begin(&mut self);
}

/// A lock in the header of its record. The default is free.
pub trait RecordLock: RecordHeader {
    /// Who asks.
    type Owner: LockOwner;

    /// Whether who finds it locked waits, for it and for names alike; else he is refused, and may try again.
    const WAITS: bool = true;

    /// Takes the lock, to read or exclusively, if nobody has it.
    fn take_free(&self, owner: &Self::Owner, exclusive: bool) -> bool;

    /// Takes the lock, to read or exclusively, if that can be done without waiting. Who `upgrades` holds it to read, and wants it exclusively.
    fn take(&self, owner: &Self::Owner, upgrades: bool, exclusive: bool) -> bool;

    /// Whether nobody holds it.
    fn is_free(&self) -> bool;

    /// Whether the transaction holds it exclusively.
    fn is_owned_by(&self, owner: &Self::Owner) -> bool;

    /// Takes the lock of a record that nobody else has seen, exclusively.
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

/// What a wait for a record's lock tells of itself.
pub trait Watch {
    /// The request is queued. Whether its wait is a deadlock, of which the transaction is to be the victim.
    fn begins(&mut self) -> bool;

    /// Whether another transaction has made this one, which waits, the victim of a deadlock.
    fn is_victim(&mut self) -> bool;

    /// The request was granted, or is about to be withdrawn.
    fn ends(&mut self);
}

/// How many locks of records and names are held, and how many names are waited for.
pub(crate) fn statistics<L: RecordLock>(database: &Database<L>, names: &LockTable) -> LockStatistics {
    let (names, waiting) = names.usage();
    let mut held = names as u64;
    let mut participant = database.participant();
    participant.enter();
    for table in database.tables(participant.guard()) {
        table.records(participant.guard(), |record| {
            held += u64::from(!record.header().is_free());
            ControlFlow::Continue(())
        });
    }
    LockStatistics { held, waiting: waiting as u64 }
}

/// How a wait ended.
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
    /// Without it: nobody would ever have granted it.
    Deadlock,
    /// Without it: the transaction will never commit, as one that it follows does not.
    Doomed,
    /// Without it: nobody waits.
    Refused,
}

impl Ended {
    /// How a wait ended that the waiter saw ending like this, if the lock is granted by then.
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
