//! The numbers of parts of the lock table, of workers' ports, and of attempts.

/// The number of a part of the lock table. Requests visit parts in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PartId(pub(super) u16);

impl PartId {
    #[inline]
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The number of a worker's port, which is the number of the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PortId(pub(super) u16);

impl PortId {
    #[inline]
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The number of an attempt of a transaction object to get the locks of a plan. An object's first attempt has number
/// one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attempt(pub(super) u64);

/// The greatest number of workers of an engine of this family, and of parts of its lock table.
pub(super) const THREADS_MAX: usize = 1 << 10;
