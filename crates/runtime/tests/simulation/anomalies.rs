//! Broken engines are caught, and for what they do.

use crate::engines::{Never, run_scripts};
use crate::planted::PlantedEngine;
use crate::planted::flawed::Flaw;
use crate::script::{Declared, End, Script, Step};
use crate::table::Fixture;
use hotrow_check::{AnomalyKind, check};
use hotrow_protocols::{ENGINES, open};
use hotrow_runtime::simulation::{Simulation, SimulationConfig};
use hotrow_storage::{IndexRef, Key};
use hotrow_sync::Arc;
use hotrow_txn::{Engine, Isolation, Scan};
use std::collections::BTreeSet;
use std::ops::Bound;

/// Returns the anomalies that the checker finds in 200 seeds of `scripts`, one a task, at serializable.
fn found(engine: impl Fn() -> Arc<dyn Engine>, scripts: impl Fn(&Fixture) -> Vec<Script>) -> BTreeSet<AnomalyKind> {
    found_in(|| Fixture::over(engine(), true), scripts)
}

/// Returns the anomalies that the checker finds in 200 seeds of `scripts`, each in a new database of `fixture`.
fn found_in(fixture: impl Fn() -> Fixture, scripts: impl Fn(&Fixture) -> Vec<Script>) -> BTreeSet<AnomalyKind> {
    let mut kinds = BTreeSet::new();
    for seed in 0..200 {
        let fixture = Arc::new(fixture());
        let mut simulation = Simulation::new(SimulationConfig::new(seed));
        for script in scripts(&fixture) {
            let fixture = fixture.clone();
            simulation.spawn("task", move |task| run_scripts(task, &fixture, "task", &[script], Never::default()));
        }
        if let Err(failure) = simulation.run() {
            panic!("{failure}");
        }
        let history = fixture.recording.history();
        kinds.extend(check(&history).err().map(|objection| objection.kind().expect("a short history is decided")));
    }
    kinds
}

fn script(fixture: &Fixture, end: End, steps: &[Step]) -> Script {
    let (table, isolation, concurrency) = (fixture.table, Isolation::Serializable, None);
    Script { table, isolation, concurrency, steps: steps.to_vec(), end, declared: Declared::Nothing }
}

fn with_flaw(engine: &str, flaw: Flaw) -> impl Fn() -> Arc<dyn Engine> {
    move || PlantedEngine::over(open(engine).expect("it is in the registry"), flaw)
}

fn no_isolation() -> Arc<dyn Engine> {
    open("none").expect("it is in the registry")
}

fn right() -> Arc<dyn Engine> {
    open("2pl-timeout").expect("it is in the registry")
}

/// Each reads what the other writes.
fn write_skew(fixture: &Fixture) -> Vec<Script> {
    let (x, y) = (Key::Int(0), Key::Int(2));
    vec![
        script(fixture, End::Commit, &[Step::Read(x.clone()), Step::Update(y.clone(), 1)]),
        script(fixture, End::Commit, &[Step::Read(y), Step::Update(x, 1)]),
    ]
}

/// A transaction reads two items that another one writes, and something else in between: a read committed lock on the
/// first may last until the next call.
fn read_skew(fixture: &Fixture) -> Vec<Script> {
    let (x, y) = (Key::Int(0), Key::Int(2));
    vec![
        script(fixture, End::Commit, &[Step::Read(x.clone()), Step::Read(Key::Int(4)), Step::Read(y.clone())]),
        script(fixture, End::Commit, &[Step::Update(x, 1), Step::Update(y, 1)]),
    ]
}

fn scan(fixture: &Fixture, lower: i64, upper: i64) -> Step {
    let (lower, upper) = (Bound::Included(Key::Int(lower)), Bound::Included(Key::Int(upper)));
    Step::Scan(Scan { lower, upper, ..Scan::all(fixture.table, IndexRef::Primary) }, usize::MAX)
}

/// Each looks into the range into which the other inserts.
fn phantoms(fixture: &Fixture) -> Vec<Script> {
    vec![
        script(fixture, End::Commit, &[scan(fixture, 0, 3), Step::Insert(fixture.row(5, 1, None))]),
        script(fixture, End::Commit, &[scan(fixture, 4, 7), Step::Insert(fixture.row(1, 1, None))]),
    ]
}

/// A transaction scans rows that others change.
fn scan_while_rows_change(fixture: &Fixture) -> Vec<Script> {
    vec![
        script(fixture, End::Commit, &[scan(fixture, 0, 7), Step::Update(Key::Int(0), 1)]),
        script(fixture, End::Commit, &[Step::Update(Key::Int(2), 2), Step::Update(Key::Int(6), 2)]),
        script(fixture, End::Commit, &[Step::Update(Key::Int(4), 1)]),
    ]
}

/// Between the keys 0 and 4: one transaction inserts below a key of its own, while the committed key above that goes,
/// others insert and take back what is beside it, and two look at the place twice.
fn inserts_below_inserts(fixture: &Fixture) -> Vec<Script> {
    let insert = |key| Step::Insert(fixture.row(key, 1, None));
    let twice = [scan(fixture, 1, 1), Step::Read(Key::Int(0)), scan(fixture, 1, 1)];
    vec![
        script(fixture, End::Commit, &[insert(3), insert(1)]),
        script(fixture, End::Commit, &[Step::Delete(Key::Int(4))]),
        script(fixture, End::Rollback, &[insert(2), Step::Read(Key::Int(0))]),
        script(fixture, End::Commit, &twice),
        script(fixture, End::Commit, &twice),
    ]
}

