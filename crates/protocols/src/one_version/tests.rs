//! Tests of key locks on real threads.

use super::OneVersion;
use super::key_lock::{KeyLock, RequestOutcome};
use super::queues::{LockName, Queues};
use crate::Instance;
use crate::shared::mode::Mode;
use crate::shared::parked::Parked;
use crate::shared::time_outs::TimeOuts;
use hotrow_storage::{
    Column, IndexId, IndexKind, IndexNumber, IndexRef, IndexSchema, Key, Row, RowMut, TableId, TableSchema, Type, Value,
};
use hotrow_sync::{Arc, Mutex, Scheduler, Time, Waiter};
use hotrow_txn::{Abort, Begin, Direction, Engine, Inspection, Isolation, Scan, Transaction, Write, Yielding};
use std::ops::ControlFlow;
use std::panic::{self, AssertUnwindSafe};
use std::time::Duration;

fn parked() -> Arc<Parked> {
    Arc::new(Parked::new(Waiter::thread(Duration::ZERO)))
}

fn name(number: u32) -> LockName {
    LockName { table: TableId(1), index: IndexNumber::HASH, number }
}

#[test]
fn a_lock_is_taken_beside_others_as_the_modes_say() {
    let (none, s, i, x) = (Mode::NONE, Mode::SHARED, Mode::INSERT, Mode::EXCLUSIVE);
    // What another one holds, what is held, what is wanted, and whether it is granted.
    let cases = [
        (none, none, x, true),
        (none, s, x, true),
        (none, s, s | i, true),
        (s, none, s, true),
        (s, none, i, false),
        (s, none, x, false),
        (s, s, x, false),
        (s, s, s | i, false),
        (i, none, i, true),
        (i, none, s, false),
        (i, i, s | i, false),
        (s | i, none, s, false),
        (s | i, none, i, false),
        (x, none, s, false),
        (x, none, i, false),
    ];
    for (other, held, wanted, granted) in cases {
        let (lock, queues) = (&KeyLock::default(), Queues::new());
        assert!(other == none || lock.take_free(other));
        assert!(held == none || lock.take_beside(none, held), "{other:?} beside {held:?}");
        assert_eq!(lock.take_beside(held, wanted), granted, "{other:?} beside {held:?}, then {wanted:?}");
        for held in [other, if granted { wanted } else { held }] {
            if held != none {
                queues.release(lock, name(7), held);
            }
        }
        assert!(lock.take_free(x), "{other:?} beside {held:?}, then {wanted:?}: something was left");
    }
}

#[test]
fn a_full_count_keeps_others_waiting_and_loses_nothing() {
    for mode in [Mode::SHARED, Mode::INSERT] {
        let (lock, queues) = (&KeyLock::default(), Queues::new());
        let mut holders = 0;
        while lock.take_beside(Mode::NONE, mode) {
            holders += 1;
        }
        assert_eq!(holders, (1 << 15) - 1);
        let late = parked();
        assert_eq!(queues.ask(lock, name(0), (Mode::NONE, mode), &late), RequestOutcome::Queued, "there is no room");
        queues.release(lock, name(0), mode);
        assert!(late.is_granted(), "one has left, so one may come");
        (0..holders).for_each(|_| queues.release(lock, name(0), mode));
        assert!(lock.take_free(Mode::EXCLUSIVE));
    }
}

#[test]
fn requests_are_granted_in_turn_and_upgrades_first() {
    let (lock, queues) = (&KeyLock::default(), Queues::new());
    let (reader, writer, late, upgrade) = (parked(), parked(), parked(), parked());
    assert!(lock.take_free(Mode::SHARED) && lock.take_beside(Mode::NONE, Mode::SHARED));
    assert_eq!(queues.ask(lock, name(9), (Mode::NONE, Mode::EXCLUSIVE), &writer), RequestOutcome::Queued);
    assert_eq!(
        queues.ask(lock, name(9), (Mode::NONE, Mode::SHARED), &late),
        RequestOutcome::Queued,
        "a writer waits before it"
    );
    assert_eq!(queues.ask(lock, name(9), (Mode::SHARED, Mode::EXCLUSIVE), &upgrade), RequestOutcome::Queued);
    assert!(!queues.has_moved(name(9), &writer));
    // Another table's lock, in the same queue.
    let (other, stranger) = (&KeyLock::default(), parked());
    assert!(other.take_free(Mode::EXCLUSIVE));
    assert_eq!(queues.ask(other, name(9 + 256), (Mode::NONE, Mode::SHARED), &stranger), RequestOutcome::Queued);

    queues.release(lock, name(9), Mode::SHARED);
    assert!(upgrade.is_granted() && !writer.is_granted() && !late.is_granted());
    assert!(queues.has_moved(name(9), &writer) && !queues.has_moved(name(9), &writer), "said once");
    queues.release(lock, name(9), Mode::EXCLUSIVE);
    assert!(writer.is_granted() && !late.is_granted());
    assert!(queues.withdraw(lock, name(9), &late), "it gives up");
    assert!(!queues.withdraw(lock, name(9), &reader), "it never asked");
    queues.release(lock, name(9), Mode::EXCLUSIVE);
    assert!(lock.take_free(Mode::EXCLUSIVE));
    assert!(!stranger.is_granted());
    assert_eq!(queues.waiting(), 1);
}

