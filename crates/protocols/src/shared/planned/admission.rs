//! The part that a planned engine supplies to the frame: requests for the locks of a plan.

use super::copies::Copies;
use super::plan::{Needs, Place, Plan, PlannedRow};
use super::scene::Scene;
use crate::shared::range_locks::Counted;
use hotrow_storage::{Key, RecordHeader, RecordRef, Row, Table};
use hotrow_txn::{Abort, Accesses, Statistics};
use std::time::Duration;

/// The state of a row as [`Admission::glance`] saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glance {
    /// The row is present, and was copied.
    Present,
    /// The row is absent.
    Absent,
    /// Another transaction may be writing the row, so it must be locked to be read.
    Busy,
}

/// The part of an [`Admission`] that adds locks to an admitted plan.
pub trait LateLocks: Send + 'static {
    /// The header of each record.
    type Header: RecordHeader;

    /// Whether the engine implements [`lock_made`](Self::lock_made). Such an engine has a record for each row of a
    /// plan.
    const LOCKS_MADE: bool = false;

    /// Whether the engine implements [`add_rows`](Self::add_rows), because requests for single locks are expensive for
    /// it. The records of such an engine carry no locks.
    const ADDS_TOGETHER: bool = false;

    /// Whether locks can be added in this partition at all. In other partitions no record is made for a row that is
    /// absent, as no transaction would count on it.
    #[inline]
    fn comes_to(&self, _partition: u16) -> bool {
        true
    }

    /// Adds the lock of a row with this key to those of an admitted plan, if no other transaction has asked for a
    /// conflicting one. The plan has the row afterwards. Returns `false` if the lock cannot be had; nothing has changed
    /// then.
    fn add_row(
        &mut self,
        scene: Scene<'_, Self::Header>,
        plan: &mut Plan<Self::Header>,
        row: PlannedRow<Self::Header>,
    ) -> bool;

    /// Adds the locks of several rows, of which none is in the plan, as far as the locks can be had. The rows whose
    /// locks were added are in the plan afterwards. By default the call adds none.
    fn add_rows(&mut self, _plan: &mut Plan<Self::Header>, _rows: &[PlannedRow<Self::Header>]) {}

    /// Locks a record exclusively that the transaction has just made, for a key that had none. The record is about to
    /// be linked, and no other transaction has seen it. If it is linked, the caller calls [`add_made`](Self::add_made).
    #[inline]
    fn lock_made(
        &mut self,
        _scene: Scene<'_, Self::Header>,
        _record: RecordRef<'_, Self::Header>,
        _row: &PlannedRow<Self::Header>,
    ) {
    }

    /// Adds a row to the plan whose record was locked when it was made.
    #[inline]
    fn add_made(&mut self, plan: &mut Plan<Self::Header>, row: PlannedRow<Self::Header>) {
        plan.rows.push(row);
    }

    /// Adds prefix locks of one place to those of an admitted plan, if no other transaction has asked for a conflicting
    /// one: all of them, or none. Returns whether they were added.
    fn add_prefixes(&mut self, plan: &mut Plan<Self::Header>, locks: &[Counted], place: Place) -> bool;
}

/// The locking of a planned engine: one object per transaction in flight.
pub trait Admission: LateLocks {
    /// Returns the properties of rows that a plan must determine for the engine.
    fn needs(&self) -> Needs;

    /// Begins a transaction, which reports name `label`. The caller calls this before [`admit`](Self::admit), and also
    /// for transactions without a plan.
    fn begin(&mut self, _label: u32) {}

    /// Asks for all locks of the plan in one step, and returns when all of them are granted. The plan was made of
    /// `accesses`: its first rows are the rows of `accesses`, except those in tables that are constant or do not exist.
    ///
    /// # Errors
    /// If the wait lasted for `limit` or was cancelled, or if a counter is exhausted. All requests are withdrawn then,
    /// as they are if the wait unwinds.
    fn admit(
        &mut self,
        scene: Scene<'_, Self::Header>,
        accesses: &Accesses,
        plan: &mut Plan<Self::Header>,
        limit: Duration,
        statistics: &mut Statistics,
    ) -> Result<(), Abort>;

    /// Waits until nothing is left of transactions that have ended, such as messages on their way. The frame calls this
    /// for a transaction without a plan, once it has the database to itself.
    ///
    /// # Errors
    /// If the wait lasted for `limit`, or was cancelled.
    fn alone(&mut self, _limit: Duration, _statistics: &mut Statistics) -> Result<(), Abort> {
        Ok(())
    }

    /// Gives back all locks of an admitted plan, and empties the plan but for [`Plan::unused`].
    fn release(&mut self, scene: Scene<'_, Self::Header>, plan: &mut Plan<Self::Header>, statistics: &mut Statistics);

    /// Called when a transaction is over that has committed, and another one is to come soon. Returns whether its locks
    /// are kept until then; if so, the plan is empty afterwards. The next [`admit`](Self::admit), or
    /// [`release_kept`](Self::release_kept), gives them back.
    #[inline]
    fn keep(&mut self, _scene: Scene<'_, Self::Header>, _plan: &mut Plan<Self::Header>) -> bool {
        false
    }

    /// Gives back the locks that were kept.
    fn release_kept(&mut self, _scene: Scene<'_, Self::Header>, _statistics: &mut Statistics) {}

    /// Copies a row as it was committed last, without asking for its lock, if that is sound now.
    fn glance(
        &mut self,
        _scene: Scene<'_, Self::Header>,
        _table: &Table<Self::Header>,
        _record: RecordRef<'_, Self::Header>,
        _copy: &mut Row,
    ) -> Glance {
        Glance::Busy
    }

    /// Copies all rows of a plan that only reads rows, at one moment, without asking for their locks, if that is sound
    /// now. Returns whether it was. The plan's records are not looked at afterwards.
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
