//! A part of the lock table, and the actions of a concurrency-control thread on the messages that come to the part.
//!
//! | paper | code |
//! | --- | --- |
//! | acquire the locks that the request wants here (§3.1) | [`Part::enter`] |
//! | forward the request to the next thread, or return it (§3.3, Fig. 3) | [`Part::pass_on`] |
//! | release, without an answer | [`Part::release`] |

use super::id::{Attempt, PartId, PortId};
use super::message::{Add, Message, PartRings, Withdraw};
use super::node::{Answer, Node};
use super::request::Request;
use super::table::{Entrant, LockTable};
use crate::shared::request_queues::{Modes, OwnerId};
use hotrow_sync::Arc;
use smallvec::SmallVec;

/// The greatest number of messages of one ring that a thread acts on before it goes on to the next ring.
const TURN: usize = 16;

/// A part of the lock table, with the ends of its rings. The thread that has the part's baton works on it.
pub(super) struct Part<T> {
    id: PartId,
    table: T,
    rings: PartRings,
    /// The requests that a release has granted. The list is empty between two calls, and is used again.
    #[expect(clippy::vec_box, reason = "messages carry them in their boxes")]
    granted: Vec<Box<Request>>,
}

/// The work that is left for a thread after it has given a part's baton back.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// The parts to which messages were sent over rings: a thread must look at these messages.
    pub(super) parts: SmallVec<[PartId; 4]>,
    /// The ports to which grants were sent over rings: their threads must look at these grants.
    pub(super) ports: SmallVec<[PortId; 4]>,
    /// Messages that the thread has to deliver itself.
    pub(super) messages: Vec<(PartId, Message)>,
    /// Granted requests whose transactions the thread tells directly.
    #[expect(clippy::vec_box, reason = "messages carry them in their boxes")]
    pub(super) grants: Vec<Box<Request>>,
    /// The nodes of transactions that have got an answer, and are to be woken.
    pub(super) answered: Vec<Arc<Node>>,
}

impl Outbox {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
            && self.ports.is_empty()
            && self.messages.is_empty()
            && self.grants.is_empty()
            && self.answered.is_empty()
    }
}

fn note<Id: PartialEq>(noted: &mut SmallVec<[Id; 4]>, id: Id)
where
    [Id; 4]: smallvec::Array<Item = Id>,
{
    if !noted.contains(&id) {
        noted.push(id);
    }
}

impl<T: LockTable> Part<T> {
    pub(super) fn new(id: PartId, table: T, rings: PartRings) -> Self {
        Self { id, table, rings, granted: Vec::new() }
    }

    /// Acts on messages of the rings, but on no more than a few of each ring, so that each sender has its turn.
    /// `is_owner` says whether the calling thread has settled on this part, or has taken it for a moment. Returns
    /// whether there was any message.
    #[inline]
    pub(super) fn receive(&mut self, is_owner: bool, outbox: &mut Outbox) -> bool {
        let mut received = false;
        for ring in 0..self.rings.incoming() {
            for _ in 0..TURN {
                let Some(message) = self.rings.receive(ring) else { break };
                received = true;
                self.act(message, is_owner, outbox);
            }
        }
        received
    }

    /// Whether there is a message on the rings.
    pub(super) fn has_mail(&self) -> bool {
        self.rings.has_mail()
    }

    /// Does what a message asks for.
    #[inline]
    pub(super) fn act(&mut self, message: Message, is_owner: bool, outbox: &mut Outbox) {
        match message {
            Message::Request(request) => self.enter(request, is_owner, outbox),
            Message::Release(owner) => self.release(owner, is_owner, outbox),
            Message::Add(add) => {
                let Add { node, owner, locks } = *add;
                node.reply(self.add(&node, owner, &locks));
                outbox.answered.push(node);
            }
            Message::Withdraw(withdraw) => {
                let Withdraw { node, attempt } = *withdraw;
                let found = self.find(node, attempt);
                found.into_iter().for_each(|owner| self.release(owner, is_owner, outbox));
            }
        }
    }

