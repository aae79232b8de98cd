//! Backups that are made while the database goes on, and what is restored from them at any point.

mod common;

use common::disk::MemoryDisk;
use common::history::{History, Tables, compare};
use common::log::EmptyLog;
use hotrow_log::backup::{BackupLog, Contents, backup, restore};
use hotrow_log::checkpoint::{Checkpoints, Options};
use hotrow_log::disk::Disk;
use hotrow_log::failure::Failure;
use hotrow_log::format;
use hotrow_log::inspect::check;
use hotrow_log::source::{LiveSource, Until};
use hotrow_sync::Arc;
use std::cell::RefCell;

/// Makes a data directory with some history, and a backup of it during which the history and checkpoints go on.
fn backed_up(seed: u64) -> (History, Options, Arc<dyn Disk>, Contents) {
    let mut history = History::new(seed);
    let options = history.options();
    history.states = Some(Vec::new());
    let disk: Arc<dyn Disk> = MemoryDisk::new();
    format::create(&*disk).expect("no fault");
    let checkpoints = Checkpoints::open(disk.clone(), options.clone()).expect("the directory is new");
    for _ in 0..history.random.usize(..6) {
        (0..history.random.usize(..40)).for_each(|_| history.step());
        checkpoints.run(&history.log, &|| false).expect("no fault");
    }
    (0..20).for_each(|_| history.step());
    let dest: Arc<dyn Disk> = MemoryDisk::new();
    let history = RefCell::new(history);
    let mut goes_on = |_, _| {
        let mut history = history.borrow_mut();
        (0..5).for_each(|_| history.step());
        checkpoints.run(&history.log, &|| false).expect("no fault");
        history.log.keep_from(checkpoints.needed());
        true
    };
    let log = history.borrow().log.clone();
    let made = backup(&checkpoints, &log, &|| history.borrow().log.durable(), &*dest, &mut goes_on);
    let contents = made.expect("no fault");
    let mut history = history.into_inner();
    checkpoints.run(&history.log, &|| false).expect("no fault");
    history.check(&*disk).expect("a backup takes nothing away");
    assert_eq!(checkpoints.needed(), checkpoints.position(), "no pin is left");
    (history, options, dest, contents)
}

/// Returns the tables at a position of the log.
fn tables_at(history: &History, position: u64) -> Tables {
    let states = history.states.as_ref().expect("they are kept");
    let until = states.partition_point(|(end, ..)| *end <= position);
    until.checked_sub(1).map_or(Tables::new(), |last| states[last].1.clone())
}

fn restored(source: &dyn Disk, until: Until, options: &Options) -> Result<(Arc<dyn Disk>, Contents), Failure> {
    let dest: Arc<dyn Disk> = MemoryDisk::new();
    let log = BackupLog::open(source)?;
    let contents = restore(source, &log, &dest, until, options.clone(), &mut |_, _| true)?;
    Ok((dest, contents))
}

#[test]
fn a_backup_holds_everything_up_to_its_end() {
    for seed in 0..40 {
        let (history, options, backup, contents) = backed_up(seed);
        let log = BackupLog::open(&*backup).expect("it is whole");
        let checked = check(&*backup, &log).expect("it is whole");
        assert_eq!((checked.damage, checked.end), (Vec::new(), contents.end), "seed {seed}");
        let (disk, all) = restored(&*backup, Until::End, &options).expect("it is whole");
        assert_eq!((all.checkpoint, all.end), (contents.checkpoint, contents.end));
        let tables = tables_at(&history, contents.end);
        let recovered = compare(&*disk, &EmptyLog, &tables, 2).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        assert_eq!(recovered.end, contents.end, "the new log begins where the old one ended");
    }
}

#[test]
fn any_point_behind_the_checkpoint_is_restored() {
    for seed in 0..15 {
        let (history, options, backup, contents) = backed_up(seed);
        let states = history.states.as_ref().expect("they are kept");
        let within = |end: u64| end >= contents.checkpoint && end <= contents.end;
        for (end, tables, _) in states.iter().filter(|(end, ..)| within(*end)) {
            let (disk, point) = restored(&*backup, Until::Position(*end), &options).expect("there is such a point");
            assert_eq!(point.end, *end);
            compare(&*disk, &EmptyLog, tables, 1).unwrap_or_else(|wrong| panic!("seed {seed}, {end}: {wrong}"));
        }
        for until in [contents.checkpoint.wrapping_sub(1), contents.end + 1] {
            let refused = restored(&*backup, Until::Position(until), &options);
            assert!(matches!(refused, Err(Failure::Refused(_))), "seed {seed}: {until} in {contents:?}");
        }
    }
}

