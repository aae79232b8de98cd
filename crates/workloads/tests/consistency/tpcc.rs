//! Tests TPC-C: every condition is violated on purpose, and found.

use crate::fixture::{Fixture, workload};
use hotrow_storage::{Key, RowMut, TableId, Value};
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_txn::{Abort, Transaction};
use hotrow_workloads::tpcc::{Tables, Tpcc};
use hotrow_workloads::tpcc::{
    customer, district, history, history_key, new_order, order, order_line, stock, warehouse,
};
use hotrow_workloads::{ClientIdentity, Violation, Workload};
use std::ops::ControlFlow;

/// A small database of two warehouses; 21 of a district's 30 orders are delivered initially.
const SMALL: &str = "--warehouses 2 --items 100 --customers 30 --rollback 0";

/// A district, and an order in it that is surely not delivered yet: each delivery takes the oldest order, and there are
/// too few.
const PLACE: [i32; 2] = [1, 3];
const LATE: [i32; 3] = [1, 3, 30];

type Tamper<'t> = Box<dyn Fn(&mut dyn Transaction) -> Result<(), Abort> + 't>;

/// Changes one row.
fn change(table: TableId, key: Key, change: impl Fn(&mut RowMut<'_>) + 'static) -> Tamper<'static> {
    Box::new(move |txn| {
        txn.update(table, &key, &mut |row| {
            change(row);
            Ok(())
        })
        .map(drop)
    })
}

fn add_int(column: usize, delta: i32) -> impl Fn(&mut RowMut<'_>) + 'static {
    move |row| row.set_int4(column, row.as_ref().int4(column) + delta)
}

fn add_scaled(column: usize, delta: i64) -> impl Fn(&mut RowMut<'_>) + 'static {
    move |row| row.set_scaled(column, row.as_ref().scaled(column) + delta)
}

/// The numbers of the conditions in a verdict.
fn conditions(outcome: &Result<(), Violation>) -> Vec<u32> {
    let what = outcome.as_ref().map_or_else(ToString::to_string, |()| String::new());
    let number = |part: &str| part.split(',').next().and_then(|number| number.parse().ok());
    what.split("condition ").skip(1).filter_map(number).collect()
}

/// Tampers with a fresh database, and checks that the verdict names exactly these conditions, and says `what`.
fn check(tampers: impl Fn(Tables) -> Vec<Tamper<'static>>, expected: &[u32], what: &str) {
    let fixture = Fixture::<Tpcc>::after(SMALL, 20);
    assert_eq!(fixture.check(), Ok(()));
    for tamper in tampers(fixture.tables) {
        fixture.tamper_with(tamper);
    }
    let outcome = fixture.check();
    assert_eq!(conditions(&outcome), expected, "{outcome:?}");
    assert!(outcome.as_ref().is_err_and(|violation| violation.to_string().contains(what)), "{what}: {outcome:?}");
}

#[test]
fn sums_of_payments() {
    let ytd = |tables: Tables| change(tables.warehouse, Key::Int(1), add_scaled(warehouse::YTD, 1));
    check(|tables| vec![ytd(tables)], &[1, 8], "condition 1, warehouse 1: w_ytd is ");
    check(|tables| vec![ytd(tables)], &[1, 8], "condition 8, warehouse 1: w_ytd is ");
    let district = |tables: Tables, district, delta| {
        change(tables.district, Key::int4s([1, district]), add_scaled(district::YTD, delta))
    };
    let moved = |tables| vec![district(tables, 3, 1), district(tables, 4, -1)];
    check(moved, &[9, 15], "condition 9, warehouse 1, district 3: d_ytd is ");
    check(|tables| vec![district(tables, 3, 1)], &[1, 9, 15], "but the sum of d_ytd ");
    // The history row that the load made for customer 5 of warehouse 1, district 1.
    let entry = |tables: Tables| change(tables.history, history_key(1, -5), add_scaled(history::AMOUNT, 100));
    check(
        |tables| vec![entry(tables)],
        &[8, 9, 10],
        "condition 10, warehouse 1, district 1: customer 5: c_balance is ",
    );
}

#[test]
fn numbers_of_orders() {
    let next = |tables: Tables| change(tables.district, Key::int4s(PLACE), add_int(district::NEXT_ORDER, 1));
    check(|tables| vec![next(tables)], &[2], "condition 2, warehouse 1, district 3: d_next_o_id is ");
    let gone = |tables: Tables| -> Tamper<'static> {
        Box::new(move |txn| txn.delete(tables.new_order, &Key::int4s([1, 3, 29])).map(drop))
    };
    check(|tables| vec![gone(tables)], &[3, 5, 11], "condition 3, warehouse 1, district 3: no_o_id goes from ");
    let oldest_gone = |tables: Tables| -> Tamper<'static> {
        Box::new(move |txn| {
            // The order that is the oldest by now.
            for number in 1..=30 {
                if txn.read(tables.new_order, &Key::int4s([1, 3, number]))?.is_some() {
                    return txn.delete(tables.new_order, &Key::int4s([1, 3, number])).map(drop);
                }
            }
            Ok(())
        })
    };
    check(|tables| vec![oldest_gone(tables)], &[5, 11], "condition 11, warehouse 1, district 3: ");
    let order_gone = |tables: Tables| -> Tamper<'static> {
        Box::new(move |txn| txn.delete(tables.order, &Key::int4s([1, 3, 7])).map(drop))
    };
    check(|tables| vec![order_gone(tables)], &[4, 6, 7, 11, 15], "order 7: o_ol_cnt is 0, but it has ");
}

