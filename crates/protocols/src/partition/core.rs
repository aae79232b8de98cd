//! The core of a partition: its queue, its locks and its messages. The thread that has the partition's baton works on
//! it.
//!
//! | paper (Fig. 3) | code |
//! | --- | --- |
//! | BeginTransaction, for a transaction of this thread | [`Core::begin`] |
//! | BeginTransaction, for another's | [`Core::enter`] |
//! | FinishTransaction, TxnQueue.Remove | [`Core::finish`] |
//! | "Send local reads to other participating nodes" | [`Core::tell`] |
//! | second choice: the front of the queue is blocked | [`Core::go_on`], by the transaction that has left it |
//! | SCA (§2.6), also while the front waits for a message (§3.3.1) | [`Core::analyse`] |

use super::id::{PartitionId, Ticket};
use super::locks::{Book, Exhausted, LockState};
use super::messages::{Enter, Finished, Granted, Message, Ports, QueuePosition};
use super::node::{Attempt, Node};
use super::piece::{Piece, PieceRef};
use super::queue::{Asker, Entry, State, TxnQueue};
use crate::shared::contention::Analysis;
use crate::shared::planned::{PlannedRow, Scene};
use crate::shared::range_locks::Counted;
use hotrow_storage::RecordRef;
use hotrow_sync::{Arc, Time, Waiter};
use hotrow_txn::Statistics;
use std::collections::VecDeque;
use std::time::Duration;

/// The number of empty pieces that are kept for the next transactions.
const SPARE: usize = 64;

/// The state of a partition: its queue, its locks and its messages. Only the thread that has the partition's baton, the
/// right to work on it, uses the core.
#[derive(Debug)]
pub(super) struct Core<L: LockState> {
    number: PartitionId,
    queue: TxnQueue<Locked<L>>,
    locks: L,
    /// The number of the transaction of several partitions that is let in next (see [`sequencer`](super::sequencer)).
    next: u64,
    /// Transactions that have come before their turn, from `next` on.
    early: VecDeque<Option<Enter<L::Header>>>,
    ports: Ports<L::Header>,
    delay: Duration,
    /// The contention analysis, if the engine does any.
    analysis: Option<Analysis>,
    /// Whether a transaction has left the queue since the last analysis that found nothing: only then can there be more
    /// to find.
    may_find: bool,
    #[expect(clippy::vec_box, reason = "messages carry them in their boxes")]
    spare: Vec<Box<Piece<L::Header>>>,
    /// The transactions that were granted their locks by a release: empty in between.
    granted: Vec<Ticket>,
}

/// The record that a partition keeps of a transaction in its queue.
#[derive(Debug)]
struct Locked<L: LockState> {
    owner: L::Owner,
    /// The locks that the transaction asked for. `None` if the transaction runs on the partition's own thread and got
    /// all of its locks at once.
    piece: Option<Box<Piece<L::Header>>>,
}

/// The context of a thread that works on a core: its epoch, its clock, its statistics, and the messages that it sends
/// afterwards.
pub(super) struct Caller<'c, L: LockState> {
    pub(super) scene: Scene<'c, L::Header>,
    /// The waiter of the thread, for its clock.
    pub(super) waiter: &'c Waiter,
    pub(super) statistics: &'c mut Statistics,
    /// Whether the thread has settled on the partition, so that it keeps the baton from call to call.
    pub(super) is_settled: bool,
    pub(super) outbox: &'c mut Outbox<L::Header>,
}

/// The wake-ups and messages that a thread collects while it works on a core, and sends after it has given the baton
/// back.
#[derive(Debug)]
pub(super) struct Outbox<H> {
    /// The transactions to wake, because all of their locks have been granted or one was refused.
    pub(super) wakes: Vec<Arc<Node>>,
    /// The partitions whose threads are to be woken, because messages were sent to them.
    pub(super) nudges: Vec<PartitionId>,
    /// The messages that did not fit into their rings, and go to the mailboxes of their partitions.
    pub(super) mail: Vec<(PartitionId, Message<H>)>,
    /// The number of *finished* messages on which the thread has acted.
    pub(super) finished: u64,
}

