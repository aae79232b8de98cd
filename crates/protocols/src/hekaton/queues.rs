//! Queues of writers: a transaction that found a row in the hands of another writer waits there until that writer has
//! ended.
//!
//! The paper leaves retries to the application, and says of the first writer only that it wins (§2.6). Here a
//! transaction that gave way ([`give_way`](hotrow_txn::Yielding::give_way)) stands in the queue of its *place*: a
//! key in an index that keeps keys unique. The first of the queue waits for the *holder*, the transaction that it met
//! last. When the holder has ended the first has its *turn*, and keeps it while it tries again: transactions that line
//! up do not take the row before it. Then the next one follows.
//!
//! A transaction that waits here either was rolled back as a whole and holds nothing, or was rolled back to a savepoint
//! and holds what it did before that. Only the latter can be part of a deadlock: `deadlock` knows their edges, from
//! each of a queue to its holder. The order of a queue is no edge, because another order would do as well.
//!
//! **Invariants**
//!
//! 1. A transaction object stands in one queue while it waits, and otherwise only where it has its turn: first in the
//!    queue.
//! 2. A queue has tickets, or it does not exist. `queues` counts those that exist.
//! 3. A queue's holder has the place on the list that it goes through when it ends, or withdraws a part of its changes;
//!    or the one that made it the holder finds that it has ended, or has withdrawn changes since they met. So a holder
//!    that is not active any more, or has given up the row, is taken off its queue, and the first is woken.
//! 4. The transaction whose turn ends wakes the next one, or becomes the queue's holder because it has locked the row.

use super::txn_id::{SlotNumber, TxnId};
use crate::shared::hashed::HashMap;
use crate::shared::mode::Mode;
use hotrow_storage::TableId;
use hotrow_sync::atomic::{AtomicUsize, Ordering};
use hotrow_sync::{Latch, Waiter};
use hotrow_txn::{LockTarget, LockWait};
use std::collections::VecDeque;

/// The number of parts into which the queues are divided, each behind its own latch.
const SHARDS: usize = if cfg!(any(loom, shuttle)) { 2 } else { 64 };

/// A place for which writers queue: the hash of a key in an index. Keys that share a hash share a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub table: TableId,
    pub index: usize,
    pub hash: u64,
}

/// A conflict that ended a call: the transaction that has locked the row, and the queue in which to wait for it.
#[derive(Clone, Debug)]
pub(super) struct Conflict {
    pub place: Place,
    /// The transaction that has locked the row, and how often it had [given up
    /// locks](super::transactions::Transactions::recalls) when it still had this one. `None` if the row was free, but
    /// other transactions were in its queue.
    pub writer: Option<(TxnId, u64)>,
    /// The lock at that place, as reports name it.
    pub target: LockTarget,
}

/// An entry of a queue: a transaction that waits for a row, or has its turn there.
pub(super) struct Ticket {
    pub slot: SlotNumber,
    /// The id of the transaction, if it was rolled back to a savepoint and may still hold locks. `None` if it was
    /// rolled back as a whole.
    pub id: Option<TxnId>,
    pub waiter: Waiter,
    /// The number under which reports name the transaction.
    pub label: u32,
    /// The lock that the transaction waits for, as reports name it.
    pub target: LockTarget,
}

/// The transactions that wait for one place, in the order in which they came.
#[derive(Default)]
struct Queue {
    /// The transaction that the first one waits for, or `None` while the first has its turn.
    holder: Option<TxnId>,
    tickets: VecDeque<Ticket>,
}

impl Queue {
    fn is_first(&self, slot: SlotNumber) -> bool {
        self.tickets.front().is_some_and(|ticket| ticket.slot == slot)
    }

    /// Returns the waiter of the first transaction, if that transaction has its turn, or `None`.
    fn called(&self) -> Option<Waiter> {
        self.tickets.front().filter(|_| self.holder.is_none()).map(|ticket| ticket.waiter.clone())
    }
}

/// The queues of one database.
pub(super) struct Queues {
    shards: Box<[Latch<HashMap<Place, Queue>>]>,
    queues: AtomicUsize,
}

impl Default for Queues {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| Latch::default()).collect(), queues: AtomicUsize::new(0) }
    }
}

impl Queues {
    fn shard(&self, place: Place) -> &Latch<HashMap<Place, Queue>> {
        &self.shards[(place.hash >> 40) as usize % SHARDS]
    }

    /// Whether any transaction is in a queue.
    #[inline]
    pub fn exist(&self) -> bool {
        // Relaxed: a writer that misses a new queue is one that came before it.
        self.queues.load(Ordering::Relaxed) != 0
    }

