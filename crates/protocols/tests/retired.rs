//! Hot rows that go to the next writer before their own has committed.

use hotrow_protocols::open;
use hotrow_storage::{Column, Key, Row, TableId, TableSchema, Type, Value};
use hotrow_sync::{Arc, Waiter, thread};
use hotrow_txn::{Abort, Begin, Engine, Isolation, Transaction, Write};
use std::time::Duration;

const ENGINE: &str = "ilock";
const ROWS: i64 = 8;

struct Fixture {
    engine: Arc<dyn Engine>,
    table: TableId,
}

impl Fixture {
    fn new() -> Self {
        let engine = open(ENGINE).expect("the engine is in the registry");
        let columns =
            vec![Column::new("id", Type::Int8), Column::new("number", Type::Int8), Column::new("text", Type::Text)];
        let table = engine.create_table(TableSchema::new("t", columns, &[0]));
        for key in 0..ROWS {
            let values = [Value::Int8(key), Value::Int8(0), Value::Text("at first".into())];
            engine.load(table, Row::from_values(&engine.layout(table), &values).as_ref()).expect("the keys differ");
        }
        Self { engine, table }
    }

    /// A fixture whose rows are all hot.
    fn hot() -> Self {
        let fixture = Self::new();
        for key in 0..ROWS {
            let mut holder = fixture.begin();
            fixture.add(&mut *holder, key, 0).expect("nobody has the row");
            let mut other = fixture.begin_impatient();
            assert_eq!(fixture.add(&mut *other, key, 0), Err(Abort::Timeout), "it waits, which makes the row hot");
            other.abort();
            holder.commit().expect("it follows nobody");
        }
        fixture
    }

    fn begin(&self) -> Box<dyn Transaction> {
        self.begin_with(Duration::from_secs(600), Isolation::Serializable)
    }

    /// A transaction that waits for nothing.
    fn begin_impatient(&self) -> Box<dyn Transaction> {
        self.begin_with(Duration::from_millis(5), Isolation::Serializable)
    }

    fn begin_with(&self, lock_timeout: Duration, isolation: Isolation) -> Box<dyn Transaction> {
        let waiter = Waiter::thread(Duration::ZERO);
        waiter.set_lock_timeout(Some(lock_timeout));
        let mut txn = self.engine.transaction(waiter);
        txn.begin(&Begin::at(isolation)).expect("it locks nothing to begin");
        txn
    }

    fn add(&self, txn: &mut dyn Transaction, key: i64, more: i64) -> Result<(), Abort> {
        let write = txn.update(self.table, &Key::Int(key), &mut |row| {
            let number = row.as_ref().int8(1) + more;
            row.set_int8(1, number);
            row.set(2, &Value::Text(number.to_string().into()));
            Ok(())
        });
        write.map(|write| assert_eq!(write, Write::Done))
    }

    /// Adds to a row and retires it.
    fn add_and_retire(&self, txn: &mut dyn Transaction, key: i64, more: i64) {
        let before = txn.statistics().retired;
        self.add(txn, key, more).expect("nobody is in the way");
        txn.retire_writes();
        txn.idle();
        assert_eq!(txn.statistics().retired, before + 1, "the row is hot");
    }

    fn read(&self, txn: &mut dyn Transaction, key: i64) -> Result<i64, Abort> {
        let row = txn.read(self.table, &Key::Int(key))?;
        Ok(row.expect("the row is there").int8(1))
    }

    /// Numbers that are committed, with nobody in flight.
    fn numbers(&self, keys: &[i64]) -> Vec<i64> {
        let mut txn = self.begin_impatient();
        let read = |&key: &i64| {
            let row = txn.read(self.table, &Key::Int(key)).expect("nobody is in the way").expect("the row is there");
            let (number, text) = (row.int8(1), row.text(2).to_owned());
            assert!(text == "at first" && number == 0 || text == number.to_string(), "{number} beside {text}");
            number
        };
        let numbers = keys.iter().map(read).collect();
        assert_eq!(txn.commit(), Ok(()), "nobody is in flight");
        assert_eq!(self.engine.locks().expect("the engine has locks").held, 0);
        numbers
    }
}

