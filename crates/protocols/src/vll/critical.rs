//! The critical section, in which transactions ask for their locks and give them back, one at a time.
//!
//! | paper (Fig. 1) | code |
//! | --- | --- |
//! | BeginTransaction | [`Core::begin`] |
//! | FinishTransaction | [`Core::finish`] |
//! | first choice of VLLMainLoop: the blocked front | [`TxnQueue::remove`], by the transaction that leaves the front |
//! | `TxnQueue is not full` | [`Core::has_room`] |
//! | SCA (Fig. 4) | [`Core::analyse`] |

use super::queue::{Entry, Slot, Slots, TxnQueue, Woken};
use crate::shared::contention::Analysis;
use crate::shared::counts::{self, Refused, Requests, bury, discount};
use crate::shared::range_locks::{Counted, PrefixCounters};
use hotrow_sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use hotrow_sync::{Arc, CachePadded, Latch, LatchGuard, Mutex};
use hotrow_txn::Statistics;

/// The outcome of a transaction's request for all its locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begun {
    /// The transaction has all its locks.
    Free,
    /// The transaction is in the queue, and waits for its locks.
    Blocked,
    /// The record of the request at this position is being unlinked. Nothing is counted, and the transaction does not
    /// wait.
    Dead(usize),
    /// A counter is exhausted: nothing is counted, and the transaction does not wait.
    Exhausted,
}

/// The lock manager of one database: the critical section, the queue of transactions, and the contention analysis. The
/// counters of records are with the records. All threads share it.
#[derive(Debug)]
pub(super) struct Core {
    critical: CachePadded<Latch<Critical>>,
    /// Whether there is room and whether a transaction is blocked, as of late: to be looked at outside of the critical
    /// section.
    room: CachePadded<AtomicBool>,
    blocked: CachePadded<AtomicBool>,
    slots: Arc<Slots>,
    /// The contention analysis, if the engine does any. One thread at a time uses it.
    analyst: Option<Mutex<Analyst>>,
    /// The number of events because of which an analysis may find what the last one did not: a transaction has left the
    /// queue while others were blocked, or tells now what it conceals no longer.
    changes: CachePadded<AtomicU64>,
    /// Whether a thread wanted to analyse and found another one at it. The other one looks again then.
    missed: CachePadded<AtomicBool>,
    /// Whether transactions write their requests down for audits.
    has_ledgers: AtomicBool,
}

/// The state that the critical section protects, beside the counters of records.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Critical {
    pub(super) queue: TxnQueue,
    had_room: bool,
    had_blocked: bool,
    pub(super) prefixes: PrefixCounters,
}

#[derive(Debug, Default)]
struct Analyst {
    analysis: Analysis,
    /// The entries of the queue, as it was when the analysis began.
    entries: Vec<Entry>,
    /// The number of changes before the last analysis, if that found nothing. Until there is another change, another
    /// analysis would find nothing, too.
    in_vain: Option<u64>,
}

impl Core {
    /// Makes a lock manager with an empty queue. There is room while fewer than `blocked_limit` transactions are
    /// blocked.
    pub(super) fn new(blocked_limit: usize, analyses: bool) -> Arc<Self> {
        let queue = TxnQueue::new(blocked_limit);
        let critical = Critical { queue, had_room: true, had_blocked: false, prefixes: PrefixCounters::default() };
        Arc::new(Self {
            critical: CachePadded(Latch::new(critical)),
            room: CachePadded(AtomicBool::new(true)),
            blocked: CachePadded(AtomicBool::new(false)),
            slots: Arc::default(),
            analyst: analyses.then(Mutex::default),
            changes: CachePadded(AtomicU64::new(0)),
            missed: CachePadded(AtomicBool::new(false)),
            has_ledgers: AtomicBool::new(false),
        })
    }

    /// Returns the slots of the database's transactions.
    pub(super) fn slots(&self) -> &Arc<Slots> {
        &self.slots
    }

