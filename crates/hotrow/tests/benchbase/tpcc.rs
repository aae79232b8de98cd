//! Tests TPC-C by BenchBase.

use crate::connection::{Connection, by_name, float, int, string, text, workload};
use hotrow::storage::{IndexKind, IndexSchema, TableSchema, Value};
use hotrow::workloads::tpcc::{Client, Tables, Tpcc, history, order};
use hotrow::workloads::{Violation, Workload};

/// The statements with which BenchBase makes the tables, without the foreign keys.
const TABLES: &str = "
    drop table if exists order_line cascade;
    drop table if exists new_order cascade;
    drop table if exists stock cascade;
    drop table if exists oorder cascade;
    drop table if exists history cascade;
    drop table if exists customer cascade;
    drop table if exists district cascade;
    drop table if exists item cascade;
    drop table if exists warehouse cascade;
    create table order_line (
        ol_w_id int not null, ol_d_id int not null, ol_o_id int not null, ol_number int not null, ol_i_id int not null,
        ol_delivery_d timestamp null default null, ol_amount decimal(6, 2) not null, ol_supply_w_id int not null,
        ol_quantity decimal(2, 0) not null, ol_dist_info char(24) not null,
        primary key (ol_w_id, ol_d_id, ol_o_id, ol_number));
    create table new_order (
        no_w_id int not null, no_d_id int not null, no_o_id int not null, primary key (no_w_id, no_d_id, no_o_id));
    create table stock (
        s_w_id int not null, s_i_id int not null, s_quantity decimal(4, 0) not null, s_ytd decimal(8, 2) not null,
        s_order_cnt int not null, s_remote_cnt int not null, s_data varchar(50) not null,
        s_dist_01 char(24) not null, s_dist_02 char(24) not null, s_dist_03 char(24) not null,
        s_dist_04 char(24) not null, s_dist_05 char(24) not null, s_dist_06 char(24) not null,
        s_dist_07 char(24) not null, s_dist_08 char(24) not null, s_dist_09 char(24) not null,
        s_dist_10 char(24) not null, primary key (s_w_id, s_i_id));
    create table oorder (
        o_w_id int not null, o_d_id int not null, o_id int not null, o_c_id int not null,
        o_carrier_id int default null, o_ol_cnt decimal(2, 0) not null, o_all_local decimal(1, 0) not null,
        o_entry_d timestamp not null default current_timestamp,
        primary key (o_w_id, o_d_id, o_id), unique (o_w_id, o_d_id, o_c_id, o_id));
    create table history (
        h_c_id int not null, h_c_d_id int not null, h_c_w_id int not null, h_d_id int not null, h_w_id int not null,
        h_date timestamp not null default current_timestamp, h_amount decimal(6, 2) not null,
        h_data varchar(24) not null);
    create table customer (
        c_w_id int not null, c_d_id int not null, c_id int not null, c_discount decimal(4, 4) not null,
        c_credit char(2) not null, c_last varchar(16) not null, c_first varchar(16) not null,
        c_credit_lim decimal(12, 2) not null, c_balance decimal(12, 2) not null, c_ytd_payment float not null,
        c_payment_cnt int not null, c_delivery_cnt int not null, c_street_1 varchar(20) not null,
        c_street_2 varchar(20) not null, c_city varchar(20) not null, c_state char(2) not null,
        c_zip char(9) not null, c_phone char(16) not null, c_since timestamp not null default current_timestamp,
        c_middle char(2) not null, c_data varchar(500) not null, primary key (c_w_id, c_d_id, c_id));
    create table district (
        d_w_id int not null, d_id int not null, d_ytd decimal(12, 2) not null, d_tax decimal(4, 4) not null,
        d_next_o_id int not null, d_name varchar(10) not null, d_street_1 varchar(20) not null,
        d_street_2 varchar(20) not null, d_city varchar(20) not null, d_state char(2) not null,
        d_zip char(9) not null, primary key (d_w_id, d_id));
    create table item (
        i_id int not null, i_name varchar(24) not null, i_price decimal(5, 2) not null, i_data varchar(50) not null,
        i_im_id int not null, primary key (i_id));
    create table warehouse (
        w_id int not null, w_ytd decimal(12, 2) not null, w_tax decimal(4, 4) not null, w_name varchar(10) not null,
        w_street_1 varchar(20) not null, w_street_2 varchar(20) not null, w_city varchar(20) not null,
        w_state char(2) not null, w_zip char(9) not null, primary key (w_id));
    create index idx_customer_name on customer (c_w_id, c_d_id, c_last, c_first);
    create index idx_order on oorder (o_w_id, o_d_id, o_c_id, o_id)";

