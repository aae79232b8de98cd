//! TPC-C's transactions: the statements follow the procedures in their order, so that all transactions lock in one
//! order, item by item and the warehouse last.
//!
//! A row that is read and then changed is read FOR UPDATE: two transactions that both read it first and change it then
//! would wait for each other. Stock-Level counts with a join, as other clients do. After a run the tables are read back
//! and judged by the check of runs without a network.

use super::decimal::{Cents, Fixed};
use crate::wire::failure::AttemptError;
use crate::wire::over_wire::{OverWire, WireClient, changed_one, one};
use crate::wire::session::{Param, Session};
use crate::wire::table_reader::TableReader;
use hotrow_storage::TableId;
use hotrow_workloads::tpcc::{Client, Customer, Delivered, Kind, Line, Paid, StockLevel, Tables, Tpcc, customer};
use hotrow_workloads::{ClientIdentity, Violation, Workload};
use std::time::SystemTime;

const BUYER: usize = 0;
const ITEM: usize = 1;
const STOCK: usize = 2;
const TAKE: usize = 3;
const DISTRICT: usize = 4;
const NUMBER: usize = 5;
const INSERT_ORDER: usize = 6;
const INSERT_NEW_ORDER: usize = 7;
const INSERT_LINE: usize = 8;
const TAX: usize = 9;
const NAMESAKES: usize = 10;
const NAMESAKES_TO_UPDATE: usize = 11;
const PAYER: usize = 12;
const DATA: usize = 13;
const PAY: usize = 14;
const PAY_AND_NOTE: usize = 15;
const DISTRICT_YTD: usize = 16;
const DISTRICT_ADDRESS: usize = 17;
const WAREHOUSE_YTD: usize = 18;
const WAREHOUSE_ADDRESS: usize = 19;
const INSERT_HISTORY: usize = 20;
const BALANCE: usize = 21;
const LAST_ORDER: usize = 22;
const LINES: usize = 23;
const OLDEST: usize = 24;
const DELETE_NEW_ORDER: usize = 25;
const CARRY: usize = 26;
const BUYER_OF: usize = 27;
const DELIVER_LINES: usize = 28;
const AMOUNT: usize = 29;
const CHARGE: usize = 30;
const NEXT_ORDER: usize = 31;
const LOW_STOCK: usize = 32;

const STATEMENTS: [&str; 33] = [
    "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
    "SELECT i_price, i_name, i_data FROM item WHERE i_id = $1",
    "SELECT s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, \
     s_dist_08, s_dist_09, s_dist_10 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR UPDATE",
    "UPDATE stock SET s_quantity = $1, s_ytd = s_ytd + $2, s_order_cnt = s_order_cnt + 1, \
     s_remote_cnt = s_remote_cnt + $3 WHERE s_w_id = $4 AND s_i_id = $5",
    "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = $1 AND d_id = $2 FOR UPDATE",
    "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2",
    "INSERT INTO oorder (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
     VALUES ($1, $2, $3, $4, $5, $6, $7)",
    "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES ($1, $2, $3)",
    "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, \
     ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    "SELECT w_tax FROM warehouse WHERE w_id = $1",
    "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first",
    "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first FOR UPDATE",
    "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, \
     c_credit_lim, c_discount, c_balance FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 FOR UPDATE",
    "SELECT c_data FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
    "UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, \
     c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = $3 AND c_d_id = $4 AND c_id = $5",
    "UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, \
     c_payment_cnt = c_payment_cnt + 1, c_data = $6 WHERE c_w_id = $3 AND c_d_id = $4 AND c_id = $5",
    "UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3",
    "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = $1 AND d_id = $2",
    "UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2",
    "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = $1",
    "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
    "SELECT o_id, o_carrier_id, o_entry_d FROM oorder WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 \
     ORDER BY o_id DESC LIMIT 1",
    "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
     WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
    "SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1 FOR UPDATE",
    "DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3",
    "UPDATE oorder SET o_carrier_id = $1 WHERE o_w_id = $2 AND o_d_id = $3 AND o_id = $4",
    "SELECT o_c_id FROM oorder WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3",
    "UPDATE order_line SET ol_delivery_d = $1 WHERE ol_w_id = $2 AND ol_d_id = $3 AND ol_o_id = $4",
    "SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
    "UPDATE customer SET c_balance = c_balance + $1, c_delivery_cnt = c_delivery_cnt + 1 \
     WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4",
    "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2",
    "SELECT count(DISTINCT (s_i_id)) AS stock_count FROM order_line, stock WHERE ol_w_id = $1 AND ol_d_id = $2 \
     AND ol_o_id < $3 AND ol_o_id >= $4 AND s_w_id = $5 AND s_i_id = ol_i_id AND s_quantity < $6",
];