#[test]
fn a_position_within_a_record_is_refused_before_anything_is_copied() {
    let mut refusals = 0;
    for seed in 0..15 {
        let (_, options, backup, contents) = backed_up(seed);
        if contents.end == contents.checkpoint {
            continue;
        }
        let dest: Arc<dyn Disk> = MemoryDisk::new();
        let log = BackupLog::open(&*backup).expect("the backup is whole");
        let until = Until::Position(contents.end - 1);
        match restore(&*backup, &log, &dest, until, options, &mut |_, _| true) {
            Err(Failure::Refused(reason)) => assert!(reason.contains("no record of the log ends at"), "{reason}"),
            other => panic!("seed {seed}: {other:?}"),
        }
        assert_eq!(dest.list("").expect("no fault"), [""; 0], "seed {seed}: the destination stays empty");
        refusals += 1;
    }
    assert!(refusals > 5, "{refusals} backups have records behind their checkpoints");
}

#[test]
fn a_time_is_restored_with_everything_before_the_next_one() {
    let mut restorations = 0;
    for seed in 0..40 {
        let (history, options, backup, contents) = backed_up(seed);
        let states = history.states.as_ref().expect("they are kept");
        let first = states.iter().rev().find(|(end, ..)| *end <= contents.checkpoint).map_or(0, |(.., time)| *time);
        for time in (first..history.time).step_by(500) {
            let before = states.iter().rev().find(|(end, _, at)| *at <= time && *end <= contents.end);
            let Some((end, tables, _)) = before.filter(|(end, ..)| *end >= contents.checkpoint) else { continue };
            let (disk, point) = restored(&*backup, Until::Time(time), &options).expect("there is such a time");
            assert_eq!(point.end, *end, "seed {seed}, time {time}");
            compare(&*disk, &EmptyLog, tables, 1).unwrap_or_else(|wrong| panic!("seed {seed}, {time}: {wrong}"));
            restorations += 1;
        }
        if first > 0 {
            let refused = restored(&*backup, Until::Time(first - 1), &options);
            assert!(matches!(refused, Err(Failure::Refused(_))), "seed {seed}: before {first}");
        }
    }
    assert!(restorations > 40, "{restorations} times were restored");
}

#[test]
fn only_an_empty_directory_is_filled_and_only_a_whole_backup_restored() {
    let (_, options, backup, _) = backed_up(1);
    let log = BackupLog::open(&*backup).expect("it is whole");
    let full = restore(&*backup, &log, &backup, Until::End, options.clone(), &mut |_, _| true);
    assert!(matches!(full, Err(Failure::Refused(text)) if text.contains("not empty")));
    backup.remove("FORMAT").expect("it is there");
    assert!(matches!(restored(&*backup, Until::End, &options), Err(Failure::Refused(_))), "an interrupted backup");
}

#[test]
fn a_backup_that_is_stopped_is_not_taken_for_a_whole_one() {
    let (_, _, source, _) = backed_up(3);
    let log = BackupLog::open(&*source).expect("it is whole");
    let checkpoints = Checkpoints::open(source.clone(), Options::default()).expect("it is whole");
    let made = |last: u64| {
        let (dest, mut calls) = (MemoryDisk::new(), 0);
        let mut goes_on = |_, _| {
            calls += 1;
            calls < last
        };
        let made = backup(&checkpoints, &log, &|| u64::MAX, &*dest, &mut goes_on);
        (made, format::check(&*dest).expect("no fault"), calls)
    };
    let (whole, is_taken, calls) = made(u64::MAX);
    assert!(whole.is_ok() && is_taken && calls > 1);
    for last in 1..=calls {
        let (stopped, is_taken, _) = made(last);
        assert!(matches!(stopped, Err(Failure::Stopped)) && !is_taken, "at call {last} of {calls}: {stopped:?}");
    }
}
