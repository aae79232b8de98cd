//! Real threads on the small table, then the checker.

use crate::engines::settings;
use crate::script::{End, Mix, Script};
use crate::table::{Fixture, KEYS};
use hotrow_check::Recorder;
use hotrow_protocols::ENGINES;
use hotrow_runtime::{Planner, Random};
use hotrow_sync::{Waiter, thread};
use hotrow_txn::{Abort, Isolation, Transaction};
use std::time::Duration;

/// How much each engine is used at each level. A history is not to be much longer: scans are compared with every item, and
/// every transaction is a node.
const TRANSACTIONS_PER_THREAD: usize = 400;

fn work(fixture: &Fixture, isolation: Isolation, seed: u64) {
    let mut random = Random::new(seed);
    let waiter = Waiter::thread(Duration::from_micros(5));
    let connect = || Recorder::new(fixture.engine.transaction(waiter.clone()), &fixture.recording, "thread");
    let mut txn = connect();
    let mut planner = Planner::default();
    for _ in 0..TRANSACTIONS_PER_THREAD {
        let mix = if random.chance(50) { Mix::Everything(KEYS) } else { Mix::Phantoms };
        let script = Script::random(&mut random, fixture, isolation, mix, true);
        planner.begin(txn.needs_accesses(), &script);
        let ended = script.call(&mut txn, &mut planner).and_then(|()| match script.end {
            End::Commit => txn.commit(),
            End::Rollback => Err(Abort::User),
            End::Vanish => {
                txn = connect();
                Ok(())
            }
        });
        if ended.is_err() {
            txn.abort();
        }
    }
}

#[test]
fn threads_are_isolated() {
    for info in ENGINES.iter().filter(|info| info.isolates) {
        for &isolation in info.isolation {
            let fixture = Fixture::open(info.name, &settings(0), true);
            thread::scope(|scope| {
                for seed in 0..3 {
                    let fixture = &fixture;
                    scope.spawn(move || work(fixture, isolation, seed));
                }
            });
            let judged = fixture.check_all();
            assert!(judged.is_ok(), "{} at {isolation}: {}", info.name, judged.expect_err("wrong"));
            let committed = fixture.recording.history().transactions.iter().filter(|t| t.is_committed()).count();
            assert!(committed > 10, "{} at {isolation} committed {committed}", info.name);
        }
    }
}
