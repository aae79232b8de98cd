//! LISTEN and NOTIFY over the wire.

mod common;

use common::client::{Client, extended, message, texts};
use common::program::{command, is_installed, run};
use common::{Running, model, models, on_each_engine};
use hotrow_server::ServerConfig;
use hotrow_sql::{Config, MemoryLimit};
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, thread};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::path::Path;
use std::time::Duration;

/// A notification: the number of the session that gave it, the channel and the payload.
type Heard = (i32, String, String);

/// The notification in a message.
fn heard((kind, body): (u8, Vec<u8>)) -> Heard {
    assert_eq!(kind, b'A', "{}", String::from_utf8_lossy(&body));
    let texts = texts(&body[4..]);
    assert_eq!((texts.len(), &*texts[2]), (3, ""));
    (i32::from_be_bytes(body[..4].try_into().unwrap()), texts[0].clone(), texts[1].clone())
}

/// The next message, which must be a notification.
fn next<S: Read + Write>(client: &mut Client<S>) -> Heard {
    heard(client.read())
}

/// The kinds of the messages up to ReadyForQuery, with the payloads of notifications.
fn answer(client: &mut Client) -> String {
    let mut kinds = String::new();
    loop {
        let message = client.read();
        kinds.push(char::from(message.0));
        match message.0 {
            b'A' => kinds.push_str(&format!("({})", heard(message).2)),
            b'Z' => return kinds,
            _ => {}
        }
    }
}

fn query(client: &mut Client, sql: &str) -> String {
    client.send(&message(b'Q', format!("{sql}\0").as_bytes()));
    answer(client)
}

#[test]
fn an_idle_client_hears_at_once_and_a_block_when_it_ends() {
    on_each_engine(|server| {
        let (mut giver, mut one, mut two) = (server.client(), server.client(), server.client());
        let pid: i32 = giver.column("select pg_backend_pid()")[0].parse().unwrap();
        assert_eq!(pid, giver.key.0);
        for client in [&mut one, &mut two] {
            assert_eq!(client.query("listen c").tags, ["LISTEN"]);
        }
        assert_eq!(giver.query("notify c, 'x'; notify c; notify other").tags, ["NOTIFY", "NOTIFY", "NOTIFY"]);
        for client in [&mut one, &mut two] {
            assert_eq!(next(client), (pid, "c".to_owned(), "x".to_owned()));
            assert_eq!(next(client), (pid, "c".to_owned(), String::new()));
        }
        // A block gets them before it is told that it has ended. It needs no turn of the engine until then.
        assert_eq!(query(&mut one, "begin"), "CZ");
        giver.run("notify c, 'block'");
        assert_eq!(next(&mut two).2, "block");
        assert_eq!(query(&mut one, "select 1"), "TDCZ");
        assert_eq!(query(&mut one, "commit"), "CA(block)Z");
        // A client hears itself before it is told that its statement has ended.
        assert_eq!(query(&mut one, "notify c, 'own'"), "CA(own)Z");
        assert_eq!(next(&mut two), (one.key.0, "c".to_owned(), "own".to_owned()));
        one.send(&extended("select pg_notify($1, $2)", &["c", "extended"]));
        assert_eq!(answer(&mut one), "12TDCA(extended)Z");
        assert_eq!(next(&mut two).2, "extended");
        assert_eq!(query(&mut one, "unlisten c"), "CZ");
        assert_eq!(query(&mut two, "discard all"), "CZ");
        giver.run("notify c, 'nobody'");
        assert_eq!(query(&mut one, "select 1"), "TDCZ");
        assert_eq!(query(&mut two, "select 1"), "TDCZ");
    });
}