#[test]
fn orders_and_their_lines() {
    let count = |tables: Tables, number, delta| {
        change(tables.order, Key::int4s([1, 3, number]), add_scaled(order::LINES, delta))
    };
    check(|tables| vec![count(tables, 5, 1)], &[4, 6], "condition 4, warehouse 1, district 3: the sum of o_ol_cnt is ");
    let moved = |tables| vec![count(tables, 5, 1), count(tables, 6, -1)];
    check(moved, &[6], "condition 6, warehouse 1, district 3: order 5: o_ol_cnt is ");
    let carried = |tables: Tables| change(tables.order, Key::int4s(LATE), |row| row.set_int4(order::CARRIER, 1));
    check(
        |tables| vec![carried(tables)],
        &[5, 7, 13],
        "condition 5, warehouse 1, district 3: order 30: o_carrier_id is set",
    );
    let undelivered = |tables: Tables| {
        change(tables.order_line, Key::int4s([1, 3, 5, 2]), |row| row.set(order_line::DELIVERED, &Value::Null))
    };
    check(
        |tables| vec![undelivered(tables)],
        &[7],
        "condition 7, warehouse 1, district 3: order 5: o_carrier_id is set",
    );
    let delivered = |tables: Tables| {
        change(tables.order_line, Key::int4s([1, 3, 30, 1]), |row| row.set(order_line::DELIVERED, &Value::Timestamp(0)))
    };
    check(|tables| vec![delivered(tables)], &[7, 10, 12], "order 30: o_carrier_id is NULL, but 1 of its ");
}

#[test]
fn customers() {
    let key = Key::int4s([2, 9, 17]);
    let of =
        |tables: Tables, tamper: fn(&mut RowMut<'_>)| vec![change(tables.customer, Key::int4s([2, 9, 17]), tamper)];
    let balance = |tables| of(tables, |row| add_scaled(customer::BALANCE, -1)(row));
    check(balance, &[10, 12], "condition 10, warehouse 2, district 9: customer 17: c_balance is ");
    let paid = |tables| of(tables, |row| row.set_float8(customer::PAID, row.as_ref().float8(customer::PAID) + 0.01));
    check(paid, &[12], "condition 12, warehouse 2, district 9: customer 17: c_balance is ");
    let payments = |tables| of(tables, |row| add_int(customer::PAYMENTS, 1)(row));
    check(payments, &[13], "condition 13, warehouse 2, district 9: customer 17: c_payment_cnt and ");
    let deliveries = |tables| of(tables, |row| add_int(customer::DELIVERIES, -1)(row));
    check(deliveries, &[13], "condition 13, warehouse 2, district 9: customer 17: ");
    let gone = |tables: Tables| -> Vec<Tamper<'static>> {
        let key = key.clone();
        vec![Box::new(move |txn| txn.delete(tables.customer, &key).map(drop))]
    };
    check(gone, &[10], "customer 17 is not there");
}

#[test]
fn stocks() {
    for column in [stock::ORDERS, stock::REMOTE_ORDERS] {
        let tamper = move |tables: Tables| vec![change(tables.stock, Key::int4s([2, 50]), add_int(column, 1))];
        check(tamper, &[14], "condition 14, warehouse 2, item 50: s_order_cnt, s_remote_cnt and s_ytd are ");
    }
    let ytd = |tables: Tables| vec![change(tables.stock, Key::int4s([2, 50]), add_scaled(stock::YTD, 100))];
    check(ytd, &[14], "condition 14, warehouse 2, item 50: ");
    let gone = |tables: Tables| -> Vec<Tamper<'static>> {
        vec![Box::new(move |txn| txn.delete(tables.stock, &Key::int4s([2, 50])).map(drop))]
    };
    check(gone, &[14], "warehouse 2: 99 stocks are there, 100 were loaded");
}

#[test]
fn rows_that_are_not_there() {
    let district = |tables: Tables| -> Vec<Tamper<'static>> {
        vec![Box::new(move |txn| txn.delete(tables.district, &Key::int4s(PLACE)).map(drop))]
    };
    check(district, &[1, 2, 14], "warehouse 1: district 3 is not there");
    let warehouse = |tables: Tables| -> Vec<Tamper<'static>> {
        vec![Box::new(move |txn| txn.delete(tables.warehouse, &Key::Int(2)).map(drop))]
    };
    check(warehouse, &[1], "condition 1, warehouse 2 is not there");
    // Numbers that no engine gives out are reported, and nothing is allocated by their size.
    let far = |tables: Tables| {
        vec![change(tables.district, Key::int4s(PLACE), |row| row.set_int4(district::NEXT_ORDER, i32::MIN))]
    };
    check(far, &[2], "d_next_o_id is -2147483648");
}

