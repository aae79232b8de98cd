//! The plan of a transaction: the locks that its access set needs, in the order in which they are taken.

use crate::shared::gaps::{self, Gap, STRIPES, is_ordered, row_name};
use crate::shared::lock_table::Name;
use crate::shared::mode::Mode;
use crate::shared::walk::{self, FIRST_BATCH, GREATEST_BATCH, Range, Step};
use hotrow_storage::{Database, Guard, IndexRef, Key, Table, TableId};
use hotrow_txn::{Access, Accesses, EntryAccess, Intent, LockPart, LockTarget, RangeAccess};
use std::ops::{Bound, ControlFlow};

/// The locks that one transaction takes before it runs. The next transaction uses the lists again.
#[derive(Default)]
pub(super) struct Plan {
    /// The locks of the access set's rows, in the set's order: a procedure that knows its accesses asks for them in
    /// this order.
    rows: Vec<(Name, Mode)>,
    /// The position of the row that is asked for next, if the procedure keeps to its order.
    next: usize,
    /// All locks, sorted by name, each once.
    locks: Vec<Planned>,
    /// The targets of the locks beside those of the access set's rows.
    parts: Vec<LockTarget>,
    /// Whether the access set is known to lack rows.
    pub(super) is_partial: bool,
    /// The locks that the plan would have if it were made now.
    again: Vec<Planned>,
}

/// A lock of a plan: its name, its mode, and the row or part that it is of.
#[derive(Clone, Copy, Debug)]
struct Planned {
    name: Name,
    mode: Mode,
    /// The position of the row in the access set. Positions from the number of rows on count the other parts of the
    /// set.
    what: u32,
}

fn mode(intent: Intent) -> Mode {
    match intent {
        Intent::Read => Mode::SHARED,
        Intent::Write => Mode::EXCLUSIVE,
    }
}

impl Plan {
    /// Computes which locks `accesses` need: one for each row, and for ranges and index entries the locks of the rows
    /// and gaps that are in the indexes now.
    #[inline]
    pub(super) fn resolve(&mut self, database: &Database<()>, guard: Guard<'_>, accesses: &Accesses) {
        self.rows.clear();
        self.locks.clear();
        self.parts.clear();
        self.next = 0;
        self.is_partial = accesses.is_partial();
        for (what, access) in accesses.rows().iter().enumerate() {
            if is_constant(database, guard, access.table) {
                continue;
            }
            let (name, mode) = (Name(access.lock_name()), mode(access.intent));
            self.rows.push((name, mode));
            self.locks.push(Planned { name, mode, what: what as u32 });
        }
        if has_parts(accesses) {
            Resolver { locks: &mut self.locks, parts: Some(&mut self.parts), rows: accesses.rows().len() }
                .resolve(database, guard, accesses);
        }
        sort(&mut self.locks);
    }

    /// Whether the plan has all locks that `accesses` need now. If they have neither ranges nor entries, no lock can
    /// have changed.
    #[inline]
    pub(super) fn holds(&mut self, database: &Database<()>, guard: Guard<'_>, accesses: &Accesses) -> bool {
        if !has_parts(accesses) {
            return true;
        }
        let mut again = std::mem::take(&mut self.again);
        again.clear();
        Resolver { locks: &mut again, parts: None, rows: accesses.rows().len() }.resolve(database, guard, accesses);
        let holds = again.iter().all(|lock| self.finds(lock.name, lock.mode));
        self.again = again;
        holds
    }

    /// Returns the locks in the order of their names, each with a function that returns the target under which reports
    /// show the lock.
    #[inline]
    pub(super) fn locks<'p>(
        &'p self,
        accesses: &'p Accesses,
    ) -> impl Iterator<Item = (Name, Mode, impl FnOnce() -> LockTarget)> {
        self.locks
            .iter()
            .map(move |lock| (lock.name, lock.mode, move || self.target(lock.what as usize, accesses.rows())))
    }

    fn target(&self, what: usize, rows: &[Access]) -> LockTarget {
        match rows.get(what) {
            Some(row) => gaps::target(row.table, LockPart::Row, &row.key),
            None => self.parts[what - rows.len()].clone(),
        }
    }

    /// Whether the plan has the lock `name` in a mode that covers `mode`. The call is cheapest for callers that ask in
    /// the access set's order.
    #[inline]
    pub(super) fn covers(&mut self, name: Name, mode: Mode) -> bool {
        if let Some(&(planned, held)) = self.rows.get(self.next)
            && planned == name
            && held.covers(mode)
        {
            self.next += 1;
            return true;
        }
        self.finds(name, mode)
    }

    fn finds(&self, name: Name, mode: Mode) -> bool {
        let found = self.locks.binary_search_by_key(&name.0, |lock| lock.name.0);
        found.is_ok_and(|position| self.locks[position].mode.covers(mode))
    }
}

/// Whether there is such a table, and it is constant, so that nothing of it is locked.
#[inline]
fn is_constant(database: &Database<()>, guard: Guard<'_>, table: TableId) -> bool {
    database.table(guard, table).is_some_and(Table::is_constant)
}

fn has_parts(accesses: &Accesses) -> bool {
    !accesses.ranges().is_empty() || !accesses.entries().is_empty()
}

