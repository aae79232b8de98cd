//! The check of workloads in whose tables each row counts its updates.

use crate::Violation;
use crate::visit::visit_tables;
use hotrow_storage::{RowRef, TableId};
use hotrow_txn::{Engine, number_of};
use std::cmp::Ordering;

/// Checks a table whose rows each count their updates in column `counter`: the `rows` rows that were loaded exist, and
/// the counters add up to the number of updates that committed.
pub(crate) fn check_counters(
    engine: &dyn Engine,
    table: TableId,
    counter: usize,
    rows: u64,
    committed: u64,
) -> Result<(), Violation> {
    let mut counted = Counters::default();
    visit_tables(engine, &[table], |_, row| counted.add(row, counter))?;
    counted.judge(rows, committed)
}

/// The number of rows that a check has visited, and the sum of their counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    rows: u64,
    sum: i64,
}

impl Counters {
    /// Adds a visited row, whose counter is in column `counter`.
    pub(crate) fn add(&mut self, row: RowRef<'_>, counter: usize) {
        self.rows += 1;
        self.sum = self.sum.wrapping_add(row.int8(counter));
    }

    /// Compares the visited rows with the number of rows that were loaded, and the sum of the counters with the number
    /// of updates that committed.
    pub(crate) fn judge(self, rows: u64, committed: u64) -> Result<(), Violation> {
        if self.rows != rows {
            return Err(Violation::Corruption(format!(
                "the table has {}, not the {rows} loaded",
                number_of(self.rows, "row")
            )));
        }
        let what = || format!("the counters add up to {}, but {committed} increments were committed", self.sum);
        match self.sum.cmp(&(committed as i64)) {
            Ordering::Equal => Ok(()),
            Ordering::Less => Err(Violation::Anomaly(what())),
            Ordering::Greater => Err(Violation::Corruption(what())),
        }
    }
}
