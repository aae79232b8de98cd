//! Engines that keep versions: no transaction waits before its end, the first writer of a row wins, and certain reads
//! must be the same at the end.

use crate::tables::{Shape, row};
use crate::{first_writer_wins, for_each_engine, refusing, writers_wait_for_readers};
use hotrow_storage::{IndexRef, RowLayout, RowMut, TableId, Value};
use hotrow_sync::Arc;
use hotrow_txn::{Abort, Begin, Engine, Isolation, Scan, Transaction, Write};
use std::ops::{Bound, ControlFlow};

/// A step of a transaction.
type Step = fn(&mut dyn Transaction, TableId) -> Result<Write, Abort>;

/// Returns a row's number, or `None` if there is no row.
fn number(txn: &mut dyn Transaction, table: TableId, key: u8) -> Result<Option<i64>, Abort> {
    txn.read(table, &Shape::Indexed.key(key)).map(|row| row.and_then(|row| row.value(2).as_int()))
}

fn read(txn: &mut dyn Transaction, table: TableId, key: u8) -> Result<Write, Abort> {
    number(txn, table, key).map(|_| Write::Done)
}

fn lock(txn: &mut dyn Transaction, table: TableId, key: u8) -> Result<Write, Abort> {
    txn.read_for_update(table, &Shape::Indexed.key(key)).map(|_| Write::Done)
}

fn write(txn: &mut dyn Transaction, table: TableId, key: u8, number: i32) -> Result<Write, Abort> {
    let change = &mut |row: &mut RowMut<'_>| {
        row.set(2, &Value::Int4(number));
        Ok(())
    };
    txn.update(table, &Shape::Indexed.key(key), change)
}

fn insert(txn: &mut dyn Transaction, table: TableId, key: u8, text: u8) -> Result<Write, Abort> {
    let layout = Arc::new(RowLayout::new(&Shape::Indexed.schema().columns));
    txn.insert(table, row(&layout, &Shape::Indexed.values(key, key, text)).as_ref())
}

fn delete(txn: &mut dyn Transaction, table: TableId, key: u8) -> Result<Write, Abort> {
    txn.delete(table, &Shape::Indexed.key(key))
}

/// Rows with keys from `lower` to `upper`.
fn scan(txn: &mut dyn Transaction, table: TableId, lower: u8, upper: u8) -> Result<Write, Abort> {
    let bound = |key| Bound::Included(Shape::Indexed.key(key));
    let all = Scan::all(table, IndexRef::Primary);
    let scan = Scan { lower: bound(lower), upper: bound(upper), ..all };
    txn.scan(&scan, &mut |_| ControlFlow::Continue(())).map(|()| Write::Done)
}

/// Does `check` with every engine that keeps versions, and a table with rows 0, 2, 4 and 6.
fn for_each_table(check: impl Fn(&Arc<dyn Engine>, TableId, Isolation)) {
    for_each_engine(|engine| {
        for level in Isolation::ALL {
            if first_writer_wins(engine) {
                assert_eq!(engine.info().granted(level), level, "{}", engine.info().name);
                let table = engine.create_table(Shape::Indexed.schema());
                for key in [0, 2, 4, 6] {
                    let values = Shape::Indexed.values(key, key, 0);
                    engine.load(table, row(&engine.layout(table), &values).as_ref()).expect("the keys differ");
                }
                check(engine, table, level);
            }
        }
    });
}