#[test]
fn commits_that_left_no_trace() {
    let fixture = Fixture::<Tpcc>::after(SMALL, 200);
    assert_eq!(fixture.check(), Ok(()));
    let mut kinds: Vec<_> = fixture.notes.iter().map(|&(kind, _)| kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, [0, 1, 2, 3, 4], "all five transactions were run");
    // Without one client's tallies, there are more rows than were committed; in the history that is corruption.
    let outcome = fixture.workload.check(&*fixture.engine, fixture.tables, &fixture.clients[1..]);
    assert!(matches!(outcome, Err(Violation::Corruption(_))), "{outcome:?}");
    assert!(conditions(&outcome).contains(&15), "{outcome:?}");
    // The first payment of client 0, in whichever warehouse it was.
    let entry = |warehouse| history_key(warehouse, 1 << 40 | 1);
    let delete = |txn: &mut dyn Transaction, warehouse| txn.delete(fixture.tables.history, &entry(warehouse)).map(drop);
    fixture.tamper_with(|txn| (1..=2).try_for_each(|warehouse| delete(txn, warehouse)));
    let outcome = fixture.check();
    assert!(
        matches!(&outcome, Err(Violation::Corruption(what)) if what.contains("payments are there, but ")),
        "{outcome:?}"
    );
}

#[test]
fn a_sample_of_the_warehouses_is_checked() {
    let line = format!("{SMALL} --check-sample 1");
    let fixture = Fixture::<Tpcc>::after(&line, 50);
    assert_eq!(fixture.check(), Ok(()));
    for warehouse in [1, 2] {
        fixture.tamper(fixture.tables.warehouse, warehouse, |row| add_scaled(warehouse::YTD, 1)(row));
    }
    let outcome = fixture.check();
    assert_eq!(conditions(&outcome), [1, 8], "{outcome:?}");
    assert!(outcome.is_err_and(|violation| !violation.to_string().contains("more")), "one warehouse of two");
}

#[test]
fn an_unused_item_rolls_everything_back() {
    let fixture = Fixture::<Tpcc>::after(&SMALL.replace("--rollback 0", "--rollback 1 --mix neworder"), 0);
    let mut client = fixture.workload.client(fixture.tables, ClientIdentity::first_run(0, 5));
    for _ in 0..50 {
        assert_eq!(fixture.step(&mut client), Err(Abort::User));
    }
    let outcome = fixture.workload.check(&*fixture.engine, fixture.tables, &[client]);
    assert_eq!(outcome, Ok(()), "what is rolled back on purpose is no surprise");
}

#[test]
fn a_lost_row_surprises() {
    let fixture = Fixture::<Tpcc>::after(&format!("{SMALL} --mix payment --by-name 0"), 0);
    fixture.tamper_with(|txn| {
        (1..=30).try_for_each(|number| txn.delete(fixture.tables.customer, &Key::int4s([1, 1, number])).map(drop))
    });
    let mut client = fixture.workload.client(fixture.tables, ClientIdentity::first_run(0, 5));
    let lost = (0..300).filter(|_| fixture.step(&mut client) == Err(Abort::User)).count();
    assert!(lost > 0);
    let outcome = fixture.workload.check(&*fixture.engine, fixture.tables, &[client]);
    let what = format!("{lost} transactions missed a row, or met one that should not be there");
    assert!(outcome.is_err_and(|violation| violation.to_string().contains(&what)), "{what}");
}

#[test]
fn the_load_has_the_rows_that_it_announces() {
    let workload: Tpcc = workload(SMALL);
    let engine = hotrow_protocols::open("serial").expect("the engine is in the registry");
    let tables = workload.create(&*engine);
    let heard = AtomicU64::new(0);
    let count = |rows| {
        heard.fetch_add(rows, Ordering::AcqRel);
        ControlFlow::Continue(())
    };
    workload.load(&*engine, tables, 3, &count).expect("the tables are empty");
    assert_eq!(heard.into_inner(), workload.rows());
    let Tables { warehouse, district, customer, history, order, new_order, order_line, stock, item } = tables;
    let counted = [
        (warehouse, 2),
        (district, 20),
        (customer, 600),
        (history, 600),
        (order, 600),
        (new_order, 180),
        (stock, 200),
        (item, 100),
    ];
    for (table, rows) in counted {
        assert_eq!(engine.row_count(table), rows, "{}", engine.schema(table).name);
    }
    let lines = engine.row_count(order_line);
    assert!((3000..=9000).contains(&lines) && lines == workload.rows() - 2302, "{lines}");
    assert_eq!(workload.check(&*engine, tables, &[]), Ok(()), "right after the load");
    let _ = new_order::ORDER;
}
