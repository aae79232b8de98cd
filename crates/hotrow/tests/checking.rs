//! Tests `hotrow check` as a user sees it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs a command line, and checks its exit code and that it printed each of `expected`, on either stream. Returns all
/// output.
fn check(line: &str, code: i32, expected: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotrow"));
    let output = command.args(line.split_whitespace()).stdin(Stdio::null()).output().expect("the program starts");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "hotrow {line}\n{text}");
    for expected in expected {
        assert!(text.contains(expected), "hotrow {line}: {expected:?} is not in\n{text}");
    }
    text
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Two transactions at read committed: each reads an item that the other writes, and neither sees the other's write.
const WRITE_SKEW: &str = r#"{"history":{"format":"hotrow-history","version":1,"engine":"by hand","made_by":"a test"}}
{"row":{"table":0,"key":1,"version":0,"index_keys":[]}}
{"row":{"table":0,"key":2,"version":-1,"index_keys":[]}}
{"transaction":{"session":"a","isolation":"read committed","began":1,"ending":7,"ended":8,"outcome":"committed","events":[{"at":3,"did":"read","table":0,"key":1,"saw":0},{"at":5,"did":"update","table":0,"key":2,"replaced":-1,"made":1,"index_keys":[]}]}}
{"transaction":{"session":"b","isolation":"read committed","began":2,"ending":9,"ended":10,"outcome":"committed","events":[{"at":4,"did":"read","table":0,"key":2,"saw":-1},{"at":6,"did":"update","table":0,"key":1,"replaced":0,"made":2,"index_keys":[]}]}}
{"end":{"rows":2,"transactions":2}}
"#;

fn written(name: &str, text: &str) -> PathBuf {
    let path = file(name);
    std::fs::write(&path, text).expect("the file can be written");
    path
}

fn check_file(path: &Path, options: &str, code: i32, expected: &[&str]) {
    check(&format!("check {} {options}", path.display()), code, expected);
}

#[test]
fn engines_are_tried_and_the_verdict_says_what_it_rests_on() {
    let line = "check --engine serial,2pl-waitdie --transactions 300 --threads 2";
    let text = check(line, 0, &["serial, serializable, registers", "2pl-waitdie, mixed levels, predicate"]);
    assert_eq!(text.matches("  valid\n").count(), 8, "{text}");
    assert!(text.contains("committed (") && text.contains("dependencies: "), "{text}");
    assert_eq!(text.matches("  strictly serializable: a serial order").count(), 4, "{text}");
    assert_eq!(text.matches("  no cycle of dependencies").count(), 4, "{text}");
}

#[test]
fn what_is_saved_is_judged_again() {
    let path = file("saved.jsonl");
    let line = "check --engine 2pl-timeout --isolation mixed --workload predicate --transactions 300 --save";
    check(&format!("{line} {}", path.display()), 0, &["  valid"]);
    check_file(&path, "", 0, &["2pl-timeout, hotrow check --engine 2pl-timeout --isolation mixed", "  valid"]);
}

#[test]
fn a_file_is_judged_at_its_own_level_or_at_another() {
    let path = written("skew.jsonl", WRITE_SKEW);
    check_file(
        &path,
        "",
        0,
        &["by hand", "each transaction judged at its own level", "2 committed (100.0 %)", "  valid"],
    );
    check_file(&path, "--isolation snapshot", 0, &["  valid"]);
    let story = [
        "NOT ISOLATED",
        "G2-item (write skew):",
        "T0 (a) saw 0/1 as it was before T1 (b) made v2 of 0/1",
        "T1 (b) commits",
    ];
    check_file(&path, "--isolation serializable", 1, &story);
}

#[test]
fn too_little_is_no_proof() {
    let aborted = WRITE_SKEW.replacen("\"committed\"", "\"aborted: conflict\"", 1);
    let path = written("aborted.jsonl", &aborted);
    check_file(&path, "--least-committed 60", 1, &["TOO LITTLE: 50.0 % committed, less than 60 %"]);
    check_file(&path, "", 1, &["TOO LITTLE: no transaction depends on another"]);
}

#[test]
fn what_is_no_history_is_a_wrong_command_line() {
    let cut = WRITE_SKEW.rsplit_once("{\"end\"").expect("it ends").0;
    for (name, text, expected) in [
        ("cut.jsonl", cut, &["line 5", "it has been cut"][..]),
        ("half.jsonl", &WRITE_SKEW[..WRITE_SKEW.len() / 2], &["line 4", "ends in the middle"]),
        ("empty.jsonl", "", &["line 1", "empty"]),
        ("other.jsonl", "a,b,c\n1,2,3\n", &["line 1", "this is no history"]),
        (
            "later.jsonl",
            &WRITE_SKEW.replace("\"version\":1,", "\"version\":9,"),
            &["line 1", "version is 9: expected 1"],
        ),
        (
            "garbage.jsonl",
            &WRITE_SKEW.replace("{\"row\":{\"table\":0,\"key\":2", "garbage"),
            &["line 3", "docs/checking.md"],
        ),
    ] {
        check_file(&written(name, text), "", 2, expected);
    }
    check("check /nowhere/history.jsonl", 2, &["/nowhere/history.jsonl", "No such file"]);
}

#[test]
fn a_wrong_command_line_says_what_was_expected() {
    for (line, expected) in [
        ("check", &["--engine", "FILE"][..]),
        ("check some.jsonl --engine serial", &["cannot be used with"]),
        ("check some.jsonl --threads 2", &["cannot be used with"]),
        ("check --engine 2pl-waitdye", &["invalid value", "2pl-waitdie"]),
        ("check --engine serial --isolation chaos", &["expected one of", "serializable", "or mixed"]),
        ("check --engine serial --workload tpcc", &["registers", "predicate"]),
        ("check --engine serial --transactions 0", &["0 is not in 1.."]),
        ("check --engine serial --least-committed 101", &["101 is not within 0 and 100"]),
        ("check --engine serial --save out.jsonl", &["--workload", "--isolation"]),
        (
            "check --engine serial,2pl-waitdie --workload registers --isolation serializable --save out.jsonl",
            &["--save takes one engine, not serial, 2pl-waitdie"],
        ),
    ] {
        check(line, 2, expected);
    }
}
