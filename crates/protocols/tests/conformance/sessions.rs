//! Two sessions: waits of one for the other, and the ends of these waits.

use crate::observed::Observed;
use crate::tables::{Shape, row, values_of};
use crate::{first_writer_wins, for_each_engine, refusing, retries_requests, writers_wait_for_readers};
use hotrow_storage::{TableId, Value};
use hotrow_sync::{Arc, Time, Waiter, mpsc, thread};
use hotrow_txn::{Abort, Begin, Engine, Isolation, LockStatistics, Transaction, Write};
use std::time::Duration;

/// Two transactions of one engine, of which the second waits for the first.
struct Blocked {
    engine: Arc<dyn Engine>,
    table: TableId,
    /// Wrote the row, or read it where there are versions, and runs.
    holder: Box<dyn Transaction>,
    scheduler: Arc<Observed>,
    waiter: Waiter,
    deadline: Option<Time>,
    /// The row's number after the holder has committed.
    held: i64,
    /// The outcome of the waiting thread's update, once it ends.
    outcome: mpsc::Receiver<Result<Write, Abort>>,
}

const KEY: u8 = 1;

/// The longest time that a waiting transaction waits.
const LONGEST_WAIT: Duration = Duration::from_secs(7);

fn update(txn: &mut dyn Transaction, table: TableId, number: i32) -> Result<Write, Abort> {
    txn.update(table, &Shape::Hashed.key(KEY), &mut |row| {
        row.set(2, &Value::Int4(number));
        Ok(())
    })
}

/// Runs `check` with every engine whose transactions wait, while a thread waits to update a row that another
/// transaction has updated. Under an engine with versions the thread has updated a row that the other transaction has
/// read, and waits before its end.
fn while_one_waits(check: impl Fn(Blocked)) {
    for_each_engine(|engine| {
        let waits = !first_writer_wins(engine) || writers_wait_for_readers(engine);
        if engine.info().isolates && waits && !retries_requests(engine) {
            let (engine, table) = (engine.clone(), engine.create_table(Shape::Hashed.schema()));
            let values = Shape::Hashed.values(KEY, 1, 1);
            engine.load(table, row(&engine.layout(table), &values).as_ref()).expect("an empty table");
            thread::scope(|scope| block(&engine, table, scope, &check));
            assert_eq!(engine.locks().unwrap_or_default(), LockStatistics::default(), "{}", engine.info().name);
        }
    });
}

/// The waiter begins before the holder, since a policy may let only the older wait; unless beginning is what waits.
fn block<'scope>(
    engine: &Arc<dyn Engine>,
    table: TableId,
    scope: &'scope thread::Scope<'scope, '_>,
    check: &impl Fn(Blocked),
) {
    let (scheduler, waits) = Observed::new(Time(1_000));
    let waiter = Waiter::new(scheduler.clone());
    let mut second = engine.transaction(waiter.clone());
    let later = Waiter::new(Observed::new(Time(2_000)).0);
    later.cancel();
    let mut holder = engine.transaction(later);
    second.begin(&Begin::default()).expect("nobody else is there");
    let mut has_begun = true;
    if holder.begin(&Begin::default()).is_err() {
        holder.abort();
        second.abort();
        has_begun = false;
        holder.begin(&Begin::default()).expect("nobody else is there");
    }
    // Set after its beginning, where it has begun.
    waiter.set_lock_timeout(Some(LONGEST_WAIT));
    let held = if writers_wait_for_readers(engine) {
        holder.read(table, &Shape::Hashed.key(KEY)).expect("nobody else is there");
        0
    } else {
        assert_eq!(update(&mut *holder, table, 10), Ok(Write::Done));
        10
    };
    let (sender, outcome) = mpsc::channel();
    scope.spawn(move || {
        let begun = if has_begun { Ok(()) } else { second.begin(&Begin::default()) };
        let updated = begun.and_then(|()| update(&mut *second, table, 20));
        let ended = updated.and_then(|write| second.commit().map(|()| write));
        second.abort();
        // The check may have seen enough.
        let _ = sender.send(ended);
    });
    let deadline = waits.recv().expect("the second waits");
    check(Blocked { engine: engine.clone(), table, holder, scheduler, waiter, deadline, held, outcome });
}

