//! Schemas between sessions, in prepared statements, and in the plans that sessions share.

mod common;

use common::{ENGINES, bind, database, error, execute, outcome, query, run, session, waiting};
use hotrow_sync::Waiter;
use std::time::Duration;

#[test]
fn prepared_statements_follow_the_path() {
    for engine in ENGINES {
        let database = database(engine);
        let mut session = session(&database);
        run(&mut session, "create schema s; create table t (x int); create table s.t (x int)");
        run(&mut session, "insert into t values (1); insert into s.t values (2)");
        let kept = session.parse("kept", "select x from t", &[]).expect("parse");
        let paths = [("public", "1"), ("s, public", "2"), ("nothing, public", "1"), ("s", "2"), ("public", "1")];
        for (path, expected) in paths {
            run(&mut session, &format!("set search_path = {path}"));
            bind(&mut session, &kept, &[]).expect("bind");
            let (recorder, result) = execute(&mut session, 0);
            result.expect("execute");
            assert_eq!(recorder.rows, [expected], "{engine}: {path}");
            session.sync().expect("sync");
        }
    }
}

#[test]
fn a_schema_called_as_the_user_comes_first() {
    let database = database("ilock");
    let mut ada = session(&database);
    let mut bob = database.session("bob", Waiter::thread(Duration::from_micros(20)));
    run(&mut ada, "create table t (x int); insert into t values (1)");
    for _ in 0..3 {
        assert_eq!(outcome(&mut ada, "select x from t"), "1");
        assert_eq!(outcome(&mut bob, "select x from t"), "1");
    }
    run(&mut bob, "create schema authorization bob; create table t (x int); insert into t values (2)");
    for _ in 0..3 {
        assert_eq!(outcome(&mut ada, "select x from t"), "1");
        assert_eq!(outcome(&mut bob, "select x from t"), "2");
    }
    assert_eq!(outcome(&mut bob, "select current_schema()"), "bob");
    run(&mut bob, "drop schema bob cascade");
    assert_eq!(outcome(&mut bob, "select x from t"), "1");
}

#[test]
fn a_schema_belongs_to_its_transaction() {
    // Under others a statement may wait for the whole of another transaction first.
    for engine in ["2pl-timeout", "ilock", "mvo"] {
        let database = database(engine);
        let (mut one, mut two) = (session(&database), session(&database));
        run(&mut one, "begin; create schema s; create table s.t (x int); set local search_path = s");
        run(&mut one, "insert into t values (1)");
        assert_eq!(outcome(&mut one, "select x from t"), "1", "{engine}");
        run(&mut two, "set lock_timeout = 20");
        assert_eq!(error(&mut two, "create table s.u (x int)").state.as_str(), "3F000", "{engine}");
        assert_eq!(error(&mut two, "create schema s").state.as_str(), "55P03", "{engine}");
        run(&mut one, "rollback");
        assert_eq!(error(&mut one, "select x from t").state.as_str(), "42P01", "{engine}");
        assert_eq!(error(&mut one, "create table s.t (x int)").state.as_str(), "3F000", "{engine}");
        // What is being put into a schema keeps it.
        run(&mut one, "create schema s; begin; create table s.t (x int)");
        assert_eq!(error(&mut two, "drop schema s").state.as_str(), "55P03", "{engine}");
        run(&mut one, "commit");
        assert_eq!(error(&mut two, "drop schema s").state.as_str(), "2BP01", "{engine}");
    }
}

