//! Operations that make transactions wait for each other before their end (§4.2), on what [`wait_for`](super::wait_for)
//! defines.

use super::status::Status;
use super::transactions::Transactions;
use super::txn_id::TxnId;
use super::wait_for::{Behind, Blocked, Imposed, MOST, WaitFor};
use hotrow_storage::{IndexRef, TableId};
use hotrow_sync::Waiter;
use hotrow_sync::atomic::Ordering;
use hotrow_txn::{Abort, Deadlock};

impl Transactions {
    /// Applies `look` to the state that a transaction publishes while it waits, or returns `None` if it does not wait.
    fn shown<T>(&self, id: TxnId, look: impl FnOnce(&mut Blocked) -> T) -> Option<T> {
        let mut waiting = self.slot_of(id).waiting.lock();
        waiting.blocked.as_mut().filter(|blocked| blocked.id == id).map(look)
    }

    /// Whether a transaction has published that it waits, and is not the victim of a deadlock.
    pub fn is_blocked(&self, id: TxnId) -> bool {
        self.shown(id, |blocked| blocked.victim.is_none()) == Some(true)
    }

    /// Whether a transaction that waits has been made the victim of a deadlock.
    pub fn is_victim(&self, id: TxnId) -> bool {
        self.shown(id, |blocked| blocked.victim.is_some()) == Some(true)
    }

    /// Returns the deadlock that a transaction is the victim of.
    pub fn verdict(&self, id: TxnId) -> Option<Deadlock> {
        self.shown(id, |blocked| blocked.victim.clone()).flatten()
    }

    /// Makes a transaction that waits the victim of a deadlock, and wakes it. Has no effect if the transaction does not
    /// wait any more.
    pub fn convict(&self, id: TxnId, deadlock: Deadlock) {
        if self.shown(id, |blocked| blocked.victim = Some(deadlock)).is_some() {
            let waiter = self.slot_of(id).waiter.lock().clone();
            waiter.inspect(Waiter::wake);
        }
    }

    /// Makes `on` wait for one more transaction before its end (WaitForCounter).
    pub fn impose(&self, on: TxnId) -> Imposed {
        let one_more = |wait_for: WaitFor| {
            let is_open = !wait_for.is_shut && wait_for.count < MOST;
            is_open.then_some(WaitFor { count: wait_for.count + 1, ..wait_for })
        };
        match self.change(on, one_more) {
            Ok(_) => Imposed::Done,
            Err(Some(_)) => Imposed::Shut,
            Err(None) => Imposed::Ended,
        }
    }

    /// Makes `from` wait for one transaction less. Wakes it if it waits for no other.
    pub fn release(&self, from: TxnId) {
        let one_less = |wait_for: WaitFor| Some(WaitFor { count: wait_for.count - 1, ..wait_for });
        // Before it has shut its counter it does not wait for what that says.
        if self.change(from, one_less).is_ok_and(|before| before.is_shut && before.count == 1) {
            let waiter = self.slot_of(from).waiter.lock().clone();
            waiter.inspect(Waiter::wake);
        }
    }

    /// Ensures that no transaction makes `me` wait for more transactions (NoMoreWaitFors).
    pub fn shut(&self, me: TxnId) {
        let shut = |wait_for: WaitFor| Some(wait_for.shut());
        let shut = self.change(me, shut);
        debug_assert!(shut.is_ok(), "an active transaction shuts its counter");
    }

    /// Whether `me`, an active transaction, waits for no other transaction before its end.
    pub fn waits_for_nobody(&self, me: TxnId) -> bool {
        matches!(self.slot_of(me).status(), Status::Active(WaitFor { count: 0, .. }))
    }

    /// Changes what an active transaction waits for, and returns what it was before. The error is the counter that `to`
    /// did not change, or `None` if the transaction is not active.
    fn change(&self, of: TxnId, to: impl Fn(WaitFor) -> Option<WaitFor>) -> Result<WaitFor, Option<WaitFor>> {
        let its_own = |word| match Status::decode(word) {
            Status::Active(wait_for) if wait_for.sequence == of.sequence() => Some(wait_for),
            _ => None,
        };
        let changed = |word| its_own(word).and_then(&to).map(|wait_for| Status::Active(wait_for).encode());
        let outcome = self.slot_of(of).status.fetch_update(Ordering::AcqRel, Ordering::Acquire, changed);
        match outcome {
            Ok(before) => Ok(its_own(before).expect("it was changed")),
            Err(found) => Err(its_own(found)),
        }
    }

    /// Makes `me` wait for `before`, which has locked a part of an index into which `me` has linked a version, or keeps
    /// a key whose row `me` has deleted. Has no effect if `before` already has its end timestamp.
    ///
    /// # Errors
    /// [`Abort::Conflict`] if `me` can wait for no more transactions.
    pub fn wait_behind(&self, me: TxnId, before: TxnId, index: (TableId, IndexRef)) -> Result<(), Abort> {
        self.queue(me, before, index).map(|_| ()).map_err(|_| Abort::Conflict)
    }

    /// Makes `on` wait for `me`, which has locked a part of an index into which `on` has linked a version, or keeps a
    /// key whose row `on` may have deleted.
    pub fn hold_back(&self, me: TxnId, on: TxnId, index: (TableId, IndexRef)) -> Imposed {
        match self.queue(on, me, index) {
            Ok(_) => Imposed::Done,
            Err(imposed) => imposed,
        }
    }

    /// Puts `id` into the list of the transactions that wait for `before`. Returns whether it was put there: it was not
    /// if `before` is past its end timestamp.
    fn queue(&self, id: TxnId, before: TxnId, index: (TableId, IndexRef)) -> Result<bool, Imposed> {
        let slot = self.slot_of(before);
        let mut waiting = slot.waiting.lock();
        if slot.id.load(Ordering::Acquire) != before.0 {
            return Ok(false);
        }
        if waiting.list(before).iter().any(|behind| behind.id == id) {
            return Ok(true);
        }
        if waiting.is_closed {
            return Ok(false);
        }
        match self.impose(id) {
            Imposed::Done => waiting.behind.push(Behind { id, index }),
            refused => return Err(refused),
        }
        Ok(true)
    }

    /// Ends the waits of the transactions that wait for `me`, which is past its end timestamp, or aborts.
    pub fn close_waiting(&self, me: TxnId) {
        let mut waiting = self.slot_of(me).waiting.lock();
        let behind = std::mem::take(waiting.list(me));
        waiting.is_closed = true;
        drop(waiting);
        behind.iter().for_each(|behind| self.release(behind.id));
    }
}
