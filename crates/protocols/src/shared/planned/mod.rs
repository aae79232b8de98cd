//! Transactions whose locks are all asked for at once, before they run: the frame of all planned engines.
//!
//! A planned engine differs from another in how the locks of a whole plan are requested in one step, and in who finds out
//! when all of them are granted: that is its [`Admission`]. Everything else is here, once:
//!
//! | file | what |
//! | --- | --- |
//! | [`plan`] | which locks an access set needs: rows, and prefixes for ranges and index entries |
//! | [`prefixes`] | the prefixes among them |
//! | [`admission`] | what an engine supplies: how all locks of a plan are asked for |
//! | [`copies`] | rows that are copied instead of being locked |
//! | [`transaction`] | begin, read, update, insert, delete, scan, commit, abort |
//!
//! **What is locked.** Rows of the access set, present or absent, and rows that are in its ranges when the plan is made, one by
//! one. Ranges and index entries by prefixes of their keys ([`range_locks`](super::range_locks)): a scan locks the
//! prefixes that cover its range, whoever links or unlinks an entry locks the entry's key exclusively. Who only reads or
//! updates rows by their keys locks no prefix, and pays nothing for ranges. Who inserts rows whose keys it will know later locks the
//! prefix that they will have.
//!
//! **Invariants**
//!
//! 1. A transaction waits in [`Admission::admit`] only, holding nothing that was granted one by one: all its requests are
//!    made in one step, and in one order with those of all others.
//! 2. *Late locks.* What an insert, a delete or a scan finds it needs beside the plan, and a row that a plan lacks which was known to
//!    be [partial](Accesses::is_partial), is added only if nobody, granted or
//!    waiting, has asked for anything that conflicts with it ([`Admission::add_row`], [`Admission::add_prefixes`]). So it is as if it had
//!    been asked for with the rest: those before the transaction do not conflict with it, those that come after find it
//!    there. Otherwise the attempt ends, and the next one has it in its set.
//! 3. *Phantoms.* While a scan runs its prefixes are locked: no other transaction's entry comes into its range or leaves it. An
//!    entry that came between the making of the plan and its admission leads to a row that is not in the plan: it is
//!    added late, or ends the attempt. A scan may walk as far as its prefixes reach, which is farther than its range as a rule.
//! 4. A row outside the plan is not touched.
//! 5. *Absent rows.* Where records carry locks, an absent row of the plan has a record that is not present, and a deleted
//!    one keeps its record, as long as anybody counts on it; so a key has one place for its locks at any time.
//!    Who gives the last lock of such a record back says so in [`Plan::unused`], having seen to it that nobody counts on it any more, and
//!    it is unlinked. Who had looked it up before finds that out when it asks for the lock, and looks it up again.
//!    A row that is inserted where its key has no record gets one that is locked before it is linked ([`Admission::lock_made`]). If the
//!    insert is taken back, that one is an absent row's.
//! 6. A transaction without a plan is alone in the database: [`gate`](super::gate). It takes no locks.
//! 7. *Kept locks.* Where one worker runs transaction after transaction an engine may give the locks of one back together with
//!    what the next one asks for ([`Admission::keep`]), to spare itself a step. As long as they are kept the transaction counts as
//!    one in flight: nobody is alone in the database. They are given back before their worker does anything else.
//! 8. A reconnaissance, or a transaction that only reads and at read committed, locks one row at a time while it holds no
//!    other, so nobody waits in a circle because of it.

mod admission;
mod copies;
mod plan;
mod prefixes;
mod scene;
mod transaction;

pub use admission::{Admission, Glance};
pub use copies::Copies;
pub(crate) use plan::drop_lost_tables;
pub use plan::{Needs, Place, Plan, PlannedRow};
pub use scene::Scene;
pub use transaction::PlannedTransaction;
