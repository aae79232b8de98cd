//! Messages to concurrency-control threads, and the rings that carry them.
//!
//! | message | from | says |
//! | --- | --- | --- |
//! | *request* | an execution thread, or the part before | these locks; then on to the next part, or back |
//! | *grant* | the last part | all locks are there |
//! | *release* | an execution thread | the transaction is over; no thread waits for an answer |
//! | *add* | an execution thread | a running transaction wants one more lock, if it is free |
//! | *withdraw* | an execution thread | the transaction asks no more, granted or not |
//!
//! Each ring has one producer and one consumer. There is a ring from each port to each part, from each part to each
//! later part, and from each part to each port. A session's thread has no port, and leaves its messages in the part's
//! mailbox. A thread that finds the ring to a part full does so, too. If the ring to a port is full, the thread of the
//! part tells the transaction of its grant directly.

use super::id::{Attempt, PartId, PortId};
use super::node::Node;
use super::request::Request;
use crate::shared::request_queues::{Modes, OwnerId};
use hotrow_sync::Arc;
use hotrow_sync::ring::{self, Consumer, Producer};
use smallvec::SmallVec;

/// A message to a part of the lock table. The thread that has the part's baton acts on it.
#[derive(Debug)]
pub(super) enum Message {
    Request(Box<Request>),
    Release(OwnerId),
    Add(Box<Add>),
    Withdraw(Box<Withdraw>),
}

/// The question whether a part grants a running transaction more locks without a wait.
#[derive(Debug)]
pub(super) struct Add {
    /// The node that gets the answer.
    pub(super) node: Arc<Node>,
    /// The number of the transaction in the part's queues, if it has locks there.
    pub(super) owner: Option<OwnerId>,
    pub(super) locks: SmallVec<[(u64, Modes); 2]>,
}

/// The notice that an attempt asks for no locks any more. The part removes the requests of the attempt, whether they
/// were granted or not.
#[derive(Debug)]
pub(super) struct Withdraw {
    pub(super) node: u64,
    pub(super) attempt: Attempt,
}

/// The number of messages that a ring holds. If a ring is full, its messages take another way.
const RING: usize = if cfg!(shuttle) { 1 } else { 64 };

/// The ends of the rings of a part. The thread that has the part's baton uses them.
#[derive(Debug)]
pub(super) struct PartRings {
    /// The rings from earlier parts and from ports, in no order.
    incoming: Vec<Consumer<Message>>,
    /// The rings to later parts, by part. There is no ring to the part itself, nor to an earlier part.
    to_parts: Vec<Option<Producer<Message>>>,
    /// The rings to ports, by port.
    to_ports: Vec<Producer<Box<Request>>>,
}

/// The ends of the rings of a port. The worker's thread that has the port uses them.
#[derive(Debug)]
pub(super) struct PortRings {
    to_parts: Vec<Producer<Message>>,
    from_parts: Vec<Consumer<Box<Request>>>,
}

/// Makes the rings between the parts, and between the parts and the ports.
pub(super) fn connect(parts: usize, ports: usize) -> (Vec<PartRings>, Vec<PortRings>) {
    let of_part = || PartRings { incoming: Vec::new(), to_parts: Vec::new(), to_ports: Vec::new() };
    let mut all: Vec<_> = (0..parts).map(|_| of_part()).collect();
    let mut all_ports = Vec::new();
    for _ in 0..ports {
        let mut port = PortRings { to_parts: Vec::new(), from_parts: Vec::new() };
        for part in &mut all {
            let (to_part, from_port) = ring::channel(RING);
            let (to_port, from_part) = ring::channel(RING);
            port.to_parts.push(to_part);
            port.from_parts.push(from_part);
            part.incoming.push(from_port);
            part.to_ports.push(to_port);
        }
        all_ports.push(port);
    }
    for from in 0..parts {
        for to in 0..parts {
            let ring = (from < to).then(|| {
                let (producer, consumer) = ring::channel(RING);
                all[to].incoming.push(consumer);
                producer
            });
            all[from].to_parts.push(ring);
        }
    }
    (all, all_ports)
}

impl PartRings {
    /// Returns the number of rings that bring messages to the part.
    #[inline]
    pub(super) fn incoming(&self) -> usize {
        self.incoming.len()
    }

    /// Takes the next message of the ring with this number, if there is one.
    #[inline]
    pub(super) fn receive(&mut self, ring: usize) -> Option<Message> {
        self.incoming[ring].try_pop()
    }

    /// Whether a message has come.
    pub(super) fn has_mail(&self) -> bool {
        self.incoming.iter().any(|ring| !ring.is_empty())
    }

    /// Returns the number of messages that were ever sent over rings to later parts and to ports.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn sent(&self) -> usize {
        let to_parts: usize = self.to_parts.iter().flatten().map(Producer::pushed).sum();
        to_parts + self.to_ports.iter().map(Producer::pushed).sum::<usize>()
    }

    /// Sends a message to a later part.
    ///
    /// # Errors
    /// The message itself if the ring is full.
    #[inline]
    pub(super) fn forward(&mut self, to: PartId, message: Message) -> Result<(), Message> {
        let ring = self.to_parts[to.index()].as_mut().expect("requests visit the parts in their order");
        ring.try_push(message)
    }

    /// Sends a granted request back to a port.
    ///
    /// # Errors
    /// The request itself if the ring is full.
    #[inline]
    pub(super) fn grant(&mut self, to: PortId, request: Box<Request>) -> Result<(), Box<Request>> {
        self.to_ports[to.index()].try_push(request)
    }
}

impl PortRings {
    /// Sends a message to a part.
    ///
    /// # Errors
    /// The message itself if the ring is full.
    #[inline]
    pub(super) fn send(&mut self, to: PartId, message: Message) -> Result<(), Message> {
        self.to_parts[to.index()].try_push(message)
    }

    /// Returns the number of messages that were ever sent over rings to parts.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn sent(&self) -> usize {
        self.to_parts.iter().map(Producer::pushed).sum()
    }

    /// Takes a granted request that has come, if there is one.
    #[inline]
    pub(super) fn receive(&mut self) -> Option<Box<Request>> {
        self.from_parts.iter_mut().find_map(Consumer::try_pop)
    }

    /// Whether a granted request has come.
    #[inline]
    pub(super) fn has_mail(&self) -> bool {
        self.from_parts.iter().any(|ring| !ring.is_empty())
    }
}
