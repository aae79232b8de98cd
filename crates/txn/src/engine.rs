//! A database under an engine that was chosen at run time.

use crate::{Concurrency, Isolation, LockWait, Setting, Transaction};
use hotrow_storage::{Duplicate, RedoSink, Row, RowLayout, RowRef, TableId, TableMemory, TableSchema};
use hotrow_sync::{Arc, Waiter};

/// How one-shot transactions are assigned to worker threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Each thread runs one transaction at a time, and waits when the transaction does.
    Thread,
    /// Each thread of a pool runs several transactions, and continues with another one when one waits.
    Planned,
    /// The same as [`Planned`](Self::Planned), and each thread owns a partition of the data.
    Partition,
}

impl Scheduler {
    /// The name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Scheduler::Thread => "thread",
            Scheduler::Planned => "planned pool",
            Scheduler::Partition => "partition",
        }
    }
}

/// The properties of an engine, as `hotrow engines` prints them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineInfo {
    /// The name by which users choose the engine.
    pub name: &'static str,
    /// What the engine does, in one line.
    pub summary: &'static str,
    /// The paper and section that it follows; empty if there is none.
    pub source: &'static str,
    /// Whether the engine needs a transaction's access set before the transaction begins.
    pub needs_accesses: bool,
    /// How its transactions are assigned to threads.
    pub scheduler: Scheduler,
    /// Whether it isolates transactions at all. The server refuses an engine that does not.
    pub isolates: bool,
    /// The isolation levels that it offers, weakest first. Any other level is raised to the first of these that covers
    /// it.
    pub isolation: &'static [Isolation],
    /// The way of transactions that do not choose between optimistic and pessimistic
    /// ([`Begin::concurrency`](crate::Begin::concurrency)). `None` if the engine does not offer the choice.
    pub concurrency: Option<Concurrency>,
    /// The settings of the engine that users can set.
    pub settings: &'static [Setting],
    /// The further settings that users can set if its transactions run in a pool: the pool's workers obey them.
    pub pool_settings: &'static [Setting],
}

impl EngineInfo {
    /// The level that a transaction gets if it asks for `wanted`.
    pub fn granted(&self, wanted: Isolation) -> Isolation {
        self.isolation.iter().copied().find(|level| level.covers(wanted)).unwrap_or(Isolation::Serializable)
    }

    /// Whether users can set `setting`; `in_pool` says whether the engine's transactions run in a pool.
    pub fn has(&self, setting: Setting, in_pool: bool) -> bool {
        self.settings.contains(&setting) || in_pool && self.pool_settings.contains(&setting)
    }
}

/// The versions of a multiversion engine, counted one after the other while transactions run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VersionStatistics {
    /// The versions that can be reached from an index.
    pub alive: u64,
    /// The versions among them that have ended, and wait to be collected.
    pub garbage: u64,
    /// The ended versions that some transaction could still read when they were last examined.
    pub held: u64,
    /// Transactions that are running.
    pub transactions: u64,
    /// The number of changes of the database that were committed since the time as of which the oldest of them reads.
    pub oldest_reader: Option<u64>,
}

/// The locks of an engine, counted one after the other while transactions run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockStatistics {
    /// The locks that are held, of rows and of everything else. Each counts once, however many transactions hold it.
    /// Rows may share a lock.
    pub held: u64,
    /// Requests that wait.
    pub waiting: u64,
}

/// The state of admission control, which holds back transactions that would make each other fail. An engine does this
/// at *hot* locks, for which many transactions compete. For engines that know of no hot locks, SQL sessions do it. All
/// figures but the last are as of now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdmissionStatistics {
    /// The locks that are hot now. Locks that share a place in the engine's table count as one.
    pub hot: u64,
    /// The number of transactions that may work on hot locks, or hold a ticket, at the same time.
    pub limit: u64,
    /// The transactions that do so now. They may exceed the limit: a transaction that is held back is let in if it
    /// blocks another one.
    pub admitted: u64,
    /// The transactions that are held back now.
    pub held_back: u64,
    /// The transactions that were held back since the database was made.
    pub held_back_ever: u64,
}

