//! Every committed increment is in a counter, and nothing else is; no row came or went.

use super::{COUNTER, Client, Options};
use crate::Violation;
use crate::visit::visit_tables;
use hotrow_storage::TableId;
use hotrow_txn::Engine;
use std::cmp::Ordering;

pub(super) fn check(
    options: &Options,
    engine: &dyn Engine,
    table: TableId,
    clients: &[Client],
) -> Result<(), Violation> {
    let mut rows = 0;
    let mut counted: i64 = 0;
    visit_tables(engine, &[table], |_, row| {
        rows += 1;
        counted += row.int8(COUNTER);
    })?;
    if rows != options.records {
        return Err(Violation::Corruption(format!("{rows} rows are there, {} were loaded", options.records)));
    }
    let committed = clients.iter().map(Client::increments).sum::<u64>() as i64;
    let what = || format!("the counters add up to {counted}, but {committed} increments were committed");
    match counted.cmp(&committed) {
        Ordering::Equal => Ok(()),
        Ordering::Less => Err(Violation::Anomaly(what())),
        Ordering::Greater => Err(Violation::Corruption(what())),
    }
}
