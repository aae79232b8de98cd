//! Tests of the program with a data directory: ends of all kinds, refusals, backups, and clients that keep a ledger of
//! what they were told.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

/// A folder for one test, empty at first.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("durability").join(name);
    // What an earlier run has left.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

fn hotrow(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotrow"));
    command.args(arguments).stdin(Stdio::null()).output().expect("the program starts")
}

/// Runs the program, and checks its exit code and that it printed each of `expected`, on either stream.
fn check(arguments: &[&str], code: i32, expected: &[&str]) {
    let output = hotrow(arguments);
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "hotrow {arguments:?}\n{text}");
    for expected in expected {
        assert!(text.contains(expected), "hotrow {arguments:?}: {expected:?} is not in\n{text}");
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in Unicode")
}

/// A server in a separate process, which is killed when the object is dropped.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(data: &Path, options: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hotrow"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).args(options.split_whitespace());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        let address = line.split_whitespace().find_map(|word| word.strip_prefix("127.0.0.1:"));
        let port = address.and_then(|port| port.trim_end_matches(';').parse().ok());
        let port = port.unwrap_or_else(|| panic!("no server in {}: {line}", data.display()));
        child.stdout = Some(stdout.into_inner());
        Self { child, port }
    }

    fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    async fn connect(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.url(), NoTls).await.expect("a session");
        tokio::spawn(connection);
        client
    }

    /// Ends the server in order.
    fn stop(mut self) {
        let status = Command::new("kill").arg(self.child.id().to_string()).status();
        assert!(status.expect("there is a kill command").success());
        let status = self.child.wait().expect("the program ends");
        assert!(status.success(), "{status}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The rows of a query, as text.
async fn rows(client: &Client, sql: &str) -> Vec<String> {
    let messages = client.simple_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let row = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|at| row.get(at).unwrap_or("null")).collect::<Vec<_>>().join("|"))
        }
        _ => None,
    };
    messages.iter().filter_map(row).collect()
}

