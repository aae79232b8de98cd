//! A database under an engine that was chosen at run time.

use crate::{Concurrency, Isolation, LockWait, Setting, Transaction};
use hotrow_storage::{Duplicate, RedoSink, Row, RowLayout, RowRef, TableId, TableMemory, TableSchema};
use hotrow_sync::{Arc, Waiter};

/// How one-shot transactions are put onto worker threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// One at a time on each thread, which waits when its transaction does.
    Thread,
    /// Several on each thread of a pool, which goes on with another one when one waits.
    Planned,
    /// As planned, and each thread owns a partition of the data.
    Partition,
}

impl Scheduler {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Scheduler::Thread => "thread",
            Scheduler::Planned => "planned pool",
            Scheduler::Partition => "partition",
        }
    }
}

/// What `hotrow engines` prints of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineInfo {
    /// The name by which users choose it.
    pub name: &'static str,
    /// One line: what it does.
    pub summary: &'static str,
    /// Paper and section, or none.
    pub source: &'static str,
    /// Whether the access set must come first.
    pub needs_accesses: bool,
    /// How its transactions are put onto threads.
    pub scheduler: Scheduler,
    /// Whether it isolates transactions at all; one that does not is refused by the server.
    pub isolates: bool,
    /// The isolation levels it offers, weakest first. Another one is raised to the first of them that covers it.
    pub isolation: &'static [Isolation],
    /// If each transaction may choose to be optimistic or pessimistic: what those are that do not
    /// ([`Begin::concurrency`](crate::Begin::concurrency)). None if there is no choice.
    pub concurrency: Option<Concurrency>,
    /// What users can set of it.
    pub settings: &'static [Setting],
    /// What users can set of it besides, if its transactions run in a pool: the pool's workers heed it.
    pub pool_settings: &'static [Setting],
}

impl EngineInfo {
    /// The level that a transaction gets which asks for `wanted`.
    pub fn granted(&self, wanted: Isolation) -> Isolation {
        self.isolation.iter().copied().find(|level| level.covers(wanted)).unwrap_or(Isolation::Serializable)
    }

    /// Whether users can set this of it; `in_pool` says whether its transactions run in a pool.
    pub fn has(&self, setting: Setting, in_pool: bool) -> bool {
        self.settings.contains(&setting) || in_pool && self.pool_settings.contains(&setting)
    }
}

/// The versions of a multiversion engine, as they were found one after the other while transactions run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VersionStatistics {
    /// Versions that an index leads to.
    pub alive: u64,
    /// Those of them that have ended, and wait to be collected.
    pub garbage: u64,
    /// Those of them that some transaction could still read when they were last looked at.
    pub held: u64,
    /// Transactions that are running.
    pub transactions: u64,
    /// How many changes of the database were committed since the time at which the oldest of them reads.
    pub oldest_reader: Option<u64>,
}

/// What is locked, as it was found one lock after the other while transactions run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockStatistics {
    /// Locks that somebody holds, of rows and of all else: each once, by however many it is held. Rows may share one.
    pub held: u64,
    /// Requests that wait.
    pub waiting: u64,
}

/// How transactions are held back that would stop each other: an engine does it at *hot* locks, those on which many meet; over SQL it is done by sessions
/// under the other engines, which know of no hot locks. All are numbers as of now, but for the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdmissionStatistics {
    /// Locks that are hot now. Locks that share a place in the engine's table count as one.
    pub hot: u64,
    /// Transactions that may work on hot locks, or have a ticket, at once.
    pub limit: u64,
    /// Transactions that do now. More than the limit are let in where one that was held back was in another's way.
    pub admitted: u64,
    /// Transactions that are held back now.
    pub held_back: u64,
    /// Transactions that were held back, since the database was made.
    pub held_back_ever: u64,
}

