//! Transactions that are planned before they begin, over the wire: in each form of the protocol they exclude only those who
//! touch the same.

mod common;

use common::Running;
use common::client::{Answer, Client, execute, extended, message, parse};

/// More than sockets buffer: its sender's transaction is open until its receiver reads on.
const LONG: &str = "select repeat('x', 1000000) from long";
const LONG_ROWS: usize = 64;

const TABLES: &str = "
    create table long (id int primary key, n int not null);
    create table a (id int primary key, n int not null);
    insert into a values (1, 0), (2, 0);
    create procedure add(key int, amount int, out left_over int) language sql as $$
        update a set n = n + amount where id = key returning n into left_over $$";

/// The engines that need access sets.
fn engines() -> impl Iterator<Item = &'static str> {
    let engines = hotrow_protocols::ENGINES.iter().filter(|info| info.needs_accesses && info.isolates);
    engines.map(|info| info.name)
}

/// A client in the midst of whose query the others work: it reads all of `long`.
fn reader(server: &Running) -> Client {
    let mut reader = server.client();
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
        let mut client = server.client();
        client.run(TABLES);
        let rows: Vec<_> = (0..LONG_ROWS).map(|id| format!("({id}, 0)")).collect();
        client.run(&format!("insert into long values {}", rows.join(", ")));
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
        let cases = [
            (query("update a set n = n + 1 where id = 1"), "UPDATE 1"),
            (query("update a set n = n + 1 where id = 1; select n from a where id = 1"), "2 UPDATE 1 SELECT 1"),
            (query("call add(1, 1, null)"), "3 CALL"),
            (extended(update, &["1", "1"]), "UPDATE 1"),
            (extended("call add($1, $2, null)", &["1", "1"]), "5 CALL"),
            (prepared("update", &["1", "1"]), "UPDATE 1"),
            (prepared("call", &["1", "1"]), "7 CALL"),
            // Those who touch what is being read wait for it.
            (query("update long set n = 1 where id = 7"), "55P03"),
            (extended("update long set n = $1 where id = $2", &["1", "7"]), "55P03"),
            // Of these nobody knows what they will touch.
            (pipeline.clone(), "55P03"),
            (query("begin; select n from a where id = 1"), "55P03"),
            (query("rollback"), "ROLLBACK"),
        ];
        let mut reader = reader(&server);
        for (at, (messages, expected)) in cases.into_iter().enumerate() {
            client.send(&messages);
            assert_eq!(shown(client.answer()), expected, "{engine}, case {at}");
        }
        assert_eq!(reader.answer().rows.len(), LONG_ROWS - 1, "{engine}");
        client.send(&pipeline);
        assert_eq!(shown(client.answer()), "UPDATE 1 UPDATE 1", "{engine}");
        assert_eq!(client.column("select n from a order by id"), ["15", "8"], "{engine}");
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
