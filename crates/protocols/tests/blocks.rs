//! Blocks that read and write a few hot rows in any order, from more threads than there are cores, under every engine
//! that finds deadlocks: each block gets through, and no update is lost.
//!
//! `HOTROW_BLOCKS=100000 cargo test --release -p hotrow-protocols --test blocks` is the long form.

use hotrow_protocols::open;
use hotrow_storage::{Column, Key, Row, TableId, TableSchema, Type, Value};
use hotrow_sync::atomic::{AtomicI64, Ordering};
use hotrow_sync::{Waiter, thread};
use hotrow_txn::{Abort, Begin, Isolation, Transaction, Write};
use std::time::Duration;

const ENGINES: [&str; 8] = ["ilock", "1v", "2pl-timeout", "lock-table", "2pl-waitfor", "2pl-dreadlocks", "hier", "sli"];
const THREADS: u64 = 8;
const ROWS: u64 = 64;
const ACCESSES: usize = 8;

/// A wait that lasts for so long waits for nothing.
const FOR_EVER: Duration = Duration::from_secs(60);

/// Blocks of each thread.
fn blocks() -> u64 {
    std::env::var("HOTROW_BLOCKS").ok().map_or(500, |text| text.parse().expect("HOTROW_BLOCKS is a number"))
}

/// A row, and whether it is written.
type Accesses = Vec<(i64, bool)>;

/// Different rows, the lower ones more often.
fn draw(random: &mut u64) -> Accesses {
    let mut accesses = Accesses::new();
    while accesses.len() < ACCESSES {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        let key = [8, 24, 40].map(|shift| (*random >> shift) % ROWS).into_iter().min().expect("there are three") as i64;
        if accesses.iter().all(|&(known, _)| known != key) {
            accesses.push((key, *random & 1 == 1));
        }
    }
    accesses
}

/// Sends one block, as a client does: nothing is known of it before.
fn attempt(txn: &mut dyn Transaction, table: TableId, accesses: &Accesses) -> Result<(), Abort> {
    txn.begin(&Begin::at(Isolation::Serializable))?;
    for &(key, writes) in accesses {
        txn.idle();
        if writes {
            let write = txn.update(table, &Key::Int(key), &mut |row| {
                let number = row.as_ref().int8(1);
                row.set_int8(1, number + 1);
                Ok(())
            });
            assert_eq!(write?, Write::Done);
        } else {
            assert!(txn.read(table, &Key::Int(key))?.is_some());
        }
    }
    txn.commit()
}

fn check(name: &str) {
    let engine = open(name).expect("the engine is in the registry");
    let columns = vec![Column::new("id", Type::Int8), Column::new("number", Type::Int8)];
    let table = engine.create_table(TableSchema::new("t", columns, &[0]));
    for key in 0..ROWS as i64 {
        let row = Row::from_values(&engine.layout(table), &[Value::Int8(key), Value::Int8(0)]);
        engine.load(table, row.as_ref()).expect("the keys differ");
    }
    let updates = AtomicI64::new(0);
    let session = || {
        let waiter = Waiter::thread(Duration::ZERO);
        waiter.set_lock_timeout(Some(FOR_EVER));
        engine.transaction(waiter)
    };
    thread::scope(|scope| {
        for number in 1..=THREADS {
            let (session, updates) = (&session, &updates);
            scope.spawn(move || {
                let mut txn = session();
                let mut random = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                for _ in 0..blocks() {
                    let accesses = draw(&mut random);
                    while let Err(abort) = attempt(&mut *txn, table, &accesses) {
                        assert_eq!(abort, Abort::Deadlock, "{name}");
                        txn.abort();
                    }
                    let writes = accesses.iter().filter(|&&(_, writes)| writes).count() as i64;
                    updates.fetch_add(writes, Ordering::AcqRel);
                }
            });
        }
    });
    let mut txn = session();
    txn.begin(&Begin::at(Isolation::Serializable)).expect("it locks nothing to begin");
    let number = |key| txn.read(table, &Key::Int(key)).expect("nobody is in the way").expect("it is there").int8(1);
    let sum: i64 = (0..ROWS as i64).map(number).sum();
    assert_eq!(sum, updates.load(Ordering::Acquire), "{name}");
    txn.commit().expect("it has only read");
    drop(txn);
    engine.audit().expect("nothing is left");
}

#[test]
fn every_block_gets_through_and_no_update_is_lost() {
    ENGINES.into_iter().for_each(check);
}
