//! Tests of sessions that are idle in a block, under an engine that plans: whether other sessions can go on.

mod common;

use common::{database, outcome, run, session};
use hotrow_protocols::ENGINES;
use hotrow_sql::{Database, Session};
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, Scheduler, Time, Waiter, thread};
use std::time::Duration;

/// A clock that advances only when a session waits, and then to the end of the wait.
#[derive(Default)]
struct Clock(AtomicU64);

impl Scheduler for Clock {
    fn now(&self) -> Time {
        Time(self.0.load(Ordering::Acquire))
    }

    fn suspend(&self, deadline: Option<Time>) {
        self.0.fetch_max(deadline.expect("every wait has a limit").0, Ordering::AcqRel);
    }

    fn resume(&self) {}
}

/// A session whose waits take no time, and its clock.
fn hasty(database: &Arc<Database>) -> (Session, Arc<Clock>) {
    let clock = Arc::new(Clock::default());
    (database.session("ada", Waiter::new(clock.clone())), clock)
}

fn planned() -> impl Iterator<Item = &'static str> {
    ENGINES.iter().filter(|info| info.capabilities.needs_accesses && info.isolates).map(|info| info.name)
}

const TABLE: &str =
    "create table t (id int primary key, n int) partition by hash (id); insert into t values (1, 1), (2, 2)";

/// The levels at which single statements lock what they read, and at which they do not.
const LEVELS: [&str; 2] = ["read committed", "serializable"];

#[test]
fn reads_of_single_statements_pass_a_block_that_has_only_read() {
    for engine in planned() {
        let database = database(engine);
        let mut holder = session(&database);
        run(&mut holder, TABLE);
        for level in LEVELS {
            let (mut other, _) = hasty(&database);
            run(&mut other, &format!("set default_transaction_isolation = '{level}'"));
            run(&mut holder, "begin; select * from t");
            let of_other = |other: &mut Session, sql: &str, expected: &str| {
                assert_eq!(outcome(other, sql), expected, "{engine}, {level}: {sql}");
            };
            of_other(&mut other, "select n from t where id = 1", "1");
            of_other(&mut other, "select sum(n) from t", "3");
            of_other(&mut other, "update t set n = 5 where id = 1", "40001");
            of_other(&mut other, "select n from t where id = 3", "");
            // From its first write on the block has the database for itself.
            run(&mut holder, "update t set n = 7 where id = 1");
            of_other(&mut other, "select n from t where id = 1", "40001");
            run(&mut holder, "insert into t values (3, 3); rollback");
            of_other(&mut other, "select n from t where id = 1", "1");
            of_other(&mut other, "update t set n = n where id = 1", "UPDATE 1");
        }
        assert_eq!(database.engine().audit(), Ok(()), "{engine}");
    }
}

#[test]
fn a_statement_waits_for_an_idle_block_once() {
    for engine in planned() {
        let database = database(engine);
        let mut holder = session(&database);
        run(&mut holder, TABLE);
        run(&mut holder, "begin; update t set n = 7 where id = 1");
        for sql in ["insert into t values (4, 4)", "select * from t", "begin; select * from t"] {
            let (mut other, clock) = hasty(&database);
            assert_eq!(outcome(&mut other, sql), "40001", "{engine}: {sql}");
            let waited = clock.now().since(Time(0));
            assert!(waited < Duration::from_secs(11), "{engine}: {sql}: {waited:?} of the clock's time");
        }
        run(&mut holder, "commit");
    }
}

/// Returns the engines under which a block has the whole database to itself.
fn exclusive() -> impl Iterator<Item = &'static str> {
    planned().chain(["serial"])
}

