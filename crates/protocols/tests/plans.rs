//! Tests of the rows that a plan lets a transaction touch, and of the fate of those rows' records.

use hotrow_protocols::Instance;
use hotrow_protocols::partition::{Counting, PartitionConfig, Partitioned};
use hotrow_protocols::vll::{Analysed, InVectors, Plain, Variant, Vll, VllConfig};
use hotrow_storage::{Column, Key, KeySpec, Row, TableId, TableSchema, Type, Value, mix};
use hotrow_sync::{Arc, Waiter, mpsc, thread};
use hotrow_txn::{
    Abort, Accesses, Begin, Duties, Engine, Inspection, Intent, Isolation, Ownership, Protocol, Transaction, WorkerId,
    Write,
};
use std::time::Duration;

/// A table of a key of these columns, all integers of eight bytes, and a number, with rows of these keys. A row's
/// number is the last column of its key.
fn open<P: Protocol>(config: P::Config, key_columns: usize, rows: &[&[i64]]) -> (Arc<Instance<P>>, TableId) {
    let instance = Instance::<P>::new(config);
    let key: Vec<_> = (0..key_columns).collect();
    let columns = (0..=key_columns).map(|column| Column::new(["a", "b", "c"][column], Type::Int8)).collect();
    let table = instance.create_table(TableSchema { partitioned: true, ..TableSchema::new("numbers", columns, &key) });
    rows.iter().for_each(|key| instance.load(table, row(&*instance, table, key).as_ref()).expect("the key is new"));
    (instance, table)
}

fn row(engine: &dyn Engine, table: TableId, key: &[i64]) -> Row {
    let values: Vec<_> = key.iter().chain(key.last()).map(|&value| Value::Int8(value)).collect();
    Row::from_values(&engine.layout(table), &values)
}

fn begin(txn: &mut dyn Transaction, table: TableId, rows: &[(&Key, Intent)], read_only: bool) -> Result<(), Abort> {
    let mut accesses = Accesses::new();
    rows.iter().for_each(|(key, intent)| accesses.push(table, (*key).clone(), *intent));
    let begin = Begin { accesses: Some(&accesses), ..Begin::at(Isolation::Serializable) };
    txn.begin(&Begin { read_only, ..begin })
}

/// Waits for nothing.
fn waiter() -> Waiter {
    let waiter = Waiter::thread(Duration::ZERO);
    waiter.set_lock_timeout(Some(Duration::ZERO));
    waiter
}

/// A row of the plan and one beside it are deleted in a table that is owned as a whole; the keys are free afterwards.
fn deletes_in_an_owned_table<V: Variant>() {
    let (instance, table) = open::<Vll<V>>(VllConfig::default(), 1, &[&[1], &[2], &[3]]);
    let mut txn = Engine::transaction(&*instance, waiter());
    for _ in 0..100 {
        begin(&mut *txn, table, &[(&Key::Int(1), Intent::Write)], false).expect("nobody is in the way");
        txn.own_table(table, Ownership::Locked);
        [1, 2].into_iter().for_each(|key| assert_eq!(txn.delete(table, &Key::Int(key)), Ok(Write::Done)));
        txn.commit().expect("it has its locks");
        assert_eq!(instance.row_count(table), 1);
        instance.audit().expect("the invariants hold");
        for key in [1, 2] {
            begin(&mut *txn, table, &[(&Key::Int(key), Intent::Write)], false).expect("nobody is in the way");
            assert_eq!(txn.insert(table, row(&*instance, table, &[key]).as_ref()), Ok(Write::Done));
            txn.commit().expect("it has its locks");
        }
        assert_eq!(instance.row_count(table), 3);
    }
    // Memory that was freed twice would be two rows' at once.
    for key in 10..200 {
        begin(&mut *txn, table, &[(&Key::Int(key), Intent::Write)], false).expect("nobody is in the way");
        assert_eq!(txn.insert(table, row(&*instance, table, &[key]).as_ref()), Ok(Write::Done));
        txn.commit().expect("it has its locks");
    }
    for key in 10..200 {
        begin(&mut *txn, table, &[(&Key::Int(key), Intent::Read)], false).expect("nobody is in the way");
        let number = txn.read(table, &Key::Int(key)).expect("it is planned").and_then(|row| row.value(1).as_int());
        assert_eq!(number, Some(key));
        txn.commit().expect("it has its locks");
    }
}

