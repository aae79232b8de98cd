//! `mvo` and `mvl`: multiversion concurrency control, optimistic and pessimistic.
//!
//! **Source.** Larson, Blanas, Diaconu, Freedman, Patel, Zwilling: "High-Performance Concurrency Control Mechanisms for
//! Main-Memory Databases", §2 to §4.
//!
//! **The idea.** An update makes a new version of the row, beside the old one. Two words of a version say from when
//! until when it is the row. So a transaction reads as of one time, waits for no other transaction, and makes none
//! wait. Until the transaction that made a version has ended, the version's words name it, and a reader that meets the
//! version asks how far that transaction has come. A writer takes the version's write lock, which is its End word; the
//! first writer wins. A transaction that must be serializable can choose how it gets there:
//!
//! - An *optimistic* transaction (MV/O) reads as of its beginning, and checks at its end that everything it has read is
//!   the same at its end timestamp: then it is as if it had run at that moment.
//! - A *pessimistic* transaction (MV/L) reads the latest versions, and locks them, and the places in indexes where no
//!   other version may appear. A lock refuses no other transaction; but a transaction that replaces a locked version,
//!   or links one into a locked place, ends after the holder of the lock.
//!
//! Both kinds run side by side. Pessimists require of other transactions that they end after them; optimists, and
//! transactions at lower levels, comply as well (§4.5). An engine is named after what its transactions are by default.
//!
//! A transaction that has its end timestamp but may still abort is taken to commit by the transactions that meet it
//! (speculative reads, speculative ignores). These then depend on it, and do not commit before it.
//!
//! **Waits.** Before it has an end timestamp, and only at its end, a transaction waits for the holders of locks on what
//! it changed. Such waits can form a cycle, which is found. With an end timestamp a transaction waits for those that it
//! depends on. They have earlier end timestamps, so there is no cycle of such waits. Without pessimists the first kind
//! of wait does not occur. A transaction that lost a row to the first writer waits for that writer only if its caller
//! [gives way](hotrow_txn::Yielding::give_way). Such waits can be part of a cycle, too, and are found by the same
//! search.
//!
//! **One hot row on several threads** is slower than on one where every transaction updates the same row (`bench micro
//! --hot-records 1`). There no two transactions can run side by side. Each of them is refused once, is rolled back, and
//! waits for its turn in the row's queue. When it has its turn, its core fetches from the other core what the last
//! transaction wrote: the versions, their words, the index's links, the queue, and the memory of versions that have
//! been collected.
//!
//! | the paper's | here |
//! | --- | --- |
//! | version, Begin and End (§2.1); record lock: ReadLockCount, NoMoreReadLocks, WriteLock (§4.1.1) | [`Words`] at the beginning of a version |
//! | transaction table (§2.4) | `transactions`: slots; `txn_id` |
//! | transaction states (§2.4) | `status`: a word in the slot |
//! | visibility, Tables 1 and 2; updatability (§2.5, §2.6) | `visibility`, and `look` for the memory |
//! | CommitDepCounter, AbortNow, CommitDepSet (§2.7) | a word and a list in the slot |
//! | ReadSet and ScanSet of MV/O (§3) | `read_set` |
//! | WriteSet (§3) | `write_set` |
//! | residual predicate (§3.1) | [`Residual`](hotrow_txn::Residual): MV/O does not track rows for which it does not hold |
//! | ReadSet and BucketLockSet of MV/L (§4) | `held_locks` |
//! | reading in MV/O, reading in MV/L (§4.3) | `as_of`, `latest` |
//! | taking and giving up record locks, eager updates (§4.1.1, §4.2.1) | `record_locks` |
//! | bucket locks: LockCount, LockList (§4.1.2) | [`IndexLocks`] in every index |
//! | WaitForCounter, NoMoreWaitFors, WaitingTxnList (§4.2) | `wait_for`: in the status word, and a list in the slot; `waits` |
//! | deadlock detection (§4.4) | `deadlock`, `tarjan` |
//! | "U aborts" of the second writer (§2.6): what follows | `queues`, `transaction::give_way` |
//! | Preparation phase, Postprocessing phase | [`HekatonTransaction::commit`](hotrow_txn::Transaction::commit) |
//! | garbage collection (left open by the paper) | `snapshots` says what stays, `garbage` when it is collected |
//!
//! **Layers.** A file uses files of its own row and of the rows above it.
//!
//! | layer | files |
//! | --- | --- |
//! | time and ids | `clock`, `txn_id` |
//! | versions, and the indexes that lead to them | `index_locks`, `words`, `database`, `record`, `scan` |
//! | what a transaction shows to the others | `queues`, `wait_for`, `status`, `snapshots`, `garbage` |
//! | all transactions | `transactions`, `waits`, `shared`, `deadlock`, `tarjan` |
//! | judging a version | `visibility`, `look` |
//! | what a transaction keeps | `held_locks`, `record_locks`, `read_set`, `write_set` |
//! | reading and writing | `reader`, `latest`, `as_of`, `read`, `keys`, `write` |
//! | the whole | `transaction`, `audit` |
//!
//! **Invariants**
//!
//! 1. A version's row never changes, and its words tell of one life: versions of one row have lives that do not
//!    overlap.
//! 2. A read time is drawn before the first link is read, and a transaction links its versions before it has an end
//!    timestamp. So what a walk misses is younger than its read time. Where a pessimist's read time moves while it
//!    walks, `latest` finds again by its key the row of each version that it meets and does not see.
//! 3. A transaction commits only after all transactions have committed whose changes it has seen or ignored on the
//!    assumption that they would commit.
//! 4. A version is unlinked only when no transaction can see it any more, or to undo it. `record` says why the versions
//!    that a transaction remembers are there.
//! 5. Between a pessimist's read and its end timestamp no transaction draws an end timestamp that replaces a version
//!    that the pessimist has read-locked, or has linked a version where it has an index lock, or deletes a row whose
//!    key it keeps. So at the pessimist's end timestamp everything is as it was read.
//! 6. A transaction that waits in a queue of writers is called when the queue's holder has ended, or has given its lock
//!    up: `queues`.
//!
//! **Levels.** *Read committed*: each call reads as of the moment at which it begins, and nothing is checked at the
//! end. *Snapshot*: all calls read as of the beginning. *Repeatable read*: the rows that were read are the same at the
//! end. *Serializable*: and so is the absence of other rows. A transaction that declares that it only reads does so as
//! of its beginning, and has nothing to check at any level but read committed: all writers at serializable are as if
//! they had run at their end timestamps, so the rows of any one moment are a state between two of them.
//!
//! **Departures**
//!
//! 1. A transaction publishes that it wants an end timestamp before it draws one, and any transaction that meets the
//!    wish may draw it. In the paper a reader may meet an active transaction whose timestamp is below the reader's own
//!    and not known yet.
//! 2. Transactions have slots, in place of a hash table of transactions; counters carry their transaction's number. The
//!    number of transactions that one waits for before its end is in its status word. So the exchange that ends its
//!    active part is the one that finds the counter at zero, and costs nothing where there are no pessimists.
//! 3. Begin timestamps are not unique: only transactions that commit changes need be told apart.
//! 4. Keys stay unique because a transaction links its version first, and then looks which other version had the key
//!    before; the paper does not say how.
//! 5. A row can be locked without an update (FOR UPDATE). Before the transaction wants its end timestamp, the lock
//!    becomes a read lock: otherwise others would take it for an update and look for what replaces the version. It is
//!    given up when the timestamp is there, at every level. A transaction that meets the lock reads the holder's state
//!    after the word; if the holder has a timestamp by then, the word is read again.
//! 6. At read committed, a transaction that finds that a row has been changed and committed meanwhile takes the later
//!    version, instead of aborting.
//! 7. A unique key that was found needs no entry in the ScanSet, and no lock in the index: as long as the version is
//!    valid, or locked, no other version has the key. For the same reason an update looks for locks only in indexes in
//!    which it changes the key.
//! 8. A transaction that changes nothing is not validated, and needs no end timestamp.
//! 9. Read locks and index locks are given up when the end timestamp is drawn; the paper gives read locks up before
//!    (§4.3.1). Then a transaction that changes what was read could end earlier, be read by a third one, and that one
//!    end before the reader as well: a cycle.
//! 10. The unit that is locked in an index is a key's hash, or a range of keys, not a bucket: buckets split here.
//!     Ranges stand in blocks of the key space, so that an insert looks only at those near its key: `index_locks`.
//! 11. A transaction looks for deadlocks when it begins to wait; there is no periodic search. It has shut its counter
//!     by then, so no other transaction can close a cycle later; and it is the victim.
//! 12. A version that a walk did not see, because it was being made at that moment, is looked at once more at a later
//!     time, where the paper aborts; what was read before is locked, and the same then. At repeatable read, a row that
//!     has moved within a scan's range meanwhile aborts the scan, which could have missed it.
//! 13. What was read or refused in a part that was rolled back to a savepoint is remembered, or stays read-locked.
//! 14. The paper's second writer aborts, and its caller tries again at once. Here a transaction can give way: it is
//!     rolled back, as a whole or to a savepoint, and waits in a queue until the first writer has ended. Transactions
//!     that can wait leave a row to those in its queue.
//! 15. A row can be held without a read lock (a foreign key's parent): its key is kept, so that the row may change, but
//!     is deleted only by a transaction that ends later. There is no limit on the number of such transactions, unlike
//!     the 256 readers that a version's word can count.

