//! Statements of every kind, through the simple protocol.

mod common;

use common::{check, database, error, outcome, query, run, session};

#[test]
fn rows_are_inserted_selected_updated_and_deleted() {
    check(
        "create table t (id int primary key, name text, balance int8 not null default 0)",
        &[
            ("insert into t values (1, 'one', 10), (2, 'two', 20)", "INSERT 0 2"),
            ("insert into t (id) values (3)", "INSERT 0 1"),
            ("select * from t where id = 2", "2|two|20"),
            ("select balance from t where id = 3", "0"),
            ("select * from t where id = 9", ""),
            ("update t set balance = balance + 5 where id = 1", "UPDATE 1"),
            ("select balance from t where id = 1", "15"),
            ("update t set balance = balance * 2 where balance > 10 returning id, balance", "1|30 2|40"),
            ("delete from t where id = 2 returning name", "two"),
            ("select count(*), sum(balance) from t", "2|30"),
            ("delete from t", "DELETE 2"),
            ("select count(*), sum(balance) from t", "0|NULL"),
        ],
    );
}

#[test]
fn transactions_commit_roll_back_and_fail() {
    check(
        "create table t (id int primary key)",
        &[
            ("begin", "BEGIN"),
            ("insert into t values (1)", "INSERT 0 1"),
            ("rollback", "ROLLBACK"),
            ("select count(*) from t", "0"),
            ("begin; insert into t values (1); commit", "COMMIT"),
            ("select id from t", "1"),
            ("begin", "BEGIN"),
            ("insert into t values (2)", "INSERT 0 1"),
            ("insert into t values (1)", "23505"),
            ("select 1", "25P02"),
            ("commit", "ROLLBACK"),
            ("select id from t", "1"),
            ("insert into t values (5); insert into t values (1)", "23505"),
            ("select id from t", "1"),
            ("begin; insert into t values (6); savepoint s; insert into t values (7); rollback to s; commit", "COMMIT"),
            ("select id from t order by id", "1 6"),
        ],
    );
}

#[test]
fn an_error_keeps_what_a_savepoint_saved() {
    check(
        "create table t (id int primary key)",
        &[
            ("begin", "BEGIN"),
            ("insert into t values (1)", "INSERT 0 1"),
            ("savepoint s", "SAVEPOINT"),
            ("insert into t values (1)", "23505"),
            ("insert into t values (2)", "25P02"),
            ("rollback to savepoint s", "ROLLBACK"),
            ("insert into t values (3)", "INSERT 0 1"),
            ("release s", "RELEASE"),
            ("rollback to s", "3B001"),
            ("commit", "ROLLBACK"),
            ("select count(*) from t", "0"),
        ],
    );
}

#[test]
fn expressions_have_postgresqls_values() {
    check(
        "",
        &[
            ("select 1 + 1, 7 / 2, -7 / 2, 7 % 3, -7 % 3", "2|3|-3|1|-1"),
            ("select 7.0 / 2, 1.0 / 3, 10.00 * 2.5", "3.5000000000000000|0.33333333333333333333|25.000"),
            ("select 1 / 0", "22012"),
            ("select 2147483647 + 1", "22003"),
            ("select 2147483648 + 1", "2147483649"),
            ("select -2147483648", "-2147483648"),
            ("select 'a' || 'b' || 1, 'it''s'", "ab1|it's"),
            ("select null is null, null = null, not null::bool, 1 in (1, null), 2 in (1, null)", "t|NULL|NULL|t|NULL"),
            ("select 1 = 1 and null, 1 = 2 and null, 1 = 1 or null", "NULL|f|t"),
            ("select 3 between 1 and 3, 3 not between 1 and 3", "t|f"),
            ("select 'abc' like 'a%', 'abc' ilike 'AB_', 'abc' not like '%d'", "t|t|t"),
            ("select case when 1 = 2 then 'a' else 'b' end, case 3 when 3 then 1.5 else 2 end", "b|1.5"),
            (
                "select coalesce(null, 2, 3), nullif(1, 1), nullif(2, 1), greatest(1, 3, 2), least(null, 4)",
                "2|NULL|2|3|4",
            ),
            ("select 1 is distinct from null, null is not distinct from null", "t|t"),
            ("select '5'::int + 1, '2020-02-28'::date + 2, '1.50'::numeric(3,1)", "6|2020-03-01|1.5"),
            ("select 'abc'::varchar(2), 'x'::char(3), 300::int2", "ab|x  |300"),
            ("select 70000::int2", "22003"),
            ("select 'x'::int", "22P02"),
            (
                "select abs(-3), length('größe'), lower('ABC'), upper('abc'), round(2.567, 2), floor(-1.5), ceil(1.2)",
                "3|5|abc|ABC|2.57|-2|2",
            ),
            (
                "select substring('hello' from 2 for 3), substr('hello', 2), trim('  x '), position('l' in 'hello')",
                "ell|ello|x|3",
            ),
            ("select extract(year from date '2020-05-17'), date '2020-05-17' - date '2020-05-01'", "2020|16"),
            ("select true and not false, 't'::bool, 'yes'::boolean", "t|t|t"),
            ("select 2 ^ 10, sqrt(16.0), 5 # 3, 5 & 3, 5 | 3", "1024|4.000000000000000|6|1|7"),
            ("select 1 + '2', '3' + 4", "3|7"),
            ("select 1 + 'x'", "22P02"),
            ("select 1 + true", "42883"),
            ("select no_such_function(1)", "42883"),
            ("select x", "42703"),
            ("select 1 limit -1", "2201W"),
            ("select current_user, current_database()", "ada|postgres"),
        ],
    );
}

