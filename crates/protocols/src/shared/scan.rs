//! Scans that lock the rows that they visit, and the gaps between them.

use super::gaps::{self, Gap, Gaps, STRIPES, is_ordered, name_of, target};
use super::lock_table::{Acquired, Name};
use super::mode::Mode;
use super::record;
use super::walk::{self, FIRST_BATCH, GREATEST_BATCH, Range, Step};
use hotrow_storage::{Guard, IndexRef, Key, RecordHeader, RecordRef, RowRef, Table, TableId};
use hotrow_txn::{Abort, Direction, Isolation, LockFor, LockPart, LockTarget, Scan};
use smallvec::SmallVec;
use std::ops::{Bound, ControlFlow};

/// The locks of one transaction, as scans and changes of index entries take them, whether the locks are in a lock
/// table, in indexes or in records.
pub(crate) trait ScanLocks<H: RecordHeader> {
    /// Whether the caller keeps all other transactions off the table, so that nothing of it needs a lock.
    fn owns(&self, table: TableId) -> bool;

    /// Returns the number of times that the transaction has waited.
    fn waits(&self) -> u64;

    /// Sets whether a request for a lock that is not free fails with [`Abort::Timeout`] from now on, instead of
    /// waiting. At the beginning of a transaction requests wait.
    fn refuse_waits(&mut self, refuse: bool);

