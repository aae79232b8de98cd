//! The lock tables of concurrency-control threads: one for each thread, or one that they share.

use super::id::Attempt;
use super::request::Request;
use crate::shared::request_queues::RequestQueues;
use hotrow_sync::{Arc, Latch};

/// The lock queues of a part, or of all parts.
pub(super) type Queues = RequestQueues<Entrant>;

/// A transaction in the queues of a part.
#[derive(Debug)]
pub struct Entrant {
    /// The number of the transaction's [`Node`](super::node::Node).
    pub(super) node: u64,
    pub(super) attempt: Attempt,
    /// The transaction's request, while it waits for a lock here.
    pub(super) parked: Option<Box<Request>>,
}

/// The lock table as one concurrency-control thread reaches it.
pub trait LockTable: Send + Sized + 'static {
    /// Whether every thread reaches the whole table.
    const IS_SHARED: bool;

    /// Makes the tables of `count` threads.
    fn make(count: usize) -> Vec<Self>;

    /// Calls `work` with the queues, which no other thread uses meanwhile.
    fn with<R>(&mut self, work: impl FnOnce(&mut Queues) -> R) -> R;
}

/// The lock table of a thread that owns its part of the locks: no latch (§3.1).
#[derive(Default)]
pub struct Owned(Queues);

impl LockTable for Owned {
    const IS_SHARED: bool = false;

    fn make(count: usize) -> Vec<Self> {
        (0..count).map(|_| Self::default()).collect()
    }

    #[inline]
    fn with<R>(&mut self, work: impl FnOnce(&mut Queues) -> R) -> R {
        work(&mut self.0)
    }
}

/// The lock table that all concurrency-control threads share, behind a latch (§3.4).
pub struct Shared(Arc<Latch<Queues>>);

impl LockTable for Shared {
    const IS_SHARED: bool = true;

    fn make(count: usize) -> Vec<Self> {
        let table = Arc::new(Latch::new(Queues::default()));
        (0..count).map(|_| Self(table.clone())).collect()
    }

    #[inline]
    fn with<R>(&mut self, work: impl FnOnce(&mut Queues) -> R) -> R {
        work(&mut self.0.lock())
    }
}
