//! Locks that stand before the records, and names for what has no record: the locks of one transaction.
//!
//! **Definitions.** A [`RecordLock`] is in the header of its record. What has no record has a
//! [`Name`](crate::shared::lock_table::Name) in a lock table: gaps, the columns of unique indexes, absent keys.
//!
//! **Layers.** A file uses the files above it.
//!
//! | file | what |
//! | --- | --- |
//! | `lock` | the lock in a record's header, as the engine supplies it |
//! | `number`, `held` | a transaction's number; the records that it has locked |
//! | `followers` | which transactions follow which |
//! | `waiting` | a transaction that waits, as others see it |
//! | `retired` | rows that go to the next writer before their own has committed |
//! | `foresight` | which rows are locked to be written when they are read |
//! | `foreseen` | such reads of one transaction |
//! | `locker` | the locks of one transaction |
//! | `declared` | the rows of an access set, locked as the transaction begins |
//! | `transaction` | what the frame of transactions asks of all this |
//!
//! **Invariants**
//!
//! 1. A record whose lock is free, or which a transaction comes to hold that did not before, has a row or is *dead*:
//!    unlinked for good. Only the holder of the lock takes the row away. It unlinks the record before it releases the
//!    lock, or puts the row back.
//! 2. A record is linked with its lock held by the transaction that made it. So a transaction that finds it waits for
//!    that transaction to end.
//! 3. *A key has one lock at any time*: its record's while it has a record, and else its name's. A transaction that
//!    makes a record for the key holds the name exclusively, from before the last look that found no record, to its
//!    end. A transaction that has found the key absent holds the name, and looked after it had it.
//! 4. A record stays allocated while a transaction holds its lock, for only the holder of the exclusive lock unlinks
//!    it, and while a transaction waits for its lock, for that transaction is in its epoch.
//!
//! A transaction may declare the rows that it will touch. Then it locks them in one order as it begins: `declared` says
//! why such transactions do not deadlock among themselves. A row that transactions have read and then could not write,
//! as they met, is locked to be written when it is read: `foresight` says when. A row for which others wait again and
//! again may go to the next writer before its own commits: `retired` says what that takes.
//!
//! **Cost.** A record's lock is in the cache line that its row begins in. Absent keys and gaps cost what they do in the
//! lock table.

mod declared;
mod followers;
mod foreseen;
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

/// Returns the number of locks of records and names that are held, and the number of requests that wait for names.
/// Visits all records of the database.
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
