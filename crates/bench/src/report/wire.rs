//! The additional report of a run over the network.

use crate::machine::SwitchCosts;
use serde::Serialize;
use std::collections::BTreeMap;

/// The names of the parts of a server's CPU time, in the order in which they are reported.
pub(crate) const SERVER_TIME_PARTS: [&str; 5] =
    ["work", "lock_manager", "context_switches", "coroutine_switches", "network"];

/// The resources that server and clients of a run over the network used, and their counts of statements and errors.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct WireReport {
    /// The version of the server, as the server reports it.
    pub server: String,
    /// The number of connections.
    pub clients: u32,
    /// How transactions are sent: `statements`, or `call`.
    pub by: &'static str,
    /// The number of transactions that each connection has under way.
    pub pipeline: u32,
    /// The number of statements of the committed transactions. It includes the statements of their failed attempts, and
    /// the statements that begin and end transactions.
    pub statements: u64,
    pub statements_per_second: f64,
    /// CPU time of the server's processes, user and system, per committed transaction in microseconds; null if the
    /// processes are not known.
    pub server_cpu_us_per_txn: Option<f64>,
    pub server_cpu_us_per_statement: Option<f64>,
    pub client_cpu_us_per_txn: Option<f64>,
    /// Attempts that failed and were retried, by SQLSTATE.
    pub sqlstates: BTreeMap<String, u64>,
    /// The cost of switches on this machine; null unless the breakdown of the server's time was asked for.
    pub switches: Option<SwitchReport>,
}

/// The cost of switches, in nanoseconds of CPU time.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct SwitchReport {
    pub context_switch_ns: f64,
    pub coroutine_switch_ns: f64,
    /// A coroutine from its start to its end, on a stack that is used again.
    pub coroutine_run_ns: f64,
}

impl From<&SwitchCosts> for SwitchReport {
    fn from(costs: &SwitchCosts) -> Self {
        Self {
            context_switch_ns: costs.context_switch,
            coroutine_switch_ns: costs.coroutine_switch,
            coroutine_run_ns: costs.coroutine_run,
        }
    }
}