const NAMES: [&str; 9] =
    ["warehouse", "district", "customer", "history", "oorder", "new_order", "order_line", "stock", "item"];
const ITEMS: i32 = 100;
const CUSTOMERS: i32 = 30;
const DISTRICTS: i32 = 10;
/// The time of everything that SQL does.
const NOW: Value<'static> = Value::Timestamp(700_000_000_000_000);

fn tpcc() -> Tpcc {
    workload(&format!("--warehouses 2 --items {ITEMS} --customers {CUSTOMERS} --rollback 0"))
}

fn tables(connection: &Connection) -> Tables {
    let [warehouse, district, customer, history, order, new_order, order_line, stock, item] =
        NAMES.map(|name| connection.table(name));
    Tables { warehouse, district, customer, history, order, new_order, order_line, stock, item }
}

/// A database that was created and loaded natively.
fn native(workload: &Tpcc) -> (Connection, Tables) {
    let connection = Connection::new();
    let tables = workload.create(&*connection.engine);
    connection.load(workload, tables);
    let Tables { warehouse, district, customer, history, order, new_order, order_line, stock, item } = tables;
    for table in [warehouse, district, customer, history, order, new_order, order_line, stock, item] {
        connection.database.adopt(table).expect("the names are free");
    }
    (connection, tables)
}

/// The native definition, with four differences: the index that BenchBase makes in addition to the unique constraint
/// on the same columns; no partition key, which BenchBase does not know, not even in front of a hidden key; no constant
/// table, which SQL does not know; and an order of the table without a primary key, which SQL keeps.
fn with_second_index(mut schema: TableSchema) -> TableSchema {
    (schema.partitioned, schema.constant) = (false, false);
    if schema.name == "history" {
        (schema.key, schema.ordered) = (vec![history::ROW_ID], true);
    }
    if schema.name == "oorder" {
        schema.indexes.push(IndexSchema {
            name: "idx_order".to_owned(),
            columns: vec![order::WAREHOUSE, order::DISTRICT, order::CUSTOMER, order::ID],
            kind: IndexKind::Ordered,
            unique: false,
        });
    }
    schema
}

#[test]
fn the_schemas_are_those_of_benchbase() {
    let native = tpcc().schemas().into_iter().map(with_second_index).collect();
    assert_eq!(Connection::after(TABLES).schemas(), by_name(native));
}

fn ints<const N: usize>(numbers: [i32; N]) -> [Value<'static>; N] {
    numbers.map(Value::Int4)
}

/// A line of an order: item, the warehouse that supplies it, quantity.
type Line = [i32; 3];

/// A customer that pays or asks: warehouse, district, number, and whether the last name is given instead.
#[derive(Clone, Copy)]
struct Who {
    warehouse: i32,
    district: i32,
    number: i32,
    is_named: bool,
}

/// The properties of a customer that the transactions need.
struct Customer {
    number: i32,
    credit: String,
    balance: f64,
    paid: f64,
    payments: i32,
}

