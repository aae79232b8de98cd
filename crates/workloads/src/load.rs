//! Loading a table from several threads.

use hotrow_storage::{Row, TableId};
use hotrow_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hotrow_sync::{Mutex, thread};
use hotrow_txn::Engine;
use std::fmt;
use std::ops::ControlFlow;

/// Hears how many more rows were inserted, from any of the loading threads; to break stops the loading.
pub type Progress<'a> = dyn Fn(u64) -> ControlFlow<()> + Sync + 'a;

/// Why a load did not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// The listener to the progress stopped it.
    Stopped,
    /// A row's key was there already: the table was not empty.
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

/// Rows that a thread claims, and reports, at a time.
const CHUNK: u64 = 4096;

/// Inserts the rows numbered `0..rows` into `table`. `fill` sets the columns of one row; it is given the row as it left
/// it last, so columns that are the same in all rows need to be set in `template` only.
pub(crate) fn load_rows(
    engine: &dyn Engine,
    table: TableId,
    rows: u64,
    threads: usize,
    progress: &Progress<'_>,
    template: &Row,
    fill: impl Fn(&mut Row, u64) + Sync,
) -> Result<(), LoadError> {
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let failure = Mutex::new(None);
    let load = || {
        let mut row = template.clone();
        while !stop.load(Ordering::Acquire) {
            let first = next.fetch_add(CHUNK, Ordering::AcqRel);
            if first >= rows {
                return;
            }
            let end = rows.min(first + CHUNK);
            let outcome = load_chunk(engine, table, first..end, &mut row, &fill)
                .and_then(|()| if progress(end - first).is_break() { Err(LoadError::Stopped) } else { Ok(()) });
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

fn load_chunk(
    engine: &dyn Engine,
    table: TableId,
    numbers: std::ops::Range<u64>,
    row: &mut Row,
    fill: &impl Fn(&mut Row, u64),
) -> Result<(), LoadError> {
    for number in numbers {
        fill(row, number);
        engine.load(table, row.as_ref()).map_err(|_| LoadError::Duplicate { table, row: number })?;
    }
    Ok(())
}
