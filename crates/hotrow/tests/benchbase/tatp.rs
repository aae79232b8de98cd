//! Tests TATP by BenchBase.

use crate::connection::{Connection, by_name, int, string, workload};
use hotrow::storage::{IndexKind, TableSchema, Value};
use hotrow::workloads::Workload;
use hotrow::workloads::tatp::{Number, Tables, Tatp};

/// The statements with which BenchBase makes the tables, without the foreign keys.
const TABLES: &str = "
    drop table if exists access_info cascade;
    drop table if exists call_forwarding cascade;
    drop table if exists special_facility cascade;
    drop table if exists subscriber cascade;
    create table subscriber (
        s_id integer not null primary key, sub_nbr varchar(15) not null unique,
        bit_1 smallint, bit_2 smallint, bit_3 smallint, bit_4 smallint, bit_5 smallint,
        bit_6 smallint, bit_7 smallint, bit_8 smallint, bit_9 smallint, bit_10 smallint,
        hex_1 smallint, hex_2 smallint, hex_3 smallint, hex_4 smallint, hex_5 smallint,
        hex_6 smallint, hex_7 smallint, hex_8 smallint, hex_9 smallint, hex_10 smallint,
        byte2_1 smallint, byte2_2 smallint, byte2_3 smallint, byte2_4 smallint, byte2_5 smallint,
        byte2_6 smallint, byte2_7 smallint, byte2_8 smallint, byte2_9 smallint, byte2_10 smallint,
        msc_location integer, vlr_location integer);
    create table access_info (
        s_id integer not null, ai_type smallint not null, data1 smallint, data2 smallint, data3 varchar(3),
        data4 varchar(5), primary key (s_id, ai_type));
    create table special_facility (
        s_id integer not null, sf_type smallint not null, is_active smallint not null, error_cntrl smallint,
        data_a smallint, data_b varchar(5), primary key (s_id, sf_type));
    create table call_forwarding (
        s_id integer not null, sf_type smallint not null, start_time smallint not null, end_time smallint,
        numberx varchar(15), primary key (s_id, sf_type, start_time));
    create index idx_cf on call_forwarding (s_id)";

const SUBSCRIBERS: i32 = 40;

fn tatp() -> Tatp {
    workload(&format!("--subscribers {SUBSCRIBERS} --uniform"))
}

fn tables(connection: &Connection) -> Tables {
    Tables {
        subscriber: connection.table("subscriber"),
        access_info: connection.table("access_info"),
        special_facility: connection.table("special_facility"),
        call_forwarding: connection.table("call_forwarding"),
    }
}

/// A database that was created and loaded natively.
fn native(workload: &Tatp) -> (Connection, Tables) {
    let connection = Connection::new();
    let tables = workload.create(&*connection.engine);
    connection.load(workload, tables);
    for table in [tables.subscriber, tables.access_info, tables.special_facility, tables.call_forwarding] {
        connection.database.adopt(table).expect("the names are free");
    }
    (connection, tables)
}

/// The native definition, with ordered indexes instead of hash indexes, as SQL makes them, and without the partition
/// key, which BenchBase does not know.
fn ordered(mut schema: TableSchema) -> TableSchema {
    schema.ordered = true;
    schema.partitioned = false;
    schema.indexes.iter_mut().for_each(|index| index.kind = IndexKind::Ordered);
    schema
}

#[test]
fn the_schemas_are_those_of_benchbase() {
    let native = tatp().schemas().into_iter().map(ordered).collect();
    assert_eq!(Connection::after(TABLES).schemas(), by_name(native));
}

/// A subscriber's id, as BenchBase sends it.
fn id(subscriber: i32) -> Value<'static> {
    Value::Int8(i64::from(subscriber))
}

fn number(subscriber: i32) -> Value<'static> {
    string(format!("{:?}", Number::new(subscriber as u64)))
}

