//! Tests that TPC-B has the same database natively and by pgbench.

use hotrow::sql::{Config, Database, Session};
use hotrow::storage::{TableSchema, Value};
use hotrow::sync::{Arc, Waiter};
use hotrow::txn::Engine;
use hotrow::workloads::tpcb::Tpcb;
use hotrow::workloads::{Client, ClientIdentity, Workload};
use hotrow::{Rows, runtime};
use std::ops::ControlFlow;
use std::time::Duration;

/// The definitions that `pgbench -i` sends, in its order.
const INITIALISE: &[&str] = &[
    "drop table if exists pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers",
    "create table pgbench_history(tid int,bid int,aid    int,delta int,mtime timestamp,filler char(22))",
    "create table pgbench_tellers(tid int not null,bid int,tbalance int,filler char(84)) with (fillfactor=100)",
    "create table pgbench_accounts(aid    int not null,bid int,abalance int,filler char(84)) with (fillfactor=100)",
    "create table pgbench_branches(bid int not null,bbalance int,filler char(88)) with (fillfactor=100)",
    "alter table pgbench_branches add primary key (bid)",
    "alter table pgbench_tellers add primary key (tid)",
    "alter table pgbench_accounts add primary key (aid)",
];

fn tpcb() -> Tpcb {
    Tpcb::new(hotrow::workloads::tpcb::Options { scale: 1, accounts: 100_000 }).expect("good options")
}

fn database() -> (Arc<dyn Engine>, Arc<Database>) {
    let engine = hotrow::open("ilock").expect("the engine is in the registry");
    (engine.clone(), Database::new(engine, Config::default()))
}

fn session(database: &Arc<Database>) -> Session {
    database.session("postgres", Waiter::thread(Duration::ZERO))
}

fn query(session: &mut Session, sql: &str) -> Vec<Vec<Value<'static>>> {
    let mut rows = Rows::default();
    session.simple_query(sql, &mut rows).unwrap_or_else(|error| panic!("{sql}: {error}"));
    rows.rows().to_vec()
}

#[test]
fn the_schemas_are_those_of_pgbench() {
    let (engine, database) = database();
    let mut session = session(&database);
    for statement in INITIALISE {
        query(&mut session, statement);
    }
    let by_name = |schemas: Vec<TableSchema>| {
        let mut schemas = schemas;
        schemas.sort_by(|a, b| a.name.cmp(&b.name));
        schemas
    };
    let sent = database.tables().into_iter().map(|table| (*engine.schema(table)).clone()).collect();
    let mut native = tpcb().schemas();
    // SQL keeps the rows of a table without a primary key in the order of their insertion; the native transactions do
    // not need that.
    native.iter_mut().filter(|schema| schema.name == "pgbench_history").for_each(|schema| schema.ordered = true);
    assert_eq!(by_name(sent), by_name(native));
}

#[test]
fn sql_sees_what_native_transactions_did() {
    let (engine, database) = database();
    let workload = tpcb();
    let tables = workload.create(&*engine);
    workload.load(&*engine, tables, 2, &|_| ControlFlow::Continue(())).expect("the tables are empty");
    for table in [tables.branches, tables.tellers, tables.accounts, tables.history] {
        database.adopt(table).expect("the names are free");
    }
    let mut client = workload.client(tables, ClientIdentity::first_run(0, 1));
    let mut worker = runtime::Session::new(&*engine);
    for _ in 0..50 {
        client.step(&mut worker).expect("nobody stands in the way");
    }
    let mut session = session(&database);
    for sum in [
        "select sum(abalance)::bigint from pgbench_accounts",
        "select sum(tbalance)::bigint from pgbench_tellers",
        "select sum(bbalance)::bigint from pgbench_branches",
        "select sum(delta)::bigint from pgbench_history",
    ] {
        assert_eq!(query(&mut session, sum), [[Value::Int8(client.deposited())]], "{sum}");
    }
    assert_eq!(query(&mut session, "select count(*) from pgbench_history"), [[Value::Int8(50)]]);
    let row = query(&mut session, "select * from pgbench_accounts where aid = 100000");
    assert_eq!((row[0].len(), &row[0][1]), (4, &Value::Int4(1)));
    query(&mut session, "insert into pgbench_history (tid, bid, aid, delta) values (1, 1, 1, 0)");
    assert_eq!(query(&mut session, "select count(*) from pgbench_history"), [[Value::Int8(51)]]);
}
