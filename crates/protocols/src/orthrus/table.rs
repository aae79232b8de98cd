//! The lock tables of concurrency-control threads: a table for each part, or a table that all parts share.

use super::id::Attempt;
use super::request::Request;
use crate::shared::request_queues::RequestQueues;
use hotrow_sync::{Arc, Latch};

/// The lock queues of one part, or of all parts if they share a table.
pub(super) type Queues = RequestQueues<Entrant>;

/// A transaction in the queues of a part.
#[derive(Debug)]
pub struct Entrant {
    /// The number of the transaction's [`Node`](super::node::Node).
    pub(super) node: u64,
    pub(super) attempt: Attempt,
    /// The transaction's request, while the request waits for a lock here.
    pub(super) parked: Option<Box<Request>>,
}

/// The lock table as one part reaches it.
pub trait LockTable: Send + Sized + 'static {
    /// Whether every part reaches the whole table.
    const IS_SHARED: bool;

    /// Makes the tables of `count` parts.
    fn make(count: usize) -> Vec<Self>;

    /// Calls `work` with the queues. No other thread uses them meanwhile.
    fn with<R>(&mut self, work: impl FnOnce(&mut Queues) -> R) -> R;
}

/// The lock table of one part. The thread that has the part's baton owns it, so it needs no latch (§3.1).
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

/// The lock table that all parts share, behind a latch (§3.4).
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
