//! LISTEN, NOTIFY and UNLISTEN, between sessions.

mod common;

use common::{ENGINES, check, database, error, outcome, query, run, session};
use hotrow_sql::{Backend, Config, Database, MemoryLimit, Notification, Session};
use hotrow_sync::atomic::{AtomicUsize, Ordering};
use hotrow_sync::{Arc, Waiter, thread};
use std::time::Duration;

/// The notifications that have come for a session, each as its channel and payload.
fn heard(session: &mut Session) -> String {
    let taken = session.take_notifications();
    let texts: Vec<_> = taken.iter().map(|one| format!("{}:{}", one.channel, one.payload)).collect();
    texts.join(" ")
}

#[test]
fn a_commit_delivers_and_a_rollback_does_not() {
    let cases = [
        ("notify c", "c:"),
        ("notify c, 'x'", "c:x"),
        ("notify other, 'x'", ""),
        ("select pg_notify('c', 'f')", "c:f"),
        ("select pg_notify('c', null)", "c:"),
        ("notify c, '2'; notify c, '1'; notify c, '2'", "c:2 c:1"),
        ("select pg_notify('c', 'x' || n % 2) from generate_series(1, 5) n", "c:x1 c:x0"),
        ("begin; notify c, 'in'; select count(*) from t", ""),
        ("commit", "c:in"),
        ("begin; notify c; insert into t values (100)", ""),
        ("rollback", ""),
        ("begin; notify c, '1'; savepoint s; notify c, '2'; insert into t values (101); notify c, '3'", ""),
        ("rollback to s; notify c, '4'; notify c, '1'; savepoint s; notify c, '5'; release s; commit", "c:1 c:4 c:5"),
        ("notify c, 'never'; select 1 / (id - id) from t", ""),
        ("select pg_notify('c', 'never'), 1 / (id - id) from t", ""),
        ("begin; notify c; select 1 / (id - id) from t", ""),
        ("commit", ""),
        ("insert into watched values (1), (2); update watched set id = 3 where id = 2", "w:INSERT w:UPDATE"),
        ("insert into watched values (7), (1)", ""),
        ("insert into watched values (1) on conflict do nothing", ""),
        ("select f(5)", "c:of f c:5"),
        ("select handled()", "c:before c:handled"),
        ("call p('called')", "c:called"),
        (
            "do $$ begin notify c, 'do'; begin perform pg_notify('c', 'lost'); raise exception 'x';
                exception when others then notify c, 'kept'; end; end $$",
            "c:do c:kept",
        ),
        ("do $$ begin notify c, 'never'; raise exception 'x'; end $$", ""),
        ("begin read only; notify c, 'reads'; commit", "c:reads"),
        ("begin; notify c, 'one'; commit and chain; notify c, 'two'; rollback", "c:one"),
    ];
    for engine in ENGINES {
        let database = database(engine);
        let (mut giver, mut hearer) = (session(&database), session(&database));
        run(&mut giver, "create table t (id int primary key); insert into t values (1), (2), (3)");
        run(&mut giver, "create table watched (id int primary key)");
        run(
            &mut giver,
            "create function tell() returns trigger language plpgsql as
                $$ begin perform pg_notify('w', tg_op); return new; end $$;
            create trigger tells after insert or update on watched for each row execute function tell();
            create function f(n int) returns int language plpgsql as
                $$ begin notify c, 'of f'; perform pg_notify('c', n::text); return n; end $$;
            create function handled() returns int language plpgsql as
                $$ begin perform pg_notify('c', 'before'); begin notify c, 'lost'; raise exception 'x';
                exception when others then notify c, 'handled'; end; return 1; end $$;
            create procedure p(x text) language plpgsql as $$ begin perform pg_notify('c', x); end $$",
        );
        run(&mut hearer, "listen c; listen w");
        for (sql, expected) in cases {
            let _ = query(&mut giver, sql);
            assert_eq!(heard(&mut hearer), expected, "{engine}: {sql}");
            assert_eq!(heard(&mut giver), "", "{engine}: {sql}");
        }
    }
}

