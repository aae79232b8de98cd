//! The table of transactions: which transactions run, and how far each has come (§2.4, §2.7).
//!
//! A transaction in flight has a *slot*, which never moves and is never freed, so an id is checked and not followed
//! into memory that may be gone. An id is a slot and how many transactions ran in it before: no id ever comes again.
//!
//! **Invariants**
//!
//! 1. A slot's id changes before its status says [active](State::Active), and both before the id stands in any version.
//!    So a transaction that has read an id in a version, then the status, and then finds the same id in the slot, has
//!    read the status of the transaction with this id.
//! 2. A transaction has one end timestamp. It says that it wants one before one is drawn, and a transaction that looks
//!    at it then draws one as well; the exchange decides which of the two it gets. So a transaction that has drawn a
//!    read time knows the end timestamp of every transaction whose end could be earlier, and waits for none to learn
//!    it.
//! 3. When its status says that it is [over](State::Gone), its id stands in no version any more.
//! 4. A counter of dependencies carries the number of its transaction: a report that comes late counts for no other
//!    transaction.

use super::clock::{Clock, Timestamp};
use super::garbage::{Backlog, Sweeper};
use super::queues::{Place, Queues};
use super::snapshots::Snapshot;
use super::status::{State, Status};
use super::txn_id::{SLOT_BITS, SlotNumber, TxnId};
use super::wait_for::{WaitFor, Waiting};
use hotrow_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use hotrow_sync::{Latch, Mutex, OnceLock, Waiter};
use hotrow_txn::VersionStatistics;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

const CHUNK_SLOTS: usize = if cfg!(any(loom, shuttle)) { 2 } else { 64 };
const CHUNKS: usize = (1 << SLOT_BITS) / CHUNK_SLOTS;

/// The commits that a transaction waits for: how many, and whether one of them aborted (CommitDepCounter and AbortNow,
/// §2.7).
const ABORT_NOW: u64 = 1 << 25;
const COUNT: u64 = ABORT_NOW - 1;
const SEQUENCE_SHIFT: u32 = 26;

/// The dependents of a transaction, which it tells how it ends (CommitDepSet, §2.7).
struct Dependents {
    of: TxnId,
    /// The dependents have been told. A transaction that comes later reads the status, which does not change any more.
    closed: bool,
    ids: SmallVec<[TxnId; 4]>,
    /// The places whose queues wait for the transaction to end.
    places: SmallVec<[Place; 2]>,
    /// The number of times that the transaction has given up locks before its end.
    recalls: u64,
}

impl Dependents {
    fn of(of: TxnId) -> Self {
        Self { of, closed: false, ids: SmallVec::new(), places: SmallVec::new(), recalls: 0 }
    }
}

/// The part of a running transaction that all others may read. The transactions of one transaction object run in the
/// same slot, one after the other.
#[repr(align(128))]
pub(super) struct Slot {
    /// The id of the transaction that runs in this slot, or of the last one that ran there: a [`TxnId`] as a number.
    /// Zero if no transaction has run in the slot yet.
    pub id: AtomicU64,
    pub status: AtomicU64,
    /// The number under which reports name the transaction that runs here.
    label: AtomicU32,
    /// The versions that the transaction may read, as [`snapshots`](super::snapshots) encodes them.
    pub snapshot: AtomicU64,
    /// The transaction's number, whether a transaction that it depends on has aborted, and the number of transactions
    /// that it depends on and has not heard of yet.
    dependencies: AtomicU64,
    dependents: Latch<Dependents>,
    /// The transactions that wait for this one, and the locks that it holds while it waits itself.
    pub waiting: Latch<Waiting>,
    /// Wakes the transaction when it waits.
    pub waiter: Latch<Option<Waiter>>,
    /// The versions that the transactions of this slot have ended. The backlog stays when the slot is given back.
    pub backlog: Latch<Backlog>,
    /// The sweeper of the transaction object that had the slot last, kept while the slot is free.
    sweeper: Latch<Sweeper>,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            id: AtomicU64::new(0),
            status: AtomicU64::new(Status::Over.encode()),
            label: AtomicU32::new(0),
            snapshot: AtomicU64::new(0),
            dependencies: AtomicU64::new(0),
            dependents: Latch::new(Dependents { closed: true, ..Dependents::of(TxnId::NONE) }),
            waiting: Latch::default(),
            waiter: Latch::new(None),
            backlog: Latch::new(Backlog::default()),
            sweeper: Latch::new(Sweeper::default()),
        }
    }
}

