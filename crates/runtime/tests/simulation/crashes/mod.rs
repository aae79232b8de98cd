//! Crashes of simulated databases: transactions, a log on a simulated disk and checkpoints run under the simulator, the
//! power fails at any moment, and the database that is recovered must be one that the history explains.
//!
//! After each crash everything that was acknowledged is there, and no record of a transaction that did not commit. The
//! transactions that are there make a history by themselves: a transaction that saw another one's changes is there only
//! with that one, the rows are those that the history implies, unique indexes hold and agree with the rows. A second
//! crash, while the log is opened, changes nothing.
//!
//! | file | contents |
//! | --- | --- |
//! | `world` | a database over several lives, each of which ends with a crash |
//! | `ledger` | its redo sink, which knows the place of each transaction in the log |
//! | `disk` | a disk whose operations are steps of the simulation, and which may break a promise |

#![allow(clippy::print_stdout, reason = "the numbers of crash points are to be quoted")]

mod disk;
mod ledger;
mod world;

use crate::engines::settings;
use crate::planted::PlantedEngine;
use crate::planted::two_phase::{Bug, TwoPhase};
use crate::script::Mix;
use crate::table::KEYS;
use disk::Flaw;
use hotrow_protocols::{ENGINES, open, open_with};
use hotrow_runtime::simulation::for_each_seed;
use hotrow_sync::Arc;
use hotrow_txn::{Engine, EngineInfo, Isolation, Settings};
use world::{Mistake, Subject, World};

/// The seeds of each engine in the test command.
const SEEDS: u64 = 8;

const MIXES: [Mix; 5] = [Mix::Everything(3), Mix::Everything(KEYS), Mix::Phantoms, Mix::Queues, Mix::Retired];

#[test]
fn what_is_left_after_crashes_is_what_the_history_explains() {
    let chosen = std::env::var("HOTROW_SIM_ENGINE").ok();
    let is_chosen = |info: &&EngineInfo| chosen.as_ref().is_none_or(|name| name == info.name);
    let (mut points, mut within_work, mut engines) = (0, 0, 0);
    for info in ENGINES.iter().filter(|info| info.isolates).filter(is_chosen) {
        let open = |seed| {
            let settings = Settings { deadlock_time_outs: false, ..settings(seed) };
            open_with(info.name, &settings).unwrap_or_else(|error| panic!("{}: {error}", info.name))
        };
        let (of_engine, levels) = (points, [&[Isolation::Serializable], info.isolation]);
        for_each_seed(SEEDS, |seed| {
            let subject = Subject {
                name: info.name,
                open: &open,
                levels: levels[(seed % 2) as usize],
                mixes: &MIXES,
                mistake: Mistake::None,
            };
            let mut world = World::new(&subject, seed);
            let outcome = world.run();
            points += world.points;
            within_work += world.within_work;
            outcome.map_err(|failure| failure.of(subject.name))
        });
        engines += 1;
        println!("{}: {} crash points", info.name, points - of_engine);
    }
    println!("{points} crash points on {engines} engines, {within_work} within checkpoints and openings");
    assert!(chosen.is_some() || points >= 1000 && within_work >= 100, "{points}, {within_work}");
}

/// Looks for something that is wrong, and whose description has one of these texts, in the lives of up to 400
/// databases.
fn find(open: &dyn Fn(u64) -> Arc<dyn Engine>, mixes: &[Mix], mistake: Mistake, texts: &[&str]) -> Option<String> {
    let subject = Subject { name: "planted", open, levels: &[Isolation::Serializable], mixes, mistake };
    let mut points = 0;
    let wrong = (0..400).find_map(|seed| {
        let mut world = World::new(&subject, seed);
        let outcome = world.run();
        points += world.points;
        let wrong = outcome.err().map(|failure| format!("seed {seed}: {:?}", failure.kind));
        wrong.filter(|wrong| texts.iter().any(|text| wrong.contains(text)))
    });
    println!("{mistake:?}: {wrong:?} after {points} crash points");
    wrong
}

/// The engine of the mistakes of a log.
fn locking(seed: u64) -> Arc<dyn Engine> {
    open_with("ilock", &settings(seed)).expect("it is in the registry")
}

#[track_caller]
fn assert_found(mistake: Mistake, texts: &[&str]) {
    assert!(find(&locking, &MIXES, mistake, texts).is_some(), "{mistake:?} is not found by {texts:?}");
}

#[test]
fn a_log_that_acknowledges_before_its_sync_is_found() {
    assert_found(Mistake::AcknowledgesEarly, &["was acknowledged"]);
    assert_found(Mistake::Disk(Flaw::NothingSynced), &["was acknowledged"]);
}

#[test]
fn a_log_that_is_cut_off_before_the_checkpoint_is_durable_is_found() {
    assert_found(Mistake::TruncatesEarly, &["the log begins at"]);
}

#[test]
fn a_log_that_syncs_no_folder_is_found() {
    assert_found(Mistake::Disk(Flaw::NoFolderSynced), &["was acknowledged", "damaged", "there is no"]);
}

#[test]
fn a_checkpoint_that_is_trusted_before_its_sync_is_found() {
    assert_found(Mistake::Disk(Flaw::NoCheckpointSynced), &["damaged"]);
}

#[test]
fn an_engine_that_appends_after_it_has_released_its_locks_is_found() {
    let mixes = [Mix::Queues, Mix::Retired];
    let planted = |bug| move |_| PlantedEngine::over(open("none").expect("it is in the registry"), TwoPhase::new(bug));
    assert_eq!(find(&planted(Bug::None), &mixes, Mistake::None, &[""]), None);
    let found = find(&planted(Bug::HandsOverLate), &mixes, Mistake::None, &["after the crash"]);
    assert!(found.is_some(), "a late record is not found");
}
