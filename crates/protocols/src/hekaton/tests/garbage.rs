//! Tests of the versions that remain while a transaction is in the middle of a scan.

use super::{Fixture, fixture, levels_and_ways};
use hotrow_storage::{Column, IndexRef, TableSchema, Type};
use hotrow_txn::{Begin, Engine, Inspection, Isolation, LockFor, Scan, Transaction, Write};
use std::ops::ControlFlow;

const ROWS: i64 = 100;
const HOT: i64 = 10;
const UPDATES: i64 = 1000;

/// The number of versions that the sweeper may leave, since it looks only every 16 transactions.
const SLACK: usize = 100;

/// Updates the hot rows, which are the last ones, each in a transaction of its own.
fn update_hot(case: &Fixture, writer: &mut dyn Transaction, times: i64) {
    for number in 1..=times {
        for id in ROWS - HOT..ROWS {
            writer.begin(&Begin::at(Isolation::ReadCommitted)).expect("beginning needs nothing");
            assert_eq!(case.write(writer, id, number), Ok(Write::Done));
            assert_eq!(writer.commit(), Ok(()));
        }
    }
}

/// Makes another table with as many rows.
fn beside(case: &Fixture) -> Fixture {
    let columns =
        vec![Column::new("id", Type::Int8), Column::new("number", Type::Int8), Column::nullable("name", Type::Int8)];
    let table = case.engine.create_table(TableSchema { ordered: true, ..TableSchema::new("beside", columns, &[0]) });
    for id in 0..ROWS {
        case.engine.load(table, super::row(&case.engine, table, id, 0, None).as_ref()).expect("the keys differ");
    }
    Fixture { engine: case.engine.clone(), table }
}

#[test]
fn a_scan_keeps_one_version_of_a_row_in_all_tables() {
    for (level, way) in levels_and_ways() {
        for lock in [LockFor::Read, LockFor::Update] {
            let what = format!("{level}, {way}, {lock:?}");
            let case = fixture(ROWS);
            let other = beside(&case);
            let (mut reader, mut writer) = (case.begin_as(level, way), case.transaction());
            let mut seen = 0;
            let scan = Scan { lock, ..Scan::all(case.table, IndexRef::Primary) };
            let scanned = reader.scan(&scan, &mut |row| {
                assert_eq!(row.value(0).as_int(), Some(seen), "{what}");
                seen += 1;
                // Twice: the time of a walk that has met a change is another one.
                if seen == ROWS / 2 || seen == ROWS - HOT + 1 && lock == LockFor::Read {
                    if seen == ROWS / 2 {
                        update_hot(&case, &mut *writer, UPDATES);
                    }
                    update_hot(&other, &mut *writer, UPDATES);
                    for (name, table) in [("its table", &case), ("another table", &other)] {
                        let most = (ROWS + 2 * HOT) as usize + SLACK;
                        assert!(table.versions() <= most, "{what}: {} versions in {name}", table.versions());
                    }
                }
                ControlFlow::Continue(())
            });
            let is_late = lock.is_update() && level != Isolation::ReadCommitted && scanned.is_err();
            assert!(scanned.is_ok() && seen == ROWS || is_late, "{what}: {scanned:?}, {seen} rows");
            reader.abort();
            case.engine.audit().unwrap_or_else(|broken| panic!("{what}: {broken}"));
        }
    }
}

/// Returns the bytes of versions that a table has taken from the system.
fn version_bytes(case: &Fixture) -> usize {
    let database = case.engine.database();
    let mut participant = database.participant();
    participant.enter();
    let bytes = database.table(participant.guard(), case.table).expect("it was made").version_bytes();
    participant.leave();
    bytes
}

/// Memory that is unlinked during a scan is used again before the scan ends, though the scan is one call.
#[test]
fn a_long_scan_gives_back_memory_on_its_way() {
    const LONG: i64 = 3000;
    for (level, way) in levels_and_ways() {
        let what = format!("{level}, {way}");
        let case = fixture(LONG);
        let other = beside(&case);
        let (mut reader, mut writer) = (case.begin_as(level, way), case.transaction());
        // What there is when as many updates were made as between two parts of the scan, with nobody there.
        update_hot(&other, &mut *writer, 300);
        let before = version_bytes(&other);
        let mut seen = 0;
        let scanned = reader.scan(&Scan::all(case.table, IndexRef::Primary), &mut |_| {
            seen += 1;
            update_hot(&other, &mut *writer, 1);
            ControlFlow::Continue(())
        });
        assert_eq!((scanned, seen), (Ok(()), LONG), "{what}");
        let grown = version_bytes(&other).saturating_sub(before);
        let updates = (LONG * HOT) as usize;
        assert!(grown < updates * size_of::<[u64; 2]>(), "{what}: {grown} bytes more for {updates} updates");
        reader.abort();
    }
}
