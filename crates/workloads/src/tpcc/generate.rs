//! The next transaction of a worker, and the counts of those that committed.

use super::options::{Home, Options};
use super::procedures::{
    Customer, DISTRICTS, Delivered, Delivery, LINES_FEWEST, LINES_MOST, Line, NewOrder, OrderStatus, Paid, Payment,
    StockLevel,
};
use super::random::{Constants, Random};
use super::schema::Tables;
use super::tally::Tallies;
use crate::assignment::draw_weighted;
use crate::time::now_us;
use crate::{ClientIdentity, Hand};
use hotrow_txn::{Abort, Runner};

/// A kind of transactions. As a number, it is a position in [`KINDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The New-Order transaction, which enters an order.
    NewOrder,
    /// The Payment transaction, which enters a customer's payment.
    Payment,
    /// The Order-Status transaction, which reads the state of a customer's last order.
    OrderStatus,
    /// The Delivery transaction, which delivers the oldest order of each district.
    Delivery,
    /// The Stock-Level transaction, which counts the items of recent orders that are running out.
    StockLevel,
}

/// All kinds, in the order of [`KINDS`].
const ALL: [Kind; KINDS.len()] = [Kind::NewOrder, Kind::Payment, Kind::OrderStatus, Kind::Delivery, Kind::StockLevel];

/// The names of the kinds of transactions in reports.
pub(super) const KINDS: [&str; 5] = ["new-order", "payment", "order-status", "delivery", "stock-level"];

/// The group of each kind, by the tables that it changes or reads most: stocks and new orders, payments, or old orders.
pub(super) const GROUPS: [usize; KINDS.len()] = [0, 1, 2, 2, 0];

/// Generates and runs the transactions of one worker, and counts the effects of those that committed.
#[derive(Debug)]
pub struct Client {
    random: Random,
    options: Options,
    weights: [u32; KINDS.len()],
    /// The source of the transactions' kinds, or `None` if they are drawn by `weights`.
    hand: Option<Hand>,
    /// The warehouse to which the worker is bound, or `None` if each transaction draws a warehouse.
    bound: Option<i32>,
    new_order: NewOrder,
    payment: Payment,
    order_status: OrderStatus,
    delivery: Delivery,
    stock_level: StockLevel,
    /// Whether the order that was drawn last has an item that does not exist.
    is_rolled_back: bool,
    tallies: Tallies,
    surprises: u64,
}

impl Client {
    pub(super) fn new(options: &Options, tables: Tables, identity: ClientIdentity) -> Self {
        let random = Random::new(identity.rng(), Constants::of_run(identity.seed), options.customers, options.items);
        let bound = (options.home == Home::Bound).then(|| (identity.worker % options.warehouses) as i32 + 1);
        Self {
            random,
            options: options.clone(),
            weights: options.mix.weights(),
            hand: None,
            bound,
            new_order: NewOrder::new(tables),
            payment: Payment::new(tables, identity.number),
            order_status: OrderStatus::new(tables),
            delivery: Delivery::new(tables),
            stock_level: StockLevel::new(tables),
            is_rolled_back: false,
            tallies: Tallies::new(options.warehouses),
            surprises: 0,
        }
    }

    /// Returns the effects of the committed transactions, by district.
    pub(super) fn tallies(&self) -> &Tallies {
        &self.tallies
    }

    /// Returns how many transactions met a row that should not exist, or missed a row that should.
    pub(super) fn surprises(&self) -> u64 {
        self.surprises
    }

    /// Draws the kind of the next transaction.
    fn kind(&mut self) -> Kind {
        let number = match &mut self.hand {
            None => draw_weighted(&mut self.random.rng, &self.weights),
            Some(hand) => hand.draw(&mut self.random.rng),
        };
        ALL[number]
    }

    /// Draws the warehouse and the district of the next transaction.
    fn place(&mut self) -> (i32, i32) {
        let warehouses = self.options.warehouses as i32;
        let warehouse = self.bound.unwrap_or_else(|| self.random.uniform(1, warehouses));
        (warehouse, self.random.uniform(1, DISTRICTS))
    }

    /// Draws another warehouse with probability `share`. Returns `None` if none was drawn, or if there is no other one.
    fn elsewhere(&mut self, warehouse: i32, share: f64) -> Option<i32> {
        let warehouses = self.options.warehouses as i32;
        (warehouses > 1 && self.random.chance(share)).then(|| {
            let other = self.random.uniform(1, warehouses - 1);
            other + i32::from(other >= warehouse)
        })
    }

    /// Draws a customer of a district, by number or by last name.
    fn customer(&mut self, warehouse: i32, district: i32) -> Customer {
        if self.random.chance(self.options.by_name) {
            Customer::by_name(warehouse, district, self.random.last_name())
        } else {
            Customer::Number(self.random.customer())
        }
    }

