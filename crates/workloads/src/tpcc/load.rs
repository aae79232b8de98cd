//! The initial rows of a database (clause 4.3.3).
//!
//! Each row is made from its own random numbers, which are seeded by its table and number. So threads may make rows in
//! any order, and every load is the same.

use super::Options;
use super::columns::{customer, district, history, item, new_order, order, order_line, stock, warehouse};
use super::procedures::{DISTRICTS, LINES_FEWEST, LINES_MOST};
use super::random::{Constants, LAST_NAME_LONGEST, LAST_NAMES, Random, last_name};
use super::schema::Tables;
use super::tally;
use crate::load::{insert_row, load_items, load_rows};
use crate::time::now_us;
use crate::{LoadError, Progress};
use fastrand::Rng;
use hotrow_storage::{Row, RowMut, TableId, Value, mix};
use hotrow_txn::Engine;

/// The amount that every customer has paid initially, in cents.
pub(super) const PAID_CENTS: i64 = 1000;

/// The kind of row for which numbers are drawn.
#[derive(Clone, Copy)]
enum Of {
    Item = 1,
    Warehouse,
    District,
    Stock,
    Customer,
    Permutation,
    Order,
}

/// The load of a database: makes and inserts the initial rows.
pub(super) struct Load<'a> {
    pub options: &'a Options,
    pub engine: &'a dyn Engine,
    pub tables: Tables,
    pub threads: usize,
    pub progress: &'a Progress<'a>,
}

/// The number of orders up to which their lines are counted one by one.
const ORDERS_COUNTED: u64 = 10_000_000;

/// Draws the number of lines of an initial order: the first number that is drawn for it.
fn lines(random: &mut Random) -> usize {
    random.rng.usize(LINES_FEWEST..=LINES_MOST)
}

fn random(options: &Options, of: Of, number: u64) -> Random {
    let rng = Rng::with_seed(mix(mix(number) ^ (of as u64) << 56));
    Random::new(rng, Constants::of_load(), options.customers, options.items)
}

/// Returns the number of rows of each table, in the order of [`Tables`]. The lines of very many orders are estimated:
/// to count them would take too long for a mere error message that they are too many.
pub(super) fn rows(options: &Options) -> [u64; 9] {
    let warehouses = u64::from(options.warehouses);
    let districts = warehouses * DISTRICTS as u64;
    let customers = districts * u64::from(options.customers);
    let undelivered = districts * (options.customers - options.delivered() as u32) as u64;
    let all_lines = match customers {
        ..=ORDERS_COUNTED => (0..customers).map(|number| lines(&mut random(options, Of::Order, number)) as u64).sum(),
        _ => customers * (LINES_FEWEST + LINES_MOST) as u64 / 2,
    };
    let items = u64::from(options.items);
    [warehouses, districts, customers, customers, customers, undelivered, all_lines, warehouses * items, items]
}

