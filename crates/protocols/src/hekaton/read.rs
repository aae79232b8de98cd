//! Reading: a transaction that locks what it reads reads the latest versions, any other one reads as of one time.

use super::clock::Timestamp;
use super::database::Scene;
use super::latest::Locking;
use super::reader::{Locked, Reader, Tracks};
use super::scan::Course;
use super::words::Words;
use super::write_set::WriteSet;
use hotrow_storage::{Key, RowRef, VersionRef};
use hotrow_txn::{Abort, LockFor, Scan};
use std::ops::ControlFlow;

impl Reader {
    /// Returns the row with this key, or `None` if there is none. The read is remembered or locked as the isolation
    /// level requires.
    ///
    /// # Errors
    /// The error of locking the row.
    #[inline]
    pub fn read<'g>(
        &mut self,
        scene: Scene<'g>,
        key: &Key,
        read_time: Timestamp,
    ) -> Result<Option<VersionRef<'g, Words>>, Abort> {
        match self.tracks(scene.1.id()) {
            Tracks::Locks(extent) => {
                let found = self.read_latest(scene, key, (extent, LockFor::Read))?;
                Ok(found.map(|(version, _)| version))
            }
            _ => self.read_as_of(scene, key, read_time),
        }
    }

    /// Write-locks the row with this key, and returns its latest version, or `None` if there is no such row. While the
    /// row is locked the read need not be remembered.
    ///
    /// # Errors
    /// [`Abort::WriteConflict`] if another transaction has changed the row, and has not committed, or has done so after
    /// the time of all of this one's reads.
    #[inline]
    pub fn read_to_write<'g>(
        &mut self,
        scene: Scene<'g>,
        key: &Key,
        read_time: Timestamp,
    ) -> Result<Locked<'g>, Abort> {
        match self.tracks(scene.1.id()) {
            Tracks::Locks(extent) => self.read_latest(scene, key, (extent, LockFor::Update)),
            _ => self.lock_as_of(scene, key, read_time),
        }
    }

    /// Visits the rows of the next part of a scan, and remembers or locks them as the isolation level and the scan
    /// require.
    ///
    /// # Errors
    /// The errors of locking rows, and [`Abort::User`] for a range of a secondary hash index.
    pub fn scan<'g>(
        &mut self,
        scene: Scene<'g>,
        Scanning { scan, read_time, course, locking }: &mut Scanning<'_>,
        changes: &mut WriteSet,
        visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        match self.tracks(scene.1.id()) {
            Tracks::Locks(extent) => {
                let locking = locking.get_or_insert_with(|| self.begin_locking(scene.1, scan, extent));
                self.scan_latest(scene, locking, course, changes, visit)
            }
            _ => self.scan_as_of(scene, (scan, *read_time), course, changes, visit),
        }
    }
}

/// A scan in progress, between two of its parts.
pub(super) struct Scanning<'s> {
    scan: &'s Scan,
    read_time: Timestamp,
    pub course: Course,
    /// The state of the walk, if the scan locks what it reads.
    locking: Option<Locking<'s>>,
}

impl<'s> Scanning<'s> {
    pub fn new(scan: &'s Scan, read_time: Timestamp) -> Self {
        Self { scan, read_time, course: Course::default(), locking: None }
    }
}
