//! The start of a data directory.

mod common;

use common::disk::MemoryDisk;
use hotrow_log::directory::{Directory, Options};
use hotrow_log::failure::Failure;
use hotrow_log::recovery::Recovered;
use hotrow_log::writer;

#[test]
fn options_that_are_refused_leave_a_new_directory_empty() {
    for (segment_bytes, ring_bytes) in
        [(8191, 1 << 20), (8192 + 512, 1 << 20), (4096, 1 << 20), (8192, 100), (8192, 32)]
    {
        let disk = MemoryDisk::new();
        let directory = Directory::over(disk.clone()).expect("the disk is empty");
        let log = writer::Options { segment_bytes, ring_bytes, ..writer::Options::default() };
        let started = directory.start(&Recovered::default(), &Options { log, ..Options::default() });
        assert!(matches!(started, Err(Failure::Refused(_))), "{segment_bytes}, {ring_bytes}: {started:?}");
        assert_eq!(disk.operations(), 0, "{segment_bytes}, {ring_bytes}: nothing is made");
    }
}