impl Load<'_> {
    /// Loads all tables, each from all threads.
    pub(super) fn run(&self) -> Result<(), LoadError> {
        let warehouses = u64::from(self.options.warehouses);
        let districts = warehouses * DISTRICTS as u64;
        self.table(self.tables.item, Of::Item, u64::from(self.options.items), fill_item)?;
        self.table(self.tables.warehouse, Of::Warehouse, warehouses, |row, number, random| {
            fill_warehouse(row, number, random, self.options);
        })?;
        self.table(self.tables.district, Of::District, districts, |row, number, random| {
            fill_district(row, number, random, self.options);
        })?;
        self.table(self.tables.stock, Of::Stock, warehouses * u64::from(self.options.items), |row, number, random| {
            fill_stock(row, number, random, self.options);
        })?;
        self.customers(districts * u64::from(self.options.customers))?;
        self.orders(districts * u64::from(self.options.customers))
    }

    /// Loads a table whose rows do not depend on each other.
    fn table(
        &self,
        table: TableId,
        of: Of,
        rows: u64,
        fill: impl Fn(&mut RowMut<'_>, u64, &mut Random) + Sync,
    ) -> Result<(), LoadError> {
        let template = self.engine.new_row(table);
        load_rows(self.engine, table, rows, self.threads, self.progress, &template, |row, number| {
            row.change(|row| fill(row, number, &mut random(self.options, of, number)));
        })
    }

    /// Loads the customers, each with one row of the history.
    fn customers(&self, count: u64) -> Result<(), LoadError> {
        let since = now_us();
        let rows = || (self.engine.new_row(self.tables.customer), self.engine.new_row(self.tables.history));
        let insert = |(row, entry): &mut (Row, Row), number: u64| {
            let random = &mut random(self.options, Of::Customer, number);
            let place = self.place(number);
            row.change(|row| fill_customer(row, place, random, since));
            insert_row(self.engine, self.tables.customer, row, number)?;
            entry.change(|row| fill_history(row, (place, number), random, since));
            insert_row(self.engine, self.tables.history, entry, number)?;
            Ok(2)
        };
        load_items(count, self.threads, self.progress, rows, insert)
    }

    /// Loads the orders: as many as there are customers, one for each, in random order.
    fn orders(&self, count: u64) -> Result<(), LoadError> {
        let since = now_us();
        let buffers = || OrderBuffers {
            order: self.engine.new_row(self.tables.order),
            new_order: self.engine.new_row(self.tables.new_order),
            line: self.engine.new_row(self.tables.order_line),
            permutation: Permutation::default(),
        };
        let insert = |buffers: &mut OrderBuffers, number: u64| self.order(buffers, number, since);
        load_items(count, self.threads, self.progress, buffers, insert)
    }

    /// Loads one order with its lines. Returns the number of rows that it inserted.
    fn order(&self, buffers: &mut OrderBuffers, number: u64, since: i64) -> Result<u64, LoadError> {
        let random = &mut random(self.options, Of::Order, number);
        let lines = lines(random);
        let place @ (warehouse, district, id) = self.place(number);
        let is_delivered = id <= self.options.delivered();
        let customer = buffers.permutation.of(self.options, (warehouse, district))[id as usize - 1];
        buffers.order.change(|row| {
            set_ints(row, [order::WAREHOUSE, order::DISTRICT, order::ID], place.into());
            row.set_int4(order::CUSTOMER, customer);
            row.set(order::CARRIER, &if is_delivered { Value::Int4(random.uniform(1, 10)) } else { Value::Null });
            row.set_scaled(order::LINES, lines as i64);
            row.set_scaled(order::ALL_LOCAL, 1);
            row.set(order::ENTERED, &Value::Timestamp(since));
        });
        insert_row(self.engine, self.tables.order, &buffers.order, number)?;
        for line in 1..=lines as i32 {
            buffers.line.change(|row| {
                set_ints(row, [order_line::WAREHOUSE, order_line::DISTRICT, order_line::ORDER], place.into());
                row.set_int4(order_line::NUMBER, line);
                fill_line(row, random, is_delivered.then_some(since), self.options);
                row.set_int4(order_line::SUPPLY, warehouse);
            });
            insert_row(self.engine, self.tables.order_line, &buffers.line, number)?;
        }
        if !is_delivered {
            buffers.new_order.change(|row| {
                set_ints(row, [new_order::WAREHOUSE, new_order::DISTRICT, new_order::ORDER], place.into());
            });
            insert_row(self.engine, self.tables.new_order, &buffers.new_order, number)?;
        }
        Ok(1 + lines as u64 + u64::from(!is_delivered))
    }

    /// Returns the warehouse, the district and the number of the customer or order that comes as `number` in the load.
    fn place(&self, number: u64) -> (i32, i32, i32) {
        let (district, within) = split(number, self.options.customers);
        let (warehouse, district) = split(district, DISTRICTS as u32);
        (warehouse as i32 + 1, district + 1, within + 1)
    }
}

