//! Blocks that meet on hot rows are held back so that they get through. Blocks that stay away from these rows are not.

use hotrow_protocols::open;
use hotrow_storage::{Column, Key, Row, TableId, TableSchema, Type, Value};
use hotrow_sync::{Arc, Waiter, thread};
use hotrow_txn::{Abort, AdmissionStatistics, Begin, Engine, Isolation, Transaction, Write};
use std::time::Duration;

const ENGINE: &str = "ilock";
const THREADS: usize = 8;
const BLOCKS: usize = 100;
const ROWS: i64 = 100;

struct Fixture {
    engine: Arc<dyn Engine>,
    table: TableId,
}

impl Fixture {
    fn new() -> Self {
        let engine = open(ENGINE).expect("the engine is in the registry");
        let columns = vec![Column::new("id", Type::Int8), Column::new("number", Type::Int8)];
        let table = engine.create_table(TableSchema::new("t", columns, &[0]));
        for key in 0..ROWS {
            let row = Row::from_values(&engine.layout(table), &[Value::Int8(key), Value::Int8(0)]);
            engine.load(table, row.as_ref()).expect("the keys differ");
        }
        Self { engine, table }
    }

    /// A transaction object of a session that waits for as long as it takes.
    fn session(&self) -> Box<dyn Transaction> {
        let waiter = Waiter::thread(Duration::ZERO);
        waiter.set_lock_timeout(Some(Duration::from_secs(600)));
        self.engine.transaction(waiter)
    }

    fn add(&self, txn: &mut dyn Transaction, key: i64) -> Result<(), Abort> {
        let write = txn.update(self.table, &Key::Int(key), &mut |row| {
            let number = row.as_ref().int8(1);
            row.set_int8(1, number + 1);
            Ok(())
        });
        write.map(|write| assert_eq!(write, Write::Done))
    }

    /// A block that adds one to these rows, as its client would send it: again whenever it is a victim.
    fn block(&self, txn: &mut dyn Transaction, keys: &[i64]) {
        loop {
            begin(txn);
            let added = keys.iter().try_for_each(|&key| {
                txn.idle();
                thread::yield_now();
                self.add(txn, key)
            });
            match added.and_then(|()| txn.commit()) {
                Ok(()) => return,
                Err(abort) => assert_eq!(abort, Abort::Deadlock),
            }
            txn.abort();
        }
    }

    fn admission(&self) -> AdmissionStatistics {
        self.engine.admission().expect("the engine has admission")
    }

    fn number(&self, key: i64) -> i64 {
        let mut txn = self.session();
        begin(&mut *txn);
        let row = txn.read(self.table, &Key::Int(key)).expect("nobody is in the way");
        let number = row.expect("the row is there").int8(1);
        txn.commit().expect("it has only read");
        number
    }

    /// Runs blocks that deadlock on rows 0 and 1 until some are held back.
    fn heat(&self) -> usize {
        let mut waves = 0;
        while self.admission().held_back_ever == 0 || self.admission().hot == 0 {
            waves += 1;
            thread::scope(|scope| {
                for number in 0..THREADS {
                    scope.spawn(move || {
                        let mut txn = self.session();
                        let keys = if number % 2 == 0 { [0, 1] } else { [1, 0] };
                        (0..BLOCKS).for_each(|_| self.block(&mut *txn, &keys));
                    });
                }
            });
        }
        waves
    }
}

fn begin(txn: &mut dyn Transaction) {
    txn.begin(&Begin::at(Isolation::Serializable)).expect("it locks nothing to begin");
}

#[test]
fn blocks_that_deadlock_are_held_back_and_every_one_gets_through() {
    let fixture = Fixture::new();
    assert_eq!(fixture.admission().held_back_ever, 0);
    let waves = fixture.heat();
    let AdmissionStatistics { admitted, held_back, .. } = fixture.admission();
    assert_eq!((admitted, held_back), (0, 0), "all are over");
    let expected = (waves * THREADS * BLOCKS) as i64;
    assert_eq!([fixture.number(0), fixture.number(1)], [expected; 2]);
}

