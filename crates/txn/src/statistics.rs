//! What a transaction in flight counts.

/// Counters and times of one transaction object, never reset by the engine. Whoever runs it reads them out.
///
/// Times are taken only while [`timed`](Self::timed) is set: reading the clock twice per access costs as much as a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Whether to take times.
    pub timed: bool,
    /// Locks granted, at once or after a wait.
    pub locks: u64,
    /// Requests that had to wait.
    pub waits: u64,
    /// Nanoseconds suspended, waiting for locks.
    pub wait_ns: u64,
    /// Nanoseconds in the lock manager, to lock and to release, waits excluded. As the clock showed them: reading it took
    /// its share of each of the timed calls.
    pub lock_manager_ns: u64,
    /// Calls of the lock manager that were timed, each with the clock read before and after.
    pub timed_calls: u64,
}