#[test]
fn a_row_that_nobody_waited_for_stays_locked() {
    let fixture = Fixture::new();
    let mut holder = fixture.begin();
    fixture.add(&mut *holder, 0, 1).expect("nobody is in the way");
    holder.retire_writes();
    assert_eq!(holder.statistics().retired, 0);
    let mut other = fixture.begin_impatient();
    assert_eq!(fixture.add(&mut *other, 0, 1), Err(Abort::Timeout));
}

#[test]
fn who_takes_a_retired_row_commits_after_its_leader() {
    for exclusive in [true, false] {
        let fixture = Fixture::hot();
        let mut leader = fixture.begin();
        fixture.add_and_retire(&mut *leader, 0, 1);
        let mut follower = fixture.begin_impatient();
        if exclusive {
            fixture.add(&mut *follower, 0, 10).expect("the row is retired");
        }
        assert_eq!(fixture.read(&mut *follower, 0), Ok(if exclusive { 11 } else { 1 }));
        assert_eq!(follower.commit(), Err(Abort::Timeout), "the leader is in flight");
        follower.abort();
        let mut follower = fixture.begin();
        fixture.add(&mut *follower, 0, 10).expect("the row is retired");
        thread::scope(|scope| {
            let committed = scope.spawn(move || follower.commit());
            assert_eq!(leader.commit(), Ok(()));
            assert_eq!(committed.join().expect("no panic"), Ok(()));
        });
        assert_eq!(fixture.numbers(&[0]), [11], "{exclusive}");
    }
}

#[test]
fn all_who_follow_fall_with_a_leader_whatever_the_order_in_which_they_end() {
    // Whether the second one retires the row, too, and the order in which the others end.
    for (retires, order) in [(true, &[1, 2][..]), (true, &[2, 1]), (false, &[1]), (true, &[])] {
        let fixture = Fixture::hot();
        let mut chain: Vec<_> = (0..3).map(|_| fixture.begin_impatient()).collect();
        fixture.add_and_retire(&mut *chain[0], 0, 1);
        if retires {
            fixture.add_and_retire(&mut *chain[1], 0, 10);
            fixture.add(&mut *chain[2], 0, 100).expect("the row is retired");
        } else {
            fixture.add(&mut *chain[1], 0, 10).expect("the row is retired");
            assert_eq!(fixture.add(&mut *chain[2], 0, 100), Err(Abort::Timeout), "the second one has it");
            chain[2].abort();
        }
        chain[0].abort();
        for &follower in order {
            assert_eq!(fixture.read(&mut *chain[follower], 5), Err(Abort::Cascade), "{order:?}");
            chain[follower].abort();
        }
        // Those that were not told yet.
        for follower in &mut chain[1..] {
            let _ = follower.commit().inspect(|()| panic!("its leader is gone, or it ended"));
            follower.abort();
        }
        assert_eq!(fixture.numbers(&[0]), [0], "{order:?}");
    }
}

#[test]
fn who_comes_to_a_row_with_dead_changes_undoes_them() {
    for isolation in [Isolation::ReadCommitted, Isolation::Serializable] {
        let fixture = Fixture::hot();
        let (mut leader, mut reader) = (fixture.begin(), fixture.begin());
        fixture.add_and_retire(&mut *leader, 0, 1);
        assert_eq!(fixture.read(&mut *reader, 0), Ok(1));
        // The reader has the lock, so nobody can undo the leader's change.
        leader.abort();
        let mut other = fixture.begin_with(Duration::from_millis(5), isolation);
        assert_eq!(fixture.read(&mut *other, 0), Err(Abort::Timeout), "that takes the exclusive lock");
        other.abort();
        thread::scope(|scope| {
            let read = scope.spawn(|| {
                let mut other = fixture.begin_with(Duration::from_secs(600), isolation);
                fixture.read(&mut *other, 0)
            });
            assert_eq!(reader.commit(), Err(Abort::Cascade));
            reader.abort();
            assert_eq!(read.join().expect("no panic"), Ok(0));
        });
        assert_eq!(fixture.numbers(&[0]), [0]);
    }
}

