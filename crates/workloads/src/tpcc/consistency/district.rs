//! The conditions that must hold within a district: 2 to 7, 9 to 13, and 15.

use super::super::columns::{customer, new_order, order, order_line};
use super::super::load::PAID_CENTS;
use super::super::tally::Tally;
use super::Checker;
use super::findings::cents;
use hotrow_storage::RowRef;
use hotrow_txn::number_of;

/// The facts about an order, from its row, its entry among the new orders and its lines.
#[derive(Clone, Copy, Default)]
struct Order {
    is_there: bool,
    is_new: bool,
    has_carrier: bool,
    customer: i32,
    /// `o_ol_cnt`
    lines: i64,
    lines_there: i64,
    lines_delivered: i64,
    /// The sum of the delivered lines, in cents.
    delivered_cents: i64,
}

/// The facts about a customer, from its row and the orders.
#[derive(Clone, Copy, Default)]
struct Customer {
    is_there: bool,
    balance: i64,
    /// `c_ytd_payment`, in cents.
    paid: i64,
    payments: i64,
    deliveries: i64,
    /// The sum of the delivered lines of the customer's orders, in cents.
    delivered_cents: i64,
    /// The number of the customer's orders that were delivered since the load.
    delivered: i64,
}

/// The statistics of the numbers that a check has met: their count, the least and the greatest.
#[derive(Clone, Copy, Default)]
struct Numbers {
    count: i64,
    least: i32,
    greatest: i32,
}

impl Numbers {
    fn add(&mut self, number: i32) {
        self.least = if self.count == 0 { number } else { self.least.min(number) };
        self.greatest = if self.count == 0 { number } else { self.greatest.max(number) };
        self.count += 1;
    }
}

/// The rows of a district, collected as they are visited.
pub(super) struct District<'c> {
    checker: &'c Checker<'c>,
    warehouse: i32,
    number: i32,
    ytd: i64,
    next_order: i32,
    customers: Vec<Customer>,
    orders: Vec<Order>,
    order_numbers: Numbers,
    new_order_numbers: Numbers,
    lines: i64,
}

impl<'c> District<'c> {
    /// Begins the check of a district whose own row has `ytd` and `next_order`.
    pub(super) fn new(checker: &'c Checker<'c>, (warehouse, number): (i32, i32), ytd: i64, next_order: i32) -> Self {
        let customers = vec![Customer::default(); checker.options.customers as usize];
        // A broken engine may produce any number, so numbers beyond the expected ones are reported and not kept.
        let most = i64::from(checker.options.customers) + checker.tallies.of(warehouse, number).orders;
        let orders = vec![Order::default(); most as usize];
        let (order_numbers, new_order_numbers) = (Numbers::default(), Numbers::default());
        Self {
            checker,
            warehouse,
            number,
            ytd,
            next_order,
            customers,
            orders,
            order_numbers,
            new_order_numbers,
            lines: 0,
        }
    }

    pub(super) fn add_customer(&mut self, row: RowRef<'_>) {
        let number = row.int4(customer::ID);
        if let Some(customer) = entry(&mut self.customers, number) {
            customer.is_there = true;
            customer.balance = row.scaled(customer::BALANCE);
            customer.paid = (row.float8(customer::PAID) * 100.0).round() as i64;
            customer.payments = i64::from(row.int4(customer::PAYMENTS));
            customer.deliveries = i64::from(row.int4(customer::DELIVERIES));
        }
    }

    pub(super) fn add_order(&mut self, row: RowRef<'_>) {
        let number = row.int4(order::ID);
        self.order_numbers.add(number);
        if let Some(order) = entry(&mut self.orders, number) {
            order.is_there = true;
            order.has_carrier = !row.is_null(order::CARRIER);
            order.customer = row.int4(order::CUSTOMER);
            order.lines = row.scaled(order::LINES);
        }
    }

