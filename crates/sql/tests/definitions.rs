//! DDL: what it makes, and that it is part of its transaction.

mod common;

use common::{check, database, error, outcome, query, run, session};
use hotrow_sql::state;

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
    for session in [&mut one, &mut two] {
        run(session, "set lock_timeout = '50ms'");
    }
    assert_eq!(outcome(&mut one, "drop table t"), "55P03");
    assert_eq!(outcome(&mut one, "alter table t add check (id > 0)"), "55P03");
    run(&mut two, "commit");
    run(&mut one, "begin; drop table t");
    assert_eq!(outcome(&mut two, "select id from t"), "55P03");
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
fn an_adopted_table_may_be_constant() {
    use hotrow_storage::{Column, Row, TableSchema, Type, Value};
    for engine in common::ENGINES {
        let database = database(engine);
        let columns = vec![Column::new("id", Type::Int8), Column::nullable("name", Type::Text)];
        let schema = TableSchema { constant: true, ..TableSchema::new("item", columns, &[0]) };
        let table = database.engine().create_table(schema);
        let row = Row::from_values(&database.engine().layout(table), &[Value::Int8(1), Value::text("one")]);
        database.engine().load(table, row.as_ref()).expect("the first row");
        database.adopt(table).expect("the name is free");
        let mut session = session(&database);
        run(&mut session, "create table kind (id bigint primary key); insert into kind values (1)");
        run(&mut session, "alter table item add foreign key (id) references kind");
        for sql in [
            "insert into item values (2, 'two')",
            "insert into item values (1, 'two') on conflict (id) do update set name = 'two'",
            "update item set name = 'two'",
            "update item set name = other.name from item other where other.id = item.id",
            "delete from item where id = 1",
            "copy item from stdin",
            "truncate item",
            "truncate kind cascade",
            "alter table item add foreign key (id) references kind on delete cascade",
            "alter table item add foreign key (id) references kind on update set null",
        ] {
            let error = error(&mut session, sql);
            let told = (error.state, &*error.message);
            assert_eq!(told, (state::WRONG_OBJECT_TYPE, "cannot change constant table \"item\""), "{engine}: {sql}");
        }
        // The rows that it refers to are held, and it goes on in a transaction after a refused statement.
        assert_eq!(outcome(&mut session, "delete from kind"), "23503", "{engine}");
        run(&mut session, "begin; savepoint s");
        error(&mut session, "delete from item");
        run(&mut session, "rollback to s; insert into kind values (2); commit");
        assert_eq!(outcome(&mut session, "select count(*) from kind, item"), "2", "{engine}");
        for sql in ["select name from item where id = 1 for update", "select name from item where name like 'o%'"] {
            assert_eq!(outcome(&mut session, sql), "one", "{engine}: {sql}");
        }
    }
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let database = database("serial");
    let mut session = session(&database);
    run(&mut session, "create table t (id int primary key)");
    for sql in [
        "insert into t values (1) returning (select 1)",
        "with x as (delete from t returning id) select x.id from x join t on t.id = x.id",
        "select (select id from t for update)",
        "select (select sum(a.id) from t b) from t a",
        "create index on t using gin (id)",
        "create table u (id int primary key deferrable)",
        "create table u (id int, unique (id) deferrable initially deferred)",
        "select rank((select 1)) within group (order by id) from t",
        "insert into t values (1) on conflict (id) do update set id = 2",
    ] {
        let error = error(&mut session, sql);
        assert_eq!(error.state.as_str(), "0A000", "{sql}: {error}");
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
        assert_eq!(error(&mut two, sql).state.as_str(), "55P03", "{sql}");
    }
    run(&mut one, "commit");
    for sql in
        ["create index taken on b (x)", "alter table b add constraint taken unique (x)", "create table taken (x int)"]
    {
        assert_eq!(error(&mut two, sql).state.as_str(), "42P07", "{sql}");
    }
}

