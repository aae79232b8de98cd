//! The limit of transactions that work on the locks of a hot set at once.
//!
//! **Source.** Moenkeberg, Weikum: Performance Evaluation of an Adaptive and Robust Load Control Method for the
//! Avoidance of Data-Contention Thrashing. Transactions are admitted as conflicts allow. There the measure is the share
//! of locks that blocked transactions hold; here it is the share of attempts that end as the victim of a deadlock.
//! Waits by themselves cost nothing that another transaction could use: a queue at one hot row moves as fast as its
//! holders do, however long it is.
//!
//! **Definitions.** A lock is *hot* for some time after transactions waited for it while there was a deadlock, or were
//! held back at it. A transaction that locks as it goes needs a *ticket* before it takes its first hot lock. If no
//! ticket is free it is *held back*: it waits, with the locks that it has, until one is. It keeps the ticket to its
//! end.
//!
//! **The number of tickets** is a [`LoadLimit`](hotrow_txn::LoadLimit): an attempt fails if it is the victim of a
//! deadlock and has a ticket. When it is one, the transactions that meet on hot locks run one after the other.
//!
//! **Invariants**
//!
//! 1. A transaction that has not met a hot lock needs no ticket, and is not held back. Neither is a transaction at read
//!    committed while it only reads, since its read locks end with their calls.
//! 2. *No holder of a ticket waits for a transaction that is held back.* A transaction that comes to wait lets in the
//!    transaction that holds its lock, if that one is held back. A transaction is not held back while another one waits
//!    for a lock that it holds. Both look at the list under its mutex, and every transaction is listed that comes to
//!    wait while any lock is hot. So tickets close no cycle of such waits. A wait that began before, by a transaction
//!    that held nothing, is not listed: its transaction has no ticket.
//! 3. *A ticket's holder that stands still keeps no other out for long.* A ticket counts for a *lease*: some multiple
//!    of the time for which tickets are held here. After that its holder goes on beside the limit. That is the case of
//!    a client that thinks in the middle of its transaction, and of a transaction that waits for something which is no
//!    lock of the engine, such as a table lock.
//! 4. Of the transactions that are held back the oldest is let in first, and a transaction that is tried again keeps
//!    its age. Transactions that are let in because another one waits for them count like others, so for a while there
//!    may be more tickets than the limit.
//!
//! **Cost.** While no lock is hot, each lock costs a read of one word that no thread writes. While some are, a lock
//! costs a look at its place in a table, and a hot one a look at the clock, too. When for a second there was no
//! deadlock and no transaction was held back, no lock is hot any more: the next transaction that waits, or comes to
//! such a lock, notices.

use super::Standing;
use hotrow_sync::Time;
use hotrow_sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use hotrow_txn::{Abort, Tickets};
use std::time::Duration;

/// The number of places of the table of hot locks. Locks that share a place are hot together.
const PLACES: usize = 4096;

/// The number of coolings for which a lock stays hot. The locks cool each time [`COOLED_AFTER`] tickets were returned.
const HOT: u8 = 4;
const COOLED_AFTER: u32 = 256;

/// The time without a new hot lock after which all locks have cooled.
const QUIET: Duration = Duration::from_secs(1);

/// The table of the locks that are hot: transactions waited for them lately while there was a deadlock. Any thread may
/// call any method.
pub(super) struct Heat {
    /// Whether any lock is hot.
    is_any: AtomicBool,
    /// The time at which a lock became hot last, as the number of a [`Time`].
    last: AtomicU64,
    places: Box<[AtomicU8]>,
}

impl Heat {
    fn new() -> Self {
        let places = (0..PLACES).map(|_| AtomicU8::new(0)).collect();
        Self { is_any: AtomicBool::new(false), last: AtomicU64::new(0), places }
    }

    #[inline]
    pub(super) fn is_any(&self) -> bool {
        self.is_any.load(Ordering::Acquire)
    }

    /// Whether the lock with this hash is hot.
    pub(super) fn is_hot(&self, lock: u64) -> bool {
        self.place(lock).load(Ordering::Acquire) > 0
    }

    fn place(&self, lock: u64) -> &AtomicU8 {
        &self.places[lock as usize % PLACES]
    }

    /// Makes the lock with this hash hot. The caller has the mutex of the list of waiting transactions.
    pub(super) fn heat(&self, lock: u64, now: Time) {
        self.place(lock).store(HOT, Ordering::Release);
        self.last.store(now.0, Ordering::Release);
        self.is_any.store(true, Ordering::Release);
    }

    /// Whether no lock has become hot during the last second. Then all locks count as cool.
    pub(super) fn is_quiet(&self, now: Time) -> bool {
        now.since(Time(self.last.load(Ordering::Acquire))) > QUIET
    }

