//! The execution models: their duties beyond the answers that clients see.

mod common;

use common::client::{Client, extended};
use common::{ENGINE_OF_ALL_MODELS, OTHER_MODELS, Running, model, models};
use hotrow_server::ServerConfig;
use std::time::{Duration, Instant};

/// Statements that nest or chain in every way that there is, `depth` deep.
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
        around("case when ", "true", " then true else false end"),
        around("coalesce(null, ", "1", ")"),
        around("1 in (", "1", ")::int"),
        around("1 between 0 and (", "1", ")::int"),
        around("(1 in (2, ", "1", "))::int"),
        around("1 + (", "1", ")"),
        around("'a' || ('b' || ", "'c'", ")"),
        around("true and (false or ", "true", ")"),
        around("(select ", "1", ")"),
        around("(select 1 union select ", "1", ")"),
        around("exists (select ", "1", ")"),
        around("array[", "1", "]"),
        around("array(select ", "1", ")"),
        around("", "1", " + 1"),
        around("", "1", " + coalesce(1, 1)"),
        around("", "1", " + (1 + 1)"),
        around("", "1", "::int"),
        around("", "1", " union select 1"),
        around("", "1", " union all (select 1)"),
        around("", "true", " or true"),
        around("", "true", " and 1 in (1, 2)"),
        around("", "'a'", " || 'a'"),
        around("", "'a'", " collate \"C\""),
        around("", "1", " is null"),
        around("", "1", " isnull"),
        around("", "1", " in (1)"),
        around("", "1", " at time zone 'UTC'"),
        around("", "1", "[1]"),
        around("", "1", " from t where true"),
        around("", "1", ", 1"),
        around("1 as a from ", "t", " join t on true"),
        around("cast(1 as ", "array<", "int>"),
        format!("select cast(1 as {}int{})", "array<".repeat(depth), ">".repeat(depth)),
        format!("select cast(1 as int{})", "[]".repeat(depth)),
        format!("create table u (a int{})", "[]".repeat(depth)),
        format!("create table u (a {}int{})", "array<".repeat(depth), ">".repeat(depth)),
        format!("prepare q(int{}) as select $1", "[]".repeat(depth)),
        format!("create procedure q(a int{}) language sql as $$ select 1; $$", "[]".repeat(depth)),
        format!(
            "alter table t add constraint q exclude using gist (a with =) where (true{})",
            " or a > 1".repeat(depth)
        ),
        format!("{}select 1", "explain ".repeat(depth)),
        format!("{}select 1", "prepare p as ".repeat(depth)),
        format!("{}select 1{}", "with a as (".repeat(depth), ") select 1".repeat(depth)),
        format!("{}select 1{}", "/* ".repeat(depth), " */".repeat(depth)),
        format!("insert into t values {}(1){}", "(".repeat(depth), ")".repeat(depth)),
        format!("create table u (a int default {}1{})", "(".repeat(depth), ")".repeat(depth)),
        format!("create table u (a int check (a > 1{}))", " + 1".repeat(depth)),
        format!("create table u (a int check (true{}))", " or a > 1".repeat(depth)),
        format!("alter table t add column a int check (true{})", " or a > 1".repeat(depth)),
        format!("execute p ({}1{})", "(".repeat(depth), ")".repeat(depth)),
        format!("copy (select 1{}) to stdout", " + 1".repeat(depth)),
        format!(
            "create procedure q() language sql as $$ {}select 1;{} $$",
            "if true then ".repeat(depth),
            " end if;".repeat(depth)
        ),
        format!("create procedure q() language sql as $$ select 1{} $$", " or true".repeat(depth)),
    ]
}