mod as_of;
mod audit;
mod clock;
mod database;
mod deadlock;
mod garbage;
mod held_locks;
mod index_locks;
mod keys;
mod latest;
mod look;
#[cfg(all(test, shuttle))]
mod model;
mod queues;
mod read;
mod read_set;
mod reader;
mod record;
mod record_locks;
mod scan;
mod shared;
mod snapshots;
mod status;
mod tarjan;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod transaction;
mod transactions;
mod txn_id;
mod visibility;
mod wait_for;
mod waits;
mod words;
mod write;
mod write_set;

use hotrow_storage::{Tables, VersionTable};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{
    Capabilities, Concurrency, EngineInfo, Isolation, LockWait, Protocol, Scheduler, VersionStatistics, WorkerId,
};
pub use index_locks::IndexLocks;
use shared::Shared;
use std::marker::PhantomData;
use std::time::Duration;
pub use transaction::HekatonTransaction;
pub use words::Words;

/// The protocol of `mvo` and `mvl`: multiversion concurrency control, with optimistic and pessimistic transactions side
/// by side. `D` says which of the two kinds is the default.
pub struct Hekaton<D> {
    shared: Arc<Shared>,
    config: HekatonConfig,
    default: PhantomData<D>,
}

/// The kind of concurrency control that transactions use by default, optimistic or pessimistic.
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

/// The engine `mvo`, whose transactions are optimistic by default.
pub struct Optimistic;

impl DefaultConcurrency for Optimistic {
    const INFO: EngineInfo = info(
        "mvo",
        "multiversion, optimistic: readers and writers do not wait for each other; the first writer of a row wins",
        "Hekaton §2, §3",
        Concurrency::Optimistic,
    );
}

/// The engine `mvl`, whose transactions are pessimistic by default.
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
    /// The longest time that a transaction waits for others before it is aborted. It waits for the transactions that
    /// have read-locked a version that it replaces, and for the transactions on whose commits it depends. The latter
    /// are about to end, so waits for them reach the limit only if the redo sink is stuck.
    pub wait_limit: Duration,
    /// The greatest number of read locks on one version. One more is refused with
    /// [`Abort::Conflict`](hotrow_txn::Abort::Conflict).
    pub read_locks: u8,
}

impl Default for HekatonConfig {
    fn default() -> Self {
        Self { wait_limit: Duration::from_secs(10), read_locks: u8::MAX }
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
        Some(self.shared.transactions.version_statistics(alive, &self.shared.clock))
    }

    /// Returns the waits for rows that other writers have changed.
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