async fn run(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

const TABLES: &str = "
    CREATE TABLE branches (bid int PRIMARY KEY, balance bigint NOT NULL);
    CREATE TABLE tellers (tid int PRIMARY KEY, bid int NOT NULL REFERENCES branches, balance bigint NOT NULL);
    CREATE TABLE accounts (aid int PRIMARY KEY, bid int NOT NULL, balance bigint NOT NULL);
    CREATE TABLE history (id bigserial PRIMARY KEY, client int NOT NULL, number int NOT NULL, delta bigint NOT NULL,
        note text, UNIQUE (client, number));
    INSERT INTO branches VALUES (1, 0), (2, 0);
    INSERT INTO tellers SELECT g, 1 + g % 2, 0 FROM generate_series(1, 10) g;
    INSERT INTO accounts SELECT g, 1 + g % 2, 0 FROM generate_series(1, 1000) g";

const CLIENTS: usize = 50;

/// Runs transactions as TPC-B has them until the server is gone. Returns how many were acknowledged.
async fn work(client: Client, number: usize, first: usize, seed: u64) -> usize {
    let mut acknowledged = first;
    let mut random = seed;
    loop {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (account, teller, branch) = (random >> 33, random >> 40, random >> 50);
        let (account, teller, branch) = (account % 1000 + 1, teller % 10 + 1, branch % 2 + 1);
        let delta = (random >> 20) as i64 % 1000;
        let next = acknowledged + 1;
        let sql = format!(
            "BEGIN; UPDATE accounts SET balance = balance + {delta} WHERE aid = {account};
             UPDATE tellers SET balance = balance + {delta} WHERE tid = {teller};
             UPDATE branches SET balance = balance + {delta} WHERE bid = {branch};
             INSERT INTO history (client, number, delta, note) VALUES ({number}, {next}, {delta}, 'of {number}');
             COMMIT"
        );
        match client.batch_execute(&sql).await {
            Ok(()) => acknowledged = next,
            Err(error) if error.code().is_some_and(|code| ["40001", "40P01", "55P03"].contains(&code.code())) => {
                if client.batch_execute("ROLLBACK").await.is_err() {
                    return acknowledged;
                }
            }
            Err(_) => return acknowledged,
        }
    }
}

/// Checks what is there against what the clients know.
async fn check_ledger(client: &Client, acknowledged: &[usize], round: &str) -> Vec<usize> {
    let sums =
        "SELECT (SELECT coalesce(sum(balance), 0) FROM branches), (SELECT coalesce(sum(balance), 0) FROM tellers),
        (SELECT coalesce(sum(balance), 0) FROM accounts), (SELECT coalesce(sum(delta), 0) FROM history)";
    let sums = rows(client, sums).await;
    let mut different: Vec<_> = sums[0].split('|').collect();
    different.dedup();
    assert_eq!(different.len(), 1, "{round}: the four sums are {}", sums[0]);
    let clients = rows(client, "SELECT client, count(*), max(number) FROM history GROUP BY client").await;
    let mut there = vec![0; acknowledged.len()];
    for found in clients {
        let found: Vec<usize> = found.split('|').map(|number| number.parse().expect("a number")).collect();
        let [number, count, last] = found[..] else { panic!("{found:?} are no three columns") };
        assert_eq!(count, last, "{round}: client {number} has a gap");
        if let Some(there) = there.get_mut(number) {
            *there = count;
        }
    }
    for (number, (told, there)) in acknowledged.iter().zip(&there).enumerate() {
        // The last one may be there although the client was not told.
        assert!((*told..=told + 1).contains(there), "{round}: client {number} was told of {told}, {there} are there");
    }
    there
}

/// Kills the server again and again under clients, with checkpoints all the time. `HOTROW_KILL_ROUNDS` says how often.
#[tokio::test]
async fn what_was_acknowledged_survives_sigkill() {
    let rounds = std::env::var("HOTROW_KILL_ROUNDS").map_or(3, |rounds| rounds.parse().expect("a number of rounds"));
    let data = folder("kill").join("data");
    let engines = ["ilock", "mvo", "2pl-waitdie", "mvl", "vll", "sli"];
    let mut acknowledged = vec![0; CLIENTS];
    let mut total = 0;
    for round in 0..rounds {
        let engine = engines[round % engines.len()];
        let server = Server::start(&data, &format!("--engine {engine} --checkpoint-after 256KiB"));
        let about = format!("round {round}, {engine}");
        let client = server.connect().await;
        if round == 0 {
            run(&client, TABLES).await;
        } else {
            acknowledged = check_ledger(&client, &acknowledged, &about).await;
        }
        let mut working = Vec::new();
        for (number, &first) in acknowledged.iter().enumerate() {
            let client = server.connect().await;
            let seed = (round * CLIENTS + number) as u64 + 1;
            working.push(tokio::spawn(work(client, number, first, seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))));
        }
        // The clients work meanwhile.
        tokio::time::sleep(Duration::from_millis(400 + (round as u64 * 137) % 700)).await;
        drop(server);
        let before: usize = acknowledged.iter().sum();
        for (told, working) in acknowledged.iter_mut().zip(working) {
            *told = working.await.expect("no panic");
        }
        total += acknowledged.iter().sum::<usize>() - before;
        if (round + 1) % 20 == 0 {
            println!("{} rounds, {total} acknowledged transactions", round + 1);
        }
    }
    let server = Server::start(&data, "");
    let client = server.connect().await;
    check_ledger(&client, &acknowledged, "the end").await;
    assert!(total > rounds * CLIENTS, "only {total} transactions in {rounds} rounds");
    println!("{rounds} rounds, {total} acknowledged transactions");
}

