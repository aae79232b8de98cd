//! Histories of a log over crashes: what was acknowledged is there, and what is there is a prefix. Mistakes that are
//! made on purpose are found.
//!
//! `HOTROW_LOG_CRASHES=100000 cargo test -p hotrow-log --test log_crashes` looks at more crashes.

mod common;

use common::flawed::{Flaw, FlawedDisk};
use common::world::{Mistake, World};

/// The number of crashes that are looked at.
fn crashes() -> u64 {
    std::env::var("HOTROW_LOG_CRASHES").ok().and_then(|number| number.parse().ok()).unwrap_or(1500)
}

/// Runs histories until there were so many crashes. Returns the first that is wrong, with its seed.
fn run(crashes: u64, flaw: Flaw, mistake: Mistake) -> Option<String> {
    let wrap = move |disk| FlawedDisk::over(disk, flaw);
    let mut seen = 0;
    for seed in 0.. {
        let mut world = World::new(seed, &wrap, mistake);
        if let Err(wrong) = world.run() {
            return Some(format!("seed {seed}, after {} crashes: {wrong}", world.crashes));
        }
        seen += world.crashes;
        if seen >= crashes {
            break;
        }
    }
    None
}

#[test]
fn what_was_acknowledged_is_there_and_what_is_there_is_a_prefix() {
    assert_eq!(run(crashes(), Flaw::None, Mistake::None), None);
}

/// Histories that once were wrong.
#[test]
fn a_log_that_is_whole_is_opened() {
    // A record larger than a write was lost in part. A crash brought back the first of two segments that were given up.
    for seed in [27_831, 159_425] {
        let mut world = World::new(seed, &|disk| disk, Mistake::None);
        assert_eq!(world.run(), Ok(()), "seed {seed}");
    }
}

#[test]
fn a_log_that_acknowledges_before_it_is_durable_is_found() {
    let found = run(3000, Flaw::NothingSynced, Mistake::None).expect("a mistake");
    assert!(found.contains("is lost") || found.contains("damaged"), "{found}");
}

#[test]
fn a_log_that_syncs_no_folder_is_found() {
    run(3000, Flaw::NoFolderSynced, Mistake::None).expect("a mistake");
}

#[test]
fn a_log_that_takes_frames_of_an_earlier_use_is_found() {
    run(20_000, Flaw::None, Mistake::SameSalt).expect("a mistake");
}

#[test]
fn a_log_that_is_cut_off_before_the_checkpoint_is_durable_is_found() {
    let found = run(3000, Flaw::None, Mistake::TruncationBeforeCheckpoint).expect("a mistake");
    assert!(found.contains("the log begins at"), "{found}");
}

#[test]
fn a_log_that_trusts_the_memory_of_the_operating_system_when_it_opens_is_found() {
    run(20_000, Flaw::TailNotSecured, Mistake::None).expect("a mistake");
}
