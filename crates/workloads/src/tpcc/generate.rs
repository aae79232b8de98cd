//! The next transaction of a worker, and what the committed ones did.

use super::options::{Home, Options};
use super::procedures::{
    Customer, DISTRICTS, Delivery, LINES_FEWEST, LINES_MOST, Line, NewOrder, OrderStatus, Paid, Payment, StockLevel,
};
use super::random::{Constants, Random};
use super::schema::Tables;
use super::tally::Tallies;
use crate::Seat;
use crate::time::now_us;
use hotrow_txn::{Abort, Runner};

/// The kinds of transactions, as reports name them.
pub(super) const KINDS: [&str; 5] = ["new-order", "payment", "order-status", "delivery", "stock-level"];

/// A stream of transactions, and what the committed ones did.
#[derive(Debug)]
pub struct Client {
    random: Random,
    options: Options,
    weights: [u32; KINDS.len()],
    /// The warehouse that this worker is bound to.
    bound: Option<i32>,
    new_order: NewOrder,
    payment: Payment,
    order_status: OrderStatus,
    delivery: Delivery,
    stock_level: StockLevel,
    tallies: Tallies,
    surprises: u64,
}

impl Client {
    pub(super) fn new(options: &Options, tables: Tables, seat: Seat) -> Self {
        let random = Random::new(seat.rng(), Constants::of_run(seat.seed), options.customers, options.items);
        let bound = (options.home == Home::Bound).then(|| (seat.worker % options.warehouses) as i32 + 1);
        Self {
            random,
            options: options.clone(),
            weights: options.mix.weights(),
            bound,
            new_order: NewOrder::new(tables),
            payment: Payment::new(tables, seat.number),
            order_status: OrderStatus::new(tables),
            delivery: Delivery::new(tables),
            stock_level: StockLevel::new(tables),
            tallies: Tallies::new(options.warehouses),
            surprises: 0,
        }
    }

    /// What the committed transactions did.
    pub(super) fn tallies(&self) -> &Tallies {
        &self.tallies
    }

    /// Transactions that met a row that should not be there, or missed one that should.
    pub(super) fn surprises(&self) -> u64 {
        self.surprises
    }

    /// The kind of the next transaction: a position in [`KINDS`].
    fn kind(&mut self) -> usize {
        let mut ticket = self.random.rng.u32(..self.weights.iter().sum::<u32>());
        self.weights.iter().position(|&weight| take(&mut ticket, weight)).unwrap_or_default()
    }

    /// The next transaction's warehouse and district.
    fn place(&mut self) -> (i32, i32) {
        let warehouses = self.options.warehouses as i32;
        let warehouse = self.bound.unwrap_or_else(|| self.random.uniform(1, warehouses));
        (warehouse, self.random.uniform(1, DISTRICTS))
    }

    /// Another warehouse than this one, if there is one and the share says so.
    fn elsewhere(&mut self, warehouse: i32, share: f64) -> Option<i32> {
        let warehouses = self.options.warehouses as i32;
        (warehouses > 1 && self.random.chance(share)).then(|| {
            let other = self.random.uniform(1, warehouses - 1);
            other + i32::from(other >= warehouse)
        })
    }

    /// A customer of a district, by number or by last name.
    fn customer(&mut self, warehouse: i32, district: i32) -> Customer {
        if self.random.chance(self.options.by_name) {
            Customer::by_name(warehouse, district, self.random.last_name())
        } else {
            Customer::Number(self.random.customer())
        }
    }

    /// The next order (clause 2.4.1): whether an item of it does not exist.
    fn next_order(&mut self) -> bool {
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
        let is_rolled_back = self.random.chance(self.options.rollback);
        if is_rolled_back && let Some(last) = self.new_order.lines_mut().last_mut() {
            last.item = self.options.items as i32 + 1;
        }
        is_rolled_back
    }

    /// The next payment (clause 2.5.1).
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

    fn enter_order<R: Runner>(&mut self, runner: &mut R) -> Result<(), Abort> {
        let is_rolled_back = self.next_order();
        let outcome = runner.run(&self.new_order).map(drop);
        if is_rolled_back && outcome == Err(Abort::User) {
            return outcome;
        }
        self.surprised_by(outcome)?;
        let (warehouse, district) = self.new_order.place();
        let tally = self.tallies.of_mut(warehouse, district);
        tally.orders += 1;
        tally.lines += self.new_order.lines().len() as i64;
        Ok(())
    }

    fn pay<R: Runner>(&mut self, runner: &mut R) -> Result<(), Abort> {
        self.next_payment();
        let outcome = runner.run(&self.payment).map(drop);
        self.surprised_by(outcome)?;
        let Paid { warehouse, district, cents, .. } = *self.payment.paid();
        let tally = self.tallies.of_mut(warehouse, district);
        tally.payments += 1;
        tally.cents += cents;
        Ok(())
    }

    fn ask_for_order<R: Runner>(&mut self, runner: &mut R) -> Result<(), Abort> {
        let (warehouse, district) = self.place();
        let customer = self.customer(warehouse, district);
        self.order_status.set(warehouse, district, customer);
        let outcome = runner.run(&self.order_status).map(drop);
        self.surprised_by(outcome)
    }

    /// Whether there was anything to deliver.
    fn deliver<R: Runner>(&mut self, runner: &mut R) -> Result<bool, Abort> {
        let (warehouse, _) = self.place();
        self.delivery.set(warehouse, self.random.uniform(1, 10), now_us());
        let outcome = runner.run(&self.delivery);
        let delivered = self.surprised_by(outcome)?;
        for (district, delivered) in (1..).zip(delivered) {
            self.tallies.of_mut(warehouse, district).deliveries += i64::from(delivered);
        }
        Ok(delivered.contains(&true))
    }

    fn ask_for_stock<R: Runner>(&mut self, runner: &mut R) -> Result<(), Abort> {
        let (warehouse, district) = self.place();
        self.stock_level.set(warehouse, district, self.random.uniform(10, 20));
        let outcome = runner.run(&self.stock_level).map(drop);
        self.surprised_by(outcome)
    }

    /// Remembers a transaction that gave up although it is not one of those that are to be rolled back.
    fn surprised_by<T>(&mut self, outcome: Result<T, Abort>) -> Result<T, Abort> {
        self.surprises += u64::from(matches!(outcome, Err(Abort::User)));
        outcome
    }
}

/// Whether the ticket is one of `weight` winners; if not, it is one of the others.
fn take(ticket: &mut u32, weight: u32) -> bool {
    let wins = *ticket < weight;
    *ticket = ticket.wrapping_sub(weight);
    wins
}

impl crate::Client for Client {
    fn step<R: Runner>(&mut self, runner: &mut R) -> Result<(), Abort> {
        let kind = self.kind();
        let succeeded = match kind {
            0 => self.enter_order(runner).map(|()| true)?,
            1 => self.pay(runner).map(|()| true)?,
            2 => self.ask_for_order(runner).map(|()| true)?,
            3 => self.deliver(runner)?,
            _ => self.ask_for_stock(runner).map(|()| true)?,
        };
        runner.note(kind, succeeded);
        Ok(())
    }
}
