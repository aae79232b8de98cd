//! The rows of `pgbench -i`: balances of zero, fillers that are blank for accounts and NULL elsewhere, and an empty
//! history.

use super::Options;
use super::schema::{TELLERS_PER_BRANCH, Tables, account, branch, teller};
use crate::load::load_rows;
use crate::{LoadError, Progress};
use hotrow_storage::Value;
use hotrow_txn::Engine;

pub(super) fn load(
    options: &Options,
    engine: &dyn Engine,
    tables: Tables,
    threads: usize,
    progress: &Progress<'_>,
) -> Result<(), LoadError> {
    let (scale, accounts) = (u64::from(options.scale), u64::from(options.accounts));

    let mut template = engine.new_row(tables.branches);
    template.change(|row| row.set(branch::FILLER, &Value::Null));
    load_rows(engine, tables.branches, scale, threads, progress, &template, |row, number| {
        row.change(|row| row.set_int4(branch::ID, number as i32 + 1));
    })?;

    let mut template = engine.new_row(tables.tellers);
    template.change(|row| row.set(teller::FILLER, &Value::Null));
    load_rows(engine, tables.tellers, scale * TELLERS_PER_BRANCH, threads, progress, &template, |row, number| {
        row.change(|row| {
            row.set_int4(teller::ID, number as i32 + 1);
            row.set_int4(teller::BRANCH, (number / TELLERS_PER_BRANCH) as i32 + 1);
        });
    })?;

    let mut template = engine.new_row(tables.accounts);
    template.change(|row| row.set_bytes(account::FILLER, &[b' '; account::FILLER_BYTES]));
    load_rows(engine, tables.accounts, scale * accounts, threads, progress, &template, |row, number| {
        row.change(|row| {
            row.set_int4(account::ID, number as i32 + 1);
            row.set_int4(account::BRANCH, (number / accounts) as i32 + 1);
        });
    })
}
