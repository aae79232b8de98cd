//! Tests of the simulated disk: each thing that a disk may do happens, and nothing else does.

use hotrow_log::disk::simulated::{SECTOR, SimulatedDisk};
use hotrow_log::disk::{Disk, File};
use hotrow_sync::Arc;
use std::collections::BTreeSet;
use std::io::ErrorKind;

/// The number of seeds with which each test looks for what may happen.
const SEEDS: u64 = 200;

/// Makes a durable file with four sectors of zeros.
fn with_file(seed: u64) -> (Arc<SimulatedDisk>, Arc<dyn File>) {
    let disk = SimulatedDisk::new(seed);
    let file = disk.create("f").expect("no file yet");
    file.write_at(&[0; 4 * SECTOR], 0).expect("room");
    file.sync().expect("no fault");
    disk.sync_folder("").expect("no fault");
    (disk, file)
}

/// Returns the first bytes of the file's sectors.
fn sectors(disk: &SimulatedDisk) -> Vec<u8> {
    disk.bytes("f")
        .chunks(SECTOR)
        .map(|sector| {
            assert!(sector.iter().all(|byte| *byte == sector[0]), "a sector is torn");
            sector[0]
        })
        .collect()
}

/// Collects what `run` leaves after a crash, over all seeds.
fn outcomes<T: Ord>(run: impl Fn(u64) -> T) -> BTreeSet<T> {
    (0..SEEDS).map(run).collect()
}

#[test]
fn bytes_that_were_not_synced_may_be_lost_kept_or_torn_between_sectors() {
    let seen = outcomes(|seed| {
        let (disk, file) = with_file(seed);
        file.write_at(&[1; 3 * SECTOR], 0).expect("room");
        file.write_at(&[2; 2 * SECTOR], SECTOR as u64).expect("room");
        assert_eq!(sectors(&disk), [1, 2, 2, 0], "memory has all");
        sectors(&disk.crash())
    });
    // The first sector is old or new, the second has one of three contents, the third too.
    assert_eq!(seen.len(), 2 * 3 * 3, "{seen:?}");
    assert!(seen.iter().all(|left| left[3] == 0 && left[0] < 2));
}

#[test]
fn synced_bytes_stay() {
    for durably in [false, true] {
        let seen = outcomes(|seed| {
            let (disk, file) = with_file(seed);
            if durably {
                file.write_durably_at(&[1; 2 * SECTOR], 0).expect("no fault");
            } else {
                file.write_at(&[1; 2 * SECTOR], 0).expect("no fault");
                file.sync().expect("no fault");
            }
            sectors(&disk.crash())
        });
        assert_eq!(seen, BTreeSet::from([vec![1, 1, 0, 0]]));
    }
}

#[test]
fn a_durable_write_says_nothing_of_other_bytes() {
    let seen = outcomes(|seed| {
        let (disk, file) = with_file(seed);
        file.write_at(&[1; SECTOR], 0).expect("no fault");
        file.write_durably_at(&[2; SECTOR], SECTOR as u64).expect("no fault");
        sectors(&disk.crash())
    });
    assert_eq!(seen, BTreeSet::from([vec![0, 2, 0, 0], vec![1, 2, 0, 0]]));
}

#[test]
fn names_come_and_go_until_their_folder_is_synced() {
    let names = |disk: &SimulatedDisk| {
        let mut names = disk.list("").expect("power");
        names.sort();
        names.join(" ")
    };
    let seen = outcomes(|seed| {
        let (disk, _) = with_file(seed);
        disk.rename("f", "g").expect("it is there");
        disk.create("h").expect("it is not there");
        assert_eq!(names(&disk), "g h");
        names(&disk.crash())
    });
    assert_eq!(seen, ["f", "f h", "g", "g h"].map(str::to_owned).into());
    let seen = outcomes(|seed| {
        let (disk, _) = with_file(seed);
        disk.remove("f").expect("it is there");
        names(&disk.crash())
    });
    assert_eq!(seen, ["", "f"].map(str::to_owned).into(), "a file that was removed comes back");
    let seen = outcomes(|seed| {
        let (disk, _) = with_file(seed);
        disk.rename("f", "g").expect("it is there");
        disk.create_folder("d").expect("it is not there");
        disk.create("d/x").expect("it is not there");
        disk.sync_folder("").expect("no fault");
        let after = disk.crash();
        assert_eq!(names(&after), "d g");
        after.list("d").expect("it is there").len()
    });
    assert_eq!(seen, [0, 1].into());
    let seen = outcomes(|seed| {
        let (disk, _) = with_file(seed);
        disk.create_folder("d").expect("it is not there");
        disk.create("d/x").expect("it is not there");
        disk.sync_folder("d").expect("no fault");
        let after = disk.crash();
        after.list("d").map(|names| names.len()).map_err(|error| error.kind() == ErrorKind::NotFound)
    });
    assert_eq!(seen, [Ok(1), Err(true)].into(), "a folder whose name was lost takes its files along");
}

