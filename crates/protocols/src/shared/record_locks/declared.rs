//! Locking the rows of an access set together, as a transaction begins.
//!
//! **Source.** Zhu, Wang, Hu, Qian, Wang, Zhou: Interactive Transaction Processing for In-Memory Database System, §7,
//! leaves it to future work to serve one-shot and interactive transactions by one engine. Ren, Faleiro, Abadi: Design
//! Principles for Scaling Multi-core OLTP Under High Contention, §3.2, takes locks in one order.
//!
//! **Invariants**
//!
//! 1. A transaction locks the rows of its access set before it reads or writes anything, each row once and in the
//!    strongest mode that the set names. The order is that of the rows' names, then tables, then keys: one order of all
//!    rows, present and absent, for all transactions.
//! 2. *Transactions that lock nothing outside their access sets do not deadlock among themselves.* Each waits in
//!    `begin` only, and for one row. The holders of the row's lock and the requests before its own belong to
//!    transactions that have the row, or wait for it. If these wait for another row, it comes later in the order. So
//!    along the edges of the wait-for graph the rows ascend, and a path within one row ends at its holders: no path is
//!    a cycle. A key has [one lock](super) at any time, so it does not matter whether that is a record's or a name's.
//! 3. Reads of the set are locked to the transaction's end at every level. At read committed a lock that ends with its
//!    call would be waited for while others are held, and out of order.
//! 4. *A row that was found as it was locked is not looked for again.* The transaction holds its record's lock, so no
//!    other transaction unlinks the record. When the transaction itself has deleted the row, its record has none, and
//!    the row is looked for.
//!
//! A lock outside its set is taken when the transaction comes to it: of a row that the set lacks, a range, the gaps and
//! unique columns of an insert. Such a wait can close a cycle, which is [found](crate::shared::deadlocks) as any other.

use super::lock::RecordLock;
use super::locker::Locker;
use crate::shared::batch;
use crate::shared::locking::Sought;
use crate::shared::mode::Mode;
use crate::shared::record;
use hotrow_storage::{Database, Guard, RecordPtr, RecordRef, TableId};
use hotrow_txn::{Abort, Access, Intent};
use std::cmp::Ordering;

/// The number of rows that are looked up together. What is fetched for the first of them is still in a core's cache
/// when the last is fetched.
const LOOKED_UP_TOGETHER: usize = 1024;

/// The number of rows of the set, from the last access on, among which the row of the next access is looked for.
const LOOKED_THROUGH: usize = 16;

/// The number of rows up to which they are sorted by comparing each with each.
const RANKED: usize = 24;

/// The place of a row that has not been filled in yet.
const UNFILLED: u32 = u32::MAX;

/// The rows of one access set, which are locked as the transaction begins, and their records. The next transaction uses
/// the lists again.
pub(super) struct Declared<L> {
    order: Order,
    /// The records of the rows that are locked, by the rows' positions in the set.
    locked: Vec<Option<Locked<L>>>,
    /// The position in the set of the last access.
    last: usize,
}

/// The order in which rows are locked.
#[derive(Default)]
struct Order {
    /// The rows in the order in which they are locked.
    rows: Vec<Row>,
    /// The rows in the order of the set.
    unsorted: Vec<Row>,
}

/// The record of a row that is locked.
struct Locked<L> {
    table: TableId,
    hash: u64,
    record: RecordPtr<L>,
    mode: Mode,
}

/// A row of the access set.
#[derive(Clone, Copy)]
struct Row {
    name: u64,
    /// The row's position in the access set.
    place: u32,
}

impl<L> Default for Declared<L> {
    fn default() -> Self {
        Self { order: Order::default(), locked: Vec::new(), last: 0 }
    }
}

impl<L: RecordLock> Declared<L> {
    /// Forgets the rows of the last transaction.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.locked.clear();
        self.last = 0;
    }

    /// Locks the rows of the access set, in one order. The rows of the last transaction have been
    /// [cleared](Self::clear).
    ///
    /// # Errors
    /// Returns the error of a wait. The rows that are locked by then stay so until the transaction aborts.
    #[inline]
    pub(super) fn lock(
        &mut self,
        locks: &mut Locker<L>,
        database: &Database<L>,
        guard: Guard<'_>,
        accesses: &[Access],
    ) -> Result<(), Abort> {
        self.order.sort(accesses);
        self.locked.resize_with(accesses.len(), || None);
        for rows in self.order.rows.chunks(LOOKED_UP_TOGETHER) {
            let of_row = |row: &Row| &accesses[row.place as usize];
            batch::prefetch(database, guard, rows.iter().map(of_row), |_, _| {});
            for row in rows {
                let Access { table, key, hash, intent } = of_row(row);
                let (hash, mode) = (*hash, mode(*intent));
                // A table that is gone has no rows to lock, and the access to it fails. A constant one needs no locks.
                let Some(table) = database.table(guard, *table).filter(|table| !table.is_constant()) else { continue };
                let found = locks.row(table, guard, (key, hash), mode)?;
                let locked = |record: RecordRef<'_, L>| Locked { table: table.id(), hash, record: record.ptr(), mode };
                self.locked[row.place as usize] = found.map(locked);
            }
        }
        Ok(())
    }

    /// Forgets a record that the transaction has released.
    pub(super) fn forget(&mut self, record: RecordPtr<L>) {
        let of_record = |locked: &&mut Option<Locked<L>>| locked.as_ref().is_some_and(|locked| locked.record == record);
        self.locked.iter_mut().filter(of_record).for_each(|locked| *locked = None);
    }

    /// Returns the record of a row, if the row is present and was locked with the access set in a mode that covers
    /// `mode`. Searches only a few rows of the set, from the last access on, so `None` does not mean that the row is
    /// not locked.
    #[inline]
    pub(super) fn find<'s>(&mut self, row: &Sought<'_, 's, L>, mode: Mode) -> Option<RecordRef<'s, L>> {
        let is_of_row =
            |locked: &Locked<L>| locked.hash == row.hash && locked.table == row.table.id() && locked.mode.covers(mode);
        // A transaction goes through its set in order, in all likelihood.
        let mut ahead = self.locked.iter().enumerate().skip(self.last).take(LOOKED_THROUGH);
        let (place, locked) =
            ahead.find_map(|(place, locked)| Some(place).zip(locked.as_ref().filter(|locked| is_of_row(locked))))?;
        self.last = place;
        Some(record::deref(locked.record, row.guard, row.table))
            .filter(|record| record.is_present() && record.has_key(row.key))
    }
}

