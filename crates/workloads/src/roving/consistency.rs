//! The check: the table has the rows that were loaded and those that committed transactions appended, and no others;
//! their amounts add up.

use super::load::LOADED_AMOUNT;
use super::schema::{AMOUNT, Tables};
use super::{Client, Options};
use crate::Violation;
use crate::visit::visit_tables;
use hotrow_txn::{Engine, number_of};

pub(super) fn check(
    options: &Options,
    engine: &dyn Engine,
    tables: Tables,
    clients: &[Client],
) -> Result<(), Violation> {
    let (mut rows, mut sum) = (0, 0_i64);
    visit_tables(engine, &[tables.history], |_, row| {
        rows += 1;
        sum = sum.wrapping_add(row.int8(AMOUNT));
    })?;
    let appended: u64 = clients.iter().map(Client::appended).sum();
    if rows != options.rows + appended {
        let (rows, loaded) = (number_of(rows, "row"), options.rows);
        return Err(Violation::Corruption(format!(
            "the history has {rows}, but {loaded} were loaded and {appended} appended"
        )));
    }
    let expected = options.rows as i64 * LOADED_AMOUNT + clients.iter().map(Client::amount).sum::<i64>();
    if sum != expected {
        return Err(Violation::Corruption(format!("the amounts add up to {sum}, not to the {expected} appended")));
    }
    Ok(())
}
