//! The partitions of one database, side by side.
//!
//! **Invariants**
//!
//! 1. A thread has the baton of one partition at a time, so there is no cycle of waits for batons. Messages of a
//!    partition to others are kept ([`Outbox`]) until its baton is given back.
//! 2. *No message is forgotten.* A thread that sends one fences, and then looks whether the partition's thread is still
//!    there: if it is, it wakes it, and otherwise takes the baton and acts on the message itself. A thread that leaves
//!    gives the baton up, fences, and then looks for messages. One of the two comes after the other, and finds it.
//! 3. A thread that takes a baton for a moment first acts on all messages that have come, due or not.

use super::core::{Caller, Core, Outbox};
use super::id::PartitionId;
use super::locks::LockState;
use super::messages::{Message, connect};
use super::node::Node;
use super::sequencer::Sequencer;
use crate::shared::mailbox::Mailbox;
use crate::shared::planned::Scene;
use hotrow_sync::atomic::{AtomicU64, Ordering, fence};
use hotrow_sync::baton::Settled;
use hotrow_sync::{Arc, Baton, CachePadded, Latch, Mutex, Waiter, Wake};
use hotrow_txn::Statistics;
use std::time::Duration;

/// All partitions of a database, which all threads share.
#[derive(Debug)]
pub(super) struct Partitions<L: LockState> {
    all: Box<[Partition<L>]>,
    pub(super) sequencer: Sequencer,
    /// The number of *finished* messages on their way.
    unfinished: AtomicU64,
    /// The waiter of the transaction that waits until there are none.
    alone: Mutex<Option<Waiter>>,
}

#[derive(Debug)]
struct Partition<L: LockState> {
    baton: CachePadded<Baton<Core<L>>>,
    mailbox: Mailbox<Message<L::Header>>,
    /// The waiter of the thread that has settled on the partition.
    worker: Latch<Option<Waiter>>,
}

/// The context of a thread that works on partitions, one after the other.
pub(super) struct Visitor<'v, L: LockState> {
    pub(super) scene: Scene<'v, L::Header>,
    pub(super) waiter: &'v Waiter,
    pub(super) statistics: &'v mut Statistics,
    /// The messages and wake-ups to send. It is empty between two visits.
    pub(super) outbox: &'v mut Outbox<L::Header>,
    /// The visitor's own transaction, which need not be woken.
    pub(super) own: Option<&'v Arc<Node>>,
}

impl<L: LockState> Partitions<L> {
    /// Makes `partitions` empty partitions. Each message between their threads is delayed by `delay`. With `analyses`,
    /// blocked transactions that can run are looked for (SCA).
    pub(super) fn new(partitions: usize, delay: Duration, analyses: bool) -> Arc<Self> {
        let partition = |(number, ports)| {
            let core = Core::new(PartitionId(number as u16), ports, delay, analyses);
            Partition { baton: CachePadded(Baton::new(core)), mailbox: Mailbox::default(), worker: Latch::new(None) }
        };
        Arc::new(Self {
            all: connect(partitions).into_iter().enumerate().map(partition).collect(),
            sequencer: Sequencer::new(partitions),
            unfinished: AtomicU64::new(0),
            alone: Mutex::new(None),
        })
    }

    /// Returns the number of partitions.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether the calling thread has settled on this partition, so that no other thread works on it.
    #[inline]
    pub(super) fn is_mine(&self, partition: PartitionId) -> bool {
        self.at(partition).baton.is_mine()
    }