impl Blocked {
    fn outcome(&self) -> Result<Write, Abort> {
        self.outcome.recv().expect("the waiting thread ends")
    }

    /// Returns the row's number. No transaction may hold the row.
    fn number(&self) -> i64 {
        let mut txn = self.engine.transaction(refusing());
        txn.begin(&Begin::default()).expect("nobody is in the way");
        let found = txn.read_for_update(self.table, &Shape::Hashed.key(KEY)).expect("nobody is in the way");
        found.and_then(|row| row.value(2).as_int()).expect("the row is there")
    }

    fn name(&self) -> &'static str {
        self.engine.info().name
    }
}

#[test]
fn a_writer_waits_for_a_writer_to_commit() {
    while_one_waits(|mut blocked| {
        blocked.holder.commit().expect("it holds all that it needs");
        assert_eq!((blocked.outcome(), blocked.number()), (Ok(Write::Done), 20), "{}", blocked.name());
    });
}

#[test]
fn locks_are_counted_while_they_are_held_and_waited_for() {
    while_one_waits(|mut blocked| {
        if let Some(LockStatistics { held, waiting }) = blocked.engine.locks() {
            assert!(held >= 1 && waiting == 1, "{}: {held} held, {waiting} waiting", blocked.name());
        }
        blocked.holder.commit().expect("it holds all that it needs");
        assert_eq!(blocked.outcome(), Ok(Write::Done), "{}", blocked.name());
    });
    for_each_engine(|engine| {
        let names = [
            "2pl-waitdie",
            "2pl-waitfor",
            "2pl-dreadlocks",
            "2pl-timeout",
            "lock-table",
            "hier",
            "sli",
            "1v",
            "ilock",
            "row-nowait",
        ];
        let name = engine.info().name;
        assert_eq!(engine.locks().is_some(), names.contains(&name), "{name}");
        let table = engine.create_table(Shape::Indexed.schema());
        let mut txn = engine.transaction(refusing());
        txn.begin(&Begin::default()).expect("nobody else is there");
        insert(&mut *txn, table, 1, 1).expect("nobody is in the way");
        read(&mut *txn, table, 2).expect("nobody is in the way");
        // The row, which may have its name locked beside its record, the key that is not there, four gaps and two
        // unique names.
        // In a hierarchy the database, the table and the page come on top.
        let above = if ["hier", "sli"].contains(&name) { 3 } else { 0 };
        if let Some(LockStatistics { held, .. }) = engine.locks() {
            assert!((5 + above..=9 + above).contains(&held), "{name}: {held}");
        }
        txn.commit().expect("it holds all that it needs");
        assert_eq!(engine.locks().unwrap_or_default(), LockStatistics::default(), "{name}");
    });
}

#[test]
fn a_writer_waits_for_a_writer_to_abort_or_vanish() {
    while_one_waits(|mut blocked| {
        blocked.holder.abort();
        assert_eq!((blocked.outcome(), blocked.number()), (Ok(Write::Done), 20), "{}", blocked.name());
    });
    while_one_waits(|mut blocked| {
        blocked.holder = blocked.engine.transaction(refusing());
        assert_eq!((blocked.outcome(), blocked.number()), (Ok(Write::Done), 20), "{}", blocked.name());
    });
}

#[test]
fn a_cancelled_wait_ends_and_leaves_nothing_behind() {
    while_one_waits(|mut blocked| {
        blocked.waiter.cancel();
        assert_eq!(blocked.outcome(), Err(Abort::Cancelled), "{}", blocked.name());
        blocked.holder.commit().expect("it holds all that it needs");
        assert_eq!(blocked.number(), blocked.held, "{}", blocked.name());
    });
}

#[test]
fn a_wait_ends_at_its_deadline_and_leaves_nothing_behind() {
    while_one_waits(|mut blocked| {
        let deadline = Time(1_000).after(LONGEST_WAIT);
        assert_eq!(blocked.deadline, Some(deadline), "{}: the limit was set before the wait began", blocked.name());
        blocked.scheduler.move_to(deadline);
        assert_eq!(blocked.outcome(), Err(Abort::Timeout), "{}", blocked.name());
        blocked.holder.commit().expect("it holds all that it needs");
        assert_eq!(blocked.number(), blocked.held, "{}", blocked.name());
    });
}

