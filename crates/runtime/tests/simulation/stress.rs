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

/// The number of transactions of a thread, for each engine at each level. A history must not be much longer: scans are
/// compared with every item, and every transaction is a node.
const TRANSACTIONS_PER_THREAD: usize = 400;

/// Keys, where transactions meet all the time, and where they do now and then.
const FEW_AND_MANY: [i64; 2] = [KEYS, 1000];

fn work(fixture: &Fixture, isolation: Isolation, keys: i64, seed: u64) {
    let mut random = Random::new(seed);
    let waiter = Waiter::thread(Duration::from_micros(5));
    let connect = || Recorder::new(fixture.engine.transaction(waiter.clone()), &fixture.recording, "thread");
    let mut txn = connect();
    let mut planner = Planner::default();
    for _ in 0..TRANSACTIONS_PER_THREAD {
        let mix =
            *random.pick(&[Mix::Everything(keys), Mix::Everything(keys), Mix::Phantoms, Mix::Walks, Mix::Upgrades]);
        let script = Script::random(&mut random, fixture, isolation, mix, true);
        planner.begin(txn.capabilities(), &script);
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
        for (&isolation, keys) in info.isolation.iter().flat_map(|level| FEW_AND_MANY.map(|keys| (level, keys))) {
            let fixture = Fixture::open(info.name, &settings(0), true, 2);
            thread::scope(|scope| {
                for seed in 0..3 {
                    let fixture = &fixture;
                    scope.spawn(move || work(fixture, isolation, keys, seed));
                }
            });
            let judged = fixture.check_all();
            assert!(judged.is_ok(), "{} at {isolation}, {keys} keys: {}", info.name, judged.expect_err("wrong"));
            let committed = fixture.recording.history().transactions.iter().filter(|t| t.is_committed()).count();
            assert!(committed > 10, "{} at {isolation}, {keys} keys, committed {committed}", info.name);
        }
    }
}
