//! A transaction's lock requests, on their way from one concurrency-control thread to the next.
//!
//! A request is one object that moves: from the execution thread to the first part of the lock table in which it wants
//! locks, from there to the next, and from the last one back. While it waits for a lock, the part has it. So no thread
//! reads what another one writes, and the object needs no latch.

use super::id::{Attempt, PartId, PortId};
use super::node::Node;
use crate::shared::planned::{Place, Plan};
use crate::shared::request_queues::{Modes, OwnerId};
use hotrow_sync::Arc;
use smallvec::SmallVec;
use std::fmt;

/// The lock requests of one attempt, and how far they have come.
pub(super) struct Request {
    pub(super) node: Arc<Node>,
    pub(super) attempt: Attempt,
    /// The port to which the grant goes, or `None` if the transaction is woken directly.
    pub(super) port: Option<PortId>,
    stops: SmallVec<[Stop; 4]>,
    /// The names and modes of all locks, in the order of the stops.
    locks: Vec<(u64, Modes)>,
    /// The position of the next stop.
    at: usize,
    /// The messages that have carried the request so far.
    messages: u32,
}

/// A part of the lock table in which a request wants locks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    pub(super) part: PartId,
    /// The end of the stop's locks in the list of all locks.
    end: u32,
    /// The name of the transaction in the part's queues, once the part has entered it.
    pub(super) owner: Option<OwnerId>,
}

impl Request {
    /// Makes a request that wants nothing.
    pub(super) fn new(node: Arc<Node>) -> Box<Self> {
        Box::new(Self {
            node,
            attempt: Attempt::default(),
            port: None,
            stops: SmallVec::new(),
            locks: Vec::new(),
            at: 0,
            messages: 0,
        })
    }

    /// Makes the request want nothing, once everything has been given back.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.stops.clear();
        self.locks.clear();
        (self.at, self.messages) = (0, 0);
    }

    /// Makes an empty request that of a plan: for each part in which the plan has locks, in the parts' order, the locks
    /// that are there. A row's lock is in the part of its partition; prefix locks are in all parts of the plan.
    #[inline]
    pub(super) fn fill(&mut self, plan: &Plan<()>, map: PartMap) {
        let mut parts = map.parts_of(plan);
        if let [only] = parts[..] {
            return self.push_stop(only, plan, |_| true);
        }
        parts.sort_unstable();
        for &part in &parts {
            self.push_stop(part, plan, |partition| map.part(partition) == part);
        }
    }

    #[inline]
    fn push_stop(&mut self, part: PartId, plan: &Plan<()>, is_here: impl Fn(u16) -> bool) {
        let rows = plan.rows.iter().filter(|row| is_here(row.partition));
        self.locks.extend(rows.map(|row| (row.name, Modes::from(row.intent))));
        self.locks.extend(plan.prefixes.counted().iter().map(Modes::of_prefix));
        self.stops.push(Stop { part, end: self.locks.len() as u32, owner: None });
    }

    /// Adds a part that granted locks to the running transaction.
    pub(super) fn add_stop(&mut self, part: PartId, owner: OwnerId) {
        self.stops.push(Stop { part, end: self.locks.len() as u32, owner: Some(owner) });
        self.at = self.stops.len();
    }

    /// Returns the parts in which the request wants locks, or has them.
    #[inline]
    pub(super) fn stops(&self) -> &[Stop] {
        &self.stops
    }

    /// Returns the next part that the request has to visit, or `None` if it has visited all.
    #[inline]
    pub(super) fn next(&self) -> Option<PartId> {
        self.stops.get(self.at).map(|stop| stop.part)
    }

    /// Returns the locks that the request wants in the part that it has come to.
    #[inline]
    pub(super) fn wanted(&self) -> &[(u64, Modes)] {
        let begin = if self.at == 0 { 0 } else { self.stops[self.at - 1].end as usize };
        &self.locks[begin..self.stops[self.at].end as usize]
    }

    /// Notes the name of the transaction in the queues of the part that the request has come to.
    #[inline]
    pub(super) fn enter(&mut self, owner: OwnerId) {
        self.stops[self.at].owner = Some(owner);
    }

    /// Notes that all locks are granted in the part that the request has come to.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    /// Counts a message that carries the request.
    #[inline]
    pub(super) fn count_message(&mut self) {
        self.messages += 1;
    }

    /// Returns the number of messages that have carried the request since it was [filled](Self::fill).
    #[inline]
    pub(super) fn messages(&self) -> u32 {
        self.messages
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("node", &self.node.number())
            .field("attempt", &self.attempt)
            .field("stops", &self.stops)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

/// The mapping of locks to parts of the lock table.
#[derive(Clone, Copy, Debug)]
pub(super) enum PartMap {
    /// Each lock belongs to one of so many parts.
    Split(u16),
    /// All locks of a transaction are asked for in this part, because every part reaches the whole table (§3.4).
    Single(PartId),
}

impl PartMap {
    /// Returns the part that has the locks of a partition.
    #[inline]
    pub(super) fn part(self, partition: u16) -> PartId {
        match self {
            PartMap::Split(count) => PartId(partition % count),
            PartMap::Single(part) => part,
        }
    }

    /// Returns the parts that have the prefix locks of a place.
    pub(super) fn parts_at(self, place: Place) -> SmallVec<[PartId; 4]> {
        match place {
            Place::Everywhere => (0..self.count()).map(|number| self.part(number as u16)).collect(),
            place => SmallVec::from_slice(&[self.part(place.number(self.count()))]),
        }
    }

    /// Returns the parts in which a plan has locks, each once, in no order.
    #[inline]
    fn parts_of(self, plan: &Plan<()>) -> SmallVec<[PartId; 4]> {
        let mut parts = SmallVec::new();
        plan.visit_partitions(self.count(), |partition| {
            let part = self.part(partition);
            if !parts.contains(&part) {
                parts.push(part);
            }
        });
        parts
    }

    /// Returns the number of parts among which the locks of one transaction are divided.
    #[inline]
    fn count(self) -> usize {
        match self {
            PartMap::Split(count) => usize::from(count),
            PartMap::Single(_) => 1,
        }
    }
}