/// The five transactions, as BenchBase's procedures send them.
impl Connection {
    /// Returns the number of the order; `None` if the last item does not exist, and then all must be rolled back.
    fn new_order(&mut self, [warehouse, district, customer]: [i32; 3], lines: &[Line]) -> Option<i32> {
        let sql = "SELECT C_DISCOUNT, C_LAST, C_CREDIT FROM customer WHERE C_W_ID = $1 AND C_D_ID = $2 AND C_ID = $3";
        let discount = float(&self.row(sql, &ints([warehouse, district, customer]))[0]);
        let tax = float(&self.row("SELECT W_TAX FROM warehouse WHERE W_ID = $1", &ints([warehouse]))[0]);
        assert!((0.0..=0.5).contains(&discount) && (0.0..=0.2).contains(&tax), "{discount} {tax}");
        let sql = "SELECT D_NEXT_O_ID, D_TAX FROM district WHERE D_W_ID = $1 AND D_ID = $2 FOR UPDATE";
        let number = int(&self.row(sql, &ints([warehouse, district]))[0]) as i32;
        let sql = "UPDATE district SET D_NEXT_O_ID = D_NEXT_O_ID + 1 WHERE D_W_ID = $1 AND D_ID = $2";
        assert_eq!(self.change(sql, &ints([warehouse, district])), 1);

        let all_local = lines.iter().all(|&[_, supply, _]| supply == warehouse);
        let sql = "INSERT INTO oorder (O_ID, O_D_ID, O_W_ID, O_C_ID, O_ENTRY_D, O_OL_CNT, O_ALL_LOCAL) \
            VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let [id, d_id, w_id, c_id, count, local] =
            ints([number, district, warehouse, customer, lines.len() as i32, i32::from(all_local)]);
        assert_eq!(self.change(sql, &[id, d_id, w_id, c_id, NOW, count, local]), 1);
        let sql = "INSERT INTO new_order (NO_O_ID, NO_D_ID, NO_W_ID) VALUES ($1, $2, $3)";
        assert_eq!(self.change(sql, &ints([number, district, warehouse])), 1);
        (1..)
            .zip(lines)
            .all(|(position, line)| self.line([number, district, warehouse, position], line))
            .then_some(number)
    }

    /// Adds a line to an order. Returns whether the item exists.
    fn line(&mut self, [order, district, warehouse, position]: [i32; 4], &[item, supply, quantity]: &Line) -> bool {
        let items = self.query("SELECT I_PRICE, I_NAME, I_DATA FROM item WHERE I_ID = $1", &ints([item]));
        let Some(price) = items.first().map(|row| float(&row[0])) else { return false };
        let sql = "SELECT S_QUANTITY, S_DATA, S_DIST_01, S_DIST_02, S_DIST_03, S_DIST_04, S_DIST_05, \
            S_DIST_06, S_DIST_07, S_DIST_08, S_DIST_09, S_DIST_10 \
            FROM stock WHERE S_I_ID = $1 AND S_W_ID = $2 FOR UPDATE";
        let stock = self.row(sql, &ints([item, supply]));
        let left = int(&stock[0]) as i32 - quantity;
        let left = if left >= 10 { left } else { left + 91 };
        let sql = "INSERT INTO order_line (OL_O_ID, OL_D_ID, OL_W_ID, OL_NUMBER, OL_I_ID, OL_SUPPLY_W_ID, \
            OL_QUANTITY, OL_AMOUNT, OL_DIST_INFO) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let mut parameters = ints([order, district, warehouse, position, item, supply, quantity]).to_vec();
        parameters.extend([Value::Float8(price * f64::from(quantity)), string(text(&stock[district as usize + 1]))]);
        assert_eq!(self.change(sql, &parameters), 1);
        let sql = "UPDATE stock SET S_QUANTITY = $1, S_YTD = S_YTD + $2, S_ORDER_CNT = S_ORDER_CNT + 1, \
            S_REMOTE_CNT = S_REMOTE_CNT + $3 WHERE S_I_ID = $4 AND S_W_ID = $5";
        let is_remote = i32::from(supply != warehouse);
        assert_eq!(self.change(sql, &ints([left, quantity, is_remote, item, supply])), 1);
        true
    }

