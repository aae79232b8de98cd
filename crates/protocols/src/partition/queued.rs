//! A lock manager of the traditional kind in each partition, without a latch: `2pl-st` (§3.1.1).

use super::id::Ticket;
use super::locks::{Book, Exhausted, LockState};
use super::piece::PieceRef;
use crate::shared::hashed::HashSet;
use crate::shared::planned::{Needs, Partitions, PlannedRow, Scene};
use crate::shared::range_locks::Counted;
use crate::shared::request_queues::{Modes, OwnerId, RequestQueues};
use hotrow_storage::RecordRef;

/// The locks of a partition as queues of requests, one for each name that has been asked for.
#[derive(Debug, Default)]
pub struct InQueues {
    queues: RequestQueues<Ticket>,
}

impl InQueues {
    /// Takes locks for a transaction without waiting: all of them, or none. Returns whether they were taken.
    fn add(&mut self, owner: OwnerId, locks: impl Iterator<Item = (u64, Modes)> + Clone) -> bool {
        let are_free = locks.clone().all(|(name, modes)| self.queues.is_free(owner, name, modes));
        if are_free {
            locks.for_each(|(name, modes)| self.queues.add(owner, name, modes));
        }
        are_free
    }
}

impl LockState for InQueues {
    type Header = ();
    type Owner = OwnerId;

    const NEEDS: Needs = Needs { records: false, partitions: Partitions::Parts };
    const FRONT_IS_FREE: bool = false;

    #[inline]
    fn request(
        &mut self,
        _scene: Scene<'_, ()>,
        ticket: Ticket,
        _behind_nobody: bool,
        wanted: PieceRef<'_, ()>,
    ) -> Result<(OwnerId, bool), Exhausted> {
        let owner = self.queues.join(ticket);
        for row in &*wanted.rows {
            self.queues.request(owner, row.name, row.intent.into());
        }
        for (name, modes) in wanted.prefixes.iter().map(Modes::of_prefix) {
            self.queues.request(owner, name, modes);
        }
        Ok((owner, self.queues.is_granted(owner)))
    }

    #[inline]
    fn release(&mut self, _scene: Scene<'_, ()>, owner: OwnerId, _wanted: PieceRef<'_, ()>, granted: &mut Vec<Ticket>) {
        self.queues.release_all(owner, &mut |&mut ticket| granted.push(ticket));
        self.queues.part(owner);
    }

    fn join(&mut self, ticket: Ticket, _behind_nobody: bool) -> Option<OwnerId> {
        Some(self.queues.join(ticket))
    }

    fn part(&mut self, owner: OwnerId) {
        self.queues.part(owner);
    }

    fn add_row(&mut self, _scene: Scene<'_, ()>, owner: OwnerId, row: &mut PlannedRow<()>) -> bool {
        self.add(owner, std::iter::once((row.name, row.intent.into())))
    }

    fn add_prefixes(&mut self, owner: OwnerId, _held: &[Counted], wanted: &[Counted]) -> bool {
        self.add(owner, wanted.iter().map(Modes::of_prefix))
    }

    fn is_quiet(&self, _queue_is_empty: bool, name: u64, _record: RecordRef<'_, ()>) -> bool {
        !self.queues.is_exclusive(name)
    }

    fn audit(&self, books: &[Book]) -> Result<(), String> {
        self.queues.audit()?;
        let (waiting, blocked) = (self.queues.waiting(), books.iter().filter(|book| !book.runs).count());
        if waiting != blocked {
            return Err(format!("{waiting} transactions wait for locks, {blocked} of the queue are blocked"));
        }
        // A transaction has one request of a name, however often it asked for it.
        let mut expected: Vec<u64> = books.iter().flat_map(names).collect();
        let mut found: Vec<u64> = self.queues.requests().map(|(name, _)| name).collect();
        expected.sort_unstable();
        found.sort_unstable();
        if expected != found {
            return Err(format!("{} requests are in the queues, {} have been made", found.len(), expected.len()));
        }
        Ok(())
    }
}

/// Returns the names that a transaction has asked for, each once.
fn names(book: &Book) -> HashSet<u64> {
    let rows = book.rows.iter().map(|&(name, _)| name);
    rows.chain(book.prefixes.iter().map(|counted| counted.name())).collect()
}