#[test]
fn a_planned_row_of_an_owned_table_is_unlinked_once() {
    deletes_in_an_owned_table::<Plain>();
    deletes_in_an_owned_table::<Analysed>();
    deletes_in_an_owned_table::<InVectors>();
}

/// Two keys of two columns that have one hash, and so one name.
fn namesakes() -> [[i64; 2]; 2] {
    let word = |value: i64| ((value as u64) ^ 1 << 63).swap_bytes();
    let after = |first: i64| mix(mix(16 ^ 0x2545_F491_4F6C_DD1D) ^ word(first));
    let second = (word(20) ^ after(1) ^ after(2)).swap_bytes() ^ 1 << 63;
    [[1, 20], [2, second as i64]]
}

fn key_of(values: [i64; 2]) -> Key {
    let columns = [Column::new("a", Type::Int8), Column::new("b", Type::Int8)];
    KeySpec::new(&columns, &[0, 1]).key(values.into_iter().map(Value::Int8))
}

fn namesakes_are_told_apart<P: Protocol>(config: P::Config) {
    let values = namesakes();
    let keys = values.map(key_of);
    let [one, other] = [&keys[0], &keys[1]];
    assert!(one != other && one.hash64() == other.hash64());
    let (instance, table) = open::<P>(config, 2, &[&values[0], &values[1]]);
    let mut txn = Engine::transaction(&*instance, waiter());
    let numbers = |txn: &mut dyn Transaction, key: &Key| -> Result<Option<i64>, Abort> {
        Ok(txn.read(table, key)?.and_then(|row| row.value(2).as_int()))
    };
    for read_only in [false, true] {
        begin(&mut *txn, table, &[(one, Intent::Read), (other, Intent::Read)], read_only).expect("nobody is there");
        let read = [other, one, other, one].map(|key| numbers(&mut *txn, key));
        assert_eq!(read, [values[1][1], values[0][1], values[1][1], values[0][1]].map(|number| Ok(Some(number))));
        txn.commit().expect("it has its locks");
        begin(&mut *txn, table, &[(one, Intent::Read)], read_only).expect("nobody is there");
        assert_eq!(numbers(&mut *txn, other), Err(Abort::OutsidePlan), "read only: {read_only}");
        txn.abort();
    }
    begin(&mut *txn, table, &[(one, Intent::Write)], false).expect("nobody is there");
    assert_eq!(txn.delete(table, other), Err(Abort::OutsidePlan));
    txn.abort();
}

#[test]
fn rows_whose_names_are_the_same_are_two_where_records_carry_locks() {
    namesakes_are_told_apart::<Vll<Plain>>(VllConfig::default());
    namesakes_are_told_apart::<Vll<InVectors>>(VllConfig::default());
    let config = PartitionConfig { partitions: 1, ..PartitionConfig::default() };
    namesakes_are_told_apart::<Partitioned<Counting>>(config);
}

#[test]
fn no_record_is_left_of_an_insert_where_another_thread_has_settled() {
    let config = PartitionConfig { partitions: 2, ..PartitionConfig::default() };
    let (instance, table) = open::<Partitioned<Counting>>(config, 1, &[&[0], &[1]]);
    thread::scope(|scope| {
        let (settled, has_settled) = mpsc::channel();
        let (end, is_over) = mpsc::channel::<()>();
        let instance = &instance;
        scope.spawn(move || {
            let mut worker = instance.worker(WorkerId(1));
            let _txn = instance.transaction(&mut worker, waiter());
            worker.settle(&waiter());
            settled.send(()).expect("the test waits");
            // An error says that the test is over, too.
            let _ = is_over.recv();
            worker.leave();
        });
        has_settled.recv().expect("the thread settles");
        let mut txn = Engine::transaction(&**instance, waiter());
        begin(&mut *txn, table, &[(&Key::Int(0), Intent::Write)], false).expect("nobody is in the way");
        assert_eq!(txn.insert(table, row(&**instance, table, &[3]).as_ref()), Err(Abort::OutsidePlan));
        txn.abort();
        drop(end);
    });
    assert_eq!(instance.row_count(table), 2);
    instance.audit().expect("the invariants hold");
}