    /// Calls `work` with a partition on which the calling thread has settled, or no thread has. If no thread has, the
    /// messages of the partition are acted upon first.
    ///
    /// # Errors
    /// Fails if another thread has settled on the partition.
    #[inline]
    pub(super) fn with<R>(
        &self,
        partition: PartitionId,
        visitor: &mut Visitor<'_, L>,
        work: impl FnOnce(&mut Core<L>, &mut Caller<'_, L>) -> R,
    ) -> Result<R, Settled> {
        let Partition { baton, mailbox, .. } = self.at(partition);
        let mut core = baton.0.take()?;
        let is_settled = core.is_settled();
        let Visitor { scene, waiter, .. } = *visitor;
        let (statistics, outbox) = (&mut *visitor.statistics, &mut *visitor.outbox);
        let mut caller = Caller { scene, waiter, statistics, is_settled, outbox };
        if !is_settled {
            receive(mailbox, &mut core, &mut caller);
        }
        let result = work(&mut core, &mut caller);
        drop(core);
        if !visitor.outbox.is_empty() {
            self.attend(visitor);
        }
        Ok(result)
    }

    /// Calls `work` with a partition on which the calling thread has settled, or no thread has. The messages of the
    /// partition are not acted upon, and `work` sends none.
    ///
    /// # Errors
    /// Fails if another thread has settled on the partition.
    pub(super) fn touch<R>(&self, partition: PartitionId, work: impl FnOnce(&mut Core<L>) -> R) -> Result<R, Settled> {
        self.at(partition).baton.0.take().map(|mut core| work(&mut core))
    }

    /// Sends a message to a partition on which another thread has settled: over a ring if the calling thread has
    /// settled on `home`, and otherwise through the partition's mailbox.
    pub(super) fn send(
        &self,
        visitor: &mut Visitor<'_, L>,
        home: Option<PartitionId>,
        to: PartitionId,
        message: Message<L::Header>,
    ) {
        if let Message::Finished(_) = message {
            self.unfinished.fetch_add(1, Ordering::AcqRel);
        }
        match home.filter(|&home| home != to && self.is_mine(home)) {
            Some(home) => {
                let sent = self.with(home, visitor, |core, caller| core.send(caller, to, message));
                sent.expect("the calling thread has settled there");
            }
            None => {
                visitor.statistics.messages += 1;
                visitor.outbox.mail.push((to, message));
                self.attend(visitor);
            }
        }
    }

    /// Does what is left to do after a baton has been given back, wake-ups, nudges and messages, until nothing is left.
    #[cold]
    fn attend(&self, visitor: &mut Visitor<'_, L>) {
        while !visitor.outbox.is_empty() {
            let Outbox { wakes, nudges, mail, finished } = std::mem::take(visitor.outbox);
            self.acted(finished);
            let others = wakes.iter().filter(|node| visitor.own.is_none_or(|own| !Arc::ptr_eq(own, node)));
            others.for_each(|node| node.waiter().wake());
            let mut nudges = nudges;
            for (to, message) in mail {
                self.at(to).mailbox.put(message);
                nudges.push(to);
            }
            nudges.into_iter().for_each(|to| self.nudge(to, visitor));
        }
    }

    /// Makes sure that some thread acts on a message that was put where `to` finds it.
    fn nudge(&self, to: PartitionId, visitor: &mut Visitor<'_, L>) {
        // SeqCst: the sender's fence of invariant 2, between the message and the look at the baton.
        fence(Ordering::SeqCst);
        let Partition { baton, mailbox, worker } = self.at(to);
        let Ok(mut core) = baton.0.take() else {
            let worker = worker.lock().clone();
            return worker.iter().for_each(Waiter::wake);
        };
        let Visitor { scene, waiter, .. } = *visitor;
        let (statistics, outbox) = (&mut *visitor.statistics, &mut *visitor.outbox);
        let is_settled = core.is_settled();
        receive(mailbox, &mut core, &mut Caller { scene, waiter, statistics, is_settled, outbox });
    }

    /// Counts *finished* messages that were acted upon.
    fn acted(&self, finished: u64) {
        if finished > 0 && self.unfinished.fetch_sub(finished, Ordering::AcqRel) == finished {
            let alone = self.alone.lock().unwrap_or_else(|poison| poison.into_inner());
            alone.iter().for_each(Waiter::wake);
        }
    }

    /// Waits until partitions have acted on the messages of transactions that are over. One caller at a time may call
    /// this, while no transaction is in the database. The threads of the partitions act on the messages by themselves.
    /// `limit` bounds the wait if such a thread does not get to run.
    pub(super) fn settle_down(&self, waiter: &Waiter, limit: Duration, statistics: &mut Statistics) -> Wake {
        if self.unfinished.load(Ordering::Acquire) == 0 {
            return Wake::Ready;
        }
        let set = |alone| *self.alone.lock().unwrap_or_else(|poison| poison.into_inner()) = alone;
        set(Some(waiter.clone()));
        let start = waiter.now();
        let wake = waiter.wait_until(Some(start.after(limit)), || self.unfinished.load(Ordering::Acquire) == 0);
        statistics.waits += 1;
        statistics.wait_ns += waiter.now().since(start).as_nanos() as u64;
        set(None);
        wake
    }

    /// Settles the calling thread on a partition. The thread waits through `waiter` when it has nothing to do. Returns
    /// whether it has settled: another thread may have settled there before.
    pub(super) fn settle(&self, partition: PartitionId, waiter: &Waiter) -> bool {
        let Partition { baton, worker, .. } = self.at(partition);
        let settled = baton.0.settle();
        if settled {
            *worker.lock() = Some(waiter.clone());
        }
        settled
    }

    /// Ends the calling thread's stay on the partition that it has [settled](Self::settle) on. From now on any thread
    /// that needs the partition works on it.
    pub(super) fn leave(&self, partition: PartitionId, visitor: &mut Visitor<'_, L>) {
        if !self.at(partition).baton.0.leave() {
            return;
        }
        // SeqCst: the leaver's fence of invariant 2, between the baton and the look at the messages.
        fence(Ordering::SeqCst);
        // If another thread has settled meanwhile it looks by itself.
        let _ = self.with(partition, visitor, |_, _| ());
    }

    /// Acts on the messages that are due in a partition. Returns whether there were any.
    ///
    /// # Panics
    /// Panics if another thread has settled on the partition.
    pub(super) fn receive(&self, partition: PartitionId, visitor: &mut Visitor<'_, L>) -> bool {
        let mailbox = &self.at(partition).mailbox;
        let received = self.with(partition, visitor, |core, caller| receive(mailbox, core, caller));
        received.expect("the calling thread has settled there")
    }

    /// Whether there are messages in a partition's mailbox, where threads leave them that have settled on no partition.
    #[inline]
    pub(super) fn has_mail(&self, partition: PartitionId) -> bool {
        self.at(partition).mailbox.is_full()
    }

    /// Checks the invariants, while no other thread has settled on a partition. `is_shared` says that no transaction
    /// has the database alone.
    pub(super) fn audit(&self, visitor: &mut Visitor<'_, L>, is_shared: bool) -> Result<(), String> {
        let (mut books, mut is_all_counted) = (Vec::new(), is_shared);
        for number in 0..self.len() {
            let audited = self.with(PartitionId(number as u16), visitor, |core, _| core.audit(&mut books));
            match audited {
                Ok(Ok(is_quiet)) => is_all_counted &= is_quiet,
                Ok(Err(error)) => return Err(format!("partition {number}: {error}")),
                // The thread's state is not known here.
                Err(Settled) => return Ok(()),
            }
        }
        L::audit_records(visitor.scene, &books, is_all_counted)
    }

    #[inline]
    fn at(&self, partition: PartitionId) -> &Partition<L> {
        &self.all[partition.index()]
    }
}

/// Acts on all messages of a partition that are due. Returns whether there were any.
fn receive<L: LockState>(
    mailbox: &Mailbox<Message<L::Header>>,
    core: &mut Core<L>,
    caller: &mut Caller<'_, L>,
) -> bool {
    let has_mail = mailbox.is_full();
    if has_mail {
        mailbox.take().into_iter().for_each(|message| core.act(caller, message));
    }
    core.receive(caller) || has_mail
}