#[test]
fn channels_change_at_the_commit() {
    let cases = [
        ("select pg_listening_channels()", "", ""),
        ("listen b; listen \"A b\"; listen b", "LISTEN", ""),
        ("select * from pg_listening_channels()", "b A b", ""),
        ("begin; listen c; notify c, 'own'; select count(*) from pg_listening_channels()", "2", ""),
        ("rollback", "ROLLBACK", ""),
        ("select count(*) from pg_listening_channels() channel where channel = 'c'", "0", ""),
        ("begin; listen c; notify c, 'own'; commit", "COMMIT", "c:own"),
        ("begin; notify c, 'gone'; unlisten c; commit", "COMMIT", ""),
        ("begin; unlisten *; listen c; notify b; notify c; commit", "COMMIT", "c:"),
        ("begin; listen d; savepoint s; unlisten *; rollback to s; commit", "COMMIT", ""),
        ("select pg_listening_channels()", "c d", ""),
        ("begin; listen e; select 1 / 0", "22012", ""),
        ("commit", "ROLLBACK", ""),
        ("unlisten nope", "UNLISTEN", ""),
        ("begin; discard all", "25001", ""),
        ("rollback; select pg_listening_channels()", "c d", ""),
        ("do $$ begin listen f; unlisten c; notify f, 'x'; end $$", "DO", "f:x"),
        ("select pg_listening_channels()", "d f", ""),
        ("begin read only; unlisten f; commit", "COMMIT", ""),
        ("discard all", "DISCARD ALL", ""),
        ("select pg_listening_channels()", "", ""),
    ];
    for engine in ENGINES {
        let database = database(engine);
        let mut session = session(&database);
        for (sql, expected, comes) in cases {
            assert_eq!(outcome(&mut session, sql), expected, "{engine}: {sql}");
            assert_eq!(heard(&mut session), comes, "{engine}: {sql}");
        }
        assert!(!session.is_listening());
    }
}

#[test]
fn a_block_gets_its_notifications_when_it_has_ended() {
    for engine in ENGINES {
        let database = database(engine);
        let (mut giver, mut hearer) = (session(&database), session(&database));
        run(&mut hearer, "listen c");
        // No block that needs the engine: under some engines it would keep others away.
        for end in ["commit", "rollback"] {
            run(&mut hearer, "begin");
            run(&mut giver, "notify c, 'x'");
            assert_eq!((hearer.has_notifications(), heard(&mut hearer)), (false, String::new()), "{engine}");
            run(&mut hearer, end);
            assert!(hearer.has_notifications(), "{engine}");
            let taken = hearer.take_notifications();
            assert_eq!((taken.len(), taken[0].pid), (1, giver.id()), "{engine}");
            assert!(!hearer.has_notifications(), "{engine}");
        }
        // What has come on a channel is lost if the channel goes.
        run(&mut hearer, "begin; unlisten c");
        run(&mut giver, "notify c, 'x'");
        run(&mut hearer, "commit");
        assert_eq!(heard(&mut hearer), "", "{engine}");
    }
}

