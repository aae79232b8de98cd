//! Small histories whose transactions overlap, and whether a serial order explains them.
//!
//! A line is a transaction: its name, the times when it began, when its commit was called and when that call returned,
//! and its operations. `x0` reads version 0 of `x`, `x-` finds nothing there, `x0>3` updates it to version 3, `+x3`
//! inserts it, `-x` deletes it, `a..z:x0,y0` scans and sees these versions, `!x` is refused an insert. An index on the
//! last digit of a version is scanned by `#5:x5`.

use hotrow_check::{
    Anomaly, AnomalyKind, Event, History, Item, Objection, Operation, Outcome, Range, Record, Stamp, Version, check,
};
use hotrow_storage::{IndexId, IndexRef, Key, TableId};
use hotrow_txn::Isolation;
use std::ops::Bound;

const TABLE: TableId = TableId(0);
const BY_DIGIT: IndexRef = IndexRef::Secondary(IndexId(0));

fn item(name: &str) -> Item {
    Item { table: TABLE, key: Key::Int(i64::from(name.as_bytes()[0])) }
}

fn stamp(text: &str) -> Stamp {
    Stamp(text.parse().expect("a version"))
}

fn version(text: &str) -> Version {
    let digit = &text[text.len() - 1..];
    Version { stamp: stamp(text), index_keys: vec![Key::from_bytes(digit.as_bytes())] }
}

fn seen(text: &str) -> Vec<(Item, Stamp)> {
    text.split(',').filter(|seen| !seen.is_empty()).map(|seen| (item(seen), stamp(&seen[1..]))).collect()
}

fn operation(word: &str) -> Operation {
    if let Some(rest) = word.strip_prefix('+') {
        return Operation::Insert { item: item(rest), made: version(&rest[1..]) };
    }
    if let Some(rest) = word.strip_prefix('-') {
        return Operation::Delete { item: item(rest) };
    }
    if let Some(rest) = word.strip_prefix('!') {
        return Operation::Refused { range: Range::at(TABLE, IndexRef::Primary, item(rest).key) };
    }
    if let Some((digit, found)) = word.strip_prefix('#').and_then(|rest| rest.split_once(':')) {
        let range = Range::at(TABLE, BY_DIGIT, Key::from_bytes(digit.as_bytes()));
        return Operation::Scan { range, seen: seen(found) };
    }
    if let Some((range, found)) = word.split_once(':') {
        let (lower, upper) = range.split_once("..").expect("a range");
        let (lower, upper) = (Bound::Included(item(lower).key), Bound::Included(item(upper).key));
        let range = Range { table: TABLE, index: IndexRef::Primary, lower, upper };
        return Operation::Scan { range, seen: seen(found) };
    }
    match (word[1..].split_once('>'), &word[1..]) {
        (Some((replaced, made)), _) => {
            Operation::Update { item: item(word), replaced: stamp(replaced), made: version(made) }
        }
        (None, "-") => Operation::Read { item: item(word), seen: None },
        (None, found) => Operation::Read { item: item(word), seen: Some(stamp(found)) },
    }
}

/// The rows `x` and `y` exist initially, as version 0.
fn history(lines: &[&str]) -> History {
    let initial = ["x", "y"].map(|name| (item(name), version("0"))).to_vec();
    let mut transactions: Vec<_> = lines.iter().map(|line| record(line)).collect();
    transactions.sort_by_key(|record| record.ended);
    History { initial, transactions }
}

fn record(line: &str) -> Record {
    let mut words = line.split_whitespace();
    let session = words.next().expect("a name").to_owned();
    let [began, ending, ended] = [(); 3].map(|()| words.next().and_then(|word| word.parse().ok()).expect("a time"));
    let event = |word| Event { operation: operation(word), at: began, undone_by: None };
    let (isolation, outcome) = (Isolation::Serializable, Outcome::Committed);
    Record { session, isolation, began, ending, ended, outcome, events: words.map(event).collect() }
}

#[track_caller]
fn accept(lines: &[&str]) {
    match check(&history(lines)) {
        Ok(evidence) => assert!(evidence.serial_order, "{lines:?}: {evidence}"),
        Err(objection) => panic!("{lines:?}: {objection}"),
    }
}

#[track_caller]
fn refuse(lines: &[&str]) -> Anomaly {
    match check(&history(lines)) {
        Err(Objection::Anomaly(anomaly)) => anomaly,
        other => panic!("{lines:?}: expected an anomaly, not {other:?}"),
    }
}

