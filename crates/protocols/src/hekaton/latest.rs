//! Reading under locks (MV/L, §4): what is read is the latest, and stays so until the transaction has its end
//! timestamp.
//!
//! A version that is seen is locked; if it was replaced before that, the row is read once more, at a later time. Rows
//! that were read before are locked, so they are still the same then. Where no other row may come to be, the place is
//! locked *before* its versions are walked over, and the time of reading drawn after that: a version that is not seen
//! was made by one that is active, and is made to wait, or has committed since, and is looked at once more.
//!
//! Where the time of reading moves while a scan walks, a version that ended since the walk began has a successor that
//! may be linked behind the walk. So from then on the scan finds the row of each version that it does not see again, by
//! its primary key.
//!
//! **What a scan may read while a row is visited.** A visit may take long: the caller computes, or lets others run.
//! Meanwhile the scan needs the versions of one moment only, its beginning: a row that was in the range then is met as
//! the version of then, and the row's later versions are found by its key, at a time that is drawn after the visit. A
//! row that came into the range since, where the range is locked, has been linked by a transaction that did not find
//! the lock, before the walk began. In an ordered index it stays under its key, which is before the walk or behind it
//! as a whole: whatever version of it is there when the walk comes to the key is met. In a hash index the walk may be
//! among versions that are like it, and a later version be linked behind the walk; there the scan keeps all versions
//! from its beginning on.

use super::clock::Timestamp;
use super::database::Scene;
use super::index_locks::Part;
use super::look::{Lock, Look};
use super::reader::{Extent, Reader};
use super::scan::{self, Course, Walk, part_of};
use super::snapshots::Snapshot;
use super::visibility::Absence;
use super::wait_for::Imposed;
use super::words::Words;
use super::write_set::WriteSet;
use crate::shared::hashed::HashSet;
use crate::shared::walk::Range;
use hotrow_storage::{Key, RowRef, VersionIndex, VersionPtr, VersionRef, VersionTable};
use hotrow_txn::{Abort, LockFor, Scan};
use std::ops::{Bound, ControlFlow};

/// The state of a scan that reads the latest versions and locks them.
pub(super) struct Locking<'s> {
    scan: &'s Scan,
    /// Whether the scan has locked its range.
    locks_range: bool,
    /// The part of the scan's reads that must be the same at the transaction's end.
    extent: Extent,
    /// The time at which the walk began. A version that had ended before has a successor that the walk meets.
    began: Timestamp,
    /// The time as of which the walk reads now. Rows that it has visited are locked, so they are the same at this time.
    now: Timestamp,
    /// Whether the scan needs only the versions of its beginning while a row is visited.
    keeps_one_time: bool,
    /// Whether the transaction's slot says that only those versions are needed.
    is_resting: bool,
    /// The visited versions that are younger than the walk's beginning. The walk may come to them once more.
    younger: HashSet<VersionPtr<Words>>,
}

impl Locking<'_> {
    /// Publishes that the transaction reads only what was there at the walk's beginning.
    fn rest(&mut self, look: &Look) {
        if self.keeps_one_time && !self.is_resting {
            look.publish(Snapshot::ReadOnly(self.began));
            self.is_resting = true;
        }
    }

    /// Continues after a rest. Versions that were there at the time drawn before the rest may be gone, so a later time
    /// is drawn.
    fn go_on(&mut self, look: &Look) {
        if self.is_resting && self.now > self.began {
            self.move_on(look);
        }
    }

    /// Draws a later time, as of which the walk reads from now on.
    fn move_on(&mut self, look: &Look) {
        self.now = look.move_on(self.began);
        self.is_resting = false;
    }
}