#[tokio::test]
async fn everything_is_there_after_a_restart_under_another_engine() {
    let data = folder("restart").join("deep/data");
    let server = Server::start(&data, "--durability async --metrics 127.0.0.1:0");
    let client = server.connect().await;
    run(&client, TABLES).await;
    run(
        &client,
        "CREATE SCHEMA s; CREATE VIEW s.v AS SELECT count(*) AS n FROM accounts; COMMENT ON VIEW s.v IS 'of all';
         CREATE INDEX accounts_bid ON accounts (bid); ALTER TABLE accounts ADD COLUMN extra text DEFAULT 'x';
         INSERT INTO history (client, number, delta) VALUES (1, 1, 0)",
    )
    .await;
    let columns =
        "SELECT table_name, column_name, data_type, column_default, is_nullable FROM information_schema.columns
        WHERE table_schema IN ('public', 's') ORDER BY 1, ordinal_position";
    let indexes = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1";
    let objects = "SELECT relname, oid, relkind FROM pg_class WHERE oid >= 16384 ORDER BY 1";
    let mut before = Vec::new();
    for sql in [columns, indexes, objects, "SELECT n FROM s.v", "SELECT obj_description('s.v'::regclass)"] {
        before.push(rows(&client, sql).await);
    }
    server.stop();
    let server = Server::start(&data, "--engine mvo");
    let client = server.connect().await;
    for (sql, before) in
        [columns, indexes, objects, "SELECT n FROM s.v", "SELECT obj_description('s.v'::regclass)"].iter().zip(before)
    {
        assert_eq!(rows(&client, sql).await, before, "{sql}");
    }
    // The end was in order, so the sequence has no gap.
    let added = rows(&client, "INSERT INTO history (client, number, delta) VALUES (1, 2, 0) RETURNING id").await;
    assert_eq!(added, ["2"]);
    assert_eq!(rows(&client, "SHOW data_directory").await, [text(&data)]);
    run(&client, "CHECKPOINT").await;
    let log = rows(&client, "SHOW hotrow.log").await;
    assert!(log[0].contains("checkpoint at "), "{log:?}");
}

#[tokio::test]
async fn a_backup_is_made_while_clients_write_and_restored_to_any_point() {
    let base = folder("backup");
    let data = base.join("data");
    let server = Server::start(&data, "--checkpoint-after 256KiB");
    let client = server.connect().await;
    run(&client, TABLES).await;
    let mut working = Vec::new();
    for number in 0..8 {
        working.push(tokio::spawn(work(server.connect().await, number, 0, number as u64 + 1)));
    }
    // The clients work meanwhile.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let known = rows(&client, "SELECT client, max(number) FROM history GROUP BY client ORDER BY client").await;
    let copy = base.join("copy");
    let (url, copied) = (server.url(), text(&copy).to_owned());
    let made = tokio::task::spawn_blocking(move || check(&["backup", "--url", &url, &copied], 0, &["backup in "]));
    made.await.expect("the backup is made");
    let refused = client.batch_execute(&format!("BACKUP TO '{}'", text(&copy))).await.expect_err("it is there");
    assert_eq!(refused.code().map(|code| code.code()), Some("22023"), "{refused}");
    run(&client, "CHECKPOINT").await;
    drop(server);
    for working in working {
        working.await.expect("no panic");
    }
    check(&["log", "check", text(&copy)], 0, &["checkpoint at ", "log up to "]);
    let restored = base.join("restored");
    check(&["restore", text(&copy), "--data", text(&restored)], 0, &["restored ", "up to position "]);
    let server = Server::start(&restored, "--engine mvl");
    let client = server.connect().await;
    let there = rows(&client, "SELECT client, max(number) FROM history GROUP BY client ORDER BY client").await;
    assert_eq!(there.len(), known.len());
    for (there, known) in there.iter().zip(&known) {
        let (there, known) = (there.split_once('|'), known.split_once('|'));
        let number = |(client, number): (&str, &str)| (client.to_owned(), number.parse::<usize>().expect("a number"));
        assert!(there.map(number) >= known.map(number), "what was there before the backup began is in it");
    }
    check_sums(&client).await;
    server.stop();
    // The directory itself goes on, and so does what is made of it at an earlier time.
    check(&["log", "check", text(&data)], 0, &["log up to "]);
    check(&["log", "show", text(&data)], 0, &[]);
    let early = base.join("early");
    check(&["restore", text(&data), "--data", text(&early), "--until", "2001-01-01"], 1, &["which is later"]);
    let again = base.join("again");
    check(&["backup", "--data", text(&data), text(&again)], 0, &["backup in "]);
    check(&["backup", "--data", text(&data), text(&again)], 1, &["the destination is not empty"]);
    check(&["serve", "--data", text(&copy)], 1, &["this is a backup", "hotrow restore"]);
}

async fn check_sums(client: &Client) {
    check_ledger(client, &[], "the sums").await;
}

