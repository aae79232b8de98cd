//! The part of a transaction that is listed while it waits for a record, a name, a ticket, or the end of one that it
//! follows.

use super::followers::Role;
use super::held::Held;
use super::lock::{RecordLock, Watch};
use crate::shared::deadlocks::{Blocked, Request, Standing, Waits};
use crate::shared::lock_table::{LockTable, Name, OwnerId, Requester, WaitPolicy};
use crate::shared::mode::Mode;
use crate::shared::parked::Parked;
use hotrow_storage::{RecordPtr, mix};
use hotrow_sync::{Arc, Latch};
use hotrow_txn::{Deadlock, LockTarget};
use std::marker::PhantomData;

/// Whether a transaction needs or has a ticket for hot locks, which limits how many transactions contend for them: see
/// [`admission`](crate::shared::deadlocks).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ticket {
    /// The transaction needs no ticket.
    Needless,
    /// The transaction needs a ticket, and has none yet.
    Missing,
    Held,
}

/// The list in which deadlocks are looked for. It has the transactions that wait for a record's lock, a name or the end
/// of another transaction, and that hold locks or are followed.
pub(crate) type RecordWaits<L> = Waits<RecordWait<L>>;

/// The lock that a transaction waits for, and the locks that it holds meanwhile.
pub(crate) struct RecordWait<L> {
    names: Arc<LockTable>,
    owner: OwnerId,
    awaited: RecordOrName<L>,
    held: Held<L>,
    /// The transaction's number, if other transactions may wait for its end.
    number: Option<u64>,
}

/// The kinds of things for which a transaction may wait.
pub(crate) enum RecordOrName<L> {
    Record(RecordPtr<L>),
    Name(Name),
    /// The end of the transaction with this number, which it follows.
    End(u64),
}

impl<L> Clone for RecordOrName<L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for RecordOrName<L> {}

impl<L: RecordLock> Blocked for RecordWait<L> {
    type Lock = RecordOrName<L>;

    fn awaited(&self) -> RecordOrName<L> {
        self.awaited
    }

    fn holds(&mut self, lock: RecordOrName<L>) -> bool {
        match lock {
            RecordOrName::Record(record) => self.held.contains(record),
            RecordOrName::Name(name) => self.names.is_held(name, self.owner),
            RecordOrName::End(number) => self.number == Some(number),
        }
    }

    fn is_to_be_victim(&self) -> bool {
        matches!(self.awaited, RecordOrName::End(_))
    }

    fn hash(lock: RecordOrName<L>) -> u64 {
        match lock {
            RecordOrName::Record(record) => mix(record.address() as u64),
            RecordOrName::Name(Name(name)) => name,
            RecordOrName::End(number) => mix(number),
        }
    }
}

/// The entry of a transaction in the list of the transactions that wait, if it is listed. Meanwhile the list has the
/// transaction's held records. A listing that is dropped takes the transaction off the list.
pub(super) struct Listing<'l, L: RecordLock> {
    pub(super) waits: Option<&'l RecordWaits<L>>,
    pub(super) held: &'l mut Held<L>,
    pub(super) role: Option<Role<'l>>,
    /// The place where the transaction waits, while it is listed.
    pub(super) listed: Option<Arc<Parked>>,
}

/// The observer of a transaction's wait for a record, which lists the transaction and looks for deadlocks.
pub(super) struct WaitsForRecord<'l, L: RecordLock, T> {
    pub(super) listing: Listing<'l, L>,
    pub(super) requester: &'l Requester,
    pub(super) record: RecordPtr<L>,
    pub(super) mode: Mode,
    pub(super) standing: Standing,
    pub(super) target: T,
    pub(super) deadlock: &'l mut Option<Deadlock>,
}

impl<L: RecordLock, T: Fn() -> LockTarget> Watch for WaitsForRecord<'_, L, T> {
    fn begins(&mut self) -> bool {
        let (parked, target, mode) = (self.requester.parked(), (self.target)(), self.mode);
        let request = Request { parked, target, mode, standing: self.standing };
        *self.deadlock = self.listing.begin(self.requester, request, RecordOrName::Record(self.record));
        self.deadlock.is_some() || self.listing.is_doomed()
    }

    fn is_victim(&mut self) -> bool {
        *self.deadlock = self.listing.verdict();
        self.deadlock.is_some() || self.listing.is_doomed()
    }

    fn ends(&mut self) {
        self.listing.end();
    }
}