impl<H> Default for Outbox<H> {
    fn default() -> Self {
        Self { wakes: Vec::new(), nudges: Vec::new(), mail: Vec::new(), finished: 0 }
    }
}

impl<H> Outbox<H> {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.wakes.is_empty() && self.nudges.is_empty() && self.mail.is_empty() && self.finished == 0
    }
}

/// The place of a transaction that has entered a partition's queue, and whether it must wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) ticket: Ticket,
    /// The attempt that the transaction must wait for, if it is blocked.
    pub(super) blocked: Option<Attempt>,
}

impl<L: LockState> Core<L> {
    /// Makes a partition with an empty queue and no locks.
    pub(super) fn new(number: PartitionId, ports: Ports<L::Header>, delay: Duration, analyses: bool) -> Self {
        Self {
            number,
            queue: TxnQueue::default(),
            locks: L::default(),
            next: 0,
            early: VecDeque::new(),
            ports,
            delay,
            analysis: analyses.then(Analysis::default),
            may_find: false,
            spare: Vec::new(),
            granted: Vec::new(),
        }
    }

    /// Returns the number of transactions that are blocked in this partition.
    #[inline]
    pub(super) fn blocked(&self) -> usize {
        self.queue.blocked()
    }

    /// Returns the states of the transactions in the queue, from its front.
    #[cfg(all(test, not(shuttle)))]
    pub(super) fn states(&self) -> impl Iterator<Item = State> {
        self.queue.iter().map(|(_, entry)| entry.state)
    }

    /// Puts a transaction into the queue that asks this partition only and runs on the caller's thread, and asks for
    /// all of its locks. Fails if a counter has no room for a request. The transaction is not in the queue then.
    #[inline]
    pub(super) fn begin(
        &mut self,
        caller: &Caller<'_, L>,
        node: &Arc<Node>,
        rows: &mut Vec<PlannedRow<L::Header>>,
        prefixes: &[Counted],
    ) -> Result<Begun, Exhausted> {
        let wanted = PieceRef { rows: &mut *rows, prefixes };
        let behind_nobody = self.queue.is_empty();
        let (owner, granted) = self.locks.request(caller.scene, self.queue.next(), behind_nobody, wanted)?;
        if granted || (L::FRONT_IS_FREE && behind_nobody) {
            let piece = if caller.is_settled { None } else { Some(self.copy(rows, prefixes)) };
            let ticket = self.queue.push(Entry { state: State::Free, locks: Locked { owner, piece }, asker: None });
            return Ok(Begun { ticket, blocked: None });
        }
        let attempt = node.begin(1);
        let asker = Asker { node: node.clone(), attempt, home: None, is_distributed: false };
        let piece = Some(self.copy(rows, prefixes));
        let locks = Locked { owner, piece };
        let ticket = self.queue.push(Entry { state: State::Blocked, locks, asker: Some(asker) });
        Ok(Begun { ticket, blocked: Some(attempt) })
    }

    /// Copies a transaction's requests, for the transactions that may have to know them.
    #[cold]
    fn copy(&mut self, rows: &[PlannedRow<L::Header>], prefixes: &[Counted]) -> Box<Piece<L::Header>> {
        let mut piece = self.spare_piece();
        piece.rows.extend_from_slice(rows);
        piece.prefixes.extend_from_slice(prefixes);
        piece
    }

    /// Returns an empty piece, one that was used before if there is one.
    pub(super) fn spare_piece(&mut self) -> Box<Piece<L::Header>> {
        self.spare.pop().unwrap_or_default()
    }

    fn spare(&mut self, mut piece: Box<Piece<L::Header>>) {
        if self.spare.len() < SPARE {
            piece.clear();
            self.spare.push(piece);
        }
    }

