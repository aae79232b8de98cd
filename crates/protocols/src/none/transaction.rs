//! A transaction without isolation.

use crate::shared::log_times::log_step;
use crate::shared::walk::{self, Step};
use crate::shared::{batch, begin_call, record, table, table_to_write};
use hotrow_storage::{
    Change, Database, End, Guard, IndexId, IndexRef, Key, Participant, Position, RecordPtr, RecordRef, RedoSink, Row,
    RowLayout, RowMut, RowRef, SecondaryIndex, Table, TableId, Variable,
};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{
    Abort, Begin, Capabilities, Diagnostics, EngineInfo, Holding, Planned, Protocol, Savepoint, Scan, Scheduler,
    Statistics, Transaction, WorkerId, Write, Yielding, standard,
};
use std::ops::ControlFlow;

/// The protocol `none`, which does not isolate transactions from each other.
pub struct NoIsolation;

/// The settings of `none`, of which there are none.
#[derive(Clone, Debug, Default)]
pub struct NoneConfig;

impl Protocol for NoIsolation {
    const INFO: EngineInfo = EngineInfo {
        name: "none",
        summary: "no isolation at all: the floor that engines are measured from; benchmarks only",
        source: "VLL §3.2 (no concurrency control)",
        capabilities: Capabilities::NONE,
        scheduler: Scheduler::Thread,
        isolates: false,
        isolation: &[],
        concurrency: None,
        settings: &[],
        pool_settings: &[],
    };
    type Config = NoneConfig;
    type Table = Table<()>;
    type Worker = ();
    type Transaction = NoneTransaction;

    fn new(_config: NoneConfig) -> Self {
        Self
    }

    fn worker(&self, _id: WorkerId) {}

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Database<()>>,
        _worker: &mut (),
        waiter: Waiter,
    ) -> NoneTransaction {
        NoneTransaction {
            database: database.clone(),
            participant: database.participant(),
            waiter,
            row: Copied::default(),
            log: Vec::new(),
            replaced: Vec::new(),
            statistics: Statistics::default(),
            read_only: false,
            running: false,
        }
    }
}

/// A copy of a row, fixed part and variable part.
#[derive(Default)]
struct Copied {
    fixed: Vec<u8>,
    variable: Vec<u8>,
}

impl Copied {
    #[inline]
    fn take(&mut self, record: RecordRef<'_, ()>, layout: &RowLayout) {
        self.fixed.resize(layout.fixed_size(), 0);
        record.copy_unisolated(&mut self.fixed, &mut self.variable);
    }

    /// Appends both parts to `images`; returns where they begin.
    #[inline]
    fn save(&self, layout: &RowLayout, images: &mut Vec<u8>) -> (usize, usize) {
        let fixed = images.len();
        images.extend_from_slice(&self.fixed);
        let variable = images.len();
        if layout.has_variable() {
            images.extend_from_slice(&self.variable);
        }
        (fixed, variable)
    }

    #[inline]
    fn row<'r>(&'r self, layout: &'r RowLayout) -> RowRef<'r> {
        RowRef::new(layout, &self.fixed, if layout.has_variable() { &self.variable } else { &[] })
    }
}

/// A step of the log, by which a change is undone. The record of a deleted row stays linked, as an absent row, until
/// its table is dropped. So another transaction that follows an index to the record finds memory that is still there.
enum Undo {
    Changed { record: RecordPtr<()>, fixed: usize, variable: usize, end: usize },
    Inserted { record: RecordPtr<()> },
    Deleted { record: RecordPtr<()> },
}

impl Undo {
    fn record(&self) -> RecordPtr<()> {
        match self {
            Undo::Changed { record, .. } | Undo::Inserted { record } | Undo::Deleted { record } => *record,
        }
    }
}

/// A transaction of `none`. It takes no locks, and validates nothing.
pub struct NoneTransaction {
    database: Arc<Database<()>>,
    participant: Participant,
    waiter: Waiter,
    row: Copied,
    log: Vec<(TableId, Undo)>,
    /// The rows as they were before each change: fixed part, then variable part.
    replaced: Vec<u8>,
    statistics: Statistics,
    read_only: bool,
    running: bool,
}

fn retire(participant: &mut Participant, variable: Option<Variable>) {
    if let Some(variable) = variable.filter(|variable| !variable.is_empty()) {
        participant.retire(variable.into_garbage());
    }
}

impl NoneTransaction {
    /// Begins a call. Fails if no transaction is running.
    #[inline]
    fn enter(&mut self) -> Result<(), Abort> {
        begin_call(self.running, &mut self.participant)
    }

    #[inline]
    fn enter_to_write(&mut self) -> Result<(), Abort> {
        self.enter()?;
        if self.read_only { Err(Abort::User) } else { Ok(()) }
    }

    fn end(&mut self) {
        self.log.clear();
        self.replaced.clear();
        self.participant.leave();
        self.running = false;
    }

