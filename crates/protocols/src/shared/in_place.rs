//! Rows changed in place, with the log that undoes the changes or finishes them.
//!
//! **Who may call.** The transaction holds an exclusive lock on every row that it passes here (or is alone), and keeps
//! it until after [`InPlace::commit`] or [`InPlace::rollback_to`]. The locks that an index entry needs beside the row's
//! are asked of [`IndexLocks`].
//!
//! **Life of a record.** Inserting links a record at once, uncommitted; committing marks it committed. Deleting clears
//! its presence; committing unlinks it and retires it. So an index shows every key that some transaction may yet bring
//! back or take away, and a transaction that meets one waits for its lock. Entries of secondary indexes live the same
//! way: a change of an indexed column links the new entry at once and unlinks the stale one at commit.
//!
//! **Redo.** The state of each row that the transaction touched is handed over while those locks are held
//! ([`InPlace::hand_over`]). So of two transactions that changed the same row, the second one could touch it only after
//! the first had appended: the ends are in the order of the changes. A transaction that saw a row has waited for its
//! lock as well, and so appends later. This argument holds for every engine that has its rows changed here.
//!
//! **Invariants**
//!
//! 1. The log, read backwards, leads from the present state to each earlier one.
//! 2. A pointer in the log leads to a record or entry that only this transaction can unlink: it stays valid however
//!    often the participant leaves its epoch in between.
//! 3. Memory is retired only after it is unlinked.
//! 4. A step whose table was dropped meanwhile (DDL of the same transaction) has nothing left to undo or finish.

use super::record;
use hotrow_storage::{
    Change, Database, End, EntryPtr, EntryRef, Garbage, Guard, IndexId, IndexRef, Key, Participant, Position,
    RecordHeader, RecordPtr, RecordRef, RedoSink, Row, RowMut, RowRef, Table, TableId, Variable,
};
use hotrow_sync::Waiter;
use hotrow_txn::{Abort, Savepoint, Write};
use smallvec::SmallVec;
use std::ops::ControlFlow;

/// The locks that entries of an index need beside the lock on their row. Each method may wait, and fail.
pub trait IndexLocks<H: RecordHeader> {
    /// Whether the key of the row that is inserted had no record when the key was locked. A record that the key has got
    /// since is not locked.
    fn makes(&self) -> bool {
        false
    }

    /// Called when a record, made for a row whose key had none, is about to be linked. Returns whether other
    /// transactions may count requests at the record from then on. If so, a rollback leaves the record linked, without
    /// a row, and the protocol unlinks it when no request is counted there.
    fn linking(&mut self, _table: &Table<H>, _record: RecordRef<'_, H>) -> bool {
        false
    }

