//! A transaction that retires rows, or follows one that did: see [`retired`](super::super::retired).

use super::super::held::HeldRecord;
use super::super::lock::RecordLock;
use super::super::retired::{Found, Leader};
use super::super::waiting::{Following, Listing, RecordOrName};
use super::{Locker, release};
use crate::shared::deadlocks::Request;
use crate::shared::in_place::InPlace;
use crate::shared::mode::Mode;
use crate::shared::time_outs::Patience;
use hotrow_storage::{Database, Guard, Participant, RecordPtr, RecordRef, TableId};
use hotrow_sync::Wake;
use hotrow_txn::Abort;
use smallvec::SmallVec;

impl<L: RecordLock> Locker<L> {
    /// Whether the transaction can never commit, since a transaction that it follows was rolled back or can never
    /// commit.
    #[inline]
    pub(crate) fn is_doomed(&self) -> bool {
        self.retired.as_ref().is_some_and(|(_, part)| part.is_doomed())
    }

    /// Whether the transaction follows others that have not ended. If so, it keeps its read locks to its end.
    #[inline]
    pub(crate) fn follows(&self) -> bool {
        self.retired.as_ref().is_some_and(|(_, part)| part.follows())
    }

    /// Undoes the changes of a record whose transactions cannot commit, if the record's lock is free. Called after the
    /// transaction has released the lock, or has given up waiting for it.
    #[inline]
    pub(super) fn settle(&mut self, record: RecordRef<'_, L>) {
        if let Some((rows, part)) = &mut self.retired {
            rows.settle(part, &self.owner, record);
        }
    }

    /// Undoes the changes of transactions that cannot commit, in the rows whose locks the transaction released early,
    /// and in the record that it waited for when its wait unwound. All locks of records have been released.
    #[inline]
    pub(super) fn settle_rest(&mut self, database: &Database<L>, guard: Guard<'_>) {
        let Some((rows, part)) = &mut self.retired else { return };
        if let Some(HeldRecord { table, record }) = self.awaited.take()
            && let Some(table) = database.table(guard, table)
        {
            rows.settle(part, &self.owner, crate::shared::record::deref(record, guard, table));
        }
        rows.settle_retired(part, &self.owner, database, guard);
    }

    /// Whether the transaction has released the lock of a changed row early, or has followed a transaction that did.
    #[inline]
    pub(crate) fn takes_part(&self) -> bool {
        self.retired.as_ref().is_some_and(|(_, part)| part.number().is_some())
    }

    /// Releases the locks of some rows that the transaction has changed, before its commit, and returns their records.
    /// They are rows for which other transactions wait again and again, and which the transaction has only updated.
    #[cold]
    pub(crate) fn retire(
        &mut self,
        database: &Database<L>,
        guard: Guard<'_>,
        changes: &mut InPlace<L>,
    ) -> SmallVec<[RecordPtr<L>; 2]> {
        let Self { retired, held, owner, names, .. } = self;
        let Some((rows, part)) = retired else { return SmallVec::new() };
        let mut released = SmallVec::new();
        if !rows.is_any_hot() || part.is_doomed() {
            return released;
        }
        let is_hot = |record| held.contains(record) && rows.has_room(part, record);
        for (table, record, before) in changes.retire(database, guard, is_hot) {
            rows.retire(part, HeldRecord { table, record }, before);
            held.remove(record);
            released.push(record);
            names.statistics.retired += 1;
            if let Some(record) = release(owner, database, guard, HeldRecord { table, record }) {
                // A transaction that was doomed meanwhile has left a dead entry.
                rows.settle(part, owner, record);
            }
        }
        released
    }

    /// If the transaction released the lock of this row early, and now wants it again or has it, dooms the transactions
    /// that follow it at the row. With `exclusive`, these include transactions that have only read the row.
    #[inline]
    pub(super) fn recall(&mut self, record: RecordPtr<L>, exclusive: bool) {
        if let Some((rows, part)) = &self.retired
            && part.has_retired(record)
        {
            rows.recall(part, record, exclusive);
        }
    }

    /// Whether a record that the transaction has just locked has changes of transactions that cannot commit. They must
    /// be undone, under an exclusive lock. If the last change of the record is uncommitted and may commit, the
    /// transaction follows it.
    #[inline]
    pub(super) fn finds_dead(
        &mut self,
        table: TableId,
        record: RecordRef<'_, L>,
        exclusive: bool,
    ) -> Result<bool, Abort> {
        let Some((rows, part)) = &mut self.retired else { return Ok(false) };
        let found = rows.found(part, table, record, (exclusive, self.refuses_waits))?;
        self.names.statistics.dependencies += u64::from(found == Found::Followed);
        Ok(found == Found::Dead)
    }

    /// Waits until all transactions that this one follows have committed. Finds deadlocks meanwhile.
    ///
    /// # Errors
    /// [`Abort::Cascade`] if one of them never does, and the errors of a wait.
    #[cold]
    pub(crate) fn wait_for_leaders(&mut self) -> Result<(), Abort> {
        loop {
            let Some((rows, part)) = &self.retired else { return Ok(()) };
            let Some(leader) = rows.leader(part)? else { return Ok(()) };
            self.wait_for_leader(leader)?;
        }
    }

    fn wait_for_leader(&mut self, leader: Leader) -> Result<(), Abort> {
        let Self { held, names, waits, limits, retired, deadlock, .. } = self;
        let Some((waits, role)) = waits.as_deref().zip(retired.as_ref().map(|(_, part)| part.role())) else {
            return Ok(());
        };
        let start = names.requester.waiter().now();
        names.requester.standing().waits(start);
        let standing = *names.requester.standing();
        let requester = &names.requester;
        let parked = requester.parked();
        let patience = Patience::new(start, limits.now(requester.waiter()));
        let request = Request { parked, target: leader.target, mode: Mode::SHARED, standing };
        let listing = Listing { waits: Some(waits), held, role: Some(role), listed: None };
        let mut following = Following { listing, requester };
        let member = role.member;
        let found = match following.listing.begin(requester, request, RecordOrName::End(leader.number)) {
            Some(deadlock) => Err(deadlock),
            None => {
                let is_called = || parked.is_doomed() || member.is_doomed() || member.leaders() != leader.count;
                let ended = parked.waiter().wait_until(patience.until(), is_called);
                following.listing.verdict().map_or(Ok(ended), Err)
            }
        };
        drop(following);
        let waited = names.waiter().now().since(start);
        names.statistics.waits += 1;
        names.statistics.wait_ns += waited.as_nanos() as u64;
        match found {
            Ok(Wake::Ready) => Ok(()),
            Ok(Wake::TimedOut) => Err(Abort::Timeout),
            Ok(Wake::Cancelled) => Err(Abort::Cancelled),
            Err(found) => {
                retired.iter().for_each(|(rows, _)| rows.deadlocked(leader.row));
                *deadlock = Some(found);
                self.is_victim = true;
                names.requester.standing().lost();
                Err(Abort::Deadlock)
            }
        }
    }

    /// Notes that the transaction has committed, or that its changes were undone, except in rows whose locks it
    /// released early. Wakes the transactions that follow it.
    #[cold]
    pub(crate) fn decided(&mut self, is_committed: bool) {
        if let Some((rows, part)) = &mut self.retired {
            rows.decided(part, is_committed);
        }
    }

    /// Hands the memory that was replaced where changes were undone to the participant, which reclaims it later.
    #[inline]
    pub(crate) fn reclaim(&mut self, participant: &mut Participant) {
        if let Some((_, part)) = &mut self.retired {
            part.reclaim(participant);
        }
    }
}
