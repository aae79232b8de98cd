//! Small histories, one a line, and what the checker says of them at each level.
//!
//! A step is `transaction:operation`: `r` reads (`-` for nothing), `u` updates from a version to another, `i` inserts,
//! `d` deletes, `s` scans from a letter to a letter and sees these, `p` sets a savepoint, `b` goes back to it, `c` commits,
//! `a` aborts. Items are letters; the initial ones are `x` and `y`, as version 0.

use hotrow_check::{AnomalyKind, Event, History, Item, Operation, Outcome, Range, Record, Stamp, Version, check};
use hotrow_storage::{IndexRef, Key, TableId};
use hotrow_txn::Isolation;
use std::collections::BTreeMap;
use std::ops::Bound;

fn item(name: &str) -> Item {
    Item { table: TableId(0), key: Key::Int(i64::from(name.as_bytes()[0])) }
}

fn stamp(text: &str) -> Stamp {
    Stamp(text.parse().expect("a stamp"))
}

fn version(text: &str) -> Version {
    Version { stamp: stamp(text), index_keys: Vec::new() }
}

fn operation(text: &[&str]) -> Operation {
    match text {
        ["r", name, "-"] => Operation::Read { item: item(name), seen: None },
        ["r", name, seen] => Operation::Read { item: item(name), seen: Some(stamp(seen)) },
        ["u", name, old, new] => Operation::Update { item: item(name), replaced: stamp(old), made: version(new) },
        ["i", name, new] => Operation::Insert { item: item(name), made: version(new) },
        ["d", name] => Operation::Delete { item: item(name) },
        ["s", lower, upper, seen @ ..] => Operation::Scan {
            range: Range {
                table: TableId(0),
                index: IndexRef::Primary,
                lower: Bound::Included(item(lower).key),
                upper: Bound::Included(item(upper).key),
            },
            seen: seen.iter().map(|seen| (item(&seen[..1]), stamp(&seen[1..]))).collect(),
        },
        ["b"] => Operation::RolledBack,
        other => panic!("unknown step {other:?}"),
    }
}

fn history(steps: &str) -> History {
    let initial = ["x", "y"].map(|name| (item(name), version("0")));
    let mut history = History { initial: initial.to_vec(), transactions: Vec::new() };
    let mut running: BTreeMap<u32, (Record, usize)> = BTreeMap::new();
    for (at, step) in steps.split_whitespace().enumerate() {
        let at = at as u64 + 1;
        let parts: Vec<_> = step.split(':').collect();
        let number: u32 = parts[0].parse().expect("a transaction's number");
        let (record, savepoint) = running.entry(number).or_insert_with(|| {
            let (session, isolation) = (number.to_string(), Isolation::Serializable);
            let outcome = Outcome::Aborted;
            (Record { session, isolation, events: Vec::new(), began: at, ending: at, outcome }, 0)
        });
        match parts[1] {
            "c" | "a" => {
                record.outcome = if parts[1] == "c" { Outcome::Committed } else { Outcome::Aborted };
                record.ending = at;
                history.transactions.push(running.remove(&number).expect("it runs").0);
                continue;
            }
            "p" => {
                *savepoint = record.events.len();
                continue;
            }
            "b" => {
                let rollback = record.events.len();
                for event in &mut record.events[*savepoint..] {
                    event.undone_by = event.operation.written().map(|_| rollback);
                }
            }
            _ => {}
        }
        record.events.push(Event { operation: operation(&parts[1..]), at, undone_by: None });
    }
    assert!(running.is_empty(), "every transaction ends: {steps}");
    history
}

/// Checks at read committed, repeatable read, snapshot and serializable.
#[track_caller]
fn expect(steps: &str, expected: [Option<AnomalyKind>; 4]) {
    let history = history(steps);
    for (level, expected) in Isolation::ALL.into_iter().zip(expected) {
        let found = check(&history, level);
        let told = found.as_ref().err().map(ToString::to_string).unwrap_or_default();
        assert_eq!(found.err().map(|anomaly| anomaly.kind), expected, "{steps} at {level}\n{told}");
    }
}

#[test]
fn right_histories_pass() {
    let cases = [
        "",
        "1:r:x:0 1:u:x:0:1 1:c 2:r:x:1 2:c",
        "1:u:x:0:1 1:u:x:1:2 1:r:x:2 1:c 2:r:x:2 2:c",
        "1:u:x:0:1 1:a 2:r:x:0 2:u:x:0:2 2:c",
        "1:p 1:u:x:0:1 1:r:x:1 1:b 1:r:x:0 1:u:x:0:2 1:c 2:r:x:2 2:c",
        "1:r:n:- 1:i:n:1 1:r:n:1 1:c 2:r:n:1 2:d:n 2:r:n:- 2:c 3:r:n:- 3:i:n:2 3:c 4:r:n:2 4:c",
        "1:s:a:z:x0:y0 1:i:n:1 1:s:a:z:n1:x0:y0 1:c 2:s:a:m 2:d:n 2:c 3:s:a:z:x0:y0 3:c",
        // The reader comes first in the serial order, though it looks last: a snapshot.
        "1:r:x:0 2:u:x:0:1 2:i:n:2 2:c 1:r:n:- 1:s:m:o 1:c",
        // The reader comes before the insert, though the row is deleted again by then.
        "1:r:x:0 2:u:x:0:1 2:i:n:2 2:c 3:d:n 3:c 1:r:n:- 1:c",
    ];
    for case in cases {
        expect(case, [None; 4]);
    }
}

