//! The clients' measurements of their transactions.

use hotrow_runtime::{KindCount, RunReport};
use hotrow_txn::Abort;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The transactions of the measured period, as the clients counted them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TransactionReport {
    /// The actual length of the measured period.
    pub seconds: f64,
    pub committed: u64,
    /// Attempts that aborted, by kind. Every kind has an entry.
    pub aborted: Map<String, Value>,
    pub retries: u64,
    /// The number of runs whose only purpose was to find an access set.
    pub reconnaissances: u64,
    /// The number of attempts that touched something outside their access set.
    pub wrong_estimates: u64,
    /// Committed transactions per second.
    pub throughput: f64,
    pub latency_us: Latency,
    /// CPU time per committed transaction, in microseconds: that of the workers, or of the server in a run over the
    /// network.
    pub cpu_us_per_txn: f64,
    /// The kinds of transactions; empty for a workload that has one kind only.
    pub kinds: Vec<KindReport>,
}

/// Latencies of the sampled transactions, in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Latency {
    pub mean: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    /// The latency that 999 of 1,000 transactions do not exceed.
    pub p999: f64,
    pub max: f64,
}

/// The committed transactions of one kind.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct KindReport {
    pub kind: &'static str,
    pub committed: u64,
    /// Committed transactions per second.
    pub throughput: f64,
    /// The share of the committed transactions that found what they were looking for.
    pub success: f64,
}

impl TransactionReport {
    /// Makes the report from a run whose kinds of transactions have the names `kinds`.
    pub(super) fn new(kinds: &[&'static str], run: &RunReport) -> Self {
        let counts = &run.counts;
        let aborted = Abort::ALL.map(|abort| (abort.name().to_owned(), json!(counts.aborted.of(abort))));
        Self {
            seconds: run.elapsed.as_secs_f64(),
            committed: counts.committed,
            aborted: aborted.into_iter().collect(),
            retries: counts.retries,
            reconnaissances: counts.estimates.reconnaissances,
            wrong_estimates: counts.estimates.wrong,
            throughput: run.throughput(),
            latency_us: Latency {
                mean: run.mean_latency_us(),
                p50: run.latency_us(0.5),
                p95: run.latency_us(0.95),
                p99: run.latency_us(0.99),
                p999: run.latency_us(0.999),
                max: run.max_latency_us(),
            },
            cpu_us_per_txn: run.cpu_us_per_transaction(),
            kinds: kinds.iter().enumerate().map(|(number, &kind)| KindReport::new(number, kind, run)).collect(),
        }
    }
}

impl KindReport {
    fn new(number: usize, kind: &'static str, run: &RunReport) -> Self {
        let KindCount { committed, succeeded } = run.counts.kinds.of(number);
        Self {
            kind,
            committed,
            throughput: committed as f64 / run.elapsed.as_secs_f64().max(f64::MIN_POSITIVE),
            success: succeeded as f64 / committed.max(1) as f64,
        }
    }
}
