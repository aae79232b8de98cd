//! Tests that the redo records contain all changes of a session to its tables, definitions included.

mod common;

use common::outcome;
use hotrow_check::RedoRecorder;
use hotrow_sql::{Config, Database, Session, TransactionStatus};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::Engine;
use std::time::Duration;

/// Engines that are unlike each other: locks, versions, plans, one at a time.
const ENGINES: [&str; 4] = ["2pl-timeout", "mvo", "vll", "serial"];

/// Statements with their outcomes.
const STEPS: [(&str, &str); 22] = [
    ("create table t (id int primary key, name text not null, n int)", "CREATE TABLE"),
    ("insert into t values (1, 'one', 10), (2, 'two', 20), (3, 'three', 30)", "INSERT 0 3"),
    ("create unique index on t (name)", "CREATE INDEX"),
    ("update t set n = n + 1 where id = 1", "UPDATE 1"),
    ("insert into t values (4, 'one', 40)", "23505"),
    (
        "begin; delete from t where id = 2; insert into t values (2, 'zwei', 22); update t set n = 23 where id = 2",
        "UPDATE 1",
    ),
    ("savepoint s; update t set id = id + 10; create index on t (n); rollback to s; commit", "COMMIT"),
    ("select id, n from t order by id", "1|11 2|23 3|30"),
    ("begin; truncate t; insert into t values (9, 'nine', 90); rollback", "ROLLBACK"),
    (
        "begin; alter table t add constraint small check (n < 1000); create index on t (n); delete from t where id = 3",
        "DELETE 1",
    ),
    ("commit", "COMMIT"),
    ("alter table t drop constraint t_pkey", "ALTER TABLE"),
    ("insert into t values (1, 'uno', 12)", "INSERT 0 1"),
    ("update t set n = n * 2 where name = 'uno'", "UPDATE 1"),
    ("create table u (id int primary key, t text)", "CREATE TABLE"),
    ("insert into u select n, name from t", "INSERT 0 3"),
    ("begin; truncate t; insert into t values (5, 'five', 50); commit", "COMMIT"),
    ("begin; create table gone (id int primary key); insert into gone values (1); rollback", "ROLLBACK"),
    ("create table dropped (id int primary key); insert into dropped values (1); drop table dropped", "DROP TABLE"),
    ("update u set t = t || '!' where id > 20; delete from u where id = 11", "DELETE 1"),
    ("select id, name, n from t", "5|five|50"),
    ("select id, t from u order by id", "23|zwei! 24|uno!"),
];

/// A session over an engine that hands its records over.
fn recorded(engine: &str) -> (Arc<dyn Engine>, Arc<RedoRecorder>, Session) {
    let engine = hotrow_protocols::open(engine).expect("an engine of this name");
    let recorder = RedoRecorder::new();
    engine.set_redo(recorder.clone());
    let database = Database::new(engine.clone(), Config::default());
    (engine, recorder, database.session("ada", Waiter::thread(Duration::ZERO)))
}

#[test]
fn a_session_is_rebuilt_from_what_the_engine_hands_over() {
    for engine in ENGINES {
        let (engine, recorder, mut session) = recorded(engine);
        let name = engine.info().name;
        for (sql, expected) in STEPS {
            assert_eq!(outcome(&mut session, sql), expected, "{name}: {sql}");
            if session.status() == TransactionStatus::Idle {
                recorder.compare(&*engine).unwrap_or_else(|wrong| panic!("{name}, after `{sql}`: {wrong}"));
            }
        }
        assert!(recorder.transactions() > 0, "{name}");
    }
}

#[test]
fn temporary_tables_are_in_no_record() {
    for engine in ENGINES {
        let (engine, recorder, mut session) = recorded(engine);
        let name = engine.info().name;
        assert_eq!(outcome(&mut session, "create table t (id int primary key, n int)"), "CREATE TABLE");
        let before = recorder.transactions();
        for (sql, expected) in [
            ("create temp table u (id serial primary key, n int); create index on u (n)", "CREATE INDEX"),
            ("insert into u (n) select generate_series(1, 20)", "INSERT 0 20"),
            ("begin; update u set n = n + 1; savepoint s; delete from u where id = 3; rollback to s; commit", "COMMIT"),
            ("begin; update u set n = 0 where id = 1; rollback", "ROLLBACK"),
            ("alter table u add column more text default 'x'", "ALTER TABLE"),
            ("create temp table v on commit delete rows as select * from u", "SELECT 20"),
            ("begin; insert into v select * from u; commit", "COMMIT"),
            ("truncate u; drop table u", "DROP TABLE"),
        ] {
            assert_eq!(outcome(&mut session, sql), expected, "{name}: {sql}");
            assert_eq!(recorder.transactions(), before, "{name}: {sql}");
        }
        let both = "begin; insert into v (id, n) values (1, 1); insert into t values (1, 1); commit";
        assert_eq!(outcome(&mut session, both), "COMMIT", "{name}");
        assert_eq!(recorder.transactions(), before + 1, "{name}");
        drop(session);
        recorder.compare(&*engine).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
    }
}
