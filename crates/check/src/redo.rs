//! A redo sink that keeps all its records, and rebuilds the rows from them.

use crate::redo_table::{Left, RedoTable};
use hotrow_storage::{
    Change, Database, Duplicate, End, IndexRef, Key, LogFailed, Position, RedoSink, Refusal, Row, RowRef, TableId,
    TableSchema, mix,
};
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Mutex, MutexGuard, Waiter};
use hotrow_txn::{Begin, Engine, Isolation, Scan};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::time::Duration;

/// The greatest length of a pause. Pauses differ, because otherwise all commits would end in the order in which they
/// began.
const LONGEST_PAUSE_NS: u64 = 100_000;

/// A redo sink for tests: it stores the redo records of a database, rebuilds the rows from them, and compares these
/// with the database's rows.
///
/// It must be set as the sink of an engine before the first table is created. It also checks that the engine obeys the
/// contract of [`RedoSink`]: records concern tables that exist, no row occurs twice in a record, and no two records
/// have the same [`End::At`].
#[derive(Default)]
pub struct RedoRecorder {
    pauses: AtomicBool,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// The tables that were made and not dropped.
    tables: Kinds,
    /// The rows that were loaded into these tables.
    loaded: BTreeMap<TableId, Rows>,
    /// The effects of transactions on these tables, in the order in which the records arrived, each with its place
    /// among the others.
    records: Vec<(u64, Vec<Left>)>,
    /// The ends of all records so far.
    ends: BTreeSet<u64>,
    /// The end of the last record of each row. A later record of the row with an earlier end is a fault.
    last: BTreeMap<(TableId, Key), u64>,
    appended: Position,
    /// The first fault that was found.
    fault: Option<String>,
}

type Rows = BTreeMap<Key, Row>;

type Kinds = BTreeMap<TableId, Arc<RedoTable>>;

impl Kept {
    fn note(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }

    fn kind(&mut self, table: TableId) -> Option<Arc<RedoTable>> {
        let found = self.tables.get(&table).cloned();
        if found.is_none() {
            self.note(format!("there is a record of table {}, which is not there", table.0));
        }
        found
    }

    fn left(&mut self, change: Change<'_>) -> Option<Left> {
        Some(match change {
            Change::Put { table, row } => {
                let kind = self.kind(table)?;
                (table, kind.key(row), Some(kind.copy(row)))
            }
            Change::Delete { table, key } => {
                self.kind(table)?;
                (table, key, None)
            }
        })
    }

    /// Returns the place of a record with this end among the others.
    fn place(&mut self, end: End) -> u64 {
        let end = match end {
            End::Next => self.ends.last().map_or(1, |last| last + 1),
            End::At(end) => end,
        };
        if !self.ends.insert(end) {
            self.note(format!("two records end at {end}"));
        }
        end
    }

    /// Returns the rows of each table, made by applying the records in the order of their ends.
    fn rows(&self) -> BTreeMap<TableId, Rows> {
        let mut rows = self.loaded.clone();
        let mut records: Vec<_> = self.records.iter().collect();
        records.sort_by_key(|(end, _)| *end);
        for (table, key, row) in records.into_iter().flat_map(|(_, changes)| changes) {
            let Some(rows) = rows.get_mut(table) else { continue };
            match row {
                Some(row) => rows.insert(key.clone(), row.clone()),
                None => rows.remove(key),
            };
        }
        rows
    }
}

impl RedoRecorder {
    /// Makes a sink without records.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Sets whether calls pause for a pseudo-random time, of at most 100 µs, before they append a record or return that
    /// it is durable. So transactions end in another order than that in which they began to commit.
    pub fn set_pauses(&self, pauses: bool) {
        self.pauses.store(pauses, Ordering::Release);
    }

    /// Returns the number of records so far: of transactions that have changed something.
    pub fn transactions(&self) -> usize {
        self.kept().ends.len()
    }

    /// Rebuilds the rows of all tables from the records, and compares them with the rows in the engine. No transaction
    /// may be running.
    ///
    /// # Errors
    /// A text that describes the first difference, or the first breach of the sink's contract.
    pub fn compare(&self, engine: &dyn Engine) -> Result<(), String> {
        self.rebuild()
            .and_then(|(tables, rows)| {
                tables.iter().try_for_each(|(id, kind)| compare_table(engine, *id, kind, &rows[id]))
            })
            .map_err(|wrong| format!("the redo records {wrong}"))
    }

