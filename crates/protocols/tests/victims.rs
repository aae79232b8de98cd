//! Tests of the choice of a deadlock's victim, under the engines that choose one.

use hotrow_protocols::open;
use hotrow_storage::{Column, Key, Row, TableId, TableSchema, Type, Value};
use hotrow_sync::{Arc, Waiter, thread};
use hotrow_txn::{Abort, Begin, Engine, Isolation, Transaction, Write};
use std::time::Duration;

const ENGINES: [&str; 4] = ["ilock", "1v", "2pl-timeout", "lock-table"];

/// After so many defeats a one-shot transaction is ranked by its age alone.
const YIELDS: u32 = 8;

/// A database with two rows, one for each of two transactions.
struct Fixture {
    engine: Arc<dyn Engine>,
    table: TableId,
}

/// A transaction object that is used again and again.
struct Session {
    txn: Box<dyn Transaction>,
    label: u32,
}

impl Fixture {
    fn new(name: &str) -> Self {
        let engine = open(name).expect("the engine is in the registry");
        let columns = vec![Column::new("id", Type::Int8), Column::new("number", Type::Int8)];
        let table = engine.create_table(TableSchema::new("t", columns, &[0]));
        for key in [1, 2] {
            let row = Row::from_values(&engine.layout(table), &[Value::Int8(key), Value::Int8(0)]);
            engine.load(table, row.as_ref()).expect("the keys differ");
        }
        Self { engine, table }
    }

    fn session(&self, label: u32) -> Session {
        let waiter = Waiter::thread(Duration::ZERO);
        waiter.set_lock_timeout(Some(Duration::from_secs(600)));
        Session { txn: self.engine.transaction(waiter), label }
    }

    fn write(&self, session: &mut Session, key: i64) -> Result<(), Abort> {
        let write = session.txn.update(self.table, &Key::Int(key), &mut |row| {
            row.set(1, &Value::Int8(1));
            Ok(())
        });
        write.map(|write| assert_eq!(write, Write::Done))
    }

    /// Wants the row that the other one has, and ends either way.
    fn meet(&self, session: &mut Session, key: i64) -> Result<(), Abort> {
        let wrote = self.write(session, key);
        if wrote.is_ok() {
            session.txn.commit().expect("it has its locks");
        } else {
            let deadlock = session.txn.deadlock().expect("the engine knows");
            assert_eq!(deadlock.waits[0].waiter, session.label, "the victim comes first");
        }
        session.txn.abort();
        wrote
    }

    /// Two transactions that have begun write a row each, and then want each other's, `first` before `second`: the
    /// label of the victim.
    fn victim(&self, first: &mut Session, second: &mut Session) -> u32 {
        let labels = [first.label, second.label];
        self.write(first, 1).expect("it is free");
        self.write(second, 2).expect("it is free");
        let outcomes = thread::scope(|scope| {
            let waiting = scope.spawn(|| self.meet(first, 2));
            while self.engine.locks().expect("the engine counts them").waiting != 1 {
                thread::yield_now();
            }
            let closing = self.meet(second, 1);
            [waiting.join().expect("it does not panic"), closing]
        });
        match outcomes {
            [Err(Abort::Deadlock), Ok(())] => labels[0],
            [Ok(()), Err(Abort::Deadlock)] => labels[1],
            others => panic!("one is the victim, the other one is served: {others:?}"),
        }
    }
}

fn begin(session: &mut Session, one_shot: bool) {
    let begin = Begin { label: session.label, one_shot, ..Begin::at(Isolation::Serializable) };
    session.txn.begin(&begin).expect("it locks nothing to begin");
}

/// Begins transactions of different ages, the oldest first.
fn begin_apart(sessions: [&mut Session; 2]) {
    for session in sessions {
        begin(session, false);
        // sleep(): transactions that begin within 4 ms of each other may be of one age.
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_youngest_is_the_victim_whoever_closes_the_cycle_and_a_retry_keeps_its_age() {
    for name in ENGINES {
        let fixture = Fixture::new(name);
        let [mut one, mut two, mut three] = [1, 2, 3].map(|label| fixture.session(label));
        begin_apart([&mut one, &mut two]);
        assert_eq!(fixture.victim(&mut two, &mut one), 2, "{name}: it waits when the cycle is closed");
        begin_apart([&mut three, &mut two]);
        assert_eq!(fixture.victim(&mut two, &mut three), 3, "{name}: the retry is as old as the first attempt");
        begin_apart([&mut three, &mut two]);
        assert_eq!(fixture.victim(&mut three, &mut two), 2, "{name}: the one that has committed began anew");
        begin_apart([&mut one, &mut two]);
        assert_eq!(fixture.victim(&mut one, &mut two), 1, "{name}: and so did this one");
    }
}

#[test]
fn a_one_shot_transaction_yields_to_interactive_ones_but_not_for_ever() {
    for name in ENGINES {
        let fixture = Fixture::new(name);
        let [mut procedure, mut block] = [1, 2].map(|label| fixture.session(label));
        for defeat in 0..=YIELDS {
            // Its first wait is what dates it, so that of the first attempt.
            begin(&mut procedure, true);
            begin(&mut block, false);
            let victim = match defeat % 2 {
                0 => fixture.victim(&mut procedure, &mut block),
                _ => fixture.victim(&mut block, &mut procedure),
            };
            let expected = if defeat < YIELDS { 1 } else { 2 };
            assert_eq!(victim, expected, "{name}, after {defeat} defeats");
        }
    }
}
