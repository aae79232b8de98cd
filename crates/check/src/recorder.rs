//! A transaction object that records its operations.

use crate::history::{Event, Item, Operation, Outcome, Range, Record, Version};
use crate::recording::{Recording, Shape};
use hotrow_storage::{IndexRef, Key, RowMut, RowRef, TableId};
use hotrow_sync::Arc;
use hotrow_txn::{
    Abort, Begin, Diagnostics, Direction, Holding, Planned, Savepoint, Scan, Transaction, Write, Yielding, forward,
};
use std::ops::{Bound, ControlFlow};

/// A transaction object that wraps another one, and records the operations of its transactions in a [`Recording`].
///
/// Each write stores its stamp in the table's stamp column, and replaces any value that the caller stores there. So a
/// read shows which write made the version that it saw. The recorder passes the caller's calls on, and makes no others.
/// Reconnaissances are not recorded.
pub struct Recorder {
    inner: Box<dyn Transaction>,
    log: Log,
    /// The savepoints of the inner object, each with the number of events before it.
    savepoints: Vec<(Savepoint, usize)>,
}

/// The record of the present transaction. It is separate from the inner object, so that a row that is borrowed from
/// that object can be read while an event is recorded.
struct Log {
    recording: Arc<Recording>,
    session: String,
    current: Option<Record>,
    /// The reason for which the engine gave the present transaction up.
    gave_up: Option<Abort>,
}

impl Log {
    /// Records an abort by the engine.
    fn note(&mut self, abort: Abort) {
        if abort != Abort::User {
            self.gave_up.get_or_insert(abort);
        }
    }

    fn enter(&mut self, operation: Operation) {
        let event = Event { operation, at: self.recording.tick(), undone_by: None };
        if let Some(current) = &mut self.current {
            current.events.push(event);
        }
    }

    fn enter_read(&mut self, item: Item, shape: &Shape, row: Option<RowRef<'_>>) {
        self.enter(Operation::Read { item, seen: row.map(|row| shape.stamp(row)) });
    }

    fn enter_refusal(&mut self, shape: &Shape, item: &Item, wanted: &Version, index: IndexRef) {
        let key = match index {
            IndexRef::Primary => &item.key,
            IndexRef::Secondary(index) => &wanted.index_keys[usize::from(index.0)],
        };
        self.enter(Operation::Refused { range: Range::at(shape.table, index, key.clone()) });
    }

    fn end(&mut self, ending: u64, outcome: Outcome) {
        if let Some(record) = self.current.take() {
            let ended = self.recording.tick();
            self.recording.end(Record { ending, ended, outcome, ..record });
        }
    }

    /// Records the end of a transaction that did not commit.
    fn give_up(&mut self, ending: u64) {
        let outcome = self.gave_up.take().map_or(Outcome::RolledBack, Outcome::Aborted);
        self.end(ending, outcome);
    }
}

impl Recorder {
    /// Makes a recorder around `inner`. `session` is the name of the recorder in messages about its transactions.
    pub fn new(inner: Box<dyn Transaction>, recording: &Arc<Recording>, session: &str) -> Self {
        let log = Log { recording: recording.clone(), session: session.to_owned(), current: None, gave_up: None };
        Self { inner, log, savepoints: Vec::new() }
    }

    fn shape(&self, table: TableId) -> Arc<Shape> {
        self.log.recording.shape(table)
    }

    /// Records that everything since a savepoint was undone.
    fn rolled_back_to(&mut self, savepoint: Savepoint) {
        let (_, kept) = self.savepoints[savepoint.0];
        self.savepoints.truncate(savepoint.0 + 1);
        if let Some(current) = &mut self.log.current {
            let rollback = current.events.len();
            for event in &mut current.events[kept..] {
                if event.operation.written().is_some() {
                    event.undone_by.get_or_insert(rollback);
                }
            }
        }
        self.log.enter(Operation::RolledBack);
    }
}

impl Transaction for Recorder {
    forward!(inner: takes_residual, capabilities, statistics);

    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort> {
        self.savepoints.clear();
        self.log.gave_up = None;
        self.log.current = (!begin.reconnaissance).then(|| {
            let at = self.log.recording.tick();
            Record {
                session: self.log.session.clone(),
                isolation: begin.isolation,
                events: Vec::new(),
                began: at,
                ending: at,
                ended: at,
                outcome: Outcome::RolledBack,
            }
        });
        self.inner.begin(begin).inspect_err(|abort| self.log.note(*abort))
    }

    fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        let shape = self.shape(table);
        let row = self.inner.read(table, key).inspect_err(|abort| self.log.note(*abort))?;
        self.log.enter_read(Item { table, key: key.clone() }, &shape, row);
        Ok(row)
    }

    fn read_for_update(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        let shape = self.shape(table);
        let row = self.inner.read_for_update(table, key).inspect_err(|abort| self.log.note(*abort))?;
        self.log.enter_read(Item { table, key: key.clone() }, &shape, row);
        Ok(row)
    }

    fn update(
        &mut self,
        table: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        let shape = self.shape(table);
        let stamp = self.log.recording.next_stamp();
        let (mut replaced, mut made) = (None, None);
        let updated = self.inner.update(table, key, &mut |row| {
            replaced = Some(shape.stamp(row.as_ref()));
            change(row)?;
            row.set_int8(shape.stamp_column, stamp.0);
            made = Some(shape.version(row.as_ref()));
            Ok(())
        });
        let write = updated.inspect_err(|abort| self.log.note(*abort))?;
        let item = Item { table, key: key.clone() };
        match (write, replaced, made) {
            (Write::Done, Some(replaced), Some(made)) => self.log.enter(Operation::Update { item, replaced, made }),
            (Write::Done, ..) => panic!("an update is done that called no change"),
            (Write::Duplicate(index), seen, Some(wanted)) => {
                self.log.enter(Operation::Read { item: item.clone(), seen });
                self.log.enter_refusal(&shape, &item, &wanted, index);
            }
            (_, seen, _) => self.log.enter(Operation::Read { item, seen }),
        }
        Ok(write)
    }

    fn insert(&mut self, table: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        let shape = self.shape(table);
        let row = shape.stamped(row, self.log.recording.next_stamp());
        let item = shape.item(row.as_ref());
        let write = self.inner.insert(table, row.as_ref()).inspect_err(|abort| self.log.note(*abort))?;
        let made = shape.version(row.as_ref());
        match write {
            Write::Done => self.log.enter(Operation::Insert { item, made }),
            Write::Duplicate(index) => self.log.enter_refusal(&shape, &item, &made, index),
            Write::Absent => {}
        }
        Ok(write)
    }

    fn delete(&mut self, table: TableId, key: &Key) -> Result<Write, Abort> {
        let write = self.inner.delete(table, key).inspect_err(|abort| self.log.note(*abort))?;
        let item = Item { table, key: key.clone() };
        match write {
            Write::Done => self.log.enter(Operation::Delete { item }),
            Write::Absent => self.log.enter(Operation::Read { item, seen: None }),
            Write::Duplicate(_) => {}
        }
        Ok(write)
    }

    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        let shape = self.shape(scan.table);
        let (mut seen, mut last) = (Vec::new(), None);
        let scanned = self.inner.scan(scan, &mut |row| {
            seen.push((shape.item(row), shape.stamp(row)));
            let flow = visit(row);
            if flow.is_break() {
                last = Some(shape.index_key(scan.index, row));
            }
            flow
        });
        scanned.inspect_err(|abort| self.log.note(*abort))?;
        match last {
            None => self.log.enter(Operation::Scan { range: range_of(scan), seen }),
            Some(last) if scan.index == IndexRef::Primary && shape.ordered => {
                self.log.enter(Operation::Scan { range: until(scan, last), seen });
            }
            // If rows have the same key, or keys have no order, the scan may have left some unvisited.
            Some(_) => {
                for (item, stamp) in seen {
                    self.log.enter(Operation::Read { item, seen: Some(stamp) });
                }
            }
        }
        Ok(())
    }

    fn savepoint(&mut self) -> Savepoint {
        let events = self.log.current.as_ref().map_or(0, |current| current.events.len());
        self.savepoints.push((self.inner.savepoint(), events));
        Savepoint(self.savepoints.len() - 1)
    }

    fn rollback_to(&mut self, savepoint: Savepoint) {
        let (inner, _) = self.savepoints[savepoint.0];
        self.inner.rollback_to(inner);
        self.rolled_back_to(savepoint);
    }

    fn commit(&mut self) -> Result<(), Abort> {
        let ending = self.log.recording.tick();
        self.inner.commit().inspect_err(|abort| self.log.note(*abort))?;
        self.log.end(ending, Outcome::Committed);
        Ok(())
    }

    fn abort(&mut self) {
        let ending = self.log.recording.tick();
        self.inner.abort();
        self.log.give_up(ending);
    }
}

impl Holding for Recorder {
    forward!(inner: hold_reads, own_table);

    /// Records that there is no such row. If there is one, the engine does not say which version is held, and nothing
    /// is recorded.
    fn hold_row(&mut self, table: TableId, key: &Key) -> Result<bool, Abort> {
        let is_there = self.inner.hold_row(table, key).inspect_err(|abort| self.log.note(*abort))?;
        if !is_there {
            self.log.enter(Operation::Read { item: Item { table, key: key.clone() }, seen: None });
        }
        Ok(is_there)
    }

    fn check_owned_table(&mut self, table: TableId) -> Result<(), Abort> {
        self.inner.check_owned_table(table).inspect_err(|abort| self.log.note(*abort))
    }
}

impl Yielding for Recorder {
    forward!(inner: retire_writes, idle);

    fn give_way(&mut self, to: Option<Savepoint>) -> Result<bool, Abort> {
        match to {
            Some(savepoint) => {
                let (inner, _) = self.savepoints[savepoint.0];
                let waited = self.inner.give_way(Some(inner));
                self.rolled_back_to(savepoint);
                if waited == Ok(true) {
                    // The transaction goes on in spite of the conflict.
                    self.log.gave_up = None;
                }
                waited.inspect_err(|abort| self.log.note(*abort))
            }
            None => {
                // The transaction ends before the wait does.
                let ending = self.log.recording.tick();
                self.log.give_up(ending);
                self.inner.give_way(None)
            }
        }
    }
}

impl Planned for Recorder {
    forward!(inner: schema_of, add_missing, announce);
}

impl Diagnostics for Recorder {
    forward!(inner: deadlock, exclusion, prospect);
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let ending = self.log.recording.tick();
        self.log.give_up(ending);
    }
}

fn range_of(scan: &Scan) -> Range {
    Range { table: scan.table, index: scan.index, lower: scan.lower.clone(), upper: scan.upper.clone() }
}

/// Returns the part of a scan's range that the scan has seen when it stopped at the key `last`.
fn until(scan: &Scan, last: Key) -> Range {
    let whole = range_of(scan);
    match scan.direction {
        Direction::Forward => Range { upper: Bound::Included(last), ..whole },
        Direction::Backward => Range { lower: Bound::Included(last), ..whole },
    }
}
