//! Structures that two or more protocols use. Control flow stays with each protocol.
//!
//! | file | what |
//! | --- | --- |
//! | [`batch`] | looking up a plan's keys together |
//! | [`chain`] | the lock heads of one bucket |
//! | [`contention`] | which blocked transaction of a queue conflicts with none before it |
//! | [`counts`] | the counters of records: how many transactions have asked for a record |
//! | [`deadlocks`] | deadlocks, found by the transaction that comes to wait last |
//! | [`early_release`] | locks of changed rows, released before the commit |
//! | [`gaps`] | the names of rows, gaps and unique keys, and why locks on them keep phantoms out |
//! | [`gate`] | many transactions with a plan inside together, or one without a plan alone |
//! | [`hashed`] | hash tables that are the same in each run |
//! | [`in_place`] | rows changed in place, with the log that undoes or finishes the changes |
//! | [`lock_table`] | lock heads behind a latch per bucket |
//! | [`locking`] | transactions that lock rows and change them in place |
//! | [`locks`] | the locks of one transaction, all of them names in a lock table |
//! | [`log_times`] | the time that a commit takes for the log |
//! | [`mailbox`] | messages that any thread leaves for one owner |
//! | [`mode`] | lock modes and their compatibility |
//! | [`outside_plan`] | accesses outside a transaction's access set |
//! | [`owners`] | the numbers of transaction objects |
//! | [`parked`] | where a transaction waits |
//! | [`partitioning`] | the partitions of the data, and the tables that can be cut into them |
//! | [`per_owner`] | a value for each transaction object |
//! | [`range_locks`] | locks on ranges of keys |
//! | [`planned`] | transactions whose locks are all asked for at once |
//! | [`read_level`] | the isolation level at which reads lock |
//! | [`record`] | the access points to a record's row |
//! | [`record_locks`] | locks that stand before the records, and names for what has no record |
//! | [`request_queues`] | queues of requests, for transactions that ask for everything at once |
//! | [`scan`] | scans that lock what they visit |
//! | [`segmented`] | vectors that grow in place |
//! | [`time_outs`] | how long transactions wait, and whether time ends their deadlocks |
//! | [`wait_graph`] | the wait-for graph |
//! | [`walk`] | stepping along an index |

pub(crate) mod batch;
pub(crate) mod chain;
pub(crate) mod contention;
pub(crate) mod counts;
pub(crate) mod deadlocks;
pub(crate) mod early_release;
pub(crate) mod gaps;
pub(crate) mod gate;
pub(crate) mod hashed;
pub(crate) mod in_place;
pub(crate) mod lock_table;
pub(crate) mod locking;
pub(crate) mod locks;
pub(crate) mod log_times;
pub(crate) mod mailbox;
pub(crate) mod mode;
pub(crate) mod outside_plan;
pub(crate) mod owners;
pub(crate) mod parked;
pub(crate) mod partitioning;
pub(crate) mod per_owner;
pub(crate) mod planned;
pub(crate) mod range_locks;
pub(crate) mod read_level;
pub(crate) mod record;
pub(crate) mod record_locks;
pub(crate) mod request_queues;
pub(crate) mod scan;
pub(crate) mod segmented;
pub(crate) mod time_outs;
pub(crate) mod wait_graph;
pub(crate) mod walk;

use hotrow_storage::{Database, Guard, Participant, RecordHeader, StoredTable, Table, TableId, Tables};
use hotrow_txn::Abort;

/// Begins a call of a transaction: enters an epoch, unless the participant is in one. Fails with [`Abort::User`] if no
/// transaction is running.
#[inline]
pub(crate) fn begin_call(running: bool, participant: &mut Participant) -> Result<(), Abort> {
    if !running {
        return Err(Abort::User);
    }
    if !participant.is_entered() {
        participant.enter();
    }
    Ok(())
}

/// Returns the table with this number.
///
/// # Errors
/// [`Abort::User`] if there is no such table: the caller of the transaction is wrong.
#[inline]
pub(crate) fn table<'g, T: StoredTable>(
    database: &'g Tables<T>,
    guard: Guard<'g>,
    id: TableId,
) -> Result<&'g T, Abort> {
    database.table(guard, id).ok_or(Abort::User)
}

/// Returns the table of this number for a write. If there is none, or the table is constant, the transaction's own code
/// is wrong, and the call fails.
#[inline]
pub(crate) fn table_to_write<'g, H: RecordHeader>(
    database: &'g Database<H>,
    guard: Guard<'g>,
    id: TableId,
) -> Result<&'g Table<H>, Abort> {
    let table = table(database, guard, id)?;
    if table.is_constant() { Err(Abort::User) } else { Ok(table) }
}
