//! One suite over every engine of the registry: what [`Transaction`](hotrow_txn::Transaction) promises, held against a
//! model.
//!
//! | file | what it asks |
//! | --- | --- |
//! | `cases` | each method, one case after the other |
//! | `planned` | engines that need the access set: what is in it, outside of it, and beside it |
//! | `random` | sequences of calls against the model, shrunk when they differ |
//! | `redo` | what a redo sink is told, and when |
//! | `sessions` | two sessions: who waits, and how a wait ends |

mod cases;
mod model;
mod observed;
mod planned;
mod random;
mod redo;
mod sessions;
mod tables;

use hotrow_protocols::{ENGINES, open};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::Engine;
use std::time::Duration;

/// Does `check` with a fresh database of every engine.
fn for_each_engine(mut check: impl FnMut(&Arc<dyn Engine>)) {
    for info in ENGINES {
        let engine = open(info.name).expect("it is in the registry");
        assert_eq!(engine.info(), info);
        check(&engine);
    }
}

/// A waiter that refuses to wait: whoever would have to, aborts.
fn refusing() -> Waiter {
    let waiter = Waiter::thread(Duration::ZERO);
    waiter.cancel();
    waiter
}