    /// Puts a transaction into the queue and asks for its locks. A transaction with a number is put there after the
    /// transactions with lower numbers, and stored until these have come.
    pub(super) fn enter(&mut self, caller: &mut Caller<'_, L>, enter: Enter<L::Header>) {
        let Some(number) = enter.number else {
            return self.let_in(caller, enter);
        };
        debug_assert!(number >= self.next, "each number is drawn once");
        let position = (number - self.next) as usize;
        if position >= self.early.len() {
            self.early.resize_with(position + 1, || None);
        }
        self.early[position] = Some(enter);
        while let Some(Some(_)) = self.early.front() {
            let enter = self.early.pop_front().flatten().expect("looked at a moment ago");
            self.next += 1;
            self.let_in(caller, enter);
        }
    }

    /// Puts a transaction into the queue and asks for its locks (BeginTransaction). If it has all of them, it is told
    /// so ("Send local reads").
    fn let_in(&mut self, caller: &mut Caller<'_, L>, mut enter: Enter<L::Header>) {
        let Asker { node, attempt, .. } = enter.asker.clone();
        let (ticket, behind_nobody) = (self.queue.next(), self.queue.is_empty());
        let requested = node
            .while_asking(attempt, || self.locks.request(caller.scene, ticket, behind_nobody, enter.piece.wanted()));
        match requested {
            // It was withdrawn: it asks for nothing any more.
            None => self.spare(enter.piece),
            // That takes no message, and no time: it is too rare to study.
            Some(Err(Exhausted)) => {
                self.spare(enter.piece);
                node.refuse(attempt);
                caller.outbox.wakes.push(node);
            }
            Some(Ok((owner, granted))) => {
                let locks = Locked { owner, piece: Some(enter.piece) };
                self.queue.push(Entry { state: State::Blocked, locks, asker: Some(enter.asker) });
                if granted || (L::FRONT_IS_FREE && behind_nobody) {
                    self.tell(caller, ticket);
                }
            }
        }
    }

    /// Tells a blocked transaction that it is not blocked any more.
    fn tell(&mut self, caller: &mut Caller<'_, L>, ticket: Ticket) {
        let Some(asker) = self.queue.unblock(ticket) else { return };
        let home = asker.home.filter(|&home| caller.is_settled && home != self.number);
        let Some(home) = home else {
            if asker.node.grant(asker.attempt, self.number, ticket) {
                caller.outbox.wakes.push(asker.node.clone());
            }
            return;
        };
        let granted = Granted { node: asker.node.clone(), attempt: asker.attempt, by: self.number, ticket };
        self.send(caller, home, Message::Granted(granted));
    }

    /// Sends a message to another partition on which a thread has settled. The caller has settled on this one.
    pub(super) fn send(&mut self, caller: &mut Caller<'_, L>, to: PartitionId, message: Message<L::Header>) {
        let due = if self.delay.is_zero() { Time::default() } else { caller.waiter.now().after(self.delay) };
        caller.statistics.messages += 1;
        match self.ports.send(to, due, message) {
            Ok(()) => caller.outbox.nudges.push(to),
            Err(message) => caller.outbox.mail.push((to, message)),
        }
    }

    /// Acts on all messages that are due. If the caller has not settled on this partition, it acts on all messages, due
    /// or not. Returns whether there were any.
    pub(super) fn receive(&mut self, caller: &mut Caller<'_, L>) -> bool {
        let waiter = caller.waiter;
        let now = caller.is_settled.then_some(|| waiter.now());
        let mut received = false;
        while let Some(message) = self.ports.receive(now) {
            received = true;
            self.act(caller, message);
        }
        received
    }

