//! Visits to rows after a run.

use crate::Violation;
use hotrow_storage::{IndexRef, RowRef, TableId};
use hotrow_sync::Waiter;
use hotrow_txn::{Abort, Begin, Engine, Isolation, Ownership, Scan};
use std::ops::ControlFlow;
use std::time::Duration;

/// Calls `visit` on every row of each of `tables`, within one transaction. The caller ensures that no other transaction
/// uses the tables meanwhile.
pub(crate) fn visit_tables(
    engine: &dyn Engine,
    tables: &[TableId],
    visit: impl FnMut(TableId, RowRef<'_>),
) -> Result<(), Violation> {
    let scans: Vec<_> = tables.iter().map(|&table| Scan::all(table, IndexRef::Primary)).collect();
    visit_scans(engine, &scans, visit)
}

/// Calls `visit` on the rows of each of `scans`, within one transaction. The caller ensures that no other transaction
/// uses the tables meanwhile.
pub(crate) fn visit_scans(
    engine: &dyn Engine,
    scans: &[Scan],
    mut visit: impl FnMut(TableId, RowRef<'_>),
) -> Result<(), Violation> {
    let mut txn = engine.transaction(Waiter::thread(Duration::ZERO));
    let mut walk = || -> Result<(), Abort> {
        txn.begin(&Begin { read_only: true, ..Begin::at(Isolation::Serializable) })?;
        for scan in scans {
            txn.own_table(scan.table, Ownership::Locked);
            txn.scan(scan, &mut |row| {
                visit(scan.table, row);
                ControlFlow::Continue(())
            })?;
        }
        txn.commit()
    };
    let outcome = walk();
    if outcome.is_err() {
        txn.abort();
    }
    outcome.map_err(|abort| Violation::Corruption(format!("the tables could not be read: {abort}")))
}
