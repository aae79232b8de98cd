//! Reading: at which time, what is remembered of it or locked, and locking what is to be written.

use super::clock::Timestamp;
use super::held::Held;
use super::latest::{Locking, part_of};
use super::look::{Lock, Look};
use super::record_locks::{self, ReadLock};
use super::scan::{self, Course, Walk};
use super::sets::{Changes, Reads};
use super::snapshots::Snapshot;
use super::words::{Begin, Words};
use hotrow_storage::{Guard, Key, RowRef, TableId, VersionRef, VersionTable};
use hotrow_txn::{Abort, LockFor, Scan};
use smallvec::SmallVec;
use std::ops::ControlFlow;

/// What a transaction must find again at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Extent {
    /// The rows that it has read.
    Rows,
    /// And that there were no others where it has looked.
    Absence,
}

/// How a transaction sees to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tracks {
    /// It need not find anything again.
    Nothing,
    /// It remembers what it has read at one time, and looks again at its end (MV/O).
    Remembers(Extent),
    /// It locks what it reads (MV/L).
    Locks(Extent),
}

/// The reading part of a transaction.
pub(super) struct Reader {
    pub look: Look,
    pub reads: Reads,
    pub held: Held,
    pub tracks: Tracks,
    /// What the level asks for, and whether anything was read that had to stay as it is beyond that.
    level: (Tracks, bool),
    /// The time of all reads, if they are not each at its own.
    pub fixed: Option<Timestamp>,
    /// Tables that the caller keeps everybody else off.
    pub owned: SmallVec<[TableId; 2]>,
}

/// Where a transaction reads: the guard of a call, and a table.
pub(super) type Scene<'g> = (Guard<'g>, &'g VersionTable<Words>);

/// A version that a transaction has locked, to write it.
type Locked<'g> = Option<(VersionRef<'g, Words>, Lock)>;

impl Reader {
    pub fn new(look: Look) -> Self {
        let (reads, held) = (Reads::default(), Held::default());
        let (tracks, level) = (Tracks::Nothing, (Tracks::Nothing, false));
        Self { look, reads, held, tracks, level, fixed: None, owned: SmallVec::new() }
    }

    /// A transaction begins whose level asks for this.
    pub fn begin(&mut self, tracks: Tracks) {
        (self.tracks, self.level, self.fixed) = (tracks, (tracks, false), None);
    }

    /// What is read from now on must be found again at the end, or what the level asks for. Who reads the latest locks it, which keeps it
    /// without a time of all reads; who reads as of one time remembers.
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

    /// What is to be found again in a table.
    #[inline]
    fn tracks(&self, table: TableId) -> Tracks {
        match self.tracks {
            // Nobody else comes there.
            Tracks::Locks(_) if self.owned.contains(&table) => Tracks::Nothing,
            tracks => tracks,
        }
    }

    /// Remembers or locks a row that was read. False if it must be read again, since it is not the latest any more.
    ///
    /// # Errors
    /// That of locking it.
    #[inline]
    pub fn track(&mut self, table: &VersionTable<Words>, version: VersionRef<'_, Words>) -> Result<bool, Abort> {
        match self.tracks(table.id()) {
            Tracks::Nothing => Ok(true),
            // What the transaction has made itself nobody else changes.
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

    /// Locks a version to write it. None if it is not the latest any more.
    ///
    /// # Errors
    /// [`Abort::WriteConflict`] if another transaction has changed the row, and has not committed, or has come before to do so;
    /// [`Abort::Timeout`] in its place for a lock that is not waited for.
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
                self.look.met = None;
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

    /// Gives up the write lock of a version that was to be replaced, and was read: it is remembered, or read-locked. False if it has
    /// too many readers for that, and keeps the lock. It may have been read to be held, whatever is asked for now.
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
            // They are in nobody's way any more.
            self.look.shared.transactions.release(me);
        }
        true
    }

