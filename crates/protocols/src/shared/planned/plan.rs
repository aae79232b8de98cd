//! The plan: the locks that an access set needs, found out before any of them is asked for.

use super::prefixes;
use super::scene::Scene;
use crate::shared::hashed::HashSet;
use crate::shared::range_locks::PrefixLocks;
use crate::shared::walk::{self, Step};
use hotrow_storage::{
    Garbage, IndexRef, Key, RecordHeader, RecordPtr, RecordRef, Row, Table, TableId, partition_number,
};
use hotrow_txn::{Access, Accesses, Direction, EntriesAccess, EntryAccess, Intent, LockFor, RangeAccess, Scan};
use std::cell::OnceCell;
use std::ops::{Bound, ControlFlow};

/// The most rows in the ranges of one plan. If there are more, the transaction keeps the whole database instead.
const RANGE_ROWS: usize = 1 << 16;

/// The number of rows up to which a set is searched from its beginning.
const SEARCHED: usize = 64;

/// A row of a plan, which stands for one lock.
#[derive(Debug)]
pub struct PlannedRow<H> {
    pub(crate) table: TableId,
    /// The name of the row's lock, by [`Access::lock_name`].
    pub(crate) name: u64,
    pub(crate) intent: Intent,
    /// The partition that the row lives in, for engines that keep partitions apart.
    pub(crate) partition: u16,
    /// The record that carries the lock, for engines whose records carry locks.
    pub(crate) record: Option<RecordPtr<H>>,
}

impl<H> Clone for PlannedRow<H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for PlannedRow<H> {}

impl<'s, H: RecordHeader> Scene<'s, H> {
    /// Returns the record of a planned row, if it has one and its table still exists.
    #[inline]
    pub(crate) fn record_of(self, row: &PlannedRow<H>) -> Option<RecordRef<'s, H>> {
        Some(self.deref(self.table(row.table)?, row.record?))
    }
}

/// The properties of rows that a plan must find out for an engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    /// Whether records are found, also for absent rows, since records carry the locks.
    pub(crate) records: bool,
    /// The partitions of the rows, if they are found.
    pub(crate) partitions: Partitions,
}

/// The partitions that a plan finds for its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Partitions {
    /// No partitions: the engine does not ask.
    #[default]
    Unknown,
    /// The parts of the tables' indexes, for engines that keep partitions apart.
    Parts,
    /// So many parts of a lock table, over which the rows are spread. Rows of one partition key are in one part; in a
    /// table without a partition key each row is spread by itself.
    Spread(u16),
}

impl Needs {
    /// Whether the plan finds any partitions.
    #[inline]
    pub(crate) fn has_partitions(self) -> bool {
        self.partitions != Partitions::Unknown
    }

    /// Returns the partition of a row whose lock has this name, or zero if the engine does not ask.
    #[inline]
    pub(crate) fn partition<H: RecordHeader>(self, table: &Table<H>, key: &Key, name: u64) -> u16 {
        match self.partitions {
            Partitions::Unknown => 0,
            Partitions::Parts => table.partition_of(key) as u16,
            // The queues take the lower bits of a name for their buckets.
            Partitions::Spread(count) => {
                let value = table.partition_key_of(key).unwrap_or((name >> 32) as i64);
                partition_number(value, usize::from(count)) as u16
            }
        }
    }

    /// Returns the partition of the row with this key.
    #[inline]
    pub(crate) fn partition_of<H: RecordHeader>(self, table: &Table<H>, key: &Key) -> u16 {
        self.partition(table, key, Access::name(table.id(), key.hash64()))
    }
}

/// The place where a prefix lock must be so that conflicting transactions meet it, for engines that keep partitions
/// apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One partition: the lock is about rows that live there.
    Partition(u16),
    /// One partition that all transactions agree on, by this hash: the lock is about columns that rows of several
    /// partitions may have.
    Hashed(u64),
    /// All partitions.
    Everywhere,
}