impl Slot {
    pub fn status(&self) -> Status {
        Status::decode(self.status.load(Ordering::Acquire))
    }

    /// Whether a transaction runs in this slot that is not over.
    pub fn is_running(&self) -> bool {
        self.status() != Status::Over
    }

    fn set_status(&self, status: Status) {
        self.status.store(status.encode(), Ordering::Release);
    }
}

/// The outcome of registering a dependency on another transaction's commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Registered {
    /// The transaction that was asked will report its outcome.
    Pending,
    /// The transaction that was asked has committed.
    Committed,
    /// The transaction that was asked has aborted or is over, so its versions must be read again.
    Ended,
}

/// The state of a transaction's dependencies on the commits of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dependencies {
    /// At least one transaction that this one depends on has not ended, and none has aborted.
    Open,
    /// All transactions that this one depends on have committed.
    Resolved,
    /// A transaction that this one depends on has aborted (AbortNow).
    Broken,
}

/// The table of the transactions of one database: all slots.
pub(super) struct Transactions {
    chunks: Box<[OnceLock<Box<[Slot]>>]>,
    /// The queues in which transactions wait for writers.
    pub queues: Queues,
    free: Mutex<Vec<SlotNumber>>,
    /// The number of slots that were ever taken: the slots below this number.
    high: AtomicU32,
}

impl Transactions {
    pub fn new() -> Self {
        let chunks = (0..CHUNKS).map(|_| OnceLock::new()).collect();
        Self { chunks, queues: Queues::default(), free: Mutex::new(Vec::new()), high: AtomicU32::new(0) }
    }

    /// Takes a free slot for a transaction object that waits through `waiter`. Returns the slot, the id of the last
    /// transaction that ran there, and the sweeper that was kept there, or `None` if all slots (65,536) are taken.
    pub fn take(&self, waiter: &Waiter) -> Option<(SlotNumber, TxnId, Sweeper)> {
        let mut free = self.free.lock().unwrap_or_else(|poison| poison.into_inner());
        let number = match free.pop() {
            Some(number) => number,
            None => {
                let number = self.high.load(Ordering::Acquire);
                let chunk = self.chunks.get(number as usize / CHUNK_SLOTS)?;
                chunk.get_or_init(|| (0..CHUNK_SLOTS).map(|_| Slot::default()).collect());
                self.high.store(number + 1, Ordering::Release);
                SlotNumber(number)
            }
        };
        let slot = self.slot(number);
        *slot.waiter.lock() = Some(waiter.clone());
        let last = slot.id.load(Ordering::Acquire);
        let last = if last == 0 { TxnId(u64::from(number.0)) } else { TxnId(last) };
        Some((number, last, std::mem::take(&mut *slot.sweeper.lock())))
    }

    /// Gives back a slot in which no transaction runs, with its sweeper.
    pub fn give_back(&self, number: SlotNumber, sweeper: Sweeper) {
        let slot = self.slot(number);
        *slot.waiter.lock() = None;
        *slot.sweeper.lock() = sweeper.put_away();
        self.free.lock().unwrap_or_else(|poison| poison.into_inner()).push(number);
    }

    /// Returns the number of slots that were ever taken.
    #[inline]
    pub fn slots(&self) -> u32 {
        self.high.load(Ordering::Acquire)
    }

    /// Returns the slots that have ever been in use.
    pub fn all(&self) -> impl Iterator<Item = &Slot> {
        (0..self.slots()).map(|number| self.slot(SlotNumber(number)))
    }

    /// Returns the snapshot that each slot publishes.
    pub fn snapshots(&self) -> impl Iterator<Item = Snapshot> {
        self.all().map(|slot| Snapshot::of(&slot.snapshot))
    }

    /// Returns the slot after another one, in a circle.
    pub fn after(&self, SlotNumber(number): SlotNumber) -> SlotNumber {
        SlotNumber((number + 1) % self.slots().max(1))
    }

