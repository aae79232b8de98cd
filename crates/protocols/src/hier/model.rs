//! Every interleaving of two requests under `--cfg loom`, and random interleavings of whole transactions with
//! inheritance and escalation under `--cfg shuttle`. In the latter every latch and every word of a request is a place
//! to switch threads at. shuttle has no time: it reports a lost wake-up, or a deadlock that no transaction finds, as a
//! deadlock of its own.
//!
//! | broken | fails |
//! | --- | --- |
//! | a request that is awaited is passed on | `what_is_inherited_is_reclaimed_or_taken_away` |
//! | a conflicting inherited request counts as taken away though it was reclaimed | the same |

#[cfg(shuttle)]
mod random {
    use super::super::{Hierarchical, HierarchyConfig, Inherited, Released, Variant};
    use crate::Instance;
    use hotrow_storage::{Column, Key, Row, TableId, TableSchema, Type, Value};
    use hotrow_sync::{Arc, Waiter, thread};
    use hotrow_txn::{Abort, Begin, Engine, Inspection, Isolation, Transaction, WorkerId, Write};
    use std::time::Duration;

    fn iterations() -> usize {
        std::env::var("HOTROW_MODEL_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
    }

    /// The keys of the table: 0 to 3.
    const KEYS: i64 = 4;

    /// The key of a row that is inserted and taken back.
    const PASSING: i64 = 9;

    /// A transaction of a model.
    #[derive(Clone, Copy)]
    enum Work {
        /// Moves one from a row to another one.
        Move(i64, i64),
        /// Adds up all rows, so many that the page is locked as a whole.
        AddUp,
        /// Inserts a row and takes it back.
        Insert,
        /// Looks for the row that is inserted and taken back.
        Look,
    }

    struct World<V: Variant> {
        instance: Arc<Instance<Hierarchical<V>>>,
        table: TableId,
    }

    impl<V: Variant> World<V> {
        fn new(escalation: usize) -> Arc<Self> {
            // No wait may end by time, also if the machine is busy with other things.
            let wait_limit = Duration::from_secs(3600);
            let config =
                HierarchyConfig { buckets: 4, escalation, hot_percent: 0, wait_limit, ..HierarchyConfig::default() };
            let instance = Instance::new(config);
            let columns = vec![Column::new("key", Type::Int8), Column::new("number", Type::Int8)];
            let table = instance.create_table(TableSchema::new("t", columns, &[0]));
            let world = Self { instance, table };
            (0..KEYS).for_each(|key| world.instance.load(table, world.row(key).as_ref()).expect("the key is new"));
            Arc::new(world)
        }

        fn row(&self, key: i64) -> Row {
            Row::from_values(&self.instance.layout(self.table), &[Value::Int8(key), Value::Int8(0)])
        }

        fn attempt(&self, txn: &mut impl Transaction, work: Work) -> Result<(), Abort> {
            match work {
                Work::Move(from, to) => {
                    for (key, by) in [(from, -1), (to, 1)] {
                        let updated = txn.update(self.table, &Key::Int(key), &mut |row| {
                            let number = row.as_ref().int8(1);
                            row.set_int8(1, number + by);
                            Ok(())
                        });
                        assert_eq!(updated?, Write::Done);
                        thread::yield_now();
                    }
                }
                Work::AddUp => {
                    let mut sum = 0;
                    for key in 0..KEYS {
                        sum += txn.read(self.table, &Key::Int(key))?.expect("the row is there").int8(1);
                    }
                    assert_eq!(sum, 0);
                }
                Work::Insert => {
                    assert_eq!(txn.insert(self.table, self.row(PASSING).as_ref())?, Write::Done);
                    thread::yield_now();
                    return Err(Abort::User);
                }
                Work::Look => {
                    for key in 0..2 {
                        txn.read(self.table, &Key::Int(key))?;
                    }
                    assert!(txn.read(self.table, &Key::Int(PASSING))?.is_none(), "the insert is taken back");
                }
            }
            Ok(())
        }

        /// Runs transactions one after the other, each until it has committed or was cancelled.
        fn run(&self, waiter: &Waiter, works: &[Work]) {
            let mut txn = self.instance.transaction(&mut self.instance.worker(WorkerId(0)), waiter.clone());
            for &work in works {
                loop {
                    txn.begin(&Begin::at(Isolation::Serializable)).expect("it begins");
                    let done = self.attempt(&mut txn, work).and_then(|()| txn.commit());
                    txn.abort();
                    waiter.clear_cancel();
                    match done {
                        Ok(()) | Err(Abort::User | Abort::Cancelled) => break,
                        Err(Abort::Deadlock) => {}
                        Err(other) => panic!("{other:?}"),
                    }
                }
            }
        }

        /// Asserts that no transaction has left anything behind that keeps another one waiting.
        fn assert_at_rest(&self) {
            self.instance.audit().expect("the invariants hold");
            assert_eq!(self.instance.protocol().manager.usage(), (0, 0));
            self.run(&Waiter::thread(Duration::ZERO), &[Work::AddUp, Work::Move(0, 1)]);
        }
    }

    /// Runs the transactions of each thread. `cancels` says whether the first thread is cancelled at any time.
    fn check<V: Variant>(escalation: usize, cancels: bool, threads: &'static [&'static [Work]]) {
        let model = move || {
            let world = World::<V>::new(escalation);
            let spawn = |works: &'static [Work]| {
                let (world, waiter) = (world.clone(), Waiter::thread(Duration::ZERO));
                let own = waiter.clone();
                (thread::spawn(move || world.run(&own, works)), waiter)
            };
            let threads: Vec<_> = threads.iter().map(|works| spawn(works)).collect();
            if cancels {
                threads[0].1.cancel();
            }
            threads.into_iter().for_each(|(thread, _)| thread.join().expect("no thread panics"));
            world.assert_at_rest();
        };
        shuttle::check_random(model, iterations());
    }

    use Work::{AddUp, Insert, Look, Move};

    #[test]
    fn what_is_inherited_is_reclaimed_or_taken_away() {
        // The page is locked as a whole by the second thread, whatever the first one inherits.
        check::<Inherited>(2, false, &[&[Move(0, 1), Move(2, 3)], &[AddUp, AddUp]]);
        check::<Inherited>(2, false, &[&[Move(0, 1), AddUp], &[AddUp, Move(2, 0)], &[Move(3, 2)]]);
    }

    #[test]
    fn inherited_locks_close_no_circle() {
        check::<Inherited>(0, false, &[&[Move(0, 1), Move(1, 0)], &[Move(1, 0), Move(0, 1)], &[AddUp, Move(2, 1)]]);
    }

    #[test]
    fn a_cancelled_transaction_leaves_nothing_behind() {
        check::<Inherited>(2, true, &[&[AddUp, Move(0, 1)], &[Move(1, 2), Move(2, 1)]]);
        check::<Released>(2, true, &[&[Move(0, 1), AddUp], &[Move(1, 0), AddUp]]);
    }

    #[test]
    fn a_lock_on_a_page_covers_no_insert_that_may_be_taken_back() {
        check::<Released>(2, false, &[&[Insert, Insert], &[Look, Look], &[Move(0, 1)]]);
        check::<Inherited>(2, false, &[&[Insert, Move(0, 1)], &[Look, AddUp]]);
    }

    #[test]
    fn conversions_meet() {
        check::<Released>(3, false, &[&[AddUp, Move(3, 0)], &[AddUp, Move(0, 3)], &[Move(1, 2), AddUp]]);
    }
}

