//! All parts of the lock table and all ports of workers, and the ways by which a message gets to a thread that acts on
//! it.
//!
//! **Definitions.** A thread can *settle* on a part. It is then the part's concurrency-control thread until it
//! *leaves*. If no thread has settled on a part, each thread that has a message for the part takes it for a moment.
//! Then one thread has both roles, and the system switches no threads.
//!
//! **Invariants**
//!
//! 1. A thread uses one baton at a time, so no cycle of waits for batons is possible. Until the thread has given the
//!    baton back, its [`Outbox`] keeps all that it has to send.
//! 2. *No message is forgotten.* [`Presence`] says for each part whether a thread has settled there. If a sender finds
//!    no such thread, it takes the baton and acts on all messages of the part. A thread that leaves does the same.
//! 3. A thread that takes a baton for a moment first acts on all messages that have come to the part. This does not
//!    hold for a thread that only looks at a row: a message on which no thread has acted has granted nothing.

use super::id::{PartId, PortId};
use super::message::{Add, Message, PortRings, Withdraw, connect};
use super::node::{Answer, Node};
use super::part::{Outbox, Part};
use super::presence::{Attention, Presence};
use super::request::{PartMap, Request};
use super::table::LockTable;
use crate::shared::mailbox::Mailbox;
use crate::shared::request_queues::{Modes, OwnerId};
use hotrow_sync::atomic::{AtomicU64, Ordering, fence};
use hotrow_sync::baton::Settled;
use hotrow_sync::{Arc, Baton, CachePadded, Waiter};

/// All parts of one database's lock table, and all ports of its workers. All threads share them.
pub(super) struct Parts<T> {
    parts: Box<[PartPlace<T>]>,
    ports: Box<[PortPlace]>,
    /// The number of nodes that were made so far.
    nodes: AtomicU64,
}

struct PartPlace<T> {
    baton: CachePadded<Baton<Part<T>>>,
    mailbox: Mailbox<Message>,
    presence: CachePadded<Presence>,
}

struct PortPlace {
    baton: CachePadded<Baton<PortRings>>,
    presence: CachePadded<Presence>,
}

/// A thread that sends messages to parts.
pub(super) struct Sender<'s> {
    /// The port of the worker on which the transaction runs, if there is one.
    pub(super) port: Option<PortId>,
    /// The node of the transaction that the thread runs, which need not be woken.
    pub(super) own: Option<&'s Arc<Node>>,
}

impl<T: LockTable> Parts<T> {
    /// Makes a lock table of `parts` parts, for `ports` workers.
    pub(super) fn new(parts: usize, ports: usize) -> Arc<Self> {
        let (of_parts, of_ports) = connect(parts, ports);
        let part = |((number, rings), table)| PartPlace {
            baton: CachePadded(Baton::new(Part::new(PartId(number as u16), table, rings))),
            mailbox: Mailbox::default(),
            presence: CachePadded::default(),
        };
        let port = |rings| PortPlace { baton: CachePadded(Baton::new(rings)), presence: CachePadded::default() };
        Arc::new(Self {
            parts: of_parts.into_iter().enumerate().zip(T::make(parts)).map(part).collect(),
            ports: of_ports.into_iter().map(port).collect(),
            nodes: AtomicU64::new(0),
        })
    }

    /// Returns the number of parts.
    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Makes the node of a transaction object that waits through `waiter`.
    pub(super) fn node(&self, waiter: Waiter) -> Arc<Node> {
        // Relaxed: the number only has to be given once.
        Node::new(self.nodes.fetch_add(1, Ordering::Relaxed), waiter)
    }

    /// Returns the mapping of locks to parts for the transactions of one transaction object.
    pub(super) fn map(&self, node: &Node) -> PartMap {
        match T::IS_SHARED {
            false => PartMap::Split(self.len() as u16),
            true => PartMap::Single(PartId((node.number() % self.len() as u64) as u16)),
        }
    }

    /// Sends a request to the first part that it has to visit. If it wants no locks, it is granted at once.
    #[inline]
    pub(super) fn submit(&self, sender: &Sender<'_>, mut request: Box<Request>) {
        request.port = sender.port.filter(|&port| self.is_port_mine(port));
        match request.next() {
            Some(first) => {
                request.count_message();
                self.send(sender, first, Message::Request(request));
            }
            None => {
                let node = request.node.clone();
                node.grant(request);
            }
        }
    }

    /// Gives back the locks of a transaction in a part.
    #[inline]
    pub(super) fn release(&self, sender: &Sender<'_>, part: PartId, owner: OwnerId) {
        self.send(sender, part, Message::Release(owner));
    }

    /// Withdraws the request of an attempt from a part, whether it has arrived there already or not.
    pub(super) fn withdraw(&self, sender: &Sender<'_>, part: PartId, withdraw: Withdraw) {
        self.send(sender, part, Message::Withdraw(Box::new(withdraw)));
    }