    /// Whether the engine analyses contention, so that transactions publish their requests.
    #[inline]
    pub(super) fn analyses(&self) -> bool {
        self.analyst.is_some()
    }

    /// Whether transactions record their requests in their slots, for audits.
    #[inline]
    pub(super) fn has_ledgers(&self) -> bool {
        // Relaxed: a transaction that does not know yet has no ledger, and the audit sees that.
        self.has_ledgers.load(Ordering::Relaxed)
    }

    /// Makes transactions that begin from now on record their requests in their slots, for audits.
    pub(super) fn keep_ledgers(&self) {
        // Relaxed: as in `has_ledgers`.
        self.has_ledgers.store(true, Ordering::Relaxed);
    }

    /// Whether a worker of a pool may begin another transaction. The answer may be a little old.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        // Relaxed: one transaction more or less does no harm.
        self.room.load(Ordering::Relaxed)
    }

    /// Whether a transaction is blocked. The answer may be a little old.
    #[inline]
    pub(super) fn are_blocked(&self) -> bool {
        // Relaxed: a transaction that does not know yet conceals what it asks for, and analyses end there.
        self.blocked.load(Ordering::Relaxed)
    }

    /// Notes a change of the queue or of published requests, after which an analysis may find a transaction that the
    /// last one did not find.
    pub(super) fn has_changed(&self) {
        self.changes.0.fetch_add(1, Ordering::AcqRel);
    }

    /// Enters the critical section.
    #[inline]
    pub(super) fn enter(&self) -> LatchGuard<'_, Critical> {
        self.critical.0.lock()
    }

    /// Leaves the critical section, and then wakes the transactions that were unblocked in it.
    #[inline]
    pub(super) fn leave(&self, mut critical: LatchGuard<'_, Critical>, woken: Woken) {
        let room = critical.queue.has_room();
        if room != critical.had_room {
            critical.had_room = room;
            // Relaxed: as in `has_room`.
            self.room.store(room, Ordering::Relaxed);
        }
        let blocked = critical.queue.blocked() > 0;
        if blocked != critical.had_blocked {
            critical.had_blocked = blocked;
            // Relaxed: as in `are_blocked`.
            self.blocked.store(blocked, Ordering::Relaxed);
        }
        drop(critical);
        if !woken.is_empty() {
            self.slots.wake(woken);
        }
    }

    /// Asks for all locks of a transaction and enters the queue (BeginTransaction, Fig. 1), in one critical section.
    /// The requests `kept` of the slot's last transaction, all for records with rows, are given back first. `unused` is
    /// called as in [`finish`](Self::finish), if a counter is exhausted.
    #[inline]
    pub(super) fn begin<R: Requests>(
        &self,
        slot: &mut Slot,
        kept: Option<&R>,
        requests: &R,
        prefixes: &[Counted],
        unused: impl FnMut(usize),
    ) -> Begun {
        slot.prefetch();
        let mut critical = self.enter();
        let mut woken = Woken::new();
        if let Some(kept) = kept {
            critical.give_back(slot, kept, &[], |_| {}, &mut woken);
            if critical.queue.blocked() > 0 && self.analyses() {
                self.has_changed();
            }
        }
        let begun = match critical.request(requests, prefixes) {
            Ok(is_free) if critical.queue.enqueue(slot, !is_free) => Begun::Blocked,
            Ok(_) => Begun::Free,
            Err(Refused::Dead(at)) => Begun::Dead(at),
            Err(Refused::Exhausted) => {
                bury(requests, unused);
                Begun::Exhausted
            }
        };
        self.leave(critical, woken);
        begun
    }

    /// Gives back all requests of a transaction and removes it from the queue, blocked or not (FinishTransaction, Fig.
    /// 1). `unused` is called for each record without a row that no transaction counts on any more, and that is dead
    /// now. Returns whether other transactions are blocked.
    #[inline]
    pub(super) fn finish(
        &self,
        slot: &Slot,
        requests: &impl Requests,
        prefixes: &[Counted],
        unused: impl FnMut(usize),
    ) -> bool {
        let mut critical = self.enter();
        let mut woken = Woken::new();
        critical.give_back(slot, requests, prefixes, unused, &mut woken);
        let are_blocked = critical.queue.blocked() > 0;
        if are_blocked && self.analyses() {
            self.has_changed();
        }
        self.leave(critical, woken);
        are_blocked
    }

    /// Analyses the contention in the queue (SCA, Fig. 4). Returns whether it found a blocked transaction that
    /// conflicts with none before it; that transaction has been unblocked and woken. If another thread is analysing
    /// already, it does so for all: it looks again for what has changed meanwhile.
    ///
    /// Only the list of the transactions in the queue is taken inside the critical section. Their requests are read
    /// outside. Those of transactions that are still in the queue are complete for this purpose, as no transaction adds
    /// a request that conflicts with what another one has requested; at a transaction that conceals its requests the
    /// analysis ends; transactions that have left conflict with none. A transaction that came later cannot be before
    /// the one that is found.
    pub(super) fn analyse(&self, statistics: &mut Statistics) -> bool {
        let Some(latch) = &self.analyst else { return false };
        let mut found = false;
        loop {
            let Some(mut analyst) = latch.try_lock().ok().or_else(|| {
                self.missed.0.store(true, Ordering::Release);
                // SeqCst: either the latch is found free now, or the analyst, which gives it back after this, finds the
                // note.
                fence(Ordering::SeqCst);
                latch.try_lock().ok()
            }) else {
                return found;
            };
            // The event that the note stands for is looked at from here on.
            self.missed.0.swap(false, Ordering::AcqRel);
            found |= self.analyse_alone(&mut analyst, statistics);
            drop(analyst);
            // SeqCst: the other side of the fence above.
            fence(Ordering::SeqCst);
            if !self.missed.0.load(Ordering::Acquire) {
                return found;
            }
        }
    }

    fn analyse_alone(&self, analyst: &mut Analyst, statistics: &mut Statistics) -> bool {
        let Analyst { analysis, entries, in_vain } = analyst;
        let changes = self.changes.0.load(Ordering::Acquire);
        if *in_vain == Some(changes) {
            return false;
        }
        *in_vain = Some(changes);
        entries.clear();
        {
            let critical = self.enter();
            if critical.queue.blocked() == 0 {
                return false;
            }
            entries.extend(critical.queue.iter());
        }
        let before = analysis.counts();
        let queue = entries.iter().map_while(|&entry| Some((entry, entry.is_blocked(), self.slots.footprint(entry)?)));
        let found = analysis.find(queue);
        statistics.analyses.add(&analysis.counts().since(&before));
        let Some(found) = found else { return false };
        *in_vain = None;
        let mut woken = Woken::new();
        let mut critical = self.enter();
        critical.queue.unblock(&self.slots, found, &mut woken);
        self.leave(critical, woken);
        true
    }
}

impl Critical {
    /// Takes all requests of a transaction back, and removes it from the queue.
    #[inline]
    fn give_back(
        &mut self,
        slot: &Slot,
        requests: &impl Requests,
        prefixes: &[Counted],
        unused: impl FnMut(usize),
        woken: &mut Woken,
    ) {
        discount(requests, unused);
        if !prefixes.is_empty() {
            self.prefixes.release(prefixes);
        }
        self.queue.remove(slot, woken);
    }

    /// Counts all requests, and returns whether all of them are granted.
    #[inline]
    fn request(&mut self, requests: &impl Requests, prefixes: &[Counted]) -> Result<bool, Refused> {
        let is_free = counts::count(requests)?;
        if prefixes.is_empty() {
            return Ok(is_free);
        }
        match self.prefixes.request(prefixes) {
            Ok(are_free) => Ok(is_free && are_free),
            Err(_) => {
                counts::take_back(requests, requests.len());
                Err(Refused::Exhausted)
            }
        }
    }
}
