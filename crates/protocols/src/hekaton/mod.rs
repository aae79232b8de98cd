//! `mvo` and `mvl`: multiversion concurrency control, optimistic and pessimistic.
//!
//! **Source.** Larson, Blanas, Diaconu, Freedman, Patel, Zwilling: "High-Performance Concurrency Control Mechanisms for Main-Memory
//! Databases", §2 to §4.
//!
//! **The idea.** An update makes a new version of the row, beside the old one. A version says in two words from when until when it is
//! the row, so a transaction reads as of one time, waits for nobody, and keeps nobody waiting. Until its maker has ended, a version's
//! words name the maker, and whoever meets it asks how far that one has come. Who writes takes the version's write lock, which is
//! its End word; the first one to come wins. How a transaction that must be serializable sees to that, it can choose:
//!
//! - An *optimistic* one (MV/O) reads as of its beginning, and looks at its end whether all that it has read is the same at its end
//!   timestamp: then it is as if it had run in that moment.
//! - A *pessimistic* one (MV/L) reads the latest, and locks it: versions, and the places in indexes where no other may come to be. A lock
//!   refuses nobody; but who replaces a version that is locked, or links one into such a place, ends after the one that has the lock.
//!
//! Both are there at once. What pessimists ask of others, which is to end after them, optimists and those at lower levels do as well
//! (§4.5). An engine is named for what its transactions are that do not say.
//!
//! A transaction that has its end timestamp, but may abort yet, is taken to commit by those that meet it (speculative reads, speculative
//! ignores); they then depend on it, and do not commit before it.
//!
//! **Waits.** Before it has an end timestamp a transaction waits for the holders of locks on what it changed, at no other moment than
//! its end; such waits can come round in a circle, which is found. With an end timestamp it waits for those that it depends on, which
//! have earlier ones: nobody waits there in a circle. Where no pessimist is, the first kind of wait does not occur. A transaction that lost a row to the
//! first writer waits for that one only if its caller says that it [gives way](hotrow_txn::Yielding::give_way); such waits can be part of a
//! circle, too, and are found by the same search.
//!
//! **One hot row on several threads** is slower than on one where every transaction updates the same row (`bench micro
//! --hot-records 1`). There no two transactions can run side by side. Each
//! of them is refused once, is rolled back, and waits for its turn in the row's queue. When it has its turn, its core
//! fetches from the other core what the last transaction wrote: the versions, their words, the index's links, the queue,
//! and the memory of versions that have been collected.
//!
//! | the paper's | here |
//! | --- | --- |
//! | version, Begin and End (§2.1); record lock: ReadLockCount, NoMoreReadLocks, WriteLock (§4.1.1) | [`Words`] at the beginning of a version |
//! | transaction table, states (§2.4) | `transactions`: slots |
//! | visibility, Tables 1 and 2; updatability (§2.5, §2.6) | `visibility`, and `look` for the memory |
//! | CommitDepCounter, AbortNow, CommitDepSet (§2.7) | a word and a list in the slot |
//! | ReadSet and ScanSet of MV/O, WriteSet (§3) | `sets` |
//! | residual predicate (§3.1) | [`Residual`](hotrow_txn::Residual): rows for which it does not hold are not read, by MV/O |
//! | ReadSet and BucketLockSet of MV/L (§4) | `held` |
//! | reading in MV/L (§4.3) | `latest` |
//! | taking and giving up record locks, eager updates (§4.1.1, §4.2.1) | `record_locks` |
//! | bucket locks: LockCount, LockList (§4.1.2) | [`IndexLocks`] in every index |
//! | WaitForCounter, NoMoreWaitFors, WaitingTxnList (§4.2) | `wait_for`: in the status word, and a list in the slot |
//! | deadlock detection (§4.4) | `deadlock`, `tarjan` |
//! | "U aborts" of the second writer (§2.6): what follows | `queues`, `transaction::give_way` |
//! | Preparation phase, Postprocessing phase | [`HekatonTransaction::commit`](hotrow_txn::Transaction::commit) |
//! | garbage collection (left open by the paper) | `snapshots` says what stays, `garbage` when it is collected |
//!
//! **Invariants**
//!
//! 1. A version's row never changes, and its words tell of one life: versions of one row have lives that do not overlap.
//! 2. A read time is drawn before the first link is read, and a transaction links its versions before it has an end
//!    timestamp. So what a walk misses is younger than its read time. Where a pessimist's read time moves while it
//!    walks, `latest` finds again by its key the row of each version that it meets and does not see.
//! 3. A transaction commits only when all whose changes it has seen or ignored, having been told that they would commit, have.
//! 4. A version is unlinked only when nobody can see it any more, or to undo it. `record` says why what a transaction remembers is there.
//! 5. Between the moment when a pessimist reads and its end timestamp nobody draws one who replaces a version that it has read-locked,
//!    or has linked one where it has an index lock, or deletes a row whose key it keeps. So at its end timestamp all is as it was read.
//! 6. A transaction that waits in a queue of writers is called when the queue's holder has ended, or has given its lock up: `queues`.
//!
//! **Levels.** *Read committed*: each call reads as of the moment it begins, and nothing is looked at again. *Snapshot*: all calls
//! read as of the beginning. *Repeatable read*: the rows that were read are the same at the end. *Serializable*: and so
//! is the absence of others. Who only reads, and says so, reads as of its beginning and has nothing to see to at any level but read
//! committed: all who write at serializable are as if they had run at their end timestamps, so what was there at some moment is a state
//! between two of them.
//!
//! **Departures**
//!
//! 1. The wish for an end timestamp is published before it is drawn, and whoever meets the wish may draw it. In the paper a
//!    reader may meet one that is active and has a timestamp that is not known yet, below the reader's own.
//! 2. Transactions have slots, in place of a hash table of transactions; counters carry their transaction's number. How many a
//!    transaction waits for before its end is in its status word, so the exchange that ends its active part is the one that finds the
//!    counter at zero, and costs nothing where there are no pessimists.
//! 3. Begin timestamps are not unique: only those that commit changes need be told apart.
//! 4. Keys stay unique by linking first and then looking at who was there before; the paper does not say how.
//! 5. A row can be locked without an update (FOR UPDATE). Before the end timestamp is wanted the lock becomes a read lock, or others would
//!    take it for an update and look for what replaces the version; it is given up when the timestamp is there, at every level.
//!    Whoever meets the lock reads its holder's state after the word; if that one has a timestamp by then, the word is read again.
//! 6. At read committed, who finds that a row has been changed and committed meanwhile takes the later version, instead of aborting.
//! 7. A unique key that was found needs no entry in the ScanSet, and no lock in the index: as long as the version is valid, or
//!    locked, no other has the key. For the same reason an update looks for locks only in indexes in which it changes the key.
//! 8. A transaction that changes nothing is not validated, and needs no end timestamp.
//! 9. Read locks and index locks are given up when the end timestamp is drawn; the paper gives read locks up before (§4.3.1). Then one that
//!    changes what was read could end earlier, be read by a third, and that one end before the reader as well: a circle.
//! 10. What is locked in an index is a key's hash, or a range of keys, not a bucket: buckets split here. Ranges stand in blocks of the key space, so that
//!     an insert looks only at those near its key: `index_locks`.
//! 11. Deadlocks are looked for when a transaction begins to wait, and not from time to time. It has shut its counter by then, so nobody
//!     else can close a circle later; and it is the victim.
//! 12. A version's row that a walk did not see, since it was made in the moment, is looked at once more at a later
//!     time, where the paper aborts; what was read before is locked, and the same then. At repeatable read, a row that
//!     has moved within a scan's range meanwhile aborts the scan, which could have missed it.
//! 13. What was read or refused in a part that was rolled back to a savepoint is remembered, or stays read-locked.
//! 14. The paper's second writer aborts, and whoever runs it tries again at once. Here a transaction can give way: it is rolled back, as a whole or to a
//!     savepoint, and waits in a queue until the first writer has ended. Transactions that can wait leave a row to those in its queue.
//! 15. A row can be held without a read lock (a foreign key's parent): its key is kept, so that it may change, but is deleted only by a transaction
//!     that ends later. No number of such transactions is too many, as 256 readers are for a version's word.