    /// Puts a transaction at the end of the queue of a place. A transaction that is the first of the queue already,
    /// since it had its turn, stays the first. If the transaction is the first, it waits for `holder` from now on, or
    /// has its turn if `holder` is `None`. Returns whether it is the first.
    pub fn stand(&self, place: Place, ticket: Ticket, holder: Option<TxnId>) -> bool {
        let mut shard = self.shard(place).lock();
        let queue = shard.entry(place).or_insert_with(|| {
            self.queues.fetch_add(1, Ordering::AcqRel);
            Queue::default()
        });
        let slot = ticket.slot;
        match queue.tickets.front_mut().filter(|first| first.slot == slot) {
            Some(first) => first.id = ticket.id,
            None => queue.tickets.push_back(ticket),
        }
        let is_first = queue.is_first(slot);
        if is_first {
            queue.holder = holder;
        }
        is_first
    }

    /// Whether a transaction is the first in its queue and waits for no holder.
    pub fn has_turn(&self, place: Place, slot: SlotNumber) -> bool {
        self.shard(place).lock().get(&place).is_some_and(|queue| queue.holder.is_none() && queue.is_first(slot))
    }

    /// Whether the queue of a place has transactions, and its first is not the transaction of `slot`. A transaction
    /// that finds the row free then leaves the row to the queue.
    pub fn are_before(&self, place: Place, slot: Option<SlotNumber>) -> bool {
        self.shard(place).lock().get(&place).is_some_and(|queue| !slot.is_some_and(|slot| queue.is_first(slot)))
    }

    /// Returns the transaction that the first in the queue of a place waits for.
    pub fn holder(&self, place: Place) -> Option<TxnId> {
        self.shard(place).lock().get(&place).and_then(|queue| queue.holder)
    }

    /// Returns the transactions in the queue of a place that were rolled back only to a savepoint, so that they may
    /// hold locks and be part of a deadlock.
    pub fn holding(&self, place: Place) -> Vec<TxnId> {
        let shard = self.shard(place).lock();
        shard.get(&place).into_iter().flat_map(|queue| &queue.tickets).filter_map(|ticket| ticket.id).collect()
    }

    /// Returns all waits in all queues, for reports. The transactions of a queue wait for its holder, or, while the
    /// first has its turn, for the first. `label` returns the number under which reports name a holder, or `None` if it
    /// has ended.
    pub fn waits(&self, label: impl Fn(TxnId) -> Option<u32>) -> Vec<LockWait> {
        let mut waits = Vec::new();
        for shard in &self.shards {
            for queue in shard.lock().values() {
                let holder = queue.holder.and_then(&label).map(|label| (label, Mode::EXCLUSIVE.name()));
                let has_turn = queue.tickets.front().filter(|_| queue.holder.is_none());
                let of = |ticket: &Ticket| LockWait {
                    waiter: ticket.label,
                    target: ticket.target.clone(),
                    mode: Mode::EXCLUSIVE.name(),
                    holders: holder.into_iter().collect(),
                    before: has_turn.iter().map(|first| first.label).collect(),
                };
                waits.extend(queue.tickets.iter().skip(usize::from(has_turn.is_some())).map(of));
            }
        }
        waits
    }

    /// Takes a transaction out of a queue. If it has its turn, the next one in the queue gets it.
    pub fn leave(&self, place: Place, slot: SlotNumber) {
        self.change(place, |queue| {
            let is_first = queue.is_first(slot);
            match is_first {
                true => drop(queue.tickets.pop_front()),
                false => queue.tickets.retain(|ticket| ticket.slot != slot),
            }
            queue.called().filter(|_| is_first)
        });
    }

    /// Takes the transaction that has its turn out of a queue. It has locked the row, so it becomes the queue's holder.
    /// Returns whether any transaction is left in the queue.
    pub fn keep(&self, place: Place, slot: SlotNumber, me: TxnId) -> bool {
        self.change(place, |queue| {
            debug_assert!(queue.is_first(slot) && queue.holder.is_none(), "it has its turn");
            queue.tickets.pop_front();
            queue.holder = Some(me);
            None
        })
    }

    /// Gives the turn to the first transaction in the queue of a place, if the queue's holder is `holder`. The caller
    /// has ended `holder`, or given up its locks.
    pub fn release(&self, place: Place, holder: TxnId) {
        self.change(place, |queue| {
            let is_holder = queue.holder == Some(holder);
            queue.holder.take_if(|_| is_holder);
            queue.called().filter(|_| is_holder)
        });
    }

