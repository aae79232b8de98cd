//! One suite over every engine of the registry: what [`Transaction`](hotrow_txn::Transaction) promises, held against a
//! model.
//!
//! | file | what it asks |
//! | --- | --- |
//! | `cases` | each method, one case after the other |
//! | `constant` | constant tables, which are read without locks and never written |
//! | `logged` | a sink with a log, from which the database is recovered |
//! | `planned` | engines that need the access set: what is in it, outside of it, and beside it |
//! | `random` | sequences of calls against the model, shrunk when they differ |
//! | `redo` | what a redo sink is told, and when |
//! | `row_locks` | rows that another transaction has locked: passed over, or refused at once |
//! | `sessions` | two sessions: who waits, and how a wait ends |
//! | `versions` | engines that keep versions: who conflicts, and what is looked at again |
//! | `tables`, `observed` | the tables of the suite; how a test sees that a thread waits |

mod cases;
mod constant;
mod logged;
mod model;
mod observed;
mod planned;
mod random;
mod redo;
mod row_locks;
mod sessions;
mod tables;
mod versions;

use hotrow_protocols::{ENGINES, open};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Concurrency, Engine, Isolation};
use std::time::Duration;

/// Does `check` with a fresh database of every engine.
fn for_each_engine(mut check: impl FnMut(&Arc<dyn Engine>)) {
    for info in ENGINES {
        let engine = open(info.name).expect("it is in the registry");
        assert_eq!(engine.info(), info);
        check(&engine);
    }
}

/// Whether nobody waits under the engine, and who meets a conflict tries again.
fn retries_requests(engine: &Arc<dyn Engine>) -> bool {
    engine.info().capabilities.retries_requests
}

/// Whether the engine keeps versions, so that of two that write one row the second aborts at once, and nobody waits for
/// who writes. Those offer snapshots.
fn first_writer_wins(engine: &Arc<dyn Engine>) -> bool {
    engine.info().isolation.contains(&Isolation::Snapshot)
}

/// Whether the engine's transactions lock what they read, unless they say otherwise: who changes it waits before its
/// end.
fn writers_wait_for_readers(engine: &Arc<dyn Engine>) -> bool {
    engine.info().concurrency == Some(Concurrency::Pessimistic)
}

/// A waiter that refuses to wait: whoever would have to, aborts.
fn refusing() -> Waiter {
    let waiter = Waiter::thread(Duration::ZERO);
    waiter.cancel();
    waiter
}
