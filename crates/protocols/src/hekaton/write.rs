//! Writing: new versions are made and linked into the indexes, and changes are undone back to a savepoint.

use super::database::{Database, Scene};
use super::index_locks;
use super::reader::{Extent, Reader, Tracks};
use super::record;
use super::scan::{Walk, part_of};
use super::words::Words;
use super::write_set::{Change, WriteSet};
use hotrow_storage::{Garbage, Guard, IndexRef, RowMut, RowRef, VersionRef, VersionTable};
use hotrow_sync::atomic::{Ordering, fence};
use hotrow_txn::{Abort, Scan};
use smallvec::SmallVec;

/// The outcome of linking a new version.
#[derive(Debug)]
pub(super) enum Linked {
    Done,
    /// Another version has the new version's key in this index.
    Duplicate(IndexRef),
}

impl WriteSet {
    /// Makes a new version in place of the one that was [ended](Self::end) last, and links it.
    ///
    /// # Errors
    /// The error of `change`, or of looking for duplicates. The changes made so far are in the write set.
    pub fn replace<'g>(
        &mut self,
        reader: &mut Reader,
        (guard, table): Scene<'g>,
        old: VersionRef<'g, Words>,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Linked, Abort> {
        let words = Words::made_by(reader.look.me);
        let (draft, ()) = table.draft_of(&mut self.memory, words, old.row(), change)?;
        let new = draft.publish(guard);
        self.log.last_mut().expect("the version was ended").new = Some(new.ptr());
        self.link(reader, (guard, table), new, Some(old))
    }

    /// Makes the first version of a new row, and links it.
    pub fn insert<'g>(
        &mut self,
        reader: &mut Reader,
        (guard, table): Scene<'g>,
        row: RowRef<'_>,
    ) -> Result<Linked, Abort> {
        let new = table.draft(&mut self.memory, Words::made_by(reader.look.me), row).publish(guard);
        let (table_id, new_ptr) = (table.id(), Some(new.ptr()));
        let change = Change { table: table_id, old: None, new: new_ptr, linked: 0, was_kept: false, locks_only: false };
        self.log.push(change);
        self.link(reader, (guard, table), new, None)
    }

    /// Links the version that the last change has made into all indexes.
    fn link<'g>(
        &mut self,
        reader: &mut Reader,
        (guard, table): Scene<'g>,
        new: VersionRef<'g, Words>,
        old: Option<VersionRef<'g, Words>>,
    ) -> Result<Linked, Abort> {
        for index in table.indexes() {
            let near = old.filter(|old| index.has_same_key(old.row(), new.row()));
            table.link(guard, index.position(), new, near);
            self.log.last_mut().expect("the change is in the log").linked = index.position() + 1;
            if near.is_some() {
                // A transaction that must not meet it has a lock on the version that it replaces, or waits for that
                // version's maker.
                continue;
            }
            // SeqCst: of two transactions that link and then look for each other's version, the one whose fence is
            // the later one sees the other's version. The same holds of one that links and looks for locks, and one
            // that locks and looks for versions.
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

    /// Undoes the changes from position `to` on, in a rollback to a savepoint. The changes imply reads: of the rows
    /// that they replaced or deleted, and that the keys of the new versions were free. So far the write locks and new
    /// versions have kept these reads valid. So before each of these goes, its read is remembered or locked as the
    /// isolation level requires.
    ///
    /// # Errors
    /// [`Abort::Conflict`] if all is undone, but the transaction cannot wait for the transactions that keep a key whose
    /// row it has deleted.
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
            // The versions of a dropped table went with it.
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
            change.throw_away((guard, table), garbage);
        }
        self.log.extend(kept.into_iter().rev());
        // Transactions that keep the key of a row that was deleted before may have relied on the insert: invariant 3
        // of `keys`.
        for (table, new) in inserted {
            reader.end_after_keepers((guard, table), record::deref(new, guard, table))?;
        }
        Ok(())
    }
}

impl Reader {
    /// Remembers or locks, before a version of the transaction's own is unlinked, that the version has found its keys
    /// free in the first `linked` indexes.
    fn track_free_keys(&mut self, table: &VersionTable<Words>, own: VersionRef<'_, Words>, linked: usize) {
        for index in table.indexes()[..linked].iter().filter(|index| index.excludes(own.row())) {
            let scan = || Scan::prefix(table.id(), index.reference(), index.columns_of(own.row()));
            match self.tracks(table.id()) {
                Tracks::Remembers(Extent::Absence) => self.reads.walk(Walk::Range(scan())),
                Tracks::Locks(Extent::Absence) => drop(self.lock_part(table, index, part_of(index, &scan()))),
                _ => {}
            }
        }
    }
}