#[test]
fn a_sync_that_fails_leaves_bytes_that_no_later_sync_writes() {
    let seen = outcomes(|seed| {
        let (disk, file) = with_file(seed);
        disk.fail_sync_at(disk.syncs());
        file.write_at(&[1; 2 * SECTOR], 0).expect("no fault");
        file.sync().expect_err("the fault");
        assert_eq!(sectors(&disk), [1, 1, 0, 0], "memory has them");
        file.sync().expect("the error was said once");
        sectors(&disk.crash())
    });
    let all = [[0, 0], [0, 1], [1, 0], [1, 1]].map(|[first, second]| vec![first, second, 0, 0]);
    assert_eq!(seen, all.into());
}

#[test]
fn a_write_may_fail_in_the_middle_and_for_want_of_room() {
    let seen = outcomes(|seed| {
        let (disk, file) = with_file(seed);
        disk.fail_write_at(disk.writes());
        file.write_at(&[1; 2 * SECTOR], 0).expect_err("the fault");
        disk.bytes("f").iter().filter(|byte| **byte == 1).count()
    });
    assert!(seen.len() > 50 && seen.iter().all(|written| *written <= 2 * SECTOR), "{seen:?}");
    let (disk, file) = with_file(1);
    disk.set_capacity(Some(5 * SECTOR as u64));
    assert_eq!(disk.free_bytes().expect("power"), SECTOR as u64);
    let error = file.write_at(&[1; 2 * SECTOR], 4 * SECTOR as u64).expect_err("too much");
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert_eq!(disk.bytes("f").len(), 5 * SECTOR, "what fits was written");
    file.write_at(&[2; SECTOR], 0).expect("an overwrite needs no room");
    disk.remove("f").expect("it is there");
    assert_eq!(disk.free_bytes().expect("power"), 5 * SECTOR as u64);
}

#[test]
fn the_power_fails_at_an_operation_and_stays_away() {
    let seen = outcomes(|seed| {
        let (disk, file) = with_file(seed);
        disk.fail_power_at(disk.operations() + 1);
        file.write_at(&[1; SECTOR], 0).expect("before it");
        file.write_durably_at(&[2; 2 * SECTOR], SECTOR as u64).expect_err("at it");
        file.sync().expect_err("after it");
        assert!(disk.open("f", false).is_err() && disk.list("").is_err());
        let after = disk.crash();
        assert!(after.open("f", false).is_ok());
        let bytes = after.bytes("f");
        (bytes[0], bytes[SECTOR], bytes[2 * SECTOR])
    });
    assert!(seen.contains(&(0, 0, 0)) && seen.contains(&(1, 2, 2)) && seen.contains(&(0, 2, 0)), "{seen:?}");
}

#[test]
fn the_same_seed_gives_the_same_disk() {
    let run = |seed| {
        let (disk, file) = with_file(seed);
        file.write_at(&[1; 4 * SECTOR], 0).expect("room");
        (sectors(&disk.crash()), sectors(&disk.crash()))
    };
    for seed in 0..SEEDS {
        assert_eq!(run(seed), run(seed));
    }
    assert!(
        (0..SEEDS).any(|seed| {
            let (first, second) = run(seed);
            first != second
        }),
        "two crashes may differ"
    );
}

#[test]
fn a_bit_flips() {
    let (disk, _) = with_file(0);
    disk.flip_bit("f", 700, 3);
    assert_eq!(disk.bytes("f")[700], 8);
    assert_eq!(disk.crash().bytes("f")[700], 8);
}
