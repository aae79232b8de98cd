//! The node of a transaction: the object through which concurrency-control threads tell the transaction of its grant.
//!
//! **Definitions.** The *owner* of a node is a transaction object. It makes one *attempt* after the other to get the
//! locks of a plan. An attempt *asks* until it is granted, or until the owner *withdraws* it.
//!
//! **Invariants**
//!
//! 1. The word holds the last attempt and its state. The owner stores the word when an attempt begins. The state
//!    changes from *asking* once, under the latch. So an attempt is either granted or withdrawn. If it is granted, the
//!    node gets the attempt's request in the same step. If it is withdrawn, a later grant has no effect.
//! 2. *A part that has received a withdrawal keeps no request of the attempt.* The owner first marks the attempt as
//!    withdrawn, with a release store. Then it sends *withdraw* to each part that the request may visit. A part that
//!    has received *withdraw* sees the mark, because the store came before the message. If the request arrives later,
//!    the part ignores it. If the request has arrived before, the part finds and removes it. So messages may overtake
//!    each other.

use super::id::Attempt;
use super::request::Request;
use crate::shared::request_queues::OwnerId;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, Latch, Waiter};
use std::fmt;

/// The state of one transaction object that it shares with the threads that grant its locks. Any thread may grant and
/// reply. Only the owner begins, waits, takes and withdraws.
pub(super) struct Node {
    /// The number of the node among all nodes of its database.
    number: u64,
    /// The number of the last attempt, shifted by [`STATE_BITS`], and its state.
    word: AtomicU64,
    /// The request of the attempt, once it is granted.
    returned: Latch<Option<Box<Request>>>,
    /// The answer to the last question for late locks: an [`Answer`] as a number, or [`OPEN`] if it has not come yet.
    answer: AtomicU64,
    waiter: Waiter,
}

/// The answer of a part to a running transaction that has asked for locks beside its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Another transaction has asked for a conflicting lock.
    Refused,
    /// The locks are granted. The transaction has this number in the part's queues.
    Added(OwnerId),
}

const STATE_BITS: u32 = 2;
const ASKING: u64 = 1;
const GRANTED: u64 = 2;
const WITHDRAWN: u64 = 3;

fn word(attempt: Attempt, state: u64) -> u64 {
    attempt.0 << STATE_BITS | state
}

const OPEN: u64 = 0;
const REFUSED: u64 = 1;
const ADDED: u64 = 2;

impl Node {
    /// Makes the node of a transaction object that waits through `waiter` and has made no attempt yet.
    pub(super) fn new(number: u64, waiter: Waiter) -> Arc<Self> {
        Arc::new(Self {
            number,
            word: AtomicU64::new(word(Attempt(0), WITHDRAWN)),
            returned: Latch::new(None),
            answer: AtomicU64::new(OPEN),
            waiter,
        })
    }

    /// Returns the number of the node among all nodes of its database.
    #[inline]
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the waiter of the transaction.
    pub(super) fn waiter(&self) -> &Waiter {
        &self.waiter
    }

    /// Begins the next attempt. The last attempt was withdrawn, or it was granted and the owner has taken its request.
    #[inline]
    pub(super) fn begin(&self) -> Attempt {
        // Relaxed: only the owner changes the attempt, and a late grant of an earlier attempt changes nothing.
        let attempt = Attempt((self.word.load(Ordering::Relaxed) >> STATE_BITS) + 1);
        self.word.store(word(attempt, ASKING), Ordering::Release);
        attempt
    }

    /// Whether the attempt still asks for its locks.
    #[inline]
    pub(super) fn is_asking(&self, attempt: Attempt) -> bool {
        self.word.load(Ordering::Acquire) == word(attempt, ASKING)
    }

    /// Whether the attempt is granted.
    #[inline]
    pub(super) fn is_granted(&self, attempt: Attempt) -> bool {
        self.word.load(Ordering::Acquire) == word(attempt, GRANTED)
    }

