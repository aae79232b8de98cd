//! DDL: what it makes, and that it is part of its transaction.

mod common;

use common::{check, database, error, outcome, query, run, session};

#[test]
fn tables_are_made_truncated_and_dropped() {
    check(
        "",
        &[
            ("create table a (x int)", "CREATE TABLE"),
            ("create table a (x int)", "42P07"),
            ("create table if not exists a (x int)", "CREATE TABLE"),
            ("create unlogged table b (x int, y char(4)) with (fillfactor=100)", "CREATE TABLE"),
            ("insert into a values (1), (1), (null)", "INSERT 0 3"),
            ("select * from a order by x", "1 1 NULL"),
            ("insert into b values (1, 'ab')", "INSERT 0 1"),
            ("select y, y = 'ab', length(y), y || '.' from b", "ab  |t|2|ab."),
            ("truncate table a, b", "TRUNCATE TABLE"),
            ("select count(*) from a", "0"),
            ("insert into a values (7)", "INSERT 0 1"),
            ("drop table if exists nope, a, b", "DROP TABLE"),
            ("select 1 from a", "42P01"),
            ("drop table a", "42P01"),
            ("drop table if exists a", "DROP TABLE"),
        ],
    );
}

#[test]
fn keys_indexes_and_constraints_come_and_go() {
    check(
        "create table t (id int, a int, b text); insert into t values (1, 10, 'x'), (2, 20, 'y'), (3, 20, null)",
        &[
            ("alter table t add primary key (a)", "23505"),
            ("alter table t add primary key (b)", "23502"),
            ("alter table t add primary key (id)", "ALTER TABLE"),
            ("insert into t values (1, 1, 'z')", "23505"),
            ("insert into t values (null, 1, 'z')", "23502"),
            ("create index on t (a)", "CREATE INDEX"),
            ("create index t_b on t using hash (b)", "CREATE INDEX"),
            ("create index t_b on t (b)", "42P07"),
            ("create index if not exists t_b on t (b)", "CREATE INDEX"),
            ("create unique index t_a on t (a)", "23505"),
            ("explain select * from t where id = 1", "Index Scan using t_pkey on t   Index Cond: (id = 1)"),
            (
                "explain select * from t where a = 20",
                "Index Scan using t_a_idx on t   Index Cond: (a = 20)   Filter: (a = 20)",
            ),
            (
                "explain select * from t where b = 'y'",
                "Index Scan using t_b on t   Index Cond: (b = 'y')   Filter: (b = 'y')",
            ),
            ("explain select * from t where b > 'y'", "Seq Scan on t   Filter: (b > 'y')"),
            ("explain select * from t order by id desc limit 1", "Limit   ->  Index Scan Backward using t_pkey on t"),
            ("select id from t where a = 20 order by id", "2 3"),
            ("select id from t where b = 'y'", "2"),
            ("select id from t where a >= 20 and b is null", "3"),
            ("update t set a = 30 where a = 20", "UPDATE 2"),
            ("select id from t where a = 20", ""),
            ("select id from t where a = 30 order by id", "2 3"),
            ("drop index t_a_idx, t_b", "DROP INDEX"),
            ("select id from t where a = 30 order by id", "2 3"),
            ("drop index t_pkey", "2BP01"),
            ("drop index nope", "42704"),
            ("alter table t add constraint pos check (a > 10)", "23514"),
            ("alter table t add constraint pos check (a > 0)", "ALTER TABLE"),
            ("insert into t values (9, -1, '')", "23514"),
            ("alter table t drop constraint pos", "ALTER TABLE"),
            ("insert into t values (9, -1, '')", "INSERT 0 1"),
            ("alter table t add unique (b)", "ALTER TABLE"),
            ("insert into t values (10, 1, 'x')", "23505"),
            ("alter table t drop constraint t_b_key", "ALTER TABLE"),
            ("alter table t drop constraint t_pkey", "ALTER TABLE"),
            ("insert into t values (9, 2, 'again')", "INSERT 0 1"),
            ("alter table t drop constraint t_pkey", "42704"),
            ("alter table t inherit s", "42601"),
        ],
    );
}

#[test]
fn definitions_are_transactional() {
    check(
        "create table old (id int primary key); insert into old values (1)",
        &[
            ("begin; create table new (id int primary key); insert into new values (1)", "INSERT 0 1"),
            ("select id from new", "1"),
            ("rollback", "ROLLBACK"),
            ("select id from new", "42P01"),
            ("begin; drop table old", "DROP TABLE"),
            ("select 1 from old", "42P01"),
            ("rollback; select id from old", "1"),
            ("begin; truncate old; insert into old values (5); savepoint s; truncate old; rollback to s", "ROLLBACK"),
            ("select id from old", "5"),
            ("create index i on old (id)", "CREATE INDEX"),
            ("rollback; select id from old", "1"),
            ("create index i on old (id)", "CREATE INDEX"),
            ("begin; truncate old; insert into old values (8); commit; select id from old", "8"),
            ("create table x (id int); insert into x values (1); select 1/0", "22012"),
            ("select * from x", "42P01"),
        ],
    );
}

