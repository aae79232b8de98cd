//! The connections that are ready to be served by a worker, and their order.
//!
//! A client in the middle of a transaction has locks, and other sessions wait for these from one of its requests to the
//! next. So a worker looks at the connections in a transaction first. Of the others it looks at a few in a turn; then
//! it asks the system what has come, and connections in a transaction come first again. Each turn has some of the
//! others, so no connection waits for ever, however many transactions there are.

use std::collections::VecDeque;

/// How many connections without a transaction are looked at in one turn. Asking the system what has come costs about a
/// tenth of a short request.
const OTHERS: usize = 16;

/// The queue of ready connections: of those that may have something to do, by their numbers. It serves connections in a
/// transaction before others.
#[derive(Debug, Default)]
pub struct Ready {
    in_transaction: VecDeque<usize>,
    others: VecDeque<usize>,
}

/// A turn: one pass over the ready connections. It counts the connections that are left, in a transaction and not.
#[derive(Debug)]
pub struct Turn {
    in_transaction: usize,
    others: usize,
}

impl Ready {
    /// Adds a connection, which must not be in the queue. `in_transaction` says whether other sessions may be waiting
    /// for it, so that it is served first.
    pub fn push(&mut self, number: usize, in_transaction: bool) {
        let queue = if in_transaction { &mut self.in_transaction } else { &mut self.others };
        queue.push_back(number);
    }

    pub fn is_empty(&self) -> bool {
        self.in_transaction.is_empty() && self.others.is_empty()
    }

    /// Begins a turn over all connections in a transaction, and over a few of the others. A connection that is added
    /// during a turn belongs to the next one.
    pub fn turn(&self) -> Turn {
        Turn { in_transaction: self.in_transaction.len(), others: self.others.len().min(OTHERS) }
    }

    /// Removes and returns the next connection of the turn. Returns `None` at the turn's end.
    pub fn pop(&mut self, turn: &mut Turn) -> Option<usize> {
        let (queue, left) = match turn {
            Turn { in_transaction: 0, others } => (&mut self.others, others),
            Turn { in_transaction, .. } => (&mut self.in_transaction, in_transaction),
        };
        *left = left.checked_sub(1)?;
        queue.pop_front()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Takes a turn. Each triple of `comes` adds a connection when the one with its first number is taken.
    fn turn(ready: &mut Ready, comes: &[(usize, usize, bool)]) -> Vec<usize> {
        let mut turn = ready.turn();
        let mut taken = Vec::new();
        while let Some(number) = ready.pop(&mut turn) {
            taken.push(number);
            let added = comes.iter().filter(|&&(at, ..)| at == number);
            added.for_each(|&(_, number, in_transaction)| ready.push(number, in_transaction));
        }
        taken
    }

    #[test]
    fn those_in_a_transaction_come_first_and_what_comes_during_a_turn_after_it() {
        let mut ready = Ready::default();
        for (number, in_transaction) in [(1, false), (2, true), (3, false), (4, true)] {
            ready.push(number, in_transaction);
        }
        assert_eq!(turn(&mut ready, &[(1, 5, true), (2, 6, false)]), [2, 4, 1, 3]);
        assert_eq!(turn(&mut ready, &[]), [5, 6]);
        assert!(ready.is_empty());
    }

    #[test]
    fn a_few_others_are_looked_at_in_each_turn_however_many_transactions_there_are() {
        let mut ready = Ready::default();
        (0..2 * OTHERS).for_each(|number| ready.push(number, false));
        (100..200).for_each(|number| ready.push(number, true));
        // Each client in a transaction sends its next request at once.
        let again: Vec<_> = (100..200).map(|number| (number, number, true)).collect();
        for others in [0..OTHERS, OTHERS..2 * OTHERS] {
            let expected: Vec<_> = (100..200).chain(others).collect();
            assert_eq!(turn(&mut ready, &again), expected);
        }
        assert_eq!(turn(&mut ready, &again).len(), 100);
    }
}
