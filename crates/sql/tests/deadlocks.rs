//! Tests of the error that the victim of a deadlock receives.

mod common;

use common::{database, query, run, session};
use hotrow_sql::SqlError;
use hotrow_sync::thread;

/// The engines that find deadlocks.
const DETECTING: [&str; 8] =
    ["2pl-waitfor", "2pl-dreadlocks", "2pl-timeout", "lock-table", "hier", "sli", "1v", "ilock"];

/// Runs two sessions into a deadlock: each has run the first of its statements and goes on with the second. One session
/// fails with a deadlock and the other succeeds. Returns the victim's error, the victim's number, and the other
/// session's number.
fn deadlock(engine: &str, table: &str, statements: [[&str; 2]; 2]) -> (SqlError, i32, i32) {
    let database = database(engine);
    let mut sessions = [session(&database), session(&database)];
    run(&mut sessions[0], table);
    for (session, [first, _]) in sessions.iter_mut().zip(statements) {
        run(session, &format!("begin isolation level serializable; {first}"));
    }
    let outcomes: Vec<(i32, Option<SqlError>)> = thread::scope(|scope| {
        let threads: Vec<_> = sessions
            .iter_mut()
            .zip(statements)
            .map(|(session, [_, second])| {
                let second = second.to_owned();
                scope.spawn(move || {
                    let (_, result) = query(session, &second);
                    if result.is_ok() {
                        run(session, "commit");
                    }
                    (session.id(), result.err())
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no session panics")).collect()
    });
    match &outcomes[..] {
        [(victim, Some(error)), (other, None)] | [(other, None), (victim, Some(error))] => {
            (error.clone(), *victim, *other)
        }
        others => panic!("{engine}: one is the victim, the other one is not: {others:?}"),
    }
}

/// Checks that the detail has both lines, in either order.
#[track_caller]
fn check(table: &str, statements: [[&str; 2]; 2], targets: [&str; 2]) {
    for engine in DETECTING {
        let (error, victim, other) = deadlock(engine, table, statements);
        assert_eq!((error.state.as_str(), error.message.as_str()), ("40P01", "deadlock detected"), "{engine}");
        let line = |waiter: i32, target: &str, blocker: i32| {
            format!("Process {waiter} waits for {target}; blocked by process {blocker}.")
        };
        let told = |victims: &str, others: &str| {
            Some(format!("{}\n{}", line(victim, victims, other), line(other, others, victim)))
        };
        let possible = [told(targets[0], targets[1]), told(targets[1], targets[0])];
        assert!(possible.contains(&error.detail), "{engine}: {:?} is none of {possible:?}", error.detail);
    }
}

#[test]
fn the_victim_is_told_of_rows_and_sessions() {
    check(
        "create table account (owner text, number int, balance int, primary key (owner, number)); \
         insert into account values ('ada', 1, 0), ('bob', 2, 0)",
        [
            [
                "update account set balance = 1 where owner = 'ada' and number = 1",
                "update account set balance = 1 where owner = 'bob' and number = 2",
            ],
            [
                "update account set balance = 2 where owner = 'bob' and number = 2",
                "update account set balance = 2 where owner = 'ada' and number = 1",
            ],
        ],
        [
            "exclusive lock on row (owner, number)=(bob, 2) of table \"account\"",
            "exclusive lock on row (owner, number)=(ada, 1) of table \"account\"",
        ],
    );
}

#[test]
fn the_victim_is_told_of_upgrades() {
    let steps = ["select n from t where id = 1", "update t set n = n + 1 where id = 1"];
    let row = "exclusive lock on row (id)=(1) of table \"t\"";
    check("create table t (id int primary key, n int); insert into t values (1, 0)", [steps, steps], [row, row]);
}

#[test]
fn the_victim_is_told_of_gaps() {
    let table = "create table t (id int primary key, n int); insert into t values (1, 0), (9, 0)";
    let look = "select id from t where id between 3 and 5";
    let gap = "insert lock on the gap below (id)=(9) in index \"t_pkey\" of table \"t\"";
    check(table, [[look, "insert into t values (4, 0)"], [look, "insert into t values (5, 0)"]], [gap, gap]);
    let look = "select id from t where id > 20";
    let end = "insert lock on the gap above the last key in index \"t_pkey\" of table \"t\"";
    check(table, [[look, "insert into t values (24, 0)"], [look, "insert into t values (25, 0)"]], [end, end]);
}

#[test]
fn the_victim_is_told_of_unique_columns() {
    check(
        "create table t (id int primary key, code int unique); insert into t values (1, 10), (2, 20)",
        [
            ["update t set code = 30 where id = 1", "update t set code = 40 where id = 1"],
            ["update t set code = 40 where id = 2", "update t set code = 30 where id = 2"],
        ],
        [
            "exclusive lock on (code)=(40) in unique index \"t_code_key\" of table \"t\"",
            "exclusive lock on (code)=(30) in unique index \"t_code_key\" of table \"t\"",
        ],
    );
}
