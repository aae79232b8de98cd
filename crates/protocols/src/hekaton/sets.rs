//! What a transaction remembers: what it changed, what it read, and what it scanned (ReadSet, ScanSet and WriteSet, §3).

use super::clock::Timestamp;
use super::garbage::{Ended, Sweeper, life};
use super::index_locks;
use super::look::{Lock, Look, place};
use super::queues::Place;
use super::reader::{Reader, Scene};
use super::record;
use super::record_locks;
use super::scan::{self, Walk};
use super::transactions::TxnId;
use super::words::Words;
use hotrow_storage::{
    Change as Redo, Garbage, Guard, IndexRef, Key, RowMut, RowRef, TableId, Tables, VersionMemory, VersionPtr,
    VersionRef, VersionTable,
};
use hotrow_sync::atomic::{Ordering, fence};
use hotrow_txn::Abort;
use smallvec::SmallVec;
use std::collections::HashSet;
use std::ops::ControlFlow;

/// A database of versions.
pub(super) type Database = Tables<VersionTable<Words>>;

/// Room for so many entries is kept for the next transaction.
const KEPT: usize = 1024;

/// A step that can be undone.
#[derive(Clone, Copy, Debug)]
struct Change {
    table: TableId,
    /// The version that is replaced or deleted, or locked only: the transaction has its write lock.
    old: Option<VersionPtr<Words>>,
    /// What replaces it, or is inserted.
    new: Option<VersionPtr<Words>>,
    /// Into how many indexes that is linked.
    linked: usize,
    /// The lock was there before the change.
    was_kept: bool,
    /// Nothing was changed: the row is locked for an update that may come.
    locks_only: bool,
}

/// What came of linking a new version.
#[derive(Debug)]
pub(super) enum Linked {
    Done,
    /// Another version has its key in this index.
    Duplicate(IndexRef),
}

/// The changes of a transaction, in their order.
#[derive(Default)]
pub(super) struct Changes {
    log: Vec<Change>,
    memory: VersionMemory,
}

impl Changes {
    pub fn len(&self) -> usize {
        self.log.len()
    }

    /// Whether nothing but locks is in the log.
    pub fn is_empty(&self) -> bool {
        self.log.iter().all(|change| change.locks_only)
    }

    /// Notes a write lock without a change.
    pub fn keep(&mut self, look: &mut Look, table: TableId, version: VersionRef<'_, Words>, lock: Lock) {
        if lock == Lock::Taken {
            look.kept.insert(version.ptr());
            let old = Some(version.ptr());
            self.log.push(Change { table, old, new: None, linked: 0, was_kept: false, locks_only: true });
        }
    }

    /// Notes that a version whose write lock the transaction has is deleted, or about to be replaced.
    pub fn end(&mut self, look: &mut Look, table: TableId, version: VersionRef<'_, Words>, lock: Lock) {
        let was_kept = lock == Lock::Kept;
        if was_kept {
            look.kept.remove(&version.ptr());
        }
        let old = Some(version.ptr());
        self.log.push(Change { table, old, new: None, linked: 0, was_kept, locks_only: false });
    }

    /// Makes the transaction end after those that keep the key of a version, if it has deleted the row with that key. It has that one's write lock.
    ///
    /// # Errors
    /// [`Abort::Conflict`] if it can wait for no more.
    pub fn end_after_keepers(
        reader: &Reader,
        (guard, table): Scene<'_>,
        version: VersionRef<'_, Words>,
    ) -> Result<(), Abort> {
        // SeqCst: the write lock, or the end of an insert that is taken back, comes before the look for keepers, as those
        // note the key before they look for locks.
        fence(Ordering::SeqCst);
        let (transactions, me) = (&reader.look.shared.transactions, reader.look.me);
        let keepers = index_locks::keepers(table.primary(), || table.primary().columns_of(version.row()).hash64());
        if keepers.is_empty() || !reader.look.has_deleted((guard, table), version) {
            return Ok(());
        }
        for keeper in keepers.into_iter().filter(|&keeper| keeper != me) {
            transactions.wait_behind(me, keeper, (table.id(), IndexRef::Primary))?;
        }
        Ok(())
    }