    #[inline]
    pub fn slot(&self, SlotNumber(number): SlotNumber) -> &Slot {
        let chunk = self.chunks[number as usize / CHUNK_SLOTS].get().expect("slots are made before they are numbered");
        &chunk[number as usize % CHUNK_SLOTS]
    }

    #[inline]
    pub fn slot_of(&self, id: TxnId) -> &Slot {
        self.slot(id.slot())
    }

    /// Sets the number under which reports name a transaction that has just begun.
    #[inline]
    pub fn name(&self, id: TxnId, label: u32) {
        self.slot_of(id).label.store(label, Ordering::Release);
    }

    /// Returns the number under which reports name a transaction, or `None` if another transaction runs in its slot by
    /// now. A new transaction of the slot sets its id before its label, so the number is never that of another one.
    pub fn label_of(&self, id: TxnId) -> Option<u32> {
        let slot = self.slot_of(id);
        let label = slot.label.load(Ordering::Acquire);
        (slot.id.load(Ordering::Acquire) == id.0).then_some(label)
    }

    /// Begins the transaction after `last` in its slot, and returns its id, or `None` if the slot is used up.
    #[inline]
    pub fn begin(&self, last: TxnId) -> Option<TxnId> {
        let id = last.next()?;
        let slot = self.slot_of(id);
        // Before the status: invariant 1.
        slot.id.store(id.0, Ordering::Release);
        slot.dependencies.store(id.sequence() << SEQUENCE_SHIFT, Ordering::Release);
        slot.set_status(Status::Active(WaitFor::none(id)));
        Some(id)
    }

    /// Returns the state of a transaction now. If the transaction is about to draw its end timestamp, this call draws
    /// it for the transaction.
    #[inline]
    pub fn look(&self, id: TxnId, clock: &Clock) -> State {
        let slot = self.slot_of(id);
        loop {
            let status = slot.status();
            if slot.id.load(Ordering::Acquire) != id.0 {
                return State::Gone;
            }
            return match status {
                Status::Over => State::Gone,
                Status::Active(_) => State::Active,
                Status::Precommit(_) => {
                    Self::give_time(slot, id, clock);
                    continue;
                }
                Status::Preparing(time) => State::Preparing(time),
                Status::Committed(time) => State::Committed(time),
                Status::Aborted => State::Aborted,
            };
        }
    }

    /// Ends the active part of a transaction: draws its end timestamp (§2.4, Preparation phase). Returns `None`, and
    /// changes nothing, if the transaction must wait for others to end before it.
    pub fn precommit(&self, id: TxnId, clock: &Clock) -> Option<Timestamp> {
        let slot = self.slot_of(id);
        let wants = Status::Precommit(id.sequence()).encode();
        let from = |wait_for| {
            let from = Status::Active(wait_for).encode();
            slot.status.compare_exchange(from, wants, Ordering::AcqRel, Ordering::Acquire).is_ok()
        };
        if !from(WaitFor::none(id)) && !from(WaitFor::none(id).shut()) {
            return None;
        }
        Self::give_time(slot, id, clock);
        match slot.status() {
            Status::Preparing(time) => Some(time),
            status => unreachable!("whoever was faster has given a time: {status:?}"),
        }
    }

    /// Gives an end timestamp to a transaction that wants one, unless another thread has given it one before. Then the
    /// timestamp drawn here stays unused.
    fn give_time(slot: &Slot, id: TxnId, clock: &Clock) {
        let time = clock.next();
        let (from, to) = (Status::Precommit(id.sequence()), Status::Preparing(time));
        // An error is another one's time.
        let _ = slot.status.compare_exchange(from.encode(), to.encode(), Ordering::AcqRel, Ordering::Acquire);
    }

    /// Publishes that a transaction has committed at `time`. Reports this to the transactions that depend on it, and
    /// gives the turn to the first in each queue of which it is the holder.
    pub fn commit(&self, id: TxnId, time: Timestamp) {
        self.slot_of(id).set_status(Status::Committed(time));
        self.report(id, true);
    }

    /// Publishes that a transaction has aborted. Reports this to the transactions that depend on it, and gives the turn
    /// to the first in each queue of which it is the holder.
    pub fn abort(&self, id: TxnId) {
        self.slot_of(id).set_status(Status::Aborted);
        self.report(id, false);
    }

