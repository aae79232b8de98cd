//! The estimates of the tables' numbers of rows, for the planner.
//!
//! The plan of a join depends on such estimates, and it is cached. The planner does not ask the engine for the number
//! of rows: it holds no lock on the table, which may be dropped meanwhile. A session that is about to run such a plan
//! holds the locks. It counts the rows, stores the counts for the next plan, and replans if the plan's estimates were
//! far off. For plans without joins no rows are counted.

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
    /// Returns the number of rows when they were last counted, but at least ten, or the default estimate if they have
    /// not been counted.
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

/// The estimate of one table's number of rows from which a plan was made.
#[derive(Clone, Debug)]
pub struct Expected {
    table: Arc<Table>,
    rows: u64,
}

impl Expected {
    /// Returns the present estimate of a table's rows, for a plan that is being made.
    pub fn of(table: &Arc<Table>) -> Self {
        Self { table: table.clone(), rows: table.expected_rows.get() }
    }

    /// Counts the rows of the table, and stores the count as the estimate for later plans. The caller must hold the
    /// table's lock.
    pub fn look(&self, engine: &dyn Engine) {
        self.table.expected_rows.note(engine.row_count(self.table.id).max(LEAST));
    }

    /// Whether the table's present estimate is within a factor of eight of the estimate that the plan was made from.
    /// Both are increased by a hundred rows before the comparison, so that small tables are all alike.
    pub fn holds(&self) -> bool {
        let (one, other) = (self.rows.saturating_add(100), self.table.expected_rows.get().saturating_add(100));
        one.max(other) / one.min(other) < 8
    }
}