    /// Draws the next order (clause 2.4.1).
    fn next_order(&mut self) {
        let (warehouse, district) = self.place();
        let customer = self.random.customer();
        self.new_order.set(warehouse, district, customer, now_us());
        let count = self.random.rng.usize(LINES_FEWEST..=LINES_MOST);
        for _ in 0..count {
            let supply = self.elsewhere(warehouse, self.options.remote_neworder).unwrap_or(warehouse);
            let line = Line { supply, item: self.random.item(), quantity: self.random.uniform(1, 10) };
            self.new_order.lines_mut().push(line);
        }
        self.new_order.lines_mut().sort_unstable();
        self.is_rolled_back = self.random.chance(self.options.rollback);
        if self.is_rolled_back
            && let Some(last) = self.new_order.lines_mut().last_mut()
        {
            last.item = self.options.items as i32 + 1;
        }
    }

    /// Draws the next payment (clause 2.5.1).
    fn next_payment(&mut self) {
        let (warehouse, district) = self.place();
        let elsewhere = self.elsewhere(warehouse, self.options.remote_payment);
        let (customer_warehouse, customer_district) =
            elsewhere.map_or((warehouse, district), |other| (other, self.random.uniform(1, DISTRICTS)));
        let customer = self.customer(customer_warehouse, customer_district);
        let cents = i64::from(self.random.uniform(100, 500_000));
        let paid = Paid { warehouse, district, customer_warehouse, customer_district, customer, cents };
        self.payment.set(paid, now_us());
    }

    /// Draws the next transaction, and returns its kind. The transaction's parameters are in the object that the method
    /// of that kind returns, such as [`payment`](Self::payment).
    pub fn draw(&mut self) -> Kind {
        let kind = self.kind();
        match kind {
            Kind::NewOrder => self.next_order(),
            Kind::Payment => self.next_payment(),
            Kind::OrderStatus => {
                let (warehouse, district) = self.place();
                let customer = self.customer(warehouse, district);
                self.order_status.set(warehouse, district, customer);
            }
            Kind::Delivery => {
                let (warehouse, _) = self.place();
                self.delivery.set(warehouse, self.random.uniform(1, 10), now_us());
            }
            Kind::StockLevel => {
                let (warehouse, district) = self.place();
                self.stock_level.set(warehouse, district, self.random.uniform(10, 20));
            }
        }
        kind
    }

    /// Returns the New-Order transaction that was drawn last.
    pub fn new_order(&self) -> &NewOrder {
        &self.new_order
    }

    /// Whether an item of the order that was drawn last does not exist, so that the order must be rolled back.
    pub fn is_rolled_back(&self) -> bool {
        self.is_rolled_back
    }

    /// Returns the Payment transaction that was drawn last.
    pub fn payment(&self) -> &Payment {
        &self.payment
    }

    /// Returns the Order-Status transaction that was drawn last.
    pub fn order_status(&self) -> &OrderStatus {
        &self.order_status
    }

    /// Returns the Delivery transaction that was drawn last.
    pub fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    /// Returns the Stock-Level transaction that was drawn last.
    pub fn stock_level(&self) -> &StockLevel {
        &self.stock_level
    }

    /// Records that the transaction of this kind that was drawn last has committed. `delivered` is its result if it is
    /// a Delivery, and ignored otherwise. Returns false if it is a Delivery that has found no order, and true
    /// otherwise.
    pub fn committed(&mut self, kind: Kind, delivered: &Delivered) -> bool {
        match kind {
            Kind::NewOrder => {
                let (warehouse, district) = self.new_order.place();
                let tally = self.tallies.of_mut(warehouse, district);
                tally.orders += 1;
                tally.lines += self.new_order.lines().len() as i64;
            }
            Kind::Payment => {
                let Paid { warehouse, district, cents, .. } = *self.payment.paid();
                let tally = self.tallies.of_mut(warehouse, district);
                tally.payments += 1;
                tally.cents += cents;
            }
            Kind::Delivery => {
                for (district, &delivered) in (1..).zip(delivered) {
                    self.tallies.of_mut(self.delivery.warehouse(), district).deliveries += i64::from(delivered);
                }
                return delivered.contains(&true);
            }
            Kind::OrderStatus | Kind::StockLevel => {}
        }
        true
    }

    /// Passes on the outcome of the transaction that was drawn last. If it gave up and `is_expected` is false, that is
    /// counted.
    fn surprised_by<T>(&mut self, outcome: Result<T, Abort>, is_expected: bool) -> Result<T, Abort> {
        self.surprises += u64::from(matches!(outcome, Err(Abort::User)) && !is_expected);
        outcome
    }
}

impl crate::Client for Client {
    fn step<R: Runner>(&mut self, runner: &mut R) -> Result<(), Abort> {
        let kind = self.draw();
        let none = Delivered::default();
        let outcome = match kind {
            Kind::NewOrder => runner.run(&self.new_order).map(|_| none),
            Kind::Payment => runner.run(&self.payment).map(|_| none),
            Kind::OrderStatus => runner.run(&self.order_status).map(|_| none),
            Kind::Delivery => runner.run(&self.delivery),
            Kind::StockLevel => runner.run(&self.stock_level).map(|_| none),
        };
        let is_expected = kind == Kind::NewOrder && self.is_rolled_back;
        let delivered = self.surprised_by(outcome, is_expected)?;
        let succeeded = self.committed(kind, &delivered);
        runner.note(kind as usize, succeeded);
        Ok(())
    }

    fn deal(&mut self, hand: Hand) {
        self.hand = Some(hand);
    }
}