mod audit;
mod clock;
mod deadlock;
mod garbage;
mod held;
mod index_locks;
mod keys;
mod latest;
mod look;
#[cfg(all(test, shuttle))]
mod model;
mod queues;
mod reader;
mod record;
mod record_locks;
mod scan;
mod sets;
mod snapshots;
mod tarjan;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod transaction;
mod transactions;
mod visibility;
mod wait_for;
mod words;

use clock::Clock;
use hotrow_storage::{Tables, VersionTable};
use hotrow_sync::{Arc, Mutex, Waiter};
use hotrow_txn::{
    Capabilities, Concurrency, EngineInfo, Isolation, LockWait, Protocol, Scheduler, VersionStatistics, WorkerId,
};
pub use index_locks::IndexLocks;
use std::marker::PhantomData;
use std::time::Duration;
pub use transaction::HekatonTransaction;
use transactions::Transactions;
pub use words::Words;

/// Multiversion concurrency control: optimistic and pessimistic transactions, side by side.
pub struct Hekaton<D> {
    shared: Arc<Shared>,
    config: HekatonConfig,
    default: PhantomData<D>,
}

/// What transactions are that do not say.
pub trait DefaultConcurrency: Send + Sync + 'static {
    /// The engine's name, and what it offers.
    const INFO: EngineInfo;
}

