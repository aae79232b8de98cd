//! Opening: errors, tables without a name, tables of programs.

use crate::common::session;
use crate::world::{ENGINES, PARTITIONED, World};
use hotrow_check::RecordedLog;
use hotrow_sql::{Config, Database, OpenError};
use hotrow_storage::{Column, IndexRef, KeySpec, Row, TableId, TableSchema, Type, Value};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Begin, Engine, Isolation, Scan, Transaction, Write};
use std::ops::ControlFlow;
use std::time::Duration;

fn table_of(engine: &dyn Engine, name: &str) -> TableId {
    let found = engine.tables().into_iter().find(|table| engine.schema(*table).name == name);
    found.unwrap_or_else(|| panic!("no table {name:?}"))
}

fn transaction(engine: &dyn Engine) -> Box<dyn Transaction> {
    let mut txn = engine.transaction(Waiter::thread(Duration::ZERO));
    txn.begin(&Begin::at(Isolation::ReadCommitted)).expect("nobody else is there");
    txn
}

/// Changes the texts of the stored definitions.
fn change_definitions(engine: &dyn Engine, change: impl Fn(&str) -> String) {
    let table = table_of(engine, "\0definitions");
    let schema = engine.schema(table);
    let spec = KeySpec::new(&schema.columns, &schema.key);
    let mut found = Vec::new();
    let mut txn = transaction(engine);
    txn.scan(&Scan::all(table, IndexRef::Primary), &mut |row| {
        let Value::Text(text) = row.value(3) else { panic!("a text") };
        found.push((spec.key_of(row), change(&text)));
        ControlFlow::Continue(())
    })
    .expect("nobody else is there");
    for (key, text) in found {
        let written = txn.update(table, &key, &mut |row| {
            row.set(3, &Value::text(&text));
            Ok(())
        });
        assert_eq!(written, Ok(Write::Done));
    }
    txn.commit().expect("nobody else is there");
}

/// Opens the database after its stored definitions were changed.
pub fn opened_after(world: &World, change: impl Fn(&str) -> String) -> Result<World, OpenError> {
    let engine = hotrow_protocols::open(world.name()).expect("an engine of this name");
    let log = world.log.cut(world.log.records());
    log.load(&*engine).expect("sound rows");
    change_definitions(&*engine, change);
    World::over(engine, log)
}

