//! The counters of a transaction in flight.

/// The counters and times of one transaction object. The engine never resets them; the caller that runs the transaction
/// reads them.
///
/// Times are measured only while [`timed`](Self::timed) is set: reading the clock twice per access costs as much as a
/// lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Whether the engine measures times.
    pub timed: bool,
    /// The locks that were granted, at once or after a wait.
    pub locks: u64,
    /// The requests that had to wait.
    pub waits: u64,
    /// The nanoseconds that the transaction was suspended, waiting for locks.
    pub wait_ns: u64,
    /// The nanoseconds spent in the lock manager, to lock and to release, without waits. They include the cost of
    /// reading the clock for each timed call.
    pub lock_manager_ns: u64,
    /// The calls of the lock manager that were timed; for each, the clock is read before and after.
    pub timed_calls: u64,
    /// The number of contention analyses: searches of a queue for a blocked transaction that can run.
    pub analyses: u64,
    /// The transactions that contention analyses found.
    pub analyses_found: u64,
    /// The number of bits that contention analyses set.
    pub analyses_bits: u64,
    /// The messages sent to other partitions; or those that carry lock requests and grants between execution threads
    /// and concurrency-control threads, also where one thread has both roles. Releases are not among the latter.
    pub messages: u64,
    /// Versions that were read before their writer had committed.
    pub speculative_reads: u64,
    /// Versions that were skipped because another transaction had replaced them, before that transaction had committed.
    pub speculative_ignores: u64,
    /// Transactions for whose commit this one had to wait, because of such a read or skip, or because of a retired row.
    pub dependencies: u64,
    /// Rows that were released to other transactions before their writer had committed.
    pub retired: u64,
}

impl Statistics {
    /// Adds the counts of another transaction or worker to these.
    pub fn add(&mut self, other: &Statistics) {
        self.locks += other.locks;
        self.waits += other.waits;
        self.wait_ns += other.wait_ns;
        self.lock_manager_ns += other.lock_manager_ns;
        self.timed_calls += other.timed_calls;
        self.analyses += other.analyses;
        self.analyses_found += other.analyses_found;
        self.analyses_bits += other.analyses_bits;
        self.messages += other.messages;
        self.speculative_reads += other.speculative_reads;
        self.speculative_ignores += other.speculative_ignores;
        self.dependencies += other.dependencies;
        self.retired += other.retired;
    }

    /// Returns the counts that were added since `before`, a copy of these statistics.
    pub fn since(&self, before: &Statistics) -> Statistics {
        Statistics {
            timed: false,
            locks: self.locks - before.locks,
            waits: self.waits - before.waits,
            wait_ns: self.wait_ns - before.wait_ns,
            lock_manager_ns: self.lock_manager_ns - before.lock_manager_ns,
            timed_calls: self.timed_calls - before.timed_calls,
            analyses: self.analyses - before.analyses,
            analyses_found: self.analyses_found - before.analyses_found,
            analyses_bits: self.analyses_bits - before.analyses_bits,
            messages: self.messages - before.messages,
            speculative_reads: self.speculative_reads - before.speculative_reads,
            speculative_ignores: self.speculative_ignores - before.speculative_ignores,
            dependencies: self.dependencies - before.dependencies,
            retired: self.retired - before.retired,
        }
    }
}