#[test]
fn from_items_that_are_not_there_are_named() {
    let database = database("serial");
    let mut session = session(&database);
    run(&mut session, "create table a (x int)");
    let cases = [
        ("select * from ts_stat('{}') j", "function ts_stat(unknown) does not exist"),
        ("select * from lateral ts_stat('{}') j", "function ts_stat(unknown) does not exist"),
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

/// The names that PostgreSQL 15 makes.
#[test]
fn names_that_are_made_are_no_longer_than_names_may_be() {
    let (table, b, c) = ("a".repeat(60), "b".repeat(55), "c".repeat(29));
    let wide = ("é".repeat(30), "ß".repeat(22));
    let database = database("2pl-timeout");
    let mut session = session(&database);
    run(
        &mut session,
        &format!(
            "create table {table} ({b} serial primary key, c int unique, {c} int check ({c} > 0), d int check (c < d),
                e int references {table});
            create index on {table} ({b}, {c}); create index on {table} ({b}, {c});
            create table \"{}\" (\"{}\" int unique)",
            wide.0, wide.1
        ),
    );
    let names = "select relname from pg_class where relname like 'aaaa%' or relname like 'é%'
        union all select conname from pg_constraint where conname like 'aaaa%' or conname like 'é%' order by 1";
    let part = |letter: &str, count: usize| letter.repeat(count);
    let a = |count: usize| part("a", count);
    let expected = [
        format!("{}_{}_check", a(28), part("c", 28)),
        format!("{}_{}_idx1", a(29), part("b", 28)),
        format!("{}_{}_idx", a(29), part("b", 29)),
        format!("{}_{}_seq", a(29), part("b", 29)),
        format!("{}_e_fkey", a(56)),
        format!("{}_c_key", a(57)),
        format!("{}_c_key", a(57)),
        format!("{}_check", a(57)),
        format!("{}_pkey", a(58)),
        format!("{}_pkey", a(58)),
        a(60),
        format!("{}_{}_key", part("é", 14), part("ß", 14)),
        format!("{}_{}_key", part("é", 14), part("ß", 14)),
        wide.0.clone(),
    ];
    assert_eq!(outcome(&mut session, names).split(' ').collect::<Vec<_>>(), expected);
}

/// As PostgreSQL 15 answers.
#[test]
fn what_is_said_of_storage_is_checked() {
    check(
        "create table t (i int, v text)",
        &[
            ("create table a (i int) tablespace x", "42704"),
            ("create table a (i int) tablespace pg_global", "22023"),
            ("create table a (i int) engine = innodb", "42601"),
            ("create table a (i int) with (foo = 1)", "22023"),
            ("create table a (i int) with (fillfactor = 5)", "22023"),
            ("create table a (i int) with (fillfactor = abc)", "22023"),
            ("create table a (i int) with (fillfactor = 50, fillfactor = 60)", "22023"),
            ("create table a (i int) with (autovacuum_enabled = 3)", "22023"),
            ("create table a (i int) with (autovacuum_vacuum_scale_factor = 101)", "22023"),
            ("create table a (i int) with (parallel_workers = 2000)", "22023"),
            ("create table a (i int) with (vacuum_index_cleanup = maybe)", "22023"),
            ("create table a (i int) with (oids = true)", "0A000"),
            ("create table if not exists t (i int) with (foo = 1)", "CREATE TABLE"),
            ("create table a (i int) with (oids = false)", "CREATE TABLE"),
            (
                "create table b (i int) with (fillfactor = 50, autovacuum_enabled = off, autovacuum_vacuum_scale_factor = 0.1)",
                "CREATE TABLE",
            ),
            ("create table c (i int) with (fillfactor = '50.5', vacuum_index_cleanup = auto)", "CREATE TABLE"),
            ("create table d (i int) tablespace pg_default", "CREATE TABLE"),
            ("alter table t set (fillfactor = 5)", "22023"),
            ("alter table t set (foo = 5)", "22023"),
            ("alter table t set (fillfactor = 70)", "ALTER TABLE"),
            ("create index on t (i text_ops)", "42804"),
            ("create index on t (i int8_ops)", "42804"),
            ("create index on t (v foo_ops)", "42704"),
            ("create index on t using hash (v foo_ops)", "42704"),
            ("create index on t (i) with (fillfactor = 5)", "22023"),
            ("create index on t (i) with (foo = 50)", "22023"),
            ("create index on t (i) with (autovacuum_enabled = off)", "22023"),
            ("create index on t using hash (i) with (deduplicate_items = off)", "22023"),
            ("create index on t (v text_pattern_ops)", "CREATE INDEX"),
            ("create index on t (v varchar_ops desc)", "CREATE INDEX"),
            ("create index on t (i int4_ops) with (fillfactor = 50, deduplicate_items = off)", "CREATE INDEX"),
            ("create index on t using hash (v text_pattern_ops) with (fillfactor = 50)", "CREATE INDEX"),
        ],
    );
}
