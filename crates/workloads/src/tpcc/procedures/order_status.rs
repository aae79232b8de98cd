//! Order-Status (clause 2.6): reads the state of a customer's last order.

use super::super::columns::{customer, order, order_line};
use super::super::schema::{ORDERS_BY_CUSTOMER, Tables};
use super::by_name::Customer;
use super::found;
use hotrow_storage::{IndexRef, Key};
use hotrow_txn::{Abort, Accesses, Direction, Intent, LockFor, Procedure, Scan, Transaction};
use std::cell::RefCell;
use std::ops::ControlFlow;

/// The transaction that reads a customer, its last order and that order's lines.
#[derive(Debug)]
pub struct OrderStatus {
    tables: Tables,
    warehouse: i32,
    district: i32,
    customer: Customer,
    matches: RefCell<Vec<i32>>,
}

/// The result of an inquiry: a customer's balance and last order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderState {
    /// The customer's balance, in cents.
    pub balance: i64,
    /// The number of the last order; `None` if the customer has never ordered.
    pub order: Option<i32>,
    /// The order's carrier; `None` before it is delivered.
    pub carrier: Option<i32>,
    /// The number of the order's lines.
    pub lines: u32,
    /// The sum of the lines' amounts, in cents.
    pub amount: i64,
}

impl OrderStatus {
    pub(in super::super) fn new(tables: Tables) -> Self {
        let customer = Customer::Number(0);
        Self { tables, warehouse: 0, district: 0, customer, matches: RefCell::default() }
    }

    /// Returns the numbers of the warehouse and the district.
    pub fn place(&self) -> (i32, i32) {
        (self.warehouse, self.district)
    }

    /// Returns the customer that asks.
    pub fn customer(&self) -> &Customer {
        &self.customer
    }

    /// Sets the parameters of the next inquiry.
    pub(in super::super) fn set(&mut self, warehouse: i32, district: i32, customer: Customer) {
        (self.warehouse, self.district, self.customer) = (warehouse, district, customer);
    }
}

impl Procedure for OrderStatus {
    type Output = OrderState;

    fn accesses(&self, accesses: &mut Accesses) {
        self.customer.access(self.tables, self.warehouse, self.district, Intent::Read, accesses);
        accesses.set_partial();
    }

    fn read_only(&self) -> bool {
        true
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<OrderState, Abort> {
        let number = self.customer.find(txn, self.tables, LockFor::Read, &mut self.matches.borrow_mut())?;
        let key = Key::int4s([self.warehouse, self.district, number]);
        let balance = found(txn.read(self.tables.customer, &key)?)?.scaled(customer::BALANCE);
        let mut state = OrderState { balance, ..OrderState::default() };

        let last = Scan { direction: Direction::Backward, ..Scan::prefix(self.tables.order, ORDERS_BY_CUSTOMER, key) };
        txn.scan(&last, &mut |row| {
            state.order = Some(row.int4(order::ID));
            state.carrier = (!row.is_null(order::CARRIER)).then(|| row.int4(order::CARRIER));
            ControlFlow::Break(())
        })?;
        if let Some(order) = state.order {
            let key = Key::int4s([self.warehouse, self.district, order]);
            txn.scan(&Scan::prefix(self.tables.order_line, IndexRef::Primary, key), &mut |row| {
                state.lines += 1;
                state.amount += row.scaled(order_line::AMOUNT);
                ControlFlow::Continue(())
            })?;
        }
        Ok(state)
    }
}
