//! The nine tables, column for column as BenchBase makes them in PostgreSQL.

use super::columns::{customer, district, history, item, new_order, order, order_line, stock, warehouse};
use hotrow_storage::{
    Column, IndexId, IndexKind, IndexRef, IndexSchema, Key, KeyBuilder, Precision, TableId, TableSchema, Type, Value,
};

/// The tables' numbers in one database.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// The number of the table `warehouse`.
    pub warehouse: TableId,
    /// The number of the table `district`.
    pub district: TableId,
    /// The number of the table `customer`.
    pub customer: TableId,
    /// The number of the table `history`.
    pub history: TableId,
    /// The number of the table `oorder`, so called because ORDER is a word of SQL.
    pub order: TableId,
    /// The number of the table `new_order`.
    pub new_order: TableId,
    /// The number of the table `order_line`.
    pub order_line: TableId,
    /// The number of the table `stock`.
    pub stock: TableId,
    /// The number of the table `item`.
    pub item: TableId,
}

/// The index of customers by last name, then first name.
pub(super) const CUSTOMERS_BY_NAME: IndexRef = IndexRef::Secondary(IndexId(0));
/// The index of orders by customer.
pub(super) const ORDERS_BY_CUSTOMER: IndexRef = IndexRef::Secondary(IndexId(0));

/// The name of the hidden key column of a table without a primary key, as in SQL. It is not the name of any other
/// column, since no identifier is empty.
const HIDDEN: &str = "";

/// Defines all nine tables, in the order of [`Tables`].
pub(super) fn all() -> [TableSchema; 9] {
    [warehouses(), districts(), customers(), histories(), orders(), new_orders(), order_lines(), stocks(), items()]
}

/// Defines a table whose primary key begins with the warehouse, which is the partition key.
fn of_warehouse(name: &str, columns: Vec<Column>, key: &[usize]) -> TableSchema {
    TableSchema { partitioned: true, ..TableSchema::new(name, columns, key) }
}

fn int(name: &str) -> Column {
    Column::new(name, Type::Int4)
}

fn decimal(name: &str, precision: u16, scale: i16) -> Column {
    Column::new(name, Type::Numeric(Some(Precision { precision, scale })))
}

fn varchar(name: &str, length: u32) -> Column {
    Column::new(name, Type::Varchar(Some(length)))
}

fn char(name: &str, length: u32) -> Column {
    Column::new(name, Type::Char(length))
}

/// Defines the table `warehouse`.
pub fn warehouses() -> TableSchema {
    let columns = vec![
        int("w_id"),
        decimal("w_ytd", 12, 2),
        decimal("w_tax", 4, 4),
        varchar("w_name", 10),
        varchar("w_street_1", 20),
        varchar("w_street_2", 20),
        varchar("w_city", 20),
        char("w_state", 2),
        char("w_zip", 9),
    ];
    of_warehouse("warehouse", columns, &[warehouse::ID])
}

/// Defines the table `district`.
pub fn districts() -> TableSchema {
    let columns = vec![
        int("d_w_id"),
        int("d_id"),
        decimal("d_ytd", 12, 2),
        decimal("d_tax", 4, 4),
        int("d_next_o_id"),
        varchar("d_name", 10),
        varchar("d_street_1", 20),
        varchar("d_street_2", 20),
        varchar("d_city", 20),
        char("d_state", 2),
        char("d_zip", 9),
    ];
    of_warehouse("district", columns, &[district::WAREHOUSE, district::ID])
}

/// Defines the table `customer`.
pub fn customers() -> TableSchema {
    let columns = vec![
        int("c_w_id"),
        int("c_d_id"),
        int("c_id"),
        decimal("c_discount", 4, 4),
        char("c_credit", 2),
        varchar("c_last", 16),
        varchar("c_first", 16),
        decimal("c_credit_lim", 12, 2),
        decimal("c_balance", 12, 2),
        Column::new("c_ytd_payment", Type::Float8),
        int("c_payment_cnt"),
        int("c_delivery_cnt"),
        varchar("c_street_1", 20),
        varchar("c_street_2", 20),
        varchar("c_city", 20),
        char("c_state", 2),
        char("c_zip", 9),
        char("c_phone", 16),
        Column::new("c_since", Type::TIMESTAMP),
        char("c_middle", 2),
        varchar("c_data", customer::DATA_LONGEST as u32),
    ];
    let key = [customer::WAREHOUSE, customer::DISTRICT, customer::ID];
    let mut schema = of_warehouse("customer", columns, &key);
    schema.indexes = vec![IndexSchema {
        name: "idx_customer_name".to_owned(),
        columns: vec![customer::WAREHOUSE, customer::DISTRICT, customer::LAST, customer::FIRST],
        kind: IndexKind::Ordered,
        unique: false,
    }];
    schema
}

