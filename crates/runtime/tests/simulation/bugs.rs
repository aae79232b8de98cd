//! Bugs planted in three small engines, of two-phase locking, of very lightweight locking and of versions, and which
//! check finds each.

use crate::engines::{Never, run_scripts};
use crate::planted::PlantedEngine;
use crate::planted::two_phase::{self, TwoPhase};
use crate::planted::versions::{self, Versions};
use crate::planted::vll::{self, Vll};
use crate::script::{Declared, End, Script, Step};
use crate::table::Fixture;
use hotrow_check::{AnomalyKind, check};
use hotrow_protocols::open;
use hotrow_runtime::simulation::{FailureKind, Simulation, SimulationConfig};
use hotrow_storage::{IndexRef, Key};
use hotrow_sync::Arc;
use hotrow_txn::{Engine, Isolation, Scan};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::ops::Bound;

/// The check that found a bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FoundBy {
    /// The engine's audit, after a step.
    Audit,
    /// The checker, in the history.
    Checker(AnomalyKind),
    /// The simulator: a transaction was not woken.
    LostWakeup,
    /// The simulator: a transaction waits for a lock that is never released.
    Stall,
    /// The rows that are left are not those that the history implies.
    Rows,
    /// A lock is held when no transaction runs.
    Locks,
    /// The redo records do not make the rows again.
    Redo,
}

/// Whether the engine is audited after each step. An audit finds a bug before any other check, so a test of the other
/// checks does without audits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audits {
    Yes,
    No,
}

/// Returns the checks that fail in 300 seeds of `scripts`, one a task, on an engine with a bug.
fn found<B: Bugs>(bug: B, audits: Audits, scripts: impl Fn(&Fixture) -> Vec<Script>) -> BTreeSet<FoundBy> {
    (0..300).filter_map(|seed| found_by_seed(bug, audits, &scripts, seed)).collect()
}

/// The bugs of a planted engine.
pub trait Bugs: Copy + Debug {
    /// The engine with this bug.
    fn engine(self, inner: Arc<dyn Engine>) -> Arc<dyn Engine>;

    /// Whether transactions pause while they hand over what they leave. It makes schedules that find other bugs rarer.
    fn pauses(self) -> bool {
        false
    }
}

impl Bugs for two_phase::Bug {
    fn engine(self, inner: Arc<dyn Engine>) -> Arc<dyn Engine> {
        PlantedEngine::over(inner, TwoPhase::new(self))
    }

    fn pauses(self) -> bool {
        matches!(self, Self::None | Self::HandsOverLate | Self::HandsOverNoDeletes)
    }
}

impl Bugs for vll::Bug {
    fn engine(self, inner: Arc<dyn Engine>) -> Arc<dyn Engine> {
        PlantedEngine::over(inner, Vll::new(self))
    }
}

impl Bugs for versions::Bug {
    fn engine(self, inner: Arc<dyn Engine>) -> Arc<dyn Engine> {
        let versions = Versions::new(&inner, self);
        PlantedEngine::over(inner, versions)
    }

    fn pauses(self) -> bool {
        true
    }
}

/// The first thing that a seed finds: while it runs, in its history, in what it leaves.
fn found_by_seed<B: Bugs>(
    bug: B,
    audits: Audits,
    scripts: impl Fn(&Fixture) -> Vec<Script>,
    seed: u64,
) -> Option<FoundBy> {
    let inner = open("none").expect("it is in the registry");
    let fixture = Arc::new(Fixture::over(bug.engine(inner), true));
    fixture.redo.set_pauses(bug.pauses());
    // Every other seed cancels waits.
    let mut simulation =
        Simulation::new(SimulationConfig { cancel_per_mille: 30 * (seed % 2), ..SimulationConfig::new(seed) });
    for script in scripts(&fixture) {
        let fixture = fixture.clone();
        simulation.spawn("task", move |task| run_scripts(task, &fixture, "task", &[script], Never::default()));
    }
    if audits == Audits::Yes {
        let engine = fixture.engine.clone();
        simulation.after_each_step(move |_| engine.audit());
    }
    if let Err(failure) = simulation.run() {
        return Some(match failure.kind {
            FailureKind::Audit(_) => FoundBy::Audit,
            FailureKind::LostWakeup(_) => FoundBy::LostWakeup,
            FailureKind::Stalled(_) => FoundBy::Stall,
            _ => panic!("{failure}"),
        });
    }
    if let Err(objection) = check(&fixture.recording.history()) {
        return Some(FoundBy::Checker(objection.kind().expect("a short history is decided")));
    }
    let what = fixture.check().err()?;
    // Whoever looks at the rows cannot, if they are locked.
    match what {
        rows if rows.starts_with("the rows are") => Some(FoundBy::Rows),
        redo if redo.starts_with("the redo records") => Some(FoundBy::Redo),
        locks if locks.contains("lock") => Some(FoundBy::Locks),
        _ if audits == Audits::No => None,
        other => panic!("neither rows nor locks nor redo records: {other}"),
    }
}

