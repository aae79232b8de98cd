//! Random histories of a database: its log, and the rows that it has in the end.

use super::log::MemoryLog;
use super::target::MapTarget;
use hotrow_log::checkpoint::Options;
use hotrow_log::disk::Disk;
use hotrow_log::record;
use hotrow_log::recovery::{self, Recovered, recover};
use hotrow_log::source::{LiveSource, Source};
use hotrow_storage::{
    Change, Column, IndexKind, IndexSchema, Key, KeySpec, Row, RowLayout, RowRef, TableId, TableSchema, Type, Value,
};
use hotrow_sync::Arc;
use std::collections::BTreeMap;

/// The bytes of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored(Vec<u8>, Vec<u8>);

impl Stored {
    pub fn of(row: RowRef<'_>) -> Self {
        Self(row.fixed().to_vec(), row.variable().to_vec())
    }
}

pub type Rows = BTreeMap<Key, Stored>;

/// A table and its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableModel {
    pub schema: TableSchema,
    pub rows: Rows,
}

/// The tables of a database with their rows.
pub type Tables = BTreeMap<TableId, TableModel>;

/// A database that makes a log.
pub struct History {
    pub random: fastrand::Rng,
    pub log: MemoryLog,
    pub tables: Tables,
    pub next_table: u32,
    pub time: i64,
    /// The ends of all records, with the tables and the time after each, if they are kept.
    pub states: Option<Vec<(u64, Tables, i64)>>,
    /// The number of different keys of a table.
    keys: u64,
}

/// Definitions with keys and rows of all shapes.
fn schema(shape: u64) -> TableSchema {
    let text = Column::nullable("text", Type::Text);
    match shape % 4 {
        0 => TableSchema::new("ints", vec![Column::new("id", Type::Int8), text], &[0]),
        1 => {
            let long = Column::new("id", Type::Varchar(Some(60)));
            let index = IndexSchema { name: "i".into(), columns: vec![1], kind: IndexKind::Hash, unique: false };
            TableSchema { indexes: vec![index], ordered: false, ..TableSchema::new("strings", vec![long, text], &[0]) }
        }
        2 => {
            let columns = vec![text, Column::new("a", Type::Int4), Column::new("b", Type::Numeric(None))];
            TableSchema { partitioned: true, ..TableSchema::new("pairs", columns, &[1, 2]) }
        }
        _ => TableSchema::new("no strings", vec![Column::new("n", Type::Int8), Column::new("id", Type::Int4)], &[1]),
    }
}

/// Returns the values of the row with the key `key` and the contents `content`.
fn values(schema: &TableSchema, key: u64, content: &str) -> Vec<Value<'static>> {
    let text = Value::Text(content.to_owned().into());
    match &*schema.name {
        "ints" => vec![Value::Int8(key as i64 - 10), text],
        "strings" => {
            let long = format!("a key that is {}, which may be long{}", key, " or longer".repeat(key as usize % 3));
            vec![Value::Text(long.into()), text]
        }
        "pairs" => vec![text, Value::Int4((key / 5) as i32), Value::Numeric(((key % 5) as i64).into())],
        _ => vec![Value::Int8(content.len() as i64), Value::Int4(key as i32)],
    }
}