#[test]
fn mistakes_are_refused() {
    let long = "x".repeat(8000);
    check(
        "",
        &[
            ("notify", "42601"),
            ("notify c,", "42601"),
            ("notify c, 5", "42601"),
            ("notify c d", "42601"),
            ("notify 'c'", "42601"),
            ("notify c, 'a', 'b'", "42601"),
            ("notify c, x'ff'", "42601"),
            ("notify \"\"", "42601"),
            ("notify a.b", "42601"),
            ("listen", "42601"),
            ("listen *", "42601"),
            ("listen 'c'", "42601"),
            ("listen a, b", "42601"),
            ("unlisten", "42601"),
            ("unlisten * c", "42601"),
            ("select pg_notify('', 'x')", "22023"),
            ("select pg_notify(null, 'x')", "22023"),
            ("select pg_notify(repeat('é', 32), 'x')", "22023"),
            ("select pg_notify('c', repeat('x', 8000))", "22023"),
            (&format!("notify c, '{long}'"), "22023"),
            (&format!("notify c, '{}'", &long[1..]), "NOTIFY"),
            ("select pg_notify('c')", "42883"),
            ("select pg_notify('c', 5)", "42883"),
            ("select pg_listening_channels(1)", "42883"),
            ("prepare p as notify c", "42601"),
            ("notify c, E'\\t\\x41'; notify c, $a$b$a$; notify c, ''", "NOTIFY"),
            ("select pg_notify(repeat('x', 63), 'x')", ""),
            ("select pg_notification_queue_usage(), pg_typeof(pg_notification_queue_usage())", "0|double precision"),
            (
                "create table t (a text default pg_notify('c', 'x'), check (pg_notify('c', 'y') is not null))",
                "CREATE TABLE",
            ),
        ],
    );
    let database = database("mvo");
    let (mut giver, mut hearer) = (session(&database), session(&database));
    run(&mut hearer, &format!("listen {}", "x".repeat(70)));
    run(
        &mut giver,
        &format!("notify {}, E'a\\n\\x41é\\u00e9'; notify \"{}\", $q$it's$q$", "X".repeat(80), "x".repeat(63)),
    );
    let name = "x".repeat(63);
    assert_eq!(heard(&mut hearer), format!("{name}:a\nAéé {name}:it's"));
}

