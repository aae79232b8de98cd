//! The queue of a partition's transactions, in the order in which they asked for their locks.
//!
//! One thread at a time works on it: the one that has the partition's baton. So it has no latch, and states change by
//! assignment.
//!
//! | state (§2.3) | the transaction |
//! | --- | --- |
//! | free | has its locks, and runs |
//! | blocked | lacks some |
//! | waiting | has its locks here, and is not this partition's alone: it waits for others, or runs elsewhere |

use super::id::{PartitionId, Ticket};
use super::node::{Attempt, Node};
use hotrow_sync::Arc;
use std::collections::VecDeque;

/// The state of a transaction in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Free,
    Blocked,
    Waiting,
}

/// The transaction that waits for its locks, and the way in which it is told that they are granted.
#[derive(Clone, Debug)]
pub(super) struct Asker {
    pub(super) node: Arc<Node>,
    pub(super) attempt: Attempt,
    /// The partition whose thread runs the transaction, or `None` if it runs on a thread that has settled on no
    /// partition.
    pub(super) home: Option<PartitionId>,
    /// Whether the transaction asks other partitions too, or runs elsewhere.
    pub(super) is_distributed: bool,
}

/// A transaction in the queue, with the data that `L` keeps for it.
#[derive(Debug)]
pub(super) struct Entry<L> {
    pub(super) state: State,
    pub(super) locks: L,
    /// The transaction to tell when its locks are granted, or `None` if they were granted at once.
    pub(super) asker: Option<Asker>,
}

/// The queue of a partition (TxnQueue).
#[derive(Debug)]
pub(super) struct TxnQueue<L> {
    /// The ticket of the first entry.
    first: u64,
    /// The transactions from the first on, in order. A hole is a transaction that has left; the first entry is never a
    /// hole.
    entries: VecDeque<Option<Entry<L>>>,
    blocked: usize,
    present: usize,
}

impl<L> Default for TxnQueue<L> {
    fn default() -> Self {
        Self { first: 0, entries: VecDeque::new(), blocked: 0, present: 0 }
    }
}

impl<L> TxnQueue<L> {
    /// Whether the queue is empty.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// Returns the number of blocked transactions in the queue.
    #[inline]
    pub(super) fn blocked(&self) -> usize {
        self.blocked
    }

    /// Returns the ticket of the transaction that enters next.
    #[inline]
    pub(super) fn next(&self) -> Ticket {
        Ticket(self.first + self.entries.len() as u64)
    }

