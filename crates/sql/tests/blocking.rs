//! Tests of the views of sessions: the sessions that exist, their activity, and the sessions that block others.

mod common;

use common::{ENGINES, bind, database, error, execute, outcome, query, run, session};
use hotrow_sql::{Database, Session};
use hotrow_sync::{Arc, thread};

/// Repeats a query until it returns rows, and returns them.
fn await_rows(session: &mut Session, sql: &str) -> Vec<String> {
    loop {
        let (recorder, result) = query(session, sql);
        result.expect(sql);
        if !recorder.rows.is_empty() {
            return recorder.rows;
        }
        thread::yield_now();
    }
}

/// Runs a statement in a session of its own with a long `lock_timeout`. Returns the session's number and its thread.
fn elsewhere(database: &Arc<Database>, sql: &'static str) -> (i32, thread::JoinHandle<String>) {
    let mut session = session(database);
    run(&mut session, "set lock_timeout = '1d'");
    (session.id(), thread::spawn(move || outcome(&mut session, sql)))
}

#[test]
fn who_waits_for_a_row_and_who_is_in_the_way() {
    for engine in ENGINES.into_iter().chain(["hier", "sli"]) {
        let database = database(engine);
        let (mut holder, mut watcher, mut idle) = (session(&database), session(&database), session(&database));
        run(&mut holder, "create table account (id int primary key, n int); insert into account values (1, 0), (2, 0)");
        run(&mut idle, "begin");
        run(&mut holder, "begin; update account set n = 1 where id = 1");
        let (pid, waiting) = elsewhere(&database, "update account set n = n + 1 where id = 1");
        let seen = await_rows(
            &mut watcher,
            "select waiting_pid, waiting_statement, waits_for, key, mode, blocking_pid, blocking_state, blocking_statement,
                holds, is_certain from hotrow_blocking",
        );
        let of_waiting = format!("{pid}|update account set n = n + 1 where id = 1");
        let of_holder = "idle in transaction|begin; update account set n = 1 where id = 1";
        let awaits = match engine {
            "serial" | "2pl-ordered" | "2pl-atomic" | "orthrus" | "vll" => "the database|NULL|exclusive",
            "2pl-timeout" | "2pl-waitdie" | "hier" | "sli" | "mvo" | "mvl" => {
                "row (id)=(1) of table \"account\"|(id)=(1)|exclusive"
            }
            _ => "NULL|NULL|NULL",
        };
        let holds = if awaits.starts_with("NULL") { "NULL|f" } else { "exclusive|t" };
        assert_eq!(seen, [format!("{of_waiting}|{awaits}|{}|{of_holder}|{holds}", holder.id())], "{engine}");

        let blocked =
            await_rows(&mut watcher, &format!("select b from (select pg_blocking_pids({pid}) b) q where b <> '{{}}'"));
        assert_eq!(blocked, [format!("{{{}}}", holder.id())], "{engine}");
        let tests = [
            (format!("{pid}, array[{}, {}]", idle.id(), holder.id()), true),
            (format!("{pid}, '{{{}}}'", idle.id()), false),
            (format!("{}, '{{{pid}}}'", holder.id()), false),
            ("123456789, '{1}'".to_owned(), false),
        ];
        for (arguments, expected) in tests {
            let sql = format!("select 1 where pg_isolation_test_session_is_blocked({arguments}) = {expected}");
            assert_eq!(await_rows(&mut watcher, &sql), ["1"], "{engine}: {arguments}");
        }
        let events = format!(
            "select wait_event_type, state, xact_start is not null from pg_stat_activity where pid = {pid} and wait_event is not null"
        );
        assert_eq!(await_rows(&mut watcher, &events), ["Lock|active|t"], "{engine}");
        run(&mut holder, "commit");
        assert_eq!(waiting.join().expect("no panic"), "UPDATE 1", "{engine}");
        for sql in ["select * from hotrow_blocking", "select * from pg_locks where not granted"] {
            assert_eq!(outcome(&mut watcher, sql), "", "{engine}: {sql}");
        }
    }
}