    /// Acts on a message: puts a transaction into the queue, notes a grant, or takes a transaction out of the queue.
    pub(super) fn act(&mut self, caller: &mut Caller<'_, L>, message: Message<L::Header>) {
        match message {
            Message::Enter(enter) => self.enter(caller, enter),
            Message::Granted(Granted { node, attempt, by, ticket }) => {
                if node.grant(attempt, by, ticket) {
                    caller.outbox.wakes.push(node);
                }
            }
            Message::Finished(finished) => {
                self.finish_other(caller, finished);
                caller.outbox.finished += 1;
            }
        }
    }

    /// Whether there are messages on the rings, due or not.
    #[inline]
    pub(super) fn has_mail(&self) -> bool {
        self.ports.has_mail()
    }

    /// Returns the time at which the next message is due, if there is one that is not due yet.
    pub(super) fn expected(&self) -> Option<Time> {
        self.ports.expected()
    }

    /// Takes a transaction out of the queue that asked this partition only, because it has ended or gives its requests
    /// up, and releases its locks (FinishTransaction). Transactions that this unblocks are woken.
    #[inline]
    pub(super) fn finish(
        &mut self,
        caller: &mut Caller<'_, L>,
        ticket: Ticket,
        rows: &mut Vec<PlannedRow<L::Header>>,
        prefixes: &[Counted],
    ) {
        let entry = self.queue.remove(ticket).expect("who finishes is in the queue");
        self.locks.release(caller.scene, entry.locks.owner, PieceRef { rows, prefixes }, &mut self.granted);
        if let Some(piece) = entry.locks.piece {
            self.spare(piece);
        }
        if !self.queue.is_empty() {
            self.go_on(caller);
        }
    }

    /// Takes a transaction out of the queue that runs on another thread, or asked several partitions, and releases its
    /// locks. If the transaction is not in the queue, it was withdrawn before it was let in, and only the records that
    /// were made for it are removed.
    pub(super) fn finish_other(&mut self, caller: &mut Caller<'_, L>, finished: Finished<L::Header>) {
        let Finished { position, piece, absent } = finished;
        let Some(ticket) = self.find(&position) else {
            return self.locks.forget(caller.scene, &absent);
        };
        let entry = self.queue.remove(ticket).expect("found a moment ago");
        let mut piece = piece.or(entry.locks.piece).expect("what was asked for is known to one of the two");
        self.locks.release(caller.scene, entry.locks.owner, piece.wanted(), &mut self.granted);
        self.spare(piece);
        self.go_on(caller);
    }

    fn find(&self, position: &QueuePosition) -> Option<Ticket> {
        match position {
            QueuePosition::Here(ticket) => Some(*ticket),
            QueuePosition::Perhaps { node, attempt, guess } => self.queue.find(node, *attempt, *guess),
        }
    }

    /// Lets the queue go on after a transaction has left it: other transactions may now have all that they asked for.
    fn go_on(&mut self, caller: &mut Caller<'_, L>) {
        let mut granted = std::mem::take(&mut self.granted);
        granted.drain(..).for_each(|ticket| self.tell(caller, ticket));
        self.granted = granted;
        if let Some((front, State::Blocked)) = self.queue.front()
            && L::FRONT_IS_FREE
        {
            self.tell(caller, front);
        }
        self.may_find = true;
        // A thread that has not settled does not come back when it is idle; the other waiting transactions are idle
        // now.
        while !caller.is_settled && self.analyse(caller) {}
    }

    /// Looks for a blocked transaction that conflicts with none before it in the queue, and wakes it (SCA). Returns
    /// whether there was one.
    pub(super) fn analyse(&mut self, caller: &mut Caller<'_, L>) -> bool {
        let Some(analysis) = self.analysis.as_mut().filter(|_| self.may_find && self.queue.blocked() > 0) else {
            return false;
        };
        let before = analysis.counts();
        // Behind a transaction whose locks are not known, no transaction can be found.
        let known = self.queue.iter().map_while(|(ticket, entry)| {
            let piece = entry.locks.piece.as_ref()?;
            Some((ticket, entry.state == State::Blocked, piece.marks()))
        });
        let found = analysis.find(known);
        caller.statistics.analyses.add(&analysis.counts().since(&before));
        self.may_find = found.is_some();
        found.inspect(|&ticket| self.tell(caller, ticket)).is_some()
    }