/// Rows that their writers have released to other transactions before they commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlyReleaseStatistics {
    /// The rows for which transactions wait so often that a writer releases them early when it waits for its client.
    /// Rows that share a place in the engine's table count as one.
    pub hot: u64,
    /// The changes of rows that are released early now, and neither committed nor undone yet.
    pub released: u64,
    /// The changes that were released early since the database was made.
    pub released_ever: u64,
    /// The times that a transaction got a row that was released early, since the database was made: once for each
    /// transaction that it followed.
    pub followed_ever: u64,
}

/// A database under one engine, for callers that learn the engine's name at run time. Many threads may use it at once.
pub trait Engine: Send + Sync {
    /// The engine's properties.
    fn info(&self) -> &'static EngineInfo;

    /// Checks that the engine can have a table with this schema: an engine with partitions must be able to tell each
    /// row's partition.
    ///
    /// # Errors
    /// If it cannot. The text says, for people, why not and what it can have.
    fn admits(&self, _schema: &TableSchema) -> Result<(), String> {
        Ok(())
    }

    /// Hands everything that is committed from now on to `sink`. The sink is not told of tables that exist already.
    ///
    /// # Panics
    /// If there is a sink already.
    fn set_redo(&self, sink: Arc<dyn RedoSink>);

    /// Makes an empty table.
    ///
    /// # Panics
    /// If the engine does not [admit](Self::admits) it.
    fn create_table(&self, schema: TableSchema) -> TableId;

    /// Drops a table, which no transaction uses or will use. Its memory is given back once no running transaction can
    /// still look at it. An unknown table is ignored.
    fn drop_table(&self, table: TableId);

    /// A table's definition.
    ///
    /// # Panics
    /// If there is no such table.
    fn schema(&self, table: TableId) -> Arc<TableSchema>;

    /// The positions of a table's columns in its rows.
    ///
    /// # Panics
    /// If there is no such table.
    fn layout(&self, table: TableId) -> Arc<RowLayout>;

    /// The number of rows of a table; approximate while transactions run.
    fn row_count(&self, table: TableId) -> u64;

    /// The memory of a table, by purpose. The call visits all memory of the heap that belongs to the table, so it takes
    /// a while.
    ///
    /// # Panics
    /// If there is no such table.
    fn memory(&self, table: TableId) -> TableMemory;

    /// The bytes that a table has for new rows, and that no other table can use: mostly those of deleted rows.
    fn spare_bytes(&self, _table: TableId) -> usize {
        0
    }

    /// Inserts a row outside any transaction, visible at once. For loading a table that no transaction uses yet; many
    /// threads may load at once.
    fn load(&self, table: TableId, row: RowRef<'_>) -> Result<(), Duplicate>;

    /// Counts the versions of all tables, if the engine keeps versions.
    fn versions(&self) -> Option<VersionStatistics> {
        None
    }

    /// Counts the locks of all transactions, if the engine can. The call visits every lock, so it takes a while.
    fn locks(&self) -> Option<LockStatistics> {
        None
    }

    /// The state of admission control at hot locks, if the engine has it. Cheap.
    fn admission(&self) -> Option<AdmissionStatistics> {
        None
    }

    /// What happened to rows that transactions released [before they commit](Transaction::retire_writes), if the engine
    /// is set up to do so. Cheap.
    fn early_release(&self) -> Option<EarlyReleaseStatistics> {
        None
    }

    /// The transactions that wait for locks, and for which transactions; empty for an engine that does not know. The
    /// call visits every lock, so it takes a while. What it finds is from about one moment.
    fn lock_waits(&self) -> Vec<LockWait> {
        Vec::new()
    }

    /// Checks the protocol's own invariants, for tests. No call of any transaction may be under way, except calls that
    /// wait. The error says which invariant does not hold.
    fn audit(&self) -> Result<(), String> {
        Ok(())
    }

    /// Makes a transaction object that waits through `waiter`.
    fn transaction(&self, waiter: Waiter) -> Box<dyn Transaction>;

    /// An empty row of a table, to be filled.
    fn new_row(&self, table: TableId) -> Row {
        Row::new(&self.layout(table))
    }
}
