//! The check: every committed write is in a value, and nothing else is; no row was inserted or deleted.

use super::{Client, Options, VALUE};
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
    let committed = clients.iter().map(Client::written).sum();
    check_counters(engine, table, VALUE, options.records, committed)
}