#[test]
fn who_gives_up_lets_those_behind_it_go_on() {
    let (lock, queues) = (&KeyLock::default(), Queues::new());
    let (writer, reader, last) = (parked(), parked(), parked());
    assert!(lock.take_free(Mode::SHARED));
    assert_eq!(queues.ask(lock, name(3), (Mode::NONE, Mode::EXCLUSIVE), &writer), RequestOutcome::Queued);
    assert_eq!(queues.ask(lock, name(3), (Mode::NONE, Mode::SHARED), &reader), RequestOutcome::Queued);
    assert_eq!(queues.ask(lock, name(3), (Mode::NONE, Mode::EXCLUSIVE), &last), RequestOutcome::Queued);
    assert!(queues.withdraw(lock, name(3), &writer));
    assert!(reader.is_granted() && !last.is_granted());
    assert!(queues.withdraw(lock, name(3), &last));
    assert!(lock.take_beside(Mode::NONE, Mode::SHARED), "nobody waits any more");
}

type Database = Arc<Instance<OneVersion>>;

/// Makes a database with a table of so many rows.
fn table_of(rows: i64) -> (Database, TableId) {
    table_under(TimeOuts::default(), rows)
}

fn table_under(time_outs: TimeOuts, rows: i64) -> (Database, TableId) {
    let database = Instance::<OneVersion>::new(time_outs);
    let columns = vec![Column::new("id", Type::Int8), Column::new("value", Type::Int8)];
    let table = database.create_table(TableSchema::new("t", columns, &[0]));
    for id in 0..rows {
        let row = Row::from_values(&database.layout(table), &[Value::Int8(id), Value::Int8(0)]);
        database.load(table, row.as_ref()).expect("the key is new");
    }
    (database, table)
}

/// Makes a transaction that aborts rather than wait.
fn refusing(database: &Database, isolation: Isolation) -> super::OneVersionTransaction {
    let waiter = Waiter::thread(Duration::ZERO);
    waiter.cancel();
    begun(database, isolation, waiter)
}

fn begun(database: &Database, isolation: Isolation, waiter: Waiter) -> super::OneVersionTransaction {
    let mut txn = database.transaction(&mut (), waiter);
    txn.begin(&Begin::at(isolation)).expect("it begins");
    txn
}

/// Returns the locks of the table's hash index that are held.
fn held(database: &Database, table: TableId) -> String {
    let mut participant = database.database().participant();
    participant.enter();
    let table = database.database().table(participant.guard(), table).expect("the table is there");
    format!("{:?}", table.index_data(IndexNumber::HASH))
}

#[test]
fn a_transaction_of_many_rows_holds_each_to_its_end_and_leaves_nothing() {
    const ROWS: i64 = 3000;
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable] {
        let (database, table) = table_of(ROWS);
        let mut txn = refusing(&database, isolation);
        for id in 0..ROWS {
            let change = &mut |row: &mut RowMut<'_>| {
                row.set(1, &Value::Int8(id));
                Ok(())
            };
            assert!(txn.read(table, &Key::Int(id)).expect("nobody else is there").is_some());
            assert_eq!(txn.update(table, &Key::Int(id), change), Ok(Write::Done));
            // Read again, and something else: what is read for now is given back beside what is held.
            assert!(txn.read(table, &Key::Int(id / 2)).expect("nobody else is there").is_some());
            assert!(txn.read(table, &Key::Int(-id - 1)).expect("nobody else is there").is_none());
        }
        let mut other = refusing(&database, isolation);
        for id in 0..ROWS {
            assert_eq!(other.read(table, &Key::Int(id)).err(), Some(Abort::Cancelled), "row {id}");
        }
        assert_eq!(database.audit(), Ok(()));
        txn.commit().expect("nobody is in its way");
        assert!(other.read(table, &Key::Int(ROWS - 1)).expect("it is free").is_some());
        drop((txn, other));
        assert_eq!(held(&database, table), "KeyLocks { used: 0 }");
    }
}

