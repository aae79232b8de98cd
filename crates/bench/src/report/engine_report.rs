//! The report of one run of one engine.

use super::consistency::Consistency;
use super::costs::CostReport;
use super::footprint::Footprints;
use super::identity::RunIdentity;
use super::log::LogReport;
use super::transactions::TransactionReport;
use super::wire::WireReport;
use crate::machine::{COMMIT, Host};
use hotrow_runtime::RunReport;
use hotrow_txn::Isolation;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// One run of one engine: an object of the `--json` file. The fields of the first three parts are written as its own.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct EngineReport {
    #[serde(flatten)]
    pub setup: RunSetup,
    #[serde(flatten)]
    pub transactions: TransactionReport,
    #[serde(flatten)]
    pub costs: CostReport,
    pub load_seconds: f64,
    /// The additional report of a run over the network; null for other runs.
    pub wire: Option<WireReport>,
    /// The writes of the log; null for a database in memory.
    pub log: Option<LogReport>,
    /// The memory of the tables; null unless it was asked for.
    pub memory: Option<Footprints>,
    /// `ok`, `failed: …`, `ok without isolation: …` for an engine that promises none and lost updates, or `ok at LEVEL:
    /// …` for what the isolation level permits.
    pub consistency: String,
    /// Whether the run was ended before its time by an interrupt.
    pub interrupted: bool,
    /// How long a cache line took from one core to another and back just before the run, in nanoseconds; null if the
    /// run has only one thread.
    pub core_distance_ns: Option<f64>,
    pub host: Host,
    pub commit: &'static str,
}

/// The setup of a run: its engine, workload, threads and isolation levels.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RunSetup {
    pub engine: String,
    pub workload: &'static str,
    /// The workload's options, and those options of the run that change what is measured.
    pub params: Value,
    pub threads: usize,
    /// How clients were put onto threads: `thread` or `pool`.
    pub scheduler: &'static str,
    /// The isolation levels that were asked for, each with the level that the engine has for it.
    pub granted: Map<String, Value>,
    /// The number of clients of each thread.
    pub slots: usize,
}

impl EngineReport {
    /// Reports a run that took place in this process, with neither the memory of its tables nor the distance of the
    /// cores.
    pub(crate) fn new(
        identity: &RunIdentity<'_>,
        run: &RunReport,
        load: Duration,
        consistency: &Consistency,
        host: &Host,
    ) -> Self {
        Self {
            setup: RunSetup {
                engine: identity.engine.to_owned(),
                workload: identity.workload,
                params: identity.params(),
                threads: run.threads,
                scheduler: identity.options.scheduler_of(identity.engine).name(),
                granted: Map::new(),
                slots: identity.options.slots_of(identity.engine),
            },
            transactions: TransactionReport::new(identity.kinds, run),
            costs: CostReport::new(run),
            load_seconds: load.as_secs_f64(),
            wire: None,
            log: None,
            memory: None,
            consistency: consistency.to_string(),
            interrupted: run.stopped_early,
            core_distance_ns: None,
            host: host.clone(),
            commit: COMMIT,
        }
    }

    /// Notes in the report that the engine granted the level `granted` where `asked` was asked for. Both may be the
    /// same.
    pub(crate) fn grant(&mut self, asked: Isolation, granted: Isolation) {
        self.setup.granted.insert(asked.name().to_owned(), json!(granted.name()));
    }

    /// Returns the engine's name.
    pub(crate) fn engine(&self) -> &str {
        &self.setup.engine
    }

    /// Returns the committed transactions per second.
    pub(crate) fn throughput(&self) -> f64 {
        self.transactions.throughput
    }

    /// Returns the aborted attempts in per cent of all attempts.
    pub(crate) fn abort_percent(&self) -> f64 {
        let TransactionReport { committed, aborted, .. } = &self.transactions;
        let aborted = self.retried_over_wire() + aborted.values().filter_map(Value::as_u64).sum::<u64>();
        100.0 * aborted as f64 / (aborted + committed).max(1) as f64
    }

    /// Returns the attempts that were retried over the network, in per cent of all attempts but those that the user
    /// rolled back.
    pub(crate) fn retried_percent(&self) -> f64 {
        let retried = self.retried_over_wire();
        100.0 * retried as f64 / (retried + self.transactions.committed).max(1) as f64
    }

    fn retried_over_wire(&self) -> u64 {
        self.wire.iter().flat_map(|wire| wire.sqlstates.values()).sum()
    }

    /// Whether updates were lost under an engine that promises no isolation.
    pub(crate) fn is_unisolated(&self) -> bool {
        self.consistency.starts_with("ok without isolation")
    }

    /// Whether the consistency check failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.consistency.starts_with("failed")
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use hotrow_runtime::{Breakdown, Counts, ThreadTime};
    use hotrow_txn::{Abort, AnalysisCounts, Statistics};

    /// Makes up the report of a run with this throughput.
    pub(crate) fn report(engine: &str, throughput: f64, consistency: &str) -> EngineReport {
        let mut counts = Counts { committed: throughput as u64, ..Counts::default() };
        [true, true, false, true].into_iter().for_each(|succeeded| counts.kinds.count(1, succeeded));
        counts.latency_ns.saturating_record(2_000);
        let analyses = AnalysisCounts { runs: 3, found: 2, bits: 0 };
        counts.statistics = Statistics { analyses, messages: 7, ..Statistics::default() };
        counts.breakdown = Breakdown { samples: 2, work_ns: 3_000, lock_manager_ns: 1_000, ..Breakdown::default() };
        counts.execution = ThreadTime { total_ns: 1_000, idle_ns: 200, cpu_ns: 1_000 };
        counts.service = ThreadTime { total_ns: 1_000, idle_ns: 0, cpu_ns: 100 };
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
            ("lock_shares", json!({})),
        ] {
            assert_eq!(json[field], expected, "{field}");
        }
        assert_eq!(json["params"]["records"], 10);
        assert_eq!(json["params"]["isolation"], "serializable");
        assert_eq!((&json["breakdown"]["contention"], &json["breakdown"]["inheritance"]), (&json!(0.0), &json!(0.0)));
        assert_eq!((&json["breakdown"]["work"], &json["breakdown_us"]["lock_manager"]), (&json!(0.75), &json!(0.5)));
        let of_threads = |part: &str| (json["execution_threads"][part].as_f64().expect("a share") * 1e3).round();
        assert_eq!(["work", "lock_manager", "other", "wait"].map(of_threads), [600.0, 200.0, 0.0, 200.0]);
        assert_eq!(json["service_threads_busy"], 0.1);
        assert_eq!(json["kinds"][1], json!({"kind": "moves", "committed": 4, "throughput": 4.0, "success": 0.75}));
        let keys: Vec<_> = json["aborted"].as_object().expect("an object").keys().cloned().collect();
        assert_eq!(keys.len(), Abort::ALL.len());
        assert!((json["latency_us"]["p50"].as_f64().expect("a number") - 2.0).abs() < 0.05, "{json}");
    }
}
