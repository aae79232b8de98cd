//! Threads that link, find and unlink records of one key, as those do who count on absent rows.
#![cfg(not(any(loom, shuttle)))]

use hotrow_storage::{Column, Database, Garbage, Guard, Key, RecordHeader, RecordRef, Row, Table, TableSchema, Type};
use hotrow_sync::atomic::{AtomicUsize, Ordering};
use hotrow_sync::thread;
use std::ops::Bound;

/// How many count on a record; [`DEAD`] once it is being unlinked.
#[derive(Default)]
struct Count(AtomicUsize);

impl RecordHeader for Count {}

const DEAD: usize = usize::MAX;

const KEY: Key = Key::Int(7);

/// Counts on the key's record, which is made if there is none. The last who counts on it unlinks it, and returns it.
fn count_on(table: &Table<Count>, guard: Guard<'_>) -> Option<Garbage> {
    let hash = KEY.hash64();
    let record = loop {
        let found = table.find(guard, &KEY, hash).unwrap_or_else(|| {
            let made = table.create(guard, &KEY, Row::new(table.layout()).as_ref());
            match table.link(guard, &KEY, hash, made) {
                Ok(()) => made,
                Err(other) => {
                    drop(table.garbage(made));
                    other
                }
            }
        });
        // A dead one cannot be counted on.
        let one_more = |count: usize| count.checked_add(1);
        if found.header().0.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).is_ok() {
            break found;
        }
        thread::yield_now();
    };
    let is_it = |other: Option<RecordRef<'_, Count>>| other.is_some_and(|other| other.ptr() == record.ptr());
    assert!(is_it(table.next(guard, Bound::Included(&KEY))), "it is in the ordered index");
    assert!(is_it(table.find(guard, &KEY, hash)), "it is in the hash index");
    let one_less = |count| Some(if count == 1 { DEAD } else { count - 1 });
    let last = record.header().0.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less) == Ok(1);
    last.then(|| {
        table.unlink(guard, record);
        table.garbage(record)
    })
}

#[test]
fn who_finds_a_record_by_its_key_finds_it_in_both_indexes() {
    let database = Database::<Count>::new();
    let columns = vec![Column::new("id", Type::Int8)];
    let id = database.create_table(TableSchema::new("t", columns, &[0]));
    let work = || {
        let mut participant = database.participant();
        for _ in 0..200_000 {
            participant.enter();
            let table = database.table(participant.guard(), id).expect("it is not dropped");
            if let Some(garbage) = count_on(table, participant.guard()) {
                participant.retire(garbage);
            }
            participant.leave();
        }
    };
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(work);
        }
    });
    let mut participant = database.participant();
    participant.enter();
    assert!(database.table(participant.guard(), id).is_some_and(Table::is_empty));
    participant.leave();
}
