//! The estimate of a table's number of rows.
//!
//! The plan of a join is made for such estimates and is kept. The planner does not ask the engine, since no lock keeps
//! the table in existence while a plan is made. The session that is about to run such a plan holds the locks of its
//! tables: it counts their rows, stores the counts for the next plan, and replans if the estimates of its plan were far
//! off. Plans without joins count nothing.

use crate::catalog::Table;
use hotrow_sync::Arc;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_txn::Engine;

/// The estimate for a table whose rows have not been counted.
const UNKNOWN: u64 = 10_000;

/// The least estimate for any table: a table may grow before its rows are counted again.
const LEAST: u64 = 10;

/// The number of a table's rows when they were last counted.
#[derive(Debug)]
pub struct ExpectedRows(AtomicU64);

impl Default for ExpectedRows {
    fn default() -> Self {
        Self(AtomicU64::new(UNKNOWN))
    }
}

impl ExpectedRows {
    /// Returns the last count, or the default estimate if the rows have not been counted.
    pub fn get(&self) -> u64 {
        // Relaxed: it is a guess, and says nothing of other memory.
        self.0.load(Ordering::Relaxed)
    }

    fn note(&self, rows: u64) {
        if self.get() != rows {
            // Relaxed: the same as in `get`.
            self.0.store(rows, Ordering::Relaxed);
        }
    }
}

/// The estimate of one table's rows that was used when a plan was made.
#[derive(Clone, Debug)]
pub struct Expected {
    table: Arc<Table>,
    rows: u64,
}

impl Expected {
    /// Records the present estimate of a table's rows for a plan that is made with it.
    pub fn of(table: &Arc<Table>) -> Self {
        Self { table: table.clone(), rows: table.expected_rows.get() }
    }

    /// Counts the rows of the table and stores the count as the estimate for the plans that are made next. The caller
    /// holds the table's lock.
    pub fn look(&self, engine: &dyn Engine) {
        self.table.expected_rows.note(engine.row_count(self.table.id).max(LEAST));
    }

    /// Whether the table's present estimate is within a factor of eight of the one that was used for the plan. A
    /// hundred rows are added to both before they are compared, so that small tables are as good as empty.
    pub fn holds(&self) -> bool {
        let (one, other) = (self.rows.saturating_add(100), self.table.expected_rows.get().saturating_add(100));
        one.max(other) / one.min(other) < 8
    }
}