/// How a server answers each of them, as a query and prepared, as codes of errors.
fn answers_to_nested(config: ServerConfig) -> Vec<(String, Option<String>)> {
    let server = Running::with(ENGINE_OF_ALL_MODELS, config);
    let mut client = server.client();
    client.run("create table t (id int)");
    let mut answers = Vec::new();
    for depth in [1, 20, 100, 127, 128, 129, 299, 300, 1500, 2500, 5000, 100_000] {
        for sql in nested(depth) {
            let undo = "drop table if exists u; drop procedure if exists q; deallocate all";
            let simple = client.query(&sql).failure.map(|failure| failure.code);
            client.run(undo);
            client.send(&extended(&sql, &[]));
            let prepared = client.answer().failure.map(|failure| failure.code);
            client.run(undo);
            for answer in [simple, prepared] {
                let shown = format!("{depth} times {}…", &sql[..sql.len().min(40)]);
                assert!(answer.as_deref() != Some("XX000"), "{shown}");
                answers.push((shown, answer));
            }
        }
    }
    client.run("create procedure p0() language sql as $$ select 1 $$");
    for number in 1..40 {
        let define = format!("create procedure p{number}() language sql as $$ call p{}() $$", number - 1);
        for sql in [define, format!("call p{number}()")] {
            let answer = client.query(&sql).failure.map(|failure| failure.code);
            answers.push((sql, answer));
        }
    }
    assert_eq!(client.column("SELECT 1"), ["1"]);
    assert_eq!(server.client().column("SELECT 1"), ["1"]);
    answers
}

#[test]
fn however_deep_a_statement_nests_it_ends_with_an_answer_on_each_stack() {
    let [handoff, request, thread] = OTHER_MODELS.map(|other| answers_to_nested(model(other)));
    let least = ServerConfig { stack_bytes: ServerConfig::MIN_STACK_BYTES, ..ServerConfig::default() };
    let (coroutine, least) = (answers_to_nested(ServerConfig::default()), answers_to_nested(least));
    for elsewhere in [handoff, request, coroutine] {
        let different = elsewhere.iter().zip(&thread).find(|(one, other)| one != other);
        assert_eq!(different, None);
    }
    let mut refused = 0;
    for ((sql, answer), (_, elsewhere)) in least.iter().zip(&thread) {
        let too_deep = answer.as_deref() == Some("54001") && elsewhere.is_none();
        assert!(too_deep || answer == elsewhere, "{sql} {answer:?} {elsewhere:?}");
        refused += usize::from(too_deep);
    }
    assert!(refused > 0, "on the smallest stack something does not go that goes elsewhere");
}