#[test]
fn a_client_hears_only_between_its_transactions() {
    let server = Running::new("ilock");
    let (mut giver, mut client) = (server.client(), server.client());
    client.run("listen c");
    // Parse, Bind and Execute without Sync are the begin of a transaction.
    let all = extended("select 1", &[]);
    let (begin, sync) = all.split_at(all.len() - 5);
    client.send(&[begin, &message(b'H', b"")].concat());
    for kind in *b"12TDC" {
        assert_eq!(client.read().0, kind);
    }
    giver.run("notify c, 'x'");
    client.send(sync);
    assert_eq!(answer(&mut client), "A(x)Z");
    // The failed block of a client that listens.
    client.query("begin; select 1 / 0");
    giver.run("notify c, 'y'");
    assert_eq!(query(&mut client, "rollback"), "CA(y)Z");
}

#[test]
fn a_client_that_leaves_leaves_nothing() {
    for config in models().map(model) {
        let server = Running::with("ilock", config);
        let mut giver = server.client();
        for round in 0..20 {
            let mut client = server.client();
            client.run("listen c");
            if round % 2 == 0 {
                client.run("begin");
            }
            giver.run("notify c, 'x'");
            match round % 3 {
                0 => client.stream.shutdown(Shutdown::Both).unwrap(),
                1 => client.send(&message(b'X', b"")),
                _ => {}
            }
        }
        while giver.column("select count(*) from pg_stat_activity") != ["1"] {}
        assert_eq!(giver.column("select pg_notification_queue_usage()"), ["0"]);
        giver.run("notify c, 'nobody'");
    }
}

#[test]
fn many_notifications_come_in_order() {
    for config in models().map(model) {
        let server = Running::with("mvo", config);
        let (mut giver, mut client) = (server.client(), server.client());
        client.run("listen c");
        let mut expected = 0;
        for count in [1, 3000, 2, 500] {
            let sql = format!("select count(pg_notify('c', lpad(n::text, 100))) from generate_series(1, {count}) n");
            giver.run(&sql);
            for number in 1..=count {
                assert_eq!(next(&mut client).2.trim(), number.to_string());
                expected += 1;
            }
        }
        // Each commit beside reads of the client, which come in between.
        for number in 0..200 {
            giver.send(&message(b'Q', format!("notify c, '{number}'\0").as_bytes()));
            client.send(&message(b'Q', b"select 1\0"));
        }
        let (mut next, mut answers) = (0, 0);
        while next < 200 || answers < 200 {
            match client.read() {
                (b'A', body) => {
                    assert_eq!(heard((b'A', body)).2, next.to_string());
                    next += 1;
                }
                (b'Z', _) => answers += 1,
                _ => {}
            }
        }
        assert_eq!(expected, 3503);
    }
}

/// Clients that give, clients that hear and sometimes ask, and one whose long statements make connections move to other
/// workers. If a wake were lost, a client would wait for its notification for ever.
#[test]
fn no_notification_is_lost_on_the_way() {
    const GIVERS: usize = 3;
    const ROUNDS: usize = 400;
    for config in models().map(model) {
        let server = Running::with("ilock", ServerConfig { threads: 2, ..config });
        let hearers: Vec<_> = (0..3)
            .map(|every| {
                let mut client = server.client();
                client.run("listen c");
                thread::spawn(move || {
                    let mut heard = 0;
                    while heard < GIVERS * ROUNDS {
                        assert_eq!(client.read().0, b'A');
                        heard += 1;
                        if heard % (10 + every) == 0 {
                            heard += query(&mut client, "select 1").matches('A').count();
                        }
                    }
                    assert_eq!(heard, GIVERS * ROUNDS);
                    assert_eq!(query(&mut client, "unlisten *"), "CZ");
                })
            })
            .collect();
        let is_over = Arc::new(AtomicBool::new(false));
        let (mut long, ends) = (server.client(), is_over.clone());
        let long = thread::spawn(move || {
            while !ends.load(Ordering::Acquire) {
                long.run("select count(*) from generate_series(1, 200000)");
            }
        });
        let givers: Vec<_> = (0..GIVERS)
            .map(|giver| {
                let mut client = server.client();
                thread::spawn(move || {
                    for round in 0..ROUNDS {
                        client.run(&format!("notify c, '{giver} {round}'"));
                    }
                })
            })
            .collect();
        givers.into_iter().chain(hearers).for_each(|thread| thread.join().expect("no panic"));
        is_over.store(true, Ordering::Release);
        long.join().expect("no panic");
    }
}

