//! The memory limit: a statement that would need more is refused, and everything else goes on.

mod common;

use common::client::{Client, execute, extended, message, parse};
use common::{DEFAULT_MODEL, Model, Running, model, models};
use hotrow_server::{Execution, ServerConfig};
use hotrow_sql::{Config, MemoryLimit};
use hotrow_sync::meter::{self, Metered};
use hotrow_sync::thread;

#[global_allocator]
static ALLOCATOR: Metered<mimalloc::MiMalloc> = Metered(mimalloc::MiMalloc);

const MEBIBYTE: usize = 1 << 20;

/// The memory that a server may take. The allocator of this process keeps 10 to 20 MiB more or less from one run to the
/// next, and what it keeps counts.
const ROOM: usize = 48 * MEBIBYTE;

/// A server that may take so much more than is in use now, and its limit.
fn server(engine: &str, of: Model) -> (Running, usize) {
    let limit = meter::used_bytes().max(meter::measure()) + ROOM;
    let sql = Config { memory_limit: MemoryLimit::new(limit), ..Config::default() };
    let engine = hotrow_protocols::open(engine).expect("the engine is in the registry");
    let config = ServerConfig { threads: 2, ..model(of) };
    (Running::with_sql(engine, config, sql), limit)
}

const ROWS: usize = 200;

/// Rows of two kibibytes each, from this number on.
fn insert(table: &str, from: usize) -> String {
    let rows: Vec<_> = (from..from + ROWS).map(|id| format!("({id}, repeat('x', 2000))")).collect();
    format!("INSERT INTO {table} VALUES {}", rows.join(", "))
}

/// Inserts rows from a number on until one is refused, and returns the number of that one.
fn fill(client: &mut Client, table: &str, from: usize) -> usize {
    let mut rows = from;
    loop {
        let answer = client.query(&insert(table, rows));
        match answer.failure {
            None => rows += ROWS,
            Some(failure) => {
                assert_eq!((failure.code.as_str(), failure.message.as_str()), ("53200", "out of memory"));
                return rows;
            }
        }
    }
}

/// Sends rows by COPY, more than there is memory for.
fn copy(client: &mut Client, from: usize) -> String {
    client.send_query("COPY t FROM STDIN");
    assert_eq!(client.read().0, b'G');
    for piece in 0..400 {
        let rows: String = (0..50).map(|row| format!("{}\t{}\n", from + piece * 50 + row, "y".repeat(2000))).collect();
        client.send(&message(b'd', rows.as_bytes()));
    }
    client.send(&message(b'c', b""));
    client.answer().failure.expect("it does not fit").code
}

fn count(client: &mut Client) -> usize {
    client.column("SELECT count(*) FROM t")[0].parse().expect("a number")
}

/// Running transactions collect garbage bit by bit.
fn until_accepted(client: &mut Client, sql: &str) {
    while let Some(failure) = client.query(sql).failure {
        assert_eq!(failure.code, "53200", "{sql}");
    }
}

fn check_that_it_ends_and_goes_on(engine: &str, of: Model) {
    let (server, limit) = server(engine, of);
    let mut client = server.client();
    assert_eq!(client.column("SHOW hotrow.memory_limit"), [format!("{} kB", limit >> 10)]);
    client.run("CREATE TABLE t (id int PRIMARY KEY, name text)");

    let rows = fill(&mut client, "t", 0);
    assert!(rows * 2000 > ROOM / 2, "{engine}: {rows} rows");
    assert_eq!(count(&mut client), rows, "{engine}: a statement that is refused does nothing");
    assert_eq!(copy(&mut client, rows), "53200");
    assert_eq!(count(&mut client), rows, "{engine}: neither does COPY");
    assert_eq!(client.fails("CREATE INDEX ON t (name)").0, "53200");

    // Reads go on, and what does not fit is refused.
    client.run("SELECT name FROM t WHERE id = 7; SELECT id FROM t WHERE id < 100 ORDER BY id DESC");
    client.send(&extended("SELECT name FROM t WHERE id = $1", &["7"]));
    assert_eq!(client.answer().rows.len(), 1);
    assert_eq!(client.fails("SELECT * FROM t ORDER BY name").0, "53200");
    assert_eq!(client.fails("SELECT name, rank() OVER (ORDER BY name) FROM t").0, "53200");
    assert_eq!(client.run("SELECT name FROM t").rows.len(), rows);

    // A transaction that is refused can be rolled back, and one that deletes makes room.
    client.run("BEGIN; DELETE FROM t WHERE id = 0");
    fill(&mut client, "t", rows);
    assert_eq!(client.fails("SELECT 1"), ("25P02".to_owned(), 'E'));
    client.run("ROLLBACK");
    assert_eq!(count(&mut client), rows);
    client.run(&format!("DELETE FROM t WHERE id >= {}", rows / 2));
    until_accepted(&mut client, &insert("t", rows));
    until_accepted(&mut client, "UPDATE t SET name = repeat('z', 2000) WHERE id < 10");

    fill(&mut client, "t", 10 * rows);
    client.run("DROP TABLE t");
    until_accepted(&mut client, "CREATE TABLE t (id int PRIMARY KEY, name text)");
    until_accepted(&mut client, &insert("t", 0));
    fill(&mut client, "t", ROWS);
    client.run("TRUNCATE t");
    until_accepted(&mut client, &insert("t", 0));
}

