//! Tests of `hotrow_contention`, which shows the rows and ranges that sessions have waited for.

mod common;

use common::{check, database, error, outcome, run, session};

const TABLES: &str = "create table account (id int primary key, branch int not null, balance int);
    create index of_branch on account (branch);
    create table log (line text);
    insert into account values (1, 7, 0), (2, 7, 0), (3, 8, 0); insert into log values ('a')";

#[test]
fn a_row_that_is_held_is_told_with_the_statement_that_met_it() {
    for (engine, kind, key) in [
        ("2pl-timeout", "row", "(id)=(1)"),
        ("2pl-waitdie", "row", "(id)=(1)"),
        ("ilock", "row", "(id)=(1)"),
        ("lock-table", "row", "(id)=(1)"),
        ("row-nowait", "row", "(id)=(1)"),
        ("mvo", "row", "(id)=(1)"),
        ("1v", "row", "(id)=(1)"),
        // They lock all before they begin.
        ("vll", "begin", "NULL"),
        ("serial", "begin", "NULL"),
    ] {
        let database = database(engine);
        let (mut holder, mut other) = (session(&database), session(&database));
        run(&mut holder, TABLES);
        run(&mut holder, "begin; update account set balance = 1 where id = 1");
        run(&mut other, "set lock_timeout = '1ms'");
        error(&mut other, "update account set balance = 2 where id = 1");
        run(&mut holder, "commit");
        let sql = "select kind, key, waits + conflicts > 0, wait_ms >= longest_ms, missed,
                statements like '%times update account set balance = % where id = %' from hotrow_contention";
        assert_eq!(outcome(&mut other, sql), format!("{kind}|{key}|t|t|0|t"), "{engine}");
        let (table, index) = if kind == "row" { ("account", "NULL") } else { ("NULL", "NULL") };
        let sql = "select table_name, index_name from pg_catalog.hotrow_contention";
        assert_eq!(outcome(&mut other, sql), format!("{table}|{index}"), "{engine}");
    }
}

#[test]
fn ranges_and_rows_without_a_key_are_told_and_what_is_dropped_is_not() {
    let database = database("2pl-timeout");
    let (mut holder, mut other) = (session(&database), session(&database));
    run(&mut holder, TABLES);
    run(&mut holder, "begin; update account set balance = 1 where id = 2; delete from log");
    run(&mut other, "set lock_timeout = '1ms'");
    for sql in ["update account set balance = 2 where branch = 7", "update log set line = 'b'"] {
        assert_eq!(outcome(&mut other, sql), "55P03");
    }
    run(&mut holder, "commit");
    let sql = "select kind, table_name, index_name, key, waits, conflicts from hotrow_contention order by table_name";
    assert_eq!(outcome(&mut other, sql), "range|account|of_branch|(branch)=(7)|1|1 range|log|NULL|NULL|1|1");
    let joined = "select c.kind, count(*) from hotrow_contention c join account a on a.id = c.waits group by c.kind";
    assert_eq!(outcome(&mut other, joined), "range|2");
    run(&mut other, "drop table log");
    assert_eq!(outcome(&mut other, "select table_name from hotrow_contention"), "account");
}

#[test]
fn what_the_server_makes_up_can_only_be_queried() {
    check(
        "",
        &[
            ("select count(*) from hotrow_contention", "0"),
            ("select kind from pg_catalog.hotrow_contention where waits > 3", ""),
            ("select x.waits from hotrow_contention x", ""),
            ("select kind from public.hotrow_contention", "42P01"),
            ("select nothing from hotrow_contention", "42703"),
            ("delete from hotrow_contention", "42809"),
            ("insert into hotrow_contention values ('row')", "42809"),
            ("update hotrow_contention set waits = 0", "42809"),
            ("explain select kind from hotrow_contention", "Function Scan on hotrow_contention"),
        ],
    );
}