#[test]
fn who_touches_its_retired_row_again_dooms_those_behind_it() {
    for writes in [true, false] {
        let fixture = Fixture::hot();
        let (mut first, mut second) = (fixture.begin(), fixture.begin());
        fixture.add_and_retire(&mut *first, 0, 1);
        // With nobody behind it that is as if it had kept the row.
        fixture.add_and_retire(&mut *first, 0, 1);
        fixture.add_and_retire(&mut *second, 0, 10);
        match writes {
            true => fixture.add(&mut *first, 0, 1).expect("the one behind gives way"),
            false => assert_eq!(fixture.read(&mut *first, 0), Ok(2)),
        }
        assert_eq!(second.commit(), Err(Abort::Cascade));
        second.abort();
        assert_eq!(first.commit(), Ok(()));
        assert_eq!(fixture.numbers(&[0]), [if writes { 3 } else { 2 }]);
    }
}

#[test]
fn who_has_only_read_a_row_falls_if_its_writer_writes_it_again() {
    for isolation in [Isolation::ReadCommitted, Isolation::Serializable] {
        let fixture = Fixture::hot();
        let (mut writer, mut reader) = (fixture.begin(), fixture.begin_with(Duration::from_secs(600), isolation));
        fixture.add_and_retire(&mut *writer, 0, 1);
        assert_eq!(fixture.read(&mut *reader, 0), Ok(1));
        reader.idle();
        assert_eq!(fixture.read(&mut *writer, 0), Ok(1), "readers do not mind each other");
        thread::scope(|scope| {
            // The reader keeps its lock while it follows, whatever its level.
            let written = scope.spawn(|| fixture.add(&mut *writer, 0, 1));
            assert_ne!(reader.commit(), Ok(()), "it saw what does not stay");
            reader.abort();
            assert_eq!(written.join().expect("no panic"), Ok(()));
        });
        assert_eq!(writer.commit(), Ok(()));
        assert_eq!(fixture.numbers(&[0]), [2]);
    }
}

#[test]
fn what_was_changed_before_and_after_it_was_retired_is_undone() {
    let fixture = Fixture::hot();
    let mut txn = fixture.begin();
    fixture.add_and_retire(&mut *txn, 0, 1);
    fixture.add(&mut *txn, 0, 2).expect("nobody is in the way");
    fixture.add(&mut *txn, 1, 4).expect("nobody is in the way");
    txn.abort();
    assert_eq!(fixture.numbers(&[0, 1]), [0, 0]);
}

#[test]
fn a_circle_is_no_order_and_the_one_that_follows_falls() {
    let fixture = Fixture::hot();
    let (mut first, mut second) = (fixture.begin(), fixture.begin());
    fixture.add_and_retire(&mut *first, 0, 1);
    fixture.add_and_retire(&mut *second, 0, 10);
    fixture.add_and_retire(&mut *second, 1, 10);
    fixture.add(&mut *first, 1, 1).expect("it cannot follow who follows it");
    assert_eq!(first.commit(), Ok(()));
    assert_eq!(second.commit(), Err(Abort::Cascade));
    second.abort();
    assert_eq!(fixture.numbers(&[0, 1]), [1, 1]);
}

