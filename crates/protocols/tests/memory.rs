//! Tests of the versions that multiversion engines keep: versions that a transaction can see, a few others for a while,
//! and none of a table that was dropped.
//!
//! `HOTROW_MEMORY_UPDATES=10000000 cargo test --release -p hotrow-protocols --test memory -- --test-threads 1` is the
//! long form, which also looks at the memory of the process.

use hotrow_protocols::open;
use hotrow_storage::{Column, IndexRef, Key, Row, TableId, TableSchema, Type, Value};
use hotrow_sync::{Arc, Waiter, thread};
use hotrow_txn::{Begin, Engine, Isolation, Scan, Transaction, VersionStatistics, Write};
use std::ops::ControlFlow;
use std::time::Duration;

const ROWS: u64 = 1_000;
const THREADS: u64 = 2;

/// Updates of each run: enough in the short form that a hundredth of them would be seen.
fn updates() -> u64 {
    long_form().unwrap_or(200_000)
}

fn long_form() -> Option<u64> {
    let text = std::env::var("HOTROW_MEMORY_UPDATES").ok()?;
    Some(text.parse().expect("HOTROW_MEMORY_UPDATES is a number"))
}

fn engine() -> Arc<dyn Engine> {
    open("mvo").expect("the engine exists")
}

/// A table with so many rows, all zero.
fn table(engine: &dyn Engine, rows: u64) -> TableId {
    let mut schema =
        TableSchema::new("rows", vec![Column::new("id", Type::Int8), Column::new("number", Type::Int8)], &[0]);
    schema.ordered = false;
    let table = engine.create_table(schema);
    for id in 0..rows as i64 {
        let row = Row::from_values(&engine.layout(table), &[Value::Int8(id), Value::Int8(0)]);
        engine.load(table, row.as_ref()).expect("ids are told apart");
    }
    table
}

fn transaction(engine: &dyn Engine) -> Box<dyn Transaction> {
    engine.transaction(Waiter::thread(Duration::ZERO))
}

/// Adds one to a row; whether that was committed.
fn add(txn: &mut dyn Transaction, table: TableId, id: u64) -> bool {
    txn.begin(&Begin::at(Isolation::ReadCommitted)).expect("there are slots");
    let key = Key::Int(id as i64);
    let added = txn.update(table, &key, &mut |row| {
        let number = row.as_ref().int8(1);
        row.set_int8(1, number + 1);
        Ok(())
    });
    if added == Ok(Write::Done) && txn.commit().is_ok() {
        return true;
    }
    txn.abort();
    false
}