    fn customer(&mut self, who: Who) -> Customer {
        let place = ints([who.warehouse, who.district]);
        let customer = |row: &[Value<'_>], number| Customer {
            number,
            credit: text(&row[9]),
            balance: float(&row[12]),
            paid: float(&row[13]),
            payments: int(&row[14]) as i32,
        };
        if who.is_named {
            let sql = "SELECT C_LAST FROM customer WHERE C_W_ID = $1 AND C_D_ID = $2 AND C_ID = $3";
            let last = self.row(sql, &ints([who.warehouse, who.district, who.number])).remove(0);
            let sql = "SELECT C_FIRST, C_MIDDLE, C_ID, C_STREET_1, C_STREET_2, C_CITY, C_STATE, C_ZIP, C_PHONE, \
                C_CREDIT, C_CREDIT_LIM, C_DISCOUNT, C_BALANCE, C_YTD_PAYMENT, C_PAYMENT_CNT, C_SINCE \
                FROM customer WHERE C_W_ID = $1 AND C_D_ID = $2 AND C_LAST = $3 ORDER BY C_FIRST";
            let [w_id, d_id] = place;
            let namesakes = self.query(sql, &[w_id, d_id, last]);
            assert!(namesakes.is_sorted_by_key(|row| text(&row[0])), "{namesakes:?}");
            let row = &namesakes[namesakes.len().div_ceil(2) - 1];
            customer(row, int(&row[2]) as i32)
        } else {
            let sql = "SELECT C_FIRST, C_MIDDLE, C_LAST, C_STREET_1, C_STREET_2, C_CITY, C_STATE, C_ZIP, C_PHONE, \
                C_CREDIT, C_CREDIT_LIM, C_DISCOUNT, C_BALANCE, C_YTD_PAYMENT, C_PAYMENT_CNT, C_SINCE \
                FROM customer WHERE C_W_ID = $1 AND C_D_ID = $2 AND C_ID = $3";
            customer(&self.row(sql, &ints([who.warehouse, who.district, who.number])), who.number)
        }
    }

    /// Runs a payment. Returns whether the customer has bad credit.
    fn payment(&mut self, [warehouse, district]: [i32; 2], who: Who, amount: f64) -> bool {
        let sql = "UPDATE warehouse SET W_YTD = W_YTD + $1 WHERE W_ID = $2";
        assert_eq!(self.change(sql, &[Value::Float8(amount), Value::Int4(warehouse)]), 1);
        let sql = "SELECT W_STREET_1, W_STREET_2, W_CITY, W_STATE, W_ZIP, W_NAME FROM warehouse WHERE W_ID = $1";
        let warehouse_name = text(&self.row(sql, &ints([warehouse]))[5]);
        let sql = "UPDATE district SET D_YTD = D_YTD + $1 WHERE D_W_ID = $2 AND D_ID = $3";
        assert_eq!(self.change(sql, &[Value::Float8(amount), Value::Int4(warehouse), Value::Int4(district)]), 1);
        let sql = "SELECT D_STREET_1, D_STREET_2, D_CITY, D_STATE, D_ZIP, D_NAME \
            FROM district WHERE D_W_ID = $1 AND D_ID = $2";
        let district_name = text(&self.row(sql, &ints([warehouse, district]))[5]);

        let customer = self.customer(who);
        let key = ints([who.warehouse, who.district, customer.number]);
        let sums = [Value::Float8(customer.balance - amount), Value::Float8(customer.paid + amount)];
        let mut parameters: Vec<_> = sums.into_iter().chain([Value::Int4(customer.payments + 1)]).collect();
        let has_bad_credit = customer.credit == "BC";
        let sql = if has_bad_credit {
            let sql = "SELECT C_DATA FROM customer WHERE C_W_ID = $1 AND C_D_ID = $2 AND C_ID = $3";
            let before = text(&self.row(sql, &key)[0]);
            let Who { warehouse: c_w_id, district: c_d_id, .. } = who;
            let note = format!("{} {c_d_id} {c_w_id} {district} {warehouse} {amount} | {before}", customer.number);
            parameters.push(string(note.chars().take(500).collect::<String>()));
            "UPDATE customer SET C_BALANCE = $1, C_YTD_PAYMENT = $2, C_PAYMENT_CNT = $3, C_DATA = $4 \
                WHERE C_W_ID = $5 AND C_D_ID = $6 AND C_ID = $7"
        } else {
            "UPDATE customer SET C_BALANCE = $1, C_YTD_PAYMENT = $2, C_PAYMENT_CNT = $3 \
                WHERE C_W_ID = $4 AND C_D_ID = $5 AND C_ID = $6"
        };
        parameters.extend(key);
        assert_eq!(self.change(sql, &parameters), 1);
        let sql = "INSERT INTO history (H_C_D_ID, H_C_W_ID, H_C_ID, H_D_ID, H_W_ID, H_DATE, H_AMOUNT, H_DATA) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        let mut parameters = ints([who.district, who.warehouse, customer.number, district, warehouse]).to_vec();
        parameters.extend([NOW, Value::Float8(amount), string(format!("{warehouse_name}    {district_name}"))]);
        assert_eq!(self.change(sql, &parameters), 1);
        has_bad_credit
    }

