//! Messages between partitions, and the rings and mailboxes that carry them.
//!
//! Threads that have settled on partitions send each other messages over rings, one for each pair of partitions and
//! direction; a thread that has settled on none, an *outsider*, leaves its messages in the partition's mailbox. A
//! partition on which no thread has settled gets no messages: a thread that wants something of it takes its baton and
//! does it.
//!
//! | message | from | says |
//! | --- | --- | --- |
//! | *enter* | the transaction's thread | these locks, in this place of the order |
//! | *granted* | a partition | all of them: the transaction may touch what they lock ("local reads" in Fig. 3) |
//! | *finished* | the transaction's thread | it has ended, or asks no more |
//!
//! **No order.** Messages may overtake each other, even between the same two. *Enter* has its number; *granted* names
//! its attempt; and a *finished* that comes before its *enter* finds nothing to do, because then the attempt was
//! withdrawn, and the *enter* does nothing either ([`node`](super::node), invariant 2).
//!
//! **Delay.** Between two threads that have settled, a message is held back for as long as the settings say. All
//! messages of a ring have the same delay, so what is due first is in front.

use super::id::{PartitionId, Ticket};
use super::node::{Attempt, Node};
use super::piece::Piece;
use super::queue::Asker;
use hotrow_storage::{Key, TableId};
use hotrow_sync::ring::{self, Consumer, Producer};
use hotrow_sync::{Arc, Time};

/// A message from one partition, or a transaction's thread, to another partition.
#[derive(Debug)]
pub(super) enum Message<H> {
    Enter(Enter<H>),
    Granted(Granted),
    Finished(Finished<H>),
}

/// The message by which a transaction asks a partition for all the locks that it needs there.
#[derive(Debug)]
pub(super) struct Enter<H> {
    /// The transaction's number in the order of this partition, if it asks several partitions.
    pub(super) number: Option<u64>,
    pub(super) asker: Asker,
    pub(super) piece: Box<Piece<H>>,
}

/// The message that a partition has granted a transaction all locks that it asked for there.
#[derive(Debug)]
pub(super) struct Granted {
    pub(super) node: Arc<Node>,
    pub(super) attempt: Attempt,
    pub(super) by: PartitionId,
    pub(super) ticket: Ticket,
}

/// The message by which a transaction gives back its locks in a partition, or withdraws its requests there.
#[derive(Debug)]
pub(super) struct Finished<H> {
    pub(super) position: QueuePosition,
    /// The locks that the transaction asked for, if the partition does not know them.
    pub(super) piece: Option<Box<Piece<H>>>,
    /// The absent rows for which records may have been made, if the transaction takes its requests back.
    pub(super) absent: Vec<(TableId, Key)>,
}

/// A transaction's position in a partition's queue, as far as the transaction knows it.
#[derive(Clone, Debug)]
pub(super) enum QueuePosition {
    /// The transaction entered the queue by itself, under this ticket.
    Here(Ticket),
    /// The transaction asked to be entered. If this attempt is in the queue, its ticket is probably the guess.
    Perhaps { node: Arc<Node>, attempt: Attempt, guess: Ticket },
}

/// A message on its way, with the time at which it is due.
#[derive(Debug)]
struct Posted<H> {
    due: Time,
    message: Message<H>,
}

/// The number of messages that a ring holds. A full ring is no error: the mailbox takes what does not fit.
const RING: usize = if cfg!(shuttle) { 1 } else { 128 };

/// A partition's ends of the rings. The thread that has the partition's baton uses them.
#[derive(Debug)]
pub(super) struct Ports<H> {
    /// The rings to the other partitions, by partition. There is none to the partition itself.
    outgoing: Vec<Option<Producer<Posted<H>>>>,
    incoming: Vec<Incoming<H>>,
}

#[derive(Debug)]
struct Incoming<H> {
    ring: Consumer<Posted<H>>,
    /// The oldest message, if it was taken off its ring before it was due.
    next: Option<Posted<H>>,
}

