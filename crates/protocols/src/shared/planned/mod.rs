//! Transactions whose locks are all asked for at once, before they run: the frame of all planned engines.
//!
//! A planned engine differs from another in how the locks of a whole plan are requested in one step, and in who finds out
//! when all of them are granted: that is its [`Admission`]. Everything else is here, once:
//!
//! | file | what |
//! | --- | --- |
//! | [`plan`] | which locks an access set needs: rows, and prefixes for ranges and index entries |
//! | [`prefixes`] | the prefixes among them |
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

mod plan;
mod prefixes;
mod transaction;

pub(crate) use plan::drop_lost_tables;
pub use plan::{Needs, Place, Plan, PlannedRow};
pub use transaction::{Copies, PlannedTransaction};

use super::range_locks::Counted;
use super::record;
use hotrow_storage::{Database, Guard, Key, RecordHeader, RecordPtr, RecordRef, Row, Table, TableId};
use hotrow_txn::{Abort, Accesses, Statistics};
use std::time::Duration;

/// The database, as one who is in an epoch sees it.
pub struct Scene<'s, H: RecordHeader> {
    pub(crate) database: &'s Database<H>,
    pub(crate) guard: Guard<'s>,
}

impl<H: RecordHeader> Clone for Scene<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H: RecordHeader> Copy for Scene<'_, H> {}

impl<'s, H: RecordHeader> Scene<'s, H> {
    #[inline]
    pub(crate) fn table(self, id: TableId) -> Option<&'s Table<H>> {
        self.database.table(self.guard, id)
    }

    /// A record of a plan, which nobody has freed: its locks are counted, or it was found under this guard.
    #[inline]
    pub(crate) fn deref(self, table: &'s Table<H>, record: RecordPtr<H>) -> RecordRef<'s, H> {
        record::deref(record, self.guard, table)
    }

    /// The record of a planned row, if it has one and its table is there.
    #[inline]
    pub(crate) fn record_of(self, row: &PlannedRow<H>) -> Option<RecordRef<'s, H>> {
        Some(self.deref(self.table(row.table)?, row.record?))
    }
}

/// What [`Admission::glance`] saw of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glance {
    /// It is there, and was copied.
    Present,
    /// It is absent.
    Absent,
    /// Somebody may be writing it: it has to be locked to be read.
    Busy,
}

/// How a planned engine locks: one object per transaction in flight.
pub trait Admission: Send + 'static {
    /// What the engine keeps before each record.
    type Header: RecordHeader;

    /// What it wants to know of a plan's rows.
    const NEEDS: Needs;

    /// Whether [`lock_made`](Self::lock_made) is there. Such an engine has a record for each row of a plan.
    const LOCKS_MADE: bool = false;

    /// A transaction begins whose reports go under `label`. Called before [`admit`](Self::admit), and for those without a plan too.
    fn begin(&mut self, _label: u32) {}

    /// Asks for all locks of the plan in one step, and returns when all of them are granted. `accesses` are those that
    /// the plan was made of: its first rows are theirs, but for tables that do not exist.
    ///
    /// # Errors
    /// The wait lasted for `limit`, or was cancelled; or a counter is exhausted. Nothing is asked for any more. The
    /// same holds if the wait unwinds.
    fn admit(
        &mut self,
        scene: Scene<'_, Self::Header>,
        accesses: &Accesses,
        plan: &mut Plan<Self::Header>,
        limit: Duration,
        statistics: &mut Statistics,
    ) -> Result<(), Abort>;

    /// The transaction has the database alone, and brought no plan: waits for what is left of those who are over.
    ///
    /// # Errors
    /// The wait lasted for `limit`, or was cancelled.
    fn alone(&mut self, _limit: Duration, _statistics: &mut Statistics) -> Result<(), Abort> {
        Ok(())
    }

    /// Whether locks can be added in this partition at all. Elsewhere no record is made for a row that is absent: nobody would
    /// count on it.
    #[inline]
    fn comes_to(&self, _partition: u16) -> bool {
        true
    }

    /// Adds the lock of a row with this key to those of an admitted plan, if nobody else has asked for a conflicting one.
    /// The plan has it afterwards. `false` if it cannot be had, and then nothing has changed.
    fn add_row(
        &mut self,
        scene: Scene<'_, Self::Header>,
        plan: &mut Plan<Self::Header>,
        row: PlannedRow<Self::Header>,
    ) -> bool;

    /// Locks a record exclusively that the transaction has just made, for a key that had none: it is about to be linked, and nobody
    /// else has seen it. If it is linked, [`add_made`](Self::add_made) says so.
    #[inline]
    fn lock_made(
        &mut self,
        _scene: Scene<'_, Self::Header>,
        _record: RecordRef<'_, Self::Header>,
        _row: &PlannedRow<Self::Header>,
    ) {
    }

    /// The plan has a row from now on whose record was locked when it was made.
    #[inline]
    fn add_made(&mut self, plan: &mut Plan<Self::Header>, row: PlannedRow<Self::Header>) {
        plan.rows.push(row);
    }

    /// The same for prefix locks of one place, all or none.
    fn add_prefixes(&mut self, plan: &mut Plan<Self::Header>, locks: &[Counted], place: Place) -> bool;

    /// Gives back all locks of an admitted plan, and empties it but for [`Plan::unused`].
    fn release(&mut self, scene: Scene<'_, Self::Header>, plan: &mut Plan<Self::Header>, statistics: &mut Statistics);

    /// A transaction is over that has committed, and another one is to come soon: whether its locks are kept until then. They
    /// are given back by the next [`admit`](Self::admit), or [`release_kept`](Self::release_kept). The plan is empty then.
    #[inline]
    fn keep(&mut self, _scene: Scene<'_, Self::Header>, _plan: &mut Plan<Self::Header>) -> bool {
        false
    }

    /// Gives back what was kept.
    fn release_kept(&mut self, _scene: Scene<'_, Self::Header>, _statistics: &mut Statistics) {}

    /// Copies a row as committed without asking for its lock, if that is sound now.
    fn glance(
        &mut self,
        _scene: Scene<'_, Self::Header>,
        _table: &Table<Self::Header>,
        _record: RecordRef<'_, Self::Header>,
        _copy: &mut Row,
    ) -> Glance {
        Glance::Busy
    }

    /// Copies all rows of a plan that has rows to read only, at one moment, without asking for their locks, if that is sound now:
    /// whether it was. The plan's records are not looked at afterwards.
    fn copy_rows(
        &mut self,
        _scene: Scene<'_, Self::Header>,
        _plan: &mut Plan<Self::Header>,
        _copies: &mut Copies,
    ) -> bool {
        false
    }

    /// Whether a row that is not in the plan may be touched all the same.
    fn reaches(&self, _table: &Table<Self::Header>, _key: &Key) -> bool {
        false
    }
}
