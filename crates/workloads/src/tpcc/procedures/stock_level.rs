//! Stock-Level (clause 2.8): counts the items of a district's last orders that are running out.

use super::super::columns::{district, order_line, stock};
use super::super::schema::Tables;
use super::found;
use hotrow_storage::{IndexRef, Key};
use hotrow_txn::{Abort, Accesses, Intent, Procedure, Scan, Transaction};
use std::cell::RefCell;
use std::ops::{Bound, ControlFlow};

/// The transaction that counts the items of a district's last 20 orders whose stock is below a threshold.
#[derive(Debug)]
pub struct StockLevel {
    tables: Tables,
    warehouse: i32,
    district: i32,
    threshold: i32,
    items: RefCell<Vec<i32>>,
}

impl StockLevel {
    /// The number of orders that are examined.
    pub const LAST_ORDERS: i32 = 20;

    /// Returns the numbers of the warehouse and the district.
    pub fn place(&self) -> (i32, i32) {
        (self.warehouse, self.district)
    }

    /// Returns the threshold below which a stock is low.
    pub fn threshold(&self) -> i32 {
        self.threshold
    }

    pub(in super::super) fn new(tables: Tables) -> Self {
        Self { tables, warehouse: 0, district: 0, threshold: 0, items: RefCell::default() }
    }

    /// Sets the parameters of the next inquiry.
    pub(in super::super) fn set(&mut self, warehouse: i32, district: i32, threshold: i32) {
        (self.warehouse, self.district, self.threshold) = (warehouse, district, threshold);
    }
}

impl Procedure for StockLevel {
    type Output = u32;

    /// Adds the district, and marks the set as incomplete: the last orders are not known beforehand.
    fn accesses(&self, accesses: &mut Accesses) {
        accesses.push(self.tables.district, Key::int4s([self.warehouse, self.district]), Intent::Read);
        accesses.set_partial();
    }

    fn read_only(&self) -> bool {
        true
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<u32, Abort> {
        let items = &mut *self.items.borrow_mut();
        items.clear();
        let row = txn.read(self.tables.district, &Key::int4s([self.warehouse, self.district]))?;
        let next = found(row)?.int4(district::NEXT_ORDER);
        let order = |number| Key::int4s([self.warehouse, self.district, number]);
        let lines = Scan {
            lower: Bound::Included(order(next - Self::LAST_ORDERS)),
            upper: Bound::Excluded(order(next)),
            ..Scan::all(self.tables.order_line, IndexRef::Primary)
        };
        txn.scan(&lines, &mut |row| {
            items.push(row.int4(order_line::ITEM));
            ControlFlow::Continue(())
        })?;
        items.sort_unstable();
        items.dedup();
        let mut low = 0;
        for &item in items.iter() {
            let row = txn.read(self.tables.stock, &Key::int4s([self.warehouse, item]))?;
            low += u32::from(found(row)?.scaled(stock::QUANTITY) < i64::from(self.threshold));
        }
        Ok(low)
    }
}
