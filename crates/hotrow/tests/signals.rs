//! Tests that Ctrl-C and SIGTERM end the program in order.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

fn start(line: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotrow"));
    command.args(line.split_whitespace()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(status.expect("there is a kill command").success());
}

/// Reads lines until one contains `expected`, and returns it.
fn wait_for(reader: &mut impl BufRead, expected: &str) -> String {
    let mut seen = String::new();
    loop {
        let mut line = String::new();
        let bytes = reader.read_line(&mut line).expect("lines of text");
        assert!(bytes > 0, "{expected:?} is not in\n{seen}");
        if line.contains(expected) {
            return line;
        }
        seen.push_str(&line);
    }
}

#[test]
fn an_interrupted_bench_reports_what_it_measured() {
    let mut child = start("bench ycsb --engine serial,2pl-waitdie --records 1000 --seconds 3600 --warmup 0");
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    wait_for(&mut stderr, "running for 3600 s");
    signal(&child, "-INT");
    let output = child.wait_with_output().expect("the program ends");
    let table = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{table}");
    assert!(table.contains("serial") && table.contains(" ok") && !table.contains("2pl-waitdie"), "{table}");
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).expect("text");
    assert!(rest.contains("interrupted"), "{rest}");
}

#[test]
fn interrupted_figures_keep_what_was_measured() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("interrupted");
    let mut child = start(&format!("reproduce orthrus-12 vll-8 --quick --out {}", folder.display()));
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    wait_for(&mut stderr, "orthrus-12 (a) 1 ");
    signal(&child, "-INT");
    let output = child.wait_with_output().expect("the program ends");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("orthrus-12: interrupted") && !text.contains("vll-8: "), "{text}");
    let page = std::fs::read_to_string(folder.join("index.html")).expect("the page is there");
    assert!(page.contains("Interrupted: ") && page.contains("Not measured yet."), "{page}");
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).expect("text");
    assert!(rest.contains("error: interrupted"), "{rest}");
}

#[test]
fn a_server_says_how_to_connect_and_ends_when_it_is_told_to() {
    for name in ["-INT", "-TERM"] {
        let mut child = start("serve --in-memory --listen 127.0.0.1:0");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let line = wait_for(&mut stdout, "listens on 127.0.0.1:");
        let address = line.split_whitespace().find(|word| word.starts_with("127.0.0.1:")).expect("an address");
        let address = address.trim_end_matches(';').to_owned();
        let port = address.rsplit(':').next().expect("a port").to_owned();
        let hint = wait_for(&mut stdout, "psql");
        assert!(hint.contains(&format!("-h 127.0.0.1 -p {port}")), "{hint}");
        TcpStream::connect(&address).expect("somebody listens");
        wait_for(&mut stdout, "Ctrl-C");
        signal(&child, name);
        let output = child.wait_with_output().expect("the program ends");
        assert_eq!(output.status.code(), Some(0), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(TcpStream::connect(&address).is_err(), "nobody listens any more");
    }
}

#[test]
fn an_address_in_use_or_unprotected_is_refused() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    for (listen, code, expected) in [(address.as_str(), 1, "cannot listen on"), ("0.0.0.0:0", 2, "without passwords")] {
        let output =
            start(&format!("serve --in-memory --listen {listen}")).wait_with_output().expect("the program ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{listen}: {stderr}");
        assert!(stderr.contains(expected), "{listen}: {stderr}");
    }
}
