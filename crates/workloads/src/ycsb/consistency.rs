//! The check: every committed increment is in a counter, and nothing else is; no row was inserted or deleted.

use super::{COUNTER, Client, Options};
use crate::Violation;
use crate::counters::check_counters;
use hotrow_storage::TableId;
use hotrow_txn::Engine;

pub(super) fn check(
    options: &Options,
    engine: &dyn Engine,
    table: TableId,
    clients: &[Client],
) -> Result<(), Violation> {
    let committed = clients.iter().map(Client::increments).sum();
    check_counters(engine, table, COUNTER, options.records, committed)
}
