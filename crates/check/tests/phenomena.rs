//! Small histories, one on each line, and the checker's verdict on each at each level.
//!
//! A step is `transaction:operation`: `r` reads (`-` for nothing), `u` updates from a version to another, `i` inserts,
//! `d` deletes, `s` scans from a letter to a letter and sees these versions, `n` is refused an insert, `p` sets a
//! savepoint, `b` rolls back to it, `c` commits, `a` aborts. Items are letters; the initial ones are `x` and `y`, as
//! version 0.
//!
//! Besides the key there is an index on a digit: `i:n:1:5` inserts with 5, `u:n:1:2:6` changes it to 6, `S:4:6` scans
//! by it, and `N:5` is refused by it. Without a digit, a row has 0. The first step of a transaction may set its level:
//! `l:rc`, `l:rr`, `l:sn` or the default, `l:se`.

use hotrow_check::{
    Anomaly, AnomalyKind, Event, Evidence, History, Item, Objection, Operation, Outcome, Range, Record, Stamp, Version,
    check, check_at,
};
use hotrow_storage::{IndexId, IndexRef, Key, TableId};
use hotrow_txn::{Abort, Isolation};
use std::collections::BTreeMap;
use std::ops::Bound;

fn item(name: &str) -> Item {
    Item { table: TableId(0), key: Key::Int(i64::from(name.as_bytes()[0])) }
}

fn stamp(text: &str) -> Stamp {
    Stamp(text.parse().expect("a stamp"))
}

fn digit(text: &str) -> Key {
    Key::from_bytes(text.as_bytes())
}

fn version(text: &str, index: &str) -> Version {
    Version { stamp: stamp(text), index_keys: vec![digit(index)] }
}

fn range(index: IndexRef, lower: Key, upper: Key) -> Range {
    Range { table: TableId(0), index, lower: Bound::Included(lower), upper: Bound::Included(upper) }
}

fn seen(texts: &[&str]) -> Vec<(Item, Stamp)> {
    texts.iter().map(|seen| (item(&seen[..1]), stamp(&seen[1..]))).collect()
}

/// The index on the digit.
const BY_DIGIT: IndexRef = IndexRef::Secondary(IndexId(0));

fn operation(text: &[&str]) -> Operation {
    match text {
        ["r", name, "-"] => Operation::Read { item: item(name), seen: None },
        ["r", name, seen] => Operation::Read { item: item(name), seen: Some(stamp(seen)) },
        ["u", name, old, new, index @ ..] => Operation::Update {
            item: item(name),
            replaced: stamp(old),
            made: version(new, index.first().unwrap_or(&"0")),
        },
        ["i", name, new, index @ ..] => {
            Operation::Insert { item: item(name), made: version(new, index.first().unwrap_or(&"0")) }
        }
        ["d", name] => Operation::Delete { item: item(name) },
        ["s", lower, upper, found @ ..] => {
            Operation::Scan { range: range(IndexRef::Primary, item(lower).key, item(upper).key), seen: seen(found) }
        }
        ["S", lower, upper, found @ ..] => {
            Operation::Scan { range: range(BY_DIGIT, digit(lower), digit(upper)), seen: seen(found) }
        }
        ["n", name] => Operation::Refused { range: Range::at(TableId(0), IndexRef::Primary, item(name).key) },
        ["N", index] => Operation::Refused { range: Range::at(TableId(0), BY_DIGIT, digit(index)) },
        ["b"] => Operation::RolledBack,
        other => panic!("unknown step {other:?}"),
    }
}

