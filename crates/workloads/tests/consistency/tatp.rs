//! Tests TATP: the shares of transactions that find their row, and what its check finds.

use crate::fixture::{Fixture, check_anomaly, check_corruption};
use hotrow_storage::{Key, KeyBuilder, Row, RowLayout, TableId, TableSchema, Type, Value};
use hotrow_sync::Arc;
use hotrow_txn::Write;
use hotrow_workloads::tatp::{self, Tatp};
use hotrow_workloads::{ClientIdentity, Workload};
use std::cell::Cell;

/// The key of small numbers after a subscriber's id.
fn key(subscriber: i32, rest: &[i16]) -> Key {
    let mut key = KeyBuilder::default();
    key.push(Type::Int4, false, &Value::Int4(subscriber));
    rest.iter().for_each(|&number| key.push(Type::Int2, false, &Value::Int2(number)));
    key.finish()
}

fn forwarding(subscriber: i32, facility: i16, start_time: i16) -> Row {
    let mut row = row(&tatp::call_forwarding(), subscriber, facility);
    row.change(|row| row.set_int2(2, start_time));
    row
}

/// Finds a subscriber and a type from 1 to 4 for which `table` has a row, or has none.
fn find(fixture: &Fixture<Tatp>, table: TableId, there: bool) -> (i32, i16) {
    let found = Cell::new(None);
    fixture.tamper_with(|txn| {
        for (subscriber, kind) in (1..=50).flat_map(|subscriber| (1..=4).map(move |kind| (subscriber, kind))) {
            if found.get().is_none() && txn.read(table, &key(subscriber, &[kind]))?.is_some() == there {
                found.set(Some((subscriber, kind)));
            }
        }
        Ok(())
    });
    found.get().expect("some subscribers have it, some lack it")
}

fn row(schema: &TableSchema, subscriber: i32, kind: i16) -> Row {
    let mut row = Row::new(&Arc::new(RowLayout::new(&schema.columns)));
    row.change(|row| {
        row.set_int4(0, subscriber);
        row.set_int2(1, kind);
    });
    row
}

#[test]
fn shares_and_successes_are_those_of_the_specification() {
    const STEPS: u32 = 60_000;
    let fixture = Fixture::<Tatp>::after("--subscribers 20000", STEPS);
    assert_eq!(fixture.check(), Ok(()));
    let kinds = fixture.workload.kinds();
    let specified =
        [(35.0, 100.0), (10.0, 14.79), (35.0, 62.5), (2.0, 62.5), (14.0, 100.0), (2.0, 31.25), (2.0, 31.25)];
    for (kind, (share, success)) in specified.into_iter().enumerate() {
        let noted = fixture.notes.iter().filter(|note| note.0 == kind).count() as f64;
        let succeeded = fixture.notes.iter().filter(|note| **note == (kind, true)).count() as f64;
        // The difference is at most four standard deviations of a count.
        let near = |count: f64, of: f64, percent: f64| {
            let expected = of * percent / 100.0;
            (count - expected).abs() <= 4.0 * (expected * (1.0 - percent / 100.0)).sqrt()
        };
        assert!(near(noted, f64::from(2 * STEPS), share), "{}: {noted}, {share} % expected", kinds[kind]);
        assert!(near(succeeded, noted, success), "{}: {succeeded} of {noted}, {success} % expected", kinds[kind]);
    }
}

#[test]
fn the_mixes_of_the_sli_paper_run_what_they_say() {
    for (mix, expected) in [
        ("forward", vec![1, 5, 6]),
        ("get-subscriber-data", vec![0]),
        ("get-new-destination", vec![1]),
        ("get-access-data", vec![2]),
        ("update-subscriber-data", vec![3]),
        ("update-location", vec![4]),
    ] {
        let fixture = Fixture::<Tatp>::new(&format!("--subscribers 100 --uniform --mix {mix}"));
        let mut kinds: Vec<_> = fixture.notes.iter().map(|note| note.0).collect();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds, expected, "{mix}");
        assert_eq!((fixture.notes.len(), fixture.check()), (200, Ok(())), "{mix}");
    }
}