    /// Called when the record that [`linking`](Self::linking) announced is linked.
    fn linked(&mut self, _record: RecordRef<'_, H>) {}

    /// Returns the error with which an insert fails if another transaction has linked a record with the key meanwhile.
    /// The default panics: the lock on the key excludes this.
    fn outrun(&mut self) -> Abort {
        unreachable!("the key is locked, so nobody else links it")
    }

    /// Called when an index entry with this key is about to be linked.
    fn entering(&mut self, table: &Table<H>, guard: Guard<'_>, index: IndexRef, key: &Key) -> Result<(), Abort>;

    /// Called when the entry that [`entering`](Self::entering) announced is linked.
    fn entered(&mut self, table: &Table<H>, guard: Guard<'_>, index: IndexRef, key: &Key) -> Result<(), Abort>;

    /// Called when an index entry with this key becomes stale, so that a commit will unlink it.
    fn leaving(&mut self, table: &Table<H>, index: IndexRef, key: &Key) -> Result<(), Abort>;

    /// Called when a row with these columns of a unique index is about to be added or removed. From then on no other
    /// transaction may add or remove such a row.
    fn unique(&mut self, table: &Table<H>, index: IndexId, columns: &Key) -> Result<(), Abort>;
}

/// The index locks of a transaction that is alone: none at all.
pub(crate) struct Alone;

impl<H: RecordHeader> IndexLocks<H> for Alone {
    fn entering(&mut self, _: &Table<H>, _: Guard<'_>, _: IndexRef, _: &Key) -> Result<(), Abort> {
        Ok(())
    }

    fn entered(&mut self, _: &Table<H>, _: Guard<'_>, _: IndexRef, _: &Key) -> Result<(), Abort> {
        Ok(())
    }

    fn leaving(&mut self, _: &Table<H>, _: IndexRef, _: &Key) -> Result<(), Abort> {
        Ok(())
    }

    fn unique(&mut self, _: &Table<H>, _: IndexId, _: &Key) -> Result<(), Abort> {
        Ok(())
    }
}

/// The memory for images and steps that is kept from one transaction to the next.
const KEPT_BYTES: usize = 1 << 20;
const KEPT_STEPS: usize = 1 << 14;

/// The greatest number of steps of a transaction that retires rows, and of rows that are retired at once. Hot rows are
/// few, and each is looked for in the log.
const MOST_STEPS: usize = 256;
const MOST_RETIRED: usize = 4;

/// A step of a transaction's log.
enum Step<H> {
    /// A row was changed: its fixed part was `images[image..]`, its variable part `variable` if that was replaced.
    Changed { record: RecordPtr<H>, image: usize, variable: Option<Variable> },
    /// A row that the transaction had deleted was inserted again, over the deleted one.
    Revived { record: RecordPtr<H>, image: usize, variable: Variable },
    /// A record was linked.
    Inserted { record: RecordPtr<H> },
    /// A record was linked that others may count on.
    Made { record: RecordPtr<H> },
    /// A row was deleted.
    Deleted { record: RecordPtr<H> },
    /// An entry was linked.
    Linked { index: IndexId, entry: EntryPtr },
    /// The row that an entry leads to has other columns now, or is gone.
    Stale { index: IndexId, entry: EntryPtr },
    /// A change of a row was retired. Other code undoes it, if it must be undone.
    Retired,
}

impl<H> Step<H> {
    /// Returns the record whose row the step has changed, if it has changed one.
    fn record(&self) -> Option<RecordPtr<H>> {
        match self {
            Step::Changed { record, .. } | Step::Revived { record, .. } => Some(*record),
            Step::Inserted { record } | Step::Made { record } | Step::Deleted { record } => Some(*record),
            Step::Linked { .. } | Step::Stale { .. } | Step::Retired => None,
        }
    }
}

/// The undo log of one transaction's changes, with the memory that the changes have replaced.
pub struct InPlace<H> {
    log: Vec<(TableId, Step<H>)>,
    /// The fixed parts of rows as they were before changes, one after the other.
    images: Vec<u8>,
    garbage: Vec<Garbage>,
    /// The retired rows as the transaction left them, if there is a sink for them.
    retired: Vec<(TableId, RecordPtr<H>, Row)>,
}

/// A changed row whose lock is released before the commit: its table, its record, and the row as it was before the
/// transaction.
pub(crate) type Retiring<H> = (TableId, RecordPtr<H>, Row);

impl<H> Default for InPlace<H> {
    fn default() -> Self {
        Self { log: Vec::new(), images: Vec::new(), garbage: Vec::new(), retired: Vec::new() }
    }
}

impl<H: RecordHeader> InPlace<H> {
    /// Whether the transaction has changed nothing.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.log.is_empty()
    }

    /// Returns a savepoint of the present state.
    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint(self.log.len())
    }

    /// Changes a present row, and its entries in those indexes whose columns change.
    #[inline]
    pub(crate) fn update(
        &mut self,
        database: &Database<H>,
        guard: Guard<'_>,
        table: &Table<H>,
        record: RecordRef<'_, H>,
        locks: &mut impl IndexLocks<H>,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        if table.secondary().is_empty() {
            return self.change(table, record, change).map(|()| Write::Done);
        }
        let start = self.savepoint();
        self.change(table, record, change)?;
        for position in 0..table.secondary().len() {
            let index = IndexId(position as u16);
            let Some(old) = self.changed_columns(start, table, index, record) else { continue };
            self.leave_index(guard, table, index, &old, record, locks)?;
            if !self.enter_index(guard, table, index, record, locks)? {
                self.rollback_to(database, guard, start);
                return Ok(Write::Duplicate(IndexRef::Secondary(index)));
            }
        }
        Ok(Write::Done)
    }

    #[inline]
    fn change(
        &mut self,
        table: &Table<H>,
        record: RecordRef<'_, H>,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        let image = self.save_image(record);
        // Before the call: should it panic, `abort` finds the image.
        self.log.push((table.id(), Step::Changed { record: record.ptr(), image, variable: None }));
        let (result, replaced) = record::change(record, change);
        if result.is_err() {
            self.log.pop();
            let failed = record::restore(record, &self.images[image..], replaced);
            self.discard(failed);
            self.images.truncate(image);
            return result;
        }
        debug_assert!(record.has_key(&table.key_of(record::row(record))), "an update changed the primary key");
        if let Some((_, Step::Changed { variable, .. })) = self.log.last_mut() {
            *variable = replaced;
        }
        Ok(())
    }

    /// Returns the key that an index's columns made before the change that was the step after `before`. Returns `None`
    /// if they make the same key now.
    #[inline]
    fn changed_columns(
        &self,
        before: Savepoint,
        table: &Table<H>,
        index: IndexId,
        record: RecordRef<'_, H>,
    ) -> Option<Key> {
        let (_, Step::Changed { image, variable, .. }) = self.log.get(before.0)? else { return None };
        let now = record::row(record);
        let fixed = &self.images[*image..*image + now.fixed().len()];
        let old = RowRef::new(now.layout(), fixed, variable.as_ref().map_or(now.variable(), Variable::bytes));
        let index = table.secondary_index(index);
        if index.has_same_columns(old, now) {
            return None;
        }
        Some(index.key_of(old)).filter(|key| *key != index.key_of(now))
    }

    /// Inserts a row whose key is `key`. The caller has locked the name of the key, whether or not a record has it.
    pub(crate) fn insert(
        &mut self,
        database: &Database<H>,
        guard: Guard<'_>,
        table: &Table<H>,
        (key, hash): (&Key, u64),
        row: RowRef<'_>,
        locks: &mut impl IndexLocks<H>,
    ) -> Result<Write, Abort> {
        let start = self.savepoint();
        let found = table.find(guard, key, hash);
        let record = match found {
            Some(record) if record.is_present() => return Ok(Write::Duplicate(IndexRef::Primary)),
            Some(_) if locks.makes() => return Err(locks.outrun()),
            Some(record) => {
                self.revive(table, record, row);
                record
            }
            None => {
                locks.entering(table, guard, IndexRef::Primary, key)?;
                let record = table.create(guard, key, row);
                let pointer = record.ptr();
                let stays = locks.linking(table, record);
                if table.link(guard, key, hash, record).is_err() {
                    drop(table.garbage(record));
                    return Err(locks.outrun());
                }
                let step = if stays { Step::Made { record: pointer } } else { Step::Inserted { record: pointer } };
                self.log.push((table.id(), step));
                locks.linked(record);
                locks.entered(table, guard, IndexRef::Primary, key)?;
                record
            }
        };
        record.set_present(true);
        for position in 0..table.secondary().len() {
            let index = IndexId(position as u16);
            if !self.enter_index(guard, table, index, record, locks)? {
                self.rollback_to(database, guard, start);
                return Ok(Write::Duplicate(IndexRef::Secondary(index)));
            }
        }
        Ok(Write::Done)
    }

    fn revive(&mut self, table: &Table<H>, record: RecordRef<'_, H>, row: RowRef<'_>) {
        let image = self.save_image(record);
        let variable = record::replace(record, row);
        self.log.push((table.id(), Step::Revived { record: record.ptr(), image, variable }));
    }

    /// Deletes a present row.
    pub(crate) fn delete(
        &mut self,
        guard: Guard<'_>,
        table: &Table<H>,
        record: RecordRef<'_, H>,
        locks: &mut impl IndexLocks<H>,
    ) -> Result<(), Abort> {
        locks.leaving(table, IndexRef::Primary, &record.key())?;
        for (position, index) in table.secondary().iter().enumerate() {
            let columns = index.key_of(record::row(record));
            self.leave_index(guard, table, IndexId(position as u16), &columns, record, locks)?;
        }
        record.set_present(false);
        self.log.push((table.id(), Step::Deleted { record: record.ptr() }));
        Ok(())
    }

    /// Links the index entry for the row's columns. Returns `false` if another row has these columns and the index is
    /// unique.
    fn enter_index(
        &mut self,
        guard: Guard<'_>,
        table: &Table<H>,
        id: IndexId,
        record: RecordRef<'_, H>,
        locks: &mut impl IndexLocks<H>,
    ) -> Result<bool, Abort> {
        let index = table.secondary_index(id);
        let row = record::row(record);
        let columns = index.key_of(row);
        if index.excludes(row) {
            locks.unique(table, id, &columns)?;
            if self.is_taken(guard, table, id, &columns, record) {
                return Ok(false);
            }
        }
        let key = record.key();
        if index.find(guard, &columns, &key, record.ptr()).is_some() {
            // The transaction's own stale entry, which is right again: commit will see that and leave it.
            return Ok(true);
        }
        let full = index.full_key(&columns, &key);
        locks.entering(table, guard, IndexRef::Secondary(id), &full)?;
        let entry = index.link(guard, columns, &key, record.ptr());
        self.log.push((table.id(), Step::Linked { index: id, entry: entry.ptr() }));
        locks.entered(table, guard, IndexRef::Secondary(id), &full)?;
        Ok(true)
    }

    /// Whether a present row other than `record` has `columns` in a unique index. The caller has locked the name of the
    /// columns.
    fn is_taken(
        &self,
        guard: Guard<'_>,
        table: &Table<H>,
        id: IndexId,
        columns: &Key,
        record: RecordRef<'_, H>,
    ) -> bool {
        let mut taken = false;
        table.secondary_index(id).equal(guard, columns, |entry| {
            let other = entry.record() != record.ptr();
            taken = other
                && record::deref(entry.record(), guard, table).is_present()
                && !self.is_stale(guard, table, id, entry);
            if taken { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        taken
    }

    /// Whether this transaction has marked the entry as stale, and has not made it right again since.
    fn is_stale(&self, guard: Guard<'_>, table: &Table<H>, id: IndexId, entry: EntryRef<'_, H>) -> bool {
        // Backwards: what is asked about was marked a moment ago, if at all.
        let mut steps = self.log.iter().rev().filter(|(of, _)| *of == table.id());
        let marked = steps.any(
            |(_, step)| matches!(step, Step::Stale { index, entry: stale } if *index == id && *stale == entry.ptr()),
        );
        marked && !self.is_right(guard, table, id, entry)
    }

    /// Whether an entry that this transaction has marked as stale leads to a row that has the entry's columns again.
    fn is_right(&self, guard: Guard<'_>, table: &Table<H>, id: IndexId, entry: EntryRef<'_, H>) -> bool {
        let record = record::deref(entry.record(), guard, table);
        record.is_present() && entry.has_columns(&table.secondary_index(id).key_of(record::row(record)))
    }

    /// Marks the entry from `columns` to `record` as stale.
    fn leave_index(
        &mut self,
        guard: Guard<'_>,
        table: &Table<H>,
        id: IndexId,
        columns: &Key,
        record: RecordRef<'_, H>,
        locks: &mut impl IndexLocks<H>,
    ) -> Result<(), Abort> {
        let index = table.secondary_index(id);
        let Some(entry) = index.find(guard, columns, &record.key(), record.ptr()) else { return Ok(()) };
        if index.is_exclusive() {
            locks.unique(table, id, columns)?;
        }
        locks.leaving(table, IndexRef::Secondary(id), entry.full_key())?;
        self.log.push((table.id(), Step::Stale { index: id, entry: entry.ptr() }));
        Ok(())
    }

    /// Hands the rows that the transaction has changed to the database's redo sink, if there is one. Returns the log
    /// position that must be durable before the commit is reported. The transaction waits for that after its locks are
    /// released. The caller calls this before [`commit`](Self::commit).
    #[inline]
    pub(crate) fn hand_over(&self, database: &Database<H>, guard: Guard<'_>, waiter: &Waiter) -> Option<Position> {
        database.redo().map(|sink| self.append_to(sink, database, guard, waiter))
    }

    #[cold]
    fn append_to(&self, sink: &dyn RedoSink, database: &Database<H>, guard: Guard<'_>, waiter: &Waiter) -> Position {
        if self.is_empty() {
            return sink.appended();
        }
        let records = self.log.iter().filter_map(|(table, step)| Some((*table, step.record()?)));
        let mut changed: Vec<_> = records.collect();
        changed.sort_unstable();
        changed.dedup();
        changed.retain(|&(id, _)| database.table(guard, id).is_some_and(|table| database.redo_of(table).is_some()));
        if changed.is_empty() && self.retired.is_empty() {
            return sink.appended();
        }
        let is_last = |record| changed.iter().all(|&(_, changed)| changed != record);
        let retired = self.retired.iter().filter(|&&(_, record, _)| is_last(record));
        let retired = retired.map(|(table, _, row)| Change::Put { table: *table, row: row.as_ref() });
        let changes = changed.iter().filter_map(|&(id, record)| {
            let record = record::deref(record, guard, database.table(guard, id)?);
            Some(match record.is_present() {
                true => Change::Put { table: id, row: record::row(record) },
                false => Change::Delete { table: id, key: record.key() },
            })
        });
        sink.append(End::Next, &mut retired.chain(changes), waiter)
    }

    /// Makes the changes final. The caller releases the locks after this. Deleted records for which `keeps` returns
    /// true stay linked, without a row, because a request is counted there. The caller unlinks them later.
    pub(crate) fn commit(
        &mut self,
        database: &Database<H>,
        participant: &mut Participant,
        keeps: impl Fn(TableId, RecordPtr<H>) -> bool,
    ) {
        self.finish(database, participant.guard(), keeps);
        self.images.clear();
        self.retired.clear();
        self.reclaim(participant);
    }

    #[inline]
    fn finish(&mut self, database: &Database<H>, guard: Guard<'_>, keeps: impl Fn(TableId, RecordPtr<H>) -> bool) {
        let mut deleted = Vec::new();
        let mut stale = Vec::new();
        let mut log = std::mem::take(&mut self.log);
        for (id, step) in log.drain(..) {
            let Some(table) = database.table(guard, id) else { continue };
            match step {
                Step::Changed { variable, .. } => self.discard(variable),
                Step::Revived { variable, .. } => self.discard(Some(variable)),
                Step::Inserted { record } | Step::Made { record } => {
                    record::deref(record, guard, table).set_committed()
                }
                Step::Deleted { record } if !keeps(id, record) => deleted.push((id, record)),
                Step::Deleted { .. } => {}
                Step::Linked { index, entry } => {
                    record::entry(entry, guard, table.secondary_index(index)).set_committed()
                }
                Step::Stale { index, entry } => stale.push((id, index, entry)),
                Step::Retired => {}
            }
        }
        self.log = log;
        stale.sort_unstable_by_key(|&(.., entry)| entry);
        stale.dedup_by_key(|&mut (.., entry)| entry);
        for (id, index, entry) in stale {
            let Some(table) = database.table(guard, id) else { continue };
            let entry = record::entry(entry, guard, table.secondary_index(index));
            if !self.is_right(guard, table, index, entry) {
                self.garbage.push(table.secondary_index(index).unlink(guard, entry));
            }
        }
        deleted.sort_unstable_by_key(|&(_, record)| record);
        deleted.dedup_by_key(|&mut (_, record)| record);
        for (id, record) in deleted {
            let Some(table) = database.table(guard, id) else { continue };
            let record = record::deref(record, guard, table);
            if !record.is_present() {
                table.unlink(guard, record);
                self.garbage.push(table.garbage(record));
            }
        }
    }

    /// Undoes all changes. The caller releases the locks after this.
    pub(crate) fn abort(&mut self, database: &Database<H>, participant: &mut Participant) {
        self.rollback_to(database, participant.guard(), Savepoint(0));
        self.retired.clear();
        self.reclaim(participant);
    }

    /// Undoes all changes since `savepoint`.
    pub(crate) fn rollback_to(&mut self, database: &Database<H>, guard: Guard<'_>, savepoint: Savepoint) {
        while self.log.len() > savepoint.0 {
            let (id, step) = self.log.pop().expect("the log is longer than the savepoint");
            let Some(table) = database.table(guard, id) else { continue };
            match step {
                Step::Changed { record, image, variable } => {
                    let record = record::deref(record, guard, table);
                    // Behind it there may be images of changes that were retired.
                    let fixed = &self.images[image..image + record::row(record).fixed().len()];
                    let newer = record::restore(record, fixed, variable);
                    self.discard(newer);
                    self.images.truncate(image);
                }
                Step::Revived { record, image, variable } => {
                    let record = record::deref(record, guard, table);
                    record.set_present(false);
                    let fixed = &self.images[image..image + record::row(record).fixed().len()];
                    let newer = record::restore(record, fixed, Some(variable));
                    self.discard(newer);
                    self.images.truncate(image);
                }
                Step::Inserted { record } => {
                    let record = record::deref(record, guard, table);
                    record.set_present(false);
                    table.unlink(guard, record);
                    self.garbage.push(table.garbage(record));
                }
                Step::Made { record } => {
                    let record = record::deref(record, guard, table);
                    record.set_present(false);
                    record.set_committed();
                }
                Step::Deleted { record } => record::deref(record, guard, table).set_present(true),
                Step::Linked { index, entry } => {
                    let index = table.secondary_index(index);
                    self.garbage.push(index.unlink(guard, record::entry(entry, guard, index)));
                }
                Step::Stale { .. } | Step::Retired => {}
            }
        }
    }

    /// Takes up to four rows out of the log whose locks are released before the commit. They are rows for which `wants`
    /// holds, and which the transaction has only updated, in a table in which it has linked and unlinked no index
    /// entry. A rollback does not undo their changes any more: the caller does, with the former rows, which are
    /// returned. The transaction must have no savepoint to which it may still roll back.
    pub(crate) fn retire(
        &mut self,
        database: &Database<H>,
        guard: Guard<'_>,
        mut wants: impl FnMut(RecordPtr<H>) -> bool,
    ) -> SmallVec<[Retiring<H>; 2]> {
        let mut wanted: SmallVec<[(TableId, RecordPtr<H>); 2]> = SmallVec::new();
        if self.log.len() > MOST_STEPS {
            return SmallVec::new();
        }
        for (table, step) in &self.log {
            let Step::Changed { record, .. } = *step else { continue };
            if wanted.len() == MOST_RETIRED {
                break;
            }
            if !wanted.contains(&(*table, record)) && wants(record) {
                wanted.push((*table, record));
            }
        }
        wanted.retain(|&mut (table, record)| {
            self.log.iter().filter(|(of, _)| *of == table).all(|(_, step)| match step {
                Step::Linked { .. } | Step::Stale { .. } => false,
                step => matches!(step, Step::Changed { .. }) || step.record() != Some(record),
            })
        });
        let before = wanted.into_iter().filter_map(|(id, record)| {
            let table = database.table(guard, id)?;
            Some((
                id,
                record,
                self.retire_row(table, record::deref(record, guard, table), database.redo_of(table).is_some()),
            ))
        });
        before.collect()
    }

    /// Removes the changes of a row from the log, and returns the row as it was before them. If `keeps`, the row as it
    /// is now is kept for the sink.
    fn retire_row(&mut self, table: &Table<H>, record: RecordRef<'_, H>, keeps: bool) -> Row {
        let (mut before, now) = (Row::new(table.layout()), record::row(record));
        let mut first = None;
        let mut variables: SmallVec<[Variable; 2]> = SmallVec::new();
        for (_, step) in self.log.iter_mut().filter(|(_, step)| step.record() == Some(record.ptr())) {
            if let Step::Changed { image, variable, .. } = std::mem::replace(step, Step::Retired) {
                first.get_or_insert(image);
                variables.extend(variable);
            }
        }
        if let Some(image) = first {
            let fixed = &self.images[image..image + now.fixed().len()];
            // The variable part of the first change that replaced it.
            let variable = variables.first().map_or(now.variable(), Variable::bytes);
            before.copy_from(RowRef::new(now.layout(), fixed, variable));
        }
        variables.into_iter().for_each(|variable| self.discard(Some(variable)));
        if keeps {
            let mut row = Row::new(table.layout());
            row.copy_from(now);
            self.retired.retain(|&(_, retired, _)| retired != record.ptr());
            self.retired.push((table.id(), record.ptr(), row));
        }
        before
    }

    /// Hands the memory that was unlinked or replaced to the participant, which reclaims it later.
    #[inline]
    pub(crate) fn reclaim(&mut self, participant: &mut Participant) {
        for garbage in self.garbage.drain(..) {
            participant.retire(garbage);
        }
        if self.images.capacity() > KEPT_BYTES || self.log.capacity() > KEPT_STEPS {
            self.images.shrink_to(KEPT_BYTES);
            self.log.shrink_to(KEPT_STEPS);
        }
    }

    #[inline]
    fn save_image(&mut self, record: RecordRef<'_, H>) -> usize {
        let image = self.images.len();
        self.images.extend_from_slice(record::row(record).fixed());
        image
    }

    fn discard(&mut self, variable: Option<Variable>) {
        if let Some(variable) = variable.filter(|variable| !variable.is_empty()) {
            self.garbage.push(variable.into_garbage());
        }
    }
}
