//! Transactions that are planned before they begin, over the wire. In each form of the protocol they exclude only
//! transactions that touch the same rows, and a transaction that leaves the queue before its turn leaves nothing
//! behind.

mod common;

use common::Running;
use common::client::{Answer, Client, execute, extended, message, parse};
use hotrow_server::ServerConfig;
use hotrow_txn::EngineInfo;
use std::time::Duration;

/// More than sockets buffer: its sender's transaction is open until its receiver reads on.
const LONG: &str = "select repeat('x', 1000000) from long";
const LONG_ROWS: usize = 64;

/// Execute of all rows of the unnamed portal.
const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";

const TABLES: &str = "
    create table long (id int primary key, n int not null) partition by hash (id);
    create table a (id int primary key, n int not null) partition by hash (id);
    insert into a values (1, 0), (2, 0);
    create procedure add(key int, amount int, out left_over int) language sql as $$
        update a set n = n + amount where id = key returning n into left_over $$";

/// The engines that need access sets.
fn planned() -> impl Iterator<Item = &'static EngineInfo> {
    hotrow_protocols::ENGINES.iter().filter(|info| info.capabilities.needs_accesses && info.isolates)
}

/// Returns the planned engines under which two transactions that access different rows run side by side, wherever the
/// rows are.
fn engines() -> impl Iterator<Item = &'static str> {
    planned().filter(|info| !info.keeps_partitions()).map(|info| info.name)
}

/// A client of a server whose tables are made.
fn first_client(server: &Running) -> Client {
    let mut client = server.client();
    client.run(TABLES);
    let rows: Vec<_> = (0..LONG_ROWS).map(|id| format!("({id}, 0)")).collect();
    client.run(&format!("insert into long values {}", rows.join(", ")));
    client
}

/// A client in the midst of whose query the others work: it reads all of `long`.
fn reader(mut reader: Client) -> Client {
    reader.run("set default_transaction_isolation = serializable");
    reader.send_query(LONG);
    assert_eq!([reader.read().0, reader.read().0], *b"TD", "the first row has come");
    reader
}

/// An answer in one line: rows or tags, or the error's code.
fn shown(answer: Answer) -> String {
    if let Some(failure) = answer.failure {
        return failure.code;
    }
    let rows = answer.rows.into_iter().flatten().flatten();
    rows.chain(answer.tags).collect::<Vec<_>>().join(" ")
}

#[test]
fn one_shot_transactions_in_every_form_of_the_protocol_exclude_only_those_who_touch_the_same() {
    for engine in engines() {
        let server = Running::new(engine);
        let mut client = first_client(&server);
        let sync = message(b'S', b"");
        client.send(&[parse("update", "update a set n = n + $1 where id = $2"), sync.clone()].concat());
        assert_eq!(client.letters(), "1Z");
        client.send(&[parse("call", "call add($1, $2, null)"), sync.clone()].concat());
        assert_eq!(client.letters(), "1Z");
        client.run("set lock_timeout = '20ms'");

        let query = |sql: &str| message(b'Q', format!("{sql}\0").as_bytes());
        let update = "update a set n = n + $1 where id = $2";
        let prepared = |name: &str, parameters: &[&str]| [execute(name, parameters), sync.clone()].concat();
        let pipeline = [execute("update", &["8", "1"]), execute("update", &["8", "2"]), sync.clone()].concat();
        let select = "select n from a where id = $1";
        let prepared_here = [
            [parse("", update), execute("", &["0", "1"]), parse("named", select), execute("named", &["1"])].concat(),
            [message(b'C', b"Snamed\0"), message(b'H', b""), execute("call", &["1", "0"]), sync.clone()].concat(),
        ]
        .concat();
        let with_a_mistake = [execute("update", &["8", "1"]), parse("", "select nope"), sync.clone()].concat();
        let block = [parse("", "begin"), execute("", &[]), execute("update", &["8", "1"]), sync.clone()].concat();
        // Two Executes of one portal, the first of them of one row.
        let mut portal = execute("call", &["1", "0"]);
        portal.truncate(portal.len() - EXECUTE.len());
        portal.extend(message(b'E', b"\0\0\0\0\x01"));
        let parts = [&portal, EXECUTE, &execute("update", &["8", "1"]), &sync].concat();
        let cases = [
            (query("update a set n = n + 1 where id = 1"), "UPDATE 1"),
            (query("update a set n = n + 1 where id = 1; select n from a where id = 1"), "2 UPDATE 1 SELECT 1"),
            (query("call add(1, 1, null)"), "3 CALL"),
            (extended(update, &["1", "1"]), "UPDATE 1"),
            (extended("call add($1, $2, null)", &["1", "1"]), "5 CALL"),
            (prepared("update", &["1", "1"]), "UPDATE 1"),
            (prepared("call", &["1", "1"]), "7 CALL"),
            // Transactions that touch the rows being read wait for the reader.
            (query("update long set n = 1 where id = 7"), "55P03"),
            (extended("update long set n = $1 where id = $2", &["1", "7"]), "55P03"),
            (pipeline.clone(), "UPDATE 1 UPDATE 1"),
            (prepared_here, "15 15 UPDATE 1 SELECT 1 CALL"),
            // It is not known beforehand which rows these touch.
            (with_a_mistake, "55P03"),
            (parts, "55P03"),
            (block, "55P03"),
            (query("rollback"), "ROLLBACK"),
            (query("begin; select n from a where id = 1"), "55P03"),
            (query("rollback"), "ROLLBACK"),
        ];
        let mut reader = reader(server.client());
        for (at, (messages, expected)) in cases.into_iter().enumerate() {
            client.send(&messages);
            assert_eq!(shown(client.answer()), expected, "{engine}, case {at}");
        }
        assert_eq!(reader.answer().rows.len(), LONG_ROWS - 1, "{engine}");
        client.send(&pipeline);
        assert_eq!(shown(client.answer()), "UPDATE 1 UPDATE 1", "{engine}");
        assert_eq!(client.column("select n from a order by id"), ["23", "16"], "{engine}");
        server.engine.audit().unwrap_or_else(|error| panic!("{engine}: {error}"));
    }
}