    /// Changes a queue, if it exists, and wakes the transaction that `change` returns. Returns whether the queue exists
    /// afterwards.
    fn change(&self, place: Place, change: impl FnOnce(&mut Queue) -> Option<Waiter>) -> bool {
        let mut shard = self.shard(place).lock();
        let Some(queue) = shard.get_mut(&place) else { return false };
        let called = change(queue);
        let is_left = !queue.tickets.is_empty();
        if !is_left {
            shard.remove(&place);
            self.queues.fetch_sub(1, Ordering::AcqRel);
        }
        drop(shard);
        called.inspect(Waiter::wake);
        is_left
    }

    /// Checks invariants 2 and 3, while no transaction is in the middle of a step. `is_due` says whether a holder will
    /// [release](Self::release) a place when it ends.
    pub fn audit(&self, is_due: impl Fn(TxnId, Place) -> bool) -> Result<(), String> {
        let mut queues = 0;
        for shard in &self.shards {
            let shard = shard.lock();
            queues += shard.len();
            for (place, queue) in shard.iter() {
                if queue.tickets.is_empty() {
                    return Err(format!("the queue at {place:?} is empty"));
                }
                if let Some(holder) = queue.holder.filter(|&holder| !is_due(holder, *place)) {
                    return Err(format!("those at {place:?} wait for {holder:?}, which will wake nobody"));
                }
            }
        }
        match self.queues.load(Ordering::Acquire) {
            counted if counted == queues => Ok(()),
            counted => Err(format!("{queues} queues of writers exist, and {counted} are counted")),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::time::Duration;

    const PLACE: Place = Place { table: TableId(1), index: 0, hash: 7 };
    const WRITER: TxnId = TxnId(9 << 16);

    fn stand(queues: &Queues, slot: u32, holder: Option<TxnId>) -> bool {
        let waiter = Waiter::thread(Duration::ZERO);
        let (slot, label, target) = (SlotNumber(slot), slot + 100, LockTarget::Database);
        queues.stand(PLACE, Ticket { slot, id: None, waiter, label, target }, holder)
    }

    fn turns(queues: &Queues) -> Vec<u32> {
        (0..4).filter(|&slot| queues.has_turn(PLACE, SlotNumber(slot))).collect()
    }

    #[test]
    fn turns_come_in_the_order_of_arrival() {
        let queues = Queues::default();
        assert!(!queues.exist());
        assert!(stand(&queues, 0, Some(WRITER)));
        assert!(!stand(&queues, 1, Some(WRITER)) && !stand(&queues, 2, None));
        assert_eq!(turns(&queues), []);
        queues.release(PLACE, TxnId(8 << 16));
        assert_eq!(turns(&queues), [], "another transaction's end is nothing to them");
        queues.release(PLACE, WRITER);
        assert_eq!(turns(&queues), [0]);
        assert!(queues.are_before(PLACE, Some(SlotNumber(3))) && !queues.are_before(PLACE, Some(SlotNumber(0))));
        let second = TxnId(10 << 16);
        assert!(stand(&queues, 0, Some(second)), "a transaction that is first stays first");
        assert_eq!(turns(&queues), []);
        queues.release(PLACE, second);
        queues.leave(PLACE, SlotNumber(1));
        queues.leave(PLACE, SlotNumber(0));
        assert_eq!(turns(&queues), [2]);
        queues.leave(PLACE, SlotNumber(2));
        assert!(!queues.exist());
    }

    #[test]
    fn all_wait_for_the_holder_or_for_the_first_that_has_its_turn() {
        let queues = Queues::default();
        (0..3).for_each(|slot| {
            stand(&queues, slot, Some(WRITER));
        });
        let waits = || -> Vec<_> {
            let waits = queues.waits(|holder| (holder == WRITER).then_some(7));
            waits.into_iter().map(|wait| (wait.waiter, wait.holders, wait.before)).collect()
        };
        let holder = || vec![(7, "exclusive")];
        assert_eq!(waits(), [(100, holder(), vec![]), (101, holder(), vec![]), (102, holder(), vec![])]);
        queues.release(PLACE, WRITER);
        assert_eq!(waits(), [(101, vec![], vec![100]), (102, vec![], vec![100])]);
    }

    #[test]
    fn a_transaction_that_locks_the_row_in_its_turn_keeps_the_others_waiting() {
        let queues = Queues::default();
        stand(&queues, 0, None);
        stand(&queues, 1, None);
        assert_eq!(turns(&queues), [0]);
        assert!(queues.keep(PLACE, SlotNumber(0), WRITER));
        assert_eq!((turns(&queues), queues.holder(PLACE)), (vec![], Some(WRITER)));
        assert!(queues.audit(|holder, _| holder == WRITER).is_ok() && queues.audit(|_, _| false).is_err());
        queues.release(PLACE, WRITER);
        assert_eq!(turns(&queues), [1]);
        assert!(!queues.keep(PLACE, SlotNumber(1), WRITER), "nobody is left");
        assert!(!queues.exist());
    }
}