#[test]
fn a_definition_that_cannot_be_read_is_named() {
    let mut world = World::new("ilock");
    world.run(
        "create table t (a int default 1, b int check (b > 0)); create schema s; create view s.v as select a from t;
        create sequence q; create procedure p(x int default 5) begin atomic insert into t values (x, 1); end;
        create index t_a on t (a)",
    );
    let cases = [
        (r#""version":1"#, r#""version":2"#, "procedure p", "by a newer version of the server, in form 2; known is 1"),
        (r#""sql":"1""#, r#""sql":"1 +""#, "table t", "column \"a\": its DEFAULT cannot be read: syntax error"),
        (r#""sql":"1""#, r#""sql":"1 + nothing""#, "table t", "the DEFAULT of column \"a\" cannot be bound"),
        (
            "b > 0",
            "c > 0",
            "table t",
            "its CHECK constraint \"t_b_check\" cannot be bound: column \"c\" does not exist",
        ),
        (
            "b > 0",
            "true",
            "table t",
            "its CHECK constraint \"t_b_check\" cannot be bound: the condition looks at other",
        ),
        (r#""id":2"#, r#""id":77"#, "table t", "its rows are missing: the engine has no table 77"),
        (r#""id":2"#, r#""id":0"#, "table t", "it does not fit the rows: they have other columns, keys or indexes"),
        (r#""ordered","unique":false"#, r#""hash","unique":false"#, "table t", "it does not fit the rows"),
        ("SELECT a", "SELECT FROM WHERE", "view s.v", "its query cannot be read: syntax error"),
        (r#""increment":1"#, r#""increment":0"#, "sequence q", "it cannot have numbers of type bigint by steps of 0"),
        (r#""increment":1"#, r#""incremen"#, "sequence q", "its text is damaged"),
        ("insert into t", "insert t into", "procedure p", "its statement cannot be read: syntax error"),
        (r#""sql":"5""#, r#""sql":"'x'""#, "procedure p", "the DEFAULT of an argument cannot be bound: invalid input"),
        ("\"comment\":null}", "\"comment\":null,\"more\":1}", "schema s", "unknown field `more`"),
    ];
    let ids: Vec<_> = world.engine.tables().into_iter().map(|id| (id, world.engine.schema(id).name.clone())).collect();
    for (from, to, object, reason) in cases {
        let from = from.replace(r#""id":2"#, &format!(r#""id":{}"#, world.database.table("public", "t").expect("t").0));
        let changed = |text: &str| text.replace(&from, to);
        let opened = opened_after(&world, changed);
        let error = opened.err().unwrap_or_else(|| panic!("{from} became {to} in vain, {ids:?}"));
        assert_eq!(error.object, object, "{to}: {error}");
        assert!(error.reason.contains(reason), "{to}: {error}");
        assert!(error.to_string().starts_with(&format!("the definition of {object} cannot be read: ")), "{error}");
    }
    assert!(opened_after(&world, str::to_owned).is_ok());
}

#[test]
fn a_refused_opening_leaves_the_log_alone() {
    let mut world = World::new("mvo");
    world.run("create table t (id int primary key)");
    let engine = hotrow_protocols::open("mvo").expect("an engine of this name");
    let log = world.log.cut(world.log.records());
    log.load(&*engine).expect("sound rows");
    change_definitions(&*engine, |_| "{".to_owned());
    let records = log.records();
    assert!(Database::open(engine, log.clone(), Config::default()).is_err());
    assert_eq!(log.records(), records);
}

#[test]
fn tables_without_a_name_are_dropped_and_numbers_are_not_used_again() {
    for engine in ENGINES {
        let mut world = World::new(engine);
        world.run("create table t (id int primary key)");
        world.run("begin; create table u (id int primary key); insert into u values (1)");
        // The crash comes while the transaction is open.
        let crashed = world.restarted();
        assert_eq!(crashed.engine.tables().len(), 3, "{engine}: t, and two of the catalog");
        let mut crashed = crashed.restarted();
        let before = world.engine.tables().into_iter().max();
        crashed.run("create table u (id int primary key)");
        assert!(crashed.database.table("public", "u") > before, "{engine}");
        world.run("rollback");
    }
}

#[test]
fn hidden_row_numbers_go_on_behind_the_greatest() {
    for engine in ENGINES {
        let mut world = World::new(engine);
        world.run("create table h (a int); insert into h values (1), (1), (2); delete from h where a = 2");
        world = world.restarted();
        world.check(&[("insert into h values (1), (3)", "INSERT 0 2"), ("select count(*), sum(a) from h", "4|6")]);
    }
}

#[test]
fn tables_of_programs_are_adopted_once() {
    for engine in ENGINES {
        let world = World::new(engine);
        let columns = vec![Column::new("id", Type::Int8), Column::new("balance", Type::Int8)];
        let accounts = world.engine.create_table(TableSchema::new("accounts", columns, &[0]));
        let mut row = Row::new(&world.engine.layout(accounts));
        row.change(|row| {
            row.set_int8(0, 1);
            row.set_int8(1, 100);
        });
        world.engine.load(accounts, row.as_ref()).expect("the first row");
        world.database.adopt(accounts).expect("a free name");
        let mut opened = world.restarted();
        assert_eq!(opened.database.table("public", "accounts"), Some(accounts), "{engine}");
        assert_eq!(opened.database.table("public", "nothing"), None, "{engine}");
        opened.check(&[
            ("select * from accounts", "1|100"),
            ("insert into accounts values (1, 2)", "23505"),
            ("comment on table accounts is 'of a program'", "COMMENT"),
        ]);
        assert_eq!(opened.database.adopt(accounts).expect_err("it has it").state.as_str(), "42P07", "{engine}");
        let mut txn = transaction(&*opened.engine);
        let spec = KeySpec::new(&opened.engine.schema(accounts).columns, &[0]);
        let update = txn.update(accounts, &spec.key([Value::Int8(1)]), &mut |row| {
            row.set_int8(1, 90);
            Ok(())
        });
        assert_eq!((update, txn.commit()), (Ok(Write::Done), Ok(())), "{engine}");
        assert_eq!(opened.restarted().outcome("select balance from accounts"), "90", "{engine}");
    }
}

#[test]
fn constant_tables_stay_constant() {
    for engine in ENGINES.into_iter().chain(PARTITIONED) {
        let world = World::new(engine);
        let columns = vec![Column::new("id", Type::Int8), Column::new("price", Type::Int8)];
        let schema = TableSchema { constant: true, ..TableSchema::new("prices", columns, &[0]) };
        let prices = world.engine.create_table(schema);
        let mut row = Row::new(&world.engine.layout(prices));
        row.change(|row| {
            row.set_int8(0, 1);
            row.set_int8(1, 100);
        });
        world.engine.load(prices, row.as_ref()).expect("the first row");
        world.database.adopt(prices).expect("a free name");
        let mut opened = world.restarted();
        opened.check(&[
            ("select * from prices", "1|100"),
            ("update prices set price = 2", "42809"),
            ("comment on table prices is 'fixed'", "COMMENT"),
        ]);
        assert_eq!(opened.restarted().outcome("insert into prices values (2, 2)"), "42809", "{engine}");
    }
}

#[test]
fn the_tables_of_the_catalog_are_not_seen() {
    for engine in ENGINES {
        let mut world = World::new(engine).restarted();
        world.check(&[
            ("select count(*) from pg_class where oid >= 16384", "0"),
            ("select count(*) from information_schema.tables where table_name like '%definitions%'", "0"),
            ("select * from definitions", "42P01"),
            ("select * from \"definitions\"", "42P01"),
            ("select * from \"\"", "42P01"),
            ("create table definitions (id int primary key)", "CREATE TABLE"),
            ("create schema definitions", "CREATE SCHEMA"),
            ("create table definitions.places (id int primary key)", "CREATE TABLE"),
        ]);
        let before = world.dump();
        assert_eq!(world.restarted().dump(), before, "{engine}");
        assert!(world.database.tables_in_numbers().iter().all(|(name, ..)| !name.contains('\0')), "{engine}");
    }
}

#[test]
fn a_database_without_a_log_stores_nothing() {
    let engine = hotrow_protocols::open("ilock").expect("an engine of this name");
    let database = Database::new(engine.clone(), Config::default());
    let mut session = session(&database);
    crate::common::run(&mut session, "create sequence s; create table t (id int primary key); select nextval('s')");
    assert_eq!(engine.tables(), database.tables());
    assert_eq!(database.close(), Ok(()));
    let log: Arc<RecordedLog> = RecordedLog::new();
    assert_eq!(log.records(), 0);
}