/// Clients that all write at once do not come far past the limit.
fn check_that_many_are_bounded(of: Model) {
    let (server, limit) = server("2pl-timeout", of);
    let address = server.address;
    let mut client = server.client();
    for table in 0..8 {
        client.run(&format!("CREATE TABLE t{table} (id int PRIMARY KEY, name text)"));
    }
    let clients: Vec<_> = (0..8)
        .map(|table| {
            thread::spawn(move || {
                let mut client = Client::connect(address);
                fill(&mut client, &format!("t{table}"), 0);
                meter::used_bytes()
            })
        })
        .collect();
    for used in clients {
        let used = used.join().expect("no panic");
        let bound = limit + limit / 8 + meter::SLACK_BYTES + 4 * MEBIBYTE;
        assert!(used < bound, "{} of {} MiB", used / MEBIBYTE, limit / MEBIBYTE);
    }
}

/// One client that sends what is too long, or keeps too much.
fn check_that_one_client_is_bounded(of: Model) {
    let (server, limit) = server("2pl-timeout", of);
    let mut client = server.client();
    client.run("CREATE TABLE t (id int PRIMARY KEY, name text)");
    let long = "x".repeat(1000);
    let mut greedy = server.client();
    greedy.send(&parse("s", "SELECT $1::text"));
    let mut refused = None;
    for number in 0..20_000 {
        let prepared = parse(&format!("s{number}"), &format!("SELECT '{}'", long.repeat(20)));
        greedy.send(&[prepared, message(b'S', b"")].concat());
        if let Some(failure) = greedy.answer().failure {
            refused = Some(failure.code);
            break;
        }
    }
    assert_eq!(refused.as_deref(), Some("53200"), "prepared statements");
    assert_eq!(client.column("SELECT 1"), ["1"]);
    drop(greedy);

    let mut greedy = server.client();
    greedy.send(&parse("", "SELECT $1::text"));
    // The error comes before the client has sent everything, and then the connection is closed.
    let pieces = limit / MEBIBYTE + 100;
    let mut header = vec![b'B'];
    header.extend(((pieces * MEBIBYTE) as u32).to_be_bytes());
    greedy.send(&header);
    let piece = vec![b'x'; MEBIBYTE];
    let sent = (0..pieces).take_while(|_| std::io::Write::write_all(&mut greedy.stream, &piece).is_ok()).count();
    assert!(sent < pieces, "a message that is too long for the memory is not taken");
    let used = meter::used_bytes();
    assert!(used < limit + limit / 8 + meter::SLACK_BYTES, "{} of {} MiB", used / MEBIBYTE, limit / MEBIBYTE);
    until_accepted(&mut client, &insert("t", 0));
    client.send(&[parse("", "SELECT $1"), execute("", &["abc"]), message(b'S', b"")].concat());
    assert_eq!(client.answer().failure, None);
}

