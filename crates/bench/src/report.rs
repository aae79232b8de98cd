//! What is reported of one run.

use crate::footprint::Footprints;
use crate::host::{COMMIT, Host};
use crate::{ConcurrencyName, RunOptions};
use hotrow_runtime::{KindCount, RunReport};
use hotrow_txn::{Abort, Isolation};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// One run of one engine: an object of the `--json` file.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct EngineReport {
    pub engine: String,
    pub workload: &'static str,
    /// The workload's options, and those of the run that change what is measured.
    pub params: Value,
    pub threads: usize,
    /// How clients were put onto threads: `thread` or `pool`.
    pub scheduler: &'static str,
    /// The isolation levels that were asked for, each with what the engine has for it.
    pub granted: Map<String, Value>,
    /// Clients of each thread.
    pub slots: usize,
    /// Length of the measured period as it was.
    pub seconds: f64,
    pub committed: u64,
    /// Attempts that aborted, by kind; each kind is there.
    pub aborted: Map<String, Value>,
    pub retries: u64,
    /// Runs that looked for an access set, and runs that touched something outside theirs.
    pub reconnaissances: u64,
    pub wrong_estimates: u64,
    /// Committed transactions per second.
    pub throughput: f64,
    pub latency_us: Latency,
    pub cpu_us_per_txn: f64,
    /// The kinds of transactions, for workloads that have several.
    pub kinds: Vec<KindReport>,
    /// Shares of the sampled transactions' time.
    pub breakdown: Map<String, Value>,
    /// The same in microseconds of one transaction.
    pub breakdown_us: Map<String, Value>,
    /// Locks granted, and requests that waited, per committed transaction.
    pub locks_per_txn: f64,
    pub waits_per_txn: f64,
    pub analyses: Analyses,
    /// Messages sent to other partitions.
    pub messages: u64,
    pub load_seconds: f64,
    /// What is reported of a run over the network besides; null otherwise. Then the CPU time above is the server's.
    pub wire: Option<WireReport>,
    /// What the tables take of the memory; null unless asked for.
    pub memory: Option<Footprints>,
    /// `ok`, `failed: …`, `ok without isolation: …` for an engine that promises none and lost updates, or `ok at LEVEL: …`
    /// for what the isolation level lets happen
    pub consistency: String,
    /// Whether somebody ended the run before its time.
    pub interrupted: bool,
    /// A cache line's way from one core to another and back just before the run, in nanoseconds; null if there is one thread only.
    pub core_distance_ns: Option<f64>,
    pub host: Host,
    pub commit: &'static str,
}

/// Contention analyses, of engines that make them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Analyses {
    /// How often a queue was looked through for a blocked transaction that can run.
    pub runs: u64,
    /// How many were found.
    pub found: u64,
    /// How many bits were set on the way.
    pub bits: u64,
}

/// A run over the network.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct WireReport {
    /// The version that the server names.
    pub server: String,
    pub clients: u32,
    /// Statements of the committed transactions, those of their attempts before and those that begin and end them included.
    pub statements: u64,
    pub statements_per_second: f64,
    /// CPU time of the server's processes, user and system; null if they are not known.
    pub server_cpu_us_per_txn: Option<f64>,
    pub server_cpu_us_per_statement: Option<f64>,
    pub client_cpu_us_per_txn: Option<f64>,
    /// Attempts that failed and were tried again, by SQLSTATE.
    pub sqlstates: BTreeMap<String, u64>,
    /// What switches take on this machine, if where the server's time went was asked for.
    pub switches: Option<SwitchReport>,
}

/// What switches take, in nanoseconds of CPU time.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct SwitchReport {
    pub context_switch_ns: f64,
    pub coroutine_switch_ns: f64,
    /// A coroutine from its start to its end, on a stack that is used again.
    pub coroutine_run_ns: f64,
}

/// The committed transactions of one kind.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct KindReport {
    pub kind: &'static str,
    pub committed: u64,
    /// Committed transactions per second.
    pub throughput: f64,
    /// The share that found what it was looking for.
    pub success: f64,
}

/// Latencies of the sampled transactions, in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Latency {
    pub mean: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

