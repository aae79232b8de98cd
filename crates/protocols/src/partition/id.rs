//! The names of partitions, and of places in their queues.

/// A partition's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartitionId(pub(super) u16);

impl PartitionId {
    #[inline]
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A transaction's place in the queue of a partition. A queue gives no place twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub(super) u64);
