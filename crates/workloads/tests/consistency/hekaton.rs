//! Tests the checks of the Hekaton paper's workload: of its counters, its amounts and its long reads.

use crate::fixture::{Fixture, check_anomaly, check_corruption, workload};
use hotrow_storage::Key;
use hotrow_workloads::hekaton::{AMOUNT, COUNTER, Hekaton};
use hotrow_workloads::{ClientIdentity, Violation, Workload};

fn add(fixture: &Fixture<Hekaton>, key: i64, column: usize, delta: i64) {
    fixture.tamper(fixture.tables, key, |row| row.set_int8(column, row.as_ref().int8(column) + delta));
}

#[test]
fn writes_rows_and_amounts_are_counted() {
    let fixture = Fixture::<Hekaton>::new("--rows 200");
    assert_eq!(fixture.check(), Ok(()));
    add(&fixture, 7, COUNTER, -1);
    check_anomaly(fixture.check(), "400 increments were committed");
    add(&fixture, 7, COUNTER, 2);
    check_corruption(fixture.check(), "400 increments were committed");
    add(&fixture, 7, COUNTER, -1);

    // Block 0 has rows 0 to 19.
    add(&fixture, 7, AMOUNT, -5);
    check_anomaly(fixture.check(), "the amounts of block 0 add up to 19995, but 20000 was loaded and only moved");
    add(&fixture, 20, AMOUNT, 5);
    check_anomaly(fixture.check(), "the amounts of block 0");
    add(&fixture, 19, AMOUNT, 5);
    check_anomaly(fixture.check(), "the amounts of block 1 add up to 20005");
    add(&fixture, 20, AMOUNT, -5);
    assert_eq!(fixture.check(), Ok(()));

    fixture.tamper_with(|txn| txn.delete(fixture.tables, &Key::Int(7)).map(drop));
    check_corruption(fixture.check(), "the table has 199 rows, not the 200 loaded");
}

#[test]
fn a_long_reader_that_saw_what_never_was_is_found() {
    const LONG_READ: usize = 2;
    let mut fixture = Fixture::<Hekaton>::new("--rows 200 --long-readers 1");
    assert_eq!(fixture.check(), Ok(()));
    let long_reads = fixture.notes.iter().filter(|note| **note == (LONG_READ, true)).count();
    assert_eq!((long_reads, fixture.notes.len()), (100, 200));

    // This is the state that a reader sees while half of each move has been made.
    (0..10).for_each(|block| add(&fixture, block * 20, AMOUNT, 1));
    let mut reader = fixture.workload.client(fixture.tables, ClientIdentity::first_run(0, 9));
    assert_eq!(fixture.run(&mut reader, 3), [(LONG_READ, false); 3]);
    (0..10).for_each(|block| add(&fixture, block * 20, AMOUNT, -1));
    fixture.clients.push(reader);
    let what = "3 of 103 long readers saw a sum that never was".to_owned();
    assert_eq!(fixture.check(), Err(Violation::TornRead(what)));
}

#[test]
fn there_is_a_worker_for_each_long_reader() {
    let hekaton: Hekaton = workload("--rows 200 --long-readers 3");
    assert_eq!(hekaton.refuse_threads(3), Ok(()));
    let refused = hekaton.refuse_threads(2).expect_err("two are too few");
    assert!(refused.contains("--long-readers 3 is more than the 2 worker threads"), "{refused}");
}