#[test]
fn who_waits_for_a_table_and_who_is_in_the_way() {
    let database = database("2pl-timeout");
    let (mut reader, mut watcher) = (session(&database), session(&database));
    run(&mut reader, "create table t (id int primary key); create table u (id int primary key)");
    run(&mut reader, "begin; select * from t");
    let (dropping, first) = elsewhere(&database, "drop table t");
    let blocking = |pid| {
        format!(
            "select waits_for, table_name, mode, blocking_pid, holds, is_certain from hotrow_blocking where waiting_pid = {pid}"
        )
    };
    let seen = await_rows(&mut watcher, &blocking(dropping));
    assert_eq!(seen, [format!("table \"t\"|t|exclusive|{}|shared|t", reader.id())]);
    // Who comes later stands behind.
    let (selecting, second) = elsewhere(&database, "select count(*) from t");
    let seen = await_rows(&mut watcher, &blocking(selecting));
    assert_eq!(seen, [format!("table \"t\"|t|shared|{dropping}|NULL|t")]);
    let locks = "select locktype, relation::regclass, pid, mode, granted, waitstart is null from pg_locks order by pid";
    let expected = [
        format!("relation|t|{}|AccessShareLock|t|t", reader.id()),
        format!("relation|t|{dropping}|AccessExclusiveLock|f|f"),
        format!("relation|t|{selecting}|AccessShareLock|f|f"),
    ];
    assert_eq!(await_rows(&mut watcher, locks), expected);
    run(&mut reader, "rollback");
    assert_eq!(
        (first.join().expect("no panic"), second.join().expect("no panic")),
        ("DROP TABLE".into(), "42P01".into())
    );
    assert_eq!(outcome(&mut watcher, "select * from pg_locks"), "");
    run(&mut reader, "begin; truncate u");
    let held = format!("relation|u|{}|AccessExclusiveLock|t|t", reader.id());
    assert_eq!(await_rows(&mut watcher, locks), [held]);
}

#[test]
fn locks_on_rows_are_shown_while_somebody_waits_for_them() {
    let database = database("2pl-waitfor");
    let (mut holder, mut watcher) = (session(&database), session(&database));
    run(&mut holder, "create table t (id int primary key); insert into t values (1)");
    run(&mut holder, "begin; delete from t");
    let locks = "select locktype, relation::regclass, pid, mode, granted from pg_locks where locktype <> 'relation' order by pid";
    assert_eq!(outcome(&mut watcher, locks), "");
    let (one, first) = elsewhere(&database, "select * from t where id = 1");
    let (two, second) = elsewhere(&database, "select * from t where id = 1");
    let both = "select 1 where (select count(*) from hotrow_blocking) = 2";
    assert_eq!(await_rows(&mut watcher, both), ["1"]);
    let expected = [
        format!("tuple|t|{}|ExclusiveLock|t", holder.id()),
        format!("tuple|t|{one}|ShareLock|f"),
        format!("tuple|t|{two}|ShareLock|f"),
    ];
    assert_eq!(await_rows(&mut watcher, locks), expected);
    run(&mut holder, "commit");
    assert_eq!((first.join().expect("no panic"), second.join().expect("no panic")), (String::new(), String::new()));
}

#[test]
fn sessions_show_what_they_do() {
    let database = database("ilock");
    let (mut one, mut watcher) =
        (session(&database), database.session("bob", hotrow_sync::Waiter::thread(std::time::Duration::ZERO)));
    one.set_parameter("application_name", "counter").expect("a setting");
    one.set_address(Some("[::1]:4711".parse().expect("an address")));
    let shown = |watcher: &mut Session, columns: &str| {
        outcome(watcher, &format!("select {columns} from pg_stat_activity where usename = 'ada'"))
    };
    let who = "datname, pid, application_name, client_addr, client_port, backend_type, backend_start <= now()";
    assert_eq!(shown(&mut watcher, who), format!("postgres|{}|counter|::1|4711|client backend|t", one.id()));
    let state = "state, query, xact_start is null, query_start is null, wait_event";
    assert_eq!(shown(&mut watcher, state), "idle||t|t|ClientRead");
    run(&mut one, "select 1; select 2");
    assert_eq!(shown(&mut watcher, state), "idle|select 1; select 2|t|f|ClientRead");
    run(&mut one, "begin");
    assert_eq!(shown(&mut watcher, state), "idle in transaction|begin|f|f|ClientRead");
    error(&mut one, "select 1 / 0");
    assert_eq!(shown(&mut watcher, state), "idle in transaction (aborted)|select 1 / 0|f|f|ClientRead");
    run(&mut one, "rollback");
    assert_eq!(shown(&mut watcher, state), "idle|rollback|t|f|ClientRead");
    // Between a portal's execution and Sync the session is busy.
    let statement = one.parse("", "select $1::int", &[]).expect("a statement");
    bind(&mut one, &statement, &[hotrow_storage::Value::Int4(1)]).expect("a portal");
    execute(&mut one, 0).1.expect("a result");
    assert_eq!(shown(&mut watcher, state), "active|select $1::int|f|f|NULL");
    one.sync().expect("a commit");
    assert_eq!(shown(&mut watcher, state), "idle|select $1::int|t|f|ClientRead");
    // Settings come and go with their transaction.
    run(&mut one, "begin; set application_name = 'other'");
    assert_eq!(shown(&mut watcher, "application_name"), "other");
    run(&mut one, "rollback");
    assert_eq!(shown(&mut watcher, "application_name"), "counter");
    let own = outcome(&mut watcher, "select state, query from pg_stat_activity where pid = pg_backend_pid()");
    assert_eq!(own, "active|select state, query from pg_stat_activity where pid = pg_backend_pid()");
    drop(one);
    assert_eq!(shown(&mut watcher, "pid"), "");
    assert_eq!(outcome(&mut watcher, "select count(*) from pg_stat_activity"), "1");
}