    /// Returns the customer's last order, and the number of its lines.
    fn order_status(&mut self, who: Who) -> (i32, usize) {
        let customer = self.customer(who);
        let sql = "SELECT O_ID, O_CARRIER_ID, O_ENTRY_D FROM oorder \
            WHERE O_W_ID = $1 AND O_D_ID = $2 AND O_C_ID = $3 ORDER BY O_ID DESC LIMIT 1";
        let last = int(&self.row(sql, &ints([who.warehouse, who.district, customer.number]))[0]) as i32;
        let sql = "SELECT OL_I_ID, OL_SUPPLY_W_ID, OL_QUANTITY, OL_AMOUNT, OL_DELIVERY_D FROM order_line \
            WHERE OL_O_ID = $1 AND OL_D_ID = $2 AND OL_W_ID = $3";
        (last, self.query(sql, &ints([last, who.district, who.warehouse])).len())
    }

    /// Returns the order that was delivered, if there was one.
    fn deliver(&mut self, warehouse: i32, district: i32) -> Option<i32> {
        let sql = "SELECT NO_O_ID FROM new_order WHERE NO_D_ID = $1 AND NO_W_ID = $2 ORDER BY NO_O_ID ASC LIMIT 1";
        let oldest = self.query(sql, &ints([district, warehouse]));
        let number = int(&oldest.first()?[0]) as i32;
        let order = ints([number, district, warehouse]);
        let sql = "DELETE FROM new_order WHERE NO_O_ID = $1 AND NO_D_ID = $2 AND NO_W_ID = $3";
        assert_eq!(self.change(sql, &order), 1);
        let sql = "SELECT O_C_ID FROM oorder WHERE O_ID = $1 AND O_D_ID = $2 AND O_W_ID = $3";
        let customer = int(&self.row(sql, &order)[0]) as i32;
        let sql = "UPDATE oorder SET O_CARRIER_ID = $1 WHERE O_ID = $2 AND O_D_ID = $3 AND O_W_ID = $4";
        assert_eq!(self.change(sql, &ints([7, number, district, warehouse])), 1);
        let sql = "UPDATE order_line SET OL_DELIVERY_D = $1 WHERE OL_O_ID = $2 AND OL_D_ID = $3 AND OL_W_ID = $4";
        let [o_id, d_id, w_id] = order.clone();
        assert!(self.change(sql, &[NOW, o_id, d_id, w_id]) >= 5);
        let sql = "SELECT SUM(OL_AMOUNT) AS OL_TOTAL FROM order_line \
            WHERE OL_O_ID = $1 AND OL_D_ID = $2 AND OL_W_ID = $3";
        let total = Value::Float8(float(&self.row(sql, &order)[0]));
        let sql = "UPDATE customer SET C_BALANCE = C_BALANCE + $1, C_DELIVERY_CNT = C_DELIVERY_CNT + 1 \
            WHERE C_W_ID = $2 AND C_D_ID = $3 AND C_ID = $4";
        let [w_id, d_id, c_id] = ints([warehouse, district, customer]);
        assert_eq!(self.change(sql, &[total, w_id, d_id, c_id]), 1);
        Some(number)
    }

    /// Returns the number of items of the last twenty orders that are low in stock.
    fn stock_level(&mut self, warehouse: i32, district: i32, threshold: i32) -> i64 {
        let sql = "SELECT D_NEXT_O_ID FROM district WHERE D_W_ID = $1 AND D_ID = $2";
        let next = int(&self.row(sql, &ints([warehouse, district]))[0]) as i32;
        let sql = "SELECT COUNT(DISTINCT (S_I_ID)) AS STOCK_COUNT FROM order_line, stock \
            WHERE OL_W_ID = $1 AND OL_D_ID = $2 AND OL_O_ID < $3 AND OL_O_ID >= $4 \
            AND S_W_ID = $5 AND S_I_ID = OL_I_ID AND S_QUANTITY < $6";
        int(&self.row(sql, &ints([warehouse, district, next, next - 20, warehouse, threshold]))[0])
    }
}

