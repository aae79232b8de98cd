//! Tests of what is inherited, of what becomes of it, and of each of the five criteria.

use super::super::Inherited;
use super::super::head::REMEMBERED;
use super::*;
use hotrow_sync::thread;
use std::ops::Range;

/// A world in which every lock is hot, and an inherited one goes at once if it is not used.
fn world() -> World<Inherited> {
    world_with_momentum(0)
}

/// A world in which every lock is hot.
fn world_with_momentum(momentum: u8) -> World<Inherited> {
    World::new(HierarchyConfig { hot_percent: 0, momentum, escalation: 10, ..HierarchyConfig::default() })
}

impl World<Inherited> {
    /// Returns the number of requests that all agents have inherited.
    fn inherited(&self) -> usize {
        self.instance.protocol().manager.agents.inherited()
    }

    /// Reads a row in a transaction of its own. Returns what that added to the counts.
    fn read_once(&self, txn: &mut Txn<Inherited>, key: i64) -> HierarchyStatistics {
        let before = counts(txn);
        txn.begin(&Begin::at(Isolation::Serializable)).expect("it begins");
        self.read(txn, key).expect("nothing is in the way");
        txn.commit().expect("it commits");
        counts(txn).since(&before)
    }

    /// Adds one to a row in a transaction of its own. Returns what that added to the counts.
    fn add_once(&self, txn: &mut Txn<Inherited>, key: i64) -> HierarchyStatistics {
        let before = counts(txn);
        txn.begin(&Begin::at(Isolation::Serializable)).expect("it begins");
        self.add(txn, key).expect("nothing is in the way");
        txn.commit().expect("it commits");
        counts(txn).since(&before)
    }

    /// Reads a row of another table in a transaction of its own. Returns what that added to the counts.
    fn read_elsewhere_once(&self, txn: &mut Txn<Inherited>) -> HierarchyStatistics {
        let before = counts(txn);
        txn.begin(&Begin::at(Isolation::Serializable)).expect("it begins");
        txn.read(self.tables[1], &Key::Int(3)).expect("nothing is in the way");
        txn.commit().expect("it commits");
        counts(txn).since(&before)
    }

    /// Takes the table away from the agent that has it: another thread locks all rows and gaps, and so the table as a
    /// whole.
    fn take_away(&self) {
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut other = self.begin();
                self.sum(&mut other).expect("no transaction is in the way");
                assert_eq!((other.statistics().waits, self.held()), (0, 2));
                other.abort();
            });
        });
    }

    /// Locks a whole page by many accesses of a transaction.
    fn lock_page(&self, txn: &mut Txn<Inherited>, access: impl Fn(&Self, &mut Txn<Inherited>, Range<i64>)) {
        let before = counts(txn).escalations;
        access(self, txn, 0..10);
        assert_eq!(counts(txn).escalations, before + 1);
    }

    /// Makes the last requests for a lock look as if they had met contention.
    fn heat(&self, place: Place) {
        self.instance.protocol().manager.heat(place.lock());
    }

    fn page_of_row_3(&self) -> Place {
        let mut txn = self.begin();
        self.read(&mut txn, 3).expect("nothing is in the way");
        let page = txn.locks().locker.page();
        txn.abort();
        page.expect("it has locked a page")
    }
}

#[test]
fn a_transaction_inherits_from_the_one_before_on_its_thread() {
    let world = world();
    let mut txn = world.idle();
    assert_eq!(world.read_once(&mut txn, 3).inherited, 3);
    world.assert_at_rest();
    let mut next = world.idle();
    let counted = world.read_once(&mut next, 40);
    assert_eq!((counted.used, counted.inherited, counted.discarded, counted.invalidated), (3, 3, 0, 0));
    assert_eq!((counted.databases, counted.tables, counted.pages), (1, 1, 1));
    let elsewhere = thread::scope(|scope| {
        let world = &world;
        let other = scope.spawn(move || world.read_once(&mut world.idle(), 3));
        other.join().expect("the thread ends")
    });
    assert_eq!(elsewhere.used, 0, "another thread is another agent");
    world.assert_at_rest();
}

/// Criterion 1: the lock is on a page or higher.
#[test]
fn no_row_lock_is_inherited() {
    let world = world();
    let mut txn = world.idle();
    assert_eq!(world.read_once(&mut txn, 3).inherited, 3);
    assert_eq!(world.inherited(), 3);
    assert_eq!(txn.statistics().locks, 4);
}