    /// Puts a transaction that runs already, and is not in the queue, there with the locks that `add` adds. Returns its
    /// ticket, or `None` if `add` adds nothing, or if the transaction would have to wait.
    pub(super) fn join(&mut self, add: impl FnOnce(&mut Self, &QueuePosition) -> bool) -> Option<Ticket> {
        let owner = self.locks.join(self.queue.next(), self.queue.is_empty())?;
        let piece = Some(self.spare_piece());
        let ticket = self.queue.push(Entry { state: State::Free, locks: Locked { owner, piece }, asker: None });
        if add(self, &QueuePosition::Here(ticket)) {
            return Some(ticket);
        }
        let Locked { owner, piece } = self.queue.remove(ticket).expect("it has just entered").locks;
        self.locks.part(owner);
        piece.into_iter().for_each(|piece| self.spare(piece));
        None
    }

    /// Locks one more row for a transaction that is in the queue, without waiting. Returns whether the row was locked.
    pub(super) fn add_row(
        &mut self,
        scene: Scene<'_, L::Header>,
        position: &QueuePosition,
        row: &mut PlannedRow<L::Header>,
    ) -> bool {
        let Some(locked) = self.find(position).and_then(|ticket| self.queue.locks_mut(ticket)) else { return false };
        let added = self.locks.add_row(scene, locked.owner, row);
        if let Some(piece) = locked.piece.as_mut().filter(|_| added) {
            piece.rows.push(*row);
        }
        added
    }

    /// Locks more prefixes for a transaction that is in the queue. `held` are the prefixes that the transaction has
    /// locked already; they are ignored if the partition has a list of its locks. Returns whether the prefixes were
    /// locked.
    pub(super) fn add_prefixes(&mut self, position: &QueuePosition, held: &[Counted], wanted: &[Counted]) -> bool {
        let Some(locked) = self.find(position).and_then(|ticket| self.queue.locks_mut(ticket)) else { return false };
        let held = locked.piece.as_ref().map_or(held, |piece| &piece.prefixes);
        let added = self.locks.add_prefixes(locked.owner, held, wanted);
        if let Some(piece) = locked.piece.as_mut().filter(|_| added) {
            piece.prefixes.extend_from_slice(wanted);
        }
        added
    }

    /// Whether no transaction can be writing a record of this partition, so that the record may be read without a lock
    /// while the caller has the baton.
    pub(super) fn is_quiet(&self, name: u64, record: RecordRef<'_, L::Header>) -> bool {
        self.locks.is_quiet(self.queue.is_empty(), name, record)
    }

    /// Checks the invariants, while no transaction is in the middle of a step, and adds the requests of the
    /// transactions in the queue to `books`. Returns whether every transaction that is on its way has been let in.
    pub(super) fn audit(&self, books: &mut Vec<Book>) -> Result<bool, String> {
        self.queue.audit()?;
        if let Some((Ticket(front), State::Blocked)) = self.queue.front() {
            return Err(format!("the front of the queue, ticket {front}, is blocked"));
        }
        if let Some(Some(_)) = self.early.front() {
            return Err(format!("number {} has come and was not let in", self.next));
        }
        let first = books.len();
        for (Ticket(ticket), entry) in self.queue.iter() {
            let piece = entry.locks.piece.as_ref().ok_or_else(|| format!("nothing is known of ticket {ticket}"))?;
            let rows = piece.rows.iter().map(|row| (row.name, row.intent)).collect();
            books.push(Book { runs: entry.state != State::Blocked, rows, prefixes: piece.prefixes.clone() });
        }
        self.locks.audit(&books[first..])?;
        Ok(self.early.is_empty())
    }
}