#[test]
fn queries_order_limit_group_and_aggregate() {
    let setup = "create table s (id int primary key, kind text, price numeric(8,2), stock int);
        insert into s values (1, 'a', 1.50, 10), (2, 'b', 2.25, null), (3, 'a', 3.00, 5), (4, null, 4.00, 1)";
    check(
        setup,
        &[
            ("select id from s order by price desc", "4 3 2 1"),
            ("select id from s order by stock", "4 3 1 2"),
            ("select id from s order by stock desc", "2 1 3 4"),
            ("select id from s order by stock desc nulls last limit 2", "1 3"),
            ("select id from s order by 1 desc limit 2 offset 1", "3 2"),
            ("select id from s order by id desc limit 1", "4"),
            ("select id as x from s order by x desc limit 1", "4"),
            ("select id + 1 from s order by id + 1 fetch first 1 rows only", "2"),
            (
                "select kind, count(*), sum(stock), avg(price) from s group by kind order by kind",
                "a|2|15|2.2500000000000000 b|1|NULL|2.2500000000000000 NULL|1|1|4.0000000000000000",
            ),
            ("select count(stock), count(distinct kind), min(price), max(kind) from s", "3|2|1.50|b"),
            ("select kind from s group by kind having count(*) > 1", "a"),
            ("select kind, id from s group by kind", "42803"),
            ("select sum(price) from s where id > 100", "NULL"),
            ("select distinct kind from s order by kind", "a b NULL"),
            ("select distinct kind from s order by id", "42P10"),
            ("select count(*) filter (where stock > 4) from s", "2"),
            ("select id from s where kind = 'a' and price > 2", "3"),
            ("select id from s where id in (1, 3, 9) order by id", "1 3"),
            ("select id from s where id > 1 and id <= 3 order by id", "2 3"),
            ("select id from s where id between 2 and 3 order by id desc", "3 2"),
            ("values (1, 'a'), (2, 'b')", "1|a 2|b"),
            ("select sum(id) from s where count(*) > 1", "42803"),
            ("select id from s order by 5", "42P10"),
            ("select s.id, x.id from s", "42P01"),
            ("select id from s as x where x.id = 1 for update", "1"),
        ],
    );
}

#[test]
fn constraints_are_kept() {
    let setup =
        "create table c (id int primary key, code varchar(3) unique, n int not null, p numeric(4,1) check (p > 0),
        constraint n_small check (n < 100))";
    check(
        setup,
        &[
            ("insert into c values (1, 'abc', 1, 2.55)", "INSERT 0 1"),
            ("select p from c", "2.6"),
            ("insert into c values (2, 'abcd', 1, 1)", "22001"),
            ("insert into c values (2, 'abc', 1, 1)", "23505"),
            ("insert into c values (2, 'ab', null, 1)", "23502"),
            ("insert into c values (2, 'ab', 1, -1)", "23514"),
            ("insert into c values (2, 'ab', 100, 1)", "23514"),
            ("insert into c values (2, 'ab', 1, 1000)", "22003"),
            ("insert into c values (null, 'ab', 1, 1)", "23502"),
            ("insert into c values (2, null, 1, 1), (3, null, 1, 1)", "INSERT 0 2"),
            ("update c set n = 100 where id = 1", "23514"),
            ("update c set code = 'abc' where id = 2", "23505"),
            ("update c set id = 1 where id = 2", "23505"),
            ("update c set id = 10 where id = 2", "UPDATE 1"),
            ("select id from c order by id", "1 3 10"),
            ("insert into c values (1, 'zzz', 1, 1) on conflict do nothing", "INSERT 0 0"),
            ("insert into c values (4, 'abc', 1, 1) on conflict (code) do nothing", "INSERT 0 0"),
            ("insert into c values (4, 'abc', 1, 1) on conflict (id) do nothing", "23505"),
        ],
    );
}

