//! Tests of the features that only `ilock` has: waiter bits that workers share, upgrades, and records that die while
//! transactions wait for them.

use hotrow_protocols::Instance;
use hotrow_protocols::ilock::Interactive;
use hotrow_storage::{Column, Key, Row, TableId, TableSchema, Type, Value};
use hotrow_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use hotrow_sync::{Arc, Waiter, thread};
use hotrow_txn::{Abort, Begin, Engine, Inspection, Isolation, Transaction, Write};
use std::time::Duration;

/// A database with one table: a key, a number.
struct Fixture {
    instance: Arc<Instance<Interactive>>,
    table: TableId,
}

const LEVELS: [Isolation; 2] = [Isolation::ReadCommitted, Isolation::Serializable];

impl Fixture {
    /// With key 1 and number 0.
    fn new() -> Self {
        let instance = Instance::new(Default::default());
        let columns = vec![Column::new("id", Type::Int8), Column::new("number", Type::Int8)];
        let table = instance.create_table(TableSchema::new("t", columns, &[0]));
        let fixture = Self { instance, table };
        fixture.instance.load(table, fixture.row(1, 0).as_ref()).expect("an empty table");
        fixture
    }

    fn row(&self, key: i64, number: i64) -> Row {
        Row::from_values(&self.instance.layout(self.table), &[Value::Int8(key), Value::Int8(number)])
    }

    fn begun_with(&self, isolation: Isolation, waiter: Waiter) -> Box<dyn Transaction> {
        waiter.set_lock_timeout(Some(Duration::from_secs(600)));
        let mut txn = Engine::transaction(&*self.instance, waiter);
        txn.begin(&Begin::at(isolation)).expect("nothing is in the way");
        txn
    }

    fn begun(&self, isolation: Isolation) -> Box<dyn Transaction> {
        self.begun_with(isolation, Waiter::thread(Duration::ZERO))
    }

    /// Begins a transaction that aborts rather than wait.
    fn refusing(&self) -> Box<dyn Transaction> {
        let waiter = Waiter::thread(Duration::ZERO);
        waiter.cancel();
        self.begun_with(Isolation::Serializable, waiter)
    }

    fn increment(&self, txn: &mut dyn Transaction) -> Result<Write, Abort> {
        txn.update(self.table, &Key::Int(1), &mut |row| {
            let number = row.as_ref().value(1).as_int().expect("a number");
            row.set(1, &Value::Int8(number + 1));
            Ok(())
        })
    }

    /// Returns the number of a row, or `None` if there is no row.
    fn number(&self, txn: &mut dyn Transaction, key: i64) -> Result<Option<i64>, Abort> {
        let row = txn.read(self.table, &Key::Int(key))?;
        Ok(row.map(|row| row.value(1).as_int().expect("a number")))
    }

    /// Waits until `count` transactions wait for records. They make no further step before a test lets them.
    fn until_waiting(&self, count: usize) {
        while self.instance.protocol().waiting().0 != count {
            thread::yield_now();
        }
        self.instance.audit().expect("bits and wait-maps agree");
    }
}

#[test]
fn more_sessions_than_there_are_bits_wait_for_one_row_and_each_gets_it() {
    const SESSIONS: usize = 150;
    let fixture = Fixture::new();
    let mut holder = fixture.begun(Isolation::Serializable);
    assert_eq!(fixture.increment(&mut *holder), Ok(Write::Done));
    thread::scope(|scope| {
        let session = |number: usize| {
            let fixture = &fixture;
            scope.spawn(move || {
                let mut txn = fixture.begun(LEVELS[number % 2]);
                if number.is_multiple_of(3) {
                    fixture.number(&mut *txn, 1).expect("its turn comes").expect("the row is there");
                } else {
                    assert_eq!(fixture.increment(&mut *txn), Ok(Write::Done));
                }
                txn.commit().expect("it holds all that it needs");
            });
        };
        (0..SESSIONS).for_each(session);
        fixture.until_waiting(SESSIONS);
        holder.commit().expect("it holds all that it needs");
    });
    fixture.until_waiting(0);
    assert_eq!(fixture.number(&mut *fixture.refusing(), 1), Ok(Some(1 + (SESSIONS - SESSIONS / 3) as i64)));
}

