//! The check: no money was made or lost, no balance is negative, and the accounts have counted every transfer.

use super::{BALANCE, COUNTER, Client, KEY, Options};
use crate::Violation;
use crate::counters::Counters;
use crate::visit::visit_tables;
use hotrow_storage::TableId;
use hotrow_txn::Engine;

pub(super) fn check(
    options: &Options,
    engine: &dyn Engine,
    table: TableId,
    clients: &[Client],
) -> Result<(), Violation> {
    let mut counters = Counters::default();
    let mut sum = 0_i64;
    let mut overdrawn = None;
    visit_tables(engine, &[table], |_, row| {
        counters.add(row, COUNTER);
        let balance = row.int8(BALANCE);
        sum = sum.wrapping_add(balance);
        if balance < 0 {
            overdrawn = Some((row.int4(KEY), balance));
        }
    })?;
    counters.judge(u64::from(options.accounts), clients.iter().map(Client::changes).sum())?;
    let loaded = options.total();
    if sum != loaded {
        return Err(Violation::Anomaly(format!("the balances add up to {sum}, but {loaded} was loaded")));
    }
    match overdrawn {
        Some((account, balance)) => {
            Err(Violation::Anomaly(format!("account {account} is overdrawn: its balance is {balance}")))
        }
        None => Ok(()),
    }
}
