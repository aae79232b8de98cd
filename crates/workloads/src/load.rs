//! The loading of a table from several threads.

use hotrow_storage::{Row, TableId};
use hotrow_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hotrow_sync::{Mutex, thread};
use hotrow_txn::Engine;
use std::fmt;
use std::ops::ControlFlow;

/// A callback for the progress of a load. Any of the loading threads calls it with the number of rows that it has
/// inserted since its last call; a break stops the load.
pub type Progress<'a> = dyn Fn(u64) -> ControlFlow<()> + Sync + 'a;

/// The reason why a load did not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// The progress callback stopped the load.
    Stopped,
    /// A row's key existed already: the table was not empty.
    Duplicate {
        /// The table.
        table: TableId,
        /// The row's number.
        row: u64,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Stopped => f.write_str("the load was stopped"),
            LoadError::Duplicate { table, row } => {
                write!(f, "row {row} of table number {} is there already: load into an empty table", table.0)
            }
        }
    }
}

impl std::error::Error for LoadError {}

/// The number of items that a thread claims, and reports, at a time.
const CHUNK: u64 = 4096;

/// Inserts the rows numbered `0..rows` into `table`. `fill` sets the columns of one row. Each call gets the row as the
/// previous call of the same thread left it, so columns that are the same in all rows need to be set only in
/// `template`.
pub(crate) fn load_rows(
    engine: &dyn Engine,
    table: TableId,
    rows: u64,
    threads: usize,
    progress: &Progress<'_>,
    template: &Row,
    fill: impl Fn(&mut Row, u64) + Sync,
) -> Result<(), LoadError> {
    let insert = |row: &mut Row, number| {
        fill(row, number);
        insert_row(engine, table, row, number)?;
        Ok(1)
    };
    load_items(rows, threads, progress, || template.clone(), insert)
}

/// Inserts one row outside any transaction. An error names the row by `number`.
pub(crate) fn insert_row(engine: &dyn Engine, table: TableId, row: &Row, number: u64) -> Result<(), LoadError> {
    engine.load(table, row.as_ref()).map_err(|_| LoadError::Duplicate { table, row: number })
}

/// Calls `insert` for each of the items numbered `0..items`, from `threads` threads, each of which has its own buffers.
/// `insert` returns the number of rows that it inserted for the item.
pub(crate) fn load_items<B>(
    items: u64,
    threads: usize,
    progress: &Progress<'_>,
    buffers: impl Fn() -> B + Sync,
    insert: impl Fn(&mut B, u64) -> Result<u64, LoadError> + Sync,
) -> Result<(), LoadError> {
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let failure = Mutex::new(None);
    let load = || {
        let mut buffers = buffers();
        while !stop.load(Ordering::Acquire) {
            let first = next.fetch_add(CHUNK, Ordering::AcqRel);
            if first >= items {
                return;
            }
            let chunk: Result<u64, LoadError> =
                (first..items.min(first + CHUNK)).map(|number| insert(&mut buffers, number)).sum();
            let outcome =
                chunk.and_then(|rows| if progress(rows).is_break() { Err(LoadError::Stopped) } else { Ok(()) });
            if let Err(error) = outcome {
                failure.lock().unwrap_or_else(|poison| poison.into_inner()).get_or_insert(error);
                stop.store(true, Ordering::Release);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(load);
        }
        load();
    });
    failure.into_inner().unwrap_or_else(|poison| poison.into_inner()).map_or(Ok(()), Err)
}
