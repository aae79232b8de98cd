//! The initial rows of the table: each has the same amount, and has counted no update.

use super::{AMOUNT, KEY};
use crate::load::load_rows;
use crate::{LoadError, Progress};
use hotrow_storage::TableId;
use hotrow_txn::Engine;
use std::ops::Range;

/// The amount of each row after the load.
const LOADED_AMOUNT: i64 = 1000;

/// The number of blocks of the table. A long reader reads one of them: 10 % of the table.
pub(super) const BLOCKS: u64 = 10;

/// Returns the keys of the block `number` of a table with `rows` rows. The last block includes the rows that remain.
pub(super) fn block(rows: u64, number: u64) -> Range<u64> {
    let length = rows / BLOCKS;
    let first = number * length;
    if number + 1 == BLOCKS { first..rows } else { first..first + length }
}

/// Returns the number of the block to which a row belongs.
pub(super) fn block_of(rows: u64, key: u64) -> u64 {
    (key / (rows / BLOCKS)).min(BLOCKS - 1)
}

/// Returns the sum of the amounts in the block `number`, which is the same at every instant.
pub(super) fn loaded_sum(rows: u64, number: u64) -> i64 {
    let keys = block(rows, number);
    (keys.end - keys.start) as i64 * LOADED_AMOUNT
}

pub(super) fn load(
    rows: u64,
    engine: &dyn Engine,
    table: TableId,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<(), LoadError> {
    let mut template = engine.new_row(table);
    template.change(|row| row.set_int8(AMOUNT, LOADED_AMOUNT));
    load_rows(engine, table, rows, threads, progress, &template, |row, number| {
        row.change(|row| row.set_int8(KEY, number as i64));
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_the_whole_table_and_do_not_overlap() {
        for rows in [10, 19, 1000, 1_000_003] {
            let mut next = 0;
            for number in 0..BLOCKS {
                let keys = block(rows, number);
                assert_eq!(
                    (keys.start, block_of(rows, keys.start), block_of(rows, keys.end - 1)),
                    (next, number, number)
                );
                next = keys.end;
            }
            assert_eq!(next, rows);
        }
    }
}
