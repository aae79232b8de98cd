//! Tests of EXECUTE in functions beside other sessions. What it does for one session is in
//! `slt/computed_statements.slt`.

mod common;

use common::{database, outcome, query, run, session, waiting};
use hotrow_sync::thread;

/// Engines that are unlike each other: locks, versions, plans, one at a time.
const ENGINES: [&str; 8] = ["2pl-timeout", "ilock", "mvo", "mvl", "1v", "vll", "orthrus", "serial"];

/// The sessions, each a thread.
const SESSIONS: i64 = 4;

/// The calls of each session.
const ROUNDS: i64 = 300;

const ADD: &str = "create function add(tab text, k int) returns int language plpgsql as $$
    declare after int;
    begin
        execute format('update %I set n = n + 1 where id = $1 returning n', tab) into after using k;
        return after;
    end $$";

#[test]
fn computed_updates_of_the_same_rows_lose_nothing() {
    for engine in ENGINES {
        let database = database(engine);
        let mut first = session(&database);
        run(&mut first, "create table t (id int primary key, n int); insert into t values (0, 0), (1, 0)");
        run(&mut first, ADD);
        thread::scope(|scope| {
            for at in 0..SESSIONS {
                let mut session = session(&database);
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let sql = format!("select add('t', {})", (at + round) % 2);
                        while let Err(error) = query(&mut session, &sql).1 {
                            assert!(["40001", "40P01"].contains(&error.state.as_str()), "{engine}: {error:?}");
                        }
                    }
                });
            }
        });
        let half = SESSIONS * ROUNDS / 2;
        assert_eq!(outcome(&mut first, "select n from t order by id"), format!("{half} {half}"), "{engine}");
    }
}

#[test]
fn a_table_of_a_computed_statement_stays_until_the_transaction_ends() {
    for engine in ENGINES {
        let database = database(engine);
        let (mut one, mut other) = (session(&database), session(&database));
        run(&mut one, "create table t (id int primary key, n int); insert into t values (0, 0)");
        run(&mut one, ADD);
        run(&mut other, "set lock_timeout = '5ms'");
        run(&mut one, "begin");
        assert_eq!(outcome(&mut one, "select add('t', 0)"), "1", "{engine}");
        assert_eq!(outcome(&mut other, "drop table t"), "55P03", "{engine}");
        run(&mut one, "commit");
        run(&mut other, "drop table t; create table t (id bigint, n int, x text); insert into t values (0, 10)");
        assert_eq!(outcome(&mut one, "select add('t', 0)"), "11", "{engine}");
        // Nothing is left of a call that fails, not even a lock.
        assert_eq!(outcome(&mut one, "select add('t', 0), 1 / (n - n) from t"), "22012", "{engine}");
        run(&mut other, "alter table t rename to u");
        assert_eq!(outcome(&mut one, "select add('t', 0)"), "42P01", "{engine}");
        assert_eq!(outcome(&mut one, "select add('u', 0)"), "12", "{engine}");
    }
}

/// Engines under which a session may lock a table while others run statements.
const SHARED: [&str; 5] = ["2pl-timeout", "ilock", "mvo", "mvl", "1v"];

const CATCHES: &str = "create function catches(tab text) returns text language plpgsql as $$
    begin
        execute format('update %I set n = n + 1', tab);
        return 'done';
    exception when others then
        return sqlstate;
    end $$";

#[test]
fn a_computed_statement_waits_for_its_table() {
    for engine in SHARED {
        let database = database(engine);
        let (mut one, mut other) = (session(&database), session(&database));
        run(&mut one, "create table t (id int primary key, n int); insert into t values (0, 0)");
        run(&mut one, CATCHES);
        run(&mut other, "begin; lock table t");
        run(&mut one, "set lock_timeout = '5ms'");
        assert_eq!(outcome(&mut one, "select catches('t')"), "55P03", "{engine}");
        run(&mut one, "set lock_timeout = '1d'");
        let (_, waits) = waiting(&database, one, "select catches('t')");
        run(&mut other, "commit");
        assert_eq!(waits.join().expect("no panic").1, "done", "{engine}");
        assert_eq!(outcome(&mut other, "select n from t"), "1", "{engine}");
    }
}

#[test]
fn a_handler_does_not_take_the_deadlock_of_a_computed_statement() {
    for engine in SHARED {
        let database = database(engine);
        let (mut one, mut other) = (session(&database), session(&database));
        run(&mut one, "create table t (id int primary key, n int); create table u (id int primary key, n int)");
        run(&mut one, CATCHES);
        run(&mut one, "set deadlock_timeout = 10; begin; lock table t");
        run(&mut other, "set deadlock_timeout = '1d'; begin; lock table u");
        let (_, waits) = waiting(&database, other, "select count(*) from t");
        assert_eq!(outcome(&mut one, "select catches('u')"), "40P01", "{engine}");
        assert_eq!(outcome(&mut one, "select 1"), "25P02", "{engine}");
        run(&mut one, "rollback");
        assert_eq!(waits.join().expect("no panic").1, "0", "{engine}");
    }
}