    /// Locks the row of a key, present or absent, and returns its record if there is one. The key comes with its hash.
    fn lock_key<'g>(
        &mut self,
        table: &'g Table<H>,
        guard: Guard<'g>,
        key: (&Key, u64),
        mode: Mode,
    ) -> Result<Option<RecordRef<'g, H>>, Abort>;

    /// Locks the row of a record that an index led to.
    fn lock_record(&mut self, table: &Table<H>, record: RecordRef<'_, H>, mode: Mode) -> Result<Acquired, Abort>;

    /// Releases the row of a record that an index led to, before the transaction's end.
    fn unlock_record(&mut self, table: &Table<H>, record: RecordRef<'_, H>);

    /// Whether the transaction has locked the row of a record exclusively.
    fn has_written(&mut self, table: &Table<H>, record: RecordRef<'_, H>) -> bool;

    /// Called when a record, made for a row whose key had none, is about to be linked.
    fn linking(&mut self, _table: &Table<H>, _record: RecordRef<'_, H>) {}

    /// Locks the part of a table that is called `name`, which is not a row. `target` returns a description of the part
    /// for people.
    fn lock_part(
        &mut self,
        table: &Table<H>,
        part: LockPart,
        name: Name,
        mode: Mode,
        target: impl FnOnce() -> LockTarget,
    ) -> Result<(), Abort>;

    /// Returns the gaps that were locked in the insert mode for the index entry that is being linked.
    fn announced(&mut self) -> &mut Gaps;

    /// Locks a gap.
    fn lock_gap(&mut self, table: &Table<H>, gap: &Gap, mode: Mode) -> Result<(), Abort> {
        self.lock_part(table, gap.part(), gap.name, mode, || gap.target.clone())
    }

    /// Locks shared the gap below an entry.
    fn read_gap(&mut self, table: &Table<H>, index: IndexRef, key: &Key) -> Result<(), Abort> {
        let part = LockPart::Gap(index);
        let name = name_of(table.id(), part, key.hash64());
        self.lock_part(table, part, name, Mode::SHARED, || target(table.id(), part, key))
    }

    /// Locks shared the gap above an ordered index's last entry.
    fn read_end(&mut self, table: &Table<H>, index: IndexRef) -> Result<(), Abort> {
        self.lock_gap(table, &Gap::end(table.id(), index), Mode::SHARED)
    }

    /// Locks shared all the pseudo-gaps of an unordered primary index.
    fn read_stripes(&mut self, table: &Table<H>) -> Result<(), Abort> {
        (0..STRIPES).try_for_each(|stripe| self.lock_gap(table, &Gap::stripe(table.id(), stripe), Mode::SHARED))
    }
}

/// A scan in progress, with the locks that it takes.
pub(crate) struct Scanner<'s, H: RecordHeader, L> {
    pub(crate) table: &'s Table<H>,
    pub(crate) guard: Guard<'s>,
    pub(crate) locks: &'s mut L,
    pub(crate) scan: &'s Scan,
    pub(crate) isolation: Isolation,
}

type Visit<'v> = &'v mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>;

impl<'s, H: RecordHeader, L: ScanLocks<H>> Scanner<'s, H, L> {
    /// Locks and visits the rows of the range, as the scan and the isolation level require.
    ///
    /// # Errors
    /// The errors of locking, and [`Abort::User`] for a range of a secondary hash index.
    pub(crate) fn run(&mut self, visit: Visit<'_>) -> Result<(), Abort> {
        if self.scan.lock.waits() {
            return self.walk(visit);
        }
        self.locks.refuse_waits(true);
        let walked = self.walk(visit);
        self.locks.refuse_waits(false);
        walked
    }

    fn walk(&mut self, visit: Visit<'_>) -> Result<(), Abort> {
        if is_ordered(self.table, self.scan.index) {
            let range = Range::new(&self.scan.lower, &self.scan.upper);
            return if range.is_empty() { Ok(()) } else { self.ordered(&range, visit) };
        }
        match (&self.scan.index, &self.scan.lower) {
            (IndexRef::Primary, Bound::Included(key)) => self.one(key, visit),
            (IndexRef::Primary, _) => self.everything(visit),
            (IndexRef::Secondary(_), Bound::Included(columns)) => self.equal(columns, visit),
            (IndexRef::Secondary(_), _) => Err(Abort::User),
        }
    }

    /// Whether the scan locks gaps to read them. At repeatable read it does where rows can move within the range, until
    /// the scan has ended. Otherwise a row that moves to where the scan has been is missed, though it was in the range
    /// throughout.
    fn protects_gaps(&self) -> bool {
        (self.isolation == Isolation::Serializable || self.keeps_rows_from_moving())
            && !self.locks.owns(self.table.id())
            && self.scan.lock != LockFor::UpdateFree
    }

    /// Whether the scan must keep rows from moving within its range: at repeatable read, in a secondary ordered index.
    /// Rows do not move in a primary index, nor among the rows with the same columns.
    fn keeps_rows_from_moving(&self) -> bool {
        self.isolation == Isolation::RepeatableRead
            && self.scan.index != IndexRef::Primary
            && is_ordered(self.table, self.scan.index)
    }

    /// Whether a call failed since another transaction had a lock that was not to be waited for.
    fn is_refused(&self, abort: Abort) -> bool {
        abort == Abort::Timeout && !self.scan.lock.waits()
    }

    fn mode(&self) -> Mode {
        match self.scan.lock {
            LockFor::Read => Mode::SHARED,
            LockFor::Update | LockFor::UpdateFree | LockFor::UpdateNoWait => Mode::EXCLUSIVE,
        }
    }

    /// Scans an ordered index, batch by batch. Each batch is locked, then looked at again until it has not changed,
    /// then visited.
    fn ordered(&mut self, range: &Range, visit: Visit<'_>) -> Result<(), Abort> {
        let backward = self.scan.direction == Direction::Backward;
        if backward && self.protects_gaps() {
            self.lock_above(range)?;
        }
        let mut from = range.start(backward).cloned();
        let mut limit = FIRST_BATCH;
        'batches: loop {
            let steps = walk::steps(self.table, self.guard, self.scan.index, from.as_ref(), backward, limit);
            let inside = steps.iter().take_while(|step| !range.is_past(&step.key(), backward)).count();
            let ended = inside < steps.len() || steps.len() < limit;
            if self.protects_gaps() {
                match self.lock_batch(&steps, inside, ended && !backward, from.as_ref()) {
                    // The visit may break off before it comes to what another transaction has.
                    Err(abort) if limit > 1 && (abort == Abort::Conflict || self.is_refused(abort)) => {
                        limit /= 2;
                        continue;
                    }
                    locked => locked?,
                }
                gaps::fence_before_look();
                let is_same = match backward {
                    true => self.begins_still(&steps, from.as_ref(), limit),
                    false => self.are_still(&steps, from.as_ref(), steps.len() < limit),
                };
                if !is_same {
                    continue;
                }
            }
            for (position, step) in steps[..inside].iter().enumerate() {
                let waits = self.locks.waits();
                let flow = if self.protects_gaps() { self.visit_locked(step, visit) } else { self.visit(step, visit)? };
                if flow.is_break() {
                    return if backward { Ok(()) } else { self.lock_break(&steps[position..inside]) };
                }
                if self.locks.waits() != waits {
                    // The transaction that was waited for may have moved entries within the rest of the batch.
                    from = Bound::Excluded(step.key());
                    continue 'batches;
                }
            }
            if ended {
                return Ok(());
            }
            from = Bound::Excluded(steps.last().expect("a full batch has a last entry").key());
            limit = (limit * 2).min(GREATEST_BATCH);
        }
    }

    /// Locks the gaps and rows of a batch that began at `from`. If it is the last batch of a forward scan, the gap
    /// beyond the range's end is locked, too.
    fn lock_batch(
        &mut self,
        steps: &[Step<'_, H>],
        inside: usize,
        beyond: bool,
        from: Bound<&Key>,
    ) -> Result<(), Abort> {
        for step in &steps[..inside] {
            self.locks.read_gap(self.table, self.scan.index, &step.key())?;
            self.locks.lock_record(self.table, step.record, self.mode())?;
        }
        if !beyond {
            return Ok(());
        }
        for step in &steps[inside..] {
            self.locks.read_gap(self.table, self.scan.index, &step.key())?;
            if step.is_committed() {
                return Ok(());
            }
        }
        let last = steps.last().map(Step::key);
        self.lock_up_to_committed(last.as_ref().map_or(from, Bound::Excluded))
    }

    /// Locks the entries that name the gap below the row at which a forward scan breaks off, if the row's own entry may
    /// yet be rolled back.
    fn lock_break(&mut self, rest: &[Step<'_, H>]) -> Result<(), Abort> {
        if !self.protects_gaps() || rest.iter().any(Step::is_committed) {
            return Ok(());
        }
        let last = rest.last().map(Step::key).expect("the scan broke off at a row");
        self.lock_up_to_committed(Bound::Excluded(&last))
    }

    /// Locks the gap in which a backward scan's range ends, above it.
    fn lock_above(&mut self, range: &Range) -> Result<(), Abort> {
        if range.is_unbounded_above() {
            return self.locks.read_end(self.table, self.scan.index);
        }
        self.lock_up_to_committed(range.above())
    }

    /// Locks the gaps from `from` on, up to that of the first entry whose insert has committed, or to the index's end.
    /// When all are locked, they are looked at again as a whole: an entry that was not committed may be rolled back
    /// while the next gap is waited for, and another one be linked below it.
    fn lock_up_to_committed(&mut self, from: Bound<&Key>) -> Result<(), Abort> {
        loop {
            let mut passed: SmallVec<[Step<'s, H>; 2]> = SmallVec::new();
            let mut beyond = from.cloned();
            let at_end = loop {
                let Some(step) = walk::next(self.table, self.guard, self.scan.index, beyond.as_ref()) else {
                    self.locks.read_end(self.table, self.scan.index)?;
                    break true;
                };
                self.locks.read_gap(self.table, self.scan.index, &step.key())?;
                let is_committed = step.is_committed();
                beyond = Bound::Excluded(step.key());
                passed.push(step);
                if is_committed {
                    break false;
                }
            };
            // Of many that were waited for, most have committed by now: the gaps end at the first one.
            let committed = passed.iter().position(Step::is_committed);
            passed.truncate(committed.map_or(passed.len(), |first| first + 1));
            gaps::fence_before_look();
            if self.are_still(&passed, from, at_end && committed.is_none()) {
                return Ok(());
            }
        }
    }

    /// Whether the first entries from `from` downwards, up to `limit` of them, are still these.
    fn begins_still(&self, steps: &[Step<'_, H>], from: Bound<&Key>, limit: usize) -> bool {
        let again = walk::steps(self.table, self.guard, self.scan.index, from, true, limit);
        again.len() == steps.len() && again.iter().zip(steps).all(|(step, again)| step.is_same(again))
    }

    /// Whether the entries from `from` to the last of `steps`, or to the index's end, are still these. The highest
    /// entry is looked at first: a search upwards comes to the next leaf later than to the first, and what it finds
    /// there may have been linked after an entry that it has missed.
    fn are_still(&self, steps: &[Step<'_, H>], from: Bound<&Key>, at_end: bool) -> bool {
        let top = match steps.last() {
            Some(last) if !at_end => Bound::Included(last.key()),
            _ => Bound::Unbounded,
        };
        let down = walk::steps(self.table, self.guard, self.scan.index, top.as_ref(), true, steps.len() + 1);
        let is_before = |step: &Step<'_, H>| match from {
            Bound::Included(from) => step.key() < *from,
            Bound::Excluded(from) => step.key() <= *from,
            Bound::Unbounded => false,
        };
        down.len() >= steps.len()
            && steps.iter().rev().zip(&down).all(|(step, again)| step.is_same(again))
            && down[steps.len()..].iter().all(is_before)
    }

    /// Visits a row that is locked, if it is present.
    fn visit_locked(&self, step: &Step<'_, H>, visit: Visit<'_>) -> ControlFlow<()> {
        if step.is_current(self.table, self.scan.index) {
            visit(record::row(step.record))
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Locks one row as the isolation level asks, and visits it if it is present.
    fn visit(&mut self, step: &Step<'_, H>, visit: Visit<'_>) -> Result<ControlFlow<()>, Abort> {
        if self.scan.lock == LockFor::UpdateFree {
            return self.visit_free(step, visit);
        }
        let short = self.isolation == Isolation::ReadCommitted && self.scan.lock == LockFor::Read;
        let acquired = self.locks.lock_record(self.table, step.record, self.mode())?;
        let flow = self.visit_locked(step, visit);
        if short && acquired == Acquired::New {
            self.locks.unlock_record(self.table, step.record);
        }
        Ok(flow)
    }

    /// Locks one row and visits it, unless another transaction has locked it. The row stays locked if the scan wants
    /// it.
    fn visit_free(&mut self, step: &Step<'_, H>, visit: Visit<'_>) -> Result<ControlFlow<()>, Abort> {
        let acquired = match self.locks.lock_record(self.table, step.record, self.mode()) {
            Err(abort) if self.is_refused(abort) => return Ok(ControlFlow::Continue(())),
            locked => locked?,
        };
        if step.is_current(self.table, self.scan.index) && self.scan.admits(record::row(step.record)) {
            return Ok(visit(record::row(step.record)));
        }
        if acquired == Acquired::New {
            self.locks.unlock_record(self.table, step.record);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Visits one row of an unordered table, by its key.
    fn one(&mut self, key: &Key, visit: Visit<'_>) -> Result<(), Abort> {
        let key = (key, key.hash64());
        let found = match self.protects_gaps() {
            true => self.locks.lock_key(self.table, self.guard, key, self.mode())?,
            false => self.table.find(self.guard, key.0, key.1),
        };
        match found {
            Some(record) => self.visit(&Step { record, entry: None }, visit).map(drop),
            None => Ok(()),
        }
    }

    /// Scans a whole table that has no order.
    fn everything(&mut self, visit: Visit<'_>) -> Result<(), Abort> {
        if self.protects_gaps() {
            self.locks.read_stripes(self.table)?;
        }
        let mut steps = Vec::new();
        self.table.records(self.guard, |record| {
            steps.push(Step { record, entry: None });
            ControlFlow::Continue(())
        });
        steps.sort_unstable_by_key(|step| step.record.ptr());
        steps.dedup_by_key(|step| step.record.ptr());
        self.visit_all(&steps, visit)
    }

    /// Scans the rows with certain columns, by a secondary hash index.
    fn equal(&mut self, columns: &Key, visit: Visit<'_>) -> Result<(), Abort> {
        let IndexRef::Secondary(index) = self.scan.index else { return Ok(()) };
        if self.protects_gaps() {
            self.locks.read_gap(self.table, self.scan.index, columns)?;
        }
        let steps = walk::equal_steps(self.table, self.guard, index, columns);
        self.visit_all(&steps, visit)
    }

    fn visit_all(&mut self, steps: &[Step<'_, H>], visit: Visit<'_>) -> Result<(), Abort> {
        for step in steps {
            if self.visit(step, visit)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}
