//! Very lightweight locking: `vll`, `vll-sca`, `vll-arrayed`.
//!
//! **Paper.** Ren, Thomson, Abadi: VLL: a lock manager redesign for main memory database systems, §2.1, §2.2, §2.6.
//!
//! **The idea.** A record's lock is two counters beside the record: the number of transactions that have asked for it
//! exclusively, and the number that have asked for it shared. A transaction asks for all its locks in one critical
//! section, in which it also enters a queue. A transaction that finds the counters at zero is *free* and runs; any
//! other is *blocked*. The counters do not tell which transaction waits for which. But the transaction at the front of
//! the queue has all its locks: the transactions before it are gone, and those after it let it go first. So there are
//! no deadlocks, and no lists of requests to keep. Where the counters know too little, an analysis of the queue finds
//! out more, when a worker has nothing better to do.
//!
//! | paper | code |
//! | --- | --- |
//! | C_X, C_S, immediately preceding the record | [`Counts`](crate::shared::counts::Counts) in [`Colocated`](crate::shared::counts::Colocated) |
//! | arrayed VLL: two vectors (§2.2) | [`Arrayed`], [`RecordHeader::BESIDE`](hotrow_storage::RecordHeader::BESIDE) |
//! | TxnQueue | [`TxnQueue`](queue::TxnQueue) |
//! | free, blocked | [`Begun`](critical::Begun), [`Entry::is_blocked`](queue::Entry::is_blocked) |
//! | BeginTransaction, FinishTransaction (Fig. 1) | [`Core::begin`](critical::Core::begin), [`Core::finish`](critical::Core::finish) |
//! | VLLMainLoop (Fig. 1) | the scheduler's loop, with [`VllWorker`]'s [`Duties`] |
//! | `TxnQueue is not full` | [`VllConfig::blocked_limit`], [`Duties::has_room`] |
//! | SCA (§2.6, Fig. 4) | [`Core::analyse`](critical::Core::analyse), [`contention`](crate::shared::contention) |
//! | exploratory reads (§2.4) | [`Begin::reconnaissance`](hotrow_txn::Begin::reconnaissance), and the batched look-up of the plan |
//! | lock that turns out to be missing: abort, restart (§2.4) | [`Abort::OutsidePlan`](hotrow_txn::Abort::OutsidePlan) |
//! | VLLR (§2.7) | [`range_locks`](crate::shared::range_locks) |
//!
//! **Definitions.** A transaction *counts on* a record while a request of its own is in the record's counters. A record
//! is *dead* once it is decided that it will be unlinked: its counters say so, and no transaction counts on it again.
//!
//! **Invariants**, whenever no thread is in the critical section
//!
//! 1. *Counters are requests.* The counters of a record, and of a prefix, are the numbers of requests for it by
//!    transactions that are in the queue, once each. Only [`begin`](critical::Core::begin) and
//!    [`finish`](critical::Core::finish) change both; a late lock is added by a transaction in the queue.
//! 2. *A transaction that runs has its locks.* No free transaction asked for anything that conflicts with what another
//!    free one asked for. A transaction that enters free found no conflicting count, and by 1 no transaction in the
//!    queue had asked. A transaction that is unblocked at the front has none before it. Those behind it that run were
//!    free beside it: they found its counts when they entered, or an analysis found that they conflict with no
//!    transaction before them, it included. A transaction that an analysis unblocks conflicts with none before it, and
//!    those behind it found its counts. A late lock is added if no transaction at all has asked for anything that
//!    conflicts with it.
//! 3. *The front is not blocked* ([`queue`]). So some transaction runs as long as the queue is not empty, and every
//!    transaction comes to the front: there is no deadlock, and none starves.
//! 4. *Requests are ordered in one way.* Of two transactions that conflict anywhere, the one that entered first has
//!    precedence everywhere, because all locks are asked for in the one critical section. With 2, and locks held to the
//!    end, transactions are serializable in the order of their entries.
//! 5. *A key has one record while any transaction counts on it.* An absent row of a plan has a placeholder: a record
//!    that is linked and not present. A deleted row's record stays as a placeholder. The transaction that takes the
//!    last count from a record without a row declares it dead in the same critical section, and unlinks it afterwards.
//!    A transaction that looked it up before, and comes to count on it, finds it dead and looks the key up again, until
//!    the next record has taken its place.
//! 6. *Counters do not overflow*: a request that would overflow one is refused with
//!    [`Abort::Resources`](hotrow_txn::Abort::Resources), and nothing of it stays counted.
//! 7. *Whatever ends a wait*, a grant, time-out, cancellation, a coroutine that is dropped or a panic, the transaction
//!    is either free or out of the queue with all its counts taken back.
//! 8. *A glance is sound.* A row is copied inside the critical section when no transaction has asked for it
//!    exclusively: by 1 none may be writing it, and what is there is committed. Where all rows of a transaction are
//!    copied in one critical section, it is serialized there.
//!
//! # Departures
//!
//! **Which worker runs a transaction.** In the paper any worker takes the blocked front. Here a transaction runs on the
//! worker that it began on. The thread that makes it free, by leaving the queue's front or by an analysis, wakes it.
//!
//! **The queue** is a ring of positions, and may be left by blocked transactions too: they have time limits and clients
//! that go away.
//!
//! **Requests of one transaction for one record** may be several. Its own are told from others' only where a conflict
//! seems found.
//!
//! **Records are looked up before the critical section** and not again after it: the plan's pointers serve for locking,
//! for running and for releasing.
//!
//! **One entry for two.** A worker of the pool goes from one transaction to the next without a pause, so it finishes
//! the one and begins the other in one entry into the critical section, as long as no transaction is blocked: the
//! section's lines, which come from another core, come once. A transaction that commits keeps its locks and its place
//! in the queue until then; it is over, and counts as any other there. Before the worker does anything else
//! ([`Yielding::idle`](hotrow_txn::Yielding::idle)) they are given back. If a transaction is blocked when the
//! next one begins, the following transactions of that slot keep nothing for a while.
//!
//! **Late locks.** Where the paper restarts a transaction that finds that it needs another lock, the lock is added on
//! the spot if no transaction has asked for anything that conflicts with it. A record that the transaction has made for
//! a new row is counted before it is linked, without the critical section: no other thread can have seen it.
//!
//! **Reads that do not enter the queue.** A transaction that only reads at read committed, and every reconnaissance,
//! copies one row at a time (invariant 8). Only if it meets a writer, it waits in the queue, for that row alone. A
//! serializable transaction that only reads a few small rows copies all of them at once, unless it meets a writer.
//!
//! **Arrayed counters** stand in vectors of the record's segment, 2 MiB of memory, rather than of the whole table.
//! Their place is computed from the record's address: to lock a row is to read and write its counters and no line of
//! its record. Two steps still read the record. The worker that plans a transaction compares the key that it looked up,
//! before the critical section. And when the last count of a record is given back, inside it, the record says whether
//! it has a row; the worker that gives it back has just run the transaction, so that line is in its cache. A lock
//! manager on a thread of its own, for which the paper makes the vectors, is not among our engines.

