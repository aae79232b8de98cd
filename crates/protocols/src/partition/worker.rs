//! A worker that settles on a partition, and what the worker does for the partition between two transactions.
//!
//! | paper (Fig. 3) | here, in the order in which the pool's loop asks |
//! | --- | --- |
//! | first choice: a message was received | [`Duties::receive`] |
//! | second choice: the blocked front of the queue | done by the transaction that has left the front; the pool runs the one that it has woken |
//! | third choice: a new request, if the queue is not full | [`Duties::has_room`] |
//! | SCA, when all else fails | [`Duties::find_work`] |

use super::core::{Core, Outbox};
use super::id::PartitionId;
use super::locks::LockState;
use super::partitions::{Partitions, Visitor};
use super::variants::PartitionLocking;
use crate::shared::planned::Scene;
use hotrow_storage::{Database, Participant};
use hotrow_sync::{Arc, Time, Waiter};
use hotrow_txn::{Duties, Statistics};

type Header<E> = <<E as PartitionLocking>::Locks as LockState>::Header;

/// The part of a pool's worker that belongs to a partition engine. Once a transaction was made on the worker, its
/// thread may settle on the partition with the worker's number: from then on no other thread works on that partition.
/// If another thread has settled there, or there is no such partition, the worker reaches partitions as a session does.
pub struct PartitionWorker<E: PartitionLocking> {
    partitions: Arc<Partitions<E::Locks>>,
    partition: Option<PartitionId>,
    blocked_limit: usize,
    /// The database, once a transaction was made on the worker.
    database: Option<(Arc<Database<Header<E>>>, Participant)>,
    /// The waiter of the worker's thread, while the thread has settled.
    waiter: Option<Waiter>,
    statistics: Statistics,
    outbox: Outbox<Header<E>>,
}

impl<E: PartitionLocking> PartitionWorker<E> {
    pub(super) fn new(
        partitions: &Arc<Partitions<E::Locks>>,
        partition: Option<PartitionId>,
        blocked_limit: usize,
    ) -> Self {
        Self {
            partitions: partitions.clone(),
            partition,
            blocked_limit,
            database: None,
            waiter: None,
            statistics: Statistics::default(),
            outbox: Outbox::default(),
        }
    }

    /// Returns the partition on which the worker's thread settles, if there is one. Its transactions run there.
    pub(super) fn partition(&self) -> Option<PartitionId> {
        self.partition
    }

    /// Stores the database, without which the worker cannot settle. Called when a transaction is made on the worker.
    pub(super) fn meet(&mut self, database: &Arc<Database<Header<E>>>) {
        self.database.get_or_insert_with(|| (database.clone(), database.participant()));
    }

    /// Calls `visit` for the partition that the thread has settled on, in an epoch. Returns `None` if the thread has
    /// not settled.
    fn visit<R>(
        &mut self,
        visit: impl FnOnce(&Partitions<E::Locks>, PartitionId, &mut Visitor<'_, E::Locks>) -> R,
    ) -> Option<R> {
        let (partition, waiter) = self.partition.zip(self.waiter.as_ref())?;
        let (database, participant) = self.database.as_mut()?;
        participant.enter();
        let visitor = &mut Visitor {
            scene: Scene { database, guard: participant.guard() },
            waiter,
            statistics: &mut self.statistics,
            outbox: &mut self.outbox,
            own: None,
        };
        let result = visit(&self.partitions, partition, visitor);
        participant.leave();
        Some(result)
    }

    #[inline]
    fn look<R>(&self, look: impl FnOnce(&Core<E::Locks>) -> R) -> Option<R> {
        let partition = self.partition.filter(|_| self.waiter.is_some())?;
        self.partitions.touch(partition, |core| look(core)).ok()
    }
}

impl<E: PartitionLocking> Duties for PartitionWorker<E> {
    fn ignores_waits(&self) -> bool {
        true
    }

    fn settle(&mut self, waiter: &Waiter) {
        // Without a database it could act on no message.
        let partition = self.partition.filter(|_| self.database.is_some());
        let settled = partition.is_some_and(|partition| self.partitions.settle(partition, waiter));
        self.waiter = settled.then(|| waiter.clone());
    }

    fn leave(&mut self) {
        if self.waiter.is_none() {
            return;
        }
        self.visit(|partitions, partition, visitor| partitions.leave(partition, visitor));
        self.waiter = None;
    }

    #[inline]
    fn receive(&mut self) -> bool {
        let Some(partition) = self.partition else { return false };
        let outsiders = self.partitions.has_mail(partition);
        if !outsiders && self.look(Core::has_mail) != Some(true) {
            return false;
        }
        self.visit(|partitions, partition, visitor| partitions.receive(partition, visitor)) == Some(true)
    }

    fn expected(&self) -> Option<Time> {
        self.look(Core::expected).flatten()
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.look(Core::blocked).is_none_or(|blocked| blocked < self.blocked_limit)
    }

    fn find_work(&mut self) -> bool {
        if !E::ANALYSES {
            return false;
        }
        let found = self.visit(|partitions, partition, visitor| {
            partitions.with(partition, visitor, |core, caller| core.analyse(caller))
        });
        matches!(found, Some(Ok(true)))
    }

    fn statistics(&self) -> Statistics {
        self.statistics
    }
}

impl<E: PartitionLocking> Drop for PartitionWorker<E> {
    fn drop(&mut self) {
        self.leave();
    }
}
