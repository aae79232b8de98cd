//! Transactions whose locks are all asked for at once, before they run: the frame of all planned engines.
//!
//! Planned engines differ in how they request the locks of a whole plan in one step, and in which thread finds out when
//! all of them are granted: that is an engine's [`Admission`]. Everything else is here, once:
//!
//! | file | what |
//! | --- | --- |
//! | [`scene`] | the database, as a transaction in an epoch sees it |
//! | [`prefixes`] | the prefixes that a plan locks |
//! | [`plan`] | which locks an access set needs: rows, and prefixes for ranges and index entries |
//! | [`copies`] | rows that are copied instead of being locked |
//! | [`admission`] | what an engine supplies: how all locks of a plan are asked for |
//! | [`transaction`] | begin, read, update, insert, delete, scan, commit, abort |
//!
//! **What is locked.** Rows of the access set, present or absent, and rows that are in its ranges when the plan is
//! made, one by one. Ranges and index entries by prefixes of their keys ([`range_locks`](super::range_locks)): a scan
//! locks the prefixes that cover its range, and a transaction that links or unlinks an entry locks the entry's key
//! exclusively. A transaction that only reads or updates rows by their keys locks no prefix, and pays nothing for
//! ranges. A transaction that inserts rows whose keys it will know later locks the prefix that they will have.
//!
//! **Invariants**
//!
//! 1. A transaction waits in [`Admission::admit`] only, holding nothing that was granted one by one: all its requests
//!    are made in one step, and in one order with those of all other transactions.
//! 2. *Late locks.* A lock that an insert, a delete or a scan needs beside the plan, and the lock of a row that is
//!    missing from a plan which is known to be [partial](hotrow_txn::Accesses::is_partial), is added only if no
//!    transaction, granted or waiting, has asked for anything that conflicts with it ([`LateLocks::add_row`],
//!    [`LateLocks::add_prefixes`]). So it is as if it had been asked for with the rest: the transactions before this
//!    one do not conflict with it, and those that come after find it there. Otherwise the attempt ends, and the next
//!    one has it in its set. Rows that are [announced](hotrow_txn::Planned::announce) are asked for together, if that
//!    helps the engine ([`LateLocks::add_rows`]). What is refused then is asked for again when it is needed.
//! 3. *Phantoms.* While a scan runs its prefixes are locked: no other transaction's entry comes into its range or
//!    leaves it. An entry that came between the making of the plan and its admission leads to a row that is not in the
//!    plan: it is added late, or ends the attempt. A scan may walk as far as its prefixes reach, which is farther than
//!    its range as a rule.
//! 4. A row outside the plan is not touched.
//! 5. *Absent rows.* Where records carry locks, an absent row of the plan has a record that is not present, and a
//!    deleted row keeps its record, as long as any transaction counts on it; so a key has one place for its locks at
//!    any time. The transaction that releases a record's last lock adds the record to [`Plan::unused`], having made
//!    sure that no transaction counts on it any more, and it is unlinked. A transaction that had looked the record up
//!    before finds that out when it asks for the lock, and looks it up again. A row that is inserted where its key has
//!    no record gets one that is locked before it is linked ([`LateLocks::lock_made`]). If the insert is taken back,
//!    that record is an absent row's.
//! 6. A transaction without a plan is alone in the database: [`gate`](super::gate). It takes no locks.
//! 7. *Kept locks.* Where one worker runs transaction after transaction an engine may give the locks of one back
//!    together with the requests of the next one ([`Admission::keep`]), to spare itself a step. As long as they are
//!    kept the transaction counts as one in flight: no transaction is alone in the database. They are given back before
//!    their worker does anything else.
//! 8. A reconnaissance, or a transaction that only reads and at read committed, locks one row at a time while it holds
//!    no other, so no cycle of waits contains it.

mod admission;
mod copies;
mod plan;
mod prefixes;
mod scene;
mod transaction;

pub use admission::{Admission, Glance, LateLocks};
pub use copies::Copies;
pub(crate) use plan::drop_lost_tables;
pub use plan::{Needs, Partitions, Place, Plan, PlannedRow};
pub use scene::Scene;
pub use transaction::PlannedTransaction;