/// Criterion 2: the lock is hot. Criterion 5: so are the locks above it.
#[test]
fn only_locks_are_inherited_that_are_hot_and_whose_parents_are() {
    let config = HierarchyConfig { hot_percent: 50, ..HierarchyConfig::default() };
    let world = World::<Inherited>::new(config);
    let (table, page, mut txn) = (world.table(), world.page_of_row_3(), world.idle());
    assert_eq!(world.read_once(&mut txn, 3).inherited, 0, "all are cold");
    world.heat(page);
    assert_eq!(world.read_once(&mut txn, 3).inherited, 0, "its parents are cold");
    world.heat(page);
    world.heat(table);
    let counted = world.read_once(&mut txn, 3);
    assert_eq!((counted.inherited, counted.hot, counted.hot_heritable, counted.heritable), (0, 2, 0, 3));
    for _ in 0..REMEMBERED {
        assert_eq!(world.read_once(&mut txn, 3).inherited, 0);
    }
    world.heat(Place::DATABASE);
    world.heat(table);
    let counted = world.read_once(&mut txn, 3);
    assert_eq!((counted.inherited, counted.hot), (2, 2), "the page is cold by now");
}

/// Criterion 3: the lock is held in a shared mode.
#[test]
fn no_exclusive_lock_is_inherited() {
    let world = world();
    let mut txn = world.begin();
    world.lock_page(&mut txn, World::add_all);
    txn.commit().expect("it commits");
    assert_eq!((counts(&mut txn).inherited, world.inherited()), (2, 2), "the database and the table, but not the page");
    thread::scope(|scope| {
        scope.spawn(|| world.read_once(&mut world.idle(), 3));
    });
    world.assert_at_rest();
}

/// Criterion 4: no other transaction waits for the lock. If the lock were inherited, the transaction would wait in
/// vain.
#[test]
fn no_lock_is_inherited_for_which_a_transaction_waits() {
    let world = world();
    let mut txn = world.begin();
    world.lock_page(&mut txn, World::read_all);
    thread::scope(|scope| {
        let world = &world;
        let writer = scope.spawn(move || {
            let waiter = Waiter::thread(Duration::ZERO);
            let mut txn = world.instance.transaction(&mut world.instance.worker(WorkerId(0)), waiter);
            txn.begin(&Begin::at(Isolation::Serializable)).expect("it begins");
            world.add(&mut txn, 40).expect("it gets the row");
            txn.commit().expect("it commits");
        });
        while world.instance.lock_waits().is_empty() {
            thread::yield_now();
        }
        txn.commit().expect("it commits");
        writer.join().expect("the writer ends");
    });
    assert_eq!(counts(&mut txn).inherited, 2);
    world.assert_at_rest();
}

/// Criterion 5, where the parent is not shared: see also the test of criterion 2.
/// Criterion 5: the locks above it are heritable. The table is locked in the mode SIX, which is not shared.
#[test]
fn no_lock_is_inherited_below_one_that_is_not() {
    let world = world();
    let mut txn = world.begin();
    world.sum(&mut txn).expect("nothing is in the way");
    assert_eq!(world.held(), 2, "the table is locked as a whole");
    assert_eq!(world.add(&mut txn, 3), Ok(Write::Done));
    txn.commit().expect("it commits");
    assert_eq!(counts(&mut txn).inherited, 1, "the database alone");
    world.assert_at_rest();
}

#[test]
fn a_conflicting_transaction_takes_inherited_locks_away_and_orphans_go_with_their_parents() {
    let world = world();
    let mut txn = world.idle();
    assert_eq!(world.add_once(&mut txn, 3).inherited, 3);
    world.take_away();
    let counted = world.add_once(&mut txn, 3);
    assert_eq!((counted.used, counted.invalidated, counted.discarded), (1, 2, 0), "the page is an orphan");
    world.assert_at_rest();
}

/// The table is taken away, and the page is not. The page's lock is not used without the table's.
#[test]
fn a_lock_whose_parent_was_taken_away_is_an_orphan() {
    let world = world();
    let mut txn = world.idle();
    assert_eq!(world.add_once(&mut txn, 3).inherited, 3);
    thread::scope(|scope| {
        let world = &world;
        scope.spawn(move || {
            let mut other = world.begin();
            // So many absent keys that the table is locked as a whole.
            world.read_all(&mut other, 1000..1100);
            assert_eq!((counts(&mut other).escalations, counts(&mut other).pages), (1, 0));
            other.abort();
        });
    });
    let counted = world.add_once(&mut txn, 3);
    assert_eq!((counted.used, counted.invalidated, counted.discarded), (1, 2, 0));
    world.assert_at_rest();
}

#[test]
fn what_was_inherited_in_a_weaker_mode_is_released_first() {
    let world = world();
    let mut txn = world.idle();
    world.read_once(&mut txn, 3);
    let counted = world.add_once(&mut txn, 3);
    assert_eq!((counted.used, counted.invalidated + counted.discarded, counted.inherited), (0, 3, 3));
    assert_eq!(world.add_once(&mut txn, 4).used, 3);
    world.assert_at_rest();
}