/// Counts the rows that another transaction cannot write.
fn locked_rows(database: &Database, table: TableId, rows: std::ops::Range<i64>) -> usize {
    let is_locked = |id: &i64| {
        let mut other = refusing(database, Isolation::ReadCommitted);
        other.read_for_update(table, &Key::Int(*id)).is_err()
    };
    rows.filter(is_locked).count()
}

#[test]
fn who_holds_many_locks_has_them_split_and_shares_few_then() {
    const ROWS: i64 = 200_000;
    const READ: i64 = ROWS / 10;
    let (database, table) = table_of(ROWS);
    let read = |reader: &mut super::OneVersionTransaction| {
        for id in 0..READ {
            reader.read(table, &Key::Int(id)).expect("nobody else is there");
        }
    };
    // The first long reader has shared locks until they were split; those after it find them split.
    for (turn, most) in [(1, READ / 5), (2, READ / 10)] {
        let mut reader = refusing(&database, Isolation::Serializable);
        read(&mut reader);
        assert_eq!(locked_rows(&database, table, 0..READ), READ as usize, "reader {turn}");
        let shared = locked_rows(&database, table, ROWS - READ..ROWS);
        assert!(shared > 0 && shared < most as usize, "reader {turn} keeps {shared} rows that it has not read");
        assert_eq!(database.audit(), Ok(()));
        reader.commit().expect("nobody is in its way");
        assert_eq!(held(&database, table), "KeyLocks { used: 0 }");
    }
}

#[test]
fn a_lock_that_is_held_while_it_is_to_be_split_keeps_others_out() {
    const ROWS: i64 = 70_000;
    let (database, table) = table_of(ROWS);
    let mut writer = begun(&database, Isolation::Serializable, Waiter::thread(Duration::ZERO));
    writer.read_for_update(table, &Key::Int(7)).expect("nobody else is there");
    for _ in 0..2 {
        let mut reader = refusing(&database, Isolation::Serializable);
        let read = (100..3000).filter(|&id| reader.read(table, &Key::Int(id)).is_ok()).count();
        assert!(read > 2800, "{read} rows that do not share the writer's lock");
        assert_eq!(locked_rows(&database, table, 7..8), 1, "another reader's locks were split");
        // Again, and in another mode: the lock is the same.
        writer.read_for_update(table, &Key::Int(7)).expect("it is held");
        assert_eq!(database.audit(), Ok(()));
    }
    writer.commit().expect("nobody is in its way");
    assert_eq!(locked_rows(&database, table, 0..100), 0);
    assert_eq!(held(&database, table), "KeyLocks { used: 0 }");
}

#[test]
fn a_read_keeps_its_row_to_the_next_call_or_to_the_end() {
    let change = &mut |_: &mut RowMut<'_>| Ok(());
    for (isolation, after_next_call) in [
        (Isolation::ReadCommitted, Ok(Write::Done)),
        (Isolation::RepeatableRead, Err(Abort::Cancelled)),
        (Isolation::Serializable, Err(Abort::Cancelled)),
    ] {
        let (database, table) = table_of(2);
        let mut reader = refusing(&database, isolation);
        let mut writer = refusing(&database, isolation);
        reader.read(table, &Key::Int(0)).expect("nobody else is there");
        assert_eq!(writer.update(table, &Key::Int(0), change), Err(Abort::Cancelled), "the cursor is on the row");
        writer.abort();
        reader.idle();
        let mut writer = refusing(&database, isolation);
        assert_eq!(writer.update(table, &Key::Int(0), change), after_next_call, "{isolation}");
    }
}