/// The seven transactions, as BenchBase's procedures send them.
impl Connection {
    fn get_subscriber_data(&mut self, subscriber: i32) -> Vec<Value<'static>> {
        self.row("SELECT * FROM subscriber WHERE s_id = $1", &[id(subscriber)])
    }

    fn get_access_data(&mut self, subscriber: i32, kind: i16) -> Vec<Vec<Value<'static>>> {
        let sql = "SELECT data1, data2, data3, data4 FROM access_info WHERE s_id = $1 AND ai_type = $2";
        self.query(sql, &[id(subscriber), Value::Int2(kind)])
    }

    fn get_new_destination(
        &mut self,
        subscriber: i32,
        facility: i16,
        start: i16,
        end: i16,
    ) -> Vec<Vec<Value<'static>>> {
        let sql = "SELECT cf.numberx FROM special_facility sf, call_forwarding cf WHERE sf.s_id = $1 AND sf.sf_type = $2 \
            AND sf.is_active = 1 AND cf.s_id = sf.s_id AND cf.sf_type = sf.sf_type AND cf.start_time <= $3 \
            AND cf.end_time > $4";
        self.query(sql, &[id(subscriber), Value::Int2(facility), Value::Int2(start), Value::Int2(end)])
    }

    /// Returns the number of special facilities that were changed.
    fn update_subscriber_data(&mut self, subscriber: i32, bit: i16, data: i16, facility: i16) -> usize {
        let sql = "UPDATE subscriber SET bit_1 = $1 WHERE s_id = $2";
        assert_eq!(self.change(sql, &[Value::Int2(bit), id(subscriber)]), 1);
        let sql = "UPDATE special_facility SET data_a = $1 WHERE s_id = $2 AND sf_type = $3";
        self.change(sql, &[Value::Int2(data), id(subscriber), Value::Int2(facility)])
    }

    fn find_subscriber(&mut self, subscriber: i32) -> Value<'static> {
        let found = self.row("SELECT s_id FROM subscriber WHERE sub_nbr = $1", &[number(subscriber)]);
        assert_eq!(int(&found[0]), i64::from(subscriber));
        id(subscriber)
    }

    fn update_location(&mut self, subscriber: i32, location: i32) {
        let found = self.find_subscriber(subscriber);
        let sql = "UPDATE subscriber SET vlr_location = $1 WHERE s_id = $2";
        assert_eq!(self.change(sql, &[Value::Int4(location), found]), 1);
    }

    fn insert_call_forwarding(&mut self, subscriber: i32, [facility, start, end]: [i16; 3], destination: &str) {
        let found = self.find_subscriber(subscriber);
        let facilities =
            self.query("SELECT sf_type FROM special_facility WHERE s_id = $1", std::slice::from_ref(&found));
        assert!(facilities.contains(&vec![Value::Int2(facility)]), "{facilities:?}");
        let sql = "INSERT INTO call_forwarding VALUES ($1, $2, $3, $4, $5)";
        let [facility, start, end] = [facility, start, end].map(Value::Int2);
        assert_eq!(self.change(sql, &[found, facility, start, end, string(destination)]), 1);
    }

    fn delete_call_forwarding(&mut self, subscriber: i32, facility: i16, start: i16) -> usize {
        let found = self.find_subscriber(subscriber);
        let sql = "DELETE FROM call_forwarding WHERE s_id = $1 AND sf_type = $2 AND start_time = $3";
        self.change(sql, &[found, Value::Int2(facility), Value::Int2(start)])
    }

    /// The special facilities that forward no call at some time: subscriber, type and start time.
    fn free(&mut self) -> Vec<(i32, i16, i16)> {
        let mut free = Vec::new();
        for facility in self.query("SELECT s_id, sf_type FROM special_facility WHERE is_active = 1", &[]) {
            let sql = "SELECT start_time FROM call_forwarding WHERE s_id = $1 AND sf_type = $2";
            let taken = self.query(sql, &facility);
            let start = [0, 8, 16].into_iter().find(|&start| !taken.contains(&vec![Value::Int2(start)]));
            free.extend(start.map(|start| (int(&facility[0]) as i32, int(&facility[1]) as i16, start)));
        }
        free
    }
}

/// Runs each transaction for many subscribers; each sees the effects of the previous ones.
fn seven_transactions(connection: &mut Connection) {
    let free = connection.free();
    assert!(free.len() > 10, "{free:?}");
    for &(subscriber, facility, start) in &free {
        connection.transaction(|sql| sql.insert_call_forwarding(subscriber, [facility, start, start + 8], "999"));
        let found = connection.transaction(|sql| sql.get_new_destination(subscriber, facility, start, start + 7));
        assert!(found.contains(&vec![string("999")]), "{found:?}");
        let later = connection.transaction(|sql| sql.get_new_destination(subscriber, facility, start, start + 8));
        assert!(!later.contains(&vec![string("999")]), "{later:?}");
        assert_eq!(connection.transaction(|sql| sql.update_subscriber_data(subscriber, 1, 77, facility)), 1);
        connection.transaction(|sql| sql.update_location(subscriber, 1_000 + subscriber));
        let row = connection.transaction(|sql| sql.get_subscriber_data(subscriber));
        assert_eq!((row.len(), &row[1]), (34, &number(subscriber)));
        assert_eq!((&row[2], &row[33]), (&Value::Int2(1), &Value::Int4(1_000 + subscriber)));
        assert_eq!(connection.transaction(|sql| sql.delete_call_forwarding(subscriber, facility, start)), 1);
        assert_eq!(connection.transaction(|sql| sql.delete_call_forwarding(subscriber, facility, start)), 0);
    }
    let found: usize = (1..=SUBSCRIBERS)
        .flat_map(|subscriber| (1..=4).map(move |kind| (subscriber, kind)))
        .map(|(subscriber, kind)| connection.transaction(|sql| sql.get_access_data(subscriber, kind).len()))
        .sum();
    assert_eq!(connection.row("SELECT count(*) FROM access_info", &[]), [Value::Int8(found as i64)]);
}

#[test]
fn statements_of_benchbase_run_on_native_rows() {
    let workload = tatp();
    let (mut connection, tables) = native(&workload);
    let client = connection.run(&workload, tables, 200);
    seven_transactions(&mut connection);
    assert_eq!(workload.check(&*connection.engine, tables, &[client]), Ok(()));
}

#[test]
fn native_clients_run_on_tables_of_benchbase() {
    let workload = tatp();
    let mut connection = Connection::after(TABLES);
    let tables = tables(&connection);
    connection.load(&workload, tables);
    seven_transactions(&mut connection);
    let client = connection.run(&workload, tables, 500);
    seven_transactions(&mut connection);
    assert_eq!(workload.check(&*connection.engine, tables, &[client]), Ok(()));
}

#[test]
fn native_clients_see_rows_of_benchbase() {
    let workload = tatp();
    let (source, _) = native(&workload);
    let mut source = source;
    let mut connection = Connection::after(TABLES);
    for table in ["subscriber", "access_info", "special_facility", "call_forwarding"] {
        for row in source.query(&format!("SELECT * FROM {table}"), &[]) {
            let places: Vec<_> = (1..=row.len()).map(|place| format!("${place}")).collect();
            let sql = format!("INSERT INTO {table} VALUES ({})", places.join(", "));
            assert_eq!(connection.change(&sql, &row), 1);
        }
    }
    let tables = tables(&connection);
    let client = connection.run(&workload, tables, 500);
    assert_eq!(workload.check(&*connection.engine, tables, &[client]), Ok(()));
}
