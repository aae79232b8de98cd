//! Wait-for dependencies, the order in which transactions must end (§4.2). `waits` has the operations.
//!
//! A transaction that wants an end timestamp waits for the holders of read locks on versions that it replaces, and for
//! the holders of index locks where it has linked a version. It counts them in its status, so that the exchange that
//! ends its active part fails while the count is not zero.
//!
//! **Invariants**
//!
//! 1. A transaction counts one for each version whose write lock it has and on which others have read locks, and one
//!    for each transaction in whose [`Waiting`] list it is. The transaction that takes away the last of those read
//!    locks, or the list, counts it down.
//! 2. A wait is counted before its reason can be seen, and counted down if the reason did not come about.
//! 3. A count that is meant for a transaction that is not active any more, or whose slot has another transaction by
//!    now, has no effect.
//! 4. After a transaction has *shut* its counter (NoMoreWaitFors), no transaction makes it wait for more. It shuts the
//!    counter when it begins to wait. So it does not wait for ever for readers that come one after the other, and the
//!    edges that leave a waiting transaction are only those that were there when it began to wait.

use super::queues::Place;
use super::txn_id::TxnId;
use super::words::Words;
use hotrow_storage::{IndexRef, TableId, VersionPtr};
use hotrow_txn::{Deadlock, LockTarget};

/// The transactions that an active transaction waits for before its end: its own number, their count (WaitForCounter),
/// and whether it refuses to wait for more (NoMoreWaitFors).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WaitFor {
    pub sequence: u64,
    pub is_shut: bool,
    pub count: u64,
}

const COUNT_BITS: u32 = 22;
/// The greatest number of transactions that a transaction can wait for.
pub(super) const MOST: u64 = (1 << COUNT_BITS) - 1;
const SHUT: u64 = 1 << COUNT_BITS;
const SEQUENCE_SHIFT: u32 = COUNT_BITS + 1;

impl WaitFor {
    /// Returns the counter of a transaction that waits for no other.
    pub fn none(id: TxnId) -> Self {
        Self { sequence: id.sequence(), is_shut: false, count: 0 }
    }

    /// Returns the counter, shut: the transaction does not wait for more transactions.
    pub fn shut(self) -> Self {
        Self { is_shut: true, ..self }
    }

    /// Returns the counter as a number of sixty-one bits.
    pub const fn encode(self) -> u64 {
        self.sequence << SEQUENCE_SHIFT | if self.is_shut { SHUT } else { 0 } | self.count
    }

    /// Returns the counter that was encoded.
    pub const fn decode(word: u64) -> Self {
        Self { sequence: word >> SEQUENCE_SHIFT, is_shut: word & SHUT != 0, count: word & MOST }
    }
}

/// The outcome of making a transaction wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Imposed {
    /// The transaction will wait.
    Done,
    /// The transaction is active, but its counter is shut.
    Shut,
    /// The transaction is not active any more.
    Ended,
}

/// An entry of a [`Waiting`] list: a transaction that must end after the list's owner. It has linked a version into a
/// part of an index that the owner has locked, or has deleted a row whose key the owner keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Behind {
    pub id: TxnId,
    /// The index that is locked.
    pub index: (TableId, IndexRef),
}

/// The transactions that wait for a holder of index locks (WaitingTxnList), and the locks of that holder while it waits
/// itself.
#[derive(Default)]
pub(super) struct Waiting {
    of: TxnId,
    /// Whether the owner of the list has its end timestamp, or is over. Then transactions are not added any more: they
    /// end after the owner without waiting.
    pub is_closed: bool,
    pub behind: Vec<Behind>,
    pub blocked: Option<Blocked>,
}

impl Waiting {
    /// Returns the transactions that wait for `of`: none if the list is that of another transaction.
    pub fn behind(&self, of: TxnId) -> &[Behind] {
        if self.of == of { &self.behind } else { &[] }
    }

    /// Returns the list of the transactions that wait for `of`. If the list is that of an earlier transaction in the
    /// slot, it is emptied and becomes that of `of`.
    pub fn list(&mut self, of: TxnId) -> &mut Vec<Behind> {
        if self.of != of {
            (self.of, self.is_closed) = (of, false);
            self.behind.clear();
        }
        &mut self.behind
    }
}

/// The state that a transaction publishes while it waits for other transactions before its end, or for a writer.
#[derive(Debug)]
pub(super) struct Blocked {
    pub id: TxnId,
    /// The number under which reports name the transaction.
    pub label: u32,
    /// The versions that the transaction has read locks on.
    pub read_locks: Vec<(TableId, VersionPtr<Words>)>,
    /// The queue in which the transaction stands, and the lock that the queue is for.
    pub at: Option<(Place, LockTarget)>,
    /// The deadlock that the transaction is the victim of. A victim does not wait any more.
    pub victim: Option<Deadlock>,
}
