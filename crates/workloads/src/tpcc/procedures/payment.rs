//! Payment (clause 2.5): a customer pays.

use super::super::columns::{customer, district, history, warehouse};
use super::super::schema::{Tables, histories, history_key};
use super::by_name::Customer;
use super::{ROW_IDS_PER_WORKER, change, done};
use hotrow_storage::{IndexRef, Key, Row, RowLayout, RowMut, Value};
use hotrow_sync::Arc;
use hotrow_txn::{Abort, Accesses, Intent, LockFor, Procedure, Transaction};
use std::cell::RefCell;
use std::io::Write as _;

/// The parameters of a payment.
#[derive(Clone, Debug)]
pub struct Paid {
    /// The warehouse in which the payment is entered.
    pub warehouse: i32,
    /// The district in which the payment is entered.
    pub district: i32,
    /// The customer's warehouse, which differs from `warehouse` for a share of payments: 15 % by default.
    pub customer_warehouse: i32,
    /// The customer's district.
    pub customer_district: i32,
    /// The customer.
    pub customer: Customer,
    /// The amount, in cents.
    pub cents: i64,
}

/// The transaction that enters a payment: changes the balances of customer, district and warehouse, and inserts a row
/// into the history.
#[derive(Debug)]
pub struct Payment {
    tables: Tables,
    paid: Paid,
    time_us: i64,
    row_id: i64,
    work: RefCell<Work>,
}

/// The buffers that a run of the transaction uses.
#[derive(Debug)]
struct Work {
    entry: Row,
    matches: Vec<i32>,
    data: Vec<u8>,
    /// The name of the warehouse. With the district's name, it makes up the data of the history row.
    warehouse: Vec<u8>,
    district: Vec<u8>,
}

impl Payment {
    /// Makes the payments of one worker. Their history rows have other numbers than those of other workers, those of
    /// the load, which count down from zero, and those of SQL, which count up from one.
    pub(in super::super) fn new(tables: Tables, worker: u32) -> Self {
        let customer = Customer::Number(0);
        let paid = Paid { warehouse: 0, district: 0, customer_warehouse: 0, customer_district: 0, customer, cents: 0 };
        let entry = Row::new(&Arc::new(RowLayout::new(&histories().columns)));
        let (warehouse, district) = (Vec::new(), Vec::new());
        let work = RefCell::new(Work { entry, matches: Vec::new(), data: Vec::new(), warehouse, district });
        Self { tables, paid, time_us: 0, row_id: (i64::from(worker) + 1) * ROW_IDS_PER_WORKER, work }
    }

    /// Sets the parameters of the next payment.
    pub(in super::super) fn set(&mut self, paid: Paid, time_us: i64) {
        (self.paid, self.time_us) = (paid, time_us);
        self.row_id += 1;
    }

    /// Returns the parameters of the payment.
    pub fn paid(&self) -> &Paid {
        &self.paid
    }

    /// Inserts the payment in front of the data of a customer with bad credit, and truncates them to the column's
    /// length (clause 2.5.2.2).
    fn note(&self, row: &mut RowMut<'_>, number: i32, data: &mut Vec<u8>) {
        let Paid { warehouse, district, customer_warehouse, customer_district, cents, .. } = self.paid;
        data.clear();
        let amount = cents as f64 / 100.0;
        let written =
            write!(data, "{number} {customer_district} {customer_warehouse} {district} {warehouse} {amount:.2} | ");
        debug_assert!(written.is_ok(), "a vector takes what it is given");
        let old = row.as_ref().bytes(customer::DATA);
        data.extend_from_slice(&old[..old.len().min(customer::DATA_LONGEST - data.len())]);
        row.set_bytes(customer::DATA, data);
    }
}

impl Procedure for Payment {
    type Output = i64;

    fn accesses(&self, accesses: &mut Accesses) {
        let Paid { warehouse, district, customer_warehouse, customer_district, ref customer, .. } = self.paid;
        customer.access(self.tables, customer_warehouse, customer_district, Intent::Write, accesses);
        accesses.push(self.tables.district, Key::int4s([warehouse, district]), Intent::Write);
        accesses.push(self.tables.warehouse, Key::Int(i64::from(warehouse)), Intent::Write);
        let entry = history_key(warehouse, self.row_id);
        accesses.push_entry(self.tables.history, IndexRef::Primary, entry.clone(), entry);
    }

    /// Runs the payment, and returns the customer's new balance in cents.
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<i64, Abort> {
        let work = &mut *self.work.borrow_mut();
        let Paid { warehouse, district, customer_warehouse, customer_district, ref customer, cents } = self.paid;
        let number = customer.find(txn, self.tables, LockFor::Update, &mut work.matches)?;
        let key = Key::int4s([customer_warehouse, customer_district, number]);
        let mut balance = 0;
        change(txn, self.tables.customer, &key, |row| {
            let now = row.as_ref();
            balance = now.scaled(customer::BALANCE) - cents;
            let (paid, payments) = (now.float8(customer::PAID), now.int4(customer::PAYMENTS));
            let has_bad_credit = now.bytes(customer::CREDIT) == b"BC";
            row.set_scaled(customer::BALANCE, balance);
            row.set_float8(customer::PAID, paid + cents as f64 / 100.0);
            row.set_int4(customer::PAYMENTS, payments + 1);
            if has_bad_credit {
                self.note(row, number, &mut work.data);
            }
        })?;
        change(txn, self.tables.district, &Key::int4s([warehouse, district]), |row| {
            let ytd = row.as_ref().scaled(district::YTD);
            row.set_scaled(district::YTD, ytd + cents);
            copy(row.as_ref().bytes(district::NAME), &mut work.district);
        })?;
        change(txn, self.tables.warehouse, &Key::Int(i64::from(warehouse)), |row| {
            let ytd = row.as_ref().scaled(warehouse::YTD);
            row.set_scaled(warehouse::YTD, ytd + cents);
            copy(row.as_ref().bytes(warehouse::NAME), &mut work.warehouse);
        })?;
        work.data.clear();
        work.data.extend_from_slice(&work.warehouse);
        work.data.extend_from_slice(b"    ");
        work.data.extend_from_slice(&work.district);
        work.entry.change(|row| {
            row.set_int4(history::CUSTOMER, number);
            row.set_int4(history::CUSTOMER_DISTRICT, customer_district);
            row.set_int4(history::CUSTOMER_WAREHOUSE, customer_warehouse);
            row.set_int4(history::DISTRICT, district);
            row.set_int4(history::WAREHOUSE, warehouse);
            row.set(history::DATE, &Value::Timestamp(self.time_us));
            row.set_scaled(history::AMOUNT, cents);
            row.set_bytes(history::DATA, &work.data);
            row.set_int8(history::ROW_ID, self.row_id);
        });
        done(txn.insert(self.tables.history, work.entry.as_ref())?)?;
        Ok(balance)
    }
}

fn copy(bytes: &[u8], to: &mut Vec<u8>) {
    to.clear();
    to.extend_from_slice(bytes);
}