/// A client that sends TPC-C's transactions over the network.
pub(crate) struct TpccWireClient {
    client: Client,
    kind: Kind,
    delivered: Delivered,
}

impl OverWire for Tpcc {
    type WireClient = TpccWireClient;

    fn tables(&self) -> Tables {
        let [warehouse, district, customer, history, order, new_order, order_line, stock, item] =
            [0, 1, 2, 3, 4, 5, 6, 7, 8].map(TableId);
        Tables { warehouse, district, customer, history, order, new_order, order_line, stock, item }
    }

    fn statements(&self) -> Vec<String> {
        STATEMENTS.map(str::to_owned).to_vec()
    }

    fn wire_client(&self, identity: ClientIdentity) -> TpccWireClient {
        let client = self.client(self.tables(), identity);
        TpccWireClient { client, kind: Kind::NewOrder, delivered: Delivered::default() }
    }

    fn judge(&self, tables: &TableReader<'_>, clients: &[TpccWireClient]) -> Result<(), Violation> {
        let here = tables.read_back(self)?;
        self.check_after(&*here, self.tables(), clients.iter().map(|client| &client.client))
    }
}

impl WireClient for TpccWireClient {
    fn draw(&mut self) {
        self.kind = self.client.draw();
    }

    async fn attempt(&mut self, session: &mut Session) -> Result<(), AttemptError> {
        let now = SystemTime::now();
        self.delivered = Delivered::default();
        session.begin().await?;
        match self.kind {
            Kind::NewOrder => self.enter_order(session, now).await?,
            Kind::Payment => self.pay(session, now).await?,
            Kind::OrderStatus => self.ask_for_order(session).await?,
            Kind::Delivery => self.deliver(session, now).await?,
            Kind::StockLevel => self.count_low_stock(session).await?,
        }
        session.commit().await?;
        Ok(())
    }

    fn committed(&mut self) -> Option<(usize, bool)> {
        Some((self.kind as usize, self.client.committed(self.kind, &self.delivered)))
    }
}

/// An order line whose items were taken from their stock: its amount, and the information on its district.
struct SuppliedLine {
    amount: Cents,
    info: String,
}

