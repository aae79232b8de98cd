//! Two counters before each record, without a latch: `vll-st`, `vll-st-sca` (§2.3).
//!
//! The counters are those of [`counts`]; the thread that has the partition's baton reads and writes them. A record that
//! carries nothing but counters, for a row that is absent, is unlinked by the transaction that gives the last of them
//! back.

use super::id::Ticket;
use super::locks::{Book, Exhausted, LockState};
use super::piece::PieceRef;
use crate::shared::counts::{self, Asked, Colocated, Counts, Refused, Requests};
use crate::shared::planned::{Needs, Partitions, PlannedRow, Scene, drop_lost_tables};
use crate::shared::range_locks::{Counted, PrefixCounters};
use crate::shared::record;
use hotrow_storage::{Guard, Key, RecordPtr, RecordRef, TableId};
use hotrow_txn::Intent;

/// The locks of a partition as counters of requests. The counters of key prefixes are here, and those of a record are
/// in the record's header.
#[derive(Debug, Default)]
pub struct InRecords {
    prefixes: PrefixCounters,
}

type Row = PlannedRow<Colocated>;

/// Planned rows, whose requests are counted at their records.
struct Rows<'r> {
    rows: &'r [Row],
    guard: Guard<'r>,
}

impl Rows<'_> {
    #[inline]
    fn header(&self, at: usize) -> &Colocated {
        record::header(self.rows[at].record.expect("the engine asked for records"), self.guard)
    }
}

impl Requests for Rows<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline]
    fn intent(&self, at: usize) -> Intent {
        self.rows[at].intent
    }

    fn is_same(&self, one: usize, other: usize) -> bool {
        self.rows[one].record == self.rows[other].record
    }

    #[inline]
    fn counts(&self, at: usize) -> Counts {
        self.header(at).counts()
    }

    #[inline]
    fn set_counts(&self, at: usize, counts: Counts) {
        self.header(at).set_counts(counts);
    }

    #[inline]
    fn is_present(&self, at: usize) -> bool {
        self.rows[at].record.is_some_and(|record| record::is_present(record, self.guard))
    }
}

/// Unlinks a record without a row, on which no transaction counts any more, from its table.
#[cold]
fn unlink(scene: Scene<'_, Colocated>, row: &Row) {
    let Some(table) = scene.table(row.table) else { return };
    let record = scene.deref(table, row.record.expect("it was counted on"));
    table.unlink(scene.guard, record);
    scene.database.collector().defer(table.garbage(record));
}

/// Unlinks the records that were made for rows of a transaction that is not going to ask for them.
fn bury(scene: Scene<'_, Colocated>, rows: &[Row]) {
    let requests = Rows { rows, guard: scene.guard };
    counts::bury(&requests, |at| unlink(scene, &rows[at]));
}

impl LockState for InRecords {
    type Header = Colocated;
    type Owner = ();

    const NEEDS: Needs = Needs { records: true, partitions: Partitions::Parts };
    const FRONT_IS_FREE: bool = true;

    #[inline]
    fn request(
        &mut self,
        scene: Scene<'_, Colocated>,
        _ticket: Ticket,
        _behind_nobody: bool,
        wanted: PieceRef<'_, Colocated>,
    ) -> Result<((), bool), Exhausted> {
        let PieceRef { rows, prefixes } = wanted;
        let are_free = loop {
            match counts::count(&Rows { rows, guard: scene.guard }) {
                Ok(are_free) => break are_free,
                // The transaction that declared it dead has unlinked it: there is another one, or none.
                Err(Refused::Dead(at)) => rows[at].find_again(scene),
                Err(Refused::Exhausted) => {
                    bury(scene, rows);
                    return Err(Exhausted);
                }
            }
        };
        if prefixes.is_empty() {
            return Ok(((), are_free));
        }
        match self.prefixes.request(prefixes) {
            Ok(is_free) => Ok(((), are_free && is_free)),
            Err(_) => {
                counts::take_back(&Rows { rows, guard: scene.guard }, rows.len());
                bury(scene, rows);
                Err(Exhausted)
            }
        }
    }

    #[inline]
    fn release(
        &mut self,
        scene: Scene<'_, Colocated>,
        _owner: (),
        wanted: PieceRef<'_, Colocated>,
        _granted: &mut Vec<Ticket>,
    ) {
        let PieceRef { rows, prefixes } = wanted;
        drop_lost_tables(scene, rows);
        let rows = &*rows;
        counts::discount(&Rows { rows, guard: scene.guard }, |at| unlink(scene, &rows[at]));
        if !prefixes.is_empty() {
            self.prefixes.release(prefixes);
        }
    }

    fn join(&mut self, _ticket: Ticket, _behind_nobody: bool) -> Option<()> {
        Some(())
    }

    fn part(&mut self, _owner: ()) {}

    fn add_row(&mut self, scene: Scene<'_, Colocated>, _owner: (), row: &mut Row) -> bool {
        loop {
            let Some(pointer) = row.record else { return false };
            let header = record::header(pointer, scene.guard);
            let before = header.counts();
            if before == Counts::DEAD {
                row.find_again(scene);
                continue;
            }
            let after = before.with(row.intent).filter(|_| !before.conflicts(row.intent));
            after.into_iter().for_each(|after| header.set_counts(after));
            return after.is_some();
        }
    }

    fn add_prefixes(&mut self, _owner: (), held: &[Counted], wanted: &[Counted]) -> bool {
        !self.prefixes.would_conflict(held, wanted) && self.prefixes.request_more(held, wanted).is_ok()
    }

    fn is_quiet(&self, _queue_is_empty: bool, _name: u64, record: RecordRef<'_, Colocated>) -> bool {
        !record.header().counts().conflicts(Intent::Read)
    }

    fn forget(&mut self, scene: Scene<'_, Colocated>, absent: &[(TableId, Key)]) {
        for (id, key) in absent {
            let Some(table) = scene.table(*id) else { continue };
            let Some(record) = table.find(scene.guard, key, key.hash64()) else { continue };
            if record.header().counts() == Counts::NONE && !record.is_present() {
                record.header().set_counts(Counts::DEAD);
                table.unlink(scene.guard, record);
                scene.database.collector().defer(table.garbage(record));
            }
        }
    }

    fn refresh(scene: Scene<'_, Colocated>, rows: &mut [Row]) {
        for row in rows {
            let is_dead = |record: RecordPtr<Colocated>| record::header(record, scene.guard).counts() == Counts::DEAD;
            if row.record.is_some_and(is_dead) {
                row.find_again(scene);
            }
        }
    }

    fn audit(&self, books: &[Book]) -> Result<(), String> {
        self.prefixes.audit(books.iter().map(|book| &book.prefixes[..]))?;
        counts::audit_free(books.iter().filter(|book| book.runs).map(asked))
    }

    fn audit_records(scene: Scene<'_, Colocated>, books: &[Book], is_all_counted: bool) -> Result<(), String> {
        let all = books.iter().map(asked);
        let counts_of = |record: RecordRef<'_, Colocated>| record.header().counts();
        counts::audit_records(scene.database, scene.guard, all, counts_of, is_all_counted)
    }
}

fn asked(book: &Book) -> Asked<'_> {
    Asked { rows: &book.rows, prefixes: &book.prefixes }
}
