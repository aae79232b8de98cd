//! Damaged bytes and newer formats: found, named, and nothing is changed.

mod common;

use common::disk::MemoryDisk;
use common::history::{History, compare};
use hotrow_log::backup::{BackupLog, backup};
use hotrow_log::checkpoint::{Checkpoints, Options};
use hotrow_log::disk::Disk;
use hotrow_log::failure::Failure;
use hotrow_log::format;
use hotrow_log::inspect::{check, show};
use hotrow_log::source::{LiveSource, Source};
use hotrow_sync::Arc;

/// A small backup with files of all kinds.
fn small_backup() -> (History, Arc<MemoryDisk>) {
    let mut history = History::new(12);
    let options = Options { own_file_bytes: 600, block_bytes: 200, file_bytes: 900, ..Options::default() };
    let disk: Arc<dyn Disk> = MemoryDisk::new();
    let checkpoints = Checkpoints::open(disk.clone(), options).expect("the directory is new");
    history.create();
    history.create();
    for _ in 0..3 {
        (0..4).for_each(|_| history.step());
        checkpoints.run(&history.log, &|| false).expect("no fault");
    }
    (0..5).for_each(|_| history.step());
    let dest = MemoryDisk::new();
    backup(&checkpoints, &history.log, &|| history.log.durable(), &*dest, &mut |_, _| true).expect("no fault");
    (history, dest)
}

/// The bytes of a file with one of them changed, or without the last ones.
fn damaged(bytes: &[u8], at: usize, cut: bool) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    match cut {
        true => damaged.truncate(at),
        false => damaged[at] ^= 1 << (at % 8),
    }
    damaged
}

#[test]
fn every_byte_of_a_file_counts() {
    let (history, disk) = small_backup();
    let names = disk.names();
    assert!(names.iter().filter(|name| name.starts_with("tables/")).count() > 2, "{names:?}");
    let mut bytes_tried = 0;
    for name in names.iter().filter(|name| *name != "FORMAT") {
        let whole = disk.bytes(name);
        for (at, cut) in (0..whole.len()).map(|at| (at, false)).chain((0..whole.len()).step_by(5).map(|at| (at, true)))
        {
            disk.set_bytes(name, damaged(&whole, at, cut));
            let operations = disk.operations();
            let found = BackupLog::open(&*disk).and_then(|log| check(&*disk, &log)).map(|checked| checked.damage);
            let found = match found {
                Ok(found) => found,
                Err(Failure::Damage(damage)) => vec![damage],
                Err(other) => panic!("{name}, byte {at}: {other}"),
            };
            let named = found.iter().find(|damage| damage.file == *name);
            let named = named.unwrap_or_else(|| panic!("{name}, byte {at}, cut off: {cut}: {found:?}"));
            assert!(cut || named.offset <= at as u64, "byte {at}: {named}");
            // Recovery may succeed, since it does not need every byte. Then the rows are right.
            if at % 16 == 0
                && let Ok(log) = BackupLog::open(&*disk)
                && let Err(wrong) = compare(&*disk, &log, &history.tables, 1)
            {
                assert!(wrong.contains("damaged at byte"), "{name}, byte {at}: {wrong}");
            }
            assert_eq!(disk.operations(), operations, "nothing was changed");
            bytes_tried += 1;
        }
        disk.set_bytes(name, whole);
    }
    assert!(bytes_tried > 2000, "{bytes_tried}");
    let log = BackupLog::open(&*disk).expect("it is whole again");
    assert_eq!(check(&*disk, &log).map(|checked| checked.damage).unwrap_or_default(), Vec::new());
}

#[test]
fn all_damage_is_listed() {
    let (_, disk) = small_backup();
    let names: Vec<_> = disk.names().into_iter().filter(|name| name.starts_with("tables/")).collect();
    for name in &names[1..] {
        let whole = disk.bytes(name);
        disk.set_bytes(name, damaged(&whole, 40, false));
    }
    disk.remove(&names[0]).expect("it is there");
    let log = BackupLog::open(&*disk).expect("it is whole");
    let found = check(&*disk, &log).expect("it can be read").damage;
    let mut files: Vec<_> = found.iter().map(|damage| damage.file.clone()).collect();
    files.dedup();
    assert_eq!(files, names);
    assert_eq!(found[0].to_string(), format!("{} is damaged at byte 0: the file is missing", names[0]));
}