/// §4.3: a transaction holds an inherited lock in the mode that it has asked for, and not in the mode of the one
/// before.
#[test]
fn the_rest_of_an_inherited_mode_keeps_no_transaction_waiting() {
    let world = world();
    let mut txn = world.idle();
    world.add_once(&mut txn, 3);
    txn.begin(&Begin::at(Isolation::Serializable)).expect("it begins");
    world.read(&mut txn, 3).expect("nothing is in the way");
    thread::scope(|scope| {
        let world = &world;
        scope.spawn(move || {
            let mut other = world.begin();
            world.sum(&mut other).expect("readers are not in the way");
            assert_eq!((other.statistics().waits, counts(&mut other).escalations), (0, 2));
            other.commit().expect("it commits");
        });
    });
    // The rest was taken away, so the lock manager is asked.
    let before = counts(&mut txn).tables;
    world.add(&mut txn, 5).expect("the other transaction is over");
    assert_eq!(counts(&mut txn).tables, before + 1);
    txn.commit().expect("it commits");
    world.assert_at_rest();
}

#[test]
fn the_rest_of_an_inherited_mode_needs_no_lock_manager() {
    let world = world();
    let mut txn = world.idle();
    world.add_once(&mut txn, 3);
    let before = counts(&mut txn);
    txn.begin(&Begin::at(Isolation::Serializable)).expect("it begins");
    world.read(&mut txn, 3).expect("nothing is in the way");
    world.add(&mut txn, 4).expect("nothing is in the way");
    txn.commit().expect("it commits");
    let counted = counts(&mut txn).since(&before);
    assert_eq!((counted.databases, counted.tables, counted.pages, counted.used), (1, 1, 1, 3));
    world.assert_at_rest();
}

#[test]
fn what_is_not_used_goes_at_the_next_end() {
    let world = world();
    let mut txn = world.idle();
    world.read_once(&mut txn, 3);
    let counted = world.read_elsewhere_once(&mut txn);
    assert_eq!((counted.used, counted.discarded, counted.inherited), (1, 2, 3));
    assert_eq!(world.inherited(), 3);
    world.assert_at_rest();
}

/// §4.4: a lock is kept for as many transactions that do not use it as the momentum says.
#[test]
fn momentum_keeps_what_is_not_used_for_some_transactions() {
    let world = world_with_momentum(2);
    let mut txn = world.idle();
    world.read_once(&mut txn, 3);
    let elsewhere = |txn: &mut Txn<Inherited>| {
        let counted = world.read_elsewhere_once(txn);
        (counted.used, counted.discarded, counted.inherited)
    };
    // The table and page of the first read stay beside the database, and the table and page of this one.
    assert_eq!((elsewhere(&mut txn), world.inherited()), ((1, 0, 3), 5));
    assert_eq!((elsewhere(&mut txn), world.inherited()), ((3, 0, 3), 5));
    assert_eq!(world.read_once(&mut txn, 3).used, 3, "a use begins the count anew");
    assert_eq!((elsewhere(&mut txn), elsewhere(&mut txn)), ((3, 0, 3), (3, 0, 3)));
    assert_eq!((elsewhere(&mut txn), world.inherited()), ((3, 2, 3), 3));
    world.assert_at_rest();
}

/// A lock that the momentum keeps is in nobody's way, and is not kept any longer once it was taken away.
#[test]
fn a_conflicting_transaction_takes_away_what_momentum_keeps() {
    let world = world_with_momentum(2);
    let mut txn = world.idle();
    world.add_once(&mut txn, 3);
    world.read_elsewhere_once(&mut txn);
    assert_eq!(world.inherited(), 5);
    world.take_away();
    let counted = world.read_elsewhere_once(&mut txn);
    assert_eq!((counted.used, counted.invalidated, counted.discarded), (3, 2, 0), "the table and its page are gone");
    assert_eq!(world.inherited(), 5, "two of them by the other thread");
    world.assert_at_rest();
}

#[test]
fn an_agent_that_has_ended_keeps_no_transaction_waiting() {
    let world = world();
    thread::scope(|scope| {
        scope.spawn(|| world.add_once(&mut world.idle(), 3));
    });
    assert_eq!(world.inherited(), 3);
    let mut txn = world.begin();
    world.sum(&mut txn).expect("no transaction is in the way");
    assert_eq!(txn.statistics().waits, 0);
    txn.commit().expect("it commits");
    world.assert_at_rest();
}

#[test]
fn transactions_of_one_thread_that_overlap_inherit_once() {
    let world = world();
    let (mut first, mut second) = (world.idle(), world.idle());
    world.read_once(&mut first, 3);
    first.begin(&Begin::at(Isolation::Serializable)).expect("it begins");
    second.begin(&Begin::at(Isolation::Serializable)).expect("it begins");
    world.read(&mut first, 3).expect("nothing is in the way");
    world.read(&mut second, 3).expect("nothing is in the way");
    let (before_first, before_second) = (counts(&mut first), counts(&mut second));
    first.commit().expect("it commits");
    second.commit().expect("it commits");
    assert_eq!(before_second.used, 0);
    assert_eq!(counts(&mut first).since(&before_first).inherited, 3);
    assert_eq!(counts(&mut second).since(&before_second).inherited, 0, "the agent has such locks already");
    assert_eq!(world.inherited(), 3);
    world.assert_at_rest();
}
