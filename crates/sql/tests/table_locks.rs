//! Deadlocks among locks on tables, as PostgreSQL's isolation tests have them.

mod common;

use common::{database, error, outcome, run, session, waiting};
use hotrow_sql::{Database, Session};
use hotrow_sync::{Arc, thread};

type Waiting = thread::JoinHandle<(Session, String)>;

/// Makes `tables` tables `a1`, `a2`, … and `sessions` sessions in transactions that wait for locks for a long time.
fn stage(engine: &str, tables: usize, sessions: usize) -> (Arc<Database>, Vec<Session>) {
    let database = database(engine);
    let mut owner = session(&database);
    (1..=tables).for_each(|number| run(&mut owner, &format!("create table a{number} (id int primary key)")));
    let begun = || {
        let mut session = session(&database);
        run(&mut session, "set lock_timeout = '1d'; begin");
        session
    };
    let sessions = (0..sessions).map(|_| begun()).collect();
    (database, sessions)
}

/// Returns the session of a waiting statement after the statement has succeeded.
fn served(waiting: Waiting) -> Session {
    let (session, outcome) = waiting.join().expect("no session panics");
    assert!(!outcome.starts_with("40"), "{outcome}");
    session
}

fn lock(mode: &str, table: usize) -> String {
    format!("lock table a{table} in {mode} mode")
}

/// `deadlock-hard`
#[test]
fn a_circle_of_eight_sessions_has_one_victim() {
    let (database, mut sessions) = stage("2pl-timeout", 8, 8);
    let ids: Vec<_> = sessions.iter().map(Session::id).collect();
    for (at, session) in sessions.iter_mut().enumerate() {
        run(session, &lock("access exclusive", at + 1));
    }
    let mut victim = sessions.pop().expect("there are eight");
    let wait = |(at, session)| waiting(&database, session, &lock("access exclusive", at + 2)).1;
    let waits: Vec<_> = sessions.into_iter().enumerate().map(wait).collect();
    let told = error(&mut victim, &lock("access exclusive", 1));
    assert_eq!((told.state.as_str(), told.message.as_str()), ("40P01", "deadlock detected"));
    let detail = told.detail.unwrap_or_default();
    let first = format!("Process {} waits for exclusive lock on table \"a1\"; blocked by process {}.", ids[7], ids[0]);
    let last = format!("Process {}: lock table a8 in access exclusive mode", ids[6]);
    let lines: Vec<_> = detail.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[15]), (16, first.as_str(), last.as_str()), "{detail}");
    run(&mut victim, "rollback");
    // Each is served when the one in its way is through.
    for wait in waits.into_iter().rev() {
        run(&mut served(wait), "commit");
    }
    assert_eq!(outcome(&mut victim, "select * from pg_locks"), "");
}

/// `deadlock-soft`
#[test]
fn a_circle_that_another_order_of_a_queue_opens_has_no_victim() {
    let (database, sessions) = stage("2pl-timeout", 2, 4);
    let [mut d1, mut d2, e1, e2] = <[Session; 4]>::try_from(sessions).expect("there are four");
    run(&mut d1, &lock("access share", 1));
    run(&mut d2, &lock("access share", 2));
    let (_, e1) = waiting(&database, e1, &lock("access exclusive", 1));
    let (_, e2) = waiting(&database, e2, &lock("access exclusive", 2));
    let (_, d1) = waiting(&database, d1, &lock("access share", 2));
    // One of the two that share passes one that waits for itself.
    let d2 = thread::spawn(move || (outcome(&mut d2, &lock("access share", 1)), d2));
    let (told, mut d2) = d2.join().expect("no session panics");
    assert_eq!(told, "LOCK TABLE");
    run(&mut d2, "commit");
    let mut e2 = served(e2);
    run(&mut e2, "commit");
    run(&mut served(d1), "commit");
    run(&mut served(e1), "commit");
}

/// `deadlock-soft-2`
#[test]
fn an_order_is_taken_that_closes_no_other_circle() {
    let (database, sessions) = stage("2pl-timeout", 2, 4);
    let [mut s1, mut s2, s3, s4] = <[Session; 4]>::try_from(sessions).expect("there are four");
    run(&mut s1, &lock("share update exclusive", 1));
    run(&mut s2, &lock("access share", 2));
    let (_, s3) = waiting(&database, s3, &lock("access exclusive", 2));
    let (_, s4) = waiting(&database, s4, &lock("access exclusive", 2));
    let (_, s2) = waiting(&database, s2, &lock("share update exclusive", 1));
    // The first session has to pass both that wait, or the second one waits for ever.
    let told = outcome(&mut s1, &lock("access share", 2));
    assert_eq!(told, "LOCK TABLE");
    run(&mut s1, "commit");
    run(&mut served(s2), "commit");
    run(&mut served(s3), "commit");
    run(&mut served(s4), "commit");
}

