//! The figures for Prometheus, compared with what clients have done.

mod common;

use common::Running;
use hotrow_server::{ServerConfig, ServerError};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

fn server(engine: &str) -> Running {
    Running::with(engine, ServerConfig { metrics: "127.0.0.1:0".parse().ok(), ..ServerConfig::default() })
}

fn converse(address: SocketAddr, sent: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    stream.write_all(sent).expect("it is taken");
    stream.shutdown(std::net::Shutdown::Write).expect("the connection is open");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// The number with this name and these labels.
fn number(server: &Running, name: &str) -> Option<f64> {
    let answer = converse(server.metrics.expect("an address"), b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
    assert!(body.ends_with("# EOF\n"), "{body}");
    let value = body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.map(|value| value.parse().expect("a number"))
}

#[test]
fn what_clients_did_is_counted() {
    for engine in ["ilock", "mvo", "vll"] {
        let server = server(engine);
        let check = |name: &str, expected: f64| assert_eq!(number(&server, name), Some(expected), "{engine}: {name}");
        check("hotrow_sessions", 0.0);
        let mut client = server.client();
        check("hotrow_sessions", 1.0);
        check("hotrow_statements_total", 0.0);
        client.run("CREATE TABLE t (id int PRIMARY KEY, n int)");
        client.run("INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)");
        let committed = number(&server, "hotrow_transactions_total{outcome=\"committed\"}").expect("it is counted");
        client.run("BEGIN; UPDATE t SET n = 1; ROLLBACK");
        client.run("SELECT n FROM t WHERE id = 1");
        client.fails("INSERT INTO t VALUES (1, 1)");
        client.fails("SELECT nothing");
        check("hotrow_table_rows{database=\"postgres\",table=\"t\"}", 3.0);
        check("hotrow_transactions_total{outcome=\"committed\"}", committed + 1.0);
        check("hotrow_transactions_total{outcome=\"rolled_back\"}", 2.0);
        // One is not known by name when it comes, so it is none.
        check("hotrow_statements_total", 7.0);
        check("hotrow_sessions_limit", 1000.0);
        drop(client);
        // The statements of a client that has left still count.
        while number(&server, "hotrow_sessions") != Some(0.0) {}
        check("hotrow_statements_total", 7.0);
        let about = format!("hotrow_server{{version=\"{}\",", hotrow_sql::SERVER_VERSION);
        assert_eq!(number(&server, &format!("{about}engine=\"{engine}\",execution=\"coroutine\"}}")), Some(1.0));
        assert!(number(&server, "hotrow_memory_bytes").is_some(), "{engine}");
        assert_eq!(number(&server, "hotrow_versions{state=\"alive\"}").is_some(), engine == "mvo");
    }
}

#[test]
fn hot_rows_are_counted_where_transactions_are_held_back_from_them() {
    for engine in ["ilock", "2pl-waitfor"] {
        let server = server(engine);
        let hot = || number(&server, "hotrow_admission_hot_locks");
        let mut clients = [server.client(), server.client()];
        clients[0].run("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0), (2, 0)");
        assert_eq!(hot(), Some(0.0), "{engine}");
        let [old, young] = &mut clients;
        old.run("BEGIN; UPDATE t SET n = 1 WHERE id = 1");
        young.run("BEGIN; UPDATE t SET n = 2 WHERE id = 2");
        old.send_query("UPDATE t SET n = 1 WHERE id = 2");
        while !young.column("SHOW hotrow.locks")[0].ends_with("waiting 1") {}
        assert_eq!(young.fails("UPDATE t SET n = 2 WHERE id = 1").0, "40P01", "{engine}");
        assert!(old.answer().failure.is_none());
        let both = if engine == "ilock" { 2.0 } else { 0.0 };
        assert_eq!(hot(), Some(both), "{engine}: both rows were waited for, and `ilock` alone looks at rows");
        let states =
            ["admitted", "held_back"].map(|state| format!("hotrow_admission_transactions{{state=\"{state}\"}}"));
        assert_eq!(states.map(|name| number(&server, &name)), [Some(0.0); 2], "{engine}");
        assert_eq!(number(&server, "hotrow_admission_held_back_total"), Some(0.0), "{engine}");
        old.run("COMMIT");
        young.run("ROLLBACK");
        assert_eq!(young.column("SHOW hotrow.locks"), ["held 0, waiting 0"]);
    }
}

#[test]
fn connections_move_away_from_a_long_statement_and_back() {
    let execution = hotrow_server::Execution::Coroutine;
    let metrics = "127.0.0.1:0".parse().ok();
    for io in [hotrow_server::Io::Worker, hotrow_server::Io::Handoff] {
        let server =
            Running::with("ilock", ServerConfig { metrics, execution, io, threads: 2, ..ServerConfig::default() });
        let moves = || number(&server, "hotrow_connection_moves_total").expect("it is counted");
        let mut clients: Vec<_> = (0..4).map(|_| server.client()).collect();
        let mut all_answer = || clients.iter_mut().for_each(|client| assert_eq!(client.column("SELECT 1"), ["1"]));
        all_answer();
        assert_eq!(moves(), 0.0, "{io:?}: nobody is in the way");
        let mut long = server.client();
        long.send_query("SELECT count(*) FROM generate_series(1, 1000000000000)");
        while moves() == 0.0 {
            all_answer();
        }
        server.cancel(&mut long);
        assert_eq!(long.answer().failure.map(|failure| failure.code), Some("57014".to_owned()));
        let away = moves();
        while io == hotrow_server::Io::Worker && moves() == away {
            all_answer();
        }
        all_answer();
    }
}

#[test]
fn waits_and_aborts_are_counted_when_their_transactions_are_over() {
    let server = server("2pl-timeout");
    let mut holder = server.client();
    holder.run("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)");
    let waits = number(&server, "hotrow_lock_waits_total").expect("it is counted");
    holder.run("BEGIN; UPDATE t SET n = n + 1");
    let mut waiting = server.client();
    waiting.run("SET lock_timeout = '1ms'");
    assert_eq!(waiting.fails("UPDATE t SET n = n + 1").0, "55P03");
    assert_eq!(number(&server, "hotrow_aborts_total{reason=\"timeout\"}"), Some(1.0));
    assert_eq!(number(&server, "hotrow_lock_waits_total"), Some(waits + 1.0));
    assert!(number(&server, "hotrow_lock_wait_seconds_total") >= Some(0.001));
    holder.run("COMMIT");
    assert_eq!(number(&server, "hotrow_table_waits_total{database=\"postgres\",table=\"t\"}"), Some(1.0));
    assert_eq!(number(&server, "hotrow_table_conflicts_total{database=\"postgres\",table=\"t\"}"), Some(1.0));
    assert_eq!(holder.column("SELECT statements FROM hotrow_contention"), ["1 times UPDATE t SET n = n + $1"]);
}

#[test]
fn what_is_no_request_for_metrics_is_answered_with_what_is_expected() {
    let server = server("serial");
    let address = server.metrics.expect("an address");
    for (sent, expected) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "404 Not Found"),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\n", "405 Method Not Allowed"),
        (&[0, 0, 0, 8, 4, 210, 22, 47], "400 Bad Request"),
        (b"", "400 Bad Request"),
    ] {
        let answer = converse(address, sent);
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected}\r\n")), "{answer}");
        assert!(answer.contains("/metrics"), "{answer}");
    }
    let config = ServerConfig { metrics: Some(address), ..ServerConfig::default() };
    let listen = vec!["127.0.0.1:0".parse().expect("an address")];
    let database = hotrow_sql::Database::new(server.engine.clone(), hotrow_sql::Config::default());
    let second = hotrow_server::Server::bind(ServerConfig { listen, ..config }, database).err();
    assert!(matches!(second, Some(ServerError::Listen(taken, _)) if taken == address), "{second:?}");
}
