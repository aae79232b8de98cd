//! The checks after a run find every error, and nothing else.

mod fixture;
mod hekaton;
mod hotspots;
mod micro;
mod partitions;
mod tatp;
mod tpcc;
mod transfers;

use fixture::{Fixture, check_anomaly, check_corruption, workload};
use hotrow_storage::Key;
use hotrow_workloads::interactive::{Interactive, VALUE};
use hotrow_workloads::tpcb::{Tables, Tpcb};
use hotrow_workloads::ycsb::Ycsb;
use hotrow_workloads::{LoadError, Workload};
use std::ops::ControlFlow;

#[test]
fn ycsb_counts_increments_and_rows() {
    let fixture = Fixture::<Ycsb>::new("--records 50 --fields 2 --value-bytes 200");
    assert_eq!(fixture.check(), Ok(()));
    let counter = hotrow_workloads::ycsb::COUNTER;
    let add = |delta: i64| {
        fixture.tamper(fixture.tables, 7, move |row| row.set_int8(counter, row.as_ref().int8(counter) + delta))
    };
    add(-1);
    check_anomaly(fixture.check(), "increments were committed");
    add(2);
    check_corruption(fixture.check(), "increments were committed");
    add(-1);
    assert_eq!(fixture.check(), Ok(()));
    fixture.tamper_with(|txn| txn.delete(fixture.tables, &Key::Int(7)).map(drop));
    check_corruption(fixture.check(), "the table has 49 rows, not the 50 loaded");
}

#[test]
fn interactive_counts_writes_and_rows() {
    let fixture = Fixture::<Interactive>::new("--records 50 --reads 2 --writes 3");
    assert_eq!(fixture.check(), Ok(()));
    let add = |delta: i64| {
        fixture.tamper(fixture.tables, 7, move |row| row.set_int8(VALUE, row.as_ref().int8(VALUE) + delta))
    };
    add(-1);
    check_anomaly(fixture.check(), "600 increments were committed");
    add(2);
    check_corruption(fixture.check(), "600 increments were committed");
    add(-1);
    fixture.tamper_with(|txn| txn.delete(fixture.tables, &Key::Int(7)).map(drop));
    check_corruption(fixture.check(), "the table has 49 rows, not the 50 loaded");
}

#[test]
fn tpcb_compares_its_four_sums() {
    let fixture = Fixture::<Tpcb>::new("--scale 1");
    assert_eq!(fixture.check(), Ok(()));
    let Tables { branches, tellers, accounts, history } = fixture.tables;
    for (table, balance) in [(branches, 1), (tellers, 2), (accounts, 2)] {
        let add =
            |delta: i32| fixture.tamper(table, 1, move |row| row.set_int4(balance, row.as_ref().int4(balance) + delta));
        add(1);
        check_anomaly(fixture.check(), "was deposited in total");
        add(-1);
    }
    let first = (1 << 40) + 1;
    fixture.tamper(history, first, |row| row.set_int4(3, 100_000));
    check_corruption(fixture.check(), "was deposited in total");
    fixture.tamper_with(|txn| txn.delete(history, &Key::Int(first)).map(drop));
    check_corruption(fixture.check(), "the history has 199 rows, but 200 transactions committed");
}

#[test]
fn a_load_reports_each_row_once_and_can_be_stopped() {
    let workload: Tpcb = workload("--scale 1");
    let engine = hotrow_protocols::open("serial").expect("the engine is in the registry");
    let tables = workload.create(&*engine);
    let heard = hotrow_sync::atomic::AtomicU64::new(0);
    let count = |rows| {
        heard.fetch_add(rows, hotrow_sync::atomic::Ordering::AcqRel);
        ControlFlow::Continue(())
    };
    workload.load(&*engine, tables, 3, &count).expect("the tables are empty");
    assert_eq!(heard.into_inner(), workload.rows());
    assert_eq!(engine.row_count(tables.accounts), 100_000);
    let again = workload.load(&*engine, tables, 1, &|_| ControlFlow::Continue(()));
    assert!(matches!(again, Err(LoadError::Duplicate { row: 0, .. })), "{again:?}");

    let other = workload.create(&*engine);
    assert_eq!(workload.load(&*engine, other, 2, &|_| ControlFlow::Break(())), Err(LoadError::Stopped));
    assert!(engine.row_count(other.accounts) < 100_000);
}