    /// Publishes that a transaction is over: its id stands in no version any more.
    pub fn end(&self, id: TxnId) {
        self.slot_of(id).set_status(Status::Over);
    }

    /// Registers that `me` depends on the commit of `on` (§2.7), so that `on` reports its outcome to `me`. The caller
    /// has seen that `on` is preparing.
    #[cold]
    pub fn register(&self, me: TxnId, on: TxnId) -> Registered {
        let slot = self.slot_of(on);
        let mut dependents = slot.dependents.lock();
        if slot.id.load(Ordering::Acquire) != on.0 {
            return Registered::Ended;
        }
        if dependents.of != on {
            // The list is an earlier transaction's in the slot: `on` has not told any other yet, or the list would
            // be its own.
            *dependents = Dependents::of(on);
        }
        if dependents.closed {
            // The status, and then the id, which may have become the next one's since: invariant 1.
            let status = slot.status();
            let has_committed = matches!(status, Status::Committed(_)) && slot.id.load(Ordering::Acquire) == on.0;
            return if has_committed { Registered::Committed } else { Registered::Ended };
        }
        // Counted before it can be told.
        self.slot_of(me).dependencies.fetch_add(1, Ordering::AcqRel);
        dependents.ids.push(me);
        Registered::Pending
    }

    /// Tells the transactions that depend on `me`, and those that wait for a row that `me` has, that it has ended.
    fn report(&self, me: TxnId, committed: bool) {
        let mut dependents = self.slot_of(me).dependents.lock();
        let empty = Dependents { closed: true, ..Dependents::of(me) };
        let registered = std::mem::replace(&mut *dependents, empty);
        drop(dependents);
        if registered.of == me {
            registered.ids.into_iter().for_each(|id| self.tell(id, committed));
            registered.places.into_iter().for_each(|place| self.queues.release(place, me));
        }
    }

    /// Arranges that the first transaction in the queue of a place gets its turn when `on`, the queue's holder, ends.
    /// If `on` has ended already, or has given up locks more than `recalls` times, the first gets its turn at once.
    pub fn call_after(&self, (on, recalls): (TxnId, u64), place: Place) {
        let slot = self.slot_of(on);
        let mut dependents = slot.dependents.lock();
        let is_running = slot.id.load(Ordering::Acquire) == on.0 && slot.is_running();
        if is_running && dependents.of != on {
            *dependents = Dependents::of(on);
        }
        if is_running && !dependents.closed && dependents.recalls == recalls {
            dependents.places.push(place);
            return;
        }
        drop(dependents);
        self.queues.release(place, on);
    }

    /// Gives the turn to the first transaction in the queue of each of these places, if it waits for `me`, which has
    /// given up locks there in a rollback to a savepoint. The transaction that gets its turn finds out whether all
    /// locks there are given up. Transactions that wait at other places are not woken: otherwise two transactions that
    /// wait for each other, and undo a part before each wait, would wake each other for ever, and neither of them would
    /// be found in a deadlock.
    #[cold]
    pub fn recall(&self, me: TxnId, given_up: &[Place]) {
        let mut dependents = self.slot_of(me).dependents.lock();
        if dependents.of != me {
            *dependents = Dependents::of(me);
        }
        dependents.recalls += 1;
        let (called, rest): (SmallVec<[_; 2]>, SmallVec<[_; 2]>) =
            dependents.places.drain(..).partition(|place| given_up.contains(place));
        dependents.places = rest;
        drop(dependents);
        called.into_iter().for_each(|place| self.queues.release(place, me));
    }

    /// Returns the number of times that a transaction has given up locks before its end, in rollbacks to savepoints. If
    /// a caller first reads the number and then finds that the transaction still has a lock, the release of that lock
    /// is not counted yet.
    #[cold]
    pub fn recalls(&self, of: TxnId) -> u64 {
        let dependents = self.slot_of(of).dependents.lock();
        if dependents.of == of { dependents.recalls } else { 0 }
    }

    /// Gives the turn to the first in each queue of which `me` is the holder. `me` ends without a change.
    pub fn let_go(&self, me: TxnId) {
        self.report(me, true);
    }