/// Two transactions read the row, and both want to write it: the second one is the victim.
fn meet_in_upgrades(fixture: &Fixture) {
    let mut first = fixture.begun(Isolation::Serializable);
    let mut second = fixture.begun(Isolation::Serializable);
    for txn in [&mut first, &mut second] {
        fixture.number(&mut **txn, 1).expect("readers share it").expect("the row is there");
    }
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            assert_eq!(fixture.increment(&mut *first), Ok(Write::Done));
            first.commit().expect("it holds all that it needs");
        });
        fixture.until_waiting(1);
        // A third one reads only after the one that waits.
        assert_eq!(fixture.number(&mut *fixture.refusing(), 1), Err(Abort::Cancelled));
        assert_eq!(fixture.increment(&mut *second), Err(Abort::Deadlock));
        second.abort();
        waiting.join().expect("it is the only reader now");
    });
    fixture.until_waiting(0);
}

#[test]
fn of_two_that_have_read_a_row_the_second_that_wants_to_write_it_aborts() {
    let fixture = Fixture::new();
    meet_in_upgrades(&fixture);
    assert_eq!(fixture.number(&mut *fixture.refusing(), 1), Ok(Some(1)));
}

#[test]
fn after_upgrades_have_met_who_reads_the_row_has_it_alone_while_most_who_read_it_write_it() {
    let fixture = Fixture::new();
    let read_together = || {
        let mut reader = fixture.begun(Isolation::Serializable);
        fixture.number(&mut *reader, 1).expect("it is free").expect("the row is there");
        let other = fixture.number(&mut *fixture.refusing(), 1);
        reader.commit().expect("it has what it read");
        other.is_ok()
    };
    meet_in_upgrades(&fixture);
    for _ in 0..3 {
        let mut writer = fixture.begun(Isolation::Serializable);
        fixture.number(&mut *writer, 1).expect("it is free").expect("the row is there");
        assert_eq!(fixture.number(&mut *fixture.refusing(), 1), Err(Abort::Cancelled), "it would wait");
        assert_eq!(fixture.increment(&mut *writer), Ok(Write::Done));
        writer.commit().expect("it has the row");
        assert!(!read_together(), "a reader that may be a writer");
    }
    // Those that write nothing, or hold nothing, share it.
    for begin in [Begin { read_only: true, ..Begin::default() }, Begin::at(Isolation::ReadCommitted)] {
        let waiter = Waiter::thread(Duration::ZERO);
        let mut reader = Engine::transaction(&*fixture.instance, waiter);
        reader.begin(&begin).expect("nothing is in the way");
        assert_eq!(fixture.number(&mut *reader, 1), Ok(Some(4)));
        let mut other = Engine::transaction(&*fixture.instance, Waiter::thread(Duration::ZERO));
        other.begin(&begin).expect("nothing is in the way");
        assert_eq!(fixture.number(&mut *other, 1), Ok(Some(4)));
        [reader, other].iter_mut().for_each(|txn| txn.commit().expect("it has read"));
    }
    let alone = (0..100).take_while(|_| !read_together()).count();
    assert!((1..100).contains(&alone), "readers that write nothing share it again, after {alone}");
}

#[test]
fn a_reader_behind_a_writer_that_gives_up_reads() {
    let fixture = Fixture::new();
    let mut holder = fixture.begun(Isolation::Serializable);
    assert_eq!(fixture.number(&mut *holder, 1), Ok(Some(0)));
    let waiter = Waiter::thread(Duration::ZERO);
    thread::scope(|scope| {
        let mut writer = fixture.begun_with(Isolation::Serializable, waiter.clone());
        let fixture = &fixture;
        scope.spawn(move || assert_eq!(fixture.increment(&mut *writer), Err(Abort::Cancelled)));
        fixture.until_waiting(1);
        scope.spawn(move || assert_eq!(fixture.number(&mut *fixture.begun(LEVELS[0]), 1), Ok(Some(0))));
        fixture.until_waiting(2);
        waiter.cancel();
    });
    fixture.until_waiting(0);
    assert_eq!(fixture.number(&mut *holder, 1), Ok(Some(0)));
}

/// Checks the row that transactions find after they have waited for its record. `change` is the step of a transaction
/// that then commits or aborts.
fn check(change: fn(&Fixture, &mut dyn Transaction), commits: bool, key: i64, expected: Option<i64>) {
    for level in LEVELS {
        let fixture = Fixture::new();
        let mut maker = fixture.begun(Isolation::Serializable);
        change(&fixture, &mut *maker);
        thread::scope(|scope| {
            for reads in [true, false] {
                let fixture = &fixture;
                scope.spawn(move || {
                    let mut txn = fixture.begun(level);
                    if reads {
                        assert_eq!(fixture.number(&mut *txn, key), Ok(expected));
                    } else {
                        let written = if expected.is_some() { Write::Done } else { Write::Absent };
                        assert_eq!(txn.update(fixture.table, &Key::Int(key), &mut |_| Ok(())), Ok(written));
                    }
                    txn.commit().expect("it holds all that it needs");
                });
            }
            fixture.until_waiting(2);
            if commits { maker.commit().expect("it holds all that it needs") } else { maker.abort() }
        });
        fixture.until_waiting(0);
        let waiting_for_names = fixture.instance.protocol().waiting().1;
        assert_eq!((fixture.number(&mut *fixture.refusing(), key), waiting_for_names), (Ok(expected), 0));
    }
}

