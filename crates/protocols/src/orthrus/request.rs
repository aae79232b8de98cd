//! A transaction's request for locks, on its way from one concurrency-control thread to the next.
//!
//! A request is one object, which moves. The execution thread sends it to the first part of the lock table in which it
//! wants locks. Each part sends it on to the next, and the last part sends it back. While the request waits for a lock,
//! the part keeps it. So one thread at a time has the object, and it needs no latch.

use super::id::{Attempt, PartId, PortId};
use super::node::Node;
use crate::shared::planned::{Place, Plan};
use crate::shared::request_queues::{Modes, OwnerId};
use hotrow_sync::Arc;
use smallvec::SmallVec;
use std::fmt;

/// The request of one attempt for its locks, and the progress of the request.
pub(super) struct Request {
    pub(super) node: Arc<Node>,
    pub(super) attempt: Attempt,
    /// The port to which the grant goes, or `None` if the granting thread tells the transaction directly.
    pub(super) port: Option<PortId>,
    stops: SmallVec<[Stop; 4]>,
    /// The names and modes of all locks, in the order of the stops.
    locks: Vec<(u64, Modes)>,
    /// The position of the stop to which the request goes, or at which it is.
    at: usize,
    /// The number of messages that have carried the request so far.
    messages: u32,
    /// Whether the request had to wait in a part until another transaction gave locks back.
    was_blocked: bool,
}

/// A part of the lock table in which a request wants locks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    pub(super) part: PartId,
    /// The end of the stop's locks in the list of all locks.
    end: u32,
    /// The number of the transaction in the part's queues, once the part has entered its requests.
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
            was_blocked: false,
        })
    }

    /// Makes the request want nothing. The transaction has given all of the request's locks back.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.stops.clear();
        self.locks.clear();
        (self.at, self.messages, self.was_blocked) = (0, 0, false);
    }

    /// Fills an empty request with the locks of a plan. Each part in which the plan has locks becomes a stop, in
    /// ascending order. A row's lock is asked for in the part of the row's partition. All prefix locks are asked for at
    /// every stop.
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

    /// Adds a part that has granted the running transaction locks beside its plan.
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

    /// Returns the names and modes of the locks that the request wants in the part that it has come to.
    #[inline]
    pub(super) fn wanted(&self) -> &[(u64, Modes)] {
        let begin = if self.at == 0 { 0 } else { self.stops[self.at - 1].end as usize };
        &self.locks[begin..self.stops[self.at].end as usize]
    }

    /// Notes the number of the transaction in the queues of the part that the request has come to.
    #[inline]
    pub(super) fn enter(&mut self, owner: OwnerId) {
        self.stops[self.at].owner = Some(owner);
    }

    /// Notes that all locks are granted in the part that the request has come to.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    /// Notes that the request waits for another transaction in the part that it has come to.
    #[inline]
    pub(super) fn block(&mut self) {
        self.was_blocked = true;
    }

    /// Whether the request has waited for another transaction since it was [filled](Self::fill).
    #[inline]
    pub(super) fn was_blocked(&self) -> bool {
        self.was_blocked
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
    /// The locks are divided among this number of parts.
    Split(u16),
    /// The transaction asks for all of its locks in this part, because every part reaches the whole table (§3.4).
    Single(PartId),
}

impl PartMap {
    /// Returns the part that has the locks of a partition. Partitions are counted by [`count`](Self::count).
    #[inline]
    pub(super) fn part(self, partition: u16) -> PartId {
        match self {
            PartMap::Split(_) => PartId(partition),
            PartMap::Single(part) => part,
        }
    }

    /// Returns the parts that have the prefix locks of a place.
    pub(super) fn parts_at(self, place: Place) -> SmallVec<[PartId; 4]> {
        match place {
            Place::Everywhere => (0..self.count()).map(|number| self.part(number)).collect(),
            place => SmallVec::from_slice(&[self.part(place.number(self.count().into()))]),
        }
    }

    /// Returns the parts in which a plan has locks, each once, in no order.
    #[inline]
    fn parts_of(self, plan: &Plan<()>) -> SmallVec<[PartId; 4]> {
        let mut parts = SmallVec::new();
        plan.visit_partitions(self.count().into(), |partition| {
            let part = self.part(partition);
            if !parts.contains(&part) {
                parts.push(part);
            }
        });
        parts
    }

    /// Returns the number of parts among which the locks of one transaction are divided.
    #[inline]
    pub(super) fn count(self) -> u16 {
        match self {
            PartMap::Split(count) => count,
            PartMap::Single(_) => 1,
        }
    }
}