#[tokio::test]
async fn directories_that_cannot_be_used_are_refused_and_left_alone() {
    let base = folder("refused");
    let data = base.join("data");
    let server = Server::start(&data, "--checkpoint-after 256KiB");
    let client = server.connect().await;
    run(&client, TABLES).await;
    run(&client, "CHECKPOINT").await;
    run(&client, "INSERT INTO branches VALUES (3, 0)").await;
    check(&["serve", "--data", text(&data)], 1, &["another process uses the data directory"]);
    check(&["log", "check", text(&data)], 1, &["another process uses the data directory"]);
    server.stop();

    let others = base.join("others");
    fs::create_dir(&others).expect("a new folder");
    fs::write(others.join("letter.txt"), "Dear all").expect("room");
    check(&["serve", "--data", text(&others)], 1, &["there is letter.txt", "expected a data directory"]);
    check(&["serve", "--data", text(&others.join("letter.txt"))], 1, &["letter.txt"]);
    check(&["log", "check", text(&base.join("nothing"))], 2, &["expected a data directory or a backup"]);

    let format = fs::read(data.join("FORMAT")).expect("it is there");
    fs::write(data.join("FORMAT"), "hotrow data directory, format 99\n").expect("room");
    check(&["serve", "--data", text(&data)], 1, &["has format 99", "nothing was changed"]);
    fs::write(data.join("FORMAT"), format).expect("room");

    let damaged = fs::read_dir(data.join("tables")).expect("a folder").next().expect("a file").expect("a file").path();
    let whole = fs::read(&damaged).expect("it is there");
    let mut bytes = whole.clone();
    bytes[whole.len() / 2] ^= 0x10;
    fs::write(&damaged, &bytes).expect("room");
    let before = contents(&data);
    check(&["serve", "--data", text(&data)], 1, &["tables/", "is damaged at byte "]);
    check(&["log", "check", text(&data)], 1, &["is damaged at byte ", "is damaged at one place"]);
    assert!(contents(&data) == before, "nothing is changed");
    fs::write(&damaged, &whole).expect("room");
    let server = Server::start(&data, "");
    let client = server.connect().await;
    assert_eq!(rows(&client, "SELECT count(*) FROM branches").await, ["3"]);
}

