//! Tests histories in files: a file that was written is read back, and a file that is not a history is refused, with
//! the line and what was expected.

use hotrow_check::{
    About, Event, FileError, History, Item, Operation, Outcome, Range, Record, Stamp, Version, read_history,
    write_history,
};
use hotrow_storage::{IndexId, IndexRef, Key, TableId};
use hotrow_txn::{Abort, Isolation};
use std::ops::Bound;

fn item(key: i64) -> Item {
    Item { table: TableId(3), key: Key::Int(key) }
}

fn version(stamp: i64) -> Version {
    let keys = [&b"a"[..], b"", b"a key that is longer than what needs no allocation"];
    Version { stamp: Stamp(stamp), index_keys: keys.map(Key::from_bytes).to_vec() }
}

fn record(outcome: Outcome, began: u64, operations: Vec<Operation>) -> Record {
    let at = |position: usize| began + 1 + position as u64;
    let ending = at(operations.len());
    let event = |(position, operation)| Event { operation, at: at(position), undone_by: None };
    let events = operations.into_iter().enumerate().map(event).collect();
    let (session, isolation) = ("thread \"1\"".to_owned(), Isolation::RepeatableRead);
    Record { session, isolation, events, began, ending, ended: ending + 1, outcome }
}

/// A history with every kind of event.
fn everything() -> History {
    let range = |lower, upper| Range { table: TableId(3), index: IndexRef::Secondary(IndexId(2)), lower, upper };
    let bytes = Key::from_bytes;
    let mut first = record(
        Outcome::Committed,
        0,
        vec![
            Operation::Read { item: item(-1), seen: None },
            Operation::Read { item: item(1), seen: Some(Stamp(0)) },
            Operation::Update { item: item(1), replaced: Stamp(0), made: version(1) },
            Operation::RolledBack,
            Operation::Insert { item: item(2), made: version(2) },
            Operation::Delete { item: item(2) },
        ],
    );
    first.events[2].undone_by = Some(3);
    let second = record(
        Outcome::Aborted(Abort::Conflict),
        20,
        vec![
            Operation::Scan { range: range(Bound::Unbounded, Bound::Included(bytes(b"x"))), seen: vec![] },
            Operation::Scan {
                range: range(Bound::Excluded(bytes(&[0, 255])), Bound::Excluded(bytes(b"y"))),
                seen: vec![(item(1), Stamp(0)), (item(4), Stamp(-2))],
            },
            Operation::Refused { range: Range::at(TableId(3), IndexRef::Primary, Key::Int(i64::MIN)) },
            Operation::Refused { range: Range::at(TableId(3), IndexRef::Secondary(IndexId(0)), bytes(b"a")) },
        ],
    );
    let third = record(Outcome::RolledBack, 40, vec![]);
    History { initial: vec![(item(1), version(0)), (item(4), version(-2))], transactions: vec![first, second, third] }
}

fn about() -> About {
    About { engine: "2pl-waitdie".to_owned(), made_by: "a test".to_owned() }
}

fn written(history: &History) -> String {
    let mut out = Vec::new();
    write_history(&mut out, &about(), history).expect("memory takes everything");
    String::from_utf8(out).expect("JSON is UTF-8")
}

#[test]
fn what_is_written_is_read_again() {
    for history in [everything(), History::default()] {
        let text = written(&history);
        assert_eq!(text.lines().count(), history.initial.len() + history.transactions.len() + 2, "{text}");
        let read = read_history(&mut text.as_bytes()).expect("it was written by us");
        assert_eq!(read, (about(), history));
    }
}

#[track_caller]
fn refuse(text: &str, line: u64, expected: &str) {
    match read_history(&mut text.as_bytes()) {
        Err(FileError::Line { number, what }) => {
            assert!(what.contains(expected), "{expected:?} is not in {what:?}");
            assert_eq!(number, line, "{what}");
        }
        other => panic!("{expected:?}: {other:?}"),
    }
}

