//! The part of a transaction that reads: what it tracks of its reads, and the locks of versions and indexes that it
//! takes.
//!
//! Reading itself is in `read`, which chooses between reading the [latest](super::latest) versions and reading
//! [as of one time](super::as_of).

use super::clock::Timestamp;
use super::held_locks::HeldLocks;
use super::index_locks::Part;
use super::look::{Lock, Look};
use super::read_set::ReadSet;
use super::record_locks::{self, ReadLock};
use super::words::{Begin, Words};
use hotrow_storage::{TableId, VersionIndex, VersionRef, VersionTable};
use hotrow_sync::atomic::{Ordering, fence};
use hotrow_txn::{Abort, LockFor};
use smallvec::SmallVec;

/// The parts of a transaction's reads that must be the same at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Extent {
    /// The rows that the transaction has read.
    Rows,
    /// The rows that the transaction has read, and the absence of other rows where it has looked.
    Absence,
}

/// The way in which a transaction ensures that its reads are the same at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tracks {
    /// The transaction neither remembers nor locks its reads.
    Nothing,
    /// The transaction remembers what it has read as of one time, and reads it again at its end (MV/O).
    Remembers(Extent),
    /// The transaction locks what it reads (MV/L).
    Locks(Extent),
}

/// The part of a transaction that reads, with the reads that it has remembered and the locks that it holds.
pub(super) struct Reader {
    pub look: Look,
    pub reads: ReadSet,
    pub held: HeldLocks,
    pub tracks: Tracks,
    /// The tracking that the level asks for, and whether the transaction has read anything that had to stay as it is
    /// beyond that.
    level: (Tracks, bool),
    /// The time of all reads, or `None` if each call reads at a time of its own.
    pub fixed: Option<Timestamp>,
    /// The tables that no other transaction uses meanwhile, as the caller ensures. Reads of them take no locks.
    pub owned: SmallVec<[TableId; 2]>,
}

/// A version that a transaction has write-locked, and whether the lock is new, or `None` if there is no such row.
pub(super) type Locked<'g> = Option<(VersionRef<'g, Words>, Lock)>;

impl Reader {
    pub fn new(look: Look) -> Self {
        let (reads, held) = (ReadSet::default(), HeldLocks::default());
        let (tracks, level) = (Tracks::Nothing, (Tracks::Nothing, false));
        Self { look, reads, held, tracks, level, fixed: None, owned: SmallVec::new() }
    }

    /// Begins a transaction. `tracks` is the tracking of reads that its isolation level requires.
    pub fn begin(&mut self, tracks: Tracks) {
        (self.tracks, self.level, self.fixed) = (tracks, (tracks, false), None);
    }

    /// Sets how reads are tracked from now on. With `hold`, all reads must be the same at the transaction's end: a
    /// transaction that reads as of one time remembers them for validation, and any other one locks them. Without
    /// `hold`, reads are tracked as the isolation level requires.
    pub fn hold(&mut self, hold: bool) {
        self.tracks = if hold { self.held_tracks() } else { self.level.0 };
        self.level.1 |= hold;
    }

    fn held_tracks(&self) -> Tracks {
        match self.fixed {
            Some(_) => Tracks::Remembers(Extent::Absence),
            None => Tracks::Locks(Extent::Absence),
        }
    }

    /// Returns how reads of a table are tracked.
    #[inline]
    pub fn tracks(&self, table: TableId) -> Tracks {
        match self.tracks {
            // No other transaction comes there.
            Tracks::Locks(_) if self.owned.contains(&table) => Tracks::Nothing,
            tracks => tracks,
        }
    }

    /// Remembers or read-locks a version that was read, as the isolation level requires. Returns `false` if the row
    /// must be read again, since the version is not the latest any more.
    ///
    /// # Errors
    /// The error of locking the version.
    #[inline]
    pub fn track(&mut self, table: &VersionTable<Words>, version: VersionRef<'_, Words>) -> Result<bool, Abort> {
        match self.tracks(table.id()) {
            Tracks::Nothing => Ok(true),
            // No other transaction changes what this one has made itself.
            _ if version.header().begin() == Begin::By(self.look.me) => Ok(true),
            Tracks::Remembers(_) => {
                self.reads.row(table.id(), version);
                Ok(true)
            }
            Tracks::Locks(_) => self.lock_to_read(table, version),
        }
    }