/// Makes rings between all pairs of partitions, and returns the ports of each partition.
pub(super) fn connect<H>(partitions: usize) -> Vec<Ports<H>> {
    let ports = || Ports { outgoing: Vec::new(), incoming: Vec::new() };
    let mut all: Vec<_> = (0..partitions).map(|_| ports()).collect();
    for from in 0..partitions {
        for to in 0..partitions {
            let outgoing = (from != to).then(|| {
                let (producer, consumer) = ring::channel(RING);
                all[to].incoming.push(Incoming { ring: consumer, next: None });
                producer
            });
            all[from].outgoing.push(outgoing);
        }
    }
    all
}

impl<H> Ports<H> {
    /// Sends a message that is due at this time.
    ///
    /// # Errors
    /// The message itself if the ring is full.
    pub(super) fn send(&mut self, to: PartitionId, due: Time, message: Message<H>) -> Result<(), Message<H>> {
        let ring = self.outgoing[to.index()].as_mut().expect("a partition sends itself no messages");
        ring.try_push(Posted { due, message }).map_err(|posted| posted.message)
    }

    /// Takes a message that is due now, or returns `None` if there is none. `now` is called only if there is a message
    /// that has a time. Without `now` every message is due.
    pub(super) fn receive(&mut self, now: Option<impl Fn() -> Time>) -> Option<Message<H>> {
        let is_due = |posted: &mut Posted<H>| {
            posted.due == Time::default() || now.as_ref().is_none_or(|now| posted.due <= now())
        };
        let mut take = |incoming: &mut Incoming<H>| {
            if incoming.next.is_none() {
                incoming.next = incoming.ring.try_pop();
            }
            incoming.next.take_if(|posted| is_due(posted)).map(|posted| posted.message)
        };
        self.incoming.iter_mut().find_map(&mut take)
    }

    /// Returns the earliest time at which a message is due, of those that [`receive`](Self::receive) found too early,
    /// or `None` if it found none.
    pub(super) fn expected(&self) -> Option<Time> {
        self.incoming.iter().filter_map(|incoming| incoming.next.as_ref()).map(|posted| posted.due).min()
    }

    /// Whether there is a message on the rings, due or not.
    #[inline]
    pub(super) fn has_mail(&self) -> bool {
        self.incoming.iter().any(|incoming| incoming.next.is_some() || !incoming.ring.is_empty())
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    fn message(ticket: u64) -> Message<()> {
        Message::Finished(Finished { position: QueuePosition::Here(Ticket(ticket)), piece: None, absent: Vec::new() })
    }

    fn ticket(message: Message<()>) -> u64 {
        match message {
            Message::Finished(Finished { position: QueuePosition::Here(Ticket(ticket)), .. }) => ticket,
            other => panic!("{other:?} was never sent"),
        }
    }

    #[test]
    fn a_message_comes_when_it_is_due_and_not_before() {
        let mut ports = connect::<()>(3);
        let [first, second, third] = &mut ports[..] else { panic!("three were asked for") };
        first.send(PartitionId(2), Time(50), message(1)).expect("room");
        second.send(PartitionId(2), Time(40), message(2)).expect("room");
        first.send(PartitionId(2), Time(60), message(3)).expect("room");
        assert!(third.has_mail() && !first.has_mail() && third.expected().is_none());
        let mut receive = |now: u64| third.receive(Some(|| Time(now))).map(ticket);
        assert_eq!(
            [receive(39), receive(45), receive(45), receive(55), receive(55)],
            [None, Some(2), None, Some(1), None]
        );
        assert_eq!(third.expected(), Some(Time(60)));
        assert_eq!(third.receive(None::<fn() -> Time>).map(ticket), Some(3));
        assert!(!third.has_mail() && third.expected().is_none());
    }

    #[test]
    fn a_full_ring_gives_the_message_back() {
        let mut ports = connect::<()>(2);
        for at in 0..RING as u64 {
            ports[0].send(PartitionId(1), Time(0), message(at)).expect("room");
        }
        assert_eq!(ports[0].send(PartitionId(1), Time(0), message(7)).map_err(ticket), Err(7));
    }
}
