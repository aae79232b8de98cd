//! Tests the resident size of a server: it stays within five quarters of the limit whatever clients ask, and falls when
//! they have finished.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

const LIMIT_MIB: usize = 192;

/// A server in a separate process.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(options: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hotrow"));
        let line = format!("serve --in-memory --listen 127.0.0.1:0 --stop-at-eof {options}");
        command.args(line.split_whitespace()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        let address = line.split_whitespace().find_map(|word| word.strip_prefix("127.0.0.1:")).expect("an address");
        let port = address.trim_end_matches(';').parse().expect("a port");
        child.stdout = Some(stdout.into_inner());
        Self { child, port }
    }

    async fn connect(&self) -> Client {
        let target = format!("host=127.0.0.1 port={} user=postgres dbname=postgres", self.port);
        let (client, connection) = tokio_postgres::connect(&target, NoTls).await.expect("a session");
        tokio::spawn(connection);
        client
    }

    /// Reads a field of the process's status, in MiB; `None` if the system does not report it.
    fn mebibytes(&self, field: &str) -> Option<usize> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(field))?;
        Some(line.split_whitespace().next()?.parse::<usize>().ok()? >> 10)
    }

    /// Ends the server in order.
    fn stop(mut self) {
        drop(self.child.stdin.take());
        let status = self.child.wait().expect("the program ends");
        assert!(status.success(), "{status}");
    }
}

/// The code of the error, or "ok".
async fn code(client: &Client, sql: &str) -> String {
    match client.batch_execute(sql).await {
        Ok(()) => "ok".to_owned(),
        Err(error) => error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned()),
    }
}

async fn shown(client: &Client, name: &str) -> String {
    let messages = client.simple_query(&format!("SHOW {name}")).await.expect("a setting");
    let row = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    row.expect("a row").to_owned()
}

/// Statements that each keep more than the memory holds: in a set, in groups, in a sort, in the table of a join, in
/// pieces of a text or an array, between rounds, in large values, in rows of a table, in a window.
const GREEDY: [&str; 11] = [
    "SELECT count(DISTINCT g) FROM generate_series(1, 100000000) AS g",
    "SELECT g, count(*) FROM generate_series(1, 100000000) AS g GROUP BY g",
    "SELECT DISTINCT g FROM generate_series(1, 100000000) AS g OFFSET 100000000",
    "SELECT g FROM generate_series(1, 100000000) AS g ORDER BY g DESC",
    "SELECT count(*) FROM generate_series(1, 9) AS a JOIN generate_series(1, 100000000) AS b ON a = b",
    "SELECT length(string_agg(repeat('x', 1000), ',' ORDER BY g)) FROM generate_series(1, 100000000) AS g",
    "SELECT array_agg(g) FROM generate_series(1, 100000000) AS g",
    "WITH RECURSIVE r (n, t) AS (SELECT 1, repeat('x', 1000000) || 1 UNION ALL SELECT n + 1, t || n FROM r WHERE n < 100000) \
     SELECT count(*) FROM r GROUP BY t",
    "WITH RECURSIVE r (n) AS (SELECT g FROM generate_series(1, 100000000) AS g UNION SELECT n FROM r) SELECT count(*) FROM r",
    "INSERT INTO t SELECT g, repeat('x', 1000) FROM generate_series(1, 100000000) AS g",
    "SELECT rank() OVER (ORDER BY g) FROM generate_series(1, 100000000) AS g",
];

#[tokio::test]
async fn the_resident_size_stays_within_five_quarters_of_the_limit_and_falls() {
    let server = Server::start(&format!("--memory-limit {LIMIT_MIB}MiB --threads 2"));
    let client = server.connect().await;
    client.batch_execute("CREATE TABLE t (id int PRIMARY KEY, name text)").await.expect("a table");
    for sql in GREEDY {
        assert_eq!(code(&client, sql).await, "53200", "{sql}");
        assert_eq!(code(&client, "SELECT 1").await, "ok", "after {sql}");
        let Some(peak) = server.mebibytes("VmHWM:") else { continue };
        assert!(peak <= LIMIT_MIB * 5 / 4, "{peak} MiB of {LIMIT_MIB}: {sql}");
        let resident = server.mebibytes("VmRSS:").expect("as before");
        assert!(resident <= LIMIT_MIB / 2, "{resident} MiB of {LIMIT_MIB} are left of: {sql}");
    }
    // The memory that is left is enough for rows, and the memory that they took is given back.
    let fill = "INSERT INTO t SELECT g, repeat('x', 1000) FROM generate_series(1, 60000) AS g";
    for _ in 0..3 {
        assert_eq!(code(&client, fill).await, "ok");
        assert_eq!(code(&client, "DELETE FROM t WHERE id % 2 = 0").await, "ok");
        assert_eq!(code(&client, "UPDATE t SET name = repeat('y', 900)").await, "ok");
        assert_eq!(code(&client, "TRUNCATE t").await, "ok");
    }
    drop(client);
    server.stop();
}

#[tokio::test]
async fn a_server_that_is_told_no_limit_has_a_share_of_the_memory_that_there_is() {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let server = Server::start("");
    let client = server.connect().await;
    let limit = shown(&client, "hotrow.memory_limit").await;
    match total.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()) {
        Some(total) => {
            let limit: u64 = limit.trim_end_matches(" kB").parse().unwrap_or_else(|_| panic!("{limit}"));
            // A control group may have less memory than the machine.
            assert!(limit <= total / 4 * 3, "{limit} kB of {total} kB");
        }
        None => assert_eq!(limit, "none"),
    }
    drop(client);
    server.stop();
    let server = Server::start("--memory-limit 0");
    assert_eq!(shown(&server.connect().await, "hotrow.memory_limit").await, "none");
    server.stop();
}