fn history(steps: &str) -> History {
    let initial = ["x", "y"].map(|name| (item(name), version("0", "0")));
    let mut history = History { initial: initial.to_vec(), transactions: Vec::new() };
    let mut running: BTreeMap<u32, (Record, usize)> = BTreeMap::new();
    for (at, step) in steps.split_whitespace().enumerate() {
        let at = at as u64 + 1;
        let parts: Vec<_> = step.split(':').collect();
        let number: u32 = parts[0].parse().expect("a transaction's number");
        let (record, savepoint) = running.entry(number).or_insert_with(|| {
            let (session, isolation) = (number.to_string(), Isolation::Serializable);
            let outcome = Outcome::RolledBack;
            (Record { session, isolation, events: Vec::new(), began: at, ending: at, ended: at, outcome }, 0)
        });
        match parts[1] {
            "c" | "a" => {
                record.outcome = if parts[1] == "c" { Outcome::Committed } else { Outcome::Aborted(Abort::Conflict) };
                (record.ending, record.ended) = (at, at);
                history.transactions.push(running.remove(&number).expect("it runs").0);
                continue;
            }
            "l" => {
                record.isolation = level(parts[2]);
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

fn level(name: &str) -> Isolation {
    match name {
        "rc" => Isolation::ReadCommitted,
        "rr" => Isolation::RepeatableRead,
        "sn" => Isolation::Snapshot,
        "se" => Isolation::Serializable,
        other => panic!("unknown level {other}"),
    }
}

/// The kind of the phenomenon.
fn kind(objection: Objection) -> AnomalyKind {
    objection.kind().expect("short histories are decided")
}

fn anomaly(judged: Result<Evidence, Objection>) -> Anomaly {
    match judged {
        Err(Objection::Anomaly(anomaly)) => anomaly,
        other => panic!("expected an anomaly, not {other:?}"),
    }
}

/// Checks a history at read committed, repeatable read, snapshot and serializable.
#[track_caller]
fn expect(steps: &str, expected: [Option<AnomalyKind>; 4]) {
    let history = history(steps);
    for (level, expected) in Isolation::ALL.into_iter().zip(expected) {
        let found = check_at(&history, level);
        let told = found.as_ref().err().map(ToString::to_string).unwrap_or_default();
        assert_eq!(found.err().map(kind), expected, "{steps} at {level}\n{told}");
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
        // The reader comes first in the serial order, although it looks last: it reads a snapshot.
        "1:r:x:0 2:u:x:0:1 2:i:n:2 2:c 1:r:n:- 1:s:m:o 1:c",
        // The reader comes before the insert, although the row is deleted again by then.
        "1:r:x:0 2:u:x:0:1 2:i:n:2 2:c 3:d:n 3:c 1:r:n:- 1:c",
        // Writes are refused because of an existing row, of the transaction's own row, and of a row that is gone since.
        "1:n:x 1:i:n:1:5 1:n:n 1:N:5 1:c 2:N:5 2:u:n:1:2:6 2:N:6 2:c 3:d:n 3:c",
        // A write is refused because of the first of two rows that had the digit, although the second has it by then.
        "1:i:n:1:5 1:c 2:u:x:0:2 3:u:n:1:3:6 4:r:x:0 4:N:5 4:c 3:c 2:c",
        // Rows enter a range and leave it.
        "1:S:5:7 1:c 2:u:x:0:1:6 2:c 3:S:5:7:x1 3:c 4:u:x:1:2:0 4:c 5:S:5:7 5:c",
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
        (LostWrite, "1:u:x:0:1 2:u:x:0:2 1:c 2:c"),
        (LostWrite, "1:i:n:1 1:c 2:i:n:2 2:c"),
        (LostWrite, "1:d:x 1:c 2:d:x 2:c"),
        (DirtyWrites, "1:u:x:0:1 2:u:x:1:2 2:u:y:0:3 1:u:y:3:4 1:c 2:c"),
        (CircularInformation, "1:u:x:0:1 2:u:y:0:2 1:r:y:2 2:r:x:1 1:c 2:c"),
        (CircularInformation, "1:u:x:0:1 2:d:y 1:r:y:- 2:r:x:1 1:c 2:c"),
        (CircularInformation, "2:d:y 1:S:0:9:x0 1:u:x:0:1 1:c 2:r:x:1 2:c"),
        (Internal, "1:u:x:0:1 1:r:x:0 1:c"),
        (Internal, "1:i:n:1 1:s:a:z:x0:y0 1:c"),
        (Internal, "1:d:x 1:r:x:0 1:c"),
        (Internal, "1:r:x:- 1:c"),
        (Internal, "1:s:a:z:x0 1:c"),
        (Internal, "1:s:a:z:x0:y0:x0 1:c"),
        (Internal, "1:n:n 1:c"),
        (Internal, "1:N:5 1:c"),
        (Internal, "1:n:x 1:d:x 1:n:x 1:c"),
        // A delete that was undone is seen.
        (AbortedRead, "1:d:x 2:r:x:- 1:a 2:c"),
        (AbortedRead, "1:p 1:d:x 2:s:a:z:y0 1:b 1:c 2:c"),
        // A write is refused because of a row that was inserted only after the reader's own write was replaced.
        (CircularInformation, "1:i:n:1 2:r:n:1 2:u:x:0:2 1:n:m 3:r:x:2 3:i:m:3 3:c 2:c 1:c"),
    ];
    for (kind, case) in cases {
        expect(case, [Some(kind); 4]);
    }
}

#[test]
fn a_phenomenon_is_found_at_the_levels_that_rule_it_out() {
    use AnomalyKind::*;
    let unstable_scan = [None, Some(UnstableScan), Some(UnstableScan), Some(UnstableScan)];
    let lost_update = [None, Some(LostUpdate), Some(LostUpdate), Some(LostUpdate)];
    let cases: [(&str, [Option<AnomalyKind>; 4]); 19] = [
        ("1:S:0:9:x0:y0:x0 1:c", unstable_scan),
        ("1:S:0:9:x0 1:c", unstable_scan),
        // The missed row was deleted, but by a transaction that came later.
        ("1:S:0:9:x0 1:u:x:0:1 1:c 2:r:x:1 2:d:y 2:c", unstable_scan),
        // A row moves from one end of the index to the other, past the scan.
        ("2:u:x:0:1:9 1:S:0:9:y0 2:c 1:c", unstable_scan),
        // Updates are lost: to an update, to a delete, and with another item in between.
        ("1:r:x:0 2:u:x:0:1 2:c 1:u:x:1:2 1:c", lost_update),
        ("1:r:x:0 2:u:x:0:1 2:c 1:d:x 1:c", lost_update),
        ("1:r:y:0 1:r:x:0 2:u:y:0:3 2:u:x:0:1 2:c 1:u:x:1:2 1:c", lost_update),
        // Read skew.
        (
            "1:r:x:0 2:u:x:0:1 2:u:y:0:2 2:c 1:r:y:2 1:c",
            [None, Some(SingleAntiDependency), Some(SingleAntiDependency), Some(SingleAntiDependency)],
        ),
        // A read is not repeatable.
        (
            "1:r:x:0 2:u:x:0:1 2:c 1:r:x:1 1:c",
            [None, Some(SingleAntiDependency), Some(SingleAntiDependency), Some(SingleAntiDependency)],
        ),
        // Write skew.
        (
            "1:r:x:0 1:r:y:0 2:r:x:0 2:r:y:0 1:u:x:0:1 2:u:y:0:2 1:c 2:c",
            [None, Some(ItemAntiDependency), None, Some(ItemAntiDependency)],
        ),
        // A phantom is seen by scanning twice.
        (
            "1:s:a:z:x0:y0 2:i:n:1 2:c 1:s:a:z:n1:x0:y0 1:c",
            [None, None, Some(SinglePredicateAntiDependency), Some(SinglePredicateAntiDependency)],
        ),
        // Write skew over ranges.
        ("1:s:m:o 2:s:a:l 1:i:b:1 2:i:n:2 1:c 2:c", [None, None, None, Some(Phantom)]),
        // Write skew over absent keys.
        ("1:r:m:- 2:r:n:- 1:i:n:1 2:i:m:2 1:c 2:c", [None, None, None, Some(Phantom)]),
        // Write skew over ranges of another index, by updates that move rows into them.
        ("1:S:5:5 2:S:6:6 1:u:x:0:1:6 2:u:y:0:2:5 1:c 2:c", [None, None, None, Some(Phantom)]),
        // The updates move rows out of the ranges: the rows were seen, so this is write skew over rows.
        (
            "1:S:0:0:x0:y0 2:S:0:0:x0:y0 1:u:x:0:1:6 2:u:y:0:2:5 1:c 2:c",
            [None, Some(ItemAntiDependency), None, Some(ItemAntiDependency)],
        ),
        // There is a phantom in one place, and write skew in another.
        ("1:s:m:o 2:r:x:0 1:u:x:0:1 2:i:n:2 1:c 2:c", [None, None, None, Some(Phantom)]),
        // A write is refused because of a row that is then gone, and found to be gone.
        (
            "1:i:n:1:5 1:c 2:N:5 3:d:n 3:u:x:0:3 3:c 2:r:x:3 2:c",
            [None, None, Some(SinglePredicateAntiDependency), Some(SinglePredicateAntiDependency)],
        ),
        // Two writes are refused, each because of a row that the other transaction deletes.
        ("1:i:m:1 1:i:n:2 1:c 2:n:m 3:n:n 2:d:n 3:d:m 2:c 3:c", [None, None, None, Some(Phantom)]),
        // The cycles are long.
        (
            "1:r:x:0 2:u:x:0:1 2:i:n:2 2:c 3:r:n:2 3:u:y:0:3 3:c 1:r:y:3 1:c",
            [None, Some(SingleAntiDependency), Some(SingleAntiDependency), Some(SingleAntiDependency)],
        ),
    ];
    for (case, expected) in cases {
        expect(case, expected);
    }
}

#[test]
fn an_anomaly_tells_its_story() {
    let history = history("1:r:x:0 1:r:y:0 2:r:x:0 2:r:y:0 1:u:x:0:1 2:u:y:0:2 1:c 2:c");
    let anomaly = anomaly(check(&history));
    let told = anomaly.to_string();
    for part in ["G2-item", "T0 (1) saw 0/121 as it was before T1 (2) made v2", "T1 (2) updates 0/121 from v0 to v2"] {
        assert!(told.contains(part), "{part:?} is missing in:\n{told}");
    }
    assert_eq!(anomaly.evidence.len(), 2, "the shortest cycle");
}

#[test]
fn each_transaction_is_judged_at_its_own_level() {
    use AnomalyKind::*;
    let cases: [(&str, Option<AnomalyKind>); 12] = [
        // Write skew, where one of the two transactions has a level that allows it.
        ("1:l:rc 1:r:y:0 2:r:x:0 1:u:x:0:1 2:u:y:0:2 1:c 2:c", None),
        ("1:l:sn 1:r:y:0 2:r:x:0 1:u:x:0:1 2:u:y:0:2 1:c 2:c", None),
        ("1:l:rr 1:r:y:0 2:r:x:0 1:u:x:0:1 2:u:y:0:2 1:c 2:c", Some(ItemAntiDependency)),
        // Read skew: the level of the reader counts.
        ("1:l:rc 1:r:x:0 2:u:x:0:1 2:u:y:0:2 2:c 1:r:y:2 1:c", None),
        ("2:l:rc 1:r:x:0 2:u:x:0:1 2:u:y:0:2 2:c 1:r:y:2 1:c", Some(SingleAntiDependency)),
        ("1:l:sn 2:l:rc 1:r:x:0 2:u:x:0:1 2:u:y:0:2 2:c 1:r:y:2 1:c", Some(SingleAntiDependency)),
        // A lost update: the level of the transaction that loses it counts.
        ("1:l:rc 1:r:x:0 2:u:x:0:1 2:c 1:u:x:1:2 1:c", None),
        ("2:l:rc 1:r:x:0 2:u:x:0:1 2:c 1:u:x:1:2 1:c", Some(LostUpdate)),
        // A phantom.
        ("1:l:rr 1:s:m:o 2:s:a:l 1:i:b:1 2:i:n:2 1:c 2:c", None),
        ("1:l:rr 2:l:rr 1:r:x:0 2:r:y:0 1:u:y:0:1 2:u:x:0:2 1:c 2:c", Some(ItemAntiDependency)),
        // A scan that misses a row.
        ("1:l:rc 1:S:0:9:x0 1:c", None),
        // A phenomenon that no level allows.
        ("1:l:rc 2:l:rc 1:u:x:0:1 2:r:x:1 1:a 2:c", Some(AbortedRead)),
    ];
    for (case, expected) in cases {
        let found = check(&history(case));
        let told = found.as_ref().err().map(ToString::to_string).unwrap_or_default();
        assert_eq!(found.err().map(kind), expected, "{case}\n{told}");
    }
}

#[test]
fn a_refusal_is_taken_for_the_row_that_was_there_last() {
    let cases = [
        // The reader deletes that row itself; another row had the digit before.
        ("1:i:a:1:5 1:c 2:u:a:1:2:6 2:i:m:3:5 2:c 3:N:5 3:d:m 3:c", [2, 0]),
        // The row is gone when the call returns; another row gets the digit later.
        ("1:i:m:1:5 1:c 2:d:m 2:c 3:N:5 3:c 4:i:a:2:5 4:c", [1, 1]),
        // The row is gone when the call returns, and others had the digit long before.
        ("1:u:x:0:1:5 1:u:y:0:2:5 1:c 2:i:z:3:0 2:c 3:d:z 3:c 4:N:0 4:c", [1, 1]),
    ];
    for (case, expected) in cases {
        let evidence = check_at(&history(case), Isolation::ReadCommitted).expect("nothing is wrong");
        assert_eq!([evidence.read_dependencies, evidence.predicate_dependencies], expected, "{case}");
    }
}

/// More rows once had the digit than the checker has trials. If it began with these rows, it would believe the cycle
/// that each of them makes.
#[test]
fn a_refusal_is_explained_in_a_long_history() {
    let updates = (0..1200).map(|n| format!("{0}:u:x:{n}:{1}:{2} {0}:c ", n + 10, n + 1, 5 + n % 2));
    let moved: String = updates.collect();
    let found = check(&history(&(moved + "1:u:y:0:2000:5 1:c 2:r:x:1200 2:N:5 2:d:y 2:c")));
    assert_eq!(found.err(), None);
}

/// Two transactions are refused a digit, and many rows had that digit. Each of the two has seen the other's uncommitted
/// write. So every way of guessing leads to a cycle, and there are more ways than trials.
#[test]
fn what_the_trials_do_not_decide_is_not_called_an_anomaly() {
    let digits = |n: usize, digit: usize| digit + n % 2;
    let moved: String = (0..70)
        .map(|n| {
            let (one, other) = (n + 10, n + 100);
            format!("{one}:r:n:901 {one}:u:x:{n}:{}:{} {one}:c ", n + 1, digits(n, 5))
                + &format!("{other}:r:y:900 {other}:u:m:{}:{}:{} {other}:c ", n + 300, n + 301, digits(n, 7))
        })
        .collect();
    let history = history(&format!("1:i:m:300:4 1:c 2:u:y:0:900 3:i:n:901 {moved}2:N:5 3:N:7 2:c 3:c"));
    assert_eq!(check_at(&history, Isolation::ReadCommitted), Err(Objection::Undecided));
    assert_eq!(kind(check(&history).expect_err("no order explains it")), AnomalyKind::NoSerialOrder);
    let text = Objection::Undecided.to_string();
    assert!(text.contains("undecided"), "{text}");
}

#[test]
fn a_verdict_says_what_it_rests_on() {
    let evidence = check(&history(
        "1:u:x:0:1 1:c 2:r:x:1 2:s:m:o 2:c 3:u:x:1:2 3:i:n:3 3:c 4:u:x:2:4 4:a 5:r:x:2 5:b 5:c 6:d:y 6:c",
    ));
    let expected = Evidence {
        serial_order: true,
        committed: 5,
        aborted: vec![(Abort::Conflict, 1)],
        rolled_back: 0,
        reads: 4,
        scans: 1,
        writes: 4,
        write_dependencies: 1,
        read_dependencies: 3,
        anti_dependencies: 1,
        predicate_dependencies: 1,
    };
    assert_eq!(evidence, Ok(expected.clone()));
    assert_eq!(format!("{:.1}", expected.committed_percent()), "83.3");
    assert_eq!(expected.dependencies(), 6);
    assert_eq!(Evidence::default().committed_percent(), 0.0);
}