#[test]
fn errors_say_what_and_where() {
    let database = database("serial");
    let mut session = session(&database);
    run(&mut session, "create table t (id int primary key, a int)");
    run(&mut session, "insert into t values (1, 1)");
    let cases = [
        ("select * from nope", "42P01", "relation \"nope\" does not exist", Some(15)),
        ("select nope from t", "42703", "column \"nope\" does not exist", Some(8)),
        ("select id frm t", "42601", "syntax error at or near \"t\"", Some(15)),
        ("selec 1", "42601", "syntax error at or near \"selec\"", Some(1)),
        ("insert into t values (1, 2)", "23505", "duplicate key value violates unique constraint \"t_pkey\"", None),
        (
            "insert into t (id, nope) values (1, 2)",
            "42703",
            "column \"nope\" of relation \"t\" does not exist",
            Some(20),
        ),
        ("create table t (id int)", "42P07", "relation \"t\" already exists", None),
        ("select 'é', nope", "42703", "column \"nope\" does not exist", Some(13)),
        ("insert into t values ('x', 1)", "22P02", "invalid input syntax for type integer: \"x\"", Some(23)),
        ("select 1 +", "42601", "syntax error at end of input", Some(11)),
        ("drop table nope", "42P01", "table \"nope\" does not exist", None),
    ];
    for (sql, state, message, position) in cases {
        let error = error(&mut session, sql);
        assert_eq!((error.state.as_str(), error.message.as_str(), error.position), (state, message, position), "{sql}");
    }
    let detail = error(&mut session, "insert into t values (1, 2)").detail;
    assert_eq!(detail.as_deref(), Some("Key (id)=(1) already exists."));
}

#[test]
fn many_statements_in_one_string_are_one_transaction() {
    let database = database("serial");
    let mut session = session(&database);
    run(&mut session, "create table t (id int primary key)");
    let all: String = (0..10_000).map(|id| format!("insert into t values ({id});")).collect();
    let (recorder, result) = query(&mut session, &all);
    assert_eq!((result, recorder.tags.len()), (Ok(()), 10_000));
    assert_eq!(outcome(&mut session, "select count(*) from t"), "10000");
    assert_eq!(outcome(&mut session, &format!("delete from t; {all} select 1/0")), "22012");
    assert_eq!(outcome(&mut session, "select count(*) from t"), "10000");
    assert_eq!(outcome(&mut session, "delete from t; selec"), "42601");
    assert_eq!(outcome(&mut session, "select count(*) from t"), "10000", "nothing ran before the mistake was seen");
    assert_eq!(outcome(&mut session, " ; -- nothing"), "(empty)");
}

