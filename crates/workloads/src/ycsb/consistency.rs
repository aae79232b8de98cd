//! Every committed increment is in a counter, and nothing else is; no row came or went.

use super::{COUNTER, Client, Options};
use crate::visit::visit_tables;
use hotrow_storage::TableId;
use hotrow_txn::Engine;

pub(super) fn check(options: &Options, engine: &dyn Engine, table: TableId, clients: &[Client]) -> Result<(), String> {
    let mut rows = 0;
    let mut counted: i64 = 0;
    visit_tables(engine, &[table], |_, row| {
        rows += 1;
        counted += row.int8(COUNTER);
    })?;
    if rows != options.records {
        return Err(format!("{rows} rows are there, {} were loaded", options.records));
    }
    let committed: u64 = clients.iter().map(Client::increments).sum();
    if i64::try_from(committed) == Ok(counted) {
        return Ok(());
    }
    Err(format!("the counters add up to {counted}, but {committed} increments were committed"))
}
