//! The changes of a transaction in their order (WriteSet, §3), which are undone, or made known at its end.
//!
//! `write` makes the changes, and undoes those since a savepoint.

use super::clock::Timestamp;
use super::database::{Database, Scene};
use super::garbage::{Ended, Sweeper, life};
use super::look::{Lock, Look, place};
use super::queues::Place;
use super::read_set::KEPT;
use super::record;
use super::record_locks;
use super::txn_id::TxnId;
use super::words::Words;
use crate::shared::hashed::HashSet;
use hotrow_storage::{Change as Redo, Garbage, Guard, TableId, VersionMemory, VersionPtr, VersionRef};

/// A change of one row, which can be undone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub table: TableId,
    /// The version that is replaced or deleted, or only locked. The transaction has its write lock.
    pub old: Option<VersionPtr<Words>>,
    /// The version that replaces `old`, or is inserted.
    pub new: Option<VersionPtr<Words>>,
    /// The number of indexes into which `new` is linked.
    pub linked: usize,
    /// Whether the transaction had the lock before the change.
    pub was_kept: bool,
    /// Whether nothing was changed: the row is locked for an update that may come.
    pub locks_only: bool,
}

/// The changes of a transaction, in their order.
#[derive(Default)]
pub(super) struct WriteSet {
    pub log: Vec<Change>,
    /// The memory in which new versions are allocated.
    pub memory: VersionMemory,
}

impl Change {
    /// Undoes the insertion of the change's new version: marks the version as never visible, and unlinks it. The memory
    /// is appended to `garbage`.
    pub fn throw_away(self, (guard, table): Scene<'_>, garbage: &mut Vec<Garbage>) {
        if let Some(new) = self.new {
            record::words(new, guard).set_begin(Timestamp::INFINITY);
            table.unlink(guard, record::deref(new, guard, table), self.linked, garbage);
            garbage.push(record::garbage(table, vec![new]));
        }
    }
}

impl WriteSet {
    pub fn len(&self) -> usize {
        self.log.len()
    }

    /// Whether the transaction has changed nothing: the write set has at most write locks.
    pub fn is_empty(&self) -> bool {
        self.log.iter().all(|change| change.locks_only)
    }

    /// Notes a write lock that the transaction has just acquired and that no change follows yet. A lock that it has
    /// held before is noted already.
    pub fn keep(&mut self, look: &mut Look, table: TableId, version: VersionRef<'_, Words>, lock: Lock) {
        if lock == Lock::Taken {
            look.kept.insert(version.ptr());
            let old = Some(version.ptr());
            self.log.push(Change { table, old, new: None, linked: 0, was_kept: false, locks_only: true });
        }
    }

    /// Notes that the transaction deletes a version, or is about to replace it. The transaction has the version's write
    /// lock.
    pub fn end(&mut self, look: &mut Look, table: TableId, version: VersionRef<'_, Words>, lock: Lock) {
        let was_kept = lock == Lock::Kept;
        if was_kept {
            look.kept.remove(&version.ptr());
        }
        let old = Some(version.ptr());
        self.log.push(Change { table, old, new: None, linked: 0, was_kept, locks_only: false });
    }

    /// Returns the places of all keys that the changes since a savepoint lock or take.
    pub fn places_since(&self, database: &Database, guard: Guard<'_>, to: usize) -> Vec<Place> {
        let mut places = Vec::new();
        for change in self.log.iter().skip(to) {
            let Some(table) = database.table(guard, change.table) else { continue };
            for version in [change.old, change.new].into_iter().flatten() {
                let version = record::deref(version, guard, table);
                places.extend(table.indexes().iter().map(|index| place(table, index, version)));
            }
        }
        places
    }

    /// Undoes all changes, the last one first.
    pub fn undo(&mut self, look: &mut Look, database: &Database, guard: Guard<'_>, garbage: &mut Vec<Garbage>) {
        look.kept.clear();
        while let Some(change) = self.log.pop() {
            // What a dropped table had went with it.
            let Some(table) = database.table(guard, change.table) else { continue };
            if let Some(old) = change.old.filter(|_| !change.was_kept) {
                record_locks::release_write(record::words(old, guard), look.me);
            }
            change.throw_away((guard, table), garbage);
        }
    }

    /// Closes the versions that the transaction is about to replace to new read locks, if they have readers.
    pub fn close_to_readers(&self, me: TxnId, database: &Database, guard: Guard<'_>) {
        for change in self.log.iter().filter(|change| database.table(guard, change.table).is_some()) {
            change.old.inspect(|&old| record_locks::close_to_readers(record::words(old, guard), me));
        }
    }

    /// Removes the write locks that no change followed. For each of them `end` is called, which releases the lock or
    /// turns it into a read lock.
    ///
    /// The caller calls this before it wants an end timestamp: afterwards other transactions would take such a lock for
    /// an update, and look for what replaces the version.
    pub fn end_kept(
        &mut self,
        look: &mut Look,
        database: &Database,
        guard: Guard<'_>,
        mut end: impl FnMut(TableId, VersionPtr<Words>, &Words),
    ) {
        for change in self.log.iter_mut() {
            change.was_kept = false;
            let kept = change.old.filter(|old| change.locks_only && look.kept.remove(old));
            if let Some(old) = kept.filter(|_| database.table(guard, change.table).is_some()) {
                end(change.table, old, record::words(old, guard));
            }
        }
        self.log.retain(|change| !change.locks_only);
    }

    /// Returns the changes for the redo log: each changed row once, in its last state.
    pub fn redo<'g>(&self, database: &'g Database, guard: Guard<'g>) -> Vec<Redo<'g>> {
        let mut seen = HashSet::default();
        let mut changes = Vec::new();
        // The last change of a row is the one that counts.
        for change in self.log.iter().rev().filter(|change| !change.locks_only) {
            let Some(table) = database.table(guard, change.table) else { continue };
            if database.redo_of(table).is_none() {
                continue;
            }
            let Some(version) = change.new.or(change.old) else { continue };
            let version = record::deref(version, guard, table);
            if !seen.insert((change.table, table.key_of(version.row()))) {
                continue;
            }
            changes.push(match change.new {
                Some(_) => Redo::Put { table: change.table, row: version.row() },
                None => Redo::Delete { table: change.table, key: table.key_of(version.row()) },
            });
        }
        changes
    }

    /// Writes the end timestamp into the words of all changed versions (§2.4, Postprocessing phase), and queues the
    /// versions that have ended.
    pub fn finish(&mut self, database: &Database, guard: Guard<'_>, time: Timestamp, sweeper: &mut Sweeper) {
        // First all Begin words, so that a version that the transaction replaced itself says when it began.
        for change in &self.log {
            if let Some(new) = change.new.filter(|_| database.table(guard, change.table).is_some()) {
                record::words(new, guard).set_begin(time);
            }
        }
        for change in self.log.drain(..).filter(|change| !change.locks_only) {
            let Some(table) = database.table(guard, change.table) else { continue };
            if let Some(version) = change.old {
                let words = record::words(version, guard);
                words.set_end(time);
                let life = life(words.begin(), time, change.new.is_none());
                sweeper.push(Ended { table: change.table, version, life });
            }
            match (change.old, change.new) {
                (None, Some(_)) => table.count_rows(1),
                (Some(_), None) => table.count_rows(-1),
                _ => {}
            }
        }
        self.log.shrink_to(KEPT);
    }
}