impl History {
    pub fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let keys = [5, 40, 400][random.usize(..3)];
        let (log, tables) = (MemoryLog::default(), BTreeMap::new());
        Self { random, log, tables, next_table: 0, time: 0, states: None, keys }
    }

    /// Returns options with small sizes.
    pub fn options(&mut self) -> Options {
        let random = &mut self.random;
        Options {
            trigger_bytes: 1000,
            batch_bytes: random.usize(500..8000),
            block_bytes: random.usize(50..1000),
            own_file_bytes: random.u64(100..3000),
            file_bytes: random.u64(1000..9000),
            most_runs: random.usize(2..6),
            growth: random.u64(1..4),
            reserve_bytes: 0,
        }
    }

    fn row(&mut self, table: TableId) -> (Key, Row) {
        let schema = &self.tables[&table].schema;
        let content = "x".repeat(self.random.usize(..30)) + &self.random.u32(..1000).to_string();
        let layout = Arc::new(RowLayout::new(&schema.columns));
        let row = Row::from_values(&layout, &values(schema, self.random.u64(..self.keys), &content));
        (KeySpec::new(&schema.columns, &schema.key).key_of(row.as_ref()), row)
    }

    fn any_table(&mut self) -> Option<TableId> {
        let at = self.random.usize(..self.tables.len().max(1));
        self.tables.keys().nth(at).copied()
    }

    /// Takes one step: a transaction, or seldom something else.
    pub fn step(&mut self) {
        match self.random.u8(..40) {
            0 => self.create(),
            1 if self.tables.len() > 2 => self.drop_table(),
            2 => {
                self.time += 1000;
                self.log.append(|bytes| record::clock(self.time, bytes));
            }
            _ if self.tables.is_empty() => self.create(),
            _ => self.transaction(),
        }
        if let Some(states) = &mut self.states {
            states.push((self.log.durable(), self.tables.clone(), self.time));
        }
    }

    pub fn create(&mut self) {
        let table = TableId(self.next_table);
        self.next_table += 1 + self.random.u32(..2);
        let schema = schema(self.random.u64(..));
        self.log.append(|bytes| record::created(table, &schema, bytes));
        self.tables.insert(table, TableModel { schema, rows: Rows::new() });
        if self.random.bool() {
            for _ in 0..self.random.usize(..100) {
                let (key, row) = self.row(table);
                if !self.tables[&table].rows.contains_key(&key) {
                    self.log.append(|bytes| record::loaded(table, row.as_ref(), bytes));
                    self.put(table, key, &row);
                }
            }
        }
    }

    fn drop_table(&mut self) {
        let Some(table) = self.any_table() else { return };
        self.tables.remove(&table);
        self.log.append(|bytes| record::dropped(table, bytes));
        if self.tables.is_empty() {
            self.next_table = self.next_table.max(table.0 + 1);
        }
    }

    fn put(&mut self, table: TableId, key: Key, row: &Row) {
        let model = self.tables.get_mut(&table).expect("it is there");
        model.rows.insert(key, Stored::of(row.as_ref()));
    }

    fn transaction(&mut self) {
        let mut changes = BTreeMap::new();
        for _ in 0..=self.random.usize(..6) {
            let Some(table) = self.any_table() else { return };
            let (key, row) = self.row(table);
            changes.insert((table, key), Some(row).filter(|_| self.random.u8(..3) > 0));
        }
        let mut record = changes.iter().map(|((table, key), row)| match row {
            Some(row) => Change::Put { table: *table, row: row.as_ref() },
            None => Change::Delete { table: *table, key: key.clone() },
        });
        self.log.append(|bytes| record::transaction(&mut record, bytes));
        for ((table, key), row) in changes {
            match row {
                Some(row) => self.put(table, key, &row),
                None => drop(self.tables.get_mut(&table).expect("it is there").rows.remove(&key)),
            }
        }
    }

    /// Recovers the database from a disk and the log, and compares it with the rows that there should be.
    pub fn check(&mut self, disk: &dyn Disk) -> Result<Recovered, String> {
        let range_bytes = self.random.u64(1..4000);
        let options = recovery::Options { threads: self.random.usize(1..4), range_bytes };
        compare_with(disk, &self.log, &self.tables, &options)
    }
}

/// Recovers a database, and compares it with the rows that there should be.
pub fn compare(disk: &dyn Disk, log: &dyn Source, tables: &Tables, threads: usize) -> Result<Recovered, String> {
    compare_with(disk, log, tables, &recovery::Options { threads, range_bytes: 1000 })
}

fn compare_with(
    disk: &dyn Disk,
    log: &dyn Source,
    tables: &Tables,
    options: &recovery::Options,
) -> Result<Recovered, String> {
    let target = MapTarget::default();
    let recovered = recover(disk, log, &target, options, &|_| {}).map_err(|failure| failure.to_string())?;
    let found = target.tables.into_inner().expect("no panic under the latch");
    if !found.keys().eq(tables.keys()) {
        return Err(format!("tables {:?} in place of {:?}", found.keys(), tables.keys()));
    }
    for (id, model) in tables {
        if found[id] != *model {
            return Err(format!("table {}: {:?} in place of {model:?}", id.0, found[id]));
        }
    }
    let next = target.next_table.into_inner().expect("no panic under the latch");
    let least = tables.keys().next_back().map_or(0, |last| last.0 + 1);
    if next < least {
        return Err(format!("the next table is number {next}, and there is number {least} already"));
    }
    Ok(recovered)
}