    /// Remembers or locks, before it is unlinked, that a version of the transaction's own has found its keys free, in the first
    /// `linked` indexes.
    pub fn track_free_keys(&mut self, table: &VersionTable<Words>, own: VersionRef<'_, Words>, linked: usize) {
        for index in table.indexes()[..linked].iter().filter(|index| index.excludes(own.row())) {
            let scan = || Scan::prefix(table.id(), index.reference(), index.columns_of(own.row()));
            match self.tracks(table.id()) {
                Tracks::Remembers(Extent::Absence) => self.reads.walk(Walk::Range(scan())),
                Tracks::Locks(Extent::Absence) => drop(self.lock_part(table, index, part_of(index, &scan()))),
                _ => {}
            }
        }
    }

    /// Reads the row with this key.
    ///
    /// # Errors
    /// That of locking it.
    #[inline]
    pub fn read<'g>(
        &mut self,
        (guard, table): Scene<'g>,
        key: &Key,
        read_time: Timestamp,
    ) -> Result<Option<VersionRef<'g, Words>>, Abort> {
        if let Tracks::Locks(extent) = self.tracks(table.id()) {
            let found = self.read_latest((guard, table), key, (extent, LockFor::Read))?;
            return Ok(found.map(|(version, _)| version));
        }
        let found = self.look.find(guard, table, key, read_time);
        match found {
            Some(version) => drop(self.track(table, version)?),
            None => self.remember_absence(table, key),
        }
        Ok(found)
    }

    /// Reads the row with this key to write it, and locks it. While it is locked it need not be remembered.
    ///
    /// # Errors
    /// [`Abort::WriteConflict`] if another transaction has changed the row, and has not committed, or has done so after the time of
    /// all of this one's reads.
    #[inline]
    pub fn read_to_write<'g>(
        &mut self,
        (guard, table): Scene<'g>,
        key: &Key,
        read_time: Timestamp,
    ) -> Result<Locked<'g>, Abort> {
        if let Tracks::Locks(extent) = self.tracks(table.id()) {
            return self.read_latest((guard, table), key, (extent, LockFor::Update));
        }
        let locked = match self.look.find(guard, table, key, read_time) {
            Some(version) => self.lock_latest((guard, table), version, (LockFor::Update, read_time))?,
            None => None,
        };
        if locked.is_none() {
            self.remember_absence(table, key);
        }
        Ok(locked)
    }

    /// Remembers that no row with this key was there.
    fn remember_absence(&mut self, table: &VersionTable<Words>, key: &Key) {
        if self.tracks(table.id()) == Tracks::Remembers(Extent::Absence) {
            self.reads.walk(Walk::Key(table.id(), key.clone()));
        }
    }

    /// Locks the latest version of a row that was read at `read_time`. None if that was deleted, which only read committed goes on from.
    ///
    /// # Errors
    /// [`Abort::WriteConflict`] if another transaction has changed the row, and has not committed, or has done so after the time of
    /// all of this one's reads.
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

    /// Visits the rows of the next part of a scan, and remembers or locks them; at its end, how far it came. It may take long, so while a row is visited
    /// the slot says that the transaction reads at one time. A transaction that has no time for all of its reads draws the next one as
    /// [`Look::move_on`] does.
    pub fn scan<'g>(
        &mut self,
        (guard, table): Scene<'g>,
        Scanning { scan, read_time, course, locking }: &mut Scanning<'_>,
        changes: &mut Changes,
        visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        let (scan, read_time) = (*scan, *read_time);
        if let Tracks::Locks(extent) = self.tracks(table.id()) {
            let locking = locking.get_or_insert_with(|| self.begin_locking(table, scan, extent));
            return self.scan_latest((guard, table), locking, course, changes, visit);
        }
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

/// A scan at work, between two of its parts.
pub(super) struct Scanning<'s> {
    scan: &'s Scan,
    read_time: Timestamp,
    pub course: Course,
    /// Of one that locks what it reads.
    locking: Option<Locking<'s>>,
}

impl<'s> Scanning<'s> {
    pub fn new(scan: &'s Scan, read_time: Timestamp) -> Self {
        Self { scan, read_time, course: Course::default(), locking: None }
    }
}