#[test]
fn a_wake_for_no_reason_changes_nothing() {
    while_one_waits(|mut blocked| {
        blocked.waiter.wake();
        blocked.scheduler.move_to(Time(1_001));
        assert!(blocked.outcome.try_recv().is_err(), "{}", blocked.name());
        blocked.holder.commit().expect("it holds all that it needs");
        assert_eq!((blocked.outcome(), blocked.number()), (Ok(Write::Done), 20), "{}", blocked.name());
    });
}

/// A request of a transaction.
type Request = fn(&mut dyn Transaction, TableId) -> Result<(), Abort>;

/// Requests that meet a transaction that has updated row 0 and taken the third name.
const REQUESTS: [Request; 4] = [
    |txn, table| write(txn, table, 4, 9).and_then(|()| read(txn, table, 0)),
    |txn, table| write(txn, table, 4, 9).and_then(|()| write(txn, table, 0, 9)),
    |txn, table| write(txn, table, 4, 9).and_then(|()| insert(txn, table, 5, 3)),
    |txn, table| scan(txn, table, 0, 4),
];

/// If an engine has no waits, a transaction that meets another one keeps its earlier work, and tries the refused
/// request again.
#[test]
fn who_is_refused_goes_on_from_a_savepoint() {
    for_each_engine(|engine| {
        if !retries_requests(engine) {
            return;
        }
        let name = engine.info().name;
        let table = engine.create_table(Shape::Indexed.schema());
        for key in [0, 2, 4] {
            let values = Shape::Indexed.values(key, key, 0);
            engine.load(table, row(&engine.layout(table), &values).as_ref()).expect("the keys differ");
        }
        for (level, commits) in [(Isolation::ReadCommitted, true), (Isolation::Serializable, false)] {
            let [mut first, mut second] = [(); 2].map(|()| engine.transaction(refusing()));
            first.begin(&Begin::at(level)).expect("nobody else is there");
            write(&mut *first, table, 0, 7).expect("nobody is in the way");
            insert(&mut *first, table, 1, 3).expect("nobody is in the way");
            second.begin(&Begin::at(level)).expect("beginning needs nothing");
            write(&mut *second, table, 2, 8).expect("nobody is in the way");
            let start = second.savepoint();
            for request in REQUESTS {
                assert_eq!(request(&mut *second, table), Err(Abort::Conflict), "{name} at {level}");
                second.rollback_to(start);
            }
            if commits {
                first.commit().expect("it holds all that it needs")
            } else {
                first.abort()
            }
            write(&mut *second, table, 0, 9).expect("nobody is in the way any more");
            second.commit().expect("it holds all that it needs");
            let mut after = engine.transaction(refusing());
            after.begin(&Begin::default()).expect("nobody is in the way");
            let mut number = |key| {
                let found = after.read(table, &Shape::Indexed.key(key)).expect("nobody is in the way");
                found.and_then(|row| row.value(2).as_int())
            };
            assert_eq!([0, 2].map(&mut number), [Some(9), Some(8)], "{name} at {level}: what it has done");
            assert_ne!(number(4), Some(9), "{name} at {level}: what was undone");
            let there = [1, 4, 5].map(|key| number(key).is_some());
            assert_eq!(there, [commits, true, false], "{name} at {level}");
            after.abort();
            let mut restoring = engine.transaction(refusing());
            restoring.begin(&Begin::default()).expect("nobody is in the way");
            restoring.delete(table, &Shape::Indexed.key(1)).expect("nobody is in the way");
            restoring.commit().expect("it holds all that it needs");
        }
    });
}

/// A step of a first transaction, and a step of a second one beside it; and whether the second may take it without
/// waiting.
struct Beside {
    name: &'static str,
    first: fn(&mut dyn Transaction, TableId) -> Result<(), Abort>,
    second: fn(&mut dyn Transaction, TableId) -> Result<(), Abort>,
    /// Whether the second step succeeds at read committed, and at serializable.
    may: [bool; 2],
}

