//! The check: every committed write is in a counter; amounts were moved within blocks, and none was made or lost; and
//! every long reader saw a sum that existed at some instant, if its isolation level promises that.

use super::load::{BLOCKS, block_of, loaded_sum};
use super::{AMOUNT, COUNTER, Client, KEY};
use crate::Violation;
use crate::counters::Counters;
use crate::visit::visit_tables;
use hotrow_storage::TableId;
use hotrow_txn::Engine;

pub(super) fn check(rows: u64, engine: &dyn Engine, table: TableId, clients: &[Client]) -> Result<(), Violation> {
    let mut counted = Counters::default();
    let mut sums = [0_i64; BLOCKS as usize];
    visit_tables(engine, &[table], |_, row| {
        counted.add(row, COUNTER);
        let number = block_of(rows, row.int8(KEY) as u64);
        sums[number as usize] = sums[number as usize].wrapping_add(row.int8(AMOUNT));
    })?;
    counted.judge(rows, clients.iter().map(Client::written).sum())?;
    for (number, sum) in (0..).zip(sums) {
        let loaded = loaded_sum(rows, number);
        if sum != loaded {
            let what = format!("the amounts of block {number} add up to {sum}, but {loaded} was loaded and only moved");
            return Err(Violation::Anomaly(what));
        }
    }
    let [reads, torn] = [Client::long_reads, Client::torn_reads].map(|of| clients.iter().map(of).sum::<u64>());
    if torn == 0 {
        return Ok(());
    }
    let what = format!("{torn} of {reads} long readers saw a sum that never was");
    Err(Violation::TornRead(what))
}