    /// Enters the locks that a request wants here in the queues, unless the attempt was withdrawn. If all of these
    /// locks are granted, the request goes on. Otherwise the part keeps the request until they are.
    #[inline]
    fn enter(&mut self, mut request: Box<Request>, is_owner: bool, outbox: &mut Outbox) {
        if !request.node.is_asking(request.attempt) {
            return;
        }
        let request = self.table.with(|queues| {
            let entrant = Entrant { node: request.node.number(), attempt: request.attempt, parked: None };
            let owner = queues.join(entrant);
            request.wanted().iter().for_each(|&(name, modes)| queues.request(owner, name, modes));
            request.enter(owner);
            if queues.is_granted(owner) {
                return Some(request);
            }
            request.block();
            queues.value_mut(owner).parked = Some(request);
            None
        });
        if let Some(request) = request {
            self.pass_on(request, is_owner, outbox);
        }
    }

    /// Sends a request that has its locks here to the next part, or back to its transaction if this was the last part.
    #[inline]
    fn pass_on(&mut self, mut request: Box<Request>, is_owner: bool, outbox: &mut Outbox) {
        request.advance();
        request.count_message();
        if let Some(next) = request.next() {
            // A thread that has taken the part for a moment delivers the request itself, after it has given the part
            // back.
            let sent = match is_owner {
                true => self.rings.forward(next, Message::Request(request)),
                false => Err(Message::Request(request)),
            };
            match sent {
                Ok(()) => note(&mut outbox.parts, next),
                Err(message) => outbox.messages.push((next, message)),
            }
            return;
        }
        match request.port.filter(|_| is_owner) {
            Some(port) => match self.rings.grant(port, request) {
                Ok(()) => note(&mut outbox.ports, port),
                Err(request) => outbox.grants.push(request),
            },
            None => outbox.grants.push(request),
        }
    }

    /// Removes all requests of a transaction here, granted or not. Requests that waited for them go on.
    #[inline]
    fn release(&mut self, owner: OwnerId, is_owner: bool, outbox: &mut Outbox) {
        let mut granted = std::mem::take(&mut self.granted);
        self.table.with(|queues| {
            queues.release_all(owner, &mut |entrant: &mut Entrant| granted.extend(entrant.parked.take()));
            queues.part(owner);
        });
        granted.drain(..).for_each(|request| self.pass_on(request, is_owner, outbox));
        self.granted = granted;
    }

    /// Grants a running transaction more locks here, all of them or none. If another transaction has asked for a
    /// conflicting lock, the answer is a refusal.
    pub(super) fn add(&mut self, node: &Node, owner: Option<OwnerId>, locks: &[(u64, Modes)]) -> Answer {
        self.table.with(|queues| {
            // No withdrawal looks for this entrant, because only an attempt that asks is withdrawn.
            let entrant = || Entrant { node: node.number(), attempt: Attempt::default(), parked: None };
            let joined = owner.unwrap_or_else(|| queues.join(entrant()));
            let are_free = locks.iter().all(|&(name, modes)| queues.is_free(joined, name, modes));
            if are_free {
                locks.iter().for_each(|&(name, modes)| queues.add(joined, name, modes));
                return Answer::Added(joined);
            }
            if owner.is_none() {
                queues.part(joined);
            }
            Answer::Refused
        })
    }

    /// Calls `look` while no transaction has locked `name` exclusively, nor can do so. If a transaction has, the call
    /// returns `None` and does not call `look`.
    pub(super) fn glance<R>(&mut self, name: u64, look: impl FnOnce() -> R) -> Option<R> {
        self.table.with(|queues| (!queues.is_exclusive(name)).then(look))
    }

    fn find(&mut self, node: u64, attempt: Attempt) -> Option<OwnerId> {
        let is_it = |entrant: &Entrant| entrant.node == node && entrant.attempt == attempt;
        self.table.with(|queues| queues.find_owner(is_it))
    }

    /// Checks the invariants of the queues, and that the part keeps a request for each transaction that waits here.
    pub(super) fn audit(&mut self) -> Result<(), String> {
        let id = self.id.0;
        self.table.with(|queues| {
            queues.audit()?;
            let (waiting, parked) =
                (queues.waiting(), queues.values().filter(|entrant| entrant.parked.is_some()).count());
            if waiting != parked {
                return Err(format!("part {id}: {waiting} transactions wait, and {parked} requests are kept"));
            }
            Ok(())
        })
    }

    /// Returns the number of messages that this part has ever sent over rings.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn sent_over_rings(&self) -> usize {
        self.rings.sent()
    }

    /// Returns the number of names in use and the number of requests. In tests both are zero at the end.
    #[cfg(test)]
    pub(super) fn usage(&mut self) -> (usize, usize) {
        self.table.with(|queues| queues.usage())
    }
}