fn read(txn: &mut dyn Transaction, table: TableId, key: u8) -> Result<(), Abort> {
    txn.read(table, &Shape::Indexed.key(key)).map(drop)
}

fn write(txn: &mut dyn Transaction, table: TableId, key: u8, number: i32) -> Result<(), Abort> {
    let change = &mut |row: &mut hotrow_storage::RowMut<'_>| {
        row.set(2, &Value::Int4(number));
        Ok(())
    };
    txn.update(table, &Shape::Indexed.key(key), change).map(drop)
}

fn insert(txn: &mut dyn Transaction, table: TableId, key: u8, text: u8) -> Result<(), Abort> {
    let layout = std::sync::Arc::new(hotrow_storage::RowLayout::new(&Shape::Indexed.schema().columns));
    txn.insert(table, row(&layout, &Shape::Indexed.values(key, key, text)).as_ref()).map(drop)
}

/// Rows with keys from `lower` to `upper`.
fn scan(txn: &mut dyn Transaction, table: TableId, lower: u8, upper: u8) -> Result<(), Abort> {
    use hotrow_txn::Scan;
    let bound = |key| std::ops::Bound::Included(Shape::Indexed.key(key));
    let all = Scan::all(table, hotrow_storage::IndexRef::Primary);
    txn.scan(&Scan { lower: bound(lower), upper: bound(upper), ..all }, &mut |row| {
        values_of(row);
        std::ops::ControlFlow::Continue(())
    })
}

/// Rows 0, 2, 4 and 6 are there; names are unique.
const BESIDE: &[Beside] = &[
    Beside {
        name: "readers share",
        first: |txn, table| read(txn, table, 0),
        second: |txn, table| read(txn, table, 0),
        may: [true, true],
    },
    Beside {
        name: "a reader keeps writers off, when it reads on",
        first: |txn, table| read(txn, table, 0).and_then(|()| read(txn, table, 6)),
        second: |txn, table| write(txn, table, 0, 9),
        may: [true, false],
    },
    Beside {
        name: "a writer keeps readers off",
        first: |txn, table| write(txn, table, 0, 9),
        second: |txn, table| read(txn, table, 0),
        may: [false, false],
    },
    Beside {
        name: "a reader of an absent key keeps its inserter off",
        first: |txn, table| read(txn, table, 1).and_then(|()| read(txn, table, 6)),
        second: |txn, table| insert(txn, table, 1, 0),
        may: [true, false],
    },
    Beside {
        name: "a scan keeps inserters off its range",
        first: |txn, table| scan(txn, table, 1, 4).and_then(|()| read(txn, table, 6)),
        second: |txn, table| insert(txn, table, 3, 0),
        may: [true, false],
    },
    Beside {
        name: "inserters of different keys do not meet",
        first: |txn, table| insert(txn, table, 1, 0),
        second: |txn, table| insert(txn, table, 5, 0),
        may: [true, true],
    },
    Beside {
        name: "an inserter's unique name is taken until it ends",
        first: |txn, table| insert(txn, table, 1, 3),
        second: |txn, table| insert(txn, table, 5, 3),
        may: [false, false],
    },
    Beside {
        name: "a deleted row is there until its deleter ends",
        first: |txn, table| txn.delete(table, &Shape::Indexed.key(0)).map(drop),
        second: |txn, table| read(txn, table, 0),
        may: [false, false],
    },
];

#[test]
fn transactions_meet_where_they_must_and_only_there() {
    for_each_engine(|engine| {
        let info = engine.info();
        for beside in BESIDE {
            for (level, may) in [Isolation::ReadCommitted, Isolation::Serializable].into_iter().zip(beside.may) {
                // Without an access set, transactions of engines that need one are alone.
                let is_alone = info.capabilities.needs_accesses || info.isolation.len() < 2;
                if is_alone || info.granted(level) != level || first_writer_wins(engine) {
                    continue;
                }
                let table = engine.create_table(Shape::Indexed.schema());
                for key in [0, 2, 4, 6] {
                    let values = Shape::Indexed.values(key, key, 0);
                    engine.load(table, row(&engine.layout(table), &values).as_ref()).expect("the keys differ");
                }
                let mut first = engine.transaction(refusing());
                let mut second = engine.transaction(refusing());
                first.begin(&Begin::at(level)).expect("nobody else is there");
                (beside.first)(&mut *first, table).expect("nobody else is there");
                second.begin(&Begin::at(level)).expect("beginning needs nothing");
                let outcome = (beside.second)(&mut *second, table);
                assert_eq!(outcome.is_ok(), may, "{} at {level}: {}: {outcome:?}", info.name, beside.name);
                second.abort();
                first.abort();
            }
        }
    });
}

