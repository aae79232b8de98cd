//! Recovery: the rows of the checkpoint and of the log after it, given to an empty database.
//!
//! 1. The keys of each table are cut into ranges of about 16 MiB, at keys of the table's files. The log after the
//!    checkpoint is read once. For each range, the keys that the log changes are kept, each with the number of the
//!    change. The rows are not kept.
//! 2. The files are read, range by range, several runs as one. The changes of the range are sorted and merged with the
//!    runs: a row is loaded unless the log changes its key. One bit for each change says whether it is the last one of
//!    its key.
//! 3. The log is read a second time, and the rows of those changes that are the last ones are loaded.
//!
//! So each row is loaded once, in its final form, and the order in which the threads load rows does not matter. Beside
//! the database, recovery needs 16 bytes of memory for each change of an integer key and 40 for each change of another
//! key, but about twice that for each different key at most. The number of changes is bounded by the bytes of log that
//! trigger a checkpoint.
//!
//! Recovery writes nothing, so it can be interrupted and started again.

mod batches;
mod group;
mod ranges;
mod tail;

use crate::disk::Disk;
use crate::failure::Failure;
use crate::files::Files;
use crate::manifest::{Manifest, Shape};
use crate::merge::Merge;
use crate::record::Record;
use crate::source::{Frame, Source};
use batches::{Batch, Change, LOG, read_batches};
use group::{Group, LOADED_TOGETHER};
use hotrow_storage::{Duplicate, RowRef, TableId, TableSchema};
use hotrow_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use hotrow_sync::{Arc, Mutex, Time, thread};
use hotrow_txn::Engine;
use ranges::Ranges;
use std::collections::BTreeMap;
use std::time::Duration;
use tail::{Changes, TableTail, Tail, TailReader};

/// An empty database that receives the rows.
pub trait Target: Sync {
    /// Makes an empty table under its number.
    ///
    /// # Errors
    /// If the database cannot have such a table. The text says why not, for people.
    fn create_table(&self, table: TableId, schema: &TableSchema) -> Result<(), String>;

    /// Adds rows to a table. Several threads call this at once, with different rows.
    ///
    /// # Errors
    /// If a unique index has the key of one of the rows already: the number of the row among `rows`, and the index.
    fn load(&self, table: TableId, rows: &[RowRef<'_>]) -> Result<(), (usize, Duplicate)>;

    /// Makes sure that tables that are made later have numbers of at least `first`.
    fn skip_tables(&self, first: TableId);
}

impl Target for &dyn Engine {
    fn create_table(&self, table: TableId, schema: &TableSchema) -> Result<(), String> {
        self.admits(schema).map_err(|why| format!("engine {} cannot have it: {why}", self.info().name))?;
        self.restore_table(table, schema.clone());
        Ok(())
    }

    fn load(&self, table: TableId, rows: &[RowRef<'_>]) -> Result<(), (usize, Duplicate)> {
        self.load_rows(table, rows)
    }

    fn skip_tables(&self, first: TableId) {
        Engine::skip_tables(*self, first);
    }
}

/// The options of a recovery.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of threads, at least one.
    pub threads: usize,
    /// The number of bytes that a range of keys has in files, about. The changes of the log in a range are sorted at
    /// once, which is quicker if they fit into caches.
    pub range_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { threads: hotrow_sync::cores(), range_bytes: 16 << 20 }
    }
}

/// The progress of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The number of tables to recover, whether their rows are loaded yet or not: those of the checkpoint until the
    /// log has been read once, then those that exist at the end of the log.
    pub tables: usize,
    /// The number of rows that were loaded.
    pub rows: u64,
    /// The bytes that were read. The log is read twice, and counts twice.
    pub bytes: u64,
    /// About how many bytes are to be read in all.
    pub bytes_in_total: u64,
}

/// A table that was recovered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveredTable {
    /// The name of the table in its definition.
    pub name: String,
    /// The number of rows.
    pub rows: u64,
    /// The time that loading the rows took, of all threads together.
    pub time: Duration,
}

/// The result of a recovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The position of the log up to which the checkpoint held everything.
    pub checkpoint: u64,
    /// The end of the last frame of the log. The log is to be written from there on.
    pub end: u64,
    /// The last time of day in the log, in microseconds since 2000-01-01 UTC, or `None` if there is none.
    pub time: Option<i64>,
    /// The tables, in descending order of the time that loading their rows took.
    pub tables: Vec<RecoveredTable>,
    /// The number of rows.
    pub rows: u64,
    /// The number of changes of rows that the log after the checkpoint had.
    pub changes: u64,
}

