//! Visiting a whole table after a run.

use crate::Violation;
use hotrow_storage::{IndexRef, RowRef, TableId};
use hotrow_sync::Waiter;
use hotrow_txn::{Abort, Begin, Engine, Isolation, Scan};
use std::ops::ControlFlow;
use std::time::Duration;

/// Calls `visit` on every row of each of `tables`, within one transaction. Nobody else uses the tables meanwhile.
pub(crate) fn visit_tables(
    engine: &dyn Engine,
    tables: &[TableId],
    mut visit: impl FnMut(TableId, RowRef<'_>),
) -> Result<(), Violation> {
    let mut txn = engine.transaction(Waiter::thread(Duration::ZERO));
    let mut walk = || -> Result<(), Abort> {
        txn.begin(&Begin { read_only: true, ..Begin::at(Isolation::Serializable) })?;
        for &table in tables {
            txn.own_table(table);
            txn.scan(&Scan::all(table, IndexRef::Primary), &mut |row| {
                visit(table, row);
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