#[test]
fn histories_with_an_order_are_accepted() {
    // Two transactions commit at the same time, and a third sees only the one that returns second.
    accept(&["a 1 4 9 x0>1", "b 2 5 8 y0>2", "r 3 6 7 x0 y2"]);
    // A transaction that changed nothing comes before another that ended before its own end.
    accept(&["a 2 3 4 x0>1", "r 1 8 9 x0 y0"]);
    // A row that a scan has missed existed before and after.
    accept(&["a 1 4 20 -x", "r 2 6 7 a..z:y0", "b 3 8 21 +x3", "s 9 10 11 a..z:x3,y0"]);
    // The transaction whose insert is refused comes between the insert and the delete.
    accept(&["a 1 4 20 +n1", "b 2 5 21 -n", "r 3 6 19 !n"]);
    // The readers determine the order of commits that overlap: here are both orders.
    accept(&["a 1 2 9 +n1", "b 1 2 9 +m2", "r 1 3 8 n1 m- #1:n1"]);
    accept(&["a 1 2 9 +n1", "b 1 2 9 +m2", "r 1 3 8 n- m2 #1:"]);
    // A transaction that has written an item twice sees its own writes.
    accept(&["a 1 2 3 +n1 n1 n1>2 a..z:n2,x0,y0 -n n-", "r 4 5 6 n- a..z:x0,y0"]);
}

#[test]
fn histories_without_an_order_are_refused() {
    use AnomalyKind::*;
    let cases: [(AnomalyKind, &[&str]); 7] = [
        // Write skew, and a phantom.
        (ItemAntiDependency, &["a 1 3 5 x0 y0>1", "b 2 4 6 y0 x0>2"]),
        (Phantom, &["a 1 3 5 m..o: +b1", "b 2 4 6 a..c: +n2"]),
        // Two readers of writes that commit at once see them in different orders.
        (ItemAntiDependency, &["a 1 5 20 x0>1", "b 2 6 21 y0>2", "r 3 7 8 x1 y0", "s 4 9 10 x0 y2"]),
        // A scan misses a row that exists throughout, but moves. No cycle shows that, as the scan might have come first
        // of all.
        (NoSerialOrder, &["a 1 2 3 +n5", "b 4 8 9 n5>15", "r 6 7 10 #5:"]),
        // The reader sees old data: the write was over when the reader began.
        (NoSerialOrder, &["a 1 2 3 x0>1", "r 4 5 6 x0"]),
        // A write comes after a transaction that had not begun when the write was over.
        (NoSerialOrder, &["a 2 3 4 y0>1", "b 5 6 7 x0>2", "r 1 8 9 y0 x2"]),
        // A write is refused because of a row that is long gone.
        (NoSerialOrder, &["a 1 2 3 +n1", "b 4 5 6 -n", "r 7 8 9 !n"]),
    ];
    for (kind, lines) in cases {
        assert_eq!(refuse(lines).kind, kind, "{lines:?}");
    }
}

#[test]
fn who_fits_nowhere_is_named_with_what_does_not_agree() {
    let anomaly = refuse(&["a 1 2 3 x0>1", "b 4 5 6 y0>2", "r 7 10 12 a..b: x0", "c 8 9 11 y2>3"]);
    let expected = [
        "no order explains what the transactions saw: with 3 of 4 in place, none can come next",
        "T3 (r) fits nowhere between its begin and its end: it reads 0/120 and sees v0, but v1 of 0/120, which T0 (a) made, \
         is there",
    ];
    assert_eq!(anomaly.evidence, expected);
    assert!(anomaly.to_string().contains("T0 (a) updates 0/120 from v0 to v1"), "{anomaly}");
    assert!(!anomaly.to_string().contains("T1 (b) updates"), "{anomaly}");
}

/// Commits that all overlap have too many orders to try one by one, but the states from which the search fails are few.
#[test]
fn many_commits_at_once_are_decided() {
    let letters: Vec<char> = ('a'..='p').collect();
    let mut lines: Vec<_> = letters.iter().enumerate().map(|(n, name)| format!("w 1 2 99 +{name}{}", n + 1)).collect();
    lines.push("r 3 4 98 x0 a1 p-".to_owned());
    lines.push("s 3 4 98 x0 a- p16".to_owned());
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    assert_eq!(refuse(&lines).kind, AnomalyKind::Phantom);
    accept(&lines[..lines.len() - 1]);
}

/// Each of many transactions sees what the previous one has left, except for one in the middle.
#[test]
fn a_long_history_is_decided() {
    let line = |n: usize| format!("w {} {} {} x{n}>{} a..z:x{},y0", 3 * n + 1, 3 * n + 2, 3 * n + 6, n + 1, n + 1);
    let mut lines: Vec<_> = (0..12_000).map(line).collect();
    let borrowed: Vec<_> = lines.iter().map(String::as_str).collect();
    accept(&borrowed);
    lines[6000] = lines[6000].replace(",y0", "");
    let borrowed: Vec<_> = lines.iter().map(String::as_str).collect();
    let anomaly = refuse(&borrowed);
    assert!(anomaly.to_string().contains("T6000 (w)"), "{anomaly}");
}