/// Many sessions that count up one row, each in its own way, and say which number they have made. Every engine makes
/// some of them wait or run again, but each number is heard once, in the order of each session's commits.
#[test]
fn a_transaction_that_runs_again_delivers_once() {
    const SESSIONS: usize = 4;
    const ROUNDS: usize = 25;
    for engine in ENGINES {
        let database = database(engine);
        let mut hearers = [session(&database), session(&database)];
        run(&mut hearers[0], "create table t (id int primary key, n int); insert into t values (1, 0)");
        run(
            &mut hearers[0],
            "create function up() returns int language plpgsql as $$ declare m int; begin
                update t set n = n + 1 where id = 1 returning n into m; perform pg_notify('c', m::text); return m;
            end $$",
        );
        hearers.iter_mut().for_each(|hearer| run(hearer, "listen c"));
        let threads: Vec<_> = (0..SESSIONS)
            .map(|number| {
                let mut session = session(&database);
                thread::spawn(move || {
                    let sql = match number % 4 {
                        0 => "update t set n = n + 1 where id = 1 returning pg_notify('c', n::text)",
                        1 => "select up()",
                        2 => "do $$ begin perform up(); end $$",
                        _ => "begin; update t set n = n + 1 where id = 1 returning pg_notify('c', n::text); commit",
                    };
                    let mut done = 0;
                    while done < ROUNDS {
                        match query(&mut session, sql).1 {
                            Ok(()) => done += 1,
                            Err(error) => {
                                assert!(["40001", "40P01", "55P03"].contains(&error.state.as_str()), "{error:?}");
                                run(&mut session, "rollback");
                            }
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        let [first, second] = hearers
            .each_mut()
            .map(|hearer| hearer.take_notifications().iter().map(|one| Notification::clone(one)).collect::<Vec<_>>());
        assert_eq!(first, second, "{engine}: all sessions hear the same");
        let mut numbers: Vec<usize> = first.iter().map(|one| one.payload.parse().expect("a number")).collect();
        for pid in first.iter().map(|one| one.pid) {
            let own: Vec<usize> =
                first.iter().filter(|one| one.pid == pid).map(|one| one.payload.parse().expect("a number")).collect();
            assert!(own.is_sorted(), "{engine}: {own:?}");
        }
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=SESSIONS * ROUNDS).collect::<Vec<_>>(), "{engine}");
    }
}

/// A small queue, since the limit on memory is small.
fn small() -> Arc<Database> {
    let engine = hotrow_protocols::open("ilock").expect("an engine of this name");
    Database::new(engine, Config { memory_limit: MemoryLimit::new(256 << 20), ..Config::default() })
}

#[test]
fn a_full_queue_refuses_the_commit() {
    let database = small();
    let (mut giver, mut hearer) = (session(&database), session(&database));
    let many = "select count(pg_notify('c', lpad(n::text, 7000))) from generate_series(1, 2000) n";
    run(&mut giver, "create table t (id int)");
    run(&mut giver, &format!("{many}; {many}"));
    run(&mut hearer, "listen c");
    run(&mut hearer, "begin");
    run(&mut giver, many);
    let usage: f64 = outcome(&mut giver, "select pg_notification_queue_usage()").parse().expect("a number");
    assert!((0.8..1.0).contains(&usage), "{usage}");
    let failed = error(&mut giver, &format!("begin; insert into t values (1); {many}; commit"));
    assert_eq!((failed.state.as_str(), &*failed.message), ("54000", "too many notifications in the NOTIFY queue"));
    // Its transaction has been rolled back, and other transactions commit.
    assert_eq!(outcome(&mut giver, "insert into t values (2); select id from t"), "2");
    assert_eq!(outcome(&mut giver, "notify other"), "NOTIFY");
    run(&mut hearer, "commit");
    // They count until they are dropped.
    let taken = hearer.take_notifications();
    assert_eq!(taken.len(), 2000);
    assert_eq!(error(&mut giver, many).state.as_str(), "54000");
    drop(taken);
    assert_eq!(outcome(&mut giver, "select pg_notification_queue_usage()"), "0");
    // A session that ends makes room, too.
    run(&mut hearer, "begin");
    run(&mut giver, many);
    assert_eq!(error(&mut giver, many).state.as_str(), "54000");
    drop(hearer);
    assert_eq!(outcome(&mut giver, "select pg_notification_queue_usage()"), "0");
    run(&mut giver, many);
}

#[test]
fn each_session_that_listens_counts() {
    let database = small();
    let mut giver = session(&database);
    let mut hearers: Vec<_> = (0..200).map(|_| session(&database)).collect();
    for hearer in &mut hearers {
        run(hearer, "listen c");
        run(hearer, "begin");
    }
    let many = "select count(pg_notify('c', n::text)) from generate_series(1, 4000) n";
    run(&mut giver, many);
    assert_eq!(error(&mut giver, many).state.as_str(), "54000");
    run(&mut hearers[0], "commit");
    assert_eq!(hearers[0].take_notifications().len(), 4000);
    drop(hearers);
    assert_eq!(outcome(&mut giver, "select pg_notification_queue_usage()"), "0");
}

/// A connection that counts how often it is told that there are notifications.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Backend for Counter {
    fn cancel(&self) {}

    fn terminate(&self) {}

    fn notify(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

#[test]
fn a_connection_is_told_of_the_first_notification_only() {
    let database = database("ilock");
    let mut giver = session(&database);
    let mut hearer = database.session("ada", Waiter::thread(Duration::ZERO));
    let counter = Arc::new(Counter::default());
    hearer.set_backend(counter.clone());
    let told = || counter.0.load(Ordering::Acquire);
    run(&mut hearer, "listen c");
    run(&mut giver, "notify other");
    assert_eq!(told(), 0);
    run(&mut giver, "notify c, '1'; notify c, '2'");
    run(&mut giver, "notify c, '3'");
    assert_eq!((told(), &*heard(&mut hearer)), (1, "c:1 c:2 c:3"));
    run(&mut giver, "notify c");
    assert_eq!(told(), 2);
    // A session looks for its own when its statement has ended.
    run(&mut hearer, "notify c, 'own'");
    assert_eq!((told(), &*heard(&mut hearer)), (2, "c: c:own"));
    hearer.end();
    run(&mut giver, "notify c");
    assert_eq!((told(), &*heard(&mut hearer)), (2, ""));
}
