//! Indexes on expressions and partial indexes: the statements that they serve.

mod common;

use common::{check, database, outcome, run, session};

const TABLE: &str = "create table t (id int primary key, email text, name varchar(20), a int, b int, doc jsonb,
    dropped timestamp, status text, active bool)";

#[test]
fn an_expression_that_is_indexed_finds_rows() {
    let setup = format!(
        "{TABLE}; create unique index t_email on t (lower(email)); create index t_sum on t ((a + b), name);
        create index t_doc on t ((doc ->> 'k')); create index t_hash on t using hash (upper(name))"
    );
    check(
        &setup,
        &[
            (
                "explain select * from t where lower(email) = 'x'",
                "Index Scan using t_email on t   Index Cond: (lower(email) = 'x')   Filter: (lower(email) = 'x')",
            ),
            (
                "explain select * from t where a + b = 3 and name > 'x'",
                "Index Scan using t_sum on t   Index Cond: (((a + b) = 3) AND (name > 'x'))   \
                 Filter: ((name > 'x') AND ((a + b) = 3))",
            ),
            (
                "explain select * from t where doc ->> 'k' in ('x', 'y')",
                "Index Scan using t_doc on t   Index Cond: ((doc ->> 'k') IN ('x', 'y'))   \
                 Filter: ((doc ->> 'k') IN ('x', 'y'))",
            ),
            (
                "explain select * from t where upper(name) = 'X'",
                "Index Scan using t_hash on t   Index Cond: (upper(name) = 'X')   Filter: (upper(name) = 'X')",
            ),
            ("explain select * from t order by lower(email) limit 1", "Limit   ->  Index Scan using t_email on t"),
            (
                "explain select * from t order by a + b desc, name desc limit 1",
                "Limit   ->  Index Scan Backward using t_sum on t",
            ),
            // NULLs are last in the index.
            ("explain select * from t order by lower(email) nulls first", "Sort   ->  Seq Scan on t"),
            ("explain select * from t where upper(email) = 'x'", "Seq Scan on t   Filter: (upper(email) = 'x')"),
            (
                "explain delete from t where lower(email) like 'x%'",
                "Delete on t   ->  Index Scan using t_email on t         \
                 Index Cond: ((lower(email) >= 'x') AND (lower(email) < 'y'))         Filter: (lower(email) ~~ 'x%')",
            ),
        ],
    );
}

#[test]
fn a_partial_index_is_used_if_its_condition_is_implied() {
    let setup = format!(
        "{TABLE}; create index t_live on t (name, id) where dropped is null;
        create index t_open on t (a) where status = 'open' and active; create index t_b on t (b) where b is not null;
        create unique index t_low on t (lower(email)) where active"
    );
    let live = "Index Scan using t_live on t   Index Cond: (name = 'x')   Filter: ((dropped IS NULL) AND (name = 'x'))";
    check(
        &setup,
        &[
            ("explain select * from t where name = 'x' and dropped is null", live),
            ("explain select * from t where name = 'x'", "Seq Scan on t   Filter: (name = 'x')"),
            (
                "explain select * from t where dropped is null order by name desc, id desc limit 2",
                "Limit   ->  Index Scan Backward using t_live on t         Filter: (dropped IS NULL)",
            ),
            (
                "explain select * from t where a = 1 and active and status = 'open'",
                "Index Scan using t_open on t   Index Cond: (a = 1)   \
                 Filter: (active AND (a = 1) AND (status = 'open'))",
            ),
            (
                "explain select * from t where a = 1 and active = true and status = 'shut'",
                "Index Scan using t_low on t   Filter: ((a = 1) AND (active = true) AND (status = 'shut'))",
            ),
            (
                "explain select * from t where b > 3",
                "Index Scan using t_b on t   Index Cond: (b > 3)   Filter: (b > 3)",
            ),
            ("explain select * from t where b is null", "Seq Scan on t   Filter: (b IS NULL)"),
            (
                "explain select * from t where active is true and lower(email) = 'x'",
                "Index Scan using t_low on t   Index Cond: (lower(email) = 'x')   \
                 Filter: ((active IS TRUE) AND (lower(email) = 'x'))",
            ),
            (
                "explain select * from t where id = 5 and dropped is null",
                "Index Scan using t_pkey on t   Index Cond: (id = 5)   Filter: (dropped IS NULL)",
            ),
        ],
    );
}