#[test]
fn messages_have_names_without_schemas_and_dependencies_have_them() {
    let database = database("ilock");
    let mut session = session(&database);
    run(&mut session, "create schema s; create table s.t (id int primary key, constraint c check (id > 0))");
    run(&mut session, "create table s.u (id int references s.t); create view v as select * from s.t");
    let cases = [
        ("insert into s.t values (0)", "new row for relation \"t\" violates check constraint \"c\""),
        ("insert into s.t values (null)", "null value in column \"id\" of relation \"t\" violates not-null constraint"),
        ("insert into s.u values (5)", "insert or update on table \"u\" violates foreign key constraint \"u_id_fkey\""),
        ("select * from s.nothing", "relation \"s.nothing\" does not exist"),
        ("create table s.t (x int)", "relation \"t\" already exists"),
        ("drop table s.t", "cannot drop table s.t because other objects depend on it"),
        ("drop schema s", "cannot drop schema s because other objects depend on it"),
        ("alter table s.t set schema nothing", "schema \"nothing\" does not exist"),
        ("set search_path = s, \"a b\"; select * from nothing", "relation \"nothing\" does not exist"),
        ("create view s.s.v as select 1", "cross-database references are not implemented: \"s.s.v\""),
        ("select * from postgres.s.nothing", "relation \"s.nothing\" does not exist"),
    ];
    for (sql, message) in cases {
        assert_eq!(error(&mut session, sql).message, message, "{sql}");
    }
    run(&mut session, "reset search_path");
    let detail = error(&mut session, "drop schema s").detail;
    assert_eq!(detail.as_deref(), Some("table s.t depends on schema s\ntable s.u depends on schema s"));
    let (recorder, _) = query(&mut session, "drop schema s cascade");
    assert_eq!(recorder.notices[0], "NOTICE: drop cascades to 2 other objects");
    let (recorder, _) = query(&mut session, "revoke all on schema public from public");
    assert_eq!(recorder.notices, ["WARNING: no privileges could be revoked"]);
}

#[test]
fn a_client_says_its_path_when_it_connects() {
    let database = database("ilock");
    let mut one = session(&database);
    run(&mut one, "create schema s; create table s.t (x int); insert into s.t values (3)");
    let mut two = session(&database);
    two.set_parameter("search_path", "s").expect("a path");
    assert_eq!(outcome(&mut two, "select x from t"), "3");
    run(&mut two, "set search_path = public");
    assert_eq!(error(&mut two, "select x from t").state.as_str(), "42P01");
    run(&mut two, "reset search_path");
    assert_eq!(outcome(&mut two, "select x from t"), "3");
    assert_eq!(two.set_parameter("search_path", "a b").expect_err("no list").state.as_str(), "22023");
}

#[test]
fn results_say_from_which_relation_a_column_is() {
    let database = database("ilock");
    let mut session = session(&database);
    run(&mut session, "create schema s; create table s.t (x int, y int); create table t (z int)");
    run(&mut session, "create view s.v as select y as w from s.t");
    let (recorder, _) = query(&mut session, "select a.y, v.w, t.z, a.x + 1 from s.t a, s.v, t");
    let origins: Vec<_> = recorder.columns.iter().map(|column| column.origin).collect();
    let shown =
        origins.iter().map(|origin| origin.map_or("none".to_owned(), |at| format!("{}.{}", at.relation, at.column)));
    let sql = "select 's.t'::regclass::oid || '.2', 's.v'::regclass::oid || '.1', 't'::regclass::oid || '.1', 'none'";
    assert_eq!(outcome(&mut session, sql), shown.collect::<Vec<_>>().join("|"));
}

#[test]
fn a_schema_is_dropped_when_those_who_make_tables_in_it_have_ended() {
    for engine in ["2pl-timeout", "ilock", "mvo", "1v"] {
        let database = database(engine);
        let (mut maker, mut dropper) = (session(&database), session(&database));
        run(&mut maker, "begin; create table public.t (id int)");
        run(&mut dropper, "set lock_timeout = '5ms'");
        assert_eq!(outcome(&mut dropper, "drop schema public cascade"), "55P03", "{engine}");
        run(&mut dropper, "set lock_timeout = '1d'");
        let (_, waits) = waiting(&database, dropper, "drop schema public cascade");
        run(&mut maker, "commit");
        assert_eq!(waits.join().expect("no panic").1, "DROP SCHEMA", "{engine}");
        assert_eq!(outcome(&mut maker, "select * from public.t"), "42P01", "{engine}");
        run(&mut maker, "create schema public; create table public.t (id int)");
    }
}