impl Place {
    /// Returns the one of so many `partitions` that has the locks of this place. Locks that are *everywhere* are in all
    /// partitions; for them the number is that of the first.
    #[inline]
    pub(crate) fn number(self, partitions: usize) -> u16 {
        match self {
            Place::Partition(number) => number,
            Place::Hashed(hash) => (hash % partitions as u64) as u16,
            Place::Everywhere => 0,
        }
    }
}

impl<H: RecordHeader> PlannedRow<H> {
    /// Makes the planned row for the row of `table` that has this key.
    #[inline]
    pub(super) fn new(
        table: &Table<H>,
        key: &Key,
        name: u64,
        intent: Intent,
        record: RecordRef<'_, H>,
        needs: Needs,
    ) -> Self {
        Self::unfound(table, key, name, intent, needs).with(needs.records.then(|| record.ptr()))
    }

    /// Makes a planned row whose record is not known.
    #[inline]
    pub(super) fn unfound(table: &Table<H>, key: &Key, name: u64, intent: Intent, needs: Needs) -> Self {
        let partition = needs.partition(table, key, name);
        Self { table: table.id(), name, intent, partition, record: None }
    }

    #[inline]
    fn with(self, record: Option<RecordPtr<H>>) -> Self {
        Self { record, ..self }
    }

    /// Replaces the row's record, which turned out to be unlinked, by the present record of its key. If there is none,
    /// a record is made.
    #[cold]
    pub(crate) fn find_again(&mut self, scene: Scene<'_, H>) {
        let (Some(table), Some(old)) = (scene.table(self.table), self.record) else { return };
        let key = scene.deref(table, old).key();
        let hash = key.hash64();
        let found = table.find(scene.guard, &key, hash);
        self.record = Some(found.unwrap_or_else(|| placeholder(table, scene, &key, hash)).ptr());
    }
}

/// The locks that one transaction takes before it runs, and those that it has come to take since. The next transaction
/// uses the lists again.
pub struct Plan<H> {
    /// The rows: first those of the access set, in its order, then those of ranges, then those that were added late.
    pub(crate) rows: Vec<PlannedRow<H>>,
    /// The prefix locks for ranges, and for index entries that come or go.
    pub(crate) prefixes: PrefixLocks,
    /// The places of the prefix locks, beside the partitions of the rows.
    pub(crate) places: Vec<Place>,
    /// The ranges that a scan may walk: those of the access set, and those that are locked for them.
    ranges: Vec<RangeAccess>,
    /// Whether the maker of the access set knew that it might lack rows, so that they are added late.
    pub(super) is_partial: bool,
    /// The index entries that may come and go, known by their common prefixes, which are locked exclusively.
    entries_below: Vec<EntriesAccess>,
    /// The records to be unlinked: they are not present, and no transaction counts on them any more.
    pub(crate) unused: Vec<(TableId, RecordPtr<H>)>,
    /// The records that were unlinked, to be retired.
    pub(super) garbage: Vec<Garbage>,
    /// The position of the row that is asked for next, if the procedure keeps to the plan's order.
    next: usize,
    /// The position of the row that a scan comes to next, if it walks the ranges in their order.
    next_in_range: usize,
    /// The names of the first `sorted.len()` rows with the rows' positions, in order of the names, once a long set was
    /// searched.
    sorted: Vec<(u64, u32)>,
}

impl<H> Default for Plan<H> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            prefixes: PrefixLocks::default(),
            places: Vec::new(),
            ranges: Vec::new(),
            is_partial: false,
            entries_below: Vec::new(),
            unused: Vec::new(),
            garbage: Vec::new(),
            next: 0,
            next_in_range: 0,
            sorted: Vec::new(),
        }
    }
}

/// The part of its range that the plan lets a scan walk.
pub(super) enum Reach {
    /// The whole range.
    Whole,
    /// This range, if it holds the scan's beginning: a reconnaissance broke off where it ends. The number is that of
    /// such ranges: more than one if the scan went farther than an earlier attempt did.
    Part(walk::Range, usize),
}