    /// Returns whether another present row has the row's columns in a unique index.
    fn duplicate(
        table: &Table<()>,
        guard: Guard<'_>,
        own: Option<RecordRef<'_, ()>>,
        row: RowRef<'_>,
    ) -> Option<IndexId> {
        let mut copied = Copied::default();
        let mut taken = |index: &SecondaryIndex<()>| {
            let columns = index.key_of(row);
            let mut taken = false;
            index.equal(guard, &columns, |entry| {
                let other = record::deref(entry.record(), guard, table);
                if own.is_none_or(|own| own.ptr() != other.ptr()) && other.is_present() {
                    copied.take(other, table.layout());
                    taken = index.key_of(copied.row(table.layout())) == columns;
                }
                if taken { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            taken
        };
        let mut excluding = table.secondary().iter().enumerate().filter(|(_, index)| index.excludes(row));
        excluding.find(|(_, index)| taken(index)).map(|(position, _)| IndexId(position as u16))
    }

    fn link_entries(table: &Table<()>, guard: Guard<'_>, record: RecordRef<'_, ()>, row: RowRef<'_>) {
        for index in table.secondary() {
            let columns = index.key_of(row);
            if index.find(guard, &columns, &record.key(), record.ptr()).is_none() {
                index.link(guard, columns, &record.key(), record.ptr()).set_committed();
            }
        }
    }

    /// Hands the rows that the transaction has touched to the sink, as they are now, whichever transaction made them
    /// so.
    #[cold]
    fn append_to(&self, sink: &dyn RedoSink) -> Position {
        if self.log.is_empty() {
            return sink.appended();
        }
        let mut touched: Vec<_> = self.log.iter().map(|(table, step)| (*table, step.record())).collect();
        touched.sort_unstable();
        touched.dedup();
        let guard = self.participant.guard();
        let mut copied = Copied::default();
        let left = touched.into_iter().filter_map(|(id, record)| {
            let table = self.database.table(guard, id)?;
            self.database.redo_of(table)?;
            let record = record::deref(record, guard, table);
            let row = record.is_present().then(|| {
                copied.take(record, table.layout());
                let mut row = Row::new(table.layout());
                row.copy_from(copied.row(table.layout()));
                row
            });
            Some((id, row.ok_or_else(|| record.key())))
        });
        let left: Vec<_> = left.collect();
        if left.is_empty() {
            return sink.appended();
        }
        let mut changes = left.iter().map(|(table, row)| match row {
            Ok(row) => Change::Put { table: *table, row: row.as_ref() },
            Err(key) => Change::Delete { table: *table, key: key.clone() },
        });
        sink.append(End::Next, &mut changes, &self.waiter)
    }

    fn undo(&mut self, to: Savepoint) {
        while self.log.len() > to.0 {
            let Some((id, step)) = self.log.pop() else { return };
            let guard = self.participant.guard();
            let Some(table) = self.database.table(guard, id) else { continue };
            let replaced = match step {
                Undo::Changed { record, fixed, variable, end } => {
                    let old = &self.replaced[fixed..end];
                    let (fixed_part, variable_part) = old.split_at(variable - fixed);
                    let has_variable = table.layout().has_variable();
                    let record = record::deref(record, guard, table);
                    let replaced = record.store_unisolated(fixed_part, has_variable.then_some(variable_part));
                    self.replaced.truncate(fixed);
                    replaced
                }
                Undo::Inserted { record } => {
                    record::deref(record, guard, table).set_present(false);
                    None
                }
                Undo::Deleted { record } => {
                    record::deref(record, guard, table).set_present(true);
                    None
                }
            };
            retire(&mut self.participant, replaced);
        }
    }
}

impl Transaction for NoneTransaction {
    standard!(takes_residual);

    #[inline]
    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort> {
        debug_assert!(!self.running, "a transaction is running");
        self.read_only = begin.read_only;
        self.running = true;
        self.participant.enter();
        if let Some(accesses) = begin.accesses {
            batch::prefetch(&self.database, self.participant.guard(), accesses.rows(), |_, _| {});
        }
        Ok(())
    }

    #[inline]
    fn read(&mut self, id: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.enter()?;
        let guard = self.participant.guard();
        let table = table(&self.database, guard, id)?;
        let Some(record) = table.find(guard, key, key.hash64()).filter(|record| record.is_present()) else {
            return Ok(None);
        };
        self.row.take(record, table.layout());
        Ok(Some(self.row.row(table.layout())))
    }

    fn read_for_update(&mut self, id: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.read(id, key)
    }

    #[inline]
    fn update(
        &mut self,
        id: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let guard = self.participant.guard();
        let table = table_to_write(&self.database, guard, id)?;
        let Some(record) = table.find(guard, key, key.hash64()).filter(|record| record.is_present()) else {
            return Ok(Write::Absent);
        };
        let layout: &RowLayout = table.layout();
        self.row.take(record, layout);
        let (fixed, variable) = self.row.save(layout, &mut self.replaced);
        let old_variable: &[u8] = if layout.has_variable() { &self.row.variable } else { &[] };
        let mut row = RowMut::new(layout, &mut self.row.fixed, old_variable);
        if let Err(abort) = change(&mut row) {
            self.replaced.truncate(fixed);
            return Err(abort);
        }
        if !table.secondary().is_empty() {
            if let Some(index) = Self::duplicate(table, guard, Some(record), row.as_ref()) {
                self.replaced.truncate(fixed);
                return Ok(Write::Duplicate(IndexRef::Secondary(index)));
            }
            Self::link_entries(table, guard, record, row.as_ref());
        }
        let new_variable = row.into_variable();
        let replaced = record.store_unisolated(&self.row.fixed, new_variable.as_deref());
        self.log.push((id, Undo::Changed { record: record.ptr(), fixed, variable, end: self.replaced.len() }));
        retire(&mut self.participant, replaced);
        Ok(Write::Done)
    }

    fn insert(&mut self, id: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let guard = self.participant.guard();
        let table = table_to_write(&self.database, guard, id)?;
        let key = table.key_of(row);
        let hash = key.hash64();
        let found = table.find(guard, &key, hash);
        if found.is_some_and(|record| record.is_present()) {
            return Ok(Write::Duplicate(IndexRef::Primary));
        }
        if let Some(index) = Self::duplicate(table, guard, found, row) {
            return Ok(Write::Duplicate(IndexRef::Secondary(index)));
        }
        let mut replaced = None;
        let record = match found {
            Some(record) => {
                let has_variable = table.layout().has_variable();
                self.row.take(record, table.layout());
                let (fixed, variable) = self.row.save(table.layout(), &mut self.replaced);
                self.log.push((id, Undo::Changed { record: record.ptr(), fixed, variable, end: self.replaced.len() }));
                replaced = record.store_unisolated(row.fixed(), has_variable.then_some(row.variable()));
                record
            }
            None => {
                let record = table.create(guard, &key, row);
                if table.link(guard, &key, hash, record).is_err() {
                    drop(table.garbage(record));
                    return Ok(Write::Duplicate(IndexRef::Primary));
                }
                record.set_committed();
                record
            }
        };
        Self::link_entries(table, guard, record, row);
        record.set_present(true);
        self.log.push((id, Undo::Inserted { record: record.ptr() }));
        retire(&mut self.participant, replaced);
        Ok(Write::Done)
    }

    fn delete(&mut self, id: TableId, key: &Key) -> Result<Write, Abort> {
        self.enter_to_write()?;
        let guard = self.participant.guard();
        let table = table_to_write(&self.database, guard, id)?;
        let Some(record) = table.find(guard, key, key.hash64()).filter(|record| record.is_present()) else {
            return Ok(Write::Absent);
        };
        record.set_present(false);
        self.log.push((id, Undo::Deleted { record: record.ptr() }));
        Ok(Write::Done)
    }

    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        self.enter()?;
        if self.read_only && scan.lock.is_update() {
            return Err(Abort::User);
        }
        let guard = self.participant.guard();
        let table = table(&self.database, guard, scan.table)?;
        let copied = &mut self.row;
        let mut visit = |step: &Step<'_, ()>| {
            if !step.record.is_present() {
                return ControlFlow::Continue(());
            }
            copied.take(step.record, table.layout());
            let row = copied.row(table.layout());
            let current = match (scan.index, step.entry) {
                (IndexRef::Secondary(index), Some(entry)) => {
                    entry.has_columns(&table.secondary_index(index).key_of(row))
                }
                _ => true,
            };
            if current { visit(row) } else { ControlFlow::Continue(()) }
        };
        walk::along(table, guard, scan, &mut visit)
    }

    fn savepoint(&mut self) -> Savepoint {
        Savepoint(self.log.len())
    }

    fn rollback_to(&mut self, savepoint: Savepoint) {
        if self.enter().is_ok() {
            self.undo(savepoint);
        }
    }

    #[inline]
    fn commit(&mut self) -> Result<(), Abort> {
        self.enter()?;
        let timed = self.statistics.timed && self.database.redo().is_some();
        let append = || self.database.redo().map(|sink| self.append_to(sink));
        let (handed, append_ns) = log_step(timed, &self.waiter, append);
        self.end();
        let (durable, wait_ns) = log_step(timed, &self.waiter, || self.database.wait_durable(handed, &self.waiter));
        self.statistics.log.add_commit(append_ns, wait_ns);
        durable?;
        Ok(())
    }

    fn abort(&mut self) {
        if self.enter().is_ok() {
            self.undo(Savepoint(0));
            self.end();
        }
    }

    #[inline]
    fn capabilities(&self) -> Capabilities {
        NoIsolation::INFO.capabilities
    }

    fn statistics(&mut self) -> &mut Statistics {
        &mut self.statistics
    }
}

impl Holding for NoneTransaction {
    standard!(hold_reads, hold_row, own_table, check_owned_table);
}

impl Yielding for NoneTransaction {
    standard!(give_way, retire_writes, idle);
}

impl Planned for NoneTransaction {
    standard!(schema_of, add_missing, announce);
}

impl Diagnostics for NoneTransaction {
    standard!(deadlock, exclusion, prospect);
}

impl Drop for NoneTransaction {
    fn drop(&mut self) {
        self.abort();
    }
}