/// Defines the table `history`. It has no primary key in SQL. Its key is the hidden row number, behind the partition
/// key, as SQL makes it of `PARTITION BY HASH (h_w_id)`.
pub fn histories() -> TableSchema {
    let columns = vec![
        int("h_c_id"),
        int("h_c_d_id"),
        int("h_c_w_id"),
        int("h_d_id"),
        int("h_w_id"),
        Column::new("h_date", Type::TIMESTAMP),
        decimal("h_amount", 6, 2),
        varchar("h_data", 24),
        Column::new(HIDDEN, Type::Int8),
    ];
    let mut schema = of_warehouse("history", columns, &[history::WAREHOUSE, history::ROW_ID]);
    schema.ordered = false;
    schema
}

/// Returns the key of a row of the table `history`.
pub fn history_key(warehouse: i32, row_id: i64) -> Key {
    let mut key = KeyBuilder::default();
    key.push(Type::Int4, false, &Value::Int4(warehouse));
    key.push(Type::Int8, false, &Value::Int8(row_id));
    key.finish()
}

/// Defines the table `oorder`.
pub fn orders() -> TableSchema {
    let columns = vec![
        int("o_w_id"),
        int("o_d_id"),
        int("o_id"),
        int("o_c_id"),
        Column::nullable("o_carrier_id", Type::Int4),
        decimal("o_ol_cnt", 2, 0),
        decimal("o_all_local", 1, 0),
        Column::new("o_entry_d", Type::TIMESTAMP),
    ];
    let mut schema = of_warehouse("oorder", columns, &[order::WAREHOUSE, order::DISTRICT, order::ID]);
    schema.indexes = vec![IndexSchema {
        name: "oorder_o_w_id_o_d_id_o_c_id_o_id_key".to_owned(),
        columns: vec![order::WAREHOUSE, order::DISTRICT, order::CUSTOMER, order::ID],
        kind: IndexKind::Ordered,
        unique: true,
    }];
    schema
}

/// Defines the table `new_order`.
pub fn new_orders() -> TableSchema {
    let columns = vec![int("no_w_id"), int("no_d_id"), int("no_o_id")];
    of_warehouse("new_order", columns, &[new_order::WAREHOUSE, new_order::DISTRICT, new_order::ORDER])
}

/// Defines the table `order_line`.
pub fn order_lines() -> TableSchema {
    let columns = vec![
        int("ol_w_id"),
        int("ol_d_id"),
        int("ol_o_id"),
        int("ol_number"),
        int("ol_i_id"),
        Column::nullable("ol_delivery_d", Type::TIMESTAMP),
        decimal("ol_amount", 6, 2),
        int("ol_supply_w_id"),
        decimal("ol_quantity", 2, 0),
        char("ol_dist_info", stock::DISTRICT_BYTES as u32),
    ];
    let key = [order_line::WAREHOUSE, order_line::DISTRICT, order_line::ORDER, order_line::NUMBER];
    of_warehouse("order_line", columns, &key)
}

/// Defines the table `stock`.
pub fn stocks() -> TableSchema {
    let mut columns = vec![
        int("s_w_id"),
        int("s_i_id"),
        decimal("s_quantity", 4, 0),
        decimal("s_ytd", 8, 2),
        int("s_order_cnt"),
        int("s_remote_cnt"),
        varchar("s_data", 50),
    ];
    columns.extend((1..=10).map(|district| char(&format!("s_dist_{district:02}"), stock::DISTRICT_BYTES as u32)));
    of_warehouse("stock", columns, &[stock::WAREHOUSE, stock::ITEM])
}

/// Defines the table `item`, which no transaction writes to.
pub fn items() -> TableSchema {
    let columns =
        vec![int("i_id"), varchar("i_name", 24), decimal("i_price", 5, 2), varchar("i_data", 50), int("i_im_id")];
    TableSchema { constant: true, ..TableSchema::new("item", columns, &[item::ID]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_positions_are_those_of_the_names() {
        let named = [
            (warehouses(), "w_name", warehouse::NAME),
            (warehouses(), "w_zip", warehouse::ZIP),
            (districts(), "d_next_o_id", district::NEXT_ORDER),
            (districts(), "d_zip", district::ZIP),
            (customers(), "c_ytd_payment", customer::PAID),
            (customers(), "c_data", customer::DATA),
            (histories(), "h_data", history::DATA),
            (histories(), HIDDEN, history::ROW_ID),
            (orders(), "o_entry_d", order::ENTERED),
            (new_orders(), "no_o_id", new_order::ORDER),
            (order_lines(), "ol_dist_info", order_line::INFO),
            (stocks(), "s_data", stock::DATA),
            (stocks(), "s_dist_10", stock::district(10)),
            (items(), "i_im_id", item::IMAGE),
        ];
        for (schema, name, position) in named {
            assert_eq!(schema.column(name), Some(position), "{}.{name}", schema.name);
        }
    }
}
