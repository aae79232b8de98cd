//! The check after the load and after every run: the twelve conditions of clause 3.3.2, and that the rows show the
//! effects of the committed transactions.
//!
//! | | for each | must hold |
//! | --- | --- | --- |
//! | 1 | warehouse | `w_ytd` is the sum of its districts' `d_ytd` |
//! | 2 | district | `d_next_o_id - 1` is the greatest `o_id`, and the greatest `no_o_id` if there is one |
//! | 3 | district | between the least and the greatest `no_o_id` none is missing |
//! | 4 | district | the sum of `o_ol_cnt` is the number of order lines |
//! | 5 | order | `o_carrier_id` is NULL if and only if the order is in `new_order` |
//! | 6 | order | `o_ol_cnt` is the number of its lines |
//! | 7 | order | `ol_delivery_d` is NULL in all its lines if and only if `o_carrier_id` is |
//! | 8 | warehouse | `w_ytd` is the sum of its `h_amount` |
//! | 9 | district | `d_ytd` is the sum of its `h_amount` |
//! | 10 | customer | `c_balance` is the sum of the delivered `ol_amount`, minus that of the customer's `h_amount` |
//! | 11 | district | orders minus new orders is the number of delivered orders: 2,100 after the load |
//! | 12 | customer | `c_balance + c_ytd_payment` is the sum of the delivered `ol_amount` |
//! | 13 | customer | `c_payment_cnt` and `c_delivery_cnt` count the customer's payments and deliveries |
//! | 14 | stock | `s_order_cnt`, `s_ytd` and `s_remote_cnt` count order lines, quantities, and remote lines |
//! | 15 | district | orders, lines, payments and their sum are those of committed transactions |
//!
//! We added conditions 13 to 15: with them, no lost update goes unnoticed. If only a sample of the warehouses is
//! checked, condition 14 is left out, as the orders of any warehouse may take from a stock.

mod district;
mod findings;
mod payments;
mod stocks;

use super::columns::{district as district_columns, warehouse as warehouse_columns};
use super::procedures::DISTRICTS;
use super::schema::Tables;
use super::tally::{self, Tallies};
use super::{Client, Options};
use crate::Violation;
use crate::visit::{visit_scans, visit_tables};
use district::District;
use fastrand::Rng;
use findings::{Findings, cents};
use hotrow_storage::{IndexRef, Key, TableId};
use hotrow_sync::atomic::{AtomicUsize, Ordering};
use hotrow_sync::{Mutex, thread};
use hotrow_txn::{Engine, Scan, number_of};
use payments::Payments;
use stocks::Supplied;

/// The state that the checks of all warehouses and districts need.
struct Checker<'a> {
    options: &'a Options,
    engine: &'a dyn Engine,
    tables: Tables,
    /// The effects of the committed transactions of all clients.
    tallies: Tallies,
    payments: Payments,
    /// The quantities that the order lines took from the stocks; `None` if only some warehouses are checked.
    supplied: Option<Supplied>,
    /// The columns `d_ytd` and `d_next_o_id` of each district, or `None` for a district that does not exist.
    districts: Vec<Option<(i64, i32)>>,
    findings: Mutex<Findings>,
}

/// Checks all conditions.
pub(super) fn check<'c>(
    options: &Options,
    engine: &dyn Engine,
    tables: Tables,
    clients: impl Iterator<Item = &'c Client>,
) -> Result<(), Violation> {
    let (mut tallies, mut surprises) = (Tallies::new(options.warehouses), 0);
    for client in clients {
        tallies.add(client.tallies());
        surprises += client.surprises();
    }
    let sample = sample(options);
    let is_whole = sample.len() == options.warehouses as usize;
    let checker = Checker {
        options,
        engine,
        tables,
        tallies,
        payments: Payments::read(options, engine, tables)?,
        supplied: is_whole.then(|| Supplied::new(options)),
        districts: districts(options, engine, tables)?,
        findings: Mutex::default(),
    };
    if surprises > 0 {
        let transactions = number_of(surprises, "transaction");
        let what = format!("{transactions} missed a row, or met one that should not be there");
        checker.find(0, what);
    }
    let parts = sample.iter().flat_map(|&warehouse| (1..=DISTRICTS).map(move |district| (warehouse, district)));
    checker.in_parallel(&parts.collect::<Vec<_>>(), |&(warehouse, district)| checker.district(warehouse, district))?;
    checker.warehouses(&sample)?;
    if let Some(supplied) = &checker.supplied {
        checker.in_parallel(&sample, |&warehouse| supplied.check(&checker, warehouse))?;
    }
    checker.findings.into_inner().unwrap_or_else(|poison| poison.into_inner()).into_result()
}

/// Returns the warehouses to check: all of them, or a random sample.
fn sample(options: &Options) -> Vec<i32> {
    let mut all: Vec<i32> = (1..=options.warehouses as i32).collect();
    if options.check_sample > 0 {
        Rng::new().shuffle(&mut all);
        all.truncate(options.check_sample as usize);
        all.sort_unstable();
    }
    all
}