/// A server of each model, with one thread.
fn with_one_thread() -> impl Iterator<Item = Running> {
    models().map(|each| {
        Running::with(ENGINE_OF_ALL_MODELS, ServerConfig { threads: 1, max_connections: 2000, ..model(each) })
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

/// Statements that do not end by themselves in a test's time: over rows of a function, a table, a join, and in a sort.
const ENDLESS: [&str; 4] = [
    "SELECT count(*) FROM generate_series(1, 1000000000000)",
    "SELECT count(*) FROM t AS a, t AS b, t AS c, t AS d, t AS e, t AS f",
    "UPDATE t SET n = 1 WHERE (SELECT count(*) FROM generate_series(1, 1000000000000)) = 0",
    "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
];

#[test]
fn a_long_statement_does_not_stall_its_neighbours() {
    for server in with_one_thread() {
        let mut neighbour = server.client();
        neighbour.run("CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL)");
        neighbour.run("INSERT INTO t SELECT g, 0 FROM generate_series(1, 1000) AS g");
        neighbour.run("CREATE TABLE u (id int PRIMARY KEY, n int NOT NULL); INSERT INTO u VALUES (1, 0)");
        for sql in ENDLESS {
            let mut long = server.client();
            long.send_query(sql);
            for _ in 0..20 {
                neighbour.run("UPDATE u SET n = n + 1");
                assert_eq!(server.client().column("SELECT id FROM u"), ["1"]);
            }
            // The statement goes on all the while, and can be cancelled.
            server.cancel(&mut long);
            assert_eq!(long.answer().failure.map(|failure| failure.code), Some("57014".to_owned()), "{sql}");
        }
        assert_eq!(neighbour.column("SELECT n FROM u"), ["80"]);
    }
}

/// Sessions are idle in a block, between blocks, or wait for a lock, and all their workers get a long statement in
/// turn. Wherever their connections are served, none loses its block, its lock, its place in a queue, or an answer.
#[test]
fn sessions_go_on_beside_long_statements_and_after_them() {
    const ROUNDS: usize = 6;
    for each in models() {
        let server = Running::with(ENGINE_OF_ALL_MODELS, ServerConfig { threads: 3, ..model(each) });
        let mut waiting = server.client();
        waiting.run("CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL)");
        waiting.run("INSERT INTO t SELECT g, 0 FROM generate_series(0, 8) AS g; SET lock_timeout = '1d'");
        let mut clients: Vec<_> = (0..8).map(|_| server.client()).collect();
        let mut statements = 0;
        for _ in 0..ROUNDS {
            for client in clients.iter_mut().step_by(2) {
                client.run("BEGIN");
            }
            clients[0].run("UPDATE t SET n = n + 1 WHERE id = 8");
            waiting.send_query("UPDATE t SET n = n + 1 WHERE id = 8");
            let mut long = server.client();
            long.send_query(ENDLESS[0]);
            // Long enough that a worker with such a statement counts as busy.
            let until = Instant::now() + Duration::from_millis(60);
            while Instant::now() < until {
                for (id, client) in clients.iter_mut().enumerate() {
                    client.run(&format!("UPDATE t SET n = n + 1 WHERE id = {id}"));
                }
                statements += 1;
            }
            server.cancel(&mut long);
            assert_eq!(long.answer().failure.map(|failure| failure.code), Some("57014".to_owned()), "{each:?}");
            for client in clients.iter_mut().step_by(2) {
                client.run("COMMIT");
            }
            assert_eq!(waiting.answer().tags, ["UPDATE 1"], "{each:?}");
        }
        let mut expected = vec![statements.to_string(); 8];
        expected.push((2 * ROUNDS).to_string());
        assert_eq!(waiting.column("SELECT n FROM t ORDER BY id"), expected, "{each:?}");
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
    for each in models() {
        let write_timeout = Duration::from_millis(50);
        let server = Running::with(ENGINE_OF_ALL_MODELS, ServerConfig { threads: 1, write_timeout, ..model(each) });
        let mut client = server.client();
        client.run("CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL)");
        let rows: Vec<_> = (0..64).map(|id| format!("({id}, 0)")).collect();
        client.run(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
        let mut deaf = server.client();
        // More than sockets buffer.
        deaf.send_query("BEGIN; UPDATE t SET n = 1; SELECT repeat('x', 1000000) FROM t");
        client.run("SET lock_timeout = '1d'");
        client.run("UPDATE t SET n = n + 1");
        assert_eq!(client.column("SELECT sum(n) FROM t"), ["64"], "{each:?}");
    }
}

/// One client in a transaction and many without one send a statement each while their worker is busy, the one in a
/// transaction last. The numbers that they draw say in which order they were served. A few connections may have been
/// looked at together with the statement that keeps the worker busy.
#[test]
fn who_is_in_a_transaction_is_served_before_most_that_have_sent_before() {
    const OTHERS: usize = 40;
    const NEXT: &str = "select nextval('turn')";
    // Nothing interrupts a single call.
    const BUSY: &str = "select md5(repeat('ab', 10000000))";
    let server = Running::with(ENGINE_OF_ALL_MODELS, ServerConfig { threads: 1, ..ServerConfig::default() });
    let [mut holder, mut busy] = [(); 2].map(|()| server.client());
    let mut others: Vec<_> = (0..OTHERS).map(|_| server.client()).collect();
    holder.run("create table t (id int); create sequence turn");
    holder.run("begin; insert into t values (1)");
    let turn =
        |client: &mut Client| client.answer().rows[0][0].clone().expect("a number").parse::<usize>().expect("one");
    // The statement may be over before all clients have sent theirs. Then they are served as they come, the last one
    // last.
    let is_early = || {
        busy.send_query(BUSY);
        others.iter_mut().for_each(|other| other.send_query(NEXT));
        holder.send_query(NEXT);
        let own = turn(&mut holder);
        let of_others: Vec<_> = others.iter_mut().map(turn).collect();
        busy.answer();
        of_others.iter().filter(|&&other| other < own).count() < OTHERS / 2
    };
    assert!(std::iter::repeat_with(is_early).take(50).any(|early| early), "it was always among the last");
}
