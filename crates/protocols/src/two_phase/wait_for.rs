//! The wait-for graph as a deadlock policy: all transactions wait, but a transaction that closes a cycle aborts.

use super::policy::{LEVELS, Policy};
use crate::shared::lock_table::{OwnerId, Queued, WaitPolicy};
use crate::shared::time_outs::Limits;
use crate::shared::wait_graph::WaitGraph;
use hotrow_sync::Time;
use hotrow_txn::{Begin, Capabilities, Deadlock, EngineInfo, Scheduler};
use std::time::Duration;

/// The policy of `2pl-waitfor`: deadlocks are found in a wait-for graph. The transaction that closes a cycle finds it,
/// and aborts.
pub struct WaitFor {
    config: WaitForConfig,
    pub(super) graph: WaitGraph,
}

/// Knobs of [`WaitFor`].
#[derive(Clone, Debug)]
pub struct WaitForConfig {
    /// The longest time that a transaction waits for one lock before it is aborted. Deadlocks are found earlier, but a
    /// client may hold locks and never end its transaction.
    pub wait_limit: Duration,
}

impl Default for WaitForConfig {
    fn default() -> Self {
        Self { wait_limit: Duration::from_secs(10) }
    }
}

impl Policy for WaitFor {
    const INFO: EngineInfo = EngineInfo {
        name: "2pl-waitfor",
        summary: "two-phase locking; everybody waits, and who closes a cycle in the wait-for graph aborts",
        source: "ORTHRUS §4 (wait-for graph)",
        capabilities: Capabilities::NONE,
        scheduler: Scheduler::Thread,
        isolates: true,
        isolation: LEVELS,
        concurrency: None,
        settings: &[],
        pool_settings: &[],
    };
    type Config = WaitForConfig;

    fn new(config: &Self::Config) -> Self {
        Self { config: config.clone(), graph: WaitGraph::new() }
    }

    fn limits(&self, _one_shot: bool) -> Limits {
        Limits::within(self.config.wait_limit)
    }

    #[inline]
    fn begin(&self, owner: OwnerId, begin: &Begin<'_>, _now: impl FnOnce() -> Time, _retry: bool) {
        self.graph.begin(owner, begin.label);
    }
}

impl WaitPolicy for WaitFor {
    const TRACKS: bool = true;

    fn may_wait(&self, _waiter: OwnerId, _blockers: &[OwnerId]) -> bool {
        true
    }

    fn queued(&self, request: Queued<'_>, blockers: &[OwnerId]) {
        self.graph.publish(request, blockers);
    }

    fn blockers_changed(&self, waiter: OwnerId, blockers: &[OwnerId]) -> bool {
        self.graph.change(waiter, blockers)
    }

    fn find_deadlock(&self, waiter: OwnerId) -> Option<Deadlock> {
        self.graph.announce(waiter);
        if self.graph.is_waited_for(waiter) { self.graph.take_blame(waiter) } else { None }
    }

    fn wait_ended(&self, waiter: OwnerId) {
        self.graph.clear(waiter);
    }
}
