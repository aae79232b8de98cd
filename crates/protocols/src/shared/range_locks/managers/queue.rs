//! The queue of all transactions that have requested something, in the order of their requests: the paper's TxnQueue.

use super::manager::TxnNumber;

/// The number that stands for no transaction.
const NOBODY: TxnNumber = TxnNumber::MAX;

/// The state of a transaction in the queue: whether it has its locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The transaction is not in the queue.
    Away,
    /// The transaction was granted its locks.
    Free,
    /// The transaction was refused its locks when it requested them, and the manager has not noticed since that it
    /// could grant them.
    Blocked,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    before: TxnNumber,
    behind: TxnNumber,
    state: State,
}

const AWAY: Place = Place { before: NOBODY, behind: NOBODY, state: State::Away };

/// The queue of transactions, as a doubly linked list. A transaction can leave from any place of the queue at constant
/// cost.
#[derive(Debug)]
pub(super) struct TxnQueue {
    places: Vec<Place>,
    front: TxnNumber,
    back: TxnNumber,
}

impl Default for TxnQueue {
    fn default() -> Self {
        Self { places: Vec::new(), front: NOBODY, back: NOBODY }
    }
}

impl TxnQueue {
    /// Adds a transaction at the end (TxnQueue.Enqueue).
    #[inline]
    pub(super) fn enqueue(&mut self, txn: TxnNumber, is_free: bool) {
        if self.places.len() <= txn as usize {
            self.places.resize(txn as usize + 1, AWAY);
        }
        debug_assert_eq!(self.places[txn as usize].state, State::Away, "transaction {txn} is in the queue");
        let state = if is_free { State::Free } else { State::Blocked };
        self.places[txn as usize] = Place { before: self.back, behind: NOBODY, state };
        match self.back {
            NOBODY => self.front = txn,
            back => self.places[back as usize].behind = txn,
        }
        self.back = txn;
    }

    /// Removes a transaction (TxnQueue.Remove). If the front is a blocked transaction now, it becomes free, as all
    /// requests before it are gone, and is returned.
    #[inline]
    pub(super) fn remove(&mut self, txn: TxnNumber) -> Option<TxnNumber> {
        let Place { before, behind, state } = std::mem::replace(&mut self.places[txn as usize], AWAY);
        debug_assert_eq!(state, State::Free, "transaction {txn} ends");
        match before {
            NOBODY => self.front = behind,
            before => self.places[before as usize].behind = behind,
        }
        match behind {
            NOBODY => self.back = before,
            behind => self.places[behind as usize].before = before,
        }
        let front = self.places.get_mut(self.front as usize).filter(|front| front.state == State::Blocked)?;
        front.state = State::Free;
        Some(self.front)
    }

    /// Notes that a blocked transaction was found to conflict with none before it.
    pub(super) fn unblock(&mut self, txn: TxnNumber) {
        debug_assert_eq!(self.places[txn as usize].state, State::Blocked);
        self.places[txn as usize].state = State::Free;
    }

    /// Returns all transactions from the front, and whether they are blocked.
    pub(super) fn iter(&self) -> impl Iterator<Item = (TxnNumber, bool)> {
        let here = |txn: TxnNumber| (txn != NOBODY).then_some(txn);
        let next = move |&txn: &TxnNumber| here(self.places[txn as usize].behind);
        std::iter::successors(here(self.front), next)
            .map(|txn| (txn, self.places[txn as usize].state == State::Blocked))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.front == NOBODY
    }
}