#[test]
fn deep_nesting_is_refused_and_long_lists_are_not() {
    let database = database("serial");
    let mut session = session(&database);
    let nested = format!("select {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    let chained = format!("select 1{}", " + 1".repeat(100_000));
    let negated = format!("select {}true", "not ".repeat(100_000));
    let long_chain = format!("select 1{}", " + 1".repeat(2_900));
    for sql in [nested, chained, negated, long_chain] {
        assert_eq!(outcome(&mut session, &sql), "54001", "{}", &sql[..20]);
    }
    let or = format!("select 1 where 1 = 1{}", " or 1 = 2".repeat(1_000));
    assert_eq!(outcome(&mut session, &or), "1");
    let list: Vec<_> = (0..20_000).map(|value| value.to_string()).collect();
    assert_eq!(outcome(&mut session, &format!("select 7 in ({})", list.join(","))), "t");
}

#[test]
fn an_inserted_querys_literals_become_what_they_fill() {
    check(
        "create table t (id int primary key, day date, name varchar(3), n numeric(4, 1))",
        &[
            ("insert into t select 1, null, null, null", "INSERT 0 1"),
            ("insert into t (id, n, day) select id + 1, '2.55', '2020-02-29' from t where id = 1", "INSERT 0 1"),
            ("select * from t where id = 2", "2|2020-02-29|NULL|2.6"),
            ("insert into t select '3', null, name from t where id = 2 limit 1", "INSERT 0 1"),
            ("insert into t (id, day, name) select '4', null from t where id = 2 limit 1", "42601"),
            ("insert into t (id, name) select id + 10, 'abcd' from t", "22001"),
            ("insert into t (id, day) select id + 10, 'abcd' from t", "22007"),
            ("insert into t (id, day) select id + 10, name from t", "42804"),
            ("insert into t (id, n) select max(id) + 1, '7' from t", "INSERT 0 1"),
            ("prepare fill as insert into t (id, day) select $1, $2 from t where id = 1 returning id, day", "PREPARE"),
            ("execute fill('9', '1999-12-31')", "9|1999-12-31"),
        ],
    );
}

#[test]
fn a_conflicting_insert_updates_what_is_there() {
    check(
        "create table t (k int8 primary key, v text not null, n int unique)",
        &[
            (
                "insert into t as old values (1, 'a', 10) on conflict (k) do update set v = old.v || excluded.v",
                "INSERT 0 1",
            ),
            (
                "insert into t as old values (1, 'b', 11) on conflict (k) do update set v = old.v || excluded.v",
                "INSERT 0 1",
            ),
            ("select * from t", "1|ab|10"),
            ("insert into t values (2, 'c', 10) on conflict (k) do update set v = 'no'", "23505"),
            (
                "insert into t values (2, 'c', 10) on conflict (n) do update set v = excluded.v, n = t.n + excluded.n",
                "INSERT 0 1",
            ),
            ("select * from t", "1|c|20"),
            (
                "insert into t values (1, 'd', 0) on conflict (k) do update set v = excluded.v where t.n > 20",
                "INSERT 0 0",
            ),
            (
                "insert into t values (1, 'd', 0) on conflict (k) do update set v = 'e' where t.n = 20 returning k, v",
                "1|e",
            ),
            ("insert into t values (3, 'x', 1), (3, 'y', 2) on conflict (k) do update set v = excluded.v", "21000"),
            ("insert into t values (1, 'x', 1), (1, 'y', 2) on conflict (k) do update set v = excluded.v", "21000"),
            ("insert into t values (3, 'x', 1) on conflict (k) do update set v = null", "INSERT 0 1"),
            ("insert into t values (3, 'x', 1) on conflict (k) do update set v = null", "23502"),
            ("insert into t values (3, 'x', 1) on conflict (k) do update set n = 20", "23505"),
            ("insert into t values (3, 'x', 1) on conflict (k) do update set v = v", "42702"),
            ("insert into t values (3, 'x', 1) on conflict (k) do update set k = 5", "0A000"),
            ("insert into t values (3, 'x', 1) on conflict (k) do update set t.v = 'f'", "42703"),
            // A row that its condition leaves alone may come again.
            (
                "insert into t values (3, 'x', 4), (3, 'y', 5) on conflict (k) do update set v = 'f' where false",
                "INSERT 0 0",
            ),
            // The row at the named index is the one, though another one is in the way at the other index.
            ("insert into t values (3, 'x', 20) on conflict (n) do update set v = excluded.v returning k, v", "1|x"),
            ("insert into t values (1, 'y', 1) on conflict (n) do update set v = excluded.v returning k, v", "3|y"),
            ("insert into t values (3, 'x', null) on conflict (n) do update set v = excluded.v", "23505"),
            ("insert into t values (3, 'x', 20) on conflict (n) do nothing", "INSERT 0 0"),
            ("insert into t values (3, 'x', 1) on conflict do update set v = 'f'", "42601"),
            ("insert into t values (3, 'x', 1) on conflict (v) do update set v = 'f'", "42P10"),
            ("insert into t select k, 'g', n from t on conflict (k) do update set v = excluded.v", "INSERT 0 2"),
            ("select * from t order by k", "1|g|20 3|g|1"),
        ],
    );
}

#[test]
fn a_result_has_as_many_columns_as_a_client_can_be_told() {
    let database = database("serial");
    let mut session = session(&database);
    run(&mut session, "create table two (a int primary key, b int); insert into two values (1, 2)");
    let repeated = |item: &str, times: usize| vec![item; times].join(", ");
    for (list, columns) in [("1", 1664), ("*", 832)] {
        let sql = |items: usize| format!("select {} from two", repeated(list, items));
        assert_eq!(query(&mut session, &sql(columns)).0.columns.len(), 1664, "{list}");
        let refused = error(&mut session, &sql(columns + 1));
        assert_eq!(
            (refused.state.as_str(), &*refused.message),
            ("54011", "target lists can have at most 1664 entries")
        );
    }
    assert_eq!(error(&mut session, &format!("values ({})", repeated("1", 1665))).state.as_str(), "54011");
    let returning = format!("delete from two returning {}", repeated("a", 100_000));
    assert_eq!(error(&mut session, &returning).state.as_str(), "54011");
}