impl Order {
    /// Sorts the rows, and keeps each once, with the access that needs the strongest lock of it.
    #[inline]
    fn sort(&mut self, accesses: &[Access]) {
        self.rows.clear();
        self.unsorted.clear();
        let row = |(place, access): (u32, &Access)| Row { name: access.lock_name(), place };
        self.unsorted.extend((0..).zip(accesses).map(row));
        if self.unsorted.len() > RANKED || !self.rank() {
            self.sort_many(accesses);
        }
    }

    /// Sorts few rows by their names, if all names are different: the place of each row is the number of smaller names.
    /// No branch depends on a name, so the processor predicts none wrong. Returns whether the rows were sorted.
    #[inline]
    fn rank(&mut self) -> bool {
        let Self { unsorted, rows, .. } = self;
        rows.resize(unsorted.len(), Row { name: 0, place: UNFILLED });
        for row in &*unsorted {
            let rank: usize = unsorted.iter().map(|other| usize::from(other.name < row.name)).sum();
            rows[rank] = *row;
        }
        // Of rows of one name all but one have left their places unfilled.
        rows.iter().all(|row| row.place != UNFILLED)
    }

    /// Sorts any number of rows.
    fn sort_many(&mut self, accesses: &[Access]) {
        let same = |one: &Row, other: &Row| {
            let [one, other] = [one, other].map(|row| &accesses[row.place as usize]);
            one.table.0.cmp(&other.table.0).then_with(|| one.key.cmp(&other.key))
        };
        let reads = |row: &Row| accesses[row.place as usize].intent == Intent::Read;
        std::mem::swap(&mut self.rows, &mut self.unsorted);
        self.rows.sort_unstable_by(|one, other| {
            let by_row = one.name.cmp(&other.name).then_with(|| same(one, other));
            by_row.then_with(|| reads(one).cmp(&reads(other)))
        });
        // Of a row's accesses the first is a write, if there is one.
        self.rows.dedup_by(|later, kept| later.name == kept.name && same(later, kept) == Ordering::Equal);
    }
}

fn mode(intent: Intent) -> Mode {
    match intent {
        Intent::Read => Mode::SHARED,
        Intent::Write => Mode::EXCLUSIVE,
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use hotrow_storage::{Key, TableId};

    /// Accesses to keys of two tables, all under one name where `collide` says so.
    fn accesses(list: &[(u32, i64, Intent)], collide: bool) -> Vec<Access> {
        let access = |&(table, key, intent): &(u32, i64, Intent)| {
            let (table, key) = (TableId(table), Key::Int(key));
            let hash = key.hash64();
            Access { table, key, hash: if collide { 7 } else { hash }, intent }
        };
        list.iter().map(access).collect()
    }

    fn sorted(accesses: &[Access]) -> Vec<(u32, Key, Intent)> {
        let mut order = Order::default();
        order.sort(accesses);
        let row = |row: &Row| {
            let access = &accesses[row.place as usize];
            (access.table.0, access.key.clone(), access.intent)
        };
        order.rows.iter().map(row).collect()
    }

    #[test]
    fn each_row_is_there_once_in_its_strongest_mode_and_in_one_order() {
        use Intent::{Read, Write};
        let list = [(1, 4, Read), (1, 5, Write), (2, 4, Read), (1, 4, Write), (1, 5, Read), (1, 6, Read), (1, 4, Read)];
        let mut reversed = list;
        reversed.reverse();
        for collide in [false, true] {
            let rows = sorted(&accesses(&list, collide));
            assert_eq!(rows, sorted(&accesses(&reversed, collide)), "whatever the order of the set is");
            let mut by_key = rows.clone();
            by_key.sort_by_key(|(table, key, _)| (*table, key.clone()));
            let expected = [(1, 4, Write), (1, 5, Write), (1, 6, Read), (2, 4, Read)];
            assert_eq!(by_key, expected.map(|(table, key, intent)| (table, Key::Int(key), intent)), "{collide}");
        }
    }
}
