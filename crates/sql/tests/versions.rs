//! Optimistic transactions of engines that keep versions of rows, over SQL: readers never wait, the first writer of a
//! row wins, at read committed the second one waits for it, and a level says as of when its transactions read.

mod common;

use common::{Recorder, bind, database, error, execute, outcome, query, run, session};
use hotrow_sql::{Database, Session, SqlError, isolation};
use hotrow_storage::Value;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, Mutex, Scheduler, Time, Waiter};
use hotrow_txn::Isolation;
use std::time::Duration;

const TABLES: &str = "create table t (id int primary key, n int); create index on t (n);
    insert into t values (1, 10), (2, 20); create table other (id int primary key); insert into other values (1)";

/// The engines that keep versions.
fn engines() -> impl Iterator<Item = &'static str> {
    let engines = hotrow_protocols::ENGINES.iter().filter(|info| info.isolation.contains(&Isolation::Snapshot));
    engines.map(|info| info.name)
}

/// Runs a test on each of these engines, with a database and the session that has made its tables.
fn for_each(check: impl Fn(&'static str, &Arc<Database>, &mut Session)) {
    for engine in engines() {
        let database = database(engine);
        let mut session = begin(&database);
        run(&mut session, TABLES);
        check(engine, &database, &mut session);
    }
}

fn begin(database: &Arc<Database>) -> Session {
    optimistic(database, session(database))
}

/// A session whose transactions are optimistic, if they have the choice.
fn optimistic(database: &Arc<Database>, mut session: Session) -> Session {
    if database.engine().info().concurrency.is_some() {
        run(&mut session, "set hotrow.concurrency = optimistic");
    }
    session
}

/// The scheduler of a session that must not wait: a wait panics.
struct Nobody;

impl Scheduler for Nobody {
    fn now(&self) -> Time {
        Time::default()
    }

    fn suspend(&self, _: Option<Time>) {
        panic!("somebody waits");
    }

    fn resume(&self) {}
}

fn restless(database: &Arc<Database>) -> Session {
    optimistic(database, database.session("bob", Waiter::new(Arc::new(Nobody))))
}

/// A scheduler whose time passes at a wait. An action runs at the next wait, or after a number of looks at the clock.
#[derive(Default)]
struct Meanwhile {
    now: AtomicU64,
    waits: AtomicU64,
    happens: Mutex<Option<Happens>>,
}

struct Happens {
    /// The number of looks at the clock after which the action runs, or `None` if it runs at the next wait.
    at_look: Option<u64>,
    what: Box<dyn FnOnce() + Send>,
}

impl Meanwhile {
    fn happens(&self, at_look: Option<u64>, what: impl FnOnce() + Send + 'static) {
        *self.happens.lock().expect("no panic") = Some(Happens { at_look, what: Box::new(what) });
    }

    fn has_happened(&self) -> bool {
        self.happens.lock().expect("no panic").is_none()
    }

    fn take_if(&self, is_time: impl FnOnce(&mut Happens) -> bool) {
        let taken = self.happens.lock().expect("no panic").take_if(is_time);
        if let Some(Happens { what, .. }) = taken {
            what();
        }
    }
}

impl Scheduler for Meanwhile {
    fn now(&self) -> Time {
        self.take_if(|happens| match &mut happens.at_look {
            Some(0) => true,
            Some(looks) => {
                *looks -= 1;
                false
            }
            None => false,
        });
        Time(self.now.fetch_add(1_000, Ordering::AcqRel))
    }

    fn suspend(&self, deadline: Option<Time>) {
        assert!(deadline.is_some() || !self.has_happened(), "a wait has an end, or something is to happen");
        self.waits.fetch_add(1, Ordering::AcqRel);
        self.take_if(|happens| happens.at_look.is_none());
        self.now.fetch_max(deadline.map_or(0, |deadline| deadline.0), Ordering::AcqRel);
    }

    fn resume(&self) {}
}

/// Returns a session and its scheduler, which can run an action while the session runs.
fn with_time(database: &Arc<Database>) -> (Session, Arc<Meanwhile>) {
    let meanwhile = Arc::new(Meanwhile::default());
    (optimistic(database, database.session("bob", Waiter::new(meanwhile.clone()))), meanwhile)
}

fn check_conflict(error: &SqlError, what: &str) {
    assert_eq!(
        (error.state.as_str(), error.message.as_str()),
        ("40001", "could not serialize access due to concurrent update"),
        "{what}"
    );
    assert_eq!(
        (error.detail.as_deref(), error.hint.as_deref()),
        (
            Some("Another transaction changed the row first (the first writer wins)."),
            Some("Run the whole transaction again, from its first statement.")
        ),
        "{what}"
    );
}

#[test]
fn a_reader_beside_an_uncommitted_writer_answers_at_once_at_every_level() {
    let writes = [
        "update t set n = 99",
        "delete from t",
        "insert into t values (3, 30)",
        "select * from t for update",
        "update t set id = id + 10",
    ];
    let reads = [
        ("select n from t where id = 1", "10"),
        ("select id from t where n > 5 order by n", "1 2"),
        ("select count(*), sum(n) from t", "2|30"),
        ("select id from t where id = 3", ""),
    ];
    for_each(|engine, database, writer| {
        for level in Isolation::ALL.map(isolation::name) {
            for write in writes {
                run(writer, &format!("begin isolation level {level}; {write}"));
                let mut reader = restless(database);
                run(&mut reader, &format!("begin isolation level {level}"));
                for (sql, rows) in reads {
                    assert_eq!(outcome(&mut reader, sql), rows, "{engine} at {level}, beside `{write}`: {sql}");
                }
                run(&mut reader, "commit");
                run(writer, "rollback");
            }
        }
    });
}

#[test]
fn the_second_writer_of_a_row_fails_at_once_above_read_committed_and_is_told_what_to_do() {
    let (update, delete) = ("update t set n = n + 1 where id = 1", "delete from t where id = 1");
    let lock = "select n from t where id = 1 for update";
    let cases = [
        (update, update),
        (update, delete),
        (update, lock),
        (delete, update),
        (lock, update),
        (lock, "select n from t where id = 1 for share"),
        ("insert into t values (3, 30)", "insert into t values (3, 33)"),
        (delete, "insert into t values (1, 11)"),
    ];
    for_each(|engine, database, first| {
        for level in [Isolation::RepeatableRead, Isolation::Snapshot, Isolation::Serializable].map(isolation::name) {
            for (one, two) in cases {
                let what = format!("{engine} at {level}: {one}; {two}");
                run(first, &format!("begin isolation level {level}; {one}"));
                let mut second = restless(database);
                run(&mut second, &format!("begin isolation level {level}; savepoint s"));
                check_conflict(&error(&mut second, two), &what);
                assert_eq!(
                    outcome(&mut second, "rollback to s"),
                    "40001",
                    "{what}: the savepoint is gone, a retry helps"
                );
                run(&mut second, "rollback");
                run(first, "rollback");
            }
        }
    });
}

#[test]
fn at_read_committed_a_statement_waits_for_the_first_writer_and_then_begins_again() {
    let update = "update t set n = n + 1 where id = 1 returning n";
    // What the first block has done, how it ends, and what becomes of a statement that met it, in a block that has
    // changed row 2 before.
    let cases = [
        ("update t set n = 11 where id = 1", "commit", update, "12"),
        ("update t set n = 11 where id = 1", "rollback", update, "11"),
        ("savepoint s; update t set n = 11 where id = 1", "rollback to s", update, "11"),
        ("delete from t where id = 1", "commit", update, ""),
        ("delete from t where id = 1", "rollback", update, "11"),
        ("select n from t where id = 1 for update", "commit", update, "11"),
        ("update t set n = 11 where id = 1", "commit", "delete from t where n < 15 returning n", "11"),
        ("update t set n = 19 where id = 1", "commit", "delete from t where n < 15 returning n", ""),
        ("update t set n = 11 where id = 1", "commit", "select n from t where id = 1 for update", "11"),
        ("update t set n = 11 where id = 1", "commit", "update t set n = n + 1 returning n", "12 22"),
        ("update t set n = 11 where id = 1", "commit", "call add(5)", "CALL"),
        ("insert into t values (3, 30)", "commit", "insert into t values (3, 33)", "23505"),
        ("insert into t values (3, 30)", "rollback", "insert into t values (3, 33)", "INSERT 0 1"),
        ("insert into t values (3, 30)", "commit", "insert into t values (3, 33) on conflict do nothing", "INSERT 0 0"),
        (
            "insert into t values (3, 30)",
            "commit",
            "insert into t values (3, 33) on conflict (id) do update set n = t.n + 1 returning n",
            "31",
        ),
        ("delete from t where id = 1", "commit", "insert into t values (1, 33)", "INSERT 0 1"),
    ];
    let procedure = "create procedure add(more int) language sql as $$ update t set n = n + more where id = 1 $$";
    for engine in engines() {
        for (block, end, statement, expected) in cases {
            let database = database(engine);
            let mut first = begin(&database);
            run(&mut first, &format!("{TABLES}; {procedure}"));
            run(&mut first, &format!("begin; {block}"));
            let (mut second, meanwhile) = with_time(&database);
            run(&mut second, "begin; update t set n = n + 1 where id = 2; savepoint s");
            meanwhile.happens(None, move || run(&mut first, end));
            let what = format!("{engine}: {block}; {end}; {statement}");
            assert_eq!(outcome(&mut second, statement), expected, "{what}");
            assert!(meanwhile.has_happened(), "{what}: it has waited");
            run(&mut second, "rollback to s; commit");
            let kept = outcome(&mut second, "select n from t where id = 2");
            assert_eq!(kept, "21", "{what}: the block goes on");
        }
    }
}

#[test]
fn at_read_committed_a_wait_ends_when_the_client_says_and_is_a_deadlock_in_a_circle() {
    for_each(|engine, database, first| {
        run(first, "begin; update t set n = 11 where id = 1");
        for (setting, expected) in [("lock_timeout", "55P03"), ("statement_timeout", "57014")] {
            let (mut second, meanwhile) = with_time(database);
            run(&mut second, "begin; update t set n = n + 1 where id = 2");
            run(&mut second, &format!("set local {setting} = '1s'"));
            let start = meanwhile.now();
            assert_eq!(outcome(&mut second, "delete from t"), expected, "{engine}");
            let passed = meanwhile.now().since(start);
            assert!((Duration::from_secs(1)..Duration::from_secs(2)).contains(&passed), "{engine}: {passed:?}");
            run(&mut second, "rollback");
        }
        let (mut second, meanwhile) = with_time(database);
        run(&mut second, "begin; update t set n = n + 1 where id = 2");
        let closed: Arc<Mutex<Option<(SqlError, i32)>>> = Arc::default();
        let (victim, mut closing) = (closed.clone(), std::mem::replace(first, begin(database)));
        meanwhile.happens(None, move || {
            let error = error(&mut closing, "update t set n = 0 where id = 2");
            *victim.lock().expect("no panic") = Some((error, closing.id()));
            run(&mut closing, "rollback");
        });
        assert_eq!(outcome(&mut second, "update t set n = n + 1 where id = 1 returning n"), "11", "{engine}");
        let (error, closing) = closed.lock().expect("no panic").take().expect("it has happened");
        assert_eq!((error.state.as_str(), error.message.as_str()), ("40P01", "deadlock detected"), "{engine}");
        let line = |waiter: i32, row: u32, blocker: i32| {
            format!(
                "Process {waiter} waits for exclusive lock on row (id)=({row}) of table \"t\"; blocked by process {blocker}."
            )
        };
        let detail = format!("{}\n{}", line(closing, 2, second.id()), line(second.id(), 1, closing));
        assert_eq!(error.detail, Some(detail), "{engine}");
        run(&mut second, "rollback");
    });
}

#[test]
fn who_comes_after_the_first_writer_goes_on_at_read_committed_only() {
    for_each(|engine, database, first| {
        for level in Isolation::ALL {
            let mut second = restless(database);
            run(&mut second, &format!("begin isolation level {}; select 1 from other", isolation::name(level)));
            run(first, "update t set n = 10 where id = 1; update t set n = n + 1 where id = 1");
            let what = format!("{engine} at {level}");
            let (_, updated) = query(&mut second, "update t set n = n + 1 where id = 1");
            match updated {
                Ok(()) => assert_eq!(outcome(&mut second, "select n from t where id = 1"), "12", "{what}"),
                Err(error) => {
                    assert_ne!(level, Isolation::ReadCommitted, "{what}");
                    check_conflict(&error, &what);
                }
            }
            run(&mut second, "rollback");
        }
    });
}

#[test]
fn a_statement_of_its_own_is_tried_again_until_the_first_writer_has_ended() {
    // What a block has done, how it ends, and what becomes of a statement that met it.
    let cases = [
        ("update t set n = 11 where id = 1", "commit", "update t set n = n + 1 where id = 1 returning n", "12"),
        ("update t set n = 11 where id = 1", "rollback", "update t set n = n + 1 where id = 1 returning n", "11"),
        ("update t set n = 11 where id = 1", "commit", "call add(5)", "CALL"),
        ("delete from t where id = 1", "commit", "update t set n = 0 where id = 1", "UPDATE 0"),
        ("insert into t values (3, 30)", "commit", "insert into t values (3, 33)", "23505"),
        ("insert into t values (3, 30)", "rollback", "insert into t values (3, 33)", "INSERT 0 1"),
        ("select * from t for update", "commit", "delete from t", "DELETE 2"),
        ("update t set n = 11 where id = 1", "commit", "select n from t order by n for update", "11 20"),
    ];
    let procedure = "create procedure add(more int) language sql as $$ update t set n = n + more where id = 1 $$";
    for level in Isolation::ALL.map(isolation::name) {
        for (block, end, statement, expected) in cases {
            for engine in engines() {
                let database = database(engine);
                let mut first = begin(&database);
                run(&mut first, &format!("{TABLES}; {procedure}"));
                run(&mut first, &format!("begin isolation level {level}; {block}"));
                let (mut second, meanwhile) = with_time(&database);
                run(&mut second, &format!("set default_transaction_isolation = '{level}'"));
                meanwhile.happens(None, move || run(&mut first, end));
                let what = format!("{engine} at {level}: {block}; {end}; {statement}");
                assert_eq!(outcome(&mut second, statement), expected, "{what}");
                assert!(meanwhile.has_happened(), "{what}: it has waited");
            }
        }
    }
}

#[test]
fn trying_again_has_an_end() {
    for_each(|engine, database, first| {
        run(first, "begin; update t set n = 11 where id = 1");
        let update = "update t set n = 12 where id = 1";
        let cases = [
            ("set lock_timeout = '1s'", "55P03", Duration::from_secs(1)),
            ("set statement_timeout = '100ms'", "57014", Duration::from_millis(100)),
        ];
        for (setting, expected, limit) in cases {
            let (mut second, meanwhile) = with_time(database);
            run(&mut second, setting);
            let start = meanwhile.now();
            assert_eq!(outcome(&mut second, update), expected, "{engine}: {setting}");
            let passed = meanwhile.now().since(start);
            assert!((limit..limit * 2).contains(&passed), "{engine}: {setting}: {passed:?}");
            // Within a block somebody else decides whether to try again.
            run(&mut second, "begin isolation level serializable");
            check_conflict(&error(&mut second, update), engine);
        }
        let (mut second, meanwhile) = with_time(database);
        let waiter = second.waiter().clone();
        meanwhile.happens(None, move || waiter.cancel());
        assert_eq!(error(&mut second, update).message, "canceling statement due to user request", "{engine}");
    });
}

/// Runs a statement by a message of its own, with nothing after it but the end of the transaction.
fn execute_alone(session: &mut Session, sql: &str) -> Vec<String> {
    let statement = session.parse("", sql, &[]).expect("a statement");
    bind(session, &statement, &[]).expect("no parameters");
    session.announce_sync();
    let (recorder, executed) = execute(session, 0);
    executed.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    session.sync().expect("nothing is left to fail");
    recorder.rows
}

#[test]
fn a_statement_of_its_own_is_tried_again_when_its_commit_is_refused() {
    let query_alone = |session: &mut Session, sql: &str| {
        let (Recorder { rows, tags, .. }, result) = query(session, sql);
        result.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        assert_eq!(tags, ["INSERT 0 1"], "told once");
        rows
    };
    for_each(|engine, database, first| {
        run(first, "create table sums (id int primary key, total int)");
        let (mut second, meanwhile) = with_time(database);
        // Each row that it goes over is a look at the time.
        run(&mut second, "set default_transaction_isolation = serializable; set statement_timeout = '1h'");
        for run_alone in [query_alone, execute_alone] {
            let mut waits = Vec::new();
            for look in 0..12 {
                run(first, "delete from sums; update t set n = 10 where id = 1");
                let mut other = begin(database);
                let committed = Arc::new(Mutex::new(String::new()));
                let noted = committed.clone();
                meanwhile.waits.store(0, Ordering::Release);
                meanwhile.happens(Some(look), move || {
                    *noted.lock().expect("no panic") = outcome(&mut other, "select count(*) from sums");
                    run(&mut other, "update t set n = 110 where id = 1");
                });
                let rows = run_alone(&mut second, "insert into sums select 1, sum(n) from t returning total");
                // What was committed before it was is in it, whether it had read it or not.
                let expected = if *committed.lock().expect("no panic") == "0" { "130" } else { "30" };
                assert_eq!(rows, [expected], "{engine}, look {look}");
                assert_eq!(outcome(first, "select total from sums"), expected, "{engine}, look {look}");
                waits.push(meanwhile.waits.load(Ordering::Acquire));
                meanwhile.happens.lock().expect("no panic").take();
            }
            assert!(waits.contains(&1), "{engine}: it was tried again: {waits:?}");
        }
    });
}

#[test]
fn a_commit_that_is_refused_within_a_block_says_what_to_do() {
    for_each(|engine, database, first| {
        let mut second = restless(database);
        run(&mut second, "begin isolation level serializable; select sum(n) from t; insert into other values (2)");
        run(first, "update t set n = n + 1 where id = 2");
        let (_, committed) = query(&mut second, "commit");
        let error = committed.expect_err("what was read has changed");
        assert_eq!(
            (error.state.as_str(), error.message.as_str()),
            ("40001", "could not serialize access due to read/write dependencies among transactions"),
            "{engine}"
        );
        assert_eq!(
            (error.detail.as_deref(), error.hint.as_deref()),
            (
                Some("Another transaction changed what this one had read, before it could commit."),
                Some("Run the whole transaction again, from its first statement.")
            ),
            "{engine}"
        );
        assert_eq!(outcome(&mut second, "select count(*) from other"), "1", "{engine}: it is over");
    });
}

#[test]
fn a_long_transaction_that_is_idle_in_between_reads_as_its_level_says() {
    for_each(|engine, database, writer| {
        for level in Isolation::ALL {
            run(writer, "update t set n = 10 where id = 1");
            let mut reader = restless(database);
            run(
                &mut reader,
                &format!("begin isolation level {}; select n from t where id = 1", isolation::name(level)),
            );
            for _ in 0..300 {
                run(writer, "update t set n = n + 1 where id = 1");
            }
            let seen = outcome(&mut reader, "select n from t where id = 1");
            let expected = if level == Isolation::ReadCommitted { "310" } else { "10" };
            assert_eq!(seen, expected, "{engine} at {level}");
            run(&mut reader, "commit");
        }
    });
}

#[test]
fn a_pessimistic_reader_keeps_the_commit_of_a_writer_waiting() {
    let choosing = hotrow_protocols::ENGINES.iter().filter(|info| info.concurrency.is_some());
    for engine in choosing.map(|info| info.name) {
        let database = database(engine);
        let mut reader = session(&database);
        run(&mut reader, TABLES);
        run(&mut reader, "begin isolation level serializable, concurrency pessimistic; select n from t where id = 1");
        let (mut writer, meanwhile) = with_time(&database);
        run(&mut writer, "set lock_timeout = '1s'");
        for sql in ["update t set n = 11 where id = 1", "begin; update t set n = 11 where id = 1; commit"] {
            let start = meanwhile.now();
            assert_eq!(outcome(&mut writer, sql), "55P03", "{engine}: {sql}");
            let passed = meanwhile.now().since(start);
            assert!((Duration::from_secs(1)..Duration::from_secs(2)).contains(&passed), "{engine}: {sql}: {passed:?}");
        }
        assert_eq!(outcome(&mut reader, "select n from t where id = 1"), "10", "{engine}");
        meanwhile.happens(None, move || run(&mut reader, "commit"));
        assert_eq!(outcome(&mut writer, "update t set n = 11 where id = 1 returning n"), "11", "{engine}");
        assert!(meanwhile.has_happened(), "{engine}: it has waited");
    }
}

#[test]
fn optimistic_and_pessimistic_transactions_take_turns() {
    let choosing = hotrow_protocols::ENGINES.iter().filter(|info| info.concurrency.is_some());
    for engine in choosing.map(|info| info.name) {
        let database = database(engine);
        let mut reader = session(&database);
        run(&mut reader, TABLES);
        run(&mut reader, "set default_transaction_isolation = serializable; set hotrow.concurrency = mixed");
        let (mut writer, _) = with_time(&database);
        run(&mut writer, "set lock_timeout = '1s'");
        // Only a pessimistic reader is in a writer's way.
        let expected = ["11", "55P03", "11"];
        let seen = expected.map(|_| {
            run(&mut reader, "begin; select n from t where id = 1");
            let seen = outcome(&mut writer, "update t set n = 11 where id = 1 returning n");
            run(&mut reader, "rollback");
            seen
        });
        assert_eq!(seen, expected, "{engine}");
    }
}

#[test]
fn whoever_changes_rows_that_no_index_finds_is_in_the_way_of_those_who_want_the_same_only() {
    for_each(|engine, database, first| {
        for level in ["read committed", "serializable"] {
            run(first, &format!("begin isolation level {level}; update t set n = n + 1 where n + 0 = 10"));
            let mut second = begin(database);
            let changed = outcome(&mut second, "update t set n = n + 1 where n + 0 = 20 returning n");
            assert_eq!(changed, "21", "{engine} at {level}");
            let same = outcome(&mut second, "set lock_timeout = '1ms'; begin; update t set n = 0 where n + 0 = 10");
            assert_eq!(same, "55P03", "{engine} at {level}");
            run(first, "commit; update t set n = id * 10");
        }
    });
}

#[test]
fn what_a_long_reader_keeps_is_shown() {
    for_each(|engine, database, writer| {
        let shown = |session: &mut Session| outcome(session, "show hotrow.versions");
        assert!(shown(writer).starts_with("alive 3, garbage 0, held 0, "), "{engine}: {}", shown(writer));
        let mut reader = restless(database);
        run(&mut reader, "begin isolation level repeatable read; select count(*) from t");
        for _ in 0..50 {
            run(writer, "update t set n = n + 1 where id = 1");
        }
        let busy = shown(writer);
        assert!(busy.contains(", the oldest reader 50 changes behind"), "{engine}: {busy}");
        run(&mut reader, "commit");
    });
    let mut session = session(&database("2pl-timeout"));
    assert_eq!(outcome(&mut session, "show hotrow.versions"), "none beside the rows");
}

/// Statements that change a table as a whole.
const DEFINITIONS: [&str; 5] = [
    "create index on t (id, n)",
    "alter table t add constraint positive unique (n)",
    "alter table t drop constraint t_pkey",
    "drop index t_n_idx",
    "truncate t",
];

#[test]
fn a_snapshot_that_is_older_than_a_table_is_told_so() {
    for definition in DEFINITIONS {
        for_each(|engine, database, first| {
            for level in [Isolation::Snapshot, Isolation::Serializable] {
                let mut reader = begin(database);
                run(&mut reader, &format!("begin isolation level {}; select 1 from other", isolation::name(level)));
                run(first, definition);
                let error = error(&mut reader, "select * from t");
                assert_eq!(
                    (error.state.as_str(), error.message.as_str()),
                    ("40001", "could not serialize access due to a change of a whole table"),
                    "{engine} at {level}: {definition}"
                );
                run(&mut reader, "rollback; select * from t");
                run(first, &format!("drop table t, other; {TABLES}"));
            }
            // Nobody is kept from what has been the same all the time.
            let mut reader = restless(database);
            run(&mut reader, "begin isolation level repeatable read; select 1 from t");
            run(first, "begin; lock table other; commit");
            run(&mut reader, "select 1 from other; commit");
        });
    }
    for_each(|engine, database, first| {
        let mut reader = begin(database);
        run(&mut reader, "begin isolation level repeatable read; select 1 from other");
        run(first, "drop table t");
        assert_eq!(outcome(&mut reader, "select * from t"), "42P01", "{engine}");
    });
}

#[test]
fn a_table_that_has_changed_since_is_not_replaced_by_what_it_was() {
    let more = ["alter table t add check (n > 0)", "drop table t"];
    for definition in DEFINITIONS.into_iter().chain(more) {
        for change in ["insert into t values (3, 30)", "update t set n = 5 where id = 1", "delete from t where id = 1"]
        {
            for_each(|engine, database, other| {
                let mut definer = begin(database);
                run(&mut definer, "begin isolation level repeatable read; select 1 from other");
                run(other, change);
                let all = outcome(other, "select * from t order by id");
                let what = format!("{engine}: {change}; {definition}");
                assert_eq!(outcome(&mut definer, definition), "40001", "{what}");
                run(&mut definer, "rollback");
                assert_eq!(outcome(other, "select * from t order by id"), all, "{what}");
                // At read committed each statement is as of its own beginning.
                run(&mut definer, "begin; select 1 from other");
                run(other, "update t set n = n + 1 where id = 2");
                let all = outcome(other, "select * from t order by id");
                run(&mut definer, &format!("{definition}; commit"));
                let (kept, gone) = (all.as_str(), ["", "42P01"]);
                let left = outcome(other, "select * from t order by id");
                let expected = match definition {
                    "truncate t" => gone[0],
                    "drop table t" => gone[1],
                    _ => kept,
                };
                assert_eq!(left, expected, "{what}");
            });
        }
    }
}

#[test]
fn a_definition_is_a_write_that_must_fit_what_was_read() {
    for_each(|engine, database, other| {
        // Each reads what the other one changes, and neither sees the other's change.
        let mut definer = begin(database);
        run(&mut definer, "begin isolation level serializable; select count(*) from other");
        run(other, "begin isolation level serializable; select count(*) from t; insert into other values (7)");
        let (_, inserted) = query(other, "commit");
        let (_, truncated) = query(&mut definer, "truncate t");
        let truncated = truncated.and_then(|()| query(&mut definer, "commit").1);
        assert!(inserted.is_err() || truncated.is_err(), "{engine}");
        run(&mut definer, "rollback");
        run(
            &mut definer,
            "begin isolation level serializable; insert into t values (9, 90); create index on t (id, n)",
        );
        assert_eq!(outcome(&mut definer, "select count(*) from t where n = 90"), "1", "{engine}: its own");
        run(&mut definer, "savepoint s; truncate t; rollback to s; commit");
        assert_eq!(outcome(&mut definer, "select id from t order by id"), "1 2 9", "{engine}");
    });
}

#[test]
fn portals_and_copy_are_of_one_moment() {
    for_each(|engine, database, writer| {
        let mut reader = restless(database);
        run(&mut reader, "begin");
        let statement = reader.parse("", "select n from t order by id", &[]).expect("a query");
        bind(&mut reader, &statement, &[] as &[Value<'static>]).expect("no parameters");
        assert_eq!(execute(&mut reader, 1).0.rows, ["10"], "{engine}");
        run(writer, "update t set n = n + 1");
        assert_eq!(execute(&mut reader, 0).0.rows, ["20"], "{engine}: a portal goes on as it began");
        run(&mut reader, "rollback; begin isolation level repeatable read; select 1 from other");
        run(writer, "delete from t");
        let (Recorder { output, .. }, result) = query(&mut reader, "copy t to stdout");
        result.expect("nobody waits");
        let mut lines: Vec<_> = std::str::from_utf8(&output).expect("text").lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["1\t11", "2\t21"], "{engine}: as of the beginning");
        run(&mut reader, "commit");
        assert_eq!(outcome(&mut reader, "select count(*) from t"), "0", "{engine}");
    });
}
