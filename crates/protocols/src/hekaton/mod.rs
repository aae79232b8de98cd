//! `mvo`: multiversion concurrency control, optimistic.
//!
//! **Source.** Larson, Blanas, Diaconu, Freedman, Patel, Zwilling: "High-Performance Concurrency Control Mechanisms for Main-Memory
//! Databases", §2 and §3.
//!
//! **The idea.** An update makes a new version of the row, beside the old one. A version says in two words from when until when it is
//! the row, so a transaction reads as of one time, waits for nobody, and keeps nobody waiting. Until its maker has ended, a version's
//! words name the maker, and whoever meets it asks how far that one has come. Who writes takes the version's write lock, which is
//! its End word; the first one to come wins. At its end a transaction that must be serializable looks whether all that it has
//! read is the same at its end timestamp: then it is as if it had run in that moment.
//!
//! A transaction that has its end timestamp, but may abort yet, is taken to commit by those that meet it (speculative reads, speculative
//! ignores); they then depend on it, and do not commit before it. That is the only wait there is, and nobody waits before having an end
//! timestamp himself, so nobody waits in a circle.
//!
//! | the paper's | here |
//! | --- | --- |
//! | version, Begin and End (§2.1) | [`Words`] at the beginning of a version |
//! | transaction table, states (§2.4) | `transactions`: slots |
//! | visibility, Tables 1 and 2; updatability (§2.5, §2.6) | `visibility`, and `look` for the memory |
//! | CommitDepCounter, AbortNow, CommitDepSet (§2.7) | a word and a list in the slot |
//! | ReadSet, ScanSet, WriteSet (§3) | `sets` |
//! | Preparation phase, Postprocessing phase | [`HekatonTransaction::commit`](hotrow_txn::Transaction::commit) |
//! | garbage collection (left open by the paper) | `snapshots`, `garbage` |
//!
//! **Invariants**
//!
//! 1. A version's row never changes, and its words tell of one life: versions of one row have lives that do not overlap.
//! 2. A read time is drawn before the first link is read, and a transaction links its versions before it has an end timestamp. So what
//!    a walk misses is younger than its read time.
//! 3. A transaction commits only when all whose changes it has seen or ignored, having been told that they would commit, have.
//! 4. A version is unlinked only when nobody can see it any more, or to undo it. `record` says why what a transaction remembers is there.
//!
//! **Levels.** *Read committed*: each call reads as of the moment it begins, and nothing is looked at again. *Snapshot*: all calls
//! read as of the beginning. *Repeatable read*: and the rows that were read must still be valid at the end. *Serializable*: and so
//! must the absence of others. Who only reads has nothing to look at again at any level: all who write at serializable are as
//! if they had run at their end timestamps, so what was there at some moment is a state between two of them.
//!
//! **Absent**: pessimistic transactions (MV/L), and with them read locks, bucket locks and wait-for dependencies.
//!
//! **Departures**
//!
//! 1. The wish for an end timestamp is published before it is drawn, and whoever meets the wish may draw it. In the paper a
//!    reader may meet one that is active and has a timestamp that is not known yet, below the reader's own.
//! 2. Transactions have slots, in place of a hash table of transactions; counters carry their transaction's number.
//! 3. Begin timestamps are not unique: only those that commit changes need be told apart.
//! 4. Keys stay unique by linking first and then looking at who was there before; the paper does not say how.
//! 5. A row can be locked without an update (FOR UPDATE). The lock is given up when the transaction ends its active part; where reads must
//!    be valid at the end, the row is one of them.
//! 6. At read committed, who finds that a row has been changed and committed meanwhile takes the later version, instead of aborting.
//! 7. A unique key that was found needs no entry in the ScanSet: as long as the version is valid, no other has the key.
//! 8. A transaction that changes nothing is not validated, and needs no end timestamp.

mod audit;
mod clock;
mod garbage;
mod look;
#[cfg(all(test, shuttle))]
mod model;
mod reader;
mod record;
mod scan;
mod sets;
mod snapshots;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod transaction;
mod transactions;
mod visibility;
mod words;

use clock::Clock;
use hotrow_storage::{Tables, VersionTable};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{EngineInfo, Isolation, Protocol, Scheduler, VersionStatistics, WorkerId};
use std::time::Duration;
pub use transaction::HekatonTransaction;
use transactions::Transactions;
pub use words::Words;

/// Multiversion concurrency control.
pub struct Hekaton {
    shared: Arc<Shared>,
    config: HekatonConfig,
}

/// Knobs of [`Hekaton`].
#[derive(Clone, Debug)]
pub struct HekatonConfig {
    /// The longest wait for those that a transaction depends on. They are about to end, so it is reached only when a redo sink is stuck.
    pub wait_limit: Duration,
}

impl Default for HekatonConfig {
    fn default() -> Self {
        Self { wait_limit: Duration::from_secs(10) }
    }
}

/// What the transactions of one database share.
pub(crate) struct Shared {
    clock: Clock,
    transactions: Transactions,
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self { clock: Clock::new(), transactions: Transactions::new() })
    }
}

impl Protocol for Hekaton {
    const INFO: EngineInfo = EngineInfo {
        name: "mvo",
        summary: "multiversion, optimistic: readers and writers do not wait for each other; the first writer of a row wins",
        source: "Hekaton §2, §3",
        needs_accesses: false,
        scheduler: Scheduler::Thread,
        isolates: true,
        isolation: &Isolation::ALL,
        concurrency: None,
        settings: &[],
        pool_settings: &[],
    };
    type Config = HekatonConfig;
    type Table = VersionTable<Words>;
    type Worker = ();
    type Transaction = HekatonTransaction;

    fn new(config: HekatonConfig) -> Self {
        Self { shared: Shared::new(), config }
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

    fn worker(&self, _id: WorkerId) {}

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Tables<VersionTable<Words>>>,
        _worker: &mut (),
        waiter: Waiter,
    ) -> HekatonTransaction {
        HekatonTransaction::new(database, &self.shared, self.config.wait_limit, waiter)
    }
}