/// A read that is held conflicts at read committed as at serializable, also after the hold has ended, and after changes
/// by other transactions were undone.
#[test]
fn held_reads_meet_others_at_read_committed_as_at_serializable() {
    for_each_engine(|engine| {
        let (info, level) = (engine.info(), Isolation::ReadCommitted);
        let is_alone = info.capabilities.needs_accesses || info.isolation.len() < 2;
        if is_alone || info.granted(level) != level || first_writer_wins(engine) {
            return;
        }
        for beside in BESIDE {
            let table = engine.create_table(Shape::Indexed.schema());
            for key in [0, 2, 4, 6] {
                let values = Shape::Indexed.values(key, key, 0);
                engine.load(table, row(&engine.layout(table), &values).as_ref()).expect("the keys differ");
            }
            let mut first = engine.transaction(refusing());
            let mut second = engine.transaction(refusing());
            for undoes in [false, true] {
                first.begin(&Begin::at(level)).expect("nobody else is there");
                first.hold_reads(true);
                (beside.first)(&mut *first, table).expect("nobody else is there");
                first.hold_reads(false);
                let start = first.savepoint();
                read(&mut *first, table, 6).expect("nobody else is there");
                if undoes {
                    write(&mut *first, table, 6, 7).expect("nobody else is there");
                    first.rollback_to(start);
                }
                second.begin(&Begin::at(level)).expect("beginning needs nothing");
                let outcome = (beside.second)(&mut *second, table);
                assert_eq!(outcome.is_ok(), beside.may[1], "{}: {}: {outcome:?}", info.name, beside.name);
                second.abort();
                first.abort();
            }
            // The next transaction begins without.
            first.begin(&Begin::at(level)).expect("nobody else is there");
            read(&mut *first, table, 0).and_then(|()| read(&mut *first, table, 6)).expect("nobody else is there");
            second.begin(&Begin::at(level)).expect("beginning needs nothing");
            write(&mut *second, table, 0, 9).expect("nobody is in the way");
            second.abort();
            first.abort();
        }
    });
}

