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
    /// Contention analyses: looks through a queue for a blocked transaction that can run.
    pub analyses: u64,
    /// Transactions that contention analyses found.
    pub analyses_found: u64,
    /// Bits that contention analyses set.
    pub analyses_bits: u64,
    /// Messages sent to other partitions.
    pub messages: u64,
    /// Versions that were read though their maker had not committed yet.
    pub speculative_reads: u64,
    /// Versions that were passed by though the one who replaced them had not committed yet.
    pub speculative_ignores: u64,
    /// Transactions whose commit another one had to wait for, because of these two, or of a row that was retired.
    pub dependencies: u64,
    /// Rows that went to others before their writer had committed.
    pub retired: u64,
}

impl Statistics {
    /// Adds what another one counted, of whatever transaction or worker.
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

    /// What was counted after `before`.
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