struct OrderBuffers {
    order: Row,
    new_order: Row,
    line: Row,
    permutation: Permutation,
}

/// The order in which the customers of a district are given to its orders, one to each.
#[derive(Default)]
struct Permutation {
    district: Option<(i32, i32)>,
    customers: Vec<i32>,
}

impl Permutation {
    fn of(&mut self, options: &Options, district: (i32, i32)) -> &[i32] {
        if self.district != Some(district) {
            let number = tally::position(district.0, district.1) as u64;
            self.customers = (1..=options.customers as i32).collect();
            random(options, Of::Permutation, number).rng.shuffle(&mut self.customers);
            self.district = Some(district);
        }
        &self.customers
    }
}

/// Returns the group of size `size` to which a number belongs, and the number's place in it.
fn split(number: u64, size: u32) -> (u64, i32) {
    (number / u64::from(size), (number % u64::from(size)) as i32)
}

fn set_ints<const N: usize>(row: &mut RowMut<'_>, columns: [usize; N], values: [i32; N]) {
    for (column, value) in columns.into_iter().zip(values) {
        row.set_int4(column, value);
    }
}

fn fill_item(row: &mut RowMut<'_>, number: u64, random: &mut Random) {
    row.set_int4(item::ID, number as i32 + 1);
    row.set_bytes(item::NAME, random.letters(&mut [0; 24], 14, 24));
    row.set_scaled(item::PRICE, i64::from(random.uniform(100, 10_000)));
    row.set_bytes(item::DATA, random.data(&mut [0; 50]));
    row.set_int4(item::IMAGE, random.uniform(1, 10_000));
}

fn fill_warehouse(row: &mut RowMut<'_>, number: u64, random: &mut Random, options: &Options) {
    row.set_int4(warehouse::ID, number as i32 + 1);
    row.set_scaled(warehouse::YTD, i64::from(DISTRICTS) * i64::from(options.customers) * PAID_CENTS);
    row.set_scaled(warehouse::TAX, i64::from(random.uniform(0, 2000)));
    row.set_bytes(warehouse::NAME, random.letters(&mut [0; 10], 6, 10));
    let streets = [warehouse::STREET_1, warehouse::STREET_2, warehouse::CITY];
    fill_address(row, streets, warehouse::STATE, warehouse::ZIP, random);
}

fn fill_district(row: &mut RowMut<'_>, number: u64, random: &mut Random, options: &Options) {
    let (warehouse, district) = split(number, DISTRICTS as u32);
    row.set_int4(district::WAREHOUSE, warehouse as i32 + 1);
    row.set_int4(district::ID, district + 1);
    row.set_scaled(district::YTD, i64::from(options.customers) * PAID_CENTS);
    row.set_scaled(district::TAX, i64::from(random.uniform(0, 2000)));
    row.set_int4(district::NEXT_ORDER, options.customers as i32 + 1);
    row.set_bytes(district::NAME, random.letters(&mut [0; 10], 6, 10));
    let streets = [district::STREET_1, district::STREET_2, district::CITY];
    fill_address(row, streets, district::STATE, district::ZIP, random);
}

fn fill_address(row: &mut RowMut<'_>, streets: [usize; 3], state: usize, zip: usize, random: &mut Random) {
    for column in streets {
        row.set_bytes(column, random.letters(&mut [0; 20], 10, 20));
    }
    row.set_bytes(state, random.letters(&mut [0; 2], 2, 2));
    row.set_bytes(zip, random.zip(&mut [0; 9]));
}

fn fill_stock(row: &mut RowMut<'_>, number: u64, random: &mut Random, options: &Options) {
    let (warehouse, item) = split(number, options.items);
    row.set_int4(stock::WAREHOUSE, warehouse as i32 + 1);
    row.set_int4(stock::ITEM, item + 1);
    row.set_scaled(stock::QUANTITY, i64::from(random.uniform(10, 100)));
    row.set_scaled(stock::YTD, 0);
    row.set_bytes(stock::DATA, random.data(&mut [0; 50]));
    for district in 1..=DISTRICTS {
        let mut buffer = [0; stock::DISTRICT_BYTES];
        row.set_bytes(
            stock::district(district),
            random.letters(&mut buffer, stock::DISTRICT_BYTES, stock::DISTRICT_BYTES),
        );
    }
}

