//! Tests benchmarks over the network: against servers of our own, and against the server at a URL.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

fn command(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotrow"));
    command.args(line.split_whitespace());
    command
}

fn hotrow(line: &str) -> Output {
    command(line).stdin(Stdio::null()).output().expect("the program starts")
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs a command line, and checks its exit code and that it printed each of `expected`, on either stream.
fn check(line: &str, code: i32, expected: &[&str]) {
    let output = hotrow(line);
    let text = text(&output);
    assert_eq!(output.status.code(), Some(code), "hotrow {line}\n{text}");
    for expected in expected {
        assert!(text.contains(expected), "hotrow {line}: {expected:?} is not in\n{text}");
    }
}

fn runs(line: &str, file: &str) -> Vec<Value> {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(file);
    check(&format!("{line} --seconds 0.5 --warmup 0.1 --json {}", file.display()), 0, &["txn/s", "cpu/txn", " ok"]);
    serde_json::from_slice(&std::fs::read(file).expect("the file is there")).expect("a JSON document")
}

/// A server that the tests start, and its address.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(options: &str) -> Self {
        let mut command = command(&format!("serve --in-memory --listen 127.0.0.1:0 {options}"));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        stdout.read_line(&mut line).expect("a line");
        let address = line.split_whitespace().find(|word| word.starts_with("127.0.0.1:")).expect("an address");
        let address = address.trim_end_matches(';').to_owned();
        child.stdout = Some(stdout.into_inner());
        Self { child, address }
    }

    fn url(&self) -> String {
        format!("postgres://postgres@{}/postgres", self.address)
    }

    /// The output of psql, if psql is installed, as it is in CI.
    fn psql(&self, sql: &str) -> Option<String> {
        let arguments = ["-X", "-q", "-A", "-t", "-d", &self.url(), "-c", sql];
        match Command::new("psql").args(arguments).stdin(Stdio::null()).output() {
            Err(_) if std::env::var_os("CI").is_none() => {
                let _ = std::io::Write::write_all(&mut std::io::stderr(), b"skipped: there is no psql\n");
                None
            }
            ran => {
                let output = ran.expect("CI has psql");
                assert!(output.status.success(), "{sql}: {}", text(&output));
                Some(text(&output))
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn engines_run_workloads_as_servers_of_their_own() {
    for (workload, statements) in [
        ("interactive --records 5000 --theta 0", 12),
        ("ycsb --records 5000 --fields 2", 12),
        ("tpcb --scale 1", 7),
        ("tatp --subscribers 500", 1),
        ("transfers --accounts 500", 6),
        // Deadlocks of all clients at the same time end before the run does.
        ("tpcc --warehouses 2 --items 100 --customers 10 --set deadlock_timeout=20ms", 5),
    ] {
        let name = workload.split(' ').next().unwrap_or_default();
        let engines = "--engine 2pl-timeout,mvo --isolation read-committed";
        let line = format!("bench {workload} --over-wire --clients 5 {engines}");
        let runs = runs(&line, &format!("over-wire-{name}.json"));
        assert_eq!(runs.len(), 2);
        for (run, engine) in runs.iter().zip(["2pl-timeout", "mvo"]) {
            assert_eq!((&run["engine"], &run["workload"]), (&engine.into(), &name.into()));
            let (committed, wire) = (run["committed"].as_u64().expect("a count"), &run["wire"]);
            assert!(committed > 0 && run["latency_us"]["p99"].as_f64() > Some(0.0), "{run}");
            assert_eq!((&wire["clients"], &run["consistency"]), (&5.into(), &"ok".into()), "{run}");
            let sent = wire["statements"].as_u64().expect("a count");
            assert!(sent >= statements * committed && wire["sqlstates"].is_object(), "{run}");
            assert!(wire["server_cpu_us_per_statement"].is_f64() && wire["client_cpu_us_per_txn"].is_f64(), "{run}");
        }
    }
}

#[test]
fn partitions_get_their_keys_and_one_operation_needs_no_block() {
    let line = "bench interactive --records 500 --reads 1 --writes 0 --over-wire --clients 2 --engine vll-st";
    for run in runs(line, "over-wire-one.json") {
        assert_eq!(run["wire"]["statements"], run["committed"], "{run}");
    }
}

#[test]
fn transfers_are_calls_one_by_one_and_in_pipelines() {
    let server = Server::start("--engine ilock");
    for (options, pipeline) in [("", 1), ("--pipeline 16", 16)] {
        // Accounts are often empty, so that some transfers change nothing.
        let line = format!(
            "bench transfers --accounts 20 --balance 3 --over-wire --by call --clients 3 {options} \
             --engine ilock,vll-st,mvo --url {}",
            server.url()
        );
        let runs = runs(&line, &format!("over-wire-calls-{pipeline}.json"));
        assert_eq!(runs.len(), 4);
        for run in &runs {
            let wire = &run["wire"];
            assert_eq!((&wire["by"], &wire["pipeline"]), (&"call".into(), &pipeline.into()), "{run}");
            let (committed, sent) = (run["committed"].as_u64(), wire["statements"].as_u64());
            // A retried attempt is one more CALL.
            let has_retried = wire["sqlstates"] != serde_json::json!({});
            assert!(committed > Some(0) && (sent == committed || has_retried && sent > committed), "{run}");
            assert!((0.01..0.99).contains(&run["kinds"][0]["success"].as_f64().expect("a share")), "{run}");
        }
    }
}

#[test]
fn all_of_tpcc_is_sent_and_orders_are_taken_back() {
    let line =
        "bench tpcc --warehouses 1 --items 100 --customers 10 --rollback 0.5 --over-wire --clients 1 --engine ilock";
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("over-wire-tpcc-kinds.json");
    let options = format!("--seconds 1 --warmup 0 --json {}", file.display());
    check(&format!("{line} {options}"), 0, &["new-order", "delivery", "stock-level", " ok"]);
    let runs: Vec<Value> = serde_json::from_slice(&std::fs::read(file).expect("the file is there")).expect("JSON");
    let run = &runs[0];
    assert!(run["aborted"]["user"].as_u64() > Some(0), "{run}");
    assert_eq!(run["wire"]["sqlstates"], serde_json::json!({}), "{run}");
    let committed: Vec<_> = run["kinds"].as_array().expect("a list").iter().map(|kind| &kind["committed"]).collect();
    assert!(committed[0].as_u64() > Some(0) && committed[1].as_u64() > Some(0), "{run}");
}

#[test]
fn rows_that_somebody_changes_are_missed() {
    let server = Server::start("");
    for (workload, sql, expected) in [
        (
            "tpcc --warehouses 1 --items 100 --customers 10",
            // No client gets near delivered orders of the load.
            "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1",
            "condition 6, warehouse 1, district 1: order 1: o_ol_cnt is",
        ),
        (
            "transfers --accounts 100 --by call",
            "UPDATE accounts SET balance = balance + 1 WHERE id = 77",
            "the balances add up to 1000000001, but 1000000000 was loaded",
        ),
        (
            "transfers --accounts 100 --by call --pipeline 4",
            "UPDATE accounts SET transfers = transfers - 1 WHERE id = 77",
            "the counters add up to ",
        ),
        (
            "transfers --accounts 100 --by call",
            "UPDATE accounts SET balance = balance + CASE id WHEN 77 THEN 20000000 ELSE -20000000 END \
             WHERE id IN (77, 78)",
            "1 of the accounts are overdrawn, the least balance is -",
        ),
    ] {
        let options = "--clients 2 --seconds 3600 --warmup 0";
        let (child, mut stderr) = start(&format!("bench {workload} {options} --over-wire --url {}", server.url()));
        wait_for(&mut stderr, "running for 3600 s");
        let changed = server.psql(sql);
        let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(status.expect("there is a kill command").success());
        let output = child.wait_with_output().expect("the program ends");
        let (table, said) = (String::from_utf8_lossy(&output.stdout), rest(stderr));
        if changed.is_some() {
            assert_eq!(output.status.code(), Some(1), "{workload}\n{table}{said}");
            assert!(table.contains(expected), "{workload}\n{table}{said}");
        }
    }
}

#[test]
fn one_engine_is_compared_under_all_execution_models() {
    let models = ["ilock:coroutine", "ilock:request", "ilock:thread"];
    // There are only reads, so that no transaction has to wait.
    let operations = "--records 500 --reads 10 --writes 0";
    let line = format!("bench interactive {operations} --over-wire --clients 3 --engine {}", models.join(","));
    let runs = runs(&line, "over-wire-models.json");
    let names: Vec<_> = runs.iter().map(|run| run["engine"].as_str().expect("a name")).collect();
    assert_eq!(names, models);
    assert!(runs.iter().all(|run| run["committed"].as_u64() > Some(0)), "{runs:?}");
}

#[test]
fn all_of_a_servers_time_is_in_a_part() {
    let models = "--engine ilock:coroutine,row-nowait:request,lock-table:thread";
    // Deadlocks of all clients at the same time end before the run does.
    let sizes = "--warehouses 2 --items 100 --customers 10 --clients 4 --set deadlock_timeout=20ms";
    let line = format!("bench tpcc {sizes} --over-wire --breakdown {models}");
    for (run, has_coroutines) in runs(&line, "over-wire-times.json").iter().zip([true, false, false]) {
        let share = |part: &str| run["breakdown"][part].as_f64().unwrap_or_else(|| panic!("{part}: {run}"));
        let parts = ["work", "lock_manager", "context_switches", "coroutine_switches", "network"].map(share);
        assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{run}");
        // The size of each share depends on the ticks of the system's clock.
        assert_eq!(share("coroutine_switches") > 0.0, has_coroutines, "{run}");
        assert!(run["wire"]["switches"]["coroutine_switch_ns"].as_f64() > Some(0.0), "{run}");
    }
}

#[test]
fn any_server_is_driven_beside_an_engine_and_nothing_is_left_on_it() {
    let server = Server::start("--engine 2pl-timeout");
    let (url, pid) = (server.url(), server.child.id());
    let line = "bench tpcb --scale 1 --over-wire --clients 3";
    let both = runs(&format!("{line} --engine serial --url {url} --server-pid {pid}"), "over-wire-url.json");
    assert_eq!((&both[0]["engine"], &both[1]["engine"]), (&"serial".into(), &server.address.as_str().into()));
    assert!(both[1]["wire"]["server_cpu_us_per_txn"].is_f64(), "{}", both[1]);
    // It runs again, so the tables are gone. Without the process number, the server's time is unknown.
    let alone = runs(&format!("{line} --url {url}"), "over-wire-url-alone.json");
    assert_eq!((alone.len(), &alone[0]["wire"]["server_cpu_us_per_txn"]), (1, &Value::Null), "{}", alone[0]);
}

#[test]
fn tables_and_procedures_of_others_are_not_dropped_unasked() {
    let server = Server::start("");
    if server.psql("CREATE TABLE kv (mine int)").is_none() {
        return;
    }
    let line = format!("bench interactive --records 100 --seconds 0.1 --warmup 0 --over-wire --url {}", server.url());
    check(&line, 1, &["has a table kv already", "--replace-tables"]);
    assert_eq!(server.psql("SELECT count(mine) FROM kv").as_deref().map(str::trim), Some("0"));
    check(&format!("{line} --replace-tables"), 0, &[" ok"]);
    let line = "bench transfers --accounts 100 --by call --seconds 0.1 --warmup 0 --over-wire";
    let line = format!("{line} --url {}", server.url());
    server.psql("CREATE PROCEDURE transfer(int, int, bigint) LANGUAGE SQL AS $$ $$");
    server.psql("CREATE PROCEDURE transfer() LANGUAGE SQL AS $$ $$");
    check(&line, 1, &["has a procedure transfer already", "--replace-tables"]);
    assert_eq!(server.psql("CALL transfer(1, 2, 3)").as_deref(), Some(""));
    check(&format!("{line} --replace-tables"), 0, &[" ok"]);
    assert_eq!(server.psql("CALL transfer()").as_deref(), Some(""));
    check(&line, 0, &["by CALL", " ok"]);
}

#[test]
fn what_cannot_be_run_over_the_wire_is_refused_with_a_reason() {
    for (options, expected) in [
        ("micro --over-wire", &["micro is not run over the wire"][..]),
        ("interactive --over-wire --set deadlock_timeout", &["expected NAME=VALUE"]),
        ("interactive --set a=b", &["--over-wire"]),
        ("interactive --clients 3", &["--over-wire"]),
        ("interactive --url postgres://localhost", &["--over-wire"]),
        ("transfers --by call", &["--over-wire"]),
        ("transfers --pipeline 2", &["--over-wire"]),
        ("transfers --over-wire --by calls", &["possible values", "statements", "call"]),
        ("transfers --over-wire --by call --pipeline 0", &["0 is not in 1..=16384"]),
        ("transfers --over-wire --pipeline 2", &["--pipeline 2 is for transactions of one statement", "--by call"]),
        ("tpcb --over-wire --by call", &["tpcb has no procedure", "expected --by statements"]),
        (
            "transfers --over-wire --by call --clients 20000 --pipeline 51",
            &["--pipeline 51 are 1020000 transactions under way", "at most 1000000"],
        ),
        ("interactive --over-wire --clients 0", &["0 is not in 1..=20000"]),
        ("interactive --over-wire --url mysql://localhost", &["expected postgres://USER"]),
        ("interactive --over-wire --server-pid 1", &["--url"]),
        ("interactive --over-wire --engine none", &["none does not isolate transactions"]),
        ("ycsb --over-wire --engine bare", &["bare does not isolate transactions"]),
        ("interactive --over-wire --slots 3 --scheduler pool", &["--scheduler means nothing with --over-wire"]),
        ("interactive --over-wire --serve-option=--io=x", &["without dashes"]),
        ("interactive --over-wire --serve-option execution=thread", &["--engine NAME:MODEL"]),
        ("interactive --over-wire --engine ilock:fibre", &["invalid value 'fibre'", "coroutine", "request", "thread"]),
        ("interactive --over-wire --engine nolock:thread", &["invalid value 'nolock'", "row-nowait"]),
        ("interactive --over-wire --breakdown --url postgres://a@h/x", &["--breakdown is of servers of engines"]),
        ("interactive --engine ilock:thread", &["ilock:thread is a server", "--over-wire, or ilock"]),
        ("interactive --over-wire --url postgres://a@h/x --url postgres://b@h/y", &["h:5432 is given twice"]),
    ] {
        check(&format!("bench {options}"), 2, expected);
    }
    // The server itself reports what it refuses.
    check(
        "bench interactive --records 100 --over-wire --set nonsense=1",
        1,
        &["a client could not connect", "unrecognized configuration parameter"],
    );
    check(
        "bench interactive --records 100 --over-wire --serve-option nonsense=1",
        1,
        &["unexpected argument '--nonsense'", "the server did not start"],
    );
    check("bench interactive --over-wire --url postgres://me@127.0.0.1:1/x", 1, &["127.0.0.1:1: ", "refused"]);
}

/// Reads lines until one contains `expected`.
fn wait_for(reader: &mut impl BufRead, expected: &str) {
    let mut seen = String::new();
    while !seen.contains(expected) {
        assert!(reader.read_line(&mut seen).expect("lines of text") > 0, "{expected:?} is not in\n{seen}");
    }
}

fn start(line: &str) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut command = command(line);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    (child, stderr)
}

fn rest(mut reader: impl Read) -> String {
    let mut rest = String::new();
    reader.read_to_string(&mut rest).expect("text");
    rest
}

#[test]
fn a_server_that_goes_away_fails_the_run() {
    let mut server = Server::start("");
    let line = format!("bench interactive --records 100 --seconds 3600 --warmup 0 --over-wire --url {}", server.url());
    let (child, mut stderr) = start(&line);
    wait_for(&mut stderr, "running for 3600 s");
    server.child.kill().expect("it runs");
    let output = child.wait_with_output().expect("the program ends");
    let said = rest(stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("error: {}: ", server.address)) && said.contains("connect"), "{said}");
}

#[test]
fn ctrl_c_ends_the_run_with_a_report_and_takes_its_server_along() {
    let line = "bench interactive --records 100 --engine serial,mvo --seconds 3600 --warmup 0 --over-wire";
    let (child, mut stderr) = start(line);
    wait_for(&mut stderr, "running for 3600 s");
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.expect("there is a kill command").success());
    let output = child.wait_with_output().expect("the program ends");
    let (table, said) = (String::from_utf8_lossy(&output.stdout), rest(stderr));
    assert_eq!(output.status.code(), Some(1), "{table}{said}");
    assert!(table.contains("serial") && table.contains(" ok") && !table.contains("mvo"), "{table}");
    assert!(said.contains("interrupted"), "{said}");
}

#[test]
fn a_server_ends_with_the_program_that_started_it() {
    let mut command = command("serve --in-memory --listen 127.0.0.1:0 --stop-at-eof");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    wait_for(&mut stdout, "Ctrl-C");
    drop(child.stdin.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}