impl Reader {
    /// Locks the latest version of the row with this key, and returns it. If there is no such row, returns `None`; with
    /// [`Extent::Absence`] the key is locked, so that the row stays absent.
    ///
    /// # Errors
    /// The error of locking the version, and [`Abort::Conflict`] if a transaction that is about to insert the row takes
    /// on no more waits.
    pub(super) fn read_latest<'g>(
        &mut self,
        (guard, table): Scene<'g>,
        key: &Key,
        (extent, lock_for): (Extent, LockFor),
    ) -> Result<Option<(VersionRef<'g, Words>, Lock)>, Abort> {
        let index = table.primary();
        let hash = key.hash64();
        let mut is_locked = false;
        loop {
            let now = self.look.shared.clock.now();
            if let Some(version) = self.look.find(guard, table, key, now) {
                // As long as it is locked no other row can have its key, which need not be locked.
                match self.lock(table, version, lock_for)? {
                    Some(lock) => return Ok(Some((version, lock))),
                    None => continue,
                }
            }
            if extent == Extent::Rows {
                return Ok(None);
            }
            if !is_locked {
                self.lock_part(table, index, Part::Hash(hash));
                is_locked = true;
                continue;
            }
            let mut stays = true;
            for version in index.equal(guard, key, hash) {
                stays = stays && self.holds_back((guard, table), index, version, now)?;
            }
            if stays {
                return Ok(None);
            }
        }
    }

    /// Begins a scan: locks its range if `extent` includes the absence of rows, and draws the first read time.
    pub(super) fn begin_locking<'s>(
        &mut self,
        table: &VersionTable<Words>,
        scan: &'s Scan,
        extent: Extent,
    ) -> Locking<'s> {
        let index = table.index_of(scan.index);
        let extent = if scan.lock == LockFor::UpdateFree { Extent::Rows } else { extent };
        let part = (extent == Extent::Absence).then(|| part_of(index, scan));
        let locks_range = part.is_some_and(|part| self.lock_part(table, index, part));
        let now = self.look.shared.clock.now();
        let keeps_one_time = extent == Extent::Rows || index.is_ordered();
        let (began, younger) = (now, HashSet::default());
        let mut walked = Locking { scan, locks_range, extent, began, now, keeps_one_time, is_resting: false, younger };
        walked.rest(&self.look);
        walked
    }

    /// Visits the rows of the next part of a scan, and locks them. If the scan stops early in a locked range of an
    /// ordered index, the lock shrinks to the part that was visited.
    pub(super) fn scan_latest<'g>(
        &mut self,
        (guard, table): Scene<'g>,
        walked: &mut Locking<'_>,
        course: &mut Course,
        changes: &mut WriteSet,
        visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        let (scan, index) = (walked.scan, table.index_of(walked.scan.index));
        let passes_over = scan.lock == LockFor::UpdateFree;
        let mut outcome = Ok(());
        let mut broke_at = None;
        scan::walk_on(table, guard, scan, course, &mut |version, key| {
            walked.go_on(&self.look);
            if passes_over && self.look.sees(version, walked.now) && !scan.admits(version.row()) {
                return ControlFlow::Continue(());
            }
            let met = self.meet((guard, table), index, version, walked, changes);
            let flow = match met {
                Ok(Some(row)) => {
                    walked.rest(&self.look);
                    visit(row.row())
                }
                Ok(None) => ControlFlow::Continue(()),
                Err(Abort::Timeout) if passes_over => ControlFlow::Continue(()),
                Err(abort) => {
                    outcome = Err(abort);
                    ControlFlow::Break(())
                }
            };
            if flow.is_break() {
                broke_at = key.cloned();
            }
            flow
        })?;
        // The part that it has not come to need not stay as it is.
        if walked.locks_range
            && broke_at.is_some()
            && let Walk::Range(until) = Walk::until(scan, broke_at)
        {
            let part = part_of(index, &until);
            index.data().lock(&part, self.look.me);
            let before = self.held.narrow(part);
            index.data().unlock(&before, self.look.me);
        }
        outcome
    }

    /// Locks the row of a version that a walk meets, and returns its latest version, or `None` if there is nothing to
    /// visit. The walk's time moves on if it proves too early.
    ///
    /// # Errors
    /// The error of locking the row, and that of [`later`](Self::later).
    fn meet<'g>(
        &mut self,
        (guard, table): Scene<'g>,
        index: &VersionIndex<Words>,
        version: VersionRef<'g, Words>,
        walked: &mut Locking<'_>,
        changes: &mut WriteSet,
    ) -> Result<Option<VersionRef<'g, Words>>, Abort> {
        let mut latest = Some(version);
        while !self.look.sees(version, walked.now) {
            if walked.extent == Extent::Rows || self.holds_back((guard, table), index, version, walked.now)? {
                latest = self.later((guard, table), index, version, walked)?;
                break;
            }
            walked.move_on(&self.look);
        }
        while let Some(row) = latest.filter(|row| !walked.younger.contains(&row.ptr())) {
            if let Some(lock) = self.lock(table, row, walked.scan.lock)? {
                if walked.scan.lock.is_update() {
                    changes.keep(&mut self.look, table.id(), row, lock);
                }
                if walked.now > walked.began && !self.look.sees(row, walked.began) {
                    walked.younger.insert(row.ptr());
                }
                return Ok(Some(row));
            }
            walked.move_on(&self.look);
            latest = self.later((guard, table), index, row, walked)?;
        }
        Ok(None)
    }

    /// Returns the version that is now there of a row that a walk has met, if it is younger than the walk's beginning,
    /// so that the walk may miss it. Returns `None` if the walk does not miss it.
    ///
    /// # Errors
    /// [`Abort::Conflict`] if the row has moved to another place of the range, and nothing has kept it from moving
    /// behind the walk.
    fn later<'g>(
        &mut self,
        (guard, table): Scene<'g>,
        index: &VersionIndex<Words>,
        version: VersionRef<'g, Words>,
        walked: &Locking<'_>,
    ) -> Result<Option<VersionRef<'g, Words>>, Abort> {
        if walked.now == walked.began {
            return Ok(None);
        }
        let found = self.look.find(guard, table, &table.key_of(version.row()), walked.now);
        // The transaction that was about to replace it has aborted.
        if found.is_some_and(|found| found.ptr() == version.ptr()) {
            return Ok(found);
        }
        let Some(later) = found.filter(|&later| !self.look.sees(later, walked.began)) else { return Ok(None) };
        if index.has_same_key(later.row(), version.row()) {
            return Ok(Some(later));
        }
        // Where the range is locked, a row that moves in it was linked there before the walk began, which meets it.
        let may_be_missed = walked.extent == Extent::Rows && walked.scan.lock != LockFor::UpdateFree;
        match may_be_missed && !walked.younger.contains(&later.ptr()) && is_in(index, walked.scan, later.row()) {
            true => Err(Abort::Conflict),
            false => Ok(None),
        }
    }

    /// Locks a version that the transaction sees. A read lock is noted at once. Returns `None` if the version is not
    /// the latest any more.
    fn lock(
        &mut self,
        table: &VersionTable<Words>,
        version: VersionRef<'_, Words>,
        lock_for: LockFor,
    ) -> Result<Option<Lock>, Abort> {
        match lock_for {
            LockFor::Read => Ok(self.track(table, version)?.then_some(Lock::Kept)),
            _ => self.lock_to_write(table, version, lock_for),
        }
    }

    /// Ensures that a version that is not seen at `read_time` stays away, by making its maker end after this
    /// transaction. Returns `false` if the version has become a row meanwhile, and must be looked at again at a later
    /// time.
    ///
    /// # Errors
    /// [`Abort::Conflict`] if the maker waits already, and takes on no more waits.
    fn holds_back(
        &self,
        (guard, table): Scene<'_>,
        index: &VersionIndex<Words>,
        version: VersionRef<'_, Words>,
        read_time: Timestamp,
    ) -> Result<bool, Abort> {
        let maker = match self.look.absence(version, read_time) {
            Absence::Stays => return Ok(true),
            Absence::Later | Absence::Again => return Ok(false),
            Absence::Imposes(maker) => maker,
        };
        let transactions = &self.look.shared.transactions;
        match transactions.hold_back(self.look.me, maker, (table.id(), index.reference())) {
            Imposed::Done => Ok(true),
            Imposed::Ended => Ok(false),
            // It may be for this one that it waits.
            Imposed::Shut if self.held.keeps_waiting(table, guard, maker) => Ok(true),
            Imposed::Shut => Err(Abort::Conflict),
        }
    }
}

/// Whether a row lies in a scan's range.
fn is_in(index: &VersionIndex<Words>, scan: &Scan, row: RowRef<'_>) -> bool {
    match &scan.lower {
        _ if index.is_ordered() => Range::new(&scan.lower, &scan.upper).contains(&index.key_of(row)),
        Bound::Included(columns) => index.matches(row, columns),
        _ => true,
    }
}