/// What the check after a run found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Consistency {
    Ok,
    /// Nothing is missing but what an engine that promises no isolation may lose.
    Unisolated(String),
    /// Nothing is wrong but what the isolation level lets happen.
    Weak(Isolation, String),
    Failed(String),
}

impl std::fmt::Display for Consistency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Consistency::Ok => f.write_str("ok"),
            Consistency::Unisolated(what) => write!(f, "ok without isolation: {what}"),
            Consistency::Weak(level, what) => write!(f, "ok at {level}: {what}"),
            Consistency::Failed(what) => write!(f, "failed: {what}"),
        }
    }
}

/// Which run a report is about.
pub(crate) struct RunIdentity<'a> {
    pub engine: &'a str,
    pub workload: &'static str,
    pub workload_options: Value,
    /// Names of the kinds of transactions.
    pub kinds: &'static [&'static str],
    pub options: &'a RunOptions,
    pub repetition: u32,
}

impl EngineReport {
    pub(crate) fn new(
        identity: &RunIdentity<'_>,
        run: &RunReport,
        load: Duration,
        consistency: &Consistency,
        host: &Host,
    ) -> Self {
        let counts = &run.counts;
        let per_txn = |count: u64| count as f64 / counts.committed.max(1) as f64;
        let parts = |parts: [(&str, f64); 5]| parts.map(|(part, time)| (part.to_owned(), json!(time)));
        Self {
            engine: identity.engine.to_owned(),
            workload: identity.workload,
            params: params(identity),
            threads: run.threads,
            scheduler: identity.options.scheduler_of(identity.engine).name(),
            granted: Map::new(),
            slots: identity.options.slots_of(identity.engine),
            seconds: run.elapsed.as_secs_f64(),
            committed: counts.committed,
            aborted: Abort::ALL
                .map(|abort| (abort.name().to_owned(), json!(counts.aborted.of(abort))))
                .into_iter()
                .collect(),
            retries: counts.retries,
            reconnaissances: counts.estimates.reconnaissances,
            wrong_estimates: counts.estimates.wrong,
            throughput: run.throughput(),
            latency_us: Latency {
                mean: run.mean_latency_us(),
                p50: run.latency_us(0.5),
                p95: run.latency_us(0.95),
                p99: run.latency_us(0.99),
                max: run.max_latency_us(),
            },
            kinds: kinds(identity.kinds, run),
            cpu_us_per_txn: run.cpu_us_per_transaction(),
            breakdown: parts(counts.breakdown.shares()).into_iter().collect(),
            breakdown_us: parts(counts.breakdown.microseconds()).into_iter().collect(),
            locks_per_txn: per_txn(counts.statistics.locks),
            waits_per_txn: per_txn(counts.statistics.waits),
            analyses: Analyses {
                runs: counts.statistics.analyses,
                found: counts.statistics.analyses_found,
                bits: counts.statistics.analyses_bits,
            },
            messages: counts.statistics.messages,
            load_seconds: load.as_secs_f64(),
            wire: None,
            memory: None,
            consistency: consistency.to_string(),
            interrupted: run.stopped_early,
            core_distance_ns: None,
            host: host.clone(),
            commit: COMMIT,
        }
    }

    /// Enters that a level was asked for, and another one or the same was had.
    pub(crate) fn grant(&mut self, asked: Isolation, granted: Isolation) {
        self.granted.insert(asked.name().to_owned(), json!(granted.name()));
    }

    /// Attempts that aborted, of all attempts, in per cent.
    pub(crate) fn abort_percent(&self) -> f64 {
        let failed: u64 = self.wire.iter().flat_map(|wire| wire.sqlstates.values()).sum();
        let aborted = failed + self.aborted.values().filter_map(Value::as_u64).sum::<u64>();
        100.0 * aborted as f64 / (aborted + self.committed).max(1) as f64
    }

    /// Attempts that were tried again over the wire, of all that did not end with a rollback of the user's, in per cent.
    pub(crate) fn retried_percent(&self) -> f64 {
        let failed: u64 = self.wire.iter().flat_map(|wire| wire.sqlstates.values()).sum();
        100.0 * failed as f64 / (failed + self.committed).max(1) as f64
    }

