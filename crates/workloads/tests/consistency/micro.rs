//! Tests the checks of the microbenchmark: of its counters and its records.

use crate::fixture::{Fixture, check_anomaly, check_corruption};
use hotrow_storage::Key;
use hotrow_workloads::micro::{COUNTER, Micro};

#[test]
fn transactions_that_only_lock_change_nothing() {
    let fixture = Fixture::<Micro>::new("--records 50 --hot-records 5 --lock-only");
    assert_eq!(fixture.check(), Ok(()));
    fixture.tamper(fixture.tables, 7, |row| row.set_int8(COUNTER, 1));
    check_corruption(fixture.check(), "0 increments were committed");
}

#[test]
fn increments_and_records_are_counted() {
    for line in [
        "--records 50 --hot-records 5",
        "--records 90 --hot-records 2 --hot-ops 2 --partitions 3 --multi-partition 0.5 --record-bytes 8",
        "--records 50 --hot-records 1 --work-us 0.5",
    ] {
        let fixture = Fixture::<Micro>::new(line);
        assert_eq!(fixture.check(), Ok(()), "{line}");
        let add = |delta: i64| {
            fixture.tamper(fixture.tables, 7, move |row| row.set_int8(COUNTER, row.as_ref().int8(COUNTER) + delta))
        };
        add(-1);
        check_anomaly(fixture.check(), "2000 increments were committed");
        add(2);
        check_corruption(fixture.check(), "2000 increments were committed");
        add(-1);
        fixture.tamper_with(|txn| txn.delete(fixture.tables, &Key::Int(7)).map(drop));
        check_corruption(fixture.check(), " loaded");
    }
}