    /// Asks a part for locks that a running transaction wants beside its plan. If another thread has settled on the
    /// part, the call returns `None`, and the answer comes to the node later.
    pub(super) fn add(
        &self,
        sender: &Sender<'_>,
        part: PartId,
        node: &Arc<Node>,
        owner: Option<OwnerId>,
        locks: &[(u64, Modes)],
    ) -> Option<Answer> {
        node.ask();
        if let Ok(added) = self.with(sender, part, |part, _| part.add(node, owner, locks)) {
            return Some(added);
        }
        let add = Add { node: node.clone(), owner, locks: locks.into() };
        self.send(sender, part, Message::Add(Box::new(add)));
        None
    }

    /// Calls `look` while no transaction has locked `name` exclusively in a part, nor can do so. If a transaction has,
    /// or another thread has settled on the part, the call returns `None` and does not call `look`.
    pub(super) fn glance<R>(&self, part: PartId, name: u64, look: impl FnOnce() -> R) -> Option<R> {
        self.place(part).baton.take().ok()?.glance(name, look)
    }

    /// Acts on a message to a part, if no other thread has settled there. Otherwise the call sends the message.
    #[inline]
    fn send(&self, sender: &Sender<'_>, to: PartId, message: Message) {
        let mut message = Some(message);
        let acted = self.with(sender, to, |part, outbox| {
            part.act(message.take().expect("acted upon once"), false, outbox);
        });
        if acted.is_ok() {
            return;
        }
        let message = message.expect("the part was not reached");
        match self.send_over_ring(sender, to, message) {
            Ok(()) => {}
            Err(message) => self.place(to).mailbox.put(message),
        }
        self.call_part(to);
    }

    #[inline]
    fn send_over_ring(&self, sender: &Sender<'_>, to: PartId, message: Message) -> Result<(), Message> {
        let Some(port) = sender.port.filter(|&port| self.is_port_mine(port)) else { return Err(message) };
        match self.ports[port.index()].baton.take() {
            Ok(mut rings) => rings.send(to, message),
            Err(Settled) => Err(message),
        }
    }

    /// Calls `work` with a part on which no other thread has settled. Before that, the call acts on all messages of the
    /// part.
    ///
    /// # Errors
    /// Fails if another thread has settled on the part.
    #[inline]
    fn with<R>(
        &self,
        sender: &Sender<'_>,
        part: PartId,
        work: impl FnOnce(&mut Part<T>, &mut Outbox) -> R,
    ) -> Result<R, Settled> {
        let mut outbox = Outbox::default();
        let place = self.place(part);
        let mut held = place.baton.take()?;
        let is_owner = held.is_settled();
        while receive(place, &mut held, is_owner, &mut outbox) {}
        let result = work(&mut held, &mut outbox);
        drop(held);
        self.attend(sender, outbox);
        Ok(result)
    }

    /// Does the work that is left after a part's baton has been given back.
    #[inline]
    fn attend(&self, sender: &Sender<'_>, outbox: Outbox) {
        if outbox.is_empty() {
            return;
        }
        for request in outbox.grants {
            let node = request.node.clone();
            let is_own = sender.own.is_some_and(|own| Arc::ptr_eq(own, &node));
            if node.grant(request) && !is_own {
                node.waiter().wake();
            }
        }
        outbox.answered.iter().for_each(|node| node.waiter().wake());
        outbox.messages.into_iter().for_each(|(to, message)| self.send(sender, to, message));
        outbox.parts.into_iter().for_each(|part| self.call_part(part));
        outbox.ports.into_iter().for_each(|port| self.call_port(port));
    }

    /// Makes sure that a thread acts on a message that was put into a ring or the mailbox of a part.
    fn call_part(&self, part: PartId) {
        if self.place(part).presence.call() == Attention::Nobody {
            // If another thread has settled meanwhile, that thread looks for messages.
            let _ = self.with(&Sender { port: None, own: None }, part, |_, _| ());
        }
    }

    /// Makes sure that the thread of a port looks at a grant that was sent to the port. If no thread has the port any
    /// more, the transactions of that port are over, and the grant has no effect.
    fn call_port(&self, port: PortId) {
        self.ports[port.index()].presence.call();
    }

    #[inline]
    fn is_port_mine(&self, port: PortId) -> bool {
        self.ports.get(port.index()).is_some_and(|place| place.baton.is_mine())
    }

    #[inline]
    fn place(&self, part: PartId) -> &PartPlace<T> {
        &self.parts[part.index()]
    }

    /// Settles the calling thread on a part, which makes it the part's concurrency-control thread. The thread waits
    /// through `waiter` when it has nothing to do. Returns false, and changes nothing, if another thread has settled on
    /// the part before.
    pub(super) fn settle(&self, part: PartId, waiter: &Waiter) -> bool {
        let place = self.place(part);
        let settled = place.baton.settle();
        if settled {
            place.presence.come(waiter);
        }
        settled
    }

