//! Ordered locking: the access set first, all its locks in one order, no deadlock logic: `2pl-ordered`,
//! `2pl-ordered-split`.
//!
//! **Paper.** Ren, Faleiro, Abadi: Design Principles for Scaling Multi-core OLTP Under High Contention, §3.2 and §4,
//! the baseline *Deadlock-free locking*.
//!
//! **The idea.** A transaction declares what it will touch before it begins. Its keys are looked up together, and its
//! locks are taken in one order that all transactions share; so no transaction ever waits for one that waits for it.
//! While it runs it waits for nothing. A row that the access set lacks ends the attempt and is added to the set for the
//! next one.
//!
//! | paper | code |
//! | --- | --- |
//! | read- and write-sets, known in advance | [`Accesses`](hotrow_txn::Accesses), made into a [`Plan`](plan::Plan) |
//! | lexicographical order of lock requests | [`Plan::locks`](plan::Plan::locks) |
//! | lock table, latch per bucket, no intention locks | [`shared::lock_table`](crate::shared::lock_table) |
//! | access estimate was wrong: update it, abort, restart | [`Abort::OutsidePlan`](hotrow_txn::Abort::OutsidePlan), [`add_missing`](hotrow_txn::Planned::add_missing) |
//! | index split across worker threads (§4.3, *Split Deadlock-free*) | [`Split`], [`TableSchema::partitioned`](hotrow_storage::TableSchema::partitioned) |
//! | reconnaissance | [`Begin::reconnaissance`](hotrow_txn::Begin::reconnaissance) |
//!
//! **Invariants**
//!
//! 1. *No deadlock.* A transaction waits for locks in [`begin`](hotrow_txn::Transaction::begin) only, and there asks
//!    for each name once, in all the modes that it needs, and for names in ascending order. A transaction that waits
//!    for a name waits for holders of it and for requests before its own. Holders wait, if at all, for greater names;
//!    requests before it wait for the same name and are nearer to its queue's front. So along the edges of the wait-for
//!    graph the pair of name and nearness grows, and no path comes back to where it began.
//! 2. *Two-phase.* All locks are held to the transaction's end. A lock that an insert or a scan finds it needs beside
//!    the plan (a new key's row, a gap that has moved) is taken if it is free at once, which waits for nothing, or else
//!    ends the attempt. So the argument of [`shared::gaps`](crate::shared::gaps) about phantoms holds as it stands: the
//!    scan itself asks for every lock that it needs, and finds most of them held.
//! 3. A row outside the plan is not touched, unless the transaction has locked it by an insert or a scan.
//! 4. A transaction without a plan, or whose plan does not hold still, is alone in the database:
//!    [`shared::gate`](crate::shared::gate). It takes no locks.
//! 5. A reconnaissance holds one lock at a time, on a row and shared, so no cycle of waits contains it. It is
//!    inside the gate as planned transactions are.
//!
//! # Departures
//!
//! The order is that of the locks' names, which are hashes of tables and keys, and not that of the keys: it is as
//! total, and the lock table knows nothing else. Which of two locks comes first is then as good as random, so a hot
//! row's lock is taken in the middle of a transaction on average.
//!
//! The paper locks records whose keys are known. Here ranges and index entries are in the set too: a range stands for
//! the rows and gaps that are in it when the locks are asked for. When all of them are held the indexes are walked
//! again; if there is more now, everything is released and asked for anew, a few times, and then the transaction keeps
//! the whole database.
//!
//! A transaction that cannot declare what it will touch, such as an interactive one, is not in the paper.

mod indexing;
mod plan;
mod transaction;
mod wait_phase;

pub use indexing::{Indexing, Split, SplitConfig, Whole};
pub use transaction::{OrderedTransaction, PlannedLocking};

use crate::shared::gate::Gate;
use crate::shared::lock_table::LockTable;
use crate::shared::locking::LockingTransaction;
use hotrow_storage::{Database, Table};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{EngineInfo, LockWait, Protocol, WorkerId};
use std::marker::PhantomData;
use std::time::Duration;

/// The protocol of `2pl-ordered` and `2pl-ordered-split`: a transaction takes all its locks before it runs, in one
/// order. `I` says how the primary indexes are divided.
pub struct Ordered<I: Indexing> {
    config: OrderedConfig<I::Config>,
    table: Arc<LockTable>,
    gate: Arc<Gate>,
    indexing: PhantomData<I>,
}

/// Knobs of [`Ordered`], including the knobs `C` of its indexes.
#[derive(Clone, Debug)]
pub struct OrderedConfig<C> {
    /// The number of buckets of the lock table, rounded up to a power of two. A bucket takes 64 bytes.
    pub buckets: usize,
    /// The longest time that a transaction waits for one lock, or for the whole database, before it is aborted.
    /// Deadlocks do not occur, but a client may hold locks and never end its transaction.
    pub wait_limit: Duration,
    /// The knobs of the indexes.
    pub indexing: C,
}

impl<C: Default> Default for OrderedConfig<C> {
    fn default() -> Self {
        Self { buckets: 1 << 16, wait_limit: Duration::from_secs(10), indexing: C::default() }
    }
}

impl<I: Indexing> Protocol for Ordered<I> {
    const INFO: EngineInfo = I::INFO;
    type Config = OrderedConfig<I::Config>;
    type Table = Table<()>;
    type Worker = ();
    type Transaction = OrderedTransaction;

    fn new(config: Self::Config) -> Self {
        Self { table: LockTable::new(config.buckets), gate: Gate::new(), config, indexing: PhantomData }
    }

    fn parts(&self) -> usize {
        I::parts(&self.config.indexing)
    }

    fn lock_waits(&self) -> Vec<LockWait> {
        self.table.waits()
    }

    fn worker(&self, _id: WorkerId) {}

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Database<()>>,
        _worker: &mut (),
        waiter: Waiter,
    ) -> OrderedTransaction {
        let locking = PlannedLocking::new(&self.gate, &self.table, waiter, self.config.wait_limit);
        LockingTransaction::new(database, locking)
    }
}