/// The names of all files of a data directory but the lock, with their bytes.
fn contents(data: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for folder in [data.to_owned(), data.join("log"), data.join("tables")] {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_file() && !path.ends_with("LOCK") {
                files.push((path.clone(), fs::read(path).expect("it can be read")));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn wrong_lines_say_what_was_expected() {
    for (line, code, expected) in [
        ("serve --in-memory --data x", 2, &["cannot be used with"][..]),
        ("serve --in-memory --durability off", 2, &["cannot be used with"]),
        ("serve --durability maybe", 2, &["possible values: sync, async, off"]),
        ("serve --checkpoint-after 1", 2, &["expected a number of bytes", "at least 64KiB"]),
        ("serve --checkpoint-after lots", 2, &["expected a number of bytes", "64MiB"]),
        ("serve --data /proc/nothing", 1, &["/proc/nothing"]),
        ("backup", 2, &["--url", "DEST"]),
        ("backup /nowhere/else", 2, &["--url <postgres://"]),
        ("backup --url mysql://x dest", 2, &["expected postgres://USER:PASSWORD@HOST:PORT/DATABASE"]),
        ("backup --data /nowhere dest", 2, &["/nowhere: expected a data directory"]),
        ("backup --url postgres://a@127.0.0.1:1/b dest", 1, &["127.0.0.1:1"]),
        ("restore /nowhere --data x", 2, &["/nowhere", "expected a data directory or a backup"]),
        ("restore /tmp", 2, &["--data"]),
        ("restore /tmp --data x --until yesterday", 2, &["expected a time such as", "or a position"]),
        ("log", 2, &["check", "show"]),
        ("log look", 2, &["unrecognized"]),
        ("log show /nowhere", 2, &["/nowhere"]),
    ] {
        check(&line.split_whitespace().collect::<Vec<_>>(), code, expected);
    }
}

/// A file system in a file, which is unmounted when the object is dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn new(base: &Path, mebibytes: u64) -> Self {
        let (image, point) = (base.join("image"), base.join("mounted"));
        let file = fs::File::create(&image).expect("room");
        file.set_len(mebibytes << 20).expect("room");
        fs::create_dir(&point).expect("a new folder");
        for command in [vec!["mkfs.ext4", "-q", text(&image)], vec!["mount", "-o", "loop", text(&image), text(&point)]]
        {
            let status = Command::new(command[0]).args(&command[1..]).status().expect("there is such a command");
            assert!(status.success(), "{command:?}");
        }
        Self(point)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A file system that cannot be unmounted is the system's to clear.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Returns the code of the error of a statement, or an empty text.
async fn code(client: &Client, sql: &str) -> String {
    let error = client.batch_execute(sql).await.err();
    error.and_then(|error| Some(error.code()?.code().to_owned())).unwrap_or_default()
}

/// Mounts a file system, which only root may, so it runs if `HOTROW_MOUNT` is set.
#[tokio::test]
async fn a_full_disk_refuses_changes_and_the_server_goes_on_when_there_is_room() {
    if std::env::var_os("HOTROW_MOUNT").is_none() {
        return;
    }
    let base = folder("full");
    let mounted = Mounted::new(&base, 96);
    let filler = mounted.0.join("filler");
    fs::write(&filler, vec![1; 40 << 20]).expect("room");
    let data = mounted.0.join("data");
    let server = Server::start(&data, "--checkpoint-after 2MiB");
    let client = server.connect().await;
    run(&client, "CREATE TABLE t (id int PRIMARY KEY, v text)").await;
    let other = server.connect().await;
    let mut rows_there = 0;
    let refused = loop {
        // A transaction that has begun to change something can end.
        run(&other, "BEGIN").await;
        let begun = code(&other, &format!("INSERT INTO t VALUES ({}, 'begun')", -rows_there - 1)).await;
        let refused = code(&client, &format!("INSERT INTO t VALUES ({rows_there}, repeat('x', 200000))")).await;
        if begun.is_empty() {
            run(&other, "COMMIT").await;
        } else {
            run(&other, "ROLLBACK").await;
        }
        if !refused.is_empty() {
            break refused;
        }
        rows_there += 1;
        assert!(rows_there < 10_000, "the disk has no end");
    };
    assert_eq!(refused, "53100");
    assert_eq!(rows(&client, "SELECT count(*) FROM t WHERE id >= 0").await, [rows_there.to_string()]);
    assert_eq!(code(&client, "CREATE TABLE u (id int PRIMARY KEY)").await, "53100");
    fs::remove_file(&filler).expect("it is there");
    let mut tries = 0;
    while !code(&client, &format!("INSERT INTO t VALUES ({rows_there}, 'again')")).await.is_empty() {
        // The server looks for room now and then.
        tokio::time::sleep(Duration::from_millis(100)).await;
        tries += 1;
        assert!(tries < 600, "there is room again");
    }
    drop(server);
    let server = Server::start(&data, "");
    let client = server.connect().await;
    let there = rows(&client, "SELECT count(*), max(id) FROM t WHERE id >= 0").await;
    assert_eq!(there, [format!("{}|{rows_there}", rows_there + 1)]);
}

#[tokio::test]
async fn a_database_in_memory_refuses_what_needs_a_directory() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotrow"));
    command.args(["serve", "--in-memory", "--listen", "127.0.0.1:0", "--stop-at-eof"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    let port = line.split_whitespace().find_map(|word| word.strip_prefix("127.0.0.1:")).expect("an address");
    let target = format!("host=127.0.0.1 port={} user=postgres dbname=postgres", port.trim_end_matches(';'));
    let (client, connection) = tokio_postgres::connect(&target, NoTls).await.expect("a session");
    tokio::spawn(connection);
    run(&client, "CHECKPOINT").await;
    let refused = client.batch_execute("BACKUP TO '/tmp/nothing'").await.expect_err("there is nothing to copy");
    assert_eq!(refused.code().map(|code| code.code()), Some("55000"), "{refused}");
    assert_eq!(rows(&client, "SHOW data_directory").await, [""]);
    drop(client);
    drop(child.stdin.take());
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("text");
    assert!(rest.contains("Everything is in memory only"), "{rest}");
    assert!(child.wait().expect("it ends").success());
}
