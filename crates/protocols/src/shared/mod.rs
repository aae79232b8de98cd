//! What two or more protocols use: structures, not control flow.
//!
//! | file | what |
//! | --- | --- |
//! | [`batch`] | looking up a plan's keys together |
//! | [`gate`] | transactions with a plan together, one without alone |
//! | [`in_place`] | rows changed in place, with the log that undoes or finishes the changes |
//! | [`lock_table`] | lock heads behind a latch per bucket |
//! | [`locks`] | the locks of one transaction: rows, gaps, unique keys |
//! | [`mode`] | lock modes and their compatibility |
//! | [`per_owner`] | a value for each transaction in flight |
//! | [`record`] | the access points to a record's row |
//! | [`scan`] | scans that lock what they visit |
//! | [`wait_graph`] | who waits for whom |
//! | [`walk`] | stepping along an index |

pub(crate) mod batch;
pub(crate) mod gate;
pub(crate) mod in_place;
pub(crate) mod lock_table;
pub(crate) mod locks;
pub(crate) mod mode;
pub(crate) mod per_owner;
pub(crate) mod record;
pub(crate) mod scan;
pub(crate) mod wait_graph;
pub(crate) mod walk;

use hotrow_storage::{Database, Guard, RecordHeader, Table, TableId};
use hotrow_txn::Abort;

/// The table of this number; without one the transaction's own code is wrong.
#[inline]
pub(crate) fn table<'g, H: RecordHeader>(
    database: &'g Database<H>,
    guard: Guard<'g>,
    id: TableId,
) -> Result<&'g Table<H>, Abort> {
    database.table(guard, id).ok_or(Abort::User)
}