#[test]
fn an_update_without_a_facility_changes_nothing() {
    let fixture = Fixture::<Tatp>::after("--subscribers 20 --uniform --mix update-subscriber-data", 0);
    let tables = fixture.tables;
    let bits = || {
        let bits = Cell::new(0);
        fixture.tamper_with(|txn| {
            for id in 1..=20 {
                let row = txn.read(tables.subscriber, &Key::Int(id))?.expect("loaded");
                bits.set(bits.get() << 1 | i64::from(row.int2(2)));
            }
            Ok(())
        });
        bits.get()
    };
    fixture.tamper_with(|txn| {
        let keys = (1..=20).flat_map(|id| (1..=4).map(move |kind| key(id, &[kind])));
        keys.into_iter().try_for_each(|key| txn.delete(tables.special_facility, &key).map(drop))
    });
    let before = bits();
    let notes = fixture.run(&mut fixture.workload.client(tables, ClientIdentity::first_run(0, 1)), 200);
    assert!(notes.iter().all(|&(_, succeeded)| !succeeded) && notes.len() == 200, "{notes:?}");
    assert_eq!(bits(), before);
}

#[test]
fn rows_that_nobody_inserts_or_deletes_stay() {
    let fixture = Fixture::<Tatp>::new("--subscribers 50");
    let access_info = fixture.tables.access_info;
    let (subscriber, kind) = find(&fixture, access_info, true);
    fixture.tamper_with(|txn| txn.delete(access_info, &key(subscriber, &[kind])).map(drop));
    check_corruption(fixture.check(), "access_info has ");

    let fixture = Fixture::<Tatp>::new("--subscribers 50");
    let special_facility = fixture.tables.special_facility;
    let (subscriber, kind) = find(&fixture, special_facility, false);
    let extra = row(&tatp::special_facility(), subscriber, kind);
    fixture.tamper_with(|txn| txn.insert(special_facility, extra.as_ref()).map(drop));
    check_corruption(fixture.check(), "special_facility has ");

    let fixture = Fixture::<Tatp>::new("--subscribers 50");
    fixture.tamper_with(|txn| txn.delete(fixture.tables.subscriber, &Key::Int(50)).map(drop));
    check_corruption(fixture.check(), "subscriber has 49 rows, not the 50 loaded");
}

#[test]
fn subscribers_keep_their_numbers_and_their_rows_and_a_stranger_has_none() {
    let fixture = Fixture::<Tatp>::new("--subscribers 50");
    fixture.tamper(fixture.tables.subscriber, 7, |row| row.set_bytes(1, b"000000000000777"));
    check_corruption(fixture.check(), "subscriber 7 has sub_nbr \"000000000000777\", not 000000000000007");

    let fixture = Fixture::<Tatp>::new("--subscribers 50");
    let access_info = fixture.tables.access_info;
    let stranger = row(&tatp::access_info(), 51, 1);
    fixture.tamper_with(|txn| txn.insert(access_info, stranger.as_ref()).map(drop));
    check_corruption(fixture.check(), "access_info has a row of subscriber 51, who is not there");

    // There are as many rows as before, but one subscriber has none.
    let fixture = Fixture::<Tatp>::new("--subscribers 50");
    fixture.tamper_with(|txn| {
        let mut moved = 0;
        for kind in 1..=4 {
            moved += usize::from(txn.delete(access_info, &key(3, &[kind]))? == Write::Done);
        }
        for (subscriber, kind) in (4..=50).flat_map(|subscriber| (1..=4).map(move |kind| (subscriber, kind))) {
            if moved > 0 {
                let inserted = txn.insert(access_info, row(&tatp::access_info(), subscriber, kind).as_ref())?;
                moved -= usize::from(inserted == Write::Done);
            }
        }
        Ok(())
    });
    check_corruption(fixture.check(), "subscriber 3 has no access_info");
}

#[test]
fn call_forwardings_are_counted_and_are_no_orphans() {
    let fixture = Fixture::<Tatp>::new("--subscribers 50");
    let tatp::Tables { special_facility, call_forwarding, .. } = fixture.tables;
    let (subscriber, facility) = find(&fixture, special_facility, true);
    fixture.tamper_with(|txn| {
        let forwarding = forwarding(subscriber, facility, 8);
        match txn.insert(call_forwarding, forwarding.as_ref())? {
            Write::Done => Ok(()),
            _ => txn.delete(call_forwarding, &key(subscriber, &[facility, 8])).map(drop),
        }
    });
    check_anomaly(fixture.check(), "call_forwarding has ");

    let fixture = Fixture::<Tatp>::new("--subscribers 50");
    let (orphan, absent) = find(&fixture, special_facility, false);
    fixture.tamper_with(|txn| txn.insert(call_forwarding, forwarding(orphan, absent, 8).as_ref()).map(drop));
    check_corruption(fixture.check(), "there is no such special facility");

    let fixture = Fixture::<Tatp>::new("--subscribers 50");
    fixture.tamper_with(|txn| txn.insert(call_forwarding, forwarding(subscriber, facility, 9).as_ref()).map(drop));
    check_corruption(fixture.check(), "nothing begins at that time");
}