#[test]
fn a_file_that_was_cut_is_refused_wherever_it_was_cut() {
    let text = written(&everything());
    for cut in 0..text.len() {
        let (lines, kept) = (text[..cut].lines().count() as u64, &text[..cut]);
        match cut {
            0 => refuse(kept, 1, "empty"),
            _ if kept.ends_with('\n') => refuse(kept, lines, "it has been cut"),
            _ => refuse(kept, lines, "ends in the middle of this line"),
        }
    }
}

#[test]
fn what_is_no_history_is_refused() {
    let text = written(&everything());
    let lines: Vec<_> = text.lines().collect();
    let with = |line: usize, other: &str| {
        let mut lines = lines.clone();
        lines[line - 1] = other;
        lines.join("\n") + "\n"
    };
    let instead = |old: &str, new: &str| {
        assert!(text.contains(old), "{old} is not in {text}");
        text.replacen(old, new, 1)
    };
    refuse("\n", 1, "no JSON object");
    refuse("SELECT 1\n", 1, "no JSON object");
    refuse("{}\n", 1, "hotrow-history");
    refuse("[1]\n", 1, "hotrow-history");
    refuse(&instead("\"version\":1", "\"version\":2"), 1, "the format's version is 2: expected 1");
    refuse(&with(2, "{}"), 2, "docs/checking.md");
    refuse(&with(2, "garbage"), 2, "expected value");
    refuse(&with(2, lines[0]), 2, "a history begins in the middle of another");
    refuse(&with(3, lines[1]), 3, "row 3/1 is there twice");
    refuse(&with(4, "{\"commit\":1}"), 4, "unknown variant `commit`");
    refuse(&with(6, lines[2]), 6, "after the first transaction");
    refuse(&(text.clone() + "{}\n"), 8, "expected a row");
    refuse(&(text.clone() + lines[2] + "\n"), 8, "after the last line");
    refuse(&instead("\"transactions\":3", "\"transactions\":4"), 7, "4 transactions, not the 2 and 3 before it");
    refuse(&instead("\"version\":0", "\"version\":7"), 2, "expected 0 or less");
    refuse(&instead("\"repeatable read\"", "\"repeatable\""), 4, "expected one of read committed");
    refuse(&instead("\"outcome\":\"committed\"", "\"outcome\":\"maybe\""), 4, "expected \"committed\"");
    refuse(&instead("aborted: conflict", "aborted: why"), 5, "conflict, deadlock");
    refuse(&instead("\"undone_by\":3", "\"undone_by\":1"), 4, "a later rollback to a savepoint");
    refuse(&instead("\"undone_by\":3", "\"undone_by\":99"), 4, "a later rollback to a savepoint");
    refuse(&instead("\"made\":2", "\"made\":1"), 4, "no other write");
    refuse(&instead("\"made\":2", "\"made\":0"), 4, "above 0");
    refuse(&instead("\"index\":2", "\"index\":3"), 5, "index 3 of table 3, whose rows have 3 index keys");
    refuse(&instead("\"00ff\"", "\"00f\""), 5, "bytes in hexadecimal");
    refuse(&instead("\"00ff\"", "\"+0ff\""), 5, "bytes in hexadecimal");
    refuse(&instead("\"at\":3", "\"at\":1"), 4, "before what comes before it");
    refuse(&instead("[\"61\",\"\",", "[\"61\","), 3, "whose other rows have 2");
    refuse(&instead("\"ending\":7", "\"ending\":2"), 4, "before its last event");
}

#[test]
fn what_is_no_text_is_refused() {
    let mut bytes = written(&everything()).into_bytes();
    bytes[3] = 0xFF;
    match read_history(&mut bytes.as_slice()) {
        Err(FileError::Line { number: 1, what }) => assert_eq!(what, "it is not UTF-8"),
        other => panic!("{other:?}"),
    }
}