fn script(fixture: &Fixture, end: End, steps: &[Step]) -> Script {
    Script {
        table: fixture.table,
        isolation: Isolation::Serializable,
        concurrency: None,
        steps: steps.to_vec(),
        end,
        declared: Declared::Everything,
    }
}

const X: Key = Key::Int(0);
const Y: Key = Key::Int(2);
const Z: Key = Key::Int(4);

/// Both read an item and write it.
fn both_upgrade(fixture: &Fixture) -> Vec<Script> {
    let both = script(fixture, End::Commit, &[Step::Read(X), Step::Update(X, 1)]);
    vec![both.clone(), both]
}

/// A transaction reads two items that another one writes.
fn read_two(fixture: &Fixture) -> Vec<Script> {
    vec![
        script(fixture, End::Commit, &[Step::Read(X), Step::Read(Y)]),
        script(fixture, End::Commit, &[Step::Update(X, 1), Step::Update(Y, 1)]),
    ]
}

/// A transaction writes an item twice and rolls back. Another one reads the item, and writes a second item.
fn roll_back(fixture: &Fixture) -> Vec<Script> {
    vec![
        script(fixture, End::Rollback, &[Step::Update(X, 1), Step::Update(X, 2)]),
        script(fixture, End::Commit, &[Step::Read(X), Step::Update(Y, 1)]),
    ]
}