/// Sorts locks by name, and merges those of one name into one lock of all their modes, so that none is upgraded.
#[inline]
fn sort(locks: &mut Vec<Planned>) {
    locks.sort_unstable_by_key(|lock| lock.name.0);
    locks.dedup_by(|later, kept| {
        let same = later.name == kept.name;
        if same {
            kept.mode = kept.mode | later.mode;
        }
        same
    });
}

/// Finds the locks of ranges and entries in the indexes.
struct Resolver<'p> {
    locks: &'p mut Vec<Planned>,
    parts: Option<&'p mut Vec<LockTarget>>,
    /// The number of rows in the access set.
    rows: usize,
}

impl Resolver<'_> {
    fn resolve(&mut self, database: &Database<()>, guard: Guard<'_>, accesses: &Accesses) {
        for range in accesses.ranges() {
            if let Some(table) = database.table(guard, range.table).filter(|table| !table.is_constant()) {
                self.range(table, guard, range);
            }
        }
        for entry in accesses.entries() {
            if let Some(table) = database.table(guard, entry.table).filter(|table| !table.is_constant()) {
                self.entry(table, guard, entry);
            }
        }
    }

    fn push(&mut self, name: Name, mode: Mode, target: impl FnOnce() -> LockTarget) {
        let mut what = 0;
        if let Some(parts) = &mut self.parts {
            what = (self.rows + parts.len()) as u32;
            parts.push(target());
        }
        self.locks.push(Planned { name, mode, what });
    }

    fn row(&mut self, table: &Table<()>, key: &Key, mode: Mode) {
        let name = row_name(table.id(), key.hash64());
        self.push(name, mode, || gaps::target(table.id(), LockPart::Row, key));
    }

    fn gap(&mut self, gap: Gap, mode: Mode) {
        self.push(gap.name, mode, || gap.target);
    }

    /// Adds the locks of a scan of the range, in either direction.
    fn range(&mut self, table: &Table<()>, guard: Guard<'_>, range: &RangeAccess) {
        let mode = mode(range.intent);
        if is_ordered(table, range.index) {
            return self.ordered(table, guard, range, mode);
        }
        match (range.index, &range.lower) {
            (IndexRef::Primary, Bound::Included(key)) => self.row(table, key, mode),
            (IndexRef::Primary, _) => {
                (0..STRIPES).for_each(|stripe| self.gap(Gap::stripe(table.id(), stripe), Mode::SHARED));
                table.records(guard, |record| {
                    self.row(table, &record.key(), mode);
                    ControlFlow::Continue(())
                });
            }
            (IndexRef::Secondary(index), Bound::Included(columns)) => {
                self.gap(Gap::unordered(table.id(), range.index, columns), Mode::SHARED);
                for step in walk::equal_steps(table, guard, index, columns) {
                    self.row(table, &step.record.key(), mode);
                }
            }
            // A scan of this is an error.
            (IndexRef::Secondary(_), _) => {}
        }
    }

    /// Adds the gap and the row of each entry of the range, and the gaps beyond the range up to that of the first
    /// committed entry.
    fn ordered(&mut self, table: &Table<()>, guard: Guard<'_>, range: &RangeAccess, mode: Mode) {
        let bounds = Range::new(&range.lower, &range.upper);
        if bounds.is_empty() {
            return;
        }
        let mut from = bounds.start(false).cloned();
        let mut limit = FIRST_BATCH;
        loop {
            let steps = walk::steps(table, guard, range.index, from.as_ref(), false, limit);
            for step in &steps {
                self.gap(Gap::below(table.id(), range.index, &step.key()), Mode::SHARED);
                if !bounds.is_past(&step.key(), false) {
                    self.row(table, &step.record.key(), mode);
                } else if step.is_committed() {
                    return;
                }
            }
            let Some(last) = steps.last().filter(|_| steps.len() == limit) else {
                return self.gap(Gap::end(table.id(), range.index), Mode::SHARED);
            };
            from = Bound::Excluded(last.key());
            limit = (limit * 2).min(GREATEST_BATCH);
        }
    }

    /// Adds the locks of linking or unlinking the entry. They serve for either, whether or not the entry is there now.
    fn entry(&mut self, table: &Table<()>, guard: Guard<'_>, entry: &EntryAccess) {
        let full = match entry.index {
            IndexRef::Primary => entry.columns.clone(),
            IndexRef::Secondary(id) => {
                let index = table.secondary_index(id);
                if index.is_exclusive() {
                    let part = LockPart::Unique(id);
                    let name = gaps::name_of(table.id(), part, entry.columns.hash64());
                    self.push(name, Mode::EXCLUSIVE, || gaps::target(table.id(), part, &entry.columns));
                }
                index.full_key(&entry.columns, &entry.key)
            }
        };
        if is_ordered(table, entry.index) {
            let here = walk::steps(table, guard, entry.index, Bound::Included(&full), false, 1);
            if here.first().map(Step::key).as_ref() == Some(&full) {
                return self.gap(Gap::below(table.id(), entry.index, &full), Mode::INSERT);
            }
        }
        for gap in gaps::gaps_around(table, guard, entry.index, &full, |_| false) {
            self.gap(gap, Mode::INSERT);
        }
    }
}
