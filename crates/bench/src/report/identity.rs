//! The identity of the run that a report describes.

use crate::options::{ConcurrencyName, RunOptions};
use serde_json::{Value, json};

/// The engine, the workload and the options of a run, known before it begins.
pub(crate) struct RunIdentity<'a> {
    pub engine: &'a str,
    pub workload: &'static str,
    pub workload_options: Value,
    /// The names of the workload's kinds of transactions.
    pub kinds: &'static [&'static str],
    pub options: &'a RunOptions,
    /// The number of the run among those of its engine, from one.
    pub repetition: u32,
}

impl RunIdentity<'_> {
    /// Returns the workload's options, and those options of the run that change what is measured.
    pub(super) fn params(&self) -> Value {
        let RunIdentity { options, .. } = self;
        let mut params = self.workload_options.clone();
        params["isolation"] = json!(options.isolation.name());
        params["concurrency"] = json!(options.concurrency.map_or("default", ConcurrencyName::name));
        params["batch"] = json!(!options.no_batch);
        params["warmup"] = json!(options.warmup.as_secs_f64());
        params["blocked_limit"] = json!(options.engine_options.blocked_limit);
        params["engine_partitions"] = json!(options.engine_options.engine_partitions);
        params["cc_threads"] = json!(options.engine_options.cc_threads);
        params["escalate_after"] = json!(options.engine_options.escalate_after);
        params["hot_percent"] = json!(options.engine_options.hot_percent);
        params["momentum"] = json!(options.engine_options.momentum);
        params["deadlock_time_outs"] = json!(options.engine_options.deadlock_time_outs);
        params["lock_as_it_goes"] = json!(options.engine_options.lock_as_it_goes);
        params["assign"] = json!(options.placement.assign.name());
        params["spin_us"] = json!(options.placement.spin_us);
        params["network_delay_us"] = json!(options.engine_options.network_delay_us);
        params["seed"] = json!(options.seed);
        params["repetition"] = json!(self.repetition);
        params
    }
}