    fn lock_to_read(&mut self, table: &VersionTable<Words>, version: VersionRef<'_, Words>) -> Result<bool, Abort> {
        if self.held.has(version.ptr()) || self.look.kept.contains(&version.ptr()) {
            return Ok(true);
        }
        let is_taken = self.look.lock_to_read(table, version)? == ReadLock::Taken;
        if is_taken {
            self.held.row(table.id(), version.ptr());
            self.look.statistics.locks += 1;
        }
        Ok(is_taken)
    }

    /// Write-locks a version. Returns `None` if the version is not the latest any more.
    ///
    /// # Errors
    /// [`Abort::WriteConflict`] if another active transaction has the write lock, or other transactions are in the
    /// row's queue before this one. If `lock_for` does not wait for locks, the error is [`Abort::Timeout`] instead.
    /// [`Abort::Conflict`] if the version has readers, and the transaction can wait for no more transactions.
    pub fn lock_to_write(
        &mut self,
        table: &VersionTable<Words>,
        version: VersionRef<'_, Words>,
        lock_for: LockFor,
    ) -> Result<Option<Lock>, Abort> {
        let queues_exist = self.look.shared.transactions.queues.exist();
        let locked = match queues_exist && self.look.lines_up && self.look.is_late(table, version) {
            true => Err(Abort::WriteConflict),
            false => self.look.lock_to_write(table, version, &mut self.held),
        };
        let lock = locked.map_err(|abort| {
            if abort == Abort::WriteConflict && !lock_for.waits() {
                self.look.conflict = None;
                return Abort::Timeout;
            }
            abort
        })?;
        if lock == Lock::Taken {
            self.look.statistics.locks += 1;
            if !self.look.turns.is_empty() {
                self.look.use_turn(table, table.primary(), version);
            }
        }
        Ok((lock != Lock::Superseded).then_some(lock))
    }

    /// Gives up the write lock of a version whose change is undone. The transaction has also read the version. So it
    /// remembers or read-locks the version now, as the isolation level requires, or as an earlier [`hold`](Self::hold)
    /// did. Returns `false`, and keeps the write lock, if the version has too many readers for a read lock.
    pub fn give_back(&mut self, table: &VersionTable<Words>, version: VersionRef<'_, Words>) -> bool {
        let (words, me) = (version.header(), self.look.me);
        let tracks = match self.tracks(table.id()) {
            _ if words.begin() == Begin::By(me) => Tracks::Nothing,
            Tracks::Nothing if self.level.1 => self.held_tracks(),
            tracks => tracks,
        };
        let had_readers = match tracks {
            Tracks::Locks(_) => {
                let changed = record_locks::write_to_read(words, me, self.look.shared.read_locks);
                let Some(had_readers) = changed else { return false };
                self.held.row(table.id(), version.ptr());
                had_readers
            }
            Tracks::Remembers(_) => {
                self.reads.row(table.id(), version);
                record_locks::release_write(words, me)
            }
            Tracks::Nothing => record_locks::release_write(words, me),
        };
        if had_readers {
            // This transaction does not wait for them any more.
            self.look.shared.transactions.release(me);
        }
        true
    }

    /// Locks a part of an index, and returns whether the transaction had not locked it before. The caller reads the
    /// part only after this call.
    pub fn lock_part(&mut self, table: &VersionTable<Words>, index: &VersionIndex<Words>, part: Part) -> bool {
        let is_new = index.data().lock(&part, self.look.me);
        // SeqCst: a transaction that locks and then walks fences here, one that links and then looks for locks
        // fences in `link`.
        fence(Ordering::SeqCst);
        if is_new {
            self.held.part(table.id(), index.position(), part);
            self.look.statistics.locks += 1;
        }
        is_new
    }
}