/// The state that the threads of a recovery share.
struct Recovery<'a> {
    target: &'a dyn Target,
    threads: usize,
    progress: &'a (dyn Fn(Progress) + Sync),
    tables: AtomicUsize,
    rows: AtomicU64,
    bytes: AtomicU64,
    bytes_in_total: u64,
    /// Whether a thread has failed, so that the others stop.
    failed: AtomicBool,
    failure: Mutex<Option<Failure>>,
}

/// The bytes between two reports of progress.
const REPORT_BYTES: u64 = 4 << 20;

/// Gives the rows of a data directory to an empty database, on several threads. `log` is the directory's log.
/// `progress` is called by all threads, about every 4 MiB.
///
/// # Errors
/// If a file or the log is damaged, cannot be read or has another format, or if the target refuses a table or a row.
/// The target has some of the rows then, and is to be thrown away. The directory is never changed.
pub fn recover(
    disk: &dyn Disk,
    log: &dyn Source,
    target: &dyn Target,
    options: &Options,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Recovered, Failure> {
    let manifest = Manifest::read(disk)?;
    let parts = manifest.tables.values().flat_map(|table| table.parts());
    let bytes_in_total = parts.map(|part| part.bytes).sum::<u64>() + 2 * log.bytes_behind(manifest.position);
    let recovery = Recovery {
        target,
        threads: options.threads.max(1),
        progress,
        tables: AtomicUsize::new(manifest.tables.len()),
        rows: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        bytes_in_total,
        failed: AtomicBool::new(false),
        failure: Mutex::new(None),
    };
    let files = Files::new(disk);
    let (tail, changes) = recovery.read_tail(&files, &manifest, log, options.range_bytes.max(1))?;
    recovery.tables.store(tail.tables.len(), Ordering::Release);
    for (id, table) in &tail.tables {
        let made = target.create_table(*id, &table.shape.schema);
        made.map_err(|what| table_failure(*id, &table.shape, String::new(), what))?;
    }
    target.skip_tables(TableId(tail.next_table));
    recovery.load_files(&files, &manifest, &tail)?;
    recovery.load_log(manifest.position, log, &tail)?;
    let mut tables: Vec<_> = tail.tables.values().map(|table| table.recovered()).collect();
    tables.sort_by_key(|table| std::cmp::Reverse(table.time));
    let report = recovery.report();
    progress(Progress { bytes_in_total: report.bytes, ..report });
    Ok(Recovered {
        checkpoint: manifest.position,
        end: tail.end,
        time: Some(tail.time).filter(|time| *time > i64::MIN),
        tables,
        rows: report.rows,
        changes,
    })
}

fn table_failure(table: TableId, shape: &Shape, file: String, what: String) -> Failure {
    Failure::Table { table, name: shape.schema.name.clone(), file, what }
}

impl Recovery<'_> {
    fn report(&self) -> Progress {
        let bytes = self.bytes.load(Ordering::Acquire);
        Progress {
            tables: self.tables.load(Ordering::Acquire),
            rows: self.rows.load(Ordering::Acquire),
            bytes,
            bytes_in_total: self.bytes_in_total.max(bytes),
        }
    }

    /// Counts rows that were loaded and bytes that were read. Reports the progress whenever [`REPORT_BYTES`] more were
    /// read.
    fn done(&self, rows: u64, bytes: u64) {
        self.rows.fetch_add(rows, Ordering::AcqRel);
        let before = self.bytes.fetch_add(bytes, Ordering::AcqRel);
        if before / REPORT_BYTES != (before + bytes) / REPORT_BYTES {
            (self.progress)(self.report());
        }
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Notes the failure of a thread, if it is the first one, so that all threads stop.
    fn note(&self, result: Result<(), Failure>) {
        if let Err(failure) = result {
            self.failure.lock().unwrap_or_else(|poison| poison.into_inner()).get_or_insert(failure);
            self.failed.store(true, Ordering::Release);
        }
    }

    /// Returns the first failure of a thread.
    fn outcome(&self) -> Result<(), Failure> {
        self.failure.lock().unwrap_or_else(|poison| poison.into_inner()).take().map_or(Ok(()), Err)
    }

    fn read_tail(
        &self,
        files: &Files<'_>,
        manifest: &Manifest,
        log: &dyn Source,
        range_bytes: u64,
    ) -> Result<(Tail, u64), Failure> {
        let mut ranges = BTreeMap::new();
        for (id, table) in &manifest.tables {
            ranges.extend(Ranges::of_table(files, *id, table, range_bytes)?.map(|ranges| (*id, ranges)));
        }
        let tail = TailReader::new(manifest, ranges, self.threads);
        let mut note = |frame: &Frame<'_>, record: &Record<'_>| tail.note(frame, record);
        let changes = read_batches(self, log, manifest.position, &mut note, &|batch| {
            tail.add(batch)?;
            self.done(0, batch.bytes());
            Ok(())
        })?;
        Ok((tail.finish(changes), changes))
    }

    /// Loads the rows of the files that the log does not change, and marks the last change of each key in the log.
    fn load_files(&self, files: &Files<'_>, manifest: &Manifest, tail: &Tail) -> Result<(), Failure> {
        let parts = |(id, table): (&TableId, &Arc<TableTail>)| {
            let (id, table) = (*id, table.clone());
            (0..table.ranges.len()).map(move |range| (id, table.clone(), range))
        };
        let mut work: Vec<_> = tail.tables.iter().flat_map(parts).collect();
        // The largest first, so that no thread is left with a large one in the end.
        work.sort_by_key(|(_, table, _)| std::cmp::Reverse(table.ranges.size()));
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(|| {
                    while let Some((id, table, range)) = work.get(next.fetch_add(1, Ordering::AcqRel)) {
                        if self.has_failed() {
                            break;
                        }
                        let began = Time::now();
                        let changes = table.take(*range);
                        tail.set_last(&changes);
                        if let (Some(bounds), Some(stored)) = (table.ranges.bounds(*range), manifest.tables.get(id)) {
                            let shape = &table.shape;
                            let merge = Merge::new(files, *id, shape, stored.runs(), &bounds);
                            self.note(merge.and_then(|merge| self.load_range(*id, table, merge, &changes)));
                        }
                        table.count(0, Time::now().since(began));
                    }
                });
            }
        });
        self.outcome()
    }

    /// Loads the rows of a range of keys, except rows that the log changes.
    fn load_range(
        &self,
        id: TableId,
        table: &TableTail,
        mut merge: Merge<'_>,
        changes: &Changes,
    ) -> Result<(), Failure> {
        let (bytes, entries) = table.ranges.size();
        let (mut rows, mut loaded, mut seen, mut reported, mut change) = (0_u64, 0, 0_u64, 0, 0);
        let mut group = Group::default();
        while merge.advance()? {
            let (Some(key), row) = (merge.key(), merge.row()) else { break };
            seen += 1;
            while change < changes.len() && changes.compare(change, key).is_lt() {
                change += 1;
            }
            let is_changed = change < changes.len() && changes.compare(change, key).is_eq();
            if let Some((row, file)) = row.filter(|_| !is_changed).zip(merge.file())
                && group.push(row, file)
            {
                rows += group.load(self.target, id, &table.shape)?;
            }
            if seen % 4096 == 0 {
                if self.has_failed() {
                    return Ok(());
                }
                // About as many bytes as these entries had.
                let now = (bytes * seen / entries).min(bytes);
                self.done(rows - loaded, now - reported);
                (loaded, reported) = (rows, now);
            }
        }
        rows += group.load(self.target, id, &table.shape)?;
        table.count(rows, Duration::ZERO);
        self.done(rows - loaded, bytes - reported);
        Ok(())
    }

    fn load_log(&self, from: u64, log: &dyn Source, tail: &Tail) -> Result<(), Failure> {
        if tail.is_empty() {
            return Ok(());
        }
        let load = |batch: &Batch| {
            let rows = self.load_batch(batch, tail)?;
            self.done(rows, batch.bytes());
            Ok(())
        };
        read_batches(self, log, from, &mut |_, _| Ok(()), &load).map(drop)
    }

    fn load_batch(&self, batch: &Batch, tail: &Tail) -> Result<u64, Failure> {
        let mut groups: BTreeMap<TableId, (&TableTail, Vec<RowRef<'_>>)> = BTreeMap::new();
        let mut count = 0;
        let mut load = |id, table: &TableTail, rows: &mut Vec<RowRef<'_>>| {
            let began = Time::now();
            let loaded = self.target.load(id, rows);
            loaded.map_err(|(_, duplicate)| table_failure(id, &table.shape, LOG.to_owned(), duplicate.to_string()))?;
            table.count(rows.len() as u64, Time::now().since(began));
            count += rows.len() as u64;
            rows.clear();
            Ok(())
        };
        batch.for_each(&mut |position, ordinal, change| {
            let Change::Put(id, row) = change else { return Ok(()) };
            if !tail.is_last(ordinal) {
                return Ok(());
            }
            let Some(table) = tail.tables.get(&id).map(|table| &**table) else { return Ok(()) };
            let row = row.with_layout(&table.shape.layout);
            let row = row.ok_or_else(|| Failure::damage(LOG, position, "the log has changed since it was read"))?;
            let (table, rows) = groups.entry(id).or_insert_with(|| (table, Vec::with_capacity(LOADED_TOGETHER)));
            rows.push(row);
            if rows.len() < LOADED_TOGETHER { Ok(()) } else { load(id, table, rows) }
        })?;
        for (id, (table, mut rows)) in groups {
            load(id, table, &mut rows)?;
        }
        Ok(count)
    }
}