    /// Grants the attempt of a request that has all of its locks, and keeps the request for the owner. If the attempt
    /// does not ask any more, the call drops the request and returns false.
    #[inline]
    pub(super) fn grant(&self, request: Box<Request>) -> bool {
        let attempt = request.attempt;
        let mut returned = self.returned.lock();
        // Relaxed: the state changes from asking under the latch only.
        let asks = self.word.load(Ordering::Relaxed) == word(attempt, ASKING);
        if asks {
            *returned = Some(request);
            self.word.store(word(attempt, GRANTED), Ordering::Release);
        }
        asks
    }

    /// Takes the request of a granted attempt, if the owner has not taken it yet.
    #[inline]
    pub(super) fn take(&self) -> Option<Box<Request>> {
        self.returned.lock().take()
    }

    /// Withdraws the last attempt. If the attempt was granted before, it stays granted, and the call returns its
    /// request.
    pub(super) fn withdraw(&self) -> Option<Box<Request>> {
        let mut returned = self.returned.lock();
        if returned.is_none() {
            // Relaxed: only the owner changes the attempt, and the state changes under the latch.
            let attempt = Attempt(self.word.load(Ordering::Relaxed) >> STATE_BITS);
            self.word.store(word(attempt, WITHDRAWN), Ordering::Release);
        }
        returned.take()
    }

    /// Forgets the last answer, before the owner asks for late locks.
    pub(super) fn ask(&self) {
        self.answer.store(OPEN, Ordering::Release);
    }

    /// Answers the owner's question for late locks.
    pub(super) fn reply(&self, answer: Answer) {
        let number = match answer {
            Answer::Refused => REFUSED,
            Answer::Added(owner) => ADDED + u64::from(owner.number()),
        };
        self.answer.store(number, Ordering::Release);
    }

    /// Returns the answer to the owner's question, if it has come.
    pub(super) fn answer(&self) -> Option<Answer> {
        match self.answer.load(Ordering::Acquire) {
            OPEN => None,
            REFUSED => Some(Answer::Refused),
            added => Some(Answer::Added(OwnerId::from_number((added - ADDED) as u32))),
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word.load(Ordering::Acquire);
        let attempt = word >> STATE_BITS;
        let state = ["new", "asking", "granted", "withdrawn"][(word & ((1 << STATE_BITS) - 1)) as usize];
        f.debug_struct("Node")
            .field("number", &self.number)
            .field("attempt", &attempt)
            .field("state", &state)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use std::time::Duration;

    fn request(node: &Arc<Node>, attempt: Attempt) -> Box<Request> {
        let mut request = Request::new(node.clone());
        request.attempt = attempt;
        request
    }

    #[test]
    fn an_attempt_is_granted_once_or_withdrawn() {
        let node = Node::new(7, Waiter::thread(Duration::ZERO));
        let first = node.begin();
        assert!(node.is_asking(first) && !node.is_granted(first));
        assert!(node.grant(request(&node, first)) && node.is_granted(first) && !node.is_asking(first));
        assert!(!node.grant(request(&node, first)), "it was granted before");
        assert!(node.take().is_some() && node.take().is_none());

        let second = node.begin();
        assert!(node.withdraw().is_none() && !node.is_asking(second));
        assert!(!node.grant(request(&node, second)) && !node.is_granted(second), "it asks for nothing any more");

        let third = node.begin();
        assert!(!node.grant(request(&node, second)), "it is of an attempt that is over");
        assert!(node.grant(request(&node, third)) && node.withdraw().is_some(), "the grant came first");
        assert!(node.is_granted(third));
    }

    #[test]
    fn an_answer_is_of_the_last_question() {
        let node = Node::new(0, Waiter::thread(Duration::ZERO));
        node.ask();
        assert_eq!(node.answer(), None);
        for answer in [Answer::Refused, Answer::Added(OwnerId::from_number(0)), Answer::Added(OwnerId::from_number(5))]
        {
            node.reply(answer);
            assert_eq!(node.answer(), Some(answer));
        }
        node.ask();
        assert_eq!(node.answer(), None);
    }
}