impl TpccWireClient {
    /// Sends the statements of the New-Order transaction.
    async fn enter_order(&self, session: &mut Session, now: SystemTime) -> Result<(), AttemptError> {
        let order = self.client.new_order();
        let (warehouse, district) = order.place();
        let buyer = session.query(BUYER, &[&warehouse, &district, &order.customer()]).await?;
        one(&buyer)?.try_get::<_, Fixed<4>>(0)?;
        let mut supplied = Vec::with_capacity(order.lines().len());
        for line in order.lines() {
            supplied.push(self.take(session, (warehouse, district), line).await?);
        }
        let rows = session.query(DISTRICT, &[&warehouse, &district]).await?;
        let number: i32 = one(&rows)?.try_get(0)?;
        changed_one(session.execute(NUMBER, &[&warehouse, &district]).await?)?;
        let (lines, all_local) = (order.lines().len(), order.lines().iter().all(|line| line.supply == warehouse));
        let (lines, all_local) = (Fixed::<0>(lines as i64), Fixed::<0>(i64::from(all_local)));
        let values = [&warehouse as _, &district as _, &number as _, &order.customer() as _, &now as _];
        changed_one(session.execute(INSERT_ORDER, &[&values[..], &[&lines as _, &all_local as _]].concat()).await?)?;
        changed_one(session.execute(INSERT_NEW_ORDER, &[&warehouse, &district, &number]).await?)?;
        for (position, (line, SuppliedLine { amount, info })) in (1..).zip(order.lines().iter().zip(&supplied)) {
            let Line { supply, item, quantity } = line;
            let quantity = Fixed::<0>(i64::from(*quantity));
            let values = [&warehouse as _, &district as _, &number as _, &position as Param<'_>];
            let rest = [item as _, supply as _, &quantity as _, amount as _, info as _];
            changed_one(session.execute(INSERT_LINE, &[&values[..], &rest].concat()).await?)?;
        }
        one(&session.query(TAX, &[&warehouse]).await?)?.try_get::<_, Fixed<4>>(0)?;
        Ok(())
    }

    /// Takes a line's items from their stock. If there is no such item, which the workload does on purpose now and
    /// then, the order is rolled back.
    async fn take(
        &self,
        session: &mut Session,
        (warehouse, district): (i32, i32),
        &Line { supply, item, quantity }: &Line,
    ) -> Result<SuppliedLine, AttemptError> {
        let rows = session.query(ITEM, &[&item]).await?;
        if rows.is_empty() && self.client.is_rolled_back() {
            return Err(AttemptError::RolledBack);
        }
        let Fixed(price): Cents = one(&rows)?.try_get(0)?;
        let rows = session.query(STOCK, &[&supply, &item]).await?;
        let row = one(&rows)?;
        let Fixed(there): Fixed<0> = row.try_get(0)?;
        let left = there - i64::from(quantity);
        let left = Fixed::<0>(if left >= 10 { left } else { left + 91 });
        let (quantity, remote) = (Fixed::<0>(i64::from(quantity)), i32::from(supply != warehouse));
        changed_one(session.execute(TAKE, &[&left, &quantity, &remote, &supply, &item]).await?)?;
        Ok(SuppliedLine { amount: Fixed(price * quantity.0), info: row.try_get(1 + district as usize)? })
    }

    /// Sends the statements of the Payment transaction.
    async fn pay(&self, session: &mut Session, now: SystemTime) -> Result<(), AttemptError> {
        let paid = self.client.payment().paid();
        let Paid { warehouse, district, customer_warehouse: home, customer_district: home_district, cents, .. } = *paid;
        let (amount, in_float) = (Fixed::<2>(cents), cents as f64 / 100.0);
        let number = find(session, NAMESAKES_TO_UPDATE, (home, home_district), &paid.customer).await?;
        let who = [&home as _, &home_district as _, &number as Param<'_>];
        let payer = session.query(PAYER, &who).await?;
        let credit: &str = one(&payer)?.try_get(10)?;
        let sums = [&amount as _, &in_float as _];
        let changed = if credit == "BC" {
            let rows = session.query(DATA, &who).await?;
            let before: &str = one(&rows)?.try_get(0)?;
            let note = format!("{number} {home_district} {home} {district} {warehouse} {in_float:.2} | {before}");
            let note: String = note.chars().take(customer::DATA_LONGEST).collect();
            session.execute(PAY_AND_NOTE, &[&sums[..], &who, &[&note as _]].concat()).await?
        } else {
            session.execute(PAY, &[&sums[..], &who].concat()).await?
        };
        changed_one(changed)?;
        changed_one(session.execute(DISTRICT_YTD, &[&amount, &warehouse, &district]).await?)?;
        let of_district = session.query(DISTRICT_ADDRESS, &[&warehouse, &district]).await?;
        changed_one(session.execute(WAREHOUSE_YTD, &[&amount, &warehouse]).await?)?;
        let of_warehouse = session.query(WAREHOUSE_ADDRESS, &[&warehouse]).await?;
        let (name, district_name): (&str, &str) = (one(&of_warehouse)?.try_get(0)?, one(&of_district)?.try_get(0)?);
        let data = format!("{name}    {district_name}");
        let values = [&number as _, &home_district as _, &home as _, &district as _, &warehouse as _];
        let rest = [&now as _, &amount as _, &data as _];
        changed_one(session.execute(INSERT_HISTORY, &[&values[..], &rest].concat()).await?)
    }

    /// Sends the statements of the Order-Status transaction.
    async fn ask_for_order(&self, session: &mut Session) -> Result<(), AttemptError> {
        let inquiry = self.client.order_status();
        let (warehouse, district) = inquiry.place();
        let number = find(session, NAMESAKES, (warehouse, district), inquiry.customer()).await?;
        one(&session.query(BALANCE, &[&warehouse, &district, &number]).await?)?.try_get::<_, Cents>(0)?;
        let last = session.query(LAST_ORDER, &[&warehouse, &district, &number]).await?;
        if let Some(order) = last.first() {
            let order: i32 = order.try_get(0)?;
            session.query(LINES, &[&warehouse, &district, &order]).await?;
        }
        Ok(())
    }

    /// Sends the statements of the Stock-Level transaction.
    async fn count_low_stock(&self, session: &mut Session) -> Result<(), AttemptError> {
        let level = self.client.stock_level();
        let ((warehouse, district), threshold) = (level.place(), Fixed::<0>(i64::from(level.threshold())));
        let next: i32 = one(&session.query(NEXT_ORDER, &[&warehouse, &district]).await?)?.try_get(0)?;
        let orders = [&next as _, &(next - StockLevel::LAST_ORDERS) as Param<'_>];
        let low = [&[&warehouse as _, &district as _], &orders[..], &[&warehouse as _, &threshold as _]].concat();
        one(&session.query(LOW_STOCK, &low).await?)?.try_get::<_, i64>(0)?;
        Ok(())
    }

    /// Sends the statements of the Delivery transaction.
    async fn deliver(&mut self, session: &mut Session, now: SystemTime) -> Result<(), AttemptError> {
        let (warehouse, carrier) = (self.client.delivery().warehouse(), self.client.delivery().carrier());
        for (district, delivered) in (1_i32..).zip(&mut self.delivered) {
            let oldest = session.query(OLDEST, &[&warehouse, &district]).await?;
            let Some(order) = oldest.first() else { continue };
            let order: i32 = order.try_get(0)?;
            let key = [&warehouse as _, &district as _, &order as Param<'_>];
            changed_one(session.execute(DELETE_NEW_ORDER, &key).await?)?;
            changed_one(session.execute(CARRY, &[&[&carrier as _], &key[..]].concat()).await?)?;
            let buyer: i32 = one(&session.query(BUYER_OF, &key).await?)?.try_get(0)?;
            session.execute(DELIVER_LINES, &[&[&now as _], &key[..]].concat()).await?;
            let amount: Cents = one(&session.query(AMOUNT, &key).await?)?.try_get(0)?;
            changed_one(session.execute(CHARGE, &[&amount, &warehouse, &district, &buyer]).await?)?;
            *delivered = true;
        }
        Ok(())
    }
}

/// Returns the number of a customer. If the customer is given by last name, the statement at position `namesakes` finds
/// all customers of that name, and the middle one is taken.
async fn find(
    session: &mut Session,
    namesakes: usize,
    (warehouse, district): (i32, i32),
    customer: &Customer,
) -> Result<i32, AttemptError> {
    let Customer::Number(number) = customer else {
        let name = customer.last_name();
        let rows = session.query(namesakes, &[&warehouse, &district, &name]).await?;
        let numbers = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i32>, _>>()?;
        let unknown = || AttemptError::Unexpected(format!("nobody is called {}", name.unwrap_or_default()));
        return Customer::middle(&numbers).ok_or_else(unknown);
    };
    Ok(*number)
}