    /// Replaces the version that was [ended](Self::end) last.
    ///
    /// # Errors
    /// That of `change`, or of looking for duplicates. What was done is in the log.
    pub fn replace<'g>(
        &mut self,
        reader: &mut Reader,
        (guard, table): (Guard<'g>, &'g VersionTable<Words>),
        old: VersionRef<'g, Words>,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Linked, Abort> {
        let words = Words::made_by(reader.look.me);
        let (draft, ()) = table.draft_of(&mut self.memory, words, old.row(), change)?;
        let new = draft.publish(guard);
        self.log.last_mut().expect("the version was ended").new = Some(new.ptr());
        self.link(reader, (guard, table), new, Some(old))
    }

    /// Makes the first version of a row.
    pub fn insert<'g>(
        &mut self,
        reader: &mut Reader,
        (guard, table): (Guard<'g>, &'g VersionTable<Words>),
        row: RowRef<'_>,
    ) -> Result<Linked, Abort> {
        let new = table.draft(&mut self.memory, Words::made_by(reader.look.me), row).publish(guard);
        let (table_id, new_ptr) = (table.id(), Some(new.ptr()));
        let change = Change { table: table_id, old: None, new: new_ptr, linked: 0, was_kept: false, locks_only: false };
        self.log.push(change);
        self.link(reader, (guard, table), new, None)
    }

    /// Links the version of the last change into all indexes.
    fn link<'g>(
        &mut self,
        reader: &mut Reader,
        (guard, table): (Guard<'g>, &'g VersionTable<Words>),
        new: VersionRef<'g, Words>,
        old: Option<VersionRef<'g, Words>>,
    ) -> Result<Linked, Abort> {
        for index in table.indexes() {
            let near = old.filter(|old| index.has_same_key(old.row(), new.row()));
            table.link(guard, index.position(), new, near);
            self.log.last_mut().expect("the change is in the log").linked = index.position() + 1;
            if near.is_some() {
                // Who must not meet it has a lock on the version that it replaces, or waits for that one's maker.
                continue;
            }
            // SeqCst: of two who link and then look for each other's version, the one whose fence is the later one sees the
            // other's; and so it is with one who links and looks for locks, and one who locks and looks for versions.
            fence(Ordering::SeqCst);
            let reference = index.reference();
            if index.excludes(new.row()) {
                while let Some(other) = reader.look.claim((guard, table), index, new, reader.fixed)? {
                    if reader.track(table, other)? {
                        return Ok(Linked::Duplicate(reference));
                    }
                }
                if !reader.look.turns.is_empty() {
                    reader.look.use_turn(table, index, new);
                }
            }
            let (transactions, me) = (&reader.look.shared.transactions, reader.look.me);
            for holder in index_locks::holders(index, new.row()).into_iter().filter(|&holder| holder != me) {
                transactions.wait_behind(me, holder, (table.id(), reference))?;
            }
        }
        Ok(Linked::Done)
    }

    /// Undoes all changes from the one at `to` on, of a transaction that goes on, and has read what they ended, and that the keys were
    /// free which they took. Until then their locks and versions keep that as it is.
    ///
    /// # Errors
    /// [`Abort::Conflict`] if all is undone, but the transaction cannot wait for those that keep a key whose row it has deleted.
    pub fn take_back(
        &mut self,
        reader: &mut Reader,
        database: &Database,
        guard: Guard<'_>,
        to: usize,
        garbage: &mut Vec<Garbage>,
    ) -> Result<(), Abort> {
        let (mut kept, mut inserted) = (Vec::new(), SmallVec::<[_; 1]>::new());
        while self.log.len() > to {
            let Some(change) = self.log.pop() else { break };
            change.old.inspect(|old| {
                reader.look.kept.remove(old);
            });
            // What a dropped table had went with it.
            let Some(table) = database.table(guard, change.table) else { continue };
            if let Some(new) = change.new {
                reader.track_free_keys(table, record::deref(new, guard, table), change.linked);
            }
            if let Some(old) = change.old {
                if change.was_kept {
                    reader.look.kept.insert(old);
                } else if !reader.give_back(table, record::deref(old, guard, table)) {
                    reader.look.kept.insert(old);
                    kept.push(Change { new: None, linked: 0, locks_only: true, ..change });
                }
            }
            inserted.extend(change.new.filter(|_| change.old.is_none()).map(|new| (table, new)));
            Self::throw_away(change, (guard, table), garbage);
        }
        self.log.extend(kept.into_iter().rev());
        // Those that keep the key of a row that was deleted before may have relied on the insert: invariant 3 of `keys`.
        for (table, new) in inserted {
            Self::end_after_keepers(reader, (guard, table), record::deref(new, guard, table))?;
        }
        Ok(())
    }

    /// The places at which the changes since a savepoint keep other writers off.
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

    /// Undoes everything, the last change first.
    pub fn undo(&mut self, look: &mut Look, database: &Database, guard: Guard<'_>, garbage: &mut Vec<Garbage>) {
        look.kept.clear();
        while let Some(change) = self.log.pop() {
            // What a dropped table had went with it.
            let Some(table) = database.table(guard, change.table) else { continue };
            if let Some(old) = change.old.filter(|_| !change.was_kept) {
                record_locks::release_write(record::words(old, guard), look.me);
            }
            Self::throw_away(change, (guard, table), garbage);
        }
    }

    /// Makes the version of a change that is undone one that never was.
    fn throw_away(change: Change, (guard, table): (Guard<'_>, &VersionTable<Words>), garbage: &mut Vec<Garbage>) {
        if let Some(new) = change.new {
            record::words(new, guard).set_begin(Timestamp::INFINITY);
            table.unlink(guard, record::deref(new, guard, table), change.linked, garbage);
            garbage.push(record::garbage(table, vec![new]));
        }
    }

    /// Lets nobody else read under locks what the transaction is about to replace, and has readers.
    pub fn close_to_readers(&self, me: TxnId, database: &Database, guard: Guard<'_>) {
        for change in self.log.iter().filter(|change| database.table(guard, change.table).is_some()) {
            change.old.inspect(|&old| record_locks::close_to_readers(record::words(old, guard), me));
        }
    }

    /// Gives up the write locks that no change followed; `keep` says what else is done about each.
    ///
    /// Before the end timestamp is wanted: afterwards others would take such a lock for an update, and look for what replaces the
    /// version.
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

    /// What a redo record says of the changes: the rows as they are left, each once.
    pub fn redo<'g>(&self, database: &'g Database, guard: Guard<'g>) -> Vec<Redo<'g>> {
        let mut told = HashSet::new();
        let mut changes = Vec::new();
        // The last change of a row is the one that counts.
        for change in self.log.iter().rev().filter(|change| !change.locks_only) {
            let Some(table) = database.table(guard, change.table) else { continue };
            let Some(version) = change.new.or(change.old) else { continue };
            let version = record::deref(version, guard, table);
            if !told.insert((change.table, table.key_of(version.row()))) {
                continue;
            }
            changes.push(match change.new {
                Some(_) => Redo::Put { table: change.table, row: version.row() },
                None => Redo::Delete { table: change.table, key: table.key_of(version.row()) },
            });
        }
        changes
    }

    /// Writes the end timestamp into all words (§2.4, Postprocessing phase), and queues what has ended.
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

/// What a transaction has read at its read time, and must find again at its end.
#[derive(Default)]
pub(super) struct Reads {
    rows: Vec<(TableId, VersionPtr<Words>)>,
    /// Keys that must have a row at the end, whatever version of it.
    keys: Vec<(TableId, Key)>,
    walks: Vec<Walk>,
}

impl Reads {
    pub fn clear(&mut self) {
        self.rows.clear();
        self.rows.shrink_to(KEPT);
        self.keys.clear();
        self.keys.shrink_to(KEPT);
        self.walks.clear();
        self.walks.shrink_to(KEPT);
    }

    pub fn row(&mut self, table: TableId, version: VersionRef<'_, Words>) {
        self.rows.push((table, version.ptr()));
    }

    pub fn key(&mut self, table: TableId, key: Key) {
        self.keys.push((table, key));
    }

    pub fn walk(&mut self, walk: Walk) {
        self.walks.push(walk);
    }

    /// Whether the transaction will look for versions at its end that it has not seen: where it read absence, or the presence of a key.
    pub fn has_walks(&self) -> bool {
        !self.walks.is_empty() || !self.keys.is_empty()
    }

    /// Whether all reads at `read_time` would be the same at `end_time` (§3.2).
    pub fn are_valid(
        &self,
        look: &mut Look,
        database: &Database,
        guard: Guard<'_>,
        (read_time, end_time): (Timestamp, Timestamp),
    ) -> bool {
        let rows = self.rows.iter().all(|&(table, version)| {
            // Nobody changes the rows of a table that is gone.
            database
                .table(guard, table)
                .is_none_or(|table| look.is_still_seen(record::deref(version, guard, table), end_time))
        });
        let keys = rows
            && self.keys.iter().all(|(id, key)| {
                // The caller keeps a table that it refers to.
                database.table(guard, *id).is_none_or(|table| look.has_row(guard, table, key, end_time))
            });
        keys && self.walks.iter().all(|walk| {
            let Some(table) = database.table(guard, walk.table()) else { return true };
            let mut is_valid = true;
            let walked = scan::walk(table, guard, walk, &mut |version, _| {
                is_valid = look.is_no_phantom(version, read_time, end_time) || !walk.admits(version);
                if is_valid { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            walked.is_ok() && is_valid
        })
    }
}