#[test]
fn nobody_waits_before_its_end_and_the_first_writer_wins() {
    let conflict = Err(Abort::WriteConflict);
    let cases: [(&str, Step, Step, Result<Write, Abort>); 12] = [
        ("a writer keeps no reader off", |txn, t| write(txn, t, 0, 9), |txn, t| read(txn, t, 0), Ok(Write::Done)),
        ("a reader keeps no writer off", |txn, t| read(txn, t, 0), |txn, t| write(txn, t, 0, 9), Ok(Write::Done)),
        ("a deleted row is there to read", |txn, t| delete(txn, t, 0), |txn, t| read(txn, t, 0), Ok(Write::Done)),
        ("a scan keeps no inserter off", |txn, t| scan(txn, t, 1, 4), |txn, t| insert(txn, t, 3, 0), Ok(Write::Done)),
        ("two write", |txn, t| write(txn, t, 0, 9), |txn, t| write(txn, t, 0, 8), conflict),
        ("two delete", |txn, t| delete(txn, t, 0), |txn, t| delete(txn, t, 0), conflict),
        ("one locks", |txn, t| lock(txn, t, 0), |txn, t| write(txn, t, 0, 8), conflict),
        ("two lock", |txn, t| lock(txn, t, 0), |txn, t| lock(txn, t, 0), conflict),
        ("two insert a key", |txn, t| insert(txn, t, 1, 0), |txn, t| insert(txn, t, 1, 0), conflict),
        ("two insert a name", |txn, t| insert(txn, t, 1, 3), |txn, t| insert(txn, t, 3, 3), conflict),
        ("what is deleted is not free", |txn, t| delete(txn, t, 0), |txn, t| insert(txn, t, 0, 0), conflict),
        ("two insert", |txn, t| insert(txn, t, 1, 0), |txn, t| insert(txn, t, 3, 0), Ok(Write::Done)),
    ];
    for_each_table(|engine, table, level| {
        for (name, first, second, expected) in cases {
            let (mut one, mut two) = (engine.transaction(refusing()), engine.transaction(refusing()));
            one.begin(&Begin::at(level)).expect("beginning needs nothing");
            two.begin(&Begin::at(level)).expect("beginning needs nothing");
            assert_eq!(first(&mut *one, table), Ok(Write::Done), "{} at {level}: {name}", engine.info().name);
            assert_eq!(second(&mut *two, table), expected, "{} at {level}: {name}", engine.info().name);
            two.abort();
            one.abort();
            engine.audit().unwrap_or_else(|broken| panic!("{} at {level}: {name}: {broken}", engine.info().name));
        }
    });
}

#[test]
fn a_level_says_what_must_be_the_same_at_the_end() {
    // What one transaction reads, what another one writes then, and at which levels both can commit, the second one
    // first.
    let cases: [(&str, Step, Step, [bool; 4]); 6] = [
        ("nothing in common", |txn, t| read(txn, t, 0), |txn, t| write(txn, t, 2, 9), [true; 4]),
        ("a row", |txn, t| read(txn, t, 0), |txn, t| write(txn, t, 0, 9), [true, false, true, false]),
        ("a row that goes", |txn, t| read(txn, t, 0), |txn, t| delete(txn, t, 0), [true, false, true, false]),
        ("an absent key", |txn, t| read(txn, t, 1), |txn, t| insert(txn, t, 1, 0), [true, true, true, false]),
        ("a range", |txn, t| scan(txn, t, 1, 4), |txn, t| insert(txn, t, 3, 0), [true, true, true, false]),
        ("beside a range", |txn, t| scan(txn, t, 1, 4), |txn, t| insert(txn, t, 5, 0), [true; 4]),
    ];
    for (at, level) in Isolation::ALL.into_iter().enumerate() {
        for (name, first, second, commits) in cases {
            for_each_table(|engine, table, of_table| {
                if of_table != level {
                    return;
                }
                let what = format!("{} at {level}: {name}", engine.info().name);
                let (mut one, mut two) = (engine.transaction(refusing()), engine.transaction(refusing()));
                one.begin(&Begin::at(level)).expect("beginning needs nothing");
                assert_eq!(first(&mut *one, table), Ok(Write::Done), "{what}");
                two.begin(&Begin::at(level)).expect("beginning needs nothing");
                assert_eq!(second(&mut *two, table), Ok(Write::Done), "{what}");
                // Either the second would have to wait for the first, and may not here, or the first finds out.
                let waits = writers_wait_for_readers(engine) && !commits[at];
                assert_eq!(two.commit(), if waits { Err(Abort::Cancelled) } else { Ok(()) }, "{what}");
                two.abort();
                // Who writes nothing has run at its beginning.
                let mut reader = engine.transaction(refusing());
                reader.begin(&Begin::at(level)).expect("beginning needs nothing");
                assert_eq!(first(&mut *reader, table), Ok(Write::Done), "{what}");
                assert_eq!(write(&mut *one, table, 6, 9), Ok(Write::Done), "{what}");
                let expected = if commits[at] || waits { Ok(()) } else { Err(Abort::Validation) };
                assert_eq!(one.commit(), expected, "{what}");
                one.abort();
                assert_eq!(reader.commit(), Ok(()), "{what}");
                engine.audit().unwrap_or_else(|broken| panic!("{what}: {broken}"));
            });
        }
    }
}

