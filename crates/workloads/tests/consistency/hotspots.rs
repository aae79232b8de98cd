//! Tests the checks of the bimodal workload and of the roving hotspot.

use crate::fixture::{Fixture, check_anomaly, check_corruption};
use hotrow_storage::Key;
use hotrow_workloads::bimodal::{self, Bimodal};
use hotrow_workloads::roving::{self, Roving};
use hotrow_workloads::{Client, ClientIdentity, Dealer, Workload};

#[test]
fn bimodal_counts_increments_and_rows_of_each_table() {
    for line in ["--rows 50", "--rows 20 --groups 3 --tables 2 --ops 4 --share 0.6 --read-ratio 0.1"] {
        let fixture = Fixture::<Bimodal>::new(line);
        assert_eq!(fixture.check(), Ok(()), "{line}");
        for &table in fixture.tables.all() {
            let add = |delta: i64| {
                let counter = bimodal::COUNTER;
                fixture.tamper(table, 7, move |row| row.set_int8(counter, row.as_ref().int8(counter) + delta));
            };
            add(-1);
            check_anomaly(fixture.check(), "increments were committed");
            add(2);
            check_corruption(fixture.check(), "increments were committed");
            add(-1);
            assert_eq!(fixture.check(), Ok(()), "{line}");
        }
        let last = *fixture.tables.all().last().expect("there are tables");
        fixture.tamper_with(|txn| txn.delete(last, &Key::Int(7)).map(drop));
        check_corruption(fixture.check(), " loaded");
    }
}

#[test]
fn an_increment_in_the_other_groups_table_is_found() {
    let fixture = Fixture::<Bimodal>::new("--rows 50 --tables 1");
    let counter = bimodal::COUNTER;
    for (table, delta) in fixture.tables.all().iter().zip([1, -1]) {
        fixture.tamper(*table, 7, move |row| row.set_int8(counter, row.as_ref().int8(counter) + delta));
    }
    check_corruption(fixture.check(), "increments were committed");
}

#[test]
fn a_client_that_is_dealt_a_group_runs_it() {
    let fixture = Fixture::<Bimodal>::new("--rows 50");
    let types = fixture.workload.types().expect("the workload has types");
    let dealer = Dealer::new(types, 2);
    for (worker, group) in [(0, 0), (1, 1)] {
        let mut client = fixture.workload.client(fixture.tables, ClientIdentity::first_run(worker, 9));
        client.deal(dealer.hand(worker));
        assert_eq!(fixture.run(&mut client, 20), [(group, true); 20]);
    }
}

#[test]
fn roving_counts_rows_and_amounts() {
    for line in ["--rows 50 --recent 50", "--rows 20 --recent 5 --appends 3 --reads 4 --read-only-share 0.5"] {
        let fixture = Fixture::<Roving>::new(line);
        assert_eq!(fixture.check(), Ok(()), "{line}");
        assert!(fixture.notes.iter().all(|&(_, found_all)| found_all), "{line}: nothing runs beside the reads");
        let history = fixture.tables.history;
        let add = |delta: i64| {
            let amount = roving::AMOUNT;
            fixture.tamper(history, 7, move |row| row.set_int8(amount, row.as_ref().int8(amount) + delta));
        };
        add(1);
        check_corruption(fixture.check(), "the amounts add up to");
        add(-1);
        assert_eq!(fixture.check(), Ok(()), "{line}");
        fixture.tamper_with(|txn| txn.delete(history, &Key::Int(7)).map(drop));
        check_corruption(fixture.check(), "rows, but ");
    }
}

#[test]
fn databases_of_one_roving_workload_have_their_own_keys() {
    let fixture = Fixture::<Roving>::new("--rows 50 --recent 10");
    let engine = hotrow_protocols::open("serial").expect("the engine is in the registry");
    let other = fixture.workload.create(&*engine);
    let client = |tables| {
        let mut client = fixture.workload.client(tables, ClientIdentity::first_run(0, 1));
        client.generate();
        client.next().appends().next()
    };
    assert_eq!((client(fixture.tables), client(other)), (Some(250), Some(50)));
}
