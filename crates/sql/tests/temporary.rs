//! Temporary relations of sessions side by side, and what becomes of them when a session ends.

mod common;

use common::{Recorder, check, database, outcome, query, run, session};

/// Engines that are unlike each other: locks, versions, plans, one at a time.
const ENGINES: [&str; 7] = ["ilock", "mvo", "mvl", "1v", "vll", "orthrus", "serial"];

#[test]
fn each_session_has_its_own() {
    for engine in ENGINES {
        let database = database(engine);
        let (mut one, mut other) = (session(&database), session(&database));
        run(&mut other, "create table t (id int primary key); insert into t values (100)");
        run(&mut one, "prepare p as select id from t order by id");
        run(&mut other, "prepare p as select id from t order by id");
        for (at, session) in [&mut one, &mut other].into_iter().enumerate() {
            run(session, "create temp table t (id serial primary key, n int); create temp sequence s");
            run(session, &format!("insert into t (n) values ({at}), (5)"));
            run(session, "create temp view v as select n from t");
        }
        for (at, session) in [&mut one, &mut other].into_iter().enumerate() {
            for (sql, expected) in [
                ("select n from v order by n", format!("{at} 5")),
                ("execute p", "1 2".to_owned()),
                ("select nextval('s'), nextval('s')", "1|2".to_owned()),
                ("select count(*) from pg_class where relname in ('t', 'v', 's')", "4".to_owned()),
                ("select count(*) from pg_namespace where nspname like 'pg_temp%'", "1".to_owned()),
                ("select id from public.t", "100".to_owned()),
                ("update t set n = n + 1 where id = 1", "UPDATE 1".to_owned()),
            ] {
                assert_eq!(outcome(session, sql), expected, "{engine}: {sql}");
            }
        }
        let schema = outcome(&mut other, "select nspname from pg_namespace where oid = pg_my_temp_schema()");
        for (sql, expected) in [
            (format!("select * from {schema}.t"), "42P01"),
            (format!("drop table {schema}.t"), "3F000"),
            (format!("drop table if exists {schema}.t"), "DROP TABLE"),
            (format!("create table {schema}.u (id int)"), "3F000"),
            (format!("alter table public.t set schema {schema}"), "0A000"),
            (format!("set search_path = {schema}, public; select * from t"), "1|1 2|5"),
        ] {
            assert_eq!(outcome(&mut one, &sql), expected, "{engine}: {sql}");
        }
    }
}

#[test]
fn they_go_with_their_session() {
    for engine in ENGINES {
        let database = database(engine);
        let mut stays = session(&database);
        run(&mut stays, "create table t (id int primary key); insert into t values (1)");
        let before = database.engine().tables().len();
        for ends in ["", "begin; insert into s values (2); create temp table u (id int)", "begin; select nope"] {
            let mut goes = session(&database);
            run(&mut goes, "create temp table s (id serial primary key); insert into s values (1)");
            run(&mut goes, "create temp view v as select * from s; select * from pg_class");
            run(&mut goes, "declare c cursor with hold for select * from s");
            let _ = query(&mut goes, ends);
            drop(goes);
            assert_eq!(database.engine().tables().len(), before, "{engine}: {ends}");
        }
        run(&mut stays, "create temp table s (id int)");
        assert_eq!(outcome(&mut stays, "select count(*) from s"), "0", "{engine}");
        run(&mut stays, "discard all");
        assert_eq!(database.engine().tables().len(), before, "{engine}");
    }
}

#[test]
fn a_commit_leaves_no_tables_behind() {
    for engine in ENGINES {
        let database = database(engine);
        let mut session = session(&database);
        run(&mut session, "create temp table kept (id int primary key) on commit delete rows");
        let before = database.engine().tables().len();
        for rows in [0, 3, 2000] {
            run(&mut session, "begin; create temp table gone (id int primary key) on commit drop");
            run(&mut session, &format!("insert into gone select generate_series(1, {rows})"));
            run(&mut session, "insert into kept select * from gone");
            assert_eq!(outcome(&mut session, "select count(*) from kept"), rows.to_string(), "{engine}");
            run(&mut session, "commit");
            assert_eq!(outcome(&mut session, "select count(*) from kept"), "0", "{engine}");
            assert_eq!(outcome(&mut session, "select * from gone"), "42P01", "{engine}");
            assert_eq!(database.engine().tables().len(), before, "{engine}: {rows}");
        }
    }
}

/// A plan that is made while a transaction has dropped or made a temporary table is not used after a rollback.
#[test]
fn plans_follow_what_a_rollback_brings_back() {
    for engine in ENGINES {
        let database = database(engine);
        let mut session = session(&database);
        run(&mut session, "create table t (id int); insert into t values (1)");
        run(&mut session, "create temp table t (id int); insert into t values (2)");
        run(&mut session, "begin; drop table pg_temp.t; prepare p as select id from t");
        for (sql, expected) in [
            ("execute p", "1"),
            ("rollback; execute p", "2"),
            ("select id from t", "2"),
            ("begin; drop table pg_temp.t; select id from t", "1"),
            ("commit; execute p", "1"),
            (
                "begin; create temp table t (id int); prepare q as select id from t; insert into t values (3); execute q",
                "3",
            ),
            ("rollback; execute q", "1"),
            ("create temp table t (id int, more int); insert into t values (4); select id from t", "4"),
            ("execute q", "4"),
        ] {
            assert_eq!(outcome(&mut session, sql), expected, "{engine}: {sql}");
        }
    }
}

#[test]
fn what_would_outlive_them_is_refused() {
    check(
        "create temp table t (id int primary key); create temp sequence s; create table p (id int primary key)",
        &[
            ("create table q (id int default nextval('s'))", "0A000"),
            ("alter table p alter column id set default nextval('pg_temp.s')", "0A000"),
            ("create function f() returns setof t language sql as 'select * from t'", "0A000"),
            ("create table q (id int references t)", "42P16"),
            ("alter table t add foreign key (id) references p", "42P16"),
            ("create table q (like t including all)", "CREATE TABLE"),
            ("create type pg_temp.e as enum ('a')", "0A000"),
            ("set search_path = pg_temp; create type e as enum ('a')", "0A000"),
            ("reset search_path; create type e as enum ('a'); alter type e set schema pg_temp", "0A000"),
            ("create schema pg_temp", "42939"),
            ("create temp table x (id int) on commit drop", "CREATE TABLE"),
            ("create temp sequence public.x", "42P16"),
            ("create temp view public.x as select 1", "42P16"),
        ],
    );
}

#[test]
fn rows_are_copied_into_one_in_a_read_only_transaction() {
    let database = database("ilock");
    let mut session = session(&database);
    run(&mut session, "create temp table t (id int); create table p (id int); begin read only");
    let mut client = Recorder { input: vec![b"1\n2\n".to_vec()], ..Recorder::default() };
    session.simple_query("copy t from stdin", &mut client).expect("a temporary table");
    assert_eq!(outcome(&mut session, "select sum(id) from t"), "3");
    assert_eq!(outcome(&mut session, "copy p from stdin"), "25006");
}
