//! Reading as of one time (§2.5, §3): the reads of MV/O, and of all transactions at levels that track nothing.
//!
//! Each call of a transaction that has no single time for all of its reads draws its own. The transaction remembers the
//! reads that must give the same at its end. It locks a row that it will write in the row's latest version.

use super::clock::Timestamp;
use super::database::Scene;
use super::look::Look;
use super::reader::{Extent, Locked, Reader, Tracks};
use super::scan::{self, Course, Walk};
use super::snapshots::Snapshot;
use super::words::Words;
use super::write_set::WriteSet;
use hotrow_storage::{Key, RowRef, VersionRef, VersionTable};
use hotrow_txn::{Abort, LockFor, Scan};
use std::ops::ControlFlow;

impl Reader {
    /// Returns the version of the row with this key that the transaction sees at `read_time`. If the isolation level
    /// requires validation, the read is remembered until the transaction's end.
    #[inline]
    pub(super) fn read_as_of<'g>(
        &mut self,
        (guard, table): Scene<'g>,
        key: &Key,
        read_time: Timestamp,
    ) -> Result<Option<VersionRef<'g, Words>>, Abort> {
        let found = self.look.find(guard, table, key, read_time);
        match found {
            Some(version) => drop(self.track(table, version)?),
            None => self.remember_absence(table, key),
        }
        Ok(found)
    }

    /// Write-locks the latest version of the row that the transaction sees under this key at `read_time`. Returns
    /// `None` if the transaction sees no such row, or if the row has been deleted since.
    ///
    /// # Errors
    /// [`Abort::WriteConflict`] if another transaction has changed the row, and has not committed, or has done so after
    /// the time of all of this one's reads.
    #[inline]
    pub(super) fn lock_as_of<'g>(
        &mut self,
        (guard, table): Scene<'g>,
        key: &Key,
        read_time: Timestamp,
    ) -> Result<Locked<'g>, Abort> {
        let locked = match self.look.find(guard, table, key, read_time) {
            Some(version) => self.lock_latest((guard, table), version, (LockFor::Update, read_time))?,
            None => None,
        };
        if locked.is_none() {
            self.remember_absence(table, key);
        }
        Ok(locked)
    }

    /// Remembers that the transaction found no row with this key.
    fn remember_absence(&mut self, table: &VersionTable<Words>, key: &Key) {
        if self.tracks(table.id()) == Tracks::Remembers(Extent::Absence) {
            self.reads.walk(Walk::Key(table.id(), key.clone()));
        }
    }

    /// Locks the latest version of a row that was read at `read_time`. Returns `None` if the row has been deleted
    /// since; only a transaction at read committed goes on from that.
    ///
    /// # Errors
    /// [`Abort::WriteConflict`] if another transaction has changed the row, and has not committed, or has done so after
    /// the time of all of this one's reads.
    fn lock_latest<'g>(
        &mut self,
        (guard, table): Scene<'g>,
        version: VersionRef<'g, Words>,
        (lock_for, read_time): (LockFor, Timestamp),
    ) -> Result<Locked<'g>, Abort> {
        let mut version = version;
        loop {
            match self.lock_to_write(table, version, lock_for)? {
                Some(lock) => return Ok(Some((version, lock))),
                None if self.fixed.is_some() => return Err(Abort::WriteConflict),
                None => {
                    let now = self.look.move_on(read_time);
                    match self.look.find(guard, table, &table.key_of(version.row()), now) {
                        Some(later) => version = later,
                        None => return Ok(None),
                    }
                }
            }
        }
    }

    /// Visits the rows of the next part of a scan, and remembers or locks them. After the last part, the range that was
    /// visited is remembered, if the isolation level also validates the absence of rows.
    ///
    /// A visit may take long. So during a scan the transaction's slot publishes only one read time, and other versions
    /// can be collected. A transaction that has no single time for all of its reads draws a later time through
    /// [`Look::move_on`].
    pub(super) fn scan_as_of<'g>(
        &mut self,
        (guard, table): Scene<'g>,
        (scan, read_time): (&Scan, Timestamp),
        course: &mut Course,
        changes: &mut WriteSet,
        visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        let index = table.index_of(scan.index);
        let reads_only_at = |look: &Look| look.publish(Snapshot::ReadOnly(read_time));
        let is_fixed = self.fixed.is_some();
        if !is_fixed {
            reads_only_at(&self.look);
        }
        let mut outcome = Ok(());
        let mut broke_at = None;
        scan::walk_on(table, guard, scan, course, &mut |version, key| {
            if !self.look.sees(version, read_time) || !scan.admits(version.row()) {
                return ControlFlow::Continue(());
            }
            let seen = match scan.lock {
                LockFor::Read => self.track(table, version).map(|_| Some(version)),
                lock => self.lock_latest((guard, table), version, (lock, read_time)).map(|latest| {
                    if !is_fixed {
                        reads_only_at(&self.look);
                    }
                    let (latest, lock) = latest?;
                    changes.keep(&mut self.look, table.id(), latest, lock);
                    // One that is elsewhere in the index now is locked all the same.
                    index.has_same_key(latest.row(), version.row()).then_some(latest)
                }),
            };
            let flow = match seen {
                Ok(Some(seen)) => visit(seen.row()),
                Ok(None) => ControlFlow::Continue(()),
                Err(Abort::Timeout) if scan.lock == LockFor::UpdateFree => ControlFlow::Continue(()),
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
        let remembers = self.tracks(table.id()) == Tracks::Remembers(Extent::Absence);
        if course.is_over() && remembers && scan.lock != LockFor::UpdateFree {
            self.reads.walk(Walk::until(scan, broke_at));
        }
        outcome
    }
}
