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
mod followers;
mod foresight;
mod held;
mod lock;
mod locker;
mod number;
mod retired;
mod transaction;
mod waiting;

pub(crate) use foresight::Foresight;
pub use lock::{Ended, LockOwner, RecordLock, Watch};
pub use number::{Number, Numbers};
pub(crate) use retired::RetiredRows;
pub(crate) use transaction::{Parts, RecordLocking, RecordTransaction};
pub(crate) use waiting::RecordWaits;

use super::lock_table::LockTable;
use hotrow_storage::Database;
use hotrow_txn::LockStatistics;
use std::ops::ControlFlow;

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
