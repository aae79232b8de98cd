//! End timestamps: each transaction has one, which is the same for all observers and later than every time that was
//! read before, regardless of the transactions that help and of their delays.
//!
//! | broken | fails |
//! | --- | --- |
//! | the timestamp is drawn while the status says active | it |
//! | a helper's exchange does not carry the transaction's number | it |
//! | `look` reads the id before the status | it |
//! | `look` takes a transaction that wants a timestamp for an active one | it |

use super::super::clock::{Clock, Timestamp};
use super::super::status::State;
use super::super::transactions::Transactions;
use super::super::txn_id::TxnId;
use super::{check_times, together, waiter};
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, Mutex};
use std::collections::BTreeMap;

/// The transactions of one slot, and what threads know of them.
struct Scene {
    transactions: Transactions,
    clock: Clock,
    /// The id of the transaction that runs, as it would stand in a version.
    seen: AtomicU64,
    /// The end timestamps of the transactions, noted by the thread that ran them.
    ends: Mutex<BTreeMap<TxnId, Timestamp>>,
}

/// An observation of another thread: its read time, a transaction's id, and the transaction's state at that time.
type Sight = (Timestamp, TxnId, State);

impl Scene {
    fn run(&self, times: usize) {
        let mut id = TxnId(self.seen.load(Ordering::Acquire));
        for turn in 0..times {
            let before = self.clock.now();
            let time = self.transactions.precommit(id, &self.clock).expect("it waits for nobody");
            assert!(time > before, "an end at {time:?}, wanted later than {before:?}");
            self.ends.lock().expect("nobody panics under it").insert(id, time);
            match turn % 2 {
                0 => self.transactions.commit(id, time),
                _ => self.transactions.abort(id),
            }
            self.transactions.end(id);
            id = self.transactions.begin(id).expect("the slot is not used up");
            self.seen.store(id.0, Ordering::Release);
        }
    }

    fn look(&self, times: usize) -> Vec<Sight> {
        let look = |_| {
            let id = TxnId(self.seen.load(Ordering::Acquire));
            let read_time = self.clock.now();
            (read_time, id, self.transactions.look(id, &self.clock))
        };
        (0..times).map(look).collect()
    }
}

#[test]
fn everybody_knows_the_end_of_whoever_may_have_ended_before() {
    check_times(10, || {
        let (transactions, clock) = (Transactions::new(), Clock::new());
        let (_, last, _) = transactions.take(&waiter()).expect("there are slots");
        let first = transactions.begin(last).expect("the slot is not used up");
        let (seen, ends) = (AtomicU64::new(first.0), Mutex::new(BTreeMap::new()));
        let scene = Arc::new(Scene { transactions, clock, seen, ends });
        let sights = Arc::new(Mutex::new(Vec::new()));
        let looker = || -> Box<dyn FnOnce() + Send> {
            let (scene, sights) = (scene.clone(), sights.clone());
            Box::new(move || {
                let looked = scene.look(3);
                sights.lock().expect("nobody panics under it").extend(looked);
            })
        };
        let running = scene.clone();
        together(vec![Box::new(move || running.run(3)), looker(), looker()]);
        let ends = scene.ends.lock().expect("nobody panics under it");
        let times: Vec<_> = ends.values().collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "one after the other: {times:?}");
        for &(read_time, id, state) in sights.lock().expect("nobody panics under it").iter() {
            let end = ends.get(&id);
            match state {
                State::Active => assert!(end.is_none_or(|&end| end > read_time), "active at {read_time:?}, {end:?}"),
                State::Preparing(time) | State::Committed(time) => assert_eq!(end, Some(&time)),
                State::Aborted | State::Gone => assert!(end.is_some(), "it has not ended"),
            }
        }
    });
}