    /// Returns the tables, and the rows that the records make in them.
    fn rebuild(&self) -> Result<(Kinds, BTreeMap<TableId, Rows>), String> {
        let kept = self.kept();
        if let Some(fault) = &kept.fault {
            return Err(format!("are not what they are to be: {fault}"));
        }
        let rows = kept.rows();
        load(&kept.tables, &rows)?;
        Ok((kept.tables.clone(), rows))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    fn pause(&self, waiter: &Waiter) {
        if self.pauses.load(Ordering::Acquire) {
            waiter.pause(Duration::from_nanos(mix(waiter.now().0) % LONGEST_PAUSE_NS));
        }
    }
}

/// Loads the rows into a separate database, to check that unique indexes admit them.
fn load(tables: &Kinds, rows: &BTreeMap<TableId, Rows>) -> Result<(), String> {
    let database = Database::<()>::new();
    let mut participant = database.participant();
    participant.enter();
    for (id, kind) in tables {
        let table = database.create_table(kind.schema.clone());
        for row in rows[id].values() {
            let loaded = database.load(participant.guard(), table, row.as_ref());
            if let Err(Duplicate(index)) = loaded {
                return Err(format!("of table {} make two rows with the same {index:?}, the second {row:?}", id.0));
            }
        }
    }
    Ok(())
}

fn compare_table(engine: &dyn Engine, id: TableId, kind: &RedoTable, rebuilt: &Rows) -> Result<(), String> {
    let waiter = Waiter::thread(Duration::ZERO);
    waiter.cancel();
    let mut txn = engine.transaction(waiter);
    let mut unmatched: BTreeMap<_, _> = rebuilt.iter().collect();
    let mut wrong = None;
    let columns = kind.layout.columns();
    let looked = txn.begin(&Begin::at(Isolation::Serializable)).and_then(|()| {
        txn.scan(&Scan::all(id, IndexRef::Primary), &mut |row| {
            let expected = unmatched.remove(&kind.key(row));
            let same = expected.is_some_and(|other| (0..columns).all(|at| row.has_same(at, &other.as_ref())));
            if same {
                return ControlFlow::Continue(());
            }
            let expected = expected.map_or("nothing".to_owned(), |row| format!("{row:?}"));
            wrong = Some(format!("of table {} make {expected} where {row:?} is", id.0));
            ControlFlow::Break(())
        })
    });
    txn.abort();
    looked.map_err(|abort| format!("of table {} cannot be compared with its rows: {abort}", id.0))?;
    let missing = unmatched.values().next().map(|row| format!("of table {} make {row:?} where nothing is", id.0));
    wrong.or(missing).map_or(Ok(()), Err)
}

impl RedoSink for RedoRecorder {
    fn created(&self, table: TableId, schema: &TableSchema) {
        let kind = RedoTable::new(schema);
        let mut kept = self.kept();
        kept.loaded.insert(table, Rows::new());
        if kept.tables.insert(table, kind).is_some() {
            kept.note(format!("two tables have the number {}", table.0));
        }
    }

    fn loaded(&self, table: TableId, row: RowRef<'_>) {
        let mut kept = self.kept();
        let Some(kind) = kept.kind(table) else { return };
        kept.loaded.entry(table).or_default().insert(kind.key(row), kind.copy(row));
    }

    fn dropped(&self, table: TableId) {
        let mut kept = self.kept();
        if kept.kind(table).is_some() {
            kept.tables.remove(&table);
            kept.loaded.remove(&table);
            kept.records.iter_mut().for_each(|(_, changes)| changes.retain(|(of, ..)| *of != table));
            kept.records.retain(|(_, changes)| !changes.is_empty());
        }
    }

    fn append(&self, end: End, changes: &mut dyn Iterator<Item = Change<'_>>, waiter: &Waiter) -> Position {
        self.pause(waiter);
        let mut kept = self.kept();
        let changes: Vec<_> = changes.filter_map(|change| kept.left(change)).collect();
        let rows: BTreeSet<_> = changes.iter().map(|(table, key, _)| (table, key)).collect();
        if rows.len() < changes.len() {
            kept.note(format!("a row is in one record twice: {changes:?}"));
        }
        let end = kept.place(end);
        for (table, key, _) in &changes {
            let last = kept.last.insert((*table, key.clone()), end);
            if last.is_some_and(|last| last > end) {
                kept.note(format!("{key:?} of table {} ended at {last:?}, and then at {end}", table.0));
            }
        }
        kept.records.push((end, changes));
        kept.appended.0 += 1;
        kept.appended
    }

    fn appended(&self) -> Position {
        self.kept().appended
    }

    fn wait_durable(&self, position: Position, waiter: &Waiter) -> Result<(), LogFailed> {
        self.pause(waiter);
        let mut kept = self.kept();
        if position > kept.appended {
            kept.note(format!("{position:?} was given to nobody"));
        }
        Ok(())
    }

    fn admits(&self) -> Result<(), Refusal> {
        Ok(())
    }
}