/// Texts that take more to read than there is, and values that do.
fn check_that_statements_are_bounded(of: Model) {
    let (server, limit) = server("2pl-timeout", of);
    let mut client = server.client();
    client.run("CREATE TABLE t (id int PRIMARY KEY, name text)");
    let most = limit + limit / 8 + meter::SLACK_BYTES + 4 * MEBIBYTE;
    // A kibibyte is set aside for each token, and sixteen for each query: each text needs more than the limit.
    let kibibytes = most / 1024;
    let of_lists = format!("SELECT * FROM t WHERE id IN ({}1)", "1,".repeat(kibibytes / 2));
    let of_queries = format!("SELECT 1{}", ", (SELECT 1)".repeat(kibibytes / 8 / 16));
    for long in [&of_lists, &format!("{of_queries};").repeat(8), &"SELECT 1;".repeat(kibibytes / 16)] {
        let (code, _) = client.fails(long);
        assert_eq!(code, "53200", "{}…", &long[..40]);
        client.send(&[parse("", long), message(b'S', b"")].concat());
        let Some(failure) = client.answer().failure else { panic!("{}… is not refused", &long[..40]) };
        assert!(["53200", "42601"].contains(&failure.code.as_str()), "{failure:?}");
        assert!(meter::used_bytes() < most);
    }
    // More than is free, and less than the longest value.
    let value = limit + limit / 8 + 8 * MEBIBYTE - meter::used_bytes();
    assert!(value < 256 * MEBIBYTE, "{} MiB", value / MEBIBYTE);
    for large in [
        format!("SELECT length(repeat('x', {value}))"),
        // Four bytes are set aside for each character.
        format!("SELECT length(lpad('x', {}))", value / 4),
        format!("SELECT length(replace(repeat('x', {}), 'x', 'twelve bytes'))", value / 12),
        format!("SELECT length(a || a || a) FROM (SELECT repeat('x', {}) AS a) AS b", value / 3),
        format!("SELECT length(upper(a) || lower(a)) FROM (SELECT repeat('x', {}) AS a) AS b", value / 3),
        format!("SELECT length(concat(a, a, a)) FROM (SELECT repeat('x', {}) AS a) AS b", value / 3),
        format!("SELECT length(repeat('x', {})::bytea::text)", value / 3),
    ] {
        assert_eq!(client.fails(&large), ("53200".to_owned(), 'I'), "{large}");
    }
    client.run("INSERT INTO t VALUES (1, repeat('x', 1000000)); SELECT upper(name) FROM t");
    let body = "CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN COMMIT_HERE END $$"
        .replace("COMMIT_HERE", &"UPDATE t SET name = 'x' WHERE id = 1;".repeat(5000));
    assert_eq!(client.fails(&body).0, "54000");
}

/// A transaction that looks at the same rows again and again, and has to remember each time.
fn check_that_what_was_read_is_bounded() {
    let (server, limit) = server("mvo", DEFAULT_MODEL);
    let (mut client, mut other) = (server.client(), server.client());
    client.run("CREATE TABLE t (id int PRIMARY KEY, name text)");
    for rows in (1..=10_000).collect::<Vec<_>>().chunks(500) {
        let rows: Vec<_> = rows.iter().map(|id| format!("({id}, 'x')")).collect();
        client.run(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
    }
    client.run("BEGIN ISOLATION LEVEL SERIALIZABLE; UPDATE t SET name = 'y' WHERE id = 1");
    let refused = (0..5000).find_map(|_| client.query("SELECT count(*) FROM t").failure);
    assert_eq!(refused.expect("it cannot go on for ever").code, "53200");
    let used = meter::used_bytes();
    assert!(used < limit + limit / 8 + meter::SLACK_BYTES + 4 * MEBIBYTE, "{used} of {limit}");
    client.run("ROLLBACK");
    other.run("UPDATE t SET name = 'z' WHERE id = 1");
    assert_eq!(client.column("SELECT name FROM t WHERE id = 1"), ["z"]);
}

/// The memory of a client that has sent something and is idle now.
fn check_that_idle_clients_are_cheap(of: Model) {
    const CLIENTS: usize = 1000;
    let config = ServerConfig { threads: 2, max_connections: CLIENTS, ..model(of) };
    let server = Running::with("2pl-timeout", config);
    let before = meter::used_bytes();
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| server.client()).collect();
    for client in &mut clients {
        client.run("SELECT 1");
        assert_eq!(client.column("SELECT repeat('x', 100000)")[0].len(), 100_000);
    }
    let each = meter::used_bytes().saturating_sub(before + meter::SLACK_BYTES) / CLIENTS;
    assert!(each < 12 << 10, "{of:?}: {each} bytes for each client");
}

/// All memory in use counts, whatever uses it: the tests run one after the other.
#[test]
fn memory_ends_and_the_server_goes_on() {
    for of in models().filter(|(execution, _)| *execution != Execution::Thread) {
        check_that_idle_clients_are_cheap(of);
    }
    for engine in ["ilock", "2pl-timeout", "mvo", "1v"] {
        check_that_it_ends_and_goes_on(engine, DEFAULT_MODEL);
    }
    for of in models() {
        check_that_it_ends_and_goes_on("2pl-timeout", of);
        check_that_many_are_bounded(of);
        check_that_one_client_is_bounded(of);
        check_that_statements_are_bounded(of);
    }
    check_that_what_was_read_is_bounded();
}
