//! Reading: at which time, what is remembered of it, and locking what was read.

use super::clock::Timestamp;
use super::look::{Lock, Look};
use super::scan::{self, Walk};
use super::sets::{Changes, Reads};
use super::words::{Begin, Words};
use hotrow_storage::{Guard, Key, RowRef, VersionRef, VersionTable};
use hotrow_txn::{Abort, LockFor, Scan};
use std::ops::ControlFlow;

/// What a transaction must find again at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tracks {
    Nothing,
    /// The rows that it has read.
    Rows,
    /// And that there were no others where it has looked.
    Absence,
}

/// The reading part of a transaction.
pub(super) struct Reader {
    pub look: Look,
    pub reads: Reads,
    pub tracks: Tracks,
    /// The time of all reads, if they are not each at its own.
    pub fixed: Option<Timestamp>,
}

impl Reader {
    pub fn new(look: Look) -> Self {
        Self { look, reads: Reads::default(), tracks: Tracks::Nothing, fixed: None }
    }

    /// Remembers a row that was read.
    #[inline]
    pub fn track(&mut self, table: &VersionTable<Words>, version: VersionRef<'_, Words>) {
        // What the transaction has made itself nobody else changes.
        if self.tracks >= Tracks::Rows && version.header().begin() != Begin::By(self.look.me) {
            self.reads.row(table.id(), version);
        }
    }

    /// Remembers that no row with this key was there.
    fn track_absence(&mut self, table: &VersionTable<Words>, key: &Key) {
        if self.tracks == Tracks::Absence {
            self.reads.walk(Walk::Key(table.id(), key.clone()));
        }
    }

    /// Remembers that a version of the transaction's own has found its keys free, in the first `linked` indexes.
    pub fn track_free_keys(&mut self, table: &VersionTable<Words>, own: VersionRef<'_, Words>, linked: usize) {
        if self.tracks == Tracks::Absence {
            for index in table.indexes()[..linked].iter().filter(|index| index.excludes(own.row())) {
                let columns = index.columns_of(own.row());
                self.reads.walk(Walk::Range(Scan::prefix(table.id(), index.reference(), columns)));
            }
        }
    }

    /// Reads the row with this key.
    #[inline]
    pub fn read<'g>(
        &mut self,
        (guard, table): (Guard<'g>, &'g VersionTable<Words>),
        key: &Key,
        read_time: Timestamp,
    ) -> Option<VersionRef<'g, Words>> {
        let found = self.look.find(guard, table, key, read_time);
        match found {
            Some(version) => self.track(table, version),
            None => self.track_absence(table, key),
        }
        found
    }

    /// Reads the row with this key to write it, and locks it. While it is locked it need not be remembered.
    #[inline]
    pub fn read_to_write<'g>(
        &mut self,
        (guard, table): (Guard<'g>, &'g VersionTable<Words>),
        key: &Key,
        read_time: Timestamp,
    ) -> Result<Option<(VersionRef<'g, Words>, Lock)>, Abort> {
        let locked = match self.look.find(guard, table, key, read_time) {
            Some(version) => self.lock_latest((guard, table), version)?,
            None => None,
        };
        if locked.is_none() {
            self.track_absence(table, key);
        }
        Ok(locked)
    }

    /// Locks the latest version of a row that was read. None if that was deleted, which only read committed goes on from.
    ///
    /// # Errors
    /// [`Abort::WriteConflict`] if another transaction has changed the row, and has not committed, or has done so after the time of
    /// all of this one's reads.
    fn lock_latest<'g>(
        &mut self,
        (guard, table): (Guard<'g>, &'g VersionTable<Words>),
        version: VersionRef<'g, Words>,
    ) -> Result<Option<(VersionRef<'g, Words>, Lock)>, Abort> {
        let mut version = version;
        loop {
            match self.look.lock(version)? {
                Lock::Superseded if self.fixed.is_some() => return Err(Abort::WriteConflict),
                Lock::Superseded => {
                    let now = self.look.shared.clock.now();
                    match self.look.find(guard, table, &table.key_of(version.row()), now) {
                        Some(later) => version = later,
                        None => return Ok(None),
                    }
                }
                lock => {
                    self.look.statistics.locks += u64::from(lock == Lock::Taken);
                    return Ok(Some((version, lock)));
                }
            }
        }
    }

    /// Visits the rows of a range, and remembers them, and how far it came.
    pub fn scan<'g>(
        &mut self,
        (guard, table): (Guard<'g>, &'g VersionTable<Words>),
        scan: &Scan,
        read_time: Timestamp,
        changes: &mut Changes,
        visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        let index = table.index_of(scan.index);
        let mut outcome = Ok(());
        let mut broke_at = None;
        scan::walk(table, guard, &Walk::Range(scan.clone()), &mut |version, key| {
            if !self.look.sees(version, read_time) {
                return ControlFlow::Continue(());
            }
            let seen = match scan.lock {
                LockFor::Read => version,
                LockFor::Update => match self.lock_latest((guard, table), version) {
                    Ok(Some((latest, lock))) => {
                        changes.keep(&mut self.look, table.id(), latest, lock);
                        if !index.has_same_key(latest.row(), version.row()) {
                            // It is elsewhere in the index now, and is locked all the same.
                            return ControlFlow::Continue(());
                        }
                        latest
                    }
                    Ok(None) => return ControlFlow::Continue(()),
                    Err(abort) => {
                        outcome = Err(abort);
                        return ControlFlow::Break(());
                    }
                },
            };
            self.track(table, seen);
            let flow = visit(seen.row());
            if flow.is_break() {
                broke_at = key.cloned();
            }
            flow
        })?;
        if self.tracks == Tracks::Absence {
            self.reads.walk(Walk::until(scan, broke_at));
        }
        outcome
    }
}
