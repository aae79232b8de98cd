//! New-Order (clause 2.4): a customer orders 5 to 15 items.

use super::super::columns::{customer, district, item, new_order, order, order_line, stock, warehouse};
use super::super::random::ORIGINAL;
use super::super::schema::{ORDERS_BY_CUSTOMER, Tables, new_orders, order_lines, orders};
use super::{LINES_FEWEST, LINES_MOST, change, done, found};
use hotrow_storage::{IndexRef, Key, Row, RowLayout, RowMut, TableSchema, Value};
use hotrow_sync::Arc;
use hotrow_txn::{Abort, Accesses, Intent, Procedure, Transaction};
use std::cell::RefCell;

/// A line of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// The warehouse that supplies the item.
    pub supply: i32,
    /// The item's number.
    pub item: i32,
    /// The quantity.
    pub quantity: i32,
}

/// The result of an order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ordered {
    /// The order's number in its district.
    pub order: i32,
    /// The amount that the customer pays, after discount and with tax.
    pub total: f64,
    /// The number of lines whose item and stock both have the mark `ORIGINAL` in their data (clause 2.4.2.2).
    pub of_brand: u32,
}

/// The transaction that enters an order: reads items, customer and warehouse, takes from the stocks, and inserts the
/// order with its lines.
///
/// If an item does not exist (clause 2.4.1.4), everything else is done first and then rolled back, as clause 2.4.2.3
/// requires.
#[derive(Debug)]
pub struct NewOrder {
    tables: Tables,
    warehouse: i32,
    district: i32,
    customer: i32,
    time_us: i64,
    lines: Vec<Line>,
    work: RefCell<Work>,
}

/// The buffers that a run of the transaction uses.
#[derive(Debug)]
struct Work {
    order: Row,
    new_order: Row,
    line: Row,
    supplied: [Supplied; LINES_MOST],
}

/// The facts about a line that are found before the order has a number.
#[derive(Clone, Copy, Debug, Default)]
struct Supplied {
    is_item: bool,
    amount: i64,
    info: [u8; stock::DISTRICT_BYTES],
}

fn row(schema: &TableSchema) -> Row {
    Row::new(&Arc::new(RowLayout::new(&schema.columns)))
}

impl NewOrder {
    pub(in super::super) fn new(tables: Tables) -> Self {
        let mut order = row(&orders());
        order.change(|row| row.set(order::CARRIER, &Value::Null));
        let mut line = row(&order_lines());
        line.change(|row| row.set(order_line::DELIVERED, &Value::Null));
        let supplied = [Supplied::default(); LINES_MOST];
        let work = RefCell::new(Work { order, new_order: row(&new_orders()), line, supplied });
        let lines = Vec::with_capacity(LINES_MOST);
        Self { tables, warehouse: 0, district: 0, customer: 0, time_us: 0, lines, work }
    }

    /// Sets the parameters of the next order of a customer, with no lines yet.
    pub(in super::super) fn set(&mut self, warehouse: i32, district: i32, customer: i32, time_us: i64) {
        (self.warehouse, self.district, self.customer, self.time_us) = (warehouse, district, customer, time_us);
        self.lines.clear();
    }

    /// Returns the order's lines, to be filled. They must be sorted, so that all transactions lock stocks in one order.
    pub(in super::super) fn lines_mut(&mut self) -> &mut Vec<Line> {
        &mut self.lines
    }

    /// Returns the numbers of the warehouse and the district.
    pub fn place(&self) -> (i32, i32) {
        (self.warehouse, self.district)
    }

    /// Returns the number of the customer.
    pub fn customer(&self) -> i32 {
        self.customer
    }

    /// Returns the order's lines.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Takes a line's items from their stock. Returns whether the stock is of the brand.
    fn supply<T: Transaction + ?Sized>(
        &self,
        txn: &mut T,
        line: &Line,
        info: &mut [u8; stock::DISTRICT_BYTES],
    ) -> Result<bool, Abort> {
        let mut of_brand = false;
        change(txn, self.tables.stock, &Key::int4s([line.supply, line.item]), |row| {
            let now = row.as_ref();
            of_brand = is_original(now.bytes(stock::DATA));
            info.copy_from_slice(now.bytes(stock::district(self.district)));
            let quantity = i64::from(line.quantity);
            let left = now.scaled(stock::QUANTITY) - quantity;
            let (ytd, orders) = (now.scaled(stock::YTD), now.int4(stock::ORDERS));
            row.set_scaled(stock::QUANTITY, if left >= 10 { left } else { left + 91 });
            row.set_scaled(stock::YTD, ytd + quantity * 100);
            row.set_int4(stock::ORDERS, orders + 1);
            if line.supply != self.warehouse {
                let remote = row.as_ref().int4(stock::REMOTE_ORDERS);
                row.set_int4(stock::REMOTE_ORDERS, remote + 1);
            }
        })?;
        Ok(of_brand)
    }

    /// Adds the rows that [`insert`](Self::insert) will insert to `accesses`, now that the order has a number.
    fn announce(&self, number: i32, accesses: &mut Accesses) {
        let of_order = [self.warehouse, self.district, number];
        for table in [self.tables.order, self.tables.new_order] {
            accesses.push(table, Key::int4s(of_order), Intent::Write);
        }
        for position in 1..=self.lines.len() as i32 {
            let [warehouse, district, order] = of_order;
            accesses.push(self.tables.order_line, Key::int4s([warehouse, district, order, position]), Intent::Write);
        }
    }