#[test]
fn others_see_a_definition_when_it_is_committed() {
    let database = database("2pl-timeout");
    let (mut one, mut two) = (session(&database), session(&database));
    run(&mut one, "create table shared (id int primary key)");
    run(&mut one, "begin; create table t (id int primary key); insert into t values (1)");
    assert_eq!(outcome(&mut two, "select id from t"), "42P01");
    run(&mut one, "commit");
    assert_eq!(outcome(&mut two, "select id from t"), "1");

    // A reader in a transaction keeps DDL away, and DDL keeps readers away, until their time-outs.
    run(&mut two, "begin; select id from t");
    assert_eq!(outcome(&mut one, "set lock_timeout = '50ms'; drop table t"), "55P03");
    assert_eq!(outcome(&mut one, "alter table t add check (id > 0)"), "40001");
    run(&mut two, "commit");
    run(&mut one, "begin; drop table t");
    assert_eq!(outcome(&mut two, "select id from t"), "40001");
    run(&mut one, "commit");
    assert_eq!(outcome(&mut two, "select id from t"), "42P01");
}

#[test]
fn a_session_that_ends_leaves_nothing_locked() {
    let database = database("2pl-timeout");
    let mut one = session(&database);
    run(&mut one, "create table t (id int primary key); insert into t values (1)");
    let mut two = session(&database);
    run(&mut two, "begin; update t set id = 2; lock table t");
    drop(two);
    assert_eq!(outcome(&mut one, "truncate t; insert into t values (3); select id from t"), "3");
}

#[test]
fn an_adopted_table_is_like_any_other() {
    use hotrow_storage::{Column, Row, TableSchema, Type, Value};
    let database = database("2pl-timeout");
    let columns = vec![Column::new("id", Type::Int8), Column::nullable("name", Type::Text)];
    let table = database.engine().create_table(TableSchema::new("native", columns, &[0]));
    let row = Row::from_values(&database.engine().layout(table), &[Value::Int8(1), Value::text("one")]);
    database.engine().load(table, row.as_ref()).expect("the first row");
    database.adopt(table).expect("the name is free");
    assert!(database.adopt(table).is_err(), "the name is taken");
    let mut session = session(&database);
    assert_eq!(outcome(&mut session, "select name from native where id = 1"), "one");
    assert_eq!(
        error(&mut session, "insert into native values (1, 'x')").message,
        "duplicate key value violates unique constraint \"native_pkey\""
    );
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let database = database("serial");
    let mut session = session(&database);
    run(&mut session, "create table t (id int primary key)");
    for sql in [
        "insert into t values (1) returning (select 1)",
        "with x as (delete from t returning id) select * from x",
        "select (select id from t for update)",
        "select (select sum(a.id) from t b) from t a",
        "create materialized view v as select 1",
        "create table u (id int generated always as (1) stored)",
        "create temporary table u (id int)",
        "create table u (id int primary key deferrable)",
        "create table u (id int, unique (id) deferrable initially deferred)",
        "select rank(1) within group (order by id) from t",
        "insert into t values (1) on conflict (id) do update set id = 2",
    ] {
        let error = error(&mut session, sql);
        assert_eq!(error.state.0, "0A000", "{sql}: {error}");
        assert!(error.message.contains("is not supported"), "{sql}: {error}");
    }
    let (recorder, _) = query(&mut session, "drop table if exists nope");
    assert_eq!(recorder.notices, ["NOTICE: table \"nope\" does not exist, skipping"]);
}

#[test]
fn a_name_that_another_transaction_is_taking_is_not_free() {
    let database = database("2pl-timeout");
    let (mut one, mut two) = (session(&database), session(&database));
    run(&mut one, "create table a (x int); create table b (x int)");
    run(&mut one, "begin; create index taken on a (x)");
    run(&mut two, "set lock_timeout = 20");
    for sql in
        ["create index taken on b (x)", "alter table b add constraint taken unique (x)", "create table taken (x int)"]
    {
        assert_eq!(error(&mut two, sql).state.0, "55P03", "{sql}");
    }
    run(&mut one, "commit");
    for sql in
        ["create index taken on b (x)", "alter table b add constraint taken unique (x)", "create table taken (x int)"]
    {
        assert_eq!(error(&mut two, sql).state.0, "42P07", "{sql}");
    }
}

#[test]
fn from_items_that_are_not_there_are_named() {
    let database = database("serial");
    let mut session = session(&database);
    run(&mut session, "create table a (x int)");
    let cases = [
        ("select * from json_to_record('{}') j", "the FROM item json_to_record('{}') j is not supported"),
        (
            "select * from lateral json_to_record('{}') j",
            "the FROM item LATERAL json_to_record('{}') j is not supported",
        ),
        (
            "select c.relname from pg_catalog.pg_nothing c join a on true",
            "relation \"pg_catalog.pg_nothing\" does not exist",
        ),
        ("select * from pg_catalog.pg_nothing", "relation \"pg_catalog.pg_nothing\" does not exist"),
    ];
    for (sql, message) in cases {
        assert_eq!(error(&mut session, sql).message, message, "{sql}");
    }
}