/// A database in which one session is idle in a block that has written, and another one waits for it.
fn held_up(engine: &str) -> (Session, Session, thread::JoinHandle<String>) {
    let database = database(engine);
    let (mut holder, mut other) = (session(&database), session(&database));
    run(&mut holder, TABLE);
    run(&mut holder, "begin; update t set n = 7 where id = 1");
    assert_eq!(
        holder.look_after_idle(Duration::from_secs(5)),
        Ok(Some(Duration::from_secs(6))),
        "{engine}: nobody waits"
    );
    let number = other.id();
    let waiting = thread::spawn(move || outcome(&mut other, "update t set n = n + 1 where id = 1 returning n"));
    let mut watcher = session(&database);
    let active = format!("select 1 from pg_stat_activity where pid = {number} and wait_event_type = 'Lock'");
    while outcome(&mut watcher, &active) != "1" {
        thread::yield_now();
    }
    (holder, watcher, waiting)
}

#[test]
fn an_idle_block_that_has_the_database_is_given_up_when_others_wait() {
    for engine in exclusive() {
        // What its client says next, what it hears, and whether that ends the block.
        let cases = [
            ("select n from t", "40001", false),
            ("commit", "40001", true),
            ("rollback", "ROLLBACK", true),
            ("rollback to savepoint a", "40001", false),
        ];
        for (next, expected, ends) in cases {
            let (mut holder, mut watcher, waiting) = held_up(engine);
            let patience = Duration::from_secs(1);
            assert_eq!(holder.look_after_idle(Duration::ZERO), Ok(Some(patience)), "{engine}: it has some time");
            assert_eq!(holder.look_after_idle(patience), Ok(None), "{engine}");
            assert_eq!(waiting.join().expect("it waited"), "2", "{engine}: what the block did is undone");
            assert_eq!(outcome(&mut holder, next), expected, "{engine}: {next}");
            let after = if ends { "3" } else { "25P02" };
            assert_eq!(outcome(&mut holder, "update t set n = 3 where id = 1 returning n"), after, "{engine}: {next}");
            run(&mut holder, "rollback");
            assert_eq!(outcome(&mut watcher, "update t set n = 4 where id = 1 returning n"), "4", "{engine}: {next}");
        }
    }
}

#[test]
fn a_block_may_be_idle_for_as_long_as_the_session_says() {
    for engine in exclusive() {
        let (mut holder, _, waiting) = held_up(engine);
        run(&mut holder, "set hotrow.exclusive_idle_timeout = 0");
        assert_eq!(holder.look_after_idle(Duration::from_secs(3600)), Ok(None), "{engine}");
        run(&mut holder, "set hotrow.exclusive_idle_timeout = '7s'");
        let limit = Duration::from_secs(7);
        assert_eq!(holder.look_after_idle(Duration::from_secs(6)), Ok(Some(limit)), "{engine}");
        assert_eq!(outcome(&mut holder, "commit"), "COMMIT", "{engine}");
        assert_eq!(waiting.join().expect("it waited"), "8", "{engine}");
    }
    // Where a block has rows only, others wait for the row.
    let database = database("ilock");
    let mut holder = session(&database);
    run(&mut holder, TABLE);
    run(&mut holder, "begin; update t set n = 7 where id = 1");
    assert_eq!(holder.look_after_idle(Duration::from_secs(5)), Ok(None));
}

#[test]
fn a_session_without_a_connection_is_no_backend() {
    let database = database("ilock");
    let mut one = session(&database);
    let pid = one.id();
    for (sql, expected) in [
        (format!("select pg_cancel_backend({pid})"), "f"),
        (format!("select pg_terminate_backend({pid})"), "f"),
        ("select pg_terminate_backend(99, 5)".to_owned(), "f"),
        ("select pg_terminate_backend(null)".to_owned(), "NULL"),
        ("select pg_terminate_backend(99, -5)".to_owned(), "22003"),
    ] {
        assert_eq!(outcome(&mut one, &sql), expected, "{sql}");
    }
    let (recorder, _) = common::query(&mut one, "select pg_cancel_backend(99)");
    assert_eq!(recorder.notices, ["WARNING: PID 99 is not a PostgreSQL backend process"]);
}