/// A read that is held must be the same at the transaction's end, at every level: a writer of the row waits, or the
/// reader finds the change.
#[test]
fn what_is_held_is_the_same_at_the_end() {
    let cases: [(&str, Step, Step, bool); 6] = [
        ("nothing in common", |txn, t| read(txn, t, 0), |txn, t| write(txn, t, 2, 9), true),
        ("a row", |txn, t| read(txn, t, 0), |txn, t| write(txn, t, 0, 9), false),
        ("a row that goes", |txn, t| read(txn, t, 0), |txn, t| delete(txn, t, 0), false),
        ("an absent key", |txn, t| read(txn, t, 1), |txn, t| insert(txn, t, 1, 0), false),
        ("a range", |txn, t| scan(txn, t, 1, 4), |txn, t| insert(txn, t, 3, 0), false),
        ("beside a range", |txn, t| scan(txn, t, 1, 4), |txn, t| insert(txn, t, 5, 0), true),
    ];
    let held: Step = |txn, t| txn.hold_row(t, &Shape::Indexed.key(0)).map(|_| Write::Done);
    let of_rows = [
        ("a row's presence", held, (|txn, t| delete(txn, t, 0)) as Step, false),
        ("the presence of another row", held, |txn, t| delete(txn, t, 2), true),
    ];
    for (name, first, second, commits) in cases.into_iter().chain(of_rows) {
        for undoes in [false, true] {
            for_each_table(|engine, table, level| {
                let what = format!("{} at {level}: {name}, undone {undoes}", engine.info().name);
                let (mut one, mut two) = (engine.transaction(refusing()), engine.transaction(refusing()));
                one.begin(&Begin::at(level)).expect("beginning needs nothing");
                one.hold_reads(true);
                assert_eq!(first(&mut *one, table), Ok(Write::Done), "{what}");
                one.hold_reads(false);
                if undoes {
                    let start = one.savepoint();
                    assert_eq!(write(&mut *one, table, 0, 3), Ok(Write::Done), "{what}");
                    one.rollback_to(start);
                }
                assert_eq!(write(&mut *one, table, 6, 9), Ok(Write::Done), "{what}");
                two.begin(&Begin::at(level)).expect("beginning needs nothing");
                assert_eq!(second(&mut *two, table), Ok(Write::Done), "{what}");
                let committed = two.commit();
                two.abort();
                let ended = one.commit();
                one.abort();
                match (commits, committed) {
                    (true, committed) => assert_eq!((committed, ended), (Ok(()), Ok(())), "{what}"),
                    // It would have to wait, and may not here.
                    (false, Err(abort)) => assert_eq!((abort, ended), (Abort::Cancelled, Ok(())), "{what}"),
                    (false, Ok(())) => assert_eq!(ended, Err(Abort::Validation), "{what}"),
                }
                engine.audit().unwrap_or_else(|broken| panic!("{what}: {broken}"));
            });
        }
    }
}

#[test]
fn a_read_time_is_that_of_the_call_or_of_the_beginning() {
    for_each_table(|engine, table, level| {
        let name = engine.info().name;
        let (mut reader, mut writer) = (engine.transaction(refusing()), engine.transaction(refusing()));
        reader.begin(&Begin::at(level)).expect("beginning needs nothing");
        let at_first = number(&mut *reader, table, 0);
        assert!(matches!(at_first, Ok(Some(_))), "{name}: {at_first:?}");
        reader.idle();
        for round in 1..200 {
            writer.begin(&Begin::at(level)).expect("beginning needs nothing");
            assert_eq!(write(&mut *writer, table, 0, round), Ok(Write::Done), "{name}");
            assert_eq!(number(&mut *writer, table, 0), Ok(Some(i64::from(round))), "{name}: what it wrote itself");
            if writers_wait_for_readers(engine) && matches!(level, Isolation::RepeatableRead | Isolation::Serializable)
            {
                assert_eq!(writer.commit(), Err(Abort::Cancelled), "{name} at {level}: it has to wait for the reader");
                writer.abort();
                assert_eq!(number(&mut *reader, table, 0), at_first, "{name} at {level}");
                assert_eq!(write(&mut *reader, table, 0, -1), Ok(Write::Done), "{name} at {level}");
                assert_eq!(reader.commit(), Ok(()), "{name} at {level}: it waits for nobody");
                return;
            }
            writer.commit().expect("nobody is in the way");
            let seen = if level == Isolation::ReadCommitted { Ok(Some(i64::from(round))) } else { at_first };
            assert_eq!(number(&mut *reader, table, 0), seen, "{name} at {level}");
            reader.idle();
        }
        let late = write(&mut *reader, table, 0, -1);
        let expected = if level == Isolation::ReadCommitted { Ok(Write::Done) } else { Err(Abort::WriteConflict) };
        assert_eq!(late, expected, "{name} at {level}: a row that others have changed");
        reader.abort();
    });
}
