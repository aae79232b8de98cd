//! The memory that a database takes, table by table.

use hotrow_storage::{TableId, TableMemory};
use hotrow_txn::Engine;
use serde::Serialize;

/// A database's memory when it is loaded, and after the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Footprints {
    pub loaded: Vec<Footprint>,
    pub after: Vec<Footprint>,
    /// The number of versions; null for an engine that keeps one version of each row.
    pub versions: Option<Versions>,
}

/// The versions of all rows before and after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Versions {
    pub loaded: VersionCounts,
    pub after: VersionCounts,
}

/// The versions of all rows at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct VersionCounts {
    /// Versions that an index leads to.
    pub alive: u64,
    /// The versions among the alive ones that have ended and wait to be collected.
    pub garbage: u64,
}

/// A database's memory at one time.
#[derive(Clone, Debug)]
pub(crate) struct MemorySnapshot {
    pub tables: Vec<Footprint>,
    pub versions: Option<VersionCounts>,
}

/// The bytes of one table, by purpose.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Footprint {
    pub table: String,
    pub rows: u64,
    /// Bytes of the rows' columns.
    pub payload: u64,
    /// Bytes of records or versions with all that they carry, payload included.
    pub records: u64,
    pub indexes: u64,
    /// Bytes of locks that are kept inside the indexes.
    pub locks: u64,
    /// Bytes of one row that are not payload.
    pub overhead_of_row: f64,
}

impl MemorySnapshot {
    /// Measures the first `tables` tables of a database, on which no transaction is running.
    pub(crate) fn take(engine: &dyn Engine, tables: usize) -> Self {
        let numbers = (0..tables as u32).map(TableId);
        let versions = engine.versions();
        Self {
            tables: numbers.map(|table| Footprint::new(&engine.schema(table).name, engine.memory(table))).collect(),
            versions: versions.map(|versions| VersionCounts { alive: versions.alive, garbage: versions.garbage }),
        }
    }
}

impl Footprints {
    /// Makes the report from the snapshots before and after a run.
    pub(crate) fn new(loaded: MemorySnapshot, after: MemorySnapshot) -> Self {
        let versions = loaded.versions.zip(after.versions).map(|(loaded, after)| Versions { loaded, after });
        Self { loaded: loaded.tables, after: after.tables, versions }
    }
}

impl Footprint {
    /// Makes the footprint of the table called `table` from the engine's measurement.
    pub(crate) fn new(table: &str, memory: TableMemory) -> Self {
        let TableMemory { rows, payload, records, indexes, locks } = memory;
        let (table, overhead_of_row) = (table.to_owned(), memory.overhead_of_row());
        Self { table, rows, payload, records, indexes, locks, overhead_of_row }
    }
}