    /// Inserts the order, its entry in the queue of deliveries, and its lines.
    fn insert<T: Transaction + ?Sized>(&self, txn: &mut T, work: &mut Work, number: i32) -> Result<(), Abort> {
        let all_local = self.lines.iter().all(|line| line.supply == self.warehouse);
        work.order.change(|row| {
            self.set_order((row, [order::WAREHOUSE, order::DISTRICT, order::ID]), number);
            row.set_int4(order::CUSTOMER, self.customer);
            row.set_scaled(order::LINES, self.lines.len() as i64);
            row.set_scaled(order::ALL_LOCAL, i64::from(all_local));
            row.set(order::ENTERED, &Value::Timestamp(self.time_us));
        });
        done(txn.insert(self.tables.order, work.order.as_ref())?)?;
        work.new_order.change(|row| {
            self.set_order((row, [new_order::WAREHOUSE, new_order::DISTRICT, new_order::ORDER]), number);
        });
        done(txn.insert(self.tables.new_order, work.new_order.as_ref())?)?;
        for (position, (line, supplied)) in self.lines.iter().zip(&work.supplied).enumerate() {
            if !supplied.is_item {
                continue;
            }
            work.line.change(|row| {
                self.set_order((row, [order_line::WAREHOUSE, order_line::DISTRICT, order_line::ORDER]), number);
                row.set_int4(order_line::NUMBER, position as i32 + 1);
                row.set_int4(order_line::ITEM, line.item);
                row.set_scaled(order_line::AMOUNT, supplied.amount);
                row.set_int4(order_line::SUPPLY, line.supply);
                row.set_scaled(order_line::QUANTITY, i64::from(line.quantity));
                row.set_bytes(order_line::INFO, &supplied.info);
            });
            done(txn.insert(self.tables.order_line, work.line.as_ref())?)?;
        }
        Ok(())
    }

    /// Sets the three columns that identify the order in a row.
    fn set_order(&self, (row, columns): (&mut RowMut<'_>, [usize; 3]), number: i32) {
        for (column, value) in columns.into_iter().zip([self.warehouse, self.district, number]) {
            row.set_int4(column, value);
        }
    }
}

/// Whether the data of an item or a stock say that it is of the brand.
fn is_original(data: &[u8]) -> bool {
    data.windows(ORIGINAL.len()).any(|window| window == ORIGINAL)
}

impl Procedure for NewOrder {
    type Output = Ordered;

    /// Of the inserted rows only the district is known, and of the order's entry the customer: their numbers are drawn
    /// from the district's row.
    fn accesses(&self, accesses: &mut Accesses) {
        let Tables { item, customer, stock, district, warehouse, order, new_order, order_line, .. } = self.tables;
        let (of_district, of_customer) =
            (Key::int4s([self.warehouse, self.district]), Key::int4s([self.warehouse, self.district, self.customer]));
        accesses.push(customer, of_customer.clone(), Intent::Read);
        for line in &self.lines {
            accesses.push(item, Key::Int(i64::from(line.item)), Intent::Read);
            accesses.push(stock, Key::int4s([line.supply, line.item]), Intent::Write);
        }
        accesses.push(district, of_district.clone(), Intent::Write);
        accesses.push(warehouse, Key::Int(i64::from(self.warehouse)), Intent::Read);
        for table in [order, new_order, order_line] {
            accesses.push_entries_below(table, IndexRef::Primary, of_district.clone());
        }
        accesses.push_entries_below(order, ORDERS_BY_CUSTOMER, of_customer);
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Ordered, Abort> {
        debug_assert!((LINES_FEWEST..=LINES_MOST).contains(&self.lines.len()));
        let work = &mut *self.work.borrow_mut();
        let key = Key::int4s([self.warehouse, self.district, self.customer]);
        let discount = found(txn.read(self.tables.customer, &key)?)?.scaled(customer::DISCOUNT);

        let mut of_brand = 0;
        let mut sum = 0;
        let mut is_complete = true;
        for (line, supplied) in self.lines.iter().zip(&mut work.supplied) {
            let found = txn.read(self.tables.item, &Key::Int(i64::from(line.item)))?;
            supplied.is_item = found.is_some();
            let Some(row) = found else {
                is_complete = false;
                continue;
            };
            supplied.amount = row.scaled(item::PRICE) * i64::from(line.quantity);
            let item_of_brand = is_original(row.bytes(item::DATA));
            let stock_of_brand = self.supply(txn, line, &mut supplied.info)?;
            of_brand += u32::from(item_of_brand && stock_of_brand);
            sum += supplied.amount;
        }

        let (mut number, mut district_tax) = (0, 0);
        change(txn, self.tables.district, &Key::int4s([self.warehouse, self.district]), |row| {
            number = row.as_ref().int4(district::NEXT_ORDER);
            district_tax = row.as_ref().scaled(district::TAX);
            row.set_int4(district::NEXT_ORDER, number + 1);
        })?;
        txn.announce(&mut |accesses| self.announce(number, accesses));
        self.insert(txn, work, number)?;

        let row = txn.read(self.tables.warehouse, &Key::Int(i64::from(self.warehouse)))?;
        let tax = found(row)?.scaled(warehouse::TAX) + district_tax;
        if !is_complete {
            return Err(Abort::User);
        }
        // The sum is in cents; discount and tax are in ten-thousandths.
        let total = sum as f64 / 100.0 * (1.0 - discount as f64 / 10_000.0) * (1.0 + tax as f64 / 10_000.0);
        Ok(Ordered { order: number, total, of_brand })
    }
}
