//! A redo sink that stands for a log: it keeps all records in order, and can rebuild the tables from any prefix of
//! them.

use crate::redo_table::{Left, RedoTable};
use hotrow_storage::{Change, End, Key, LogFailed, Position, RedoSink, Refusal, Row, RowRef, TableId, TableSchema};
use hotrow_sync::{Arc, Mutex, MutexGuard, Waiter};
use hotrow_txn::Engine;
use std::collections::BTreeMap;

/// Keeps a database's redo records in the order of their positions, as a log on a disk would.
///
/// A test simulates a crash: it takes a prefix of the records ([`cut`](Self::cut)), loads their rows into a new engine
/// ([`load`](Self::load)), and goes on with the shorter log. Of several records of one row, that with the latest
/// position counts, whatever their ends.
#[derive(Default)]
pub struct RecordedLog {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    records: Vec<Record>,
    /// The number of records, from the first on, that are durable: a transaction has waited for them.
    durable: usize,
    refusal: Option<Refusal>,
    has_failed: bool,
}

#[derive(Clone)]
enum Record {
    Created(TableId, Arc<RedoTable>),
    Loaded(TableId, Row),
    Dropped(TableId),
    Transaction(Vec<Left>),
}

impl Kept {
    fn shape(&self, table: TableId) -> Arc<RedoTable> {
        let found = self.records.iter().rev().find_map(|record| match record {
            Record::Created(id, shape) if *id == table => Some(shape.clone()),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("there is a record of table {}, which was not created", table.0))
    }

    fn append(&mut self, record: Record) -> Position {
        self.records.push(record);
        Position(self.records.len() as u64)
    }
}

impl RecordedLog {
    /// Makes a log without records.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Returns the number of records.
    pub fn records(&self) -> usize {
        self.kept().records.len()
    }

    /// Returns the number of records, from the first on, that are durable, because a transaction has waited for them.
    pub fn durable(&self) -> usize {
        self.kept().durable
    }

    /// Returns the number of records of changes, which transactions and sequences have appended; records of tables and
    /// loads are left out.
    pub fn transactions(&self) -> usize {
        self.kept().records.iter().filter(|record| matches!(record, Record::Transaction(_))).count()
    }

    /// Makes the log refuse changes from now on, for this reason, or admit them again if `refusal` is `None`.
    pub fn refuse(&self, refusal: Option<Refusal>) {
        self.kept().refusal = refusal;
    }

    /// Makes the log fail: no further record becomes durable, and changes are refused.
    pub fn fail(&self) {
        let mut kept = self.kept();
        (kept.has_failed, kept.refusal) = (true, Some(Refusal::Failed));
    }

    /// Returns a log of the first `records` records, all of which are durable.
    pub fn cut(&self, records: usize) -> Arc<Self> {
        let records = self.kept().records[..records].to_vec();
        let kept = Kept { durable: records.len(), records, ..Kept::default() };
        Arc::new(Self { kept: Mutex::new(kept) })
    }

    /// Rebuilds the tables of the records, with their numbers and rows, in an engine that has no tables. The engine
    /// must have no sink yet.
    ///
    /// # Errors
    /// If the engine does not admit a table, or a unique index refuses a row. The text says which.
    pub fn load(&self, engine: &dyn Engine) -> Result<(), String> {
        let kept = self.kept();
        let mut tables: BTreeMap<TableId, (Arc<RedoTable>, BTreeMap<Key, Row>)> = BTreeMap::new();
        let mut next = TableId(0);
        for record in &kept.records {
            match record {
                Record::Created(table, shape) => {
                    next = next.max(TableId(table.0 + 1));
                    tables.insert(*table, (shape.clone(), BTreeMap::new()));
                }
                Record::Loaded(table, row) => {
                    let (shape, rows) = tables.get_mut(table).expect("it was created before");
                    rows.insert(shape.key(row.as_ref()), row.clone());
                }
                Record::Dropped(table) => drop(tables.remove(table)),
                Record::Transaction(changes) => {
                    for (table, key, row) in changes {
                        // A transaction's record may follow that of the drop of a table that it used before.
                        let Some((_, rows)) = tables.get_mut(table) else { continue };
                        match row {
                            Some(row) => rows.insert(key.clone(), row.clone()),
                            None => rows.remove(key),
                        };
                    }
                }
            }
        }
        for (id, (shape, rows)) in tables {
            engine.admits(&shape.schema)?;
            engine.restore_table(id, shape.schema.clone());
            for row in rows.values() {
                let loaded = engine.load(id, row.as_ref());
                loaded.map_err(|duplicate| format!("two rows of table {} have the key {:?}", id.0, duplicate.0))?;
            }
        }
        engine.skip_tables(next);
        Ok(())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

impl RedoSink for RecordedLog {
    fn created(&self, table: TableId, schema: &TableSchema) {
        self.kept().append(Record::Created(table, RedoTable::new(schema)));
    }

    fn loaded(&self, table: TableId, row: RowRef<'_>) {
        let mut kept = self.kept();
        let row = kept.shape(table).copy(row);
        kept.append(Record::Loaded(table, row));
    }

    fn dropped(&self, table: TableId) {
        self.kept().append(Record::Dropped(table));
    }

    fn append(&self, _: End, changes: &mut dyn Iterator<Item = Change<'_>>, _: &Waiter) -> Position {
        let mut kept = self.kept();
        let left = |change: Change<'_>| match change {
            Change::Put { table, row } => {
                let shape = kept.shape(table);
                (table, shape.key(row), Some(shape.copy(row)))
            }
            Change::Delete { table, key } => (table, key, None),
        };
        let changes: Vec<Left> = changes.map(left).collect();
        kept.append(Record::Transaction(changes))
    }

    fn appended(&self) -> Position {
        Position(self.records() as u64)
    }

    fn wait_durable(&self, position: Position, waiter: &Waiter) -> Result<(), LogFailed> {
        let mut kept = self.kept();
        assert!(position.0 <= kept.records.len() as u64, "{position:?} was given to nobody");
        if kept.has_failed && position.0 > kept.durable as u64 {
            return Err(LogFailed);
        }
        if waiter.waits_for_log() {
            kept.durable = kept.durable.max(position.0 as usize);
        }
        Ok(())
    }

    fn admits(&self) -> Result<(), Refusal> {
        self.kept().refusal.map_or(Ok(()), Err)
    }
}