impl<L: RecordLock> Listing<'_, L> {
    /// Lists the transaction, which begins to wait, if it holds any lock, may be followed, or any lock is hot. Returns
    /// the deadlock that its wait closes, if the transaction is the victim.
    pub(super) fn begin(
        &mut self,
        requester: &Requester,
        request: Request<'_>,
        awaited: RecordOrName<L>,
    ) -> Option<Deadlock> {
        let holds_any = requester.holds_any() || !self.held.is_empty() || self.number().is_some();
        let waits = self.waits.filter(|waits| holds_any || waits.is_any_hot())?;
        waits.begin(request, self.wait(requester, awaited))
    }

    /// Returns the entry of the transaction for the list of the transactions that wait. The held records move into the
    /// entry.
    pub(super) fn wait(&mut self, requester: &Requester, awaited: RecordOrName<L>) -> RecordWait<L> {
        self.listed = Some(requester.parked().clone());
        let (names, owner, held) = (requester.table().clone(), requester.id(), self.held.take());
        RecordWait { names, owner, awaited, held, number: self.number() }
    }

    fn number(&self) -> Option<u64> {
        self.role?.number
    }

    /// Whether the transaction can never commit, since a transaction that it follows cannot.
    pub(super) fn is_doomed(&self) -> bool {
        self.role.is_some_and(Role::is_doomed)
    }

    /// Returns the deadlock of which the transaction was made the victim by another one, if there is one.
    pub(super) fn verdict(&self) -> Option<Deadlock> {
        self.waits?.verdict(self.listed.as_ref()?)
    }

    fn end(&mut self) {
        let Some((waits, parked)) = self.waits.zip(self.listed.take()) else { return };
        if let Some(wait) = waits.end(&parked) {
            *self.held = wait.held;
        }
    }
}

impl<L: RecordLock> Drop for Listing<'_, L> {
    fn drop(&mut self) {
        self.end();
    }
}

/// The wait of a transaction for a ticket for hot locks. When it is dropped, it sets `ticket` if one was granted, and
/// takes the transaction off the list.
pub(super) struct Seeking<'l, L: RecordLock> {
    pub(super) listing: Listing<'l, L>,
    pub(super) requester: &'l Requester,
    pub(super) ticket: &'l mut Ticket,
}

impl<L: RecordLock> Seeking<'_, L> {
    /// Notes that the transaction has got a ticket at once, and takes its held records back from the entry, which was
    /// not listed.
    pub(super) fn let_in(&mut self, wait: RecordWait<L>) {
        self.listing.listed = None;
        *self.listing.held = wait.held;
        *self.ticket = Ticket::Held;
    }
}

impl<L: RecordLock> Drop for Seeking<'_, L> {
    fn drop(&mut self) {
        self.listing.end();
        let parked = self.requester.parked();
        if parked.is_granted() {
            *self.ticket = Ticket::Held;
        }
        parked.reset();
    }
}

/// The wait of a transaction for the end of a transaction that it follows. When it is dropped, it takes the transaction
/// off the list and resets its place for the next wait.
pub(super) struct Following<'l, L: RecordLock> {
    pub(super) listing: Listing<'l, L>,
    pub(super) requester: &'l Requester,
}

impl<L: RecordLock> Drop for Following<'_, L> {
    fn drop(&mut self) {
        self.listing.end();
        self.requester.parked().reset();
    }
}

/// The wait policy under which a transaction that also locks records waits for a name: it lists the transaction, so
/// that deadlocks over names and records are found.
pub(super) struct WaitsForName<'l, L: RecordLock>(pub(super) Latch<Listing<'l, L>>);

impl<L: RecordLock> WaitPolicy for WaitsForName<'_, L> {
    const LISTS: bool = true;

    fn may_wait(&self, _waiter: OwnerId, _blockers: &[OwnerId]) -> bool {
        L::WAITS
    }

    fn begins_to_wait(&self, requester: &Requester, request: Request<'_>, name: Name) -> Option<Deadlock> {
        self.0.lock().begin(requester, request, RecordOrName::Name(name))
    }

    fn verdict(&self, _requester: &Requester) -> Option<Deadlock> {
        self.0.lock().verdict()
    }

    fn is_doomed(&self) -> bool {
        self.0.lock().is_doomed()
    }

    fn ends_to_wait(&self, _requester: &Requester) {
        self.0.lock().end();
    }
}

/// The wait policy without a search for deadlocks. A transaction waits for names if the engine's transactions wait for
/// records.
pub(super) struct Queueing<L>(pub(super) PhantomData<L>);

impl<L: RecordLock> WaitPolicy for Queueing<L> {
    fn may_wait(&self, _waiter: OwnerId, _blockers: &[OwnerId]) -> bool {
        L::WAITS
    }
}