fn fill_customer(row: &mut RowMut<'_>, place @ (.., number): (i32, i32, i32), random: &mut Random, since: i64) {
    set_ints(row, [customer::WAREHOUSE, customer::DISTRICT, customer::ID], place.into());
    row.set_scaled(customer::DISCOUNT, i64::from(random.uniform(0, 5000)));
    row.set_bytes(customer::CREDIT, if random.chance(0.1) { b"BC" } else { b"GC" });
    let name = if number <= LAST_NAMES { number - 1 } else { random.last_name() };
    row.set_bytes(customer::LAST, last_name(name, &mut [0; LAST_NAME_LONGEST]));
    row.set_bytes(customer::FIRST, random.letters(&mut [0; 16], 8, 16));
    row.set_scaled(customer::CREDIT_LIMIT, 5_000_000);
    row.set_scaled(customer::BALANCE, -PAID_CENTS);
    row.set_float8(customer::PAID, PAID_CENTS as f64 / 100.0);
    row.set_int4(customer::PAYMENTS, 1);
    let streets = [customer::STREET_1, customer::STREET_2, customer::CITY];
    fill_address(row, streets, customer::STATE, customer::ZIP, random);
    row.set_bytes(customer::PHONE, random.digits(&mut [0; 16]));
    row.set(customer::SINCE, &Value::Timestamp(since));
    row.set_bytes(customer::MIDDLE, b"OE");
    let mut buffer = [0; customer::DATA_LONGEST];
    row.set_bytes(customer::DATA, random.letters(&mut buffer, 300, customer::DATA_LONGEST));
}

fn fill_history(
    row: &mut RowMut<'_>,
    ((warehouse, district, customer), number): ((i32, i32, i32), u64),
    random: &mut Random,
    since: i64,
) {
    row.set_int4(history::CUSTOMER, customer);
    set_ints(row, [history::CUSTOMER_WAREHOUSE, history::CUSTOMER_DISTRICT], [warehouse, district]);
    set_ints(row, [history::WAREHOUSE, history::DISTRICT], [warehouse, district]);
    row.set(history::DATE, &Value::Timestamp(since));
    row.set_scaled(history::AMOUNT, PAID_CENTS);
    row.set_bytes(history::DATA, random.letters(&mut [0; 24], 12, 24));
    row.set_int8(history::ROW_ID, -1 - number as i64);
}

fn fill_line(row: &mut RowMut<'_>, random: &mut Random, delivered: Option<i64>, options: &Options) {
    row.set_int4(order_line::ITEM, random.uniform(1, options.items as i32));
    row.set(order_line::DELIVERED, &delivered.map_or(Value::Null, Value::Timestamp));
    let amount = if delivered.is_some() { 0 } else { random.uniform(1, 999_999) };
    row.set_scaled(order_line::AMOUNT, i64::from(amount));
    row.set_scaled(order_line::QUANTITY, 5);
    let mut buffer = [0; stock::DISTRICT_BYTES];
    row.set_bytes(order_line::INFO, random.letters(&mut buffer, stock::DISTRICT_BYTES, stock::DISTRICT_BYTES));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::tests::parse;

    #[test]
    fn lines_that_are_too_many_to_be_counted_are_estimated_well() {
        let lines_of_an_order = |line: &str| {
            let [_, _, _, _, orders, _, lines, ..] = rows(&parse(line).expect("good options"));
            lines as f64 / orders as f64
        };
        let counted = lines_of_an_order("--warehouses 100");
        let estimated = lines_of_an_order("--warehouses 100000");
        assert!((counted / estimated - 1.0).abs() < 0.001, "{counted} and {estimated}");
    }
}