#[test]
fn cached_plans_follow_the_indexes() {
    let database = database("ilock");
    let (mut one, mut other) = (session(&database), session(&database));
    run(&mut one, TABLE);
    run(&mut one, "insert into t (id, status, a) values (1, 'open', 1), (2, 'shut', 1), (3, 'open', 2)");
    let cases = [
        ("select id from t where status = 'open' and a = 1", "1"),
        ("select id from t where status = 'shut' and a = 1", "2"),
        ("select id from t where status = 'open' and a = 2", "3"),
    ];
    let mut all = |what: &str| {
        for (sql, expected) in cases.iter().cycle().take(6) {
            assert_eq!(outcome(&mut other, sql), *expected, "{what}: {sql}");
        }
    };
    all("no index");
    run(&mut one, "create index t_open on t (a) where status = 'open'");
    all("an index");
    run(&mut one, "insert into t (id, status, a) values (4, 'none', 3)");
    all("another row");
    run(&mut one, "drop index t_open");
    all("no index again");
}

/// Without ORDER BY, rows come in the order of the index that finds them.
#[test]
fn plain_statements_use_the_indexes_of_temporary_and_other_tables() {
    for create in ["create table", "create temp table"] {
        let database = database("ilock");
        let mut session = session(&database);
        run(&mut session, &format!("{create} t (id int primary key, s text, n int)"));
        let cases = [
            (
                "insert into t values (1, 'open', 9), (2, 'shut', 8), (3, 'open', 7)",
                "select id from t where s = 'open' and n > 0",
                "1 3",
            ),
            ("create index t_open on t (n) where s = 'open'", "select id from t where s = 'open' and n > 0", "3 1"),
            ("drop index t_open; create index t_sum on t ((n + 77))", "select id from t where n + 77 > 0", "3 2 1"),
            ("drop index t_sum", "select id from t where n + 77 > 0", "1 2 3"),
        ];
        for (change, sql, expected) in cases {
            run(&mut session, change);
            assert_eq!(outcome(&mut session, sql), expected, "{create}, after {change}: {sql}");
        }
    }
}

#[test]
fn indexes_of_dumps_serve_the_queries_of_applications() {
    check(
        "create table t (id int primary key, name varchar(40), status varchar(10), n numeric(8, 2));
        create unique index t_name on public.t using btree (lower((name)::text));
        create index t_open on t (id) where ((status)::text = 'open'::text);
        create index t_in on t (name)
            where ((status)::text = any ((array['a'::character varying, 'b'::character varying])::text[]));
        insert into t values (1, 'A', 'a', 2), (2, 'B', 'open', 3)",
        &[
            (
                "explain select * from t where lower(t.name) = 'x'",
                "Index Scan using t_name on t   Index Cond: (lower(name) = 'x')   Filter: (lower(name) = 'x')",
            ),
            (
                "explain select * from t where status = 'open' and id > 1",
                "Index Scan using t_open on t   Index Cond: (id > 1)   Filter: ((status = 'open') AND (id > 1))",
            ),
            (
                "explain select * from t where status in ('a', 'b') and name = 'A'",
                "Index Scan using t_in on t   Index Cond: (name = 'A')   \
                 Filter: ((status IN ('a', 'b')) AND (name = 'A'))",
            ),
            ("select id from t where status in ('a', 'b') and name = 'A'", "1"),
            ("select id from t where lower(name) = 'b' and status = 'open' and id > 1", "2"),
            ("insert into t values (3, 'a') on conflict (lower(name)) do update set n = 7 returning id, n", "1|7.00"),
        ],
    );
}