    fn tell(&self, id: TxnId, committed: bool) {
        let slot = self.slot_of(id);
        let heard = |word: u64| {
            let is_its_own = word >> SEQUENCE_SHIFT == id.sequence();
            is_its_own.then(|| if committed { word - 1 } else { (word - 1) | ABORT_NOW })
        };
        // An error is another transaction's counter: the one that was to be told is over.
        let Ok(before) = slot.dependencies.fetch_update(Ordering::AcqRel, Ordering::Acquire, heard) else { return };
        if !committed || before & COUNT == 1 {
            let waiter = slot.waiter.lock().clone();
            waiter.inspect(Waiter::wake);
        }
    }

    /// Returns the state of the dependencies of `me` on the commits of others.
    #[inline]
    pub fn dependencies(&self, me: TxnId) -> Dependencies {
        let word = self.slot_of(me).dependencies.load(Ordering::Acquire);
        debug_assert_eq!(word >> SEQUENCE_SHIFT, me.sequence());
        match word {
            word if word & ABORT_NOW != 0 => Dependencies::Broken,
            word if word & COUNT == 0 => Dependencies::Resolved,
            _ => Dependencies::Open,
        }
    }
}

impl Transactions {
    /// Returns statistics of versions and their readers. `alive` is the number of versions in the tables, including
    /// those that have ended and are not collected.
    pub fn version_statistics(&self, alive: u64, clock: &Clock) -> VersionStatistics {
        let now = clock.now();
        let mut statistics = VersionStatistics { alive, ..VersionStatistics::default() };
        for slot in self.all() {
            let (garbage, held) = slot.backlog.lock().len();
            statistics.garbage += garbage as u64;
            statistics.held += held as u64;
            statistics.transactions += u64::from(slot.is_running());
            if let Snapshot::From(time) | Snapshot::Exact(time) | Snapshot::ReadOnly(time) =
                Snapshot::of(&slot.snapshot)
            {
                let age = now.0.saturating_sub(time.0);
                statistics.oldest_reader = statistics.oldest_reader.max(Some(age));
            }
        }
        statistics
    }

    /// Whether no transaction runs in any slot.
    pub fn are_over(&self) -> bool {
        self.all().all(|slot| slot.status() == Status::Over)
    }

    /// Returns the transactions that will abort, because a transaction that they depend on has aborted, or will.
    pub fn doomed(&self) -> BTreeSet<TxnId> {
        let id = |slot: &Slot| TxnId(slot.id.load(Ordering::Acquire));
        let is_broken = |slot: &&Slot| slot.dependencies.load(Ordering::Acquire) & ABORT_NOW != 0;
        let mut doomed: BTreeSet<_> = self.all().filter(is_broken).map(id).collect();
        loop {
            let before = doomed.len();
            for slot in self.all() {
                let dependents = slot.dependents.lock();
                if !dependents.closed && doomed.contains(&dependents.of) {
                    doomed.extend(&dependents.ids);
                }
            }
            if doomed.len() == before {
                return doomed;
            }
        }
    }