    pub(super) fn add_new_order(&mut self, row: RowRef<'_>) {
        let number = row.int4(new_order::ORDER);
        self.new_order_numbers.add(number);
        if let Some(order) = entry(&mut self.orders, number) {
            order.is_new = true;
        }
    }

    pub(super) fn add_line(&mut self, row: RowRef<'_>) {
        let number = row.int4(order_line::ORDER);
        self.lines += 1;
        if let Some(supplied) = self.checker.supplied.as_ref().filter(|_| self.is_of_run(number)) {
            let (supply, item) = (row.int4(order_line::SUPPLY), row.int4(order_line::ITEM));
            supplied.add(supply, item, row.scaled(order_line::QUANTITY), supply != self.warehouse);
        }
        if let Some(order) = entry(&mut self.orders, number) {
            order.lines_there += 1;
            if !row.is_null(order_line::DELIVERED) {
                order.lines_delivered += 1;
                order.delivered_cents += row.scaled(order_line::AMOUNT);
            }
        }
    }

    /// Whether the order with this number was entered since the load.
    fn is_of_run(&self, order: i32) -> bool {
        order > self.checker.options.customers as i32
    }

    /// Checks the conditions on the rows that were collected.
    pub(super) fn check(mut self) {
        self.check_numbers();
        self.check_orders();
        self.check_payments();
        self.check_committed();
        self.deliver();
        self.check_customers();
    }

    fn find(&self, condition: u32, what: &str) {
        self.checker.find(condition, format!("warehouse {}, district {}: {what}", self.warehouse, self.number));
    }

    /// Checks conditions 2, 3 and 11.
    fn check_numbers(&self) {
        let Self { next_order, order_numbers: orders, new_order_numbers: new_orders, .. } = self;
        if i64::from(orders.greatest) + 1 != i64::from(*next_order) {
            let greatest = orders.greatest;
            self.find(2, &format!("d_next_o_id is {next_order}, but the greatest o_id {greatest}"));
        }
        if new_orders.count > 0 && i64::from(new_orders.greatest) + 1 != i64::from(*next_order) {
            let greatest = new_orders.greatest;
            self.find(2, &format!("d_next_o_id is {next_order}, but the greatest no_o_id {greatest}"));
        }
        let span = i64::from(new_orders.greatest) - i64::from(new_orders.least) + 1;
        if new_orders.count > 0 && span != new_orders.count {
            let Numbers { count, least, greatest } = new_orders;
            let rows = number_of(*count, "row");
            self.find(3, &format!("no_o_id goes from {least} to {greatest}, but new_order has {rows}"));
        }
        let delivered = i64::from(self.checker.options.delivered()) + self.tally().deliveries;
        if orders.count - new_orders.count != delivered {
            let (orders, new_orders) = (orders.count, new_orders.count);
            let what = format!("{orders} orders less {new_orders} new orders are not the {delivered} delivered ones");
            self.find(11, &what);
        }
    }

    /// Checks conditions 4 to 7.
    fn check_orders(&self) {
        let sum: i64 = self.orders.iter().map(|order| order.lines).sum();
        if sum != self.lines {
            self.find(4, &format!("the sum of o_ol_cnt is {sum}, but there are {} order lines", self.lines));
        }
        for (number, order) in (1..).zip(&self.orders) {
            let Order { is_new, has_carrier, lines, lines_there, lines_delivered, .. } = *order;
            if order.is_there && has_carrier == is_new {
                let (carrier, new) =
                    (if has_carrier { "set" } else { "NULL" }, if is_new { "there" } else { "not there" });
                self.find(5, &format!("order {number}: o_carrier_id is {carrier}, but its row of new_order is {new}"));
            }
            if lines != lines_there {
                self.find(6, &format!("order {number}: o_ol_cnt is {lines}, but it has {lines_there} lines"));
            }
            if lines_delivered != if has_carrier { lines_there } else { 0 } {
                let carrier = if has_carrier { "set" } else { "NULL" };
                let what = format!(
                    "order {number}: o_carrier_id is {carrier}, but {lines_delivered} of its {lines_there} lines are delivered"
                );
                self.find(7, &what);
            }
        }
    }

