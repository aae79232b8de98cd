//! Several databases over one engine.

mod common;

use common::{check, database, error, outcome, query, run, session};

/// Engines that are unlike each other: locks, versions, plans, one at a time.
const ENGINES: [&str; 7] = ["ilock", "mvo", "mvl", "1v", "vll", "orthrus", "serial"];

#[test]
fn each_database_has_its_own_objects() {
    for engine in ENGINES {
        let main = database(engine);
        let mut one = session(&main);
        run(&mut one, "create table t (id int primary key, n int); insert into t values (1, 10)");
        run(&mut one, "create database other");
        assert_eq!(main.names(), ["other", "postgres"], "{engine}");
        let mut other = session(&main.named("other").expect("a database"));
        assert_eq!(outcome(&mut other, "select * from t"), "42P01", "{engine}");
        run(&mut other, "create table t (id int primary key, n text); insert into t values (1, 'one')");
        for (sql, of_one, of_other) in [
            ("select current_database()", "postgres", "other"),
            ("select n from t where id = 1", "10", "one"),
            ("select n from public.t", "10", "one"),
            ("select n from postgres.public.t", "10", "0A000"),
            ("select n from other.public.t", "0A000", "one"),
            ("select relname from postgres.pg_catalog.pg_class where relname = 't'", "t", "0A000"),
            ("select pg_try_advisory_lock(7)", "t", "t"),
            ("select count(*) from pg_database", "2", "2"),
            ("select table_catalog from information_schema.tables where table_name = 't'", "postgres", "other"),
            (
                "select string_agg(datname, ' ' order by datname) from pg_stat_activity",
                "other postgres",
                "other postgres",
            ),
            ("begin; update t set n = n; drop table t; rollback; select count(*) from t", "1", "1"),
        ] {
            assert_eq!(outcome(&mut one, sql), of_one, "{engine}: {sql}");
            assert_eq!(outcome(&mut other, sql), of_other, "{engine}: {sql}");
        }
        run(&mut one, "listen c");
        run(&mut other, "listen c; notify c, 'for other'");
        assert_eq!(one.take_notifications().len(), 0, "{engine}");
        assert_eq!(other.take_notifications().len(), 1, "{engine}");
    }
}

#[test]
fn a_database_goes_with_its_tables() {
    for engine in ENGINES {
        let main = database(engine);
        let mut session = session(&main);
        let before = main.engine().tables().len();
        for round in 0..3 {
            run(&mut session, "create database other");
            let mut other = common::session(&main.named("other").expect("a database"));
            assert_eq!(outcome(&mut other, "select * from t"), "42P01", "{engine}: {round}");
            run(&mut other, "create table t (id serial primary key); insert into t values (default), (default)");
            assert_eq!(error(&mut other, "drop database other").state.as_str(), "55006", "{engine}");
            drop(other);
            run(&mut session, "drop database other");
            assert_eq!(main.engine().tables().len(), before, "{engine}");
            assert!(main.named("other").is_none(), "{engine}");
        }
    }
}

/// A plan of a database is not used in another one that has or gets its name.
#[test]
fn plans_do_not_outlive_their_database() {
    for engine in ENGINES {
        let main = database(engine);
        let mut one = session(&main);
        let of = |name: &str, sql: &str| outcome(&mut session(&main.named(name).expect("a database")), sql);
        for name in ["d1", "d2"] {
            run(&mut one, &format!("create database {name}"));
            assert_eq!(of(name, "create table t (a int primary key, b text)"), "CREATE TABLE", "{engine}");
            assert_eq!(of(name, &format!("insert into t values (1, '{name}')")), "INSERT 0 1", "{engine}");
            assert_eq!(of(name, "select b from t where a = 1"), name, "{engine}");
        }
        run(&mut one, "alter database d1 rename to d3");
        run(&mut one, "alter database d2 rename to d1");
        assert_eq!(of("d1", "select b from t where a = 1"), "d2", "{engine}");
        assert_eq!(of("d3", "select b from t where a = 1"), "d1", "{engine}");
        assert_eq!(of("d1", "insert into t values (2, 'new')"), "INSERT 0 1", "{engine}");
        assert_eq!(of("d3", "select count(*) from t"), "1", "{engine}");
        run(&mut one, "drop database d1");
        run(&mut one, "create database d1");
        assert_eq!(of("d1", "create table t (a int primary key, b text)"), "CREATE TABLE", "{engine}");
        assert_eq!(of("d1", "insert into t values (1, 'again')"), "INSERT 0 1", "{engine}");
        assert_eq!(of("d1", "select b from t where a = 1"), "again", "{engine}");
    }
}

#[test]
fn a_database_in_use_stays() {
    let main = database("ilock");
    let mut one = session(&main);
    run(&mut one, "create database other");
    let other = session(&main.named("other").expect("a database"));
    let refused = error(&mut one, "drop database other");
    assert_eq!(refused.state.as_str(), "55006");
    assert_eq!(refused.detail.as_deref(), Some("There is 1 other session using the database."));
    drop(other);
    run(&mut one, "alter database other rename to another");
    assert_eq!(main.names(), ["another", "postgres"]);
    run(&mut one, "drop database another");
}

#[test]
fn mistakes_are_refused() {
    check(
        "create database other",
        &[
            ("create database other", "42P04"),
            ("create database template1", "42P04"),
            ("create database postgres", "42P04"),
            ("begin; create database x", "25001"),
            ("rollback; do $$ begin create database x; end $$", "25001"),
            ("create database x template other", "0A000"),
            ("create database x template nope", "3D000"),
            ("create database x encoding 'latin1'", "0A000"),
            ("create database x encoding 'nope'", "42704"),
            ("drop database template1", "42809"),
            ("create database x owner nobody", "42704"),
            ("create database x encoding 'utf8' encoding 'utf8'", "42601"),
            ("create database x connection limit 3", "0A000"),
            ("create database x is_template = true", "0A000"),
            ("create database x colour 'red'", "42601"),
            ("drop database x", "3D000"),
            ("drop database if exists x", "DROP DATABASE"),
            ("drop database postgres", "2BP01"),
            ("alter database postgres rename to x", "2BP01"),
            ("alter database x rename to y", "3D000"),
            ("alter database other rename to postgres", "42P04"),
            ("alter database other owner to postgres", "ALTER DATABASE"),
            ("alter database other set work_mem = '1MB'", "0A000"),
            ("grant all on database other to public", "GRANT"),
            ("grant all on database x to public", "3D000"),
            ("begin read only; create database x", "25006"),
            ("rollback; create table other.public.t (id int)", "0A000"),
            ("insert into other.public.t values (1)", "0A000"),
            ("drop table other.public.t", "0A000"),
            ("select string_agg(datname, ' ' order by datname) from pg_database", "other postgres"),
        ],
    );
}

#[test]
fn locales_that_are_not_there_are_told_of() {
    let main = database("mvo");
    let mut session = session(&main);
    let (recorder, done) = query(
        &mut session,
        "create database x with owner = postgres template = template0 encoding = 'UTF8' locale = 'en_US.UTF-8'
            tablespace = default allow_connections = true connection limit = -1 is_template = false",
    );
    done.expect("a database");
    assert_eq!(recorder.notices, ["WARNING: there is no locale \"en_US.UTF-8\": texts are sorted as by \"C\""]);
}