#[test]
fn clients_that_think_in_the_middle_of_hot_rows_keep_nobody_out() {
    let fixture = Fixture::new();
    fixture.heat();
    // They read, so they are in nobody's way but for their tickets; more than there are at the most.
    let limit = fixture.admission().limit as usize;
    let mut thinking: Vec<_> = (0..limit + 2).map(|_| fixture.session()).collect();
    for txn in &mut thinking {
        begin(&mut **txn);
        assert!(txn.read(fixture.table, &Key::Int(0)).expect("readers share the row").is_some());
        txn.idle();
    }
    let mut other = fixture.session();
    fixture.block(&mut *other, &[1]);
    for mut txn in thinking {
        txn.commit().expect("it has only read");
    }
    assert_eq!((fixture.admission().admitted, fixture.admission().held_back), (0, 0));
}

#[test]
fn reads_at_read_committed_are_not_held_back() {
    let fixture = Fixture::new();
    fixture.heat();
    let limit = fixture.admission().limit as usize;
    let mut holders: Vec<_> = (0..limit).map(|_| fixture.session()).collect();
    for txn in &mut holders {
        begin(&mut **txn);
        assert!(txn.read(fixture.table, &Key::Int(0)).expect("readers share the row").is_some());
    }
    let before = fixture.admission().held_back_ever;
    let mut reader = fixture.session();
    reader.begin(&Begin::at(Isolation::ReadCommitted)).expect("it locks nothing to begin");
    assert!(reader.read(fixture.table, &Key::Int(0)).expect("readers share the row").is_some());
    assert!(reader.read(fixture.table, &Key::Int(1)).expect("nobody has the row").is_some());
    assert_eq!(fixture.admission().held_back_ever, before);
    for mut txn in holders.into_iter().chain([reader]) {
        txn.commit().expect("it has only read");
    }
}

#[test]
fn a_session_that_stays_away_from_hot_rows_needs_no_ticket() {
    let fixture = Fixture::new();
    fixture.heat();
    let before = fixture.admission();
    let mut cold = fixture.session();
    let mut needs_ticket = |key| {
        begin(&mut *cold);
        fixture.add(&mut *cold, key).expect("nobody else wants it");
        let is_admitted = fixture.admission().admitted > 0;
        cold.commit().expect("nobody is in the way");
        is_admitted
    };
    // A few of the thousands of places are hot, so hardly a row shares one with a hot row.
    let tickets = (10..ROWS).filter(|&key| needs_ticket(key)).count();
    assert!(tickets < 10, "{tickets} rows of {}", ROWS - 10);
    assert_eq!(fixture.admission().held_back_ever, before.held_back_ever);
}

#[test]
fn a_client_that_is_cancelled_or_gone_while_it_is_held_back_leaves_no_ticket_behind() {
    let fixture = Fixture::new();
    fixture.heat();
    let limit = fixture.admission().limit as usize;
    let waiters: Vec<_> = (0..limit + 4).map(|_| Waiter::thread(Duration::ZERO)).collect();
    let mut holder = fixture.session();
    begin(&mut *holder);
    fixture.add(&mut *holder, 0).expect("nobody has the row");
    thread::scope(|scope| {
        for waiter in &waiters {
            let fixture = &fixture;
            scope.spawn(move || {
                let mut txn = fixture.engine.transaction(waiter.clone());
                begin(&mut *txn);
                assert_eq!(fixture.add(&mut *txn, 0), Err(Abort::Cancelled));
                // Dropped without an end, as of a client that vanishes.
            });
        }
        while fixture.admission().held_back == 0 && fixture.engine.locks().expect("they are counted").waiting == 0 {
            thread::yield_now();
        }
        waiters.iter().for_each(Waiter::cancel);
    });
    holder.commit().expect("it has its locks");
    assert_eq!((fixture.admission().admitted, fixture.admission().held_back), (0, 0));
    fixture.block(&mut *fixture.session(), &[0, 1]);
}
