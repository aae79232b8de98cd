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
    /// The counts of contention analyses of the engine's lock manager.
    pub analyses: AnalysisCounts,
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
    /// The times for the log of the database.
    pub log: LogTimes,
    /// The counts of a hierarchical lock manager.
    pub hierarchy: HierarchyStatistics,
}

/// The times that commits spend on the log of the database, measured as all [times](Statistics::timed) are. In each
/// commit the clock is read before and after each of the two steps: handing the changes over, and the wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogTimes {
    /// The commits that were timed.
    pub commits: u64,
    /// The nanoseconds in which changes were handed to the log.
    pub append_ns: u64,
    /// The nanoseconds in which transactions waited for their commits to become durable.
    pub wait_ns: u64,
}

impl LogTimes {
    /// Adds the times of a commit. If both are zero, the commit was not timed and is not counted.
    #[inline]
    pub fn add_commit(&mut self, append_ns: u64, wait_ns: u64) {
        if append_ns > 0 || wait_ns > 0 {
            self.commits += 1;
            self.append_ns += append_ns;
            self.wait_ns += wait_ns;
        }
    }

    fn add(&mut self, other: &Self) {
        self.commits += other.commits;
        self.append_ns += other.append_ns;
        self.wait_ns += other.wait_ns;
    }

    fn since(&self, before: &Self) -> Self {
        Self {
            commits: self.commits - before.commits,
            append_ns: self.append_ns - before.append_ns,
            wait_ns: self.wait_ns - before.wait_ns,
        }
    }
}

/// The counts of contention analyses: searches of a queue for a blocked transaction that can run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnalysisCounts {
    /// The number of analyses.
    pub runs: u64,
    /// The number of blocked transactions that the analyses found able to run.
    pub found: u64,
    /// The number of bits that the analyses set in the bit arrays by which they detect conflicts.
    pub bits: u64,
}

impl AnalysisCounts {
    /// Adds the counts of other analyses to these.
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.found += other.found;
        self.bits += other.bits;
    }

    /// Returns the counts that were added since `before`, a copy of these.
    pub fn since(&self, before: &Self) -> Self {
        Self { runs: self.runs - before.runs, found: self.found - before.found, bits: self.bits - before.bits }
    }
}

/// The counts and times of the locks in a hierarchy: on the database, tables, pages and rows. Locks on rows, gaps and
/// unique keys are those of [`Statistics::locks`] that are not counted here by level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HierarchyStatistics {
    /// The locks on the database that were granted, inherited ones among them.
    pub databases: u64,
    /// The locks on tables that were granted, inherited ones among them.
    pub tables: u64,
    /// The locks on pages that were granted, inherited ones among them.
    pub pages: u64,
    /// The locks, of all levels, that were hot when they were granted: many of the last requests for them met latch
    /// contention.
    pub hot: u64,
    /// The number of times that a page or table was locked as a whole in place of many things in it.
    pub escalations: u64,
    /// The locks that were given up in a state in which a transaction could have inherited them, hot or not: of the
    /// level of pages or higher, in a shared mode, with no transaction waiting, and their parents likewise.
    pub heritable: u64,
    /// Of the [`heritable`](Self::heritable) locks, the hot ones.
    pub hot_heritable: u64,
    /// The locks that a transaction passed on to its agent rather than release them.
    pub inherited: u64,
    /// The inherited locks that a later transaction of the agent used.
    pub used: u64,
    /// The inherited locks that no transaction had used when they were released.
    pub discarded: u64,
    /// The inherited locks that a conflicting request of another transaction, or the loss of their parent, invalidated.
    pub invalidated: u64,
    /// The nanoseconds of [`Statistics::lock_manager_ns`] that were spent spinning for taken latches.
    pub contention_ns: u64,
    /// The nanoseconds spent on inheritance: on choosing, passing on and releasing inherited locks. They are not part
    /// of [`Statistics::lock_manager_ns`]. They include the cost of reading the clock for each timed call.
    pub inheritance_ns: u64,
    /// The calls for inheritance that were timed; for each, the clock is read before and after. They are not among
    /// [`Statistics::timed_calls`].
    pub inheritance_calls: u64,
}

impl HierarchyStatistics {
    /// Adds the counts of another transaction or worker to these.
    pub fn add(&mut self, other: &Self) {
        *self = self.with(other, |own, other| own + other);
    }

    /// Returns the counts that were added since `before`, a copy of these statistics.
    pub fn since(&self, before: &Self) -> Self {
        self.with(before, |now, before| now - before)
    }

    /// Returns counts made of each of these and its counterpart in `other`.
    fn with(&self, other: &Self, make: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            databases: make(self.databases, other.databases),
            tables: make(self.tables, other.tables),
            pages: make(self.pages, other.pages),
            hot: make(self.hot, other.hot),
            escalations: make(self.escalations, other.escalations),
            heritable: make(self.heritable, other.heritable),
            hot_heritable: make(self.hot_heritable, other.hot_heritable),
            inherited: make(self.inherited, other.inherited),
            used: make(self.used, other.used),
            discarded: make(self.discarded, other.discarded),
            invalidated: make(self.invalidated, other.invalidated),
            contention_ns: make(self.contention_ns, other.contention_ns),
            inheritance_ns: make(self.inheritance_ns, other.inheritance_ns),
            inheritance_calls: make(self.inheritance_calls, other.inheritance_calls),
        }
    }
}

impl Statistics {
    /// Adds the counts of another transaction or worker to these.
    pub fn add(&mut self, other: &Statistics) {
        self.locks += other.locks;
        self.waits += other.waits;
        self.wait_ns += other.wait_ns;
        self.lock_manager_ns += other.lock_manager_ns;
        self.timed_calls += other.timed_calls;
        self.analyses.add(&other.analyses);
        self.messages += other.messages;
        self.speculative_reads += other.speculative_reads;
        self.speculative_ignores += other.speculative_ignores;
        self.dependencies += other.dependencies;
        self.retired += other.retired;
        self.log.add(&other.log);
        self.hierarchy.add(&other.hierarchy);
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
            analyses: self.analyses.since(&before.analyses),
            messages: self.messages - before.messages,
            speculative_reads: self.speculative_reads - before.speculative_reads,
            speculative_ignores: self.speculative_ignores - before.speculative_ignores,
            dependencies: self.dependencies - before.dependencies,
            retired: self.retired - before.retired,
            log: self.log.since(&before.log),
            hierarchy: self.hierarchy.since(&before.hierarchy),
        }
    }
}