#[test]
fn a_failed_query_does_not_make_the_next_statement_a_transaction_of_its_own() {
    for engine in engines() {
        let server = Running::new(engine);
        let mut client = server.client();
        client.run(TABLES);
        assert_eq!(client.fails("select nope"), ("42703".to_owned(), 'I'));
        let update = "update a set n = n + $1 where id = $2";
        let two = [parse("", update), execute("", &["1", "1"]), execute("", &["1", "2"]), message(b'S', b"")].concat();
        client.send(&two);
        assert_eq!(shown(client.answer()), "UPDATE 1 UPDATE 1", "{engine}");
    }
}

/// A client, as soon as there is room for one.
fn next_client(server: &Running) -> Client {
    loop {
        if let Ok(client) = Client::open(server.address).begin("postgres") {
            return client;
        }
    }
}

#[test]
fn who_leaves_the_queue_before_his_turn_leaves_nothing_behind() {
    // Rows of `long`, which are being read, are changed in each of these ways.
    let sync = message(b'S', b"");
    let query = |sql: &str| message(b'Q', format!("{sql}\0").as_bytes());
    let pipeline = [
        [parse("", "update long set n = n + $1 where id = $2"), execute("", &["1000", "2"])].concat(),
        [execute("", &["1000", "1"]), sync].concat(),
    ]
    .concat();
    let ways = [
        query("update long set n = n + 1000 where id = 1"),
        query("update long set n = n + 1000 where id = 2; update long set n = n + 1000 where id = 1"),
        query("call move(1, 2, 1000)"),
        query("delete from long where id between 1 and 2"),
        query("begin; update long set n = n + 1000 where id = 1"),
        extended("call move($1, $2, 1000)", &["2", "1"]),
        pipeline,
    ];
    for EngineInfo { name: engine, .. } in planned() {
        // The first client, the reader, the victim, one before and one behind it.
        let config =
            ServerConfig { max_connections: 5, presence_interval: Duration::from_millis(5), ..ServerConfig::default() };
        let server = Running::with(engine, config);
        let mut first = first_client(&server);
        first.run(
            "create procedure move(source int, target int, amount int) language sql as $$
                update long set n = n - amount where id = source;
                update long set n = n + amount where id = target;
                if amount > 1000 then update long set n = 1 / (amount - amount); end if $$",
        );
        for (at, way) in ways.iter().enumerate() {
            let mut reader = reader(next_client(&server));
            let (mut before, mut behind) = (next_client(&server), next_client(&server));
            before.send_query("call move(1, 2, 1)");
            let mut gone = next_client(&server);
            gone.send(way);
            drop(gone);
            // It has gone when there is room for another client.
            let mut victim = next_client(&server);
            behind.send_query("update long set n = n + 1 where id = 1");
            victim.send(way);
            server.cancel(&mut victim);
            assert_eq!(shown(victim.answer()), "57014", "{engine}, case {at}");
            victim.run("rollback; set lock_timeout = '5ms'");
            victim.send(way);
            assert_eq!(shown(victim.answer()), "55P03", "{engine}, case {at}");
            victim.run("rollback; set lock_timeout = 0; set statement_timeout = '5ms'");
            victim.send(way);
            assert_eq!(shown(victim.answer()), "57014", "{engine}, case {at}");
            victim.run("rollback; set statement_timeout = 0");
            assert_eq!(reader.answer().rows.len(), LONG_ROWS - 1, "{engine}, case {at}");
            assert_eq!(shown(before.answer()), "CALL", "{engine}, case {at}");
            assert_eq!(shown(behind.answer()), "UPDATE 1", "{engine}, case {at}");
            assert_eq!(victim.fails("call move(1, 2, 1001)").0, "22012", "{engine}, case {at}");
            drop((reader, before, behind, victim));
        }
        let turns = ways.len();
        let expected = [turns.to_string(), LONG_ROWS.to_string(), turns.to_string()];
        let mut sums = first.column("select sum(n) from long");
        sums.extend(first.column("select count(*) from long"));
        sums.extend(first.column("select n from long where id = 2"));
        assert_eq!(sums, expected, "{engine}");
        first.run("begin; update long set n = 0; delete from a; commit");
        server.engine.audit().unwrap_or_else(|error| panic!("{engine}: {error}"));
    }
}
