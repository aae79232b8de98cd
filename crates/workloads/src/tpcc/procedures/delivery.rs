//! Delivery (clause 2.7): delivers the oldest order of each district.

use super::super::columns::{customer, new_order, order, order_line};
use super::super::schema::Tables;
use super::{DISTRICTS, change, done};
use hotrow_storage::{IndexRef, Key, Value};
use hotrow_txn::{Abort, Accesses, LockFor, Procedure, Scan, Transaction};
use std::ops::ControlFlow;

/// Delivers the oldest undelivered order of each of a warehouse's districts, all ten in one transaction.
///
/// By the specification, the request is queued and executed later. Here the worker executes it at once: there is no
/// terminal that waits.
#[derive(Debug)]
pub struct Delivery {
    tables: Tables,
    warehouse: i32,
    carrier: i32,
    time_us: i64,
}

/// The result of a delivery: for each district of the warehouse in order, whether an order was delivered. A district
/// without an undelivered order has `false`.
pub type Delivered = [bool; DISTRICTS as usize];

impl Delivery {
    pub(in super::super) fn new(tables: Tables) -> Self {
        Self { tables, warehouse: 0, carrier: 0, time_us: 0 }
    }

    /// Sets the parameters of the next delivery.
    pub(in super::super) fn set(&mut self, warehouse: i32, carrier: i32, time_us: i64) {
        (self.warehouse, self.carrier, self.time_us) = (warehouse, carrier, time_us);
    }

    /// Returns the number of the warehouse.
    pub fn warehouse(&self) -> i32 {
        self.warehouse
    }

    /// Returns the number of the carrier that takes the orders to their customers.
    pub fn carrier(&self) -> i32 {
        self.carrier
    }

    /// Removes the oldest order from a district's queue. Returns its number, or `None` if the queue is empty.
    fn take<T: Transaction + ?Sized>(&self, txn: &mut T, district: i32) -> Result<Option<i32>, Abort> {
        let mut oldest = None;
        let scan = Scan::prefix(self.tables.new_order, IndexRef::Primary, Key::int4s([self.warehouse, district]));
        txn.scan(&Scan { lock: LockFor::Update, ..scan }, &mut |row| {
            oldest = Some(row.int4(new_order::ORDER));
            ControlFlow::Break(())
        })?;
        if let Some(number) = oldest {
            done(txn.delete(self.tables.new_order, &Key::int4s([self.warehouse, district, number]))?)?;
        }
        Ok(oldest)
    }

    /// Delivers an order.
    fn deliver<T: Transaction + ?Sized>(&self, txn: &mut T, district: i32, number: i32) -> Result<(), Abort> {
        let (mut who, mut lines) = (0, 0);
        change(txn, self.tables.order, &Key::int4s([self.warehouse, district, number]), |row| {
            who = row.as_ref().int4(order::CUSTOMER);
            lines = row.as_ref().scaled(order::LINES) as i32;
            row.set_int4(order::CARRIER, self.carrier);
        })?;
        let mut amount = 0;
        for line in 1..=lines {
            change(txn, self.tables.order_line, &Key::int4s([self.warehouse, district, number, line]), |row| {
                amount += row.as_ref().scaled(order_line::AMOUNT);
                row.set(order_line::DELIVERED, &Value::Timestamp(self.time_us));
            })?;
        }
        change(txn, self.tables.customer, &Key::int4s([self.warehouse, district, who]), |row| {
            let (balance, deliveries) =
                (row.as_ref().scaled(customer::BALANCE), row.as_ref().int4(customer::DELIVERIES));
            row.set_scaled(customer::BALANCE, balance + amount);
            row.set_int4(customer::DELIVERIES, deliveries + 1);
        })
    }
}

impl Procedure for Delivery {
    type Output = Delivered;

    /// Marks the set as incomplete: the oldest orders are not known beforehand.
    fn accesses(&self, accesses: &mut Accesses) {
        accesses.set_partial();
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Delivered, Abort> {
        let mut delivered = [false; DISTRICTS as usize];
        for (district, delivered) in (1..).zip(&mut delivered) {
            if let Some(number) = self.take(txn, district)? {
                self.deliver(txn, district, number)?;
                *delivered = true;
            }
        }
        Ok(delivered)
    }
}