    /// Checks condition 9.
    fn check_payments(&self) {
        let sum = self.checker.payments.of_district(self.warehouse, self.number).cents;
        if self.ytd != sum {
            self.find(9, &format!("d_ytd is {}, but the sum of h_amount {}", cents(self.ytd), cents(sum)));
        }
    }

    /// Checks condition 15.
    fn check_committed(&self) {
        let Tally { orders, lines, payments, cents: paid, .. } = *self.tally();
        let loaded = i64::from(self.checker.options.customers);
        let of_run = |(number, order): (i32, &Order)| if self.is_of_run(number) { order.lines } else { 0 };
        let lines_there: i64 = (1..).zip(&self.orders).map(of_run).sum();
        let history = self.checker.payments.of_district(self.warehouse, self.number);
        let paid_there = self.ytd - loaded * PAID_CENTS;
        let counts = [
            ("orders", self.order_numbers.count - loaded, orders),
            ("order lines", lines_there, lines),
            ("cents paid", paid_there, paid),
        ];
        for (of_what, there, committed) in counts {
            if there != committed {
                self.find(15, &format!("{there} {of_what} are there, but {committed} were committed"));
            }
        }
        let there = history.count - loaded;
        if there != payments {
            // Rows of the history have unique numbers, so no interleaving can remove one.
            let (warehouse, number) = (self.warehouse, self.number);
            let what = format!(
                "warehouse {warehouse}, district {number}: {there} payments are there, but {payments} were committed"
            );
            self.checker.find_corruption(15, what);
        }
    }

    /// Adds the sums of the delivered lines to the customers of their orders.
    fn deliver(&mut self) {
        let delivered_before = self.checker.options.delivered();
        for (number, order) in (1..).zip(&self.orders) {
            if let Some(customer) = entry(&mut self.customers, order.customer) {
                customer.delivered_cents += order.delivered_cents;
                customer.delivered += i64::from(order.has_carrier && number > delivered_before);
            }
        }
    }

    /// Checks conditions 10, 12 and 13.
    fn check_customers(&self) {
        for (number, customer) in (1..).zip(&self.customers) {
            let Customer { balance, paid, payments, deliveries, delivered_cents, delivered, .. } = *customer;
            if !customer.is_there {
                self.find(10, &format!("customer {number} is not there"));
                continue;
            }
            let history = self.checker.payments.of_customer((self.warehouse, self.number), number);
            if balance != delivered_cents - history.cents {
                let (delivered, paid, balance) = (cents(delivered_cents), cents(history.cents), cents(balance));
                let what = format!(
                    "customer {number}: c_balance is {balance}, but {delivered} was delivered and {paid} is the sum of h_amount"
                );
                self.find(10, &what);
            }
            if balance + paid != delivered_cents {
                let (delivered, paid, balance) = (cents(delivered_cents), cents(paid), cents(balance));
                let what = format!(
                    "customer {number}: c_balance is {balance} and c_ytd_payment {paid}, but {delivered} was delivered"
                );
                self.find(12, &what);
            }
            if (payments, deliveries) != (history.count, delivered) {
                let what = format!(
                    "customer {number}: c_payment_cnt and c_delivery_cnt are {payments} and {deliveries}, but there are \
                     {} payments and {delivered} deliveries",
                    history.count
                );
                self.find(13, &what);
            }
        }
    }

    fn tally(&self) -> &Tally {
        self.checker.tallies.of(self.warehouse, self.number)
    }
}

/// Returns the entry with this number, counted from one, or `None` if there is no such entry.
fn entry<T>(entries: &mut [T], number: i32) -> Option<&mut T> {
    usize::try_from(number).ok().and_then(|number| number.checked_sub(1)).and_then(|at| entries.get_mut(at))
}