/// A transaction writes two items and rolls back, while another one reads them.
fn rollback(fixture: &Fixture) -> Vec<Script> {
    let (x, y) = (Key::Int(0), Key::Int(2));
    vec![
        script(fixture, End::Rollback, &[Step::Update(x.clone(), 1), Step::Update(y.clone(), 1)]),
        script(fixture, End::Commit, &[Step::Read(x), Step::Read(y)]),
    ]
}

/// Both write the same two items, in opposite order.
fn crossed_writes(fixture: &Fixture) -> Vec<Script> {
    let (x, y) = (Key::Int(0), Key::Int(2));
    vec![
        script(fixture, End::Commit, &[Step::Update(x.clone(), 1), Step::Update(y.clone(), 1)]),
        script(fixture, End::Commit, &[Step::Update(y, 1), Step::Update(x, 1)]),
    ]
}

type Scripts = fn(&Fixture) -> Vec<Script>;

#[test]
fn flaws_are_caught() {
    use AnomalyKind::*;
    let cases: [(&str, Flaw, Scripts, &[AnomalyKind]); 6] = [
        ("2pl-timeout", Flaw::WeakerLevel, write_skew, &[ItemAntiDependency]),
        ("2pl-timeout", Flaw::WeakerLevel, read_skew, &[SingleAntiDependency]),
        ("2pl-timeout", Flaw::NoGaps, phantoms, &[Phantom]),
        ("2pl-timeout", Flaw::EarlyCommit, rollback, &[AbortedRead]),
        ("2pl-timeout", Flaw::EarlyCommit, crossed_writes, &[DirtyWrites]),
        ("mvl", Flaw::WalkMoves, scan_while_rows_change, &[Internal]),
    ];
    for (engine, flaw, scripts, expected) in cases {
        let expected: BTreeSet<_> = expected.iter().copied().collect();
        assert_eq!(found(with_flaw(engine, flaw), scripts), expected, "{engine}: {flaw:?}");
    }
}

/// The number of seeds, of 200, that end with a row that refers to an absent row, although the transaction that
/// inserted it has kept the other row's key, and the transaction that deleted the other row has looked for rows that
/// refer to it.
fn dangling(engine: impl Fn() -> Arc<dyn Engine>, isolation: Isolation) -> usize {
    let is_dangling = |seed: &u64| {
        let fixture = Arc::new(Fixture::over(engine(), true));
        let (parent, child) = (Key::Int(2), Key::Int(5));
        let steps = [
            vec![
                Step::Read(Key::Int(0)),
                Step::Refer(parent.clone(), fixture.row(5, 1, None)),
                Step::Read(Key::Int(0)),
            ],
            vec![Step::Read(Key::Int(0)), Step::DeleteUnreferred(parent.clone(), child.clone())],
            vec![Step::Update(parent.clone(), 1)],
        ];
        let mut simulation = Simulation::new(SimulationConfig::new(*seed));
        for steps in steps {
            let (fixture, script) = (fixture.clone(), Script { isolation, ..script(&fixture, End::Commit, &steps) });
            simulation.spawn("task", move |task| run_scripts(task, &fixture, "task", &[script], Never::default()));
        }
        simulation.run().unwrap_or_else(|failure| panic!("{failure}"));
        fixture.check().unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        let rows = fixture.recording.present(&*fixture.engine, fixture.table).expect("nobody is there");
        let is_there = |key: &Key| rows.keys().any(|item| item.key == *key);
        is_there(&child) && !is_there(&parent)
    };
    (0..200).filter(is_dangling).count()
}

#[test]
fn a_row_that_is_referred_to_stays() {
    for info in ENGINES.iter().filter(|info| info.isolates) {
        for &isolation in info.isolation {
            let right = || open(info.name).expect("it is in the registry");
            assert_eq!(dangling(right, isolation), 0, "{} at {isolation}", info.name);
        }
    }
    for engine in ["mvo", "mvl", "ilock"] {
        let found = dangling(with_flaw(engine, Flaw::KeyNotKept), Isolation::ReadCommitted);
        assert!(found > 0, "{engine}: a key that is not kept is found");
    }
}

#[test]
fn no_isolation_is_caught() {
    use AnomalyKind::*;
    let cases: [(Scripts, AnomalyKind); 5] = [
        (write_skew, ItemAntiDependency),
        (read_skew, SingleAntiDependency),
        (phantoms, Phantom),
        (rollback, AbortedRead),
        (crossed_writes, DirtyWrites),
    ];
    for (scripts, expected) in cases {
        let kinds = found(no_isolation, scripts);
        assert!(kinds.contains(&expected), "{expected:?} is not among {kinds:?}");
    }
}

#[test]
fn the_same_scripts_pass_on_a_right_engine() {
    let all: [Scripts; 6] = [write_skew, read_skew, phantoms, rollback, crossed_writes, scan_while_rows_change];
    for scripts in all {
        assert_eq!(found(right, scripts), BTreeSet::new());
        assert_eq!(found(|| open("mvl").expect("it is in the registry"), scripts), BTreeSet::new());
    }
}

#[test]
fn nobody_sees_half_of_what_is_inserted_in_any_order() {
    for info in ENGINES.iter().filter(|info| info.isolates) {
        let fixture = || Fixture::filled(open(info.name).expect("it is in the registry"), true, 4);
        assert_eq!(found_in(fixture, inserts_below_inserts), BTreeSet::new(), "{}", info.name);
    }
}