/// A transaction deletes an item, and another one changes it or inserts it again.
fn delete(fixture: &Fixture) -> Vec<Script> {
    vec![
        script(fixture, End::Commit, &[Step::Update(X, 1), Step::Delete(X)]),
        script(fixture, End::Commit, &[Step::Update(X, 2), Step::Insert(fixture.row(0, 1, None))]),
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

/// Three in a row, each in the way of the next, and two of them in two partitions.
fn queue_up(fixture: &Fixture) -> Vec<Script> {
    vec![
        script(fixture, End::Commit, &[Step::Update(X, 1), Step::Update(Z, 1)]),
        script(fixture, End::Commit, &[Step::Update(Y, 1), Step::Update(X, 2)]),
        script(fixture, End::Commit, &[Step::Update(Y, 2), Step::Read(Z)]),
        script(fixture, End::Commit, &[Step::Update(X, 0), Step::Update(Y, 0)]),
    ]
}

/// Both write the same two items of one partition in opposite order, and tell of the first one only.
fn surprise(fixture: &Fixture) -> Vec<Script> {
    let declares_first = |first, second| Script {
        declared: Declared::Some(1),
        ..script(fixture, End::Commit, &[Step::Update(first, 1), Step::Update(second, 1)])
    };
    vec![declares_first(X, Z), declares_first(Z, X)]
}

/// Several count on one absent row.
fn absent(fixture: &Fixture) -> Vec<Script> {
    let absent = Key::Int(1);
    vec![
        script(fixture, End::Commit, &[Step::Read(absent.clone()), Step::Update(Y, 1), Step::Read(absent.clone())]),
        script(fixture, End::Commit, &[Step::Read(absent), Step::Update(X, 1)]),
        script(fixture, End::Commit, &[Step::Insert(fixture.row(1, 1, None))]),
    ]
}

/// A transaction changes an item, and aborts because of a second one when many have read the item.
fn prepare_in_vain(fixture: &Fixture) -> Vec<Script> {
    let read = script(fixture, End::Commit, &[Step::Read(X)]);
    vec![
        script(fixture, End::Commit, &[Step::Read(Y), Step::Update(X, 1)]),
        script(fixture, End::Commit, &[Step::Update(Y, 1)]),
        read.clone(),
        read.clone(),
        read,
    ]
}

/// A transaction deletes an item, aborts, and does it again later. In between another one misses the item, and writes
/// the item that the first one reads then.
fn delete_in_vain(fixture: &Fixture) -> Vec<Script> {
    let miss = script(fixture, End::Commit, &[Step::Read(X), Step::Update(Y, 2)]);
    vec![
        script(fixture, End::Commit, &[Step::Read(Y), Step::Delete(X)]),
        script(fixture, End::Commit, &[Step::Update(Y, 1)]),
        miss.clone(),
        miss.clone(),
        miss,
    ]
}

/// Two put the same row where none is.
fn absent_twice(fixture: &Fixture) -> Vec<Script> {
    let insert = script(fixture, End::Commit, &[Step::Read(Y), Step::Insert(fixture.row(1, 1, None))]);
    vec![insert.clone(), insert]
}

/// Three transactions read an item. One of them writes it, and another item that the third one reads.
fn upgrade_among_readers(fixture: &Fixture) -> Vec<Script> {
    vec![
        script(fixture, End::Commit, &[Step::Read(X), Step::Update(X, 1), Step::Update(Y, 1)]),
        script(fixture, End::Commit, &[Step::Read(X)]),
        script(fixture, End::Commit, &[Step::Read(X), Step::Read(Z), Step::Read(Y)]),
    ]
}

/// Many write one item.
fn one_row(fixture: &Fixture) -> Vec<Script> {
    vec![script(fixture, End::Commit, &[Step::Update(X, 1), Step::Read(Y)]); 5]
}

/// Each reads what the other writes.
fn write_skew(fixture: &Fixture) -> Vec<Script> {
    vec![
        script(fixture, End::Commit, &[Step::Read(X), Step::Update(Y, 1)]),
        script(fixture, End::Commit, &[Step::Read(Y), Step::Update(X, 1)]),
    ]
}

/// A transaction reads an item again and again while two others change it.
fn look_again(fixture: &Fixture) -> Vec<Script> {
    vec![
        script(fixture, End::Commit, &[Step::Read(Y), Step::Read(X), Step::Read(X), Step::Read(X)]),
        script(fixture, End::Commit, &[Step::Update(X, 1)]),
        script(fixture, End::Commit, &[Step::Update(X, 2)]),
    ]
}

pub type Scripts = fn(&Fixture) -> Vec<Script>;
pub const ALL: [Scripts; 16] = [
    both_upgrade,
    read_two,
    roll_back,
    delete,
    cross,
    insert_where_the_other_looks,
    queue_up,
    surprise,
    absent,
    prepare_in_vain,
    delete_in_vain,
    write_skew,
    look_again,
    absent_twice,
    one_row,
    upgrade_among_readers,
];

/// A bug, whether the engine is audited, the transactions that meet the bug, and the check that finds it.
pub type Case<B> = (B, Audits, Scripts, FoundBy);

fn assert_found<B: Bugs>(cases: &[Case<B>]) {
    let missed = cases.iter().filter_map(|&(bug, audits, scripts, expected)| {
        let found = found(bug, audits, scripts);
        let what = format!("{bug:?}, audits {audits:?}: not found by {expected:?}, but by {found:?}");
        (!found.contains(&expected)).then_some(what)
    });
    assert_eq!(missed.collect::<Vec<_>>(), Vec::<String>::new());
}

use Audits::{No, Yes};
use FoundBy::{Audit, Checker, LostWakeup, Redo, Rows, Stall};

pub const TWO_PHASE: [Case<two_phase::Bug>; 15] = [
    (two_phase::Bug::ReadLockReleasedEarly, No, read_two, Checker(AnomalyKind::SingleAntiDependency)),
    (two_phase::Bug::ReadLockReleasedEarly, No, both_upgrade, Checker(AnomalyKind::LostUpdate)),
    (two_phase::Bug::WriteLockReleasedEarly, No, cross, Checker(AnomalyKind::DirtyWrites)),
    (two_phase::Bug::UpgradeForgetsReaders, No, both_upgrade, Checker(AnomalyKind::LostUpdate)),
    (two_phase::Bug::UpgradeGrantedWithoutLook, No, upgrade_among_readers, Checker(AnomalyKind::SingleAntiDependency)),
    (two_phase::Bug::MissedGap, No, insert_where_the_other_looks, Checker(AnomalyKind::Phantom)),
    (two_phase::Bug::DirtyRead, No, roll_back, Checker(AnomalyKind::AbortedRead)),
    (two_phase::Bug::AbortForgetsUndo, No, roll_back, Checker(AnomalyKind::AbortedRead)),
    (two_phase::Bug::AbortForgetsLocks, No, roll_back, FoundBy::Locks),
    (two_phase::Bug::CommitLosesWrites, No, cross, Checker(AnomalyKind::LostWrite)),
    (two_phase::Bug::CommitLosesWrites, No, read_two, Rows),
    (two_phase::Bug::NobodyIsWoken, No, cross, LostWakeup),
    (two_phase::Bug::HandsOverLate, No, both_upgrade, Redo),
    (two_phase::Bug::HandsOverLate, No, delete, Redo),
    (two_phase::Bug::HandsOverNoDeletes, No, delete, Redo),
];

#[test]
fn each_bug_of_two_phase_locking_is_found_by_the_check_that_is_there_for_it() {
    assert_found(&TWO_PHASE);
}

pub const VLL: [Case<vll::Bug>; 18] = [
    (vll::Bug::WithdrawalKeepsCounters, Yes, queue_up, Audit),
    (vll::Bug::WithdrawalUnblocksNobody, Yes, queue_up, Audit),
    (vll::Bug::WithdrawalUnblocksNobody, No, queue_up, Stall),
    (vll::Bug::ReadIgnoresWriters, Yes, read_two, Audit),
    (vll::Bug::ReadIgnoresWriters, No, roll_back, Checker(AnomalyKind::AbortedRead)),
    (vll::Bug::UnblocksBehindTheFront, Yes, queue_up, Audit),
    (vll::Bug::UnblocksBehindTheFront, No, queue_up, Checker(AnomalyKind::DirtyWrites)),
    (vll::Bug::NobodyIsWoken, Yes, cross, LostWakeup),
    (vll::Bug::LateInSpiteOfConflict, Yes, surprise, Audit),
    (vll::Bug::LateInSpiteOfConflict, No, surprise, Checker(AnomalyKind::DirtyWrites)),
    (vll::Bug::AnalysisSkipsTheFree, Yes, queue_up, Audit),
    (vll::Bug::AnalysisSkipsTheFree, No, queue_up, Checker(AnomalyKind::DirtyWrites)),
    (vll::Bug::PlaceholderGoesWhileCounted, Yes, absent, Audit),
    (vll::Bug::PlaceholderGoesWhileCounted, No, absent, Checker(AnomalyKind::SinglePredicateAntiDependency)),
    (vll::Bug::NoIntention, No, insert_where_the_other_looks, Checker(AnomalyKind::Phantom)),
    (vll::Bug::PartitionsOneByOne, Yes, queue_up, Stall),
    (vll::Bug::FinishedIsLost, Yes, cross, Audit),
    (vll::Bug::FinishedIsLost, No, cross, Stall),
];

#[test]
fn each_bug_of_very_lightweight_locking_is_found_by_the_checks_that_are_there_for_it() {
    assert_found(&VLL);
}

pub const VERSIONS: [Case<versions::Bug>; 18] = [
    (versions::Bug::NoDependencyOnReads, No, prepare_in_vain, Checker(AnomalyKind::AbortedRead)),
    (versions::Bug::NoDependencyOnIgnores, No, delete_in_vain, Checker(AnomalyKind::CircularInformation)),
    (versions::Bug::NoCascade, No, prepare_in_vain, Checker(AnomalyKind::AbortedRead)),
    (versions::Bug::NobodyIsWoken, No, prepare_in_vain, LostWakeup),
    (versions::Bug::TimeBeforeStatus, No, read_two, Checker(AnomalyKind::SingleAntiDependency)),
    (versions::Bug::RowsNotValidated, No, write_skew, Checker(AnomalyKind::ItemAntiDependency)),
    (versions::Bug::RangesNotValidated, No, insert_where_the_other_looks, Checker(AnomalyKind::Phantom)),
    (versions::Bug::LastWriterWins, No, both_upgrade, Checker(AnomalyKind::LostWrite)),
    (versions::Bug::LastWriterWins, Yes, both_upgrade, Audit),
    (versions::Bug::InsertsSeeNobody, No, absent_twice, Checker(AnomalyKind::LostWrite)),
    (versions::Bug::AbortForgetsLocks, Yes, roll_back, Audit),
    (versions::Bug::AbortForgetsLocks, No, roll_back, FoundBy::Locks),
    (versions::Bug::EndsLate, Yes, cross, Audit),
    (versions::Bug::EndsLate, No, read_two, FoundBy::Locks),
    (versions::Bug::CollectsWhatIsRead, No, look_again, Checker(AnomalyKind::Internal)),
    (versions::Bug::HandsOverEarly, No, prepare_in_vain, Redo),
    (versions::Bug::WritersAreNotWoken, No, both_upgrade, LostWakeup),
    (versions::Bug::NextIsPassedOver, No, one_row, Stall),
];

#[test]
fn each_bug_of_versions_is_found_by_the_check_that_is_there_for_it() {
    assert_found(&VERSIONS);
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    for scripts in ALL {
        assert_eq!(found(two_phase::Bug::None, Audits::Yes, scripts), BTreeSet::new());
        assert_eq!(found(vll::Bug::None, Audits::Yes, scripts), BTreeSet::new());
        assert_eq!(found(versions::Bug::None, Audits::Yes, scripts), BTreeSet::new());
    }
}