#[test]
fn a_newer_format_is_refused() {
    let (_, disk) = small_backup();
    let refuse = |name: &str, bytes: Vec<u8>| {
        let whole = disk.bytes(name);
        disk.set_bytes(name, bytes);
        let operations = disk.operations();
        let opened = BackupLog::open(&*disk).and_then(|log| check(&*disk, &log));
        let Err(Failure::Format(text)) = opened else { panic!("{name}: {opened:?}") };
        assert!(text.contains("format 2") && text.contains("nothing was changed"), "{text}");
        if name == "checkpoint" {
            let opened = Checkpoints::open(disk.clone(), Options::default());
            assert!(matches!(opened, Err(Failure::Format(_))), "{opened:?}");
        }
        assert_eq!(disk.operations(), operations, "nothing was changed");
        disk.set_bytes(name, whole);
    };
    refuse("FORMAT", b"hotrow data directory, format 99\n".to_vec());
    let with_version = |name: &str, sum_at: usize, also: bool| {
        let mut bytes = disk.bytes(name);
        bytes[8] = 2;
        let mut sum = crc32c::crc32c(&bytes[..sum_at]);
        if also {
            sum = crc32c::crc32c_append(sum, &bytes[sum_at + 4..]);
        }
        bytes[sum_at..sum_at + 4].copy_from_slice(&sum.to_le_bytes());
        bytes
    };
    refuse("checkpoint", with_version("checkpoint", 20, true));
    refuse("backup.log", with_version("backup.log", 12, false));
    let table = disk.names().into_iter().find(|name| name.starts_with("tables/")).expect("there is one");
    refuse(&table, with_version(&table, 20, false));
    disk.set_bytes("FORMAT", b"something else\n".to_vec());
    let refused = format::check(&*disk);
    assert!(matches!(refused, Err(Failure::Format(text)) if text.contains("not that of a data directory")));
}

#[test]
fn the_log_is_shown_to_people() {
    let (_, disk) = small_backup();
    let log = BackupLog::open(&*disk).expect("it is whole");
    let mut lines = Vec::new();
    let mut add = |line: &str| {
        lines.push(line.to_owned());
        true
    };
    let time = |micros: i64| format!("of {micros}");
    show(&*disk, &log, None, &time, &mut add).expect("it is whole");
    let start = check(&*disk, &log).expect("it is whole").checkpoint;
    let mut frames = log.frames(start).expect("it is whole");
    let mut positions = Vec::new();
    while let Some(frame) = frames.next().expect("it is whole") {
        positions.push(frame.position);
    }
    let shown = lines.iter().filter(|line| !line.starts_with(' ')).map(|line| line.split(' ').next().expect("a word"));
    let shown: Vec<u64> = shown.map(|position| position.parse().expect("a position")).collect();
    assert_eq!(shown, positions);
    assert!(lines.iter().any(|line| line.contains("transaction with")), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("    ") && line.contains(" puts ")), "{lines:?}");
    let mut first = Vec::new();
    let mut one = |line: &str| {
        first.push(line.to_owned());
        false
    };
    show(&*disk, &log, None, &time, &mut one).expect("it is whole");
    assert_eq!(first, lines[..1]);
    let refused = show(&*disk, &log, Some(start - 1), &time, &mut |_| true);
    let what = format!("the log begins at position {start}");
    assert!(matches!(&refused, Err(Failure::Damage(damage)) if damage.what.starts_with(&what)), "{refused:?}");
    let refused = show(&*MemoryDisk::new(), &log, None, &time, &mut |_| true);
    assert!(matches!(refused, Err(Failure::Refused(text)) if text.contains("expected a data directory")));
}

#[test]
fn a_row_or_a_table_that_does_not_fit_is_named() {
    let mut history = History::new(1);
    history.create();
    let table = *history.tables.keys().next().expect("there is one");
    let mut schema = history.tables[&table].schema.clone();
    schema.name = "refused".to_owned();
    let id = hotrow_storage::TableId(history.next_table);
    history.log.append(|bytes| hotrow_log::record::created(id, &schema, bytes));
    let disk = MemoryDisk::new();
    let wrong = compare(&*disk, &history.log, &history.tables, 1).expect_err("the target refuses the table");
    assert_eq!(wrong, format!("table refused (number {}): a table of this name is refused", id.0));
    // A table that is made twice, and a change of a table that does not exist.
    history.log.append(|bytes| hotrow_log::record::created(id, &schema, bytes));
    let wrong = compare(&*disk, &history.log, &history.tables, 1).expect_err("it is made twice");
    assert!(wrong.contains("is made a second time"), "{wrong}");
    let log = common::log::MemoryLog::default();
    let delete = hotrow_storage::Change::Delete { table, key: hotrow_storage::Key::Int(1) };
    log.append(|bytes| hotrow_log::record::transaction(&mut [delete].into_iter(), bytes));
    let wrong = compare(&*disk, &log, &history.tables, 1).expect_err("there is no such table");
    assert!(wrong.starts_with("log is damaged at byte 0"), "{wrong}");
    format::create(&*disk).expect("no fault");
    let damage = check(&*disk, &log).expect("it can be read").damage;
    assert_eq!(
        damage.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [format!("log is damaged at byte 0: table {} does not exist", table.0)]
    );
    let checkpoints = Checkpoints::open(disk, Options::default()).expect("the directory is new");
    assert!(matches!(checkpoints.run(&log, &|| false), Err(Failure::Damage(_))));
}