fn districts(options: &Options, engine: &dyn Engine, tables: Tables) -> Result<Vec<Option<(i64, i32)>>, Violation> {
    let mut districts = vec![None; options.warehouses as usize * DISTRICTS as usize];
    visit_tables(engine, &[tables.district], |_, row| {
        let place = (row.int4(district_columns::WAREHOUSE), row.int4(district_columns::ID));
        let known = options.has_district(place).then(|| &mut districts[tally::position(place.0, place.1)]);
        if let Some(district) = known {
            *district = Some((row.scaled(district_columns::YTD), row.int4(district_columns::NEXT_ORDER)));
        }
    })?;
    Ok(districts)
}

impl Options {
    /// Whether a database with these options has the district.
    fn has_district(&self, (warehouse, district): (i32, i32)) -> bool {
        (1..=self.warehouses as i32).contains(&warehouse) && (1..=DISTRICTS).contains(&district)
    }
}

/// Makes a scan of all rows of a table whose keys begin with these columns.
fn part<const N: usize>(table: TableId, columns: [i32; N]) -> Scan {
    Scan::prefix(table, IndexRef::Primary, Key::int4s(columns))
}

impl Checker<'_> {
    /// Records that a condition does not hold.
    fn find(&self, condition: u32, what: String) {
        self.findings.lock().unwrap_or_else(|poison| poison.into_inner()).add(condition, what);
    }

    /// Records that a condition does not hold, and that no interleaving explains it.
    fn find_corruption(&self, condition: u32, what: String) {
        self.findings.lock().unwrap_or_else(|poison| poison.into_inner()).add_corruption(condition, what);
    }

    /// Records that a condition does not hold, if `actual` differs from `expected`. `what` describes both numbers, with
    /// their place.
    fn expect<T: PartialEq>(&self, condition: u32, actual: T, expected: T, what: impl FnOnce(T, T) -> String) {
        if actual != expected {
            self.find(condition, what(actual, expected));
        }
    }

    /// Calls `work` for each of the parts, on all cores.
    fn in_parallel<P: Sync>(
        &self,
        parts: &[P],
        work: impl Fn(&P) -> Result<(), Violation> + Sync,
    ) -> Result<(), Violation> {
        let next = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        let run = || {
            while let Some(part) = parts.get(next.fetch_add(1, Ordering::AcqRel)) {
                if let Err(violation) = work(part) {
                    failure.lock().unwrap_or_else(|poison| poison.into_inner()).get_or_insert(violation);
                    return;
                }
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(parts.len());
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(run);
            }
            run();
        });
        failure.into_inner().unwrap_or_else(|poison| poison.into_inner()).map_or(Ok(()), Err)
    }

    /// Checks conditions 1 and 8.
    fn warehouses(&self, sample: &[i32]) -> Result<(), Violation> {
        let mut ytds = vec![None; self.options.warehouses as usize + 1];
        visit_tables(self.engine, &[self.tables.warehouse], |_, row| {
            if let Some(ytd) = ytds.get_mut(row.int4(warehouse_columns::ID) as usize) {
                *ytd = Some(row.scaled(warehouse_columns::YTD));
            }
        })?;
        for &warehouse in sample {
            let Some(ytd) = ytds[warehouse as usize] else {
                self.find(1, format!("warehouse {warehouse} is not there"));
                continue;
            };
            let places = (1..=DISTRICTS).map(|district| tally::position(warehouse, district));
            let sum = places.filter_map(|place| self.districts[place]).map(|(ytd, _)| ytd).sum();
            self.expect(1, ytd, sum, |ytd, sum| {
                let (ytd, sum) = (cents(ytd), cents(sum));
                format!("warehouse {warehouse}: w_ytd is {ytd}, but the sum of d_ytd {sum}")
            });
            self.expect(8, ytd, self.payments.of_warehouse(warehouse), |ytd, sum| {
                let (ytd, sum) = (cents(ytd), cents(sum));
                format!("warehouse {warehouse}: w_ytd is {ytd}, but the sum of h_amount {sum}")
            });
        }
        Ok(())
    }

    /// Checks all conditions within one district.
    fn district(&self, warehouse: i32, number: i32) -> Result<(), Violation> {
        let Some((ytd, next_order)) = self.districts[tally::position(warehouse, number)] else {
            self.find(2, format!("warehouse {warehouse}: district {number} is not there"));
            return Ok(());
        };
        let Tables { customer, order, new_order, order_line, .. } = self.tables;
        let mut district = District::new(self, (warehouse, number), ytd, next_order);
        let scans = [customer, order, new_order, order_line].map(|table| part(table, [warehouse, number]));
        visit_scans(self.engine, &scans, |table, row| {
            if table == customer {
                district.add_customer(row);
            } else if table == order {
                district.add_order(row);
            } else if table == new_order {
                district.add_new_order(row);
            } else {
                district.add_line(row);
            }
        })?;
        district.check();
        Ok(())
    }
}