    /// Ends the calling thread's stay on a part that it has [settled](Self::settle) on.
    pub(super) fn leave(&self, part: PartId) {
        let place = self.place(part);
        if !place.baton.is_mine() {
            return;
        }
        place.presence.leave();
        place.baton.leave();
        // SeqCst: a sender may have found nobody, and the baton not left yet. It has left its message before this look.
        fence(Ordering::SeqCst);
        // If another thread has settled meanwhile, that thread looks for messages.
        let _ = self.with(&Sender { port: None, own: None }, part, |_, _| ());
    }

    /// Acts on messages of a part on which the calling thread has settled, but on no more than a few of each ring.
    /// Returns whether there was any message.
    #[inline]
    pub(super) fn receive(&self, part: PartId) -> bool {
        let place = self.place(part);
        let Ok(mut held) = place.baton.take() else { return false };
        let mut outbox = Outbox::default();
        let received = receive(place, &mut held, true, &mut outbox);
        drop(held);
        self.attend(&Sender { port: None, own: None }, outbox);
        received
    }

    /// Notes that the thread that has settled on a part is about to sleep. Returns whether a message has come. If so,
    /// the thread must not sleep.
    pub(super) fn doze(&self, part: PartId) -> bool {
        let place = self.place(part);
        place.presence.doze();
        place.mailbox.is_full() || place.baton.take().is_ok_and(|part| part.has_mail())
    }

    /// Notes that the thread that has settled on a part does not sleep any more.
    pub(super) fn rouse(&self, part: PartId) {
        self.place(part).presence.rouse();
    }

    /// Gives the calling thread a port. Returns false if there is no such port, or another thread has it.
    pub(super) fn open_port(&self, port: PortId, waiter: &Waiter) -> bool {
        let Some(place) = self.ports.get(port.index()) else { return false };
        let opened = place.baton.settle();
        if opened {
            place.presence.come(waiter);
        }
        opened
    }

    /// Ends the calling thread's use of a port. The port's transactions are over, so the attempts whose grants may
    /// still come are withdrawn.
    pub(super) fn close_port(&self, port: PortId) {
        self.receive_grants(port);
        let place = &self.ports[port.index()];
        place.presence.leave();
        place.baton.leave();
    }

    /// Hands the grants that have come to the calling thread's port to their transactions, and wakes these. Returns
    /// whether there was any grant.
    #[inline]
    pub(super) fn receive_grants(&self, port: PortId) -> bool {
        let Ok(mut rings) = self.ports[port.index()].baton.take() else { return false };
        let mut received = false;
        while let Some(request) = rings.receive() {
            received = true;
            let node = request.node.clone();
            if node.grant(request) {
                node.waiter().wake();
            }
        }
        received
    }

    /// Notes that the thread of a port is about to sleep. Returns whether a grant has come. If so, the thread must not
    /// sleep.
    pub(super) fn doze_at_port(&self, port: PortId) -> bool {
        let place = &self.ports[port.index()];
        place.presence.doze();
        place.baton.take().is_ok_and(|rings| rings.has_mail())
    }

    /// Notes that the thread of a port does not sleep any more.
    pub(super) fn rouse_at_port(&self, port: PortId) {
        self.ports[port.index()].presence.rouse();
    }

    /// Checks the invariants of all parts on which no other thread has settled.
    pub(super) fn audit(&self) -> Result<(), String> {
        let sender = Sender { port: None, own: None };
        for number in 0..self.len() {
            // A part on which another thread has settled cannot be looked at.
            if let Ok(audited) = self.with(&sender, PartId(number as u16), |part, _| part.audit()) {
                audited?;
            }
        }
        Ok(())
    }

    /// Returns the number of messages that were ever sent over rings. The caller ensures that no thread has settled.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn sent_over_rings(&self) -> usize {
        let sender = Sender { port: None, own: None };
        let by_part = (0..self.len()).map(|number| {
            let sent = self.with(&sender, PartId(number as u16), |part, _| part.sent_over_rings());
            sent.expect("no thread has settled")
        });
        let by_port = self.ports.iter().map(|place| place.baton.take().expect("nobody has a port").sent());
        by_part.sum::<usize>() + by_port.sum::<usize>()
    }

    /// Returns the number of names in use and the number of requests in all parts. In tests both are zero at the end.
    #[cfg(test)]
    pub(super) fn usage(&self) -> (usize, usize) {
        let sender = Sender { port: None, own: None };
        let usages = (0..self.len()).map(|number| {
            let usage = self.with(&sender, PartId(number as u16), |part, _| part.usage());
            usage.expect("no thread has settled")
        });
        usages.fold((0, 0), |(names, requests), (more, others)| (names + more, requests + others))
    }
}

/// Acts on messages that have come to a part: on no more than a few of each ring, and on all of the mailbox. Returns
/// whether there was any message.
#[inline]
fn receive<T: LockTable>(place: &PartPlace<T>, part: &mut Part<T>, is_owner: bool, outbox: &mut Outbox) -> bool {
    let mut received = part.receive(is_owner, outbox);
    if place.mailbox.is_full() {
        received = true;
        place.mailbox.take().into_iter().for_each(|message| part.act(message, is_owner, outbox));
    }
    received
}