/// `deadlock-simple`
#[test]
fn of_two_that_share_and_want_to_be_alone_one_is_the_victim() {
    for engine in ["2pl-timeout", "2pl-waitfor", "hier", "sli", "ilock", "mvo"] {
        let (database, sessions) = stage(engine, 1, 2);
        let [mut one, mut two] = <[Session; 2]>::try_from(sessions).expect("there are two");
        run(&mut one, &lock("access share", 1));
        run(&mut two, &lock("access share", 1));
        let (_, one) = waiting(&database, one, &lock("access exclusive", 1));
        assert_eq!(outcome(&mut two, &lock("access exclusive", 1)), "40P01", "{engine}");
        run(&mut served(one), "commit");
        run(&mut two, "rollback");
    }
}

/// The second wait begins in the engine, which knows of rows only.
#[test]
fn a_circle_through_a_row_and_a_table_is_found_whichever_wait_comes_last() {
    let cases =
        ["2pl-waitfor", "hier", "sli", "mvo", "mvl"].into_iter().flat_map(|engine| [(engine, true), (engine, false)]);
    for (engine, rows_first) in cases {
        let (database, sessions) = stage(engine, 2, 2);
        let [mut one, mut two] = <[Session; 2]>::try_from(sessions).expect("there are two");
        run(&mut session(&database), "insert into a1 values (1)");
        run(&mut one, "update a1 set id = 1 where id = 1");
        run(&mut two, &lock("access exclusive", 2));
        let (row, table) = ("delete from a1 where id = 1", "select * from a2");
        if rows_first {
            let (_, two) = waiting(&database, two, row);
            assert_eq!(outcome(&mut one, table), "40P01", "{engine}");
            run(&mut served(two), "commit");
        } else {
            let (_, one) = waiting(&database, one, table);
            let told = outcome(&mut two, row);
            let (_, one_told) = one.join().expect("no session panics");
            assert_eq!((told.as_str(), one_told.as_str()), ("DELETE 1", "40P01"), "{engine}");
        }
    }
}

/// The engines of this test do not report which transaction holds a row.
#[test]
fn a_circle_through_a_wait_that_nobody_knows_ends_after_a_while() {
    let cases = ["ilock", "1v"]
        .into_iter()
        .flat_map(|engine| ["lock table a2", "select pg_advisory_xact_lock(2)"].map(|sql| (engine, sql)));
    for (engine, lock) in cases {
        let (_database, sessions) = stage(engine, 2, 2);
        let [mut one, mut two] = <[Session; 2]>::try_from(sessions).expect("there are two");
        run(&mut one, "insert into a1 values (1); commit; begin; update a1 set id = 1 where id = 1");
        run(&mut two, lock);
        let two = thread::spawn(move || (outcome(&mut two, "delete from a1 where id = 1"), two));
        assert_eq!(outcome(&mut one, lock), "40001", "{engine}: {lock}");
        run(&mut one, "rollback");
        let (told, mut two) = two.join().expect("no session panics");
        assert_eq!(told, "DELETE 1", "{engine}: {lock}");
        run(&mut two, "commit");
    }
}

/// The tests' databases end waits that may be deadlocks after a fifth of a second.
#[test]
fn a_wait_that_is_no_deadlock_lasts() {
    for engine in ["2pl-timeout", "hier", "ilock", "1v", "row-nowait", "mvo", "mvl"] {
        let database = database(engine);
        let [mut holder, mut idle] = [session(&database), session(&database)];
        run(
            &mut holder,
            "create table t (id int primary key); create table u (id int primary key); insert into u values (1)",
        );
        run(&mut idle, "begin; update u set id = 1 where id = 1");
        run(&mut holder, "begin; select * from t; select pg_advisory_xact_lock(1)");
        let waits = ["drop table t", "begin; lock table t in access exclusive mode", "select pg_advisory_lock(1)"]
            .map(|sql| waiting(&database, session(&database), sql).1);
        // Somebody who waits in the engine for a session that waits for nobody.
        let mut other = session(&database);
        let other =
            thread::spawn(move || outcome(&mut other, "set lock_timeout = '1d'; update u set id = 1 where id = 1"));
        // sleep(): that nobody has given up shows only after a while.
        thread::sleep(std::time::Duration::from_millis(700));
        assert!(waits.iter().all(|wait| !wait.is_finished()), "{engine}");
        run(&mut holder, "commit");
        run(&mut idle, "commit");
        let told = waits.map(|wait| wait.join().expect("no session panics").1);
        assert_eq!(told, ["DROP TABLE", "42P01", ""], "{engine}");
        assert_eq!(other.join().expect("no panic"), "UPDATE 1", "{engine}");
    }
}

#[test]
fn no_session_looks_for_circles_that_would_not_wait() {
    let (database, sessions) = stage("2pl-timeout", 1, 2);
    let [mut one, mut two] = <[Session; 2]>::try_from(sessions).expect("there are two");
    run(&mut one, &lock("access share", 1));
    run(&mut two, &lock("access share", 1));
    let (_, one) = waiting(&database, one, &lock("access exclusive", 1));
    assert_eq!(outcome(&mut two, "lock table a1 in access exclusive mode nowait"), "55P03");
    run(&mut two, "rollback");
    run(&mut served(one), "commit");
}
