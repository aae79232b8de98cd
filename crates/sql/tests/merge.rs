//! Tests of MERGE by several sessions at once. What MERGE does for one session is in `slt/merge.slt`.

mod common;

use common::{database, outcome, query, run, session};
use hotrow_sync::thread;

/// Engines that are unlike each other: locks, versions, plans, one at a time.
const ENGINES: [&str; 8] = ["2pl-timeout", "ilock", "mvo", "mvl", "1v", "vll", "orthrus", "serial"];

/// The sessions, each a thread.
const SESSIONS: i64 = 4;

/// The statements of each session.
const ROUNDS: i64 = 500;

/// The states of errors after which a client begins its statement again: of a conflict, a deadlock, a row of the same
/// key that another session has inserted meanwhile.
const AGAIN: [&str; 3] = ["40001", "40P01", "23505"];

/// Runs a statement in several sessions at once, each time with another number in place of `#`, until it has
/// succeeded [`ROUNDS`] times in each.
fn everywhere(engine: &str, tables: &str, statement: &str) -> hotrow_sql::Session {
    let database = database(engine);
    let mut first = session(&database);
    run(&mut first, tables);
    thread::scope(|scope| {
        for at in 0..SESSIONS {
            let mut session = session(&database);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let sql = statement.replace('#', &(at + round).to_string());
                    while let Err(error) = query(&mut session, &sql).1 {
                        assert!(AGAIN.contains(&error.state.as_str()), "{engine}: {error:?}");
                    }
                }
            });
        }
    });
    first
}

#[test]
fn sessions_that_merge_into_the_same_rows_lose_nothing() {
    for engine in ENGINES {
        let merge = "merge into t using (values (# % 3)) s (id) on t.id = s.id \
            when matched then update set n = t.n + 1 when not matched then insert values (s.id, 1)";
        let mut session = everywhere(engine, "create table t (id int primary key, n int)", merge);
        let counts = outcome(&mut session, "select count(*), sum(n) from t");
        assert_eq!(counts, format!("3|{}", SESSIONS * ROUNDS), "{engine}");
    }
}

#[test]
fn the_conditions_of_clauses_hold_for_the_rows_that_change() {
    for engine in ENGINES {
        let tables = "create table seat (id int primary key, free int check (free > 0)); \
            insert into seat values (1, 300), (2, 1)";
        // A row goes with its last seat. A session that decides by a count that is out of date makes it 0, which is
        // 23514.
        let merge = "merge into seat using (values (1 + # % 2)) s (id) on seat.id = s.id \
            when matched and free > 1 then update set free = free - 1 when matched then delete";
        let mut session = everywhere(engine, tables, merge);
        assert_eq!(outcome(&mut session, "select count(*) from seat"), "0", "{engine}");
    }
}