#[test]
fn a_leader_that_waits_for_a_lock_of_its_follower_ends_the_follower() {
    let fixture = Fixture::hot();
    let (mut leader, mut follower) = (fixture.begin(), fixture.begin());
    fixture.add_and_retire(&mut *leader, 0, 1);
    fixture.add(&mut *follower, 0, 10).expect("the row is retired");
    fixture.add(&mut *follower, 5, 10).expect("nobody is in the way");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let added = fixture.add(&mut *leader, 5, 1);
            added.and_then(|()| leader.commit())
        });
        assert_eq!(follower.commit(), Err(Abort::Deadlock));
        assert!(!follower.deadlock().expect("the engine knows").waits.is_empty());
        follower.abort();
        assert_eq!(waiting.join().expect("no panic"), Ok(()));
    });
    assert_eq!(fixture.numbers(&[0, 5]), [1, 1]);
}

#[test]
fn who_waits_is_woken_when_its_leader_falls() {
    let fixture = Fixture::hot();
    let (mut leader, mut holder) = (fixture.begin(), fixture.begin());
    fixture.add_and_retire(&mut *leader, 0, 1);
    fixture.add(&mut *holder, 5, 1).expect("nobody is in the way");
    let mut follower = fixture.begin();
    fixture.add(&mut *follower, 0, 10).expect("the row is retired");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let waited = fixture.add(&mut *follower, 5, 10);
            follower.abort();
            waited
        });
        thread::yield_now();
        leader.abort();
        // Whether it waited by then or not.
        assert_eq!(waiting.join().expect("no panic"), Err(Abort::Cascade));
    });
    holder.commit().expect("it follows nobody");
    assert_eq!(fixture.numbers(&[0, 5]), [0, 1]);
}

#[test]
fn a_deleted_row_comes_back_when_its_leader_falls() {
    let fixture = Fixture::hot();
    let (mut leader, mut follower) = (fixture.begin(), fixture.begin());
    fixture.add_and_retire(&mut *leader, 0, 1);
    assert_eq!(follower.delete(fixture.table, &Key::Int(0)), Ok(Write::Done));
    leader.abort();
    assert_eq!(follower.commit(), Err(Abort::Cascade));
    follower.abort();
    assert_eq!(fixture.numbers(&[0]), [0]);
}

#[test]
fn transfers_that_retire_and_roll_back_lose_nothing() {
    const THREADS: i64 = 6;
    const TRANSFERS: i64 = 400;
    let fixture = Fixture::hot();
    let (committed, retired): (i64, u64) = thread::scope(|scope| {
        let thread = |number: i64| {
            let fixture = &fixture;
            move || {
                let (mut committed, mut retired) = (0, 0);
                for transfer in 0..TRANSFERS {
                    let mut txn = fixture.begin();
                    let (from, to) = ((number + transfer) % 2, 2 + (number * transfer) % 3);
                    let done = [(from, -1), (to, 1)].into_iter().try_for_each(|(key, more)| {
                        fixture.add(&mut *txn, key, more)?;
                        txn.retire_writes();
                        txn.idle();
                        thread::yield_now();
                        Ok(())
                    });
                    retired += txn.statistics().retired;
                    match done {
                        Ok(()) if (number + transfer) % 7 == 0 => txn.abort(),
                        done => match done.and_then(|()| txn.commit()) {
                            Ok(()) => committed += 1,
                            Err(abort) => {
                                assert!(matches!(abort, Abort::Cascade | Abort::Deadlock), "{abort:?}");
                                txn.abort();
                            }
                        },
                    }
                }
                (committed, retired)
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|number| scope.spawn(thread(number))).collect();
        let ended = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        ended.fold((0, 0), |(committed, retired), (more, also)| (committed + more, retired + also))
    });
    let numbers = fixture.numbers(&[0, 1, 2, 3, 4]);
    assert_eq!(numbers[..2].iter().sum::<i64>(), -committed);
    assert_eq!(numbers[2..].iter().sum::<i64>(), committed);
    assert!(committed > 0 && retired > 0, "{committed}, {retired}");
}
