//! Giving way to the transaction that a call met: the transaction is undone, as a whole or to a savepoint, and waits in
//! the queue behind the other.

use super::super::queues::{Conflict, Place, Ticket};
use super::super::shared::Shared;
use super::super::txn_id::SlotNumber;
use super::super::wait_for::Blocked;
use super::{BlockedGuard, HekatonTransaction};
use hotrow_txn::{Abort, Savepoint};

impl HekatonTransaction {
    /// Undoes all changes since a savepoint, or the whole transaction if `to` is `None`. Then waits for the transaction
    /// with which the last call conflicted. Returns `false`, without waiting, if there was no such conflict.
    ///
    /// # Errors
    /// [`Abort::Deadlock`] if the transaction is the victim of a deadlock, and the error of a wait that was cancelled,
    /// timed out, or depended on a transaction that aborted.
    pub(super) fn undo_and_wait(&mut self, to: Option<Savepoint>) -> Result<bool, Abort> {
        let conflict = self.reader.look.conflict.take();
        match to.filter(|_| self.life.running) {
            Some(savepoint) => {
                // An abort that is bound to come comes at the next call.
                if matches!(self.enter(), Ok(()) | Err(Abort::Cascade)) {
                    self.take_back(savepoint.0);
                }
            }
            None => {
                // The place that it waits for next it keeps, if it is the first there.
                let is_next = |place: Place| conflict.as_ref().is_some_and(|conflict| conflict.place == place);
                self.reader.look.turns.retain(|turn| !is_next(turn.0));
                self.life.failed = None;
                if self.life.running {
                    self.roll_back();
                }
            }
        }
        let (Some(conflict), Some(slot)) = (conflict, self.slot) else { return Ok(false) };
        self.wait_in_queue(conflict, slot).map(|()| true)
    }

    /// Waits until the transaction has its turn at a place.
    fn wait_in_queue(&mut self, conflict: Conflict, slot: SlotNumber) -> Result<(), Abort> {
        let (shared, me, place) = (self.shared.clone(), self.reader.look.me, conflict.place);
        if self.life.running {
            // The transactions that it depends on are about to end. Until they have, it cannot leave its epoch.
            self.wait_for_dependencies()?;
            self.reader.look.turns.retain(|turn| turn.0 != place);
            self.settle_turns();
        }
        let transactions = &shared.transactions;
        let (id, limit) = (self.life.running.then_some(me), self.waits.waiter.lock_timeout());
        let holder = conflict.writer.map(|(writer, _)| writer);
        let guard = QueueGuard { shared: &shared, place, slot };
        let (waiter, label, target) = (self.waits.waiter.clone(), self.life.label, conflict.target.clone());
        let is_first = transactions.queues.stand(place, Ticket { slot, id, waiter, label, target }, holder);
        if let Some(writer) = conflict.writer.filter(|_| is_first) {
            transactions.call_after(writer, place);
        }
        let shown = id.map(|id| {
            let read_locks = self.reader.held.rows().to_vec();
            let at = Some((place, conflict.target));
            shared.show(Blocked { id, label: self.life.label, read_locks, at, victim: None });
            BlockedGuard { shared: &shared, me: id }
        });
        self.look_for_deadlock(place);
        let waited = match id {
            None => self.wait_limited(limit, |transactions, _| transactions.queues.has_turn(place, slot)),
            Some(id) => {
                self.step_out();
                let waited = self.wait_limited(limit, |transactions, _| {
                    transactions.queues.has_turn(place, slot) || transactions.is_victim(id)
                });
                self.step_in();
                waited
            }
        };
        self.life.deadlock = id.and_then(|id| transactions.verdict(id));
        drop(shown);
        if self.life.deadlock.is_some() {
            return Err(Abort::Deadlock);
        }
        waited?;
        std::mem::forget(guard);
        self.reader.look.turns.push((place, false));
        Ok(())
    }

    /// Looks for deadlocks among the transactions in the queue of a place, after their holder has begun to wait itself.
    /// Only these transactions can close a cycle now.
    fn look_for_deadlock(&mut self, place: Place) {
        let transactions = &self.shared.transactions;
        let Some(holder) = transactions.queues.holder(place) else { return };
        if !transactions.is_blocked(holder) {
            return;
        }
        let was_entered = self.participant.is_entered();
        if !was_entered {
            self.participant.enter();
        }
        for id in transactions.queues.holding(place) {
            self.shared.sentence(id, &self.database, self.participant.guard());
        }
        if !was_entered {
            self.participant.leave();
        }
    }

    /// Takes the transaction out of the queues in which it has its turn. Where it has locked the row, the transactions
    /// behind it wait until it ends. Elsewhere the next one gets its turn.
    pub(super) fn settle_turns(&mut self) {
        let Some(slot) = self.slot else { return };
        let (transactions, me) = (&self.shared.transactions, self.reader.look.me);
        for (place, is_used) in self.reader.look.turns.drain(..) {
            if !is_used {
                transactions.queues.leave(place, slot);
            } else if transactions.queues.keep(place, slot, me) {
                transactions.call_after((me, transactions.recalls(me)), place);
            }
        }
    }

    /// Takes a transaction that is over out of the queues in which it has its turn. The next transactions of these
    /// queues get their turns.
    pub(super) fn leave_queues(&mut self) {
        let Some(slot) = self.slot else { return };
        for (place, _) in self.reader.look.turns.drain(..) {
            self.shared.transactions.queues.leave(place, slot);
        }
    }
}

/// Takes the transaction out of a queue, however its wait ends, unless it has its turn.
struct QueueGuard<'s> {
    shared: &'s Shared,
    place: Place,
    slot: SlotNumber,
}

impl Drop for QueueGuard<'_> {
    fn drop(&mut self) {
        self.shared.transactions.queues.leave(self.place, self.slot);
    }
}