/// A transaction that holds a row's presence keeps deletions of the row off. Where writers of its other columns need
/// not wait for readers, it keeps off no other transaction.
#[test]
fn a_row_that_is_held_stays_and_may_change() {
    for_each_engine(|engine| {
        let info = engine.info();
        let is_alone = info.capabilities.needs_accesses || info.isolation.len() < 2;
        if is_alone || first_writer_wins(engine) {
            return;
        }
        for level in [Isolation::ReadCommitted, Isolation::Serializable] {
            let table = engine.create_table(Shape::Indexed.schema());
            for key in [0, 2, 4, 6] {
                let values = Shape::Indexed.values(key, key, 0);
                engine.load(table, row(&engine.layout(table), &values).as_ref()).expect("the keys differ");
            }
            let [mut first, mut second, mut third] = [(); 3].map(|()| engine.transaction(refusing()));
            let hold = |txn: &mut dyn Transaction, key: u8| txn.hold_row(table, &Shape::Indexed.key(key));
            first.begin(&Begin::at(level)).expect("nobody else is there");
            assert_eq!([0, 1].map(|key| hold(&mut *first, key)), [Ok(true), Ok(false)], "{} at {level}", info.name);
            second.begin(&Begin::at(level)).expect("beginning needs nothing");
            let stays_away = info.granted(level) == Isolation::Serializable;
            let inserted = insert(&mut *second, table, 1, 1);
            assert_eq!(inserted.is_err(), stays_away, "{} at {level}: who found no row finds none later", info.name);
            second.abort();
            second.begin(&Begin::at(level)).expect("beginning needs nothing");
            assert_eq!(hold(&mut *second, 0), Ok(true), "{} at {level}: another one holds it", info.name);
            let start = second.savepoint();
            write(&mut *second, table, 0, 5).unwrap_or_else(|abort| panic!("{} at {level}: {abort:?}", info.name));
            third.begin(&Begin::at(level)).expect("beginning needs nothing");
            assert_eq!(hold(&mut *third, 0), Ok(true), "{} at {level}: it was changed", info.name);
            third.abort();
            second.rollback_to(start);
            second.commit().expect("it holds all that it needs");
            second.begin(&Begin::at(level)).expect("beginning needs nothing");
            let deleted = second.delete(table, &Shape::Indexed.key(0));
            assert!(deleted.is_err(), "{} at {level}: {deleted:?}", info.name);
            second.abort();
            first.commit().expect("it holds all that it needs");
            second.begin(&Begin::at(level)).expect("beginning needs nothing");
            assert_eq!(second.delete(table, &Shape::Indexed.key(0)), Ok(Write::Done), "{}: it ended", info.name);
            third.begin(&Begin::at(level)).expect("beginning needs nothing");
            assert!(hold(&mut *third, 0).is_err(), "{} at {level}: it is about to go", info.name);
            third.abort();
            second.abort();
            // What another one has inserted may be undone.
            second.begin(&Begin::at(level)).expect("beginning needs nothing");
            insert(&mut *second, table, 1, 1).expect("nobody is in the way");
            assert_eq!(hold(&mut *second, 1), Ok(true), "{} at {level}: its own", info.name);
            third.begin(&Begin::at(level)).expect("beginning needs nothing");
            assert!(hold(&mut *third, 1).is_err(), "{} at {level}: it is not there yet", info.name);
            third.abort();
            second.abort();
        }
    });
}

/// A block that only reads at read committed holds nothing between its statements, so an idle client makes no other
/// transaction wait; and the block reads on after other transactions have changed rows.
#[test]
fn an_idle_reader_at_read_committed_holds_nobody_up() {
    for_each_engine(|engine| {
        let (info, level) = (engine.info(), Isolation::ReadCommitted);
        if !info.isolates || info.granted(level) != level {
            return;
        }
        let name = info.name;
        let table = engine.create_table(Shape::Indexed.schema());
        for key in [0, 2] {
            let values = Shape::Indexed.values(key, key, 0);
            engine.load(table, row(&engine.layout(table), &values).as_ref()).expect("the keys differ");
        }
        let number = |txn: &mut dyn Transaction| {
            txn.read(table, &Shape::Indexed.key(0)).map(|row| row.and_then(|row| row.value(2).as_int()))
        };
        let mut reader = engine.transaction(refusing());
        let mut writer = engine.transaction(refusing());
        reader.begin(&Begin { read_only: true, ..Begin::at(level) }).expect("nobody else is there");
        for round in 1..3 {
            number(&mut *reader).expect("nobody is in the way");
            scan(&mut *reader, table, 0, 6).expect("nobody is in the way");
            reader.idle();
            writer.begin(&Begin::at(level)).unwrap_or_else(|abort| panic!("{name}: {abort:?}"));
            write(&mut *writer, table, 0, round).unwrap_or_else(|abort| panic!("{name}: {abort:?}"));
            writer.commit().expect("it holds all that it needs");
            assert_eq!(number(&mut *reader), Ok(Some(i64::from(round))), "{name}");
            reader.idle();
        }
        writer.begin(&Begin::at(level)).expect("nobody is in the way");
        write(&mut *writer, table, 0, 9).expect("nobody is in the way");
        if first_writer_wins(engine) {
            assert_eq!(number(&mut *reader), Ok(Some(2)), "{name}: what is committed is there to read");
        } else {
            assert!(number(&mut *reader).is_err(), "{name}: it waits for the writer, and may not");
        }
        reader.abort();
        writer.commit().expect("it holds all that it needs");
        reader.begin(&Begin { read_only: true, ..Begin::at(level) }).expect("nobody is in the way");
        reader.idle();
        reader.commit().unwrap_or_else(|abort| panic!("{name}: {abort:?}"));
    });
}
