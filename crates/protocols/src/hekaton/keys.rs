//! Keeping a key: its row is to be there until the transaction's end, and may change (`FOR KEY SHARE` in PostgreSQL's
//! words).
//!
//! A transaction that reads the latest notes at the index that it [keeps](super::index_locks::Part::Kept) the key, and
//! looks for the row after that. If the row is about to be replaced, its key has a newer version already, and nothing
//! is to be done: a deletion of that version looks for the transactions that keep the key. If the row may be about to
//! be deleted, the deleting transaction is made to end later.
//!
//! **Invariants** of the keepers that read the latest
//!
//! 1. A keeper notes the key before it reads a word, and a deletion has the write lock before it looks for keepers.
//!    Between the two each of them has a SeqCst fence. So the keeper meets the write lock, or the deletion meets the
//!    keeper.
//! 2. A keeper that meets an active writer's lock lets the row be if the writer has made a newer version that no
//!    transaction ends, or that a third one has locked. The third one has come after the writer's end timestamp, so it
//!    looks for keepers after the key was noted. A newer version that the writer deletes says so by the writer in its
//!    End word; once the writer has committed, by a time. The two words are not read at once: Begin may name the writer
//!    still, and End be that time. So a time in End is never a row that stays: the keeper looks again, and the writer
//!    is not active any more.
//! 3. A newer version that is not the replacement of another one, but the row of an insert after a deletion, may be
//!    taken back alone: the insert fails at another index, or the writer goes back to a savepoint between the two. Then
//!    the row is deleted once more. So the writer looks for keepers once more, after the version has said that it never
//!    was. A keeper that comes later meets the deletion's lock.
//!
//! A transaction that reads as of one time remembers the key, and at its end looks whether there is a row with it then.

use super::clock::Timestamp;
use super::database::Scene;
use super::index_locks::{self, Part};
use super::look::Look;
use super::reader::{Reader, Tracks};
use super::status::State;
use super::txn_id::TxnId;
use super::visibility::{BeginWord, EndWord, Owner};
use super::wait_for::Imposed;
use super::words::Words;
use hotrow_storage::{IndexRef, Key, VersionRef};
use hotrow_sync::atomic::{Ordering, fence};
use hotrow_txn::Abort;

/// The fate of a row that a writer has locked, as far as a transaction that wants to keep its key can tell.
enum Fate {
    /// The key stays: the old version is not replaced, or a newer version has the same key.
    Stays,
    /// The row may be deleted if this transaction commits.
    Depends(TxnId),
    /// The writer is not active any more, so the words of the version must be read again.
    Decided,
}

impl Reader {
    /// Returns whether there is a row with this primary key. If there is one, no transaction deletes it before this
    /// transaction has ended, but its other columns may change.
    ///
    /// # Errors
    /// [`Abort::Conflict`] if the transaction that is about to delete the row takes on no more waits, and the error of
    /// locking the absence of the row.
    pub fn keep_key(&mut self, scene: Scene<'_>, key: &Key, read_time: Timestamp) -> Result<bool, Abort> {
        let (guard, table) = scene;
        if self.fixed.is_some() {
            let Some(version) = self.look.find(guard, table, key, read_time) else {
                return self.read_held(scene, key, read_time);
            };
            if version.header().begin() != super::words::Begin::By(self.look.me) {
                self.reads.key(table.id(), key.clone());
            }
            return Ok(true);
        }
        if !self.owned.contains(&table.id()) {
            self.lock_part(table, table.primary(), Part::Kept(key.hash64()));
        }
        loop {
            let now = self.look.shared.clock.now();
            let Some(version) = self.look.find(guard, table, key, now) else {
                return self.read_held(scene, key, now);
            };
            let writer = match self.look.fate(scene, key, version) {
                Fate::Stays => return Ok(true),
                Fate::Decided => continue,
                Fate::Depends(writer) => writer,
            };
            let transactions = &self.look.shared.transactions;
            match transactions.hold_back(self.look.me, writer, (table.id(), IndexRef::Primary)) {
                Imposed::Done => return Ok(true),
                Imposed::Ended => {}
                Imposed::Shut => {
                    self.look.note_conflict(table, table.primary(), version, Some(writer));
                    return Err(Abort::Conflict);
                }
            }
        }
    }

    /// Reads a key under which no row was found, so that the row stays absent.
    fn read_held(&mut self, scene: Scene<'_>, key: &Key, read_time: Timestamp) -> Result<bool, Abort> {
        let before: Tracks = self.tracks;
        self.hold(true);
        let found = self.read(scene, key, read_time).map(|version| version.is_some());
        self.tracks = before;
        found
    }
}

impl Reader {
    /// If the transaction has deleted the row of a version, makes it end after the transactions that
    /// [keep](Self::keep_key) the row's key. The transaction has the version's write lock.
    ///
    /// # Errors
    /// [`Abort::Conflict`] if the transaction can wait for no more transactions.
    pub fn end_after_keepers(&self, (guard, table): Scene<'_>, version: VersionRef<'_, Words>) -> Result<(), Abort> {
        // SeqCst: the write lock, or the end of an insert that is taken back, comes before the look for keepers, as
        // those note the key before they look for locks.
        fence(Ordering::SeqCst);
        let (transactions, me) = (&self.look.shared.transactions, self.look.me);
        let keepers = index_locks::keepers(table.primary(), || table.primary().columns_of(version.row()).hash64());
        if keepers.is_empty() || !self.look.has_deleted((guard, table), version) {
            return Ok(());
        }
        for keeper in keepers.into_iter().filter(|&keeper| keeper != me) {
            transactions.wait_behind(me, keeper, (table.id(), IndexRef::Primary))?;
        }
        Ok(())
    }
}

impl Look {
    /// Returns the fate of a row of which the transaction sees this version.
    fn fate(&self, (guard, table): Scene<'_>, key: &Key, version: VersionRef<'_, Words>) -> Fate {
        let writer = match self.end_of(version) {
            EndWord::Nobody | EndWord::Kept | EndWord::By(Owner::Me | Owner::Other(_, State::Aborted)) => {
                return Fate::Stays;
            }
            EndWord::By(Owner::Other(writer, State::Active)) => writer,
            EndWord::At(_) | EndWord::By(Owner::Other(..)) => return Fate::Decided,
        };
        let is_its_last = |newer: &VersionRef<'_, Words>| {
            let is_writers = |owner| matches!(owner, Owner::Other(id, _) if id == writer);
            let begins = matches!(self.begin_of(*newer), BeginWord::By(owner) if is_writers(owner));
            begins
                && match self.end_of(*newer) {
                    EndWord::Nobody | EndWord::Kept => true,
                    EndWord::By(owner) => !is_writers(owner),
                    // The writer has committed since Begin was read: invariant 2.
                    EndWord::At(_) => false,
                }
        };
        let is_replaced = table.primary().equal(guard, key, key.hash64()).any(|newer| is_its_last(&newer));
        if is_replaced { Fate::Stays } else { Fate::Depends(writer) }
    }

    /// Whether the transaction has deleted the row with the key of a version, and has not inserted another one since.
    fn has_deleted(&self, (guard, table): Scene<'_>, version: VersionRef<'_, Words>) -> bool {
        let index = table.primary();
        let key = index.columns_of(version.row());
        let (mut ends, mut is_there) = (false, false);
        for version in index.equal(guard, &key, key.hash64()) {
            let is_ended = self.end_of(version) == EndWord::By(Owner::Me);
            ends |= is_ended;
            is_there |= !is_ended && self.begin_of(version) == BeginWord::By(Owner::Me);
        }
        ends && !is_there
    }
}
