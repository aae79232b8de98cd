//! The parts of the lock table side by side, and the ports of the execution threads: how a message gets to whoever acts
//! on it.
//!
//! **Definitions.** A thread *settles* on a part, and then has it for good: the concurrency-control thread of that
//! part. A part on which no thread has settled is worked on by any thread that has a message for it, for a moment at a
//! time: then both roles are on one thread, and no thread is switched.
//!
//! **Invariants**
//!
//! 1. A thread has the baton of one part at a time, so no cycle of waits for batons is possible. What it has to send
//!    is kept in its [`Outbox`] until the baton is given back.
//! 2. *No message is forgotten.* [`Presence`] says for each part whether a thread is there. A sender that finds nobody
//!    takes the baton and acts on all messages of the part; a thread that leaves does the same.
//! 3. A thread that takes a baton for a moment, to send a message or on behalf of nobody, first acts on all messages
//!    that have come. A thread that only looks at a row need not: a message on which no thread has acted has granted
//!    nothing.

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

/// All parts of the lock table of one database, and all ports, which all threads share.
pub(super) struct Parts<T> {
    parts: Box<[PartPlace<T>]>,
    ports: Box<[PortPlace]>,
    /// The number of nodes that were made.
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
    /// The transaction's own node, which need not be woken.
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

    /// Returns the mapping of locks to parts for the transactions of one object.
    pub(super) fn map(&self, node: &Node) -> PartMap {
        match T::IS_SHARED {
            false => PartMap::Split(self.len() as u16),
            true => PartMap::Single(PartId((node.number() % self.len() as u64) as u16)),
        }
    }

    /// Sends a request on its way, to the first part that it has to visit.
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

    /// Takes back what an attempt has asked of a part, or may be about to ask.
    pub(super) fn withdraw(&self, sender: &Sender<'_>, part: PartId, withdraw: Withdraw) {
        self.send(sender, part, Message::Withdraw(Box::new(withdraw)));
    }

    /// Asks a part for locks that a running transaction wants beside its plan. If a thread has settled on the part, the
    /// answer comes to the node later, and the call returns `None`.
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

    /// Calls `look` while no transaction can lock `name` exclusively in a part. Returns `None`, without calling it, if
    /// a transaction has, or another thread has settled on the part.
    pub(super) fn glance<R>(&self, part: PartId, name: u64, look: impl FnOnce() -> R) -> Option<R> {
        self.place(part).baton.take().ok()?.glance(name, look)
    }

    /// Gets a message to a part: acts on it if no other thread has settled there, and otherwise sends it.
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

    /// Calls `work` with a part on which no other thread has settled. The messages of the part are acted upon first.
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

    /// Does what is left to do after a baton has been given back.
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

    /// Makes sure that a thread acts on a message that was put where the part's thread looks.
    fn call_part(&self, part: PartId) {
        if self.place(part).presence.call() == Attention::Nobody {
            // If a thread has settled meanwhile it looks by itself.
            let _ = self.with(&Sender { port: None, own: None }, part, |_, _| ());
        }
    }

    /// Makes sure that the thread of a port looks at a grant. If the thread has left, the transaction is over, too.
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

    /// Settles the calling thread on a part: it is the part's concurrency-control thread now, and waits through
    /// `waiter` when it has nothing to do. Returns whether it has settled: another thread may have settled there
    /// before.
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
        // SeqCst: a sender that has found nobody, but the baton not left yet, has left its message before this look.
        fence(Ordering::SeqCst);
        // If another thread has settled meanwhile it looks by itself.
        let _ = self.with(&Sender { port: None, own: None }, part, |_, _| ());
    }

    /// Acts on messages of a part on which the calling thread has settled: some of each sender's. Returns whether there
    /// were any.
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

    /// Notes that the thread that has settled on a part is about to sleep. Returns whether a message has come, so that
    /// it must not.
    pub(super) fn doze(&self, part: PartId) -> bool {
        let place = self.place(part);
        place.presence.doze();
        place.mailbox.is_full() || place.baton.take().is_ok_and(|part| part.has_mail())
    }

    /// Notes that the thread that has settled on a part does not sleep any more.
    pub(super) fn rouse(&self, part: PartId) {
        self.place(part).presence.rouse();
    }

    /// Gives the calling thread a port, and returns whether it has it now.
    pub(super) fn open_port(&self, port: PortId, waiter: &Waiter) -> bool {
        let Some(place) = self.ports.get(port.index()) else { return false };
        let opened = place.baton.settle();
        if opened {
            place.presence.come(waiter);
        }
        opened
    }

    /// Ends the calling thread's use of a port. Its transactions are over: the grants that are still to come have been
    /// withdrawn.
    pub(super) fn close_port(&self, port: PortId) {
        self.receive_grants(port);
        let place = &self.ports[port.index()];
        place.presence.leave();
        place.baton.leave();
    }

    /// Hands the grants that have come over the calling thread's port to their transactions. Returns whether there were
    /// any.
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

    /// Notes that the thread of a port is about to sleep. Returns whether a grant has come, so that it must not.
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
            // The state of a thread that has settled is not known here.
            if let Ok(audited) = self.with(&sender, PartId(number as u16), |part, _| part.audit()) {
                audited?;
            }
        }
        Ok(())
    }

    /// Returns the number of messages that were ever sent over rings. No thread has settled.
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

    /// Returns the number of names in use and the number of requests in all parts. Tests expect none of either.
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

/// Acts on messages that have come to a part: some of each sender's. Returns whether there were any.
#[inline]
fn receive<T: LockTable>(place: &PartPlace<T>, part: &mut Part<T>, is_owner: bool, outbox: &mut Outbox) -> bool {
    let mut received = part.receive(is_owner, outbox);
    if place.mailbox.is_full() {
        received = true;
        place.mailbox.take().into_iter().for_each(|message| part.act(message, is_owner, outbox));
    }
    received
}