    /// Returns the number of places that are hot.
    pub(super) fn count(&self) -> usize {
        self.places.iter().filter(|place| place.load(Ordering::Acquire) > 0).count()
    }

    /// Cools all locks by one step. The caller has the mutex, as above.
    fn cool(&self) {
        let mut is_any = false;
        for place in &self.places {
            let heat = place.load(Ordering::Acquire);
            if heat > 0 {
                place.store(heat - 1, Ordering::Release);
                is_any |= heat > 1;
            }
        }
        self.is_any.store(is_any, Ordering::Release);
    }
}

/// The tickets that admit transactions to hot locks. The caller of each method has the mutex of the list of waiting
/// transactions.
#[derive(Default)]
pub(super) struct HotTickets {
    pub(super) tickets: Tickets,
    /// The number of tickets that were returned since the locks cooled last.
    returned: u32,
    /// The number of transactions that have had to wait for a ticket so far.
    pub(super) held_back: u64,
}

impl HotTickets {
    /// Takes back the ticket of a transaction. `lost` says whether the transaction was the victim of a deadlock, and
    /// `is_short` whether others are held back for want of tickets. After every 256 tickets that are taken back, the
    /// locks cool by a step.
    pub(super) fn take_back(&mut self, holder: u32, now: Time, lost: bool, is_short: bool, heat: &Heat) {
        self.tickets.take_back(holder, now, lost.then_some(Abort::Deadlock), is_short);
        self.returned += 1;
        if self.returned == COOLED_AFTER {
            self.cool(heat);
        }
    }

    /// Cools the locks by a step. When no lock is hot any more the limit is as it was in the beginning.
    fn cool(&mut self, heat: &Heat) {
        self.returned = 0;
        heat.cool();
        if !heat.is_any() {
            self.tickets.reset_limit();
        }
    }

    /// Makes all locks cold, and sets the limit back to what it was in the beginning.
    pub(super) fn cool_all(&mut self, heat: &Heat) {
        (0..HOT).for_each(|_| self.cool(heat));
    }
}

/// Returns the initial state of admission: no lock is hot, and no transaction has a ticket.
pub(super) fn admission() -> (Heat, HotTickets) {
    (Heat::new(), HotTickets::default())
}

/// Whether a transaction needs a ticket before it locks a hot lock. A transaction whose access set is locked as it
/// begins (`is_declared`) needs none. A one-shot transaction holds its locks for no round trip of a client, so it needs
/// a ticket only after it has been a victim.
pub(crate) fn needs_ticket(standing: &Standing, one_shot: bool, is_declared: bool) -> bool {
    !is_declared && (!one_shot || standing.has_lost())
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Returns so many tickets, each held for a microsecond.
    fn take_back(heat: &Heat, tickets: &mut HotTickets, count: u32, lost: bool, is_short: bool) {
        for _ in 0..count {
            tickets.tickets.give(7, Time(0));
            tickets.take_back(7, Time(1_000), lost, is_short, heat);
        }
    }

    #[test]
    fn a_lock_cools_while_tickets_are_returned_and_with_the_last_one_all_is_as_it_was() {
        let (heat, mut tickets) = admission();
        let first = tickets.tickets.limit();
        assert!(!heat.is_any());
        heat.heat(1, Time(0));
        take_back(&heat, &mut tickets, 64, true, true);
        let rounds = u32::from(HOT) - 1;
        take_back(&heat, &mut tickets, rounds * COOLED_AFTER - 64, false, false);
        heat.heat(2, Time(0));
        assert!(heat.is_hot(1) && heat.is_any());
        take_back(&heat, &mut tickets, COOLED_AFTER, false, false);
        assert!(!heat.is_hot(1), "it has not been met for so long");
        assert_eq!((heat.is_hot(2), heat.is_any(), heat.count(), tickets.tickets.limit()), (true, true, 1, 1));
        take_back(&heat, &mut tickets, rounds * COOLED_AFTER, false, false);
        assert_eq!((heat.is_any(), heat.count()), (false, 0));
        assert_eq!(tickets.tickets.limit(), first);
    }

    #[test]
    fn all_locks_cool_when_none_is_made_hot_for_a_while() {
        let (heat, mut tickets) = admission();
        let first = tickets.tickets.limit();
        let start = Time(7_000_000_000);
        heat.heat(1, start);
        heat.heat(2, start);
        take_back(&heat, &mut tickets, 100, true, true);
        assert!(!heat.is_quiet(start.after(QUIET)));
        assert!(heat.is_quiet(start.after(QUIET + Duration::from_nanos(1))));
        tickets.cool_all(&heat);
        assert_eq!((heat.is_any(), heat.count(), tickets.tickets.limit()), (false, 0, first));
    }
}
