//! A segment's file that is used again at the same position of the log: only salts tell its old frames from new ones.

use hotrow_log::disk::simulated::SimulatedDisk;
use hotrow_log::reader::LogFiles;
use hotrow_log::record::{Record, StoredChange};
use hotrow_log::source::Source;
use hotrow_log::writer::{Clock, Flushed, Log, Options};
use hotrow_storage::{Change, End, Key, RedoSink, TableId};
use hotrow_sync::{Arc, Waiter};
use std::time::Duration;

const PAGE: u64 = 4096;

/// Opens a log at its beginning, as if nothing of it had been found.
fn open(disk: &Arc<SimulatedDisk>, salt: u64) -> Arc<Log> {
    let options =
        Options { segment_bytes: 4 * PAGE, salt: Some(salt), clock: Clock(Arc::new(|| 0)), ..Options::default() };
    Log::open(disk.clone(), &options, 0).expect("the disk has no faults")
}

/// Appends a record of a table whose key has this length.
fn append(log: &Log, table: u32, length: usize) {
    let change = Change::Delete { table: TableId(table), key: Key::from_bytes(&vec![1; length]) };
    log.append(End::Next, &mut [change].into_iter(), &Waiter::thread(Duration::ZERO));
}

fn flush(log: &Log) {
    while log.flush() == Flushed::Done {}
}

/// Returns the tables of the records that are in the log after the power has failed.
fn read(disk: &SimulatedDisk) -> Vec<u32> {
    let disk = disk.crash();
    let files = LogFiles::open(&*disk).expect("the headers are whole");
    let (mut frames, mut tables) = (files.frames(0).expect("the log begins there"), Vec::new());
    while let Some(frame) = frames.next().expect("nothing is damaged") {
        if let Record::Transaction(mut changes) = Record::read(frame.record).expect("a record")
            && let Some(Ok(StoredChange::Delete { table, .. })) = changes.next()
        {
            tables.push(table.0);
        }
    }
    tables
}

/// Writes two frames, of which the first one ends where a page ends, and then, in the same file, a frame in place of
/// the first one.
fn write_again(salts: [u64; 2]) -> Vec<u32> {
    let disk = SimulatedDisk::new(1);
    let first = open(&disk, salts[0]);
    append(&first, 10, 200);
    let before = first.appended().0;
    append(&first, 11, 200);
    let overhead = first.appended().0 - before - 200;
    let length = (PAGE - first.appended().0 - overhead) as usize;
    append(&first, 12, length);
    assert_eq!(first.appended().0, PAGE, "the frame fills the page");
    append(&first, 13, 200);
    flush(&first);
    assert_eq!(read(&disk), [10, 11, 12, 13]);
    drop(first);
    let second = open(&disk, salts[1]);
    append(&second, 20, 200);
    append(&second, 21, 200);
    append(&second, 22, length);
    flush(&second);
    read(&disk)
}

#[test]
fn frames_of_an_earlier_use_of_a_file_do_not_pass() {
    assert_eq!(write_again([5, 6]), [20, 21, 22]);
}

#[test]
fn a_log_whose_salts_repeat_is_found_to_take_a_frame_of_an_earlier_use() {
    assert_eq!(write_again([5, 5]), [20, 21, 22, 13]);
}