/// Rows that their writers have let others have before they commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlyReleaseStatistics {
    /// Rows that are waited for so often that they are let go when their writers wait for their clients. Rows that share a place in the
    /// engine's table count as one.
    pub hot: u64,
    /// Changes of rows that are let go now, and not yet committed or undone.
    pub released: u64,
    /// Changes that were let go, since the database was made.
    pub released_ever: u64,
    /// Transactions that came to have such a row after another one, since the database was made: once for each that they followed.
    pub followed_ever: u64,
}

/// A database under one engine, for those who learn the engine's name at run time. Many threads may use it at once.
pub trait Engine: Send + Sync {
    /// Name, paper, needs and levels.
    fn info(&self) -> &'static EngineInfo;

    /// Whether the engine can have such a table: one that keeps partitions apart needs to know each row's partition.
    ///
    /// # Errors
    /// Why not, and what it can have, for people.
    fn admits(&self, _schema: &TableSchema) -> Result<(), String> {
        Ok(())
    }

    /// Hands everything that is committed from now on to `sink`, which knows of no table that is there already.
    ///
    /// # Panics
    /// If there is a sink.
    fn set_redo(&self, sink: Arc<dyn RedoSink>);

    /// Makes an empty table.
    ///
    /// # Panics
    /// If the engine does not [admit](Self::admits) it.
    fn create_table(&self, schema: TableSchema) -> TableId;

    /// Drops a table. Nobody uses it any more, or will; its memory is given back once no running transaction can
    /// still look at it. An unknown table is ignored.
    fn drop_table(&self, table: TableId);

    /// A table's definition.
    ///
    /// # Panics
    /// If there is no such table.
    fn schema(&self, table: TableId) -> Arc<TableSchema>;

    /// Where a table's columns lie.
    ///
    /// # Panics
    /// If there is no such table.
    fn layout(&self, table: TableId) -> Arc<RowLayout>;

    /// How many rows a table has; approximate while transactions run.
    fn row_count(&self, table: TableId) -> u64;

    /// What the memory of a table goes to. It walks along all that hangs on the heap, so it takes a while.
    ///
    /// # Panics
    /// If there is no such table.
    fn memory(&self, table: TableId) -> TableMemory;

    /// Bytes that a table has for new rows, and that no other table can use: those of rows that were deleted, mostly.
    fn spare_bytes(&self, _table: TableId) -> usize {
        0
    }

    /// Inserts a row outside any transaction, visible at once: for loading a table that nobody uses yet. Many threads
    /// may load at once.
    fn load(&self, table: TableId, row: RowRef<'_>) -> Result<(), Duplicate>;

    /// The versions of all tables, if the engine keeps any beside the rows.
    fn versions(&self) -> Option<VersionStatistics> {
        None
    }

    /// The locks of all transactions, of an engine that counts them. It looks at every lock, so it takes a while.
    fn locks(&self) -> Option<LockStatistics> {
        None
    }

    /// How transactions are held back from locks on which too many would meet, if the engine does so. Cheap.
    fn admission(&self) -> Option<AdmissionStatistics> {
        None
    }

    /// What became of rows that transactions let others have [before they commit](Transaction::retire_writes), if the engine does so as it is set up. Cheap.
    fn early_release(&self) -> Option<EarlyReleaseStatistics> {
        None
    }

    /// Who waits for whom, of an engine that knows: one that does not knows of nobody. It looks at every lock, so it takes a while; what it
    /// finds is of about one time.
    fn lock_waits(&self) -> Vec<LockWait> {
        Vec::new()
    }

    /// Checks the protocol's own invariants, while no call of any transaction is under way but calls that wait: for tests.
    /// The error says which one does not hold.
    fn audit(&self) -> Result<(), String> {
        Ok(())
    }

    /// A transaction in flight, waiting through `waiter`.
    fn transaction(&self, waiter: Waiter) -> Box<dyn Transaction>;

    /// An empty row of a table, to fill.
    fn new_row(&self, table: TableId) -> Row {
        Row::new(&self.layout(table))
    }
}
