//! The quantities that the orders of a run took from the stocks, counted from the orders and from the stocks.

use super::super::Options;
use super::super::columns::stock;
use super::{Checker, part};
use crate::Violation;
use crate::visit::visit_scans;
use hotrow_sync::atomic::{AtomicU32, Ordering};

/// The quantities that the order lines of all districts took from the stocks, summed by several threads.
pub(super) struct Supplied {
    stocks: Vec<Taken>,
    warehouses: i32,
    items: i32,
}

/// The quantities that order lines took from one stock.
#[derive(Debug, Default)]
struct Taken {
    /// The number of order lines. `remote` counts the lines of orders in other warehouses.
    lines: AtomicU32,
    remote: AtomicU32,
    quantity: AtomicU32,
}

impl Taken {
    /// Returns the three counts in the order of the fields.
    fn read(&self) -> [u32; 3] {
        [&self.lines, &self.remote, &self.quantity].map(|count| count.load(Ordering::Acquire))
    }
}

impl Supplied {
    /// Makes the state in which nothing was taken.
    pub(super) fn new(options: &Options) -> Self {
        let stocks = options.warehouses as usize * options.items as usize;
        Self {
            stocks: std::iter::repeat_with(Taken::default).take(stocks).collect(),
            warehouses: options.warehouses as i32,
            items: options.items as i32,
        }
    }

    /// Adds an order line. A line of a stock that does not exist is not counted.
    pub(super) fn add(&self, supply: i32, item: i32, quantity: i64, is_remote: bool) {
        let Some(taken) = self.of(supply, item) else { return };
        taken.lines.fetch_add(1, Ordering::AcqRel);
        taken.remote.fetch_add(u32::from(is_remote), Ordering::AcqRel);
        taken.quantity.fetch_add(quantity as u32, Ordering::AcqRel);
    }

    fn of(&self, supply: i32, item: i32) -> Option<&Taken> {
        let exists = (1..=self.warehouses).contains(&supply) && (1..=self.items).contains(&item);
        exists.then(|| &self.stocks[(supply as usize - 1) * self.items as usize + item as usize - 1])
    }

    /// Checks condition 14 for a warehouse's stocks, once all order lines were added.
    pub(super) fn check(&self, checker: &Checker<'_>, warehouse: i32) -> Result<(), Violation> {
        let mut stocks = 0;
        visit_scans(checker.engine, &[part(checker.tables.stock, [warehouse])], |_, row| {
            stocks += 1;
            let item = row.int4(stock::ITEM);
            let expected = self.of(warehouse, item).map(Taken::read).unwrap_or_default();
            let ytd = row.scaled(stock::YTD);
            let actual = [i64::from(row.int4(stock::ORDERS)), i64::from(row.int4(stock::REMOTE_ORDERS)), ytd / 100];
            checker.expect(14, actual, expected.map(i64::from), |actual, expected| {
                format!(
                    "warehouse {warehouse}, item {item}: s_order_cnt, s_remote_cnt and s_ytd are {actual:?}, \
                     but its order lines come to {expected:?}"
                )
            });
        })?;
        checker.expect(14, stocks, checker.options.items, |actual, expected| {
            format!("warehouse {warehouse}: {actual} stocks are there, {expected} were loaded")
        });
        Ok(())
    }
}
