//! The check: in each table every committed increment is in a counter, and nothing else is; no row was inserted or
//! deleted.

use super::schema::{COUNTER, Tables};
use super::{Client, Options};
use crate::Violation;
use crate::counters::check_counters;
use hotrow_txn::Engine;

pub(super) fn check(
    options: &Options,
    engine: &dyn Engine,
    tables: Tables,
    clients: &[Client],
) -> Result<(), Violation> {
    for (position, &table) in tables.all().iter().enumerate() {
        let committed = clients.iter().map(|client| client.increments()[position]).sum();
        check_counters(engine, table, COUNTER, options.rows, committed)?;
    }
    Ok(())
}