/// Runs orders in warehouse 1 and payments in warehouse 2, some of them with rows of the other warehouse; then
/// everything else.
fn five_transactions(connection: &mut Connection) {
    let mut bad_credits = 0;
    for district in 1..=DISTRICTS {
        let lines: Vec<Line> = (0..5 + district).map(|line| [1 + line * 6, 1 + line % 7 / 6, 1 + line % 10]).collect();
        let customer = 2 * district;
        let ordered = connection.transaction(|sql| sql.new_order([1, district, customer], &lines));
        let number = ordered.expect("all items are there");
        let is_named = district % 2 == 0;
        let who = Who { warehouse: 1, district, number: customer, is_named };
        assert_eq!(connection.transaction(|sql| sql.order_status(who)), (number, lines.len()));
        let wrong = [lines.as_slice(), &[[ITEMS + 1, 2, 1]]].concat();
        assert_eq!(connection.rolled_back(|sql| sql.new_order([2, district, customer], &wrong)), None);

        for number in 1..=CUSTOMERS {
            let warehouse = if number % 7 == 0 { 1 } else { 2 };
            let who = Who { warehouse, district, number, is_named: number % 2 == 0 };
            let amount = f64::from(number * 100 + district) / 100.0;
            bad_credits += usize::from(connection.transaction(|sql| sql.payment([2, district], who, amount)));
        }
        let all = connection.transaction(|sql| sql.stock_level(1, district, 1_000));
        let low = connection.transaction(|sql| sql.stock_level(1, district, 20));
        assert!(low < all && all <= i64::from(ITEMS), "{low} of {all}");
    }
    assert!((1..200).contains(&bad_credits), "{bad_credits} of {} have bad credit", DISTRICTS * CUSTOMERS);
    for _ in 0..3 {
        let delivered =
            connection.transaction(|sql| (1..=DISTRICTS).filter_map(|district| sql.deliver(1, district)).count());
        assert_eq!(delivered, 10);
    }
}

/// Runs the native check, which finds nothing wrong except that there is more than its clients know of: in each
/// district of warehouse 1 an order, its lines and deliveries (4, 11, 15), and in each district of warehouse 2 payments
/// and their sum (15). Lines whose order the check cannot know are counted here.
fn check(workload: &Tpcc, connection: &mut Connection, tables: Tables, client: Client) {
    let verdict = workload.check(&*connection.engine, tables, &[client]);
    let Err(Violation::Corruption(what)) = verdict else { panic!("the check missed what SQL did: {verdict:?}") };
    let conditions: Vec<_> = what
        .split("condition ")
        .skip(1)
        .map(|part| (part.split(',').next(), part.trim_end_matches("; ").rsplit(" (").next()))
        .collect();
    let expected = [("4", "and 9 more)"), ("11", "and 9 more)"), ("15", "and 29 more)")];
    assert_eq!(conditions, expected.map(|(number, others)| (Some(number), Some(others))), "{what}");
    let lines = connection.row("SELECT count(*) FROM order_line", &[]);
    assert_eq!(connection.row("SELECT sum(o_ol_cnt)::bigint FROM oorder", &[]), lines);
}

#[test]
fn statements_of_benchbase_run_on_native_rows() {
    let workload = tpcc();
    let (mut connection, tables) = native(&workload);
    let client = connection.run(&workload, tables, 100);
    five_transactions(&mut connection);
    check(&workload, &mut connection, tables, client);
}

#[test]
fn native_clients_run_on_tables_of_benchbase() {
    let workload = tpcc();
    let mut connection = Connection::after(TABLES);
    let tables = tables(&connection);
    connection.load(&workload, tables);
    let client = connection.run(&workload, tables, 200);
    five_transactions(&mut connection);
    check(&workload, &mut connection, tables, client);
}

#[test]
fn native_clients_see_rows_of_benchbase() {
    let workload = tpcc();
    let (mut source, _) = native(&workload);
    let mut connection = Connection::after(TABLES);
    for table in NAMES {
        for row in source.query(&format!("SELECT * FROM {table}"), &[]) {
            let places: Vec<_> = (1..=row.len()).map(|place| format!("${place}")).collect();
            let sql = format!("INSERT INTO {table} VALUES ({})", places.join(", "));
            assert_eq!(connection.change(&sql, &row), 1);
        }
    }
    let tables = tables(&connection);
    let client = connection.run(&workload, tables, 200);
    assert_eq!(workload.check(&*connection.engine, tables, &[client]), Ok(()));
}