#[test]
fn a_client_that_reads_nothing_fills_the_queue_until_it_is_cut_off() {
    for config in models().map(model) {
        // Many times as long as it takes to fill the queue.
        let config = ServerConfig { write_timeout: Duration::from_secs(5), ..config };
        // The queue takes 16 MiB. What the other tests of this process use counts towards the limit, too.
        let sql = Config { memory_limit: MemoryLimit::new(256 << 20), ..Config::default() };
        let engine = hotrow_protocols::open("ilock").expect("the engine is in the registry");
        let server = Running::with_sql(engine, config, sql);
        let (mut giver, mut stuck, mut reader) = (server.client(), server.client(), server.client());
        stuck.run("listen c");
        reader.run("listen c");
        let many = "select count(pg_notify('c', lpad(n::text, 7000))) from generate_series(1, 200) n";
        let mut given = 0;
        // The sockets take some.
        while giver.query(many).failure.is_none() {
            given += 200;
            assert!(given < 200_000, "the queue has a bound");
            for _ in 0..200 {
                next(&mut reader);
            }
        }
        assert_eq!(giver.fails(many).0, "54000");
        assert_eq!(giver.query("notify other").tags, ["NOTIFY"]);
        // The other clients are served, and when the server has lost patience there is room again.
        while giver.column("select count(*) from pg_stat_activity") != ["2"] {}
        assert_eq!(giver.column("select pg_notification_queue_usage()"), ["0"]);
        giver.run(many);
        assert_eq!(next(&mut reader).2.trim(), "1");
    }
}

#[test]
fn a_client_that_listens_is_idle_all_the_same() {
    for config in models().map(model) {
        let mut server = Running::with("ilock", config);
        let (mut giver, mut idle, mut other) = (server.client(), server.client(), server.client());
        idle.run("listen c; set idle_session_timeout = 300");
        other.run("listen c");
        // A notification is nothing that the client has sent.
        giver.run("notify c");
        assert_eq!(next(&mut idle).1, "c");
        assert_eq!(idle.last_words().expect("it is told why").code, "57P05");
        assert_eq!(next(&mut other).1, "c");
        let mut ended = server.client();
        ended.run("listen c");
        assert_eq!(giver.column(&format!("select pg_terminate_backend({})", ended.key.0)), ["t"]);
        assert_eq!(ended.last_words().expect("it is told why").code, "57P01");
        server.stop();
        assert_eq!(other.last_words().expect("it is told why").code, "57P01");
    }
}

#[test]
fn psql_shows_notifications() {
    if !is_installed("psql", &["--version"]) {
        return;
    }
    for config in models().map(model) {
        let server = Running::with("ilock", config);
        let mut psql = command("psql", &server);
        psql.args(["-XAtc", "listen c", "-c", "select pg_backend_pid()", "-c", "notify c, 'x'", "-c", "notify c"]);
        let shown = run(psql);
        let lines: Vec<_> = shown.lines().collect();
        let pid = lines[1];
        let from = format!("received from server process with PID {pid}.");
        assert_eq!(
            lines,
            [
                "LISTEN",
                pid,
                "NOTIFY",
                &*format!("Asynchronous notification \"c\" with payload \"x\" {from}"),
                "NOTIFY",
                &*format!("Asynchronous notification \"c\" {from}"),
            ]
        );
    }
}

#[test]
fn psycopg_waits_for_notifications() {
    if !is_installed("python3", &["-c", "import psycopg"]) {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers/notifications.py");
    for config in models().map(model) {
        let server = Running::with("ilock", config);
        let mut command = command("python3", &server);
        command.arg("-P").arg(&script);
        assert_eq!(run(command), "ok\n");
    }
}
