//! Checkpoints of random histories, with tiny files and at any time, hold the rows that the histories have left.

mod common;

use common::disk::MemoryDisk;
use common::history::History;
use common::real::RealDisk;
use hotrow_log::checkpoint::{Checkpoints, Options};
use hotrow_log::disk::Disk;
use hotrow_log::source::Source;
use hotrow_sync::Arc;
use std::cell::{Cell, RefCell};

/// Returns the number of histories: `short`, or as many times more as the environment says.
fn count(short: u64) -> u64 {
    let times = std::env::var("HOTROW_LOG_TIMES").ok().and_then(|times| times.parse::<u64>().ok());
    short * times.unwrap_or(1)
}

/// Takes steps of a history and of checkpoints in turn.
fn run(history: &mut History, disk: &Arc<dyn Disk>, options: &Options, steps: usize) {
    let mut checkpoints = Checkpoints::open(disk.clone(), options.clone()).expect("the directory is whole");
    for _ in 0..steps {
        for _ in 0..history.random.usize(..40) {
            history.step();
        }
        match history.random.u8(..8) {
            0..=2 => {
                let mut frames = history.log.frames(checkpoints.position()).expect("it is there");
                checkpoints.advance(&mut *frames, &|| false).expect("no fault");
            }
            3 => drop(checkpoints.merge(&|| false).expect("no fault")),
            4 => checkpoints.run(&history.log, &|| false).expect("no fault"),
            5 => checkpoints = Checkpoints::open(disk.clone(), options.clone()).expect("the directory is whole"),
            6 => {
                let stop_at = history.random.usize(..20);
                let calls = Cell::new(0);
                let stop = || calls.replace(calls.get() + 1) >= stop_at;
                let _ = checkpoints.run(&history.log, &stop);
            }
            _ => {
                history.check(&**disk).unwrap_or_else(|wrong| panic!("{wrong}"));
            }
        }
    }
}

#[test]
fn what_is_recovered_is_what_the_history_has_left() {
    for seed in 0..count(60) {
        let mut history = History::new(seed);
        let options = history.options();
        let disk: Arc<dyn Disk> = MemoryDisk::new();
        run(&mut history, &disk, &options, 30);
        if let Err(wrong) = history.check(&*disk) {
            panic!("seed {seed}, {options:?}: {wrong}");
        }
        let checkpoints = Checkpoints::open(disk.clone(), options).expect("the directory is whole");
        checkpoints.run(&history.log, &|| false).expect("no fault");
        let recovered = history.check(&*disk).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        assert_eq!((recovered.changes, recovered.checkpoint), (0, recovered.end), "all is in the checkpoint");
    }
}

#[test]
fn a_folder_of_the_file_system_holds_the_same() {
    for seed in 1000..1000 + count(3) {
        let mut history = History::new(seed);
        let options = history.options();
        let disk: Arc<dyn Disk> = RealDisk::new(&seed.to_string());
        run(&mut history, &disk, &options, 8);
        history.check(&*disk).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
    }
}

/// Takes steps of one kind in the middle of steps of the other kind: whenever a step asks whether to stop.
#[test]
fn merges_beside_a_checkpoint_that_advances_lose_nothing() {
    let mut beside = [0, 0];
    for seed in 2000..2000 + count(30) {
        let mut history = History::new(seed);
        let options = history.options();
        let disk: Arc<dyn Disk> = MemoryDisk::new();
        let checkpoints = Checkpoints::open(disk.clone(), options.clone()).expect("the directory is new");
        let history = RefCell::new(history);
        let advance = |stop: &dyn Fn() -> bool| {
            let log = {
                let mut history = history.borrow_mut();
                (0..history.random.usize(..30)).for_each(|_| history.step());
                history.log.clone()
            };
            let mut frames = log.frames(checkpoints.position()).expect("it is there");
            checkpoints.advance(&mut *frames, stop).expect("no fault")
        };
        let [merged, advanced] = [Cell::new(0), Cell::new(0)];
        let seldom = || history.borrow_mut().random.u8(..4) == 0;
        for _ in 0..40 {
            if history.borrow_mut().random.bool() {
                advance(&|| {
                    if seldom() && checkpoints.merge(&|| false).expect("no fault") {
                        merged.set(merged.get() + 1);
                    }
                    false
                });
            } else {
                let merge = checkpoints.merge(&|| {
                    if seldom() && advance(&|| false) {
                        advanced.set(advanced.get() + 1);
                    }
                    false
                });
                merge.expect("no fault");
            }
        }
        beside = [beside[0] + merged.get(), beside[1] + advanced.get()];
        history.borrow_mut().check(&*disk).unwrap_or_else(|wrong| panic!("seed {seed}, {options:?}: {wrong}"));
        let files = disk.list("tables").expect("no fault").len() as u64;
        assert_eq!(files, checkpoints.statistics().files, "no file is left over");
    }
    assert!(beside[0] > 100 && beside[1] > 100, "{beside:?} steps were taken in the middle of others");
}