    /// Whether updates were lost, and the engine promises no isolation.
    pub(crate) fn is_unisolated(&self) -> bool {
        self.consistency.starts_with("ok without isolation")
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.consistency.starts_with("failed")
    }
}

fn kinds(names: &[&'static str], run: &RunReport) -> Vec<KindReport> {
    let report = |(number, &kind): (usize, &&'static str)| {
        let KindCount { committed, succeeded } = run.counts.kinds.of(number);
        KindReport {
            kind,
            committed,
            throughput: committed as f64 / run.elapsed.as_secs_f64().max(f64::MIN_POSITIVE),
            success: succeeded as f64 / committed.max(1) as f64,
        }
    };
    names.iter().enumerate().map(report).collect()
}

fn params(identity: &RunIdentity<'_>) -> Value {
    let RunIdentity { options, .. } = identity;
    let mut params = identity.workload_options.clone();
    params["isolation"] = json!(options.isolation.name());
    params["concurrency"] = json!(options.concurrency.map_or("default", ConcurrencyName::name));
    params["batch"] = json!(!options.no_batch);
    params["warmup"] = json!(options.warmup.as_secs_f64());
    params["blocked_limit"] = json!(options.blocked_limit);
    params["engine_partitions"] = json!(options.engine_partitions);
    params["deadlock_time_outs"] = json!(options.deadlock_time_outs);
    params["lock_as_it_goes"] = json!(options.lock_as_it_goes);
    params["network_delay_us"] = json!(options.network_delay_us);
    params["seed"] = json!(options.seed);
    params["repetition"] = json!(identity.repetition);
    params
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use hotrow_runtime::{Breakdown, Counts};
    use hotrow_txn::Statistics;

    /// A report of a run with this throughput.
    pub(crate) fn report(engine: &str, throughput: f64, consistency: &str) -> EngineReport {
        let mut counts = Counts { committed: throughput as u64, ..Counts::default() };
        [true, true, false, true].into_iter().for_each(|succeeded| counts.kinds.count(1, succeeded));
        counts.latency_ns.saturating_record(2_000);
        counts.statistics = Statistics { analyses: 3, analyses_found: 2, messages: 7, ..Statistics::default() };
        counts.breakdown = Breakdown { samples: 2, work_ns: 3_000, lock_manager_ns: 1_000, ..Breakdown::default() };
        let elapsed = Duration::from_secs(1);
        let run = RunReport { threads: 2, elapsed, stopped_early: false, counts, cpu: elapsed };
        let identity = RunIdentity {
            engine,
            workload: "ycsb",
            workload_options: json!({"records": 10}),
            kinds: &["reads", "moves"],
            options: &crate::options::tests::defaults(),
            repetition: 1,
        };
        let mut report = EngineReport::new(&identity, &run, elapsed, &Consistency::Ok, &Host::detect());
        report.consistency = consistency.to_owned();
        report
    }

    #[test]
    fn a_report_has_the_fields_that_are_promised() {
        let json = serde_json::to_value(report("serial", 500_000.0, "ok")).expect("a report is plain data");
        for (field, expected) in [
            ("engine", json!("serial")),
            ("committed", json!(500_000)),
            ("throughput", json!(500_000.0)),
            ("cpu_us_per_txn", json!(2.0)),
            ("consistency", json!("ok")),
            ("scheduler", json!("thread")),
            ("slots", json!(1)),
            ("analyses", json!({"runs": 3, "found": 2, "bits": 0})),
            ("messages", json!(7)),
        ] {
            assert_eq!(json[field], expected, "{field}");
        }
        assert_eq!(json["params"]["records"], 10);
        assert_eq!(json["params"]["isolation"], "serializable");
        assert_eq!((&json["breakdown"]["work"], &json["breakdown_us"]["lock_manager"]), (&json!(0.75), &json!(0.5)));
        assert_eq!(json["kinds"][1], json!({"kind": "moves", "committed": 4, "throughput": 4.0, "success": 0.75}));
        let keys: Vec<_> = json["aborted"].as_object().expect("an object").keys().cloned().collect();
        assert_eq!(keys.len(), Abort::ALL.len());
        assert!((json["latency_us"]["p50"].as_f64().expect("a number") - 2.0).abs() < 0.05, "{json}");
    }
}
