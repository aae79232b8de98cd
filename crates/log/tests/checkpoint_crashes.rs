//! The power fails at any operation of a checkpoint, and again while the next process continues it: nothing is lost.

mod common;

use common::disk::MemoryDisk;
use common::history::History;
use common::planted::{Flaw, FlawedDisk};
use hotrow_log::checkpoint::{Checkpoints, Options};
use hotrow_sync::Arc;

/// Continues a history on a disk, with a checkpoint after every few steps, until `rounds` are over or the power fails.
fn work(history: &mut History, disk: &Arc<MemoryDisk>, flaw: Flaw, options: &Options, rounds: usize) {
    let Ok(checkpoints) = Checkpoints::open(FlawedDisk::over(disk.clone(), flaw), options.clone()) else { return };
    for _ in 0..rounds {
        for _ in 0..history.random.usize(5..40) {
            history.step();
        }
        if checkpoints.run(&history.log, &|| false).is_err() {
            return;
        }
    }
}

/// Lets the power fail at random operations, several times in a row, and checks the rows after each.
fn crash(seed: u64, flaw: Flaw) -> Result<(), String> {
    let mut history = History::new(seed);
    let options = history.options();
    let mut disk = MemoryDisk::new();
    for _ in 0..4 {
        let operation = history.random.u64(1..150);
        disk.fail_at(operation);
        work(&mut history, &disk, flaw, &options, 12);
        disk = disk.after_crash(&mut history.random);
        history.check(&*disk).map_err(|wrong| format!("seed {seed}, operation {operation}: {wrong}"))?;
    }
    work(&mut history, &disk, flaw, &options, 3);
    history.check(&*disk).map_err(|wrong| format!("seed {seed}, at the end: {wrong}")).map(drop)
}

fn seeds(short: u64) -> std::ops::Range<u64> {
    let times = std::env::var("HOTROW_LOG_TIMES").ok().and_then(|times| times.parse::<u64>().ok());
    0..short * times.unwrap_or(1)
}

#[test]
fn nothing_is_lost_at_any_crash() {
    for seed in seeds(150) {
        if let Err(wrong) = crash(seed, Flaw::None) {
            panic!("{wrong}");
        }
    }
}

#[test]
fn a_checkpoint_that_does_not_wait_for_the_disk_is_found() {
    for flaw in [Flaw::ManifestNotSynced, Flaw::FilesNotSynced, Flaw::FolderNotSynced, Flaw::RemovalBeforeManifest] {
        assert!(seeds(150).any(|seed| crash(seed, flaw).is_err()), "{flaw:?}");
    }
}

/// Lets an operation of the disk fail now and then, while the process goes on, and checks that nothing is lost then or
/// at a later crash.
fn fail(seed: u64) -> Result<(), String> {
    let mut history = History::new(seed);
    let options = history.options();
    let mut disk = MemoryDisk::new();
    let open = |disk: &Arc<MemoryDisk>| Checkpoints::open(disk.clone(), options.clone()).expect("it is whole");
    let mut checkpoints = open(&disk);
    let mut failures = 0;
    for round in 0..20 {
        (0..history.random.usize(5..40)).for_each(|_| history.step());
        disk.fail_once_at(disk.operations() + history.random.u64(..40));
        if let Err(failure) = checkpoints.run(&history.log, &|| false) {
            failures += 1;
            history.check(&*disk).map_err(|wrong| format!("round {round}, after {failure}: {wrong}"))?;
            if checkpoints.run(&history.log, &|| false).is_err() {
                // The manifest may or may not be durable. Only the next start finds out.
                if history.random.bool() {
                    disk = disk.after_crash(&mut history.random);
                }
                checkpoints = open(&disk);
                checkpoints.run(&history.log, &|| false).map_err(|failure| format!("round {round}: {failure}"))?;
            }
        }
        if history.random.u8(..5) == 0 {
            disk = disk.after_crash(&mut history.random);
            checkpoints = open(&disk);
        }
        history.check(&*disk).map_err(|wrong| format!("round {round}: {wrong}"))?;
    }
    checkpoints = open(&disk);
    checkpoints.run(&history.log, &|| false).map_err(|failure| format!("at the end: {failure}"))?;
    let files = disk.names().iter().filter(|name| name.starts_with("tables/")).count() as u64;
    let named = checkpoints.statistics().files;
    if failures == 0 || files != named {
        return Err(format!("{failures} failures, and {files} files of which {named} are needed"));
    }
    Ok(())
}

#[test]
fn nothing_is_lost_when_the_disk_fails_and_goes_on() {
    for seed in seeds(60) {
        if let Err(wrong) = fail(seed) {
            panic!("seed {seed}: {wrong}");
        }
    }
}

#[test]
fn the_files_of_an_older_manifest_stay_until_the_newer_one_is_durable() {
    let mut uncertain = 0;
    for operation in 0..400 {
        let mut history = History::new(7);
        let options = history.options();
        let mut disk = MemoryDisk::new();
        let checkpoints = Checkpoints::open(disk.clone(), options.clone()).expect("the directory is new");
        disk.fail_once_at(operation);
        let run = |history: &mut History| {
            (0..20).for_each(|_| history.step());
            checkpoints.run(&history.log, &|| false).is_ok() || checkpoints.run(&history.log, &|| false).is_ok()
        };
        if (0..8).all(|_| run(&mut history)) {
            continue;
        }
        uncertain += 1;
        // The next start takes the newer manifest, and removes what it does not need. Then the power fails.
        Checkpoints::open(disk.clone(), options.clone()).expect("it is whole");
        for _ in 0..10 {
            let crashed = disk.after_crash(&mut history.random);
            history.check(&*crashed).unwrap_or_else(|wrong| panic!("operation {operation}: {wrong}"));
        }
        disk = disk.after_crash(&mut history.random);
        work(&mut history, &disk, Flaw::None, &options, 2);
        history.check(&*disk).unwrap_or_else(|wrong| panic!("operation {operation}, at the end: {wrong}"));
    }
    assert!(uncertain > 5, "{uncertain} publications were uncertain");
}