mod admission;
mod audit;
mod counters;
mod critical;
#[cfg(all(test, shuttle))]
mod engine {
    mod model;
}
#[cfg(all(test, shuttle))]
mod model;
mod queue;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod variants;

pub use counters::Arrayed;
pub use variants::{Analysed, InVectors, Plain, Variant};

use crate::shared::gate::Gate;
use crate::shared::planned::PlannedTransaction;
use admission::{Member, VllAdmission};
use critical::Core;
use hotrow_storage::{Database, Table};
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Time, Waiter};
use hotrow_txn::{Duties, EngineInfo, Protocol, Settings, SettingsError, Statistics, WorkerId};
use std::marker::PhantomData;
use std::time::Duration;

/// The protocol of the engines with very lightweight locking. `V` says where counters are stored, and whether the queue
/// is analysed.
pub struct Vll<V: Variant> {
    config: VllConfig,
    core: Arc<Core>,
    gate: Arc<Gate>,
    variant: PhantomData<fn() -> V>,
}

/// Knobs of [`Vll`].
#[derive(Clone, Debug)]
pub struct VllConfig {
    /// The number of blocked transactions at which the workers of a pool stop beginning new ones. Sessions are not held
    /// back: the limit is for a closed loop of transactions, and a session's next statement may be about other rows.
    ///
    /// The longer the queue, the likelier a new transaction conflicts with another one in it and is blocked in its
    /// turn. Under high contention a short queue is better, under low contention a long one does no harm. Blocked
    /// transactions are a measure of both: where they are many the limit is met early, where they are few never (§2.1).
    pub blocked_limit: usize,
    /// The longest time that a transaction waits for its locks, or for the whole database, before it is aborted.
    /// Deadlocks do not occur, but a client may hold locks and never end its transaction.
    pub wait_limit: Duration,
}