    /// Adds an entry at the end, and returns its ticket.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry<L>) -> Ticket {
        let ticket = self.next();
        self.blocked += usize::from(entry.state == State::Blocked);
        self.present += 1;
        self.entries.push_back(Some(entry));
        ticket
    }

    /// Removes the entry with this ticket, wherever it stands, and returns it, or `None` if it is not there.
    #[inline]
    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<Entry<L>> {
        let position = self.position(ticket)?;
        let entry = self.entries[position].take()?;
        self.blocked -= usize::from(entry.state == State::Blocked);
        self.present -= 1;
        while let Some(None) = self.entries.front() {
            self.entries.pop_front();
            self.first += 1;
        }
        Some(entry)
    }

    /// Returns the entry with this ticket, if it is in the queue.
    #[inline]
    pub(super) fn get(&self, ticket: Ticket) -> Option<&Entry<L>> {
        self.entries.get(self.position(ticket)?)?.as_ref()
    }

    /// Returns the locks of the entry with this ticket, to be changed.
    #[inline]
    pub(super) fn locks_mut(&mut self, ticket: Ticket) -> Option<&mut L> {
        let position = self.position(ticket)?;
        self.entries.get_mut(position)?.as_mut().map(|entry| &mut entry.locks)
    }

    /// Returns the ticket of an attempt, or `None` if the attempt is not in the queue. If the entry at `guess` is
    /// another one, all entries are searched.
    pub(super) fn find(&self, node: &Arc<Node>, attempt: Attempt, guess: Ticket) -> Option<Ticket> {
        let is_it = |entry: &Entry<L>| {
            entry.asker.as_ref().is_some_and(|asker| asker.attempt == attempt && Arc::ptr_eq(&asker.node, node))
        };
        if self.get(guess).is_some_and(is_it) {
            return Some(guess);
        }
        self.iter().find(|(_, entry)| is_it(entry)).map(|(ticket, _)| ticket)
    }

    /// Notes that a blocked transaction has its locks now, and returns the transaction to tell. Returns `None` if the
    /// transaction is not blocked, or not in the queue.
    pub(super) fn unblock(&mut self, ticket: Ticket) -> Option<&Asker> {
        let position = self.position(ticket)?;
        let entry = self.entries.get_mut(position)?.as_mut().filter(|entry| entry.state == State::Blocked)?;
        let asker = entry.asker.as_ref().expect("who is blocked is told when it is not any more");
        entry.state = if asker.is_distributed { State::Waiting } else { State::Free };
        self.blocked -= 1;
        Some(asker)
    }

    /// Returns the ticket and the state of the first entry, if there is one.
    #[inline]
    pub(super) fn front(&self) -> Option<(Ticket, State)> {
        let entry = self.entries.front()?.as_ref().expect("the first entry is no hole");
        Some((Ticket(self.first), entry.state))
    }

    /// Returns all entries with their tickets, from the front.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Ticket, &Entry<L>)> {
        let numbered = self.entries.iter().enumerate();
        numbered.filter_map(|(position, entry)| Some((Ticket(self.first + position as u64), entry.as_ref()?)))
    }

    #[inline]
    fn position(&self, ticket: Ticket) -> Option<usize> {
        // A guess may be anything.
        usize::try_from(ticket.0.checked_sub(self.first)?).ok().filter(|&position| position < self.entries.len())
    }

    /// Checks that the numbers of transactions and of blocked transactions in the queue are counted correctly.
    pub(super) fn audit(&self) -> Result<(), String> {
        let blocked = self.iter().filter(|(_, entry)| entry.state == State::Blocked).count();
        let present = self.iter().count();
        if (blocked, present) != (self.blocked, self.present) {
            return Err(format!(
                "{present} transactions are in the queue, {blocked} blocked; {} and {} are counted",
                self.present, self.blocked
            ));
        }
        Ok(())
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use hotrow_sync::Waiter;
    use std::time::Duration;

    fn entry(state: State, name: char) -> Entry<char> {
        let node = Node::new(1, Waiter::thread(Duration::ZERO));
        let attempt = node.begin(1);
        Entry { state, locks: name, asker: Some(Asker { node, attempt, home: None, is_distributed: name == 'W' }) }
    }

    fn check(queue: &TxnQueue<char>, expected: &str) {
        let state = |state| match state {
            State::Free => "free",
            State::Blocked => "blocked",
            State::Waiting => "waiting",
        };
        let shown: Vec<_> = queue.iter().map(|(_, entry)| format!("{} {}", entry.locks, state(entry.state))).collect();
        assert_eq!(shown.join(", "), expected);
        assert_eq!(queue.audit(), Ok(()));
    }

    #[test]
    fn one_leaves_from_anywhere_and_the_next_comes_to_the_front() {
        let mut queue = TxnQueue::default();
        let tickets: Vec<_> = ['A', 'B', 'C', 'W']
            .map(|name| queue.push(entry(if name == 'A' { State::Free } else { State::Blocked }, name)))
            .into();
        check(&queue, "A free, B blocked, C blocked, W blocked");
        assert!(queue.remove(tickets[1]).is_some() && queue.remove(tickets[1]).is_none());
        assert_eq!(queue.front(), Some((tickets[0], State::Free)));
        assert!(queue.remove(tickets[0]).is_some());
        assert_eq!(queue.front(), Some((tickets[2], State::Blocked)));
        assert!(queue.unblock(tickets[2]).is_some() && queue.unblock(tickets[2]).is_none());
        assert!(queue.unblock(tickets[3]).is_some() && queue.unblock(tickets[0]).is_none());
        check(&queue, "C free, W waiting");
        let asker = queue.get(tickets[3]).and_then(|entry| entry.asker.clone()).expect("in the queue");
        for guess in [tickets[0], tickets[2], tickets[3], Ticket(77), Ticket(u64::MAX)] {
            assert_eq!(queue.find(&asker.node, asker.attempt, guess), Some(tickets[3]));
        }
        assert!(queue.remove(tickets[3]).is_some());
        assert_eq!(queue.find(&asker.node, asker.attempt, tickets[3]), None);
        assert!(queue.remove(tickets[2]).is_some() && queue.is_empty() && queue.front().is_none());
        assert_eq!(queue.push(entry(State::Free, 'D')), Ticket(4), "a ticket is given once");
    }
}