    /// Checks that each transaction waits for as many reports as there are transactions that will report to it, and
    /// that transactions that are over read nothing. No transaction may be in the middle of a step.
    pub fn audit(&self) -> Result<(), String> {
        let mut told_by: BTreeMap<TxnId, u64> = BTreeMap::new();
        for slot in self.all() {
            let dependents = slot.dependents.lock();
            if !dependents.closed {
                dependents.ids.iter().for_each(|&id| *told_by.entry(id).or_default() += 1);
            }
        }
        for slot in self.all() {
            let id = TxnId(slot.id.load(Ordering::Acquire));
            let word = slot.dependencies.load(Ordering::Acquire);
            let (waits_for, tellers) = (word & COUNT, told_by.get(&id).copied().unwrap_or_default());
            let is_over = slot.status() == Status::Over;
            if is_over && slot.snapshot.load(Ordering::Acquire) != 0 {
                return Err(format!("{id:?} is over, and reads"));
            }
            if !is_over && (waits_for != tellers || word >> SEQUENCE_SHIFT != id.sequence()) {
                return Err(format!("{id:?} waits for {waits_for}, and {tellers} will tell it"));
            }
        }
        self.queues.audit(|holder, place| {
            let slot = self.slot_of(holder);
            let dependents = slot.dependents.lock();
            slot.is_running() && dependents.of == holder && !dependents.closed && dependents.places.contains(&place)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::txn_id::SEQUENCES;
    use super::*;
    use std::time::Duration;

    struct Fixture {
        transactions: Transactions,
        clock: Clock,
    }

    fn fixture() -> Fixture {
        Fixture { transactions: Transactions::new(), clock: Clock::new() }
    }

    impl Fixture {
        fn begin(&self) -> TxnId {
            let (_, last, _) = self.transactions.take(&Waiter::thread(Duration::ZERO)).expect("there are slots");
            self.transactions.begin(last).expect("the slot is new")
        }

        fn state(&self, id: TxnId) -> State {
            self.transactions.look(id, &self.clock)
        }
    }

    #[test]
    fn a_transaction_is_seen_at_each_step_and_gone_afterwards() {
        let all = fixture();
        let first = all.begin();
        assert_eq!(all.state(first), State::Active);
        let time = all.transactions.precommit(first, &all.clock).expect("it waits for nobody");
        assert!(time > Timestamp::LOADED);
        assert_eq!(all.state(first), State::Preparing(time));
        all.transactions.commit(first, time);
        assert_eq!(all.state(first), State::Committed(time));
        all.transactions.end(first);
        assert_eq!(all.state(first), State::Gone);
        let second = all.transactions.begin(first).expect("the slot is not used up");
        assert_ne!(first, second);
        assert_eq!((all.state(first), all.state(second)), (State::Gone, State::Active));
        all.transactions.abort(second);
        assert_eq!(all.state(second), State::Aborted);
    }

    #[test]
    fn whoever_looks_gives_the_time_that_is_wanted() {
        let all = fixture();
        let id = all.begin();
        all.transactions.slot_of(id).set_status(Status::Precommit(id.sequence()));
        let read_time = all.clock.now();
        let State::Preparing(time) = all.state(id) else { panic!("it has a time") };
        assert!(time > read_time);
        Transactions::give_time(all.transactions.slot_of(id), id, &all.clock);
        assert_eq!(all.state(id), State::Preparing(time), "one time for one transaction");
    }

    #[test]
    fn dependents_hear_how_it_ended_and_nobody_after_them_does() {
        for committed in [true, false] {
            let all = fixture();
            let (writer, reader, gone) = (all.begin(), all.begin(), all.begin());
            let transactions = &all.transactions;
            assert_eq!(transactions.dependencies(reader), Dependencies::Resolved);
            let time = transactions.precommit(writer, &all.clock).expect("it waits for nobody");
            for dependent in [reader, gone] {
                assert_eq!(transactions.register(dependent, writer), Registered::Pending);
            }
            assert_eq!(transactions.dependencies(reader), Dependencies::Open);
            transactions.abort(gone);
            transactions.end(gone);
            let next = transactions.begin(gone).expect("the slot is not used up");
            match committed {
                true => transactions.commit(writer, time),
                false => transactions.abort(writer),
            }
            let heard = if committed { Dependencies::Resolved } else { Dependencies::Broken };
            assert_eq!(transactions.dependencies(reader), heard);
            assert_eq!(transactions.dependencies(next), Dependencies::Resolved, "it registered nowhere");
            let late = if committed { Registered::Committed } else { Registered::Ended };
            assert_eq!(transactions.register(next, writer), late);
            transactions.end(writer);
            assert_eq!(transactions.register(next, writer), Registered::Ended);
            let after = transactions.begin(writer).expect("the slot is not used up");
            assert_eq!(transactions.register(next, after), Registered::Pending, "a list of its own");
            assert_eq!(transactions.register(next, writer), Registered::Ended);
        }
    }

    #[test]
    fn slots_are_used_again_and_ids_are_not() {
        let all = fixture();
        let waiter = Waiter::thread(Duration::ZERO);
        let (slot, last, sweeper) = all.transactions.take(&waiter).expect("there are slots");
        let id = all.transactions.begin(last).expect("the slot is new");
        all.transactions.end(id);
        all.transactions.give_back(slot, sweeper);
        let (again, last, _) = all.transactions.take(&waiter).expect("there are slots");
        assert_eq!((again, last), (slot, id));
        assert_ne!(all.transactions.begin(last), Some(id));
        let used_up = TxnId((SEQUENCES - 1) << SLOT_BITS);
        assert_eq!(all.transactions.begin(used_up), None);
    }
}
