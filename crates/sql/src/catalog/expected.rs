//! How many rows a table is expected to have.
//!
//! Plans of joins are made for expectations, and are kept; the engine is not asked while a plan is made, since no lock
//! keeps the table there. Who is about to run such a plan holds the locks of its tables: he looks how many rows there
//! are, notes it for the next plan, and makes this one again if he finds that it was made for quite others. All other
//! plans look at nothing.

use crate::catalog::Table;
use hotrow_sync::Arc;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_txn::Engine;

/// Expected of a table at which nobody has looked.
const UNKNOWN: u64 = 10_000;

/// As few rows as any table is expected to have: it may have more before anybody looks again.
const LEAST: u64 = 10;

/// A table's number of rows when somebody last looked.
#[derive(Debug)]
pub struct ExpectedRows(AtomicU64);

impl Default for ExpectedRows {
    fn default() -> Self {
        Self(AtomicU64::new(UNKNOWN))
    }
}

impl ExpectedRows {
    /// The number.
    pub fn get(&self) -> u64 {
        // Relaxed: it is a guess, and says nothing of other memory.
        self.0.load(Ordering::Relaxed)
    }

    fn note(&self, rows: u64) {
        if self.get() != rows {
            // Relaxed: the same.
            self.0.store(rows, Ordering::Relaxed);
        }
    }
}

/// What a plan was made for.
#[derive(Clone, Debug)]
pub struct Expected {
    table: Arc<Table>,
    rows: u64,
}

impl Expected {
    /// What is expected of a table now.
    pub fn of(table: &Arc<Table>) -> Self {
        Self { table: table.clone(), rows: table.expected_rows.get() }
    }

    /// Looks how many rows the table has. The caller has its lock.
    pub fn look(&self, engine: &dyn Engine) {
        self.table.expected_rows.note(engine.row_count(self.table.id).max(LEAST));
    }

    /// Whether what is expected now is about the same: not eight times as much, nor an eighth, where tables of a
    /// hundred rows are as good as empty.
    pub fn holds(&self) -> bool {
        let (one, other) = (self.rows.saturating_add(100), self.table.expected_rows.get().saturating_add(100));
        one.max(other) / one.min(other) < 8
    }
}