impl Reach {
    /// Whether a walk in this direction is beyond the part at `step`.
    pub(super) fn is_past<H: RecordHeader>(&self, step: &Step<'_, H>, backward: bool) -> bool {
        match self {
            Reach::Whole => false,
            Reach::Part(range, _) => range.is_past(&step.key(), backward),
        }
    }
}

/// The table of the row that was looked at last: most rows are of the same table as the row before.
struct Tables<'s, H: RecordHeader> {
    scene: Scene<'s, H>,
    last: Option<&'s Table<H>>,
}

impl<'s, H: RecordHeader> Tables<'s, H> {
    #[inline]
    fn get(&mut self, id: TableId) -> Option<&'s Table<H>> {
        if self.last.is_none_or(|last| last.id() != id) {
            self.last = Some(self.scene.table(id)?);
        }
        self.last
    }
}

/// The error of an access set that is too large to be locked part by part.
pub(super) struct TooLarge;

impl<H: RecordHeader> Plan<H> {
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.prefixes.clear();
        self.places.clear();
        self.ranges.clear();
        self.entries_below.clear();
        self.sorted.clear();
        self.next = 0;
    }

    /// Calls `visit` with the number of each partition in which the plan has locks, out of so many `partitions`. The
    /// calls may repeat a number.
    #[inline]
    pub(crate) fn visit_partitions(&self, partitions: usize, mut visit: impl FnMut(u16)) {
        let mut last = None;
        for row in &self.rows {
            if last != Some(row.partition) {
                last = Some(row.partition);
                visit(row.partition);
            }
        }
        for &place in &self.places {
            match place {
                Place::Everywhere => (0..partitions).for_each(|number| visit(number as u16)),
                place => visit(place.number(partitions)),
            }
        }
    }

    /// Finds out which locks `accesses` need; constant tables need none. If `needs` has records, absent rows get
    /// records that are not present, to carry their locks.
    #[inline]
    pub(super) fn resolve(&mut self, scene: Scene<'_, H>, accesses: &Accesses, needs: Needs) -> Result<(), TooLarge> {
        self.clear();
        self.is_partial = accesses.is_partial();
        let in_ranges = self.ranges(scene, accesses.ranges(), needs)?;
        self.look_up(scene, accesses.rows(), needs);
        self.next_in_range = self.rows.len();
        self.rows.extend(in_ranges);
        accesses.entries().iter().for_each(|entry| self.entry(scene, entry, needs));
        accesses.entries_below().iter().for_each(|entries| self.entries(scene, entries, needs));
        Ok(())
    }

    /// Looks the rows of the access set up, all together: their slots in the index are fetched first, then the records
    /// that these lead to, and when those are there they are compared.
    #[inline]
    fn look_up(&mut self, scene: Scene<'_, H>, accesses: &[Access], needs: Needs) {
        let mut tables = Tables { scene, last: None };
        for access in accesses {
            if let Some(table) = tables.get(access.table) {
                table.prefetch_slot(scene.guard, &access.key, access.hash);
            }
        }
        for access in accesses {
            // Of a table that does not exist nothing is locked; touching it fails.
            let Some(table) = tables.get(access.table) else { continue };
            let likely = table.prefetch_record(scene.guard, &access.key, access.hash);
            if table.is_constant() {
                continue;
            }
            let row = PlannedRow::unfound(table, &access.key, access.lock_name(), access.intent, needs);
            self.rows.push(row.with(likely.map(|record| record.ptr()).filter(|_| needs.records)));
            if !needs.records && likely.is_none() {
                self.absent(table, access);
            }
        }
        if !needs.records {
            return;
        }
        let mut position = 0;
        for access in accesses {
            let Some(table) = tables.get(access.table).filter(|table| !table.is_constant()) else { continue };
            let likely = self.rows[position].record;
            if !likely.is_some_and(|record| scene.deref(table, record).has_key(&access.key)) {
                self.rows[position].record = Some(self.record_of(scene, table, access));
            }
            position += 1;
        }
    }

    /// Returns the record that carries the lock of a row in the access set.
    #[cold]
    fn record_of(&mut self, scene: Scene<'_, H>, table: &Table<H>, access: &Access) -> RecordPtr<H> {
        if let Some(record) = table.find(scene.guard, &access.key, access.hash) {
            return record.ptr();
        }
        self.absent(table, access);
        placeholder(table, scene, &access.key, access.hash).ptr()
    }

    /// Handles a row of the access set that is absent: if it will be written, it will be inserted.
    #[cold]
    fn absent(&mut self, table: &Table<H>, access: &Access) {
        if access.intent == Intent::Write {
            prefixes::push_entry(&mut self.prefixes, table.id(), IndexRef::Primary, &access.key);
        }
    }

    /// Replaces the record of the row at a position, as [`PlannedRow::find_again`] does.
    #[cold]
    pub(crate) fn find_again(&mut self, scene: Scene<'_, H>, position: usize) {
        self.rows[position].find_again(scene);
    }

    /// Adds the locks of the ranges that will be scanned: their prefixes, and the rows that are in them now.
    #[inline]
    fn ranges(
        &mut self,
        scene: Scene<'_, H>,
        ranges: &[RangeAccess],
        needs: Needs,
    ) -> Result<Vec<PlannedRow<H>>, TooLarge> {
        let mut rows = Vec::new();
        ranges.iter().try_for_each(|range| self.range(scene, range, needs, &mut rows))?;
        Ok(rows)
    }

    fn range(
        &mut self,
        scene: Scene<'_, H>,
        range: &RangeAccess,
        needs: Needs,
        rows: &mut Vec<PlannedRow<H>>,
    ) -> Result<(), TooLarge> {
        let Some(table) = scene.table(range.table).filter(|table| !table.is_constant()) else { return Ok(()) };
        prefixes::push_range(&mut self.prefixes, range);
        if needs.has_partitions() {
            self.places.push(place_of_range(table, needs, range.index, &range.lower, &range.upper));
        }
        self.ranges.push(range.clone());
        if !needs.has_partitions() {
            self.ranges.extend(prefixes::locked_range(range));
        }
        let scan =
            Scan { lower: range.lower.clone(), upper: range.upper.clone(), ..Scan::all(range.table, range.index) };
        // A scan that cannot be walked fails when it runs, too.
        let _ = walk::along(table, scene.guard, &scan, &mut |step| {
            // Only a record that was found by its key may be counted on: another one may not be linked to its end
            // yet. The transaction that is to bring the row, or back, has locked its entry.
            if !step.record.is_present() {
                return ControlFlow::Continue(());
            }
            let key = step.record.key();
            let name = Access::name(table.id(), key.hash64());
            rows.push(PlannedRow::new(table, &key, name, range.intent, step.record, needs));
            if rows.len() < RANGE_ROWS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        if rows.len() < RANGE_ROWS { Ok(()) } else { Err(TooLarge) }
    }

    /// Adds the locks of an index entry that will come or go.
    fn entry(&mut self, scene: Scene<'_, H>, entry: &EntryAccess, needs: Needs) {
        let Some(table) = scene.table(entry.table).filter(|table| !table.is_constant()) else { return };
        if needs.has_partitions() {
            self.places.push(Place::Partition(needs.partition_of(table, &entry.key)));
        }
        match entry.index {
            IndexRef::Primary => {
                prefixes::push_entry(&mut self.prefixes, entry.table, entry.index, &entry.columns);
            }
            IndexRef::Secondary(id) => {
                let index = table.secondary_index(id);
                if index.is_exclusive() {
                    prefixes::push_entry(&mut self.prefixes, entry.table, entry.index, &entry.columns);
                    if needs.has_partitions() && !table.begins_with_partition_key(entry.index) {
                        self.places.push(Place::Hashed(entry.columns.hash64()));
                    }
                }
                let full = index.full_key(&entry.columns, &entry.key);
                prefixes::push_entry(&mut self.prefixes, entry.table, entry.index, &full);
            }
        }
    }

    /// Adds the locks of index entries that will come or go, of which only the beginnings of their keys are known.
    fn entries(&mut self, scene: Scene<'_, H>, entries: &EntriesAccess, needs: Needs) {
        let Some(table) = scene.table(entries.table).filter(|table| !table.is_constant()) else { return };
        let EntriesAccess { table: id, index, ref prefix } = *entries;
        let [lower, upper] = [(); 2].map(|()| Bound::Included(prefix.clone()));
        if needs.has_partitions() {
            self.places.push(place_of_range(table, needs, index, &lower, &upper));
        }
        prefixes::push_range(
            &mut self.prefixes,
            &RangeAccess { table: id, index, lower, upper, intent: Intent::Write },
        );
        self.entries_below.push(entries.clone());
    }

    /// Whether the access set says that the entry with this key may come or go, by the beginnings of such entries'
    /// keys.
    #[inline]
    pub(super) fn holds_entry(&self, table: TableId, index: IndexRef, key: &Key) -> bool {
        let holds = |entries: &EntriesAccess| {
            entries.table == table && entries.index == index && key.starts_with(&entries.prefix)
        };
        self.entries_below.iter().any(holds)
    }

    /// Unlinks the records of absent rows that no transaction counts on any more.
    #[inline]
    pub(super) fn unlink_unused(&mut self, scene: Scene<'_, H>) {
        while let Some((id, pointer)) = self.unused.pop() {
            let Some(table) = scene.table(id) else { continue };
            let record = scene.deref(table, pointer);
            table.unlink(scene.guard, record);
            self.garbage.push(table.garbage(record));
        }
    }

    /// Whether the plan has any range that a scan may walk.
    pub(super) fn has_ranges(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// Returns the part of its range that the plan lets a scan walk, or `None` if it may not be walked at all.
    /// `ordered` says whether the scan's index is ordered.
    pub(super) fn reach_of(&self, scan: &Scan, ordered: bool) -> Option<Reach> {
        let wanted = walk::Range::new(&scan.lower, &scan.upper);
        let backward = scan.direction == Direction::Backward;
        let suits = |range: &&RangeAccess| {
            range.table == scan.table
                && range.index == scan.index
                && (range.intent == Intent::Write || scan.lock == LockFor::Read)
        };
        let mut planned = self.ranges.iter().filter(suits).map(|range| walk::Range::new(&range.lower, &range.upper));
        let (mut part, mut parts): (Option<walk::Range>, _) = (None, 0);
        planned
            .find_map(|range| match (range.begins_with(&wanted), range.ends_with(&wanted)) {
                (true, true) => Some(Reach::Whole),
                (begins, ends) => {
                    // Of several, the one that goes farthest: another one may end before the scan begins.
                    let is_part = ordered && if backward { ends } else { begins };
                    parts += usize::from(is_part);
                    let goes_farther = |part: &walk::Range| {
                        if backward { range.begins_with(part) } else { range.ends_with(part) }
                    };
                    if is_part && part.as_ref().is_none_or(goes_farther) {
                        part = Some(range);
                    }
                    None
                }
            })
            .or(part.map(|part| Reach::Part(part, parts)))
    }

    /// Returns the position of the next row in the access set's order, if `is_it` holds of that row.
    #[inline]
    pub(super) fn next_if(&mut self, is_it: impl FnOnce(&PlannedRow<H>) -> bool) -> Option<usize> {
        let position = self.next;
        if !is_it(self.rows.get(position)?) {
            return None;
        }
        self.next += 1;
        Some(position)
    }

    /// Whether a row of the plan has this record. `records` caches the records of a plan that was searched.
    pub(super) fn has_record(&self, record: RecordPtr<H>, records: &OnceCell<HashSet<RecordPtr<H>>>) -> bool {
        let all = || self.rows.iter().filter_map(|row| row.record);
        if self.rows.len() <= SEARCHED {
            return all().any(|other| other == record);
        }
        records.get_or_init(|| all().collect()).contains(&record)
    }

    /// Whether this record is the next one of the ranges, in their order, and its row may be touched as `intent` says.
    #[inline]
    pub(super) fn is_next_in_range(&mut self, record: RecordPtr<H>, intent: Intent) -> bool {
        let is_it = |row: &PlannedRow<H>| row.record == Some(record) && covers(row.intent, intent);
        let is_next = self.rows.get(self.next_in_range).is_some_and(is_it);
        self.next_in_range += usize::from(is_next);
        is_next
    }

    /// Returns the position of the row with this key, whose lock has this name, and whose intent covers `intent`, or
    /// `None` if the plan has no such row. The plan is admitted.
    pub(super) fn find(
        &mut self,
        scene: Scene<'_, H>,
        table: &Table<H>,
        (key, name): (&Key, u64),
        intent: Intent,
    ) -> Option<usize> {
        // Where names carry the locks, keys of one name have one lock; where records do, each has its own.
        let suits = |row: &PlannedRow<H>| {
            row.table == table.id()
                && row.name == name
                && covers(row.intent, intent)
                && row.record.is_none_or(|record| scene.deref(table, record).has_key(key))
        };
        if self.rows.len() <= SEARCHED {
            return self.rows.iter().position(suits);
        }
        // Looking through the late rows and taking them into the order cost about the same.
        let late = self.rows.len() - self.sorted.len();
        if self.sorted.is_empty() || late > SEARCHED.max(4 * self.sorted.len().isqrt()) {
            let named = |(position, row): (usize, &PlannedRow<H>)| (row.name, position as u32);
            self.sorted.extend(self.rows.iter().enumerate().skip(self.sorted.len()).map(named));
            // A list that is in order already is not sorted again.
            self.sorted.sort();
        }
        let first = self.sorted.partition_point(|&(other, _)| other < name);
        let mut named = self.sorted[first..].iter().take_while(|&&(other, _)| other == name);
        let found =
            named.by_ref().map(|&(_, position)| position as usize).find(|&position| suits(&self.rows[position]));
        let late = self.sorted.len();
        found.or_else(|| self.rows[late..].iter().position(suits).map(|position| late + position))
    }
}

fn covers(held: Intent, wanted: Intent) -> bool {
    held == Intent::Write || wanted == Intent::Read
}

/// Returns the place where the locks of a range are.
fn place_of_range<H: RecordHeader>(
    table: &Table<H>,
    needs: Needs,
    index: IndexRef,
    lower: &Bound<Key>,
    upper: &Bound<Key>,
) -> Place {
    let key = table.key_of_partition_range(index, lower, upper);
    key.map_or(Place::Everywhere, |key| Place::Partition(needs.partition_of(table, key)))
}

/// Removes the rows of tables that have been dropped meanwhile: no transaction counts on them any more.
#[inline]
pub(crate) fn drop_lost_tables<H: RecordHeader>(scene: Scene<'_, H>, rows: &mut Vec<PlannedRow<H>>) {
    let mut last = None;
    let is_there = |row: &PlannedRow<H>| {
        let known = last == Some(row.table);
        last = Some(row.table);
        known || scene.table(row.table).is_some()
    };
    if !rows.iter().all(is_there) {
        rows.retain(|row| scene.table(row.table).is_some());
    }
}

/// Makes a record for a key that has none. It is not present, and carries the locks of the absent row.
#[cold]
pub(super) fn placeholder<'g, H: RecordHeader>(
    table: &'g Table<H>,
    scene: Scene<'g, H>,
    key: &Key,
    hash: u64,
) -> RecordRef<'g, H> {
    let blank = Row::new(table.layout());
    let record = table.create(scene.guard, key, blank.as_ref());
    record.set_committed();
    match table.link(scene.guard, key, hash, record) {
        Ok(()) => record,
        Err(other) => {
            drop(table.garbage(record));
            other
        }
    }
}
