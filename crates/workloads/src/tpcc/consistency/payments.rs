//! The sums of the history: by customer, by district, by warehouse.

use super::super::columns::history;
use super::super::procedures::DISTRICTS;
use super::super::schema::Tables;
use super::super::{Options, tally};
use crate::Violation;
use crate::visit::visit_tables;
use hotrow_txn::Engine;

/// A number of payments, and their sum in cents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub count: i64,
    pub cents: i64,
}

/// The sums of all payments in the history.
pub(super) struct Payments {
    customers: Vec<Sum>,
    districts: Vec<Sum>,
    customers_per_district: usize,
}

impl Payments {
    /// Adds up the rows of the history. Rows of districts or customers that do not exist are in no sum.
    pub(super) fn read(options: &Options, engine: &dyn Engine, tables: Tables) -> Result<Self, Violation> {
        let districts = options.warehouses as usize * DISTRICTS as usize;
        let customers_per_district = options.customers as usize;
        let mut payments = Self {
            customers: vec![Sum::default(); districts * customers_per_district],
            districts: vec![Sum::default(); districts],
            customers_per_district,
        };
        visit_tables(engine, &[tables.history], |_, row| {
            let cents = row.scaled(history::AMOUNT);
            let place = (row.int4(history::WAREHOUSE), row.int4(history::DISTRICT));
            if options.has_district(place) {
                add(&mut payments.districts[tally::position(place.0, place.1)], cents);
            }
            let home = (row.int4(history::CUSTOMER_WAREHOUSE), row.int4(history::CUSTOMER_DISTRICT));
            let number = row.int4(history::CUSTOMER);
            if options.has_district(home) && (1..=options.customers as i32).contains(&number) {
                let position = payments.position(home, number);
                add(&mut payments.customers[position], cents);
            }
        })?;
        Ok(payments)
    }

    /// Returns the payments of a customer, entered in any district.
    pub(super) fn of_customer(&self, district: (i32, i32), number: i32) -> Sum {
        self.customers[self.position(district, number)]
    }

    /// Returns the payments that were entered in a district.
    pub(super) fn of_district(&self, warehouse: i32, district: i32) -> Sum {
        self.districts[tally::position(warehouse, district)]
    }

    /// Returns the sum of the payments that were entered in a warehouse, in cents.
    pub(super) fn of_warehouse(&self, warehouse: i32) -> i64 {
        (1..=DISTRICTS).map(|district| self.of_district(warehouse, district).cents).sum()
    }

    fn position(&self, (warehouse, district): (i32, i32), number: i32) -> usize {
        tally::position(warehouse, district) * self.customers_per_district + number as usize - 1
    }
}

fn add(sum: &mut Sum, cents: i64) {
    sum.count += 1;
    sum.cents += cents;
}
