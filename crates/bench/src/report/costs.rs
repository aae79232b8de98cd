//! The costs of transactions: where the engine's time went, and its counts of locks, waits, analyses and messages.

use super::lock_shares::lock_shares;
use hotrow_runtime::RunReport;
use hotrow_txn::Statistics;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The costs of a run's transactions: the parts of their time, and the engine's work for them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CostReport {
    /// The parts of the sampled transactions' time, as shares; over the network, the parts of the server's CPU time.
    pub breakdown: Map<String, Value>,
    /// The parts of [`breakdown`](Self::breakdown), in microseconds per transaction.
    pub breakdown_us: Map<String, Value>,
    /// The parts of the time of threads that execute transactions, as shares that add up to one; empty if no
    /// transaction was sampled.
    pub execution_threads: Map<String, Value>,
    /// The share of the time of threads that only serve others in which they had something to do; null if there are no
    /// such threads.
    pub service_threads_busy: Option<f64>,
    /// The number of granted locks, divided by the number of committed transactions. Locks of aborted attempts count as
    /// well.
    pub locks_per_txn: f64,
    /// The number of requests that waited, divided by the number of committed transactions. Requests of aborted
    /// attempts count as well.
    pub waits_per_txn: f64,
    pub analyses: Analyses,
    /// The number of messages between partitions, or between execution threads and concurrency-control threads. The
    /// latter are counted without releases.
    pub messages: u64,
    /// The locks of a hierarchical lock manager.
    pub hierarchy: Hierarchy,
    /// The parts of these locks, as shares; empty under an engine without a hierarchy.
    pub lock_shares: Map<String, Value>,
}

/// The locks of a hierarchical lock manager: counts of the whole run, those of aborted attempts among them. All are
/// zero under an engine without a hierarchy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Hierarchy {
    /// The number of granted locks, of all levels.
    pub locks: u64,
    /// The number of granted locks on the database.
    pub databases: u64,
    /// The number of granted locks on tables.
    pub tables: u64,
    /// The number of granted locks on pages.
    pub pages: u64,
    /// The number of granted locks, of all levels, that were hot.
    pub hot: u64,
    /// The number of locks that the next transaction could have inherited, hot or not.
    pub heritable: u64,
    /// The number of heritable locks that were hot.
    pub hot_heritable: u64,
    /// The number of locks that were passed on to an agent.
    pub inherited: u64,
    /// The number of inherited locks that the next transaction used.
    pub used: u64,
    /// The number of inherited locks that the next transaction did not use.
    pub discarded: u64,
    /// The number of inherited locks that conflicting requests took away.
    pub invalidated: u64,
    /// The number of pages and tables that were locked as a whole in place of many things in them.
    pub escalations: u64,
}

impl Hierarchy {
    fn new(statistics: &Statistics) -> Self {
        let counted = &statistics.hierarchy;
        // A transaction locks the database first.
        if counted.databases == 0 {
            return Self::default();
        }
        Self {
            locks: statistics.locks,
            databases: counted.databases,
            tables: counted.tables,
            pages: counted.pages,
            hot: counted.hot,
            heritable: counted.heritable,
            hot_heritable: counted.hot_heritable,
            inherited: counted.inherited,
            used: counted.used,
            discarded: counted.discarded,
            invalidated: counted.invalidated,
            escalations: counted.escalations,
        }
    }
}

/// The work of the engine's contention analyses, which look for blocked transactions that can run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Analyses {
    /// The number of analyses of a queue.
    pub runs: u64,
    /// The number of transactions that the analyses found able to run.
    pub found: u64,
    /// The number of bits that the analyses set, which mark the records that queued transactions lock.
    pub bits: u64,
}

impl CostReport {
    /// Makes the report from the statistics of a run.
    pub(super) fn new(run: &RunReport) -> Self {
        let counts = &run.counts;
        let per_txn = |count: u64| count as f64 / counts.committed.max(1) as f64;
        let parts = |parts: &[(&str, f64)]| parts.iter().map(|&(part, time)| (part.to_owned(), json!(time))).collect();
        Self {
            breakdown: parts(&counts.breakdown.shares()),
            breakdown_us: parts(&counts.breakdown.microseconds()),
            execution_threads: counts.execution_shares().map_or_else(Map::new, |shares| parts(&shares)),
            service_threads_busy: counts.service.busy_share(),
            locks_per_txn: per_txn(counts.statistics.locks),
            waits_per_txn: per_txn(counts.statistics.waits),
            analyses: Analyses {
                runs: counts.statistics.analyses.runs,
                found: counts.statistics.analyses.found,
                bits: counts.statistics.analyses.bits,
            },
            messages: counts.statistics.messages,
            hierarchy: Hierarchy::new(&counts.statistics),
            lock_shares: lock_shares(&counts.statistics),
        }
    }
}
