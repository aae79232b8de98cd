//! Execution models: what each of them has to do beyond what clients see.

mod common;

use common::client::{Client, extended};
use common::{ENGINE_OF_ALL_MODELS, OTHER_MODELS, Running};
use hotrow_server::{Execution, ServerConfig};
use std::time::Duration;

/// A server whose coroutines have the smallest stacks there are.
fn with_small_stacks() -> Running {
    Running::with("serial", ServerConfig { stack_bytes: ServerConfig::MIN_STACK_BYTES, ..ServerConfig::default() })
}

/// Statements that nest in every way that there is, `depth` deep.
fn nested(depth: usize) -> Vec<String> {
    let around =
        |open: &str, inner: &str, close: &str| format!("select {}{inner}{}", open.repeat(depth), close.repeat(depth));
    vec![
        around("(", "1", ")"),
        around("- ", "1", ""),
        around("not ", "true", ""),
        around("abs(", "1", ")"),
        around("cast(", "1", " as int)"),
        around("case when true then ", "1", " else 0 end"),
        around("coalesce(null, ", "1", ")"),
        around("1 in (", "1", ")::int"),
        around("1 between 0 and (", "1", ")::int"),
        around("1", " + 1", ""),
        around("1 + (", "1", ")"),
        around("'a' || ('b' || ", "'c'", ")"),
        around("true and (false or ", "true", ")"),
        around("(select ", "1", ")"),
        around("exists (select ", "1", ")"),
        around("array[", "1", "]"),
    ]
}

#[test]
fn however_deep_a_statement_nests_it_ends_with_an_answer_on_the_smallest_stack() {
    let server = with_small_stacks();
    let mut client = server.client();
    for depth in [1, 20, 60, 100, 127, 128, 129, 299, 300, 1000, 100_000] {
        for sql in nested(depth) {
            let simple = client.query(&sql).failure.map(|failure| failure.code);
            client.send(&extended(&sql, &[]));
            let prepared = client.answer().failure.map(|failure| failure.code);
            let shown = &sql[..sql.len().min(40)];
            assert!(
                depth <= 300 || prepared.as_deref().is_some_and(|code| code != "XX000"),
                "{depth} times {shown}…: {prepared:?}"
            );
            assert_eq!(simple, prepared, "{depth} times {shown}…");
        }
    }
    let chain = |depth: usize| {
        (0..depth).fold(String::from("create procedure p0() language sql as $$ select 1 $$"), |all, number| {
            let next = number + 1;
            all + &format!("; create procedure p{next}() language sql as $$ call p{number}() $$")
        })
    };
    client.query(&chain(40));
    for number in 0..40 {
        let _ = client.query(&format!("call p{number}()"));
    }
    assert_eq!(client.column("SELECT 1"), ["1"]);
    assert_eq!(Client::connect(server.address).column("SELECT 1"), ["1"]);
}

/// A server of each model, with one thread.
fn with_one_thread() -> impl Iterator<Item = Running> {
    [Execution::Coroutine].into_iter().chain(OTHER_MODELS).map(|execution| {
        let config = ServerConfig { execution, threads: 1, max_connections: 2000, ..ServerConfig::default() };
        Running::with(ENGINE_OF_ALL_MODELS, config)
    })
}

#[test]
fn those_who_wait_for_a_lock_are_in_nobodys_way_however_many_they_are() {
    for server in with_one_thread() {
        let mut holder = server.client();
        holder.run("CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL); INSERT INTO t VALUES (1, 0), (2, 0)");
        holder.run("BEGIN; UPDATE t SET n = n + 1 WHERE id = 1");
        let mut waiting: Vec<_> = (0..50).map(|_| server.client()).collect();
        for client in &mut waiting {
            client.run("SET lock_timeout = '1d'");
            client.send_query("UPDATE t SET n = n + 1 WHERE id = 1");
        }
        assert_eq!(server.client().run("UPDATE t SET n = n + 1 WHERE id = 2").tags, ["UPDATE 1"]);
        holder.run("COMMIT");
        for client in &mut waiting {
            assert_eq!(client.answer().tags, ["UPDATE 1"]);
        }
        assert_eq!(holder.column("SELECT n FROM t ORDER BY id"), ["51", "1"]);
    }
}

#[test]
fn a_thousand_clients_come_and_some_are_silent() {
    for server in with_one_thread() {
        let silent: Vec<_> = (0..30).map(|_| Client::open(server.address)).collect();
        let mut clients: Vec<_> = (0..1000).map(|_| server.client()).collect();
        for client in &mut clients {
            client.send_query("SELECT 1");
        }
        for client in &mut clients {
            assert_eq!(client.answer().tags, ["SELECT 1"]);
        }
        drop(silent);
    }
}

#[test]
fn a_client_that_takes_nothing_is_sent_away_and_keeps_no_lock() {
    for execution in [Execution::Coroutine].into_iter().chain(OTHER_MODELS) {
        let write_timeout = Duration::from_millis(50);
        let server = Running::with(
            ENGINE_OF_ALL_MODELS,
            ServerConfig { execution, threads: 1, write_timeout, ..ServerConfig::default() },
        );
        let mut client = server.client();
        client.run("CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL)");
        let rows: Vec<_> = (0..64).map(|id| format!("({id}, 0)")).collect();
        client.run(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
        let mut deaf = server.client();
        // More than sockets buffer.
        deaf.send_query("BEGIN; UPDATE t SET n = 1; SELECT repeat('x', 1000000) FROM t");
        client.run("SET lock_timeout = '1d'");
        client.run("UPDATE t SET n = n + 1");
        assert_eq!(client.column("SELECT sum(n) FROM t"), ["64"], "{execution:?}");
    }
}