#[test]
fn what_no_level_allows_is_found_at_every_level() {
    use AnomalyKind::*;
    let cases = [
        (AbortedRead, "1:u:x:0:1 2:r:x:1 1:a 2:c"),
        (AbortedRead, "1:p 1:u:x:0:1 2:s:a:z:x1:y0 1:b 1:c 2:c"),
        (AbortedRead, "1:i:n:1 2:r:n:1 1:a 2:c"),
        (IntermediateRead, "1:u:x:0:1 2:r:x:1 1:u:x:1:2 1:c 2:c"),
        (IntermediateRead, "1:i:n:1 2:r:n:1 1:d:n 1:c 2:c"),
        (Invented, "1:r:x:9 1:c"),
        (Invented, "1:r:n:0 1:c"),
        (LostUpdate, "1:u:x:0:1 2:u:x:0:2 1:c 2:c"),
        (LostUpdate, "1:i:n:1 1:c 2:i:n:2 2:c"),
        (LostUpdate, "1:d:x 1:c 2:d:x 2:c"),
        (DirtyWrites, "1:u:x:0:1 2:u:x:1:2 2:u:y:0:3 1:u:y:3:4 1:c 2:c"),
        (CircularInformation, "1:u:x:0:1 2:u:y:0:2 1:r:y:2 2:r:x:1 1:c 2:c"),
        (CircularInformation, "1:u:x:0:1 2:d:y 1:r:y:- 2:r:x:1 1:c 2:c"),
        (Internal, "1:u:x:0:1 1:r:x:0 1:c"),
        (Internal, "1:i:n:1 1:s:a:z:x0:y0 1:c"),
        (Internal, "1:d:x 1:r:x:0 1:c"),
        (Internal, "1:r:x:- 1:c"),
    ];
    for (kind, case) in cases {
        expect(case, [Some(kind); 4]);
    }
}

#[test]
fn a_phenomenon_is_found_at_the_levels_that_rule_it_out() {
    use AnomalyKind::*;
    let unstable_scan = [None, Some(UnstableScan), Some(UnstableScan), Some(UnstableScan)];
    let cases: [(&str, [Option<AnomalyKind>; 4]); 9] = [
        ("1:s:a:z:x0:y0:x0 1:c", unstable_scan),
        ("1:s:a:z:x0 1:c", unstable_scan),
        // Read skew.
        (
            "1:r:x:0 2:u:x:0:1 2:u:y:0:2 2:c 1:r:y:2 1:c",
            [None, Some(SingleAntiDependency), Some(SingleAntiDependency), Some(SingleAntiDependency)],
        ),
        // A read that is not repeatable.
        (
            "1:r:x:0 2:u:x:0:1 2:c 1:r:x:1 1:c",
            [None, Some(SingleAntiDependency), Some(SingleAntiDependency), Some(SingleAntiDependency)],
        ),
        // Read, then overwrite what came between.
        (
            "1:r:x:0 2:u:x:0:1 2:c 1:u:x:1:2 1:c",
            [None, Some(SingleAntiDependency), Some(SingleAntiDependency), Some(SingleAntiDependency)],
        ),
        // Write skew.
        (
            "1:r:x:0 1:r:y:0 2:r:x:0 2:r:y:0 1:u:x:0:1 2:u:y:0:2 1:c 2:c",
            [None, Some(ItemAntiDependency), None, Some(ItemAntiDependency)],
        ),
        // A phantom that is seen by scanning twice.
        (
            "1:s:a:z:x0:y0 2:i:n:1 2:c 1:s:a:z:n1:x0:y0 1:c",
            [None, None, Some(SinglePredicateAntiDependency), Some(SinglePredicateAntiDependency)],
        ),
        // Write skew over ranges.
        ("1:s:m:o 2:s:a:l 1:i:b:1 2:i:n:2 1:c 2:c", [None, None, None, Some(Phantom)]),
        // Write skew over absent keys.
        ("1:r:m:- 2:r:n:- 1:i:n:1 2:i:m:2 1:c 2:c", [None, None, None, Some(Phantom)]),
    ];
    for (case, expected) in cases {
        expect(case, expected);
    }
}

#[test]
fn an_anomaly_tells_its_story() {
    let history = history("1:r:x:0 1:r:y:0 2:r:x:0 2:r:y:0 1:u:x:0:1 2:u:y:0:2 1:c 2:c");
    let anomaly = check(&history, Isolation::Serializable).expect_err("write skew");
    let told = anomaly.to_string();
    for part in ["G2-item", "T0 (1) saw 0/121 as it was before T1 (2) made v2", "T1 (2) updates 0/121 from v0 to v2"] {
        assert!(told.contains(part), "{part:?} is missing in:\n{told}");
    }
    assert_eq!(anomaly.evidence.len(), 2, "the shortest cycle");
}