/// Updates all rows, one after the other, from several threads, so many times in all.
fn update(engine: &Arc<dyn Engine>, table: TableId, rows: u64) {
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let engine = engine.clone();
            thread::spawn(move || {
                let mut txn = transaction(&*engine);
                for update in 0..updates() / THREADS {
                    let id = (update * THREADS + number).wrapping_mul(0x9E37_79B9_7F4A_7C15) % rows;
                    while !add(&mut *txn, table, id) {}
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("updates do not fail"));
}

#[test]
fn much_that_a_slot_kept_when_its_owner_left_is_collected_by_others() {
    let engine = engine();
    let table = table(&*engine, ROWS);
    let mut late = transaction(&*engine);
    late.begin(&Begin::at(Isolation::ReadCommitted)).expect("there are slots");
    // While a transaction is in the middle of a call, as a thread may be that lost its core, nothing is collected that
    // ends.
    let call = late.update(table, &Key::Int(0), &mut |_| {
        let mut busy = transaction(&*engine);
        (0..20 * ROWS).for_each(|update| assert!(add(&mut *busy, table, 1 + update % (ROWS - 1))));
        Ok(())
    });
    assert_eq!(call, Ok(Write::Done));
    late.commit().expect("nobody else has changed the row");
    assert!(versions(&*engine).garbage > 19 * ROWS, "{:?}", versions(&*engine));

    (0..2 * ROWS).for_each(|update| assert!(add(&mut *late, table, update % ROWS)));
    let left = versions(&*engine);
    assert!(left.alive <= 2 * ROWS, "{left:?}");
}

/// The sum of all numbers in a table.
fn sum(txn: &mut dyn Transaction, table: TableId) -> i64 {
    let mut sum = 0;
    let scanned = txn.scan(&Scan::all(table, IndexRef::Primary), &mut |row| {
        sum += row.int8(1);
        ControlFlow::Continue(())
    });
    scanned.expect("nobody is in the way");
    sum
}

fn versions(engine: &dyn Engine) -> VersionStatistics {
    engine.versions().expect("the engine has versions")
}

/// Kilobytes of memory that the process has.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the system is Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it says how much memory there is");
    line.trim().trim_end_matches(" kB").parse().expect("a number of kilobytes")
}

#[test]
fn updates_leave_what_is_visible() {
    let engine = engine();
    let table = table(&*engine, ROWS);
    let memory = engine.memory(table);
    assert_eq!(memory.rows, ROWS);
    update(&engine, table, ROWS);
    let left = versions(&*engine);
    println!("without a reader: {left:?}, {:?}", engine.memory(table));
    assert!((ROWS..=2 * ROWS).contains(&left.alive), "{left:?}");
    assert_eq!(left.alive - left.garbage, ROWS, "{left:?}");
    assert_eq!((left.transactions, left.oldest_reader), (0, None));
    assert_eq!(sum(&mut *begun(&*engine), table), updates() as i64, "every update is there");
}

fn begun(engine: &dyn Engine) -> Box<dyn Transaction> {
    let mut txn = transaction(engine);
    txn.begin(&Begin { read_only: true, ..Begin::at(Isolation::Serializable) }).expect("there are slots");
    txn
}

#[test]
fn a_reader_keeps_what_it_sees_and_nothing_that_came_since() {
    let engine = engine();
    let table = table(&*engine, ROWS);
    let mut reader = begun(&*engine);
    assert_eq!(sum(&mut *reader, table), 0);
    reader.idle();
    update(&engine, table, ROWS);
    // A thread that lost its core in the middle of an update kept what others replaced meanwhile; who updates now
    // collects that.
    let mut writer = transaction(&*engine);
    (0..2 * ROWS).for_each(|update| assert!(add(&mut *writer, table, update % ROWS)));

    let left = versions(&*engine);
    println!("with a reader: {left:?}, {:?}", engine.memory(table));
    // The rows as the reader sees them, and as all others do.
    assert!((2 * ROWS..=4 * ROWS).contains(&left.alive), "{left:?}");
    assert_eq!(left.alive - left.garbage, ROWS, "{left:?}");
    assert!(left.held <= ROWS, "{left:?}");
    assert_eq!(left.transactions, 1);
    assert!(left.oldest_reader >= Some(updates()), "{left:?}");
    assert_eq!(sum(&mut *reader, table), 0, "what the reader sees is there");
    reader.commit().expect("who only reads can always commit");

    (0..2 * ROWS).for_each(|update| assert!(add(&mut *writer, table, update % ROWS)));
    let left = versions(&*engine);
    assert!(left.alive <= 2 * ROWS, "what the reader kept is gone: {left:?}");
}

#[test]
fn who_is_idle_keeps_nothing_while_others_are_awake() {
    const IDLE: u64 = 50;
    let engine = engine();
    let table = table(&*engine, ROWS);
    let idle: Vec<_> = (0..IDLE)
        .map(|number| {
            let mut txn = transaction(&*engine);
            (0..10).for_each(|_| assert!(add(&mut *txn, table, number)));
            txn
        })
        .collect();
    let before = versions(&*engine);
    assert!(before.garbage >= IDLE, "{before:?}");
    let mut awake = transaction(&*engine);
    for update in 0..100 * IDLE {
        assert!(add(&mut *awake, table, IDLE + update % IDLE));
    }
    let after = versions(&*engine);
    assert!(after.garbage < IDLE, "{after:?}");
    drop(idle);
}

#[test]
fn who_comes_for_one_transaction_collects_what_those_before_left() {
    const AT_ONCE: u64 = 50;
    let engine = engine();
    let table = table(&*engine, ROWS);
    for client in 0..ROWS {
        let mut at_once: Vec<_> = (0..AT_ONCE).map(|_| transaction(&*engine)).collect();
        assert!(at_once.iter_mut().all(|txn| add(&mut **txn, table, client)));
    }
    let left = versions(&*engine);
    assert!(left.garbage < 40 * AT_ONCE, "of {} that ended: {left:?}", ROWS * AT_ONCE);
}

#[test]
fn who_ends_many_versions_collects_them() {
    let engine = engine();
    let table = table(&*engine, ROWS);
    let mut txn = transaction(&*engine);
    for _ in 0..2 {
        txn.begin(&Begin::at(Isolation::ReadCommitted)).expect("there are slots");
        for id in 0..ROWS as i64 {
            assert_eq!(txn.delete(table, &Key::Int(id)), Ok(Write::Done));
            let row = Row::from_values(&engine.layout(table), &[Value::Int8(id), Value::Int8(7)]);
            assert_eq!(txn.insert(table, row.as_ref()), Ok(Write::Done));
        }
        txn.commit().expect("it is alone");
        assert_eq!(versions(&*engine).alive, ROWS);
    }
    txn.begin(&Begin::at(Isolation::ReadCommitted)).expect("there are slots");
    for id in 0..ROWS as i64 {
        assert_eq!(txn.delete(table, &Key::Int(id)), Ok(Write::Done));
    }
    txn.commit().expect("it is alone");
    assert_eq!(versions(&*engine), VersionStatistics::default(), "of deleted rows nothing is left");
}

#[test]
fn a_dropped_tables_memory_comes_back() {
    let engine = engine();
    let rows = if long_form().is_some() { 1_000_000 } else { ROWS };
    // What the process needs in any case is there from now on.
    let first = table(&*engine, 1);
    let mut idle = transaction(&*engine);
    (0..ROWS).for_each(|_| assert!(add(&mut *idle, first, 0)));
    let before = resident_kib();
    let table = table(&*engine, rows);
    (0..ROWS).for_each(|id| assert!(add(&mut *idle, table, id)));
    update(&engine, table, rows);
    let (full, memory) = (resident_kib(), engine.memory(table));
    engine.drop_table(table);
    let after = resident_kib();
    println!("{before} KiB before, {full} with {memory:?}, {after} after");
    assert!(versions(&*engine).alive <= 2, "the row of the other table, and the one before it");
    if long_form().is_some() {
        assert!(full - before >= memory.bytes() / 2048, "{before} before, {full} with the table");
        assert!(after - before <= (full - before) / 10, "{before} before, {full} with the table, {after} after");
    }
}
