//! Tests the checks of transfers: of the balances, of the counters, and of the accounts.

use crate::fixture::{Fixture, check_anomaly, check_corruption};
use hotrow_storage::Key;
use hotrow_workloads::transfers::{BALANCE, COUNTER, Transfers};

/// Adds to a column of an account without the clients' knowledge.
fn add(fixture: &Fixture<Transfers>, account: i64, column: usize, delta: i64) {
    fixture.tamper(fixture.tables, account, move |row| row.set_int8(column, row.as_ref().int8(column) + delta));
}

#[test]
fn transfers_count_money_and_changes() {
    let fixture = Fixture::<Transfers>::new("--accounts 50 --balance 1000");
    assert_eq!(fixture.check(), Ok(()));
    assert_eq!(fixture.notes, [(0, true); 200], "no account has spent 1000");
    // A lost update takes a balance and a counter back.
    add(&fixture, 7, COUNTER, -1);
    check_anomaly(fixture.check(), "the counters add up to 399, but 400 increments were committed");
    add(&fixture, 7, COUNTER, 2);
    check_corruption(fixture.check(), "the counters add up to 401, but 400 increments were committed");
    add(&fixture, 7, COUNTER, -1);
    add(&fixture, 7, BALANCE, 1);
    check_anomaly(fixture.check(), "the balances add up to 50001, but 50000 was loaded");
    add(&fixture, 7, BALANCE, -1);
    assert_eq!(fixture.check(), Ok(()));
    fixture.tamper_with(|txn| txn.delete(fixture.tables, &Key::Int(7)).map(drop));
    check_corruption(fixture.check(), "the table has 49 rows, not the 50 loaded");
}

#[test]
fn no_account_is_overdrawn() {
    let fixture = Fixture::<Transfers>::new("--accounts 5 --balance 2 --amount 2");
    assert_eq!(fixture.check(), Ok(()));
    let refused = fixture.notes.iter().filter(|&&(_, moved)| !moved).count();
    assert!(refused > 0 && refused < fixture.notes.len(), "{refused} of 200 were refused");
    // The sum stays the same.
    add(&fixture, 3, BALANCE, -11);
    add(&fixture, 4, BALANCE, 11);
    check_anomaly(fixture.check(), "account 3 is overdrawn");
}

#[test]
fn a_transfer_without_funds_changes_nothing() {
    let fixture = Fixture::<Transfers>::new("--accounts 5 --balance 1 --amount 2");
    assert_eq!(fixture.notes, [(0, false); 200]);
    assert_eq!(fixture.check(), Ok(()));
    add(&fixture, 3, COUNTER, 1);
    check_corruption(fixture.check(), "the counters add up to 1, but 0 increments were committed");
}