impl Default for VllConfig {
    fn default() -> Self {
        Self { blocked_limit: 16, wait_limit: Duration::from_secs(10) }
    }
}

impl<V: Variant> Protocol for Vll<V> {
    const INFO: EngineInfo = V::INFO;
    type Config = VllConfig;
    type Table = Table<V::Record>;
    type Worker = VllWorker;
    type Transaction = PlannedTransaction<VllAdmission<V>>;

    fn configure(settings: &Settings) -> Result<VllConfig, SettingsError> {
        let default = VllConfig::default();
        match settings.blocked_limit {
            Some(0) => {
                Err(SettingsError("a limit of 0 blocked transactions lets nobody in: expected 1 or more".into()))
            }
            limit => Ok(VllConfig { blocked_limit: limit.unwrap_or(default.blocked_limit), ..default }),
        }
    }

    fn new(config: VllConfig) -> Self {
        Self { core: Core::new(config.blocked_limit, V::ANALYSES), config, gate: Gate::new(), variant: PhantomData }
    }

    fn audit(&self, database: &Database<V::Record>) -> Result<(), String> {
        let mut participant = database.participant();
        participant.enter();
        let audited = self.core.audit(database, participant.guard(), !self.gate.is_closed());
        participant.leave();
        audited
    }

    fn worker(&self, _id: WorkerId) -> VllWorker {
        let (core, looks) = (self.core.clone(), Looks::default());
        VllWorker { core, is_pooled: Arc::default(), waiter: None, looks, statistics: Statistics::default() }
    }

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Database<V::Record>>,
        worker: &mut VllWorker,
        waiter: Waiter,
    ) -> Self::Transaction {
        let member = Member::new(&self.core, waiter.clone(), worker.is_pooled.clone());
        let admission = VllAdmission::new(member);
        PlannedTransaction::new(database, &self.gate, admission, waiter, self.config.wait_limit)
    }
}

/// The part of a pool's worker that belongs to the protocol (VLLMainLoop): it says whether the worker may begin another
/// transaction, and analyses the queue when the worker is idle.
pub struct VllWorker {
    core: Arc<Core>,
    is_pooled: Arc<AtomicBool>,
    /// The waiter of the worker's thread, if the worker is of a pool.
    waiter: Option<Waiter>,
    looks: Looks,
    statistics: Statistics,
}

/// The times at which a worker of a pool analyses the queue. An analysis delays transactions that could run. So after
/// one that found nothing the worker lets some time pass, each time twice as much.
#[derive(Default)]
struct Looks {
    next: Time,
    /// The number of analyses in a row that have found nothing, up to [`Looks::LONGEST`].
    in_vain: u32,
}

impl Looks {
    /// The time that passes after the first analysis that found nothing.
    const SHORTEST: Duration = Duration::from_nanos(200);

    /// The number of times that it doubles: up to 13 µs.
    const LONGEST: u32 = 6;

    /// Notes that an analysis has ended at this time, and whether it `found` a transaction.
    fn note(&mut self, found: bool, now: Time) {
        self.next = if found { now } else { now.after(Self::SHORTEST * (1 << self.in_vain)) };
        self.in_vain = if found { 0 } else { (self.in_vain + 1).min(Self::LONGEST) };
    }
}

impl Duties for VllWorker {
    fn settle(&mut self, waiter: &Waiter) {
        // Relaxed: its transactions run on this thread.
        self.is_pooled.store(true, Ordering::Relaxed);
        self.waiter = Some(waiter.clone());
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.core.has_room()
    }

    fn find_work(&mut self) -> bool {
        if !self.core.analyses() {
            return false;
        }
        let Some(waiter) = self.waiter.as_ref().filter(|waiter| waiter.now() >= self.looks.next) else { return false };
        let found = self.core.analyse(&mut self.statistics);
        self.looks.note(found, waiter.now());
        found
    }

    fn statistics(&self) -> Statistics {
        self.statistics
    }
}
