//! The choice of a customer, by number or by last name.

use super::super::columns::customer;
use super::super::random::{LAST_NAME_LONGEST, last_name};
use super::super::schema::{CUSTOMERS_BY_NAME, Tables};
use hotrow_storage::{Key, KeyBuilder, Type, Value};
use hotrow_txn::{Abort, Accesses, Intent, LockFor, RangeAccess, Scan, Transaction};
use std::ops::{Bound, ControlFlow};

/// A customer of a district.
#[derive(Clone, Debug)]
pub enum Customer {
    /// The customer is known by number.
    Number(i32),
    /// The customer is known by last name: of all customers with that name, the middle one by first name.
    LastName {
        /// The number from which the last name is made.
        number: i32,
        /// The prefix of the customers' keys in the index of names: the warehouse, the district and the last name.
        prefix: Key,
    },
}

impl Customer {
    /// Makes the choice among the customers of a district who have the last name with this number.
    pub(in super::super) fn by_name(warehouse: i32, district: i32, number: i32) -> Self {
        let mut buffer = [0; LAST_NAME_LONGEST];
        let name = name_of(number, &mut buffer);
        let mut prefix = KeyBuilder::default();
        prefix.push(Type::Int4, false, &Value::Int4(warehouse));
        prefix.push(Type::Int4, false, &Value::Int4(district));
        prefix.push(Type::Varchar(Some(16)), false, &Value::text(name));
        Customer::LastName { number, prefix: prefix.finish() }
    }

    /// Returns the last name, or `None` if the customer is known by number.
    pub fn last_name(&self) -> Option<String> {
        match self {
            Customer::Number(_) => None,
            Customer::LastName { number, .. } => Some(name_of(*number, &mut [0; LAST_NAME_LONGEST]).to_owned()),
        }
    }

    /// Returns the number of the customer to choose, out of the numbers of all customers with the same last name in the
    /// order of their first names: the one at position n/2, rounded up, counted from one (clause 2.5.2.2). Returns
    /// `None` if `matches` is empty.
    pub fn middle(matches: &[i32]) -> Option<i32> {
        matches.len().checked_sub(1).map(|last| matches[last / 2])
    }

    /// Adds the accesses that find the customer and then read or change its row; for a last name, the range of all
    /// customers with that name.
    pub(super) fn access(
        &self,
        tables: Tables,
        warehouse: i32,
        district: i32,
        intent: Intent,
        accesses: &mut Accesses,
    ) {
        match self {
            Customer::Number(number) => {
                accesses.push(tables.customer, Key::int4s([warehouse, district, *number]), intent);
            }
            Customer::LastName { prefix, .. } => {
                let (lower, upper) = (Bound::Included(prefix.clone()), Bound::Included(prefix.clone()));
                let (table, index) = (tables.customer, CUSTOMERS_BY_NAME);
                accesses.push_range(RangeAccess { table, index, lower, upper, intent });
            }
        }
    }

    /// Finds the customer's number. A transaction that will change the row locks all customers with the name for
    /// update: two transactions that first read the same name and then change the row would wait for each other.
    pub(super) fn find<T: Transaction + ?Sized>(
        &self,
        txn: &mut T,
        tables: Tables,
        lock: LockFor,
        matches: &mut Vec<i32>,
    ) -> Result<i32, Abort> {
        match self {
            Customer::Number(number) => Ok(*number),
            Customer::LastName { prefix, .. } => {
                matches.clear();
                let scan = Scan::prefix(tables.customer, CUSTOMERS_BY_NAME, prefix.clone());
                txn.scan(&Scan { lock, ..scan }, &mut |row| {
                    matches.push(row.int4(customer::ID));
                    ControlFlow::Continue(())
                })?;
                Customer::middle(matches).ok_or(Abort::User)
            }
        }
    }
}

fn name_of(number: i32, buffer: &mut [u8; LAST_NAME_LONGEST]) -> &str {
    std::str::from_utf8(last_name(number, buffer)).unwrap_or_default()
}