#[test]
fn who_waited_for_a_record_finds_the_row_as_it_is_then() {
    fn insert(fixture: &Fixture, txn: &mut dyn Transaction) {
        assert_eq!(txn.insert(fixture.table, fixture.row(2, 7).as_ref()), Ok(Write::Done));
    }
    fn delete(fixture: &Fixture, txn: &mut dyn Transaction) {
        assert_eq!(txn.delete(fixture.table, &Key::Int(1)), Ok(Write::Done));
    }
    fn replace(fixture: &Fixture, txn: &mut dyn Transaction) {
        delete(fixture, txn);
        assert_eq!(txn.insert(fixture.table, fixture.row(1, 9).as_ref()), Ok(Write::Done));
    }
    fn insert_in_vain(fixture: &Fixture, txn: &mut dyn Transaction) {
        insert(fixture, txn);
        assert_eq!(txn.delete(fixture.table, &Key::Int(2)), Ok(Write::Done));
    }
    check(insert, true, 2, Some(7));
    check(insert, false, 2, None);
    check(delete, true, 1, None);
    check(delete, false, 1, Some(0));
    check(replace, true, 1, Some(9));
    check(replace, false, 1, Some(0));
    check(insert_in_vain, true, 2, None);
    check(insert_in_vain, false, 2, None);
}

#[test]
fn a_key_stays_locked_when_its_insert_is_rolled_back_to_a_savepoint() {
    let fixture = Fixture::new();
    let mut txn = fixture.begun(Isolation::Serializable);
    let savepoint = txn.savepoint();
    assert_eq!(txn.insert(fixture.table, fixture.row(2, 7).as_ref()), Ok(Write::Done));
    txn.rollback_to(savepoint);
    let insert = || fixture.refusing().insert(fixture.table, fixture.row(2, 8).as_ref());
    assert_eq!(insert(), Err(Abort::Cancelled), "the transaction has seen that there was none");
    assert_eq!(txn.insert(fixture.table, fixture.row(2, 9).as_ref()), Ok(Write::Done));
    txn.rollback_to(savepoint);
    assert_eq!(fixture.number(&mut *txn, 2), Ok(None));
    txn.commit().expect("it holds all that it needs");
    assert_eq!(insert(), Ok(Write::Done));
}

#[test]
fn a_writer_gets_a_row_that_others_pass_to_each_other() {
    const TURNS: usize = 1_000;
    let fixture = Fixture::new();
    let (done, turns) = (AtomicBool::new(false), AtomicUsize::new(0));
    let is_over = || done.load(Ordering::Acquire) || turns.load(Ordering::Acquire) >= TURNS;
    // They are made in this order, so the second worker's bit follows the first one's. The holder of the row goes on
    // when both others wait, and comes back behind them.
    let [mut reader, mut writer, mut starving] = [(); 3].map(|()| fixture.begun(Isolation::Serializable));
    let pass_on = |txn: &mut dyn Transaction| {
        while fixture.instance.locks().expect("they are counted").waiting != 2 && !is_over() {
            thread::yield_now();
        }
        txn.commit().expect("it has its lock");
        turns.fetch_add(1, Ordering::AcqRel);
        txn.begin(&Begin::at(Isolation::Serializable)).expect("nothing is in the way");
    };
    assert_eq!(fixture.number(&mut *reader, 1), Ok(Some(0)));
    thread::scope(|scope| {
        scope.spawn(|| {
            pass_on(&mut *reader);
            while !is_over() {
                assert!(fixture.number(&mut *reader, 1).is_ok());
                pass_on(&mut *reader);
            }
        });
        scope.spawn(|| {
            while !is_over() {
                assert_eq!(fixture.increment(&mut *writer), Ok(Write::Done));
                pass_on(&mut *writer);
            }
        });
        assert_eq!(fixture.increment(&mut *starving), Ok(Write::Done));
        done.store(true, Ordering::Release);
        starving.commit().expect("it has its lock");
    });
    let turns = turns.load(Ordering::Acquire);
    assert!(turns < TURNS, "the writer has waited for {turns} turns of others");
}