/// A row that would move to where a scan has been waits until the scan has ended: it is not missed. New rows may come
/// then.
#[test]
fn no_row_moves_behind_a_scan_at_repeatable_read() {
    const NUMBER: IndexRef = IndexRef::Secondary(IndexId(0));
    for (moved, to, direction) in [(2, -1, Direction::Forward), (0, 9, Direction::Backward)] {
        let database = Instance::<OneVersion>::new(TimeOuts::default());
        let columns = vec![Column::new("id", Type::Int8), Column::new("number", Type::Int8)];
        let mut schema = TableSchema::new("t", columns, &[0]);
        let index = IndexSchema { name: "number".into(), columns: vec![1], kind: IndexKind::Ordered, unique: false };
        schema.indexes = vec![index];
        let table = database.create_table(schema);
        let layout = database.layout(table);
        let row = |id, number| Row::from_values(&layout, &[Value::Int8(id), Value::Int8(number)]);
        (0..3).for_each(|id| database.load(table, row(id, id).as_ref()).expect("the key is new"));
        let move_row = || {
            let mut other = refusing(&database, Isolation::ReadCommitted);
            let written = other.update(table, &Key::Int(moved), &mut |row| {
                row.set(1, &Value::Int8(to));
                Ok(())
            });
            written.and_then(|written| other.commit().map(|()| written))
        };
        let mut reader = refusing(&database, Isolation::RepeatableRead);
        let scan = Scan { direction, ..Scan::all(table, NUMBER) };
        let mut seen = 0;
        let scanned = reader.scan(&scan, &mut |_| {
            if seen == 0 {
                assert_eq!(move_row(), Err(Abort::Cancelled), "it waits for the scan");
            }
            seen += 1;
            ControlFlow::Continue(())
        });
        assert_eq!((scanned, seen), (Ok(()), 3), "{direction:?}");

        assert_eq!(move_row(), Err(Abort::Cancelled), "the row was read");
        let mut other = refusing(&database, Isolation::Serializable);
        assert_eq!(other.insert(table, row(7, 1).as_ref()), Ok(Write::Done), "gaps are free after the scan");
        other.commit().expect("nobody is in its way");
        let mut count = 0;
        let counted = reader.scan(&scan, &mut |_| {
            count += 1;
            ControlFlow::Continue(())
        });
        assert_eq!((counted, count), (Ok(()), 4), "a phantom");
        reader.commit().expect("nobody is in its way");
        assert_eq!(database.audit(), Ok(()));
        assert_eq!(database.locks().map(|locks| locks.held), Some(0));
    }
}

/// A scheduler under which time passes when a thread waits, and then something happens.
struct Scripted {
    now: Mutex<Time>,
    happens: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
}

impl Scheduler for Scripted {
    fn now(&self) -> Time {
        *self.now.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    fn suspend(&self, deadline: Option<Time>) {
        if let Some(deadline) = deadline {
            *self.now.lock().expect("not poisoned") = deadline;
        }
        let next = self.happens.lock().expect("not poisoned").pop().expect("there is more to happen");
        next();
    }

    fn resume(&self) {}
}

/// Makes a waiter during whose waits these closures are called, one each time that its patience ends.
fn scripted(mut happens: Vec<Box<dyn FnOnce() + Send>>) -> Waiter {
    happens.reverse();
    Waiter::new(Arc::new(Scripted { now: Mutex::default(), happens: Mutex::new(happens) }))
}

#[test]
fn who_waits_is_patient_while_somebody_leaves() {
    let (database, table) = table_under(TimeOuts { end_deadlocks: true, ..TimeOuts::default() }, 1);
    let readers = [(); 2].map(|()| {
        let mut reader = begun(&database, Isolation::Serializable, Waiter::thread(Duration::ZERO));
        reader.read(table, &Key::Int(0)).expect("readers share");
        reader
    });
    let [first, last] = readers;
    let waiter = scripted(vec![Box::new(|| drop(first)), Box::new(|| {})]);
    let mut writer = begun(&database, Isolation::Serializable, waiter.clone());
    assert_eq!(writer.read_for_update(table, &Key::Int(0)).err(), Some(Abort::Timeout), "one has stayed");
    let patience = TimeOuts::default().patience;
    assert_eq!(waiter.now(), Time::default().after(patience).after(patience));
    assert_eq!((database.protocol().waiting(), database.audit()), (0, Ok(())));
    drop((last, writer));
    assert_eq!(held(&database, table), "KeyLocks { used: 0 }");
}

#[test]
fn a_wait_that_unwinds_leaves_nothing() {
    for granted in [false, true] {
        let (database, table) = table_of(1);
        let mut holder = begun(&database, Isolation::Serializable, Waiter::thread(Duration::ZERO));
        holder.read_for_update(table, &Key::Int(0)).expect("nobody else is there");
        let holder = Arc::new(Mutex::new(holder));
        let held_by = holder.clone();
        let unwinds = move || {
            if granted {
                held_by.lock().expect("not poisoned").abort();
            }
            panic::resume_unwind(Box::new("the scheduler gives up"));
        };
        let mut waiting = begun(&database, Isolation::Serializable, scripted(vec![Box::new(unwinds)]));
        let unwound = panic::catch_unwind(AssertUnwindSafe(|| waiting.read(table, &Key::Int(0)).map(drop)));
        assert!(unwound.is_err(), "{granted}");
        assert_eq!((database.protocol().waiting(), database.audit()), (0, Ok(())));
        drop(waiting);
        holder.lock().expect("not poisoned").abort();
        assert_eq!(held(&database, table), "KeyLocks { used: 0 }", "{granted}");
    }
}