/// Every interleaving of the owner of a request with a conflicting request, with a value that both access.
#[cfg(loom)]
mod every {

    use super::super::mode::Mode;
    use super::super::request::{Admitted, Request, State};
    use crate::shared::lock_table::OwnerId;
    use hotrow_sync::atomic::{AtomicU64, Ordering};
    use hotrow_sync::{Arc, Latch, thread};

    const AGENT: OwnerId = OwnerId(1);

    /// A lock with one granted request, and the value that the lock protects.
    struct Scene {
        request: Request,
        /// The head's latch, with the number of waiters.
        head: Latch<usize>,
        /// The value. It is accessed as plain memory is.
        value: AtomicU64,
    }

    impl Scene {
        fn read(&self) -> u64 {
            // Relaxed: the lock orders the accesses.
            self.value.load(Ordering::Relaxed)
        }

        /// Asks for the lock exclusively. Returns whether it was granted at once; then the value was changed.
        fn write(&self, awaits: bool) -> bool {
            let mut waiting = self.head.lock();
            if self.request.admits(Mode::X, awaits) == Admitted::Not {
                *waiting += usize::from(awaits);
                return false;
            }
            // Relaxed: as in `read`.
            self.value.store(self.value.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            true
        }
    }

    /// The owner reads, passes the lock on, reclaims it and reads again, while another transaction asks for it.
    fn check(awaits: bool) {
        loom::model(move || {
            let scene = Arc::new(Scene { request: Request::default(), head: Latch::new(0), value: AtomicU64::new(0) });
            scene.request.set(State::granted(AGENT, Mode::S, false));
            let writer = scene.clone();
            let writer = thread::spawn(move || writer.write(awaits));
            let before = scene.read();
            if scene.request.pass_on() {
                if scene.request.reclaim(AGENT, Mode::S) {
                    assert_eq!(scene.read(), before, "it holds the lock as if it had never passed it on");
                    assert_eq!(scene.request.state().held, Mode::S);
                } else {
                    assert_eq!(scene.request.state().mode, Mode::None);
                }
            } else {
                // A transaction waits, so the owner releases the lock under the latch, and sees that.
                assert!(awaits && *scene.head.lock() == 1);
            }
            let written = writer.join().expect("the writer ends");
            let state = scene.request.state();
            assert_eq!(written, state.mode == Mode::None, "{state:?}");
        });
    }

    #[test]
    fn an_inherited_request_is_reclaimed_or_taken_away() {
        check(false);
    }

    #[test]
    fn a_request_for_which_a_transaction_waits_is_not_passed_on() {
        check(true);
    }

    /// The owner strengthens its mode by what it has inherited, while another transaction takes that away.
    #[test]
    fn the_rest_of_an_inherited_mode_is_used_or_taken_away() {
        loom::model(|| {
            let request = Arc::new(Request::default());
            request.set(State { owner: AGENT, held: Mode::IS, mode: Mode::IX, awaited: false });
            let other = request.clone();
            let reader = thread::spawn(move || other.admits(Mode::S, false));
            let strengthened = request.strengthen(Mode::IX);
            let admitted = reader.join().expect("the reader ends");
            assert_eq!(admitted, if strengthened { Admitted::Not } else { Admitted::Beside });
            let mode = if strengthened { Mode::IX } else { Mode::IS };
            assert_eq!(request.state(), State { owner: AGENT, held: mode, mode, awaited: false });
        });
    }
}
