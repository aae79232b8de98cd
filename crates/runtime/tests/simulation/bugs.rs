//! Bugs planted in a small two-phase-locking engine, and which check finds each.

use crate::engines::run_scripts;
use crate::planted::{Bug, Planted};
use crate::script::{End, Script, Step, Told};
use crate::table::Fixture;
use hotrow_check::{AnomalyKind, check};
use hotrow_protocols::open;
use hotrow_runtime::simulation::{FailureKind, Simulation, SimulationConfig};
use hotrow_storage::{IndexRef, Key};
use hotrow_sync::Arc;
use hotrow_txn::{Isolation, Scan};
use std::collections::BTreeSet;
use std::ops::Bound;

/// What found something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FoundBy {
    /// The checker, in the history.
    Checker(AnomalyKind),
    /// The simulator: somebody was not woken.
    LostWakeup,
    /// The rows that are left are not those that the history implies.
    Rows,
    /// Something is locked when nobody is there.
    Locks,
}

/// What is found in 300 seeds of `scripts`, one a task.
fn found(bug: Bug, scripts: impl Fn(&Fixture) -> Vec<Script>) -> BTreeSet<FoundBy> {
    (0..300).filter_map(|seed| found_by_seed(bug, &scripts, seed)).collect()
}

/// The first thing that a seed finds: while it runs, in its history, in what it leaves.
fn found_by_seed(bug: Bug, scripts: impl Fn(&Fixture) -> Vec<Script>, seed: u64) -> Option<FoundBy> {
    let inner = open("none").expect("it is in the registry");
    let fixture = Arc::new(Fixture::over(Arc::new(Planted::new(inner, bug)), true));
    let mut simulation = Simulation::new(SimulationConfig::new(seed));
    for script in scripts(&fixture) {
        let fixture = fixture.clone();
        simulation.spawn("task", move |task| run_scripts(task, &fixture, "task", &[script], true));
    }
    if let Err(failure) = simulation.run() {
        assert!(matches!(failure.kind, FailureKind::LostWakeup(_)), "{failure}");
        return Some(FoundBy::LostWakeup);
    }
    if let Err(anomaly) = check(&fixture.recording.history()) {
        return Some(FoundBy::Checker(anomaly.kind));
    }
    let what = fixture.check().err()?;
    // Whoever looks at the rows cannot, if they are locked.
    match what.starts_with("the rows are") {
        true => Some(FoundBy::Rows),
        false if what.contains("lock") => Some(FoundBy::Locks),
        false => panic!("neither rows nor locks: {what}"),
    }
}

fn script(fixture: &Fixture, end: End, steps: &[Step]) -> Script {
    Script { table: fixture.table, isolation: Isolation::Serializable, steps: steps.to_vec(), end, told: Told::Nothing }
}

const X: Key = Key::Int(0);
const Y: Key = Key::Int(2);

/// Both read an item and write it.
fn both_upgrade(fixture: &Fixture) -> Vec<Script> {
    let both = script(fixture, End::Commit, &[Step::Read(X), Step::Update(X, 1)]);
    vec![both.clone(), both]
}

/// One reads two items that the other writes.
fn read_two(fixture: &Fixture) -> Vec<Script> {
    vec![
        script(fixture, End::Commit, &[Step::Read(X), Step::Read(Y)]),
        script(fixture, End::Commit, &[Step::Update(X, 1), Step::Update(Y, 1)]),
    ]
}

/// One writes an item twice and takes it back; the other reads it, and writes something.
fn roll_back(fixture: &Fixture) -> Vec<Script> {
    vec![
        script(fixture, End::Rollback, &[Step::Update(X, 1), Step::Update(X, 2)]),
        script(fixture, End::Commit, &[Step::Read(X), Step::Update(Y, 1)]),
    ]
}

/// Both write the same two items, in opposite order.
fn cross(fixture: &Fixture) -> Vec<Script> {
    vec![
        script(fixture, End::Commit, &[Step::Update(X, 1), Step::Update(Y, 1)]),
        script(fixture, End::Commit, &[Step::Update(Y, 1), Step::Update(X, 1)]),
    ]
}

/// Each looks into the range into which the other inserts.
fn insert_where_the_other_looks(fixture: &Fixture) -> Vec<Script> {
    let scan = |lower, upper| {
        let (lower, upper) = (Bound::Included(Key::Int(lower)), Bound::Included(Key::Int(upper)));
        Step::Scan(Scan { lower, upper, ..Scan::all(fixture.table, IndexRef::Primary) }, usize::MAX)
    };
    vec![
        script(fixture, End::Commit, &[scan(0, 3), Step::Insert(fixture.row(5, 1, None))]),
        script(fixture, End::Commit, &[scan(4, 7), Step::Insert(fixture.row(1, 1, None))]),
    ]
}

type Scripts = fn(&Fixture) -> Vec<Script>;
const ALL: [Scripts; 5] = [both_upgrade, read_two, roll_back, cross, insert_where_the_other_looks];

#[test]
fn each_bug_is_found_by_the_check_that_is_there_for_it() {
    use AnomalyKind::*;
    use FoundBy::*;
    let cases: [(Bug, Scripts, FoundBy); 11] = [
        (Bug::ReadLockReleasedEarly, read_two, Checker(SingleAntiDependency)),
        (Bug::ReadLockReleasedEarly, both_upgrade, Checker(LostUpdate)),
        (Bug::WriteLockReleasedEarly, cross, Checker(DirtyWrites)),
        (Bug::UpgradeForgetsReaders, both_upgrade, Checker(LostUpdate)),
        (Bug::MissedGap, insert_where_the_other_looks, Checker(Phantom)),
        (Bug::DirtyRead, roll_back, Checker(AbortedRead)),
        (Bug::AbortForgetsUndo, roll_back, Checker(AbortedRead)),
        (Bug::AbortForgetsLocks, roll_back, Locks),
        (Bug::CommitLosesWrites, cross, Checker(LostWrite)),
        (Bug::CommitLosesWrites, read_two, Rows),
        (Bug::NobodyIsWoken, cross, LostWakeup),
    ];
    for (bug, scripts, expected) in cases {
        let found = found(bug, scripts);
        assert!(found.contains(&expected), "{bug:?} is not found by {expected:?}, but by {found:?}");
    }
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    for scripts in ALL {
        assert_eq!(found(Bug::None, scripts), BTreeSet::new());
    }
}