const fn info(name: &'static str, summary: &'static str, source: &'static str, default: Concurrency) -> EngineInfo {
    EngineInfo {
        name,
        summary,
        source,
        capabilities: Capabilities::NONE,
        scheduler: Scheduler::Thread,
        isolates: true,
        isolation: &Isolation::ALL,
        concurrency: Some(default),
        settings: &[],
        pool_settings: &[],
    }
}

/// `mvo`.
pub struct Optimistic;

impl DefaultConcurrency for Optimistic {
    const INFO: EngineInfo = info(
        "mvo",
        "multiversion, optimistic: readers and writers do not wait for each other; the first writer of a row wins",
        "Hekaton §2, §3",
        Concurrency::Optimistic,
    );
}

/// `mvl`.
pub struct Pessimistic;

impl DefaultConcurrency for Pessimistic {
    const INFO: EngineInfo = info(
        "mvl",
        "multiversion, pessimistic: who changes what others have read commits after them; the first writer of a row wins",
        "Hekaton §2, §4",
        Concurrency::Pessimistic,
    );
}

/// Knobs of [`Hekaton`].
#[derive(Clone, Debug)]
pub struct HekatonConfig {
    /// The longest wait for others: for those that have read what a transaction replaces, or for those whose changes it has seen.
    /// The latter are about to end, so for them it is reached only when a redo sink is stuck.
    pub wait_limit: Duration,
    /// Read locks that one version can have; one more is refused with [`Abort::Conflict`](hotrow_txn::Abort::Conflict).
    pub read_locks: u8,
}

impl Default for HekatonConfig {
    fn default() -> Self {
        Self { wait_limit: Duration::from_secs(10), read_locks: u8::MAX }
    }
}

/// What the transactions of one database share.
pub(crate) struct Shared {
    clock: Clock,
    transactions: Transactions,
    /// Held by whoever looks for deadlocks.
    detector: Mutex<()>,
    /// Read locks that one version can have.
    read_locks: u8,
}

impl Shared {
    fn new(read_locks: u8) -> Arc<Self> {
        let (clock, transactions, detector) = (Clock::new(), Transactions::new(), Mutex::new(()));
        Arc::new(Self { clock, transactions, detector, read_locks })
    }
}

impl<D: DefaultConcurrency> Protocol for Hekaton<D> {
    const INFO: EngineInfo = D::INFO;
    type Config = HekatonConfig;
    type Table = VersionTable<Words>;
    type Worker = ();
    type Transaction = HekatonTransaction;

    fn new(config: HekatonConfig) -> Self {
        Self { shared: Shared::new(config.read_locks), config, default: PhantomData }
    }

    fn audit(&self, database: &Tables<VersionTable<Words>>) -> Result<(), String> {
        audit::audit(&self.shared.clock, &self.shared.transactions, database)
    }

    fn versions(&self, database: &Tables<VersionTable<Words>>) -> Option<VersionStatistics> {
        let mut participant = database.participant();
        participant.enter();
        let alive = database.tables(participant.guard()).map(|table| table.primary().len()).sum();
        participant.leave();
        Some(snapshots::statistics(alive, &self.shared.clock, &self.shared.transactions))
    }

    /// For the rows of other writers.
    fn lock_waits(&self) -> Vec<LockWait> {
        let transactions = &self.shared.transactions;
        transactions.queues.waits(|holder| transactions.label_of(holder))
    }

    fn worker(&self, _id: WorkerId) {}

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Tables<VersionTable<Words>>>,
        _worker: &mut (),
        waiter: Waiter,
    ) -> HekatonTransaction {
        HekatonTransaction::new(database, &self.shared, (&D::INFO, self.config.wait_limit), waiter)
    }
}
